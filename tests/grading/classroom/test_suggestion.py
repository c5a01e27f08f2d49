"""De una respuesta no reconocida, el error que se pega en su ejercicio: se lee, y es el mismo."""

import re
import textwrap

import pytest
import torch

from course_lib.grading.classroom import report
from course_lib.grading.classroom.suggestion import suggested_mistake
from course_lib.grading.sandbox.evidence import Evidence
from course_lib.grading.submission import exercises_folder
from course_lib.notebooks.exercise_source import ExerciseSource

SOLUTIONS = exercises_folder().parent / "solutions" / "attention"
SIGMOID = """
import math
print("una demostración")

def logistic(z):  # mi función
    return 1 / (1 + (-z).exp())

@torch.no_grad()
def soft_argmax(s, b):
    # no suma 1
    return logistic(b * s)

soft_argmax(torch.zeros(2), 1.0)
"""
TICKS = 'def soft_argmax(s, b):\n    """Con ```` dentro."""\n    return s'


def pasted(tmp_path, exercise, edit):
    """El ejercicio, con eso pegado al final de sus errores, leído como `course regenerate`."""
    text = (SOLUTIONS / f"{exercise}.md").read_text("utf-8")
    before, mark, after = text.partition("\n## Otras maneras")
    (tmp_path / "attention").mkdir()
    path = tmp_path / "attention" / f"{exercise}.md"
    path.write_text(f"{before.rstrip()}\n{edit}\n{mark}{after}", "utf-8")
    made = ExerciseSource.read(path)
    assert made.faults == []
    (mistake,) = [each for each in made.mistakes if each.name == "nuevo_error"]
    return made, mistake


def test_a_function_is_pasted_with_what_it_uses(tmp_path):
    edit = suggested_mistake(SIGMOID, "soft_argmax")
    made, mistake = pasted(tmp_path, "soft_argmax", edit)
    names = {"torch": torch}
    exec(made.whole(mistake.body), names)
    scores = torch.tensor([1.0, -2.0])
    assert torch.equal(names["soft_argmax"](scores, 2.0), 1 / (1 + (-2 * scores).exp()))
    assert "# no suma 1" in mistake.body and "print" not in mistake.body
    assert mistake.hint.startswith("escribe aquí la pista") and mistake.raises is None


def test_what_stops_says_with_what(tmp_path):
    code = 'def soft_argmax(s, b):\n    raise IndexError("x")'
    edit = suggested_mistake(code, "soft_argmax", "se detuvo con IndexError: x\nlínea 2: raise")
    assert pasted(tmp_path, "soft_argmax", edit)[1].raises == "IndexError"


def test_a_wrong_value_is_a_value(tmp_path):
    edit = suggested_mistake("ties = {'A': 9}", "ties")
    assert pasted(tmp_path, "read_plot", edit)[1].value == "{'A': 9}"


def test_the_fence_is_longer_than_what_it_holds(tmp_path):
    _, mistake = pasted(tmp_path, "soft_argmax", suggested_mistake(TICKS, "soft_argmax"))
    assert mistake.body == TICKS


def test_what_never_ends_is_not_suggested():
    """Quien lo probara fuera de la caja no acabaría."""
    assert report._suggestion("attention.soft_argmax", Evidence(SIGMOID)) == ""
    assert "soft" in report._suggestion("attention.soft_argmax", Evidence(SIGMOID, obtained="1"))


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("x = 1", "soft_argmax"),
        ("def soft_argmax(:", "soft_argmax"),
        ("ties = open('/etc/passwd').read()", "ties"),
        ("", "ties"),
    ],
)
def test_what_cannot_be_pasted_is_not_suggested(code, name):
    assert suggested_mistake(code, name) == ""


def test_it_is_pasted_with_the_indentation_of_a_list():
    lines = suggested_mistake(SIGMOID, "soft_argmax").splitlines()
    assert lines[0] == "- **nuevo_error**" and re.fullmatch(r"  `{3,}", lines[1])
    assert textwrap.dedent("\n".join(lines[1:])).startswith("```")
