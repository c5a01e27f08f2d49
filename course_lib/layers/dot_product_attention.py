"""La mezcla de valores de la atención, con sus pesos al alcance de quien quiera mirarlos."""

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.arguments import require_dropout
from course_lib.primitives.attention import attention, attention_weights

Queries = Float[Tensor, "*batch t_q d_k"]
Keys = Float[Tensor, "*#batch t_k d_k"]
Values = Float[Tensor, "*#batch t_k d_v"]


class DotProductAttention(nn.Module):
    """Mezcla los valores de cada cabeza: la atención, sin ningún parámetro.

        H = dropout(A) V,    A = softmax(Q Kᵀ / √d_k)

    Es `primitives.attention.attention` en forma de módulo: así sabe si se está entrenando, y
    `recording.attention_maps` puede apuntar A sin que se forme cuando nadie la pide.

    Argumentos:
        dropout: probabilidad de anular un peso durante el entrenamiento.

    Fuente: Vaswani et al. (2017), §3.2.1 y fig. 2; ecuación `eq-attention` del capítulo
    `attention`.
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        require_dropout(dropout)
        self.dropout = dropout

    def forward(self, Q: Queries, K: Keys, V: Values, **seen) -> Float[Tensor, "*batch t_q d_v"]:
        """Da la mezcla H; `seen` son las opciones de `attention`: `mask`, `causal` y `bias`."""
        return attention(Q, K, V, dropout=self.dropout if self.training else 0.0, **seen)

    def weights(self, Q: Queries, K: Keys, V: Values, **seen) -> Float[Tensor, "*batch t_q t_k"]:
        """Da los pesos A con que `forward` mezcla, antes del dropout."""
        return attention_weights(Q, K, **seen)
