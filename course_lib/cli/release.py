"""`course release`: la carpeta de un aula."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from course_lib.cli.project import Config, course_root, course_settings, require_topics
from course_lib.cli.terminal import print_error, say
from course_lib.course_settings import known_topics

OUT = typer.Option("--out", metavar="CARPETA", help="La carpeta nueva.")
TOPICS = typer.Argument(metavar="TEMA", help="Temas que lleva; si faltan, todos los del curso.")
OFFLINE = typer.Option(
    "--offline",
    help="Lleva también lo que se instala, para un aula sin red con equipos como este: el mismo "
    "sistema y la misma versión de Python.",
)
BOOK = typer.Option(
    "--book",
    metavar="SITIO",
    help="Lleva también el libro, ya construido con «make site SOLUTIONS=0».",
)
EXAM = typer.Option(
    "--exam",
    help="Para un examen: sin la solución, los casos ni los errores de esos temas; donde se "
    "comprobaba una respuesta dice que se califica al entregar. No admite --book: el sitio lleva "
    "la biblioteca entera, con los casos.",
)
VARY = typer.Option(
    "--vary",
    metavar="LISTA",
    help="Un cuaderno por estudiante de esta lista (CSV o .xlsx): se comprueba con otras entradas "
    "y, donde el ejercicio lo dice, pide otras constantes.",
)


def release(
    out: Annotated[Path, OUT],
    topics: Annotated[list[str] | None, TOPICS] = None,
    offline: Annotated[bool, OFFLINE] = False,
    book: Annotated[Path | None, BOOK] = None,
    exam: Annotated[bool, EXAM] = False,
    vary: Annotated[Path | None, VARY] = None,
    config: Config = None,
) -> None:
    """Reúne en una carpeta los cuadernos de ejercicios, la biblioteca y las versiones.

    Quien la recibe ejecuta «python start.py», que prepara el entorno y abre JupyterLab.
    """
    from course_lib.notebooks.release import ReleaseError
    from course_lib.notebooks.release import release as write_release

    root, course = course_root(), course_settings(config)
    known = known_topics(course.own_topics)
    require_topics(topics or [], known, course)
    selected = list(dict.fromkeys(topics or course.topics or known))
    roster = _roster(vary) if vary is not None else []
    try:
        with Console(stderr=True).status("Preparando la carpeta…"):
            options = {"offline": offline, "book": book, "exam": exam, "course": course}
            options |= {"roster": roster}
            write_release(selected, root, out, **options)
    except ReleaseError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    told = f"{out}: en ella, «python start.py»"
    if roster:
        told = f"{out}: lo de todos y, en «personales», los cuadernos de {len(roster)}"
    say(f"✅ {told}")


def _roster(path: Path) -> list[str]:
    from course_lib.grading.classroom.roster import read_roster
    from course_lib.grading.classroom.spreadsheets import SpreadsheetError

    try:
        return read_roster(path)
    except SpreadsheetError as error:
        raise typer.BadParameter(str(error)) from None
