"""`mine()`: la respuesta del estudiante, si está bien, para juntarla con las demás."""

from __future__ import annotations

import sys
from typing import Any

from course_lib.judging import display
from course_lib.judging.check import find_exercise, judge_now
from course_lib.judging.running import run_cases


def mine(name: str) -> Any:
    """Da tu respuesta a un ejercicio; mientras no pase su comprobación, la del curso, y lo dice.

    Así lo que junta varios ejercicios funciona desde el primero, y «Ejecutar todo» no se detiene en
    uno que falta. La del curso no sirve de respuesta: mientras se comprueba, no contesta.

    Argumentos:
        name: `tema.nombre` del ejercicio.

    Devuelve:
        Tu función, la que hay en el cuaderno con el nombre que el ejercicio pide; o la del curso.

    Errores:
        ValueError: no hay ejercicio con ese nombre.
    """
    exercise = find_exercise(name)
    answer = getattr(sys.modules["__main__"], exercise.asked_name, None)
    if answer is not None and judge_now(name, answer).status == "correct":
        return answer
    print(f"{display.MARKS['pending']} {display.unmarked(exercise.title)}: por ahora, la del curso")
    return _lent(exercise.reference)


def _lent(reference: Any) -> Any:
    def lent(*arguments: Any, **named: Any) -> Any:
        if _is_checking():
            raise NotImplementedError("esta es la del curso; falta la tuya")
        return reference(*arguments, **named)

    return lent


def _is_checking() -> bool:
    frame = sys._getframe()
    while frame is not None and frame.f_code is not run_cases.__code__:
        frame = frame.f_back
    return frame is not None
