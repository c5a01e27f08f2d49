"""Una tabla de resultados: en una página, HTML; en una terminal, columnas alineadas."""

import html
import re
from collections.abc import Sequence
from typing import Any

from course_lib.plotting._axes import array, check_count, format_number

# «0.5», «−3.1 ± 11.5», «12 %», «66 / 11»; y lo que se escribe donde no hay número.
ONE = r"[−-]?[\d\u202f]+(\.\d+)?(e[+-]\d+)?( ± [\d\u202f.]+)?( %)?"
FIGURES, ABSENT = re.compile(rf"{ONE}( / {ONE})*"), ("", "—")


class Table:
    """Una tabla que un cuaderno muestra como HTML.

    La columna que solo tiene números, también escritos como texto, se alinea a la derecha; su
    «—» o su casilla vacía, con ellos.

    Argumentos:
        header: el título de cada columna; el de la primera puede ser "".
        rows: por fila, su nombre y lo que lleva en cada columna: textos, números o un tensor.
        digits: decimales de los números que no son enteros.
        caption: qué muestra, en una frase.

    Errores:
        ValueError: si una fila no tiene una casilla por título.

    Ejemplo:
        >>> from course_lib.plotting import Table
        >>> Table(["", "pasos", "acierto"], [["GRU", 12000, 0.5], ["atención", 600, 0.975]])
        <BLANKLINE>
                   pasos  acierto
        GRU       12 000     0.50
        atención     600     0.97
    """

    def __init__(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        digits: int = 2,
        caption: str = "",
    ) -> None:
        self.header, self.caption = list(header), caption
        self.rows = []
        for row in rows:
            cells = [cell for part in row for cell in _cells(part)]
            texts = [_text(cell, digits) for cell in cells]
            check_count(texts, len(self.header), "casillas", "columnas")
            self.rows.append(texts)
        columns = range(len(self.header))
        self.numeric = [_all_figures([row[i] for row in self.rows]) for i in columns]

    def __repr__(self) -> str:
        lines = [self.header, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n" + "\n".join(
            "  ".join(
                text.rjust(width) if i else text.ljust(width)
                for i, (text, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(
            f'<th scope="col"{_class(number)}>{html.escape(text)}</th>' if text else "<td></td>"
            for text, number in zip(self.header, self.numeric, strict=True)
        )
        rows = "".join(f"<tr>{''.join(_html(row, self.numeric))}</tr>" for row in self.rows)
        return (
            f'<table class="table course-table">{caption}<thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table>"
        )


def _cells(part: Any) -> list[Any]:
    return array(part).ravel().tolist() if hasattr(part, "detach") else [part]


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def _text(cell: Any, digits: int) -> str:
    if not _is_number(cell):
        return str(cell)
    return format_number(cell, digits if isinstance(cell, float) else 0).replace("-", "−")


def _all_figures(column: Sequence[str]) -> bool:
    there = [text for text in column if text not in ABSENT]
    return bool(there) and all(map(FIGURES.fullmatch, there))


def _html(row: list[str], numeric: list[bool]) -> list[str]:
    first, *rest = row
    cells = [f'<th scope="row">{html.escape(first)}</th>']
    cells += [
        f"<td{_class(number)}>{html.escape(text)}</td>"
        for text, number in zip(rest, numeric[1:], strict=True)
    ]
    return cells


def _class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
