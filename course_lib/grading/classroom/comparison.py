"""Qué notas cambian entre dos calificaciones de la misma clase: al corregir un ejercicio, por caso.

Cada estudiante se compara consigo mismo, con su mejor cuaderno de cada tema en las dos.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from course_lib.grading.classroom.results import ClassResults, GradedAnswer, Student
from course_lib.grading.classroom.untrusted_text import clean_name, plain_cell
from course_lib.grading.classroom.worksheet import write_csv


@dataclass(frozen=True)
class Difference:
    """Los puntos de un estudiante en un ejercicio, si ya no son los mismos.

    Argumentos:
        student: quién.
        exercise: el ejercicio.
        heading: su título.
        before: los puntos de antes; None si no estaba.
        after: los de ahora; None si ya no está.
        message: por qué no los tiene todos ahora.
        hinted: si el mensaje es una pista.
    """

    student: Student
    exercise: str
    heading: str
    before: int | None
    after: int | None
    message: str = ""
    hinted: bool = False


@dataclass(frozen=True)
class ClassComparison:
    """Dos calificaciones de una clase.

    Argumentos:
        before: la de antes, con los mismos temas.
        after: la de ahora.
    """

    before: ClassResults
    after: ClassResults

    @cached_property
    def pairs(self) -> list[tuple[Student, Student]]:
        """Cada estudiante que está en las dos: antes y ahora."""
        known = {student.entry.owner: student for student in self.before.students}
        both = [(known.get(student.entry.owner), student) for student in self.after.students]
        return [(old, new) for old, new in both if old is not None]

    @cached_property
    def changed(self) -> list[tuple[Student, Student]]:
        """Aquellos cuyo total cambió."""
        return [(old, new) for old, new in self.pairs if old.points != new.points]

    @cached_property
    def differences(self) -> list[Difference]:
        """Los ejercicios con otros puntos, por estudiante."""
        return [each for old, new in self.pairs for each in _differences(old, new)]

    @cached_property
    def only_before(self) -> list[str]:
        """Quienes estaban y ya no están."""
        now = {student.entry.owner for student in self.after.students}
        return [s.name for s in self.before.students if s.entry.owner not in now]

    @cached_property
    def only_after(self) -> list[str]:
        """Quienes están y no estaban."""
        now = {id(new) for _, new in self.pairs}
        return [s.name for s in self.after.students if id(s) not in now]

    def summary(self) -> str:
        """Lo dice en una línea."""
        up = sum(new.points > old.points for old, new in self.changed)
        down = len(self.changed) - up
        told = f"De {len(self.pairs)} estudiantes, la nota sube a {up} y baja a {down}."
        moved = len({each.student.entry.owner for each in self.differences}) - len(self.changed)
        if moved > 0:
            told += f" A {moved} le cambian ejercicios, y no el total."
        for names, said in ((self.only_after, "No estaban"), (self.only_before, "Ya no están")):
            told += f" {said}: {len(names)}." if names else ""
        return told


def _differences(old: Student, new: Student) -> Iterator[Difference]:
    before, after = _answers(old), _answers(new)
    for name in dict.fromkeys([*after, *before]):
        was, now = before.get(name), after.get(name)
        points = [None if one is None else one.result.points for one in (was, now)]
        if points[0] != points[1]:
            said = (now.result.message, now.result.hinted) if now else ("", False)
            yield Difference(new, name, (now or was).heading, *points, *said)


def _answers(student: Student) -> dict[str, GradedAnswer]:
    return {a.result.exercise: a for topic in student.topics for a in topic.exercises}


def write_changes(comparison: ClassComparison, path: Path) -> None:
    """Escribe las diferencias en un CSV, con una fila por estudiante y ejercicio."""
    rows = [
        [
            plain_cell(each.student.entry.student),
            each.student.entry.participant or "",
            each.exercise,
            *("" if points is None else str(points) for points in (each.before, each.after)),
            plain_cell(clean_name(each.message, 600)),
        ]
        for each in comparison.differences
    ]
    header = ["Estudiante", "Participante", "Ejercicio", "Antes", "Ahora", "Por qué"]
    write_csv(path, [header, *rows])
