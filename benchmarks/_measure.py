"""Cómo se mide: mismos pesos y entradas, resultados comparados antes, tiempos por turnos.

`compare` es lo que usa casi toda medición. Recibe una función `build(*case, device)` que prepara
las entradas y devuelve los rivales: un diccionario de nombre a trabajo sin argumentos, el nuestro
y los de fuera. Si un resultado difiere del de referencia, la medición se detiene: una respuesta
equivocada y rápida es un fallo, no una marca.
"""

import functools
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from course_lib.devices import peak_memory, stopwatch

MIB = 2**20
ROUNDS = (5, 25)  # vueltas: al menos, y como mucho
PATIENCE = 20.0  # segundos: pasado este tiempo y las vueltas mínimas, no hay más
SHORT = 0.02  # segundos: un trabajo más corto se repite dentro de su turno

Jobs = dict[str, Callable[[], Any]]


def compare(
    build: Callable[..., Jobs],
    *case: Any,
    device: str,
    reference: str,
    same: Callable[[Any, Any], None] = torch.testing.assert_close,
    flops: float = 0.0,
    traffic: float = 0.0,
    memory: bool = True,
    rounds: tuple[int, int] = ROUNDS,
    turn: float = SHORT,
) -> dict[str, dict[str, float | None]]:
    """Compara los trabajos que prepara `build` y dice qué dio cada uno.

    Argumentos:
        build: función de un módulo de este paquete; con `case` y `device` da los trabajos. Se
            llaman sin gradiente: el que lo necesite lo enciende.
        case: el caso, con valores que caben en JSON.
        reference: el rival contra el que se cuentan las razones y se comparan los resultados.
        same: `same(ours, theirs)`, que falla si los resultados no son el mismo.
        flops: operaciones en coma flotante que pide el trabajo (una suma y un producto son dos).
        traffic: bytes que hay que leer o escribir como mínimo.
        memory: mide también la memoria; en la CPU, cada trabajo en un proceso nuevo.
        rounds: vueltas, al menos y como mucho.
        turn: segundos que dura un turno, si el trabajo es más corto. Con turnos de menos de un
            milisegundo y muchas vueltas, los demás programas interrumpen a pocos.

    Devuelve:
        Por trabajo: mediana en segundos, dispersión (rango intercuartílico sobre la mediana),
        razón a la referencia, MiB sobre las entradas y parte del límite medido de la máquina.

    Errores:
        ValueError: si un resultado difiere del de la referencia.
    """
    jobs = build(*case, device=device)
    reference = reference if reference in jobs else next(iter(jobs))
    require_same(jobs, reference, same)
    times = alternate(jobs, device, rounds=rounds, turn=turn)
    base = statistics.median(times[reference])
    floor = seconds_at_the_limit(device, flops, traffic)
    return {
        name: {
            "s": statistics.median(seconds),
            "dispersión": spread(seconds),
            "razón": statistics.median(seconds) / base,
            "MiB": _memory(build, case, name, device) if memory else None,
            "del límite": floor / statistics.median(seconds) if floor else None,
        }
        for name, seconds in times.items()
    }


def rows_of(case: dict[str, Any], measured: dict[str, dict]) -> list[dict[str, Any]]:
    """Una fila por rival: primero las columnas del caso, después el nombre y lo medido."""
    return [{**case, "quién": name, **figures} for name, figures in measured.items()]


def peer(module: str) -> ModuleType | None:
    """El paquete rival; si no está instalado lo dice, y la medición sigue sin él."""
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"Se omite {module}: no está instalado (pip install 'course_lib[peers]').")
        return None


def require_same(jobs: Jobs, reference: str, same: Callable[[Any, Any], None]) -> None:
    """Exige que todos los trabajos den el resultado de la referencia."""
    expected = jobs[reference]()
    for name, work in jobs.items():
        try:
            same(work(), expected)
        except AssertionError as error:
            raise ValueError(
                f"«{name}» no da el mismo resultado que «{reference}», así que su tiempo no "
                f"se cuenta: {error}"
            ) from error


def same_gradient(name: str, ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Exige el mismo gradiente; en una GPU, casi el mismo.

    Allí el núcleo fusionado en memoria aparta la norma de una matriz hasta 1.3e-3; con la atención
    escrita (`SDPBackend.MATH`), ninguna llega a 1e-3.
    """
    if theirs.is_cuda:
        error = ((ours - theirs).norm() / theirs.norm()).item()
        assert error <= 5e-3, f"{name}: el error relativo es {error:.2g}"
    else:
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6, msg=name)


def alternate(
    jobs: Jobs, device: str, *, rounds: tuple[int, int] = ROUNDS, turn: float = SHORT
) -> dict[str, list[float]]:
    """Tiempos de trabajos que se turnan: lo que cambie en la máquina toca a todos por igual."""
    repeats = {name: _repeats(work, device, turn) for name, work in jobs.items()}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    start = time.perf_counter()
    for done in range(rounds[1]):
        if done >= rounds[0] and time.perf_counter() - start > PATIENCE:
            break
        for name, work in jobs.items():
            times[name].append(_time(work, device, repeats[name]))
    return times


def _repeats(work: Callable[[], Any], device: str, turn: float) -> int:
    """Cuántas veces por turno. La primera llamada, de calentamiento, no cuenta."""
    _time(work, device, 1)
    return max(1, round(turn / max(_time(work, device, 1), 1e-6)))


def _time(work: Callable[[], Any], device: str, repeats: int) -> float:
    with stopwatch(device) as measure:
        for _ in range(repeats):
            work()
    return measure.seconds / repeats


def spread(seconds: list[float]) -> float:
    """Rango intercuartílico sobre la mediana: 0.1 es un 10 % de vaivén."""
    low, middle, high = statistics.quantiles(seconds, n=4)
    return (high - low) / middle


def seconds_at_the_limit(device: str, flops: float, traffic: float) -> float:
    """Lo que tardaría el trabajo al ritmo máximo medido en esta máquina (modelo del techo).

        s = max(flops / R, bytes / B)

    Fuente: Williams, Waterman y Patterson (2009).
    """
    rate, bandwidth = limits(str(device)) if flops or traffic else (1.0, 1.0)
    return max(flops / rate, traffic / bandwidth)


@functools.cache
def limits(device: str) -> tuple[float, float]:
    """Operaciones por segundo de un producto de matrices grande, y bytes por segundo de una copia.

    En la GPU el producto es en bfloat16 y en la CPU en float32: es lo que usan las mediciones.
    """
    on_gpu = torch.device(device).type == "cuda"
    n, copied = (8192, 2**28) if on_gpu else (2048, 2**26)
    A = torch.randn(n, n, device=device, dtype=torch.bfloat16 if on_gpu else torch.float32)
    x = torch.randn(copied, device=device)
    y = torch.empty_like(x)
    times = alternate({"product": lambda: A @ A, "copy": lambda: y.copy_(x)}, device, rounds=(5, 9))
    return 2 * n**3 / min(times["product"]), 2 * x.nbytes / min(times["copy"])


def _memory(build: Callable[..., Jobs], case: tuple, name: str, device: str) -> float | None:
    """La memoria de un trabajo: la de una GPU la cuenta torch, y la otra, un proceso nuevo."""
    arguments = (memory_of, build.__module__, build.__name__, case, name, device)
    if torch.device(device).type == "cuda":
        return memory_of(*arguments[1:])
    return in_fresh_process(*arguments)


def memory_of(module: str, build: str, case: list, name: str, device: str) -> float | None:
    """MiB que pide un trabajo sobre sus entradas, en este proceso."""
    work = getattr(importlib.import_module(module), build)(*case, device=device)[name]
    work()  # la primera vez también carga bibliotecas
    return measure(work, device)["MiB"]


def measure(work: Callable[[], Any], device: str) -> dict[str, float | None]:
    """Mide una sola vez el tiempo de `work` y cuánto creció la memoria en el peor momento."""
    with peak_memory(device) as memory, stopwatch(device) as clock:
        work()
    return {"MiB": None if memory.bytes is None else memory.bytes / MIB, "s": clock.seconds}


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Llama a una función de este paquete en un intérprete nuevo; todo pasa como JSON.

    La memoria residente de un proceso que ya trabajó no baja del todo: solo uno recién nacido
    cuenta lo suyo y nada más.
    """
    call = [function.__module__, function.__name__, torch.get_num_threads(), arguments]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks._measure", json.dumps(call)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())},
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    module, name, threads, arguments = json.loads(sys.argv[1])
    torch.set_num_threads(threads)
    with torch.no_grad():
        print(json.dumps(getattr(importlib.import_module(module), name)(*arguments)))
