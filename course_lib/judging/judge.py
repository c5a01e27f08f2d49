"""Juzga lo que devolvió un estudiante: qué falla primero, qué error frecuente es, qué puntos gana.

No necesita su objeto, sino lo que `running` guardó de él en cada caso. Lo que se esperaba se
calcula aquí, con la referencia del ejercicio, y no sale de aquí.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from course_lib.judging.credit import earned_parts
from course_lib.judging.display import enumerated
from course_lib.judging.exercise import Exercise, Misconception, Pair
from course_lib.judging.plain_data import PROPERTIES, Comparison, Fault, is_plain, tensors_in
from course_lib.judging.running import Failure, Outcome, draw_cases, run_cases, run_gradients
from course_lib.judging.verdict import Verdict

Runner = Callable[[Exercise, Any, list[tuple]], list[Outcome]]


def judge(
    exercise: Exercise,
    cases: list[tuple],
    outcomes: list[Outcome],
    gradients: list[Outcome] | None = None,
) -> Verdict:
    """Juzga lo que devolvió el estudiante en cada caso; no necesita su objeto.

    La primera propiedad que falla decide: se ejecuta, tipo, forma, dtype, valores finitos, valores,
    entradas intactas, gradiente. Si además el resultado es el de un error frecuente, el mensaje
    es su pista. Los puntos de una respuesta que no está bien son los de sus partes (`credit`).
    Está pendiente la que en todos los casos llega a algo sin escribir; si solo llega en algunos,
    el mensaje dice en cuáles, y cómo va lo demás.

    Argumentos:
        exercise: el ejercicio.
        cases: las entradas de cada caso.
        outcomes: lo que dio `run_cases` con el objeto del estudiante.
        gradients: lo que dio `run_gradients`, si el ejercicio compara gradientes.
    """
    if all(_is_unwritten(o) for o in outcomes):
        return pending(exercise)
    expected = _reference_outcomes(exercise, cases, run_cases)
    verdict = _judge_whole(exercise, cases, outcomes, expected, gradients)
    if verdict.status == "correct" or not exercise.partial:
        return verdict
    pairs = None
    if gradients is not None and any(part.property == "gradient" for part in exercise.partial):
        targets = _reference_outcomes(exercise, cases, run_gradients)
        pairs = list(zip(gradients, targets, strict=True))
    parts = earned_parts(exercise, cases, outcomes, expected, pairs)
    labels = " y ".join(part.label for part in parts)
    points = min(sum(part.points for part in parts), exercise.points - 1)
    return replace(verdict, points=points, earned=labels)


def needs_gradients(exercise: Exercise, cases: list[tuple], outcomes: list[Outcome]) -> bool:
    """Dice si el veredicto depende del gradiente: los valores están bien, o una parte lo mira."""
    if not exercise.gradient or any(outcome.failure is not None for outcome in outcomes):
        return False
    if any(part.property == "gradient" for part in exercise.partial):
        return True
    expected = _reference_outcomes(exercise, cases, run_cases)
    return _first_fault(exercise, cases, outcomes, expected) is None


def _judge_whole(
    exercise: Exercise,
    cases: list[tuple],
    outcomes: list[Outcome],
    expected: list[Outcome],
    gradients: list[Outcome] | None,
) -> Verdict:
    """Juzga la respuesta entera: todos los puntos o ninguno."""
    fault = _first_fault(exercise, cases, outcomes, expected)
    if fault is not None and any(map(_is_unwritten, outcomes)):
        return _failed(exercise, fault)
    if fault is not None:
        return _failed(exercise, fault, _match(exercise, cases, outcomes, expected, run_cases))
    if not exercise.inputs_may_change and any(o.inputs_changed for o in outcomes):
        changed = next(i for i, outcome in enumerate(outcomes) if outcome.inputs_changed)
        fault = replace(_INPUTS_FAULT, case=changed)
        return _failed(exercise, fault, _match_inputs(exercise, cases, expected))
    if exercise.gradient:
        return _judge_gradients(exercise, cases, gradients or [], expected)
    return _passed(exercise)


_INPUTS_FAULT = Fault(
    "inputs",
    "modificas la entrada: el resultado es correcto, pero quien llama encuentra cambiados sus "
    "datos. Trabaja sobre una copia, o usa la operación que no escribe en el mismo lugar",
)


def _judge_gradients(
    exercise: Exercise, cases: list[tuple], gradients: list[Outcome], values: list[Outcome]
) -> Verdict:
    expected = _reference_outcomes(exercise, cases, run_gradients)
    if _all_same(exercise, gradients, expected):
        return _passed(exercise)
    faithful = [
        m
        for m in exercise.misconceptions
        if _all_same(exercise, run_cases(exercise, m.implementation, cases), values)
    ]
    match = _match(exercise, cases, gradients, expected, run_gradients, faithful)
    text = f"los valores son correctos, pero {_gradient_text(gradients)}"
    pairs = enumerate(zip(gradients, expected, strict=True))
    first = next(index for index, (a, b) in pairs if not _same(exercise, a, b, None))
    return _failed(exercise, Fault("gradient", text, case=first), match)


def _gradient_text(gradients: list[Outcome]) -> str:
    failures = [outcome.failure for outcome in gradients if outcome.failure is not None]
    if failures:
        return f"al calcular el gradiente {_stopped(failures[0])}"
    if any(outcome.value is None for outcome in gradients):
        return (
            "el gradiente no llega a las entradas: ¿usas .detach() o .item(), o construyes un "
            "tensor nuevo con los valores?"
        )
    return "el gradiente respecto de las entradas no lo es"


def pending(exercise: Exercise) -> Verdict:
    """Da el veredicto de lo que no se ha escrito."""
    return Verdict(exercise.name, "pending", 0, exercise.points)


def _passed(exercise: Exercise) -> Verdict:
    return Verdict(exercise.name, "correct", exercise.points, exercise.points)


def _failed(exercise: Exercise, fault: Fault, match: Misconception | None = None) -> Verdict:
    status = "error" if fault.property == "runs" and match is None else "wrong"
    message, names = fault.text, ()
    if match is not None:
        message, names = match.hint, (match.name,)
    seen = {"hinted": match is not None, "property": fault.property, "inputs": fault.inputs}
    seen["case_index"] = fault.case
    return Verdict(exercise.name, status, 0, exercise.points, message, names, **seen)


def _reference_outcomes(exercise: Exercise, cases: list[tuple], run: Runner) -> list[Outcome]:
    """Ejecuta la referencia; si falla, el error es de quien escribió el ejercicio."""
    outcomes = run(exercise, exercise.reference, cases)
    for outcome in outcomes:
        if outcome.failure is not None or outcome.value is None or not is_plain(outcome.value):
            reason = (
                outcome.failure or "no da un dato simple, o su gradiente no llega a las entradas"
            )
            raise RuntimeError(
                f"{exercise.name}: la referencia del ejercicio falla ({reason}). El problema es "
                f"del curso, no de tu código."
            )
    return outcomes


def _first_fault(
    exercise: Exercise, cases: list[tuple], outcomes: list[Outcome], expected: list[Outcome]
) -> Fault | None:
    """Da la falla de la primera propiedad que no se cumple, en el primer caso en que ocurre."""
    tried = list(enumerate(zip(cases, outcomes, expected, strict=True)))
    written = [each for each in tried if not _is_unwritten(each[1][1])]
    stops = len(written) == len(tried) and all(o.failure is not None for o in outcomes)
    fault = _fault_in(exercise, written, everywhere=stops)
    if len(written) == len(tried) or (fault is not None and fault.property == "runs"):
        return fault
    index, (case, outcome, target) = next(each for each in tried if _is_unwritten(each[1][1]))
    unwritten = _unwritten_fault(_which_inputs(case, target.value), outcome.failure, fault)
    return replace(unwritten, case=index)


def _is_unwritten(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.pending


def _fault_in(
    exercise: Exercise, tried: list[tuple[int, tuple[tuple, Outcome, Outcome]]], *, everywhere: bool
) -> Fault | None:
    """Da la primera falla de unos casos; `everywhere`, si el código se detiene en todos."""
    faults = []
    for index, (case, outcome, target) in tried:
        told = _which_inputs(case, target.value)
        if outcome.failure is not None:
            where = f"{told}, " if told and not everywhere else ""
            return Fault("runs", where + _stopped(outcome.failure), told, case=index)
        pair = _without_case_name(outcome.value, target.value)
        for fault in _comparison(exercise).faults(*pair):
            parts = [fault.text, _shape_in_letters(exercise, fault), told]
            text = ", ".join(part for part in parts if part)
            faults.append(Fault(fault.property, text + fault.advice, told, case=index))
    return min(faults, key=lambda fault: PROPERTIES.index(fault.property), default=None)


_LETTERS = re.compile(r"\[[^\[\]]+\]|la forma de \w+")


def _shape_in_letters(exercise: Exercise, fault: Fault) -> str:
    """Da la forma pedida, en las letras con que acaba el primer renglón de su documentación."""
    if not callable(exercise.reference) or not fault.text.startswith("la forma es"):
        return ""  # o es la de una parte del resultado
    title = (exercise.reference.__doc__ or "").strip().partition("\n")[0]
    return f"es decir, {shapes[-1]}" if (shapes := _LETTERS.findall(title)) else ""


def _unwritten_fault(told: str, failure: Failure, other: Fault | None) -> Fault:
    """Dice con qué entradas se llega a una parte sin escribir, y qué pasa con las otras."""
    if other is not None:
        rest = f"{other.text} Además," if other.text.endswith("?") else f"{other.text}; además,"
    else:
        rest = f"con {'otras' if told else 'unas'} entradas el resultado es el pedido, pero"
    return Fault("runs", f"{rest} {told or 'con otras'}, {_stopped(failure)}", told)


_MOST_SHAPES = 5


def _which_inputs(case: tuple, expected: Any = None) -> str:
    """Dice con qué entradas ocurre: opciones, nombre del caso y formas, nunca los valores."""
    tensors = [x for x in case if isinstance(x, torch.Tensor)] or tensors_in(case)
    shapes = [str(tuple(x.shape)) for x in tensors]
    if len(shapes) > _MOST_SHAPES:  # las primeras son los datos; las demás, parámetros
        shapes = [*shapes[: _MOST_SHAPES - 1], "otras"]
    options = [f"«{x}»" for x in case if isinstance(x, str) and x.isidentifier()]
    name = _case_name(expected)
    parts = [*options, *([f"«{name}»"] if name else [])]
    if shapes:
        parts.append(f"entradas de forma {enumerated(shapes)}")
    return f"con {enumerated(parts)}" if parts else ""


def _case_name(expected: Any) -> str:
    """El nombre que un ejercicio da a su caso, si su resultado es `{nombre: resultado}`."""
    if not isinstance(expected, dict) or len(expected) != 1:
        return ""
    (name,) = expected
    return name if isinstance(name, str) else ""


def _without_case_name(actual: Any, expected: Any) -> tuple[Any, Any]:
    name = _case_name(expected)
    if not name or _case_name(actual) != name:
        return actual, expected
    return actual[name], expected[name]


def _stopped(failure: Failure) -> str:
    if failure.pending:
        return f"tu código llega a una parte sin escribir ({failure.line.rstrip('(')})"
    line = f" ({failure.line})" if failure.line else ""
    message = f": {failure.message}" if failure.message and failure.told else ""
    return f"tu código se detuvo con {failure.kind}{message}{line}"


def _match(
    exercise: Exercise,
    cases: list[tuple],
    outcomes: list[Outcome],
    expected: list[Outcome],
    run: Runner,
    candidates: Sequence[Misconception] | None = None,
) -> Misconception | None:
    """Busca el error frecuente que da lo mismo que el estudiante en todos los casos."""
    for misconception in exercise.misconceptions if candidates is None else candidates:
        wrong = run(exercise, misconception.implementation, cases)
        alike = _all_same(exercise, outcomes, wrong, misconception.raises)
        if alike and _distinguishes(exercise, outcomes, wrong, expected):
            return misconception
    return None


def _distinguishes(
    exercise: Exercise, outcomes: list[Outcome], wrong: list[Outcome], expected: list[Outcome]
) -> bool:
    """Dice si lo que coincide señala ese error: un valor equivocado, o detenerse igual.

    Otro error puede detenerse con la misma excepción: si no hay más que eso, el mensaje decide.
    """
    if any(
        other.failure is None and not _same(exercise, other, target, None)
        for other, target in zip(wrong, expected, strict=True)
    ):
        return True
    stops = [(a.failure, b.failure) for a, b in zip(outcomes, wrong, strict=True) if b.failure]
    return bool(stops) and all(_gist(a.message) == _gist(b.message) for a, b in stops)


def _gist(message: str) -> str:
    """Quita lo que torch dice del tensor en que se escribió: depende de cómo se guardó el grafo."""
    return message.partition(" has been modified by an inplace operation")[0]


def _match_inputs(
    exercise: Exercise, cases: list[tuple], expected: list[Outcome]
) -> Misconception | None:
    """Busca el error frecuente que consiste solo en modificar las entradas."""
    for misconception in exercise.misconceptions:
        wrong = run_cases(exercise, misconception.implementation, cases)
        if any(o.inputs_changed for o in wrong) and _all_same(exercise, wrong, expected):
            return misconception
    return None


def _all_same(
    exercise: Exercise,
    left: list[Outcome],
    right: list[Outcome],
    raises: type[Exception] | None = None,
) -> bool:
    if len(left) != len(right):
        return False
    return all(_same(exercise, a, b, raises) for a, b in zip(left, right, strict=True))


def _same(exercise: Exercise, a: Outcome, b: Outcome, raises: type[Exception] | None) -> bool:
    if a.failure is None and b.failure is None:
        return _comparison(exercise).same(a.value, b.value)
    if a.failure is None or b.failure is None or raises is None:
        return False
    return a.failure.kind == b.failure.kind == raises.__name__


def _comparison(exercise: Exercise) -> Comparison:
    return Comparison(exercise.tolerance, lenient_text=exercise.is_question)


# Dos errores a la vez

DRAWS_FOR_TWO = 6
"""Con cuántos sorteos debe coincidir una respuesta para decir que comete dos errores a la vez."""


_MOST_PAIRS_TOLD = 4


def pairs_like(
    exercise: Exercise, pairs: Sequence[Pair], answer: Any, property: str | None, seed: int
) -> list[Pair]:
    """Da las parejas de errores que, cometidos a la vez, dan lo mismo que una respuesta.

    Son muchas, y alguna podría coincidir por azar: tiene que dar lo mismo con varios sorteos.
    """
    pairs = list(pairs)
    runs = [run_cases, run_gradients] if property == "gradient" else [run_cases]
    for drawn, run in itertools.product(range(seed, seed + DRAWS_FOR_TWO), runs):
        if not pairs or (drawn > seed and all(both is answer for *_, both in pairs)):
            break  # ninguna, o solo ella misma
        cases = draw_cases(exercise, drawn)
        outcomes = run(exercise, answer, cases)
        pairs = [p for p in pairs if _is_alike(exercise, p[2], cases, outcomes, run)]
    return pairs


def _is_alike(
    exercise: Exercise, both: Any, cases: list[tuple], outcomes: list[Outcome], run: Runner
) -> bool:
    return all(  # la mayoría se descarta con el primer caso
        _all_alike(exercise, outcomes[some], run(exercise, both, cases[some]))
        for some in (slice(1), slice(1, None))
    )


def _all_alike(exercise: Exercise, left: list[Outcome], right: list[Outcome]) -> bool:
    """Dice si en cada caso dan lo mismo, o se detienen con el mismo mensaje."""
    return all(
        _same(exercise, a, b, None)
        or (a.failure and b.failure and _stop_of(a.failure) == _stop_of(b.failure))
        for a, b in zip(left, right, strict=True)
    )


def _stop_of(failure: Failure) -> tuple[str, str]:
    return failure.kind, _gist(failure.message)


def shows_its_mistakes(exercise: Exercise, answer: Any, property: str | None, seed: int) -> bool:
    """Dice si algún valor no es el esperado; detenerse, o dar solo NaN, no señala ningún error."""
    run = run_gradients if property == "gradient" else run_cases
    cases = draw_cases(exercise, seed)
    outcomes, targets = run(exercise, answer, cases), _reference_outcomes(exercise, cases, run)
    return any(
        outcome.failure is None
        and not _same(exercise, outcome, target, None)
        and not _is_all_nan(outcome.value)
        for outcome, target in zip(outcomes, targets, strict=True)
    )


def _is_all_nan(value: Any) -> bool:
    numbers = list(tensors_in(value))
    return bool(numbers) and all(bool(x.isnan().all()) for x in numbers)


def with_both(exercise: Exercise, verdict: Verdict, pairs: Sequence[Pair]) -> Verdict:
    """Dice en el veredicto los errores que están en todas las parejas, o las parejas que son."""
    sure = [m for m in exercise.misconceptions if all(m in pair for pair in pairs)]
    if len(sure) == 1:
        told = f"Uno: {_sentence(sure[0].hint)} Al corregirlo verás el otro."
    else:
        told = _each_pair(pairs)
    if not told:
        return verdict
    message = f"tu resultado es el que dan dos errores a la vez. {told}"
    names = tuple(m.name for m in sure)
    return replace(verdict, status="wrong", message=message, misconceptions=names, hinted=True)


def _each_pair(pairs: Sequence[Pair]) -> str:
    """Da las pistas de cada pareja; nada, si son tantas que no orientan."""
    if len(pairs) > _MOST_PAIRS_TOLD:
        return ""
    hints = ((_sentence(a.hint), _sentence(b.hint)) for a, b, _ in pairs)
    return " O estos dos. ".join(f"Uno: {one} El otro: {other}" for one, other in hints)


def _sentence(hint: str) -> str:
    return hint if hint.endswith((".", "?", "…")) else f"{hint}."
