"""Transformer-XL: evaluar con memoria o con una ventana recalculada para cada token

Los dos modos atienden a la misma longitud: cada token ve exactamente esas posiciones, él incluido
(same_length). Con la ventana deslizante, predecir un token pide recalcular todas las anteriores y
aprovecha solo la última; con la memoria se lee un segmento de 128 tokens, lo que usan los autores
al evaluar sus modelos grandes, y se aprovechan todos. El modelo es el de enwik8 (d_model 512, 8
cabezas, d_ff 2048) con 4 capas; el lote, de una fila. El original es el de transformers 4.57; el
del curso, con los mismos pesos, usa la memoria congelada.

La ventana se mide en una muestra: cada vuelta, una ventana, que es un token. Recorrer un texto
entero costaría ese tiempo por token, porque ninguna ventana aprovecha nada de las demás. Antes de
medir se comparan el original y el del curso en cada modo; y con una sola capa, los dos modos: ahí
ven lo mismo y dan las mismas pérdidas. Con más capas la memoria trae además un pasado más lejano
que la ventana, así que las pérdidas no son las mismas: la ventana no lo ve.

«Aceleración» es cuántas veces menos tarda un token que con la ventana del original; «propia», que
con la ventana del mismo código. La ventana recalcula L posiciones para aprovechar una, así que la
propia ronda L, menos lo que un segmento corto pierde frente a una ventana larga: productos más
pequeños y más claves, L + 128. La otra suma lo que el código del curso gana al original. La del
artículo (tabla 9, en una GPU) compara con la ventana de otro modelo, el de Al-Rfou et al. (2019),
de posiciones absolutas; también crece con L, como L / 2.
"""

import statistics

import torch

from benchmarks._measure import alternate, require_same, spread
from benchmarks._transfo_xl import VOCAB, Original, make_models, reading
from course_lib.fast import frozen
from course_lib.training.language_modelling import segment_losses, sliding_losses

LAYERS, SEGMENT, SEGMENTS = 4, 128, 4
LENGTHS = (128, 256, 512, 800, 1024, 1800, 2048, 2800, 3800)
PAPER = {800: 363.0, 1800: 773.0, 2800: 1409.0, 3800: 1874.0}
WINDOW, MEMORY = ("ventana, original", "ventana, curso"), ("memoria, original", "memoria, curso")


def run(device: str) -> list[dict]:
    require_same(one_layer(device), "ventana", torch.testing.assert_close)
    return [row for length in LENGTHS for row in rows_at(length, device)]


def one_layer(device: str) -> dict:
    """Las pérdidas de los dos modos con una capa, donde el contexto es el mismo."""
    torch.manual_seed(0)
    theirs, ours = (m.to(device) for m in make_models(1, 48, same_length=True, init_std=0.05))
    text = torch.randint(VOCAB, (1, 200), device=device)
    return {
        "ventana": lambda: sliding_losses(ours, text, context=48),
        "ventana, original": lambda: sliding_losses(Original(theirs), text, context=48),
        "memoria": lambda: segment_losses(ours, text, segment_length=32),
        "memoria congelada": lambda: segment_losses(frozen(ours), text, segment_length=32),
    }


def rows_at(length: int, device: str) -> list[dict]:
    jobs = build(length, device)
    for first, second in (WINDOW, MEMORY):
        pair = {name: jobs[name] for name in (first, second)}
        require_same(pair, first, torch.testing.assert_close)
    times = alternate(jobs, device)
    tokens = dict.fromkeys(WINDOW, 1) | dict.fromkeys(MEMORY, SEGMENT * SEGMENTS)
    each = {name: statistics.median(seconds) / tokens[name] for name, seconds in times.items()}
    return [
        {
            "atención": length,
            "quién": name,
            "s por token": seconds,
            "dispersión": spread(times[name]),
            "aceleración": each[WINDOW[0]] / seconds,
            "propia": each[name.replace("memoria", "ventana")] / seconds,
            "artículo": PAPER.get(length) if name in MEMORY else None,
        }
        for name, seconds in each.items()
    ]


def build(length: int, device: str) -> dict:
    """Una ventana, que da un token; y unos segmentos seguidos con la memoria llena."""
    torch.manual_seed(0)
    theirs, ours = (m.to(device) for m in make_models(LAYERS, length, same_length=True))
    sizes = [length, *[SEGMENT] * SEGMENTS]
    past, *segments = torch.randint(VOCAB, (1, sum(sizes)), device=device).split(sizes, 1)

    def window(model):
        return lambda: model(past, None)[0][:, -1].log_softmax(-1)

    jobs = (
        window(Original(theirs)),
        window(ours),
        reading(Original(theirs), None, past, segments),
        reading(frozen(ours), None, past, segments),
    )
    return dict(zip((*WINDOW, *MEMORY), jobs, strict=True))
