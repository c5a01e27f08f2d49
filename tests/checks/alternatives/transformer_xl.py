"""Otras soluciones correctas de «Transformer-XL»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F


def segments__row_by_row(stream, batch_size, length):
    t = (stream.numel() - 1) // batch_size
    rows = [stream[r * t : r * t + t + 1] for r in range(batch_size)]
    pairs = []
    for start in range(0, t, length):
        stop = min(start + length, t)
        pairs.append(
            (
                torch.stack([row[start:stop] for row in rows]),
                torch.stack([row[start + 1 : stop + 1] for row in rows]),
            )
        )
    return pairs


def segments__unfold(stream, batch_size, length):
    t = (len(stream) - 1) // batch_size
    rows = stream[: batch_size * t + 1].unfold(0, t + 1, t)
    return [
        [rows[:, s : min(s + length, t)], rows[:, s + 1 : s + length + 1]]
        for s in range(0, t, length)
    ]


def memory_bug__no_grad(states, memory, memory_length):
    with torch.no_grad():
        joined = torch.cat((memory, states), 1)
        kept = min(memory_length, joined.shape[1])
        return joined.narrow(1, joined.shape[1] - kept, kept).clone()


def memory_bug__flipped(states, memory, memory_length):
    newest_first = torch.cat((states.detach().flip(1), memory.detach().flip(1)), dim=1)
    return newest_first[:, :memory_length].flip(1)


def first_seen__recursive(position, num_layers, memory_length, segment_length):
    if num_layers == 0:
        return position
    start = position - position % segment_length
    below = start - memory_length if start > memory_length else 0
    return first_seen__recursive(below, num_layers - 1, memory_length, segment_length)


def first_seen__closed_form(position, num_layers, memory_length, segment_length):
    m, L = memory_length, segment_length
    reach = m + (num_layers - 1) * L * math.ceil(m / L)  # `eq-segment-reach` del capítulo
    return max(position - position % L - reach, 0)


def first_seen__reachable(position, num_layers, memory_length, segment_length):
    n = torch.arange(position + 1)
    start = n // segment_length * segment_length
    sees = (n <= n[:, None]) & (n >= start[:, None] - memory_length)
    reached = n == position
    for _ in range(num_layers):
        reached = (reached[:, None] & sees).any(0)
    return reached.long().argmax()


def mask__tril(length, memory_length):
    return torch.ones(length, memory_length + length).tril(memory_length) > 0


def mask__concatenated(length, memory_length):
    past = torch.full((length, memory_length), True)
    return torch.hstack([past, ~torch.ones(length, length, dtype=torch.bool).triu(1)])


def shift_bug__gather(S):
    t, t_k = S.shape[-2], S.shape[-1] - 1
    i, j = torch.arange(t)[:, None], torch.arange(t_k)
    # La columna del relleno es la primera: la de distancia i − j + (t_k − t) está al final.
    column = (j - i + t).clamp(max=t_k)
    shifted = S.gather(-1, column.expand(*S.shape[:-2], t, t_k))
    return shifted.masked_fill(j > i + t_k - t, -math.inf)


def shift_bug__row_by_row(S):
    t, t_k = S.shape[-2], S.shape[-1] - 1
    rows = []
    for i in range(t):
        kept = S[..., i, t - i :]
        rows.append(F.pad(kept, (0, t_k - kept.shape[-1]), value=-math.inf))
    return torch.stack(rows, dim=-2)


def scores__gather(X, memory, R, W_q, W_k, W_r, u, v):
    m, t = memory.shape[1], X.shape[1]
    Q, K = X @ W_q, torch.cat([memory, X], 1) @ W_k
    content = torch.einsum("bid,bjd->bij", Q + u, K)
    position = torch.einsum("bid,cd->bic", Q + v, R @ W_r)
    distance = m + torch.arange(t)[:, None] - torch.arange(m + t)
    column = (m + t - distance).clamp(max=m + t)
    position = position.gather(-1, column.expand_as(content))
    scores = (content + position) / math.sqrt(W_q.shape[1])
    return scores.masked_fill(distance < 0, -math.inf)


def scores__four_terms_by_pairs(X, memory, R, W_q, W_k, W_r, u, v):
    m, t, d_k = memory.shape[1], X.shape[1], W_q.shape[1]
    rows = []
    for x, past in zip(X, memory, strict=True):
        K, r = torch.cat([past, x]) @ W_k, R @ W_r
        row = torch.full((t, m + t), -math.inf, dtype=X.dtype)
        for i in range(t):
            q = x[i] @ W_q
            for j in range(m + i + 1):
                far = r[t - i + j]  # a distancia m + i − j
                row[i, j] = (q @ K[j] + q @ far + u @ K[j] + v @ far) / d_k**0.5
        rows.append(row)
    return torch.stack(rows)


def perplexity_by_position__counts(losses):
    real = ~losses.isnan()
    return torch.exp(losses.nan_to_num(0.0).sum(0) / real.sum(0))


def perplexity_by_position__column_by_column(losses):
    columns = [[x for x in column if x == x] for column in losses.T.tolist()]
    return torch.tensor([math.exp(sum(c) / len(c)) for c in columns], dtype=losses.dtype)


def _keep(states, memory, memory_length):
    joined = torch.cat([memory, states], dim=1).detach()
    return joined[:, -memory_length:] if memory_length else joined[:, :0]


def read__recorded(X, layers, length, memory_length):
    empty = X.new_zeros(X.shape[0], 0, X.shape[2])
    memories, outputs = {}, []
    for start in range(0, X.shape[1], length):
        h = X[:, start : start + length]
        for layer in layers:
            memory = memories.get(layer, empty)
            memories[layer] = _keep(h, memory, memory_length)
            h = layer(h, memory)
        outputs += [h]
    return torch.cat(outputs, 1)


def read__layer_by_layer(X, layers, length, memory_length):
    segments = list(X.split(length, dim=1))
    for layer in layers:
        memory, raised = X[:, :0], []
        for h in segments:
            raised.append(layer(h, memory))
            memory = _keep(h, memory, memory_length)
        segments = raised
    return torch.cat(segments, dim=1)
