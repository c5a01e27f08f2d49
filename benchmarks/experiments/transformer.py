"""La tabla 3, en pequeño: ¿qué cuesta cada cosa que se quita, y qué da cada cosa que se añade?

La tarea del capítulo `training`: traducir títulos de recetas, palabra por palabra. La base es un Transformer de dos bloques en cada mitad, de ancho 32, cuatro cabezas de 8, $d_{ff} = 128$, dropout 0.1 y suavizado 0.1, con la normalización delante. Cada rival cambia una sola cosa, como la tabla 3 del artículo de 2017. Todos se entrenan 500 pasos, calentando 50.

Cada uno elige su tasa con los títulos de validación y la primera semilla, y se mide en los de prueba. Cada semilla aparta otros cien títulos para cada cosa. La pérdida se mide siempre sin suavizado ni dropout; también se mide la parte de títulos traducidos sin ningún error, con decodificación voraz. Todas las filas se comparan con la base.
"""  # noqa: E501

from functools import partial

import torch

from benchmarks.experiments import Experiment, Rival
from benchmarks.experiments.training import BATCH, PAD, STEPS, measure, splits, vocabulary
from course_lib.devices import seed_everything
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.training.batches import TokenBatches
from course_lib.training.loop import train
from course_lib.training.losses import TranslationLoss
from course_lib.training.schedules import warmup_cosine

BASE = "base"
WARMUP, RATES = 50, (1.5e-3, 5e-3, 1.5e-2, 4.5e-2)
SIZES = {
    "d_model": 32,
    "num_heads": 4,
    "num_layers": 2,
    "d_ff": 128,
    "dropout": 0.1,
    "placement": "pre",
    "max_length": 32,
}
CHANGES = {
    BASE: {},
    "1 cabeza": {"num_heads": 1},
    "8 cabezas": {"num_heads": 8},
    "16 cabezas": {"num_heads": 16},
    "1 bloque": {"num_layers": 1},
    "4 bloques": {"num_layers": 4},
    "ancho 16": {"d_model": 16},
    "ancho 64": {"d_model": 64},
    "red de 64": {"d_ff": 64},
    "red de 256": {"d_ff": 256},
    "sin dropout": {"dropout": 0.0},
    "dropout 0.2": {"dropout": 0.2},
    "sin suavizado": {"label_smoothing": 0.0},
    "suavizado 0.2": {"label_smoothing": 0.2},
    "posiciones aprendidas": {"positions": "learned"},
}


def trained(changes, train_set, validation, rate, seed):
    seed_everything(seed)
    sizes = SIZES | changes
    smoothing = sizes.pop("label_smoothing", 0.1)
    model = Transformer(TransformerConfig(len(vocabulary()), **sizes))
    history = train(
        model,
        TranslationLoss(label_smoothing=smoothing, pad_id=PAD),
        TokenBatches(train_set, batch_size=BATCH, seed=seed),
        steps=STEPS,
        schedule=warmup_cosine(rate, WARMUP, STEPS),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), eps=1e-9),
        precision="float32",
        seed=seed,
    )
    return model, history


def rival(name):
    return Rival(partial(trained, CHANGES[name]), RATES, None if name == BASE else BASE)


EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: rival(name) for name in CHANGES},
    measure=measure,
    measures={"pérdida": "", "títulos": "%"},
    chosen_by="pérdida",
    lowest=True,
)
