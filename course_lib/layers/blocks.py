"""Los bloques del codificador y del decodificador, y sus pilas."""

from collections.abc import Sequence

from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.layers.arguments import require_sizes
from course_lib.layers.dot_product_attention import KeyValueCache
from course_lib.layers.feed_forward import FeedForward
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.normalization import Residual, make_norm

Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Mask = Bool[Tensor, "..."] | None


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

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import EncoderBlock
        >>> block = EncoderBlock(d_model=8, num_heads=2, d_ff=32)
        >>> x = torch.rand(1, 5, 8)
        >>> block(x).shape  # la forma no cambia: se pueden apilar
        torch.Size([1, 5, 8])
        >>> block(x).mean(-1).abs().max().item() < 1e-5  # en «post», la salida queda normalizada
        True
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

    def forward(self, x: Source, *, mask: Mask = None, causal: bool = False) -> Source:
        """Da un bloque más de contexto a cada posición.

        Argumentos:
            x: `[batch, t, d_model]`.
            mask: True = visible, difundible a `[batch, t, t]`.
            causal: con True, cada posición ve solo hasta sí misma.
        """
        x = self.residual_attention(x, lambda x: self.attention(x, mask=mask, causal=causal))
        return self.residual_feed_forward(x, self.feed_forward)


class DecoderBlock(nn.Module):
    """Autoatención causal, atención cruzada y red prealimentada.

        y ← residual(y, autoatención causal)
        y ← residual(y, atención cruzada: consultas de y, claves y valores del origen)
        y ← residual(y, red prealimentada)

    Argumentos: los de `EncoderBlock`.

    Fuente: Vaswani et al. (2017), §3.1, §3.2.3 y fig. 1; capítulo `decoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import DecoderBlock
        >>> block = DecoderBlock(d_model=8, num_heads=2, d_ff=32)
        >>> y, encoded = torch.rand(1, 3, 8), torch.rand(1, 5, 8)  # destino y origen
        >>> block(y, encoded).shape
        torch.Size([1, 3, 8])
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
        encoded: Source,
        *,
        mask: Mask = None,
        cross_mask: Mask = None,
        causal: bool = True,
        cache: KeyValueCache | None = None,
    ) -> Target:
        """Transforma el destino y, que mira al origen ya codificado.

        Argumentos:
            y: `[batch, t_target, d_model]`; con una caché, solo las posiciones nuevas.
            encoded: salida del codificador, `[batch, t_source, d_model]`.
            mask: posiciones visibles del destino, difundible a `[batch, t_target, t_target]`.
            cross_mask: posiciones visibles del origen, difundible a `[batch, t_target, t_source]`.
            causal: con False, el destino se ve entero (no sirve para generar).
            cache: claves y valores propios de las posiciones anteriores; se alarga.
        """
        seen = {"mask": mask, "causal": causal, "cache": cache}
        y = self.residual_self(y, lambda y: self.self_attention(y, **seen))
        y = self.residual_cross(y, lambda y: self.cross_attention(y, encoded, mask=cross_mask))
        return self.residual_feed_forward(y, self.feed_forward)


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

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Encoder
        >>> encoder = Encoder(d_model=8, num_heads=2, d_ff=32, num_layers=2)
        >>> x = torch.rand(1, 5, 8)
        >>> encoder(x).shape
        torch.Size([1, 5, 8])
        >>> backwards = encoder(x.flip(1)).flip(1)  # un conjunto: el orden no cambia nada
        >>> torch.allclose(backwards, encoder(x), atol=1e-5)
        True
    """

    Block = EncoderBlock

    def forward(self, x: Source, *, mask: Mask = None, causal: bool = False) -> Source:
        """Pasa x por todos los bloques."""
        for block in self.blocks:
            x = block(x, mask=mask, causal=causal)
        return self.norm(x)


class Decoder(_Stack):
    """Una pila de bloques de decodificador: cada uno mira al destino escrito y al origen.

    Argumentos: los de `Encoder`.

    Fuente: Vaswani et al. (2017), §3.1; capítulo `decoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Decoder
        >>> decoder = Decoder(d_model=8, num_heads=2, d_ff=32, num_layers=2)
        >>> y, encoded = torch.rand(1, 3, 8), torch.rand(1, 5, 8)
        >>> before = decoder(y, encoded)
        >>> y[:, 2] = 0  # si cambia la última posición, las anteriores no lo notan
        >>> (decoder(y, encoded) - before).abs().amax(-1) > 1e-4
        tensor([[False, False,  True]])
    """

    Block = DecoderBlock

    def forward(
        self,
        y: Target,
        encoded: Source,
        *,
        mask: Mask = None,
        cross_mask: Mask = None,
        causal: bool = True,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> Target:
        """Pasa y por todos los bloques.

        Argumentos: los de `DecoderBlock.forward`; `caches`, una caché por bloque.
        """
        seen = {"mask": mask, "cross_mask": cross_mask, "causal": causal}
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            y = block(y, encoded, **seen, cache=cache)
        return self.norm(y)


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
