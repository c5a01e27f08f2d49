"""Un término por concepto: ninguna variante rechazada en libro, ejercicios, mensajes ni figuras."""

import re

import pytest

from tests.book import prose
from tests.book.prose import ROOT, Prose

LIST = ROOT / "tests" / "book" / "rejected_terms.txt"
# Donde se nombra la variante para explicarla.
ALLOWED = {("book/glossary.md", "transformador")}


def rejected() -> list[tuple[re.Pattern, str]]:
    lines = (line for line in LIST.read_text("utf-8").splitlines() if line and line[0] != "#")
    pairs = (line.split(" -> ") for line in lines)
    return [(re.compile(rf"(?<![\w./-])(?:{p})(?![\w/-])", re.IGNORECASE), t) for p, t in pairs]


def faults(pieces) -> list[str]:
    """Los usos de variantes rechazadas; en cursiva y entre paréntesis se presenta el inglés."""
    found = []
    for piece in pieces:
        if piece.foreign:
            continue
        for pattern, term in rejected():
            for match in pattern.finditer(piece.text):
                if (piece.source, match[0].lower()) not in ALLOWED:
                    found.append(f"{piece.source}:{piece.line}: «{match[0]}»; di «{term}»")
    return found


def test_no_rejected_variant():
    assert faults(prose.everything()) == []


@pytest.mark.parametrize("pattern_and_term", rejected(), ids=lambda pair: pair[1])
def test_our_own_terms_are_not_rejected(pattern_and_term):
    assert all(not pattern.search(pattern_and_term[1]) for pattern, _ in rejected())


@pytest.mark.parametrize(
    "text, count",
    [
        ("La auto-atención compara.", 1),
        ("La autoatención (*self-attention*) compara `query` y $query$.", 0),
        ("Dos queries y una llave.", 2),
        (":::{note} El encoder\nUn batch grande.\n:::", 2),
        ("```{code-cell} ipython3\nx = 1  # el padding\nprint('un score alto')\nquery = 2\n```", 2),
        ("```{figure} heads.svg\n:alt: Dos heads.\nUna cabeza.\n```", 1),
    ],
)
def test_the_test_can_fail(text: str, count: int):
    assert len(faults(prose.of_markdown(text, "x.md"))) == count


def test_docstrings_are_read():
    code = (
        'def f(query):\n    """Puntúa la query.\n\n        query = K\n\n    Argumentos:\n'
        '        query: la consulta.\n    """'
    )
    assert len(faults(prose.of_code(code, "x.py"))) == 1
    assert faults([Prose("x", 1, "una consulta por lote")]) == []
