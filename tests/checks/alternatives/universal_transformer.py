"""Otras soluciones correctas de «Universal Transformer»: `ejercicio__estilo`."""

import math

import torch


def step_encodings__loops(length, num_steps, d_model):
    table = torch.zeros(num_steps, length, d_model)
    for n in range(num_steps):
        for t in range(length):
            for i in range(0, d_model, 2):
                divisor = 10000 ** (i / d_model)
                table[n, t, i] = math.sin((t + 1) / divisor) + math.sin((n + 1) / divisor)
                table[n, t, i + 1] = math.cos((t + 1) / divisor) + math.cos((n + 1) / divisor)
    return table


def step_encodings__one_function(length, num_steps, d_model):
    def encode(count):
        n = torch.arange(1, count + 1, dtype=torch.float64)
        angles = n[:, None] * 10000 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(count, d_model)

    return (encode(num_steps).unsqueeze(1) + encode(length).unsqueeze(0)).float()


def halting__cumulative(p, epsilon):
    stops = p.cumsum(0) >= 1 - epsilon
    last = int(stops.to(torch.uint8).argmax()) if stops.any() else len(p) - 1
    remainder = 1 - p[:last].sum()
    weights = torch.cat([p[:last], remainder[None], torch.zeros_like(p[last + 1 :])])
    return weights, last + 1, remainder


def halting__recursive(p, epsilon):
    def spend(n, left):
        if n == len(p) - 1 or left - p[n] <= epsilon:
            return [left], n + 1, left
        rest, steps, remainder = spend(n + 1, left - p[n])
        return [p[n], *rest], steps, remainder

    used, steps, remainder = spend(0, torch.ones((), dtype=p.dtype))
    used += [torch.zeros((), dtype=p.dtype)] * (len(p) - len(used))
    return [torch.stack(used), torch.tensor(steps), remainder]


def _weights(p, epsilon):
    """Los pesos de una posición."""
    total, weights = 0.0, torch.zeros_like(p)
    for n, each in enumerate(p):
        if total + each >= 1 - epsilon or n + 1 == len(p):
            weights[n] = 1 - total
            return weights
        weights[n] = each
        total = total + each


def remainder_bug__position_by_position(states, p, epsilon):
    A = torch.stack([_weights(p[:, i], epsilon) for i in range(p.shape[1])], dim=1)
    return torch.einsum("nt,ntd->td", A, states)


def remainder_bug__without_loops(states, p, epsilon):
    before = p.cumsum(0) - p
    running = before < 1 - epsilon
    ends = before + p >= 1 - epsilon
    ends = torch.cat([ends[:-1], torch.ones_like(ends[:1])])
    weights = torch.where(ends, 1 - before, p) * running
    return (weights[..., None] * states).sum(dim=0)


def adaptive_loop__all_then_mix(x, block, halting, max_steps, epsilon):
    state, output = x, torch.zeros_like(x)
    left = torch.ones(x.shape[:-1], dtype=x.dtype)
    steps, remainder = torch.zeros_like(left), torch.zeros_like(left)
    running = torch.ones_like(left)
    for n in range(max_steps):
        p = halting(state)
        stops = running * ((left - p <= epsilon) | (n == max_steps - 1)).to(x.dtype)
        running = running - stops
        moved = block(state)
        state = state + (running + stops)[..., None] * (moved - state)
        weight = running * p + stops * left
        output = output + weight[..., None] * state
        remainder = remainder + stops * left
        steps = steps + running + stops
        left = left - running * p
    return [output, steps.long(), remainder]


def adaptive_loop__until_all_stop(x, block, halting, max_steps, epsilon):
    state, mixed = x, 0.0
    total = torch.zeros(x.shape[:2])
    active = torch.ones(x.shape[:2], dtype=torch.bool)
    steps, remainder = torch.zeros(x.shape[:2], dtype=torch.int32), torch.zeros(x.shape[:2])
    while active.any():
        p = halting(state)
        final = bool(steps.max() == max_steps - 1)
        stop = active & ((total + p >= 1 - epsilon) | torch.tensor(final))
        weight = torch.where(stop, 1 - total, p).masked_fill(~active, 0.0)
        remainder = torch.where(stop, 1 - total, remainder)
        state = torch.where(active.unsqueeze(-1), block(state), state)
        mixed = mixed + weight.unsqueeze(-1) * state
        total = total + weight
        steps = steps + active.int()
        active = active & stop.logical_not()
    return mixed, steps, remainder


def ponder_bug__position_by_position(p, real, epsilon):
    costs = []
    for column in p.flatten(1)[:, real.flatten()].T:
        total = 0.0
        for n, each in enumerate(column, 1):
            if total + each >= 1 - epsilon or n == len(column):
                costs.append(n + (1 - total))
                break
            total = total + each
    return sum(costs) / len(costs)


def ponder_bug__steps_and_remainders(p, real, epsilon):
    before = torch.cat([torch.zeros_like(p[:1]), p.cumsum(0)[:-1]])
    running = before < 1 - epsilon
    steps = running.sum(0)
    remainder = 1 - before.gather(0, (steps - 1)[None])[0]
    return torch.masked_select(steps + remainder, real).mean()


def shared_halting_bug__matmul(p, real):
    t = p.shape[1]
    seen = torch.ones(t, t).tril() * real[:, None]
    shared = (seen @ p[..., None]).squeeze(-1) / seen.sum(-1).clamp(min=1)
    return shared * real


def shared_halting_bug__loops(p, real):
    shared = torch.zeros_like(p)
    for b in range(p.shape[0]):
        seen = []
        for i in range(p.shape[1]):
            if real[b, i]:
                seen.append(p[b, i])
                shared[b, i] = sum(seen) / len(seen)
    return shared


def active_only__position_by_position(state, active, block):
    rows = []
    for row, who in zip(state, active, strict=True):
        new = [block(x[None], row)[0] if a else x for x, a in zip(row, who, strict=True)]
        rows.append(torch.stack(new))
    return torch.stack(rows)


def active_only__index_copy(state, active, block):
    rows = []
    for b in range(len(state)):
        places = active[b].nonzero().squeeze(-1)
        rows.append(
            state[b].index_copy(0, places, block(state[b].index_select(0, places), state[b]))
        )
    return torch.stack(rows)
