"""Puntos por partes: qué se gana con una respuesta que no está bien del todo.

Una parte exige siempre los valores, en todos sus casos y con entradas nuevas: ni un tensor de la
forma pedida, ni una constante, ni una respuesta sin escribir ganan nada. Como cada parte pide que
se cumplan unas propiedades, y ninguna pide que otra falle, mejorar una respuesta no quita puntos.
"""

from __future__ import annotations

from typing import Any

from course_lib.judging.exercise import CREDITED, Exercise, Part
from course_lib.judging.plain_data import Comparison
from course_lib.judging.running import Outcome

_NOTHING = object()


def earned_parts(
    exercise: Exercise,
    cases: list[tuple],
    outcomes: list[Outcome],
    expected: list[Outcome],
    gradients: list[tuple[Outcome, Outcome]] | None = None,
) -> list[Part]:
    """Da las partes que se ganan.

    Argumentos:
        exercise: el ejercicio.
        cases: las entradas de cada caso.
        outcomes: lo que dio el estudiante en cada uno.
        expected: lo que dio la referencia.
        gradients: por caso, el gradiente del estudiante y el de la referencia; None si no hay.
    """
    return [
        part
        for part in exercise.partial
        if all(
            _holds(exercise, part, outcomes[i], expected[i], gradients and gradients[i])
            for i in part.cases_in(cases)
        )
    ]


def _holds(
    exercise: Exercise,
    part: Part,
    outcome: Outcome,
    target: Outcome,
    gradient: tuple[Outcome, Outcome] | None,
) -> bool:
    required = CREDITED[: CREDITED.index(part.property) + 1]
    comparison = Comparison(exercise.tolerance, exercise.is_question, "dtype" not in required)
    actual, wanted = (_item(x.value, part.item) for x in (outcome, target))
    if outcome.failure is not None or actual is _NOTHING or not comparison.same(actual, wanted):
        return False
    if "inputs" in required and outcome.inputs_changed and not exercise.inputs_may_change:
        return False
    return "gradient" not in required or _same_gradient(exercise, gradient)


def _item(value: Any, item: int | str | None) -> Any:
    """Da la parte que se mira de un resultado, ya convertido a datos simples.

    Un resultado que va con el nombre de su caso, `{nombre: resultado}`, se mira por dentro.
    """
    if item is None:
        return value
    if isinstance(item, int) and isinstance(value, dict) and len(value) == 1:
        (value,) = value.values()
    if isinstance(item, str):
        return value.get(item, _NOTHING) if isinstance(value, dict) else _NOTHING
    return value[item] if isinstance(value, list) and item < len(value) else _NOTHING


def _same_gradient(exercise: Exercise, pair: tuple[Outcome, Outcome] | None) -> bool:
    if pair is None or pair[0].failure is not None:
        return False
    return Comparison(exercise.tolerance).same(pair[0].value, pair[1].value)
