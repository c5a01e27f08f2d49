"""El código y lo impreso: qué se lista de la biblioteca, y cómo se parte la línea que no cabe.

Un listado (`literalinclude` con `:pyobject:`) deja fuera el ejemplo con que acaba la descripción:
la página ya da los suyos, y ese se lee en la de la biblioteca.

Cada línea va en su caja (`.line`), con su sangría en `--indent`; el estilo del libro parte la que
no cabe en la columna y sangra lo que sigue. El texto no cambia: se copia como se escribió.
"""

import re
from collections.abc import Iterator

from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.directives import code

TAG = re.compile(r"<[^>]*>")
EXAMPLE = re.compile(r'\n\n +Ejemplo:\n.*?(?=\n +""")', re.DOTALL)


class ListingReader(code.LiteralIncludeReader):
    """Lee un listado; el de un objeto de Python, sin el ejemplo de sus descripciones."""

    def pyobject_filter(self, lines: list[str], location=None) -> list[str]:
        found = super().pyobject_filter(lines, location)
        if "pyobject" not in self.options:
            return found
        return EXAMPLE.sub("", "".join(found)).splitlines(keepends=True)


class LineBoxes(HtmlFormatter):
    """El formato de Pygments, con cada línea que no está en blanco dentro de su caja."""

    def wrap(self, source: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        return super().wrap(boxed(source))


def boxed(source: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    for is_code, line in source:
        text = TAG.sub("", line)
        if is_code and text.strip():
            indent = len(text) - len(text.lstrip(" "))
            style = f' style="--indent: {indent}ch"' if indent else ""
            content = line.rstrip("\n")
            yield is_code, f'<span class="line"{style}>{content}</span>\n'
        else:
            yield is_code, line


def box_lines(app: Sphinx) -> None:
    if app.builder.format == "html":
        app.builder.highlighter.formatter = LineBoxes


def setup(app: Sphinx) -> None:
    code.LiteralIncludeReader = ListingReader  # el que usa `literalinclude`; no se puede pedir otro
    app.connect("builder-inited", box_lines)
