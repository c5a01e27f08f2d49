"""Diagramas del capítulo de Transformer-XL: segmentos, memoria, los cuatro términos y alcance."""

from __future__ import annotations

from itertools import pairwise
from textwrap import wrap

import numpy as np

from book._figures.attention import PRONOUN, SENTENCE, softmax
from book._figures.kit import Box, Figure, decimal

SEGMENT = 4  # palabras por segmento en los dibujos de alcance; la memoria mide lo mismo


def xl_cut() -> Figure:
    weights = softmax(np.array(list(SENTENCE.values())) @ np.array(PRONOUN))
    fig = Figure(
        "xl_cut",
        title="Un corte entre «sofríe» y «la»",
        desc="Dos veces la misma oración, cortada entre «sofríe» y «la». Sin memoria, las ocho "
        "palabras anteriores están rayadas y «la» no las ve. Con memoria, de «la» sale un haz "
        f"hacia cada una; el más grueso, de peso {decimal(weights[5])}, llega a «cebolla».",
        height=304,
    )
    lefts = (4, 50, 84, 126, 152, 186, 264, 290)
    widths = (42, 30, 38, 22, 30, 74, 22, 58)
    cut = 362
    fig.text(4, 14, "un segmento", anchor="start", size=fig.small)
    fig.text(476, 14, "el siguiente", anchor="end", size=fig.small)
    for top, remembers in ((30, False), (164, True)):
        pronoun = fig.op(384, top + 60, 56, 36, "la", role="query", bold=True)
        fig.text(pronoun.right + 10, pronoun.cy, "…", anchor="start")
        for left, w, word, weight in zip(lefts, widths, SENTENCE, weights, strict=True):
            box = fig.grid(left, top, 1, 1, None if remembers else "hidden", cell=(w, 30))
            fig.text(box.cx, box.cy, word.strip(), size=fig.small)
            if remembers:
                wide = 0.6 + 15 * weight
                fig.line(pronoun.n, box.s, width=wide, opacity=0.35 + 0.65 * weight)
        says = "con memoria: ve las ocho" if remembers else "sin memoria: no ve ninguna"
        fig.text(4, top + 84, says, anchor="start", size=fig.small)
    fig.line((cut, 4), (cut, 296), width=3)
    return fig


def xl_segments() -> Figure:
    fig = Figure(
        "xl_segments",
        title="Ventanas fijas contra recurrencia por segmentos",
        desc="Doce palabras en tres segmentos de cuatro y dos capas. Con ventanas fijas, la "
        "décima palabra depende solo de las dos de su segmento. Con memoria, la primera capa mira "
        "también el segmento anterior y la segunda hereda lo que este vio: depende de las diez.",
        height=520,
    )
    for top, memory, title, below in (
        (40, 0, "Ventanas fijas", "la palabra 10 depende de 2: el corte la dejó sin pasado"),
        (304, SEGMENT, "Con memoria", "la palabra 10 depende de las 10 leídas"),
    ):
        fig.text(8, top - 22, title, anchor="start", bold=True)
        nodes = _stack(fig, top, count=12, layers=2, memory=memory, target=9, left=76, pitch=31)
        for i in range(3):
            box = nodes[0][SEGMENT * i]
            last = nodes[0][SEGMENT * (i + 1) - 1]
            fig.text(
                (box.x + last.right) / 2, last.bottom + 36, f"segmento {i + 1}", size=fig.small
            )
        fig.text(240, top + 200, below, size=fig.small)
    return fig


def xl_layer() -> Figure:
    fig = Figure(
        "xl_layer",
        title="Una capa con memoria",
        desc="La memoria, separada del grafo, se pone delante de los estados del segmento. Del "
        "conjunto salen las claves y los valores; las consultas salen solo del segmento. Los "
        "estados que entraron son la memoria de la capa para el segmento siguiente.",
        height=432,
    )
    cell = (30, 24)
    memory = fig.grid(54, 44, 3, 3, "input", cell=cell)
    fig.text(memory.cx, 22, "memoria $M$", size=fig.small)
    h = fig.grid(300, 44, 2, 3, "input", cell=cell)
    fig.text(h.cx, 22, "segmento $h$", size=fig.small)
    fig.tall_axis(memory, "m")
    fig.tall_axis(h, "t_q", side="e")
    stop = fig.op(memory.cx - 66, 128, 132, 28, "sin gradiente", dashed=True, size=fig.small)
    fig.arrow(memory.s, stop.n)
    joined = fig.op(54, 176, 214, 32, "unidos: $[M, h]$", size=fig.small)
    fig.arrow(stop.s, (stop.cx, joined.y))
    fig.arrow((h.cx - 14, h.bottom), (h.cx - 14, 122), (240, 122), (240, joined.y))
    w_kv = fig.op(54, 228, 214, 32, "$W_k$ y $W_v$", heavy=True)
    w_q = fig.op(296, 228, 96, 32, "$W_q$", heavy=True)
    fig.flow(joined, w_kv)
    fig.arrow((w_q.cx, h.bottom), w_q.n)
    k = fig.grid(66, 280, 5, 3, "key", cell=(24, 15))
    v = fig.grid(182, 280, 5, 3, "value", cell=(24, 15))
    q = fig.grid(w_q.cx - 36, 302, 2, 3, "query", cell=(24, 15))
    fig.tall_axis(k, "t_k")
    for box, letter, source in ((k, "K", w_kv), (v, "V", w_kv), (q, "Q", w_q)):
        fig.arrow((box.cx, source.bottom), box.n)
        fig.text(box.right + 14, box.cy, f"${letter}$")
    attend = fig.op(54, 372, 338, 32, "atención relativa y causal")
    for box in (k, v, q):
        fig.arrow(box.s, (box.cx, attend.y))
    fig.text(attend.cx, 420, "$t_q$ salidas: la memoria no consulta", size=fig.small)
    fig.arrow((h.right + 38, h.cy), (444, h.cy), (444, 172), dashed=True)
    fig.text(428, 204, "será la\nmemoria del\nsiguiente", size=fig.small)
    return fig


def xl_four_terms() -> Figure:
    fig = Figure(
        "xl_four_terms",
        title="Los cuatro términos de la puntuación relativa",
        desc="Cuadro de dos filas y dos columnas. Filas: lo que pregunta la consulta, y un vector "
        "entrenable igual para todas, u o v. Columnas: el contenido de la clave y la distancia "
        "hasta ella, proyectada. Cada casilla es un producto; los cuatro se suman.",
        height=376,
    )
    k = fig.op(
        116,
        4,
        172,
        58,
        "contenido de la clave\n$K_j = x_j W_k$",
        role="key",
        heavy=True,
        size=fig.small,
    )
    r = fig.op(
        300,
        4,
        172,
        58,
        "distancia hasta ella\n$r_{i−j} = 'PE'(i−j) W_r$",
        role="weight",
        heavy=True,
        size=fig.small,
    )
    q = fig.op(
        4,
        88,
        98,
        130,
        "quien\npregunta\n$Q_i = x_i W_q$",
        role="query",
        heavy=True,
        size=fig.small,
    )
    g = fig.op(4, 236, 98, 130, "igual para\ntodas\n$u$ y $v$", heavy=True, size=fig.small)
    cells = (
        (k, q, "1 · $Q_i K_j^T$", "«¿casan estas\ndos palabras?»"),
        (r, q, "2 · $Q_i r_{i−j}^T$", "«con esta palabra,\n¿a qué distancia\nmiro?»"),
        (k, g, "3 · $u K_j^T$", "«¿qué palabras\natraen a\ncualquiera?»"),
        (r, g, "4 · $v r_{i−j}^T$", "«¿qué distancias\natraen a\ncualquiera?»"),
    )
    for column, row, formula, reading in cells:
        box = fig.op(column.x, row.y, column.w, row.h, "")
        fig.text(box.cx, box.y + 26, formula, bold=True)
        fig.text(box.cx, box.y + 78, reading, size=fig.small)
    for column in (k, r):
        fig.arrow((column.cx, column.bottom), (column.cx, q.y))
    for row in (q, g):
        fig.arrow(row.e, (k.x, row.cy))
    return fig


def xl_relative_shift() -> Figure:
    t_q, t_k = 3, 5
    rows = [[f"{letter}{_sub(d)}" for d in range(t_k, -1, -1)] for letter in "abc"]
    ribbon = [value for row in rows for value in row]
    found = [ribbon[t_q + t_k * i : t_q + t_k * (i + 1)] for i in range(t_q)]
    future = [[j - i > t_k - t_q for j in range(t_k)] for i in range(t_q)]
    fig = Figure(
        "xl_relative_shift",
        title="El desplazamiento relativo en una matriz de tres consultas",
        desc="Una matriz con una fila por consulta y una columna por distancia, de 5 a 0, se lee "
        "seguida; se saltan los tres primeros números y el resto se corta en filas de cinco. En "
        "cada fila quedan las distancias de esa consulta; lo de la derecha, basura, va rayado.",
        height=486,
    )
    cell = (46, 30)
    fig.text(240, 18, "lo que se calcula: una columna por distancia", size=fig.small)
    top = fig.grid(104, 62, t_q, t_k + 1, "weight", cell=cell, values=rows)
    _columns(fig, top, [str(d) for d in range(t_k, -1, -1)])
    _rows(fig, top, ("consulta 1", "consulta 2", "consulta 3"))
    fig.text(top.right + 12, top.y - 14, "$i−j$", anchor="start", size=fig.small)
    fig.arrow((240, top.bottom + 6), (240, 188))
    fig.text(252, top.bottom + 20, "los mismos, seguidos", anchor="start", size=fig.small)
    width = 25.5
    for i, value in enumerate(ribbon):
        box = fig.grid(10 + width * i, 194, 1, 1, "weight", cell=(width, 30), hidden=None)
        fig.text(box.cx, box.cy, value, size=fig.small)
    for i in range(t_q):
        start = 10 + width * (t_q + t_k * i)
        fig.line((start, 232), (start, 240), (start + width * t_k, 240), (start + width * t_k, 232))
        fig.text(start + width * t_k / 2, 254, f"fila {i + 1}", size=fig.small)
    fig.text(10 + width * t_q / 2, 254, "se saltan", size=fig.small)
    fig.arrow((240, 268), (240, 300))
    fig.text(252, 283, "en filas de cinco", anchor="start", size=fig.small)
    out = fig.grid(126, 350, t_q, t_k, "weight", cell=cell, values=found, hidden=future)
    _columns(fig, out, [f"clave {j + 1}" if j in (0, t_k - 1) else str(j + 1) for j in range(t_k)])
    _rows(fig, out, ("consulta 1", "consulta 2", "consulta 3"))
    fig.text(240, 316, "lo que se quería: una columna por clave", size=fig.small)
    fig.text(240, 464, "rayado, de la fila siguiente: la máscara lo oculta", size=fig.small)
    return fig


def xl_reach() -> Figure:
    fig = Figure(
        "xl_reach",
        title="El alcance crece con las capas",
        desc="Trece palabras en segmentos de cuatro y tres capas. La primera palabra del último "
        "segmento mira cuatro palabras atrás en la última capa; esas dependen de otras cuatro más "
        "atrás en la anterior, y así hasta doce palabras. Memoria y segmento miden lo mismo.",
        height=330,
    )
    nodes = _stack(fig, 52, count=13, layers=3, memory=SEGMENT, target=12, left=76, pitch=30)
    steps = nodes[0][::SEGMENT]
    y = steps[0].bottom + 26
    for left, right in pairwise(steps):
        a, b = left.cx, right.cx
        fig.line((a, y - 6), (a, y), (b, y), (b, y - 6))
        fig.text((a + b) / 2, y + 15, "$m$ = 4", size=fig.small)
    fig.text(76, 24, "lo que influye en la última palabra", anchor="start", size=fig.small)
    fig.text(240, y + 52, "alcance: $m + (N−1) L ⌈m/L⌉$ = 4 + 2 · 4 = 12", bold=True)
    return fig


# --- piezas ------------------------------------------------------------------------------------


def _stack(
    fig: Figure,
    top: float,
    *,
    count: int,
    layers: int,
    memory: int,
    target: int,
    left: float,
    pitch: float,
) -> list[list[Box]]:
    """Capas de cuadritos, una columna por palabra; los que influyen en `target`, en naranja."""
    side, rise = 20.0, 56.0
    levels = []
    for level in range(layers + 1):
        y = top + rise * (layers - level)
        row = [Box(left + pitch * i + 6 * (i // SEGMENT), y, side, side) for i in range(count)]
        name = "palabras" if level == 0 else f"capa {level}"
        fig.text(left - 8, y + side / 2, name, anchor="end", size=fig.small)
        levels.append(row)
    reached = {target}
    used = {layers: reached}
    for level in range(layers, 0, -1):
        lower = set()
        for i in sorted(reached):
            first = max(0, SEGMENT * (i // SEGMENT) - memory)
            for j in range(first, i + 1):
                a, b = levels[level - 1][j], levels[level][i]
                fig.line((a.cx, a.y), (b.cx, b.bottom), width=1.0, opacity=0.55)
                lower.add(j)
        used[level - 1] = reached = lower
    for level, row in enumerate(levels):
        for i, box in enumerate(row):
            role = "output" if i in used[level] else None
            heavy = level == layers and i == target
            fig.op(box.x, box.y, box.w, box.h, "", role=role, radius=4, heavy=heavy)
    for i, box in enumerate(levels[0]):
        fig.text(box.cx, box.bottom + 12, str(i + 1), size=fig.small)
    return levels


def _columns(fig: Figure, box: Box, names: list[str]) -> None:
    width = box.w / len(names)
    for j, name in enumerate(names):
        fig.text(box.x + width * (j + 0.5), box.y - 13, name, size=fig.small)


def _rows(fig: Figure, box: Box, names: tuple[str, ...]) -> None:
    height = box.h / len(names)
    for i, name in enumerate(names):
        fig.text(box.x - 8, box.y + height * (i + 0.5), name, anchor="end", size=fig.small)


def _sub(number: int) -> str:
    return "₀₁₂₃₄₅"[number]


# Una sopa apartada; lo que el modelo guardado espera en la última «menta», con memoria y sin ella.
SOUP = """\
Sopa de conejo
Conejo, cebolla, ajíes dulces, mantequilla, caldo de pollo, sal al gusto, pimentón, menta, nachos
Cocina a fuego lento durante 30 minutos y retira la espuma.
Sazona con sal y pimentón.
Espolvorea la menta picada por encima.
Sirve la sopa bien caliente con los nachos."""
EXPECTED = {
    "con memoria de 64": {"menta": "99.9 %"},
    "sin memoria": {"albahaca": "36.4 %", "hierbabuena": "25.5 %", "la": "21.1 %"},
}
BACK = 26


def xl_memory() -> Figure:
    fig = Figure(
        "xl_memory",
        title="Lo que el modelo guardado espera en una palabra, con memoria y sin ella",
        desc="Una receta: la lista anuncia «menta», y un paso la nombra 26 palabras después, en "
        "otro segmento. Con memoria, el modelo espera «menta» con 99.9 %. Sin ella reparte entre "
        "albahaca, hierbabuena y otras.",
        height=366,
    )
    rows = [(row, "menta" in row) for line in SOUP.split("\n") for row in wrap(line, 58)]
    for i, (row, bold) in enumerate(rows):
        fig.text(8, 14 + 22 * i, row, anchor="start", size=fig.small, bold=bold)
    top = 14 + 22 * len(rows) + 14
    fig.text(8, top, f"«menta», {BACK} palabras después: qué esperaba", anchor="start")
    top += 28
    for name, guesses in EXPECTED.items():
        fig.text(8, top + 10, name, anchor="start", size=fig.small)
        for word, share in guesses.items():
            wide = 1.7 * float(share.removesuffix(" %"))
            fig.text(236, top + 10, word, anchor="end", size=fig.small)
            fig.hbar(244, top, wide, 20, "output")
            fig.text(250 + wide, top + 10, share, anchor="start", size=fig.small)
            top += 26
        top += 8
    return fig


FIGURES = (xl_cut, xl_segments, xl_layer, xl_four_terms, xl_relative_shift, xl_reach, xl_memory)
