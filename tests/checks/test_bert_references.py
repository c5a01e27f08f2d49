"""Las referencias de los ejercicios de BERT son lo que hace la biblioteca.

`checks` no importa `data` ni `training`; aquí se ve que dicen lo mismo.
"""

import itertools

import pytest
import torch
from torch import nn

from course_lib.checks import bert
from course_lib.data.masking import IGNORED, Masking, join_pair
from course_lib.models.bert import (
    Bert,
    BertConfig,
    BertEmbedding,
    BertForMultipleChoice,
    BertForPreTraining,
    BertOutput,
)
from course_lib.training.pretraining import PreTrainingLoss


def cases_of(exercise):
    return exercise.cases(torch.Generator().manual_seed(5))


def small(**changes):
    """La configuración más pequeña, sin dropout."""
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1, "d_ff": 16, "dropout": 0.0}
    return BertConfig(**{"vocab_size": 30, **sizes, **changes})


def test_a_pair_is_joined_as_in_the_library():
    for n, m, max_length in itertools.product(range(1, 9), range(1, 9), range(5, 20)):
        first, second = list(range(10, 10 + n)), list(range(30, 30 + m))
        found = bert.JOIN_PAIR.reference(first, second, 2, 3, max_length)
        expected = join_pair(first, second, class_id=2, separator_id=3, max_length=max_length)
        assert found == expected, (n, m, max_length)


def test_the_embeddings_are_those_of_the_library():
    for tokens, segments, E, P, S, gain, shift, eps in cases_of(bert.EMBEDDINGS):
        config = small(vocab_size=len(E), d_model=E.shape[1], max_length=len(P), eps=eps)
        layer = BertEmbedding(config)
        with torch.no_grad():
            layer.tokens.table.weight.copy_(E)
            layer.tokens.position_table.copy_(P)
            layer.segments.weight.copy_(S)
            layer.norm.weight.copy_(gain)
            layer.norm.bias.copy_(shift)
            expected = layer(tokens, segments)
        found = bert.EMBEDDINGS.reference(tokens, segments, E, P, S, gain, shift, eps)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("sizes", "published"),
    [
        ((30_522, 768, 12, 3072, 512, 2), 109_482_240),
        ((30_522, 1024, 24, 4096, 512, 2), 335_141_888),
    ],
)
def test_the_parameters_are_the_published_ones(sizes, published):
    assert bert.PARAMETERS.reference(*sizes) == published


SPECIALS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def library_masking(special_ids, pad_id):
    """Un `Masking` de la biblioteca con los especiales en los números del caso."""
    names = iter(SPECIALS[1:])
    tokens = [f"t{i}" for i in range(100)]
    for number in special_ids:
        tokens[number] = "[PAD]" if number == pad_id else next(names)
    return Masking(tokens)


def test_as_many_tokens_are_chosen_as_in_the_library_and_never_a_special_one():
    for token_ids, special_ids, pad_id, draw in cases_of(bert.CHOOSE):
        masking = library_masking(special_ids, pad_id)
        found = bert.CHOOSE.reference(token_ids, special_ids, pad_id, draw)
        theirs = masking.choose(token_ids, torch.Generator().manual_seed(1))
        assert torch.equal(found.sum(-1), theirs.sum(-1))
        assert not (found & torch.isin(token_ids, torch.tensor(special_ids))).any()


def test_the_chosen_are_those_with_the_smallest_draw():
    for token_ids, special_ids, pad_id, draw in cases_of(bert.CHOOSE):
        chosen = bert.CHOOSE.reference(token_ids, special_ids, pad_id, draw)
        left = ~chosen & ~torch.isin(token_ids, torch.tensor(special_ids))
        largest_chosen = draw.masked_fill(~chosen, -1).amax(-1)
        assert bool((largest_chosen <= draw.masked_fill(~left, 2).amin(-1)).all())


def test_the_tokens_are_replaced_as_in_the_library():
    vocabulary = [*SPECIALS, *(f"t{i}" for i in range(95))]
    masking = Masking(vocabulary)
    token_ids = torch.randint(5, 100, (6, 40), generator=torch.Generator().manual_seed(2))
    masked, labels = masking(token_ids, torch.Generator().manual_seed(3))
    # El mismo azar, en el mismo orden en que lo gasta la biblioteca.
    rng = torch.Generator().manual_seed(3)
    chosen = masking.choose(token_ids, rng)
    draw = torch.rand(token_ids.shape, generator=rng)
    others = masking.ordinary[torch.randint(95, token_ids.shape, generator=rng)]
    found = bert.MASKING_BUG.reference(token_ids, chosen, draw, others, 4)
    assert torch.equal(found[0], masked)
    assert torch.equal(found[1], labels)


def test_the_head_is_the_one_of_the_library():
    for H, chosen, W, b, gain, shift, eps, E, c in cases_of(bert.PREDICT):
        model = BertForPreTraining(small(vocab_size=len(E), d_model=len(W), eps=eps))
        with torch.no_grad():
            model.transform.weight.copy_(W.T)
            model.transform.bias.copy_(b)
            model.norm.weight.copy_(gain)
            model.norm.bias.copy_(shift)
            model.bert.embedding.tokens.table.weight.copy_(E)
            model.bias.copy_(c)
            expected = model.decode(H[chosen])
        found = bert.PREDICT.reference(H, chosen, W, b, gain, shift, eps, E, c)
        torch.testing.assert_close(found, expected)


def test_the_loss_is_the_one_of_the_library():
    for logits, labels in cases_of(bert.MASKED_LOSS):

        def model(token_ids, *, positions, logits=logits):
            return logits[positions], None

        expected = PreTrainingLoss()(model, (labels, labels, labels[:, 0]))
        found = bert.MASKED_LOSS.reference(logits, labels)
        torch.testing.assert_close(found, expected)
        assert bool((labels == IGNORED).any())


class Reader(nn.Module):
    """Lo que lee `read` en el ejercicio, con la forma de un `Bert`."""

    def __init__(self, read, W, b):
        super().__init__()
        self.read, self.W, self.b = read, W, b

    def forward(self, token_ids, segment_ids, *, mask=None):
        H = self.read(token_ids, segment_ids)
        return BertOutput(H, torch.tanh(H[:, 0] @ self.W + self.b))


def test_the_options_are_scored_as_in_the_library():
    for token_ids, segment_ids, W, b, w, E, S in cases_of(bert.OPTIONS):
        model = BertForMultipleChoice(small(d_model=len(W), num_heads=1)).eval()
        model.bert = Reader(bert._reader(E, S), W, b)
        with torch.no_grad():
            model.output.weight.copy_(w[None])
            model.output.bias.fill_(2.0)
            expected = model(token_ids, segment_ids).softmax(-1)
        found = bert.OPTIONS.call(bert.OPTIONS.reference, token_ids, segment_ids, W, b, w, E, S)
        torch.testing.assert_close(found, expected)


def test_the_summary_is_the_one_of_the_library():
    torch.manual_seed(4)
    model = Bert(small()).eval()
    token_ids, segment_ids = torch.randint(1, 30, (2, 3, 6)), torch.zeros(2, 3, 6, dtype=torch.long)
    w = torch.randn(8)
    found = bert.OPTIONS.reference(
        lambda *inputs: model(*inputs).states,
        token_ids,
        segment_ids,
        model.pooler.weight.T,
        model.pooler.bias,
        w,
    )
    pooled = model(token_ids.flatten(0, 1), segment_ids.flatten(0, 1)).pooled
    torch.testing.assert_close(found, (pooled @ w).view(2, 3).softmax(-1))


def test_the_best_span_is_the_best_of_all_by_trying_each():
    for start, end, candidates, longest in cases_of(bert.BEST_SPAN):
        found = bert.BEST_SPAN.reference(start, end, candidates, longest)
        t = start.shape[1]
        for row in range(len(start)):
            inside = [i for i in range(t) if candidates[row, i]]
            pairs = [(i, j) for i in inside for j in inside if i <= j < i + longest]
            best = max(pairs, key=lambda pair: float(start[row, pair[0]] + end[row, pair[1]]))
            assert tuple(found[row].tolist()) == best


def test_every_word_has_its_label_on_its_first_piece():
    for pieces, tags in cases_of(bert.TAGS):
        labels = bert.TAGS.reference(pieces, tags)
        assert [label for label in labels if label != IGNORED] == tags
        words = " ".join(pieces).replace(" ##", "##").split()
        assert len([word for word in words if word not in SPECIALS or word == "[UNK]"]) == len(tags)
        labelled = [p for p, label in zip(pieces, labels, strict=True) if label != IGNORED]
        assert not any(piece.startswith("##") for piece in labelled)


def test_the_features_come_from_the_blocks_of_a_model():
    torch.manual_seed(6)
    model = Bert(small(num_layers=5)).eval()
    output = model(torch.randint(1, 30, (2, 7)), need_hidden=True)
    hidden = list(output.hidden)
    get = bert.FEATURES.reference
    assert torch.equal(get(hidden, "last"), output.states)
    assert torch.equal(model.blocks[-1](get(hidden, "second_to_last")), output.states)
    torch.testing.assert_close(get(hidden, "sum"), sum(output.hidden) - output.hidden[0])
    assert torch.equal(get(hidden, "last_four").split(8, -1)[0], output.hidden[2])
    assert torch.equal(get(hidden, "last_four").split(8, -1)[3], output.states)
