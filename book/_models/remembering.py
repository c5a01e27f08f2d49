"""Cómo se entrena el Transformer-XL guardado: sopas seguidas, con memoria de un segmento a otro.

Los textos, los tamaños, los segmentos y la tasa son los del experimento `transformer_xl`, que la
eligió en otras recetas; aquí hay más pasos. Se mide en combinaciones de plato e ingrediente que no
están en el entrenamiento.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch

from benchmarks.experiments import Splits
from benchmarks.experiments import transformer_xl as experiment
from book._models.card import Texts, how_it_was_trained
from course_lib.data.segments import TokenStream
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.pretrained import load_model
from course_lib.tokenization.words import SPECIAL_TOKENS, WordVocabulary
from course_lib.training.history import History
from course_lib.training.language_modelling import segment_losses
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

SEED, STEPS, PEAK = 0, 4000, 8e-3
WARMUP = STEPS // 10
WORDS = "words.json"
LINE, END = "\n", "</s>"
TEXTS = Texts(
    title="Transformer-XL, que lee sopas por segmentos y recuerda los anteriores",
    about="""\
Un Transformer-XL de {parameters} parámetros, en float16, con memoria de 64 palabras; se lee con
`load_model(carpeta, TransformerXL, TransformerXLConfig)` y `WordVocabulary.load`, y lo enseña el
capítulo `transformer_xl`. Cada palabra es un token, y también el salto de renglón.""",
    data="""\
{recipes} sopas del corpus del curso, abreviadas (el título, la lista sin cantidades y los cuatro
últimos pasos), una detrás de otra y en segmentos de 16 palabras: {tokens} en total, de {words}
distintas. Se apartan combinaciones de plato e ingrediente principal.""",
    measured="""\
En {measured} sopas apartadas, pérdida por palabra, con la memoria y sin ella. Las menciones tardías
son el adorno y el acompañamiento que la lista anuncia y que se nombran en los últimos pasos, nunca
en el mismo segmento; los minutos se sortean, y nadie puede saberlos. «Prefiere la de la lista»: con
una hierba en la lista, y cambiada por otra, qué parte de las veces es la más probable al final:""",
    limits="""\
Solo conoce las sopas del curso, que salen de una gramática, y sus palabras: las demás no las puede
leer. Nombra lo que la lista anunció porque lo copia de la memoria, y no porque sepa cocinar.""",
    digits=2,
)


def learned_vocabulary() -> WordVocabulary:
    """Las palabras de las sopas."""
    return WordVocabulary([word for word in experiment.vocabulary() if word not in SPECIAL_TOKENS])


def numbered(vocabulary: WordVocabulary, words: list[str]) -> list[int]:
    """Los números de unas palabras ya separadas."""
    known = {word: number for number, word in enumerate(vocabulary.words)}
    return [known.get(word, vocabulary.unknown_id) for word in words]


def initial_model(vocabulary: WordVocabulary) -> TransformerXL:
    """El modelo sin entrenar: el del experimento, con este vocabulario."""
    torch.manual_seed(SEED)
    config = TransformerXLConfig(
        vocabulary.vocab_size,
        d_model=64,
        num_heads=4,
        num_layers=2,
        d_ff=128,
        memory_length=experiment.MEMORY,
        dropout=0.0,
        inner_dropout=0.0,
        placement="pre",
    )
    return TransformerXL(config)


def train_stored(data: Splits, steps: int = STEPS) -> tuple[TransformerXL, WordVocabulary, History]:
    """El que se guarda, con su vocabulario."""
    torch.set_num_threads(1)
    vocabulary = learned_vocabulary()
    order = Random(SEED).sample(data.train, len(data.train))
    words = [word for soup in order for word in soup.words]
    text = TokenStream(
        numbered(vocabulary, words),
        batch_size=experiment.BATCH,
        segment_length=experiment.SEGMENT,
    )
    model = initial_model(vocabulary)
    history = train(
        model,
        experiment.carried_loss(),
        text,
        steps=steps,
        schedule=warmup_cosine(PEAK, max(1, steps // 10), steps),
        optimizer=partial(torch.optim.Adam, betas=(0.9, 0.98)),
        seed=SEED,
    )
    return model, vocabulary, history


def read_reader(folder: Path) -> tuple[TransformerXL, WordVocabulary]:
    """El que lee, guardado, y su vocabulario."""
    model = load_model(folder, TransformerXL, TransformerXLConfig)
    return model, WordVocabulary.load(folder / WORDS)


@torch.no_grad()
def results(
    model: TransformerXL, vocabulary: WordVocabulary, soups: list[experiment.Soup]
) -> dict[str, float]:
    """Qué pierde lo guardado en cada clase de palabras, con su memoria y sin ella."""
    rows = experiment.in_rows([i for soup in soups for i in numbered(vocabulary, soup.words)])
    kinds = experiment.in_rows([kind for soup in soups for kind in soup.kinds])[:, 1:].clone()
    kinds[:, : experiment.MEMORY + experiment.SEGMENT] = -1  # donde aún no hay pasado
    found = {}
    for name, memory in (("con memoria", None), ("sin memoria", model.start(0))):
        losses = segment_losses(model, rows, segment_length=experiment.SEGMENT, memory=memory)
        for group, kind in experiment.GROUPS.items():
            found[f"{group}, {name}"] = round(losses[kinds == kind].mean().item(), 2)
    found["prefiere la de la lista, %"] = round(100 * preference(model, vocabulary, soups), 2)
    return found


def preference(model: TransformerXL, vocabulary: WordVocabulary, soups: list) -> float:
    """La misma medida del experimento, con este vocabulario."""
    hits = []
    for soup in soups:
        for same in experiment.HERBS:
            for i, herb in enumerate(same):
                if soup.words.count(herb) == 2:
                    hits += follows_list(model, vocabulary, soup, herb, same[i - 1])
    return sum(hits) / len(hits)


def follows_list(model, vocabulary, soup, herb, other) -> tuple[bool, bool]:
    """Si la más probable es la de la lista, cuando en ella está `herb` y cuando está `other`."""
    first = soup.words.index(herb)
    last = soup.words.index(herb, first + 1)
    texts = [
        [END, *soup.words[:first], listed, *soup.words[first + 1 : last]]
        for listed in (herb, other)
    ]
    memory = None
    for part in torch.tensor([numbered(vocabulary, text) for text in texts]).split(
        experiment.SEGMENT, 1
    ):
        logits, memory = model(part, memory)
    (own, its_other), (its_own, changed) = logits[
        :, -1, numbered(vocabulary, [herb, other])
    ].tolist()
    return own > its_other, changed > its_own


def training_record(folder: Path, data: Splits, history: History) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que hace el modelo guardado."""
    model, vocabulary = read_reader(folder)
    plan = {"batch": "16 filas de 16 palabras", "peak": PEAK, "warmup": WARMUP, "seed": SEED}
    return {
        **how_it_was_trained("transformer_xl", "cpu", history, model, **plan),
        "data": {
            "recipes": len(data.train),
            "tokens": sum(len(soup.words) for soup in data.train),
            "words": vocabulary.vocab_size - 2,
            "measured": len(data.test),
        },
        "results": results(model, vocabulary, data.test),
    }
