"""Lo que vuelve a Moodle: la hoja de calificaciones y la retroalimentación; y las notas en CSV.

Los formatos son los que Moodle lee en una tarea: la hoja, en
mod/assign/feedback/offline/importgradeslib.php; el ZIP, en
mod/assign/feedback/file/importziplib.php. Ningún texto de un estudiante llega a una celda como
fórmula, ni a un comentario como HTML.
"""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.collection import Entry, Graded, best_by_topic, by_student
from course_lib.grading.names import clean_name

FEEDBACK_FILE = "retroalimentacion.html"
_MAX_CELL = 1 << 26
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)
_PLUGIN_SUFFIX = "_assignsubmission_file_"

# Los encabezados que el lector de Moodle busca, en el idioma de quien la descargó: `recordid`,
# `lastmodifiedgrade`, `maxgrade`, `submissionteam` y `scale` de mod_assign, `grade` (después,
# `gradenoun`) y `fullname` del núcleo, y `pluginname` de assignfeedback_comments.
_HEADERS = {
    "identifier": ("Identificador", "Identifier"),
    "name": ("Nombre completo", "Nombre", "Full name", "Nom complet", "Nom"),
    "grade": ("Calificación", "Grade", "Qualificació"),
    "maximum": ("Calificación máxima", "Maximum grade", "Qualificació màxima"),
    "modified": (
        "Última modificación (calificación)",
        "Last modified (grade)",
        "Darrera modificació (qualificació)",
    ),
    "comments": (
        "Comentarios de retroalimentación",
        "Feedback comments",
        "Comentaris de retroalimentació",
    ),
    "team": ("Grupo", "Group", "Grup"),
    "scale": ("Escala", "Scale"),
}
_REQUIRED = ("identifier", "grade", "modified")
_SPANISH = (
    "Identificador",
    "Nombre completo",
    "Calificación",
    "Calificación máxima",
    "Última modificación (calificación)",
    "Comentarios de retroalimentación",
)
_DELIMITERS = (",", ";", "\t", ":")


class WorksheetError(ValueError):
    """La hoja de Moodle no se puede usar; el mensaje dice por qué y qué hacer."""


# Las notas de un estudiante


@dataclass(frozen=True)
class StudentGrade:
    """Lo que obtuvo un estudiante.

    Argumentos:
        entry: la primera de sus entregas.
        best: por tema, el cuaderno que cuenta.
        refused: lo que no se pudo calificar.
        files: cuántos archivos entregó.
    """

    entry: Entry
    best: dict[str, Graded]
    refused: tuple[Graded, ...]
    files: int

    @property
    def points(self) -> int:
        """La suma, sobre los temas, de los puntos del cuaderno que cuenta."""
        return sum(one.result.points for one in self.best.values())


def student_grades(graded: Iterable[Graded]) -> list[StudentGrade]:
    """Da las notas de cada estudiante, en el orden en que llegan."""
    return [
        StudentGrade(
            entry=works[0].entry,
            best={one.result.topic or "": one for one in best_by_topic(works)},
            refused=tuple(one for one in works if one.result.status != "graded"),
            files=len(works),
        )
        for works in by_student(graded).values()
    ]


def topic_points(graded: Iterable[Graded]) -> dict[str, int]:
    """Da los temas que alguien entregó y lo que vale cada uno."""
    done = [one.result for one in graded if one.result.status == "graded"]
    return {r.topic: r.max_points for r in sorted(done, key=lambda r: r.topic or "")}


# grades.csv


def write_grades(graded: Sequence[Graded], path: Path) -> None:
    """Escribe las notas de la clase en un CSV, con una fila por estudiante.

    Las columnas son el total, los puntos de cada tema y los de cada ejercicio, con lo que valen en
    el encabezado; queda vacío lo que no entregó. Lleva la marca que Excel necesita para leer los
    acentos.
    """
    topics = topic_points(graded)
    exercises = _exercises(graded)
    top = sum(topics.values())
    header = ["Estudiante", "Participante", "Archivos", "Total", "Máximo", "Porcentaje"]
    header += [f"{topic} ({points})" for topic, points in topics.items()]
    header += [f"{name} ({points})" for name, points in exercises.items()]
    rows = [
        [
            *_summary(student, top),
            *(_points(student, topic) for topic in topics),
            *(_exercise_points(student, name) for name in exercises),
            _remarks(student),
        ]
        for student in student_grades(graded)
    ]
    text = _csv_text([[*header, "Observaciones"], *rows], ",", "\r\n")
    write_atomically(path, text.encode("utf-8-sig"))


def _summary(student: StudentGrade, top: int) -> list[str]:
    entry, total = student.entry, student.points
    share = f"{100 * total / top:.0f}" if top and student.best else ""
    shown = str(total) if student.best else ""
    name, number = plain_cell(entry.student), entry.participant or ""
    return [name, number, str(student.files), shown, str(top), share]


def _exercises(graded: Iterable[Graded]) -> dict[str, int]:
    results = sorted(
        (one.result for one in graded if one.result.status == "graded"),
        key=lambda result: result.topic or "",
    )
    return {e.exercise: e.max_points for result in results for e in result.exercises}


def _points(student: StudentGrade, topic: str) -> str:
    return str(student.best[topic].result.points) if topic in student.best else ""


def _exercise_points(student: StudentGrade, name: str) -> str:
    results = (e for one in student.best.values() for e in one.result.exercises)
    return next((str(e.points) for e in results if e.exercise == name), "")


def _remarks(student: StudentGrade) -> str:
    found = [f"{one.entry.source}: {one.result.message}" for one in student.refused]
    return plain_cell(clean_name(" | ".join(found), 1000))


# La hoja de calificaciones


def write_worksheet(
    graded: Sequence[Graded], path: Path, template: Path | None = None
) -> list[str]:
    """Escribe la hoja de calificaciones que Moodle lee con «subir hoja de calificaciones».

    Con la hoja descargada como plantilla se conservan sus columnas, su orden, su idioma y quienes
    no entregaron; solo cambian la calificación, proporcional a la máxima de la hoja, y los
    comentarios, detrás de los que ya hubiera. A quien no se le pudo calificar nada no se le pone
    nota: solo el comentario que dice por qué. El máximo es la suma de los temas que alguien
    entregó.

    Argumentos:
        graded: lo calificado.
        path: dónde se escribe; nada si no se reconoce a nadie.
        template: la hoja que Moodle descarga con «descargar hoja de calificaciones».

    Devuelve:
        list[str]: los estudiantes que no están en la hoja.

    Errores:
        WorksheetError: la plantilla no es una hoja de Moodle, o la tarea usa una escala.
    """
    students = student_grades(graded)
    top = sum(topic_points(graded).values())
    sheet = _blank_sheet(students, top) if template is None else read_worksheet(template)
    missing = []
    for student in students:
        rows = sheet.rows_of(student.entry)
        for row in rows:
            sheet.fill(row, student, top)
        if not rows:
            missing.append(student.entry.student)
    if template is not None or len(missing) < len(students):
        write_atomically(path, sheet.content())
    return missing


@dataclass
class Worksheet:
    """Una hoja de calificaciones de Moodle.

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

    def __post_init__(self) -> None:
        self._index: dict[tuple[str, str], list[int]] = {}
        for row in range(len(self.rows)):
            keys = {("number", self.number(row).lstrip("0"))}
            keys |= {(role, _comparable(self.cell(row, role))) for role in ("team", "name")}
            for key in keys:
                self._index.setdefault(key, []).append(row)

    def rows_of(self, entry: Entry) -> list[int]:
        """Da las filas de quien entregó: por su número; las de su equipo; o por su nombre."""
        name = _comparable(entry.student)
        if "team" in self.columns:  # el número de la entrega es el del equipo, no el de alguien
            return self._index.get(("team", name), [])
        if entry.participant is not None:
            return self._index.get(("number", entry.participant.lstrip("0")), [])
        found = self._index.get(("name", name), [])
        return found if len(found) == 1 else []

    def number(self, row: int) -> str:
        """El número del participante, que va al final de «Participante 12»."""
        found = re.search(r"([0-9]+)\s*$", self.cell(row, "identifier"))
        return found[1] if found else ""

    def cell(self, row: int, role: str) -> str:
        column = self.columns.get(role, -1)
        return self.rows[row][column] if 0 <= column < len(self.rows[row]) else ""

    def fill(self, row: int, student: StudentGrade, top: int) -> None:
        """Escribe la nota y el comentario de un estudiante en su fila."""
        cells = self.rows[row]
        cells += [""] * (len(self.header) - len(cells))
        if student.best and top:
            cells[self.columns["grade"]] = self._grade(row, student.points, top)
        if "comments" in self.columns:
            place = self.columns["comments"]
            cells[place] = _with_comment(cells[place], _comment(student))

    def _grade(self, row: int, points: int, top: int) -> str:
        text = self.cell(row, "maximum").strip()
        maximum = _decimal(text) if text else Decimal(top)
        exact = points * maximum / top
        shown = str(exact.quantize(Decimal("0.01"), ROUND_HALF_UP))
        return shown.replace(".", ",") if "," in text else shown

    def content(self) -> bytes:
        """Da los bytes de la hoja."""
        kept = {self.columns[role] for role in (*_REQUIRED, "comments") if role in self.columns}
        rows = [
            [c if i in kept or _PLAIN_NUMBER.fullmatch(c) else plain_cell(c) for i, c in cells]
            for cells in map(enumerate, self.rows)
        ]
        text = _csv_text([self.header, *rows], self.delimiter, self.newline)
        # Lo que la codificación no tenga está en un comentario, que es HTML.
        return text.encode(self.encoding, "xmlcharrefreplace")


def _blank_sheet(students: Iterable[StudentGrade], top: int) -> Worksheet:
    # Entre «Participante» y el número va un espacio: el lector de Moodle quita tantos caracteres
    # como tenga la palabra en el idioma de quien la sube («Participante», «Participant ») y
    # convierte el resto en número. Sin el espacio podría perder la primera cifra.
    rows = [
        [f"Participante {s.entry.participant}", s.entry.student, "", str(top), "-", ""]
        for s in students
        if s.entry.participant is not None
    ]
    return Worksheet(rows, list(_SPANISH), _find_columns(list(_SPANISH)))


def read_worksheet(path: Path) -> Worksheet:
    """Lee la hoja de calificaciones que se descargó de Moodle.

    Errores:
        WorksheetError: no se puede leer, no es esa hoja, o la tarea usa una escala.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise WorksheetError(f"No se puede leer la hoja «{path}»: {error.strerror}.") from None
    encoding = _encoding_of(content)
    text = content.decode(encoding, "replace")
    for delimiter in _DELIMITERS:
        rows = _csv_rows(text, delimiter)
        columns = _find_columns(rows[0]) if rows else {}
        if all(role in columns for role in _REQUIRED):
            break
    else:
        raise WorksheetError(
            f"«{path}» no es la hoja de calificaciones de Moodle: no tiene las columnas "
            f"Identificador, Calificación y Última modificación (calificación). Descárgala en la "
            f"tarea, con Moodle en español, inglés o catalán."
        )
    if "scale" in columns and "maximum" not in columns:
        raise WorksheetError(
            f"La tarea de «{path}» se califica con una escala, y aquí se dan puntos: en su "
            f"configuración, elige «Puntuación»."
        )
    newline = "\r\n" if "\r\n" in text else "\n"
    return Worksheet(rows[1:], rows[0], columns, delimiter, newline, encoding)


def _encoding_of(content: bytes) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"


def _csv_rows(text: str, delimiter: str) -> list[list[str]]:
    before = csv.field_size_limit(_MAX_CELL)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [row for row in rows if row]
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(before)


def _csv_text(rows: Iterable[Sequence[str]], delimiter: str, newline: str) -> str:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=newline).writerows(rows)
    return file.getvalue()


def _find_columns(header: Sequence[str]) -> dict[str, int]:
    texts = [_comparable(cell) for cell in header]
    found = {}
    for role, names in _HEADERS.items():
        places = [texts.index(_comparable(name)) for name in names if _comparable(name) in texts]
        if places:
            found[role] = places[0]
    return found


def _comparable(text: str) -> str:
    text = unicodedata.normalize("NFC", text.replace("_", " "))
    return " ".join(text.split()).casefold()


def _decimal(text: str) -> Decimal:
    if not re.fullmatch(r"[0-9]+([.,][0-9]+)?", text):
        raise WorksheetError(
            f"La calificación máxima de la hoja no es un número («{text[:40]}»): descárgala otra "
            f"vez de Moodle."
        )
    return Decimal(text.replace(",", "."))


# Los comentarios, que Moodle guarda como HTML (mod/assign/feedback/comments/locallib.php)

_OURS = re.compile(r'<div class="course-grade">.*?</div>', re.DOTALL)


def _with_comment(before: str, comment: str) -> str:
    """Pone el comentario detrás de lo que escribió una persona, en lugar del anterior."""
    return _OURS.sub("", before).rstrip() + comment


def _comment(student: StudentGrade) -> str:
    parts = []
    for topic, one in student.best.items():
        result = one.result
        score = f"{result.points} de {result.max_points} puntos"
        parts.append(f"<p><strong>{_escaped(topic)}: {score}.</strong></p>")
        lines = [
            f"<li>{_escaped(e.exercise)} ({e.points} de {e.max_points})"
            f"{': ' + _escaped(clean_name(e.message, 600)) if e.message else ''}</li>"
            for e in result.exercises
            if e.points < e.max_points
        ]
        parts.append(f"<ul>{''.join(lines)}</ul>" if lines else "")
    for one in student.refused:
        message = f"{one.entry.source}: {one.result.message}"
        parts.append(f"<p>No se calificó {_escaped(clean_name(message, 600))}.</p>")
    return f'<div class="course-grade">{"".join(parts)}</div>'


def _escaped(text: str) -> str:
    """Escapa un texto para HTML dentro de una celda de CSV.

    Excel puede partir la celda por un separador que no es el del archivo: lo que venga después
    tampoco debe empezar como fórmula. La barra invertida, delante de unas comillas, confunde al
    lector de CSV de PHP.
    """
    return _FORMULAS.sub(
        lambda found: found[1] + re.sub(r"\S", lambda c: f"&#{ord(c[0])};", found[2]),
        html.escape(text).replace("\\", "&#92;"),
    )


# Lo que una hoja de cálculo puede tomar por el comienzo de una fórmula, también detrás de un
# separador; las formas anchas valen igual en algunos idiomas.
_START, _SIGN = r"""((?:^|[;,|\t\r\n"'])\s*)""", r"=+\-@＝＋－＠"
_FORMULA = re.compile(rf"{_START}([{_SIGN}])")
_FORMULAS = re.compile(rf"{_START}([{_SIGN}][{_SIGN}\s]*)")
_PLAIN_NUMBER = re.compile(r"-?[0-9]+([.,][0-9]+)?|-")


def plain_cell(text: str) -> str:
    """Deja un texto ajeno como texto: ninguna hoja de cálculo lo toma por una fórmula."""
    return _BACKSLASH.sub(r"\\ ", _FORMULA.sub(r"\1'\2", text))


_BACKSLASH = re.compile(r'\\(?="|$)')


# La retroalimentación


def write_feedback_zip(
    pages: Iterable[tuple[Entry, str]], path: Path, template: Path | None = None
) -> list[str]:
    """Escribe el ZIP de «subir múltiples archivos de retroalimentación en un ZIP».

    Cada página va en la carpeta NOMBRE_NÚMERO_assignsubmission_file_, que es lo que Moodle mira
    para saber de quién es. Con la misma entrada, los bytes son los mismos.

    Argumentos:
        pages: una entrega de cada estudiante y su página HTML.
        path: dónde se escribe; nada si no hay ningún participante de Moodle.
        template: la hoja de calificaciones descargada; hace falta si se entrega por equipos, cuyo
            número no es el de ningún participante.

    Devuelve:
        list[str]: los estudiantes sin sitio en el ZIP.

    Errores:
        ValueError: dos páginas para la misma persona.
        WorksheetError: la plantilla no es una hoja de Moodle.
    """
    sheet = read_worksheet(template) if template is not None else None
    files: dict[str, str] = {}
    missing = []
    for entry, page in pages:
        folders = _feedback_folders(entry, sheet)
        if not folders:
            missing.append(entry.student)
        for folder in folders:
            if folder in files:
                raise ValueError(f"Hay dos páginas para «{folder}»: junta las de cada estudiante.")
            files[folder] = page
    if files:
        write_atomically(path, _zip_bytes(files))
    return missing


def _feedback_folders(entry: Entry, sheet: Worksheet | None) -> list[str]:
    if sheet is None:
        return [entry.folder] if entry.folder else []
    found = []
    for row in sheet.rows_of(entry):
        name = clean_name(re.sub(r'[\\/:*?"<>|_]', " ", sheet.cell(row, "name"))) or "Participante"
        found += [f"{name}_{sheet.number(row)}{_PLUGIN_SUFFIX}"] if sheet.number(row) else []
    return found


def _zip_bytes(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in sorted(files):
            member = zipfile.ZipInfo(f"{folder}/{FEEDBACK_FILE}", _ZIP_DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            member.create_system = 3
            archive.writestr(member, files[folder].encode())
    return content.getvalue()
