"""Copiar cadenas más largas que las leídas.

La primera de las tareas de Dehghani et al. (2018, §3.4), a nuestra medida: entra una cadena de cifras, y hay que escribirla otra vez. Se entrena con 1 a 8 cifras, con las largas más a menudo, y se prueba con 8, 16 y 32: cuatro veces más; en el artículo, de 40 a 400. Al entrenar, cada cadena empieza en una posición sorteada, la misma en el origen y en el destino: así ninguna posición es nueva en la prueba. Se dan 500 pasos de entrenamiento, de 64 cadenas: lo que cabe en unos minutos.

El Universal Transformer da tres pasos; con ACT, tres como mucho, y paga 0.01 por cada uno desde el comienzo. La parada nace con sesgo 1, que la invita a detenerse pronto (al comenzar, en el segundo paso); «con b = −3» nace como en `universal_transformer`, con ese sesgo y pesos diez veces menores, y al comenzar casi nunca se detiene. Un Transformer tiene los mismos parámetros (un bloque en cada mitad) y otro, la misma profundidad (tres). Los cuatro normalizan delante de cada subcapa; los del artículo, detrás. Y sus incrustaciones nacen menores que las posiciones, como en la suma: el orden se aprende antes. El rival barato es una GRU del mismo ancho, con la atención «general» de Luong. «Repetir lo que entra» no se entrena: es la regla.

Se escribe sin ayuda: cada cifra, con las que el propio modelo ya escribió. «Cifras» son las que están en su sitio; «cadenas», las que están bien enteras y acaban donde toca; «pasos», los bloques que atraviesa de media cada posición, en las dos mitades. Cada red elige entre cinco tasas máximas, con la primera semilla, por las cifras que acierta en cadenas de validación de 16; las de 32 no eligen nada.
"""  # noqa: E501

from collections import defaultdict
from functools import partial
from random import Random

import torch
from torch.nn.functional import pad

from benchmarks.experiments import Experiment, Rival
from benchmarks.experiments.addition import LONGEST, fitted, splits_by_length
from benchmarks.experiments.universal_transformer import rarely
from course_lib.data.algorithmic import START_ID, STRING_VOCAB, copy
from course_lib.decoding.greedy import greedy
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.universal_transformer import UniversalTransformer, UniversalTransformerConfig
from course_lib.training.losses import cross_entropy, shift_right

LENGTHS = (8, 16, 32)
PLACES, OFFSETS = LENGTHS[-1] + 1, LENGTHS[-1] - LONGEST + 1  # también el fin tiene posición
BATCH, DEPTH = 64, 3
RATES, TAU = (1e-3, 2e-3, 5e-3, 1e-2, 2e-2), 0.01
WIDTH = 64
SIZES = {"target_vocab": STRING_VOCAB, "d_model": WIDTH, "num_heads": 2, "d_ff": 128}
SIZES |= {"max_length": PLACES, "placement": "pre", "dropout": 0.0}


def by_length(examples):
    """Los tensores (origen, destino), por longitud."""
    found = defaultdict(list)
    for source, target in examples:
        found[len(source) - 1].append((source, target))
    return {n: tuple(map(torch.tensor, zip(*found[n], strict=True))) for n in sorted(found)}


def measure(model, examples):
    found = {}
    for n, (source, target) in by_length(examples).items():
        right = write(model, source) == target[:, 1:]
        found[f"cifras a {n}"] = right[:, :n].double().mean()
        found[f"cadenas a {n}"] = right.all(1).double().mean()
        found[f"pasos a {n}"] = blocks(model, source, target[:, :-1])
    return found


def write(model, source):
    """Las cifras y el fin, de una en una; cada una, con las que el modelo ya escribió."""
    if model is None:
        return source
    start, count = torch.full_like(source[:, :1], START_ID), source.shape[1]
    if isinstance(model, Seq2Seq):
        written = model.greedy(source, count)
        return pad(written, (0, count - written.shape[1]))
    state = model.start(source)
    return greedy(model.step, start, state, end_id=None, max_new_tokens=count).token_ids


def blocks(model, source, target):
    """Cuántos bloques atraviesa cada posición, de media."""
    if isinstance(model, UniversalTransformer):
        output = model(source, target)
        halves = output.encoder.n_updates, output.decoder.n_updates
        return torch.cat(halves, 1).double().mean()
    return model.config.num_layers if isinstance(model, Transformer) else 0


def repeating(train_set, validation, setting, seed):
    """No aprende nada: «None» repite lo que entra, con su fin."""


# Los que se entrenan


def universal(*, adaptive):
    config = UniversalTransformerConfig(STRING_VOCAB, max_steps=DEPTH, adaptive=adaptive, **SIZES)
    return lighter(UniversalTransformer(config))


def hardly_halting():
    """Con una parada que al comenzar casi nunca se detiene."""
    model = universal(adaptive=True)
    for half in (model.encoder, model.decoder):
        rarely(half.computation.halting)
    return model


def plain(layers):
    return lighter(Transformer(TransformerConfig(STRING_VOCAB, num_layers=layers, **SIZES)))


def lighter(model):
    """El mismo modelo, con las incrustaciones menores que las posiciones."""
    with torch.no_grad():
        model.source_embedding.table.weight.mul_(1 / 8)
        model.target_embedding.table.weight.mul_(1 / 4)  # es también la salida
    return model


def recurrent():
    return Seq2Seq(Seq2SeqConfig(STRING_VOCAB, STRING_VOCAB, d_model=WIDTH, attention="general"))


def loss(model, batch):
    source, target, start = batch
    inputs, answer = shift_right(target)
    if isinstance(model, Seq2Seq):
        return cross_entropy(model(source, inputs), answer)
    output = model(source, inputs, start=start)
    if isinstance(model, Transformer):
        return cross_entropy(output, answer)
    return cross_entropy(output.logits, answer) + TAU * output.ponder_cost


def trained(build, steps, train_set, validation, rate, seed):
    pairs = list(by_length(train_set).values())
    return fitted(build, loss, batches(pairs, seed), steps, rate, seed)


def batches(pairs, seed):
    """Lotes sin fin: cada uno, de una longitud (más las largas); cada fila, desde donde salga."""
    which, random = Random(seed), torch.Generator().manual_seed(seed)
    lengths = [source.shape[1] for source, _ in pairs]
    while True:
        ((source, target),) = which.choices(pairs, lengths)
        rows = torch.randint(len(source), (BATCH,), generator=random)
        starts = torch.randint(OFFSETS, (BATCH,), generator=random)
        yield source[rows], target[rows], starts


BUILDS = {
    "Universal Transformer": partial(universal, adaptive=False),
    "con ACT": partial(universal, adaptive=True),
    "con ACT, b = −3": hardly_halting,
    "Transformer, mismos parámetros": partial(plain, 1),
    "Transformer, misma profundidad": partial(plain, DEPTH),
    "GRU con atención": recurrent,
}


def experiment(draw, steps):
    """El de una tarea: quién sortea sus cadenas, y cuántos pasos de entrenamiento se dan."""
    fits = {name: Rival(partial(trained, build, steps), RATES) for name, build in BUILDS.items()}
    return Experiment(
        splits=partial(splits_by_length, draw, LENGTHS),
        rivals=fits | {"repetir lo que entra": Rival(repeating)},
        measure=measure,
        measures={f"{what} a {n}": "%" for what in ("cifras", "cadenas") for n in LENGTHS}
        | {f"pasos a {n}": "" for n in LENGTHS},
        chosen_by="cifras a 16",
    )


EXPERIMENT = experiment(copy, 500)
