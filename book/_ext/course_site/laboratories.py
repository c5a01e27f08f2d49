"""Directiva `laboratory`: un diagrama que, con guiones, se puede tocar.

Sin ellos queda el dibujo de `book/_figures`, que es también lo que se imprime y lo que lleva el
cuaderno. El guion es `book/_static/labs/NOMBRE.js`: uno corriente, porque los módulos no se cargan
cuando la página se abre sin servidor.
"""

from typing import ClassVar

from docutils import nodes
from sphinx.application import Sphinx

from .diagrams import Diagram


class Laboratory(Diagram):
    """Figura con un laboratorio; el contenido es su pie."""

    css_class: ClassVar = "diagram-figure laboratory-figure"

    def _markup(self, name: str, alt: str) -> str:
        drawing = super()._markup(name, alt)
        return f'<div class="laboratory" data-laboratory="{name}">{drawing}</div>'

    def _figure(self, markup: str) -> nodes.figure:
        figure = super()._figure(markup)
        figure["laboratory"] = self.arguments[0]
        return figure


def load_scripts(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Cada página carga los guiones de sus laboratorios, y ninguno más."""
    figures = doctree.findall(nodes.figure) if doctree is not None else ()
    names = sorted({f["laboratory"] for f in figures if "laboratory" in f})
    for name in ["laboratory", *names] if names else ():
        app.add_js_file(f"labs/{name}.js", loading_method="defer")
        app.add_css_file("labs/labs.css")


def setup(app: Sphinx) -> None:
    app.add_directive("laboratory", Laboratory)
    app.connect("html-page-context", load_scripts)
