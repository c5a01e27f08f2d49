"""Curvas, y las de un entrenamiento."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from course_lib.plotting._axes import Thousands, array, legend, name_axes, plain_numbers
from course_lib.plotting.theme import COLORS, LINES, ThemedFigure, themed

_HISTORY_NAMES = {
    "loss": "pérdida",
    "grad_norm": "norma del gradiente",
    "learning_rate": "tasa de aprendizaje",
}


@themed
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
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(Thousands())
    if logx:
        ax.set_xscale("log")
    if logy:
        ax.set_yscale("log")
    ax.grid(True, color=COLORS["hidden"], alpha=0.25, linewidth=0.6)
    for i, (label, curve) in enumerate(curves.items()):
        _draw_curve(ax, label, curve, *LINES[i % len(LINES)])
    for axis in [axis for axis, log in ((ax.xaxis, logx), (ax.yaxis, logy)) if log]:
        plain_numbers(axis)
    if not logx and all(float(value).is_integer() for x, *_ in curves.values() for value in x):
        ax.xaxis.get_major_locator().set_params(integer=True)  # pasos, capas o bloques
    name_axes(ax, xlabel, ylabel, title)
    if len(curves) > 1:
        legend(fig, ax)
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


def _history_curve(history: Any, name: str) -> tuple[Any, Any]:
    """Los pasos y los valores de lo que se pide; la pérdida va suavizada."""
    if name in _HISTORY_NAMES:
        values = array(history.smoothed() if name == "loss" else getattr(history, name))
        return np.arange(1, values.size + 1), values
    if name not in history.metrics:
        known = [*_HISTORY_NAMES, *history.metrics]
        raise ValueError(f"show: se esperaba uno de {known} y llegó {name!r}.")
    return tuple(zip(*history.metrics[name], strict=True))


def _draw_curve(
    ax: Axes, label: str, curve: Sequence[Any], role: str, marker: str, dash: Any
) -> None:
    x, y, *error = (array(part).ravel() for part in curve)
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
