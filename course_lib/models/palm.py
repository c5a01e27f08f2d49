"""PaLM: un modelo de lenguaje denso y grande, con cinco cambios sobre el decodificador original."""

import copy
import math
from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import (
    ID_TYPES,
    require,
    require_caches,
    require_option,
    require_rows,
)
from course_lib.layers.embeddings import InputEmbedding
from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.layers.multi_query_attention import MultiQueryAttention, head_width
from course_lib.layers.normalization import Norm, make_norm
from course_lib.layers.swiglu import Dense, SwiGLU
from course_lib.primitives.positions.rotations import ROTARY_LAYOUTS

POSITIONS = ("rotary", "sinusoidal", "learned", None)
Tokens = Int[Tensor, "batch t"]
Hidden = Float[Tensor, "batch t d_model"]
Logits = Float[Tensor, "batch t vocab"]


@dataclass(frozen=True)
class PaLMConfig:
    """Tamaños y variante de un `PaLM`; lo que falta, como en el artículo.

    Argumentos:
        vocab_size: tamaño del vocabulario.
        d_model, num_heads, num_layers: ancho, cabezas y bloques.
        d_ff: ancho de la capa oculta de `SwiGLU`; None, 4·d_model.
        d_head: ancho de cada cabeza; None, d_model / num_heads.
        num_kv_heads: pares de claves y valores: 1, multiconsulta; num_heads, multicabeza.
        parallel: con False, la red va después de la atención, y no a la vez.
        positions: "rotary", "sinusoidal", "learned" o None.
        layout, base: los de los giros, si las posiciones son "rotary".
        tied: con False, la salida tiene su propia matriz.
        logits_scale: por cuánto se multiplican los logits; None, 1/√d_model si la tabla es la
            misma (sus vectores son N(0, 1)), y 1 si no.
        norm, eps: "layer" o "rms", sin sesgo; ε, o None, el de torch.
        dropout: el de la incrustación, los pesos de atención y cada suma (0 al preentrenar).
        max_length: la secuencia más larga, en tokens.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Chowdhery et al. (2022), §2 y tabla 1; capítulo `palm`.

    Ejemplo:
        >>> from course_lib.models import PaLMConfig
        >>> config = PaLMConfig.palm_540b()
        >>> config.d_model, config.num_layers, config.num_heads, config.num_kv_heads
        (18432, 118, 48, 1)
        >>> config.hidden_width == 4 * config.d_model
        True
    """

    vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    num_layers: int = 6
    d_ff: int | None = None
    d_head: int | None = None
    num_kv_heads: int = 1
    parallel: bool = True
    positions: Literal["rotary", "sinusoidal", "learned"] | None = "rotary"
    layout: Literal["half", "interleaved"] = "half"
    base: float = 10_000.0
    tied: bool = True
    logits_scale: float | None = None
    norm: Literal["layer", "rms"] = "layer"
    eps: float | None = None
    dropout: float = 0.0
    max_length: int = 2048

    def __post_init__(self) -> None:
        d_head = head_width(self.d_model, self.num_heads, self.num_kv_heads, self.d_head)
        require(**vars(self) | {"d_ff": self.hidden_width, "d_head": d_head})
        if self.positions == "rotary" and d_head % 2:
            raise ValueError(f"Los giros van por pares de columnas y llegó d_head = {d_head}.")
        if not self.base > 0:
            raise ValueError(f"base: se esperaba un número positivo y llegó {self.base}.")
        require_option("positions", self.positions, POSITIONS)
        require_option("layout", self.layout, ROTARY_LAYOUTS)

    @property
    def hidden_width(self) -> int:
        """Ancho de la capa oculta de `SwiGLU`."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff

    @property
    def output_scale(self) -> float:
        """Por cuánto se multiplican los logits."""
        if self.logits_scale is not None:
            return self.logits_scale
        return 1 / math.sqrt(self.d_model) if self.tied else 1.0

    @classmethod
    def palm_8b(cls, vocab_size: int = 256_000, **changes) -> "PaLMConfig":
        """El modelo de 8 mil millones de parámetros (tabla 1)."""
        return cls._published(vocab_size, 4096, 16, 32, changes)

    @classmethod
    def palm_62b(cls, vocab_size: int = 256_000, **changes) -> "PaLMConfig":
        """El de 62 mil millones (tabla 1)."""
        return cls._published(vocab_size, 8192, 32, 64, changes)

    @classmethod
    def palm_540b(cls, vocab_size: int = 256_000, **changes) -> "PaLMConfig":
        """El de 540 mil millones (tabla 1): sus cabezas, juntas, no miden d_model."""
        return cls._published(vocab_size, 18_432, 48, 118, changes)

    @classmethod
    def _published(cls, vocab_size, d_model, num_heads, num_layers, changes):
        return replace(cls(vocab_size, d_model, num_heads, num_layers, d_head=256), **changes)


@dataclass(frozen=True, eq=False, repr=False)
class PaLMCache:
    """Lo que un `PaLM` ya leyó: una caché por bloque, y cuánto relleno lleva delante cada fila.

    Argumentos:
        layers: claves y valores de las posiciones anteriores.
        padding: cuántas columnas de relleno hay al comienzo de cada fila; None, ninguna.

    Fuente: capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import PaLM, PaLMConfig
        >>> palm = PaLM(PaLMConfig(vocab_size=50, d_model=32, num_heads=4, num_layers=2))
        >>> _, cache = palm(torch.tensor([[5, 6, 7]]))
        >>> cache.length, len(cache.layers)
        (3, 2)
        >>> cache.layers[0].K.shape  # cuatro cabezas comparten un solo par
        torch.Size([1, 1, 3, 8])
    """

    layers: tuple[KeyValueCache, ...]
    padding: Int[Tensor, " batch"] | None = None

    @property
    def length(self) -> int:
        """Cuántas columnas van leídas."""
        return self.layers[0].length

    def copy(self) -> "PaLMCache":
        """Otra caché con lo mismo, que puede alargarse sin que esta cambie."""
        return replace(self, layers=tuple(layer.copy() for layer in self.layers))

    def select(self, rows: Int[Tensor, " rows"]) -> "PaLMCache":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        padding = None if self.padding is None else self.padding[rows]
        return PaLMCache(tuple(layer.select(rows) for layer in self.layers), padding)

    def positions(self, token_ids: Tokens) -> Int[Tensor, "*batch t"]:
        """La posición de cada token nuevo, `[t]` o `[batch, t]`; en el relleno, negativa."""
        stop = self.length + token_ids.shape[-1]
        columns = torch.arange(self.length, stop, device=token_ids.device)
        return columns if self.padding is None else columns - self.padding[:, None]

    def mask(self, token_ids: Tokens) -> Bool[Tensor, "batch 1 1 t_k"] | None:
        """Qué columnas, leídas y nuevas, no son relleno; None, todas."""
        if self.padding is None:
            return None
        require_rows(token_ids, len(self.padding), "cache")
        columns = torch.arange(self.length + token_ids.shape[1], device=token_ids.device)
        return (columns >= self.padding[:, None])[:, None, None]


class PaLM(nn.Module):
    """Predice cada token con los anteriores: una pila de bloques, sin codificador y sin sesgos.

        h = norm(bloques(E[tokens]))
        logits = h Eᵀ / √d_model

    Los cinco cambios sobre el decodificador de 2017: `SwiGLU`, bloques en paralelo, atención
    multiconsulta, posiciones rotatorias y ningún sesgo. La tabla E sirve para entrar y para salir.

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Chowdhery et al. (2022), §2; ecuaciones `eq-language-model` y `eq-palm-logits` del
    capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import PaLM, PaLMConfig
        >>> with torch.device("meta"):  # se cuenta sin reservar memoria
        ...     PaLM(PaLMConfig.palm_540b()).num_parameters(norm_scales=False)
        540354281472
        >>> palm = PaLM(PaLMConfig(vocab_size=50, d_model=32, num_heads=4, num_layers=2))
        >>> logits, cache = palm(torch.tensor([[5, 6, 7]]))
        >>> logits.shape, cache.length
        (torch.Size([1, 3, 50]), 3)
    """

    def __init__(self, config: PaLMConfig) -> None:
        super().__init__()
        self.config = config
        rotary = config.positions == "rotary"
        self.embedding = InputEmbedding(
            config.vocab_size,
            config.d_model,
            max_length=config.max_length,
            positions=None if rotary else config.positions,
            scale=False,
            dropout=config.dropout,
        )
        self.blocks = nn.ModuleList(_block(config, rotary) for _ in range(config.num_layers))
        self.norm = make_norm(config.norm, config.d_model, bias=False, eps=config.eps)
        self.output = None if config.tied else Dense(config.d_model, config.vocab_size)

    def forward(
        self, token_ids: Tokens, cache: PaLMCache | None = None
    ) -> tuple[Logits, PaLMCache]:
        """Lee los tokens que siguen a los de la caché.

        Argumentos:
            token_ids: los tokens nuevos, `[batch, t]`.
            cache: la de `start` o la que dio la llamada anterior, que sigue valiendo; None, la
                vacía.

        Devuelve:
            El par (logits del token siguiente a cada uno, `[batch, t, vocab]`; caché más larga).

        Errores:
            ValueError: si no llega ningún token, un identificador no está en el vocabulario, la
            secuencia pasa de max_length, el lote cambió o la caché es de un modelo con otro número
            de bloques.
        """
        h, cache = self.read(token_ids, cache)
        return self.logits(h), cache

    def step(
        self, token_ids: Tokens, state: PaLMCache | None = None
    ) -> tuple[Float[Tensor, "batch 1 vocab"], PaLMCache]:
        """Lo que `course_lib.decoding` necesita: `forward`, con los logits del último token."""
        h, cache = self.read(token_ids, state)
        return self.logits(h[:, -1:]), cache

    def read(self, token_ids: Tokens, cache: PaLMCache | None = None) -> tuple[Hidden, PaLMCache]:
        """Como `forward`, sin puntuar el vocabulario: da h, un vector por token."""
        cache = self.start() if cache is None else cache.copy()
        _require_tokens(token_ids, cache, self.blocks)
        seen = {"rotation": self._rotation(token_ids, cache), "mask": cache.mask(token_ids)}
        # Con relleno delante, cada token tiene su posición; sin él, basta la del primero.
        padded = cache.padding is not None
        start = cache.positions(token_ids).clamp(min=0) if padded else cache.length
        x = self.embedding(token_ids, start=start)
        for block, past in zip(self.blocks, cache.layers, strict=True):
            x = block(x, past, **seen)
        return self.norm(x), cache

    def start(self, padding: Int[Tensor, " batch"] | None = None) -> PaLMCache:
        """La caché del comienzo, vacía.

        Argumentos:
            padding: cuántas columnas de relleno lleva delante cada fila, si las indicaciones miden
                distinto (las da `decoding.left_pad`). Nadie mira al relleno, y las posiciones se
                cuentan desde el primer token real: cada fila da lo mismo que sola.

        Errores:
            ValueError: si padding no es un número de columnas por fila.
        """
        if padding is not None:
            _require_padding(padding)
        return PaLMCache(tuple(KeyValueCache() for _ in self.blocks), padding)

    def logits(self, h: Hidden) -> Logits:
        """Puntúa cada token del vocabulario por su parecido con h."""
        table = self.embedding.table if self.config.tied else self.output
        return F.linear(h * self.config.output_scale, table.weight)

    def num_parameters(self, *, norm_scales: bool = True) -> int:
        """Cuántos parámetros hay; con norm_scales=False, solo las matrices.

        Fuente: ecuación `eq-palm-parameters` del capítulo `palm`.
        """
        named = self.named_parameters()
        return sum(p.numel() for name, p in named if norm_scales or "norm" not in name)

    def _rotation(self, token_ids, cache):
        """Los giros, los mismos en todos los bloques y en todas las cabezas."""
        if self.config.positions != "rotary":
            return None
        positions = cache.positions(token_ids)
        positions = positions[:, None] if positions.ndim == 2 else positions
        return self.blocks[0].attention.rotation(positions, self.embedding.table.weight)


class ParallelBlock(nn.Module):
    """Suma a x lo que da la atención y lo que da la red: las dos leen lo mismo.

        y = x + atención(norm(x)) + red(norm(x))

    Argumentos:
        d_model: ancho de los vectores.
        num_heads: cabezas de la atención.
        d_ff: ancho de la capa oculta de `SwiGLU`.
        norm, eps: la normalización, sin sesgo; los de `Residual`.
        dropout, attention_dropout: el de lo que se suma a x, y el de los pesos de atención.
        attention: las demás opciones de `MultiQueryAttention`.

    Fuente: Chowdhery et al. (2022), §2; ecuación `eq-parallel-block` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import ParallelBlock
        >>> block, x = ParallelBlock(d_model=8, num_heads=2, d_ff=32), torch.rand(1, 5, 8)
        >>> u = block.norm(x)
        >>> torch.allclose(block(x), x + block.attention(u) + block.feed_forward(u), atol=1e-6)
        True
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        norm: Norm = "layer",
        eps: float | None = None,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        **attention,
    ) -> None:
        super().__init__()
        require(dropout=dropout)
        self.norm = make_norm(norm, d_model, bias=False, eps=eps)
        attention = attention | {"dropout": attention_dropout}
        self.attention = MultiQueryAttention(d_model, num_heads, **attention)
        self.feed_forward = SwiGLU(d_model, d_ff)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Hidden, cache: KeyValueCache | None = None, **seen) -> Hidden:
        """Da más contexto a cada posición.

        Argumentos:
            x: las posiciones nuevas, `[batch, t, d_model]`.
            cache: claves y valores de las anteriores; se alarga.
            seen: las demás opciones de `MultiQueryAttention.forward`.
        """
        u = self.norm(x)
        return x + self.dropout(self.attention(u, cache, **seen) + self.feed_forward(u))


class SerialBlock(ParallelBlock):
    """El bloque de siempre, con las mismas piezas: la red lee lo que la atención ya sumó.

        z = x + atención(norm(x))
        y = z + red(norm'(z))

    Argumentos: los de `ParallelBlock`.

    Fuente: Chowdhery et al. (2022), §2; ecuación `eq-parallel-block` del capítulo `palm`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import SerialBlock
        >>> block, x = SerialBlock(d_model=8, num_heads=2, d_ff=32), torch.rand(1, 5, 8)
        >>> z = x + block.attention(block.norm(x))
        >>> torch.allclose(block(x), z + block.feed_forward(block.inner_norm(z)), atol=1e-6)
        True
    """

    def __init__(self, *sizes: int, **options) -> None:
        super().__init__(*sizes, **options)
        self.inner_norm = copy.deepcopy(self.norm)

    def forward(self, x: Hidden, cache: KeyValueCache | None = None, **seen) -> Hidden:
        """Como `ParallelBlock.forward`, en dos tiempos."""
        x = x + self.dropout(self.attention(self.norm(x), cache, **seen))
        return x + self.dropout(self.feed_forward(self.inner_norm(x)))


def _require_tokens(token_ids, cache, blocks):
    require_caches("cache", cache.layers, blocks)
    if cache.length:
        require_rows(token_ids, len(cache.layers[0].K), "cache")
    if not token_ids.numel():
        raise ValueError(
            "token_ids: se esperaba al menos un token en al menos una fila y llegó la forma "
            f"{tuple(token_ids.shape)}."
        )


def _require_padding(padding):
    if padding.ndim != 1 or padding.dtype not in ID_TYPES or (padding < 0).any():
        raise ValueError(
            "padding: se esperaba cuántas columnas de relleno lleva delante cada fila, enteros "
            f"≥ 0 de forma [batch], y llegó la forma {tuple(padding.shape)} de tipo "
            f"{padding.dtype}. Lo da left_pad; no es una máscara."
        )


def _block(config, rotary):
    Block = ParallelBlock if config.parallel else SerialBlock
    return Block(
        config.d_model,
        config.num_heads,
        config.hidden_width,
        norm=config.norm,
        eps=config.eps,
        dropout=config.dropout,
        num_kv_heads=config.num_kv_heads,
        d_head=config.d_head,
        layout=config.layout if rotary else None,
        base=config.base,
        attention_dropout=config.dropout,
    )
