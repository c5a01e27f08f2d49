"""Diagramas del capítulo del codificador: las cinco operaciones, las cabezas, red y bloque."""

from __future__ import annotations

import numpy as np

from book._figures.attention import softmax
from book._figures.kit import Figure

WORDS = ("Pela", "la", "papa")
# Los del capítulo: d_k = 4, para que √d_k sea 2; la cuarta clave es relleno.
QUERIES = np.array([[2.0, 2, 0, 0], [0, 2, 0, 0], [2, 0, 2, 0]])
KEYS = np.array([[2.0, 0, 2, 0], [0, 1, 1, 0], [2, 2, 0, 0], [1, 1, 1, 1]])
VALUES = np.array([[1.0, 0], [0, 1], [1, 1], [9, 9]])
HIDDEN = np.array([[False, False, False, True]] * 3)


def encoder_five_operations() -> Figure:
    scores = QUERIES @ KEYS.T
    scaled = scores / 2
    weights = softmax(np.where(HIDDEN, -np.inf, scaled))
    fig = Figure(
        "encoder_five_operations",
        title="Las cinco operaciones de la atención, con relleno",
        desc="Las consultas de «Pela», «la» y «papa» se multiplican por cuatro claves, la última "
        "de relleno; las puntuaciones se dividen entre dos, la columna del relleno se oculta, "
        "softmax da pesos que suman uno por fila, y con ellos se mezclan los valores.",
        height=792,
    )
    cell, x, cx = (42, 22), 62, 146
    query = fig.tokens(x, 40, WORDS, 4, "query", values=QUERIES, digits=0, cell=cell)
    key = fig.grid(266, 34, 4, 4, "key", values=KEYS.T, digits=0, cell=cell)
    fig.text(query.cx, 22, "$Q$")
    fig.text(key.cx, 16, "$K^T$")
    steps = (
        ("1 · multiplicar: $QK^T$", scores, 0, None, "una puntuación por\nconsulta y clave"),
        ("2 · escalar: dividir entre $√d_k$", scaled, 1, None, "aquí $d_k$ = 4:\nentre 2"),
        ("3 · ocultar el relleno", scaled, 1, HIDDEN, "la cuarta columna\nno es una palabra"),
        ("4 · normalizar con softmax", weights, 2, HIDDEN, "$A$: cada fila\nsuma 1"),
    )
    above, top = query, 140
    for index, (label, values, digits, hidden, note) in enumerate(steps):
        op = fig.op(x - 56, top, 400, 32, label)
        fig.arrow(above.s, (above.cx, op.y))
        if index == 0:
            fig.arrow(key.s, (key.cx, op.y))
        shade = weights if index == 3 else None
        role = "weight" if index == 3 else None
        options = {"values": values, "digits": digits, "hidden": hidden, "shade": shade}
        above = fig.tokens(x, op.bottom + 16, WORDS, 4, role, cell=cell, **options)
        fig.arrow((cx, op.bottom), above.n)
        fig.text(above.right + 20, above.cy, note, anchor="start", size=fig.small)
        top = above.bottom + 14
    value = fig.grid(392, above.y - 10, 4, 2, "value", values=VALUES, digits=0, cell=(32, 22))
    fig.text(value.right + 14, value.cy, "$V$")
    mix = fig.op(6, top + 14, 466, 32, "5 · mezclar: $AV$")
    fig.arrow(above.s, (cx, mix.y))
    fig.arrow(value.s, (value.cx, mix.y))
    options = {"values": weights @ VALUES, "cell": (50, 22)}
    mixed = fig.tokens(x + 34, mix.bottom + 16, WORDS, 2, "output", **options)
    fig.arrow((cx, mix.bottom), mixed.n)
    note = "$H$: el 9 del relleno\nno llega a ninguna palabra"
    fig.text(mixed.right + 42, mixed.cy, note, anchor="start", size=fig.small)
    return fig


def encoder_eight_heads() -> Figure:
    fig = Figure(
        "encoder_eight_heads",
        title="Los cinco pasos de una atención con ocho cabezas",
        desc="La entrada de tres tokens por 512 coordenadas se proyecta en consultas, claves y "
        "valores; cada matriz se parte en ocho franjas de 64 columnas; cada cabeza atiende con las "
        "suyas; las ocho salidas se concatenan y una matriz las mezcla, otra vez en 512.",
        height=762,
    )
    cx = 240
    x = fig.tokens(164, 34, WORDS, 8, "input", cell=(19, 18), axes=("t", ""))
    fig.text(x.cx, 18, "$X$: 512 columnas", size=fig.small)
    first = fig.op(30, 106, 420, 34, "1 · proyectar: $W_q$, $W_k$ y $W_v$", heavy=True)
    fig.arrow(x.s, first.n)
    roles = (("Q", "query", 80), ("K", "key", 240), ("V", "value", 400))
    second = fig.op(30, 258, 420, 34, "2 · partir en ocho franjas de 64 columnas")
    for letter, role, center in roles:
        box = fig.grid(center - 60, 160, 3, 8, role, cell=(15, 18))
        fig.arrow((center, first.bottom), box.n)
        fig.text(center, box.bottom + 14, f"${letter}$")
        fig.arrow((center, box.bottom + 26), (center, second.y))
    third = fig.op(30, 404, 420, 34, "3 · atender: cada cabeza, por su cuenta")
    fourth = fig.op(30, 524, 420, 34, "4 · concatenar las ocho salidas")
    for center, name in ((90, "1"), (200, "2"), (390, "8")):
        fig.text(center, 312, f"cabeza {name}", size=fig.small)
        for shift, (_, role, _) in zip((-26, 0, 26), roles, strict=True):
            fig.grid(center + shift - 9, 326, 3, 1, role, cell=(18, 18))
        fig.arrow((center, 384), (center, third.y))
        fig.grid(center - 44, 456, 3, 3, "weight", cell=(16, 16))
        fig.grid(center + 22, 456, 3, 1, "output", cell=(18, 16))
        fig.arrow((center, third.bottom), (center, 454))
        fig.arrow((center, 506), (center, fourth.y))
    fig.text(296, 353, "…", size=26)
    fig.text(296, 480, "…", size=26)
    joined = fig.grid(cx - 76, 576, 3, 8, "output", cell=(19, 16))
    fig.arrow(fourth.s, joined.n)
    fifth = fig.op(30, 642, 420, 34, "5 · mezclar las cabezas: $W_h$", heavy=True)
    fig.flow(joined, fifth)
    out = fig.tokens(164, 696, WORDS, 8, "output", cell=(19, 18), axes=("t", ""))
    fig.arrow(fifth.s, out.n)
    fig.text(out.right + 34, out.cy, "$H$")
    return fig


def encoder_feed_forward() -> Figure:
    fig = Figure(
        "encoder_feed_forward",
        title="La red prealimentada trata cada posición por su cuenta",
        desc="Tres columnas, una por palabra. Cada vector de cuatro celdas pasa por la misma "
        "matriz W_1, que lo ensancha a ocho, por una ReLU y por la misma W_2, que lo devuelve "
        "a cuatro. Ninguna flecha cruza de una palabra a otra.",
        height=600,
    )
    centers = (80, 206, 332)
    first = fig.op(16, 152, 380, 38, "$W_1$: de $d_{'model'}$ a $d_{'ff'}$", heavy=True)
    relu = fig.op(16, 380, 380, 34, "ReLU: lo negativo pasa a 0")
    second = fig.op(16, 436, 380, 38, "$W_2$: de $d_{'ff'}$ a $d_{'model'}$", heavy=True)
    for cx, word in zip(centers, WORDS, strict=True):
        fig.text(cx, 18, word)
        x = fig.column(cx, 34, "input", count=4, cell=(40, 24))
        hidden = fig.column(cx, 212, None, count=8, cell=(40, 18))
        y = fig.column(cx, 494, "output", count=4, cell=(40, 24))
        fig.arrow(x.s, (cx, first.y))
        fig.arrow((cx, first.bottom), hidden.n)
        fig.arrow(hidden.s, (cx, relu.y))
        fig.arrow((cx, relu.bottom), (cx, second.y))
        fig.arrow((cx, second.bottom), y.n)
    for top, height, word in ((34, 96, "model"), (212, 144, "ff"), (494, 96, "model")):
        fig.text(424, top + height / 2, f"$d_{{'{word}'}}$", anchor="start")
        fig.line((406, top), (412, top), (412, top + height), (406, top + height), width=1)
    return fig


def encoder_layer() -> Figure:
    fig = Figure(
        "encoder_layer",
        title="Un bloque del codificador, repetido N veces",
        desc="Entran tres vectores. La autoatención mezcla las palabras; su salida se suma a la "
        "entrada, que llega por la conexión residual, y se normaliza. La red por posición "
        "transforma cada palabra, y otra vez se suma y se normaliza. Salen tres vectores.",
        height=472,
    )
    cx = 190
    x = fig.tokens(cx - 60, 44, WORDS, 4, "input", axes=("t", "d_{'model'}"), cell=(30, 20))
    layer = fig.encoder_layer(cx, 128)
    fig.line(x.s, layer.n)
    fig.times(layer.panel, gap=6)
    out = fig.tokens(cx - 60, 386, WORDS, 4, "output", axes=("t", ""), cell=(30, 20))
    fig.arrow(layer.s, out.n)
    notes = (
        (layer.blocks[0], "mezcla palabras:\nentre posiciones"),
        (layer.norms[0], "$'norm'(x + f(x))$"),
        (layer.blocks[1], "cada palabra,\npor su cuenta"),
        (layer.norms[1], "$'norm'(x + f(x))$"),
    )
    for box, note in notes:
        fig.text(layer.panel.right + 10, box.cy, note, anchor="start", size=fig.small)
    fig.text(out.right + 36, out.cy, "misma forma\nque la entrada", anchor="start", size=fig.small)
    return fig


FIGURES = (encoder_five_operations, encoder_eight_heads, encoder_feed_forward, encoder_layer)
