"""Las páginas de una calificación: una para cada estudiante y las de quien da el curso.

Cada página es un solo archivo HTML que se abre sin red y sin servidor, y dice lo que cuenta
`results`; lo que se esperaba está solo en `evidence_page`, que no es para el estudiante. Todo lo
que viene de una entrega pasa por `untrusted_text` y por el escape de la plantilla, y la página
lleva además una política de contenido que no deja correr ni pedir nada que no sea suyo.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import statistics
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

from course_lib._extras import extra
from course_lib.course_settings import AS_IT_COMES, CourseSettings, logo_svg
from course_lib.grading.classroom.comparison import ClassComparison
from course_lib.grading.classroom.identical import same_code
from course_lib.grading.classroom.results import (
    STATES,
    ClassResults,
    ClassTopic,
    Graded,
    Student,
    StudentTopic,
    percent,
    short_number,
    topic_outline,
)
from course_lib.grading.classroom.suggestion import suggested_mistake
from course_lib.grading.classroom.untrusted_text import (
    hint_html,
    message_html,
    sentence,
    unbroken,
    visible,
    visible_block,
)
from course_lib.grading.provenance import course_answer
from course_lib.grading.sandbox.evidence import Evidence
from course_lib.grading.sandbox.grader import ExerciseResult
from course_lib.grading.submission import topic_sheet
from course_lib.judging import display
from course_lib.plotting.bars import plot_bars, plot_stacked

with extra("teacher"):
    import jinja2
    from markupsafe import Markup

_TEMPLATES = Path(__file__).with_name("templates")
_MONTHS = "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
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
_ROLES = dict(zip(STATES, ("value", "input", "key", "output", "weights", "hidden"), strict=True))


def feedback_page(
    student: Student,
    *,
    site: str | None = None,
    when: datetime | None = None,
    course: CourseSettings = AS_IT_COMES,
) -> str:
    """Escribe la página de un estudiante, con todo lo que entregó.

    Argumentos:
        student: lo que obtuvo.
        site: dirección del sitio del curso (`https://…`), para enlazar los capítulos.
        when: cuándo se calificó.
        course: cómo se llama el curso, y a quién se le pregunta.

    Devuelve:
        str: una página HTML completa.

    Errores:
        ValueError: `site` no es una dirección.
    """
    if site is not None and not site.startswith(("https://", "http://")):
        raise ValueError(f"`site` debe ser una dirección (https://…), y llegó {site!r}.")
    site = site and site.rstrip("/")
    return _render("feedback.html", course, student=student, site=site, when=when)


def class_report(
    results: ClassResults,
    *,
    when: datetime | None = None,
    changes: ClassComparison | None = None,
    absent: Sequence[str] = (),
) -> str:
    """Escribe la página de la clase, para quien da el curso.

    Argumentos:
        results: lo que obtuvo la clase; puede no haber ninguna entrega.
        when: cuándo se calificó.
        changes: la comparación con otra calificación, si se pidió.
        absent: quienes no entregaron nada, si se sabe; sin nombres, solo se dice cuántos.

    Devuelve:
        str: una página HTML completa.
    """
    return _render(
        "class_report.html",
        results.course,
        group=results,
        when=when,
        changes=changes,
        absent=absent,
        copies=[
            (t, same) for t in results.explained for same in same_code(results.students, t.name)
        ],
        totals_plot=_totals_plot,
        shares_plot=_shares_plot,
    )


def evidence_page(
    student: Student, *, when: datetime | None = None, course: CourseSettings = AS_IT_COMES
) -> str:
    """Escribe, para quien da el curso, el código de un estudiante y los casos en que falla.

    Muestra lo que se esperaba: no es para el estudiante.

    Argumentos:
        student: lo que obtuvo.
        when: cuándo se calificó.
        course: cómo se llama el curso.

    Devuelve:
        str: una página HTML completa.
    """
    return _render("evidence.html", course, student=student, when=when)


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


def _shares_plot(topic: ClassTopic) -> Markup:
    """Por ejercicio, qué parte de la clase está en cada estado."""
    told = "; ".join(f"{e.label}, {e.share('correct')} % correcto" for e in topic.exercises)
    figure = plot_stacked(
        {
            STATES[state]: [100 * e.states[state] / len(e.found) for e in topic.exercises]
            for state in topic.states
        },
        [e.label.replace("$", r"\$") for e in topic.exercises],
        alt=f"Barras por ejercicio de {topic.outline.title}: {told}.",
        xlabel="% de quienes lo entregaron",
        ylabel="ejercicio",
        roles=[_ROLES[state] for state in topic.states],
    )
    return Markup(figure.to_svg())


# De una plantilla a una página


def _render(template: str, course: CourseSettings, **values: object) -> str:
    """Escribe una página; si falta algo que la plantilla nombra, es un error."""
    logo = _embedded(course.logo) if course.logo else ""
    return _environment().get_template(template).render(course=course, logo=logo, **values)


@functools.cache
def _embedded(logo: Path) -> str:
    """El logotipo dentro de la página; como imagen, nada de lo que tenga se ejecuta."""
    return "data:image/svg+xml;base64," + base64.b64encode(logo_svg(logo).encode()).decode()


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
        "chapters": _chapters,
        "date": _date,
        "file": _file,
        "fingerprint": _fingerprint,
        "hint": hint_html,
        "message": message_html,
        "number": short_number,
        "points": display.points_text,
        "property": _property,
        "slow_part": _slow_part,
        "sentence": sentence,
        "together": display.enumerated,
        "block": visible_block,
        "unbroken": unbroken,
        "visible": visible,
    }
    environment.globals |= {
        "icons": {state: Markup(display.icon(state, styled=False)) for state in STATES},
        "STATES": STATES,
        "percent": percent,
        "course_code": _course_code,
        "suggestion": _suggestion,
        "style": _asset("report.css"),
        "script": _asset("report.js"),
    }
    return environment


def _asset(name: str) -> Markup:
    """Una hoja de estilo o un programa nuestros, que van dentro de la página."""
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


def _fingerprint(text: str) -> str:
    """La huella con que la política de contenido reconoce lo que es nuestro."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# Cómo se escribe cada cosa


def _property(result: ExerciseResult) -> str:
    """En qué se nota el fallo."""
    name = result.property or ""
    return _PROPERTIES.get(name) or f"falla {visible(name, 40) or 'otra cosa'}"


def _chapters(topic: StudentTopic, course: CourseSettings) -> dict[str, str]:
    """Los capítulos que preparan un tema, menos los que el curso no tiene."""
    absent = course.absent_chapters
    return {page: name for page, name in topic.outline.chapters.items() if page not in absent}


def _file(one: Graded) -> str:
    """El archivo que se entregó; vacío si no hubo ninguno y solo se sabe quién."""
    source = one.entry.source
    return "" if source == one.entry.student else visible(source, 120)


def _course_code(exercise: str) -> str:
    """La respuesta del cuaderno de soluciones."""
    topic = exercise.partition(".")[0]
    return course_answer(topic, topic_sheet(topic).names[exercise])


def _suggestion(exercise: str, seen: Evidence) -> str:
    """El error frecuente que se pegaría en un ejercicio para reconocer esa respuesta.

    De la que no llegó a dar ni un error, porque no termina, ninguno: al probarlo tampoco acabaría.
    """
    if not seen.obtained:
        return ""
    name = topic_sheet(exercise.partition(".")[0]).names.get(exercise, "")
    return suggested_mistake(seen.code, name, seen.obtained)


def _slow_part(one: Graded) -> str:
    """Dónde se fue el tiempo: en un ejercicio, o en ejecutar el cuaderno."""
    exercises = one.result.exercises
    if 2 * sum(result.seconds for result in exercises) < one.result.seconds:
        return "al ejecutar sus celdas"
    slow = max(exercises, key=lambda result: result.seconds)
    heading = topic_outline(one.result.topic or "").heading(slow.exercise)
    return f"{heading} ({slow.seconds:.1f} s)"


def _date(when: datetime) -> str:
    return f"{when.day} de {_MONTHS.split()[when.month - 1]} de {when.year}, {when:%H:%M}"


def _address(path: str) -> str:
    """Una ruta relativa como dirección: ningún nombre de archivo llega a ser un esquema."""
    return quote(path, errors="replace")
