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
import re
import stat
import symtable
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import course_lib
from course_lib.judging import OWN_TOPICS
from course_lib.judging.check import topic_exercises
from course_lib.notebooks.fingerprint import global_uses, imported_modules, is_check, parse_cell

MAX_FILE = 20 << 20
MAX_CELLS = 2000
MAX_CODE = 512 << 10  # analizarlo ocupa cientos de veces más, y fuera de la caja
UNKNOWN_TOPIC = "el cuaderno no define ninguna respuesta de los ejercicios del curso"


SHEETS = Path(__file__).parent / "sheets"
"""Las celdas de cada cuaderno de ejercicios, en la biblioteca que se reparte."""


class SubmissionError(Exception):
    """El archivo no se puede calificar; el mensaje dice por qué, a quien lo entregó."""


@dataclass(frozen=True)
class Submission:
    """Las celdas de código de una entrega.

    Argumentos:
        cells: el texto de cada una.
        defined: los nombres que asignan fuera de una función.
        checked: los ejercicios que comprueban.
        owner: de quién dice ser el cuaderno, si es personal.
    """

    cells: tuple[str, ...]
    defined: frozenset[str] = field(repr=False, default=frozenset())
    checked: tuple[str, ...] = ()
    owner: str = ""


_LISTED = tomllib.loads(Path(__file__).with_name("unusual.toml").read_text(encoding="utf-8"))
_UNUSUAL, _ORDINARY = (
    {kind: frozenset(names) for kind, names in _LISTED[which].items()}
    for which in ("unusual", "ordinary")
)


def read_submission(content: Path | bytes) -> Submission:
    """Lee un cuaderno sin ejecutar ni creer nada de lo que dice.

    Argumentos:
        content: la ruta del cuaderno, o sus bytes.

    Errores:
        SubmissionError: no es un archivo normal, es demasiado grande o no es un cuaderno.
    """
    cells = submitted_code(content)
    trees = [tree for tree in map(parse_cell, cells) if tree is not None]
    defined = frozenset(name for tree in trees for name in _defined(tree))
    checked = tuple(n.args[0].value for t in trees for n in ast.walk(t) if is_check(n))
    return Submission(cells, defined, checked, notebook_owner(trees))


def submitted_code(content: Path | bytes) -> tuple[str, ...]:
    """Da las celdas de código de un cuaderno, sin leer lo que dicen.

    Argumentos:
        content: la ruta del cuaderno, o sus bytes.

    Errores:
        SubmissionError: no es un archivo normal, es demasiado grande o no es un cuaderno.
    """
    if not isinstance(content, bytes):
        content = _read_file(Path(content))
    if len(content) > MAX_FILE:
        raise SubmissionError(f"el archivo pasa de {MAX_FILE >> 20} MB: quítale las salidas")
    if not content.strip():
        raise SubmissionError("el archivo está vacío: quizá no llegó a guardarse")
    try:
        notebook = json.loads(content.decode("utf-8-sig"), parse_constant=lambda name: None)
    except UnicodeDecodeError:
        raise SubmissionError("el archivo no es texto UTF-8, así que no es un cuaderno") from None
    except (ValueError, RecursionError):
        raise SubmissionError("el archivo está dañado o cortado: no es JSON válido") from None
    return tuple(_code_cells(notebook))


def notebook_owner(cells: Iterable[ast.Module]) -> str:
    """De quién dice ser un cuaderno; vacío si es el de todos.

    Lo dicen sus comprobaciones, `check(…, owner="Ana")`; en un examen, que no las tiene, una celda
    con `owner = "Ana"`.
    """
    for tree in cells:
        for value in _owners(tree):
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                return " ".join(value.value.split())[:120]
    return ""


def _owners(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if is_check(node):
            yield from (each.value for each in node.keywords if each.arg == "owner")
    yield from (node.value for node in tree.body[:1] if len(tree.body) == 1 and names_owner(node))


def names_owner(node: ast.stmt) -> bool:
    """Si dice de quién es el cuaderno: `owner = …`."""
    target = node.targets[0] if isinstance(node, ast.Assign) else None
    return isinstance(target, ast.Name) and target.id == "owner"


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
        raise SubmissionError(f"el código del cuaderno pasa de {MAX_CODE >> 10} KB")
    return sources


def _source(value: Any) -> str:
    lines = value if isinstance(value, list) else [value]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.encode("utf-8", "replace").decode()  # sin sustitutos sueltos


def defining_cells(submission: Submission, name: str) -> list[int]:
    """Da las posiciones de las celdas que definen un nombre, o lo intentan."""
    return [i for i, cell in enumerate(submission.cells) if defines(cell, name)]


def defines(cell: str, name: str) -> bool:
    """Dice si una celda define un nombre; de una que no es Python válido, si empieza a hacerlo."""
    names = _names_defined(cell)
    if names is not None:
        return name in names
    start = rf"^(?:(?:def|class)\s+{re.escape(name)}\b|{re.escape(name)}\s*=)"
    return re.search(start, cell, re.MULTILINE) is not None


@functools.lru_cache(maxsize=MAX_CELLS)
def _names_defined(cell: str) -> frozenset[str] | None:
    """Los nombres que define una celda; None si no es Python válido."""
    tree = parse_cell(cell)
    return None if tree is None else frozenset(_defined(tree))


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


def unusual_names(submission: Submission, given: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Da lo que usa que un ejercicio no necesita y que sirve para esquivar lo que se vigila.

    Son módulos que no vienen al caso, nombres privados y órdenes del sistema. No prueba nada: dice
    dónde mirar.

    Argumentos:
        submission: la entrega.
        given: las celdas del curso (`Sheet.given`), que no se miran.
    """
    cells = [cell for cell in submission.cells if _normal(cell) not in given]
    return tuple(sorted({name for cell in cells for name in _unusual(cell, parse_cell(cell))}))


def _unusual(cell: str, tree: ast.Module | None) -> Iterator[str]:
    """Lo que una celda nombra que un ejercicio no necesita."""
    for mark, command in re.findall(r"^[ \t]*(?:\w+[ \t]*=[ \t]*)?(%%?|!+)[ \t]*(\w*)", cell, re.M):
        if command not in _ORDINARY["magics"]:
            yield mark + command
    if tree is None:  # IPython puede ejecutar lo que no es Python
        words = re.findall(r"\w+", cell)
        yield from (_UNUSUAL["functions"] | _UNUSUAL["anywhere"]).intersection(words)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and _is_unusual(node.id, "__", _UNUSUAL["functions"]):
            yield node.id
        elif isinstance(node, ast.Attribute):
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            yield from [node.attr] if _is_unusual(node.attr, "__" if own else "_") else []
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from _unusual_imports(node)


def _unusual_imports(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    paths = [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        paths = [f"{node.module or ''}.{path}" for path in paths]
    for root, *inner in (path.split(".") for path in paths):
        yield from [] if root in _ORDINARY["modules"] else [root or "."]
        yield from (name for name in inner if _is_unusual(name, "_"))


def _is_unusual(name: str, private: str, functions: frozenset[str] = frozenset()) -> bool:
    """Dice si un nombre es de los que se miran, o empieza como uno que no es para usarse."""
    if name in _ORDINARY["dunders"]:
        return False
    return name.startswith(private) or name in _UNUSUAL["anywhere"] or name in functions


# Lo que se pide en cada tema


@dataclass(frozen=True)
class Sheet:
    """Lo que el curso pide en un tema.

    Argumentos:
        topic: el tema.
        names: por ejercicio, el nombre que debe tener la respuesta.
        tools: los módulos de la biblioteca que el cuaderno da.
        given: el texto de las celdas que el cuaderno da.
    """

    topic: str
    names: dict[str, str]
    tools: frozenset[str]
    given: frozenset[str] = field(repr=False, default=frozenset())


@functools.cache
def topic_sheet(topic: str) -> Sheet:
    """Lee la hoja de un tema en el cuaderno de ejercicios del curso, no en el del estudiante.

    Quien tiene solo la biblioteca instalada tiene, dentro de ella, las celdas de ese cuaderno.

    Errores:
        FileNotFoundError: no está el cuaderno, ni en el proyecto ni en la biblioteca.
        ValueError: el cuaderno no comprueba cada ejercicio del tema con un nombre.
    """
    path = SHEETS / f"{topic}.json"
    if not path.is_file():
        path = course_file("exercises", topic)
    cells = _code_cells(json.loads(path.read_text(encoding="utf-8")))
    trees = [tree for cell in cells if (tree := parse_cell(cell)) is not None]
    checks = [node for tree in trees for node in ast.walk(tree) if is_check(node)]
    names = {n.args[0].value: n.args[1].id for n in checks if isinstance(n.args[1], ast.Name)}
    missing = [e.name for e in topic_exercises(topic) if e.name not in names]
    if missing:
        raise ValueError(f"{path}: falta la comprobación de {', '.join(missing)}.")
    imported = frozenset(imported_modules([ast.unparse(_imports_only(tree)) for tree in trees]))
    return Sheet(topic, names, imported, frozenset(map(_normal, cells)))


def _imports_only(tree: ast.Module) -> ast.Module:
    found = [n for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom))]
    return ast.Module(body=found, type_ignores=[])


def answer_uses(cells: list[str], exercise: str, answers: tuple[str, ...]) -> list[str]:
    """Da las respuestas que nombran las celdas en que se define la solución de un ejercicio."""
    try:
        solution = topic_sheet(exercise.partition(".")[0]).names[exercise]
    except (FileNotFoundError, KeyError):  # no está el proyecto entero, o no es un ejercicio suyo
        return []
    trees = [tree for cell in cells if (tree := parse_cell(cell)) is not None]
    used = {n for tree in trees if solution in _defined(tree) for n in _names(tree)}
    short = dict.fromkeys(name.rpartition(".")[2] for name in answers)
    return [name for name in short if name in used and name != solution]


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")
        elif isinstance(node, ast.ImportFrom):
            yield from (node.module or "").split(".")


def needed_cells(submission: Submission, sheet: Sheet) -> list[int]:
    """Da las posiciones de las celdas que hay que ejecutar para comprobar los ejercicios.

    Son las que escribió el estudiante y, de las que el cuaderno da y siguen como estaban, las que
    definen o cambian algo que usan las demás: ni las demostraciones ni las gráficas. Lo escrito
    detrás de la última comprobación, un experimento, se trata como lo que el cuaderno da: medir
    tarda, y lo lee una persona.
    """
    cells = [_Cell.read(text) for text in submission.cells]
    last = _last_check(submission)
    given = {
        i for i, text in enumerate(submission.cells) if i > last or _normal(text) in sheet.given
    }
    needed = {i for i in range(len(cells)) if i not in given or cells[i] is None}
    modules = {name for cell in cells if cell is not None for name in cell.modules}
    wanted = set(sheet.names.values())
    while True:
        wanted |= {name for i in needed if cells[i] is not None for name in cells[i].used}
        more = {
            i
            for i in given - needed
            if not wanted.isdisjoint(cells[i].defined)
            or not (wanted - modules).isdisjoint(cells[i].touched)  # sin `torch.manual_seed(0)`
        }
        if not more:
            return sorted(needed)
        needed |= more


def _last_check(submission: Submission) -> int:
    """La celda que hace la última comprobación; si no hay ninguna, la última de todas."""
    trees = [parse_cell(text) for text in submission.cells]
    checked = [i for i, tree in enumerate(trees) if tree and any(map(is_check, ast.walk(tree)))]
    return checked[-1] if checked else len(trees)


@dataclass(frozen=True)
class _Cell:
    """Los nombres globales que una celda usa, define, podría cambiar e importa."""

    used: frozenset[str]
    defined: frozenset[str]
    touched: frozenset[str]
    modules: frozenset[str]

    @classmethod
    def read(cls, text: str) -> _Cell | None:
        tree = parse_cell(text)
        try:
            return None if tree is None else cls._from(tree)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # se analiza, y no compila
            return None

    @classmethod
    def _from(cls, tree: ast.Module) -> _Cell:
        scopes = symtable.symtable(ast.unparse(tree), "cell", "exec")
        symbols = scopes.get_symbols()
        modules = {symbol.get_name() for symbol in symbols if symbol.is_imported()}
        defined = {symbol.get_name() for symbol in symbols if symbol.is_assigned()} | modules
        names = (global_uses(scopes), defined, _touched(tree), modules)
        return cls(*map(frozenset, names))


def _touched(tree: ast.Module) -> Iterator[str]:
    """Los nombres de los objetos en que se escribe, o de los que se llama a un método sin más."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and not isinstance(node.ctx, ast.Load):
            yield _root(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield _root(node.value.func) if isinstance(node.value.func, ast.Attribute) else ""


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _normal(text: str) -> str:
    """El texto con que se compara una celda del curso, que en los dos cuadernos es la misma."""
    text = text.replace("NotImplementedError:", "Exception:")
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def exercises_folder() -> Path:
    """La carpeta `exercises/` del curso, que está junto a la biblioteca."""
    folder = Path(course_lib.__file__).parents[1] / "exercises"
    if not folder.is_dir():
        raise FileNotFoundError(
            f"No está {folder}: para calificar hace falta el proyecto del curso, no solo la "
            f"biblioteca instalada."
        )
    return folder


def course_file(kind: str, topic: str) -> Path:
    """El cuaderno de un tema, que puede no existir: `exercises` o `solutions`."""
    path = exercises_folder().parent / kind / f"{topic}.ipynb"
    own = os.environ.get(OWN_TOPICS)
    return path if path.exists() or not own else Path(own, kind, f"{topic}.ipynb")


def gradable_topics() -> list[str]:
    """Los temas que se saben calificar: los del curso y los propios, con sus cuadernos."""
    folders = [exercises_folder()]
    if own := os.environ.get(OWN_TOPICS):
        folders.append(Path(own, "exercises"))
    return sorted({path.stem for folder in folders for path in folder.glob("*.ipynb")})


def guess_topic(submission: Submission, topics: list[str] | None = None) -> str | None:
    """Dice de qué tema es una entrega, por los nombres que define y los ejercicios que comprueba.

    Argumentos:
        submission: la entrega.
        topics: entre cuáles elegir; si faltan, todos.
    """
    best, most = None, 0
    for topic in topics or gradable_topics():
        names = topic_sheet(topic).names
        found = sum(name in submission.defined for name in names.values())
        found += 2 * sum(name in submission.checked for name in names)
        if found > most:
            best, most = topic, found
    return best


def topic_of(submission: Submission, topic: str | None) -> str | None:
    """Dice de qué tema es una entrega; None si no es de ninguno.

    Es del que se pide, aunque no se le parezca en nada, salvo que compruebe ejercicios de otro y
    ninguno de este: entonces es de ese otro.

    Argumentos:
        submission: la entrega.
        topic: el que se pide; None si ninguno.
    """
    if topic is None:
        return guess_topic(submission)
    checks = replace(submission, defined=frozenset())
    return guess_topic(checks, [topic]) or guess_topic(checks) or topic
