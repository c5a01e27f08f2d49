"""El dibujo con que se ve una página al compartirla: su título y su primera figura, en PNG.

Se hace al construir, con las letras que trae matplotlib: sale el mismo en cualquier máquina.
"""

import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from urllib.parse import quote
from xml.sax.saxutils import escape

import matplotlib
import resvg_py
from docutils import nodes
from PIL import Image, ImageFont
from PIL.PngImagePlugin import PngInfo
from sphinx.application import Sphinx

from course_lib.course_settings import logo_svg

from .contents import side_by_side
from .diagrams import SVG
from .downloads import site_address

WIDTH, HEIGHT, MARGIN = 1200, 630, 70
FOLDER = "_static/pictures"
COLORS = 128
STAMP = "made-from"
FONTS = Path(matplotlib.get_data_path(), "fonts", "ttf")
USED = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSerif-Bold", "STIXGeneral", "STIXGeneralItalic")
SIZE = re.compile(r'font-size="([\d.]+)(px)?"')
# Las letras de matplotlib son más anchas que las de las páginas, para las que se dibujó.
NARROWER = 0.88
SIGNATURE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def add_picture(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Dice dónde está la de la página; si cambió, deja al lado lo que hay que dibujar."""
    if doctree is None:
        return
    figure = first_figure(app, pagename, doctree)
    title = app.env.titles[pagename].astext()
    name = f"{FOLDER}/{pagename}.png"
    path = Path(app.outdir, name)
    markup = compose(title, app.config.project, figure)
    waiting = path.with_suffix(".svg")
    if _stamp(markup) != _made_from(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        waiting.write_text(markup, encoding="utf-8")
    else:
        waiting.unlink(missing_ok=True)  # la dejó una construcción que no acabó
    address = site_address(app.config)
    context["picture"] = f"{address}{quote(name)}" if address else context["pathto"](name, 1)


def first_figure(app: Sphinx, pagename: str, doctree: nodes.document) -> str:
    """El primer dibujo de la página; en las de ejercicios, el de su capítulo; o el del curso."""
    for raw in doctree.findall(nodes.raw):
        if found := re.search(r"<svg\b.*</svg>", raw.astext(), re.S):
            return found[0]
    chapter = f"book/{pagename.partition('/')[2]}"
    if not pagename.startswith("book/") and chapter in app.env.all_docs:
        return first_figure(app, chapter, app.env.get_doctree(chapter))
    return logo_svg(Path(app.srcdir, app.config.html_logo))


def compose(title: str, course: str, figure: str) -> str:
    """El dibujo entero: arriba el título, debajo la figura, y al pie el nombre del curso."""
    lines, size = fit(title)
    top = MARGIN + 44
    text = "".join(
        f'<text x="{MARGIN}" y="{top + size * (0.8 + 1.15 * i):g}" font-size="{size}" '
        f'font-family="DejaVu Serif" font-weight="700">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    bars = "".join(
        f'<rect x="{MARGIN + 32 * i}" y="{MARGIN - 10}" width="20" height="20" fill="{color}"/>'
        for i, color in enumerate(SIGNATURE)
    )
    below = top + size * 1.15 * len(lines) + 24
    room = (MARGIN, below, WIDTH - 2 * MARGIN, HEIGHT - below - 30)
    return (
        f'<svg xmlns="{SVG}" width="{WIDTH}" height="{HEIGHT}" font-family="DejaVu Sans" '
        f'color="#1f2530" fill="#1f2530"><rect width="100%" height="100%" fill="#fdfcf9"/>{bars}'
        f'<text x="{WIDTH - MARGIN}" y="{MARGIN + 8}" font-size="24" text-anchor="end" '
        f'fill="#555d69">{escape(course)}</text>{text}{placed(figure, *room)}</svg>'
    )


def fit(title: str) -> tuple[list[str], int]:
    """El título en uno o dos renglones, con la letra más grande que quepa."""
    for size in (72, 60, 50, 42):
        font = ImageFont.truetype(FONTS / "DejaVuSerif-Bold.ttf", size)
        lines = list(_wrapped(title, font))
        if len(lines) <= (1 if size > 60 else 2):
            break
    return lines[:2], size


def _wrapped(text: str, font: ImageFont.FreeTypeFont) -> Iterator[str]:
    line = ""
    for word in text.split():
        if line and font.getlength(f"{line} {word}") > WIDTH - 2 * MARGIN:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def placed(figure: str, x: float, y: float, width: float, height: float) -> str:
    """Una figura en su sitio, tan grande como quepa."""
    ET.register_namespace("", SVG)
    if "xmlns=" not in figure:
        figure = figure.replace("<svg", f'<svg xmlns="{SVG}"', 1)
    root = ET.fromstring(figure)
    if root.get("viewBox") is None:
        box = (re.match(r"[\d.]*", root.get(side, ""))[0] for side in ("width", "height"))
        root.set("viewBox", " ".join(("0", "0", *box)))
    for name in ("style", "class", "font-family"):
        root.attrib.pop(name, None)
    place = {"x": x, "y": y, "width": width, "height": height}
    root.attrib |= {name: f"{value:g}" for name, value in place.items()}
    text = ET.tostring(root, encoding="unicode")
    return SIZE.sub(lambda m: f'font-size="{float(m[1]) * NARROWER:g}"', text)


def draw_all(app: Sphinx, exception: Exception | None) -> None:
    """Dibuja lo que quedó por dibujar."""
    if exception is None:
        side_by_side(_draw, sorted(Path(app.outdir, FOLDER).rglob("*.svg")))


def _draw(waiting: list[Path]) -> list:
    for path in waiting:
        draw(path.read_text(encoding="utf-8"), path.with_suffix(".png"))
        path.unlink()
    return []


def draw(markup: str, path: Path) -> None:
    """El PNG, con pocos colores: así pesa poco."""
    data = resvg_py.svg_to_bytes(
        svg_string=markup,
        skip_system_fonts=True,
        font_files=[str(FONTS / f"{name}.ttf") for name in USED],
        font_family="DejaVu Sans",
        sans_serif_family="DejaVu Sans",
        serif_family="STIXGeneral",
    )
    image = Image.open(BytesIO(bytes(data))).convert("RGB")
    image = image.quantize(COLORS, method=Image.Quantize.FASTOCTREE)
    made_from = PngInfo()
    made_from.add_text(STAMP, _stamp(markup))
    image.save(path, pnginfo=made_from)


def _stamp(markup: str) -> str:
    return hashlib.sha256(markup.encode()).hexdigest()[:12]


def _made_from(path: Path) -> str:
    """De qué se hizo la que ya está."""
    if not path.is_file():
        return ""
    with Image.open(path) as image:
        return image.info.get(STAMP, "")


def forget_others(app: Sphinx, exception: Exception | None) -> None:
    """Borra los dibujos de las páginas que ya no están."""
    folder = Path(app.outdir, FOLDER)
    for path in folder.rglob("*.png") if exception is None else ():
        if path.relative_to(folder).with_suffix("").as_posix() not in app.env.all_docs:
            path.unlink()


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_picture)
    app.connect("build-finished", draw_all)
    app.connect("build-finished", forget_others)
