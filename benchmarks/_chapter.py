"""Medir lo que mide un capítulo: sus celdas marcadas `measured`, tal como están en la página."""

import hashlib
import io
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import jupytext
import torch

from course_lib.files import write_atomically
from course_lib.grading.fingerprint import imported_modules, library_fingerprint

BOOK = Path(__file__).parents[1] / "book"
UNFINISHED = BOOK.parent / "_build" / "benchmarks"
SEEDS = (0, 1, 2)


def summary_rows(topic: str, device: str, columns: tuple[str, ...]) -> list[dict[str, Any]]:
    """Da una fila por cada clave de `figures`, una tupla, con su media y desviación entre semillas.

    Argumentos:
        topic: el capítulo.
        device: dónde se ejecuta.
        columns: qué nombran las partes de la clave.
    """
    runs = [run["figures"] for run in run_seeds(topic, device, "figures")]
    return [
        dict(zip(columns, key, strict=True))
        | {"media": fmean(run[key] for run in runs), "±": stdev(run[key] for run in runs)}
        | {f"semilla {seed}": run[key] for seed, run in zip(SEEDS, runs, strict=True)}
        for key in runs[0]
    ]


def run_seeds(topic: str, device: str, *names: str) -> list[dict[str, Any]]:
    """Ejecuta las celdas con cada semilla; de cada vez, guarda solo lo que se llama así.

    Lo que da una semilla queda en el disco hasta que terminan todas: una medición interrumpida
    sigue donde iba, si no cambió nada de lo que depende. Terminada, la siguiente mide de nuevo.
    """
    inputs = chapter_inputs(topic, device)
    paths = [UNFINISHED / f"{topic}-{seed}-{inputs[:16]}.pt" for seed in SEEDS]
    with torch.device(device), torch.enable_grad():
        found = [
            read_or_run(path, topic, seed, names) for path, seed in zip(paths, SEEDS, strict=True)
        ]
    for path in paths:
        path.unlink()
    return found


def read_or_run(path: Path, topic: str, seed: int, names: tuple[str, ...]) -> dict[str, Any]:
    """Lee lo que una semilla ya dio; si no está, la ejecuta y lo guarda."""
    if not path.exists():
        print(f"{topic}: semilla {seed}", flush=True)
        namespace, content = run_chapter(topic, seed), io.BytesIO()
        torch.save({name: namespace[name] for name in names}, content)
        write_atomically(path, content.getvalue())
    return torch.load(path, weights_only=True)


def chapter_inputs(topic: str, device: str) -> str:
    """Resume de qué depende lo medido: celdas, biblioteca, versiones, modelos y máquina."""
    cells = measured_cells(topic)
    machine = (torch.__version__, device, torch.get_num_threads())
    parts = [*cells, library_fingerprint(imported_modules(cells), BOOK), *map(str, machine)]
    models = (file.read_bytes() for file in sorted((BOOK / "_models").glob("*/*")))
    digests = [hashlib.sha256(part).digest() for part in (*map(str.encode, parts), *models)]
    return hashlib.sha256(b"".join(digests)).hexdigest()


def run_chapter(topic: str, seed: int) -> dict[str, Any]:
    """Ejecuta las celdas marcadas con otra semilla y devuelve los nombres que dejan definidos."""
    namespace: dict[str, Any] = {"SEED": seed}
    for source in measured_cells(topic):
        exec(compile(source, str(BOOK / f"{topic}.md"), "exec"), namespace)
    return namespace


def measured_cells(topic: str) -> list[str]:
    """Da el código de las celdas marcadas, en orden."""
    cells = jupytext.read(BOOK / f"{topic}.md").cells
    return [cell.source for cell in cells if "measured" in cell.metadata.get("tags", ())]
