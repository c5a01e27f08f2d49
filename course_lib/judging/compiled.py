"""Los ejercicios que `course regenerate` preparó: se leen de `exercises/TEMA.json`, aquí al lado
o, los de un tema propio, en su carpeta.

Cada uno guarda código: el de la solución, que es la referencia; el que sortea sus casos; y, por
cada error frecuente, qué trozos de la solución cambian. El de un error no se ejecuta hasta que
hace falta comparar una respuesta con él.
"""

from __future__ import annotations

import builtins
import functools
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import torch

from course_lib.judging import OWN_TOPICS
from course_lib.judging.drawing import VOCABULARY
from course_lib.judging.exercise import (
    Exercise,
    Misconception,
    Part,
    Section,
    direct_call,
    no_inputs,
)
from course_lib.judging.owner import allotted, owner

FOLDER = Path(__file__).parent / "exercises"
PREPARED = "COURSE_REGENERATING"
"""Variable con la carpeta de los que se están generando, que todavía no están en `FOLDER`."""

Edit = Sequence
"""Un cambio de un texto: desde dónde, hasta dónde, y lo que va en su lugar."""


def compiled_topic(topic: str) -> tuple[Exercise, ...] | None:
    """Da los ejercicios preparados de un tema; None si no hay."""
    path = _path(topic)
    if path is None:
        return None
    modified = path.stat().st_mtime_ns
    places = enumerate(_stored(path, modified))
    return tuple(_made(path, modified, place, variant_of(each)) for place, each in places)


def variant_of(stored: dict[str, Any]) -> int:
    """Cuál de las variaciones de un ejercicio le toca al dueño del cuaderno; 0, la de todos."""
    variants = stored.get("variants", ())
    return allotted(owner(), stored["name"], 1 + len(variants)) if owner() and variants else 0


def _path(topic: str) -> Path | None:
    paths = (folder / f"{topic}.json" for folder in _folders()) if topic.isidentifier() else ()
    return next((path for path in paths if path.is_file()), None)


def _folders() -> Iterator[Path]:
    """Dónde puede estar un tema: entre los que se generan ahora, los del curso o los propios.

    Uno propio, cuando no lo dice la orden, está junto a su cuaderno: se abrió en Jupyter.
    """
    yield Path(os.environ.get(PREPARED) or FOLDER)
    yield FOLDER
    if own := os.environ.get(OWN_TOPICS):
        yield Path(own, "exercises")
    if "IPython" in sys.modules:
        yield Path.cwd()


@functools.lru_cache(maxsize=64)
def _stored(path: Path, modified: int) -> list[dict[str, Any]]:
    return json.loads(path.read_bytes())["exercises"]


@functools.lru_cache(maxsize=1024)
def _made(path: Path, modified: int, place: int, variant: int) -> Exercise:
    stored = _stored(path, modified)[place]
    return make_exercise(stored["variants"][variant - 1] if variant else stored)


@dataclass(frozen=True)
class Place:
    """El título de un tema y el del cuaderno que va detrás; vacíos si no se saben."""

    title: str = ""
    next_title: str = ""


def topic_place(topic: str) -> Place:
    """Da el lugar de un tema en el curso."""
    path = _path(topic)
    stored = json.loads(path.read_bytes()) if path else {}
    return Place(stored.get("title", topic), stored.get("next", ""))


def exercise_after(exercise: Exercise) -> str:
    """El título del ejercicio que va detrás; vacío si es el último de su tema."""
    known = compiled_topic(exercise.topic) or ()
    names = [each.name for each in known]
    place = names.index(exercise.name) + 1 if exercise.name in names else len(names)
    return known[place].title if place < len(known) else ""


def make_exercise(stored: dict[str, Any]) -> Exercise:
    """Construye un ejercicio; los nombres de sus campos son los de `Exercise`."""
    answer = Answer(stored)
    given = answer.given
    mistakes = [Edited(answer, mistake) for mistake in stored["mistakes"]]
    parts = [
        Part(**{**part, "cases": given[part["cases"]] if "cases" in part else None})
        for part in stored.get("partial", ())
    ]
    return Exercise(
        name=stored["name"],
        points=stored["points"],
        reference=answer.run(answer.code),
        cases=given.get("cases", no_inputs),
        misconceptions=mistakes,
        call=given.get("call", direct_call),
        asked_name=stored["answer"],
        answers=tuple(stored.get("answers", ())),
        partial=parts,
        title=stored.get("title", ""),
        section=Section(**stored["section"]) if "section" in stored else None,
        **stored.get("options", {}),
    )


class Answer:
    """El código de una respuesta, y cómo se ejecuta con unos cambios.

    Atributos:
        code: la celda de la solución.
        given: lo que usa sin definirlo: lo que el cuaderno le da, y lo que define el bloque de
            casos.
    """

    def __init__(self, stored: dict[str, Any]) -> None:
        self.code = stored["code"]
        self._name = stored["answer"]
        # Como es de la biblioteca, un error suyo no se toma por una línea del estudiante.
        self._file = str(FOLDER / f"{stored['name']}.py")
        self.given = {"math": math, "torch": torch, "F": torch.nn.functional, **VOCABULARY}
        for code in (stored.get("cases", ""), stored.get("context", "")):
            exec(compile(code, self._file, "exec"), self.given)
        self._mistakes = [m["edits"] for m in stored["mistakes"] if "edits" in m]

    @functools.cached_property
    def _known(self) -> set[tuple]:
        """Lo que no es una pareja: lo que hacen la solución y los errores solos."""
        alone = (self.edited(edits) for edits in self._mistakes)
        return {_work_of(self._compiled(code)) for code in (self.code, *alone)}

    def _compiled(self, code: str) -> CodeType:
        return compile(code, self._file, "exec")

    def run(self, code: str | CodeType) -> Any:
        """Ejecuta una celda que define la respuesta, y la da."""
        scope = dict(self.given)
        exec(self._compiled(code) if isinstance(code, str) else code, scope)
        return scope[self._name]

    def value(self, expression: str) -> Any:
        """Da el valor de una respuesta que es un dato."""
        return eval(compile(expression, self._file, "eval"), dict(self.given))

    def edited(self, edits: Iterable[Edit]) -> str:
        """Da la celda con unos cambios que no se tocan."""
        return replaced(self.code, edits)

    def both(self, one: Iterable[Edit], other: Iterable[Edit]) -> Any:
        """Da la respuesta con los cambios de dos errores; None si no se pueden hacer los dos."""
        if any(a[0] < b[1] and b[0] < a[1] for a in one for b in other):
            return None
        try:
            code = self._compiled(self.edited([*one, *other]))
            return None if _work_of(code) in self._known else self.run(code)
        except SyntaxError:
            return None


def replaced(text: str, edits: Iterable[Edit]) -> str:
    """Hace unos cambios que no se tocan, del último al primero."""
    for start, end, new in sorted(edits, key=lambda edit: edit[:2], reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _work_of(code: CodeType) -> tuple:
    """Lo que hace un código, sin las líneas en que está: ni los espacios ni los comentarios."""
    constants = (_work_of(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    inputs = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags
    return code.co_code, code.co_exceptiontable, *names, *inputs, *constants


class Edited(Misconception):
    """Un error frecuente que es la solución con unos trozos cambiados; se ejecuta al pedirlo."""

    def __init__(self, answer: Answer, stored: dict[str, Any]) -> None:
        raises = stored.get("raises")
        fields = {"name": stored["name"], "hint": stored["hint"], "_answer": answer}
        fields |= {"_stored": stored, "raises": raises and getattr(builtins, raises)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @functools.cached_property
    def implementation(self) -> Any:
        """Lo que escribiría quien comete el error."""
        if "value" in self._stored:
            return self._answer.value(self._stored["value"])
        return self._answer.run(self.code)

    @property
    def code(self) -> str:
        """La celda de quien comete el error, si no es un dato."""
        stored = self._stored
        return stored["code"] if "code" in stored else self._answer.edited(stored["edits"])

    def together(self, other: Misconception) -> Any:
        """Da la respuesta que comete los dos errores; None si no se pueden cometer a la vez."""
        mine, its = self._stored, getattr(other, "_stored", {})
        apart = {mine["name"], its.get("name")} & {*mine.get("apart", ()), *its.get("apart", ())}
        if apart or "edits" not in mine or "edits" not in its:
            return None
        return self._answer.both(mine["edits"], its["edits"])
