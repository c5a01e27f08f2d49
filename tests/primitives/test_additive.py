import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.primitives.additive import additive_scores, combine_projected, luong_scores

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def draw(seed, *shapes):
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(s, generator=rng, dtype=torch.float64, requires_grad=True) for s in shapes]


def loop_additive(Q, K, W_q, W_k, v):
    """La fórmula, número por número: vᵀ tanh(W_q q + W_k k)."""
    total = []
    for q in Q:
        for k in K:
            hidden = [
                math.tanh(sum(q * W_q[:, a]).item() + sum(k * W_k[:, a]).item())
                for a in range(len(v))
            ]
            total.append(sum(h * c.item() for h, c in zip(hidden, v, strict=True)))
    return torch.tensor(total, dtype=torch.float64).view(len(Q), len(K))


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), sizes=st.tuples(*[st.integers(1, 5)] * 5))
def test_additive_equals_the_written_out_formula(seed, sizes):
    t_q, t_k, d_q, d_k, d_a = sizes
    inputs = draw(seed, (t_q, d_q), (t_k, d_k), (d_q, d_a), (d_k, d_a), (d_a,))
    assert_close(additive_scores(*inputs), loop_additive(*inputs), **EXACT)


def test_additive_gradient_is_that_of_the_formula():
    inputs = draw(0, (2, 3), (4, 5), (3, 6), (5, 6), (6,))
    assert torch.autograd.gradcheck(additive_scores, inputs)


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_every_example_of_a_batch_is_scored_alone(batch):
    Q, K, W_q, W_k, v = draw(1, (*batch, 4, 3), (*batch, 5, 2), (3, 6), (2, 6), (6,))
    scores = additive_scores(Q, K, W_q, W_k, v)
    assert scores.shape == (*batch, 4, 5)
    for at in itertools.product(*map(range, batch)):
        assert_close(scores[at], additive_scores(Q[at], K[at], W_q, W_k, v), **EXACT)


def test_projecting_the_keys_beforehand_changes_nothing():
    Q, K, W_q, W_k, v = draw(2, (2, 4, 3), (2, 5, 2), (3, 6), (2, 6), (6,))
    once = combine_projected(Q @ W_q, K @ W_k, v)
    assert_close(once, additive_scores(Q, K, W_q, W_k, v), **EXACT)


@settings(max_examples=30)
@given(seed=st.integers(0, 2**31), sizes=st.tuples(*[st.integers(1, 5)] * 4))
def test_general_equals_the_written_out_formula(seed, sizes):
    t_q, t_k, d_q, d_k = sizes
    Q, K, W = draw(seed, (t_q, d_q), (t_k, d_k), (d_q, d_k))
    expected = [
        [sum(q[a] * W[a, b] * k[b] for a in range(d_q) for b in range(d_k)) for k in K] for q in Q
    ]
    assert_close(luong_scores(Q, K, W), torch.stack([torch.stack(r) for r in expected]), **EXACT)


def test_dot_is_general_with_the_identity():
    Q, K = draw(3, (2, 4, 3), (2, 5, 3))
    assert_close(luong_scores(Q, K), luong_scores(Q, K, torch.eye(3, dtype=Q.dtype)), **EXACT)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: additive_scores(r(2, 3), r(4, 5), r(7, 6), r(5, 6), r(6)), "W_q .*filas"),
        (lambda r: additive_scores(r(2, 3), r(4, 5), r(3, 6), r(6, 5), r(6)), "W_k.T"),
        (lambda r: additive_scores(r(2, 3), r(4, 5), r(3, 6), r(5, 7), r(6)), "mismo ancho d_a"),
        (lambda r: luong_scores(r(2, 3), r(4, 3), r(5, 3)), "W debe tener tantas filas"),
        (lambda r: luong_scores(r(2, 3), r(4, 5), r(3, 6)), "mismo ancho d_k"),
    ],
)
def test_widths_that_do_not_match_are_explained(as_user, call, words):
    with pytest.raises(ValueError, match=words):
        call(torch.randn)
