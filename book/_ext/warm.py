"""Procesos de Python que nacen con torch ya importado: se dividen de uno que lo importó una vez.

Importar torch es casi todo lo que tarda un proceso, o un núcleo, que ejecuta tres líneas: así nacen
los que ejecutan los capítulos y los que abren las pruebas. De la biblioteca del curso no se importa
nada antes: cada proceso importa la suya, la del proyecto o una copia. `Popen` es el de
`subprocess`, y sirve también a los procesos que abren los así nacidos.
"""

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import types
from itertools import dropwhile
from pathlib import Path

ADDRESS = "COURSE_WARM_{seed}"
BEFORE = (
    *("IPython.core.interactiveshell", "IPython.core.completer", "IPython.core.magics"),
    *("ipykernel.kernelapp", "ipykernel.ipkernel", "ipykernel.zmqshell", "nbclient", "nbformat"),
    *("jupyter_book.sphinx", "myst_nb.sphinx_ext", "sphinx.builders.html", "sphinx_book_theme"),
    *("psutil", "rich.console", "rich.table", "torch", "typer"),
    *("einops", "jaxtyping", "matplotlib.backends.backend_svg", "matplotlib.figure"),
    "safetensors.torch",
    # los importan la primera derivada y el primer paso de un optimizador
    *("torch.fx.experimental.symbolic_shapes", "torch._dynamo"),
)
# Un hilo para cada uno: varios a la vez no se estorban y las sumas dan lo mismo en toda máquina.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
INLINE = "module://matplotlib_inline.backend_inline"
_RealPopen = subprocess.Popen
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_IS_WARM, _starting = False, threading.Lock()
_addresses: dict[str, str] = {}  # quien deja el entorno como estaba también lo olvidaría


class Popen(_RealPopen):
    """Un proceso de `python -m` o `python -c`, nacido así; los demás, como siempre.

    Termina cuando lo suelta, o muere, quien lo abrió.
    """

    _connection: socket.socket | None = None

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest):
        env = dict(os.environ if env is None else env)
        run = None if preexec_fn or pass_fds else _asked(args)
        self._connection = _connected(env) if run else None
        if self._connection is not None:
            order = {"run": run, "cwd": str(Path(cwd or ".").absolute()), "env": env}
            self._ask(order, (rest[3], rest[6], rest[8]))  # p2cread, c2pwrite, errwrite
        if self._connection is None:
            command = args, executable, preexec_fn, close_fds, pass_fds, cwd, env
            super()._execute_child(*command, *rest)
            return
        self._close_pipe_fds(*rest[3:9])
        self._child_created = True

    def _ask(self, order: dict, ends: tuple[int, int, int]) -> None:
        """Pide que nazca; si no puede ser (no hay memoria, o procesos), nace como siempre."""
        told, answer = json.dumps(order).encode(), b""
        given = [n if end == -1 else end for n, end in enumerate(ends)]
        with contextlib.suppress(OSError):
            socket.send_fds(self._connection, [len(told).to_bytes(8, "big")], given)
            self._connection.sendall(told)
            answer = self._connection.recv(16, socket.MSG_WAITALL)
        if answer:
            self.pid = int(answer)
        else:
            self._connection.close()
            self._connection = None

    def _told(self, seconds: float | None) -> None:
        """Espera a lo más ese tiempo a que se diga cómo terminó."""
        with selectors.DefaultSelector() as ended:
            ended.register(self._connection, selectors.EVENT_READ)
            if self.returncode is None and ended.select(seconds):
                with contextlib.suppress(OSError):
                    answer = self._connection.recv(16, socket.MSG_WAITALL)
                self.returncode = int(answer or -signal.SIGKILL)

    def _internal_poll(self, *arguments, **options):
        if self._connection is None:
            return super()._internal_poll(*arguments, **options)
        self._told(0)
        return self.returncode

    def _wait(self, timeout):
        if self._connection is None:
            return super()._wait(timeout)
        self._told(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired(self.args, timeout)
        return self.returncode


def prepare() -> None:
    """Empieza el proceso del que nacerán los demás, y no espera a que esté listo."""
    threading.Thread(target=_address, args=(dict(os.environ),), daemon=True).start()


def _asked(args) -> list[str] | None:
    """`-m`, `-c` o un guion, y lo que sigue; nada, si no es este Python o se le pide otra cosa."""
    words = [] if isinstance(args, (str, bytes, os.PathLike)) else list(map(os.fspath, args))
    python, *words = words or [""]
    words = list(dropwhile(lambda word: word in ("-Xfrozen_modules=off", "-u"), words))
    usual = python == sys.executable and words and (words[0] in ("-m", "-c") or words[0][:1] != "-")
    return words if usual else None


def _connected(env: dict[str, str]) -> socket.socket | None:
    """Con el proceso del que nacen; nada, si no hay o es de otro: entonces nace como siempre."""
    if address := _address(env):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with contextlib.suppress(ConnectionRefusedError):
            connection.connect(address)
            if _user_of(connection) == os.getuid():
                return connection
        connection.close()
    return None


def _address(env: dict[str, str]) -> str | None:
    """Dónde se piden; el orden de los conjuntos se decide al empezar, y por eso hay dos."""
    seed = env.get("PYTHONHASHSEED", "random")
    usual = env.get("OMP_NUM_THREADS", "1") == "1" and seed in ("0", "random")
    usual = usual and env.get("MPLBACKEND", INLINE) == INLINE
    if not usual or sys.platform != "linux":
        return None
    name = ADDRESS.format(seed=seed)
    with _starting:
        if name not in os.environ and not _IS_WARM:
            if seed not in _addresses:
                _addresses[seed] = _start(seed)
            os.environ[name] = _addresses[seed]
    env[name] = os.environ.get(name, "")
    return f"\0{env[name]}" if env[name] else None


def _user_of(connection: socket.socket) -> int:
    """Quién está al otro lado: a una dirección así puede llamar, y ponerse en ella, cualquiera."""
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", told)[1]


def _start(seed: str) -> str:
    """Empieza el proceso del que nacen los demás, y espera a que esté listo; nada, si no pudo."""
    address = f"course-warm-{os.getpid()}-{seed}"
    command = [sys.executable, __file__, address]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    fixed = {"PYTHONHASHSEED": seed, **ONE_THREAD}
    fixed["JPY_PARENT_PID"] = "1"  # los núcleos no vigilan a nadie: mueren con él
    fixed["MPLBACKEND"] = INLINE  # matplotlib lo lee al importarse; en un núcleo siempre es este
    process = _RealPopen(command, env=os.environ | fixed, **pipes)
    if not process.stdout.readline():
        return ""
    atexit.register(process.communicate)  # al cerrarse su entrada, termina
    return address


# El proceso del que nacen


def _received(connection: socket.socket, size: int) -> bytes:
    """Lo que llega, de ese tamaño; nada si quien estaba al otro lado se fue, aunque fuera a medias.

    Quien muere sin leer lo que se le dijo no cierra: corta, y `recv` da un error.
    """
    told = b""
    with contextlib.suppress(OSError):
        while len(told) < size and (more := connection.recv(size - len(told))):
            told += more
    return told if len(told) == size else b""


class _Nursery:
    """Se divide por cada conexión, y dice por ella cómo terminó el que nació."""

    def __init__(self, address: str) -> None:
        self.ready, self.alive, self.pid = selectors.DefaultSelector(), {}, os.getpid()
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(f"\0{address}")
        self.listener.listen(64)
        reading, self.wake = os.pipe()
        os.set_blocking(self.wake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(self.wake, warn_on_full_buffer=False)
        for end in (self.listener, reading, 0):
            self.ready.register(end, selectors.EVENT_READ)

    def next_child(self) -> dict | None:
        """No vuelve sino en los procesos que nacen, con lo que se les pidió, o al terminar."""
        while True:
            for key, _ in self.ready.select():
                if key.fileobj == 0:
                    return None
                if key.fileobj is self.listener:
                    if (order := self._fork()) is not None:
                        return order
                elif isinstance(key.fileobj, int):
                    os.read(key.fileobj, 512)
                    self._tell_ended()
                elif key.data in self.alive and not _received(key.fileobj, 16):
                    self._forget(key.fileobj)  # quien lo pidió se fue

    def _fork(self) -> dict | None:
        connection, _ = self.listener.accept()
        if _user_of(connection) != os.getuid():
            connection.close()
            return None
        size, ends, _, _ = socket.recv_fds(connection, 8, 3)
        told = _received(connection, int.from_bytes(size, "big"))
        pid = None
        if told:  # si no, se fue antes de acabar de pedirlo
            with contextlib.suppress(OSError):  # no cabe otro proceso: nacerá como siempre
                pid = os.fork()
        if pid == 0:
            self._leave(connection, ends)
            return json.loads(told)
        for end in ends:
            os.close(end)
        if pid is None:
            connection.close()
            return None
        self.alive[pid] = connection
        self.ready.register(connection, selectors.EVENT_READ, pid)
        return None

    def _leave(self, connection: socket.socket, ends: list[int]) -> None:
        """En el que nació: suelta lo de aquí, y su entrada y sus salidas son las que le dieron."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != self.pid:
            os._exit(1)
        with contextlib.suppress(OSError):  # si quien lo pidió murió, se sabrá enseguida
            connection.sendall(str(os.getpid()).rjust(16).encode())
        for other in (connection, self.listener, *self.alive.values()):
            other.close()
        self.ready.close()
        os.close(self.wake)
        for number, end in enumerate(ends):
            os.dup2(end, number)
            os.close(end)

    def _tell_ended(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                connection = self.alive[ended[0]]
                with contextlib.suppress(OSError):
                    code = str(os.waitstatus_to_exitcode(ended[1]))
                    connection.sendall(code.rjust(16).encode())
                self._forget(connection, kill=False)

    def _forget(self, connection: socket.socket, *, kill: bool = True) -> None:
        pid = self.ready.unregister(connection).data
        connection.close()
        if kill:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        del self.alive[pid]


def _run(order: dict) -> None:
    """Hace lo que haría un proceso nuevo."""
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    kind, *words = order["run"]
    first = {"-c": "", "-m": order["cwd"]}.get(kind, str(Path(kind).resolve().parent))
    extra = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    sys.path[0:1] = [first, *extra]
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.argv = [kind, *words[kind in ("-m", "-c") :]]
    if kind == "-m":
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(words[0], "<string>", "exec"), vars(main))
    else:
        runpy.run_path(kind, run_name="__main__")


def main() -> None:
    global _IS_WARM
    _IS_WARM = True
    subprocess.Popen = Popen
    for name in BEFORE:
        importlib.import_module(name)
    nursery = _Nursery(sys.argv[1])
    gc.collect()
    gc.freeze()
    print("listo", flush=True)
    if (order := nursery.next_child()) is not None:
        _run(order)


if __name__ == "__main__":
    main()
