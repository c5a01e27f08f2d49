"""Ejecución de los capítulos: solo los que cambiaron, y varios a la vez.

myst-nb sabe guardar resultados, pero los reconoce solo por el texto de las celdas. Aquí la huella
de un capítulo incluye además las versiones fijadas y los módulos de `course_lib` que alcanza,
directamente o no. Los resultados se dejan en la misma caché (jupyter-cache) y myst-nb ya solo los
lee. Entretanto Sphinx lee las páginas que no se ejecutan, y cada capítulo en cuanto está.
"""

import asyncio
import json
import os
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath

import warm
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_client import launcher
from myst_nb.core.read import create_nb_reader
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError
from sphinx.application import Sphinx
from sphinx.util import logging

from course_lib.notebooks.fingerprint import code_cells

from .contents import stop
from .inputs import chapter_inputs

logger = logging.getLogger(__name__)
STATE = "fingerprints.json"
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Chapter:
    """Un cuaderno en texto que se ejecuta al construir el sitio."""

    docname: str
    path: Path
    notebook: object
    inputs: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    error: str | None = None
    done: threading.Event = field(default_factory=threading.Event)

    @property
    def topic(self) -> str:
        return PurePosixPath(self.docname).name


class Execution(threading.Thread):
    """Los capítulos que se están ejecutando; si quien construye el libro termina, se interrumpe."""

    def __init__(self, chapters: list[Chapter], timeout: int, root: Path, store: Callable) -> None:
        super().__init__(daemon=True)
        self.chapters = {chapter.docname: chapter for chapter in chapters}
        self._work = partial(_run_all, chapters, timeout, root, store)
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:  # la da `errors`, en el hilo de Sphinx
            self.failure = error
        finally:
            for chapter in self.chapters.values():
                chapter.done.set()

    def errors(self) -> list[str]:
        """Espera a que acaben todos y da, una vez, lo que dijo cada uno que falló."""
        self.join()
        if self.failure is not None:
            raise self.failure
        found = [c.error for c in self.chapters.values() if c.error]
        self.chapters = {}
        return found


def execute_stale(app: Sphinx) -> None:
    """Empieza a ejecutar los capítulos cuya huella cambió.

    Cada uno se guarda en cuanto termina: lo que se interrumpe sigue donde quedó.
    """
    app.env.course_inputs, app.course_execution = {}, None
    if app.env.mystnb_config.execution_mode != "cache":
        return
    root = Path(app.srcdir)
    sys.path[:0] = [str(root)] if str(root) not in sys.path else []
    cache = get_cache(app.env.mystnb_config.execution_cache_path)
    state = _read_state(cache)
    if not state:  # habrá que ejecutarlos todos
        warm.prepare()
    chapters = list(find_chapters(app))
    app.env.course_inputs = {c.docname: c.inputs for c in chapters}
    stale = [c for c in chapters if (why := _reason(c, state, cache)) and _announce(c, why)]
    if not stale:
        return
    if len(stale) > 1:  # el segundo ya no importa torch
        launcher.Popen = warm.Popen
    store = partial(_store, state=state, cache=cache, drafts=not app.config.course_strict)
    timeout = app.env.mystnb_config.execution_timeout
    app.course_execution = Execution(longest_first(stale), timeout, root, store)
    app.course_execution.start()


def longest_first(chapters: list[Chapter]) -> list[Chapter]:
    """En el orden en que conviene ejecutarlos para que ninguno quede solo al final.

    Los últimos del curso entrenan más, y empiezan antes. Lo que va detrás del último que entrena es
    corto, y llena los huecos del final.
    """
    trains = [any("train(" in cell.source for cell in code_cells(c.notebook)) for c in chapters]
    end = max((i for i, does in enumerate(trains, 1) if does), default=0)
    return chapters[:end][::-1] + chapters[end:][::-1]


def read_them_last(app: Sphinx, env, docnames: list[str]) -> None:
    """Pone al final las páginas de lo que se está ejecutando, en el orden en que acabará."""
    waiting = list(app.course_execution.chapters) if app.course_execution else []
    docnames.sort(key=lambda name: waiting.index(name) + 1 if name in waiting else 0)


def wait_for_chapter(app: Sphinx, docname: str, source: list[str]) -> None:
    """No deja leer un capítulo hasta que tenga su resultado, o se sepa que falló."""
    chapter = app.course_execution and app.course_execution.chapters.get(docname)
    if chapter:
        chapter.done.wait()
        if chapter.error or app.course_execution.failure:
            finish_execution(app)


def finish_execution(app: Sphinx, env=None) -> list[str]:
    """Espera a todos los capítulos; una celda que falló detiene la construcción."""
    if app.course_execution and (errors := app.course_execution.errors()):
        stop(app, "\n\n".join(errors))
    return []


def find_chapters(app: Sphinx):
    """Los capítulos del índice que son cuadernos y no están excluidos de la ejecución."""
    config = app.env.mystnb_config
    for docname in app.config.external_site_map:
        path = Path(app.srcdir, f"{docname}.md")
        posix = PurePosixPath(path.as_posix())
        if not path.is_file() or any(posix.match(p) for p in config.execution_excludepatterns):
            continue
        if notebook := read_notebook(app, path):
            yield Chapter(docname, path, notebook, chapter_inputs(path))


def read_notebook(app: Sphinx, path: Path):
    """El cuaderno de una página MyST, leído como lo lee myst-nb; None si no es un cuaderno."""
    text = path.read_text(encoding="utf-8")
    reader = create_nb_reader(str(path), app.env.myst_config, app.env.mystnb_config, text)
    return reader and reader.read(text)


def _reason(chapter: Chapter, state: dict, cache) -> str | None:
    """Por qué hay que ejecutar el capítulo, o None si su resultado sirve."""
    before, now = state.get(chapter.docname), chapter.inputs
    if before is None:
        return "no se había ejecutado"
    changed = [name for name in now if before.get(name) != now[name]]
    if changed:
        return "cambió " + ", ".join(changed)
    if before.keys() - now.keys():
        return "ya no usa " + ", ".join(sorted(before.keys() - now.keys()))
    try:
        cache.match_cache_notebook(chapter.notebook)
    except KeyError:
        return "su resultado ya no está guardado"
    return None


def _announce(chapter: Chapter, why: str) -> bool:
    logger.info("ejecutando %s: %s", chapter.topic, why)
    return True


async def _run_all(
    chapters: list[Chapter], timeout: int, root: Path, store: Callable[[Chapter], None]
) -> None:
    places = asyncio.Semaphore(max(1, os.cpu_count() or 1))

    async def run_and_store(chapter: Chapter) -> None:
        async with places:
            await _run(chapter, timeout, root)
        store(chapter)
        chapter.done.set()

    await asyncio.gather(*map(run_and_store, chapters))


async def _run(chapter: Chapter, timeout: int, root: Path) -> None:
    path = os.pathsep.join(p for p in (str(root), os.environ.get("PYTHONPATH")) if p)
    where = {"metadata": {"path": str(chapter.path.parent)}}
    client = NotebookClient(
        chapter.notebook,
        timeout=timeout,
        resources=where,
        record_timing=False,  # La caché compara también los metadatos de las celdas.
        # Los avisos del núcleo sobre su conexión local no le dicen nada a quien construye el libro.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
    )
    start = time.monotonic()
    try:
        await client.async_execute(env={**os.environ, **warm.ONE_THREAD, "PYTHONPATH": path})
    except Exception as error:
        chapter.error = explain(chapter, error)
    chapter.seconds = time.monotonic() - start


def explain(chapter: Chapter, error: Exception) -> str:
    """El fallo en español: archivo y línea de la celda, su código y lo que dijo Python."""
    number, cell, line = _failed_cell(chapter)
    where = f"{chapter.path}:{line}: la celda {number}"
    code = "\n".join(f"    {text}" for text in cell.source.splitlines()) if cell else ""
    if isinstance(error, CellTimeoutError):
        what = "tardó más del tiempo permitido (execute.timeout en _config.yml)"
    elif isinstance(error, CellExecutionError):
        what = f"se detuvo con {error.ename}: {error.evalue}"
        code += "\n\n" + "\n".join(_traceback(cell))
    else:
        what = f"no se pudo ejecutar ({type(error).__name__}: {error})"
    return f"{where} {what}\n\n{code}"


def _failed_cell(chapter: Chapter):
    lines = chapter.notebook.metadata.get("source_map", [])
    number = 0
    cell, line = None, 1
    for index, candidate in enumerate(chapter.notebook.cells):
        if candidate.cell_type != "code":
            continue
        number, cell = number + 1, candidate
        line = lines[index] if index < len(lines) else 1
        failed = any(o.output_type == "error" for o in candidate.outputs)
        if failed or (candidate.source.strip() and candidate.execution_count is None):
            break
    return number, cell, line


def _traceback(cell) -> list[str]:
    for output in cell.outputs if cell else ():
        if output.output_type == "error":
            return ANSI.sub("", "\n".join(output.traceback)).splitlines()
    return []


def _store(chapter: Chapter, state: dict, cache, *, drafts: bool) -> None:
    """Guarda lo que salió bien; lo que falló se repetirá (en borrador, se ve hasta dónde llegó)."""
    state.pop(chapter.docname, None)
    _forget(chapter, cache)
    if chapter.error is None or drafts:
        seconds = {"execution_seconds": chapter.seconds}
        bundle = CacheBundleIn(chapter.notebook, str(chapter.path), data=seconds)
        cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
    if chapter.error is None:
        state[chapter.docname] = chapter.inputs
        logger.info("ejecutado %s en %.1f s", chapter.topic, chapter.seconds)
    target = Path(cache.path) / STATE
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(state, indent=1, sort_keys=True), encoding="utf-8")
    temporary.replace(target)


def _forget(chapter: Chapter, cache) -> None:
    for record in cache.list_cache_records():
        if record.uri == str(chapter.path):
            cache.remove_cache(record.pk)


def _read_state(cache) -> dict[str, dict[str, str]]:
    try:
        return json.loads((Path(cache.path) / STATE).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}


def outdated_pages(app: Sphinx, env, added, changed, removed) -> list[str]:
    """Páginas que se leyeron con resultados anteriores y deben leerse otra vez."""
    shown = getattr(env, "course_shown_inputs", {})
    return [
        name
        for name, inputs in env.course_inputs.items()
        if name not in added and shown.get(name) != inputs
    ]


def remember_shown(app: Sphinx, env) -> list[str]:
    env.course_shown_inputs = dict(env.course_inputs)
    return []


def setup(app: Sphinx) -> None:
    # Después de myst-nb, que prepara su configuración en el mismo momento.
    app.connect("builder-inited", execute_stale, priority=900)
    app.connect("env-get-outdated", outdated_pages)
    app.connect("env-before-read-docs", read_them_last)
    app.connect("source-read", wait_for_chapter)
    app.connect("env-updated", finish_execution)
    app.connect("env-updated", remember_shown)
