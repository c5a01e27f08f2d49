"""El preentrenamiento del BERT que se ajusta en `fine_tuning`: recetas, y ninguna etiqueta.

Lee pares de fragmentos que van uno tras otro en un texto, todos del lado de entrenamiento:

- los pasos de una receta y los dos siguientes;
- el título, los ingredientes y unos pasos, con el que sigue;
- dos opiniones del mismo plato que coinciden, como las oraciones de una reseña;
- un fragmento de receta y una oración que lo repite con otras palabras.

La mitad de las veces el segundo fragmento se cambia por otro. Nada más: ni opciones, ni preguntas,
ni afirmaciones falsas, ni sentimientos, ni categorías.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from itertools import chain, pairwise
from random import Random

import torch

from course_lib.data import tasks
from course_lib.data.masking import FOLLOWS, RANDOM, Masking, join_pair
from course_lib.data.recipes import Recipe, generate_recipes, split_recipes
from course_lib.fast.unpadded import unpadded
from course_lib.models.bert import BertConfig, BertForPreTraining
from course_lib.tokenization import WordPiece
from course_lib.training.batches import TokenBatches
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.pretraining import MaskedBatches, PreTrainingLoss
from course_lib.training.schedules import warmup_cosine

SEED = 0
RECIPES, CONTINUATIONS, STATEMENTS = 6000, 5000, 14_000
VOCABULARY, VOCABULARY_TEXTS, MAX_LENGTH = 1000, 1000, 128
BATCH_TOKENS, MASKED_SHARE, PEAK, WARMUP = 1500, 0.3, 3e-3, 600

# Las afirmaciones que repiten un dato del texto.
FACTS = ("ingrediente", "cantidad", "corte", "tiempo")

Fragments = list[tuple[str, str]]


def pretrain(
    steps: int, on_step: Callable[[int, BertForPreTraining, WordPiece], None]
) -> tuple[BertForPreTraining, WordPiece, History]:
    """Preentrena desde cero; con los mismos pasos, siempre el mismo modelo."""
    torch.set_num_threads(1)
    groups = fragments()
    texts = (text for group in groups for pair in group[:VOCABULARY_TEXTS] for text in pair)
    tokenizer = WordPiece.train(texts, VOCABULARY)
    model = initial_model(tokenizer)
    batches = MaskedBatches(
        TokenBatches(
            encoded(groups, tokenizer), batch_tokens=BATCH_TOKENS, pad_id=model.config.pad_id
        ),
        Masking(tokenizer.vocabulary, share=MASKED_SHARE),
        seed=SEED,
    )
    history = train(
        unpadded(model),
        PreTrainingLoss(),
        batches,
        steps=steps,
        seed=SEED,
        on_step=lambda step, model: on_step(step, model, tokenizer),
        schedule=warmup_cosine(peak=PEAK, warmup=min(WARMUP, steps // 5), total=steps),
        optimizer=partial(torch.optim.AdamW, betas=(0.9, 0.98), weight_decay=0.01),
    )
    return model, tokenizer, history


def initial_model(tokenizer: WordPiece, seed: int = SEED) -> BertForPreTraining:
    """Un BERT sin entrenar, con el comienzo de las tablas que conviene a un modelo pequeño."""
    config = BertConfig(
        tokenizer.vocab_size,
        d_model=128,
        num_heads=4,
        num_layers=3,
        d_ff=256,
        max_length=MAX_LENGTH,
        dropout=0.0,
        attention_dropout=0.0,
        pad_id=tokenizer.special("[PAD]"),
    )
    torch.manual_seed(seed)
    model = BertForPreTraining(config)
    model.bert.embedding.spread_out()
    return model


def fragments() -> list[Fragments]:
    """Los fragmentos seguidos, en grupos según de dónde salen."""
    random = Random(SEED)
    recipes, _ = split_recipes(generate_recipes(RECIPES))
    continuations = tasks.choice_examples(CONTINUATIONS, seed=78)
    statements = tasks.pair_examples(STATEMENTS, seed=77, kinds=FACTS)
    return [
        [cut(random, [recipe.title + ".", *recipe.steps]) for recipe in recipes for _ in "12"],
        [(example.context, example.choices[example.label]) for example in continuations],
        agreeing_opinions(recipes),
        [(example.first, example.second) for example in statements if example.label],
    ]


def cut(random: Random, lines: list[str]) -> tuple[str, str]:
    """Parte una receta por un sitio cualquiera: hasta cuatro líneas y las dos siguientes."""
    place = 1 + int(random.random() * (len(lines) - 1))
    return " ".join(lines[max(0, place - 4) : place]), " ".join(lines[place : place + 2])


def agreeing_opinions(recipes: list[Recipe]) -> Fragments:
    """Dos opiniones seguidas de cada plato que coinciden, sin las apartadas para evaluar."""
    together = defaultdict(list)
    for recipe in recipes:
        if not tasks.has_held_out_opinion(recipe):
            together[recipe.dish, recipe.sentiment].append(recipe.opinion)
    return list(chain.from_iterable(map(pairwise, together.values())))


def encoded(groups: list[Fragments], tokenizer: WordPiece) -> list[tuple]:
    """Los pares como los lee BERT; la mitad, con otro segundo fragmento, a menudo de su grupo."""
    random = Random(SEED)
    everything = list(chain.from_iterable(groups))
    frame = partial(
        join_pair,
        class_id=tokenizer.special("[CLS]"),
        separator_id=tokenizer.special("[SEP]"),
        max_length=MAX_LENGTH,
    )
    examples = []
    for group in groups:
        for first, second in group:
            follows = FOLLOWS
            if random.random() < 0.5:
                others = group if random.random() < 0.5 else everything
                candidates = (others[int(random.random() * len(others))][1] for _ in range(100))
                second, follows = next(text for text in candidates if text != second), RANDOM
            pieces = frame(tokenizer.encode(first), tokenizer.encode(second))
            examples.append((*pieces, follows))
    return examples
