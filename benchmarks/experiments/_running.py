"""Hacer los entrenamientos que faltan: a la vez, sin perder ninguno, y diciendo cuánto queda."""

import datetime
import hashlib
import importlib
import json
import multiprocessing
import os
import threading
import time
from collections.abc import Collection
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from benchmarks.experiments._experiment import WIDENINGS, Experiment, Figures, beyond
from course_lib.files import write_atomically
from course_lib.notebooks.fingerprint import code_of, imported_modules, library_fingerprint
from course_lib.training.history import History

ROOT = Path(__file__).parents[2]
UNFINISHED = ROOT / "_build" / "experiments"
POINTS = 60  # de cada curva, como mucho

Run = dict[str, Any]


class Job(NamedTuple):
    """Un entrenamiento: de quién, con qué ajuste y con qué semilla."""

    rival: str
    setting: Any
    seed: int

    def __str__(self) -> str:
        setting = "" if self.setting is None else f" · {self.setting}"
        return f"{self.rival}{setting} · semilla {self.seed}"


class Outcome(NamedTuple):
    """De un rival: cada semilla con el ajuste elegido y, por ajuste, lo que dio en validación."""

    runs: list[Run]
    tried: dict[Any, list[Figures]]


def run_all(module: str, device: str, jobs: int) -> dict[str, Outcome]:
    """Hace el experimento y da lo que salió de cada rival.

    Lo terminado queda en `_build/experiments` y no se repite, salvo que cambie el experimento, la
    parte de la biblioteca que usa, torch o el dispositivo.

    Argumentos:
        module: el módulo que define `EXPERIMENT`.
        device: dónde se entrena.
        jobs: cuántos entrenamientos a la vez.
    """
    experiment = load(module)
    tuning = experiment.seeds[: experiment.tuning_seeds]
    grids = {name: list(rival.grid) for name, rival in experiment.rivals.items()}
    first = [
        Job(name, setting, seed)
        for seed in experiment.seeds
        for name, grid in grids.items()
        for setting in grid
        if len(grid) == 1 or seed in tuning
    ]
    total = len(first) + sum(
        len(experiment.seeds) - len(tuning) for grid in grids.values() if len(grid) > 1
    )

    def tried(name: str) -> dict[Any, list[Figures]]:
        return {
            s: [found[Job(name, s, seed)]["validation"] for seed in tuning] for s in grids[name]
        }

    def best() -> dict[str, Any]:
        return {name: experiment.choose(tried(name)) for name in grids}

    folder = UNFINISHED / module.rpartition(".")[2] / inputs(module, device)[:16]
    with _Workers(module, device, jobs, folder, total) as workers:
        found = workers.run(first)
        for _ in range(WIDENINGS):
            wider = {name: beyond(grids[name], setting) for name, setting in best().items()}
            more = {name: setting for name, setting in wider.items() if setting is not None}
            for name, setting in more.items():
                grids[name] = sorted([*grids[name], setting])
            further = [Job(*each, seed) for each in more.items() for seed in tuning]
            found |= workers.run(further, further=True)
        chosen = {
            name: [Job(name, setting, seed) for seed in experiment.seeds]
            for name, setting in best().items()
        }
        last = [job for same in zip(*chosen.values(), strict=True) for job in same]
        found |= workers.run([job for job in last if job not in found])
    return {
        name: Outcome([found[job] for job in same], tried(name)) for name, same in chosen.items()
    }


def load(module: str) -> Experiment:
    """El experimento que define un módulo.

    Errores:
        ValueError: el módulo no define ninguno, o no dice qué pregunta.
    """
    found = importlib.import_module(module)
    if not isinstance(getattr(found, "EXPERIMENT", None), Experiment):
        raise ValueError(f"{module}: se esperaba EXPERIMENT = Experiment(…).")
    if "\n\n" not in (found.__doc__ or ""):
        raise ValueError(f"{module}: se esperaba un docstring con título y descripción.")
    return found.EXPERIMENT


def inputs(module: str, device: str) -> str:
    """Resume de qué depende lo medido: su código, la biblioteca que usa, torch y el dispositivo."""
    code = code_of(Path(importlib.import_module(module).__file__))
    library = library_fingerprint(imported_modules([code]), ROOT)
    text = "\0".join((code, library, torch.__version__, device))
    return hashlib.sha256(text.encode()).hexdigest()


def run_job(module: str, job: Job, device: str) -> Run:
    """Ajusta un rival y lo mide en validación y en prueba."""
    torch.set_num_threads(1)
    experiment = load(module)
    with torch.device(device):
        splits = _splits(module, job.seed)
        start = time.perf_counter()
        fit = experiment.rivals[job.rival].fit
        model = fit(splits.train, splits.validation, job.setting, job.seed)
        model, history = model if isinstance(model, tuple) else (model, None)
        seconds = time.perf_counter() - start
        with torch.no_grad():
            measured = {
                "validation": experiment.figures(model, splits.validation),
                "test": experiment.figures(model, splits.test),
            }
    return {
        "setting": job.setting,
        "seed": job.seed,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "seconds": round(seconds, 1),
        "sizes": [len(part) for part in splits],
        "parameters": _parameters(model),
        "curve": _curve(history) if history else None,
        "along": history.metrics if history else {},
        **measured,
    }


@lru_cache(maxsize=1)
def _splits(module: str, seed: int) -> Any:
    return load(module).split(seed)


def _parameters(model: Any) -> int | None:
    if not isinstance(model, torch.nn.Module):
        return None
    return sum(parameter.numel() for parameter in model.parameters())


def _curve(history: History) -> list[tuple[int, float]]:
    """La pérdida suavizada, en algunos pasos repartidos por igual; el último, siempre."""
    loss = history.smoothed()
    every = -(-len(loss) // POINTS)
    steps = range(len(loss), 0, -every)
    return [(step, loss[step - 1]) for step in reversed(steps)]


class _Workers:
    """Procesos que se reparten los entrenamientos; cada uno guarda lo suyo al terminarlo."""

    def __init__(self, module: str, device: str, jobs: int, folder: Path, total: int) -> None:
        self.module, self.device, self.folder = module, device, folder
        # «spawn»: un proceso bifurcado no puede usar CUDA.
        context = multiprocessing.get_context("spawn")
        self.pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_with_parent)
        columns = (MofNCompleteColumn(), BarColumn(), TextColumn("quedan"), TimeRemainingColumn())
        self.progress = Progress(*columns, speed_estimate_period=3600)
        self.task = self.progress.add_task(module, total=total)

    def __enter__(self) -> "_Workers":
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()
        self.pool.shutdown(cancel_futures=True)

    def run(self, jobs: Collection[Job], further: bool = False) -> dict[Job, Run]:
        """Lo que dio cada uno; los ya guardados se leen. `further`: no se contaba con ellos."""
        found, waiting = {}, {}
        if further:
            self.progress.update(self.task, total=self.progress.tasks[0].total + len(jobs))
        for job in jobs:
            if (path := self._path(job)).exists():
                found[job] = json.loads(path.read_text("utf-8"))
                self.progress.advance(self.task)
            else:
                arguments = (self.module, job, self.device, path)
                waiting[self.pool.submit(_run_and_keep, *arguments)] = job
        for future in as_completed(waiting):
            job = waiting[future]
            try:
                found[job] = future.result()
            except Exception as error:
                self.pool.shutdown(wait=False, cancel_futures=True)
                raise RuntimeError(f"{job}: {error}") from error
            self.progress.advance(self.task)
            self.progress.console.print(f"{job}: {_brief(found[job])}", highlight=False)
        return found

    def _path(self, job: Job) -> Path:
        return self.folder / f"{hashlib.sha256(repr(tuple(job)).encode()).hexdigest()[:16]}.json"


def _leave_with_parent() -> None:
    """Si muere el proceso principal, los demás no se quedan esperando un trabajo que no llegará."""

    def watch() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _run_and_keep(module: str, job: Job, device: str, path: Path) -> Run:
    """Lo guarda quien lo hizo: si muere el que espera, no se pierde."""
    found = run_job(module, job, device)
    write_atomically(path, json.dumps(found, ensure_ascii=False).encode())
    return found


def _brief(run: Run) -> str:
    figures = ", ".join(f"{name} {value:.4g}" for name, value in run["validation"].items())
    return f"{figures} en validación ({run['seconds']:.0f} s)"
