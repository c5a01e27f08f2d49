"""Lo que es la respuesta de un ejercicio, y por eso no se puede usar: qué es y qué se dice.

Al calificar no está: lo quita la caja (`grading.sandbox`). En un cuaderno sí está, y `check` tiene
que decir lo mismo; por eso, mientras comprueba, mira a qué llama la respuesta.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from course_lib.judging.exercise import Exercise

HIDDEN = tuple(f"course_lib.{x}" for x in ("judging", "notebooks", "grading", "cli"))
"""Lo que juzga, que ninguna respuesta necesita."""


def answers_of(exercise: Exercise) -> tuple[str, ...]:
    """Da los nombres completos que son la respuesta: los que declara, y su propia referencia."""
    module = getattr(exercise.reference, "__module__", None) or ""
    name = getattr(exercise.reference, "__qualname__", "")
    from_library = module.startswith("course_lib.") and not module.startswith(HIDDEN)
    return tuple(sorted({*exercise.answers, *([f"{module}.{name}"] if from_library else [])}))


def answer_message(name: str) -> str:
    """Lo que se contesta a quien usa lo que el ejercicio pide escribir."""
    return f"«{name}» es la respuesta de este ejercicio, y al calificar no está: escribe la tuya"


def as_when_graded(exercise: Exercise, student: Any) -> Any:
    """Da la respuesta del estudiante sin lo que la contesta por ella: usarlo la detiene.

    Una clase, o lo que no se puede llamar, se queda como está.
    """
    answers = answers_of(exercise)
    if not answers or not callable(student) or isinstance(student, type):
        return student

    @functools.wraps(student)
    def watched(*args: Any, **kwargs: Any) -> Any:
        before = sys.getprofile()
        sys.setprofile(_refuse(answers))
        try:
            return student(*args, **kwargs)
        finally:
            sys.setprofile(before)

    return watched


def _refuse(answers: tuple[str, ...]) -> Callable[[FrameType, str, Any], None]:
    """Da quien mira cada llamada, y detiene la de una respuesta.

    Una operación de torch se conoce por su nombre, que es el mismo desde cualquier módulo.
    """
    names = {name.rpartition(".")[2] for name in answers}
    operations = {n.rpartition(".")[2] for n in answers if not n.startswith("course_lib.")}

    def look(frame: FrameType, event: str, called: Any) -> None:
        if event == "call":
            name = frame.f_code.co_qualname.partition(".")[0]
            is_answer = name in names and f"{frame.f_globals.get('__name__')}.{name}" in answers
        elif event == "c_call":
            name = called.__name__
            is_answer = name in operations and (called.__module__ or "").startswith("torch")
        else:
            return
        if is_answer:
            raise ImportError(answer_message(name))

    return look
