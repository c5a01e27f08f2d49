"""`resumen()`: lo hecho en un cuaderno, sus puntos y lo que sigue."""

from __future__ import annotations

import html
from dataclasses import dataclass

from course_lib.judging import display, session
from course_lib.judging.check import topic_exercises
from course_lib.judging.compiled import Place, topic_place
from course_lib.judging.exercise import Exercise
from course_lib.judging.verdict import Verdict


def resumen(topic: str | None = None) -> Summary:
    """Resume lo comprobado desde que se abrió el cuaderno.

    Argumentos:
        topic: el tema; si falta, el del último ejercicio que se comprobó.

    Devuelve:
        Summary: los ejercicios con su estado, los puntos y lo que sigue.

    Errores:
        ValueError: no hay un tema con ese nombre, o todavía no se comprobó nada.
    """
    topic = topic or session.last_topic()
    exercises = topic_exercises(topic) if topic else ()
    if not exercises:
        raise ValueError(
            f"No hay un tema llamado «{topic}»."
            if topic
            else "Todavía no comprobaste nada en este cuaderno: ejecuta antes sus celdas."
        )
    rows = [(each, session.last_verdict(each.name)) for each in exercises]
    return Summary(topic_place(topic), tuple(rows))


@dataclass(frozen=True, repr=False)
class Summary:
    """El resumen de un tema.

    Argumentos:
        place: su título, y el tema que va detrás.
        rows: cada ejercicio y su veredicto; None si no se comprobó.
    """

    place: Place
    rows: tuple[tuple[Exercise, Verdict | None], ...]

    @property
    def points(self) -> int:
        return sum(verdict.points for _, verdict in self.rows if verdict)

    @property
    def max_points(self) -> int:
        return sum(exercise.points for exercise, _ in self.rows)

    @property
    def done(self) -> int:
        """Cuántos ejercicios están bien."""
        return sum(verdict is not None and verdict.status == "correct" for _, verdict in self.rows)

    def _states(self) -> list[tuple[Exercise, str, int]]:
        return [
            (exercise, verdict.state() if verdict else "pending", verdict.points if verdict else 0)
            for exercise, verdict in self.rows
        ]

    def _next(self) -> str:
        """Qué hacer ahora: lo que no está bien, lo que falta, u otro cuaderno."""
        states = [(exercise, state) for exercise, state, _ in self._states() if state != "correct"]
        started = [exercise for exercise, state in states if state != "pending"]
        waiting = [exercise for exercise, state in states if state == "pending"]
        if not states:
            other = self.place.next_title
            return f"Todo hecho. Sigue el cuaderno «{other}»" if other else "Todo hecho"
        said = [f"Corrige: {started[0].title}"] if started else []
        return " · ".join([*said, *([f"Sigue: {waiting[0].title}"] if waiting else [])])

    def _total(self) -> str:
        return (
            f"{self.done} de {len(self.rows)} ejercicios, "
            f"{display.score(self.points, self.max_points)}"
        )

    def _for_progress(self) -> list[str]:
        """La línea que se pega en la página «Tu progreso»; ninguna si no hay nada hecho."""
        done = [each for each, state, _ in self._states() if state == "correct"]
        names = ", ".join(each.name.partition(".")[2] for each in done)
        return [f"Para la página *Tu progreso*: `{done[0].topic}: {names}`"] if done else []

    def __repr__(self) -> str:
        lines = [f"{self.place.title}: {self._total()}"]
        for exercise, state, points in self._states():
            said = f"{display.WORDS[state]}, {points} de {exercise.points}"
            lines.append(f"   {display.MARKS[state]} {display.unmarked(exercise.title)}: {said}")
        ends = [self._next(), *self._for_progress()]
        return "\n".join([*lines, *(f"   {display.unmarked(said)}" for said in ends)])

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict:
        return {
            "text/plain": repr(self),
            "text/markdown": self.markdown(),
            "text/html": self.html(),
        }

    def markdown(self) -> str:
        """Una lista, para quien muestra Markdown."""
        rows = [
            f"- {display.MARKS[state]} {exercise.title}: {display.WORDS[state]}, "
            f"{points} de {exercise.points}"
            for exercise, state, points in self._states()
        ]
        ends = [text for said in (self._next(), *self._for_progress()) for text in ("", said)]
        return "\n".join([f"**{self.place.title}**: {self._total()}", "", *rows, *ends])

    def html(self) -> str:
        """Una tabla, para un cuaderno y para el sitio."""
        cell = "text-align:left;padding:3px 14px 3px 0;border:0;background:transparent"
        head = "".join(
            f'<th scope="col" style="{cell};font-weight:600">{name}</th>'
            for name in ("Ejercicio", "Estado", "Puntos")
        )
        rows = "".join(
            f'<tr><td style="{cell}">{display.inline_html(exercise.title)}</td>'
            f'<td style="{cell};white-space:nowrap">'
            f'<span style="color:{display.COLORS[state]}">{display.icon(state)}</span> '
            f"{display.WORDS[state]}</td>"
            f'<td style="{cell};white-space:nowrap">{points} de {exercise.points}</td></tr>'
            for exercise, state, points in self._states()
        )
        title = f"<strong>{html.escape(self.place.title)}</strong>: {html.escape(self._total())}"
        said = [self._next(), *self._for_progress()]
        ends = "".join(f"<div>{display.inline_html(text)}</div>" for text in said)
        table = "border-collapse:collapse;margin:6px 0;color:inherit;background:transparent"
        return (
            f'<div lang="es" class="course-summary" style="margin:6px 0;line-height:1.5">'
            f'<div>{title}</div><table style="{table}"><thead><tr>{head}</tr></thead>'
            f"<tbody>{rows}</tbody></table>{ends}</div>"
        )
