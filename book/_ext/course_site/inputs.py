"""De qué depende el resultado de un capítulo, parte por parte."""

import ast
import hashlib
import platform
from functools import lru_cache
from pathlib import Path

import grimp

from myst_nb.core.read import create_nb_reader  # noqa: F401

ROOT = Path(__file__).resolve().parents[3]


@lru_cache(maxsize=1)
def _graph():
    return grimp.build_graph("course_lib", cache_dir=None)


def fingerprint_inputs(path: Path) -> dict[str, str]:
    import jupytext

    notebook = jupytext.read(path)
    code = [c.source for c in notebook.cells if c.cell_type == "code"]
    inputs = {"el texto de sus celdas": _digest("\0".join(code).encode())}
    inputs["requirements.txt"] = _digest((ROOT / "requirements.txt").read_bytes())
    for module in sorted(_reached(code)):
        inputs[module] = _digest(_source(module).read_bytes())
    return inputs


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _source(module: str) -> Path:
    base = ROOT.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _reached(code: list[str]) -> set[str]:
    graph, found = _graph(), set()
    for cell in code:
        try:
            tree = ast.parse(cell)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found |= {a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
    direct = {m for m in found if m in graph.modules}
    return direct.union(*(graph.find_upstream_modules(m) for m in direct)) if direct else set()
