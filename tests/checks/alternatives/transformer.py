"""Otras soluciones correctas de «Transformer»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange

from course_lib.layers.blocks import FeedForward


def split_heads__reshape(X, num_heads):
    *batch, t, d = X.shape
    return X.reshape(*batch, t, num_heads, d // num_heads).swapaxes(-2, -3)


def split_heads__chunks(X, num_heads):
    return torch.stack(X.chunk(num_heads, dim=-1), dim=-3)


def split_heads__einops(X, num_heads):
    return rearrange(X, "... t (h d) -> ... h t d", h=num_heads)


def merge_heads__concatenate(H):
    return torch.cat(H.unbind(dim=-3), dim=-1)


def merge_heads__in_place(H):
    *batch, heads, t, d_k = H.shape
    merged = H.new_empty(*batch, t, heads * d_k)
    for h in range(heads):
        merged[..., h * d_k : (h + 1) * d_k] = H[..., h, :, :]
    return merged


def decoder_mask__tril(token_ids, pad_id):
    t = token_ids.shape[1]
    causal = torch.ones(t, t).tril().bool()
    return torch.logical_and(causal[None, None], token_ids.ne(pad_id)[:, None, None])


def decoder_mask__loops(token_ids, pad_id):
    batch, t = token_ids.shape
    mask = torch.zeros(batch, 1, t, t, dtype=torch.bool)
    for b in range(batch):
        for i in range(t):
            for j in range(i + 1):
                mask[b, 0, i, j] = token_ids[b, j] != pad_id
    return mask


def cross_attention__fused(Y, H, source_ids, pad_id, W_q, W_k, W_v):
    mask = (source_ids != pad_id)[:, None, :]
    return F.scaled_dot_product_attention(Y @ W_q, H @ W_k, H @ W_v, attn_mask=mask)


def cross_attention__text_by_text(Y, H, source_ids, pad_id, W_q, W_k, W_v):
    outputs = []
    for y, h, ids in zip(Y, H, source_ids, strict=True):
        seen = h[ids != pad_id]
        A = torch.softmax((y @ W_q) @ (seen @ W_k).T / math.sqrt(W_k.shape[1]), dim=-1)
        outputs.append(A @ (seen @ W_v))
    return torch.stack(outputs)


def cross_attention__powers(Y, H, source_ids, pad_id, W_q, W_k, W_v):
    Q, K = Y @ W_q / W_q.shape[-1] ** 0.5, H @ W_k
    scores = torch.einsum("bid,bjd->bij", Q, K)
    powers = (scores - scores.amax(-1, keepdim=True)).exp() * (source_ids != pad_id)[:, None]
    return (powers / powers.sum(-1, keepdim=True)).bmm(H @ W_v)


def feed_forward__linear(X, kernel_1, b_1, kernel_2, b_2):
    hidden = F.linear(X, kernel_1.squeeze(-1), b_1).relu()
    return F.linear(hidden, kernel_2.squeeze(-1), b_2)


def feed_forward__einsum(X, kernel_1, b_1, kernel_2, b_2):
    hidden = torch.einsum("btd,fd->btf", X, kernel_1[..., 0]) + b_1
    return torch.einsum("btf,df->btd", hidden.clamp(min=0), kernel_2[:, :, 0]) + b_2


def feed_forward__layer(X, kernel_1, b_1, kernel_2, b_2):
    layer = FeedForward(X.shape[-1], len(b_1)).to(X.dtype)
    names = [name for name, _ in layer.named_parameters()]
    values = [kernel_1[..., 0], b_1, kernel_2[..., 0], b_2]
    return torch.func.functional_call(layer, dict(zip(names, values, strict=True)), (X,))


def rms_norm__library(X, gain, eps):
    return F.rms_norm(X, X.shape[-1:], weight=gain, eps=eps)


def rms_norm__norm(X, gain, eps):
    length = torch.linalg.vector_norm(X, dim=-1, keepdim=True)
    return X * torch.rsqrt(length**2 / X.shape[-1] + eps) * gain


def rms_norm__loop(X, gain, eps):
    rows = [x / (sum(x * x) / len(x) + eps) ** 0.5 for x in X.reshape(-1, X.shape[-1])]
    return torch.stack(rows).view_as(X).mul(gain)


def residual__table(x, sublayer, placement, norm, norm_out):
    return {
        "post": lambda: norm(x + sublayer(x)),
        "pre": lambda: x + sublayer(norm(x)),
        "sandwich": lambda: x + norm_out(sublayer(norm(x))),
    }[placement]()


def residual__identities(x, sublayer, placement, norm, norm_out):
    before = (lambda z: z) if placement == "post" else norm
    inside = norm_out if placement == "sandwich" else (lambda z: z)
    after = norm if placement == "post" else (lambda z: z)
    return after(inside(sublayer(before(x))) + x)


def encoder_block__fused(X, parameters, num_heads, mask):
    P = parameters

    def heads(name):
        return (X @ P[name]).unflatten(-1, (num_heads, -1)).transpose(1, 2)

    H = F.scaled_dot_product_attention(heads("W_q"), heads("W_k"), heads("W_v"), attn_mask=mask)
    Z = F.layer_norm(X + H.transpose(1, 2).flatten(2) @ P["W_h"], X.shape[-1:], P["gain_1"])
    Z = Z + P["bias_1"]
    hidden = F.linear(Z, P["W_1"].T, P["b_1"]).relu()
    Y = Z + F.linear(hidden, P["W_2"].T, P["b_2"])
    return F.layer_norm(Y, Y.shape[-1:], P["gain_2"], P["bias_2"])


def encoder_block__by_hand(X, parameters, num_heads, mask):
    P = parameters

    def normalise(x, gain, bias):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt() * gain + bias

    width = X.shape[-1] // num_heads
    parts = []
    for h in range(num_heads):
        cut = slice(h * width, (h + 1) * width)
        Q, K, V = (X @ P[name][:, cut] for name in ("W_q", "W_k", "W_v"))
        scores = Q @ K.mT / math.sqrt(width)
        seen = mask.expand(X.shape[0], num_heads, *scores.shape[-2:])[:, h]
        A = torch.softmax(scores.masked_fill(~seen, -math.inf), dim=-1)
        parts.append(A @ V)
    Z = normalise(X + torch.cat(parts, -1) @ P["W_h"], P["gain_1"], P["bias_1"])
    network = (Z @ P["W_1"] + P["b_1"]).clamp(min=0) @ P["W_2"] + P["b_2"]
    return normalise(Z + network, P["gain_2"], P["bias_2"])


def decoder_bug__fused(Y, H, parameters, source_mask):
    def attend(part, x, memory, **options):
        W_q, W_k, W_v = (parameters[f"{part}_{letter}"] for letter in "qkv")
        return F.scaled_dot_product_attention(x @ W_q, memory @ W_k, memory @ W_v, **options)

    def normalise(x):
        return F.layer_norm(x, x.shape[-1:])

    x = normalise(Y + attend("self", Y, Y, is_causal=True))
    x = normalise(x + attend("cross", x, H, attn_mask=source_mask))
    return normalise(x + (x @ parameters["W_1"]).relu() @ parameters["W_2"])


def decoder_bug__by_hand(Y, H, parameters, source_mask):
    P = parameters

    def add_and_normalise(x, branch):
        x = x + branch
        centred = x - x.mean(-1, keepdim=True)
        return centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + 1e-5)

    def mix(part, x, memory, visible):
        scores = torch.einsum("bid,bjd->bij", x @ P[f"{part}_q"], memory @ P[f"{part}_k"])
        scores = scores / math.sqrt(P[f"{part}_k"].shape[-1])
        A = torch.where(visible, scores, -math.inf).softmax(-1)
        return torch.einsum("bij,bjd->bid", A, memory @ P[f"{part}_v"])

    past = torch.ones(Y.shape[1], Y.shape[1]).tril() == 1
    Z = add_and_normalise(Y, mix("self", Y, Y, past))
    C = add_and_normalise(Z, mix("cross", Z, H, source_mask))
    return add_and_normalise(C, (C @ P["W_1"]).clamp(min=0).matmul(P["W_2"]))


def cached_step__in_place(x, K, V, W_q, W_k, W_v):
    t = K.shape[-2]
    new_K = K.new_empty(*K.shape[:-2], t + 1, K.shape[-1])
    new_V = V.new_empty(*V.shape[:-2], t + 1, V.shape[-1])
    new_K[..., :t, :], new_K[..., t:, :] = K, x @ W_k
    new_V[..., :t, :], new_V[..., t:, :] = V, x @ W_v
    A = torch.softmax((x @ W_q) @ new_K.mT / math.sqrt(K.shape[-1]), dim=-1)
    return A @ new_V, new_K, new_V


def cached_step__fused(x, K, V, W_q, W_k, W_v):
    K, V = torch.cat((K, x @ W_k), 1), torch.cat((V, x @ W_v), 1)
    return [F.scaled_dot_product_attention(x @ W_q, K, V), K, V]
