"""La calificación sin nombres: quien lee las respuestas y llena la rúbrica no sabe de quién son.

Cada quien es un número, el mismo mientras lo sea la semilla de la clase. Lo que se lee (el informe,
el código, los cuadernos y la rúbrica) queda en una carpeta aparte, que se puede dar a otra persona.
Las notas, las páginas de los estudiantes y lo que se sube conservan los nombres.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import itertools
import json
import keyword
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import torch

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.comparison import ClassComparison
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.provenance import course_cells
from course_lib.grading.sandbox.judge import run_judge
from course_lib.judging.owner import bare

ANONYMOUS = "anonymous"
"""La carpeta de lo que se lee sin nombres."""
NOTEBOOKS = "notebooks"
HIDDEN = "NOMBRE"
"""Lo que va donde había un nombre: también puede ser parte de uno de Python."""
_DIGITS, _MORE_DIGITS = 8, 18
_SECONDS = 60.0
"""Los segundos que se espera a que se escriba un cuaderno."""
_FEWEST = 3
"""De cuántas letras es, al menos, una palabra del nombre que se borra ella sola."""
_PARTICLES = frozenset(["das", "del", "der", "dos", "hija", "hijo", "las", "los", "van", "von"])
_WITHOUT_MARK = str.maketrans("łøđħı", "lodhi")
_RUN = re.compile(r"[^\W_]+")
_QUOTED = re.compile("«[^»]*»")
_SOMEONE = re.compile(r"\b(de|a) «.*»")
_DOMAINS = "com|net|org|edu|es|mx|ar|cl|co|pe|uy|ec|ve"
_TELLING = (
    (re.compile(r"""\b(owner\s*=\s*)(["'])(?:\\.|(?!\2)[^\\\n])*\2"""), rf"\1\2{HIDDEN}\2"),
    (re.compile(rf"(?<![\w.+-])[\w.+-]++@(?:[\w-]+\.)+(?:{_DOMAINS})\b(?!\s*[(\[])"), HIDDEN),
    (re.compile(r"([/\\](?:home|users)[/\\]+)[^/\\\s'\"]+", re.I), rf"\1{HIDDEN}"),
)
"""Lo que dice de quién es un texto, se llame como se llame: el dueño, un correo, su carpeta."""
_IMAGES = ("image/png", "image/jpeg")

_Key = TypeVar("_Key")


class Anonymity:
    """Con qué se nombra a cada quien donde no se dice su nombre.

    Argumentos:
        entries: las entregas.
        seed: la semilla de la clase, de la que salen los números.
    """

    def __init__(self, entries: Iterable[Entry], seed: int) -> None:
        self._seed = seed
        people: dict[str, dict[str, Entry]] = {}
        for entry in entries:
            people.setdefault(entry.owner, {}).setdefault(entry.key, entry)
        short = Counter(self._number(owner) for owner in people)
        self._shown: dict[str, Entry] = {}
        self._own: dict[str, frozenset[str]] = {}
        for owner, files in people.items():
            number = self._number(owner)
            number = number if short[number] == 1 else self._number(owner, _MORE_DIGITS)
            self._shown |= _numbered(files.values(), number)
            entry = next(iter(files.values()))
            self._own[owner] = _forms(_words(entry.student), entry.participant or "")
        self._everyone = frozenset().union(*self._own.values())
        self.names = {owner: self._shown[next(iter(files))] for owner, files in people.items()}
        """Por cada quien (`Entry.owner`), una entrada con su número en lugar del nombre."""

    def _number(self, owner: str, digits: int = _DIGITS) -> str:
        digest = hashlib.sha256(f"{self._seed}\0{owner}".encode()).digest()
        return f"{int.from_bytes(digest, 'big') % 10**digits:0{digits}}"

    @property
    def owners(self) -> dict[str, str]:
        """De quién es cada número, como lo dice la rúbrica."""
        return {entry.owner: owner for owner, entry in self.names.items()}

    def keys(self, owned: Mapping[str, _Key]) -> dict[str, _Key]:
        """Lo de cada quien, con su número; también de quien ya no está entre las entregas."""
        return {self._key(owner): each for owner, each in owned.items()}

    def _key(self, owner: str) -> str:
        if owner in self.names:
            return self.names[owner].owner
        return owner if re.fullmatch(r"entrega-\d+", owner) else f"entrega-{self._number(owner)}"

    # Lo que se lee

    def results(self, results: ClassResults) -> ClassResults:
        """La misma clase sin nombres: los mismos puntos, y lo puesto a mano a quien es."""
        by_hand = {
            self._key(owner): {
                what: replace(one, who=self._key(owner), reason=self._veiled(one.reason, owner))
                for what, one in own.items()
            }
            for owner, own in results.by_hand.items()
        }
        works = self.graded(results.works)
        return ClassResults(works, results.asked, results.course, by_hand, anonymous=True)

    def comparison(self, changes: ClassComparison) -> ClassComparison:
        """La misma comparación, sin nombres."""
        return ClassComparison(self.results(changes.before), self.results(changes.after))

    def graded(self, works: Iterable[Graded]) -> list[Graded]:
        """Lo calificado, sin nombres y en un orden que no es el suyo."""
        return sorted(map(self._graded, works), key=lambda one: one.entry.source)

    def _graded(self, one: Graded) -> Graded:
        entry = replace(self._shown[one.entry.key], delivered=one.entry.delivered)
        result, owner = one.result, one.entry.owner
        veil = functools.partial(self._veiled, owner=owner, topic=result.topic)
        # De un archivo que no se pudo leer se dice cómo se llama.
        message = result.message if result.exercises else _QUOTED.sub("«…»", result.message)
        result = replace(
            result,
            message=veil(message),
            exercises=tuple(
                each if each.hinted else replace(each, message=veil(each.message))
                for each in result.exercises
            ),
            broken_cells=tuple(map(veil, result.broken_cells)),
            notes=tuple(veil(_SOMEONE.sub(r"\1 otra persona", n)) for n in result.notes),
            evidence={
                name: replace(seen, code=veil(seen.code), obtained=veil(seen.obtained))
                for name, seen in result.evidence.items()
            },
        )
        return Graded(entry, result)

    def write_notebooks(self, works: Iterable[Graded], folder: Path) -> list[Path]:
        """Escribe los cuadernos calificados, sin nombres, y dice cuáles.

        Cada uno se lee en un juez, como al calificar: el que pida demasiado no se escribe.
        """
        written = []
        for one in works:
            if one.result.status == "graded":
                path = folder / self._shown[one.entry.key].source
                path.unlink(missing_ok=True)
                run_judge(functools.partial(self._write_notebook, one, path), _SECONDS)
                written += [path] if path.exists() else []
        return written

    def _write_notebook(self, one: Graded, path: Path) -> None:
        veil = functools.partial(self._veiled, owner=one.entry.owner, topic=one.result.topic)
        write_atomically(path, _nameless(one.entry.content, veil))

    def _veiled(self, text: str, owner: str, topic: str | None = None) -> str:
        """Un texto sin las palabras del nombre de quien lo escribió, ni de los demás de la clase.

        Con minúsculas, una palabra puede no ser un nombre: del código del curso («max»), o de una
        frase, si es el de otra persona.
        """
        text = unicodedata.normalize("NFC", text)
        for telling, instead in _TELLING:
            text = telling.sub(instead, text)
        own, code = self._own.get(owner, frozenset()), _code_words(topic)

        def shown(run: re.Match[str]) -> str:
            word = _plain(run[0])
            named = word in own and run[0] not in code
            named = named or (word in self._everyone and not run[0].islower())
            return HIDDEN if named else run[0]

        return _RUN.sub(shown, text)


# Un nombre, como se puede escribir


def _plain(word: str) -> str:
    """Una palabra sin acentos, mayúsculas ni las cifras de los extremos."""
    plain = bare(word).translate(_WITHOUT_MARK)
    return plain if plain.isdigit() else plain.strip("0123456789")


def _words(name: str) -> list[str]:
    """Las palabras de un nombre que lo distinguen, en su orden."""
    words = map(_plain, _RUN.findall(unicodedata.normalize("NFC", name)))
    return [word for word in words if _distinguishes(word, 2) and word not in _PARTICLES]


def _distinguishes(word: str, fewest: int) -> bool:
    return len(word) >= fewest or not word.isascii()


def _forms(words: list[str], participant: str) -> frozenset[str]:
    """Las palabras que, ellas solas, dicen quién es: las de su nombre, y las que hace con ellas."""
    joined = [a + b for a, b in itertools.permutations(words, 2)]
    joined += [a[0] + b for a, b in itertools.permutations(words, 2)]
    joined += ["".join(words), _plain(participant)]
    long = [word for word in joined if _distinguishes(word, _FEWEST + 1)]
    return frozenset([*(word for word in words if _distinguishes(word, _FEWEST)), *long])


@functools.cache
def _code_words(topic: str | None) -> frozenset[str]:
    """Las palabras del código del curso, de torch y de Python que empiezan con minúscula."""
    kinds = ("exercises", "solutions") if topic else ()
    texts = [*dir(torch), *dir(torch.Tensor), *dir(builtins), *keyword.kwlist]
    texts += [cell for kind in kinds for cell in course_cells(kind, topic)]
    return frozenset(w for text in texts for w in _RUN.findall(text) if w[0].islower())


def _numbered(files: Iterable[Entry], number: str) -> dict[str, Entry]:
    """Las entregas de alguien, con su número en lugar del nombre."""
    files = list(files)
    shown = {}
    for index, entry in enumerate(files, 1):
        name, place = f"Entrega {number}", f"-{index}" if len(files) > 1 else ""
        nothing = isinstance(entry.content, str) and entry.source == entry.student
        source = name if nothing else f"entrega-{number}{place}.ipynb"
        shown[entry.key] = replace(
            entry, student=name, participant=number, source=source, content=b"", folder=None
        )
    return shown


# Lo que escribió


def _nameless(content: bytes, veil: Any) -> bytes:
    """Un cuaderno con sus textos y las imágenes de sus salidas, sin nombres y sin metadatos."""
    cells = json.loads(content.decode("utf-8-sig")).get("cells")
    made = [_cell(cell, veil) for cell in cells or () if isinstance(cell, dict)]
    notebook = {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(notebook, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _cell(cell: dict, veil: Any) -> dict[str, Any]:
    shown = {"metadata": {}, "source": veil(_text(cell.get("source")))}
    if cell.get("cell_type") != "code":
        return {"cell_type": "markdown"} | shown
    outputs = [
        {"output_type": "display_data", "metadata": {}, "data": d} for d in _data(cell, veil)
    ]
    return {"cell_type": "code", "execution_count": None, "outputs": outputs} | shown


def _data(cell: dict, veil: Any) -> Iterator[dict[str, str]]:
    """Lo que muestran las salidas de una celda: el texto y las imágenes."""
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data") if isinstance(output.get("data"), dict) else {}
        shown = {kind: _text(data[kind]) for kind in _IMAGES if kind in data}
        told = [_text(data.get("text/plain")), _text(output.get("text"))]
        told += [_text(output.get("ename")), _text(output.get("evalue"))]
        if text := veil("\n".join(filter(None, told))):
            shown["text/plain"] = text
        if shown:
            yield shown


def _text(value: Any) -> str:
    lines = value if isinstance(value, list) else [value]
    return "".join(line for line in lines if isinstance(line, str))
