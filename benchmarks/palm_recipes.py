"""PaLM con recetas: qué cumple lo que escribe, y la pérdida de cada cambio a igual cálculo

Pérdida media por token en las recetas apartadas de PaLM y de nueve modelos con algo cambiado, todos con las mismas operaciones de entrenamiento y la misma tasa de aprendizaje, y la de PaLM con el doble de tasa; y, de lo que escribe el modelo mayor, cuánto cumple con su lista y su título. Media y desviación estándar de tres semillas.

Lo que se mide es el capítulo `palm`: se ejecutan sus celdas marcadas `measured`, tal como están en la página, cada vez con otra semilla. Después se entrena cada variante con su `fit_variant`: la página no las entrena, lee estas cifras.
"""  # noqa: E501

from typing import Any

from benchmarks._chapter import summary_rows


def run(device: str) -> list[dict[str, Any]]:
    return summary_rows("palm", device, ("medida", "quién"), finish=add_losses)


def add_losses(chapter: dict[str, Any]) -> None:
    """Pone delante de las cifras del capítulo la pérdida de cada variante."""
    fit, loss_of = chapter["fit_variant"], chapter["held_out_loss"]
    losses = {("pérdida", name): loss_of(fit(name)) for name in chapter["VARIANTS"]}
    losses["pérdida", "PaLM, tasa doble"] = loss_of(fit("PaLM", peak=2 * chapter["PEAK"]))
    chapter["figures"] = losses | chapter["figures"]
