"""En qué se parece a lo pedido una respuesta que ningún error frecuente explica."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.judging.exercise import Exercise
from course_lib.judging.relations import told_relation

NAMES = ["x", "w", "mask", "n"]


def ask(right, wrong, cases=None):
    """Lo que se dice de `wrong` cuando se pedía `right`."""

    def drawn(rng):
        return [
            (
                torch.randn(3, 4, generator=rng),
                torch.randn(3, 4, generator=rng),
                torch.rand(3, 4, generator=rng) > 0.4,
                n,
            )
            for n in (1, 2, 5)
        ]

    exercise = Exercise("topic.name", 1, right, cases or drawn, [])
    return told_relation(exercise, wrong, NAMES[: len(exercise.cases(torch.Generator())[0])], 7)


def masked(x, w, mask, n):
    return ((x * n + w**3) * mask + x.cos()).cumsum(0)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda x, w, mask, n: masked(x, w, ~mask, n), "con `mask` al revés: sí donde dice no"),
        (lambda x, w, mask, n: masked(x, w, mask | True, n), "`mask` dijera siempre que sí"),
        (lambda x, w, mask, n: masked(w, x, mask, n), "con `x` y `w` cambiados entre sí"),
        (lambda x, w, mask, n: masked(x, 0 * w, mask, n), "si `w` fuera todo 0: ¿interviene?"),
        (lambda x, w, mask, n: masked(x, -w, mask, n), "con el signo de `w` cambiado"),
        (lambda x, w, mask, n: masked(x, w, mask, n - 1), "con uno menos en `n`"),
        (lambda x, w, mask, n: masked(x.roll(1, -2), w, mask, n), "las filas de `x` corridas"),
    ],
)
def test_an_input_taken_for_another_is_named(wrong, told):
    assert told in ask(masked, wrong)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda y, *_: 1.5 * y, "sale lo pedido multiplicado por 1.5"),
        (lambda y, x, w, mask, n: (n + 0.5) * y, "multiplicado por un número, que no es el mismo"),
        (lambda y, x, w, mask, n: y / n**0.5, "sale lo pedido dividido entre la raíz de `n`"),
        (lambda y, x, *_: y * x[:, :1].exp(), "cada fila es la pedida multiplicada por un número"),
        (lambda y, *_: y - 2, "a cada número le faltan 2"),
        (lambda y, x, *_: y + x[:, :1], "a cada fila le sobra, o le falta, un mismo número"),
        (lambda y, x, *_: y + x, "sale lo pedido más `x`"),
        (lambda y, *_: y.softmax(-1), "a lo que da le sobra un softmax por filas"),
        (lambda y, *_: y.T.reshape(3, 4), "con los ejes en otro orden"),
        (lambda y, *_: y.sort(-1).values, "en cada fila están los números pedidos, en otro orden"),
        (lambda y, *_: y.roll(1, 0), "están las filas pedidas, en otro orden"),
        (lambda y, *_: torch.cat([y[:, :-1], 0 * y[:, -1:]], -1), "solo está mal la última colum"),
        (lambda y, x, w, mask, n: y.masked_fill(~mask, 9.0), "solo está mal donde `mask` es falsa"),
        (lambda y, x, w, mask, n: y if n > 1 else y**2 + x, "y mal cuando `n` es 1"),
    ],
)
def test_what_it_gives_is_compared_with_what_was_asked(change, told):
    assert told in ask(masked, lambda *inputs: change(masked(*inputs), *inputs))


@pytest.mark.parametrize("number", [0.0, 1.0])
def test_a_number_that_never_changes_is_not_a_function_of_what_was_asked(number):
    def mean(x, w, mask, n):
        return (x + n).mean()

    assert ask(mean, lambda *inputs: torch.tensor(number)) == ""


@pytest.mark.parametrize("given", [2**63, 10**500, [10**500, 1], [10**500, 0.5]])
def test_an_integer_no_tensor_holds_is_like_nothing(given):
    asked = 3 if isinstance(given, int) else [3, 4]
    assert ask(lambda *_: asked, lambda *_: given) == ""


def test_what_it_lacks_is_named():
    def weights(x, w, mask, n):
        return (n * x - w).softmax(-1)

    assert "le falta un softmax por filas" in ask(weights, lambda x, w, mask, n: n * x - w)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda x, w, mask, n: n * x <= w.sin(), "es justo lo contrario"),
        (
            lambda x, w, mask, n: (n * x > w.sin()) & mask,
            "lo que eliges está bien, pero faltan lugares",
        ),
        (lambda x, w, mask, n: (n * x > w.sin()) | mask, "está todo lo pedido, y sobran lugares"),
    ],
)
def test_what_is_chosen_is_compared(wrong, told):
    assert told in ask(lambda x, w, mask, n: n * x > w.sin(), wrong)


def test_only_the_part_that_is_wrong_is_named():
    def both(x, w, mask, n):
        return x @ w.T, (x @ w.T).softmax(-1)

    told = ask(both, lambda x, w, mask, n: (x @ w.T, 2 * (x @ w.T).softmax(-1)))
    assert told == "en el segundo elemento del resultado, sale lo pedido multiplicado por 2"


def test_what_holds_only_in_some_cases_is_not_told():
    assert ask(masked, lambda x, w, mask, n: masked(x, w, mask, n) * (2 if n == 1 else w)) == ""


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_unrelated_numbers_resemble_nothing(seed):
    def unrelated(x, w, mask, n):
        return torch.randn(3, 4, generator=torch.Generator().manual_seed(seed + n))

    assert ask(masked, unrelated) == ""


def test_a_shape_that_is_not_the_asked_one_and_an_error_say_nothing():
    assert ask(masked, lambda *inputs: masked(*inputs)[:2]) == ""
    assert ask(masked, lambda *inputs: 1 / 0) == ""


def test_a_scale_is_named_by_the_axis_it_comes_from():
    def cases(rng):
        return [
            (torch.randn(2, d, generator=rng), torch.randn(3, d, generator=rng)) for d in (2, 5)
        ]

    def scores(x, w):
        return x @ w.T

    told = ask(scores, lambda x, w: scores(x, w) / x.shape[-1] ** 0.5, cases)
    assert told == "sale lo pedido dividido entre la raíz de `x.shape[-1]`"
