"""Máscaras booleanas: True = visible, para cualquier forma que se difunda a `[..., t_q, t_k]`."""

import torch
from jaxtyping import Bool, Int
from torch import Tensor


def causal_mask(
    t_q: int, t_k: int | None = None, *, device: torch.device | str | None = None
) -> Bool[Tensor, "t_q t_k"]:
    """Deja ver a cada consulta su propia posición y las anteriores.

        M_ij = (j ≤ i + t_k − t_q)

    Si hay más claves que consultas, las claves de sobra son pasado (una memoria o una caché):
    la última consulta las ve todas.

    Argumentos:
        t_q: número de consultas.
        t_k: número de claves; si falta, t_q.
        device: dónde se crea la máscara.

    Devuelve:
        La máscara M, True donde la consulta i puede ver la clave j.

    Errores:
        ValueError: si una longitud es negativa o hay menos claves que consultas.

    Fuente: Vaswani et al. (2017), §3.2.3; ecuación `eq-causal-mask` del capítulo `self_attention`.

    Ejemplo:
        >>> from course_lib.primitives import causal_mask
        >>> causal_mask(3).int()
        tensor([[1, 0, 0],
                [1, 1, 0],
                [1, 1, 1]], dtype=torch.int32)
        >>> causal_mask(1, 3)  # la última de tres posiciones ve las tres
        tensor([[True, True, True]])
    """
    t_k = t_q if t_k is None else t_k
    if t_q < 0 or t_k < t_q:
        raise ValueError(
            f"Se esperaba 0 ≤ t_q ≤ t_k y llegó t_q = {t_q}, t_k = {t_k}. "
            "Cada consulta es también una clave; las claves de sobra son el pasado."
        )
    return torch.ones(t_q, t_k, dtype=torch.bool, device=device).tril(diagonal=t_k - t_q)


def padding_mask(token_ids: Int[Tensor, "*batch t_k"], pad_id: int) -> Bool[Tensor, "*batch 1 t_k"]:
    """Oculta las posiciones de relleno a todas las consultas.

        M_j = (x_j ≠ pad_id)

    Argumentos:
        token_ids: identificadores de los tokens, x.
        pad_id: identificador del relleno.

    Devuelve:
        La máscara, con un eje de tamaño 1 para las consultas: `[..., 1, t_k]`. Con varias
        cabezas, `[batch, heads, t_q, t_k]`, añade su eje con `.unsqueeze(-3)`;
        `MultiHeadAttention` lo hace sola.

    Errores:
        ValueError: si los identificadores no son enteros.

    Fuente: la convención de `torch.nn.functional.scaled_dot_product_attention` (True = visible).

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import padding_mask
        >>> padding_mask(torch.tensor([[7, 4, 9], [5, 0, 0]]), pad_id=0)
        tensor([[[ True,  True,  True]],
        <BLANKLINE>
                [[ True, False, False]]])
    """
    if token_ids.is_floating_point() or token_ids.dtype == torch.bool:
        raise ValueError(
            f"token_ids: se esperaban identificadores enteros y llegó el tipo {token_ids.dtype}. "
            "Pasa la salida del tokenizador, no incrustaciones ni máscaras."
        )
    return (token_ids != pad_id).unsqueeze(-2)
