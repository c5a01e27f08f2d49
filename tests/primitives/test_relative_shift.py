"""El desplazamiento relativo contra el bucle ingenuo sobre i − j."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.primitives.attention import causal_mask
from course_lib.primitives.relative_shift import relative_shift

SIZES = {"t_q": st.integers(1, 12), "memory": st.integers(0, 12)}


def naive(scores, t_q, t_k):
    """Para cada par visible, la puntuación de su distancia (i + m) − j."""
    S = scores.new_zeros(*scores.shape[:-2], t_q, t_k)
    for i in range(t_q):
        for j in range(t_k):
            distance = i + (t_k - t_q) - j
            if distance >= 0:
                S[..., i, j] = scores[..., i, t_k - distance]
    return S


@given(**SIZES, batch=st.lists(st.integers(1, 3), max_size=3))
def test_it_equals_the_loop_over_distances(t_q, memory, batch):
    t_k = t_q + memory
    scores = torch.randn(*batch, t_q, t_k + 1)
    shifted = relative_shift(scores).masked_fill(~causal_mask(t_q, t_k), 0.0)
    assert torch.equal(shifted, naive(scores, t_q, t_k)), "¿el desplazamiento sobra o falta en uno?"


@given(**SIZES, clamp=st.integers(1, 12))
def test_clamped_distances(t_q, memory, clamp):
    """Con tope, las distancias mayores son todas la misma: basta repetir su columna."""
    t_k = t_q + memory
    by_distance = torch.randn(t_q, t_k + 1)
    clamped = by_distance[:, torch.arange(t_k, -1, -1).clamp(max=clamp)]
    shifted = relative_shift(clamped)
    for i in range(t_q):
        for j in range(i + memory + 1):
            assert shifted[i, j] == by_distance[i, min(i + memory - j, clamp)]


@given(**SIZES)
def test_it_is_a_view(t_q, memory):
    scores = torch.randn(2, t_q, t_q + memory + 1)
    start = scores.data_ptr()
    assert start <= relative_shift(scores).data_ptr() < start + scores.numel() * 4, "se copió"


def test_the_future_holds_the_next_row_and_no_distance():
    scores = torch.arange(8.0).reshape(2, 4)
    assert relative_shift(scores).tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]


@given(**SIZES)
def test_the_gradient_reaches_each_distance_as_often_as_it_is_seen(t_q, memory):
    t_k = t_q + memory
    scores = torch.randn(t_q, t_k + 1, dtype=torch.float64, requires_grad=True)
    relative_shift(scores).masked_fill(~causal_mask(t_q, t_k), 0.0).sum().backward()
    distances = torch.arange(t_k, -1, -1)
    seen = distances <= (torch.arange(t_q)[:, None] + memory)
    assert_close(scores.grad, seen.double())


@pytest.mark.parametrize("shape", [(3, 3), (4, 2)])
def test_more_queries_than_keys_is_refused(as_user, shape):
    with pytest.raises(ValueError, match=r"t_k \+ 1"):
        relative_shift(torch.zeros(shape))
