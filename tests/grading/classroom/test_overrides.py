"""Llegar tarde, y lo que se pone a mano: qué se descuenta, a quién se le dice y qué se rechaza."""

import csv
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

import pytest

from course_lib.course_settings import AS_IT_COMES, CourseSettingsError, read_course_settings
from course_lib.grading.classroom.collection import Entry, collect
from course_lib.grading.classroom.gradebooks import write_grades
from course_lib.grading.classroom.overrides import (
    OverridesError,
    by_owner,
    read_overrides,
    with_overrides,
    with_those_that_fit,
    with_totals_that_fit,
    write_blank,
)
from course_lib.grading.classroom.report import class_report, feedback_page
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.classroom.worksheet import read_date
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.scales import SCALES, LatePolicy
from tests.grading.classroom.test_report import said

TOPIC = "attention"
DUE = datetime(2026, 3, 2, 23, 59)
POLICY = LatePolicy({TOPIC: DUE}, Decimal(10), Decimal(2), Decimal(25))
COURSE = replace(AS_IT_COMES, late=POLICY, scale=SCALES["0-10"])


def graded(student, soft, hard, when=None, *, participant=None, key="k"):
    exercises = (
        ExerciseResult(f"{TOPIC}.soft_argmax", "wrong", soft, 8, "la pista", hinted=True),
        ExerciseResult(f"{TOPIC}.hard_argmax", "correct", hard, 2),
    )
    entry = Entry(student, f"{key}{student}", "t.ipynb", b"", participant, delivered=when)
    return Graded(entry, SubmissionResult("graded", "", TOPIC, exercises))


@pytest.mark.parametrize(
    ("when", "days", "discount"),
    [
        (None, 0, 0),
        (datetime(2026, 3, 1), 0, 0),
        (datetime(2026, 3, 3, 1, 59), 0, 0),
        (datetime(2026, 3, 3, 2, 0), 1, 10),
        (datetime(2026, 3, 4, 1, 59), 1, 10),
        (datetime(2026, 3, 4, 2, 0), 2, 20),
        (datetime(2027, 3, 4), 366, 25),
    ],
)
def test_a_day_begun_is_a_day_after_the_grace(when, days, discount):
    assert POLICY.days(TOPIC, when) == days
    assert POLICY.discount(POLICY.days(TOPIC, when)) == discount
    assert POLICY.days("bert", when) == 0, "sin plazo no hay retraso"


def test_what_is_late_loses_and_everyone_is_told(tmp_path):
    works = [
        graded("Ana", 6, 2, datetime(2026, 3, 4, 12)),
        graded("Eva", 6, 2, DUE),
        graded("Luis", 6, 2),
    ]
    results = ClassResults(works, [TOPIC], COURSE)
    ana, eva, luis = results.students
    assert (ana.points, ana.percent, ana.grade.text) == (Decimal("6.4"), 64, "6.40")
    assert (eva.points, eva.grade.text) == (8, "8.00") and not eva.adjustments
    assert luis.undated and results.undated == [luis] and luis.points == 8
    told = "2 días tarde, se descuenta el 20 %: de 8 quedan 6.4"
    assert told in said(feedback_page(ana, course=COURSE))
    report = said(class_report(results))
    assert told in report and "No se sabe cuándo se entregó lo de Luis" in report
    write_grades(results, tmp_path / "grades.csv")
    text = (tmp_path / "grades.csv").read_text("utf-8-sig")
    assert told in text and "\nAna,,1,6.4,10,64,6.40,6.4,6,2," in text.replace("\r", "")


def test_the_best_notebook_is_the_best_after_the_discount():
    works = [
        graded("Ana", 6, 2, datetime(2026, 3, 4, 12), key="tarde"),
        graded("Ana", 5, 2, DUE, key="a tiempo"),
    ]
    (ana,) = ClassResults(works, [TOPIC], COURSE).students
    assert ana.points == 7 and ana.best[TOPIC].files[0].entry.key == "a tiempoAna"


def overrides(tmp_path, *rows, delimiter=",", encoding="utf-8-sig"):
    path = tmp_path / "overrides.csv"
    write_blank(path)
    with path.open("w", encoding=encoding, newline="") as file:
        header = ["Estudiante", "Qué", "Puntos", "Motivo"]
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])
    return read_overrides(path)


def class_with(works, found):
    by_hand = by_owner(found, [work.entry for work in works])
    return ClassResults(with_overrides(works, by_hand), [TOPIC], COURSE, by_hand)


WORKS = [
    graded("Ana", 6, 2, datetime(2026, 3, 4, 12)),
    graded("Eva", 6, 2, DUE, participant="7"),
    graded("=Luis", 0, 0, DUE),
]


@pytest.mark.parametrize("saved", [(",", "utf-8-sig"), (";", "cp1252"), ("\t", "utf-16")])
def test_what_is_put_by_hand_counts_and_says_why(tmp_path, saved):
    delimiter, encoding = saved
    rows = [
        ("ana", "retraso", "0", "Estuvo enferma"),
        ("7", f"{TOPIC}.soft_argmax", "8", "Su manera también vale"),
        ("'=Luis", "Total", "4,5", "Examen oral"),
        ("", "", "", ""),
    ]
    found = overrides(tmp_path, *rows, delimiter=delimiter, encoding=encoding)
    luis, ana, eva = class_with(WORKS, found).students
    assert (ana.points, eva.points, luis.points) == (8, 10, Decimal("4.5"))
    assert eva.best[TOPIC].perfect and luis.grade.text == "4.50"
    text = said(feedback_page(eva, course=COURSE))
    assert "Puntos puestos a mano. Su manera también vale." in text and "la pista" not in text
    assert "Total: 4.5 de 10, puesto a mano; sin ello, 0. Motivo: Examen oral." in said(
        feedback_page(luis, course=COURSE)
    )
    report = said(class_report(class_with(WORKS, found)))
    assert "Ana : Días de retraso puestos a mano: 0. Motivo: Estuvo enferma." in report


def test_in_another_class_only_what_fits_is_put(tmp_path):
    rows = [("Ana", f"{TOPIC}.soft_argmax", "7", "x"), ("Ana", f"{TOPIC}.hard_argmax", "3", "x")]
    by_hand = by_owner(overrides(tmp_path, *rows), [WORKS[0].entry])
    (ana, eva) = with_those_that_fit(WORKS[:2], by_hand)
    assert [each.points for each in ana.result.exercises] == [7, 2], "el segundo vale 2"
    assert eva == WORKS[1]
    total = by_owner(overrides(tmp_path, ("Ana", "total", "12", "Examen oral")), [WORKS[0].entry])
    assert with_totals_that_fit(total, 12) == total
    assert with_totals_that_fit(total, 10) == {owner: {} for owner in total}


def test_who_has_nothing_graded_can_have_a_total(tmp_path):
    entry = Entry("Noa", "k", "tarea.pdf", "no es un cuaderno")
    noa = Graded(entry, SubmissionResult("unreadable", "no es un cuaderno"))
    found = overrides(tmp_path, ("Noa", "total", "7", "Lo defendió en clase"))
    results = class_with([*WORKS, noa], found)
    (student,) = [s for s in results.students if s.name == "Noa"]
    assert student.has_grade and student.grade.text == "7.00"
    page = said(feedback_page(student, course=COURSE))
    assert "7 de 10 puntos" in page and "Lo defendió en clase" in page


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (("Zoe", "total", "1", "x"), "no está entre las entregas"),
        (("Ana", "total", "11", "x"), "el total vale 10"),
        (("Ana", f"{TOPIC}.soft_argmax", "9", "x"), "el ejercicio vale 8"),
        (("Ana", f"{TOPIC}.soft_argmax", "1.5", "x"), "los de un ejercicio son enteros"),
        (("Ana", "attention.nada", "1", "x"), "no tiene calificado ese ejercicio"),
        (("Ana", "total", "-1", "x"), "se esperaba un número de puntos, y llegó «-1»"),
        (("Ana", "retraso", "1.5", "x"), "los días de retraso son enteros, y llegó «1.5»"),
        (("Ana", "total", "1", ""), "falta a quién, qué o por qué"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(tmp_path, row, told):
    with pytest.raises(OverridesError, match=rf"renglón 2 .*{told}"):
        class_with(WORKS, overrides(tmp_path, row))


def test_days_late_in_a_course_without_deadlines_are_refused(tmp_path):
    by_hand = by_owner(overrides(tmp_path, ("Ana", "retraso", "0", "x")), [WORKS[0].entry])
    with pytest.raises(OverridesError, match=r"renglón 2 .*course\.toml no tiene \[late\]"):
        ClassResults(WORKS[:1], [TOPIC], AS_IT_COMES, by_hand)


def test_two_lines_for_the_same_or_two_people_are_refused(tmp_path):
    row = ("Ana", "total", "1", "x")
    with pytest.raises(OverridesError, match=r"renglón 3 .*ya está en el renglón 2"):
        class_with(WORKS, overrides(tmp_path, row, row))
    twice = [
        replace(w, entry=replace(w.entry, student="Ana", participant=str(n), key=str(n)))
        for n, w in enumerate(WORKS[:2])
    ]
    with pytest.raises(OverridesError, match="hay más de uno: pon su número"):
        class_with(twice, overrides(tmp_path, row))
    (tmp_path / "overrides.csv").write_text("a,b\n")
    with pytest.raises(OverridesError, match="sus columnas deben ser Estudiante, Qué"):
        read_overrides(tmp_path / "overrides.csv")


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("lunes, 2 de marzo de 2026, 18:30", datetime(2026, 3, 2, 18, 30)),
        ("martes, 13 de enero de 2026, 6:05 p. m.", datetime(2026, 1, 13, 18, 5)),
        ("Monday, 2 March 2026, 6:30 PM", datetime(2026, 3, 2, 18, 30)),
        ("Monday, March 2, 2026, 12:05 AM", datetime(2026, 3, 2, 0, 5)),
        ("dissabte, 4 d’abril de 2026, 08:05", datetime(2026, 4, 4, 8, 5)),
        ("-", None),
        ("lunes, 42 de marzo de 2026, 18:30", None),
        ("", None),
    ],
)
def test_the_dates_of_moodle_are_read(text, when):
    assert read_date(text) == when


def test_the_date_of_a_file_is_that_of_the_disk(tmp_path):
    import os

    path = tmp_path / "Ana.ipynb"
    path.write_text('{"cells": []}')
    os.utime(path, (DUE.timestamp(),) * 2)
    (entry,) = collect(tmp_path)
    assert entry.delivered == DUE


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("late = 3", "se esperaba una tabla con `due` y `per_day`"),
        ("[late]\nper_day = 10", "se esperaba una tabla con `due`"),
        ("[late]\nper_day = 101\ndue = { palm = 2026-03-16 }", "`late.per_day`: se esperaba un"),
        ("[late]\nper_day = 1\ndue = { gpt = 2026-03-16 }", "llegó «gpt»"),
        ("[late]\nper_day = 1\ndue = { palm = '16/3' }", "una fecha sin comillas"),
        ("[late]\nper_day = 1\nper_week = 3\ndue = { palm = 2026-03-16 }", "una tabla"),
    ],
)
def test_a_policy_that_cannot_be_is_told(tmp_path, text, told):
    path = tmp_path / "course.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CourseSettingsError, match=told):
        read_course_settings(path)


def test_the_policy_is_read(tmp_path):
    path = tmp_path / "course.toml"
    path.write_text(
        "[late]\nper_day = 2.5\ndue = { palm = 2026-03-16, bert = 2026-03-17T20:00:00 }"
    )
    policy = read_course_settings(path).late
    assert policy.due["bert"] == datetime(2026, 3, 17, 20)
    assert policy.days("palm", datetime(2026, 3, 16, 23, 59)) == 0
    assert (policy.per_day, policy.maximum) == (Decimal("2.5"), 100)
