"""Sumar columnas que nadie vio tan largas: ¿quién aprende la regla, y no solo los casos?

La suma de Dehghani et al. (2018, §3.4), a nuestra medida: entra una columna por posición, con las unidades delante, y hay que poner la cifra de debajo. Se entrena con 1 a 8 columnas y se prueba con 8, 16, 32 y 80: hasta diez veces más, como en el artículo, que pasa de 40 a 400. Al entrenar, cada suma empieza en una posición sorteada, para que ninguna posición sea nueva en la prueba, y tres de cada diez columnas suman nueve. Copiar e invertir se miden en los experimentos `copying` y `reversing`.

El Universal Transformer da siempre cuatro pasos. Sus rivales son un Transformer con los mismos parámetros (un bloque), otro con la misma profundidad (cuatro) y una GRU del mismo ancho, que lee de las unidades en adelante. «Sin coordenadas» no le dice ni la posición ni el paso; «sin la del paso», solo la posición; y «con convolución» cambia la red prealimentada por la otra transición del artículo, una convolución separable que mira también a las dos columnas vecinas.

Se dan 1000 pasos de entrenamiento, de 64 sumas: lo que cabe en unos minutos, no lo que cada uno podría llegar a aprender. Cada rival elige entre tres tasas máximas o más (si gana la del borde, se prueba la siguiente; las de la GRU, mayores: en ensayos sueltos le iban mejor), con las dos primeras semillas, por las cifras que acierta en sumas de validación de 16 columnas; las de 32 y 80 no eligen nada.
"""  # noqa: E501

from collections import defaultdict
from functools import partial
from random import Random
from typing import NamedTuple

import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.algorithmic import COLUMN_VOCAB, DIGIT_LABELS, addition
from course_lib.devices import seed_everything
from course_lib.models.sequence_tagger import PositionedEncoder, SequenceTagger
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy
from course_lib.training.schedules import warmup_cosine

LONGEST, LENGTHS, PLACES = 8, (8, 16, 32, 80), 88
OFFSETS = LENGTHS[-1] - LONGEST
TRAIN, APART, BATCH, STEPS, DEPTH = 2000, 100, 64, 1000, 4  # TRAIN y APART, de cada longitud
RATES, GRU_RATES = (1e-3, 2e-3, 5e-3), (2e-3, 5e-3, 1e-2)
WIDTH = 64
SIZES = {"d_model": WIDTH, "num_heads": 2, "d_ff": 128, "max_length": PLACES, "placement": "pre"}


def splits_by_length(draw, lengths, seed):
    """De cada longitud, unas cuantas; lo que se aparta no se ha entrenado."""
    random = torch.Generator().manual_seed(seed)

    def examples(length, count):
        pairs = zip(*draw(count, length, generator=random), strict=True)
        return [tuple(tuple(side.tolist()) for side in pair) for pair in pairs]

    parts = Splits([], [], [])
    for length in range(1, LONGEST + 1):
        parts.train.extend(examples(length, TRAIN))
    seen = {*parts.train}
    for length in lengths:
        new = [e for e in dict.fromkeys(examples(length, 2 * APART + 20)) if e not in seen]
        parts.validation.extend(new[:APART])
        parts.test.extend(new[APART : 2 * APART])
    return parts


splits = partial(splits_by_length, partial(addition, nines=0.3), LENGTHS)


def by_length(examples):
    """Los tensores (columnas, respuestas), por longitud."""
    found = defaultdict(list)
    for columns, answer in examples:
        found[len(columns)].append((columns, answer))
    return [
        tuple(map(torch.tensor, zip(*pairs, strict=True))) for _, pairs in sorted(found.items())
    ]


def measure(model, examples):
    right = [model(columns).logits.argmax(-1) == answer for columns, answer in by_length(examples)]
    found = dict(zip(LENGTHS, right, strict=True))
    return {f"cifras a {n}": found[n].double().mean() for n in LENGTHS} | {
        f"sumas a {n}": found[n].all(1).double().mean() for n in LENGTHS
    }


# Los que se entrenan


class GRUTagger(nn.Module):
    """Lee las columnas de una en una y pone la cifra de debajo; lleva el acarreo en su estado."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(COLUMN_VOCAB, WIDTH)
        self.gru = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.output = nn.Linear(WIDTH, DIGIT_LABELS)

    def forward(self, columns, *, start=0):
        return Logits(self.output(self.gru(self.embedding(columns))[0]))


class Logits(NamedTuple):
    logits: torch.Tensor


class SeparableConvolution(nn.Module):
    """La otra transición: cada coordenada mira a sus dos vecinas, y después se mezclan."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.depthwise = nn.Conv1d(d_model, d_model, 3, padding=1, groups=d_model)
        self.pointwise, self.output = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        near = self.depthwise(x.transpose(1, 2)).transpose(1, 2)
        return self.output(self.pointwise(near).relu())


def tagger(encoder):
    return SequenceTagger(encoder, vocab_size=COLUMN_VOCAB, num_labels=DIGIT_LABELS, d_model=WIDTH)


def universal(*, without=(), convolution=False):
    """El Universal Transformer; `without` son las codificaciones que se le quitan."""
    model = tagger(UniversalEncoder(max_steps=DEPTH, adaptive=False, **SIZES))
    for table in without:
        model.encoder.get_buffer(table).zero_()
    if convolution:
        model.encoder.block.feed_forward = SeparableConvolution(WIDTH, SIZES["d_ff"])
    return model


def plain(layers):
    return tagger(PositionedEncoder(num_layers=layers, **SIZES))


def loss(model, batch):
    columns, answer, start = batch
    return cross_entropy(model(columns, start=start).logits, answer)


def trained(build, train_set, validation, rate, seed):
    return fitted(build, loss, batches(by_length(train_set), seed), STEPS, rate, seed)


def fitted(build, loss, batches, steps, rate, seed):
    """Construye y entrena, con la tasa que sube un décimo de los pasos y baja después."""
    seed_everything(seed)
    model = build()
    history = train(
        model,
        loss,
        batches,
        steps=steps,
        schedule=warmup_cosine(rate, steps // 10, steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        precision="float32",
        seed=seed,
    )
    return model, history


def batches(pairs, seed):
    """Lotes sin fin: cada uno, de una longitud al azar; cada fila, desde una posición al azar."""
    which, random = Random(seed), torch.Generator().manual_seed(seed)
    while True:
        columns, answer = which.choice(pairs)
        rows = torch.randint(len(columns), (BATCH,), generator=random)
        yield columns[rows], answer[rows], torch.randint(OFFSETS, (BATCH,), generator=random)


BUILDS = {
    "Universal Transformer": universal,
    "Transformer, mismos parámetros": partial(plain, 1),
    "Transformer, misma profundidad": partial(plain, DEPTH),
    "sin la del paso": partial(universal, without=("steps",)),
    "sin coordenadas": partial(universal, without=("positions", "steps")),
    "con convolución": partial(universal, convolution=True),
}

EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: Rival(partial(trained, build), RATES) for name, build in BUILDS.items()}
    | {"GRU": Rival(partial(trained, GRUTagger), GRU_RATES)},
    measure=measure,
    measures={f"{what} a {n}": "%" for what in ("cifras", "sumas") for n in LENGTHS},
    chosen_by="cifras a 16",
    tuning_seeds=2,
)
