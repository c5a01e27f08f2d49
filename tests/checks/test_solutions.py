"""Las soluciones de los ejercicios pasan, y un cambio en cualquiera de sus líneas se nota.

`python -m pytest tests/checks -rP -k mutants` muestra, por ejercicio, los muertos de los probados.
"""

import pytest

from course_lib.judging.check import find_exercise
from course_lib.judging.running import remembering
from course_lib.notebooks.generation import topics_in
from course_lib.notebooks.mutants import changes_of, describe
from tests.checks.judging import failures, mutations, pair_mutants
from tests.checks.solutions import ROOT, read_solutions, read_topic

pytestmark = pytest.mark.usefixtures("as_user")

every_solution = pytest.mark.parametrize(
    "solution", read_solutions(), ids=lambda solution: solution.name
)


@pytest.mark.parametrize("topic", topics_in(ROOT))
def test_the_source_is_well_formed(topic):
    assert read_topic(topic).names


@every_solution
def test_the_solution_passes(solution):
    exercise = find_exercise(solution.name)
    assert failures(exercise, solution.student(), range(20)) == []


@every_solution
def test_the_mutants_of_the_solution_are_killed(solution):
    assert solution.marked, "el ejercicio no tiene una solución marcada"
    exercise = find_exercise(solution.name)
    with remembering():
        made = mutations(exercise, solution)
        pairs = pair_mutants(made, most=12), pair_mutants(made, most=12, known=True)
    tried, alive = sum(m.tried for m in made), [each for m in made for each in m.alive]
    print(f"{solution.name}: {tried - len(alive)}/{tried} mutantes muertos")
    assert tried > 0
    assert alive == []
    assert [each for m in made for each in m.false] == [], "la pista acusa de un error que no está"
    false = [each for found in pairs for each in found.false]
    assert false == [], "con dos errores a la vez, la pista acusa de otro que no está"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = a @ b", {"x = a", "x = b", "x = b @ a", "pass"}),
        ("x = a * 3", {"x = a / 3", "x = a * 4", "x = a * 2", "x = a"}),
        ("x = a.sum(dim=-1)", {"x = a", "x = a.sum(dim=-2)", "x = a.sum(dim=-0)", "x = a.sum()"}),
        ("x = torch.exp(a)", {"x = a", "pass"}),
        ("x = a < b", {"x = a <= b", "x = a > b"}),
        ("if a:\n    x = b", {"if not a:"}),
    ],
)
def test_the_mutator_makes_the_expected_changes(code, expected):
    cell = f"### BEGIN SOLUTION\n{code}\n### END SOLUTION\ny = 1 + 2"
    made = [describe(cell, change).partition(" → ") for change in changes_of(cell)]
    assert expected <= {after for _, _, after in made}
    assert {before for before, _, _ in made} <= set(code.replace("  ", "").splitlines()), (
        "otra línea"
    )
