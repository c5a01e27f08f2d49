"""Las notas de una clase, en CSV, y lo que vuelve a la plataforma: su hoja y la retroalimentación.

Los formatos son los que cada una lee: la hoja de Moodle, en `worksheet`; el libro de Canvas o de
Blackboard, en `course_gradebook`; los nombres del ZIP, en `platform_names`. Ningún texto de un
estudiante llega a una celda como fórmula, ni a un comentario como HTML.
"""

from __future__ import annotations

import html
import io
import re
import tomllib
import zipfile
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.course_gradebook import GradesSheet
from course_lib.grading.classroom.platform_names import feedback_folder
from course_lib.grading.classroom.results import ClassResults, Graded, Student, short_number
from course_lib.grading.classroom.untrusted_text import clean_name, html_cell, plain_cell
from course_lib.grading.classroom.worksheet import Worksheet, blank_worksheet, write_csv
from course_lib.grading.sandbox.grader import ExerciseResult
from course_lib.scales import Scale

FEEDBACK_FILE = "retroalimentacion.html"
_UNTOLD = {"pending": "pendiente", "missing": "falta"}
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]+)?")
_NOT_IN_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|[\ud800-\udfff]")
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_SHEET = "xl/worksheets/sheet1.xml"
_ZIP_DATE = (1980, 1, 1, 0, 0, 0)


# grades.csv


def write_grades(results: ClassResults, path: Path) -> None:
    """Escribe las notas de la clase en un CSV, con una fila por estudiante.

    Las columnas son el total, los puntos de cada tema y los de cada ejercicio, con lo que valen en
    el encabezado; queda vacío lo que no entregó. Lleva la marca que Excel necesita para leer los
    acentos. Lo mismo queda al lado en `.xlsx`, con los números como números.

    Argumentos:
        results: lo que obtuvo la clase.
        path: dónde se escribe.
    """
    worth = dict(sorted({**results.counted, **results.worth}.items()))
    exercises = {e.name: e.max_points for topic in results.explained for e in topic.exercises}
    header = ["Estudiante", "Participante", "Archivos", "Total", "Máximo", "Porcentaje"]
    header += _grade_header(results)
    header += [
        f"{t} ({n})" if t in results.counted else f"{t} ({n}, no cuenta)" for t, n in worth.items()
    ]
    header += [f"{name} ({points})" for name, points in exercises.items()]
    rows = [
        [
            *_summary(student, known=student.has_grade),
            *_grade_cells(student, _grade_header(results)),
            *_points(student, worth, exercises),
            _remarks(student),
        ]
        for student in results.students
    ]
    rows = [[*header, "Observaciones"], *rows]
    write_csv(path, rows)
    _write_spreadsheet(rows, path.with_suffix(".xlsx"))


def _write_spreadsheet(rows: list[list[str]], path: Path) -> None:
    """Escribe las filas en una hoja de cálculo (ECMA-376): con números, y sin ninguna fórmula."""
    lines = "".join(
        f"<row>{''.join(_sheet_cell(text, number=i > 1) for i, text in enumerate(row))}</row>"
        for row in rows
    )
    text = Path(__file__).with_name("workbook.toml").read_text(encoding="utf-8")
    parts = {name: _XML + part for name, part in tomllib.loads(text).items()}
    parts[_SHEET] = parts[_SHEET].replace("ROWS", lines)
    write_atomically(path, _zip_bytes(parts))


def _sheet_cell(text: str, *, number: bool) -> str:
    if number and _NUMBER.fullmatch(text):
        return f"<c><v>{text}</v></c>"
    plain = html.escape(_NOT_IN_XML.sub("", text))
    return f'<c t="inlineStr"><is><t xml:space="preserve">{plain}</t></is></c>'


def _summary(student: Student, *, known: bool) -> list[str]:
    """Quién es y su total; vacío si no tiene nota."""
    points = short_number(student.points)
    total = [points, student.max_points, student.percent] if known else [""] * 3
    name, own = plain_cell(student.entry.student), student.entry.participant or ""
    return [name, own, str(len(student.works)), *map(str, total)]


def _grade_header(results: ClassResults) -> list[str]:
    """Las columnas de la nota: ninguna si el curso solo da puntos."""
    scale = results.course.scale
    if scale is None:
        return []
    return [f"Nota ({scale.name})"] + (["Aprueba"] if scale.passing is not None else [])


def _grade_cells(student: Student, header: list[str]) -> list[str]:
    if student.grade is None:
        return [""] * len(header)
    cells = [plain_cell(student.grade.text), "sí" if student.grade.passed else "no"]
    return cells[: len(header)]


def _points(student: Student, topics: Iterable[str], exercises: Iterable[str]) -> list[str]:
    """Sus puntos en cada tema y en cada ejercicio; vacíos donde no entregó."""
    found = {name: topic.points for name, topic in student.best.items()}
    found |= {e.exercise: e.points for t in student.topics for e in t.result.exercises}
    return [short_number(found[name]) if name in found else "" for name in (*topics, *exercises)]


def _remarks(student: Student) -> str:
    found = [_refusal(one) for one in student.refused]
    found += [_aside(student)] if student.set_aside else []
    found += student.adjustments
    found += [f"sin nota: {student.off_topic}"] if student.off_topic else []
    return plain_cell(clean_name(" | ".join(found), 1000))


def _aside(student: Student) -> str:
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
    results: ClassResults, path: Path, template: GradesSheet | None = None
) -> list[str]:
    """Escribe la hoja de calificaciones que Moodle lee con «subir hoja de calificaciones».

    Con el libro de Canvas o de Blackboard como plantilla, escribe ese. Con la hoja descargada de
    Moodle se conservan sus columnas, su orden, su idioma y quienes no entregaron; solo cambian la
    calificación, proporcional a la máxima de la hoja, y los comentarios, detrás de los que ya
    hubiera. Si el curso tiene una escala de números y la tarea vale lo que su nota más alta, la
    calificación es la nota. A quien no se le pudo calificar nada, o nada que cuente, no se le pone
    nota: solo el comentario que dice por qué. Sin plantilla, las entregas por equipos no se
    distinguen, porque el número del equipo parece el de una persona: úsala.

    Argumentos:
        results: lo que obtuvo la clase.
        path: dónde se escribe; nada si no se reconoce a nadie.
        template: la hoja que Moodle descarga con «descargar hoja de calificaciones», o el libro de
            Canvas o de Blackboard, que se llena.

    Devuelve:
        list[str]: los estudiantes que no están en la hoja, o comparten un renglón.
    """
    students, scale = results.students, results.course.scale
    top = results.max_points if scale is None or scale.highest is None else scale.highest
    sheet = template or blank_worksheet([s.entry for s in students], top)
    places = _places([sheet.rows_of(student.entry) for student in students])
    missing = []
    for student, rows in zip(students, places, strict=True):
        for row in rows:
            if student.has_grade:
                sheet.set_grade(row, *_grade_out_of(student, scale, sheet.worth(row)))
            sheet.set_comment(row, _comment(student))
        if not rows:
            missing.append(student.entry.student)
    if template is not None or len(missing) < len(students):
        write_atomically(path, sheet.content())
    return missing


def _grade_out_of(
    student: Student, scale: Scale | None, worth: Decimal | None
) -> tuple[int | Decimal, int | Decimal]:
    """Lo que obtuvo y de cuánto: en la escala, si la tarea vale lo que ella; si no, en puntos."""
    numbers = student.grade is not None and student.grade.value is not None
    if not numbers or worth not in (None, scale.highest):
        return student.points, student.max_points
    return student.grade.value, scale.highest


def _places(found: list[list]) -> list[list]:
    """Deja sin sitio a quienes coinciden en uno: mejor ninguna nota que la de otro."""
    taken = Counter(place for places in found for place in places)
    return [places if all(taken[place] == 1 for place in places) else [] for places in found]


def _comment(student: Student) -> str:
    parts = []
    for topic in student.best.values():
        result, note = topic.result, "" if topic.counts else ", que no cuentan en esta tarea"
        score = f"{short_number(result.points)} de {result.max_points} puntos{note}"
        parts.append(f"<p><strong>{html_cell(topic.outline.title)}: {score}.</strong></p>")
        lines = [
            _comment_line(each.heading, each.result)
            for each in topic.exercises
            if each.result.points < each.result.max_points
        ]
        parts.append(f"<ul>{''.join(lines)}</ul>" if lines else "")
    parts += [f"<p>{html_cell(told)}.</p>" for told in student.adjustments]
    if student.off_topic:
        parts.append(f"<p>Sin nota: {html_cell(student.off_topic)}.</p>")
    for one in student.refused:
        message = html_cell(clean_name(_refusal(one), 600).rstrip("."))
        parts.append(f"<p>Sin calificar: {message}.</p>")
    if student.set_aside:
        parts.append(f"<p>Aparte, {html_cell(clean_name(_aside(student), 600))}.</p>")
    return "".join(parts)


def _comment_line(heading: str, result: ExerciseResult) -> str:
    score = f"{html_cell(heading)} ({short_number(result.points)} de {result.max_points})"
    said = clean_name(result.message or _UNTOLD.get(result.status, ""), 600)
    end = "." if said and said[-1] not in ".!?…:" else ""
    return f"<li>{score}: {html_cell(said)}{end}</li>" if said else f"<li>{score}</li>"


# La retroalimentación


def write_feedback_zip(
    pages: Iterable[tuple[Entry, str]],
    path: Path,
    template: GradesSheet | None = None,
) -> list[str]:
    """Escribe el ZIP de «subir múltiples archivos de retroalimentación en un ZIP».

    En el de Moodle, cada página va en la carpeta NOMBRE_NÚMERO_assignsubmission_file_; en el de
    Canvas, con el principio del nombre que él puso a lo entregado: es lo que miran para saber de
    quién es. Con la misma entrada, los bytes son los mismos.

    Argumentos:
        pages: una entrega de cada estudiante y su página HTML.
        path: dónde se escribe; nada si nadie viene de Moodle ni de Canvas.
        template: la hoja de calificaciones descargada; hace falta si se entrega por equipos, cuyo
            número no es el de ningún participante.

    Devuelve:
        list[str]: los estudiantes sin sitio en el ZIP, o que comparten uno.
    """
    files: dict[str, str] = {}
    missing = []
    pages = list(pages)
    places = _places([_feedback_names(entry, template) for entry, _ in pages])
    for (entry, page), names in zip(pages, places, strict=True):
        files |= dict.fromkeys(names, page)
        if not names:
            missing.append(entry.student)
    if files:
        write_atomically(path, _zip_bytes(files))
    return missing


def _feedback_names(entry: Entry, sheet: GradesSheet | None) -> list[str]:
    """Los nombres de su página en el ZIP: uno, o uno por cada quien de su equipo."""
    if entry.platform == "canvas":
        return [f"{entry.folder}{FEEDBACK_FILE}"]
    if isinstance(sheet, Worksheet):
        rows = [row for row in sheet.rows_of(entry) if sheet.number(row)]
        folders = [feedback_folder(sheet.cell(row, "name"), sheet.number(row)) for row in rows]
        if "team" not in sheet.columns and entry.folder and rows:
            folders = [entry.folder]
    else:
        folders = [entry.folder] if entry.folder else []
    return [f"{folder}/{FEEDBACK_FILE}" for folder in folders]


def _zip_bytes(files: dict[str, str]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            member = zipfile.ZipInfo(name, _ZIP_DATE)
            member.compress_type, member.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            member.create_system = 3
            archive.writestr(member, files[name].encode())
    return content.getvalue()
