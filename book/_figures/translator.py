"""Diagramas del capítulo del traductor: de texto a texto, y qué combinaciones se apartan."""

from __future__ import annotations

import re

from book._figures.kit import Box, Figure, looks_and_guesses

SOURCE = ("Ensalada", "de", "atún", "</s>")
TARGET = ("<s>", "T", "una", "salad")
ANSWER = ("T", "una", "salad", "</s>")

# La oración con la que empieza el capítulo, y de qué palabra sale cada una de las inglesas.
SPANISH = ("Lava", "los", "pimientos", "rojos", "y", "córtalos")
ENGLISH = ("Wash", "the", "red", "bell peppers", "and", "cut", "them")
# Al escribir *them*, lo que contesta el traductor guardado y lo que mira su último bloque.
THEM = {"them": "99.9 %", "it": "0.1 %"}
THEM_READ = ("Lava", "los", "pimientos", "rojos", "y", "córtalos", "en", "tiras", ".", "</s>")
THEM_LOOKS = (
    (0, 0, 0.01, 0, 0, 0.62, 0.04, 0.09, 0, 0.24),
    (0, 0, 0, 0, 0, 0.69, 0.13, 0.16, 0, 0.02),
    (0, 0, 0.01, 0, 0, 0.99, 0, 0, 0, 0),
    (0, 0, 1.0, 0, 0, 0, 0, 0, 0, 0),
)
LINKS = ((0, 0), (1, 1), (3, 2), (2, 3), (4, 4), (5, 5), (5, 6))


def translator_alignment() -> Figure:
    fig = Figure(
        "translator_alignment",
        title="De qué palabra sale cada una",
        desc="Arriba, «Lava los pimientos rojos y córtalos»; abajo, «Wash the red bell peppers and "
        "cut them». Una línea une cada palabra inglesa con la española de la que sale: las de "
        "«pimientos» y «rojos» se cruzan, y «córtalos» da cut y them. Una línea discontinua va de "
        "«pimientos» a them: por ella no es it.",
        height=230,
    )
    top, bottom = _words(fig, 34, SPANISH), _words(fig, 158, ENGLISH)
    for above, below in LINKS:
        crossed = above in (2, 3)
        fig.line(top[above].s, bottom[below].n, width=2.6 if crossed else 1.4)
    them = bottom[-1]
    fig.arrow((top[2].cx + 20, top[2].bottom), (them.cx - 8, them.y), dashed=True)
    fig.text(them.right, 208, "¿it o them?", anchor="end", bold=True)
    return fig


def _words(fig: Figure, y: float, words: tuple[str, ...]) -> list[Box]:
    """Una fila de palabras, repartidas a lo ancho."""
    widths = [16 + 8.0 * len(word) for word in words]
    gap = (fig.width - 8 - sum(widths)) / (len(words) - 1)
    boxes, x = [], 4.0
    for word, width in zip(words, widths, strict=True):
        boxes.append(fig.op(x, y, width, 34, word, role="input", size=fig.small, radius=6))
        x += width + gap
    return boxes


def translator_pipeline() -> Figure:
    fig = Figure(
        "translator_pipeline",
        title="Del texto en español al texto en inglés",
        desc="A la izquierda, «Ensalada de atún» se parte en tokens, cada token en un número, y el "
        "codificador, de dos bloques, da un vector por token. A la derecha, el decodificador, "
        "también de dos bloques, lee lo ya escrito, toma claves y valores del codificador y "
        "escribe un token más cada vez, hasta el fin: «Tuna salad».",
        height=560,
    )
    left, right = 112, 366
    fig.text(left, 18, "«Ensalada de atún»", bold=True)
    source_bpe = fig.op(left - 62, 46, 124, 34, "BPE", size=fig.small)
    fig.arrow((left, 30), source_bpe.n)
    row = _cells(fig, left, 106, SOURCE, "input")
    fig.arrow(source_bpe.s, (left, 102))
    encoder = fig.block(left, 196, "2 bloques de\ncodificador", "attention", h=92, w=170)
    fig.arrow((left, row.bottom + 2), encoder.n)
    h = _cells(fig, left, 330, ("",) * 4, "output", w=30)
    fig.arrow(encoder.s, (left, 326))
    fig.text(left, h.bottom + 18, "un vector por token", size=fig.small)

    fig.text(right, 18, "lo escrito hasta ahora", size=fig.small)
    written = _cells(fig, right, 34, TARGET, "input")
    decoder = fig.block(right, 196, "2 bloques de\ndecodificador", "attention", h=92, w=170)
    fig.arrow((right, written.bottom + 2), decoder.n)
    fig.keys_values((h.right + 4, h.cy), (240, h.cy), (240, decoder.cy), decoder.w_)
    head = fig.block(right, 324, "Tabla transpuesta", "linear", h=36, w=170)
    fig.flow(decoder, head)
    answer = _cells(fig, right, 392, ANSWER, "output")
    fig.arrow(head.s, (right, 388))
    fig.arrow(
        (answer.right + 4, answer.cy),
        (468, answer.cy),
        (468, written.cy),
        (written.right + 4, written.cy),
        dashed=True,
    )
    target_bpe = fig.op(right - 62, 456, 124, 34, "BPE, al revés", size=fig.small)
    fig.arrow((right, answer.bottom + 2), target_bpe.n)
    fig.arrow(target_bpe.s, (right, 526))
    fig.text(right, 542, "«Tuna salad»", bold=True)
    return fig


def _cells(
    fig: Figure, cx: float, y: float, words: tuple[str, ...], role: str, w: float | None = None
) -> Box:
    """Fila de celdas con un token cada una, tan anchas como su texto."""
    widths = [w or max(30, 8.6 * len(word) + 10) for word in words]
    x = cx - sum(widths) / 2
    boxes = []
    for word, width in zip(words, widths, strict=True):
        boxes.append(fig.grid(x, y, 1, 1, role, cell=(width, 30)))
        fig.text(x + width / 2, y + 15, word, size=fig.small)
        x += width
    return Box(boxes[0].x, y, x - boxes[0].x, 30)


# Como están en el corpus: x, se entrena; H, se aparta. Las treinta existen.
MAINS = ("pollo", "pavo", "pulpo", "cerdo", "calabaza", "setas")
CORPUS = {
    "arroz": "xxxxxx",
    "curry": "xxxxxH",
    "fideos": "Hxxxxx",
    "lasaña": "xHxxxx",
    "sopa": "xxxxxx",
}


def held_out_combinations() -> Figure:
    fig = Figure(
        "held_out_combinations",
        title="Las combinaciones que se apartan",
        desc="Cuadrícula de cinco platos por seis ingredientes del corpus. De sus treinta casillas "
        "se entrenan 27, marcadas con un punto, y tres, rayadas, se apartan para evaluar: curry "
        "de setas, fideos con pollo y lasaña de pavo. De cada plato y de cada ingrediente quedan "
        "al menos cuatro casillas que se entrenan.",
        height=300,
    )
    hidden = [[mark == "H" for mark in row] for row in CORPUS.values()]
    cell = (60, 36)
    box = fig.grid(104, 64, 5, 6, None, cell=cell, hidden=hidden)
    for i, (dish, row) in enumerate(CORPUS.items()):
        middle = box.y + (i + 0.5) * cell[1]
        fig.text(box.x - 10, middle, dish, anchor="end")
        for j, mark in enumerate(row):
            if mark == "x":
                fig.text(box.x + (j + 0.5) * cell[0], middle, "●", size=fig.small)
    for j, main in enumerate(MAINS):
        lift = 32 if j % 2 else 13
        fig.text(box.x + (j + 0.5) * cell[0], box.y - lift, main, size=fig.small)
    fig.text(104, 270, "● se entrena", size=fig.small, anchor="start")
    fig.grid(236, 260, 1, 1, None, cell=(26, 20), hidden=[[True]])
    fig.text(270, 270, "se aparta para evaluar", size=fig.small, anchor="start")
    return fig


def translator_steps() -> Figure:
    fig = Figure(
        "translator_steps",
        title="Un paso de la traducción: qué candidatos hay y a quién mira cada cabeza",
        desc="Escrito «Wash the red bell peppers and cut», el siguiente es them, con 99.9 %, o it, "
        "con 0.1 %. De las cuatro cabezas del bloque 2, la 4 mira a «pimientos», con 1.00, y las "
        "otras tres sobre todo a «córtalos», con 0.62, 0.69 y 0.99.",
        height=384,
    )
    fig.text(300, 30, "…and cut", anchor="start", bold=True)
    looks_and_guesses(fig, THEM_READ, THEM_LOOKS, THEM, block=2)
    fig.text(
        300,
        270,
        "paso 8 de\n«Lava los pimientos\nrojos y córtalos\nen tiras.»",
        anchor="start",
        size=fig.small,
    )
    return fig


# «Are you sure you want to delete this account?», con el traductor de mensajes: los candidatos tras
# «¿», y las tres del haz, con su puntuación.
AFTER_QUESTION = {
    "Está": "45.8 %",
    "Seguro": "35.6 %",
    "Confir": "4.9 %",
    "Desea": "1.5 %",
    "Real": "1.1 %",
}
BEAM_OF_THREE = {
    "¿Seguro que quiere eliminar esta cuenta?": "−1.58",
    "¿Está seguro de que quiere eliminar esta cuenta?": "−1.61",
    "¿Seguro que quiere borrar esta cuenta?": "−1.67",
}


def translator_messages() -> Figure:
    fig = Figure(
        "translator_messages",
        title="Donde el haz y la voraz no escriben lo mismo",
        desc="«Are you sure you want to delete this account?» Tras «¿», el candidato más probable "
        "es «Está», con 45.8 %, y con él la voraz escribe «¿Está seguro de que quiere eliminar "
        "esta cuenta?». El haz de tres pone delante «¿Seguro que quiere eliminar esta cuenta?».",
        height=372,
    )
    fig.text(8, 18, "«Are you sure you want to delete this account?»", anchor="start", bold=True)
    fig.text(8, 50, "tras «¿», los candidatos", anchor="start", size=fig.small)
    for i, (word, share) in enumerate(AFTER_QUESTION.items()):
        y = 80 + 26 * i
        wide = 5 * float(share.removesuffix(" %"))
        fig.text(88, y, word, anchor="end", size=fig.small, bold=i == 0)
        fig.hbar(96, y - 10, wide, 20, "output")
        fig.text(104 + wide, y, share, anchor="start", size=fig.small)
    fig.text(8, 220, "las tres del haz", anchor="start", size=fig.small)
    for i, (text, score) in enumerate(BEAM_OF_THREE.items()):
        y = 252 + 46 * i
        fig.text(8, y, score, anchor="start", size=fig.small, bold=i == 0)
        lines = re.sub(" (eliminar|borrar) ", r"\n\1 ", text)
        fig.text(72, y, lines, anchor="start", size=fig.small)
    return fig


FIGURES = (
    translator_alignment,
    translator_pipeline,
    held_out_combinations,
    translator_steps,
    translator_messages,
)
