"""El Transformer: de los tokens de una oración a los de otra."""

from dataclasses import dataclass, replace
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import (
    require_dropout,
    require_heads,
    require_option,
    require_rows,
    require_sizes,
)
from course_lib.layers.blocks import Decoder, Encoder
from course_lib.layers.embeddings import POSITIONS, source_and_target
from course_lib.layers.encoder_decoder import EncoderDecoder
from course_lib.layers.feed_forward import ACTIVATIONS
from course_lib.layers.kv_cache import DecoderState, KeyValueCache
from course_lib.layers.normalization import NORMS, PLACEMENTS
from course_lib.primitives.masks import padding_mask

Logits = Float[Tensor, "batch t_target vocab"]


@dataclass(frozen=True)
class TransformerConfig:
    """Tamaños y variante de un `Transformer`.

    Argumentos:
        source_vocab: tamaño del vocabulario de origen, con los símbolos especiales.
        target_vocab: el de destino; None, un solo vocabulario y una sola tabla para el origen, el
            destino y la salida, como en el artículo.
        d_model, num_heads, num_layers, d_ff: ancho, cabezas, bloques de cada pila y ancho de la
            red prealimentada.
        dropout: el de las incrustaciones y el de la salida de cada subcapa.
        max_length: la secuencia más larga, en tokens.
        placement, norm, activation, positions: "post" | "pre" | "sandwich", "layer" | "rms",
            "relu" | "gelu", "sinusoidal" | "learned" | None.
        final_norm: si cada pila normaliza su salida; None, solo si la colocación lo pide (en
            "post" no, como en el artículo; `torch.nn.Transformer` lo hace siempre).
        pad_id, start_id, end_id: identificadores de relleno, comienzo y fin.

    Errores:
        ValueError: si un valor no tiene sentido.
    """

    source_vocab: int
    target_vocab: int | None = None
    d_model: int = 512
    num_heads: int = 8
    num_layers: int = 6
    d_ff: int = 2048
    dropout: float = 0.1
    max_length: int = 512
    placement: Literal["post", "pre", "sandwich"] = "post"
    norm: Literal["layer", "rms"] = "layer"
    activation: Literal["relu", "gelu"] = "relu"
    positions: Literal["sinusoidal", "learned"] | None = "sinusoidal"
    final_norm: bool | None = None
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2

    def __post_init__(self) -> None:
        require_option("placement", self.placement, PLACEMENTS)
        require_option("norm", self.norm, NORMS)
        require_option("activation", self.activation, tuple(ACTIVATIONS))
        require_option("positions", self.positions, POSITIONS)
        names = ("source_vocab", "d_model", "num_heads", "num_layers", "d_ff", "max_length")
        require_sizes(**{name: getattr(self, name) for name in names})
        require_heads(self.d_model, self.num_heads)
        require_dropout(self.dropout)
        self._require_special_ids()

    @property
    def output_vocab(self) -> int:
        """Tamaño del vocabulario en que escribe el modelo."""
        return self.source_vocab if self.target_vocab is None else self.target_vocab

    @classmethod
    def base(cls, source_vocab: int = 37_000, **changes) -> "TransformerConfig":
        """El modelo base del artículo (tabla 3), con su vocabulario inglés-alemán compartido."""
        return cls(source_vocab, **changes)

    @classmethod
    def big(cls, source_vocab: int = 37_000, **changes) -> "TransformerConfig":
        """El modelo grande del artículo (tabla 3)."""
        big = cls(source_vocab, d_model=1024, num_heads=16, d_ff=4096, dropout=0.3)
        return replace(big, **changes)

    def _require_special_ids(self):
        special = (self.pad_id, self.start_id, self.end_id)
        if len(set(special)) < 3 or not all(0 <= i < self.output_vocab for i in special):
            raise ValueError(
                "pad_id, start_id y end_id deben ser distintos y caber en el vocabulario de "
                f"destino, de {self.output_vocab}; llegaron {special}."
            )
        if not self.pad_id < self.source_vocab:
            raise ValueError(
                f"pad_id = {self.pad_id} no cabe en source_vocab = {self.source_vocab}."
            )


class Transformer(nn.Module):
    """Lee una oración con un codificador y escribe otra con un decodificador, sin recurrencia.

        encoded = codificador(incrustación(origen))
        logits = decodificador(incrustación(destino), encoded) Eᵀ

    La salida usa la tabla E del destino: no hay otra matriz que aprender.

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Vaswani et al. (2017), §3 y fig. 1; capítulo `transformer`.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding, self.target_embedding = source_and_target(
            config.source_vocab,
            config.target_vocab,
            config.d_model,
            max_length=config.max_length,
            positions=config.positions,
            pad_id=config.pad_id,
            dropout=config.dropout,
        )
        sizes = (config.d_model, config.num_heads, config.d_ff, config.num_layers)
        options = {
            "dropout": config.dropout,
            "activation": config.activation,
            "placement": config.placement,
            "norm": config.norm,
            "final_norm": config.final_norm,
        }
        self.encoder_decoder = EncoderDecoder(
            Encoder(*sizes, **options), Decoder(*sizes, **options)
        )

    def forward(
        self,
        source: Int[Tensor, "batch t_source"],
        target: Int[Tensor, "batch t_target"],
        *,
        start: int | Int[Tensor, " batch"] = 0,
    ) -> Logits:
        """Predice cada token del destino con los anteriores correctos (forzado del profesor).

        Argumentos:
            source: tokens de origen; los que valen pad_id no se ven.
            target: entrada del decodificador: start_id y el destino sin su último token. El
                relleno va al final: la máscara causal lo esconde de todas las posiciones reales.
            start: qué posición tiene el primer token de las dos; un entero, o uno por fila.

        Devuelve:
            Los logits, `[batch, t_target, vocab]`.

        Errores:
            ValueError: si un identificador no está en el vocabulario o una oración es más larga
            que max_length.
        """
        _require_batch(source, target)
        mask = padding_mask(source, self.config.pad_id)
        x = self.source_embedding(source, start=start)
        y = self.target_embedding(target, start=start)
        return self.logits(self.encoder_decoder(x, y, source_mask=mask, cross_mask=mask))

    def encode(
        self, source: Int[Tensor, "batch t_source"]
    ) -> Float[Tensor, "batch t_source d_model"]:
        """Da la salida del codificador: lo que el modelo sabe de cada token de origen."""
        mask = padding_mask(source, self.config.pad_id)
        return self.encoder_decoder.encoder(self.source_embedding(source), mask=mask)

    def start(self, source: Int[Tensor, "batch t_source"]) -> DecoderState:
        """Lee el origen y deja todo listo para escribir con `step`."""
        caches = tuple(KeyValueCache() for _ in range(self.config.num_layers))
        return DecoderState(caches, self.encode(source), padding_mask(source, self.config.pad_id))

    def step(
        self, token_ids: Int[Tensor, "batch t"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch t vocab"], DecoderState]:
        """Escribe los tokens siguientes: los mismos logits que `forward`, sin repetir lo hecho.

        Argumentos:
            token_ids: los tokens nuevos, que siguen a los del estado; al comenzar, start_id.
            state: el de `start` o el del paso anterior; no cambia, y puede usarse otra vez.

        Devuelve:
            El par (logits de los tokens nuevos, estado siguiente).

        Errores:
            ValueError: los de `forward`.
        """
        require_rows(token_ids, len(state.mask), "state")
        state = state.copy()
        y = self.target_embedding(token_ids, start=state.length)
        decoder = self.encoder_decoder.decoder
        y = decoder(y, state.encoded, cross_mask=state.mask, caches=state.caches)
        return self.logits(y), state

    def logits(self, y: Float[Tensor, "batch t d_model"]) -> Float[Tensor, "batch t vocab"]:
        """Puntúa cada palabra del vocabulario por su parecido con la salida: y Eᵀ."""
        return F.linear(y, self.target_embedding.table.weight)


def _require_batch(source: Tensor, target: Tensor) -> None:
    if source.shape[:-1] != target.shape[:-1]:
        raise ValueError(
            "Se esperaba el mismo lote en las dos entradas, una fila por par, y llegaron source "
            f"{tuple(source.shape)} y target {tuple(target.shape)}."
        )
