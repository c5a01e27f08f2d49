"""Lo que `course check` cuenta de un cuaderno: sus veredictos, y las celdas por cómo empiezan."""

import functools
import json

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.grading import self_check, submission
from course_lib.grading.sandbox.grader import Grader
from course_lib.grading.self_check import Report, check_notebook
from course_lib.grading.submission import topic_sheet
from course_lib.judging.check import NOTEBOOK_SEED
from course_lib.judging.verdict import Verdict
from course_lib.notebooks.release import _pack_sheets
from tests.checks.solutions import ROOT
from tests.grading.sandbox.hostile.cases import HARD, IMPORTS, SOFT, TIES, notebook

CELLS = (
    "import torch\nfrom course_lib.judging.check import check",
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
    "ties = ...",
    'check("attention.read_plot", ties)',
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


@pytest.fixture(scope="module")
def grader():
    with Grader(sandboxed=False) as grader:
        yield grader


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
        ("masked_attention", "el cuaderno no define «masked_attention»"),
        ("top_k_weights", "el cuaderno no define «top_k_weights»"),
    ],
)
def test_what_was_not_checked_says_why(report, name, message):
    found = row(report, name)
    assert (found.status, found.points) == ("missing", 0)
    assert found.message.startswith(message), found.message


def test_the_grader_gives_the_same_reasons(report, path, grader):
    graded = {e.exercise: e for e in grader.grade(path, 2017).exercises}
    for name in ("soft_argmax", "columns", "masked_attention", "top_k_weights"):
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
    assert (row.status, row.message) == ("missing", "no se llegó a comprobar")
    assert report.points == 0


# Lo que cambia quien edita el cuaderno: aquí y al calificar, lo mismo

SOLVED = f"{SOFT}\n{HARD}\n{TIES}"
RENAMED = SOFT.replace("soft_argmax", "my_argmax")
EDITED = {
    "otro nombre, y la comprobación cambiada": (
        [IMPORTS, RENAMED, 'check("attention.soft_argmax", my_argmax)', HARD, TIES],
        {"hard_argmax", "read_plot"},
    ),
    "otro nombre y el de siempre": (
        [IMPORTS, RENAMED, "soft_argmax = my_argmax", 'check("attention.soft_argmax", my_argmax)'],
        {"soft_argmax"},
    ),
    "una comprobación borrada": (
        [IMPORTS, SOLVED, 'check("attention.soft_argmax", soft_argmax)'],
        {"soft_argmax", "hard_argmax", "read_plot"},
    ),
    "todas borradas": ([IMPORTS, SOLVED], {"soft_argmax", "hard_argmax", "read_plot"}),
    "la comprobación, antes de la respuesta": (
        [IMPORTS, 'check("attention.soft_argmax", soft_argmax)', SOFT],
        {"soft_argmax"},
    ),
    "la respuesta, estropeada después de comprobarla": (
        [IMPORTS, SOFT, 'check("attention.soft_argmax", soft_argmax)', "soft_argmax = max"],
        set(),
    ),
    "otra cosa en la comprobación": (
        [IMPORTS, SOFT, 'check("attention.soft_argmax", torch.softmax)'],
        {"soft_argmax"},
    ),
}


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """Da un cuaderno editado y lo que se dice de él, que se averigua una vez."""

    @functools.cache
    def check(name):
        path = tmp_path_factory.mktemp("edited") / "attention.ipynb"
        path.write_text(json.dumps(notebook(EDITED[name][0])), encoding="utf-8")
        return path, check_notebook(path)

    return check


@pytest.mark.parametrize("name", EDITED)
def test_an_edited_notebook_is_judged_as_when_grading(name, edited, grader):
    path, report = edited(name)
    here, there = report.rows, grader.grade(path, NOTEBOOK_SEED).exercises
    told = [[(r.exercise, r.status, r.points, r.message) for r in rows] for rows in (here, there)]
    assert sorted(told[0]) == sorted(told[1])
    assert {r.exercise.partition(".")[2] for r in here if r.status == "correct"} == EDITED[name][1]


def executed(topic, **changed):
    """Lo que se ejecuta de un cuaderno sin hacer, con otro texto en las celdas que empiezan así."""
    given = nbformat.read(ROOT / "exercises" / f"{topic}.ipynb", 4)
    for cell in given.cells:
        for begins, text in changed.items():
            cell.source = text if cell.source.startswith(begins) else cell.source
    names = topic_sheet(topic).names
    return [cell.source for cell in self_check._executed(given, names)]


def test_what_no_verdict_reads_is_not_executed():
    cells = executed("transformer")
    assert any(cell.startswith("def merge_heads") for cell in cells)
    assert not any("train(mine(" in cell or "check_table(" in cell for cell in cells)
    assert not any("check(" in cell for cell in cells)


def test_what_the_student_changed_or_uses_is_executed():
    assert "words = 1 / 0" in executed("transformer", words="words = 1 / 0")
    uses = executed("transformer", words="print(SIZES)")
    assert any(cell.startswith("from course_lib import mine") for cell in uses)


def test_of_several_topics_everything_is_executed():
    code = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1)")])
    names = {"attention.soft_argmax": "soft_argmax", "bert.choose": "choose"}
    assert self_check._executed(code, names) == code.cells


def test_the_library_that_is_shared_knows_what_the_notebook_gives(tmp_path, monkeypatch):
    folder = tmp_path / "course_lib" / "grading"
    folder.mkdir(parents=True)
    _pack_sheets(ROOT, tmp_path, ["attention", "repaso"])
    assert [path.name for path in (folder / "sheets").iterdir()] == ["attention.json"]
    with monkeypatch.context() as patch:
        patch.setattr(submission, "SHEETS", folder / "sheets")
        patch.setattr(submission, "exercises_folder", None)  # no está el proyecto
        packed = topic_sheet.__wrapped__("attention")
    assert packed == topic_sheet("attention") and packed.given == topic_sheet("attention").given


def test_what_is_not_there_when_graded_is_told():
    """Lo que se importa de capas y modelos, si el cuaderno del tema no da ninguno."""
    codes = ["from course_lib.layers.blocks import DecoderBlock", "import torch"]
    (told,) = self_check._absent_when_graded(codes, {"transformer.parameters": "answer"})
    assert "importa «course_lib.layers.blocks», que al calificar no se puede usar" in told
    for topic in ("transformer", "bert", "palm", "attention"):
        cells = submission.topic_sheet(topic).given
        assert not list(self_check._absent_when_graded(cells, {f"{topic}.x": "y"}))
    assert not list(self_check._absent_when_graded(codes, {"nada.x": "y"}))


def test_another_name_is_told(edited):
    _, report = edited("otro nombre, y la comprobación cambiada")
    assert report.notes == (
        "en attention.soft_argmax, tu celda de comprobación mira «my_argmax», y al calificar se "
        "busca «soft_argmax»: la respuesta debe llamarse así",
    )


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.delenv("COURSE_REGENERATING", raising=False)
    yield InteractiveShell.instance()
    InteractiveShell.clear_instance()


def test_the_check_of_a_notebook_tells_another_name(shell):
    shell.run_cell(f"{IMPORTS}\n{RENAMED}\n{SOFT}")

    def told(code):
        return repr(shell.run_cell(code).result)

    other = told('check("attention.soft_argmax", my_argmax)')
    assert other.startswith("✅") and "se busca «soft_argmax»" in other
    assert "se busca" not in told('check("attention.soft_argmax", soft_argmax)')
    assert "se busca" not in told(
        'soft_argmax = my_argmax; check("attention.soft_argmax", my_argmax)'
    )
    assert "se busca" not in told('ties = ...; check("attention.read_plot", ties)')


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
    told = ["🟡 transformer_xl.read: en parte (1 de 2 puntos, por los valores)", "   No es eso."]
    place = lines.index(told[0])
    assert lines[place : place + 2] == told == repr(ROWS[2]).splitlines()


def test_the_total_counts_each_state(monkeypatch):
    assert seen(monkeypatch, 80).splitlines()[-1] == (
        "Total: 4 de 12 puntos (2 correctos, 1 en parte, 1 todavía no, 2 se detuvieron, "
        "1 sin comprobar, 1 pendiente)"
    )


def test_nothing_is_cut_in_a_narrow_terminal(monkeypatch):
    narrow = seen(monkeypatch, 50)
    assert "…" not in narrow
    assert all(len(line) <= 50 for line in narrow.splitlines() if line[:1] in "┃│")
    for verdict in ROWS[:6]:
        assert f"│ {verdict.exercise.partition('.')[2]} " in narrow
    assert f"   L{LONG[1:]}.\n" in narrow, "en un archivo, una línea por cosa que se dice"


def test_exercises_of_several_topics_keep_their_full_name(monkeypatch):
    mixed = seen(monkeypatch, 80, (*ROWS, Verdict("attention.columns", "pending", 0, 2)))
    assert "│ attention.columns " in mixed and "│ transformer_xl.read " in mixed
