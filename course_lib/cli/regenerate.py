"""`course regenerate`: los cuadernos de ejercicios y soluciones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from course_lib.cli.project import source_roots
from course_lib.cli.terminal import print_error, progress_bar, say


def regenerate(
    topics: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEMA", help="Temas que se generan; si faltan, todos."),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="No escribe nada; falla si algún cuaderno no está al día."),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Genera también los temas que no cambiaron.")
    ] = False,
) -> None:
    """Genera los cuadernos de ejercicios y soluciones desde solutions/TEMA, también los propios."""
    from course_lib.notebooks import generation as notebooks

    roots = source_roots()
    known = {topic: root for root in roots for topic in notebooks.topics_in(root)}
    unknown = [topic for topic in topics or [] if topic not in known]
    if unknown:
        raise typer.BadParameter(
            f"No hay un tema «{unknown[0]}». Los que hay: {', '.join(known) or 'ninguno'}."
        )
    selected = list(dict.fromkeys(topics or known))
    groups = {root: [topic for topic in selected if known[topic] == root] for root in roots}
    results = _run_with_progress(notebooks, groups, check, force)
    orphans = [] if topics else [path for root in roots for path in notebooks.orphans(root)]
    for path in orphans:
        print_error(f"{path}: no tiene fuente en solutions/; bórralo o escribe la fuente.")
    if orphans or any(result.status in ("failed", "drifted") for result in results):
        raise typer.Exit(1)


def _run_with_progress(
    notebooks: object, groups: dict[Path, list[str]], check: bool, force: bool
) -> list:
    with progress_bar("Cuadernos") as progress:
        task = progress.add_task("", total=sum(map(len, groups.values())))

        def report(result: object) -> None:
            progress.advance(task)
            _print_result(result, progress.console)

        options = {"check": check, "force": force, "report": report}
        return [
            result
            for root, topics in groups.items()
            for result in notebooks.regenerate(topics, root, **options)
        ]


def _print_result(result: object, console: Console) -> None:
    marks = {
        "written": ("✅", f"generado en {result.seconds:.1f} s"),
        "unchanged": ("✅", "sin cambios"),
        "drifted": ("❌", "no está al día"),
        "failed": ("❌", "no se generó"),
    }
    mark, text = marks[result.status]
    console.print(f"{mark} {result.topic}: {text}", highlight=False)
    for reason in result.reasons:
        say(f"   {reason}", console)
