"""Recetas seguidas: ¿qué hace falta, la memoria, las distancias o las dos?

El cuadro de Dai et al. (2019): distancias o posiciones sumadas a la entrada, con memoria de 64 o sin ella; y, aparte, las distancias sin los términos 3 y 4. Son sopas abreviadas (título, lista y los cuatro últimos pasos), una detrás de otra, en segmentos de 16 palabras. Lo que la lista anuncia se nombra entre 23 y 51 palabras después: nunca en el mismo segmento. Es un corpus pequeño, con modelos de ancho 64, para que todo quepa en unos minutos de un núcleo.

Cada semilla aparta sus combinaciones de plato e ingrediente: 16 de validación y 16 de prueba, que nadie leyó. Se miden las menciones tardías, que se sortean y solo la lista permite acertar; los minutos, que nadie puede saber; y lo demás. «Prefiere la de la lista»: se cambia una hierba en la lista por otra, y se mira cuál es más probable al final. «Con 8 palabras», y las que siguen: la pérdida de las menciones tardías cuando el modelo empieza a leer justo ese número de palabras antes.

Los rivales baratos: una GRU, algo mayor, que lleva su estado de un segmento al siguiente; contar tríos de palabras; y contar tríos dando ventaja a lo que ya se leyó, las mismas 64 a 80 palabras que alcanza la memoria (la validación elige cuánta). Cada red da los mismos 1000 pasos de 16 filas y, con la primera semilla, elige su tasa por las menciones tardías de validación.
"""  # noqa: E501

import re
from collections import Counter, defaultdict
from functools import cache, partial
from itertools import pairwise
from random import Random
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes
from course_lib.data.segments import TokenStream
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.primitives.attention import causal_mask
from course_lib.primitives.positions import sinusoidal_positions
from course_lib.training.language_modelling import context_losses, perplexity, segment_losses
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy
from course_lib.training.schedules import warmup_cosine

RECIPES, APART = 42_000, 100
LAST = 4  # pasos que se dejan de cada receta
SEGMENT, MEMORY, BATCH, STEPS, WIDTH = 16, 64, 16, 1000, 64
RATES = (2e-3, 4e-3, 8e-3, 1.6e-2)
BOOSTS = (1.0, 2.0, 4.0, 6.0, 8.0, 12.0)
CONTEXTS = (8, 16, 32, 48, 64, 96)
OTHER, LATE, MINUTES = range(3)
GROUPS = {"menciones tardías": LATE, "minutos": MINUTES, "lo demás": OTHER}
QUANTITY = re.compile(r"^(?:\d+|Medi[oa])(?: [a-záéíóúñ]+ de)? ")
HERBS = [
    ("perejil", "cilantro", "eneldo", "cebollín", "estragón"),
    ("menta", "hierbabuena", "albahaca"),
]


class Soup(NamedTuple):
    """Una receta: de qué es, sus palabras y, de cada una, su clase."""

    combination: tuple[str, str]
    words: list[str]
    kinds: list[int]


@cache
def soups():
    return [abridged(r) for r in generate_recipes(RECIPES) if r.category == "sopa"]


def words_of(text):
    return re.findall(r"\w+|[^\w\s]", text.lower())


def abridged(recipe):
    """El título, la lista sin cantidades y los últimos pasos, palabra por palabra."""
    listed = ", ".join(QUANTITY.sub("", line) for line in recipe.ingredients)
    left_out = len(recipe.steps) - LAST
    lines = [[*words_of(x), "\n"] for x in (recipe.title, listed, *recipe.steps[left_out:])]
    words = [word for line in lines for word in line] + ["</s>"]
    kinds = [MINUTES if a.isdigit() and b == "minutos" else OTHER for a, b in pairwise(words)]
    kinds.append(OTHER)
    for step, _, word in recipe.late_mentions:
        before = sum(map(len, lines[: 2 + step - left_out]))
        kinds[words.index(word, before)] = LATE
    return Soup(recipe.combination, words, kinds)


def splits(seed):
    """Aparta combinaciones enteras; de cada plato y cada ingrediente quedan otras dos, o más."""
    random = Random(seed)
    combinations = sorted({soup.combination for soup in soups()})
    left = Counter(part for both in combinations for part in enumerate(both))
    apart = []
    for both in random.sample(combinations, len(combinations)):
        if len(apart) < 32 and min(left[part] for part in enumerate(both)) > 2:
            apart.append(both)
            left.subtract(enumerate(both))
    sides = defaultdict(list)
    for soup in soups():
        sides[apart.index(soup.combination) % 2 if soup.combination in apart else None].append(soup)
    return Splits(sides[None], *(random.sample(sides[part], APART) for part in (0, 1)))


@cache
def vocabulary():
    words = sorted({word for soup in soups() for word in soup.words})
    return {word: i for i, word in enumerate(words)}


def encode(words):
    return [vocabulary()[word] for word in words]


# Lo que se mide


def in_rows(values):
    return TokenStream(values, batch_size=10, segment_length=SEGMENT).rows


def measure(model, examples):
    token_ids = in_rows([i for soup in examples for i in encode(soup.words)])
    kinds = in_rows([kind for soup in examples for kind in soup.kinds])[:, 1:].clone()
    kinds[:, : max(CONTEXTS)] = -1  # donde nadie tiene aún pasado
    losses = segment_losses(model, token_ids, segment_length=SEGMENT)
    return {
        **{name: losses[kinds == kind].mean().item() for name, kind in GROUPS.items()},
        "perplejidad": perplexity(losses[kinds >= 0]),
        "prefiere la de la lista": preference(model, examples),
        **{f"con {c} palabras": late_loss(model, token_ids, kinds, c) for c in CONTEXTS},
    }


def late_loss(model, token_ids, kinds, context):
    """La pérdida de las menciones tardías con justo esas palabras delante."""
    read = {"context": context, "segment_length": SEGMENT}
    rows = zip(token_ids, kinds, strict=True)
    found = [
        context_losses(model, row[None], (k == LATE).nonzero()[:, 0], **read) for row, k in rows
    ]
    return torch.cat(found, dim=1).mean().item()


def preference(model, examples):
    """Con una hierba en la lista, y con otra: cuántas veces es la más probable al final."""
    cases = [
        (soup, herb, same[i - 1])
        for soup in examples
        for same in HERBS
        for i, herb in enumerate(same)
        if soup.words.count(herb) == 2
    ]
    hits = [hit for case in cases for hit in follows_list(model, *case)]
    return sum(hits) / len(hits)


def follows_list(model, soup, herb, other):
    """Si la más probable es la de la lista, cuando en ella está `herb` y cuando está `other`."""
    first = soup.words.index(herb)
    last = soup.words.index(herb, first + 1)
    texts = [
        encode(["</s>", *soup.words[:first], listed, *soup.words[first + 1 : last]])
        for listed in (herb, other)
    ]
    memory = None
    for part in torch.tensor(texts).split(SEGMENT, dim=1):
        logits, memory = model(part, memory)
    (own, its_other), (its_own, changed) = logits[:, -1, encode([herb, other])].tolist()
    return own > its_other, changed > its_own


# Los que cuentan


class Trios:
    """P de cada palabra según las dos anteriores, mezclada con la de una y con la de ninguna.

    Con `boost`, lo que ya se leyó gana esa ventaja: un caché de palabras.
    """

    def __init__(self, texts, boost):
        self.boost, size = boost, len(vocabulary())
        self.counts = defaultdict(lambda: torch.zeros(size))
        for ids in texts:
            for i, token in enumerate(ids):
                for past in (ids[max(i - 2, 0) : i], ids[max(i - 1, 0) : i], []):
                    self.counts[tuple(past)][token] += 1
        self.logits = cache(self.logits_after)

    def logits_after(self, past):
        p = torch.ones_like(self.counts[()]) / len(self.counts[()])
        for known in ((), past[1:], past):
            if known in self.counts:
                n = self.counts[known].sum()
                p = (self.counts[known] + 2 * p) / (n + 2)
        return p.log()

    def __call__(self, token_ids, memory=None):
        seen = token_ids if memory is None else torch.cat([memory, token_ids], dim=1)
        t, size = token_ids.shape[1], len(vocabulary())
        pasts = [[row[max(i - 1, 0) : i + 1] for i in range(len(row))] for row in seen.tolist()]
        logits = torch.stack(
            [torch.stack([self.logits(tuple(x)) for x in row[-t:]]) for row in pasts]
        )
        read = F.one_hot(seen, size).cumsum(1)[:, -t:] > 0
        return logits + self.boost * read, seen[:, -MEMORY:]


def counting(train_set, validation, boost, seed):
    return Trios([encode(soup.words) for soup in train_set], boost or 0.0)


# Los que se entrenan


class CausalAttention(MultiHeadAttention):
    """La de siempre; ve toda la memoria y, del segmento, hasta uno mismo."""

    def forward(self, X_q, X_k=None, X_v=None, *, mask=None, causal=False):
        return super().forward(X_q, X_k, X_v, mask=causal_mask(X_q.shape[1], X_k.shape[1]))


def xl(**changes):
    sizes = {"d_model": WIDTH, "num_heads": 4, "num_layers": 2, "d_ff": 2 * WIDTH}
    options = {"memory_length": MEMORY, "dropout": 0.0, "inner_dropout": 0.0, "placement": "pre"}
    return TransformerXL(TransformerXLConfig(len(vocabulary()), **sizes | options | changes))


def with_positions(model, length):
    """Con las posiciones del segmento sumadas a la entrada, y sin distancias."""
    config = model.config
    places = sinusoidal_positions(length, config.d_model)
    model.embedding.register_forward_hook(lambda layer, given, x: x + places.to(x)[: x.shape[1]])
    for block in model.blocks:
        block.attention = CausalAttention(config.d_model, config.num_heads)
    return model


def absolute(**changes):
    return with_positions(xl(**changes), SEGMENT)


class Recurrent(nn.Module):
    """Una GRU, que lleva su estado de un segmento al siguiente."""

    def __init__(self, width=112):
        super().__init__()
        self.embedding = nn.Embedding(len(vocabulary()), WIDTH)
        self.gru = nn.GRU(WIDTH, width, batch_first=True)
        self.output = nn.Linear(width, len(vocabulary()))

    def forward(self, token_ids, memory=None):
        H, state = self.gru(self.embedding(token_ids), memory)
        return self.output(H), state.detach()


def carried_loss():
    """La pérdida de un segmento; la memoria que deja es la del siguiente."""
    memory = None

    def loss(model, token_ids):
        nonlocal memory
        logits, memory = model(token_ids[:, :-1], memory)
        return cross_entropy(logits, token_ids[:, 1:])

    return loss


def trained(build, train_set, validation, rate, seed):
    order = Random(seed).sample(train_set, len(train_set))
    token_ids = [i for soup in order for i in encode(soup.words)]
    stream = TokenStream(token_ids, batch_size=BATCH, segment_length=SEGMENT)
    return read_through(build, stream, STEPS, rate, seed)


def read_through(build, stream, steps, rate, seed):
    """Construye y entrena leyendo en orden, con lo que recuerda de un segmento al siguiente."""
    torch.manual_seed(seed)
    model = build()
    return model, train(
        model,
        carried_loss(),
        stream,
        steps=steps,
        schedule=warmup_cosine(rate, steps // 10, steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        seed=seed,
    )


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "Transformer-XL": Rival(partial(trained, xl), RATES),
        "sin los términos 3 y 4": Rival(partial(trained, partial(xl, global_terms=False)), RATES),
        "distancias, sin memoria": Rival(partial(trained, partial(xl, memory_length=0)), RATES),
        "posiciones, sin memoria": Rival(
            partial(trained, partial(absolute, memory_length=0)),
            RATES,
            against="distancias, sin memoria",
        ),
        "posiciones, con memoria": Rival(
            partial(trained, absolute), RATES, against="posiciones, sin memoria"
        ),
        "GRU": Rival(partial(trained, Recurrent), RATES),
        "contar tríos": Rival(counting),
        "tríos y lo leído": Rival(counting, BOOSTS),
    },
    measure=measure,
    measures={
        **dict.fromkeys((*GROUPS, "perplejidad"), ""),
        "prefiere la de la lista": "%",
        **{f"con {c} palabras": "" for c in CONTEXTS},
    },
    chosen_by="menciones tardías",
    lowest=True,
)
