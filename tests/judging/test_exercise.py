"""Un ejercicio mal declarado se rechaza al escribirlo."""

import pytest

from course_lib.judging.exercise import (
    Exercise,
    Misconception,
    combinable,
    direct_call,
    no_inputs,
)

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


# Errores que se pueden cometer a la vez


@combinable
def _line(slope=2, offset=1, *, after=lambda y: y):
    return lambda x: after(slope * x + offset)


@combinable
def _square(offset=0, after=lambda y: y):
    return lambda x: after(x**2 + offset)


def _pairs(*implementations):
    wrong = [Misconception(f"m{i}", f, f"pista {i}") for i, f in enumerate(implementations)]
    exercise = Exercise("a.b", 1, _line(), lambda rng: [(3,)], wrong)
    return {(a.name, b.name): both(3) for a, b, both in exercise.pairs}


def test_two_changes_of_different_steps_are_made_at_once():
    assert _line()(3) == 7
    assert _pairs(_line(slope=5), _line(offset=0)) == {("m0", "m1"): 15}
    assert _pairs(_line(5), _line(after=lambda y: -y)) == {("m0", "m1"): -16}


def test_two_changes_of_the_same_step_are_not():
    assert _pairs(_line(slope=5), _line(slope=6)) == {}
    assert _pairs(_line(slope=5, offset=0), _line(offset=2)) == {}


def test_a_step_given_as_it_was_is_no_change():
    same = _line.__wrapped__.__kwdefaults__["after"]
    assert _pairs(_line(5, 1), _line(offset=0, after=same)) == {("m0", "m1"): 15}


def test_only_what_the_same_factory_makes_can_be_together():
    assert _pairs(_line(slope=5), _square(offset=3), lambda x: x, abs) == {}


def test_every_step_has_its_right_value():
    with pytest.raises(TypeError, match=r"_no_default: .* a slope le falta"):

        @combinable
        def _no_default(slope, offset=1):
            return lambda x: slope * x + offset
