"""Qué se calificaría: lo que se sabe de cada entrega leyéndola, sin ejecutar nada suyo."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from course_lib.course_settings import AS_IT_COMES, CourseSettings
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.provenance import COURSE_NOTEBOOKS, course_notebook
from course_lib.grading.submission import (
    UNKNOWN_TOPIC,
    SubmissionError,
    read_submission,
    topic_of,
    topic_sheet,
)
from course_lib.judging.owner import bare


@dataclass(frozen=True)
class Foreseen:
    """Lo que pasaría con una entrega.

    Argumentos:
        entry: la entrega.
        topic: su tema, si se reconoce.
        refusal: por qué no se calificaría; vacío si se calificaría.
        note: lo que conviene saber de una que se calificaría.
    """

    entry: Entry
    topic: str | None = None
    refusal: str = ""
    note: str = ""


def foresee(
    entries: Iterable[Entry], topics: list[str], course: CourseSettings = AS_IT_COMES
) -> list[Foreseen]:
    """Dice qué pasaría con cada entrega, en su orden.

    Argumentos:
        entries: las entregas.
        topics: los temas que se piden; con uno solo, lo que no dice de cuál es, es de él.
        course: el curso, que puede no tener todos los temas.
    """
    seen = [_foresee_one(entry, topics[0] if len(topics) == 1 else None) for entry in entries]
    read = [one for one in seen if not one.refusal]
    own = Counter((one.entry.owner, one.topic) for one in read)
    counting = {one.entry.owner for one in read if _counts(one.topic, topics, course)}

    def note(one: Foreseen) -> str:
        if not _counts(one.topic, topics, course):
            alone = "" if one.entry.owner in counting else "; no hay otra cosa: queda sin nota"
            return f"no cuenta para la nota{alone}"
        together = own[one.entry.owner, one.topic]
        return f"de sus {together} cuadernos del tema cuenta el mejor" if together > 1 else ""

    return [one if one.refusal else replace(one, note=note(one)) for one in seen]


def _foresee_one(entry: Entry, topic: str | None) -> Foreseen:
    if not isinstance(entry.content, bytes):
        return Foreseen(entry, refusal=entry.content)
    try:
        submission = read_submission(entry.content)
    except SubmissionError as error:
        return Foreseen(entry, refusal=str(error))
    found = topic_of(submission, topic)
    if found is None:
        return Foreseen(entry, refusal=UNKNOWN_TOPIC)
    kind = course_notebook(submission, topic_sheet(found))
    return Foreseen(entry, found, COURSE_NOTEBOOKS.get(kind, ""))


def _counts(topic: str | None, topics: list[str], course: CourseSettings) -> bool:
    return topic in (topics or [topic]) and course.includes(topic)


_NOT_A_NAME = frozenset({"copia", "copy", "de", "final", "nuevo", "of"})


def look_alikes(entries: Iterable[Entry]) -> list[list[str]]:
    """Los nombres que parecen de una misma persona: solo cambian acentos, orden o un «(1)».

    A quien lo distingue una plataforma, con su número, no se le confunde con nadie.
    """
    groups: dict[tuple[str, ...], set[str]] = {}
    for entry in entries:
        if entry.participant is None:
            words = re.findall(r"[^\W\d_]+", bare(entry.student))
            key = tuple(sorted(word for word in words if word not in _NOT_A_NAME))
            groups.setdefault(key or (entry.student,), set()).add(entry.student)
    return [sorted(names) for names in groups.values() if len(names) > 1]


def look_alikes_told(entries: Iterable[Entry]) -> str:
    """Lo dice en una línea; vacío si no hay ninguno."""
    told = "; ".join(" y ".join(f"«{name}»" for name in names) for names in look_alikes(entries))
    return f"se califican aparte, y parecen la misma persona: {told}" if told else ""
