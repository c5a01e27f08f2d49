"""Más entregas hostiles, en tablas: el nombre de lo que intenta, y el código.

`FORGED` es el cuerpo de una `soft_argmax` que no debe dar el punto; `SOUGHT`, una función `find`
que da verdadero si encontró lo que buscaba. `FILES` son archivos, y si se pueden leer. Las celdas
de `UNWRITABLE` se leen, y lo leído no se puede volver a escribir.
"""

import gzip
import json
import os
import socket

from tests.grading.sandbox.hostile.cases import (
    CHECKS,
    FULL,
    HARD,
    NO_SOFT,
    RIGHT,
    SOFT,
    TIES,
    Case,
    encoded,
    notebook,
    raw,
)

GOOD = "torch.softmax(beta * scores, -1)"

FORGED = {
    "un tensor disperso": f"return {GOOD}.to_sparse()",
    "un tensor cuantizado": (
        f"return torch.quantize_per_tensor({GOOD}.float(), .01, 0, torch.qint8)"
    ),
    "un tensor anidado": f"return torch.nested.nested_tensor(list({GOOD}))",
    "un tensor sin datos": f"return {GOOD}.to('meta')",
    "un tensor complejo": f"return {GOOD}.to(torch.complex128)",
    "un tensor de un dtype que no cruza": f"return {GOOD}.to(torch.float8_e5m2)",
    "un tensor de un millón por un millón sobre un número": (
        "return torch.ones(1).as_strided((10**6, 10**6), (0, 0))"
    ),
    "un tensor de una memoria que se solapa": "return torch.ones(1).expand(scores.shape)",
    "todo infinito": "return torch.full_like(scores, float('inf'))",
    "un NaN con recado": (
        "return torch.full(scores.shape, 0x7ff8dead, dtype=torch.int64).view(torch.float64)"
    ),
    "un gradiente cambiado por un enganche": (
        f"out = {GOOD}\n    if out.requires_grad: out.register_hook(lambda g: g * 2)\n"
        "    return out"
    ),
    "un gradiente que se detiene": (
        f"out = {GOOD}\n    if out.requires_grad: out.register_hook(lambda g: 1 / 0)\n"
        "    return out"
    ),
    "una derivada falsa": (
        "class F(torch.autograd.Function):\n"
        "        forward = staticmethod(lambda ctx, s, b: torch.softmax(b * s, -1))\n"
        "        backward = staticmethod(lambda ctx, g: (torch.ones_like(g), None))\n"
        "    return F.apply(scores, beta)"
    ),
    "una salida separada de su grafo": f"return {GOOD}.detach()",
    "la derivada de torch, parcheada": (
        "torch.autograd.grad = lambda outs, ins, *a, **k: [torch.zeros_like(x) for x in ins]\n"
        f"    return {GOOD}"
    ),
    "la entrada, cambiada después de usarla": f"out = {GOOD}\n    scores.add_(1)\n    return out",
    "la forma de la entrada, cambiada": f"out = {GOOD}\n    scores.resize_(0)\n    return out",
    "los datos de la entrada, cambiados por otros": (
        f"out = {GOOD}\n    scores.data = torch.zeros_like(scores)\n    return out"
    ),
    "un generador sin fin": "while True: yield scores",
    "una lista que se recorre sin fin": (
        "class L(list):\n        __iter__ = lambda self: iter(int, 1)\n    return L([1])"
    ),
    "cien mil listas, una dentro de otra": (
        "deep = []\n    for _ in range(100_000): deep = [deep]\n    return deep"
    ),
    "un diccionario que se contiene": "own = {}\n    own['x'] = own\n    return own",
    "un millón de huecos": "return (None,) * 1_000_000",
    "octetos": f"return {GOOD}.numpy().tobytes()",
    "un arreglo de objetos": (
        "import numpy as np\n    return np.array([object(), 1], dtype=object)"
    ),
    "un número de NumPy que miente": (
        "import numpy as np\n"
        "    class N(np.float64):\n        def item(self): raise SystemExit\n    return N(1.0)"
    ),
    "un rango de 10¹⁸": "return range(10**18)",
    "un texto de un sustituto suelto": "return '\\ud800'",
    "un error con un sustituto suelto": "raise ValueError('\\ud800\\u202e\\x1b]0;x\\x07')",
    "un error que es su propia causa": (
        "e = ValueError()\n    e.__cause__ = e.__context__ = e\n    raise e"
    ),
    "mil errores, uno dentro de otro": (
        "e = ValueError()\n    for _ in range(1000): e = ExceptionGroup('x', [e])\n    raise e"
    ),
    "un error cuyo tipo tiene un nombre de un millón de letras": (
        "raise type('A' * 1_000_000, (Exception,), {})()"
    ),
    "un error que se llama como un acierto": (
        "raise type('correct', (Exception,), {})('points: 1; status: correct ✅')"
    ),
    "un error que no se deja resumir": (
        "class E(Exception):\n        __traceback__ = property(lambda s: 1 / 0)\n    raise E"
    ),
    "una recursión sin fin": "return soft_argmax(scores, beta)",
    "una respuesta con puntos": (
        "import course_lib.grading.sandbox.remote as remote\n"
        "    extra = {'op': 'result', 'points': 9, 'status': 'correct', 'value': ['i', '1']}\n"
        "    remote.Peer._serve_plain = remote.Peer._serve_tracked = lambda *a: (extra, [])\n"
        "    return scores"
    ),
    "una llamada de vuelta a una función que no existe": (
        "import course_lib.grading.sandbox.remote as remote, gc\n"
        "    peer = next(o for o in gc.get_objects() if type(o) is remote.Peer)\n"
        "    return remote.RemoteFunction(peer, -1)(scores)"
    ),
    "los descriptores, cerrados": "import os\n    os.closerange(0, 256)\n    return scores",
    "los descriptores, cambiados por la nada": (
        "import os\n    null = os.open('/dev/null', os.O_RDWR)\n"
        "    for number in range(3, 64): os.dup2(null, number)\n    return scores"
    ),
    "descriptores enviados por la tubería": (
        "import os, socket\n    for n in range(3, 64):\n"
        "        try: socket.send_fds(socket.socket(fileno=os.dup(n)), [b'x'], [0] * 200)\n"
        "        except OSError: pass\n    return scores"
    ),
    "isinstance y len, parcheados": (
        "import builtins\n    builtins.isinstance = lambda *a: True\n"
        "    builtins.len = lambda x: 0\n    return scores"
    ),
    "torch, cambiado por otro módulo": (
        "import sys, types\n    sys.modules['torch'] = types.ModuleType('torch')\n    return scores"
    ),
    "una traza que cambia variables ajenas": (
        "import sys\n    def trace(frame, event, arg):\n"
        "        frame.f_locals.update(value=1, verdict='correct')\n        return trace\n"
        "    sys.settrace(trace)\n    return scores"
    ),
    "una alarma que no deja contestar": (
        "import signal\n    def ring(*a): raise KeyboardInterrupt\n"
        "    signal.signal(signal.SIGALRM, ring)\n"
        "    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)\n    return scores"
    ),
    "un grafo de cien mil pasos": (
        "out = scores\n    for _ in range(100_000): out = out * 1.0\n    return out"
    ),
}

SOUGHT = {
    "un nombre de la red": (
        "import socket\ndef find(): return bool(socket.getaddrinfo('example.com', 80))"
    ),
    "la memoria del primer proceso": (
        "def find():\n    with open('/proc/1/mem', 'rb') as f: f.seek(4096); return True"
    ),
    "el primer proceso, intervenido": (
        "import ctypes\ndef find(): return ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0"
    ),
    "las variables y la orden del primer proceso": (
        "def find():\n    seen = open('/proc/1/cmdline').read()\n"
        "    return any(x in seen for x in ('<course>', '<prepared>', '<python>'))"
    ),
    "el disco, por un enlace a la raíz de otro": (
        "import os\ndef find():\n    os.symlink('/proc/1/root', '/tmp/root')\n"
        "    return os.path.exists('/tmp/root<course>') or os.path.exists('/tmp/root<classmate>')"
    ),
    "el disco, por la carpeta de un descriptor": (
        "import os\ndef find():\n    return any(os.path.exists(f'/proc/{p}/cwd/../../..<course>')\n"
        "        for p in os.listdir('/proc') if p.isdigit())"
    ),
    "otra raíz": "import os\ndef find(): os.chroot('/tmp'); return True",
    "un disco fabricado": (
        "import os, stat\ndef find():\n"
        "    os.mknod('/tmp/disk', 0o600 | stat.S_IFBLK, os.makedev(8, 0))\n    return True"
    ),
    "otro usuario": "import os\ndef find(): os.setuid(0); return True",
    "un límite más alto": (
        "import resource\ndef find():\n    free = (resource.RLIM_INFINITY,) * 2\n"
        "    resource.setrlimit(resource.RLIMIT_CPU, free); return True"
    ),
    "más prioridad que nadie": "import os\ndef find(): os.setpriority(0, 0, -20); return True",
    "prioridad de tiempo real": (
        "import os\ndef find():\n"
        "    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); return True"
    ),
    "los ajustes del núcleo": (
        "def find():\n    with open('/proc/sys/kernel/hostname', 'w') as f: f.write('x')\n"
        "    return open('/proc/sys/kernel/hostname').read() == 'x'"
    ),
    "el hardware": "import os\ndef find(): return bool(os.listdir('/sys'))",
    "los dispositivos": (
        "import os\nknown = {'null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts', 'shm', "
        "'stdin', 'stdout', 'stderr', 'fd', 'core', 'ptmx', 'console'}\n"
        "def find(): return bool(set(os.listdir('/dev')) - known)"
    ),
    "memoria compartida en /dev/shm": "def find(): open('/dev/shm/left', 'w'); return True",
    "la memoria del núcleo": "def find(): return bool(open('/proc/kcore', 'rb').read(1))",
    "una interfaz de red": (
        "import socket\ndef find(): return any(n != 'lo' for _, n in socket.if_nameindex())"
    ),
    "un proceso de fuera de la caja": (
        "import os\ndef find(): os.kill(os.getppid(), 0); return os.getppid() not in (0, 1)"
    ),
    "otro espacio de nombres": (
        "import ctypes, os\ndef find():\n    return ctypes.CDLL(None).setns("
        "os.open('/proc/1/ns/mnt', os.O_RDONLY), 0) == 0"
    ),
    "el curso, por un enlace duro": (
        "import os\ndef find(): os.link('/course/course_lib/__init__.py', '/tmp/x'); return True"
    ),
}


def _body(code: str) -> str:
    return f"def soft_argmax(scores, beta):\n    {code}\n"


def _search(code: str) -> str:
    tried = (
        "try: found = bool(find())\nexcept (OSError, ValueError, PermissionError): found = False"
    )
    return f"{code}\n{tried}\nif found:\n    soft_argmax = hard_argmax = ties = None"


def _sparse(path):
    with path.open("wb") as file:
        file.truncate(100 << 30)


def _listening(path):
    where = os.open(path.parent, os.O_RDONLY)
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"/proc/self/fd/{where}/{path.name}")
    os.close(where)
    server.close()


_TWICE = json.dumps(notebook(RIGHT))[:-1] + ', "cells": []}'
FILES = [
    raw("un cuaderno en UTF-16", json.dumps(notebook(RIGHT)).encode("utf-16"), says="UTF-8"),
    raw("un cuaderno comprimido", gzip.compress(json.dumps(RIGHT).encode()), says="UTF-8"),
    raw("un ZIP con otro nombre", b"PK\x03\x04" + bytes(range(128, 256)), says="UTF-8"),
    Case("cien gigas de nada", build=_sparse, says="MB"),
    raw("las celdas, dos veces: valen las últimas", _TWICE.encode(), says="ninguna respuesta"),
    raw("un texto JSON", b'"cells"', says="no un cuaderno"),
    Case("un socket", build=_listening, says="archivo"),
    Case("un enlace a lo que no acaba", build=lambda p: p.symlink_to("/dev/zero"), says="enlace"),
    encoded("el formato 99", notebook(RIGHT) | {"nbformat": 99}, FULL),
    encoded("números que no lo son", notebook(RIGHT, metadata={"x": float("nan")}), FULL),
    encoded("celdas con el mismo identificador", {**notebook(RIGHT), "cells": [
        cell | {"id": "igual"} for cell in notebook(RIGHT)["cells"]]}, FULL),
    encoded("un adjunto de un mega", {**notebook(RIGHT), "cells": [
        {"cell_type": "markdown", "source": "x", "attachments": {"a": {"b": "A" * (1 << 20)}}},
        *notebook(RIGHT)["cells"]]}, FULL),
    encoded("renglones de Windows", notebook([c.replace("\n", "\r\n") for c in RIGHT]), FULL),
    encoded("un texto letra a letra", {**notebook(RIGHT), "cells": [
        cell | {"source": list(cell["source"])} for cell in notebook(RIGHT)["cells"]]}, FULL),
]  # fmt: skip
# Quien estropea su proceso pierde también lo que se le pregunta después.
LOST = {
    "una respuesta con puntos": {**NO_SOFT, "hard": 0},
    "una traza que cambia variables ajenas": {**NO_SOFT, "hard": 0, "ties": 0},
}
MORE_FORGING = [
    Case(n, (HARD, TIES, _body(c), CHECKS), LOST.get(n, NO_SOFT)) for n, c in FORGED.items()
] + [
    Case(
        "una respuesta con letras que solo se parecen",
        (HARD, TIES, SOFT.replace("soft_argmax", "soft_\u0430rgmax")),
        NO_SOFT,
        says="no define",
    ),
    Case(
        "una respuesta que se contesta después",
        (HARD, TIES, "async def soft_argmax(scores, beta): return scores"),
        NO_SOFT,
    ),
    Case(
        "un objeto cuyo tipo se llama como las entradas",
        (HARD, TIES, _body("return type(str(scores.flatten().tolist()), (), {})()")),
        NO_SOFT,
        says="llegó un objeto de otro tipo, con entradas de forma",
    ),
    Case(
        "miles de tensores, cada uno de mil letras",
        (HARD, TIES, _body("return [torch.rand(16, 16) for _ in range(3500)]")),
        NO_SOFT,
    ),
]
STATE = {
    "una celda deja apagado el gradiente": "torch.set_grad_enabled(False)",
    "una celda deja abierto inference_mode": "kept = torch.inference_mode()\nkept.__enter__()",
}
MORE_STATE = [Case(n, (SOFT, HARD, TIES, c), FULL) for n, c in STATE.items()]
MORE_SECRETS = [Case(n, (SOFT, HARD, TIES, _search(c)), FULL) for n, c in SOUGHT.items()]
UNWRITABLE = {
    "un entero de siete mil cifras hexadecimales": f"x = 0x{'f' * 7000}",
    "un dueño con cuatrocientos puntos": f"owner{'.x' * 400} = 1",
    "190 diccionarios, uno dentro de otro": f"ties = {'{1:' * 190}1{'}' * 190}",
}
MORE_STATE += [Case(n, (c, SOFT, HARD, TIES), FULL) for n, c in UNWRITABLE.items()]
MORE_CASES = [*MORE_FORGING, *MORE_STATE, *MORE_SECRETS, *FILES]
