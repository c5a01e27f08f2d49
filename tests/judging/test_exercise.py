"""Un ejercicio mal declarado se rechaza al escribirlo."""

import pytest

from course_lib.judging.exercise import Exercise, Misconception, direct_call, no_inputs

ONE = Misconception("one", 1, "no es uno")


@pytest.mark.parametrize("name", ["attention", "Attention.x", "a.b.c", "a.", "a b.c", "../a.b"])
def test_a_bad_name_is_refused(name):
    with pytest.raises(ValueError, match=r"tema\.nombre"):
        Exercise(name, 1, 7, no_inputs, ())


def test_points_are_positive():
    with pytest.raises(ValueError, match="al menos 1"):
        Exercise("a.b", 0, 7, no_inputs, ())


@pytest.mark.parametrize(
    "other", [Misconception("one", 2, "no es dos"), Misconception("two", 2, "no es uno")]
)
def test_names_and_hints_are_not_repeated(other):
    with pytest.raises(ValueError, match="cada uno"):
        Exercise("a.b", 1, 7, no_inputs, (ONE, other))


def test_a_list_of_misconceptions_is_kept_as_a_tuple():
    assert Exercise("a.b", 1, 7, no_inputs, [ONE]).misconceptions == (ONE,)


def test_a_question_has_a_plain_answer():
    assert Exercise("a.b", 1, 7, no_inputs, ()).is_question
    assert not Exercise("a.b", 1, abs, no_inputs, ()).is_question
    assert Exercise("attention.b", 1, 7, no_inputs, ()).topic == "attention"


def test_the_direct_call_leaves_an_answer_as_it_is():
    assert direct_call("b") == "b"
    assert direct_call(abs, -3) == 3
