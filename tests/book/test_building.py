"""Qué detiene la construcción, qué se vuelve a ejecutar y qué interruptores hay."""

import asyncio
import json
import re
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from PIL import Image

from course_lib import __version__
from tests.book.conftest import ROOT
from tests.book.test_records import write_record

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site import execution

pytestmark = [pytest.mark.slow]

CELL = """```{{code-cell}} ipython3
{code}
```
"""


def chapter(title: str, *cells: str) -> str:
    return f"# {title}\n\n" + "\n".join(CELL.format(code=code) for code in cells)


def append(path: Path, text: str) -> None:
    path.write_text(path.read_text(encoding="utf-8") + text, encoding="utf-8")


def executed(output: str) -> dict[str, str]:
    """Los capítulos que se ejecutaron, con el motivo."""
    lines = [line for line in output.splitlines() if line.startswith("ejecutando ")]
    return dict(line.removeprefix("ejecutando ").split(": ", 1) for line in lines)


@pytest.fixture
def two_chapters(monkeypatch):
    """Uno que termina enseguida y otro que espera a que se le diga."""
    release = threading.Event()

    async def run(chapter, timeout, root):
        if chapter.docname == "largo":
            await asyncio.to_thread(release.wait, 60)

    monkeypatch.setattr(execution, "_run", run)
    monkeypatch.setattr(execution.os, "cpu_count", lambda: 2)
    return [
        execution.Chapter(name, Path(f"{name}.md"), None) for name in ("corto", "largo")
    ], release


def test_a_chapter_is_read_while_another_runs(two_chapters):
    chapters, release = two_chapters
    stored = []
    running = execution.Execution(chapters, 60, Path(), lambda c: stored.append(c.docname))
    running.start()
    assert chapters[0].done.wait(60) and stored == ["corto"] and not chapters[1].done.is_set()
    release.set()
    assert running.errors() == [] and stored == ["corto", "largo"]


def test_what_cannot_be_stored_stops_the_build_and_nobody_waits_forever(two_chapters):
    chapters, release = two_chapters

    def store(chapter):
        release.set()
        raise OSError("no queda sitio")

    running = execution.Execution(chapters, 60, Path(), store)
    running.start()
    assert all(chapter.done.wait(60) for chapter in chapters) and running.failure
    with pytest.raises(OSError, match="no queda sitio"):
        running.errors()


def test_who_trains_goes_first_and_the_short_ones_fill_the_end():
    trains, short = new_code_cell("train(model)"), new_markdown_cell("train(")
    cells = {"uno": trains, "dos": short, "tres": trains, "apéndice": short, "último": short}
    chapters = [
        execution.Chapter(name, Path(f"{name}.md"), new_notebook(cells=[cell]))
        for name, cell in cells.items()
    ]
    order = [chapter.topic for chapter in execution.longest_first(chapters)]
    assert order == ["tres", "dos", "uno", "último", "apéndice"]
    assert execution.longest_first(chapters[3:]) == chapters[:2:-1]
    assert execution.longest_first([]) == []


REPOSITORY = "https://github.com/alguien/curso"


def test_only_what_changed_runs_again(tiny_book):
    book, library = tiny_book, tiny_book.folder / "course_lib"
    word = library / "primitives" / "nuevo.py"
    word.write_text("WORD = 'antes'\n", encoding="utf-8")
    code = "from course_lib.primitives.additive import additive_scores\n"
    code += "from course_lib.primitives.nuevo import WORD\nprint(WORD)"
    book.write("book/uno", chapter("Uno", code), notebook=True)
    book.write("book/dos", chapter("Dos", "print('dos')"), notebook=True)
    book.write("book/tres", "# Tres\n\nSin código.\n")
    first = book.build()
    assert first.returncode == 0, first.stdout + first.stderr
    assert executed(first.stdout).keys() == {"uno", "dos"}
    assert "antes" in book.html("book/uno")
    assert "colab.research.google.com" not in book.html("book/uno")
    script = re.compile(r"course\.js\?v=\w+")
    before = script.search(book.html("book/tres"))[0]

    # Un guion que cambia se pide de nuevo en todas las páginas, también en las que no cambiaron.
    append(book.folder / "book" / "_static" / "course.js", "\n// otro\n")
    # additive importa attention: el capítulo depende de él sin nombrarlo.
    append(library / "primitives" / "attention.py", "\nCHANGED = 1\n")
    word.write_text("WORD = 'despues'\n", encoding="utf-8")
    book.write("book/dos", chapter("Dos", "print('otro')"), notebook=True)
    names = "course_lib.primitives.attention, course_lib.primitives.nuevo"
    assert executed(book.build().stdout) == {
        "uno": f"cambió {names}",
        "dos": "cambió el código del capítulo",
    }
    assert "despues" in book.html("book/uno") and "otro" in book.html("book/dos")
    assert script.search(book.html("book/tres"))[0] != before

    # La prosa no se ejecuta; un módulo que nadie usa, tampoco; ni por decir dónde se publica.
    book.write("book/dos", chapter("Dos, con otro título", "print('otro')"), notebook=True)
    append(library / "plotting" / "__init__.py", "\nCHANGED = 1\n")
    book.configure('url: ""\n  branch', f"url: {REPOSITORY}\n  branch")
    changes = (
        "# Cambios\n\n## Sin publicar\n\n- Nada.\n\n## 1.2.0 · 2026-11-23\n\n- **Algo** & más.\n"
    )
    (book.folder / "CHANGELOG.md").write_text(changes, encoding="utf-8")
    published = book.build()
    assert (published.returncode, executed(published.stdout)) == (0, {}), published.stderr
    assert "con otro título" in book.html("book/dos")
    assert_published(book)

    append(book.folder / "requirements.txt", "# otra versión\n")
    assert executed(book.build().stdout) == dict.fromkeys(("uno", "dos"), "cambió requirements.txt")


def assert_published(book):
    """Con un repositorio, el cuaderno se abre en Colab y cada página dice dónde está."""
    button = "colab.research.google.com/github/alguien/curso/blob/gh-pages/notebooks/book/uno.ipynb"
    assert button in book.html("book/uno")
    assert "colab" not in book.html("book/index")  # no es un cuaderno
    published = book.folder / "_build" / "html" / "notebooks" / "book" / "uno.ipynb"
    cells = json.loads(published.read_text(encoding="utf-8"))["cells"]
    wheel = f"https://alguien.github.io/curso/notebooks/course_lib-{__version__}-py3-none-any.whl"
    assert f"%pip install -q --no-deps {wheel} jaxtyping==" in "".join(cells[0]["source"])
    assert any("despues" in json.dumps(cell.get("outputs", "")) for cell in cells)

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


def test_what_went_well_is_kept_when_the_rest_stops(tiny_book):
    """Una construcción que muere, una celda que falla, un borrador y, al fin, lo corregido."""
    book = tiny_book
    state = book.folder / "_build" / ".jupyter_cache" / "fingerprints.json"
    killer = f"""\
import os, time, psutil
from pathlib import Path
state = Path({str(state)!r})
while not (state.is_file() and "uno" in state.read_text()):
    time.sleep(0.05)
for process in psutil.process_iter(["cwd"]):
    if process.info["cwd"] == {str(book.folder)!r}:  # quien construye
        process.kill()"""
    book.write("book/uno", chapter("Uno", "print('uno')"), notebook=True)
    book.write("book/dos", chapter("Dos", killer), notebook=True)
    assert book.build().returncode == -9

    book.write("book/dos", chapter("Dos", "x = 1", "x / 0"), notebook=True)
    result = book.build()
    assert result.returncode != 0
    assert executed(result.stdout).keys() == {"dos"}
    line = 1 + (book.folder / "book/dos.md").read_text().splitlines().index("x / 0")
    assert f"dos.md:{line - 1}: la celda 2 se detuvo con ZeroDivisionError" in result.stderr
    assert "Traceback (most recent call last)" in result.stderr
    assert "jupyter_book" not in result.stderr  # solo la traza de quien escribió la celda

    draft = book.build(COURSE_DRAFT="1")
    assert executed(draft.stdout).keys() == {"dos"}
    assert "se detuvo con ZeroDivisionError" in draft.stderr
    assert "uno" in book.html("book/uno") and "libro de prueba" in book.html("book/index")

    book.write("book/dos", chapter("Dos", "x = 1", "x / 1"), notebook=True)
    again = book.build()
    assert again.returncode == 0, again.stderr
    assert executed(again.stdout).keys() == {"dos"}


WRONG = {
    "no_existe": "Ver {doc}`no_existe`.",
    "eq-no-existe": "Ver {eq}`eq-no-existe`.",
    "término inexistente": "Ver {term}`término inexistente`.",
    "nadie1900": "{cite}`nadie1900`",
    "\\noexiste": "Una $\\noexiste$.",
    "\\frac{1}": "$$\n\\frac{1}\n$$",
    "dibujo_ausente": "```{diagram} dibujo_ausente\n:alt: Nada.\n```",
    "la figura caja necesita :alt:": "```{diagram} caja\nPie.\n```",
    "el texto dice «91.9 ± 10.6 %»": "{record}`91.9 ± 10.6 % <uno/a, 1 bloque/acierto>`",
    "tampoco": "```{screen} tampoco\n:alt: Nada.\n```",
    "funcion_ausente": "```{literalinclude} ../course_lib/primitives/attention.py\n"
    ":pyobject: funcion_ausente\n```",
}


def draw_box(book) -> None:
    figures = book.folder / "book" / "_figures"
    figures.mkdir(exist_ok=True)
    (figures / "caja.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><defs><g id="a"/></defs>'
        '<use href="#a" fill="url(#a)"/></svg>'
    )


def test_each_warning_is_told_with_its_page_and_fails(tiny_book):
    """Una página por cada cosa mal escrita, y una que falta, en un solo libro."""
    draw_box(tiny_book)
    write_record(tiny_book.folder)
    for number, text in enumerate(WRONG.values()):
        tiny_book.write(f"book/mal{number}", f"# Mal\n\n{text}\n")
    tiny_book.write("book/ausente", "").unlink()
    result = tiny_book.build()
    assert result.returncode != 0
    said = [line for line in result.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    for number, told in enumerate(WRONG):
        named = [line for line in said if f"mal{number}.md" in line and told in line]
        assert named, f"nadie dice {told}:\n{result.stderr[-4000:]}"
    assert f"faltan 1 de {2 + len(WRONG)} páginas (book/ausente)" in result.stderr


def test_what_is_well_written_is_seen(tiny_book):
    """Un diagrama, dos capturas y el número de un registro."""
    draw_box(tiny_book)
    write_record(tiny_book.folder)
    diagram = "```{diagram} caja\n:name: fig-caja\n:alt: Una caja.\nPie con $x$.\n```\n"
    said = "Acierta el {record}`51.9 ± 10.6 % <uno/a, 1 bloque/acierto>`."
    tiny_book.write("book/uno", f"# Uno\n\nLa {{numref}}`fig-caja`.\n\n{diagram}\n{said}\n")
    folder = tiny_book.folder / "book" / "_static" / "guia"
    folder.mkdir(parents=True)
    for name in ("uno-light", "uno-dark", "dos"):
        Image.new("RGB", (800, 300)).save(folder / f"{name}.webp")
    screens = '```{screen} guia/uno\n:name: fig-uno\n:alt: Una "caja".\nPie.\n```\n\n'
    screens += "```{screen} guia/dos\n:alt: Otra.\nOtro pie.\n```\n"
    tiny_book.write("book/dos", f"# Dos\n\nLa {{numref}}`fig-uno`.\n\n{screens}", notebook=True)
    result = tiny_book.build()
    assert result.returncode == 0, result.stderr
    page = tiny_book.html("book/uno")
    assert ">Una caja.</title>" in page and 'role="img"' in page and "Figura 1" in page
    assert 'id="a"' not in page and 'href="#a"' not in page and "url(#a)" not in page
    assert "Acierta el 51.9\u00a0±\u00a010.6\u00a0%." in page
    assert_screens(tiny_book)


def assert_screens(book):
    images = BeautifulSoup(book.html("book/dos"), "html.parser").select("article figure img")
    assert [(i["class"][0], i["alt"], i["width"]) for i in images] == [
        ("only-light", 'Una "caja".', "400"),
        ("only-dark", 'Una "caja".', "400"),
        ("dark-light", "Otra.", "400"),
    ]
    built = book.folder / "_build" / "html"
    assert all((built / "book" / i["src"]).resolve().is_file() for i in images)
    notebook = (built / "notebooks" / "book" / "dos.ipynb").read_text(encoding="utf-8")
    assert notebook.count("data:image/webp;base64,") == 2


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
    shown, left_out = (f"course_include_solutions: {value}" for value in ("true", "false"))
    book.configure(shown, left_out)
    assert_solutions(book, book.build(), shown=False)
    book.configure(left_out, shown)
    assert_solutions(book, book.build(), shown=True)
    assert_solutions(book, book.build(COURSE_SOLUTIONS="0"), shown=False)


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
