"""Los datos simples: qué se convierte, qué se compara y cómo."""

import itertools
import unicodedata
from collections import OrderedDict, namedtuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.judging.plain_data import Comparison, Unsupported, copy_inputs, is_plain, plain

Pair = namedtuple("Pair", "a b")
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
PLAIN = st.recursive(SCALARS, lambda x: st.lists(x) | st.dictionaries(st.text(), x), max_leaves=10)


@given(PLAIN)
def test_what_is_plain_stays_as_it_is(value):
    assert is_plain(plain(value))
    assert Comparison(0.0).same(plain(value), value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ((1, (2.0, "x")), [1, [2.0, "x"]]),
        (Pair(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (True, True),
    ],
)
def test_common_variants_are_accepted(value, expected):
    converted = plain(value)
    assert converted == expected and type(converted) is type(expected)


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, np.ones(2), 1j, b"x", torch.ones(2, dtype=torch.cfloat), lambda: 1, type],
)
def test_the_rest_is_named_and_not_kept(value):
    converted = plain(value)
    assert isinstance(converted, Unsupported) and not is_plain([{"a": converted}])


def test_a_tensor_is_copied_without_its_graph():
    parameter = torch.nn.Parameter(torch.ones(2))
    converted = plain(parameter)
    assert type(converted) is torch.Tensor and not converted.requires_grad
    assert plain(parameter * 2, keep_graph=True).requires_grad
    parameter.data.zero_()
    assert converted.tolist() == [1.0, 1.0]


def test_copied_inputs_are_independent_and_can_be_written():
    original = (torch.ones(2), [torch.arange(2)], {"a": torch.ones(1)}, 3)
    leaves = []
    copied = copy_inputs(original, leaves)
    copied[0].mul_(5)
    assert original[0].tolist() == [1.0, 1.0]
    assert [leaf.requires_grad for leaf in leaves] == [True, True]


@pytest.mark.parametrize(
    ("actual", "expected", "property_"),
    [
        (1, True, "type"),
        (True, 1, "type"),
        ("1", 1, "type"),
        ([1, 2], [1], "shape"),
        ({"a": 1}, {"b": 1}, "shape"),
        (torch.ones(2, dtype=torch.bool), torch.ones(2), "dtype"),
        (torch.ones(2, dtype=torch.half), torch.ones(2), "dtype"),
        (torch.ones(2), torch.ones(2, dtype=torch.long), "dtype"),
        (float("nan"), 1.0, "finite"),
        (torch.tensor([0.0]), torch.tensor([float("-inf")]), "finite"),
        (torch.tensor([float("-inf")]), torch.tensor([float("inf")]), "values"),
        (2, 1, "values"),
        (10**400, 1.0, "finite"),
        ("a", "b", "values"),
        (1.5e-5, 0.0, "values"),
        (torch.tensor([1.5e-5]), torch.tensor([0.0]), "values"),
        (torch.tensor([1.5e-10]).double(), torch.tensor([0.0]).double(), "values"),
    ],
)
def test_the_property_that_differs(actual, expected, property_):
    assert [fault.property for fault in Comparison().faults(actual, expected)] == [property_]


ONES, MANY = torch.ones(2), torch.ones(3)
TEXTS = {
    "en el segundo elemento del resultado, la forma es (3,) y debería ser (2,)": (
        [ONES, MANY],
        [ONES, ONES],
    ),
    "en el segundo elemento del resultado, en su posición [1], la forma es (3,) y debería": (
        [0, [ONES, MANY]],
        [0, [ONES, ONES]],
    ),
    "en «los pesos», en el primer elemento del resultado, el valor no es el esperado": (
        {"los pesos": [1]},
        {"los pesos": [2]},
    ),
    "en la posición [10] del resultado, el valor no es el esperado": ([1] * 11, [1] * 10 + [2]),
    "los valores no son los esperados": (ONES * 2, ONES),
    "en el segundo elemento del resultado, los valores no son los esperados": (
        [0, MANY.long() * 2],
        [0, MANY.long()],
    ),
    "el valor no es el esperado": (torch.tensor(1.0), torch.tensor(2.0)),
    "el texto no es el esperado": ("a", "b"),
    "se esperaba una lista o tupla con 2 elementos y llegó un tensor": (ONES, [ONES, MANY]),
    "la lista o tupla tiene 1 elemento y debería tener 2": ([ONES], [ONES, MANY]),
    "la lista o tupla tiene 3 elementos y debería tener 2": ([[1], 2.0, 0], [[1], 2.0]),
    "cada elemento de la lista debería ser una lista o tupla, y llegó un número": (
        [1, 2, 3],
        [[1, 2], [3]],
    ),
    "al diccionario le falta la clave «b»": ({"a": 1}, {"a": 1, "b": 2}),
    "al diccionario le sobra alguna clave": ({"a": 1, "b": 2}, {"a": 1}),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_place_and_what_fails_are_told_in_plain_spanish(text):
    (fault,) = Comparison().faults(*TEXTS[text])
    assert fault.text.startswith(text)


@pytest.mark.parametrize("item", [7, 0.5, "x", True, [7, 7]])
@pytest.mark.parametrize("length", [0, 3, 5, 12])
def test_how_many_numbers_a_list_should_have_is_never_told(item, length):
    """Puede ser la respuesta: cuántos bytes tiene una palabra, cuántos tokens quedan."""
    told = {
        fault.text + fault.advice
        for right in (4, 6, 13)
        for fault in Comparison().faults([item] * length, [item] * right)
    }
    assert told == {f"el número de elementos de la lista, {length}, no es el correcto"}


@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: {"num_heads=2": x}])
def test_a_forgotten_return_is_suggested(wrapped):
    for wanted in (ONES, [ONES, ONES], 1.0):
        (fault,) = Comparison().faults(wrapped(None), wrapped(wanted))
        assert fault.advice == ". ¿Falta un return?"
    (inside,) = Comparison().faults(wrapped([ONES, None]), wrapped([ONES, ONES]))
    assert inside.advice == ""


@pytest.mark.parametrize(
    ("actual", "expected", "how"),
    [
        ([1.0], ONES, "torch.tensor(…)"),
        (ONES, [1.0], ".tolist()"),
        (ONES, 1.0, ".item()"),
        *itertools.product(["a"], [ONES, [1.0], 1.0], [""]),
        (ONES, "a", ""),
    ],
)
def test_how_to_convert_it_is_told_when_it_can_be_converted(actual, expected, how):
    (fault,) = Comparison().faults(actual, expected)
    assert fault.advice.endswith(how) and bool(fault.advice) == bool(how)


@pytest.mark.parametrize(
    ("actual", "same"),
    [(63_000_000, True), (63e6, True), (63e6 + 1e-4, True), (63e6 + 0.5, False), (63e6 + 1, False)],
)
def test_a_count_is_exact_even_if_it_comes_with_decimals(actual, same):
    assert Comparison().same(actual, 63_000_000) is same
    assert Comparison().same(float(actual), 63e6)  # lo que se mide se compara con su tolerancia


@pytest.mark.parametrize(
    ("actual", "expected", "same"),
    [
        (MANY.double() / 3, MANY / 3, True),
        (MANY.bool(), MANY, True),
        (MANY, MANY.long(), True),
        (MANY + 0.1, MANY.long(), False),
        ((MANY / 3).bfloat16(), MANY / 3, False),
        ((MANY / 3).half(), MANY / 3, False),
        (MANY / 3, MANY.double() / 3, False),
    ],
)
def test_any_dtype_is_compared_with_the_digits_of_the_expected_one(actual, expected, same):
    assert Comparison(any_dtype=True).same(actual, expected) is same


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1, 1.0),
        (torch.tensor(3), 3),
        (torch.tensor(True), True),
        ([1], (1,)),
        (torch.ones(2, dtype=torch.int32), torch.ones(2, dtype=torch.int64)),
        (torch.tensor([float("nan"), float("inf")]), torch.tensor([float("nan"), float("inf")])),
        (torch.ones(2) + 5e-6, torch.ones(2)),
        (torch.zeros(0, 3), torch.zeros(0, 3)),
        ("a\u0301", "á"),
    ],
)
def test_what_counts_as_the_same(actual, expected):
    assert Comparison().same(actual, expected)


NUMBERS = ([0, 1], [1, 1], [1.0, 1.0 + 1e-7], [1.0, float("nan")], [1.0, float("-inf")])
KINDS = (torch.float32, torch.float64, torch.half, torch.long, torch.bool)
TENSORS = [torch.tensor(x).nan_to_num(2, neginf=3).to(k) for x in NUMBERS for k in KINDS]
TENSORS += [torch.tensor(x) for x in (*NUMBERS, 1, 1.0, True)]
LEAVES = [*TENSORS, 0, 1, True, 1.0, float("nan"), 10**400, "a", "A ", None, Unsupported("x")]
NESTED = [[], [1], [True], (1, 2), [ONES, MANY], {"a": 1}, {"b": 1}, {"a": 1, "b": 1}, {"a": ONES}]


@pytest.mark.parametrize(
    "comparison", [Comparison(), Comparison(0.0), Comparison(any_dtype=True, lenient_text=True)]
)
def test_they_are_the_same_when_there_is_no_fault(comparison):
    """Mirarlo no es decir qué falla, que cuesta más, y se contesta por otro camino."""
    for pair in itertools.product([*LEAVES, *NESTED, MANY], repeat=2):
        assert comparison.same(*pair) == (not [*comparison.faults(*pair)]), pair


def test_the_text_of_an_answer_is_read_leniently_and_that_of_a_function_is_not():
    assert Comparison(lenient_text=True).same("  La  Clave ", "la clave")
    assert Comparison(lenient_text=True).same("B, C, A", "BCA")
    assert not Comparison().same("La clave", "la clave")


def test_a_text_much_longer_than_expected_is_not_normalised(monkeypatch):
    """Ordenar sus acentos costaría el cuadrado de cuántos son."""
    normalize = unicodedata.normalize

    def short(form, text):
        assert len(text) < 10_000
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", short)
    assert not Comparison().same("\u0301\u0316" * 500_000, "año")
    assert Comparison(lenient_text=True).same("  an\u0303o" + " " * 5000, "AÑO")


@pytest.mark.parametrize("expected", [torch.zeros(2), [1, 2], {"a": 1}, "texto", 1.0, None])
def test_what_only_says_it_is_of_that_kind_is_not(expected):
    for kind in ("un tensor", "una lista o tupla", "un diccionario", "un texto", "un número"):
        (fault,) = Comparison().faults(Unsupported(kind), expected)
        assert fault.property == "type"
