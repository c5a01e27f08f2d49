"""Un caso en que una respuesta falla: qué entró, qué dio y qué imprimió; nunca lo que se esperaba.

Es para el estudiante, en su cuaderno. Al calificar las entradas son secretas, y no hay caso.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import linecache
import traceback
from types import TracebackType
from typing import Any

import torch

from course_lib.judging.exercise import Exercise, direct_call
from course_lib.judging.plain_data import copy_inputs, tensors_in
from course_lib.judging.running import is_student_code, quiet_and_seeded

_MOST_PRINTED = 2000
_LONGEST = 700


class Case:
    """Las entradas de un caso y lo que la respuesta hizo con ellas.

    Atributos:
        inputs: las entradas, en una tupla: `tu_funcion(*verdict.case.inputs)`.
        output: lo que dio la respuesta; None si se detuvo.
        printed: lo que imprimió.
        error: la excepción con que se detuvo, si se detuvo.
    """

    def __init__(self, exercise: Exercise, answer: Any, case: tuple, number: int, total: int):
        self._exercise, self._answer, self._case = exercise, answer, case
        self._place = f"Caso {number} de {total}"
        self.output: Any = None
        self.error: BaseException | None = None
        printed = _Printed()
        with quiet_and_seeded(), contextlib.redirect_stdout(printed):
            try:
                self.output = self._call()
            except (Exception, SystemExit) as error:
                self.error = error.with_traceback(_own_part(error.__traceback__))
        self.printed = printed.text().rstrip()

    @property
    def inputs(self) -> tuple:
        """Una copia de las entradas."""
        return copy_inputs(self._case)

    def run(self) -> Any:
        """Repite el caso a la vista: lo que se imprima se ve y, si se detiene, `%debug` entra."""
        torch.manual_seed(0)
        return self._call()

    def _call(self) -> Any:
        with torch.inference_mode(False), torch.enable_grad():
            return self._exercise.call(self._answer, *self.inputs)

    @property
    def has_calls(self) -> bool:
        """Si se detuvo dentro de otra función suya, y no en la que se llama."""
        return self.error is not None and len(_own_lines(self.error.__traceback__)) > 2

    def trace(self) -> str:
        """La traza, solo con las líneas del estudiante."""
        if self.error is None:
            return ""
        return "\n".join([*_own_lines(self.error.__traceback__), _last_line(self.error)])

    def __repr__(self) -> str:
        parts = [self._place]
        parts += [f"  {name} = {_indented(value)}" for name, value in self._named()]
        if self.printed:
            parts += ["Imprimiste:", *(f"  {line}" for line in self.printed.splitlines())]
        if self.error is None:
            parts.append(f"Diste:\n  {_indented(self.output)}")
        else:
            parts += ["Se detuvo:", *(f"  {line}" for line in self.trace().splitlines())]
        parts.append("Repítelo con verdict.case.run(); las entradas están en verdict.case.inputs")
        return "\n".join(parts)

    @property
    def names(self) -> list[str]:
        """Cómo se llama cada entrada en la respuesta."""
        return input_names(self._exercise, self._answer, self._case)

    def _named(self) -> list[tuple[str, Any]]:
        return list(zip(self.names, self._case, strict=True))

    def small(self) -> str:
        """El caso en una línea, para hacerlo a mano; vacío si no cabe."""
        if sum(x.numel() for x in tensors_in(self._case)) > 24:
            return ""
        said = [f"`{name} = {_in_line(value)}`" for name, value in self._named()]
        line = ", ".join(said)
        return line if len(line) <= 400 else ""


class _Printed(io.TextIOBase):
    """Guarda lo primero que se imprime y descarta lo demás."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0

    def write(self, text: str) -> int:
        if self._length <= _MOST_PRINTED:
            self._parts.append(text[: _MOST_PRINTED + 1])
            self._length += len(text)
        return len(text)

    def text(self) -> str:
        whole = "".join(self._parts)
        return whole if len(whole) <= _MOST_PRINTED else f"{whole[:_MOST_PRINTED]}…"


def _own_part(trace: TracebackType | None) -> TracebackType | None:
    """La traza desde la primera línea del estudiante; entera, si no hay ninguna."""
    own = trace
    while own is not None and not is_student_code(own.tb_frame.f_code):
        own = own.tb_next
    return own or trace


def _own_lines(trace: TracebackType | None) -> list[str]:
    """Las líneas del estudiante de una traza: dónde está cada una y qué dice."""
    lines = []
    for frame, number in traceback.walk_tb(trace):
        code = frame.f_code
        if is_student_code(code):
            lines.append(f"línea {number}, en {code.co_name}")
            lines.append(f"    {linecache.getline(code.co_filename, number).strip()}")
    return lines


def _last_line(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # un __str__ que también falla
        return type(error).__name__


def input_names(exercise: Exercise, function: Any, case: tuple) -> list[str]:
    """Cómo se llama cada entrada de un caso: el nombre de su argumento, si se sabe."""
    names = [f"entrada {number}" for number in range(1, len(case) + 1)]
    if exercise.call is direct_call:
        with contextlib.suppress(TypeError, ValueError):
            found = list(inspect.signature(function).parameters)
            names = found if len(found) == len(names) else names
    return names


def shown(value: Any, longest: int) -> str:
    """Un valor como se ve, de `longest` letras a lo sumo."""
    try:
        text = repr(value)
    except Exception:
        text = f"un objeto de tipo {type(value).__name__}, que no se deja mostrar"
    return text if len(text) <= longest else f"{text[:longest]}…"


def _indented(value: Any) -> str:
    return shown(value, _LONGEST).replace("\n", "\n  ")


def _in_line(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        value = value.tolist()
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_in_line, value))}]"
    return repr(value)
