"""La atención: puntuar, esconder lo que no toca ver, normalizar y mezclar."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

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


def _fused(Q, K, V, beta, mask, bias, causal, dropout):
    """La atención suave sobre el núcleo de torch, que pide cuatro ejes y un solo ancho."""
    batch = _broadcast(Q.shape[:-2], K.shape[:-2], V.shape[:-2])
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
    heads = (_four_axes(X, batch, width) for X in (Q, K, V))
    H = F.scaled_dot_product_attention(
        *heads, attn_mask=added, is_causal=causal, scale=float(beta), dropout_p=dropout
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
    # Lo de siempre, sin lo que torch tarda; con otro número de ejes, ni comparar los que sean de
    # tamaño variable: al exportar, quedarían atados.
    first = shapes[0]
    if all(len(shape) == len(first) for shape in shapes) and all(s == first for s in shapes):
        return tuple(first)
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        return None


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
