"""El proceso que ejecuta al estudiante; nada de lo que contesta es de fiar.

Lo que es la respuesta de un ejercicio no se puede usar. Lo de la biblioteca no está: la vista se
escribe sin ello. Lo de torch está, y `_block` lo rechaza: una función de Python se quita de su
módulo, y a una operación se le cambia lo que ejecuta, por cualquier nombre, en cualquier hilo y
desde código compilado.

El límite: la puntuación nunca depende de lo que este proceso diga de sí mismo, porque los valores
se comprueban fuera; pero cómo se calcularon, no. Quien se empeñe obtiene los de una respuesta
prohibida de otra parte: la misma fórmula que torch o un paquete instalado guardan con otro nombre
(`torch._decomp`, `sklearn`), un proceso nuevo, o la memoria de este, con `ctypes`. No hay manera de
impedirlo aquí, y no se promete: `unusual_names` dice quién nombra algo así, y el resultado lo
avisa para que una persona lo lea. No es una prueba en ningún sentido.

Una plantilla importa torch una sola vez y no ejecuta código de nadie. Ve Python en las mismas
rutas que la caja (`sandbox.outside_command`), y así lo ya importado sirve en ella. Por cada entrega
se divide: el hijo entra en su caja (`sandbox.join`), ejecuta las celdas con el intérprete de
IPython, sin núcleo, y contesta peticiones: ejecutar una celda, decir qué hay en un nombre, y las de
`Peer`. Lo que imprime se descarta. La referencia y los casos de los ejercicios no existen en este
proceso.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.abc
import json
import os
import signal
import socket
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import course_lib
import course_lib.grading.check
import course_lib.judging
import course_lib.notebooks
from course_lib._extras import extra
from course_lib.grading.sandbox.box import TRUSTED, Limits, apply_limits, die_with_parent, join
from course_lib.grading.sandbox.box_root import PYTHON
from course_lib.grading.sandbox.cgroup import ENTER
from course_lib.grading.sandbox.remote import Peer
from course_lib.grading.sandbox.wire import Channel, ChannelClosedError, encode
from course_lib.judging import check as check_module
from course_lib.judging import running
from course_lib.judging.plain_data import plain
from course_lib.judging.refusal import answer_message
from course_lib.judging.running import quiet_and_seeded, told_failure

_PRELOADED = (
    *("IPython.core.interactiveshell", "IPython.core.completer", "IPython.core.magics"),
    *("einops", "matplotlib.figure", "numpy"),
    "torch.fx.experimental.symbolic_shapes",  # lo importa la primera derivada, y tarda
)
"""Lo que cada entrega importaría; aquí se paga una vez."""


def template(descriptor: int) -> None:
    """Espera peticiones, cada una con los descriptores de una entrega, y se divide por cada una.

    Termina cuando el calificador cierra su extremo; si él desaparece, la termina su guardián.
    """
    die_with_parent()
    torch.set_num_threads(1)
    for name in _PRELOADED:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # que recoger basura no copie, en cada entrega, la memoria que comparten
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    orders = socket.socket(fileno=descriptor)
    while True:
        text, descriptors, _, _ = socket.recv_fds(orders, 1 << 16, 16)
        if not text:
            break
        if os.fork() == 0:
            orders.close()
            _begin(json.loads(text), descriptors)
        for each in descriptors:
            os.close(each)


def _begin(order: dict, descriptors: list[int]) -> None:
    """Prepara el hijo y atiende hasta que el calificador se vaya; no vuelve."""
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        connection, report, *namespaces = descriptors
        limits = Limits(**order["limits"])
        if order["grouped"]:
            entrance, *namespaces = namespaces
            os.write(entrance, ENTER)
            os.close(entrance)
        if namespaces:
            join(namespaces, order["user"], limits, report)
        else:
            die_with_parent()
            os.setsid()
            os.chdir(order["home"])
            apply_limits(limits)
        os.close(report)
        _silence()
        channel = Channel(socket.socket(fileno=connection))
        _Worker(channel, order["library"], order["blocked"]).run()
    finally:
        os._exit(0)


def _silence() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in range(3):
        os.dup2(nothing, standard)


class _Worker:
    """Ejecuta las celdas de una entrega y contesta lo que se le pida."""

    def __init__(self, channel: Channel, library: str, blocked: list[str]) -> None:
        os.environ.update(HOME=str(Path.cwd()), MPLCONFIGDIR="/tmp/matplotlib", MPLBACKEND="agg")
        os.environ.update(OMP_NUM_THREADS="1", IPYTHONDIR="/tmp/ipython", PATH="/usr/bin:/bin")
        _show_only(library)
        for name in blocked:
            _block(name)
        self._shell = _new_shell()
        self._execute = self._shell.run_cell
        self._channel = channel
        self._peer = Peer(channel, trusted=False, find=self._find, around=quiet_and_seeded)

    def run(self) -> None:
        """Contesta hasta que el otro extremo se cierra."""
        self._channel.send({"op": "ready", "pid": os.getpid()})
        answers = {"cell": self._run_cell, "look": self._look}
        while True:
            try:
                with _as_judged():
                    header, tensors = self._channel.receive()
            except ChannelClosedError:
                return
            if header["op"] == "forget":
                self._peer.forget()
            elif header["op"] in answers:
                self._channel.send(*answers[header["op"]](header))
            else:
                with _as_judged():
                    self._peer.serve(header, tensors)

    def _run_cell(self, header: dict) -> tuple[dict, list]:
        result = self._execute(header["source"], store_history=False)
        error = result.error_before_exec or result.error_in_exec
        failure = {} if error is None else vars(told_failure(error))
        return {"op": "result", "ok": error is None, **failure}, []

    def _look(self, header: dict) -> tuple[dict, list]:
        """Dice qué hay en un nombre: una función, que se podrá llamar, o un valor."""
        found: list[torch.Tensor] = []
        if header["name"] not in self._shell.user_ns:
            return {"op": "result", "is": "missing"}, []
        value = self._find(header["name"])
        if callable(value):
            return {"op": "result", "is": "function"}, []
        tree = encode(_plain_answer(value), found)
        return {"op": "result", "is": "value", "value": tree}, found

    def _find(self, name: str) -> Any:
        return self._shell.user_ns[name]


@contextlib.contextmanager
def _as_judged() -> Iterator[None]:
    """Sigue el gradiente, como al juzgar en un cuaderno, aunque una celda dejara de seguirlo."""
    with torch.inference_mode(False), torch.enable_grad():
        yield


def _plain_answer(value: Any) -> Any:
    """Convierte una respuesta, dejando los `...` de lo que sigue sin escribir."""
    if value is ...:
        return value
    if type(value) in (list, tuple) and any(item is ... for item in value):
        return [...]
    return plain(value)


def _new_shell() -> Any:
    with extra("teacher"):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.ast_node_interactivity = "none"  # nada se muestra, ni se dibuja
    config.InteractiveShell.colors = "NoColor"
    shell = InteractiveShell(config=config)
    shell.user_ns["In"] = shell.user_ns["Out"] = None
    # Aquí no hay pantalla: `%matplotlib inline` detendría su celda, con lo que viene después.
    shell.enable_matplotlib = lambda gui=None: (gui, "agg")
    return shell


# Lo que se ve de la biblioteca


def _show_only(library: str) -> None:
    """Deja importar solo lo que hay en la vista; lo que comprueba no hace nada: no califica."""
    running.LIBRARY_FOLDERS += (library, f"{PYTHON}/", f"{TRUSTED}/")
    course_lib.__path__ = [f"{library}/course_lib"]
    for package in (course_lib.judging, course_lib.notebooks, course_lib.grading):
        package.__path__ = []
    for module in (check_module, course_lib.grading.check):
        module.check = lambda *args, **kwargs: None
    course_lib.mine = _nothing_of_the_course
    course_lib.check_table = check_module.check
    # Una instalación editable añade un buscador que conoce la carpeta entera de la biblioteca.
    editable = [f for f in sys.meta_path if "__editable__" in getattr(f, "__module__", "")]
    sys.meta_path = [finder for finder in sys.meta_path if finder not in editable]
    sys.meta_path.append(_Absent())


def _nothing_of_the_course(name: str) -> None:
    raise NotImplementedError("al calificar, la función del curso no está: solo cuenta la tuya")


class _Absent(importlib.abc.MetaPathFinder):
    """Explica por qué un módulo de la biblioteca no está."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name.startswith("course_lib."):
            raise ModuleNotFoundError(
                f"{name} no se puede usar al calificar: tiene la respuesta de algún ejercicio, o "
                f"no hace falta para resolverlos",
                name=name,
            )


def _block(name: str) -> None:
    """Pone en el lugar de una función de torch una que explica que es la respuesta.

    Si es una operación, se cambia donde se ejecuta (el despachador de torch, con todas sus claves),
    y no en sus nombres: tiene otros (`torch._C`, `torch.ops`, una capa, una copia), y no hay
    hilo, modo ni código compilado que no pase por ahí. Tampoco la puede usar por dentro otra.
    """
    module, _, attribute = name.rpartition(".")
    refuse = _refusal(attribute)
    setattr(sys.modules[module], attribute, refuse)
    library = torch._C._dispatch_library("IMPL", "aten", "", __file__, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch avisa de que ya tenía con qué ejecutarla
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{attribute}"):
            overload = f".{schema.overload_name}" if schema.overload_name else ""
            for key in torch._C.DispatchKey.__members__:
                with contextlib.suppress(RuntimeError):  # algunas claves solo dan nombre a otras
                    library.impl(attribute + overload, key, refuse)
    # Si `library` desapareciera, todo volvería a su sitio: que nadie la encuentre ni la suelte.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(library))


def _refusal(name: str) -> Callable:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise ImportError(answer_message(name))

    return refuse
