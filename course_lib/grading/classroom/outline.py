"""Los títulos de un tema, de su cuaderno de ejercicios: para nombrar las cosas como el estudiante
las vio."""

from __future__ import annotations

import ast
import functools
import json
import re
from dataclasses import dataclass, field
from typing import Any

from course_lib.grading.submission import exercises_folder
from course_lib.notebooks.fingerprint import is_check, parse_cell

_TITLE = re.compile(r"^# (?:Ejercicios: )?(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^## (.+?)(?: \(\d+ puntos?\))?$", re.MULTILINE)
_CHAPTER = re.compile(r"\[([^\]]+)\]\(\.\./book/(\w+)\.md\)")


@dataclass(frozen=True)
class Outline:
    """Cómo se llaman un tema, sus ejercicios y los capítulos que los preparan.

    Argumentos:
        title: el título del tema.
        headings: por ejercicio, el encabezado que tiene en el cuaderno.
        chapters: por capítulo, su página (`attention`) y su título.
    """

    title: str
    headings: dict[str, str] = field(default_factory=dict)
    chapters: dict[str, str] = field(default_factory=dict)

    def heading(self, exercise: str) -> str:
        """El encabezado de un ejercicio; su nombre, si el cuaderno no lo tiene."""
        return self.headings.get(exercise, exercise)


@functools.cache
def topic_outline(topic: str) -> Outline:
    """Lee los títulos en `exercises/TEMA.ipynb`; donde no está, quedan los nombres internos."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", topic):
        return Outline(topic)
    try:
        text = (exercises_folder() / f"{topic}.ipynb").read_text(encoding="utf-8")
    except FileNotFoundError:
        return Outline(topic)
    return _read(topic, json.loads(text)["cells"])


def _read(topic: str, cells: list[Any]) -> Outline:
    title, heading = topic, ""
    headings: dict[str, str] = {}
    chapters: dict[str, str] = {}
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            found = _TITLE.search(source)
            title = found[1] if found else title
            heading = (_HEADING.findall(source) or [heading])[-1]
            chapters |= {page: " ".join(name.split()) for name, page in _CHAPTER.findall(source)}
        else:
            headings |= {name: heading for name in _checked(source) if heading}
    return Outline(title, headings, chapters)


def _checked(source: str) -> list[str]:
    tree = parse_cell(source)
    return [] if tree is None else [n.args[0].value for n in ast.walk(tree) if is_check(n)]
