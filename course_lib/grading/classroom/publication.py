"""Lo que sale de calificar una clase: notas, hoja y ZIP para Moodle, y las páginas.

Todo se escribe de nuevo cada vez, a partir de los resultados, en la carpeta de la clase.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import (
    Graded,
    by_student,
    counted_topics,
    student_key,
)
from course_lib.grading.classroom.moodle import write_feedback_zip, write_grades, write_worksheet
from course_lib.grading.classroom.report import class_report, feedback_page


@dataclass(frozen=True)
class Published:
    """Lo que quedó escrito.

    Argumentos:
        files: por su nombre, cada archivo o carpeta.
        missing: los estudiantes que no tienen lugar en lo que se sube a Moodle.
    """

    files: dict[str, Path]
    missing: tuple[str, ...] = ()


def publish(
    graded: list[Graded],
    folder: Path,
    *,
    worksheet: Path | None = None,
    when: datetime | None = None,
) -> Published:
    """Escribe todo lo que se entrega de una clase ya calificada.

    Argumentos:
        graded: todas sus entregas.
        folder: la carpeta de la clase.
        worksheet: la hoja de calificaciones descargada de Moodle, que se completa.
        when: cuándo se calificó; si falta, ahora.

    Errores:
        WorksheetError: la hoja no es de Moodle.
    """
    when = when or datetime.now().astimezone()
    groups, counted = by_student(graded), counted_topics(graded)
    pages = {
        student: feedback_page(theirs, counted=counted, when=when)
        for student, theirs in groups.items()
    }
    links = {one.entry.key: f"feedback/{student_key(one.entry)}.html" for one in graded}
    for student, page in pages.items():
        write_atomically(folder / "feedback" / f"{student}.html", page.encode())
    for path in (folder / "feedback").glob("*.html"):
        if path.stem not in pages:  # de quien ya no está entre las entregas
            path.unlink()
    report, grades = folder / "report.html", folder / "grades.csv"
    write_atomically(report, class_report(graded, links=links, when=when).encode())
    write_grades(graded, grades)
    files = {"Informe de la clase": report, "Notas": grades}
    files["Una página por estudiante"] = folder / "feedback"
    if worksheet is None and not any(one.entry.participant or one.entry.folder for one in graded):
        return Published(files)
    sheet, bundle = folder / "moodle_worksheet.csv", folder / "moodle_feedback.zip"
    missing = write_worksheet(graded, sheet, template=worksheet)
    theirs = [(works[0].entry, pages[student]) for student, works in groups.items()]
    missing += write_feedback_zip(theirs, bundle, template=worksheet)
    files |= {"Hoja de calificaciones para Moodle": sheet, "Retroalimentación para Moodle": bundle}
    written = {name: path for name, path in files.items() if path.exists()}
    return Published(written, tuple(dict.fromkeys(missing)))
