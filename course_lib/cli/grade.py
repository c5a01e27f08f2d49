"""`course grade`: califica las entregas de una clase."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from course_lib.cli.project import Config, course_settings
from course_lib.course_settings import known_topics

SOME_NOT_GRADED = 3
"""Con qué se termina si se publicó todo y hay entregas sin nota: no es que algo fallara."""

EPILOG = (
    "Termina con 0 si todo tiene nota; con 3 si se publicó y hay quien no la tiene, y se dice "
    "por qué; con 1 si algo falló; con 2 si se pidió mal o falta la caja. Lo que cambias a mano va "
    "en CARPETA/overrides.csv; plazos y descuentos, en course.toml."
)


def _topics(incomplete: str) -> list[str]:
    """Los temas que empiezan así, para el tabulador; sin importar nada que tarde."""
    topics = known_topics(course_settings().own_topics)
    return [topic for topic in topics if topic.startswith(incomplete)]


Submissions = Annotated[
    Path,
    typer.Argument(
        metavar="ENTREGAS",
        help="Una carpeta con cuadernos o con repositorios, o el ZIP con todas las entregas que se "
        "descarga de Moodle, de Canvas, de Blackboard o de Google Classroom.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        metavar="CARPETA",
        help="Dónde queda todo; con la misma carpeta, se sigue donde quedó. Obligatoria, menos con "
        "--dry-run.",
    ),
]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        metavar="TEMA",
        autocompletion=_topics,
        help="El tema de la tarea; si son varios, repítela. Si falta, se reconoce en cada "
        "entrega, y debe ser uno solo en toda la clase.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Procesos; si falta, uno por procesador."),
]
Worksheet = Annotated[
    Path | None,
    typer.Option(
        metavar="ARCHIVO",
        help="Lo que se descargó para poner las notas: la hoja de calificaciones de Moodle; el "
        "libro de Canvas o de Blackboard; la lista o las notas de GitHub o de Google Classroom.",
    ),
]
Column = Annotated[
    str | None,
    typer.Option(
        metavar="TAREA",
        help="Cuál es la tarea en ese libro, por su título o su número, si tiene varias.",
    ),
]
Source = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="DÓNDE",
        help="De dónde vienen las entregas, si no se reconoce: moodle, canvas, blackboard, github, "
        "google o folder.",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="DIRECCIÓN",
        help="Un grupo de máquinas de Dask en marcha (tcp://…), en una red de confianza.",
    ),
]
Site = Annotated[
    str | None,
    typer.Option(
        metavar="DIRECCIÓN",
        help="El sitio del curso (https://…): las páginas enlazan sus capítulos.",
    ),
]
Compare = Annotated[
    Path | None,
    typer.Option(
        metavar="CARPETA",
        help="La de una calificación anterior: dice qué notas cambian, con las mismas entradas.",
    ),
]
Anonymous = Annotated[
    bool,
    typer.Option(
        "--anonymous",
        help="Lo que lees tú (informe, código, cuadernos y rúbrica) va sin nombres, en "
        "CARPETA/anonymous; las notas y lo que se sube los llevan.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", help="Dice qué se calificaría y qué no; no ejecuta ni escribe nada."),
]
Vary = Annotated[
    Path | None,
    typer.Option(
        metavar="LISTA",
        help="La lista con que se repartieron cuadernos personales (`course release --vary`): a "
        "cada quien se le califica lo que se le pidió.",
    ),
]
Unsafe = Annotated[
    bool, typer.Option("--unsafe-no-sandbox", help="Ejecuta el código ajeno sin aislarlo.")
]


def grade(
    submissions: Submissions,
    out: Out = None,
    topic: Topics = None,
    workers: Workers = None,
    worksheet: Worksheet = None,
    column: Column = None,
    source: Source = None,
    cluster: Cluster = None,
    site: Site = None,
    compare: Compare = None,
    vary: Vary = None,
    config: Config = None,
    anonymous: Anonymous = False,
    dry_run: DryRun = False,
    unsafe_no_sandbox: Unsafe = False,
) -> None:
    """Califica las entregas de una clase, cada una aislada, y escribe notas e informes."""
    topics = list(dict.fromkeys(topic or ()))
    _require_together(out, anonymous=anonymous, dry_run=dry_run)
    told = {"--workers": workers, "--worksheet": worksheet, "--column": column, "--from": source}
    told |= {"--cluster": cluster, "--site": site, "--compare": compare}
    told |= {"--vary": vary, "--config": config}
    given = {"--anonymous": anonymous, "--unsafe-no-sandbox": unsafe_no_sandbox}
    command = ["course", "grade", submissions, "--out", out, *_written(told, given)]
    from course_lib.cli import grading

    course = course_settings(config)
    with grading.told_errors(command):
        grading.require_usable(topics, site, course, cluster, submissions)
        sheet, names = grading.read_given(worksheet, column, vary)
        entries = grading.read_entries(submissions, source, sheet)
        if dry_run:
            return grading.print_foreseen(entries, topics, sheet, course)
        grading.require_isolated(needed=not (unsafe_no_sandbox or cluster))
        printed = {"worksheet": sheet, "site": site, "course": course, "anonymity": anonymous}
        options = {"workers": workers, "cluster": cluster, "sandboxed": not unsafe_no_sandbox}
        private = filter(None, [submissions.resolve(), course.own_topics])
        options |= {"compare": compare, "private": tuple(map(str, private)), "roster": names}
        results = grading.grade_and_publish(entries, out, topics, printed, **options)
    if results.refused or results.off_topic:
        raise typer.Exit(SOME_NOT_GRADED)


def _require_together(out: Path | None, *, anonymous: bool, dry_run: bool) -> None:
    if out is None and not dry_run:
        raise typer.BadParameter("Falta --out.")
    if anonymous and dry_run:
        raise typer.BadParameter("--dry-run dice los nombres: no va con --anonymous.")


def _written(told: dict, given: dict) -> list:
    """Las opciones que se dieron, como se escriben en la orden."""
    valued = [x for name, value in told.items() if value is not None for x in (name, value)]
    return [*valued, *(name for name, on in given.items() if on)]
