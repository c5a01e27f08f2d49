"""Los bloques del codificador y del decodificador, y sus pilas."""

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.kv_cache import KeyValueCache
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.normalization import Residual, make_norm

Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Mask = Bool[Tensor, "..."] | None


class AttentionWeights(NamedTuple):
    """Los pesos de atención de cada capa, `[batch, heads, t_q, t_k]`."""

    encoder: list[Tensor]
    decoder: list[Tensor]
    cross: list[Tensor]


class EncoderBlock(nn.Module):
    """Autoatención y red prealimentada, cada una con su conexión residual y su normalización.

        x ← residual(x, autoatención)
        x ← residual(x, red prealimentada)

    Argumentos:
        d_model: ancho de los vectores.
        num_heads: cabezas de la atención.
        d_ff: ancho de la capa oculta de la red prealimentada.
        dropout: el de la salida de cada subcapa.
        inner_dropout: el de los pesos de atención y la capa oculta (torch lo usa; el artículo no).
        activation: "relu" o "gelu".
        placement, norm: dónde se normaliza y cómo; las opciones de `Residual`.
        bias: con False, ni proyecciones ni normalizaciones tienen sesgo.

    Fuente: Vaswani et al. (2017), §3.1 y fig. 1; capítulo `encoder`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        dropout: float = 0.0,
        inner_dropout: float = 0.0,
        activation: str = "relu",
        placement: str = "post",
        norm: str = "layer",
        bias: bool = True,
    ) -> None:
        super().__init__()
        residual = {"placement": placement, "norm": norm, "dropout": dropout, "bias": bias}
        inner = {"dropout": inner_dropout, "bias": bias}
        self.attention = MultiHeadAttention(d_model, num_heads, **inner)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, **inner)
        self.residual_attention = Residual(d_model, **residual)
        self.residual_feed_forward = Residual(d_model, **residual)

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
        look = _Keeping(self.attention, mask=mask, causal=causal, need_weights=need_weights)
        x = self.residual_attention(x, look)
        x = self.residual_feed_forward(x, self.feed_forward)
        return (x, look.kept) if need_weights else x


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
        dropout: float = 0.0,
        inner_dropout: float = 0.0,
        activation: str = "relu",
        placement: str = "post",
        norm: str = "layer",
        bias: bool = True,
    ) -> None:
        super().__init__()
        residual = {"placement": placement, "norm": norm, "dropout": dropout, "bias": bias}
        inner = {"dropout": inner_dropout, "bias": bias}
        self.self_attention = MultiHeadAttention(d_model, num_heads, **inner)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, **inner)
        self.feed_forward = FeedForward(d_model, d_ff, activation=activation, **inner)
        self.residual_self = Residual(d_model, **residual)
        self.residual_cross = Residual(d_model, **residual)
        self.residual_feed_forward = Residual(d_model, **residual)

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
        back = _Keeping(self.self_attention, mask=mask, causal=causal, need_weights=need_weights)
        across = _Keeping(self.cross_attention, h, mask=memory_mask, need_weights=need_weights)
        y = self.residual_self(y, back)
        y = self.residual_cross(y, across)
        y = self.residual_feed_forward(y, self.feed_forward)
        return (y, back.kept, across.kept) if need_weights else y

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
        back = _Keeping(self.self_attention.step, cache)
        across = _Keeping(self.cross_attention.attend_to, *memory, mask=memory_mask)
        y = self.residual_self(y, back)
        y = self.residual_cross(y, across)
        y = self.residual_feed_forward(y, self.feed_forward)
        return y, back.kept


class Encoder(nn.Module):
    """Una pila de bloques de codificador: entra un conjunto de vectores y sale otro igual de largo.

    Argumentos:
        d_model, num_heads, d_ff: los de cada bloque.
        num_layers: cuántos bloques.
        final_norm: si se normaliza la salida de la pila; None, lo que pide la colocación: sí en
            "pre" y "sandwich", donde nadie normaliza la suma residual, y no en "post".
        placement, norm, bias, options: las opciones de `EncoderBlock`.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `encoder`.
    """

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
        _require_layers(num_layers)
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, num_heads, d_ff, **options) for _ in range(num_layers)
        )
        self.norm = _final_norm(d_model, final_norm, **options)

    def forward(
        self, x: Source, *, mask: Mask = None, causal: bool = False, need_weights: bool = False
    ) -> Source | tuple[Source, list[Tensor]]:
        """Pasa x por todos los bloques; con need_weights, da también la lista de sus pesos."""
        weights = []
        for block in self.blocks:
            look = _Keeping(block, mask=mask, causal=causal, need_weights=need_weights)
            x = look(x)
            weights.append(look.kept)
        x = self.norm(x)
        return (x, weights) if need_weights else x


class Decoder(nn.Module):
    """Una pila de bloques de decodificador: cada uno mira al destino escrito y al origen.

    Argumentos: los de `Encoder`.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `decoder`.
    """

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
        _require_layers(num_layers)
        self.blocks = nn.ModuleList(
            DecoderBlock(d_model, num_heads, d_ff, **options) for _ in range(num_layers)
        )
        self.norm = _final_norm(d_model, final_norm, **options)

    def forward(
        self, y: Target, h: Source, *, need_weights: bool = False, **masks
    ) -> Target | tuple[Target, list[Tensor], list[Tensor]]:
        """Pasa y por todos los bloques; con need_weights, da también las dos listas de pesos.

        Argumentos: los de `DecoderBlock.forward`.
        """
        own, cross = [], []
        for block in self.blocks:
            output = block(y, h, need_weights=need_weights, **masks)
            if need_weights:
                y, A_own, A_cross = output
                own.append(A_own)
                cross.append(A_cross)
            else:
                y = output
        y = self.norm(y)
        return (y, own, cross) if need_weights else y


class EncoderDecoder(nn.Module):
    """Codificador y decodificador, sin incrustaciones: lo que es `torch.nn.Transformer`.

    Argumentos: los de `Encoder`; `num_layers` vale para las dos pilas.

    Fuente: Vaswani et al. (2017), fig. 1; capítulo `transformer`.
    """

    def __init__(self, d_model: int, num_heads: int, d_ff: int, num_layers: int, **options) -> None:
        super().__init__()
        self.encoder = Encoder(d_model, num_heads, d_ff, num_layers, **options)
        self.decoder = Decoder(d_model, num_heads, d_ff, num_layers, **options)

    def forward(
        self,
        x: Source,
        y: Target,
        *,
        source_mask: Mask = None,
        target_mask: Mask = None,
        memory_mask: Mask = None,
        causal: bool = True,
        need_weights: bool = False,
    ) -> Target | tuple[Target, AttentionWeights]:
        """Codifica x y transforma y mirándola.

        Argumentos:
            x, y: origen y destino, `[batch, t, d_model]`.
            source_mask, target_mask, memory_mask: qué ven el origen de sí mismo, el destino de sí
                mismo (además de ser causal) y el destino del origen; True = visible.
            causal: con False, el destino se ve entero.
            need_weights: con True devuelve también los pesos.

        Devuelve:
            El destino transformado; o el par (destino, AttentionWeights).
        """
        masks = {"mask": target_mask, "memory_mask": memory_mask, "causal": causal}
        if not need_weights:
            return self.decoder(y, self.encoder(x, mask=source_mask), **masks)
        h, encoder = self.encoder(x, mask=source_mask, need_weights=True)
        y, decoder, cross = self.decoder(y, h, **masks, need_weights=True)
        return y, AttentionWeights(encoder, decoder, cross)


class _Keeping:
    """Una función que da (salida, algo más) o solo la salida: devuelve esta y guarda lo demás."""

    def __init__(self, function, *arguments, **options):
        self.function, self.arguments, self.options = function, arguments, options
        self.kept = None

    def __call__(self, x):
        output = self.function(x, *self.arguments, **self.options)
        if isinstance(output, tuple):
            output, self.kept = output
        return output


def _final_norm(d_model, final_norm, *, placement="post", norm="layer", bias=True, **_):
    if final_norm is None:
        final_norm = placement != "post"
    return make_norm(norm, d_model, bias=bias) if final_norm else nn.Identity()


def _require_layers(num_layers):
    if num_layers < 1:
        raise ValueError(f"num_layers: se esperaba al menos un bloque y llegó {num_layers}.")
