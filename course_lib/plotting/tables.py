"""Una tabla de resultados: en una página, HTML; en una terminal, columnas alineadas."""

import html
from collections.abc import Sequence
from typing import Any

from course_lib.plotting._axes import array, check_count, format_number


class Table:
    """Una tabla que un cuaderno muestra como HTML.

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
            self.rows.append(list(zip(texts, map(_is_number, cells), strict=True)))

    def __repr__(self) -> str:
        lines = [self.header, *([text for text, _ in row] for row in self.rows)]
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
        numeric = [all(row[i][1] for row in self.rows) for i in range(len(self.header))]
        head = "".join(
            f'<th scope="col"{_class(number)}>{html.escape(text)}</th>' if text else "<td></td>"
            for text, number in zip(self.header, numeric, strict=True)
        )
        rows = "".join(f"<tr>{''.join(_html(row))}</tr>" for row in self.rows)
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


def _html(row: list[tuple[str, bool]]) -> list[str]:
    first, *rest = row
    cells = [f'<th scope="row">{html.escape(first[0])}</th>']
    cells += [f"<td{_class(number)}>{html.escape(text)}</td>" for text, number in rest]
    return cells


def _class(is_number: bool) -> str:
    return ' class="number"' if is_number else ""
