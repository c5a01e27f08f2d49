"""Respuestas idénticas: qué código es el mismo, y de quiénes se avisa."""

from dataclasses import replace

from bs4 import BeautifulSoup

from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.identical import same_code
from course_lib.grading.classroom.report import class_report, evidence_page
from course_lib.grading.classroom.results import ClassResults, Graded
from course_lib.grading.provenance import COURSE, answer_marks, course_answer
from course_lib.grading.sandbox.evidence import Evidence
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.grading.submission import read_submission, topic_sheet
from tests.grading.class_zip import PENDING, notebook

TOPIC = "attention"
TOP_K, SOFT = f"{TOPIC}.top_k_weights", f"{TOPIC}.soft_argmax"
MINE = """
def top_k_weights(scores, k, beta):
    order = scores.argsort(dim=-1, descending=True, stable=True)
    ranks = order.argsort(dim=-1)
    kept = scores.where(ranks < k, -torch.inf)
    return torch.softmax(beta * kept, dim=-1)
"""
RENAMED = '''
def top_k_weights(s: torch.Tensor, n, b):
    """Con otros nombres, y explicado."""
    # primero, el orden
    o = s.argsort(dim=-1, descending=True, stable=True)
    places = o.argsort(dim=-1)

    left = s.where(places < n, -torch.inf)
    return torch.softmax(b * left, dim=-1)
'''
OTHER = MINE.replace("stable=True", "stable=False")
SHORT = "def soft_argmax(s, beta):\n    return (beta * s).sigmoid()"


def marks(**answers):
    full = dict.fromkeys(topic_sheet(TOPIC).names, PENDING)
    full |= {f"{TOPIC}.{name}": code for name, code in answers.items()}
    return answer_marks(read_submission(notebook(TOPIC, full)), topic_sheet(TOPIC))


def test_names_comments_and_types_do_not_matter_and_the_rest_does():
    one, same, other = (marks(top_k_weights=code)[TOP_K] for code in (MINE, RENAMED, OTHER))
    assert one == same != other and COURSE not in (one, other)


def test_what_is_the_solution_of_the_course_says_so():
    code = course_answer(TOPIC, "top_k_weights")
    assert marks(top_k_weights=code) == {TOP_K: COURSE}


def test_short_answers_and_blank_ones_have_no_mark():
    assert marks() == {} and marks(soft_argmax="soft_argmax = torch.softmax") == {}
    (exercise,) = marks(hard_argmax="def hard_argmax(s):\n    return s.argmax(-1)") or ("",)
    assert exercise in ("", f"{TOPIC}.hard_argmax"), "solo si el curso la resuelve en varias líneas"


# A quiénes se avisa

NAMES = list(topic_sheet(TOPIC).names)


def work(student, *own):
    """Una entrega: la marca de cada una de sus respuestas, en orden; «-», ninguna."""
    evidence = {
        name: Evidence(f"# {student}: {mark}", mark="" if mark == "-" else mark)
        for name, mark in zip(NAMES, own, strict=False)
    }
    answers = tuple(ExerciseResult(name, "correct", 1, 1) for name in NAMES)
    result = SubmissionResult("graded", "", TOPIC, answers, evidence=evidence)
    return Graded(Entry(student, student, f"{student}.ipynb", b""), result)


def groups(*works):
    found = same_code(ClassResults(works).students, TOPIC)
    return [([s.name for s in each.students], len(each.answers)) for each in found]


def test_several_equal_answers_join_who_has_them():
    copied = work("Ana", *"abc"), work("Luis", *"abc"), work("Eva", *"xyz"), work("Noa", *"ab-")
    assert groups(*copied) == [(["Ana", "Luis"], 3)]


def test_two_equal_answers_or_those_of_the_course_say_nothing():
    assert groups(work("Ana", *"abc"), work("Luis", *"abz")) == []
    course = [COURSE] * 5
    assert groups(work("Ana", *course), work("Luis", *course)) == []


def test_groups_that_share_someone_are_one():
    found = groups(work("Ana", *"abc"), work("Eva", *"abcdef"), work("Luis", *"---def"))
    assert found == [(["Ana", "Eva", "Luis"], 6)]


def test_what_much_of_the_class_writes_says_nothing():
    assert groups(*(work(f"s{i}", *"abc") for i in range(4))) == []
    many = [work(f"x{i:02}", f"p{i}", f"q{i}", f"r{i}") for i in range(16)]
    assert groups(*many, *(work(f"s{i}", *"abc") for i in range(5))) == [
        ([f"s{i}" for i in range(5)], 3)
    ]


def test_the_report_shows_the_code_side_by_side():
    works = [work("Ana", *"abc"), work("Luis", *"abc")]
    page = BeautifulSoup(class_report(ClassResults(works)), "html.parser")
    section = page.select_one("#same-code")
    assert "Ningún punto cambia" in section.get_text()
    shown = [[pre.get_text() for pre in case.select("pre")] for case in section.select(".case")]
    assert shown == [[f"# Ana: {mark}", f"# Luis: {mark}"] for mark in "abc"]
    alone = BeautifulSoup(class_report(ClassResults(works[:1])), "html.parser")
    assert alone.select_one("#same-code") is None


def test_of_those_joined_by_someone_each_answer_says_whose_it_is():
    chain = [work("Ana", *"abc---"), work("Eva", *"abcdef"), work("Luis", *"---def")]
    many = [work(f"Noa {i}", *"xyz") for i in range(6)]
    twin = [replace(w, entry=replace(w.entry, student="Eva", participant="7")) for w in chain[1:2]]
    fill = [work(f"Otra {i:02}") for i in range(20)]
    page = class_report(ClassResults([*chain, *many, *twin, *fill]))
    section = BeautifulSoup(page, "html.parser").select_one("#same-code")
    told = [
        " ".join(each.get_text().split())
        for each in section.select("h3, summary, h3 + p, details > p")
    ]
    assert "Atención: 6 respuestas que tienen igual dos o más de ellos." in told
    assert "Ejercicio 1 · El arg max suave · Ana, Eva 7 y Eva" in " ".join(told).replace(
        "Eva y Eva 7", "Eva 7 y Eva"
    )
    assert "Atención: 3 respuestas iguales." in told
    assert "Y lo tienen igual Noa 4 y Noa 5." in told


def test_an_answer_like_the_solution_is_shown_beside_it():
    (student,) = ClassResults([work("Ana", COURSE)]).students
    page = BeautifulSoup(evidence_page(student), "html.parser")
    shown = [pre.get_text() for pre in page.find(id=NAMES[0]).select(".case pre")]
    assert shown[0] == f"# Ana: {COURSE}"
    assert shown[1].startswith("def soft_argmax(scores, beta):")
