"""El libro de calificaciones de una plataforma, que se descarga, se completa y se sube.

El de Canvas lo lee lib/gradebook_importer.rb: reconoce a cada estudiante por `ID`, y la tarea, por
el número entre paréntesis de su encabezado. El de Blackboard, «trabajar sin conexión», reconoce al
estudiante por su usuario y la columna por el número que sigue a `|`. Una columna que no esté en el
archivo no cambia: el que se sube solo lleva la de la tarea. GitHub Classroom y Google Classroom no
leen ninguno: de ellos sale el nombre de cada quien, y se devuelven con la nota, para copiarla.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.untrusted_text import clean_name, plain_cell
from course_lib.grading.classroom.worksheet import (
    HEADERS,
    WorksheetError,
    comparable,
    read_worksheet,
    readings,
    scaled,
    write_rows,
)

_CANVAS_TASK = re.compile(r"(?P<title>.+) \((?P<id>[0-9]+)\)", re.DOTALL)
_BLACKBOARD_TASK = re.compile(
    r"(?P<title>.*?) ?\[[^\]:]*: ?(?P<top>[0-9]+(?:[.,][0-9]+)?)[^\]]*\] ?\|(?P<id>[0-9]+)",
    re.DOTALL,
)
_CANVAS, _BLACKBOARD = HEADERS["canvas"], HEADERS["blackboard"]
_GITHUB, _GOOGLE = HEADERS["github"], HEADERS["google"]


@dataclass
class CourseGradebook:
    """Un libro de calificaciones, con la columna de una tarea.

    Argumentos:
        platform: de cuál es: `canvas`, `blackboard`, `github` o `google`.
        rows: las filas, con el encabezado.
        students: en qué filas hay estudiantes.
        kept: qué columnas se suben: las que dicen quién es cada quien, y la de la tarea.
        names: en qué columnas está su nombre, en el orden en que se lee.
        number: la columna con que la plataforma distingue a cada quien.
        grade: la de la tarea.
        maximum: cuánto vale la tarea; None si no lo dice.
        when: la columna que dice cuándo entregó; None si no hay.
        delimiter: lo que separa las celdas.
        newline: lo que separa las filas.
        encoding: la codificación.
    """

    platform: str
    rows: list[list[str]]
    students: list[int]
    kept: list[int]
    names: list[int]
    number: int
    grade: int
    maximum: Decimal | None
    when: int | None = None
    delimiter: str = ","
    newline: str = "\r\n"
    encoding: str = "utf-8-sig"
    _index: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False)
    _numbers: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        who = [column for column in self.kept if column != self.grade]
        for row in self.students:
            number = comparable(self._cell(row, self.number))
            self._numbers.setdefault(number, []).append(row)
            whole = comparable(" ".join(self._cell(row, column) for column in self.names))
            for text in {whole, *(comparable(self._cell(row, c)) for c in who)} - {""}:
                self._index.setdefault(text, []).append(row)

    def rows_of(self, entry: Entry) -> list[int]:
        """Da la fila de quien entregó: por su número o su usuario; si no, por su nombre."""
        if entry.participant is not None:
            return self._numbers.get(comparable(entry.participant), [])
        found = self._index.get(comparable(entry.student), [])
        return found if len(found) == 1 else []

    def absent(self, entries: Iterable[Entry]) -> list[str]:
        """Da quienes están en el libro y no entregaron nada."""
        came = {row for entry in entries for row in self._rows_named(entry)}
        named = [self._whole_name(row) for row in self.students if row not in came]
        return [name for name in named if name and name != _CANVAS["test"]]

    def _rows_named(self, entry: Entry) -> list[int]:
        """Las de quien entregó y, si no se sabe cuál es la suya, las de quienes se llaman así."""
        return self.rows_of(entry) or self._index.get(comparable(entry.student), [])

    def delivered(self, entry: Entry) -> datetime | None:
        """Da cuándo entregó, si el libro lo dice: solo el de GitHub, con una fecha ISO."""
        rows = self.rows_of(entry) if self.when is not None else []
        try:
            found = datetime.fromisoformat(self._cell(rows[0], self.when)) if rows else None
        except ValueError:
            return None
        return found.astimezone().replace(tzinfo=None) if found and found.tzinfo else found

    def name_of(self, entry: Entry) -> str:
        """Da el nombre con que figura quien entregó; vacío si no está en el libro."""
        return " ".join(map(self._whole_name, self.rows_of(entry)))

    def _whole_name(self, row: int) -> str:
        return " ".join(clean_name(self._cell(row, column)) for column in self.names).strip()

    def worth(self, row: int) -> Decimal | None:
        """Da lo que vale la tarea; None si el libro no lo dice."""
        return self.maximum

    def set_grade(self, row: int, points: int | Decimal, top: int | Decimal) -> None:
        """Escribe la nota de una fila, proporcional a lo que vale la tarea."""
        whole = Decimal(top) if self.maximum is None else self.maximum
        cells = self.rows[row]
        cells += [""] * (len(self.rows[0]) - len(cells))
        cells[self.grade] = scaled(points, top, whole)

    def set_comment(self, row: int, content: str) -> None:
        """No hace nada: estos libros no llevan comentarios; van en la retroalimentación."""

    def content(self) -> bytes:
        """Da los bytes del libro; fuera de la nota y de lo que identifica, ninguna fórmula."""
        read = {self.number, self.grade}
        rows = [
            [
                self._cell(r, c) if r == 0 or c in read else plain_cell(self._cell(r, c))
                for c in self.kept
            ]
            for r in range(len(self.rows))
        ]
        text = write_rows(rows, self.delimiter, self.newline)
        return text.encode(self.encoding, "replace")

    def _cell(self, row: int, column: int) -> str:
        cells = self.rows[row]
        return cells[column] if column < len(cells) else ""


@runtime_checkable
class GradesSheet(Protocol):
    """Lo que se descargó para poner las notas: una `Worksheet` o un `CourseGradebook`."""

    platform: str

    def rows_of(self, entry: Entry) -> list[int]:
        """Da las filas de quien entregó."""

    def absent(self, entries: Iterable[Entry]) -> list[str]:
        """Da quienes están y no entregaron nada."""

    def delivered(self, entry: Entry) -> datetime | None:
        """Da cuándo entregó, si se dice."""

    def worth(self, row: int) -> Decimal | None:
        """Da lo que vale la tarea en una fila; None si no se dice."""

    def set_grade(self, row: int, points: int | Decimal, top: int | Decimal) -> None:
        """Escribe la nota de una fila."""

    def set_comment(self, row: int, content: str) -> None:
        """Escribe el comentario de una fila, si la plataforma los lee."""

    def content(self) -> bytes:
        """Da los bytes de lo que se sube."""


def read_sheet(path: Path, column: str | None = None) -> GradesSheet:
    """Lee lo que se descargó para poner las notas, de la plataforma que sea.

    Argumentos:
        path: el archivo.
        column: el título o el número de la tarea en el libro de Canvas, de Blackboard o de Google;
            hace falta si tiene varias.

    Errores:
        WorksheetError: no se puede leer, no es de ninguna, o no se sabe qué columna es.
    """
    for rows, form in readings(path):
        if read := _reader_of(rows[0]):
            return read(rows, column, form)
    return read_worksheet(path)


def _reader_of(header: Sequence[str]) -> Callable | None:
    """Reconoce de qué es un libro por su encabezado."""
    names = [cell.strip() for cell in header]
    if names[:2] == _CANVAS["student"][:2]:
        return _read_canvas
    if _GITHUB["user"] in names:
        return _read_github
    if any(mail in names[2:3] for mail in _GOOGLE["mail"]):
        return _read_google
    return _read_blackboard if any(user in names for user in _BLACKBOARD["user"]) else None


def _read_canvas(rows: list[list[str]], column: str | None, form: dict) -> CourseGradebook:
    header = [cell.strip() for cell in rows[0]]
    tasks = {i: m for i, cell in enumerate(header) if (m := _CANVAS_TASK.fullmatch(cell))}
    grade = _chosen(tasks, column)
    worth = [row for row in rows if row and _CANVAS["worth"] in row[0]]
    text = worth[0][grade].strip() if worth and grade < len(worth[0]) else ""
    if _CANVAS["fixed"] in text:
        raise WorksheetError(f"La columna «{header[grade]}» es de solo lectura en Canvas.")
    # Antes de los estudiantes puede ir una fila que dice qué notas están ocultas.
    first = rows.index(worth[0]) + 1 if worth else 1
    students = [i for i in range(first, len(rows)) if len(rows[i]) > 1 and rows[i][1].strip()]
    kept = [i for i, cell in enumerate(header) if cell in _CANVAS["student"]]
    top = _decimal(text)
    return CourseGradebook("canvas", rows, students, [*kept, grade], [0], 1, grade, top, **form)


def _read_blackboard(rows: list[list[str]], column: str | None, form: dict) -> CourseGradebook:
    header = [cell.strip() for cell in rows[0]]
    tasks = {i: m for i, cell in enumerate(header) if (m := _BLACKBOARD_TASK.fullmatch(cell))}
    grade = _chosen(tasks, column)
    user = next(i for i, cell in enumerate(header) if cell in _BLACKBOARD["user"])
    kept = [i for i, cell in enumerate(header) if any(cell in n for n in _BLACKBOARD.values())]
    top = _decimal(tasks[grade]["top"])
    named = (_BLACKBOARD["first"], _BLACKBOARD["last"])
    names = [i for part in named for i, cell in enumerate(header) if cell in part]
    who = (list(range(1, len(rows))), [*kept, grade], names, user)
    return CourseGradebook("blackboard", rows, *who, grade, top, **form)


def _read_github(rows: list[list[str]], column: str | None, form: dict) -> CourseGradebook:
    """La lista de GitHub Classroom, o sus notas; la nuestra va en una columna nueva al final."""
    header = [cell.strip() for cell in rows[0]]
    width = len(header)
    rows[0].append(_GITHUB["grade"])
    for row in rows[1:]:
        row += [""] * (width + 1 - len(row))
    names = [header.index(name) for name in _GITHUB["names"] if name in header]
    # Una lista sin nombres reales los lleva en el identificador.
    filled = [i for i in names if any(row[i].strip() for row in rows[1:])]
    when = header.index(_GITHUB["when"]) if _GITHUB["when"] in header else None
    user, everyone = header.index(_GITHUB["user"]), list(range(1, len(rows)))
    places = (list(range(width + 1)), filled[:1], user, width)
    return CourseGradebook("github", rows, everyone, *places, None, when, **form)


def _read_google(rows: list[list[str]], column: str | None, form: dict) -> CourseGradebook:
    """Las notas de Google Classroom: apellidos, nombre, correo y una columna por tarea."""
    header = [cell.strip() for cell in rows[0]]
    tasks = {i: {"title": cell, "id": str(i + 1)} for i, cell in enumerate(header) if i > 2}
    grade = _chosen(tasks, column)
    worth = [row for row in rows if row and row[0].strip() in _GOOGLE["worth"]]
    top = _decimal(worth[0][grade].strip()) if worth and grade < len(worth[0]) else None
    students = [i for i, row in enumerate(rows) if len(row) > 2 and "@" in row[2]]
    return CourseGradebook(
        "google", rows, students, [0, 1, 2, grade], [1, 0], 2, grade, top, **form
    )


def _chosen(tasks: dict[int, Any], column: str | None) -> int:
    """La columna de la tarea: la que se pide, o la única que hay."""
    wanted = comparable(column or "")
    found = [i for i, m in tasks.items() if wanted in ("", m["id"], comparable(m["title"]))]
    if len(found) == 1:
        return found[0]
    titles = ", ".join(f"«{clean_name(m['title'])}» ({m['id']})" for m in tasks.values())
    if not tasks:
        raise WorksheetError("El libro de calificaciones no tiene la columna de ninguna tarea.")
    if column is None:
        told = "tiene varias tareas: di cuál con --column, por su título o su número"
    else:
        told = f"no tiene una tarea «{column}»" if not found else f"tiene varias tareas «{column}»"
    raise WorksheetError(f"El libro de calificaciones {told}. Las que hay: {titles}.")


def _decimal(text: str) -> Decimal | None:
    text = text.replace(",", ".")
    return Decimal(text) if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) and float(text) > 0 else None
