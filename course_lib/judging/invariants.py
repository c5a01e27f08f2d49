"""Qué cumple siempre el resultado de un ejercicio, y si la respuesta de un estudiante lo cumple.

Nadie lo escribe: se deduce de lo que da la referencia en muchos casos. Una propiedad solo cuenta si
la tienen todos sus resultados. De la respuesta se dice el número que la delata («una fila suma
0.58»), y de la referencia, la propiedad, que está en el enunciado; nunca un valor suyo.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.judging.exercise import Exercise
from course_lib.judging.plain_data import nth, tensors_in
from course_lib.judging.running import Outcome, draw_cases, run_cases

_DRAWS = 3
"""Con cuántos sorteos se mira si la referencia cumple una propiedad."""
_FEWEST = 4
"""Cuántos resultados la cumplen, al menos, para que no sea casualidad."""
_MOST_TOLD = 2


@dataclass(frozen=True)
class Invariant:
    """Una propiedad de un tensor.

    Argumentos:
        holds: si un tensor la cumple. Le llegan las entradas de su caso.
        applies: si tiene sentido preguntarlo: con una sola columna, toda fila está en orden.
        kept: cómo se dice que se cumple.
        broken: cómo se dice que no, con un número de la respuesta.
    """

    holds: Callable[[Tensor, tuple], bool]
    applies: Callable[[Tensor, tuple], bool]
    kept: str
    broken: Callable[[Tensor], str]


def told_invariants(
    exercise: Exercise, cases: Sequence[tuple], outcome: Outcome, index: int, seed: int
) -> list[str]:
    """Dice qué propiedades del resultado pedido no cumple una respuesta; si las cumple, una.

    Argumentos:
        exercise: el ejercicio.
        cases: los casos en que se probó la respuesta.
        outcome: lo que dio en uno de ellos.
        index: en cuál.
        seed: la semilla de los casos.
    """
    if outcome.failure is not None:
        return []
    drawn = [draw_cases(exercise, seed + k) for k in range(1, _DRAWS)]
    every = [*cases, *(case for some in drawn for case in some)]
    targets = [o.value for o in run_cases(exercise, exercise.reference, every)]
    answers, right = list(tensors_in(outcome.value)), list(tensors_in(targets[index]))
    if [x.shape for x in answers] != [x.shape for x in right]:
        return []
    kept, broken = [], []
    for place, answer in enumerate(answers):
        if not answer.is_floating_point() or not bool(answer.isfinite().all()):
            continue
        pairs = zip(targets, every, strict=True)
        references = [(_nth(target, place), case) for target, case in pairs]
        for one in INVARIANTS:
            if not one.applies(answer, cases[index]) or not _always(one, references):
                continue
            where = f"en {nth(place)} del resultado, " if len(answers) > 1 else ""
            if one.holds(answer, cases[index]):
                kept.append(f"{where}{one.kept}")
            else:
                broken.append(f"{where}{one.broken(answer)}")
    if broken:
        return broken[:_MOST_TOLD]
    return [f"{kept[0]}, bien"] if kept else []


def _nth(target: Any, place: int) -> Tensor | None:
    found = list(tensors_in(target))
    return found[place] if place < len(found) else None


def _always(one: Invariant, references: list[tuple[Tensor | None, tuple]]) -> bool:
    asked = [(x, case) for x, case in references if x is not None and x.is_floating_point()]
    asked = [(x, case) for x, case in asked if one.applies(x, case)]
    return len(asked) >= _FEWEST and all(one.holds(x, case) for x, case in asked)


def _near(x: Tensor, value: float | Tensor) -> bool:
    target = torch.as_tensor(value, dtype=torch.float64)
    return bool(torch.isclose(x.double(), target, rtol=1e-3, atol=1e-3).all())


def number(value: float) -> str:
    """Escribe un número con tres cifras."""
    return f"{value:.3g}".replace("-", "−")


def _range(values: Tensor) -> str:
    low, high = number(values.min().item()), number(values.max().item())
    return low if low == high else f"entre {low} y {high}"


def _verb(x: Tensor, one: str, many: str) -> str:
    return f"tu resultado {one}" if x.ndim == 1 else f"las filas de tu resultado {many}"


def _rows(x: Tensor, case: tuple) -> bool:
    return x.ndim >= 1 and x.shape[-1] > 1


def _square(x: Tensor, case: tuple) -> bool:
    return x.ndim >= 2 and x.shape[-1] == x.shape[-2] > 1


def _later(x: Tensor) -> Tensor:
    """Lo que hay por encima de la diagonal: en una matriz de pesos, lo posterior."""
    return x[..., torch.ones(x.shape[-2:], dtype=torch.bool).triu(1)]


def _same_numbers(x: Tensor, case: tuple) -> bool:
    found = x.double().flatten().sort().values
    return any(_near(found, y.double().flatten().sort().values) for y in _alike(x, case))


def _alike(x: Tensor, case: tuple) -> list[Tensor]:
    return [y for y in tensors_in(case) if y.is_floating_point() and y.numel() == x.numel() > 3]


INVARIANTS = (
    Invariant(
        lambda x, case: _near(x.sum(-1), 1.0),
        _rows,
        "cada fila suma 1",
        lambda x: (
            f"{_verb(x, 'suma', 'suman')} {_range(x.sum(-1))}; "
            f"{'debería' if x.ndim == 1 else 'deberían'} sumar 1"
        ),
    ),
    Invariant(
        lambda x, case: _near(x.sum(-2), 1.0),
        lambda x, case: x.ndim >= 2 and x.shape[-2] > 1,
        "cada columna suma 1",
        lambda x: f"las columnas de tu resultado suman {_range(x.sum(-2))}; deberían sumar 1",
    ),
    Invariant(
        lambda x, case: bool((x >= -1e-6).all()),
        lambda x, case: x.numel() > 1,
        "no hay números negativos",
        lambda x: (
            f"en tu resultado hay números negativos (el menor, {number(x.min().item())}), y "
            "no debería haberlos"
        ),
    ),
    Invariant(
        lambda x, case: bool((_later(x).abs() <= 1e-6).all()) and bool(x.any()),
        _square,
        "por encima de la diagonal solo hay ceros",
        lambda x: (
            "por encima de la diagonal debería haber solo ceros, y en tu resultado hay "
            f"{int((_later(x).abs() > 1e-6).sum())} números que no lo son"
        ),
    ),
    Invariant(
        lambda x, case: _near(x, x.mT) and not _near(x, torch.eye(x.shape[-1])),
        _square,
        "la matriz es simétrica",
        lambda x: (
            "la matriz debería ser simétrica, y en la tuya hay números que difieren en "
            f"{number((x - x.mT).abs().max().item())} de su reflejo"
        ),
    ),
    Invariant(
        lambda x, case: _near(x.norm(dim=-1), 1.0) and not _near(x.abs().sum(-1), 1.0),
        _rows,
        "cada fila tiene norma 1",
        lambda x: (
            f"la norma de {'tu resultado' if x.ndim == 1 else 'tus filas'} es "
            f"{_range(x.norm(dim=-1))}; debería ser 1"
        ),
    ),
    Invariant(
        lambda x, case: _near(x.mean(-1), 0.0) and bool((x.abs().amax(-1) > 0.1).all()),
        _rows,
        "cada fila tiene media 0",
        lambda x: (
            f"la media de {'tu resultado' if x.ndim == 1 else 'tus filas'} es "
            f"{_range(x.mean(-1))}; debería ser 0"
        ),
    ),
    Invariant(
        lambda x, case: bool((x.diff(dim=-1) <= 1e-6).all()),
        lambda x, case: x.ndim >= 1 and x.shape[-1] > 2 and bool((x[..., 0] != x[..., -1]).all()),
        "cada fila va de mayor a menor",
        lambda x: (
            f"{_verb(x, 'debería', 'deberían')} ir de mayor a menor, y en "
            f"{int((x.diff(dim=-1) > 1e-6).sum())} lugares un número supera al anterior"
        ),
    ),
    Invariant(
        _same_numbers,
        lambda x, case: bool(_alike(x, case)),
        "están los mismos números que en la entrada",
        lambda x: (
            "tu resultado debería tener los mismos números que la entrada, en otro orden, y "
            "tiene otros"
        ),
    ),
)
