import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.training.batches import TokenBatches, endless, pad

sequences = st.lists(st.lists(st.integers(1, 50), max_size=12), min_size=1, max_size=40).filter(
    lambda rows: any(rows)
)


def numbered(lengths, seed=0):
    """Ejemplos (secuencia, secuencia, número) que se reconocen por su número."""
    return [([1] * n, [2] * max(1, n // 2), i) for i, n in enumerate(lengths)]


def ids_of(batches):
    return [batch[2].tolist() for batch in batches]


@given(sequences, st.integers(-100, 0))
def test_padding_fills_on_the_right_and_nothing_else(rows, pad_id):
    padded = pad(rows, pad_id)
    assert padded.dtype == torch.long and padded.shape == (len(rows), max(map(len, rows)))
    for row, ids in zip(padded.tolist(), rows, strict=True):
        assert row == ids + [pad_id] * (len(row) - len(ids))


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 9), st.booleans())
def test_every_example_once_per_pass(lengths, size, shuffle):
    batches = TokenBatches(numbered(lengths), batch_size=size, shuffle=shuffle)
    for _ in range(3):
        seen = ids_of(batches)
        assert sorted(itertools.chain(*seen)) == list(range(len(lengths)))
        assert len(seen) == len(batches) and max(map(len, seen)) <= size


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(30, 90))
def test_no_batch_goes_over_its_tokens(lengths, limit):
    batches = TokenBatches(numbered(lengths), batch_tokens=limit)
    seen = list(batches)
    assert sorted(itertools.chain(*ids_of(seen))) == list(range(len(lengths)))
    assert all(source.numel() <= limit for source, _, _ in seen)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=60), st.integers(1, 9))
def test_similar_lengths_go_together(lengths, size):
    batches = TokenBatches(numbered(lengths), batch_size=size)
    spans = sorted(sorted(lengths[i] for i in ids) for ids in ids_of(batches))
    for shorter, longer in itertools.pairwise(spans):
        assert shorter[-1] <= longer[0], "los lotes se solapan en longitud: sobra relleno"


@given(st.integers(0, 50), st.integers(0, 30))
@settings(max_examples=30)
def test_any_position_is_reached_directly(seed, start):
    lengths = [3 + i % 5 for i in range(23)]
    make = lambda: TokenBatches(numbered(lengths), batch_size=4, seed=seed)  # noqa: E731
    walked = make()
    whole = [ids for _ in range(6) for ids in ids_of(walked)]
    torch.randn(3)  # el azar de fuera no interviene
    jumped = ids_of(itertools.islice(make().stream(start), len(whole) - start))
    assert jumped == whole[start:]


def test_each_pass_and_each_seed_has_its_own_order():
    lengths = [5] * 30
    orders = [ids_of(TokenBatches(numbered(lengths), batch_size=4, seed=s)) for s in (0, 1)]
    assert orders[0] != orders[1]
    batches = TokenBatches(numbered(lengths), batch_size=4)
    first, second = ids_of(batches), ids_of(batches)
    assert first == orders[0] != second
    still = TokenBatches(numbered(lengths), batch_size=4, shuffle=False)
    assert ids_of(still) == ids_of(still)


def test_the_order_is_the_same_where_tensors_are_made_on_another_device():
    examples = [[1], [2, 2], [3, 3, 3], [4]]
    expected = [chosen.tolist() for chosen in TokenBatches(examples, batch_size=2).order(3)]
    with torch.device("meta"):
        batches = TokenBatches(examples, batch_size=2)
        assert [chosen.tolist() for chosen in batches.order(3)] == expected
        assert all(batch.is_meta for batch in batches)


def test_a_batch_has_the_structure_of_its_examples():
    (batch,) = TokenBatches([[1, 2, 3], (4, 5), torch.tensor([6])], batch_size=3, pad_id=9)
    assert batch.tolist() == [[6, 9, 9], [4, 5, 9], [1, 2, 3]]
    records = [([1, 2], 0, 0.5, torch.tensor(3)), ([7], True, 2, torch.tensor(4))]
    ids, label, number, scalar = next(iter(TokenBatches(records, batch_size=2, shuffle=False)))
    assert ids.tolist() == [[7, 0], [1, 2]]
    assert label.tolist() == [1, 0] and label.dtype == torch.long
    assert number.tolist() == [2, 0.5] and number.dtype == torch.float32
    assert scalar.tolist() == [4, 3]


def test_examples_may_come_one_by_one():
    batches = TokenBatches(([i] for i in range(5)), batch_size=2)
    assert sorted(torch.cat(list(batches)).flatten().tolist()) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TokenBatches([[1]]), "exactamente uno"),
        (lambda: TokenBatches([[1]], batch_size=2, batch_tokens=2), "exactamente uno"),
        (lambda: TokenBatches([[1]], batch_size=0), "positivo"),
        (lambda: TokenBatches([], batch_size=1), "ningun"),
        (lambda: TokenBatches([[1, 2, 3]], batch_tokens=2), "3 tokens y batch_tokens = 2"),
        (lambda: TokenBatches([([1], 2), ([1], [2])], batch_size=2), "mismos campos"),
        (lambda: TokenBatches([[0.5, 1.0]], batch_size=1), "enteros"),
        (lambda: TokenBatches([[[1], [2]]], batch_size=1), "enteros"),
        (lambda: TokenBatches(["sin tokenizar"], batch_size=1), r"tokenizer\.encode"),
        (lambda: pad([None], 0), "identificadores enteros y llegó None"),
        (lambda: pad([], 0), "ninguna"),
        (lambda: pad([[], []], 0), "ninguna"),
    ],
)
def test_misuse_is_explained(make, words):
    with pytest.raises(ValueError, match=words):
        make()


class Drawing:
    """Lotes que se sortean al recorrerlos, con el azar global de torch."""

    def __iter__(self):
        for _ in range(3):
            yield torch.rand(1).item()


@pytest.mark.parametrize("make", [lambda: [1, 2, 3, 4, 5], Drawing])
@pytest.mark.parametrize("start", [0, 1, 5, 12])
def test_what_is_not_ours_is_also_resumed(make, start):
    whole = list(itertools.islice(endless(make(), seed=3), 20))
    torch.rand(7)
    rest = list(itertools.islice(endless(make(), start=start, seed=3), 20 - start))
    assert rest == whole[start:]
    if make is Drawing:
        assert len(set(whole)) == 20
        assert whole != list(itertools.islice(endless(make(), seed=4), 20))


def test_the_batches_and_the_model_do_not_share_their_randomness():
    torch.manual_seed(5)
    alone = torch.rand(4).tolist()
    torch.manual_seed(5)
    stream, mixed = endless(Drawing(), seed=3), []
    for _ in range(4):
        next(stream)
        mixed.append(torch.rand(1).item())
    assert mixed == alone
