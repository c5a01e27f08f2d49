"""Preentrenar un BERT pequeño con recetas, contra tablas de cuentas

Qué parte de los [MASK] acierta en recetas apartadas, en todos y según si las dos palabras vecinas se vieron juntas al entrenar; y la pérdida y la segunda tarea. Media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `bert`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from typing import Any

from benchmarks._chapter import summary_rows


def run(device: str) -> list[dict[str, Any]]:
    return summary_rows("bert", device, ("medida", "modelo"))
