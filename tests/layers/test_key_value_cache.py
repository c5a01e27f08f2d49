import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.fast.reserved_cache import ReservedCache
from course_lib.layers.multi_head_attention import KeyValueCache

every_cache = pytest.mark.parametrize("Cache", [KeyValueCache, ReservedCache])


def chunk(t, batch=2):
    return torch.randn(2, batch, 3, t, 4, dtype=torch.float64)


def appended(cache, K, V):
    """Otra caché, más larga; la de antes se queda como estaba."""
    longer = cache.copy()
    found = longer.append(K, V)
    assert torch.equal(found[0], longer.K) and torch.equal(found[1], longer.V)
    return longer


@every_cache
@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.booleans())
def test_it_holds_everything_appended_in_order(Cache, lengths, gradient):
    with torch.set_grad_enabled(gradient):
        cache, chunks = Cache(), [chunk(t) for t in lengths]
        for each in chunks:
            cache.append(*each)
    K, V = torch.cat(chunks, -2)
    assert cache.length == sum(lengths)
    assert torch.equal(cache.K, K)
    assert torch.equal(cache.V, V)


@every_cache
@settings(max_examples=30)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 10**6), min_size=1, max_size=25))
def test_any_tree_of_branches_keeps_every_state(Cache, seed, choices):
    """Se continúa desde cualquier estado, con otras filas o menos posiciones: ninguno cambia."""
    torch.manual_seed(seed)
    states = [(appended(Cache(), *(start := chunk(3))), start)]
    with torch.no_grad():
        for choice in choices:
            cache, held = states[choice % len(states)]
            if choice % 3 == 0:
                rows = torch.randint(0, held.shape[1], (2,))
                states.append((cache.select(rows), held[:, rows]))
            elif choice % 3 == 1 and Cache is ReservedCache:
                kept = choice % 9
                states.append((cache.last(kept), held[..., max(held.shape[-2] - kept, 0) :, :]))
            else:
                new = chunk(1 + choice % 7)
                states.append((appended(cache, *new), torch.cat([held, new], -2)))
    for cache, held in states:
        assert torch.equal(torch.stack([cache.K, cache.V]), held)


@every_cache
def test_gradients_flow_through_the_cache(Cache):
    K, V = (X.requires_grad_() for X in chunk(5))
    cache = Cache()
    for K_part, V_part in zip(K.split(2, -2), V.split(2, -2), strict=True):
        cache.append(K_part, V_part)
        (cache.K.square().sum() + cache.V.sum()).backward(retain_graph=True)
    visits = torch.tensor([3.0, 3, 2, 2, 1], dtype=torch.float64)[:, None]
    assert_close(K.grad, 2 * K * visits)
    assert_close(V.grad, visits.expand_as(V))


@every_cache
def test_a_cache_with_gradient_survives_what_follows_without_it(Cache):
    K, V = (X.requires_grad_() for X in chunk(2))
    cache = appended(Cache(), K, V)
    loss = cache.K.square().sum()
    with torch.no_grad():
        cache.append(*chunk(1))
    loss.backward()
    assert_close(K.grad, 2 * K)


@every_cache
def test_a_cache_made_in_inference_mode_can_be_continued_outside(Cache):
    with torch.inference_mode():
        cache = appended(Cache(), *chunk(2))
    with torch.no_grad():
        assert appended(cache, *chunk(1)).length == 3


@every_cache
def test_an_empty_cache_has_no_rows_to_select(Cache):
    assert Cache().select(torch.tensor([0, 0])).length == 0
