"""La interfaz: en español y sin partes que hablen con otros servidores."""

import re

from sphinx.application import Sphinx

# sphinx-thebe ejecuta código en un servidor ajeno; Jupyter Book lo carga aunque esté apagado.
OUTSIDE = ("thebe", "unpkg.com", "cdnjs.cloudflare.com")


def drop_outside_assets(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Quita de la página los guiones y estilos que no se usan o que vienen de fuera."""
    for kind in ("script_files", "css_files"):
        kept, seen = [], set()
        for asset in context.get(kind, []):
            body = getattr(asset, "attributes", {}).get("body") or ""
            text = f"{getattr(asset, 'filename', asset)}{body}".lower()
            if text not in seen and not any(name in text for name in OUTSIDE):
                kept.append(asset)
                seen.add(text)
        context[kind] = kept


# Lo que un lector de pantalla anunciaría mal: la esquina vacía de una tabla no encabeza ninguna
# columna, y las obras de la bibliografía son los elementos de su lista.
SPOKEN = (
    (re.compile(r"<th([^>]*)>((?:<p>)?\s*(?:</p>)?)</th>"), r"<td\1>\2</td>"),
    (re.compile(r'role="doc-biblioentry"'), 'role="listitem"'),
)


def mend_markup(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Corrige en la página lo que otros escriben mal para quien no la ve."""
    for wrong, right in SPOKEN:
        context["body"] = wrong.sub(right, context.get("body", ""))


# El veredicto de un cuaderno enlaza el archivo del capítulo, que está en la carpeta del curso.
CHAPTER_FILE = re.compile(r'href="\.\./(book/\w+)\.md')


def lead_to_chapters(app: Sphinx, pagename, templatename, context, doctree) -> None:
    """Lleva los enlaces de los veredictos a la página del capítulo."""
    address = context["pathto"]
    context["body"] = CHAPTER_FILE.sub(
        lambda found: f'href="{address(found[1])}', context.get("body", "")
    )


def drop_thebe_markup(app: Sphinx, doctree, docname) -> None:
    """Quita la configuración que sphinx-thebe deja al final de cada página."""
    from docutils import nodes

    for raw in list(doctree.findall(nodes.raw)):
        if "thebe" in raw.astext() and "<script" in raw.astext():
            raw.parent.remove(raw)


def drop_english_fields(app: Sphinx, what, name, field, skip, options) -> bool | None:
    """Deja fuera los campos de las tuplas con nombre: Python los explica en inglés, y de más."""
    return True if (getattr(field, "__doc__", None) or "").startswith("Alias for field") else None


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", drop_outside_assets, priority=990)
    app.connect("html-page-context", mend_markup)
    app.connect("html-page-context", lead_to_chapters)
    app.connect("doctree-resolved", drop_thebe_markup, priority=990)
    app.connect("autodoc-skip-member", drop_english_fields)
