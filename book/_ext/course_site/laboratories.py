"""Directiva `laboratory`: un diagrama que, con guiones, se puede tocar.

Sin ellos queda el dibujo de `book/_figures`, que es también lo que se imprime y lo que lleva el
cuaderno. El guion es `book/_static/labs/NOMBRE.js`: uno corriente, porque los módulos no se cargan
cuando la página se abre sin servidor.

Con `:model:`, el laboratorio calcula con un modelo de `book/_models`, que se copia al sitio. Su
guion es un módulo, y los dos se bajan cuando el laboratorio se acerca: lo hace `laboratory.js`.
"""

import hashlib
import shutil
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx

from .diagrams import Diagram

MODELS, SERVED = Path("book") / "_models", Path("_static") / "models"
# Lo que el navegador lee de un modelo; lo demás de su carpeta no se sirve.
READ = (
    *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"),
    *("vocab.txt", "words.json"),
)


class Laboratory(Diagram):
    """Figura con un laboratorio; el contenido es su pie."""

    css_class: ClassVar = "diagram-figure laboratory-figure"
    option_spec: ClassVar = {**Diagram.option_spec, "model": directives.unchanged_required}

    def _markup(self, name: str, alt: str) -> str:
        drawing, model = super()._markup(name, alt), self._model()
        return f'<div class="laboratory" data-laboratory="{name}"{model}>{drawing}</div>'

    def _model(self) -> str:
        """Qué modelo se baja, cuál de sus versiones y cuánto ocupa."""
        if "model" not in self.options:
            return ""
        files = model_files(Path(self.env.srcdir), self.options["model"])
        for file in files:
            self.env.note_dependency(str(file))
        contents = b"".join(file.read_bytes() for file in files)
        version = hashlib.sha256(contents).hexdigest()[:8]
        size = f"{len(contents) / 1e6:.1f} MB"
        return f' data-model="{self.options["model"]}" data-version="{version}" data-size="{size}"'

    def _figure(self, markup: str) -> nodes.figure:
        figure = super()._figure(markup)
        figure["laboratory"], figure["model"] = self.arguments[0], self.options.get("model")
        return figure


def model_files(source: Path, name: str) -> list[Path]:
    """Los archivos de un modelo guardado que el navegador lee."""
    return [path for path in (source / MODELS / name / each for each in READ) if path.is_file()]


def load_scripts(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Cada página carga los guiones de sus laboratorios, y ninguno más; sus modelos se sirven."""
    found = doctree.findall(nodes.figure) if doctree is not None else ()
    figures = [figure for figure in found if "laboratory" in figure]
    for model in {figure["model"] for figure in figures} - {None}:
        served = Path(app.outdir, SERVED, model)
        served.mkdir(parents=True, exist_ok=True)
        for file in model_files(Path(app.srcdir), model):
            shutil.copy(file, served)
    names = sorted({figure["laboratory"] for figure in figures if not figure["model"]})
    for name in ["laboratory", *names] if figures else ():
        app.add_js_file(f"labs/{name}.js", loading_method="defer")
        app.add_css_file("labs/labs.css")


def forget_models(app: Sphinx, exception: Exception | None) -> None:
    """Borra los modelos que ya no usa ninguna página: ocupan más que todo lo demás."""
    if exception is not None or app.builder.name != "html":
        return
    built = Path(app.outdir)
    pages = "".join(path.read_text(encoding="utf-8") for path in built.glob("book/*.html"))
    for model in (built / SERVED).glob("*"):
        if f'data-model="{model.name}"' not in pages:
            shutil.rmtree(model)


def setup(app: Sphinx) -> None:
    app.add_directive("laboratory", Laboratory)
    app.connect("html-page-context", load_scripts)
    app.connect("build-finished", forget_models)
