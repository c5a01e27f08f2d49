"""Qué se dice a un estudiante de lo que llega de su proceso y no es un dato: un error, un objeto.

De un error, el tipo, la línea, si de verdad es una de las que escribió, y el mensaje solo si es de
los que ponen Python y torch: con un texto libre se sacarían de la caja las entradas, o lo que en
ella se ve.
"""

from __future__ import annotations

import builtins
import functools
import re
import types
from collections.abc import Iterable
from pathlib import Path

import torch

from course_lib.grading.sandbox.wire import clean
from course_lib.judging import STUB_MESSAGE

_PIECES = {"NAME": r"[A-Za-z_]\w{0,39}", "NUMBER": r"-?\d{1,4}"}
_PIECES["SHAPE"] = r"[\[(](?:NUMBER(?:, NUMBER){0,5},?)?[\])]".replace("NUMBER", _PIECES["NUMBER"])
_KNOWN = frozenset(
    (*dir(builtins), "NoneType", "Tensor", "torch", "ndarray", "OutOfMemoryError", "EinopsError")
)
_TYPES = frozenset(each.__name__ for each in vars(types).values() if isinstance(each, type))
_TYPES |= {"Size", "device", "dtype", "Parameter", "dict_keys", "dict_values", "dict_items"}
_OBJECT = "un objeto de tipo "


@functools.cache
def _repeated() -> tuple[re.Pattern[str], ...]:
    """Los mensajes de `told_errors.txt`, y el de lo que está sin escribir."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
    found = [line for line in text.splitlines() if line and not line.startswith("#")]
    filled = (re.sub("NAME|NUMBER|SHAPE", lambda m: _PIECES[m[0]], line) for line in found)
    return tuple(map(re.compile, [*filled, re.escape(STUB_MESSAGE)]))


class ErrorFilter:
    """Lo que se puede decir de los errores de una entrega.

    Argumentos:
        cells: el texto de sus celdas.
        answers: los nombres de lo que es la respuesta de algún ejercicio, que no tiene por qué
            haber escrito: con `torch.nn.CosineSimilarity` se usa `cosine_similarity`.
    """

    def __init__(self, cells: Iterable[str] = (), answers: Iterable[str] = ()) -> None:
        text = "\n".join(cells)
        self._lines = {clean(line.strip()[:80], 80) for line in text.splitlines()}
        self._names = _KNOWN | set(re.findall(r"[A-Za-z_]\w*", text)) | set(answers)

    def kind(self, name: str) -> str:
        """Da el nombre de un tipo de error, si no es inventado: podría ser cualquier texto."""
        return name if name in self._names else "Exception"

    def thing(self, told: str) -> str:
        """Nombra algo que no cruza: su tipo, si no es inventado."""
        if told in ("un valor con demasiados niveles", "un tensor que no es denso"):
            return told
        if found := re.fullmatch(r"un tensor torch\.(\w+)( en el dispositivo [a-z]{1,8})?", told):
            is_real = isinstance(getattr(torch, found[1], None), torch.dtype)
            return told if is_real else "un tensor de otro dtype"
        known = told.removeprefix(_OBJECT) in self._names | _TYPES
        return told if known or told == "un entero enorme" else "un objeto de otro tipo"

    def line(self, told: str) -> str:
        """Da la línea, si es de la entrega; si no, a lo más su número."""
        found = re.fullmatch(r"línea (\d{1,5}): (.*)", told)
        if found is None:
            return ""
        return told if clean(found[2], 80) in self._lines else f"línea {found[1]}"

    def says(self, message: str) -> bool:
        """Dice si un mensaje se puede repetir."""
        if any(pattern.fullmatch(message) for pattern in _repeated()):
            return self._names.issuperset(re.findall(r"[A-Za-z_]\w*", _quoted(message)))
        return False


def _quoted(message: str) -> str:
    """Da los nombres que un mensaje cita, y los que llama o recorre: lo único que varía en él."""
    return " ".join(
        "".join(found) for found in re.findall(r"'([^']*)'|«(\w+)»|(\w+)\(\)|\.(\w+)", message)
    )
