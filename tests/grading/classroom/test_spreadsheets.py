"""Las hojas de quien califica, en CSV o en el .xlsx que escriben Excel y LibreOffice."""

import os
import zipfile
from decimal import Decimal

import pytest

from course_lib.grading.classroom.gradebooks import _write_spreadsheet
from course_lib.grading.classroom.overrides import OverridesError, read_overrides, write_blank
from course_lib.grading.classroom.roster import read_roster
from course_lib.grading.classroom.rubric import RubricError, read_rubric
from course_lib.grading.classroom.spreadsheets import (
    SpreadsheetError,
    by_hand,
    mark_as_copy,
    read_by_hand,
    read_workbook,
)

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
STYLES = f"""<styleSheet xmlns="{MAIN}"><numFmts count="2">
<numFmt numFmtId="164" formatCode="dd/mm/yyyy"/>
<numFmt numFmtId="165" formatCode="0.0&quot;d&quot;"/>
</numFmts><cellXfs count="4"><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/>
<xf numFmtId="165"/></cellXfs></styleSheet>"""


def workbook(path, rows, *, texts=(), settings="", sheet="worksheets/sheet1.xml"):
    """Escribe un .xlsx como los de Excel: con textos compartidos, estilos y celdas que faltan."""
    shared = "".join(f"<si>{text}</si>" for text in texts)
    files = {
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}">{settings}<sheets>'
        '<sheet name="Hoja 1" sheetId="1" r:id="rId7"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">'
        f'<Relationship Id="rId7" Type="x" Target="{sheet}"/></Relationships>',
        f"xl/{sheet}".replace("xl//xl/", "xl/"): f'<worksheet xmlns="{MAIN}"><sheetData>{rows}'
        "</sheetData></worksheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{MAIN}">{shared}</sst>',
        "xl/styles.xml": STYLES,
    }
    with zipfile.ZipFile(path, "w") as book:
        for name, content in files.items():
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return path


def inline(*rows):
    """Unas filas con los textos dentro, como las de LibreOffice sin textos compartidos."""
    cells = (
        "".join(f'<c t="inlineStr"><is><t>{text}</t></is></c>' for text in row) for row in rows
    )
    return "".join(f"<row>{row}</row>" for row in cells)


def test_every_kind_of_cell_is_read(tmp_path):
    rows = """<row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row>
    <row r="3"><c r="A3"><v>2.5</v></c><c r="B3"><v>12.300000000000001</v></c>
    <c r="C3"><v>1E1</v></c>
    <c r="D3" t="b"><v>1</v></c><c r="E3" t="str"><f>A1</f><v>suma</v></c>
    <c r="F3" t="e"><v>#N/A</v></c>
    </row><row r="4"><c r="A4" s="1"><v>46000</v></c><c r="B4" s="2"><v>46000.75</v></c>
    <c r="C4" s="3"><v>7</v></c><c r="AA4" t="inlineStr"><is><t>lejos</t></is></c></row>
    <row r="9"><c r="A9" t="inlineStr"><is><t>  </t></is></c></row>"""
    texts = ("<t>Estudiante</t>", "<r><t>Mo</t></r><r><t>tivo</t></r><rPh><t>no</t></rPh>")
    found = read_workbook(workbook(tmp_path / "a.xlsx", rows, texts=texts))
    assert [row[:6] for row in found] == [
        ["Estudiante", "", "Motivo", "", "", ""],
        ["2.5", "12.3", "10", "sí", "suma", "#N/A"],
        ["2025-12-09", "2025-12-09 18:00", "7", "", "", ""],
    ]
    assert found[2][26] == "lejos"


def test_dates_since_1904_and_an_absolute_path(tmp_path):
    rows = '<row r="1"><c r="A1" s="1"><v>1</v></c></row>'
    options = {"settings": '<workbookPr date1904="1"/>', "sheet": "/xl/worksheets/otra.xml"}
    assert read_workbook(workbook(tmp_path / "a.xlsx", rows, **options)) == [["1904-01-02"]]


def test_what_the_course_writes_is_read_again(tmp_path):
    rows = [["Estudiante", "Total"], ["=Ana & Luis", "12.5"], ["<b>", ""]]
    _write_spreadsheet(rows, tmp_path / "a.xlsx")
    assert read_workbook(tmp_path / "a.xlsx") == rows


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"Estudiante,Puntos"])
def test_what_is_not_a_workbook_is_told(tmp_path, content):
    (tmp_path / "a.xlsx").write_bytes(content)
    with pytest.raises(SpreadsheetError, match=r"no es un \.xlsx"):
        read_workbook(tmp_path / "a.xlsx")


def test_entities_and_missing_parts_are_refused(tmp_path):
    path = workbook(tmp_path / "a.xlsx", "<!ENTITY x 'y'>")
    with pytest.raises(SpreadsheetError):
        read_workbook(path)
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as book:
        book.writestr("otra.txt", "nada")
    with pytest.raises(SpreadsheetError):
        read_workbook(tmp_path / "b.xlsx")


# Las hojas que se llenan a mano

HEADER = ("Estudiante", "Qué", "Puntos", "Motivo")


def test_changes_by_hand_are_read_from_a_workbook(tmp_path):
    given = ("Ana García", "attention.soft_argmax", "1", "También vale")
    workbook(tmp_path / "overrides.xlsx", inline(HEADER, given))
    write_blank(tmp_path / "overrides.csv")
    assert not (tmp_path / "overrides.csv").exists()
    (one,) = read_overrides(tmp_path / "overrides.csv")
    assert (one.who, one.points, one.reason) == ("Ana García", Decimal(1), "También vale")


def test_points_that_a_spreadsheet_turned_into_a_date_are_told(tmp_path):
    rows = inline(HEADER) + (
        '<row><c t="inlineStr"><is><t>Ana</t></is></c><c t="inlineStr"><is><t>total</t></is></c>'
        '<c s="1"><v>46000</v></c><c t="inlineStr"><is><t>Porque sí</t></is></c></row>'
    )
    workbook(tmp_path / "overrides.xlsx", rows)
    with pytest.raises(OverridesError, match="2025-12-09"):
        read_overrides(tmp_path / "overrides.csv")


def test_the_rubric_is_read_from_a_workbook(tmp_path):
    from course_lib.grading.classroom.results import topic_outline

    (first, *_) = topic_outline("attention").rubric
    column = f"attention 1 ({first.points}): {first.text}".replace("&", "&amp;")
    rows = inline(("Clave", "Estudiante", "Archivo", column))
    rows += '<row><c t="inlineStr"><is><t>ana-1</t></is></c><c r="D2"><v>1</v></c></row>'
    workbook(tmp_path / "rubric.xlsx", rows)
    assert read_rubric(tmp_path / "rubric.csv") == {"ana-1": {("attention", 1): 1}}
    workbook(tmp_path / "rubric.xlsx", inline(("Otra", "cosa")))
    with pytest.raises(RubricError, match="su primera columna es «Clave»"):
        read_rubric(tmp_path / "rubric.csv")


def test_the_last_one_saved_is_not_guessed(tmp_path):
    path, other = tmp_path / "rubric.csv", tmp_path / "rubric.xlsx"
    assert by_hand(path) == path
    other.touch()
    assert by_hand(path) == other
    path.touch()
    later = other.stat().st_mtime + 5
    os.utime(path, (later, later))
    with pytest.raises(SpreadsheetError, match="deja uno solo"):
        by_hand(path)
    mark_as_copy(path)
    assert by_hand(path) == other


def test_a_csv_is_read_with_any_separator(tmp_path):
    for separator in ",;\t":
        (tmp_path / "a.csv").write_text(f"\ufeffA{separator}B\n1{separator}2\n", encoding="utf-8")
        assert read_by_hand(tmp_path / "a.csv", "A") == [["A", "B"], ["1", "2"]]
    assert read_by_hand(tmp_path / "a.csv", "B") == []


# La lista de una clase


@pytest.mark.parametrize(
    "text",
    [
        "Ana García\nLuis Pérez\n",
        "García, Ana\nPérez, Luis\n",
        "Apellido(s),Nombre,Correo\nGarcía,Ana,a@b.es\nPérez,Luis,l@b.es\n",
        "Correo;Estudiante\na@b.es;Ana García\nl@b.es;Luis Pérez\n",
        "Identificador,Nombre completo,Estado\n1,Ana García,x\n2,Luis Pérez,y\n",
    ],
)
def test_a_roster_is_read_as_it_comes(tmp_path, text):
    (tmp_path / "clase.csv").write_text(text, encoding="utf-8")
    names = [set(name.replace(",", "").split()) for name in read_roster(tmp_path / "clase.csv")]
    assert names == [{"Ana", "García"}, {"Luis", "Pérez"}]


def test_a_roster_may_be_a_workbook(tmp_path):
    workbook(tmp_path / "clase.xlsx", inline(("Nombre", "Apellidos"), ("Ana", "García")))
    assert read_roster(tmp_path / "clase.xlsx") == ["Ana García"]
