"""PaLM con recetas: qué cumple lo que escribe, y la pérdida de cada cambio a igual cálculo

Pérdida media por token en las recetas apartadas de PaLM y de nueve modelos con algo cambiado, todos con las mismas operaciones de entrenamiento y la misma tasa de aprendizaje, y la de PaLM con el doble de tasa; y, de lo que escribe el modelo mayor, cuánto cumple con su lista y su título. Media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `palm`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from typing import Any

from benchmarks._chapter import summary_rows


def run(device: str) -> list[dict[str, Any]]:
    return summary_rows("palm", device, ("medida", "quién"))
