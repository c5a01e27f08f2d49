"""El cuaderno desde el que se comprueba: qué celdas se ejecutaron, qué se intentó ya, cuánto tarda.

Fuera de un cuaderno, y en el que prepara `course regenerate`, no hay nada que mirar.
"""

from __future__ import annotations

import _thread
import ast
import ctypes
import linecache
import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

from course_lib.judging.compiled import PREPARED
from course_lib.judging.verdict import Verdict

_Result = TypeVar("_Result")


def shell() -> Any:
    """El IPython del cuaderno; None si no lo hay, o si es el que se está generando."""
    if "IPython" not in sys.modules or PREPARED in os.environ:
        return None
    return sys.modules["IPython"].get_ipython()


def show(value: Any) -> None:
    """Muestra un valor en el cuaderno; solo se llama si lo hay."""
    sys.modules["IPython.display"].display(value)


# Lo que tarda


_RING_AGAIN = 2.0  # segundos; lo que se deja al deshacer no tarda tanto


class TooLongError(Exception):
    """Se acabó el tiempo; la traza es la del código que se interrumpió."""


def limited(seconds: float, run: Callable[[], _Result]) -> _Result:
    """Ejecuta algo y lo interrumpe si tarda demasiado, como quien pulsa «interrumpir».

    Solo el hilo principal se puede interrumpir; en otro, se ejecuta sin límite.

    Errores:
        TooLongError: tardó más de `seconds`.
    """
    if threading.current_thread() is not threading.main_thread():
        return run()
    alarm = _Alarm(seconds)
    with _heard(alarm):
        try:
            try:
                alarm.start()
                return run()
            finally:
                alarm.stop()
        except KeyboardInterrupt as interrupted:
            alarm.stop()  # por si llegó mientras se paraba
            if not alarm.rang:  # lo interrumpió quien escribe
                raise
            raise TooLongError().with_traceback(interrupted.__traceback__) from None


class _Alarm:
    """Interrumpe al acabarse el tiempo, y otra vez cada poco hasta que la paren.

    Una interrupción se puede perder: la que llega dentro de un `__del__` o de un aviso del
    recolector de basura, Python la descarta.
    """

    def __init__(self, seconds: float) -> None:
        self.rang, self._seconds = False, seconds
        self._lock, self._stopped = threading.Lock(), threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        seconds = self._seconds
        while not self._stopped.wait(seconds):
            with self._lock:
                if not self._stopped.is_set():
                    self.rang = True
                    _interrupt_main()
            seconds = _RING_AGAIN

    def stop(self) -> None:
        self._stopped.set()
        with self._lock:  # si ya estaba interrumpiendo, que lo haga aquí dentro
            pass


@contextmanager
def _heard(alarm: _Alarm) -> Iterator[None]:
    """Hace que la alarma se oiga donde Ctrl-C se desatiende, como en segundo plano; y solo ella."""
    before = signal.getsignal(signal.SIGINT)
    if callable(before) or before is None:
        yield
        return

    def interrupt(number: int, frame: Any) -> None:
        if alarm.rang or before is signal.SIG_DFL:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:  # si no, ya puso otra cosa la respuesta
            signal.signal(signal.SIGINT, before)


def _interrupt_main() -> None:
    """Interrumpe el hilo principal, también si duerme."""
    main = threading.main_thread().ident
    if not callable(signal.getsignal(signal.SIGINT)):  # lo cambió la respuesta, o no es de Python
        interrupt = ctypes.py_object(KeyboardInterrupt)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), interrupt)
    elif hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main, signal.SIGINT)
    else:  # Windows
        _thread.interrupt_main()


# La celda que no llegó a ejecutarse


NOTHING = object()
"""Lo que hay en memoria con un nombre que nunca se definió."""


def unfinished_cell(name: str, answer: Any) -> str:
    """Dice por qué lo que hay en memoria no es de la última celda que define una respuesta.

    Vacío si lo es. Una celda que no es Python válido, o que se detiene antes de llegar a la
    definición, deja en memoria lo de antes, o nada; y juzgarlo desorienta.
    """
    here = shell()
    if not here or not name:
        return ""
    for source in reversed(here.user_ns.get("In", ())):
        try:
            cell = here.transform_cell(source)
            tree = ast.parse(cell)
        except (SyntaxError, ValueError) as error:
            if re.search(rf"^(?:(?:def|class)\s+{name}\b|{name}\s*=[^=])", source, re.MULTILINE):
                return _not_python(name, error)
            continue
        defined = [node for node in tree.body if getattr(node, "name", None) == name]
        if defined:
            there = answer is not NOTHING and _comes_from(answer, name, cell)
            return "" if there else _stopped_before(name)
        if name in _assigned(tree):
            return _stopped_before(name) if answer is NOTHING else ""
    return _never_defined(name) if answer is NOTHING else ""


def _assigned(tree: ast.Module) -> set[str]:
    stored = (n for n in ast.walk(tree) if isinstance(n, ast.Name))
    return {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def _not_python(name: str, error: Exception) -> str:
    reason = getattr(error, "msg", None) or str(error)
    line, text = getattr(error, "lineno", 0), (getattr(error, "text", "") or "").strip()
    where = f", en la línea {line} (`{text}`)" if text and "`" not in text else ""
    return (
        f"la última celda en que escribiste `{name}` no es Python válido y no se ejecutó: "
        f"{reason}{where}"
    )


def _stopped_before(name: str) -> str:
    return (
        f"la última celda en que escribiste `{name}` se detuvo antes de definirla, o no se ha "
        f"ejecutado"
    )


def _never_defined(name: str) -> str:
    return (
        f"no hay nada que se llame `{name}`: la celda en que se pide no se ha ejecutado, o ahora "
        f"le da otro nombre"
    )


def _comes_from(answer: Any, name: str, cell: str) -> bool:
    """Dice si una función o una clase es la que define una celda; si no se sabe, sí."""
    code = getattr(answer, "__code__", None)
    if code is None and isinstance(answer, type):
        methods = (getattr(each, "__code__", None) for each in vars(answer).values())
        code = next((each for each in methods if each is not None), None)
    elif code is not None and code.co_name != name:  # la envuelve un decorador, o es otra
        return True
    lines = linecache.getlines(code.co_filename) if code is not None else []
    return not lines or "".join(lines).strip() == cell.strip()


# Lo que ya se intentó


class _Progress(NamedTuple):
    """Lo que se sabe de un ejercicio desde que se abrió el cuaderno."""

    verdict: Verdict
    cause: tuple
    answer: str
    times: int


_progress: dict[str, _Progress] = {}


def note_try(verdict: Verdict, answer: Any) -> int:
    """Apunta un veredicto y da cuántas veces seguidas, con otro código, se falla en lo mismo."""
    cause = verdict.misconceptions or (verdict.status, verdict.property)
    written, before = _fingerprint(answer), _progress.get(verdict.exercise)
    times = 1
    if before and before.cause == cause:
        times = before.times + (before.answer != written)
    _progress[verdict.exercise] = _Progress(verdict, cause, written, times)
    return times


def last_verdict(exercise: str) -> Verdict | None:
    """El último veredicto de un ejercicio en esta sesión."""
    found = _progress.get(exercise)
    return found.verdict if found else None


def last_topic() -> str | None:
    """El tema del último ejercicio que se comprobó."""
    return next(reversed(_progress), "").partition(".")[0] or None


def forget() -> None:
    """Olvida lo intentado, como al reiniciar el núcleo."""
    _progress.clear()


def _fingerprint(answer: Any) -> str:
    code = getattr(answer, "__code__", None)
    if code is not None:
        constants = [each for each in code.co_consts if not hasattr(each, "co_code")]
        return f"{linecache.getlines(code.co_filename)}{code.co_code.hex()}{constants}"
    if isinstance(answer, type):
        return "".join(map(_fingerprint, vars(answer).values()))
    try:
        return repr(answer)[:2000]
    except Exception:
        return ""
