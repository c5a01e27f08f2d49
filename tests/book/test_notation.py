"""La página de notación dice la verdad: cada nombre que enseña existe en la biblioteca."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
AXES = {"batch", "heads", "t_q", "t_k", "d_model", "d_k", "d_v", "vocab"}


def table(name: str) -> list[list[str]]:
    """Las filas de la tabla que sigue al comentario `<!-- tabla: name -->`."""
    body = PAGE.split(f"<!-- tabla: {name} -->")[1].split("\n\n")[0]
    rows = [line for line in body.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


def code(cell: str) -> list[str]:
    """Lo que una celda lleva entre acentos graves, sin los papeles de MyST."""
    return re.findall(r"(?<!\})`([^`]+)`", cell)


def library() -> dict[str, set[str]]:
    """Los nombres que la biblioteca define y los ejes de sus firmas."""
    found = {"arguments": set(), "definitions": set(), "names": set(), "axes": set()}
    for path in (ROOT / "course_lib").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg):
                found["arguments"].add(node.arg)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                found["definitions"].add(node.name)
            elif isinstance(node, ast.Attribute):
                found["names"].add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found["names"].add(node.id)
            elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
                last = node.slice.elts[-1]
                if isinstance(last, ast.Constant) and isinstance(last.value, str):
                    found["axes"] |= set(re.findall(r"[a-z_]+", last.value))
    return found


LIBRARY = library()


def test_axis_words_are_the_house_words_and_stand_in_signatures():
    listed = [code(row[0])[0] for row in table("ejes")]
    assert set(listed) == AXES and len(listed) == len(AXES)
    assert set(listed) <= LIBRARY["axes"], sorted(set(listed) - LIBRARY["axes"])


@pytest.mark.parametrize("row", table("símbolos"), ids=lambda row: row[0][:24])
def test_symbols_exist(row):
    symbol, identifiers, shapes, meaning, chapter = row
    assert symbol and meaning and "{doc}" in chapter
    known = LIBRARY["arguments"] | LIBRARY["names"]
    assert code(identifiers), "falta el identificador"
    assert set(code(identifiers)) <= known, f"no existe en course_lib: {identifiers}"
    words = {word for shape in code(shapes) for word in re.findall(r"[a-z_]+", shape)}
    assert words <= AXES


@pytest.mark.parametrize("row", table("operaciones"), ids=lambda row: row[1])
def test_operations_exist(row):
    assert code(row[1]) and set(code(row[1])) <= LIBRARY["definitions"]
    assert "{doc}" in row[3]


def test_colours_are_those_of_the_plots():
    from course_lib import plotting

    listed = [code(row[1])[0].lower() for row in table("colores")]
    assert set(listed) == {hex_.lower() for hex_ in plotting.COLORS.values()}
    for row, hex_ in zip(table("colores"), listed, strict=True):
        assert hex_ in row[0].lower(), "la muestra y el código de color difieren"


def test_every_first_chapter_exists():
    for name in set(re.findall(r"\{doc\}`(\w+)`", PAGE)):
        assert (ROOT / "book" / f"{name}.md").exists(), name
