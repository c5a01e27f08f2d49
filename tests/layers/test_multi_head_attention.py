import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.primitives.attention import attention, causal_mask, padding_mask
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}


@settings(max_examples=25)
@given(st.integers(0, 2**31), st.integers(1, 3), st.integers(1, 4), st.integers(1, 5))
def test_each_head_is_one_attention_over_its_own_slice(seed, num_heads, d_k, t):
    torch.manual_seed(seed)
    d_model = num_heads * d_k
    layer = MultiHeadAttention(d_model, num_heads, bias=True).double()
    X = torch.randn(2, t, d_model, dtype=torch.float64)
    Q, K, V = (X @ W.T for W in layer.W_qkv.weight.split(d_model))
    heads = [
        attention(*(P[..., h * d_k : (h + 1) * d_k] for P in (Q, K, V))) for h in range(num_heads)
    ]
    expected = torch.cat(heads, -1) @ layer.W_h.weight.T + layer.W_h.bias
    assert_close(layer(X), expected, **EXACT)


def test_weights_are_noted_per_head_and_explain_the_output():
    layer = MultiHeadAttention(6, 2).double()
    X = torch.randn(3, 4, 6, dtype=torch.float64)
    with attention_maps(layer) as maps:
        H = layer(X)
    (A,) = maps
    assert A.shape == (3, 2, 4, 4)
    assert_close(A.sum(-1), torch.ones(3, 2, 4, dtype=torch.float64))
    V = layer.split_heads(layer.project(X, X, X)[2])
    assert_close(layer.W_h(layer.merge_heads(A @ V)), H, **EXACT)
    assert_close(layer(X), H, **EXACT)


@pytest.mark.parametrize(("widths", "matrices"), [({}, 2), ({"d_key": 3}, 4)])
def test_a_bias_only_when_asked_for(widths, matrices):
    plain, biased = (MultiHeadAttention(6, 3, **widths, **b) for b in ({}, {"bias": True}))
    assert [len(list(each.parameters())) for each in (plain, biased)] == [matrices, 2 * matrices]


def test_stacked_projections_agree_for_self_and_cross_attention():
    layer = MultiHeadAttention(6, 3).double()
    X = torch.randn(2, 4, 6, dtype=torch.float64)
    assert_close(layer(X, X.clone(), X.clone()), layer(X), **EXACT)


def test_split_and_merge_are_inverse_and_heads_take_consecutive_columns():
    layer = MultiHeadAttention(6, 2)
    X = torch.arange(24.0).reshape(1, 4, 6)
    heads = layer.split_heads(X)
    assert heads.shape == (1, 2, 4, 3)
    assert_close(heads[0, 1, 2], X[0, 2, 3:])
    assert_close(layer.merge_heads(heads), X)


def test_masks_of_every_rank():
    layer = MultiHeadAttention(4, 2).double()
    X = torch.randn(2, 3, 4, dtype=torch.float64)
    causal = causal_mask(3)
    outputs = [
        layer(X, mask=mask) for mask in (causal, causal.expand(2, 3, 3), causal.expand(2, 2, 3, 3))
    ]
    outputs.append(layer(X, causal=True))
    for H in outputs[1:]:
        assert_close(H, outputs[0], **EXACT)


def test_padding_changes_nothing():
    layer = MultiHeadAttention(4, 2).double()
    X = torch.randn(1, 3, 4, dtype=torch.float64)
    padded = torch.cat([X, torch.randn(1, 2, 4, dtype=torch.float64)], 1)
    mask = padding_mask(torch.tensor([[5, 6, 7, 0, 0]]), pad_id=0)
    assert_close(layer(padded, mask=mask)[:, :3], layer(X), **EXACT)


def test_the_future_sends_no_gradient_to_the_past():
    layer = MultiHeadAttention(4, 2)
    X = torch.randn(1, 5, 4, requires_grad=True)
    layer(X, causal=True)[0, 2].sum().backward()
    assert X.grad[0, :3].abs().sum() > 0
    assert X.grad[0, 3:].abs().sum() == 0


def test_dropout_only_while_training():
    layer = MultiHeadAttention(8, 2, dropout=0.5)
    X = torch.randn(1, 6, 8)
    assert not torch.equal(layer(X), layer(X))
    layer.eval()
    assert torch.equal(layer(X), layer(X))


def test_no_tensor_stays_on_the_layer_after_the_forward():
    layer = MultiHeadAttention(4, 2)
    before = set(vars(layer))
    with attention_maps(layer):
        layer(torch.randn(1, 3, 4))
    assert set(vars(layer)) == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"d_model": 6, "num_heads": 4}, "divisible.*d_model = 6, num_heads = 4"),
        ({"d_model": 4, "num_heads": 0}, "num_heads = 0"),
        ({"d_model": 4, "num_heads": 2, "dropout": 1.0}, r"\[0, 1\) y llegó 1.0"),
    ],
)
def test_bad_configuration_is_explained(as_user, arguments, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(**arguments)


def test_bad_width_names_the_input_and_the_argument(as_user):
    layer = MultiHeadAttention(4, 2, d_key=3)
    with pytest.raises(ValueError, match=r"X_k: se esperaba un ancho de 3.*\(1, 5, 4\).*d_key"):
        layer(torch.zeros(1, 5, 4))
