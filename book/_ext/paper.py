"""El libro entero en un archivo, del sitio ya construido: `make pdf` y `make epub`.

Un Chromium sin ventana reúne los artículos (paper.js) y los imprime con la hoja de estilo del
sitio, que ya sabe de papel; o los escribe en XHTML, que es de lo que está hecho un EPUB.
"""

import argparse
import datetime
import html
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
import uuid
import zipfile
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import yaml
from PIL import Image

from course_lib import __version__
from course_lib.course_settings import AS_IT_COMES, settings_in
from course_lib.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_suffix(".js")
# Primero, el que no sabe abrir ventanas: hace lo mismo con menos trabajo.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome", "chrome")
# Lo que solo sirve en un navegador.
ONLY_ON_LINE = {"book/progress"}
# Los apartados que tienen todos los capítulos no ayudan a encontrar nada.
EVERYWHERE = {"Resumen", "¿Puedes seguir?", "Ejercicios", "Para saber más"}
KINDS = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".css": "text/css"}
XHTML = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"
      lang="es" xml:lang="es">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="book.css"/></head>
<body>{body}</body>
</html>
"""
BOOK_CSS = """
body { line-height: 1.45; margin: 0 .5em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8em; line-height: 1.35; }
code { overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: .85em; }
td, th { padding: .2em .5em; border-bottom: 1px solid #bbb; text-align: left; vertical-align: top; }
figure { margin: 1em 0; break-inside: avoid; }
figcaption, caption { font-size: .85em; }
img, svg { max-width: 100%; height: auto; }
math[display="block"] { display: block; margin: .8em 0; overflow-x: auto; }
details, .question, .admonition { margin: 1em 0; padding-left: .8em; border-left: 3px solid #bbb; }
summary { font-weight: bold; }
"""


class Chapter(NamedTuple):
    """Una página del libro."""

    docname: str
    part: str
    headings: list[dict]
    body: str

    @property
    def key(self) -> str:
        return self.docname.replace("/", ".")

    @property
    def title(self) -> str:
        return self.headings[0]["text"]


def pages(root: Path) -> list[tuple[str, str]]:
    """Las páginas del libro en orden, con la parte a que pertenecen; las que el sitio tiene."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    listed = [("", toc["root"])]
    for part in toc.get("parts", []):
        for chapter in part["chapters"]:
            files = [each["file"] for each in (chapter, *chapter.get("sections", ()))]
            listed += [(part["caption"], file) for file in files]
    site = root / "_build" / "html"
    return [
        (part, name)
        for part, name in listed
        if name not in ONLY_ON_LINE and (site / f"{name}.html").is_file()
    ]


@contextmanager
def browser():
    """Un Chromium sin ventana."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("Falta Playwright. Instálalo con: pip install -r requirements.txt")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        sys.exit("Falta Chromium. En Debian y Ubuntu: sudo apt-get install chromium")
    with sync_playwright() as playwright:
        # El libro se lee de archivos nuestros: root, en un contenedor, no puede encerrarlo.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        chromium = playwright.chromium.launch(executable_path=path, args=sandbox)
        yield chromium
        chromium.close()


def read(chromium, root: Path, *, together: bool) -> list[Chapter]:
    """Los artículos del sitio: como HTML para un solo documento, o como XHTML, uno por archivo."""
    listed = pages(root)
    kept = [name for _, name in listed]
    page = chromium.new_page()
    page.add_script_tag(path=SCRIPT)
    chapters = []
    for part, name in listed:
        text = (root / "_build" / "html" / f"{name}.html").read_text("utf-8")
        headings, body = page.evaluate(
            "([text, name, kept, together]) => written(text, name, kept, together)",
            [text, name, kept, together],
        )
        chapters.append(Chapter(name, part, headings, body))
    page.close()
    return chapters


def by_part(chapters: list[Chapter]):
    """Las partes en orden, cada una con sus páginas."""
    parts: dict[str, list[Chapter]] = {}
    for chapter in chapters:
        parts.setdefault(chapter.part, []).append(chapter)
    return parts.items()


def write_pdf(root: Path, out: Path) -> int:
    """Imprime el libro, con índice, marcadores y páginas numeradas; devuelve cuántas son."""
    if shutil.which("pdfinfo") is None:
        sys.exit("Falta pdfinfo. En Debian y Ubuntu: sudo apt-get install poppler-utils")
    site = root / "_build" / "html"
    with browser() as chromium, tempfile.TemporaryDirectory(dir=site, prefix=".papel-") as folder:
        chapters = read(chromium, root, together=True)
        whole, printed = Path(folder, "libro.html"), Path(folder, "libro.pdf")
        numbers: dict[str, int] = {}
        for _ in range(2):  # la segunda vez ya se sabe en qué página empieza cada apartado
            whole.write_text(printable(root, chapters, numbers), encoding="utf-8")
            page = chromium.new_page()
            page.goto(whole.as_uri(), wait_until="load", timeout=0)
            page.pdf(path=printed, prefer_css_page_size=True, outline=True, tagged=True)
            page.close()
            numbers = destinations(printed)
        write_atomically(out, printed.read_bytes())
    return numbers["fin"]


def destinations(printed: Path) -> dict[str, int]:
    """En qué página cae cada destino de los enlaces de un PDF."""
    told = subprocess.run(["pdfinfo", "-dests", printed], capture_output=True, check=True).stdout
    found = re.findall(r'^\s*(\d+) \[.*?\] "(.*)"$', told.decode("utf-8", "replace"), re.M)
    return {name: int(number) for number, name in found}


def printable(root: Path, chapters: list[Chapter], numbers: dict[str, int]) -> str:
    """El documento que se imprime: cubierta, índice y artículos."""
    site = (root / "_build" / "html").as_uri()
    title = book_title(root)
    links = "".join(f'<link rel="stylesheet" href="{name}">' for name in style_sheets(root))
    index = []
    for part, inside in by_part(chapters):
        index.append(f"<h2>{html.escape(part)}</h2>" if part else "")
        for chapter in inside:
            for heading in chapter.headings:
                if heading["level"] == 2 and not listed(chapter, heading):
                    continue
                target = heading["id"] if heading["level"] == 2 else chapter.key
                number = numbers.get(target, "")
                index.append(
                    f'<p class="level-{heading["level"]}"><a href="#{target}">'
                    f"<span>{heading['html']}</span><i></i><b>{number}</b></a></p>"
                )
    bodies = "".join(chapter.body for chapter in chapters)
    return f"""<!DOCTYPE html>
<html lang="es" data-theme="light"><head><meta charset="utf-8"><title>{html.escape(title)}</title>
<base href="{site}/">{links}
<style>
@media print {{
  .bd-article {{ break-before: page; }}
  .cover {{ height: 24cm; display: flex; flex-direction: column; justify-content: center; }}
  .cover h1 {{ font-size: 34pt; }}
  .book-index {{ break-before: page; font-size: 9.5pt; columns: 2; column-gap: 10mm; }}
  .book-index h1 {{ column-span: all; }}
  .book-index p {{ margin: 0; line-height: 1.5; break-inside: avoid; }}
  .book-index h2 {{ font-size: 11pt; margin: 10pt 0 3pt; break-after: avoid; }}
  .book-index .level-2 {{ padding-left: 14pt; font-size: 8.5pt; color: #444; }}
  .book-index a {{ display: flex; gap: 4pt; color: inherit; text-decoration: none; }}
  .book-index i {{ flex: 1; border-bottom: 1px dotted #999; margin-bottom: 3pt; }}
  .book-index b {{ font-weight: 400; min-width: 2em; text-align: right; }}
}}
</style></head><body>
<section class="cover"><h1>{html.escape(title)}</h1><p>{edition()}</p></section>
<nav class="book-index"><h1>Índice</h1>{"".join(index)}</nav>
{bodies}
<p id="fin"></p><a href="#fin"></a>
</body></html>"""


def listed(chapter: Chapter, heading: dict) -> bool:
    """Dice si un apartado va al índice impreso."""
    return heading["text"] not in EVERYWHERE and not chapter.docname.startswith("solutions/")


def style_sheets(root: Path) -> list[str]:
    """Las hojas de estilo de una página cualquiera, desde la carpeta del sitio."""
    site = root / "_build" / "html"
    page = site / f"{pages(root)[0][1]}.html"
    links = re.findall(r'<link [^>]*rel="stylesheet"[^>]*>', page.read_text("utf-8"))
    found = [re.search(r'href="([^"?]*)', link)[1] for link in links]
    return [(page.parent / name).resolve().relative_to(site.resolve()).as_posix() for name in found]


def book_title(root: Path) -> str:
    name = settings_in(root).name
    if name != AS_IT_COMES.name:
        return name
    return yaml.safe_load((root / "_config.yml").read_text("utf-8"))["title"]


def file_name(title: str) -> str:
    """El del libro: su título en minúsculas, sin tildes ni espacios."""
    plain = unicodedata.normalize("NFKD", title.lower()).encode("ascii", "ignore").decode()
    return "_".join(re.findall(r"[a-z0-9]+", plain)) or "libro"


def edition() -> str:
    return f"Versión {__version__}, {datetime.date.today():%d/%m/%Y}"


def write_epub(root: Path, out: Path) -> int:
    """Reúne el libro en un EPUB 3, un archivo por página; devuelve cuántas son."""
    with browser() as chromium:
        chapters = read(chromium, root, together=False)
    site = root / "_build" / "html"
    files = {"book.css": (BOOK_CSS + highlighting(site)).encode()}
    for chapter in chapters:
        body = carry_images(chapter.body, site, files)
        text = XHTML.format(title=html.escape(chapter.title), body=body)
        files[f"{chapter.key}.xhtml"] = text.encode()
    files["nav.xhtml"] = navigation(root, chapters).encode()
    files["content.opf"] = package(root, chapters, files).encode()
    write_atomically(out, zipped(files))
    return len(chapters)


def highlighting(site: Path) -> str:
    """Los colores del código, los del tema claro."""
    text = (site / "_static" / "pygments.css").read_text("utf-8")
    light = re.findall(r'(?m)^html\[data-theme="light"\] (.*)$', text)
    return "\n".join(light) or text


IMAGE = re.compile(r'(<img\b[^>]*?\bsrc=")([^"]+)(")')


def carry_images(body: str, site: Path, files: dict[str, bytes]) -> str:
    """Lleva al libro las imágenes de una página; lo que un lector puede no entender, en PNG."""

    def carry(found: re.Match) -> str:
        path = site / found[2]
        name = "images/" + path.name
        if path.suffix not in KINDS:
            name = str(Path(name).with_suffix(".png"))
            image = io.BytesIO()
            Image.open(path).save(image, "PNG")
            files[name] = image.getvalue()
        else:
            files[name] = path.read_bytes()
        return found[1] + name + found[3]

    return IMAGE.sub(carry, body)


def navigation(root: Path, chapters: list[Chapter]) -> str:
    """El índice que muestra el lector."""

    def entry(chapter: Chapter) -> str:
        inside = "".join(
            f'<li><a href="{chapter.key}.xhtml#{h["id"]}">{h["html"]}</a></li>'
            for h in chapter.headings[1:]
        )
        below = f"<ol>{inside}</ol>" if inside else ""
        title = html.escape(chapter.title)
        return f'<li><a href="{chapter.key}.xhtml">{title}</a>{below}</li>'

    items = []
    for part, inside in by_part(chapters):
        entries = "".join(map(entry, inside))
        items.append(
            f"<li><span>{html.escape(part)}</span><ol>{entries}</ol></li>" if part else entries
        )
    body = f'<nav epub:type="toc" id="toc"><h1>Índice</h1><ol>{"".join(items)}</ol></nav>'
    return XHTML.format(title=html.escape(book_title(root)), body=body)


def package(root: Path, chapters: list[Chapter], files: dict[str, bytes]) -> str:
    """La ficha del libro: sus datos, sus archivos y en qué orden se leen."""
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    items = []
    for number, (name, content) in enumerate(files.items()):
        kind = KINDS.get(Path(name).suffix, "application/xhtml+xml")
        holds = [what for what, tag in (("mathml", b"<math"), ("svg", b"<svg")) if tag in content]
        holds = [*holds, "nav"] if name == "nav.xhtml" else holds if name.endswith(".xhtml") else []
        properties = f' properties="{" ".join(holds)}"' if holds else ""
        items.append(f'<item id="f{number}" href="{name}" media-type="{kind}"{properties}/>')
    order = {name: number for number, name in enumerate(files)}
    spine = [f'<itemref idref="f{order[c.key + ".xhtml"]}"/>' for c in chapters]
    spine.insert(1, f'<itemref idref="f{order["nav.xhtml"]}"/>')
    now = datetime.datetime.now(datetime.UTC)
    # El mismo libro en otra versión es el mismo libro.
    book = uuid.uuid5(uuid.NAMESPACE_URL, f"{book_title(root)} / {config['author']}")
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="es">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{book}</dc:identifier>
<dc:title>{html.escape(book_title(root))}</dc:title>
<dc:creator>{html.escape(config["author"])}</dc:creator>
<dc:language>es</dc:language>
<dc:description>{edition()}</dc:description>
<meta property="dcterms:modified">{now:%Y-%m-%dT%H:%M:%SZ}</meta>
</metadata>
<manifest>{"".join(items)}</manifest>
<spine>{"".join(spine)}</spine>
</package>
"""


def zipped(files: dict[str, bytes]) -> bytes:
    container = (
        '<?xml version="1.0"?><container version="1.0" '
        'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="EPUB/content.opf" media-type="application/oebps-package+xml"/>'
        "</rootfiles></container>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        # El primero, y sin comprimir: así se reconoce un EPUB.
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        for name, content in files.items():
            archive.writestr(f"EPUB/{name}", content)
    return buffer.getvalue()


def main(arguments: list[str] | None = None, root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(description="Escribe el libro en un solo archivo.")
    parser.add_argument("format", choices=("pdf", "epub"), help="en qué formato")
    chosen = parser.parse_args(arguments).format
    if not (root / "_build" / "html" / "book" / "index.html").is_file():
        sys.exit("El sitio no está construido. Constrúyelo con: make site")
    out = root / "_build" / f"{file_name(book_title(root))}.{chosen}"
    count = (write_pdf if chosen == "pdf" else write_epub)(root, out)
    print(f"{out}: {count} páginas, {out.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
