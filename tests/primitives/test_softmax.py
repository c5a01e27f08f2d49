import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.primitives.attention import hard_argmax as its_hard_argmax
from course_lib.primitives.attention import soft_argmax as its_soft_argmax
from course_lib.primitives.softmax import hard_argmax, soft_argmax


def test_they_are_those_of_attention():
    assert (hard_argmax, soft_argmax) == (its_hard_argmax, its_soft_argmax)


scores_lists = st.lists(st.floats(-30, 30), min_size=1, max_size=8)


@given(scores_lists, st.floats(-5, 5))
def test_soft_argmax_equals_the_written_out_formula(values, beta):
    scores = torch.tensor(values, dtype=torch.float64)
    powers = [math.exp(beta * s) for s in values]
    expected = torch.tensor([p / math.fsum(powers) for p in powers], dtype=torch.float64)
    assert_close(soft_argmax(scores, beta), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_soft_argmax_sums_to_one_over_the_asked_axis(dim):
    a = soft_argmax(torch.randn(3, 5), beta=2.0, dim=dim)
    assert_close(a.sum(dim), torch.ones_like(a.sum(dim)))


def test_soft_argmax_survives_scores_whose_exponential_overflows():
    a = soft_argmax(torch.tensor([1e4, 1e4 - 1.0]))
    assert_close(a, torch.tensor([1.0, math.exp(-1)]) / (1 + math.exp(-1)))


def test_beta_zero_gives_the_mean_and_large_beta_the_maximum():
    scores = torch.tensor([0.3, 0.9, 0.8])
    assert_close(soft_argmax(scores, 0.0), torch.full((3,), 1 / 3))
    assert_close(soft_argmax(scores, 1000.0), hard_argmax(scores))


def test_beta_may_be_learned():
    beta = torch.tensor(1.5, requires_grad=True)
    soft_argmax(torch.tensor([0.0, 1.0]), beta)[0].backward()
    p = 1 / (1 + math.exp(1.5))
    assert beta.grad.item() == pytest.approx(-p * (1 - p))


def test_hard_argmax_breaks_ties_with_the_first():
    scores = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    assert hard_argmax(scores).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert hard_argmax(scores, dim=0).tolist() == [[0, 1, 1], [1, 0, 0]]


@given(scores_lists)
def test_hard_argmax_has_a_single_one_at_the_first_maximum(values):
    a = hard_argmax(torch.tensor(values, dtype=torch.float64))
    assert a.count_nonzero() == 1
    assert a[values.index(max(values))] == 1


@pytest.mark.parametrize("beta", [math.inf, -math.inf, math.nan])
def test_beta_must_be_finite(as_user, beta):
    with pytest.raises(ValueError, match=r"β finita.*hard_argmax"):
        soft_argmax(torch.zeros(2), beta)


@pytest.mark.parametrize("function", [soft_argmax, hard_argmax])
def test_integers_are_refused(as_user, function):
    with pytest.raises(ValueError, match=r"punto flotante.*int64.*scores.float\(\)"):
        function(torch.tensor([1, 2]))
