"""Diagramas del Universal Transformer: el bloque atado, la parada y quién sigue activo."""

from __future__ import annotations

from book._figures.kit import Figure

# Los del capítulo: las probabilidades de parada de una posición, paso a paso.
HALTING = (0.3, 0.4, 0.5)
# 690948 + 26057, las unidades delante; cada columna, un paso más de las que debe mirar atrás.
COLUMNS = ("8+7", "4+5", "9+0", "0+6", "9+2", "6+0")
UPDATES = (1, 2, 3, 4, 2, 2)


def universal_block() -> Figure:
    fig = Figure(
        "universal_block",
        title="Un solo bloque, aplicado T veces",
        desc="Los vectores entran en un bucle. En cada vuelta se les suma la codificación de su "
        "posición y la del paso, y pasan por el mismo bloque: autoatención, suma y normalización, "
        "red prealimentada por posición, suma y normalización. La salida vuelve a entrar, T "
        "veces, con los mismos parámetros.",
        height=560,
    )
    cx = 236
    x = fig.tokens(cx - 60, 34, ("8+7", "4+5", "9+0"), 4, "input", cell=(30, 20))
    fig.text(cx, 18, "entrada $H^0$: los tokens, sin posiciones", size=fig.small)
    position = fig.positional_sum(cx, 164, side="w", gap=70, label="")
    step = fig.positional_sum(cx, 208, side="e", gap=70, label="")
    fig.text(cx - 106, 164, "dónde está", anchor="end", size=fig.small)
    fig.text(cx + 106, 208, "en qué\npaso va", anchor="start", size=fig.small)
    layer = fig.encoder_layer(cx, 248, w=184, side="w")
    fig.flow(x, position, step)
    fig.arrow(step.s, layer.n)
    out = fig.op(cx - 80, 500, 160, 46, "salida: el estado\ndel último paso", size=fig.small)
    fig.arrow(layer.s, out.n)
    right, fork, back = 404, 484, 128
    fig.line((cx, fork), (right, fork), (right, back), width=3)
    fig.arrow((right, back), (cx + 2, back), width=3)
    fig.text(right + 10, 330, "$T$ veces,", anchor="start", size=fig.small)
    fig.text(right + 10, 350, "iguales", anchor="start", size=fig.small)
    fig.text(72, 300, "un solo\njuego de\nparámetros", size=fig.small)
    return fig


def act_accumulation() -> Figure:
    fig = Figure(
        "act_accumulation",
        title="Una posición acumula probabilidad hasta detenerse",
        desc="Tres barras, una por paso, avanzan hacia una línea que está cerca de uno. La primera "
        "llega a 0.3 y la segunda a 0.7. La tercera pasaría de la línea: la posición se detiene, y "
        "ese paso no pesa su probabilidad, 0.5, sino el resto, 0.3. Los tres pesos suman uno.",
        height=348,
    )
    left, width, top = 76, 288, 62
    line = left + 0.99 * width
    fig.line((line, 34), (line, 250), dashed=True, width=2)
    fig.text(line, 20, "$1 − ε$", size=fig.small)
    total = 0.0
    for n, p in enumerate(HALTING, 1):
        y = top + 66 * (n - 1)
        fig.text(10, y + 17, f"paso {n}", anchor="start", size=fig.small)
        if total:
            fig.grid(left, y, 1, 1, "hidden", cell=(total * width, 34))
        last = total + p >= 0.99
        weight = 1 - total if last else p
        role = "output" if last else "weight"
        fig.grid(
            left + total * width,
            y,
            1,
            1,
            role,
            cell=(weight * width, 34),
            values=[[f"{weight:.1f}"]],
        )
        if last:
            end = left + width * (total + p)
            fig.op(line + 3, y, end - line - 3, 34, "", dashed=True, radius=2)
        note = f"$p_{n}$ = {p:.1f}, suma {total + p:.1f}"
        where = {"anchor": "end"} if last else {"anchor": "start"}
        x = line - 6 if last else left + total * width + 4
        fig.text(x, y - 12, note, size=fig.small, **where)
        total += p
    fig.text(240, 274, "pesos: 0.3 + 0.4 + 0.3 = 1", size=fig.small)
    fig.text(240, 300, "el último es el resto $R$ = 1 − 0.7, no $p_3$", size=fig.small)
    fig.text(240, 326, "costo de deliberación: $N + R$ = 3 + 0.3", size=fig.small)
    return fig


def act_active() -> Figure:
    fig = Figure(
        "act_active",
        title="Quién sigue activo en cada paso",
        desc="Un ejemplo ideal: una cuadrícula con seis columnas de una suma y cuatro "
        "pasos. En el primer paso todas las posiciones se calculan; en el segundo, cinco; en el "
        "tercero, dos; en el cuarto, una: "
        "la columna cuyo acarreo viene de más lejos. Las rayadas se detuvieron y no cuestan.",
        height=318,
    )
    left, top, cell = 92, 60, (60, 40)
    steps = max(UPDATES)
    halted = [[n > updates for updates in UPDATES] for n in range(1, steps + 1)]
    marks = [
        ["se detiene" if n == updates else "sigue" for updates in UPDATES] for n in range(1, 5)
    ]
    words = [[{"se detiene": "■", "sigue": "▶"}[mark] for mark in row] for row in marks]
    box = fig.grid(left, top, steps, len(UPDATES), "output", cell=cell, hidden=halted, values=words)
    for i, column in enumerate(COLUMNS):
        fig.text(left + cell[0] * (i + 0.5), top - 14, column, size=fig.small)
    for n in range(1, steps + 1):
        y = top + cell[1] * (n - 0.5)
        fig.text(left - 10, y, f"paso {n}", anchor="end", size=fig.small)
    for i, updates in enumerate(UPDATES):
        x = left + cell[0] * (i + 0.5)
        fig.text(x, box.bottom + 16, f"$N$ = {updates}", size=fig.small)
    fig.text(box.cx, 18, "690948 + 26057 por columnas, las unidades delante", size=fig.small)
    for x, note in ((92, "▶ sigue"), (196, "■ se detiene"), (374, "rayado: ni se calcula")):
        fig.text(x, 264, note, size=fig.small)
    computed, dense = sum(UPDATES), steps * len(UPDATES)
    fig.text(240, 292, f"se calculan {computed} casillas de {dense}", size=fig.small)
    return fig


# Diez casillas con un camino largo; en cada una, lo que contesta el modelo guardado y sus pasos.
BOXES = ("→ 3", "5", "→ 0", "→ 7", "→ 1", "2", "→ 4", "→ 9", "→ 2", "8")
ANSWERS = (8, 5, 8, 8, 5, 2, 5, 8, 8, 8)
STEPS = (4, 2, 6, 3, 2, 1, 3, 2, 6, 1)


def act_treasure() -> Figure:
    fig = Figure(
        "act_treasure",
        title="Cuántos pasos da el modelo guardado en cada casilla",
        desc="Diez casillas con una cifra o con otra casilla a la que mandan. Las que tienen la "
        "cifra dan uno o dos pasos; la 7, que manda a una de ellas, dos; la 3, un paso más, y la "
        "8, que está a cinco saltos de su cifra, seis.",
        height=318,
    )
    for i, (said, answer, steps) in enumerate(zip(BOXES, ANSWERS, STEPS, strict=True)):
        x, y = 10 + 94 * (i % 5), 4 + 158 * (i // 5)
        fig.text(x + 40, y + 12, f"casilla {i}", size=fig.small)
        fig.op(x, y + 26, 80, 32, said, role="input", radius=6)
        fig.arrow((x + 40, y + 60), (x + 40, y + 76))
        fig.text(x + 40, y + 90, f"«{answer}»", bold=True)
        fig.hbar(x, y + 106, 80 * steps / 6, 14, "weight")
        fig.op(x, y + 106, 80, 14, "", radius=2)
        counted = "1 paso" if steps == 1 else f"{steps} pasos"
        fig.text(x + 40, y + 134, counted, size=fig.small)
    return fig


FIGURES = (universal_block, act_accumulation, act_active, act_treasure)
