"""Las soluciones de `solutions/TEMA.md` pasan, y un cambio en cualquiera de sus líneas se nota.

Un mutante es la solución con un cambio pequeño: otra constante, otro operador, una llamada
de menos, una condición negada, una línea borrada. Se mata si deja de pasar su comprobación.
`python -m pytest tests/checks -rP -k mutants` muestra, por ejercicio, los muertos de los probados.
"""

import ast
import contextlib
import copy
import io
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from course_lib.grading.check import check_exercise, find_exercise
from course_lib.grading.fingerprint import code_cells, parse_cell
from course_lib.grading.notebooks import NotebookError, Source, checked_names, topics_in

ROOT = Path(__file__).parents[2]
SEEDS = range(5)
SECONDS = 10
DOCUMENTED = (ast.Module, ast.FunctionDef, ast.ClassDef)

# Mutantes que hacen lo mismo que la solución, por ejercicio: «original → cambiado», y por qué.
EQUIVALENT: dict[str, dict[str, str]] = {}

pytestmark = pytest.mark.usefixtures("as_user")


# Dónde está cada solución


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


def find_solutions(source: Source) -> list[Solution]:
    found, cells = [], []
    for cell in code_cells(source.notebook):
        call = _check_call(cell.source)
        if call is not None:
            checked = ast.unparse(call.args[1])
            found.append(Solution(call.args[0].value, tuple(cells), checked))
        cells.append(cell.source)
    return found


def _check_call(code):
    tree = parse_cell(code)
    last = tree.body[-1] if tree and tree.body else None
    call = last.value if isinstance(last, ast.Expr) else None
    is_check = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "check"
    return call if is_check else None


def _read_all():
    solutions = []
    for topic in topics_in(ROOT):
        with contextlib.suppress(NotebookError):  # `course regenerate` dice qué tiene mal
            source = Source.read(topic, ROOT)
            checked_names(source)
            solutions += find_solutions(source)
    return solutions


SOLUTIONS = _read_all()
every_solution = pytest.mark.parametrize("solution", SOLUTIONS, ids=lambda solution: solution.name)


# Ejecutar


def run_cells(cells, namespace):
    """Ejecuta celdas, calladas y sin sus comprobaciones."""
    for code in cells:
        if _check_call(code) is None:
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(parse_cell(code), "<celda>", "exec"), namespace)
    return namespace


def verdict_of(solution, changed=None, before=None, seeds=SEEDS):
    """El primer veredicto que no es correcto, o el último; `changed` sustituye celdas."""
    start = len(before[0]) if before else 0
    namespace = dict(before[1]) if before else {"__name__": "__main__"}
    for index, code in enumerate(solution.cells[start:], start):
        new = (changed or {}).get(index)
        if new is None:
            run_cells([code], namespace)
        else:
            exec(compile(new, "<celda>", "exec"), namespace)
    student = eval(solution.checked, namespace)
    for seed in seeds:
        verdict = check_exercise(find_exercise(solution.name), student, seed=seed)
        if verdict.status != "correct":
            break
    return verdict


# Mutar


def solution_lines(code):
    """Los números de línea que están entre los marcadores de una celda."""
    inside, lines = False, set()
    for number, line in enumerate(code.splitlines(), 1):
        if "### BEGIN SOLUTION" in line or "### END SOLUTION" in line:
            inside = "BEGIN" in line
        elif inside:
            lines.add(number)
    return lines


def mutants(code):
    """Da cada mutante de la solución de una celda: su descripción y su árbol."""
    tree = parse_cell(code)
    lines = solution_lines(code)
    for path, node in _nodes_with_paths(tree):
        if getattr(node, "lineno", None) not in lines or _is_docstring(tree, path):
            continue
        for new in _changes(node):
            mutant = copy.deepcopy(tree)
            _put(mutant, path, copy.deepcopy(new))
            ast.fix_missing_locations(mutant)
            line = path[: _statement_depth(tree, path)]
            yield (
                f"{_first_line(_follow(tree, line))} → {_first_line(_follow(mutant, line))}",
                mutant,
            )


def _statement_depth(tree, path):
    """Cuántos pasos del camino llevan a la instrucción más cercana."""
    depths = range(len(path), 0, -1)
    return next(d for d in depths if isinstance(_follow(tree, path[:d]), ast.stmt))


def _first_line(node):
    return ast.unparse(node).splitlines()[0]


def _nodes_with_paths(node, path=()):
    for field, value in ast.iter_fields(node):
        items = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, child in items:
            if isinstance(child, ast.AST) and not _is_annotation(field):
                here = (*path, (field, index))
                yield here, child
                yield from _nodes_with_paths(child, here)


def _is_annotation(field):
    return field in ("annotation", "returns", "decorator_list")


def _follow(tree, path):
    for field, index in path:
        tree = getattr(tree, field) if index is None else getattr(tree, field)[index]
    return tree


def _put(tree, path, new):
    parent, (field, index) = _follow(tree, path[:-1]), path[-1]
    if index is None:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new


def _is_docstring(tree, path):
    node = _follow(tree, path)
    if isinstance(node, ast.Constant) and len(path) > 1:
        return _is_docstring(tree, path[:-1])
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text and isinstance(_follow(tree, path[:-1]), DOCUMENTED)


ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISON = {
    ast.Lt: (ast.LtE, ast.Gt),
    ast.LtE: (ast.Lt, ast.GtE),
    ast.Gt: (ast.GtE, ast.Lt),
    ast.GtE: (ast.Gt, ast.LtE),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
SYMMETRIC = {"transpose", "swapaxes", "maximum", "minimum", "equal", "allclose", "max", "min"}


def _changes(node):
    """Las formas de cambiar un nodo."""
    kind = type(node).__name__
    return globals().get(f"_change_{kind.lower()}", lambda node: _change_statement(node))(node)


def _change_constant(node):
    value = node.value
    if isinstance(value, bool):
        return [ast.Constant(not value)]
    if isinstance(value, int):
        return [ast.Constant(value + 1), ast.Constant(value - 1)]
    if isinstance(value, float):
        return [ast.Constant(value + 1.0), ast.Constant(value * 2 or 1.0)]
    return [ast.Constant(value[::-1] + "x")] if isinstance(value, str) else []


def _change_binop(node):
    swapped = ast.BinOp(node.right, node.op, node.left)
    changes = [node.left, node.right]
    if type(node.op) in ARITHMETIC:
        changes.append(ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right))
    if isinstance(node.op, (ast.Sub, ast.Div, ast.MatMult, ast.Pow)):
        changes.append(swapped)
    return changes


def _change_unaryop(node):
    return [node.operand] if not isinstance(node.operand, ast.Constant) else []


def _change_compare(node):
    options = COMPARISON[type(node.ops[0])]
    return [ast.Compare(node.left, [new(), *node.ops[1:]], node.comparators) for new in options]


def _change_boolop(node):
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return [ast.BoolOp(other, node.values)]


def _change_if(node):
    return [ast.If(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]


def _change_ifexp(node):
    return [ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)]


def _change_call(node):
    """Quita la llamada, un argumento con nombre, o cambia el orden de los dos primeros."""
    changes = []
    is_method = isinstance(node.func, ast.Attribute)
    name = node.func.attr if is_method else getattr(node.func, "id", "")
    if is_method and not _is_module(node.func.value):
        changes.append(node.func.value)
    elif node.args and not isinstance(node.args[0], ast.Starred):
        changes.append(node.args[0])
    if len(node.args) >= 2 and name not in SYMMETRIC:
        swapped = [node.args[1], node.args[0], *node.args[2:]]
        changes.append(ast.Call(node.func, swapped, node.keywords))
    for index in range(len(node.keywords)):
        fewer = node.keywords[:index] + node.keywords[index + 1 :]
        changes.append(ast.Call(node.func, node.args, fewer))
    return changes


def _is_module(node):
    """Si un nombre con puntos parece un módulo: torch, torch.nn.functional, math, F."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in {"torch", "math", "F", "nn", "einops", "np"}


def _change_statement(node):
    """Borra una instrucción; las definiciones y lo que solo agrupa se cambian por dentro."""
    removable = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.For, ast.While, ast.Raise)
    return [ast.Pass()] if isinstance(node, removable) else []


# Juzgar


@contextlib.contextmanager
def deadline(seconds):
    """Corta un mutante que no termina, donde el sistema tiene alarmas."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(signum, frame):
        raise TimeoutError("el mutante no termina")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)


def survives(solution, index, mutant, before):
    try:
        with deadline(SECONDS), contextlib.redirect_stdout(io.StringIO()):
            return verdict_of(solution, {index: mutant}, before).status == "correct"
    except Exception:  # el mutante no llega a definirse: también se nota
        return False


def try_mutants(solution):
    """Da cuántos mutantes se probaron y cuáles sobreviven."""
    tried, alive = 0, []
    for index in solution.marked:
        before = (solution.cells[:index], run_cells(solution.cells[:index], {"__name__": "m"}))
        for description, mutant in mutants(solution.cells[index]):
            tried += 1
            if survives(solution, index, mutant, before):
                alive.append(description)
    return tried, alive


# Pruebas


@pytest.mark.parametrize("topic", topics_in(ROOT))
def test_the_source_is_well_formed(topic):
    source = Source.read(topic, ROOT)
    assert checked_names(source)


@every_solution
def test_the_solution_passes(solution):
    verdict = verdict_of(solution, seeds=range(20))
    assert verdict.status == "correct", verdict


@every_solution
def test_the_mutants_of_the_solution_are_killed(solution):
    assert solution.marked, "el ejercicio no tiene una solución marcada"
    tried, alive = try_mutants(solution)
    excused = EQUIVALENT.get(solution.name, {})
    unexcused = [description for description in alive if description not in excused]
    killed = tried - len(alive)
    print(f"{solution.name}: {killed}/{tried} mutantes muertos, {len(excused)} equivalentes")
    assert tried > 0
    assert unexcused == []
    assert sorted(set(excused) - set(alive)) == [], "la lista de equivalentes tiene de más"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = a @ b", {"x = a", "x = b", "x = b @ a", "pass"}),
        ("x = a * 3", {"x = a / 3", "x = a * 4", "x = a * 2", "x = a"}),
        ("x = a.sum(dim=-1)", {"x = a", "x = a.sum(dim=-2)", "x = a.sum(dim=-0)", "x = a.sum()"}),
        ("x = torch.exp(a)", {"x = a", "pass"}),
        ("x = a < b", {"x = a <= b", "x = a > b"}),
        ("if a:\n    x = b", {"if not a:"}),
    ],
)
def test_the_mutator_makes_the_expected_changes(code, expected):
    cell = f"### BEGIN SOLUTION\n{code}\n### END SOLUTION\ny = 1 + 2"
    made = [description.partition(" → ") for description, _ in mutants(cell)]
    assert expected <= {after for _, _, after in made}
    assert {before for before, _, _ in made} <= set(code.replace("  ", "").splitlines()), (
        "otra línea"
    )


if __name__ == "__main__":
    for each in SOLUTIONS:
        count, survivors = try_mutants(each)
        print(f"{each.name}: {count - len(survivors)}/{count}", *survivors, sep="\n    ")
    sys.exit(0)
