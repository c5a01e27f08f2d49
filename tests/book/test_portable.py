"""Los cuadernos descargados se leen en un Jupyter sin MyST."""

import base64
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.answers import standalone  # noqa: E402
from course_site.portable import fenced, to_jupyter  # noqa: E402

EXTENSIONS = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["parse"]
PARSER = create_md_parser(
    MdParserConfig(enable_extensions=set(EXTENSIONS["myst_enable_extensions"])), RendererHTML
)


class Answers:
    """Un libro de mentira: devuelve lo que le preguntan, marcado."""

    def role(self, name: str, content: str) -> str:
        return f"<{name}:{content}>"

    def link(self, address: str) -> str | None:
        return {"../book/a.md": "https://curso/book/a.html"}.get(address)

    def equation(self, label: str) -> str:
        return {"eq-uno": "7"}[label]

    def figure(self, label: str) -> str:
        return {"fig-uno": "Figura 4"}[label]

    def code(self, path: str, options: dict[str, str]) -> str:
        return f"    def {options['pyobject']}():\n        return '{path}'\n"

    def image(self, diagram: str) -> tuple[str, int]:
        return f"{diagram}.svg", 480

    def screen(self, name: str) -> tuple[str, int]:
        return f"{name}-light.webp", 700


def convert(text: str) -> str:
    return to_jupyter(text, Answers(), PARSER)


@pytest.mark.parametrize(
    "myst, expected",
    [
        ("La {term}`atención` (*attention*).", "La <term:atención> (*attention*)."),
        ("En {doc}`uno\n  dos </a/b>` y\n{eq}`eq-x`.", "En <doc:uno dos </a/b>> y\n<eq:eq-x>."),
        ("- {cite:p}`a,b`\n- **{numref}`fig-x`**", "- <cite:p:a,b>\n- **<numref:fig-x>**"),
        ("# {ref}`a`\n\n| {term}`b` | {term}`b` |\n|---|---|\n| x | {term}`b` |", None),
        ("(sec-uno)=\n## Título\n\nTexto.", "## Título\n\nTexto."),
        ("Uno\n\n% comentario\n\n+++\n\nDos", "Uno\n\n\n\n\n\nDos"),
        ("$$\na = b\n$$ (eq-uno)\n\nSigue.", "$$\na = b \\tag{7}\n$$\n\nSigue."),
        ("Una $a =\n  b$ partida.", "Una $a = b$ partida."),
        ("[uno](../book/a.md) [dos](errata-1)", "[uno](https://curso/book/a.html) dos"),
        ("[web](https://x.org) [aquí](#a)", "[web](https://x.org) [aquí](#a)"),
    ],
)
def test_text(myst: str, expected: str | None):
    if expected is None:
        expected = re.sub(r"\{(\w+)\}`(\w)`", r"<\1:\2>", myst)
    assert convert(myst) == expected


def test_what_jupyter_knows_is_left_as_it_is():
    text = (
        "# Título\n\nTexto con $x$, `{term}` y ``{doc}`x` ``.\n\n```python\n"
        "# {term}`no`\n\n\n$$\n```\n\n- [ ] tarea\n\n> cita\n\n| a | b |\n|--:|---|\n| 1 | $2$ |"
    )
    assert convert(text) == text


def test_literalinclude_is_the_code_itself():
    text = "```{literalinclude} ../lib.py\n:pyobject: f\n:language: python\n```\nSigue."
    assert convert(text) == "```python\ndef f():\n    return '../lib.py'\n```\nSigue."
    nested = convert("- uno\n\n  ```{literalinclude} a.py\n  :pyobject: f\n  ```\n- dos")
    assert nested == "- uno\n\n  ```python\n  def f():\n      return 'a.py'\n  ```\n- dos"
    assert fenced("x = '```'", "python").startswith("````python\n")


def test_diagram_is_an_image_with_its_caption():
    text = '```{diagram} caja\n:name: fig-uno\n:alt: Una "caja" & $x$.\nPie con {term}`x`.\n```'
    image = '<img src="caja.svg" alt="Una &quot;caja&quot; &amp; $x$." width="480">'
    assert convert(text) == f"{image}\n\n**Figura 4.** Pie con <term:x>."


def test_a_screenshot_is_an_image_with_its_caption():
    text = "```{screen} guia/informe\n:name: fig-uno\n:alt: El informe.\nPie.\n```"
    image = '<img src="guia/informe-light.webp" alt="El informe." width="700">'
    assert convert(text) == f"{image}\n\n**Figura 4.** Pie."


def test_admonition_is_a_quote():
    text = (
        ":::{admonition} En {term}`esto`\n:class: note\n- uno $a =\nb$\n\n$$\nx\n$$ (eq-uno)\n:::"
    )
    expected = "> **En <term:esto>**\n> \n> - uno $a = b$\n> \n> $$ x \\tag{7} $$"
    assert convert(text) == expected
    assert convert(":::{warning}\nOjo.\n:::") == "> **Advertencia**\n> \n> Ojo."
    assert convert("```{note} Corta.\n```") == "> **Nota**\n> \n> Corta."


def test_dropdown_is_folded():
    folded = "<details>\n<summary>Pista</summary>\n\nMira <doc:x>.\n\n</details>"
    assert convert(":::{dropdown} Pista\nMira {doc}`x`.\n:::") == folded


def test_cards_are_quotes():
    text = (
        "::::{grid} 1 2\n:gutter: 3\n\n:::{grid-item-card} Uno\n:link: /a\n:link-type: doc\n\n"
        "Cuerpo.\n+++\nPie\n:::\n\n:::{grid-item-card} Dos\nOtro.\n:::\n::::"
    )
    expected = "> **<doc:Uno </a>>**\n> \n> Cuerpo.\n> \n> \n> Pie\n\n\n> **Dos**\n> \n> Otro."
    assert convert(text) == expected


@pytest.mark.parametrize("text", ["```{mermaid}\na\n```", ":::{tab-set}\n:::"])
def test_unknown_directives_are_refused(text: str):
    with pytest.raises(ValueError, match="no tiene conversión"):
        convert(text)


def test_drawing_has_its_own_ground(tmp_path: Path):
    path = tmp_path / "caja.svg"
    path.write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 5" font-family="inherit" '
        'style="width:100%"><path stroke="currentColor" d="M0 0L9 5"/></svg>'
    )
    markup, width = standalone(path)
    root = ET.fromstring(markup)
    ground = root[0].attrib
    assert width == 37 and root.get("viewBox") == "-14 -14 37 33"
    assert (ground["fill"], ground["x"], ground["width"]) == ("#fff", "-14", "37")
    assert "inherit" not in markup and "100%" not in markup


# Restos de MyST: directivas, roles, etiquetas de sección y de ecuación.
RAW = re.compile(r"[`:]{3,} *\{|\{[\w:]+\}`|^\([\w-]+\)=|\$\$ *\([\w-]+\)|\]\([^h#]|^\+\+\+", re.M)
PLAIN = MarkdownIt().enable("table")


def downloads(site: Path) -> dict[str, nbformat.NotebookNode]:
    folder = site / "notebooks"
    paths = sorted(folder.rglob("*.ipynb"))
    return {str(p.relative_to(folder)): nbformat.read(p, as_version=4) for p in paths}


def prose(notebook) -> list[str]:
    """El texto de las celdas, sin los bloques de código."""
    cells = [c.source for c in notebook.cells if c.cell_type == "markdown"]
    return [re.sub(r"(?ms)^ *(`{3,})\w*\n.*?^ *\1$", "", cell) for cell in cells]


@pytest.mark.site
@pytest.mark.slow
def test_no_download_shows_myst(site: Path):
    found = downloads(site)
    assert len(found) >= 12
    for name, notebook in found.items():
        nbformat.validate(notebook)
        for text in prose(notebook):
            assert not re.search(r"[`:]{3,} *\{", text), name
            text = re.sub(r"``.+?``|(?<!\})`[^`\n]+`", "código", text)
            assert not RAW.search(text), f"{name}: {RAW.search(text)[0]!r} en {text[:200]}"
            assert "****" not in text and "«»" not in text and "[](" not in text, name


@pytest.mark.site
@pytest.mark.slow
def test_downloads_carry_code_figures_and_numbers(site: Path):
    source = (ROOT / "book" / "attention.md").read_text("utf-8")
    notebook = downloads(site)["book/attention.ipynb"]
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    images = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]+)" alt="[^"]{20,}"', text)
    drawn = re.findall(r"[`:]{3}\{(?:diagram|laboratory)\}", source)
    assert len(images) == len(drawn) > 0
    for image in images:
        assert ET.fromstring(base64.b64decode(image))[0].get("fill") == "#fff"
    for name in re.findall(r":pyobject: ([\w.]+)", source):
        assert re.search(rf"(def|class) {name.rpartition('.')[2]}\b", text), name
    page = (site / "book" / "attention.html").read_text("utf-8")
    # Los pies de las gráficas, que son resultados, no van en el texto.
    captions = BeautifulSoup(page, "html.parser").select("figure.diagram-figure .caption-number")
    numbers = [caption.get_text(strip=True) for caption in captions]
    assert re.findall(r"\*\*(Figura \d+)\.\*\*", text) == numbers
    assert re.findall(r"\\tag\{(\d+)\}", text) == re.findall(r'class="eqno">\((\d+)\)', page)
    assert "Bahdanau" in text and "Antes de ejecutar" in notebook.cells[0].source
    assert any("remove-input" in c.metadata.get("tags", []) for c in notebook.cells)


@pytest.mark.slow
def test_published_downloads_link_to_the_site(tiny_book):
    book = tiny_book
    book.configure('url: ""\n  branch', "url: https://github.com/Ana/curso\n  branch")
    figures = book.folder / "book" / "_figures"
    figures.mkdir(exist_ok=True)
    (figures / "caja.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0"/></svg>'
    )
    book.write("book/dos", "(sec-dos)=\n# Dos\n\n:::{glossary}\natención\n: Mirar.\n:::\n")
    book.write(
        "book/uno",
        "# Uno\n\n{term}`atención`, {doc}`dos`, {doc}`la otra </book/dos>`, "
        "{term}`mira <atención>`, {ref}`así <sec-dos>`, {ref}`sec-dos`, "
        "{cite:t}`luong2015effective`, {eq}`eq-a`, {numref}`fig-a`.\n\n$$\na\n$$ (eq-a)\n\n"
        "```{diagram} caja\n:name: fig-a\n:alt: Una caja.\nPie.\n```\n\n"
        "```{code-cell} ipython3\nimport course_lib\n```\n",
        notebook=True,
    )
    (book.folder / "book/fin.md").write_text("# Fin\n\n```{bibliography}\n```\n")
    book.parts["Parte"].append("book/fin")
    result = book.build(COURSE_SOLUTIONS="0")
    assert result.returncode == 0, result.stderr
    folder = book.folder / "_build/html/notebooks"
    cells = json.loads((folder / "book/uno.ipynb").read_text("utf-8"))["cells"]
    first, text = "".join(cells[0]["source"]), "".join(cells[1]["source"])
    assert "%pip install -q --no-deps https://ana.github.io/curso/notebooks/course_lib-" in first
    assert "https://ana.github.io/curso/book/start.html" in first
    page = "https://ana.github.io/curso/book"
    for link in (
        f"[atención]({page}/dos.html#term-atencion)",
        f"[Dos]({page}/dos.html)",
        f"[la otra]({page}/dos.html)",
        f"[mira]({page}/dos.html#term-atencion)",
        f"[así]({page}/dos.html#sec-dos)",
        f"[Dos]({page}/dos.html#sec-dos)",
        f"[(1)]({page}/uno.html#equation-eq-a)",
        f"[Figura 1]({page}/uno.html#fig-a)",
        "\\tag{1}",
        '<img src="https://ana.github.io/curso/notebooks/figures/caja.svg" alt="Una caja."',
    ):
        assert link in text
    assert re.search(rf"Luong et al. \[\[2015\]\({page}/fin.html#", text)
    assert (folder / "figures" / "caja.svg").is_file()
