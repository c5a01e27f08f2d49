"""Diagrama de la portada: el recorrido del curso."""

from __future__ import annotations

import itertools

from book._figures.kit import Box, Figure

TRUNK = (
    ("Atención", "puntuar, ponderar y sumar"),
    ("Almacén clave-valor", "consultas, claves y valores"),
    ("Autoatención", "«El gato come» y la máscara causal"),
    ("El Transformer", "del texto a un traductor entrenado"),
)
BRANCHES = (
    ("Universal Transformer", "recurrencia en profundidad"),
    ("BERT", "preentrenamiento y ajuste fino"),
    ("Transformer-XL", "memoria entre segmentos"),
    ("PaLM", "un modelo de lenguaje a gran escala"),
)


def course_map() -> Figure:
    fig = Figure(
        "course_map",
        title="El recorrido del curso",
        desc="Atención, almacén clave-valor y autoatención llevan al Transformer. De él salen "
        "Universal Transformer, BERT, Transformer-XL y PaLM.",
        height=648,
    )
    stations = [_station(fig, 8, 6 + 88 * i, 464, 64, *texts) for i, texts in enumerate(TRUNK)]
    for draw, box in zip((_bars, _table, _square, _stack), stations, strict=True):
        draw(fig, box)
    for above, below in itertools.pairwise(stations):
        fig.arrow((44, above.bottom), (44, below.y), width=2.2)
    trunk = stations[-1]
    for i, texts in enumerate(BRANCHES):
        branch = _station(fig, 82, 362 + 72 * i, 390, 60, *texts, indent=18)
        fig.arrow((44, trunk.bottom), (44, branch.cy), branch.w_)
    return fig


def _station(
    fig: Figure,
    x: float,
    y: float,
    w: float,
    h: float,
    title: str,
    subtitle: str,
    *,
    indent: float = 76,
) -> Box:
    box = fig.op(x, y, w, h, "", role="value")
    fig.text(x + indent, box.cy - 12, title, anchor="start", bold=True)
    fig.text(x + indent, box.cy + 13, subtitle, anchor="start", size=fig.small)
    return box


def _bars(fig: Figure, box: Box) -> None:
    for i, height in enumerate((10, 34, 18)):
        fig.bar(box.x + 18 + 13 * i, box.bottom - 15, 10, height, "weight")


def _table(fig: Figure, box: Box) -> None:
    for i in range(3):
        y = box.y + 15 + 12 * i
        fig.grid(box.x + 15, y, 1, 1, "key", cell=(22, 9))
        fig.grid(box.x + 41, y, 1, 1, "value", cell=(14, 9))


def _square(fig: Figure, box: Box) -> None:
    shade = ((0.9, 0.2, 0.2), (0.2, 0.4, 0.8), (0.3, 0.7, 0.3))
    fig.grid(box.x + 17, box.y + 14, 3, 3, "weight", cell=(12, 12), shade=shade)


def _stack(fig: Figure, box: Box) -> None:
    for x in (box.x + 16, box.x + 38):
        for i in range(3):
            fig.op(x, box.y + 14 + 13 * i, 18, 10, "", radius=4)


FIGURES = (course_map,)
