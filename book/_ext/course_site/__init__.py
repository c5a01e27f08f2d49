"""Extensión de Sphinx del libro: cada módulo añade una parte del sitio."""

import gc
import hashlib
from pathlib import Path

from sphinx.application import Sphinx

from . import (
    bibliography,
    contents,
    diagrams,
    discovery,
    doors,
    downloads,
    execution,
    identity,
    interface,
    journey,
    laboratories,
    languages,
    left_out,
    listings,
    mathematics,
    offline,
    pictures,
    previews,
    questions,
    records,
    screens,
    search,
    styles,
)

PARTS = (
    bibliography,
    contents,
    diagrams,
    discovery,
    doors,
    downloads,
    execution,
    identity,
    interface,
    journey,
    laboratories,
    left_out,
    languages,
    listings,
    mathematics,
    offline,
    pictures,
    previews,
    questions,
    records,
    screens,
    search,
    styles,
)


def setup(app: Sphinx) -> dict[str, object]:
    """Registra las partes, en orden."""
    # Lo que Sphinx lee dura hasta el final: buscar basura ahí a cada rato es perder el tiempo.
    gc.set_threshold(50_000, 50, 100)
    for part in PARTS:
        part.setup(app)
    # Y al terminar, todo a la vez, también: eran cinco segundos.
    app.connect("build-finished", lambda app, exception: gc.freeze(), priority=999)
    # Sphinx solo mira las páginas: con esto, otra extensión las lee otra vez, y otros estilos o
    # guiones las escriben otra vez. Ninguna celda se ejecuta de nuevo.
    app.add_config_value("course_site_code", summary(Path(__file__).parent), "env")
    app.add_config_value("course_site_static", summary(Path(app.confdir, "book/_static")), "html")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def summary(folder: Path) -> str:
    """Un resumen de los archivos de una carpeta; cambia si cambia alguno."""
    found = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        if path.suffix != ".pyc":
            found.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return found.hexdigest()
