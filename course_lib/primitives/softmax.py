"""El arg max suave y el arg max duro: de puntuaciones a pesos."""

import math

import torch
from jaxtyping import Float
from torch import Tensor


def soft_argmax(
    scores: Float[Tensor, "..."], beta: float | int | Float[Tensor, ""] = 1.0, dim: int = -1
) -> Float[Tensor, "..."]:
    """Convierte puntuaciones en pesos positivos que suman 1: el arg max suave (softmax).

        a_i = exp(β s_i) / Σ_j exp(β s_j)

    Con β → ∞ tiende al arg max duro (si el máximo es único) y con β → 0, a pesos iguales.

    Argumentos:
        scores: puntuaciones s, de cualquier forma.
        beta: temperatura inversa β, un número finito; sin unidades.
        dim: eje sobre el que los pesos suman 1.

    Devuelve:
        Los pesos a, con la forma de `scores`.

    Errores:
        ValueError: si β no es finita o las puntuaciones no son de punto flotante.

    Fuente: ecuación `eq-soft-argmax` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import soft_argmax
        >>> scores = torch.tensor([2.0, 1.0, 0.0])
        >>> soft_argmax(scores)
        tensor([0.6652, 0.2447, 0.0900])
        >>> soft_argmax(scores, beta=3)  # más cerca del arg max duro
        tensor([0.9503, 0.0473, 0.0024])
        >>> soft_argmax(scores, beta=0)
        tensor([0.3333, 0.3333, 0.3333])
    """
    require_floating("scores", scores)
    require_finite_beta(beta)
    return torch.softmax(beta * scores, dim=dim)


def hard_argmax(scores: Float[Tensor, "..."], dim: int = -1) -> Float[Tensor, "..."]:
    """Pone un 1 en la puntuación mayor y 0 en las demás; en un empate gana la primera.

        a_i = 1 si i = min { j : s_j = max s },  y 0 si no

    Argumentos:
        scores: puntuaciones s, de cualquier forma.
        dim: eje sobre el que se busca el máximo.

    Devuelve:
        Los pesos a (one-hot), con la forma y el tipo de `scores`. No transmiten gradiente.

    Errores:
        ValueError: si las puntuaciones no son de punto flotante.

    Fuente: ecuación `eq-hard-argmax` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import hard_argmax
        >>> hard_argmax(torch.tensor([1.0, 3.0, 3.0]))
        tensor([0., 1., 0.])
    """
    require_floating("scores", scores)
    first = scores.argmax(dim=dim, keepdim=True)
    return torch.zeros_like(scores).scatter_(dim, first, 1.0)


def require_floating(name: str, x: Tensor) -> None:
    """Rechaza los tensores de enteros o booleanos, con los que la atención no tiene sentido."""
    if not x.is_floating_point():
        raise ValueError(
            f"{name}: se esperaba un tensor de punto flotante y llegó uno de tipo {x.dtype}. "
            f"Conviértelo con {name}.float()."
        )


def require_finite_beta(beta: float | int | Tensor) -> None:
    """Rechaza β = ±∞ y NaN; una β aprendida (tensor) no se mira, para no esperar a la GPU."""
    if not isinstance(beta, Tensor) and not math.isfinite(beta):
        raise ValueError(
            f"Se esperaba una temperatura inversa β finita y llegó {beta}. "
            "Para el límite β → ∞ usa `hard_argmax` (o `hard=True` en `attention`)."
        )
