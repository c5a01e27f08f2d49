"""Las preguntas: cómo se escriben, qué deja la página sin guiones y qué hace con ellos."""

import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.listings import essential, narrow  # noqa: E402
from course_site.question_text import require_numbers, split_options  # noqa: E402
from course_site.questions import shuffled  # noqa: E402

CHOICE = """Antes.

- [ ] **ajo**
  Es masculino.
- [x] cebolla
  Sí: concuerda.

  Y además está más cerca."""


def test_options_are_read():
    before, (wrong, right) = split_options(CHOICE.splitlines())
    assert before == ["Antes.", ""]
    assert (wrong.text, wrong.right, wrong.reply) == ("**ajo**", False, ["Es masculino."])
    assert right.right and right.reply == ["Sí: concuerda.", "", "Y además está más cerca."]


def test_numbers_are_read():
    _, options = split_options("- [x] −0.88 ± 0.005\n  Sí.\n- [ ] otro\n  No.".splitlines())
    require_numbers(options)
    assert options[0].number == (-0.88, 0.005) and options[1].number is None


@pytest.mark.parametrize(
    "text, told",
    [
        ("- [x] a\n  Sí.", "dos opciones"),
        ("- [x] a\n  Sí.\n- [x] b\n  Sí.", "solo una"),
        ("- [x] a\n  Sí.\n- [ ] b", "no dice qué"),
        ("- [x] a\n  Sí.\nsuelto\n- [ ] b\n  No.", "después de las opciones"),
    ],
)
def test_bad_questions_are_refused(text: str, told: str):
    with pytest.raises(ValueError, match=told):
        split_options(text.splitlines())


@pytest.mark.parametrize(
    "text, told",
    [
        ("- [x] 1 ± 0.1\n  Sí.\n- [ ] dos\n  No.", "no es un número"),
        ("- [x] 1\n  Sí.\n- [ ] 2\n  No.", "tolerancia"),
    ],
)
def test_bad_numbers_are_refused(text: str, told: str):
    with pytest.raises(ValueError, match=told):
        require_numbers(split_options(text.splitlines())[1])


LONG = '''class A:
    """Una clase."""

    # Se exige antes.
    limit = 3

    def f(self, first_argument_of_the_function, second_argument_of_the_function, third_one):
        """Un método."""
        # Primero se mira.
        if first_argument_of_the_function is None:
            raise ValueError("falta")
        require_width("x", second_argument_of_the_function)

        # Y después se calcula.
        return third_one

    def check(self):
        """Solo comprueba."""
        require(self)
'''


def test_a_listing_shows_what_teaches():
    assert narrow(essential(LONG)).splitlines() == [
        "class A:",
        "    # Se exige antes.",
        "    limit = 3",
        "",
        "    def f(",
        "        self,",
        "        first_argument_of_the_function,",
        "        second_argument_of_the_function,",
        "        third_one,",
        "    ):",
        "        # Y después se calcula.",
        "        return third_one",
        "",
        "    def check(self):",
        "        require(self)",
    ]


PAGE = """# Uno

:::{question} ¿A quién mira «la»?
Antes: $x$.

- [ ] ajo
  Es masculino.
- [x] cebolla
  Concuerda.
:::

:::{question} ¿Cuánto vale?
:number:

- [x] 0.88 ± 0.01
  Es $1/(1+e^{-2})$.
- [ ] 0.12
  Es el otro.
:::

:::{prediction} ¿Y si $\\beta$ crece?
Se concentra.
:::

:::{optional} Una cuenta
Plegada.
:::

:::{score}
Con las dos, sigue.
:::

## Derivación

```{optional}
```

Larga.

```{code-cell} ipython3
print("dentro")
```

```{literalinclude} ../course_lib/primitives/attention.py
:pyobject: soft_argmax
```

## Después

Fuera.
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """La página de ejemplo, construida: (carpeta del sitio, su HTML)."""
    from tests.book.conftest import TinyBook, copy_site

    book = TinyBook(copy_site(tmp_path_factory.mktemp("preguntas")))
    book.write("book/uno", PAGE, notebook=True)
    result = book.build()
    assert result.returncode == 0, result.stderr
    return book


def test_the_place_of_an_option_does_not_give_it_away():
    """En los capítulos, la buena no está siempre en el mismo lugar; y el orden no cambia solo."""

    places = Counter()
    for path in sorted((ROOT / "book").glob("*.md")):
        for stem, body in re.findall(
            r"(?ms)^:{3,}\{question\} (.*?)\n(.*?)^:{3,}$", path.read_text("utf-8")
        ):
            _, options = split_options(body.splitlines())
            if not body.startswith(":number:") and len(options) == 3:
                mixed = shuffled(options, stem)
                assert mixed == shuffled(mixed, stem)
                places[[option.right for option in mixed].index(True)] += 1
    assert places.total() > 100 and min(places.values()) > places.total() / 4, places


@pytest.mark.slow
def test_page_without_scripts(built):
    page = BeautifulSoup(built.html("book/uno"), "html.parser").select_one("article")
    choice, number = page.select(".question")
    options = [li.get_text(strip=True) for li in choice.select(".question-options > li")]
    replies = choice.select("details.question-answer .question-replies > li")
    told = dict(zip(options, (li.get_text(strip=True) for li in replies), strict=True))
    assert told == {"ajo": "No es eso.Es masculino.", "cebolla": "Correcto.Concuerda."}
    right = number.select_one("li.right")
    assert right.get_text(" ", strip=True).startswith("0.88\u00a0±\u00a00.01: Correcto.")
    assert (right["data-value"], right["data-tolerance"]) == ("0.88", "0.01")
    assert page.select_one("details.prediction > summary .math") is not None
    assert "Plegada." in page.select_one("details.optional").get_text()
    section = page.select_one("#derivacion > details.optional")
    assert section.select_one(".cell") and "Larga." in section.get_text()
    assert "Fuera." not in section.get_text()
    listing, whole = section.select(".highlight pre")[-2:]
    assert '"""' not in listing.get_text() and "require" not in listing.get_text()
    assert '"""' in whole.get_text() and whole.find_parent("details", class_="listing-whole")


@pytest.mark.slow
def test_download_without_directives(built):
    folder = built.folder / "_build/html/notebooks/book/uno.ipynb"
    text = folder.read_text("utf-8")
    assert "> **Pregunta**" in text and "✗ **ajo** Es masculino." in text
    assert "{question}" not in text and "{optional}" not in text


@pytest.mark.slow
@pytest.mark.browser
def test_answering(built, chromium):
    page = chromium.new_page(viewport={"width": 390, "height": 844})
    page.goto((built.folder / "_build/html/book/uno.html").as_uri())
    choice, number = page.locator(".question").all()
    status = choice.get_by_role("status")
    assert choice.get_by_role("group", name="¿A quién mira «la»?").count() == 1
    wrong, right = (choice.get_by_role("button", name=name) for name in ("ajo", "cebolla"))
    wrong.focus()
    page.keyboard.press("Enter")
    assert status.inner_text().startswith("No es eso.")
    assert page.locator(".question-count").inner_text() == "A la primera: 0 de 1. Quedan 1."
    right.focus()
    page.keyboard.press("Space")
    assert status.inner_text() == "Correcto. Concuerda."
    assert choice.get_by_role("button", pressed=True).inner_text().endswith("cebolla")
    for written, told in (
        ("0,12", "Es el otro."),
        ("7", "Revisa la cuenta"),
        ("abc", "Escribe un número"),
        ("22/25", "Escribiste 22/25.\n\nCorrecto."),
    ):
        number.get_by_role("textbox").fill(written)
        page.keyboard.press("Enter")
        assert told.lower() in number.get_by_role("status").inner_text().lower()
    assert page.locator(".question-count").inner_text() == "A la primera: 0 de 2. Ya están todas."
    page.emulate_media(media="print")
    assert choice.get_by_text("Es masculino.").is_visible()
    page.close()
