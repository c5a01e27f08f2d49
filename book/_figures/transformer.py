"""Diagramas del capítulo del Transformer: la arquitectura, pieza a pieza."""

from __future__ import annotations

from itertools import pairwise

from book._figures.kit import Figure

SOURCE = "Pica la cebolla"
WORDS = tuple(SOURCE.split())


def transformer_whole() -> Figure:
    fig = Figure(
        "transformer_whole",
        title="La arquitectura completa del Transformer",
        desc="A la izquierda, el texto de origen pasa por la tabla de incrustaciones, suma su "
        "posición y atraviesa N bloques de codificador. A la derecha, el texto de destino hace lo "
        "mismo con N bloques de decodificador, que toman claves y valores del codificador; una "
        "capa lineal y el softmax dan la palabra siguiente.",
        height=650,
    )
    left, right = 118, 352
    fig.text(left, 16, f"«{SOURCE}»", size=fig.small)
    fig.text(right, 16, "«<s> Chop the»", size=fig.small)
    tops = []
    for cx, side in ((left, "w"), (right, "e")):
        table = fig.block(cx, 40, "Incrustación", "embedding", w=176, h=34)
        fig.arrow((cx, 26), table.n)
        plus = fig.positional_sum(cx, 96, side=side)
        fig.arrow(table.s, plus.n)
        tops.append(plus)
    encoder = fig.encoder_layer(left, 124)
    decoder = fig.decoder_layer(right, 124)
    for plus, layer in zip(tops, (encoder, decoder), strict=True):
        fig.line(plus.s, layer.n)
    fig.text(left - 10, 372, "× $N$ bloques", size=fig.small, anchor="end")
    memory = fig.op(left - 60, 404, 120, 36, "$h^{'Enc'}$", role="output")
    fig.arrow(encoder.s, memory.n)
    cross = decoder.blocks[1]
    fig.keys_values(memory.e, (235, memory.cy), (235, cross.cy), cross.w_)
    fig.text(right + 10, 480, "× $N$ bloques", size=fig.small, anchor="start")
    linear = fig.block(right, 504, "Capa lineal", "linear", h=36)
    softmax = fig.block(right, 562, "softmax", h=36)
    fig.arrow(decoder.s, linear.n)
    fig.flow(linear, softmax)
    fig.text(right, 634, "«onion»", bold=True)
    fig.arrow(softmax.s, (right, 620))
    return fig


def transformer_paths() -> Figure:
    fig = Figure(
        "transformer_paths",
        title="El camino entre la primera y la última palabra, en tres arquitecturas",
        desc="En una red recurrente, lo que dice la primera de cinco palabras llega a la última "
        "tras cuatro pasos en fila. Con convoluciones de núcleo 5 hacen falta dos capas. Con "
        "atención, un solo paso: todas las palabras llegan a la última a la vez.",
        height=520,
    )
    centers = (52, 146, 240, 334, 428)
    fig.text(8, 16, "Recurrente: 4 pasos, uno tras otro", anchor="start", bold=True)
    for cx, word in zip(centers, ("Pica", "la", "papa", "y", "sofríela"), strict=True):
        fig.text(cx, 44, word, size=fig.small)
    cells = [fig.op(cx - 30, 62, 60, 34, "GRU", heavy=True) for cx in centers]
    for left, right in pairwise(cells):
        fig.arrow(left.e, right.w_, width=3)
    fig.text(8, 136, "Convolución de núcleo 5: 2 capas", anchor="start", bold=True)
    _levels(fig, centers, (162, 222, 282), (0, 2, 4))
    fig.text(8, 328, "Atención: 1 capa", anchor="start", bold=True)
    _levels(fig, centers, (354, 434), (0, 4))
    note = "Trazo grueso: el camino más corto de «Pica» a «sofríela».\nTrazo fino: lo demás."
    fig.text(8, 486, note, anchor="start", size=fig.small)
    return fig


def _levels(fig: Figure, centers: tuple, levels: tuple, path: tuple) -> None:
    """Capas de celdas; `path` dice por cuál pasa el camino en cada una, y con eso, el alcance."""
    reach = path[1] - path[0]
    for (top, bottom), step in zip(pairwise(levels), pairwise(path), strict=True):
        for i, x0 in enumerate(centers):
            for j, x1 in enumerate(centers):
                if abs(i - j) <= reach and (i, j) != step:
                    fig.line((x0, top + 9), (x1, bottom - 9), width=1, opacity=0.3)
        start, end = (centers[step[0]], top + 9), (centers[step[1]], bottom - 9)
        fig.arrow(start, end, width=3)
    for level, y in enumerate(levels):
        for cx in centers:
            fig.grid(cx - 14, y - 9, 1, 1, "output" if level else "input", cell=(28, 18))


def transformer_autoencoder() -> Figure:
    fig = Figure(
        "transformer_autoencoder",
        title="Del autocodificador al Transformer: la misma forma con otros módulos",
        desc="A la izquierda, un autocodificador: ocho celdas de entrada, una capa afín con "
        "activación, un cuello de tres celdas, otra capa y ocho celdas de salida. A la derecha, el "
        "Transformer: tres palabras, N bloques de codificador, un vector por palabra, N bloques de "
        "decodificador y otras tres palabras.",
        height=620,
    )
    left, right = 112, 366
    fig.text(left, 16, "Autocodificador", bold=True)
    fig.text(right, 16, "Transformer", bold=True)
    x = fig.grid(left - 100, 74, 1, 8, "input", cell=(25, 26))
    fig.text(left, 54, "$x$")
    encode = fig.block(left, 152, "capa afín\ny activación", h=52, heavy=True)
    code = fig.grid(left - 37.5, 280, 1, 3, "output", cell=(25, 26))
    fig.text(left, 262, "un solo cuello, $h$", size=fig.small)
    decode = fig.block(left, 398, "capa afín\ny activación", h=52, heavy=True)
    y = fig.grid(left - 100, 520, 1, 8, "input", cell=(25, 26))
    fig.text(left, 562, "$y$, parecida a $x$", size=fig.small)
    fig.arrow(x.s, encode.n)
    fig.arrow(encode.s, (left, 250))
    fig.flow(code, decode, y)
    source = fig.tokens(right - 40, 52, WORDS, 4, "input", cell=(26, 22))
    encoder = fig.block(right, 152, "codificador:\n$N$ bloques", "attention", h=52)
    h = fig.tokens(right - 40, 280, WORDS, 4, "output", cell=(26, 22))
    fig.text(right, 254, "$h^{'Enc'}$: uno por palabra", size=fig.small)
    decoder = fig.block(right, 398, "decodificador:\n$N$ bloques", "attention", h=52)
    target = fig.tokens(right - 40, 500, ("Chop", "the", "onion"), 4, "input", cell=(26, 22))
    fig.arrow((right, source.bottom), encoder.n)
    fig.arrow(encoder.s, (right, 240))
    fig.arrow((right, h.bottom), decoder.n)
    fig.arrow(decoder.s, (right, target.y))
    note = "El decodificador recibe además lo que ya lleva escrito."
    fig.text(472, 600, note, anchor="end", size=fig.small)
    return fig


def transformer_input() -> Figure:
    fig = Figure(
        "transformer_input",
        title="Del texto a la entrada del primer bloque",
        desc="«Pica la cebolla» se parte en tres tokens con identificadores 5, 3 y 8; cada "
        "identificador elige una fila de la tabla de incrustaciones; a las tres filas elegidas se "
        "les suma la codificación de sus posiciones.",
        height=500,
    )
    fig.text(240, 16, f"«{SOURCE}»", bold=True)
    split = fig.op(120, 44, 240, 36, "tokenización")
    fig.arrow((240, 28), split.n)
    ids = (5, 3, 8)
    for cx, word, token in zip((130, 240, 350), WORDS, ids, strict=True):
        fig.text(cx, 104, word, size=fig.small)
        fig.grid(cx - 20, 118, 1, 1, None, values=[[token]], digits=0, cell=(40, 26))
        if cx == 240:
            fig.arrow((240, 80), (240, 94))
            fig.arrow((240, 144), (240, 168), (150, 168), (150, 200))
    entries = ("1", "2", "3", "4", "5", "…", "8", "…")
    table = fig.table(90, 206, entries, (2, 4, 6), cols=4, cell=(30, 21))
    fig.text(60, 196, "id", anchor="end", size=fig.small)
    fig.text(table.cx, 408, "tabla: una fila\npor token", size=fig.small)
    picked = fig.tokens(336, 206, ("5", "3", "8"), 4, "input", cell=(30, 22))
    fig.arrow((table.right, 239), (picked.x - 26, 239))
    fig.text((table.right + picked.x) / 2 - 14, 222, "elegir filas", size=fig.small)
    plus = fig.positional_sum(picked.cx, 316, gap=30)
    fig.arrow(picked.s, plus.n)
    out = fig.tokens(336, 366, WORDS, 4, "input", cell=(30, 22), axes=("t", ""))
    fig.arrow(plus.s, out.n)
    fig.wide_axis(out, "d_{'model'}", side="s")
    return fig


def transformer_encoder() -> Figure:
    fig = Figure(
        "transformer_encoder",
        title="La mitad que lee: el codificador",
        desc="La entrada, con sus posiciones sumadas, pasa por N bloques iguales de autoatención y "
        "red por posición. La salida, h, tiene un vector por palabra; de ella salen las claves y "
        "los valores que consultará el decodificador.",
        height=520,
    )
    cx = 200
    table = fig.block(cx, 36, "Incrustación", "embedding", h=34)
    fig.text(cx, 14, f"«{SOURCE}»", size=fig.small)
    fig.arrow((cx, 22), table.n)
    plus = fig.positional_sum(cx, 96, label="posición")
    fig.arrow(table.s, plus.n)
    layer = fig.encoder_layer(cx, 124)
    fig.line(plus.s, layer.n)
    fig.times(layer.panel)
    fig.text(312, 165, "las palabras\nse leen unas a otras", anchor="start", size=fig.small)
    fig.text(312, 275, "cada palabra,\npor su cuenta", anchor="start", size=fig.small)
    h = fig.tokens(cx - 60, 386, WORDS, 4, "output", cell=(30, 22), axes=("t", ""))
    fig.arrow(layer.s, h.n)
    fig.text(h.right + 34, h.cy, "$h^{'Enc'}$", anchor="start")
    fig.text(
        cx, 474, "un vector por palabra: claves y valores\npara el decodificador", size=fig.small
    )
    return fig


def transformer_decoder() -> Figure:
    fig = Figure(
        "transformer_decoder",
        title="La mitad que escribe: el decodificador",
        desc="Lo ya escrito, con sus posiciones, pasa por N bloques de autoatención con máscara, "
        "atención cruzada, que toma claves y valores del codificador, y red por posición. Una capa "
        "lineal puntúa el vocabulario y el softmax da la probabilidad de la palabra siguiente.",
        height=650,
    )
    cx = 282
    table = fig.block(cx, 36, "Incrustación", "embedding", h=34)
    fig.text(cx, 14, "«<s> Chop the»", size=fig.small)
    fig.arrow((cx, 22), table.n)
    plus = fig.positional_sum(cx, 96, side="e", label="posición")
    fig.arrow(table.s, plus.n)
    layer = fig.decoder_layer(cx, 124)
    fig.line(plus.s, layer.n)
    fig.times(layer.panel, side="e")
    cross = layer.blocks[1]
    memory = fig.op(8, cross.cy - 20, 70, 40, "$h^{'Enc'}$", role="output")
    fig.text(8, memory.bottom + 24, "del\ncodificador", anchor="start", size=fig.small)
    fig.keys_values(memory.e, cross.w_)
    linear = fig.block(cx, 490, "Capa lineal", "linear", h=36)
    softmax = fig.block(cx, 550, "softmax", h=36)
    fig.arrow(layer.s, linear.n)
    fig.flow(linear, softmax)
    fig.text(184, linear.cy, "una puntuación\npor token", anchor="end", size=fig.small)
    fig.text(184, softmax.cy, "una\nprobabilidad", anchor="end", size=fig.small)
    fig.arrow(softmax.s, (cx, 614))
    fig.text(cx, 632, "«onion»", bold=True)
    return fig


FIGURES = (
    transformer_paths,
    transformer_autoencoder,
    transformer_input,
    transformer_encoder,
    transformer_decoder,
    transformer_whole,
)
