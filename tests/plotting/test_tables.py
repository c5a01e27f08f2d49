"""Las tablas: números como los escribe el curso, y cabeceras que un lector de pantalla anuncia."""

import pytest
import torch
from bs4 import BeautifulSoup

from course_lib.plotting import Table

TABLE = Table(
    ["", "pasos", "acierto"],
    [["GRU", 12000, 0.5], ["<b>", torch.tensor([600.0, -0.25])]],
    caption="Lo medido.",
)


def test_html_has_headers_and_escapes():
    page = BeautifulSoup(TABLE._repr_html_(), "html.parser")
    assert page.caption.get_text() == "Lo medido."
    assert [th.get_text() for th in page.select('thead th[scope="col"]')] == ["pasos", "acierto"]
    assert [th.get_text() for th in page.select('tbody th[scope="row"]')] == ["GRU", "<b>"]
    assert [td.get_text() for td in page.select("td.number")] == [
        "12\u202f000",
        "0.50",
        "600.00",
        "−0.25",
    ]
    assert page.find("b") is None


@pytest.mark.parametrize(
    ("cells", "numeric"),
    [
        (["2.0 ± 1.3", "—", "", 12000], True),
        (["−38.8 %", "66 / 11", "1.2e+16"], True),
        (["12", "no se puede"], False),
        (["—", ""], False),
        (["paso 1", "2.º"], False),
        ([], False),
    ],
)
def test_a_column_of_figures_is_aligned_whole(cells, numeric):
    table = Table(["", "cuánto"], [["x", cell] for cell in cells])
    page = BeautifulSoup(table._repr_html_(), "html.parser")
    aligned = ["number" in cell.get("class", []) for cell in page.select("td, th[scope=col]")[1:]]
    assert aligned == [numeric] * (1 + len(cells))


def test_text_is_aligned():
    assert repr(TABLE).splitlines()[1:] == [
        "      pasos  acierto",
        "GRU  12\u202f000     0.50",
        "<b>  600.00    −0.25",
    ]


def test_a_short_row_is_refused():
    with pytest.raises(ValueError, match="3 casillas"):
        Table(["", "a", "b"], [["x", 1]])
