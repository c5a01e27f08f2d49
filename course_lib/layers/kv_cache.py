"""La caché de claves y valores: lo que ya se proyectó no se proyecta otra vez."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

Heads = Float[Tensor, "batch heads t d_k"]
SMALLEST = 32  # posiciones que se reservan la primera vez


class _Storage:
    """Memoria reservada para una caché; `used` posiciones ya están escritas."""

    def __init__(self, like: Tensor, capacity: int) -> None:
        batch, heads, _, d_k = like.shape
        self.tensor = like.new_empty(2, batch, heads, capacity, d_k)
        self.capacity, self.used = capacity, 0


@dataclass(frozen=True)
class KeyValueCache:
    """Claves y valores de las posiciones ya vistas; `append` da una caché nueva y más larga.

    La caché anterior sigue valiendo: de un mismo estado pueden salir varias continuaciones. Las
    dos comparten memoria mientras se pueda: agregar t posiciones copia t, no todas, porque la
    memoria se reserva de más y se duplica cuando falta (costo amortizado).

    Con gradiente encendido se copia siempre, porque escribir sobre la memoria compartida
    estropearía el cálculo del gradiente.

    Fuente: capítulo `decoder`.
    """

    length: int = 0
    storage: _Storage | None = None

    @property
    def K(self) -> Heads:
        """Las claves, `[batch, heads, length, d_k]`."""
        return self._part(0)

    @property
    def V(self) -> Heads:
        """Los valores, `[batch, heads, length, d_k]`."""
        return self._part(1)

    def append(self, K: Heads, V: Heads) -> "KeyValueCache":
        """Agrega las claves y los valores de las posiciones siguientes."""
        storage, length = self.storage, self.length + K.shape[-2]
        if not self._can_write(length) or torch.is_grad_enabled():
            storage = self._copy(K, max(SMALLEST, 2 * length))
        storage.tensor[0, ..., self.length : length, :] = K
        storage.tensor[1, ..., self.length : length, :] = V
        storage.used = length
        return KeyValueCache(length, storage)

    def select(self, rows: Int[Tensor, " rows"]) -> "KeyValueCache":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        if self.storage is None:
            return self
        storage = _Storage(self.storage.tensor[0][rows], self.storage.capacity)
        storage.tensor[..., : self.length, :] = self.storage.tensor[:, rows, :, : self.length]
        storage.used = self.length
        return KeyValueCache(self.length, storage)

    def _part(self, index):
        if self.storage is None:
            raise ValueError("La caché está vacía: agrega claves y valores con append(K, V).")
        return self.storage.tensor[index, ..., : self.length, :]

    def _can_write(self, length):
        """Hay sitio, y nadie escribió más allá de donde acaba esta caché."""
        storage = self.storage
        return storage is not None and length <= storage.capacity and storage.used == self.length

    def _copy(self, like, capacity):
        storage = _Storage(like, capacity)
        if self.length:
            storage.tensor[..., : self.length, :] = self.storage.tensor[..., : self.length, :]
        return storage
