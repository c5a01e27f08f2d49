"""Extensión de Sphinx del libro: cada módulo añade una parte del sitio."""

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
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
