import pytest
import torch
from torch.testing import assert_close

from course_lib.fast.reserved_cache import ReservedCache


def chunk(t, batch=2):
    return torch.randn(2, batch, 3, t, 4, dtype=torch.float64)


def appended(cache, K, V):
    longer = cache.copy()
    longer.append(K, V)
    return longer


@torch.no_grad()
def test_what_is_reserved_is_filled_without_moving_and_then_grows():
    (K, V), like = chunk(9), torch.empty(0, dtype=torch.float64)
    empty = ReservedCache.reserved(like, 2, 3, 7, 4)
    place = empty.storage.tensor.data_ptr()
    cache = appended(empty, K[..., :5, :], V[..., :5, :])
    cache.append(K[..., 5:7, :], V[..., 5:7, :])
    assert cache.storage.tensor.data_ptr() == place and cache.storage.tensor.dtype == like.dtype
    cache.append(K[..., 7:, :], V[..., 7:, :])
    assert torch.equal(cache.K, K) and torch.equal(cache.V, V)
    assert empty.length == 0


@torch.no_grad()
def test_appending_copies_little_and_shares_memory():
    """Mil posiciones, una a una: la memoria se muda pocas veces y lo copiado no crece como t²."""
    cache, moved, copied = ReservedCache(), 0, 0
    K, V = chunk(1)
    for _ in range(1000):
        longer = appended(cache, K, V)
        if longer.storage is not cache.storage:
            moved, copied = moved + 1, copied + cache.length
        cache = longer
    assert moved <= 7
    assert copied <= 2 * 1000


@torch.no_grad()
def test_what_is_forgotten_makes_room():
    """De diez en diez, con solo las últimas ocho: la memoria no crece y se muda pocas veces."""
    cache, moved = ReservedCache(), 0
    for _ in range(100):
        longer = appended(cache, *chunk(10)).last(8)
        moved, cache = moved + (longer.storage is not cache.storage), longer
    assert cache.storage.tensor.shape[-2] <= 40
    assert moved <= 50


@torch.no_grad()
def test_a_selection_is_continued_without_another_copy():
    selected = appended(ReservedCache(), *chunk(5)).last(3).select(torch.tensor([1, 1]))
    assert appended(selected, *chunk(1)).storage is selected.storage


def test_frozen_keys_do_not_move_under_a_query_that_learns():
    """Las claves no tienen gradiente, pero el de la consulta se calcula con ellas."""
    query = torch.ones(2, 3, 1, 4, dtype=torch.float64, requires_grad=True)
    cache = appended(ReservedCache.reserved(query, 2, 3, 8, 4), *chunk(2))
    scores = query @ cache.K.mT
    appended(cache, *chunk(1))
    scores.sum().backward()
    assert_close(query.grad, cache.K.sum(-2, keepdim=True))


@pytest.mark.parametrize(
    ("K", "V", "message"),
    [
        ((5, 3, 1, 4), (5, 3, 1, 4), r"K: se esperaba.*\(2, 3, 2, 4\).*\(5, 3, 1, 4\).*select"),
        ((2, 3, 1, 4), (2, 3, 2, 4), r"V: se esperaba"),
        ((2, 3, 1, 6), (2, 3, 1, 6), r"K: se esperaba"),
    ],
)
def test_shapes_that_do_not_match_are_explained(as_user, K, V, message):
    cache = appended(ReservedCache(), *chunk(2))
    with pytest.raises(ValueError, match=message):
        cache.append(torch.zeros(K), torch.zeros(V))


def test_an_empty_cache_says_it_is_empty():
    with pytest.raises(ValueError, match="está vacía"):
        _ = ReservedCache().K
