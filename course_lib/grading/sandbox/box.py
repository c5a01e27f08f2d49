"""La caja donde corre el código ajeno: bubblewrap la construye y un proceso entra en ella.

Cada caja tiene sus propios espacios de procesos, red (vacía), IPC y montajes: el sistema y Python
en modo de solo lectura, `/tmp` y la carpeta personal vacíos y con tamaño limitado, y de la
biblioteca, solo la vista que se le da. bubblewrap deja dentro un proceso que espera; matarlo
termina con todos los de la caja. Un proceso que ya importó torch entra con `join`, sin pagar otra
vez esa importación: es un hijo recién creado que no ha ejecutado código de nadie.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.sandbox import box_root, cgroup, syscalls
from course_lib.grading.sandbox.box_clock import Usage, process_cpu, process_waits

LIBRARY = "/course"
TRUSTED = "/trusted"
"""Donde ve la biblioteca entera el proceso que se divide para entrar en las cajas; ellas, no."""
_TO_IMPORT = ("/usr", "/etc", "/opt")  # bibliotecas, fuentes, alternativas: ve el sistema entero
HOME = "/home/student"
_NAMESPACES = ("mnt", "net", "ipc", "uts", "pid")  # el de procesos, al final
_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
_NS_GET_USERNS, _CLONE_NEWUSER = 0xB701, 0x10000000
_FIRST_USER = 200_000
_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class SandboxError(Exception):
    """No se puede construir la caja; el mensaje dice por qué y qué hacer."""


@dataclass(frozen=True)
class Limits:
    """Lo que puede gastar una entrega.

    Argumentos:
        memory: bytes de memoria residente de todos sus procesos.
        address_space: bytes de memoria virtual de cada uno.
        processes: procesos e hilos.
        open_files: archivos abiertos de cada proceso.
        file_size: bytes de cada archivo, y de cada carpeta en que puede escribir.
        cpu_seconds: segundos de procesador de cada proceso.
        cell_seconds: segundos de una celda, en el tiempo de la entrega (`box_clock`): no cuentan
            los que espera un procesador que tienen otros.
        call_seconds: los de una llamada de un ejercicio.
        total_seconds: los de la entrega entera.
        wall_seconds: segundos de pared a partir de los que se deja para otra vez.
    """

    memory: int = 2 << 30
    address_space: int = 6 << 30
    processes: int = 48
    open_files: int = 128
    file_size: int = 64 << 20
    cpu_seconds: int = 120
    cell_seconds: float = 30.0
    call_seconds: float = 10.0
    total_seconds: float = 180.0
    wall_seconds: float = 720.0


def why_unavailable() -> str:
    """Da por qué aquí no se puede construir una caja, y qué hacer; vacío si se puede."""
    if sys.platform != "linux":
        return (
            "Para calificar código ajeno hace falta Linux con bubblewrap; en otro sistema, usa una "
            "máquina virtual de Linux."
        )
    if shutil.which("bwrap") is None:
        return "Falta bubblewrap, que aísla el código ajeno: sudo apt-get install bubblewrap."
    if reason := syscalls.why_unfiltered():
        return reason
    try:
        with Sandbox(None, Limits()):
            return ""
    except SandboxError as error:
        return str(error)


class Sandbox(contextlib.AbstractContextManager):
    """Una caja vacía, hasta que se cierra.

    Argumentos:
        library: carpeta con la parte de la biblioteca que se ve dentro; None, ninguna.
        limits: de ahí salen los tamaños de las carpetas en que se puede escribir.
        private: lo que no se debe ver dentro, además del proyecto; al empezar se mira que así sea.
        owner: espacio de usuarios en que se crea, si ya hay uno.

    Errores:
        SandboxError: no se puede construir, o dentro se vería algo privado.
    """

    def __init__(
        self,
        library: Path | None,
        limits: Limits,
        private: Iterable[Path] = (),
        owner: int | None = None,
    ) -> None:
        self._private, self._owner = tuple(private), owner
        self.group: cgroup.Group | None = None
        self.user = 0 if os.getuid() else _FIRST_USER + os.getpid() % 50_000
        if shutil.which("bwrap") is None:
            raise SandboxError("Falta bubblewrap: sudo apt-get install bubblewrap.")
        try:
            arguments = _arguments(library, limits, self._private, owner)
        except box_root.HiddenPathError as error:
            raise SandboxError(str(error)) from None
        *options, command = arguments
        given = _as_file(options)  # en la orden, /proc/1/cmdline diría las rutas de quien califica
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                ["bwrap", "--info-fd", str(writing), "--args", str(given), command],
                executable=shutil.which("bwrap"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[writing, given, *([] if owner is None else [owner])],
                env={},  # /proc/1/environ mostraría el de quien llama
            )
        finally:
            os.close(writing)
            os.close(given)
        with os.fdopen(reading, "rb") as info:
            self._start(info.read())
        if (parent := cgroup.shared()) is not None:
            with contextlib.suppress(OSError):  # ya no está cedido: quedan los demás límites
                self.group = cgroup.Group(parent, limits.memory, limits.processes)

    def _start(self, info: bytes) -> None:
        self._process.stdin.write(b"\n")
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.flush()
        if self._process.stdout.read(1) != b"\n":
            reason = self._process.stderr.read(400).decode(errors="replace").strip()
            self.close()
            remedy = (
                "Si es un contenedor (Docker), necesita permiso para crear espacios de nombres."
                if os.getuid() == 0
                else "Si el sistema prohíbe los espacios de nombres a los usuarios (Ubuntu 24.04, "
                "Docker), hay que permitirlos o calificar como administrador."
            )
            raise SandboxError(f"bubblewrap no puede construir la caja ({reason}). {remedy}")
        self.pid = json.loads(info)["child-pid"]
        self._inode = Path(f"/proc/{self.pid}/ns/pid").stat().st_ino
        if seen := box_root.seen_from(self._private, Path(f"/proc/{self.pid}/root")):
            self.close()
            raise SandboxError(
                f"dentro de la caja se vería «{seen[0]}», que es privado: pon el proyecto, las "
                f"entregas y la salida fuera de las carpetas del sistema y de Python."
            )

    def namespaces(self) -> list[int]:
        """Abre los espacios de nombres de la caja, para entrar en ella."""
        folder = f"/proc/{self.pid}/ns"
        found = [os.open(f"{folder}/{n}", os.O_RDONLY | os.O_CLOEXEC) for n in _NAMESPACES]
        # Un usuario corriente entra antes en el espacio de usuarios dueño de los demás, que no es
        # el del proceso que espera: bubblewrap crea otro dentro.
        inside = self.user or self._owner is not None
        owner = [] if inside else [fcntl.ioctl(found[0], _NS_GET_USERNS)]
        return [*owner, *found]

    def usage(self) -> Usage:
        """Suma lo que gastan todos los procesos de la caja."""
        memory, cpu, waits = 0, 0.0, {}
        for process in Path("/proc").iterdir():
            if process.name.isdigit():
                with contextlib.suppress(OSError, ValueError, IndexError):
                    if (process / "ns/pid").stat().st_ino == self._inode:
                        pages = (process / "statm").read_text().split()[1]
                        memory += int(pages) * resource.getpagesize()
                        cpu += process_cpu(process, _TICKS)
                        waits |= process_waits(process)
        if self.group is not None:
            cpu = self.group.cpu
        return Usage(memory, cpu, waits)

    def close(self) -> None:
        """Termina con la caja y con todo lo que corra dentro."""
        pid = getattr(self, "pid", None)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)  # el primer proceso de la caja: con él caen los demás
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        if self.group is not None:
            self.group.close()

    def __exit__(self, *error: object) -> None:
        self.close()


def _arguments(
    library: Path | None, limits: Limits, private: Iterable[Path], owner: int | None
) -> list[str]:
    size = str(limits.file_size)
    writable = ["--perms", "1777", "--size", size, "--tmpfs"]
    return [
        *_user_arguments(owner),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--clearenv"),
        *("--hostname", "course", *box_root.bind_arguments(private)),
        # Sin cerrarla, quien no califica como administrador escribe en /dev media memoria.
        # De /dev/zero se saca memoria compartida, que no cuenta en la de nadie (`syscalls`).
        *("--proc", "/proc", "--dev", "/dev", "--dev-bind", "/dev/null", "/dev/zero"),
        *("--remount-ro", "/dev"),
        *(*writable, "/tmp", *writable, HOME),
        *(["--ro-bind", str(library), LIBRARY] if library else []),
        *("--remount-ro", "/", "--chdir", HOME, "/bin/cat"),
    ]


def _as_file(options: list[str]) -> int:
    """Un archivo sin nombre con las opciones, como las lee `bwrap --args`."""
    given = os.memfd_create("options")
    os.write(given, b"".join(os.fsencode(option) + b"\0" for option in options))
    os.lseek(given, 0, os.SEEK_SET)
    return given


def _user_arguments(owner: int | None) -> list[str]:
    if os.getuid() == 0:
        return []
    if owner is not None:
        return ["--userns", str(owner)]
    return ["--unshare-user", "--uid", "65534", "--gid", "65534"]


def outside_command(package: Path, info: int) -> list[str]:
    """Da la orden que ejecuta un proceso de confianza donde Python está como en las cajas.

    No lo aísla: solo le da las mismas rutas, para que lo que él importa sirva dentro de ellas.

    Argumentos:
        package: la carpeta de `course_lib`, que estas rutas no tienen.
        info: descriptor en que bubblewrap dice el número de ese proceso.
    """
    user = ["--unshare-user", "--uid", "0", "--gid", "0"] if os.getuid() else []
    return [
        *("bwrap", "--info-fd", str(info), *user, "--cap-add", "ALL", "--die-with-parent"),
        *(*box_root.bind_arguments(()), "--ro-bind", "/proc", "/proc", "--dev", "/dev"),
        *(x for name in _TO_IMPORT for x in ("--ro-bind-try", name, name)),
        *("--tmpfs", "/tmp", "--ro-bind", str(package), f"{TRUSTED}/course_lib"),
        *("--remount-ro", "/", "--chdir", "/tmp", box_root.INTERPRETER),
    ]


# Entrar


def join(namespaces: list[int], user: int, limits: Limits, report: int | None = None) -> None:
    """Mete en la caja a este proceso, que debe tener un solo hilo; vuelve en un hijo suyo.

    El proceso que llama se queda fuera, espera al hijo y termina con él. El hijo aún es de fiar, y
    cierra `report` antes de dejar de serlo.

    Argumentos:
        namespaces: los de la caja.
        user: el usuario que será dentro.
        limits: los de la entrega.
        report: descriptor en que se escribe cómo terminó el hijo (`os.waitpid`).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for descriptor in namespaces:
        if libc.setns(descriptor, 0) != 0:
            raise OSError(ctypes.get_errno(), "no se puede entrar en la caja")
        os.close(descriptor)
    child = os.fork()  # el espacio de procesos vale para los hijos
    if child:
        _, status = os.waitpid(child, 0)
        if report is not None:
            with contextlib.suppress(OSError):
                os.write(report, str(status).encode())
        os._exit(0)
    die_with_parent()
    os.setsid()
    os.chdir(HOME)
    apply_limits(limits)
    _drop_privileges(libc, user)


def _become_nobody(libc: ctypes.CDLL) -> None:
    """Deja de llamarse administrador: entra en un espacio de usuarios propio, en que no lo es."""
    user, group = os.getuid(), os.getgid()
    if libc.unshare(_CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "no se puede crear un espacio de usuarios")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"65534 {user} 1"),
        ("gid_map", f"65534 {group} 1"),
    ):
        Path("/proc/self", name).write_text(text)


def die_with_parent() -> None:
    """Hace que este proceso termine cuando termine quien lo creó (en Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)


def apply_limits(limits: Limits) -> None:
    """Fija los límites de este proceso y de sus hijos."""
    for name, value in (
        ("RLIMIT_AS", limits.address_space),
        ("RLIMIT_NPROC", limits.processes),
        ("RLIMIT_NOFILE", limits.open_files),
        ("RLIMIT_FSIZE", limits.file_size),
        ("RLIMIT_CPU", limits.cpu_seconds),
        ("RLIMIT_CORE", 0),
    ):
        resource.setrlimit(getattr(resource, name), (value, value))


def _drop_privileges(libc: ctypes.CDLL, user: int) -> None:
    if not user and os.getuid() == 0:  # antes: un espacio nuevo devuelve lo que se quita
        _become_nobody(libc)
    for capability in range(64):
        libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, este proceso
    libc.capset(header, (ctypes.c_uint32 * 6)())
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    status = Path("/proc/self/status").read_text()
    if any(f"Cap{s}:\t0000000000000000" not in status for s in ("Eff", "Prm", "Inh", "Bnd")):
        raise OSError("quedan privilegios dentro de la caja")
    syscalls.restrict()
