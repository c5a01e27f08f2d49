"""Saca el texto que lee una persona de capítulos, cuadernos, código y figuras.

El código, las fórmulas, los roles y las direcciones quedan fuera porque los separa un analizador de
cada lenguaje: markdown-it, ast y tokenize, ElementTree.
"""

import ast
import io
import re
import tokenize
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from doctest import DocTestParser
from functools import cache
from inspect import cleandoc
from pathlib import Path

from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.front_matter import front_matter_plugin
from mdit_py_plugins.myst_blocks import myst_block_plugin
from mdit_py_plugins.myst_role import myst_role_plugin
from mdit_py_plugins.substitution import substitution_plugin

ROOT = Path(__file__).resolve().parents[2]
DIRECTIVE = re.compile(r"^\{([\w:.-]+)\}\s*(.*)$", re.S)
OPTION = re.compile(r"^:([\w-]+):\s*(.*)$")
# Directivas cuyo argumento es un nombre, no un título.
NAMED = {
    "diagram",
    "laboratory",
    "screen",
    "figure",
    "image",
    "literalinclude",
    "code-cell",
    "code",
    "grid",
    "bibliography",
}
NOT_PROSE = {
    "literalinclude",
    "math",
    "eval-rst",
    "bibliography",
    "code",
    "mermaid",
    "toctree",
    "raw",
}
READ_OPTIONS = {"alt", "caption"}
ROLE_TARGET = re.compile(r"^(.*?)\s*<[^<>]*>$", re.S)
# Textos del corpus: son datos, en español y en inglés; tienen sus propias pruebas.
CORPUS = {
    "course_lib/data/_grammar.py",
    "course_lib/one_page/transformer.py",
}
# Textos que no son prosa: patrones de einops, expresiones regulares, marcado, SQL y
# mensajes de torch.
MACHINE = re.compile(
    r"^def |->|\\|\(\?:|<\w+ |xmlns|0x|inplace|^\s*(SELECT|CREATE|INSERT)\b"
    r"|[a-z]:(?:[\d#]|[a-z-]+;)|stroke="  # y hojas de estilo
)
OPTIONS = {"loc", "style", "textcoords", "xycoords"}  # argumentos cuyo valor no es prosa
SPOKEN_ROLES = {"term", "ref", "doc", "numref", "eq", "record"}


@dataclass(frozen=True)
class Prose:
    """Un trozo de texto y de dónde salió; `foreign`, en cursiva (así se introduce el inglés)."""

    source: str
    line: int
    text: str
    foreign: bool = False


@cache
def parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark").enable("table")
    for plugin in (
        front_matter_plugin,
        myst_block_plugin,
        myst_role_plugin,
        colon_fence_plugin,
        deflist_plugin,
        attrs_plugin,
        attrs_block_plugin,
        substitution_plugin,
        amsmath_plugin,
    ):
        markdown.use(plugin)
    return markdown.use(dollarmath_plugin, allow_labels=True, allow_space=True, allow_digits=True)


def of_markdown(text: str, source: str, first: int = 1) -> Iterator[Prose]:
    """El texto de una página MyST, con el de las directivas que contienen texto."""
    for token in parser().parse(text):
        line = first + (token.map[0] if token.map else 0)
        if token.type == "inline":
            yield from _of_inline(token.children or [], source, line)
        elif token.type in {"fence", "colon_fence"}:
            yield from _of_directive(token.info.strip(), token.content, source, line + 1)


def _of_inline(children: list, source: str, line: int) -> Iterator[Prose]:
    emphasis = 0
    text = ""
    address = False
    for token in children:
        if token.type in {"link_open", "link_close"}:
            address = token.type == "link_open" and token.markup == "autolink"
        if address:
            continue
        if token.type in {"em_open", "em_close"}:
            if text.strip():
                yield Prose(source, line, text, foreign=emphasis > 0)
            text = ""
            emphasis += 1 if token.type == "em_open" else -1
        elif token.type == "text":
            text += token.content
        elif token.type in {"softbreak", "hardbreak"}:
            text += " "
        elif token.type == "myst_role":
            text += _spoken(token)
        elif token.type in {"code_inline", "math_inline", "html_inline", "image"}:
            text += f" {token.content} " if token.type == "image" else " ∎ "
    if text.strip():
        yield Prose(source, line, text, foreign=emphasis > 0)


def _spoken(token) -> str:
    """Lo que se lee de un rol: el texto de un término o el título de un enlace."""
    name, content = token.meta.get("name", ""), token.content
    explicit = ROLE_TARGET.match(content)
    if explicit and name in SPOKEN_ROLES:
        return explicit[1]
    return content if name in {"term", "sub", "sup"} else " ∎ "


def _of_directive(info: str, content: str, source: str, line: int) -> Iterator[Prose]:
    match = DIRECTIVE.match(info)
    if match is None:
        return
    name, argument = match[1], match[2].split("\n")[0].strip()
    if name == "code-cell":
        header, content = _split_header(content)
        for caption in re.findall(r"(?m)^\s+caption: (.+)$", header):
            yield from of_markdown(caption, source, line)
        yield from of_code(content, source, line + header.count("\n"))
        return
    if argument and name not in NAMED | NOT_PROSE:
        yield from of_markdown(argument, source, line - 1)
    body, options, skipped = _split_options(content)
    for option, value in options.items():
        if option in READ_OPTIONS:
            yield Prose(source, line, value)
    if name not in NOT_PROSE:
        yield from of_markdown(body, source, line + skipped)


def _split_header(content: str) -> tuple[str, str]:
    """El bloque entre `---` con el que puede empezar una celda, y lo que sigue."""
    match = re.match(r"---\n.*?\n---\n", content, re.S)
    return (match[0], content[match.end() :]) if match else ("", content)


def _split_options(content: str) -> tuple[str, dict[str, str], int]:
    lines, options = content.splitlines(), {}
    while lines and (match := OPTION.match(lines[0])):
        options[match[1]] = match[2]
        lines.pop(0)
    return "\n".join(lines), options, len(content.splitlines()) - len(lines)


def of_code(code: str, source: str, first: int = 1, *, library: bool = False) -> Iterator[Prose]:
    """Comentarios y mensajes de un código; de un módulo, también sus descripciones."""
    body, _, skipped = _split_options(code)
    # Las líneas de IPython no son Python.
    body = "\n".join("" if re.match(r"\s*[%!]", line) else line for line in body.splitlines())
    first += skipped
    try:
        tree = ast.parse(body)
    except SyntaxError:
        return
    for token in tokenize.generate_tokens(io.StringIO(body + "\n").readline):
        if token.type == tokenize.COMMENT and not re.match(
            r"#\s*(type:|noqa|ruff:|%%|###|STUB)", token.string
        ):
            yield Prose(source, first + token.start[0] - 1, without_code(token.string.lstrip("# ")))
    described = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                described.add(id(node.body[0].value))
                yield from of_docstring(text, source, first + node.body[0].lineno - 1)
    if source in CORPUS:
        return
    technical = described | _technical(tree, library)
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in technical else None
        if isinstance(text, str) and re.search(r"\w\s+\w", text):
            yield Prose(source, first + node.lineno - 1, without_code(text))


def _technical(tree: ast.AST, library: bool) -> set[int]:
    """Textos que lee la máquina: formas, patrones de einops y, en la biblioteca, claves."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            found += ast.walk(node.slice)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node] if MACHINE.search(node.value) else []
        elif isinstance(node, ast.keyword) and node.arg in {
            "loc",
            "style",
            "textcoords",
            "xycoords",
        }:
            found += ast.walk(node.value)
        elif library and isinstance(node, ast.Dict):
            found += [key for key in node.keys if key is not None]
    return {id(node) for node in found}


def of_docstring(text: str, source: str, line: int) -> Iterator[Prose]:
    """La descripción de una función, sin los nombres de sus argumentos ni sus fórmulas.

    De su ejemplo se leen los comentarios y los textos.
    """
    text, _, example = text.partition("\nEjemplo:\n")
    for each in DocTestParser().get_examples(example):
        yield from of_code(each.source, source, line)
    text = SHAPE.sub(" ", text)
    text = re.sub(r"(?m)^(\s+)\*{0,2}[\w.`, ]+?( \([^)]*\))?:(?=\s)", r"\1", cleandoc(text))
    yield from of_markdown(text, source, line)


# Una forma, [batch, t, d_model], nombra ejes con su palabra de programa.
SHAPE = re.compile(r"\[[a-z_]+(, ?[\w ./·*+-]+)*\]")


# En un mensaje, el argumento del que habla («beta: se esperaba…»), uno escrito con su valor y una
# orden, que puede seguir en otro trozo.
ARGUMENT = re.compile(r"^[a-z_]+(?=: )|\b\w+=(\"[^\"]*\"|\w+)|[«`]course [^»`]*(?:[»`]|$)")


def without_code(text: str) -> str:
    """Quita lo que va entre acentos graves, las formas de los tensores y los argumentos."""
    rendered = parser().parseInline(ARGUMENT.sub(" ", SHAPE.sub(" ", text)))
    kept = [
        child.content if child.type == "text" else " "
        for token in rendered
        for child in token.children or []
    ]
    return "".join(kept)


def of_svg(path: Path) -> Iterator[Prose]:
    """Los rótulos de un diagrama; las letras de fórmula llevan cursiva y quedan fuera."""
    for element in ET.parse(path).getroot().iter():
        named = element.tag.rpartition("}")[2] in {"text", "title", "desc", "tspan"}
        if named and element.text and element.get("font-style") != "italic":
            yield Prose(path.name, 1, element.text)


def book_files() -> list[Path]:
    return sorted((ROOT / "book").glob("*.md"))


def solution_files() -> list[Path]:
    return sorted((ROOT / "solutions").glob("*.md"))


def library_files() -> list[Path]:
    return sorted((ROOT / "course_lib").rglob("*.py"))


def library_texts() -> list[Path]:
    return sorted((ROOT / "course_lib" / "notebooks" / "texts").glob("*.md"))


def figure_files() -> list[Path]:
    return sorted((ROOT / "book" / "_figures").glob("*.svg"))


def everything() -> Iterator[Prose]:
    """Todo lo que lee una persona, salvo los documentos de la raíz."""
    for path in [*book_files(), *solution_files(), *library_texts()]:
        yield from of_markdown(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    for path in library_files():
        text = path.read_text("utf-8")
        if path.parent.name == "data":  # Entre comillas, ejemplos del corpus y de su traducción.
            text = re.sub(r"«[^»\n]*»", "«»", text)
        yield from of_code(text, str(path.relative_to(ROOT)), library=True)
    for path in figure_files():
        yield from of_svg(path)
