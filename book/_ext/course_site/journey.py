"""El camino del curso: de cada sección a sus ejercicios, y de cada ejercicio a su sección.

De qué sección es un ejercicio lo dice él mismo (`seccion:`, en su cabecera), y ningún capítulo lo
repite. «Anterior» y «Siguiente» siguen el mismo camino: capítulo, ejercicios, capítulo.
"""

import functools
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

EXERCISES = "exercises/"
COMPILED = "course_lib/judging/exercises"
REST = ("solutions/", "book/instructor_guide", "book/adopt")
"""Donde acaba el camino: lo que va detrás en el índice no es de quien estudia."""


@dataclass(frozen=True)
class Step:
    """Un ejercicio: su nombre, su título, sus puntos y la sección de la que es."""

    name: str
    title: str
    points: int
    page: str
    label: str
    section: str

    @property
    def topic(self) -> str:
        return self.name.partition(".")[0]

    @property
    def anchor(self) -> str:
        return f"ejercicio-{self.name.partition('.')[2].replace('_', '-')}"


def compiled_file(app: Sphinx, topic: str) -> Path:
    return Path(app.srcdir) / COMPILED / f"{topic}.json"


def steps_of(app: Sphinx, topic: str) -> tuple[Step, ...]:
    """Los ejercicios de un tema, en su orden."""
    path = compiled_file(app, topic)
    return _steps_in(path, path.stat().st_mtime_ns) if path.is_file() else ()


@functools.lru_cache
def _steps_in(path: Path, saved: int) -> tuple[Step, ...]:
    """Los de un archivo; en cada página se pregunta por todos los temas, y se leen una vez."""
    found = []
    for each in json.loads(path.read_text(encoding="utf-8"))["exercises"]:
        section = each.get("section", {"page": "", "label": "", "title": ""})
        place = (section["page"], section["label"], section["title"])
        found.append(Step(each["name"], each["title"], each["points"], *place))
    return tuple(found)


def topics(app: Sphinx) -> list[str]:
    """Los temas con página de ejercicios, en el orden del índice."""
    pages = [name for name in app.config.external_site_map if name.startswith(EXERCISES)]
    return [name.removeprefix(EXERCISES) for name in pages]


def path_of(app: Sphinx) -> list[str]:
    """Las páginas de quien estudia, en orden: los ejercicios, tras el último de sus capítulos."""
    pages = []
    for name in app.config.external_site_map:
        if name.startswith(REST):
            break
        if not name.startswith(EXERCISES) and "." not in name:
            pages.append(name)
    for topic in topics(app):
        chapters = {f"book/{step.page}" for step in steps_of(app, topic)}
        places = [i for i, name in enumerate(pages) if name in chapters]
        pages.insert(max(places, default=len(pages) - 1) + 1, f"{EXERCISES}{topic}")
    return pages


# De la sección a sus ejercicios


def lead_to_exercises(app: Sphinx, doctree: nodes.document) -> None:
    """Pone al final de cada sección los ejercicios que le pertenecen."""
    docname = app.env.docname
    if docname.startswith(EXERCISES):
        return _lead_back(app, doctree, docname.removeprefix(EXERCISES))
    for topic in topics(app):
        steps = [step for step in steps_of(app, topic) if f"book/{step.page}" == docname]
        if steps:
            app.env.note_dependency(str(compiled_file(app, topic)))
        for label in dict.fromkeys(step.label for step in steps):
            section = _section(doctree, label)
            if section is not None:
                section += _card(topic, [step for step in steps if step.label == label])
    return None


def _section(doctree: nodes.document, label: str) -> nodes.section | None:
    for section in doctree.findall(nodes.section):
        if label in section["ids"] or label in section["names"]:
            return section
    return None


def _card(topic: str, steps: list[Step]) -> nodes.container:
    card = nodes.container(classes=["exercise-card"])
    text = "Practícalo" if len(steps) == 1 else "Practícalo, en tu cuaderno"
    card += nodes.paragraph("", "", nodes.strong("", text))
    listed = nodes.bullet_list()
    for step in steps:
        link = _link(step.title, f"../{EXERCISES}{topic}.html#{step.anchor}")
        points = f" ({_points(step.points)})"
        listed += nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(points)))
    card += listed
    return card


def _points(points: int) -> str:
    return f"{points} {'punto' if points == 1 else 'puntos'}"


def _link(text: str, address: str) -> nodes.reference:
    return nodes.reference("", "", *_words(text), refuri=address, internal=True)


_MARKED = re.compile(r"(`[^`]+`|\$[^$]+\$)")


def _words(text: str) -> list[nodes.Node]:
    """El texto de un título, con su código como código y sus fórmulas como fórmulas."""
    kinds = {"`": nodes.literal, "$": nodes.math}
    parts = [part for part in _MARKED.split(text) if part]
    return [
        kinds[part[0]]("", part[1:-1]) if _MARKED.fullmatch(part) else nodes.Text(part)
        for part in parts
    ]


# Del ejercicio a su sección y al que sigue


def _lead_back(app: Sphinx, doctree: nodes.document, topic: str) -> None:
    app.env.note_dependency(str(compiled_file(app, topic)))
    steps = steps_of(app, topic)
    sections = list(doctree.findall(nodes.section))
    pages = path_of(app)
    place = pages.index(f"{EXERCISES}{topic}") + 1
    after = pages[place] if place < len(pages) else ""
    for number, step in enumerate(steps):
        said = f"{_plain(step.title)} ("
        own = next((s for s in sections if s[0].astext().startswith(said)), None)
        if own is None:
            continue
        own["ids"].append(step.anchor)
        parts = [nodes.Text("Lo explica "), _link(step.section, _chapter(step)), nodes.Text(". ")]
        following = steps[number + 1] if number + 1 < len(steps) else None
        if following is not None:
            parts += [nodes.Text("Sigue "), _link(following.title, f"#{following.anchor}")]
        elif after:
            xref = nodes.reference("", "la página siguiente", refuri=f"../{after}.html")
            xref["internal"] = True
            parts += [nodes.Text("Es el último: sigue "), xref]
        own += nodes.paragraph("", "", *parts, nodes.Text("."), classes=["exercise-ways"])
    if sections and steps:
        sections[0].insert(1, _how(app, topic))


def _chapter(step: Step) -> str:
    return f"../book/{step.page}.html#{step.label}"


def _plain(text: str) -> str:
    return text.replace("`", "")


def _how(app: Sphinx, topic: str) -> nodes.container:
    """Cómo hacerlos, en la página que los muestra: descargarlos, en Colab, o empezar de cero."""
    from .downloads import FOLDER, START, colab_url

    card = nodes.container(classes=["exercise-card"])
    card += nodes.paragraph("", "", nodes.strong("", "Cómo hacerlos"))
    listed = nodes.bullet_list()
    notebook = f"../{FOLDER}/{EXERCISES}{topic}.ipynb"
    ways = [[_link("Descarga este cuaderno", notebook), ", y ábrelo donde tengas el curso."]]
    repository = app.config.html_theme_options.get("repository_url", "")
    if url := colab_url(repository, app.config.course_published_branch, f"{EXERCISES}{topic}"):
        colab = nodes.reference("", "Ábrelo en Colab", refuri=url)
        ways.append([colab, ": no hay que instalar nada."])
    if START in app.config.external_site_map:
        start = _link("Empieza aquí", f"../{START}.html")
        ways.insert(0, ["¿La primera vez? ", start, ": un archivo, una orden."])
    for way in ways:
        parts = [nodes.Text(part) if isinstance(part, str) else part for part in way]
        listed += nodes.list_item("", nodes.paragraph("", "", *parts))
    card += listed
    return card


# Anterior y siguiente


def follow_the_path(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """«Anterior» y «Siguiente», por el camino del curso."""
    pages = path_of(app)
    if pagename not in pages:
        return
    place = pages.index(pagename)
    for key, near in (("prev", place - 1), ("next", place + 1)):
        context[key] = None
        if 0 <= near < len(pages) and pages[near] in app.env.titles:
            title = html.escape(app.env.titles[pages[near]].astext())
            context[key] = {"link": context["pathto"](pages[near]), "title": title}


# Tu progreso


class ProgressDirective(SphinxDirective):
    """La lista del curso, con una casilla por capítulo y por ejercicio; la llena `progress.js`."""

    def run(self) -> list[nodes.Node]:
        node = progress()
        app = self.env.app
        for topic in topics(app):
            self.env.note_dependency(str(compiled_file(app, topic)))
        return [node]


class progress(nodes.General, nodes.Element):
    """El lugar de la lista, que se escribe cuando se conocen los títulos."""


def visit_progress(translator, node) -> None:
    app = translator.builder.app
    parts = []
    for name in path_of(app):
        if name.startswith(EXERCISES):
            parts.append(_exercise_boxes(app, name.removeprefix(EXERCISES)))
        elif "kernelspec" in app.env.metadata.get(name, {}) and name != app.config.root_doc:
            title = app.env.titles[name].astext()
            parts.append(_box(name, f"../{name}.html", title, "capítulo"))
    translator.body.append(f'<div class="progress-list">{"".join(parts)}</div>')
    raise nodes.SkipNode


def _exercise_boxes(app: Sphinx, topic: str) -> str:
    title = html.escape(app.env.titles[f"{EXERCISES}{topic}"].astext())
    boxes = "".join(
        _box(
            s.name, f"../{EXERCISES}{topic}.html#{s.anchor}", _plain(s.title), "ejercicio", s.points
        )
        for s in steps_of(app, topic)
    )
    return f"<fieldset><legend>{title}</legend>{boxes}</fieldset>"


def _box(key: str, address: str, title: str, kind: str, points: int = 0) -> str:
    said = f' <span class="progress-points">{_points(points)}</span>' if points else ""
    return (
        f'<div class="progress-row"><input type="checkbox" data-progress="{html.escape(key)}" '
        f'data-kind="{kind}" data-points="{points}" disabled '
        f'aria-label="{html.escape(title)}: hecho">'
        f'<a href="{html.escape(address)}">{html.escape(title)}</a>{said}</div>'
    )


def add_scripts(app: Sphinx, pagename, templatename, context, doctree) -> None:
    if 'class="progress-list"' in context.get("body", ""):
        app.add_js_file("progress.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    app.add_node(progress, html=(visit_progress, None))
    app.add_directive("progress", ProgressDirective)
    app.connect("doctree-read", lead_to_exercises)
    app.connect("html-page-context", follow_the_path)
    app.connect("html-page-context", add_scripts)
    app.add_css_file("journey.css")
