"""Diagramas del capítulo de normalización: sobre qué eje va y en qué lugar del bloque."""

from __future__ import annotations

import numpy as np

from book._figures.kit import Box, Figure

WORDS = ("Pela", "la", "papa")
# Los del capítulo: tres palabras de cuatro coordenadas.
INPUTS = np.array([[1.0, 1, 5, 5], [0, 4, 0, 4], [2, 2, 2, 10]])
DIRECT = 4.0  # grosor del camino directo, el que importa en estos dibujos


def norm_placements() -> Figure:
    fig = Figure(
        "norm_placements",
        title="Tres lugares para la normalización: post, pre y sándwich",
        desc="Tres columnas. En post, la entrada se suma a la salida de la subcapa y la suma se "
        "normaliza: el camino directo atraviesa la normalización. En pre, va antes de la subcapa, "
        "y en sándwich, antes y después: el camino directo llega intacto a la salida.",
        height=452,
    )
    columns = (
        (80, "post", ("Subcapa $f$", "+", "Normalización")),
        (240, "pre", ("Normalización", "Subcapa $f$", "+")),
        (400, "sándwich", ("Normalización", "Subcapa $f$", "Normalización′", "+")),
    )
    for cx, name, parts in columns:
        fig.text(cx, 16, name, bold=True)
        _column(fig, cx + 14, parts)
    notes = (
        "normalizar corta el\ncamino directo",
        "el camino directo\nllega intacto",
        "intacto, y con la\nrama acotada",
    )
    for (cx, _, _), note in zip(columns, notes, strict=True):
        fig.text(cx, 430, note, size=fig.small)
    return fig


def _column(fig: Figure, cx: float, parts: tuple[str, ...]) -> None:
    """Una colocación, de arriba abajo, con su camino directo en trazo grueso."""
    x = fig.column(cx, 34, "input", count=2, cell=(34, 17))
    fork, top = 84, 104
    fig.line(x.s, (cx, fork), width=DIRECT)
    above: tuple[float, float] = (cx, fork)
    side = cx - 66
    joined = False
    for part in parts:
        if part == "+":
            piece = fig.disc(cx, top + 15, "+")
            fig.line((cx, fork), (side, fork), (side, piece.cy), width=DIRECT)
            fig.arrow((side, piece.cy), piece.w_, width=DIRECT)
            step = 52
        else:
            kind = "attention" if part.startswith("Sub") else "norm"
            height = 44 if kind == "attention" else 34
            piece = fig.block(cx, top, part, kind, w=118, h=height, size=fig.small)
            step = height + 22
        fig.arrow(above, piece.n, width=DIRECT if joined else 1.5)
        joined = part == "+"  # en post, normalizar la suma corta el camino
        above, top = piece.s, top + step
    y = fig.column(cx, 360, "output", count=2, cell=(34, 17))
    fig.arrow(above, y.n, width=DIRECT if joined else 1.5)
    fig.text(x.right + 10, x.cy, "$x$", anchor="start")
    fig.text(y.right + 10, y.cy, "$y$", anchor="start")


def norm_axes() -> Figure:
    centred = INPUTS - INPUTS.mean(axis=1, keepdims=True)
    by_word = centred / INPUTS.std(axis=1, keepdims=True)
    by_column = (INPUTS - INPUTS.mean(axis=0)) / INPUTS.std(axis=0)
    fig = Figure(
        "norm_axes",
        title="Normalizar por palabra o por coordenada",
        desc="La misma matriz de tres palabras por cuatro coordenadas, normalizada de dos maneras. "
        "La normalización de capa trata cada fila, una palabra, por su cuenta; la normalización "
        "por lotes trata cada columna, una coordenada de todas las palabras.",
        height=410,
    )
    cell = (54, 28)
    x = fig.tokens(152, 34, WORDS, 4, "input", values=INPUTS, digits=0, cell=cell)
    fig.text(x.cx, 16, "$X$: una fila por palabra", size=fig.small)
    pairs = (
        (132, "de capa: cada fila", by_word, True),
        (364, "por lotes: cada columna", by_column, False),
    )
    for cx, label, values, rows in pairs:
        op = fig.op(cx - 108, 176, 216, 52, f"normalización\n{label}", size=fig.small)
        fig.arrow(
            (x.cx + (-60 if rows else 60), x.bottom),
            (x.cx + (-60 if rows else 60), 146),
            (cx, 146),
            op.n,
        )
        grid = fig.grid(cx - 108, 262, 3, 4, "output", values=values, cell=cell)
        fig.arrow(op.s, grid.n)
        _outline(fig, grid, rows)
        note = (
            "cada fila: media 0\ny desviación 1"
            if rows
            else "cada columna: media 0\ny desviación 1"
        )
        fig.text(cx, grid.bottom + 34, note, size=fig.small)
    return fig


def _outline(fig: Figure, box: Box, rows: bool) -> None:
    """Enmarca la primera fila o la primera columna: lo que se normaliza junto."""
    right = box.right if rows else box.x + box.w / 4
    bottom = box.y + box.h / 3 if rows else box.bottom
    corners = ((box.x, box.y), (right, box.y), (right, bottom), (box.x, bottom))
    fig.line(*corners, (box.x, box.y - 1.2), width=3)


# Lo del capítulo y del laboratorio (book/_static/labs/norm_depth.js): x y la subcapa, que
# corre las coordenadas un puesto.
SIGNAL = np.array([1.0, 1.0, 5.0, 5.0])
DEPTHS = (1, 6, 18)


def pile(placement: str, depth: int) -> tuple[np.ndarray, float]:
    """Lo que sale de la pila y por cuánto queda multiplicada x en el camino directo."""

    def norm(x: np.ndarray) -> np.ndarray:
        return (x - x.mean()) / np.sqrt(x.var() + 1e-5)

    x, direct = SIGNAL, 1.0
    for _ in range(depth):
        branch = np.roll(x if placement == "post" else norm(x), 1)
        total = x + (norm(branch) if placement == "sándwich" else branch)
        if placement == "post":
            direct /= np.sqrt(total.var() + 1e-5)
        x = norm(total) if placement == "post" else total
    return x, direct


def norm_depth() -> Figure:
    names = ("post", "pre", "sándwich")
    found = {name: [pile(name, depth) for depth in DEPTHS] for name in names}
    sizes = [[f"{np.sqrt((x**2).mean()):.2f}" for x, _ in found[name]] for name in names]
    direct = [[f"{share:.4f}".rstrip("0").rstrip(".") for _, share in found[n]] for n in names]
    fig = Figure(
        "norm_depth",
        title="El tamaño de la señal y lo que queda de x, según la profundidad",
        desc="Dos tablas, con las tres colocaciones en filas y 1, 6 y 18 bloques en columnas. En "
        "post la señal mide siempre 1 y x llega multiplicada por un número cada vez más pequeño; "
        "en pre y en sándwich la señal crece y x llega intacta.",
        height=190,
    )
    cell = (62, 30)
    tables = (
        (90, "tamaño de la señal", "output", sizes),
        (290, "x llega multiplicada por", "input", direct),
    )
    for x, title, role, values in tables:
        box = fig.grid(x, 70, 3, 3, role, cell=cell, values=values)
        fig.text(box.cx, 16, title, size=fig.small)
        for j, depth in enumerate(DEPTHS):
            fig.text(x + cell[0] * (j + 0.5), 50, f"{depth}", size=fig.small, bold=True)
    for i, name in enumerate(names):
        fig.text(82, 70 + cell[1] * (i + 0.5), name, anchor="end", size=fig.small)
    fig.text(82, 50, "bloques", anchor="end", size=fig.small)
    return fig


FIGURES = (norm_placements, norm_axes, norm_depth)
