"""El glosario: orden, forma de cada entrada y enlaces `{term}` del libro."""

import re
import unicodedata
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[2] / "book"
TERM_ROLE = re.compile(r"\{term\}`(?:[^`<]*<([^`>]+)>|([^`<]+))`")


def entries() -> list[tuple[list[str], str]]:
    """Las entradas del glosario: nombres (el primero es el principal) y definición."""
    text = (BOOK / "glossary.md").read_text(encoding="utf-8")
    body = re.search(r"^:::\{glossary\}\n(.*?)^:::$", text, re.M | re.S).group(1)
    found = []
    for block in body.strip().split("\n\n"):
        lines = block.splitlines()
        names = [line for line in lines if not line.startswith("  ")]
        found.append((names, " ".join(x.strip() for x in lines[len(names) :])))
    return found


def spanish_order(name: str) -> str:
    """La clave de orden: sin acentos ni mayúsculas, la ñ después de la n."""
    marked = name.lower().replace("ñ", "n\U0010ffff")
    decomposed = unicodedata.normalize("NFD", marked)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def test_alphabetical_and_unique():
    names = [names[0] for names, _ in entries()]
    assert names == sorted(names, key=spanish_order)
    everything = [name.lower() for group, _ in entries() for name in group]
    assert len(everything) == len(set(everything))


@pytest.mark.parametrize("names, definition", entries(), ids=lambda x: str(x)[:40])
def test_entry_gives_english_definition_and_first_chapter(names, definition):
    assert re.match(r"\(\*[A-Za-z -]+\*\) \S", definition), "falta el inglés entre paréntesis"
    body, _, chapter = definition.partition("Primer capítulo: ")
    assert chapter.endswith("."), "falta el primer capítulo"
    linked = re.match(r"\{doc\}`(\w+)`\.$", chapter)
    if linked:
        assert (BOOK / f"{linked.group(1)}.md").exists(), "enlace a un capítulo que no existe"
    assert 40 < len(body) < 420, "una a tres oraciones"


def in_order() -> list[str]:
    """Los capítulos, en el orden en que se leen; la notación, de consulta, no cuenta."""
    contents = (BOOK.parent / "_toc.yml").read_text(encoding="utf-8")
    chapters = re.findall(r"file: book/(\w+)", contents)
    return [name for name in chapters if name != "notation"]


def test_first_chapter_is_not_later_than_the_first_use():
    order, first = in_order(), {}
    for chapter in order:
        text = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
        for a, b in TERM_ROLE.findall(text):
            first.setdefault(" ".join((a or b).split()).lower(), chapter)
    late = {}
    for names, definition in entries():
        claimed = re.search(r"Primer capítulo: \{doc\}`(\w+)`", definition)[1]
        uses = [first[name.lower()] for name in names if name.lower() in first]
        earliest = min([*uses, claimed], key=order.index)
        if earliest != claimed:
            late[names[0]] = f"dice {claimed}, y ya está en {earliest}"
    assert not late


def pages() -> list[Path]:
    return sorted(BOOK.glob("*.md"))


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.stem)
def test_every_term_role_has_an_entry(page):
    known = {name.lower() for names, _ in entries() for name in names}
    used = {
        (a or b).strip().lower() for a, b in TERM_ROLE.findall(page.read_text(encoding="utf-8"))
    }
    assert used <= known, f"sin entrada en el glosario: {sorted(used - known)}"
