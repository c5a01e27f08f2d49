"""Mutantes: la solución con un cambio pequeño, o con varios a la vez.

Un cambio es otra constante, otro operador, una llamada de menos, una condición negada, una
línea borrada.
"""

import ast
import copy
from dataclasses import dataclass

from course_lib.notebooks.fingerprint import parse_cell

DOCUMENTED = (ast.Module, ast.FunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Change:
    """Un cambio en una celda: el camino del nodo en su árbol, y lo que va en su lugar."""

    path: tuple
    new: ast.AST


def solution_lines(code: str) -> set[int]:
    """Los números de línea que están entre los marcadores de una celda."""
    inside, lines = False, set()
    for number, line in enumerate(code.splitlines(), 1):
        if "### BEGIN SOLUTION" in line or "### END SOLUTION" in line:
            inside = "BEGIN" in line
        elif inside:
            lines.add(number)
    return lines


def changes_of(code: str) -> list[Change]:
    """Da cada cambio posible en la solución de una celda."""
    tree = parse_cell(code)
    lines = solution_lines(code)
    return [
        Change(path, new)
        for path, node in _nodes_with_paths(tree)
        if getattr(node, "lineno", None) in lines and not _is_docstring(tree, path)
        for new in _changes(node)
        if not (_forgets_the_sign(_follow(tree, path[:-1])) and _is_opposite(node, new))
    ]


def mutant(code: str, *changes: Change) -> ast.Module:
    """El árbol de la celda con los cambios hechos."""
    tree = parse_cell(code)
    for change in changes:
        _put(tree, change.path, copy.deepcopy(change.new))
    return ast.fix_missing_locations(tree)


def describe(code: str, change: Change) -> str:
    """La línea que cambia: «antes → después»."""
    tree = parse_cell(code)
    line = change.path[: _statement_depth(tree, change.path)]
    after = mutant(code, change)
    return f"{_first_line(_follow(tree, line))} → {_first_line(_follow(after, line))}"


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


def _forgets_the_sign(node):
    """Si es `(…).square` o `(…).abs`, que dan lo mismo de un número y de su opuesto."""
    return isinstance(node, ast.Attribute) and node.attr in ("square", "abs")


def _is_opposite(node, new):
    """Si el cambio es b − a, donde decía a − b."""
    both = isinstance(node, ast.BinOp) and isinstance(new, ast.BinOp) and type(new.op) is ast.Sub
    return both and (new.left, new.right) == (node.right, node.left)


def _is_module(node):
    """Si un nombre con puntos parece un módulo: `torch`, `torch.nn.functional`, `math`, `F`."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in {"torch", "math", "F", "nn", "einops", "np"}


def _change_statement(node):
    """Borra una instrucción; las definiciones y lo que solo agrupa se cambian por dentro."""
    removable = (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.For, ast.While, ast.Raise)
    return [ast.Pass()] if isinstance(node, removable) else []
