"""Lo que se cuenta de una clase: una vez, y con los títulos que el estudiante vio."""

import pytest

from course_lib.course_settings import AS_IT_COMES
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.results import (
    ClassResults,
    Graded,
    counted_worth,
    percent,
    topic_outline,
)
from course_lib.grading.classroom.untrusted_text import hint_html
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.grading.submission import exercises_folder
from course_lib.judging.check import topic_exercises

ROOT = exercises_folder().parent
TOPICS = sorted(path.stem for path in exercises_folder().glob("*.ipynb"))


def graded(student, topic, points, participant=None, status="graded", key="k"):
    exercises = (ExerciseResult(f"{topic}.uno", "wrong", points, 10),)
    result = SubmissionResult(status, "", topic, exercises if status == "graded" else ())
    return Graded(Entry(student, key, "t.ipynb", b"", participant), result)


def test_of_each_topic_the_best_counts():
    works = [
        graded("Ana", "a", 3, "1"),
        graded("Ana", "a", 7, "1", key="mejor"),
        graded("Ana", "a", 7, "1", key="empate"),
        graded("Ana", "b", 2, "1"),
        graded("Ana", "a", 9, "2"),
        graded("Ana", None, 0, "1", status="unreadable"),
    ]
    results = ClassResults(works)
    found = [
        (student.entry.participant, topic.name, topic.result.points, topic.files[0].entry.key)
        for student in results.students
        for topic in student.topics
    ]
    assert found == [("1", "a", 7, "mejor"), ("1", "b", 2, "k"), ("2", "a", 9, "k")]
    assert [len(student.works) for student in results.students] == [5, 1]
    assert [(s.points, s.max_points, s.percent) for s in results.students] == [
        (9, 20, 45),
        (9, 20, 45),
    ]
    assert results.delivered == {"a": 2, "b": 1}


def test_who_delivered_nothing_that_counts_has_no_grade_and_is_told():
    works = [graded("Ana", "a", 3), graded("Luis", "b", 9), graded("Eva", "a", 0)]
    results = ClassResults(works, ["a"])
    assert [(s.name, s.has_grade) for s in results.students] == [
        ("Ana", True),
        ("Eva", True),
        ("Luis", False),
    ]
    assert results.percents == [30, 0], "un cero es de quien entregó lo que se pedía"
    (luis,) = results.off_topic
    assert luis.off_topic == "solo entregó «b», que no cuenta para esta nota"


@pytest.mark.parametrize("topics", [(), ["a"], ["a", "b"], ["attention"]])
def test_what_a_class_is_worth_is_known_without_counting_it(topics):
    works = [graded("Ana", "a", 3), graded("Luis", "b", 9), graded("Eva", None, 0, status="failed")]
    results = ClassResults(works, topics)
    worth = counted_worth(works, topics, AS_IT_COMES)
    assert worth == results.counted and sum(worth.values()) == results.max_points > 0


def test_a_topic_counts_every_notebook_and_each_student_once():
    works = [graded(name, "a", n, key=f"{name}{n}") for n, name in enumerate("xyz")]
    works += [graded("x", "a", 10, key="x10"), graded("y", None, 0, status="unknown")]
    (topic,) = ClassResults(works).topics
    assert (len(topic.files), topic.full, topic.empty, topic.mean) == (4, 1, 1, 13 / 4)
    assert topic.percents == [100, 10, 20]
    (exercise,) = topic.exercises
    assert (exercise.mean, exercise.distribution) == (13 / 3, [(1, 1), (2, 1), (10, 1)])


def test_who_could_not_be_graded_is_of_the_class_and_of_no_topic():
    works = [graded("Ana", "a", 3), graded("Luis", None, 0, status="unreadable")]
    results = ClassResults(works, ["a"])
    ana, luis = results.students
    assert (results.graded, len(results.works)) == (1, 2)
    assert results.refused == [(luis, works[1])] and not ana.refused
    assert results.percents == [30] and luis.undelivered == [("a", 10)]


@pytest.mark.parametrize(
    ("points", "shown"), [((0, 0), 0), ((0, 9), 0), ((6, 14), 43), ((199, 200), 99), ((9, 9), 100)]
)
def test_a_percentage_is_rounded_and_a_hundred_is_everything(points, shown):
    assert percent(*points) == shown


# Los títulos


@pytest.mark.parametrize("topic", TOPICS)
def test_every_topic_has_titles_chapters_and_hints_that_can_be_written(topic):
    outline = topic_outline(topic)
    assert outline.title != topic
    for number, exercise in enumerate(topic_exercises(topic), 1):
        assert outline.heading(exercise.name).startswith(f"Ejercicio {number} · ")
        for misconception in exercise.misconceptions:
            written = hint_html(misconception.hint)
            assert "`" not in written and "$" not in written, f"{exercise.name}: {written}"
    assert all((ROOT / "book" / f"{page}.md").exists() for page in outline.chapters)
    assert outline.chapters


def test_a_topic_without_notebook_keeps_its_names():
    assert topic_outline("nowhere").heading("nowhere.thing") == "nowhere.thing"
    assert topic_outline("../../etc/passwd").headings == {}
