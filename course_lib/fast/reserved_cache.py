"""Una caché con la memoria ya reservada: agregar una posición no copia las anteriores."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.layers.arguments import require_sizes
from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.models.palm import PaLM, PaLMCache

Heads = Float[Tensor, "batch heads t d_k"]
FIRST_CAPACITY = 32  # posiciones que se reservan la primera vez


@dataclass
class _Storage:
    """Memoria reservada, `[2, batch, heads, capacidad, d_k]`; `used` posiciones están escritas."""

    tensor: Tensor
    used: int = 0


class ReservedCache(KeyValueCache):
    """Una `KeyValueCache` que escribe a continuación, en memoria reservada de antemano.

    Una copia comparte la memoria. La primera que se alarga escribe a continuación; las demás se
    llevan lo suyo a otro lugar, y lo de todas sigue valiendo. La memoria se duplica cuando falta,
    así que agregar una posición copia, en promedio, una cantidad constante. Con el gradiente
    encendido se copia siempre: escribir encima estropearía su cálculo.

    Argumentos:
        length: cuántas posiciones guarda.
        storage: la memoria; None, la que haga falta cuando se agregue algo.
        start: en qué lugar de la memoria está la primera.
    """

    def __init__(self, length: int = 0, storage: _Storage | None = None, start: int = 0) -> None:
        self.used, self.storage, self.start = length, storage, start

    @classmethod
    def reserved(
        cls, like: Tensor, batch: int, heads: int, capacity: int, d_k: int
    ) -> "ReservedCache":
        """Da una caché vacía con sitio para `capacity` posiciones, del tipo de `like`."""
        return cls(storage=_Storage(like.new_empty(2, batch, heads, capacity, d_k)))

    @property
    def length(self) -> int:
        """Cuántas posiciones guarda."""
        return self.used

    @property
    def K(self) -> Heads:
        """Las claves, `[batch, heads, length, d_k]`."""
        return self._written()[0]

    @property
    def V(self) -> Heads:
        """Los valores, `[batch, heads, length, d_k]`."""
        return self._written()[1]

    def append(self, K: Heads, V: Heads) -> tuple[Tensor, Tensor]:
        """Agrega las posiciones siguientes y da las claves y los valores de todas.

        Errores:
            ValueError: si K y V no tienen la misma forma, o no es la de lo guardado (salvo t).
        """
        self._require_like(K, V)
        length = self.length + K.shape[-2]
        if not self._may_write(self.start + length):
            self.storage, self.start = self._copy(K, length), 0
        new = self.storage.tensor.narrow(-2, self.start + self.length, K.shape[-2])
        new[0], new[1] = K, V
        self.storage.used, self.used = self.start + length, length
        return self._written().unbind()

    def copy(self) -> "ReservedCache":
        """Otra caché con lo mismo, que puede alargarse sin que esta cambie."""
        return ReservedCache(self.length, self.storage, self.start)

    def last(self, length: int) -> "ReservedCache":
        """Se queda con las últimas posiciones, a lo sumo `length`, sin mover ninguna."""
        dropped = max(self.length - length, 0)
        return ReservedCache(self.length - dropped, self.storage, self.start + dropped)

    def select(self, rows: Int[Tensor, " rows"]) -> "ReservedCache":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        if self.storage is None:
            return ReservedCache()
        copied = self.storage.tensor.index_select(1, rows)
        return ReservedCache(self.length, _Storage(copied, self.start + self.length), self.start)

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


def reserve(
    palm: PaLM, batch: int, capacity: int, *, padding: Int[Tensor, " batch"] | None = None
) -> PaLMCache:
    """La caché del comienzo de un `PaLM`, con la memoria ya reservada.

    Argumentos:
        palm: el modelo.
        batch: cuántas filas.
        capacity: cuántas columnas se reservan; si faltan, crece.
        padding: como en `PaLM.start`.

    Errores:
        ValueError: si un tamaño no es positivo, o padding no es un número de columnas por fila.

    Ejemplo:
        >>> import torch
        >>> from course_lib import fast
        >>> from course_lib.models import PaLM, PaLMConfig
        >>> palm = PaLM(PaLMConfig(vocab_size=50, d_model=32, num_heads=4, num_layers=2))
        >>> cache = fast.reserve(palm, batch=1, capacity=100)
        >>> cache.length  # hay sitio, y aún no hay nada
        0
        >>> _, cache = palm(torch.tensor([[5, 6, 7]]), cache)
        >>> cache.length
        3
    """
    require_sizes(batch=batch, capacity=capacity)
    attention, like = palm.blocks[0].attention, palm.embedding.table.weight
    shape = (batch, attention.num_kv_heads, capacity, attention.d_head)
    layers = (ReservedCache.reserved(like, *shape) for _ in palm.blocks)
    return replace(palm.start(padding), layers=tuple(layers))
