"""`course grade`: califica las entregas de una clase."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from course_lib.cli.project import Config, course_settings, require_topics
from course_lib.cli.terminal import print_error
from course_lib.course_settings import CourseSettings, known_topics
from course_lib.files import write_atomically

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
    course = course_settings(config)
    with _told_errors(command):
        _require_usable(topics, site, course, cluster, submissions)
        sheet, roster = _sheet(worksheet, column), _roster(vary)
        entries = _entries(submissions, source, sheet)
        if dry_run:
            return _print_foreseen(entries, topics, sheet, course)
        _require_isolated(needed=not (unsafe_no_sandbox or cluster))
        printed = {"worksheet": sheet, "site": site, "course": course, "anonymity": anonymous}
        options = {"workers": workers, "cluster": cluster, "sandboxed": not unsafe_no_sandbox}
        private = filter(None, [submissions.resolve(), course.own_topics])
        options |= {"compare": compare, "private": tuple(map(str, private)), "roster": roster}
        results = _grade_and_publish(entries, out, topics, printed, **options)
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


def _sheet(worksheet: Path | None, column: str | None) -> object:
    """Lee lo que se descargó para poner las notas; None si no se da."""
    from course_lib.grading.classroom.course_gradebook import read_sheet

    if column is not None and worksheet is None:
        raise typer.BadParameter("--column dice cuál es la tarea en el archivo de --worksheet.")
    return None if worksheet is None else read_sheet(worksheet, column)


def _roster(path: Path | None) -> tuple[str, ...]:
    """Lee la lista con que se repartieron los cuadernos personales; vacía si no se da."""
    from course_lib.grading.classroom.roster import read_roster

    return () if path is None else tuple(read_roster(path))


@contextmanager
def _told_errors(command: list) -> Iterator[None]:
    """Dice en palabras lo que impide calificar, y sale con 1 (algo falló) o 2 (algo se pidió mal).

    Argumentos:
        command: la orden, para decir con qué cambio se repite.
    """
    from course_lib.grading.classroom.delivered import CollectionError
    from course_lib.grading.classroom.lanes import ClassRunError, ClusterLostError
    from course_lib.grading.classroom.overrides import OverridesError
    from course_lib.grading.classroom.publication import TopicsError
    from course_lib.grading.classroom.rubric import RubricError
    from course_lib.grading.classroom.spreadsheets import SpreadsheetError
    from course_lib.grading.classroom.worksheet import WorksheetError
    from course_lib.grading.sandbox.box import SandboxError

    code = 1
    try:
        yield
        return
    except TopicsError as error:
        said, code = _which_topics(error, command), 2
    except ClusterLostError as error:
        said = str(error)
    except (ClassRunError, CollectionError, SandboxError) as error:
        said, code = str(error), 2
    except (OverridesError, RubricError, SpreadsheetError, WorksheetError) as error:
        said, code = str(error), 2
    except OSError as error:
        said = (
            f"No se pudo leer o escribir un archivo: {_reason(error)}. "
            "Lo que ya se calificó está guardado: resuélvelo, repite la orden y sigue donde quedó."
        )
    except KeyboardInterrupt:
        said = "Interrumpido. Lo calificado está guardado: repite la orden y sigue donde quedó."
    print_error(said)
    raise typer.Exit(code)


def _reason(error: OSError) -> str:
    """Dice en español por qué no se pudo usar un archivo."""
    known = {
        errno.ENOSPC: "el disco está lleno",
        errno.EDQUOT: "se acabó tu cuota de disco",
        errno.EROFS: "el disco es de solo lectura",
        errno.EACCES: "no tienes permiso",
        errno.EPERM: "no tienes permiso",
        errno.EIO: "el disco falla",
        errno.EMFILE: "hay demasiados archivos abiertos",
    }
    reason = known.get(error.errno) or error.strerror or str(error)
    return f"{reason} ({error.filename})" if error.filename else reason


def _which_topics(error: object, command: list) -> str:
    """Dice qué orden repetir si cuenta solo el tema más entregado, y cuál si cuentan todos."""

    def line(topics: list[str]) -> str:
        options = [x for name in topics for x in ("--topic", name)]
        return shlex.join(map(str, [*command, *options]))

    names = list(error.delivered)
    return (
        f"{error} No se escribieron notas. Lo calificado está guardado: di cuáles cuentan.\n"
        f"Si cuenta solo {names[0]}:\n  {line(names[:1])}\nSi cuentan todos:\n  {line(names)}"
    )


def _require_usable(
    topics: list[str],
    site: str | None,
    course: CourseSettings,
    cluster: str | None,
    submissions: Path,
) -> None:
    """Comprueba, antes de escribir nada, lo que se puede comprobar sin las entregas."""
    from course_lib.grading.submission import gradable_topics

    require_topics(topics, gradable_topics(), course)
    if site is not None and not site.startswith(("https://", "http://")):
        raise typer.BadParameter(f"--site debe ser una dirección (https://…), y llegó «{site}».")
    if cluster is not None and course.own_topics is not None:
        raise typer.BadParameter("--cluster no admite temas propios (`own_topics`).")
    if course.own_topics is not None and course.own_topics.is_relative_to(submissions.resolve()):
        raise typer.BadParameter(
            "La carpeta de tus temas (`own_topics`) está entre las entregas, y de ahí no se lee lo "
            "que califica: ponla fuera."
        )


def _require_isolated(*, needed: bool) -> None:
    from course_lib.grading.classroom.class_run import SandboxError, why_unavailable
    from course_lib.grading.sandbox.grader import WHAT_IS_LOST

    if needed and (reason := why_unavailable()):
        raise SandboxError(
            f"{reason} No se calificó nada. Con --unsafe-no-sandbox se puede seguir sin aislar "
            f"el código ajeno; así se pierde esto: {WHAT_IS_LOST}"
        )


def _grade_and_publish(
    entries: list,
    out: Path,
    topics: list[str],
    printed: dict,
    *,
    sandboxed: bool,
    compare: Path | None,
    **options: object,
) -> object:
    from course_lib.grading.classroom.anonymous import Anonymity
    from course_lib.grading.classroom.class_run import ClassFolder, read_class
    from course_lib.grading.sandbox.grader import WHAT_IS_LOST

    before = None if compare is None else read_class(compare)
    errors = Console(stderr=True, soft_wrap=True)
    with ClassFolder(out) as folder:
        if compare is not None:
            folder.share_seed(compare)
        known = [*entries, *(one.entry for one in before or ())]
        anonymity = Anonymity(known, folder.seed())
        sheets = _read_by_hand(folder.path, compare, entries, anonymity, printed["anonymity"])
        printed["anonymity"] = anonymity if printed["anonymity"] else None
        if not sandboxed:
            errors.print(WHAT_IS_LOST, style="bold yellow", markup=False, highlight=False)
        # Con varios temas se reconoce cada entrega; con uno, lo que no dice de cuál es, es de él.
        options["topic"] = topics[0] if len(topics) == 1 else None
        graded = _grade_with_progress(entries, folder, errors, sandboxed=sandboxed, **options)
        with errors.status("Escribiendo notas e informes…"):
            results, published = _publish(graded, before, topics, sheets, folder.path, printed)
    _print_summary(results, published, printed["anonymity"])
    if before is not None:
        Console().print(printed["changes"].summary(), markup=False, highlight=False, soft_wrap=True)
    return results


def _read_by_hand(
    folder: Path, compare: Path | None, entries: list, anonymity: object, anonymous: bool
) -> tuple:
    """Lee lo que se puso a mano: la rúbrica y los cambios; si aún no hay, lo de la otra clase.

    Los dos pueden nombrar a cada quien por su número.
    """
    from course_lib.grading.classroom import overrides, rubric
    from course_lib.grading.classroom.spreadsheets import by_hand

    changes, owners = folder / overrides.OVERRIDES_FILE, anonymity.owners
    if compare is not None:
        owners = _owners_there(compare, entries) | owners
        for mine, theirs in (
            (rubric.find_rubric(folder), rubric.find_rubric(compare)),
            (by_hand(changes), compare / overrides.OVERRIDES_FILE),
        ):
            other = theirs and by_hand(theirs)
            if other and other.exists() and not (mine and mine.exists()):
                write_atomically(folder / other.name, other.read_bytes())
    overrides.write_blank(changes)
    changed = overrides.by_owner(overrides.read_overrides(changes), entries, anonymity.names)
    points = rubric.read_rubric(rubric.place_rubric(folder, anonymous=anonymous))
    return {owners.get(key, key): own for key, own in points.items()}, changed


def _owners_there(folder: Path, entries: list) -> dict[str, str]:
    """De quién es cada número en otra calificación, que puede tener otra semilla."""
    from course_lib.grading.classroom.anonymous import Anonymity
    from course_lib.grading.classroom.class_run import read_seed

    return Anonymity(entries, read_seed(folder)).owners


def _publish(
    graded: list,
    before: list | None,
    topics: list[str],
    sheets: tuple,
    folder: Path,
    printed: dict,
) -> tuple:
    """Escribe la rúbrica, las notas y los informes, y lo que cambió de otra calificación."""
    from course_lib.grading.classroom.comparison import ClassComparison
    from course_lib.grading.classroom.overrides import (
        OVERRIDES_FILE,
        with_overrides,
        with_those_that_fit,
    )
    from course_lib.grading.classroom.publication import publish
    from course_lib.grading.classroom.results import ClassResults
    from course_lib.grading.classroom.rubric import place_rubric, with_rubric, write_rubric

    points, by_hand = sheets
    course = printed.pop("course")
    works = with_overrides(with_rubric(graded, points), by_hand)
    results = ClassResults(works, topics, course, by_hand)
    if before is not None:
        dates = {one.entry.key: one.entry.delivered for one in graded}
        old = [
            replace(one, entry=replace(one.entry, delivered=dates.get(one.entry.key)))
            for one in with_rubric(before, points)
        ]
        old = with_those_that_fit(old, by_hand)
        old = ClassResults(old, results.counted, course, by_hand)
        printed["changes"] = ClassComparison(old, results)
    published = publish(results, folder, **printed)
    if anonymity := printed["anonymity"]:
        graded, points = anonymity.graded(graded), anonymity.keys(points)
    sheet = place_rubric(folder, anonymous=anonymity is not None)
    if write_rubric(graded, points, sheet):
        published.files["Rúbrica de los experimentos, para llenar a mano"] = sheet
    published.files["Puntos y retrasos puestos a mano"] = folder / OVERRIDES_FILE
    return results, published


def _entries(submissions: Path, source: str | None, sheet: object) -> list:
    """Reúne las entregas, con el nombre de cada quien en el libro y cuándo entregó, si lo dice."""
    from course_lib.grading.classroom.collection import collect
    from course_lib.grading.classroom.course_gradebook import CourseGradebook
    from course_lib.grading.classroom.platform_names import SOURCES

    if source not in (None, *SOURCES):
        raise typer.BadParameter(f"--from es uno de {', '.join(SOURCES)}, y llegó «{source}».")
    entries = collect(submissions, source)
    if sheet is None:
        return entries
    entries = [replace(e, delivered=sheet.delivered(e) or e.delivered) for e in entries]
    if not isinstance(sheet, CourseGradebook):
        return entries
    # Los archivos de Canvas lo traen pegado.
    return [replace(entry, student=sheet.name_of(entry) or entry.student) for entry in entries]


def _grade_with_progress(
    entries: list, folder: object, console: Console, **options: object
) -> list:
    from course_lib.grading.classroom.class_run import grade_class

    remaining = (TextColumn("faltan"), TimeRemainingColumn())
    columns = (TextColumn("Entregas"), BarColumn(), MofNCompleteColumn(), *remaining)
    with Progress(*columns, console=console, transient=True) as bar:
        tasks: list = []

        def advance(done: int, total: int) -> None:
            if not tasks:  # las que ya estaban no cuentan para el tiempo que falta
                tasks.append(bar.add_task("", total=total, completed=done))
            bar.update(tasks[0], completed=done)

        return grade_class(entries, folder, progress=advance, **options)


def _print_summary(results: object, published: object, anonymity: object | None = None) -> None:
    """Resume la clase. Nada de lo que escribió un estudiante llega entero a la terminal."""
    from course_lib.grading.sandbox.wire import clean

    console = Console()
    results = results if anonymity is None else anonymity.results(results)
    console.print(_class_table(results))
    course = {one.entry.key for _, works in results.set_aside for one in works}
    for one in results.works:
        who, source = clean(one.entry.student, 60), clean(one.entry.source, 80)
        who = who if source == who else f"{who} ({source})"
        mark = "" if one.result.status == "graded" else "➖" if one.entry.key in course else "❌"
        told = [f"{mark} {who}: {one.result.message}"] if mark else []
        for text in (*told, *(f"⚠️ {who}: {note}" for note in one.result.notes)):
            console.print(clean(text, 500), markup=False, highlight=False, soft_wrap=True)
    for student in results.off_topic:
        text = clean(f"❔ {student.name}, sin nota: {student.off_topic}.", 500)
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    if results.adjusted:
        told = len(results.adjusted)
        console.print(f"Con retraso o con puntos a mano: {told}.", highlight=False)
    if results.undated:
        told = ", ".join(clean(student.name, 60) for student in results.undated[:10])
        text = f"Sin fecha de entrega, y sin descuento: {len(results.undated)} ({told})."
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    for text in (published.topics, published.scale):
        if text:
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    if published.missing:
        names = ", ".join(clean(name, 60) for name in published.missing)
        if anonymity is not None:
            names = f"{len(published.missing)}; sin --anonymous se dice quiénes"
        text = f"Sin lugar en la hoja o en el ZIP de {published.platform}: {names}"
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    if published.absent:
        text = _absent_told(published.absent, names=anonymity is None)
        console.print(clean(text, 2000), markup=False, highlight=False, soft_wrap=True)
    for name, path in published.files.items():
        console.print(f"{name}: {path}", markup=False, highlight=False, soft_wrap=True)


def _print_foreseen(
    entries: list, topics: list[str], sheet: object, course: CourseSettings
) -> None:
    """Dice qué se calificaría, sin ejecutar nada de nadie."""
    from course_lib.grading.classroom.preview import foresee
    from course_lib.grading.sandbox.wire import clean

    console = Console()
    found = foresee(entries, topics, course)
    table = Table("Estudiante", "Archivo", "Tema", "Qué se haría", title="Sin calificar nada")
    delivered: dict[str, set[str]] = {}
    for one in found:
        done = f"no se califica: {one.refusal}" if one.refusal else "se califica"
        source = one.entry.source if one.entry.source != one.entry.student else "–"
        told = (one.entry.student, source, one.topic or "–")
        done = f"{done}; {one.note}" if one.note else done
        table.add_row(*(Text(clean(text, 80)) for text in told), Text(clean(done, 300)))
        if not one.refusal and course.includes(one.topic):
            delivered.setdefault(one.topic, set()).add(one.entry.owner)
    console.print(table)
    for text in _foreseen_in_words(found, delivered, topics, sheet):
        console.print(clean(text, 2000), markup=False, highlight=False, soft_wrap=True)


def _foreseen_in_words(
    found: list, delivered: dict[str, set[str]], topics: list[str], sheet: object
) -> Iterator[str]:
    from course_lib.grading.classroom.preview import look_alikes_told

    refused = sum(bool(one.refusal) for one in found)
    students = len({one.entry.owner for one in found})
    yield (
        f"Estudiantes: {students}. Entregas que se califican: {len(found) - refused}; que no: "
        f"{refused}."
    )
    if not delivered and refused < len(found):
        yield "Nadie tendría nota: lo que se entregó no es de ningún tema de este curso."
    if alike := look_alikes_told(one.entry for one in found):
        yield f"Mira los nombres: {alike}."
    if delivered:
        told = ", ".join(f"{topic} ({len(delivered[topic])})" for topic in sorted(delivered))
        yield f"Temas, y cuántos estudiantes entregaron cada uno: {told}."
    if len(delivered) > 1 and not topics:
        yield "Hay varios: al calificar, di cuáles cuentan con --topic."
    if sheet is not None:
        strangers = {o.entry.student: None for o in found if not sheet.rows_of(o.entry)}
        yield f"No están en la hoja: {', '.join(strangers) or 'nadie; están todos'}."
        if absent := sheet.absent(one.entry for one in found):
            yield _absent_told(absent, names=True)
    yield "No se ejecutó ni se escribió nada."


def _absent_told(absent: Sequence[str], *, names: bool) -> str:
    """Dice cuántos de la hoja no entregaron nada y, si se puede, quiénes."""
    told = f" ({', '.join(absent[:20])}{', …' if len(absent) > 20 else ''})" if names else ""
    return f"No entregaron nada, según la hoja: {len(absent)}{told}."


def _class_table(results: object) -> Table:
    table = Table("Tema", title=Text("Entregas calificadas"))
    for column in ("Entregas", "Con todos los puntos", "Sin puntos", "Media"):
        table.add_column(column, justify="right")
    for topic in results.topics:
        mean = f"{topic.mean:.1f} de {topic.max_points:g}"
        table.add_row(topic.name, *map(str, (len(topic.files), topic.full, topic.empty)), mean)
    if results.graded < len(results.works):
        left = len(results.works) - results.graded
        table.add_row("(no se calificaron)", str(left), "", "", "")
    return table
