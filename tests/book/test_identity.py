"""Un curso con otro nombre, otro logotipo y otra casa: `course.toml`, en el sitio."""

import json
import re
import sys

import pytest
from bs4 import BeautifulSoup

from course_lib.course_settings import SITE_MARK, settings_in
from tests.book.conftest import ROOT

sys.path.insert(0, str(ROOT / "book" / "_ext"))

import paper
from course_site.left_out import LeftOut
from course_site.offline import short_name

LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
COURSE = """
name = "Redes & lenguas"
institution = "Universidad de Ejemplo"
contact = "ana@ejemplo.edu"
logo = "escudo.svg"
topics = ["attention"]
leave_out = ["tensors"]
"""


PALM = """# PaLM, por dentro

(sec-five)=
## Cinco cambios

$$ y = x $$ (eq-swiglu)

Texto.
"""
KEPT = """# Atención

Lo sigue {doc}`palm`, o {doc}`ese capítulo </book/palm>`; mira {ref}`sec-five`,
la ecuación {eq}`eq-swiglu` y [el cuaderno](../exercises/palm.ipynb). También
{doc}`tensors` y {ref}`esto <sec-own>`.

(sec-own)=
## Propio

::::{grid} 1 1 2 2
:gutter: 3

:::{grid-item-card} PaLM
:link: /book/palm
:link-type: doc

Una tarjeta.
:::
::::

Fin.
"""
API = """# Biblioteca

```{eval-rst}
.. automodule:: course_lib.layers.swiglu
   :members:
```
"""


FRONT = """# Curso

::::{grid} 1 1 2 2
:::{grid-item-card} PaLM
:link: /book/palm
:link-type: doc
:::
::::

## Después

PaLM tiene {doc}`su página <palm>`.

## Qué vas a aprender

Con la atención podrás:

- usar {doc}`la atención <attention>`;
- leer {doc}`una clave <attention>` y {doc}`un PaLM <palm>`;
- escribir con {doc}`un PaLM <palm>`.

Y después:

- leer {doc}`más <palm>`.

Así se comprueba:
"""
GLOSSARY = """# Glosario

:::{glossary}
atención
  (*attention*) Mira {term}`claves <clave>`. Primer capítulo: {doc}`attention`.

clave
  (*key*) Una fila. Primer capítulo:
  {doc}`palm`.

compuerta
  (*gate*) Abre una {term}`celda`. Primer capítulo: {doc}`palm`.

celda
  (*cell*) Un hueco. Primer capítulo: {doc}`palm`.
:::
"""


def without_palm(docname, text, *terms):
    titles = {"book/palm": "PaLM", "exercises/palm": "Ejercicios"}
    labels = {"eq-x": ("book/palm", "")}
    return LeftOut(titles, labels, "book/index", set(terms)).retell(docname, text)


def test_the_front_page_says_nothing_of_what_is_not_there():
    told = without_palm("book/index", FRONT)
    assert re.findall("^#.*", told, re.M) == ["# Curso", "## Qué vas a aprender"]
    assert told.count("PaLM") == 1 and "y un PaLM.\n" in told, "el último renglón cierra la lista"
    assert "Y después" not in told and told.endswith("Así se comprueba:\n")
    assert LeftOut({}, front="book/index").retell("book/index", FRONT) == FRONT


def test_the_glossary_keeps_what_is_named():
    told = without_palm("book/glossary", GLOSSARY)
    assert re.findall(r"^\w+$", told, re.M) == ["atención", "clave"]
    assert told.count("Primer capítulo") == 1 and told.endswith("(*key*) Una fila.\n:::\n")
    assert "celda" in without_palm("book/glossary", GLOSSARY, "compuerta")


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("Aquí ({doc}`palm`) y ({doc}`bert`).", "Aquí y ({doc}`bert`)."),
        ("Uno. Las soluciones, si\nhacen falta, están en {doc}`palm`. Dos.", "Uno. Dos."),
        ("Uno. Las {doc}`soluciones <palm>` tienen su página.", "Uno."),
        ("Uno. Después, {doc}`palm` junta\nlo demás. Dos.", "Uno. Dos."),
        ("Si sí, sigue con {doc}`palm`: es corto. Dos.", "Si sí, sigue adelante. Dos."),
        ("la {eq}`eq-x` de {doc}`palm`", "la de «PaLM»"),
        ("Después, {doc}`bert` junta. Sigue con {doc}`palm`.", None),
    ],
)
def test_what_is_said_of_a_page_that_is_not_there(written, told):
    mended = without_palm("book/a", written)
    assert mended == (told or "Después, {doc}`bert` junta. Sigue con PaLM.")


def test_the_cards_that_stay_fill_their_row():
    card = ":::{grid-item-card} X\n:link: /book/%s\n:link-type: doc\n:::\n"
    grid = "::::{grid} 1 1 3 3\n:gutter: 3\n\n" + card % "a" + card % "b" + card % "palm" + "::::\n"
    told = without_palm("book/index", grid)
    assert told.startswith("::::{grid} 1 1 2 2\n") and told.count("{grid-item-card}") == 2


def test_without_solutions_nothing_else_changes():
    titles = {"solutions/palm": "Soluciones"}
    only = LeftOut(titles, front="book/index")
    assert only.retell("book/index", FRONT + "```{diagram} course_map\n```\n").count("course_map")
    page = "# A\n\n## Ejercicios\n\nVe a {doc}`/exercises/palm` ({doc}`así </solutions/palm>`).\n"
    assert only.retell("book/a", page) == page.replace(" ({doc}`así </solutions/palm>`)", "")


def test_a_chapter_that_stays_has_no_exercises_of_what_left():
    page = "# A\n\n## Ejercicios\n\nEl {doc}`primero </exercises/%s>`.\n\n### Más\n\nFin.\n"
    assert without_palm("book/a", page % "palm") == "# A\n\n### Más\n\nFin.\n"
    assert without_palm("book/a", page % "bert") == page % "bert"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Atención y Transformers", "atencion_y_transformers"),
        ("Año 1: redes & lenguas", "ano_1_redes_lenguas"),
        ("注意", "libro"),
    ],
)
def test_the_book_in_one_file_is_called_as_the_course(title, name):
    assert paper.file_name(title) == name


@pytest.mark.parametrize(
    ("title", "short"),
    [("Atención y Transformers", "Atención"), ("Los Transformers", "Transformers"), ("PLN", "PLN")],
)
def test_under_its_icon_goes_a_word_that_says_something(title, short):
    assert short_name(title) == short


def exercises(book, topic, text):
    path = book.write(f"exercises/{topic}", "", part="Ejercicios")
    path.unlink()
    cell = {"cell_type": "markdown", "metadata": {}, "source": [text]}
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}
    path.with_suffix(".ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def test_a_course_leaves_a_topic_and_is_named_by_its_course_file(tiny_book):
    book = tiny_book
    book.write("book/attention", KEPT, notebook=True)
    book.write("book/palm", PALM, part="Otra")
    book.write("book/tensors", "# Tensores\n\nTexto.\n")
    book.write("book/api", API)
    exercises(book, "attention", "# Ejercicios: Atención\n\nLee [PaLM](../book/palm.md).")
    exercises(book, "palm", "# Ejercicios: PaLM\n\nTexto.")
    assert (whole := book.build()).returncode == 0, whole.stderr
    before = BeautifulSoup(book.html("book/attention"), "html.parser")
    assert len(before.select("article a[href*='palm']")) == 6
    library = BeautifulSoup(book.html("book/api"), "html.parser")
    assert len(library.select("article a[href*='palm.html']")) >= 2
    assert "Portada" in BeautifulSoup(book.html("book/index"), "html.parser").h1.text

    (book.folder / "_build" / "html" / "_static" / "models" / "palm").mkdir(parents=True)
    course = book.folder / "course.toml"
    course.write_text(COURSE, encoding="utf-8")
    (book.folder / "escudo.svg").write_text(LOGO, encoding="utf-8")
    assert (fewer := book.build()).returncode == 0, fewer.stderr
    assert_left_out(book)
    assert_named(book)

    course.unlink()
    assert (again := book.build()).returncode == 0, again.stderr
    after = BeautifulSoup(book.html("book/attention"), "html.parser")
    assert after.article.text == before.article.text
    assert (book.folder / "_build" / "html" / "exercises" / "palm.html").is_file()


def assert_left_out(book):
    built = book.folder / "_build" / "html"
    assert not [path for path in built.rglob("*.html") if path.stem in ("palm", "tensors")]
    assert not [path for path in built.rglob("*.ipynb") if path.stem == "palm"]
    page = BeautifulSoup(book.html("book/attention"), "html.parser")
    said = " ".join(page.article.text.split())
    assert (
        "Lo sigue PaLM, por dentro, o ese capítulo; mira Cinco cambios, la ecuación de «PaLM, "
        in said
    )
    assert "y el cuaderno. También Tensores y esto." in said and "Una tarjeta" not in said
    assert not page.select("a[href*='palm']") and page.select("a[href='#sec-own']")
    assert "capítulo PaLM, por dentro" in book.html("book/api")
    for name in ("exercises/attention", "book/index", "book/api"):
        assert "palm.html" not in book.html(name) and "Otra" not in book.html(name)
    assert not (built / "_static" / "models" / "palm").exists()
    downloaded = (built / "notebooks" / "book" / "attention.ipynb").read_text("utf-8")
    assert "Lo sigue PaLM, por dentro, o ese cap" in downloaded and "Una tarjeta" not in downloaded


def assert_named(book):
    page = BeautifulSoup(book.html("book/index"), "html.parser")
    assert page.title.text.count("Redes & lenguas") and "Redes & lenguas" in page.h1.text
    assert page.select_one(".logo__title").text == "Redes & lenguas"
    for place, key in ((".logo__image", "src"), ('link[rel="icon"]', "href")):
        assert page.select_one(place)[key].partition("?")[0].endswith("escudo.svg")
    foot = " ".join(page.select_one(".copyright").text.split())
    assert foot.endswith("Lo adapta Universidad de Ejemplo. Contacto: ana@ejemplo.edu.")
    assert "el equipo del curso" in foot, "se cita a quien lo hizo"
    assert page.select_one(".copyright a")["href"] == "mailto:ana@ejemplo.edu"
    structured = json.loads(page.select_one('script[type="application/ld+json"]').string)
    assert structured["provider"]["name"] == "Universidad de Ejemplo"
    built = book.folder / "_build" / "html"
    assert json.loads((built / "manifest.webmanifest").read_text())["name"] == "Redes & lenguas"
    assert (built / "_static" / "escudo.svg").read_text() == LOGO
    assert (built / SITE_MARK).read_text().strip() == settings_in(book.folder).site_mark


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "Redes', "no es TOML"),
        (
            'leave_out = ["no_esta"]',
            "se esperaban páginas del índice (_toc.yml), y llegó «no_esta»",
        ),
    ],
)
def test_a_wrong_course_file_is_told(tiny_book, text, message):
    (tiny_book.folder / "course.toml").write_text(text, encoding="utf-8")
    told = tiny_book.build()
    assert told.returncode != 0 and message in told.stderr + told.stdout
    assert "Traceback" not in told.stderr
