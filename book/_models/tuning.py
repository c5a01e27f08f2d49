"""Cómo se ajusta el BERT guardado a las cinco tareas de `fine_tuning`, las cinco a la vez.

El artículo hace cinco ajustes, cada uno con su tronco. Aquí el tronco es uno, para que el
laboratorio baje un solo modelo: cada lote es de una tarea, por turnos, y mueve el tronco y la
cabeza de esa tarea (Liu et al., 2019, «Multi-Task Deep Neural Networks», §3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from benchmarks.experiments import fine_tuning as experiment
from book._models.card import Texts, how_it_was_trained
from course_lib.fast.unpadded import unpadded
from course_lib.files import write_atomically
from course_lib.models.bert import Bert
from course_lib.pretrained import load_bert, save_bert
from course_lib.tokenization import WordPiece
from course_lib.training.batches import TokenBatches
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.schedules import warmup_cosine

SEED, STEPS, PEAK, WARMUP = 0, 3200, 1e-3, 320
LABELLED, MEASURED = 4000, 500
COUNTED = 1500  # los de la pregunta que lee el rival: cada palabra del texto es una fila
# De cada tarea: cómo la llaman el capítulo y el experimento, y cuántos ejemplos lleva un lote.
BATCH = {"sentence": 32, "pair": 16, "choice": 4, "question": 16, "words": 16}
SPANISH = dict(zip(BATCH, ("opinión", "par", "opciones", "pregunta", "palabras"), strict=True))
# Las que más tardan en aprenderse tienen dos turnos de cada ocho.
TURNS = ("question", "choice", "sentence", "pair", "question", "choice", "sentence", "words")
TASKS = {name: experiment.TASKS[spanish] for name, spanish in SPANISH.items()}

TEXTS = Texts(
    title="BERT ajustado a cinco tareas",
    about="""\
Un tronco y cinco cabezas, de {parameters} parámetros, en float16. El tronco se lee con
`load_bert(carpeta, Bert)`, y el modelo entero, con `book._models.tuning.read_tuned`. Lo enseña el
capítulo `fine_tuning`, y empieza en el BERT guardado, `book/_models/bert`.""",
    data="""\
De cada tarea, {labelled} ejemplos de `course_lib.data.tasks`, como los del capítulo: el par son
unos pasos y los dos que les siguen, o dos de otra receta. Un lote lleva ({batches}). Se apartan
combinaciones: de marco y adjetivos, de plato e ingrediente principal, y de sustantivos.""",
    measured="""\
En {measured} ejemplos apartados de cada tarea, con los que nada se eligió. «Contando» es el rival
barato del capítulo, que no es una red, con los mismos ejemplos (en la pregunta, con {counted}, que
es lo que cabe en memoria). En la pregunta se cuentan las respuestas exactas; en las palabras, cada
una:""",
    limits="""\
Solo conoce el español de su corpus, que sale de plantillas: recetas, y opiniones sobre platos. Una
palabra que no tiene la lee en trozos; de lo que no es una receta contesta algo, sin razón. Los
cinco ajustes comparten el tronco: no son los del capítulo, que hace uno por tarea.""",
)

Examples = Mapping[str, Sequence[Any]]


class FiveTasks(nn.Module):
    """Un tronco y cinco cabezas: cada una es el modelo de su tarea, con el tronco de todas."""

    def __init__(self, trunk: Bert) -> None:
        super().__init__()
        self.config, self.bert = trunk.config, trunk
        self.heads = nn.ModuleDict({name: task.head(trunk.config) for name, task in TASKS.items()})
        for head in self.heads.values():
            head.bert = trunk


def splits(count: int = LABELLED, measured: int = MEASURED) -> tuple[Examples, Examples, Examples]:
    """Los ejemplos de cada tarea: para entrenar, para elegir y, apartados, para medir."""
    parts = ((count, SEED, False), (measured // 4, 100 + SEED, False), (measured, 200 + SEED, True))
    return tuple(
        {name: task.make(size, seed, held_out=apart) for name, task in TASKS.items()}
        for size, seed, apart in parts
    )


def turns(examples: Examples) -> Iterator[tuple[str, tuple[Tensor, ...]]]:
    """Lotes sin fin, cada uno de una tarea, por turnos, con el nombre de la suya."""
    pad_id = experiment.special("[PAD]")
    streams = {
        name: TokenBatches(
            [TASKS[name].encode(example) for example in examples[name]],
            batch_size=batch,
            pad_id=pad_id,
            seed=SEED,
        ).stream()
        for name, batch in BATCH.items()
    }
    return ((name, next(streams[name])) for name in cycle(TURNS))


def loss(model: FiveTasks, batch: tuple[str, tuple[Tensor, ...]]) -> Tensor:
    """La de la tarea del lote."""
    name, fields = batch
    return TASKS[name].loss(model.heads[name], fields)


def train_stored(
    examples: Examples, steps: int = STEPS, **options: Any
) -> tuple[FiveTasks, History]:
    """El que se guarda: empieza en el BERT guardado, con las cabezas nuevas."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    model = FiveTasks(deepcopy(experiment.stored("bert").bert))
    history = train(
        unpadded(model),
        loss,
        turns(examples),
        steps=steps,
        schedule=warmup_cosine(PEAK, min(WARMUP, steps // 2), steps),
        optimizer=partial(torch.optim.AdamW, betas=(0.9, 0.98), weight_decay=0.01),
        precision="float32",
        seed=SEED,
        **options,
    )
    return model, history


def save_tuned(model: FiveTasks, folder: Path) -> None:
    """Guarda el tronco como lo hace Hugging Face y, en su archivo, las cabezas; en float16."""
    save_bert(deepcopy(model.bert).half(), experiment.tokenizer(), folder)
    weights = folder / "model.safetensors"
    heads = {
        f"classifier.{name}.{part}": tensor.half()
        for name, head in model.heads.items()
        for part, tensor in head.output.state_dict().items()
    }
    write_atomically(weights, save(load(weights.read_bytes()) | heads, {"format": "pt"}))


def read_tuned(folder: Path) -> tuple[FiveTasks, WordPiece]:
    """El modelo guardado, que calcula en float32, y su vocabulario."""
    model = FiveTasks(load_bert(folder, Bert).float())
    tensors = load((folder / "model.safetensors").read_bytes())
    for name, head in model.heads.items():
        at = f"classifier.{name}."
        parts = {key.removeprefix(at): t for key, t in tensors.items() if key.startswith(at)}
        head.output.load_state_dict(parts)
    return model.eval(), WordPiece(folder / "vocab.txt", strip_accents=False)


@torch.no_grad()
def results(model: FiveTasks, examples: Examples) -> dict[str, float]:
    """Qué parte acierta de cada tarea: ejemplos, o palabras."""
    return {
        f"{SPANISH[name]}, %": _percent(experiment.accuracy(model.heads[name], TASKS[name], rows))
        for name, rows in examples.items()
    }


def counting(train_set: Examples, measured: Examples) -> dict[str, float]:
    """Lo que acierta, con los mismos ejemplos, el rival barato de cada tarea: cuenta palabras."""
    found = {}
    for name, spanish in SPANISH.items():
        rows = [(spanish, example) for example in train_set[name]]
        rows, options = (
            (rows[:COUNTED], {}) if name == "question" else (rows, {"labels": len(rows)})
        )
        rival = experiment.CHEAP[spanish](spanish, rows, [], 1.0, SEED, **options)
        found[f"{spanish}, contando, %"] = _percent(rival.judge(measured[name]))
    return found


def _percent(share: float) -> float:
    return round(100 * share, 2)


def training_record(
    folder: Path, train_set: Examples, measured: Examples, history: History
) -> dict[str, Any]:
    """Lo que se cuenta de cómo se entrenó, y lo que acierta el modelo guardado."""
    model, _ = read_tuned(folder)
    plan = {"batch": "una tarea, por turnos", "peak": PEAK, "warmup": WARMUP, "seed": SEED}
    return {
        **how_it_was_trained("five_tasks", "cpu", history, model, **plan),
        "data": {
            "labelled": len(train_set["pair"]),
            "measured": len(measured["pair"]),
            "counted": COUNTED,
            "batches": ", ".join(f"{SPANISH[name]}, {count}" for name, count in BATCH.items()),
        },
        "results": results(model, measured) | counting(train_set, measured),
    }
