"""Calidad del traductor de recetas

Coincidencia exacta y BLEU (sacrebleu) sobre recetas cuya combinación de plato e ingrediente principal no está en el entrenamiento, con tres semillas.

Lo que se mide es el capítulo `translator`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from pathlib import Path
from typing import Any

import jupytext
import torch

CHAPTER = Path(__file__).parents[1] / "book" / "translator.md"
SEEDS = (0, 1, 2)


def run(device: str) -> list[dict[str, Any]]:
    with torch.device(device), torch.enable_grad():
        return [train_and_measure(seed) for seed in SEEDS]


def train_and_measure(seed: int) -> dict[str, Any]:
    """Ejecuta las celdas del capítulo y devuelve su `figures`, con la semilla."""
    namespace: dict[str, Any] = {"SEED": seed}
    for source in measured_cells():
        exec(compile(source, str(CHAPTER), "exec"), namespace)
    return {"semilla": seed} | namespace["figures"]


def measured_cells() -> list[str]:
    """Da el código de las celdas marcadas, en orden."""
    cells = jupytext.read(CHAPTER).cells
    return [cell.source for cell in cells if "measured" in cell.metadata.get("tags", ())]
