"""BERT: un codificador preentrenado con texto sin etiquetas, y las tareas con que se preentrena."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import look_up, require, require_heads, require_pad_id
from course_lib.layers.blocks import ACTIVATIONS, EncoderBlock
from course_lib.layers.embeddings import InputEmbedding
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.primitives.attention import padding_mask
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

TokenIds = Int[Tensor, "batch t"]
Mask = Bool[Tensor, "batch 1 t"] | None
States = Float[Tensor, "batch t d_model"]
Pooled = Float[Tensor, "batch d_model"]

INITIAL_STD = 0.02


@dataclass(frozen=True)
class BertConfig:
    """Tamaños y variante de un `Bert`; sin cambios, los de BERT base.

    Argumentos:
        vocab_size: tamaño del vocabulario WordPiece.
        d_model, num_heads, num_layers, d_ff: ancho, cabezas, bloques y ancho de la red
            prealimentada.
        max_length: la secuencia más larga, en tokens: hay un vector aprendido por posición.
        num_segments: cuántos segmentos se distinguen (primera y segunda oración).
        dropout: el de las incrustaciones y la salida de cada subcapa. La capa oculta de la red
            prealimentada no lleva.
        attention_dropout: el de los pesos de atención.
        head_dropout: el de las cabezas; None, el mismo que `dropout`.
        activation: "gelu" (la exacta) o "relu".
        eps: ε de las normalizaciones de capa.
        pad_id: identificador del relleno.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Devlin et al. (2018), §3; capítulo `bert`.

    Ejemplo:
        >>> from course_lib.models import BertConfig
        >>> BertConfig.large().d_model, BertConfig.large().num_layers
        (1024, 24)
        >>> BertConfig.base(vocab_size=500, num_layers=2).d_model  # lo demás, como estaba
        768
    """

    vocab_size: int = 30_522
    d_model: int = 768
    num_heads: int = 12
    num_layers: int = 12
    d_ff: int = 3072
    max_length: int = 512
    num_segments: int = 2
    dropout: float = 0.1
    attention_dropout: float = 0.1
    head_dropout: float | None = None
    activation: Literal["gelu", "relu"] = "gelu"
    eps: float = 1e-12
    pad_id: int = 0

    def __post_init__(self) -> None:
        require(**vars(self) | {"head_dropout": self.output_dropout})
        require_heads(self.d_model, self.num_heads)
        require_pad_id(self.pad_id, self.vocab_size)

    @property
    def output_dropout(self) -> float:
        """El dropout de las cabezas."""
        return self.dropout if self.head_dropout is None else self.head_dropout

    @classmethod
    def base(cls, vocab_size: int = 30_522, **changes) -> "BertConfig":
        """BERT base: 12 bloques de ancho 768, con el vocabulario inglés en minúsculas."""
        return cls(vocab_size, **changes)

    @classmethod
    def large(cls, vocab_size: int = 30_522, **changes) -> "BertConfig":
        """BERT grande: 24 bloques de ancho 1024."""
        large = cls(vocab_size, d_model=1024, num_heads=16, num_layers=24, d_ff=4096)
        return replace(large, **changes)


class BertOutput(NamedTuple):
    """Lo que da `Bert`.

    Argumentos:
        states: un vector por token, H, `[batch, t, d_model]`: la salida del último bloque. La
            del relleno no significa nada.
        pooled: el resumen r de cada secuencia, `[batch, d_model]`, o None sin `pooler`.
        hidden: con need_hidden, las incrustaciones y la salida de cada bloque: num_layers + 1
            tensores como `states`.

    Fuente: Devlin et al. (2018), §3; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import Bert, BertConfig
        >>> bert = Bert(BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=3, d_ff=16))
        >>> output = bert(torch.tensor([[2, 10, 11, 3]]), need_hidden=True)
        >>> output.states.shape, output.pooled.shape, len(output.hidden)
        (torch.Size([1, 4, 8]), torch.Size([1, 8]), 4)
    """

    states: States
    pooled: Pooled | None
    hidden: tuple[States, ...] | None = None


class Bert(nn.Module):
    """Lee una oración, o un par, en las dos direcciones y da un vector por token.

        H⁰ = norm(E[token] + P[posición] + S[segmento])
        Hˡ = bloqueˡ(Hˡ⁻¹)                            sin máscara causal
        r = tanh(Hᴸ_[CLS] W + b)                      el resumen de la secuencia

    Argumentos:
        config: los tamaños y la variante.
        pooler: con False no hay resumen r (ni sus parámetros).

    Fuente: Devlin et al. (2018), §3 y fig. 2; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import Bert, BertConfig
        >>> with torch.device("meta"):  # sin reservar memoria
        ...     base = Bert(BertConfig.base())
        >>> sum(p.numel() for p in base.parameters())
        109482240
        >>> bert = Bert(BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=2, d_ff=16))
        >>> bert(torch.tensor([[2, 10, 11, 3, 0]])).states.shape  # el 0 es relleno
        torch.Size([1, 5, 8])
    """

    def __init__(self, config: BertConfig, *, pooler: bool = True) -> None:
        super().__init__()
        self.config = config
        self.embedding = BertEmbedding(config)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.num_layers))
        self.pooler = nn.Linear(config.d_model, config.d_model) if pooler else None
        self.apply(_initialise)

    def forward(
        self,
        token_ids: TokenIds,
        segment_ids: TokenIds | None = None,
        *,
        mask: Mask = None,
        need_hidden: bool = False,
    ) -> BertOutput:
        """Da un vector por token, que depende de todos los demás tokens de su secuencia.

        Argumentos:
            token_ids: «[CLS] … [SEP]» o «[CLS] … [SEP] … [SEP]», con relleno, `[batch, t]`.
            segment_ids: segmento de cada token, `[batch, t]`; si falta, todos son del 0.
            mask: True en los tokens reales, `[batch, 1, t]`; si falta, la de `padding_mask`.
            need_hidden: con True devuelve también la salida de cada bloque.

        Devuelve:
            Una `BertOutput`.

        Errores:
            ValueError: si un identificador no está en su tabla, la secuencia pasa de max_length o
            las formas no casan.
        """
        mask = real_tokens(token_ids, mask, self.config.pad_id)
        H = self.embedding(token_ids, segment_ids)
        hidden = [H]
        for block in self.blocks:
            H = block(H, mask=mask)
            hidden.append(H)
        return BertOutput(H, self._pool(H), tuple(hidden) if need_hidden else None)

    def _pool(self, H: States) -> Pooled | None:
        """Resume la secuencia en el vector de su primer token, [CLS]."""
        return None if self.pooler is None else torch.tanh(self.pooler(H[:, 0]))


class BertEmbedding(nn.Module):
    """Suma qué token es, dónde está y de qué oración es; después normaliza.

        H⁰ = dropout(norm(E[token] + P[posición] + S[segmento]))

    Argumentos:
        config: la del modelo.

    Fuente: Devlin et al. (2018), fig. 2; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertEmbedding
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, dropout=0.0)
        >>> embedding = BertEmbedding(config)
        >>> token_ids = torch.tensor([[2, 10, 3, 10, 3]])
        >>> first = embedding(token_ids)  # todo en la primera oración
        >>> pair = embedding(token_ids, torch.tensor([[0, 0, 0, 1, 1]]))
        >>> [torch.equal(first[0, t], pair[0, t]) for t in range(5)]
        [True, True, True, False, False]
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.tokens = InputEmbedding(
            config.vocab_size,
            config.d_model,
            max_length=config.max_length,
            positions="learned",
            scale=False,
            pad_id=config.pad_id,
        )
        self.segments = nn.Embedding(config.num_segments, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.eps)
        self.dropout = nn.Dropout(config.dropout)

    @torch.no_grad()
    def spread_out(self) -> "BertEmbedding":
        """Cambia el comienzo de dos tablas, que siguen aprendiéndose; no es el del artículo.

            E ← 5 E,    P ← 0.1 · sinusoides

        Con desviación 0.02 para todo, un modelo pequeño tarda mucho en arrancar: sus tokens se
        parecen demasiado, y «el de al lado» es algo distinto en cada posición.

        Devuelve:
            Esta misma capa.

        Errores:
            ValueError: si d_model no es par, como piden las sinusoides.

        Fuente: capítulo `bert`.
        """
        table, positions = self.tokens.table.weight, self.tokens.position_table
        like = {"device": positions.device, "dtype": positions.dtype}
        table.mul_(5)
        positions.copy_(0.1 * sinusoidal_positions(*positions.shape, **like))
        return self

    def forward(self, token_ids: TokenIds, segment_ids: TokenIds | None = None) -> States:
        """Convierte los identificadores en vectores, `[batch, t, d_model]`."""
        x = self.tokens(token_ids) + self._segments_of(segment_ids, token_ids)
        return self.dropout(self.norm(x))

    def _segments_of(self, segment_ids, token_ids):
        if segment_ids is None:
            return self.segments.weight[0]
        if segment_ids.shape != token_ids.shape:
            raise ValueError(
                f"segment_ids: se esperaba la forma {tuple(token_ids.shape)}, la de token_ids, y "
                f"llegó {tuple(segment_ids.shape)}: cada token es de un segmento."
            )
        return look_up("segment_ids", segment_ids, self.segments.weight)


class PreTrainingOutput(NamedTuple):
    """Las puntuaciones de las dos tareas del preentrenamiento.

    Argumentos:
        tokens: las de cada palabra del vocabulario, `[batch, t, vocab]`; o `[n, vocab]` si se
            pidieron solo n posiciones.
        next_sentence: las de «la segunda oración sigue a la primera» (0) y «no la sigue» (1),
            `[batch, 2]`; None en un modelo sin esa tarea.

    Fuente: Devlin et al. (2018), §3.1; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForPreTraining
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> output = BertForPreTraining(config)(torch.tensor([[2, 10, 4, 3]]))
        >>> output.tokens.shape, output.next_sentence.shape
        (torch.Size([1, 4, 100]), torch.Size([1, 2]))
    """

    tokens: Float[Tensor, "*positions vocab"]
    next_sentence: Float[Tensor, "batch 2"] | None


class BertForPreTraining(nn.Module):
    """Las dos tareas con que BERT aprende de texto sin etiquetas.

        z_t = norm(gelu(H_t W + b)) Eᵀ + c            qué palabra había: modelo de lenguaje
        s = r W' + b'                                  enmascarado; si la segunda oración sigue

    E es la tabla de incrustaciones: la salida no tiene otra matriz que aprender.

    Argumentos:
        config: los tamaños y la variante.
        next_sentence: con False, solo la primera tarea (sin `pooler`), como hacen muchos modelos
            posteriores.

    Fuente: Devlin et al. (2018), §3.1; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForPreTraining
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> model, token_ids = BertForPreTraining(config), torch.tensor([[2, 10, 4, 11, 4, 3]])
        >>> model(token_ids, positions=token_ids == 4).tokens.shape  # solo las dos ocultas
        torch.Size([2, 100])
    """

    def __init__(self, config: BertConfig, *, next_sentence: bool = True) -> None:
        super().__init__()
        self.config = config
        self.bert = Bert(config, pooler=next_sentence)
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.norm = nn.LayerNorm(config.d_model, config.eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.next_sentence = nn.Linear(config.d_model, 2) if next_sentence else None
        initialise_head(self)

    def forward(
        self,
        token_ids: TokenIds,
        segment_ids: TokenIds | None = None,
        *,
        mask: Mask = None,
        positions: Bool[Tensor, "batch t"] | None = None,
    ) -> PreTrainingOutput:
        """Puntúa las palabras de cada posición y si la segunda oración sigue a la primera.

        Argumentos:
            token_ids, segment_ids, mask: los de `Bert.forward`.
            positions: True en las posiciones que hay que puntuar, `[batch, t]`; si falta, todas.
                Al entrenar bastan las ocultas, y el producto por E es de lo más caro.

        Devuelve:
            Una `PreTrainingOutput`.

        Errores:
            ValueError: si positions no es una máscara de la forma de token_ids; y los de
            `Bert.forward`.
        """
        if positions is not None:
            _require_mask("positions", positions, tuple(token_ids.shape))
        H, pooled, *_ = self.bert(token_ids, segment_ids, mask=mask)
        logits = self.decode(H if positions is None else H[positions])
        return PreTrainingOutput(logits, None if pooled is None else self.next_sentence(pooled))

    def decode(self, H: Float[Tensor, "*batch d_model"]) -> Float[Tensor, "*batch vocab"]:
        """Puntúa cada palabra del vocabulario a partir del vector de una posición."""
        H = self.norm(ACTIVATIONS[self.config.activation](self.transform(H)))
        return F.linear(H, self.bert.embedding.tokens.table.weight, self.bias)


def _block(config: BertConfig) -> EncoderBlock:
    attention = MultiHeadAttention(
        config.d_model, config.num_heads, bias=True, dropout=config.attention_dropout
    )
    return EncoderBlock(
        config.d_model,
        config.num_heads,
        config.d_ff,
        activation=config.activation,
        attention=attention,
        dropout=config.dropout,
        eps=config.eps,
    )


def initialise_head(model: nn.Module) -> None:
    """Inicializa lo que un modelo tiene además de su `bert`."""
    for child in model.children():
        if child is not model.bert:
            child.apply(_initialise)


def _initialise(module: nn.Module) -> None:
    """Normal de desviación 0.02, recortada a dos desviaciones, y sesgos en cero."""
    tables = [getattr(module, "position_table", None)]
    if isinstance(module, nn.Linear | nn.Embedding):
        tables = [module.weight]
    for table in tables:
        if table is not None:
            nn.init.trunc_normal_(table, std=INITIAL_STD, a=-2 * INITIAL_STD, b=2 * INITIAL_STD)
    if getattr(module, "bias", None) is not None:
        nn.init.zeros_(module.bias)


def real_tokens(token_ids: TokenIds, mask: Mask, pad_id: int) -> Bool[Tensor, "batch 1 t"]:
    """La máscara de los tokens reales: la dada o, si falta, la de los que no son relleno."""
    if mask is None:
        return padding_mask(token_ids, pad_id)
    _require_mask("mask", mask, (len(token_ids), 1, token_ids.shape[-1]))
    return mask


def _require_mask(name: str, mask: Tensor, shape: tuple[int, ...]) -> None:
    if mask.dtype != torch.bool or mask.shape != shape:
        raise ValueError(
            f"{name}: se esperaba una máscara booleana de forma {shape} y llegó "
            f"{tuple(mask.shape)} de tipo {mask.dtype}. Si es de ceros y unos, usa {name}.bool()."
        )
