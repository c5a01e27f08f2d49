"""Transformer-XL entero: lee por segmentos, y recuerda los anteriores.

Basta PyTorch: `python transformer_xl.py` lo entrena en un minuto.
"""

import math
import random

import torch
import torch.nn.functional as F
from torch import nn

# -------------------------------------------------------------- los datos
# «pica el ajo y la cebolla y sofríe» es un segmento, y el siguiente,
# «la : la cebolla queda dorada . sal». ¿Quién era «la»? Está en el otro.
NOUNS = {
    "el": ["ajo", "apio", "tomate", "pepino", "pimiento", "puerro", "hinojo"],
    "la": ["cebolla", "papa", "zanahoria", "yuca", "calabaza", "remolacha"],
}
VERBS = "pica lava pela corta ralla".split(), "sofríe hierve asa dora".split()
SEGMENT, REFERENT = 8, 11  # la palabra 11 de cada oración es el nombre


def sentence(rng):
    """Dos segmentos: en el segundo, un pronombre y a quién se refería."""
    names = [(article, rng.choice(NOUNS[article])) for article in ("el", "la")]
    (article, noun), (one, other) = rng.choice(names), rng.sample(names, 2)
    first, then = map(rng.choice, VERBS)
    pronoun, end = {"el": ("lo", "o"), "la": ("la", "a")}[article]
    return (
        f"{first} {' '.join(one)} y {' '.join(other)} y {then} "
        f"{pronoun} : {article} {noun} queda dorad{end} . sal"
    ).split()


TOKENS = sorted({w for n in range(3000) for w in sentence(random.Random(n))})
IDS = {token: i for i, token in enumerate(TOKENS)}


# ------------------------------------------------------------- el modelo
def distances(length, like):
    """PE de las distancias, de `length` − 1 a 0: senos y cosenos."""
    d_model = like.shape[-1]
    rates = 10_000 ** (-torch.arange(0, d_model, 2, dtype=like.dtype) / d_model)
    away = torch.arange(length - 1, -1, -1, dtype=like.dtype)[:, None] * rates
    return torch.stack([away.sin(), away.cos()], dim=-1).flatten(1)


class RelativeAttention(nn.Module):
    """S_ij = ((Q_i + u) K_jᵀ + (Q_i + v) r_{i−j}ᵀ) / √d_k."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k, self.W_v, self.W_r, self.W_h = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(5)
        )
        self.u = nn.Parameter(torch.zeros(heads, 1, d_model // heads))
        self.v = nn.Parameter(torch.zeros(heads, 1, d_model // heads))
        self.softmax = nn.Softmax(dim=-1)

    def split(self, X):
        return X.unflatten(-1, (self.heads, -1)).transpose(-3, -2)

    def forward(self, x, memory):
        seen = torch.cat([memory, x], dim=1)
        Q = self.split(self.W_q(x))
        K, V = self.split(self.W_k(seen)), self.split(self.W_v(seen))
        t, n = x.shape[1], seen.shape[1]
        R = self.split(self.W_r(distances(n + 1, x)))
        by_distance = (Q + self.v) @ R.mT  # una columna por distancia
        shifted = by_distance.flatten(-2)[..., t:].unflatten(-1, (t, n))
        scores = ((Q + self.u) @ K.mT + shifted) / math.sqrt(Q.shape[-1])
        visible = torch.ones(t, n, dtype=torch.bool).tril(n - t)
        A = self.softmax(scores.masked_fill(~visible, -math.inf))
        return self.W_h((A @ V).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Atención al segmento y a su memoria; después, la red."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attention = RelativeAttention(d_model, heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
        )
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, memory):
        x = self.norm_1(x + self.attention(x, memory))
        return self.norm_2(x + self.feed_forward(x))


class TransformerXL(nn.Module):
    """Cada bloque recuerda lo que entró en él, sin su gradiente."""

    def __init__(self, vocab, d_model=64, heads=4, layers=2, d_ff=128, m=8):
        super().__init__()
        self.memory_length = m
        self.table = nn.Embedding(vocab, d_model)
        nn.init.normal_(self.table.weight, std=1 / math.sqrt(d_model))
        blocks = [Block(d_model, heads, d_ff) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, ids, memory=None):
        x, kept = math.sqrt(self.table.embedding_dim) * self.table(ids), []
        memory = memory or [x[:, :0]] * len(self.blocks)  # vacía
        for block, past in zip(self.blocks, memory):
            seen = torch.cat([past, x], dim=1).detach()
            kept.append(seen[:, max(seen.shape[1] - self.memory_length, 0) :])
            x = block(x, past)
        return x @ self.table.weight.T + self.bias, kept


# ------------------------------------------------- entrenarlo y preguntarle
def read(model, ids, remember=True):
    """Los logits de todos los segmentos, leídos uno tras otro."""
    memory, logits = None, []
    for segment in ids.split(SEGMENT, dim=1):
        scores, memory = model(segment, memory if remember else None)
        logits.append(scores)
    return torch.cat(logits, dim=1)


def draw(rng, n):
    return torch.tensor([[IDS[w] for w in sentence(rng)] for _ in range(n)])


def train(model, steps=400, peak=4e-3, warmup=40, seed=0):
    """Predecir cada token con los anteriores; da las pérdidas."""
    rng, losses = random.Random(seed), []
    adam = torch.optim.Adam(model.parameters())
    for step in range(1, steps + 1):
        ids = draw(rng, 64)
        logits = read(model, ids)[:, :-1]
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        rate = min(step / warmup, 0.5 + 0.5 * math.cos(math.pi * step / steps))
        adam.param_groups[0]["lr"] = peak * rate
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def hits(model, remember, n=300):
    """Qué fracción de los nombres del segundo segmento acierta."""
    ids = draw(random.Random(1), n)
    guess = read(model, ids, remember)[:, REFERENT - 1].argmax(dim=-1)
    return (guess == ids[:, REFERENT]).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    model = TransformerXL(len(TOKENS))
    losses = train(model)
    print(f"pérdida: de {losses[0]:.2f} a {sum(losses[-50:]) / 50:.2f}")
    print(f"con memoria, acierta el {hits(model, True):.0%} de los nombres;")
    print(f"sin ella, el {hits(model, False):.0%}")
