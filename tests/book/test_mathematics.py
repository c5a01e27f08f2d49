"""Las fórmulas: todas se convierten a MathML, y bien; su fuente tiene cada signo."""

import re
import sys
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from fontTools.ttLib import TTFont
from math_core import LatexError
from sphinx.ext.napoleon import Config, GoogleDocstring

from tests.book.prose import ROOT, book_files, parser

sys.path.insert(0, str(ROOT / "book" / "_ext"))

from course_site.interface import keep_sentences, level_sections, mend_markup
from course_site.mathematics import FONT, IMPLIED, mathml, narrow_roots, signs

INLINE = {"math_inline", "math_inline_double"}
BLOCKS = {"math_block", "math_block_label", "amsmath"}


def formulas(text: str, start: int = 0) -> Iterator[tuple[int, str, bool]]:
    """(renglón, TeX, si va aparte) de cada fórmula de un texto, también en las directivas."""
    yield from _formulas(parser().parse(text), start)


def _formulas(tokens, start: int) -> Iterator[tuple[int, str, bool]]:
    for token in tokens:
        line = start + (token.map[0] if token.map else 0)
        if token.type in INLINE | BLOCKS:
            yield line, token.content, token.type not in INLINE
        elif token.type in {"fence", "colon_fence"} and token.info.lstrip().startswith("{"):
            name, _, title = token.info.lstrip()[1:].partition("}")
            if name == "math":
                yield line, re.sub(r"(?m)\A(:[\w-]+:.*\n?)+", "", token.content), True
            elif not name.startswith(("code", "literalinclude", "eval")):
                yield from formulas(title, line)
                yield from formulas(token.content, line + 1)
        if token.children:
            yield from _formulas(token.children, line)


def sources() -> list[Path]:
    notebooks = [*ROOT.glob("exercises/*.ipynb"), *ROOT.glob("solutions/*.ipynb")]
    return [*book_files(), *sorted(notebooks)]


def texts(path: Path) -> Iterator[str]:
    if path.suffix == ".md":
        yield path.read_text("utf-8")
        return
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "markdown":
            yield cell.source


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_every_formula_is_understood(path: Path):
    wrong = []
    for text in texts(path):
        for line, tex, display in formulas(text):
            try:
                mathml(tex, display=display)
            except LatexError as error:
                wrong.append(f"{path.relative_to(ROOT)}:{line + 1}: {tex!r}: {error}")
    assert wrong == []


def test_the_formulas_are_found():
    text = "Una $x$.\n\n:::{note}\nOtra $y$.\n\n$$\nz\n$$ (eq-z)\n:::\n\n"
    text += "```{math}\n:label: eq-w\nw\n```"
    assert [(tex.strip(), display) for _, tex, display in formulas(text)] == [
        ("x", False),
        ("y", False),
        ("z", True),
        ("w", True),
    ]
    assert sum(len(list(formulas(t))) for p in book_files() for t in texts(p)) > 1000


@pytest.mark.parametrize(
    "tex", [r"\noexiste", r"\frac{1}", r"{x", r"\begin{aligned} x", r"\left( x", "x^1^2"]
)
def test_what_is_wrong_is_not_drawn(tex: str):
    with pytest.raises(LatexError):
        mathml(tex, display=True)


def drawn(tex: str) -> BeautifulSoup:
    formula = BeautifulSoup(mathml(tex, display=True), "html.parser")
    assert formula.annotation.extract().get_text() == tex, "lo que se copia es lo escrito"
    return formula


def test_rows_and_columns():
    for name in ("aligned", "pmatrix", "cases", "array"):
        given = "{cc}" if name == "array" else ""
        table = drawn(rf"\begin{{{name}}}{given} a & b \\ c & d \end{{{name}}}")
        cells = [[d.get_text() for d in row.select("mtd")] for row in table.select("mtr")]
        assert cells == [["a", "b"], ["c", "d"]], name
    assert "[" not in mathml(r"\begin{aligned} a \\[4pt] b \end{aligned}", display=True)
    assert drawn(r"\begin{pmatrix} a \end{pmatrix}").select_one("mo").get_text() == "("
    assert drawn(r"\begin{cases} a \end{cases}").select_one("mo").get_text() == "{"


@pytest.mark.parametrize(
    "tex, selector, shown",
    [
        (r"\operatorname{softmax}(x)", "mi", "softmax"),
        (r"\mathrm{softmax}", "mi", "softmax"),
        (r"\text{si es así}", "mtext", "si\xa0es\xa0así"),
        (r"10{,}5", "math", "10,5"),
        (r"\mathbb{R}", "mi", "ℝ"),
        (r"\ldots", "math", "..."),
        (r"a \odot b", "mo", "⊙"),
        (r"\lVert x \rVert", "mo", "‖"),
        (r"\hat{x}", "mover > mo", "ˆ"),
        (r"\bar{x}", "mover > mo", "¯"),
        (r"\tilde{x}", "mover > mo", "˜"),
        (r"\sum_{i=1}^{n}", "munderover > mo", "∑"),
        (r"\underbrace{x}_{y}", "munder munder > mo", "⏟"),
        (r"x^\top", "msup > :last-child", "⊤"),
    ],
)
def test_what_is_drawn(tex: str, selector: str, shown: str):
    assert drawn(tex).select_one(selector).get_text() == shown


def test_a_script_goes_on_its_letter():
    formula = drawn(r"W^{(1)}_{ij}").select_one("msubsup")
    assert [part.get_text() for part in formula.find_all(recursive=False)] == ["W", "ij", "(1)"]
    fraction = drawn(r"\frac{q^\top k}{\sqrt{d}}").select_one("mfrac")
    assert [part.get_text() for part in fraction.find_all(recursive=False)] == ["q⊤k", "d"]
    assert fraction.select_one("msqrt")


def test_a_number_and_its_margin_stay_on_one_line():
    code = '<pre><span></span>"7 %" "1 ± 2"\n</pre>'
    context = {
        "body": f"<td>0.450 ± 0.392</td>{code}<p>El 76.3 ± 4.1 % ± algo, y el 95 % al fin</p>"
    }
    mend_markup(None, "", "", context, None)
    expected = "<td>0.450_±_0.392</td>CÓDIGO<p>El 76.3_±_4.1_% ± algo, y el 95_% al fin</p>"
    assert context["body"] == expected.replace("_", "\u00a0").replace("CÓDIGO", code)


@pytest.mark.site
@pytest.mark.slow
def test_the_font_has_every_sign(site: Path):
    font = TTFont(site / FONT)
    pages = (path.read_text(encoding="utf-8") for path in site.rglob("*.html"))
    used = set().union(*map(signs, pages)) | IMPLIED
    assert len(used) > 200
    # Lo que no se ve (aplicación de función, juntar palabras) y los espacios no necesitan dibujo.
    unseen = {*range(0x2000, 0x2010), *range(0x2060, 0x2065), 0x0A, 0x0D, 0x09, 0x202F, 0xFE00}
    missing = used - unseen - font.getBestCmap().keys()
    assert missing == set(), "".join(map(chr, sorted(missing)))
    assert "MATH" in font


def test_code_in_the_caption_of_a_table_is_code():
    context = {"body": "<p>`x`</p><table><caption>Media (`python -m a`).</caption></table>"}
    mend_markup(None, "", "", context, None)
    assert "<p>`x`</p>" in context["body"]
    assert "<caption>Media (<code>python -m a</code>).</caption>" in context["body"]


def test_an_error_of_two_lines_is_one_paragraph():
    lines = [
        "Da x.",
        "",
        "Errores:",
        "    ValueError: no",
        "        cabe.",
        "",
        "Fuente: yo.",
        "    a",
    ]
    level_sections(None, "function", "x", None, None, lines)
    assert lines[3:] == ["    ValueError: no", "    cabe.", "", "Fuente: yo.", "    a"]


def test_what_stands_before_a_colon_is_no_type():
    described = [
        "Da x.",
        "",
        "Devuelve:",
        "    El par (a, b): a va",
        "        delante.",
        "",
        "    Y b.",
    ]
    level_sections(None, "function", "x", None, None, described)
    written = str(GoogleDocstring(described, Config()))
    field = [":Devuelve:", "    El par (a, b): a va", "    delante.", "", "    Y b."]
    assert written.splitlines()[2:] == field
    attribute = ["Devuelve dos: a y b.", "", "Y más."]
    keep_sentences(None, "property", "x", None, None, attribute)
    written = str(GoogleDocstring(attribute, Config(), what="property", name="x"))
    assert written == "\\\nDevuelve dos: a y b.\n\nY más."


def test_no_line_begins_with_the_sign_after_a_formula():
    formula = f'<span class="math notranslate nohighlight">{mathml("x", display=False)}</span>'
    context = {"body": f"<p>Con ({formula}), {formula} y, al final, {formula}.</p>"}
    mend_markup(None, "", "", context, None)
    joined = [
        f'<span class="unbroken">{before}{formula}{after}</span>'
        for before, after in (("(", ")"), ("", "."))
    ]
    assert context["body"] == f"<p>Con {joined[0]}, {formula} y, al final, {joined[1]}</p>"


def test_behind_a_root_there_is_no_gap():
    whole = resources.files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    with resources.as_file(whole) as path:
        font = TTFont(path)
    root = font.getBestCmap()[ord("√")]
    narrow_roots(font)
    variants = font["MATH"].table.MathVariants
    taller = variants.VertGlyphConstruction[variants.VertGlyphCoverage.glyphs.index(root)]
    names = [record.VariantGlyph for record in taller.MathGlyphVariantRecord]
    names += [part.glyph for part in taller.GlyphAssembly.PartRecords]
    width = font["hmtx"][root][0]
    assert len(set(names)) > 4 and {font["hmtx"][name][0] for name in names} == {width}
    assert all(font["glyf"][name].xMax < 1.05 * width for name in names), "el trazo cabe"
