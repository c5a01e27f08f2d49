"""Cada entrega hostil tiene su resultado correcto, y la de al lado queda como estaba."""

import contextlib
import json
import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import course_lib
from course_lib.grading.sandbox.box import Limits
from tests.grading.sandbox.hostile.cases import CASES, DISRUPTION, RIGHT, TIES, WRONG, notebook
from tests.grading.sandbox.hostile.more_cases import MORE_CASES

ALL = [*CASES, *MORE_CASES]
SEED = 90125
SHORT = {"soft": "attention.soft_argmax", "hard": "attention.hard_argmax"}
SHORT["ties"] = "attention.read_plot"


@pytest.fixture(scope="module")
def limits():
    """Plazos cortos para las que no terminan; una celda honesta tarda milésimas."""
    return Limits(memory=1 << 30, cell_seconds=1.0, call_seconds=1.0, total_seconds=50.0)


@pytest.fixture(scope="module")
def neighbour(tmp_path_factory):
    """Una entrega con aciertos y un error."""
    path = tmp_path_factory.mktemp("class") / "neighbour.ipynb"
    path.write_text(json.dumps(notebook([RIGHT[0], WRONG, RIGHT[2], TIES])))
    return path


@pytest.fixture(scope="module")
def before(grader, neighbour):
    """Lo que obtiene antes de toda fechoría."""
    return without_times(grader.grade(neighbour, SEED))


@pytest.fixture
def secrets(tmp_path, neighbour, monkeypatch):
    """Lo que una entrega querría encontrar, y un servidor que espera una visita."""
    monkeypatch.setenv("GRADER_SECRET", "no lo digas")
    package = Path(course_lib.__file__).parent
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0course-{os.getpid()}")
        abstract.listen()
        yield {
            "marker": str(tmp_path / "marker"),
            "course": str(package.parent / "solutions"),
            "prepared": str(package / "judging" / "exercises"),
            "classmate": str(neighbour),
            "port": str(server.getsockname()[1]),
            "abstract": f"course-{os.getpid()}",
            "python": sys.base_prefix,
        }


def without_times(result):
    exercises = tuple(replace(e, seconds=0.0) for e in result.exercises)
    return replace(result, seconds=0.0, exercises=exercises)


@pytest.mark.parametrize("case", ALL, ids=[case.name for case in ALL])
def test_each_hostile_submission_gets_what_it_deserves(
    case, grader, neighbour, before, secrets, tmp_path
):
    path = tmp_path / "submission.ipynb"
    case.write(path, secrets)
    result = grader.grade(path, SEED)
    told = [result.message, *(e.message for e in result.exercises)]
    if case.points is None:
        assert result.status in ("unreadable", "unknown"), f"debía rechazarse: {result}"
        assert case.says in result.message, f"no dice por qué: {result.message}"
    else:
        points = {e.exercise: e for e in result.exercises}
        found = {short: points[name].points for short, name in SHORT.items()}
        assert found == case.points, f"{told} {result.broken_cells}"
        assert sum(e.points for e in result.exercises) == sum(case.points.values())
        assert case.says in points[SHORT["soft"]].message
    assert not Path(secrets["marker"]).exists(), "el calificador ejecutó código de la entrega"
    assert all(text.isprintable() and len(text) < 1200 for text in told), "un mensaje sin limpiar"
    json.dumps(result.as_data())
    # Quien estorba, cada vez; de las demás, una de cada cinco y la última.
    if case in DISRUPTION or ALL.index(case) % 5 == 0 or case is ALL[-1]:
        after = without_times(grader.grade(neighbour, SEED))
        assert after == before, "la entrega de al lado cambió"


def test_hostile_names_are_all_different_and_many():
    assert len({case.name for case in ALL}) == len(ALL) >= 160
