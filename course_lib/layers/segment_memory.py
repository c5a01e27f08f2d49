"""La memoria de los segmentos anteriores, y el bloque que la mira."""

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.layers.blocks import EncoderBlock

Hidden = Float[Tensor, "batch t d_model"]
Past = Float[Tensor, "batch m d_model"]


@dataclass(frozen=True, eq=False, repr=False)
class Memory:
    """Las últimas entradas de cada bloque, separadas del cálculo del gradiente.

    Argumentos:
        limit: cuántas posiciones se recuerdan a lo sumo.
        states: una `[batch, m, d_model]` por bloque; () si aún no hay nada.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Memory
        >>> Memory(limit=4).length  # aún no hay nada
        0
        >>> memory = Memory(limit=4, states=(torch.rand(2, 3, 8),))  # un bloque, dos filas
        >>> memory.length, memory.select(torch.tensor([1])).states[0].shape
        (3, torch.Size([1, 3, 8]))
    """

    limit: int
    states: tuple[Past, ...] = ()

    @property
    def length(self) -> int:
        """Cuántas posiciones recuerda."""
        return self.states[0].shape[1] if self.states else 0

    def select(self, rows: Int[Tensor, " rows"]) -> "Memory":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return replace(self, states=tuple(state[rows] for state in self.states))


def remember(past: Past, x: Hidden, limit: int) -> Float[Tensor, "batch kept d_model"]:
    """Pone al día la memoria de un bloque con lo que entra en él.

        m ← detach([m, x])    y, de ahí, las últimas `limit` posiciones

    Argumentos:
        past: lo que recordaba, m, `[batch, m, d_model]`.
        x: lo que entra, `[batch, t, d_model]`.
        limit: cuántas posiciones se recuerdan a lo sumo.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import remember
        >>> past, x = torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([[[4.0], [5.0]]])
        >>> remember(past, x, limit=4).flatten()  # se olvida lo más viejo
        tensor([2., 3., 4., 5.])
    """
    seen = torch.cat([past, x], dim=1)
    return seen[:, max(seen.shape[1] - limit, 0) :].detach()


class MemoryBlock(EncoderBlock):
    """Un bloque de codificador que mira al segmento y a la memoria de los anteriores.

        x ← residual(x, atención: consultas de x; claves y valores de [m, x])
        x ← residual(x, red prealimentada)

    Argumentos: los de `EncoderBlock`; su atención ha de ser causal, como la relativa.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import MemoryBlock, RelativeAttention
        >>> block = MemoryBlock(8, 2, 32, attention=RelativeAttention(d_model=8, num_heads=2))
        >>> past, x = torch.rand(1, 4, 8), torch.rand(1, 3, 8)
        >>> block(x, past).shape  # mira siete posiciones y da las tres del segmento
        torch.Size([1, 3, 8])
    """

    def forward(
        self, x: Hidden, past: Past, *, mask: Bool[Tensor, "t seen"] | None = None
    ) -> Hidden:
        """Da un bloque más de contexto a cada posición.

        Argumentos:
            x: el segmento, `[batch, t, d_model]`.
            past: la memoria m de este bloque, `[batch, m, d_model]`.
            mask: True = visible, `[t, m + t]`.
        """
        m = self.residual_attention.read(past)
        x = self.residual_attention(
            x, lambda x: self.attention(x, torch.cat([m, x], dim=1), mask=mask)
        )
        return self.residual_feed_forward(x, self.feed_forward)
