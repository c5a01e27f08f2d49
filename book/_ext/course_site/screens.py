"""Directiva `screen`: una captura de pantalla, en claro y en oscuro, con su pie.

`{screen} guia/informe` muestra `book/_static/guia/informe-light.webp` o `-dark.webp`, según el
tema; si solo hay `informe.webp`, esa. Las capturas se rehacen con `python -m book._screens`.
"""

import errno
import html
from pathlib import Path
from typing import ClassVar

from PIL import Image
from sphinx.application import Sphinx

from .diagrams import Diagram

STATIC = Path("book") / "_static"
DENSITY = 2  # píxeles de la imagen por cada uno de la página: nítida en pantallas densas
# El tema oculta la que no toca; `dark-light` le pide que no la retoque en oscuro.
THEMES = {"-light": "only-light dark-light", "-dark": "only-dark dark-light", "": "dark-light"}


def versions(folder: Path, name: str) -> list[tuple[str, str]]:
    """Las versiones de una captura, cada una con sus clases: una por tema, o una para los dos.

    Errores:
        FileNotFoundError: no hay ninguna.
    """
    names = ((f"{name}{suffix}.webp", css) for suffix, css in THEMES.items())
    found = [(file, css) for file, css in names if (folder / file).is_file()]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no hay captura", f"{folder / name}.webp")
    return found


def page_size(path: Path) -> tuple[int, int]:
    """El ancho y el alto con que se ve, en píxeles de la página."""
    with Image.open(path) as image:
        return round(image.width / DENSITY), round(image.height / DENSITY)


class Screen(Diagram):
    """Figura con una captura; el contenido es su pie."""

    css_class: ClassVar = "screen-figure"

    def _markup(self, name: str, alt: str) -> str:
        folder = Path(self.env.srcdir) / STATIC
        root = "../" * self.env.docname.count("/") + "_static"
        images = []
        for file, css in versions(folder, name):
            self.env.note_dependency(str(folder / file))
            width, height = page_size(folder / file)
            images.append(
                f'<img class="{css}" src="{root}/{file}" alt="{html.escape(alt)}" '
                f'width="{width}" height="{height}" loading="lazy">'
            )
        return f'<div class="screen">{"".join(images)}</div>'


def setup(app: Sphinx) -> None:
    app.add_directive("screen", Screen)
