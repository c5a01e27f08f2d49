"""El libro en un PDF y en un EPUB: entero, con índice, y sin un enlace que no lleve a su sitio."""

import re
import shutil
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor

import pytest
from bs4 import BeautifulSoup

from tests.book.conftest import ROOT, pages_of_toc
from tests.conftest import missing_tool

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import paper

pytestmark = [pytest.mark.slow, pytest.mark.browser]

FIRST = """# Uno

Lo de la {ref}`otra página <sec-far>` y la ecuación {eq}`eq-one`.

$$
\\alpha = \\frac{1}{\\sqrt{d}}
$$ (eq-one)

:::{prediction} ¿Qué saldrá?
Sale lo plegado.
:::

```{figure} dibujo.svg
:name: fig-one
Un dibujo.
```

## Un apartado

[Fuera](https://example.org) y [un archivo](dos.md).
"""
SECOND = """# Dos

(sec-far)=
## Lejos

Vuelve a {doc}`uno` y a la {numref}`fig-one`.
"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 20" width="60" height="20">
<rect width="60" height="20" fill="#09c"/></svg>"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Un libro pequeño, construido."""
    from tests.book.conftest import TinyBook, copy_site

    book = TinyBook(copy_site(tmp_path_factory.mktemp("libro")))
    book.write("book/uno", FIRST)
    book.write("book/dos", SECOND, part="Otra")
    (book.folder / "book" / "dibujo.svg").write_text(DRAWING)
    built = book.build()
    assert built.returncode == 0, built.stdout + built.stderr
    return book.folder


def need(tool: str, package: str) -> str:
    """Dónde está una herramienta; donde no la hay, la prueba se omite (en integración, falla)."""
    return shutil.which(tool) or missing_tool(tool, f"sudo apt-get install {package}")


def apart(write, *arguments):
    """Escribe en otro hilo: en este puede haber ya un navegador de otras pruebas."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(write, *arguments).result()


def text_of(pdf, page: int) -> str:
    command = ["pdftotext", "-layout", "-f", str(page), "-l", str(page), pdf, "-"]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout


def test_a_pdf_has_contents_with_the_page_where_each_section_is(small):
    need("pdfinfo", "poppler-utils")
    out = small / "_build" / "libro.pdf"
    pages = apart(paper.write_pdf, small, out)
    assert "Un libro de prueba" in text_of(out, 3)
    contents = text_of(out, 2)
    for title, words in {"Dos": "Vuelve a", "Lejos": "Vuelve a", "Un apartado": "Fuera"}.items():
        number = int(re.search(rf"\b{title}\s+(\d+)\b", contents)[1])
        assert 3 <= number <= pages and words in text_of(out, number)
    whole = "".join(text_of(out, page) for page in range(3, pages + 1))
    assert "Sale lo plegado" in whole and not list(small.glob("_build/html/.papel-*"))
    told = subprocess.run(["pdfinfo", "-url", out], capture_output=True, text=True).stdout
    assert "example.org" in told and "libro/" not in told and "file:" not in told


def test_an_epub_is_read_in_order_and_its_links_arrive(small):
    out = small / "_build" / "libro.epub"
    assert apart(paper.write_epub, small, out) == 3
    check_links(out)
    with zipfile.ZipFile(out) as book:
        assert book.infolist()[0].filename == "mimetype"
        assert book.infolist()[0].compress_type == zipfile.ZIP_STORED
        first = book.read("EPUB/book.uno.xhtml").decode()
    assert "book.dos.xhtml#sec-far" in first and "<math" in first and "<button" not in first


def test_the_epub_of_the_course_is_valid(site, tmp_path):
    """Lo que EPUBCheck, el comprobador del W3C, dice de todo el libro: nada."""
    java, checker = need("java", "epubcheck"), need("epubcheck", "epubcheck")
    out = tmp_path / "curso.epub"
    apart(paper.write_epub, ROOT, out)
    told = subprocess.run([java, "-jar", checker, out], capture_output=True, text=True)
    wrong = re.findall(r"(?m)^(?:ERROR|FATAL|WARNING).*$", told.stdout + told.stderr)
    assert told.returncode == 0 and not wrong, f"{len(wrong)}: " + "\n".join(wrong[:20])
    check_links(out)
    with zipfile.ZipFile(out) as book:
        inside = set(book.namelist())
    expected = {name for name in pages_of_toc() if name not in paper.ONLY_ON_LINE}
    assert {f"EPUB/{name.replace('/', '.')}.xhtml" for name in expected} <= inside


def check_links(epub) -> None:
    """Cada enlace interno llega a un archivo, y a un identificador, que están en el libro."""
    with zipfile.ZipFile(epub) as book:
        names = [n.removeprefix("EPUB/") for n in book.namelist() if n.endswith(".xhtml")]
        pages = {n: BeautifulSoup(book.read(f"EPUB/{n}"), "xml") for n in names}
    ids = {name: {e["id"] for e in page.find_all(id=True)} for name, page in pages.items()}
    for name, page in pages.items():
        for link in page.find_all("a", href=True):
            target, _, fragment = link["href"].partition("#")
            if re.match(r"[a-z]+:", target):
                continue
            where = target or name
            assert where in pages and (not fragment or fragment in ids[where]), (name, link["href"])
