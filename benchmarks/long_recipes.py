"""Recetas largas: Transformer-XL con memoria, sin los términos 3 y 4 y sin memoria

Pérdida media por token y perplejidad en cien recetas apartadas, y cuántas veces el modelo prefiere la hierba que está en la lista a la que no está; media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `transformer_xl`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from typing import Any

from benchmarks._chapter import summary_rows


def run(device: str) -> list[dict[str, Any]]:
    return summary_rows("transformer_xl", device, ("medida", "modelo"))
