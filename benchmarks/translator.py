"""Calidad del traductor de recetas

Coincidencia exacta y BLEU (sacrebleu) sobre recetas cuya combinación de plato e ingrediente principal no está en el entrenamiento, con tres semillas.

Lo que se mide es el capítulo `translator`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from typing import Any

from benchmarks._chapter import SEEDS, run_seeds


def run(device: str) -> list[dict[str, Any]]:
    runs = run_seeds("translator", device, "figures")
    return [{"semilla": seed} | run["figures"] for seed, run in zip(SEEDS, runs, strict=True)]
