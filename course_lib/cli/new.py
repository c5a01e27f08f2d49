"""`course new`: el borrador de un ejercicio."""

from __future__ import annotations

import typer

from course_lib.cli.project import ExerciseName, topic_and_name, topic_root
from course_lib.cli.terminal import print_error, say


def new(name: ExerciseName) -> None:
    """Crea el borrador de un ejercicio, que ya se regenera, en solutions/TEMA/NOMBRE.md."""
    from course_lib.notebooks.first_draft import DraftError, write_draft

    topic, exercise = topic_and_name(name)
    root = topic_root(topic)
    try:
        path = write_draft(topic, exercise, root)
    except DraftError as error:
        print_error(str(error))
        raise typer.Exit(1) from None
    told = path.relative_to(root).as_posix()
    say(f"✅ {told}: escríbelo, y míralo con «course try {name} --watch»")
