"""El juez: un proceso desechable, uno por entrega, que lee y compara lo que ella contesta.

Es un hijo recién creado del que califica, que lo supervisa: dividirse cuesta centésimas, e importar
torch, segundos. Empieza con un límite de memoria, y cada cosa que hace, con uno de procesador: el
núcleo lo mata si se pasa. Lo que averigua lo deja en una memoria compartida de tamaño fijo, con qué
estaba mirando; es todo lo que el supervisor lee de él, y solo cuando ya no existe.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import mmap
import os
import re
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from course_lib.grading.sandbox.box import die_with_parent
from course_lib.grading.sandbox.wire import ConversationError

MEMORY = 512 << 20
"""Los bytes que puede pedir un juez, además de los que ya tenía quien lo creó."""
CPU_SECONDS = 30
"""Los segundos de procesador que puede gastar en cada cosa: leer lo que da una celda, comparar."""
MOST_TOLD = 4 << 20
_LOOK_EVERY = 0.01
_LONGEST = 1.0  # lo que dura, como mucho, el rato entre dos miradas: al supervisor lo detienen


class HeavyAnswerError(ConversationError):
    """Leer o comparar lo que contestó una entrega pide más memoria de la que hay para ello."""


@dataclass(frozen=True)
class End:
    """Cómo terminó un juez.

    Argumentos:
        killed: si lo mató una señal.
        slow: si fue por gastar demasiado procesador.
        stuck: si hubo que matarlo porque no terminaba.
        cpu: los segundos de procesador que gastó.
    """

    killed: bool
    slow: bool
    stuck: bool
    cpu: float


class Slate(contextlib.AbstractContextManager):
    """Lo último que dijo un juez: dos mitades de tamaño fijo, y un octeto que dice cuál vale.

    Se cambia de mitad cuando la nueva está entera: si el juez muere escribiendo, queda la de antes.
    """

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 8 + 2 * (4 + MOST_TOLD))

    def write(self, told: dict[str, Any]) -> None:
        """Deja unos datos que JSON puede guardar.

        Errores:
            ValueError: no caben.
        """
        text = json.dumps(told, ensure_ascii=False).encode("utf-8", "surrogatepass")
        if len(text) > MOST_TOLD:
            raise ValueError(f"el resultado ocupa {len(text)} bytes, y caben {MOST_TOLD}")
        half = 2 if self._memory[0] == 1 else 1
        start = 8 + (half - 1) * (4 + MOST_TOLD)
        self._memory[start : start + 4] = len(text).to_bytes(4, "big")
        self._memory[start + 4 : start + 4 + len(text)] = text
        self._memory[0] = half

    def read(self) -> dict[str, Any]:
        """Da lo último que se dejó; nada, si no hay nada."""
        if not self._memory[0]:
            return {}
        start = 8 + (self._memory[0] - 1) * (4 + MOST_TOLD)
        size = int.from_bytes(self._memory[start : start + 4], "big")
        text = self._memory[start + 4 : start + 4 + min(size, MOST_TOLD)]
        return json.loads(text.decode("utf-8", "surrogatepass"))

    def __exit__(self, *error: object) -> None:
        self._memory.close()


def run_judge(work: Callable[[], None], seconds: float) -> End:
    """Hace algo en un juez y espera a que termine.

    Argumentos:
        work: lo que hace; nada de lo que cambie llega aquí, salvo lo que deje en una `Slate`.
        seconds: los de pared que se le esperan.
    """
    supervisor = os.getpid()
    child = os.fork()
    if child == 0:
        _be_judge(work, supervisor)
    ended = False
    try:
        status, usage, stuck = _wait(child, seconds)
        ended = True
    finally:
        if not ended:  # a quien espera lo interrumpieron
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    cpu, killed = usage.ru_utime + usage.ru_stime, os.WIFSIGNALED(status)
    return End(killed, killed and os.WTERMSIG(status) == signal.SIGXCPU, stuck, cpu)


def _wait(child: int, seconds: float) -> tuple[int, resource.struct_rusage, bool]:
    waited, looked = 0.0, time.monotonic()
    while waited < seconds:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            return status, usage, False
        time.sleep(_LOOK_EVERY)
        waited += min(time.monotonic() - looked, _LONGEST)
        looked = time.monotonic()
    os.kill(child, signal.SIGKILL)
    _, status, usage = os.wait4(child, 0)
    return status, usage, True


def _be_judge(work: Callable[[], None], supervisor: int) -> None:
    """Lo que hace el hijo; no vuelve."""
    try:
        die_with_parent()
        if os.getppid() != supervisor:
            return
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a quien lo creó le llega, y lo termina
        gc.freeze()  # que recoger basura no copie la memoria que comparten
        torch.set_num_threads(1)  # los hilos del otro no cruzan, y esperarlos es para siempre
        _limit_memory()
        renew_cpu()
        work()
    finally:
        os._exit(0)


def _limit_memory() -> None:
    if sys.platform == "linux":
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        _lower(resource.RLIMIT_AS, used + MEMORY)
    _lower(resource.RLIMIT_CORE, 0)


def renew_cpu() -> None:
    """Da al juez otros `CPU_SECONDS`, para lo que empieza ahora."""
    _lower(resource.RLIMIT_CPU, math.ceil(time.process_time()) + CPU_SECONDS)


def _lower(limit: int, value: int) -> None:
    """Pone un límite; el que ya hubiera sobre él se respeta."""
    hard = resource.getrlimit(limit)[1]
    resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


@contextlib.contextmanager
def heavy_is_told() -> Iterator[None]:
    """Distingue, de lo que falla, lo que no cabe en la memoria del juez.

    Errores:
        HeavyAnswerError: no le bastó con la que tiene; la culpa es de lo que contestó la entrega.
    """
    try:
        yield
    except MemoryError:
        raise HeavyAnswerError from None
    except RuntimeError as error:  # así lo dice torch
        if re.search(r"allocate\s+memory", str(error)):
            raise HeavyAnswerError from None
        raise
