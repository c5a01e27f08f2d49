"""La atención relativa contra un bucle sobre pares, término a término."""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.fast.keys_values import keys_values
from course_lib.layers.multi_head_attention import KeyValueCache, MultiHeadAttention
from course_lib.layers.relative_attention import RelativeAttention
from course_lib.primitives.attention import causal_mask
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = {"t": st.integers(1, 7), "memory": st.integers(0, 7)}


def layer(d_model=12, heads=3, **options):
    """Una capa con todo al azar, también u y v, que comienzan en cero."""
    attention = RelativeAttention(d_model, heads, **options).double()
    for parameter in attention.parameters():
        nn.init.normal_(parameter)
    return attention


def inputs(t, memory, batch=2, d_model=12):
    seen = torch.randn(batch, memory + t, d_model, dtype=torch.float64)
    return seen[:, memory:], seen


def position(distance, d_model):
    """PE de una distancia, con la fórmula del artículo escrita otra vez."""
    angles = [distance / 10_000 ** (2 * (c // 2) / d_model) for c in range(d_model)]
    values = [math.sin(a) if c % 2 == 0 else math.cos(a) for c, a in enumerate(angles)]
    return torch.tensor(values, dtype=torch.float64)


def slow_weights(attention, x, seen):
    """Los pesos, con un bucle sobre consultas y claves y los cuatro términos por separado."""
    W_q, W_k, _ = attention.W_qkv.weight.chunk(3)
    heads, d_k = attention.num_heads, attention.d_model // attention.num_heads
    u, v = attention.u, attention.v
    t, t_k = x.shape[1], seen.shape[1]
    S = torch.full((len(x), heads, t, t_k), -math.inf, dtype=torch.float64)
    for i in range(t):
        for j in range(t_k - t + i + 1):
            distance = i + t_k - t - j
            if attention.clamp_length is not None:
                distance = min(distance, attention.clamp_length)
            r = (attention.W_r.weight @ position(distance, attention.d_model)).view(heads, d_k)
            for b in range(len(x)):
                Q, K = (W_q @ x[b, i]).view(heads, d_k), (W_k @ seen[b, j]).view(heads, d_k)
                S[b, :, i, j] = (Q * K).sum(-1) + (Q * r).sum(-1)
                if u is not None:
                    S[b, :, i, j] += (u * K).sum(-1) + (v * r).sum(-1)
    return torch.softmax(S / math.sqrt(d_k), dim=-1)


@settings(max_examples=25)
@given(**SIZES, clamp=st.none() | st.integers(1, 8), global_terms=st.booleans())
@example(t=1, memory=300, clamp=None, global_terms=True)
@torch.no_grad()
def test_the_four_terms_pair_by_pair(t, memory, clamp, global_terms):
    attention = layer(clamp_length=clamp, global_terms=global_terms)
    x, seen = inputs(t, memory)
    H, A = with_weights(attention, x, seen)
    assert_close(A, slow_weights(attention, x, seen), **EXACT)
    V = keys_values(attention, seen)[1]
    assert_close(H, attention.W_h(attention.merge_heads(A @ V)), **EXACT)
    assert_close(attention(x, seen), H, **EXACT, msg="el núcleo fusionado no da lo mismo")


@pytest.mark.parametrize("term", ["u", "v", "W_r"])
def test_every_parameter_counts(term):
    attention = layer()
    x, seen = inputs(4, 3)
    before = attention(x, seen)
    parameter = attention.W_r.weight if term == "W_r" else getattr(attention, term)
    nn.init.normal_(parameter)
    assert (attention(x, seen) - before).abs().max() > 1e-3


def test_without_distances_it_is_multi_head_attention():
    """Con W_r, u y v nulos quedan las puntuaciones de siempre: no se cambia nada más."""
    attention = layer(bias=True)
    for parameter in (attention.W_r.weight, attention.u, attention.v):
        nn.init.zeros_(parameter)
    plain = MultiHeadAttention(12, 3, bias=True).double()
    plain.load_state_dict(attention.state_dict(), strict=False)
    x, seen = inputs(5, 4)
    assert_close(attention(x, seen), plain(x, seen, causal=True), **EXACT)


@given(**SIZES)
@torch.no_grad()
def test_the_future_is_never_seen(t, memory):
    """Por encima de la diagonal el desplazamiento deja basura: nada de ella llega a la salida."""
    attention = layer()
    x, seen = inputs(t, memory)
    _, A = with_weights(attention, x, seen)
    assert (A[..., ~causal_mask(t, memory + t)] == 0).all()
    changed = seen.clone()
    changed[:, -1] = torch.randn(2, 12, dtype=torch.float64)
    same = attention(changed[:, memory:], changed)[:, :-1]
    assert_close(same, attention(x, seen)[:, :-1], **EXACT)


@torch.no_grad()
def test_only_the_distance_matters():
    """Las mismas entradas más adelante, sin lo anterior a la vista, dan lo mismo."""
    attention = layer()
    x, seen = inputs(4, 6)
    hidden = torch.ones(4, 10, dtype=torch.bool)
    hidden[:, :6] = False
    assert_close(attention(x, seen, mask=hidden), attention(x), **EXACT)


@torch.no_grad()
def test_a_mask_is_added_to_the_future():
    attention = layer()
    x, seen = inputs(4, 3)
    mask = torch.rand(2, 4, 7) > 0.5
    mask[0, 2] = False
    H, A = with_weights(attention, x, seen, mask=mask)
    visible = (mask & causal_mask(4, 7))[:, None].expand_as(A)
    assert (A[~visible] == 0).all()
    assert (A[0, :, 2] == 0).all(), "la consulta que no ve nada da ceros"
    assert_close(attention(x, seen, mask=mask), H, **EXACT)


def with_weights(attention, *inputs, **seen):
    with attention_maps(attention) as A:
        H = attention(*inputs, **seen)
    return H, A[0]


def test_same_gradients_with_and_without_the_fused_kernel():
    attention = layer()
    x, seen = inputs(4, 3)
    loss = torch.randn(2, 4, 12, dtype=torch.float64)
    parameters = list(attention.parameters())
    fused = torch.autograd.grad((attention(x, seen) * loss).sum(), parameters)
    _, A = with_weights(attention, x, seen)
    H = attention.W_h(attention.merge_heads(A @ keys_values(attention, seen)[1]))
    written_out = torch.autograd.grad((H * loss).sum(), parameters)
    assert_close(fused, written_out, **EXACT)


def test_the_gradient_is_the_numerical_one():
    attention = layer(4, 2, clamp_length=3)
    x, memory = (torch.randn(1, t, 4, dtype=torch.float64, requires_grad=True) for t in (3, 2))

    def run(x, memory, *_):
        return attention(x, torch.cat([memory, x], dim=1))

    parameters = (attention.u, attention.v, attention.W_r.weight)
    assert torch.autograd.gradcheck(run, (x, memory, *parameters))


@given(chunks=st.lists(st.integers(1, 5), min_size=1, max_size=5))
@torch.no_grad()
def test_step_by_step_with_cached_keys(chunks):
    attention, cache = layer(), KeyValueCache()
    x, _ = inputs(sum(chunks), 0)
    outputs = [attention(piece, cache=cache) for piece in x.split(chunks, dim=1)]
    assert_close(torch.cat(outputs, dim=1), attention(x), **EXACT)


def test_distances_are_projected_once_for_the_whole_batch(monkeypatch):
    attention, rows = layer(), []
    forward = attention.W_r.forward
    monkeypatch.setattr(attention.W_r, "forward", lambda r: (rows.append(r.shape), forward(r))[1])
    x, seen = inputs(4, 3, batch=5)
    attention(x, seen)
    assert rows == [(8, 12)], "una vez por pasada, t_k + 1 distancias y ningún eje de lote"


def test_dropout_falls_on_the_weights():
    attention = layer(dropout=0.5)
    x, seen = inputs(4, 3)
    assert (attention(x, seen) - attention(x, seen)).abs().max() > 0
    attention.eval()
    assert_close(attention(x, seen), attention(x, seen), **EXACT)


def test_shared_biases_are_the_same_parameter():
    u, v = (nn.Parameter(torch.randn(3, 4)) for _ in range(2))
    layers = [RelativeAttention(12, 3, u=u, v=v) for _ in range(2)]
    assert layers[0].u is layers[1].u is u
    assert layers[0].v is layers[1].v is v
    names = {name for name, _ in RelativeAttention(12, 3, global_terms=False).named_parameters()}
    assert names == {"W_qkv.weight", "W_h.weight", "W_r.weight"}


def test_the_table_of_distances_serves_training_after_inference():
    """La tabla se calcula una vez; si naciera en modo de inferencia, entrenar fallaría."""
    attention = RelativeAttention(20, 2)
    with torch.inference_mode():
        attention(torch.randn(1, 3, 20))
    attention(torch.randn(1, 3, 20)).sum().backward()
    assert attention.W_r.weight.grad.abs().sum() > 0


@torch.no_grad()
def test_mixed_precision():
    """Con autocast las proyecciones salen en bfloat16 y u y v siguen en float32."""
    attention = layer().float()
    x, seen = (X.float() for X in inputs(4, 3))
    with torch.autocast("cpu", torch.bfloat16):
        H = attention(x, seen)
    assert_close(H.float(), attention(x, seen), rtol=0.1, atol=0.5)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"clamp_length": 0}, "clamp_length: se esperaba un entero positivo"),
        ({"u": nn.Parameter(torch.zeros(12))}, r"u: se esperaba la forma \[heads, d_k\]"),
        ({"v": nn.Parameter(torch.zeros(4, 3))}, r"v: se esperaba la forma \[heads, d_k\]"),
    ],
)
def test_bad_arguments(as_user, options, message):
    with pytest.raises(ValueError, match=message):
        RelativeAttention(12, 3, **options)


def test_more_queries_than_keys_is_refused(as_user):
    with pytest.raises(ValueError, match="t_q ≤ t_k"):
        layer()(*inputs(4, 0)[:1], inputs(3, 0)[0])
