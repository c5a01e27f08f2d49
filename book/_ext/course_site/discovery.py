"""Lo que leen los buscadores y quien comparte una página, y lo que se ve donde no hay ninguna."""

import json
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from .downloads import site_address

LENGTH = 155
APART = (nodes.figure, nodes.Admonition, nodes.table, addnodes.glossary, nodes.raw)
LICENSE = "https://creativecommons.org/licenses/by/4.0/"


def describe(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """La descripción de la página y, si el sitio tiene dirección, dónde está."""
    context["description"] = description(doctree) if doctree is not None else ""
    context["site_address"] = address = site_address(app.config)
    if address:
        context["pageurl"] = f"{address}{quote(pagename)}.html"
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
    provider = {"@type": "Organization", "name": app.config.author}
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
    """`robots.txt` y, si el sitio tiene dirección, `sitemap.xml`."""
    if exception is not None or app.builder.format != "html":
        return
    address = site_address(app.config)
    robots, sitemap = "User-agent: *\nAllow: /\n", Path(app.outdir, "sitemap.xml")
    sitemap.unlink(missing_ok=True)
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


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", describe)
    app.connect("build-finished", write_for_crawlers)
