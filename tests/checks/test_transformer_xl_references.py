"""Lo que los ejercicios de Transformer-XL afirman de un modelo se comprueba con un modelo."""

import math

import pytest
import torch

from course_lib.judging.check import find_exercise
from course_lib.layers.relative_attention import RelativeAttention
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.recording import attention_maps


def cases_of(name):
    return find_exercise(name).cases(torch.Generator().manual_seed(5))


def reference(name):
    return find_exercise(name).reference


def test_the_scores_are_those_of_the_library():
    for _, X, memory, R, W_q, W_k, W_r, u, v in cases_of("transformer_xl.scores"):
        d, d_k = W_q.shape
        heads = d // d_k  # todas iguales: se mira la primera
        layer = RelativeAttention(d, heads)
        with torch.no_grad():
            W_v = torch.eye(d)
            layer.W_qkv.weight.copy_(
                torch.cat([W_q.T.repeat(heads, 1), W_k.T.repeat(heads, 1), W_v])
            )
            layer.W_r.weight.copy_(W_r.T.repeat(heads, 1))
            layer.u.copy_(u)
            layer.v.copy_(v)
            with attention_maps(layer) as maps:
                layer(X, torch.cat([memory, X], dim=1))
            A = maps[0]
        S = reference("transformer_xl.scores")(X, memory, R, W_q, W_k, W_r, u, v)
        torch.testing.assert_close(torch.softmax(S, dim=-1), A[:, 0])
        assert torch.equal(S.isneginf(), A[:, 0] == 0)


def small_model(num_layers, memory_length):
    torch.manual_seed(2)
    config = TransformerXLConfig(
        7, d_model=8, num_heads=2, num_layers=num_layers, d_ff=16, memory_length=memory_length
    )
    return TransformerXL(config).double().eval()


@torch.no_grad()
def logits_by_segments(model, token_ids, segment_length):
    memory, found = None, []
    for segment in token_ids.split(segment_length, dim=1):
        logits, memory = model(segment, memory)
        found.append(logits)
    return torch.cat(found, dim=1)


@pytest.mark.parametrize(
    ("position", "num_layers", "memory_length", "segment_length"),
    [(19, 2, 4, 4), (19, 2, 2, 4), (18, 3, 3, 4), (17, 2, 6, 4), (8, 3, 5, 3), (13, 2, 0, 5)],
)
def test_a_model_sees_as_far_as_the_exercise_says(
    position, num_layers, memory_length, segment_length
):
    model = small_model(num_layers, memory_length)
    token_ids = torch.randint(0, 7, (1, position + 1), generator=torch.Generator().manual_seed(3))
    # Una fila por token cambiado; la primera, sin cambios.
    changed = token_ids.repeat(position + 2, 1)
    changed[1:].diagonal().copy_((changed[1:].diagonal() + 1) % 7)
    logits = logits_by_segments(model, changed, segment_length)[:, position]
    matters = (logits[1:] - logits[0]).abs().amax(dim=-1) > 1e-12
    first = reference("transformer_xl.first_seen")(
        position, num_layers, memory_length, segment_length
    )
    assert int(matters.nonzero()[0]) == first


def scores_per_token(model, num_tokens, predicted, memory=None):
    """Cuántas puntuaciones calcula una cabeza al pasar un segmento, por token que predice."""
    token_ids = torch.zeros(1, num_tokens, dtype=torch.long)
    with torch.no_grad(), attention_maps(model) as weights:
        model(token_ids, memory)
    return math.prod(weights[0].shape[-2:]) / predicted


def test_the_cost_is_the_one_of_a_model():
    model = small_model(1, 512)
    window = scores_per_token(model, 640, predicted=1)
    with torch.no_grad():
        _, memory = model(torch.zeros(1, 512, dtype=torch.long))
    remembering = scores_per_token(model, 128, predicted=128, memory=memory)
    assert [window, remembering] == reference("transformer_xl.cost")


def test_reading_with_enough_memory_is_reading_at_once():
    X, parameters, length, memory_length = cases_of("transformer_xl.read")[-1]
    assert length < X.shape[1] <= memory_length
    arguments = (reference("transformer_xl.read"), X, parameters)
    (pieces,) = (
        find_exercise("transformer_xl.read").call(*arguments, length, memory_length).values()
    )
    (whole,) = find_exercise("transformer_xl.read").call(*arguments, X.shape[1], 0).values()
    torch.testing.assert_close(pieces, whole)
