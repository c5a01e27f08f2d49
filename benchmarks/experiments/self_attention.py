"""«Lo» o «la»: ¿qué falta a quien no ve el futuro, y a quien no ve el orden?

La tarea y las redes del capítulo `self_attention`: una capa de una cabeza adivina los artículos y los pronombres tapados en pasos de recetas. A la causal se la entrena con todo y, aparte, solo con los pronombres, cuyo nombre ya se leyó: si lo que le falta es información, seguirá fallando; si era que los artículos acaparan su entrenamiento, no. «Buscar el nombre» no se entrena: apunta con qué forma va cada palabra que sigue a un artículo; al artículo le da la de la palabra siguiente, y al pronombre, la del último nombre apuntado antes de él.

Cada semilla aparta otros pasos, ninguno repetido, y cada red elige su tasa en validación, por los pronombres.
"""  # noqa: E501

import re
from collections import Counter, defaultdict
from functools import cache, partial
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes
from course_lib.devices import seed_everything
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.primitives.attention import padding_mask
from course_lib.primitives.positions import sinusoidal_positions
from course_lib.training.loop import train

FORMS = ("el", "la", "los", "las")
ARTICLE, PRONOUN = "▢", "-▢"
WITH_PRONOUN = re.compile(r"(.*[áéíóú].*|.*r)(lo|la|los|las)")
IGNORE, STEPS, BATCH, WIDTH = -100, 500, 64, 64
RATES = (1e-3, 3e-3, 1e-2, 3e-2)


def hide(clause):
    """De (palabra, categoría) a palabras con huecos, y la forma que falta en cada uno."""
    words, missing = [], []
    for word, category in clause:
        word = word.lower()
        joined = WITH_PRONOUN.fullmatch(word) if category == "VERB" else None
        if joined:
            words.append(joined[1])
            word = "el" if joined[2] == "lo" else joined[2]
        if joined or (category == "DET" and word in FORMS):
            missing.append((len(words), FORMS.index(word)))
            word = PRONOUN if joined else ARTICLE
        words.append(word)
    return tuple(words), tuple(missing)


@cache
def sentences():
    """Los pasos de las recetas que tienen algún hueco, sin repetir."""
    found = {}
    for recipe in generate_recipes(3000, seed=0):
        first = 1 + len(recipe.ingredients)  # antes, título e ingredientes
        for clause in recipe.tags[first : first + len(recipe.steps)]:
            words, missing = hide(clause)
            if missing:
                found[words] = missing
    return sorted(found.items())


@cache
def vocabulary():
    words = sorted({word for words, _ in sentences() for word in words})
    return {word: i for i, word in enumerate(words, start=1)}


def splits(seed):
    shuffled = Random(seed).sample(sentences(), len(sentences()))
    sixth = len(shuffled) // 6
    return Splits(shuffled[2 * sixth :], shuffled[:sixth], shuffled[sixth : 2 * sixth])


def encode(examples):
    """Los identificadores y las formas que faltan, [lote, t]; el relleno es 0."""
    shape = len(examples), max(len(words) for words, _ in examples)
    X, Y = torch.zeros(shape, dtype=torch.long), torch.full(shape, IGNORE)
    for row, (words, missing) in enumerate(examples):
        X[row, : len(words)] = torch.tensor([vocabulary()[word] for word in words])
        for position, form in missing:
            Y[row, position] = form
    return X, Y


def measure(model, examples):
    right = {ARTICLE: [], PRONOUN: []}
    for (words, missing), answers in zip(examples, model(examples), strict=True):
        for position, form in missing:
            right[words[position]].append(answers[position] == form)
    every = right[ARTICLE] + right[PRONOUN]
    named = {"artículos": right[ARTICLE], "pronombres": right[PRONOUN], "huecos": every}
    return {name: sum(hits) / len(hits) for name, hits in named.items()}


# Los que no se entrenan


def counting(train_set, validation, setting, seed):
    forms = defaultdict(Counter)
    for words, missing in train_set:
        for position, form in missing:
            if words[position] == ARTICLE and position + 1 < len(words):
                forms[words[position + 1]][form] += 1
    common = Counter(form for _, missing in train_set for _, form in missing).most_common(1)[0][0]

    def form_of(words):
        known = (forms[word].most_common(1)[0][0] for word in words if word in forms)
        return next(known, common)

    def answer(words, position):
        if words[position] == ARTICLE:
            return form_of(words[position + 1 : position + 2])
        return form_of(words[:position][::-1])

    return lambda examples: [
        {i: answer(words, i) for i, _ in missing} for words, missing in examples
    ]


# Los que se entrenan


class Agreement(nn.Module):
    """La red del capítulo."""

    def __init__(self, positions=True, causal=False):
        super().__init__()
        self.positions, self.causal = positions, causal
        self.embed = nn.Embedding(len(vocabulary()) + 1, WIDTH)
        self.attend = MultiHeadAttention(WIDTH, num_heads=1)
        self.choose = nn.Linear(WIDTH, len(FORMS))
        nn.init.normal_(self.embed.weight, std=0.3)

    def scores(self, ids):
        X = self.embed(ids)
        if self.positions:
            X = X + sinusoidal_positions(*X.shape[-2:], device=X.device)
        return self.choose(self.attend(X, mask=padding_mask(ids, pad_id=0), causal=self.causal))

    def forward(self, examples):
        ids = encode(examples)[0].to(self.embed.weight.device)
        return self.scores(ids).argmax(-1).tolist()


def loss(model, batch):
    ids, forms = batch
    return F.cross_entropy(model.scores(ids).flatten(0, 1), forms.flatten(), ignore_index=IGNORE)


def trained(options, gaps, train_set, validation, rate, seed):
    seed_everything(seed)
    X, Y = encode(train_set)
    Y = Y.masked_fill(~torch.isin(X, torch.tensor([vocabulary()[gap] for gap in gaps])), IGNORE)
    useful = (Y != IGNORE).any(dim=1)
    X, Y = X[useful], Y[useful]

    def batches():
        generator = torch.Generator().manual_seed(seed)
        while True:
            rows = torch.randint(len(X), (BATCH,), generator=generator)
            yield X[rows], Y[rows]

    model = Agreement(**options)
    return model, train(model, loss, batches(), steps=STEPS, learning_rate=rate, seed=seed)


def rival(*gaps, **options):
    return Rival(partial(trained, options, gaps or (ARTICLE, PRONOUN)), RATES)


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "con posiciones": rival(),
        "sin posiciones": rival(positions=False),
        "causal": rival(causal=True),
        "causal, solo pronombres": rival(PRONOUN, causal=True),
        "con posiciones, solo pronombres": rival(PRONOUN),
        "buscar el nombre": Rival(counting),
    },
    measure=measure,
    measures={"artículos": "%", "pronombres": "%", "huecos": "%"},
    chosen_by="pronombres",
    tuning_seeds=5,
)
