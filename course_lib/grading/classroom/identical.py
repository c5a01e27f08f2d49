"""Quiénes entregaron el mismo código: un aviso para quien califica, no una acusación.

Dos respuestas son iguales si lo es su árbol de sintaxis, sin los nombres, los comentarios ni lo que
da el cuaderno (`provenance.answer_marks`). Solo cuentan las largas que no son la del curso, y no
las que escribe buena parte de la clase: esa suele ser la forma natural.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from course_lib.grading.classroom.results import GradedAnswer, Student
from course_lib.grading.provenance import COURSE, ENOUGH, UNREAD

_FEW, _MANY = 3, 30
"""Una respuesta que tienen estos, o un cuarto de la clase si son más, todavía dice algo."""


@dataclass(frozen=True)
class SameCode:
    """Unos estudiantes con varias respuestas iguales.

    Argumentos:
        students: quiénes.
        answers: por ejercicio, quiénes la tienen igual y la respuesta de cada uno.
    """

    students: list[Student]
    answers: list[list[tuple[Student, GradedAnswer]]]

    @property
    def shared_by_all(self) -> bool:
        """Si todos tienen iguales todas: a quien se une por otra persona no le pasa."""
        return all(len(own) == len(self.students) for own in self.answers)


def same_code(students: Iterable[Student], topic: str) -> list[SameCode]:
    """Da los grupos de estudiantes con varias respuestas iguales en un tema.

    Argumentos:
        students: los de la clase.
        topic: el tema; de cada uno cuenta su mejor cuaderno.
    """
    found = [student for student in students if topic in student.best]
    alike = _alike(found, topic)
    shared: dict[tuple[int, int], int] = defaultdict(int)
    for _, group in alike:
        for pair in itertools.combinations([place for place, _ in group], 2):
            shared[pair] += 1
    joined = _joined(pair for pair, times in shared.items() if times >= ENOUGH)
    return [_group(found, places, alike) for places in joined]


def _alike(students: list[Student], topic: str) -> list[tuple[str, list]]:
    """Las respuestas iguales: el ejercicio, y el lugar de cada estudiante con la suya."""
    groups: dict[tuple[str, str], list[tuple[int, GradedAnswer]]] = defaultdict(list)
    for place, student in enumerate(students):
        for answer in student.best[topic].exercises:
            if answer.evidence.mark not in ("", COURSE, UNREAD):
                key = answer.result.exercise, answer.evidence.mark
                groups[key].append((place, answer))
    most = min(max(_FEW, len(students) // 4), _MANY)
    return [(name, own) for (name, _), own in groups.items() if 2 <= len(own) <= most]


def _joined(pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Une las parejas que comparten a alguien."""
    groups: list[set[int]] = []
    for pair in pairs:
        near = [group for group in groups if group & set(pair)]
        groups = [group for group in groups if group not in near]
        groups.append(set(pair).union(*near))
    return sorted(sorted(group) for group in groups)


def _group(students: list[Student], places: list[int], alike: list) -> SameCode:
    answers = []
    for _, own in alike:
        inside = [(students[place], answer) for place, answer in own if place in places]
        if len(inside) > 1:
            answers.append(inside)
    answers.sort(key=lambda group: group[0][1].index)
    return SameCode([students[place] for place in places], answers)
