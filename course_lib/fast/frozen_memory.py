"""La memoria de Transformer-XL para pesos que ya no cambian: nada se proyecta dos veces."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.fast._twin import twin
from course_lib.fast.reserved_cache import ReservedCache
from course_lib.models.transformer_xl import TransformerXL


@dataclass(frozen=True, eq=False, repr=False)
class FrozenMemory:
    """Las claves y los valores ya proyectados de cada bloque.

    Argumentos:
        limit: cuántas posiciones se recuerdan a lo sumo.
        caches: claves y valores, una por bloque.
        distances: las distancias proyectadas, `[heads, n, d_k]` por bloque.

    Fuente: capítulo `transformer_xl`.
    """

    limit: int
    caches: tuple[ReservedCache, ...]
    distances: tuple[Float[Tensor, "heads n d_k"], ...] = ()

    @property
    def length(self) -> int:
        """Cuántas posiciones recuerda."""
        return self.caches[0].length

    def select(self, rows: Int[Tensor, " rows"]) -> "FrozenMemory":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return replace(self, caches=tuple(cache.select(rows) for cache in self.caches))


def frozen(model: nn.Module) -> nn.Module:
    """El mismo `TransformerXL`, que guarda claves y valores ya proyectados en vez de estados.

    Da los mismos logits, sin proyectar dos veces ni una posición ni una distancia. Solo lee sin
    gradiente, con `torch.no_grad()` o `torch.inference_mode()`; si los pesos cambian, hay que
    empezar otra memoria.

    Argumentos:
        model: un `TransformerXL`, que no cambia.

    Fuente: capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib import fast
        >>> from course_lib.models import TransformerXL, TransformerXLConfig
        >>> xl = TransformerXL(TransformerXLConfig(50, d_model=8, num_heads=2, num_layers=2)).eval()
        >>> token_ids = torch.tensor([[5, 6, 7, 8]])
        >>> with torch.no_grad():
        ...     same, memory = fast.frozen(xl)(token_ids)
        >>> torch.allclose(same, xl(token_ids)[0], atol=1e-4), memory.length
        (True, 4)
    """
    return twin(model, {TransformerXL: FrozenTransformerXL})


class FrozenTransformerXL(TransformerXL):
    """Un `TransformerXL` cuya memoria es una `FrozenMemory`; lo hace `frozen`."""

    def start(self, length: int | None = None) -> FrozenMemory:
        """La memoria del comienzo, vacía; como `TransformerXL.start`."""
        return FrozenMemory(self._limit(length), tuple(ReservedCache() for _ in self.blocks))

    def read(
        self, token_ids: Int[Tensor, "batch t"], memory: FrozenMemory | None = None
    ) -> tuple[Float[Tensor, "batch t d_model"], FrozenMemory]:
        """Como `TransformerXL.read`; de aquí salen `forward` y `nll`.

        Errores:
            ValueError: los de `TransformerXL.forward`, y si el gradiente está encendido.
        """
        memory = self.start() if memory is None else memory
        _require_frozen(memory, self.blocks)
        memory = _with_distances(memory, self.blocks, token_ids.shape[1])
        x = self.dropout(self.embedding(token_ids))
        mask, caches = self._window(x, memory), [cache.copy() for cache in memory.caches]
        for block, cache, R in zip(self.blocks, caches, memory.distances, strict=True):
            x = _through(block, x, cache, R, mask)
        kept = tuple(cache.last(memory.limit) for cache in caches)
        return self.dropout(self.norm(x)), replace(memory, caches=kept)


def _through(block, x, cache, R, mask):
    """Un bloque, con las claves y los valores de la caché."""

    def look(u):
        attention = block.attention
        Q, K, V = (attention.split_heads(P) for P in attention.project(u, u, u))
        K, V = cache.append(K, V)
        H = attention.attend_at(R[:, R.shape[1] - K.shape[-2] - 1 :], Q, K, V, mask)
        return attention.W_h(attention.merge_heads(H))

    return block.residual_feed_forward(block.residual_attention(x, look), block.feed_forward)


def _with_distances(memory, blocks, t):
    """Proyecta las distancias que hacen falta, o el doble, para no volver a hacerlo pronto."""
    needed = memory.length + t + 1
    if memory.distances and memory.distances[0].shape[1] >= needed:
        return memory
    length = min(2 * needed, memory.limit + t + 1)
    distances = (block.attention.distances(length).contiguous() for block in blocks)
    return replace(memory, distances=tuple(distances))


def _require_frozen(memory, blocks):
    if torch.is_grad_enabled():
        raise ValueError(
            "frozen: no transmite gradientes y se esperaba torch.no_grad() o "
            "torch.inference_mode(). Para entrenar, usa el modelo de siempre."
        )
    if len(memory.caches) != len(blocks):
        raise ValueError(
            f"memory: se esperaba la de un modelo de {len(blocks)} bloques, como este, y llegó la "
            f"de uno de {len(memory.caches)}."
        )
