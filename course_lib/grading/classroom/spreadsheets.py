"""Las hojas que escribe quien califica: en CSV, o en el `.xlsx` de Excel o de LibreOffice.

De un `.xlsx` (ECMA-376) se lee la primera hoja: textos, números, fechas y resultados de fórmulas,
como se ven. Un número que parece una fecha porque la hoja de cálculo lo cambió se lee como fecha,
para que quien lo puso se entere.
"""

from __future__ import annotations

import os
import re
import zipfile
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

from course_lib.grading.classroom.worksheet import encoding_of, read_rows

_MAX_BYTES = 32 << 20
_MAX_COLUMNS = 500
_BUILT_IN_DATES = frozenset((*range(14, 23), *range(45, 48)))
"""Los formatos de fecha y hora que vienen con el formato, por su número."""
_DATE_LETTERS = re.compile(r"[dmyhs]", re.IGNORECASE)
_NOT_LETTERS = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
"""Lo que en un formato no dice cómo se escribe: textos, letras escapadas, colores e idiomas."""


class SpreadsheetError(ValueError):
    """La hoja no se puede leer; el mensaje dice por qué y qué hacer."""


def by_hand(path: Path) -> Path:
    """El archivo que se lee: el `.csv` que se nombra o, si está, el `.xlsx` con su nombre.

    Errores:
        SpreadsheetError: están los dos, y el `.csv` es el que se tocó después.
    """
    other = path.with_suffix(".xlsx")
    if not other.exists():
        return path
    if path.exists() and path.stat().st_mtime > other.stat().st_mtime:
        raise SpreadsheetError(
            f"Están «{path.name}» y «{other.name}», y no se sabe cuál vale, porque el primero se "
            f"guardó después: deja uno solo."
        )
    return other


def mark_as_copy(path: Path) -> None:
    """Deja dicho que un `.csv` recién escrito sale del `.xlsx` de su nombre, si lo hay."""
    other = path.with_suffix(".xlsx")
    if other.exists():
        when = other.stat().st_mtime_ns
        os.utime(path, ns=(when, when))


def read_by_hand(path: Path, first: str) -> list[list[str]]:
    """Da las filas de una hoja, con el encabezado; ninguna, si su primera columna es otra.

    Argumentos:
        path: el `.csv`, con comas, puntos y comas o tabuladores, o el `.xlsx`.
        first: cómo se llama su primera columna.

    Errores:
        SpreadsheetError: no se puede leer.
    """
    if path.suffix.lower() == ".xlsx":
        rows = read_workbook(path)
        return rows if rows and rows[0] and rows[0][0].strip() == first else []
    content = path.read_bytes()
    text = content.decode(encoding_of(content), "replace").removeprefix("\ufeff")
    delimiter = re.match(rf'"?{re.escape(first)}"?([,;\t])', text)
    return read_rows(text, delimiter[1]) if delimiter else []


def read_workbook(path: Path) -> list[list[str]]:
    """Da las filas de la primera hoja de un `.xlsx`, como textos, sin las vacías del final.

    Errores:
        SpreadsheetError: no es un `.xlsx` que se pueda leer.
    """
    try:
        with zipfile.ZipFile(path) as book:
            return _Workbook(book).rows()
    except OSError as error:
        raise SpreadsheetError(f"No se puede leer «{path}»: {error.strerror}.") from None
    except (zipfile.BadZipFile, KeyError, ValueError, IndexError, ElementTree.ParseError):
        raise SpreadsheetError(
            f"«{path}» no es un .xlsx que se pueda leer: ábrelo, guárdalo como «Libro de Excel "
            f"(.xlsx)» o como CSV, y repite la orden."
        ) from None


class _Workbook:
    """Un `.xlsx` abierto: un ZIP con una hoja, los textos que comparten sus celdas y los formatos.

    Errores:
        KeyError, ValueError: le falta algo, o pasa del tamaño que puede tener una hoja.
    """

    def __init__(self, book: zipfile.ZipFile) -> None:
        self.book, self.names = book, set(book.namelist())
        workbook = self._part("xl/workbook.xml")
        links = {
            each.get("Id"): each.get("Target", "")
            for each in self._part("xl/_rels/workbook.xml.rels")
        }
        sheet = workbook.find("{*}sheets/{*}sheet")
        link = next(v for k, v in sheet.attrib.items() if k.endswith("}id"))
        target = links[link]
        self.sheet = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
        settings = workbook.find("{*}workbookPr")
        since_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        self.epoch = datetime(1904, 1, 1) if since_1904 else datetime(1899, 12, 30)
        self.texts = [_text(each) for each in self._optional("xl/sharedStrings.xml")]
        self.dates = self._date_styles()

    def rows(self) -> list[list[str]]:
        found: dict[int, dict[int, str]] = {}
        for number, row in enumerate(self._part(self.sheet).iterfind("{*}sheetData/{*}row"), 1):
            cells: dict[int, str] = {}
            for cell in row.iterfind("{*}c"):
                place = cell.get("r")
                column = _column(place) if place else max(cells, default=-1) + 1
                if column < _MAX_COLUMNS:
                    cells[column] = self._value(cell)
            if any(text.strip() for text in cells.values()):
                found[int(row.get("r") or number)] = cells
        width = 1 + max((column for cells in found.values() for column in cells), default=-1)
        return [[cells.get(i, "") for i in range(width)] for _, cells in sorted(found.items())]

    def _value(self, cell: ElementTree.Element) -> str:
        kind, value = cell.get("t", "n"), cell.findtext("{*}v") or ""
        if kind == "inlineStr":
            return _text(cell.find("{*}is"))
        if kind == "s":
            return self.texts[int(value)]
        if kind == "b":
            return "sí" if value == "1" else "no"
        if kind != "n" or not value:  # el resultado de una fórmula, un error o una fecha ISO
            return value
        if int(cell.get("s") or 0) in self.dates:
            moment = self.epoch + timedelta(days=float(value))
            return moment.isoformat(" ", "minutes").removesuffix(" 00:00")
        return f"{float(value):.10g}"

    def _date_styles(self) -> set[int]:
        """Los estilos de celda con que un número se ve como fecha."""
        if "xl/styles.xml" not in self.names:
            return set()
        styles = self._part("xl/styles.xml")
        own = {
            int(each.get("numFmtId")): _NOT_LETTERS.sub("", each.get("formatCode", ""))
            for each in styles.iterfind("{*}numFmts/{*}numFmt")
        }
        dates = _BUILT_IN_DATES | {n for n, code in own.items() if _DATE_LETTERS.search(code)}
        cells = styles.iterfind("{*}cellXfs/{*}xf")
        return {i for i, each in enumerate(cells) if int(each.get("numFmtId") or 0) in dates}

    def _optional(self, name: str) -> ElementTree.Element | list:
        return self._part(name) if name in self.names else []

    def _part(self, name: str) -> ElementTree.Element:
        if self.book.getinfo(name).file_size > _MAX_BYTES:
            raise ValueError(name)
        content = self.book.read(name)
        if b"<!ENTITY" in content:
            raise ValueError(name)
        return ElementTree.fromstring(content)


def _text(item: ElementTree.Element | None) -> str:
    """El texto de una celda, con o sin formato dentro; no la lectura de los ideogramas."""
    if item is None:
        return ""
    runs = [item, *item.iterfind("{*}r")]
    return "".join(each.findtext("{*}t") or "" for each in runs)


def _column(place: str) -> int:
    """La columna de una celda, desde 0: la de «C7» es 2."""
    number = 0
    for letter in re.match(r"[A-Za-z]{1,3}", place)[0].upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1
