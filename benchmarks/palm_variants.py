"""PaLM: qué cuesta leer un token más con cada cambio

Los modelos son los del experimento `palm`, mayores y sin entrenar, porque los pesos no cambian el
tiempo. Cada uno tiene ya 512 tokens en la caché, en ocho filas, y lee uno más por
fila: es lo que cuesta cada token al generar. Todos se turnan en un mismo proceso y se comparan
medianas. Se cuenta el tiempo de procesador, que no depende de qué más haga la máquina. La
multicabeza guarda un par de claves y valores por cabeza.

La rapidez es el tiempo de PaLM entre el del modelo: 2 quiere decir el doble de tokens por segundo.
«E pequeña» hace las mismas operaciones que PaLM: lo que se aparta de 1 es ruido.
"""

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks._measure import spread
from benchmarks.experiments.palm import VARIANTS, build
from course_lib.fast import reserve

WIDE = {"vocab_size": 1000, "d_model": 384, "num_heads": 12, "num_layers": 4, "max_length": 600}
ROWS, READ, TURNS = 8, 512, 60


def run(device: str) -> list[dict[str, Any]]:
    times = processor_times(one_more_token(device))
    seconds = {name: statistics.median(found) for name, found in times.items()}
    return [
        {
            "quién": name,
            "s": seconds[name],
            "dispersión": spread(times[name]),
            "rapidez": seconds["PaLM"] / seconds[name],
            "tokens por segundo": ROWS / seconds[name],
        }
        for name in times
    ]


def one_more_token(device: str) -> dict[str, Callable]:
    """Por cada variante, el trabajo de leer un token más en todas las filas."""
    torch.manual_seed(0)
    read, one = (torch.randint(WIDE["vocab_size"], (ROWS, t), device=device) for t in (READ, 1))
    jobs = {}
    for name, options in VARIANTS.items():
        heads = {"num_kv_heads": WIDE["num_heads"]} if name == "multicabeza" else {}
        palm = build(**options | WIDE | heads).to(device).eval()
        _, cache = palm.step(read, reserve(palm, ROWS, READ + 1))
        jobs[name] = lambda palm=palm, cache=cache: palm.step(one, cache)
    return jobs


def processor_times(jobs: dict[str, Callable]) -> dict[str, list[float]]:
    """Segundos de procesador de cada trabajo, por turnos; la primera vuelta, que calienta, no cuenta."""  # noqa: E501
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(TURNS + 1):
        for name, work in jobs.items():
            start = time.process_time()
            work()
            times[name].append(time.process_time() - start)
    return {name: found[1:] for name, found in times.items()}
