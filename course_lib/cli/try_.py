"""`course try`: qué veredicto recibe cada error de un ejercicio, y qué se escapa."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from course_lib.cli.project import ExerciseName, topic_and_name, topic_root
from course_lib.cli.terminal import print_error

if TYPE_CHECKING:
    from course_lib.notebooks.trial import Row


def try_(
    name: ExerciseName,
    watch: Annotated[
        bool, typer.Option("--watch", help="Repite la tabla cada vez que se guarda el archivo.")
    ] = False,
) -> None:
    """Prueba un ejercicio: qué veredicto recibe cada error, y qué se escapa."""
    topic, exercise = topic_and_name(name)
    root = topic_root(topic)
    path = root / "solutions" / topic / f"{exercise}.md"
    if not path.is_file():
        print_error(f"No existe solutions/{topic}/{exercise}.md; créalo con «course new {name}».")
        raise typer.Exit(2)
    if watch:
        _watch(name, path.parent)
        return
    if not _show(topic, exercise, root):
        raise typer.Exit(1)


def _watch(name: str, folder: Path) -> None:
    """Repite la tabla, cada vez en un proceso nuevo, cuando cambia algo de la carpeta."""
    seen = None
    try:
        while True:
            now = sorted((p.name, p.stat().st_mtime_ns) for p in folder.glob("*.md"))
            if now != seen:
                seen = now
                Console().clear()
                subprocess.run([sys.executable, "-m", "course_lib.cli", "try", name], check=False)
            time.sleep(0.3)
    except KeyboardInterrupt:
        return


def _show(topic: str, name: str, root: Path) -> bool:
    """Escribe la tabla; dice si todo está bien."""
    import torch

    from course_lib.notebooks.topic_source import FaultsError, TopicSource
    from course_lib.notebooks.trial import read_trial
    from course_lib.notebooks.verification import verify_one

    torch.set_num_threads(1)
    console, start = Console(), time.perf_counter()
    try:
        faults = verify_one(TopicSource.read(topic, root), name)
    except FaultsError as error:
        faults = error.faults
    for fault in faults:
        print_error(str(fault))
    if faults:
        return False
    with Console(stderr=True).status("Probando…"):
        rows = read_trial(topic, name, root).run()
    console.print(table_of(f"{topic}.{name}", rows))
    console.print(f"{time.perf_counter() - start:.1f} s", highlight=False)
    return all(row.is_good for row in rows)


def table_of(title: str, rows: list[Row]) -> Table:
    """La tabla de un ejercicio; un nombre largo se parte y no se corta, porque hay que copiarlo."""
    columns = [Column(name, overflow="fold") for name in ("", "Qué", "Cuál", "Qué pasa")]
    table = Table(*columns, title=Text(title))
    for row in rows:
        style = "green" if row.is_good else "red"
        mark = "✅" if row.is_good else "❌"
        table.add_row(mark, row.kind, Text(row.name), Text(row.told, style=style))
    return table
