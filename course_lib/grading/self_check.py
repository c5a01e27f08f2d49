"""Lo que hace `course check`: ejecuta el cuaderno de un estudiante y reúne sus veredictos.

Es para el estudiante, en su propia máquina: el código corre con sus permisos, y nada impide que se
dé por bueno. Calificar entregas ajenas es otra cosa.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
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
    names = _checked_names(notebook)
    if not names:
        raise NotebookFileError(f"{path} no comprueba ningún ejercicio del curso.")
    broken: list[str] = []
    try:
        execute_whole(notebook, path.resolve().parent, timeout=timeout)
    except CellFailedError as failure:
        broken.append(
            f"celda {failure.index + 1}: {failure.reason}; las siguientes no se ejecutaron"
        )
    errors = {name: _error_in(notebook.cells[index]) for name, index in names.items()}
    broken = [*_broken_cells(notebook, set(names.values())), *broken]
    rows = tuple(_rows(names, verdicts(notebook), errors))
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
            yield f"{row.exercise} usa «{name}», que es la respuesta: al calificar no está"


def _checked_names(notebook: Any) -> dict[str, int]:
    """Da los ejercicios que el cuaderno comprueba, y la celda en que lo hace."""
    names = {}
    for index, cell in enumerate(notebook.cells):
        for node in _nodes(cell):
            if is_check(node):
                names[node.args[0].value] = index
    return names


def _nodes(cell: Any) -> list[ast.AST]:
    if cell.cell_type != "code":
        return []
    tree = parse_cell(cell.source)
    return [] if tree is None else list(ast.walk(tree))


def _error_in(cell: Any) -> str:
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            if output.ename == "KeyboardInterrupt":
                return "tardó demasiado y se interrumpió"
            return f"{output.ename}: {' '.join(output.evalue.split())}"[:200]
    return ""


def _broken_cells(notebook: Any, check_cells: set[int]) -> list[str]:
    return [
        f"celda {index + 1}: {error}"
        for index, cell in enumerate(notebook.cells)
        if index not in check_cells and (error := _error_in(cell))
    ]


def _rows(names: dict[str, int], found: dict[str, dict], errors: dict[str, str]) -> list[Verdict]:
    """Junta lo que el cuaderno comprobó con lo que sus temas declaran."""
    points = _declared_points(names)
    rows = []
    for name in [*names, *(n for n in points if n not in names)]:
        if name in found:
            rows.append(Verdict(**found[name]))
        elif name in names:
            message = errors[name] or "su celda de comprobación no se ejecutó"
            rows.append(Verdict(name, "missing", 0, points.get(name, 0), message))
        else:
            message = "el cuaderno no tiene su celda de comprobación"
            rows.append(Verdict(name, "missing", 0, points[name], message))
    return rows


def _declared_points(names: dict[str, int]) -> dict[str, int]:
    from course_lib.grading.check import topic_exercises  # carga torch

    topics = dict.fromkeys(name.partition(".")[0] for name in names)
    return {e.name: e.points for topic in topics for e in topic_exercises(topic)}
