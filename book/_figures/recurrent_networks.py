"""Diagrama del repaso de redes recurrentes: un estado que se reparte entre todas las palabras."""

from __future__ import annotations

from itertools import pairwise

from book._figures.kit import Figure, decimal

WORDS = ("Pica", "el", "ajo", "y", "la", "cebolla,", "y", "sofríe")
GENDERS = (0, 0, -1, 0, 0, 1, 0, 0)  # de los sustantivos: 1, femenino; −1, masculino
KEPT = 0.5


def states() -> list[float]:
    """h = ½ h + x, palabra por palabra."""
    found, state = [], 0.0
    for x in GENDERS:
        state = KEPT * state + x
        found.append(state)
    return found


def recurrent_trace() -> Figure:
    fig = Figure(
        "recurrent_trace",
        title="Lo que queda de cada palabra en el último estado",
        desc="Una red recurrente de un solo número lee «Pica el ajo y la cebolla, y sofríe». Cada "
        "estado es la mitad del anterior más lo que entra. Al final vale 0.22: la cebolla pesa "
        "0.25 y del ajo queda −0.03.",
        height=250,
    )
    centers = (30, 88, 146, 204, 262, 322, 386, 446)
    last = len(WORDS) - 1
    boxes = []
    for i, (cx, word, x, state) in enumerate(zip(centers, WORDS, GENDERS, states(), strict=True)):
        fig.text(cx, 18, word)
        entering = decimal(x, 0) if x else "·"
        fig.text(cx, 46, entering, size=fig.small, bold=bool(x))
        role = "output" if i == last else "input"
        boxes.append(
            fig.op(cx - 25, 84, 50, 36, _short(state), role=role, size=fig.small, radius=6)
        )
        fig.arrow((cx, 58), (cx, 84))
    for left, right in pairwise(boxes):
        fig.line(left.e, right.w_)
    fig.line((8, 218), (472, 218), width=1)
    for i, (cx, x) in enumerate(zip(centers, GENDERS, strict=True)):
        if not x:
            continue
        share = x * KEPT ** (last - i)
        bar = fig.bar(cx - 20, 218, 40, 160 * abs(share), "input")
        fig.text(cx, bar.y - 12, decimal(share), size=fig.small)
    fig.text(240, 238, "lo que queda de cada una al llegar a «sofríe»", size=fig.small)
    return fig


def _short(value: float) -> str:
    return decimal(value).rstrip("0").rstrip(".")


FIGURES = (recurrent_trace,)
