"""Lo que sale de calificar una clase: notas, hoja y ZIP para Moodle, y las páginas.

Todo se escribe de nuevo cada vez, a partir de los resultados, en la carpeta de la clase.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import (
    Graded,
    by_student,
    counted_topics,
    delivered_topics,
    student_key,
)
from course_lib.grading.classroom.moodle import write_feedback_zip, write_grades, write_worksheet
from course_lib.grading.classroom.report import class_report, feedback_page


class TopicsError(ValueError):
    """Se entregaron varios temas y no se dijo cuáles cuentan.

    Argumentos:
        delivered: por tema, cuántos estudiantes lo entregaron.
    """

    def __init__(self, delivered: dict[str, int]) -> None:
        told = ", ".join(f"{t} ({_students(n)})" for t, n in delivered.items())
        super().__init__(
            f"Se entregaron varios temas, y de cuáles cuentan depende la nota de todos: {told}."
        )
        self.delivered = delivered


def _students(count: int) -> str:
    return "1 estudiante" if count == 1 else f"{count} estudiantes"


@dataclass(frozen=True)
class Published:
    """Lo que quedó escrito.

    Argumentos:
        files: por su nombre, cada archivo o carpeta.
        topics: qué temas cuentan para la nota, y por qué.
        missing: los estudiantes que no tienen lugar en lo que se sube a Moodle.
    """

    files: dict[str, Path]
    topics: str = ""
    missing: tuple[str, ...] = ()


def publish(
    graded: Sequence[Graded],
    folder: Path,
    *,
    topics: Sequence[str] = (),
    worksheet: Path | None = None,
    site: str | None = None,
    when: datetime | None = None,
) -> Published:
    """Escribe todo lo que se entrega de una clase ya calificada.

    Argumentos:
        graded: todas sus entregas.
        folder: la carpeta de la clase.
        topics: los temas que cuentan; si faltan, el único que se entregó.
        worksheet: la hoja de calificaciones descargada de Moodle, que se completa.
        site: dirección del sitio del curso, para enlazar sus capítulos.
        when: cuándo se calificó; si falta, ahora.

    Errores:
        TopicsError: se entregaron varios temas y no se dice cuáles cuentan; no se escribe nada.
        WorksheetError: la hoja no es de Moodle.
    """
    require_clear_topics(graded, topics)
    when, counted = when or datetime.now().astimezone(), counted_topics(graded, topics)
    groups = by_student(graded)
    pages = {
        student: feedback_page(theirs, counted=counted, site=site, when=when)
        for student, theirs in groups.items()
    }
    links = {one.entry.key: f"feedback/{student_key(one.entry)}.html" for one in graded}
    for student, page in pages.items():
        write_atomically(folder / "feedback" / f"{student}.html", page.encode())
    for path in (folder / "feedback").glob("*.html"):
        if path.stem not in pages:  # de quien ya no está entre las entregas
            path.unlink()
    report, grades = folder / "report.html", folder / "grades.csv"
    write_atomically(report, class_report(graded, topics=topics, links=links, when=when).encode())
    write_grades(graded, grades, topics)
    files = {"Informe de la clase": report, "Notas": grades}
    files["Una página por estudiante"] = folder / "feedback"
    if worksheet is None and not any(one.entry.participant or one.entry.folder for one in graded):
        return Published(files, _why_counted(graded, topics))
    sheet, bundle = folder / "moodle_worksheet.csv", folder / "moodle_feedback.zip"
    missing = write_worksheet(graded, sheet, worksheet, topics)
    theirs = [(works[0].entry, pages[student]) for student, works in groups.items()]
    missing += write_feedback_zip(theirs, bundle, template=worksheet)
    files |= {"Hoja de calificaciones para Moodle": sheet, "Retroalimentación para Moodle": bundle}
    written = {name: path for name, path in files.items() if path.exists()}
    return Published(written, _why_counted(graded, topics), tuple(dict.fromkeys(missing)))


def require_clear_topics(graded: Sequence[Graded], topics: Sequence[str] = ()) -> None:
    """Exige saber qué temas cuentan: se dicen, o se entregó uno solo.

    Errores:
        TopicsError: hay varios, y no se dice cuáles.
    """
    if not topics and len(delivered := delivered_topics(graded)) > 1:
        raise TopicsError(delivered)


def _why_counted(graded: Sequence[Graded], topics: Sequence[str]) -> str:
    """Dice en una línea qué temas cuentan, por qué, y cuáles no."""
    counted = counted_topics(graded, topics)
    if not counted:
        return ""
    why = "lo que pediste con --topic" if topics else "es el único tema que se entregó"
    extra = [topic for topic in delivered_topics(graded) if topic not in counted]
    tail = f" No {_count(extra)}: {', '.join(extra)}." if extra else ""
    return f"Para la nota {_count(counted)} {', '.join(counted)} ({why}).{tail}"


def _count(topics: Collection[str]) -> str:
    return "cuenta" if len(topics) == 1 else "cuentan"
