"""`check_table()`: la tabla de un experimento, revisada; lo que se concluye lo lee una persona."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from course_lib.judging import display
from course_lib.judging.running import told_failure

RELATIVE, ABSOLUTE = 0.01, 0.006
"""Lo que una casilla puede alejarse de su medida: basta para escribirla con dos decimales."""


def check_table(
    table: Any,
    measure: Callable[[Any, Any], float],
    rows: Sequence[Hashable],
    columns: Sequence[Any],
    *,
    prediction: Any = None,
    own_rows: int = 1,
) -> display.Told:
    """Revisa la tabla de un experimento: que esté completa y que sea lo que da la medida.

    La predicción no se juzga: se dice dónde se alejó más. Cada casilla se vuelve a medir; conviene
    que `measure` recuerde lo que ya midió (`functools.cache`).

    Argumentos:
        table: por fila, un número por columna.
        measure: con una fila y una columna, lo que va en su casilla; siempre lo mismo.
        rows, columns: lo que la tabla ha de tener.
        prediction: otra tabla, escrita antes, con las filas de `rows`; None, si no se pide.
        own_rows: cuántas filas más ha de tener, a elección.

    Ejemplo:
        >>> from course_lib import check_table
        >>> check_table({"doble": [2, 5]}, lambda row, x: 2 * x, ["doble"], [1, 2], own_rows=0)
        ❌ La tabla: todavía no
           La fila «doble», columna 2: pone 5, y al medirla con `<lambda>` sale otra cosa.
    """
    if prediction is not None:
        if _is_blank(prediction):
            told = "predice antes de medir: un número por casilla, a ojo. Acertar no vale puntos"
            return _told("pending", told)
        if fault := _shape_fault("prediction", prediction, rows, columns):
            return _told("wrong", f"en tu predicción, {fault}")
    if _is_blank(table):
        return _told("pending", "tu predicción está" if prediction else "falta llenarla")
    fault = _shape_fault("table", table, rows, columns)
    fault = fault or _value_fault(_read(table), measure, columns)
    if fault:
        return _told("wrong", fault)
    if len(table) < len(rows) + own_rows:
        lacking = "una fila tuya" if own_rows == 1 else f"{own_rows} filas tuyas"
        return _told("wrong", f"lo pedido está bien. Falta lo que eliges tú: añade {lacking}")
    told = f"{len(table)} filas y {len(columns)} columnas, y todas salen de `{_name(measure)}`"
    facts = [_furthest(_read(prediction), _read(table), rows, columns)] if prediction else []
    steps = ["Lo que sigue, la gráfica y tu conclusión, lo lee una persona"]
    return _told("correct", told, facts, steps)


def _told(
    state: str, message: str, facts: Sequence[str] = (), steps: Sequence[str] = ()
) -> display.Told:
    return display.Told(state, "La tabla", message=message, facts=facts, steps=steps)


def _is_blank(table: Any) -> bool:
    return table is None or table is ... or (isinstance(table, Mapping) and not table)


def _named(row: Any) -> str:
    return f"«{row}»" if isinstance(row, str) else str(row)


def _name(measure: Callable) -> str:
    return getattr(measure, "__name__", "la medida")


# Que esté completa


def _shape_fault(
    name: str, table: Any, rows: Sequence[Hashable], columns: Sequence[Any]
) -> str | None:
    if not isinstance(table, Mapping):
        first = f'"{rows[0]}"' if isinstance(rows[0], str) else rows[0]
        return f"`{name}` es un diccionario, y cada fila va así: `{name}[{first}] = [0.5, …]`"
    if lacking := [_named(row) for row in rows if row not in table]:
        which = "la fila" if len(lacking) == 1 else "las filas"
        return f"falta{'' if len(lacking) == 1 else 'n'} {which} {', '.join(lacking)}"
    for row, given in table.items():
        if fault := _row_fault(given, columns):
            return f"la fila {_named(row)} {fault}"
    return None


def _row_fault(given: Any, columns: Sequence[Any]) -> str | None:
    numbers = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(numbers, list | tuple):
        return "es una lista de números, uno por columna"
    if len(numbers) != len(columns):
        listed = ", ".join(map(_named, columns))
        one = "un valor" if len(numbers) == 1 else f"{len(numbers)} valores"
        return f"tiene {one}, y las columnas son {len(columns)}: {listed}"
    for column, number in zip(columns, numbers, strict=True):
        if _number(number) is None:
            return f"tiene en la columna {_named(column)} algo que no es un número: {number!r:.30}"
    return None


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, RuntimeError):  # el último, un tensor con varios números
        return None
    return number if math.isfinite(number) and not isinstance(value, str) else None


def _read(table: Mapping) -> dict[Hashable, list[float]]:
    return {row: [float(number) for number in numbers] for row, numbers in table.items()}


# Que sea lo que se mide


def _value_fault(
    table: dict[Hashable, list[float]], measure: Callable, columns: Sequence[Any]
) -> str | None:
    for row, numbers in table.items():
        try:
            right = [float(measure(row, column)) for column in columns]
        except Exception as error:
            failure = told_failure(error)
            told = f"`{_name(measure)}` se detuvo con {failure.kind}: {failure.message}"
            return f"la fila {_named(row)} no se puede volver a medir: {told}"
        if not _close(numbers, right):
            return (
                f"la fila {_named(row)}{_difference(row, numbers, right, table, measure, columns)}"
            )
    return None


def _difference(
    row: Hashable,
    numbers: list[float],
    right: list[float],
    table: dict[Hashable, list[float]],
    measure: Callable,
    columns: Sequence[Any],
) -> str:
    """Dice en qué se distingue una fila de lo medido; nunca lo que se midió."""
    if _close(sorted(numbers), sorted(right)):
        return " tiene sus números en otro orden: van en el de las columnas"
    if _close([number / 100 for number in numbers], right):
        return " está en porcentajes, y la medida va de 0 a 1"
    for other in table:
        if other != row and _close(numbers, [float(measure(other, c)) for c in columns]):
            return f" lleva lo que se mide con {_named(other)}"
    pairs = zip(columns, numbers, right, strict=True)
    column, number = next((c, n) for c, n, r in pairs if not _close([n], [r]))
    told = f"pone {number:g}, y al medirla con `{_name(measure)}` sale otra cosa"
    return f", columna {_named(column)}: {told}"


def _close(numbers: Sequence[float], right: Sequence[float]) -> bool:
    return all(
        math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        for a, b in zip(numbers, right, strict=True)
    )


def _furthest(
    prediction: dict[Hashable, list[float]],
    table: dict[Hashable, list[float]],
    rows: Sequence[Hashable],
    columns: Sequence[Any],
) -> str:
    """Dice en qué casilla se alejó más la predicción."""
    if all(_close(prediction[row], table[row]) for row in rows):
        return "tu predicción es la medida, casilla por casilla: se predice antes de medir"
    cells = [(row, i) for row in rows for i in range(len(columns))]
    row, i = max(
        cells, key=lambda cell: abs(prediction[cell[0]][cell[1]] - table[cell[0]][cell[1]])
    )
    said, seen = prediction[row][i], table[row][i]
    place = f"en la fila {_named(row)}, columna {_named(columns[i])}"
    return f"donde más te sorprendió fue {place}: predijiste {said:.2f} y se midió {seen:.2f}"
