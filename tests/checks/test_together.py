"""«Todo junto», el final de cada cuaderno, con nada hecho, con todo y con una función mal."""

import importlib
import inspect
import re
import sys
import types

import nbformat
import pytest

from course_lib.judging.check import find_exercise
from course_lib.judging.display import unmarked
from course_lib.judging.exercise import Exercise
from course_lib.notebooks.generation import topics_in
from course_lib.notebooks.source import replace_solutions
from course_lib.notebooks.topic_source import needed
from tests.checks.solutions import ROOT, read_topic

MOST_LINES = 25
pytestmark = pytest.mark.usefixtures("as_user")
every_topic = pytest.mark.parametrize("topic", topics_in(ROOT))


@pytest.fixture(autouse=True)
def unchecked_types(monkeypatch):
    """Las pruebas comprueban los tipos de cada función con otra, que es la misma para todas."""
    home = importlib.import_module("course_lib.judging.mine")
    monkeypatch.setattr(home, "run_cases", inspect.unwrap(home.run_cases))
    monkeypatch.setattr(home, "MOST_SECONDS", float("inf"))


class Ending:
    """Lo que va bajo «Todo junto», y lo que hay que ejecutar antes."""

    def __init__(self, topic: str) -> None:
        cells = read_topic(topic).notebook.cells
        start, end = _place(cells)
        self.topic = topic
        self.before = [c.source for c in cells[:start] if c.cell_type == "code"]
        self.cells = [c.source for c in cells[start:end] if c.cell_type == "code"]
        listed = re.findall(rf'mine\("({topic}\.\w+)"\)', "\n".join(self.cells))
        self.used = [find_exercise(name) for name in listed]

    def stored(self, kind: str) -> list[str]:
        """Lo que dice en el cuaderno: `exercises`, con nada hecho, o `solutions`, con todo."""
        cells = nbformat.read(ROOT / kind / f"{self.topic}.ipynb", 4).cells
        start, end = _place(cells)
        outputs = [o for c in cells[start:end] for o in c.get("outputs", ())]
        assert "antes las celdas de arriba" not in str(outputs)
        return [line for o in outputs for line in o.get("text", "").splitlines()]

    def with_wrong(self, wrong: Exercise, monkeypatch, capsys) -> list[str]:
        """Lo que dice con todo hecho, menos un ejercicio, que está mal."""
        module = types.ModuleType("__main__")
        monkeypatch.setitem(sys.modules, "__main__", module)
        before = [replace_solutions(t, keep=True) for t in self.before if "check(" not in t]
        asked = [each.asked_name for each in self.used]
        exec(needed(before, [*self.cells, *asked]), vars(module))
        setattr(module, wrong.asked_name, wrong.misconceptions[0].implementation)
        capsys.readouterr()
        for cell in self.cells:
            exec(compile(cell, "<celda>", "exec"), vars(module))
        return capsys.readouterr().out.splitlines()


def _place(cells) -> tuple[int, int]:
    titles = [i for i, c in enumerate(cells) if c.source.startswith("## ")] + [len(cells)]
    start = next(i for i in titles if cells[i].source.startswith("## Todo junto"))
    return start, titles[titles.index(start) + 1]


def told(lines: list[str], mark: str) -> list[str]:
    return [line for line in lines if line.startswith(mark)]


def result(lines: list[str]) -> list[str]:
    return [line for line in lines if line[:1] not in tuple("✅⏳❌🟡")]


@every_topic
def test_it_ends_in_the_same_with_nothing_all_or_one_wrong(topic, monkeypatch, capsys):
    ending = Ending(topic)
    done, blank = ending.stored("solutions"), ending.stored("exercises")
    assert len(told(done, "✅")) == len(told(blank, "⏳")) == len(ending.used) > 0
    wrong = ending.used[-1]
    partly = ending.with_wrong(wrong, monkeypatch, capsys)
    (line,) = told(partly, "❌") + told(partly, "🟡")
    assert line[1:].strip() == f"{unmarked(wrong.title)}: aún no está bien; por ahora, la del curso"
    assert result(done) == result(blank) == result(partly)


@every_topic
def test_its_cells_are_short(topic):
    for cell in Ending(topic).cells:
        assert len(cell.splitlines()) <= MOST_LINES, cell
