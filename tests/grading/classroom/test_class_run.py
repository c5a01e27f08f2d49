"""Calificar una clase: en paralelo o en un grupo de máquinas, con cortes y procesos que mueren."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from course_lib._extras import MissingExtraError
from course_lib.grading.classroom import class_run, lanes
from course_lib.grading.classroom import task as task_module
from course_lib.grading.classroom.class_run import ClassFolder, grade_class
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.lanes import ClassRunError, ClusterLostError
from course_lib.grading.classroom.task import (
    Order,
    course_version,
    failed,
    grade_task,
)
from course_lib.grading.sandbox.box import Limits, SandboxError
from course_lib.grading.sandbox.grader import SubmissionResult
from course_lib.grading.sandbox.guard import _end_boxes
from tests.grading.sandbox.hostile.cases import HARD, IMPORTS, SOFT, TIES, notebook


@pytest.fixture(autouse=True, scope="module")
def _same_environment():
    """Dask deja en el entorno el orden de los conjuntos de los procesos que abre."""
    with patch.dict(os.environ):
        yield


RIGHT, BLANK = [IMPORTS, SOFT, HARD, TIES], [IMPORTS, HARD]


def content(cells, mark=0):
    return json.dumps(notebook([*cells, f"# {mark}"])).encode()


def entry(name, data):
    return Entry(name, name, f"{name}.ipynb", data)


def entries(count, cells=BLANK):
    return [entry(f"s{i}", content(cells, i)) for i in range(count)]


def grade(found, out, **options):
    seen = []
    with ClassFolder(out) as folder:
        graded = grade_class(
            found, folder, progress=lambda done, total: seen.append(done), **options
        )
    return graded, seen


def stored(out):
    return {path.stem: path.read_bytes() for path in (out / "results").glob("*.json")}


def told(graded):
    return [one.result.message for one in graded]


def everything_under(process):
    return [process, *process.children(recursive=True)]


def graders():
    """Los procesos que califican para esta prueba: nacen de uno que importó torch por ellos."""

    def is_born_of_it(process):
        return "forkserver" in " ".join(process.cmdline())

    family = psutil.Process().children(recursive=True)
    return [p for p in filter(is_born_of_it, family) if is_born_of_it(p.parent())]


def assert_all_gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert not alive, f"quedaron procesos: {[p.cmdline() for p in alive if p.is_running()]}"


# Lo que ejecutan los carriles en algunas pruebas: rápido, y a veces mortal


def quick_task(data, order):
    """Hace de calificador: anota a quién le tocó y da un punto."""
    with Path(os.environ["TASK_LOG"]).open("a") as log:
        log.write(f"{data.decode()}\n")
    if data.startswith(b"deadly"):
        os.kill(os.getpid(), signal.SIGKILL)
    if data.startswith(b"frozen"):
        os.kill(os.getpid(), signal.SIGSTOP)
    if data.startswith(b"weak") and Path(os.environ["TASK_LOG"]).read_text().count("weak") < 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return SubmissionResult("graded", topic="attention").as_data()


@pytest.fixture
def quick(tmp_path, monkeypatch):
    """Cambia la tarea por `quick_task` y da quién la recibió."""
    log = tmp_path / "log"
    log.write_text("")
    monkeypatch.setenv("TASK_LOG", str(log))
    monkeypatch.setattr(class_run, "grade_task", quick_task)
    monkeypatch.setattr(class_run, "why_unavailable", lambda: "")
    return lambda: sorted(log.read_text().split())


class ThreadLane(lanes.ProcessLane):
    """Un carril que es un hilo: donde la prueba no trata de procesos."""

    def _open(self):
        self._executor = ThreadPoolExecutor(1)

    def close(self):
        self._executor.shutdown()


@pytest.fixture
def threads(monkeypatch):
    """Califica en hilos, sin esperar a que nazcan procesos."""
    monkeypatch.setattr(class_run, "ProcessLane", ThreadLane)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


# Una clase


def test_a_class_is_graded_once_and_again_only_what_changed(sandbox_here, out, monkeypatch):
    found = [entry("right", content(RIGHT)), entry("blank", content(BLANK))]
    found += [entry("broken", b'{"cells": ['), entry("link", "la entrega es un enlace")]
    before = set(psutil.Process().children(recursive=True))
    graded, seen = grade(found, out, workers=2)
    assert [one.entry for one in graded] == found, "los resultados van en el orden de las entregas"
    assert [one.result.status for one in graded] == ["graded"] * 2 + ["unreadable"] * 2
    assert [one.result.points for one in graded] == [3, 1, 0, 0]
    assert graded[3].result.message == "la entrega es un enlace"
    assert seen == [1, 2, 3, 4]
    left = set(psutil.Process().children(recursive=True)) - before
    # Los dos de multiprocessing duran lo que este proceso: ninguno califica.
    kept = ("resource_tracker", "forkserver")
    left = {p for p in left if not any(name in " ".join(p.cmdline()) for name in kept)}
    assert graders() == []
    assert not left, "la clase terminó y quedan procesos"

    first = stored(out)
    monkeypatch.setattr(class_run, "why_unavailable", lambda: "nadie debía calificar")
    again, seen = grade([found[0], found[1], found[3]], out)
    assert [one.result for one in again] == [graded[i].result for i in (0, 1, 3)]
    assert seen[0] == 3 and stored(out) == first

    found[1] = entry("blank", content(RIGHT))
    monkeypatch.undo()
    changed, seen = grade(found[:2], out)
    assert seen == [1, 2] and changed[1].result.points == 3
    assert stored(out)["right"] == first["right"], "una entrega que no cambió no se repite"


def test_what_decides_a_result_is_in_its_digest(out, monkeypatch, quick, threads):
    found = [entry("a", b"a")]
    grade(found, out)
    grade(found, out)
    assert quick() == ["a"]
    grade(found, out, topic="attention")
    assert quick() == ["a"], "decir después el tema que se reconoció no repite nada"
    grade(found, out, topic="bert")
    assert quick() == ["a"] * 2, "con otro tema se califica otra vez"
    monkeypatch.setattr(class_run, "course_version", lambda topic=None: "otra")
    grade(found, out, topic="attention")
    assert quick() == ["a"] * 3, "si cambia el ejercicio se califica otra vez"
    (out / "results" / "a.json").write_text('{"result": {')
    grade(found, out, topic="attention")
    assert quick() == ["a"] * 4, "un resultado dañado no vale"
    (out / "results" / "seed").write_text("7")
    grade(found, out, topic="attention")
    assert quick() == ["a"] * 5, "con otras entradas se califica otra vez"
    grade(found, out, topic="attention", roster=("a", "b"))
    grade(found, out, topic="attention", roster=("a", "b", "c"))
    assert quick() == ["a"] * 6, "si se le pidió otra cosa se califica otra vez"


def test_the_version_of_a_topic_depends_on_its_checks_alone(monkeypatch):
    read = task_module.library_fingerprint
    before = {topic: course_version(topic) for topic in ("attention", "key_value_store", None)}
    changed = "course_lib.judging.exercises.attention"

    def fingerprint(modules, near):
        return read(modules, near) + ("!" if changed in modules else "")

    monkeypatch.setattr(task_module, "library_fingerprint", fingerprint)
    after = {topic: course_version(topic) for topic in before}
    assert after["attention"] != before["attention"] and after[None] != before[None]
    assert after["key_value_store"] == before["key_value_store"]


def test_seed_and_results_are_for_the_teacher_alone(out):
    with ClassFolder(out) as folder:
        seed = folder.seed()
    with ClassFolder(out) as folder:
        assert folder.seed() == seed, "quien sigue usa las mismas entradas"
    assert stat.S_IMODE((out / "results" / "seed").stat().st_mode) == 0o600
    assert stat.S_IMODE((out / "results").stat().st_mode) == 0o700
    with ClassFolder(out.with_name("other")) as folder:
        assert folder.seed() != seed, "la semilla de cada clase se sortea"


def test_a_folder_in_use_or_with_other_things_is_refused(out, tmp_path):
    with ClassFolder(out), pytest.raises(ClassRunError, match="Otro proceso está calificando"):
        ClassFolder(out)
    ClassFolder(out).close()
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("mío")
    with pytest.raises(ClassRunError, match="ya tiene otras cosas"):
        ClassFolder(tmp_path / "thesis")
    assert [p.name for p in (tmp_path / "thesis").iterdir()] == ["chapter.txt"]
    with pytest.raises(ClassRunError, match="es un archivo"):
        ClassFolder(tmp_path / "thesis" / "chapter.txt")
    (tmp_path / "empty").mkdir()
    ClassFolder(tmp_path / "empty").close()


@pytest.mark.parametrize("key", ["../seed", "a/b", ".seed", "/etc/x"])
def test_a_key_is_never_a_path(key, out):
    with ClassFolder(out) as folder, pytest.raises(ValueError, match="no sirve como nombre"):
        grade_class([Entry("a", key, "a.ipynb", "ilegible")], folder)


# Procesos que mueren


def test_a_submission_that_takes_down_its_grader_is_not_graded_and_the_others_are(out, quick):
    names = ["a", "deadly", "b", "weak", "c"]
    graded, seen = grade([entry(n, n.encode()) for n in names], out, workers=2)
    results = {one.entry.key: one.result for one in graded}
    assert results["deadly"].status == "failed" and "murió 3 veces" in results["deadly"].message
    assert {results[n].status for n in names if n != "deadly"} == {"graded"}
    assert quick() == ["a", "b", "c", *["deadly"] * 3, *["weak"] * 2], "solo se repite lo perdido"
    assert seen == [0, 1, 2, 3, 4, 5], "cada una cuenta una vez"


def test_a_frozen_grader_is_ended_and_the_others_go_on(out, quick, monkeypatch):
    """Un proceso detenido no muere ni contesta: solo se ve desde fuera."""
    monkeypatch.setattr(class_run, "_LOOK_EVERY", 0.2)
    look = class_run._Watchdog.look

    def impatient(self, running):  # en cuanto hay uno detenido, su plazo ya pasó
        frozen = any(p.status() == psutil.STATUS_STOPPED for p in graders())
        self.patience = 0.0 if frozen else 900.0
        look(self, running)

    monkeypatch.setattr(class_run._Watchdog, "look", impatient)
    graded, seen = grade([entry(n, n.encode()) for n in ("frozen", "a", "b")], out, workers=1)
    assert [one.result.status for one in graded] == ["failed", "graded", "graded"]
    assert "dejó de contestar" in graded[0].result.message and seen == [0, 1, 2, 3]
    assert quick() == ["a", "b", "frozen"], "no se intenta otra vez lo que cuelga un carril"
    assert graders() == [], "queda el detenido"


class DeafLane(lanes.ProcessLane):
    """Un carril sin proceso que anota cuándo lo terminan."""

    def __init__(self):
        self.stopped = []

    def stop(self):
        self.stopped.append(time.monotonic())


def test_while_nobody_looked_no_deadline_passed(monkeypatch):
    now, lane, works = [0.0], DeafLane(), entries(1)
    monkeypatch.setattr(class_run.time, "monotonic", lambda: now[0])
    watchdog, future = class_run._Watchdog(Limits()), Future()
    now[0] += 100_000.0  # Ctrl-Z, y toda la noche
    watchdog.look({future: (lane, works[0])})
    assert not lane.stopped and not watchdog.stopped(future)
    while not lane.stopped:
        now[0] += class_run._LOOK_EVERY
        watchdog.look({future: (lane, works[0])})
    assert watchdog.stopped(future)
    limits = Limits()
    assert now[0] - 100_000.0 > limits.wall_seconds + limits.cell_seconds


def test_what_could_not_be_graded_is_tried_again(out, quick, threads):
    found = entry("a", b"a")
    with ClassFolder(out) as folder:
        folder.store(found, Order(folder.seed(), course_version()), failed("se cayó la máquina"))
    graded, _ = grade([found], out)
    assert quick() == ["a"] and graded[0].result.status == "graded"


def test_a_killed_grader_loses_and_doubles_nothing(sandbox_here, out):
    found = entries(5)
    killed = []

    def kill_one(done, total):
        if done == 1 and not killed:
            victim = graders()[-1]
            killed.extend(everything_under(victim))
            victim.kill()

    with ClassFolder(out) as folder:
        graded = grade_class(found, folder, workers=2, progress=kill_one)
    assert killed and [one.result.points for one in graded] == [1] * 5, told(graded)
    assert len(stored(out)) == 5
    assert_all_gone(killed)


@pytest.mark.usefixtures("warm_processes")
def test_whoever_dies_takes_the_graders_and_the_next_run_goes_on(sandbox_here, tmp_path, out):
    """Primero Ctrl-C, después kill -9: nada queda vivo, y lo hecho no se repite."""
    for i in range(7):
        (tmp_path / "class").mkdir(exist_ok=True)
        (tmp_path / "class" / f"s{i}.ipynb").write_bytes(content(BLANK, i))
    run = start_grading(tmp_path / "class", out)
    wait_for_results(run, out, 1)
    family = everything_under(psutil.Process(run.pid))
    os.killpg(run.pid, signal.SIGINT)  # como lo hace una terminal: a todos
    _, said = run.communicate(timeout=120)
    assert run.returncode == 1 and "Lo calificado está guardado" in said, said
    assert "Traceback" not in said, said
    assert_all_gone(family)

    run = start_grading(tmp_path / "class", out)
    wait_for_results(run, out, 3)
    family = everything_under(psutil.Process(run.pid))
    run.kill()
    run.communicate()
    assert_all_gone(family)
    before, seed = stored(out), (out / "results" / "seed").read_text()
    assert 3 <= len(before) < 7, "el corte debía llegar a mitad"

    run = start_grading(tmp_path / "class", out)
    _, said = run.communicate(timeout=300)
    assert run.returncode == 0, said
    after = stored(out)
    assert len(after) == 7 and {k: after[k] for k in before} == before
    assert (out / "results" / "seed").read_text() == seed
    assert (out / "report.html").exists() and (out / "grades.csv").exists()


def wait_until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError("no ocurrió en un minuto")


def start_grading(folder, out):
    command = [sys.executable, "-m", "course_lib.cli", "grade", str(folder), "--out", str(out)]
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    options = ["--topic", "attention", "--workers", "1"]
    return subprocess.Popen([*command, *options], text=True, start_new_session=True, **pipes)


def wait_for_results(run, out, count):
    while len(stored(out)) < count:
        assert run.poll() is None, run.communicate()[1]
        time.sleep(0.02)


def test_a_box_half_made_ends_with_its_grader_alone(sandbox_here, tmp_path):
    """Lo que deja bubblewrap si muere entre crear el proceso de la caja y dejarlo empezar."""
    boxes = []
    for name in ("dead", "alive"):
        (tmp_path / name / "library0").mkdir(parents=True)
        mount = ["--ro-bind", str(tmp_path / name / "library0"), "/mnt"]
        boxes.append(subprocess.Popen(["bwrap", "--ro-bind", "/", "/", *mount, "sleep", "600"]))
    try:
        wait_until(lambda: all(psutil.Process(box.pid).children() for box in boxes))
        _end_boxes(str(tmp_path / "dead"))
        assert boxes[0].wait(timeout=60) != 0 and boxes[1].poll() is None
    finally:
        for box in boxes:
            for process in everything_under(psutil.Process(box.pid)) if box.poll() is None else ():
                process.kill()
            box.wait()


# La tarea


def order(**options):
    return Order(5, task_module._own_version(), "attention", **options)


def test_a_task_gives_plain_data_and_never_raises(sandbox_here, monkeypatch):
    data = json.loads(json.dumps(grade_task(content(RIGHT), order())))
    assert SubmissionResult.from_data(data).points == 3
    assert grade_task(content(RIGHT), Order(5, "otra"))["message"].startswith("el proceso que cal")

    def explode(*arguments, **options):
        raise RuntimeError("\x1b[31mEl problema es del curso")

    monkeypatch.setattr(task_module._GRADER, "grade", explode)
    told = grade_task(content(RIGHT), order())
    assert told["status"] == "failed" and told["message"] == "[31mEl problema es del curso"
    task_module.close_grader()


def test_a_dead_template_is_replaced(sandbox_here):
    before = set(psutil.Process().children())
    assert grade_task(content(BLANK), order())["points"] == 1
    for child in set(psutil.Process().children()) - before:
        if "worker import template" in " ".join(child.cmdline()):
            child.kill()
    assert grade_task(content(BLANK), order())["points"] == 1
    task_module.close_grader()
    assert task_module._GRADER._grader is None


def test_a_grader_in_use_is_closed_when_it_ends(sandbox_here):
    """En un grupo, quien se va deja que termine la entrega que otro hilo califica."""
    told = []
    slow = content([*BLANK, "import time; time.sleep(1)"])
    thread = threading.Thread(target=lambda: told.append(grade_task(slow, order())))
    thread.start()
    while thread.is_alive() and not task_module._GRADER._lock.locked() and not told:
        time.sleep(0.01)
    task_module.close_grader()
    thread.join()
    assert told[0]["points"] == 1, "se le quitó el calificador a mitad"
    assert task_module._GRADER._grader is None


# Un grupo de máquinas


@pytest.fixture(scope="module")
def cluster():
    import dask
    import distributed

    settings = {"distributed.scheduler.allowed-failures": 0}  # a la primera, Dask lo dice
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=2, processes=True, dashboard_address=":0"
        ) as found,
    ):
        yield found


def test_a_cluster_grades_each_submission_once_though_a_worker_is_killed(
    sandbox_here, cluster, out
):
    found = [*entries(6), entry("broken", b"{")]
    killed = []

    def kill_one(done, total):
        if done == 2 and not killed:
            process = psutil.Process(next(iter(cluster.workers.values())).pid)
            killed.extend(everything_under(process))
            process.kill()

    seen = []
    with ClassFolder(out) as folder:
        graded = grade_class(
            found,
            folder,
            cluster=cluster.scheduler_address,
            progress=lambda done, total: (seen.append(done), kill_one(done, total)),
        )
    assert killed and seen == list(range(8))
    assert [one.result.points for one in graded] == [1] * 6 + [0], told(graded)
    assert graded[-1].result.status == "unreadable" and len(stored(out)) == 7
    assert_all_gone(killed)
    for worker in cluster.workers.values():
        assert not psutil.Process(worker.pid).children(), "el grupo se quedó con una plantilla"


def test_on_a_cluster_too_a_deadly_submission_stops_nobody(cluster, out, quick, monkeypatch):
    monkeypatch.setattr(lanes, "why_unavailable", str)
    monkeypatch.setenv("DASK_LOG", "")
    log = os.environ["TASK_LOG"]
    found = [entry(n, n.encode()) for n in ("a", "deadly", "b", "c")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_run, "grade_task", _with_log(log))
        graded, _ = grade(found, out, cluster=cluster.scheduler_address)
    statuses = [one.result.status for one in graded]
    assert statuses == ["graded", "failed", "graded", "graded"], "una cargó con culpa ajena"
    assert "murió" in graded[1].result.message


def _with_log(log):
    return _LoggedTask(log)


class _LoggedTask:
    """`quick_task` con su registro: los procesos del grupo no ven el entorno de la prueba."""

    def __init__(self, log):
        self.log = log

    def __call__(self, data, order):
        os.environ["TASK_LOG"] = self.log
        return quick_task(data, order)


def test_a_cluster_that_is_not_there_is_said(out, monkeypatch):
    with ClassFolder(out) as folder:
        with pytest.raises(ClassRunError, match="No contesta ningún grupo"):
            grade_class(entries(1), folder, cluster="nada")
        monkeypatch.setitem(sys.modules, "distributed", None)
        with pytest.raises(MissingExtraError, match=r"course_lib\[cluster\]"):
            grade_class(entries(1), folder, cluster="tcp://127.0.0.1:1")


def test_a_machine_without_a_sandbox_is_named(cluster, out, monkeypatch):
    monkeypatch.setattr(lanes, "why_unavailable", lambda: "Falta bubblewrap")
    with ClassFolder(out) as folder, pytest.raises(SandboxError, match=r"tcp://.*Falta bubblewrap"):
        grade_class(entries(1), folder, cluster=cluster.scheduler_address)


def test_a_cluster_that_never_comes_back_is_said(cluster, monkeypatch):
    lane = lanes.ClusterLane(cluster.scheduler_address, sandboxed=False)
    try:
        lane.check()
        monkeypatch.setattr(lanes, "_PATIENCE", -1.0)
        with pytest.raises(ClusterLostError, match="está guardado"):
            lane.check()
    finally:
        lane.close()
