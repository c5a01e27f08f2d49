"""Cómo se mide: cada caso de memoria en un proceso nuevo, y los tiempos por turnos."""

import importlib
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import torch

from course_lib.devices import peak_memory, stopwatch

MIB = 2**20


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Llama a una función de este paquete en un intérprete nuevo; todo pasa como JSON.

    La memoria residente de un proceso que ya trabajó no baja del todo: solo uno recién nacido
    cuenta lo suyo y nada más.
    """
    call = [function.__module__, function.__name__, torch.get_num_threads(), arguments]
    done = subprocess.run(
        [sys.executable, "-m", __name__, json.dumps(call)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())},
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(work: Callable[[], Any], device: str) -> dict[str, float | None]:
    """Mide una sola vez el tiempo de `work` y cuánto creció la memoria en el peor momento."""
    with torch.no_grad(), peak_memory(device) as memory, stopwatch(device) as time:
        work()
    return {"MiB": None if memory.bytes is None else memory.bytes / MIB, "s": time.seconds}


def alternate(
    jobs: dict[str, Callable[[], Any]], device: str, *, rounds: int = 7
) -> dict[str, float]:
    """Mediana del tiempo de trabajos que se turnan: lo que cambie en la máquina toca a todos."""
    times = {name: [] for name in jobs}
    for turn in range(rounds + 1):
        for name, work in jobs.items():
            with torch.no_grad(), stopwatch(device) as time:
                work()
            if turn:  # la primera vuelta es de calentamiento
                times[name].append(time.seconds)
    return {name: statistics.median(seconds) for name, seconds in times.items()}


if __name__ == "__main__":
    module, name, threads, arguments = json.loads(sys.argv[1])
    torch.set_num_threads(threads)
    print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))
