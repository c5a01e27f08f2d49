"""Califica una clase entera: entregas en paralelo, y una orden cortada sigue donde quedó.

Cada entrega es una tarea (`task`) que se encarga a un carril (`lanes`): procesos de esta
computadora o un grupo de máquinas. Lo terminado se guarda al momento en la carpeta de la clase. Si
muere el proceso que calificaba una entrega, se vuelve a encargar; si lo tumba varias veces, se
anota que no se pudo calificar y las demás siguen.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import json
import os
import secrets
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from dataclasses import asdict, replace
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.lanes import (
    ClassRunError,
    ClusterLane,
    ClusterLostError,
    ProcessLane,
)
from course_lib.grading.classroom.results import Graded
from course_lib.grading.classroom.task import (
    Order,
    course_version,
    failed,
    grade_task,
)
from course_lib.grading.sandbox.box import Limits, SandboxError, why_unavailable
from course_lib.grading.sandbox.cgroup import claim
from course_lib.grading.sandbox.grader import SubmissionResult
from course_lib.judging.owner import listed

MAX_ATTEMPTS = 3
DELIVERED = "delivered"
_LOOK_EVERY = 10.0
_SLACK = 180.0  # segundos, además de los de la entrega, para empezar y para ir despacio
_STUCK = (
    "el proceso que la calificaba dejó de contestar y se terminó: repite la orden; si vuelve a "
    "pasar, el problema es del curso"
)

Lane = ProcessLane | ClusterLane


def default_workers() -> int:
    """Un proceso por procesador de los que puede usar este."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def grade_class(
    entries: list[Entry],
    folder: ClassFolder,
    *,
    topic: str | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    sandboxed: bool = True,
    limits: Limits | None = None,
    private: tuple[str, ...] = (),
    roster: tuple[str, ...] = (),
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Graded]:
    """Califica las entregas que falten y da los resultados de todas, en su orden.

    Argumentos:
        entries: las entregas, cada una con una clave distinta.
        folder: la carpeta de la clase, donde queda cada resultado en cuanto se tiene.
        topic: el tema, menos de lo que dice que es de otro; si falta, se reconoce en cada entrega.
        workers: procesos de esta computadora; si falta, uno por procesador.
        cluster: dirección de un grupo de Dask, que califica en lugar de esta computadora. Quien
            llega a su planificador puede ejecutar código en él: que esté en una red de confianza.
        sandboxed: False ejecuta el código ajeno sin caja (`grader.WHAT_IS_LOST`).
        limits: lo que puede gastar cada entrega.
        private: lo que ninguna debe ver del disco, además del proyecto y de la carpeta de la clase.
        roster: la lista con que se repartieron los cuadernos personales; vacía, si no los hay.
        progress: recibe cuántas van y cuántas son; la primera vez, las que ya estaban.

    Errores:
        ClassRunError: el grupo de máquinas no contesta, o falta lo necesario para usarlo.
        SandboxError: no se puede construir una caja; dice qué instalar.
    """
    private = (str(folder.path.resolve()), *private)
    order = Order(
        folder.seed(), course_version(), topic, sandboxed, limits or Limits(), private, roster
    )
    found: dict[str, SubmissionResult] = {}
    for entry in entries:
        if (known := _without_executing(entry, folder, order)) is not None:
            found[entry.key] = known
    progress(len(found), len(entries))
    waiting = deque(entry for entry in entries if entry.key not in found)
    if waiting:
        with _lanes(min(workers or default_workers(), len(waiting)), cluster, sandboxed) as lanes:
            for entry, result in _run(waiting, lanes, order):
                folder.store(entry, order, result)
                found[entry.key] = result
                progress(len(found), len(entries))
    folder.set_delivered(entry.key for entry in entries)
    return [Graded(entry, found[entry.key]) for entry in entries]


def _without_executing(entry: Entry, folder: ClassFolder, order: Order) -> SubmissionResult | None:
    if isinstance(entry.content, bytes):
        return folder.stored(entry, order)
    result = SubmissionResult("unreadable", entry.content)
    folder.store(entry, order, result)
    return result


@contextlib.contextmanager
def _lanes(workers: int, cluster: str | None, sandboxed: bool) -> Iterator[list[Lane]]:
    with contextlib.ExitStack() as stack:
        if cluster is not None:
            lanes: list[Lane] = [ClusterLane(cluster, sandboxed=sandboxed)]
        else:
            if sandboxed:
                if reason := why_unavailable():
                    raise SandboxError(reason)
                claim()  # antes de dividirse
            lanes = [ProcessLane() for _ in range(workers)]
        for lane in lanes:
            stack.callback(lane.close)
        yield lanes


def _run(
    waiting: deque[Entry], lanes: list[Lane], order: Order
) -> Iterator[tuple[Entry, SubmissionResult]]:
    """Reparte las entregas y da cada resultado en cuanto se tiene."""
    running: dict[Future, tuple[Lane, Entry]] = {}
    watchdog = _Watchdog(order.limits)
    suspects: deque[Entry] = deque()
    losses: Counter[str] = Counter()
    while waiting or suspects or running:
        if suspects and not waiting and not running:
            waiting.append(suspects.popleft())  # sola, para que no cargue con culpa ajena
        _fill(waiting, lanes, running, order)
        done, _ = wait(running, timeout=_LOOK_EVERY, return_when=FIRST_COMPLETED)
        watchdog.look(running)
        if not done:
            for lane in lanes:
                lane.check()
        for future in done:
            lane, entry = running.pop(future)
            result = _result_of(future, lane)
            if result is None and watchdog.stopped(future):
                lane.renew()
                result = failed(_STUCK)
            if result is None:
                lane.renew()
                losses[entry.key] += 1
                if losses[entry.key] < MAX_ATTEMPTS:
                    (waiting if lane.capacity == 1 else suspects).append(entry)
                    continue
                result = failed(
                    f"el proceso que la calificaba murió {MAX_ATTEMPTS} veces; no se intenta más"
                )
            yield entry, result


class _Watchdog:
    """Termina el carril que no acaba una entrega en mucho más del tiempo que ella tiene.

    El rato en que este proceso no miró, porque lo detuvieron con Ctrl-Z, no cuenta para nadie.
    """

    def __init__(self, limits: Limits) -> None:
        self.patience = limits.wall_seconds + limits.cell_seconds + _SLACK
        self._spent: dict[Future, float] = {}
        self._stopped: set[Future] = set()
        self._looked = time.monotonic()

    def look(self, running: dict[Future, tuple[Lane, Entry]]) -> None:
        """Suma el tiempo desde la última mirada, y termina lo que pasa del plazo."""
        passed = min(time.monotonic() - self._looked, 2 * _LOOK_EVERY)
        self._looked = time.monotonic()
        self._spent = {future: self._spent.get(future, 0.0) + passed for future in running}
        for future, (lane, _) in running.items():
            if lane.can_stop and self._spent[future] > self.patience and not future.done():
                self._stopped.add(future)
                lane.stop()

    def stopped(self, future: Future) -> bool:
        """Dice si esa tarea se perdió porque aquí se terminó su carril."""
        return future in self._stopped


def _fill(waiting: deque, lanes: list[Lane], running: dict, order: Order) -> None:
    busy = Counter(id(lane) for lane, _ in running.values())
    for lane in lanes:
        for _ in range(min(lane.capacity - busy[id(lane)], len(waiting))):
            entry = waiting.popleft()
            theirs = replace(order, student=entry.student)
            running[lane.submit(grade_task, entry.content, theirs)] = lane, entry


def _result_of(future: Future, lane: Lane) -> SubmissionResult | None:
    """Da el resultado de una tarea; None si se perdió con el proceso que la hacía."""
    try:
        return SubmissionResult.from_data(future.result())
    except lane.lost:
        return None
    except CancelledError:
        raise ClusterLostError from None
    except Exception as error:  # Dask no pudo ejecutar la tarea
        return failed(f"{type(error).__name__}: {error}")


# La carpeta: qué se hizo ya, con qué semilla y quién la está usando


class ClassFolder(contextlib.AbstractContextManager):
    """La carpeta de una clase, reservada hasta que se cierra.

    `results/` guarda un archivo por entrega, escrito de una vez; junto a cada resultado, un resumen
    de lo que lo decide. Si al volver a calificar el resumen es el mismo, vale lo guardado.

    Argumentos:
        path: la carpeta; si no existe se crea, y solo la puede leer quien califica.

    Errores:
        ClassRunError: es de otra cosa, o la está usando otro proceso.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.results = Path(path), Path(path) / "results"
        self._version = functools.cache(course_version)  # mientras dura la calificación
        self._seed_file, lock = self.results / "seed", self.results / "lock"
        if self.path.exists() and not lock.exists():
            _require_empty(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.results.mkdir(mode=0o700, exist_ok=True)
            self._lock = lock.open("a")
        except OSError as error:
            raise ClassRunError(f"No se puede escribir en {path}: {error.strerror}.") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # se suelta si el proceso muere
        except OSError:
            self._lock.close()
            raise ClassRunError(
                f"Otro proceso está calificando en {path}; espera a que termine o usa otra carpeta."
            ) from None

    def seed(self) -> int:
        """Da la semilla de la clase: se sortea la primera vez, y nadie más la puede leer."""
        if not self._seed_file.exists():
            write_atomically(self._seed_file, str(secrets.randbits(63)).encode())
            self._seed_file.chmod(0o600)  # la carpeta ya era privada
        return read_seed(self.path)

    def share_seed(self, other: Path) -> None:
        """Toma la semilla de otra calificación, si aquí no hay, para comparar con sus entradas.

        Errores:
            ClassRunError: es esta misma carpeta, o no tiene ninguna.
        """
        seed = Path(other) / "results" / self._seed_file.name
        if Path(other).resolve() == self.path.resolve():
            raise ClassRunError(
                f"«{other}» es la carpeta en que se escribe: compara con otra, calificada antes."
            )
        if not seed.exists():
            raise ClassRunError(f"«{other}» no es la carpeta de una clase calificada.")
        if not self._seed_file.exists():
            write_atomically(self._seed_file, seed.read_bytes())
            self._seed_file.chmod(0o600)

    def stored(self, entry: Entry, order: Order) -> SubmissionResult | None:
        """Da el resultado guardado de una entrega, si nada de lo que lo decide cambió."""
        try:
            record = json.loads(self._file(entry).read_text(encoding="utf-8"))
            result = SubmissionResult.from_data(record["result"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        # Reconocer un tema o que lo pidan es lo mismo, si es el mismo: decirlo después no repite.
        orders = [order, replace(order, topic=None)] if result.topic == order.topic else [order]
        same = record.get("digest") in [self._digest(entry, each, result) for each in orders]
        return result if same and result.status == "graded" else None

    def set_delivered(self, keys: Iterable[str]) -> None:
        """Apunta qué entregas son las de ahora: en la carpeta siguen las que ya no están."""
        write_atomically(self.results / DELIVERED, "\n".join(keys).encode())

    def store(self, entry: Entry, order: Order, result: SubmissionResult) -> None:
        """Guarda el resultado de una entrega."""
        record = {
            "student": entry.student,
            "participant": entry.participant,
            "source": entry.source,
            "digest": self._digest(entry, order, result),
            "result": result.as_data(),
        }
        content = json.dumps(record, ensure_ascii=False, indent=1)
        write_atomically(self._file(entry), content.encode("utf-8", "replace"))

    def _digest(self, entry: Entry, order: Order, result: SubmissionResult) -> str:
        """Resume lo que decide un resultado: la entrega, de quién es, las entradas, los límites…"""
        content = entry.content if isinstance(entry.content, bytes) else entry.content.encode()
        version = self._version(result.topic) if result.topic else ""
        parts = [order.seed, order.topic, order.sandboxed, asdict(order.limits), version]
        parts.append(listed(entry.student, order.roster) or order.roster)
        return hashlib.sha256(json.dumps(parts).encode() + b"\0" + content).hexdigest()

    def _file(self, entry: Entry) -> Path:
        path = self.results / f"{entry.key}.json"
        if path.parent != self.results or entry.key.startswith("."):
            raise ValueError(f"«{entry.key}» no sirve como nombre de archivo.")
        return path

    def close(self) -> None:
        """Suelta la carpeta."""
        self._lock.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def read_seed(path: Path) -> int:
    """Lee la semilla de una clase, que ya se sorteó.

    Errores:
        ClassRunError: no es la carpeta de una clase.
    """
    try:
        return int((Path(path) / "results" / "seed").read_text())
    except (OSError, ValueError):
        raise ClassRunError(f"«{path}» no es la carpeta de una clase: no tiene semilla.") from None


def read_class(path: Path) -> list[Graded]:
    """Lee lo que obtuvo una clase ya calificada, sin reservar su carpeta ni ejecutar nada.

    De cada entrega se sabe de quién es y qué obtuvo; su cuaderno no está.

    Errores:
        ClassRunError: no es la carpeta de una clase calificada.
    """
    results = Path(path) / "results"
    try:
        keys = (results / DELIVERED).read_text(encoding="utf-8").splitlines()
        records = {k: json.loads((results / f"{k}.json").read_text("utf-8")) for k in keys}
        return [
            Graded(
                Entry(one["student"], key, one["source"], b"", one["participant"]),
                SubmissionResult.from_data(one["result"]),
            )
            for key, one in records.items()
        ]
    except (OSError, ValueError, TypeError, KeyError):
        raise ClassRunError(
            f"«{path}» no es la carpeta de una clase calificada, o la calificó otra versión del "
            f"curso: da la que escribió `course grade … --out`, o repite esa orden."
        ) from None


def _require_empty(path: Path) -> None:
    if not path.is_dir():
        raise ClassRunError(f"{path} es un archivo; indica una carpeta.")
    if any(path.iterdir()):
        raise ClassRunError(
            f"{path} ya tiene otras cosas, y no se escribe encima; indica una carpeta nueva, o una "
            f"en la que ya hayas calificado."
        )
