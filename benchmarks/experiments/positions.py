"""¿Qué se pela, qué se corta? Las posiciones, en las oraciones que se conocen y en otras más largas.

La tarea del capítulo `positions`: cada oración tiene de dos a seis órdenes («pela el ajo, corta la papa y lava el apio.») y, en cada verbo, hay que decir su nombre. Se entrena con dos y tres órdenes. La red es un bloque de codificador: sin posiciones, con senos, con posiciones aprendidas, y con giros (RoPE) en lugar de sumarlas. Otras dos entrenan igual, pero cada oración empieza en un lugar al azar, así que ven todas las filas de la tabla. «Dos más adelante» no se entrena: responde la palabra que va dos lugares después del verbo, y nunca falla.

Todas dan los mismos 400 pasos, de 64 oraciones. Cada una elige su tasa entre cinco, con tres semillas, por lo que acierta en validación con cuatro órdenes, una más de las que leyó; las de cinco y seis no eligen nada. Ninguna oración de la prueba se ha leído.
"""  # noqa: E501

from functools import partial
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.devices import seed_everything
from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.embeddings import InputEmbedding
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.primitives.attention import padding_mask
from course_lib.primitives.positions import rotary
from course_lib.training.loop import train

VERBS = ["pela", "corta", "lava", "hierve", "muele", "guarda"]
NOUNS = [
    "el ajo",
    "la papa",
    "el apio",
    "la yuca",
    "el maíz",
    "la calabaza",
    "el pepino",
    "la acelga",
    "el puerro",
    "la remolacha",
    "el tomate",
    "la cebolla",
]
WORDS = dict.fromkeys([*VERBS, *" ".join(NOUNS).split(), ",", "y", "."])
IDS = {word: i for i, word in enumerate(WORDS, start=1)}
KNOWN, COUNTS, IGNORE = (2, 3), (2, 3, 4, 5, 6), -100
TRAIN, VALIDATION, TEST = 8000, 200, 500  # los dos últimos, de cada número de órdenes
STEPS, BATCH, WIDTH, MAX_LENGTH = 400, 64, 32, 32
RATES = (5e-4, 1e-3, 3e-3, 1e-2, 3e-2)


def orders(random, count):
    """Una oración de varias órdenes: sus palabras y, en los verbos, la que hay que responder."""
    words, answers = [], []
    pairs = zip(random.sample(VERBS, count), random.sample(NOUNS, count), strict=True)
    for n, (verb, noun) in enumerate(pairs):
        link = [] if n == 0 else ["y"] if n == count - 1 else [","]
        clause = [*link, verb, *noun.split()]
        words += clause
        answers += [IDS[clause[-1]] if word == verb else IGNORE for word in clause]
    return (*words, "."), (*answers, IGNORE)


def splits(seed):
    """Ninguna oración está en dos partes."""
    random, seen = Random(seed), set()

    def new(count, size):
        found = []
        while len(found) < size:
            example = orders(random, count)
            if example not in seen:
                seen.add(example)
                found.append(example)
        return found

    apart = [new(count, VALIDATION + TEST) for count in COUNTS]
    drawn = [orders(random, random.choice(KNOWN)) for _ in range(2 * TRAIN)]
    return Splits(
        [example for example in drawn if example not in seen][:TRAIN],
        [example for part in apart for example in part[:VALIDATION]],
        [example for part in apart for example in part[VALIDATION:]],
    )


def encode(examples):
    """Palabras y respuestas, [lote, t]; el relleno, a la derecha, es 0."""
    X = [torch.tensor([IDS[word] for word in words]) for words, _ in examples]
    Y = [torch.tensor(answers) for _, answers in examples]
    pad = partial(nn.utils.rnn.pad_sequence, batch_first=True)
    return pad(X), pad(Y, padding_value=IGNORE)


def measure(model, examples):
    ids, wanted = encode(examples)
    asked = wanted != IGNORE
    right = (model(ids) == wanted) & asked
    counts = asked.sum(dim=1)
    return {f"aciertos a {n}": right[counts == n].sum() / asked[counts == n].sum() for n in COUNTS}


def two_ahead(train_set, validation, setting, seed):
    return lambda ids: F.pad(ids, (0, 2))[:, 2:]


class Rotating(MultiHeadAttention):
    """Gira las consultas y las claves según su posición."""

    def attend(self, Q, K, V, mask=None, causal=False):
        places = torch.arange(Q.shape[-2])
        return super().attend(rotary(Q, places), rotary(K, places), V, mask, causal)


class WhatIsDone(nn.Module):
    """La red del capítulo; con `anywhere`, al entrenar cada oración empieza donde toque."""

    def __init__(self, positions=None, *, anywhere=False, attention=None):
        super().__init__()
        options = {"max_length": MAX_LENGTH, "positions": positions, "pad_id": 0}
        self.anywhere, self.embed = anywhere, InputEmbedding(1 + len(IDS), WIDTH, **options)
        self.block = EncoderBlock(WIDTH, num_heads=2, d_ff=64, attention=attention)
        self.answer = nn.Linear(WIDTH, 1 + len(IDS))

    def scores(self, ids, start=0):
        x = self.embed(ids, start=start)
        return self.answer(self.block(x, mask=padding_mask(ids, pad_id=0)))

    def forward(self, ids):
        return self.scores(ids).argmax(-1)


def loss(model, batch):
    ids, wanted, moved = batch
    scores = model.scores(ids, moved if model.anywhere else 0)
    return F.cross_entropy(scores.flatten(0, 1), wanted.flatten(), ignore_index=IGNORE)


def trained(build, train_set, validation, rate, seed):
    seed_everything(seed)
    ids, wanted = encode(train_set)
    room = MAX_LENGTH - ids.shape[1] + 1

    def batches():
        random = torch.Generator().manual_seed(seed)
        while True:
            rows = torch.randint(len(ids), (BATCH,), generator=random)
            yield ids[rows], wanted[rows], torch.randint(room, (BATCH,), generator=random)

    model = build()
    return model, train(model, loss, batches(), steps=STEPS, learning_rate=rate, seed=seed)


def turning():
    return WhatIsDone(attention=Rotating(WIDTH, num_heads=2))


BUILDS = {
    "sin posiciones": WhatIsDone,
    "senos": partial(WhatIsDone, "sinusoidal"),
    "aprendidas": partial(WhatIsDone, "learned"),
    "giros": turning,
    "senos, desde cualquier lugar": partial(WhatIsDone, "sinusoidal", anywhere=True),
    "aprendidas, desde cualquier lugar": partial(WhatIsDone, "learned", anywhere=True),
}

EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: Rival(partial(trained, build), RATES) for name, build in BUILDS.items()}
    | {"dos más adelante": Rival(two_ahead)},
    measure=measure,
    measures={f"aciertos a {n}": "%" for n in COUNTS},
    chosen_by="aciertos a 4",
    tuning_seeds=3,
)
