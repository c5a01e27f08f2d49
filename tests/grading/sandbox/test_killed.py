"""Un corte (kill -9) en cualquier momento deja de cada cuaderno el viejo o el nuevo, entero."""

import random
import subprocess
import sys
import time

import pytest

KILLS, RUNS = 20, 12

WRITER = """
import sys
from pathlib import Path
from course_lib.files import write_atomically
path, size = Path(sys.argv[1]), int(sys.argv[2])
print("listo", flush=True)
while True:
    for letter in (b"A", b"B"):
        write_atomically(path, letter * size)
"""

# Sin probar los errores frecuentes y con un `check` sin torch la generación dura poco, y así los
# cortes caen en todas sus partes.
LIGHT_VERIFICATION = """
import contextlib, tempfile

@contextlib.contextmanager
def verified(source):
    with tempfile.TemporaryDirectory() as folder:
        yield folder
"""
LIGHT_CHECK = """
class Verdict:
    def __init__(self, name, status):
        self.fields = {"exercise": name, "status": status, "message": ""}

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.fields["status"]}, {"course_verdict": self.fields}

def check(name, student):
    try:
        pending = student is ... or student != "b" and student(1) is ...
    except NotImplementedError:
        pending = True
    return Verdict(name, "pending" if pending else "correct")
"""
LIGHT_SUMMARY = """
def resumen(topic=None):
    pass
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path):
    """Escribe sin pausa dos contenidos largos: casi todo corte cae en mitad de una escritura."""
    path, size = tmp_path / "a.ipynb", 4_000_000
    whole = {b"A" * size, b"B" * size}
    path.write_bytes(b"A" * size)
    generator = random.Random(0)
    seen = set()
    for _ in range(KILLS):
        command = [sys.executable, "-c", WRITER, str(path), str(size)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(generator.uniform(0.01, 0.2))
        process.kill()
        process.wait()
        process.stdout.close()
        content = path.read_bytes()
        assert content in whole, f"quedaron {len(content)} bytes de {size}"
        seen.add(content[:1])
    assert seen == {b"A", b"B"}, "los cortes no cayeron en momentos distintos"


@pytest.mark.slow
def test_regenerate_killed_at_random_moments(example_project):
    """Un tercio de los cortes se reparte por toda la ejecución; los demás, cerca del final."""
    example_project.write("course_lib/judging/check.py", LIGHT_CHECK)
    example_project.write("course_lib/judging/summary.py", LIGHT_SUMMARY)
    example_project.write("course_lib/notebooks/verification.py", LIGHT_VERIFICATION)
    old, new, seconds = _both_versions(example_project)
    generator = random.Random(0)
    moments = [generator.uniform(0, seconds) for _ in range(RUNS // 3)]
    moments += [generator.uniform(0.8, 1.1) * seconds for _ in range(RUNS - len(moments))]
    finished = 0
    for moment in moments:
        _restore(example_project, old)
        process = _start(example_project)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.wait()
        finished += process.returncode == 0
        for kind, content in example_project.contents().items():
            assert content in (old[kind], new[kind]), f"{kind} quedó a medias en {moment:.2f} s"
    assert finished < RUNS, "ningún corte llegó a tiempo"
    assert _start(example_project).wait() == 0, "después de un corte no se pudo terminar"
    assert example_project.contents() == new
    leftovers = [path.name for kind in new for path in (example_project.root / kind).glob("*.tmp")]
    assert leftovers == []


def _both_versions(project):
    """Los cuadernos de dos versiones de la fuente, que queda en la segunda, y lo que tarda."""
    assert _start(project).wait() == 0
    old = project.contents()
    project.edit("para probar", "que sirven para probar", project.topic)
    start = time.perf_counter()
    assert _start(project).wait() == 0
    new = project.contents()
    assert all(new[kind] != old[kind] for kind in new)
    return old, new, time.perf_counter() - start


def _restore(project, contents):
    for kind, content in contents.items():
        project.notebooks[kind].write_bytes(content)


def _start(project):
    return subprocess.Popen(
        [sys.executable, "-m", "course_lib.cli", "regenerate"],
        cwd=project.root,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
