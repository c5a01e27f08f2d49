"""Preentrenar un BERT pequeño con recetas, contra tablas de cuentas

Qué parte de los [MASK] acierta en recetas apartadas, en todos y según si las dos palabras vecinas se vieron juntas al entrenar; y la pérdida y la segunda tarea. Media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `bert`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from statistics import fmean, stdev
from typing import Any

import torch

from benchmarks._chapter import run_chapter

SEEDS = (0, 1, 2)


def run(device: str) -> list[dict[str, Any]]:
    with torch.device(device), torch.enable_grad():
        runs = [run_chapter("bert", seed)["figures"] for seed in SEEDS]
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
