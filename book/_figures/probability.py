"""Diagrama del repaso de probabilidad: la palabra siguiente, contada."""

from __future__ import annotations

from book._figures.kit import Figure, decimal

# Lo que sigue a «la» en las ocho oraciones de la página.
AFTER = {"cebolla": 6, "zanahoria": 3, "carne": 1}


def next_word() -> Figure:
    total = sum(AFTER.values())
    shares = {word: count / total for word, count in AFTER.items()}
    fig = Figure(
        "next_word",
        title="Qué palabra sigue a «la»",
        desc="Después de «Pica la» van "
        + ", ".join(f"«{word}», {decimal(share, 1)}" for word, share in shares.items())
        + ": cuántas veces siguió cada una a «la», entre diez.",
        height=186,
    )
    fig.text(16, 84, "Pica la", anchor="start", size=fig.math, bold=True)
    for i, (word, share) in enumerate(shares.items()):
        y = 22 + 46 * i
        fig.line((92, 84), (122, y + 15), width=0.8 + 8 * share, opacity=0.7)
        fig.text(220, y + 15, word, anchor="end")
        bar = fig.hbar(230, y, 270 * share, 30, "weight")
        fig.text(bar.right + 10, y + 15, decimal(share, 1), anchor="start", bold=True)
    counts = " · ".join(f"{count} de {total}" for count in AFTER.values())
    fig.text(240, 172, f"contadas: {counts}", size=fig.small)
    return fig


FIGURES = (next_word,)
