"""Cada concepto que el curso debe enseñar está en su página: nada se pierde al reescribir una."""

import tomllib

import pytest

from tests.book.conftest import ROOT

CONCEPTS = tomllib.loads((ROOT / "tests/book/concepts.toml").read_text(encoding="utf-8"))


def flat(text):
    return " ".join(text.split()).lower()


@pytest.mark.parametrize("page", CONCEPTS)
def test_a_page_teaches_its_concepts(page):
    text = flat((ROOT / f"book/{page}.md").read_text(encoding="utf-8"))
    lost = {
        concept: missing
        for concept, words in CONCEPTS[page].items()
        if (missing := [word for word in words if flat(word) not in text])
    }
    assert not lost
