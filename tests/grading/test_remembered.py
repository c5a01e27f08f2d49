"""`course check` de una carpeta: el curso en una pantalla, y lo que no cambió no se repite."""

import nbformat
import pytest
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.grading import remembered
from course_lib.grading.self_check import Report
from course_lib.judging.verdict import Verdict

RIGHT = Verdict("attention.soft_argmax", "correct", 1, 1)
WRONG = Verdict("attention.hard_argmax", "wrong", 0, 1, "falla")
BLANK = Verdict("attention.decoding_step", "pending", 0, 2)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Dos cuadernos, y la cuenta de los que se ejecutan."""
    runs = []

    def run(path, timeout):
        runs.append(path.stem)
        rows = (RIGHT, WRONG, BLANK) if path.stem == "uno" else (RIGHT,)
        return Report(rows, ("una celda",), ("un aviso",))

    monkeypatch.setattr(remembered, "check_notebook", run)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "memory"))
    home = tmp_path / "exercises"
    home.mkdir()
    for name in ("uno", "dos", ".oculto"):
        write(home / f"{name}.ipynb", "1 + 1")
    return home, runs


def write(path, *cells, **metadata):
    made = [nbformat.v4.new_code_cell(text) for text in cells]
    nbformat.write(nbformat.v4.new_notebook(cells=made, metadata=metadata), path)


def check(home):
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, ["check", str(home)])


def test_a_folder_is_one_screen(folder):
    home, runs = folder
    result = check(home)
    assert sorted(runs) == ["dos", "uno"] and result.exit_code == 1
    lines = result.stdout.splitlines()
    (one,) = [line for line in lines if "│ uno" in line]
    assert "1/3" in one and "1/4" in one and "corrige: Ejercicio 2 · El arg max duro" in one
    assert any("│ dos" in line and "todo hecho" in line for line in lines)
    assert lines[-1] == "Total: 2 de 5 puntos"


def test_what_did_not_change_is_not_run_again(folder):
    home, runs = folder
    first = check(home).stdout
    write(home / "uno.ipynb", "1 + 1", otra="cosa")
    assert check(home).stdout == first and len(runs) == 2
    write(home / "uno.ipynb", "1 + 2")
    check(home)
    assert runs[2:] == ["uno"]


def test_another_library_or_a_broken_memory_run_it_again(folder, monkeypatch, tmp_path):
    home, runs = folder
    check(home)
    for file in (tmp_path / "memory").rglob("*.json"):
        file.write_text("{")
    check(home)
    assert len(runs) == 4
    monkeypatch.setattr(remembered, "_library", lambda: "otra")
    check(home)
    assert len(runs) == 6


def test_what_is_remembered_is_the_whole_report(folder):
    home, _ = folder
    path = home / "uno.ipynb"
    ((_, first),) = remembered.check_folder([path], timeout=60)
    ((_, again),) = remembered.check_folder([path], timeout=60)
    assert again == first and again.rows[1].message == "falla" and again.notes == ("un aviso",)


def test_a_file_that_is_not_a_notebook_does_not_stop_the_others(folder):
    home, _ = folder
    (home / "malo.ipynb").write_text("{")
    result = check(home)
    assert "está dañado" in result.stdout.replace("\n", " ") and "Total: 2 de 5" in result.stdout


def test_a_folder_without_notebooks_is_explained(tmp_path):
    result = check(tmp_path)
    assert result.exit_code == 2
