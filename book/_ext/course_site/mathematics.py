"""MathJax servido con el sitio: un solo archivo, que dibuja en SVG y no necesita fuentes.

La salida SVG también compone las fórmulas al abrir una página con file://, donde algunos
navegadores no dejan leer las fuentes de otra carpeta.
"""

import importlib.util
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SCRIPT = "mathjax/tex-svg.js"
CONFIG = {
    # El menú contextual de MathJax está en inglés y permite cargar partes de otros servidores.
    "options": {"enableMenu": False, "menuOptions": {"settings": {"assistiveMml": True}}},
    "svg": {"fontCache": "global", "scale": 0.86},
}


def mathjax_file() -> Path:
    """El archivo de MathJax que instala el paquete sphinx-mathjax-offline."""
    spec = importlib.util.find_spec("sphinx-mathjax-offline")
    path = spec and Path(spec.origin).parent / "static" / SCRIPT
    if not path or not path.is_file():
        raise ExtensionError(
            "falta MathJax: instala las dependencias con `pip install -r requirements.txt` "
            "(paquete sphinx-mathjax-offline)"
        )
    return path


def use_local_mathjax(app: Sphinx, config) -> None:
    config.mathjax_path = SCRIPT
    config.mathjax3_config = CONFIG


def copy_mathjax(app: Sphinx, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        source = mathjax_file()
        target = Path(app.outdir) / "_static" / SCRIPT
        if not target.exists() or target.stat().st_size != source.stat().st_size:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)


def setup(app: Sphinx) -> None:
    app.connect("config-inited", use_local_mathjax)
    app.connect("build-finished", copy_mathjax)
