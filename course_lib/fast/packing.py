"""Lotes sin relleno: solo los tokens reales, uno tras otro."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.layers.multi_head_attention import MultiHeadAttention


@dataclass(frozen=True)
class Packing:
    """Dónde están los n tokens reales de un lote de `[batch, t]`.

    Lo que trata cada posición por su cuenta (la red prealimentada, las normalizaciones, las
    proyecciones) se calcula en una matriz de n filas: el relleno no cuesta nada. Solo la atención
    necesita las secuencias separadas. Van de corta a larga: las de igual longitud, juntas.

    Argumentos:
        shape: la forma del lote, (batch, t).
        positions: dónde está cada token real en el lote puesto en una sola fila, `[n]`.
        groups: cuántas secuencias hay de cada longitud: pares (secuencias, longitud).

    Fuente: capítulo `bert`.
    """

    shape: tuple[int, int]
    positions: Int[Tensor, " n"]
    groups: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, visible: Bool[Tensor, "batch t"]) -> "Packing":
        """Busca los tokens reales: los que valen True en `visible`."""
        lengths, order = visible.sum(-1).sort()
        grid = torch.arange(visible.numel(), device=visible.device).view(visible.shape)
        found, rows = lengths.unique_consecutive(return_counts=True)
        groups = zip(rows.tolist(), found.tolist(), strict=True)
        return cls(
            tuple(visible.shape),
            grid[order][visible[order]],
            tuple((rows, length) for rows, length in groups if length),
        )

    def pack(self, X: Float[Tensor, "batch t d"]) -> Float[Tensor, "n d"]:
        """Quita el relleno: una fila por token real, `[n, d]`."""
        return X.flatten(0, 1).index_select(0, self.positions)

    def unpack(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "batch t d"]:
        """Devuelve cada fila a su lugar, `[batch, t, d]`; en el relleno, ceros."""
        batch, t = self.shape
        flat = x.new_zeros(batch * t, x.shape[-1])
        return flat.index_copy(0, self.positions, x).view(batch, t, -1)

    def attend(
        self, attention: MultiHeadAttention, x: Float[Tensor, "n d"]
    ) -> Float[Tensor, "n d_model"]:
        """Autoatención de cada secuencia, con las proyecciones de todas en un solo producto.

        Da lo mismo, en los tokens reales, que la atención del lote entero con su máscara: aquí
        no hay relleno que ocultar.

        Argumentos:
            attention: la capa de atención.
            x: los tokens reales, `[n, d]`.
        """
        if len(self.groups) == 1:
            H = attention(x.unflatten(0, self.groups[0]))
            return H.flatten(0, 1)
        sizes = [rows * length for rows, length in self.groups]
        projected = attention.project(x, x, x)
        mixed = [projected[2][:0]]
        for group, *part in zip(self.groups, *(P.split(sizes) for P in projected), strict=True):
            Q, K, V = (attention.split_heads(P.unflatten(0, group)) for P in part)
            H = attention.attend(Q, K, V)
            mixed.append(attention.merge_heads(H).flatten(0, 1))
        return attention.W_h(torch.cat(mixed))
