"""El artículo que falta: un modelo que lee solo hacia atrás, entrenado para eso

El gemelo causal del BERT del capítulo `bert`: los mismos bloques, anchos y comienzo, con máscara causal, y sin la segunda tarea. Aprende a predecir cada token con los anteriores, con los mismos pares, los mismos pasos y el mismo plan de la tasa. En cada paso de receta apartado que tiene un artículo lee hasta él y elige entre «el», «la», «los» y «las»; la pérdida es la media por token en los pares apartados.
"""  # noqa: E501

from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from benchmarks._chapter import run_chapter
from course_lib.models.bert import BertConfig, BertForPreTraining
from course_lib.training.batches import TokenBatches, pad
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy

TOPIC, SEED, EVERY = "bert", 0, 300
ARTICLES, LINES = ("el", "la", "los", "las"), 200


def run(device: str) -> list[dict[str, Any]]:
    with torch.device(device), torch.enable_grad():
        return measure()


def measure() -> list[dict[str, Any]]:
    """Entrena el gemelo causal y da una fila cada `EVERY` pasos."""
    chapter = run_chapter(TOPIC, SEED, until="batches")
    steps, tokenizer = chapter["STEPS"], chapter["tokenizer"]
    torch.manual_seed(SEED)
    model = make_causal(chapter["config"])
    prefixes, correct = article_holes(tokenizer, chapter["held_out_recipes"])
    choices = [tokenizer.vocabulary.index(article) for article in ARTICLES]
    held_out = list(TokenBatches(chapter["held_out_examples"], batch_size=128, shuffle=False))
    rows = []

    def on_step(step, model):
        if step % EVERY:
            return
        losses = torch.stack([next_token_loss(model, batch) for batch in held_out])
        scores = model(pad(prefixes, 0)).tokens
        ends = torch.tensor([len(prefix) - 1 for prefix in prefixes])
        chosen = scores[torch.arange(len(prefixes)), ends][:, choices].argmax(-1)
        rows.append(
            {"semilla": SEED, "paso": step, "pérdida": losses.mean().item()}
            | {"artículos": len(prefixes), "aciertos": (chosen == correct).float().mean().item()}
            | {"parámetros": sum(p.numel() for p in model.parameters())}
        )
        print(rows[-1], flush=True)

    train(
        model,
        next_token_loss,
        TokenBatches(chapter["train_examples"], batch_size=32, seed=SEED),
        steps=steps,
        seed=SEED,
        on_step=on_step,
        schedule=chapter["plan"],
        optimizer=chapter["optimizer"],
    )
    return rows


def make_causal(config: BertConfig) -> BertForPreTraining:
    """El BERT del capítulo, donde cada posición ve solo hasta sí misma."""
    model = BertForPreTraining(replace(config, unpad=False), next_sentence=False)
    model.bert.embedding.spread_out()
    for block in model.bert.blocks:
        block.forward = partial(block.forward, causal=True)
    return model


def next_token_loss(model: BertForPreTraining, batch: tuple[Tensor, ...]) -> Tensor:
    """La pérdida media de predecir cada token real con los anteriores."""
    token_ids, segment_ids, *_ = batch
    logits = model(token_ids, segment_ids).tokens[:, :-1]
    return cross_entropy(logits, token_ids[:, 1:], ignore_id=model.config.pad_id)


def article_holes(tokenizer: Any, recipes: list) -> tuple[list[list[int]], Tensor]:
    """Los artículos de los pasos del capítulo: lo que va delante de cada uno, y cuál es."""
    lines = [step for recipe in recipes[:40] for step in recipe.steps][:LINES]
    prefixes, correct = [], []
    for line in lines:
        ids = tokenizer.encode(line, special=False)
        for i, token in enumerate(tokenizer.token(number) for number in ids):
            if token in ARTICLES:
                prefixes.append([tokenizer.special("[CLS]"), *ids[:i]])
                correct.append(ARTICLES.index(token))
    return prefixes, torch.tensor(correct)
