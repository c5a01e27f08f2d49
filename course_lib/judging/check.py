"""Comprueba la respuesta de un estudiante y explica qué falla, sin mostrar lo que se esperaba.

`check(nombre, objeto)` es la última línea de cada celda de comprobación. Los pasos son los de un
calificador: se sortean entradas, se ejecuta al estudiante (`running`) y se juzga lo que devolvió
(`judging`).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import torch

from course_lib.judging import session
from course_lib.judging.compiled import compiled_topic
from course_lib.judging.exercise import NAME_PATTERN, Exercise
from course_lib.judging.judge import (
    judge,
    needs_gradients,
    pairs_like,
    pending,
    shows_its_mistakes,
    with_both,
)
from course_lib.judging.notebook_verdict import NotebookVerdict, notebook_verdict
from course_lib.judging.owner import allotted, set_owner
from course_lib.judging.owner import owner as owner_now
from course_lib.judging.refusal import as_when_graded
from course_lib.judging.running import draw_cases, run_cases, run_gradients, told_failure
from course_lib.judging.session import TooLongError, limited
from course_lib.judging.verdict import Verdict

NOTEBOOK_SEED = 2017
"""Semilla de los cuadernos: el mismo código da siempre el mismo texto."""

MOST_SECONDS = 10.0
"""Los segundos que se espera a una respuesta en un cuaderno."""

_AGAIN = "corrígela, ejecútala y comprueba de nuevo"
_CALL = re.compile(r"""^check\(\s*["'](?P<exercise>[\w.]+)["'],\s*(?P<answer>\w+)""", re.MULTILINE)


def check(
    name: str,
    student: Any,
    *,
    owner: str = "",
    seed: int | None = None,
    seconds: float = MOST_SECONDS,
) -> NotebookVerdict:
    """Comprueba el objeto del estudiante contra el ejercicio de ese nombre.

    Argumentos:
        name: `tema.nombre` del ejercicio.
        student: la función, la clase o la respuesta del estudiante.
        owner: de quién es el cuaderno, si es personal: decide las entradas, y las constantes de
            los ejercicios que varían.
        seed: semilla de las entradas; si falta, la del cuaderno.
        seconds: cuánto se espera a su código.

    Devuelve:
        NotebookVerdict: dice si es correcto, si está pendiente o qué falla, y qué hacer ahora; en
            `case`, el caso en que falla. En un cuaderno se llama también `verdict`.

    Errores:
        ValueError: no hay ejercicio con ese nombre.
    """
    if owner:
        set_owner(owner)
    seed = _notebook_seed() if seed is None else seed
    exercise = find_exercise(name)
    if unfinished := session.unfinished_cell(exercise.asked_name, student):
        told = f"{unfinished}. Lo que hay en memoria es lo de antes: {_AGAIN}"
        return notebook_verdict(exercise, _stopped(exercise, told), student)
    verdict = _judged(exercise, student, seed, seconds)
    told = notebook_verdict(exercise, verdict, student, seed=seed, seconds=seconds)
    return replace(told, note=_other_name(exercise, student))


def tell_missing_answers(shell: Any) -> None:
    """Hace que, en ese IPython, comprobar lo que no existe dé un veredicto y no una traza."""

    def tell(shell: Any, kind: type, error: NameError, trace: Any, tb_offset: Any = None) -> None:
        call = _CALL.search(shell.user_ns["In"][-1])
        if call is None or call["answer"] != error.name:
            shell.showtraceback((kind, error, trace), tb_offset=tb_offset)
            return
        exercise = find_exercise(call["exercise"])
        why = session.unfinished_cell(error.name, session.NOTHING)
        verdict = _stopped(exercise, f"{why}. {_AGAIN.capitalize()}")
        session.show(notebook_verdict(exercise, verdict, None))

    shell.set_custom_exc((NameError,), tell)


def judge_now(name: str, student: Any, owner: str = "") -> Verdict:
    """Comprueba una respuesta sin mirar el cuaderno, como al calificar; es de `course check`."""
    set_owner(owner)
    return _judged(find_exercise(name), student, _notebook_seed(), MOST_SECONDS)


def _notebook_seed() -> int:
    """La semilla del cuaderno: la de todos, o la de su dueño si es personal."""
    own = owner_now()
    return NOTEBOOK_SEED + allotted(own, "entradas", 2**31) if own else NOTEBOOK_SEED


def status_now(exercise: Exercise, student: Any) -> str:
    """Dice cómo está una respuesta (`correct`, `pending`…), sin buscar por qué."""
    student = as_when_graded(exercise, student)
    try:
        verdict = limited(
            MOST_SECONDS, lambda: first_verdict(exercise, student, seed=_notebook_seed())
        )
    except TooLongError:
        return "error"
    return verdict.status


def _judged(exercise: Exercise, student: Any, seed: int, seconds: float) -> Verdict:
    """Da el veredicto; un código que no termina también tiene el suyo."""
    student = as_when_graded(exercise, student)
    try:
        verdict = limited(seconds, lambda: first_verdict(exercise, student, seed=seed))
    except TooLongError as error:
        return _stopped(exercise, _too_long(error, seconds))
    try:
        return limited(seconds, lambda: recognise_two(exercise, student, verdict, seed=seed))
    except TooLongError:  # buscar dos errores lo ejecuta más veces; su veredicto ya está
        return verdict


def _stopped(exercise: Exercise, message: str) -> Verdict:
    return Verdict(exercise.name, "error", 0, exercise.points, message, property="runs")


def _too_long(error: TooLongError, seconds: float) -> str:
    number, _, source = told_failure(error).line.partition(": ")
    where = f" (iba por la {number}: `{source.strip('`')}`)" if source else ""
    return (
        f"tu código no terminó en {seconds:g} segundos{where}. ¿Hay un bucle que no acaba? Si solo "
        f"es lento, dale más tiempo: `check(…, seconds={6 * seconds:g})`"
    )


def _other_name(exercise: Exercise, student: Any) -> str:
    """Avisa si, en el cuaderno desde el que se llama, la respuesta tiene otro nombre."""
    here, name = session.shell(), exercise.asked_name
    if not here or not name or (name in here.user_ns and here.user_ns[name] is student):
        return ""
    return f"al calificar se busca «{name}», y aquí compruebas otra cosa: ponle ese nombre"


def check_exercise(exercise: Exercise, student: Any, *, seed: int = NOTEBOOK_SEED) -> Verdict:
    """Comprueba el objeto del estudiante contra un ejercicio dado."""
    verdict = first_verdict(exercise, student, seed=seed)
    return recognise_two(exercise, student, verdict, seed=seed)


def first_verdict(exercise: Exercise, student: Any, *, seed: int) -> Verdict:
    """Da los puntos y, si un solo error frecuente lo explica todo, su pista."""
    if is_blank(student):
        return pending(exercise)
    with torch.inference_mode(False), torch.enable_grad():  # quien llama puede estar en no_grad
        cases = draw_cases(exercise, seed)
        outcomes = run_cases(exercise, student, cases)
        needed = needs_gradients(exercise, cases, outcomes)
        gradients = run_gradients(exercise, student, cases) if needed else None
        return judge(exercise, cases, outcomes, gradients)


def recognise_two(exercise: Exercise, student: Any, verdict: Verdict, *, seed: int) -> Verdict:
    """Si ningún error explica la respuesta, busca dos que lo hagan a la vez; los puntos no cambian.

    Para eso se vuelve a ejecutar al estudiante, con varios sorteos.
    """
    unexplained = verdict.status in ("wrong", "error") and not verdict.hinted
    if not unexplained or verdict.property == "inputs":
        return verdict
    seen = {"property": verdict.property, "seed": seed}
    with torch.inference_mode(False), torch.enable_grad():
        pairs = pairs_like(exercise, exercise.pairs, student, **seen)
        if not pairs or not shows_its_mistakes(exercise, pairs[0][2], **seen):
            return verdict
    return with_both(exercise, verdict, pairs)


def find_exercise(name: str) -> Exercise:
    """Busca un ejercicio por su nombre."""
    known = topic_exercises(name.partition(".")[0]) if NAME_PATTERN.fullmatch(name) else ()
    for exercise in known:
        if exercise.name == name:
            return exercise
    listed = ", ".join(exercise.name for exercise in known)
    raise ValueError(
        f"No hay ningún ejercicio llamado «{name}»; revisa el nombre en la celda de comprobación."
        + (f" Los de ese tema son: {listed}." if listed else "")
    )


def topic_exercises(topic: str) -> tuple[Exercise, ...]:
    """Da los ejercicios de un tema; ninguno, si el tema no existe."""
    return compiled_topic(topic) or ()


def is_blank(student: Any) -> bool:
    """Dice si la respuesta sigue sin escribir: `...`, None, o una lista donde queda un `...`."""
    if student is None or student is ...:
        return True
    return type(student) in (list, tuple) and any(item is ... for item in student)


if here := session.shell():
    tell_missing_answers(here)
