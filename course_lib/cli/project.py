"""Dónde está el proyecto y cómo se nombra un ejercicio: lo que comparten sus verbos."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

import course_lib
from course_lib.course_settings import (
    AS_IT_COMES,
    CourseSettings,
    CourseSettingsError,
    find_course_settings,
    known_topics,
)
from course_lib.judging import OWN_TOPICS

ExerciseName = Annotated[str, typer.Argument(metavar="TEMA.NOMBRE", help="El ejercicio.")]

Config = Annotated[
    Path | None,
    typer.Option(
        metavar="ARCHIVO",
        help="El course.toml del curso; si falta, el de esta carpeta (o una de encima) o el del "
        "proyecto.",
    ),
]


def course_settings(path: Path | None = None) -> CourseSettings:
    """Lee `course.toml`; lo que no valga en él es un mal uso, y se dice.

    Dónde están los temas propios queda dicho a los procesos que empiece la orden.
    """
    try:
        course = find_course_settings(path)
    except CourseSettingsError as error:
        raise typer.BadParameter(str(error)) from None
    _announce(course)
    return course


def announce_own_topics() -> None:
    """Deja dicho dónde están los temas propios, si `course.toml` vale; si no, lo dirá la orden."""
    try:
        _announce(find_course_settings())
    except CourseSettingsError:
        _announce(AS_IT_COMES)


def _announce(course: CourseSettings) -> None:
    os.environ.pop(OWN_TOPICS, None)
    if course.own_topics is not None:
        os.environ[OWN_TOPICS] = str(course.own_topics)


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


def source_roots() -> list[Path]:
    """Las carpetas con fuentes: la del proyecto, si se está en él, y la de los temas propios."""
    project, own = _project_here(), course_settings().own_topics
    roots = [root for root in (project, own) if root is not None]
    if not roots:
        raise typer.BadParameter(
            "Esta carpeta no está dentro del proyecto del curso, ni su course.toml dice dónde "
            "están tus temas (`own_topics`); entra en la que tiene solutions/."
        )
    return roots


def topic_root(topic: str) -> Path:
    """La carpeta con la fuente de un tema, exista ya o no: la de los propios o la del proyecto."""
    roots = source_roots()
    if topic not in known_topics():
        return roots[-1]
    if roots[0] == course_settings().own_topics:
        raise typer.BadParameter(f"«{topic}» ya es un tema del curso: dale otro nombre al tuyo.")
    return roots[0]


def course_root() -> Path:
    """La carpeta del proyecto: en la que se está o, si no, la de la biblioteca instalada."""
    root = _project_here() or Path(course_lib.__file__).parents[1]
    if not (root / "start.py").is_file():
        raise typer.BadParameter(
            "Para esto hace falta el proyecto del curso, y no solo la biblioteca: instala el curso "
            "desde su carpeta con «pip install -e .»."
        )
    return root


def _project_here() -> Path | None:
    """Busca hacia arriba la carpeta del proyecto: la que tiene `solutions/` y `course_lib/`."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir() and (folder / "course_lib").is_dir():
            return folder
    return None


def topic_and_name(exercise: str) -> tuple[str, str]:
    """Separa «tema.nombre»."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*", exercise):
        raise typer.BadParameter(f"El nombre es «tema.nombre», en minúsculas; llegó «{exercise}».")
    topic, _, name = exercise.partition(".")
    return topic, name
