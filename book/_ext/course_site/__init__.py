"""Extensión de Sphinx del libro: cada módulo añade una parte del sitio."""

from sphinx.application import Sphinx

from . import diagrams, mathematics

PARTS = (diagrams, mathematics)


def setup(app: Sphinx) -> dict[str, object]:
    """Registra las partes, en orden."""
    app.add_config_value("course_include_solutions", True, "env")
    app.add_config_value("course_published_branch", "gh-pages", "html")
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
