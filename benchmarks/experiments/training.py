"""Calentar la tasa: ¿cuándo hace falta?

La tarea del capítulo `training`: traducir títulos de recetas, palabra por palabra. Compiten redes de un bloque en cada mitad y de seis, con la normalización detrás (post, como en el artículo de 2017) o delante (pre); una más cambia la normalización de capa por RMSNorm. Cada una se entrena 500 pasos con varios planes: sin calentar, calentando 50 pasos o calentando 250. En todos, la tasa llega a un máximo y baja después por media onda de coseno hasta cero.

La rejilla son todas las parejas (tasa máxima, calentamiento): cada red y cada calentamiento eligen su tasa con los títulos de validación y la primera semilla (si gana la del borde, se prueba la siguiente), y se mide en los de prueba. Cada semilla aparta otros cien títulos para cada cosa. Además de la pérdida se mide la parte de títulos traducidos sin ningún error, con decodificación voraz. Cada fila se compara con la misma red, calentando 250; la de RMSNorm, con la de capa.
"""  # noqa: E501

from functools import cache, partial
from random import Random

import torch

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes
from course_lib.decoding import greedy
from course_lib.devices import seed_everything
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.batches import TokenBatches, pad
from course_lib.training.loop import train
from course_lib.training.losses import TranslationLoss
from course_lib.training.schedules import warmup_cosine

PAD, START, END = 0, 1, 2
APART, BATCH, STEPS, LONGEST = 100, 32, 500, 16
RATES = (5e-4, 1.5e-3, 5e-3, 1.5e-2, 5e-2)
WARMUPS = {"sin calentar": 0, "calentando 50": 50, "calentando 250": 250}
SHORT = ("sin calentar", "calentando 250")
NETWORKS = {
    "6 bloques, post": ({"num_layers": 6}, tuple(WARMUPS)),
    "6 bloques, pre": ({"num_layers": 6, "placement": "pre"}, SHORT),
    "6 bloques, pre y RMSNorm": ({"num_layers": 6, "placement": "pre", "norm": "rms"}, SHORT[:1]),
    "1 bloque, post": ({"num_layers": 1}, tuple(WARMUPS)),
    "1 bloque, pre": ({"num_layers": 1, "placement": "pre"}, SHORT),
}


@cache
def titles():
    return sorted({r.title.lower(): r.title_en.lower() for r in generate_recipes(1500)}.items())


@cache
def vocabulary():
    words = sorted({word for pair in titles() for text in pair for word in text.split()})
    return {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", *words])}


def splits(seed):
    """Títulos distintos en cada parte, ya en números."""
    shuffled = Random(seed).sample(titles(), len(titles()))

    def ids(text):
        return [vocabulary()[word] for word in text.split()]

    examples = [([*ids(es), END], [START, *ids(en), END]) for es, en in shuffled]
    return Splits(examples[2 * APART :], examples[:APART], examples[APART : 2 * APART])


def measure(model, examples):
    (batch,) = TokenBatches(examples, batch_size=len(examples), shuffle=False)
    sources, targets = zip(*examples, strict=True)
    source = pad(sources, PAD)
    prompt = torch.full_like(source[:, :1], START)
    options = {"end_id": END, "max_new_tokens": LONGEST}
    written = greedy(model.step, prompt, model.start(source), **options).token_ids.tolist()
    right = [ids[: len(y) - 1] == y[1:] for ids, y in zip(written, targets, strict=True)]
    return {
        "pérdida": TranslationLoss(pad_id=PAD)(model, batch),
        "títulos": sum(right) / len(right),
    }


def trained(sizes, warmup, train_set, validation, rate, seed, label_smoothing=0.0):
    seed_everything(seed)
    common = {"d_model": 32, "num_heads": 2, "d_ff": 64, "dropout": 0.0, "max_length": 32}
    model = Transformer(TransformerConfig(len(vocabulary()), **common | sizes))
    history = train(
        model,
        TranslationLoss(label_smoothing=label_smoothing, pad_id=PAD),
        TokenBatches(train_set, batch_size=BATCH, seed=seed),
        steps=STEPS,
        schedule=warmup_cosine(rate, warmup, STEPS),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9),
        precision="float32",
        seed=seed,
    )
    return model, history


def rivals():
    found = {}
    for network, (sizes, warmups) in NETWORKS.items():
        whom = f"{network}, {SHORT[1]}" if SHORT[1] in warmups else "6 bloques, pre, sin calentar"
        for name in warmups:
            fit = partial(trained, sizes, WARMUPS[name])
            rates = RATES[1:] if sizes["num_layers"] == 1 else RATES[:-1]
            found[f"{network}, {name}"] = Rival(fit, rates, whom)
    return found


EXPERIMENT = Experiment(
    splits=splits,
    rivals=rivals(),
    measure=measure,
    measures={"pérdida": "", "títulos": "%"},
    chosen_by="pérdida",
    lowest=True,
)
