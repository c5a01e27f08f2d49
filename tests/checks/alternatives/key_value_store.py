"""Otras soluciones correctas de «Almacén clave-valor»: `ejercicio__estilo`."""

import torch
import torch.nn.functional as F
from einops import einsum, rearrange


def hard_lookup__loop(query, K, V):
    best, place = None, 0
    for i, key in enumerate(K):
        score = float(torch.dot(query, key))
        if best is None or score > best:
            best, place = score, i
    return V[place]


def hard_lookup__one_hot(query, K, V):
    chosen = F.one_hot((K * query).sum(dim=1).argmax(), len(K))
    return chosen.to(V.dtype) @ V


def soft_lookup__loop(query, K, V, beta):
    scores = torch.stack([beta * torch.dot(query, key) for key in K])
    weights = torch.softmax(scores, 0)
    return sum(a * value for a, value in zip(weights, V, strict=True))


def soft_lookup__fused(query, K, V, beta):
    return F.scaled_dot_product_attention(query[None], K, V, scale=beta).squeeze(0)


def soft_lookup__einsum(query, K, V, beta):
    scores = beta * torch.einsum("d,nd->n", query, K)
    weights = (scores - scores.logsumexp(0)).exp()
    return torch.einsum("n,nd->d", weights, V)


def look_up_all__einsum(Q, K, V):
    scores = torch.einsum("...id,...jd->...ij", Q, K) / K.size(-1) ** 0.5
    A = scores.softmax(-1)
    return torch.einsum("...ij,...jv->...iv", A, V), A


def look_up_all__scaled_queries(Q, K, V):
    A = F.softmax((Q / Q.new_tensor(Q.shape[-1]).sqrt()) @ K.transpose(-2, -1), dim=-1)
    return [torch.matmul(A, V), A]


def split_heads__view(X, num_heads):
    batch, t, d = X.shape
    return X.reshape(batch, t, num_heads, d // num_heads).permute(0, 2, 1, 3)


def split_heads__chunks(X, num_heads):
    return torch.stack(X.chunk(num_heads, dim=-1), dim=1)


def split_heads__slices(X, num_heads):
    width = X.shape[-1] // num_heads
    result = X.new_zeros(X.shape[0], num_heads, X.shape[1], width)
    for head in range(num_heads):
        result[:, head] = X[..., head * width : (head + 1) * width]
    return result


def stacked_projection__slices(project, W_q, W_k, W_v):
    Y = project(torch.hstack([W_q, W_k, W_v]))
    a, b = W_q.shape[1], W_q.shape[1] + W_k.shape[1]
    return [Y[..., :a], Y[..., a:b], Y[..., b:]]


def stacked_projection__other_order(project, W_q, W_k, W_v):
    stacked = torch.cat((W_v.T, W_q.T, W_k.T)).T
    V, Q, K = project(stacked).tensor_split((W_v.shape[1], W_v.shape[1] + W_q.shape[1]), dim=-1)
    return Q, K, V


def stacked_projection__interleaved(project, W_q, W_k, W_v):
    widths = [W.shape[1] for W in (W_q, W_k, W_v)]
    which = torch.cat([torch.full((n,), i) for i, n in enumerate(widths)])
    order = torch.randperm(len(which))
    Y = project(torch.cat([W_q, W_k, W_v], 1)[:, order])[..., order.argsort()]
    return [Y[..., which == i] for i in range(3)]


def multi_head__views(X, W_q, W_k, W_v, W_h, num_heads):
    def heads(Y):
        return Y.view(*Y.shape[:2], num_heads, -1).transpose(1, 2)

    Q, K, V = heads(X @ W_q), heads(X @ W_k), heads(X @ W_v)
    H = F.scaled_dot_product_attention(Q, K, V)
    return H.transpose(1, 2).reshape(*X.shape[:2], -1) @ W_h


def multi_head__one_head_at_a_time(X, W_q, W_k, W_v, W_h, num_heads):
    parts = zip(*(W.chunk(num_heads, dim=1) for W in (W_q, W_k, W_v)), strict=True)
    output = 0
    for (q, k, v), W in zip(parts, W_h.chunk(num_heads), strict=True):
        A = torch.softmax((X @ q) @ (X @ k).mT * q.shape[1] ** -0.5, dim=-1)
        output = output + A @ (X @ v) @ W
    return output


def multi_head__einsum(X, W_q, W_k, W_v, W_h, num_heads):
    Q, K, V = (rearrange(X @ W, "b t (h d) -> b t h d", h=num_heads) for W in (W_q, W_k, W_v))
    scores = einsum(Q, K, "b i h d, b j h d -> b h i j") / Q.shape[-1] ** 0.5
    H = einsum(scores.softmax(-1), V, "b h i j, b j h d -> b i h d")
    return rearrange(H, "b t h d -> b t (h d)") @ W_h


def top_k__merge_sorted(scores, indices, Q, K_chunk, start, k):
    new, rows = (Q @ K_chunk.mT).topk(min(k, len(K_chunk)), dim=-1)
    scores, indices = torch.hstack([scores, new]), torch.hstack([indices, rows + start])
    order = scores.argsort(dim=1, descending=True, stable=True)[:, :k]
    return scores.gather(1, order), indices.gather(1, order)


def top_k__query_by_query(scores, indices, Q, K_chunk, start, k):
    values, places = [], []
    for q, old, where in zip(Q, scores.tolist(), indices.tolist(), strict=True):
        found = [(-score, i) for score, i in zip(old, where, strict=True)]
        found += [(-score, start + i) for i, score in enumerate((K_chunk @ q).tolist())]
        found = sorted(found)[:k]
        values.append([-score for score, _ in found])
        places.append([i for _, i in found])
    return torch.tensor(values, dtype=Q.dtype), torch.tensor(places)


def top_k__one_key_at_a_time(scores, indices, Q, K_chunk, start, k):
    best = [list(zip(*row, strict=True)) for row in zip(scores, indices, strict=True)]
    for row, key in enumerate(K_chunk, start):
        for mine, score in zip(best, Q @ key, strict=True):
            place = sum(bool(other >= score) for other, _ in mine)
            mine.insert(place, (score, torch.tensor(row)))
            del mine[k:]
    return [torch.stack([torch.stack([pair[i] for pair in mine]) for mine in best]) for i in (0, 1)]
