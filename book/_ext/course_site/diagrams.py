"""Directiva `diagram`: inserta un SVG de `book/_figures` dentro de la página.

Va dentro, y no como imagen, para que `currentColor` tome el color del tema claro u oscuro y el
texto use la tipografía de la página.
"""

import hashlib
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)
SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
FIGURES = Path("book") / "_figures"
REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(path: Path, alt: str, prefix: str) -> str:
    """El SVG listo para la página: con alternativa en texto e identificadores que no chocan."""
    ET.register_namespace("", SVG)
    ET.register_namespace("xlink", XLINK)
    root = ET.parse(path).getroot()
    _make_ids_unique(root, prefix)
    _describe(root, alt, f"{prefix}-title")
    _scale_with_page(root)
    return ET.tostring(root, encoding="unicode")


def _make_ids_unique(root: ET.Element, prefix: str) -> None:
    names = {e.get("id"): f"{prefix}-{e.get('id')}" for e in root.iter() if e.get("id")}
    for element in root.iter():
        for key, value in list(element.attrib.items()):
            if key == "id":
                element.set(key, names[value])
            elif key.endswith("href") and value.removeprefix("#") in names:
                element.set(key, "#" + names[value.removeprefix("#")])
            elif "url(#" in value:
                element.set(key, REFERENCE.sub(lambda m: f"url(#{names[m[1]]})", value))


def _describe(root: ET.Element, alt: str, title_id: str) -> None:
    for old in root.findall(f"{{{SVG}}}title"):
        root.remove(old)
    title = ET.Element(f"{{{SVG}}}title", {"id": title_id})
    title.text = alt
    root.insert(0, title)
    for old in root.findall(f"{{{SVG}}}desc"):  # Lo dice ya la alternativa de la página.
        root.remove(old)
    root.set("role", "img")
    root.set("aria-labelledby", title_id)


def _scale_with_page(root: ET.Element) -> None:
    width, height = root.attrib.pop("width", None), root.attrib.pop("height", None)
    if root.get("viewBox") is None and width and height:
        root.set("viewBox", f"0 0 {width.removesuffix('px')} {height.removesuffix('px')}")
    root.set("class", "diagram")
    box = root.get("viewBox", "").replace(",", " ").split()
    if len(box) == 4 and "style" not in root.attrib:  # Nunca más grande que como fue dibujado.
        root.set("style", f"width:100%;max-width:{float(box[2]):g}px;height:auto")


class Diagram(SphinxDirective):
    """Figura con un diagrama del libro; el contenido es su pie."""

    required_arguments = 1
    has_content = True
    css_class: ClassVar = "diagram-figure"
    option_spec: ClassVar = {
        "name": directives.unchanged,
        "alt": directives.unchanged_required,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        alt = " ".join(self.options.get("alt", "").split())
        if not alt:
            raise self.error(f"la figura {name} necesita :alt: con lo que se ve en ella")
        try:
            return [self._figure(self._markup(name, alt))]
        except FileNotFoundError as error:
            logger.warning("no existe %s", error.filename, location=self.get_location())
            return []

    def _markup(self, name: str, alt: str) -> str:
        path = Path(self.env.srcdir) / FIGURES / f"{name}.svg"
        self.env.note_dependency(str(path))
        digest = hashlib.sha256(f"{self.env.docname}/{name}".encode()).hexdigest()[:6]
        try:
            return inline_svg(path, alt, f"{name.replace('_', '-')}-{digest}")
        except ET.ParseError as error:
            raise self.error(f"{path.name} no es un SVG correcto: {error}") from error

    def _figure(self, markup: str) -> nodes.figure:
        figure = nodes.figure("", nodes.raw("", markup, format="html"), align="center")
        figure["classes"] += [self.css_class, *self.options.get("class", [])]
        self.set_source_info(figure)
        if self.content:
            figure += self._caption()
        self.add_name(figure)
        return figure

    def _caption(self) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        first, *rest = holder.children
        caption = nodes.caption(first.rawsource, "", *first.children)
        caption.source, caption.line = first.source, first.line
        return [caption, *([nodes.legend("", *rest)] if rest else [])]


def setup(app: Sphinx) -> None:
    app.add_directive("diagram", Diagram)
