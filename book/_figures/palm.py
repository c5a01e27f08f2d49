"""Diagramas del capítulo de PaLM: los dos bloques, las cabezas que comparten, los giros y la mezcla."""  # noqa: E501

from __future__ import annotations

from math import cos, pi, sin
from textwrap import wrap

from book._figures.kit import Box, Figure

TURN = pi / 6  # el ángulo que la aguja avanza por posición


def palm_writes() -> Figure:
    fig = Figure(
        "palm_writes",
        title="Lo que sigue depende del pronombre",
        desc="Después de «pica el ajo y la cebolla y sofríe», el modelo da probabilidad 0.52 a "
        "«la» y 0.48 a «lo». Si se elige «la», escribe «la cebolla queda lista»; si se elige «lo», "
        "escribe «el ajo queda listo».",
        height=232,
    )
    said = "«pica el ajo\ny la cebolla\ny sofríe…»"
    start = fig.op(6, 66, 150, 92, said, role="input", size=fig.small)
    for y, pronoun, p, said in (
        (34, "la", "0.52", "la cebolla\nqueda lista"),
        (138, "lo", "0.48", "el ajo\nqueda listo"),
    ):
        box = fig.op(216, y, 92, 56, f"«{pronoun}»\n{p}", role="weight", heavy=True)
        fig.arrow(start.e, box.w_)
        answer = fig.op(348, y, 126, 56, said, role="output", bold=True)
        fig.arrow(box.e, answer.w_)
    fig.text(262, 16, "¿qué sigue?", size=fig.small)
    fig.text(411, 16, "¿y después?", size=fig.small)
    return fig


def palm_whole() -> Figure:
    fig = Figure(
        "palm_whole",
        title="PaLM entero, de los tokens a las probabilidades",
        desc="Los tokens consultan la tabla E y atraviesan L bloques en paralelo, de abajo "
        "arriba. Cada bloque tiene una normalización, atención multiconsulta con giros y una red "
        "SwiGLU, y suma todo a su entrada. Al final, una normalización y otra vez la tabla E, "
        "entre la raíz de d.",
        height=566,
    )
    cx = 250.0
    fig.text(cx, 16, "probabilidad del token siguiente", size=fig.small)
    out = fig.block(cx, 62, "$E^T / √d$ (5)", "embedding", w=150)
    norm = fig.block(cx, 128, "Normalización", "norm", w=150, h=32, size=fig.small)
    panel = fig.frame(64, 184, 372, 244)
    plus = fig.disc(cx, 214, "+", 13)
    left = fig.block(
        cx - 86, 262, "Atención\nmulticonsulta (3)\ncon giros (2)", "attention", w=150, h=78
    )
    right = fig.block(cx + 86, 262, "SwiGLU (1)", "feed_forward", w=150, h=78)
    inner = fig.block(cx, 382, "Normalización", "norm", w=150, h=32, size=fig.small)
    table = fig.block(cx, 466, "tabla $E$ (5)", "embedding", w=150)
    fig.text(cx, 548, "tokens", size=fig.small)
    fig.arrow((cx, 538), table.s)
    fig.arrow(table.n, inner.s)
    for part in (left, right):
        fig.arrow(inner.n, (cx, 362), (part.cx, 362), part.s)
        fig.line(part.n, (part.cx, 246), (cx, 246))
    fig.arrow((cx, 246), plus.s)
    fig.arrow((cx, 440), (450, 440), (450, plus.cy), plus.e)
    fig.arrow(plus.n, norm.s)
    fig.arrow(norm.n, out.s)
    fig.arrow(out.n, (cx, 28))
    fig.times(panel, "L")
    fig.text(inner.x - 12, inner.cy, "a la vez (4)", anchor="end", size=fig.small)
    return fig


def palm_block() -> Figure:
    fig = Figure(
        "palm_block",
        title="El bloque en serie y el bloque en paralelo",
        desc="A la izquierda, en serie: normalización, atención y suma; después, otra "
        "normalización, SwiGLU y otra suma. A la derecha, en paralelo: una sola normalización, de "
        "la que leen a la vez la atención y SwiGLU; las dos salidas se suman a la entrada de una "
        "vez.",
        height=500,
    )
    fig.text(112, 16, "en serie", bold=True)
    fig.text(352, 16, "en paralelo (PaLM)", bold=True)
    _serial(fig, 124)
    _parallel(fig, 352)
    fig.text(112, 484, "cuatro pasos, uno tras otro", size=fig.small)
    fig.text(352, 484, "dos pasos: normalizar, y las dos", size=fig.small)
    return fig


def palm_heads() -> Figure:
    fig = Figure(
        "palm_heads",
        title="Quién comparte claves y valores",
        desc="Cuatro cabezas en tres filas. Multicabeza: cada consulta con sus claves y sus "
        "valores, cuatro pares. Por grupos: cada dos consultas comparten un par, dos pares. "
        "Multiconsulta: las cuatro comparten un solo par. La caché guarda los pares.",
        height=500,
    )
    rows = (
        ("multicabeza", "num_kv_heads = 4", 4),
        ("por grupos", "num_kv_heads = 2", 2),
        ("multiconsulta (PaLM)", "num_kv_heads = 1", 1),
    )
    for i, (name, option, pairs) in enumerate(rows):
        _heads(fig, 14 + 164 * i, name, option, pairs)
    return fig


def palm_clocks() -> Figure:
    fig = Figure(
        "palm_clocks",
        title="Dos giros, una diferencia",
        desc="Una consulta y una clave como agujas de reloj. En las posiciones 1 y 3, y en las 5 y "
        "7, cada aguja gira según su posición; el ángulo entre las dos es el mismo, porque la "
        "distancia es la misma. En las posiciones 1 y 6 el ángulo es otro.",
        height=434,
    )
    rows = ((1, 3, "distancia 2"), (5, 7, "distancia 2"), (1, 6, "distancia 5"))
    for x, title in ((78, "clave"), (222, "consulta"), (386, "juntas")):
        fig.text(x, 16, title, bold=True)
    for i, (n, m, note) in enumerate(rows):
        cy = 92 + 132 * i
        _clock(fig, 78, cy, {"key": n}, f"posición {n}")
        _clock(fig, 222, cy, {"query": m}, f"posición {m}")
        fig.text(150, cy, "y", size=fig.small)
        fig.text(302, cy, "→", size=fig.body)
        _clock(fig, 386, cy, {"key": n, "query": m}, note)
    return fig


def palm_mixture() -> Figure:
    fig = Figure(
        "palm_mixture",
        title="Una red densa y una mezcla de expertos",
        desc="A la izquierda, densa: los tres tokens pasan por la misma red entera. A la derecha, "
        "mezcla: un enrutador manda cada token a uno de cuatro expertos; el tercer experto, "
        "rayado, no trabaja para ninguno de los tres.",
        height=392,
    )
    words = ("sal", "pan", "miel")
    fig.text(96, 16, "densa (PaLM)", bold=True)
    net = fig.op(16, 196, 160, 84, "SwiGLU\ntoda, siempre", role="output", heavy=True)
    for i, word in enumerate(words):
        x = 42 + 54 * i
        token = fig.op(x - 24, 40, 48, 28, word, role="input", size=fig.small)
        fig.arrow(token.s, (x, net.y))
        out = fig.op(x - 24, 328, 48, 28, "", role="output")
        fig.arrow((x, net.bottom), out.n)
    fig.text(348, 16, "mezcla de expertos", bold=True)
    router = fig.op(238, 106, 220, 34, "enrutador", heavy=True)
    experts = []
    for e in range(4):
        idle = e == 2
        number = "" if idle else f"{e + 1}"
        box = fig.op(224 + 64 * e, 196, 58, 84, number, role="output", heavy=True)
        if idle:
            fig.grid(box.x + 4, box.y + 4, 1, 1, "hidden", cell=(box.w - 8, box.h - 8))
            fig.text(box.cx, box.cy, f"{e + 1}")
        experts.append(box)
    for i, (word, e) in enumerate(zip(words, (0, 3, 1), strict=True)):
        x = 272 + 76 * i
        token = fig.op(x - 24, 40, 48, 28, word, role="input", size=fig.small)
        fig.arrow(token.s, (x, router.y))
        fig.arrow((x, router.bottom), (experts[e].cx, experts[e].y))
        out = fig.op(x - 24, 328, 48, 28, "", role="output")
        fig.arrow((experts[e].cx, experts[e].bottom), out.n)
    fig.text(96, 376, "parámetros = trabajo", size=fig.small)
    fig.text(348, 376, "muchos parámetros, poco trabajo", size=fig.small)
    return fig


# --- piezas ------------------------------------------------------------------------------------


def _serial(fig: Figure, cx: float) -> None:
    x = fig.column(cx, 34, "input", count=2, cell=(34, 15))
    fig.text(x.right + 10, x.cy, "$x$", anchor="start")
    above, top, fork = x.s, 92.0, 78.0
    for name, kind in (("Atención", "attention"), ("SwiGLU", "feed_forward")):
        norm = fig.block(cx, top, "Normalización", "norm", w=118, h=30, size=fig.small)
        part = fig.block(cx, norm.bottom + 22, name, kind, w=118, h=40, size=fig.small)
        plus = fig.disc(cx, part.bottom + 32, "+", 13)
        fig.arrow(above, norm.n)
        fig.flow(norm, part, plus)
        side = cx - 74
        fig.arrow((cx, fork), (side, fork), (side, plus.cy), plus.w_)
        above, top, fork = plus.s, plus.bottom + 32, plus.bottom + 14
    y = fig.column(cx, 430, "output", count=2, cell=(34, 15))
    fig.arrow(above, y.n)
    fig.text(y.right + 10, y.cy, "$y$", anchor="start")


def _parallel(fig: Figure, cx: float) -> None:
    x = fig.column(cx, 34, "input", count=2, cell=(34, 15))
    fig.text(x.right + 10, x.cy, "$x$", anchor="start")
    norm = fig.block(cx, 116, "Normalización", "norm", w=118, h=30, size=fig.small)
    left = fig.block(cx - 56, 214, "Atención", "attention", w=104, h=64, size=fig.small)
    right = fig.block(cx + 56, 214, "SwiGLU", "feed_forward", w=104, h=64, size=fig.small)
    plus = fig.disc(cx, 356, "+", 13)
    fig.arrow(x.s, norm.n)
    for part in (left, right):
        fig.arrow(norm.s, (cx, 176), (part.cx, 176), part.n)
    fig.arrow(left.s, (left.cx, 318), (cx - 9, 346))
    fig.arrow(right.s, (right.cx, 318), (cx + 9, 346))
    side = left.x - 12
    fig.arrow((cx, 88), (side, 88), (side, plus.cy), plus.w_)
    y = fig.column(cx, 430, "output", count=2, cell=(34, 15))
    fig.arrow(plus.s, y.n)
    fig.text(y.right + 10, y.cy, "$y$", anchor="start")


def _heads(fig: Figure, top: float, name: str, option: str, pairs: int) -> None:
    fig.text(8, top + 24, name, anchor="start", bold=True)
    fig.text(8, top + 50, option, anchor="start", size=fig.small)
    fig.text(8, top + 98, f"la caché: {pairs} " + ("pares" if pairs > 1 else "par"), anchor="start")
    columns = [250 + 62 * i for i in range(4)]
    for i, cx in enumerate(columns):
        query = fig.op(cx - 21, top + 6, 42, 30, f"$Q_{i + 1}$", role="query", radius=6)
        group = i * pairs // 4
        members = [c for j, c in enumerate(columns) if j * pairs // 4 == group]
        middle = sum(members) / len(members)
        fig.line(query.s, (middle, top + 86), width=1.3)
        if i * pairs % 4 == 0:
            fig.op(middle - 28, top + 86, 28, 30, f"$K_{group + 1}$", role="key", radius=6)
            fig.op(middle, top + 86, 28, 30, f"$V_{group + 1}$", role="value", radius=6)


def _clock(fig: Figure, cx: float, cy: float, hands: dict[str, int], label: str) -> Box:
    radius = 42.0
    disc = fig.disc(cx, cy, "", radius)
    # Como en un reloj: la aguja sale hacia arriba y gira hacia la derecha.
    angles = {role: TURN * n + (0 if role == "key" else pi / 4) for role, n in hands.items()}
    if len(angles) == 2:
        start, opening = angles["key"], (angles["query"] - angles["key"]) % (2 * pi)
        opening = opening if opening <= pi else opening - 2 * pi
        along = [start + opening * i / 16 for i in range(17)]
        fig.line(*((cx + 29 * sin(a), cy - 29 * cos(a)) for a in along), width=1.3)
    for role, angle in angles.items():
        tip = (cx + 36 * sin(angle), cy - 36 * cos(angle))
        fig.arrow((cx, cy), tip, width=2.2, dashed=role == "key")
        at = (cx + 20 * sin(angle + 0.5), cy - 20 * cos(angle + 0.5))
        fig.text(*at, "$k$" if role == "key" else "$q$", size=fig.small)
    fig.text(cx, cy + radius + 16, label, size=fig.small)
    return disc


# Lo que el modelo guardado escribe de «Crema de yuca», y los candidatos del token que más duda.
YUCA = """\
- 300 gramos de yuca
- 2 cebollas moradas
- 4 cucharadas de aceite de maíz
- 1 litro de caldo de verduras
- 3 tazas de leche
- Sal al gusto
- 1 pizca de nuez moscada
- Medio manojo de perejil
- 6 rebanadas de pan de ajo
1. Pela la yuca y córtala en cubos medianos.
2. Corta las cebollas moradas en tiras finas.
3. Sofríe las cebollas moradas con el aceite de maíz a fuego medio.
4. Agrega la yuca, vierte el caldo de verduras y hierve durante 25 minutos.
5. Tritura todo y cuela la mezcla.
6. Incorpora la leche y calienta sin que hierva.
7. Sazona con sal y nuez moscada.
8. Antes de servir, cubre la crema con el perejil.
9. Reparte la crema en platos hondos y sirve el pan de ajo al lado."""
HERBS = {
    "perejil": "19.8 %",
    "cilantro": "14.2 %",
    "eneldo": "13.4 %",
    "cebollín": "13.0 %",
    "menta": "11.1 %",
}


def palm_recipe() -> Figure:
    listed, steps = YUCA.split("\n")[:9], YUCA.split("\n")[9:]
    rows = [(row, "perejil" in line) for line in steps for row in wrap(line, 56)]
    fig = Figure(
        "palm_recipe",
        title="Una receta que el modelo guardado escribe a partir de su título",
        desc="De «Crema de yuca» el modelo escribe una lista de nueve ingredientes y nueve pasos. "
        "El token del que más duda es la hierba del manojo: perejil, con 19.8 %, por delante de "
        "cilantro, eneldo, cebollín y menta. El paso 8 usa el perejil.",
        height=244 + 20 * len(rows),
    )
    fig.text(8, 18, "Crema de yuca", anchor="start", bold=True)
    for i, line in enumerate(listed):
        bold = "perejil" in line
        fig.text(8, 44 + 20 * i, line, anchor="start", size=fig.small, bold=bold)
    for i, (row, bold) in enumerate(rows):
        x = 8 if row[0].isdigit() else 24
        fig.text(x, 244 + 20 * i, row, anchor="start", size=fig.small, bold=bold)
    fig.text(278, 44, "tras «Medio manojo de»", anchor="start", size=fig.small)
    for i, (word, share) in enumerate(HERBS.items()):
        y = 64 + 26 * i
        fig.text(344, y + 10, word, anchor="end", size=fig.small)
        wide = 3 * float(share.removesuffix(" %"))
        fig.hbar(350, y, wide, 20, "output")
        fig.text(356 + wide, y + 10, share, anchor="start", size=fig.small)
    return fig


FIGURES = (palm_writes, palm_whole, palm_block, palm_heads, palm_clocks, palm_mixture, palm_recipe)
