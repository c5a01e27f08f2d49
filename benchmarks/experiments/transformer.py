"""La tabla 3, en pequeño: ¿qué cuesta cada cosa que se quita, y qué da cada cosa que se añade?

La tarea del capítulo `training`: traducir títulos de recetas, palabra por palabra. La base es un Transformer de dos bloques en cada mitad, de ancho 32, cuatro cabezas de 8, $d_{ff} = 128$, dropout 0.1 y suavizado 0.1, con la normalización delante. Cada rival cambia una sola cosa, como la tabla 3 del artículo de 2017. Todos se entrenan 500 pasos, calentando 50.

Cada uno elige su tasa con los títulos de validación y la primera semilla, y se mide en los de prueba. Cada semilla aparta otros cien títulos para cada cosa. La pérdida se mide siempre sin suavizado ni dropout; también se mide la parte de títulos traducidos sin ningún error, con decodificación voraz. Todas las filas se comparan con la base.
"""  # noqa: E501

from functools import partial

from benchmarks.experiments import Experiment, Rival
from benchmarks.experiments.training import measure, splits, trained

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


def rival(name):
    changes = {"label_smoothing": 0.1} | CHANGES[name]
    smoothing = changes.pop("label_smoothing")
    fit = partial(trained, SIZES | changes, WARMUP, label_smoothing=smoothing)
    return Rival(fit, RATES, None if name == BASE else BASE)


EXPERIMENT = Experiment(
    splits=splits,
    rivals={name: rival(name) for name in CHANGES},
    measure=measure,
    measures={"pérdida": "", "títulos": "%"},
    chosen_by="pérdida",
    lowest=True,
)
