"""Mapas de calor: pesos de atención, cabezas y matrices."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import PathPatch
from matplotlib.path import Path as MplPath

from course_lib.plotting._axes import array, check_count, matrix, name_axes
from course_lib.plotting.theme import COLORS, WIDTH, ThemedFigure, themed

_MAX_PRINTED = 8
_MAX_CELL = 0.8
_MAX_LABELS = 24
_MAX_VECTOR_CELLS = 1024
_LETTER = 0.1  # ancho aproximado de una letra, en pulgadas


@themed
def plot_attention(
    A: Any,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    alt: str,
    title: str | None = None,
    mask: Any = None,
) -> ThemedFigure:
    """Mapa de calor de los pesos de atención, una fila por consulta y una columna por clave.

    Argumentos:
        A: [t_q, t_k], pesos de atención, entre 0 y 1.
        queries, keys: rótulos de filas y columnas; sin ellos, se numeran desde 1.
        alt: descripción de la figura.
        title: título, si hace falta.
        mask: booleana, expandible a [t_q, t_k], True = visible; lo oculto va gris y rayado.

    Errores:
        ValueError: si A no es una matriz, o los rótulos no son tantos como sus filas o columnas.

    Fuente: capítulo «Atención», eq-attention.
    """
    A = matrix(A, "A", "[t_q, t_k]")
    fig = ThemedFigure(alt=alt, height=_heat_map_height(A.shape, title, queries, keys))
    ax = fig.add_subplot()
    image = _draw_cells(ax, A, Normalize(0.0, 1.0), "cividis", _visible(mask, A.shape))
    _label_cells(ax, A.shape, queries, keys, "consultas", "claves")
    _finish_heat_map(fig, ax, image, A.shape, "peso", title)
    return fig


@themed
def plot_heads(
    A: Any,
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    alt: str,
    titles: Sequence[str] | None = None,
    mask: Any = None,
) -> ThemedFigure:
    """Un mapa de calor pequeño por cabeza, todos con la misma escala de 0 a 1.

    Argumentos:
        A: [heads, t_q, t_k], pesos de atención.
        queries, keys: rótulos comunes a todas las cabezas.
        alt: descripción de la figura.
        titles: un título por cabeza; sin ellos, «Cabeza 1», «Cabeza 2», …
        mask: booleana, expandible a [t_q, t_k], True = visible.

    Errores:
        ValueError: si A no tiene tres ejes o los rótulos no coinciden con ellos.

    Fuente: capítulo «Almacén clave-valor», eq-heads.
    """
    A = array(A)
    if A.ndim != 3:
        raise ValueError(
            f"Se esperaba A con forma [heads, t_q, t_k] y llegó {list(A.shape)}: "
            "si tienes un lote, elige un ejemplo con A[0]."
        )
    names = list(titles) if titles is not None else [f"Cabeza {i + 1}" for i in range(len(A))]
    check_count(names, len(A), "títulos", "cabezas")
    columns = min(len(A), 3 if A.shape[2] <= 4 or A.shape[2] > _MAX_PRINTED else 2)
    rows = math.ceil(len(A) / columns)
    # Los rótulos se escriben una sola vez, a la izquierda y abajo.
    side = (WIDTH - 0.4 - _LETTER * max(map(len, queries or [""]))) / columns
    labels = 0.3 + (_LETTER * max(map(len, keys)) if _rotated(keys) else 0.2)
    height = rows * (min(side * A.shape[1] / A.shape[2], 3.0) + 0.35) + labels
    fig = ThemedFigure(alt=alt, height=height)
    for i, name in enumerate(names):
        ax = fig.add_subplot(rows, columns, i + 1)
        visible = _visible(mask, A.shape[1:])
        _draw_cells(ax, A[i], Normalize(0.0, 1.0), "cividis", visible, printed=False)
        _label_cells(ax, A.shape[1:], queries, keys, None, None)
        if i % columns:
            ax.set_yticklabels([])
        if i + columns < len(names):
            ax.set_xticklabels([])
        ax.set_title(name)
    return fig


@themed
def plot_matrix(
    M: Any,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    *,
    alt: str,
    xlabel: str,
    ylabel: str,
    diverging: bool = False,
    title: str | None = None,
    mask: Any = None,
) -> ThemedFigure:
    """Mapa de calor de una matriz cualquiera: puntuaciones, parámetros, codificación posicional.

    Argumentos:
        M: [filas, columnas].
        rows, columns: rótulos, si los hay.
        alt: descripción de la figura.
        xlabel, ylabel: qué recorre cada eje.
        diverging: escala de dos colores con el cero en el centro, para valores con signo.
        title: título, si hace falta.
        mask: booleana, expandible a la forma de M, True = visible.

    Errores:
        ValueError: si M no es una matriz o los rótulos no coinciden con sus ejes.
    """
    M = matrix(M, "M", "[filas, columnas]")
    visible = _visible(mask, M.shape)
    shown = M[visible & np.isfinite(M)]
    low, high = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 1.0)
    if diverging:
        high = max(abs(low), abs(high), 1e-12)
        low = -high
    fig = ThemedFigure(alt=alt, height=_heat_map_height(M.shape, title, rows, columns))
    ax = fig.add_subplot()
    cmap = "PuOr" if diverging else "cividis"
    image = _draw_cells(ax, M, Normalize(low, high), cmap, visible)
    _label_cells(ax, M.shape, rows, columns, ylabel, xlabel)
    _finish_heat_map(fig, ax, image, M.shape, None, title)
    return fig


def _draw_cells(
    ax: Axes,
    M: np.ndarray,
    norm: Normalize,
    cmap: str,
    visible: np.ndarray,
    printed: bool = True,
) -> Any:
    """Dibuja las celdas: vectoriales si son pocas, como imagen sin suavizar si son muchas."""
    shown = np.ma.array(M, mask=~visible)
    if M.size <= _MAX_VECTOR_CELLS:
        image = ax.pcolormesh(shown, norm=norm, cmap=cmap, edgecolors="face", linewidth=0.3)
        ax.invert_yaxis()
    else:
        extent = (0, M.shape[1], M.shape[0], 0)
        image = ax.imshow(shown, norm=norm, cmap=cmap, interpolation="none", extent=extent)
    ax.set_aspect("equal" if M.shape[0] <= 2 * M.shape[1] <= 8 * M.shape[0] else "auto")
    _hatch_hidden(ax, visible)
    if printed and max(M.shape) <= _MAX_PRINTED:
        _print_values(ax, M, image, visible)
    return image


def _hatch_hidden(ax: Axes, visible: np.ndarray) -> None:
    """Marca lo oculto con una sola pieza: gris translúcido debajo y rayas encima."""
    runs = []
    for row, columns in enumerate(visible):
        edges = np.flatnonzero(np.diff(np.concatenate([[True], columns, [True]]).astype(int)))
        for start, stop in edges.reshape(-1, 2):
            corners = [(start, row), (stop, row), (stop, row + 1), (start, row + 1), (start, row)]
            runs.append(MplPath(corners, closed=True))
    if not runs:
        return
    path, grey = MplPath.make_compound_path(*runs), COLORS["hidden"]
    ax.add_patch(PathPatch(path, facecolor=grey, alpha=0.25, linewidth=0))
    ax.add_patch(PathPatch(path, facecolor="none", edgecolor=grey, hatch="////", linewidth=0))


def _print_values(ax: Axes, M: np.ndarray, image: Any, visible: np.ndarray) -> None:
    narrow = M.shape[1] > 5
    shown = M[visible]
    counts = bool((np.abs(shown) > 1).any() and (shown == np.round(shown)).all())
    for row, column in np.argwhere(visible):
        value = M[row, column]
        dark = _luminance(image.cmap(image.norm(value))) < 0.179
        text = f"{value:.0f}" if counts else f"{value:.2f}"
        if narrow and abs(value) < 0.995:
            text = text.replace("0.", ".", 1)
        text = text.replace("-", "−")  # el signo menos, como en los ejes
        # Con #000000 Matplotlib no escribe el color, y lo pondría la página.
        color = "#FFFFFF" if dark else "#000001"
        ax.text(column + 0.5, row + 0.5, text, color=color, ha="center", va="center")


def _luminance(color: Sequence[float]) -> float:
    """Luminancia relativa (WCAG 2); en 0.179 el blanco y el negro contrastan igual."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color[:3]]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def _label_cells(
    ax: Axes,
    shape: tuple[int, ...],
    rows: Sequence[str] | None,
    columns: Sequence[str] | None,
    ylabel: str | None,
    xlabel: str | None,
) -> None:
    for spine in ax.spines.values():
        spine.set_visible(False)
    ax.tick_params(length=0)
    _set_ticks(ax.set_yticks, rows, shape[0], "filas")
    _set_ticks(ax.set_xticks, columns, shape[1], "columnas")
    if _rotated(columns):
        crowded = shape[1] > 12
        ax.tick_params(axis="x", rotation=90 if crowded else 45)
        for label in ax.get_xticklabels():
            label.set(ha="right", va="center" if crowded else "top", rotation_mode="anchor")
    name_axes(ax, xlabel, ylabel, None)


def _set_ticks(set_ticks: Any, labels: Sequence[str] | None, count: int, axis: str) -> None:
    if labels is not None:
        check_count(labels, count, "rótulos", axis)
    step = 1 if count <= _MAX_PRINTED else 2
    if labels is not None or count > _MAX_LABELS:
        step = math.ceil(count / (_MAX_LABELS if labels is not None else 8))
    shown = range(0, count, step)
    texts = [labels[i] if labels is not None else str(i + 1) for i in shown]
    set_ticks([i + 0.5 for i in shown], texts)


def _finish_heat_map(
    fig: ThemedFigure,
    ax: Axes,
    image: Any,
    shape: tuple[int, ...],
    label: str | None,
    title: str | None,
) -> None:
    if title:
        ax.set_title(title)
    if max(shape) <= _MAX_PRINTED:
        return
    beside = ax.inset_axes((1.03, 0.0, 0.045, 1.0))  # tan alta como el mapa, que guarda proporción
    bar = fig.colorbar(image, cax=beside)
    bar.outline.set_visible(False)
    if label:
        bar.set_label(label)


def _heat_map_height(
    shape: tuple[int, ...],
    title: str | None,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> float:
    """Alto con el que las celdas salen casi cuadradas y los rótulos no se pisan."""
    left = 0.6 + _LETTER * max(map(len, rows or [""]))
    below = 0.6 + (_LETTER * max(map(len, columns)) if _rotated(columns) else 0.2)
    bar = 0.9 if max(shape) > _MAX_PRINTED else 0.0
    cell = min((WIDTH - left - bar) / shape[1], _MAX_CELL)
    if rows is not None:
        cell = max(cell, 0.22)
    return min(max(0.6, shape[0] * cell), 4.8) + below + (0.3 if title else 0.0)


def _rotated(columns: Sequence[str] | None) -> bool:
    return columns is not None and max(map(len, columns)) * len(columns) > 34


def _visible(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    if mask is None:
        return np.ones(shape, dtype=bool)
    mask = array(mask)
    if mask.dtype != bool:
        raise ValueError(
            f"Se esperaba una máscara booleana (True = visible) y llegó de tipo {mask.dtype}: "
            "conviértela con mask.bool()."
        )
    try:
        return np.broadcast_to(mask, shape)
    except ValueError as error:
        raise ValueError(
            f"Se esperaba una máscara expandible a {list(shape)} y llegó {list(mask.shape)}."
        ) from error
