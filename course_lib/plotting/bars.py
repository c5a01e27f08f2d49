"""Barras, sueltas o apiladas."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from course_lib.plotting._axes import array, check_count, legend, name_axes
from course_lib.plotting.theme import (
    COLORS,
    FONT_SIZE,
    HATCHES,
    INK,
    LINES,
    STRIPES,
    ThemedFigure,
    themed,
)


@themed
def plot_bars(
    values: Any,
    labels: Sequence[str],
    *,
    alt: str,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    role: str = "weights",
    horizontal: bool | None = None,
    fmt: str = "{:.2f}",
) -> ThemedFigure:
    """Barras con su cifra escrita; con un diccionario, un grupo de barras por rótulo.

    Argumentos:
        values: [n], o `{serie: [n]}` para comparar series (cada una con su color y su trama).
        labels: n rótulos.
        alt: descripción de la figura.
        xlabel, ylabel: nombres de los ejes tal como se ven.
        title: título, si hace falta.
        role: clave de `COLORS` que da el color cuando hay una sola serie.
        horizontal: barras acostadas; por defecto, si los rótulos son largos.
        fmt: formato de la cifra; "" no la escribe.

    Errores:
        ValueError: si no hay un rótulo por valor o `role` no existe.
    """
    series = values if isinstance(values, Mapping) else {"": values}
    if role not in COLORS:
        raise ValueError(f"Se esperaba `role` entre {sorted(COLORS)} y llegó {role!r}.")
    if horizontal is None:
        horizontal = max(map(len, labels), default=0) * len(labels) > 40
    extent = len(labels) * max(1.0, 0.75 * len(series))
    fig = ThemedFigure(alt=alt, height=max(1.8, 0.9 + 0.36 * extent) if horizontal else 3.0)
    ax = fig.add_subplot()
    for i, (name, heights) in enumerate(series.items()):
        heights = array(heights)
        check_count(labels, heights.size, "rótulos", "valores")
        color = role if len(series) == 1 else LINES[i % len(LINES)][0]
        _draw_bars(ax, heights.ravel(), i, len(series), name, color, horizontal, fmt)
    _name_bars(ax, labels, horizontal)
    ax.margins(**{"x" if horizontal else "y": 0.14})
    name_axes(ax, xlabel, ylabel, title)
    if len(series) > 1:
        legend(fig, ax)
    return fig


@themed
def plot_stacked(
    values: Mapping[str, Any],
    labels: Sequence[str],
    *,
    alt: str,
    xlabel: str,
    ylabel: str | None = None,
    roles: Sequence[str] | None = None,
) -> ThemedFigure:
    """Barras acostadas y partidas: por rótulo, lo que aporta cada serie, una tras otra.

    Argumentos:
        values: `{serie: [n]}`, en el orden en que se apilan.
        labels: n rótulos.
        alt: descripción de la figura.
        xlabel, ylabel: nombres de los ejes.
        roles: por serie, la clave de `COLORS` que le da color y trama.

    Errores:
        ValueError: si no hay un rótulo por valor, o un rol conocido por serie.
    """
    roles = [line[0] for line in LINES[: len(values)]] if roles is None else roles
    check_count(roles, len(values), "roles", "series")
    if unknown := set(roles) - set(COLORS):
        raise ValueError(f"Se esperaban roles entre {sorted(COLORS)} y llegó {sorted(unknown)}.")
    fig = ThemedFigure(alt=alt, height=max(1.8, 0.9 + 0.36 * len(labels)))
    ax = fig.add_subplot()
    left = np.zeros(len(labels))
    for (name, widths), role in zip(values.items(), roles, strict=True):
        widths = array(widths)
        check_count(labels, widths.size, "rótulos", "valores")
        style = {"color": COLORS[role], "hatch": STRIPES[role], "label": name}
        ax.barh(range(len(labels)), widths, 0.8, left, edgecolor=INK, linewidth=0.6, **style)
        left = left + widths
    _name_bars(ax, labels, horizontal=True)
    name_axes(ax, xlabel, ylabel, None)
    legend(fig, ax)
    return fig


def _draw_bars(
    ax: Axes,
    heights: np.ndarray,
    i: int,
    total: int,
    name: str,
    role: str,
    horizontal: bool,
    fmt: str,
) -> None:
    width = 0.8 / total
    positions = np.arange(heights.size) + (i - (total - 1) / 2) * width
    # La trama va en tinta del tema para que se vea sobre cualquier color de serie.
    style = {
        "color": COLORS[role],
        "hatch": HATCHES[i % len(HATCHES)],
        "edgecolor": INK,
        "linewidth": 0.6,
        "label": name,
    }
    bars = (ax.barh if horizontal else ax.bar)(positions, heights, width, **style)
    if fmt:
        texts = [fmt.format(h) for h in heights]
        ax.bar_label(bars, texts, padding=2, fontsize=FONT_SIZE - 0.5)


def _name_bars(ax: Axes, labels: Sequence[str], horizontal: bool) -> None:
    if horizontal:
        ax.set_yticks(range(len(labels)), labels)
        ax.invert_yaxis()
    else:
        ax.set_xticks(range(len(labels)), labels)
