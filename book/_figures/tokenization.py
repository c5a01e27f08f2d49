"""Diagramas de la tokenización: las fusiones una a una, el camino del texto y la tabla."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np

from book._figures.kit import Box, Figure, decimal
from course_lib.tokenization import ByteBPE

# Los del capítulo: cada palabra y cuántas veces aparece.
CORPUS = {"papa": 5, "pela": 3, "tapa": 4}
STEPS = 4

# El texto del laboratorio: se aprende de él entero, y se dibuja su primera oración.
LABORATORY = (
    "Pica el ajo y la cebolla, y sofríela. Pica el apio y la papa, y sofríelos. "
    "Pela la papa y la calabaza, y sofríelas."
)
SHOWN, SHOWN_STEPS = "Pica el ajo y la cebolla,", (0, 4, 8)

# La oración del camino, y el texto del que sale su vocabulario.
SENTENCE = "Pela la papa."
LEARNT_FROM = "la papa, pela la papa, tapa la papa"
NUM_MERGES = 5

TABLE = np.array([[0.2, -1.0], [0.9, 0.4], [-0.5, 0.7], [1.2, 0.9], [0.0, -0.3]])
NAMES = ("la", "papa", "pela", "yuca", ".")
CHOSEN = (2, 0, 1)

VISIBLE_SPACE = "␣"


def merge(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    result: list[str] = []
    for symbol in symbols:
        result.append(symbol)
        if tuple(result[-2:]) == pair:
            result[-2:] = ["".join(pair)]
    return result


def history() -> list[tuple[str, list[list[str]]]]:
    """Título y estado de las palabras en cada paso; el par se cuenta y se desempata de verdad."""
    words = [list(word) for word in CORPUS]
    order = {letter: ord(letter) for word in CORPUS for letter in word}
    steps = [("al principio: letras", words)]
    for step in range(1, STEPS + 1):
        counts: Counter[tuple[str, str]] = Counter()
        for word, times in zip(words, CORPUS.values(), strict=True):
            for pair in pairwise(word):
                counts[pair] += times
        best = min(counts, key=lambda p: (-counts[p], order[p[0]], order[p[1]]))
        order["".join(best)] = 255 + step
        words = [merge(word, best) for word in words]
        title = f"fusión {step}: {best[0]} + {best[1]}, {counts[best]} veces"
        tied = [p for p in counts if counts[p] == counts[best] and p != best]
        if tied:
            title += f" (empata con {' y '.join(' + '.join(p) for p in tied)})"
        steps.append((title, words))
    return steps


def strip(
    fig: Figure, x: float, y: float, tokens: list[str], unit: float, new: str = ""
) -> list[Box]:
    """Fila de tokens, cada uno tan ancho como sus letras; el recién nacido, de otro color."""
    boxes = []
    for token in tokens:
        role = "output" if token == new else "input"
        cell = (unit * len(token), 28)
        boxes.append(fig.grid(x, y, 1, 1, role, cell=cell, values=[[token]], size=fig.body))
        x += cell[0]
    return boxes


def merges() -> Figure:
    fig = Figure(
        "merges",
        title="Una oración, cada vez en menos tokens",
        desc=f"«{SHOWN}» partida en letras, y después de cuatro y de ocho fusiones: los trozos que "
        "se repiten en el texto van siendo un solo token.",
        height=36 + 66 * len(SHOWN_STEPS),
    )
    for row, count in enumerate(SHOWN_STEPS):
        bpe = ByteBPE.train([LABORATORY], 256 + count, special_tokens=())
        tokens = [
            bpe.token_bytes(i).decode().replace(" ", VISIBLE_SPACE) for i in bpe.encode(SHOWN)
        ]
        fig.text(12, 24 + 66 * row, f"con {count} fusiones: {len(tokens)} tokens", anchor="start")
        strip(fig, 12, 40 + 66 * row, tokens, 18)
    return fig


def bpe_merges() -> Figure:
    steps = history()
    fig = Figure(
        "bpe_merges",
        title="Cuatro fusiones sobre tres palabras",
        desc="Las palabras papa (5 veces), pela (3) y tapa (4) empiezan partidas en letras. Se "
        "fusionan, por turno, p y a, que están juntas 14 veces; pa y pa, 5; a y pa, 4, empatadas "
        "con t y a; y t y apa, 4. Al final papa y tapa son un solo token y pela sigue en letras.",
        height=30 + 66 * len(steps),
    )
    starts = (10, 172, 334)
    for x, (word, times) in zip(starts, CORPUS.items(), strict=True):
        fig.text(x + 68, 14, f"{word} × {times}", bold=True)
    for row, (title, words) in enumerate(steps):
        top = 34 + 66 * row
        new = ""
        if row:
            known = {token for word in steps[row - 1][1] for token in word}
            new = next(token for word in words for token in word if token not in known)
        fig.text(10, top + 10, title, anchor="start", size=fig.small)
        for x, word in zip(starts, words, strict=True):
            strip(fig, x, top + 22, word, 34, new)
    return fig


def tokenizer() -> ByteBPE:
    return ByteBPE.train([LEARNT_FROM], 256 + NUM_MERGES, special_tokens=())


def text_to_vectors() -> Figure:
    bpe = tokenizer()
    ids = bpe.encode(SENTENCE)
    tokens = [bpe.token_bytes(i).decode().replace(" ", VISIBLE_SPACE) for i in ids]
    pieces = [piece.replace(" ", VISIBLE_SPACE) for piece in bpe.pieces(SENTENCE)]
    fig = Figure(
        "text_to_vectors",
        title="De un texto a una matriz",
        desc=f"El texto «{SENTENCE}» se parte en {len(pieces)} trozos; sus {len(SENTENCE)} bytes "
        f"se fusionan en {len(tokens)} tokens; cada token tiene un número, y cada número elige "
        "una fila de la tabla de incrustaciones: un vector.",
        height=470,
    )
    unit, left = 35, 12
    fig.text(left, 20, f"texto: «{SENTENCE}»", anchor="start", bold=True)
    _caption(fig, 52, "1 · partir en trozos (el espacio, ␣, va con lo que sigue)")
    strip(fig, left, 68, pieces, unit)
    _caption(fig, 126, "2 · escribir los bytes (UTF-8)")
    listed = [[str(byte) for byte in SENTENCE.encode()]]
    fig.grid(left, 142, 1, len(listed[0]), None, cell=(unit, 28), values=listed)
    _caption(fig, 200, "3 · fusionar lo aprendido, sin salir del trozo")
    boxes = strip(fig, left, 216, tokens, unit)
    _caption(fig, 274, "4 · escribir el número de cada token")
    for box, number in zip(boxes, ids, strict=True):
        fig.grid(box.x, 290, 1, 1, None, cell=(box.w, 28), values=[[str(number)]])
    _caption(fig, 348, "5 · buscar su fila en la tabla de incrustaciones")
    for box in boxes:
        fig.arrow((box.cx, 358), (box.cx, 376))
        fig.column(box.cx, 378, "input", count=4, cell=(24, 18))
    return fig


def _caption(fig: Figure, y: float, content: str) -> None:
    fig.text(12, y, content, anchor="start", size=fig.small)


def embedding_lookup() -> Figure:
    one_hot = np.eye(len(NAMES))[list(CHOSEN)]
    words = [NAMES[i] for i in CHOSEN]
    fig = Figure(
        "embedding_lookup",
        title="Buscar en la tabla es multiplicar por unos y ceros",
        desc=f"Los tokens {', '.join(map(str, CHOSEN))} se escriben como filas con un solo uno. "
        "Por la tabla de incrustaciones, de cinco filas y dos columnas, dan las tres filas de la "
        "tabla con esos números.",
        height=262,
    )
    cell, top = (25, 27), 78
    left = fig.grid(52, top, 3, 5, None, cell=cell, values=one_hot, digits=0)
    for row, word in enumerate(words):
        y = top + cell[1] * (row + 0.5)
        fig.text(left.x - 6, y, word, anchor="end", size=fig.small)
    for column in range(len(NAMES)):
        fig.text(left.x + cell[0] * (column + 0.5), top - 14, str(column), size=fig.small)
    fig.text(left.cx, top - 42, "número del token", size=fig.small)
    fig.text(left.right + 18, left.cy, "·", size=28)
    table_top = 52
    table = fig.grid(
        250, table_top, 5, 2, "input", cell=(46, 27), values=TABLE, digits=1, heavy=True
    )
    for row, name in enumerate(NAMES):
        y = table_top + 27 * (row + 0.5)
        fig.text(table.x - 8, y, f"{name}", anchor="end", size=fig.small)
    fig.text(table.cx, table_top - 20, "tabla $E$")
    fig.text(table.right + 16, left.cy, "=", size=24)
    out = fig.grid(378, top, 3, 2, "input", cell=(46, 27), values=one_hot @ TABLE, digits=1)
    fig.text(out.cx, top - 20, "$X$")
    lines = "; ".join(f"«{word}» es la fila {i}" for word, i in zip(words, CHOSEN, strict=True))
    fig.text(12, 212, lines, anchor="start", size=fig.small)
    first = ", ".join(decimal(value, 1) for value in TABLE[CHOSEN[0]])
    fig.text(
        12, 238, f"nada se multiplica de verdad: se copia ({first})", anchor="start", size=fig.small
    )
    return fig


FIGURES = (merges, bpe_merges, text_to_vectors, embedding_lookup)
