"""Vectores como celdas, y como puntos del plano."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from course_lib.plotting._axes import array, check_count, legend, matrix, name_axes
from course_lib.plotting.theme import COLORS, FONT_SIZE, INK, LINES, ThemedFigure, themed


@themed
def plot_vectors(
    vectors: Mapping[str, tuple[Any, str]],
    *,
    alt: str,
    title: str | None = None,
    hull: Sequence[str] = (),
) -> ThemedFigure:
    """Vectores del plano como flechas desde el origen.

    Argumentos:
        vectors: `{rótulo: ([2], rol)}`; el rol es una clave de `COLORS`.
        alt: descripción de la figura.
        title: título, si hace falta.
        hull: rótulos cuyas puntas se unen, en ese orden, en un polígono sombreado (por ejemplo,
            los valores: toda salida de la atención suave cae dentro de su envolvente convexa).

    Errores:
        ValueError: si un vector no tiene dos componentes o el rol no existe.
    """
    fig = ThemedFigure(alt=alt, height=3.9)
    ax = fig.add_subplot()
    ax.set_aspect("equal", adjustable="datalim")
    ax.grid(True, color=COLORS["hidden"], alpha=0.25, linewidth=0.6)
    if hull:
        corners = np.stack([array(vectors[name][0]) for name in hull])
        ax.fill(*corners.T, color=COLORS["hidden"], alpha=0.18, linewidth=0)
    for label, (vector, role) in vectors.items():
        _draw_vector(ax, label, array(vector), role)
    ax.plot(0, 0, "o", color=INK, markersize=3)
    ax.margins(0.2)
    name_axes(ax, None, None, title)
    return fig


@themed
def plot_points(
    groups: Mapping[str, Any],
    *,
    alt: str,
    names: Mapping[str, Sequence[str]] | None = None,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
) -> ThemedFigure:
    """Puntos del plano por grupos, cada grupo con su color y su marca.

    Argumentos:
        groups: `{grupo: [n, 2]}`.
        alt: descripción de la figura.
        names: `{grupo: n rótulos}`, para escribir junto a sus puntos; "" no escribe nada.
        xlabel, ylabel, title: nombres de los ejes y título, si hacen falta.

    Errores:
        ValueError: si los puntos de un grupo no tienen dos coordenadas, hay más grupos que marcas
        o los rótulos no son tantos como los puntos.
    """
    if len(groups) > len(LINES):
        raise ValueError(
            f"Se esperaban a lo sumo {len(LINES)} grupos, uno por marca, y llegaron {len(groups)}."
        )
    fig = ThemedFigure(alt=alt, height=4.2)
    ax = fig.add_subplot()
    ax.grid(True, color=COLORS["hidden"], alpha=0.25, linewidth=0.6)
    for (label, points), (role, marker, _) in zip(groups.items(), LINES, strict=False):
        points = matrix(points, label, "[n, 2]")
        if points.shape[1] != 2:
            raise ValueError(f"Se esperaba {label!r} con forma [n, 2] y llegó {points.shape}.")
        ax.plot(*points.T, linestyle="none", marker=marker, color=COLORS[role], label=label)
        texts = (names or {}).get(label, [""] * len(points))
        check_count(texts, len(points), "rótulos", "puntos")
        for point, text in zip(points, texts, strict=True):
            ax.annotate(text, point, (5, 3), textcoords="offset points", fontsize=FONT_SIZE - 0.5)
    ax.margins(0.12)
    name_axes(ax, xlabel, ylabel, title)
    if len(groups) > 1:
        legend(fig, ax)
    return fig


def _draw_vector(ax: Axes, label: str, vector: np.ndarray, role: str) -> None:
    if vector.shape != (2,) or role not in COLORS:
        raise ValueError(
            f"Se esperaba para {label!r} un vector de forma [2] y un rol entre {sorted(COLORS)}; "
            f"llegó forma {list(vector.shape)} y rol {role!r}."
        )
    arrow = {"arrowstyle": "-|>", "color": COLORS[role], "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", xy=tuple(vector), xytext=(0, 0), arrowprops=arrow)
    # Las anotaciones no ensanchan los ejes; un punto invisible, sí.
    ax.plot(*vector, alpha=0)
    away = np.sign(vector) * 9
    ax.annotate(
        label, tuple(vector), tuple(away), textcoords="offset points", ha="center", va="center"
    )
