"""La incrustación y la salida adaptativas contra la definición, palabra por palabra."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.layers.adaptive_softmax import AdaptiveEmbedding, AdaptiveSoftmax

EXACT = {"rtol": 1e-10, "atol": 1e-10}
CASES = pytest.mark.parametrize(
    "options",
    [
        {},
        {"d_embed": 4},
        {"cutoffs": (5,)},
        {"cutoffs": (5, 9), "div_val": 2},
        {"cutoffs": (1, 2, 29), "div_val": 2, "d_embed": 16},
        {"cutoffs": (5, 9), "d_embed": 4},
    ],
    ids=str,
)


def pair(tie_projections=True, **options):
    embedding = AdaptiveEmbedding(30, 8, **options)
    output = AdaptiveSoftmax(embedding, tie_projections=tie_projections)
    for parameter in (*embedding.parameters(), *output.parameters()):
        nn.init.normal_(parameter)
    return embedding.double(), output.double()


def group_of(token, embedding):
    c = sum(token >= end for end in embedding.ends[1:-1])
    return c, token - embedding.ends[c]


@CASES
@torch.no_grad()
def test_each_token_comes_from_the_table_of_its_group(options):
    embedding, _ = pair(**options)
    token_ids = torch.arange(30).reshape(2, 15)
    x = embedding(token_ids).flatten(0, 1)
    for token in range(30):
        c, row = group_of(token, embedding)
        vector = embedding.tables[c].weight[row]
        if embedding.projections:
            vector = embedding.projections[c].weight @ vector
        assert_close(x[token], math.sqrt(8) * vector, **EXACT)


@CASES
@pytest.mark.parametrize("tie", [True, False])
@torch.no_grad()
def test_the_probability_of_each_word(options, tie):
    """P(w) = P(grupo) · P(w | grupo), con un softmax escrito a mano para cada grupo."""
    embedding, output = pair(tie, **options)
    h = torch.randn(1, 2, 8, dtype=torch.float64)
    P = output(h, embedding).softmax(-1)[0]
    for position in range(2):
        logits = [in_group(c, h[0, position], embedding, output) for c in range(len(output.biases))]
        head = logits[0]
        if output.groups is not None:
            z = project(0, h[0, position], embedding, output)
            head = torch.cat([head, output.groups.weight @ z + output.groups.bias])
        head = head.softmax(-1)
        expected = [head[: len(logits[0])]]
        for c in range(1, len(logits)):
            expected.append(head[len(logits[0]) + c - 1] * logits[c].softmax(-1))
        assert_close(P[position], torch.cat(expected), **EXACT)


def project(c, h, embedding, output):
    if not embedding.projections:
        return h
    home = output if c < len(output.projections) else embedding
    return home.projections[c].weight.T @ h


def in_group(c, h, embedding, output):
    return embedding.tables[c].weight @ project(c, h, embedding, output) + output.biases[c]


@CASES
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31))
def test_the_loss_is_minus_the_log_probability(options, seed):
    torch.manual_seed(seed)
    embedding, output = pair(**options)
    h = torch.randn(2, 7, 8, dtype=torch.float64, requires_grad=True)
    targets = torch.randint(30, (2, 7))
    log_p = output(h, embedding).log_softmax(-1)
    expected = -log_p.gather(-1, targets[..., None])[..., 0]
    nll = output.nll(h, targets, embedding)
    assert_close(nll, expected, **EXACT)
    (grad,) = torch.autograd.grad(nll.square().sum(), h)
    assert_close(grad, torch.autograd.grad(expected.square().sum(), h)[0], **EXACT)


@CASES
def test_sixteen_bits(options):
    """Ni autocast ni los pesos en bfloat16 redondean log P a dos cifras."""
    embedding, output = (layer.float() for layer in pair(**options))
    for parameter in output.parameters():
        parameter.data /= 4
    token_ids = torch.randint(30, (2, 7), dtype=torch.int32)
    expected = output.nll(embedding(token_ids), token_ids, embedding)
    with torch.autocast("cpu", torch.bfloat16):
        x = embedding(token_ids)
        nll = output.nll(x, token_ids, embedding)
    half, narrow = embedding.bfloat16(), output.bfloat16()
    for found in (nll, narrow.nll(half(token_ids), token_ids, half)):
        assert found.dtype == torch.float32
        assert_close(found, expected, rtol=0.05, atol=0.3)
    assert narrow(half(token_ids), half).dtype == torch.bfloat16


def test_rare_groups_are_computed_only_where_needed(monkeypatch):
    embedding, output = pair(cutoffs=(5, 9), div_val=2)
    rows, scores = [], output._scores
    monkeypatch.setattr(
        output, "_scores", lambda c, h, e: (rows.append((c, len(h))), scores(c, h, e))[1]
    )
    targets = torch.tensor([[0, 7, 3, 29, 8]])
    output.nll(torch.randn(1, 5, 8, dtype=torch.float64), targets, embedding)
    assert rows == [(1, 2), (2, 1)]


def test_projections_are_shared_except_the_first():
    counts = {}
    for tie in (True, False):
        _, output = pair(tie, cutoffs=(5, 9), div_val=2)
        counts[tie] = [projection.in_features for projection in output.projections]
    assert counts == {True: [8], False: [8, 4, 2]}
    embedding, _ = pair(cutoffs=(5, 9), d_embed=4)
    assert len(set(embedding.projections)) == 1, "tablas del mismo ancho: una sola proyección"


def test_the_start_is_of_unit_variance():
    embedding = AdaptiveEmbedding(3000, 64, cutoffs=(1000, 2000), div_val=2)
    for group in range(3):
        x = embedding(torch.arange(1000)[None] + 1000 * group)
        assert 0.9 < x.std() < 1.1


@pytest.mark.parametrize(
    "options, message",
    [
        ({"cutoffs": (9, 5)}, "cutoffs: se esperaban cortes crecientes"),
        ({"cutoffs": (30,)}, "cutoffs: se esperaban cortes crecientes"),
        ({"cutoffs": (0,)}, "cutoffs: se esperaban cortes crecientes"),
        ({"cutoffs": (5, 9), "div_val": 4}, r"d_embed // div_val\*\*2: .* llegó 0"),
        ({"div_val": 0}, "div_val: se esperaba un entero positivo"),
    ],
)
def test_bad_arguments(as_user, options, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveEmbedding(30, 8, **options)


def test_tokens_out_of_the_vocabulary(as_user):
    embedding, output = pair(cutoffs=(5,))
    with pytest.raises(ValueError, match="token_ids: se esperaban identificadores entre 0 y 29"):
        embedding(torch.tensor([[30]]))
    with pytest.raises(ValueError, match="targets: se esperaban identificadores entre 0 y 29"):
        output.nll(torch.zeros(1, 1, 8).double(), torch.tensor([[-1]]), embedding)
