"""Lo que solo ve quien califica: el código, el caso que falla y lo que se esperaba."""

import json
import re
import textwrap

import pytest
import torch
import typer
from bs4 import BeautifulSoup
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.cli.explain import _answer
from course_lib.grading.classroom.class_run import ClassFolder, grade_class, read_class
from course_lib.grading.classroom.collection import Entry, collect
from course_lib.grading.classroom.publication import publish
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.sandbox.evidence import _distance, _readable_tensors, _shown
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.grading.submission import topic_sheet
from tests.grading.class_zip import CORRECT, PENDING, notebook

TOPIC = "attention"
SOFT, HARD, READ = (f"{TOPIC}.{name}" for name in ("soft_argmax", "hard_argmax", "read_plot"))
LOGISTIC = "def soft_argmax(scores, beta):\n    return (beta * scores).sigmoid()"
SAME = "def soft_argmax(s, b):\n    z = b * s\n    return 1 / (1 + (-z).exp())"
HALF = "def soft_argmax(s, b):\n    return torch.softmax(b * s, -1) / 2"
STOPPED = """
def hard_argmax(scores):
    # <script>alert(1)</script> \x1b[31m
    raise IndexError("un texto suyo")
"""


def delivered(**answers):
    """Un cuaderno correcto, salvo esas respuestas."""
    names = topic_sheet(TOPIC).names
    full = dict.fromkeys(names, CORRECT) | {f"{TOPIC}.{n}": code for n, code in answers.items()}
    return notebook(TOPIC, full, (f"# {sorted(answers)}",))


@pytest.fixture(scope="module")
def out(tmp_path_factory, sandbox_here):
    """Una clase de seis, calificada y publicada."""
    folder = tmp_path_factory.mktemp("class")
    submissions = folder / "submissions"
    submissions.mkdir()
    blank = dict.fromkeys(topic_sheet(TOPIC).names, PENDING)
    wrong = {"soft_argmax": "no_beta", "hard_argmax": STOPPED, "read_plot": "ties = {'A': 9}"}
    for name, content in {
        "Ana García": delivered(**wrong),
        "Ángel Gil": delivered(soft_argmax="no_beta"),
        "Eva Ruiz": delivered(soft_argmax=LOGISTIC),
        "Luis Peña": delivered(soft_argmax=SAME),
        "Iris Soto": delivered(soft_argmax=HALF),
        "Noa Peña": notebook(TOPIC, blank, ("print('hola')",)),
    }.items():
        (submissions / f"{name}.ipynb").write_bytes(content)
    with ClassFolder(folder / "out") as made:
        graded = grade_class(collect(submissions), made, workers=1)
        publish(ClassResults(graded), made.path)
    return folder / "out"


def evidence_of(out, student):
    (one,) = (one for one in read_class(out) if one.entry.student == student)
    return one.result.evidence


def explain(*arguments):
    return CliRunner().invoke(app, ["explain", *map(str, arguments)])


def parse(path):
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def pages(out, kind):
    return {parse(path).h1.get_text(): path for path in (out / kind).glob("*.html")}


def test_a_wrong_answer_keeps_its_code_and_the_case_in_which_it_fails(out):
    seen = evidence_of(out, "Ana García")
    soft = seen[SOFT]
    assert "def soft_argmax(scores, beta):" in soft.code
    assert soft.inputs.startswith("scores = tensor(") and "\n\nbeta = 2.5" in soft.inputs
    assert soft.expected.startswith("tensor(") and soft.obtained.startswith("tensor(")
    found = re.search(r"mayor diferencia con lo esperado: ([\d.e-]+)$", soft.obtained)
    assert soft.expected not in soft.obtained and 0 < float(found[1]) < 1
    assert seen[HARD].obtained.startswith("se detuvo con IndexError: un texto suyo\nlínea ")
    assert seen[HARD].expected.startswith("tensor([[")


@pytest.mark.parametrize(
    ("found", "told"),
    [([1.0, float("nan")], ""), ([1.5, float("nan")], ": 0.5"), ([float("inf"), 2.0], ": inf")],
)
def test_what_is_not_a_number_is_not_the_largest_difference(found, told):
    shown = _distance(torch.tensor(found), torch.tensor([1.0, 2.0]))
    assert shown.endswith(told) and ("diferencia" in shown) == bool(told)


def test_a_right_answer_keeps_only_its_code(out):
    seen = evidence_of(out, "Ángel Gil")
    for name, each in seen.items():
        assert topic_sheet(TOPIC).names[name] in each.code
        assert bool(each.obtained) == (name == SOFT)


def test_another_notebook_meets_other_inputs(out):
    ana, angel = (evidence_of(out, who)[SOFT] for who in ("Ana García", "Ángel Gil"))
    assert ana.code == angel.code and ana.inputs != angel.inputs


def test_the_page_shows_everything_and_nothing_of_it_runs(out):
    page = parse(pages(out, "evidence")["Ana García"])
    soft, hard = (page.find(id=name) for name in (SOFT, HARD))
    labels = [label.get_text() for label in soft.select("p.label")]
    assert labels == ["Su código", "Entradas", "Se esperaba", "Se obtuvo"]
    assert "no_beta" in soft.get_text() and "o usas β" in soft.get_text()
    assert "# <script>alert(1)</script>" in hard.pre.get_text()
    assert not page.find_all("script") and "\x1b" not in page.get_text()
    assert page.find(string=re.compile("no la repartas"))
    assert "default-src 'none'" in page.meta.find_next("meta")["content"]
    for each in (page, parse(out / "report.html")):
        assert not each.select("[src], link, iframe, object, embed, base, form")
        assert all(box.get("aria-label") for box in each.select("[tabindex]"))


def test_students_never_see_it(out):
    """Nada de lo esperado está en sus páginas ni en las notas."""
    secrets = {
        each.expected
        for one in read_class(out)
        for each in one.result.evidence.values()
        if len(each.expected) > 40
    }
    assert len(secrets) >= 3
    told = [*(out / "feedback").glob("*.html"), out / "grades.csv"]
    text = "\n".join(path.read_text("utf-8-sig") for path in told)
    assert len(told) == 7 and "evidence" not in text
    for secret in secrets:
        assert not any(line in text for line in secret.splitlines() if len(line) > 20)


def test_the_report_leads_to_the_answer_of_each(out):
    links = [a["href"] for a in parse(out / "report.html").select("a[href^='evidence/']")]
    name = pages(out, "evidence")["Ana García"].name
    assert f"evidence/{name}" in links and f"evidence/{name}#{SOFT}" in links
    for link in links:
        path, _, place = link.partition("#")
        assert (out / path).exists()
        assert not place or parse(out / path).find(id=place), link


def test_unrecognised_errors_are_grouped_by_what_they_do(out):
    """Dos códigos distintos que dan lo mismo van juntos; otro que da otra cosa, aparte."""
    (topic,) = ClassResults(read_class(out)).topics
    found = {
        (exercise.name, tuple(student.name for student, _ in mistake.found))
        for exercise, mistake in topic.unrecognised
    }
    assert found == {
        (SOFT, ("Eva Ruiz", "Luis Peña")),
        (SOFT, ("Iris Soto",)),
        (HARD, ("Ana García",)),
        (READ, ("Ana García",)),
    }
    together = parse(out / "report.html").find(string=re.compile("2 estudiantes, y lo que leyeron"))
    details = together.find_parent("details")
    code, edit = (pre.get_text() for pre in details.select("pre"))
    assert code == LOGISTIC, "el más corto"
    assert edit.startswith("- **nuevo_error**\n") and textwrap.indent(LOGISTIC, "  ") in edit
    assert "solutions/attention/soft_argmax.md" in details.get_text()


def test_explain_says_the_same_in_the_terminal(out):
    told = explain("ana", "soft_argmax", "--out", out)
    assert told.exit_code == 0, told.output
    seen = evidence_of(out, "Ana García")[SOFT]
    for text in (seen.code.rstrip(), seen.inputs, seen.expected, seen.obtained, "no_beta"):
        assert text in told.stdout
    hard = explain("Ana García", HARD, "--out", out)
    assert "se detuvo con IndexError: un texto suyo" in hard.stdout and "\x1b" not in hard.stdout
    assert "Se esperaba" not in explain("angel", "hard_argmax", "--out", out).stdout
    assert explain("garcia ana", "soft_argmax", "--out", out).stdout == told.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nadie", "soft_argmax"], "No hay nadie que se llame «nadie»"),
        (["g", "soft_argmax"], "puede ser Ana García, Ángel Gil"),
        (["ana", "nothing"], "no hay «nothing»: se calificó attention.soft_argmax,"),
    ],
)
def test_explain_says_whom_or_what_it_does_not_find(out, arguments, message):
    told = explain(*arguments, "--out", out)
    assert told.exit_code == 2 and message in told.stderr


@pytest.mark.parametrize(
    ("topics", "told"),
    [
        ((), "De Ana no hay «uno»: no se calificó nada, y el informe dice por qué."),
        (("a", "b"), "«uno» puede ser a.uno, b.uno: di también el tema."),
    ],
)
def test_explain_says_why_it_does_not_find_one(topics, told):
    works = [
        Graded(
            Entry("Ana", name, "t.ipynb", b""),
            SubmissionResult("graded", "", name, (ExerciseResult(f"{name}.uno", "wrong", 0, 1),)),
        )
        for name in topics
    ] or [Graded(Entry("Ana", "k", "t.ipynb", b""), SubmissionResult("unreadable", "vacío"))]
    (student,) = ClassResults(works).students
    with pytest.raises(typer.BadParameter, match=re.escape(told)):
        _answer(student, "uno")


def test_explain_needs_the_folder_of_a_class(tmp_path):
    told = explain("ana", "soft_argmax", "--out", tmp_path)
    assert told.exit_code == 2 and "no es la carpeta de una clase calificada" in told.stderr


def test_what_is_no_longer_delivered_is_not_of_the_class(out, tmp_path):
    """El resultado de quien retiró su cuaderno sigue guardado, y no cuenta."""
    assert len(read_class(out)) == 6
    keys = (out / "results" / "delivered").read_text().splitlines()
    copy = tmp_path / "results"
    copy.mkdir()
    for path in (out / "results").glob("*.json"):
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "delivered").write_text("\n".join(keys[:2]))
    assert [one.entry.key for one in read_class(tmp_path)] == keys[:2]
    (copy / f"{keys[0]}.json").write_text(json.dumps({}))
    assert explain("ana", "soft_argmax", "--out", tmp_path).exit_code == 2


def test_several_tensors_go_one_under_another_and_fit_in_half_a_page():
    with _readable_tensors():
        shown = _shown([torch.full((2, 9), 1e-5 / 3), torch.ones(2)]).splitlines()
    assert shown[0].startswith("[tensor([[") and shown[-1] == " tensor([1., 1.])]"
    assert max(map(len, shown)) <= 66


def test_of_a_thousand_tensors_only_the_first_are_written():
    with _readable_tensors():
        shown = _shown([[torch.rand(24, 25)] * 9 for _ in range(100)] + [torch.ones(2)])
    assert len(shown) < 20_000 and shown.endswith("…]")
