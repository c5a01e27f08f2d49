"""Dónde se normaliza: ¿qué colocación aprende, a cada profundidad y con la tasa que prefiera?

La tarea del capítulo `normalization`: adivinar la palabra siguiente de cada paso de receta, con una pila de 2, 6 o 18 bloques de ancho 32 y máscara causal. Se comparan post y pre, sin calentar y con los primeros 100 pasos de subida, y, con 18 bloques, pre con RMSNorm. Cada red da 300 pasos de 32 oraciones con Adam, sin recortar el gradiente ni bajar la tasa, y elige la suya en validación con la primera semilla (si gana la del borde, se prueba la siguiente). Son pocos pasos: lo que cabe en unos minutos. Un post que calentara más tiempo podría llegar más lejos.

Cada semilla aparta un décimo de las oraciones para validar y otro para la prueba. «Parecido» es la similitud coseno media entre las salidas de la pila en dos posiciones cualesquiera, ya entrenada: 1 es que todas apuntan en la misma dirección. «Solo frecuencias» no lee lo anterior: da a cada palabra la probabilidad con que aparece al entrenar.
"""  # noqa: E501

import re
from functools import cache, partial
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes
from course_lib.devices import seed_everything
from course_lib.layers.embeddings import InputEmbedding
from course_lib.layers.encoder_decoder import Encoder
from course_lib.training.loop import train

LONGEST, WIDTH, BATCH, STEPS, WARMUP = 15, 32, 32, 300, 100
SHALLOW, DEEP = (1e-3, 3e-3, 1e-2, 3e-2), (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
RATES = {2: SHALLOW, 6: SHALLOW, 18: DEEP}
PAD, START = 0, 1


@cache
def sentences():
    """Los pasos distintos de hasta quince palabras, en números y rellenados."""
    steps = {step.lower() for recipe in generate_recipes(800, seed=0) for step in recipe.steps}
    found = [re.findall(r"\w+|[^\w\s]", step) for step in sorted(steps)]
    vocabulary, rows = {}, []
    for words in (words for words in found if len(words) <= LONGEST):
        ids = [vocabulary.setdefault(word, 2 + len(vocabulary)) for word in words]
        rows.append((START, *ids, *[PAD] * (LONGEST - len(ids))))
    return rows, 2 + len(vocabulary)


def splits(seed):
    rows = Random(seed).sample(sentences()[0], len(sentences()[0]))
    tenth = len(rows) // 10
    return Splits(rows[2 * tenth :], rows[:tenth], rows[tenth : 2 * tenth])


class NextWord(nn.Module):
    """El modelo del capítulo: una pila con máscara causal; la salida usa la tabla de la entrada."""

    def __init__(self, depth, **options):
        super().__init__()
        self.embed = InputEmbedding(sentences()[1], WIDTH, max_length=LONGEST + 1, pad_id=PAD)
        sizes = {"num_heads": 4, "d_ff": 2 * WIDTH, "num_layers": depth}
        self.stack = Encoder(WIDTH, **sizes, **options)

    def states(self, words):
        return self.stack(self.embed(words), causal=True)

    def forward(self, words):
        return F.linear(self.states(words), self.embed.table.weight)


def loss(model, rows):
    logits = model(rows[:, :-1])
    return F.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), ignore_index=PAD)


def measure(model, examples):
    rows = torch.tensor(examples)
    return {"pérdida": loss(model, rows), "parecido": alikeness(model, rows[:64, :-1])}


def alikeness(model, words):
    """Similitud coseno media entre las salidas en dos posiciones cualesquiera."""
    if not isinstance(model, NextWord):
        return 1.0
    h = F.normalize(model.states(words), dim=-1)[words != PAD]
    return ((h @ h.T).sum() - len(h)) / (len(h) * (len(h) - 1))


def only_frequencies(train_set, validation, setting, seed):
    counts = torch.tensor(train_set)[:, 1:].flatten().bincount(minlength=sentences()[1])
    counts[PAD] = -1  # el relleno no es una palabra, y no se adivina
    logits = (counts + 1).double().log()
    return lambda words: logits.expand(*words.shape, -1)


def trained(options, warmup, train_set, validation, rate, seed):
    seed_everything(seed)
    model = NextWord(**options)
    history = train(
        model,
        loss,
        batches(torch.tensor(train_set), seed),
        steps=STEPS,
        schedule=lambda step: rate * min(1.0, step / max(warmup, 1)),
        clip_norm=None,
        precision="float32",
        seed=seed,
    )
    return model, history


def batches(rows, seed):
    random = torch.Generator(device=rows.device).manual_seed(seed)
    while True:
        yield rows[torch.randint(len(rows), (BATCH,), generator=random)]


def rivals():
    cases = [("pre", depth, 0) for depth in (18, 6, 2)] + [
        ("post", depth, 0) for depth in (18, 6, 2)
    ]
    cases += [("pre", 18, WARMUP), ("post", 18, WARMUP), ("pre y RMSNorm", 18, 0)]
    found = {}
    for name, depth, warmup in cases:
        placement, _, norm = name.partition(" y ")
        options = {"depth": depth, "placement": placement, "norm": "rms" if norm else "layer"}
        note = ", calentando" if warmup else ""
        fit, whom = partial(trained, options, warmup), f"pre, {depth} bloques"
        found[f"{name}, {depth} bloques{note}"] = Rival(fit, RATES[depth], whom)
    return found | {"solo frecuencias": Rival(only_frequencies)}


EXPERIMENT = Experiment(
    splits=splits,
    rivals=rivals(),
    measure=measure,
    measures={"pérdida": "", "parecido": ""},
    chosen_by="pérdida",
    lowest=True,
)
