"""`mine()`: la respuesta del estudiante, si está bien; si no, la del curso, que no puntúa."""

import importlib
import inspect
import sys

import pytest
import torch

from course_lib import check, mine
from course_lib.judging.check import check_exercise, find_exercise

NAME = "attention.soft_argmax"
SCORES = torch.tensor([1.0, 2.0])


@pytest.fixture(autouse=True)
def unchecked_types(monkeypatch):
    """Las pruebas comprueban los tipos de cada función con otra, que es la misma para todas."""
    home = importlib.import_module("course_lib.judging.mine")
    monkeypatch.setattr(home, "run_cases", inspect.unwrap(home.run_cases))


@pytest.fixture
def notebook(monkeypatch):
    """Lo que el cuaderno define."""
    return lambda answer: monkeypatch.setattr(
        sys.modules["__main__"], "soft_argmax", answer, raising=False
    )


def right(scores, beta):
    return torch.softmax(beta * scores, dim=-1)


def blank(scores, beta):
    raise NotImplementedError("Escribe aquí tu solución")


def test_a_right_answer_is_used(notebook, capsys):
    notebook(right)
    assert mine(NAME) is right and capsys.readouterr().out == ""


@pytest.mark.parametrize("answer", [blank, lambda scores, beta: scores, 3, None, ...])
def test_anything_else_is_replaced_and_told(notebook, capsys, answer):
    notebook(answer)
    assert torch.allclose(mine(NAME)(SCORES, 2.0), right(SCORES, 2.0))
    assert "El arg max suave: por ahora, la del curso" in capsys.readouterr().out


def test_a_cell_that_did_not_run_is_as_a_blank_one(monkeypatch):
    monkeypatch.delattr(sys.modules["__main__"], "soft_argmax", raising=False)
    assert torch.allclose(mine(NAME)(SCORES, 1.0), right(SCORES, 1.0))


def test_the_one_of_the_course_is_not_an_answer(notebook, capsys):
    notebook(blank)
    lent = mine(NAME)
    for answer in (lent, lambda scores, beta: lent(scores, beta)):
        assert check(NAME, answer).status != "correct"
        assert check_exercise(find_exercise(NAME), answer).status != "correct"


def test_an_unknown_exercise_is_told():
    with pytest.raises(ValueError, match="No hay ningún ejercicio"):
        mine("attention.nothing")
