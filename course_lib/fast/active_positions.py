"""El Universal Transformer, que calcula en cada paso solo las posiciones activas."""

from collections.abc import Callable, Sequence
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn

from course_lib.fast._twin import twin
from course_lib.fast.keys_values import keys_values
from course_lib.layers.adaptive_computation import (
    AdaptiveComputation,
    AdaptiveOutput,
    Deliberation,
    FixedComputation,
)
from course_lib.layers.multi_head_attention import KeyValueCache, MultiHeadAttention
from course_lib.layers.normalization import Residual
from course_lib.models.universal_transformer import UniversalDecoder, UniversalEncoder

States = Float[Tensor, "batch t d_model"]
Places = Int[Tensor, " active"] | None  # índices, una fila tras otra; None, todas las posiciones
Pair = Sequence[Tensor]  # claves y valores, en cabezas
Step = Callable[[Tensor, int, Tensor | None], tuple[Tensor, Tensor]]
Mask = Bool[Tensor, "batch 1 t"] | None
CrossMask = Bool[Tensor, "batch 1 t_source"] | None
Start = int | Int[Tensor, " batch"]

# Con más posiciones activas que esta parte, calcularlas todas cuesta menos que reunirlas; en una
# GPU, también con menos posiciones que estas: lanzar los núcleos cuesta más que el cálculo.
GATHER_BELOW, GPU_GATHERS_FROM = 0.85, 2**14


def gathering(model: nn.Module, *, gather_below: float | None = None) -> nn.Module:
    """El mismo modelo, en el que una posición que se detuvo no cuesta nada.

    Da lo mismo, también el gradiente. Los pasos acaban cuando ya nadie sigue, y el relleno no se
    calcula.

        train(gathering(model), loss, batches, …)         # se entrena `model`

    Argumentos:
        model: un `UniversalTransformer`, o cualquier modelo con un `UniversalEncoder` o un
            `UniversalDecoder` dentro; no cambia.
        gather_below: mientras la parte de posiciones activas no baje de aquí se calculan todas y
            se descartan las detenidas; después, solo las activas. Si falta, lo que compensa: 0.85
            en la CPU; en una GPU, eso mismo con 16384 posiciones o más, y con menos, todas.

    Fuente: capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib import fast
        >>> from course_lib.models import UniversalTransformer, UniversalTransformerConfig
        >>> config = UniversalTransformerConfig(20, d_model=8, num_heads=2, dropout=0.0)
        >>> model = UniversalTransformer(config)
        >>> source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
        >>> same = fast.gathering(model)
        >>> torch.allclose(same(source, target).logits, model(source, target).logits, atol=1e-4)
        True
    """
    faster = {UniversalEncoder: GatheringEncoder, UniversalDecoder: GatheringDecoder}
    return twin(model, faster, gather_below=gather_below)


class GatheringEncoder(UniversalEncoder):
    """Un `UniversalEncoder` que calcula solo las posiciones activas; lo hace `gathering`."""

    gather_below: float | None

    def forward(
        self, x: States, *, mask: Mask = None, causal: bool = False, start: Start = 0
    ) -> AdaptiveOutput:
        """Transforma x hasta que todas se detienen; como `UniversalEncoder.forward`."""
        own = (self.block.attention, self.block.residual_attention)
        _, done = _deliberate(self, x, start, *own, mask=mask, causal=causal)
        return self._output(done)


class GatheringDecoder(UniversalDecoder):
    """Un `UniversalDecoder` que calcula solo las posiciones activas; lo hace `gathering`."""

    gather_below: float | None

    def forward(
        self,
        y: States,
        encoded: Float[Tensor, "batch t_source d_model"],
        *,
        mask: Mask = None,
        cross_mask: CrossMask = None,
        start: Start = 0,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> AdaptiveOutput:
        """Transforma el destino, que mira al origen; como `UniversalDecoder.forward`."""
        own = (self.block.self_attention, self.block.residual_self)
        cross = self.block.cross_attention
        across = (cross, keys_values(cross, encoded), cross_mask)
        seen = {"mask": mask, "causal": True, "caches": caches, "across": across}
        step, done = _deliberate(self, y, start, *own, **seen)
        if caches is not None:
            step.fill(done.states)
        return self._output(done)


def _deliberate(universal, x, start, attention, residual, *, mask, **seen):
    """El paso del bloque de `universal` y lo que queda de darlo mientras alguna posición siga."""
    positions = universal._positions_of(x, start)
    parts = (universal.block, attention, residual, positions, universal.steps)
    step = TiedBlock(*parts, mask=mask, **seen)
    rule = {"mask": mask, "gather_below": universal.gather_below}
    return step, deliberate(universal.computation, x, step, **rule)


def deliberate(
    rule: AdaptiveComputation | FixedComputation,
    x: States,
    step: Step,
    *,
    mask: Mask = None,
    gather_below: float | None = None,
) -> Deliberation:
    """Transforma cada posición tantas veces como ella decida.

    Argumentos:
        rule: quien decide.
        x: los estados iniciales, `[batch, t, d_model]`.
        step: `step(states, n, places) -> (u, s)`, el paso n: de todos los estados, lo que entra y
            lo que sale en las posiciones que pide `places` (sus índices en los estados aplanados,
            y entonces u y s son `[n, d_model]`); con None, en todas. Sin gradiente, `states` cambia
            después: quien lo guarde ha de copiarlo.
        mask: False en el relleno, que ni se calcula ni cuenta.
        gather_below: como en `gathering`.
    """
    if gather_below is None:
        gather_below = worth_gathering(x)
    if isinstance(rule, FixedComputation):
        return _always(rule, x, step, mask, gather_below)
    active = rule.start(x, mask).active
    states, output = x.clone(), torch.zeros_like(x)
    total = torch.zeros_like(active, dtype=torch.promote_types(x.dtype, torch.float32))
    remainders, n_updates = torch.zeros_like(total), torch.zeros_like(active, dtype=torch.long)
    n = 0
    for n in range(1, rule.max_steps + 1):
        if not active.any():
            break
        places = to_compute(active, gather_below)
        u, new = step(states, n, places)
        p = put(torch.zeros_like(total), places, rule.probability(u))
        halts = active & ((total + p >= 1 - rule.epsilon) | (n == rule.max_steps))
        weights = torch.where(halts, 1 - total, p).masked_fill(~active, 0.0)
        output = add(output, places, take(weights, places)[..., None] * new)
        states = put(states, places, new, where=active)
        remainders = torch.where(halts, weights, remainders)
        n_updates = n_updates + active
        total, active = total + p, active & ~halts
    return Deliberation(n, states, active, output, total, n_updates, remainders)


def _always(rule, x, step, mask, gather_below):
    """Los pasos de `FixedComputation`, sin calcular el relleno."""
    begin = rule.start(x, mask)
    places, states = to_compute(begin.active, gather_below), x.clone()
    for n in range(1, 1 + (rule.max_steps if begin.active.any() else 0)):
        states = put(states, places, step(states, n, places)[1])
    return begin._replace(
        n=rule.max_steps,
        states=states,
        mixed=states.masked_fill(~begin.active[..., None], 0.0),
        n_updates=rule.max_steps * begin.active.long(),
    )


class TiedBlock:
    """Un bloque listo para repetirse sobre un lote: es el `step` de `deliberate`.

        u^n = s^{n−1} + P + S_n             P: posiciones; S_n: el paso
        s^n = bloque(u^n)                   en las posiciones pedidas; miran a todas

    Argumentos:
        block: `EncoderBlock` o `DecoderBlock`.
        attention, residual: su autoatención y lo que la rodea.
        positions, steps: las codificaciones, difundible a `[batch, t, d_model]` y
            `[max_steps, d_model]`.
        mask: qué posiciones no son relleno, `[batch, 1, t]`.
        causal: con True, cada posición ve solo hasta sí misma.
        caches: las claves y los valores de las posiciones anteriores, una caché por paso, que se
            alargan.
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
        mask: Mask = None,
        causal: bool = False,
        caches: Sequence[KeyValueCache] | None = None,
        across: tuple[MultiHeadAttention, Pair, Tensor | None] | None = None,
    ) -> None:
        self.block, self.attention, self.across = block, attention, across
        self.positions, self.steps = positions, steps
        self.mask, self.causal, self.caches = mask, causal, caches
        self.past = 0 if caches is None else caches[0].length
        self.keys = StepKeys(attention, None if residual.placement == "post" else residual.norm)
        self.done = 0
        self.changed = None if mask is None else mask.flatten().nonzero().squeeze(-1)

    def __call__(self, states: Tensor, n: int, places: Places) -> Pair:
        """Da lo que entra y lo que sale en el paso n, en las posiciones pedidas."""
        self.done = n
        layout = Arrangement(places, states)
        u = self._with_positions(states, places) + self.steps[n - 1]
        looks = [self._look(states, n, layout)]
        if self.across is not None:
            attention, pair, mask = self.across
            pair = [layout.rows_of(X) for X in pair]
            looks.append(partial(layout.attend, attention, pair, layout.rows_of(mask)))
        return u, self._block(u, *looks)

    def fill(self, last_states: Tensor) -> None:
        """Alarga las cachés de los pasos que nadie dio, con los estados ya detenidos."""
        for n in range(self.done + 1, len(self.caches) + 1):
            self._remember(last_states, n, None)
            self.changed = last_states.new_empty(0, dtype=torch.long)

    def _block(self, u, look, look_across=None):
        """El bloque, en unas posiciones que miran a las demás con `look`."""
        block = self.block
        if look_across is None:
            u = block.residual_attention(u, look)
        else:
            u = block.residual_cross(block.residual_self(u, look), look_across)
        return block.residual_feed_forward(u, block.feed_forward)

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
            return partial(self.attention, mask=self.mask, causal=self.causal)
        pair = self._remember(states, n, layout.rows)
        self.changed = layout.places
        return partial(layout.attend, self.attention, pair, self._mask(layout))

    def _remember(self, states, n, rows):
        """Las claves y los valores en el paso n; se proyectan solo los estados que cambiaron."""
        z = self._with_positions(states, self.changed)
        self.keys.update(z, self.changed, states.shape[:2])
        if self.caches is None:
            return self._heads(self.keys.at(self.steps[n - 1], rows))
        K, V = self._heads(self.keys.at(self.steps[n - 1]))
        return [select_rows(X, rows) for X in self.caches[n - 1].append(K, V)]

    def _heads(self, KV):
        return [self.attention.split_heads(X) for X in KV.chunk(2, dim=-1)]

    def _mask(self, layout):
        mask = layout.rows_of(self.mask)
        if not self.causal or layout.t == 1:
            return mask
        keys = torch.arange(self.past + layout.t, device=layout.columns.device)
        past = keys <= self.past + layout.columns[..., None]
        return past if mask is None else past & mask


class Arrangement:
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

    def attend(self, attention: MultiHeadAttention, pair: Pair, mask: Tensor | None, x: Tensor):
        """Estas posiciones atienden a las claves y los valores de sus filas."""
        Q = attention.split_heads(self.spread(F.linear(x, *attention.matrices()[0])))
        mask = None if mask is None else mask.unsqueeze(-3)
        H = attention.attend(Q, *pair, mask)
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


def worth_gathering(x: States) -> float:
    """Por debajo de qué parte de posiciones activas compensa reunirlas; 0: nunca."""
    few = x.device.type != "cpu" and x.shape[0] * x.shape[1] < GPU_GATHERS_FROM
    return 0.0 if few else GATHER_BELOW


def to_compute(active: Bool[Tensor, "batch t"], gather_below: float) -> Places:
    """Los índices de las posiciones activas; None, todas, si las activas son casi todas."""
    if not gather_below:  # no hace falta ni contarlas
        return None
    if active.count_nonzero() >= gather_below * active.numel():
        return None
    return active.flatten().nonzero().squeeze(-1)


def take(X: Float[Tensor, "batch t *d"], places: Places) -> Float[Tensor, "..."]:
    """Lo que hay en esas posiciones; con None, todo."""
    return X if places is None else X.flatten(0, 1).index_select(0, places)


def put(
    X: Float[Tensor, "batch t *d"],
    places: Places,
    values: Float[Tensor, "..."],
    *,
    where: Bool[Tensor, "batch t"] | None = None,
) -> Float[Tensor, "batch t *d"]:
    """X con otros valores en esas posiciones; si se calcularon todas, solo donde `where`.

    Sin gradiente no se copia lo demás: X cambia.
    """
    values = values.to(X.dtype)
    if places is not None:
        flat = X.flatten(0, 1)
        copy = flat.index_copy if torch.is_grad_enabled() else flat.index_copy_
        return copy(0, places, values).view_as(X)
    return values if where is None else torch.where(where[..., None], values, X)


def add(
    X: Float[Tensor, "batch t d"], places: Places, values: Float[Tensor, "..."]
) -> Float[Tensor, "batch t d"]:
    """X más esos valores en esas posiciones; sin gradiente, X cambia."""
    values = values.to(X.dtype)
    if places is None:
        return X + values
    flat = X.flatten(0, 1)
    added = flat.index_add if torch.is_grad_enabled() else flat.index_add_
    return added(0, places, values).view_as(X)
