"""De un vector por posición a un vector por secuencia, sin contar el relleno."""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

States = Float[Tensor, "*batch t d_model"]
Visible = Bool[Tensor, "*batch t"]
Pooled = Float[Tensor, "*batch d_model"]


def max_pool(H: States, visible: Visible) -> Pooled:
    """Toma, en cada coordenada, el mayor valor de las posiciones visibles.

        r_j = máx_{t visible} H_tj

    Argumentos:
        H: un vector por posición, `[..., t, d_model]`.
        visible: True en las posiciones reales y False en el relleno, `[..., t]`.

    Devuelve:
        Un vector por secuencia, `[..., d_model]`; ceros si no hay ninguna posición visible.

    Errores:
        ValueError: si la máscara no es booleana o su forma no es la de H sin el último eje.

    Fuente: ecuación `eq-max-pool` del capítulo `text_classifier`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import max_pool
        >>> H = torch.tensor([[1.0, 6.0], [3.0, 2.0], [9.0, 9.0]])
        >>> max_pool(H, torch.tensor([True, True, False]))  # la tercera fila es relleno
        tensor([3., 6.])
    """
    _require_visible(H, visible)
    shown = visible.unsqueeze(-1)
    if not H.shape[-2]:
        return H.new_zeros(H.shape[:-2] + H.shape[-1:])
    largest = H.masked_fill(~shown, -math.inf).amax(dim=-2)
    return torch.where(shown.any(dim=-2), largest, 0.0)


def mean_pool(H: States, visible: Visible) -> Pooled:
    """Promedia los vectores de las posiciones visibles.

        r_j = (1 / n) Σ_{t visible} H_tj,   n = número de posiciones visibles

    Argumentos:
        H: un vector por posición, `[..., t, d_model]`.
        visible: True en las posiciones reales y False en el relleno, `[..., t]`.

    Devuelve:
        Un vector por secuencia, `[..., d_model]`; ceros si no hay ninguna posición visible.

    Errores:
        ValueError: los de `max_pool`.

    Fuente: ecuación `eq-mean-pool` del capítulo `text_classifier`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import mean_pool
        >>> H = torch.tensor([[1.0, 6.0], [3.0, 2.0], [9.0, 9.0]])
        >>> mean_pool(H, torch.tensor([True, True, False]))  # la tercera fila es relleno
        tensor([2., 4.])
    """
    _require_visible(H, visible)
    total = H.masked_fill(~visible.unsqueeze(-1), 0.0).sum(dim=-2)
    return total / visible.sum(dim=-1, keepdim=True).clamp(min=1)


def _require_visible(H: Tensor, visible: Tensor) -> None:
    if visible.dtype != torch.bool:
        raise ValueError(
            f"visible: se esperaba una máscara booleana y llegó el tipo {visible.dtype}. "
            "Compara los identificadores con el relleno: token_ids != pad_id."
        )
    if visible.shape != H.shape[:-1]:
        raise ValueError(
            f"visible: se esperaba la forma {list(H.shape[:-1])}, la de H sin su último eje, y "
            f"llegó {list(visible.shape)}. Cada posición necesita su True o su False."
        )
