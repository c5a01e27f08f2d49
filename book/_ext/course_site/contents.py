"""Qué páginas tiene el sitio: «Soluciones» se puede dejar fuera y ninguna se pierde en silencio."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.parallel import ParallelTasks, SerialTasks, make_chunks, parallel_available

logger = logging.getLogger(__name__)
ADVICE = "El sitio no se construyó: corrígelo y repite (con COURSE_DRAFT=1 se ve el resto)."
SOLUTIONS = "solutions/"


def solutions_included(config) -> bool:
    """El interruptor de _config.yml; COURSE_SOLUTIONS (`make site SOLUTIONS=0`) manda."""
    value = os.environ.get("COURSE_SOLUTIONS") or config.course_include_solutions
    return str(value).lower() not in {"0", "false", "no"}


def read_switch(app: Sphinx, config) -> None:
    config.course_include_solutions = solutions_included(config)


def solutions_left_out(config) -> set[str]:
    """Las páginas de soluciones que no van."""
    pages = [] if config.course_include_solutions else config.external_site_map
    return {name for name in pages if name.startswith(SOLUTIONS)}


def drop_pages(config, names: set[str]) -> None:
    """Quita páginas del índice, y las partes que quedan vacías."""
    site_map = config.external_site_map
    for document in site_map.values():
        for subtree in list(document.subtrees):
            subtree.items = [item for item in subtree.items if str(item) not in names]
            if not subtree.items:
                document.subtrees.remove(subtree)
    for name in names:
        site_map.pop(name, None)


def warnings_fail(app: Sphinx) -> None:
    """Con cualquier advertencia el comando termina en error, después de mostrarlas todas.

    COURSE_DRAFT=1 lo apaga mientras se escribe: así un capítulo a medias no esconde los demás.
    """
    app.config.course_strict &= os.environ.get("COURSE_DRAFT", "0") == "0"
    app.keep_going = app.config.course_strict


def stop(app: Sphinx, message: str) -> None:
    """Termina con un mensaje para quien escribe, sin la traza de Sphinx; en borrador, avisa."""
    if not app.config.course_strict:
        logger.warning(message)
        return
    print(f"\n{message}\n\n{ADVICE}", file=sys.stderr)
    raise SystemExit(1)


def write_side_by_side(app: Sphinx, env=None) -> list[str]:
    """Reparte entre los procesadores las páginas que hay que escribir.

    Leerlas, no: se leen mientras se ejecutan los capítulos, que ya los ocupan.
    """
    app.parallel = _processes() + 1  # el primero solo reparte
    return []


def _processes() -> int:
    return min(os.cpu_count() or 1, 8)


def side_by_side(work: Callable[[list], list], items: list) -> list:
    """Lo que da `work` con cada parte de una lista, repartida entre los procesadores."""
    most, found = _processes(), []
    tasks = ParallelTasks(most) if parallel_available else SerialTasks()
    for part in make_chunks(items, most):
        tasks.add_task(work, part, lambda *given: found.extend(given[-1]))
    tasks.join()
    return found


def count_pages(app: Sphinx, exception: Exception | None) -> None:
    """Compara las páginas hechas con las del índice."""
    if exception is not None or app.builder.name != "html":
        return
    if not app.config.course_include_solutions:  # Las de una construcción anterior.
        for folder in (SOLUTIONS, f"notebooks/{SOLUTIONS}"):
            shutil.rmtree(Path(app.outdir, folder), ignore_errors=True)
    expected = set(app.config.external_site_map)
    missing = sorted(n for n in expected if not Path(app.builder.get_outfilename(n)).is_file())
    if missing:
        stop(
            app,
            f"el sitio quedó incompleto: faltan {len(missing)} de {len(expected)} páginas "
            f"({', '.join(missing)}); revisa _toc.yml",
        )
    logger.info("páginas del índice: %d de %d", len(expected) - len(missing), len(expected))


def setup(app: Sphinx) -> None:
    app.add_config_value("course_include_solutions", True, "env")
    app.add_config_value("course_strict", True, "")
    app.connect("config-inited", read_switch)
    app.connect("builder-inited", warnings_fail)
    app.connect("env-updated", write_side_by_side)
    app.connect("build-finished", count_pages)
