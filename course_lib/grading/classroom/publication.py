"""Lo que sale de calificar una clase: notas, hoja y ZIP para la plataforma, y las páginas.

Todo se escribe de nuevo cada vez, a partir de los resultados, en la carpeta de la clase.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from course_lib.files import write_atomically
from course_lib.grading.classroom.anonymous import ANONYMOUS, NOTEBOOKS, Anonymity
from course_lib.grading.classroom.comparison import ClassComparison, write_changes
from course_lib.grading.classroom.course_gradebook import GradesSheet
from course_lib.grading.classroom.gradebooks import (
    write_feedback_zip,
    write_grades,
    write_worksheet,
)
from course_lib.grading.classroom.report import class_report, evidence_page, feedback_page
from course_lib.grading.classroom.results import ClassResults

_SHOWN = {"github": "GitHub Classroom", "google": "Google Classroom"}


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
        scale: cuántos aprueban, y si lo que se sube va en la escala del curso o en puntos.
        missing: los estudiantes que no tienen lugar en lo que se sube a la plataforma.
        platform: su nombre; vacío si no se sube a ninguna.
        absent: quienes están en la hoja o en el libro y no entregaron nada.
    """

    files: dict[str, Path]
    topics: str = ""
    scale: str = ""
    missing: tuple[str, ...] = ()
    platform: str = ""
    absent: tuple[str, ...] = ()


def publish(
    results: ClassResults,
    folder: Path,
    *,
    worksheet: GradesSheet | None = None,
    site: str | None = None,
    changes: ClassComparison | None = None,
    anonymity: Anonymity | None = None,
    when: datetime | None = None,
) -> Published:
    """Escribe todo lo que se entrega de una clase ya calificada.

    Argumentos:
        results: lo que obtuvo.
        folder: la carpeta de la clase.
        worksheet: lo que se descargó de la plataforma para poner las notas, y se completa.
        site: dirección del sitio del curso, para enlazar sus capítulos.
        changes: la comparación con otra calificación, si se pidió.
        anonymity: los números con que se nombra a cada quien en lo que se lee, si va sin nombres.
        when: cuándo se calificó; si falta, ahora.

    Errores:
        TopicsError: se entregaron varios temas y no se dice cuáles cuentan; no se escribe nada.
    """
    require_clear_topics(results)
    when = when or datetime.now().astimezone()
    told = {"when": when, "course": results.course}
    pages = {s.page: feedback_page(s, site=site, **told) for s in results.students}
    entries = [one.entry for one in results.works]
    absent = () if worksheet is None else tuple(worksheet.absent(entries))
    shown = {"when": when, "changes": changes, "absent": absent}
    files = _write_reading(results, folder, anonymity, shown)
    files |= {"Notas": folder / "grades.csv"}
    files["Notas, en una hoja de cálculo"] = folder / "grades.xlsx"
    _write_pages(folder, "feedback", pages)
    write_grades(results, files["Notas"])
    files |= _write_changes(folder / "changes.csv", changes)
    files["Una página por estudiante"] = folder / "feedback"
    came = {one.entry.platform for one in results.works} - {""}
    platform = worksheet.platform if worksheet is not None else next(iter(sorted(came)), "")
    if not platform:
        return Published(files, _why_counted(results), _scale_told(results))
    name, missing = _SHOWN.get(platform, platform.capitalize()), []
    sheet, bundle = folder / f"{platform}_worksheet.csv", folder / f"{platform}_feedback.zip"
    if worksheet is not None or platform == "moodle":
        missing += write_worksheet(results, sheet, worksheet)
        files[f"Hoja de calificaciones para {name}"] = sheet
    if platform in ("moodle", "canvas"):  # Blackboard no recibe la de toda la clase a la vez
        theirs = [(student.entry, pages[student.page]) for student in results.students]
        missing += write_feedback_zip(theirs, bundle, worksheet)
        files[f"Retroalimentación para {name}"] = bundle
    written = {name: path for name, path in files.items() if path.exists()}
    told = (_why_counted(results), _scale_told(results, worksheet))
    return Published(written, *told, tuple(dict.fromkeys(missing)), name, absent)


def _write_reading(
    results: ClassResults,
    folder: Path,
    anonymity: Anonymity | None,
    shown: dict[str, Any],
) -> dict[str, Path]:
    """Escribe lo que lee quien califica, con nombres o sin ellos, y borra lo de la otra manera."""
    where = folder if anonymity is None else folder / ANONYMOUS
    read = results if anonymity is None else anonymity.results(results)
    if anonymity is not None and shown["changes"] is not None:
        shown = shown | {"changes": anonymity.comparison(shown["changes"])}
    told = {"when": shown["when"], "course": results.course}
    pages = {s.evidence_page: evidence_page(s, **told) for s in read.students if s.topics}
    report, notebooks = where / "report.html", []
    write_atomically(report, class_report(read, **shown).encode())
    _write_pages(where, "evidence", pages)
    if anonymity is not None:
        notebooks = anonymity.write_notebooks(results.works, where / NOTEBOOKS)
    _remove_others(folder / ANONYMOUS / NOTEBOOKS, "*.ipynb", notebooks)
    other = folder / ANONYMOUS if anonymity is None else folder
    _write_pages(other, "evidence", {})
    _remove_others(other, "report.html", [])
    files = {"Informe de la clase": report}
    if pages:
        files["Su código y los casos que fallan, solo para ti"] = where / "evidence"
    if notebooks:
        files["Los cuadernos, sin nombres"] = where / NOTEBOOKS
    return files


def _write_pages(folder: Path, kind: str, pages: dict[str, str]) -> None:
    """Escribe las páginas de una clase, y borra las de quien ya no está entre las entregas."""
    for name, page in pages.items():
        write_atomically(folder / name, page.encode())
    _remove_others(folder / kind, "*.html", [folder / name for name in pages])


def _remove_others(folder: Path, pattern: str, kept: Collection[Path]) -> None:
    """Borra de una carpeta lo que se escribió otra vez y ya no está; y a ella, si queda vacía."""
    for path in set(folder.glob(pattern)) - set(kept):
        path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _write_changes(path: Path, changes: ClassComparison | None) -> dict[str, Path]:
    """Escribe las notas que cambian, si se compararon, en lugar de las de otra vez."""
    path.unlink(missing_ok=True)
    if changes is None:
        return {}
    write_changes(changes, path)
    return {"Notas que cambian": path}


def require_clear_topics(results: ClassResults) -> None:
    """Exige saber qué temas cuentan: se dicen, o se entregó uno solo.

    Errores:
        TopicsError: hay varios, y no se dice cuáles.
    """
    delivered = {t: n for t, n in results.delivered.items() if results.course.includes(t)}
    if not results.asked and len(delivered) > 1:
        raise TopicsError(delivered)


def _why_counted(results: ClassResults) -> str:
    """Dice en una línea qué temas cuentan, por qué, y cuáles no."""
    if not results.counted:
        return _nothing_counts(results)
    extra = [topic for topic in results.delivered if topic not in results.counted]
    only = f"es el único tema{' del curso' if extra else ''} que se entregó"
    why = "lo que pediste con --topic" if results.asked else only
    tail = f" No {_count(extra)}: {', '.join(extra)}." if extra else ""
    return f"Para la nota {_count(results.counted)} {', '.join(results.counted)} ({why}).{tail}"


def _nothing_counts(results: ClassResults) -> str:
    """Dice que lo entregado no es del curso, si es eso lo que pasa."""
    if not results.delivered:
        return ""
    told = ", ".join(f"{topic} ({_students(n)})" for topic, n in results.delivered.items())
    return (
        f"Nadie tiene nota: lo que se entregó no es de ningún tema de este curso, que son "
        f"{', '.join(results.course.topics)} (`topics`, en course.toml). Se entregó {told}."
    )


def _scale_told(results: ClassResults, sheet: GradesSheet | None = None) -> str:
    """Dice cuántos aprueban y, si la tarea no vale lo que la escala, que se suben puntos."""
    scale = results.course.scale
    if scale is None:
        return ""
    told = f"Notas en la escala {scale.name}."
    if results.passed is not None:
        told += f" Aprueban {results.passed} de {len(results.grades)}, con {scale.passing}."
    rows = [row for s in results.students if sheet for row in sheet.rows_of(s.entry)]
    worth = {sheet.worth(row) for row in rows} - {None, scale.highest}
    if worth and scale.highest is None:
        told += (
            f" En {sheet.platform.capitalize()} van los puntos, en proporción: no admite letras."
        )
    elif worth:
        told += (
            f" En {sheet.platform.capitalize()} la tarea vale {max(worth):f}, que no es la nota "
            f"más alta: ahí van los puntos, en proporción."
        )
    return told


def _count(topics: Collection[str]) -> str:
    return "cuenta" if len(topics) == 1 else "cuentan"
