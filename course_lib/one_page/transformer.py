"""El Transformer entero, de un texto en español a su traducción al inglés.

Basta PyTorch: `python transformer.py` lo entrena en un minuto, y traduce.
"""

import math
import random
import re
from itertools import product

import torch
import torch.nn.functional as F
from torch import nn

# ------------------------------------------------------------- los datos
# «Pica el ajo y la cebolla, y sofríela.» ¿A quién? Nuestro inglés lo dice:
# pone el nombre en lugar del pronombre.

MASCULINE = {
    "ajo": "garlic",
    "apio": "celery",
    "tomate": "tomato",
    "limón": "lemon",
    "pepino": "cucumber",
    "pimiento": "pepper",
    "puerro": "leek",
    "jengibre": "ginger",
    "calabacín": "zucchini",
    "hinojo": "fennel",
}
FEMININE = {
    "cebolla": "onion",
    "papa": "potato",
    "zanahoria": "carrot",
    "yuca": "cassava",
    "calabaza": "pumpkin",
    "manzana": "apple",
    "berenjena": "eggplant",
    "remolacha": "beet",
    "piña": "pineapple",
    "coliflor": "cauliflower",
}
FIRST = {"Pica": "Chop", "Lava": "Wash", "Pela": "Peel", "Corta": "Cut"}
SECOND = {
    "sofríe": "sauté",
    "dóra": "brown",
    "hiérve": "boil",
    "ása": "roast",
    "mézcla": "mix",
    "tritúra": "blend",
}


def sentences(masculine, feminine):
    """Todas las oraciones con esos dos nombres, y su traducción."""
    el = f"el {masculine}", f"the {MASCULINE[masculine]}"
    la = f"la {feminine}", f"the {FEMININE[feminine]}"
    whom = {"lo": el[1], "la": la[1], "los": "them both"}
    names, pronouns = ((el, la), (la, el)), whom.items()
    everything = product(FIRST.items(), SECOND.items(), names, pronouns)
    for first, second, (one, other), (pronoun, referent) in everything:
        yield (
            f"{first[0]} {one[0]} y {other[0]}, y {second[0]}{pronoun}.",
            f"{first[1]} {one[1]} and {other[1]}, then {second[1]} {referent}.",
        )


def split(seed=0, held_out=20):
    """Lo que se entrena, y las oraciones con parejas que nunca se ven."""
    pairs = list(product(MASCULINE, FEMININE))[1:]
    random.Random(seed).shuffle(pairs)
    pairs.append(("ajo", "cebolla"))  # la de la portada, tampoco
    parts = pairs[:-held_out], pairs[-held_out:]
    return [[s for pair in part for s in sentences(*pair)] for part in parts]


# ------------------------------------------------------------ los tokens
PAD, START, END = 0, 1, 2


class BPE:
    """Parte el texto en los trozos que más se repiten."""

    def __init__(self, texts, merges=200):
        words = {}
        for text in texts:
            for word in self.words(text):
                words[word] = words.get(word, 0) + 1
        self.merges, spelling = [], {word: list(word) for word in words}
        for _ in range(merges):
            counts = {}
            for word, parts in spelling.items():
                for pair in zip(parts, parts[1:]):
                    counts[pair] = counts.get(pair, 0) + words[word]
            if not counts:
                break
            self.merges.append(max(counts, key=counts.get))
            for word, parts in spelling.items():
                spelling[word] = self.merge(parts, self.merges[-1])
        letters = sorted(set("".join(words)))
        self.tokens = ["<pad>", "<s>", "</s>", *letters]
        self.tokens += [a + b for a, b in self.merges]
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        self.known = {}  # cada palabra se parte una vez

    @staticmethod
    def words(text):
        return re.findall(r" ?\w+|[^\w\s]", text)

    @staticmethod
    def merge(parts, pair):
        out = []
        for part in parts:
            if out and (out[-1], part) == pair:
                out[-1] += part
            else:
                out.append(part)
        return out

    def encode(self, text):
        ids = []
        for word in self.words(text):
            if word not in self.known:
                parts = list(word)
                for pair in self.merges:
                    parts = self.merge(parts, pair)
                self.known[word] = [self.ids[part] for part in parts]
            ids += self.known[word]
        return ids

    def decode(self, ids):
        return "".join(self.tokens[i] for i in ids if i > END)


# ------------------------------------------------------------- el modelo
def positions(t, d_model):
    """Senos y cosenos: la posición de cada token, `[t, d_model]`."""
    rates = 10_000 ** (-torch.arange(0, d_model, 2) / d_model)
    angles = torch.arange(t)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


class Attention(nn.Module):
    """H = softmax(Q Kᵀ / √d_k) V, por cabezas."""

    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.W_q, self.W_k, self.W_v, self.W_h = (
            nn.Linear(d_model, d_model) for _ in range(4)
        )
        self.softmax = nn.Softmax(dim=-1)

    def split(self, X):
        return X.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, X, context, mask):
        Q = self.split(self.W_q(X))
        K = self.split(self.W_k(context))
        V = self.split(self.W_v(context))
        scores = Q @ K.mT / math.sqrt(Q.shape[-1])
        A = self.softmax(scores.masked_fill(~mask, -math.inf))
        return self.W_h((A @ V).transpose(1, 2).flatten(2))


def feed_forward(d_model, d_ff):
    """La red que transforma cada posición por su cuenta."""
    return nn.Sequential(
        nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)
    )


class EncoderBlock(nn.Module):
    """Mirarse unas a otras, y pensar cada una."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attention = Attention(d_model, heads)
        self.feed_forward = feed_forward(d_model, d_ff)

    def forward(self, x, mask):
        u = self.norm_1(x)
        x = x + self.attention(u, u, mask)
        return x + self.feed_forward(self.norm_2(x))


class DecoderBlock(nn.Module):
    """Mirar lo escrito, mirar el origen, y pensar."""

    def __init__(self, d_model, heads, d_ff):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.attention = Attention(d_model, heads)
        self.cross_attention = Attention(d_model, heads)
        self.feed_forward = feed_forward(d_model, d_ff)

    def forward(self, y, encoded, mask, cross_mask):
        u = self.norm_1(y)
        y = y + self.attention(u, u, mask)
        y = y + self.cross_attention(self.norm_2(y), encoded, cross_mask)
        return y + self.feed_forward(self.norm_3(y))


class Transformer(nn.Module):
    """El codificador lee, el decodificador escribe."""

    def __init__(self, vocab, d_model=64, heads=4, layers=2, d_ff=128):
        super().__init__()
        self.table = nn.Embedding(vocab, d_model)
        nn.init.normal_(self.table.weight, std=1 / math.sqrt(d_model))
        encoder = [EncoderBlock(d_model, heads, d_ff) for _ in range(layers)]
        decoder = [DecoderBlock(d_model, heads, d_ff) for _ in range(layers)]
        self.encoder, self.decoder = map(nn.ModuleList, (encoder, decoder))
        self.encoder_norm = nn.LayerNorm(d_model)
        self.decoder_norm = nn.LayerNorm(d_model)

    def embed(self, ids):
        d_model = self.table.embedding_dim
        place = positions(ids.shape[1], d_model).to(self.table.weight)
        return math.sqrt(d_model) * self.table(ids) + place

    def encode(self, source):
        mask = (source != PAD)[:, None, None]  # nadie mira al relleno
        x = self.embed(source)
        for block in self.encoder:
            x = block(x, mask)
        return self.encoder_norm(x), mask

    def decode(self, target, encoded, cross_mask):
        t = target.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool).tril()  # ni al futuro
        y = self.embed(target)
        for block in self.decoder:
            y = block(y, encoded, mask, cross_mask)
        return self.decoder_norm(y) @ self.table.weight.T

    def forward(self, source, target):
        return self.decode(target, *self.encode(source))


# ------------------------------------------------ entrenarlo y traducir
def batch(rows):
    """Iguala las longitudes con relleno."""
    rows = [torch.tensor(row) for row in rows]
    return nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)


def train(model, bpe, pairs, steps=400, peak=5e-3, warmup=50, seed=0):
    """Predice cada token del destino con los anteriores; da las pérdidas."""
    examples = [
        (bpe.encode(es), [START, *bpe.encode(en), END]) for es, en in pairs
    ]
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    rng, losses = random.Random(seed), []
    for step in range(1, steps + 1):
        source, target = map(batch, zip(*rng.sample(examples, 48)))
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD
        )
        cosine = 0.5 + 0.5 * math.cos(math.pi * step / steps)
        adam.param_groups[0]["lr"] = peak * min(step / warmup, cosine)
        adam.zero_grad()
        loss.backward()
        adam.step()
        losses.append(loss.item())
    return losses


@torch.no_grad()
def translate(model, bpe, text, max_length=40):
    """Escribe, uno tras otro, el token más probable."""
    encoded, mask = model.encode(torch.tensor([bpe.encode(text)]))
    target = torch.tensor([[START]])
    while target[0, -1] != END and target.shape[1] < max_length:
        best = model.decode(target, encoded, mask)[:, -1:].argmax(dim=-1)
        target = torch.cat([target, best], dim=1)
    return bpe.decode(target[0].tolist())


if __name__ == "__main__":
    torch.manual_seed(0)
    seen, unseen = split()
    bpe = BPE(text for pair in seen for text in pair)
    model = Transformer(len(bpe.tokens))
    losses = train(model, bpe, seen)
    print(f"pérdida: de {losses[0]:.2f} a {losses[-1]:.4f}")
    some = random.Random(0).sample(unseen, 100)
    right = sum(translate(model, bpe, es) == en for es, en in some)
    print(f"{right} de 100 oraciones con parejas de nombres nunca vistas")
    for pronoun in ("lo", "la", "los"):
        text = f"Pica el ajo y la cebolla, y sofríe{pronoun}."
        print(f"{text}  →  {translate(model, bpe, text)}")
