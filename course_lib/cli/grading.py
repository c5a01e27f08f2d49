"""Lo que hace `course grade`: lee lo que se da, califica, publica y lo cuenta en la terminal."""

from __future__ import annotations

import errno
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from course_lib.cli.project import require_topics
from course_lib.cli.terminal import SPANISH, print_error, progress_bar, say
from course_lib.course_settings import CourseSettings
from course_lib.files import write_atomically
from course_lib.grading.classroom import class_run, overrides, rubric
from course_lib.grading.classroom.anonymous import Anonymity
from course_lib.grading.classroom.collection import CollectionError, Entry, collect
from course_lib.grading.classroom.comparison import ClassComparison
from course_lib.grading.classroom.course_gradebook import CourseGradebook, GradesSheet, read_sheet
from course_lib.grading.classroom.platform_names import SOURCES
from course_lib.grading.classroom.preview import Foreseen, foresee, look_alikes_told
from course_lib.grading.classroom.publication import Published, TopicsError, publish
from course_lib.grading.classroom.results import ClassResults, Graded, counted_worth
from course_lib.grading.classroom.roster import read_roster
from course_lib.grading.classroom.spreadsheets import SpreadsheetError, by_hand
from course_lib.grading.classroom.worksheet import WorksheetError
from course_lib.grading.sandbox.grader import WHAT_IS_LOST
from course_lib.grading.sandbox.wire import clean
from course_lib.grading.submission import gradable_topics

_ASKED_WRONG = (
    *(class_run.ClassRunError, class_run.SandboxError, CollectionError, WorksheetError),
    *(overrides.OverridesError, rubric.RubricError, SpreadsheetError),
)


def read_given(
    worksheet: Path | None, column: str | None, vary: Path | None
) -> tuple[GradesSheet | None, tuple[str, ...]]:
    """Lee lo que se descargó para poner las notas, y la lista de los cuadernos personales."""
    if column is not None and worksheet is None:
        raise typer.BadParameter("--column dice cuál es la tarea en el archivo de --worksheet.")
    sheet = None if worksheet is None else read_sheet(worksheet, column)
    return sheet, () if vary is None else tuple(read_roster(vary))


@contextmanager
def told_errors(command: list) -> Iterator[None]:
    """Dice en palabras lo que impide calificar, y sale con 1 (algo falló) o 2 (algo se pidió mal).

    Argumentos:
        command: la orden, para decir con qué cambio se repite.
    """
    code = 1
    try:
        yield
        return
    except TopicsError as error:
        said, code = _which_topics(error, command), 2
    except class_run.ClusterLostError as error:
        said = str(error)
    except _ASKED_WRONG as error:
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
    known = SPANISH["files"].get(errno.errorcode.get(error.errno, ""))
    reason = known or error.strerror or str(error)
    return f"{reason} ({error.filename})" if error.filename else reason


def _which_topics(error: TopicsError, command: list) -> str:
    """Dice qué orden repetir si cuenta solo el tema más entregado, y cuál si cuentan todos."""

    def line(topics: list[str]) -> str:
        options = [x for name in topics for x in ("--topic", name)]
        return shlex.join(map(str, [*command, *options]))

    names = list(error.delivered)
    return (
        f"{error} No se escribieron notas. Lo calificado está guardado: di cuáles cuentan.\n"
        f"Si cuenta solo {names[0]}:\n  {line(names[:1])}\nSi cuentan todos:\n  {line(names)}"
    )


def require_usable(
    topics: list[str],
    site: str | None,
    course: CourseSettings,
    cluster: str | None,
    submissions: Path,
) -> None:
    """Comprueba, antes de escribir nada, lo que se puede comprobar sin las entregas."""
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


def require_isolated(*, needed: bool) -> None:
    if needed and (reason := class_run.why_unavailable()):
        raise class_run.SandboxError(
            f"{reason} No se calificó nada. Con --unsafe-no-sandbox se puede seguir sin aislar "
            f"el código ajeno; así se pierde esto: {WHAT_IS_LOST}"
        )


def grade_and_publish(
    entries: list[Entry],
    out: Path,
    topics: list[str],
    printed: dict,
    *,
    sandboxed: bool,
    compare: Path | None,
    **options: object,
) -> ClassResults:
    before = None if compare is None else class_run.read_class(compare)
    errors = Console(stderr=True, soft_wrap=True)
    with class_run.ClassFolder(out) as folder:
        if compare is not None:
            folder.share_seed(compare)
        known = [*entries, *(one.entry for one in before or ())]
        anonymity = Anonymity(known, folder.seed())
        sheets = _read_by_hand(folder.path, compare, entries, anonymity, printed["anonymity"])
        printed["anonymity"] = anonymity if printed["anonymity"] else None
        if not sandboxed:
            say(WHAT_IS_LOST, errors, style="bold yellow")
        # Con varios temas se reconoce cada entrega; con uno, lo que no dice de cuál es, es de él.
        options["topic"] = topics[0] if len(topics) == 1 else None
        graded = _grade_with_progress(entries, folder, sandboxed=sandboxed, **options)
        with errors.status("Escribiendo notas e informes…"):
            results, published = _publish(graded, before, topics, sheets, folder.path, printed)
    _print_summary(results, published, printed["anonymity"])
    if before is not None:
        say(printed["changes"].summary())
    return results


def _read_by_hand(
    folder: Path, compare: Path | None, entries: list[Entry], anonymity: Anonymity, anonymous: bool
) -> tuple:
    """Lee lo que se puso a mano: la rúbrica y los cambios; si aún no hay, lo de la otra clase.

    Los dos pueden nombrar a cada quien por su número.
    """
    changes, owners = folder / overrides.OVERRIDES_FILE, anonymity.owners
    if compare is not None:
        # Con otra semilla, los números de la otra calificación son otros.
        owners = Anonymity(entries, class_run.read_seed(compare)).owners | owners
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


def _publish(
    graded: list[Graded],
    before: list[Graded] | None,
    topics: list[str],
    sheets: tuple,
    folder: Path,
    printed: dict,
) -> tuple:
    """Escribe la rúbrica, las notas y los informes, y lo que cambió de otra calificación."""
    points, by_hand = sheets
    course = printed.pop("course")
    works = overrides.with_overrides(rubric.with_rubric(graded, points), by_hand)
    results = ClassResults(works, topics, course, by_hand)
    if before is not None:
        dates = {one.entry.key: one.entry.delivered for one in graded}
        old = [
            replace(one, entry=replace(one.entry, delivered=dates.get(one.entry.key)))
            for one in rubric.with_rubric(before, points)
        ]
        old = overrides.with_those_that_fit(old, by_hand)
        worth = counted_worth(old, results.counted, course)
        fit = overrides.with_totals_that_fit(by_hand, sum(worth.values()))
        old = ClassResults(old, results.counted, course, fit)
        printed["changes"] = ClassComparison(old, results)
    published = publish(results, folder, **printed)
    if anonymity := printed["anonymity"]:
        graded, points = anonymity.graded(graded), anonymity.keys(points)
    sheet = rubric.place_rubric(folder, anonymous=anonymity is not None)
    if rubric.write_rubric(graded, points, sheet, results.counted):
        published.files["Rúbrica de los experimentos, para llenar a mano"] = sheet
    published.files["Puntos y retrasos puestos a mano"] = folder / overrides.OVERRIDES_FILE
    return results, published


def read_entries(submissions: Path, source: str | None, sheet: GradesSheet | None) -> list[Entry]:
    """Reúne las entregas, con el nombre de cada quien en el libro y cuándo entregó, si lo dice."""
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
    entries: list[Entry], folder: class_run.ClassFolder, **options: object
) -> list[Graded]:
    with progress_bar("Entregas", TextColumn("faltan"), TimeRemainingColumn()) as bar:
        tasks: list = []

        def advance(done: int, total: int) -> None:
            if not tasks:  # las que ya estaban no cuentan para el tiempo que falta
                tasks.append(bar.add_task("", total=total, completed=done))
            bar.update(tasks[0], completed=done)

        return class_run.grade_class(entries, folder, progress=advance, **options)


def _print_summary(
    results: ClassResults, published: Published, anonymity: Anonymity | None
) -> None:
    """Resume la clase. Nada de lo que escribió un estudiante llega entero a la terminal."""
    results = results if anonymity is None else anonymity.results(results)
    Console().print(_class_table(results))
    course = {one.entry.key for _, works in results.set_aside for one in works}
    for one in results.works:
        who, source = clean(one.entry.student, 60), clean(one.entry.source, 80)
        who = who if source == who else f"{who} ({source})"
        mark = "" if one.result.status == "graded" else "➖" if one.entry.key in course else "❌"
        told = [f"{mark} {who}: {one.result.message}"] if mark else []
        for text in (*told, *(f"⚠️ {who}: {note}" for note in one.result.notes)):
            say(clean(text, 500))
    for student in results.off_topic:
        say(clean(f"❔ {student.name}, sin nota: {student.off_topic}.", 500))
    if results.adjusted:
        say(f"Con retraso o con puntos a mano: {len(results.adjusted)}.")
    if results.undated:
        told = ", ".join(clean(student.name, 60) for student in results.undated[:10])
        say(f"Sin fecha de entrega, y sin descuento: {len(results.undated)} ({told}).")
    for text in filter(None, (published.topics, published.scale)):
        say(text)
    if published.missing:
        names = ", ".join(clean(name, 60) for name in published.missing)
        if anonymity is not None:
            names = f"{len(published.missing)}; sin --anonymous se dice quiénes"
        say(f"Sin lugar en la hoja o en el ZIP de {published.platform}: {names}")
    if published.absent:
        say(clean(_absent_told(published.absent, names=anonymity is None), 2000))
    for name, path in published.files.items():
        say(f"{name}: {path}")


def print_foreseen(
    entries: list[Entry], topics: list[str], sheet: GradesSheet | None, course: CourseSettings
) -> None:
    """Dice qué se calificaría, sin ejecutar nada de nadie."""
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
    Console().print(table)
    for text in _foreseen_in_words(found, delivered, topics, sheet):
        say(clean(text, 2000))


def _foreseen_in_words(
    found: list[Foreseen],
    delivered: dict[str, set[str]],
    topics: list[str],
    sheet: GradesSheet | None,
) -> Iterator[str]:
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


def _class_table(results: ClassResults) -> Table:
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
