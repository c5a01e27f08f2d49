"""El desplazamiento relativo: de «consulta y distancia» a «consulta y clave», sin copiar nada."""

from jaxtyping import Float
from torch import Tensor


def relative_shift(
    scores: Float[Tensor, "*batch t_q n_distances"],
) -> Float[Tensor, "*batch t_q t_k"]:
    """Pasa de la puntuación de cada distancia a la de cada clave.

        S_ij = scores[i, columna de la distancia (i + m) − j],    m = t_k − t_q

    Las columnas van de la distancia t_k a la 0: son n_distances = t_k + 1. La consulta i está en
    la posición m + i, así que su fila de claves empieza un lugar antes que la de la consulta
    anterior. Basta con leer seguidos los mismos números en filas de t_k, una columna más cortas,
    desde el lugar t_q: es una vista, no una copia.

        scores          [a₃ a₂ a₁ a₀ | b₃ b₂ b₁ b₀]      t_q = 2, t_k = 3
        desde el 2.º    [a₁ a₀ b₃ | b₂ b₁ b₀]

    Lo que queda por encima de la diagonal (b₃, en el ejemplo) es basura: son números de la fila
    siguiente. Esas claves son el futuro de la consulta, y la máscara causal debe ocultarlas.

    Argumentos:
        scores: una columna por distancia, `[..., t_q, t_k + 1]`. La distancia t_k no es la de
            ningún par visible: su columna solo ocupa el lugar.

    Devuelve:
        Las puntuaciones S, `[..., t_q, t_k]`; comparten memoria con `scores`.

    Errores:
        ValueError: si hay menos claves que consultas.

    Fuente: Dai et al. (2019), apéndice B; capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import relative_shift
        >>> scores = torch.tensor([[13.0, 12.0, 11.0, 10.0], [23.0, 22.0, 21.0, 20.0]])
        >>> relative_shift(scores)  # arriba a la derecha, basura
        tensor([[11., 10., 23.],
                [22., 21., 20.]])
    """
    t_q, t_k = scores.shape[-2], scores.shape[-1] - 1
    if not 0 <= t_q <= t_k:
        raise ValueError(
            "scores: se esperaba la forma [..., t_q, t_k + 1], con t_q ≤ t_k, y llegó "
            f"{tuple(scores.shape)}. Cada consulta es también una clave; las columnas son las "
            "distancias t_k, …, 1, 0."
        )
    return scores.flatten(-2)[..., t_q:].unflatten(-1, (t_q, t_k))
