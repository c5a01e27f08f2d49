"""Otras soluciones correctas de «Autoatención»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F


def weights__einsum(Q, K):
    scores = torch.einsum("...id,...jd->...ij", Q, K).div(math.sqrt(K.shape[-1]))
    return (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()


def weights__by_hand(Q, K):
    d_k = torch.tensor(Q.shape[-1], dtype=Q.dtype)
    powers = torch.exp(torch.matmul(Q, K.transpose(-1, -2)) / torch.sqrt(d_k))
    return powers / powers.sum(-1).unsqueeze(-1)


def context__all_and_choose(i, X, W_q, W_k, W_v):
    Q, K, V = X @ W_q, X @ W_k, X @ W_v
    return torch.softmax(Q @ K.T / K.shape[1] ** 0.5, dim=1)[i] @ V


def context__word_by_word(i, X, W_q, W_k, W_v):
    query = X[i] @ W_q
    scores = [torch.dot(query, x @ W_k) / math.sqrt(W_k.shape[1]) for x in X]
    alpha = torch.stack(scores).softmax(0)
    return sum(a * (x @ W_v) for a, x in zip(alpha, X, strict=True))


def context__fused(i, X, W_q, W_k, W_v):
    return F.scaled_dot_product_attention((X[i] @ W_q)[None], X @ W_k, X @ W_v)[0]


def stacked_weights__transposed_at_the_end(W_q, W_k, W_v):
    return torch.hstack((W_q, W_k, W_v)).mT


def stacked_weights__filled(W_q, W_k, W_v):
    d_in, d_out = W_q.shape
    weight = torch.empty(3 * d_out, d_in, dtype=W_q.dtype)
    for place, W in enumerate((W_q, W_k, W_v)):
        weight[place * d_out : (place + 1) * d_out] = W.t()
    return weight


def causal__fused(X, W_q, W_k, W_v):
    return F.scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v, is_causal=True)


def causal__prefixes(X, W_q, W_k, W_v):
    outputs = []
    for n in range(1, X.shape[-2] + 1):
        seen = X[..., :n, :]
        query = seen[..., -1:, :] @ W_q
        A = torch.softmax(query @ (seen @ W_k).mT / W_k.shape[-1] ** 0.5, dim=-1)
        outputs.append(A @ (seen @ W_v))
    return torch.cat(outputs, dim=-2)


def causal__added_mask(X, W_q, W_k, W_v):
    t = X.shape[-2]
    future = torch.full((t, t), -math.inf, dtype=X.dtype).triu(1)
    scores = torch.einsum("...id,...jd->...ij", X @ W_q, X @ W_k) / math.sqrt(W_q.shape[1])
    return (scores + future).softmax(dim=-1).matmul(X @ W_v)


def batch_bug__fused(X, W_q, W_k, W_v):
    return F.scaled_dot_product_attention(X @ W_q, X @ W_k, X @ W_v)


def batch_bug__one_text_at_a_time(X, W_q, W_k, W_v):
    texts = X.reshape(-1, *X.shape[-2:])
    outputs = []
    for x in texts:
        scores = (x @ W_q).mm((x @ W_k).t()) / W_q.shape[1] ** 0.5
        outputs.append(scores.softmax(1).mm(x @ W_v))
    return torch.stack(outputs).reshape(*X.shape[:-1], -1)


read_maps__lower_case = "bca"


def equivariance__largest_difference(f, X, order):
    return bool((f(X[order]) - f(X)[order]).abs().max() < 1e-4)


def equivariance__tensor(f, X, order):
    before, after = f(X), f(X[order])
    return torch.isclose(after, before[order], atol=1e-4, rtol=0.0).all()


def equivariance__word_by_word(f, X, order):
    before, after = f(X), f(X[order])
    return all(
        torch.allclose(after[new], before[old], atol=1e-4) for new, old in enumerate(order.tolist())
    )


def design__scaled():
    W_k = 3 * torch.eye(3)
    return torch.tensor([[0.0, 2, 0], [0, 0, 2], [0, 2, 0]]), W_k


def design__wider():
    W_k = F.pad(torch.eye(3), (0, 2))
    W_q = torch.zeros(3, 5)
    W_q[0, 1] = W_q[1, 2] = W_q[2, 1] = 6.0
    return [W_q, W_k]
