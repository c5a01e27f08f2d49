"""Dónde se califica: carriles que reciben tareas, con la interfaz de `concurrent.futures`.

En esta computadora cada carril es un proceso con una entrega a la vez: si muere, se sabe cuál
estaba calificando, y las demás no lo notan. Un grupo de máquinas es un solo carril, en el que Dask
reparte y vuelve a encargar lo que se perdió con un proceso; si insiste en perderse, va sola.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from typing import Any

import torch

from course_lib._extras import extra
from course_lib.grading.classroom.task import close_grader
from course_lib.grading.sandbox.box import SandboxError, why_unavailable
from course_lib.grading.sandbox.wire import clean

_PATIENCE = 120.0  # segundos que se espera a un grupo que se quedó sin procesos


class ClassRunError(Exception):
    """No se puede empezar a calificar; el mensaje dice por qué y qué hacer."""


class ClusterLostError(ClassRunError):
    """El grupo de máquinas dejó de contestar a mitad; lo calificado está guardado."""

    def __init__(self) -> None:
        super().__init__(
            "El grupo de máquinas se quedó sin procesos o dejó de contestar. Lo calificado está "
            "guardado: cuando vuelva, repite la orden y sigue donde quedó."
        )


class ProcessLane:
    """Un proceso de esta computadora, que termina con el que lo creó.

    Su interior ya limita cada entrega; por si él mismo se detiene, quien lo creó puede matarlo.
    """

    capacity = 1
    can_stop = True
    lost: tuple[type[Exception], ...] = (BrokenExecutor,)

    def __init__(self) -> None:
        self._open()

    def _open(self) -> None:
        context = _processes()
        self._alive, theirs = context.Pipe()
        self._executor = ProcessPoolExecutor(1, context, _begin_process, (theirs, dict(os.environ)))

    def submit(self, task: Callable, *arguments: Any) -> Future:
        """Encarga una tarea; si el proceso había muerto sin ninguna, a uno nuevo."""
        try:
            return self._submit(task, *arguments)
        except (BrokenExecutor, EOFError, OSError):  # o aquel del que debía nacer
            self.renew()
            return self._submit(task, *arguments)

    def _submit(self, task: Callable, *arguments: Any) -> Future:
        with _interruptions_held():  # interrumpe quien lo creó, no la terminal
            return self._executor.submit(task, *arguments)

    def stop(self) -> None:
        """Mata el proceso, aunque esté detenido: lo que hacía se pierde, y se dice."""
        if self._alive.poll():
            with contextlib.suppress(EOFError, OSError):
                os.kill(int(self._alive.recv_bytes(32)), signal.SIGKILL)

    def renew(self) -> None:
        """Sustituye un proceso que murió."""
        self.close()
        self._open()

    def check(self) -> None:
        """No hay nada que vigilar: de un proceso que muere se entera su tarea."""

    def close(self) -> None:
        """Termina el proceso, aunque esté calificando."""
        self._alive.close()
        self._executor.shutdown(wait=True, cancel_futures=True)


def _processes() -> multiprocessing.context.BaseContext:
    """Cómo nacen los procesos: de uno que solo importó torch, y así lo importa una vez por todos.

    Lo del curso lo importa cada uno, para que sea lo que hay ahora. Fuera de Linux dividirse no es
    seguro, y donde no se puede hablar con él (la carpeta temporal tiene un nombre muy largo),
    tampoco se puede: cada uno empieza de cero.
    """
    if sys.platform == "linux":
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(["torch"])
        with contextlib.suppress(OSError), _interruptions_held():
            forkserver.ensure_running()
            return context
    return multiprocessing.get_context("spawn")


@contextlib.contextmanager
def _interruptions_held() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin_process(alive: Connection, environment: dict[str, str]) -> None:
    """Prepara un proceso que califica, con el entorno que tiene ahora quien lo pide.

    Lo que ya importó leyó el de cuando se pidió el primero.
    """
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    alive.send_bytes(str(os.getpid()).encode())
    threading.Thread(target=_end_with_parent, args=(alive,), daemon=True).start()


def _end_with_parent(alive: Connection) -> None:
    """Espera a que el otro extremo se cierre, por la razón que sea, y termina.

    La plantilla ve morir a este proceso, y recoge lo suyo.
    """
    with contextlib.suppress(OSError):
        alive.poll(None)
    os._exit(0)


class ClusterLane:
    """Un grupo de máquinas de Dask que ya está en marcha.

    Argumentos:
        address: la dirección de su planificador (`tcp://…`).
        sandboxed: si todas deben poder construir una caja.

    A una máquina detenida la descarta su planificador (`worker-ttl`), y encarga lo suyo a otra.

    Errores:
        ClassRunError: el grupo no contesta o no tiene procesos.
        SandboxError: alguna máquina no puede construir una caja.
    """

    can_stop = False

    def __init__(self, address: str, *, sandboxed: bool = True) -> None:
        distributed = _distributed()
        self.lost = (distributed.scheduler.KilledWorker,)
        self._seen = time.monotonic()
        try:
            self._client = distributed.Client(address, timeout=10, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise _unreachable(address, error) from None
        try:
            self._require_ready(sandboxed)
        except BaseException as error:
            self._client.close()
            raise _unreachable(address, error) if isinstance(error, OSError) else error from None
        self._executor = self._client.get_executor(pure=False)

    def _require_ready(self, sandboxed: bool) -> None:
        found = self._client.run(why_unavailable, on_error="return")
        if not found:
            raise ClassRunError("El grupo de máquinas no tiene procesos: arranca «dask worker».")
        for machine, reason in sorted(found.items()):
            if isinstance(reason, Exception):
                raise ClassRunError(
                    f"{machine} no puede calificar: instala ahí el proyecto del curso "
                    f"({clean(str(reason), 200)})."
                )
            if reason and sandboxed:
                raise SandboxError(f"{machine}: {reason}")

    @property
    def capacity(self) -> int:
        """Las entregas que conviene tener encargadas: dos por proceso, y ninguno espera."""
        return 2 * max(1, len(self._client.nthreads()))

    def submit(self, task: Callable, *arguments: Any) -> Future:
        """Encarga una tarea al grupo."""
        return self._executor.submit(task, *arguments)

    def renew(self) -> None:
        """Dask ya sustituyó el proceso."""

    def check(self) -> None:
        """Exige que el grupo conteste y tenga procesos, con paciencia para que se recupere.

        Errores:
            ClusterLostError: lleva demasiado tiempo sin ellos.
        """
        with contextlib.suppress(OSError, TimeoutError):
            if self._client.status == "running" and self._client.nthreads():
                self._seen = time.monotonic()
        if time.monotonic() - self._seen > _PATIENCE:
            raise ClusterLostError

    def close(self) -> None:
        """Deja el grupo como estaba: sin tareas nuestras y sin calificadores calientes."""
        with contextlib.suppress(Exception):  # puede haber dejado de contestar
            self._executor.shutdown(wait=False)
            self._client.run(close_grader, on_error="ignore")
        self._client.close()


def _unreachable(address: str, error: Exception) -> ClassRunError:
    return ClassRunError(
        f"No contesta ningún grupo de máquinas en «{clean(address, 80)}»: revisa la dirección y "
        f"que «dask scheduler» esté en marcha ({type(error).__name__})."
    )


def _distributed() -> Any:
    with extra("cluster"):
        import distributed
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # lo que importa se dice aquí
    return distributed
