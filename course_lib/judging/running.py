"""Ejecuta una implementación en los casos de un ejercicio y guarda qué pasó en cada uno.

Lo que devuelve se convierte enseguida en datos simples; una excepción, en su resumen (`Failure`).
Así lo ocurrido puede cruzar una tubería, y juzgarlo no necesita el objeto del estudiante.
"""

from __future__ import annotations

import contextlib
import dis
import hashlib
import io
import linecache
import re
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from course_lib.judging import STUB_MESSAGE
from course_lib.judging.exercise import Exercise
from course_lib.judging.plain_data import Comparison, copy_inputs, plain, tensors_in

LIBRARY_FOLDERS = (
    str(Path(__file__).parents[1]),
    *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    "<frozen",
)


@dataclass(frozen=True)
class Failure:
    """Una ejecución que no terminó.

    Argumentos:
        kind: tipo de la excepción.
        message: su mensaje, en una línea, sin direcciones de memoria.
        line: la línea del estudiante en que ocurrió.
        pending: si es el NotImplementedError de una parte sin escribir.
        told: si al estudiante se le dice también el mensaje, y no solo el tipo y la línea.
    """

    kind: str
    message: str
    line: str = ""
    pending: bool = False
    told: bool = True


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


_known: dict | None = None


@contextlib.contextmanager
def remembering() -> Iterator[None]:
    """Entretanto, lo que ya se sorteó o se ejecutó no se repite.

    Sirve a quien prueba el mismo ejercicio muchas veces, con respuestas de confianza: a una que
    da algo distinto cada vez no se le notaría.
    """
    global _known
    before, _known = _known, {} if _known is None else _known
    try:
        yield
    finally:
        _known = before


def _once(run: Callable, exercise: Exercise, *arguments: Any) -> Any:
    """Ejecuta, o da lo que dio la otra vez."""
    if _known is None:
        return run(exercise, *arguments)
    key = (run, id(exercise), *map(id, arguments))
    if key not in _known:  # se guardan también los argumentos, para que nadie herede su `id`
        _known[key] = run(exercise, *arguments), exercise, arguments
    return _known[key][0]


def draw_cases(exercise: Exercise, seed: int) -> list[tuple]:
    """Sortea las entradas de un ejercicio; la misma semilla da siempre las mismas."""
    return _once(_draw_cases, exercise, seed)


def _draw_cases(exercise: Exercise, seed: int) -> list[tuple]:
    digest = hashlib.sha256(f"{exercise.name}:{seed}".encode()).digest()
    rng = torch.Generator().manual_seed(int.from_bytes(digest[:6], "big"))
    cases = [tuple(case) for case in exercise.cases(rng)]
    if not cases:
        raise ValueError(f"{exercise.name}: `cases` no dio ningún caso; debe dar al menos uno.")
    for part in exercise.partial:
        if not part.cases_in(cases):  # se ganaría sin hacer nada
            raise ValueError(f"{exercise.name}: ningún caso es de la parte «{part.label}».")
    return cases


def run_cases(exercise: Exercise, implementation: Any, cases: list[tuple]) -> list[Outcome]:
    """Ejecuta una implementación en cada caso, sobre copias de las entradas."""
    return [_once(_run_case, exercise, implementation, case) for case in cases]


def _run_case(exercise: Exercise, implementation: Any, case: tuple) -> Outcome:
    inputs = copy_inputs(case)
    try:
        with quiet_and_seeded():
            value = plain(exercise.call(implementation, *inputs))
    except (Exception, SystemExit) as error:
        return Outcome(failure=told_failure(error))
    left = plain(inputs, keep_graph=True), plain(case, keep_graph=True)  # sin copiarlas
    return Outcome(value, inputs_changed=not Comparison(0.0).same(*left))


def run_gradients(exercise: Exercise, implementation: Any, cases: list[tuple]) -> list[Outcome]:
    """Da, por caso, el gradiente de Σ salida·pesos fijos respecto de las entradas.

    Devuelve:
        por caso, la lista de gradientes (ceros si una entrada no interviene), o None como valor
        si el resultado no está unido a ninguna entrada.
    """
    return [_once(_run_gradient, exercise, implementation, case) for case in cases]


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
        return Outcome(failure=told_failure(error))
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


def told_failure(error: BaseException) -> Failure:
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
        if is_student_code(frame.f_code):
            return number, linecache.getline(frame.f_code.co_filename, number).strip()
    return 0, ""


def _raised_by_student(error: BaseException) -> bool:
    """Dice si la excepción nace de un `raise` del estudiante, y no de una operación que no existe.

    Lo dice la instrucción en que se detuvo; el texto de su línea puede ser cualquiera.
    """
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or not is_student_code(last.tb_frame.f_code):
        return False
    return last.tb_frame.f_code.co_code[last.tb_lasti] == dis.opmap["RAISE_VARARGS"]


def is_student_code(code: CodeType) -> bool:
    """Dice si un código no es de este paquete ni de otro instalado."""
    return not code.co_filename.startswith(LIBRARY_FOLDERS)
