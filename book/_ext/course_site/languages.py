"""Los términos en inglés del glosario dicen su idioma: un lector de pantalla los pronuncia."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

GLOSSARY = "book/glossary.md"
# Cada entrada empieza por sus nombres en inglés: «(*key*)», «(*beam search*, *beam decoding*)».
ENTRY = re.compile(r"^\s+\((\*[^)]*)\)", re.M)
TERM = re.compile(r"\*([^*]+)\*")


def english_terms(glossary: str) -> set[str]:
    """Los nombres en inglés de un glosario, en minúsculas."""
    entries = "\n".join(ENTRY.findall(glossary))
    return {" ".join(term.split()).lower() for term in TERM.findall(entries)}


def read_terms(app: Sphinx) -> None:
    path = Path(app.srcdir, GLOSSARY)
    app.config.course_english = english_terms(path.read_text("utf-8")) if path.is_file() else set()


def say_language(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Lo que está en cursiva y es un término inglés, en singular o en plural."""
    for node in doctree.findall(nodes.emphasis):
        text = " ".join(node.astext().lower().split())
        if {text, text.removesuffix("s")} & app.config.course_english:
            node["classes"].append("language-en")  # docutils lo escribe como lang="en"


def setup(app: Sphinx) -> None:
    app.add_config_value("course_english", set(), "", types=[set])
    app.connect("builder-inited", read_terms)
    app.connect("doctree-resolved", say_language)
