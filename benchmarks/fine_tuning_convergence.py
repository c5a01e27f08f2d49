"""Ajuste fino: hasta dónde llegan los dos contendientes, con ocho veces más pasos

El capítulo `fine_tuning` da a los dos contendientes los pasos que bastan al preentrenado. Aquí cada uno da ocho veces más, con los mismos ejemplos y el mismo plan de la tasa, estirado. Cada vez que se completan los pasos del capítulo se mide con 300 ejemplos de validación, del lado de entrenamiento; solo el estado que mejor acierta en ellos se mide con los apartados. «En lo entrenado» es lo que acierta al final en 300 de sus propios ejemplos: cerca de 1, no le queda nada que aprender de ellos.

Son las cinco tareas, con una semilla.
"""  # noqa: E501

from copy import deepcopy
from functools import partial
from typing import Any

import torch

from benchmarks._chapter import UNFINISHED, chapter_inputs, read_or_run, run_chapter

TOPIC, STARTS, SEED = "fine_tuning", ("desde cero", "preentrenado"), 0
TASKS = ("frase", "par", "palabras", "pregunta", "opciones")
TIMES, VALIDATION_SEED = 8, 60


def run(device: str) -> list[dict[str, Any]]:
    inputs = chapter_inputs(TOPIC, device)[:16]
    jobs = {
        UNFINISHED / f"{TOPIC}-{name}-{start}-{TIMES}-{SEED}-{inputs}.pt": partial(
            measure, name, start
        )
        for name in TASKS
        for start in STARTS
    }
    with torch.device(device), torch.enable_grad():
        return [row for rows in read_or_run(jobs) for row in rows]


def measure(name: str, start: str) -> list[dict[str, Any]]:
    """Ajusta con más pasos y da una fila por medida; la del estado elegido lleva lo apartado."""
    print(name, start, flush=True)
    chapter = run_chapter(TOPIC, SEED, until="held_out")
    task, examples = chapter["five_tasks"][name], chapter["examples"]
    accuracy = partial(chapter["accuracy"], task)
    validation = examples(task, chapter["HELD_OUT"], seed=VALIDATION_SEED)
    rows, states = [], {}

    def on_step(step, model):
        if step % task.steps:
            return
        found = accuracy(model, validation)
        print(f"   paso {step}: {found:.3f}", flush=True)
        if all(found > row["validación"] for row in rows):
            states.update(best=deepcopy(model.state_dict()), step=step)
        rows.append(
            {"tarea": name, "comienzo": start, "semilla": SEED, "paso": step, "validación": found}
            | {"apartados": None, "en lo entrenado": None}
        )

    longer = task._replace(steps=TIMES * task.steps)
    model = chapter["fine_tune"](longer, chapter["starts"][start], on_step=on_step)
    trained = examples(task, task.labels, seed=SEED)[: chapter["HELD_OUT"]]
    rows[-1]["en lo entrenado"] = accuracy(model, trained)
    model.load_state_dict(states["best"])
    rows[states["step"] // task.steps - 1]["apartados"] = accuracy(model, chapter["held_out"][name])
    return rows
