"""Entregas hostiles o mal formadas, cada una con su resultado correcto.

Todas parten del cuaderno de «Atención» con tres respuestas correctas de un punto: `soft` y `hard`,
dos funciones, y `ties`, un valor. `points` dice cuánto debe valer cada una después de la fechoría;
una entrega que no se puede leer no tiene puntos y su resultado es `unreadable`.
Las que buscan un secreto contestan mal si lo encuentran: su punto prueba que no llegaron a él.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

IMPORTS = """
import math
import torch
from course_lib.judging.check import check
"""
SOFT = """
def soft_argmax(scores, beta):
    return torch.softmax(beta * scores, dim=-1)
"""
HARD = """
def hard_argmax(scores):
    return torch.nn.functional.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)
"""
TIES = 'ties = {"A": 1, "B": 2, "C": 4}'
CHECKS = """
check("attention.soft_argmax", soft_argmax)
"""
FULL = {"soft": 1, "hard": 1, "ties": 1}
NO_SOFT = {"soft": 0, "hard": 1, "ties": 1}


@dataclass(frozen=True)
class Case:
    """Una entrega.

    Argumentos:
        name: qué intenta.
        cells: sus celdas, después de las importaciones; o bien
        build: escribe el archivo a su manera, en la ruta que se le da.
        points: los puntos correctos; None si la entrega no se puede leer.
        says: lo que debe decir el mensaje de la entrega o de `soft`.
    """

    name: str
    cells: tuple[str, ...] = ()
    points: dict[str, int] | None = None
    build: Callable[[Path], None] | None = None
    says: str = ""

    def write(self, path: Path, secrets: dict[str, str]) -> None:
        if self.build is not None:
            self.build(path)
            return
        cells = [IMPORTS, *self.cells]
        for key, value in secrets.items():
            cells = [cell.replace(f"<{key}>", value) for cell in cells]
        path.write_text(json.dumps(notebook(cells)), encoding="utf-8")


def notebook(cells, **more):
    """Un cuaderno con esas celdas de código."""
    made = [
        {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "source": text}
        | {"execution_count": None}
        for i, text in enumerate(cells)
    ]
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more


def instead_of_soft(name, code, says=""):
    """Una `soft_argmax` hecha de otra manera, que no debe dar el punto."""
    return Case(name, (HARD, TIES, code, CHECKS), NO_SOFT, says=says)


def besides(name, code, points=FULL, **more):
    """Algo más, antes de las tres respuestas correctas."""
    return Case(name, (code, SOFT, HARD, TIES, CHECKS), points, **more)


def looks_for(name, code):
    """Busca un secreto: `found` dice si lo encontró."""
    spoiled = f"{code}\nif found:\n    soft_argmax = hard_argmax = ties = None"
    return Case(name, (SOFT, HARD, TIES, spoiled), FULL)


def raw(name, content, points=None, says=""):
    """Un archivo con esos bytes."""
    return Case(name, points=points, build=lambda path: path.write_bytes(content), says=says)


def encoded(name, data, points=None, says=""):
    """Un archivo con ese JSON."""
    return raw(name, json.dumps(data).encode(), points, says)


WRONG = "def soft_argmax(scores, beta):\n    return scores\n"
RIGHT = [IMPORTS, SOFT, HARD, TIES]
_VERDICT = {"exercise": "attention.soft_argmax", "status": "correct", "points": 1, "max_points": 1}

FORGING = [
    instead_of_soft(
        "un objeto igual a todo",
        """
class Everything:
    def __eq__(self, other): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __iter__(self): return iter([self])
    __hash__ = None
def soft_argmax(scores, beta): return Everything()
""",
    ),
    instead_of_soft(
        "un objeto que finge su clase",
        """
class Fake:
    @property
    def __class__(self): return torch.Tensor
    shape, dtype = (3, 4), torch.float32
def soft_argmax(scores, beta): return Fake()
""",
    ),
    instead_of_soft(
        "un tensor que contesta que sí a todo",
        """
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None): return torch.tensor(True)
def soft_argmax(scores, beta): return scores.as_subclass(Yes)
""",
    ),
    instead_of_soft(
        "las comparaciones de torch y numpy, parcheadas",
        WRONG
        + """
torch.equal = torch.allclose = lambda *a, **k: True
torch.isclose = lambda a, b, **k: torch.ones_like(a, dtype=torch.bool)
torch.Tensor.__eq__ = lambda self, other: True
import numpy as np
np.allclose = np.array_equal = lambda *a, **k: True
np.testing.assert_allclose = lambda *a, **k: None
""",
    ),
    instead_of_soft(
        "check y los veredictos, parcheados",
        WRONG
        + """
import course_lib.judging.check as module
import course_lib.judging.judge as judging
won = lambda *a, **k: module.Verdict("x", "correct", 9, 9)
module.check_exercise = module.judge = judging.judge = won
module.Verdict.points = property(lambda self: 100)
""",
    ),
    instead_of_soft(
        "la comparación de la biblioteca, parcheada",
        WRONG
        + """
import course_lib.judging.plain_data as data
data.Comparison.same = lambda *a: True
data.Comparison.faults = lambda *a, **k: []
data.plain = lambda value, **k: value
""",
    ),
    Case(
        "respuestas escritas de antemano en la tubería",
        (
            HARD,
            TIES,
            SOFT,
            """
import os, struct, json
text = json.dumps({"op": "result", "value": ["i", "1"], "points": 100}).encode()
for descriptor in range(3, 64):
    try: os.write(descriptor, (struct.pack(">II", len(text), 0) + text) * 50)
    except OSError: pass
""",
        ),
        {"soft": 0, "hard": 0, "ties": 0},  # contestó por todas sus funciones, y mal
    ),
    instead_of_soft(
        "basura en la tubería durante la llamada",
        """
import os
def soft_argmax(scores, beta):
    for descriptor in range(3, 64):
        try: os.write(descriptor, b"\\xff" * 4096)
        except OSError: pass
    return scores
""",
    ),
    instead_of_soft(
        "el marco de quien llama",
        """
import sys
def soft_argmax(scores, beta):
    frame = sys._getframe()
    while frame is not None:
        for name in ("expected", "target", "reference", "exercise"):
            if name in frame.f_locals: return torch.softmax(beta * scores, -1)
        frame = frame.f_back
    return scores
""",
    ),
    instead_of_soft(
        "la referencia entre los objetos de la memoria",
        """
import gc
def soft_argmax(scores, beta):
    for thing in gc.get_objects():
        if type(thing).__name__ in ("Exercise", "Misconception"):
            return torch.softmax(beta * scores, -1)
    return scores
""",
    ),
    instead_of_soft(
        "la referencia, de los ejercicios preparados",
        """
from course_lib.judging.compiled import compiled_topic
soft_argmax = compiled_topic("attention")[0].reference
""",
        "'NoneType' object is not subscriptable",
    ),
    instead_of_soft(
        "la función de la biblioteca que es la respuesta",
        "from course_lib.primitives.attention import soft_argmax",
        "no se puede usar al calificar",
    ),
    instead_of_soft(
        "lo mismo, por importlib y cuando la llaman",
        """
def soft_argmax(scores, beta):
    import importlib
    return importlib.import_module("course_lib.primitives.attention").soft_argmax(scores, beta)
""",
        "no se puede usar al calificar",
    ),
    instead_of_soft(
        "código que viaja en un pickle",
        """
class Bomb:
    def __reduce__(self): return (__import__("os").system, ("touch <marker>",))
def soft_argmax(scores, beta): return Bomb()
""",
    ),
    instead_of_soft(
        "código que viaja en un dtype y en los nombres",
        """
class Name(str):
    def __repr__(self): return "__import__('os').system('touch <marker>')"
def soft_argmax(scores, beta): return {Name("__import__('os').system('touch <marker>')"): scores}
""",
    ),
    Case(
        "json y safetensors, parcheados",
        (
            HARD,
            TIES,
            "import json, safetensors.torch\n"
            'json.dumps = lambda *a, **k: \'{"op": "result", "value": ["l", \'\n'
            "safetensors.torch.save = lambda *a, **k: b'no'",
            SOFT,
        ),
        FULL,
    ),
    instead_of_soft(
        "las entradas, cambiadas por otras más fáciles",
        """
def soft_argmax(scores, beta):
    scores.zero_()
    return torch.softmax(scores, -1)
""",
    ),
    instead_of_soft(
        "un gradiente con otra forma",
        """
import course_lib.grading.sandbox.remote as remote
remote.Peer._serve_backward = lambda self, header, gradients: [torch.ones(7)]
def soft_argmax(scores, beta): return torch.softmax(beta * scores, -1)
""",
        "no se puede leer",
    ),
    instead_of_soft("todo NaN", "def soft_argmax(s, beta): return s * float('nan')"),
    Case(
        "un diccionario igual a todo",
        (SOFT, HARD, "class D(dict):\n    __eq__ = lambda self, other: True\nties = D()"),
        {"soft": 1, "hard": 1, "ties": 0},
    ),
    Case(
        "un número igual a todo",
        (
            SOFT,
            HARD,
            "class N(int):\n    __eq__ = lambda self, other: True\n"
            "    __hash__ = int.__hash__\nties = {'A': N(7), 'B': N(7), 'C': N(7)}",
        ),
        {"soft": 1, "hard": 1, "ties": 0},
    ),
    encoded(
        "salidas guardadas con un veredicto falso",
        {
            **notebook([IMPORTS, WRONG, HARD, TIES]),
            "cells": [
                cell
                | {
                    "outputs": [
                        {
                            "output_type": "execute_result",
                            "execution_count": 1,
                            "data": {"text/plain": "✅"},
                            "metadata": {"course_verdict": _VERDICT},
                        }
                    ]
                }
                for cell in notebook([IMPORTS, WRONG, HARD, TIES])["cells"]
            ],
        },
        NO_SOFT,
    ),
    encoded(
        "metadatos que se ponen nota",
        notebook([IMPORTS, WRONG, HARD, TIES], metadata={"points": 100, "grade": True}),
        NO_SOFT,
    ),
    Case(
        "celdas de comprobación editadas",
        (SOFT, HARD, TIES, 'check("attention.soft_argmax", hard_argmax)', "check = print"),
        FULL,
    ),
    Case("celdas de comprobación borradas", (SOFT, HARD, TIES), FULL),
    Case("celdas de comprobación repetidas", (SOFT, HARD, TIES, CHECKS, CHECKS, CHECKS), FULL),
    Case("la respuesta, definida dos veces: vale la última", (SOFT, HARD, TIES, WRONG), NO_SOFT),
]

SECRETS = [
    looks_for(
        "el código del curso en el disco",
        "import os\nfound = os.path.exists('<course>') or os.path.exists('<prepared>')",
    ),
    looks_for("la entrega de un compañero", "import os\nfound = os.path.exists('<classmate>')"),
    looks_for(
        "una variable del entorno de quien califica",
        """
import os, glob
found = "GRADER_SECRET" in os.environ
for path in glob.glob("/proc/*/environ"):
    try: found = found or b"GRADER_SECRET" in open(path, "rb").read()
    except OSError: pass
""",
    ),
    looks_for(
        "un servidor de la misma máquina",
        """
import socket
found = False
try:
    socket.create_connection(("127.0.0.1", int("<port>")), 2)
    found = True
except OSError: pass
""",
    ),
    looks_for(
        "una dirección de fuera",
        """
import socket
found = False
try:
    socket.create_connection(("192.0.2.1", 80), 2)
    found = True
except OSError as error: found = "unreachable" not in str(error)
""",
    ),
    looks_for(
        "un socket abstracto",
        """
import socket
found = False
try:
    socket.socket(socket.AF_UNIX).connect("\\0<abstract>")
    found = True
except OSError: pass
""",
    ),
    looks_for(
        "los procesos de los demás",
        """
import os
found = sum(name.isdigit() for name in os.listdir("/proc")) > 8
""",
    ),
    looks_for(
        "las carpetas de la máquina",
        """
import os
found = any(os.path.exists(p) for p in ("/etc/passwd", "/var", "/root/.ssh", "/home/student/x"))
found = found or bool(os.listdir(os.path.expanduser("~")))
""",
    ),
    looks_for(
        "el proyecto, con cualquier nombre",
        """
import os
found = False
for folder, folders, files in os.walk("/"):
    if folder == "/": folders.remove("proc")
    found = found or {"exercises", "solutions"} <= set(folders)
    found = found or folder.endswith("/solutions") and "attention.ipynb" in files
    found = found or folder.endswith("/exercises") and "attention.json" in files
""",
    ),
    looks_for(
        "rutas de quien califica en lo ya importado",
        """
import os, sys
places = [getattr(m, "__file__", None) or "/python" for m in list(sys.modules.values())]
places += [*sys.path, sys.prefix, sys.base_prefix, sys.executable, *os.environ.values()]
project = os.path.dirname(os.path.dirname("<prepared>"))
found = any(project in str(place) for place in places)
""",
    ),
    looks_for(
        "descriptores heredados",
        """
import os
kinds = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
         if os.path.islink(f"/proc/self/fd/{n}")]
found = any(k.startswith(("/work", "/home/", "mnt:", "user:", "net:")) for k in kinds)
""",
    ),
    looks_for(
        "privilegios",
        """
import os, ctypes
status = open("/proc/self/status").read()
found = os.getuid() == 0 or "CapEff:\\t0000000000000000" not in status
found = found or "NoNewPrivs:\\t1" not in status
found = found or ctypes.CDLL(None).mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0
""",
    ),
    looks_for(
        "escribir en la biblioteca o en el sistema",
        """
found = False
for path in ("/course/course_lib/x.py", "/usr/lib/x", "/x", "<python>/x"):
    try:
        open(path, "w").close()
        found = True
    except OSError: pass
""",
    ),
    looks_for(
        "lo que dejó la entrega anterior",
        """
import os
found = os.path.exists("/tmp/left") or os.path.exists("/home/student/left")
open("/tmp/left", "w").close(); open("/home/student/left", "w").close()
""",
    ),
    looks_for(
        "un recado en el llavero del núcleo",
        """
import ctypes
keys = ctypes.CDLL(None)
found = keys.syscall(250, 10, -3, b"user", b"left", 0) > 0  # keyctl: busca en el de la sesión
found = keys.syscall(248, b"user", b"left", b"recado", 6, -3) > 0 or found  # add_key
""",
    ),
    looks_for(
        "un socket que no es de la red",
        """
import socket
found = False
try: found = socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM) is not None
except OSError: pass
""",
    ),
    looks_for(
        "administrador en un espacio de usuarios propio",
        """
import ctypes
libc = ctypes.CDLL(None)
found = libc.unshare(0x10000000 | 0x20000) == 0
found = libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == 0 or found  # y sin límite de tamaño
""",
    ),
]

DISRUPTION = [
    besides(
        "una celda sin fin que traga interrupciones",
        """
while True:
    try:
        while True: pass
    except BaseException: pass
""",
    ),
    instead_of_soft(
        "una función sin fin que traga interrupciones",
        """
def soft_argmax(scores, beta):
    while True:
        try:
            while True: pass
        except BaseException: pass
""",
        "tardó demasiado",
    ),
    besides(
        "señales ignoradas y una celda dormida",
        """
import signal, time
for number in range(1, 32):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
time.sleep(10_000)
""",
    ),
    instead_of_soft(
        "toda la memoria, en un proceso",
        """
def soft_argmax(scores, beta):
    kept = []
    while True: kept.append(torch.ones(50_000_000))
""",
    ),
    instead_of_soft(
        "toda la memoria, entre varios procesos",
        """
import os, time
def soft_argmax(scores, beta):
    for _ in range(8):
        if os.fork() == 0:
            kept = [torch.ones(1_000_000) for _ in range(75)]
            time.sleep(10_000)
    time.sleep(10_000)
""",
    ),
    looks_for(
        "memoria que no está en ningún proceso",
        """
import ctypes, os
found = False
try: found = os.write(os.memfd_create("x"), bytes(1 << 20)) > 0  # y así cien, de 64 MB
except OSError: pass
found = found or ctypes.CDLL(None).shmget(0, 60 << 20, 0o1600) >= 0
""",
    ),
    besides(
        "cuarenta procesos que no paran",
        """
import os
for _ in range(40):
    if os.fork() == 0:
        while True: pass
""",
    ),
    besides(
        "un proceso que se detiene a sí mismo",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    ),
    besides(
        "doscientos procesos",
        """
import os, time
for _ in range(200):
    try:
        if os.fork() == 0:
            time.sleep(10_000)
    except OSError: break
""",
    ),
    besides(
        "quinientos hilos",
        """
import threading, time
try:
    for _ in range(500): threading.Thread(target=time.sleep, args=(10_000,), daemon=True).start()
except RuntimeError: pass
""",
    ),
    besides("100 MB de texto", "for _ in range(1000): print('x' * 100_000)"),
    besides(
        "100 MB escritos en la salida del proceso",
        "import os\nfor _ in range(1000): os.write(1, b'x' * 100_000); os.write(2, b'x' * 100)",
    ),
    besides(
        "el disco lleno",
        """
try:
    with open("/tmp/big", "wb") as file:
        for _ in range(1000): file.write(b"x" * 1_000_000)
except OSError: pass
""",
    ),
    besides(
        "diez mil archivos abiertos",
        """
kept = []
try:
    for _ in range(10_000): kept.append(open("/dev/null"))
except OSError: kept.clear()
""",
    ),
    besides("os._exit en una celda", "import os; os._exit(0)"),
    instead_of_soft(
        "os._exit en la función",
        "import os\ndef soft_argmax(scores, beta): os._exit(0)",
        "terminó el proceso",
    ),
    besides("sys.exit en una celda", "import sys; sys.exit(3)"),
    instead_of_soft("sys.exit en la función", "def soft_argmax(scores, beta): raise SystemExit"),
    instead_of_soft(
        "KeyboardInterrupt en la función", "def soft_argmax(scores, beta): raise KeyboardInterrupt"
    ),
    instead_of_soft(
        "una violación de segmento",
        "import ctypes\ndef soft_argmax(scores, beta): ctypes.string_at(0)",
    ),
    besides(
        "matar a todos",
        """
import os
for pid in (os.getppid(), 1, -1):
    try: os.kill(pid, 9)
    except OSError: pass
""",
        FULL,
    ),
    besides(
        "un proceso que sobrevive",
        """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    time.sleep(10_000)
""",
    ),
    instead_of_soft(
        "un resultado enorme", "def soft_argmax(scores, beta): return torch.zeros(40_000_000)"
    ),
    instead_of_soft("una lista enorme", "def soft_argmax(scores, beta): return [1] * 5_000_000"),
    instead_of_soft(
        "una lista que se contiene",
        """
def soft_argmax(scores, beta):
    endless = []
    endless.append(endless)
    return endless
""",
    ),
    instead_of_soft(
        "un tensor de 4 MB nombrado cien mil veces",
        """
import course_lib.grading.sandbox.remote as remote
def soft_argmax(scores, beta):
    def encode(value, tensors, export=None):
        tensors.append(torch.zeros(1_000_000))
        return ["l", [["T", len(tensors) - 1]] * 100_000]
    remote.encode = encode
    return scores
""",
        "no se puede leer",
    ),
    instead_of_soft(
        "cuarenta mil claves que chocan entre sí",
        """
import course_lib.grading.sandbox.remote as remote
def soft_argmax(scores, beta):
    pairs = [[["i", str(i * (2**61 - 1))], None] for i in range(40_000)]
    remote.encode = lambda value, tensors, export=None: ["d", pairs]
    return scores
""",
        "no se puede leer",
    ),
    instead_of_soft(
        "unas pocas claves, pero enormes",
        """
import course_lib.grading.sandbox.remote as remote
def soft_argmax(scores, beta):
    pairs = [[["i", str(i * (2**61 - 1))], None] for i in range(1900)]
    remote.encode = lambda value, tensors, export=None: ["d", pairs]
    return scores
""",
        "no se puede leer",
    ),
    instead_of_soft(
        "un tensor sin elementos y con mil millones de filas",
        "def soft_argmax(scores, beta): return torch.zeros(10**9, 0)",
        "no se puede leer",
    ),
    instead_of_soft(
        "un texto de dos millones de acentos sueltos",
        "def soft_argmax(scores, beta): return '\\u0301\\u0316' * 1_000_000",
    ),
    besides("una celda que se mata", "import os; os.kill(os.getpid(), 9)"),
    instead_of_soft(
        "una función que se mata",
        "import os\ndef soft_argmax(scores, beta): os.kill(os.getpid(), 9)",
        "terminó el proceso",
    ),
    instead_of_soft(
        "un entero de un millón de cifras", "def soft_argmax(scores, beta): return 10 ** 1_000_000"
    ),
    instead_of_soft(
        "un error con un mensaje de 100 MB",
        "def soft_argmax(scores, beta): raise ValueError('x' * 100_000_000)",
    ),
    instead_of_soft(
        "un error que falla al mostrarse",
        """
class Sly(Exception):
    def __str__(self): raise SystemExit
def soft_argmax(scores, beta): raise Sly
""",
    ),
    instead_of_soft(
        "código HTML y de terminal en el mensaje",
        "def soft_argmax(s, beta): raise ValueError('\\x1b[2J<script>\\n\\u202e')",
    ),
    besides(
        "avisos en la salida de error",
        """
import sys, warnings
warnings.warn("esto no quita puntos")
print("tampoco esto", file=sys.stderr)
""",
    ),
    besides("una celda rota que no se usa", "1 / 0"),
    besides("una celda con un error de sintaxis", "def broken(:"),
    besides("órdenes de IPython", "%timeit -n1 -r1 1 + 1\n!echo hola\n%cd /tmp\n!rm -rf /course"),
    besides(
        "IPython, parcheado",
        """
get_ipython().run_cell = lambda *a, **k: None
get_ipython().reset()
import torch
from course_lib.judging.check import check
""",
    ),
    besides("la salida estándar, cerrada", "import os, sys\nsys.stdout.close(); os.close(1)"),
    besides("un nulo en el código", "x = 'a\0b'"),
]

_OLD = {
    "nbformat": 3,
    "nbformat_minor": 0,
    "metadata": {},
    "worksheets": [
        {
            "cells": [
                {"cell_type": "code", "input": text.splitlines(True), "outputs": []}
                for text in RIGHT
            ]
        }
    ],
}


def _symlink(path):
    target = path.with_name("other.ipynb")
    target.write_text(json.dumps(notebook(RIGHT)))
    path.symlink_to(target)


def _fifo(path):
    import os

    os.mkfifo(path)


MALFORMED = [
    raw("JSON cortado", json.dumps(notebook(RIGHT)).encode()[:-40], says="JSON"),
    raw("vacío", b"", says="está vacío"),
    raw("otra codificación", '{"cells": ["año"]}'.encode("latin-1"), says="UTF-8"),
    raw("binario", bytes(range(256)) * 20, says="UTF-8"),
    raw("cien mil corchetes", b"[" * 100_000, says="JSON"),
    raw("un entero de cien mil cifras", b'{"cells": ' + b"9" * 100_000 + b"}", says="JSON"),
    raw("más grande de lo que se lee", b" " * (21 << 20), says="MB"),
    raw(
        "con la marca inicial de UTF-8",
        b"\xef\xbb\xbf" + json.dumps(notebook(RIGHT)).encode(),
        FULL,
    ),
    encoded("una lista", [1, 2], says="no un cuaderno"),
    encoded("celdas que no son una lista", {"cells": {"a": 1}}, says="no un cuaderno"),
    encoded("tres mil celdas", notebook(["x = 1"] * 3000), says="celdas"),
    encoded("medio millón de nombres", notebook([f"x = [{'a,' * 500_000}]"]), says="código"),
    encoded("el formato 3", _OLD, FULL),
    encoded(
        "celdas de clases inventadas",
        {
            "cells": [
                None,
                3,
                {"cell_type": "virus"},
                {"cell_type": "code"},
                {"cell_type": "code", "source": [1, None, "x = 1"]},
                *notebook(RIGHT)["cells"],
            ]
        },
        FULL,
    ),
    encoded(
        "un núcleo ajeno",
        notebook(
            RIGHT,
            metadata={
                "kernelspec": {"name": "bash; rm -rf /", "language": "R"},
                "name": "../../../../etc/cron.d/x",
            },
        ),
        FULL,
    ),
    encoded("sustitutos sueltos en el código", notebook([*RIGHT, "x = '\ud800'"]), FULL),
    Case("un enlace a otra entrega", build=_symlink, says="enlace"),
    Case("una carpeta", build=lambda path: path.mkdir(), says="archivo"),
    Case("una tubería", build=_fifo, says="archivo"),
    Case("nada", build=lambda path: None, says="archivo"),
    encoded("un cuaderno de otro curso", notebook(["x = 1", "print(x)"]), says="ninguna respuesta"),
]

CASES = [*FORGING, *SECRETS, *DISRUPTION, *MALFORMED]
