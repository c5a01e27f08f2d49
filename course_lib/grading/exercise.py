"""Un ejercicio es un dato: su referencia, sus entradas y los errores frecuentes que sabe explicar.

Los ejercicios de un tema están en `course_lib/checks/TEMA.py`, en la tupla `EXERCISES`. Entradas y
salidas son datos simples (tensores, números, textos, valores lógicos, listas, tuplas y diccionarios
de ellos), para que puedan cruzar una tubería y el estudiante corra en otro proceso.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def direct_call(student: Any, *inputs: Any) -> Any:
    """Llama a una función con las entradas; una respuesta simple queda como es."""
    return student(*inputs) if callable(student) else student


def no_inputs(rng: torch.Generator) -> list[tuple]:
    """Da el único caso, sin entradas, de una pregunta cuya respuesta es un valor simple."""
    return [()]


@dataclass(frozen=True)
class Misconception:
    """Un error frecuente: una implementación equivocada que funciona, y la pista que lo explica.

    Argumentos:
        name: identificador corto, único en el ejercicio.
        implementation: lo que escribiría quien comete el error (o la respuesta simple equivocada).
        hint: frase para el estudiante; nombra el error, no da la respuesta.
        raises: tipo de excepción con la que el error se detiene, si se detiene en algún caso.
    """

    name: str
    implementation: Any
    hint: str
    raises: type[Exception] | None = None


@dataclass(frozen=True)
class Exercise:
    """Un ejercicio del curso y todo lo que hace falta para comprobarlo.

    Argumentos:
        name: `tema.nombre`, único en el curso.
        points: puntos que vale.
        reference: la función o clase de la biblioteca, o la respuesta simple de una pregunta.
        cases: con un generador, las entradas de cada caso; una pregunta tiene un solo caso, `()`.
        misconceptions: errores frecuentes, cada uno con su pista.
        call: cómo usar el objeto del estudiante con las entradas de un caso. No captura errores ni
            conoce la respuesta: una etapa posterior lo ejecuta en otro proceso.
        gradient: si también se compara el gradiente respecto de las entradas de punto flotante.
        tolerance: tolerancia relativa y absoluta; si falta, 1e-5 (float32) o 1e-10 (float64).
        inputs_may_change: si está permitido que el estudiante modifique las entradas.
        answers: nombres completos de lo que, además de la referencia, es la respuesta y por eso
            no se puede usar al calificar (`course_lib.…`, o el módulo y la función de torch).

    Errores:
        ValueError: nombre mal formado, puntos no positivos, o errores frecuentes repetidos.
    """

    name: str
    points: int
    reference: Any
    cases: Callable[[torch.Generator], list[tuple]]
    misconceptions: Iterable[Misconception]
    call: Callable[..., Any] = direct_call
    gradient: bool = False
    tolerance: float | None = None
    inputs_may_change: bool = False
    answers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "misconceptions", tuple(self.misconceptions))
        if not NAME_PATTERN.fullmatch(self.name):
            raise ValueError(
                f"El nombre de un ejercicio tiene la forma «tema.nombre», en minúsculas; llegó "
                f"«{self.name}»."
            )
        if self.points < 1:
            raise ValueError(f"{self.name}: los puntos deben ser al menos 1; llegó {self.points}.")
        for field in ("name", "hint"):
            values = [getattr(m, field) for m in self.misconceptions]
            if len(set(values)) < len(values):
                raise ValueError(
                    f"{self.name}: hay errores frecuentes con el mismo «{field}»; cada uno "
                    f"necesita el suyo."
                )

    @property
    def topic(self) -> str:
        """El tema: la parte del nombre que va antes del punto."""
        return self.name.partition(".")[0]

    @property
    def is_question(self) -> bool:
        """Si la respuesta es un valor simple y no una función o una clase."""
        return not callable(self.reference)
