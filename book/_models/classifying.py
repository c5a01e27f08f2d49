"""Cómo se entrena el clasificador guardado: el del capítulo `text_classifier`, con más pasos.

Los datos, los tamaños y la tasa son los del experimento `text_classifier`, que los eligió en otra
parte de lo apartado. Solo cambia una cosa: al entrenar, una palabra de cada veinte se lee como
desconocida, porque quien escriba su opinión usará palabras que el modelo no conoce.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks.experiments import text_classifier as experiment
from book._models.card import Texts, how_it_was_trained
from course_lib.data.recipes import HELD_OUT_TEMPLATES, POSITIVE, generate_recipes
from course_lib.models.text_classifier import (
    TextClassifier,
    TextClassifierConfig,
    classification_loss,
)
from course_lib.pretrained import load_model
from course_lib.tokenization.words import WordVocabulary
from course_lib.training.batches import TokenBatches, pad
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

SEED, STEPS, BATCH, PEAK, WARMUP = 0, 6000, 64, 1e-3, 600
HIDDEN = 0.05
WORDS = "words.json"
TEXTS = Texts(
    title="Clasificador de opiniones sobre recetas",
    about="""\
Un codificador de {parameters} parámetros, en float16; se lee con `load_model(carpeta,
TextClassifier, TextClassifierConfig)` y `WordVocabulary.load`, y lo enseña el capítulo
`text_classifier`. Da dos puntuaciones: negativa y positiva.""",
    data="""\
{opinions} opiniones del corpus del curso, de {words} palabras distintas; al entrenar, una de cada
veinte se lee como desconocida. Se apartan armazones enteros: combinaciones de nexo y forma.""",
    measured="""\
En {measured} opiniones de armazones apartados, con los que nada se eligió, y en {short} opiniones
cortas de otra lista de plantillas. El rival cuenta pares y tríos de palabras; para la última fila
se lee como desconocida una palabra de cada diez, al azar:""",
    limits="""\
Solo conoce el español del corpus, que sale de una gramática: unas cuatrocientas palabras, sin
ironía ni erratas. Lo apartado son combinaciones nuevas de palabras conocidas. Ante una palabra que
no conoce lee las demás; si era la que decidía, no puede saber la respuesta, y aun así da una.""",
)

Batch = tuple[Tensor, Tensor]


def initial_model(vocabulary: WordVocabulary) -> TextClassifier:
    """El modelo sin entrenar: los dos bloques del capítulo."""
    torch.manual_seed(SEED)
    config = TextClassifierConfig(
        vocabulary.vocab_size,
        d_model=64,
        num_heads=4,
        num_layers=2,
        d_ff=128,
        max_length=64,
        dropout=0.0,
        placement="pre",
    )
    return TextClassifier(config)


def hiding(token_ids: Tensor, share: float, generator: torch.Generator) -> Tensor:
    """Los mismos textos, con una parte de las palabras cambiada por la desconocida."""
    drawn = torch.rand(token_ids.shape, generator=generator) < share
    return token_ids.masked_fill(
        drawn & (token_ids != WordVocabulary.pad_id), WordVocabulary.unknown_id
    )


def batches(vocabulary: WordVocabulary, examples: Sequence[tuple[str, int]]) -> Iterator[Batch]:
    """Lotes sin fin, con palabras desconocidas."""
    generator = torch.Generator().manual_seed(SEED)
    encoded = [(vocabulary.encode(text), label) for text, label in examples]
    epochs = TokenBatches(encoded, batch_size=BATCH, seed=SEED)
    while True:
        for token_ids, labels in epochs:
            yield hiding(token_ids, HIDDEN, generator), labels


def train_stored(
    examples: Sequence[tuple[str, int]], steps: int = STEPS
) -> tuple[TextClassifier, WordVocabulary, History]:
    """El que se guarda, con su vocabulario."""
    torch.set_num_threads(1)
    vocabulary = WordVocabulary.build([text for text, _ in examples])
    model = initial_model(vocabulary)
    history = train(
        model,
        classification_loss,
        batches(vocabulary, examples),
        steps=steps,
        schedule=warmup_cosine(PEAK, min(WARMUP, steps // 2), steps),
        precision="float32",
        seed=SEED,
    )
    return model, vocabulary, history


def read_classifier(folder: Path) -> tuple[TextClassifier, WordVocabulary]:
    """El clasificador guardado y su vocabulario."""
    model = load_model(folder, TextClassifier, TextClassifierConfig)
    return model, WordVocabulary.load(folder / WORDS)


@torch.no_grad()
def accuracy(
    model: TextClassifier,
    vocabulary: WordVocabulary,
    examples: Sequence[tuple[str, int]],
    hidden: float = 0.0,
) -> float:
    """Qué parte acierta, con una parte de las palabras desconocida."""
    generator, right = torch.Generator().manual_seed(SEED), 0
    for first in range(0, len(examples), 250):
        texts, labels = zip(*examples[first : first + 250], strict=True)
        token_ids = pad([vocabulary.encode(text) for text in texts], vocabulary.pad_id)
        found = model(hiding(token_ids, hidden, generator)).argmax(-1)
        right += int((found == torch.tensor(labels)).sum())
    return right / len(examples)


@torch.no_grad()
def pushes(model: TextClassifier, vocabulary: WordVocabulary, text: str) -> tuple[float, list]:
    """La probabilidad de que sea positiva, y cuánto baja al quitar cada palabra."""
    ids = vocabulary.encode(text)
    shorter = [ids[:at] + ids[at + 1 :] for at in range(len(ids))]
    found = torch.cat([model(torch.tensor([each]))[:, 1] for each in (ids, *shorter)]).sigmoid()
    return found[0].item(), (found[0] - found[1:]).tolist()


def short_opinions() -> list[tuple[str, int]]:
    """Opiniones de las recetas, de plantillas escritas aparte."""
    recipes = [r for r in generate_recipes(4000) if r.opinion_template in HELD_OUT_TEMPLATES]
    return [(r.opinion, int(r.sentiment == POSITIVE)) for r in recipes]


def results(
    model: TextClassifier, vocabulary: WordVocabulary, measured: Sequence[tuple[str, int]]
) -> dict[str, float]:
    """Cuánto acierta lo guardado."""
    short = short_opinions()
    found = {
        "armazones apartados, %": accuracy(model, vocabulary, measured),
        "otra lista de plantillas, %": accuracy(model, vocabulary, short),
        "armazones apartados, con palabras desconocidas, %": accuracy(
            model, vocabulary, measured, 0.1
        ),
    }
    return {name: round(100 * share, 2) for name, share in found.items()}


def training_record(folder: Path, data: Any, history: History) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que acierta el modelo guardado."""
    model, vocabulary = read_classifier(folder)
    plan = {"batch": f"{BATCH} opiniones", "peak": PEAK, "warmup": WARMUP, "seed": SEED}
    rival = experiment.bag_of_words(3, data.train, None, 0.1, SEED)
    counted = {
        f"bolsa de tríos, {name}, %": round(100 * experiment.measure(rival, texts)["exactitud"], 2)
        for name, texts in (
            ("armazones apartados", data.test),
            ("otra lista de plantillas", short_opinions()),
        )
    }
    return {
        **how_it_was_trained("text_classifier", "cpu", history, model, **plan),
        "data": {
            "opinions": len(data.train),
            "words": vocabulary.vocab_size - 2,
            "measured": len(data.test),
            "short": len(short_opinions()),
        },
        "results": results(model, vocabulary, data.test) | counted,
    }
