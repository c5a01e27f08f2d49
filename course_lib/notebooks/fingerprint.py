"""De qué depende ejecutar un cuaderno, además de su texto.

Son los módulos de `course_lib` que el código importa, directamente o no, y las versiones de los
demás paquetes. Tocar otro módulo no vuelve a ejecutar nada. `course regenerate` y la caché del
libro miran las versiones fijadas en `requirements.txt`: lo que guardan vale en toda máquina. Quien
califica mira las instaladas, que son con las que se calificó.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import hashlib
import io
import os
import platform
import re
import symtable
import threading
import tokenize
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import course_lib
from course_lib._extras import extra
from course_lib._lazy import homes
from course_lib.judging import OWN_TOPICS

PACKAGE = "course_lib"
EXERCISES = f"{PACKAGE}.judging.exercises"
"""Los ejercicios preparados de un tema cuentan como un módulo: `exercises.TEMA`, de TEMA.json."""
LOCK_FILE = "requirements.txt"
_DIGITS = 12


def library_fingerprint(modules: Iterable[str], near: Path | None) -> str:
    """Resume en un solo texto lo que da `library_parts`."""
    return _digest(f"{name}: {part}" for name, part in library_parts(modules, near).items())


def library_parts(modules: Iterable[str], near: Path | None) -> dict[str, str]:
    """Resume los módulos alcanzados desde unos dados, y las versiones de los demás paquetes.

    De un módulo cuenta el código: cambiar un comentario o un docstring no vuelve a ejecutar nada.

    Argumentos:
        modules: nombres completos de módulos de `course_lib`.
        near: un archivo o carpeta del proyecto; `requirements.txt` se busca de ahí hacia arriba.
            None, las versiones instaladas.

    Devuelve:
        dict[str, str]: por cada archivo, el resumen de su contenido.
    """
    found = {LOCK_FILE: _digest([installed_versions() if near is None else _lock_text(near)])}
    for path in module_files(reachable_modules(modules)):
        ours = path.is_relative_to(_package_folder())
        name = path.relative_to(_package_folder().parent).as_posix() if ours else path.name
        found[name] = _digest([code_of(path)])
    return {name: part[:_DIGITS] for name, part in found.items()}


def installed_versions() -> str:
    """Da la versión de Python y la instalada de cada paquete que la biblioteca necesita."""
    names = (re.match(r"[\w.-]+", text)[0] for text in _requirements())
    found = {"python": platform.python_version()}
    for name in sorted(names):
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return "\n".join(f"{name}=={version}" for name, version in found.items())


def _requirements() -> list[str]:
    """Lo que la biblioteca declara, sin sus extras; lo esencial, si no está instalada."""
    with contextlib.suppress(metadata.PackageNotFoundError):
        declared = metadata.requires(PACKAGE) or []
        return [text for text in declared if "extra ==" not in text] + ["ipython"]
    return ["einops", "ipython", "matplotlib", "numpy", "safetensors", "torch"]


def code_cells(notebook: Any) -> list[Any]:
    """Da las celdas de código de un cuaderno, en orden."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def imported_modules(sources: Iterable[str]) -> set[str]:
    """Da los módulos de `course_lib` que carga el código de unas celdas.

    Son los que importa y, por cada `check("tema.ejercicio", …)`, los ejercicios de ese tema, que
    `check` busca por su nombre. De una celda que no es Python válido (por ejemplo, una que muestra
    un error de sintaxis) se toman todos los nombres de módulos que aparecen.
    """
    names: set[str] = set()
    for source in sources:
        tree = parse_cell(source)
        names |= _mentioned(source) if tree is None else _imports(tree)
    return {name for name in names if name.split(".")[0] == PACKAGE}


_TIMED = re.compile(
    r"^([ \t]*(?:\w+[ \t]*=[ \t]*)?)%%?time(?:it(?:[ \t]+-\w+(?:[ \t]+\d+)?)*)?(?:[ \t]+|$)"
)


_PARSING = threading.Lock()


def parse(code: str) -> ast.Module:
    """Analiza un código de Python, un hilo cada vez: con varios, Python 3.11 se detiene.

    Errores:
        SyntaxError, ValueError: no es Python válido.
    """
    with _PARSING:
        return ast.parse(code)


def parse_cell(source: str) -> ast.Module | None:
    """Analiza una celda, sin las líneas de IPython (`%`, `!`); None si no se puede.

    No se puede lo que no es Python válido, o anida tanto que no cabe en la memoria.
    De las que miden (`%time`, `%timeit`) queda el código. Lo que ya es Python se deja como está:
    un `%` puede abrir la línea de un texto o de una cuenta.
    """
    lines = [_TIMED.sub(r"\1", line) for line in source.splitlines()]
    kept = ("" if re.match(r"\s*[%!]", line) else line for line in lines)
    for text in (source, "\n".join(kept)):
        # Un carácter nulo tampoco es Python válido, y se dice con un error de valor.
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            return parse(text)
    return None


def global_uses(scope: symtable.SymbolTable) -> Iterator[str]:
    """Da los nombres globales que usa un código, y los de sus funciones y clases."""
    for symbol in scope.get_symbols():
        if symbol.is_referenced() and (scope.get_type() == "module" or symbol.is_global()):
            yield symbol.get_name()
    for child in scope.get_children():
        yield from global_uses(child)


def _imports(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name for alias in node.names for name in _loaded(alias.name)}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            offered = homes(node.module)
            parts = {offered.get(a.name, f"{node.module}.{a.name}") for a in node.names}
            names |= {node.module, *(name for part in parts for name in _loaded(part))}
        elif is_check(node):
            topic = node.args[0].value.partition(".")[0]
            names.add(f"{EXERCISES}.{topic}")
    return names


def _loaded(name: str) -> set[str]:
    """Un módulo; de un paquete entero, también los módulos de lo que ofrece."""
    return {name, *(homes(name).values() if name != PACKAGE else ())}


def is_check(node: ast.AST) -> bool:
    """Dice si un nodo es una llamada `check("tema.ejercicio", …)`."""
    if not isinstance(node, ast.Call) or not node.args:
        return False
    name = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
    first = node.args[0]
    return name == "check" and isinstance(first, ast.Constant) and isinstance(first.value, str)


def _mentioned(source: str) -> set[str]:
    return set(re.findall(rf"\b{PACKAGE}(?:\.\w+)*", source))


def reachable_modules(modules: Iterable[str]) -> list[str]:
    """Da los módulos que se cargan al importar unos dados, con los paquetes que los contienen."""
    graph = _import_graph()
    found: set[str] = set()
    waiting = {name for module in modules for name in (module, *_packages_of(module))}
    while waiting:
        name = waiting.pop()
        if name not in found and (data := _compiled_file(name)):
            found.add(name)
            waiting |= _mentioned(data.read_text(encoding="utf-8"))
        elif name in graph.modules and name not in found:
            found.add(name)
            imported = graph.find_modules_directly_imported_by(name)
            waiting |= {p for module in imported for p in (module, *_packages_of(module))}
    return sorted(found)


class _Built(NamedTuple):
    """El grafo de importaciones, de qué archivos salió y quién lo construyó."""

    graph: Any
    state: tuple
    process: int


_built: _Built | None = None


def _import_graph() -> Any:
    """Construye el grafo una vez por cada estado de los archivos del paquete.

    Un hijo que nació al dividirse otro se queda con el de su padre, aunque los archivos cambien:
    los hilos con que se lee no cruzan, y esperarlos es para siempre.
    """
    global _built
    state = _package_state()
    if _built is None or (_built.state != state and _built.process == os.getpid()):
        with extra("author"):
            import grimp
        _built = _Built(grimp.build_graph(PACKAGE, cache_dir=None), state, os.getpid())
    return _built.graph


def _package_state() -> tuple:
    files = sorted(_package_folder().rglob("*.py"))
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)


def _packages_of(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts))]


def module_files(modules: Iterable[str]) -> list[Path]:
    """Da los archivos de unos módulos, y los de datos que están en sus mismas carpetas."""
    files: set[Path] = set()
    for module in modules:
        if data := _compiled_file(module):
            files.add(data)
            continue
        base = _package_folder().joinpath(*module.split(".")[1:])
        file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
        files |= {file} | {p for p in file.parent.iterdir() if _is_data(p)}
    return sorted(files)


def _compiled_file(module: str) -> Path | None:
    """El archivo de los ejercicios preparados de un tema, si el nombre es de uno."""
    folder, _, topic = module.rpartition(".")
    if folder != EXERCISES:
        return None
    places = [_package_folder() / "judging" / "exercises"]
    if own := os.environ.get(OWN_TOPICS):
        places.append(Path(own, "exercises"))
    paths = (place / f"{topic}.json" for place in places)
    return next((path for path in paths if path.is_file()), None)


def _is_data(path: Path) -> bool:
    return path.is_file() and path.suffix not in {".py", ".pyc", ".tmp"} and path.name[0] != "."


def _package_folder() -> Path:
    return Path(course_lib.__file__).parent


def code_of(path: Path) -> str:
    """Da el texto de un módulo sin comentarios ni docstrings, que no cambian lo que hace."""
    text = _file_text(path)
    return _without_comments(text) if path.suffix == ".py" else text


@functools.lru_cache(maxsize=512)
def _without_comments(text: str) -> str:
    """Quita líneas del texto, y no vuelve a escribir el árbol: así es igual en todo Python."""
    lines: list[str | None] = list(text.split("\n"))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            lines[line - 1] = lines[line - 1][:column].rstrip() or None
    for node in ast.walk(parse(text)):
        if isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str):
            lines[node.lineno - 1 : node.end_lineno] = [None] * (node.end_lineno - node.lineno + 1)
    return "\n".join(line for line in lines if line is not None)


def _lock_text(near: Path) -> str:
    for folder in (near.resolve(), *near.resolve().parents, _package_folder().parent):
        if (folder / LOCK_FILE).is_file():
            return _file_text(folder / LOCK_FILE)
    return ""


def _file_text(path: Path) -> str:
    """Lee un archivo; los de texto, con los mismos finales de línea en todo sistema."""
    content = path.read_bytes()
    return content.replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")


def _digest(parts: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogateescape")
        digest.update(f"{len(encoded)}:".encode() + encoded)
    return digest.hexdigest()
