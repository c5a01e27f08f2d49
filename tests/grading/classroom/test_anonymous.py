"""Calificar sin nombres: nada de lo que se lee dice de quién es, y las notas llegan a quien es."""

import csv
import itertools
import json
import re
import unicodedata
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from course_lib.cli import app
from course_lib.grading.classroom import class_run
from course_lib.grading.classroom.anonymous import Anonymity
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.comparison import ClassComparison
from course_lib.grading.classroom.publication import publish
from course_lib.grading.classroom.results import ClassResults, Graded, topic_outline
from course_lib.grading.classroom.rubric import RUBRIC_FILE
from course_lib.grading.sandbox.evidence import Evidence
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from tests.grading.classroom.test_class_run import ThreadLane
from tests.grading.sandbox.hostile.cases import notebook

TOPIC, SOFT = "attention", "attention.soft_argmax"
ANA, JOAO, LI, MAX, ROLE = "Ana García", "João Błażej-Núñez", "李 小龙", "Max Sol", "Eva de la Peña"
NAMES = (ANA, JOAO, LI, MAX, ROLE)
CRITERIA = topic_outline(TOPIC).rubric
CODE = '''
# hecho por {name}, GARCÍA, Joao y JoãoNúñez
owner = "Luis Pérez O'Higgins"
def soft_argmax(scores, beta):
    """{upper} · {bare} · {together} · x{together}2 · {mail}@uni.edu"""
    open("/home/quien-sea/tarea.txt")
    largest = (scores@beta.mT).max(-1)
    return torch.softmax(beta * scores, -1)
'''


def bare(text):
    """Un texto sin acentos ni mayúsculas."""
    letters = unicodedata.normalize("NFKD", text.casefold()).replace("ł", "l")
    return "".join(c for c in letters if not unicodedata.combining(c))


def code_of(name):
    plain = bare(name)
    together = "".join(re.findall(r"\w+", plain))
    forms = {"upper": name.upper(), "bare": plain, "together": together}
    return CODE.format(name=name, mail=plain.replace(" ", "."), **forms)


def work(name, code=None, *, message="se detuvo: «x» (línea 2: # soy {name})", number=None, at=""):
    code, plain = code or code_of(name), bare(name).split()[0]
    told = ExerciseResult(SOFT, "wrong", 0, 1, message.format(name=name), property="values")
    seen = Evidence(code, "scores = tensor([1.])", "tensor([1.])", f"se detuvo con E: {name}", "m")
    result = SubmissionResult(
        "graded",
        "",
        TOPIC,
        (told,),
        (f"celda 3: NameError: {plain}",),
        1.0,
        (f"el cuaderno es el que se repartió a «{JOAO}», y se calificó con lo suyo.",),
        {SOFT: seen},
    )
    output = {"output_type": "stream", "name": "stdout", "text": [f"hola, {name}\n"]}
    image = {"data": {"image/png": "AAAA", "text/html": name}, "output_type": "display_data"}
    cells = notebook([code])
    cells["cells"][0]["outputs"] = [output, image]
    cells["metadata"] = {"authors": [{"name": name}]}
    content = json.dumps(cells).encode()
    entry = Entry(name, f"{plain}{at}", f"{name} tarea.ipynb", content, number, f"{name}_7_file")
    return Graded(entry, result)


def refused(name):
    reason = f"la entrega no tiene ningún cuaderno (.ipynb), sino «{name}.pdf»"
    return Graded(Entry(name, bare(name), name, reason), SubmissionResult("unreadable", reason))


WORKS = [work(ANA, number="20331"), work(ANA, "x = 1", number="20331", at="2"), work(JOAO)]
WORKS += [work(LI), work(MAX, "y = scores.max() # Max"), refused(ROLE)]


def anonymous(works, folder, **more):
    results = ClassResults(works, [TOPIC])
    known = Anonymity([one.entry for one in works], 7)
    publish(results, folder, anonymity=known, **more)
    return known


def read_by_the_grader(folder):
    """Todo lo que hay en la carpeta que se lee: cómo se llama cada archivo, y lo que dice."""
    paths = [path for path in (folder / "anonymous").rglob("*") if path.is_file()]
    return {path.name: path.read_text("utf-8") for path in paths}


def assert_nobody_is_named(told, names=NAMES):
    for path, text in told.items():
        words = re.findall(r"[^\W\d_]+", bare(f"{path}\n{text}"))
        joined = {w for a, b in itertools.pairwise(words) for w in (a, a + b)}
        for name in names:
            own = [w for w in re.findall(r"\w+", bare(name)) if len(w) > 2 or not w.isascii()]
            found = {*own, "".join(re.findall(r"\w+", bare(name)))} & joined
            # «max» es también del código: así no dice nada.
            assert found <= ({"max"} if re.search(r"\bmax\b", text) else set()), (path, found)


def test_nothing_that_is_read_says_whose_it_is(tmp_path):
    before = ClassResults([replace(w, entry=replace(w.entry, content=b"")) for w in WORKS], [TOPIC])
    changes = ClassComparison(before, ClassResults(WORKS, [TOPIC]))
    anonymous(WORKS, tmp_path, changes=changes)
    told = read_by_the_grader(tmp_path)
    assert len(told) == 1 + 4 + 5, "el informe, cuatro páginas de código y cinco cuadernos"
    assert_nobody_is_named(told)
    everything = "\n".join(told.values())
    assert "20331" not in everything and "Higgins" not in everything and "uni.edu" not in everything
    assert "quien-sea" not in everything and "Max" not in everything
    assert "feedback/" not in everything, "enlaza la página de alguien"
    assert not (tmp_path / "report.html").exists() and not (tmp_path / "evidence").exists()


def test_the_check_of_this_file_would_notice_a_name(tmp_path):
    publish(ClassResults(WORKS, [TOPIC]), tmp_path)
    named = {p.name: p.read_text("utf-8") for p in (tmp_path / "evidence").iterdir()}
    with pytest.raises(AssertionError):
        assert_nobody_is_named(named)


def test_the_code_is_still_the_code(tmp_path):
    known = anonymous(WORKS, tmp_path)
    source = known.graded(WORKS[2:3])[0].entry.source
    found = json.loads((tmp_path / "anonymous" / "notebooks" / source).read_text("utf-8"))
    (cell,) = found["cells"]
    assert "largest = (scores@beta.mT).max(-1)" in cell["source"]
    assert 'owner = "NOMBRE"' in cell["source"] and found["metadata"] == {}
    data = [output["data"] for output in cell["outputs"]]
    assert data == [{"text/plain": "hola, NOMBRE NOMBRE-NOMBRE\n"}, {"image/png": "AAAA"}]
    (max_code,) = [e.code for g in known.graded(WORKS[4:5]) for e in g.result.evidence.values()]
    assert max_code == "y = scores.max() # NOMBRE"


def test_the_grades_and_the_pages_of_the_students_keep_their_names(tmp_path):
    anonymous(WORKS, tmp_path)
    with (tmp_path / "grades.csv").open(encoding="utf-8-sig") as file:
        assert {row["Estudiante"] for row in csv.DictReader(file)} == set(NAMES)
    pages = [path.read_text("utf-8") for path in (tmp_path / "feedback").iterdir()]
    assert all(any(name in page for page in pages) for name in NAMES)


def test_the_numbers_follow_each_one_and_do_not_say_the_order(tmp_path):
    entries = [one.entry for one in WORKS]
    known, again = Anonymity(entries, 7), Anonymity(entries[::-1], 7)
    shown = {owner: entry.student for owner, entry in known.names.items()}
    assert shown == {owner: entry.student for owner, entry in again.names.items()}
    assert shown != {o: e.student for o, e in Anonymity(entries, 8).names.items()}
    assert len({*shown.values()}) == len(NAMES)
    students = ClassResults(known.graded(WORKS), [TOPIC], anonymous=True).students
    assert [s.name for s in students] == sorted(shown.values())


def test_two_that_would_have_the_same_number_have_longer_ones(monkeypatch):
    number = Anonymity._number
    short = lambda self, owner, digits=8: number(self, owner, digits if digits > 8 else 0)  # noqa: E731
    monkeypatch.setattr(Anonymity, "_number", short)
    names = {e.student for e in Anonymity([one.entry for one in WORKS], 7).names.values()}
    assert len(names) == len(NAMES) and all(re.fullmatch(r"Entrega \d{18}", n) for n in names)


def test_a_notebook_made_to_take_long_is_left_out_and_the_others_are_written(tmp_path, monkeypatch):
    monkeypatch.setattr("course_lib.grading.sandbox.judge.CPU_SECONDS", 1)
    endless = "a" + "\u0301" * 50_000 + "\u0323" * 50_000  # ordenarlas cuesta el cuadrado
    long = json.dumps(notebook([endless])).encode()
    slow = replace(work(ANA), entry=replace(work(ANA).entry, content=long))
    known = anonymous([slow, work(JOAO, "x = '" + "a" * 200_000 + "'")], tmp_path)
    (written,) = (tmp_path / "anonymous" / "notebooks").iterdir()
    assert written.name == known.graded([work(JOAO)])[0].entry.source


# Con la orden


@pytest.fixture
def grade(tmp_path, monkeypatch):
    """Califica la clase, en hilos y sin ejecutar nada."""
    monkeypatch.setattr(class_run, "why_unavailable", str)
    monkeypatch.setattr(class_run, "ProcessLane", ThreadLane)
    given = lambda content, order: work(order.student).result.as_data()  # noqa: E731
    monkeypatch.setattr(class_run, "grade_task", given)
    folder = tmp_path / "class"
    folder.mkdir()
    for name in NAMES[:2]:
        (folder / f"{name}.ipynb").write_bytes(work(name).entry.content)

    def run(*more, out="out"):
        command = ["grade", str(folder), "--out", str(tmp_path / out), *map(str, more)]
        return CliRunner(env={"COLUMNS": "200"}).invoke(app, command)

    return run


def fill(sheet, points):
    """Pone esos puntos en la primera fila, y da de quién es."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        header, *rows = csv.reader(file)
    rows[0][3:] = map(str, points)
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return rows[0][1]


def experiment_of(folder, name):
    with (folder / "grades.csv").open(encoding="utf-8-sig") as file:
        (row,) = [row for row in csv.DictReader(file) if row["Estudiante"] == name]
    return next((int(v) for k, v in row.items() if k.startswith(f"{TOPIC}.experiment")), None)


def test_the_rubric_filled_without_names_reaches_who_it_is(grade, tmp_path):
    done = grade("--anonymous")
    assert done.exit_code == 0 and not any(name in done.output for name in NAMES)
    out = tmp_path / "out"
    sheet = out / "anonymous" / RUBRIC_FILE
    assert_nobody_is_named(read_by_the_grader(out))
    number = fill(sheet, [criterion.points for criterion in CRITERIA])
    known = Anonymity([work(name).entry for name in NAMES[:2]], class_run.read_seed(out))
    (who,) = [w.entry.student for w in map(work, NAMES[:2]) if _number(known, w) == number]
    assert grade("--anonymous").exit_code == 0
    full = sum(criterion.points for criterion in CRITERIA)
    assert experiment_of(out, who) == full and "Experimento:" in _report(out / "anonymous")
    assert_nobody_is_named(read_by_the_grader(out))
    assert grade().exit_code == 0, "con nombres otra vez"
    assert experiment_of(out, who) == full and not (out / "anonymous").exists()
    assert who in (out / RUBRIC_FILE).read_text("utf-8-sig") and who in _report(out)
    assert grade("--anonymous").exit_code == 0
    assert not (out / RUBRIC_FILE).exists() and number in sheet.read_text("utf-8-sig")
    compared = grade("--compare", out, out="again")
    assert compared.exit_code == 0 and experiment_of(tmp_path / "again", who) == full


def _number(known, one):
    return known.names[one.entry.owner].student


def _report(folder):
    return (folder / "report.html").read_text("utf-8")


def test_two_rubrics_are_told(grade, tmp_path):
    grade("--anonymous")
    sheet = tmp_path / "out" / "anonymous" / RUBRIC_FILE
    (tmp_path / "out" / RUBRIC_FILE).write_bytes(sheet.read_bytes())
    done = grade("--anonymous")
    assert done.exit_code == 2 and "Hay dos hojas de la rúbrica" in done.stderr


def test_explain_and_overrides_take_the_number(grade, tmp_path):
    assert grade("--anonymous").exit_code == 0
    out = tmp_path / "out"
    known = Anonymity([work(name).entry for name in NAMES[:2]], class_run.read_seed(out))
    number = _number(known, work(ANA))
    order = ["explain", number, "soft_argmax", "--out", str(out)]
    told = CliRunner().invoke(app, order)
    assert told.exit_code == 0 and number in told.output and "def soft_argmax" in told.output
    assert_nobody_is_named({"": told.output})
    with (out / "overrides.csv").open("a", encoding="utf-8") as file:
        file.write(f"{number},total,1,Ana lo defendió\r\n")
    assert grade("--anonymous").exit_code == 0
    assert "NOMBRE lo defendió" in _report(out / "anonymous")
    with (out / "grades.csv").open(encoding="utf-8-sig") as file:
        assert {row["Estudiante"]: row["Total"] for row in csv.DictReader(file)}[ANA] == "1"


def test_a_dry_run_says_the_names(grade):
    done = grade("--anonymous", "--dry-run")
    assert done.exit_code == 2 and "dice los nombres" in done.stderr
