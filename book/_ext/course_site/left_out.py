"""Un curso con menos temas o sin soluciones: qué páginas no tiene, y qué dice de ellas el resto.

Los temas son los de `course.toml`. Un enlace a lo que no está queda como texto. Desaparece lo que
solo hablaba de ello: en la portada, las tarjetas, los renglones y el mapa del curso entero; en el
glosario, los términos; en un capítulo, sus ejercicios, sus soluciones y con qué se sigue. Nada
avisa y nada queda roto.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import docname_join, logging
from sphinx.util.nodes import split_explicit_title

from course_lib.course_settings import CourseSettings, known_topics

from .contents import ADVICE, drop_pages, solutions_left_out
from .journey import EXERCISES

logger = logging.getLogger(__name__)
GLOSSARY = "book/glossary"
LABELLED = re.compile(r"^\(([\w-]+)\)=\s+#+ (.+)$", re.M)
NAMED = re.compile(r"(?:^:(?:name|label): *|\$\$ *\((?=eq-))([\w-]+)", re.M)
TITLE = re.compile(r"^# (.+)$", re.M)
ROLE = re.compile(r"\{(doc|ref|numref|eq)\}`([^`]+)`")
IN_DESCRIPTION = re.compile(r":(doc|eq):`([^`]+)`")
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s:]+\.(?:md|ipynb))(?:#[\w-]+)?\)")
CARD = re.compile(r"^(:{3,})\{grid-item-card\}[^\n]*\n:link: (\S+)\n.*?^\1$\n*", re.M | re.S)
GRID = re.compile(r"^(:{3,})\{grid\}((?: \d)+)(\n.*?^\1$)", re.M | re.S)
EMPTY_GRID = re.compile(r"^(:{3,})\{grid\}[^\n]*\n(?::[\w-]+:[^\n]*\n)*\s*^\1$\n*", re.M)
WHOLE_MAP = re.compile(r"^```\{diagram\} course_map\n.*?^```$\n*", re.M | re.S)
HEADING = re.compile(r"(#+) .+")
ITEMS = re.compile(r"^(?=- )", re.M)
OWN_EXERCISES = re.compile(r"^## Ejercicios\n.*?(?=^#|\Z)", re.M | re.S)
ENTRIES = re.compile(r"^(:::\{glossary\}\n)(.*?)(?=^:::$)", re.M | re.S)
TERM = re.compile(r"\{term\}`(?:[^`<]*<([^`>]+)>|([^`<]+))`")
FIRST = re.compile(r"\s+Primer capítulo:\s+\{doc\}`(\w+)`\.")
# Lo que se dice de una página que no está, y lo que queda en su lugar.
TOLD = (
    (re.compile(r"\s+\(\{doc\}`([^`]+)`\)"), ""),
    (re.compile(r"\s+Las soluciones[^.`]*\{doc\}`([^`]+)`\."), ""),
    (re.compile(r"\s+Las \{doc\}`([^`]+)` tienen su página\."), ""),
    (re.compile(r"\s+Después, (?:en )?\{doc\}`([^`]+)`[^.]*\."), ""),
    (re.compile(r"sigue con \{doc\}`([^`]+)`[^.]*"), "sigue adelante"),
)
TWICE = re.compile(r"(de «([^»]+)») de \2")

Absent = Callable[[str], bool]
"""Dice si lo que nombra un enlace no está en el sitio."""


@dataclass
class LeftOut:
    """Lo que no está en el sitio.

    Argumentos:
        titles: por página, su título.
        labels: por etiqueta, la página en que está y el título del apartado; vacío si es de una
            figura o una ecuación.
        front: la portada.
        terms: los términos del glosario que nombran las páginas que sí están.
    """

    titles: dict[str, str] = field(default_factory=dict)
    labels: dict[str, tuple[str, str]] = field(default_factory=dict)
    front: str = ""
    terms: set[str] = field(default_factory=set)

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

        def sheets_are_out(section: str) -> bool:
            return _all_out([each for each in _links(section) if EXERCISES in each], is_out)

        if not self.titles:
            return text
        if self.has_chapters:
            text = _without_cards(text, is_out)
        if docname == self.front:
            text = _front_page(text, is_out)
        elif docname == GLOSSARY:
            text = ENTRIES.sub(lambda m: m[1] + self._entries(m[2], is_out), text)
        text = OWN_EXERCISES.sub(lambda m: "" if sheets_are_out(m[0]) else m[0], text)
        for pattern, instead in TOLD:
            text = pattern.sub(lambda m, new=instead: new if is_out(_target(m[1])) else m[0], text)
        text = LINK.sub(lambda m: m[1] if is_out(m[2].rpartition(".")[0]) else m[0], text)
        return TWICE.sub(r"\1", self.without_roles(ROLE, docname, text))

    @property
    def has_chapters(self) -> bool:
        """Si lo que no está es más que las soluciones."""
        return any(name.startswith("book/") for name in self.titles)

    def _entries(self, text: str, is_out: Absent) -> str:
        """Las entradas del glosario que presenta, o nombra, algo de lo que está."""
        pending = text.strip().split("\n\n")
        entries, used, kept = list(pending), set(self.terms), set()
        while found := [
            each for each in pending if not _first_out(each, is_out) or used & _names(each)
        ]:
            kept |= set(found)
            used |= terms_in("\n".join(found))
            pending = [each for each in pending if each not in kept]
        left = [FIRST.sub("", e) if _first_out(e, is_out) else e for e in entries if e in kept]
        return "\n\n".join(left) + "\n"

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


def terms_in(text: str) -> set[str]:
    """Los términos del glosario que nombra un texto."""
    return {" ".join((a or b).split()).lower() for a, b in TERM.findall(text)}


def _names(entry: str) -> set[str]:
    """Cómo se llama una entrada del glosario."""
    return {line.lower() for line in entry.splitlines() if not line.startswith("  ")}


def _first_out(entry: str, is_out: Absent) -> bool:
    first = FIRST.search(entry)
    return first is not None and is_out(first[1])


def _target(content: str) -> str:
    """A dónde lleva un rol."""
    return split_explicit_title(content)[2]


def _links(text: str) -> list[str]:
    """Las páginas a las que lleva un texto, como las nombra."""
    roles = [_target(content) for kind, content in ROLE.findall(text) if kind == "doc"]
    return roles + [target.rpartition(".")[0] for _, target in LINK.findall(text)]


def _all_out(links: list[str], is_out: Absent) -> bool:
    return bool(links) and all(map(is_out, links))


def _front_page(text: str, is_out: Absent) -> str:
    """La portada, sin los renglones y párrafos que solo llevan a lo que no está."""
    kept: list[str] = []
    for block in reversed(text.split("\n\n")):
        items = ITEMS.split(block)
        left = [item for item in items if not _all_out(_links(item), is_out)]
        if len(left) < len(items):  # el último renglón cierra la lista
            block = re.sub(r";\Z", ".", "".join(left).rstrip("\n"))
        if block and not (kept and _hollow(block, kept[-1])):
            kept.append(block)
    return "\n\n".join(reversed(kept))


def _without_cards(text: str, is_out: Absent) -> str:
    """El texto sin las tarjetas de lo que no está, ni el mapa del curso entero."""
    text = CARD.sub(lambda m: "" if is_out(m[2]) else m[0], text)
    return GRID.sub(_as_wide_as_its_cards, WHOLE_MAP.sub("", EMPTY_GRID.sub("", text)))


def _as_wide_as_its_cards(grid: re.Match) -> str:
    """Una cuadrícula con tantas columnas, a lo sumo, como tarjetas le quedan."""
    cards = len(CARD.findall(grid[3]))
    columns = " ".join(str(min(int(each), cards)) for each in grid[2].split())
    return f"{grid[1]}{{grid}} {columns}{grid[3]}"


def _hollow(block: str, following: str) -> bool:
    """Si es un título sin nada debajo, o lo que anunciaba una lista que ya no está."""
    title = HEADING.fullmatch(block)
    if title:
        below = HEADING.match(following)
        return below is not None and len(below[1]) <= len(title[1])
    return re.search(r"^[^:].*:\Z", block, re.M) is not None and following[0] not in "-:`"


def pages_left_out(course: CourseSettings) -> set[str]:
    """Las páginas de los temas que el curso no tiene, menos las que comparte con los que sí."""
    out = [topic for topic in known_topics() if not course.includes(topic)]
    sheets = {f"{kind}{topic}" for topic in out for kind in (EXERCISES, "solutions/")}
    return sheets | {f"book/{name}" for name in course.absent_chapters}


def leave_out_topics(app: Sphinx, config) -> None:
    found, course = LeftOut(front=config.root_doc), config.course_settings
    _require_known(config)
    names = pages_left_out(course) | solutions_left_out(config)
    for name in sorted(names):
        for path in Path(app.srcdir).glob(f"{name}.*"):
            if path.suffix in (".md", ".ipynb"):
                found.add(name, path)
                config.exclude_patterns.append(f"{name}{path.suffix}")
    drop_pages(config, names)
    for name in config.external_site_map:
        path = Path(app.srcdir, f"{name}.md")
        if name != GLOSSARY and path.is_file():
            found.terms |= terms_in(path.read_text(encoding="utf-8"))
    app.left_out, config.course_left_out = found, sorted(found.titles)


def _require_known(config) -> None:
    """Exige que las páginas que nombra course.toml estén en el índice."""
    course = config.course_settings
    pages = {name.rpartition("/")[2] for name in config.external_site_map}
    for key, named in (("keep", course.keep), ("leave_out", course.leave_out)):
        if unknown := [name for name in named if name not in pages]:
            raise SystemExit(
                f"\n`{key}`, en course.toml: se esperaban páginas del índice (_toc.yml), y llegó "
                f"«{unknown[0]}».\n\n{ADVICE}"
            )


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
    """Borra lo que quedó de una construcción con más temas, y dice qué capítulos no tiene."""
    left_out, built = app.config.course_left_out, Path(app.outdir)
    if exception is not None or app.builder.name != "html" or not left_out:
        return
    for name in left_out:
        for file in (f"{name}.html", f"notebooks/{name}.ipynb"):
            (built / file).unlink(missing_ok=True)
    if chapters := [name.removeprefix("book/") for name in left_out if name.startswith("book/")]:
        logger.info("capítulos que este curso no tiene: %s", ", ".join(chapters))


def setup(app: Sphinx) -> None:
    app.add_config_value("course_left_out", [], "env")
    # sphinx-external-toc lee el índice con prioridad 900.
    app.connect("config-inited", leave_out_topics, priority=950)
    app.connect("source-read", mend_page)
    # Después de que se vuelvan enlaces (500).
    app.connect("autodoc-process-docstring", mend_description, priority=600)
    app.connect("build-finished", forget_built)
