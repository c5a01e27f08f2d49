"""De quién es un cuaderno personal: con qué entradas se comprueba y qué constantes le tocaron.

Todo se calcula con el nombre, sin acentos, mayúsculas ni orden: no hay nada que guardar ni que
ocultar. Quien cambia el nombre en su cuaderno cambia lo que ahí se le comprueba, pero no la nota:
al calificar, el nombre es el de la lista de la clase.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_FEWEST_WORDS = 2
"""Con cuántas palabras un nombre corto («Ana García») basta para ser el de uno más largo."""
_now = {"owner": ""}


def bare(text: str) -> str:
    """Un texto sin acentos ni mayúsculas: así se compara, y «Ángela» va entre las demás de la A."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


def words_of(name: str) -> frozenset[str]:
    """Las palabras de un nombre, sin acentos ni mayúsculas: «García, Ana» y «Ana García», igual."""
    return frozenset(re.findall(r"\w+", bare(name)))


def same_person(one: str, other: str) -> bool:
    """Si dos nombres pueden ser de la misma persona: iguales, o uno con apellidos que faltan."""
    fewer, more = sorted((words_of(one), words_of(other)), key=len)
    return fewer == more or (len(fewer) >= _FEWEST_WORDS and fewer < more)


def listed(name: str, roster: Sequence[str]) -> str:
    """Qué nombre de la lista es el de esa persona; vacío si ninguno, o si puede ser más de uno."""
    same = [each for each in roster if words_of(each) == words_of(name)]
    found = same or [each for each in roster if same_person(each, name)]
    return found[0] if len(found) == 1 else ""


def allotted(owner: str, what: str, count: int) -> int:
    """Sortea un número menor que `count`, el mismo siempre para esa persona y ese ejercicio."""
    text = "\0".join([what, *sorted(words_of(owner))])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big") % count


def owner() -> str:
    """De quién es el cuaderno que se está comprobando; vacío si es el de todos."""
    return _now["owner"]


def set_owner(name: str) -> None:
    """Dice de quién es el cuaderno, desde ahora."""
    _now["owner"] = name


@contextmanager
def owned_by(name: str) -> Iterator[None]:
    """Dice de quién es el cuaderno mientras dura un bloque."""
    before = owner()
    set_owner(name)
    try:
        yield
    finally:
        set_owner(before)
