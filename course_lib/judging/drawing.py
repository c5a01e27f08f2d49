"""Las palabras con que se escriben los casos de un ejercicio; todas sortean con un generador."""

from __future__ import annotations

import string
from collections.abc import Sequence
from inspect import isfunction
from typing import Any

import torch
from torch import Tensor


def normal(rng: torch.Generator, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Sortea números normales."""
    return torch.randn(*shape, generator=rng, dtype=dtype)


def uniform(
    rng: torch.Generator,
    *shape: int,
    low: float | int = 0.0,
    high: float | int = 1.0,
    dtype: torch.dtype = torch.float32,
) -> Tensor:
    """Sortea números repartidos por igual entre `low` y `high`."""
    return low + (high - low) * torch.rand(*shape, generator=rng, dtype=dtype)


def matrix(rng: torch.Generator, d_in: int, d_out: int) -> Tensor:
    """Sortea unos parámetros que no encogen lo que multiplican, para usarlos como `X @ W`."""
    return 1.5 / d_in**0.5 * normal(rng, d_in, d_out)


def projections(rng: torch.Generator, d_in: int, d_k: int, d_v: int) -> tuple[Tensor, ...]:
    """Sortea `W_q`, `W_k` y `W_v`."""
    return tuple(1.5 * normal(rng, d_in, d) for d in (d_k, d_k, d_v))


def integers(rng: torch.Generator, low: int, high: int, *shape: int) -> Tensor:
    """Sortea enteros desde `low` hasta `high - 1`."""
    return torch.randint(low, high, shape, generator=rng)


def integer(rng: torch.Generator, low: int, high: int) -> int:
    """Sortea un entero desde `low` hasta `high - 1`."""
    return int(integers(rng, low, high, 1))


def permutation(rng: torch.Generator, length: int) -> Tensor:
    """Sortea un orden de las posiciones `0 … length - 1`."""
    return torch.randperm(length, generator=rng)


def choice(rng: torch.Generator, options: Sequence[Any]) -> Any:
    """Sortea una de las opciones."""
    return options[integer(rng, 0, len(options))]


def shuffled(rng: torch.Generator, options: Sequence[Any]) -> list[Any]:
    """Da las opciones en otro orden."""
    return [options[i] for i in permutation(rng, len(options)).tolist()]


def mask(rng: torch.Generator, *shape: int, visible: float | int = 0.6) -> Tensor:
    """Sortea una máscara, True donde se ve; cada fila ve al menos una posición."""
    seen = torch.rand(*shape, generator=rng) < visible
    always = torch.randint(0, shape[-1], (*shape[:-1], 1), generator=rng)
    return seen.scatter(-1, always, True)


def word(rng: torch.Generator, length: int, letters: str = string.ascii_lowercase) -> str:
    """Sortea una palabra de `length` letras."""
    return "".join(letters[i] for i in integers(rng, 0, len(letters), length).tolist())


def words(rng: torch.Generator, count: int, length: int = 5) -> list[str]:
    """Sortea `count` palabras."""
    return [word(rng, length) for _ in range(count)]


def numbered(rng: torch.Generator, letters: str = "abcdef") -> dict[str, int]:
    """Da un byte a cada letra, al azar pero en el orden de las letras."""
    numbers = permutation(rng, 256)[: len(letters)].sort().values.tolist()
    return dict(zip(letters, numbers, strict=True))


VOCABULARY = {each.__name__: each for each in list(vars().values()) if isfunction(each)}
"""Lo que el bloque de casos puede usar sin importarlo, además de `math`, `torch` y `F`."""
