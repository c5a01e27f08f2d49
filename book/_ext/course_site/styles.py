"""Una sola hoja de estilos: las del tema y las nuestras, sin lo que ninguna página usa."""

import hashlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import tinycss2
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
SHEET = "site.css"
# En el orden en que se aplican; después, las de book/_static, y al final las de `LAST`.
THEME = (
    "basic.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "togglebutton.css",
    "copybutton.css",
    "mystnb.*.css",
    "sphinx-design.min.css",
)
LAST = ("course.css", "icons.css")
# Los iconos del tema son de una fuente de medio megabyte; los del libro están en icons.css.
ICON_FONT = re.compile(r"Font Awesome|FontAwesome|\.fa[bsr]?(?![\w])|\.fa-")
# Bootstrap pone estos nombres al abrir un menú o un globo; del resto de él no se usa nada.
BOOTSTRAP = re.compile(r"show|fade|tooltip[\w-]*|bs-tooltip[\w-]*|dropdown-menu[\w-]*|collapsing")
UNUSED_SCRIPTS = ("bootstrap", "fontawesome", "sphinx-thebe", "language_data", "stemmer")
NESTED = {"media", "supports", "layer", "container"}
DROPPED = {"charset", "import"}
WORD = re.compile(r"[A-Za-z][\w-]*")
NAMES = re.compile(r'<([a-zA-Z][\w-]*)|\b(?:class|id)="([^"]*)"')
LINK = re.compile(rf'(_static/{re.escape(SHEET)})(?:\?v=\w+)?"')


def join_sheets(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """La página pide la hoja común; una hoja que nadie junta es un error de quien la añadió."""
    for asset in context.get("css_files", []):
        path = PurePosixPath(str(asset.filename).split("?")[0]).relative_to("_static")
        if path not in our_sheets(app) and not any(path.match(known) for known in THEME):
            logger.warning("la hoja %s no está en las de course_site/styles.py", path)
    context["css_files"] = []


def our_sheets(app: Sphinx) -> list[PurePosixPath]:
    """Las hojas de book/_static, en el orden en que se aplican."""
    folder = Path(app.srcdir, *app.config.html_static_path[:1])
    found = [PurePosixPath(p.relative_to(folder).as_posix()) for p in folder.rglob("*.css")]
    return sorted(found, key=lambda path: (str(path) in LAST, path))


def write_sheet(app: Sphinx, exception: Exception | None) -> None:
    if exception is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    pages = {p: p.read_text(encoding="utf-8") for p in Path(app.outdir).rglob("*.html")}
    used = used_names(pages.values()) | scripted_names(static)
    theme = [path for known in THEME for path in sorted(static.glob(known))]
    text = "".join(trim(path.read_text(encoding="utf-8"), used) for path in theme)
    for path in our_sheets(app):
        text += trim((static / path).read_text(encoding="utf-8"), used, ours=True)
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)
    for left in static.glob("scripts/fontawesome.*"):
        left.unlink()
    (static / SHEET).write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    for path, page in pages.items():
        if (fresh := LINK.sub(rf'\1?v={digest}"', page)) != page:
            path.write_text(fresh, encoding="utf-8")


def used_names(pages) -> set[str]:
    """Etiquetas, clases e identificadores de las páginas."""
    found = set()
    for page in pages:
        for tag, names in NAMES.findall(page):
            found.update([tag] if tag else names.split())
    return found


def scripted_names(static: Path) -> set[str]:
    """Las palabras de los guiones: lo que alguno puede poner en la página."""
    found = set()
    for path in static.rglob("*.js"):
        if not path.name.startswith(UNUSED_SCRIPTS) and "stemmer" not in path.name:
            found.update(WORD.findall(path.read_text(encoding="utf-8")))
    return found


def trim(css: str, used: set[str], *, ours: bool = False) -> str:
    """La hoja sin comentarios ni las reglas que no tocan nada de lo usado."""
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    return "".join(_kept(rules, used, ours))


def _kept(rules: list, used: set[str], ours: bool) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            parts = [p for p in _split(rule.prelude) if _applies(p, used, ours)]
            body = _short(rule.content)
            if parts and body and (ours or not ICON_FONT.search(body) or "content" in body):
                yield f"{','.join(map(_short, parts))}{{{body}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED and rule.content:
            inside = tinycss2.parse_rule_list(
                rule.content, skip_comments=True, skip_whitespace=True
            )
            if text := "".join(_kept(inside, used, ours)):
                yield f"@{rule.at_keyword} {_short(rule.prelude)}{{{text}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword not in DROPPED:
            text = rule.serialize()
            name = tinycss2.serialize(rule.prelude).strip()
            if not name.startswith("fa-") and (ours or not ICON_FONT.search(text)):
                yield re.sub(r"\s*\n\s*", " ", text)


def _split(prelude: list) -> Iterator[list]:
    """Los selectores de una lista separada por comas."""
    part = []
    for token in prelude:
        if token == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _applies(selector: list, used: set[str], ours: bool) -> bool:
    """Si todo lo que nombra el selector, fuera de sus paréntesis, puede estar en una página."""
    before = None
    for token in selector:
        named = token.type == "hash" or (token.type == "ident" and before not in (":", "|"))
        if named and token.value not in used and not BOOTSTRAP.fullmatch(token.value):
            return False
        if named and not ours and before == "." and re.match(r"fa([bsr]$|-|$)", token.value):
            return False
        before = token
    return True


def _short(tokens: list) -> str:
    text = tinycss2.serialize([t for t in tokens if t.type != "comment"])
    return re.sub(r"\s*\n\s*", " ", text).strip()


def setup(app: Sphinx) -> None:
    # Después de quienes añaden hojas, y de quien quita las de fuera (990).
    app.connect("html-page-context", join_sheets, priority=995)
    # El tema escribe sus colores del código al terminar.
    app.connect("build-finished", write_sheet, priority=900)
