"""Sin red: el sitio se guarda en el navegador y se instala en el teléfono.

`sw.js` va en la raíz con la lista de lo que el libro necesita y el resumen de cada archivo: lo que
no cambió de una versión a otra no se baja dos veces. Lo visitado queda guardado; el libro entero,
solo si se pide en la página que tiene la directiva `offline`, que dice antes cuánto ocupa.
"""

import gzip
import hashlib
import json
from pathlib import Path, PurePosixPath

import resvg_py
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_lib.course_settings import logo_svg

from .pictures import placed
from .questions import Markup
from .styles import SHEET

WORKER, MANIFEST, SIZES = "sw.js", "manifest.webmanifest", "_static/offline_sizes.js"
ICONS = {192: "_static/icon-192.png", 512: "_static/icon-512.png"}
PAPER = "#fdfcf9"
# Lo que se baja aparte, lo que solo leen otros programas y lo que ya está en la hoja común.
LEFT_OUT = (
    "notebooks/**", "_downloads/**", "_sources/**", "_static/pictures/**", "_static/locales/**",
    "**/*.map", "**/*.pickle", "**/*.po", "**/*.mo", ".*", "objects.inv", "robots.txt", "*.xml",
    "*.LICENSE.txt", "_static/vendor/**", "_static/scripts/fontawesome*", WORKER,
)  # fmt: skip


class Offline(SphinxDirective):
    """El lugar del botón que guarda el libro; `offline.js` lo llena donde se puede."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        place = Markup("div", **{"class": "offline"})
        self.state.nested_parse(self.content, self.content_offset, place)
        return [place]


def book_files(folder: Path) -> dict[str, bytes]:
    """Los archivos con los que el libro se lee entero."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = PurePosixPath(path.relative_to(folder).as_posix())
        joined = path.suffix == ".css" and path.name != SHEET
        if path.is_file() and not joined and not left_out(name):
            found[str(name)] = path.read_bytes()
    return found


def left_out(name: PurePosixPath) -> bool:
    folders = (pattern.removesuffix("/**") for pattern in LEFT_OUT if pattern.endswith("/**"))
    if any(name.is_relative_to(folder) for folder in folders):
        return True
    return any(name.match(p.removeprefix("**/")) for p in LEFT_OUT if not p.endswith("/**"))


def write_worker(app: Sphinx, exception: Exception | None) -> None:
    """El último archivo que se escribe: dice cuáles son los demás."""
    if exception is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir)
    write_manifest(app, folder)
    (folder / SIZES).unlink(missing_ok=True)
    files = book_files(folder)
    sizes = {
        "files": len(files) + 1,
        "download": sum(len(gzip.compress(data, 6)) for data in files.values()),
        "stored": sum(map(len, files.values())),
    }
    text = f"const COURSE_OFFLINE = {json.dumps(sizes)};\n"
    (folder / SIZES).write_text(text, encoding="utf-8")
    files[SIZES] = text.encode()
    digests = {name: hashlib.sha256(data).hexdigest()[:12] for name, data in files.items()}
    listed = json.dumps(digests, separators=(",", ":"))
    version = hashlib.sha256(listed.encode()).hexdigest()[:12]
    source = (folder / "_static" / "offline" / "worker.js").read_text(encoding="utf-8")
    head = f'"use strict";\nconst VERSION = "{version}";\nconst FILES = {listed};\n'
    (folder / WORKER).write_text(head + source, encoding="utf-8")


def write_manifest(app: Sphinx, folder: Path) -> None:
    logo = logo_svg(Path(app.srcdir, app.config.html_logo))
    for side, name in ICONS.items():
        (folder / name).write_bytes(icon(logo, side))
    described = {
        "name": app.config.project,
        "short_name": short_name(app.config.project),
        "lang": app.config.language,
        "start_url": f"{app.config.root_doc}.html",
        "scope": "./",
        "display": "standalone",
        "background_color": PAPER,
        "theme_color": PAPER,
        "icons": [
            {"src": name, "sizes": f"{side}x{side}", "type": "image/png", "purpose": purpose}
            for side, name in ICONS.items()
            for purpose in ("any", "maskable")
        ],
    }
    text = json.dumps(described, ensure_ascii=False, indent=1)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def short_name(title: str) -> str:
    """Lo que cabe bajo el icono: la primera palabra del título que dice algo."""
    return next((word for word in title.split() if len(word) > 3), title)


def icon(logo: str, side: int) -> bytes:
    """El logotipo en un cuadrado, con el aire que pide un teléfono para recortarlo."""
    inner, edge = side * 0.6, side * 0.2
    markup = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{side}" height="{side}">'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>{placed(logo, edge, edge, inner, inner)}'
        "</svg>"
    )
    return bytes(resvg_py.svg_to_bytes(svg_string=markup, skip_system_fonts=True))


def add_script(app: Sphinx, pagename, templatename, context, doctree) -> None:
    if 'class="offline"' in context.get("body", ""):
        app.add_js_file("offline_sizes.js", loading_method="defer")
    app.add_js_file("offline.js", loading_method="defer")


def setup(app: Sphinx) -> None:
    app.add_directive("offline", Offline)
    app.connect("html-page-context", add_script)
    # Después de la hoja de estilos (900), que cambia las páginas.
    app.connect("build-finished", write_worker, priority=950)
