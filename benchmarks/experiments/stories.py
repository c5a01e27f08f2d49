"""Preguntas sobre un cuento: ¿dónde estaba el ajo antes de la cocina?

Las tareas 1, 2 y 3 de bAbI (Weston et al., 2015), las de Dehghani et al. (2018, §3.1) que piden uno, dos y tres datos, a nuestra medida y en español: tres personas llevan tres ingredientes por seis sitios (`course_lib.data.stories`). En bAbI cada tarea tiene sus cuentos, y los de tres datos son más largos; aquí, de cada cuento, de 8 o 10 oraciones, se hacen las tres preguntas, y lo que cambia de una a otra es cuántos datos hay que juntar. Se aprenden las tres juntas, con 10 000 cuentos. Ningún cuento de la prueba se ha leído.

Como en el artículo, cada oración es un vector: la suma de las incrustaciones de sus palabras, cada una multiplicada por una máscara que se aprende para su posición; la pregunta va la última, y en ella se lee la respuesta, uno de los seis sitios. El Universal Transformer da cuatro pasos; con ACT, cuatro como mucho, empieza casi sin detenerse y paga 0.01 por cada uno. Un Transformer tiene los mismos parámetros (un bloque) y otro, la misma profundidad (cuatro). Todos normalizan delante de cada subcapa. La GRU tiene el mismo ancho y lee cada oración con la pregunta al lado: sabe qué buscar.

Los demás no se entrenan. «Quien lo tocó» es una regla que ya sabe leer: busca quién tocó el último lo que se pregunta, y da su último sitio distinto del que se nombra al preguntar; falla con lo que alguien dejó antes de irse y con lo que pasó a otras manos. «Un dato» da el último sitio que se nombra hasta la última oración con lo que se pregunta; «el último sitio», el último del cuento; y «la mayoría», la respuesta más repetida de cada clase de pregunta.

Todas las redes dan los mismos 1500 pasos de entrenamiento, de 32 preguntas: lo que cabe en un par de minutos, no lo que cada una podría llegar a aprender. Cada una elige entre tres tasas máximas o más (si gana la del borde, se prueba la siguiente), con la primera semilla, por lo que acierta en validación. «Pasos de la pregunta» son los que da su posición; «pasos», los medios de todas las oraciones del cuento y la pregunta, que es lo que mide el artículo.
"""  # noqa: E501

from collections import Counter, defaultdict
from functools import partial
from random import Random
from typing import Any, NamedTuple

import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.addition import fitted
from course_lib.data.stories import PEOPLE, PLACES, THINGS, generate_stories, questions
from course_lib.models.sequence_tagger import PositionedEncoder
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.training.losses import cross_entropy

FACTS = (1, 2, 3)
LENGTHS = (8, 10)  # oraciones de un cuento
TRAIN, VALIDATION, TEST = 5000, 200, 500  # cuentos de cada longitud; de cada uno, tres preguntas
STEPS, BATCH, DEPTH, TAU = 1500, 32, 4, 0.01
RATES = (1e-3, 2e-3, 5e-3)
WIDTH, WORDS = 64, 8  # palabras de una oración, como mucho
SIZES = {"d_model": WIDTH, "num_heads": 2, "d_ff": 128}
OPTIONS = {"max_length": max(LENGTHS) + 1, "placement": "pre"}
ANSWERS = [place.split()[1] for place in PLACES]
NAMES = [*PEOPLE, *(thing.split()[1] for thing in THINGS)]


# Los cuentos


class Example(NamedTuple):
    """Una pregunta con lo contado antes; `facts` son los datos que pide."""

    story: tuple[str, ...]
    question: str
    answer: str
    facts: int


def splits(seed):
    """Cada cuento, con sus tres preguntas, está en una sola parte."""
    parts = Splits([], [], [])
    for length in LENGTHS:
        drawn = generate_stories(TRAIN + VALIDATION + TEST, seed, length=length)
        drawn = list({story[:length]: story for story in drawn}.values())
        sides = drawn[:TRAIN], drawn[TRAIN:-TEST], drawn[-TEST:]
        for part, stories in zip(parts, sides, strict=True):
            part += [Example(q.facts, q.text, q.answer, len(q.support)) for q in questions(stories)]
    return parts


def words(sentence):
    return sentence.strip("¿?.").split()


def by_length(examples, ids):
    """Los tensores (oraciones, respuestas, datos), de cada longitud; la pregunta va la última."""
    found = defaultdict(list)
    for story, question, answer, facts in examples:
        rows = [[ids[word] for word in words(sentence)] for sentence in (*story, question)]
        padded = [row + [0] * (WORDS - len(row)) for row in rows]
        found[len(story)].append((padded, ANSWERS.index(answer), facts))
    return [tuple(map(torch.tensor, zip(*same, strict=True))) for same in found.values()]


# Los que no se entrenan: lo que contesta cada uno


def commonest(train_set, validation, setting, seed):
    """Para cada número de datos, la respuesta más repetida."""
    counts = {k: Counter(e.answer for e in train_set if e.facts == k) for k in FACTS}
    return lambda example: counts[example.facts].most_common(1)[0][0]


def rule(says):
    return Rival(lambda train_set, validation, setting, seed: says)


def last_place(example):
    """El último sitio que se nombra."""
    return mentioned(example.story, ANSWERS)[-1]


def one_fact(example):
    """El último sitio que se nombra hasta la última oración con lo que se pregunta."""
    (name,) = mentioned([example.question], NAMES)
    return mentioned(example.story[: 1 + last_with(name, example.story)], ANSWERS)[-1]


def last_to_touch(example):
    """El último sitio, distinto del que se nombra al preguntar, de quien tocó eso el último."""
    (name,) = mentioned([example.question], NAMES)
    person = words(example.story[last_with(name, example.story)])[0]
    own = [sentence for sentence in example.story if words(sentence)[0] == person]
    known = mentioned([example.question], ANSWERS)
    return next((p for p in reversed(mentioned(own, ANSWERS)) if p not in known), ANSWERS[0])


def mentioned(sentences, names):
    return [word for sentence in sentences for word in words(sentence) if word in names]


def last_with(name, story):
    return max(i for i, sentence in enumerate(story) if name in words(sentence))


# Los que se entrenan


class Answered(NamedTuple):
    """Una puntuación por sitio, y lo que dio el codificador."""

    logits: torch.Tensor
    encoded: Any


class Reader(nn.Module):
    """Cada oración, un vector: la suma de sus palabras, cada una con la máscara de su posición.

    Después, cualquier codificador; se contesta con lo que queda en la pregunta, que va la última.
    """

    def __init__(self, encoder, ids):
        super().__init__()
        self.ids = ids
        self.embedding = nn.Embedding(1 + len(ids), WIDTH, padding_idx=0)
        self.places = nn.Parameter(torch.ones(WORDS, WIDTH))
        self.encoder = encoder
        self.output = nn.Linear(WIDTH, len(ANSWERS))
        with torch.no_grad():
            self.embedding.weight.mul_(0.3)  # sumadas, del tamaño de las posiciones

    def forward(self, sentences):
        vectors = (self.embedding(sentences) * self.places).sum(2)
        encoded = self.encoder(vectors)
        return Answered(self.output(getattr(encoded, "states", encoded)[:, -1]), encoded)


def universal(*, adaptive):
    encoder = UniversalEncoder(max_steps=DEPTH, adaptive=adaptive, **SIZES, **OPTIONS)
    if adaptive:
        nn.init.constant_(encoder.computation.halting.bias, -3.0)
    return encoder


def plain(layers):
    encoder = PositionedEncoder(num_layers=layers, **SIZES, **OPTIONS)
    encoder.num_layers = layers
    return encoder


class QuestionedGRU(nn.GRU):
    """Lee de delante atrás, con la pregunta al lado de cada oración: sabe qué buscar."""

    def __init__(self):
        super().__init__(2 * WIDTH, WIDTH, batch_first=True)

    def forward(self, vectors):
        question = vectors[:, -1:].expand_as(vectors)
        return super().forward(torch.cat((vectors, question), dim=-1))[0]


def loss(model, batch):
    sentences, answer = batch
    output = model(sentences)
    found = cross_entropy(output.logits, answer)
    cost = getattr(output.encoded, "mean_ponder_cost", None)
    return found if cost is None else found + TAU * cost


def trained(build, train_set, validation, rate, seed):
    said = {word for e in train_set for s in (*e.story, e.question) for word in words(s)}
    ids = {word: i for i, word in enumerate(sorted(said), 1)}
    groups = batches(by_length(train_set, ids), seed)
    return fitted(lambda: Reader(build(), ids), loss, groups, STEPS, rate, seed)


def batches(groups, seed):
    """Lotes sin fin: cada uno, de cuentos de una longitud."""
    which, random = Random(seed), torch.Generator().manual_seed(seed)
    while True:
        sentences, answer, _ = which.choice(groups)
        rows = torch.randint(len(sentences), (BATCH,), generator=random)
        yield sentences[rows], answer[rows]


# Lo que se mide


def measure(model, examples):
    if isinstance(model, nn.Module):
        parts = [(*answers(model, rows), *rest) for rows, *rest in by_length(examples, model.ids)]
        said, asked, everywhere, answer, facts = map(torch.cat, zip(*parts, strict=True))
        right = said == answer
    else:
        right = torch.tensor([model(example) == example.answer for example in examples])
        facts = torch.tensor([example.facts for example in examples])
        asked = everywhere = torch.zeros_like(facts)
    values = {"aciertos": right, "pasos de la pregunta": asked, "pasos": everywhere}
    return {"aciertos": right.double().mean()} | {
        f"{name} a {k}": value[facts == k].double().mean()
        for name, value in values.items()
        for k in FACTS
    }


def answers(model, sentences):
    """Lo que contesta a cada pregunta, los pasos de la pregunta y los medios de las oraciones."""
    output = model(sentences)
    given = getattr(output.encoded, "n_updates", None)
    if given is None:
        given = torch.full(sentences.shape[:2], getattr(model.encoder, "num_layers", 0))
    given = given.double()
    return output.logits.argmax(-1), given[:, -1], given.mean(1)


BUILDS = {
    "Universal Transformer": partial(universal, adaptive=False),
    "con ACT": partial(universal, adaptive=True),
    "Transformer, mismos parámetros": partial(plain, 1),
    "Transformer, misma profundidad": partial(plain, DEPTH),
    "GRU": QuestionedGRU,
}

EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: Rival(partial(trained, build), RATES) for name, build in BUILDS.items()}
    | {
        "quien lo tocó": rule(last_to_touch),
        "un dato": rule(one_fact),
        "el último sitio": rule(last_place),
        "la mayoría": Rival(commonest),
    },
    measure=measure,
    measures={"aciertos": "%"}
    | {f"aciertos a {k}": "%" for k in FACTS}
    | {f"pasos de la pregunta a {k}": "" for k in FACTS}
    | {f"pasos a {k}": "" for k in FACTS},
    chosen_by="aciertos",
)
