"""Medir lo que mide un capítulo: sus celdas marcadas `measured`, tal como están en la página."""

import hashlib
import io
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import jupytext
import torch

from course_lib.files import write_atomically
from course_lib.notebooks.fingerprint import imported_modules, library_fingerprint

BOOK = Path(__file__).parents[1] / "book"
UNFINISHED = BOOK.parent / "_build" / "benchmarks"
SEEDS = (0, 1, 2)


Finish = Callable[[dict[str, Any]], None]


def summary_rows(
    topic: str, device: str, columns: tuple[str, ...], finish: Finish | None = None
) -> list[dict[str, Any]]:
    """Da una fila por cada clave de `figures`, una tupla, con su media y desviación entre semillas.

    Argumentos:
        topic: el capítulo.
        device: dónde se ejecuta.
        columns: qué nombran las partes de la clave.
        finish: lo que se mide además con lo que dejan las celdas, y la página no ejecuta.
    """
    runs = [run["figures"] for run in run_seeds(topic, device, "figures", finish=finish)]
    return [
        dict(zip(columns, key, strict=True))
        | {"media": fmean(run[key] for run in runs), "±": stdev(run[key] for run in runs)}
        | {f"semilla {seed}": run[key] for seed, run in zip(SEEDS, runs, strict=True)}
        for key in runs[0]
    ]


def run_seeds(
    topic: str, device: str, *names: str, finish: Finish | None = None
) -> list[dict[str, Any]]:
    """Ejecuta las celdas con cada semilla; de cada vez, guarda solo lo que se llama así.

    Lo que da una semilla queda en el disco hasta que terminan todas: una medición interrumpida
    sigue donde iba, si no cambió nada de lo que depende. Terminada, la siguiente mide de nuevo.
    """
    inputs = chapter_inputs(topic, device)
    paths = [UNFINISHED / f"{topic}-{seed}-{inputs[:16]}.pt" for seed in SEEDS]

    def run(seed: int) -> dict[str, Any]:
        print(f"{topic}: semilla {seed}", flush=True)
        namespace = run_chapter(topic, seed)
        if finish:
            finish(namespace)
        return {name: namespace[name] for name in names}

    with torch.device(device), torch.enable_grad():
        return read_or_run(
            {path: partial(run, seed) for path, seed in zip(paths, SEEDS, strict=True)}
        )


def read_or_run(jobs: dict[Path, Callable[[], Any]]) -> list[Any]:
    """Da lo que mide cada trabajo, en orden; lee lo que ya se midió en una vez interrumpida.

    Cada resultado se guarda en su archivo en cuanto se tiene; al terminar todos, se borran.
    """
    for path, run in jobs.items():
        if not path.exists():
            content = io.BytesIO()
            torch.save(run(), content)
            write_atomically(path, content.getvalue())
    found = [torch.load(path, weights_only=True) for path in jobs]
    for path in jobs:
        path.unlink()
    return found


def chapter_inputs(topic: str, device: str) -> str:
    """Resume de qué depende lo medido: celdas, biblioteca, versiones, modelos y máquina."""
    cells = measured_cells(topic)
    machine = (torch.__version__, device, torch.get_num_threads())
    parts = [*cells, library_fingerprint(imported_modules(cells), BOOK), *map(str, machine)]
    models = (file.read_bytes() for file in sorted((BOOK / "_models").glob("*/*")))
    digests = [hashlib.sha256(part).digest() for part in (*map(str.encode, parts), *models)]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def run_chapter(topic: str, seed: int, until: str | None = None) -> dict[str, Any]:
    """Ejecuta las celdas marcadas con otra semilla y devuelve los nombres que dejan definidos.

    Con `until`, se detiene tras la celda que define ese nombre: así se toma de un capítulo lo que
    prepara, sin lo que entrena después.
    """
    namespace: dict[str, Any] = {"SEED": seed}
    for source in measured_cells(topic):
        exec(compile(source, str(BOOK / f"{topic}.md"), "exec"), namespace)
        if until in namespace:
            break
    return namespace


def measured_cells(topic: str) -> list[str]:
    """Da el código de las celdas marcadas, en orden."""
    cells = jupytext.read(BOOK / f"{topic}.md").cells
    return [cell.source for cell in cells if "measured" in cell.metadata.get("tags", ())]
