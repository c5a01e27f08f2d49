"""Escribir los pasos: ¿por qué acierta más quien suma de uno en uno?

Un PaLM pequeño (dos bloques, ancho 64), entrenado desde cero, suma de 3 a 6 números de una cifra («3+5+9=»). «Paso a paso» escribe, con cada número que falta, lo que va sumando («+508+917»: con 5 van 08; con 9, 17); «directa», solo el total («17»). Son las mismas sumas, en el mismo orden y con los mismos pasos de entrenamiento.

¿Es por escribir más? «Con puntos» escribe tantos signos como «paso a paso», pero puntos, y después el total: el mismo cálculo, sin lo que dicen los pasos. «Pasos de otra suma» escribe los de unos números sorteados, y «pasos después» los escribe bien, pero detrás del total. «Pasos sin el sumando» escribe solo lo que va sumando («0817»). «Paso a paso» lee y escribe al entrenar el doble de signos que «directa»: por eso hay otras dos directas, una con cuatro bloques, que cuesta casi lo mismo, y una con el cuádruple de pasos de entrenamiento, que cuesta casi el doble. «Regresión» es el rival barato: sabe que las cifras valen números, y ajusta cuánto suma cada una.

Se mide en qué parte de las sumas es exacto el total, siempre con el signo más probable, por cuántos números se suman; con 7 y 8, más de los que se vieron. Cada uno elige su tasa máxima entre tres o más (si gana la del borde, se prueba la siguiente), con la primera semilla, por los totales que acierta en validación con 3 a 6 números. Validación y prueba son sumas que no se entrenaron, 200 de cada largo; para entrenar quedan 600 de tres números y 6000 de cada uno de los otros largos.
"""  # noqa: E501

from collections import defaultdict
from functools import partial
from random import Random

import torch
import torch.nn.functional as F

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.palm import SMALL_TABLE, WIDTH, build
from course_lib.decoding import greedy
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

SIGNS = "0123456789+=."
SEEN, LENGTHS = range(3, 7), range(3, 9)
TRAIN, APART = 6000, 200  # de cada largo, como mucho
ROWS, STEPS = 64, 1200
RATES = (4e-3, 8e-3, 1.6e-2)


def splits(seed):
    """Sumas distintas; las que se apartan no se entrenan."""
    random, parts = Random(seed), Splits([], [], [])
    for length in LENGTHS:
        every = random.sample(range(10**length), min(10**length, TRAIN + 2 * APART))
        found = [tuple(map(int, f"{number:0{length}}")) for number in every]
        parts.validation.extend(found[:APART])
        parts.test.extend(found[APART : 2 * APART])
        if length in SEEN:
            parts.train.extend(found[2 * APART :])
    return parts


def by_length(problems):
    groups = defaultdict(list)
    for numbers in problems:
        groups[len(numbers)].append(numbers)
    return groups


# Lo que se escribe


def question(numbers):
    return "+".join(map(str, numbers)) + "="


def total_of(numbers):
    return f"{sum(numbers):02}"


def step_by_step(numbers, random):
    """Cada número que falta y lo que va sumando; al final, el total."""
    return "".join(f"+{numbers[i]}{total_of(numbers[: i + 1])}" for i in range(1, len(numbers)))


def directly(numbers, random):
    return total_of(numbers)


def dots(numbers, random):
    return "." * len(step_by_step(numbers, random)[:-2]) + total_of(numbers)


def other_steps(numbers, random):
    """Los pasos de unos números sorteados, y el total de estos."""
    others = [random.randrange(10) for _ in numbers]
    return step_by_step(others, random)[:-2] + total_of(numbers)


def steps_after(numbers, random):
    return total_of(numbers) + step_by_step(numbers, random)[:-2]


def sums_only(numbers, random):
    return "".join(total_of(numbers[: i + 1]) for i in range(1, len(numbers)))


def ids(text):
    return [SIGNS.index(sign) for sign in text]


# Lo que se mide


def totals(model, problems):
    """Los totales que escribe un modelo para unos problemas del mismo largo."""
    prompts = torch.tensor([ids(question(numbers)) for numbers in problems])
    length = len(model.answer(problems[0], Random(0)))
    written = greedy(model.step, prompts, end_id=None, max_new_tokens=length).token_ids
    total = written[:, :2] if model.answer is steps_after else written[:, -2:]
    return ["".join(SIGNS[i] for i in row) for row in total.tolist()]


def measure(model, problems):
    answers = partial(totals, model) if isinstance(model, torch.nn.Module) else model
    found = {
        length: sum(map(str.__eq__, answers(group), map(total_of, group))) / len(group)
        for length, group in by_length(problems).items()
    }
    seen = sum(found[length] for length in SEEN) / len(SEEN)
    return {"de 3 a 6": seen} | {f"de {length}": found[length] for length in LENGTHS}


# Los que compiten


def regression(problems, validation, setting, seed):
    """Mínimos cuadrados: cuánto suma la cifra de cada lugar; donde no hay número, un cero."""

    def features(group):
        padded = [[*numbers, *[0] * (LENGTHS[-1] - len(numbers))] for numbers in group]
        return torch.tensor(padded, dtype=torch.float64, device="cpu")

    sums = torch.tensor([[float(sum(numbers))] for numbers in problems], device="cpu").double()
    weights = torch.linalg.lstsq(features(problems), sums, driver="gelsd").solution

    def answers(group):
        return [f"{round(total):02}" for (total,) in (features(group) @ weights).tolist()]

    return answers


def loss(model, batch):
    """La entropía cruzada de lo que se escribe después de «=»."""
    rows, start = batch
    logits, _ = model(rows[:, :-1])
    return F.cross_entropy(logits[:, start - 1 :].flatten(0, 1), rows[:, start:].flatten())


def batches(problems, answer, seed):
    """Lotes sin fin, cada uno de un largo al azar; las mismas sumas para todos."""
    random, others = Random(seed), Random(seed + 1)
    groups = list(by_length(problems).values())
    while True:
        chosen = random.choices(random.choice(groups), k=ROWS)
        rows = [ids(question(numbers) + answer(numbers, others)) for numbers in chosen]
        yield torch.tensor(rows), len(question(chosen[0]))


def trained(answer, problems, validation, rate, seed, *, layers=2, steps=STEPS):
    torch.manual_seed(seed)
    sizes = {"vocab_size": len(SIGNS), "num_layers": layers, "d_ff": 2 * WIDTH}
    model = build(**sizes, **SMALL_TABLE)
    model.answer = answer
    return model, train(
        model,
        loss,
        batches(problems, answer, seed),
        steps=steps,
        schedule=warmup_cosine(rate, steps // 20, steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        precision="float32",
        seed=seed,
    )


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "paso a paso": Rival(partial(trained, step_by_step), RATES),
        "directa": Rival(partial(trained, directly), RATES),
        "directa, el cuádruple de pasos": Rival(partial(trained, directly, steps=4 * STEPS), RATES),
        "directa, cuatro bloques": Rival(partial(trained, directly, layers=4), RATES),
        "con puntos": Rival(partial(trained, dots), RATES),
        "pasos de otra suma": Rival(partial(trained, other_steps), RATES),
        "pasos después": Rival(partial(trained, steps_after), RATES),
        "pasos sin el sumando": Rival(partial(trained, sums_only), RATES),
        "regresión": Rival(regression),
    },
    measure=measure,
    measures=dict.fromkeys(("de 3 a 6", *(f"de {length}" for length in LENGTHS)), "%"),
    chosen_by="de 3 a 6",
)
