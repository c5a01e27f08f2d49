"""Preguntas que se contestan en la página, predicciones y lo que es opcional.

Todo funciona sin guiones, con `<details>`; `questions.js` convierte cada pregunta en botones o en
un campo para escribir un número. No hay servidor ni se guarda nada.
"""

import hashlib
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from .question_text import Option, require_numbers, split_options

DEEPER = "Para quien quiera más"
VERDICTS = {True: "Correcto.", False: "No es eso."}


class Markup(nodes.General, nodes.Element):
    """Un elemento de HTML, con lo que lleve dentro."""

    def __init__(self, tag: str = "div", *children: nodes.Node, **attributes: str) -> None:
        super().__init__("", *children, tag=tag, html=attributes)


class SectionIsOptional(nodes.Element):
    """La marca que deja `optional` sin contenido: su apartado se pliega."""


class Asking(SphinxDirective):
    """Lo común: un título en línea y un contenido."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def inline(self, text: str, line: int | None = None) -> list[nodes.Node]:
        found, messages = self.state.inline_text(text, line or self.lineno)
        return [*found, *messages]

    def blocks(self, start: int = 0, stop: int | None = None, indent: int = 0) -> list[nodes.Node]:
        lines = self.content[start:stop]
        if indent:
            lines.trim_left(indent)
        holder = nodes.Element()
        self.state.nested_parse(lines, self.content_offset + start, holder)
        return holder.children


class Question(Asking):
    """Una pregunta con opciones o, con `:number:`, con un número que se escribe."""

    option_spec: ClassVar = {"number": directives.flag}

    def run(self) -> list[nodes.Node]:
        try:
            before, options = split_options(list(self.content))
            if "number" in self.options:
                require_numbers(options)
        except ValueError as error:
            raise self.error(f"{{question}} {self.arguments[0]}: {error}") from error
        stem = Markup("div", nodes.paragraph("", "", *self.inline(self.arguments[0])))
        stem["html"] = {"class": "question-stem"}
        if "".join(before).strip():
            stem += self.blocks(stop=len(before))
        kind = "number" if "number" in self.options else "choice"
        if kind == "choice":
            options = shuffled(options, self.arguments[0])
        whole = Markup("div", stem, **{"class": "question", "data-kind": kind})
        if kind == "choice":
            whole += self._choices(options)
        whole += self._answer(options, kind)
        return [whole]

    def _choices(self, options: list[Option]) -> Markup:
        line = self.content_offset + 1
        items = [Markup("li", *self.inline(o.text, line + o.line)) for o in options]
        return Markup("ol", *items, **{"class": "question-options", "type": "a"})

    def _answer(self, options: list[Option], kind: str) -> Markup:
        replies = [self._reply(option, kind) for option in options]
        replies = Markup("ol", *replies, **{"class": "question-replies", "type": "a"})
        summary = Markup("summary", nodes.Text("Ver la respuesta"))
        return Markup("details", summary, replies, **{"class": "question-answer"})

    def _reply(self, option: Option, kind: str) -> Markup:
        html = {"class": "right" if option.right else "wrong"}
        said = Markup("strong", **{"class": "question-verdict"})
        if kind == "number":  # con guiones se quita: quien contesta ya sabe qué escribió
            value = nodes.Text(f"{option.text.capitalize()}: ")
            said += Markup("span", value, **{"class": "question-value"})
            if option.number:
                html["data-value"], html["data-tolerance"] = map(str, option.number)
        said += nodes.Text(f"{VERDICTS[option.right]} ")
        start = option.line + 1
        first, *rest = self.blocks(start, start + len(option.reply), indent=2)
        first.insert(0, said)
        return Markup("li", first, *rest, **html)


def shuffled(options: list[Option], stem: str) -> list[Option]:
    """Las opciones en un orden que no dice cuál es la buena, y que es el mismo cada vez."""
    return sorted(options, key=lambda o: hashlib.sha256(f"{stem}{o.text}".encode()).digest())


class Prediction(Asking):
    """«¿Qué crees que pasará?»: el título pregunta y el contenido, plegado, responde."""

    def run(self) -> list[nodes.Node]:
        title = self.inline(self.arguments[0])
        return [folded("prediction", "Antes de seguir", title, self.blocks())]


class Optional(Asking):
    """Lo que se puede saltar: su contenido o, si no tiene, el apartado en que está."""

    required_arguments = 0
    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        title = self.inline(self.arguments[0]) if self.arguments else []
        if self.content:
            return [folded("optional", DEEPER, title, self.blocks())]
        return [SectionIsOptional("", *title)]


class Score(SphinxDirective):
    """Cuántas preguntas del apartado se acertaron a la primera; el contenido dice qué hacer."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        holder = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, holder)
        return [Markup("div", *holder.children, **{"class": "question-score"})]


class FoldOptionalSections(SphinxTransform):
    """Pliega el apartado en que está la marca, con todo menos su título."""

    default_priority = 400

    def apply(self, **kwargs) -> None:
        for mark in list(self.document.findall(SectionIsOptional)):
            section = mark.parent
            position = section.index(mark)
            rest = section.children[position + 1 :]
            del section.children[position:]
            section += folded("optional", DEEPER, mark.children, rest)


def folded(kind: str, name: str, title: list[nodes.Node], content: list[nodes.Node]) -> Markup:
    label = Markup("span", nodes.Text(name), **{"class": "folded-name"})
    title = [Markup("span", *title, **{"class": "folded-title"})] if title else []
    summary = Markup("summary", label, *title)
    body = Markup("div", *content, **{"class": "folded-body"})
    return Markup("details", summary, body, **{"class": kind})


def visit_markup(self, node: Markup) -> None:
    attributes = {key: value for key, value in node["html"].items() if key != "class"}
    names = node["html"].get("class", "")
    self.body.append(self.starttag(node, node["tag"], "", CLASS=names, **attributes))


def depart_markup(self, node: Markup) -> None:
    self.body.append(f"</{node['tag']}>\n")


def load_script(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Solo las páginas que preguntan o pliegan algo cargan el guion y su estilo."""
    if doctree is not None and any(doctree.findall(Markup)):
        app.add_js_file("questions.js", loading_method="defer")
        app.add_css_file("questions.css")


def setup(app: Sphinx) -> None:
    app.add_node(Markup, html=(visit_markup, depart_markup))
    for name, directive in (
        ("question", Question),
        ("prediction", Prediction),
        ("optional", Optional),
        ("score", Score),
    ):
        app.add_directive(name, directive)
    app.add_transform(FoldOptionalSections)
    app.connect("html-page-context", load_script)
