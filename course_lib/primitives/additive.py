"""Otras formas de puntuar: la aditiva de Bahdanau y las multiplicativas de Luong."""

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.primitives.attention import attention_scores, require_floating


def additive_scores(
    Q: Float[Tensor, "*#batch t_q d_q"],
    K: Float[Tensor, "*#batch t_k d_k"],
    W_q: Float[Tensor, "in_q d_a"],
    W_k: Float[Tensor, "in_k d_b"],
    v: Float[Tensor, " d_c"],
) -> Float[Tensor, "*batch t_q t_k"]:
    """Puntúa cada clave para cada consulta con una red pequeña de una capa oculta.

        s_ij = vᵀ tanh(W_qᵀ q_i + W_kᵀ k_j)

    La consulta y la clave no necesitan el mismo ancho: cada una tiene su matriz, y ambas
    llegan a un ancho común d_a. En los artículos los vectores son columnas (W q); aquí son
    filas (q W), como en todo el libro.

    Argumentos:
        Q: consultas, `[..., t_q, d_q]`.
        K: claves, `[..., t_k, d_k]`.
        W_q: parámetros de la consulta, `[d_q, d_a]`.
        W_k: parámetros de la clave, `[d_k, d_a]`.
        v: parámetros que reducen el ancho d_a a un número, `[d_a]`.

    Devuelve:
        Las puntuaciones s, `[..., t_q, t_k]`.

    Errores:
        ValueError: si los anchos no concuerdan.

    Fuente: Bahdanau et al. (2015), apéndice A.1.2; ecuación `eq-additive` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import additive_scores
        >>> Q, K = torch.rand(1, 3), torch.rand(5, 4)  # una consulta y cinco claves, más anchas
        >>> W_q, W_k, v = torch.rand(3, 8), torch.rand(4, 8), torch.rand(8)
        >>> additive_scores(Q, K, W_q, W_k, v).shape
        torch.Size([1, 5])
    """
    _require_width("Q", Q, "W_q", W_q)
    _require_width("K", K, "W_k", W_k)
    if not W_q.shape[1] == W_k.shape[1] == v.shape[0]:
        raise ValueError(
            "W_q, W_k y v deben terminar en el mismo ancho d_a: W_q tiene forma "
            f"{tuple(W_q.shape)}, W_k {tuple(W_k.shape)} y v {tuple(v.shape)}."
        )
    return combine_projected(Q @ W_q, K @ W_k, v)


def combine_projected(
    P_q: Float[Tensor, "*#batch t_q d_a"],
    P_k: Float[Tensor, "*#batch t_k d_a"],
    v: Float[Tensor, " d_a"],
) -> Float[Tensor, "*batch t_q t_k"]:
    """Termina `additive_scores` con consultas y claves ya proyectadas.

        s_ij = vᵀ tanh(p_i + p_j)

    Las claves de un decodificador no cambian de un paso a otro: se proyectan una sola vez. La
    memoria crece con t_q · t_k · d_a, y ese es el precio frente al producto escalar.

    Argumentos:
        P_q: consultas por W_q, `[..., t_q, d_a]`.
        P_k: claves por W_k, `[..., t_k, d_a]`.
        v: `[d_a]`.

    Devuelve:
        Las puntuaciones s, `[..., t_q, t_k]`.

    Fuente: Bahdanau et al. (2015), apéndice A.1.2; ecuación `eq-additive` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import combine_projected
        >>> P_q, P_k = torch.tensor([[1.0]]), torch.tensor([[-2.0], [-1.0], [0.0]])
        >>> combine_projected(P_q, P_k, torch.tensor([10.0]))  # 10 · tanh(−1), tanh(0) y tanh(1)
        tensor([[-7.6159,  0.0000,  7.6159]])
    """
    return torch.tanh(P_q.unsqueeze(-2) + P_k.unsqueeze(-3)) @ v


def luong_scores(
    Q: Float[Tensor, "*#batch t_q d_q"],
    K: Float[Tensor, "*#batch t_k d_k"],
    W: Float[Tensor, "in_q out_k"] | None = None,
) -> Float[Tensor, "*batch t_q t_k"]:
    """Puntúa cada clave para cada consulta con un producto: simple, o con una matriz en medio.

        s_ij = q_iᵀ k_j          («dot», sin W)
        s_ij = q_iᵀ W k_j        («general»)

    Argumentos:
        Q: consultas, `[..., t_q, d_q]`.
        K: claves, `[..., t_k, d_k]`; sin W, d_k = d_q.
        W: parámetros, `[d_q, d_k]`; si falta, la forma simple.

    Devuelve:
        Las puntuaciones s, `[..., t_q, t_k]`, sin escalar.

    Errores:
        ValueError: si los anchos no concuerdan.

    Fuente: Luong et al. (2015), §3.1; ecuación `eq-luong` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import luong_scores
        >>> Q, K = torch.tensor([[1.0, 0.0]]), torch.tensor([[3.0, 0.0], [0.0, 5.0]])
        >>> luong_scores(Q, K)
        tensor([[3., 0.]])
        >>> luong_scores(Q, K, W=torch.tensor([[0.0, 1.0], [1.0, 0.0]]))  # W cambia los ejes
        tensor([[0., 5.]])
    """
    if W is None:
        return attention_scores(Q, K)
    _require_width("Q", Q, "W", W)
    return attention_scores(Q @ W, K)


def _require_width(name: str, X: Tensor, parameter: str, W: Tensor) -> None:
    require_floating(name, X)
    if X.shape[-1] != W.shape[0]:
        raise ValueError(
            f"{parameter} debe tener tantas filas como ancho tiene {name}: {name} tiene forma "
            f"{tuple(X.shape)} y {parameter} {tuple(W.shape)}. Si guardas {parameter} por filas de "
            f"salida, como nn.Linear, transponla: {parameter}.T."
        )
