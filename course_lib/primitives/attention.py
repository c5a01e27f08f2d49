"""La atención: puntuar, normalizar y mezclar."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.primitives.masks import causal_mask
from course_lib.primitives.softmax import (
    hard_argmax,
    require_finite_beta,
    require_floating,
    soft_argmax,
)

Queries = Float[Tensor, "*#batch t_q d_k"]
Keys = Float[Tensor, "*#batch t_k d_k"]
Values = Float[Tensor, "*#batch t_k d_v"]
Mask = Bool[Tensor, "..."]
Bias = Float[Tensor, "..."]
Beta = float | int | Float[Tensor, ""] | None


def attention_scores(Q: Queries, K: Keys) -> Float[Tensor, "*batch t_q t_k"]:
    """Puntúa cada clave para cada consulta con un producto escalar.

        S = Q Kᵀ

    Argumentos:
        Q: consultas, `[..., t_q, d_k]`.
        K: claves, `[..., t_k, d_k]`.

    Devuelve:
        Las puntuaciones S, `[..., t_q, t_k]`, sin escalar.

    Errores:
        ValueError: si los tipos o los tamaños no concuerdan.

    Fuente: Luong et al. (2015), §3.1 («dot»); ecuación `eq-attention` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import attention_scores
        >>> Q, K = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
        >>> attention_scores(Q, K)
        tensor([[1., 2., 3.]])
    """
    _require_inputs(Q, K)
    return Q @ K.transpose(-2, -1)


def attention_weights(
    Q: Queries,
    K: Keys,
    *,
    beta: Beta = None,
    mask: Mask | None = None,
    causal: bool = False,
    hard: bool = False,
    bias: Bias | None = None,
) -> Float[Tensor, "*batch t_q t_k"]:
    """Reparte la atención de cada consulta entre las claves que puede ver.

        A = [soft](arg)max_β(Q Kᵀ), por filas        (con `bias`: de β Q Kᵀ + bias)

    Argumentos:
        Q: consultas, `[..., t_q, d_k]`.
        K: claves, `[..., t_k, d_k]`.
        beta: temperatura inversa β; si falta, 1/√d_k.
        mask: booleana, True = visible, difundible a `[..., t_q, t_k]`.
        causal: con True, además, cada posición ve solo hasta sí misma (`causal_mask`).
        hard: con True, el arg max duro: un solo 1 por fila (en un empate, la primera clave).
        bias: lo que se suma a las puntuaciones ya escaladas, difundible a `[..., t_q, t_k]`;
            −∞ oculta la clave, y cada fila ha de conservar alguna finita.

    Devuelve:
        Los pesos de atención A, `[..., t_q, t_k]`. Cada fila suma 1, salvo la de una consulta
        que no puede ver nada: esa es toda de ceros.

    Errores:
        ValueError: si los tipos o los tamaños no concuerdan, o la máscara no es booleana.

    Fuente: Vaswani et al. (2017), §3.2.1; ecuación `eq-attention` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import attention_weights
        >>> Q = K = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> attention_weights(Q, K, beta=1.0)  # cada una atiende más a la que se le parece
        tensor([[0.7311, 0.2689],
                [0.2689, 0.7311]])
        >>> attention_weights(Q, K, beta=1.0, causal=True)  # la primera no ve a la segunda
        tensor([[1.0000, 0.0000],
                [0.2689, 0.7311]])
    """
    _require_inputs(Q, K, mask=mask, bias=bias)
    scores = _resolve_beta(beta, Q) * (Q @ K.transpose(-2, -1))
    if bias is not None:
        scores = scores + bias
    normalise = hard_argmax if hard else soft_argmax
    if causal:
        mask = _only_past(mask, Q, K)
    if mask is None:
        return normalise(scores)
    # La fila que no ve nada primero lo ve todo y después se anula: así ni su valor ni su
    # gradiente pasan por −∞ − (−∞).
    sees = mask | _sees_nothing(mask)
    return normalise(scores.masked_fill(~sees, -math.inf)).masked_fill(~mask, 0.0)


def attention(
    Q: Queries,
    K: Keys,
    V: Values,
    *,
    beta: Beta = None,
    mask: Mask | None = None,
    causal: bool = False,
    hard: bool = False,
    bias: Bias | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "*batch t_q d_v"]:
    """Mezcla los valores según el parecido entre cada consulta y las claves.

        H = A V,  A = [soft](arg)max_β(Q Kᵀ)

    La atención suave usa el núcleo fusionado de torch, que no forma A entera: la memoria crece
    con t, no con t² (salvo con una `mask` de t × t, o con `dropout` en la CPU, que pide A).
    Quien necesita A la pide a `attention_weights`.

    Argumentos:
        Q: consultas, `[..., t_q, d_k]`.
        K: claves, `[..., t_k, d_k]`.
        V: valores, `[..., t_k, d_v]`.
        beta: temperatura inversa β; si falta, 1/√d_k.
        mask: booleana, True = visible, difundible a `[..., t_q, t_k]`.
        causal: con True, además, cada posición ve solo hasta sí misma (`causal_mask`), sin
            que haga falta guardar la máscara t × t.
        hard: con True, cada consulta se lleva un único valor.
        bias: como en `attention_weights`.
        dropout: probabilidad de anular un peso (solo en la atención suave).

    Devuelve:
        La mezcla H, `[..., t_q, d_v]`; ceros para la consulta que no puede ver nada.

    Errores:
        ValueError: si los tipos o los tamaños no concuerdan, o la máscara no es booleana.

    Fuente: Vaswani et al. (2017), §3.2.1; ecuación `eq-attention` del capítulo `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.primitives import attention
        >>> Q, K = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> V = torch.tensor([[100.0], [200.0]])
        >>> attention(Q, K, V, beta=1.0)  # 0.73 · 100 + 0.27 · 200
        tensor([[126.8941]])
        >>> attention(Q, K, V, hard=True)
        tensor([[100.]])
    """
    _require_inputs(Q, K, V, mask, bias)
    if hard:
        return (
            attention_weights(Q, K, beta=beta, mask=mask, causal=causal, hard=True, bias=bias) @ V
        )
    causal = causal and bool(Q.shape[-2] > 1)  # una consulta sola es la última: ya ve su pasado
    if causal and (mask is not None or bias is not None or Q.shape[-2] != K.shape[-2]):
        # El atajo causal de torch alinea por arriba (con una memoria delante no vale) y no
        # admite nada que sumar.
        mask, causal = _only_past(mask, Q, K), False
    return _fused(Q, K, V, _resolve_beta(beta, Q), mask, bias, causal, dropout)


def _fused(Q, K, V, beta, mask, bias, causal, dropout):
    """La atención suave sobre el núcleo de torch, que pide cuatro ejes y un solo ancho."""
    batch = torch.broadcast_shapes(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
    width = max(Q.shape[-1], V.shape[-1])
    if isinstance(beta, Tensor):
        Q, beta = beta * Q, 1.0
    added, empty = bias, None
    if mask is not None:
        empty = _sees_nothing(mask)
        sees = mask | empty
        added = sees if bias is None else bias.masked_fill(~sees, -math.inf)
    if added is not None:
        added = _four_axes(added, batch, added.shape[-1])
    H = F.scaled_dot_product_attention(
        *(_four_axes(X, batch, width) for X in (Q, K, V)),
        attn_mask=added,
        is_causal=causal,
        scale=float(beta),
        dropout_p=dropout,
    )
    H = H.reshape(*batch, Q.shape[-2], width)[..., : V.shape[-1]]
    return H if empty is None else H.masked_fill(empty, 0.0)


def _four_axes(X, batch, width):
    """X con esos ejes de lote, y con columnas de ceros, que no cambian ningún producto escalar."""
    if X.shape[-1] < width:
        X = F.pad(X, (0, width - X.shape[-1]))
    X = X.expand(*batch, -1, -1)
    return X.flatten(0, -4) if X.ndim > 4 else X[(None,) * (4 - X.ndim)]


def _only_past(mask, Q, K):
    past = causal_mask(Q.shape[-2], K.shape[-2], device=Q.device)
    return past if mask is None else mask & past


def _sees_nothing(mask):
    return ~mask.any(dim=-1, keepdim=True)


def _resolve_beta(beta, Q):
    if beta is None:
        return 1.0 / math.sqrt(max(Q.shape[-1], 1))
    require_finite_beta(beta)
    return beta


def _require_inputs(Q, K, V=None, mask=None, bias=None):
    """La puerta de este archivo: todo lo que se exige de los tensores que llegan."""
    tensors = {"Q": Q, "K": K} | ({} if V is None else {"V": V})
    for name, X in tensors.items():
        require_floating(name, X)
        _require_like(name, X, Q)
    batch, wrong = _broadcast(*(X.shape[:-2] for X in tensors.values())), None
    if min(X.ndim for X in tensors.values()) < 2:
        wrong = "al menos dos ejes, [..., t, d]; a un vector dale el de tiempo, como en Q[None]"
    elif Q.shape[-1] != K.shape[-1]:
        wrong = "el mismo ancho d_k en Q y en K: revisa las proyecciones W_q y W_k"
    elif V is not None and V.shape[-2] != K.shape[-2]:
        wrong = "un valor por clave, el mismo t_k en K y en V"
    elif batch is None:
        wrong = "que los ejes de lote, los que van delante de [t, d], coincidan o valgan 1"
    if wrong is not None:
        shapes = ", ".join(f"{name} {tuple(X.shape)}" for name, X in tensors.items())
        raise ValueError(f"Se esperaba {wrong}; llegaron {shapes}.")
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(
            f"mask: se esperaba una máscara booleana (True = visible) y llegó {mask.dtype}. "
            "Si es de ceros y unos, usa mask.bool()."
        )
    if bias is not None:
        _require_like("bias", bias, Q)
    shape = (*batch, Q.shape[-2], K.shape[-2])
    for name, X in (("mask", mask), ("bias", bias)):
        if X is not None and (X.ndim < 2 or _broadcast(X.shape, shape) != shape):
            raise ValueError(
                f"{name}: se esperaba una forma difundible a [..., t_q, t_k] = {shape} y llegó "
                f"{tuple(X.shape)}. ¿Faltan o sobran ejes, o están cambiados t_q y t_k?"
            )


def _require_like(name, X, Q):
    if X.dtype != Q.dtype or X.device != Q.device:
        raise ValueError(
            f"{name}: se esperaba del mismo tipo y dispositivo que Q, {Q.dtype} en {Q.device}, y "
            f"llegó {X.dtype} en {X.device}. Usa {name}.to(Q)."
        )


def _broadcast(*shapes):
    """La forma a la que se difunden todas; None, si no casan."""
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        return None
