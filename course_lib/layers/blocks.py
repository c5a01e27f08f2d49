"""Los bloques del codificador y del decodificador, y sus pilas."""

from collections.abc import Callable, Sequence
from functools import partial

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.layers.arguments import require_sizes
from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.kv_cache import KeyValueCache
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.normalization import Residual, make_norm

Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Some = Float[Tensor, "... d_model"]
Mask = Bool[Tensor, "..."] | None
Look = Callable[[Tensor], Tensor]


class EncoderBlock(nn.Module):
    """Autoatención y red prealimentada, cada una con su conexión residual y su normalización.

        x ← residual(x, autoatención)
        x ← residual(x, red prealimentada)

    Argumentos:
        d_model: ancho de los vectores.
        num_heads: cabezas de la atención.
        d_ff: ancho de la capa oculta de la red prealimentada.
        activation: "relu" o "gelu".
        inner_dropout: el de los pesos de atención y la capa oculta (torch lo usa; el artículo no).
        bias: con False, ni proyecciones ni normalizaciones tienen sesgo.
        attention: la atención del bloque; si falta, una `MultiHeadAttention`.
        residual: las opciones de `Residual`: placement, norm y dropout (el de cada subcapa).

    Fuente: Vaswani et al. (2017), §3.1 y fig. 1; ecuación `eq-add-norm` del capítulo `encoder`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        activation: str = "relu",
        inner_dropout: float = 0.0,
        bias: bool = True,
        attention: MultiHeadAttention | None = None,
        **residual,
    ) -> None:
        super().__init__()
        inner = {"dropout": inner_dropout, "bias": bias}
        self.attention = attention or MultiHeadAttention(d_model, num_heads, **inner)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, **inner)
        self.residual_attention = Residual(d_model, bias=bias, **residual)
        self.residual_feed_forward = Residual(d_model, bias=bias, **residual)

    def forward(
        self, x: Source, *, mask: Mask = None, causal: bool = False, need_weights: bool = False
    ) -> Source | tuple[Source, Tensor]:
        """Da un bloque más de contexto a cada posición.

        Argumentos:
            x: `[batch, t, d_model]`.
            mask: True = visible, difundible a `[batch, t, t]`.
            causal: con True, cada posición ve solo hasta sí misma.
            need_weights: con True devuelve también los pesos de atención.

        Devuelve:
            x transformada; o el par (x, A), con A: `[batch, heads, t, t]`.
        """
        weights = []
        look = partial(self.attention, mask=mask, causal=causal, need_weights=need_weights)
        x = self.with_attention(x, _first(look, weights))
        return (x, *weights) if need_weights else x

    def with_attention(self, x: Some, look: Look) -> Some:
        """Aplica el bloque a las posiciones dadas, que miran a las demás con `look`.

        Argumentos:
            x: todas las posiciones o solo algunas, `[..., d_model]`.
            look: hace la autoatención; recibe x (normalizada, si la colocación lo pide).
        """
        x = self.residual_attention(x, look)
        return self.residual_feed_forward(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Autoatención causal, atención cruzada y red prealimentada.

        y ← residual(y, autoatención causal)
        y ← residual(y, atención cruzada: consultas de y, claves y valores de h)
        y ← residual(y, red prealimentada)

    Argumentos: los de `EncoderBlock`.

    Fuente: Vaswani et al. (2017), §3.1, §3.2.3 y fig. 1; capítulo `decoder`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        activation: str = "relu",
        inner_dropout: float = 0.0,
        bias: bool = True,
        **residual,
    ) -> None:
        super().__init__()
        inner = {"dropout": inner_dropout, "bias": bias}
        self.self_attention = MultiHeadAttention(d_model, num_heads, **inner)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, **inner)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, **inner)
        self.residual_self = Residual(d_model, bias=bias, **residual)
        self.residual_cross = Residual(d_model, bias=bias, **residual)
        self.residual_feed_forward = Residual(d_model, bias=bias, **residual)

    def forward(
        self,
        y: Target,
        h: Source,
        *,
        mask: Mask = None,
        memory_mask: Mask = None,
        causal: bool = True,
        need_weights: bool = False,
    ) -> Target | tuple[Target, Tensor, Tensor]:
        """Transforma el destino y, que mira al origen ya codificado h.

        Argumentos:
            y: `[batch, t_target, d_model]`.
            h: salida del codificador, `[batch, t_source, d_model]`.
            mask: posiciones visibles del destino, difundible a `[batch, t_target, t_target]`.
            memory_mask: posiciones visibles del origen, difundible a
                `[batch, t_target, t_source]`.
            causal: con False, el destino se ve entero (no sirve para generar).
            need_weights: con True devuelve también los pesos.

        Devuelve:
            y transformada; o la terna (y, A propia, A cruzada).
        """
        weights = []
        back = partial(self.self_attention, mask=mask, causal=causal, need_weights=need_weights)
        across = partial(self.cross_attention, X_k=h, mask=memory_mask, need_weights=need_weights)
        y = self.with_attention(y, _first(back, weights), _first(across, weights))
        return (y, *weights) if need_weights else y

    def with_attention(self, y: Some, look: Look, look_across: Look) -> Some:
        """Aplica el bloque a las posiciones dadas: `look` mira al destino y `look_across`, a h.

        Argumentos: los de `EncoderBlock.with_attention`.
        """
        y = self.residual_self(y, look)
        y = self.residual_cross(y, look_across)
        return self.residual_feed_forward(y, self.feed_forward)

    def step(
        self,
        y: Target,
        cache: KeyValueCache,
        memory: tuple[Tensor, Tensor],
        *,
        memory_mask: Mask = None,
    ) -> tuple[Target, KeyValueCache]:
        """Lo mismo para las posiciones nuevas, con las claves y los valores anteriores guardados.

        Argumentos:
            y: solo las posiciones nuevas, `[batch, t, d_model]`.
            cache: claves y valores propios de las posiciones anteriores.
            memory: claves y valores de h, los que da `cross_attention.keys_values(h)`.
            memory_mask: como en `forward`.

        Devuelve:
            El par (y, caché más larga).
        """
        caches = []
        back = partial(self.self_attention.step, cache=cache)
        across = partial(self.cross_attention.attend_to, memory=memory, mask=memory_mask)
        y = self.with_attention(y, _first(back, caches), across)
        return y, *caches


class _Stack(nn.Module):
    """Bloques uno tras otro y, si hace falta, una normalización al final."""

    Block: type[nn.Module]

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        *,
        final_norm: bool | None = None,
        **options,
    ) -> None:
        super().__init__()
        require_sizes(num_layers=num_layers)
        self.blocks = nn.ModuleList(
            self.Block(d_model, num_heads, d_ff, **options) for _ in range(num_layers)
        )
        self.norm = make_final_norm(d_model, final_norm, **options)


class Encoder(_Stack):
    """Una pila de bloques de codificador: entra un conjunto de vectores y sale otro igual de largo.

    Argumentos:
        d_model, num_heads, d_ff: los de cada bloque.
        num_layers: cuántos bloques.
        final_norm: si se normaliza la salida de la pila; None, lo que pide la colocación: sí en
            "pre" y "sandwich", donde nadie normaliza la suma residual, y no en "post".
        options: las opciones de `EncoderBlock`.

    Errores:
        ValueError: si un tamaño o una opción no tiene sentido.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `encoder`.
    """

    Block = EncoderBlock

    def forward(
        self, x: Source, *, mask: Mask = None, causal: bool = False, need_weights: bool = False
    ) -> Source | tuple[Source, list[Tensor]]:
        """Pasa x por todos los bloques; con need_weights, da también la lista de sus pesos."""
        weights = []
        for block in self.blocks:
            x = _first(block, weights)(x, mask=mask, causal=causal, need_weights=need_weights)
        x = self.norm(x)
        return (x, weights) if need_weights else x


class Decoder(_Stack):
    """Una pila de bloques de decodificador: cada uno mira al destino escrito y al origen.

    Argumentos: los de `Encoder`.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `decoder`.
    """

    Block = DecoderBlock

    def forward(
        self,
        y: Target,
        h: Source,
        *,
        mask: Mask = None,
        memory_mask: Mask = None,
        causal: bool = True,
        need_weights: bool = False,
    ) -> Target | tuple[Target, list[Tensor], list[Tensor]]:
        """Pasa y por todos los bloques; con need_weights, da también las dos listas de pesos.

        Argumentos: los de `DecoderBlock.forward`.
        """
        weights = []
        how = {"causal": causal, "need_weights": need_weights}
        for block in self.blocks:
            y = _first(block, weights)(y, h, mask=mask, memory_mask=memory_mask, **how)
        y = self.norm(y)
        return (y, weights[::2], weights[1::2]) if need_weights else y

    def step(
        self,
        y: Target,
        caches: Sequence[KeyValueCache],
        memories: Sequence[tuple[Tensor, Tensor]],
        *,
        memory_mask: Mask = None,
    ) -> tuple[Target, tuple[KeyValueCache, ...]]:
        """Pasa solo las posiciones nuevas; una caché y una memoria por bloque."""
        longer = []
        for block, cache, memory in zip(self.blocks, caches, memories, strict=True):
            y = _first(block.step, longer)(y, cache, memory, memory_mask=memory_mask)
        return self.norm(y), tuple(longer)


def _first(function, others):
    """La misma función, pero da solo su primera salida; las demás, si las hay, van a `others`."""

    def call(*arguments, **options):
        output = function(*arguments, **options)
        if not isinstance(output, tuple):
            return output
        others.extend(output[1:])
        return output[0]

    return call


def make_final_norm(
    d_model: int,
    final_norm: bool | None,
    *,
    placement="post",
    norm="layer",
    bias=True,
    eps=None,
    **_,
) -> nn.Module:
    """Crea la normalización del final de una pila; con None, solo si la colocación la pide."""
    if final_norm is None:
        final_norm = placement != "post"
    return make_norm(norm, d_model, bias=bias, eps=eps) if final_norm else nn.Identity()
