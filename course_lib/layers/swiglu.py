"""La red con compuerta: ensanchar dos veces, y que una mitad abra o cierre la otra."""

import math

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_width


class Dense(nn.Linear):
    """Multiplica por una matriz aprendida, sin sesgo.

        y = x W,    W ~ N(0, 1/√n) al comenzar, con n = d_in

    Argumentos:
        d_in: ancho de la entrada.
        d_out: ancho de la salida.

    Fuente: Chowdhery et al. (2022), §2 y §5; capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Dense
        >>> layer = Dense(d_in=4, d_out=2)
        >>> layer(torch.zeros(1, 4)).tolist()  # sin sesgo, de ceros salen ceros
        [[0.0, 0.0]]
    """

    def __init__(self, d_in: int, d_out: int) -> None:
        super().__init__(d_in, d_out, bias=False)

    def reset_parameters(self) -> None:
        """Sortea W de una normal de desviación 1/√d_in: la salida conserva la escala."""
        nn.init.normal_(self.weight, std=1 / math.sqrt(self.in_features))


class SwiGLU(nn.Module):
    """Ensancha cada vector dos veces, deja que una mitad abra o cierre la otra, y lo estrecha.

        y = (swish(x W_gate) ⊙ (x W_up)) W_down        swish(z) = z · sigmoid(z)

    Tres matrices en vez de dos, y ningún sesgo. W_gate y W_up van apiladas, en ese orden, en
    `W_gate_up`: son un solo producto.

    Argumentos:
        d_model: ancho de la entrada y de la salida.
        d_ff: ancho de la compuerta y de lo que deja pasar.

    Errores:
        ValueError: si un ancho no es positivo.

    Fuente: Shazeer (2020), §2; Chowdhery et al. (2022), §2; ecuación `eq-swiglu` del
    capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import SwiGLU
        >>> network = SwiGLU(d_model=8, d_ff=32)
        >>> network(torch.rand(5, 8)).shape
        torch.Size([5, 8])
        >>> sum(p.numel() for p in network.parameters())  # tres matrices: 3 · 8 · 32
        768
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        require(d_model=d_model, d_ff=d_ff)
        self.W_gate_up = Dense(d_model, 2 * d_ff)
        self.W_down = Dense(d_ff, d_model)

    def forward(self, x: Float[Tensor, "*batch t d_model"]) -> Float[Tensor, "*batch t d_model"]:
        """Transforma cada posición de x, `[..., t, d_model]`; la forma no cambia."""
        require_width("x", x, self.W_gate_up.in_features, "d_model")
        gate, up = self.W_gate_up(x).chunk(2, dim=-1)
        return self.W_down(F.silu(gate) * up)
