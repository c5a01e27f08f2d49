"""Cómo se entrena el PaLM que escribe recetas: de un título, la lista y los pasos.

Se apartan combinaciones de plato e ingrediente principal: de ellas son los títulos con que se mide.
Los tamaños, el plan y los pasos están decididos de antemano.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import torch

from book._models.card import Texts, how_it_was_trained
from course_lib.data.recipes import Recipe, generate_recipes, ingredients, split_recipes
from course_lib.decoding.greedy import greedy
from course_lib.decoding.prompts import left_pad
from course_lib.decoding.sampling import sample
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.pretrained import load_palm
from course_lib.tokenization import ByteBPE
from course_lib.tokenization.byte_bpe import SPECIAL_TOKENS
from course_lib.training.batches import TokenBatches
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy
from course_lib.training.schedules import warmup_cosine

SEED, VOCABULARY, RECIPES, MEASURED = 0, 1500, 40_000, 300
STEPS, BATCH_TOKENS, PEAK, WARMUP = 5200, 16_384, 4e-3, 400
LONGEST = 500
QUANTITY = re.compile(r"(\d+|Medi[oa]) \w+|.+ al gusto$")
STEP = re.compile(r"\d+\. ")
# Lo que los pasos nombran sin anunciarlo: lo que se hace en ellos («la masa»), o no es comida.
LOOSE = {"agua", "crema", "hornear", "láminas", "masa", "nuez", "puré", "salsa"}
TEXTS = Texts(
    title="PaLM, que escribe recetas a partir de su título",
    about="""\
Un PaLM de {parameters} parámetros, en float16; se lee con `load_palm` y `ByteBPE.load`, y lo enseña
el capítulo `palm`. La indicación es un título y un salto de renglón.""",
    data="""\
{recipes} recetas del corpus del curso, enteras: título, lista y pasos numerados. Se apartan
combinaciones de plato e ingrediente principal.""",
    measured="""\
En {measured} títulos distintos de combinaciones apartadas. Una receta cumple si después del título
hay solo una lista con cantidades y unos pasos numerados, los pasos usan todo lo anunciado y nada
más, y el ingrediente del título está en la lista y en los pasos:""",
    limits="""\
Solo conoce las recetas del corpus, que salen de una gramática: ante otro título escribe la receta
de uno que se le parezca. No sabe cocinar: los minutos y las cantidades son los de costumbre. Que
una receta cumpla no dice nada del orden de los pasos, ni de cantidades ni de gramática: copiar una
de entrenamiento del mismo plato y cambiarle el ingrediente también cumple, siempre.""",
)


def text_of(recipe: Recipe) -> str:
    """El título, la lista y los pasos numerados: un renglón cada uno."""
    listed = [f"- {line}" for line in recipe.ingredients]
    steps = [f"{number}. {step}" for number, step in enumerate(recipe.steps, start=1)]
    return "\n".join([recipe.title, *listed, *steps])


class WholeRecipes:
    """Las recetas enteras: con unas se entrena y con los títulos de otras se mide."""

    def __init__(self, recipes: int = RECIPES) -> None:
        self.train, apart = split_recipes(generate_recipes(recipes))
        self.measured = list({recipe.title: recipe for recipe in apart}.values())[:MEASURED]

    @cached_property
    def tokenizer(self) -> ByteBPE:
        """Un vocabulario aprendido de las de entrenar."""
        return ByteBPE.train(map(text_of, self.train), VOCABULARY)

    @cached_property
    def examples(self) -> list[list[int]]:
        """Cada receta, con `</s>` al final."""
        end_id = self.tokenizer.special("</s>")
        return [[*self.tokenizer.encode(text_of(recipe)), end_id] for recipe in self.train]


def initial_palm(tokenizer: ByteBPE) -> PaLM:
    """Un modelo sin entrenar para ese vocabulario."""
    torch.manual_seed(SEED)
    sizes = {"d_model": 128, "num_heads": 4, "num_layers": 5, "max_length": 512}
    model = PaLM(PaLMConfig(tokenizer.vocab_size, **sizes, logits_scale=1.0))
    # Con la tabla pequeña se aprende antes: lo cuenta el capítulo.
    torch.nn.init.normal_(model.embedding.table.weight, std=sizes["d_model"] ** -0.5)
    return model


def train_stored(data: WholeRecipes, *, device: str = "cpu", steps: int = STEPS):
    """El que se guarda, y su historia."""
    model, pad_id = initial_palm(data.tokenizer).to(device), data.tokenizer.special("<pad>")

    def loss(model, batch):
        logits, _ = model(batch[:, :-1])
        return cross_entropy(logits, batch[:, 1:], ignore_id=pad_id)

    history = train(
        model,
        loss,
        TokenBatches(data.examples, batch_tokens=BATCH_TOKENS, pad_id=pad_id, seed=SEED),
        steps=steps,
        schedule=warmup_cosine(peak=PEAK, warmup=WARMUP, total=steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98), fused=True),
        seed=SEED,
    )
    return model, history


# Lo que escribe


def write(
    model: PaLM, tokenizer: ByteBPE, titles: Sequence[str], choose: Any = greedy, **options: Any
) -> list[str]:
    """La receta de cada título, con su título."""
    pad_id, _, end_id = map(tokenizer.special, SPECIAL_TOKENS)
    token_ids, padding = left_pad([tokenizer.encode(f"{title}\n") for title in titles], pad_id)
    limits = {"end_id": end_id, "max_new_tokens": LONGEST - token_ids.shape[1]}
    found = choose(model.step, token_ids, model.start(padding), **limits, **options)
    kept = [[i for i in row if i not in (end_id, pad_id)] for row in found.token_ids.tolist()]
    return [f"{title}\n{tokenizer.decode(row)}" for title, row in zip(titles, kept, strict=True)]


def parts_of(text: str) -> tuple[str, list[str], list[str]]:
    """El título, la lista y los pasos de un texto, si los tiene."""
    title, *lines = text.split("\n")
    listed = [line[2:] for line in lines if line.startswith("- ")]
    return title, listed, [STEP.sub("", line, count=1) for line in lines if STEP.match(line)]


def merits(recipe: Recipe, text: str) -> dict[str, bool]:
    """Qué cumple un texto que empieza por el título de una receta."""
    title, listed, steps = parts_of(text)
    numbered = [f"{number}. {step}" for number, step in enumerate(steps, start=1)]
    whole = [title, *(f"- {line}" for line in listed), *numbered]
    in_list, in_steps = (_nouns(lines) for lines in (listed, steps))
    main, own = ingredients()[recipe.combination[1]].forms, _words([title])
    return {
        "formato": bool(listed and steps)
        and text.split("\n") == whole
        and all(map(QUANTITY.match, listed)),
        "usa solo lo anunciado": in_steps - own <= in_list,
        "usa todo lo anunciado": in_list - own <= in_steps,
        "lleva lo del título": bool(main & _words(listed) and main & _words(steps)),
    }


def swapped(recipe: Recipe, known: Sequence[Recipe]) -> str:
    """El rival que no aprende: una receta del mismo plato, con otro ingrediente principal."""
    dish, main = recipe.combination
    other = next(each for each in known if each.combination[0] == dish)
    wrong, right = (sorted(ingredients()[name].forms) for name in (other.combination[1], main))
    _, _, body = text_of(other).partition("\n")
    for i, form in enumerate(wrong):
        body = re.sub(rf"\b{form}\b", right[min(i, len(right) - 1)], body, flags=re.IGNORECASE)
    return f"{recipe.title}\n{body}"


def _words(lines: Sequence[str]) -> set[str]:
    return set(re.findall(r"\w+", " ".join(lines).lower()))


def _nouns(lines: Sequence[str]) -> set[str]:
    forms = (item.forms for item in ingredients().values())
    return _words(lines) & (set().union(*forms) - LOOSE)


def results(model: PaLM, tokenizer: ByteBPE, data: WholeRecipes) -> dict[str, float]:
    """En cuántos títulos de cada cien cumple, con lo más probable y al azar."""
    titles, found = [recipe.title for recipe in data.measured], {}
    at_random = torch.Generator().manual_seed(SEED)
    texts = {
        "": write(model, tokenizer, titles),
        "con temperatura 0.8, ": write(
            model, tokenizer, titles, sample, temperature=0.8, generator=at_random
        ),
        "la de otro ingrediente, cambiado, ": [swapped(r, data.train) for r in data.measured],
        "recetas de verdad, ": [text_of(recipe) for recipe in data.measured],
    }
    for name, written in texts.items():
        each = [merits(r, text) for r, text in zip(data.measured, written, strict=True)]
        counts = Counter(merit for row in each for merit, kept in row.items() if kept)
        counts["cumple en todo"] = sum(all(row.values()) for row in each)
        found |= {f"{name}{m}, %": round(100 * n / len(each), 2) for m, n in counts.items()}
    return found


def training_record(
    folder: Path, data: WholeRecipes, history: History, device: str
) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que escribe el modelo guardado."""
    model, tokenizer = load_palm(folder), ByteBPE.load(folder / "tokenizer.json")
    plan = {"batch_tokens": BATCH_TOKENS, "peak": PEAK, "warmup": WARMUP, "seed": SEED}
    return {
        **how_it_was_trained("palm", device, history, model, **plan),
        "data": {"recipes": len(data.train), "measured": len(data.measured)},
        "results": results(model, tokenizer, data),
    }
