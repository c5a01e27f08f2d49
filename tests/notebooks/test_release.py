"""La carpeta con que se empieza: está entera, no lleva soluciones y se basta."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest

from course_lib.course_settings import AS_IT_COMES, SITE_MARK
from course_lib.grading.provenance import course_notebook
from course_lib.grading.submission import guess_topic, read_submission, topic_sheet
from course_lib.judging.check import topic_exercises
from course_lib.notebooks import release

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    out = tmp_path_factory.mktemp("release") / "curso"
    release.release(["attention"], ROOT, out)
    return out


def test_it_has_what_is_needed_and_no_solution(kit):
    names = sorted(p.relative_to(kit).as_posix() for p in kit.rglob("*") if p.is_file())
    assert names == [
        "LEEME.md",
        release.WHEEL,
        "exercises/attention.ipynb",
        "requirements.txt",
        "start.py",
    ]
    assert [p.name for p in kit.parent.iterdir()] == ["curso"], "no queda nada a medias"
    pinned = (kit / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert pinned[-1] == f"./{release.WHEEL}" and "-e ." not in pinned
    assert (kit / "LEEME.md").read_text("utf-8").startswith("# Atención y Transformers\n")
    inside = zipfile.ZipFile(kit / release.WHEEL).namelist()
    assert "course_lib/judging/exercises/attention.json" in inside
    assert {name.split("/")[0] for name in inside} == {
        "course_lib",
        f"course_lib-{release.__version__}.dist-info",
    }


def test_its_notebooks_lead_to_no_source(kit):
    notebook = nbformat.read(kit / "exercises" / "attention.ipynb", as_version=4)
    text = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "el capítulo Atención" in text and ".md" not in text
    assert "raise NotImplementedError" in json.dumps(notebook)


@pytest.mark.slow
def test_it_is_installed_without_a_network_and_judges(kit, tmp_path):
    """Lo que se instala es la biblioteca de la carpeta, y con ella se juzga un cuaderno."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps"]
    where = ["--find-links", str(kit), "--target", str(tmp_path), "course_lib"]
    subprocess.run([*pip, *where], check=True)
    code = """
import sys
from pathlib import Path
import course_lib
from course_lib.grading.self_check import check_notebook

assert Path(course_lib.__file__).is_relative_to(sys.argv[1]), course_lib.__file__
print({row.status for row in check_notebook(Path("exercises/attention.ipynb")).rows})
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=kit,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "{'pending'}\n", done.stderr[-2000:]


def test_a_folder_with_something_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mío")
    with pytest.raises(release.ReleaseError, match="ya tiene algo"):
        release.release(["attention"], ROOT, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_what_fails_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise release.ReleaseError("sin disco")

    monkeypatch.setattr(release, "write_folder", fail)
    monkeypatch.setattr(release, "build_wheel", lambda root, folder, **_: folder / release.WHEEL)
    with pytest.raises(release.ReleaseError):
        release.release(["attention"], ROOT, tmp_path / "curso")
    assert list(tmp_path.iterdir()) == []


def test_an_exam_checks_nothing_and_its_blank_notebook_is_known(tmp_path):
    """Lo que se reparte no sabe la respuesta, y al calificar se reconoce igual que el del curso."""
    release.release(["attention"], ROOT, tmp_path / "examen", exam=True)
    inside = zipfile.ZipFile(tmp_path / "examen" / release.WHEEL).namelist()
    assert "course_lib/judging/exercises/attention.json" not in inside
    assert "course_lib/judging/exercises/palm.json" in inside, "los demás temas se comprueban"
    text = (tmp_path / "examen" / "exercises" / "attention.ipynb").read_text(encoding="utf-8")
    notebook = nbformat.reads(text, as_version=4)
    nbformat.validate(notebook)
    later = [c for c in notebook.cells if c.source == "*Se califica al entregar.*"]
    assert len(later) == len(topic_exercises("attention")) + 1, "y el resumen"
    assert "check(" not in text and "resumen(" not in text
    blank = read_submission(text.encode())
    assert guess_topic(blank) == "attention"
    assert course_notebook(blank, topic_sheet("attention")) == "exercises"


def test_an_exam_goes_without_the_book(tmp_path):
    """El sitio lleva la biblioteca entera y los cuadernos: con él se repartirían las respuestas."""
    with pytest.raises(release.ReleaseError, match="--exam no admite --book"):
        release.release(["attention"], ROOT, tmp_path / "examen", exam=True, book=tmp_path)
    assert not (tmp_path / "examen").exists()


def test_the_book_goes_with_it_and_never_the_solutions(tmp_path, monkeypatch):
    def no_wheel(root, folder, **_):
        (folder / release.WHEEL).write_bytes(b"")
        return folder / release.WHEEL

    monkeypatch.setattr(release, "build_wheel", no_wheel)
    book = tmp_path / "html"
    (book / "book").mkdir(parents=True)
    (book / "book" / "attention.html").write_text("Atención")
    (book / SITE_MARK).write_text(f"{AS_IT_COMES.site_mark}\n")
    release.release(["attention"], ROOT, tmp_path / "curso", book=book)
    notebook = (tmp_path / "curso" / "exercises" / "attention.ipynb").read_text(encoding="utf-8")
    (link,) = set(re.findall(r"\]\((\.\./libro/[^)]+)\)", notebook))
    assert (tmp_path / "curso" / "exercises" / link).resolve().read_text() == "Atención"
    (book / "solutions").mkdir()
    with pytest.raises(release.ReleaseError, match="lleva las soluciones"):
        release.release(["attention"], ROOT, tmp_path / "otra", book=book)
    (book / "solutions").rmdir()
    ours = replace(AS_IT_COMES, topics=("attention",))
    with pytest.raises(release.ReleaseError, match=r"se construyó con otro course\.toml"):
        release.release(["attention"], ROOT, tmp_path / "otra", book=book, course=ours)
    (book / SITE_MARK).unlink()
    with pytest.raises(release.ReleaseError, match="antes de cambiarlo"):
        release.release(["attention"], ROOT, tmp_path / "otra", book=book)
    assert not (tmp_path / "otra").exists()


@pytest.mark.parametrize(
    ("repository", "base", "address"),
    [
        ("", "", ""),
        ("https://github.com/Ana/curso", "", "https://ana.github.io/curso/"),
        ("https://github.com/Ana/curso.git", "", "https://ana.github.io/curso/"),
        ("https://github.com/Ana/curso", "https://curso.org", "https://curso.org/"),
    ],
)
def test_where_the_site_is(repository, base, address):
    assert release.site_address(repository, base) == address


def test_the_published_library_knows_its_site(tmp_path):
    wheel = release.build_wheel(ROOT, tmp_path, site="https://ana.github.io/curso/")
    with zipfile.ZipFile(wheel) as inside:
        (name,) = [n for n in inside.namelist() if n.endswith("dist-info/METADATA")]
        metadata = inside.read(name).decode()
    assert "Project-URL: libro, https://ana.github.io/curso/" in metadata


# start.py


@pytest.fixture
def start(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("start", ROOT / "start.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "HERE", tmp_path)
    monkeypatch.setattr(module, "WHEELHOUSE", tmp_path / "wheelhouse")
    (tmp_path / "requirements.txt").write_bytes((ROOT / "requirements-student.txt").read_bytes())
    return module


def torch_lines(text):
    return [line for line in text.splitlines() if line.startswith(("torch==", "--extra"))]


def test_with_a_gpu_its_torch_is_installed(start, monkeypatch, tmp_path):
    monkeypatch.setattr(start.sys, "platform", "linux")
    monkeypatch.setattr(start.shutil, "which", lambda name: None)
    assert any("+cpu" in line for line in torch_lines(start.requirements()))
    monkeypatch.setattr(start.shutil, "which", lambda name: f"/usr/bin/{name}")
    with_gpu = torch_lines(start.requirements())
    assert with_gpu and not any("cpu" in line for line in with_gpu)
    (tmp_path / "wheelhouse").mkdir()
    assert any("+cpu" in line for line in torch_lines(start.requirements())), "sin red, lo que hay"


def test_an_old_python_is_told(start, monkeypatch):
    monkeypatch.setattr(start.sys, "version_info", (3, 10))
    with pytest.raises(SystemExit, match="Hace falta Python"):
        start.main()
