"""Esté donde esté el proyecto o su entorno, desde la caja no se ve nada de él ni de nadie."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import uuid
from pathlib import Path

import pytest

import course_lib
from course_lib.grading.sandbox import box_root
from course_lib.grading.sandbox.box import SandboxError
from course_lib.grading.sandbox.box_root import HiddenPathError, bind_arguments
from course_lib.grading.submission import exercises_folder
from tests.grading.sandbox.hostile.cases import FULL, HARD, IMPORTS, SOFT, TIES, notebook
from tests.grading.sandbox.test_box import inside

pytestmark = pytest.mark.usefixtures("sandbox_here")
ROOT = exercises_folder().parent

GRADE = """
import json, sys
from course_lib.grading.sandbox.grader import Grader
project, content = sys.argv[1:]
assert sys.modules["course_lib"].__file__.startswith(project)
with Grader(private=(f"{project}/entries", f"{project}/out")) as grader:
    print(json.dumps(grader.grade(content.encode(), 1, topic="attention").as_data()))
"""
# Recorre todo lo que se ve: lo secreto tiene en su nombre, o dentro, una marca.
LOOK = """
import os
found, seen = [], 0
for folder, folders, files in os.walk("/"):
    if folder == "/":
        folders[:] = [name for name in folders if name != "proc"]
    seen += len(files)
    found += [name for name in (*folders, *files) if "<mark>" in name]
    if "attention.json" in files or "soft_argmax.md" in files:
        found.append(folder)
if found or seen < 1000:
    soft_argmax = hard_argmax = ties = None
"""


def project_at(root, prefix):
    """Copia el proyecto en una carpeta, con su entorno en otra; da el intérprete y la marca."""
    mark = uuid.uuid4().hex
    shutil.copytree(ROOT / "exercises", root / "exercises")
    package = Path(course_lib.__file__).parent
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package, root / "course_lib", ignore=skip)
    for folder in ("solutions", "entries", "out"):
        (root / folder).mkdir()
        (root / folder / f"{mark}.md").write_text(mark)
    relative = Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    packages = prefix / relative
    packages.parent.mkdir(parents=True)
    packages.symlink_to(sysconfig.get_path("purelib"))
    home = Path(sys._base_executable).parent
    (prefix / "pyvenv.cfg").write_text(f"home = {home}\nversion = 3\n")
    (prefix / "bin").mkdir()
    (prefix / "bin" / "python").symlink_to(sys._base_executable)
    return prefix / "bin" / "python", mark


def graded_at(root, prefix):
    """Los puntos de una entrega que busca la marca por todas partes."""
    python, mark = project_at(root, prefix)
    cells = [IMPORTS, SOFT, HARD, TIES, LOOK.replace("<mark>", mark)]
    process = subprocess.run(
        [python, "-c", GRADE, root, json.dumps(notebook(cells))],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    result = json.loads(process.stdout.splitlines()[-1])
    assert result["broken_cells"] == []
    return result["points"]


@pytest.mark.parametrize("environment", [".venv", "."])
def test_nothing_is_seen_with_the_environment_inside_the_project(environment, tmp_path):
    root = tmp_path / "course"
    root.mkdir()
    assert graded_at(root, root / environment) == sum(FULL.values())


@pytest.mark.parametrize("parent", ["/usr/src", "/usr/lib"])
def test_nothing_is_seen_of_a_project_among_what_the_system_shows(parent):
    if not os.access(parent, os.W_OK):
        pytest.skip(f"no se puede escribir en {parent}")
    root = Path(parent, f"course-test-{uuid.uuid4().hex[:8]}")
    root.mkdir()
    try:
        assert graded_at(root, root / ".venv") == sum(FULL.values())
    finally:
        shutil.rmtree(root)


SHOWN = """
import os
tell([os.listdir(f) for f in ("/python/packages1", "/python/packages1/private")])
"""


def test_what_is_private_among_the_packages_is_covered(tmp_path, monkeypatch):
    packages = tmp_path / "site-packages"
    private = packages / "private"
    (private / "inner").mkdir(parents=True)
    (packages / "course_lib-9.dist-info").mkdir()
    (packages / "course_lib-9.dist-info" / "direct_url.json").write_text("/home/someone")
    folders = [*box_root._package_folders(), packages]
    monkeypatch.setattr(box_root, "_package_folders", lambda: folders)
    number = len(folders) - 1
    told = inside(SHOWN.replace("packages1", f"packages{number}"), private=(private / "inner",))
    assert told.endswith(", ['inner']]")
    assert "inner" not in inside(
        f"import os; tell(os.listdir('/python/packages{number}/private'))", private=(private,)
    )
    code = f"import os; tell(os.listdir('/python/packages{number}/course_lib-9.dist-info'))"
    assert inside(code) == "[]"


def test_a_layout_that_cannot_be_hidden_is_refused_in_words(tmp_path, monkeypatch):
    packages = box_root._package_folders()[0]
    with pytest.raises(HiddenPathError, match="pon el proyecto, las entregas y la salida en otra"):
        bind_arguments([packages])
    with pytest.raises(SandboxError, match="pon el proyecto, las entregas y la salida en otra"):
        inside("", private=(packages,))


def test_what_is_seen_in_spite_of_everything_is_noticed(tmp_path, monkeypatch):
    """Si algo privado quedara a la vista, la caja no llega a usarse."""
    packages = tmp_path / "site-packages"
    (packages / "private").mkdir(parents=True)
    folders = [*box_root._package_folders(), packages]
    monkeypatch.setattr(box_root, "_package_folders", lambda: folders)
    monkeypatch.setattr(box_root, "_cover", lambda path, target: [])
    with pytest.raises(SandboxError, match="dentro de la caja se vería"):
        inside("", private=(packages / "private",))


def test_paths_inside_do_not_tell_where_python_lives():
    told = inside("import sys; tell([sys.prefix, sys.executable, *sys.path])")
    assert "/python" in told and sys.prefix not in told and sys.base_prefix not in told
