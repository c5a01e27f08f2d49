"""Calidad del traductor de recetas

Coincidencia exacta y BLEU (sacrebleu) sobre recetas cuya combinación de plato e ingrediente principal no está en el entrenamiento, con tres semillas.

Lo que se mide es el capítulo `translator`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from typing import Any

import torch

from benchmarks._chapter import run_chapter

SEEDS = (0, 1, 2)


def run(device: str) -> list[dict[str, Any]]:
    with torch.device(device), torch.enable_grad():
        return [{"semilla": seed} | run_chapter("translator", seed)["figures"] for seed in SEEDS]
