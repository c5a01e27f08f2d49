"""Lo que sale de calificar una clase: notas, hoja y ZIP para Moodle, y las páginas.

Todo se escribe de nuevo cada vez, a partir de los resultados, en la carpeta de la clase.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.collection import Graded, by_student, student_key
from course_lib.grading.moodle import write_feedback_zip, write_grades, write_worksheet
from course_lib.grading.report import class_report, feedback_page


def publish(
    graded: list[Graded],
    folder: Path,
    *,
    worksheet: Path | None = None,
    when: datetime | None = None,
) -> dict[str, Path]:
    """Escribe todo lo que se entrega de una clase ya calificada.

    Argumentos:
        graded: todas sus entregas.
        folder: la carpeta de la clase.
        worksheet: la hoja de calificaciones descargada de Moodle, que se completa.
        when: cuándo se calificó; si falta, ahora.

    Devuelve:
        lo que quedó escrito, por su nombre.
    """
    when = when or datetime.now().astimezone()
    groups = by_student(graded)
    pages = {student: feedback_page(theirs, when=when) for student, theirs in groups.items()}
    links = {one.entry.key: f"feedback/{student_key(one.entry)}.html" for one in graded}
    for student, page in pages.items():
        write_atomically(folder / "feedback" / f"{student}.html", page.encode())
    report, grades = folder / "report.html", folder / "grades.csv"
    write_atomically(report, class_report(graded, links=links, when=when).encode())
    write_grades(graded, grades)
    files = {"Informe de la clase": report, "Notas": grades}
    files["Una página por estudiante"] = folder / "feedback"
    return files | _for_moodle(graded, pages, folder, worksheet)


def _for_moodle(
    graded: list[Graded], pages: dict[str, str], folder: Path, worksheet: Path | None
) -> dict[str, Path]:
    from_moodle = any(one.entry.participant or one.entry.folder for one in graded)
    if not from_moodle and worksheet is None:
        return {}
    files = {"Hoja de calificaciones para Moodle": folder / "moodle_worksheet.csv"}
    files["Retroalimentación para Moodle"] = folder / "moodle_feedback.zip"
    write_worksheet(graded, folder / "moodle_worksheet.csv", template=worksheet)
    write_feedback_zip(pages, folder / "moodle_feedback.zip")
    return files
