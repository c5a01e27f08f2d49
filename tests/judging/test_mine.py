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


def test_a_right_answer_is_used_and_told(notebook, capsys):
    seen = []
    notebook(lambda scores, beta: seen.append(scores) or right(scores, beta))
    used = mine(NAME)
    assert torch.equal(used(SCORES, 2.0), right(SCORES, 2.0)) and seen[-1] is SCORES
    assert capsys.readouterr().out == "✅ Ejercicio 1 · El arg max suave: la tuya\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (blank, "⏳ Ejercicio 1 · El arg max suave: por ahora, la del curso"),
        (None, "⏳ Ejercicio 1 · El arg max suave: por ahora, la del curso"),
        (..., "⏳ Ejercicio 1 · El arg max suave: por ahora, la del curso"),
        (lambda scores, beta: scores, "El arg max suave: aún no está bien; por ahora, la del"),
        (3, "El arg max suave: aún no está bien; por ahora, la del curso"),
    ],
)
def test_anything_else_is_replaced_and_told(notebook, capsys, answer, said):
    notebook(answer)
    assert torch.allclose(mine(NAME)(SCORES, 2.0), right(SCORES, 2.0))
    assert said in capsys.readouterr().out


def test_one_that_stops_later_gives_its_place_and_is_told_once(notebook, capsys):
    def only_small(scores, beta):
        if len(scores) > 50:
            raise IndexError("demasiadas")
        return right(scores, beta)

    notebook(only_small)
    used, many = mine(NAME), torch.ones(60)
    for _ in range(2):
        assert torch.allclose(used(many, 2.0), right(many, 2.0))
    _, said = capsys.readouterr().out.splitlines()
    assert "aquí se detuvo con IndexError: demasiadas; por ahora, la del curso" in said


def test_a_slow_one_gives_its_place(notebook, capsys, monkeypatch):
    monkeypatch.setattr(importlib.import_module("course_lib.judging.mine"), "MOST_SECONDS", 0.0)
    calls = []
    notebook(lambda scores, beta: calls.append(1) or right(scores, beta))
    used = mine(NAME)
    before = len(calls)
    used(SCORES, 2.0), used(SCORES, 2.0)
    assert len(calls) == before + 1
    assert "está bien, pero aquí pasó de 0 segundos; por ahora" in capsys.readouterr().out


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
