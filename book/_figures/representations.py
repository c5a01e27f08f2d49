"""Diagramas del capítulo de las representaciones: dónde se leen los vectores y cómo se sondean."""

from __future__ import annotations

from book._figures.kit import Figure


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


FIGURES = (reading_layers,)
