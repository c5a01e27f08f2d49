"""Comprueba la respuesta de un estudiante y explica qué falla, sin mostrar lo que se esperaba.

`check(nombre, objeto)` es la última línea de cada celda de comprobación. Los pasos son los de un
calificador: se sortean entradas, se ejecuta al estudiante (`run_cases`) y se juzga lo que devolvió,
ya convertido a datos simples (`judge`). Juzgar no necesita el objeto del estudiante, así que una
etapa posterior puede ejecutarlo en otro proceso.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import importlib
import io
import linecache
import pkgutil
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from course_lib.grading import STUB_MESSAGE
from course_lib.grading.credit import cases_of, earned_parts
from course_lib.grading.exercise import NAME_PATTERN, Exercise, Misconception
from course_lib.grading.plain_data import (
    PROPERTIES,
    Comparison,
    Fault,
    copy_inputs,
    is_plain,
    plain,
    tensors_in,
)
from course_lib.grading.verdict import Verdict

NOTEBOOK_SEED = 2017
"""Semilla de los cuadernos: el mismo código da siempre el mismo texto."""

_LIBRARY_FOLDERS = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
)


def check(name: str, student: Any, *, seed: int = NOTEBOOK_SEED) -> Verdict:
    """Comprueba el objeto del estudiante contra el ejercicio de ese nombre.

    Argumentos:
        name: `tema.nombre` del ejercicio.
        student: la función, la clase o la respuesta del estudiante.
        seed: semilla de las entradas; fija en el cuaderno, secreta en un calificador.

    Devuelve:
        Verdict: su texto dice si es correcto, si está pendiente o qué falla.

    Errores:
        ValueError: no hay ejercicio con ese nombre.
    """
    return check_exercise(find_exercise(name), student, seed=seed)


def check_exercise(exercise: Exercise, student: Any, *, seed: int = NOTEBOOK_SEED) -> Verdict:
    """Comprueba el objeto del estudiante contra un ejercicio dado."""
    if is_blank(student):
        return _pending(exercise)
    with torch.inference_mode(False), torch.enable_grad():  # quien llama puede estar en no_grad
        cases = draw_cases(exercise, seed)
        outcomes = run_cases(exercise, student, cases)
        needs_gradients = exercise.gradient and all(o.failure is None for o in outcomes)
        gradients = run_gradients(exercise, student, cases) if needs_gradients else None
        return judge(exercise, cases, outcomes, gradients)


def find_exercise(name: str) -> Exercise:
    """Busca un ejercicio por su nombre en `course_lib.checks`."""
    known = topic_exercises(name.partition(".")[0]) if NAME_PATTERN.fullmatch(name) else ()
    for exercise in known:
        if exercise.name == name:
            return exercise
    listed = ", ".join(exercise.name for exercise in known)
    raise ValueError(
        f"No hay ningún ejercicio llamado «{name}»; revisa el nombre en la celda de comprobación."
        + (f" Los de ese tema son: {listed}." if listed else "")
    )


def topic_exercises(topic: str) -> tuple[Exercise, ...]:
    """Da los ejercicios de un tema; ninguno, si el tema no existe."""
    package = importlib.import_module("course_lib.checks")
    if topic not in {module.name for module in pkgutil.iter_modules(package.__path__)}:
        return ()
    return tuple(importlib.import_module(f"{package.__name__}.{topic}").EXERCISES)


def is_blank(student: Any) -> bool:
    """Dice si la respuesta sigue sin escribir: `...`, None, o una lista donde queda un `...`."""
    if student is None or student is ...:
        return True
    return type(student) in (list, tuple) and any(item is ... for item in student)


# Ejecutar una implementación


@dataclass(frozen=True)
class Failure:
    """Una ejecución que no terminó.

    Argumentos:
        kind: tipo de la excepción.
        message: su mensaje, en una línea, sin direcciones de memoria.
        line: la línea del estudiante en que ocurrió.
        pending: si es el NotImplementedError de una parte sin escribir.
    """

    kind: str
    message: str
    line: str = ""
    pending: bool = False


class RemoteError(Exception):
    """El código del estudiante se detuvo en otro proceso, que ya lo resumió."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class Outcome:
    """Lo que pasó en un caso: un dato simple o una falla, y si las entradas quedaron cambiadas."""

    value: Any = None
    failure: Failure | None = None
    inputs_changed: bool = False


Runner = Callable[[Exercise, Any, list[tuple]], list[Outcome]]


def draw_cases(exercise: Exercise, seed: int) -> list[tuple]:
    """Sortea las entradas de un ejercicio; la misma semilla da siempre las mismas."""
    digest = hashlib.sha256(f"{exercise.name}:{seed}".encode()).digest()
    rng = torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
    cases = [tuple(case) for case in exercise.cases(rng)]
    if not cases:
        raise ValueError(f"{exercise.name}: `cases` no dio ningún caso; debe dar al menos uno.")
    for part in exercise.partial:
        if not cases_of(part, cases):  # se ganaría sin hacer nada
            raise ValueError(f"{exercise.name}: ningún caso es de la parte «{part.label}».")
    return cases


def run_cases(exercise: Exercise, implementation: Any, cases: list[tuple]) -> list[Outcome]:
    """Ejecuta una implementación en cada caso, sobre copias de las entradas."""
    return [_run_case(exercise, implementation, case) for case in cases]


def _run_case(exercise: Exercise, implementation: Any, case: tuple) -> Outcome:
    inputs = copy_inputs(case)
    try:
        with quiet_and_seeded():
            value = plain(exercise.call(implementation, *inputs))
    except (Exception, SystemExit) as error:
        return Outcome(failure=describe(error))
    return Outcome(value, inputs_changed=not Comparison(0.0).same(plain(inputs), plain(case)))


def run_gradients(exercise: Exercise, implementation: Any, cases: list[tuple]) -> list[Outcome]:
    """Da, por caso, el gradiente de Σ salida·pesos fijos respecto de las entradas.

    Devuelve:
        por caso, la lista de gradientes (ceros si una entrada no interviene), o None como valor
        si el resultado no está unido a ninguna entrada.
    """
    return [_run_gradient(exercise, implementation, case) for case in cases]


def _run_gradient(exercise: Exercise, implementation: Any, case: tuple) -> Outcome:
    leaves: list[torch.Tensor] = []
    inputs = copy_inputs(case, leaves)
    try:
        with quiet_and_seeded(), torch.enable_grad():
            total = _weighted_sum(plain(exercise.call(implementation, *inputs), keep_graph=True))
            if not total.requires_grad:
                return Outcome(None)
            gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    except (Exception, SystemExit) as error:
        return Outcome(failure=describe(error))
    pairs = zip(leaves, gradients, strict=True)
    return Outcome(plain([torch.zeros_like(x) if g is None else g for x, g in pairs]))


def _weighted_sum(output: Any) -> torch.Tensor:
    """Reduce la salida a un número con pesos fijos, distintos en cada posición."""
    rng = torch.Generator().manual_seed(0)
    total = torch.zeros((), dtype=torch.float64)
    for tensor in tensors_in(output):
        if tensor.is_floating_point():
            weights = torch.rand(tensor.shape, generator=rng, dtype=torch.float64) + 0.5
            total = total + (tensor * weights).sum()
    return total


@contextlib.contextmanager
def quiet_and_seeded() -> Iterator[None]:
    """Calla lo que se imprima y fija el azar de torch, que después queda como estaba."""
    sink = _Sink()
    with (
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
        torch.random.fork_rng(devices=[]),
    ):
        # Sembrar todos los dispositivos cuesta más que ejecutar la mayoría de los casos.
        (torch if torch.cuda.is_initialized() else torch.default_generator).manual_seed(0)
        yield


class _Sink(io.TextIOBase):
    """Un archivo de texto que descarta lo que recibe."""

    def write(self, text: str) -> int:
        return len(text)


def describe(error: BaseException) -> Failure:
    """Resume una excepción, sin rutas ni direcciones, con la línea del estudiante."""
    if isinstance(error, RemoteError):
        return error.failure
    try:
        # El texto de un error de sintaxis acaba con un archivo que no existe.
        text = error.msg if isinstance(error, SyntaxError) else str(error)
        message = " ".join(text.split())
    except Exception:  # un __str__ que también falla
        message = ""
    number, source = _student_line(error)
    waiting = isinstance(error, NotImplementedError) and (
        message == STUB_MESSAGE or _raised_by_student(error)
    )
    message = re.sub(r"\b0x[0-9a-fA-F]+", "0x…", message)
    shortened = message if len(message) <= 200 else message[:199] + "…"
    line = f"línea {number}: {source[:80]}" if source else ""
    return Failure(type(error).__name__, shortened, line, waiting)


def _student_line(error: BaseException) -> tuple[int, str]:
    """Busca la línea más profunda que no es de este paquete ni de otro instalado."""
    if isinstance(error, SyntaxError) and isinstance(error.text, str):
        return error.lineno or 0, error.text.strip()
    for frame, number in reversed(list(traceback.walk_tb(error.__traceback__))):
        if _is_student_code(frame.f_code):
            return number, linecache.getline(frame.f_code.co_filename, number).strip()
    return 0, ""


def _raised_by_student(error: BaseException) -> bool:
    """Dice si la excepción nace de un `raise` del estudiante, y no de una operación que no existe.

    Lo dice la instrucción en que se detuvo; el texto de su línea puede ser cualquiera.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not _is_student_code(last.tb_frame.f_code):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def _is_student_code(code: CodeType) -> bool:
    return not code.co_filename.startswith(_LIBRARY_FOLDERS)


# Juzgar lo que devolvió


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
        return _pending(exercise)
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
        return _failed(exercise, fault, None)
    if fault is not None:
        return _failed(exercise, fault, _match(exercise, cases, outcomes, expected, run_cases))
    if not exercise.inputs_may_change and any(o.inputs_changed for o in outcomes):
        return _failed(exercise, _INPUTS_FAULT, _match_inputs(exercise, cases, expected))
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
    return _failed(exercise, Fault("gradient", text), match)


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


def _pending(exercise: Exercise) -> Verdict:
    return Verdict(exercise.name, "pending", 0, exercise.points)


def _passed(exercise: Exercise) -> Verdict:
    return Verdict(exercise.name, "correct", exercise.points, exercise.points)


def _failed(exercise: Exercise, fault: Fault, match: Misconception | None) -> Verdict:
    status = "error" if fault.property == "runs" and match is None else "wrong"
    message, name = (fault.text, None) if match is None else (match.hint, match.name)
    seen = {"property": fault.property, "inputs": fault.inputs}
    return Verdict(exercise.name, status, 0, exercise.points, message, name, **seen)


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
    tried = list(zip(cases, outcomes, expected, strict=True))
    written = [each for each in tried if not _is_unwritten(each[1])]
    stops = len(written) == len(tried) and all(o.failure is not None for o in outcomes)
    fault = _fault_in(exercise, written, everywhere=stops)
    if len(written) == len(tried) or (fault is not None and fault.property == "runs"):
        return fault
    case, outcome, target = next(each for each in tried if _is_unwritten(each[1]))
    return _unwritten_fault(_which_inputs(case, target.value), outcome.failure, fault)


def _is_unwritten(outcome: Outcome) -> bool:
    return outcome.failure is not None and outcome.failure.pending


def _fault_in(
    exercise: Exercise, tried: list[tuple[tuple, Outcome, Outcome]], *, everywhere: bool
) -> Fault | None:
    """Da la primera falla de unos casos; `everywhere`, si el código se detiene en todos."""
    faults = []
    for case, outcome, target in tried:
        told = _which_inputs(case, target.value)
        if outcome.failure is not None:
            where = f"{told}, " if told and not everywhere else ""
            return Fault("runs", where + _stopped(outcome.failure), told)
        pair = _without_case_name(outcome.value, target.value)
        for fault in _comparison(exercise).faults(*pair):
            text = f"{fault.text}, {told}" if told else fault.text
            faults.append(Fault(fault.property, text + fault.advice, told))
    return min(faults, key=lambda fault: PROPERTIES.index(fault.property), default=None)


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
        parts.append(f"entradas de forma {_listed(shapes)}")
    return f"con {_listed(parts)}" if parts else ""


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


def _listed(names: list[str]) -> str:
    return " y ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)


def _stopped(failure: Failure) -> str:
    if failure.pending:
        return f"tu código llega a una parte sin escribir ({failure.line.rstrip('(')})"
    line = f" ({failure.line})" if failure.line else ""
    message = f": {failure.message}" if failure.message else ""
    return f"tu código se detuvo con {failure.kind}{message}{line}"


def _match(
    exercise: Exercise,
    cases: list[tuple],
    outcomes: list[Outcome],
    expected: list[Outcome],
    run: Runner,
    candidates: list[Misconception] | None = None,
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
