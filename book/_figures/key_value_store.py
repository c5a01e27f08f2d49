"""Diagramas del capítulo del almacén clave-valor. Los números se calculan aquí mismo."""

from __future__ import annotations

from collections import Counter

import numpy as np

from book._figures.attention import softmax
from book._figures.kit import Box, Figure, decimal

QUERY = "lasaña"
# Los mismos que en el laboratorio (book/_static/labs/dictionary_soft_store.js). Valores: minutos.
KEYS = ("lasaña de verduras", "lasaña de pollo", "milanesa", "flan")
MINUTES = (60, 50, 30, 40)
BETA = 3.0


def trigram_cosine(left: str, right: str) -> float:
    """Parecido de dos textos: coseno entre sus cuentas de grupos de tres letras."""
    counts = []
    for text in (left, right):
        padded = f" {text} "
        counts.append(Counter(padded[i : i + 3] for i in range(len(padded) - 2)))
    dot = sum(counts[0][group] * counts[1][group] for group in counts[0])
    norms = [np.sqrt(sum(value**2 for value in count.values())) for count in counts]
    return float(dot / (norms[0] * norms[1]))


def dictionary_soft_store() -> Figure:
    similarity = np.array([trigram_cosine(QUERY, key) for key in KEYS])
    soft = softmax(BETA * similarity)
    exact = np.array([float(key == QUERY) for key in KEYS])
    shares = " + ".join(f"{decimal(a)}·{m}" for a, m in zip(soft, MINUTES, strict=True))
    fig = Figure(
        "dictionary_soft_store",
        title="De un diccionario a un almacén suave",
        desc="La misma consulta, «lasaña», sobre las mismas cuatro claves. El diccionario exige "
        "igualdad y no entrega nada. El almacén suave da a cada clave un peso según su parecido "
        f"({', '.join(decimal(value) for value in soft)}) y entrega una mezcla de los valores.",
        height=500,
    )
    _store(fig, 4, "Diccionario: clave = consulta", exact, 0, "no está")
    mixture = f"$h = {shares} = {decimal(soft @ np.array(MINUTES), 0)}$"
    _store(fig, 254, "Almacén suave: clave ≈ consulta", soft, 2, mixture)
    return fig


def _store(
    fig: Figure, top: float, title: str, weights: np.ndarray, digits: int, result: str
) -> None:
    fig.frame(4, top, 472, 242)
    fig.text(18, top + 22, title, anchor="start", bold=True)
    for x, header in ((56, "consulta"), (198, "claves"), (342, "pesos"), (436, "minutos")):
        fig.text(x, top + 52, header, size=fig.small)
    asked = fig.grid(14, top + 112, 1, 1, "query", cell=(84, 32), values=[[QUERY]])
    for index, minutes in enumerate(MINUTES):
        fig.grid(412, top + 68 + 32 * index, 1, 1, "value", cell=(48, 28), values=[[str(minutes)]])
    for index, (key, weight) in enumerate(zip(KEYS, weights, strict=True)):
        y = top + 68 + 32 * index
        row = fig.grid(124, y, 1, 1, "key", cell=(150, 28), values=[[key]])
        fig.arrow(asked.e, (111, asked.cy), (111, row.cy), row.w_)
        fig.hbar(286, y + 3, 68 * weight, 22, "weight")
        fig.text(292 + 68 * weight, row.cy, decimal(weight, digits), anchor="start")
    fig.line((286, top + 66), (286, top + 194), width=1)
    fig.text(240, top + 220, result, size=fig.small)


def lookup_matrix_form() -> Figure:
    fig = Figure(
        "lookup_matrix_form",
        title="La búsqueda en forma de matrices",
        desc="Q, de t_q por d_k, por K traspuesta, de d_k por t_k, da las puntuaciones, de t_q por "
        "t_k. Soft arg max por filas da A. A por V, de t_k por d_v, da H, de t_q por d_v. "
        "Una fila destacada sigue a una misma consulta de principio a fin.",
        height=486,
    )
    side = (22, 22)
    q = fig.grid(52, 54, 3, 4, "query", cell=side, row=1)
    fig.wide_axis(q, "d_k")
    fig.tall_axis(q, "t_q")
    fig.text(q.cx, q.bottom + 20, "consultas $Q$")
    fig.text(164, q.cy, "·", size=26)
    k = fig.grid(186, 43, 4, 5, "key", cell=side)
    fig.wide_axis(k, "t_k")
    fig.tall_axis(k, "d_k", side="e")
    fig.text(k.cx, k.bottom + 20, "claves $K^T$")
    fig.text(342, q.cy, "=", size=fig.math)
    scores = fig.grid(364, 54, 3, 5, None, cell=side)
    fig.wide_axis(scores, "t_k")
    fig.text(476, scores.bottom + 20, "puntuaciones", anchor="end")
    _mark_row(fig, scores, 1)
    step = fig.op(52, 196, 422, 42, "soft arg max de $β QK^T$, fila por fila")
    fig.arrow((scores.cx, 154), (scores.cx, step.y))
    a = fig.grid(52, 294, 3, 5, "weight", cell=side, row=1)
    fig.tall_axis(a, "t_q")
    fig.wide_axis(a, "t_k", side="s")
    fig.arrow((a.cx, step.bottom), a.n)
    fig.text(a.cx, a.bottom + 50, "pesos $A$")
    fig.text(186, a.cy, "·", size=26)
    v = fig.grid(210, 272, 5, 4, "value", cell=side)
    fig.tall_axis(v, "t_k", side="e")
    fig.wide_axis(v, "d_v", side="s")
    fig.text(v.cx, v.bottom + 50, "valores $V$")
    fig.text(352, a.cy, "=", size=fig.math)
    h = fig.grid(376, 294, 3, 4, "output", cell=side, row=1)
    fig.wide_axis(h, "d_v", side="s")
    fig.text(h.cx, a.bottom + 50, "salidas $H$")
    fig.text(240, 464, "fila destacada: una consulta, de principio a fin", size=fig.small)
    return fig


def _mark_row(fig: Figure, box: Box, row: int, height: float = 22) -> None:
    """Subraya la fila en una matriz sin color de papel."""
    for y in (box.y + row * height, box.y + (row + 1) * height):
        fig.line((box.x, y), (box.right, y), width=2.2)


def stacked_projections() -> Figure:
    fig = Figure(
        "stacked_projections",
        title="Tres proyecciones en un solo producto",
        desc="Las matrices W_q, W_k y W_v, una al lado de otra, forman una matriz de d filas y 3d "
        "columnas. La fila x por esa matriz da una fila de 3d celdas, que se corta en q, k y v.",
        height=280,
    )
    roles = (("query", "q", "consulta"), ("key", "k", "clave"), ("value", "v", "valor"))
    cell = (32, 28)
    blocks = [
        fig.grid(172 + 98 * i, 72, 3, 3, role, cell=cell, heavy=True)
        for i, (role, _, _) in enumerate(roles)
    ]
    whole = Box(blocks[0].x, blocks[0].y, blocks[2].right - blocks[0].x, blocks[0].h)
    fig.wide_axis(whole, "3d", gap=40)
    fig.tall_axis(whole, "d")
    fig.text(128, whole.cy, "·", size=26)
    given = fig.grid(14, whole.cy - 14, 1, 3, "input", cell=cell)
    fig.text(given.cx, given.y - 16, "$x$")
    fig.text(128, 204, "=", size=fig.math)
    for block, (role, letter, word) in zip(blocks, roles, strict=True):
        fig.text(block.cx, block.y - 16, f"$W_{letter}$")
        part = fig.grid(block.x, 190, 1, 3, role, cell=cell)
        fig.text(part.cx, part.bottom + 18, f"{word} ${letter}$")
    fig.text(240, 264, "un producto en lugar de tres", size=fig.small)
    return fig


def heads_and_output() -> Figure:
    rng = np.random.default_rng(7)
    inputs = rng.normal(size=(3, 2)) * 1.5
    fig = Figure(
        "heads_and_output",
        title="Varias cabezas y una matriz de salida",
        desc="La misma entrada X pasa por tres cabezas; cada una proyecta, pesa y devuelve su "
        "propia matriz. Las tres salidas se pegan una junto a otra y W_h las lleva de vuelta a d "
        "columnas.",
        height=582,
    )
    side = (24, 24)
    x = fig.grid(216, 40, 3, 2, "input", cell=side)
    fig.wide_axis(x, "d")
    fig.tall_axis(x, "t")
    fig.text(x.right + 14, x.cy, "$X$", anchor="start")
    fig.line(x.s, (240, 132))
    joined = [fig.grid(66 + 48 * i, 436, 3, 2, "output", cell=side) for i in range(3)]
    for i, cx in enumerate((84, 240, 396)):
        head = fig.op(cx - 66, 154, 132, 54, f"cabeza {i + 1}\n$W_q, W_k, W_v$", heavy=True)
        fig.arrow((240, 132), (cx, 132), head.n)
        q, k = inputs @ rng.normal(size=(2, 2)), inputs @ rng.normal(size=(2, 2))
        weights = softmax(q @ k.T)
        a = fig.grid(cx - 70, 236, 3, 3, "weight", cell=(18, 18), shade=weights)
        fig.arrow((a.cx, head.bottom), a.n)
        fig.text(a.cx, a.bottom + 18, f"$A_{i + 1}$")
        h = fig.grid(cx + 2, 236, 3, 2, "output", cell=(22, 18))
        fig.arrow(a.e, h.w_)
        fig.text(h.right + 5, h.cy, f"$H_{i + 1}$", anchor="start")
        target = joined[i]
        level = (344, 360, 376)[i]
        fig.arrow(h.s, (h.cx, level), (target.cx, level), target.n)
        fig.text(target.cx, target.bottom + 18, f"$H_{i + 1}$")
    whole = Box(66, 436, 144, 72)
    fig.tall_axis(whole, "t")
    fig.text(232, whole.cy, "·", size=26)
    w = fig.grid(262, 400, 6, 2, None, cell=side, heavy=True)
    fig.tall_axis(w, "hd", side="e")
    fig.text(w.cx, w.bottom + 16, "$W_h$")
    fig.text(364, whole.cy, "=", size=fig.math)
    out = fig.grid(396, 436, 3, 2, "output", cell=side)
    fig.wide_axis(out, "d")
    fig.text(out.cx, out.bottom + 18, "$H$")
    return fig


FIGURES = (dictionary_soft_store, lookup_matrix_form, stacked_projections, heads_and_output)
