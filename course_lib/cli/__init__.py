"""El comando `course`: un archivo por verbo.

Códigos de salida: 0, hecho; 1, el trabajo encontró un fallo; 2, uso incorrecto.
"""

import typer

from course_lib.cli import check, doctor, grade, new, regenerate, release, try_
from course_lib.cli.terminal import SpanishCommand, SpanishGroup, apply_spanish_panels

apply_spanish_panels()
app = typer.Typer(
    cls=SpanishGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Herramientas del curso «Atención y Transformers».",
)
app.command(cls=SpanishCommand)(regenerate.regenerate)
app.command(cls=SpanishCommand)(new.new)
app.command("try", cls=SpanishCommand)(try_.try_)
app.command(cls=SpanishCommand)(check.check)
app.command(cls=SpanishCommand)(grade.grade)
app.command(cls=SpanishCommand)(release.release)
app.command(cls=SpanishCommand)(doctor.doctor)
