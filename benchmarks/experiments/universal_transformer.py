"""Deliberar: ¿da cada posición los pasos que su dificultad pide?

Hay diez casillas. Cada una tiene una cifra o dice «mira en la casilla j», y hay que responder, en todas, qué cifra se acaba encontrando. La dificultad de cada casilla se sabe: es cuántos saltos hay hasta la cifra. El Universal Transformer con parada (ACT) da seis pasos como mucho. Se entrena como en el capítulo: 800 pasos de entrenamiento sin parada y, después, 400 pagando τ por cada paso que da.

Los rivales dan siempre los mismos pasos, dos, tres o cuatro, los que rodean la media de ACT, o seis. Son el mismo bloque y los mismos 800 + 400 pasos de entrenamiento; solo les falta la parada. Los Transformers no repiten el bloque: uno tiene los mismos parámetros y otro la misma profundidad. «Seis pasos, y después tres» aprende primero con seis, como ACT, y luego da tres. Al que lleva la parada «desde el comienzo» nunca se le cobra; la suya nace con sesgo 1, que la invita a detenerse pronto, y la de «b = −3» nace como la de ACT: al comenzar, casi nunca se detiene. «Mirar una vez» no se entrena: si la casilla manda a otra que tiene una cifra, responde esa; si no, la que más veces aparece en la lista.

Se mide en listas nuevas: aciertos, pasos medios y correlación entre los pasos de cada casilla y sus saltos (0 si todas dan los mismos). «Aciertos a 3» y «pasos a 3» son los de las casillas que están a tres saltos de su cifra. Cada red elige en validación, con la primera semilla, la tasa máxima de la primera parte (si gana la del borde, se prueba la siguiente). Casi todos los entrenamientos se hicieron en otra máquina, con 16 núcleos y torch 2.11; en esta, los de «Transformer, mismos parámetros», los de «b = −3», los de «seis pasos, y después tres» y los de las tasas que alargaron la rejilla.
"""  # noqa: E501

from functools import partial

import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.algorithmic import DIGIT_LABELS, FIRST_BOX, follow, treasure_hunt
from course_lib.devices import seed_everything
from course_lib.fast.active_positions import gathering
from course_lib.models.sequence_tagger import PositionedEncoder, SequenceTagger
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy
from course_lib.training.schedules import warmup_cosine

BOXES, DEEPEST = 10, 6
TRAIN, VALIDATION, TEST = 15_000, 300, 1000
FIRST, SECOND, BATCH = 800, 400, 64
RATES = (2e-3, 5e-3, 1e-2)
HOPS = range(7)
SIZES = {"d_model": 64, "num_heads": 2, "d_ff": 128}
OPTIONS = {"max_length": BOXES, "placement": "pre"}


def splits(seed):
    boxes, _ = treasure_hunt(TRAIN + VALIDATION + TEST, BOXES, generator=generator(seed))
    lists = list(map(tuple, boxes.tolist()))
    train, rest = lists[:TRAIN], lists[TRAIN:]
    return Splits(train, rest[:VALIDATION], [x for x in rest[VALIDATION:] if x not in {*train}])


def generator(seed):
    return torch.Generator().manual_seed(seed)


# Lo que se mide


def measure(model, examples):
    boxes = torch.tensor(examples)
    labels, hops = follow(boxes)
    answers, steps = answer(model, boxes)
    right, steps = (answers == labels).double(), steps.double()
    return {
        "aciertos": right.mean(),
        "pasos": steps.mean(),
        "correlación": correlation(steps, hops.double()),
        **{f"aciertos a {k}": right[hops == k].mean() for k in HOPS},
        **{f"pasos a {k}": steps[hops == k].mean() for k in HOPS},
    }


def answer(model, boxes):
    """La respuesta de cada casilla, y cuántos pasos dio."""
    if not isinstance(model, nn.Module):
        return model(boxes), torch.ones_like(boxes)
    output = model(boxes)
    given = getattr(output.encoded, "n_updates", None)
    depth = getattr(model, "num_layers", 0)
    return output.logits.argmax(-1), torch.full_like(boxes, depth) if given is None else given


def correlation(a, b):
    if a.std() == 0:
        return 0.0
    return torch.corrcoef(torch.stack([a.flatten(), b.flatten()]))[0, 1]


# El que no se entrena


def looking_once(train_set, validation, setting, seed):
    def answers(boxes):
        points = boxes >= FIRST_BOX
        seen = torch.where(points, boxes.gather(1, (boxes - FIRST_BOX).clamp(min=0)), boxes)
        counts = torch.stack([(boxes == digit).sum(1) for digit in range(1, DIGIT_LABELS)], dim=1)
        return torch.where(seen < FIRST_BOX, seen, 1 + counts.argmax(1, keepdim=True))

    return answers


# Los que se entrenan


def tagger(encoder):
    return SequenceTagger(
        encoder, vocab_size=FIRST_BOX + BOXES, num_labels=DIGIT_LABELS, d_model=SIZES["d_model"]
    )


def universal(steps, *, adaptive=False):
    return tagger(UniversalEncoder(max_steps=steps, adaptive=adaptive, **SIZES, **OPTIONS))


def plain(layers):
    model = tagger(PositionedEncoder(num_layers=layers, **SIZES, **OPTIONS))
    model.num_layers = layers
    return model


def with_halting(model, steps):
    """El mismo modelo, con una parada que al comenzar casi nunca se detiene."""
    adaptive = universal(steps, adaptive=True)
    adaptive.load_state_dict(model.state_dict(), strict=False)
    rarely(adaptive.encoder.computation.halting)
    return adaptive


def rarely(halting):
    """Hace que una parada, al comenzar, casi nunca se detenga."""
    nn.init.constant_(halting.bias, -3.0)
    with torch.no_grad():
        halting.weight.mul_(0.1)


def shallower(model, steps):
    """El mismo modelo, dando menos pasos."""
    short = universal(steps)
    short.load_state_dict(model.state_dict())
    return short


def trained(build, tau, train_set, validation, rate, seed, then=None):
    """Entrena en dos partes; entre las dos, con `tau`, se le pone la parada, o se hace `then`."""
    seed_everything(seed)
    model = build()
    plan = {"schedule": warmup_cosine(rate, FIRST // 10, FIRST), "optimizer": first_adam}
    give(model, train_set, FIRST, 0.0, seed, **plan)
    if tau is not None:
        model = with_halting(model, DEEPEST)
    if then is not None:
        model = then(model)
    history = give(model, train_set, SECOND, tau or 0.0, seed + 1, optimizer=second_adam(model))
    return model, history


def give(model, train_set, steps, tau, seed, **options):
    def loss(model, boxes):
        output = model(boxes)
        found = cross_entropy(output.logits, follow(boxes)[0])
        return found + tau * output.encoded.mean_ponder_cost if tau else found

    recurrent = isinstance(model.encoder, UniversalEncoder)
    return train(
        gathering(model) if recurrent else model,
        loss,
        batches(train_set, seed),
        steps=steps,
        precision="float32",
        seed=seed,
        **options,
    )


first_adam = partial(torch.optim.Adam, betas=(0.9, 0.98))


def second_adam(model):
    """Una tasa menor; la de la parada, que acaba de nacer, diez veces mayor."""
    halting = [p for name, p in model.named_parameters() if "halting" in name]
    rest = [p for name, p in model.named_parameters() if "halting" not in name]
    groups = [{"params": rest, "lr": 1e-3}, {"params": halting, "lr": 1e-2}]
    return torch.optim.Adam([group for group in groups if group["params"]])


def batches(train_set, seed):
    rows, random = torch.tensor(train_set), generator(seed)
    while True:
        yield rows[torch.randint(len(rows), (BATCH,), generator=random)]


def never_charged(train_set, validation, rate, seed):
    return trained(partial(universal, DEEPEST, adaptive=True), None, train_set, None, rate, seed)


def rarely_from_the_start():
    return with_halting(universal(DEEPEST), DEEPEST)


def rivals():
    deepest = partial(universal, DEEPEST)
    found = {
        f"ACT, τ = {tau:g}": Rival(partial(trained, deepest, tau), RATES) for tau in (0.01, 0.1, 1)
    }
    for n in (2, 3, 4, DEEPEST):
        found[f"{n} pasos"] = Rival(partial(trained, partial(universal, n), None), RATES)
    lower = (1e-3, *RATES[:2])
    for layers, name in ((1, "mismos parámetros"), (DEEPEST, "misma profundidad")):
        found[f"Transformer, {name}"] = Rival(partial(trained, partial(plain, layers), None), lower)
    found["parada desde el comienzo"] = Rival(never_charged, RATES)
    found["desde el comienzo, b = −3"] = Rival(partial(trained, rarely_from_the_start, None), RATES)
    found["seis pasos, y después tres"] = Rival(
        partial(trained, deepest, None, then=partial(shallower, steps=3)), RATES
    )
    return found | {"mirar una vez": Rival(looking_once)}


EXPERIMENT = Experiment(
    splits=splits,
    rivals=rivals(),
    measure=measure,
    measures={"aciertos": "%", "pasos": "", "correlación": ""}
    | {f"aciertos a {k}": "%" for k in HOPS}
    | {f"pasos a {k}": "" for k in HOPS},
    chosen_by="aciertos",
)
