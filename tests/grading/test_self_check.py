"""Lo que `course check` cuenta de un cuaderno: sus veredictos, y las celdas por cómo empiezan."""

import nbformat
import pytest
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.grading import self_check
from course_lib.grading.grader import Grader
from course_lib.grading.self_check import Report, check_notebook
from course_lib.grading.verdict import Verdict

CELLS = (
    "import torch\nfrom course_lib.grading.check import check",
    "def soft_argmax(scores, beta):\n    weights = torch.softmax(scores\n    return weights",
    'check("attention.soft_argmax", soft_argmax)',
    "# una prueba\nsoft_argmax(torch.ones(3), 1.0)",
    "def halve(x):\n    return x / 0\n\n\nhalve(1)",
    "def hard_argmax(scores):\n    return scores\n\n\nraise ValueError('\\x1b[31mrojo')",
    'check("attention.hard_argmax", hard_argmax)',
    'check("attention.columns", attention_columns)',
    "def decoding_step(state, H):\n"
    "    A = torch.softmax((H @ state[..., None])[..., 0], dim=-1)\n"
    "    return A, state",
    'check("attention.decoding_step", decoding_step)',
    "answer = ...",
    'check("attention.read_plot", answer)',
    '%time\ncheck("attention.top_k_weights", undefined.name)',
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("student") / "attention.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS])
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def report(path):
    return check_notebook(path)


def row(report, name):
    return next(row for row in report.rows if row.exercise == f"attention.{name}")


def test_a_cell_that_stopped_is_named_by_how_it_begins_and_its_exercise(report):
    assert report.broken_cells == (
        "la celda que empieza con «def halve(x):»: ZeroDivisionError: division by zero "
        "(línea 2: return x / 0)",
        "la celda que empieza con «def hard_argmax(scores):», de attention.hard_argmax: "
        "ValueError: [31mrojo (línea 5: raise ValueError('\\x1b[31mrojo'))",
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "soft_argmax",
            "la celda que define «soft_argmax» se detuvo: SyntaxError: '(' was never closed "
            "(línea 2: weights = torch.softmax(scores)",
        ),
        ("columns", "el cuaderno no define «attention_columns»"),
        ("masked_attention", "el cuaderno no tiene su celda de comprobación"),
        ("top_k_weights", "NameError: name 'undefined' is not defined (línea 2: check("),
    ],
)
def test_what_was_not_checked_says_why(report, name, message):
    found = row(report, name)
    assert (found.status, found.points) == ("missing", 0)
    assert found.message.startswith(message), found.message


def test_the_grader_gives_the_same_reasons(report, path):
    with Grader(sandboxed=False) as grader:
        graded = {e.exercise: e for e in grader.grade(path, 2017).exercises}
    for name in ("soft_argmax", "columns"):
        assert graded[f"attention.{name}"].message == row(report, name).message


def test_the_states_are_counted(report):
    assert row(report, "decoding_step").state() == "partial"
    assert row(report, "read_plot").state() == "pending"
    counts = report.counts()
    assert counts["partial"] == counts["pending"] == counts["wrong"] == 1
    assert sum(counts.values()) == len(report.rows) and counts["missing"] == len(report.rows) - 3


def test_a_kernel_that_ends_is_told_with_the_cell(tmp_path):
    cells = ["import os", "# adiós\nos._exit(1)", 'check("attention.columns", attention_columns)']
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, tmp_path / "ends.ipynb")
    (told,) = check_notebook(tmp_path / "ends.ipynb").broken_cells
    assert told.startswith("la celda que empieza con «# adiós»: el núcleo de Python terminó")
    assert told.endswith("las siguientes no se ejecutaron")


def test_a_stored_verdict_is_not_that_of_a_cell_that_did_not_run(tmp_path):
    stored = Verdict("attention.columns", "correct", 1, 1)
    data, metadata = stored._repr_mimebundle_()
    output = nbformat.v4.new_output("display_data", data, metadata=metadata)
    ends = nbformat.v4.new_code_cell("import os\nos._exit(1)")
    checks = nbformat.v4.new_code_cell('check("attention.columns", columns)', outputs=[output])
    path = tmp_path / "stored.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[ends, checks]), path)
    report = check_notebook(path)
    row = next(row for row in report.rows if row.exercise == stored.exercise)
    assert (row.status, row.message) == ("missing", "su celda de comprobación no se ejecutó")
    assert report.points == 0


# Lo que se ve en la terminal

LONG = "los valores no son los esperados, con entradas de forma (2, 3) y (3, 4), y una más larga"
ROWS = (
    Verdict("transformer_xl.segments", "correct", 2, 2),
    Verdict("transformer_xl.cost", "correct", 1, 1),
    Verdict("transformer_xl.read", "wrong", 1, 2, "no es eso", earned="los valores"),
    Verdict("transformer_xl.mask", "wrong", 0, 1, LONG),
    Verdict("transformer_xl.scores", "error", 0, 2, "tu código se detuvo"),
    Verdict("transformer_xl.shift_bug", "error", 0, 2, "tu código se detuvo"),
    Verdict("transformer_xl.perplexity_by_position", "missing", 0, 1, "no se ejecutó"),
    Verdict("transformer_xl.memory_bug", "pending", 0, 1),
)


def seen(monkeypatch, columns, rows=ROWS):
    monkeypatch.setattr(self_check, "check_notebook", lambda path, timeout: Report(rows))
    return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, ["check", "a.ipynb"]).stdout


def test_a_right_part_is_not_shown_as_all_wrong(monkeypatch):
    lines = seen(monkeypatch, 80).splitlines()
    assert any("🟡 en parte" in line and "1/2" in line for line in lines)
    told = "🟡 transformer_xl.read: no es eso (ganas 1 de 2 puntos por los valores)"
    assert told in lines and repr(ROWS[2]) == told


def test_the_total_counts_each_state(monkeypatch):
    assert seen(monkeypatch, 80).splitlines()[-1] == (
        "Total: 4 de 12 puntos (2 correctos, 1 en parte, 1 incorrecto, 2 se detuvieron, "
        "1 sin comprobar, 1 pendiente)"
    )


def test_nothing_is_cut_in_a_narrow_terminal(monkeypatch):
    narrow = seen(monkeypatch, 50)
    assert "…" not in narrow
    assert all(len(line) <= 50 for line in narrow.splitlines() if line[:1] in "┃│")
    for verdict in ROWS[:6]:
        assert f"│ {verdict.exercise.partition('.')[2]} " in narrow
    assert f"❌ transformer_xl.mask: {LONG}\n" in narrow, "en un archivo, una línea por veredicto"


def test_exercises_of_several_topics_keep_their_full_name(monkeypatch):
    mixed = seen(monkeypatch, 80, (*ROWS, Verdict("attention.columns", "pending", 0, 2)))
    assert "│ attention.columns " in mixed and "│ transformer_xl.read " in mixed
