"""Lee una entrega como datos: un archivo ajeno, que puede traer cualquier cosa.

Del cuaderno solo se toman los textos de sus celdas de código, en orden. Los metadatos, las salidas,
el núcleo que pide y las celdas de comprobación no importan: qué se califica lo dice el curso, en la
hoja de cada tema (`topic_sheet`), que sale de su cuaderno de ejercicios.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import course_lib
from course_lib.grading.check import topic_exercises
from course_lib.grading.fingerprint import imported_modules, is_check, parse_cell

MAX_FILE = 20 << 20
MAX_CELLS = 2000
MAX_CODE = 2 << 20


class SubmissionError(Exception):
    """El archivo no se puede calificar; el mensaje dice por qué, a quien lo entregó."""


@dataclass(frozen=True)
class Submission:
    """Las celdas de código de una entrega.

    Argumentos:
        cells: el texto de cada una.
        defined: los nombres que asignan fuera de una función.
        checked: los ejercicios que comprueban.
    """

    cells: tuple[str, ...]
    defined: frozenset[str] = field(repr=False, default=frozenset())
    checked: tuple[str, ...] = ()


def read_submission(content: Path | bytes) -> Submission:
    """Lee un cuaderno sin ejecutar ni creer nada de lo que dice.

    Argumentos:
        content: la ruta del cuaderno, o sus bytes.

    Errores:
        SubmissionError: no es un archivo normal, es demasiado grande o no es un cuaderno.
    """
    if not isinstance(content, bytes):
        content = _read_file(Path(content))
    if len(content) > MAX_FILE:
        raise SubmissionError(f"el archivo pasa de {MAX_FILE >> 20} MB: quítale las salidas")
    try:
        notebook = json.loads(content.decode("utf-8-sig"), parse_constant=lambda name: None)
    except UnicodeDecodeError:
        raise SubmissionError("el archivo no es texto UTF-8, así que no es un cuaderno") from None
    except (ValueError, RecursionError):
        raise SubmissionError("el archivo está dañado o cortado: no es JSON válido") from None
    cells = tuple(_code_cells(notebook))
    trees = [tree for cell in cells if (tree := _parse(cell)) is not None]
    defined = frozenset(name for tree in trees for name in _defined(tree))
    checked = tuple(n.args[0].value for t in trees for n in ast.walk(t) if is_check(n))
    return Submission(cells, defined, checked)


def _read_file(path: Path) -> bytes:
    """Lee un archivo normal; ni enlaces, que podrían llevar a otra entrega, ni tuberías."""
    flags = os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError):
        kind = "un enlace" if path.is_symlink() else "un archivo que se pueda leer"
        missing = "la entrega es" if path.is_symlink() else "la entrega no es"
        raise SubmissionError(f"{missing} {kind}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise SubmissionError("la entrega no es un archivo normal")
    with os.fdopen(descriptor, "rb") as file:
        return file.read(MAX_FILE + 1)


def _code_cells(notebook: Any) -> list[str]:
    if not isinstance(notebook, dict):
        raise SubmissionError("el archivo es JSON, pero no un cuaderno de Jupyter")
    cells = notebook.get("cells")
    if cells is None and isinstance(notebook.get("worksheets"), list):  # el formato 3
        sheets = [s.get("cells") for s in notebook["worksheets"] if isinstance(s, dict)]
        cells = [cell for sheet in sheets if isinstance(sheet, list) for cell in sheet]
    if not isinstance(cells, list):
        raise SubmissionError("el archivo es JSON, pero no un cuaderno de Jupyter")
    if len(cells) > MAX_CELLS:
        raise SubmissionError(f"el cuaderno tiene más de {MAX_CELLS} celdas")
    found = [c for c in cells if isinstance(c, dict) and c.get("cell_type") == "code"]
    sources = [_source(c.get("source", c.get("input"))) for c in found]
    if sum(map(len, sources)) > MAX_CODE:
        raise SubmissionError(f"el código del cuaderno pasa de {MAX_CODE >> 20} MB")
    return sources


def _source(value: Any) -> str:
    lines = value if isinstance(value, list) else [value]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.encode("utf-8", "replace").decode()  # sin sustitutos sueltos


def _parse(cell: str) -> ast.Module | None:
    try:
        return parse_cell(cell)
    except (RecursionError, MemoryError):
        return None


def defining_cells(submission: Submission, name: str) -> list[int]:
    """Da las posiciones de las celdas que definen un nombre."""
    trees = enumerate(map(_parse, submission.cells))
    return [i for i, tree in trees if tree is not None and name in _defined(tree)]


def _defined(tree: ast.Module) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        elif isinstance(node, ast.alias):
            names.append((node.asname or node.name).partition(".")[0])
    return names


# Lo que se pide en cada tema


@dataclass(frozen=True)
class Sheet:
    """Lo que el curso pide en un tema.

    Argumentos:
        topic: el tema.
        names: por ejercicio, el nombre que debe tener la respuesta.
        tools: los módulos de la biblioteca que el cuaderno da.
    """

    topic: str
    names: dict[str, str]
    tools: frozenset[str]


@functools.cache
def topic_sheet(topic: str) -> Sheet:
    """Lee la hoja de un tema en el cuaderno de ejercicios del curso, no en el del estudiante.

    Errores:
        ValueError: el cuaderno no comprueba cada ejercicio del tema con un nombre.
    """
    path = exercises_folder() / f"{topic}.ipynb"
    cells = _code_cells(json.loads(path.read_text(encoding="utf-8")))
    trees = [tree for cell in cells if (tree := parse_cell(cell)) is not None]
    checks = [node for tree in trees for node in ast.walk(tree) if is_check(node)]
    names = {n.args[0].value: n.args[1].id for n in checks if isinstance(n.args[1], ast.Name)}
    missing = [e.name for e in topic_exercises(topic) if e.name not in names]
    if missing:
        raise ValueError(f"{path}: falta la comprobación de {', '.join(missing)}.")
    imported = frozenset(imported_modules([ast.unparse(_imports_only(tree)) for tree in trees]))
    return Sheet(topic, names, imported)


def _imports_only(tree: ast.Module) -> ast.Module:
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    return ast.Module(body=found, type_ignores=[])


def exercises_folder() -> Path:
    """La carpeta `exercises/` del curso, que está junto a la biblioteca."""
    folder = Path(course_lib.__file__).parents[1] / "exercises"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"No está {folder}: para calificar hace falta el proyecto del curso, no solo la "
            f"biblioteca instalada."
        )
    return folder


def guess_topic(submission: Submission, topics: list[str] | None = None) -> str | None:
    """Dice de qué tema es una entrega, por los nombres que define y los ejercicios que comprueba.

    Argumentos:
        submission: la entrega.
        topics: entre cuáles elegir; si faltan, todos.
    """
    best, most = None, 0
    for topic in topics or sorted(p.stem for p in exercises_folder().glob("*.ipynb")):
        names = topic_sheet(topic).names
        found = sum(name in submission.defined for name in names.values())
        found += 2 * sum(name in submission.checked for name in names)
        if found > most:
            best, most = topic, found
    return best
