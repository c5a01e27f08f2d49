"""El veredicto en un cuaderno: además del resultado, el caso en que falla y qué hacer ahora.

Nada de esto existe al calificar: allí las entradas son secretas.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import torch

from course_lib.judging import display, session
from course_lib.judging.case import Case
from course_lib.judging.compiled import PREPARED, exercise_after
from course_lib.judging.exercise import Exercise
from course_lib.judging.invariants import told_invariants
from course_lib.judging.plain_data import tensors_in
from course_lib.judging.refusal import as_when_graded
from course_lib.judging.relations import told_relation
from course_lib.judging.running import draw_cases, run_cases
from course_lib.judging.session import TooLongError, limited
from course_lib.judging.verdict import Verdict

_CONTEXT_SECONDS = 3.0
"""Cuánto se espera a que la respuesta repita el caso en que falla."""


@dataclass(frozen=True, repr=False)
class NotebookVerdict(Verdict):
    """Un veredicto con lo que ayuda a seguir.

    Argumentos:
        title: el título del ejercicio en el cuaderno.
        case: el caso en que falla, o None.
        facts: lo que se vio en el resultado, en palabras y números.
        steps: qué hacer ahora.
        note: lo que conviene saber y no cambia el resultado.
    """

    title: str = ""
    case: Case | None = None
    facts: Sequence[str] = ()
    steps: Sequence[str] = ()
    note: str = ""

    def told(self) -> display.Told:
        """Lo que se muestra, por partes."""
        folds = []
        if self.case is not None and self.case.printed:
            folds.append(display.Fold("Lo que imprimió tu código en ese caso", self.case.printed))
        if self.case is not None and self.case.has_calls:
            folds.append(display.Fold("Por dónde pasó tu código", self.case.trace()))
        return replace(
            super().told(),
            title=self.title or self.exercise,
            facts=self.facts,
            folds=folds,
            steps=self.steps,
            note=self.note,
        )


def notebook_verdict(
    exercise: Exercise,
    verdict: Verdict,
    student: Any,
    *,
    seed: int | None = None,
    seconds: float = _CONTEXT_SECONDS,
) -> NotebookVerdict:
    """Completa un veredicto con lo que ayuda a seguir, y lo deja a mano en el cuaderno.

    Argumentos:
        exercise: el ejercicio.
        verdict: lo que se juzgó.
        student: la respuesta.
        seed: la semilla con que se sortearon los casos; None si no se llegó a ejecutar.
        seconds: lo que se espera a su código.
    """
    times = session.note_try(verdict, student)
    case, facts, graded = None, [], as_when_graded(exercise, student)
    failed = verdict.status in ("wrong", "error")
    if failed and seed is not None and verdict.case_index is not None and callable(student):
        with contextlib.suppress(TooLongError):  # con estas entradas tarda; el veredicto ya está
            case, facts = limited(
                seconds, lambda: _seen(exercise, verdict, graded, seed, hand=times > 2)
            )
    told = NotebookVerdict(
        **{field.name: getattr(verdict, field.name) for field in fields(Verdict)},
        title=exercise.title,
        case=case,
        facts=facts,
        steps=_steps(exercise, verdict, case, times),
    )
    _leave_at_hand(told)
    return told


def _seen(
    exercise: Exercise, verdict: Verdict, student: Any, seed: int, *, hand: bool
) -> tuple[Case | None, list[str]]:
    """El caso en que falla, y lo que se ve en lo que dio."""
    cases = draw_cases(exercise, seed)
    if cases == [()]:
        return None, []
    index = verdict.case_index or 0
    case = Case(exercise, student, cases[index], index + 1, len(cases))
    facts = []
    if verdict.property == "values":
        with torch.inference_mode(False), torch.enable_grad():
            (outcome,) = run_cases(exercise, student, [cases[index]])
            facts = told_invariants(exercise, cases, outcome, index, seed)
            if not verdict.hinted and (told := told_relation(exercise, student, case.names, seed)):
                facts.append(told)
    if hand and (told := _by_hand(exercise, student, cases)):
        facts.append(told)
    return case, facts


def _by_hand(exercise: Exercise, student: Any, cases: list[tuple]) -> str:
    """El caso más pequeño de los que fallan, para hacerlo en papel; nunca lo que se esperaba."""
    from course_lib.judging.check import first_verdict  # que importa este módulo

    for one in sorted(cases, key=_effort):
        alone = replace(exercise, cases=lambda rng, one=one: [one], partial=(), misconceptions=())
        if first_verdict(alone, student, seed=0).status == "correct":
            continue
        if small := Case(exercise, student, one, 1, 1).small():
            return f"Hazlo a mano con un caso pequeño: {small}. ¿Qué debería dar, y qué da el tuyo?"
    return ""


def _effort(case: tuple) -> tuple[bool, int]:
    """Cuánto cuesta hacer un caso a mano: mejor pocos números, y que no sean enormes."""
    tensors = list(tensors_in(case))
    huge = any(bool((x.abs() > 50).any()) for x in tensors if x.is_floating_point())
    return huge, sum(x.numel() for x in tensors)


# Qué hacer ahora


def _steps(exercise: Exercise, verdict: Verdict, case: Case | None, times: int) -> list[str]:
    if verdict.status == "pending":
        return []
    after = exercise_after(exercise)
    if verdict.status == "correct":
        if not after:
            return ["Era el último de este cuaderno: mira tu `resumen()`"]
        return [f"Sigue: {after}"]
    steps = []
    if case is not None:
        steps.append("Para ver el caso que falla, escribe `verdict.case` en otra celda")
        if case.error is not None:
            steps.append("`%debug` entra en la línea que se detuvo")
    if exercise.section is not None:
        again = "Otra vez lo mismo: vuelve a leer" if times > 1 else "Repasa:"
        steps.append(f"{again} {section_link(exercise)}")
    return [*steps, *([f"Cuando pase: {after}"] if after else [])]


def section_link(exercise: Exercise) -> str:
    """La sección que explica un ejercicio, con su enlace a donde esté el libro."""
    section = exercise.section
    page = _page(section.page)
    return f"[{section.title}]({page}#{section.label})" if page else f"*{section.title}*"


_BOOKS = ("../libro/book", "../_build/html/book")
"""Dónde puede estar el libro, visto desde un cuaderno: en la carpeta de un aula o en un clon."""


def _page(name: str) -> str:
    """La página de un capítulo: la que hay al lado, o la publicada; vacía si no se sabe."""
    if PREPARED in os.environ:  # el sitio lleva este enlace a su página
        return f"../book/{name}.md"
    if Path(f"{name}.md").is_file():  # lo ejecuta otro capítulo, al construir el libro
        return f"../book/{name}.html"
    for folder in _BOOKS:
        if Path(folder, f"{name}.html").is_file():
            return f"{folder}/{name}.html"
    site = _published()
    return f"{site}book/{name}.html" if site else ""


def _published() -> str:
    """La dirección del sitio, que la biblioteca publicada lleva entre sus datos."""
    try:
        urls = importlib.metadata.metadata("course_lib").get_all("Project-URL") or []
    except importlib.metadata.PackageNotFoundError:
        return ""
    return next((url.partition(", ")[2] for url in urls if url.startswith("libro, ")), "")


def _leave_at_hand(verdict: NotebookVerdict) -> None:
    """Deja el veredicto en `verdict`, si el nombre está libre, y la excepción en `%debug`."""
    here = session.shell()
    if not here:
        return
    if isinstance(here.user_ns.get("verdict"), (NotebookVerdict, type(None))):
        here.user_ns["verdict"] = verdict
    error = verdict.case.error if verdict.case is not None else None
    if error is None:
        return
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, error.__traceback__
    sys.last_exc = error
    here.InteractiveTB.tb = error.__traceback__
