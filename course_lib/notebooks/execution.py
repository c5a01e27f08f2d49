"""Ejecuta cuadernos en un núcleo nuevo y lee los veredictos que dejaron sus comprobaciones."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import Any

from course_lib._extras import extra

with extra("student"):
    from jupyter_core.utils import run_sync
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

VERDICT_KEY = "course_verdict"
"""Dónde deja `check` su veredicto, en los metadatos de la salida."""


class CellFailedError(Exception):
    """Una celda detuvo la ejecución.

    Argumentos:
        index: posición de la celda en el cuaderno, desde 0.
        reason: por qué se detuvo, en una línea.
    """

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


def execute(
    notebook: Any,
    folder: Path,
    *,
    timeout: int = 300,
    exercises: Path | None = None,
) -> None:
    """Ejecuta todas las celdas en un núcleo nuevo; las salidas quedan en el cuaderno.

    Con un hilo, el azar de textos fijo y sin la configuración personal de IPython.

    Argumentos:
        notebook: el cuaderno; se modifica.
        folder: carpeta de trabajo del núcleo.
        timeout: segundos que puede tardar una celda.
        exercises: la carpeta de los ejercicios que se comprueban, si aún no están en su sitio.

    Errores:
        CellFailedError: una celda se detuvo, tardó demasiado o terminó con el núcleo.
    """
    _run(notebook, folder, timeout, str(exercises or ""), allow_errors=False)


def execute_whole(notebook: Any, folder: Path, *, timeout: int) -> None:
    """Ejecuta las celdas de un estudiante: sigue tras un error e interrumpe a la que tarda.

    Errores:
        CellFailedError: el núcleo terminó, o una celda no se deja interrumpir.
    """
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []  # lo guardado de otra vez no es de las que no lleguen a ejecutarse
    _run(notebook, folder, timeout, allow_errors=True)


def _run(notebook: Any, folder: Path, timeout: int, made: str = "", *, allow_errors: bool) -> None:
    current = {"index": 0}
    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        extra_arguments=["--log-level=ERROR"],
        record_timing=False,
        coalesce_streams=True,
        allow_errors=allow_errors,
        interrupt_on_timeout=allow_errors,
        on_cell_start=lambda cell, cell_index: current.update(index=cell_index),
    )
    limit = 20 * timeout if allow_errors else None
    with tempfile.TemporaryDirectory(prefix="course-", ignore_cleanup_errors=True) as profile:
        environment = dict(os.environ)
        if not allow_errors:  # los nombres de las respuestas son los de aquí
            environment |= {"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
            environment |= {"IPYTHONDIR": profile, "COURSE_REGENERATING": made}
        try:
            run_sync(_execute_within)(client, environment, limit)
        except CellExecutionError as error:
            reason = f"{error.ename}: {_one_line(error.evalue)}"
            raise CellFailedError(current["index"], reason) from None
        except (CellTimeoutError, TimeoutError):
            reason = f"tardó más de {timeout} segundos y no se pudo terminar"
            raise CellFailedError(current["index"], reason) from None
        except (DeadKernelError, RuntimeError) as error:
            reason = f"el núcleo de Python terminó ({_one_line(str(error))})"
            raise CellFailedError(current["index"], reason) from None


async def _execute_within(client: NotebookClient, env: dict[str, str], limit: int | None) -> None:
    await asyncio.wait_for(client.async_execute(env=env), limit)


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else line[:299] + "…"


def verdicts(notebook: Any) -> dict[str, dict]:
    """Da los veredictos guardados en las salidas, por nombre de ejercicio; vale el último."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            verdict = output.get("metadata", {}).get(VERDICT_KEY)
            if isinstance(verdict, dict) and "exercise" in verdict:
                found[verdict["exercise"]] = dict(verdict)
    return found
