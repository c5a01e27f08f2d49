"""La caché de claves y valores: lo que ya se proyectó no se proyecta otra vez."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Heads = Float[Tensor, "batch heads t d_k"]


class KeyValueCache:
    """Las claves y los valores de las posiciones ya vistas, en una capa.

    La capa agrega los de las posiciones nuevas y atiende a todos. El modelo trabaja sobre una
    copia, que comparte los tensores y se alarga por su cuenta: la de quien llama no cambia, y de un
    mismo estado pueden salir varias continuaciones.

    Argumentos:
        K, V: las claves y los valores, `[batch, heads, t, d_k]`; None, si aún no hay nada.

    Fuente: capítulo `decoder`.
    """

    def __init__(self, K: Heads | None = None, V: Heads | None = None) -> None:
        self.K, self.V = K, V

    @property
    def length(self) -> int:
        """Cuántas posiciones guarda."""
        return 0 if self.K is None else self.K.shape[-2]

    def append(self, K: Heads, V: Heads) -> tuple[Tensor, Tensor]:
        """Agrega las posiciones siguientes y da las claves y los valores de todas."""
        if self.K is not None:
            K, V = torch.cat((self.K, K), dim=-2), torch.cat((self.V, V), dim=-2)
        self.K, self.V = K, V
        return K, V

    def copy(self) -> "KeyValueCache":
        """Otra caché con lo mismo, que puede alargarse sin que esta cambie."""
        return KeyValueCache(self.K, self.V)

    def select(self, rows: Int[Tensor, " rows"]) -> "KeyValueCache":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        if self.K is None:
            return KeyValueCache()
        return KeyValueCache(self.K.index_select(0, rows), self.V.index_select(0, rows))


@dataclass(frozen=True, eq=False, repr=False)
class DecoderState:
    """Lo que un decodificador necesita para seguir: el origen codificado y sus cachés.

    Argumentos:
        caches: claves y valores de lo ya escrito: una por bloque, o por paso en el Universal
            Transformer.
        encoded: la salida del codificador.
        mask: qué posiciones del origen se ven.
    """

    caches: tuple[KeyValueCache, ...]
    encoded: Float[Tensor, "batch t_source d_model"]
    mask: Bool[Tensor, "batch 1 t_source"]

    @property
    def length(self) -> int:
        """Cuántos tokens van escritos."""
        return self.caches[0].length

    def copy(self) -> "DecoderState":
        """Otro estado, cuyas cachés pueden alargarse sin que estas cambien."""
        return replace(self, caches=tuple(cache.copy() for cache in self.caches))

    def select(self, rows: Int[Tensor, " rows"]) -> "DecoderState":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        caches = tuple(cache.select(rows) for cache in self.caches)
        return replace(self, caches=caches, encoded=self.encoded[rows], mask=self.mask[rows])
