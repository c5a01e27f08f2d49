"""Los bloques de PaLM: la atención y la red prealimentada, a la vez o una tras otra."""

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.dot_product_attention import KeyValueCache
from course_lib.layers.feed_forward import SwiGLU
from course_lib.layers.multi_query_attention import MultiQueryAttention
from course_lib.layers.normalization import Norm, make_dropout, make_norm

Hidden = Float[Tensor, "batch t d_model"]


class ParallelBlock(nn.Module):
    """Suma a x lo que da la atención y lo que da la red: las dos leen lo mismo.

        y = x + atención(norm(x)) + red(norm(x))

    Argumentos:
        d_model: ancho de los vectores.
        num_heads: cabezas de la atención.
        d_ff: ancho de la capa oculta de `SwiGLU`.
        norm, eps: la normalización, sin sesgo; los de `Residual`.
        dropout, attention_dropout: el de lo que se suma a x, y el de los pesos de atención.
        attention: las demás opciones de `MultiQueryAttention`.

    Fuente: Chowdhery et al. (2022), §2; ecuación `eq-parallel-block` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import ParallelBlock
        >>> block, x = ParallelBlock(d_model=8, num_heads=2, d_ff=32), torch.rand(1, 5, 8)
        >>> u = block.norm(x)
        >>> torch.allclose(block(x), x + block.attention(u) + block.feed_forward(u), atol=1e-6)
        True
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm: Norm = "layer",
        eps: float | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        **attention,
    ) -> None:
        super().__init__()
        self.norm = make_norm(norm, d_model, bias=False, eps=eps)
        attention = attention | {"dropout": attention_dropout}
        self.attention = MultiQueryAttention(d_model, num_heads, **attention)
        self.feed_forward = SwiGLU(d_model, d_ff)
        self.dropout = make_dropout(dropout)

    def forward(self, x: Hidden, cache: KeyValueCache | None = None, **seen) -> Hidden:
        """Da más contexto a cada posición.

        Argumentos:
            x: las posiciones nuevas, `[batch, t, d_model]`.
            cache: claves y valores de las anteriores; se alarga.
            seen: las demás opciones de `MultiQueryAttention.forward`.
        """
        u = self.norm(x)
        return x + self.dropout(self.attention(u, cache, **seen) + self.feed_forward(u))


class SerialBlock(ParallelBlock):
    """El bloque de siempre, con las mismas piezas: la red lee lo que la atención ya sumó.

        z = x + atención(norm(x))
        y = z + red(norm'(z))

    Argumentos: los de `ParallelBlock`.

    Fuente: Chowdhery et al. (2022), §2; ecuación `eq-parallel-block` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import SerialBlock
        >>> block, x = SerialBlock(d_model=8, num_heads=2, d_ff=32), torch.rand(1, 5, 8)
        >>> z = x + block.attention(block.norm(x))
        >>> torch.allclose(block(x), z + block.feed_forward(block.inner_norm(z)), atol=1e-6)
        True
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm: Norm = "layer",
        eps: float | None = None,
        **options,
    ) -> None:
        super().__init__(d_model, num_heads, d_ff, norm=norm, eps=eps, **options)
        self.inner_norm = make_norm(norm, d_model, bias=False, eps=eps)

    def forward(self, x: Hidden, cache: KeyValueCache | None = None, **seen) -> Hidden:
        """Como `ParallelBlock.forward`, en dos tiempos."""
        x = x + self.dropout(self.attention(self.norm(x), cache, **seen))
        return x + self.dropout(self.feed_forward(self.inner_norm(x)))
