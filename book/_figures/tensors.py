"""Diagrama del repaso de tensores: una palabra, una oración y un lote."""

from __future__ import annotations

import numpy as np

from book._figures.kit import Figure

# Acción, cosa y género de cada palabra, como en el capítulo de atención.
WORDS = ("Pica", "el", "ajo", "y")
SENTENCE = np.array([[2, 0, 0], [0, 0, -1], [0, 1, -1], [0, 0, 0]])
OTHER = np.array([[2, 0, 0], [0, 0, 1], [0, 1, 1], [0, 0, 0]])  # «Pica la cebolla y»


def tensor_axes() -> Figure:
    fig = Figure(
        "tensor_axes",
        title="Una palabra, una oración y un lote de oraciones",
        desc="Una palabra es un vector de 3 números, de forma [3]; una oración de 4 palabras, una "
        "matriz de forma [4, 3]; un lote de 2 oraciones, un tensor de forma [2, 4, 3].",
        height=276,
    )
    cell = (30, 27)
    fig.text(56, 20, "una palabra", bold=True)
    word = fig.grid(11, 112, 1, 3, "input", values=SENTENCE[2:3], digits=0, cell=cell)
    fig.text(56, word.y - 16, "«ajo»", size=fig.small)
    fig.text(56, 230, "un eje", size=fig.small)
    fig.text(56, 258, "[3]", bold=True)

    fig.text(214, 20, "una oración", bold=True)
    sentence = fig.grid(180, 72, 4, 3, "input", values=SENTENCE, digits=0, cell=cell)
    for i, name in enumerate(WORDS):
        fig.text(172, sentence.y + 27 * (i + 0.5), name, anchor="end", size=fig.small)
    fig.text(225, 230, "dos ejes", size=fig.small)
    fig.text(225, 258, "[4, 3]", bold=True)

    fig.text(400, 20, "un lote", bold=True)
    small = (30, 20)
    fig.grid(355, 42, 4, 3, "input", values=SENTENCE, digits=0, cell=small)
    fig.grid(355, 130, 4, 3, "input", values=OTHER, digits=0, cell=small)
    fig.text(400, 230, "tres ejes", size=fig.small)
    fig.text(400, 258, "[2, 4, 3]", bold=True)
    return fig


FIGURES = (tensor_axes,)
