"""De quién es lo que se entrega: reconoce los cuadernos del curso y las respuestas iguales a ellos.

Se compara el árbol de sintaxis del código, así que no importan las salidas, los metadatos, el
orden de las celdas, los comentarios ni el formato. Nada se ejecuta.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from course_lib.grading.sandbox.wire import clean
from course_lib.grading.submission import (
    Sheet,
    Submission,
    course_file,
    names_owner,
    submitted_code,
)
from course_lib.judging.owner import listed, words_of
from course_lib.notebooks.fingerprint import is_check, parse, parse_cell

COURSE_NOTEBOOKS = {
    "solutions": "es el cuaderno de soluciones del curso, con sus respuestas sin cambios",
    "exercises": "es el cuaderno de ejercicios del curso, sin ninguna respuesta",
}
"""Los cuadernos del curso que no son la entrega de nadie, y lo que se dice de cada uno."""

COURSE, UNREAD = "curso", "sin comparar"
"""Las marcas de una respuesta como la de las soluciones, y de una que no se pudo comparar."""

_LONG = 3
_LONGEST_CODE, _MOST_NODES = 1 << 15, 4000
"""Los caracteres de código de la celda más larga que se compara, y los nodos de la respuesta más
larga: ninguna ocupa tanto."""
_NOT_CODE = re.compile(
    r'''("""|\'{3})(?:\\.|.)*?(?:\1|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\#[^\n]*''',
    re.DOTALL,
)
"""Los textos, que quizá no se cierran, y los comentarios: se recorre una sola vez."""
ENOUGH = 3
"""Cuántas respuestas largas iguales hacen falta para avisar; menos, si el tema tiene menos."""


def course_notebook(submission: Submission, sheet: Sheet) -> str:
    """Dice si una entrega es un cuaderno del curso: `solutions`, `exercises`, o nada.

    El de soluciones tiene todas las respuestas del curso, y ninguna otra; lo demás puede cambiar.
    El de ejercicios no tiene ni una celda que el curso no dé.
    """
    given, solved = _course_cells("exercises", sheet.topic), _course_cells("solutions", sheet.topic)
    cells = set(_read_cells(submission.cells))
    if cells and cells <= given:
        return "exercises"
    names = frozenset(sheet.names.values())
    course = {cell for cell in solved - given if cell.defined & names}
    answers = {cell for cell in cells if cell.defined & names}
    return "solutions" if course and course <= answers <= given | solved else ""


def copied_answers(
    submission: Submission, sheet: Sheet, marks: Mapping[str, str] | None = None
) -> str:
    """Avisa a quien califica si las respuestas largas son las del cuaderno de soluciones.

    Se miran solo las que tienen varias líneas que el cuaderno de ejercicios no da: una respuesta
    corta tiene casi siempre una sola forma natural. Una larga también puede coincidir; por eso se
    avisa cuando coinciden varias, y la mayoría.

    Argumentos:
        submission: la entrega.
        sheet: la hoja de su tema.
        marks: las de sus respuestas (`answer_marks`), si ya se tienen.

    Devuelve:
        str: el aviso, con cuántas son y cuáles; vacío si no hay nada que decir.
    """
    solved = _long_answers(sheet.topic, tuple(sheet.names.items()))
    marks = answer_marks(submission, sheet) if marks is None else marks
    written = [name for name in solved if marks.get(name, UNREAD) != UNREAD]
    same = [name for name in written if marks[name] == COURSE]
    if len(same) < min(ENOUGH, len(solved)) or 2 * len(same) <= len(written):
        return ""
    listed = ", ".join(name.partition(".")[2] for name in same)
    return (
        f"{len(same)} de sus {len(written)} respuestas largas son, salvo nombres y comentarios, "
        f"las del cuaderno de soluciones: {listed}. Por sí solo no prueba nada: pregúntale por "
        f"ellas."
    )


def uncompared_answers(marks: Mapping[str, str]) -> str:
    """Dice a quien califica qué respuestas no se compararon con nada; vacío si todas.

    Argumentos:
        marks: las de las respuestas que cuentan (`answer_marks`).
    """
    names = [name.partition(".")[2] for name, mark in marks.items() if mark == UNREAD]
    if not names:
        return ""
    return (
        f"no se comparó, ni con la clase ni con las soluciones: {', '.join(names)}. Su celda tiene "
        f"demasiado código o anida demasiado, y ninguna respuesta necesita tanto."
    )


def answer_marks(submission: Submission, sheet: Sheet) -> dict[str, str]:
    """Da una marca de cada respuesta larga: la misma, si el código es el mismo salvo los nombres.

    Se miran las que tienen varias líneas que el cuaderno de ejercicios no da; de las que el curso
    resuelve en varias, todas. La que es como la del cuaderno de soluciones lleva la marca `COURSE`;
    la que es demasiado larga o profunda para leerla, `UNREAD`.
    """
    names = tuple(sheet.names.items())
    solved, given = _long_answers(sheet.topic, names), _given_lines(sheet.topic)
    defined, marks = _definitions(submission.cells, sheet.names.values()), {}
    for exercise, name in names:
        if name in defined:
            try:
                marks[exercise] = _mark(defined[name], solved.get(exercise), given)
            except (RecursionError, MemoryError, SyntaxError, ValueError):
                marks[exercise] = UNREAD  # demasiado profunda, o con un entero enorme
    return {exercise: mark for exercise, mark in marks.items() if mark}


def _mark(node: ast.AST | None, solved: str | None, given: frozenset[str]) -> str:
    """La marca de una definición; vacía si es corta o no está escrita."""
    nodes = () if node is None else itertools.islice(ast.walk(node), _MOST_NODES)
    if not 0 < sum(1 for _ in nodes) < _MOST_NODES:
        return UNREAD
    if solved is None and _own_lines(node, given) < _LONG:
        return ""
    text = _renamed(node)
    if "NotImplementedError" in text:
        return ""
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
    return COURSE if text == solved else digest


def course_answer(topic: str, name: str) -> str:
    """Da el código de la respuesta del cuaderno de soluciones; vacío, si no está."""
    node = _definitions(course_cells("solutions", topic), [name]).get(name)
    return "" if node is None else ast.unparse(node)


# Los cuadernos personales


def whose(said: str, student: str, roster: Sequence[str]) -> tuple[str, str]:
    """Decide con lo que se le pidió a quién se califica una entrega.

    Lo dice la lista de la clase, con el nombre de quien entrega. Lo que dice el cuaderno lo pudo
    cambiar cualquiera: solo vale, y se avisa, si con la lista no se sabe.

    Argumentos:
        said: de quién dice ser el cuaderno; vacío si no lo dice.
        student: quien lo entrega.
        roster: la lista con que se repartieron los personales; vacía, si no los hay.

    Devuelve:
        tuple: el nombre en la lista, o vacío para calificar como el cuaderno de todos; y lo que hay
        que mirar a mano, o vacío.
    """
    named = f"«{clean(said, 80)}»"
    theirs = listed(student, roster)
    if not roster and said:
        return "", (
            f"el cuaderno es personal, de {named}, y se calificó como el de todos: da con --vary "
            f"la lista con que se repartió."
        )
    if roster and not theirs:
        theirs = listed(said, roster)
        told = f"se calificó con lo que se le pidió a «{clean(theirs, 80)}», que es lo que dice"
        told = told if theirs else "se calificó como el de todos, porque tampoco lo dice"
        return theirs, f"quien entrega no está en la lista de --vary: {told} su cuaderno."
    if words_of(said) == words_of(theirs):
        return theirs, ""
    told = f"es el que se repartió a {named}" if said else "no dice de quién es"
    return theirs, (
        f"el cuaderno {told}, y se calificó con lo que se le pidió a quien lo entrega. Por sí solo "
        f"no prueba nada: pregúntale de dónde salió."
    )


# Los cuadernos del curso


@dataclass(frozen=True)
class _Cell:
    """Una celda sin comentarios ni formato, y los nombres que define."""

    code: str
    defined: frozenset[str] = frozenset()


def _read_cells(texts: Iterable[str]) -> Iterator[_Cell]:
    """Lee las celdas que tienen código; la que no es Python, por su texto."""
    for text in texts:
        tree = _parse(text)
        if tree is None:
            yield _Cell(" ".join(text.split()))
        elif not all(map(_says_nothing, tree.body)):
            yield _Cell(ast.dump(_without_texts(tree)), frozenset(_defined(tree)))


def _says_nothing(node: ast.stmt) -> bool:
    """Si solo comprueba una respuesta, o dice de quién es el cuaderno, y no contesta nada."""
    return names_owner(node) or (isinstance(node, ast.Expr) and is_check(node.value))


@functools.cache
def _course_cells(kind: str, topic: str) -> frozenset[_Cell]:
    return frozenset(_read_cells(course_cells(kind, topic)))


def course_cells(kind: str, topic: str) -> tuple[str, ...]:
    """Da las celdas de código de un cuaderno del curso; ninguna, si no está en esta máquina."""
    path = course_file(kind, topic)
    return submitted_code(path) if path.exists() else ()


@functools.cache
def _long_answers(topic: str, names: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Da, normalizadas, las respuestas del curso con varias líneas que el enunciado no da."""
    cells = course_cells("solutions", topic)
    given, found = _given_lines(topic), {}
    defined = _definitions(cells, dict(names).values())
    for exercise, name in names:
        node = defined.get(name)
        if node is not None and _own_lines(node, given) >= _LONG:
            found[exercise] = _renamed(node)
    return found


def _own_lines(node: ast.AST, given: frozenset[str]) -> int:
    """Cuántas líneas de una definición no da el cuaderno de ejercicios."""
    return sum(line.strip() not in given for line in ast.unparse(node).splitlines())


@functools.cache
def _given_lines(topic: str) -> frozenset[str]:
    """Las líneas del cuaderno de ejercicios, también las de sus textos, sin comentarios."""
    cells = json.loads(course_file("exercises", topic).read_text(encoding="utf-8"))["cells"]
    raw = [line for cell in cells for line in "".join(cell["source"]).splitlines()]
    trees = [tree for text in course_cells("exercises", topic) if (tree := parse_cell(text))]
    clean = [line for tree in trees for line in ast.unparse(tree).splitlines()]
    return frozenset(re.sub(r"\s+#.*$", "", line).strip() for line in [*raw, *clean])


# Comparar código


_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)


def _parse(text: str) -> ast.Module | None:
    """Analiza una celda; None si no es Python, o si su árbol no se puede volver a escribir."""
    try:
        tree = parse_cell(text)
        if tree is not None:
            ast.dump(tree)  # es demasiado profundo, o tiene un entero de miles de cifras
    except (RecursionError, MemoryError, ValueError):
        return None
    return tree


def _defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, _DEFINITIONS):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _without_texts(tree: ast.Module) -> ast.Module:
    """Quita los textos sueltos, que no hacen nada: son cadenas de documentación o comentarios."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if block and isinstance(block, list) and any(map(_is_text, block)):
                left = [each for each in block if not _is_text(each)]
                setattr(node, field, left or [ast.Pass()])
    return tree


def _is_text(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _definitions(cells: Iterable[str], names: Collection[str]) -> dict[str, ast.AST | None]:
    """La última definición de cada nombre que la tiene; cada celda se analiza una vez.

    La de una celda con demasiado código es None: analizarla le gastaría el tiempo a la clase.
    """
    found: dict[str, ast.AST | None] = {}
    for text in cells:
        if not any(name in text for name in names):
            continue
        if _too_long(text):
            written = re.findall(r"^[ \t]*(?:def|class)\s+(\w+)", text, re.MULTILINE)
            found |= dict.fromkeys(name for name in written if name in names)
            continue
        tree = parse_cell(text)
        nodes = ast.walk(_without_texts(tree)) if tree else ()  # también dentro de un `if`
        named = [n for n in nodes if isinstance(n, _DEFINITIONS) and n.name in names]
        found |= {node.name: node for node in sorted(named, key=lambda node: node.lineno)}
    return found


def _too_long(text: str) -> bool:
    """Si una celda tiene demasiado código: no cuentan los comentarios, y un texto cuenta por dos.

    De un texto que empieza por «f» cuenta todo, que puede llevar código entre sus `{}`.
    """
    if len(text) <= _LONGEST_CODE:
        return False

    def code(found: re.Match) -> str:
        if found[0][0] == "#":
            return ""
        prefix = text[max(0, found.start() - 1) : found.start()].lower()
        return found[0] if "{" in found[0] and prefix in ("f", "r") else '""'

    kept, times = _NOT_CODE.subn(code, text, _LONGEST_CODE // 2)
    return times == _LONGEST_CODE // 2 or sum(len(w) + 1 for w in kept.split()) > _LONGEST_CODE


def _renamed(node: ast.AST) -> str:
    """Resume una definición con los nombres que ella da numerados, y sin anotaciones de tipo."""
    (node,) = parse(ast.unparse(node)).body  # una copia: otra definición puede estar dentro
    own = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)} | set(_defined(node))
    numbers: dict[str, str] = {}
    for each in ast.walk(node):
        field = {ast.arg: "arg", ast.Name: "id"}.get(type(each))
        if field and getattr(each, field) in own:
            number = numbers.setdefault(getattr(each, field), f"_{len(numbers)}")
            setattr(each, field, number)
        if isinstance(each, ast.arg):
            each.annotation = None
        elif isinstance(each, ast.FunctionDef):
            each.returns = None
    return ast.dump(node)
