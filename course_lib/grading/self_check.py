"""Lo que hace `course check`: ejecuta el cuaderno de un estudiante y reúne sus veredictos.

Es para el estudiante, en su propia máquina: el código corre con sus permisos, y nada impide que se
dé por bueno. Calificar entregas ajenas es otra cosa.
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

import nbformat

from course_lib.grading.execution import CellFailedError, execute_whole, verdicts
from course_lib.grading.fingerprint import is_check, parse_cell
from course_lib.grading.verdict import Verdict


class NotebookFileError(Exception):
    """El archivo no es un cuaderno que se pueda leer; el mensaje dice por qué."""


@dataclass(frozen=True)
class Report:
    """El resumen de un cuaderno: sus veredictos, las celdas que se detuvieron y los avisos."""

    rows: tuple[Verdict, ...]
    broken_cells: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

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
        return any(row.status not in ("correct", "pending") for row in self.rows)


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
    if not checks:
        raise NotebookFileError(f"{path} no comprueba ningún ejercicio del curso.")
    stopped = ""
    try:
        execute_whole(notebook, path.resolve().parent, timeout=timeout)
    except CellFailedError as failure:
        name = _cell_name(notebook, failure.index, checks)
        stopped = f"{name}: {failure.reason}; las siguientes no se ejecutaron"
    rows = tuple(_rows(notebook, checks, verdicts(notebook)))
    broken = [*_broken_cells(notebook, checks, rows), *([stopped] if stopped else [])]
    return Report(rows, tuple(broken), tuple(_notes(notebook, rows)))


def _notes(notebook: Any, rows: tuple[Verdict, ...]) -> Iterator[str]:
    """Avisa de lo que aquí se puede usar y al calificar no, porque es la respuesta."""
    from course_lib.grading.check import find_exercise  # carga torch
    from course_lib.grading.library_view import answers_of
    from course_lib.grading.submission import answer_uses

    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    for row in rows:
        answers = answers_of(find_exercise(row.exercise)) if row.status == "correct" else ()
        for name in answer_uses(cells, row.exercise, answers):
            yield (
                f"{row.exercise} usa «{name}», que es lo que se pide escribir: al calificar no "
                f"se puede usar"
            )


@dataclass(frozen=True)
class _Check:
    """Dónde comprueba el cuaderno un ejercicio, y el nombre de la respuesta, si lo tiene."""

    cell: int
    answer: str


def _checks_in(notebook: Any) -> dict[str, _Check]:
    """Da los ejercicios que el cuaderno comprueba; de uno repetido, la última vez."""
    found = {}
    for index, cell in enumerate(notebook.cells):
        for node in _nodes(cell):
            if is_check(node):
                answer = getattr(node.args[1], "id", "") if len(node.args) > 1 else ""
                found[node.args[0].value] = _Check(index, answer)
    return found


def _nodes(cell: Any) -> list[ast.AST]:
    if cell.cell_type != "code":
        return []
    tree = parse_cell(cell.source)
    return [] if tree is None else list(ast.walk(tree))


def _defining_cell(notebook: Any, answer: str) -> int | None:
    """Busca la última celda que define un nombre, aunque no sea Python válido."""
    from course_lib.grading.submission import defines  # carga torch

    cells = list(enumerate(notebook.cells))
    found = [i for i, cell in cells if cell.cell_type == "code" and defines(cell.source, answer)]
    return found[-1] if found else None


def _cell_name(notebook: Any, index: int, checks: dict[str, _Check]) -> str:
    """Nombra una celda como la ve quien la escribió: por cómo empieza y el ejercicio que resuelve.

    Jupyter no numera las celdas: los números de su margen son otra cosa.
    """
    lines = [line for line in notebook.cells[index].source.splitlines() if line.strip()]
    named = f"la celda que empieza con «{_cut(lines[0], 60)}»" if lines else "una celda vacía"
    for exercise, check in checks.items():
        if index == check.cell:
            return f"la comprobación de {exercise}"
        if _defining_cell(notebook, check.answer) == index:
            return f"{named}, de {exercise}"
    return named


def _cut(text: str, limit: int) -> str:
    from course_lib.grading.wire import clean  # carga torch

    return clean(text, limit)


def _error_in(cell: Any) -> str:
    """Dice con qué se detuvo una celda y en qué línea del estudiante; vacío si no se detuvo."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            if output.ename == "KeyboardInterrupt":
                return "tardó demasiado y se interrumpió"
            # El texto de un error de sintaxis acaba con un archivo que no existe.
            reason = re.sub(r" \(\d+\.py, line \d+\)$", "", output.evalue)
            return _cut(f"{output.ename}: {reason}", 200).rstrip(": ") + _line_of(output.traceback)
    return ""


def _line_of(traceback: list[str]) -> str:
    """Lee en la traza de IPython la línea más profunda que está en una celda."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(traceback))
    frames = re.findall(r"^ *Cell In\[\d+\], line (\d+).*\n((?:.+\n?)*)", text, re.M)
    if not frames:
        return ""
    number, shown = frames[-1]
    marked = re.search(r"^-+> *\d+ (.*)$", shown, re.M)
    source = _cut(marked[1] if marked else shown.partition("\n")[0], 80)
    return "" if source.startswith("get_ipython()") else f" (línea {number}: {source})"


def _broken_cells(notebook: Any, checks: dict[str, _Check], rows: tuple[Verdict, ...]) -> list[str]:
    """Da las celdas que se detuvieron, sin las que solo echan de menos una respuesta que falta."""
    told = {check.cell for check in checks.values()}
    missing = [
        checks[r.exercise].answer for r in rows if r.status == "missing" and r.exercise in checks
    ]
    lacks = tuple(_lacks(answer) for answer in missing if answer)
    told |= {_defining_cell(notebook, answer) for answer in missing}
    return [
        f"{_cell_name(notebook, index, checks)}: {error}"
        for index, cell in enumerate(notebook.cells)
        if index not in told and (error := _error_in(cell)) and not error.startswith(lacks)
    ]


def _lacks(answer: str) -> str:
    return f"{NameError.__name__}: name '{answer}' "


def _rows(notebook: Any, checks: dict[str, _Check], found: dict[str, dict]) -> list[Verdict]:
    """Junta lo que el cuaderno comprobó con lo que sus temas declaran."""
    points = _declared_points(checks)
    rows = []
    for name in [*checks, *(n for n in points if n not in checks)]:
        if name in found:
            rows.append(Verdict(**found[name]))
        elif name in checks:
            message = _why_missing(notebook, checks[name])
            rows.append(Verdict(name, "missing", 0, points.get(name, 0), message))
        else:
            message = "el cuaderno no tiene su celda de comprobación"
            rows.append(Verdict(name, "missing", 0, points[name], message))
    return rows


def _why_missing(notebook: Any, check: _Check) -> str:
    """Dice por qué no hay veredicto: falta la respuesta, o la comprobación no llegó al final."""
    error = _error_in(notebook.cells[check.cell])
    if not check.answer or not error.startswith(_lacks(check.answer)):
        return error or "su celda de comprobación no se ejecutó"
    index = _defining_cell(notebook, check.answer)
    if index is not None and (reason := _error_in(notebook.cells[index])):
        return f"la celda que define «{check.answer}» se detuvo: {reason}"
    return f"el cuaderno no define «{check.answer}»"


def _declared_points(names: Iterable[str]) -> dict[str, int]:
    from course_lib.grading.check import topic_exercises  # carga torch

    topics = dict.fromkeys(name.partition(".")[0] for name in names)
    return {e.name: e.points for topic in topics for e in topic_exercises(topic)}
