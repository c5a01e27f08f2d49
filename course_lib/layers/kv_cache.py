"""La caché de claves y valores: lo que ya se proyectó no se proyecta otra vez."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Heads = Float[Tensor, "batch heads t d_k"]
FIRST_CAPACITY = 32  # posiciones que se reservan la primera vez


@dataclass
class _Storage:
    """Memoria reservada, `[2, batch, heads, capacidad, d_k]`; `used` posiciones están escritas."""

    tensor: Tensor
    used: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class KeyValueCache:
    """Claves y valores de las posiciones ya vistas; `append` da una caché nueva y más larga.

    La anterior sigue valiendo: de un mismo estado pueden salir varias continuaciones. La primera
    escribe a continuación, en la misma memoria; las demás se llevan una copia. La memoria se
    duplica cuando falta, así que agregar una posición copia, en promedio, una cantidad constante.
    Con el gradiente encendido se copia siempre: escribir encima estropearía su cálculo.

    Argumentos:
        length: cuántas posiciones guarda.
        start: en qué lugar de la memoria está la primera.

    Fuente: capítulo `decoder`.
    """

    length: int = 0
    storage: _Storage | None = None
    start: int = 0

    @property
    def K(self) -> Heads:
        """Las claves, `[batch, heads, length, d_k]`."""
        return self._written()[0]

    @property
    def V(self) -> Heads:
        """Los valores, `[batch, heads, length, d_k]`."""
        return self._written()[1]

    @property
    def pair(self) -> tuple[Heads, Heads]:
        """Claves y valores."""
        return self._written().unbind()

    @classmethod
    def reserved(
        cls, like: Tensor, batch: int, heads: int, capacity: int, d_k: int
    ) -> "KeyValueCache":
        """Da una caché vacía con sitio para `capacity` posiciones, del tipo de `like`."""
        return cls(storage=_Storage(like.new_empty(2, batch, heads, capacity, d_k)))

    def append(self, K: Heads, V: Heads) -> "KeyValueCache":
        """Agrega las claves y los valores de las posiciones siguientes.

        Errores:
            ValueError: si K y V no tienen la misma forma, o no es la de lo guardado (salvo t).
        """
        self._require_like(K, V)
        length = self.length + K.shape[-2]
        fits = self._may_write(self.start + length)
        storage, start = (self.storage, self.start) if fits else (self._copy(K, length), 0)
        new = storage.tensor.narrow(-2, start + self.length, K.shape[-2])
        new[0], new[1] = K, V
        storage.used = start + length
        return KeyValueCache(length, storage, start)

    def last(self, length: int) -> "KeyValueCache":
        """Se queda con las últimas posiciones, a lo sumo `length`, sin mover ninguna."""
        dropped = max(self.length - length, 0)
        return KeyValueCache(self.length - dropped, self.storage, self.start + dropped)

    def select(self, rows: Int[Tensor, " rows"]) -> "KeyValueCache":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        if self.storage is None:
            return self
        copied = self.storage.tensor.index_select(1, rows)
        return KeyValueCache(self.length, _Storage(copied, self.start + self.length), self.start)

    def _written(self):
        if self.storage is None:
            raise ValueError("La caché está vacía: agrega claves y valores con append(K, V).")
        return self.storage.tensor.narrow(-2, self.start, self.length)

    def _may_write(self, stop):
        """Hay sitio, nadie escribió más allá de esta caché y ningún gradiente pasa por ella."""
        if self.storage is None or torch.is_grad_enabled():
            return False
        if self.storage.used != self.start + self.length:
            return False
        tensor = self.storage.tensor
        sealed = tensor.is_inference() and not torch.is_inference_mode_enabled()
        return stop <= tensor.shape[-2] and not tensor.requires_grad and not sealed

    def _copy(self, like, length):
        batch, heads, _, d_k = like.shape
        capacity = max(FIRST_CAPACITY, 2 * length)
        storage = _Storage(like.new_empty(2, batch, heads, capacity, d_k))
        if self.length:
            storage.tensor[..., : self.length, :] = self._written()
        return storage

    def _require_like(self, K, V):
        expected = K.shape if self.storage is None else self.storage.tensor.shape[1:]
        if K.shape == V.shape == (*expected[:2], K.shape[2], *expected[3:]):
            return
        for name, X in (("K", K), ("V", V)):
            same = X.shape[:2] == expected[:2] and X.shape[3:] == expected[3:]
            if not same or X.shape != K.shape:
                shown = (*expected[:2], self.length or K.shape[2], *expected[3:])
                raise ValueError(
                    f"{name}: se esperaba la forma {shown}, salvo en el tiempo, y "
                    f"llegó {tuple(X.shape)}. ¿Cambió el lote? Elige sus filas con select."
                )


@dataclass(frozen=True, eq=False, repr=False)
class DecoderState:
    """Lo que un decodificador necesita para seguir: el origen ya proyectado y sus cachés.

    Argumentos:
        caches: claves y valores de lo ya escrito, una por bloque.
        memory: claves y valores del origen, un par por bloque.
        visible: qué posiciones del origen no son relleno.
    """

    caches: tuple[KeyValueCache, ...]
    memory: tuple[tuple[Tensor, Tensor], ...]
    visible: Bool[Tensor, "batch 1 t_source"]

    @property
    def length(self) -> int:
        """Cuántos tokens van escritos."""
        return self.caches[0].length

    def select(self, rows: Int[Tensor, " rows"]) -> "DecoderState":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return DecoderState(
            tuple(cache.select(rows) for cache in self.caches),
            tuple((K[rows], V[rows]) for K, V in self.memory),
            self.visible[rows],
        )
