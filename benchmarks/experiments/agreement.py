"""Concordar: ¿el verbo de «las tapas de la olla…» va en singular o en plural?

La segunda tarea de Dehghani et al. (2018, §3.2), a nuestra medida y en español: se leen las palabras que van delante del verbo, y se dice su número. Entre el sujeto y el verbo hay de 0 a 5 sustantivos; los del otro número son los que se cruzan. Salen de una gramática pequeña: complementos con preposición («de la olla»), relativas de sujeto («que sostiene los platos») y de objeto, con otro sujeto dentro («que las vecinas del niño lavan»); y cuatro de cada diez oraciones empiezan por un complemento («en la mesa de los niños»), así que el sujeto no es siempre el primer sustantivo. Se entrena con oraciones en las que se cruzan dos como mucho y se prueba con 0 a 5: la longitud no es nueva, lo nuevo es cuántos se cruzan. Ninguna oración de la prueba se ha leído.

El Universal Transformer da cuatro pasos; con ACT, cuatro como mucho, empieza casi sin detenerse y paga 0.01 por cada uno. Un Transformer tiene los mismos parámetros (un bloque) y otro, la misma profundidad (cuatro). Todos normalizan delante de cada subcapa. La LSTM tiene el mismo ancho y lee de izquierda a derecha. Los demás no se entrenan: «el más cercano» es el número del último sustantivo; «el primero», el del primero; «los más», el que más sustantivos tienen; y «el primero sin preposición», el del primero que no la lleva delante.

Todas las redes dan los mismos 600 pasos de entrenamiento, de 64 oraciones. Cada una elige entre cinco tasas máximas, con la primera semilla, por lo que acierta en validación cuando se cruzan cuatro; las de cinco no eligen nada. «Pasos» son los que da la posición del verbo.
"""  # noqa: E501

from collections import defaultdict
from functools import partial
from random import Random

import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.addition import fitted
from course_lib.models.sequence_tagger import PositionedEncoder, SequenceTagger
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.training.losses import cross_entropy

CROSSED, BETWEEN, LEARNT = range(6), 5, 2  # se aprende con dos que se cruzan, como mucho
TRAIN, VALIDATION, TEST = 12_000, 250, 250  # los dos últimos, de cada número de los que se cruzan
STEPS, BATCH, DEPTH, TAU = 600, 64, 4, 0.01
RATES = (5e-4, 1e-3, 2e-3, 5e-3, 1e-2)
WIDTH = 64
SIZES = {"d_model": WIDTH, "num_heads": 2, "d_ff": 128}
OPTIONS = {"max_length": 48, "placement": "pre"}

# La gramática: las formas en singular y en plural

NOUNS = {
    "cosa": "el armario los armarios,la llave las llaves,la tapa las tapas,la olla las ollas,"
    "el cajón los cajones,la cuchara las cucharas,el plato los platos,la mesa las mesas,"
    "el vaso los vasos,la sartén las sartenes,el horno los hornos,la caja las cajas",
    "persona": "el niño los niños,la vecina las vecinas,el cocinero los cocineros,"
    "la abuela las abuelas,el primo los primos,la hermana las hermanas",
}
NOUNS = {kind: [noun.split() for noun in nouns.split(",")] for kind, nouns in NOUNS.items()}
VERBS = {
    "cosa": (("toca", "tocan"), ("cubre", "cubren"), ("sostiene", "sostienen")),
    "persona": (("lava", "lavan"), ("guarda", "guardan"), ("busca", "buscan")),
}
PREPOSITIONS, CONTRACTED, GAP = ("de", "con", "sin", "en", "sobre"), "del", "___"
FRONTED = 0.4
NUMBER = {
    form: number for nouns in NOUNS.values() for n in nouns for number, form in enumerate(n[1::2])
}
WORDS = [
    *{word for nouns in NOUNS.values() for noun in nouns for word in noun},
    *{form for verbs in VERBS.values() for verb in verbs for form in verb},
    *(*PREPOSITIONS, CONTRACTED, "que", GAP),
]
IDS = {word: i for i, word in enumerate(sorted(WORDS), 1)}


def sentence(random, number, between):
    """Lo que va delante del verbo: el sujeto, con un sustantivo detrás por número de `between`."""
    before = []
    if random.random() < FRONTED:
        before = with_preposition(random, random.choices((0, 1), k=random.randint(1, 2)))
    kind = random.choice(list(NOUNS))
    return *before, *noun(random, kind, number), *after(random, kind, number, between), GAP


def noun(random, kind, number):
    return random.choice(NOUNS[kind])[2 * number : 2 * number + 2]


def with_preposition(random, numbers):
    kind = random.choice(list(NOUNS))
    words = [random.choice(PREPOSITIONS), *noun(random, kind, numbers[0])]
    if words[:2] == ["de", "el"]:
        words[:2] = [CONTRACTED]
    return words + after(random, kind, *numbers[:1], numbers[1:])


def after(random, kind, number, numbers):
    """Los complementos de un sustantivo: dentro hay otro por cada uno de `numbers`, y en orden."""
    if not numbers:
        return []
    first, rest = numbers[0], numbers[1:]
    (how,) = random.choices(("preposición", "relativa de sujeto", "relativa de objeto"), (2, 1, 1))
    if how == "preposición":
        return with_preposition(random, numbers)
    if how == "relativa de sujeto":
        verb = random.choice(VERBS[kind])[number]
        return ["que", verb, *noun(random, "cosa", first), *after(random, "cosa", first, rest)]
    inside = random.randint(0, len(rest))  # los que van antes del verbo de la relativa
    inner = after(random, "persona", first, rest[:inside])
    verb = random.choice(VERBS["persona"])[first]
    closed = with_preposition(random, rest[inside:]) if rest[inside:] else []
    return ["que", *noun(random, "persona", first), *inner, verb, *closed]


# Las oraciones


def splits(seed):
    """Ninguna oración está en dos partes."""
    random, seen = Random(seed), set()

    def new(count, crossed):
        found = []
        while len(found) < count:
            example = drawn(random, crossed)
            if example not in seen:
                found.append(example)
                seen.add(example)
        return found

    apart = [new(VALIDATION + TEST, crossed) for crossed in CROSSED]
    train = [drawn(random) for _ in range(2 * TRAIN)]
    return Splits(
        [example for example in train if example not in seen][:TRAIN],
        [example for part in apart for example in part[:VALIDATION]],
        [example for part in apart for example in part[VALIDATION:]],
    )


def drawn(random, crossed=None):
    """Una oración, cuántos se cruzan y su número; sin `crossed`, una de las de aprender."""
    between = random.randint(crossed or 0, BETWEEN)
    if crossed is None:
        crossed = random.randint(0, min(LEARNT, between))
    number = random.randrange(2)
    other = [1 - number] * crossed + [number] * (between - crossed)
    random.shuffle(other)
    return sentence(random, number, other), crossed, number


def by_length(examples):
    """Los tensores (palabras, cuántos se cruzan, número), de cada longitud."""
    found = defaultdict(list)
    for words, crossed, number in examples:
        found[len(words)].append(([IDS[word] for word in words], crossed, number))
    return [tuple(map(torch.tensor, zip(*same, strict=True))) for same in found.values()]


def measure(model, examples):
    if isinstance(model, nn.Module):
        parts = [(*answers(model, ids), *rest) for ids, *rest in by_length(examples)]
        said, steps, crossed, number = map(torch.cat, zip(*parts, strict=True))
    else:
        words, crossed, number = zip(*examples, strict=True)
        said, crossed, number = map(torch.tensor, (list(map(model, words)), crossed, number))
        steps = torch.zeros_like(said)
    right, steps = (said == number).double(), steps.double()
    return {f"aciertos a {k}": right[crossed == k].mean() for k in CROSSED} | {
        f"pasos a {k}": steps[crossed == k].mean() for k in CROSSED
    }


def answers(model, ids):
    """El número que dice cada oración, y los pasos que dio su última posición."""
    output = model(ids)
    given = getattr(output.encoded, "n_updates", None)
    if given is None:
        given = torch.full_like(ids, getattr(model, "num_layers", 0))
    return output.logits[:, -1].argmax(-1), given[:, -1]


# Los que no se entrenan: lo que dice cada uno, con las palabras delante


def nouns(words):
    return [(i, NUMBER[word]) for i, word in enumerate(words) if word in NUMBER]


def commonest(train_set, validation, setting, seed):
    plurals = sum(number for *_, number in train_set)
    return lambda words: int(2 * plurals > len(train_set))


def rule(says):
    return Rival(lambda train_set, validation, setting, seed: says)


def nearest(words):
    return nouns(words)[-1][1]


def first(words):
    return nouns(words)[0][1]


def most(words):
    """Si empatan, el más cercano."""
    numbers = [number for _, number in nouns(words)]
    twice = 2 * sum(numbers)
    return numbers[-1] if twice == len(numbers) else int(twice > len(numbers))


def first_alone(words):
    """El primero que no lleva delante una preposición y su artículo."""
    return next(
        number
        for i, number in nouns(words)
        if words[i - 1] != CONTRACTED and (i == 1 or words[i - 2] not in PREPOSITIONS)
    )


# Los que se entrenan


def tagger(encoder):
    return SequenceTagger(encoder, vocab_size=1 + len(IDS), num_labels=2, d_model=WIDTH)


def universal(*, adaptive):
    model = tagger(UniversalEncoder(max_steps=DEPTH, adaptive=adaptive, **SIZES, **OPTIONS))
    if adaptive:
        nn.init.constant_(model.encoder.computation.halting.bias, -3.0)
    return model


def plain(layers):
    model = tagger(PositionedEncoder(num_layers=layers, **SIZES, **OPTIONS))
    model.num_layers = layers
    return model


class LSTM(nn.Module):
    """Lee de izquierda a derecha; se llama como un codificador."""

    max_length = OPTIONS["max_length"]

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)

    def forward(self, x, *, mask, start):
        return self.lstm(x)[0]


def recurrent():
    return tagger(LSTM())


def loss(model, batch):
    ids, number = batch
    output = model(ids)
    found = cross_entropy(output.logits[:, -1], number)
    cost = getattr(output.encoded, "mean_ponder_cost", None)
    return found if cost is None else found + TAU * cost


def trained(build, train_set, validation, rate, seed):
    return fitted(build, loss, batches(by_length(train_set), seed), STEPS, rate, seed)


def batches(groups, seed):
    """Lotes sin fin: cada uno, de una longitud; más a menudo, las que más hay."""
    which, random = Random(seed), torch.Generator().manual_seed(seed)
    counts = [len(ids) for ids, *_ in groups]
    while True:
        ((ids, _, number),) = which.choices(groups, counts)
        rows = torch.randint(len(ids), (BATCH,), generator=random)
        yield ids[rows], number[rows]


BUILDS = {
    "Universal Transformer": partial(universal, adaptive=False),
    "con ACT": partial(universal, adaptive=True),
    "Transformer, mismos parámetros": partial(plain, 1),
    "Transformer, misma profundidad": partial(plain, DEPTH),
    "LSTM": recurrent,
}

EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: Rival(partial(trained, build), RATES) for name, build in BUILDS.items()}
    | {
        "el primero sin preposición": rule(first_alone),
        "el primero": rule(first),
        "los más": rule(most),
        "el más cercano": rule(nearest),
        "la mayoría": Rival(commonest),
    },
    measure=measure,
    measures={f"aciertos a {k}": "%" for k in CROSSED} | {f"pasos a {k}": "" for k in CROSSED},
    chosen_by="aciertos a 4",
)
