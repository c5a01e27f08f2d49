"""Genera, de `solutions/TEMA/`, los cuadernos y los ejercicios.

Los dos se arman (`notebook_source`), se ejecutan y se preparan por completo antes de escribir el
primero; cada uno se escribe de una vez. Un corte en cualquier momento deja, de cada cuaderno, el
viejo o el nuevo. La salida de una celda con `nbval-ignore-output` no se compara al probar: lo que
se entrena en ella da otras cifras en otro procesador. Si cambia cada vez, tampoco se guarda.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib._extras import extra
from course_lib.files import write_atomically
from course_lib.judging.display import enumerated
from course_lib.notebooks.execution import CellFailedError, execute, verdicts
from course_lib.notebooks.fingerprint import (
    EXERCISES,
    code_cells,
    imported_modules,
    library_parts,
)
from course_lib.notebooks.source import (
    SOLUTION_ONLY,
    NotebookError,
    build,
    notebook_metadata,
    tags,
)
from course_lib.notebooks.topic_source import (
    TopicSource,
    compiled_drift,
    compiled_path,
)
from course_lib.notebooks.verification import verified

with extra("author"):
    import nbformat
    import psutil

KINDS = ("solutions", "exercises")
IGNORED_OUTPUT = "nbval-ignore-output"
GOES_ON = "raises-exception"
"""La etiqueta con que Jupyter sigue con las celdas de después, aunque esta se detenga."""
METADATA_KEY = "course"

_SUMMARY = "course_lib.judging.summary"
"""De dónde es la última celda del cuaderno de ejercicios, que no está en la fuente."""
_MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


# Ejecutar y normalizar


def prepare(
    source: TopicSource,
    kind: str,
    stamp: dict[str, Any],
    exercises: Path | None = None,
) -> bytes:
    """Ejecuta un cuaderno y da los bytes que se escribirán.

    Errores:
        NotebookError: una celda se detiene, una solución no pasa su comprobación, un ejercicio sin
            resolver no queda pendiente, o una salida cambiaría en cada ejecución.
    """
    notebook, origins = build(source, kind)
    try:
        execute(notebook, source.root, exercises=exercises)
    except CellFailedError as failure:
        raise NotebookError(_failure_text(source, kind, origins[failure.index], failure)) from None
    _validate_verdicts(source, kind, notebook)
    for cell, origin in zip(notebook.cells, origins, strict=True):
        if cell.cell_type == "code":
            _normalise_outputs(source, cell, origin)
            if kind == "exercises":
                cell.metadata["tags"] = [*tags(cell), GOES_ON]
    # Ejecutar anota la versión de Python en los metadatos: se escriben de nuevo.
    notebook.metadata = nbformat.from_dict({**notebook_metadata(), METADATA_KEY: dict(stamp)})
    notebook.metadata[METADATA_KEY]["content"] = content_hash(notebook)
    return dump(notebook)


def _failure_text(source: TopicSource, kind: str, cell: Any, failure: CellFailedError) -> str:
    text = f"{source.place(cell)}: la celda se detuvo: {failure.reason}."
    if kind == "exercises":
        text += (
            f" Pasa en el cuaderno de ejercicios, sin resolver; si la celda necesita la solución, "
            f"dale la etiqueta «{SOLUTION_ONLY}»."
        )
    return text


def _validate_verdicts(source: TopicSource, kind: str, notebook: Any) -> None:
    wanted = {"solutions": "correct", "exercises": "pending"}[kind]
    found = verdicts(notebook)
    for name in source.names:
        verdict = found.get(name, {"status": "missing", "message": "la celda no dio un veredicto"})
        if verdict["status"] == wanted:
            continue
        cell = next(c for c in code_cells(source.notebook) if name in c.source)
        detail = verdict["message"] or verdict["status"]
        if kind == "solutions":
            raise NotebookError(f"{source.place(cell)}: la solución de «{name}» no pasa: {detail}.")
        raise NotebookError(
            f"{source.place(cell)}: «{name}» no queda pendiente en el cuaderno sin resolver "
            f"({detail}); ¿faltan los marcadores de la solución?"
        )


def _normalise_outputs(source: TopicSource, cell: Any, origin: Any) -> None:
    """Deja solo lo que es igual en cada ejecución; si algo no puede serlo, lo dice."""
    for output in list(cell.outputs):
        output.pop("transient", None)
        text = json.dumps(output.get("data", output.get("text", "")), ensure_ascii=False)
        problem = _unstable(output, text, source.root)
        if problem and IGNORED_OUTPUT in tags(cell):
            cell.outputs.remove(output)
        elif problem:
            raise NotebookError(
                f"{source.place(origin)}: {problem}; así la salida cambia de una ejecución o de "
                f"una máquina a otra. Evítalo, o dale la etiqueta «{IGNORED_OUTPUT}»."
            )


def _unstable(output: Any, text: str, root: Path) -> str | None:
    if output.get("name") == "stderr":
        return f"la celda escribe en stderr ({' '.join(output.text.split())[:120]})"
    if _MEMORY_ADDRESS.search(text):
        return "la celda muestra una dirección de memoria"
    for folder in (root.resolve(), Path.home()):
        if len(folder.parts) > 1 and json.dumps(str(folder))[1:-1] + os.sep in text:
            return "la celda muestra una carpeta de esta máquina"
    return None


def content_hash(notebook: Any) -> str:
    """Resume el cuaderno entero, menos este mismo resumen."""
    stamped = nbformat.from_dict(json.loads(json.dumps(notebook)))
    stamped.metadata.get(METADATA_KEY, {}).pop("content", None)
    return hashlib.sha256(dump(stamped)).hexdigest()


def dump(notebook: Any) -> bytes:
    """Escribe un cuaderno siempre con los mismos bytes: claves ordenadas y un salto al final."""
    return (nbformat.writes(notebook, version=4).rstrip("\n") + "\n").encode("utf-8")


# Qué cambió desde la última vez


def topics_in(root: Path) -> list[str]:
    """Da los temas que tienen fuente, en orden alfabético."""
    return sorted({path.parent.name for path in (root / "solutions").glob("*/*.md")})


def orphans(root: Path) -> list[str]:
    """Da los cuadernos guardados que no tienen fuente."""
    known = set(topics_in(root))
    paths = [path for kind in KINDS for path in (root / kind).glob("*.ipynb")]
    return sorted(path.relative_to(root).as_posix() for path in paths if path.stem not in known)


def drift(topic: str, root: Path) -> list[str]:
    """Dice en qué difieren los cuadernos guardados de los que se generarían; nada, si están al día.

    Errores:
        NotebookError: la fuente no existe o no se puede leer.
    """
    source = TopicSource.read(topic, root)
    stamp = _stamp(source)
    reasons = [
        f"{kind}/{topic}.ipynb: {reason}"
        for kind in KINDS
        if (reason := _notebook_drift(_path(root, kind, topic), stamp))
    ]
    if reason := compiled_drift(source):
        reasons.append(reason)
    return reasons


def _path(root: Path, kind: str, topic: str) -> Path:
    return root / kind / f"{topic}.ipynb"


def _stamp(source: TopicSource) -> dict[str, Any]:
    """Resume de qué se genera: el texto entero de la fuente y la biblioteca que alcanza."""
    modules = imported_modules(cell.source for cell in code_cells(source.notebook))
    modules = (modules - {f"{EXERCISES}.{source.topic}"}) | source.modules()
    text = source.text.replace("\r\n", "\n").encode("utf-8")
    return {
        "source": hashlib.sha256(text).hexdigest(),
        "library": library_parts(modules | {__name__, _SUMMARY}, source.root),
    }


def _notebook_drift(path: Path, stamp: dict[str, Any]) -> str | None:
    try:
        content = path.read_bytes()
        notebook = nbformat.from_dict(json.loads(content))
        stored = notebook.metadata[METADATA_KEY]
        intact = content == dump(notebook) and stored["content"] == content_hash(notebook)
    except FileNotFoundError:
        return "falta"
    except (ValueError, KeyError, AttributeError, TypeError):
        return "no es un cuaderno generado por `course regenerate`"
    if not intact:
        return "fue modificado a mano"
    if stored.get("source") != stamp["source"]:
        return f"la fuente de «{path.stem}», en solutions/, cambió después"
    return _library_drift(stored.get("library"), stamp["library"])


_MOST_NAMED = 3


def _library_drift(stored: Any, now: dict[str, str]) -> str | None:
    before = stored if isinstance(stored, dict) else {}
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if not changed:
        return None
    named, more = changed[:_MOST_NAMED], len(changed) - _MOST_NAMED
    if more > 0:
        named.append(f"otros {more}" if more > 1 else "otro más")
    return f"{'cambió' if len(changed) == 1 else 'cambiaron'} {enumerated(named)}"


# Escribir


def remove_leftovers(root: Path) -> None:
    """Borra los archivos temporales de procesos que ya no existen."""
    for kind in KINDS:
        for path in (root / kind).glob(".*.ipynb.*.tmp"):
            process = path.name.split(".")[-2]
            if process.isdigit() and not psutil.pid_exists(int(process)):
                path.unlink(missing_ok=True)


# Todo junto


@dataclass(frozen=True)
class TopicResult:
    """Qué pasó con un tema.

    Argumentos:
        topic: el tema.
        status: `written`, `unchanged`, `drifted` (solo con `check`) o `failed`.
        reasons: por qué se generó, en qué difiere o qué falló.
        seconds: tiempo hasta terminarlo.
    """

    topic: str
    status: str
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0


def regenerate(
    topics: Iterable[str],
    root: Path,
    *,
    check: bool = False,
    force: bool = False,
    report: Callable[[TopicResult], None] = lambda result: None,
) -> list[TopicResult]:
    """Genera los cuadernos de los temas que cambiaron, en paralelo.

    Argumentos:
        topics: nombres de temas.
        root: carpeta del proyecto.
        check: no escribe nada; los temas que cambiaron quedan como `drifted`.
        force: genera también los que no cambiaron.
        report: se llama al terminar cada tema.

    Devuelve:
        un resultado por tema, en el orden en que terminaron.
    """
    if not check:
        remove_leftovers(root)
    workers = max(1, min(os.cpu_count() or 1, 8))
    results = []
    with ThreadPoolExecutor(workers) as kernels, ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(_topic_result, t, root, check, force, kernels) for t in topics]
        for done in as_completed(waiting):
            results.append(done.result())
            report(results[-1])
    return results


def _topic_result(
    topic: str, root: Path, check: bool, force: bool, kernels: ThreadPoolExecutor
) -> TopicResult:
    start = time.perf_counter()
    try:
        reasons = tuple(drift(topic, root))
        if check or not (reasons or force):
            return TopicResult(topic, "drifted" if reasons else "unchanged", reasons)
        source = TopicSource.read(topic, root)
        contents = _prepare_both(source, kernels)
        for kind, content in contents.items():
            write_atomically(_path(root, kind, topic), content)
        write_atomically(compiled_path(root, topic), source.compiled)
    except NotebookError as error:
        reasons = tuple(map(str, getattr(error, "faults", (error,))))
        return TopicResult(topic, "failed", reasons, time.perf_counter() - start)
    return TopicResult(topic, "written", reasons, time.perf_counter() - start)


def _prepare_both(source: TopicSource, kernels: ThreadPoolExecutor) -> dict[str, bytes]:
    stamp = _stamp(source)
    with verified(source) as exercises:
        waiting: dict[str, Future] = {
            kind: kernels.submit(prepare, source, kind, stamp, exercises) for kind in KINDS
        }
        return {kind: future.result() for kind, future in waiting.items()}
