"""Las constantes de un ejercicio que cambian de una persona a otra, y los cuadernos personales.

La cabecera del ejercicio las declara, cada una con sus valores, y el texto las nombra como
`{{bloques}}`:

    varia:
      bloques: [118, 64, 32]
      cabezas: [48, 32, 16]
    ---
    # Lo que pesa la caché
    Un modelo tiene {{bloques}} bloques y {{cabezas}} cabezas. …

A cada quien le toca un lugar: el primero de cada lista, el segundo… El primero es el del cuaderno
de todos. Cambian el enunciado, la solución, los casos y los errores; lo que el cuaderno da, no.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from course_lib._extras import extra
from course_lib.notebooks.fingerprint import is_check, parse_cell

with extra("author"):
    import nbformat

FEWEST, MOST = 2, 12
"""Cuántos valores puede tener una constante."""


def count(constants: dict[str, list]) -> int:
    """Cuántos ejercicios distintos salen de unas constantes; uno, si no hay."""
    return min(map(len, constants.values()), default=1)


def filled(text: str, constants: dict[str, list], variant: int) -> str:
    """Pone en un texto el valor de cada constante."""
    for name, values in constants.items():
        text = text.replace(f"{{{{{name}}}}}", str(values[variant]))
    return text


def wrong(constants: dict[Any, Any], text: str) -> Iterator[str]:
    """Dice lo que está mal en unas constantes; nada, si todo está bien."""
    for name, values in constants.items():
        if not re.fullmatch(r"[a-z][a-z0-9_]*", str(name)):
            yield f"«{name}» no sirve de nombre: en minúsculas, sin espacios ni acentos."
        elif not isinstance(values, list) or not FEWEST <= len(values) <= MOST:
            yield f"«{name}» es una lista de {FEWEST} a {MOST} valores."
        elif not all(isinstance(v, (int, float, str)) and "\n" not in str(v) for v in values):
            yield f"cada valor de «{name}» es un número o un texto de una línea."
        elif f"{{{{{name}}}}}" not in text:
            yield f"«{name}» no se usa: escribe {{{{{name}}}}} donde vaya su valor."
    sizes = {len(values) for values in constants.values() if isinstance(values, list)}
    if len(sizes) > 1:
        yield "las listas miden lo mismo: a cada quien le toca el mismo lugar de todas."


def personal(content: str, owner: str, cells: list[Any] | None = None) -> str:
    """Hace de un cuaderno de ejercicios el de una persona.

    Argumentos:
        content: el cuaderno de todos.
        owner: de quién es.
        cells: sus celdas con las constantes que le tocaron, si alguna cambia.
    """
    notebook = nbformat.reads(content, as_version=4)
    for cell, own in zip(notebook.cells, cells or notebook.cells, strict=True):
        cell.source = own.source
        if cell.cell_type == "code" and _is_check_cell(cell.source):
            told = json.dumps(owner, ensure_ascii=False)
            cell.source = re.sub(r"\)\s*$", f", owner={told})", cell.source)
            cell.outputs = []
    return nbformat.writes(notebook) + "\n"


def _is_check_cell(source: str) -> bool:
    tree = parse_cell(source)
    statements = tree.body if tree else []
    return bool(statements) and all(
        isinstance(each, ast.Expr) and is_check(each.value) for each in statements
    )
