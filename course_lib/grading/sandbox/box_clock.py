"""El tiempo de una entrega: no corre mientras espera un procesador que tienen otros.

Con un reloj de pared, el plazo de una entrega dependería de la que se califica a su lado: cuarenta
procesos que no paran vuelven lenta a la vecina, y su nota sería otra. Aquí cada plazo se mide así:

    avance = máx(reloj de pared − espera por un procesador, tiempo de procesador de la caja,
                 tiempo de procesador de quien la califica)

Quien duerme gasta reloj de pared, quien calcula con varios procesos a la vez los gasta todos, quien
contesta algo que cuesta comprobar gasta lo que cuesta, y a quien otros dejan sin procesador no se
le cuenta. La espera la da el núcleo, por hilo
(`/proc/PID/task/TID/schedstat`); donde no la da, el tiempo es el de pared.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from pathlib import Path

_LONGEST = 2.0
_TICK = 0.02  # el núcleo da el tiempo de procesador en pasos de una centésima


@dataclass(frozen=True)
class Usage:
    """Lo que gastan los procesos de una caja.

    Argumentos:
        memory: bytes residentes.
        cpu: segundos de procesador desde que empezaron.
        waits: por hilo, segundos que ha esperado un procesador.
    """

    memory: int = 0
    cpu: float = 0.0
    waits: dict[int, float] = field(default_factory=dict)


class BoxClock:
    """Los segundos que lleva una entrega, en una o en varias cajas, una tras otra.

    Argumentos:
        patience: segundos de pared a partir de los que ya no se perdona ninguna espera.
        spent: los que ya llevaba, si otro juez empezó a calificarla.
        wall: los de pared que ya llevaba.

    El atributo `wall` son los segundos de pared. Ninguno cuenta el rato en que este proceso estuvo
    detenido: entre dos miradas pasan, como mucho, dos segundos.
    """

    def __init__(self, patience: float, spent: float = 0.0, wall: float = 0.0) -> None:
        self.patience, self.wall = patience, wall
        self._own, self._looked = spent, time.monotonic()
        self._worked = time.thread_time()
        self._before: Usage | None = None
        self._our_wait = _waited("/proc/thread-self")

    def __call__(self) -> float:
        """Da los segundos hasta ahora; los posteriores a la última mirada son de pared."""
        return self._own + max(self._since(), time.thread_time() - self._worked)

    def _since(self) -> float:
        return min(time.monotonic() - self._looked, _LONGEST)

    def look(self, usage: Usage | None = None) -> None:
        """Cuenta lo que pasó desde la última mirada.

        Argumentos:
            usage: lo que gasta la caja; la primera vez que se mira una, no se cuenta.
        """
        passed, our_wait = self._since(), _waited("/proc/thread-self")
        ours, self._worked = time.thread_time() - self._worked, time.thread_time()
        self._looked = time.monotonic()
        self.wall += passed
        waited, cpu = our_wait - self._our_wait, 0.0
        if usage is not None and self._before is not None:
            old = self._before.waits
            waited += max((w - old.get(tid, 0.0) for tid, w in usage.waits.items()), default=0.0)
            cpu = usage.cpu - self._before.cpu - _TICK
        self._our_wait, self._before = our_wait, usage
        self._own += passed if self.wall > self.patience else max(passed - waited, cpu, ours)

    def new_box(self) -> None:
        """Olvida la caja anterior."""
        self.look()


def _waited(thread: str) -> float:
    """Da los segundos que un hilo ha esperado un procesador; 0 si el núcleo no lo dice."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(Path(thread, "schedstat").read_text().split()[1]) / 1e9
    return 0.0


def process_waits(process: Path) -> dict[int, float]:
    """Da los segundos que ha esperado cada hilo de un proceso.

    Argumentos:
        process: su carpeta en `/proc`.
    """
    with contextlib.suppress(OSError):
        return {int(task.name): _waited(str(task)) for task in (process / "task").iterdir()}
    return {}


def process_cpu(process: Path, ticks: int) -> float:
    """Da los segundos de procesador de un proceso y de los hijos que ya recogió.

    Argumentos:
        process: su carpeta en `/proc`.
        ticks: pasos por segundo del núcleo (`SC_CLK_TCK`).
    """
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / ticks
