"""Diagramas del capítulo de entrenamiento: el forzado del profesor y los procesos en paralelo."""

from __future__ import annotations

from math import log

from book._figures.kit import Box, Figure, Point, decimal

TARGET = ("<s>", "fava", "bean", "soup", "</s>")
TRUE_START = ("<s>", "Chop", "the", "garlic", "and")
# Lo que un decodificador a medio entrenar cree de cada respuesta: la correcta y otras dos.
BELIEFS = ((0.62, 0.25, 0.13), (0.83, 0.12, 0.05), (0.40, 0.35, 0.25), (0.93, 0.05, 0.02))


def training_correction() -> Figure:
    """Con lo que empieza el capítulo: seguir desde el error, o con la palabra correcta."""
    fig = Figure(
        "training_correction",
        title="Seguir desde el error, o con la palabra correcta",
        desc="Traducción de «Pica el ajo y la cebolla…». Quien sigue con lo suyo lee <s> Soup of "
        "the, y solo en la primera posición hay una respuesta que darle: Chop. Quien recibe las "
        "palabras correctas lee <s> Chop the garlic, y debe decir Chop the garlic and.",
        height=292,
    )
    left, cell = 102, (92, 32)
    roads = (
        ("Sigue con lo que escribió", ("<s>", "Soup", "of", "the"), ("Chop", "¿?", "¿?", "¿?")),
        ("Se le da la palabra correcta", TRUE_START[:-1], TRUE_START[1:]),
    )
    for row, (name, read, answers) in enumerate(roads):
        y = 10 + 148 * row
        fig.text(left, y + 8, name, anchor="start", bold=True)
        lost = [[answer == "¿?" for answer in answers]]
        inputs = fig.grid(left, y + 26, 1, 4, "input", cell=cell, values=[read], size=fig.body)
        expected = fig.grid(
            left, y + 88, 1, 4, "output", cell=cell, values=[answers], hidden=lost, size=fig.body
        )
        fig.text(left - 10, inputs.cy, "lee", anchor="end")
        fig.text(left - 10, expected.cy, "debe decir", anchor="end")
        for i in range(4):
            cx = left + cell[0] * (i + 0.5)
            fig.arrow((cx, inputs.bottom), (cx, expected.y))
    return fig


def teacher_forcing() -> Figure:
    fig = Figure(
        "teacher_forcing",
        title="El forzado del profesor: entrada y respuesta son la misma oración, desplazada",
        desc="La oración de destino es <s> fava bean soup </s>. El decodificador recibe todo menos "
        "el último token y debe responder todo menos el primero: en cada columna, con <s> debe "
        "decir fava; con <s> fava, bean; con <s> fava bean, soup; y al final, </s>. Las cuatro "
        "respuestas se calculan a la vez y cada una aporta una pérdida.",
        height=560,
    )
    left, w, h = 92, 74, 30
    columns = [left + w * (i + 0.5) for i in range(4)]
    fig.text(8, 22, "Destino completo, de comienzo a fin", anchor="start", bold=True)
    whole = _row(fig, left, 42, TARGET, None, (w, h))
    inputs = _row(fig, left, 122, TARGET[:-1], "input", (w, h))
    fig.text(left - 10, inputs.cy, "entrada", anchor="end")
    for cx in columns:
        fig.arrow((cx, whole.bottom), (cx, inputs.y))
        fig.arrow((cx, inputs.bottom), (cx, 190))
    decoder = fig.op(left, 190, 4 * w, 52, "Decodificador\n(no ve el futuro)", heavy=True)
    memory = fig.op(4, 256, 74, 40, "$h^{'Enc'}$", role="output")
    fig.arrow(memory.n, (memory.cx, decoder.cy), decoder.w_)
    base, tall = 372, 80
    for cx, (right, *others) in zip(columns, BELIEFS, strict=True):
        fig.arrow((cx, decoder.bottom), (cx, 262))
        for k, share in enumerate((right, *others)):
            fig.bar(cx - 27 + 18 * k, base, 16, tall * share, "output")
        fig.line((cx - 30, base), (cx + 30, base), width=1)
    fig.text(left - 10, 352, "$p_i$", anchor="end")
    answers = _row(fig, left, 418, TARGET[1:], "output", (w, h))
    fig.text(left - 8, answers.cy, "respuesta", anchor="end", size=fig.small)
    losses = [-log(right) for right, *_ in BELIEFS]
    for cx, value in zip(columns, losses, strict=True):
        fig.arrow((cx - 19, base), (cx - 19, answers.y))
        fig.text(cx, answers.bottom + 24, decimal(value))
    fig.text(left - 8, answers.bottom + 24, "$−'log' p_i$", anchor="end", size=fig.small)
    edge = 472
    fig.line(whole.e, (edge, whole.cy), (edge, answers.cy))
    fig.arrow((edge, answers.cy), answers.e)
    fig.text(left + 2 * w, 506, f"pérdida: su media, {decimal(sum(losses) / 4)}", bold=True)
    fig.text(240, 540, "cada respuesta es la entrada de la columna siguiente")
    return fig


def data_parallel() -> Figure:
    fig = Figure(
        "data_parallel",
        title="Dos procesos entrenan el mismo modelo con lotes distintos",
        desc="Dos columnas, una por proceso, con copias iguales de los parámetros. Cada una toma "
        "un lote distinto y calcula su pérdida y su gradiente. Los gradientes se suman, cada uno "
        "con el peso de sus tokens, y los dos procesos aplican la misma suma: las copias siguen "
        "siendo iguales.",
        height=500,
    )
    centers, w = (120, 360), 170
    tops: list[Box] = []
    for rank, cx in enumerate(centers):
        fig.frame(cx - 108, 8, 216, 262)
        fig.text(cx, 30, f"Proceso {rank}", bold=True)
        batch = fig.op(cx - w / 2, 50, w, 38, f"lote {rank + 1}: $n_{rank}$ tokens", role="input")
        model = fig.block(cx, 116, "modelo, con sus $θ$", "feed_forward", w=w)
        loss = fig.op(cx - w / 2, 184, w, 38, f"pérdida media $L_{rank}$", role="output")
        fig.flow(batch, model, loss)
        fig.text(cx + 14, 248, f"$g_{rank} = ∇L_{rank}$", anchor="start")
        tops.append(loss)
    mean = fig.op(
        20, 300, 440, 56, "$g = (n_0 g_0 + n_1 g_1) / (n_0 + n_1)$", role="weight", size=fig.math
    )
    for cx, loss in zip(centers, tops, strict=True):
        fig.arrow(loss.s, (cx, mean.y))
        step = fig.op(cx - 100, 396, 200, 44, "recorta $g$ y actualiza $θ$")
        fig.arrow((cx, mean.bottom), step.n)
    fig.text(240, 472, "los dos dan el mismo paso: las copias siguen iguales", size=fig.body)
    return fig


# Lo que dibuja el laboratorio (book/_static/labs/warm_up.js): el plan del artículo.
PLANS = {(512, 4000): "d = 512, w = 4000", (128, 4000): "d = 128, w = 4000"}
LAST_STEP, HIGHEST = 40_000, 0.0016


def warm_up() -> Figure:
    fig = Figure(
        "warm_up",
        title="El plan del artículo: calentamiento y raíz inversa",
        desc="Dos curvas de la tasa de aprendizaje, una con d igual a 512 y otra con 128, las dos "
        "con 4000 pasos de calentamiento. Suben en línea recta hasta el paso 4000 y bajan cada vez "
        "más despacio; la de 128 es el doble de alta.",
        height=262,
    )
    left, right, floor, roof = 74, 440, 206, 20

    def at(step: float, rate: float) -> Point:
        along = left + (right - left) * step / LAST_STEP
        return along, floor - (floor - roof) * rate / HIGHEST

    fig.line((left, roof), (left, floor), (right, floor))
    for rate in (0, 0.0005, 0.001, 0.0015):
        fig.text(left - 6, at(0, rate)[1], f"{rate:g}", anchor="end", size=fig.small)
    for step, name in ((0, "0"), (10_000, "10 000"), (20_000, "20 000"), (40_000, "40 000")):
        fig.text(at(step, 0)[0], floor + 16, name, size=fig.small)
    fig.text((left + right) / 2, floor + 38, "paso", size=fig.small)
    for (width, warm), name in PLANS.items():
        steps = [1, *range(400, LAST_STEP + 1, 400)]
        rates = [width**-0.5 * min(s**-0.5, s * warm**-1.5) for s in steps]
        fig.line(*map(at, steps, rates), width=2.4, dashed=width == 128)
        x, y = at(16_000, rates[40])
        fig.text(x + 60, y - 24, f"${name}$", size=fig.small)
    return fig


def _row(fig: Figure, x: float, y: float, words: tuple, role: str | None, cell: tuple) -> Box:
    return fig.grid(x, y, 1, len(words), role, cell=cell, values=[list(words)], size=fig.body)


FIGURES = (training_correction, teacher_forcing, data_parallel, warm_up)
