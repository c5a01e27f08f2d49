import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.primitives.positions import (
    ROTARY_LAYOUTS,
    rotary,
    rotary_order,
    rotary_table,
    rotate,
    sinusoidal_positions,
    step_positions,
)

EXACT = {"rtol": 1e-10, "atol": 1e-10}


@given(st.integers(1, 40), st.integers(1, 12))
def test_equals_the_formula_entry_by_entry(length, pairs):
    d = 2 * pairs
    PE = sinusoidal_positions(length, d, dtype=torch.float64)
    assert PE.shape == (length, d)
    for pos in range(length):
        for i in range(pairs):
            angle = pos / 10_000 ** (2 * i / d)
            assert PE[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-12)
            assert PE[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-12)


def test_a_shift_is_the_same_rotation_everywhere():
    PE = sinusoidal_positions(60, 16, dtype=torch.float64)
    products = PE @ PE.T
    for shift in (1, 7, 30):
        diagonal = products.diagonal(shift)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal))


def test_far_positions_keep_their_phase_in_half_precision():
    far = sinusoidal_positions(5000, 64, dtype=torch.bfloat16)[-1].double()
    exact = sinusoidal_positions(5000, 64, dtype=torch.float64)[-1]
    assert (far - exact).abs().max() < 2**-8


@pytest.mark.parametrize("d_model", [0, -2, 7])
def test_width_must_be_even_and_positive(as_user, d_model):
    with pytest.raises(ValueError, match=f"par y positivo y llegó {d_model}"):
        sinusoidal_positions(4, d_model)


def test_length_cannot_be_negative(as_user):
    with pytest.raises(ValueError, match="≥ 0 y llegó -1"):
        sinusoidal_positions(-1, 4)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 5))
def test_a_start_is_a_place_in_a_longer_table(start, length, pairs):
    whole = sinusoidal_positions(start + length, 2 * pairs)
    assert torch.equal(sinusoidal_positions(length, 2 * pairs, start=start), whole[start:])


@given(st.integers(1, 12), st.integers(1, 5), st.integers(1, 9), st.integers(0, 20))
def test_positions_and_steps_count_from_one(length, pairs, step, start):
    P = step_positions(length, 2 * pairs, step, start=start, dtype=torch.float64)
    for row in range(length):
        for j in range(pairs):
            where, when = (x / 10_000 ** (2 * j / (2 * pairs)) for x in (start + row + 1, step))
            assert P[row, 2 * j].item() == pytest.approx(math.sin(where) + math.sin(when))
            assert P[row, 2 * j + 1].item() == pytest.approx(math.cos(where) + math.cos(when))


def test_steps_start_at_one(as_user):
    with pytest.raises(ValueError, match="se cuentan desde 1 y llegó 0"):
        step_positions(3, 4, 0)


# Posiciones rotatorias

layouts = pytest.mark.parametrize("layout", ROTARY_LAYOUTS)


def turned(x, position, layout, base=10_000.0):
    """Un vector girado con números complejos, que no se parece en nada a la biblioteca."""
    d = len(x)
    columns = [(i, i + d // 2) if layout == "half" else (2 * i, 2 * i + 1) for i in range(d // 2)]
    y = torch.empty_like(x)
    for i, (a, b) in enumerate(columns):
        z = complex(x[a], x[b])
        angle = position * base ** (-2 * i / d)
        z *= complex(math.cos(angle), math.sin(angle))
        y[a], y[b] = z.real, z.imag
    return y


@layouts
@given(t=st.integers(1, 5), pairs=st.integers(1, 6), start=st.integers(-9, 3000))
def test_each_pair_of_columns_turns_by_its_angle(layout, t, pairs, start):
    x = torch.randn(2, t, 2 * pairs, dtype=torch.float64)
    positions = torch.arange(start, start + t)
    found = rotary(x, positions, layout=layout)
    for row in range(2):
        for i in range(t):
            expected = turned(x[row, i], start + i, layout)
            assert_close(found[row, i], expected, **EXACT)


@layouts
@given(m=st.integers(0, 2000), n=st.integers(0, 2000), shift=st.integers(0, 2000))
def test_scores_depend_on_the_distance_alone(layout, m, n, shift):
    q, k = torch.randn(2, 1, 8, dtype=torch.float64)

    def score(i, j):
        return (
            rotary(q, torch.tensor([i]), layout=layout)
            @ rotary(k, torch.tensor([j]), layout=layout).mT
        )

    assert_close(score(m + shift, n + shift), score(m, n), rtol=1e-8, atol=1e-9)
    assert_close(score(0, n - m), score(m, n), rtol=1e-8, atol=1e-9)


@layouts
def test_the_distance_does_matter(layout):
    q, k = torch.ones(2, 1, 8, dtype=torch.float64)
    turns = rotary(k.expand(5, 8), torch.arange(5), layout=layout)
    scores = (q @ turns.mT).flatten().tolist()
    assert len({round(score, 6) for score in scores}) == 5
    assert_close(turns.norm(dim=-1), k.norm().expand(5), **EXACT)


@given(pairs=st.integers(1, 8), to=st.sampled_from(ROTARY_LAYOUTS))
def test_a_permutation_of_columns_turns_one_layout_into_the_other(pairs, to):
    other = {"half": "interleaved", "interleaved": "half"}[to]
    x, positions = torch.randn(3, 2 * pairs, dtype=torch.float64), torch.arange(3)
    order = rotary_order(2 * pairs, to=to)
    expected = rotary(x, positions, layout=other)[..., order]
    assert_close(rotary(x[..., order], positions, layout=to), expected, **EXACT)


@pytest.mark.parametrize(("dtype", "tolerance"), [("f32", 2e-5), ("f64", 1e-12)])
@pytest.mark.parametrize(
    ("layout", "name"), [("half", "halfsplit"), ("interleaved", "interleaved")]
)
def test_it_equals_the_reference(golden, layout, name, dtype, tolerance):
    q = golden("08b_rope", "inputs")["q"]
    expected = golden("08b_rope", f"out_{dtype}")[name]
    found = rotary(q.to(expected.dtype), torch.arange(7), layout=layout)
    assert_close(found, expected, rtol=tolerance, atol=tolerance)


@layouts
def test_far_angles_are_not_rounded_in_half_precision(layout):
    x = torch.ones(1, 64)
    exact = rotary(x.double(), torch.tensor([2047]), layout=layout)
    half = rotary(x.bfloat16(), torch.tensor([2047]), layout=layout)
    assert half.dtype == torch.bfloat16
    assert (half.double() - exact).abs().max() < 2**-7, "el ángulo se calculó en bfloat16"


def test_each_row_may_have_its_own_positions():
    x = torch.randn(3, 2, 4, 8)  # [batch, heads, t, d]
    positions = torch.randint(0, 50, (3, 1, 4))
    found = rotary(x, positions)
    for row in range(3):
        assert_close(found[row], rotary(x[row], positions[row, 0]))


@layouts
def test_one_table_serves_every_layer(layout):
    x, positions = torch.randn(2, 5, 6), torch.arange(3, 8)
    table = rotary_table(positions, 6, layout=layout, base=100.0, dtype=torch.float32)
    assert all(part.dtype == torch.float32 for part in table)
    assert_close(rotate(x, *table, layout=layout), rotary(x, positions, layout=layout, base=100.0))


@pytest.mark.parametrize("call", [lambda d: rotary_table(torch.arange(2), d), rotary_order])
@pytest.mark.parametrize("d", [0, 7])
def test_a_rotation_needs_pairs_of_columns(as_user, call, d):
    with pytest.raises(ValueError, match=f"d: se esperaba un ancho par y positivo y llegó {d}"):
        call(d)


def test_an_unknown_layout_is_explained(as_user):
    with pytest.raises(ValueError, match="'half', 'interleaved' y llegó 'mitad'"):
        rotary(torch.ones(2, 4), torch.arange(2), layout="mitad")


def test_a_table_first_asked_without_gradient_serves_to_train_later():
    base = 12_345.0  # una que nadie más pide: la tabla de periodos se guarda
    with torch.inference_mode():
        expected = rotary(torch.ones(1, 3, 4), torch.arange(3), base=base)
    x = torch.ones(1, 3, 4, requires_grad=True)
    y = rotary(x, torch.arange(3), base=base)
    y.square().sum().backward()
    assert_close(y.detach(), expected.clone())
    assert_close(x.grad, 2 * x.detach())  # girar no cambia la norma
