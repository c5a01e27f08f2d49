"""La búsqueda: sin acentos que importen, y con los nombres del glosario en los dos idiomas.

El motor es el de Sphinx, que funciona sin servidor; `search.js` decide el orden.
"""

import functools
import json
import re
import unicodedata
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.search.es import SearchSpanish

from .languages import GLOSSARY, TERM

DATA = "search_names.js"
ENTRY = re.compile(r"^(?=\S)((?:.+\n)+?)((?:[ \t]+.+\n|\n(?=[ \t]))+)", re.M)
CHAPTER = re.compile(r"Primer capítulo:\s+\{doc\}`(?:[^`<]*<)?(\w+)>?`")
ENGLISH = re.compile(r"\A\s*\(([^)]*)\)")


def fold(text: str) -> str:
    """En minúsculas y sin acentos; «search.js» hace lo mismo."""
    parts = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in parts if not unicodedata.combining(c))


class FoldedSpanish(SearchSpanish):
    """El español de Sphinx, que encuentra lo mismo con acentos y sin ellos."""

    def init(self, options: dict) -> None:
        super().init(options)
        self.stem = functools.cache(self.stem)  # las palabras de un libro se repiten mucho

    def stem(self, word: str) -> str:
        # «-cion» no es para el algoritmo un sufijo; «-ción», sí.
        return fold(super().stem(re.sub("cion$", "ción", fold(word))))


def clean(name: str) -> str:
    return " ".join(fold(name).split())


def names(glossary: str) -> dict[str, list[str]]:
    """De cada nombre, español o inglés: la página que primero lo explica y cómo se llama aquí."""
    found = {}
    body = glossary[glossary.find("{glossary}") :].partition("\n")[2]
    for terms, definition in ENTRY.findall(body):
        chapter = CHAPTER.search(definition)
        english = ENGLISH.search(definition)
        called = [*terms.splitlines(), *TERM.findall(english[1] if english else "")]
        for name in called if chapter else ():
            found.setdefault(clean(name), [f"book/{chapter[1]}", clean(called[0])])
    return found


def write_names(app: Sphinx, exception: Exception | None) -> None:
    path = Path(app.srcdir, GLOSSARY)
    if exception is not None or app.builder.format != "html":
        return
    known = names(path.read_text(encoding="utf-8")) if path.is_file() else {}
    known = {name: home for name, home in known.items() if home[0] in app.env.all_docs}
    text = f"const COURSE_NAMES = {json.dumps(known, ensure_ascii=False)};\n"
    Path(app.outdir, "_static", DATA).write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    app.add_search_language(FoldedSpanish)
    app.connect("build-finished", write_names)
