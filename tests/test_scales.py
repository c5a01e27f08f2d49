"""La nota que se ve: qué da cada escala, y qué se sube cuando la hay."""

import csv
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.course_settings import CourseSettings
from course_lib.grading.classroom.course_gradebook import read_sheet
from course_lib.grading.classroom.gradebooks import write_grades, write_worksheet
from course_lib.grading.classroom.publication import publish
from course_lib.grading.classroom.report import class_report, evidence_page, feedback_page
from course_lib.grading.classroom.results import ClassResults
from course_lib.grading.classroom.worksheet import read_worksheet
from course_lib.scales import SCALES, LetterScale
from tests.grading.classroom.test_gradebooks import graded, read_as_moodle, refused, sheet
from tests.grading.classroom.test_report import said

CHILE = SCALES["1-7"]


@pytest.mark.parametrize(
    ("name", "points", "text"),
    [
        ("0-5", 8, "2.9"),
        ("0-5", 14, "5.0"),
        ("0-10", 0, "0.00"),
        ("0-10", 13, "9.29"),
        ("0-10", 14, "10.00"),
        ("0-20", 7, "10.0"),
        ("1-7", 0, "1.0"),
        ("1-7", 14, "7.0"),
        ("percent", 13, "92.86"),
        ("letters", 13, "A"),
        ("letters", 12, "B"),
        ("letters", 0, "F"),
    ],
)
def test_each_scale_says_its_grade(name, points, text):
    assert SCALES[name].grade(points, 14).text == text


@pytest.mark.parametrize(
    ("points", "text", "passed"),
    [
        (30, "2.5", False),
        (59, "4.0", True),
        (58, "3.9", False),
        (60, "4.0", True),
        (80, "5.5", True),
    ],
)
def test_from_one_to_seven_has_its_corner_at_sixty(points, text, passed):
    """Con 60 de 100 hay un 4; antes y después se reparte en dos rectas, y cuenta lo que se ve."""
    found = CHILE.grade(points, 100)
    assert (found.text, found.passed) == (text, passed)


def test_from_zero_to_five_passes_with_three():
    """La escala de Colombia: recta, y con 60 de 100 hay un 3."""
    found = [SCALES["0-5"].grade(points, 100) for points in (58, 59, 60)]
    assert [(each.text, each.passed) for each in found] == [
        ("2.9", False), ("3.0", True), ("3.0", True),
    ]  # fmt: skip


@given(st.sampled_from(sorted(set(SCALES) - {"letters"})), st.integers(1, 200), st.data())
def test_more_points_are_never_a_lower_grade(name, top, data):
    points = data.draw(st.integers(1, top))
    scale = SCALES[name]
    fewer, more = scale.grade(points - 1, top), scale.grade(points, top)
    assert scale.lowest <= fewer.value <= more.value <= scale.highest


def test_nobody_is_below_the_minimum():
    scale = replace(CHILE, minimum=Decimal(2))
    assert [scale.grade(points, 14).text for points in (0, 1, 14)] == ["2.0", "2.0", "7.0"]


def test_a_number_passes_only_where_the_course_says_so():
    assert SCALES["0-10"].grade(14, 14).passed is None
    scale = replace(SCALES["0-10"], passing=Decimal(6))
    assert [scale.grade(points, 10).passed for points in (5, 6)] == [False, True]
    assert scale.grade(5, 10).text == "5.00", "sin `passing_at`, la escala sigue recta"


def test_the_letters_pass_from_one_upwards():
    scale = LetterScale({"MB": Decimal(80), "B": Decimal(50), "I": Decimal(0)}, "B")
    found = [scale.grade(points, 10) for points in (4, 5, 8)]
    assert [(grade.text, grade.passed) for grade in found] == [
        ("I", False),
        ("B", True),
        ("MB", True),
    ]


# Lo que se escribe


def course(scale, **fields):
    return CourseSettings(scale=scale, **fields)


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def test_the_grade_has_its_columns(tmp_path):
    works = [graded(1, 14), graded(2, 4, name="Beto"), refused(3, "Carla")]
    write_grades(ClassResults(works, course=course(CHILE)), tmp_path / "grades.csv")
    rows = {row["Estudiante"]: row for row in rows_of(tmp_path / "grades.csv")}
    told = {who: (row["Nota (1-7)"], row["Aprueba"]) for who, row in rows.items()}
    assert told == {"Ana Pérez": ("7.0", "sí"), "Beto": ("2.4", "no"), "Carla": ("", "")}
    write_grades(ClassResults(works, course=course(SCALES["0-10"])), tmp_path / "other.csv")
    assert "Aprueba" not in rows_of(tmp_path / "other.csv")[0], "no se dijo con cuánto"


def test_the_sheet_takes_the_grade_where_the_task_is_worth_as_much(tmp_path):
    results = ClassResults([graded(1, 4)], course=course(CHILE))
    for maximum, expected in (("7,00", 2.4), ("10,00", 2.86)):
        template = sheet(tmp_path / "hoja.csv", [(1, "Ana Pérez", "", "")], maximum=maximum)
        write_worksheet(results, tmp_path / "out.csv", read_worksheet(template))
        assert read_as_moodle((tmp_path / "out.csv").read_bytes())[1][0] == expected
    write_worksheet(results, tmp_path / "blank.csv")
    assert read_as_moodle((tmp_path / "blank.csv").read_bytes())[1][0] == 2.4


def test_letters_are_uploaded_as_points(tmp_path):
    results = ClassResults([graded(1, 7)], course=course(SCALES["letters"]))
    template = sheet(tmp_path / "hoja.csv", [(1, "Ana Pérez", "", "")])
    write_worksheet(results, tmp_path / "out.csv", read_worksheet(template))
    assert read_as_moodle((tmp_path / "out.csv").read_bytes())[1][0] == 5.0


def test_canvas_takes_it_too_and_the_difference_is_said(tmp_path):
    book = tmp_path / "libro.csv"
    told = {}
    for worth in ("7", "100"):
        book.write_text(
            "Student,ID,SIS User ID,SIS Login ID,Section,Tarea (9)\n"
            f"    Points Possible,,,,,{worth}\nAna Pérez,1,,ana,A,\n",
            encoding="utf-8",
        )
        results = ClassResults([graded(1, 4, topic="attention")], course=course(CHILE))
        told[worth] = publish(results, tmp_path, worksheet=read_sheet(book)).scale
        last = (tmp_path / "canvas_worksheet.csv").read_text("utf-8-sig").splitlines()[-1]
        assert last.endswith({"7": ",2.40", "100": ",28.57"}[worth])
    assert told["7"] == "Notas en la escala 1-7. Aprueban 0 de 1, con 4."
    assert told["100"].endswith(
        "la tarea vale 100, que no es la nota más alta: ahí van los puntos, en proporción."
    )


def test_the_pages_say_the_grade_and_whose_the_course_is(tmp_path):
    logo = tmp_path / "logo.svg"
    logo.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"/>', "utf-8")
    mine = course(CHILE, name="Redes & lenguas", institution="Universidad X", logo=logo)
    mine = replace(mine, contact="ana@ejemplo.edu")
    results = ClassResults([graded(1, 14), graded(2, 4, name="Beto")], course=mine)
    good, bad = results.students
    pages = [class_report(results)]
    pages += [write(bad, course=mine) for write in (feedback_page, evidence_page)]
    for page in pages:
        assert "Redes & lenguas · Universidad X" in said(page)
        assert "img-src data:" in page and 'src="data:image/svg+xml;base64,' in page
        assert "Atención y Transformers" not in page
    assert "Con el máximo 1 Aprueban, con 4 1 " in said(pages[0])
    for page in pages[1:]:
        assert "Nota: 2.4 de 7 · no aprueba (con 4)" in said(page)
    assert "Nota: 7.0 de 7 · aprueba (con 4)" in said(feedback_page(good, course=mine))
    assert 'href="mailto:ana@ejemplo.edu"' in pages[1]


def test_without_a_scale_nothing_is_said_of_a_grade(tmp_path):
    results = ClassResults([graded(1, 14)])
    assert results.students[0].grade is None and results.passed is None
    for page in (class_report(results), feedback_page(results.students[0])):
        assert "Nota:" not in page and "img-src" not in page and "Aprueba" not in page
    write_grades(results, tmp_path / "grades.csv")
    assert not any("Nota" in column for column in rows_of(tmp_path / "grades.csv")[0])
    assert publish(results, tmp_path).scale == ""
