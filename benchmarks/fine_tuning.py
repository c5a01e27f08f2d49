"""Ajuste fino: un BERT preentrenado y el mismo desde cero, en cinco tareas, y qué bloque da mejores rasgos

Aciertos en ejemplos apartados, media y desviación estándar de tres semillas. Cada semilla cambia el comienzo desde cero, la cabeza, los ejemplos etiquetados y su orden; el modelo preentrenado es siempre el guardado en `book/_models`, así que la desviación no incluye la del preentrenamiento.

Lo que se mide es el capítulo `fine_tuning`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla.
"""  # noqa: E501

from typing import Any

from benchmarks._chapter import summary_rows


def run(device: str) -> list[dict[str, Any]]:
    return summary_rows("fine_tuning", device, ("medida", "qué", "comienzo"))
