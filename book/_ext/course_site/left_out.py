"""Un curso con menos temas: qué páginas quedan fuera del sitio, y qué dice de ellas el resto.

Los temas son los de `course.toml`. Un enlace a lo que no está queda como texto, y una tarjeta de la
portada, o el mapa del curso entero, desaparece: nada avisa y nada queda roto.
"""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import docname_join
from sphinx.util.nodes import split_explicit_title

from course_lib.course_settings import CourseSettings, known_topics

from .contents import ADVICE, drop_pages
from .journey import EXERCISES

LABELLED = re.compile(r"^\(([\w-]+)\)=\s+#+ (.+)$", re.M)
NAMED = re.compile(r"(?:^:(?:name|label): *|\$\$ *\((?=eq-))([\w-]+)", re.M)
TITLE = re.compile(r"^# (.+)$", re.M)
ROLE = re.compile(r"\{(doc|ref|numref|eq)\}`([^`]+)`")
IN_DESCRIPTION = re.compile(r":(doc|eq):`([^`]+)`")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s:]+\.(?:md|ipynb))(?:#[\w-]+)?\)")
CARD = re.compile(r"^(:{3,})\{grid-item-card\}[^\n]*\n:link: (\S+)\n.*?^\1$\n*", re.M | re.S)
EMPTY_GRID = re.compile(r"^(:{3,})\{grid\}[^\n]*\n(?::[\w-]+:[^\n]*\n)*\s*^\1$\n*", re.M)
WHOLE_MAP = re.compile(r"^```\{diagram\} course_map\n.*?^```$\n*", re.M | re.S)


@dataclass
class LeftOut:
    """Lo que no está en el sitio.

    Argumentos:
        titles: por página, su título.
        labels: por etiqueta, la página en que está y el título del apartado; vacío si es de una
            figura o una ecuación.
    """

    titles: dict[str, str] = field(default_factory=dict)
    labels: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, name: str, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".ipynb":
            text = "".join(json.loads(text)["cells"][0]["source"])
        title = TITLE.search(text)
        self.titles[name] = title[1] if title else name
        self.labels |= dict.fromkeys(NAMED.findall(text), (name, ""))
        self.labels |= {label: (name, heading) for label, heading in LABELLED.findall(text)}

    def retell(self, docname: str, text: str) -> str:
        """Da el texto de una página sin enlaces a lo que no está."""

        def is_out(target: str) -> bool:
            return docname_join(docname, target) in self.titles

        if not self.titles:
            return text
        text = CARD.sub(lambda m: "" if is_out(m[2]) else m[0], text)
        text = WHOLE_MAP.sub("", EMPTY_GRID.sub("", text))
        text = LINK.sub(lambda m: m[1] if is_out(m[2].rpartition(".")[0]) else m[0], text)
        return self.without_roles(ROLE, docname, text)

    def without_roles(self, roles: re.Pattern, docname: str, text: str) -> str:
        """Da un texto con los roles que llevan a lo que no está en palabras."""

        def role(found: re.Match) -> str:
            told = self._told(found[1], found[2], docname)
            return found[0] if told is None else told

        return roles.sub(role, text)

    def _told(self, kind: str, content: str, docname: str) -> str | None:
        """Da lo que se lee en lugar de un enlace; None si lleva a algo que sí está."""
        explicit, title, target = split_explicit_title(content)
        if kind == "doc":
            found = self.titles.get(docname_join(docname, target))
            return found and (title if explicit else found)
        if target not in self.labels:
            return None
        page, heading = self.labels[target]
        if explicit or heading:
            return title if explicit else heading
        return f"{'figura ' if kind == 'numref' else ''}de «{self.titles[page]}»"


def pages_left_out(course: CourseSettings) -> set[str]:
    """Las páginas de los temas que el curso no tiene, menos las que comparte con los que sí."""
    out = [topic for topic in known_topics() if not course.includes(topic)]
    sheets = {f"{kind}{topic}" for topic in out for kind in (EXERCISES, "solutions/")}
    return sheets | {f"book/{name}" for name in course.absent_chapters}


def leave_out_topics(app: Sphinx, config) -> None:
    found, course = LeftOut(), config.course_settings
    pages = {name.rpartition("/")[2] for name in config.external_site_map}
    if unknown := [name for name in course.leave_out if name not in pages]:
        raise SystemExit(
            f"\n`leave_out`, en course.toml: se esperaban páginas del índice (_toc.yml), y llegó "
            f"«{unknown[0]}».\n\n{ADVICE}"
        )
    names = pages_left_out(course)
    for name in sorted(names):
        for path in Path(app.srcdir).glob(f"{name}.*"):
            if path.suffix in (".md", ".ipynb"):
                found.add(name, path)
                config.exclude_patterns.append(f"{name}{path.suffix}")
    drop_pages(config, names)
    app.left_out, config.course_left_out = found, sorted(found.titles)


def mend_source(app: Sphinx, docname: str, text: str) -> str:
    """Da el texto de una página, o de una celda, sin enlaces a lo que no está."""
    return app.left_out.retell(docname, text)


def mend_page(app: Sphinx, docname: str, source: list[str]) -> None:
    source[0] = mend_source(app, docname, source[0])


def mend_description(app: Sphinx, what, name, described, options, lines: list[str]) -> None:
    """Lo mismo, en las descripciones de la biblioteca."""
    text = app.left_out.without_roles(IN_DESCRIPTION, "", "\n".join(lines))
    lines[:] = text.split("\n")


def forget_built(app: Sphinx, exception: Exception | None) -> None:
    """Borra lo que quedó de una construcción con más temas."""
    if exception is None and app.builder.name == "html":
        for name in app.config.course_left_out:
            Path(app.outdir, f"{name}.html").unlink(missing_ok=True)
            Path(app.outdir, "notebooks", f"{name}.ipynb").unlink(missing_ok=True)


def setup(app: Sphinx) -> None:
    app.add_config_value("course_left_out", [], "env")
    # sphinx-external-toc lee el índice con prioridad 900.
    app.connect("config-inited", leave_out_topics, priority=950)
    app.connect("source-read", mend_page)
    # Después de que se vuelvan enlaces (500).
    app.connect("autodoc-process-docstring", mend_description, priority=600)
    app.connect("build-finished", forget_built)
