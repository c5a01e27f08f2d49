"""Claves y valores que se proyectan una vez y se miran muchas."""

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.layers.multi_head_attention import MultiHeadAttention

Heads = Float[Tensor, "batch heads t d_k"]


def keys_values(
    attention: MultiHeadAttention, X_k: Float[Tensor, "batch t_k d_key"]
) -> tuple[Heads, Heads]:
    """Proyecta solo las claves y los valores de X_k, en cabezas; si se puede, en un producto."""
    if attention.stacked:
        W, b = attention.W_qkv.weight, attention.W_qkv.bias
        d = attention.d_model
        K, V = F.linear(X_k, W[d:], None if b is None else b[d:]).chunk(2, dim=-1)
    else:
        K, V = attention.W_k(X_k), attention.W_v(X_k)
    return attention.split_heads(K), attention.split_heads(V)


def attend_to(
    attention: MultiHeadAttention,
    X_q: Float[Tensor, "batch t_q d_query"],
    K: Heads,
    V: Heads,
    mask: Bool[Tensor, "batch _ t_k"] | None = None,
) -> Float[Tensor, "batch t_q d_model"]:
    """Atiende desde X_q hacia claves y valores ya proyectados."""
    W, b = attention.matrices()[0]
    Q = attention.split_heads(F.linear(X_q, W, b))
    H = attention.attend(Q, K, V, None if mask is None else mask.unsqueeze(1))
    return attention.W_h(attention.merge_heads(H))
