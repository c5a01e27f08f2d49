"""Recetas largas: Transformer-XL con memoria, sin los términos 3 y 4 y sin memoria

Pérdida media por token y perplejidad en cien recetas apartadas, y cuántas veces el modelo prefiere la hierba que está en la lista a la que no está; media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `transformer_xl`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from statistics import fmean, stdev
from typing import Any

import torch

from benchmarks._chapter import run_chapter

SEEDS = (0, 1, 2)


def run(device: str) -> list[dict[str, Any]]:
    with torch.device(device), torch.enable_grad():
        runs = [run_chapter("transformer_xl", seed)["figures"] for seed in SEEDS]
    return [
        {
            "medida": measure,
            "modelo": model,
            "media": fmean(run[measure, model] for run in runs),
            "±": stdev(run[measure, model] for run in runs),
        }
        | {f"semilla {seed}": run[measure, model] for seed, run in zip(SEEDS, runs, strict=True)}
        for measure, model in runs[0]
    ]
