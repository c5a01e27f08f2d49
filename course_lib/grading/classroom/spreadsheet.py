"""Celdas que se abren en una hoja de cálculo: leerlas, y que ningún texto ajeno sea una fórmula."""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence

_MAX_CELL = 1 << 26
# Lo que una hoja de cálculo puede tomar por el comienzo de una fórmula, también detrás de un
# separador: si no es el que ella espera, parte las celdas por otro sitio. Las formas anchas valen
# igual en algunos idiomas.
_START, _SIGN = r"""((?:^|[;,|\t\r\n"'])\s*)""", r"=+\-@＝＋－＠"
_FORMULA = re.compile(rf"{_START}([{_SIGN}])")
_FORMULAS = re.compile(rf"{_START}([{_SIGN}][{_SIGN}\s]*)")
# El lector de CSV de PHP no cierra una celda con unas comillas que sigan a una barra invertida.
_BACKSLASH = re.compile(r'\\(?="|$)')


def plain_cell(text: str) -> str:
    """Deja un texto ajeno como texto: ninguna hoja de cálculo lo toma por una fórmula."""
    return _BACKSLASH.sub(r"\\ ", _FORMULA.sub(r"\1'\2", text))


def html_cell(text: str) -> str:
    """Escapa un texto ajeno para el HTML que va en una celda, sin fórmulas ni etiquetas."""
    return _FORMULAS.sub(
        lambda found: found[1] + re.sub(r"\S", lambda sign: f"&#{ord(sign[0])};", found[2]),
        html.escape(text),
    )


def encoding_of(content: bytes) -> str:
    """Reconoce la codificación de un CSV por su marca, o por si es UTF-8."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"


def read_cells(text: str, delimiter: str) -> list[list[str]]:
    """Lee las filas de un CSV, menos las vacías; ninguna si no se puede leer."""
    before = csv.field_size_limit(_MAX_CELL)
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return [row for row in rows if row]
    except csv.Error:
        return []
    finally:
        csv.field_size_limit(before)


def write_cells(rows: Iterable[Sequence[str]], delimiter: str, newline: str) -> str:
    """Escribe filas en CSV."""
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=delimiter, lineterminator=newline).writerows(rows)
    return file.getvalue()
