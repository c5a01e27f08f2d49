"""`course grade --dry-run`: qué se calificaría, sin ejecutar ni escribir nada."""

import pytest
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.grading.classroom import class_run
from course_lib.grading.classroom.collection import collect
from course_lib.grading.classroom.preview import foresee
from course_lib.grading.classroom.suggestion import suggested_mistake
from course_lib.grading.provenance import answer_marks
from course_lib.grading.submission import exercises_folder, read_submission, topic_sheet
from tests.grading.class_zip import CORRECT, notebook, worksheet
from tests.grading.class_zip import Student as Deliverer
from tests.grading.sandbox.hostile.more_cases import UNWRITABLE

ROOT = exercises_folder().parent


def answered(topic, *extra):
    return notebook(topic, dict.fromkeys(topic_sheet(topic).names, CORRECT), extra)


@pytest.fixture
def delivered(tmp_path):
    """Una clase pequeña, con todo lo que se descarta."""
    folder = tmp_path / "class"
    files = {
        "Ana/uno.ipynb": answered("attention"),
        "Ana/dos.ipynb": answered("attention", "1 / 0"),
        "Luis/bert.ipynb": answered("bert"),
        "Eva/solutions.ipynb": (ROOT / "solutions/attention.ipynb").read_bytes(),
        "Eva/exercises.ipynb": (ROOT / "exercises/attention.ipynb").read_bytes(),
        "Eva/mine.ipynb": answered("attention"),
        "Iker/cut.ipynb": answered("attention")[:500],
        "Ivo/empty.ipynb": b"",
        "Noa/tarea.pdf": b"%PDF-1.7",
        "Zoe/other.ipynb": b'{"cells": []}',
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def told(folder, topics):
    """Por archivo: su tema, por qué no se calificaría y qué conviene saber."""
    found = foresee(collect(folder), topics)
    return {one.entry.source: (one.topic, one.refusal, one.note) for one in found}


def test_it_says_the_topic_of_each_and_what_is_discarded_and_why(delivered):
    found = told(delivered, [])
    best = "de sus 2 cuadernos del tema cuenta el mejor"
    assert found["uno.ipynb"] == found["dos.ipynb"] == ("attention", "", best)
    assert found["bert.ipynb"] == ("bert", "", "")
    assert found["mine.ipynb"] == ("attention", "", ""), "los del curso no son suyos"
    assert "cuaderno de soluciones del curso" in found["solutions.ipynb"][1]
    assert "sin ninguna respuesta" in found["exercises.ipynb"][1]
    assert "no es JSON" in found["cut.ipynb"][1] and "está vacío" in found["empty.ipynb"][1]
    assert "sino «tarea.pdf»" in found["Noa"][1]
    assert found["other.ipynb"][:2] == (
        None,
        "el cuaderno no define ninguna respuesta de los ejercicios del curso",
    )


def test_what_was_not_asked_for_does_not_count(delivered):
    found = told(delivered, ["attention"])
    alone = "no cuenta para la nota; no hay otra cosa: queda sin nota"
    assert found["bert.ipynb"] == ("bert", "", alone)
    assert found["other.ipynb"] == ("attention", "", ""), "con un solo tema, es de él"


@pytest.mark.parametrize("code", UNWRITABLE.values(), ids=UNWRITABLE)
def test_a_cell_that_cannot_be_written_again_stops_nobody(code, tmp_path):
    (tmp_path / "Ana.ipynb").write_bytes(answered("attention", code))
    (tmp_path / "Luis.ipynb").write_bytes(answered("attention"))
    assert set(told(tmp_path, []).values()) == {("attention", "", "")}
    submission, sheet = read_submission(tmp_path / "Ana.ipynb"), topic_sheet("attention")
    assert answer_marks(submission, sheet)
    assert suggested_mistake(code, "ties", "otra cosa") == ""


def test_the_same_is_refused_when_grading(delivered, tmp_path, sandbox_here):
    """Lo que se prevé es lo que pasa: los mismos temas y las mismas negativas."""
    for name in ("Ana/uno.ipynb", "Ana/dos.ipynb", "Luis/bert.ipynb", "Eva/mine.ipynb"):
        (delivered / name).unlink()
    entries = collect(delivered)
    with class_run.ClassFolder(tmp_path / "out") as out:
        graded = class_run.grade_class(entries, out, workers=1)
    done = {(one.entry.source, one.result.topic, one.result.message) for one in graded}
    assert done == {(one.entry.source, one.topic, one.refusal) for one in foresee(entries, [])}


def dry_run(*arguments):
    command = ["grade", *map(str, arguments), "--dry-run"]
    return CliRunner(env={"COLUMNS": "160"}).invoke(app, command)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_order_runs_and_writes_nothing(delivered, tmp_path, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("no se construye ninguna caja")

    monkeypatch.setattr(class_run, "why_unavailable", never)
    monkeypatch.setattr(class_run, "grade_task", never)
    trap = tmp_path / "trap"
    (delivered / "Ana" / "tres.ipynb").write_bytes(answered("attention", f"open({str(trap)!r})"))
    before = contents(tmp_path)
    result = dry_run(delivered, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert contents(tmp_path) == before and not (tmp_path / "out").exists()
    assert "Entregas que se califican: 5; que no: 6." in result.stdout
    assert "attention (2), bert (1)" in result.stdout
    assert "Hay varios: al calificar, di cuáles cuentan con --topic." in result.stdout
    one = dry_run(delivered, "--topic", "bert")
    assert one.exit_code == 0 and "no cuenta para la nota" in one.stdout
    assert "Hay varios" not in one.stdout


def test_the_sheet_says_who_has_no_place_in_it(delivered, tmp_path):
    sheet = tmp_path / "hoja.csv"
    known = [Deliverer(name, number, {"a": b""}) for number, name in enumerate(("Ana", "Luis"), 7)]
    sheet.write_bytes(worksheet(known))
    said = dry_run(delivered, "--worksheet", sheet).stdout
    assert "No están en la hoja: Eva, Iker, Ivo, Noa, Zoe." in said
    assert "No entregaron nada, según la hoja: 2 (Óscar Ausente, Bárbara Ausente)." in said


def test_a_hostile_name_reaches_neither_the_table_nor_the_terminal(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "[red]\x1b[31mEva.ipynb").write_bytes(b"no")
    result = dry_run(folder)
    assert result.exit_code == 0 and "\x1b" not in result.output and "[red]" in result.output


def test_a_folder_that_is_not_there_is_wrong_usage(tmp_path):
    result = dry_run(tmp_path / "nothing")
    assert result.exit_code == 2 and "No existe" in result.stderr
