"""Un ejercicio es un dato; lo mal escrito lo rechaza quien lee su fuente."""

from course_lib.judging.exercise import Exercise, Misconception, direct_call, no_inputs

ONE = Misconception("one", 1, "no es uno")


def test_a_list_of_misconceptions_is_kept_as_a_tuple():
    assert Exercise("a.b", 1, 7, no_inputs, [ONE]).misconceptions == (ONE,)


def test_a_question_has_a_plain_answer():
    assert Exercise("a.b", 1, 7, no_inputs, ()).is_question
    assert not Exercise("a.b", 1, abs, no_inputs, ()).is_question
    assert Exercise("attention.b", 1, 7, no_inputs, ()).topic == "attention"


def test_the_direct_call_leaves_an_answer_as_it_is():
    assert direct_call("b") == "b"
    assert direct_call(abs, -3) == 3
