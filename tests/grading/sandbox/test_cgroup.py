"""El grupo de control de una caja: cuándo se usa, qué se le pide al núcleo y qué se lee de él.

Aquí el sistema de archivos de cgroup v2 es una carpeta corriente con sus archivos; con un núcleo
de verdad hace falta un grupo cedido, que no hay en cualquier máquina.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.grading.classroom import class_run
from course_lib.grading.sandbox import box as sandbox
from course_lib.grading.sandbox import cgroup
from course_lib.grading.sandbox.box import Limits, Sandbox
from course_lib.grading.sandbox.cgroup import ENTER, Group, claim, shared
from course_lib.grading.sandbox.grader import MemoryExceededError, Worker
from course_lib.grading.sandbox.wire import ChannelClosedError, DeadlineError

LIMITS = ("pids.max", "memory.max", "memory.oom.group", "memory.swap.max", "cgroup.kill")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """Un cgroup2 con un grupo cedido en `user/scope`, en el que está este proceso."""
    own = tmp_path / "user/scope"
    own.mkdir(parents=True)
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    (own / "cgroup.controllers").write_text("cpu memory pids\n")
    (own / "cgroup.procs").write_text(f"{os.getpid()}\n")
    (own / "cgroup.subtree_control").write_text("")
    (own / "course").mkdir()
    (own / "course/cgroup.procs").write_text("")
    place(monkeypatch, "/user/scope")
    return tmp_path


def place(monkeypatch, path):
    """Dice a este proceso que está en ese grupo."""
    real = cgroup._read

    def read(file):
        if str(file) == "/proc/self/cgroup":
            return f"12:pids:/other\n0::{path}\n"
        return real(file)

    monkeypatch.setattr(cgroup, "_read", read)


def made(parent, monkeypatch, missing=()):
    """Un grupo cuyos archivos existen desde que existe su carpeta, como los pone el núcleo."""
    real = cgroup.tempfile.mkdtemp

    def mkdtemp(**options):
        folder = Path(real(**options))
        for name in {*LIMITS, "cgroup.procs"} - set(missing):
            (folder / name).touch()
        return str(folder)

    monkeypatch.setattr(cgroup.tempfile, "mkdtemp", mkdtemp)
    return Group(parent, memory=1 << 30, processes=48)


def test_a_group_of_this_command_alone_is_claimed(root):
    assert claim(root)
    own = root / "user/scope"
    assert (own / "course/cgroup.procs").read_text() == str(os.getpid())
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"


def test_children_of_this_command_move_with_it(root):
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    (root / "user/scope/cgroup.procs").write_text(f"{os.getpid()}\n{child.pid}\n")
    assert claim(root)
    child.communicate(b"\n")


@pytest.mark.parametrize("stranger", [os.getppid(), 1, 0])
def test_the_processes_of_others_are_not_moved(root, stranger):
    """0 es quien está en otro espacio de procesos: un contenedor que se comparte."""
    (root / "user/scope/cgroup.procs").write_text(f"{os.getpid()}\n{stranger}\n")
    assert not claim(root)
    assert (root / "user/scope/course/cgroup.procs").read_text() == ""


@pytest.mark.parametrize("controllers", ["", "cpu pids", "memory"])
def test_without_both_controllers_there_is_no_group(root, controllers):
    (root / "user/scope/cgroup.controllers").write_text(controllers)
    assert not claim(root)


def test_where_it_cannot_be_written_there_is_no_group(root):
    (root / "user/scope/cgroup.subtree_control").unlink()
    (root / "user/scope/cgroup.subtree_control").mkdir()
    assert not claim(root)


def test_without_cgroup_v2_there_is_no_group(root):
    (root / "cgroup.controllers").unlink()
    assert not claim(root) and shared(root) is None


def test_what_is_claimed_once_is_shared_by_all_its_processes(root, monkeypatch):
    assert shared(root) is None
    place(monkeypatch, "/user/scope/course")
    assert shared(root) == root / "user/scope" and claim(root)
    assert (root / "user/scope/cgroup.subtree_control").read_text() == ""


def test_a_box_gets_its_limits_with_room_for_its_folders(tmp_path, monkeypatch):
    path = made(tmp_path, monkeypatch).path
    found = {name: (path / name).read_text() for name in LIMITS[:4]}
    assert int(found.pop("memory.max")) == (1 << 30) + (256 << 20)
    assert found == {"pids.max": "48", "memory.oom.group": "1", "memory.swap.max": "0"}


def test_without_swap_the_rest_is_enough_and_without_memory_there_is_none(tmp_path, monkeypatch):
    assert made(tmp_path, monkeypatch, missing=["memory.swap.max"]).path.is_dir()
    before = set(tmp_path.iterdir())
    monkeypatch.undo()
    monkeypatch.setattr(cgroup.Group, "_set", refused)
    with pytest.raises(OSError, match="cedido"):
        Group(tmp_path, 1, 1)
    assert set(tmp_path.iterdir()) == before  # y no deja nada


def refused(group, name, value):
    raise PermissionError("ya no está cedido")


def test_what_the_kernel_says_is_read(tmp_path, monkeypatch):
    group = made(tmp_path, monkeypatch)
    assert not group.ran_out and group.cpu == 0.0
    (group.path / "memory.events").write_text("low 0\nmax 12\noom 1\noom_kill 0\n")
    (group.path / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\n")
    assert not group.ran_out and group.cpu == 2.5
    (group.path / "memory.events").write_text("oom 1\noom_kill 3\noom_group_kill 1\n")
    assert group.ran_out


def test_a_process_enters_by_writing_at_the_door(tmp_path, monkeypatch):
    group = made(tmp_path, monkeypatch)
    door = group.entrance()
    os.write(door, ENTER)
    os.close(door)
    assert (group.path / "cgroup.procs").read_bytes() == ENTER


def test_closing_ends_what_is_inside_and_takes_it_away(tmp_path, monkeypatch):
    group = made(tmp_path, monkeypatch)
    told, real = [], Group._set
    monkeypatch.setattr(Group, "_set", lambda *a: (told.append(a[1:]), real(*a)))
    for file in group.path.iterdir():  # el núcleo los quita con la carpeta
        if file.name != "cgroup.kill":
            file.unlink()
    monkeypatch.setattr(cgroup.time, "sleep", lambda seconds: (group.path / "cgroup.kill").unlink())
    group.close()
    assert told == [("cgroup.kill", 1)] and not group.path.exists()


def test_closing_takes_away_those_of_whoever_died(tmp_path, monkeypatch):
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead, alive = (tmp_path / f"box-{pid}-x" for pid in (ended.pid, os.getppid()))
    dead.mkdir()
    alive.mkdir()
    group = made(tmp_path, monkeypatch)
    monkeypatch.setattr(cgroup, "_END_SECONDS", 0.0)
    group.close()
    assert alive.exists() and not dead.exists()


def test_a_group_that_does_not_empty_is_left(tmp_path, monkeypatch):
    group = made(tmp_path, monkeypatch)
    monkeypatch.setattr(cgroup, "_END_SECONDS", 0.05)
    group.close()
    assert group.path.exists()


# En la caja y en el calificador


def test_a_box_is_counted_by_its_group_and_takes_it_away(tmp_path, monkeypatch, sandbox_here):
    monkeypatch.setattr(sandbox.cgroup, "shared", lambda: tmp_path)
    group = made(tmp_path, monkeypatch)
    (group.path / "cpu.stat").write_text("usage_usec 7000000\n")
    closed = []
    monkeypatch.setattr(sandbox.cgroup, "Group", lambda *given: closed.append(given) or group)
    monkeypatch.setattr(group, "close", lambda: closed.append("closed"))
    with Sandbox(None, replace(Limits(), memory=5, processes=3)) as box:
        assert box.usage().cpu == 7.0
    assert closed == [(tmp_path, 5, 3), "closed"]


def test_a_group_that_is_no_longer_given_stops_nobody(tmp_path, monkeypatch, sandbox_here):
    monkeypatch.setattr(sandbox.cgroup, "shared", lambda: tmp_path / "gone")
    with Sandbox(None, Limits()) as box:
        assert box.group is None and box.usage().cpu < 5.0


@pytest.mark.parametrize("error", [ChannelClosedError(), DeadlineError()])
def test_who_the_kernel_ended_ran_out_of_memory(tmp_path, monkeypatch, error):
    class Box:
        group = made(tmp_path, monkeypatch)

    worker = object.__new__(Worker)
    worker._sandbox = Box()
    assert worker.cause(error) is error
    (Box.group.path / "memory.events").write_text("oom_kill 1\n")
    assert isinstance(worker.cause(error), MemoryExceededError)
    worker._sandbox = None
    assert worker.cause(error) is error


def test_a_delivery_enters_the_group_of_its_box(tmp_path, monkeypatch, grader):
    monkeypatch.setattr(sandbox.cgroup, "shared", lambda: tmp_path)
    monkeypatch.setattr(cgroup, "_END_SECONDS", 0.0)
    made(tmp_path, monkeypatch).path.rename(tmp_path / "other")
    cell = {"cell_type": "code", "source": "ready = 1"}
    result = grader.grade(
        json.dumps({"cells": [cell], "nbformat": 4}).encode(), 0, topic="attention"
    )
    assert result.status == "graded" and not result.broken_cells
    doors = [box / "cgroup.procs" for box in tmp_path.glob("box-*")]
    assert doors and all(door.read_bytes() == ENTER for door in doors)


def test_the_group_is_claimed_before_there_are_lanes(monkeypatch):
    told = []
    monkeypatch.setattr(class_run, "why_unavailable", str)
    monkeypatch.setattr(class_run, "claim", lambda: told.append("claim"))
    monkeypatch.setattr(class_run, "ProcessLane", lambda: told.append("lane") or Lane())
    for sandboxed in (True, False):
        with class_run._lanes(2, None, sandboxed):
            pass
    assert told == ["claim", "lane", "lane", "lane", "lane"], "sin caja no hay qué limitar"


class Lane:
    def close(self):
        """Nada que terminar."""
