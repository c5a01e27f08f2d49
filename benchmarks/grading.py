"""Calificar: el costo de una entrega, y una clase entera

El cuaderno de «Atención» resuelto, que da todos los puntos. Primero, una sola entrega: lo que
cuesta calificarla con un `Grader` ya caliente (caja nueva, celdas, entradas sorteadas y
comparadas), contra ejecutar el mismo cuaderno con nbclient, por turnos en el mismo proceso. Los dos
dan los mismos puntos. Después, 200 entregas distintas con `grade_class` en dos procesos, y lo mismo
en un grupo de Dask de dos procesos en esta computadora. En una clase todo está bien; en la otra hay
respuestas correctas, errores frecuentes y partes sin escribir, y cada una se juzga como lo que es.
El tiempo de una clase cuenta el arranque; el ritmo, lo que va del primer resultado al último, y con
él se estima cuánto tardarían 10 000. La memoria es la suma de PSS de todos los procesos, el que
ordena incluido, en el peor momento.
"""

import contextlib
import itertools
import json
import os
import tempfile
import threading
import time
from pathlib import Path

import nbclient
import nbformat
import psutil
import torch

from benchmarks._measure import MIB, compare, peer
from course_lib.grading.classroom.class_run import ClassFolder, grade_class
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.sandbox.grader import Grader, SubmissionResult
from course_lib.grading.submission import exercises_folder
from course_lib.judging.check import topic_exercises
from course_lib.notebooks.execution import verdicts
from tests.grading.class_zip import NAMES, make_class

TOPIC = "attention"
COUNT, PROCESSES, MANY = 200, 2, 10_000
SAMPLE_EVERY = 0.5  # segundos


def run(device: str) -> list[dict]:
    os.environ["OMP_NUM_THREADS"] = "1"  # también en los procesos y el núcleo que nacen de este
    with torch.enable_grad(), Grader() as grader:  # los ejercicios comparan también gradientes
        rows = one_submission(grader)
    name = f"grade_class, {PROCESSES} procesos"
    rows.append(whole_class(name, solved_class(), workers=PROCESSES))
    rows.append(whole_class(f"{name}, con errores", mixed_class(), workers=PROCESSES))
    if distributed := peer("distributed"):
        options = {"n_workers": PROCESSES, "threads_per_worker": 1, "dashboard_address": ":0"}
        with distributed.LocalCluster(processes=True, **options) as cluster:
            name = f"grade_class, Dask con {PROCESSES} procesos"
            rows.append(whole_class(name, solved_class(), cluster=cluster.scheduler_address))
    return rows


def one_submission(grader: Grader) -> list[dict]:
    """Los dos trabajos, que dan los puntos del cuaderno."""
    content, seeds = solved(), itertools.count()
    jobs = {
        "nbclient": lambda: execute(content),
        "Grader": lambda: grader.grade(content, next(seeds), topic=TOPIC).points,
    }
    measured = compare(
        lambda device: jobs, device="cpu", reference="nbclient", same=assert_same, memory=False
    )
    return [
        row(name, 1, figures["s"], figures["razón"], figures["dispersión"])
        for name, figures in measured.items()
    ]


def solved() -> bytes:
    return (exercises_folder().with_name("solutions") / f"{TOPIC}.ipynb").read_bytes()


def execute(content: bytes) -> float:
    notebook = nbformat.reads(content.decode(), as_version=4)
    nbclient.NotebookClient(notebook, timeout=300).execute()
    return sum(verdict["points"] for verdict in verdicts(notebook).values())


def assert_same(ours: float, theirs: float) -> None:
    assert ours == theirs > 0, f"{ours} puntos y {theirs}"


Notebooks = list[tuple[bytes, dict[str, str]]]
"""Los cuadernos de una clase, y qué debe resultar de cada ejercicio."""


def solved_class() -> Notebooks:
    expected = {exercise.name: "correct" for exercise in topic_exercises(TOPIC)}
    return [(marked(solved(), number), expected) for number in range(COUNT)]


def mixed_class() -> Notebooks:
    """Una clase inventada, sin los casos raros con que empieza."""
    students = make_class(TOPIC, len(NAMES) + COUNT)[len(NAMES) :]
    return [(content, s.expected) for s in students for content in s.files.values()]


def whole_class(name: str, notebooks: Notebooks, **where: object) -> dict:
    """Califica una clase nueva y mide su tiempo, su ritmo y su memoria."""
    entries = [Entry(f"s{i}", f"s{i}", f"s{i}.ipynb", c) for i, (c, _) in enumerate(notebooks)]
    times: list[float] = []
    start = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        ClassFolder(Path(folder)) as place,
        peak_of_the_tree() as peak,
    ):
        graded = grade_class(
            entries,
            place,
            topic=TOPIC,
            progress=lambda done, total: times.append(time.perf_counter()),
            **where,
        )
    for one, (_, expected) in zip(graded, notebooks, strict=True):
        assert_judged(one.result, expected)
    pace = (times[-1] - times[1]) / (COUNT - 1)
    hours = (times[1] - start + MANY * pace) / 3600
    return row(name, COUNT, times[-1] - start, None, None, 60 / pace, max(peak) / MIB, hours)


def assert_judged(result: SubmissionResult, expected: dict[str, str]) -> None:
    """Cada ejercicio es lo que debe: un estado, o el error frecuente que se reconoce."""
    found = {v.exercise: " + ".join(v.misconceptions) or v.status for v in result.exercises}
    assert found == expected, f"{found}, y debía ser {expected}"


def marked(content: bytes, number: int) -> bytes:
    """El mismo cuaderno, con algo de más en cada respuesta: tal como está sería el del curso."""
    notebook = json.loads(content)
    for answer, check in itertools.pairwise(
        c for c in notebook["cells"] if c["cell_type"] == "code"
    ):
        if "".join(check["source"]).startswith("check("):
            answer["source"] = [*answer["source"], f"\n_ = {number}"]
    return json.dumps(notebook).encode()


def row(
    name: str,
    count: int,
    seconds: float,
    ratio: float | None = None,
    spread: float | None = None,
    pace: float | None = None,
    memory: float | None = None,
    hours: float | None = None,
) -> dict:
    return {
        "quién": name,
        "entregas": count,
        "s": seconds,
        "razón": ratio,
        "dispersión": spread,
        "entregas por minuto": pace,
        "MiB": memory,
        f"horas para {MANY}": hours,
    }


@contextlib.contextmanager
def peak_of_the_tree():
    """Da una lista que se llena con la memoria de este proceso y sus descendientes, en bytes."""
    samples, finished = [0], threading.Event()

    def watch() -> None:
        while not finished.wait(SAMPLE_EVERY):
            me = psutil.Process()
            samples.append(sum(map(memory_of, [me, *me.children(recursive=True)])))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield samples
    finally:
        finished.set()
        thread.join()


def memory_of(process: psutil.Process) -> int:
    """PSS de un proceso: lo que comparte con otros se reparte entre ellos."""
    try:
        return process.memory_full_info().pss
    except (psutil.Error, FileNotFoundError, AttributeError):  # terminó, o no es Linux
        return 0
