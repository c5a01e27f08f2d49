"""Medir lo que mide un capítulo: sus celdas marcadas `measured`, tal como están en la página."""

from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import jupytext
import torch

BOOK = Path(__file__).parents[1] / "book"
SEEDS = (0, 1, 2)


def summary_rows(topic: str, device: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Da una fila por cada clave de `figures`, una tupla, con su media y desviación entre semillas.

    Argumentos:
        topic: el capítulo.
        device: dónde se ejecuta.
        columns: qué nombran las partes de la clave.
    """
    runs = [run["figures"] for run in run_seeds(topic, device, "figures")]
    return [
        dict(zip(columns, key, strict=True))
        | {"media": fmean(run[key] for run in runs), "±": stdev(run[key] for run in runs)}
        | {f"semilla {seed}": run[key] for seed, run in zip(SEEDS, runs, strict=True)}
        for key in runs[0]
    ]


def run_seeds(topic: str, device: str, *names: str) -> list[dict[str, Any]]:
    """Ejecuta las celdas con cada semilla; de cada vez, guarda solo lo que se llama así."""
    found = []
    with torch.device(device), torch.enable_grad():
        for seed in SEEDS:
            namespace = run_chapter(topic, seed)
            found.append({name: namespace[name] for name in names})
    return found


def run_chapter(topic: str, seed: int) -> dict[str, Any]:
    """Ejecuta las celdas marcadas con otra semilla y devuelve los nombres que dejan definidos."""
    namespace: dict[str, Any] = {"SEED": seed}
    for source in measured_cells(topic):
        exec(compile(source, str(BOOK / f"{topic}.md"), "exec"), namespace)
    return namespace


def measured_cells(topic: str) -> list[str]:
    """Da el código de las celdas marcadas, en orden."""
    cells = jupytext.read(BOOK / f"{topic}.md").cells
    return [cell.source for cell in cells if "measured" in cell.metadata.get("tags", ())]
