"""Otras soluciones correctas de «BERT»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F


def join_pair__slices(first, second, class_id, separator_id, max_length):
    room = max_length - 3
    n, m = len(first), len(second)
    while n + m > room:
        if n > m:
            n -= 1
        else:
            m -= 1
    a = [class_id, *first[:n], separator_id]
    b = [*second[:m], separator_id]
    return a + b, len(a) * [0] + len(b) * [1]


def join_pair__formula(first, second, class_id, separator_id, max_length):
    room = max_length - 3
    if len(first) + len(second) > room:
        half = room // 2
        n = min(len(first), max(room - half, room - len(second)))
        first, second = first[:n], second[: room - n]
    ids = torch.tensor([class_id, *first, separator_id, *second, separator_id]).tolist()
    return (tuple(ids), tuple(int(i > len(first) + 1) for i in range(len(ids))))


def embeddings__one_hot(token_ids, segment_ids, E, P, S, gain, shift, eps):
    x = F.one_hot(token_ids, len(E)).to(E.dtype) @ E
    x = x + F.one_hot(segment_ids, len(S)).to(S.dtype) @ S
    x = x + P[torch.arange(token_ids.shape[1])]
    mean = x.mean(-1, keepdim=True)
    variance = x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / torch.sqrt(variance + eps) * gain + shift


def embeddings__in_place(token_ids, segment_ids, E, P, S, gain, shift, eps):
    x = F.embedding(token_ids, E)
    x += F.embedding(segment_ids, S)
    for position in range(x.shape[1]):
        x[:, position] += P[position]
    return F.layer_norm(x, [E.shape[1]], eps=eps).mul(gain).add(shift)


def parameters__shapes(vocab, d, layers, d_ff, max_length, segments):
    tables = [(vocab, d), (max_length, d), (segments, d), (d,), (d,)]
    block = [(d, d), (d,)] * 4 + [(d, d_ff), (d_ff,), (d_ff, d), (d,)] + [(d,)] * 4
    return sum(math.prod(shape) for shape in tables + layers * block + [(d, d), (d,)])


def parameters__modules(vocab, d, layers, d_ff, max_length, segments):
    def count(module):
        return sum(p.numel() for p in module.parameters())

    linear, norm = torch.nn.Linear, torch.nn.LayerNorm
    block = 4 * count(linear(d, d)) + count(linear(d, d_ff)) + count(linear(d_ff, d))
    tables = sum(count(torch.nn.Embedding(n, d)) for n in (vocab, max_length, segments))
    return torch.tensor(tables + count(norm(d)) + layers * (block + 2 * count(norm(d))) + d * d + d)


def choose__sorted_rows(token_ids, special_ids, pad_id, draw):
    chosen = torch.zeros_like(token_ids, dtype=torch.bool)
    for row, (ids, drawn) in enumerate(zip(token_ids.tolist(), draw.tolist(), strict=True)):
        ordinary = [i for i, token in enumerate(ids) if token not in list(special_ids)]
        length = sum(token != pad_id for token in ids)
        ordinary.sort(key=lambda i, drawn=drawn: drawn[i])
        chosen[row, ordinary[: max(1, round(0.15 * length))]] = True
    return chosen


def choose__scatter(token_ids, special_ids, pad_id, draw):
    special = sum(token_ids == s for s in special_ids).bool()
    count = torch.clamp(torch.round(0.15 * (token_ids != pad_id).sum(1)), min=1)
    order = torch.where(special, 2.0, draw).argsort(dim=1)
    first = torch.arange(token_ids.shape[1]) < count[:, None]
    return torch.zeros_like(special).scatter(1, order, first) & ~special


def masking_bug__in_place(token_ids, chosen, draw, others, mask_id):
    masked, labels = token_ids.clone(), token_ids.clone()
    labels[~chosen] = -100
    hidden = chosen & (draw < 0.8)
    changed = chosen & (draw >= 0.8) & (draw < 0.9)
    masked[hidden] = mask_id
    masked[changed] = others[changed]
    return masked, labels


def masking_bug__loops(token_ids, chosen, draw, others, mask_id):
    masked, labels = [], []
    for ids, picks, drawn, random in zip(
        *(x.tolist() for x in (token_ids, chosen, draw, others)), strict=True
    ):
        row = []
        for token, pick, u, other in zip(ids, picks, drawn, random, strict=True):
            row.append(token if not pick or u >= 0.9 else mask_id if u < 0.8 else other)
        masked.append(row)
        labels.append([t if pick else -100 for t, pick in zip(ids, picks, strict=True)])
    return [torch.tensor(masked), torch.tensor(labels)]


def predict__all_then_choose(H, chosen, W, b, gain, shift, eps, E, c):
    h = F.gelu(torch.einsum("btd,de->bte", H, W) + b)
    h = (h - h.mean(-1, keepdim=True)) / (h.var(-1, correction=0, keepdim=True) + eps).sqrt()
    return F.linear(h * gain + shift, E, c)[chosen]


def predict__by_hand(H, chosen, W, b, gain, shift, eps, E, c):
    rows = []
    for i, j in chosen.nonzero().tolist():
        z = H[i, j] @ W + b
        z = z * 0.5 * (1 + torch.erf(z / math.sqrt(2)))
        z = z - z.mean()
        rows.append(E @ (z / torch.sqrt((z * z).mean() + eps) * gain + shift) + c)
    return torch.stack(rows)


def masked_loss__library(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


def masked_loss__transposed(logits, labels):
    losses = F.cross_entropy(logits.mT, labels, reduction="none")
    return losses.sum() / (labels != -100).sum()


def masked_loss__loops(logits, labels):
    losses = [
        z.logsumexp(0) - z[y]
        for row, answers in zip(logits, labels.tolist(), strict=True)
        for z, y in zip(row, answers, strict=True)
        if y != -100
    ]
    return torch.stack(losses).mean()


def options__option_by_option(read, token_ids, segment_ids, W, b, w):
    scores = []
    for option in range(token_ids.shape[1]):
        H = read(token_ids[:, option], segment_ids[:, option])
        scores.append(torch.tanh(F.linear(H[:, 0], W.T, b)).mv(w))
    powers = torch.stack(scores, dim=1).exp()
    return powers / powers.sum(1, keepdim=True)


def options__example_by_example(read, token_ids, segment_ids, W, b, w):
    rows = []
    for ids, segments in zip(token_ids, segment_ids, strict=True):
        first = read(ids, segments).select(1, 0)
        rows.append(torch.softmax((first.matmul(W).add(b).tanh() * w).sum(-1), dim=0))
    return torch.stack(rows)


def best_span__loops(start, end, candidates, longest):
    spans = []
    for s, e, may in zip(start.tolist(), end.tolist(), candidates.tolist(), strict=True):
        allowed = [
            (s[i] + e[j], -i, -j)
            for i in range(len(s))
            for j in range(i, min(i + longest, len(s)))
            if may[i] and may[j]
        ]
        _, i, j = max(allowed)
        spans.append([-i, -j])
    return torch.tensor(spans)


def best_span__band(start, end, candidates, longest):
    start = start.masked_fill(~candidates, -math.inf)
    end = end.masked_fill(~candidates, -math.inf)
    t = start.shape[1]
    band = torch.ones(t, t).triu().tril(longest - 1).log()
    total = start.unsqueeze(2) + end.unsqueeze(1) + band
    best_end = total.max(dim=2)
    i = best_end.values.argmax(dim=1, keepdim=True)
    return torch.cat([i, best_end.indices.gather(1, i)], dim=1)


def piece_labels__index(pieces, tags):
    labels, word = [], -1
    for piece in pieces:
        if piece in {"[CLS]", "[SEP]", "[PAD]"} or piece[:2] == "##":
            labels.append(-100)
        else:
            word += 1
            labels.append(tags[word])
    return tuple(labels)


def piece_labels__filled(pieces, tags):
    labels = [-100] * len(pieces)
    begins = [
        i for i, p in enumerate(pieces) if not p.startswith(("##", "[CLS]", "[SEP]", "[PAD]"))
    ]
    for place, tag in zip(begins, tags, strict=True):
        labels[place] = tag
    return labels


def features__stacked(hidden, recipe):
    layers = torch.stack(list(hidden))
    if recipe == "sum":
        return layers[1:].sum(0)
    if recipe == "last_four":
        return layers[-4:].permute(1, 2, 0, 3).flatten(2)
    return layers[{"last": -1, "second_to_last": -2}[recipe]]


def features__match(hidden, recipe):
    n = len(hidden)
    match recipe:
        case "last":
            return hidden[n - 1]
        case "second_to_last":
            return hidden[n - 2]
        case "sum":
            total = torch.zeros_like(hidden[0])
            for layer in hidden[1:]:
                total += layer
            return total
        case _:
            return torch.concatenate([hidden[i] for i in range(n - 4, n)], axis=2)
