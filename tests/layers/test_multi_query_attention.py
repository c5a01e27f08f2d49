"""La atención multiconsulta: cabezas que comparten claves, giros y caché."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.fast.reserved_cache import ReservedCache
from course_lib.layers.multi_head_attention import KeyValueCache, MultiHeadAttention
from course_lib.layers.multi_query_attention import MultiQueryAttention
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
groups = pytest.mark.parametrize("num_kv_heads", [1, 2, 4])


def make(num_kv_heads=1, **options):
    return MultiQueryAttention(12, 4, num_kv_heads=num_kv_heads, d_head=6, **options).double()


def X_of(batch=2, t=5):
    return torch.randn(batch, t, 12, dtype=torch.float64)


def turned(X, positions, layout):
    """Cada fila de `[t, d]`, girada con números complejos."""
    halves = X.unflatten(-1, (2, -1)).unbind(-2)
    a, b = halves if layout == "half" else X.unflatten(-1, (-1, 2)).unbind(-1)
    angles = positions[:, None] / 10_000 ** (torch.arange(a.shape[-1]).double() / a.shape[-1])
    z = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles).to(torch.complex128)
    if layout == "half":
        return torch.cat((z.real, z.imag), -1)
    return torch.stack((z.real, z.imag), -1).flatten(-2)


def by_hand(layer, X, layout):
    """Una cabeza, una consulta y una clave cada vez."""
    batch, t, _ = X.shape
    heads, kv, d = layer.num_heads, layer.num_kv_heads, layer.d_head
    W_q, W_k, W_v = layer.W_qkv.weight.split([heads * d, kv * d, kv * d])
    out, weights = (
        torch.zeros(batch, t, heads * d).double(),
        torch.zeros(batch, heads, t, t).double(),
    )
    positions = torch.arange(t, dtype=torch.float64)
    for row in range(batch):
        for i in range(heads):
            j = i // (heads // kv)
            mine, theirs = slice(i * d, (i + 1) * d), slice(j * d, (j + 1) * d)
            Q, K, V = X[row] @ W_q[mine].T, X[row] @ W_k[theirs].T, X[row] @ W_v[theirs].T
            if layout:
                Q, K = turned(Q, positions, layout), turned(K, positions, layout)
            for n in range(t):
                A = torch.softmax(Q[n] @ K[: n + 1].T / d**0.5, -1)
                out[row, n, mine] = A @ V[: n + 1]
                weights[row, i, n, : n + 1] = A
    return out @ layer.W_h.weight.T, weights


@groups
@pytest.mark.parametrize("layout", ["half", "interleaved", None])
@torch.no_grad()
def test_it_is_its_equation(num_kv_heads, layout):
    layer, X = make(num_kv_heads, layout=layout), X_of()
    expected, weights = by_hand(layer, X, layout)
    cache = KeyValueCache()
    assert_close(layer(X, cache), expected, **EXACT)
    assert cache.K.shape == (2, num_kv_heads, 5, 6), "la caché guarda solo las cabezas de claves"
    with attention_maps(layer) as A:
        layer(X)
    assert_close(A[0], weights, **EXACT)


@torch.no_grad()
def test_with_as_many_pairs_as_heads_it_is_multi_head_attention():
    ours = MultiQueryAttention(12, 4, num_kv_heads=4, layout=None)
    theirs = MultiHeadAttention(12, 4)
    ours.load_state_dict(theirs.state_dict())
    X = torch.randn(3, 7, 12)
    assert_close(ours(X), theirs(X, causal=True))


@groups
@settings(max_examples=15)
@given(cuts=st.lists(st.integers(1, 5), min_size=1, max_size=5), reserve=st.booleans())
def test_any_chunking_gives_the_same(num_kv_heads, cuts, reserve):
    layer, X = make(num_kv_heads), X_of(t=sum(cuts))
    whole = layer(X)
    for grad in (torch.enable_grad, torch.no_grad):
        cache = ReservedCache() if reserve else KeyValueCache()
        with grad():
            found = [layer(chunk, cache) for chunk in X.split(cuts, 1)]
        assert_close(torch.cat(found, 1), whole, **EXACT)


@groups
def test_gradients_flow_through_the_cache(num_kv_heads):
    layer, X = make(num_kv_heads), X_of().requires_grad_()

    def gradients(H):
        return torch.autograd.grad(H.square().sum(), (X, *layer.parameters()))

    whole, cache = gradients(layer(X)), KeyValueCache()
    found = [layer(chunk, cache) for chunk in X.split([2, 1, 2], 1)]
    for mine, theirs in zip(gradients(torch.cat(found, 1)), whole, strict=True):
        assert_close(mine, theirs, **EXACT)


@groups
@pytest.mark.parametrize("t", [1, 3])
@torch.no_grad()
def test_the_mask_hides_the_padding_of_each_row(num_kv_heads, t):
    layer, X = make(num_kv_heads, layout=None), X_of(t=4 + t)
    visible = torch.ones(2, 1, 1, 4 + t, dtype=torch.bool)
    visible[1, ..., :3] = False
    cache = KeyValueCache()
    layer(X[:, :4], cache, mask=visible[..., :4])
    H = layer(X[:, 4:], cache, mask=visible)
    assert_close(H[:1], layer(X[:1])[:, 4:], **EXACT)
    assert_close(H[1:], layer(X[1:, 3:])[:, 1:], **EXACT)


@pytest.mark.parametrize("t", [5, 1], ids=["varias posiciones", "una"])
def test_dropout_only_while_training(t):
    layer, X = make(dropout=0.5), X_of(t=t)
    assert not torch.equal(layer(X), layer(X))
    layer.eval()
    assert torch.equal(layer(X), layer(X))


def test_turns_in_half_precision_are_not_rounded_and_the_output_is_half():
    layer, X = make().bfloat16(), X_of().bfloat16()
    cosines, sines = layer.rotation(torch.tensor([2047]), X)
    assert cosines.dtype == sines.dtype == torch.float32, "el giro se redondearía dos veces"
    assert layer(X).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_kv_heads": 3}, "divisor de num_heads = 4 y llegó 3"),
        ({"num_kv_heads": 0}, "num_kv_heads: .*positivo y llegó 0"),
        ({"layout": "mitad"}, "'half', 'interleaved', None y llegó 'mitad'"),
        ({"d_head": -1}, "d_head: .*positivo y llegó -1"),
        ({"dropout": 1.0}, r"\[0, 1\) y llegó 1.0"),
    ],
)
def test_bad_options_are_explained(as_user, options, message):
    with pytest.raises(ValueError, match=message):
        MultiQueryAttention(12, 4, **options)


def test_a_width_that_heads_do_not_share_is_explained(as_user):
    with pytest.raises(ValueError, match="d_model = 13 no se reparte entre num_heads = 4"):
        MultiQueryAttention(13, 4)
    with pytest.raises(ValueError, match="X: se esperaba un ancho de 12"):
        MultiQueryAttention(12, 4)(torch.ones(1, 2, 11))
