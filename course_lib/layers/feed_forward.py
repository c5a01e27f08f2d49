"""La red prealimentada por posición: dos capas densas que tratan cada posición por su cuenta."""

import math
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.arguments import require_option, require_sizes, require_width
from course_lib.layers.normalization import make_dropout

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu}


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
        require_sizes(d_model=d_model, d_ff=d_ff)
        require_option("activation", activation, tuple(ACTIVATIONS))
        self.activation = activation
        self.W_1 = nn.Linear(d_model, d_ff, bias=bias)
        self.W_2 = nn.Linear(d_ff, d_model, bias=bias)
        self.dropout = make_dropout(dropout)
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
        require_sizes(d_model=d_model, d_ff=d_ff)
        self.W_gate_up = Dense(d_model, 2 * d_ff)
        self.W_down = Dense(d_ff, d_model)

    def forward(self, x: Float[Tensor, "*batch t d_model"]) -> Float[Tensor, "*batch t d_model"]:
        """Transforma cada posición de x, `[..., t, d_model]`; la forma no cambia."""
        require_width("x", x, self.W_gate_up.in_features, "d_model")
        gate, up = self.W_gate_up(x).chunk(2, dim=-1)
        return self.W_down(F.silu(gate) * up)
