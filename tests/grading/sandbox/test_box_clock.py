"""El tiempo de una entrega: ni la vecina ni un alto del calificador le gastan el plazo."""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.grading.sandbox import box_clock, wire
from course_lib.grading.sandbox.box import Limits
from course_lib.grading.sandbox.box_clock import BoxClock, Usage, process_cpu, process_waits
from course_lib.grading.sandbox.wire import Channel, DeadlineError
from tests.grading.sandbox.hostile.cases import HARD, IMPORTS, SOFT, TIES, notebook


class Time:
    """Un reloj de pared que avanza cuando la prueba dice, y la espera de este proceso."""

    def __init__(self, monkeypatch):
        self.now = self.our_wait = self.work = 0.0
        monkeypatch.setattr(box_clock.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(box_clock.time, "thread_time", lambda: self.work)
        monkeypatch.setattr(box_clock, "_waited", lambda thread: self.our_wait)
        self.clock = BoxClock(patience=100.0)
        self.usage = Usage()
        self.clock.look(self.usage)

    def pass_(self, seconds, cpu=0.0, waits=None, ours=0.0, times=1):
        for _ in range(times):
            self.now += seconds
            self.our_wait += ours
            total = {t: self.usage.waits.get(t, 0.0) + w for t, w in (waits or {}).items()}
            self.usage = Usage(0, self.usage.cpu + cpu, total)
            self.clock.look(self.usage)


@pytest.fixture
def wall(monkeypatch):
    return Time(monkeypatch)


@pytest.mark.parametrize(
    ("what", "advance"),
    [
        ({}, 10.0),  # duerme
        ({"cpu": 0.5}, 10.0),  # tiene un procesador para él
        ({"cpu": 0.1, "waits": {7: 0.4}}, 2.0),  # otros le dejan la quinta parte
        ({"cpu": 0.1, "waits": {7: 0.4, 8: 0.4}}, 2.0),  # y a dos hilos suyos a la vez
        ({"cpu": 1.02, "waits": dict.fromkeys(range(40), 0.48)}, 20.0),  # cuarenta en dos
        ({"ours": 0.25}, 5.0),  # al calificador también le falta procesador
    ],
)
def test_what_others_take_does_not_count_and_what_it_takes_does(wall, what, advance):
    wall.pass_(0.5, times=20, **what)
    assert wall.clock() == pytest.approx(advance, rel=0.05)
    assert wall.clock.wall == pytest.approx(10.0)


def test_while_the_grader_was_stopped_no_time_passed(wall):
    """Con Ctrl-Z la caja sigue, y el calificador despierta una hora después."""
    wall.now += 3600
    assert wall.clock() <= 2.0
    wall.pass_(0.5)
    assert wall.clock() <= 2.5


def test_another_box_starts_from_zero(wall):
    wall.pass_(0.5, cpu=0.5, times=10)
    wall.clock.new_box()
    wall.usage = Usage(cpu=1000.0, waits={9: 1000.0})
    wall.clock.look(wall.usage)
    wall.pass_(0.5, cpu=0.5, waits={9: 0.0}, times=10)
    assert wall.clock() == pytest.approx(10.0)


def test_patience_has_an_end(wall):
    wall.pass_(1.0, waits={7: 1.0}, times=100)
    assert wall.clock() == pytest.approx(0.0)
    wall.pass_(1.0, waits={7: 1.0}, times=10)
    assert wall.clock() == pytest.approx(9.0, abs=1.0)


def test_the_work_of_who_grades_counts(wall):
    """Aunque entre dos miradas no se cuenten más de dos segundos de pared."""
    wall.now, wall.work = 100.0, 90.0
    assert wall.clock() == pytest.approx(90.0)
    wall.clock.look(wall.usage)
    assert wall.clock() == pytest.approx(90.0)
    wall.now += 1.0
    assert wall.clock() == pytest.approx(91.0)


def test_a_deadline_is_in_the_time_of_its_channel():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        now = [0.0]
        channel = Channel(ours, lambda: now.__setitem__(0, now[0] + 1.0), lambda: now[0])
        channel.deadline = 3.0
        with pytest.raises(DeadlineError):
            channel.receive()
        assert now[0] == pytest.approx(3.0)


def test_an_answer_that_comes_byte_by_byte_does_not_stop_the_clock(monkeypatch):
    """Siempre hay algo que leer, así que nunca se agota la espera en que se miraba el reloj."""
    monkeypatch.setattr(wire, "_LOOK_EVERY", 0.02)
    ours, theirs = socket.socketpair()
    ended, limit = threading.Event(), time.monotonic() + 20

    def send():
        theirs.sendall(b"\0\x20\0\0\0\0\0\0")  # anuncia dos millones de bytes
        while not ended.wait(0.002) and time.monotonic() < limit:
            theirs.send(b" ")
        theirs.close()

    sender = threading.Thread(target=send)
    sender.start()
    now = [0.0]
    channel = Channel(ours, lambda: now.__setitem__(0, now[0] + 1.0), lambda: now[0])
    channel.deadline = 50.0
    try:
        with pytest.raises(DeadlineError):
            channel.receive()
    finally:
        ended.set()
        sender.join()
        ours.close()


def test_the_kernel_says_what_a_process_used_and_waited():
    process = Path(f"/proc/{os.getpid()}")
    if not (process / "schedstat").exists():
        pytest.skip("este núcleo no dice cuánto espera un hilo")
    start = time.process_time()
    while time.process_time() - start < 0.2:
        pass
    used = process_cpu(process, os.sysconf("SC_CLK_TCK"))
    assert used == pytest.approx(sum(os.times()[:4]), abs=0.1)
    waits = process_waits(process)
    assert os.getpid() in waits and all(w >= 0 for w in waits.values())
    assert process_waits(Path("/proc/0")) == {}


LIMITS = Limits(cell_seconds=1.0, call_seconds=5.0)
NEAR = "import time\nstart = time.process_time()\nwhile time.process_time() - start < 0.6: pass\n"


@pytest.fixture(scope="module")
def limits():
    return LIMITS


@pytest.fixture(scope="module")
def grader(grader):
    assert graded(grader, [SOFT]).points == 1
    return grader


def graded(grader, cells):
    content = json.dumps(notebook([IMPORTS, *cells])).encode()
    return grader.grade(content, 5, topic="attention")


@pytest.fixture
def busy(grader):
    """Procesos que no paran: con ellos, todo lo demás va varias veces más lento."""
    count = 3 * len(os.sched_getaffinity(0))
    command = [sys.executable, "-S", "-c", "while True: pass"]
    running = [subprocess.Popen(command, start_new_session=True) for _ in range(count)]
    yield
    for process in running:
        process.kill()
        process.wait()


def test_a_busy_neighbour_does_not_change_a_grade(grader, busy):
    """Gasta algo más de la mitad de su plazo, que de pared dura varias veces más."""
    result = graded(grader, [NEAR + SOFT, HARD, TIES])
    assert result.points == 3 and result.broken_cells == ()


def test_who_sleeps_spends_its_time(grader):
    result = graded(grader, ["import time\ntime.sleep(600)", SOFT, HARD])
    assert result.points == 2 and result.broken_cells == ("celda 2: tardó demasiado",)


@pytest.mark.parametrize("wall_seconds", [0.1, 0.0])
def test_a_machine_too_busy_is_not_the_fault_of_the_submission(grader, wall_seconds, monkeypatch):
    """Pasado el tiempo de pared, se deja para otra vez: no se anota como suyo."""
    monkeypatch.setattr(grader, "limits", replace(LIMITS, wall_seconds=wall_seconds))
    result = graded(grader, ["while True: pass", SOFT])
    assert result.status == "failed" and "repite la orden" in result.message
