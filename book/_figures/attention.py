"""Diagramas del capítulo de atención. Los números se calculan aquí mismo."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from book._figures.kit import Figure, decimal

SOURCE = ("la", "cebolla", "morada", "picada")
TARGET = ("the", "chopped", "red", "onion")


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def seq2seq_bottleneck() -> Figure:
    fig = Figure(
        "seq2seq_bottleneck",
        title="El cuello de botella de un codificador-decodificador",
        desc="El codificador lee cuatro palabras y produce un estado por palabra. Solo el último "
        "llega al decodificador, como un único vector; los otros tres se descartan.",
        height=490,
    )
    centers = (52, 170, 288, 406)
    fig.frame(4, 4, 472, 230)
    fig.text(18, 24, "Codificador", anchor="start", bold=True)
    states = _recurrent_row(fig, centers, 68)
    for index, (cx, word, box) in enumerate(zip(centers, SOURCE, states, strict=True)):
        fig.text(cx, 52, word)
        role = "input" if index == 3 else "hidden"
        column = fig.column(cx, 124, role, count=4, cell=(32, 17))
        fig.arrow(box.s, column.n)
        fig.text(cx + 20, column.cy, f"$h^{{'Enc'}}_{index + 1}$", anchor="start")
    fig.line((36, 199), (36, 204), (304, 204), (304, 199), width=1)
    fig.text(170, 218, "se descartan", size=fig.small)
    context = fig.column(254, 256, "input", count=4, cell=(32, 17))
    fig.arrow((406, 192), (406, context.cy), context.e)
    fig.text(
        214,
        context.cy,
        "un solo vector,\ndel mismo tamaño para\n4 palabras o para 400",
        size=fig.small,
        anchor="end",
    )
    fig.frame(4, 368, 472, 118)
    fig.text(462, 388, "Decodificador", anchor="end", bold=True)
    cells = _recurrent_row(fig, centers, 404)
    fig.arrow(context.s, (254, 348), (centers[0], 348), cells[0].n)
    for cx, word, box in zip(centers, TARGET, cells, strict=True):
        fig.text(cx, 470, word)
        fig.arrow(box.s, (cx, 460))
    return fig


def _recurrent_row(fig: Figure, centers: tuple[float, ...], y: float) -> list:
    boxes = [fig.op(cx - 38, y, 76, 36, "GRU", heavy=True) for cx in centers]
    for left, right in pairwise(boxes):
        fig.arrow(left.e, right.w_)
    return boxes


# «Pica el ajo y la cebolla, y sofríela»: acción, cosa y género (1 femenino, −1 masculino). Los
# mismos vectores que en el laboratorio (book/_static/labs/pronoun.js).
SENTENCE = {
    "Pica": (2.0, 0.0, 0.0),
    "el": (0.0, 0.0, -1.0),
    "ajo": (0.0, 1.0, -1.0),
    "y": (0.0, 0.0, 0.0),
    "la": (0.0, 0.0, 1.0),
    "cebolla,": (0.0, 1.0, 1.0),
    "y ": (0.0, 0.0, 0.0),
    "sofríe": (2.0, 0.0, 0.0),
}
PRONOUN = (0.0, 2.0, 1.0)


def pronoun() -> Figure:
    weights = softmax(np.array(list(SENTENCE.values())) @ np.array(PRONOUN))
    fig = Figure(
        "pronoun",
        title="A qué palabras mira «la»",
        desc="Del pronombre «la» sale un haz hacia cada palabra de «Pica el ajo y la cebolla, y "
        f"sofríe». El más grueso, de peso {decimal(weights[5])}, llega a «cebolla».",
        height=218,
    )
    box = fig.op(412, 168, 60, 38, "la", role="query", bold=True)
    centers = (27, 82, 129, 174, 214, 282, 348, 408)
    for cx, word, weight in zip(centers, SENTENCE, weights, strict=True):
        fig.line(box.n, (cx, 62), width=0.6 + 17 * weight, opacity=0.35 + 0.65 * weight)
        fig.text(cx, 22, word.strip())
        fig.text(cx, 47, decimal(weight), size=fig.small)
    return fig


def attention_step() -> Figure:
    words = ("Pica", "ajo", "cebolla")
    inputs = np.array([SENTENCE["Pica"], SENTENCE["ajo"], SENTENCE["cebolla,"]])
    query = np.array(PRONOUN)
    scores = inputs @ query
    weights = softmax(scores)
    fig = Figure(
        "attention_step",
        title="Un paso de atención: puntuar, normalizar, mezclar",
        desc="La consulta de «la» se compara con los vectores de tres palabras; las puntuaciones "
        f"{', '.join(decimal(value, 0) for value in scores)} pasan por el softmax y dan los pesos "
        f"{', '.join(decimal(value) for value in weights)}, con los que se mezclan los vectores.",
        height=624,
    )
    centers, cell = (168, 286, 404), (58, 25)
    fig.text(56, 18, "«la»")
    fig.text(56, 44, "$q$")
    asking = fig.column(56, 62, "query", query, digits=0, cell=cell)
    first = fig.op(116, 170, 348, 38, "1 · puntuar: $s_i = q·x_i$")
    fig.arrow(asking.s, (56, first.cy), first.w_)
    second = fig.op(116, 272, 348, 38, "2 · normalizar con softmax")
    third = fig.op(116, 426, 348, 38, "3 · mezclar: $h = Σ α_i x_i$")
    for index, cx in enumerate(centers):
        fig.text(cx, 18, words[index])
        fig.text(cx, 44, f"$x_{index + 1}$")
        state = fig.column(cx, 62, "input", inputs[index], digits=0, cell=cell)
        fig.arrow(state.s, (cx, first.y))
        score = fig.column(cx, 226, None, [scores[index]], digits=0, cell=cell)
        fig.line((cx, first.bottom), score.n)
        fig.arrow(score.s, (cx, second.y))
        bar = fig.bar(cx - 29, 402, 58, 64 * weights[index], "weight")
        fig.text(cx, bar.y - 12, decimal(weights[index]))
        fig.arrow((cx, second.bottom), (cx, bar.y - 22))
        fig.arrow((cx, 402), (cx, third.y))
        # Tres decimales aquí: así la suma que hace quien lee redondea al contexto impreso.
        part = fig.column(cx, 514, "input", weights[index] * inputs[index], digits=3, cell=cell)
        fig.arrow((cx, third.bottom), (cx, 482))
        fig.text(cx, 496, f"$α_{index + 1}x_{index + 1}$")
        fig.text((56, *centers)[index] / 2 + cx / 2, part.cy, "=++"[index], size=fig.math)
    fig.text(102, 239, "$s_i$", anchor="end")
    fig.text(102, 372, "$α_i$", anchor="end")
    fig.line((128, 402), (452, 402), width=1)
    fig.column(56, 514, "output", weights @ inputs, cell=cell)
    fig.text(56, 496, "$h$")
    fig.text(56, 608, "contexto")
    return fig


def linear_combination() -> Figure:
    inputs = np.array([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0], [0.0, 4.0, 1.0]])
    weights = np.array([0.6, 0.3, 0.1])
    layer = np.array([[0.5, -1.0, 0.0], [1.0, 0.0, 0.5], [0.0, 2.0, -0.5]])
    fig = Figure(
        "linear_combination",
        title="Combinación lineal de las entradas frente a una capa",
        desc="Arriba, la atención suma tres entradas multiplicadas por los pesos 0.6, 0.3 y 0.1, "
        "que dependen de las propias entradas. Abajo, una capa multiplica una entrada por una "
        "matriz W aprendida, que es siempre la misma.",
        height=444,
    )
    fig.frame(4, 4, 472, 214)
    fig.text(18, 26, "Atención: $h = Σ α_i x_i$", anchor="start", bold=True)
    for index, left in enumerate((18, 144, 270)):
        box = fig.column(left + 22, 100, "weight", [weights[index]], cell=(44, 27), digits=1)
        fig.text(box.cx, 84, f"$α_{index + 1}$")
        column = fig.column(left + 78, 76, "input", inputs[index], digits=1, cell=(40, 25))
        fig.text(column.cx, 60, f"$x_{index + 1}$")
        fig.text(left + 51, 113, "·", size=26)
        fig.text(left + 112, 113, "+" if index < 2 else "=", size=fig.math)
    result = fig.column(430, 76, "output", weights @ inputs, digits=1)
    fig.text(result.cx, 60, "$h$")
    fig.text(
        240,
        186,
        "Los pesos se calculan con las entradas: otra entrada,\n"
        "otros pesos. Sirve para cualquier número de entradas.",
        size=fig.small,
    )
    fig.frame(4, 228, 472, 212)
    fig.text(18, 250, "Capa: $h = x W$", anchor="start", bold=True)
    cell = (42, 25)
    matrix = fig.grid(177, 300, 3, 3, None, values=layer, digits=1, heavy=True, cell=cell)
    fig.text(matrix.cx, 284, "$W$")
    product = inputs[:1] @ layer
    sides = ((21, "input", inputs[:1], "x"), (333, "output", product, "h"))
    for left, role, values, letter in sides:
        row = fig.grid(left, 325, 1, 3, role, values=values, digits=1, cell=cell)
        fig.text(row.cx, 309, f"${letter}$")
    fig.text(162, matrix.cy, "·", size=26)
    fig.text(318, matrix.cy, "=", size=fig.math)
    fig.text(
        240,
        408,
        "$W$ se aprende y queda fija (contorno grueso):\nla misma matriz para todas las entradas.",
        size=fig.small,
    )
    return fig


def hard_soft() -> Figure:
    inputs = np.array([[0.2, 0.8], [1.4, 0.6], [0.9, -0.2], [-0.4, 0.5]])
    query = np.array([1.5, 1.0])
    scores = inputs @ query
    chosen = int(scores.argmax())
    hard, soft = np.eye(4)[chosen], softmax(scores)
    fig = Figure(
        "hard_soft",
        title="Atención dura y atención suave sobre las mismas puntuaciones",
        desc="Las puntuaciones de cuatro entradas se convierten en pesos de dos maneras. La dura "
        f"pone un 1 en la mayor y devuelve la entrada x{chosen + 1}; la suave reparte los pesos "
        f"{', '.join(decimal(value) for value in soft)} y devuelve una mezcla.",
        height=528,
    )
    for index, cx in enumerate((156, 240, 324, 408)):
        fig.text(cx, 16, f"$x_{index + 1}$")
        column = fig.column(cx, 32, "input", inputs[index], digits=1)
        score = fig.column(cx, 112, None, [scores[index]])
        fig.arrow(column.s, score.n)
    fig.text(122, 57, "entradas", anchor="end")
    fig.text(122, 124, "puntuaciones", anchor="end")
    fig.line((282, 137), (282, 154), width=1.5)
    panels = (
        (4, hard, 0, "Dura: arg max", "un solo peso es 1", "es exactamente $x_2$", "$‖a‖_0 = 1$"),
        (244, soft, 2, "Suave: soft arg max", "todos cuentan", "mezcla de todas", "$‖a‖_1 = 1$"),
    )
    for left, weights, digits, title, note, result, norm in panels:
        center = left + 116
        panel = fig.frame(left, 178, 232, 346)
        fig.arrow((282, 154), (center, 154), (center, panel.y))
        fig.text(center, 200, title, bold=True)
        for index, weight in enumerate(weights):
            cx = left + 35 + 54 * index
            bar = fig.bar(cx - 21, 330, 42, 86 * weight, "weight")
            fig.text(cx, bar.y - 12, decimal(weight, digits), size=fig.small)
            fig.text(cx, 346, f"$α_{index + 1}$")
        fig.line((left + 12, 330), (left + 220, 330), width=1)
        fig.text(center, 376, f"{note}: {norm}", size=fig.small)
        out = fig.column(center, 424, "output", weights @ inputs, cell=(54, 25))
        fig.arrow((center, 390), out.n)
        fig.text(out.x - 14, out.cy, "$h =$", anchor="end")
        fig.text(center, 498, result, size=fig.small)
    return fig


def additive_multiplicative() -> Figure:
    fig = Figure(
        "additive_multiplicative",
        title="Dos maneras de puntuar una consulta y una clave",
        desc="La aditiva proyecta consulta y clave con dos matrices, las suma, aplica tanh y "
        "reduce a un número con un vector v. La multiplicativa proyecta la clave con una matriz y "
        "hace el producto escalar con la consulta.",
        height=548,
    )
    fig.frame(4, 4, 232, 540)
    fig.frame(244, 4, 232, 540)
    for left, title, author in ((4, "Aditiva", "Bahdanau"), (244, "Multiplicativa", "Luong")):
        fig.text(left + 116, 26, title, bold=True)
        fig.text(left + 116, 48, author, size=fig.small)
    query, key = _asked_pair(fig, 4)
    projections = [
        fig.op(x - 32, 176, 64, 38, label, heavy=True)
        for x, label in ((66, "$W_q$"), (174, "$W_k$"))
    ]
    fig.arrow(query.s, projections[0].n)
    fig.arrow(key.s, projections[1].n)
    total = fig.disc(120, 252, "+")
    fig.arrow(projections[0].s, (66, 252), total.w_)
    fig.arrow(projections[1].s, (174, 252), total.e)
    curve = fig.op(84, 296, 72, 36, "tanh")
    fig.arrow(total.s, curve.n)
    reduce = fig.op(84, 360, 72, 36, "$v^T$", heavy=True)
    fig.arrow(curve.s, reduce.n)
    _score(fig, 120, reduce.s)
    query, key = _asked_pair(fig, 244)
    projection = fig.op(382, 176, 64, 38, "$W$", heavy=True)
    fig.arrow(key.s, projection.n)
    product = fig.disc(360, 314, "·")
    fig.arrow(query.s, (306, 314), product.w_)
    fig.arrow(projection.s, (414, 314), product.e)
    _score(fig, 360, product.s)
    fig.text(120, 490, "$s = v^T 'tanh'(W_q q + W_k k)$", size=fig.body)
    fig.text(360, 490, "$s = q^T W k$")
    fig.text(120, 520, "una red pequeña", size=fig.small)
    fig.text(360, 520, "un producto escalar si $W = I$", size=fig.small)
    return fig


def _asked_pair(fig: Figure, left: float) -> tuple:
    boxes = []
    for offset, role, letter, word in ((62, "query", "q", "consulta"), (170, "key", "k", "clave")):
        fig.text(left + offset, 76, f"{word} ${letter}$")
        boxes.append(fig.column(left + offset, 94, role, count=3, cell=(34, 19)))
    return tuple(boxes)


def _score(fig: Figure, cx: float, start: tuple[float, float]) -> None:
    cell = fig.column(cx, 424, "weight", ["$s$"], cell=(46, 32))
    fig.arrow(start, cell.n)


FIGURES = (
    pronoun,
    seq2seq_bottleneck,
    attention_step,
    linear_combination,
    hard_soft,
    additive_multiplicative,
)
