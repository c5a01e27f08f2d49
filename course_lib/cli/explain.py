"""`course explain`: de dónde sale un resultado, para quien califica."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.terminal import print_error, say

Who = Annotated[
    str,
    typer.Argument(
        metavar="QUIÉN",
        help="Su nombre o una parte, o su número: el de participante, o el de una calificación "
        "sin nombres («Entrega 12345678»).",
    ),
]
Name = Annotated[
    str,
    typer.Argument(metavar="EJERCICIO", help="`tema.nombre`, o solo el nombre si no hay otro."),
]
Out = Annotated[
    Path, typer.Option(metavar="CARPETA", help="La que escribió `course grade … --out`.")
]


def explain(who: Who, exercise: Name, out: Out) -> None:
    """Muestra el código de un estudiante, el caso en que falla y lo que se esperaba."""
    from course_lib.grading.classroom.anonymous import ANONYMOUS, Anonymity
    from course_lib.grading.classroom.class_run import ClassRunError, read_class, read_seed
    from course_lib.grading.classroom.results import ClassResults

    try:
        results = ClassResults(read_class(out))
        anonymity = Anonymity([one.entry for one in results.works], read_seed(out))
    except ClassRunError as error:
        print_error(str(error))
        raise typer.Exit(2) from None
    numbered = anonymity.results(results).students
    if found := [s for s in numbered if who in (s.name, s.entry.participant)]:
        student, where = found[0], out / ANONYMOUS
    else:
        student, where = _only(_called(results.students, who), who), out
    _print(student, _answer(student, exercise), where)


def _called(students: list, who: str) -> list:
    """Los que se llaman así; si nadie, los que tienen en el nombre todo lo que se escribió."""
    from course_lib.judging.owner import bare

    wanted = bare(who)
    exact = [s for s in students if wanted in (bare(s.name), s.entry.participant)]
    words = wanted.split()
    return exact or [s for s in students if all(word in bare(s.name) for word in words)]


def _only(found: list, who: str) -> object:
    if len(found) == 1:
        return found[0]
    if not found:
        raise typer.BadParameter(f"No hay nadie que se llame «{who}» en esa clase.")
    told = [s.name + (f" ({s.entry.participant})" if s.entry.participant else "") for s in found]
    raise typer.BadParameter(
        f"«{who}» puede ser {', '.join(told[:10])}: di el nombre entero, o el número."
    )


def _answer(student: object, exercise: str) -> object:
    answers = [answer for topic in student.topics for answer in topic.exercises]
    found = [a for a in answers if exercise in (a.result.exercise, _short(a))]
    if len(found) == 1:
        return found[0]
    known = ", ".join(a.result.exercise for a in (found or answers))
    if found:
        raise typer.BadParameter(f"«{exercise}» puede ser {known}: di también el tema.")
    there = f"se calificó {known}" if known else "no se calificó nada, y el informe dice por qué"
    raise typer.BadParameter(f"De {student.name} no hay «{exercise}»: {there}.")


def _short(answer: object) -> str:
    return answer.result.exercise.partition(".")[2]


def _print(student: object, answer: object, out: Path) -> None:
    """Escribe lo que hay; lo que escribió el estudiante, sin nada que la terminal obedezca."""
    from course_lib.grading.classroom.results import STATES
    from course_lib.grading.classroom.untrusted_text import visible, visible_block

    result, seen = answer.result, answer.evidence
    score = f"{result.points:g} de {result.max_points:g}"
    parts = [(f"{student.name} · {answer.heading}", f"{STATES[result.state()]}, {score}")]
    if result.misconceptions:
        parts.append((f"Error frecuente: {' y '.join(result.misconceptions)}", result.message))
    elif result.message:
        parts.append(("Qué falla", result.message))
    parts = [(title, visible(text, 1200)) for title, text in parts]
    blocks = {"Su código": seen.code, "Entradas": seen.inputs}
    blocks |= {"Se esperaba": seen.expected, "Se obtuvo": seen.obtained}
    parts += [(title, visible_block(text)) for title, text in blocks.items() if text]
    for title, text in parts:
        say(visible(title), style="bold")
        say(text + "\n")
    say(f"Su página, solo para ti: {out / student.evidence_page}#{result.exercise}")
