"""Las fórmulas, escritas en MathML al construir: el navegador las dibuja y las lee, sin guiones.

Cada una lleva dentro su TeX, que es lo que se copia (`course.js`). La tipografía es STIX Two Math,
reducida a los signos que usa el libro.
"""

import re
from html import unescape
from importlib import resources
from pathlib import Path

from docutils import nodes
from fontTools import subset
from fontTools.ttLib import TTFont
from math_core import LatexError, LatexToMathML
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
CLASSES = "math notranslate nohighlight"
FONT = "_static/math.woff2"
FORMULA = re.compile(r"<math\b.*?</math>", re.S)
ANNOTATION = re.compile(r"<annotation\b.*?</annotation>|<[^>]+>", re.S)
# Lo que se dibuja sin estar escrito: la raíz, y la cursiva de las variables de una letra.
# La h cursiva es U+210E: en su sitio de la serie no hay nada.
IMPLIED = {ord("√"), *range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), 0x210E} - {0x1D455}
# math-core no conoce el espacio entre renglones, y lo escribiría.
ROW_SPACE = re.compile(r"(\\\\)\[[\d.]+(?:pt|em|ex)\]")
_converter = LatexToMathML(annotation=True, fancy_error=False)


def mathml(tex: str, *, display: bool) -> str:
    """Una fórmula en MathML.

    Errores:
        LatexError: hay una orden que no se conoce, o algo sin cerrar.
    """
    return _converter.convert_with_local_state(
        ROW_SPACE.sub(r"\1", tex.strip()), displaystyle=display
    )


def _written(node: nodes.Element, *, display: bool) -> str:
    try:
        return mathml(node.astext(), display=display)
    except LatexError as error:
        tex = " ".join(node.astext().split())
        logger.warning("no se entiende la fórmula «%s»: %s", tex, error, location=node)
        return ""


def write_inline(self, node: nodes.math) -> None:
    self.body.append(self.starttag(node, "span", "", CLASS=CLASSES))
    self.body.append(f"{_written(node, display=False)}</span>")
    raise nodes.SkipNode


def write_block(self, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS=CLASSES))
    if node.get("number"):
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append(f'<div class="formula">{_written(node, display=True)}</div></div>\n')
    raise nodes.SkipNode


def signs(page: str) -> set[int]:
    """Los signos de las fórmulas de una página."""
    return {ord(c) for f in FORMULA.findall(page) for c in unescape(ANNOTATION.sub("", f))}


def narrow_roots(font: TTFont) -> None:
    """Hace las raíces altas tan anchas como la baja.

    Chromium reserva a toda raíz el ancho de la mayor, y detrás de las demás quedaba un hueco.
    """
    variants, widths = font["MATH"].table.MathVariants, font["hmtx"].metrics
    root = font.getBestCmap()[ord("√")]
    which = variants.VertGlyphCoverage.glyphs.index(root)
    construction = variants.VertGlyphConstruction[which]
    taller = {record.VariantGlyph for record in construction.MathGlyphVariantRecord}
    if construction.GlyphAssembly:
        taller |= {part.glyph for part in construction.GlyphAssembly.PartRecords}
    for name in taller - {root}:
        width, bearing = widths[name]
        ratio = widths[root][0] / width
        drawn = font["glyf"][name]
        drawn.coordinates.scale((ratio, 1))
        drawn.coordinates.toInt()
        drawn.recalcBounds(font["glyf"])
        widths[name] = widths[root][0], round(bearing * ratio)


def write_font(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    pages = Path(app.outdir).rglob("*.html")
    used = set().union(*(signs(page.read_text(encoding="utf-8")) for page in pages))
    options = subset.Options(flavor="woff2", layout_features=["*"], hinting=False)
    whole = resources.files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    with resources.as_file(whole) as path:
        font = subset.load_font(str(path), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=used | IMPLIED)
    subsetter.subset(font)
    narrow_roots(font)
    subset.save_font(font, str(Path(app.outdir, FONT)), options)


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))
    app.connect("build-finished", write_font)
