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


def test_text_is_aligned():
    assert repr(TABLE).splitlines()[1:] == [
        "      pasos  acierto",
        "GRU  12\u202f000     0.50",
        "<b>  600.00    −0.25",
    ]


def test_a_short_row_is_refused():
    with pytest.raises(ValueError, match="3 casillas"):
        Table(["", "a", "b"], [["x", 1]])
