"""Las notas de una clase, en CSV, y lo que vuelve a Moodle: su hoja y la retroalimentación.

Los formatos son los que Moodle lee en una tarea: la hoja, en `worksheet`; el ZIP, en
mod/assign/feedback/file/importziplib.php. Ningún texto de un estudiante llega a una celda como
fórmula, ni a un comentario como HTML.
"""

from __future__ import annotations

import io
import zipfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import (
    Entry,
    Graded,
    best_by_topic,
    by_student,
    counted_topics,
    refused,
    set_aside,
    topics_worth,
)
from course_lib.grading.classroom.names import clean_name, feedback_folder
from course_lib.grading.classroom.outline import topic_outline
from course_lib.grading.classroom.spreadsheet import html_cell, plain_cell, write_cells
from course_lib.grading.classroom.student_results import percent
from course_lib.grading.classroom.worksheet import (
    Worksheet,
    WorksheetError,
    blank_worksheet,
    read_worksheet,
)

__all__ = [
    "StudentGrade",
    "WorksheetError",
    "read_worksheet",
    "student_grades",
    "write_feedback_zip",
    "write_grades",
    "write_worksheet",
]

FEEDBACK_FILE = "retroalimentacion.html"
_UNTOLD = {"pending": "pendiente", "missing": "falta"}
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


# Las notas de un estudiante


@dataclass(frozen=True)
class StudentGrade:
    """Lo que obtuvo un estudiante.

    Argumentos:
        entry: la primera de sus entregas.
        best: por tema, el cuaderno que cuenta.
        refused: lo que no se calificó.
        set_aside: los cuadernos del curso que venían con lo demás.
        files: cuántos archivos entregó.
    """

    entry: Entry
    best: dict[str, Graded]
    refused: tuple[Graded, ...]
    set_aside: tuple[Graded, ...]
    files: int

    def total(self, topics: Iterable[str]) -> int:
        """Suma los puntos de los temas que cuentan."""
        return sum(self.best[topic].result.points for topic in topics if topic in self.best)


def student_grades(graded: Iterable[Graded]) -> list[StudentGrade]:
    """Da las notas de cada estudiante, en el orden en que llegan."""
    return [
        StudentGrade(
            entry=works[0].entry,
            best={one.result.topic or "": one for one in best_by_topic(works)},
            refused=tuple(refused(works)),
            set_aside=tuple(set_aside(works)),
            files=len(works),
        )
        for works in by_student(graded).values()
    ]


# grades.csv


def write_grades(graded: Sequence[Graded], path: Path, topics: Iterable[str] = ()) -> None:
    """Escribe las notas de la clase en un CSV, con una fila por estudiante.

    Las columnas son el total, los puntos de cada tema y los de cada ejercicio, con lo que valen en
    el encabezado; queda vacío lo que no entregó. Lleva la marca que Excel necesita para leer los
    acentos.

    Argumentos:
        graded: lo calificado.
        path: dónde se escribe.
        topics: los temas que cuentan; si faltan, todos los que se entregaron.
    """
    counted = counted_topics(graded, topics)
    worth = dict(sorted({**counted, **topics_worth(graded)}.items()))
    exercises = {e.exercise: e.max_points for e in _exercises(graded)}
    header = ["Estudiante", "Participante", "Archivos", "Total", "Máximo", "Porcentaje"]
    header += [f"{t} ({n})" if t in counted else f"{t} ({n}, no cuenta)" for t, n in worth.items()]
    header += [f"{name} ({points})" for name, points in exercises.items()]
    rows = [
        [
            *_summary(student, counted),
            *(_points(student, topic) for topic in worth),
            *(_exercise_points(student, name) for name in exercises),
            _remarks(student),
        ]
        for student in student_grades(graded)
    ]
    text = write_cells([[*header, "Observaciones"], *rows], ",", "\r\n")
    write_atomically(path, text.encode("utf-8-sig"))


def _exercises(graded: Iterable[Graded]) -> list:
    results = [one.result for one in graded if one.result.status == "graded"]
    return [e for r in sorted(results, key=lambda r: r.topic or "") for e in r.exercises]


def _summary(student: StudentGrade, counted: dict[str, int]) -> list[str]:
    top, total = sum(counted.values()), student.total(counted)
    known = student.best and counted
    figures = [str(total), str(top), str(percent(total, top))] if known else [""] * 3
    name, number = plain_cell(student.entry.student), student.entry.participant or ""
    return [name, number, str(student.files), *figures]


def _points(student: StudentGrade, topic: str) -> str:
    return str(student.best[topic].result.points) if topic in student.best else ""


def _exercise_points(student: StudentGrade, name: str) -> str:
    results = (e for one in student.best.values() for e in one.result.exercises)
    return next((str(e.points) for e in results if e.exercise == name), "")


def _remarks(student: StudentGrade) -> str:
    found = [_refusal(one) for one in student.refused]
    found += [_aside(student)] if student.set_aside else []
    return plain_cell(clean_name(" | ".join(found), 1000))


def _aside(student: StudentGrade) -> str:
    """Dice qué cuadernos se apartaron."""
    count, names = len(student.set_aside), [one.entry.source for one in student.set_aside[:3]]
    what = "no se calificó un cuaderno" if count == 1 else f"no se calificaron {count} cuadernos"
    return f"{what} del curso, sin cambios: {', '.join(names)}{', …' if count > 3 else ''}"


def _refusal(one: Graded) -> str:
    """Dice por qué no se calificó algo; sin su nombre, si no es de ningún archivo."""
    about_file = one.entry.source != one.entry.student
    return f"{one.entry.source}: {one.result.message}" if about_file else one.result.message


# La hoja de calificaciones


def write_worksheet(
    graded: Sequence[Graded],
    path: Path,
    template: Path | None = None,
    topics: Iterable[str] = (),
) -> list[str]:
    """Escribe la hoja de calificaciones que Moodle lee con «subir hoja de calificaciones».

    Con la hoja descargada como plantilla se conservan sus columnas, su orden, su idioma y quienes
    no entregaron; solo cambian la calificación, proporcional a la máxima de la hoja, y los
    comentarios, detrás de los que ya hubiera. A quien no se le pudo calificar nada no se le pone
    nota: solo el comentario que dice por qué. Sin plantilla, las entregas por equipos no se
    distinguen, porque el número del equipo parece el de una persona: úsala.

    Argumentos:
        graded: lo calificado.
        path: dónde se escribe; nada si no se reconoce a nadie.
        template: la hoja que Moodle descarga con «descargar hoja de calificaciones».
        topics: los temas que cuentan; si faltan, todos los que se entregaron.

    Devuelve:
        list[str]: los estudiantes que no están en la hoja, o comparten un renglón.

    Errores:
        WorksheetError: la plantilla no es una hoja de Moodle, o la tarea usa una escala.
    """
    students, counted = student_grades(graded), counted_topics(graded, topics)
    top, missing = sum(counted.values()), []
    if template is None:
        sheet = blank_worksheet([student.entry for student in students], top)
    else:
        sheet = read_worksheet(template)
    places = _places([sheet.rows_of(student.entry) for student in students])
    for student, rows in zip(students, places, strict=True):
        for row in rows:
            _fill(sheet, row, student, counted)
        if not rows:
            missing.append(student.entry.student)
    if template is not None or len(missing) < len(students):
        write_atomically(path, sheet.content())
    return missing


def _places(found: list[list]) -> list[list]:
    """Deja sin sitio a quienes coinciden en uno: mejor ninguna nota que la de otro."""
    taken = Counter(place for places in found for place in places)
    return [places if all(taken[place] == 1 for place in places) else [] for places in found]


def _fill(sheet: Worksheet, row: int, student: StudentGrade, counted: dict[str, int]) -> None:
    if student.best and counted:
        sheet.set_grade(row, student.total(counted), sum(counted.values()))
    sheet.set_comment(row, _comment(student, counted))


def _comment(student: StudentGrade, counted: dict[str, int]) -> str:
    parts = []
    for topic, one in student.best.items():
        result, note = one.result, "" if topic in counted else ", que no cuentan en esta tarea"
        outline = topic_outline(topic)
        score = f"{result.points} de {result.max_points} puntos{note}"
        parts.append(f"<p><strong>{html_cell(outline.title)}: {score}.</strong></p>")
        lines = [
            _comment_line(outline.heading(e.exercise), e)
            for e in result.exercises
            if e.points < e.max_points
        ]
        parts.append(f"<ul>{''.join(lines)}</ul>" if lines else "")
    for one in student.refused:
        message = html_cell(clean_name(_refusal(one), 600).rstrip("."))
        parts.append(f"<p>Sin calificar: {message}.</p>")
    if student.set_aside:
        parts.append(f"<p>Aparte, {html_cell(clean_name(_aside(student), 600))}.</p>")
    return "".join(parts)


def _comment_line(heading: str, result: object) -> str:
    score = f"{html_cell(heading)} ({result.points} de {result.max_points})"
    message = html_cell(clean_name(result.message or _UNTOLD.get(result.status, ""), 600))
    return f"<li>{score}: {message}</li>" if message else f"<li>{score}</li>"


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
        list[str]: los estudiantes sin sitio en el ZIP, o que comparten uno.

    Errores:
        WorksheetError: la plantilla no es una hoja de Moodle.
    """
    sheet = read_worksheet(template) if template is not None else None
    files: dict[str, str] = {}
    missing = []
    pages = list(pages)
    places = _places([_feedback_folders(entry, sheet) for entry, _ in pages])
    for (entry, page), folders in zip(pages, places, strict=True):
        files |= dict.fromkeys(folders, page)
        if not folders:
            missing.append(entry.student)
    if files:
        write_atomically(path, _zip_bytes(files))
    return missing


def _feedback_folders(entry: Entry, sheet: Worksheet | None) -> list[str]:
    if sheet is None:
        return [entry.folder] if entry.folder else []
    rows = [row for row in sheet.rows_of(entry) if sheet.number(row)]
    if "team" not in sheet.columns and entry.folder and rows:
        return [entry.folder]
    return [feedback_folder(sheet.cell(row, "name"), sheet.number(row)) for row in rows]


def _zip_bytes(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in sorted(files):
            member = zipfile.ZipInfo(f"{folder}/{FEEDBACK_FILE}", _ZIP_DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            member.create_system = 3
            archive.writestr(member, files[folder].encode())
    return content.getvalue()
