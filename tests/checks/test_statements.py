"""Enunciado, función por completar, solución y comprobación dicen lo mismo."""

import ast
import builtins
import inspect
import json
import re
from dataclasses import dataclass

import pytest

from course_lib.judging.check import find_exercise, topic_exercises
from course_lib.judging.plain_data import copy_inputs
from course_lib.judging.running import draw_cases
from course_lib.notebooks.exercise_source import ExerciseSource, bound_names
from course_lib.notebooks.fingerprint import parse_cell
from course_lib.notebooks.generation import topics_in
from course_lib.notebooks.topic_source import used_names
from tests.checks.solutions import ROOT, read_solutions, read_topic

NUMBERS = ("", "un", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez")
NUMBERS += ("once", "doce", "trece", "catorce")
TITLE = re.compile(r"^## Ejercicio (\d+) · (.+) \((\d+) puntos?\)$", re.M)

pytestmark = pytest.mark.usefixtures("as_user")
every_topic = pytest.mark.parametrize("topic", topics_in(ROOT))
every_solution = pytest.mark.parametrize(
    "solution", read_solutions(), ids=lambda solution: solution.name
)


@dataclass(frozen=True)
class Statement:
    """Lo que el cuaderno de ejercicios pide: número, puntos, texto y función por completar."""

    number: int
    points: int
    text: str
    stub: ast.FunctionDef | None


def read_statements(topic: str) -> tuple[str, dict[str, Statement]]:
    """La presentación de un tema y, por ejercicio, su enunciado."""
    notebook = json.loads((ROOT / "exercises" / f"{topic}.ipynb").read_text("utf-8"))
    opening, statements, text, stub = "", {}, "", None
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] != "code":
            is_title = TITLE.search(source)
            opening = opening or source
            text, stub = (source, None) if is_title else (f"{text}\n{source}", stub)
            continue
        tree = parse_cell(source)
        functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
        checked = re.match(r'check\("([\w.]+)", (\w+)\)', source)
        if checked and (title := TITLE.search(text)):
            named = stub if stub is not None and stub.name == checked[2] else None
            statements[checked[1]] = Statement(int(title[1]), int(title[3]), text, named)
        stub = functions[-1] if functions else stub
    return opening, statements


@every_topic
def test_numbers_and_points_are_those_declared(topic):
    opening, statements = read_statements(topic)
    declared = {exercise.name: exercise.points for exercise in topic_exercises(topic)}
    assert {name: s.points for name, s in statements.items()} == declared
    assert [s.number for s in statements.values()] == list(range(1, len(declared) + 1))
    said = re.search(r"(\w+) ejercicios .*?(\d+)\s+puntos", opening, re.S)
    assert (said[1].lower(), int(said[2])) == (NUMBERS[len(declared)], sum(declared.values()))


@every_solution
def test_the_function_takes_what_the_check_gives(solution):
    exercise = find_exercise(solution.name)
    if exercise.is_question:
        return
    _, statements = read_statements(exercise.topic)
    stub = statements[solution.name].stub
    student = solution.student()
    assert stub is not None and stub.name == student.__name__, "otra función que la comprobada"
    arguments = [argument.arg for argument in stub.args.args]
    assert arguments == list(inspect.signature(student).parameters)
    given = []

    def spy(*inputs):
        given.append(len(inputs))
        return student(*inputs)

    exercise.call(spy, *copy_inputs(draw_cases(exercise, 0)[0]))
    assert set(given) == {len(arguments)}, "la comprobación da otro número de argumentos"


def unknown_names(topic: str) -> list[tuple[str, str, set[str]]]:
    """Los errores y otras maneras que usan nombres que ni su cuaderno ni sus casos definen."""
    notebook = json.loads((ROOT / "exercises" / f"{topic}.ipynb").read_text("utf-8"))
    cells = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"]
    known, found = set(dir(builtins)), []
    made = {f"{topic}.{each.name}": each for each in read_topic(topic).exercises}
    for cell in cells:
        if checked := re.match(r'check\("([\w.]+)"', cell):
            exercise = made[checked[1]]
            own = known | _defined(exercise.cases[0])
            for where, code in _written_as_a_student(checked[1], exercise):
                if lacking := used_names(code) - _defined(code) - own:
                    found.append((checked[1], where, lacking))
        known |= _defined(cell)
    return found


def _defined(cell: str) -> set[str]:
    return set(bound_names(parse_cell(cell)))


def _written_as_a_student(name: str, made: ExerciseSource) -> list[tuple[str, str]]:
    """El código de cada error frecuente y de cada otra manera de un ejercicio."""
    wrong = find_exercise(name).misconceptions
    codes = [(m.name, m.code) for m in wrong if callable(m.implementation)]
    return codes + [(f"línea {line}", made.whole(code)) for code, line in made.alternatives]


@every_topic
def test_mistakes_and_other_ways_use_only_what_the_student_has(topic):
    assert unknown_names(topic) == []
