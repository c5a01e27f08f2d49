"""Lo que hace `course check`: ejecuta el cuaderno de un estudiante y reúne sus veredictos.

Cada ejercicio se juzga como al calificar: al final del cuaderno, por el nombre que su respuesta
tiene en el del curso, digan lo que digan sus celdas de comprobación. Es para el estudiante, en su
propia máquina: el código corre con sus permisos, y nada impide que se dé por bueno. Calificar
entregas ajenas es otra cosa.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib._extras import extra
from course_lib.grading import submission
from course_lib.grading.sandbox.wire import clean
from course_lib.judging.check import find_exercise, topic_exercises
from course_lib.judging.refusal import answers_of
from course_lib.judging.verdict import Verdict
from course_lib.notebooks.execution import CellFailedError, execute_whole, verdicts
from course_lib.notebooks.fingerprint import imported_modules, is_check, parse_cell

with extra("student"):
    import nbformat


_BUILT = ("layers", "models", "fast", "decoding", "training", "pretrained", "translation")
"""Lo que está por encima de las primitivas, y que ellas no importan."""


class NotebookFileError(Exception):
    """El archivo no es un cuaderno que se pueda leer; el mensaje dice por qué."""


@dataclass(frozen=True)
class Report:
    """El resumen de un cuaderno: sus veredictos, las celdas que se detuvieron y los avisos."""

    rows: tuple[Verdict, ...]
    broken_cells: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unread: str = ""  # por qué no se pudo leer, si no se pudo

    @property
    def points(self) -> int:
        return sum(row.points for row in self.rows)

    @property
    def max_points(self) -> int:
        return sum(row.max_points for row in self.rows)

    def counts(self) -> dict[str, int]:
        """Cuántos ejercicios hay en cada estado; los que ganan solo unos puntos, en `partial`."""
        return dict(Counter(row.state() for row in self.rows))

    @property
    def has_faults(self) -> bool:
        """Si algo está mal; lo pendiente no es un fallo."""
        wrong = any(row.status not in ("correct", "pending") for row in self.rows)
        return wrong or bool(self.unread)


def read_notebook(path: Path) -> Any:
    """Lee un cuaderno de Jupyter de cualquier versión.

    Errores:
        NotebookFileError: no existe, no es un archivo o no es un cuaderno.
    """
    if path.is_dir():
        raise NotebookFileError(f"{path} es una carpeta; indica un cuaderno (.ipynb).")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotebookFileError(f"No existe el archivo {path}.") from None
    except OSError as error:
        raise NotebookFileError(f"No se puede leer {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise NotebookFileError(f"{path} no es texto UTF-8, así que no es un cuaderno.") from None
    except json.JSONDecodeError as error:
        if path.suffix != ".ipynb":
            raise NotebookFileError(f"{path} no es un cuaderno de Jupyter (.ipynb).") from None
        raise NotebookFileError(
            f"{path} está dañado: no es JSON válido (línea {error.lineno}). Si lo editaste o se "
            f"cortó la descarga, vuelve a descargarlo y copia en él tus respuestas."
        ) from None
    return _as_notebook(path, content)


def _as_notebook(path: Path, content: Any) -> Any:
    try:
        notebook = nbformat.convert(nbformat.reader.reads(json.dumps(content)), to_version=4)
        nbformat.validate(notebook)
    except Exception:  # nbformat lanza errores de muchos tipos ante un JSON que no es un cuaderno
        raise NotebookFileError(f"{path} es JSON, pero no un cuaderno de Jupyter.") from None
    return notebook


def check_notebook(path: Path, *, timeout: int = 60) -> Report:
    """Ejecuta el cuaderno en un núcleo nuevo y resume sus ejercicios; no modifica el archivo.

    Argumentos:
        path: el cuaderno del estudiante.
        timeout: segundos que puede tardar cada celda.

    Errores:
        NotebookFileError: el archivo no es un cuaderno, o no comprueba ningún ejercicio.
    """
    notebook = read_notebook(path)
    checks = _checks_in(notebook)
    names = _answer_names(notebook, checks)
    if not names:
        raise NotebookFileError(f"{path} no comprueba ningún ejercicio del curso.")
    owner = _owner(notebook)
    final = {exercise: _final_check(exercise, name, owner) for exercise, name in names.items()}
    executed = [*_executed(notebook, names), *final.values()]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []  # lo guardado de otra vez no es de las que no se ejecutan
    whole = nbformat.v4.new_notebook(cells=[_only_at_the_end(), *executed])
    stopped = ""
    try:
        execute_whole(whole, path.resolve().parent, timeout=timeout)
    except CellFailedError as failure:
        cells = nbformat.v4.new_notebook(cells=[*notebook.cells, *final.values()])
        place = _place(cells, executed[max(failure.index - 1, 0)])
        name = _cell_name(cells, place, checks, names)
        stopped = f"{name}: {failure.reason}; las siguientes no se ejecutaron"
    rows = tuple(_rows(notebook, names, final))
    broken = [*_broken_cells(notebook, checks, names, rows), *([stopped] if stopped else [])]
    absent = _absent_when_graded((cell.source for cell in executed), names)
    return Report(rows, tuple(broken), (*_notes(notebook, checks, names, rows), *absent))


def _executed(notebook: Any, names: dict[str, str]) -> list[Any]:
    """Las celdas que se ejecutan, las mismas que al calificar; todas, si eso no se sabe.

    Ni las demostraciones y gráficas que el cuaderno da, mientras nadie use lo que definen, ni el
    experimento del final: ningún veredicto depende de ellas, y son casi todo lo que tarda.
    """
    topics = {name.partition(".")[0] for name in names}
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    try:
        (topic,) = topics
        given = submission.read_submission(nbformat.writes(notebook).encode())
        needed = submission.needed_cells(given, submission.topic_sheet(topic))
        return [code[i] for i in needed]
    except (ValueError, FileNotFoundError, submission.SubmissionError):
        return code  # es de varios temas, o de ninguno


def _place(notebook: Any, cell: Any) -> int:
    return next(i for i, each in enumerate(notebook.cells) if each is cell)


def _only_at_the_end() -> Any:
    """La celda por la que las comprobaciones del cuaderno no hacen nada, como al calificar.

    Juzgar llama a la respuesta, y lo que ella recuerde de esas llamadas cambiaría el veredicto.
    """
    return nbformat.v4.new_code_cell(
        "import course_lib.judging.check\n"
        "course_lib.judging.check.check = lambda *args, **kwargs: None\n"
        "del course_lib"
    )


def _owner(notebook: Any) -> str:
    codes = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return submission.notebook_owner(filter(None, map(parse_cell, codes)))


def _final_check(exercise: str, name: str, owner: str) -> Any:
    """La celda que, con el cuaderno ya ejecutado, juzga la respuesta de ese nombre."""
    imported = "from course_lib.judging.check import judge_now"
    return nbformat.v4.new_code_cell(f'{imported}\njudge_now("{exercise}", {name}, {owner!r})')


def _notes(
    notebook: Any, checks: dict[str, _Check], names: dict[str, str], rows: tuple[Verdict, ...]
) -> Iterator[str]:
    """Avisa de lo que aquí se puede y al calificar no: otro nombre, o lo que es la respuesta."""
    for exercise, check in checks.items():
        if check.shown != names[exercise]:
            yield (
                f"en {exercise}, tu celda de comprobación mira «{check.shown}», y al calificar se "
                f"busca «{names[exercise]}»: la respuesta debe llamarse así"
            )
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for row in rows:
        answers = answers_of(find_exercise(row.exercise)) if row.status == "correct" else ()
        for name in submission.answer_uses(cells, row.exercise, answers):
            yield (
                f"{row.exercise} usa «{name}», que es lo que se pide escribir: al calificar no "
                f"se puede usar"
            )


def _absent_when_graded(codes: Iterable[str], names: dict[str, str]) -> Iterator[str]:
    """Avisa de los modelos y capas que el cuaderno importa, si el del curso no da ninguno.

    Al calificar solo está lo que él da, con lo que eso necesita, y nada los necesita desde abajo.
    """

    def built(modules: Iterable[str]) -> set[str]:
        return {name for name in modules if name.split(".")[1:2] and name.split(".")[1] in _BUILT}

    try:
        given = [submission.topic_sheet(name.partition(".")[0]).tools for name in names]
    except (FileNotFoundError, ValueError):  # no está el proyecto entero
        return
    imported = built(imported_modules(codes))
    if imported and not built(frozenset().union(*given)):
        yield (
            f"tu cuaderno importa «{min(imported, key=len)}», que al calificar no se puede usar: "
            f"tiene la respuesta de algún ejercicio, o no hace falta para resolverlos"
        )


@dataclass(frozen=True)
class _Check:
    """Dónde comprueba el cuaderno un ejercicio, y qué: el nombre de la respuesta, si no cambió."""

    cell: int
    shown: str


def _checks_in(notebook: Any) -> dict[str, _Check]:
    """Da los ejercicios que el cuaderno comprueba; de uno repetido, la última vez."""
    found = {}
    for index, cell in enumerate(notebook.cells):
        for node in _nodes(cell):
            if is_check(node):
                shown = clean(ast.unparse(node.args[1]), 40) if len(node.args) > 1 else ""
                found[node.args[0].value] = _Check(index, shown)
    return found


def _answer_names(notebook: Any, checks: dict[str, _Check]) -> dict[str, str]:
    """Da, por ejercicio, el nombre que se busca al calificar, en el orden del cuaderno.

    Lo dice el cuaderno del curso; donde no está, la celda de comprobación.
    """

    topics = dict.fromkeys(name.partition(".")[0] for name in checks) or _guessed(notebook)
    names = {name: check.shown for name, check in checks.items()}
    for topic in topics:
        try:
            sheet = submission.topic_sheet(topic).names
        except FileNotFoundError:  # no está el proyecto entero
            continue
        names |= {exercise.name: sheet[exercise.name] for exercise in topic_exercises(topic)}
    return names


def _guessed(notebook: Any) -> list[str]:
    """El tema de un cuaderno sin comprobaciones, como al calificar: por lo que define."""
    try:
        given = submission.read_submission(nbformat.writes(notebook).encode())
        topic = submission.guess_topic(given)
    except FileNotFoundError:
        topic = None
    return [topic] if topic else []


def _nodes(cell: Any) -> list[ast.AST]:
    if cell.cell_type != "code":
        return []
    tree = parse_cell(cell.source)
    return [] if tree is None else list(ast.walk(tree))


def _defining_cell(notebook: Any, answer: str) -> int | None:
    """Busca la última celda que define un nombre, aunque no sea Python válido."""
    codes = [(i, c.source) for i, c in enumerate(notebook.cells) if c.cell_type == "code"]
    found = [i for i, code in codes if submission.defines(code, answer)]
    return found[-1] if found else None


def _cell_name(notebook: Any, index: int, checks: dict[str, _Check], names: dict[str, str]) -> str:
    """Nombra una celda como la ve quien la escribió: por cómo empieza y el ejercicio que resuelve.

    Jupyter no numera las celdas: los números de su margen son otra cosa.
    """
    lines = [line for line in notebook.cells[index].source.splitlines() if line.strip()]
    named = f"la celda que empieza con «{clean(lines[0], 60)}»" if lines else "una celda vacía"
    owner = _owner(notebook)
    for exercise, name in names.items():
        if exercise in checks and index == checks[exercise].cell:
            return f"la comprobación de {exercise}"
        if notebook.cells[index].source == _final_check(exercise, name, owner).source:
            return f"la comprobación de {exercise}"
        if _defining_cell(notebook, name) == index:
            return f"{named}, de {exercise}"
    return named


def _error_in(cell: Any) -> str:
    """Dice con qué se detuvo una celda y en qué línea del estudiante; vacío si no se detuvo."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            if output.ename == "KeyboardInterrupt":
                return "tardó demasiado y se interrumpió"
            # El texto de un error de sintaxis acaba con un archivo que no existe.
            reason = re.sub(r" \(\d+\.py, line \d+\)$", "", output.evalue)
            return clean(f"{output.ename}: {reason}", 200).rstrip(": ") + _line_of(output.traceback)
    return ""


def _line_of(traceback: list[str]) -> str:
    """Lee en la traza de IPython la línea más profunda que está en una celda."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(traceback))
    frames = re.findall(r"^ *Cell In\[\d+\], line (\d+).*\n((?:.+\n?)*)", text, re.M)
    if not frames:
        return ""
    number, shown = frames[-1]
    marked = re.search(r"^-+> *\d+ (.*)$", shown, re.M)
    source = clean(marked[1] if marked else shown.partition("\n")[0], 80)
    return "" if source.startswith("get_ipython()") else f" (línea {number}: {source})"


def _broken_cells(
    notebook: Any, checks: dict[str, _Check], names: dict[str, str], rows: tuple[Verdict, ...]
) -> list[str]:
    """Da las celdas que se detuvieron, sin las que solo echan de menos una respuesta que falta."""
    told = {check.cell for check in checks.values()}
    missing = [names.get(row.exercise, "") for row in rows if row.status == "missing"]
    lacks = tuple(_lacks(answer) for answer in missing if answer)
    told |= {_defining_cell(notebook, answer) for answer in missing}
    return [
        f"{_cell_name(notebook, index, checks, names)}: {error}"
        for index, cell in enumerate(notebook.cells)
        if index not in told and (error := _error_in(cell)) and not error.startswith(lacks)
    ]


def _lacks(answer: str) -> str:
    return f"{NameError.__name__}: name '{answer}' "


def _rows(notebook: Any, names: dict[str, str], final: dict[str, Any]) -> Iterator[Verdict]:
    """Da el veredicto de cada ejercicio, o por qué no lo hay."""
    points = _declared_points(names)
    for exercise, name in names.items():
        found = verdicts(nbformat.v4.new_notebook(cells=[final[exercise]]))
        if exercise in found:
            yield Verdict(**found[exercise])
        else:
            message = _why_missing(notebook, name, final[exercise])
            yield Verdict(exercise, "missing", 0, points.get(exercise, 0), message)
    for exercise in [
        name for name in points if name not in names
    ]:  # no se sabe cómo se llama su respuesta
        message = "el cuaderno no tiene su celda de comprobación"
        yield Verdict(exercise, "missing", 0, points[exercise], message)


def _why_missing(notebook: Any, name: str, final: Any) -> str:
    """Dice por qué no hay veredicto: falta la respuesta, o la comprobación no llegó al final."""
    error = _error_in(final)
    if not error.startswith(_lacks(name)):
        return error or "no se llegó a comprobar"
    index = _defining_cell(notebook, name)
    if index is not None and (reason := _error_in(notebook.cells[index])):
        return f"la celda que define «{name}» se detuvo: {reason}"
    return f"el cuaderno no define «{name}»"


def _declared_points(names: Iterable[str]) -> dict[str, int]:
    topics = dict.fromkeys(name.partition(".")[0] for name in names)
    return {e.name: e.points for topic in topics for e in topic_exercises(topic)}
