"""Lo que toda atención tiene: la mezcla de valores, y la caché de lo que ya se proyectó."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require
from course_lib.primitives.attention import Keys, Queries, Values, attention, attention_weights

Heads = Float[Tensor, "batch heads t d_k"]


class DotProductAttention(nn.Module):
    """Mezcla los valores de cada cabeza: la atención, sin ningún parámetro.

        H = dropout(A) V,    A = softmax(Q Kᵀ / √d_k)

    Es `primitives.attention.attention` en forma de módulo: así sabe si se está entrenando, y
    `recording.attention_maps` puede apuntar A sin que se forme cuando nadie la pide.

    Argumentos:
        dropout: probabilidad de anular un peso durante el entrenamiento.

    Fuente: Vaswani et al. (2017), §3.2.1 y fig. 2; ecuación `eq-attention` del capítulo
    `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import DotProductAttention
        >>> mix = DotProductAttention()
        >>> Q = K = torch.zeros(2, 1)  # todas se parecen igual
        >>> V = torch.tensor([[10.0], [20.0]])
        >>> mix(Q, K, V)
        tensor([[15.],
                [15.]])
        >>> mix(Q, K, V, causal=True)  # la primera se ve solo a sí misma
        tensor([[10.],
                [15.]])
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        require(dropout=dropout)
        self.dropout = dropout

    def forward(self, Q: Queries, K: Keys, V: Values, **seen) -> Float[Tensor, "*batch t_q d_v"]:
        """Da la mezcla H; `seen` son las opciones de `attention`: `mask`, `causal` y `bias`."""
        return attention(Q, K, V, dropout=self.dropout if self.training else 0.0, **seen)

    def weights(self, Q: Queries, K: Keys, V: Values, **seen) -> Float[Tensor, "*batch t_q t_k"]:
        """Da los pesos A con que `forward` mezcla, antes del dropout."""
        return attention_weights(Q, K, **seen)


class KeyValueCache:
    """Las claves y los valores de las posiciones ya vistas, en una capa.

    La capa agrega los de las posiciones nuevas y atiende a todos. El modelo trabaja sobre una
    copia, que comparte los tensores y se alarga por su cuenta: la de quien llama no cambia, y de un
    mismo estado pueden salir varias continuaciones.

    Argumentos:
        K, V: las claves y los valores, `[batch, heads, t, d_k]`; None, si aún no hay nada.

    Fuente: capítulo `decoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import KeyValueCache, MultiHeadAttention
        >>> attention, X = MultiHeadAttention(d_model=8, num_heads=2), torch.rand(1, 4, 8)
        >>> cache = KeyValueCache()
        >>> written = [attention(X[:, i : i + 1], cache=cache) for i in range(4)]  # de uno en uno
        >>> cache.length
        4
        >>> torch.allclose(torch.cat(written, dim=1), attention(X, causal=True), atol=1e-6)
        True
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
