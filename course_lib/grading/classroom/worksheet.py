"""La hoja de calificaciones de una tarea de Moodle, que se descarga, se completa y se sube.

Quien la lee es mod/assign/feedback/offline/importgradeslib.php: busca por su nombre las columnas
del identificador, la calificación, su fecha y los comentarios, y no mira las demás. La escribe
mod/assign/gradingtable.php.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import ClassVar

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.untrusted_text import clean_name, plain_cell

_MAX_CELL = 1 << 26
_REQUIRED = ("identifier", "grade", "modified")
_DELIMITERS = (",", ";", "\t", ":")
_NUMBER_OR_DATE = re.compile(r"-?[0-9]+([.,][0-9]+)?|-")
_OURS = re.compile(r'<div class="course-grade">.*?</div>', re.DOTALL)

# Por plataforma y papel, el encabezado de su columna en cada idioma.
HEADERS = tomllib.loads(Path(__file__).with_name("platform_headers.toml").read_text("utf-8"))
_WRITTEN = ("identifier", "name", "grade", "maximum", "modified", "comments")


class WorksheetError(ValueError):
    """La hoja de Moodle no se puede usar; el mensaje dice por qué y qué hacer."""


@dataclass
class Worksheet:
    """Una hoja de calificaciones.

    Argumentos:
        rows: las filas, sin el encabezado.
        header: el encabezado.
        columns: por papel (`identifier`, `grade`, `modified`…), su posición.
        delimiter: lo que separa las celdas.
        newline: lo que separa las filas.
        encoding: la codificación.
    """

    rows: list[list[str]]
    header: list[str]
    columns: dict[str, int]
    delimiter: str = ","
    newline: str = "\r\n"
    encoding: str = "utf-8-sig"
    platform: ClassVar[str] = "moodle"

    def __post_init__(self) -> None:
        self._index: dict[tuple[str, str], list[int]] = {}
        for row in range(len(self.rows)):
            keys = {("number", self.number(row).lstrip("0"))}
            keys |= {(role, comparable(self.cell(row, role))) for role in ("team", "name")}
            for key in keys:
                self._index.setdefault(key, []).append(row)

    def rows_of(self, entry: Entry) -> list[int]:
        """Da las filas de quien entregó: por su número; las de su equipo; o por su nombre."""
        name = comparable(entry.student)
        if "team" in self.columns:  # el número de la entrega es el del equipo, no el de alguien
            return self._index.get(("team", name), [])
        if entry.participant is not None:
            return self._index.get(("number", entry.participant.lstrip("0")), [])
        found = self._index.get(("name", name), [])
        return found if len(found) == 1 else []

    def absent(self, entries: Iterable[Entry]) -> list[str]:
        """Da quienes están en la hoja y no entregaron nada."""
        came = {row for entry in entries for row in self._rows_named(entry)}
        rows = (row for row in range(len(self.rows)) if row not in came)
        return [clean_name(self.cell(row, "name") or self.cell(row, "identifier")) for row in rows]

    def _rows_named(self, entry: Entry) -> list[int]:
        """Las de quien entregó y, si no se sabe cuál es la suya, las de quienes se llaman así."""
        return self.rows_of(entry) or self._index.get(("name", comparable(entry.student)), [])

    def delivered(self, entry: Entry) -> datetime | None:
        """Da cuándo entregó, si la hoja lo dice."""
        rows = self.rows_of(entry)
        return read_date(self.cell(rows[0], "submitted")) if rows else None

    def number(self, row: int) -> str:
        """Da el número del participante, que va al final de «Participante 12»."""
        found = re.search(r"([0-9]+)\s*$", self.cell(row, "identifier"))
        return found[1] if found else ""

    def cell(self, row: int, role: str) -> str:
        """Da la celda de una fila, por su papel; vacía si la hoja no tiene esa columna."""
        column = self.columns.get(role, -1)
        return self.rows[row][column] if 0 <= column < len(self.rows[row]) else ""

    def worth(self, row: int) -> Decimal | None:
        """Da lo que vale la tarea en una fila; None si la hoja no lo dice."""
        text = self.cell(row, "maximum").strip()
        return _decimal(text) if text else None

    def set_grade(self, row: int, points: int | Decimal, top: int | Decimal) -> None:
        """Escribe la nota de una fila, proporcional a la máxima de la hoja."""
        text, maximum = self.cell(row, "maximum"), self.worth(row)
        shown = scaled(points, top, Decimal(top) if maximum is None else maximum)
        self._set(row, "grade", shown.replace(".", ",") if "," in text else shown)

    def set_comment(self, row: int, content: str) -> None:
        """Escribe un comentario detrás del que haya, o en lugar del que se escribió antes así."""
        # Moodle lo guarda como HTML: mod/assign/feedback/comments/locallib.php (set_editor_text).
        if "comments" in self.columns:
            before = _OURS.sub("", self.cell(row, "comments")).rstrip()
            self._set(row, "comments", f'{before}<div class="course-grade">{content}</div>')

    def _set(self, row: int, role: str, text: str) -> None:
        cells = self.rows[row]
        cells += [""] * (len(self.header) - len(cells))
        cells[self.columns[role]] = text

    def content(self) -> bytes:
        """Da los bytes de la hoja; en las columnas que Moodle no lee no queda ninguna fórmula."""
        read = {self.columns[role] for role in (*_REQUIRED, "comments") if role in self.columns}
        rows = [
            [c if i in read or _NUMBER_OR_DATE.fullmatch(c) else plain_cell(c) for i, c in cells]
            for cells in map(enumerate, self.rows)
        ]
        text = write_rows([self.header, *rows], self.delimiter, self.newline)
        # Lo que la codificación no tenga está en un comentario, que es HTML.
        return text.encode(self.encoding, "xmlcharrefreplace")


def blank_worksheet(entries: Iterable[Entry], top: int | Decimal) -> Worksheet:
    """Da una hoja en español con los participantes que entregaron.

    Argumentos:
        entries: una entrega de cada quien.
        top: la calificación máxima.
    """
    # Entre «Participante» y el número va un espacio: el lector de Moodle quita tantos caracteres
    # como tenga la palabra en el idioma de quien la sube (en inglés, uno más, el espacio) y
    # convierte el resto en número. Sin el espacio podría perder la primera cifra.
    rows = [
        [f"Participante {entry.participant}", entry.student, "", str(top), "-", ""]
        for entry in entries
        if entry.participant is not None
    ]
    header = [HEADERS["moodle"][role][0] for role in _WRITTEN]
    return Worksheet(rows, header, _find_columns(header))


def read_worksheet(path: Path) -> Worksheet:
    """Lee la hoja de calificaciones que se descargó de Moodle.

    Errores:
        WorksheetError: no se puede leer, no es esa hoja, o la tarea usa una escala.
    """
    for rows, form in readings(path):
        columns = _find_columns(rows[0])
        if all(role in columns for role in _REQUIRED):
            sheet = Worksheet(rows[1:], rows[0], columns, **form)
            _require_points(sheet, path)
            return sheet
    raise WorksheetError(
        f"«{path}» no es la hoja de calificaciones de Moodle: no tiene las columnas "
        f"Identificador, Calificación y Última modificación (calificación). Descárgala en la "
        f"tarea, con Moodle en español, inglés o catalán."
    )


def _require_points(sheet: Worksheet, path: Path) -> None:
    if "scale" in sheet.columns and "maximum" not in sheet.columns:
        raise WorksheetError(
            f"La tarea de «{path}» se califica con una escala, y aquí se dan puntos: en su "
            f"configuración, elige «Puntuación»."
        )
    for row in range(len(sheet.rows)):
        if text := sheet.cell(row, "maximum").strip():
            _decimal(text)


def _decimal(text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]+([.,][0-9]+)?", text):
        raise WorksheetError(
            f"La calificación máxima de la hoja no es un número («{text[:40]}»): descárgala otra "
            f"vez de Moodle."
        )
    return Decimal(text.replace(",", "."))


def _find_columns(header: Sequence[str]) -> dict[str, int]:
    texts = [comparable(cell) for cell in header]
    found = {}
    for role, names in HEADERS["moodle"].items():
        places = [texts.index(comparable(name)) for name in names if comparable(name) in texts]
        if places:
            found[role] = places[0]
    return found


def read_date(text: str) -> datetime | None:
    """Lee «lunes, 2 de marzo de 2026, 18:30», o lo mismo en inglés o en catalán."""
    words = re.findall(r"[^\W\d_]+", text.casefold())
    named = [month in words for months in HEADERS["months"].values() for month in months]
    months = {place % 12 + 1 for place, found in enumerate(named) if found}
    day = re.search(r"(?<![\d:])\d{1,2}(?![\d:])", text)
    year = re.search(r"\b\d{4}\b", text)
    clock = re.search(r"(\d{1,2}):(\d{2})(?::\d{2})?\s*([ap]?)", text.casefold())
    if not (len(months) == 1 and day and year and clock):
        return None
    hour = int(clock[1]) % 12 + 12 * (clock[3] == "p") if clock[3] else int(clock[1])
    try:
        return datetime(int(year[0]), months.pop(), int(day[0]), hour, int(clock[2]))
    except ValueError:
        return None


def comparable(text: str) -> str:
    text = unicodedata.normalize("NFC", text.replace("_", " "))
    return " ".join(text.split()).casefold()


def scaled(points: int | Decimal, top: int | Decimal, maximum: Decimal) -> str:
    """La nota de quien tiene unos puntos de `top`, en una tarea que vale `maximum`."""
    return str((points * maximum / top).quantize(Decimal("0.01"), ROUND_HALF_UP))


# CSV


def readings(path: Path) -> Iterator[tuple[list[list[str]], dict[str, str]]]:
    """Da las maneras de leer un CSV, una por separador: sus filas, y cómo está escrito.

    Errores:
        WorksheetError: no se puede leer.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WorksheetError(f"No se puede leer la hoja «{path}»: {error.strerror}.") from None
    encoding = encoding_of(content)
    text = content.decode(encoding, "replace")
    newline = "\r\n" if "\r\n" in text else "\n"
    for delimiter in _DELIMITERS:
        if rows := read_rows(text, delimiter):
            yield rows, {"delimiter": delimiter, "newline": newline, "encoding": encoding}


def encoding_of(content: bytes) -> str:
    """Reconoce la codificación de un CSV por su marca, o por si es UTF-8."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"


def read_rows(text: str, delimiter: str) -> list[list[str]]:
    """Lee las filas de un CSV, menos las vacías; ninguna si no se puede leer."""
    before = csv.field_size_limit(_MAX_CELL)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [row for row in rows if row]
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(before)


def write_csv(path: Path, rows: Iterable[Sequence[str]]) -> None:
    """Escribe un CSV nuestro, con la marca que Excel necesita para leer los acentos."""
    write_atomically(path, write_rows(rows, ",", "\r\n").encode("utf-8-sig"))


def write_rows(rows: Iterable[Sequence[str]], delimiter: str, newline: str) -> str:
    """Escribe filas en CSV."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=newline).writerows(rows)
    return file.getvalue()
