"""PaLM entero: un decodificador que escribe, con sus cinco cambios.

Basta PyTorch: `python palm.py` lo entrena en medio minuto, y escribe.
"""

import math
import random
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

linear = partial(nn.Linear, bias=False)  # en PaLM no hay sesgos

# -------------------------------------------------------------- los datos
# «pica el ajo y la cebolla y sofríe la : la cebolla queda dorada .»
NOUNS = {
    "el": ["ajo", "apio", "tomate", "pepino", "pimiento", "puerro", "hinojo"],
    "la": ["cebolla", "papa", "zanahoria", "yuca", "calabaza", "remolacha"],
}
VERBS = "pica lava pela corta ralla".split(), "sofríe hierve asa dora".split()
ADJECTIVES = "dorado tierno blando listo".split()


def sentence(rng):
    """Dos nombres, un pronombre, y a quién se refería."""
    names = [(article, rng.choice(NOUNS[article])) for article in ("el", "la")]
    (article, noun), (one, other) = rng.choice(names), rng.sample(names, 2)
    first, then = map(rng.choice, VERBS)
    pronoun, end = {"el": ("lo", "o"), "la": ("la", "a")}[article]
    return (
        f"{first} {' '.join(one)} y {' '.join(other)} y {then} {pronoun} : "
        f"{article} {noun} queda {rng.choice(ADJECTIVES)[:-1]}{end} ."
    ).split()


TOKENS = sorted({w for n in range(3000) for w in sentence(random.Random(n))})
IDS = {token: i for i, token in enumerate(TOKENS)}


# ------------------------------------------------------------- el modelo
def rotate(X, start):
    """Gira cada par de columnas (i, i + d/2) según su posición: RoPE."""
    t, d = X.shape[-2:]
    rates = 10_000 ** (-torch.arange(0, d, 2, dtype=X.dtype) / d)
    angles = torch.arange(start, start + t, dtype=X.dtype)[:, None] * rates
    a, b = X.chunk(2, dim=-1)
    sin, cos = angles.sin(), angles.cos()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class Attention(nn.Module):
    """Multiconsulta: las cabezas comparten las claves y los valores."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads, self.d_head = heads, d_model // heads
        self.W_q, self.W_h = (linear(d_model, d_model) for _ in range(2))
        self.W_k, self.W_v = (linear(d_model, self.d_head) for _ in range(2))
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, X, past):
        start = 0 if past is None else past[0].shape[-2]
        Q = self.W_q(X).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        Q, K = rotate(Q, start), rotate(self.W_k(X)[:, None], start)
        V = self.W_v(X)[:, None]
        if past is not None:
            K, V = (torch.cat(both, dim=-2) for both in zip(past, (K, V)))
        t, n = Q.shape[-2], K.shape[-2]
        visible = torch.ones(t, n, dtype=torch.bool).tril(start)
        scores = Q @ K.mT / math.sqrt(self.d_head)
        A = self.softmax(scores.masked_fill(~visible, -math.inf))
        return self.W_h((A @ V).transpose(1, 2).flatten(2)), (K, V)


class SwiGLU(nn.Module):
    """Una mitad abre o cierra lo que deja pasar la otra."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_gate, self.W_up = (linear(d_model, d_ff) for _ in range(2))
        self.W_down = linear(d_ff, d_model)

    def forward(self, x):
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))


class Block(nn.Module):
    """En paralelo: la atención y la red leen lo mismo, y se suman."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.norm = nn.LayerNorm(d_model, bias=False)
        self.attention = Attention(d_model, heads)
        self.feed_forward = SwiGLU(d_model, d_ff)

    def forward(self, x, past):
        u = self.norm(x)
        h, past = self.attention(u, past)
        return x + h + self.feed_forward(u), past


class PaLM(nn.Module):
    """Predice cada token con los anteriores, sin un solo sesgo."""

    def __init__(self, vocab, d_model=64, heads=4, layers=3, d_ff=128):
        super().__init__()
        self.table = nn.Embedding(vocab, d_model)  # N(0, 1)
        blocks = [Block(d_model, heads, d_ff) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.LayerNorm(d_model, bias=False)

    def forward(self, ids, cache=None):
        x, kept = self.table(ids), []
        for block, past in zip(self.blocks, cache or [None] * len(self.blocks)):
            x, past = block(x, past)
            kept.append(past)
        scale = 1 / math.sqrt(self.table.embedding_dim)
        return self.norm(x) @ self.table.weight.T * scale, kept


# ------------------------------------------------- entrenarlo y que escriba
def train(model, steps=600, peak=5e-3, warmup=40, seed=0):
    """Predecir cada token con los anteriores; da las pérdidas."""
    rng, losses = random.Random(seed), []
    adam = torch.optim.Adam(model.parameters())
    for step in range(1, steps + 1):
        ids = torch.tensor([[IDS[w] for w in sentence(rng)] for _ in range(64)])
        logits, _ = model(ids[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        rate = min(step / warmup, 0.5 + 0.5 * math.cos(math.pi * step / steps))
        adam.param_groups[0]["lr"] = peak * rate
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def write(model, text, temperature=0.0, max_new=20):
    """Sigue el texto: lo leído queda en la caché; cada paso lee un token."""
    words, cache = text.split(), None
    ids = torch.tensor([[IDS[word] for word in words]])
    while words[-1] != "." and len(words) < max_new:
        logits, cache = model(ids, cache)
        p = (logits[:, -1] / max(temperature, 1e-6)).softmax(dim=-1)
        ids = torch.multinomial(p, 1)  # con temperatura 0, el más probable
        words.append(TOKENS[ids.item()])
    return " ".join(words)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = PaLM(len(TOKENS))
    losses = train(model)
    print(f"pérdida: de {losses[0]:.2f} a {sum(losses[-50:]) / 50:.2f}")
    for pronoun in ("lo", "la"):
        print(write(model, f"pica el ajo y la cebolla y sofríe {pronoun} :"))
    print(write(model, "pela la", temperature=1.0))
