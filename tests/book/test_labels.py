"""Las descripciones de la biblioteca citan ecuaciones que existen, y en el capítulo que dicen."""

import ast
import functools
import re

import pytest

from tests.book.prose import ROOT, book_files, library_files, parser

CITED = re.compile(r"`(eq-[\w-]+)`(?:,? del capítulo `(\w+)`)?")


def labels_of(text: str) -> set[str]:
    """Las etiquetas de ecuación de una página: `$$ … $$ (eq-x)` y `{math}` con `:label:`."""
    found = set()
    for token in parser().parse(text):
        if token.type == "math_block_label":
            found.add(token.info)
        elif token.type in {"fence", "colon_fence"}:
            if token.info.strip().startswith("{math}"):
                found |= set(re.findall(r"(?m)^:label:\s*(\S+)", token.content))
            elif re.match(r"\{(?!code|literal|eval)", token.info.strip()):
                found |= labels_of(token.content)
    return found


@functools.cache
def labels() -> dict[str, str]:
    """Etiqueta → capítulo."""
    return {
        label: path.stem for path in book_files() for label in labels_of(path.read_text("utf-8"))
    }


def citations() -> list[tuple[str, str, str]]:
    """(módulo, etiqueta, capítulo) de cada cita en una descripción."""
    found = []
    for path in library_files():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = " ".join((ast.get_docstring(node) or "").split())
                module = str(path.relative_to(ROOT))
                found += [(module, label, chapter) for label, chapter in CITED.findall(text)]
    return found


@pytest.mark.parametrize("module, label, chapter", sorted(set(citations())))
def test_cited_equation_exists(module: str, label: str, chapter: str):
    home = labels().get(label)
    assert home is not None, f"{module} cita {label}, que no está en ningún capítulo"
    assert not chapter or home == chapter, f"{label} está en {home}; {module} dice {chapter}"


def test_there_is_something_to_check():
    assert len(citations()) >= 5
    assert labels_of("$$ x $$ (eq-uno)\n\n```{math}\n:label: eq-dos\ny\n```\n") == {
        "eq-uno",
        "eq-dos",
    }
