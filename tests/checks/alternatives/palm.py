"""Otras soluciones correctas de «PaLM»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F


def swiglu__silu(x, W_gate, W_up, W_down):
    return F.linear(F.silu(x @ W_gate) * x.matmul(W_up), W_down.T)


def swiglu__einsum(x, W_gate, W_up, W_down):
    gate = torch.einsum("...d,df->...f", x, W_gate)
    up = torch.einsum("...d,df->...f", x, W_up)
    return torch.einsum("...f,fd->...d", gate * up / (1 + torch.exp(-gate)), W_down)


def swiglu__one_product(x, W_gate, W_up, W_down):
    gate, up = (x @ torch.cat([W_gate, W_up], dim=1)).chunk(2, dim=-1)
    up *= gate
    up *= gate.sigmoid()
    return up @ W_down


def rotary__complex(x, positions, base):
    d = x.shape[-1]
    theta = base ** (-torch.arange(0, d, 2).double() / d)
    turns = torch.polar(torch.ones(()).double(), positions[..., None].double() * theta)
    turned = torch.complex(*x.double().chunk(2, -1)) * turns
    return torch.cat([turned.real, turned.imag], dim=-1).to(x.dtype)


def rotary__rotate_half(x, positions, base):
    half = x.shape[-1] // 2
    angles = torch.cat([positions[..., None] / base ** (torch.arange(half) / half)] * 2, dim=-1)
    turned = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
    return x * torch.cos(angles) + turned * torch.sin(angles)


def rotary__loop(x, positions, base):
    result, half = x.clone(), x.shape[-1] // 2
    for i in range(half):
        angle = positions * base ** (-2 * i / x.shape[-1])
        a, b = x[..., i], x[..., i + half]
        result[..., i] = a * angle.cos() - b * angle.sin()
        result[..., i + half] = a * angle.sin() + b * angle.cos()
    return result


def layout__index(W, num_heads):
    d_head = len(W) // num_heads
    order = torch.cat([torch.arange(0, d_head, 2), torch.arange(1, d_head, 2)])
    rows = (d_head * torch.arange(num_heads)[:, None] + order).flatten()
    return W[rows]


def layout__head_by_head(W, num_heads):
    heads = W.chunk(num_heads)
    return torch.cat([torch.cat([head[::2], head[1::2]]) for head in heads])


def multi_query__fused(X, W_q, W_k, W_v, W_h, num_heads):
    batch, t, _ = X.shape
    Q = (X @ W_q).view(batch, t, num_heads, -1).permute(0, 2, 1, 3)
    K = (X @ W_k).unsqueeze(1).expand(-1, num_heads, -1, -1)
    V = (X @ W_v).unsqueeze(1).expand(-1, num_heads, -1, -1)
    H = F.scaled_dot_product_attention(Q, K, V, is_causal=True)
    return H.permute(0, 2, 1, 3).reshape(batch, t, -1) @ W_h


def multi_query__head_by_head(X, W_q, W_k, W_v, W_h, num_heads):
    K, V = X @ W_k, X @ W_v
    future = torch.ones(X.shape[1], X.shape[1], dtype=torch.bool).triu(1)
    output = torch.zeros(())
    for q, h in zip(W_q.chunk(num_heads, 1), W_h.chunk(num_heads, 0), strict=True):
        scores = (X @ q) @ K.mT / math.sqrt(W_k.shape[1])
        output = output + torch.softmax(scores.masked_fill(future, -math.inf), -1) @ V @ h
    return output


def parallel__sum(x, norm, attend, feed_forward):
    y = norm(x)
    return torch.stack([x, feed_forward(y), attend(y)]).sum(0)


def parallel__in_place(x, norm, attend, feed_forward):
    normed = norm(x)
    output = x.clone()
    for branch in (attend, feed_forward):
        output += branch(normed)
    return output


def _turn(x, positions):
    return rotary__rotate_half(x, positions, 10_000.0)


def read__fused(X, cache, W_q, W_k, W_v, num_heads):
    past, t = cache[0].shape[1], X.shape[1]
    positions = torch.arange(past, past + t)
    K = torch.cat((cache[0], _turn(X @ W_k, positions)), dim=1)
    V = torch.cat((cache[1], X @ W_v), dim=1)
    Q = torch.stack([_turn(q, positions) for q in (X @ W_q).chunk(num_heads, -1)], dim=1)
    mask = torch.ones(t, past + t, dtype=torch.bool).tril(past)
    H = F.scaled_dot_product_attention(Q, K[:, None], V[:, None], attn_mask=mask)
    return torch.cat(H.unbind(1), dim=-1), (K, V)


def read__token_by_token(X, cache, W_q, W_k, W_v, num_heads):
    K, V = cache
    outputs = []
    for x in X.split(1, dim=1):
        position = torch.tensor([K.shape[1]])
        K = torch.cat([K, _turn(x @ W_k, position)], 1)
        V = torch.cat([V, x @ W_v], 1)
        heads = []
        for q in (x @ W_q).chunk(num_heads, dim=-1):
            A = torch.softmax(_turn(q, position) @ K.mT / math.sqrt(K.shape[-1]), dim=-1)
            heads.append(A @ V)
        outputs.append(torch.cat(heads, -1))
    return [torch.cat(outputs, 1), [K, V]]


def left_padding__cumulative(padding, t):
    real = torch.arange(t).expand(len(padding), t) >= padding.unsqueeze(1)
    positions = (real.long().cumsum(1) - 1).clamp(min=0)
    return positions, torch.ones(t, t).tril().bool() & real.unsqueeze(-2)


def left_padding__loops(padding, t):
    positions = torch.zeros(len(padding), t, dtype=torch.int32)
    mask = torch.zeros(len(padding), t, t, dtype=torch.bool)
    for row, hidden in enumerate(padding.tolist()):
        for i in range(t):
            positions[row, i] = max(i - hidden, 0)
            mask[row, i, hidden : i + 1] = True
    return [positions, mask]


def decode_bug__filled(model, prompt, max_new_tokens):
    batch, t = prompt.shape
    written = torch.empty(batch, max_new_tokens, dtype=torch.long)
    logits, cache = model(prompt, torch.arange(t), None)
    for n in range(max_new_tokens):
        written[:, n] = logits[:, -1].argmax(-1)
        if n + 1 < max_new_tokens:
            logits, cache = model(written[:, n : n + 1], torch.tensor([t + n]), cache)
    return written


def decode_bug__recursive(model, prompt, max_new_tokens):
    def go_on(tokens, start, cache, left):
        if left == 0:
            return []
        stop = start + tokens.shape[1]
        logits, cache = model(tokens, torch.arange(start, stop), cache)
        new = logits[:, -1].max(dim=-1, keepdim=True).indices
        return [new, *go_on(new, stop, cache, left - 1)]

    return torch.hstack(go_on(prompt, 0, None, max_new_tokens))


def parameters__shapes(vocab_size, d_model, num_heads, d_head, d_ff, num_layers):
    inner = num_heads * d_head
    block = [(d_model, inner), (inner, d_model), (d_model, d_head), (d_model, d_head)]
    block += [(d_model, d_ff)] * 2 + [(d_ff, d_model)]
    return vocab_size * d_model + num_layers * sum(math.prod(shape) for shape in block)


def parameters__factored(vocab_size, d_model, num_heads, d_head, d_ff, num_layers):
    per_column = num_layers * (2 * d_head * (num_heads + 1) + 3 * d_ff) + vocab_size
    return torch.tensor(d_model) * per_column


cache__numbers = (118 * 2 * 48 * 256 * 2, 118 * 2 * 256 * 2)


def mfu__per_token(tokens_per_second, N, L, H, Q, T, chips, peak):
    return tokens_per_second / (chips * peak / (6 * N + 12 * L * H * Q * T))


def mfu__tensor(tokens_per_second, N, L, H, Q, T, chips, peak):
    flops = torch.tensor([6.0 * N, 12.0 * L * H * Q * T], dtype=torch.float64).sum()
    return tokens_per_second * flops / chips / peak


def mixture__token_by_token(x, W_router, experts, top_k):
    rows = []
    for token in x:
        scores = token @ W_router
        best = scores.argsort(descending=True)[:top_k]
        gates = torch.softmax(scores[best], 0)
        rows.append(
            sum(g * experts[i](token[None])[0] for g, i in zip(gates, best.tolist(), strict=True))
        )
    return torch.stack(rows)


def mixture__dense_gates(x, W_router, experts, top_k):
    scores = x.matmul(W_router)
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    chosen.scatter_(1, scores.topk(top_k, dim=1).indices, True)
    gates = scores.masked_fill(~chosen, -math.inf).softmax(1)
    y = torch.zeros_like(x)
    for gate, expert in zip(gates.T, experts, strict=True):
        tokens = torch.where(gate > 0)[0]
        y = y.index_add(0, tokens, gate[tokens].unsqueeze(1) * expert(x[tokens]))
    return y
