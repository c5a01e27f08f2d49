"""BERT entero: lee en las dos direcciones y adivina la palabra oculta.

Basta PyTorch: `python bert.py` lo entrena en medio minuto.
"""

import math
import random

import torch
import torch.nn.functional as F
from torch import nn

# -------------------------------------------------------------- los datos
# «pica el ajo y la cebolla y sofríe la : la cebolla queda dorada»
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
        f"{article} {noun} queda {rng.choice(ADJECTIVES)[:-1]}{end}"
    ).split()


WORDS = sorted({w for n in range(3000) for w in sentence(random.Random(n))})
PAD, MASK = 0, 1
TOKENS = ["[PAD]", "[MASK]", *WORDS]
IDS = {token: i for i, token in enumerate(TOKENS)}


# ------------------------------------------------------------- el modelo
class Attention(nn.Module):
    """H = softmax(Q Kᵀ / √d_k) V, por cabezas y sin máscara causal."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k, self.W_v, self.W_h = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, X, mask):
        Q, K, V = (
            W(X).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for W in (self.W_q, self.W_k, self.W_v)
        )
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        A = self.softmax(scores.masked_fill(~mask, -math.inf))
        return self.W_h((A @ V).transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Atención y red, cada una con su suma y, después, su normalización."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.attention = Attention(d_model, heads)
        self.norm_1 = nn.LayerNorm(d_model, 1e-12)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model)
        )
        self.norm_2 = nn.LayerNorm(d_model, 1e-12)

    def forward(self, x, mask):
        x = self.norm_1(x + self.attention(x, mask))
        return self.norm_2(x + self.feed_forward(x))


class Bert(nn.Module):
    """Un vector por token, que depende de los de antes y de los de después."""

    def __init__(self, vocab, d_model=64, heads=4, layers=2, d_ff=128, t=32):
        super().__init__()
        self.tokens = nn.Embedding(vocab, d_model)
        self.positions = nn.Embedding(t, d_model)
        self.segments = nn.Embedding(2, d_model)
        self.norm = nn.LayerNorm(d_model, 1e-12)
        blocks = [Block(d_model, heads, d_ff) for _ in range(layers)]
        self.blocks = nn.ModuleList(blocks)
        self.transform = nn.Linear(d_model, d_model)
        self.transform_norm = nn.LayerNorm(d_model, 1e-12)
        self.bias = nn.Parameter(torch.zeros(vocab))
        for table in (self.tokens, self.positions, self.segments):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, ids, segments=None):
        """Puntúa cada palabra del vocabulario en cada posición."""
        segments = torch.zeros_like(ids) if segments is None else segments
        x = self.tokens(ids) + self.segments(segments)
        x = x + self.positions(torch.arange(ids.shape[1]))
        x, mask = self.norm(x), (ids != PAD)[:, None, None]
        for block in self.blocks:
            x = block(x, mask)
        x = self.transform_norm(F.gelu(self.transform(x)))
        return x @ self.tokens.weight.T + self.bias


# --------------------------------------------- entrenarlo y preguntarle
def hide(ids, chosen):
    """De las elegidas, 8 de cada 10 se ocultan y 1 se cambia por otra."""
    lot, ids = torch.rand(ids.shape), ids.clone()
    ids[chosen & (lot < 0.8)] = MASK
    other = chosen & (lot >= 0.9)
    ids[other] = torch.randint(2, len(TOKENS), ids.shape)[other]
    return ids


def pretrain(model, steps=600, peak=3e-3, warmup=60, seed=0):
    """Adivinar lo que había en el 15 % de las posiciones; da las pérdidas."""
    rng, losses = random.Random(seed), []
    adam = torch.optim.Adam(model.parameters())
    for step in range(1, steps + 1):
        ids = torch.tensor([[IDS[w] for w in sentence(rng)] for _ in range(64)])
        chosen = torch.rand(ids.shape) < 0.15
        logits = model(hide(ids, chosen))
        loss = F.cross_entropy(logits[chosen], ids[chosen])
        rate = min(step / warmup, 0.5 + 0.5 * math.cos(math.pi * step / steps))
        adam.param_groups[0]["lr"] = peak * rate
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def guess(model, text, best=3):
    """Las palabras más probables en el lugar de «[MASK]»."""
    ids = torch.tensor([[IDS[word] for word in text.split()]])
    p = model(ids)[ids == MASK].softmax(dim=-1)[0].topk(best)
    return {TOKENS[i]: round(x.item(), 2) for x, i in zip(*p)}


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Bert(len(TOKENS))
    losses = pretrain(model)
    print(f"pérdida: de {losses[0]:.2f} a {sum(losses[-50:]) / 50:.2f}")
    for hidden in ("la : la [MASK]", "lo : el [MASK]", "[MASK] : la papa"):
        text = f"pica el ajo y la papa y sofríe {hidden}"
        print(text, guess(model, text))
