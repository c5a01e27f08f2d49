"""Diagramas del capítulo del Transformer: la arquitectura, pieza a pieza."""

from __future__ import annotations

from book._figures.kit import Figure

SOURCE, TARGET = "Pela la zanahoria", "Peel the carrot"


def transformer_whole() -> Figure:
    fig = Figure(
        "transformer_whole",
        title="La arquitectura completa del Transformer",
        desc="A la izquierda, el texto de origen pasa por la tabla de incrustaciones, suma su "
        "posición y atraviesa N capas de codificador. A la derecha, el texto de destino hace lo "
        "mismo con N capas de decodificador, que toman claves y valores del codificador; una capa "
        "lineal y la softmax dan la palabra siguiente.",
        height=650,
    )
    left, right = 118, 352
    fig.text(left, 16, f"«{SOURCE}»", size=fig.small)
    fig.text(right, 16, "«<s> Peel the»", size=fig.small)
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
    fig.text(left + 10, 370, "× $N$ capas", size=fig.small, anchor="start")
    memory = fig.op(left - 60, 404, 120, 36, "$h^{'Enc'}$", role="output")
    fig.arrow(encoder.s, memory.n)
    cross = decoder.blocks[1]
    fig.keys_values(memory.e, (235, memory.cy), (235, cross.cy), cross.w_)
    fig.text(right + 10, 480, "× $N$ capas", size=fig.small, anchor="start")
    linear = fig.block(right, 504, "Capa lineal", "linear", h=36)
    softmax = fig.block(right, 562, "softmax", h=36)
    fig.arrow(decoder.s, linear.n)
    fig.flow(linear, softmax)
    fig.text(right, 634, "«carrot»", bold=True)
    fig.arrow(softmax.s, (right, 620))
    return fig


FIGURES = (transformer_whole,)
