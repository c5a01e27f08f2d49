"""Los puntos por partes: qué se gana, con qué texto, y por qué nada vacío gana algo."""

import itertools
from dataclasses import replace

import pytest
import torch

from course_lib.judging.check import check_exercise, topic_exercises
from course_lib.judging.credit import earned_parts
from course_lib.judging.exercise import Exercise, Misconception, Part
from course_lib.judging.plain_data import plain, tensors_in
from course_lib.judging.running import Outcome, draw_cases, run_cases
from course_lib.notebooks.generation import topics_in
from tests.checks.solutions import ROOT


def scaled(x, mask):
    return torch.where(mask, 2 * x, x)


def _cases(rng):
    def draw(rows, mask):
        return torch.randn(rows, 3, generator=rng), torch.tensor(mask).expand(rows, 3)

    return [draw(2, [True]), draw(4, [True]), draw(3, [True, False, True])]


def all_visible(x, mask):
    return bool(mask.all())


WHOLE = Part("los casos sin máscara", 1, cases=all_visible)
VALUES = Part("los valores", 2)
DTYPE = Part("el dtype", 1, "dtype")
INPUTS = Part("las entradas intactas", 1, "inputs")
GRADIENT = Part("el gradiente", 1, "gradient")


def exercise(*parts, points=9, reference=scaled, **options):
    options = {"gradient": True, "misconceptions": ()} | options
    return Exercise("example.scaled", points, reference, _cases, partial=parts, **options)


def verdict(student, *parts, **options):
    return check_exercise(exercise(*parts, **options), student)


# Qué se gana


@pytest.mark.parametrize(
    ("student", "points"),
    [
        (scaled, 9),
        (lambda x, mask: 2 * x, 1),
        (lambda x, mask: scaled(x, mask).double(), 3),
        (lambda x, mask: scaled(x.mul_(2), mask) / 2, 4),
        (lambda x, mask: scaled(x, mask).detach(), 5),
        (lambda x, mask: x, 0),
        (lambda x, mask: scaled(x, mask)[0], 0),
        (lambda x, mask: 1 / 0 if len(x) == 3 else 2 * x, 1),
        (lambda x, mask: scaled(x, mask).bfloat16(), 0),
        (lambda x, mask: scaled(x, mask).bfloat16().float(), 0),
    ],
    ids=[
        *("bien", "sin máscara", "dtype", "escribe", "sin gradiente", "mal", "forma", "se detiene"),
        *("pocas cifras", "pocas cifras, con el dtype"),
    ],
)
def test_each_property_earns_its_part_and_only_a_right_answer_earns_all(student, points):
    result = verdict(student, WHOLE, VALUES, DTYPE, INPUTS, GRADIENT)
    assert result.points == points
    assert (result.status == "correct") == (points == 9)


def test_the_parts_that_are_earned_are_named():
    hint = Misconception("unmasked", lambda x, mask: 2 * x, "no usas la máscara")
    result = verdict(lambda x, mask: x * 2, WHOLE, VALUES, misconceptions=[hint])
    assert result.message == "no usas la máscara" and result.earned == "los casos sin máscara"
    assert repr(result) == (
        "🟡 example.scaled: en parte (1 de 9 puntos, por los casos sin máscara)\n"
        "   No usas la máscara."
    )
    both = verdict(lambda x, mask: scaled(x, mask).detach(), WHOLE, VALUES)
    assert both.earned == "los casos sin máscara y los valores"
    assert both._repr_mimebundle_()[1]["course_verdict"]["earned"] == both.earned


def test_without_parts_nothing_changes():
    result = verdict(lambda x, mask: scaled(x, mask).detach())
    assert (result.points, result.earned) == (0, "")
    assert "earned" not in result._repr_mimebundle_()[1]["course_verdict"]


@pytest.mark.parametrize("answer", [..., None])
def test_a_blank_earns_nothing(answer):
    def stub(x, mask):
        raise NotImplementedError

    for blank in (answer, stub):
        result = verdict(blank, WHOLE, VALUES)
        assert (result.status, result.points, result.earned) == ("pending", 0, "")


def test_what_is_written_earns_its_part():
    def student(x, mask):
        if mask.all():
            return 2 * x
        raise NotImplementedError("con máscara")

    result = verdict(student, WHOLE, VALUES)
    assert (result.status, result.points, result.earned) == ("error", 1, "los casos sin máscara")
    assert "tu código llega a una parte sin escribir" in result.message


@pytest.mark.parametrize("item", [0, "doble"])
def test_a_part_may_be_an_element_of_the_result(item):
    def pair(x, mask):
        return (2 * x, x + 1) if item == 0 else {"doble": 2 * x, "más": x + 1}

    def half(x, mask):
        return (2 * x, x) if item == 0 else {"doble": 2 * x, "más": x}

    part = Part("el doble", 1, item=item)
    assert verdict(half, part, reference=pair).points == 1
    for wrong in (lambda x, mask: 2 * x, lambda x, mask: [], lambda x, mask: {}, lambda x, mask: 0):
        assert verdict(wrong, part, reference=pair).points == 0


def test_an_element_is_found_under_the_name_of_its_case():
    def call(student, x, mask):
        return {f"{len(x)} filas": student(x, mask)}

    def pair(x, mask):
        return 2 * x, x + 1

    part = Part("el doble", 1, item=0)
    options = {"reference": pair, "call": call, "gradient": False}
    assert verdict(lambda x, mask: (2 * x, x), part, **options).points == 1
    for wrong in (lambda x, mask: (x, x + 1), lambda x, mask: 2 * x, lambda x, mask: []):
        assert verdict(wrong, part, **options).points == 0


def test_a_better_answer_never_earns_less():
    """Todas las respuestas que aciertan unas propiedades y no otras, comparadas dos a dos."""
    aspects = ("sin máscara", "con máscara", "dtype", "entradas", "gradiente")

    def answer(held):
        def student(x, mask):
            doubled = 2 * (x if "entradas" in held else x.add_(1) - 1)
            right = torch.where(mask, doubled, doubled / 2)
            kind = "sin máscara" if bool(mask.all()) else "con máscara"
            out = right if kind in held else right + 1
            out = out if "gradiente" in held else out.detach()
            return out if "dtype" in held else out.double()

        return student

    subsets = [frozenset(c) for n in range(6) for c in itertools.combinations(aspects, n)]
    parts = (WHOLE, VALUES, DTYPE, INPUTS, GRADIENT)
    points = {held: verdict(answer(held), *parts, tolerance=1e-5).points for held in subsets}
    assert points[frozenset(aspects)] == 9 and points[frozenset()] == 0
    assert len(set(points.values())) > 4
    for less, more in itertools.product(subsets, repeat=2):
        assert not less <= more or points[less] <= points[more], (less, more)


def test_a_part_without_cases_is_refused():
    nobody = Part("nadie", 1, cases=lambda x, mask: False)
    with pytest.raises(ValueError, match="ningún caso es de la parte «nadie»"):
        verdict(scaled, nobody)


# Los ejercicios del curso

PARTED = [
    exercise for topic in topics_in(ROOT) for exercise in topic_exercises(topic) if exercise.partial
]
every_parted = pytest.mark.parametrize("exercise", PARTED, ids=lambda exercise: exercise.name)


def _replaced(value, make):
    """El mismo resultado, con `make` en el lugar de cada tensor y de cada número."""
    if isinstance(value, torch.Tensor):
        return make(value)
    if isinstance(value, list):
        return [_replaced(item, make) for item in value]
    if isinstance(value, dict):
        return {key: _replaced(item, make) for key, item in value.items()}
    return type(value)(make(torch.tensor(value))) if type(value) in (int, float) else value


GARBAGE = {
    "ceros": torch.zeros_like,
    "unos": torch.ones_like,
    "todo 3": lambda x: torch.full_like(x, 3),
    "todo NaN": lambda x: x * torch.nan if x.is_floating_point() else torch.zeros_like(x),
}


@every_parted
@pytest.mark.parametrize("kind", GARBAGE)
def test_a_constant_of_the_right_shape_earns_nothing(exercise, kind):
    for seed in range(4):
        cases = draw_cases(exercise, seed)
        right = run_cases(exercise, exercise.reference, cases)
        constant = [Outcome(_replaced(o.value, GARBAGE[kind])) for o in right]
        assert earned_parts(exercise, cases, constant, right) == []


@every_parted
def test_the_outputs_of_another_seed_earn_nothing(exercise):
    cases, others = (draw_cases(exercise, seed) for seed in (1, 2))
    right, memorised = (run_cases(exercise, exercise.reference, c) for c in (cases, others))
    assert earned_parts(exercise, cases, memorised, right) == []


@every_parted
def test_the_first_input_earns_nothing(exercise):
    cases = draw_cases(exercise, 1)
    right = run_cases(exercise, exercise.reference, cases)
    inputs = [Outcome(plain(next(tensors_in(case), case[0]))) for case in cases]
    assert earned_parts(exercise, cases, inputs, right) == []


@every_parted
def test_code_given_with_a_fault_earns_nothing(exercise):
    """En los ejercicios de corregir, entregar lo que venía no vale puntos."""
    given = [m for m in exercise.misconceptions if m.name in ("unchanged", "as_it_was")]
    assert [check_exercise(exercise, m.implementation).points for m in given] == [0] * len(given)


@every_parted
def test_some_misconception_earns_each_part(exercise):
    """Una parte que ningún error frecuente gana no es el crédito de nada."""
    bare = replace(exercise, misconceptions=())  # sin buscar a cuál se parece cada uno
    told = [check_exercise(bare, m.implementation, seed=4) for m in exercise.misconceptions]
    for part in exercise.partial:
        assert any(part.label in verdict.earned for verdict in told), part.label


@every_parted
def test_every_seed_draws_cases_of_every_part(exercise):
    for seed in range(25):
        draw_cases(exercise, seed)


def test_several_topics_give_partial_credit():
    assert len({exercise.topic for exercise in PARTED}) >= 6 and len(PARTED) >= 10
