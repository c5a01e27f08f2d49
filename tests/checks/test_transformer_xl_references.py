"""Las referencias de los ejercicios de Transformer-XL son lo que hace la biblioteca.

`checks` no importa `data` ni `training`; aquí se ve que dicen lo mismo. Lo que se afirma de un
modelo (hasta dónde llega, cuánto cuesta) se comprueba con un modelo.
"""

import math

import pytest
import torch

from course_lib.checks import transformer_xl
from course_lib.data.segments import TokenStream
from course_lib.layers.relative_attention import RelativeAttention
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig, remember
from course_lib.recording import attention_maps
from course_lib.training.language_modelling import perplexity


def cases_of(exercise):
    return exercise.cases(torch.Generator().manual_seed(5))


def test_the_segments_are_those_of_the_stream():
    for text, batch_size, length in cases_of(transformer_xl.SEGMENTS):
        stream = TokenStream(text, batch_size=batch_size, segment_length=length)
        found = transformer_xl.SEGMENTS.reference(text, batch_size, length)
        assert len(found) == len(stream)
        for (inputs, targets), segment in zip(found, stream, strict=True):
            assert torch.equal(inputs, segment[:, :-1])
            assert torch.equal(targets, segment[:, 1:])


def test_the_memory_is_updated_as_in_the_library():
    for states, memory, limit in cases_of(transformer_xl.UPDATE_MEMORY):
        for each in (states, memory):
            each.requires_grad_()
        after = remember(memory, states, limit)
        found = transformer_xl.UPDATE_MEMORY.reference(states, memory, limit)
        assert torch.equal(found, after)
        assert not found.requires_grad
        assert not after.requires_grad
        assert states.requires_grad, "los estados de quien llama siguen en el grafo"


def test_the_scores_are_those_of_the_library():
    for _, X, memory, R, W_q, W_k, W_r, u, v in cases_of(transformer_xl.SCORES):
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
        S = transformer_xl.SCORES.reference(X, memory, R, W_q, W_k, W_r, u, v)
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
    first = transformer_xl.FIRST_SEEN.reference(position, num_layers, memory_length, segment_length)
    assert int(matters.nonzero()[0]) == first


def test_the_perplexity_is_the_one_of_the_library():
    for (losses,) in cases_of(transformer_xl.PERPLEXITY):
        found = transformer_xl.PERPLEXITY.reference(losses)
        expected = [perplexity(column) for column in losses.T]
        torch.testing.assert_close(found, torch.tensor(expected))


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
    assert [window, remembering] == transformer_xl.COST.reference


def test_reading_with_enough_memory_is_reading_at_once():
    X, parameters, length, memory_length = cases_of(transformer_xl.READ)[-1]
    assert length < X.shape[1] <= memory_length
    arguments = (transformer_xl.READ.reference, X, parameters)
    (pieces,) = transformer_xl.READ.call(*arguments, length, memory_length).values()
    (whole,) = transformer_xl.READ.call(*arguments, X.shape[1], 0).values()
    torch.testing.assert_close(pieces, whole)


def read_with_the_library(X, layers, length, limit):
    """Las mismas capas, con la memoria de la biblioteca: la de cada una es lo que entró en ella."""
    memory, found = [X[:, :0]] * len(layers), []
    for h in X.split(length, dim=1):
        for number, layer in enumerate(layers):
            past, memory[number] = memory[number], remember(memory[number], h, limit)
            h = transformer_xl._layer(h, past, layer)
        found.append(h)
    return torch.cat(found, dim=1)


def test_reading_is_what_the_memory_of_the_library_does():
    for X, parameters, length, limit in cases_of(transformer_xl.READ):
        X.requires_grad_()
        expected = read_with_the_library(X, parameters, length, limit)
        arguments = (transformer_xl.READ.reference, X, parameters, length, limit)
        (found,) = transformer_xl.READ.call(*arguments).values()
        torch.testing.assert_close(found, expected)
        gradients = [torch.autograd.grad(H.square().sum(), X)[0] for H in (found, expected)]
        torch.testing.assert_close(*gradients)
