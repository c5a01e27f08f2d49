"""Otras soluciones correctas de «Tokenización y posiciones»: `ejercicio__estilo`."""

import math
from collections import Counter
from itertools import pairwise

import torch
import torch.nn.functional as F

raw_bytes__encoded = list("piña".encode())
raw_bytes__tuple = (0x70, 0x69, 0xC3, 0xB1, 0x61)


def merge__while(symbols, pair, new):
    result, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and (symbols[i], symbols[i + 1]) == tuple(pair):
            result.append(new)
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


def merge__recursive(symbols, pair, new):
    if len(symbols) < 2:
        return list(symbols)
    first, second, *rest = symbols
    if (first, second) == pair:
        return [new, *merge__recursive(rest, pair, new)]
    return [first, *merge__recursive(symbols[1:], pair, new)]


def best_pair__dictionary(words):
    counts = {}
    for symbols, frequency in words:
        for i in range(len(symbols) - 1):
            pair = symbols[i], symbols[i + 1]
            counts[pair] = counts.get(pair, 0) + frequency
    most = max(counts.values())
    return sorted(pair for pair, count in counts.items() if count == most)[0]


def best_pair__list(words):
    counts = Counter()
    for symbols, frequency in words:
        for pair in pairwise(symbols):
            counts.update({pair: frequency})
    return list(max(sorted(counts), key=counts.get))


def encode__oldest_first(symbols, merges):
    rank = {tuple(pair): k for k, pair in enumerate(merges)}
    symbols = list(symbols)
    while True:
        pairs = [p for p in pairwise(symbols) if p in rank]
        if not pairs:
            return symbols
        oldest = min(pairs, key=rank.get)
        symbols = merge__while(symbols, oldest, 256 + rank[oldest])


def encode__in_place(symbols, merges):
    tokens = [*symbols]
    for k, (left, right) in enumerate(merges):
        i = 0
        while i < len(tokens) - 1:
            if tokens[i] == left and tokens[i + 1] == right:
                tokens[i : i + 2] = [256 + k]
            i += 1
    return tuple(tokens)


def cosine__library(X, Y):
    return F.cosine_similarity(X[:, None], Y[None], dim=-1)


def cosine__after_the_product(X, Y):
    norms = X.square().sum(1).sqrt()[:, None] * torch.linalg.vector_norm(Y, dim=1)
    return torch.einsum("nd,md->nm", X, Y) / norms


def cosine__loops(X, Y):
    rows = [[torch.dot(x, y) / (x.norm() * y.norm()) for y in Y] for x in X]
    return torch.tensor(rows, dtype=X.dtype)


def positions__loops(length, d_model):
    table = torch.zeros(length, d_model)
    for position in range(length):
        for i in range(0, d_model, 2):
            angle = position / 10000 ** (i / d_model)
            table[position, i] = math.sin(angle)
            table[position, i + 1] = math.cos(angle)
    return table


def positions__interleaved(length, d_model):
    table = torch.empty(length, d_model)
    frequencies = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    angles = torch.outer(torch.arange(length).float(), frequencies)
    table[:, 0::2], table[:, 1::2] = torch.sin(angles), torch.cos(angles)
    return table
