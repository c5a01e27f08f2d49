"""Qué detiene la construcción, qué se vuelve a ejecutar y qué interruptores hay."""

import json
import xml.etree.ElementTree as ET

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from course_lib import __version__

pytestmark = [pytest.mark.slow]

CELL = """```{{code-cell}} ipython3
{code}
```
"""


def chapter(title: str, *cells: str) -> str:
    return f"# {title}\n\n" + "\n".join(CELL.format(code=code) for code in cells)


def executed(output: str) -> dict[str, str]:
    """Los capítulos que se ejecutaron, con el motivo."""
    lines = [line for line in output.splitlines() if line.startswith("ejecutando ")]
    return dict(line.removeprefix("ejecutando ").split(": ", 1) for line in lines)


def test_only_what_changed_runs_again(tiny_book):
    book = tiny_book
    additive = "from course_lib.primitives.additive import additive_scores\nprint('puntúa')"
    book.write("book/uno", chapter("Uno", additive), notebook=True)
    book.write("book/dos", chapter("Dos", "print('dos')"), notebook=True)
    first = book.build()
    assert first.returncode == 0, first.stdout + first.stderr
    assert executed(first.stdout).keys() == {"uno", "dos"}

    assert executed(book.build().stdout) == {}

    # additive importa attention: el capítulo depende de él sin nombrarlo.
    library = book.folder / "course_lib" / "primitives" / "attention.py"
    library.write_text(library.read_text(encoding="utf-8") + "\nCHANGED = 1\n", encoding="utf-8")
    assert executed(book.build().stdout) == {"uno": "cambió course_lib.primitives.attention"}

    book.write("book/dos", chapter("Dos", "print('otro')"), notebook=True)
    assert executed(book.build().stdout) == {"dos": "cambió el código del capítulo"}
    assert "otro" in book.html("book/dos")

    # La prosa no se ejecuta; un módulo que nadie usa, tampoco.
    book.write("book/dos", chapter("Dos, con otro título", "print('otro')"), notebook=True)
    unused = book.folder / "course_lib" / "plotting" / "__init__.py"
    unused.write_text(unused.read_text(encoding="utf-8") + "\nCHANGED = 1\n", encoding="utf-8")
    assert executed(book.build().stdout) == {}

    lock = book.folder / "requirements.txt"
    lock.write_text(lock.read_text(encoding="utf-8") + "# otra versión\n", encoding="utf-8")
    assert set(executed(book.build().stdout).values()) == {"cambió requirements.txt"}


def test_a_killed_build_keeps_the_chapters_that_had_finished(tiny_book):
    state = tiny_book.folder / "_build" / ".jupyter_cache" / "fingerprints.json"
    killer = f"""\
import os, signal, time
from pathlib import Path
state = Path({str(state)!r})
while not (state.is_file() and "uno" in state.read_text()):
    time.sleep(0.05)
os.kill(os.getppid(), signal.SIGKILL)"""
    tiny_book.write("book/uno", chapter("Uno", "print('uno')"), notebook=True)
    tiny_book.write("book/dos", chapter("Dos", killer), notebook=True)
    assert tiny_book.build().returncode == -9

    tiny_book.write("book/dos", chapter("Dos", "print('dos')"), notebook=True)
    after = tiny_book.build()
    assert after.returncode == 0, after.stdout + after.stderr
    assert executed(after.stdout).keys() == {"dos"}
    assert "uno" in tiny_book.html("book/uno")


def test_library_change_is_seen_in_the_page(tiny_book):
    book = tiny_book
    module = book.folder / "course_lib" / "primitives" / "nuevo.py"
    module.write_text("WORD = 'antes'\n", encoding="utf-8")
    code = "from course_lib.primitives.nuevo import WORD\nprint(WORD)"
    book.write("book/uno", chapter("Uno", code), notebook=True)
    book.build()
    assert "antes" in book.html("book/uno")

    module.write_text("WORD = 'despues'\n", encoding="utf-8")
    book.build()
    assert "despues" in book.html("book/uno")


def test_failing_cell_stops_and_is_named(tiny_book):
    book = tiny_book
    book.write("book/bien", chapter("Bien", "print('bien')"), notebook=True)
    book.write("book/mal", chapter("Mal", "x = 1", "x / 0"), notebook=True)
    result = book.build()
    assert result.returncode != 0
    line = 1 + (book.folder / "book/mal.md").read_text().splitlines().index("x / 0")
    assert f"mal.md:{line - 1}: la celda 2 se detuvo con ZeroDivisionError" in result.stderr
    assert "Traceback (most recent call last)" in result.stderr
    assert "jupyter_book" not in result.stderr  # solo la traza de quien escribió la celda

    # Lo que salió bien no se repite.
    book.write("book/mal", chapter("Mal", "x = 1", "x / 1"), notebook=True)
    again = book.build()
    assert again.returncode == 0, again.stderr
    assert executed(again.stdout).keys() == {"mal"}


def test_draft_shows_the_rest(tiny_book):
    tiny_book.write("book/mal", chapter("Mal", "1 / 0"), notebook=True)
    result = tiny_book.build(COURSE_DRAFT="1")
    assert "se detuvo con ZeroDivisionError" in result.stderr
    assert "libro de prueba" in tiny_book.html("book/index")


WRONG = {
    "no_existe": "Ver {doc}`no_existe`.",
    "eq-no-existe": "Ver {eq}`eq-no-existe`.",
    "término inexistente": "Ver {term}`término inexistente`.",
    "nadie1900": "{cite}`nadie1900`",
    "\\noexiste": "Una $\\noexiste$.",
    "\\frac{1}": "$$\n\\frac{1}\n$$",
    "dibujo_ausente": "```{diagram} dibujo_ausente\n:alt: Nada.\n```",
    "tampoco": "```{screen} tampoco\n:alt: Nada.\n```",
    "funcion_ausente": "```{literalinclude} ../course_lib/primitives/attention.py\n"
    ":pyobject: funcion_ausente\n```",
}


def test_each_warning_is_told_with_its_page_and_fails(tiny_book):
    """Una página por cada cosa mal escrita, en un solo libro: construirlo es lo que tarda."""
    for number, text in enumerate(WRONG.values()):
        tiny_book.write(f"book/mal{number}", f"# Mal\n\n{text}\n")
    result = tiny_book.build()
    assert result.returncode != 0
    said = [line for line in result.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    for number, told in enumerate(WRONG):
        named = [line for line in said if f"mal{number}.md" in line and told in line]
        assert named, f"nadie dice {told}:\n{result.stderr[-4000:]}"


def test_a_missing_page_fails(tiny_book):
    tiny_book.write("book/uno", "# Uno\n\nTexto.\n")
    (tiny_book.folder / "book" / "uno.md").unlink()
    result = tiny_book.build()
    assert result.returncode != 0
    assert "faltan 1 de 2 páginas (book/uno)" in result.stderr


def test_diagram_needs_an_alternative(tiny_book):
    figures = tiny_book.folder / "book" / "_figures"
    figures.mkdir(exist_ok=True)
    (figures / "caja.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><defs><g id="a"/></defs>'
        '<use href="#a" fill="url(#a)"/></svg>'
    )
    tiny_book.write("book/uno", "# Uno\n\n```{diagram} caja\nPie.\n```\n")
    assert tiny_book.build().returncode != 0

    diagram = "```{diagram} caja\n:name: fig-caja\n:alt: Una caja.\nPie con $x$.\n```\n"
    tiny_book.write("book/uno", f"# Uno\n\nLa {{numref}}`fig-caja`.\n\n{diagram}")
    result = tiny_book.build()
    assert result.returncode == 0, result.stderr
    page = tiny_book.html("book/uno")
    assert ">Una caja.</title>" in page and 'role="img"' in page and "Figura 1" in page
    assert 'id="a"' not in page and 'href="#a"' not in page and "url(#a)" not in page


def test_screen_shows_the_one_of_its_theme(tiny_book):
    folder = tiny_book.folder / "book" / "_static" / "guia"
    folder.mkdir(parents=True)
    for name in ("uno-light", "uno-dark", "dos"):
        Image.new("RGB", (800, 300)).save(folder / f"{name}.webp")
    screens = '```{screen} guia/uno\n:name: fig-uno\n:alt: Una "caja".\nPie.\n```\n\n'
    screens += "```{screen} guia/dos\n:alt: Otra.\nOtro pie.\n```\n"
    tiny_book.write("book/uno", f"# Uno\n\nLa {{numref}}`fig-uno`.\n\n{screens}", notebook=True)
    result = tiny_book.build()
    assert result.returncode == 0, result.stderr
    images = BeautifulSoup(tiny_book.html("book/uno"), "html.parser").select("article figure img")
    assert [(i["class"][0], i["alt"], i["width"]) for i in images] == [
        ("only-light", 'Una "caja".', "400"),
        ("only-dark", 'Una "caja".', "400"),
        ("dark-light", "Otra.", "400"),
    ]
    built = tiny_book.folder / "_build" / "html"
    assert all((built / "book" / i["src"]).resolve().is_file() for i in images)
    notebook = (built / "notebooks" / "book" / "uno.ipynb").read_text(encoding="utf-8")
    assert notebook.count("data:image/webp;base64,") == 2


REPOSITORY = "https://github.com/alguien/curso"


def test_colab_button_only_with_a_repository(tiny_book):
    book = tiny_book
    book.write("book/uno", chapter("Uno", "import course_lib\nprint('uno')"), notebook=True)
    assert book.build().returncode == 0
    assert "colab.research.google.com" not in book.html("book/uno")

    book.configure('url: ""\n  branch', f"url: {REPOSITORY}\n  branch")
    changes = (
        "# Cambios\n\n## Sin publicar\n\n- Nada.\n\n## 1.2.0 · 2026-11-23\n\n- **Algo** & más.\n"
    )
    (book.folder / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    assert book.build().returncode == 0
    button = "colab.research.google.com/github/alguien/curso/blob/gh-pages/notebooks/book/uno.ipynb"
    assert button in book.html("book/uno")
    assert "colab" not in book.html("book/index")  # no es un cuaderno
    published = book.folder / "_build" / "html" / "notebooks" / "book" / "uno.ipynb"
    cells = json.loads(published.read_text(encoding="utf-8"))["cells"]
    wheel = f"https://alguien.github.io/curso/notebooks/course_lib-{__version__}-py3-none-any.whl"
    assert f"%pip install -q --no-deps {wheel} jaxtyping==" in "".join(cells[0]["source"])
    assert any("uno" in json.dumps(cell.get("outputs", "")) for cell in cells)

    # Y con dirección, cada página dice dónde está y lleva al código.
    page = BeautifulSoup(book.html("book/uno"), "html.parser")
    where = "https://alguien.github.io/curso/book/uno.html"
    assert page.select_one("link[rel=canonical]")["href"] == where
    doors = {a.get_text(): a["href"] for a in page.select(".page-doors a")}
    assert doors["Ver el código"] == f"{REPOSITORY}/blob/main/book/uno.md"
    assert doors["Avisar de un error"] == f"{REPOSITORY}/issues/new?title=Uno+%28book%2Funo.md%29"
    assert "carpeta del curso" not in page.select_one(".page-doors").get_text()
    html = book.folder / "_build" / "html"
    assert f"<loc>{where}</loc>" in (html / "sitemap.xml").read_text()
    assert (
        "Sitemap: https://alguien.github.io/curso/sitemap.xml" in (html / "robots.txt").read_text()
    )
    picture = "https://alguien.github.io/curso/_static/pictures/book/uno.png"
    assert page.select_one("meta[property='og:image']")["content"] == picture
    told = ET.parse(html / "feed.xml").getroot()
    atom = "{http://www.w3.org/2005/Atom}"
    assert [e.findtext(f"{atom}updated") for e in told.iter(f"{atom}entry")] == [
        "2026-11-23T00:00:00Z"
    ]
    assert "<strong>Algo</strong> &amp; más." in told.findtext(f".//{atom}content")
    assert page.select_one("link[type='application/atom+xml']")["href"].endswith("/feed.xml")
    assert 'href="https://alguien.github.io/curso/search.html"' in (html / "404.html").read_text()


def test_solutions_can_be_left_out(tiny_book):
    """De dos maneras: en el entorno o en la configuración."""
    book = tiny_book
    book.write("book/uno", "# Uno\n\nMira la {doc}`solución </solutions/uno>`.\n")
    notebook = {
        "cells": [{"cell_type": "markdown", "metadata": {}, "source": "# Soluciones: Uno"}],
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
        "nbformat": 4,
        "nbformat_minor": 4,
    }
    (book.folder / "solutions").mkdir()
    (book.folder / "solutions" / "uno.ipynb").write_text(json.dumps(notebook))
    book.parts["Soluciones"] = ["solutions/uno"]
    assert_solutions(book, book.build(), shown=True)
    assert_solutions(book, book.build(COURSE_SOLUTIONS="0"), shown=False)
    assert_solutions(book, book.build(), shown=True)
    book.configure("course_include_solutions: true", "course_include_solutions: false")
    assert_solutions(book, book.build(), shown=False)


def assert_solutions(book, result, *, shown: bool):
    assert result.returncode == 0, result.stderr
    html = book.folder / "_build" / "html"
    if shown:
        assert "Soluciones: Uno" in book.html("solutions/uno")
        return
    assert not (html / "solutions" / "uno.html").exists()
    assert not (html / "notebooks" / "solutions" / "uno.ipynb").exists()
    assert "Soluciones" not in book.html("book/uno")
    assert "solución" in book.html("book/uno") and "solutions/uno" not in book.html("book/uno")
