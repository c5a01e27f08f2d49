"""El cuello de botella: ¿basta un vector más ancho, o más pasos, para no necesitar atención?

Los traductores recurrentes del capítulo `attention` y su tarea: listas de ingredientes sorteadas, del español al inglés. Se entrenan con listas de 1 a 7 y se prueban con otras, ninguna vista, de 2 a 10. El codificador es siempre una GRU en los dos sentidos; cambian cómo llega al decodificador lo que leyó y lo ancho que es todo. «Con cuatro veces más pasos» no tiene atención, mide 128 y se entrena 2400 pasos en vez de 600: si a los demás solo les faltara tiempo, ahí se vería.

Cada uno elige su tasa en validación, con listas de seis ingredientes. Cada semilla sortea sus listas. Se cuentan las palabras que salen bien en su posición, con decodificación voraz.
"""  # noqa: E501

import re
from functools import cache, partial
from random import Random

import torch
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence

from benchmarks.experiments import Experiment, Rival, Splits
from course_lib.data.recipes import generate_recipes
from course_lib.devices import seed_everything
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.training.loop import train

PAD, START, END = 0, 1, 2
STEPS, BATCH, LONGEST = 600, 32, 7
LENGTHS = (2, 4, 6, 8, 10)
RATES = (2e-3, 4e-3, 8e-3, 1.6e-2)


def name_of(line, link):
    """«200 gramos de harina de maíz» → «harina de maíz»."""
    return re.sub(rf"^\S+ ((\S+ ){{1,2}}{link} )?", "", line)


@cache
def pantry():
    """Los ingredientes, en los dos idiomas."""
    return sorted(
        {
            (name_of(spanish, "de"), name_of(english, "of"))
            for recipe in generate_recipes(2000, seed=0)
            for spanish, english in zip(recipe.ingredients, recipe.ingredients_en, strict=True)
            if spanish != "Sal al gusto"
        }
    )


@cache
def vocabularies():
    """Una palabra, un número, en cada idioma."""
    sides = [{w for text in side for w in text.split()} for side in zip(*pantry(), strict=True)]
    return [{word: i for i, word in enumerate(sorted({*side, ","}), start=3)} for side in sides]


def shopping_list(random, length):
    items = random.sample(pantry(), length)
    return tuple(" , ".join(side) for side in zip(*items, strict=True))


def splits(seed):
    """Listas sorteadas; las de validación y prueba no se entrenaron."""
    random = Random(seed)
    taught = [shopping_list(random, random.randint(1, LONGEST)) for _ in range(STEPS * BATCH // 2)]
    seen = set(taught)

    def others():
        lists = {shopping_list(random, length) for length in LENGTHS for _ in range(100)} - seen
        seen.update(lists)
        return sorted(lists)

    return Splits(taught, others(), others())


def to_batch(lists):
    """Identificadores de fuente y destino, con relleno al final."""
    spanish, english = vocabularies()
    sources = [torch.tensor([spanish[w] for w in source.split()]) for source, _ in lists]
    targets = [[START, *(english[w] for w in target.split()), END] for _, target in lists]
    rows = sources, list(map(torch.tensor, targets))
    return tuple(pad_sequence(side, batch_first=True, padding_value=PAD) for side in rows)


def items(example):
    return example[0].count(",") + 1


def measure(model, examples):
    return {f"{n} ingredientes": right(model, examples, n) for n in LENGTHS}


def right(model, examples, length):
    """La proporción de palabras correctas, en su posición, en las listas de esa longitud."""
    source, target = to_batch([example for example in examples if items(example) == length])
    answer = target[:, 1:]
    written = model.greedy(source, answer.shape[1])
    written = F.pad(written, (0, answer.shape[1] - written.shape[1]), value=PAD)
    real = answer != PAD
    return (written == answer)[real].float().mean().item()


def loss(model, batch):
    source, target = batch
    logits = model(source, target[:, :-1]).flatten(0, 1)
    return F.cross_entropy(logits, target[:, 1:].flatten(), ignore_index=PAD)


def trained(sizes, steps, lists, validation, rate, seed):
    seed_everything(seed)
    vocab = [len(words) + 3 for words in vocabularies()]
    model = Seq2Seq(Seq2SeqConfig(*vocab, **sizes))
    batches = [to_batch(lists[i : i + BATCH]) for i in range(0, len(lists), BATCH)]
    return model, train(model, loss, batches, steps=steps, learning_rate=rate, seed=seed)


def rival(steps=STEPS, rates=RATES, **sizes):
    return Rival(partial(trained, sizes, steps), rates)


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        "atención aditiva": rival(attention="additive"),
        "atención multiplicativa": rival(attention="dot"),
        "sin atención": rival(rates=(*RATES, 3.2e-2)),
        "sin atención, 128": rival(d_model=128),
        "con cuatro veces más pasos": rival(4 * STEPS, (1e-3, *RATES), d_model=128),
    },
    measure=measure,
    measures={f"{n} ingredientes": "%" for n in LENGTHS},
    chosen_by="6 ingredientes",
)
