"""Los cuadernos del curso no son la entrega de nadie; se avisa de las respuestas iguales."""

import ast
import csv
import io
import json
import re
import textwrap
import time

import nbformat
import pytest

from course_lib.grading import provenance
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.publication import publish
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.classroom.task import Order, course_version, grade_task
from course_lib.grading.provenance import (
    COURSE,
    COURSE_NOTEBOOKS,
    UNREAD,
    answer_marks,
    copied_answers,
    course_cells,
    course_notebook,
    uncompared_answers,
)
from course_lib.grading.sandbox.grader import ExerciseResult, Grader, SubmissionResult
from course_lib.grading.submission import (
    Submission,
    exercises_folder,
    read_submission,
    topic_sheet,
)
from tests.grading.class_zip import CORRECT, right_answers
from tests.grading.class_zip import notebook as student_notebook
from tests.grading.sandbox.hostile.cases import notebook

ROOT = exercises_folder().parent
TOPICS = sorted(path.stem for path in exercises_folder().glob("*.ipynb"))
every_topic = pytest.mark.parametrize("topic", TOPICS)


def stored(kind, topic):
    return (ROOT / kind / f"{topic}.ipynb").read_bytes()


def kind_of(content, topic):
    return course_notebook(read_submission(content), topic_sheet(topic))


def notice(content, topic):
    return copied_answers(read_submission(content), topic_sheet(topic))


# Los disfraces de un cuaderno del curso


def as_it_is(content):
    return content


def saved_again(content):
    """Como lo guarda Jupyter: otra sangría, textos en una pieza, otros números de ejecución."""
    found = json.loads(content)
    for number, cell in enumerate(found["cells"], 1):
        cell["source"] = "".join(cell["source"])
        cell["metadata"] = {"editable": True, "slideshow": {"slide_type": ""}}
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
    found["nbformat_minor"] = 5
    return json.dumps(found, indent=4, ensure_ascii=True).encode()


def without_metadata(content):
    found = json.loads(content)
    found["metadata"] = {}
    found["cells"] = [cell | {"metadata": {}} for cell in found["cells"]]
    for number, cell in enumerate(found["cells"]):
        cell["id"] = f"c{number}"
    return json.dumps(found).encode()


def cleared(content):
    found = nbformat.reads(content.decode(), as_version=4)
    for cell in found.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return nbformat.writes(found).encode()


def reordered_and_commented(content):
    found = json.loads(content)
    code = [cell for cell in found["cells"] if cell["cell_type"] == "code"]
    code[1]["source"] = ["# mi tarea\n", *code[1]["source"]]
    code.append({**code[0], "id": "mine", "source": "# Ana García"})
    return json.dumps(found | {"cells": code[::-1]}).encode()


def of_format_3(content):
    found = nbformat.reads(content.decode(), as_version=4)
    return nbformat.writes(nbformat.convert(found, 3)).encode()


DISGUISES = (
    *(as_it_is, saved_again, without_metadata, cleared, reordered_and_commented),
    of_format_3,
)


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda disguise: disguise.__name__)
@pytest.mark.parametrize("kind", COURSE_NOTEBOOKS)
def test_a_notebook_of_the_course_is_recognised_in_disguise(kind, disguise):
    assert kind_of(disguise(stored(kind, "self_attention")), "self_attention") == kind


@every_topic
def test_the_two_notebooks_of_each_topic_are_recognised(topic):
    assert {kind: kind_of(stored(kind, topic), topic) for kind in COURSE_NOTEBOOKS} == {
        kind: kind for kind in COURSE_NOTEBOOKS
    }


@every_topic
def test_answers_written_in_another_way_are_someones_and_draw_no_notice(topic):
    answers = dict.fromkeys(topic_sheet(topic).names, CORRECT)
    assert len(right_answers(topic)) >= len(answers) - 1
    content = student_notebook(topic, answers)
    assert (kind_of(content, topic), notice(content, topic)) == ("", "")


def with_code(topic, kind, change):
    found = json.loads(stored(kind, topic))
    for cell in found["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = change("".join(cell["source"]))
    return json.dumps(found).encode()


def test_one_answer_of_ones_own_makes_it_ones_own():
    mine = with_code(
        "self_attention", "solutions", lambda code: code.replace('answer = "BCA"', 'answer = "ABC"')
    )
    assert kind_of(mine, "self_attention") == ""
    one = with_code(
        "attention", "exercises", lambda code: re.sub(r"^ties = .*$", "ties = {}", code, flags=re.M)
    )
    assert kind_of(one, "attention") == ""


def test_a_cell_more_does_not_hide_the_solutions_nor_a_demonstration_less():
    found = json.loads(stored("solutions", "self_attention"))
    extra = found["cells"][0] | {"cell_type": "code", "outputs": [], "execution_count": None}
    found["cells"].append(extra | {"source": "nombre = 'Ana'\nprint(nombre)", "id": "mine"})
    found["cells"] = [c for c in found["cells"] if "plot_attention(" not in "".join(c["source"])]
    assert kind_of(json.dumps(found).encode(), "self_attention") == "solutions"


def test_a_notebook_without_code_is_not_of_the_course():
    assert kind_of(json.dumps(notebook([])).encode(), "attention") == ""
    assert kind_of(json.dumps(notebook(["# nada", ""])).encode(), "attention") == ""


def test_what_is_not_python_or_is_too_deep_is_nobodys():
    deep = "x = " + "+".join(["1"] * 20_000)
    cells = [*course_cells("exercises", "attention"), deep, "def weights(:", "\0"]
    assert kind_of(json.dumps(notebook(cells)).encode(), "attention") == ""
    assert notice(json.dumps(notebook(cells)).encode(), "attention") == ""


# Las respuestas iguales


class Renamed(ast.NodeTransformer):
    """Cambia los nombres de dentro de cada función, como quien disimula."""

    def visit_FunctionDef(self, node):
        own = {arg.arg for arg in ast.walk(node) if isinstance(arg, ast.arg)}
        own |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)}
        for each in ast.walk(node):
            if isinstance(each, ast.Name) and each.id in own:
                each.id = f"mi_{each.id}"
            elif isinstance(each, ast.arg):
                each.arg, each.annotation = f"mi_{each.arg}", None
        node.body.insert(0, ast.Expr(ast.Constant("Mi respuesta.")))
        return node


def _is_stored(node):
    return isinstance(node.ctx, ast.Store)


def renamed(code):
    try:
        return ast.unparse(ast.fix_missing_locations(Renamed().visit(ast.parse(code))))
    except SyntaxError:
        return code


@every_topic
def test_most_long_answers_equal_to_those_of_the_course_are_told(topic):
    copied = with_code(topic, "solutions", renamed)
    found = re.match(r"(\d+) de sus (\d+) respuestas largas", notice(copied, topic))
    assert found and found[1] == found[2], "los nombres, los comentarios y los textos no importan"
    assert kind_of(copied, topic) == "", "ya no es el cuaderno sin cambios"
    assert notice(stored("exercises", topic), topic) == ""


def test_a_copy_inside_an_if_or_beside_a_magic_is_told_too():
    def hidden(code):
        inside = "if True:\n" + textwrap.indent(code, "    ") if code.startswith("def ") else code
        return f"%matplotlib inline\n{inside}"

    copied = with_code("attention", "solutions", hidden)
    assert re.match(r"(\d+) de sus \1 respuestas largas", notice(copied, "attention"))


def test_a_few_equal_answers_are_not_told():
    long = ("attention.soft_argmax", "attention.masked_attention")
    answers = dict.fromkeys(topic_sheet("attention").names, CORRECT)
    for exercise in long:
        (name,) = (n for e, n in topic_sheet("attention").names.items() if e == exercise)
        cells = course_cells("solutions", "attention")
        (answers[exercise],) = (text for text in cells if f"def {name}(" in text)
    assert notice(student_notebook("attention", answers), "attention") == ""


# Al calificar


def test_a_notebook_of_the_course_has_no_grade_and_is_not_executed(sandbox_here, monkeypatch):
    monkeypatch.setattr(Grader, "worker", lambda *how: pytest.fail("no hay que ejecutarla"))
    for kind, told in COURSE_NOTEBOOKS.items():
        for topic in (None, "attention", "self_attention"):
            order = Order(5, course_version(), topic)
            found = SubmissionResult.from_data(grade_task(stored(kind, "self_attention"), order))
            assert (found.status, found.topic) == ("course", "self_attention")
            assert found.message == told and not found.exercises


def delivered(student, source, status, message="", points=()):
    number = {"Ana": "11", "Beto": "12"}[student]
    folder = f"{student}_{number}_assignsubmission_file_"
    entry = Entry(student, f"{student}-{source}", f"{source}.ipynb", b"", number, folder, "moodle")
    exercises = tuple(ExerciseResult(f"attention.{n}", "correct", n, n) for n in points)
    return Graded(entry, SubmissionResult(status, message, "attention", exercises))


def test_a_notebook_of_the_course_is_told_and_never_counts(tmp_path):
    """Ana entrega el suyo en una copia del proyecto; Beto, solo las soluciones."""
    told = COURSE_NOTEBOOKS["solutions"]
    works = [
        delivered("Ana", "exercises", "course", COURSE_NOTEBOOKS["exercises"]),
        delivered("Ana", "mio", "graded", points=(1, 2)),
        delivered("Ana", "solutions", "course", told),
        delivered("Beto", "solutions", "course", told),
    ]
    results = ClassResults(works)
    assert [(len(s.refused), len(s.set_aside)) for s in results.students] == [(0, 2), (1, 0)]
    publish(results, tmp_path)
    rows = list(csv.DictReader((tmp_path / "grades.csv").open(encoding="utf-8-sig")))
    assert [(r["Total"], r["Máximo"]) for r in rows] == [("3", "3"), ("", "")]
    assert "no se calificaron 2 cuadernos del curso, sin cambios" in rows[0]["Observaciones"]
    assert rows[1]["Observaciones"] == f"solutions.ipynb: {told}"
    sheet = (tmp_path / "moodle_worksheet.csv").read_text(encoding="utf-8-sig")
    ana, beto = list(csv.DictReader(io.StringIO(sheet)))
    assert (ana["Calificación"], beto["Calificación"]) == ("3.00", "")
    assert "no se calificaron 2 cuadernos" in ana["Comentarios de retroalimentación"]
    assert f"Sin calificar: solutions.ipynb: {told}" in beto["Comentarios de retroalimentación"]
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<section id="set-aside">' in report and '<section id="refused">' in report
    pages = {p.stem[:3]: p.read_text(encoding="utf-8") for p in tmp_path.glob("feedback/*.html")}
    assert "Estos cuadernos venían con lo que entregaste" in pages["ana"]
    assert "Qué cuaderno contó" not in pages["ana"], "los del curso no son otros intentos"
    assert told in pages["bet"] and "Busca el cuaderno donde escribiste" in pages["bet"]


def test_the_notice_goes_with_the_grade(sandbox_here):
    from course_lib.grading.classroom.task import close_grader

    def long(code):
        return renamed(code) + "\nx = 1" * 9000 * ("def hard_lookup" in code)

    try:
        copied = with_code("key_value_store", "solutions", long)
        found = SubmissionResult.from_data(grade_task(copied, Order(5, course_version())))
    finally:
        close_grader()
    assert found.status == "graded" and found.points == found.max_points, found
    assert re.match(r"(\d+) de sus \1 respuestas largas", found.notes[-2])
    assert re.match(r"no se comparó, .*: hard_lookup\.", found.notes[-1])


# Lo que cuesta leer una entrega


LINES = "    x = 1\n    y = 2\n    return"


def marks_of(*cells):
    return answer_marks(Submission(cells), topic_sheet("attention"))


def test_a_cell_is_analysed_once_however_many_answers_it_names(monkeypatch):
    marks_of("pass")  # con las del curso ya leídas
    read, parse_cell = [], provenance.parse_cell
    monkeypatch.setattr(
        provenance, "parse_cell", lambda text: read.append(text) or parse_cell(text)
    )
    names = topic_sheet("attention").names.values()
    assert marks_of("".join(f"def {name}(a):\n{LINES} a\n" for name in names))
    assert len(read) == 1


def test_an_answer_inside_another_has_its_own_mark():
    alone = marks_of(f"def hard_argmax(a):\n{LINES} a\n")
    inside = f"def hard_argmax(a):\n{LINES} a\n".replace("\n", "\n    ").rstrip()
    both = marks_of(f"def soft_argmax(b):\n    {inside}\n    return b\n")
    assert both["attention.hard_argmax"] == alone["attention.hard_argmax"]
    assert both["attention.soft_argmax"] != both["attention.hard_argmax"]


def test_an_answer_too_deep_is_not_compared_and_the_others_are():
    deep = f"def soft_argmax(a):\n{LINES} {'{1:' * 190}a{'}' * 190}\n"
    enormous = f"def decoding_step(a):\n{LINES} 0x{'f' * 5000}\n"
    marks = marks_of(deep, enormous, f"def hard_argmax(a):\n{LINES} a\n")
    unread = {name for name, mark in marks.items() if mark == UNREAD}
    assert unread == {"attention.soft_argmax", "attention.decoding_step"} and len(marks) == 3
    told = uncompared_answers(marks)
    assert "soft_argmax, decoding_step" in told and "hard_argmax" not in told
    assert uncompared_answers({"attention.hard_argmax": COURSE}) == ""


PADDING = {
    "comentarios": "# relleno\n" * 5000,
    "comentarios detrás": "        pass  # es relleno: {}\n" + " " * 40_000 + "\n",
    "textos sueltos": "        'relleno, que no \\' acaba # aquí {}'\n" * 5000,
    "un texto": '        """' + "relleno {x} \\\n" * 5000 + '"""\n',
}


@pytest.mark.parametrize("padding", PADDING.values(), ids=PADDING)
def test_what_says_nothing_does_not_hide_a_copy(padding):
    """Una copia rellenada, también dentro de un `if`, tiene la marca de la que no lo está."""
    answer = "def soft_argmax(a):\n    if a:\n        return a\n{}    y = 2\n    return y\n"
    short = padding.splitlines()[0] + "\n" if padding.lstrip().startswith("pass") else ""
    one, other = marks_of(answer.format(short)), marks_of(answer.format(padding))
    assert one == other and UNREAD not in one.values() and len(padding) > 1 << 15


def test_what_no_answer_needs_is_neither_analysed_nor_left_unsaid(monkeypatch):
    """Con todas las respuestas, una dentro de otra, gastaba más de lo que puede un juez."""
    names = list(topic_sheet("attention").names.values())
    other = f"def hard_argmax(a):\n{LINES} a\n"
    marks_of(other)  # con las del curso ya leídas
    huge = f"def soft_argmax(a):\n{LINES} a\n"
    inside = "".join(f"{'  ' * i}def {name}(a):\n" for i, name in enumerate(names))
    inside += f"{'  ' * len(names)}x = a, a, a\n" * 1000
    assert set(marks_of(inside).values()) == {UNREAD} and len(marks_of(inside)) == len(names)
    monkeypatch.setattr(provenance, "parse_cell", {other: ast.parse(other)}.__getitem__)
    for rest in ("x = 1\n" * 9000, "''\n" * 12_000, f"f'{{{'a, ' * 12_000}}}'\n", "#\n" * 17_000):
        found = marks_of(huge + rest, other)
        assert found == marks_of(other) | {"attention.soft_argmax": UNREAD}
        assert marks_of(huge.replace("def", "# def") + rest, other) == marks_of(other)


@pytest.mark.parametrize("rest", (", \\", '"\\', "'#", "f'{", "'a\\\n"))
def test_texts_that_do_not_end_are_read_once(rest):
    """Una expresión que volviera a empezar en cada comilla tardaría minutos."""
    began = time.process_time()
    marks_of("def soft_argmax(a):\n" + rest * (400_000 // len(rest)))
    assert time.process_time() - began < 5
