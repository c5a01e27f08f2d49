"""La huella: cambia con lo que importa al ejecutar, y solo con eso."""

import json
import subprocess
import sys
from importlib import metadata

import pytest

from course_lib.notebooks.fingerprint import (
    code_of,
    imported_modules,
    installed_versions,
    library_fingerprint,
    module_files,
)

MODULES = {"course_lib.primitives.attention"}
CHECKED = {"course_lib.judging.exercises.topic"}


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("torch==2.13.0\n")
    return path


def test_it_depends_on_the_modules_and_the_locked_versions(lock):
    page = lock.parent / "book" / "page.md"
    before = library_fingerprint(MODULES, page)
    assert library_fingerprint(MODULES | {"course_lib.devices"}, page) != before
    lock.write_text("torch==2.13.1\n")
    assert library_fingerprint(MODULES, page) != before


def test_what_was_graded_depends_on_the_installed_versions(monkeypatch):
    before = library_fingerprint(MODULES, None)
    told = installed_versions()
    assert {"python", "torch", "numpy", "ipython"} <= {x.split("==")[0] for x in told.split("\n")}
    assert f"torch=={metadata.version('torch')}" in told
    read = metadata.version
    monkeypatch.setattr(metadata, "version", lambda n: "9.9" if n == "torch" else read(n))
    assert library_fingerprint(MODULES, None) != before, "con otra torch vale otra cosa"


def test_the_essential_versions_are_known_without_installing_the_library(monkeypatch):
    def absent(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert "\nnumpy==" in installed_versions() and "\ntorch==" in installed_versions()


def test_it_is_the_same_with_other_line_endings(lock):
    before = library_fingerprint(MODULES, lock)
    lock.write_bytes(b"torch==2.13.0\r\n")
    assert library_fingerprint(MODULES, lock) == before


WRITTEN = '''"""Lo que hace."""

A = "# no es un comentario"  # esto sí


def f(x):
    """Dice
    y muestra."""
    # aquí
    return f"{x} # tampoco"
'''


def test_only_the_code_of_a_module_counts(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(WRITTEN)
    before = code_of(module)
    assert [line for line in before.splitlines() if line] == [
        'A = "# no es un comentario"',
        "def f(x):",
        '    return f"{x} # tampoco"',
    ]
    module.write_text(
        WRITTEN.replace("Dice", "Cuenta\n\n").replace("# aquí", "# allí\n    # también")
    )
    assert code_of(module) == before
    module.write_text(WRITTEN.replace("tampoco", "tampoco."))
    assert code_of(module) != before


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import course_lib.a.b as c", {"course_lib.a.b"}),
        ("from course_lib.a import b", {"course_lib.a", "course_lib.a.b"}),
        ("def f():\n    import course_lib.a", {"course_lib.a"}),
        ("%matplotlib inline\n!ls\nimport course_lib.a", {"course_lib.a"}),
        ("import torch, os", set()),
        ("check('topic.name', f)", CHECKED),
        ("print(check('topic.name', f), check(name, f))", CHECKED),
        ("def f(:\n from course_lib.a import b", {"course_lib.a"}),
        ("x = 'course_lib.a'", set()),
    ],
)
def test_the_imports_of_a_cell(code, expected):
    assert imported_modules([code]) == expected


@pytest.mark.parametrize(
    ("code", "module"),
    [
        ("from course_lib.models import PaLM", "course_lib.models.palm"),
        ("from course_lib import check", "course_lib.judging.check"),
        ("from course_lib import fast", "course_lib.fast.unpadded"),
        ("import course_lib.fast as quick", "course_lib.fast.unpadded"),
        ("from course_lib.primitives import attention", "course_lib.primitives.attention"),
    ],
)
def test_what_a_package_offers_is_in_its_module(code, module):
    assert module in imported_modules([code])


SCRIPT = """
import json, sys
from course_lib.notebooks.fingerprint import module_files, reachable_modules
modules = reachable_modules(["course_lib.top"])
print(json.dumps([modules, [p.name for p in module_files(modules)]]))
"""


def test_it_follows_the_imports_with_their_packages_and_data(example_project):
    """`top` importa `a.middle`, y el `__init__` de su paquete importa `helper`."""
    example_project.write("course_lib/top.py", "from course_lib.a import middle\n")
    example_project.write("course_lib/a/__init__.py", "import course_lib.helper\n")
    example_project.write("course_lib/a/middle.py", "")
    example_project.write("course_lib/a/words.txt", "")
    example_project.write("course_lib/helper.py", "def f():\n    import course_lib.late\n")
    example_project.write("course_lib/late.py", "")
    command = [sys.executable, "-c", SCRIPT]
    output = subprocess.check_output(command, cwd=example_project.root, text=True)
    modules, files = json.loads(output)
    expected = ["_lazy", "a", "a.middle", "helper", "late", "top"]
    assert modules == ["course_lib", *(f"course_lib.{name}" for name in expected)]
    assert "words.txt" in files and "plotting.py" not in files


def test_the_files_of_a_module_exist():
    assert all(path.is_file() for path in module_files(["course_lib", "course_lib.judging.check"]))


AFTER_FORK = """
import os, signal
from course_lib.notebooks import fingerprint
state, built = fingerprint._package_state, []
import grimp
real = grimp.build_graph
grimp.build_graph = lambda *args, **options: built.append(1) or real(*args, **options)
before = fingerprint.reachable_modules(["course_lib.models.bert"])
fingerprint._package_state = lambda: (*state(), "otro")
child = os.fork()
if child == 0:
    signal.alarm(20)
    same = fingerprint.reachable_modules(["course_lib.models.bert"]) == before
    os._exit(0 if same and len(built) == 1 else 1)
print(os.waitpid(child, 0)[1])
fingerprint.reachable_modules(["course_lib.models.bert"])
print(len(built))
"""


def test_a_forked_process_keeps_the_graph_when_a_file_changes():
    """Un juez que lo construyera otra vez esperaría siempre: los hilos de grimp no cruzan."""
    command = [sys.executable, "-c", AFTER_FORK]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["0", "2"]  # el hijo, el de su padre; el padre, uno nuevo
