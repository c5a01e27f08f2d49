"""La atención multiconsulta: muchas cabezas que preguntan, y unas mismas claves y valores."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_option, require_width
from course_lib.layers.multi_head_attention import DotProductAttention, KeyValueCache
from course_lib.layers.swiglu import Dense
from course_lib.primitives.positions.rotations import ROTARY_LAYOUTS, Layout, rotary_table, rotate

Rotation = tuple[Tensor, Tensor]


class MultiQueryAttention(nn.Module):
    """Autoatención causal cuyas cabezas comparten claves y valores.

        Q_1, …, Q_heads, K_1, …, K_kv, V_1, …, V_kv = X W_qkv        (partido en cabezas)
        H_i = softmax(R Q_i (R K_j)ᵀ / √d_head) V_j                  j: el grupo de la cabeza i
        H = Concat(H_1, …, H_heads) W_h

    R gira consultas y claves según su posición (RoPE). Con `num_kv_heads=1` es la atención
    multiconsulta: la caché guarda un solo par por posición. Con `num_kv_heads=num_heads` es la
    multicabeza; entre las dos, cada par sirve a un grupo de cabezas seguidas.

    Argumentos:
        d_model: ancho de la entrada y de la salida.
        num_heads: cabezas que preguntan.
        num_kv_heads: cuántos pares de claves y valores; divide a num_heads.
        d_head: ancho de cada cabeza; si falta, d_model / num_heads.
        layout: la disposición de los giros, "half" o "interleaved"; None, sin giros.
        base: la de los giros.
        dropout: probabilidad de anular un peso de atención durante el entrenamiento.

    Errores:
        ValueError: si los tamaños no concuerdan o una opción no tiene sentido.

    Fuente: Shazeer (2019), §3; Ainslie et al. (2023), §2.2, para los grupos; Chowdhery et
    al. (2022), §2; ecuación `eq-multi-query` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import KeyValueCache, MultiQueryAttention
        >>> attention, cache = MultiQueryAttention(d_model=32, num_heads=8), KeyValueCache()
        >>> attention(torch.rand(1, 5, 32), cache).shape
        torch.Size([1, 5, 32])
        >>> cache.K.shape  # ocho cabezas preguntan, y se guarda un solo par
        torch.Size([1, 1, 5, 4])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int = 1,
        d_head: int | None = None,
        layout: Layout | None = "half",
        base: float = 10_000.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        d_head = head_width(d_model, num_heads, num_kv_heads, d_head)
        require_option("layout", layout, (*ROTARY_LAYOUTS, None))
        self.num_heads, self.num_kv_heads, self.d_head = num_heads, num_kv_heads, d_head
        self.layout, self.base = layout, base
        self.W_qkv = Dense(d_model, (num_heads + 2 * num_kv_heads) * d_head)
        self.mix = DotProductAttention(dropout)
        self.W_h = Dense(num_heads * d_head, d_model)

    def forward(
        self,
        X: Float[Tensor, "batch t d_model"],
        cache: KeyValueCache | None = None,
        *,
        rotation: Rotation | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "batch t _"]:
        """Atiende desde las posiciones de X hacia ellas y hacia las de la caché, sin ver el futuro.

        Argumentos:
            X: las posiciones nuevas, `[batch, t, d_model]`; siguen a las de la caché.
            cache: claves (ya giradas) y valores de las anteriores; aquí se le agregan estos.
            rotation: los giros de X, los de `rotation`; si faltan, los de sus posiciones.
            mask: True = visible, además de ser causal; difundible a `[batch, 1, t, t_k]`: la misma
                para todas las cabezas.

        Devuelve:
            H, `[batch, t, d_model]`.
        """
        require_width("X", X, self.W_qkv.in_features, "d_model")
        if rotation is None and self.layout is not None:
            first = 0 if cache is None else cache.length
            rotation = self.rotation(torch.arange(X.shape[1], device=X.device) + first, X)
        Q, K, V = self.project(X, rotation)
        if cache is not None:
            K, V = cache.append(K, V)
        H = self.mix(Q, self._for_each_head(K), self._for_each_head(V), mask=mask, causal=True)
        return self.W_h(H.transpose(1, 2).flatten(2))

    def rotation(self, positions: Tensor, X: Tensor) -> Rotation:
        """Los giros de esas posiciones, `[t]` o `[batch, 1, t]`, para vectores como los de X."""
        dtype = torch.promote_types(X.dtype, torch.float32)
        shape = {"base": self.base, "layout": self.layout}
        return rotary_table(positions, self.d_head, **shape, dtype=dtype)

    def project(
        self, X: Float[Tensor, "batch t d_model"], rotation: Rotation | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Da Q, K y V por cabezas: un solo producto, y un solo giro para consultas y claves."""
        heads = self.W_qkv(X).reshape(*X.shape[:2], -1, self.d_head).transpose(1, 2)
        QK, V = heads.tensor_split([-self.num_kv_heads], dim=1)
        if rotation is not None:
            QK = rotate(QK, *rotation, layout=self.layout)
        return *QK.tensor_split([self.num_heads], dim=1), V

    def _for_each_head(self, X):
        """Repite cada par para las cabezas de su grupo; si solo hay uno, la difusión basta."""
        if self.num_kv_heads == 1:
            return X
        return X.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1)


def head_width(d_model: int, num_heads: int, num_kv_heads: int, d_head: int | None) -> int:
    """El ancho de cada cabeza, si los tamaños concuerdan; si no, un error lo explica."""
    require(d_model=d_model, num_heads=num_heads, num_kv_heads=num_kv_heads)
    if num_heads % num_kv_heads:
        raise ValueError(
            f"num_kv_heads: se esperaba un divisor de num_heads = {num_heads} y llegó "
            f"{num_kv_heads}. Con 1 es multiconsulta; con {num_heads}, multicabeza."
        )
    if d_head is not None:
        require(d_head=d_head)
        return d_head
    if d_model % num_heads:
        raise ValueError(
            f"d_model = {d_model} no se reparte entre num_heads = {num_heads}: cámbialos, o di el "
            "ancho de cada cabeza con d_head."
        )
    return d_model // num_heads
