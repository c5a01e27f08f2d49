"""PaLM en cuatro tamaños: la pérdida, lo que cumple al escribir y lo que repite de memoria

Cuatro modelos, de dos a cuatro bloques y de ancho 32 a 256, leen las mismas recetas con los mismos 1800 pasos de 32: unas cinco vueltas a unas 10 000 recetas de seis categorías, palabra por palabra. La tabla empieza con desviación 1/√d; lo demás es el PaLM de `palm`. Cada tamaño elige su tasa entre tres o más por la pérdida de validación de la primera semilla, y cada semilla aparta 60 combinaciones de plato e ingrediente para validar y 60 para la prueba, con una receta de cada título. «Contar» mezcla las frecuencias según las n palabras anteriores, y elige n.

Se escribe, siempre con la palabra más probable, desde títulos de combinaciones que nadie leyó. «Del todo»: hay una lista con cantidades y pasos numerados y nada más, lo que usan los pasos está en la lista, lo que anuncia la lista se usa, y el ingrediente del título está en la lista y en los pasos. «Lista» y «título» son esas dos condiciones por separado. «Lista ajena»: se le dan el título y la lista de una receta de verdad, y los pasos usan justo lo que dice.

Memoria: 40 recetas se repiten 8 veces en cada vuelta, y otras 40, 32 veces. Se le dan las primeras 40 palabras y se cuenta cuántas veces las 30 siguientes son exactamente las del texto; con 0 veces, son recetas de prueba: lo que se acierta sin haberlas leído.
"""  # noqa: E501

import re
from functools import cache, partial

import torch
from torch import nn

from benchmarks.experiments import Experiment, Rival, Splits
from benchmarks.experiments.palm import (
    BREAK,
    END,
    SMALL_TABLE,
    Runs,
    Shuffled,
    Vocabulary,
    apart,
    encode,
    losses,
    next_word_loss,
    text_of,
)
from course_lib.data.recipes import generate_recipes, ingredients
from course_lib.decoding import greedy, left_pad
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

RECIPES, APART = 30_000, 60
CATEGORIES = ("sopa", "salsa", "guiso", "bebida", "ensalada", "arroz")
STEPS, ROWS, LONGEST = 1800, 32, 320
COPIES, COPIED = (1, 8, 32), 40
GIVEN, RECITED = 40, 30
SIZES = {  # ancho, cabezas, bloques y tasas
    "ancho 32": (32, 2, 2, (4e-3, 8e-3, 1.6e-2)),
    "ancho 64": (64, 4, 2, (4e-3, 8e-3, 1.6e-2)),
    "ancho 128": (128, 4, 3, (2e-3, 4e-3, 8e-3)),
    "ancho 256": (256, 4, 4, (1e-3, 2e-3, 4e-3)),
}
ORDERS = (4, 5, 6, 8)
QUANTITY = re.compile(r"(\d+|Medi[oa]) \w+|.+ al gusto$")


@cache
def recipes():
    return [recipe for recipe in generate_recipes(RECIPES) if recipe.category in CATEGORIES]


@cache
def vocabulary():
    return Vocabulary(map(text_of, recipes()))


def splits(seed):
    """De las combinaciones apartadas, una receta por título."""
    read, *others = apart(recipes(), seed, APART)
    by_title = ({text.split("\n")[0]: text for text in part} for part in others)
    return Splits(read, *(list(found.values()) for found in by_title))


# Lo que se escribe, y si cumple


def lines_of(text):
    """El título, la lista y los pasos; lo que no es ninguna de las tres cosas, aparte."""
    title, *lines = text.split("\n")
    listed = [line[2:] for line in lines if line.startswith("- ")]
    steps = [line for line in lines if re.match(r"\d+ ?\. ", line)]
    return title, listed, steps, len(lines) - len(listed) - len(steps)


def words_in(lines):
    return set(re.findall(r"\w+", " ".join(lines).lower()))


@cache
def nouns():
    """Las formas de cada ingrediente, menos las que los pasos usan sin anunciar."""
    forms = [ingredient.forms for ingredient in ingredients().values()]
    return forms, set().union(*forms) - {"agua", "láminas"}


def judge(text):
    """Qué cumple una receta: su lista, su título y el formato."""
    title, listed, steps, others = lines_of(text)
    forms, every = nouns()
    own = words_in([title])
    main = set().union(*(form for form in forms if form & words_in([title.split(" de ", 1)[-1]])))
    in_list, in_steps = ((words_in(lines) - own) & every for lines in (listed, steps))
    numbers = [int(re.match(r"\d+", step).group()) for step in steps]
    return {
        "lista": bool(in_list) and in_list == in_steps,
        "título": bool(main & words_in(listed)) and bool(main & words_in(steps)),
        "formato": all(map(QUANTITY.match, listed))
        and not others
        and numbers == list(range(1, len(steps) + 1)),
    }


def write(model, prompts, longest):
    """Lo que sigue a cada indicación, de palabra en palabra, la más probable."""
    end = vocabulary().numbers[END]
    if isinstance(model, nn.Module):
        token_ids, padding = left_pad(prompts, pad_id=0)
        found = greedy(
            model.step, token_ids, model.start(padding), end_id=end, max_new_tokens=longest
        )
        rows = found.token_ids.tolist()
    else:
        rows = [model.write(prompt, end, longest) for prompt in prompts]
    return [row[: row.index(end)] if end in row else row for row in rows]


def as_text(row):
    words = " ".join(vocabulary().words[i] for i in row)
    return re.sub(rf" ?{BREAK} ?", BREAK, words)


def completed(model, beginnings):
    """El texto entero de cada receta, desde su comienzo."""
    prompts = list(map(vocabulary().encode, beginnings))
    written = write(model, prompts, LONGEST)
    return [as_text([*prompt, *row]) for prompt, row in zip(prompts, written, strict=True)]


def recited(model, texts):
    """En qué parte de los textos escribe, palabra por palabra, lo que seguía."""
    rows = encode(texts, vocabulary())
    written = write(model, [row[:GIVEN] for row in rows], RECITED)
    pairs = zip(rows, written, strict=True)
    return sum(row[GIVEN : GIVEN + RECITED] == found for row, found in pairs) / len(rows)


def mean(values):
    return sum(values) / len(values)


def measure(model, texts):
    titles = [text.split("\n")[0] + "\n" for text in texts]
    free = list(map(judge, completed(model, titles)))
    led = list(map(judge, completed(model, [text.split("\n1. ")[0] + "\n" for text in texts])))
    return {
        "pérdida": losses(model, texts, vocabulary()).mean().item(),
        "del todo": mean([all(found.values()) for found in free]),
        "lista": mean([found["lista"] for found in free]),
        "título": mean([found["título"] for found in free]),
        "lista ajena": mean([found["lista"] for found in led]),
        "repite, 0 veces": recited(model, texts),
    } | model.recited


# Los que compiten


def with_copies(texts):
    """El entrenamiento, con las primeras recetas repetidas, y las de cada número de veces."""
    groups = {n: texts[i * COPIED : (i + 1) * COPIED] for i, n in enumerate(COPIES)}
    extra = [text for n, group in groups.items() for text in group * (n - 1)]
    return [*texts, *extra], groups


def remember(model, groups):
    """Anota lo que repite de lo que leyó: la prueba no lo tiene."""
    with torch.no_grad():
        found = {
            f"repite, {n} veces" if n > 1 else "repite, 1 vez": recited(model, group)
            for n, group in groups.items()
        }
    model.recited = found
    return model


class Writer(Runs):
    """El que cuenta, escribiendo."""

    def write(self, prompt, end, longest):
        row = list(prompt)
        while len(row) < len(prompt) + longest and row[-1] != end:
            row.append(self.after(tuple(row[-self.order :])).argmax().item())
        return row[len(prompt) :]


def counting(texts, validation, order, seed):
    texts, groups = with_copies(texts)
    words = vocabulary()
    return remember(Writer(encode(texts, words), order, len(words.words)), groups)


def trained(name, texts, validation, rate, seed):
    width, heads, layers, _ = SIZES[name]
    torch.manual_seed(seed)
    torch.set_float32_matmul_precision("high")  # en una GPU, TF32
    texts, groups = with_copies(texts)
    sizes = {"d_model": width, "num_heads": heads, "num_layers": layers, "max_length": 800}
    model = PaLM(PaLMConfig(len(vocabulary().words), logits_scale=1.0, **sizes))
    SMALL_TABLE["change"](model)
    history = train(
        model,
        next_word_loss,
        Shuffled(encode(texts, vocabulary()), ROWS, seed),
        steps=STEPS,
        schedule=warmup_cosine(rate, STEPS // 12, STEPS),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), fused=True),
        precision="float32",
        seed=seed,
    )
    return remember(model, groups), history


EXPERIMENT = Experiment(
    splits=splits,
    rivals={
        name: Rival(partial(trained, name), rates) for name, (*_, rates) in reversed(SIZES.items())
    }
    | {"contar": Rival(counting, ORDERS)},
    measure=measure,
    measures={
        "pérdida": "",
        **dict.fromkeys(("del todo", "lista", "título", "lista ajena"), "%"),
        **dict.fromkeys(
            ("repite, 0 veces", "repite, 1 vez", "repite, 8 veces", "repite, 32 veces"), "%"
        ),
    },
    chosen_by="pérdida",
    lowest=True,
)
