"""`course check`: los veredictos de un cuaderno de ejercicios."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_lib.cli.terminal import print_error

_STATES = {
    "correct": ("✅", "correcto", "correctos", "green"),
    "partial": ("🟡", "en parte", "en parte", "yellow"),
    "wrong": ("❌", "todavía no", "todavía no", "red"),
    "error": ("❌", "se detuvo", "se detuvieron", "red"),
    "missing": ("❌", "sin comprobar", "sin comprobar", "red"),
    "pending": ("⏳", "pendiente", "pendientes", "yellow"),
}


def check(
    notebook: Annotated[
        Path, typer.Argument(metavar="CUADERNO", help="El cuaderno de ejercicios (.ipynb).")
    ],
    timeout: Annotated[
        int,
        typer.Option(metavar="SEGUNDOS", min=1, help="Tiempo que puede tardar cada celda."),
    ] = 60,
) -> None:
    """Ejecuta un cuaderno de ejercicios y muestra el veredicto de cada uno."""
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
    words = {state: (one, many) for state, (_, one, many, _) in _STATES.items()}
    return ", ".join(f"{counts[s]} {words[s][counts[s] > 1]}" for s in words if s in counts)


def _report_table(notebook: Path, report: object) -> Table:
    """Los ejercicios, sin el nombre del tema si todos son del mismo."""
    topics = {row.exercise.partition(".")[0] for row in report.rows}
    table = Table(title=Text(notebook.name))
    table.add_column("Ejercicio", overflow="fold")
    table.add_column("Estado", no_wrap=True)
    table.add_column("Puntos", justify="right", no_wrap=True)
    for row in report.rows:
        name = row.exercise if len(topics) > 1 else row.exercise.partition(".")[2]
        mark, label, _, style = _STATES[row.state()]
        points = f"{row.points}/{row.max_points}"
        table.add_row(Text(name), Text(f"{mark} {label}", style=style), points)
    return table
