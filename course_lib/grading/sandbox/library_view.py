"""La parte de la biblioteca que un estudiante puede usar: la que su cuaderno le da.

Son los módulos que importa el cuaderno del tema, y los que ellos necesitan; nunca los que juzgan
(`HIDDEN`). Si alguno contiene la respuesta de un ejercicio, para ese ejercicio se copia sin ella.
"""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import course_lib
from course_lib.judging.refusal import HIDDEN, answer_message
from course_lib.notebooks.fingerprint import module_files, reachable_modules

# Otros nombres de un módulo: los que da un cuaderno de antes de que se juntaran.
_OTHER_NAMES = {
    "course_lib.primitives.attention": (
        "course_lib.primitives.masks",
        "course_lib.primitives.softmax",
    )
}


@functools.cache
def library_modules(tools: frozenset[str]) -> tuple[str, ...]:
    """Da los módulos de la vista, a partir de los que el cuaderno importa."""
    wanted = [name for name in tools if not name.startswith(HIDDEN)]
    return tuple(n for n in reachable_modules(wanted) if not n.startswith(HIDDEN))


@functools.cache
def used_inside(tools: frozenset[str]) -> frozenset[str]:
    """Da los identificadores que usa el código de la vista, sin contar las definiciones."""
    names: set[str] = set()
    for path in module_files(library_modules(tools)):
        nodes = ast.walk(ast.parse(path.read_bytes())) if path.suffix == ".py" else ()
        for node in nodes:
            if isinstance(node, (ast.Name, ast.Attribute)):
                names.add(node.id if isinstance(node, ast.Name) else node.attr)
            elif isinstance(node, ast.alias):
                names.add(node.name)
    return frozenset(names)


def write_view(folder: Path, tools: frozenset[str], answers: tuple[str, ...]) -> None:
    """Copia en una carpeta los módulos de la vista, sin las respuestas."""
    source = Path(course_lib.__file__).parent
    (folder / "course_lib").mkdir(parents=True)
    modules = library_modules(tools)
    others = [name for module in modules for name in _OTHER_NAMES.get(module, ())]
    for path in module_files([*modules, *others]):
        relative = path.relative_to(source)
        module = ".".join(("course_lib", *relative.with_suffix("").parts))
        names = [a.rpartition(".")[2] for a in answers if a.rpartition(".")[0] == module]
        target = folder / "course_lib" / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        content = path.read_bytes()
        target.write_bytes(without(content.decode(), names).encode() if names else content)


def without(source: str, names: list[str]) -> str:
    """Da el código de un módulo en que esas funciones o clases solo dicen que son la respuesta."""
    tree = ast.parse(source)
    for index, node in enumerate(tree.body):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name in names:
            message = answer_message(node.name)
            text = f"def {node.name}(*args, **kwargs):\n    raise ImportError({message!r})"
            tree.body[index] = ast.parse(text).body[0]
    return ast.unparse(tree)
