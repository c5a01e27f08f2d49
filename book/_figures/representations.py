"""Diagramas del capítulo de las representaciones: dónde se leen los vectores y cómo se sondean."""

from __future__ import annotations

from book._figures.kit import Figure

# Un esquema: la misma fila de la tabla en los dos usos, y dos vectores después del codificador.
LINES = ("papel de cocina\n(un lugar)", "y cocina 5 minutos\n(una orden)")
TABLE_ROW = (0.9, 0.2, 0.6, 0.4)
AFTER = ((0.2, 0.9, 0.3, 0.8), (0.9, 0.1, 0.8, 0.3))


def two_senses() -> Figure:
    """Con lo que empieza el capítulo: un vector en la tabla, dos después del contexto."""
    fig = Figure(
        "two_senses",
        title="Una palabra, un vector en la tabla y otro en cada renglón",
        desc="Dos renglones con la palabra cocina: «papel de cocina» y «y cocina 5 minutos». El "
        "vector de cocina en la tabla es el mismo en los dos. Después del codificador, que mira "
        "las palabras de al lado, los dos vectores son distintos.",
        height=226,
    )
    cell, left, right = (29, 32), 162, 356
    fig.text(left + 58, 18, "en la tabla", bold=True)
    fig.text(right + 58, 18, "con contexto", bold=True)
    rows = []
    for y, words, after in zip((40, 146), LINES, AFTER, strict=True):
        fig.text(6, y + 16, words, anchor="start", size=fig.small)
        before = fig.grid(left, y, 1, 4, "input", cell=cell, shade=[TABLE_ROW])
        told = fig.grid(right, y, 1, 4, "output", cell=cell, shade=[after])
        fig.arrow(before.e, told.w_)
        rows.append((before, told))
    (before, told), (before_below, told_below) = rows
    for above, below, sign in ((before, before_below, "="), (told, told_below, "≠")):
        fig.text(above.cx, (above.bottom + below.y) / 2, sign, size=30)
    fig.text(317, 109, "codificador", size=fig.small)
    return fig


def reading_layers() -> Figure:
    fig = Figure(
        "reading_layers",
        title="De dónde se toman los vectores",
        desc="Una oración entra por la tabla de incrustaciones, que suma la posición, y pasa por "
        "dos bloques del codificador. Tras la tabla y tras cada bloque se toma el vector de cada "
        "palabra: son las capas 0, 1 y 2. Cada una tiene su propia sonda, un clasificador lineal "
        "que intenta leer en el vector una propiedad como el plural.",
        height=470,
    )
    left = 128
    fig.text(left, 18, "«Lava los tomates»", bold=True)
    table = fig.block(left, 44, "Incrustación\n+ posición", "embedding", w=164, h=52)
    first = fig.block(left, 188, "Codificador 1", "attention", w=164, h=48)
    second = fig.block(left, 328, "Codificador 2", "attention", w=164, h=48)
    fig.arrow((left, 30), table.n)
    previous = table
    for i, (block, y) in enumerate(((first, 118), (second, 258), (None, 398))):
        cells = fig.grid(left - 66, y, 1, 3, "output", cell=(44, 34))
        fig.arrow(previous.s, (left, cells.y))
        if block is not None:
            fig.arrow((left, cells.bottom), block.n)
            previous = block
        fig.text(left - 74, cells.cy, f"capa {i}", size=fig.small, anchor="end")
        probe = fig.block(318, y - 4, "Sonda", "linear", w=92, h=42)
        fig.arrow((cells.right, cells.cy), probe.w_, dashed=True)
        fig.arrow(probe.e, (386, probe.cy))
        fig.text(392, probe.cy, "¿plural?", size=fig.small, anchor="start")
    return fig


FIGURES = (two_senses, reading_layers)
