"""Gráficas del libro: reciben tensores y devuelven figuras que siguen el tema claro u oscuro.

Cada función devuelve una `ThemedFigure`. En un cuaderno se muestra como un solo SVG en la página:
el texto y las líneas usan `currentColor` y la tipografía de la página, el fondo es transparente,
el ancho se adapta a la pantalla y `alt` describe la imagen a quien no la ve. No interviene
`pyplot`: no hay estado global, y las mismas cifras dan siempre los mismos bytes.
"""

import functools
import hashlib
import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path as MplPath
from matplotlib.ticker import NullFormatter

COLORS = {
    "query": "#0072B2",
    "key": "#D55E00",
    "value": "#009E73",
    "weights": "#CC79A7",
    "input": "#56B4E9",
    "output": "#E69F00",
    "hidden": "#8C8C8C",
}

# Casi negro: quien guarde la figura como PNG la ve bien; en el SVG se vuelve `currentColor`.
_INK = "#010203"
_HATCHES = ("", "///", "...", "xxx", "---", "ooo")
# Solo rayas: en un SVG, una trama de puntos ocupa cien veces más.
_STRIPES = {
    "value": "",
    "input": "///",
    "key": "\\\\\\",
    "output": "xxx",
    "weights": "---",
    "hidden": "|||",
    "query": "+++",
}
_LINES = (
    ("query", "o", "-"),
    ("key", "s", "--"),
    ("value", "^", "-."),
    ("weights", "D", ":"),
    ("output", "v", (0, (6, 1.5))),
    ("input", "P", (0, (4, 1.5, 1, 1.5, 1, 1.5))),
    ("hidden", "X", (0, (1, 2.5))),
)
# 4.8 pulgadas son 346 unidades: en un teléfono (unos 330 px) la letra de 12 no baja de 11 px.
_WIDTH = 4.8
_FONT_SIZE = 12
_SCREEN_SCALE = 1.35
_MAX_PRINTED = 8
_MAX_CELL = 0.8
_LETTER = 0.1  # ancho aproximado de una letra, en pulgadas
_MAX_LABELS = 24
_MAX_VECTOR_CELLS = 1024

_STYLE = {
    "axes.edgecolor": _INK,
    "axes.facecolor": "none",
    "axes.labelcolor": _INK,
    "axes.labelsize": _FONT_SIZE,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlecolor": _INK,
    "axes.titlesize": _FONT_SIZE + 1,
    "figure.facecolor": "none",
    "font.size": _FONT_SIZE,
    "hatch.linewidth": 0.8,
    "legend.fontsize": _FONT_SIZE - 0.5,
    "legend.frameon": False,
    "legend.handlelength": 3.0,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "path.simplify": True,
    "text.color": _INK,
    "xtick.color": _INK,
    "xtick.labelsize": _FONT_SIZE - 0.5,
    "ytick.color": _INK,
    "ytick.labelsize": _FONT_SIZE - 0.5,
}


class ThemedFigure(Figure):
    """Figura de Matplotlib que en una página se muestra como SVG con los colores del tema.

    Argumentos:
        alt: qué se ve, en una o dos frases; es obligatorio (lo leen los lectores de pantalla).
        height: alto en pulgadas; el ancho es fijo para que la letra no se encoja en un teléfono.

    Errores:
        ValueError: si `alt` está vacío.
    """

    def __init__(self, *, alt: str, height: float = 3.0) -> None:
        if not alt.strip():
            raise ValueError(
                "Se esperaba un texto alternativo que describa la figura, y `alt` llegó vacío: "
                "escribe en una o dos frases qué se ve."
            )
        with mpl.rc_context(_STYLE):
            super().__init__(figsize=(_WIDTH, height), dpi=72, layout="constrained")
        self.alt = alt.strip()

    def __repr__(self) -> str:
        return f"ThemedFigure({self.alt!r})"

    def _repr_html_(self) -> str:
        return self.to_svg()

    def to_svg(self) -> str:
        """Devuelve la figura como un elemento `<svg>` listo para ir dentro de una página."""
        buffer = io.StringIO()
        with mpl.rc_context({**_STYLE, "svg.fonttype": "none", "svg.hashsalt": "course_lib"}):
            self._freeze_layout()
            self.savefig(buffer, format="svg", transparent=True)
        return _inline_svg(buffer.getvalue(), self.alt)

    def _freeze_layout(self) -> None:
        """Fija la disposición: si se recalculara en cada dibujo, los bytes cambiarían."""
        if self.get_layout_engine() is not None:
            self.draw_without_rendering()
            self.draw_without_rendering()
            self.set_layout_engine("none")


def _themed(function: Any) -> Any:
    """Dibuja con el estilo del libro sin tocar el de quien llama."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> ThemedFigure:
        with mpl.rc_context(_STYLE):
            return function(*args, **kwargs)

    return wrapper


@_themed
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
    A = _matrix(A, "A", "[t_q, t_k]")
    fig = ThemedFigure(alt=alt, height=_heat_map_height(A.shape, title, queries, keys))
    ax = fig.add_subplot()
    image = _draw_cells(ax, A, Normalize(0.0, 1.0), "cividis", _visible(mask, A.shape))
    _label_cells(ax, A.shape, queries, keys, "consultas", "claves")
    _finish_heat_map(fig, ax, image, A.shape, "peso", title)
    return fig


@_themed
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
    A = _array(A)
    if A.ndim != 3:
        raise ValueError(
            f"Se esperaba A con forma [heads, t_q, t_k] y llegó {list(A.shape)}: "
            "si tienes un lote, elige un ejemplo con A[0]."
        )
    names = list(titles) if titles is not None else [f"Cabeza {i + 1}" for i in range(len(A))]
    _check_count(names, len(A), "títulos", "cabezas")
    columns = min(len(A), 3 if A.shape[2] <= 4 or A.shape[2] > _MAX_PRINTED else 2)
    rows = math.ceil(len(A) / columns)
    # Los rótulos se escriben una sola vez, a la izquierda y abajo.
    side = (_WIDTH - 0.4 - _LETTER * max(map(len, queries or [""]))) / columns
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


@_themed
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
    M = _matrix(M, "M", "[filas, columnas]")
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


@_themed
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
        heights = _array(heights)
        _check_count(labels, heights.size, "rótulos", "valores")
        color = role if len(series) == 1 else _LINES[i % len(_LINES)][0]
        _draw_bars(ax, heights.ravel(), i, len(series), name, color, horizontal, fmt)
    _name_bars(ax, labels, horizontal)
    ax.margins(**{"x" if horizontal else "y": 0.14})
    _name_axes(ax, xlabel, ylabel, title)
    if len(series) > 1:
        _legend(fig, ax)
    return fig


@_themed
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
    roles = [line[0] for line in _LINES[: len(values)]] if roles is None else roles
    _check_count(roles, len(values), "roles", "series")
    if unknown := set(roles) - set(COLORS):
        raise ValueError(f"Se esperaban roles entre {sorted(COLORS)} y llegó {sorted(unknown)}.")
    fig = ThemedFigure(alt=alt, height=max(1.8, 0.9 + 0.36 * len(labels)))
    ax = fig.add_subplot()
    left = np.zeros(len(labels))
    for (name, widths), role in zip(values.items(), roles, strict=True):
        widths = _array(widths)
        _check_count(labels, widths.size, "rótulos", "valores")
        style = {"color": COLORS[role], "hatch": _STRIPES[role], "label": name}
        ax.barh(range(len(labels)), widths, 0.8, left, edgecolor=_INK, linewidth=0.6, **style)
        left = left + widths
    _name_bars(ax, labels, horizontal=True)
    _name_axes(ax, xlabel, ylabel, None)
    _legend(fig, ax)
    return fig


@_themed
def plot_curves(
    curves: Mapping[str, Sequence[Any]],
    *,
    alt: str,
    xlabel: str,
    ylabel: str,
    title: str | None = None,
    logx: bool = False,
    logy: bool = False,
) -> ThemedFigure:
    """Curvas en un mismo plano, cada una con su color, su marca y su trazo.

    Argumentos:
        curves: `{rótulo: (x, y)}`, o `(x, y, error)` para añadir una banda y ± error.
        alt: descripción de la figura.
        xlabel, ylabel: nombres de los ejes.
        title: título, si hace falta.
        logx, logy: ejes logarítmicos.

    Errores:
        ValueError: si x e y no tienen la misma longitud.
    """
    fig = ThemedFigure(alt=alt, height=3.1)
    ax = fig.add_subplot()
    if logx:
        ax.set_xscale("log")
        _plain_numbers(ax.xaxis)
    if logy:
        ax.set_yscale("log")
        _plain_numbers(ax.yaxis)
    ax.grid(True, color=COLORS["hidden"], alpha=0.25, linewidth=0.6)
    for i, (label, curve) in enumerate(curves.items()):
        _draw_curve(ax, label, curve, *_LINES[i % len(_LINES)])
    if not logx and all(float(value).is_integer() for x, *_ in curves.values() for value in x):
        ax.xaxis.get_major_locator().set_params(integer=True)  # pasos, capas o bloques
    _name_axes(ax, xlabel, ylabel, title)
    if len(curves) > 1:
        _legend(fig, ax)
    return fig


def plot_history(
    histories: Mapping[str, Any],
    *,
    alt: str,
    show: str | Sequence[str] = "loss",
    title: str | None = None,
    ylabel: str | None = None,
    logy: bool = False,
) -> ThemedFigure:
    """Lo que pasó en uno o varios entrenamientos, paso a paso: por omisión, la pérdida suavizada.

    Argumentos:
        histories: `{rótulo: History}`; la da `course_lib.training.loop.train`.
        alt: descripción de la figura.
        show: qué dibujar: "loss", "grad_norm", "learning_rate" o un nombre de `History.metrics`;
            o varios, que comparten los ejes.
        title, ylabel, logy: como en `plot_curves`; sin ylabel, el nombre de lo primero que se ve.

    Errores:
        ValueError: si una historia no tiene lo que se pide.
    """
    names = [show] if isinstance(show, str) else list(show)
    curves = {}
    for label, history in histories.items():
        for name in names:
            whole = f"{label} · {_HISTORY_NAMES.get(name, name)}" if len(names) > 1 else label
            curves[whole] = _history_curve(history, name)
    ylabel = ylabel or _HISTORY_NAMES.get(names[0], names[0])
    return plot_curves(curves, alt=alt, xlabel="paso", ylabel=ylabel, title=title, logy=logy)


_HISTORY_NAMES = {
    "loss": "pérdida",
    "grad_norm": "norma del gradiente",
    "learning_rate": "tasa de aprendizaje",
}


def _history_curve(history: Any, name: str) -> tuple[Any, Any]:
    """Los pasos y los valores de lo que se pide; la pérdida va suavizada."""
    if name in _HISTORY_NAMES:
        values = _array(history.smoothed() if name == "loss" else getattr(history, name))
        return np.arange(1, values.size + 1), values
    if name not in history.metrics:
        known = [*_HISTORY_NAMES, *history.metrics]
        raise ValueError(f"show: se esperaba uno de {known} y llegó {name!r}.")
    return tuple(zip(*history.metrics[name], strict=True))


@_themed
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
        corners = np.stack([_array(vectors[name][0]) for name in hull])
        ax.fill(*corners.T, color=COLORS["hidden"], alpha=0.18, linewidth=0)
    for label, (vector, role) in vectors.items():
        _draw_vector(ax, label, _array(vector), role)
    ax.plot(0, 0, "o", color=_INK, markersize=3)
    ax.margins(0.2)
    _name_axes(ax, None, None, title)
    return fig


@_themed
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
    if len(groups) > len(_LINES):
        raise ValueError(
            f"Se esperaban a lo sumo {len(_LINES)} grupos, uno por marca, y llegaron {len(groups)}."
        )
    fig = ThemedFigure(alt=alt, height=4.2)
    ax = fig.add_subplot()
    ax.grid(True, color=COLORS["hidden"], alpha=0.25, linewidth=0.6)
    for (label, points), (role, marker, _) in zip(groups.items(), _LINES, strict=False):
        points = _matrix(points, label, "[n, 2]")
        if points.shape[1] != 2:
            raise ValueError(f"Se esperaba {label!r} con forma [n, 2] y llegó {points.shape}.")
        ax.plot(*points.T, linestyle="none", marker=marker, color=COLORS[role], label=label)
        texts = (names or {}).get(label, [""] * len(points))
        _check_count(texts, len(points), "rótulos", "puntos")
        for point, text in zip(points, texts, strict=True):
            ax.annotate(text, point, (5, 3), textcoords="offset points", fontsize=_FONT_SIZE - 0.5)
    ax.margins(0.12)
    _name_axes(ax, xlabel, ylabel, title)
    if len(groups) > 1:
        _legend(fig, ax)
    return fig


def format_number(value: int | float, decimals: int = 0) -> str:
    """Escribe un número como el curso: punto decimal y, entre millares, un espacio fino.

    Los de cuatro cifras no se separan: 2048, 12 345, 1.5. El espacio (U+202F) no parte el renglón.

    Argumentos:
        value: un número.
        decimals: cuántos decimales se escriben.

    Errores:
        ValueError: si `decimals` es negativo.

    Fuente: Real Academia Española (2010), *Ortografía de la lengua española*, cap. VIII.
    """
    if decimals < 0:
        raise ValueError(f"Se esperaba `decimals` de 0 o más y llegó {decimals}.")
    text = f"{value:.{decimals}f}"
    whole = text.lstrip("-").split(".")[0]
    return text if len(whole) < 5 else f"{value:,.{decimals}f}".replace(",", "\u202f")


def _plain_numbers(axis: Axis) -> None:
    """Escribe 1000 y no 10³: el exponente sería ilegible en un teléfono."""
    axis.set_major_formatter(lambda x, _: f"{x:g}" if abs(x) < 10_000 else format_number(x))
    axis.set_minor_formatter(NullFormatter())


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


def _draw_curve(
    ax: Axes, label: str, curve: Sequence[Any], role: str, marker: str, dash: Any
) -> None:
    x, y, *error = (_array(part).ravel() for part in curve)
    if x.shape != y.shape:
        raise ValueError(
            f"Se esperaba en la curva {label!r} un valor y por cada x, y llegaron {x.size} de x "
            f"y {y.size} de y."
        )
    every = max(1, math.ceil(x.size / 12))
    color = COLORS[role]
    ax.plot(x, y, label=label, color=color, marker=marker, linestyle=dash, markevery=every)
    if error:
        ax.fill_between(x, y - error[0], y + error[0], color=color, alpha=0.18, linewidth=0)


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
        "hatch": _HATCHES[i % len(_HATCHES)],
        "edgecolor": _INK,
        "linewidth": 0.6,
        "label": name,
    }
    bars = (ax.barh if horizontal else ax.bar)(positions, heights, width, **style)
    if fmt:
        texts = [fmt.format(h) for h in heights]
        ax.bar_label(bars, texts, padding=2, fontsize=_FONT_SIZE - 0.5)


def _name_bars(ax: Axes, labels: Sequence[str], horizontal: bool) -> None:
    if horizontal:
        ax.set_yticks(range(len(labels)), labels)
        ax.invert_yaxis()
    else:
        ax.set_xticks(range(len(labels)), labels)


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
    _name_axes(ax, xlabel, ylabel, None)


def _set_ticks(set_ticks: Any, labels: Sequence[str] | None, count: int, axis: str) -> None:
    if labels is not None:
        _check_count(labels, count, "rótulos", axis)
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
    bar = fig.colorbar(image, ax=ax, shrink=0.85, pad=0.02)
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
    cell = min((_WIDTH - left - bar) / shape[1], _MAX_CELL)
    if rows is not None:
        cell = max(cell, 0.22)
    return min(max(0.6, shape[0] * cell), 4.8) + below + (0.3 if title else 0.0)


def _rotated(columns: Sequence[str] | None) -> bool:
    return columns is not None and max(map(len, columns)) * len(columns) > 34


def _name_axes(ax: Axes, xlabel: str | None, ylabel: str | None, title: str | None) -> None:
    if xlabel:
        ax.set_xlabel(xlabel)
    if ylabel:
        ax.set_ylabel(ylabel)
    if title:
        ax.set_title(title)


def _legend(fig: ThemedFigure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    columns = 1 if max(map(len, labels)) > 20 else 2
    extra = 0.24 * math.ceil(len(labels) / columns)
    fig.set_size_inches(fig.get_figwidth(), fig.get_figheight() + extra)
    fig.legend(handles, labels, loc="outside lower center", ncols=columns)


def _array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (
            values.float() if values.dtype.itemsize < 4 and values.is_floating_point() else values
        )
    return np.asarray(values)


def _matrix(values: Any, name: str, shape: str) -> np.ndarray:
    M = _array(values).astype(float)
    if M.ndim != 2 or 0 in M.shape:
        raise ValueError(
            f"Se esperaba {name} con forma {shape} y llegó {list(M.shape)}: "
            f"elige antes un ejemplo y una cabeza, como en {name}[0, 0]."
        )
    return M


def _visible(mask: Any, shape: tuple[int, ...]) -> np.ndarray:
    if mask is None:
        return np.ones(shape, dtype=bool)
    mask = _array(mask)
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


def _check_count(labels: Sequence[str], count: int, what: str, of: str) -> None:
    if len(labels) != count:
        raise ValueError(
            f"Se esperaban {count} {what}, tantos como {of}, y llegaron {len(labels)}."
        )


_FONT = re.compile(r"font: ((?:(?:italic|oblique|bold|\d+) )*)([\d.]+)px [^;\"]+")


def _font_style(match: re.Match[str]) -> str:
    """Conserva tamaño, peso e inclinación; la familia es la de la página."""
    words = match[1].split()
    parts = [f"font-size: {match[2]}px", "font-family: inherit"]
    parts += [f"font-style: {w}" for w in words if w in ("italic", "oblique")]
    parts += [f"font-weight: {w}" for w in words if w == "bold" or w.isdigit()]
    return "; ".join(parts)


def _inline_svg(svg: str, alt: str) -> str:
    """Convierte el documento SVG de Matplotlib en un elemento que hereda el tema de la página."""
    svg = svg[svg.index("<svg") :]
    # Ahí va la fecha: sin ella, los mismos datos dan los mismos bytes.
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = _FONT.sub(_font_style, svg)
    svg = re.sub(r"font-family: [^;\"]+", "font-family: inherit", svg)
    svg = svg.replace(_INK, "currentColor")
    prefix = "fig-" + hashlib.sha256((alt + svg).encode()).hexdigest()[:10] + "-"
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width = round(float(box[1]) * _SCREEN_SCALE)
    text = html.escape(alt)
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="course-plot" viewBox="0 0 {box[1]} {box[2]}" role="img" aria-label="{text}" '
        f'style="width: {width}px; max-width: 100%; height: auto; font-family: inherit; '
        f'background: transparent">\n <title>{text}</title>'
    )
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1).strip()
