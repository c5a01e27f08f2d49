"""El guardián de una plantilla: la empieza, y no deja nada de ella si el calificador desaparece.

Se ejecuta como un programa (`guard.py CALIFICADOR CARPETA ORDEN…`), fuera de toda caja y con la
biblioteca estándar nada más. Un calificador al que matan de golpe no llega a cerrar lo suyo.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

_LOOK_EVERY = 0.05


def main(grader: int, folder: str, command: list[str]) -> None:
    """Ejecuta la orden hasta que acabe, se lo digan o falte el calificador; entonces lo recoge."""
    told: list[int] = []
    # La señal solo se apunta: una excepción en cualquier línea puede dejar tomado el cerrojo con
    # que `Popen` espera, y nadie lo soltaría.
    signal.signal(signal.SIGTERM, lambda number, frame: told.append(number))
    process = subprocess.Popen(command, close_fds=False)
    try:
        os.closerange(3, 256)  # si la plantilla muere, que el calificador lo note
        while process.poll() is None and not told and os.getppid() == grader:
            time.sleep(_LOOK_EVERY)
    finally:
        _end(process)
    if os.getppid() == grader:  # él borra lo suyo, o empieza otra
        return
    shutil.rmtree(folder, ignore_errors=True)
    time.sleep(1.0)
    _end_boxes(folder)


def _end(process: subprocess.Popen) -> None:
    """Termina un proceso y sus hijos, que bubblewrap deja esperando si muere al crearlos."""
    children = ""
    with contextlib.suppress(OSError):
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    process.kill()
    for child in children.split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child), signal.SIGKILL)
    process.wait()


def _end_boxes(folder: str) -> None:
    """Termina las cajas a medio hacer de un calificador que murió.

    Si bubblewrap muere entre que crea el proceso de la caja y le da permiso para empezar, ese
    proceso espera para siempre; se le conoce por la vista de la biblioteca que iba a montar.
    """
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
                if words[0] == "bwrap" and any(word.startswith(folder) for word in words):
                    os.kill(int(process.name), signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
