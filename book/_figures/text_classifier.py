"""Diagramas del capítulo del clasificador: la red de arriba abajo, y el máximo sin el relleno."""

from __future__ import annotations

from book._figures.kit import Figure
from course_lib.tokenization.words import split_words

WORDS = ("No", "quedó", "nada", "soso", "<pad>")
STATES = (
    (-0.2, 0.9, -1.1),
    (0.4, 0.1, -0.6),
    (-0.5, 1.6, -0.3),
    (0.3, -0.7, -2.0),
    (1.9, 0.8, 0.5),
)
HIDDEN = ((False,) * 3,) * 4 + ((True,) * 3,)
SUMMARY = (0.4, 1.6, -0.3)


def classifier_same_words() -> Figure:
    """Las dos opiniones con las que empieza el capítulo: las mismas palabras, en otro orden."""
    fig = Figure(
        "classifier_same_words",
        title="Las mismas palabras, en otro orden, dicen lo contrario",
        desc="«Quedó soso, pero no me pareció nada aburrido» es positiva; «No me pareció nada "
        "aburrido, pero quedó soso», negativa. Contadas, las dos son la misma bolsa de palabras.",
        height=262,
    )
    clauses = ("quedó soso", "no me pareció\nnada aburrido")
    for row, (order, verdict) in enumerate((((0, 1), "positiva"), ((1, 0), "negativa"))):
        y = 8 + 84 * row
        for place, i in enumerate(order):
            x = (2, 214)[place]
            role = "output" if place else "input"
            fig.op(x, y, 150, 58, clauses[i], role=role, size=fig.small)
        fig.text(183, y + 29, "pero", bold=True)
        fig.arrow((366, y + 29), (392, y + 29))
        fig.text(398, y + 29, verdict, anchor="start", bold=True)
    bag = ("quedó", "soso", "pero", "no", "me", "pareció", "nada", "aburrido")
    fig.text(2, 184, "Contadas, son iguales:", anchor="start", size=fig.small)
    left = 2.0
    for word in bag:
        wide = 14 + 8.2 * len(word)
        fig.op(left, 206, wide, 44, f"{word}\n1", size=fig.small, radius=5)
        left += wide + 4
    return fig


def classifier_whole() -> Figure:
    fig = Figure(
        "classifier_whole",
        title="El clasificador: un codificador, un resumen y una capa lineal",
        desc="De arriba abajo: el texto «No quedó nada soso», con una posición de relleno, pasa "
        "por la tabla de incrustaciones, suma su posición y atraviesa N bloques de codificador. De "
        "la matriz de estados, sin la fila del relleno, queda el máximo de cada columna; una capa "
        "lineal da dos puntuaciones: negativa y positiva.",
        height=664,
    )
    cx = 150
    fig.text(cx, 16, "«No quedó nada soso <pad>»", size=fig.small)
    table = fig.block(cx, 40, "Incrustación", "embedding", w=176, h=34)
    fig.arrow((cx, 26), table.n)
    plus = fig.positional_sum(cx, 96, side="w")
    fig.arrow(table.s, plus.n)
    layer = fig.encoder_layer(cx, 124)
    fig.line(plus.s, layer.n)
    fig.times(layer.panel, "N", side="e")
    states = fig.grid(
        cx - 66, 380, 5, 4, "output", cell=(33, 18), hidden=((False,) * 4,) * 4 + ((True,) * 4,)
    )
    fig.arrow(layer.s, states.n)
    fig.tall_axis(states, "t", side="w")
    fig.text(
        states.right + 14, states.cy, "$H$: un estado\npor posición", anchor="start", size=fig.small
    )
    pool = fig.block(cx, 498, "Máximo por columna", w=176, h=32)
    fig.arrow(states.s, pool.n)
    fig.text(pool.right + 10, pool.cy, "sin el relleno", anchor="start", size=fig.small)
    summary = fig.grid(cx - 66, 550, 1, 4, "output", cell=(33, 20))
    fig.arrow(pool.s, summary.n)
    fig.text(
        summary.right + 14, summary.cy, "$r$: un vector por texto", anchor="start", size=fig.small
    )
    linear = fig.block(cx, 590, "Capa lineal", "linear", w=176, h=32)
    fig.arrow(summary.s, linear.n)
    fig.arrow(linear.s, (cx, 638))
    fig.text(cx, 652, "negativa −2.1 · positiva 2.3", size=fig.small, bold=True)
    return fig


def max_over_positions() -> Figure:
    fig = Figure(
        "max_over_positions",
        title="El máximo de cada columna, sin contar el relleno",
        desc="Una matriz de cinco posiciones por tres coordenadas. La quinta fila es relleno y "
        "está rayada. Debajo, el mayor valor de cada columna entre las cuatro primeras filas: 0.4, "
        "1.6 y −0.3.",
        height=258,
    )
    states = fig.tokens(
        150,
        36,
        WORDS,
        3,
        "output",
        axes=("t", "d_{'model'}"),
        cell=(62, 28),
        values=STATES,
        digits=1,
        hidden=HIDDEN,
    )
    summary = fig.grid(150, 216, 1, 3, "output", cell=(62, 30), values=(SUMMARY,), digits=1)
    for j in range(3):
        x = 150 + 62 * (j + 0.5)
        fig.arrow((x, states.bottom + 4), (x, summary.y))
    fig.text(142, summary.cy, "$r$", anchor="end")
    fig.text(
        summary.right + 12, summary.cy, "el mayor de\ncada columna", anchor="start", size=fig.small
    )
    return fig


# Lo que contesta el clasificador guardado, y cuántos puntos baja «positiva» sin cada palabra.
PUSHES = {
    "No me pareció nada aburrido, pero quedó soso.": (
        "negativa",
        (-1, 0, 0, 0, 0, 0, -95, 0, 0, 0),
    ),
    "Quedó soso, pero no me pareció nada aburrido.": (
        "positiva",
        (0, 0, 0, 42, 4, 0, 0, 2, 2, 0),
    ),
}


def classifier_words() -> Figure:
    fig = Figure(
        "classifier_words",
        title="Qué palabras mueven la respuesta del clasificador guardado",
        desc="Dos opiniones con las mismas palabras en otro orden. La primera es negativa, y sin "
        "«pero» sería positiva: esa palabra quita 95 puntos. La segunda es positiva, y «pero» da "
        "42 puntos; las demás, casi nada.",
        height=296,
    )
    top = 4.0
    for text, (verdict, pushes) in PUSHES.items():
        left = 4.0
        for word, push in zip(split_words(text), pushes, strict=True):
            wide = 20 + 8.6 * len(word)
            if left + wide > 476:
                left, top = 4.0, top + 56
            role = ("output" if push > 0 else "query") if abs(push) > 1 else None
            fig.op(left, top, wide, 48, "", role=role, radius=5)
            fig.text(left + wide / 2, top + 16, word, size=fig.small)
            number = f"{push:+d}".replace("-", "−") if push else "0"
            fig.text(left + wide / 2, top + 36, number, size=fig.small, bold=abs(push) > 1)
            left += wide + 4
        fig.text(left + 8, top + 24, verdict, anchor="start", bold=True)
        top += 76
    fig.text(
        4, top, "+ empuja hacia «positiva»; −, hacia «negativa»", anchor="start", size=fig.small
    )
    return fig


FIGURES = (classifier_same_words, classifier_whole, max_over_positions, classifier_words)
