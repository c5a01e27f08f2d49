"""Lo que obtuvo cada estudiante: sus entregas, juntas y contadas. La plantilla dice cómo se ve."""

from __future__ import annotations

import functools
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from course_lib.grading.classroom.collection import (
    Graded,
    best_by_topic,
    by_student,
    counted_topics,
    refused,
    set_aside,
    topics_worth,
)
from course_lib.grading.classroom.outline import topic_outline
from course_lib.grading.classroom.page_text import visible
from course_lib.grading.sandbox.grader import ExerciseResult

STATES = {
    "correct": "correcto",
    "partial": "correcto en parte",
    "wrong": "incorrecto",
    "error": "se detuvo",
    "missing": "falta",
    "pending": "pendiente",
}
TO_FIX = ("wrong", "error", "partial")
TO_ANSWER = ("missing", "pending")


def percent(points: int, max_points: int) -> int:
    """Da el porcentaje, redondeado; 100 es solo haberlo hecho todo."""
    if points >= max_points:
        return 100 if max_points else 0
    return min(99, round(100 * points / max_points))


@dataclass(frozen=True)
class Student:
    """Una persona, lo que entregó y la ruta de su página.

    Argumentos:
        graded: sus entregas.
        counted: los temas que cuentan en la nota y lo que vale cada uno; si falta, los que entregó.
        link: la ruta de su página.
        namesake: si alguien más se llama igual.
    """

    graded: tuple[Graded, ...]
    counted: Mapping[str, int] | None = None
    link: str = ""
    namesake: bool = False

    @property
    def name(self) -> str:
        return visible(self.graded[0].entry.student, 120) or "(sin nombre)"

    @property
    def mark(self) -> str:
        """Lo que distingue a quienes se llaman igual."""
        return visible(self.graded[0].entry.participant or "", 20) if self.namesake else ""

    @functools.cached_property
    def best(self) -> dict[str, Graded]:
        return {one.result.topic: one for one in best_by_topic(self.graded)}

    @property
    def refused(self) -> list[Graded]:
        """Lo que no se calificó, sin los cuadernos del curso que venían con otra cosa."""
        return refused(self.graded)

    @property
    def set_aside(self) -> list[Graded]:
        """Los cuadernos del curso, sin cambios, que venían con otra cosa."""
        return set_aside(self.graded)

    @property
    def worth(self) -> Mapping[str, int]:
        """Los temas que cuentan en su nota y lo que vale cada uno."""
        return topics_worth(self.graded) if self.counted is None else self.counted

    @property
    def points(self) -> int:
        return sum(one.result.points for name, one in self.best.items() if name in self.worth)

    @property
    def max_points(self) -> int:
        return sum(self.worth.values())

    @property
    def undelivered(self) -> list[tuple[str, int]]:
        """Los temas que cuentan y no entregó: su título y lo que valen."""
        missing = [name for name in self.worth if name not in self.best]
        return [(topic_outline(name).title, self.worth[name]) for name in missing]

    @property
    def done(self) -> bool:
        """Si no le queda nada por corregir ni por entregar."""
        perfect = (one.result.points == one.result.max_points for one in self.best.values())
        return not self.undelivered and all(perfect)

    @property
    def topics(self) -> list[StudentTopic]:
        return [StudentTopic(name, self) for name in sorted(self.best)]

    @property
    def results(self) -> list[ExerciseResult]:
        return [result for one in self.best.values() for result in one.result.exercises]


@dataclass(frozen=True)
class Answer:
    """Un ejercicio de un estudiante, con el título que tiene en el cuaderno."""

    index: int
    heading: str
    result: ExerciseResult


class StudentTopic:
    """Un tema de un estudiante: el cuaderno que cuenta y los demás que entregó de él."""

    def __init__(self, name: str, student: Student) -> None:
        self.name, self.outline = name, topic_outline(name)
        self.counts = name in student.worth
        best = student.best[name]
        graded = [g for g in student.graded if g.result.status == "graded"]
        others = [g for g in graded if g.result.topic == name and g is not best]
        self.result, self.files = best.result, [best, *others]
        self.tied = any(one.result.points == self.result.points for one in others)
        self.exercises = [
            Answer(index, self.outline.heading(result.exercise), result)
            for index, result in enumerate(self.result.exercises, 1)
        ]

    @property
    def correct(self) -> int:
        return len(self._in("correct"))

    @property
    def to_fix(self) -> list[Answer]:
        return self._in(*TO_FIX)

    @property
    def to_answer(self) -> list[Answer]:
        return self._in(*TO_ANSWER)

    def _in(self, *states: str) -> list[Answer]:
        return [answer for answer in self.exercises if answer.result.state() in states]


def students_of(
    graded: Sequence[Graded], links: Mapping[str, str], topics: Sequence[str] = ()
) -> list[Student]:
    """Reúne las entregas de la clase por estudiante, en orden alfabético.

    Argumentos:
        graded: todas las entregas.
        links: por clave de entrega, la ruta de la página de su estudiante.
        topics: los temas que cuentan; si faltan, todos los que se entregaron.
    """
    counted = counted_topics(graded, topics)
    groups = [tuple(own) for own in by_student(graded).values()]
    names = Counter(Student(own).name for own in groups)
    students = [
        Student(own, counted, links.get(own[0].entry.key, ""), names[Student(own).name] > 1)
        for own in groups
    ]
    return sorted(students, key=lambda student: (_alphabetical(student.name), student.mark))


def _alphabetical(name: str) -> str:
    """La clave con que «Ángela» va entre las demás de la A."""
    letters = unicodedata.normalize("NFD", name.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c))
