import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.primitives.positions import sinusoidal_positions, step_positions


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
