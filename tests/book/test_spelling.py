"""Ortografía con hunspell: libro, soluciones, descripciones, mensajes, comentarios y figuras."""

import re
import shutil
import subprocess
from collections import defaultdict

import pytest

from tests.book import prose
from tests.book.prose import ROOT, Prose
from tests.conftest import missing_tool

WORDS = ROOT / "tests" / "book" / "words.txt"
LANGUAGES = ("es_MX", "es_ES")
# Una palabra: letras sin cifras, guiones bajos ni puntos pegados (eso es un nombre de programa).
WORD = re.compile(r"(?<![\w.@/\\`-])[^\W\d_]+(?![\w@/\\]|\.\w|\()")
# Varias mayúsculas: sigla.
ACRONYM = re.compile(r"^(?:[^a-zñáéíóúü]+s?|\w\w?)$")


@pytest.fixture(scope="module")
def hunspell() -> list[str]:
    if shutil.which("hunspell") is None:
        missing_tool("hunspell", "sudo apt-get install hunspell hunspell-es")
    listed = subprocess.run(["hunspell", "-D"], input="", capture_output=True, text=True).stderr
    for language in LANGUAGES:
        if f"/{language}" in listed:
            return ["hunspell", "-d", language, "-i", "utf-8", "-p", str(WORDS), "-l"]
    return missing_tool("el diccionario de español", "sudo apt-get install hunspell-es")


def words(piece: Prose) -> set[str]:
    return {w for w in WORD.findall(piece.text) if not ACRONYM.match(w)}


def misspelled(pieces, hunspell: list[str]) -> dict[str, list[str]]:
    """Palabra desconocida → dónde está."""
    places = defaultdict(list)
    for piece in pieces:
        if not piece.foreign:
            for word in words(piece):
                places[word].append(f"{piece.source}:{piece.line}")
    text = "\n".join(sorted(places))
    unknown = subprocess.run(hunspell, input=text, capture_output=True, text=True, check=True)
    return {word: places[word][:3] for word in unknown.stdout.split() if word in places}


def test_spelling(hunspell):
    found = misspelled(prose.everything(), hunspell)
    assert found == {}, "corrige la palabra o, si está bien, agrégala a tests/book/words.txt"


def test_words_are_sorted():
    listed = WORDS.read_text("utf-8").split()
    assert listed == sorted(set(listed), key=lambda word: (word.casefold(), word))


@pytest.mark.parametrize(
    "text, unknown",
    [
        ("Una atencion sin tilde.", {"atencion"}),
        ("El `codgo` y $formla$ y <https://ejmplo.org> no cuentan.", set()),
        ("```{code-cell}\n---\nfigure:\n    caption: Un maal pie.\n---\nx = 1\n```", {"maal"}),
        (":::{admonition} Títlo\nUn errror.\n:::", {"Títlo", "errror"}),
        ("```{code-cell} ipython3\nx = 1  # un comntario\nraise ValueError('falta el mensje')\n```",
         {"comntario", "mensje"}),
        ("{term}`atencón` y {cite:t}`vaswani2017attention`", {"atencón"}),
    ],
)  # fmt: skip
def test_the_test_can_fail(hunspell, text: str, unknown: set[str]):
    assert set(misspelled(prose.of_markdown(text, "x.md"), hunspell)) == unknown
