"""Los ejercicios preparados: de código guardado a lo que `check` compara."""

import json
import tomllib
from pathlib import Path

import pytest

import course_lib
from course_lib.grading.sandbox.library_view import library_modules
from course_lib.judging.check import check_exercise
from course_lib.judging.compiled import FOLDER, PREPARED, compiled_topic, make_exercise, replaced
from course_lib.notebooks.topic_source import needed

pytestmark = pytest.mark.usefixtures("as_user")
CODE = "def f(x):\n    y = 2 * x\n    return y + 1\n"


def mistake(name, *fragments, **more):
    edits = [[CODE.index(old), CODE.index(old) + len(old), new] for old, new in fragments]
    return {"name": name, "hint": f"la pista de {name}", "edits": edits, **more}


def stored(*mistakes):
    cases = "def cases(rng):\n    return [(normal(rng, 3),)]"
    given = {"name": "demo.f", "points": 1, "answer": "f", "code": CODE, "cases": cases}
    return given | {"mistakes": list(mistakes)}


THREE = mistake("three", ("2 * x", "3 * x"))
MINUS = mistake("minus", ("y + 1", "y - 1"))


def pairs(*mistakes):
    return {(a.name, b.name) for a, b, _ in make_exercise(stored(*mistakes)).pairs}


def test_the_reference_is_the_solution_and_a_mistake_its_edit():
    exercise = make_exercise(stored(THREE, MINUS))
    assert exercise.reference(4) == 9
    assert [m.implementation(4) for m in exercise.misconceptions] == [13, 7]
    verdict = check_exercise(exercise, lambda x: 3 * x + 1)
    assert verdict.misconceptions == ("three",) and verdict.message == "la pista de three"


def test_two_that_do_not_overlap_are_a_pair():
    assert pairs(THREE, MINUS) == {("three", "minus")}
    assert pairs(THREE, mistake("five", ("* x", "* x * 5"))) == set(), "se pisan"
    assert pairs(THREE, {**MINUS, "apart": ["three"]}) == set(), "no van juntos"
    both = mistake("both", ("2 * x", "3 * x"), ("y + 1", "y - 1"))
    assert ("three", "minus") not in pairs(THREE, MINUS, both), "juntos son otro"


@pytest.mark.parametrize(
    ("code", "known", "same"),
    [
        ("y + 1  # otra nota", "y + 1", True),
        ("(\n        y + 1\n    )", "y + 1", True),
        ("1 + y", "y + 1", False),
        ("y + 1.0", "y + 1", False),
        ("y + True", "y + 1", False),
        ("y * 0.0", "y * -0.0", False),
        ("x + 1", "y + 1", False),
        ("y.real", "y.imag", False),
    ],
)
def test_two_codes_are_told_by_what_they_do_and_not_by_how_they_are_written(code, known, same):
    third = mistake("third", ("2 * x", "3 * x"), ("y + 1", known))
    found = pairs(THREE, mistake("other", ("y + 1", code)), third)
    assert (("three", "other") not in found) is same


def test_two_that_are_not_python_together_are_no_pair():
    opened = mistake("opened", ("2 * x", "(2 * x"))
    closed = mistake("closed", ("y + 1", "y + 1)"))
    assert pairs(opened, closed, THREE) == set()


def test_what_two_do_at_once_is_named():
    verdict = check_exercise(make_exercise(stored(THREE, MINUS)), lambda x: 3 * x - 1)
    assert set(verdict.misconceptions) == {"three", "minus"}


def test_a_mistake_is_not_run_until_it_is_needed():
    broken = {**mistake("broken"), "code": "1 / 0", "edits": []}
    exercise = make_exercise(stored(broken))
    assert check_exercise(exercise, exercise.reference).status == "correct"
    with pytest.raises(ZeroDivisionError):
        _ = exercise.misconceptions[0].implementation


def test_edits_are_made_from_the_last_to_the_first():
    assert replaced("abc", [(0, 1, "xx"), (2, 3, "")]) == "xxb"


def test_those_being_made_go_before_those_that_are_kept(tmp_path, monkeypatch):
    (tmp_path / "attention.json").write_text(json.dumps({"exercises": [stored(THREE)]}))
    monkeypatch.setenv(PREPARED, str(tmp_path))
    assert [e.name for e in compiled_topic("attention")] == ["demo.f"]
    monkeypatch.delenv(PREPARED)
    assert compiled_topic("attention")[0].name == "attention.soft_argmax"
    assert compiled_topic("nada") is None and compiled_topic("../x") is None


def test_only_what_is_used_runs_before_the_solution():
    cells = ["import math\nimport torch", "def g(x):\n    return math.pi * x", "plot(g)\nz = 3"]
    assert needed(cells, ["def f(x):\n    return g(x)"]) == "import math\n" + cells[1]


def test_it_ships_in_the_wheel_and_students_boxes_do_not_see_it():
    root = Path(course_lib.__file__).parents[1]
    data = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "exercises/*.json" in data["package-data"]["course_lib.judging"]
    assert list(FOLDER.glob("*.json"))
    tools = frozenset({"course_lib.judging.compiled", "course_lib.primitives.attention"})
    assert not any("judging" in name for name in library_modules(tools))
