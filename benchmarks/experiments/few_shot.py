"""Aprender de los ejemplos del contexto, según el tamaño

Cada secuencia es una tarea nueva: nueve parejas de una cosa y su etiqueta, una detrás de otra. Las cosas son cuatro y las etiquetas, ocho; en cada secuencia se sortea qué etiqueta lleva cada cosa, siempre distintas. Hay 1680 tareas: con 1280 se aprende, 200 son de validación y 200 de prueba, así que la respuesta no puede estar en los parámetros: hay que sacarla del contexto. Las cosas se sortean, y una puede no haber salido todavía.

Se mide la parte de etiquetas que se acierta con 0, 1, 2, 4 y 8 ejemplos delante. Compiten PaLM de varios tamaños y una GRU, con los mismos pasos de entrenamiento; «ocho tareas» es el primero, entrenado solo con ocho de las 1280. El de un bloque tiene más parámetros que el de dos. Los rivales baratos no aprenden nada: «la más frecuente» da la etiqueta más vista en el contexto, y «la de la misma cosa», la que llevó esa cosa o, si no ha salido, la última. «Quien sabe el sorteo» da además, a una cosa nueva, una etiqueta que no lleve otra: más no se puede.

No es lo del artículo: PaLM se entrenó con textos, y nadie le enseñó a aprender de ejemplos; estos modelos no han visto otra cosa. Cada uno elige su tasa máxima entre tres o más (si gana la del borde, se prueba la siguiente), con la primera semilla, por el acierto de validación, en promedio de 1, 2, 4 y 8 ejemplos.
"""  # noqa: E501

from collections import Counter
from functools import partial
from itertools import permutations
from random import Random

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.palm import SMALL_TABLE, build
from course_lib.devices import seed_everything
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

VALUES, LABELS = 4, 8  # las cosas son los tokens 0 a 3, y las etiquetas, 4 a 11
VOCAB = VALUES + LABELS
SHOTS, PAIRS = (0, 1, 2, 4, 8), 9
APART, TIMES, FEW = 200, 6, 8  # TIMES: secuencias de cada tarea apartada
ROWS, STEPS = 64, 2000
RATES = (4e-3, 8e-3, 1.6e-2)

# Las tareas


def sequence(task, random):
    """Parejas de una cosa y la etiqueta que la tarea le da, como tokens."""
    things = random.choices(range(VALUES), k=PAIRS)
    return tuple(token for thing in things for token in (thing, task[thing]))


def splits(seed):
    random = Random(seed)
    tasks = list(permutations(range(VALUES, VOCAB), VALUES))
    random.shuffle(tasks)
    apart = [sequence(task, random) for task in tasks[: 2 * APART] for _ in range(TIMES)]
    return Splits(tasks[2 * APART :], apart[: TIMES * APART], apart[TIMES * APART :])


# Lo que se mide


def guesses(model, sequences):
    """La etiqueta que da a cada cosa quien lee la secuencia hasta ella."""
    if isinstance(model, nn.Module):
        return model(torch.tensor(sequences))[0][:, ::2].argmax(-1).tolist()
    return [[model(row[:i], row[i]) for i in range(0, 2 * PAIRS, 2)] for row in sequences]


def measure(model, sequences):
    rows = list(zip(guesses(model, sequences), (row[1::2] for row in sequences), strict=True))
    found = {n: sum(said[n] == label[n] for said, label in rows) / len(rows) for n in SHOTS}
    return {"de 1 a 8": sum(found[n] for n in SHOTS[1:]) / len(SHOTS[1:])} | {
        f"con {n}": found[n] for n in SHOTS
    }


# Los que no aprenden


def most_frequent(context, thing):
    return Counter(context[1::2] or [VALUES]).most_common(1)[0][0]


def same_thing(context, thing):
    """La etiqueta que llevó la misma cosa; si no está, la última."""
    labels = dict(zip(context[::2], context[1::2], strict=True))
    return labels.get(thing, context[-1] if context else VALUES)


def knowing(context, thing):
    """Como `same_thing`; a una cosa nueva, una etiqueta que no lleve otra."""
    unused = min(set(range(VALUES, VOCAB)) - {*context[1::2]})
    return dict(zip(context[::2], context[1::2], strict=True)).get(thing, unused)


# Los que se entrenan


class GRU(nn.Module):
    """Lee la secuencia de token en token y predice el siguiente."""

    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.output = nn.Linear(width, VOCAB)

    def forward(self, token_ids):
        h, state = self.gru(self.embedding(token_ids))
        return self.output(h), state


def palm(layers, width):
    return build(vocab_size=VOCAB, num_layers=layers, d_model=width, d_ff=2 * width, **SMALL_TABLE)


def loss(model, batch):
    """La entropía cruzada de las etiquetas."""
    logits = model(batch)[0][:, ::2]
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1::2].flatten())


def batches(tasks, seed):
    random = Random(seed)
    while True:
        yield torch.tensor([sequence(random.choice(tasks), random) for _ in range(ROWS)])


def trained(make, few, tasks, validation, rate, seed):
    seed_everything(seed)
    model = make()
    return model, train(
        model,
        loss,
        batches(tasks[:FEW] if few else tasks, seed),
        steps=STEPS,
        schedule=warmup_cosine(rate, STEPS // 20, STEPS),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        precision="float32",
        seed=seed,
    )


def ready(rule):
    return Rival(lambda tasks, validation, setting, seed: rule)


def network(make, few=False):
    return Rival(partial(trained, make, few), RATES)


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "2 bloques, ancho 64": network(partial(palm, 2, 64)),
        "4 bloques, ancho 64": network(partial(palm, 4, 64)),
        "2 bloques, ancho 16": network(partial(palm, 2, 16)),
        "1 bloque, ancho 96": network(partial(palm, 1, 96)),
        "ocho tareas": network(partial(palm, 2, 64), few=True),
        "GRU, ancho 96": network(partial(GRU, 96)),
        "la más frecuente": ready(most_frequent),
        "la de la misma cosa": ready(same_thing),
        "quien sabe el sorteo": ready(knowing),
    },
    measure=measure,
    measures=dict.fromkeys(("de 1 a 8", *(f"con {n}" for n in SHOTS)), "%"),
    chosen_by="de 1 a 8",
)
