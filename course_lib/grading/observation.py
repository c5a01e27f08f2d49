"""Contar las operaciones de torch que hace una implementación, corra aquí o en otro proceso."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Observer(TorchDispatchMode):
    """Anota cada operación que se ejecuta dentro de su bloque `with`.

    Una subclase define `note(name, size)`: el nombre de la operación, y cuántos elementos tiene el
    tensor nuevo que dio (0 si es una vista, que no ocupa nada). Si la implementación está en otro
    proceso, quien la llama busca al observador en `active` y le cuenta lo que allí se anotó.
    """

    active: ClassVar[list[Observer]] = []
    _paused = False

    def note(self, name: str, size: int) -> None:
        """Recibe una operación."""
        raise NotImplementedError

    def __enter__(self) -> Observer:
        self.active.append(self)
        return super().__enter__()

    def __exit__(self, *error: object) -> None:
        self.active.remove(self)
        super().__exit__(*error)

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple = (), kwargs: Any = None):
        out = func(*args, **(kwargs or {}))
        if not self._paused:
            new = isinstance(out, torch.Tensor) and not _is_view_of(out, args)
            self.note(func.overloadpacket.__name__, out.numel() if new else 0)
        return out

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Deja de anotar lo que se ejecute aquí."""
        self._paused = True
        try:
            yield
        finally:
            self._paused = False


class Recorder(Observer):
    """Guarda las parejas (nombre, tamaño), hasta un límite."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.notes: list[list] = []
        self._limit = limit

    def note(self, name: str, size: int) -> None:
        if len(self.notes) < self._limit:
            self.notes.append([name, size])


def _is_view_of(out: torch.Tensor, args: tuple) -> bool:
    """Dice si el resultado comparte memoria con una entrada."""
    inputs = (x for x in args if isinstance(x, torch.Tensor))
    return any(out.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() for x in inputs)
