"""Lo que se instala basta: con la rueda sola, desde una carpeta vacía, se juzgan los ejercicios."""

import json
import os
import shutil
import subprocess
import sys
import zipfile

from course_lib.judging.check import topic_exercises
from course_lib.notebooks.generation import topics_in
from tests.checks.solutions import ROOT, _check_call, read_solutions

JUDGE = """
import ast, contextlib, io, json, sys

import course_lib
from course_lib.judging.check import check

assert course_lib.__file__.startswith(sys.argv[1]), course_lib.__file__
said, run, given = {}, [], {}
for name, cells, checked in json.load(sys.stdin):
    if cells[: len(run)] != run:  # otro tema: los de uno mismo siguen donde quedó el anterior
        run, given = [], {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells[len(run) :]:
            exec(cell, given)
        run = cells
        said[name] = check(name, eval(checked, given)).status
print(json.dumps(said))
"""


def test_the_wheel_alone_judges_every_exercise_from_an_empty_folder(tmp_path):
    source, wheels, installed, empty = (tmp_path / x for x in ("source", "wheels", "site", "vacía"))
    empty.mkdir()
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "course_lib", source / "course_lib", ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    build = ["wheel", "--no-deps", "--no-build-isolation", "--quiet", "-w", wheels, source]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    (wheel,) = wheels.iterdir()
    zipfile.ZipFile(wheel).extractall(installed)

    solutions = [
        (s.name, [c for c in s.cells if _check_call(c) is None], s.checked)
        for s in read_solutions()
    ]
    done = subprocess.run(
        [sys.executable, "-c", JUDGE, str(installed)],
        input=json.dumps(solutions),
        env=os.environ | {"PYTHONPATH": str(installed), "PYTHONDONTWRITEBYTECODE": "1"},
        cwd=empty,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-2000:]
    said = json.loads(done.stdout)
    names = {e.name for topic in topics_in(ROOT) for e in topic_exercises(topic)}
    assert set(said) == names
    assert [name for name, status in said.items() if status != "correct"] == []
    assert list(empty.iterdir()) == []
