"""Lo que hay que leer para seguir a un modelo, de los identificadores a los logits."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Hasta aquí llega cada modelo, en archivos y en líneas de código; no debe crecer.
READING = {
    "transformer": (12, 852),
    "bert": (11, 831),
    "palm": (12, 840),
    "transformer_xl": (13, 952),
    "universal_transformer": (13, 1023),
}


def reached(name: str) -> list[Path]:
    """El archivo del modelo y los de `course_lib` que importa, directa o indirectamente."""
    home = ROOT / "course_lib" / "models" / name
    pending, found = [home / "model.py" if home.is_dir() else home.with_suffix(".py")], []
    while pending:
        path = pending.pop()
        if path in found:
            continue
        found.append(path)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("course_lib."):
                pending.append(ROOT.joinpath(*node.module.split(".")).with_suffix(".py"))
    return sorted(found)


def code_lines(path: Path) -> int:
    """Cuántas líneas tienen código: ni documentación, ni comentarios, ni líneas en blanco."""
    text = path.read_text(encoding="utf-8")
    documented = set()
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                documented.update(range(value.lineno, value.end_lineno + 1))
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank and token.type != tokenize.ENDMARKER:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - documented)


@pytest.mark.parametrize("name", READING)
def test_what_there_is_to_read_does_not_grow(name):
    paths = reached(name)
    files, lines = READING[name]
    count = sum(map(code_lines, paths))
    assert len(paths) <= files, [path.name for path in paths]
    assert count <= lines, {path.name: code_lines(path) for path in paths}
