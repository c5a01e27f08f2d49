"""MultiHeadAttention contra torch.nn.MultiheadAttention, con los mismos pesos."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.pretrained import load_torch_attention
from course_lib.recording import attention_maps

TOLERANCE = {
    torch.float64: {"rtol": 1e-10, "atol": 1e-10},
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
}


def masks(kind, t_q, t_k):
    """La máscara en la convención del curso (True = visible) y en la de torch (True = oculto)."""
    visible = torch.rand(2, t_q, t_k) > 0.4
    visible[..., 0] = True
    match kind:
        case "none":
            return None, {}
        case "shared":
            return visible[0], {"attn_mask": ~visible[0]}
        case "batch":
            return visible, {"attn_mask": (~visible).repeat_interleave(3, 0)}
        case "padding":
            return visible[:, :1], {"key_padding_mask": ~visible[:, 0]}


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("mask_kind", ["none", "shared", "batch", "padding"])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("widths", ["self", "cross", {"kdim": 5}, {"kdim": 5, "vdim": 7}])
def test_same_outputs_weights_and_gradients(dtype, mask_kind, bias, widths):
    options = widths if isinstance(widths, dict) else {}
    theirs = nn.MultiheadAttention(12, 3, bias=bias, batch_first=True, **options).to(dtype)
    for name, p in theirs.named_parameters():
        if "bias" in name:
            nn.init.normal_(p)  # torch los inicia en cero y no se notaría su falta
    ours = load_torch_attention(theirs)
    t_k = 4 if widths == "self" else 6
    X_q = torch.randn(2, 4, 12, dtype=dtype, requires_grad=True)
    X_k = torch.randn(2, t_k, theirs.kdim, dtype=dtype, requires_grad=True)
    X_v = torch.randn(2, t_k, theirs.vdim, dtype=dtype, requires_grad=True)
    inputs = (X_q, X_q, X_q) if widths == "self" else (X_q, X_k, X_v)
    mask, their_mask = masks(mask_kind, 4, t_k)

    H_theirs, A_theirs = theirs(*inputs, average_attn_weights=False, **their_mask)
    with attention_maps(ours) as A:
        H = ours(*inputs, mask=mask)
    assert_close(H, H_theirs, **TOLERANCE[dtype])
    assert_close(A[0], A_theirs, **TOLERANCE[dtype])
    assert_close(ours(*inputs, mask=mask), H_theirs, **TOLERANCE[dtype])

    weights = torch.randn_like(H)
    leaves = list({id(x): x for x in inputs}.values())
    grads = torch.autograd.grad((ours(*inputs, mask=mask) * weights).sum(), leaves)
    their_grads = torch.autograd.grad((H_theirs * weights).sum(), leaves)
    for grad, their_grad in zip(grads, their_grads, strict=True):
        assert_close(grad, their_grad, **TOLERANCE[dtype])


def test_parameter_gradients_match():
    theirs = nn.MultiheadAttention(8, 2, batch_first=True).double()
    ours = load_torch_attention(theirs)
    X = torch.randn(2, 5, 8, dtype=torch.float64)
    theirs(X, X, X)[0].square().sum().backward()
    ours(X).square().sum().backward()
    assert_close(ours.W_qkv.weight.grad, theirs.in_proj_weight.grad, **TOLERANCE[torch.float64])
    assert_close(ours.W_h.bias.grad, theirs.out_proj.bias.grad, **TOLERANCE[torch.float64])


def test_the_mode_travels_with_the_weights():
    assert not load_torch_attention(nn.MultiheadAttention(4, 2).eval()).training


@pytest.mark.parametrize("option", ["add_bias_kv", "add_zero_attn"])
def test_what_the_course_lacks_is_refused(as_user, option):
    with pytest.raises(ValueError, match="add_bias_kv ni add_zero_attn"):
        load_torch_attention(nn.MultiheadAttention(4, 2, **{option: True}))
