"""Dónde y cómo se calcula: dispositivo, tipo numérico, semilla, memoria y tiempo."""

import contextlib
import ctypes
import gc
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch


def best_device() -> torch.device:
    """Elige el dispositivo más rápido que hay: CUDA, después MPS (Apple) y después la CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def best_dtype(device: torch.device | str) -> torch.dtype:
    """Elige el tipo para los productos grandes: bfloat16 en la GPU que lo tiene, si no float32."""
    device = torch.device(device)
    if device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float32


def seed_everything(seed: int) -> torch.Generator:
    """Fija la semilla de Python, NumPy y torch, en todos los dispositivos.

    Argumentos:
        seed: entero entre 0 y 2³² − 1.

    Devuelve:
        Un generador nuevo de la CPU con esa semilla, para sorteos que no deben depender de
        cuántos números haya pedido antes otro código.

    Errores:
        ValueError: si la semilla no es un entero de ese rango.
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**32:
        raise ValueError(f"seed: se esperaba un entero entre 0 y 2³² − 1 y llegó {seed!r}.")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return torch.Generator().manual_seed(seed)


def synchronize(device: torch.device | str) -> None:
    """Espera a que el dispositivo acabe lo pendiente: sin esto, medir una GPU es medir la cola."""
    device = torch.device(device)
    if device.type in ("cuda", "mps"):
        getattr(torch, device.type).synchronize()


@dataclass
class Measure:
    """Lo medido por `stopwatch` (segundos) o `peak_memory` (bytes); None si no se pudo medir."""

    seconds: float | None = None
    bytes: int | None = None


@contextlib.contextmanager
def stopwatch(device: torch.device | str = "cpu") -> Iterator[Measure]:
    """Mide el tiempo de un bloque, sincronizando el dispositivo antes y después.

    Ejemplo::

        with stopwatch(device) as measure:
            model(x)
        print(measure.seconds)
    """
    measure = Measure()
    synchronize(device)
    start = time.perf_counter()
    try:
        yield measure
    finally:
        synchronize(device)
        measure.seconds = time.perf_counter() - start


@contextlib.contextmanager
def peak_memory(device: torch.device | str = "cpu") -> Iterator[Measure]:
    """Mide cuánto crece la memoria en el peor momento de un bloque, en bytes.

    En CUDA cuenta lo reservado por los tensores; en la CPU, lo residente del proceso entero
    (solo Linux lo permite: en otros sistemas `bytes` queda en None).
    """
    measure, device = Measure(), torch.device(device)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        yield measure
        measure.bytes = torch.cuda.max_memory_allocated(device) - before
        return
    before = _reset_resident_peak()
    yield measure
    if before is not None:
        measure.bytes = max(_resident("VmHWM") - before, 0)


def _reset_resident_peak():
    """Pone a cero el máximo de memoria residente (proc(5), clear_refs) y da la actual."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError, TypeError):
        # Sin devolver antes lo liberado, el bloque lo reutilizaría y parecería no gastar nada.
        ctypes.CDLL(None).malloc_trim(0)
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _resident("VmRSS")
    except OSError:
        return None


def _resident(field):
    status = Path("/proc/self/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith(field))
    return int(line.split()[1]) * 1024
