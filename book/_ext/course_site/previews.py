"""Lo que muestra un enlace a un término o a una ecuación antes de seguirlo.

Todo va en un archivo, que `previews.js` pide la primera vez que hace falta; así vale también sin
servidor. Una cita lleva ya su obra en el título del enlace.
"""

import json
import re
from pathlib import Path

from bs4 import BeautifulSoup
from sphinx.application import Sphinx

GLOSSARY = "book/glossary.html"
DATA = "_static/previews_data.js"
EQUATION = re.compile(
    r'<div class="math[^"]*" id="(equation-[^"]+)">.*?<div class="formula">(<math.*?</math>)', re.S
)


def terms(page: str) -> dict[str, str]:
    """De cada término, su definición, sin enlaces: en una tarjeta no hay nada que pulsar."""
    found = {}
    for entry in BeautifulSoup(page, "html.parser").select("dl.glossary dt[id]"):
        definition = entry.find_next_sibling("dd")
        for link in definition.select("a"):
            link.unwrap()
        for link in entry.select("a.headerlink"):
            link.decompose()
        title = f"<strong>{entry.decode_contents().strip()}</strong>"
        found[f"{GLOSSARY}#{entry['id']}"] = title + definition.decode_contents().strip()
    return found


def write_previews(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    known = {}
    for name in app.config.external_site_map:
        path = folder / f"{name}.html"
        page = path.read_text(encoding="utf-8") if path.is_file() else ""
        known |= {f"{name}.html#{label}": formula for label, formula in EQUATION.findall(page)}
        if f"{name}.html" == GLOSSARY:
            known |= terms(page)
    text = json.dumps(known, ensure_ascii=False, separators=(",", ":"))
    (folder / DATA).write_text(f"const COURSE_PREVIEWS = {text};\n", encoding="utf-8")


def add_script(app: Sphinx, pagename, templatename, context, doctree) -> None:
    app.add_js_file("previews.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_script)
    # Antes que la lista de lo que se guarda (950), que lo cuenta.
    app.connect("build-finished", write_previews, priority=910)
