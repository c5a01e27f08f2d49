"""La atención relativa: las puntuaciones saben a qué distancia está cada clave."""

import math
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor, nn

from course_lib.layers.arguments import require_sizes
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.primitives.positions.sinusoids import sinusoidal_positions
from course_lib.primitives.relative_shift import relative_shift


class RelativeAttention(MultiHeadAttention):
    """Cambia las puntuaciones de `MultiHeadAttention`, y nada más.

        S_ij = (Q_i K_jᵀ + Q_i r_{i−j}ᵀ + u K_jᵀ + v r_{i−j}ᵀ) / √d_k
        r_{i−j} = PE(i − j) W_r

    Los cuatro términos: contenido con contenido, contenido con distancia, contenido de la clave
    a secas y distancia a secas. Se agrupan en dos productos, (Q_i + u) K_jᵀ y (Q_i + v) r_{i−j}ᵀ.

    Las consultas son las últimas t_q de las t_k posiciones: lo que hay delante es memoria. Una
    distancia negativa no existe, así que esta atención siempre es causal.

    Argumentos:
        d_model, num_heads, bias, dropout: los de `MultiHeadAttention`; W_r nunca lleva sesgo.
        clamp_length: a partir de esta distancia todas cuentan como ella; None, sin tope.
        global_terms: con False faltan los dos últimos términos, y no hay u ni v.
        u, v: `[heads, d_k]`, para compartirlos entre capas; si faltan, propios.

    Errores:
        ValueError: los de `MultiHeadAttention`, y si clamp_length no es positivo o u y v no
            tienen la forma `[heads, d_k]`.

    Fuente: Dai et al. (2019), §3.3; ecuación `eq-relative-scores` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import RelativeAttention
        >>> attention = RelativeAttention(d_model=8, num_heads=2)
        >>> memory, x = torch.rand(1, 4, 8), torch.rand(1, 3, 8)
        >>> attention(x, torch.cat([memory, x], dim=1)).shape  # tres consultas y siete claves
        torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        bias: bool = False,
        dropout: float = 0.0,
        clamp_length: int | None = None,
        global_terms: bool = True,
        u: nn.Parameter | None = None,
        v: nn.Parameter | None = None,
    ) -> None:
        super().__init__(d_model, num_heads, bias=bias, dropout=dropout)
        if clamp_length is not None:
            require_sizes(clamp_length=clamp_length)
        self.clamp_length = clamp_length
        self.W_r = nn.Linear(d_model, d_model, bias=False)
        nn.init.xavier_uniform_(self.W_r.weight)
        self.u, self.v = (self._global(name, x, global_terms) for name, x in (("u", u), ("v", v)))

    def attend(self, Q, K, V, mask=None, causal=True):
        """Mezcla los valores con las puntuaciones relativas; el futuro siempre queda oculto."""
        return self.attend_at(self.distances(K.shape[-2] + 1), Q, K, V, mask)

    def attend_at(self, R, Q, K, V, mask=None):
        """Lo mismo, con las distancias ya proyectadas, R: `[heads, t_k + 1, d_k]`."""
        # Los términos de la distancia ya ocultan el futuro con −∞: no hace falta otra máscara.
        bias = self.distance_scores(Q, R)
        return self.mix(_plus(Q, self.u), K, V, mask=mask, bias=bias)

    def distances(self, length: int) -> Float[Tensor, "heads length d_k"]:
        """Proyecta las distancias, de `length` − 1 a 0; no dependen del lote."""
        like = self.W_r.weight
        table = _sinusoid(length, self.d_model, self.clamp_length, like.device, like.dtype)
        return self.split_heads(self.W_r(table))

    def distance_scores(
        self, Q: Float[Tensor, "*batch heads t_q d_k"], R: Float[Tensor, "heads n_distances d_k"]
    ) -> Float[Tensor, "*batch heads t_q t_k"]:
        """Da el término de la distancia, (Q_i + v) r_{i−j}ᵀ / √d_k; −∞ en el futuro."""
        Q = _plus(Q, self.v) / math.sqrt(Q.shape[-1])
        # Un solo producto por cabeza para todo el lote: R no se copia en cada fila.
        scores = torch.einsum("...hid,hnd->...hin", Q, R)
        S = relative_shift(scores)
        t_q, t_k = S.shape[-2:]
        future = torch.ones(t_q, t_q, dtype=torch.bool, device=S.device).triu(1)
        S[..., t_k - t_q :].masked_fill_(future, -math.inf)
        return S

    def _global(self, name, shared, wanted):
        """El vector compartido o uno propio, que comienza en cero: sin preferencias."""
        shape = (self.num_heads, self.d_model // self.num_heads)
        if shared is not None and shared.shape != shape:
            raise ValueError(
                f"{name}: se esperaba la forma [heads, d_k] = {shape} y llegó "
                f"{tuple(shared.shape)}."
            )
        if not wanted:
            return None
        return nn.Parameter(torch.zeros(shape)) if shared is None else shared


def _plus(Q, vector):
    """Suma a cada consulta el vector de su cabeza, si lo hay."""
    return Q if vector is None else Q + vector[:, None].to(Q.dtype)


def _sinusoid(length, d_model, clamp_length, device, dtype):
    """PE de las distancias, de `length` − 1 a 0: una vista de una tabla que se calcula una vez."""
    if torch.compiler.is_compiling():  # el grafo la calcula con la longitud que le llegue
        return _descending(length, d_model, clamp_length, device, dtype)
    capacity = max(256, 1 << (length - 1).bit_length())
    return _kept(capacity, d_model, clamp_length, device, dtype)[capacity - length :]


@lru_cache(maxsize=16)
def _kept(*arguments):
    # Fuera del modo de inferencia, para que la tabla sirva también al entrenar.
    with torch.inference_mode(False):
        return _descending(*arguments)


def _descending(length, d_model, clamp_length, device, dtype):
    distances = torch.arange(length - 1, -1, -1, device=device)
    if clamp_length is not None:
        distances = distances.clamp(max=clamp_length)
    return sinusoidal_positions(length, d_model, device=device, dtype=dtype)[distances]
