"""Lo que hay que leer para seguir a un modelo, de los identificadores a los logits."""

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest
import torch

from course_lib.models import Bert, PaLM, Transformer, TransformerXL, UniversalTransformer
from course_lib.models.bert import BertConfig
from course_lib.models.palm import PaLMConfig
from course_lib.models.transformer import TransformerConfig
from course_lib.models.transformer_xl import TransformerXLConfig
from course_lib.models.universal_transformer import UniversalTransformerConfig

ROOT = Path(__file__).parents[2]
# Hasta aquí llega cada modelo, en archivos y en líneas de código; no debe crecer.
READING = {
    "transformer": (9, 841),
    "bert": (8, 819),
    "palm": (10, 914),
    "transformer_xl": (10, 934),
    "universal_transformer": (10, 1012),
}

SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 16}
IDS = torch.tensor([[5, 6, 7, 2]])
# De lo anterior, lo que se ejecuta desde que se crea el modelo: en cuántos archivos está.
MODELS = {
    "transformer": (9, lambda: Transformer(TransformerConfig(20, **SIZES))(IDS, IDS)),
    "bert": (7, lambda: Bert(BertConfig(20, **SIZES))(IDS)),
    "palm": (9, lambda: PaLM(PaLMConfig(20, **SIZES))(IDS)),
    "transformer_xl": (10, lambda: TransformerXL(TransformerXLConfig(20, **SIZES))(IDS)),
    "universal_transformer": (
        10,
        lambda: UniversalTransformer(UniversalTransformerConfig(20, **SIZES))(IDS, IDS),
    ),
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


def code_lines(path: Path) -> set[int]:
    """Qué líneas tienen código: ni documentación, ni comentarios, ni líneas en blanco."""
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
    return lines - documented


def lines_that_run(work) -> dict[Path, set[int]]:
    """Por archivo, el código de cada función que `work` ejecuta, y los campos de su clase."""
    called = set()

    def note(frame, event, argument):
        called.add((Path(frame.f_code.co_filename), frame.f_code.co_firstlineno))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    found = {}
    for path in {path for path, _ in called if ROOT / "course_lib" in path.parents}:
        lines = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in (n for n in ast.walk(tree) if isinstance(n, ast.Module | ast.ClassDef)):
            functions = [n for n in node.body if isinstance(n, ast.FunctionDef)]
            run = [n for n in functions if (path, _first_line(n)) in called]
            lines.update(*(range(_first_line(n), n.end_lineno + 1) for n in run))
            if run and isinstance(node, ast.ClassDef):
                fields = [n for n in node.body if isinstance(n, ast.AnnAssign | ast.Assign)]
                lines.update([node.lineno], *(range(n.lineno, n.end_lineno + 1) for n in fields))
        if lines:
            found[path] = lines & code_lines(path)
    return found


def _first_line(function):
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


@pytest.mark.parametrize("name", READING)
def test_what_there_is_to_read_does_not_grow(name):
    paths = reached(name)
    files, lines = READING[name]
    count = sum(len(code_lines(path)) for path in paths)
    assert len(paths) <= files, [path.name for path in paths]
    assert count <= lines, {path.name: len(code_lines(path)) for path in paths}


@pytest.mark.parametrize("name", MODELS)
def test_what_runs_from_ids_to_logits_is_read_in_seven_hundred_lines(name):
    files, work = MODELS[name]
    lines = {path.name: len(found) for path, found in lines_that_run(work).items()}
    lines.pop("_lazy.py", None)  # sirve para importar
    assert len(lines) <= files, lines
    assert 200 < sum(lines.values()) <= 700, lines
