"""Un curso con otro nombre, otro logotipo y otra casa: `course.toml`, en el sitio."""

import json

from bs4 import BeautifulSoup

LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'
COURSE = """
name = "Redes & lenguas"
institution = "Universidad de Ejemplo"
contact = "ana@ejemplo.edu"
logo = "escudo.svg"
"""


def test_the_site_is_named_by_its_course_file(tiny_book):
    book = tiny_book
    assert book.build().returncode == 0
    assert "Portada" in BeautifulSoup(book.html("book/index"), "html.parser").h1.text
    (book.folder / "course.toml").write_text(COURSE, encoding="utf-8")
    (book.folder / "escudo.svg").write_text(LOGO, encoding="utf-8")
    result = book.build()
    assert result.returncode == 0, result.stderr
    page = BeautifulSoup(book.html("book/index"), "html.parser")
    assert page.title.text.count("Redes & lenguas") and "Redes & lenguas" in page.h1.text
    assert page.select_one(".logo__title").text == "Redes & lenguas"
    assert page.select_one(".logo__image")["src"].partition("?")[0].endswith("escudo.svg")
    foot = " ".join(page.select_one(".copyright").text.split())
    assert foot.endswith("Lo adapta Universidad de Ejemplo. Contacto: ana@ejemplo.edu.")
    assert "el equipo del curso" in foot, "se cita a quien lo hizo"
    assert page.select_one(".copyright a")["href"] == "mailto:ana@ejemplo.edu"
    structured = json.loads(page.select_one('script[type="application/ld+json"]').string)
    assert structured["provider"]["name"] == "Universidad de Ejemplo"
    built = book.folder / "_build" / "html"
    assert json.loads((built / "manifest.webmanifest").read_text())["name"] == "Redes & lenguas"
    assert (built / "_static" / "escudo.svg").read_text() == LOGO

    (book.folder / "course.toml").write_text('name = "Redes', encoding="utf-8")
    told = book.build()
    assert told.returncode != 0 and "no es TOML" in told.stderr + told.stdout
    assert "Traceback" not in told.stderr
