"""La sonda de la categoría gramatical: ¿lee lo que el traductor aprendió, o se aprende las palabras?

Los vectores del traductor guardado, en las tres capas del capítulo `representations`. La sonda es una regresión logística; su regularización la elige la validación, en la capa 2. Cada semilla reparte los renglones de otra manera: un tercio se enseña, con otro se elige y con otro se mide, y de cada uno se toman 2000 palabras. La «tarea de control» da a cada palabra una etiqueta al azar, siempre la misma; «sin entrenar» lee un modelo al azar, otro en cada semilla. «Contar» no lee ningún vector: da a cada palabra su etiqueta más frecuente, y a la que no vio, la más frecuente de todas.
"""  # noqa: E501

from collections import Counter, defaultdict
from functools import cache, partial
from itertools import islice
from pathlib import Path
from random import Random

import torch
from sklearn.linear_model import LogisticRegression

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes, split_recipes
from course_lib.models.transformer import Transformer
from course_lib.pretrained import load_transformer
from course_lib.primitives.attention import padding_mask
from course_lib.tokenization import ByteBPE
from course_lib.translation import Translator

STORED = Path(__file__).parents[2] / "book" / "_models" / "translator"
LAYERS, WORDS, UNTRAINED = 3, 2000, 100
STRENGTHS = (0.01, 0.1, 1.0, 10.0)


@cache
def stored():
    tokenizer = ByteBPE.load(STORED / "tokenizer.json")
    return Translator(tokenizer, load_transformer(STORED))


@cache
def lines():
    """Cada renglón de recetas que el traductor no vio: su texto y sus palabras con etiqueta."""
    _, held_out = split_recipes(generate_recipes(9000))
    found = {}
    for recipe in held_out[:600]:
        for line, tags in zip(recipe.lines, recipe.tags, strict=True):
            found[line.source] = tuple(tags)
    return sorted(found.items())


def word_ends(text, words):
    """En qué token acaba cada palabra."""
    tokenizer, ends, at = stored().tokenizer, [], 0
    sizes = [len(tokenizer.token_bytes(i)) for i in tokenizer.encode(text)]
    limits = torch.tensor(sizes).cumsum(0)
    for word in words:
        at = text.index(word, at) + len(word)
        ends.append(int((limits < len(text[:at].encode())).sum()))
    return ends


@cache
@torch.no_grad()
def vectors(seed=None):
    """Por renglón, los vectores de sus palabras en cada capa; con semilla, de un modelo al azar."""
    model = stored().model
    if seed is not None:
        torch.manual_seed(UNTRAINED + seed)
        model = Transformer(model.config).eval()
    pad_id, found = stored().tokenizer.special("<pad>"), {}
    for start in range(0, len(lines()), 256):
        texts = [text for text, _ in lines()[start : start + 256]]
        source = stored().sources(texts)
        x, visible = model.source_embedding(source), padding_mask(source, pad_id)
        states = [x]
        for block in model.encoder_decoder.encoder.blocks:
            states.append(x := block(x, mask=visible))
        for row, text in enumerate(texts):
            ends = word_ends(text, [word for word, _ in dict(lines())[text]])
            found[text] = [layer[row, ends] for layer in states]
    return found


def splits(seed):
    shuffled = Random(seed).sample(lines(), len(lines()))
    return Splits(*(shuffled[part::3] for part in range(3)))


def taken(examples):
    """Las primeras palabras: (renglón, lugar, palabra, etiqueta)."""
    places = (
        (text, i, word.lower(), tag)
        for text, tags in examples
        for i, (word, tag) in enumerate(tags)
    )
    return list(islice(places, WORDS))


def random_tags(seed):
    """Una etiqueta al azar por palabra, sorteada entre las de verdad."""
    random = Random(seed)
    tags = [tag for _, line in lines() for _, tag in line]
    words = sorted({word.lower() for _, line in lines() for word, _ in line})
    return {word: random.choice(tags) for word in words}


class Probe:
    """Una sonda por capa."""

    def __init__(self, examples, found, labels, strength):
        self.found, self.labels = found, labels
        X, y = self.read(examples)
        self.scales = [(layer.mean(0), layer.std(0)) for layer in X]
        self.probes = [
            LogisticRegression(C=strength, max_iter=200).fit(layer, y) for layer in self.scaled(X)
        ]

    def read(self, examples):
        rows = taken(examples)
        X = [torch.stack([self.found[t][layer][i] for t, i, *_ in rows]) for layer in range(LAYERS)]
        return X, [self.labels[word] if self.labels else tag for *_, word, tag in rows]

    def scaled(self, X):
        pairs = zip(X, self.scales, strict=True)
        return [((layer - mean) / deviation).numpy() for layer, (mean, deviation) in pairs]

    def accuracy(self, examples):
        X, y = self.read(examples)
        return [p.score(layer, y) for p, layer in zip(self.probes, self.scaled(X), strict=True)]


class Counts:
    """La etiqueta más frecuente de cada palabra."""

    def __init__(self, examples):
        self.tags = defaultdict(Counter)
        for *_, word, tag in taken(examples):
            self.tags[word][tag] += 1
        self.common = sum(self.tags.values(), Counter())

    def accuracy(self, examples):
        rows = taken(examples)
        right = [self.tags.get(w, self.common).most_common(1)[0][0] == tag for *_, w, tag in rows]
        return [sum(right) / len(rows)] * LAYERS


def probe(trained, real, train_set, validation, strength, seed):
    found = vectors() if trained else vectors(seed)
    return Probe(train_set, found, None if real else random_tags(seed), strength)


def counting(train_set, validation, setting, seed):
    return Counts(train_set)


def measure(model, examples):
    return {f"capa {i}": value for i, value in enumerate(model.accuracy(examples))}


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "la sonda": Rival(partial(probe, True, True), STRENGTHS),
        "tarea de control": Rival(partial(probe, True, False), STRENGTHS),
        "sin entrenar": Rival(partial(probe, False, True), STRENGTHS),
        "contar": Rival(counting),
    },
    measure=measure,
    measures={f"capa {i}": "%" for i in range(LAYERS)},
    chosen_by="capa 2",
)
