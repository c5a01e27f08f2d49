"""Diagramas del capítulo del decodificador: sus dos atenciones, la salida y lo que se guarda."""

from __future__ import annotations

import numpy as np

from book._figures.attention import softmax
from book._figures.kit import Box, Figure, decimal

SOURCE = ("Pela", "la", "papa")
TARGET = ("<s>", "Peel", "the")
# Los del capítulo: d_k = 4, para que √d_k sea 2.
QUERIES = np.array([[4.0, 0, 0, 0], [0, 4, 0, 0], [0, 1, 4, 0]])
KEYS = np.array([[2.0, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]])
VALUES = np.array([[1.0, 0], [0, 1], [5, 5]])
VOCABULARY = ("Peel", "the", "potato", "onion", "</s>")
LOGITS = np.array([0.0, -1, 4, 3, 1])


def decoder_layer() -> Figure:
    fig = Figure(
        "decoder_layer",
        title="Un bloque del decodificador, repetido N veces",
        desc="Entran los vectores de lo ya escrito. La autoatención con máscara mira hacia atrás; "
        "la atención cruzada pregunta al codificador, que da claves y valores; la red por posición "
        "transforma cada palabra. Después de cada una se suma lo que entró y se normaliza.",
        height=592,
    )
    cx = 250
    y = fig.tokens(cx - 60, 40, TARGET, 4, "input", axes=("t_{'t'}", ""), cell=(30, 20))
    fig.text(cx, 18, "$Y$: lo ya escrito", size=fig.small)
    layer = fig.decoder_layer(cx, 120)
    fig.line(y.s, layer.n)
    fig.times(layer.panel, side="e", gap=6)
    cross = layer.blocks[1]
    memory = fig.grid(12, cross.cy - 30, 3, 3, "output", cell=(22, 20))
    fig.text(memory.cx, memory.y - 16, "$h^{'Enc'}$")
    fig.text(memory.cx, memory.bottom + 24, "del\ncodificador", size=fig.small)
    fig.keys_values(memory.e, cross.w_)
    fig.text(12, layer.blocks[0].cy, "hacia atrás,\nnunca adelante", anchor="start", size=fig.small)
    fig.text(12, layer.blocks[2].cy, "cada palabra,\npor su cuenta", anchor="start", size=fig.small)
    out = fig.tokens(cx - 60, 486, TARGET, 4, "output", axes=("t_{'t'}", ""), cell=(30, 20))
    fig.arrow(layer.s, out.n)
    fig.text(cx, 568, "de cada fila sale la palabra siguiente", size=fig.small)
    return fig


def decoder_cross_attention() -> Figure:
    scaled = QUERIES @ KEYS.T / 2
    weights = softmax(scaled)
    fig = Figure(
        "decoder_cross_attention",
        title="Atención cruzada: pregunta quien escribe, responde quien leyó",
        desc="Tres consultas, una por palabra del destino, se multiplican por las claves de las "
        "tres palabras del origen. Los pesos forman una matriz con una fila por palabra escrita y "
        "una columna por palabra leída, y con ellos se mezclan los valores del origen.",
        height=604,
    )
    cell = (36, 24)
    fig.text(98, 18, "lo que se escribe", bold=True)
    fig.text(350, 18, "lo que se leyó", bold=True)
    y = fig.tokens(70, 40, TARGET, 3, "input", cell=(24, 20))
    h = fig.tokens(314, 40, SOURCE, 3, "output", cell=(24, 20))
    fig.text(y.right + 16, y.cy, "$Y$")
    fig.text(h.right + 26, h.cy, "$h^{'Enc'}$")
    w_q = fig.op(y.cx - 44, 122, 88, 34, "$W_q$", heavy=True)
    w_kv = fig.op(h.cx - 96, 122, 192, 34, "$W_k$ y $W_v$", heavy=True)
    fig.flow(y, w_q)
    fig.flow(h, w_kv)
    q = fig.grid(y.cx - 72, 180, 3, 4, "query", values=QUERIES, digits=0, cell=cell)
    k = fig.grid(206, 180, 3, 4, "key", values=KEYS, digits=0, cell=cell)
    v = fig.grid(380, 180, 3, 2, "value", values=VALUES, digits=0, cell=cell)
    fig.arrow(w_q.s, q.n)
    for box, letter in ((q, "Q"), (k, "K"), (v, "V")):
        fig.text(box.right + 12, box.cy, f"${letter}$")
    fig.arrow((k.cx + 20, w_kv.bottom), (k.cx + 20, k.y))
    fig.arrow((v.cx - 10, w_kv.bottom), (v.cx - 10, v.y))
    op = fig.op(26, 282, 336, 38, "softmax de $QK^T/√d_k$, por filas")
    fig.arrow(q.s, (q.cx, op.y))
    fig.arrow(k.s, (k.cx, op.y))
    a = fig.tokens(
        112, 366, TARGET, 3, "weight", values=weights, shade=weights, cell=(70, 30), digits=2
    )
    fig.arrow((a.cx, op.bottom), (a.cx, 342))
    for j, word in enumerate(SOURCE):
        fig.text(a.x + 70 * (j + 0.5), 353, word, size=fig.small)
    fig.text(a.cx, a.bottom + 20, "$A$: una fila por palabra escrita", size=fig.small)
    mix = fig.op(372, a.cy - 20, 102, 40, "$AV$")
    fig.arrow((v.cx, v.bottom), (v.cx, mix.y))
    fig.arrow(a.e, mix.w_)
    out = fig.tokens(350, 510, TARGET, 2, "output", values=weights @ VALUES, cell=(54, 26))
    fig.arrow((out.cx + 18, mix.bottom), (out.cx + 18, out.y))
    return fig


def decoder_output() -> Figure:
    log_probabilities = LOGITS - np.log(np.exp(LOGITS).sum())
    best = int(LOGITS.argmax())
    fig = Figure(
        "decoder_output",
        title="De la última fila de la pila a una palabra",
        desc="El vector de la última posición se multiplica por la tabla de incrustaciones y da "
        "una puntuación por palabra; el logaritmo del softmax las vuelve logaritmos de "
        "probabilidades; se toma el índice del máximo, y con él, la palabra.",
        height=600,
    )
    stack = fig.tokens(186, 26, TARGET, 4, "output", cell=(30, 22))
    _outline(fig, stack, 2, 22)
    fig.text(stack.right + 14, stack.y + 55, "$y$: la última fila", anchor="start", size=fig.small)
    linear = fig.op(56, 124, 380, 40, "1 · puntuar: $y E^T$", role="output", heavy=True)
    fig.arrow(stack.s, (stack.cx, linear.y))
    rows = (
        (linear, LOGITS, 1, "logits", "2 · logaritmo del softmax"),
        (None, log_probabilities, 2, "log p", "3 · índice del máximo"),
    )
    above, top = linear, 210
    for _, values, digits, name, label in rows:
        grid = fig.grid(76, top, 1, 5, None, values=[values], digits=digits, cell=(72, 30))
        fig.text(68, grid.cy, name, anchor="end", size=fig.small)
        fig.arrow((246, above.bottom), (246, grid.y - 18 if above is linear else grid.y))
        if above is linear:
            for j, word in enumerate(VOCABULARY):
                fig.text(grid.x + 72 * (j + 0.5), grid.y - 9, word, size=fig.small)
        above = fig.op(56, grid.bottom + 24, 380, 40, label)
        fig.arrow((246, grid.bottom), above.n)
        top = above.bottom + 24
    index = fig.op(202, top, 88, 36, str(best), radius=6)
    fig.arrow(above.s, index.n)
    last = fig.op(56, index.bottom + 24, 380, 40, "4 · vocabulario")
    fig.arrow(index.s, last.n)
    fig.arrow(last.s, (246, last.bottom + 26))
    fig.text(246, last.bottom + 42, f"«{VOCABULARY[best]}»", bold=True)
    probability = decimal(float(np.exp(log_probabilities[best])))
    fig.text(
        index.right + 14,
        index.cy,
        f"con probabilidad {probability}",
        anchor="start",
        size=fig.small,
    )
    return fig


def _outline(fig: Figure, box: Box, row: int, height: float) -> None:
    y = box.y + row * height
    corners = ((box.x, y), (box.right, y), (box.right, y + height), (box.x, y + height))
    fig.line(*corners, (box.x, y - 1.2), width=2.4)


def decoder_train_generate() -> Figure:
    fig = Figure(
        "decoder_train_generate",
        title="Entrenar: todas las posiciones a la vez. Generar: de una en una",
        desc="Arriba, al entrenar, la oración correcta, desplazada una posición, entra entera y de "
        "cada posición sale la predicción de la palabra siguiente, en una sola pasada. Abajo, al "
        "generar, tres pasadas: cada una añade la palabra que dio la anterior.",
        height=506,
    )
    fig.text(6, 16, "Al entrenar: una pasada", anchor="start", bold=True)
    inputs, outputs = ("<s>", "Peel", "the", "potato"), ("Peel", "the", "potato", "</s>")
    box = fig.block(240, 88, "Decodificador (con máscara causal)", "plain", w=440, h=42)
    for i, (given, expected) in enumerate(zip(inputs, outputs, strict=True)):
        cx = 75 + 110 * i
        fig.op(cx - 44, 36, 88, 30, given, role="input", size=fig.small)
        fig.arrow((cx, 66), (cx, box.y))
        fig.op(cx - 44, 152, 88, 30, expected, role="output", size=fig.small)
        fig.arrow((cx, box.bottom), (cx, 152))
    fig.text(240, 204, "entra la respuesta correcta; la pérdida compara las cuatro", size=fig.small)
    fig.text(6, 246, "Al generar: una pasada por palabra", anchor="start", bold=True)
    for step in range(3):
        top = 272 + 96 * step
        fig.text(22, top + 15, f"{step + 1}", bold=True)
        for i in range(step + 1):
            fig.op(40 + 78 * i, top, 72, 30, inputs[i], role="input", size=fig.small)
        last = 40 + 78 * step + 72
        block = fig.block(340, top - 5, "Red", "plain", w=70, h=40, size=fig.small)
        fig.arrow((last, top + 15), block.w_)
        fig.op(396, top, 78, 30, outputs[step], role="output", size=fig.small)
        fig.arrow(block.e, (396, top + 15))
        if step < 2:
            target = 40 + 78 * (step + 1) + 36
            fig.arrow(
                (435, top + 30),
                (435, top + 62),
                (target, top + 62),
                (target, top + 96),
                dashed=True,
            )
    return fig


def decoder_cache() -> Figure:
    fig = Figure(
        "decoder_cache",
        title="Un paso con claves y valores guardados",
        desc="Entra solo la palabra nueva. De ella salen una consulta, una clave y un valor. La "
        "clave y el valor se añaden a los guardados de las palabras anteriores, y la consulta "
        "atiende a todos: una fila de pesos, una salida.",
        height=474,
    )
    words = ("<s>", "Peel", "the")
    x = fig.tokens(76, 40, ("the",), 4, "input", cell=(28, 24))
    fig.text(x.cx, 20, "solo la palabra nueva", size=fig.small)
    op = fig.op(10, 96, 460, 36, "proyectar: $W_q$, $W_k$, $W_v$", heavy=True)
    fig.arrow(x.s, (x.cx, op.y))
    q = fig.grid(20, 222, 1, 3, "query", cell=(30, 26))
    fig.text(q.cx, q.y - 14, "$q$")
    fig.arrow((q.cx, op.bottom), (q.cx, q.y - 28))
    for cx, role, letter in ((220, "key", "K"), (394, "value", "V")):
        kept = fig.tokens(cx - 45, 170, words[:2], 3, role, cell=(30, 26))
        new = fig.grid(cx - 45, 222, 1, 3, role, cell=(30, 26), heavy=True)
        fig.text(new.x - 8, new.cy, words[2], anchor="end", size=fig.small)
        fig.text(cx, kept.y - 14, f"${letter}$")
        fig.line((cx + 60, op.bottom), (cx + 60, new.cy))
        fig.arrow((cx + 60, new.cy), new.e)
    fig.text(330, 268, "guardado, y una fila nueva al final", size=fig.small)
    attend = fig.op(10, 290, 460, 36, "atender: $q$ con todas las claves")
    fig.arrow(q.s, (q.cx, attend.y))
    fig.arrow((220, 280), (220, attend.y))
    fig.arrow((440, 280), (440, attend.y))
    a = fig.grid(175, 366, 1, 3, "weight", cell=(46, 26))
    for j, word in enumerate(words):
        fig.text(a.x + 46 * (j + 0.5), 354, word, size=fig.small)
    fig.arrow((244, attend.bottom), (244, 344))
    fig.text(a.x - 12, a.cy, "una sola fila de pesos", anchor="end", size=fig.small)
    out = fig.grid(199, 424, 1, 3, "output", cell=(30, 26))
    fig.arrow(a.s, out.n)
    fig.text(out.x - 12, out.cy, "la salida de «the»", anchor="end", size=fig.small)
    return fig


FIGURES = (
    decoder_layer,
    decoder_cross_attention,
    decoder_output,
    decoder_train_generate,
    decoder_cache,
)
