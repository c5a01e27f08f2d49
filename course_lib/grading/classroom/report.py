"""Páginas de una calificación: una para cada estudiante y una para quien da el curso.

Cada página es un solo archivo HTML que se abre sin red y sin servidor (`rendering`), y dice lo que
suman `student_results` y `class_results`. Nunca se muestra lo que se esperaba.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from course_lib._extras import extra
from course_lib.grading.classroom.class_results import ClassResults, ClassTopic
from course_lib.grading.classroom.collection import Graded, by_student
from course_lib.grading.classroom.rendering import render
from course_lib.grading.classroom.student_results import STATES, Student, students_of
from course_lib.plotting import plot_bars, plot_stacked

with extra("teacher"):
    from markupsafe import Markup

_ROLES = dict(zip(STATES, ("value", "input", "key", "output", "weights", "hidden"), strict=True))


def feedback_page(
    graded: Sequence[Graded],
    *,
    counted: Mapping[str, int] | None = None,
    site: str | None = None,
    when: datetime | None = None,
) -> str:
    """Escribe la página de un estudiante, con todo lo que entregó.

    Argumentos:
        graded: sus entregas, ya calificadas; de un tema cuenta la mejor.
        counted: los temas que cuentan en la nota de la clase y lo que vale cada uno
            (`counted_topics`); si falta, los que entregó.
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
    return render(
        "feedback.html",
        student=Student(tuple(graded), counted),
        site=site and site.rstrip("/"),
        when=when,
    )


def class_report(
    graded: Sequence[Graded],
    *,
    topics: Sequence[str] = (),
    links: Mapping[str, str] | None = None,
    when: datetime | None = None,
) -> str:
    """Escribe la página de la clase, para quien da el curso.

    Argumentos:
        graded: todas las entregas, ya calificadas; puede no haber ninguna.
        topics: los temas que cuentan; si faltan, todos los que se entregaron.
        links: por clave de entrega (`Entry.key`), la ruta de la página de su estudiante, relativa
            a esta y sin codificar.
        when: cuándo se calificó.

    Devuelve:
        str: una página HTML completa.
    """
    return render(
        "class_report.html",
        group=ClassResults(students_of(graded, links or {}, topics)),
        asked=bool(topics),
        when=when,
        totals_plot=_totals_plot,
        shares_plot=_shares_plot,
    )


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
