import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib.primitives.attention import (
    attention,
    attention_scores,
    attention_weights,
    causal_mask,
)

TOLERANCE = {
    torch.float64: {"rtol": 1e-12, "atol": 1e-12},
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
}


def loop_attention(Q, K, V, beta=None, mask=None, hard=False):
    """La fórmula, consulta por consulta y clave por clave: el oráculo, sin softmax de torch."""
    beta = 1 / math.sqrt(Q.shape[-1]) if beta is None else beta
    rows = []
    for i, q in enumerate(Q):
        seen = [j for j in range(len(K)) if mask is None or mask[i, j]]
        if not seen:
            rows.append(V.new_zeros(V.shape[-1]))
            continue
        scores = [beta * (q * K[j]).sum() for j in seen]
        if hard:
            best = max(range(len(seen)), key=lambda n: scores[n].item())
            rows.append(V[seen[best]])
            continue
        top = max(s.detach() for s in scores)
        powers = [torch.exp(s - top) for s in scores]
        rows.append(sum(p * V[j] for p, j in zip(powers, seen, strict=True)) / sum(powers))
    return torch.stack(rows)


def draw(seed, t_q, t_k, d_k, d_v, dtype, *, masked):
    rng = torch.Generator().manual_seed(seed)
    shapes = [(t_q, d_k), (t_k, d_k), (t_k, d_v)]
    Q, K, V = (torch.randn(s, generator=rng, dtype=dtype, requires_grad=True) for s in shapes)
    mask = torch.rand(t_q, t_k, generator=rng) > 0.6 if masked else None
    if masked and t_q > 1:
        mask[1] = False  # una consulta que no ve nada
    return Q, K, V, mask


@pytest.mark.parametrize("dtype", TOLERANCE)
@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    sizes=st.tuples(*[st.integers(1, 6)] * 4),
    beta=st.one_of(st.none(), st.floats(-3, 3)),
    masked=st.booleans(),
    hard=st.booleans(),
)
def test_equals_the_written_out_formula_forward_and_gradient(
    dtype, seed, sizes, beta, masked, hard
):
    Q, K, V, mask = draw(seed, *sizes, dtype, masked=masked)
    expected = loop_attention(Q, K, V, beta, mask, hard)
    weights = torch.randn(expected.shape, dtype=dtype)
    inputs = (V,) if hard else (Q, K, V)
    total = (expected * weights).sum() + 0 * sum(x.sum() for x in inputs)
    expected_grads = torch.autograd.grad(total, inputs)
    formed = attention_weights(Q, K, beta=beta, mask=mask, hard=hard) @ V
    for H in (attention(Q, K, V, beta=beta, mask=mask, hard=hard), formed):
        assert_close(H, expected, **TOLERANCE[dtype])
        grads = torch.autograd.grad((H * weights).sum(), inputs, retain_graph=True)
        for grad, expected_grad in zip(grads, expected_grads, strict=True):
            assert_close(grad, expected_grad, **TOLERANCE[dtype])


@pytest.mark.parametrize(("t_q", "t_k"), [(5, 5), (2, 5)])
@pytest.mark.parametrize("hard", [False, True])
def test_causal_is_the_same_as_its_mask(t_q, t_k, hard):
    Q, K, V, _ = draw(3, t_q, t_k, 4, 4, torch.float64, masked=False)
    by_mask = attention(Q, K, V, mask=causal_mask(t_q, t_k), hard=hard)
    assert_close(attention(Q, K, V, causal=True, hard=hard), by_mask, rtol=1e-12, atol=1e-12)
    extra = torch.rand(t_q, t_k) > 0.3
    both = attention(Q, K, V, mask=causal_mask(t_q, t_k) & extra, hard=hard)
    assert_close(attention(Q, K, V, causal=True, mask=extra, hard=hard), both)
    A = attention_weights(Q, K, mask=extra, causal=True, hard=hard)
    assert torch.equal(A, attention_weights(Q, K, mask=causal_mask(t_q, t_k) & extra, hard=hard))


@pytest.mark.parametrize(
    ("q_batch", "k_batch", "mask_shape"),
    [
        ((2, 3), (2, 3), (2, 1, 4, 5)),
        ((2, 3), (1, 3), (4, 5)),
        ((3,), (2, 3), (1, 5)),
        ((2, 2, 3), (3,), (2, 1, 1, 4, 5)),
    ],
)
def test_batch_axes_broadcast(q_batch, k_batch, mask_shape):
    Q, K, V = torch.randn(*q_batch, 4, 6), torch.randn(*k_batch, 5, 6), torch.randn(*k_batch, 5, 2)
    mask = torch.rand(mask_shape) > 0.4
    batch = torch.broadcast_shapes(q_batch, k_batch)
    H = attention(Q, K, V, mask=mask)
    assert H.shape == (*batch, 4, 2)
    expanded = [
        x.expand(*batch, -1, -1).flatten(0, -3) for x in (Q, K, V, mask.expand(*batch, 4, 5))
    ]
    by_hand = torch.stack([loop_attention(*qkv, mask=m) for *qkv, m in zip(*expanded, strict=True)])
    assert_close(H.flatten(0, -3), by_hand, **TOLERANCE[torch.float32])


def test_rows_sum_to_one_except_the_blind_one():
    mask = torch.tensor([[True, False], [False, False]])
    A = attention_weights(torch.randn(2, 3), torch.randn(2, 3), mask=mask)
    assert A.tolist() == [[1, 0], [0, 0]]


def test_permuting_keys_and_values_changes_nothing_and_queries_permute_the_output():
    Q, K, V, _ = draw(5, 4, 6, 3, 2, torch.float64, masked=False)
    H, over_keys, over_queries = attention(Q, K, V), torch.randperm(6), torch.randperm(4)
    assert_close(attention(Q, K[over_keys], V[over_keys]), H)
    assert_close(attention(Q[over_queries], K, V), H[over_queries])


def test_default_beta_is_one_over_the_square_root_of_d_k():
    Q, K = torch.randn(3, 16), torch.randn(5, 16)
    assert_close(attention_weights(Q, K), torch.softmax(Q @ K.T / 4, -1))
    assert_close(attention_scores(Q, K), Q @ K.T)


class LargestTensor(TorchDispatchMode):
    """Anota el tensor más grande que sale de cualquier operación."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else (out,):
            if isinstance(x, torch.Tensor):
                self.elements = max(self.elements, x.numel())
        return out


@pytest.mark.parametrize("d_v", [8, 5])
@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_path_never_forms_the_weights(causal, d_v):
    t = 256
    Q, K, V = (torch.randn(2, t, d, requires_grad=True) for d in (8, 8, d_v))
    with LargestTensor() as largest:
        attention(Q, K, V, causal=causal).sum().backward()
    assert largest.elements < t * t


def test_dropout_keeps_the_mean():
    Q, K, V = torch.randn(1, 4), torch.randn(6, 4), torch.randn(6, 3)
    H = attention(*(X.expand(20_000, -1, -1) for X in (Q, K, V)), dropout=0.5).mean(0)
    assert_close(H, attention(Q, K, V), atol=0.05, rtol=0)


Q, K, V = torch.zeros(4, 3), torch.zeros(5, 3), torch.zeros(5, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"K": torch.zeros(5, 2)}, r"mismo ancho d_k.*\(4, 3\).*\(5, 2\)"),
        ({"V": torch.zeros(4, 2)}, r"el mismo t_k.*K \(5, 3\), V \(4, 2\)"),
        ({"Q": torch.zeros(3)}, r"al menos dos ejes.*Q\[None\].*\(3,\)"),
        ({"Q": torch.zeros(4, 3, dtype=torch.int64)}, "punto flotante"),
        ({"K": torch.zeros(5, 3, dtype=torch.float64)}, "mismo tipo y dispositivo"),
        ({"mask": torch.ones(4, 5)}, r"booleana.*mask\.bool\(\)"),
        ({"mask": torch.ones(5, 4, dtype=torch.bool)}, r"\(4, 5\).*\(5, 4\).*cambiados"),
        ({"mask": torch.ones(2, 4, 5, dtype=torch.bool)}, "sobran ejes"),
        ({"mask": torch.ones(5, dtype=torch.bool)}, "Faltan"),
        ({"bias": torch.zeros(5, 4)}, r"bias: .*\(4, 5\).*\(5, 4\)"),
        ({"bias": torch.zeros(4, 5, dtype=torch.float64)}, r"bias: .*float32.*bias\.to\(Q\)"),
        ({"Q": torch.zeros(2, 4, 3), "K": torch.zeros(3, 5, 3)}, "ejes de lote"),
        ({"beta": math.nan}, "β finita"),
    ],
)
def test_bad_input_is_explained(as_user, arguments, message):
    inputs = {"Q": Q, "K": K, "V": V} | arguments
    with pytest.raises(ValueError, match="(?i)" + message):
        attention(inputs.pop("Q"), inputs.pop("K"), inputs.pop("V"), **inputs)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", [(4, 7), (3, 4, 7), (2, 1, 4, 7)])
def test_a_bias_is_added_to_the_scaled_scores(shape, causal, masked):
    """Lo mismo que escribir las puntuaciones y sumarle `bias`, con gradiente también para él."""
    Q, K, V = (torch.randn(2, 3, t, 5, dtype=torch.float64) for t in (4, 7, 7))
    bias = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(2, 1, 4, 7) > 0.5 if masked else None
    hidden = torch.zeros(4, 7, dtype=torch.bool) if mask is None else ~mask
    hidden = hidden | ~causal_mask(4, 7) if causal else hidden
    S = (Q @ K.mT / math.sqrt(5) + bias).masked_fill(hidden, -math.inf)
    A = S.softmax(-1).nan_to_num(0.0)
    options = {"mask": mask, "causal": causal, "bias": bias}
    assert_close(attention_weights(Q, K, **options), A, **TOLERANCE[torch.float64])
    H = attention(Q, K, V, **options)
    assert_close(H, A @ V, **TOLERANCE[torch.float64])
    hard = attention(Q, K, V, hard=True, **options)
    seen = ~hidden.expand_as(S).all(-1)
    assert torch.equal(hard[seen], V.gather(-2, S.argmax(-1)[..., None].expand_as(H))[seen])
    expected = torch.autograd.grad((attention_weights(Q, K, **options) @ V).square().sum(), bias)
    assert_close(torch.autograd.grad(H.square().sum(), bias), expected)


def test_minus_infinity_in_the_bias_hides_a_key():
    Q, K, V = (torch.randn(4, 5) for _ in range(3))
    bias = torch.zeros(4, 4).masked_fill(~causal_mask(4), -math.inf)
    assert_close(attention(Q, K, V, bias=bias), attention(Q, K, V, causal=True))


def test_a_bias_is_also_causal_with_as_many_queries_as_keys():
    Q, K, V = (torch.randn(4, 5) for _ in range(3))
    bias = torch.randn(4, 4)
    masked = attention(Q, K, V, bias=bias, mask=causal_mask(4))
    assert_close(attention(Q, K, V, bias=bias, causal=True), masked)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no hay GPU")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("masked", [False, True])
def test_the_gpu_agrees_with_the_cpu(dtype, masked):
    """Misma fórmula en los dos; la tolerancia es la del tipo, no la del núcleo que toque."""
    Q, K, V = torch.randn(3, 2, 4, 33, 16, dtype=torch.float64)
    mask = torch.rand(2, 1, 33, 33) > 0.5 if masked else None
    if masked:
        mask[0, 0, 3] = False
    on_gpu = [X.to("cuda", dtype) for X in (Q, K, V)]
    H = attention(*on_gpu, mask=None if mask is None else mask.cuda())
    tolerance = {torch.float32: 1e-5, torch.bfloat16: 3e-2}[dtype]
    assert_close(H.cpu().double(), attention(Q, K, V, mask=mask), atol=tolerance, rtol=tolerance)
