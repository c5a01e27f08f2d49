"""Cuadernos que se leen bien fuera del sitio: de MyST al Markdown que entienden Jupyter y Colab.

Una celda se analiza con el mismo analizador del libro y solo se reescribe lo que Jupyter no
conoce; el resto queda letra por letra. Lo que está en otras páginas (números, títulos, citas,
código) lo responde un objeto `Book`; aquí no se sabe nada de Sphinx.
"""

import html
import re
import textwrap
from collections.abc import Iterator
from typing import Protocol

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .question_text import split_options

TITLES = {
    "attention": "Atención",
    "caution": "Con cuidado",
    "danger": "Peligro",
    "error": "Error",
    "hint": "Pista",
    "important": "Importante",
    "note": "Nota",
    "seealso": "Véase también",
    "tip": "Consejo",
    "warning": "Advertencia",
}
DIRECTIVE = re.compile(r"\{([\w:-]+)\}\s*(.*)")
OPTION = re.compile(r":([\w-]+):\s*(.*)")
LEFT_OUT = {"myst_target": "", "myst_line_comment": "", "myst_block_break": "\n"}
FENCES = {"fence", "colon_fence"}
MATH = {"math_block", "math_block_label"}

Edit = tuple[int, int, str]


class Book(Protocol):
    """Lo que una celda necesita saber del resto del libro; todo se entrega ya en Markdown."""

    def role(self, name: str, content: str) -> str: ...
    def link(self, address: str) -> str | None: ...
    def equation(self, label: str) -> str: ...
    def figure(self, label: str) -> str: ...
    def code(self, path: str, options: dict[str, str]) -> str: ...
    def image(self, diagram: str) -> tuple[str, int]: ...
    def screen(self, name: str) -> tuple[str, int]: ...


def to_jupyter(text: str, book: Book, parser: MarkdownIt, *, quoted: bool = False) -> str:
    """El texto de una celda sin nada propio de MyST.

    Argumentos:
        text: Markdown con directivas, roles y etiquetas.
        book: responde por lo que está fuera de la celda.
        parser: el analizador de MyST con las extensiones del libro.
        quoted: el resultado irá en una cita («> »); las fórmulas quedan en una sola línea, porque
            Jupyter las lee antes de quitar el «>» de las siguientes.

    Devuelve:
        El Markdown, sin líneas vacías alrededor.

    Errores:
        ValueError: hay una directiva o un rol sin conversión.
    """
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    starts.append(len(text))
    result, position = [], 0
    for start, end, new in _edits(text, starts, book, parser, quoted):
        result += [text[position:start], new]
        position = end
    return "".join([*result, text[position:]]).strip("\n")


def _edits(
    text: str, starts: list[int], book: Book, parser: MarkdownIt, quoted: bool
) -> Iterator[Edit]:
    """Qué tramos cambian (inicio, fin, texto nuevo), en el orden en que aparecen."""
    position = 0
    for token in parser.parse(text):
        if token.map is None:
            continue
        start, end = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
        if token.type == "inline":
            for edit in _inline_edits(text, max(start, position), token, book):
                position = edit[1]
                yield edit
        elif (new := _block(token, book, parser, quoted)) is not None:
            indent = re.match(r"[ \t]*", text[start:])[0]
            yield start, end, textwrap.indent(f"{new}\n", indent) if new else ""


def _inline_edits(text: str, position: int, token: Token, book: Book) -> Iterator[Edit]:
    """Roles, enlaces a otras páginas y fórmulas partidas en dos líneas."""
    for child in token.children:
        pattern, new = _inline(child, book)
        if pattern and (found := re.compile(pattern).search(text, position)):
            position = found.end()
            yield found.start(), found.end(), new(found)


def _inline(child: Token, book: Book):
    if child.type == "myst_role":
        name, content = child.meta["name"], " ".join(child.content.split())
        pattern = rf"\{{{re.escape(name)}\}}(`+)\s*{_words(content)}\s*\1"
        return pattern, lambda found: book.role(name, content)
    if child.type == "math_inline":
        pattern = rf"(?<!\$)\$\s*{_words(child.content)}\s*\$"
        return pattern, lambda found: " ".join(found[0].split()) if "\n" in found[0] else found[0]
    if child.type == "link_open" and not re.match(r"[a-z]+:|#", child.attrs["href"]):
        url = book.link(child.attrs["href"])
        pattern = rf"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(\s*{re.escape(child.attrs['href'])}\s*\)"
        return pattern, lambda found: f"[{found[1]}]({url})" if url else found[1]
    return None, None


def _words(content: str) -> str:
    """Encuentra el contenido aunque en la celda esté partido en líneas, con sangría o con «>»."""
    return r"[\s>]+".join(map(re.escape, content.split()))


def _block(token: Token, book: Book, parser: MarkdownIt, quoted: bool) -> str | None:
    """El texto que sustituye a un bloque; None si Jupyter ya lo entiende."""
    if token.type in LEFT_OUT:
        return LEFT_OUT[token.type]
    if token.type in MATH:
        tag = book.equation(token.info) if token.type == "math_block_label" else ""
        body = token.content.strip() + (rf" \tag{{{tag}}}" if tag else "")
        return "$$ " + " ".join(body.split()) + " $$" if quoted else f"$$\n{body}\n$$"
    if token.type in FENCES and (match := DIRECTIVE.match(token.info.strip())):
        options, body = _split(token.content)
        return _directive(match[1], match[2], options, body, book, parser)
    return None


def _split(content: str) -> tuple[dict[str, str], str]:
    """Las opciones del principio de una directiva y su cuerpo."""
    lines, options = content.splitlines(), {}
    while lines and (match := OPTION.fullmatch(lines[0].strip())):
        options[match[1]] = match[2]
        lines.pop(0)
    return options, "\n".join(lines)


def _directive(name: str, title: str, options: dict, body: str, book: Book, parser) -> str:
    def convert(text: str, *, quoted: bool = False) -> str:
        return to_jupyter(text, book, parser, quoted=quoted)

    match name:
        case "literalinclude":
            return fenced(book.code(title, options), options.get("language", "python"))
        case "diagram" | "laboratory" | "screen":
            number = book.figure(options["name"]) if "name" in options else "Figura"
            image = book.screen(title) if name == "screen" else book.image(title)
            return picture(*image, options["alt"], f"**{number}.** {convert(body)}")
        case "dropdown" | "prediction":
            return folded(convert(title), convert(body))
        case "optional" if body.strip():
            return folded(f"Para quien quiera más{title and ': '}{convert(title)}", convert(body))
        case "optional":
            return "*Para quien quiera más: este apartado se puede saltar.*\n"
        case "score":
            return convert(body)
        case "question":
            return _question(convert, title, body)
        case "grid":
            return convert(body)
        case "grid-item-card" if options.get("link-type") == "doc":
            return quote(
                book.role("doc", f"{title} <{options['link']}>"), convert(body, quoted=True)
            )
        case "admonition" | "grid-item-card":
            return quote(convert(title), convert(body, quoted=True))
        case _ if name in TITLES:
            return quote(TITLES[name], convert(f"{title}\n{body}", quoted=True))
    raise ValueError(
        f"la directiva {{{name}}} no tiene conversión para los cuadernos que se descargan: "
        "añádela en book/_ext/course_site/portable.py o usa otra"
    )


def _question(convert, title: str, body: str) -> str:
    """La pregunta en una cita y, plegado, lo que se contesta a cada opción."""
    before, options = split_options(body.splitlines())
    listed = "\n".join(f"- {convert(option.text)}" for option in options)
    replies = "\n\n".join(
        f"{'✓' if option.right else '✗'} **{convert(option.text)}** "
        + convert("\n".join(option.reply).strip())
        for option in options
    )
    asked = quote("Pregunta", f"{convert(title)}\n\n{convert(chr(10).join(before))}\n\n{listed}")
    return f"{asked}\n{folded('Ver la respuesta', replies)}"


def folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{title}</summary>\n\n{body}\n\n</details>\n"


def quote(title: str, body: str) -> str:
    """Una cita con el título en negrita."""
    return textwrap.indent(f"**{title}**\n\n{body}", "> ", lambda line: True) + "\n"


def fenced(code: str, language: str) -> str:
    """Un bloque de código, con una valla más larga que cualquiera de dentro."""
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall("`+", code) or [""]))
    return f"{fence}{language}\n{textwrap.dedent(code).strip()}\n{fence}"


def picture(source: str, width: int, alt: str, caption: str) -> str:
    """La imagen y su pie."""
    alt = html.escape(" ".join(alt.split()))
    return f'<img src="{source}" alt="{alt}" width="{width}">\n\n{caption}\n'
