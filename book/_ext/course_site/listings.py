"""El código y lo impreso, línea por línea: la que no cabe se parte sin perder su sangría.

Cada línea va en su caja (`.line`), con su sangría en `--indent`; el estilo del libro parte la que
no cabe en la columna y sangra lo que sigue. El texto no cambia: se copia como se escribió.
"""

import re
from collections.abc import Iterator

from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx

TAG = re.compile(r"<[^>]*>")


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
    app.connect("builder-inited", box_lines)
