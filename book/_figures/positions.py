"""Diagramas del capítulo de posiciones: relojes que giran y una suma de dos matrices."""

from __future__ import annotations

import numpy as np

from book._figures.kit import Figure, decimal

WORDS = ("Pela", "la", "zanahoria")
EMBEDDINGS = np.array([[0.9, -0.4, 0.2, 0.7], [-0.3, 0.1, 0.8, -0.6], [0.5, 0.6, -0.9, 0.1]])
PERIODS = (8, 32, 128)  # posiciones por vuelta: potencias para que los ángulos se lean a ojo


def encoding(length: int, d_model: int, base: float = 10_000.0) -> np.ndarray:
    """Senos y cosenos alternados, como en la biblioteca."""
    angles = np.arange(length)[:, None] / base ** (np.arange(0, d_model, 2) / d_model)
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(length, d_model)


def position_clocks() -> Figure:
    fig = Figure(
        "position_clocks",
        title="Cada par de coordenadas es un reloj que gira a su ritmo",
        desc="Tres relojes por posición, de la 0 a la 5. El primero avanza un octavo de vuelta por "
        "posición; el segundo, cuatro veces más despacio; el tercero, dieciséis veces. Las tres "
        "agujas juntas dicen la posición.",
        height=376,
    )
    radius, first, step = 25, 122, 65
    for p in range(6):
        fig.text(first + step * p, 44, f"${p}$")
    fig.text(first + 2.5 * step, 18, "posición", size=fig.small)
    names = ("rápido", "medio", "lento")
    for row, (period, name) in enumerate(zip(PERIODS, names, strict=True)):
        cy = 94 + 92 * row
        fig.text(8, cy, f"par {row + 1}\n{name}", anchor="start", size=fig.small)
        for p in range(6):
            cx, angle = first + step * p, 2 * np.pi * p / period
            fig.disc(cx, cy, "", radius)
            # Como en un reloj: la aguja sale hacia arriba y gira hacia la derecha.
            tip = (cx + (radius - 3) * np.sin(angle), cy - (radius - 3) * np.cos(angle))
            fig.arrow((cx, cy), tip, width=1.8)
    turns = ", ".join(f"{period}" for period in PERIODS[:-1])
    fig.text(
        8,
        346,
        f"Una vuelta cada {turns} y {PERIODS[-1]} posiciones.\nEl seno y el coseno son "
        "las coordenadas de la punta.",
        anchor="start",
        size=fig.small,
    )
    return fig


def position_sum() -> Figure:
    positions = encoding(3, 4)
    fig = Figure(
        "position_sum",
        title="La entrada del modelo: incrustaciones más posiciones",
        desc="La matriz de incrustaciones de «Pela la zanahoria», de tres tokens por cuatro "
        "coordenadas, se suma celda a celda con las filas 0, 1 y 2 de la codificación posicional; "
        "el resultado, con la misma forma, es la entrada de la primera capa.",
        height=452,
    )
    cell = (68, 28)
    rows = (
        (40, EMBEDDINGS, WORDS, "input", "lo que es\ncada token"),
        (186, positions, ("0", "1", "2"), None, "dónde está"),
        (332, EMBEDDINGS + positions, WORDS, "input", "la entrada"),
    )
    for top, values, words, role, meaning in rows:
        axes = ("t", "d_{'model'}") if top == 40 else ("t", "")
        box = fig.tokens(96, top, words, 4, role, axes=axes, values=values, cell=cell)
        fig.text(box.right + 28, box.cy, meaning, anchor="start", size=fig.small)
    fig.disc(232, 155, "+", 13)
    fig.text(232, 301, "=", size=26)
    note = f"la fila 1 es sen 1 = {decimal(positions[1, 0])}, cos 1 = {decimal(positions[1, 1])}, …"
    fig.text(8, 440, note, anchor="start", size=fig.small)
    return fig


FIGURES = (position_clocks, position_sum)
