"""Un ejercicio es un dato: su referencia, sus entradas y los errores frecuentes que sabe explicar.

`compiled` los construye de lo que `course regenerate` preparó, que ya se comprobó al leer su fuente
(`notebooks.exercise_source`). Entradas y salidas son datos simples
(tensores, números, textos, valores lógicos, listas, tuplas y diccionarios de ellos), para que
puedan cruzar una tubería y el estudiante corra en otro proceso.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

CREDITED = ("values", "dtype", "inputs", "gradient")
"""Propiedades que pueden valer puntos; cada una exige también las anteriores."""

NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")


def direct_call(student: Any, *inputs: Any) -> Any:
    """Llama a una función con las entradas; una respuesta simple queda como es."""
    return student(*inputs) if callable(student) else student


def no_inputs(rng: torch.Generator) -> list[tuple]:
    """Da el único caso, sin entradas, de una pregunta cuya respuesta es un valor simple."""
    return [()]


@dataclass(frozen=True, eq=False)  # cada uno es él mismo: así sirve de clave
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

    def together(self, other: Misconception) -> Callable | None:
        """Da la respuesta que comete los dos errores; None si no se pueden cometer a la vez."""
        return None


@dataclass(frozen=True)
class Section:
    """Una sección del libro: su título, su página (`attention`) y su etiqueta (`sec-scores`)."""

    title: str
    page: str
    label: str


Pair = tuple[Misconception, Misconception, Any]
"""Dos errores frecuentes, y una implementación que comete los dos."""


@dataclass(frozen=True)
class Part:
    """Una parte de la respuesta que vale puntos aunque el resto esté mal.

    Se gana cuando, en todos sus casos, se cumplen su propiedad y las anteriores de `CREDITED`: los
    valores (con cualquier dtype, y las cifras del que se pide), el dtype, las entradas intactas y
    el gradiente. La forma no está en la lista: una constante de la forma pedida no demuestra nada.
    Tampoco el dispositivo, que el calificador no ve.

    Argumentos:
        label: cómo se nombra ante el estudiante: «los pesos», «los casos sin máscara».
        points: puntos que vale.
        property: la propiedad que se exige, con las anteriores.
        cases: dice, con las entradas de un caso, si es de esta parte; si falta, lo son todos.
        item: posición o clave del resultado que se mira; si falta, todo el resultado.
    """

    label: str
    points: int
    property: str = "values"
    cases: Callable[..., bool] | None = None
    item: int | str | None = None

    def cases_in(self, cases: list[tuple]) -> list[int]:
        """Da las posiciones de los casos que son de esta parte."""
        return [i for i, case in enumerate(cases) if self.cases is None or self.cases(*case)]


@dataclass(frozen=True, eq=False)  # cada uno es él mismo: así sirve de clave
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
        asked_name: cómo ha de llamarse la respuesta en el cuaderno; vacío, de cualquier manera.
        answers: nombres completos de lo que, además de la referencia, es la respuesta y por eso
            no se puede usar al calificar (`course_lib.…`, o el módulo y la función de torch).
        partial: partes que valen puntos por sí solas. Sin tenerlo todo bien no se pasa de
            `points - 1`: por eso «correcto» no cambia.
        title: su título en el cuaderno: «Ejercicio 3 · Pesos de autoatención».
        section: la sección del libro que lo explica, si se dijo.
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
    asked_name: str = ""
    answers: tuple[str, ...] = ()
    partial: Iterable[Part] = ()
    title: str = ""
    section: Section | None = None

    def __post_init__(self) -> None:
        for field in ("misconceptions", "partial"):
            object.__setattr__(self, field, tuple(getattr(self, field)))

    @functools.cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """Los errores que se pueden cometer a la vez, de dos en dos, y quien comete los dos."""
        both = itertools.combinations(self.misconceptions, 2)
        made = ((a, b, a.together(b)) for a, b in both)
        return tuple(each for each in made if each[2] is not None)

    @property
    def topic(self) -> str:
        """El tema: la parte del nombre que va antes del punto."""
        return self.name.partition(".")[0]

    @property
    def is_question(self) -> bool:
        """Si la respuesta es un valor simple y no una función o una clase."""
        return not callable(self.reference)
