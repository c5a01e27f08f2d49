"""La instalación en capas: el núcleo basta para lo suyo, y cada extra, para su parte."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import jupytext
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import course_lib
from course_lib.notebooks.fingerprint import code_cells, parse_cell
from course_lib.notebooks.release import COLAB_LACKS, WHEEL, colab_install

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = [Requirement(text) for text in PROJECT["dependencies"]]
EXTRAS = {
    name: [Requirement(text) for text in texts]
    for name, texts in PROJECT["optional-dependencies"].items()
}
OPTIONAL = "se prueba si está"


def names_of(requirements):
    return {canonicalize_name(requirement.name) for requirement in requirements}


# Lo declarado es lo importado


def imports_of(tree, layer="núcleo"):
    """Cada paquete ajeno que importa un módulo, y la capa que lo instala según su código."""
    for node in ast.iter_child_nodes(tree):
        inside = layer
        if isinstance(node, ast.With):
            named = re.match(r"with extra\('(\w+)'\):", ast.unparse(node))
            inside = named[1] if named else layer
        elif isinstance(node, ast.Try):
            caught = "".join(ast.unparse(h.type) for h in node.handlers if h.type)
            inside = OPTIONAL if "ImportError" in caught else layer
        elif isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], layer) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.partition(".")[0], layer
        yield from imports_of(node, inside)


def third_party_imports():
    """Por capa, las distribuciones que su código importa, con el archivo que lo hace."""
    homes = metadata.packages_distributions()
    found = {}
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        for package, layer in imports_of(ast.parse(path.read_text(encoding="utf-8"))):
            if package not in sys.stdlib_module_names and package != "course_lib":
                distribution = canonicalize_name(homes.get(package, [package])[0])
                found.setdefault(layer, {})[distribution] = path.relative_to(ROOT)
    return found


def test_the_core_is_exactly_what_the_library_imports():
    assert set(third_party_imports()["núcleo"]) == names_of(CORE)


def test_every_other_import_is_of_the_extra_it_names():
    imports = third_party_imports()
    optional = imports.pop(OPTIONAL)
    assert set(optional) <= set().union(*map(names_of, EXTRAS.values())), optional
    for layer in imports.keys() - {"núcleo"}:
        undeclared = set(imports[layer]) - names_of(EXTRAS[layer])
        assert not undeclared, f"{layer}: {[str(imports[layer][name]) for name in undeclared]}"


def code_of(path):
    """El código que ejecuta un archivo: un módulo, o las celdas de un cuaderno."""
    if path.suffix == ".py":
        return ast.parse(path.read_text(encoding="utf-8"))
    cells = code_cells(jupytext.read(path, fmt="md:myst" if path.suffix == ".md" else None))
    return ast.Module(
        [node for cell in cells for node in getattr(parse_cell(cell.source), "body", ())], []
    )


@pytest.mark.parametrize(
    ("files", "layers"),
    [
        ("exercises/*.ipynb", []),
        ("solutions/*.ipynb", []),
        ("book/*.md", ["site"]),
        ("book/_ext/course_site/**/*.py", ["site"]),
        ("book/_ext/*.py", ["site", "dev"]),  # el PDF y el EPUB, con el Chromium de las pruebas
    ],
)
def test_what_is_read_and_solved_runs_with_its_layer(files, layers):
    homes = metadata.packages_distributions()
    found = installed_by([*CORE, *(each for layer in layers for each in EXTRAS[layer])])
    paths = sorted(ROOT.glob(files))
    assert paths
    for path in paths:
        for package, _ in imports_of(code_of(path)):
            if package in homes and package not in {"course_lib", "book"}:
                distributions = set(map(canonicalize_name, homes[package]))
                assert distributions & found, f"{path.relative_to(ROOT)} importa {package}"


# Cada capa basta para lo suyo


def installed_by(requirements):
    """Lo que instala una lista de dependencias, directa o indirectamente."""
    found, waiting = set(), [(r.name, extra) for r in requirements for extra in ("", *r.extras)]
    while waiting:
        name, extra = waiting.pop()
        key = (canonicalize_name(name), extra)
        try:
            declared = [] if key in found else metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # JupyterLab no está en requirements.txt
            declared = []
        found.add(key)
        for each in map(Requirement, declared):
            if each.marker is None or each.marker.evaluate({"extra": extra}):
                waiting += [(each.name, inner) for inner in ("", *each.extras)]
    return {name for name, _ in found}


ALONE = """
import importlib.abc, json, sys
from importlib.metadata import packages_distributions

installed, modules = json.loads(sys.argv[1])
homes = {k: {d.lower().replace("_", "-").replace(".", "-") for d in v}
         for k, v in packages_distributions().items()}

class Elsewhere(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        there = homes.get(name.partition(".")[0], {"course-lib"})
        if not there & {"course-lib", *installed}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Elsewhere())
"""
IMPORT_ALL = """
from course_lib._extras import MissingExtraError
refused = {}
for name in modules:
    try:
        importlib.import_module(name)
    except MissingExtraError as error:
        refused[name] = str(error)
print(json.dumps(refused))
"""


def run_with(requirements, code, modules=()):
    """Ejecuta un código donde solo se puede importar lo que esas dependencias instalan."""
    told = json.dumps([sorted(installed_by(requirements)), list(modules)])
    command = [sys.executable, "-c", ALONE + code, told]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def modules_under(prefix):
    for path in sorted((ROOT / "course_lib").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts).removesuffix(".__init__")
        if f"{name}.".startswith(f"{prefix}."):
            yield name


def test_with_the_core_alone_only_what_prepares_and_grades_is_missing():
    """Lo que falta lo dice un extra, nunca un `ModuleNotFoundError` sin explicar."""
    refused = json.loads(run_with(CORE, IMPORT_ALL, modules_under("course_lib")))
    assert refused and all("course_lib[" in message for message in refused.values())
    assert {name.split(".")[1] for name in refused} == {"grading", "notebooks"}


def test_with_the_core_alone_an_answer_is_checked_and_drawn():
    code = """
import torch
from course_lib import check
from course_lib.plotting import plot_attention

def soft_argmax(scores, beta):
    return torch.softmax(beta * scores, dim=-1)

print(check("attention.soft_argmax", soft_argmax).status)
plot_attention(torch.eye(2), alt="la identidad")
"""
    assert run_with(CORE, code).split() == ["correct"]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("student", "course_lib.grading.self_check"),
        ("teacher", "course_lib.grading.classroom"),
        ("author", "course_lib.notebooks.generation"),
    ],
)
def test_an_extra_is_enough_for_its_part(name, part):
    assert run_with([*CORE, *EXTRAS[name]], IMPORT_ALL, modules_under(part)) == "{}\n"


def test_a_command_without_its_extra_says_which_one():
    code = """
from course_lib.cli import app
sys.argv[1:] = ["check", "exercises/attention.ipynb"]
try:
    app()
except SystemExit as end:
    print(end.code)
"""
    done = run_with(CORE, "sys.stderr = sys.stdout\n" + code)
    assert 'pip install "course_lib[student]"' in " ".join(done.split()) and done.endswith("2\n")


def test_what_a_student_uses_imports_nothing_that_windows_lacks():
    code = """
import nbclient, torch, jupyter_client.manager, zmq.asyncio
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
from pathlib import Path
from course_lib.grading.self_check import check_notebook

report = check_notebook(Path("exercises/attention.ipynb"))
print({row.status for row in report.rows})
"""
    assert run_with([*CORE, *EXTRAS["student"]], code) == "{'pending'}\n"


# Versiones fijadas


def pinned(name):
    """Las versiones de un archivo de versiones fijadas; `torch` puede tener una por sistema."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    found = {}
    for requirement in (Requirement(line) for line in lines if line and line[0] not in "#-"):
        version = next(iter(requirement.specifier)).version
        found.setdefault(canonicalize_name(requirement.name), set()).add(version)
    return found


@pytest.mark.parametrize(
    ("file", "layers"),
    [
        ("requirements.txt", EXTRAS.keys() - {"student"}),
        ("requirements-student.txt", {"student"}),
    ],
)
def test_every_dependency_is_pinned_within_its_range(file, layers):
    versions = pinned(file)
    for requirement in [*CORE, *(each for layer in layers for each in EXTRAS[layer])]:
        for version in versions[canonicalize_name(requirement.name)]:
            assert requirement.specifier.contains(version), f"{file}: {requirement} y {version}"


def test_students_and_the_book_use_the_same_versions():
    book, student = pinned("requirements.txt"), pinned("requirements-student.txt")
    shared = (book.keys() & student.keys()) - {"torch"}
    assert len(shared) > 50
    for name in shared:
        assert book[name] == student[name], name
    (torch,) = book["torch"]
    assert student["torch"] == {torch, f"{torch}+cpu"}, "en Linux, sin CUDA"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^TORCH +:= (.+)$", makefile, re.M)[1] == torch


def test_the_pinned_ones_are_for_any_python_of_the_course():
    """También para el 3.11.2 de Debian 12; se mira lo que está instalado con esa versión."""
    seen = 0
    for name, versions in pinned("requirements-student.txt").items():
        try:
            told = metadata.metadata(name)
        except metadata.PackageNotFoundError:
            continue
        if told["Version"] in versions and told.get("Requires-Python"):
            seen += 1
            assert SpecifierSet(told["Requires-Python"]).contains("3.11.2"), name
    assert seen > 40


# Colab


def test_colab_has_what_the_library_imports_or_it_is_installed():
    """Según lo último que se sabe de Colab; y lo que se instala no cambia nada suyo."""
    colab = pinned("tests/colab.txt")
    for requirement in CORE:
        name = canonicalize_name(requirement.name)
        if name in COLAB_LACKS:
            assert name not in colab
            continue
        (version,) = colab[name]
        assert requirement.specifier.contains(version), f"{requirement} y {version}"
    for name in COLAB_LACKS:
        for text in metadata.requires(name) or []:
            needed = Requirement(text)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in {*colab, *COLAB_LACKS}, f"{name}: {text}"


def test_in_colab_only_what_it_lacks_is_installed():
    told = colab_install(ROOT, "https://ana.github.io/curso/").split()
    assert told[:4] == ["%pip", "install", "-q", "--no-deps"]
    assert told[4] == f"https://ana.github.io/curso/notebooks/{WHEEL}"
    versions = pinned("requirements-student.txt")
    assert told[5:] == [f"{n}=={next(iter(versions[n]))}" for n in COLAB_LACKS]


def test_the_version_is_the_newest_dated_one():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    dated = re.findall(r"^## (\d+\.\d+\.\d+) · (\d{4}-\d{2}-\d{2})$", changes, re.M)
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    version, day = dated[0]
    assert course_lib.__version__ == version
    assert f"version: {version}\n" in citation and f"date-released: {day}\n" in citation
    assert "version" in PROJECT["dynamic"]
