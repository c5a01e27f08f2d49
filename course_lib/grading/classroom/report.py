"""Páginas de una calificación: una para cada estudiante y una para quien da el curso.

Cada página es un solo archivo HTML que se abre sin red y sin servidor. Todo lo que viene de una
entrega pasa por `page_text` y por el escape de la plantilla, y la página lleva además una política
de contenido que no deja correr ni pedir nada que no sea suyo. Nunca se muestra lo que se esperaba.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from course_lib.grading.classroom.collection import (
    Graded,
    best_by_topic,
    by_student,
    counted_topics,
)
from course_lib.grading.classroom.outline import topic_outline
from course_lib.grading.classroom.page_text import hint_html, message_html, sentence, visible
from course_lib.grading.grader import ExerciseResult
from course_lib.plotting import plot_bars, plot_stacked

COURSE = "Atención y Transformers"

_TEMPLATES = Path(__file__).with_name("templates")
_SLOWEST = 10
_MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
_STATES = {
    "correct": "correcto",
    "partial": "correcto en parte",
    "wrong": "incorrecto",
    "error": "se detuvo",
    "missing": "falta",
    "pending": "pendiente",
}
_TO_FIX = ("wrong", "error", "partial")
_TO_ANSWER = ("missing", "pending")
_ROLES = dict(zip(_STATES, ("value", "input", "key", "output", "weights", "hidden"), strict=True))
_PROPERTIES = {
    "runs": "el código no llega a dar un resultado",
    "type": "el resultado no es de la clase pedida",
    "shape": "el resultado no tiene la forma pedida",
    "dtype": "el resultado no tiene el dtype pedido",
    "finite": "hay NaN o infinitos que no deben estar, o faltan",
    "values": "los valores del resultado no son los pedidos",
    "inputs": "las entradas quedan modificadas",
    "gradient": "el gradiente respecto de las entradas no es el pedido",
}


def feedback_page(
    graded: Sequence[Graded], *, site: str | None = None, when: datetime | None = None
) -> str:
    """Escribe la página de un estudiante, con todo lo que entregó.

    Argumentos:
        graded: sus entregas, ya calificadas; de un tema cuenta la mejor.
        site: dirección del sitio del curso (`https://…`), para enlazar los capítulos.
        when: cuándo se calificó.

    Devuelve:
        str: una página HTML completa.

    Errores:
        ValueError: no hay entregas, son de más de un estudiante o `site` no es una dirección.
    """
    owners = by_student(graded)
    if len(owners) != 1:
        raise ValueError(
            f"Se esperaban las entregas de un estudiante y llegaron las de {len(owners)}: "
            f"sepáralas antes con `by_student`."
        )
    if site is not None and not site.startswith(("https://", "http://")):
        raise ValueError(f"`site` debe ser una dirección (https://…), y llegó {site!r}.")
    return _render(
        "feedback.html",
        style=_asset("report.css"),
        student=_Student(tuple(graded)),
        site=site and site.rstrip("/"),
        when=when,
    )


def class_report(
    graded: Sequence[Graded],
    *,
    title: str | None = None,
    links: Mapping[str, str] | None = None,
    when: datetime | None = None,
) -> str:
    """Escribe la página de la clase, para quien da el curso.

    Argumentos:
        graded: todas las entregas, ya calificadas; puede no haber ninguna.
        title: cómo se llama lo que se calificó, si tiene nombre.
        links: por clave de entrega (`Entry.key`), la ruta de la página de su estudiante, relativa
            a esta y sin codificar.
        when: cuándo se calificó.

    Devuelve:
        str: una página HTML completa.
    """
    return _render(
        "class_report.html",
        style=_asset("report.css"),
        script=_asset("report.js"),
        group=_Class(_students(graded, links or {})),
        title=title,
        when=when,
    )


# Quién entregó qué


@dataclass(frozen=True)
class _Student:
    """Una persona, lo que entregó y la ruta de su página.

    Argumentos:
        graded: sus entregas.
        link: la ruta de su página.
        namesake: si alguien más se llama igual.
    """

    graded: tuple[Graded, ...]
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
        return [one for one in self.graded if one.result.status != "graded"]

    @property
    def points(self) -> int:
        return sum(one.result.points for one in self.best.values())

    @property
    def max_points(self) -> int:
        return sum(one.result.max_points for one in self.best.values())

    @property
    def topics(self) -> list[_StudentTopic]:
        return [_StudentTopic(name, self) for name in sorted(self.best)]

    @property
    def results(self) -> list[ExerciseResult]:
        return [result for one in self.best.values() for result in one.result.exercises]


@dataclass(frozen=True)
class _Answer:
    """Un ejercicio de un estudiante, con el título que tiene en el cuaderno."""

    index: int
    heading: str
    result: ExerciseResult


class _StudentTopic:
    """Un tema de un estudiante: el cuaderno que cuenta y los demás que entregó de él."""

    def __init__(self, name: str, student: _Student) -> None:
        self.name, self.outline = name, topic_outline(name)
        best = student.best[name]
        others = [g for g in student.graded if g.result.topic == name and g is not best]
        self.result, self.files = best.result, [best, *others]
        self.tied = any(one.result.points == self.result.points for one in others)
        self.exercises = [
            _Answer(index, self.outline.heading(result.exercise), result)
            for index, result in enumerate(self.result.exercises, 1)
        ]

    @property
    def correct(self) -> int:
        return len(self._in("correct"))

    @property
    def to_fix(self) -> list[_Answer]:
        return self._in(*_TO_FIX)

    @property
    def to_answer(self) -> list[_Answer]:
        return self._in(*_TO_ANSWER)

    def _in(self, *states: str) -> list[_Answer]:
        return [answer for answer in self.exercises if _state(answer.result) in states]


def _students(graded: Iterable[Graded], links: Mapping[str, str]) -> list[_Student]:
    groups = [tuple(own) for own in by_student(graded).values()]
    names = Counter(_Student(own).name for own in groups)
    students = [
        _Student(own, links.get(own[0].entry.key, ""), names[_Student(own).name] > 1)
        for own in groups
    ]
    return sorted(students, key=lambda student: (_alphabetical(student.name), student.mark))


def _alphabetical(name: str) -> str:
    """La clave con que «Ángela» va entre las demás de la A."""
    letters = unicodedata.normalize("NFD", name.casefold())
    return "".join(c for c in letters if not unicodedata.combining(c))


# La clase, sumada


class _Class:
    """Lo que obtuvo la clase."""

    def __init__(self, students: list[_Student]) -> None:
        self.students = students
        names = sorted({name for student in students for name in student.best})
        self.topics = [_Topic(name, students) for name in names]
        self.counted = counted_topics([one for student in students for one in student.graded])
        self.uncounted = [t.outline.title for t in self.topics if t.name not in self.counted]
        self.max_points = sum(t.max_points for t in self.topics if t.name in self.counted)
        self.rows = [_Row(student, self) for student in students]
        self.percents = [row.percent for row in self.rows if row.student.best]
        self.refused = [(s, one) for s in students for one in s.refused]
        self.stopped = [(s, g) for s in students for g in s.graded if g.result.broken_cells]
        self.doubtful = [(s, g) for s in students for g in s.graded if g.result.notes]

    @property
    def delivered(self) -> int:
        return sum(len(student.graded) for student in self.students)

    @property
    def median(self) -> int:
        return int(statistics.median(self.percents))

    @property
    def perfect(self) -> int:
        return self.percents.count(100)

    @property
    def totals_plot(self) -> Markup:
        return _totals_plot(self.percents, "todos los temas")

    @property
    def slowest(self) -> list[tuple[_Student, Graded]]:
        timed = [(s, one) for s in self.students for one in s.graded if one.result.seconds > 0]
        return sorted(timed, key=lambda pair: pair[1].result.seconds, reverse=True)[:_SLOWEST]


class _Row:
    """Un renglón de la tabla de estudiantes."""

    def __init__(self, student: _Student, group: _Class) -> None:
        self.student = student
        names = [topic.name for topic in group.topics]
        self.by_topic = [
            student.best[n].result.points if n in student.best else None for n in names
        ]
        counted = (one for name, one in student.best.items() if name in group.counted)
        self.points = sum(one.result.points for one in counted)
        self.percent = _percent(self.points, group.max_points)
        states = Counter(_state(result) for result in student.results)
        self.correct = states["correct"]
        self.to_fix = sum(states[state] for state in _TO_FIX)
        self.to_answer = sum(states[state] for state in _TO_ANSWER)


@dataclass(frozen=True)
class _Mistake:
    """Un error y quiénes lo cometieron, con lo que se dijo a cada cual.

    Argumentos:
        name: el del error frecuente; vacío si no se reconoció ninguno.
        text: su pista, o en qué se nota.
        found: cada estudiante y lo que obtuvo.
    """

    name: str
    text: str | Markup
    found: list[tuple[_Student, ExerciseResult]]


class _Exercise:
    """Lo que obtuvo la clase en un ejercicio."""

    def __init__(self, heading: str, found: list[tuple[_Student, ExerciseResult]]) -> None:
        self.heading, self.found = heading, found
        self.max_points = max(result.max_points for _, result in found)
        self.mean = statistics.fmean(result.points for _, result in found)
        self.states = Counter(_state(result) for _, result in found)
        self.distribution = sorted(Counter(result.points for _, result in found).items())

    @property
    def label(self) -> str:
        """El número del ejercicio, o su nombre si no lo tiene."""
        numbered = re.match(r"Ejercicio (\d+) ·", self.heading)
        return numbered[1] if numbered else visible(self.heading, 20)

    def share(self, state: str) -> int:
        """El porcentaje de la clase que está en ese estado."""
        return _percent(self.states[state], len(self.found))

    @property
    def mistakes(self) -> list[_Mistake]:
        """Los errores frecuentes reconocidos y, aparte, los demás, por la propiedad que falla."""
        groups: dict[tuple[str, str], list[tuple[_Student, ExerciseResult]]] = {}
        for student, result in self.found:
            if _state(result) in _TO_FIX:
                name = result.misconception or ""
                key = (name, "" if name else _property(result))
                groups.setdefault(key, []).append((student, result))
        return [
            _Mistake(name, hint_html(found[0][1].message) if name else told, found)
            for (name, told), found in groups.items()
        ]


class _Topic:
    """Lo que obtuvo la clase en un tema: de cada estudiante, su mejor cuaderno."""

    def __init__(self, name: str, students: list[_Student]) -> None:
        self.name, self.outline = name, topic_outline(name)
        self.students = [student for student in students if name in student.best]
        results = [student.best[name].result for student in self.students]
        self.max_points = max(result.max_points for result in results)
        self.percents = [_percent(result.points, result.max_points) for result in results]
        found: dict[str, list[tuple[_Student, ExerciseResult]]] = {}
        for student, result in zip(self.students, results, strict=True):
            for one in result.exercises:
                found.setdefault(one.exercise, []).append((student, one))
        self.exercises = [_Exercise(self.outline.heading(e), own) for e, own in found.items()]

    @property
    def states(self) -> list[str]:
        """Los estados en que hay alguien."""
        return [state for state in _STATES if any(e.states[state] for e in self.exercises)]

    @property
    def misconceptions(self) -> list[tuple[_Exercise, _Mistake]]:
        """Los errores frecuentes del tema, los más extendidos primero."""
        return [pair for pair in self._mistakes if pair[1].name]

    @property
    def unrecognised(self) -> list[tuple[_Exercise, _Mistake]]:
        """Los demás errores, los más extendidos primero."""
        return [pair for pair in self._mistakes if not pair[1].name]

    @functools.cached_property
    def _mistakes(self) -> list[tuple[_Exercise, _Mistake]]:
        found = [(e, mistake) for e in self.exercises for mistake in e.mistakes]
        return sorted(found, key=lambda pair: len(pair[1].found), reverse=True)

    @property
    def totals_plot(self) -> Markup:
        return _totals_plot(self.percents, self.outline.title)

    @property
    def shares_plot(self) -> Markup:
        return _shares_plot(self)


# Gráficas


def _totals_plot(percents: Sequence[int], what: str) -> Markup:
    """El histograma de los totales, de diez en diez; los perfectos tienen su barra."""
    counts = Counter(percent // 10 for percent in percents)
    bars = [counts[i] for i in range(11)]
    alt = (
        f"Histograma de los totales de {what}: {len(percents)} estudiantes, mediana "
        f"{statistics.median(percents):.0f} %, del {min(percents)} al {max(percents)} %."
    )
    figure = plot_bars(
        bars,
        [str(10 * i) for i in range(11)],
        alt=alt,
        xlabel="% de los puntos: 0 a 9, 10 a 19, …, 100",
        ylabel="estudiantes",
        role="query",
        horizontal=False,
        fmt="{:.0f}",
    )
    figure.axes[0].yaxis.get_major_locator().set_params(integer=True)
    return Markup(figure.to_svg())


def _shares_plot(topic: _Topic) -> Markup:
    """Por ejercicio, qué parte de la clase está en cada estado."""
    told = "; ".join(f"{e.label}, {e.share('correct')} % correcto" for e in topic.exercises)
    figure = plot_stacked(
        {
            _STATES[state]: [100 * e.states[state] / len(e.found) for e in topic.exercises]
            for state in topic.states
        },
        [e.label.replace("$", r"\$") for e in topic.exercises],
        alt=f"Barras por ejercicio de {topic.outline.title}: {told}.",
        xlabel="% de quienes lo entregaron",
        ylabel="ejercicio",
        roles=[_ROLES[state] for state in topic.states],
    )
    return Markup(figure.to_svg())


# Cómo se escribe cada cosa


def _state(result: ExerciseResult) -> str:
    if 0 < result.points < result.max_points:
        return "partial"
    return result.status if result.status in _STATES else "error"


def _property(result: ExerciseResult) -> str:
    """En qué se nota el fallo."""
    name = result.property or ""
    return _PROPERTIES.get(name) or f"falla {visible(name, 40) or 'otra cosa'}"


def _file(one: Graded) -> str:
    """El archivo que se entregó; vacío si no hubo ninguno y solo se sabe quién."""
    source = one.entry.source
    return "" if source == one.entry.student else visible(source, 120)


def _slow_part(one: Graded) -> str:
    """Dónde se fue el tiempo: en un ejercicio, o en ejecutar el cuaderno."""
    exercises = one.result.exercises
    if 2 * sum(result.seconds for result in exercises) < one.result.seconds:
        return "al ejecutar sus celdas"
    slow = max(exercises, key=lambda result: result.seconds)
    heading = topic_outline(one.result.topic or "").heading(slow.exercise)
    return f"{heading} ({slow.seconds:.1f} s)"


def _percent(points: int, max_points: int) -> int:
    """El porcentaje sin redondear hacia arriba: 100 es solo haberlo hecho todo."""
    return 100 * points // max_points if max_points else 0


def _number(value: int | float) -> str:
    return f"{round(value, 2):g}"


def _points(value: int) -> str:
    return f"{value} {'punto' if value == 1 else 'puntos'}"


def _date(when: datetime) -> str:
    return f"{when.day} de {_MONTHS.split()[when.month - 1]} de {when.year}, {when:%H:%M}"


def _address(path: str) -> str:
    """Una ruta relativa como dirección: ningún nombre de archivo llega a ser un esquema."""
    return quote(path, errors="replace")


@functools.cache
def _asset(name: str) -> Markup:
    """Una hoja de estilo o un programa nuestros, que van dentro de la página."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _fingerprint(text: str) -> str:
    """La huella con que la política de contenido reconoce lo que es nuestro."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "address": _address,
        "date": _date,
        "file": _file,
        "fingerprint": _fingerprint,
        "hint": hint_html,
        "message": message_html,
        "number": _number,
        "points": _points,
        "property": _property,
        "slow_part": _slow_part,
        "sentence": sentence,
        "state": _state,
        "visible": visible,
    }
    environment.globals |= {
        "COURSE": COURSE,
        "STATES": _STATES,
        "percent": _percent,
    }
    return environment


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(**values)
