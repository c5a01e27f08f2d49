"""La atención multicabeza: varias atenciones en paralelo, con sus parámetros y su caché."""

import torch
import torch.nn.functional as F
from einops import rearrange
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_heads, require_width
from course_lib.primitives.attention import Keys, Queries, Values, attention, attention_weights

Heads = Float[Tensor, "batch heads t d_k"]


class MultiHeadAttention(nn.Module):
    """Proyecta la entrada en consultas, claves y valores, atiende por cabezas y vuelve a d_model.

        Q, K, V = X_q W_q, X_k W_k, X_v W_v        (cada uno, partido en cabezas)
        H_i = softmax(Q_i K_iᵀ / √d_k) V_i         d_k = d_model / num_heads
        H = Concat(H_1, …, H_heads) W_h

    Si los tres anchos de entrada coinciden, W_q, W_k y W_v van apiladas en una sola matriz
    `W_qkv`: una autoatención cuesta entonces un producto en vez de tres.

    Argumentos:
        d_model: ancho de la salida y de las proyecciones, repartido entre las cabezas.
        num_heads: número de cabezas; divide a d_model.
        d_query, d_key, d_value: anchos de X_q, X_k y X_v; si faltan, d_model.
        bias: con True, cada proyección suma un sesgo.
        dropout: probabilidad de anular un peso de atención durante el entrenamiento.

    Errores:
        ValueError: si num_heads no divide a d_model o dropout no está en [0, 1).

    Fuente: Vaswani et al. (2017), §3.2.2; ecuación `eq-heads` del capítulo `key_value_store`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import MultiHeadAttention
        >>> attention = MultiHeadAttention(d_model=8, num_heads=2)
        >>> X, encoded = torch.rand(1, 3, 8), torch.rand(1, 5, 8)
        >>> attention(X).shape  # autoatención
        torch.Size([1, 3, 8])
        >>> attention(X, encoded).shape  # atención cruzada: tantas filas como consultas
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        d_query: int | None = None,
        d_key: int | None = None,
        d_value: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ):
        super().__init__()
        require_heads(d_model, num_heads)
        self.d_model, self.num_heads = d_model, num_heads
        self.widths = tuple(d_model if d is None else d for d in (d_query, d_key, d_value))
        self.stacked = len(set(self.widths)) == 1
        if self.stacked:
            self.W_qkv = nn.Linear(self.widths[0], 3 * d_model, bias=bias)
        else:
            self.W_q, self.W_k, self.W_v = (nn.Linear(d, d_model, bias=bias) for d in self.widths)
        self.mix = DotProductAttention(dropout)
        self.W_h = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Inicializa cada proyección por separado con Xavier uniforme, y los sesgos con ceros."""
        for linear in filter(lambda layer: isinstance(layer, nn.Linear), self.children()):
            for block in linear.weight.split(self.d_model):
                nn.init.xavier_uniform_(block)
            if linear.bias is not None:
                nn.init.zeros_(linear.bias)

    def forward(
        self,
        X_q: Float[Tensor, "*batch t_q d_query"],
        X_k: Float[Tensor, "*batch t_k d_key"] | None = None,
        X_v: Float[Tensor, "*batch t_k d_value"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
        cache: "KeyValueCache | None" = None,
    ) -> Float[Tensor, "*batch t_q d_model"]:
        """Atiende desde X_q hacia X_k y X_v.

        Argumentos:
            X_q: de donde salen las consultas, `[..., t_q, d_query]`.
            X_k: de donde salen las claves; si falta, X_q (autoatención).
            X_v: de donde salen los valores; si falta, X_k.
            mask: booleana, True = visible, difundible a `[..., t_q, t_k]` (la misma para todas
                las cabezas) o, con todos sus ejes, a `[..., heads, t_q, t_k]`.
            causal: con True, cada posición ve solo hasta sí misma.
            cache: claves y valores de las posiciones anteriores; aquí se le agregan estos.

        Devuelve:
            H, `[..., t_q, d_model]`. Los pesos de cada cabeza los apunta `attention_maps`.

        Errores:
            ValueError: si los anchos o la máscara no concuerdan.
        """
        X_k = X_q if X_k is None else X_k
        X_v = X_k if X_v is None else X_v
        self._require_widths(X_q, X_k, X_v)
        Q, K, V = (self.split_heads(P) for P in self.project(X_q, X_k, X_v))
        if cache is not None:
            K, V = cache.append(K, V)
        H = self.attend(Q, K, V, self._with_heads(mask, X_q.ndim), causal)
        return self.W_h(self.merge_heads(H))

    def project(self, X_q: Tensor, X_k: Tensor, X_v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Calcula las consultas, las claves y los valores; de una misma X, en un solo producto."""
        if self.stacked and X_q is X_k and X_k is X_v:
            return self.W_qkv(X_q).chunk(3, dim=-1)
        inputs = zip((X_q, X_k, X_v), self.matrices(), strict=True)
        return tuple(F.linear(X, W, b) for X, (W, b) in inputs)

    def matrices(self) -> list[tuple[Tensor, Tensor | None]]:
        """Da W_q, W_k y W_v, cada una con su sesgo o con None."""
        if not self.stacked:
            return [(layer.weight, layer.bias) for layer in (self.W_q, self.W_k, self.W_v)]
        bias = self.W_qkv.bias
        biases = [None] * 3 if bias is None else bias.chunk(3)
        return list(zip(self.W_qkv.weight.chunk(3), biases, strict=True))

    def attend(self, Q, K, V, mask=None, causal=False):
        """Mezcla los valores de cada cabeza; una subclase puede puntuar de otro modo."""
        return self.mix(Q, K, V, mask=mask, causal=causal)

    def split_heads(self, X: Float[Tensor, "*batch t d_model"]) -> Float[Tensor, "*batch h t d_k"]:
        """Parte d_model en cabezas y lleva su eje delante del tiempo."""
        return rearrange(X, "... t (heads d_k) -> ... heads t d_k", heads=self.num_heads)

    def merge_heads(self, H: Float[Tensor, "*batch h t d_k"]) -> Float[Tensor, "*batch t d_model"]:
        """Deshace `split_heads`: concatena las cabezas de cada posición."""
        return rearrange(H, "... heads t d_k -> ... t (heads d_k)")

    def _with_heads(self, mask, ndim):
        shared = mask is not None and 3 <= mask.ndim <= ndim
        return mask.unsqueeze(-3) if shared else mask

    def _require_widths(self, *inputs):
        names = {"X_q": "d_query", "X_k": "d_key", "X_v": "d_value"}
        for (name, argument), X, width in zip(names.items(), inputs, self.widths, strict=True):
            require_width(name, X, width, argument)


class DotProductAttention(nn.Module):
    """Mezcla los valores de cada cabeza: la atención, sin ningún parámetro.

        H = dropout(A) V,    A = softmax(Q Kᵀ / √d_k)

    Es `primitives.attention.attention` en forma de módulo: así sabe si se está entrenando, y
    `recording.attention_maps` puede apuntar A sin que se forme cuando nadie la pide.

    Argumentos:
        dropout: probabilidad de anular un peso durante el entrenamiento.

    Fuente: Vaswani et al. (2017), §3.2.1 y fig. 2; ecuación `eq-attention` del capítulo
    `attention`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import DotProductAttention
        >>> mix = DotProductAttention()
        >>> Q = K = torch.zeros(2, 1)  # todas se parecen igual
        >>> V = torch.tensor([[10.0], [20.0]])
        >>> mix(Q, K, V)
        tensor([[15.],
                [15.]])
        >>> mix(Q, K, V, causal=True)  # la primera se ve solo a sí misma
        tensor([[10.],
                [15.]])
    """

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        require(dropout=dropout)
        self.dropout = dropout

    def forward(self, Q: Queries, K: Keys, V: Values, **seen) -> Float[Tensor, "*batch t_q d_v"]:
        """Da la mezcla H; `seen` son las opciones de `attention`: `mask`, `causal` y `bias`."""
        return attention(Q, K, V, dropout=self.dropout if self.training else 0.0, **seen)

    def weights(self, Q: Queries, K: Keys, V: Values, **seen) -> Float[Tensor, "*batch t_q t_k"]:
        """Da los pesos A con que `forward` mezcla, antes del dropout."""
        return attention_weights(Q, K, **seen)


class KeyValueCache:
    """Las claves y los valores de las posiciones ya vistas, en una capa.

    La capa agrega los de las posiciones nuevas y atiende a todos. El modelo trabaja sobre una
    copia, que comparte los tensores y se alarga por su cuenta: la de quien llama no cambia, y de un
    mismo estado pueden salir varias continuaciones.

    Argumentos:
        K, V: las claves y los valores, `[batch, heads, t, d_k]`; None, si aún no hay nada.

    Fuente: capítulo `decoder`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import KeyValueCache, MultiHeadAttention
        >>> attention, X = MultiHeadAttention(d_model=8, num_heads=2), torch.rand(1, 4, 8)
        >>> cache = KeyValueCache()
        >>> written = [attention(X[:, i : i + 1], cache=cache) for i in range(4)]  # de uno en uno
        >>> cache.length
        4
        >>> torch.allclose(torch.cat(written, dim=1), attention(X, causal=True), atol=1e-6)
        True
    """

    def __init__(self, K: Heads | None = None, V: Heads | None = None) -> None:
        self.K, self.V = K, V

    @property
    def length(self) -> int:
        """Cuántas posiciones guarda."""
        return 0 if self.K is None else self.K.shape[-2]

    def append(self, K: Heads, V: Heads) -> tuple[Tensor, Tensor]:
        """Agrega las posiciones siguientes y da las claves y los valores de todas."""
        if self.K is not None:
            K, V = torch.cat((self.K, K), dim=-2), torch.cat((self.V, V), dim=-2)
        self.K, self.V = K, V
        return K, V

    def copy(self) -> "KeyValueCache":
        """Otra caché con lo mismo, que puede alargarse sin que esta cambie."""
        return KeyValueCache(self.K, self.V)

    def select(self, rows: Int[Tensor, " rows"]) -> "KeyValueCache":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        if self.K is None:
            return KeyValueCache()
        return KeyValueCache(self.K.index_select(0, rows), self.V.index_select(0, rows))
