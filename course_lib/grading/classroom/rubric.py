"""La rúbrica de los experimentos: una hoja que quien califica llena a mano, y que se vuelve a leer.

El experimento de un tema es abierto, y lo juzga una persona con la rúbrica que está en el cuaderno.
Puestos los puntos, es un ejercicio más: sale en las notas, en las páginas y en Moodle. Mientras
nadie tenga puntos en el de un tema, no cuenta.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from course_lib.grading.classroom.anonymous import ANONYMOUS
from course_lib.grading.classroom.results import Graded, topic_outline
from course_lib.grading.classroom.spreadsheets import by_hand, mark_as_copy, read_by_hand
from course_lib.grading.classroom.untrusted_text import plain_cell
from course_lib.grading.classroom.worksheet import write_csv
from course_lib.grading.sandbox.grader import ExerciseResult

RUBRIC_FILE = "rubric.csv"
_WHO = ["Clave", "Estudiante", "Archivo"]
_COLUMN = re.compile(r"(\w+) ([0-9]+) \(([0-9]+)\)")

Points = dict[str, dict[tuple[str, int], int]]
"""Por estudiante, los puntos de cada criterio (el tema y su número) que ya tiene."""


class RubricError(ValueError):
    """La hoja no se puede leer; el mensaje dice por qué y qué hacer."""


def find_rubric(folder: Path) -> Path | None:
    """Dónde está la hoja de una clase, con nombres o sin ellos; None si todavía no hay.

    Errores:
        RubricError: hay dos.
    """
    places = [folder / RUBRIC_FILE, folder / ANONYMOUS / RUBRIC_FILE]
    found = [path for path in places if by_hand(path).exists()]
    if len(found) == 2:
        raise RubricError(
            f"Hay dos hojas de la rúbrica, «{found[0]}» y «{found[1]}», y no se sabe cuál vale: "
            f"deja una sola."
        )
    return found[0] if found else None


def place_rubric(folder: Path, *, anonymous: bool) -> Path:
    """Da dónde va la hoja, que es con lo que se lee; si estaba en el otro sitio, se lleva allí.

    Errores:
        RubricError: hay dos.
    """
    here = (folder / ANONYMOUS if anonymous else folder) / RUBRIC_FILE
    found = find_rubric(folder)
    if found not in (None, here):
        here.parent.mkdir(exist_ok=True)
        for suffix in (".csv", ".xlsx"):
            if (other := found.with_suffix(suffix)).exists():
                other.replace(here.with_suffix(suffix))
    return here


def read_rubric(path: Path) -> Points:
    """Lee los puntos puestos a mano; ninguno, si todavía no hay hoja.

    Errores:
        RubricError: no es la hoja, la rúbrica cambió, o hay unos puntos que no pueden ser.
    """
    path = by_hand(path)
    if not path.exists():
        return {}
    cells = read_by_hand(path, _WHO[0])
    if not cells:
        raise RubricError(f"«{path}» no es la hoja de la rúbrica: su primera columna es «Clave».")
    header, *rows = cells
    columns = {
        i: _criterion(cell, path) for i, cell in enumerate(header) if i >= len(_WHO) and cell
    }
    return {
        row[0]: {
            columns[i]: _points(cell, header[i], row[0])
            for i, cell in enumerate(row)
            if i in columns and cell.strip()
        }
        for row in rows
    }


def _criterion(cell: str, path: Path) -> tuple[str, int]:
    found = _COLUMN.match(cell)
    if found:
        topic, number, most = found[1], int(found[2]), int(found[3])
        rubric = topic_outline(topic).rubric
        if 0 < number <= len(rubric) and rubric[number - 1].points == most:
            return topic, number
    raise RubricError(
        f"«{path}»: la columna «{cell[:60]}» no está en la rúbrica de ningún tema. Si la rúbrica "
        f"cambió, guarda la hoja con otro nombre y repite la orden: se escribe una nueva."
    )


def _points(cell: str, column: str, student: str) -> int:
    most = int(_COLUMN.match(column)[3])
    if re.fullmatch(r"[0-9]{1,3}", cell.strip()) and int(cell) <= most:
        return int(cell)
    raise RubricError(
        f"La rúbrica, «{student}», columna «{column[:60]}»: se esperaba un entero de 0 a {most}, y "
        f"llegó «{cell.strip()[:20]}». Corrígelo y repite la orden."
    )


def with_rubric(graded: Iterable[Graded], points: Points) -> list[Graded]:
    """Añade a cada entrega su experimento, en los temas en que alguien tiene puntos."""
    counted = {topic for given in points.values() for topic, _ in given}
    return [
        _with_experiment(one, points.get(one.entry.owner, {}))
        if one.result.status == "graded" and one.result.topic in counted
        else one
        for one in graded
    ]


def _with_experiment(one: Graded, given: dict[tuple[str, int], int]) -> Graded:
    topic = one.result.topic
    rubric = topic_outline(topic).rubric
    own = {n: given[topic, n] for n in range(1, len(rubric) + 1) if (topic, n) in given}
    total, most = sum(own.values()), sum(criterion.points for criterion in rubric)
    status = "correct" if total == most else "wrong" if own else "pending"
    told = [f"{c.text} {own.get(n, 0)} de {c.points}" for n, c in enumerate(rubric, 1)]
    experiment = ExerciseResult(f"{topic}.experiment", status, total, most, " · ".join(told))
    result = replace(one.result, exercises=(*one.result.exercises, experiment))
    return replace(one, result=result)


def write_rubric(
    graded: Iterable[Graded], points: Points, path: Path, counted: Collection[str]
) -> bool:
    """Escribe la hoja de los temas que cuentan, y dice si hay algo que valorar.

    Hay una fila por estudiante. Lo ya puesto queda, también lo de quien no está entre las entregas.
    """
    students: dict[str, list[Graded]] = {}
    for one in graded:
        topic = one.result.topic
        if one.result.status == "graded" and topic in counted and topic_outline(topic).rubric:
            students.setdefault(one.entry.owner, []).append(one)
    topics = {one.result.topic for works in students.values() for one in works}
    topics |= {topic for given in points.values() for topic, _ in given}
    if not topics:
        return False
    columns = [
        (topic, number, criterion)
        for topic in sorted(topics)
        for number, criterion in enumerate(topic_outline(topic).rubric, 1)
    ]
    header = [*_WHO, *(f"{t} {n} ({each.points}): {each.text}" for t, n, each in columns)]
    rows = []
    for owner in sorted({*students, *(key for key, given in points.items() if given)}):
        works, given = students.get(owner, []), points.get(owner, {})
        name = plain_cell(works[0].entry.student) if works else ""
        files = plain_cell(", ".join(one.entry.source for one in works))
        cells = [str(given.get((topic, number), "")) for topic, number, _ in columns]
        rows.append([owner, name, files, *cells])
    write_csv(path, [header, *rows])
    mark_as_copy(path)
    return True
