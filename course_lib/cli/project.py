"""Dónde está el proyecto y cómo se nombra un ejercicio: lo que comparten sus verbos."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

ExerciseName = Annotated[str, typer.Argument(metavar="TEMA.NOMBRE", help="El ejercicio.")]


def project_root() -> Path:
    """Busca hacia arriba la carpeta del proyecto: la que tiene `solutions/` y `course_lib/`."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "course_lib").is_dir():
            return folder
    raise typer.BadParameter(
        "Esta carpeta no está dentro del proyecto del curso; entra en la que tiene solutions/."
    )


def topic_and_name(exercise: str) -> tuple[str, str]:
    """Separa «tema.nombre»."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*", exercise):
        raise typer.BadParameter(f"El nombre es «tema.nombre», en minúsculas; llegó «{exercise}».")
    topic, _, name = exercise.partition(".")
    return topic, name
