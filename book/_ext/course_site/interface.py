"""La interfaz: en español y sin partes que hablen con otros servidores."""

import re
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util import logging

logger = logging.getLogger(__name__)

# sphinx-thebe ejecuta código en un servidor ajeno; Jupyter Book lo carga aunque esté apagado.
OUTSIDE = ("thebe", "unpkg.com", "cdnjs.cloudflare.com")
# Guiones que solo sirven a lo que la página tenga.
NEEDED_BY = {
    "clipboard.min.js": re.compile('class="highlight'),
    "copybutton.js": re.compile('class="highlight'),
    "design-tabs.js": re.compile("sd-tab-set"),
    "toggle": re.compile(r'class="[^"]*(\btoggle\b|(?<!-)\bdropdown\b)'),
}
UNSEEN = re.compile(r"<(svg|script|style|annotation|details)\b.*?</\1>|<[^>]+>", re.S)
# Los que fijan opciones que otros leen al cargarse; el resto espera a que la página esté leída.
AT_ONCE = "documentation_options.js"


def choose_assets(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Los guiones de la página, sin los de fuera ni los de lo que no tiene; nadie los espera."""
    body = context.get("body", "")
    for kind in ("script_files", "css_files"):
        kept, seen = [], set()
        for asset in context.get(kind, []):
            text = f"{asset.filename}{asset.attributes.get('body') or ''}".lower()
            needed = all(p.search(body) for name, p in NEEDED_BY.items() if name in text)
            if needed and text not in seen and not any(name in text for name in OUTSIDE):
                kept.append(_deferred(asset) if kind == "script_files" else asset)
                seen.add(text)
        context[kind] = kept


def _deferred(script):
    if not script.filename or AT_ONCE in str(script.filename):
        return script
    attributes = {**script.attributes, "defer": "defer"}
    return type(script)(script.filename, priority=script.priority, **attributes)


# Lo que un lector de pantalla anunciaría mal: la esquina vacía de una tabla no encabeza ninguna
# columna, y las obras de la bibliografía son los elementos de su lista.
SPOKEN = (
    (re.compile(r"<th([^>]*)>((?:<p>)?\s*(?:</p>)?)</th>"), r"<td\1>\2</td>"),
    (re.compile(r'<td([^>]*?) scope="\w+"'), r"<td\1"),
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
)
# Una firma de varios renglones llega como una lista de definiciones sin nada que definir.
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.S)
NO_BREAK = "\u00a0"
LINES = (("<dl>", '<span class="sig-lines">'), ("</dl>", "</span>"), ("<dd>", "<span>"))
# Un número, su margen y su «%», en el mismo renglón: en un teléfono se partirían. En el código, no:
# se copia.
MARGIN = re.compile(r"<pre\b.*?</pre>|\d ± \d[\d.]*(?: %)?|\d %", re.S)
# Una fórmula y los signos que la abren y la cierran, también: el navegador los separaría.
SIGNED = re.compile(
    r'([(\[«¿¡]?)(<span class="math [^"]*">(?:(?!</span>).)*</span>)([)\].,;:?!»…]?)', re.S
)
TABLE = re.compile(r"<table\b.*?</table>", re.S)
CAPTION = re.compile(r"<caption>.*?</caption>", re.S)
QUOTED = re.compile(r"`([^`<>]+)`")
CORNER = re.compile(r"<thead>\s*<tr[^>]*>\s*<td")
FIRST = re.compile(r"(<tr[^>]*>\s*)<td([^>]*)>(.*?)</td>", re.S)


def mend_markup(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Corrige en la página lo que otros escriben mal para quien no la ve."""
    for wrong, right in SPOKEN:
        context["body"] = wrong.sub(right, context.get("body", ""))
    context["body"] = TABLE.sub(name_rows, context.get("body", ""))
    context["body"] = CAPTION.sub(code_in_caption, context["body"])
    context["body"] = SIGNATURE.sub(unlisted, context["body"])
    context["body"] = MARGIN.sub(joined, context["body"])
    context["body"] = SIGNED.sub(unbroken, context["body"])


def joined(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith("<pre") else found[0].replace(" ", NO_BREAK)


def say_heights(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Lo que medirá cada sección, a ojo: hasta que se acerca no se dispone, y ocupa eso."""
    sections = [] if doctree is None else doctree.findall(nodes.section)
    ids = [s["ids"][0] for s in sections if isinstance(s.parent.parent, nodes.document)]
    openings = "|".join(re.escape(f'<section id="{name}">') for name in ids)
    first, *rest = re.split(f"({openings})", context["body"]) if ids else [context.get("body", "")]
    for opening, section in zip(rest[::2], rest[1::2], strict=True):
        first += f'{opening[:-1]} style="--tall: {rem_high(section)}rem">{section}'
    context["body"] = first


def rem_high(section: str) -> int:
    """Un `rem` por cada 25 letras, y dieciocho por figura."""
    return 8 + len(UNSEEN.sub("", section)) // 25 + 18 * section.count("<svg")


def name_toggles(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """En el índice, el botón que despliega las páginas de otra dice qué hace."""
    draw = context.get("generate_toctree_html")

    def draw_named(*arguments, **options):
        contents = draw(*arguments, **options)
        toggle = '<summary aria-label="Mostrar u ocultar sus páginas">'
        return str(contents).replace("<summary>", toggle)

    if draw:
        context["generate_toctree_html"] = draw_named


def unbroken(found: re.Match) -> str:
    return f'<span class="unbroken">{found[0]}</span>' if found[1] or found[3] else found[0]


def unlisted(signature: re.Match) -> str:
    text = signature[0].replace("</dd>", "</span>")
    for wrong, right in LINES:
        text = text.replace(wrong, right)
    return text


def code_in_caption(caption: re.Match) -> str:
    """El pie de una tabla de una celda es texto: lo que va entre acentos graves es código."""
    return QUOTED.sub(r"<code>\1</code>", caption[0])


def name_rows(table: re.Match) -> str:
    """Si la esquina está vacía, la primera columna dice de qué es cada fila."""
    head, mark, rows = table[0].partition("<tbody>")
    if not CORNER.search(head):
        return table[0]
    return head + mark + FIRST.sub(r'\1<th scope="row"\2>\3</th>', rows)


# El veredicto de un cuaderno enlaza el archivo del capítulo, que está en la carpeta del curso.
CHAPTER_FILE = re.compile(r'href="\.\./(book/\w+)\.md')


def lead_to_chapters(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Lleva los enlaces de los veredictos a la página del capítulo."""
    address = context["pathto"]
    context["body"] = CHAPTER_FILE.sub(
        lambda found: f'href="{address(found[1])}', context.get("body", "")
    )


# Para que el teclado llegue a lo que no cabe, el tema mide todos los bloques al abrir la página, y
# eso obliga a disponer también las secciones lejanas. Ya lo hace course.js, según van llegando.
MEASURES = "e.tabIndex=e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1"


def leave_measuring_to_us(app: Sphinx, exception: Exception | None) -> None:
    """Quita esa cuenta del guion del tema."""
    path = Path(app.outdir, "_static/scripts/pydata-sphinx-theme.js")
    if exception is not None or not path.is_file():
        return
    text = path.read_text(encoding="utf-8")
    if MEASURES not in text and "scrollWidth" in text:
        logger.warning("%s cambió: revisa MEASURES, en course_site/interface.py", path.name)
    path.write_text(text.replace(MEASURES, ""), encoding="utf-8")


def drop_thebe_markup(app: Sphinx, doctree, docname) -> None:
    """Quita la configuración que sphinx-thebe deja al final de cada página."""
    for raw in list(doctree.findall(nodes.raw)):
        if "thebe" in raw.astext() and "<script" in raw.astext():
            raw.parent.remove(raw)


def drop_english_fields(app: Sphinx, what, name, field, skip, options) -> bool | None:
    """Deja fuera los campos de las tuplas con nombre: Python los explica en inglés, y de más."""
    return True if (getattr(field, "__doc__", None) or "").startswith("Alias for field") else None


EQUATION = re.compile(r"(?<![`:])`(eq-[\w-]+)`")
CHAPTER = re.compile(r"\b((?:capítulo|página) )`(\w+)`")


def link_sources(app: Sphinx, what, name, described, options, lines: list[str]) -> None:
    """En las descripciones de la biblioteca, las ecuaciones y los capítulos son enlaces."""
    text = EQUATION.sub(r":eq:`\1`", "\n".join(lines))
    lines[:] = CHAPTER.sub(r"\1:doc:`/book/\2`", text).split("\n")


class SpanishIndex(SphinxTransform):
    """En el índice alfabético, «módulo»: Sphinx lo escribe en inglés en todos los idiomas."""

    default_priority = 500  # antes de que Sphinx recoja las entradas

    def apply(self) -> None:
        for node in self.document.findall(addnodes.index):
            entries = node["entries"]
            node["entries"] = [(e[0], ENGLISH_MODULE.sub("módulo;", e[1]), *e[2:]) for e in entries]


def level_sections(app: Sphinx, what, name, thing, options, lines: list[str]) -> None:
    """Pone los demás renglones de un error, y de lo que se devuelve, a la altura del primero.

    Más adentro, napoleon los lee como la definición de un término. Y lo que se devuelve va ya como
    campo: de lo que hay delante de dos puntos, napoleon haría un tipo.
    """
    inside = False
    for i, line in enumerate(lines):
        deep = len(line) - len(line.lstrip())
        if line.strip() in ("Errores:", "Devuelve:"):
            inside, level = True, deep + 4
            lines[i] = line.replace("Devuelve:", ":Devuelve:")
        elif inside and line.strip():
            inside = deep >= level
            lines[i] = line[deep - level :] if inside else line


def keep_sentences(app: Sphinx, what, name, thing, options, lines: list[str]) -> None:
    """La oración que describe un atributo empieza aparte: si lleva dos puntos, no es un tipo."""
    if what in ("attribute", "data", "property") and lines:
        lines.insert(0, "\\")  # nada: un salto de renglón que reStructuredText no cuenta


ENGLISH_MODULE = re.compile(r"^module;")


def setup(app: Sphinx) -> None:
    app.add_transform(SpanishIndex)
    app.connect("html-page-context", choose_assets, priority=990)
    app.connect("html-page-context", mend_markup)
    app.connect("html-page-context", say_heights)
    app.connect("html-page-context", name_toggles, priority=990)
    app.connect("html-page-context", lead_to_chapters)
    app.connect("doctree-resolved", drop_thebe_markup, priority=990)
    app.connect("build-finished", leave_measuring_to_us)
    for mend in (level_sections, keep_sentences):
        app.connect("autodoc-process-docstring", mend, priority=400)  # antes que napoleon
    app.connect("autodoc-skip-member", drop_english_fields)
    app.connect("autodoc-process-docstring", link_sources)
