"""Diagramas del capítulo de autoatención: «El gato come», con los mismos números en todos."""

from __future__ import annotations

import numpy as np

from book._figures.attention import softmax
from book._figures.kit import Box, Figure, decimal

# Los del capítulo: rasgos función, nombre, verbo; se busca y se ofrece un nombre o un verbo.
FEATURES = ("función", "nombre", "verbo")
EMBEDDINGS = {
    "el": [1.0, 0.0, 0.0],
    "al": [1.0, 0.0, 0.0],
    "gato": [0.0, 1.0, 0.0],
    "ratón": [0.0, 1.0, 0.0],
    "come": [0.0, 0.0, 1.0],
    "persigue": [0.0, 0.0, 1.0],
}
W_Q = np.array([[2.0, 0.0], [1.0, 3.0], [3.0, 0.0]])
W_K = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
W_V = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
SHORT, LONG = "El gato come", "El gato persigue al ratón"


def embed(sentence: str) -> np.ndarray:
    return np.array([EMBEDDINGS[word.lower()] for word in sentence.split()])


def scaled_scores(inputs: np.ndarray) -> np.ndarray:
    return (inputs @ W_Q) @ (inputs @ W_K).T / np.sqrt(W_K.shape[1])


# «Pica el ajo y la cebolla, y sofríela»: acción, cosa, género, artículo, pronombre. Lo que se busca
# y se ofrece: una acción, una cosa, un género. Los mismos que en el capítulo y en el laboratorio
# (book/_static/labs/who_asks.js).
RECIPE = {
    "Pica": [1.0, 0.0, 0.0, 0.0, 0.0],
    "el": [0.0, 0.0, -1.0, 1.0, 0.0],
    "ajo": [0.0, 1.0, -1.0, 0.0, 0.0],
    "y": [0.0, 0.0, 0.0, 0.0, 0.0],
    "la": [0.0, 0.0, 1.0, 1.0, 0.0],
    "cebolla": [0.0, 1.0, 1.0, 0.0, 0.0],
    "y ": [0.0, 0.0, 0.0, 0.0, 0.0],
    "sofríe": [1.0, 0.0, 0.0, 0.0, 0.0],
    "-la": [0.0, 0.0, 1.0, 0.0, 1.0],
}
ASKS = np.array([[0, 2, 0], [2, 0, 0], [0, 0, 1], [0, 2, 0], [0, 2, 0]], dtype=float)
OFFERS = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2], [0, 0, 0], [0, 0, 0]], dtype=float)


def who_asks() -> Figure:
    inputs = np.array(list(RECIPE.values()))
    weights = softmax((inputs @ ASKS) @ (inputs @ OFFERS).T / np.sqrt(3))
    fig = Figure(
        "who_asks",
        title="Cada palabra mira a todas: «Pica el ajo y la cebolla, y sofríela»",
        desc="Matriz de nueve por nueve con los pesos de atención, una fila por palabra. «Pica» y "
        "«sofríe» miran por igual a «ajo» y a «cebolla»; «ajo» y «cebolla», a los dos verbos, y "
        f"«-la» mira sobre todo a «cebolla», con un peso de {decimal(weights[8, 5])}.",
        height=390,
    )
    cell = (45, 36)
    grid = fig.grid(70, 40, 9, 9, "weight", values=weights, shade=weights, cell=cell)
    for j, word in enumerate(RECIPE):
        fig.text(grid.x + 45 * (j + 0.5), 24, word.strip(), size=fig.small)
        fig.text(grid.x - 8, grid.y + 36 * (j + 0.5), word.strip(), anchor="end", size=fig.small)
    fig.text(240, 380, "cada fila, una palabra que pregunta", size=fig.small)
    return fig


def self_attention_one_query() -> Figure:
    words, inputs = SHORT.split(), embed(SHORT)
    query, keys, values = (inputs @ W_Q)[1], inputs @ W_K, inputs @ W_V
    scores = scaled_scores(inputs)[1]
    weights = softmax(scores)
    fig = Figure(
        "self_attention_one_query",
        title="Autoatención para una sola consulta: «gato» en «El gato come»",
        desc="La consulta de «gato» se compara con las claves de «El», «gato» y «come»; el softmax "
        f"da los pesos {', '.join(decimal(value, 3) for value in weights)}, que ponderan los "
        "valores de las tres palabras. La mezcla, lo que «gato» recoge de la oración, es casi el "
        "valor de «come».",
        height=754,
    )
    centers, cell = (174, 290, 406), (50, 25)
    fig.text(50, 18, "«gato»", bold=True)
    asking = fig.column(50, 36, "input", inputs[1], digits=0, cell=cell)
    for row, feature in enumerate(FEATURES):
        fig.text(112, 36 + 25 * (row + 0.5), feature, size=fig.small)
    to_query = fig.op(10, 142, 80, 40, "$W_q$", heavy=True)
    fig.arrow(asking.s, to_query.n)
    q = fig.column(50, 236, "query", query, digits=0, cell=cell)
    fig.text(50, 218, "$q_2$")
    fig.arrow(to_query.s, (50, 204))
    projections = fig.op(118, 142, 348, 40, "$W_k$ y $W_v$", heavy=True)
    first = fig.op(118, 322, 348, 40, "1 · puntuar: $q_2·k_i / √d_k$")
    fig.arrow(q.s, (50, first.cy), first.w_)
    second = fig.op(118, 430, 348, 40, "2 · normalizar con softmax")
    third = fig.op(118, 578, 348, 40, "3 · mezclar: $h_2 = Σ α_i v_i$")
    for index, cx in enumerate(centers):
        number = index + 1
        fig.text(cx, 18, words[index])
        x = fig.column(cx, 36, "input", inputs[index], digits=0, cell=cell)
        fig.arrow(x.s, (cx, projections.y))
        key = fig.column(cx - 26, 236, "key", keys[index], digits=0, cell=cell)
        value = fig.column(cx + 28, 236, "value", values[index], digits=0, cell=cell)
        for box, letter in ((key, "k"), (value, "v")):
            fig.text(box.cx, 218, f"${letter}_{number}$")
            fig.arrow((box.cx, projections.bottom), (box.cx, 204))
        fig.arrow(key.s, (key.cx, first.y))
        score = fig.column(cx, 382, None, [scores[index]], cell=cell)
        fig.line((cx, first.bottom), score.n)
        fig.arrow(score.s, (cx, second.y))
        bar = fig.bar(cx - 25, 556, 50, 46 * weights[index], "weight")
        fig.text(cx, bar.y - 12, decimal(weights[index], 3))
        fig.arrow((cx, second.bottom), (cx, bar.y - 22))
        fig.arrow((cx, 556), (cx, third.y))
        part = fig.column(cx, 668, "value", weights[index] * values[index], digits=3, cell=cell)
        fig.text(cx, 650, f"$α_{number}v_{number}$")
        fig.arrow((cx, third.bottom), (cx, 636))
        fig.text((50, *centers)[index] / 2 + cx / 2, part.cy, "=++"[index], size=fig.math)
    fig.line((136, 556), (450, 556), width=1)
    fig.text(104, 524, "$α_i$", anchor="end")
    out = fig.column(50, 668, "output", weights @ values, digits=3, cell=cell)
    fig.text(50, 650, "$h_2$")
    collected = "lo que «gato» recoge: casi todo, de «come»"
    fig.text(10, out.bottom + 20, collected, anchor="start", size=fig.small)
    return fig


def self_attention_all() -> Figure:
    words, inputs = SHORT.split(), embed(SHORT)
    weights = softmax(scaled_scores(inputs))
    outputs = weights @ (inputs @ W_V)
    fig = Figure(
        "self_attention_all",
        title="Autoatención para todas las palabras a la vez",
        desc="La matriz X de «El gato come» se proyecta en Q, K y V. Las puntuaciones de todas las "
        "parejas dan la matriz A de pesos, una fila por palabra, y A por V da una salida por "
        "palabra. La fila de «gato» es la de la figura anterior.",
        height=620,
    )
    x = fig.grid(150, 34, 3, 3, "input", values=inputs, digits=0, cell=(60, 26), row=1)
    for j, feature in enumerate(FEATURES):
        fig.text(x.x + 60 * (j + 0.5), 18, feature, size=fig.small)
    _row_words(fig, x, words)
    fig.text(x.right + 14, x.cy, "$X$", anchor="start")
    fig.line(x.s, (240, 134))
    projected = []
    names = (("q", W_Q, "query", 74), ("k", W_K, "key", 240), ("v", W_V, "value", 402))
    for letter, matrix, role, cx in names:
        box = fig.op(cx - 40, 154, 80, 38, f"$W_{letter}$", heavy=True)
        fig.arrow((240, 134), (cx, 134), box.n)
        lit = 1 if letter == "q" else None
        grid = fig.grid(
            cx - 52, 214, 3, 2, role, values=inputs @ matrix, digits=0, cell=(52, 26), row=lit
        )
        fig.arrow(box.s, grid.n)
        fig.text(grid.right + 8, grid.cy, f"${letter.upper()}$", anchor="start")
        projected.append(grid)
    score = fig.op(22, 320, 290, 42, "softmax de $QK^T/√d_k$, por filas")
    fig.arrow(projected[0].s, (projected[0].cx, score.y))
    fig.arrow(projected[1].s, (projected[1].cx, score.y))
    a = fig.grid(80, 418, 3, 3, "weight", values=weights, digits=3, shade=weights, cell=(54, 30))
    fig.arrow((a.cx, score.bottom), (a.cx, 386))
    for j, word in enumerate(words):
        fig.text(a.x + 54 * (j + 0.5), 402, word, size=fig.small)
    _row_words(fig, a, words)
    _outline_row(fig, a, 1, 30)
    fig.text(a.cx, a.bottom + 20, "$A$: cada fila suma 1", size=fig.body)
    mix = fig.op(346, a.cy - 21, 112, 42, "$A V$")
    fig.arrow(projected[2].s, mix.n)
    fig.arrow(a.e, mix.w_)
    h = fig.grid(350, 516, 3, 2, "output", values=outputs, digits=3, cell=(52, 26), row=1)
    fig.arrow(mix.s, h.n)
    _row_words(fig, h, words)
    fig.text(h.right + 6, h.cy, "$H$", anchor="start")
    return fig


def _row_words(fig: Figure, box: Box, words: list[str]) -> None:
    height = box.h / len(words)
    for i, word in enumerate(words):
        fig.text(box.x - 9, box.y + height * (i + 0.5), word, anchor="end", size=fig.small)


def _outline_row(fig: Figure, box: Box, row: int, height: float) -> None:
    y = box.y + row * height
    corners = ((box.x, y), (box.right, y), (box.right, y + height), (box.x, y + height))
    fig.line(*corners, (box.x, y - 1.2), width=2.4)


def weights_two_kinds() -> Figure:
    fig = Figure(
        "weights_two_kinds",
        title="Dos clases de pesos: parámetros y pesos de atención",
        desc="Las matrices de parámetros W_q y W_k son las mismas para las dos oraciones. Los "
        "pesos de atención A se calculan para cada oración: son de tres por tres en «El gato "
        "come» y de cinco por cinco en «El gato persigue al ratón», y la fila de «gato» cambia.",
        height=574,
    )
    shared = fig.frame(4, 4, 472, 142)
    fig.text(18, 26, "Parámetros (pesos entrenables)", anchor="start", bold=True)
    for x, letter, matrix in ((56, "q", W_Q), (204, "k", W_K)):
        grid = fig.grid(x, 48, 3, 2, None, values=matrix, digits=0, heavy=True, cell=(48, 27))
        fig.text(grid.x - 8, grid.cy, f"$W_{letter}$", anchor="end")
    fig.text(318, 88, "aprendidos: los\nmismos para\ntoda oración", anchor="start", size=fig.small)
    fig.text(18, 178, "Pesos de atención: uno por pareja de palabras,", anchor="start", bold=True)
    fig.text(18, 200, "calculados para cada oración", anchor="start", bold=True)
    for top, sentence in ((218, SHORT), (372, LONG)):
        words = sentence.split()
        weights = softmax(scaled_scores(embed(sentence)))
        panel = fig.frame(4, top, 436, 58 + 28 * len(words))
        a = fig.grid(
            80,
            top + 40,
            len(words),
            len(words),
            "weight",
            values=weights,
            digits=3,
            shade=weights,
            cell=(60, 28),
        )
        for j, word in enumerate(words):
            fig.text(a.x + 60 * (j + 0.5), top + 22, word, size=fig.small)
        _row_words(fig, a, words)
        _outline_row(fig, a, 1, 28)
        fig.text(a.right + 10, a.cy, f"$A$\n{len(words)} × {len(words)}", anchor="start")
        fig.arrow((458, shared.bottom), (458, panel.cy), panel.e)
    return fig


def causal_mask() -> Figure:
    words, scores = LONG.split(), scaled_scores(embed(LONG))
    hidden = np.triu(np.ones((5, 5), dtype=bool), k=1)
    weights = softmax(np.where(hidden, -np.inf, scores))
    fig = Figure(
        "causal_mask",
        title="La máscara causal: cada palabra solo ve las anteriores y a sí misma",
        desc="Puntuaciones de «El gato persigue al ratón» con las celdas por encima de la diagonal "
        "ocultas, en gris rayado. Después del softmax por filas, los pesos ocultos son cero y cada "
        "fila suma 1 con las palabras visibles.",
        height=500,
    )
    cell = (58, 30)
    fig.text(84, 20, "Puntuaciones", anchor="start", bold=True)
    fig.text(476, 20, "fila: consulta · columna: clave", anchor="end", size=fig.small)
    top = fig.grid(84, 66, 5, 5, None, values=scores, hidden=hidden, cell=cell)
    step = fig.op(84, 242, 290, 40, "softmax por filas")
    fig.arrow((top.cx, top.bottom), step.n)
    fig.text(84, 318, "Pesos de atención $A$", anchor="start", bold=True)
    a = fig.grid(
        84, 338, 5, 5, "weight", values=weights, digits=2, hidden=hidden, shade=weights, cell=cell
    )
    fig.arrow((345, step.bottom), (345, a.y))
    for j, word in enumerate(words):
        fig.text(top.x + 58 * (j + 0.5), 50, word, size=fig.small)
    for i in range(5):
        fig.text(a.right + 8, a.y + 30 * (i + 0.5), "suma 1", anchor="start", size=fig.small)
    _row_words(fig, top, words)
    _row_words(fig, a, words)
    fig.column(398, 68, "hidden", count=1, cell=(30, 24))
    fig.text(382, 124, "oculto:\npuntuación\n−∞, peso 0", anchor="start", size=fig.small)
    return fig


# Las seis palabras del capítulo y los parámetros de la semilla 123, los del laboratorio
# (book/_static/labs/six_words.js); una prueba los compara con los de PyTorch.
SIX = ("Pica", "el", "ajo", "y", "la", "cebolla")
SIX_X = np.array(
    [
        [0.43, 0.15, 0.89],
        [0.55, 0.87, 0.66],
        [0.57, 0.85, 0.64],
        [0.22, 0.58, 0.33],
        [0.77, 0.25, 0.10],
        [0.05, 0.80, 0.55],
    ]
)
SIX_Q, SIX_K, SIX_V = np.array(
    [
        [[0.2961119, 0.5165623], [0.2516707, 0.6885568], [0.0739725, 0.8665220]],
        [[0.1365799, 0.1024790], [0.1840565, 0.7264467], [0.3152539, 0.6871067]],
        [[0.0756353, 0.1966382], [0.3164120, 0.4017401], [0.1185683, 0.8273954]],
    ]
)


def six_words() -> Figure:
    query, values = SIX_X[1] @ SIX_Q, SIX_X @ SIX_V
    scores = SIX_X @ SIX_K @ query
    weights = softmax(scores / np.sqrt(2))
    fig = Figure(
        "six_words",
        title="Lo que «el» recoge de las seis palabras",
        desc="Una tabla con una fila por palabra de «Pica el ajo y la cebolla»: su puntuación con "
        "la consulta de «el», su peso y los dos números de su valor. Debajo, lo que «el» recoge: "
        "los valores mezclados con los pesos.",
        height=268,
    )
    columns = (
        (86, "puntuación", None, scores[:, None]),
        (196, "peso", "weight", weights[:, None]),
        (300, "valor", "value", values),
    )
    for x, title, role, numbers in columns:
        cell = (84, 27)
        box = fig.grid(x, 36, 6, numbers.shape[1], role, cell=cell, values=numbers, digits=4)
        fig.text(box.cx, 18, title, size=fig.small)
    for i, word in enumerate(SIX):
        fig.text(78, 36 + 27 * (i + 0.5), word, anchor="end", size=fig.small)
    fig.grid(300, 224, 1, 2, "output", cell=(84, 27), values=[weights @ values], digits=4)
    fig.text(290, 237, "«el» recoge", anchor="end", size=fig.small)
    return fig


FIGURES = (
    six_words,
    who_asks,
    self_attention_one_query,
    self_attention_all,
    weights_two_kinds,
    causal_mask,
)
