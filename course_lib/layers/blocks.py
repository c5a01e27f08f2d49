"""Los bloques del codificador y del decodificador, y la red prealimentada que hay en los dos."""

from typing import Literal

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_width
from course_lib.layers.multi_head_attention import KeyValueCache, MultiHeadAttention
from course_lib.layers.normalization import Residual

Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Mask = Bool[Tensor, "..."] | None
ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


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


class FeedForward(nn.Module):
    """Ensancha cada vector, lo pasa por una activación y lo devuelve a su ancho.

        y = activación(x W_1 + b_1) W_2 + b_2

    Cada posición pasa por la misma red y no ve a las demás: es una convolución de núcleo 1.

    Argumentos:
        d_model: ancho de la entrada y de la salida.
        d_ff: ancho de la capa oculta.
        activation: "relu" (la del artículo) o "gelu" (la exacta, con erf).
        bias: con False, sin b_1 ni b_2.
        dropout: probabilidad de anular un número de la capa oculta al entrenar (el artículo no
            lo hace; torch sí).

    Errores:
        ValueError: si un ancho no es positivo, la activación no existe o dropout no está
            en [0, 1).

    Fuente: Vaswani et al. (2017), §3.3; Hendrycks y Gimpel (2016) para «gelu»; ecuación
    `eq-feed-forward` del capítulo `encoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import FeedForward
        >>> network, x = FeedForward(d_model=8, d_ff=32), torch.rand(5, 8)
        >>> network(x).shape
        torch.Size([5, 8])
        >>> alone = network(x[2:3])  # cada posición, por su cuenta
        >>> torch.allclose(alone, network(x)[2:3], atol=1e-6)
        True
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        *,
        activation: Literal["relu", "gelu"] = "relu",
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require(d_model=d_model, d_ff=d_ff, activation=activation, dropout=dropout)
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Inicializa las dos matrices con Xavier uniforme, y los sesgos con ceros."""
        for linear in (self.W_1, self.W_2):
            nn.init.xavier_uniform_(linear.weight)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(self, x: Float[Tensor, "*batch t d_model"]) -> Float[Tensor, "*batch t d_model"]:
        """Transforma cada posición de x, `[..., t, d_model]`; la forma no cambia."""
        require_width("x", x, self.W_1.in_features, "d_model")
        hidden = ACTIVATIONS[self.activation](self.W_1(x))
        return self.W_2(self.dropout(hidden))
