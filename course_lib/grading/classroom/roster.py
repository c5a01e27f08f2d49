"""La lista de una clase: un nombre por estudiante, de un CSV, un `.xlsx` o un texto."""

from __future__ import annotations

from pathlib import Path

from course_lib.grading.classroom.spreadsheets import SpreadsheetError, read_workbook
from course_lib.grading.classroom.untrusted_text import clean_name, slug
from course_lib.grading.classroom.worksheet import HEADERS, comparable, encoding_of, read_rows
from course_lib.judging.owner import words_of

_WHOLE = [
    "Estudiante",
    "Student",
    "Alumno",
    *HEADERS["moodle"]["name"],
    *HEADERS["github"]["names"],
]
_FIRST = [*HEADERS["blackboard"]["first"], "Nombres", "Nombre(s)"]
_LAST = [*HEADERS["blackboard"]["last"], "Apellido(s)", "Apellido", "Surname"]


def read_roster(path: Path) -> list[str]:
    """Da los nombres de una lista, cada uno una vez.

    El encabezado dice en qué columna están («Estudiante», «Nombre completo», o «Nombre» y
    «Apellidos»); sin él, hay una sola columna.

    Errores:
        SpreadsheetError: no se puede leer, no se sabe cuál es la columna, o dos no se distinguen.
    """
    rows = [row for row in _rows(path) if any(cell.strip() for cell in row)]
    columns = _columns(rows[0]) if rows else []
    if not columns and any(cell.strip() for row in rows for cell in row[1:]):
        raise SpreadsheetError(
            f"«{path}»: no se sabe en qué columna están los nombres. Llámala «Estudiante», o deja "
            f"una sola columna."
        )
    listed = rows[1:] if columns else rows
    joined = (" ".join(row[i] for i in columns or [0] if i < len(row)) for row in listed)
    names = [name for name in (clean_name(text, 120) for text in joined) if name]
    if not names:
        raise SpreadsheetError(f"«{path}» no tiene ningún nombre.")
    _require_different(names, path)
    return names


def _rows(path: Path) -> list[list[str]]:
    if path.suffix.lower() == ".xlsx":
        return read_workbook(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SpreadsheetError(f"No se puede leer la lista «{path}»: {error.strerror}.") from None
    text = content.decode(encoding_of(content), "replace")
    first = text.partition("\n")[0]
    delimiter = next((each for each in ("\t", ";", ",") if each in first), "\t")
    rows = read_rows(text, delimiter)
    inverted = delimiter == "," and all(len(row) <= 2 for row in rows)  # García, Ana
    return read_rows(text, "\t") if inverted and not _columns(rows[0] if rows else []) else rows


def _columns(header: list[str]) -> list[int]:
    """En qué columnas está el nombre, según el encabezado; ninguna si no lo es."""
    names = [comparable(cell) for cell in header]

    def place(known: list[str]) -> list[int]:
        return [names.index(comparable(each)) for each in known if comparable(each) in names][:1]

    first, last = place(_FIRST), place(_LAST)
    return first + last if first and last else place(_WHOLE)


def _require_different(names: list[str], path: Path) -> None:
    seen: dict[object, str] = {}
    for name in names:
        for key in (words_of(name), slug(name)):
            if key in seen:
                raise SpreadsheetError(
                    f"«{path}»: «{seen[key]}» y «{name}» no se distinguen. Agrega a uno otro "
                    f"apellido o un número."
                )
            seen[key] = name
