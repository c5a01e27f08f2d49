"""Dónde está el proyecto y cómo se nombra un ejercicio: lo que comparten sus verbos."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from course_lib.course_settings import (
    AS_IT_COMES,
    CourseSettings,
    CourseSettingsError,
    find_course_settings,
)

ExerciseName = Annotated[str, typer.Argument(metavar="TEMA.NOMBRE", help="El ejercicio.")]

Config = Annotated[
    Path | None,
    typer.Option(
        metavar="ARCHIVO",
        help="El course.toml del curso; si falta, el de esta carpeta o el del proyecto.",
    ),
]


def course_settings(path: Path | None = None) -> CourseSettings:
    """Lee `course.toml`; lo que no valga en él es un mal uso, y se dice."""
    try:
        return find_course_settings(path)
    except CourseSettingsError as error:
        raise typer.BadParameter(str(error)) from None


def require_topics(asked: Iterable[str], known: Iterable[str], course: CourseSettings) -> None:
    """Exige que existan y que el curso los tenga."""
    usable = [topic for topic in known if course.includes(topic)]
    for topic in asked:
        if topic not in usable:
            where = " en este curso (`topics`, en course.toml)" if topic in known else ""
            told = ", ".join(usable) or "ninguno"
            raise typer.BadParameter(f"No hay un tema «{topic}»{where}. Los que hay: {told}.")


def course_name() -> str:
    """Da el nombre del curso; lo que no valga en `course.toml` lo dirá la orden que lo use."""
    try:
        return find_course_settings().name
    except CourseSettingsError:
        return AS_IT_COMES.name


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
