"""Qué se dice a un estudiante del error con que se detuvo su código, que llega de su proceso.

El tipo, la línea, si de verdad es una de las que escribió, y el mensaje solo si es de los que ponen
Python y torch: con un texto libre se sacarían de la caja las entradas, o lo que en ella se ve.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterable

from course_lib.grading.sandbox.wire import clean
from course_lib.judging import STUB_MESSAGE

_NAME, _NUMBER = r"[A-Za-z_]\w{0,39}", r"-?\d{1,4}"
_SHAPE = rf"[\[(](?:{_NUMBER}(?:, {_NUMBER}){{0,5}},?)?[\])]"
_MESSAGES = tuple(
    re.compile(text.replace("NAME", _NAME).replace("NUMBER", _NUMBER).replace("SHAPE", _SHAPE))
    for text in (
        r"name 'NAME' is not defined(?:\. Did you mean: 'NAME'\?)?",
        r"(?:module )?'(?:torch\.)?NAME'(?: object)? has no attribute 'NAME'",
        r"(?:cannot access )?local variable 'NAME'"
        r"(?: where it is not associated with a value| referenced before assignment)",
        r"'NAME' object is not (?:callable|iterable|subscriptable|an iterator)",
        r"'NAME' object does (?:not support item assignment)",
        r"unsupported operand type\(s\) for [-+*/@%|&^<>=]{1,3}: 'NAME' and 'NAME'",
        r"NAME\(\) missing NUMBER required (?:positional|keyword-only) arguments?: 'NAME'"
        r"(?:(?:,| and|, and) 'NAME')*",
        r"NAME\(\) takes NUMBER positional arguments? but NUMBER (?:was|were) given",
        r"NAME\(\) got (?:an unexpected|some positional-only) keyword argument '?NAME'?",
        r"(?:No module named )'NAME'",
        r"(?:list|tuple|string) index out of range",
        r"(?:integer |float )?(?:division|modulo) by zero",
        r"maximum recursion depth exceeded(?: in comparison| while calling a Python object)?",
        r"not enough values to unpack \(expected NUMBER, got NUMBER\)",
        r"too many values to unpack \(expected NUMBER\)",
        r"mat1 and mat2 shapes cannot be multiplied \(NUMBERxNUMBER and NUMBERxNUMBER\)",
        r"The size of tensor a \(NUMBER\) must match the size of tensor b \(NUMBER\) at "
        r"non-singleton dimension NUMBER",
        r"Expected size for first two dimensions of batch2 tensor to be: SHAPE but got: SHAPE\.",
        r"(?:shape '?SHAPE'? is invalid for input of size NUMBER)",
        r"(?:selected index k out of range)",
        r"(?:index NUMBER is out of bounds for dimension NUMBER with size NUMBER)",
        r"Dimension out of range \(expected to be in range of SHAPE, but got NUMBER\)",
        r"(?:Boolean value of Tensor with more than one value is ambiguous)",
        r"'[(\[{]' was never closed|unmatched '[)\]}]'|expected ':'|unexpected indent",
        r"closing parenthesis '[)\]}]' does not match opening parenthesis '[(\[{]'"
        r"(?: on line NUMBER)?",
        r"(?:invalid syntax(?:\. Perhaps you forgot a comma\?"
        r"|\. Maybe you meant '==' or ':=' instead of '='\?)?)",
        r"(?:invalid decimal literal|unexpected EOF while parsing)",
        r"unterminated string literal \(detected at line NUMBER\)",
        r"(?:unindent does not match any outer indentation level)",
        r"expected an indented block(?: after (?:(?:function|class) definition|'NAME' statement)"
        r" on line NUMBER)?",
        r"(?:positional argument follows keyword argument|'NAME' outside function)",
    )
)
_OURS = tuple(
    re.compile(text.replace("NAME", _NAME))
    for text in (
        r"«NAME» es la respuesta de este ejercicio, y al calificar no está: escribe la tuya",
        r"course_lib(?:\.NAME)+ no se puede usar al calificar: tiene la respuesta de algún "
        r"ejercicio, o no hace falta para resolverlos",
        r"llamas demasiadas veces a una función que recibes",
        r"llamas a una función que recibes con un tensor demasiado grande",
        re.escape(STUB_MESSAGE),
    )
)
_KNOWN = frozenset(
    (*dir(builtins), "NoneType", "Tensor", "torch", "ndarray", "OutOfMemoryError", "EinopsError")
)


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

    def line(self, told: str) -> str:
        """Da la línea, si es de la entrega; si no, a lo más su número."""
        found = re.fullmatch(r"línea (\d{1,5}): (.*)", told)
        if found is None:
            return ""
        return told if clean(found[2], 80) in self._lines else f"línea {found[1]}"

    def says(self, message: str) -> bool:
        """Dice si un mensaje se puede repetir."""
        if any(pattern.fullmatch(message) for pattern in (*_OURS, *_MESSAGES)):
            return self._names.issuperset(re.findall(r"[A-Za-z_]\w*", _quoted(message)))
        return False


def _quoted(message: str) -> str:
    """Da los nombres que un mensaje cita, y los que llama o recorre: lo único que varía en él."""
    return " ".join(
        "".join(found) for found in re.findall(r"'([^']*)'|«(\w+)»|(\w+)\(\)|\.(\w+)", message)
    )
