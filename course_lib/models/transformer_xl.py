"""Transformer-XL: un modelo de lenguaje que recuerda los segmentos anteriores."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.adaptive_softmax import AdaptiveEmbedding, AdaptiveSoftmax
from course_lib.layers.arguments import require, require_caches, require_heads
from course_lib.layers.blocks import EncoderBlock
from course_lib.layers.normalization import make_final_norm
from course_lib.layers.relative_attention import RelativeAttention

Tokens = Int[Tensor, "batch t"]
Hidden = Float[Tensor, "batch t d_model"]
Logits = Float[Tensor, "batch t vocab"]
Past = Float[Tensor, "batch m d_model"]
AnyMemory = Any  # la que da `start`: `Memory` aquí, y otra en `fast`


@dataclass(frozen=True)
class TransformerXLConfig:
    """Tamaños y variante de un `TransformerXL`.

    Argumentos:
        vocab_size: tamaño del vocabulario.
        d_model, num_heads, num_layers, d_ff: ancho, cabezas, bloques y ancho de la capa oculta.
        memory_length: cuántas posiciones anteriores se recuerdan; 0, ninguna.
        dropout: el de las incrustaciones, la salida de cada subcapa y la del último bloque.
        inner_dropout, attention_dropout: el de la capa oculta y el de los pesos de atención.
        clamp_length: a partir de esta distancia todas cuentan como ella; None, sin tope.
        same_length: con True, cada posición ve exactamente las últimas memory_length, ella
            incluida: ninguna sale favorecida por su lugar en el segmento.
        tie_biases: con True, u y v son los mismos en todas las capas.
        global_terms: con False, las puntuaciones pierden sus dos últimos términos.
        placement: "post" (el artículo), "pre" o "sandwich".
        final_norm: si se normaliza la salida; None, solo si la colocación lo pide (en "post" no).
        eps: ε de las normalizaciones; None, la de torch.
        cutoffs, div_val, d_embed, tie_projections: la incrustación y la salida adaptativas.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Dai et al. (2019), tablas 1 y 2; capítulo `transformer_xl`.

    Ejemplo:
        >>> from course_lib.models import TransformerXLConfig
        >>> config = TransformerXLConfig.enwik8_24()
        >>> config.num_layers, config.d_model, config.memory_length
        (24, 1024, 768)
    """

    vocab_size: int
    d_model: int = 512
    num_heads: int = 8
    num_layers: int = 12
    d_ff: int = 2048
    memory_length: int = 512
    dropout: float = 0.1
    inner_dropout: float = 0.1
    attention_dropout: float = 0.0
    clamp_length: int | None = None
    same_length: bool = False
    tie_biases: bool = False
    global_terms: bool = True
    placement: Literal["post", "pre", "sandwich"] = "post"
    final_norm: bool | None = None
    eps: float | None = None
    cutoffs: tuple[int, ...] = ()
    div_val: int = 1
    d_embed: int | None = None
    tie_projections: bool = True

    def __post_init__(self) -> None:
        require(**vars(self) | {"d_embed": self.d_embed or self.d_model})
        require_heads(self.d_model, self.num_heads)
        if self.memory_length < int(self.same_length):
            raise ValueError(
                f"memory_length: se esperaba 0 o más (con same_length, 1 o más) y llegó "
                f"{self.memory_length}."
            )

    @classmethod
    def enwik8_12(cls, vocab_size: int = 204, **changes) -> "TransformerXLConfig":
        """El modelo de 12 capas para enwik8, por caracteres (tabla 2)."""
        return cls(vocab_size, **{"tie_biases": True} | changes)

    @classmethod
    def enwik8_24(cls, vocab_size: int = 204, **changes) -> "TransformerXLConfig":
        """El modelo de 24 capas para enwik8, por caracteres (tabla 2)."""
        sizes = {"d_model": 1024, "num_layers": 24, "d_ff": 3072, "memory_length": 768}
        dropout = dict.fromkeys(("dropout", "inner_dropout", "attention_dropout"), 0.15)
        return cls(vocab_size, **{"tie_biases": True} | sizes | dropout | changes)

    @classmethod
    def wikitext103(cls, vocab_size: int = 267_735, **changes) -> "TransformerXLConfig":
        """El modelo `standard` para WikiText-103, por palabras (tabla 1)."""
        sizes = {"d_model": 410, "num_heads": 10, "num_layers": 16, "d_ff": 2100}
        words = {"memory_length": 150, "cutoffs": (20_000, 40_000, 200_000)}
        return cls(vocab_size, **{"tie_biases": True} | sizes | words | changes)


@dataclass(frozen=True, eq=False, repr=False)
class Memory:
    """Las últimas entradas de cada bloque, separadas del cálculo del gradiente.

    Argumentos:
        limit: cuántas posiciones se recuerdan a lo sumo.
        states: una `[batch, m, d_model]` por bloque; () si aún no hay nada.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import Memory
        >>> Memory(limit=4).length  # aún no hay nada
        0
        >>> memory = Memory(limit=4, states=(torch.rand(2, 3, 8),))  # un bloque, dos filas
        >>> memory.length, memory.select(torch.tensor([1])).states[0].shape
        (3, torch.Size([1, 3, 8]))
    """

    limit: int
    states: tuple[Past, ...] = ()

    @property
    def length(self) -> int:
        """Cuántas posiciones recuerda."""
        return self.states[0].shape[1] if self.states else 0

    def select(self, rows: Int[Tensor, " rows"]) -> "Memory":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return replace(self, states=tuple(state[rows] for state in self.states))


class TransformerXL(nn.Module):
    """Predice cada token con los anteriores de su segmento y la memoria de los segmentos de antes.

        h⁰ = incrustación(tokens)
        hˡ⁺¹ = bloqueˡ(consultas de hˡ; claves y valores de [detach(mˡ), hˡ])
        logits = salida(h)

    La memoria mˡ guarda las últimas entradas de cada bloque. Entra con el segmento y sale puesta
    al día; ningún gradiente pasa por ella.

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Dai et al. (2019), §3.2 y §3.3; ecuaciones `eq-segment-memory` y `eq-relative-scores`
    del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import TransformerXL, TransformerXLConfig
        >>> config = TransformerXLConfig(50, d_model=8, num_heads=2, memory_length=5)
        >>> xl = TransformerXL(config)
        >>> logits, memory = xl(torch.tensor([[5, 6, 7, 8]]))
        >>> logits.shape, memory.length
        (torch.Size([1, 4, 50]), 4)
        >>> _, memory = xl(torch.tensor([[9, 10, 11, 12]]), memory)  # el segmento siguiente
        >>> memory.length  # las últimas cinco de ocho
        5
    """

    def __init__(self, config: TransformerXLConfig) -> None:
        super().__init__()
        self.config = config
        adaptive = {"cutoffs": config.cutoffs, "div_val": config.div_val, "d_embed": config.d_embed}
        self.embedding = AdaptiveEmbedding(config.vocab_size, config.d_model, **adaptive)
        self.blocks = nn.ModuleList()
        for _ in range(config.num_layers):
            self.blocks.append(_block(config, self.blocks))
        self.norm = make_final_norm(
            config.d_model, config.final_norm, placement=config.placement, eps=config.eps
        )
        self.output = AdaptiveSoftmax(self.embedding, tie_projections=config.tie_projections)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, token_ids: Tokens, memory: AnyMemory = None) -> tuple[Logits, AnyMemory]:
        """Lee un segmento después de los que la memoria recuerda.

        Argumentos:
            token_ids: el segmento, `[batch, t]`.
            memory: la que dio el segmento anterior; None, la vacía: nada delante (ni siquiera
                ceros, que también recibirían atención).

        Devuelve:
            El par (logits del token siguiente a cada uno, `[batch, t, vocab]`; memoria nueva).

        Errores:
            ValueError: si un identificador no está en el vocabulario o el lote cambió.
        """
        h, memory = self.read(token_ids, memory)
        return self.output(h, self.embedding), memory

    def step(self, token_ids: Tokens, state: Any = None) -> tuple[Logits, Any]:
        """Lo mismo que `forward`, con el nombre que `course_lib.decoding` espera."""
        return self(token_ids, state)

    def nll(
        self, token_ids: Tokens, targets: Tokens, memory: AnyMemory = None
    ) -> tuple[Float[Tensor, "batch t"], AnyMemory]:
        """Da −log P de cada objetivo y la memoria nueva, sin puntuar todo el vocabulario.

        Argumentos:
            token_ids, memory: los de `forward`.
            targets: el token que sigue a cada uno, `[batch, t]`.

        Errores:
            ValueError: los de `forward`, y si un objetivo no está en el vocabulario.
        """
        h, memory = self.read(token_ids, memory)
        return self.output.nll(h, targets, self.embedding), memory

    def read(self, token_ids: Tokens, memory: Memory | None = None) -> tuple[Hidden, Memory]:
        """Como `forward`, sin puntuar el vocabulario: da h, un vector por token."""
        memory = self.start() if memory is None else memory
        x = self.dropout(self.embedding(token_ids))
        mask, remembered = self._window(x, memory), []
        for block, past in zip(self.blocks, self._past(x, memory), strict=True):
            remembered.append(remember(past, x, memory.limit))
            x = block(x, past, mask=mask)
        return self.dropout(self.norm(x)), replace(memory, states=tuple(remembered))

    def start(self, length: int | None = None) -> Memory:
        """La memoria del comienzo, vacía, que recordará `length` posiciones (o memory_length)."""
        return Memory(self._limit(length))

    def _limit(self, length):
        # La configuración ya sabe qué longitudes valen.
        config = self.config if length is None else replace(self.config, memory_length=length)
        return config.memory_length

    def _past(self, x, memory):
        """Lo que recuerda cada bloque; al comienzo, nada."""
        if not memory.states:
            return [x[:, :0]] * len(self.blocks)
        _require_memory_of(self.blocks, x, memory)
        return [state.detach() for state in memory.states]

    def _window(self, x, memory):
        """Con same_length, deja ver solo las distancias menores que el límite; si no, None."""
        if not self.config.same_length:
            return None
        t, m = x.shape[1], memory.length
        visible = torch.ones(t, m + t, dtype=torch.bool, device=x.device)
        return visible.triu(m + 1 - memory.limit)


class MemoryBlock(EncoderBlock):
    """Un bloque de codificador que mira al segmento y a la memoria de los anteriores.

        x ← residual(x, atención: consultas de x; claves y valores de [m, x])
        x ← residual(x, red prealimentada)

    Argumentos: los de `EncoderBlock`; su atención ha de ser causal, como la relativa.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import RelativeAttention
        >>> from course_lib.models import MemoryBlock
        >>> block = MemoryBlock(8, 2, 32, attention=RelativeAttention(d_model=8, num_heads=2))
        >>> past, x = torch.rand(1, 4, 8), torch.rand(1, 3, 8)
        >>> block(x, past).shape  # mira siete posiciones y da las tres del segmento
        torch.Size([1, 3, 8])
    """

    def forward(
        self, x: Hidden, past: Past, *, mask: Bool[Tensor, "t seen"] | None = None
    ) -> Hidden:
        """Da un bloque más de contexto a cada posición.

        Argumentos:
            x: el segmento, `[batch, t, d_model]`.
            past: la memoria m de este bloque, `[batch, m, d_model]`.
            mask: True = visible, `[t, m + t]`.
        """
        m = self.residual_attention.read(past)
        x = self.residual_attention(
            x, lambda x: self.attention(x, torch.cat([m, x], dim=1), mask=mask)
        )
        return self.residual_feed_forward(x, self.feed_forward)


def remember(past: Past, x: Hidden, limit: int) -> Float[Tensor, "batch kept d_model"]:
    """Pone al día la memoria de un bloque con lo que entra en él.

        m ← detach([m, x])    y, de ahí, las últimas `limit` posiciones

    Argumentos:
        past: lo que recordaba, m, `[batch, m, d_model]`.
        x: lo que entra, `[batch, t, d_model]`.
        limit: cuántas posiciones se recuerdan a lo sumo.

    Fuente: Dai et al. (2019), §3.2; ecuación `eq-segment-memory` del capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import remember
        >>> past, x = torch.tensor([[[1.0], [2.0], [3.0]]]), torch.tensor([[[4.0], [5.0]]])
        >>> remember(past, x, limit=4).flatten()  # se olvida lo más viejo
        tensor([2., 3., 4., 5.])
    """
    seen = torch.cat([past, x], dim=1)
    return seen[:, max(seen.shape[1] - limit, 0) :].detach()


def _block(config, previous):
    """Un bloque; con tie_biases, los siguientes al primero usan su u y su v."""
    shared = previous[0].attention if config.tie_biases and previous else None
    attention = RelativeAttention(
        config.d_model,
        config.num_heads,
        dropout=config.attention_dropout,
        clamp_length=config.clamp_length,
        global_terms=config.global_terms,
        u=shared and shared.u,
        v=shared and shared.v,
    )
    return MemoryBlock(
        config.d_model,
        config.num_heads,
        config.d_ff,
        attention=attention,
        inner_dropout=config.inner_dropout,
        dropout=config.dropout,
        placement=config.placement,
        eps=config.eps,
    )


def _require_memory_of(blocks, x, memory):
    """Exige que la memoria sea de un modelo como este, y del mismo lote."""
    require_caches("memory", memory.states, blocks)
    for past in memory.states:
        if past.shape[0] != x.shape[0] or past.shape[2:] != x.shape[2:]:
            raise ValueError(
                f"memory: se esperaban {x.shape[0]} filas de ancho {x.shape[2]}, como el segmento, "
                f"y la memoria es {tuple(past.shape)}. ¿Cambió el lote? Elige sus filas con select."
            )
