"""La búsqueda: las sesenta de `search_queries.txt` llevan a donde se espera."""

import re
import sys
from pathlib import Path

import pytest

from tests.book.conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.search import FoldedSpanish, fold, names

LINES = (Path(__file__).parent / "search_queries.txt").read_text("utf-8").splitlines()
QUERIES = [line.split(" | ") for line in LINES if line and not line.startswith("#")]
FIRST, AMONG_THREE = 0.85, 0.97
GLOSSARY = """:::{glossary}
codificación por pares de bytes
BPE
  (*byte-pair encoding*) Parte y
  junta. Primer capítulo: {doc}`tokenization`.

sin capítulo
  (*nowhere*) Nada.
:::
"""


def test_every_name_of_an_entry_leads_to_its_chapter():
    home = ["book/tokenization", "codificacion por pares de bytes"]
    assert names(GLOSSARY) == dict.fromkeys([home[1], "bpe", "byte-pair encoding"], home)
    assert len(names((ROOT / "book" / "glossary.md").read_text("utf-8"))) > 200


def test_accents_do_not_matter():
    stem = FoldedSpanish({}).stem
    for written, other in (
        ("Tokenización", "tokenizacion"),
        ("máscaras", "mascara"),
        ("acción", "accion"),
    ):
        assert stem(written) == stem(other)
    assert fold("Ñandú") == "nandu"


FIND = """query => {
    const found = Search._performSearch(...Search._parseQuery(query));
    return [...new Set(found.reverse().map(([page]) => page))];
}"""


@pytest.fixture(scope="module")
def searching(address: str, chromium):
    """La página de búsqueda, con su índice cargado."""
    page = chromium.new_page()
    page.goto(f"{address}/search.html?q=atencion")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText")
    yield page
    page.close()


@pytest.mark.site
@pytest.mark.browser
def test_what_is_found_is_shown_in_order(searching):
    links = searching.eval_on_selector_all(
        "#search-results li > a", "all => all.map(a => a.getAttribute('href'))"
    )
    shown = dict.fromkeys(re.split(r"[?#]", link)[0].removesuffix(".html") for link in links)
    assert list(shown) == searching.evaluate(FIND, "atencion")
    assert next(iter(shown)) == "book/attention"


@pytest.mark.site
@pytest.mark.browser
def test_what_is_expected_comes_first(searching):
    found = {query: searching.evaluate(FIND, query) for query, _ in QUERIES}
    assert len(QUERIES) == 60
    place = {}
    for query, expected in QUERIES:
        places = [found[query].index(e) + 1 for e in expected.split() if e in found[query]]
        place[query] = min(places, default=0)
    late = {query: where for query, where in place.items() if where != 1}
    assert sum(where == 1 for where in place.values()) >= FIRST * len(QUERIES), late
    assert sum(0 < where <= 3 for where in place.values()) >= AMONG_THREE * len(QUERIES), late


@pytest.mark.site
@pytest.mark.browser
def test_the_page_and_the_index_cut_words_alike(searching):
    words = {w for text in ROOT.glob("book/*.md") for w in re.findall(r"\w+", text.read_text())}
    words = sorted(fold(word) for word in words)
    stem = FoldedSpanish({}).stem
    cut = searching.evaluate(
        "words => words.map(w => [...Search._parseQuery(w)[1]].join(' '))", words
    )
    assert sum(map(bool, cut)) > 5000
    assert {w: c for w, c in zip(words, cut, strict=True) if c and stem(w) != c} == {}
