"""PaLM con recetas: qué cumple lo que escribe, y la pérdida de cada cambio a igual cálculo

Pérdida media por token en las recetas apartadas de PaLM y de seis modelos con una cosa cambiada, todos con las mismas operaciones de entrenamiento; y, de lo que escribe el modelo mayor, cuánto cumple con su lista y su título. Media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `palm`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from statistics import fmean, stdev
from typing import Any

import torch

from benchmarks._chapter import run_chapter

SEEDS = (0, 1, 2)


def run(device: str) -> list[dict[str, Any]]:
    with torch.device(device), torch.enable_grad():
        runs = [run_chapter("palm", seed)["figures"] for seed in SEEDS]
    return [
        {
            "medida": measure,
            "quién": name,
            "media": fmean(run[measure, name] for run in runs),
            "±": stdev(run[measure, name] for run in runs),
        }
        | {f"semilla {seed}": run[measure, name] for seed, run in zip(SEEDS, runs, strict=True)}
        for measure, name in runs[0]
    ]
