"""Lo que solo ve quien califica: el código de una respuesta y el caso en que falla.

Se guarda con el resultado y nunca llega a las páginas de los estudiantes. Son textos: lo que
contestó una entrega ya cruzó como datos simples, y aquí solo se escribe.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.judging.case import input_names, shown
from course_lib.judging.exercise import Exercise
from course_lib.judging.plain_data import tensors_in
from course_lib.judging.running import Outcome, draw_cases, run_cases, run_gradients
from course_lib.judging.verdict import Verdict

MOST_CODE = 8000
_LONGEST = 1500
_LONGEST_LIST = 4 * _LONGEST
_MOST_NUMBERS = 2000
_NOTHING = 1e-6


@dataclass(frozen=True)
class Evidence:
    """Una respuesta, con lo que pasó en el primer caso en que falla.

    Argumentos:
        code: la celda que la define.
        inputs: las entradas del caso, una por párrafo.
        expected: lo que da la referencia.
        obtained: lo que dio la respuesta, o con qué se detuvo.
        mark: la misma en dos respuestas largas con el mismo código (`provenance.answer_marks`).
        behaviour: la misma en dos respuestas equivocadas que dan lo mismo, si no son de un error
            frecuente.
    """

    code: str = ""
    inputs: str = ""
    expected: str = ""
    obtained: str = ""
    mark: str = ""
    behaviour: str = ""


def failing_case(exercise: Exercise, student: Any, verdict: Verdict, seed: int) -> Evidence:
    """Da el caso que decidió un veredicto.

    Debe llamarse dentro del mismo `remembering` en que se juzgó: así no se ejecuta nada otra vez, y
    se muestra lo que de verdad contestó.
    """
    if verdict.case_index is None:
        return Evidence()
    case = draw_cases(exercise, seed)[verdict.case_index]
    run = run_gradients if verdict.property == "gradient" else run_cases
    with torch.inference_mode(False), torch.enable_grad():
        (wanted,), (got,) = (run(exercise, who, [case]) for who in (exercise.reference, student))
    with _readable_tensors():
        named = zip(input_names(exercise, exercise.reference, case), case, strict=True)
        inputs = "\n\n".join(f"{name} = {_shown(value)}" for name, value in named)
        return Evidence("", inputs, _told(wanted), _told(got, wanted))


def behaviour(exercise: Exercise, student: Any, verdict: Verdict, seed: int) -> str:
    """Resume qué hace una respuesta, con tres cifras, para saber quién hace lo mismo.

    Argumentos:
        exercise: el ejercicio.
        student: la respuesta.
        verdict: lo que obtuvo.
        seed: la de la clase: para comparar a dos hacen falta las mismas entradas. La nota no
            depende de ellas.
    """
    run = run_gradients if verdict.property == "gradient" else run_cases
    with torch.inference_mode(False), torch.enable_grad():
        outcomes = run(exercise, student, draw_cases(exercise, seed))
    told = [
        o.failure.kind if o.failure else (_rounded(o.value), o.inputs_changed) for o in outcomes
    ]
    return hashlib.sha256(repr(told).encode("utf-8", "replace")).hexdigest()[:16]


def _rounded(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        numbers = value.flatten()[:_MOST_NUMBERS].tolist()
        return str(value.dtype), tuple(value.shape), [_rounded(number) for number in numbers]
    if isinstance(value, dict):
        return sorted((repr(key), _rounded(each)) for key, each in value.items())
    if isinstance(value, (list, tuple)):
        return [_rounded(each) for each in value]
    if isinstance(value, float):
        return f"{0.0 if abs(value) < _NOTHING else value:.2e}"
    return repr(value)


def _told(outcome: Outcome, wanted: Outcome | None = None) -> str:
    """Lo que pasó; de un tensor de la forma pedida, también cuánto se aleja del pedido."""
    if outcome.failure is not None:
        failure = outcome.failure
        where = f"\n{failure.line}" if failure.line else ""
        return f"se detuvo con {failure.kind}: {failure.message}{where}"
    return _shown(outcome.value) + (_distance(outcome.value, wanted.value) if wanted else "")


def _distance(value: Any, wanted: Any) -> str:
    found, targets = list(tensors_in(value)), list(tensors_in(wanted))
    if len(found) != len(targets) or any(
        a.shape != b.shape or not a.numel() for a, b in zip(found, targets, strict=True)
    ):
        return ""
    pairs = zip(found, targets, strict=True)
    apart = [(a.double() - b.double()).abs() for a, b in pairs]
    most = max((each.nan_to_num(0.0, posinf=torch.inf).max().item() for each in apart), default=0.0)
    return f"\n\nmayor diferencia con lo esperado: {most:.3g}" if most else ""


def _shown(value: Any) -> str:
    if type(value) in (list, tuple) and any(isinstance(each, torch.Tensor) for each in value):
        return "[" + ",\n ".join(_first_shown(value)) + "]"
    return shown(value, _LONGEST)


def _first_shown(values: Iterable[Any]) -> Iterator[str]:
    """Los valores de una lista, hasta que no quepan más."""
    left = _LONGEST_LIST
    for value in values:
        if left <= 0:
            yield "…"
            return
        text = _shown(value)
        left -= len(text)
        yield text


@contextmanager
def _readable_tensors() -> Iterator[None]:
    """Seis decimales: con cuatro, dos resultados distintos pueden verse iguales.

    Y renglones que caben en media página: lo que se esperaba va al lado de lo que dio.
    """
    torch.set_printoptions(precision=6, linewidth=58)
    try:
        yield
    finally:
        torch.set_printoptions(profile="default")
