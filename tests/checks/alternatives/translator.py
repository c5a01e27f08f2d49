"""Otras soluciones correctas de «Traductor»: `ejercicio__estilo`."""

import math

import torch
import torch.nn.functional as F


def teacher_forcing__columns(target, pad_id):
    columns = target.unbind(dim=1)
    labels = torch.stack(columns[1:], dim=1)
    return [torch.stack(columns[:-1], dim=1), labels, ~labels.eq(pad_id)]


def teacher_forcing__rows(target, pad_id):
    rows = target.tolist()
    inputs = torch.tensor([row[:-1] for row in rows])
    labels = torch.tensor([row[1:] for row in rows])
    counted = torch.tensor([[token != pad_id for token in row[1:]] for row in rows])
    return inputs, labels, counted


def label_smoothing__library(logits, targets, epsilon, pad_id):
    return F.cross_entropy(logits, targets, ignore_index=pad_id, label_smoothing=epsilon)


def label_smoothing__distribution(logits, targets, epsilon, pad_id):
    vocab = logits.shape[-1]
    q = (1 - epsilon) * F.one_hot(targets, vocab) + epsilon / vocab
    losses = -(q * logits.log_softmax(-1)).sum(-1)
    counted = (targets != pad_id).to(losses.dtype)
    return (losses * counted).sum() / counted.sum()


def label_smoothing__row_by_row(logits, targets, epsilon, pad_id):
    losses = []
    for z, y in zip(logits, targets.tolist(), strict=True):
        if y != pad_id:
            log_p = z - z.logsumexp(0)
            losses.append(-(1 - epsilon) * log_p[y] - epsilon * log_p.mean())
    return sum(losses) / len(losses)


def warmup__two_branches(step, d_model, warmup):
    rate = step / warmup**1.5 if step < warmup else 1 / math.sqrt(step)
    return rate / math.sqrt(d_model)


def warmup__tensor(step, d_model, warmup):
    step = torch.tensor(float(step), dtype=torch.float64)
    return torch.minimum(step.rsqrt(), step * warmup**-1.5) * d_model**-0.5


def length_penalty__logarithms(log_probabilities, lengths, alpha):
    return log_probabilities * torch.exp(-alpha * (torch.log(5.0 + lengths) - math.log(6)))


def length_penalty__loop(log_probabilities, lengths, alpha):
    pairs = zip(log_probabilities, lengths.tolist(), strict=True)
    return torch.stack([p * 6**alpha / (5 + n) ** alpha for p, n in pairs])


def beam_step__sorted(totals, log_p, beam_size):
    vocab = log_p.shape[1]
    extended = (totals.unsqueeze(1) + log_p).reshape(-1)
    places = extended.sort(descending=True, stable=True).indices[:beam_size]
    parents = torch.div(places, vocab, rounding_mode="floor")
    return extended[places], parents, places - parents * vocab


def beam_step__loops(totals, log_p, beam_size):
    extended = [
        ((total + p).item(), parent, token)
        for parent, (total, row) in enumerate(zip(totals, log_p, strict=True))
        for token, p in enumerate(row)
    ]
    best = sorted(extended, key=lambda h: -h[0])[:beam_size]
    values, parents, tokens = zip(*best, strict=True)
    return torch.tensor(values, dtype=totals.dtype), torch.tensor(parents), torch.tensor(tokens)


def beam_search__tensors(log_p, start, end, beam_size, alpha, max_length):
    tokens, totals = torch.tensor([[start]]), torch.zeros(1, dtype=log_p.dtype)
    finished = []
    for _ in range(max_length):
        if len(tokens) == 0:
            break
        extended = totals[:, None] + log_p[tokens[:, -1]]
        totals, places = extended.flatten().topk(min(beam_size, extended.numel()))
        parents, new = places // log_p.shape[1], places % log_p.shape[1]
        tokens = torch.cat([tokens[parents], new[:, None]], dim=1)
        ended = new == end
        finished += list(zip(tokens[ended].tolist(), totals[ended].tolist(), strict=True))
        tokens, totals = tokens[~ended], totals[~ended]
    finished = finished or list(zip(tokens.tolist(), totals.tolist(), strict=True))
    ranked = [(total * 6**alpha / (4 + len(ids)) ** alpha, ids[1:]) for ids, total in finished]
    score, ids = max(ranked, key=lambda pair: pair[0])
    return ids, score


def beam_search__stop_early(log_p, start, end, beam_size, alpha, max_length):
    table = log_p.tolist()
    beam, finished = [(0.0, [], start)], []
    for length in range(1, max_length + 1):
        extended = [
            (total + p, [*ids, y], y)
            for total, ids, last in beam
            for y, p in enumerate(table[last])
        ]
        extended.sort(key=lambda h: h[0], reverse=True)
        kept = extended[:beam_size]
        penalty = ((5 + length) / 6) ** alpha
        finished += [(total / penalty, ids) for total, ids, y in kept if y == end]
        beam = [h for h in kept if h[2] != end]
        if not beam:
            break
    if not finished:
        finished = [(total / ((5 + len(ids)) / 6) ** alpha, ids) for total, ids, _ in beam]
    score, ids = max(finished, key=lambda h: h[0])
    return tuple(ids), torch.tensor(score)


def beam_search__stop_when_no_open_one_can_win(log_p, start, end, beam_size, alpha, max_length):
    """Lo más que puede sacar una abierta: no perder nada más, y llegar al límite."""

    def penalty(n):
        return ((5 + n) / 6) ** alpha

    opened, best, answer = [(0.0, [])], -math.inf, None
    for n in range(1, max_length + 1):
        extended = [
            (total + log_p[ids[-1] if ids else start, y].item(), [*ids, y])
            for total, ids in opened
            for y in range(log_p.shape[0])
        ]
        opened = []
        for total, ids in sorted(extended, reverse=True)[:beam_size]:
            if ids[-1] != end:
                opened.append((total, ids))
            elif total / penalty(n) > best:
                best, answer = total / penalty(n), ids
        if not opened or opened[0][0] / penalty(max_length) <= best:
            break
    if answer is None:
        best, answer = opened[0][0] / penalty(max_length), opened[0][1]
    return answer, best


def top_p__scatter(probabilities, p):
    values, order = torch.sort(probabilities, dim=-1, descending=True)
    before = F.pad(values.cumsum(-1)[:, :-1], (1, 0))
    kept = torch.zeros_like(values).scatter(1, order, values.masked_fill(before >= p, 0.0))
    return kept.div(kept.sum(-1, keepdim=True))


def top_p__row_by_row(probabilities, p):
    rows = []
    for row in probabilities:
        total, kept = 0.0, torch.zeros_like(row)
        for token in row.argsort(descending=True).tolist():
            if total >= p:
                break
            kept[token] = row[token]
            total += float(row[token])
        rows.append(kept / kept.sum())
    return torch.stack(rows)


def reorder_bug__index_select(written, cache, parents, tokens):
    chosen = written.index_select(0, parents)
    return torch.hstack([chosen, tokens.unsqueeze(-1)]), cache.index_select(0, parents)


def reorder_bug__loop(written, cache, parents, tokens):
    rows = [[*written[p].tolist(), int(y)] for p, y in zip(parents, tokens, strict=True)]
    return [torch.tensor(rows), torch.stack([cache[p] for p in parents.tolist()])]
