"""El comando `course`: un archivo por verbo.

Códigos de salida: 0, hecho; 1, el trabajo encontró un fallo; 2, uso incorrecto; 3, `course grade`
publicó las notas y hay entregas que no se pudieron calificar.
"""

from typing import Annotated

import typer

from course_lib import __version__
from course_lib.cli import check, doctor, explain, grade, new, regenerate, release, try_
from course_lib.cli.project import announce_own_topics, course_name
from course_lib.cli.terminal import SpanishCommand, SpanishGroup, apply_spanish_panels

apply_spanish_panels()
app = typer.Typer(
    cls=SpanishGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _tell_version(asked: bool) -> bool:
    if asked:
        typer.echo(f"course {__version__}")
        raise typer.Exit
    return asked


@app.callback(help=f"Herramientas del curso «{course_name()}».")
def course(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Dice la versión y termina."
        ),
    ] = False,
) -> None:
    """Las órdenes del curso."""
    announce_own_topics()


app.command(cls=SpanishCommand)(regenerate.regenerate)
app.command(cls=SpanishCommand)(new.new)
app.command("try", cls=SpanishCommand)(try_.try_)
app.command(cls=SpanishCommand)(check.check)
app.command(cls=SpanishCommand, epilog=grade.EPILOG)(grade.grade)
app.command(cls=SpanishCommand)(explain.explain)
app.command(cls=SpanishCommand)(release.release)
app.command(cls=SpanishCommand)(doctor.doctor)
