"""Toda solución correcta pasa, esté escrita como esté; con cien semillas, `benchmarks hints`."""

import pytest
import torch

from course_lib.judging.check import NOTEBOOK_SEED, find_exercise
from course_lib.judging.running import remembering
from tests.checks.correct import alternatives, in_float64, in_general
from tests.checks.judging import failures
from tests.checks.solutions import read_solutions

pytestmark = pytest.mark.usefixtures("as_user")
every_solution = pytest.mark.parametrize(
    "solution", read_solutions(), ids=lambda solution: solution.name
)


@every_solution
def test_other_ways_of_writing_it_pass(solution):
    exercise = find_exercise(solution.name)
    by_hand = alternatives(exercise)
    assert exercise.is_question or len(by_hand) >= 2, "escríbela de otras dos maneras"
    with remembering():
        for style, student in (by_hand | in_general(exercise, solution.student())).items():
            assert failures(exercise, student, (0, NOTEBOOK_SEED)) == [], style


def test_in_float64_only_the_inside_changes():
    seen = []

    def solution(x, which, options):
        seen.append((x.dtype, options[0].dtype))
        return {"a": x + options[0]}, which

    narrow, whole = torch.ones(2), torch.tensor([3])
    answer, which = in_float64(solution)(narrow, whole, [narrow])
    assert seen == [(torch.float64, torch.float64)]
    assert answer["a"].dtype == torch.float32 and which.dtype == torch.long
    answer, _ = in_float64(solution)(narrow.double(), whole, [narrow.double()])
    assert answer["a"].dtype == torch.float64
