"""Conexión residual y normalización: qué se suma, qué se normaliza y en qué orden."""

from collections.abc import Callable
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_width

Hidden = Float[Tensor, "*batch t d_model"]
Placement = Literal["post", "pre", "sandwich"]
Norm = Literal["layer", "rms"]


class RMSNorm(nn.Module):
    """Divide cada vector por su media cuadrática y le da una escala aprendida por columna.

        y = x / √(media(x²) + ε) · g

    No resta la media ni suma un sesgo, como sí hace la normalización de capa.

    Argumentos:
        d_model: ancho de los vectores.
        eps: ε, que evita dividir entre cero.

    Errores:
        ValueError: si d_model o eps no son positivos.

    Fuente: Zhang y Sennrich (2019), §4; ecuación `eq-rms-norm` del capítulo `normalization`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import RMSNorm
        >>> x = torch.tensor([[1.0, 7.0]])  # media cuadrática: √((1 + 49) / 2) = 5
        >>> RMSNorm(2)(x).detach()
        tensor([[0.2000, 1.4000]])
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        require(d_model=d_model, eps=eps)
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        """Normaliza el último eje; la media cuadrática se calcula al menos en float32."""
        require_width("x", x, len(self.weight), "d_model")
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.eps)
        return (wide * scale).to(x.dtype) * self.weight


class Residual(nn.Module):
    """Rodea una subcapa f con su conexión residual, su normalización y su dropout.

        post:      y = norm(x + dropout(f(x)))             el Transformer original
        pre:       y = x + dropout(f(norm(x)))
        sandwich:  y = x + norm'(dropout(f(norm(x))))

    Es el único lugar del curso que decide dónde se normaliza.

    Argumentos:
        d_model: ancho de los vectores.
        placement: "post", "pre" o "sandwich".
        norm: "layer" (normalización de capa) o "rms" (`RMSNorm`).
        dropout: probabilidad de anular un número de la salida de la subcapa al entrenar.
        bias: con False, la normalización de capa no suma sesgo.
        eps: ε de la normalización; None, el de torch (1e-5) o el de `RMSNorm` (1e-6). BERT usa
            1e-12.

    Errores:
        ValueError: si una opción no existe, dropout no está en [0, 1) o eps no es positivo.

    Fuente: Vaswani et al. (2017), §3.1 y §5.4 (post); Xiong et al. (2020), fig. 1 (pre);
    Ding et al. (2021), §2.4 (sandwich); ecuación `eq-placements` del capítulo `normalization`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Residual
        >>> x = torch.tensor([[1.0, 3.0]])
        >>> Residual(2, placement="pre")(x, torch.zeros_like).detach()  # si f no da nada, pasa x
        tensor([[1., 3.]])
        >>> Residual(2, placement="post")(x, torch.zeros_like).detach().round(decimals=3)
        tensor([[-1.,  1.]])
    """

    def __init__(
        self,
        d_model: int,
        *,
        placement: Placement = "post",
        norm: Norm = "layer",
        dropout: float = 0.0,
        bias: bool = True,
        eps: float | None = None,
    ) -> None:
        super().__init__()
        require(placement=placement, dropout=dropout)
        self.placement = placement
        self.dropout = nn.Dropout(dropout)
        self.norm = make_norm(norm, d_model, bias=bias, eps=eps)
        if placement == "sandwich":
            self.outer_norm = make_norm(norm, d_model, bias=bias, eps=eps)

    def read(self, x: Hidden) -> Hidden:
        """Lo que lee la subcapa: x o, si la normalización va antes, x normalizada."""
        return x if self.placement == "post" else self.norm(x)

    def forward(self, x: Hidden, sublayer: Callable[[Tensor], Tensor]) -> Hidden:
        """Aplica la subcapa a x con lo que la rodea; la forma no cambia."""
        match self.placement:
            case "post":
                return self.norm(x + self.dropout(sublayer(x)))
            case "pre":
                return x + self.dropout(sublayer(self.norm(x)))
            case "sandwich":
                return x + self.outer_norm(self.dropout(sublayer(self.norm(x))))


def make_norm(
    norm: Norm, d_model: int, *, bias: bool = True, eps: float | None = None
) -> nn.Module:
    """Crea la normalización que lleva ese nombre: "layer" o "rms" (que nunca tiene sesgo).

    Argumentos:
        norm, d_model, bias, eps: los de `Residual`.
    """
    require(norm=norm, d_model=d_model, eps=eps)
    if norm == "rms":
        return RMSNorm(d_model, 1e-6 if eps is None else eps)
    return nn.LayerNorm(d_model, 1e-5 if eps is None else eps, bias=bias)


def make_final_norm(
    d_model: int,
    final_norm: bool | None,
    *,
    placement="post",
    norm="layer",
    bias=True,
    eps=None,
    **_,
) -> nn.Module:
    """Crea la normalización del final de una pila; con None, solo si la colocación la pide."""
    if final_norm is None:
        final_norm = placement != "post"
    return make_norm(norm, d_model, bias=bias, eps=eps) if final_norm else nn.Identity()
