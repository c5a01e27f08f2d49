"""Calificar una entrega, como tarea: entran bytes y sale el resultado en datos simples.

La ejecutan los procesos de esta computadora y los de un grupo de máquinas (`lanes`). Cada proceso
conserva un calificador ya caliente y lo usa para una entrega a la vez, aunque tenga varios hilos.
"""

from __future__ import annotations

import functools
import hashlib
import json
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from course_lib.grading.provenance import (
    COURSE_NOTEBOOKS,
    answer_marks,
    copied_answers,
    course_cells,
    course_notebook,
    uncompared_answers,
    whose,
)
from course_lib.grading.sandbox.box import Limits, SandboxError
from course_lib.grading.sandbox.grader import Grader, Progress, SubmissionResult
from course_lib.grading.sandbox.wire import clean
from course_lib.grading.submission import (
    Sheet,
    Submission,
    SubmissionError,
    gradable_topics,
    read_submission,
    topic_of,
    topic_sheet,
)
from course_lib.judging.owner import owned_by
from course_lib.notebooks.fingerprint import EXERCISES, library_fingerprint

OTHER_VERSION = (
    "el proceso que califica tiene otra versión del curso o de sus paquetes, o cambió mientras se "
    "calificaba: deja las mismas en todas las máquinas, reinicia sus procesos y repite la orden"
)


@dataclass(frozen=True)
class Order:
    """Cómo se califica; menos de quién es la entrega, lo mismo para toda la clase.

    Argumentos:
        seed: semilla de las entradas.
        version: la del curso que ordena (`course_version`), que quien califica debe tener.
        topic: el tema, menos de lo que dice que es de otro; si falta, se reconoce en cada entrega.
        sandboxed: si el código ajeno corre en una caja.
        limits: lo que puede gastar cada entrega.
        private: lo que ninguna debe ver del disco, además del proyecto.
        roster: la lista con que se repartieron los cuadernos personales; vacía, si no los hay.
        student: quién entrega.
    """

    seed: int
    version: str
    topic: str | None = None
    sandboxed: bool = True
    limits: Limits = field(default_factory=Limits)
    private: tuple[str, ...] = ()
    roster: tuple[str, ...] = ()
    student: str = ""


def grade_task(content: bytes, order: Order) -> dict[str, Any]:
    """Califica una entrega; nunca lanza una excepción.

    Argumentos:
        content: los bytes del cuaderno.
        order: cómo se califica.

    Devuelve:
        el resultado como datos (`SubmissionResult.as_data`); si no se pudo calificar, su estado es
        `failed` y el mensaje dice por qué.
    """
    try:
        return _GRADER.grade(content, order).as_data()
    except (SandboxError, RuntimeError) as error:  # ya lo explican, a quien califica
        return failed(str(error)).as_data()
    except Exception as error:  # una entrega nunca detiene a las demás
        return failed(f"{type(error).__name__}: {error}").as_data()


def failed(reason: str) -> SubmissionResult:
    """Da el resultado de una entrega que no se pudo calificar."""
    return SubmissionResult("failed", clean(reason, 400))


def close_grader() -> None:
    """Termina el calificador de este proceso, si lo hay, cuando acabe lo que esté haciendo."""
    _GRADER.close_when_idle()


class _WarmGrader:
    """El calificador de este proceso, que sigue vivo entre una entrega y la siguiente."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # los procesos de Dask tienen varios hilos
        self._grader: Grader | None = None
        self._kind: tuple = ()
        self._leaving = False

    def grade(self, content: bytes, order: Order) -> SubmissionResult:
        """Califica; si la plantilla había muerto, con una nueva."""
        with self._lock:  # también al leer: `ast` de Python 3.11 falla con dos hilos a la vez
            self._leaving = False
            if _own_version() != order.version:
                return failed(OTHER_VERSION)
            try:
                return _grade(self._ready(order), content, order)
            except (SandboxError, OSError):
                self.close()
                return _grade(self._ready(order), content, order)
            finally:
                if self._leaving:
                    self.close()

    def _ready(self, order: Order) -> Grader:
        kind = (order.sandboxed, order.limits, order.private)
        if self._grader is None or self._kind != kind:
            self.close()
            torch.set_num_threads(1)  # el paralelismo está en los procesos
            self._grader = Grader(order.limits, sandboxed=order.sandboxed, private=order.private)
            self._kind = kind
        return self._grader

    def close_when_idle(self) -> None:
        """Termina el calificador ya, o al acabar la entrega que otro hilo está calificando."""
        self._leaving = True
        if self._lock.acquire(timeout=1.0):
            try:
                self.close()
            finally:
                self._lock.release()

    def close(self) -> None:
        """Termina el calificador; quien llama tiene el turno."""
        grader, self._grader = self._grader, None
        if grader is not None:
            grader.close()


def _grade(grader: Grader, content: bytes, order: Order) -> SubmissionResult:
    """Califica lo que no es un cuaderno del curso, y avisa si se le parece demasiado.

    Todo lo que se lee de una entrega se lee en su juez.
    """

    def judge(progress: Progress) -> SubmissionResult:
        opened = _open(content, order.topic)
        if opened is not None and (kind := course_notebook(*opened)):
            return SubmissionResult("course", COURSE_NOTEBOOKS[kind], opened[1].topic)
        said = opened[0].owner if opened else ""
        theirs, told = whose(said, order.student, order.roster)
        with owned_by(theirs):
            result = grader.judge(content, order.seed, order.topic, progress)
        if opened is None or not result.evidence:
            return result
        marks = answer_marks(*opened)
        evidence = {n: replace(e, mark=marks.get(n, "")) for n, e in result.evidence.items()}
        earned = {
            one.exercise: marks.get(one.exercise, "") for one in result.exercises if one.points
        }
        copied = copied_answers(*opened, marks)
        notes = filter(None, (*result.notes, told, copied, uncompared_answers(earned)))
        return replace(result, notes=tuple(notes), evidence=evidence)

    return grader.apart(judge)


def _open(content: bytes, topic: str | None) -> tuple[Submission, Sheet] | None:
    """Lee una entrega con la hoja de su tema; None si no es un cuaderno del curso."""
    try:
        submission = read_submission(content)
    except SubmissionError:
        return None
    topic = topic_of(submission, topic)
    return None if topic is None else (submission, topic_sheet(topic))


_GRADER = _WarmGrader()


@functools.cache
def _own_version() -> str:
    """La versión de los módulos de este proceso: la que había cuando se acababan de importar."""
    return course_version()


def course_version(topic: str | None = None) -> str:
    """Resume lo que decide una calificación: el motor, los ejercicios, lo que se da y los paquetes.

    Argumentos:
        topic: un tema; si falta, todos.
    """
    topics = [topic] if topic else gradable_topics()
    engine = [
        f"course_lib.grading.{name}" for name in ("sandbox.grader", "sandbox.worker", "provenance")
    ]
    checks = [f"{EXERCISES}.{name}" for name in topics]
    tools = topic_sheet(topic).tools if topic else frozenset()
    cells = [course_cells(kind, name) for name in topics for kind in ("exercises", "solutions")]
    library = library_fingerprint([*engine, *checks, *tools], None)
    return hashlib.sha256(json.dumps([library, topics, cells]).encode()).hexdigest()
