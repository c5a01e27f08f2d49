"""Copiar, invertir y sumar: el Universal Transformer y el Transformer

Porcentaje de cifras y de cadenas enteras correctas, media y desviación estándar de tres semillas, en longitudes vistas al entrenar (hasta 8) y no vistas.

Lo que se mide es el capítulo `universal_transformer`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from statistics import fmean, stdev
from typing import Any

from benchmarks._chapter import run_seeds


def run(device: str) -> list[dict[str, Any]]:
    runs = run_seeds("universal_transformer", device, "parameters", "scores")
    parameters = runs[0]["parameters"]
    return [
        {
            "tarea": task,
            "modelo": model,
            "parámetros": parameters[task, model],
            "longitud": length,
            **summary("cifras", [100 * run["scores"][task, model, length][0] for run in runs]),
            **summary("cadenas", [100 * run["scores"][task, model, length][1] for run in runs]),
        }
        for task, model, length in runs[0]["scores"]
    ]


def summary(name: str, values: list[float]) -> dict[str, float]:
    """Media y desviación estándar entre semillas."""
    return {f"{name}, %": fmean(values), f"± {name}": stdev(values)}
