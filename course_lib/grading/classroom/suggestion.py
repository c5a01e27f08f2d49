"""De una respuesta que nadie reconoció, el error frecuente que se pegaría en su ejercicio.

Es texto: nada de lo que escribió el estudiante se ejecuta. Lo pega quien califica, cuando lo ha
leído.
"""

from __future__ import annotations

import ast
import re

from course_lib.notebooks.fingerprint import parse_cell

_HINT = "escribe aquí la pista: qué hizo quien escribió esto, y por qué está mal."
_KEPT = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


def suggested_mistake(code: str, name: str, obtained: str = "") -> str:
    """Da el punto de la lista «## Errores» que comete el error de una celda.

    Argumentos:
        code: la celda del estudiante.
        name: el nombre de la respuesta.
        obtained: lo que dio (`Evidence.obtained`): si se detuvo, el error también se detiene.

    Devuelve:
        str: Markdown que se pega tal cual; vacío si la celda no define la respuesta de un modo que
            sirva.
    """
    tree = parse_cell(code)
    body = tree.body if tree else []
    for node in body:
        if isinstance(node, ast.Assign) and getattr(node.targets[-1], "id", "") == name:
            return _value(node.value)
    kept = [node for node in body if isinstance(node, _KEPT)]
    if name not in [getattr(node, "name", "") for node in kept]:
        return ""
    text = "\n\n\n".join(_source(code, node) for node in kept)
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", text)), 3)
    lines = ["- **nuevo_error**", f"  {fence}"]
    lines += [f"  {line}".rstrip() for line in text.splitlines()]
    stopped = re.match(r"se detuvo con (\w+):", obtained)
    return "\n".join(
        [*lines, f"  {fence}", f"  {_HINT}", *([f"  se detiene: {stopped[1]}"] if stopped else [])]
    )


def _value(value: ast.expr) -> str:
    """Un valor equivocado, si es un dato."""
    try:
        ast.literal_eval(value)
        text = ast.unparse(value)  # un entero de miles de cifras se lee, y no se escribe
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ""
    quote = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text else ""
    return f"- **nuevo_error** = {quote}{pad}{text}{pad}{quote}\n  {_HINT}"


def _source(code: str, node: ast.stmt) -> str:
    """Las líneas de una definición, con sus decoradores y sus comentarios."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return "\n".join(code.splitlines()[first - 1 : node.end_lineno])
