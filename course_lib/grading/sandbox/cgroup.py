"""Los límites del núcleo para una caja entera, donde el sistema cede un grupo de procesos.

`RLIMIT_AS` es de cada proceso, y sumar lo que ocupan todos llega tarde: entre dos miradas pueden
pedir lo que no hay. Un grupo de control (`cgroup` 2) los cuenta juntos, y el núcleo no deja pasar.
También cuenta el procesador de los hijos que nadie recoge, que `/proc` olvida.

Un grupo solo se usa si está cedido a esta orden: se puede escribir en él, y todos sus procesos son
de ella. Así lo cede systemd (`AS_GROUP`), y así está un contenedor que solo califica. Donde no lo
hay se califica igual, con los límites de cada proceso.

Fuente: la documentación de Linux, `Documentation/admin-guide/cgroup-v2.rst`.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import time
from pathlib import Path

AS_GROUP = " ".join(
    ("systemd-run", "--user", "--scope", "-p", "Delegate=yes", "course", "grade", "…")
)
"""La orden con que systemd cede un grupo."""
_ROOT = Path("/sys/fs/cgroup")
_OURS = "course"
"""Donde pasan los procesos de la orden: quien reparte límites no puede tener procesos propios."""
_NEEDED = frozenset({"memory", "pids"})
_SPARE = 256 << 20  # además de lo permitido, que se mira desde fuera: las carpetas también cuentan
_END_SECONDS = 2.0


def claim(root: Path = _ROOT) -> bool:
    """Se queda con el grupo de este proceso, si está cedido, para repartirlo entre las cajas.

    Hay que llamarla antes de crear los procesos que califican, que nacen donde está este.

    Argumentos:
        root: donde está montado `cgroup2`.
    """
    if shared(root):
        return True
    own = _own_group(root)
    if own is None or not set(_read(own / "cgroup.controllers").split()) >= _NEEDED:
        return False
    try:
        inside = set(map(int, _read(own / "cgroup.procs").split()))
        if not inside or not all(map(_is_ours, inside)):  # a los de otros no se les mueve
            return False
        leaf = own / _OURS
        leaf.mkdir(exist_ok=True)
        for process in inside:
            with contextlib.suppress(ProcessLookupError):
                (leaf / "cgroup.procs").write_text(str(process))
        enabled = " ".join(f"+{name}" for name in sorted(_NEEDED))
        (own / "cgroup.subtree_control").write_text(enabled)
    except OSError:
        return False
    return True


def shared(root: Path = _ROOT) -> Path | None:
    """Da el grupo que esta orden reparte; None si no tiene ninguno."""
    own = _own_group(root)
    return own.parent if own is not None and own.name == _OURS else None


class Group:
    """Los procesos de una caja, contados juntos por el núcleo.

    Argumentos:
        parent: el grupo que se reparte (`shared`).
        memory: bytes que puede ocupar la caja; el núcleo termina todos sus procesos al pasar de
            ellos y de un margen.
        processes: procesos e hilos.

    Errores:
        OSError: el sistema ya no lo cede.
    """

    def __init__(self, parent: Path, memory: int, processes: int) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"box-{os.getpid()}-", dir=parent))
        try:
            self._set("pids.max", processes)
            self._set("memory.max", memory + _SPARE)
            self._set("memory.oom.group", 1)
            with contextlib.suppress(FileNotFoundError):  # sin memoria de intercambio no está
                self._set("memory.swap.max", 0)
        except OSError:
            self.path.rmdir()
            raise

    def _set(self, name: str, value: int) -> None:
        # Sin crearlo: aquí los archivos los pone el núcleo, y uno que falta es un límite
        # que no hay.
        with os.fdopen(os.open(self.path / name, os.O_WRONLY), "w") as file:
            file.write(str(value))

    def entrance(self) -> int:
        """Abre la puerta: el proceso que escribe en ella `ENTER` pasa al grupo."""
        return os.open(self.path / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)

    @property
    def ran_out(self) -> bool:
        """Si el núcleo terminó algún proceso por pedir memoria de más."""
        found = re.search(r"^oom_kill (\d+)", _read(self.path / "memory.events"), re.MULTILINE)
        return found is not None and found[1] != "0"

    @property
    def cpu(self) -> float:
        """Segundos de procesador de todos los que pasaron por el grupo, también los recogidos."""
        found = re.search(r"^usage_usec (\d+)", _read(self.path / "cpu.stat"), re.MULTILINE)
        return int(found[1]) / 1e6 if found else 0.0

    def close(self) -> None:
        """Termina lo que quede dentro y lo borra, con los de quien murió sin llegar a hacerlo."""
        with contextlib.suppress(OSError):
            self._set("cgroup.kill", 1)
        for other in self.path.parent.glob("box-*"):
            if not Path("/proc", other.name.split("-")[1]).exists():
                with contextlib.suppress(OSError):
                    other.rmdir()
        until = time.monotonic() + _END_SECONDS
        while self.path.exists():
            with contextlib.suppress(OSError):  # mientras algún proceso acaba de morir
                self.path.rmdir()
                return
            if time.monotonic() > until:  # quedará vacío, y systemd lo borra con el de la orden
                return
            time.sleep(0.01)


ENTER = b"0"


def _own_group(root: Path) -> Path | None:
    """La carpeta del grupo en que está este proceso."""
    found = re.search(r"^0::/(.*)$", _read(Path("/proc/self/cgroup")), re.MULTILINE)
    if found is None or not (root / "cgroup.controllers").exists():
        return None
    own = root / found[1]
    return own if own.is_dir() else None


def _is_ours(process: int) -> bool:
    """Si un proceso es este o descendiente suyo."""
    while process > 1 and process != os.getpid():
        try:
            process = int(_read(Path(f"/proc/{process}/stat")).rpartition(")")[2].split()[1])
        except IndexError:  # ya no existe
            return True
    return process == os.getpid()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
