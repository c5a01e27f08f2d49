import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.layers.kv_cache import KeyValueCache


def chunk(t, batch=2):
    return torch.randn(2, batch, 3, t, 4, dtype=torch.float64)


@settings(max_examples=30)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.booleans())
def test_it_holds_everything_appended_in_order(lengths, gradient):
    with torch.set_grad_enabled(gradient):
        cache, chunks = KeyValueCache(), [chunk(t) for t in lengths]
        for K, V in chunks:
            cache = cache.append(K, V)
    K, V = torch.cat(chunks, -2)
    assert cache.length == sum(lengths)
    assert torch.equal(cache.K, K)
    assert torch.equal(cache.V, V)


@torch.no_grad()
def test_what_is_reserved_is_filled_without_moving_and_then_grows():
    (K, V), like = chunk(9), torch.empty(0, dtype=torch.float64)
    empty = KeyValueCache.reserved(like, 2, 3, 7, 4)
    place = empty.storage.tensor.data_ptr()
    cache = empty.append(K[..., :5, :], V[..., :5, :]).append(K[..., 5:7, :], V[..., 5:7, :])
    assert cache.storage.tensor.data_ptr() == place and cache.storage.tensor.dtype == like.dtype
    cache = cache.append(K[..., 7:, :], V[..., 7:, :])
    assert torch.equal(cache.K, K) and torch.equal(cache.V, V)
    assert empty.length == 0


@settings(max_examples=40)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 10**6), min_size=1, max_size=25))
def test_any_tree_of_branches_keeps_every_state(seed, choices):
    """Se continúa desde cualquier estado, con otras filas o menos posiciones: ninguno cambia."""
    torch.manual_seed(seed)
    states = [(KeyValueCache().append(*(start := chunk(3))), start)]
    with torch.no_grad():
        for choice in choices:
            cache, held = states[choice % len(states)]
            if choice % 3 == 0:
                rows = torch.randint(0, held.shape[1], (2,))
                states.append((cache.select(rows), held[:, rows]))
            elif choice % 3 == 1:
                kept = choice % 9
                states.append((cache.last(kept), held[..., max(held.shape[-2] - kept, 0) :, :]))
            else:
                new = chunk(1 + choice % 7)
                states.append((cache.append(*new), torch.cat([held, new], -2)))
    for cache, held in states:
        assert torch.equal(torch.stack([cache.K, cache.V]), held)


@torch.no_grad()
def test_appending_copies_little_and_shares_memory():
    """Mil posiciones, una a una: la memoria se muda pocas veces y lo copiado no crece como t²."""
    cache, moved, copied = KeyValueCache(), 0, 0
    K, V = chunk(1)
    for _ in range(1000):
        longer = cache.append(K, V)
        if longer.storage is not cache.storage:
            moved, copied = moved + 1, copied + cache.length
        cache = longer
    assert moved <= 7
    assert copied <= 2 * 1000


@torch.no_grad()
def test_what_is_forgotten_makes_room():
    """De diez en diez, con solo las últimas ocho: la memoria no crece y se muda pocas veces."""
    cache, moved = KeyValueCache(), 0
    for _ in range(100):
        longer = cache.append(*chunk(10)).last(8)
        moved, cache = moved + (longer.storage is not cache.storage), longer
    assert cache.storage.tensor.shape[-2] <= 40
    assert moved <= 50


@torch.no_grad()
def test_a_selection_is_continued_without_another_copy():
    selected = KeyValueCache().append(*chunk(5)).last(3).select(torch.tensor([1, 1]))
    assert selected.append(*chunk(1)).storage is selected.storage


def test_gradients_flow_through_the_cache():
    K, V = (X.requires_grad_() for X in chunk(5))
    cache = KeyValueCache()
    for K_part, V_part in zip(K.split(2, -2), V.split(2, -2), strict=True):
        cache = cache.append(K_part, V_part)
        (cache.K.square().sum() + cache.V.sum()).backward(retain_graph=True)
    visits = torch.tensor([3.0, 3, 2, 2, 1], dtype=torch.float64)[:, None]
    assert_close(K.grad, 2 * K * visits)
    assert_close(V.grad, visits.expand_as(V))


def test_a_cache_with_gradient_survives_what_follows_without_it():
    K, V = (X.requires_grad_() for X in chunk(2))
    cache = KeyValueCache().append(K, V)
    loss = cache.K.square().sum()
    with torch.no_grad():
        cache.append(*chunk(1))
    loss.backward()
    assert_close(K.grad, 2 * K)


def test_frozen_keys_do_not_move_under_a_query_that_learns():
    """Las claves no tienen gradiente, pero el de la consulta se calcula con ellas."""
    query = torch.ones(2, 3, 1, 4, dtype=torch.float64, requires_grad=True)
    cache = KeyValueCache.reserved(query, 2, 3, 8, 4).append(*chunk(2))
    scores = query @ cache.K.mT
    cache.append(*chunk(1))
    scores.sum().backward()
    assert_close(query.grad, cache.K.sum(-2, keepdim=True))


def test_a_cache_made_in_inference_mode_can_be_continued_outside():
    with torch.inference_mode():
        cache = KeyValueCache().append(*chunk(2))
    with torch.no_grad():
        assert cache.append(*chunk(1)).length == 3


def test_an_empty_cache_has_no_rows_to_select_and_says_it_is_empty(as_user):
    empty = KeyValueCache()
    assert empty.select(torch.tensor([0, 0])).length == 0
    with pytest.raises(ValueError, match="está vacía"):
        _ = empty.K


@pytest.mark.parametrize(
    ("K", "V", "message"),
    [
        ((5, 3, 1, 4), (5, 3, 1, 4), r"K: se esperaba.*\(2, 3, 2, 4\).*\(5, 3, 1, 4\).*select"),
        ((2, 3, 1, 4), (2, 3, 2, 4), r"V: se esperaba"),
        ((2, 3, 1, 6), (2, 3, 1, 6), r"K: se esperaba"),
    ],
)
def test_shapes_that_do_not_match_are_explained(as_user, K, V, message):
    cache = KeyValueCache().append(*chunk(2))
    with pytest.raises(ValueError, match=message):
        cache.append(torch.zeros(K), torch.zeros(V))
