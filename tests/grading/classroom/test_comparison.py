"""`course grade --compare`: qué notas cambian cuando cambia un ejercicio."""

import csv
import re

import pytest
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.grading.classroom import class_run
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.comparison import ClassComparison, write_changes
from course_lib.grading.classroom.report import class_report
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from tests.grading.classroom.test_class_run import ThreadLane

SOFT, HARD = "attention.soft_argmax", "attention.hard_argmax"


def result(soft, hard, message="falla la forma"):
    answers = [
        ExerciseResult(name, "correct" if points == 2 else "wrong", points, 2, message)
        for name, points in ((SOFT, soft), (HARD, hard))
    ]
    return SubmissionResult("graded", "", "attention", tuple(answers))


def class_of(**points):
    works = [
        Graded(Entry(name, name, f"{name}.ipynb", b""), result(*own))
        for name, own in points.items()
    ]
    return ClassResults(works, ["attention"])


@pytest.fixture
def changes():
    before = class_of(Ana=(0, 2), Luis=(2, 0), Eva=(1, 1), Noa=(2, 0), Gil=(2, 2))
    after = class_of(Ana=(2, 2), Luis=(2, 0), Eva=(2, 0), Noa=(0, 0), Zoe=(0, 0))
    return ClassComparison(before, after)


def test_each_student_is_compared_with_themselves(changes):
    found = [(e.student.name, e.exercise, e.before, e.after) for e in changes.differences]
    assert found == [
        ("Ana", SOFT, 0, 2),
        ("Eva", SOFT, 1, 2),
        ("Eva", HARD, 1, 0),
        ("Noa", SOFT, 2, 0),
    ]
    assert [new.name for _, new in changes.changed] == ["Ana", "Noa"]
    assert (changes.only_before, changes.only_after) == (["Gil"], ["Zoe"])
    assert changes.summary() == (
        "De 4 estudiantes, la nota sube a 1 y baja a 1. A 1 le cambian ejercicios, y no el total. "
        "No estaban: 1. Ya no están: 1."
    )


def test_an_exercise_that_was_not_there_has_no_points_before(changes):
    (work,) = class_of(Ana=(2, 2)).works
    fewer = SubmissionResult("graded", "", "attention", work.result.exercises[:1])
    old = ClassResults([Graded(work.entry, fewer)], ["attention"])
    (only,) = ClassComparison(old, ClassResults([work], ["attention"])).differences
    assert (only.exercise, only.before, only.after) == (HARD, None, 2)


def test_the_report_and_the_sheet_say_the_same(changes, tmp_path):
    page = BeautifulSoup(class_report(changes.after, changes=changes), "html.parser")
    rows = page.select("#changes tbody tr")
    shown = [[cell.get_text() for cell in row.select(".count")] for row in rows]
    assert shown == [["0", "2"], ["1", "2"], ["1", "0"], ["2", "0"]]
    assert changes.summary() in page.select_one("#changes").get_text()
    write_changes(changes, tmp_path / "changes.csv")
    with (tmp_path / "changes.csv").open(encoding="utf-8-sig", newline="") as file:
        told = list(csv.DictReader(file))
    assert [[row["Antes"], row["Ahora"]] for row in told] == shown
    assert told[-1]["Por qué"] == "falla la forma"


def test_without_asking_the_report_says_nothing_of_it(changes):
    assert 'id="changes"' not in class_report(changes.after)


# Con la orden


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """Dos calificaciones de la misma clase; a la segunda, el ejercicio cambió."""
    monkeypatch.setattr(class_run, "why_unavailable", str)
    monkeypatch.setattr(class_run, "ProcessLane", ThreadLane)
    folder = tmp_path / "class"
    folder.mkdir()
    for name in ("Ana", "Luis"):
        (folder / f"{name}.ipynb").write_text(f"{{}}{' ' * len(name)}")

    def grade(soft, out, *more):
        given = lambda content, order: result(soft, 2).as_data()  # noqa: E731
        monkeypatch.setattr(class_run, "grade_task", given)
        command = ["grade", str(folder), "--out", str(tmp_path / out), *map(str, more)]
        return CliRunner().invoke(app, command)

    assert grade(0, "old").exit_code == 0
    return grade


def test_the_order_compares_with_the_same_inputs(graded, tmp_path):
    done = graded(2, "new", "--compare", tmp_path / "old")
    assert done.exit_code == 0, done.output
    assert "De 2 estudiantes, la nota sube a 2 y baja a 0." in done.stdout
    seeds = [(tmp_path / out / "results" / "seed").read_text() for out in ("old", "new")]
    assert seeds[0] == seeds[1]
    assert (tmp_path / "new" / "changes.csv").exists()
    assert re.search('id="changes"', (tmp_path / "new" / "report.html").read_text("utf-8"))
    (tmp_path / "new" / "overrides.csv").write_text(
        "Estudiante,Qué,Puntos,Motivo\nAna,attention.soft_argmax,1,Lo defendió\n", "utf-8"
    )
    by_hand = graded(2, "new", "--compare", tmp_path / "old")
    assert "la nota sube a 1 y baja a 0." in by_hand.stdout, "lo puesto a mano no es un cambio"
    (tmp_path / "new" / "overrides.csv").unlink()
    again = graded(2, "new")
    assert again.exit_code == 0 and not (tmp_path / "new" / "changes.csv").exists()


@pytest.mark.parametrize(
    ("out", "old", "message"),
    [
        ("old", "old", "compara con otra"),
        ("new", "nothing", "no es la carpeta de una clase calificada"),
    ],
)
def test_it_compares_only_with_another_graded_class(graded, tmp_path, out, old, message):
    done = graded(2, out, "--compare", tmp_path / old)
    assert done.exit_code == 2 and message in done.stderr
    assert not (tmp_path / "new" / "report.html").exists()
