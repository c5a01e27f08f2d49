"""`course try`: lo que se ve de un ejercicio mientras se escribe."""

from course_lib.judging.check import check_exercise, find_exercise
from course_lib.notebooks import trial
from tests.checks.judging import deadline


def endless(scores, beta):
    while True:
        pass


def test_what_never_ends_is_left_although_each_case_would_begin_again(monkeypatch):
    exercise, judged = find_exercise("attention.soft_argmax"), []
    monkeypatch.setattr(trial, "_SECONDS", 1)
    with trial._deadline():
        judged.append(check_exercise(exercise, endless))
    assert judged == []


def test_a_mutant_that_never_ends_is_left_too():
    exercise = find_exercise("attention.soft_argmax")
    try:
        with deadline(1):
            verdict = check_exercise(exercise, endless)
    except TimeoutError:
        verdict = None
    assert verdict is None
