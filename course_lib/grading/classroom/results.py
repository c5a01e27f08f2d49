"""Lo que obtuvo una clase, contado una sola vez.

Las páginas, las notas, lo que vuelve a Moodle y la terminal leen el mismo `ClassResults`: ninguno
vuelve a contar, y cada cual decide solo cómo se ve.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from course_lib.course_settings import AS_IT_COMES, CourseSettings
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.overrides import LATE, TOTAL, ByHand, Override
from course_lib.grading.classroom.untrusted_text import visible
from course_lib.grading.sandbox.evidence import Evidence
from course_lib.grading.sandbox.grader import ExerciseResult, SubmissionResult
from course_lib.grading.submission import course_file
from course_lib.judging.check import topic_exercises
from course_lib.judging.owner import bare
from course_lib.notebooks.fingerprint import is_check, parse_cell
from course_lib.scales import LatePolicy, Scale, ShownGrade, discounted

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
_SLOWEST = 10
_TITLE = re.compile(r"^# (?:Ejercicios: )?(.+)$", re.MULTILINE)
_HEADING = re.compile(r"^## (.+?)(?: \(\d+ puntos?\))?$", re.MULTILINE)
_EXPERIMENT = re.compile(r"^## (Experimento: .+)$", re.MULTILINE)
_CRITERION = re.compile(r"^- \*\*(\d+) puntos?\*\*: (.+(?:\n {2}.+)*)", re.MULTILINE)
_CHAPTER = re.compile(r"\[([^\]]+)\]\(\.\./book/(\w+)\.md\)")


@dataclass(frozen=True)
class Graded:
    """Una entrega y lo que obtuvo."""

    entry: Entry
    result: SubmissionResult


# La clase


class ClassResults:
    """Lo que obtuvo una clase entera.

    Cuentan en la nota los temas que se piden, aunque no los entregara nadie, o todos los del curso
    que se entregaron. Cuáles cuentan no se adivina por cuántos entregaron cada uno: con un cuaderno
    fácil de más, unos pocos cambiarían la nota de los demás (`publication.require_clear_topics`).

    Argumentos:
        works: todas las entregas, ya calificadas; puede no haber ninguna.
        topics: los temas de la tarea.
        course: cómo se llama el curso, en qué escala se ve la nota, y qué se descuenta si es tarde.
        by_hand: por cada quien, lo que se cambia a mano.
        anonymous: si en lugar de nombres hay números, y no se enlaza la página de nadie.
    """

    def __init__(
        self,
        works: Iterable[Graded],
        topics: Iterable[str] = (),
        course: CourseSettings = AS_IT_COMES,
        by_hand: ByHand | None = None,
        *,
        anonymous: bool = False,
    ) -> None:
        self.works, self.course = list(works), course
        self.by_hand, self.anonymous = by_hand or {}, anonymous
        self.asked = sorted(set(topics))
        done = [one.result for one in self.works if one.result.status == "graded"]
        self.worth = _worth(done)
        self.counted = counted_worth(self.works, self.asked, course)
        self.students = _students(self.works, self.counted, course, self.by_hand)
        for student in self.students if anonymous else ():
            student.page = ""
        self.topics = [ClassTopic(name, self.students, done) for name in self.worth]
        self.max_points = sum(self.counted.values())
        self.percents = [student.percent for student in self.students if student.has_grade]
        self.grades = [student.grade for student in self.students if student.grade is not None]
        self.graded = len(done)
        self.refused = [(s, one) for s in self.students for one in s.refused]
        self.off_topic = [student for student in self.students if student.off_topic]
        self.adjusted = [student for student in self.students if student.adjustments]
        self.undated = [student for student in self.students if student.undated]
        self.set_aside = [(s, s.set_aside) for s in self.students if s.set_aside]
        each = [(s, one) for s in self.students for one in s.works]
        self.stopped = [(s, one) for s, one in each if one.result.broken_cells]
        self.doubtful = [(s, one) for s, one in each if one.result.notes]
        timed = [(s, one) for s, one in each if one.result.seconds > 0]
        timed.sort(key=lambda pair: pair[1].result.seconds, reverse=True)
        self.slowest = timed[:_SLOWEST]

    @functools.cached_property
    def delivered(self) -> dict[str, int]:
        """Los temas calificados y cuántos estudiantes los entregaron; antes, los de más."""
        return dict(Counter(topic for s in self.students for topic in s.best).most_common())

    @property
    def counted_titles(self) -> list[str]:
        """Los títulos de los temas que cuentan en la nota."""
        return [topic_outline(name).title for name in self.counted]

    @property
    def uncounted_titles(self) -> list[str]:
        """Los títulos de los temas que no cuentan en la nota."""
        return [topic.outline.title for topic in self.topics if topic.name not in self.counted]

    @property
    def explained(self) -> list[ClassTopic]:
        """Los temas que explica el informe: los que cuentan; si no cuenta ninguno, todos."""
        return [topic for topic in self.topics if topic.name in self.counted] or self.topics

    @property
    def several(self) -> bool:
        """Si el total puede no ser lo mismo que los puntos de un tema."""
        return max(len(self.explained), len(self.counted)) > 1

    @property
    def median(self) -> int:
        return int(statistics.median(self.percents))

    @property
    def perfect(self) -> int:
        return self.percents.count(100)

    @property
    def passed(self) -> int | None:
        """Cuántos aprueban; None si el curso no dice con cuánto."""
        known = [grade.passed for grade in self.grades if grade.passed is not None]
        return sum(known) if known else None


def counted_worth(
    works: Iterable[Graded], topics: Iterable[str], course: CourseSettings
) -> dict[str, int]:
    """Da los temas que cuentan en la nota y lo que vale cada uno.

    Argumentos:
        works: todas las entregas, ya calificadas.
        topics: los temas de la tarea; si no hay, cuentan los del curso que se entregaron.
        course: el curso.
    """
    worth = _worth(one.result for one in works if one.result.status == "graded")
    own = {topic: points for topic, points in worth.items() if course.includes(topic)}
    return _asked_worth(sorted(topics), worth) or own


def _worth(results: Iterable[SubmissionResult]) -> dict[str, int]:
    """Da los temas calificados, en orden, y lo que vale cada uno."""
    found: dict[str, int] = {}
    for result in results:
        if result.topic is not None:
            found[result.topic] = max(result.max_points, found.get(result.topic, 0))
    return dict(sorted(found.items()))


def _asked_worth(topics: list[str], worth: Mapping[str, int]) -> dict[str, int]:
    """Da lo que vale cada tema pedido; el que nadie entregó, lo que suman sus ejercicios."""
    return {
        topic: worth[topic] if topic in worth else sum(e.points for e in topic_exercises(topic))
        for topic in topics
    }


def _students(
    works: list[Graded], counted: Mapping[str, int], course: CourseSettings, by_hand: ByHand
) -> list[Student]:
    """Reúne las entregas por estudiante, en orden alfabético."""
    groups: dict[str, list[Graded]] = {}
    for one in works:
        groups.setdefault(one.entry.owner, []).append(one)
    names = Counter(_shown_name(own[0].entry) for own in groups.values())
    students = [
        Student(
            own,
            counted,
            course,
            by_hand.get(owner, {}),
            namesake=names[_shown_name(own[0].entry)] > 1,
        )
        for owner, own in groups.items()
    ]
    return sorted(students, key=lambda student: (bare(student.name), student.mark))


def _shown_name(entry: Entry) -> str:
    return visible(entry.student, 120) or "(sin nombre)"


def percent(points: int | Decimal, max_points: int) -> int:
    """Da el porcentaje, redondeado; 100 es solo haberlo hecho todo."""
    if points >= max_points:
        return 100 if max_points else 0
    return min(99, round(100 * points / max_points))


def short_number(value: int | float | Decimal) -> str:
    """Un número con dos decimales a lo sumo, y sin ceros de más."""
    return f"{round(float(value), 2):g}"


# Cada estudiante


class Student:
    """Una persona, lo que entregó y lo que obtuvo; de cada tema cuenta su mejor cuaderno.

    Argumentos:
        works: sus entregas, al menos una.
        counted: los temas que cuentan en la nota de la clase y lo que vale cada uno.
        course: en qué escala se ve su nota, y qué se descuenta si es tarde.
        by_hand: lo que se le cambia a mano.
        namesake: si alguien más se llama igual.
    """

    def __init__(
        self,
        works: Sequence[Graded],
        counted: Mapping[str, int],
        course: CourseSettings = AS_IT_COMES,
        by_hand: Mapping[str, Override] | None = None,
        *,
        namesake: bool = False,
    ) -> None:
        self.works, self.entry = list(works), works[0].entry
        self.name = _shown_name(self.entry)
        self.mark = visible(self.entry.participant or "", 20) if namesake else ""
        self.page = f"feedback/{self.entry.owner}.html"
        self.evidence_page = f"evidence/{self.entry.owner}.html"
        aside = [one for one in works if one.result.status == "course"]
        self.set_aside = aside if len(aside) < len(works) else []
        kept = {"graded", "course"} if self.set_aside else {"graded"}
        self.refused = [one for one in works if one.result.status not in kept]
        graded: dict[str, list[Graded]] = {}
        for one in works:
            if one.result.status == "graded" and one.result.topic is not None:
                graded.setdefault(one.result.topic, []).append(one)
        self.by_hand = dict(by_hand or {})
        late = self._late(course.late)
        self.best = {
            t: StudentTopic(t, own, late, counts=t in counted) for t, own in graded.items()
        }
        self.topics = [self.best[name] for name in sorted(self.best)]
        own = [topic for topic in self.topics if topic.counts]
        self.added, self.max_points = sum(topic.points for topic in own), sum(counted.values())
        self.points, self.has_grade = self._total(), bool(own) or TOTAL in self.by_hand
        self.percent = percent(self.points, self.max_points)
        self.grade = self._grade(course.scale)
        self.correct = sum(topic.correct for topic in self.topics)
        self.to_fix = sum(len(topic.to_fix) for topic in self.topics)
        self.to_answer = sum(len(topic.to_answer) for topic in self.topics)
        missing = [name for name in counted if name not in self.best]
        self.undelivered = [(topic_outline(name).title, counted[name]) for name in missing]

    def _late(self, policy: LatePolicy | None) -> LatePolicy:
        """Lo que descuenta el curso por llegar tarde, con los días que se le cuentan a mano."""
        own = self.by_hand.get(LATE)
        if own is None:
            return policy or LatePolicy()
        if policy is None:
            told = "no cambia nada si course.toml no tiene [late]: ponla, o quita el renglón."
            raise own.wrong(told)
        return replace(policy, counted=int(own.points))

    def _grade(self, scale: Scale | None) -> ShownGrade | None:
        """Su nota; nadie la tiene si no hay escala, ni quien no tiene nada que cuente."""
        known = scale is not None and self.has_grade and self.max_points
        return scale.grade(self.points, self.max_points) if known else None

    def _total(self) -> int | Decimal:
        """Lo que suman sus temas, o lo que se puso a mano."""
        if TOTAL not in self.by_hand:
            return self.added
        total = self.by_hand[TOTAL]
        if total.points > self.max_points:
            raise total.wrong(f"el total vale {self.max_points}.")
        return total.points

    @property
    def undated(self) -> list[str]:
        """Los temas con plazo de los que no se sabe cuándo entregó."""
        return [topic.outline.title for topic in self.topics if topic.counts and topic.undated]

    @property
    def adjustments(self) -> list[str]:
        """Lo que cambia sus puntos aparte de sus respuestas: llegar tarde, y lo puesto a mano."""
        told = [topic.late_told for topic in self.topics if topic.counts and topic.late_told]
        for topic in self.topics:
            for answer in topic.exercises:
                if own := self.by_hand.get(answer.result.exercise):
                    score = f"{short_number(own.points)} de {answer.result.max_points}"
                    told.append(f"{answer.heading}: {score}, puesto a mano. Motivo: {own.reason}")
        if own := self.by_hand.get(LATE):
            told.append(f"Días de retraso puestos a mano: {own.points}. Motivo: {own.reason}")
        if own := self.by_hand.get(TOTAL):
            score = f"{short_number(own.points)} de {self.max_points}"
            told.append(
                f"Total: {score}, puesto a mano; sin ello, {short_number(self.added)}. "
                f"Motivo: {own.reason}"
            )
        return told

    @property
    def off_topic(self) -> str:
        """Por qué no tiene nota quien solo tiene calificado lo que no cuenta; si no, vacío."""
        if self.has_grade or not self.topics:
            return ""
        titles = " y ".join(f"«{topic.outline.title}»" for topic in self.topics)
        counts = "cuenta" if len(self.topics) == 1 else "cuentan"
        return f"solo entregó {titles}, que no {counts} para esta nota"

    def evidence(self, exercise: str) -> Evidence:
        """Su código y el caso en que falla, para quien califica."""
        answers = (answer for topic in self.topics for answer in topic.exercises)
        found = (a.evidence for a in answers if a.result.exercise == exercise)
        return next(found, Evidence())

    @property
    def done(self) -> bool:
        """Si no le queda nada por corregir ni por entregar."""
        return not self.undelivered and all(topic.perfect for topic in self.topics)


@dataclass(frozen=True)
class GradedAnswer:
    """Un ejercicio de un estudiante, con el título que tiene en el cuaderno."""

    index: int
    heading: str
    result: ExerciseResult
    evidence: Evidence


class StudentTopic:
    """Un tema de un estudiante: el cuaderno que cuenta, el primero con más puntos, y los demás.

    Los puntos son los de las respuestas, menos lo que se descuenta si llegó tarde.
    """

    def __init__(self, name: str, graded: list[Graded], late: LatePolicy, *, counts: bool) -> None:
        def discount(one: Graded) -> Decimal:
            return late.discount(late.days(name, one.entry.delivered))

        def points(one: Graded) -> Decimal:
            return discounted(one.result.points, discount(one))

        self.name, self.outline, self.counts = name, topic_outline(name), counts
        best = max(graded, key=points)
        others = [one for one in graded if one is not best]
        self.result, self.files = best.result, [best, *others]
        self.points, self.late_days = points(best), late.days(name, best.entry.delivered)
        self.late_told = self._late_told(discount(best))
        self.undated = late.unknown(name, best.entry.delivered)
        self.tied = any(points(one) == self.points for one in others)
        self.perfect = self.result.points == self.result.max_points
        self.exercises = [
            GradedAnswer(
                index,
                self.outline.heading(result.exercise),
                result,
                self.result.evidence.get(result.exercise, Evidence()),
            )
            for index, result in enumerate(self.result.exercises, 1)
        ]
        self.correct = len(self._in("correct"))
        self.to_fix, self.to_answer = self._in(*TO_FIX), self._in(*TO_ANSWER)

    def _late_told(self, discount: Decimal) -> str:
        """Lo que se descuenta, en palabras; vacío si llegó a tiempo."""
        if not self.late_days:
            return ""
        days = "1 día" if self.late_days == 1 else f"{self.late_days} días"
        told = f"{days} tarde, se descuenta el {short_number(discount)} %"
        left = f"de {short_number(self.result.points)} quedan {short_number(self.points)}"
        return f"{self.outline.title}: {told}: {left}"

    def _in(self, *states: str) -> list[GradedAnswer]:
        return [answer for answer in self.exercises if answer.result.state() in states]


# Cada tema, ejercicio y error de la clase


class ClassTopic:
    """Lo que obtuvo la clase en un tema: de cada estudiante, su mejor cuaderno.

    Argumentos:
        name: el tema.
        students: los de la clase, en el orden en que se nombran.
        results: todo lo calificado, también lo que no cuenta.
    """

    def __init__(self, name: str, students: list[Student], results: list[SubmissionResult]) -> None:
        self.name, self.outline = name, topic_outline(name)
        self.files = [result for result in results if result.topic == name]
        self.students = [student for student in students if name in student.best]
        best = [student.best[name].result for student in self.students]
        self.max_points = max(result.max_points for result in best)
        self.percents = [percent(result.points, result.max_points) for result in best]
        found: dict[str, list[tuple[Student, ExerciseResult]]] = {}
        for student, result in zip(self.students, best, strict=True):
            for one in result.exercises:
                found.setdefault(one.exercise, []).append((student, one))
        self.exercises = [ClassExercise(e, self.outline.heading(e), f) for e, f in found.items()]
        mistakes = [(e, mistake) for e in self.exercises for mistake in e.mistakes]
        mistakes.sort(key=lambda pair: len(pair[1].found), reverse=True)
        # Los errores frecuentes y los demás, los más extendidos primero.
        self.misconceptions = [pair for pair in mistakes if pair[1].name]
        self.unrecognised = [pair for pair in mistakes if not pair[1].name]

    @property
    def states(self) -> list[str]:
        """Los estados en que hay alguien."""
        return [state for state in STATES if any(e.states[state] for e in self.exercises)]

    @property
    def full(self) -> int:
        """Los cuadernos con todos los puntos, también los que no cuentan."""
        return sum(result.points == result.max_points for result in self.files)

    @property
    def empty(self) -> int:
        """Los cuadernos sin ningún punto."""
        return sum(result.points == 0 for result in self.files)

    @property
    def mean(self) -> float:
        """Los puntos de un cuaderno, en promedio."""
        return statistics.fmean(result.points for result in self.files)


class ClassExercise:
    """Lo que obtuvo la clase en un ejercicio."""

    def __init__(
        self, name: str, heading: str, found: list[tuple[Student, ExerciseResult]]
    ) -> None:
        self.name, self.heading, self.found = name, heading, found
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
    def mistakes(self) -> list[CommonMistake]:
        """Los errores frecuentes reconocidos y, aparte, los demás: por qué falla y qué hacen."""
        groups: dict[tuple[str, ...], list[tuple[Student, ExerciseResult]]] = {}
        for student, result in self.found:
            if result.state() in TO_FIX:
                named = [(name, "") for name in result.misconceptions]
                done = student.evidence(self.name).behaviour
                for key in named or [("", result.property or "", done)]:
                    groups.setdefault(key, []).append((student, result))
        return [CommonMistake(key[0], found) for key, found in groups.items()]


@dataclass(frozen=True)
class CommonMistake:
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

    @property
    def shortest(self) -> tuple[Student, Evidence]:
        """De quienes lo cometen, el código más corto: el más fácil de leer."""
        each = [(student, student.evidence(result.exercise)) for student, result in self.found]
        return min(each, key=lambda one: (not one[1].code, len(one[1].code)))


# Los títulos de un tema, de su cuaderno: para nombrar las cosas como el estudiante las vio


@dataclass(frozen=True)
class Criterion:
    """Un renglón de una rúbrica: qué se valora, y cuántos puntos vale."""

    text: str
    points: int


@dataclass(frozen=True)
class Outline:
    """Cómo se llaman un tema, sus ejercicios y los capítulos que los preparan.

    Argumentos:
        title: el título del tema.
        headings: por ejercicio, el encabezado que tiene en el cuaderno.
        chapters: por capítulo, su página (`attention`) y su título.
        rubric: con qué se valora el experimento del tema; vacía si no tiene.
    """

    title: str
    headings: dict[str, str] = field(default_factory=dict)
    chapters: dict[str, str] = field(default_factory=dict)
    rubric: tuple[Criterion, ...] = ()

    def heading(self, exercise: str) -> str:
        """El encabezado de un ejercicio; su nombre, si el cuaderno no lo tiene."""
        return self.headings.get(exercise, exercise)


@functools.cache
def topic_outline(topic: str) -> Outline:
    """Lee los títulos en el cuaderno de ejercicios; donde no está, quedan los nombres internos."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", topic):
        return Outline(topic)
    try:
        text = course_file("exercises", topic).read_text(encoding="utf-8")
    except FileNotFoundError:
        return Outline(topic)
    return _read(topic, json.loads(text)["cells"])


def _read(topic: str, cells: list[Any]) -> Outline:
    title, heading = topic, ""
    headings: dict[str, str] = {}
    chapters: dict[str, str] = {}
    rubric: list[Criterion] = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            found = _TITLE.search(source)
            title = found[1] if found else title
            heading = (_HEADING.findall(source) or [heading])[-1]
            chapters |= {page: " ".join(name.split()) for name, page in _CHAPTER.findall(source)}
            if experiment := _EXPERIMENT.search(source):
                headings[f"{topic}.experiment"] = experiment[1]
            if f"{topic}.experiment" in headings:
                rubric += [
                    Criterion(" ".join(t.split()), int(n)) for n, t in _CRITERION.findall(source)
                ]
        else:
            headings |= {name: heading for name in _checked(source) if heading}
    return Outline(title, headings, chapters, tuple(rubric))


def _checked(source: str) -> list[str]:
    tree = parse_cell(source)
    return [] if tree is None else [n.args[0].value for n in ast.walk(tree) if is_check(n)]
