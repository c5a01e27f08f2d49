"""Las soluciones de un tema: dónde está cada una, y qué dejan definido sus celdas."""

import ast
import contextlib
import functools
import io
from dataclasses import dataclass
from pathlib import Path

import nbformat

from course_lib.grading.submission import needed_cells, read_submission, topic_sheet
from course_lib.notebooks.fingerprint import code_cells, parse_cell
from course_lib.notebooks.generation import topics_in
from course_lib.notebooks.source import NotebookError
from course_lib.notebooks.topic_source import TopicSource

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Solution:
    """Un ejercicio en su cuaderno: las celdas hasta su comprobación, y qué se comprueba."""

    name: str
    cells: tuple[str, ...]
    checked: str

    @property
    def marked(self) -> list[int]:
        """Las celdas con la solución: las marcadas después de la comprobación anterior."""
        previous = [i for i, cell in enumerate(self.cells) if _check_call(cell) is not None]
        start = previous[-1] + 1 if previous else 0
        return [i for i, c in enumerate(self.cells) if i >= start and "### BEGIN SOLUTION" in c]

    def namespace_before(self, index: int) -> dict:
        """Lo que dejan definido las celdas anteriores a una."""
        return run_cells(self.cells[:index], {"__name__": "__main__"})

    def student(self, index: int = 0, cell=None, before: dict | None = None):
        """Lo que se comprueba; `cell`, si se da, es el árbol que va en lugar de esa celda."""
        namespace = dict(before) if before is not None else self.namespace_before(index)
        rest = self.cells[index:]
        if cell is not None:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(cell, "<celda>", "exec"), namespace)
            rest = rest[1:]
        return eval(self.checked, run_cells(rest, namespace))


def run_cells(cells, namespace: dict) -> dict:
    """Ejecuta celdas, calladas y sin sus comprobaciones."""
    for code in cells:
        if _check_call(code) is None:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(parse_cell(code), "<celda>", "exec"), namespace)
    return namespace


@functools.cache
def read_topic(topic: str) -> TopicSource:
    """La fuente de un tema, leída una vez."""
    return TopicSource.read(topic, ROOT)


@functools.cache
def read_solutions() -> list[Solution]:
    """Lee las soluciones de todos los temas."""
    found = []
    for topic in topics_in(ROOT):
        with contextlib.suppress(NotebookError):  # `course regenerate` dice qué tiene mal
            found += find_solutions(read_topic(topic))
    return found


def find_solutions(source: TopicSource) -> list[Solution]:
    found, cells = [], []
    for cell in _needed(source):
        call = _check_call(cell)
        if call is not None:
            checked = ast.unparse(call.args[1])
            found.append(Solution(call.args[0].value, tuple(cells), checked))
        cells.append(cell)
    return found


def _needed(source: TopicSource) -> list[str]:
    """Las celdas que se ejecutan al calificar: ni las demostraciones ni los entrenamientos."""
    cells = [cell.source for cell in code_cells(source.notebook)]
    cells = [cell for cell in cells if "except NotImplementedError" not in cell]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    needed = needed_cells(
        read_submission(nbformat.writes(notebook).encode()), topic_sheet(source.topic)
    )
    checks = [i for i, cell in enumerate(cells) if _check_call(cell) is not None]
    return [cells[i] for i in sorted({*needed, *checks})]


def _check_call(code):
    tree = parse_cell(code)
    last = tree.body[-1] if tree and tree.body else None
    call = last.value if isinstance(last, ast.Expr) else None
    is_check = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "check"
    return call if is_check else None
