import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib import fast
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.training.language_modelling import (
    context_losses,
    effective_context,
    perplexity,
    segment_losses,
    sliding_losses,
)

VOCAB = 7


class Reader(nn.Module):
    """Dos capas que miran atrás con memoria de `reach` estados: cada una, una media que decae."""

    def __init__(self, reach=100, dropout=0.0, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(VOCAB, 6, dtype=dtype)
        self.layers = nn.ModuleList(nn.Linear(6, 6, dtype=dtype) for _ in range(2))
        self.out = nn.Linear(6, VOCAB, dtype=dtype)
        self.dropout, self.reach, self.calls = nn.Dropout(dropout), reach, []

    def forward(self, token_ids, memory=None):
        self.calls.append(tuple(token_ids.shape))
        H, kept = self.dropout(self.embedding(token_ids)), []
        for i, layer in enumerate(self.layers):
            seen = H if memory is None else torch.cat((memory[i], H), 1)
            kept.append(seen[:, max(0, seen.shape[1] - self.reach) :].detach())
            H = torch.tanh(layer(self.mix(seen))[:, -token_ids.shape[1] :] + H)
        return self.out(H), kept

    def mix(self, seen):
        t = seen.shape[1]
        ages = torch.arange(t)[:, None] - torch.arange(t)
        return ((ages >= 0) * 0.8 ** ages.clamp(min=0)).to(seen) @ seen


def documents(*lengths, seed=0):
    rng = torch.Generator().manual_seed(seed)
    return [torch.randint(1, VOCAB, (n,), generator=rng) for n in lengths]


def batch_of(*lengths):
    return nn.utils.rnn.pad_sequence(documents(*lengths), batch_first=True)


def whole_losses(model, document):
    """−log P de cada token, con una sola pasada por el documento."""
    log_p = model(document[None, :-1])[0].log_softmax(-1)[0]
    return -log_p[torch.arange(len(document) - 1), document[1:]]


# La evaluación


@given(st.lists(st.integers(2, 14), min_size=1, max_size=4), st.integers(1, 15))
@settings(max_examples=30)
def test_evaluation_with_enough_memory_is_one_full_pass(lengths, segment_length):
    model, batch = Reader(), batch_of(*lengths)
    found = segment_losses(model, batch, segment_length=segment_length, pad_id=0)
    assert found.shape == (len(lengths), max(lengths) - 1)
    for row, document in zip(found, documents(*lengths), strict=True):
        expected = whole_losses(model, document)
        assert_close(row[: len(expected)], expected, rtol=0, atol=1e-10)
        assert row[len(expected) :].isnan().all(), "el relleno no tiene pérdida"


def test_evaluation_starts_with_the_memory_it_is_given():
    model, (text,) = Reader(), documents(20)
    _, memory = model(text[None, :9])
    found = segment_losses(model, text[None, 9:], segment_length=4, memory=memory)
    assert_close(found[0], whole_losses(model, text)[9:], rtol=0, atol=1e-10)


@given(st.integers(2, 16), st.integers(1, 18), st.integers(1, 7))
@settings(max_examples=30)
def test_the_sliding_window_is_the_naive_loop(t, context, windows):
    model, batch = Reader(), torch.stack(documents(t, t))
    found = sliding_losses(model, batch, context=context, windows=windows)
    for row, document in zip(found, batch, strict=True):
        for i in range(t - 1):
            window = document[max(0, i - context + 1) : i + 2]
            expected = whole_losses(model, window)[-1]
            assert_close(row[i], expected, rtol=0, atol=1e-10, msg=f"posición {i}")


def test_the_sliding_window_never_uses_memory_nor_more_windows_than_asked():
    model, batch = Reader(reach=1), torch.stack(documents(12, 12))
    found = sliding_losses(model, batch, context=5, windows=4)
    assert_close(found, sliding_losses(Reader(reach=100), batch, context=5))
    assert model.calls[0] == (2, 5) and set(model.calls[1:-1]) == {(4, 5)}
    assert sum(rows for rows, _ in model.calls[1:]) == 2 * 6


def test_the_sliding_window_hides_padding():
    found = sliding_losses(Reader(), batch_of(9, 4), context=3, pad_id=0)
    assert found[0].isfinite().all() and found[1].isnan().tolist() == [False] * 3 + [True] * 5


def test_with_one_layer_memory_and_window_of_the_same_reach_see_the_same():
    """Con una capa, un token de la memoria es solo él: no trae pasado más viejo."""

    class Windowed(Reader):
        def mix(self, seen):
            ages = torch.arange(seen.shape[1])[:, None] - torch.arange(seen.shape[1])
            return ((ages >= 0) & (ages < 4)).to(seen) @ seen

    model, batch = Windowed(reach=4), torch.stack(documents(15, 15))
    del model.layers[1]
    sliding = sliding_losses(model, batch, context=4)
    assert_close(segment_losses(model, batch, segment_length=5), sliding, rtol=0, atol=1e-10)
    two = Windowed(reach=4)
    assert not torch.allclose(
        segment_losses(two, batch, segment_length=5), sliding_losses(two, batch, context=4)
    ), "con dos capas, la memoria llega más lejos que la ventana"


def transformer_xl(num_layers, memory_length, **changes):
    torch.manual_seed(0)
    config = TransformerXLConfig(
        VOCAB, d_model=8, num_heads=2, num_layers=num_layers, d_ff=12, memory_length=memory_length,
        **changes,
    )  # fmt: skip
    return TransformerXL(config).double().eval()


@pytest.mark.parametrize("segment_length", [1, 4, 30])
@pytest.mark.parametrize("changes", [{}, {"cutoffs": (3,), "div_val": 2}])
def test_a_transformer_xl_reads_by_segments_what_it_would_read_at_once(segment_length, changes):
    model, batch = transformer_xl(3, 40, **changes), torch.stack(documents(23, 23))
    whole = [whole_losses(model, document) for document in batch]
    for reader in (model, fast.frozen(model)):
        found = segment_losses(reader, batch, segment_length=segment_length)
        assert_close(found, torch.stack(whole), rtol=0, atol=1e-10)


def test_with_one_layer_and_same_length_memory_is_the_sliding_window():
    batch = torch.stack(documents(25, 25))
    model = transformer_xl(1, 6, same_length=True)
    sliding = sliding_losses(model, batch, context=6)
    for reader in (model, fast.frozen(model)):
        found = segment_losses(reader, batch, segment_length=4)
        assert_close(found, sliding, rtol=0, atol=1e-10)


def test_the_memory_given_at_the_start_sets_how_far_a_context_reaches():
    model, batch = transformer_xl(2, 40), torch.stack(documents(20, 20))
    scored = torch.tensor([18, 16])
    short, long = (
        context_losses(
            model, batch, scored, context=15, segment_length=3, memory=model.start(length)
        )
        for length in (2, 30)
    )
    whole = context_losses(model, batch, scored, context=15)
    assert_close(long, whole, rtol=0, atol=1e-10)
    assert not torch.allclose(short, whole)


@pytest.mark.parametrize("segment_length", [None, 2, 5])
def test_a_context_is_exactly_that_many_tokens(segment_length):
    model, batch = Reader(), torch.stack(documents(14, 14))
    scored = torch.tensor([12, 5, 9])
    found = context_losses(
        model, batch, scored, context=6, segment_length=segment_length, windows=4
    )
    for row, document in zip(found, batch, strict=True):
        expected = [whole_losses(model, document[i - 5 : i + 2])[-1] for i in scored.tolist()]
        assert_close(row, torch.stack(expected), rtol=0, atol=1e-10)


def test_a_short_memory_forgets_the_start_of_the_context():
    batch, scored = torch.stack(documents(14, 14)), torch.tensor([12])
    changed = batch.clone()
    changed[:, 3] = batch[:, 3] % (VOCAB - 1) + 1
    for reach, forgets in ((1, True), (100, False)):
        model = Reader(reach)
        del model.layers[1]
        found, other = (
            context_losses(model, ids, scored, context=10, segment_length=2)
            for ids in (batch, changed)
        )
        assert torch.equal(found, other) is forgets


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        ([3.0, 2.0, 1.5, 1.4999, 1.4999], 4),
        ([3.0, 2.0, 1.5, 1.5, 1.0], 16),  # una mejora tardía también cuenta
        ([1.0, 1.1, 1.2, 1.3, 1.4], 1),
        ([3.0, 2.0, 1.5, 1.495, 1.489], 8),  # 1.1 % en dos pasos: contra todos, no solo el próximo
    ],
)
def test_effective_context(losses, expected):
    assert effective_context([1, 2, 4, 8, 16], losses) == expected


def test_a_larger_gain_asks_for_less_context():
    losses = [3.0, 2.0, 1.5, 1.4, 1.38]
    found = [effective_context([1, 2, 4, 8, 16], losses, gain=g) for g in (0.001, 0.05, 0.2, 0.9)]
    assert found == [16, 8, 4, 1] and found == sorted(found, reverse=True)


def test_perplexity_is_the_exponential_of_the_mean_without_padding():
    losses = torch.tensor([[1.0, 3.0], [2.0, math.nan]])
    assert perplexity(losses) == pytest.approx(math.e**2)
    assert perplexity(torch.full((3,), math.log(VOCAB))) == pytest.approx(VOCAB)


def test_evaluation_keeps_no_graph_and_half_precision_is_summed_in_float32():
    model = Reader(dtype=torch.float32)
    batch = torch.stack(documents(9, 9))
    for found in (
        segment_losses(model, batch, segment_length=4),
        sliding_losses(model, batch, context=4),
    ):
        assert not found.requires_grad and found.dtype == torch.float32
    model.bfloat16()
    assert segment_losses(model, batch, segment_length=4).dtype == torch.float32


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda m, x: context_losses(m, x, torch.tensor([3]), context=5), "entre 4 y 7"),
        (lambda m, x: context_losses(m, x, torch.tensor([8]), context=5), "entre 4 y 7"),
        (lambda m, x: context_losses(m, x, torch.tensor([3]), context=0), "context"),
        (lambda m, x: context_losses(m, x, torch.arange(0), context=2), "ninguna"),
        (lambda m, x: segment_losses(m, x[:, :1], segment_length=2), "al menos dos tokens"),
        (lambda m, x: sliding_losses(m, x, context=0), "positivo"),
        (lambda m, x: effective_context([2, 1], [1.0, 2.0]), "de menor a mayor"),
        (lambda m, x: effective_context([1, 2], [1.0]), "1 pérdidas"),
    ],
)
def test_misuse_is_explained(make, words):
    with pytest.raises(ValueError, match=words):
        make(Reader(), torch.stack(documents(9)))
