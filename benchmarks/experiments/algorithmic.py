"""Copiar, invertir y sumar: ¿quién aprende la regla, y no solo los casos?

Las tres tareas de Dehghani et al. (2018, §3.4), a nuestra medida. Se entrena con cadenas de 1 a 8 cifras y se prueba con otras de 8, 16, 32 y 80: hasta diez veces más largas, como en el artículo, que pasa de 40 a 400. Copiar e invertir son de secuencia a secuencia; sumar es poner la cifra de debajo en cada columna, con las unidades delante. Al entrenar, cada cadena empieza en una posición sorteada, para que ninguna posición sea nueva en la prueba; y en la suma, tres de cada diez columnas suman nueve.

El Universal Transformer da siempre los mismos pasos: dos en cada mitad para copiar e invertir, cuatro para sumar. Sus rivales son un Transformer con los mismos parámetros (un bloque), otro con la misma profundidad y una red recurrente del mismo ancho: la GRU con atención de `attention`, o una GRU que lee la suma de las unidades en adelante. En la suma, tres más: «sin coordenadas» no le dice ni la posición ni el paso; «sin la del paso», solo la posición; y «con convolución» cambia la red prealimentada por la otra transición del artículo, una convolución separable que mira también a las dos columnas vecinas.

Se dan 1200 pasos de entrenamiento para copiar y para invertir y 1000 para sumar, de 64 cadenas: lo que cabe en unos minutos, no lo que cada uno podría llegar a aprender. Cada rival elige entre dos tasas máximas (las que en ensayos sueltos aprendían; la GRU, entre otras, mayores), con la primera semilla, por las cifras que acierta en cadenas de validación de 16; las de 32 y 80 no eligen nada.
"""  # noqa: E501

from collections import defaultdict
from functools import partial
from random import Random
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.functional import pad

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.algorithmic import (
    COLUMN_VOCAB,
    DIGIT_LABELS,
    END_ID,
    START_ID,
    STRING_VOCAB,
    addition,
    copy,
    reverse,
)
from course_lib.decoding import greedy
from course_lib.devices import seed_everything
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.sequence_tagger import PositionedEncoder, SequenceTagger
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.universal_transformer import (
    UniversalEncoder,
    UniversalTransformer,
    UniversalTransformerConfig,
)
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy, shift_right
from course_lib.training.schedules import warmup_cosine

LONGEST, LENGTHS, PLACES = 8, (8, 16, 32, 80), 96
OFFSETS = LENGTHS[-1] - LONGEST
TRAIN, APART, BATCH = 2000, 100, 64  # de cada longitud
RATES, GRU_RATES = (2e-3, 5e-3), (5e-3, 1e-2)
SIZES = {"d_model": 64, "num_heads": 2, "d_ff": 128}
OPTIONS = {"max_length": PLACES, "placement": "pre"}


class Task(NamedTuple):
    """Una tarea: sus ejemplos, los pasos de entrenamiento y la profundidad de los modelos."""

    make: Any
    steps: int
    depth: int


TASKS = {
    "copiar": Task(copy, 1200, 2),
    "invertir": Task(reverse, 1200, 2),
    "sumar": Task(partial(addition, nines=0.3), 1000, 4),
}


def splits(seed):
    """De cada tarea y cada longitud; lo que se aparta no se ha entrenado."""
    random = torch.Generator().manual_seed(seed)

    def examples(name, length, count):
        pairs = zip(*TASKS[name].make(count, length, generator=random), strict=True)
        return [(name, *(tuple(side.tolist()) for side in pair)) for pair in pairs]

    parts = Splits([], [], [])
    for name in TASKS:
        for length in range(1, LONGEST + 1):
            parts.train.extend(examples(name, length, TRAIN))
        seen = {*parts.train}
        for length in LENGTHS:
            new = list(dict.fromkeys(examples(name, length, 2 * APART + 20)))
            new = [example for example in new if example not in seen]
            parts.validation.extend(new[:APART])
            parts.test.extend(new[APART : 2 * APART])
    return parts


def by_length(name, examples):
    """Los tensores (entrada, respuesta) de una tarea, por longitud."""
    found = defaultdict(list)
    for task, given, answer in examples:
        if task == name:
            found[len(given)].append((given, answer))
    return [
        tuple(map(torch.tensor, zip(*pairs, strict=True))) for _, pairs in sorted(found.items())
    ]


# Lo que se mide


def measure(model, examples):
    right = [hits(model, *pair) for pair in by_length(model.task, examples)]
    found = dict(zip(LENGTHS, right, strict=True))
    return {f"cifras a {n}": found[n].double().mean() for n in LENGTHS} | {
        f"cadenas a {n}": found[n].all(1).double().mean() for n in LENGTHS
    }


def hits(model, given, answer):
    """Qué cifras acierta, `[cadenas, longitud]`; al escribir cuenta también la marca del final."""
    if model.task == "sumar":
        return model(given).logits.argmax(-1) == answer
    return written(model, given) == answer[:, 1:]


def written(model, source):
    """Lo que el modelo escribe sin ayuda, completado con END_ID."""
    length = source.shape[1]
    if isinstance(model, Seq2Seq):
        ids = model.greedy(source, length)
    else:
        prompt = torch.full_like(source[:, :1], START_ID)
        begin = (prompt, model.start(source))
        ids = greedy(model.step, *begin, end_id=END_ID, max_new_tokens=length).token_ids
    return pad(ids, (0, length - ids.shape[1]), value=END_ID)


# Los que se entrenan


class GRUTagger(nn.Module):
    """Lee las columnas de una en una y pone la cifra de debajo; lleva el acarreo en su estado."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(COLUMN_VOCAB, SIZES["d_model"])
        self.gru = nn.GRU(SIZES["d_model"], SIZES["d_model"], batch_first=True)
        self.output = nn.Linear(SIZES["d_model"], DIGIT_LABELS)

    def forward(self, columns, *, start=0):
        return _Logits(self.output(self.gru(self.embedding(columns))[0]))


class _Logits(NamedTuple):
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


def universal(name, *, without=(), convolution=False):
    """El Universal Transformer de una tarea; `without` son las codificaciones que se le quitan."""
    depth = TASKS[name].depth
    if name == "sumar":
        model = tagger(UniversalEncoder(max_steps=depth, adaptive=False, **SIZES, **OPTIONS))
        halves = [model.encoder]
    else:
        options = {"max_steps": depth, "adaptive": False, "dropout": 0.0}
        config = UniversalTransformerConfig(STRING_VOCAB, **options, **SIZES, **OPTIONS)
        model = UniversalTransformer(config)
        halves = [model.encoder, model.decoder]
    for half in halves:
        for table in without:
            half.get_buffer(table).zero_()
        if convolution:
            half.block.feed_forward = SeparableConvolution(SIZES["d_model"], SIZES["d_ff"])
    return model


def plain(name, layers):
    if name == "sumar":
        return tagger(PositionedEncoder(num_layers=layers, **SIZES, **OPTIONS))
    options = {"num_layers": layers, "dropout": 0.0}
    return Transformer(TransformerConfig(STRING_VOCAB, **options, **SIZES, **OPTIONS))


def tagger(encoder):
    return SequenceTagger(
        encoder, vocab_size=COLUMN_VOCAB, num_labels=DIGIT_LABELS, d_model=SIZES["d_model"]
    )


def recurrent(name):
    if name == "sumar":
        return GRUTagger()
    config = Seq2SeqConfig(STRING_VOCAB, STRING_VOCAB, SIZES["d_model"], attention="additive")
    return Seq2Seq(config)


def loss(model, batch):
    given, answer, start = batch
    where = {} if isinstance(model, Seq2Seq) else {"start": start}
    if model.task == "sumar":
        return cross_entropy(model(given, **where).logits, answer)
    inputs, expected = shift_right(answer)
    output = model(given, inputs, **where)
    return cross_entropy(getattr(output, "logits", output), expected)


def trained(name, build, train_set, validation, rate, seed):
    seed_everything(seed)
    model = build(name)
    model.task = name
    steps = TASKS[name].steps
    history = train(
        model,
        loss,
        batches(by_length(name, train_set), seed),
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
        given, answer = which.choice(pairs)
        rows = torch.randint(len(given), (BATCH,), generator=random)
        yield given[rows], answer[rows], torch.randint(OFFSETS, (BATCH,), generator=random)


def rivals():
    found = {}
    for name, task in TASKS.items():
        builds = {
            "Universal Transformer": universal,
            "Transformer, mismos parámetros": partial(plain, layers=1),
            "Transformer, misma profundidad": partial(plain, layers=task.depth),
            "GRU": recurrent,
        }
        if name == "sumar":
            builds["sin coordenadas"] = partial(universal, without=("positions", "steps"))
            builds["sin la del paso"] = partial(universal, without=("steps",))
            builds["con convolución"] = partial(universal, convolution=True)
        for who, build in builds.items():
            fit = partial(trained, name, build)
            rates = GRU_RATES if who == "GRU" else RATES
            found[f"{name}: {who}"] = Rival(fit, rates, f"{name}: Universal Transformer")
    return found


EXPERIMENT = Experiment(
    splits=splits,
    rivals=rivals(),
    measure=measure,
    measures={f"{what} a {n}": "%" for what in ("cifras", "cadenas") for n in LENGTHS},
    chosen_by="cifras a 16",
)
