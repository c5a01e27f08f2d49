"""Diagramas del capítulo de decodificación: el árbol de un haz y la ruleta del muestreo."""

from __future__ import annotations

import numpy as np

from book._figures.kit import Box, Figure, decimal

# La tabla del capítulo: probabilidad de cada palabra después de la anterior.
NEXT = {
    "inicio": {"corta": 0.44, "pela": 0.30, "sirve": 0.26},
    "corta": {"la": 0.5, "las": 0.4, "fin": 0.1},
    "pela": {"las": 0.9, "la": 0.1},
    "sirve": {"fin": 0.9, "las": 0.1},
    "la": {"cebolla": 0.6, "zanahoria": 0.4},
    "las": {"papas": 0.8, "manzanas": 0.2},
    "cebolla": {"fin": 1.0},
    "papas": {"fin": 1.0},
}
# Arriba de cada casilla del árbol, por sus palabras.
TOPS = {
    ("corta",): 88,
    ("pela",): 212,
    ("sirve",): 292,
    ("corta", "la"): 40,
    ("corta", "las"): 88,
    ("corta", "fin"): 136,
    ("pela", "las"): 190,
    ("pela", "la"): 238,
    ("corta", "la", "cebolla"): 40,
    ("corta", "la", "zanahoria"): 88,
    ("pela", "las", "papas"): 190,
    ("pela", "las", "manzanas"): 238,
    ("corta", "la", "cebolla", "fin"): 40,
    ("pela", "las", "papas", "fin"): 190,
}
BEAM, LEFT, WIDE, HIGH, STEP = 2, 80, 98, 42, 112
SAUCE = {"sal": 0.40, "pimienta": 0.25, "ajo": 0.15, "aceite": 0.10, "limón": 0.06, "azúcar": 0.04}
DRAWN = 0.72


def probability(words: tuple[str, ...]) -> float:
    """Producto de las condicionales a lo largo de un camino."""
    pairs = zip(("inicio", *words), words, strict=False)
    return float(np.prod([NEXT[before][after] for before, after in pairs]))


def kept(words: tuple[str, ...]) -> bool:
    """Si una casilla queda entre las mejores de su paso."""
    rivals = [probability(other) for other in TOPS if len(other) == len(words)]
    return probability(words) in sorted(rivals, reverse=True)[:BEAM]


def decoding_beam_tree() -> Figure:
    best = ("pela", "las", "papas", "fin")
    fig = Figure(
        "decoding_beam_tree",
        title="Búsqueda en haz con dos hipótesis abiertas",
        desc="Árbol de cuatro pasos. En el primero quedan «corta», 0.44, y «pela», 0.30; se "
        "descarta «sirve», 0.26. En el segundo quedan «pela las», 0.27, y «corta la», 0.22. En el "
        "tercero, «pela las papas», 0.216, y «corta la cebolla», 0.132. Las dos terminan, y gana "
        "«Pela las papas».",
        height=384,
        width=520,
    )
    boxes: dict[tuple[str, ...], Box] = {(): fig.op(2, 150, 62, HIGH, "inicio", size=fig.small)}
    for words, top in TOPS.items():
        boxes[words] = _node(fig, words, top, on_path=words == best[: len(words)])
    for words in TOPS:
        parent, child = boxes[words[:-1]], boxes[words]
        thick = words == best[: len(words)]
        fig.arrow(parent.e, child.w_, width=2.8 if thick else 1.4, dashed=not kept(words))
    for step in range(1, 5):
        fig.text(LEFT + STEP * (step - 1) + WIDE / 2, 16, f"paso {step}", size=fig.small)
    _legend(fig, 350)
    return fig


def _node(fig: Figure, words: tuple[str, ...], top: float, *, on_path: bool) -> Box:
    """Una extensión: su última palabra y la probabilidad de todo el camino."""
    ended = words[-1] == "fin"
    role = ("output" if ended else "input") if kept(words) else None
    value = decimal(probability(words), 3).rstrip("0")
    label = f"{words[-1]}\n{value if len(value) > 3 else value + '0'}"
    x = LEFT + STEP * (len(words) - 1)
    return fig.op(
        x, top, WIDE, HIGH, label, role=role, dashed=role is None, size=fig.small, bold=on_path
    )


def _legend(fig: Figure, y: float) -> None:
    entries = (("abierta", "input"), ("terminada", "output"), ("descartada", None))
    for i, (name, role) in enumerate(entries):
        x = 40 + 156 * i
        fig.op(x, y, 34, 26, "", role=role, dashed=role is None, radius=6)
        fig.text(x + 42, y + 13, name, anchor="start", size=fig.small)


def decoding_three_paths() -> Figure:
    """Tres oraciones de la tabla: la que sale aceptando siempre la mejor palabra, y dos mejores."""
    fig = Figure(
        "decoding_three_paths",
        title="Aceptar siempre la mejor palabra no da la mejor oración",
        desc="Tres oraciones, con la probabilidad de cada palabra. «Corta la cebolla» toma siempre "
        "la más probable y vale 0.132; «Pela las papas», 0.216, y «Sirve», 0.234.",
        height=232,
    )
    paths = (("corta", "la", "cebolla"), ("pela", "las", "papas"), ("sirve", "fin"))
    start = fig.op(2, 92, 62, 40, "inicio", size=fig.small)
    for row, words in enumerate(paths):
        greedy, y, last = row == 0, 14 + 78 * row, start
        for i, word in enumerate(words):
            before = words[i - 1] if i else "inicio"
            wide = (66, 52, 82)[i]
            role = "output" if greedy else "input"
            box = fig.op((104, 204, 290)[i], y, wide, 40, word, role=role, size=fig.small)
            fig.arrow(last.e, box.w_, width=2.8 if greedy else 1.4)
            fig.text(box.cx, y + 55, decimal(NEXT[before][word]), size=fig.small)
            last = box
        value = decimal(probability(words), 3)
        fig.text(472, y + 20, f"= {value}", anchor="end", bold=True)
    return fig


def decoding_roulette() -> Figure:
    p = np.array(list(SAUCE.values()))
    rows = {
        "Las probabilidades del modelo": p,
        "Temperatura 0.5": p**2,
        "Temperatura 2": p**0.5,
        "top-k, con k = 3": p * (np.arange(6) < 3),
        "top-p, con p = 0.6": p * (np.arange(6) < 2),
    }
    chosen = [list(SAUCE)[_drawn(weights / weights.sum())] for weights in rows.values()]
    fig = Figure(
        "decoding_roulette",
        title="El mismo número sorteado en cinco repartos",
        desc="Cinco barras de ancho 1, partidas según la probabilidad de sal, pimienta, ajo, "
        f"aceite, limón y azúcar. El número sorteado es {DRAWN}, y cae en "
        + ", ".join(f"«{word}» ({name.lower()})" for name, word in zip(rows, chosen, strict=True))
        + ".",
        height=410,
    )
    left, wide, tall = 16, 448, 34
    for i, ((name, weights), word) in enumerate(zip(rows.items(), chosen, strict=True)):
        y = 40 + 74 * i
        fig.text(left, y - 12, f"{name}: sale «{word}»", anchor="start", size=fig.small)
        _bar(fig, weights / weights.sum(), left, y, wide, tall)
        x = left + wide * DRAWN
        fig.arrow((x, y - 22), (x, y), width=2.2)
    fig.text(x, 40 + 74 * 4 + tall + 20, f"número sorteado: {DRAWN}", size=fig.small)
    return fig


def _drawn(shares: np.ndarray) -> int:
    return int(np.searchsorted(np.cumsum(shares), DRAWN, side="right"))


def _bar(fig: Figure, shares: np.ndarray, x: float, y: float, wide: float, tall: float) -> None:
    """Una barra partida; la porción sorteada, en la que cae la flecha, va en naranja."""
    for i, (word, share) in enumerate(zip(SAUCE, shares, strict=True)):
        if share == 0:
            continue
        chosen = i == _drawn(shares)
        label = word if share * wide > 8.5 * len(word) else ""
        role = "output" if chosen else "input"
        fig.op(x, y, share * wide, tall, label, role=role, radius=0, size=fig.small)
        x += share * wide


# «Ensalada de pulpo con tomate», con el traductor guardado: los candidatos tras «Octopus with
# tomato» y lo que sale de cinco sorteos, con cada temperatura y cada k (None, sin top-k).
SAMPLED = {
    (0.5, None): (
        {"</s>": "56.4 %", "salad": "43.1 %", "sauce": "0.5 %"},
        (
            "Octopus with tomato",
            "Octopus with tomato salad",
            "Octopus with tomato",
            "Octopus with octopus",
            "Octopus with tomato",
        ),
    ),
    (2, None): (
        {"</s>": "32.1 %", "salad": "30.0 %", "sauce": "10.0 %"},
        (
            "Octopus soup with tomato",
            "Octopus with tomato sauce, compote",
            "Octopus with octopus",
            "Octopusatoast sorbet",
            "Octopus with tuna",
        ),
    ),
    (2, 3): (
        {"</s>": "44.5 %", "salad": "41.6 %", "sauce": "13.8 %"},
        (
            "Octopus with octopus",
            "Octopus with tomato salad",
            "Octopus with tomato salad",
            "Octopuson with tomato salad",
            "Octopus with octopus",
        ),
    ),
}


def decoding_samples() -> Figure:
    fig = Figure(
        "decoding_samples",
        title="Cinco traducciones sorteadas, con tres repartos",
        desc="«Ensalada de pulpo con tomate», sorteada cinco veces. Con temperatura 0.5 salen tres "
        "traducciones distintas, todas de palabras enteras; con temperatura 2, cinco, y una es "
        "«Octopusatoast sorbet»; con temperatura 2 y top-k con k = 3, casi todas vuelven a ser "
        "de palabras enteras.",
        height=432,
    )
    for row, ((T, k), (shares, written)) in enumerate(SAMPLED.items()):
        y = 20 + 142 * row
        name = f"T = {T}" if k is None else f"T = {T} y top-k, con k = {k}"
        fig.text(8, y, name, anchor="start", bold=True, size=fig.small)
        for i, (word, share) in enumerate(shares.items()):
            top = y + 18 + 26 * i
            fig.text(52, top + 10, word, anchor="end", size=fig.small)
            wide = 0.5 * float(share.removesuffix(" %"))
            fig.hbar(58, top, wide, 20, "output")
            fig.text(64 + wide, top + 10, share, anchor="start", size=fig.small)
        for i, text in enumerate(written):
            fig.text(172, y + 24 + 22 * i, text, anchor="start", size=fig.small)
    return fig


FIGURES = (decoding_three_paths, decoding_beam_tree, decoding_roulette, decoding_samples)
