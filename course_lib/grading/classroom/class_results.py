"""Lo que obtuvo una clase: por tema, por ejercicio y por error. La plantilla dice cómo se ve."""

from __future__ import annotations

import functools
import re
import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.grading.classroom.collection import Graded
from course_lib.grading.classroom.outline import topic_outline
from course_lib.grading.classroom.page_text import visible
from course_lib.grading.classroom.student_results import (
    STATES,
    TO_ANSWER,
    TO_FIX,
    Student,
    percent,
)
from course_lib.grading.sandbox.grader import ExerciseResult

_SLOWEST = 10


class ClassResults:
    """Lo que obtuvo la clase entera.

    Argumentos:
        students: quienes entregaron, con los mismos temas que cuentan.
    """

    def __init__(self, students: list[Student]) -> None:
        self.students = students
        names = sorted({name for student in students for name in student.best})
        self.topics = [ClassTopic(name, students) for name in names]
        self.max_points = students[0].max_points if students else 0
        self.rows = [Row(student, self) for student in students]
        self.percents = [row.percent for row in self.rows if row.student.best]
        self.refused = [(s, one) for s in students for one in s.refused]
        self.set_aside = [(s, s.set_aside) for s in students if s.set_aside]
        self.stopped = [(s, g) for s in students for g in s.graded if g.result.broken_cells]
        self.doubtful = [(s, g) for s in students for g in s.graded if g.result.notes]

    @property
    def _worth(self) -> Mapping[str, int]:
        return self.students[0].worth if self.students else {}

    @property
    def counted(self) -> list[str]:
        """Los títulos de los temas que cuentan en la nota."""
        return [topic_outline(name).title for name in self._worth]

    @property
    def uncounted(self) -> list[str]:
        """Los títulos de los temas que no cuentan en la nota."""
        return [topic.outline.title for topic in self.topics if topic.name not in self._worth]

    @property
    def several(self) -> bool:
        """Si el total puede no ser lo mismo que los puntos de un tema."""
        return max(len(self.topics), len(self._worth)) > 1

    @property
    def delivered(self) -> int:
        return sum(len(student.graded) for student in self.students)

    @property
    def graded(self) -> int:
        return sum(one.result.status == "graded" for s in self.students for one in s.graded)

    @property
    def median(self) -> int:
        return int(statistics.median(self.percents))

    @property
    def perfect(self) -> int:
        return self.percents.count(100)

    @property
    def slowest(self) -> list[tuple[Student, Graded]]:
        timed = [(s, one) for s in self.students for one in s.graded if one.result.seconds > 0]
        return sorted(timed, key=lambda pair: pair[1].result.seconds, reverse=True)[:_SLOWEST]


class Row:
    """Un renglón de la tabla de estudiantes."""

    def __init__(self, student: Student, group: ClassResults) -> None:
        self.student = student
        names = [topic.name for topic in group.topics]
        self.by_topic = [
            student.best[n].result.points if n in student.best else None for n in names
        ]
        self.points = student.points
        self.percent = percent(student.points, student.max_points)
        states = Counter(result.state() for result in student.results)
        self.correct = states["correct"]
        self.to_fix = sum(states[state] for state in TO_FIX)
        self.to_answer = sum(states[state] for state in TO_ANSWER)


@dataclass(frozen=True)
class Mistake:
    """Un error y quiénes lo cometieron, con lo que se dijo a cada cual.

    Argumentos:
        name: el del error frecuente; vacío si no se reconoció ninguno.
        found: cada estudiante y lo que obtuvo.
    """

    name: str
    found: list[tuple[Student, ExerciseResult]]

    @property
    def example(self) -> ExerciseResult:
        """Uno de los resultados, de quien no cometió a la vez otro error si hay alguien así."""
        return min((result for _, result in self.found), key=lambda r: len(r.misconceptions))


class ClassExercise:
    """Lo que obtuvo la clase en un ejercicio."""

    def __init__(self, heading: str, found: list[tuple[Student, ExerciseResult]]) -> None:
        self.heading, self.found = heading, found
        self.max_points = max(result.max_points for _, result in found)
        self.mean = statistics.fmean(result.points for _, result in found)
        self.states = Counter(result.state() for _, result in found)
        self.distribution = sorted(Counter(result.points for _, result in found).items())

    @property
    def label(self) -> str:
        """El número del ejercicio, o su nombre si no lo tiene."""
        numbered = re.match(r"Ejercicio (\d+) ·", self.heading)
        return numbered[1] if numbered else visible(self.heading, 20)

    def share(self, state: str) -> int:
        """El porcentaje de la clase que está en ese estado."""
        return round(100 * self.states[state] / len(self.found))

    @property
    def mistakes(self) -> list[Mistake]:
        """Los errores frecuentes reconocidos y, aparte, los demás, por la propiedad que falla."""
        groups: dict[tuple[str, str], list[tuple[Student, ExerciseResult]]] = {}
        for student, result in self.found:
            if result.state() in TO_FIX:
                named = [(name, "") for name in result.misconceptions]
                for key in named or [("", result.property or "")]:
                    groups.setdefault(key, []).append((student, result))
        return [Mistake(name, found) for (name, _), found in groups.items()]


class ClassTopic:
    """Lo que obtuvo la clase en un tema: de cada estudiante, su mejor cuaderno."""

    def __init__(self, name: str, students: list[Student]) -> None:
        self.name, self.outline = name, topic_outline(name)
        self.students = [student for student in students if name in student.best]
        results = [student.best[name].result for student in self.students]
        self.max_points = max(result.max_points for result in results)
        self.percents = [percent(result.points, result.max_points) for result in results]
        found: dict[str, list[tuple[Student, ExerciseResult]]] = {}
        for student, result in zip(self.students, results, strict=True):
            for one in result.exercises:
                found.setdefault(one.exercise, []).append((student, one))
        self.exercises = [ClassExercise(self.outline.heading(e), own) for e, own in found.items()]

    @property
    def states(self) -> list[str]:
        """Los estados en que hay alguien."""
        return [state for state in STATES if any(e.states[state] for e in self.exercises)]

    @property
    def misconceptions(self) -> list[tuple[ClassExercise, Mistake]]:
        """Los errores frecuentes del tema, los más extendidos primero."""
        return [pair for pair in self._mistakes if pair[1].name]

    @property
    def unrecognised(self) -> list[tuple[ClassExercise, Mistake]]:
        """Los demás errores, los más extendidos primero."""
        return [pair for pair in self._mistakes if not pair[1].name]

    @functools.cached_property
    def _mistakes(self) -> list[tuple[ClassExercise, Mistake]]:
        found = [(e, mistake) for e in self.exercises for mistake in e.mistakes]
        return sorted(found, key=lambda pair: len(pair[1].found), reverse=True)
