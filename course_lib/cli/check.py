"""`course check`: los veredictos de un cuaderno de ejercicios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_lib.cli.project import course_settings
from course_lib.cli.terminal import print_error, progress_bar
from course_lib.course_settings import known_topics
from course_lib.judging import display

_MANY = {"correct": "correctos", "error": "se detuvieron", "pending": "pendientes"}
_STYLES = {"correct": "green", "partial": "yellow", "pending": "yellow"}


def check(
    notebook: Annotated[
        Path,
        typer.Argument(
            metavar="CUADERNO", help="El cuaderno de ejercicios (.ipynb), o la carpeta de todos."
        ),
    ],
    timeout: Annotated[
        int,
        typer.Option(metavar="SEGUNDOS", min=1, help="Tiempo que puede tardar cada celda."),
    ] = 60,
) -> None:
    """Ejecuta un cuaderno de ejercicios y muestra el veredicto de cada uno.

    De una carpeta, muestra el curso entero: un renglón por cuaderno. Los que no cambiaron desde la
    última vez no se ejecutan.
    """
    if notebook.is_dir():
        return _check_folder(notebook, timeout)
    from course_lib.grading.self_check import NotebookFileError, check_notebook

    console = Console()
    try:
        with Console(stderr=True).status("Ejecutando el cuaderno…"):
            report = check_notebook(notebook, timeout=timeout)
    except NotebookFileError as error:
        print_error(str(error))
        raise typer.Exit(2) from None
    _print_report(notebook, report, console)
    if report.has_faults:
        raise typer.Exit(1)


def _check_folder(folder: Path, timeout: int) -> None:
    from course_lib.grading.remembered import check_folder, notebooks_in

    course = course_settings()
    known = known_topics(course.own_topics)
    paths = [p for p in notebooks_in(folder) if p.stem not in known or course.includes(p.stem)]
    if not paths:
        print_error(f"En {folder} no hay ningún cuaderno (.ipynb).")
        raise typer.Exit(2)
    with progress_bar("Cuadernos") as progress:
        task = progress.add_task("", total=len(paths))
        advance = lambda: progress.advance(task)  # noqa: E731
        found = list(check_folder(paths, timeout=timeout, done=advance))
    console = Console()
    table = Table(title=Text("El curso"))
    table.add_column("Cuaderno", overflow="fold")
    for name in ("Hechos", "Puntos"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("Lo que sigue", overflow="fold")
    for path, report in found:
        if report.unread:
            table.add_row(Text(path.stem), "", "", Text(report.unread))
            continue
        counts = report.counts()
        done = f"{counts.get('correct', 0)}/{len(report.rows)}"
        points = f"{report.points}/{report.max_points}"
        table.add_row(Text(path.stem), done, points, Text(_what_is_next(report)))
    console.print(table)
    reports = [report for _, report in found]
    total, most = sum(r.points for r in reports), sum(r.max_points for r in reports)
    console.print(f"Total: {total} de {most} puntos", highlight=False)
    if any(report.has_faults for report in reports):
        raise typer.Exit(1)


def _what_is_next(report: object) -> str:
    """Lo primero que hay que corregir; si no hay nada, lo primero que falta."""
    from course_lib.judging.check import find_exercise

    pending = [row.exercise for row in report.rows if row.state() == "pending"]
    wrong = [row.exercise for row in report.rows if row.state() not in ("correct", "pending")]
    if not (wrong or pending):
        return "todo hecho"
    name = (wrong or pending)[0]
    title = display.unmarked(find_exercise(name).title or name)
    return f"{'corrige' if wrong else 'sigue'}: {title}"


def _print_report(notebook: Path, report: object, console: Console) -> None:
    """Escribe la tabla, lo que dice cada veredicto, las celdas que se detuvieron y el total."""

    def say(text: str, style: str | None = None) -> None:
        # En una terminal, las líneas se parten entre palabras; en un archivo, quien lee decide.
        soft = not console.is_terminal
        console.print(text, style=style, markup=False, highlight=False, soft_wrap=soft)

    console.print(_report_table(notebook, report))
    for row in report.rows:
        if row.message:
            say(repr(row))
    for cell in report.broken_cells:
        say(f"Se detuvo {cell}", "yellow")
    for note in report.notes:
        say(f"Aviso: {note}", "yellow")
    say(f"Total: {report.points} de {report.max_points} puntos ({_counts_text(report.counts())})")


def _counts_text(counts: dict[str, int]) -> str:
    """Cuántos hay en cada estado: «2 correctos, 1 pendiente»."""
    one, many = display.WORDS, display.WORDS | _MANY
    return ", ".join(f"{counts[s]} {(one, many)[counts[s] > 1][s]}" for s in one if s in counts)


def _report_table(notebook: Path, report: object) -> Table:
    """Los ejercicios, sin el nombre del tema si todos son del mismo."""
    topics = {row.exercise.partition(".")[0] for row in report.rows}
    table = Table(title=Text(notebook.name))
    table.add_column("Ejercicio", overflow="fold")
    table.add_column("Estado", no_wrap=True)
    table.add_column("Puntos", justify="right", no_wrap=True)
    for row in report.rows:
        name = row.exercise if len(topics) > 1 else row.exercise.partition(".")[2]
        state = row.state()
        told = f"{display.MARKS[state]} {display.WORDS[state]}"
        points = f"{row.points}/{row.max_points}"
        table.add_row(Text(name), Text(told, style=_STYLES.get(state, "red")), points)
    return table
