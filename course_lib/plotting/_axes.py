"""Lo que comparten las gráficas: números, nombres de ejes, leyenda y comprobaciones."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

from course_lib.plotting.theme import ThemedFigure


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


def plain_numbers(axis: Axis) -> None:
    """Numera un eje logarítmico en el que ya está dibujado todo.

    Escribe 1000 y no 10³: el exponente sería ilegible en un teléfono. Donde caben pocas potencias
    de diez, escribe también números de en medio.
    """
    low, high = axis.get_view_interval()
    axis.set_minor_formatter(NullFormatter())
    if high < 5 * low:  # como en un eje corriente
        axis.set_major_locator(MaxNLocator(4))
        axis.set_major_formatter(Thousands())
        return
    between = (1, 2, 5) if high < 20 * low else (1, 3) if high < 100 * low else (1,)
    room = 5 if axis.axis_name == "x" else 7
    axis.set_major_locator(LogLocator(subs=between, numticks=room))
    axis.set_major_formatter(lambda x, _: f"{x:g}" if abs(x) < 10_000 else format_number(x))


class Thousands(ScalarFormatter):
    """Los números que pone `matplotlib`, con un espacio fino entre los millares."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        text = super().__call__(x, pos)
        digits = text.lstrip("−-")
        return text.replace(digits, format_number(int(digits))) if digits.isdigit() else text


def name_axes(ax: Axes, xlabel: str | None, ylabel: str | None, title: str | None) -> None:
    if xlabel:
        ax.set_xlabel(xlabel)
    if ylabel:
        ax.set_ylabel(ylabel)
    if title:
        ax.set_title(title)


def legend(fig: ThemedFigure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    columns = 1 if max(map(len, labels)) > 20 else 2
    extra = 0.24 * math.ceil(len(labels) / columns)
    fig.set_size_inches(fig.get_figwidth(), fig.get_figheight() + extra)
    fig.legend(handles, labels, loc="outside lower center", ncols=columns)


def array(values: Any) -> np.ndarray:
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = (
            values.float() if values.dtype.itemsize < 4 and values.is_floating_point() else values
        )
    return np.asarray(values)


def check_count(labels: Sequence[str], count: int, what: str, of: str) -> None:
    if len(labels) != count:
        raise ValueError(
            f"Se esperaban {count} {what}, tantos como {of}, y llegaron {len(labels)}."
        )


def matrix(values: Any, name: str, shape: str) -> np.ndarray:
    M = array(values).astype(float)
    if M.ndim != 2 or 0 in M.shape:
        raise ValueError(
            f"Se esperaba {name} con forma {shape} y llegó {list(M.shape)}: "
            f"elige antes un ejemplo y una cabeza, como en {name}[0, 0]."
        )
    return M
