"""La hoja de la rúbrica: se escribe, se llena a mano, se vuelve a leer y cuenta."""

import csv

import pytest

from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.results import ClassResults, Graded, topic_outline
from course_lib.grading.classroom.rubric import RubricError, read_rubric, with_rubric, write_rubric
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult

TOPIC = "attention"


def graded(student, *, topic=TOPIC, status="graded"):
    exercises = (ExerciseResult(f"{topic}.soft_argmax", "correct", 1, 1),)
    result = SubmissionResult(status, "", topic, exercises if status == "graded" else ())
    return Graded(Entry(student, "k", f"{student}.ipynb", b""), result)


CLASS = [graded("Ana"), graded("=Luis"), graded("Eva", status="unreadable")]
CRITERIA = topic_outline(TOPIC).rubric
MOST = sum(criterion.points for criterion in CRITERIA)


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "rubric.csv"
    assert write_rubric(CLASS, {}, path, [TOPIC])
    return path


def rows_of(path):
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))


def fill(path, student, points, *, delimiter=",", encoding="utf-8-sig"):
    header, *rows = rows_of(path)
    for row in rows:
        if student in row[1]:
            row[3:] = map(str, points)
    with path.open("w", encoding=encoding, newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([header, *rows])


def test_the_sheet_has_a_row_per_student_and_a_column_per_criterion(sheet):
    header, *rows = rows_of(sheet)
    assert len(CRITERIA) >= 3 and len(header) == 3 + len(CRITERIA)
    assert header[3] == f"attention 1 ({CRITERIA[0].points}): {CRITERIA[0].text}"
    assert sorted(row[1] for row in rows) == ["'=Luis", "Ana"]
    assert read_rubric(sheet) == {row[0]: {} for row in rows}


def test_only_the_topics_that_count_have_columns(tmp_path):
    path = tmp_path / "rubric.csv"
    both = [*CLASS, graded("Ana", topic="bert"), graded("Sol", topic="bert")]
    assert write_rubric(both, {}, path, [TOPIC])
    header, *rows = rows_of(path)
    assert len(header) == 3 + len(CRITERIA) and sorted(row[1] for row in rows) == ["'=Luis", "Ana"]
    assert not write_rubric(both[3:], {}, path, [TOPIC])
    assert write_rubric(both, {"ana-1": {("bert", 1): 1}}, path, [TOPIC])  # lo puesto no se pierde
    assert rows_of(path)[0][-1].startswith("bert")


def test_while_nobody_has_points_it_does_not_count(sheet):
    assert with_rubric(CLASS, read_rubric(sheet)) == CLASS
    assert with_rubric(CLASS, {}) == CLASS


@pytest.mark.parametrize("saved", [(",", "utf-8-sig"), (";", "cp1252"), ("\t", "utf-16")])
def test_the_points_are_read_back_count_and_stay(sheet, saved):
    delimiter, encoding = saved
    best = [criterion.points for criterion in CRITERIA]
    fill(sheet, "Ana", [*best[:-1], 0], delimiter=delimiter, encoding=encoding)
    points = read_rubric(sheet)
    results = ClassResults(with_rubric(CLASS, points))
    luis, ana, eva = sorted(results.students, key=lambda student: student.name)
    assert results.max_points == 1 + MOST
    assert (ana.points, luis.points, eva.points) == (1 + MOST - best[-1], 1, 0)
    (topic,) = ana.topics
    experiment = topic.exercises[-1]
    assert experiment.heading.startswith("Experimento: ")
    assert experiment.result.state() == "partial"
    assert f"{CRITERIA[-1].text} 0 de {best[-1]}" in experiment.result.message
    (topic,) = luis.topics
    assert topic.exercises[-1].result.state() == "pending"
    write_rubric(CLASS, points, sheet, [TOPIC])
    assert read_rubric(sheet) == points


def test_who_left_keeps_the_row(sheet):
    fill(sheet, "Ana", [criterion.points for criterion in CRITERIA])
    points = read_rubric(sheet)
    write_rubric(CLASS[1:], points, sheet, [TOPIC])
    assert read_rubric(sheet) == points


@pytest.mark.parametrize("wrong", ["-1", "1.5", "bien", "100"])
def test_impossible_points_are_told(sheet, wrong):
    fill(sheet, "Ana", [wrong])
    with pytest.raises(RubricError, match=r"ana.*columna «attention 1.*se esperaba un entero"):
        read_rubric(sheet)


def test_another_sheet_or_an_old_rubric_is_told(sheet):
    text = sheet.read_text(encoding="utf-8-sig")
    sheet.write_text(text.replace("attention 1 (", "attention 1 (9"), encoding="utf-8-sig")
    with pytest.raises(RubricError, match="guarda la hoja con otro nombre"):
        read_rubric(sheet)
    sheet.write_text("Nombre,Nota\nAna,7\n")
    with pytest.raises(RubricError, match="no es la hoja de la rúbrica"):
        read_rubric(sheet)


def test_a_class_without_experiments_has_no_sheet(tmp_path):
    path = tmp_path / "rubric.csv"
    assert not write_rubric([graded("Ana", topic="nada")], {}, path, ["nada"])
    assert not path.exists() and read_rubric(path) == {}
