"""La capa densa sin sesgo de PaLM, que sabe multiplicar deprisa unas pocas filas."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

# Con estas filas y una matriz que no cabe en la caché de la CPU, W xᵀ se mide más rápido que x Wᵀ.
FEW_ROWS = range(8, 49)
LARGE = 2**19


class Dense(nn.Linear):
    """Multiplica por una matriz aprendida, sin sesgo.

        y = x W,    W ~ N(0, 1/√n) al comenzar, con n = d_in

    Argumentos:
        d_in: ancho de la entrada.
        d_out: ancho de la salida.

    Fuente: Chowdhery et al. (2022), §2 y §5; capítulo `palm`.
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__(d_in, d_out, bias=False)

    def reset_parameters(self) -> None:
        """Sortea W de una normal de desviación 1/√d_in: la salida conserva la escala."""
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.in_features))

    def forward(self, x: Float[Tensor, "*batch d_in"]) -> Float[Tensor, "*batch d_out"]:
        """Da y, con la forma de x salvo en el último eje."""
        return dense(x, self.weight)


def dense(
    x: Float[Tensor, "*batch d_in"], W: Float[Tensor, "d_out d_in"]
) -> Float[Tensor, "*batch d_out"]:
    """Multiplica cada fila de x por W, guardada como la guarda torch: `[d_out, d_in]`.

    Al generar, x tiene una fila por secuencia y leer W es casi todo el costo. En la CPU, con
    pocas filas, el mismo producto escrito (W xᵀ)ᵀ lee W una sola vez y con menos espera.
    """
    rows = x.numel() // max(x.shape[-1], 1)
    if rows not in FEW_ROWS or W.numel() <= LARGE or torch.is_grad_enabled() or not x.is_cpu:
        return F.linear(x, W)
    return (W @ x.reshape(rows, -1).T).T.view(*x.shape[:-1], -1)
