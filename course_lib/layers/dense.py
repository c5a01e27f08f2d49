"""La capa densa sin sesgo de PaLM."""

import math

from torch import nn


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
