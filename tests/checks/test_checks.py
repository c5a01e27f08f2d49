"""Lo que se promete de todo ejercicio, de todos los temas.

`python -m pytest tests/checks -rP -k caught` muestra, por ejercicio, los errores frecuentes
reconocidos de los que se probaron.
"""

import re
from collections import Counter

import pytest
import torch

from course_lib.judging import STUB_MESSAGE
from course_lib.judging.check import (
    NOTEBOOK_SEED,
    check_exercise,
    find_exercise,
    topic_exercises,
)
from course_lib.judging.plain_data import is_plain, plain, tensors_in
from course_lib.judging.running import draw_cases, remembering, run_cases
from course_lib.notebooks.generation import topics_in
from tests.checks.judging import diagnose, diagnose_pairs
from tests.checks.solutions import ROOT

SEEDS = (*range(9), NOTEBOOK_SEED)
TOPICS = topics_in(ROOT)
EXERCISES = {topic: topic_exercises(topic) for topic in TOPICS}
ALL = [exercise for exercises in EXERCISES.values() for exercise in exercises]

pytestmark = pytest.mark.usefixtures("as_user")
every_topic = pytest.mark.parametrize("topic", TOPICS)
every_exercise = pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.name)


@every_topic
def test_a_topic_has_enough_exercises(topic):
    assert len(EXERCISES[topic]) >= 5


@every_topic
def test_names_begin_with_their_topic(topic):
    assert {exercise.topic for exercise in EXERCISES[topic]} == {topic}


def test_names_are_unique_in_the_course():
    assert [name for name, n in Counter(e.name for e in ALL).items() if n > 1] == []


@every_exercise
def test_it_is_found_by_its_name(exercise):
    assert find_exercise(exercise.name).points == exercise.points


@every_exercise
def test_it_knows_at_least_three_misconceptions(exercise):
    assert len(exercise.misconceptions) >= 3
    hints = [misconception.hint for misconception in exercise.misconceptions]
    assert len({" ".join(hint.casefold().split()) for hint in hints}) == len(hints)
    assert all(len(hint) >= 10 for hint in hints), "una pista dice algo"


@every_exercise
def test_the_reference_passes(exercise):
    for seed in SEEDS:
        verdict = check_exercise(exercise, exercise.reference, seed=seed)
        assert verdict.status == "correct", (seed, verdict)


@every_exercise
def test_a_stub_is_pending(exercise):
    def stub(*inputs, **options):
        raise NotImplementedError(STUB_MESSAGE)

    blanks = [..., None] if exercise.is_question else [..., None, stub]
    assert [check_exercise(exercise, blank).status for blank in blanks] == ["pending"] * len(blanks)


@every_exercise
def test_every_misconception_is_caught_with_its_own_hint(exercise):
    with remembering():
        found = diagnose(exercise, SEEDS)
    print(f"{exercise.name}: {found.caught}/{found.tried} juicios, {len(SEEDS)} semillas")
    assert found.passed == [], "un error frecuente pasa"
    assert found.confused == [], "recibe la pista de otro"
    assert found.unnamed == [], "no se reconoce"
    assert found.caught == found.tried == len(SEEDS) * len(exercise.misconceptions)


@every_exercise
def test_two_misconceptions_at_once_are_never_taken_for_another(exercise):
    with remembering():
        found = diagnose_pairs(exercise, SEEDS[:1], most=60)
    assert found.false == [], "recibe la pista de un error que no comete"
    assert len(found.unnamed) <= 0.05 * found.tried, "no se nombra ninguno"


@every_exercise
def test_a_hint_that_may_come_with_another_speaks_only_of_its_mistake(exercise):
    paired = {m.name: m.hint for *pair, _ in exercise.pairs for m in pair}
    praise = re.compile(r"\b(es|son|está|están|sale|salen) (correct|bien)", re.IGNORECASE)
    assert [name for name, hint in paired.items() if praise.search(hint)] == []


@every_exercise
def test_the_cases_depend_only_on_the_seed(exercise):
    first, again, other = (plain(draw_cases(exercise, seed)) for seed in (1, 1, 2))
    assert _bytes(first) == _bytes(again)
    if list(tensors_in(first)):
        assert _bytes(first) != _bytes(other), "las entradas no cambian con la semilla"


@every_exercise
def test_the_cases_do_not_use_the_global_generator(exercise):
    torch.manual_seed(1)
    first = _bytes(plain(draw_cases(exercise, 1)))
    torch.manual_seed(2)
    assert _bytes(plain(draw_cases(exercise, 1))) == first


@every_exercise
def test_inputs_and_outputs_are_plain_data(exercise):
    cases = draw_cases(exercise, 1)
    assert is_plain(plain(cases))
    assert all(is_plain(o.value) for o in run_cases(exercise, exercise.reference, cases))
    assert exercise.is_question <= (cases == [()])


def _bytes(value):
    """Un dato simple como texto que distingue cada bit de sus tensores."""
    if isinstance(value, torch.Tensor):
        return (str(value.dtype), tuple(value.shape), str(value.tolist()))
    if isinstance(value, list):
        return [_bytes(item) for item in value]
    if isinstance(value, dict):
        return {key: _bytes(item) for key, item in value.items()}
    return repr(value)
