"""Un bloque con parámetros atados, que se aplica paso a paso solo donde hace falta."""

from collections.abc import Sequence
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Shaped
from torch import Tensor, nn

from course_lib.layers.adaptive_computation import Places, put, take
from course_lib.layers.kv_cache import KeyValueCache
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.normalization import Residual

Pair = Sequence[Tensor]  # claves y valores, en cabezas


class TiedBlock:
    """Un bloque listo para repetirse sobre un lote: es el `step` de `AdaptiveComputation`.

        u^n = s^{n−1} + P + S_n             P: posiciones; S_n: el paso
        s^n = bloque(u^n)                   en las posiciones pedidas; miran a todas

    Argumentos:
        block: `EncoderBlock` o `DecoderBlock`.
        attention, residual: su autoatención y lo que la rodea.
        positions, steps: las codificaciones, difundible a `[batch, t, d_model]` y
            `[max_steps, d_model]`.
        visible: qué posiciones no son relleno.
        causal: con True, cada posición ve solo hasta sí misma.
        caches: las claves y los valores de las posiciones anteriores, una caché por paso.
        across: para un decodificador, su atención cruzada, las claves y los valores del origen y
            qué posiciones del origen se ven.

    Fuente: Dehghani et al. (2018), §2.1; ecuación `eq-universal-step` del capítulo
    `universal_transformer`.
    """

    def __init__(
        self,
        block: nn.Module,
        attention: MultiHeadAttention,
        residual: Residual,
        positions: Float[Tensor, "... d_model"],
        steps: Float[Tensor, "steps d_model"],
        *,
        visible: Bool[Tensor, "batch t"] | None = None,
        causal: bool = False,
        caches: Sequence[KeyValueCache] | None = None,
        across: tuple[MultiHeadAttention, Pair, Tensor | None] | None = None,
    ) -> None:
        self.block, self.attention, self.across = block, attention, across
        self.positions, self.steps = positions, steps
        self.visible, self.causal = visible, causal
        self.caches = None if caches is None else list(caches)
        self.past = 0 if caches is None else caches[0].length
        self.keys = StepKeys(attention, None if residual.placement == "post" else residual.norm)
        self.done = 0
        self.changed = None if visible is None else visible.flatten().nonzero().squeeze(-1)

    def __call__(self, states: Tensor, n: int, places: Places) -> Pair:
        """Da lo que entra y lo que sale en el paso n, en las posiciones pedidas."""
        self.done = n
        layout = Layout(places, states)
        u = self._with_positions(states, places) + self.steps[n - 1]
        looks = [self._look(states, n, layout)]
        if self.across is not None:
            attention, memory, visible = self.across
            memory = [layout.rows_of(X) for X in memory]
            looks.append(partial(layout.attend, attention, memory, layout.rows_of(visible)))
        return u, self.block.with_attention(u, *looks)

    def filled(self, last_states: Tensor) -> tuple[KeyValueCache, ...]:
        """Las cachés de todos los pasos; en los que nadie dio, con los estados ya detenidos."""
        for n in range(self.done + 1, len(self.caches) + 1):
            self._remember(last_states, n, None)
            self.changed = last_states.new_empty(0, dtype=torch.long)
        return tuple(self.caches)

    def _with_positions(self, states, places):
        if places is None:
            return states + self.positions
        # Una tabla común a todas las filas se lee por columnas, sin repetirla antes.
        one_row = self.positions.ndim == 2
        index = places % states.shape[1] if one_row else places
        table = self.positions if one_row else self.positions.flatten(0, 1)
        return take(states, places) + table.index_select(0, index)

    def _look(self, states, n, layout):
        if layout.places is None and self.caches is None:
            # Todas a la vez: la atención de siempre, con un solo producto para Q, K y V.
            visible = None if self.visible is None else self.visible[:, None]
            return partial(self.attention, mask=visible, causal=self.causal)
        memory = self._remember(states, n, layout.rows)
        self.changed = layout.places
        return partial(layout.attend, self.attention, memory, self._mask(layout))

    def _remember(self, states, n, rows):
        """Las claves y los valores en el paso n; se proyectan solo los estados que cambiaron."""
        z = self._with_positions(states, self.changed)
        self.keys.update(z, self.changed, states.shape[:2])
        if self.caches is None:
            return self._heads(self.keys.at(self.steps[n - 1], rows))
        K, V = self._heads(self.keys.at(self.steps[n - 1]))
        cache = self.caches[n - 1] = self.caches[n - 1].append(K, V)
        return [select_rows(X, rows) for X in (cache.K, cache.V)]

    def _heads(self, KV):
        return [self.attention.split_heads(X) for X in KV.chunk(2, dim=-1)]

    def _mask(self, layout):
        visible = None if self.visible is None else layout.rows_of(self.visible[:, None])
        if not self.causal or layout.t == 1:
            return visible
        keys = torch.arange(self.past + layout.t, device=layout.columns.device)
        past = keys <= self.past + layout.columns[..., None]
        return past if visible is None else past & visible


class Layout:
    """Cómo se reparten entre las filas del lote unas posiciones sueltas, en orden.

    Las filas sin ninguna no aparecen; a las que tienen menos que otras se les añaden lugares
    vacíos, solo para atender: lo demás del bloque trata cada posición por su cuenta.
    """

    def __init__(self, places: Places, states: Float[Tensor, "batch t d_model"]) -> None:
        batch, t, _ = states.shape
        self.places, self.t, self.rows = places, t, None
        everything = torch.arange(t, device=states.device)
        if places is None:
            self.columns = everything[None]
            return
        owner = places.div(t, rounding_mode="floor")
        rows, row, counts = owner.unique_consecutive(return_inverse=True, return_counts=True)
        order = torch.arange(len(places), device=places.device) - (counts.cumsum(0) - counts)[row]
        self.shape = (len(rows), int(counts.max()))
        self.slots = row * self.shape[1] + order
        self.rows = rows if len(rows) < batch else None
        self.columns = self.spread(everything[places % t][:, None]).squeeze(-1)

    def rows_of(self, X: Tensor | None) -> Tensor | None:
        """Las filas del lote que tienen alguna posición."""
        return select_rows(X, self.rows)

    def attend(self, attention: MultiHeadAttention, memory: Pair, mask: Tensor | None, x: Tensor):
        """Estas posiciones atienden a las claves y los valores de sus filas."""
        Q = attention.split_heads(self.spread(attention.queries(x)))
        mask = None if mask is None else mask.unsqueeze(-3)
        H, _ = attention.attend(Q, *memory, mask, False, False)
        return attention.W_h(self.collect(attention.merge_heads(H)))

    def spread(self, X: Shaped[Tensor, "... d"]) -> Shaped[Tensor, "rows width d"]:
        """Pone cada posición en su fila."""
        if self.places is None:
            return X
        spread = X.new_zeros(self.shape[0] * self.shape[1], X.shape[-1])
        return spread.index_copy(0, self.slots, X).unflatten(0, self.shape)

    def collect(self, H: Float[Tensor, "rows width d"]) -> Float[Tensor, "... d"]:
        """Deshace `spread`."""
        return H if self.places is None else H.flatten(0, 1).index_select(0, self.slots)


class StepKeys:
    """Las claves y los valores de todas las posiciones en cada paso, sin proyectarlos cada vez.

    Con norm posterior la proyección es lineal y el paso suma un vector; con norm previa, la
    normalización de capa también es lineal salvo por un divisor, que es un número por posición:

        post:  K_n = z W + S_n W + b
        pre:   K_n = (c(z) G W + c(S_n) G W) / σ(z + S_n) + (β W + b)

    z es el estado más la codificación de su posición; c resta la media (`LayerNorm`) o nada
    (`RMSNorm`); G y β son la escala y el sesgo de la normalización. Una posición que se detuvo
    conserva su z W: el paso siguiente le cuesta d sumas en vez de 2 d² productos.

    Argumentos:
        attention: de ella salen W y b.
        norm: la normalización anterior a la atención; None si no hay.
    """

    def __init__(self, attention: MultiHeadAttention, norm: nn.Module | None) -> None:
        d_model, stack = attention.d_model, attention.W_qkv
        self.W = stack.weight[d_model:]
        self.b = 0.0 if stack.bias is None else stack.bias[d_model:]
        self.norm, self.z, self.KV = norm, None, None
        if norm is not None:
            shift = getattr(norm, "bias", None)
            self.b = self.b if shift is None else self.b + self.W @ shift
            self.W = self.W * norm.weight

    def update(self, z: Tensor, places: Places, shape: torch.Size) -> None:
        """Proyecta z, que acaba de cambiar en esas posiciones."""
        z = self._centre(z)
        self.KV = _write(self.KV, places, F.linear(z, self.W), shape)
        if self.norm is not None:
            self.z = _write(self.z, places, z, shape)

    def at(
        self, step: Float[Tensor, " d_model"], rows: Tensor | None = None
    ) -> Float[Tensor, "rows t two_d_model"]:
        """Las claves y los valores, uno tras otro, en el paso de esa codificación."""
        step, KV = self._centre(step), select_rows(self.KV, rows)
        shift = F.linear(step, self.W)
        if self.norm is None:
            return KV + (shift + self.b).to(KV.dtype)
        z = select_rows(self.z, rows) + step
        # Como hacen las normalizaciones: en float16, el cuadrado de 256 ya no cabe.
        wide = z.to(torch.promote_types(z.dtype, torch.float32))
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.norm.eps)
        return ((KV + shift) * scale + self.b).to(KV.dtype)

    def _centre(self, z):
        return z - z.mean(-1, keepdim=True) if isinstance(self.norm, nn.LayerNorm) else z


def select_rows(X: Tensor | None, rows: Tensor | None) -> Tensor | None:
    """Esas filas del lote; con None, todas."""
    return X if X is None or rows is None else X.index_select(0, rows)


def _write(X, places, values, shape):
    if places is None:
        return values
    X = values.new_zeros(*shape, values.shape[-1]) if X is None else X
    return put(X, places, values)
