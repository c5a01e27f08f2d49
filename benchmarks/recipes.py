"""Recetas por segundo

Cuánto tarda el generador del corpus en dar 100 000 recetas, una tras otra, en un proceso nuevo.
La velocidad se cuenta sobre el tiempo de procesador, que no depende de qué más haga la máquina.
"""

import itertools
import time

from benchmarks._measure import in_fresh_process

COUNT = 100_000


def run(device: str) -> list[dict]:
    seconds, cpu, characters = in_fresh_process(generate, COUNT)
    return [
        {
            "recetas": COUNT,
            "s": seconds,
            "s de procesador": cpu,
            "recetas por segundo": COUNT / cpu,
            "millones de letras": characters / 1e6,
        }
    ]


def generate(count: int) -> tuple[float, float, int]:
    from course_lib.data.recipes import iter_recipes

    start, cpu = time.perf_counter(), time.process_time()
    characters = sum(len(recipe.text) for recipe in itertools.islice(iter_recipes(0), count))
    return time.perf_counter() - start, time.process_time() - cpu, characters
