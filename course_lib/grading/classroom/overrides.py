"""Lo que quien califica cambia a mano, con su motivo: `overrides.csv`, que se vuelve a leer.

Cada renglón dice a quién, qué y cuánto: los puntos de un ejercicio, los del total, o cuántos días
de retraso se le cuentan. La hoja es de quien califica: se escribe vacía una vez y no se toca más.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from course_lib.grading.classroom.spreadsheets import by_hand, read_by_hand
from course_lib.grading.classroom.untrusted_text import clean_name, plain_cell
from course_lib.grading.classroom.worksheet import comparable, write_csv

if TYPE_CHECKING:
    from course_lib.grading.classroom.collection import Entry
    from course_lib.grading.classroom.results import Graded

OVERRIDES_FILE = "overrides.csv"
TOTAL, LATE = "total", "retraso"
_HEADER = ["Estudiante", "Qué", "Puntos", "Motivo"]


class OverridesError(ValueError):
    """La hoja no se puede usar; el mensaje dice en qué renglón, por qué y qué hacer."""


@dataclass(frozen=True)
class Override:
    """Un renglón de la hoja.

    Argumentos:
        who: el nombre de quien entrega, o su número.
        what: un ejercicio, `total` o `retraso`.
        points: los puntos; de un retraso, los días que se le cuentan.
        reason: por qué.
        line: en qué renglón está.
    """

    who: str
    what: str
    points: Decimal
    reason: str
    line: int

    def wrong(self, told: str) -> OverridesError:
        """El error de este renglón."""
        return OverridesError(
            f"{OVERRIDES_FILE}, renglón {self.line} («{self.who[:60]}», {self.what[:60]}): {told}"
        )


ByHand = Mapping[str, Mapping[str, Override]]
"""Por cada quien, lo que se le cambia."""


def write_blank(path: Path) -> None:
    """Escribe la hoja vacía, si todavía no hay ninguna."""
    if not path.exists() and not path.with_suffix(".xlsx").exists():
        write_csv(path, [_HEADER])


def read_overrides(path: Path) -> list[Override]:
    """Lee la hoja; nada, si no la hay.

    Errores:
        OverridesError: no es la hoja, o a un renglón le falta algo.
    """
    path = by_hand(path)
    if not path.exists():
        return []
    rows = read_by_hand(path, _HEADER[0]) or [[]]
    header = [cell.strip() for cell in rows[0]]
    if header[: len(_HEADER)] != _HEADER or any(header[len(_HEADER) :]):
        raise OverridesError(f"«{path}»: sus columnas deben ser {', '.join(_HEADER)}.")
    found = [(line, [cell.strip() for cell in row]) for line, row in enumerate(rows[1:], 2)]
    return [_override(line, cells) for line, cells in found if any(cells)]


def _override(line: int, cells: list[str]) -> Override:
    who, what, points, reason = (cells + [""] * 4)[:4]
    read = Override(who, what.casefold(), Decimal(0), clean_name(reason, 300), line)
    if not (who and what and reason):
        raise read.wrong("falta a quién, qué o por qué; el motivo lo lee el estudiante.")
    if not re.fullmatch(r"[0-9]{1,4}([.,][0-9]{1,2})?", points):
        raise read.wrong(f"se esperaba un número de puntos, y llegó «{points[:20]}».")
    value = Decimal(points.replace(",", "."))
    if read.what == LATE and value != int(value):
        raise read.wrong(f"los días de retraso son enteros, y llegó «{points}».")
    return replace(read, points=value)


def by_owner(
    overrides: Iterable[Override],
    entries: Iterable[Entry],
    numbered: Mapping[str, Entry] | None = None,
) -> ByHand:
    """Reparte los renglones entre quienes entregaron.

    Argumentos:
        overrides: los renglones.
        entries: las entregas.
        numbered: cómo se llama además a cada quien, si se lee sin nombres (`Anonymity.names`).

    Errores:
        OverridesError: no hay nadie así, hay más de uno, o se le cambia dos veces lo mismo.
    """
    owners: dict[str, set[str]] = {}
    for entry in entries:
        names = {entry.student, plain_cell(entry.student), entry.participant or "", entry.owner}
        if numbered:
            names |= {numbered[entry.owner].student, numbered[entry.owner].participant}
        for name in map(comparable, names - {""}):
            owners.setdefault(name, set()).add(entry.owner)
    found: dict[str, dict[str, Override]] = {}
    for each in overrides:
        known = owners.get(comparable(each.who), set())
        if len(known) != 1:
            why = "hay más de uno: pon su número" if known else "no está entre las entregas"
            raise each.wrong(f"{why}, como en la columna de grades.csv.")
        own = found.setdefault(*known, {})
        if each.what in own:
            raise each.wrong(f"ya está en el renglón {own[each.what].line}: deja uno.")
        own[each.what] = each
    return found


def with_overrides(graded: Iterable[Graded], by_hand: ByHand) -> list[Graded]:
    """Cambia los puntos de los ejercicios que se ponen a mano.

    Errores:
        OverridesError: pasan de lo que vale el ejercicio, o nadie entregó ese ejercicio.
    """
    works = [_with_own(one, by_hand.get(one.entry.owner, {})) for one in graded]
    answered = {(w.entry.owner, e.exercise) for w in works for e in w.result.exercises}
    for owner, own in by_hand.items():
        for what, each in own.items():
            if what not in (TOTAL, LATE) and (owner, what) not in answered:
                told = f"no tiene calificado ese ejercicio; se esperaba uno suyo, {TOTAL} o {LATE}."
                raise each.wrong(told)
    return works


def with_those_that_fit(graded: Iterable[Graded], by_hand: ByHand) -> list[Graded]:
    """Pone lo mismo en otra calificación, menos lo que no cabe en lo que valía el ejercicio."""
    works = []
    for one in graded:
        worth = {each.exercise: each.max_points for each in one.result.exercises}
        own = by_hand.get(one.entry.owner, {}).items()
        fit = {what: each for what, each in own if each.points <= worth.get(what, -1)}
        works.append(_with_own(one, fit))
    return works


def with_totals_that_fit(by_hand: ByHand, worth: int) -> ByHand:
    """Lo puesto a mano, sin los totales que pasan de lo que valía todo."""
    return {
        owner: {what: each for what, each in own.items() if what != TOTAL or each.points <= worth}
        for owner, own in by_hand.items()
    }


def _with_own(one: Graded, own: Mapping[str, Override]) -> Graded:
    exercises = tuple(
        _changed(result, own[result.exercise]) if result.exercise in own else result
        for result in one.result.exercises
    )
    return replace(one, result=replace(one.result, exercises=exercises))


def _changed(result: object, override: Override) -> object:
    if override.points > result.max_points:
        raise override.wrong(f"el ejercicio vale {result.max_points}.")
    points = int(override.points)
    if points != override.points:
        raise override.wrong("los de un ejercicio son enteros; con decimales, solo el total.")
    if points == result.max_points:
        return replace(result, status="correct", points=points, message="")
    status = "wrong" if result.status == "correct" else result.status
    return replace(result, status=status, points=points, earned="")
