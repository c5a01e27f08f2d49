"""Recetas por segundo

Cuánto tarda el generador del corpus en dar 100 000 recetas, una tras otra, en un proceso nuevo.
"""

import itertools
import time

from benchmarks._measure import in_fresh_process

COUNT = 100_000


def run(device: str) -> list[dict]:
    seconds, characters = in_fresh_process(generate, COUNT)
    return [
        {
            "recetas": COUNT,
            "s": seconds,
            "recetas por segundo": COUNT / seconds,
            "millones de letras": characters / 1e6,
        }
    ]


def generate(count: int) -> tuple[float, int]:
    from course_lib.data.recipes import iter_recipes

    start = time.perf_counter()
    characters = sum(len(recipe.text) for recipe in itertools.islice(iter_recipes(0), count))
    return time.perf_counter() - start, characters
