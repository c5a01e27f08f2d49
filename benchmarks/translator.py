"""Calidad del traductor de recetas

Coincidencia exacta y BLEU (sacrebleu) sobre recetas cuya combinación de plato e ingrediente principal no está en el entrenamiento, con tres semillas.

Cada semilla entrena con lo mismo que el modelo guardado (`book/_models/translating.py`), y la mitad de los pasos.
"""  # noqa: E501

from typing import Any

import torch

from book._models import translating

STEPS, SEEDS = translating.STEPS // 2, (0, 1, 2)


def run(device: str) -> list[dict[str, Any]]:
    data = translating.RecipeLines()

    def measured(seed: int) -> dict[str, float]:
        translator = translating.initial_translator(data.train, seed)
        translator.model.to(device)
        ready = translating.batches(translator, data.train, seed)
        translating.train_model(translator.model, ready, STEPS, seed=seed)
        return translating.results(translator, data)

    torch.set_num_threads(1)
    return [{"semilla": seed} | measured(seed) for seed in SEEDS]
