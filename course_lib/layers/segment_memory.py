"""La memoria de los segmentos anteriores: qué se guarda de ellos y cómo se vuelve a mirar."""

from dataclasses import dataclass, replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.kv_cache import KeyValueCache

Hidden = Float[Tensor, "batch t d_model"]


@dataclass(frozen=True, eq=False, repr=False)
class Memory:
    """Las últimas entradas de cada bloque, separadas del cálculo del gradiente.

    Argumentos:
        limit: cuántas posiciones se recuerdan a lo sumo.
        states: una `[batch, m, d_model]` por bloque; () si aún no hay nada.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.
    """

    limit: int
    states: tuple[Hidden, ...] = ()

    @property
    def length(self) -> int:
        """Cuántas posiciones recuerda."""
        return self.states[0].shape[1] if self.states else 0

    def select(self, rows: Int[Tensor, " rows"]) -> "Memory":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return replace(self, states=tuple(state[rows] for state in self.states))

    def through(self, blocks: nn.ModuleList, x: Hidden, mask, need_weights: bool):
        """Pasa x por los bloques y recuerda lo que entra en cada uno."""
        states, weights = [], [] if need_weights else None
        for block, past in _pairs(blocks, self.states or [None] * len(blocks)):
            seen = x if past is None else torch.cat([_same_batch(past, x).detach(), x], dim=1)
            states.append(seen[:, max(seen.shape[1] - self.limit, 0) :].detach())
            x = block.with_attention(x, partial(_look, block, seen, mask, weights))
        return x, replace(self, states=tuple(states)), weights


@dataclass(frozen=True, eq=False, repr=False)
class FrozenMemory:
    """Las claves y los valores ya proyectados de cada bloque, para pesos que no cambian.

    Da los mismos logits que `Memory`, sin proyectar dos veces ni una posición ni una distancia.

    Argumentos:
        limit: cuántas posiciones se recuerdan a lo sumo.
        caches: claves y valores, una por bloque.
        distances: las distancias proyectadas, `[heads, n, d_k]` por bloque.

    Fuente: capítulo `transformer_xl`.
    """

    limit: int
    caches: tuple[KeyValueCache, ...] = ()
    distances: tuple[Float[Tensor, "heads n d_k"], ...] = ()

    @property
    def length(self) -> int:
        """Cuántas posiciones recuerda."""
        return self.caches[0].length if self.caches else 0

    def select(self, rows: Int[Tensor, " rows"]) -> "FrozenMemory":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return replace(self, caches=tuple(cache.select(rows) for cache in self.caches))

    def through(self, blocks: nn.ModuleList, x: Hidden, mask, need_weights: bool):
        """Pasa x por los bloques y guarda sus claves y valores."""
        _require_frozen(need_weights)
        memory = self._with_distances(blocks, x.shape[1])
        old, caches = self.caches or [KeyValueCache()] * len(blocks), []
        for (block, cache), R in zip(_pairs(blocks, old), memory.distances, strict=True):
            x = block.with_attention(x, partial(_look_cached, block, cache, mask, R, caches))
        kept = tuple(cache.last(self.limit) for cache in caches)
        return x, replace(memory, caches=kept), None

    def _with_distances(self, blocks, t):
        """Proyecta las distancias que hacen falta, o el doble, para no volver a hacerlo pronto."""
        needed = self.length + t + 1
        if self.distances and self.distances[0].shape[1] >= needed:
            return self
        length = min(2 * needed, self.limit + t + 1)
        distances = (block.attention.distances(length).contiguous() for block in blocks)
        return replace(self, distances=tuple(distances))


def _pairs(blocks, past):
    if len(past) != len(blocks):
        raise ValueError(
            f"memory: se esperaba la de un modelo de {len(blocks)} bloques, como este, y llegó la "
            f"de uno de {len(past)}."
        )
    return zip(blocks, past, strict=True)


def _look(block, seen, mask, weights, h):
    """La autoatención de h sobre `seen`: la memoria y, detrás, el segmento, aún sin normalizar."""
    alone, residual = seen.shape == h.shape, block.residual_attention
    X_k = h if alone else seen if residual.placement == "post" else residual.norm(seen)
    if weights is None:
        return block.attention(h, X_k, mask=mask)
    H, A = block.attention(h, X_k, mask=mask, need_weights=True)
    weights.append(A)
    return H


def _look_cached(block, cache, mask, R, caches, h):
    """La autoatención de h sobre lo que guarda la caché; la más larga va a `caches`."""
    H, longer = block.attention.step(h, cache, mask=mask, R=R)
    caches.append(longer)
    return H


def _same_batch(past, x):
    if past.shape[0] != x.shape[0] or past.shape[2:] != x.shape[2:]:
        raise ValueError(
            f"memory: se esperaban {x.shape[0]} filas de ancho {x.shape[2]}, como el segmento, y "
            f"la memoria es {tuple(past.shape)}. ¿Cambió el lote? Elige sus filas con select."
        )
    return past


def _require_frozen(need_weights):
    if torch.is_grad_enabled():
        raise ValueError(
            "frozen_memory: no transmite gradientes y se esperaba torch.no_grad() o "
            "torch.inference_mode(). Para entrenar, usa la memoria de estados (memory=None)."
        )
    if need_weights:
        raise ValueError(
            "need_weights: la memoria congelada no da los pesos. Usa la de estados (memory=None)."
        )
