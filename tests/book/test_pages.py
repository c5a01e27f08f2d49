"""El sitio construido, visto como archivos: páginas, descargas y nada que venga de fuera."""

import functools
import gzip
import json
import re
import sys
import zipfile
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from PIL import Image

from course_lib import __version__
from tests.book.conftest import ROOT, pages_of_toc

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.styles import trim

pytestmark = [pytest.mark.site, pytest.mark.slow]
CHAPTERS = [
    name
    for name in pages_of_toc()
    if name.startswith("book/") and (ROOT / f"{name}.md").read_text("utf-8").startswith("---")
]
NOTEBOOKS = [name for name in pages_of_toc() if not name.startswith("book/")]


@functools.lru_cache(maxsize=1)
def read(site: Path, name: str) -> BeautifulSoup:
    """Una página; leerla cuesta más que mirarla, y las pruebas de la misma van seguidas."""
    return BeautifulSoup((site / f"{name}.html").read_text(encoding="utf-8"), "html.parser")


def test_every_page_was_made(site: Path, page_name: str):
    page = read(site, page_name)
    assert page.html["lang"] == "es"
    assert page.select_one("article h1").get_text(strip=True)
    assert page.title.get_text(strip=True)


def test_front_page_is_the_index(site: Path):
    assert "book/index.html" in (site / "index.html").read_text(encoding="utf-8")


def test_pages_load_nothing_from_outside(site: Path, page_name: str):
    page = read(site, page_name)
    loaded = [e.get("src") or e.get("href") for e in page.select("[src], link[href], use[href]")]
    assert [url for url in loaded if re.match(r"(https?:)?//", url)] == []
    run = page.select("script:not([src], [type='application/ld+json'])")
    scripts = " ".join(script.get_text() for script in run)
    assert re.findall(r"https?://(?!www\.w3\.org)[\w.]+", scripts) == []


# Lo que se baja antes de tocar nada, comprimido, en kilobytes.
COVER, CHAPTER = 150, 350


def weight(site: Path, name: str) -> dict[str, int]:
    """Los bytes de cada archivo que pide una página al abrirse; las imágenes que esperan, no."""
    page = read(site, name)
    paths = [site / f"{name}.html"]
    for element in page.select("script[src], img[src]:not([loading=lazy]), link[rel=stylesheet]"):
        url = (element.get("src") or element["href"]).split("?")[0]
        paths.append((paths[0].parent / url).resolve())
    if page.math:
        paths.append(site / "_static" / "math.woff2")
    return {p.name: len(gzip.compress(p.read_bytes(), 9)) for p in dict.fromkeys(paths)}


def test_pages_are_light(site: Path, page_name: str):
    found = weight(site, page_name)
    limit = COVER if page_name == "book/index" else CHAPTER
    assert sum(found.values()) < 1000 * limit, found


def test_one_sheet_and_no_script_to_wait_for(site: Path, page_name: str):
    page = read(site, page_name)
    assert [link["href"].split("?")[0] for link in page.select("link[rel=stylesheet]")] == [
        "../_static/site.css"
    ]
    waited = {s["src"].split("?")[0] for s in page.select("script[src]:not([defer])")}
    assert waited == {"../_static/documentation_options.js"}
    loaded = " ".join(script["src"] for script in page.select("script[src]"))
    assert not re.search("mathjax|fontawesome|searchindex|language_data|togglebutton", loaded)
    assert bool(page.select(".highlight")) == ("clipboard" in loaded)


def test_pages_say_what_they_are(site: Path, page_name: str):
    page = read(site, page_name)
    said = page.select_one("meta[name=description]")["content"]
    assert 40 <= len(said) <= 156 and said[-1] in ".…?:!", said
    assert page.select_one("meta[property='og:description']")["content"] == said
    assert (
        page.select_one("meta[property='og:title']")["content"]
        == (page.title.get_text().split(" — ")[0])
    )
    assert not page.select("link[rel=canonical], meta[property='og:url']"), (
        "el sitio no tiene dirección"
    )
    course = page.select("script[type='application/ld+json']")
    assert len(course) == (page_name == "book/index")
    if course:
        told = json.loads(course[0].string)
        assert (told["@type"], told["inLanguage"], told["description"]) == ("Course", "es", said)


def test_pages_have_a_picture_to_share(site: Path, page_name: str):
    """Del tamaño que piden quienes la muestran, ligera, y con el título y una figura."""
    said = {m["property"]: m["content"] for m in read(site, page_name).select("meta[property]")}
    assert said["og:site_name"] == "Atención y Transformers"
    path = (site / f"{page_name}.html").parent / said["og:image"]
    assert path.stat().st_size < 60_000
    with Image.open(path) as image:
        assert image.size == (1200, 630)
        ink = image.convert("L").point(lambda light: 255 * (light < 200))
    assert ink.crop((0, 100, 1200, 300)).getbbox(), "sin título"
    assert ink.crop((0, 330, 1200, 630)).getbbox(), "sin figura"


def test_rows_are_named(site: Path, page_name: str):
    """La primera columna de una tabla con la esquina vacía encabeza sus filas."""
    page = read(site, page_name)
    for table in page.select("article table:has(thead td:first-child)"):
        assert not table.select("tbody tr > td:first-child")
    assert all(head.get_text(strip=True) for head in page.select("article th"))


def test_what_crawlers_and_lost_readers_get(site: Path):
    assert (site / "robots.txt").read_text() == "User-agent: *\nAllow: /\n"
    assert not (site / "sitemap.xml").exists()
    lost = BeautifulSoup((site / "404.html").read_text("utf-8"), "html.parser")
    assert lost.html["lang"] == "es" and "No hay ninguna página" in lost.h1.get_text()
    links = [a["href"] for a in lost.select("a")]
    assert links == ["book/index.html", "search.html"]
    assert all((site / link).is_file() for link in links)


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_have_a_door_to_their_code(site: Path, name: str):
    doors = read(site, name).select_one(".page-doors")
    assert "Bajar el cuaderno" in [a.get_text() for a in doors.select("a")]
    assert doors.code.get_text() == f"{name}.md", "sin repositorio, dice dónde está"
    assert "github.com" not in str(doors)


def test_english_terms_say_so(site: Path):
    for name, term in (("book/attention", "query"), ("book/glossary", "fine-tuning")):
        foreign = read(site, name).select("article em[lang]")
        assert {e["lang"] for e in foreign} == {"en"}
        assert term in [e.get_text() for e in foreign]


def test_the_sheet_keeps_what_is_used():
    css = """/* fuera */ @import "otra.css"; @charset "utf-8";
    .used, .unused { color: red } p.used > a:not(.unused):hover { top: 0 } .unused b { top: 0 }
    #unused { top: 0 } .used #known::before { content: ".unused" } :is(.unused, p) { left: 0 }
    @media print { .unused { top: 0 } } @media print { p { top: 0 } }
    .fa-bars { top: 0 } .tooltip.show { top: 0 } html[data-theme="dark"] .used { top: 0 }
    @font-face { font-family: "Font Awesome 6"; src: url(x) }"""
    assert trim(css, {"used", "p", "a", "b", "known", "html", "fa-bars"}) == (
        ".used{color: red}p.used > a:not(.unused):hover{top: 0}"
        '.used #known::before{content: ".unused"}:is(.unused, p){left: 0}@media print{p{top: 0}}'
        '.tooltip.show{top: 0}html[data-theme="dark"] .used{top: 0}'
    )


def test_styles_load_nothing_from_outside(site: Path):
    for style in (site / "_static").rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", text), style.name


def test_links_inside_the_site_lead_somewhere(site: Path, page_name: str):
    folder = (site / f"{page_name}.html").parent
    for link in read(site, page_name).select("a[href]"):
        target, _, fragment = link["href"].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        path = (folder / target).resolve() if target else site / f"{page_name}.html"
        assert path.is_file(), f"{page_name} enlaza {link['href']}, que no existe"
        if fragment and path.suffix == ".html":
            text = path.read_text(encoding="utf-8")
            assert f'id="{fragment}"' in text, f"{page_name} enlaza {link['href']}"


def test_images_and_drawings_have_an_alternative(site: Path, page_name: str):
    article = read(site, page_name).select_one("article")
    for image in article.select("img"):
        assert image.get("alt", "").strip(), f"imagen sin alternativa: {image.get('src')}"
    for drawing in article.select("svg[viewbox], svg[viewBox]"):
        if drawing.find_parent("svg") or "sd-octicon" in drawing.get("class", []):
            continue
        if drawing.get("aria-hidden") == "true":
            continue
        name = drawing.get("aria-label") or getattr(drawing.find("title"), "string", "")
        assert drawing.get("role") == "img" and name, "dibujo sin alternativa"


def test_what_opens_and_closes_says_what_it_is(site: Path, page_name: str):
    for summary in read(site, page_name).select("summary"):
        told = summary.get("aria-label") or summary.get_text(strip=True)
        assert told or summary.select_one("img[alt], svg[aria-label], math"), summary


def test_no_two_elements_share_an_id(site: Path, page_name: str):
    ids = [e["id"] for e in read(site, page_name).select("article [id]")]
    assert sorted({i for i in ids if ids.count(i) > 1}) == []


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_download_with_their_results(site: Path, name: str):
    link = read(site, name).select_one("a.btn-download-notebook-button")
    notebook = (site / f"{name}.html").parent / link["href"]
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code)
    assert not code or any(cell["outputs"] for cell in code)


def code_cells(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_exercises_and_solutions_are_shown_as_stored(site: Path, name: str):
    stored = (ROOT / f"{name}.ipynb").read_text(encoding="utf-8")
    link = read(site, name).select_one("a.btn-download-notebook-button")
    downloaded = json.loads(((site / f"{name}.html").parent / link["href"]).read_text("utf-8"))
    # El texto se adapta a Jupyter (test_portable.py); el código y sus resultados no se tocan.
    assert code_cells(downloaded) == code_cells(json.loads(stored))
    # Las salidas de la página son las guardadas: nadie volvió a ejecutar el cuaderno.
    cells = json.loads(stored)["cells"]
    saved = [c for c in cells if c["cell_type"] == "code" and c["outputs"]]
    shown = read(site, name).select("article .cell .cell_output")
    assert len(shown) == len(saved)


def test_no_repository_no_colab(site: Path, page_name: str):
    assert "colab.research" not in (site / f"{page_name}.html").read_text(encoding="utf-8")


# El camino


def exercises_of(topic: str) -> list[dict]:
    path = ROOT / "course_lib" / "judging" / "exercises" / f"{topic}.json"
    return json.loads(path.read_text(encoding="utf-8"))["exercises"]


TOPICS = [name.partition("/")[2] for name in NOTEBOOKS if name.startswith("exercises/")]


@pytest.mark.parametrize("topic", TOPICS)
def test_a_section_leads_to_its_exercises_and_back(site: Path, topic: str):
    exercises = read(site, f"exercises/{topic}")
    pages = dict.fromkeys(each["section"]["page"] for each in exercises_of(topic))
    chapters = {page: read(site, f"book/{page}") for page in pages}
    for exercise in exercises_of(topic):
        anchor = f"ejercicio-{exercise['name'].partition('.')[2].replace('_', '-')}"
        assert exercises.select_one(f"#{anchor}"), anchor
        section = exercise["section"]
        place = chapters[section["page"]].find(id=section["label"])
        place = place if place.name == "section" else place.find_parent("section")
        address = f"../exercises/{topic}.html#{anchor}"
        assert place.select_one(f'.exercise-card a[href="{address}"]'), exercise["name"]
        back = f"../book/{section['page']}.html#{section['label']}"
        assert exercises.select_one(f'.exercise-ways a[href="{back}"]'), exercise["name"]
    ways = [way.get_text() for way in exercises.select(".exercise-ways")]
    assert not [way for way in ways if "$" in way or "`" in way], "una fórmula sin componer"
    how = exercises.select_one(".exercise-card")
    links = [link["href"] for link in how.select("a")]
    assert links == ["../book/start.html", f"../notebooks/exercises/{topic}.ipynb"]


def test_the_way_goes_from_a_chapter_to_its_exercises_and_on(site: Path):
    """«Siguiente» pasa por todas las páginas de quien estudia, y cada una vuelve a la de antes."""
    way, name = [], "book/index"
    while name:
        assert name not in way, name
        way.append(name)
        link = read(site, name).select_one("a.right-next")
        path = (site / f"{name}.html").parent / link["href"] if link else None
        after = path.resolve().relative_to(site.resolve()).as_posix()[:-5] if path else ""
        if after:
            back = read(site, after).select_one("a.left-prev")["href"]
            assert (path.parent / back).resolve() == (site / f"{name}.html").resolve()
        name = after
    assert {f"exercises/{topic}" for topic in TOPICS} <= {*way}
    assert not any(name.startswith("solutions/") for name in way)
    for chapter, topic in (("attention", "attention"), ("fine_tuning", "bert"), ("palm", "palm")):
        assert way.index(f"exercises/{topic}") == way.index(f"book/{chapter}") + 1


def test_the_site_serves_the_course(site: Path):
    page = read(site, "book/start")
    found = {link["href"] for link in page.select("a[download]")}
    assert found == {
        "../notebooks/curso.zip",
        f"../notebooks/course_lib-{__version__}-py3-none-any.whl",
    }
    with zipfile.ZipFile(site / "notebooks" / "curso.zip") as course:
        names = course.namelist()
        assert {f"curso/exercises/{topic}.ipynb" for topic in TOPICS} <= {*names}
        assert not any("solutions" in name for name in names)
        text = course.read("curso/exercises/attention.ipynb").decode()
    assert "../book/" not in text and "Antes de ejecutar" not in text


def test_progress_lists_every_chapter_and_exercise(site: Path):
    boxes = read(site, "book/progress").select("input[data-progress]")
    keys = [box["data-progress"] for box in boxes]
    assert len(keys) == len({*keys})
    wanted = {each["name"] for topic in TOPICS for each in exercises_of(topic)}
    assert wanted == {key for key in keys if "." in key}
    assert {"book/attention", "book/palm"} <= {*keys}
    assert all(box.get("aria-label") for box in boxes)


def test_api_lists_the_library():
    """Todo módulo público de los capítulos está en una página de la biblioteca, y solo en una."""
    texts = [path.read_text("utf-8") for path in (ROOT / "book").glob("api*.md")]
    modules = re.findall(r"automodule:: (\S+)", "".join(texts))
    listed = set(modules)
    assert len(modules) == len(listed)
    public = set()
    for folder in ("primitives", "layers", "models", "training", "data"):
        for path in (ROOT / "course_lib" / folder).glob("[!_]*.py"):
            public.add(f"course_lib.{folder}.{path.stem}")
    assert public - listed == set()


def test_listings_and_library_lead_to_each_other(site: Path):
    homes = [a["href"] for a in read(site, "book/attention").select(".listing-home a")]
    assert homes
    for page, _, place in (home.partition("#") for home in homes):
        described = read(site, f"book/{page.removesuffix('.html')}").find(id=place)
        assert described.parent.select_one('a[href^="attention.html#equation-eq-"]')


# Un punto decimal y, entre millares, un espacio fino: ni «12,345» ni «12.345.678», y tampoco
# «12.000», que se lee doce mil; «1.000», entre otros con tres decimales, es una probabilidad. Una
# lista entre corchetes, [1,024], no es un número.
LIST = re.compile(r"\[[^\[\]\n]*\]")
ODD_NUMBER = re.compile(
    r"(?<![\w.,])[-−+]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3}){2,}|(?!1\.)[1-9]\d{0,2}\.0{3})"
    r"(?![\d.,]*\d|\w)"
)
ODD_FORMULA = re.compile(r"\d\{,\}\d{3}(?!\d)|(?<![\d.])[1-9]\d{0,2}\.000(?!\d)")


def odd_numbers(article: BeautifulSoup) -> list[str]:
    """Los números mal escritos de una página, con lo que los rodea; su código no cuenta."""
    article = BeautifulSoup(str(article), "html.parser")
    for quoted in article.select(".bibtex-citation, .citation"):  # Los títulos se citan como son.
        quoted.decompose()
    formulas = [_tex(element.extract()) for element in article.select(".math")]
    printed = [element.extract().get_text() for element in article.select(".cell_output pre")]
    for code in article.select("pre, :not(pre) > code, script, style"):
        code.replace_with(" ∎ ")
    spoken = [
        e[name] for name in ("alt", "aria-label", "title") for e in article.select(f"[{name}]")
    ]
    texts = [article.get_text(" "), *printed, *spoken]
    found = [_around(m) for text in texts for m in ODD_NUMBER.finditer(LIST.sub(" ∎ ", text))]
    return found + [_around(m) for text in formulas for m in ODD_FORMULA.finditer(text)]


def _tex(formula: BeautifulSoup) -> str:
    """Lo que se escribió, sin lo que se dibuja a partir de ello."""
    return formula.select_one("annotation").get_text()


def _around(match: re.Match) -> str:
    text = match.string[max(0, match.start() - 40) : match.end() + 20]
    return f"{match[0]} en «{' '.join(text.split())}»"


@pytest.mark.parametrize(
    "html, number",
    [
        ("<p>Con 12,345 palabras.</p>", "12,345"),
        ("<p>Cuesta (1,024,000.5).</p>", "1,024,000.5"),
        ("<p>Son 1.234.567 pesos.</p>", "1.234.567"),
        ("<p>Tarda 12.000 pasos.</p>", "12.000"),
        ("<p>Los pesos: 0.000 y 1.000.</p>", None),
        ("<table><tr><td>−3.000</td></tr></table>", "−3.000"),
        ('<div class="cell_output"><pre>pasos  <span>2,048</span></pre></div>', "2,048"),
        ("<svg><title>De 0 a 20,000.</title></svg>", "20,000"),
        ('<img alt="Hasta 20,000."/>', "20,000"),
        ('<span class="math"><annotation>10{,}000^{-2i/d}</annotation></span>', "0{,}000"),
        ("<p>Un 12 345, con espacio fino; 2048, 0.125, 1.5 y 0.000.</p>", None),
        ("<p>Listas: [1,024] y (1, 200); versiones 2.13.0 y 1.0000; 10,5.</p>", None),
        ('<p><code>f"{n:,}" 12,345</code></p><pre>x = (1,000)</pre>', None),
        ('<span class="math"><annotation>w_{1,100}</annotation></span>', None),
    ],
)
def test_odd_numbers_are_found(html: str, number: str | None):
    found = odd_numbers(BeautifulSoup(html, "html.parser"))
    assert (found[0].split(" en ")[0] if found else None) == number


def test_numbers_are_written_as_the_notation_page_says(site: Path, page_name: str):
    assert odd_numbers(read(site, page_name).select_one("article")) == []
