"""Lo que leen los buscadores y quien comparte una página, y lo que se ve donde no hay ninguna."""

import json
import re
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape

from docutils import nodes
from markdown_it import MarkdownIt
from sphinx import addnodes
from sphinx.application import Sphinx

from .downloads import site_address

LENGTH = 155
APART = (nodes.figure, nodes.Admonition, nodes.table, addnodes.glossary, nodes.raw)
CHANGES = "CHANGELOG.md"
VERSION = re.compile(r"^## (\d+\.\d+\.\d+) · (\d{4}-\d\d-\d\d)\n(.*?)(?=^## |\Z)", re.M | re.S)
LICENSE = "https://creativecommons.org/licenses/by/4.0/"


def describe(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """La descripción de la página y, si el sitio tiene dirección, dónde está."""
    context["description"] = description(doctree) if doctree is not None else ""
    context["site_address"] = address = site_address(app.config)
    if address:
        context["pageurl"] = f"{address}{quote(pagename)}.html"
        if Path(app.srcdir, CHANGES).is_file():
            context["feed"] = f"{address}feed.xml"
    if pagename == app.config.root_doc:
        context["structured"] = json.dumps(course(app, context), ensure_ascii=False)


def description(doctree: nodes.document) -> str:
    """El comienzo del primer párrafo de verdad, sin fórmulas y sin cortar palabras."""
    for paragraph in doctree.findall(nodes.paragraph):
        if any(isinstance(parent, APART) for parent in _parents(paragraph)):
            continue
        text = " ".join(paragraph.astext().split())
        if len(text) > 60 and not any(paragraph.findall(nodes.math)):
            return shorten(text)
    return ""


def shorten(text: str) -> str:
    """El texto hasta el último punto que cabe o, si no hay, hasta la última palabra."""
    if len(text) <= LENGTH:
        return text
    sentence = text.rfind(". ", 60, LENGTH) + 1
    return text[:sentence] if sentence else f"{text[: text.rfind(' ', 0, LENGTH)].rstrip(',;:')}…"


def _parents(node: nodes.Node):
    while node := node.parent:
        yield node


def course(app: Sphinx, context: dict) -> dict:
    """El curso, como lo describe schema.org."""
    provider = {
        "@type": "Organization",
        "name": app.config.course_settings.institution or app.config.author,
    }
    found = {
        "@context": "https://schema.org",
        "@type": "Course",
        "name": app.config.project,
        "description": context["description"],
        "inLanguage": app.config.language,
        "isAccessibleForFree": True,
        "license": LICENSE,
        "provider": provider,
        "hasCourseInstance": {"@type": "CourseInstance", "courseMode": "online"},
    }
    return found | ({"url": context["pageurl"]} if context.get("site_address") else {})


def write_for_crawlers(app: Sphinx, exception: Exception | None) -> None:
    """`robots.txt` y, si el sitio tiene dirección, `sitemap.xml` y `feed.xml`."""
    if exception is not None or app.builder.format != "html":
        return
    address = site_address(app.config)
    robots, sitemap = "User-agent: *\nAllow: /\n", Path(app.outdir, "sitemap.xml")
    changes, news = Path(app.srcdir, CHANGES), Path(app.outdir, "feed.xml")
    for path in (sitemap, news):
        path.unlink(missing_ok=True)
    if address and changes.is_file():
        text = feed(changes.read_text(encoding="utf-8"), address, app.config)
        news.write_text(text, encoding="utf-8")
    if address:
        robots += f"Sitemap: {address}sitemap.xml\n"
        pages = "".join(
            f"<url><loc>{escape(address + quote(name))}.html</loc></url>\n"
            for name in app.config.external_site_map
        )
        sitemap.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{pages}</urlset>\n',
            encoding="utf-8",
        )
    Path(app.outdir, "robots.txt").write_text(robots, encoding="utf-8")


def feed(changes: str, address: str, config) -> str:
    """Las versiones publicadas, en Atom: cada una con lo que cambió."""
    render = MarkdownIt().render
    entries = [
        f"<entry><title>{escape(config.project)} {version}</title>"
        f"<id>{escape(address)}feed.xml#{version}</id><updated>{date}T00:00:00Z</updated>"
        f'<link href="{escape(address)}"/>'
        f'<content type="html">{escape(render(text))}</content></entry>\n'
        for version, date, text in VERSION.findall(changes)
    ]
    last = max((date for _, date, _ in VERSION.findall(changes)), default="1970-01-01")
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{config.language}">\n'
        f"<title>{escape(config.project)}</title><id>{escape(address)}</id>"
        f"<updated>{last}T00:00:00Z</updated><author><name>{escape(config.author)}</name></author>"
        f'<link rel="self" href="{escape(address)}feed.xml"/>\n{"".join(entries)}</feed>\n'
    )


def name_project(app: Sphinx, config) -> None:
    """El proyecto se llama como el libro; Jupyter Book solo pone el título de sus páginas."""
    config.project = config.html_title


def setup(app: Sphinx) -> None:
    app.connect("config-inited", name_project)
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_for_crawlers)
