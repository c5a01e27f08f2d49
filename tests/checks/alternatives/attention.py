"""Otras soluciones correctas de «Atención»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F


def soft_argmax__log_sum_exp(scores, beta):
    scaled = beta * scores
    return torch.exp(scaled - scaled.logsumexp(dim=-1, keepdim=True))


def soft_argmax__in_place(scores, beta):
    result = scores.clone()
    result -= scores.amax(dim=-1, keepdim=True)
    result *= beta
    result = result.exp()
    total = result.sum(dim=-1, keepdim=True)
    return result.div(total)


def soft_argmax__row_by_row(scores, beta):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        powers = torch.exp(beta * (row - max(row)))
        rows.append(powers / sum(powers))
    return torch.stack(rows).reshape(scores.shape)


def hard_argmax__scatter(scores):
    return torch.zeros_like(scores).scatter(-1, scores.argmax(-1, keepdim=True), 1)


def hard_argmax__loops(scores):
    result = torch.zeros(scores.shape, dtype=scores.dtype)
    for old, new in zip(scores.flatten(0, -2), result.flatten(0, -2), strict=True):
        values = old.tolist()
        new[values.index(max(values))] = 1
    return result


def hard_argmax__cumulative(scores):
    best = scores == scores.max(dim=-1, keepdim=True)[0]
    return (best & (best.cumsum(dim=-1) == 1)).type_as(scores)


def decoding_step__matmul(state, encoder_states):
    weights = (encoder_states @ state.unsqueeze(-1)).squeeze(-1).softmax(-1)
    return weights, (weights.unsqueeze(1) @ encoder_states).squeeze(1)


def decoding_step__loop(state, encoder_states):
    weights, contexts = [], []
    for s, H in zip(state, encoder_states, strict=True):
        a = torch.softmax(H.mv(s), dim=0)
        weights.append(a)
        contexts.append(sum(a[i] * H[i] for i in range(len(H))))
    return torch.stack(weights), torch.stack(contexts)


def decoding_step__fused(state, encoder_states):
    q, H = state[:, None], encoder_states
    weights = torch.softmax(torch.bmm(q, H.transpose(1, 2)), dim=2).squeeze(1)
    context = F.scaled_dot_product_attention(q, H, H, scale=1.0)
    return [weights, context[:, 0]]


def additive_scores__einsum(Q, K, W_q, W_k, v):
    q = torch.einsum("...id,da->...ia", Q, W_q)
    k = torch.einsum("...jd,da->...ja", K, W_k)
    hidden = (q[..., :, None, :] + k[..., None, :, :]).tanh()
    return torch.einsum("...ija,a->...ij", hidden, v)


def additive_scores__one_query_at_a_time(Q, K, W_q, W_k, v):
    k = K @ W_k
    columns = [((Q[..., i : i + 1, :] @ W_q + k).tanh() * v).sum(-1) for i in range(Q.shape[-2])]
    return torch.stack(columns, dim=-2)


def columns__through_rows(X, beta):
    rows = X.transpose(-1, -2)
    return F.scaled_dot_product_attention(rows, rows, rows, scale=beta).transpose(-1, -2)


def columns__einsum(X, beta):
    powers = torch.einsum("...ni,...nj->...ij", X, X).mul(beta).exp()
    A = powers / powers.sum(dim=-2, keepdim=True)
    return torch.einsum("...nt,...tj->...nj", X, A)


def masked_attention__where(Q, K, V, mask, beta):
    scores = torch.einsum("...id,...jd->...ij", Q, K) * beta
    A = torch.where(mask, scores, -math.inf).softmax(dim=-1)
    return torch.where(mask, A, 0.0).nan_to_num() @ V


def masked_attention__fused(Q, K, V, mask, beta):
    H = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask, scale=beta)
    return torch.where(mask.any(dim=-1, keepdim=True), H, torch.zeros_like(H))


def masked_attention__by_hand(Q, K, V, mask, beta):
    scores = beta * (Q @ K.transpose(-2, -1))
    highest = scores.masked_fill(~mask, -1e9).amax(dim=-1, keepdim=True)
    powers = torch.exp((scores - highest).clamp(max=0)) * mask
    return (powers @ V) / powers.sum(dim=-1, keepdim=True).clamp(min=1e-30)


def top_k_weights__sort(scores, k, beta):
    places = scores.argsort(dim=-1, descending=True, stable=True)[..., :k]
    weights = torch.softmax(beta * scores.gather(-1, places), dim=-1)
    return torch.zeros_like(scores).scatter(-1, places, weights)


def top_k_weights__rank(scores, k, beta):
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    rank = order.argsort(dim=-1)
    shifted = beta * (scores - scores.amax(-1, keepdim=True))
    powers = torch.exp(shifted) * (rank < k)
    return powers / powers.sum(-1, keepdim=True)


def top_k_weights__loops(scores, k, beta):
    rows = []
    for row in scores.reshape(-1, scores.shape[-1]):
        values = row.tolist()
        best = sorted(range(len(values)), key=lambda i: (-values[i], i))[:k]
        chosen = torch.full_like(row, -math.inf)
        chosen[best] = beta * row[best]
        rows.append(chosen.softmax(0))
    return torch.stack(rows).view(scores.shape)
