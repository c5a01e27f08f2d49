"""El código y lo impreso: qué se lista de la biblioteca, y cómo se parte la línea que no cabe.

Un listado (`literalinclude` con `:pyobject:`) muestra lo que enseña: sin descripciones ni
comprobaciones de lo que llega, y en ochenta columnas. Debajo, plegado, va el mismo código entero.
Con `:lines:` o con `:docstring:` no se quita nada más que el ejemplo con que acaba la descripción.
Si el objeto está en la documentación de la biblioteca, un enlace lleva a él.

Cada línea va en su caja (`.line`), con su sangría en `--indent`; el estilo del libro parte la que
no cabe en la columna y sangra lo que sigue. El texto no cambia: se copia como se escribió.
"""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import PurePosixPath
from textwrap import dedent, indent
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from pygments.formatters import HtmlFormatter
from sphinx.application import Sphinx
from sphinx.directives import code

from .questions import Markup

TAG = re.compile(r"<[^>]*>")
EXAMPLE = re.compile(r'\n\n +Ejemplo:\n.*?(?=\n +""")', re.DOTALL)
COLUMNS = 80
CHECK = re.compile(r"_?(require|check|refuse)(_\w+|$)")


class ListingReader(code.LiteralIncludeReader):
    """Lee un listado; el de un objeto de Python, sin lo que no enseña."""

    def pyobject_filter(self, lines: list[str], location=None) -> list[str]:
        found = super().pyobject_filter(lines, location)
        if "pyobject" not in self.options:
            return found
        text = EXAMPLE.sub("", "".join(found))
        if self.options.keys().isdisjoint({"lines", "docstring"}):
            text = narrow(essential(text))
        return text.splitlines(keepends=True)


class Listing(code.LiteralInclude):
    """`literalinclude`; el listado abreviado lleva debajo, plegado, el entero."""

    option_spec: ClassVar = {**code.LiteralInclude.option_spec, "docstring": directives.flag}

    def run(self) -> list[nodes.Node]:
        shown = super().run()
        if "pyobject" not in self.options:
            return shown
        shown.append(ListingHome(object=self._full_name()))
        if "docstring" in self.options:
            return shown
        for option in ("name", "caption", "emphasize-lines"):
            self.options.pop(option, None)
        self.options["docstring"] = None
        whole = super().run()
        if not whole or whole[0].astext() == shown[0].astext():
            return shown
        summary = Markup("summary", nodes.Text("ver completa"))
        return [*shown, Markup("details", summary, *whole, **{"class": "listing-whole"})]

    def _full_name(self) -> str:
        path = PurePosixPath(self.arguments[0]).with_suffix("")
        return ".".join((*(part for part in path.parts if part != ".."), self.options["pyobject"]))


class ListingHome(nodes.General, nodes.Element):
    """El lugar del enlace de un listado a su objeto en la documentación."""


def link_homes(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Pone cada enlace a la documentación; el de lo que no está en ella se quita."""
    known = app.env.get_domain("py").objects
    for place in list(doctree.findall(ListingHome)):
        found = known.get(place["object"])
        if found is None or app.builder.format != "html":
            place.parent.remove(place)
            continue
        address = app.builder.get_relative_uri(docname, found.docname)
        link = nodes.reference("", "en la biblioteca", refuri=f"{address}#{found.node_id}")
        link["internal"] = True
        place.replace_self(nodes.paragraph("", "", link, classes=["listing-home"]))


def essential(text: str) -> str:
    """El código sin descripciones ni comprobaciones: ni `if …: raise` ni `require_…(…)`."""
    lines = dedent(text).splitlines()
    gone: set[int] = set()
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            gone |= _left_out(node, lines)
    kept = [line for number, line in enumerate(text.splitlines(), 1) if number not in gone]
    text = "\n".join(kept)
    text = re.sub(r"\n{3,}", "\n\n", text)
    # Tras una firma o antes de lo que ya se quitó no queda un renglón en blanco.
    return re.sub(r":\n\n(?= +(?!def|@|class))", ":\n", text).rstrip() + "\n"


def narrow(text: str) -> str:
    """El mismo código, partido para que quepa en ochenta columnas."""
    if max(map(len, text.splitlines())) <= COLUMNS:
        return text
    margin = re.match(" *", text)[0]
    width = str(COLUMNS - len(margin))
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", width, "-"]
    done = subprocess.run(
        command, input=dedent(text), capture_output=True, check=True, encoding="utf-8"
    )
    return indent(done.stdout, margin)


def _left_out(node: ast.ClassDef | ast.FunctionDef, lines: list[str]) -> set[int]:
    """Los renglones que sobran de un cuerpo; una función no se queda vacía."""
    extra = [part for part in node.body if _is_docstring(part) or _is_check(part)]
    if len(extra) == len(node.body):
        extra = [part for part in extra if _is_docstring(part)]
    if len(extra) == len(node.body):
        return set()
    return {number for part in extra for number in _span(part, lines)}


def _span(part: ast.stmt, lines: list[str]) -> range:
    """Los renglones de una instrucción y los de los comentarios que lleva encima."""
    first = part.lineno
    while lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return range(first, part.end_lineno + 1)


def _is_docstring(part: ast.stmt) -> bool:
    return (
        isinstance(part, ast.Expr)
        and isinstance(part.value, ast.Constant)
        and isinstance(part.value.value, str)
    )


def _is_check(part: ast.stmt) -> bool:
    if isinstance(part, ast.If):
        return not part.orelse and all(isinstance(each, ast.Raise) for each in part.body)
    if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Call)):
        return False
    called = part.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return bool(CHECK.fullmatch(name))


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
    app.add_directive("literalinclude", Listing, override=True)
    app.add_node(ListingHome)
    app.connect("builder-inited", box_lines)
    app.connect("doctree-resolved", link_homes)
