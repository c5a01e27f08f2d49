"""El Transformer: de los tokens de una oración a los de otra."""

from dataclasses import dataclass, replace
from typing import Literal

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require_caches, require_option, require_rows
from course_lib.layers.embeddings import POSITIONS
from course_lib.layers.encoder_decoder import (
    Decoder,
    DecoderState,
    Encoder,
    EncoderDecoder,
    EncoderDecoderConfig,
)
from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.primitives.attention import padding_mask

SourceIds = Int[Tensor, "batch t_source"]
TargetIds = Int[Tensor, "batch t_target"]
Encoded = Float[Tensor, "batch t_source d_model"]
Logits = Float[Tensor, "batch t_target vocab"]


@dataclass(frozen=True)
class TransformerConfig(EncoderDecoderConfig):
    """Tamaños y variante de un `Transformer`.

    Argumentos:
        num_layers: cuántos bloques tiene cada pila.
        positions: "sinusoidal" | "learned" | None.

    Los demás, los de `EncoderDecoderConfig`.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Vaswani et al. (2017), tabla 3; capítulo `transformer`.

    Ejemplo:
        >>> from course_lib.models import TransformerConfig
        >>> base, big = TransformerConfig.base(), TransformerConfig.big()
        >>> (base.d_model, base.num_heads, base.d_ff), (big.d_model, big.num_heads, big.d_ff)
        ((512, 8, 2048), (1024, 16, 4096))
    """

    num_layers: int = 6
    positions: Literal["sinusoidal", "learned"] | None = "sinusoidal"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_option("positions", self.positions, POSITIONS)

    @classmethod
    def base(cls, source_vocab: int = 37_000, **changes) -> "TransformerConfig":
        """El modelo base del artículo (tabla 3), con su vocabulario inglés-alemán compartido."""
        return cls(source_vocab, **changes)

    @classmethod
    def big(cls, source_vocab: int = 37_000, **changes) -> "TransformerConfig":
        """El modelo grande del artículo (tabla 3)."""
        big = cls(source_vocab, d_model=1024, num_heads=16, d_ff=4096, dropout=0.3)
        return replace(big, **changes)


class Transformer(nn.Module):
    """Lee una oración con un codificador y escribe otra con un decodificador, sin recurrencia.

        encoded = codificador(incrustación(origen))
        logits = decodificador(incrustación(destino), encoded) Eᵀ

    La salida usa la tabla E del destino: no hay otra matriz que aprender.

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Vaswani et al. (2017), §3 y fig. 1; capítulo `transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import Transformer, TransformerConfig
        >>> config = TransformerConfig(source_vocab=20, d_model=8, num_heads=2, dropout=0.0)
        >>> model = Transformer(config)
        >>> source, target = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]])
        >>> logits = model(source, target)
        >>> logits.shape  # qué palabra sigue a cada una del destino
        torch.Size([1, 3, 20])
        >>> step, _ = model.step(target[:, :1], model.start(source))  # lo mismo, de una en una
        >>> torch.allclose(step, logits[:, :1], atol=1e-4)
        True
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding, self.target_embedding = config.embeddings(config.positions)
        sizes = (config.d_model, config.num_heads, config.d_ff, config.num_layers)
        encoder, decoder = Encoder(*sizes, **config.block), Decoder(*sizes, **config.block)
        self.encoder_decoder = EncoderDecoder(encoder, decoder)

    def forward(
        self, source: SourceIds, target: TargetIds, *, start: int | Int[Tensor, " batch"] = 0
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

    def encode(self, source: SourceIds) -> Encoded:
        """Da la salida del codificador: lo que el modelo sabe de cada token de origen."""
        mask = padding_mask(source, self.config.pad_id)
        return self.encoder_decoder.encoder(self.source_embedding(source), mask=mask)

    def start(self, source: SourceIds) -> DecoderState:
        """Lee el origen y deja todo listo para escribir con `step`."""
        caches = tuple(KeyValueCache() for _ in range(self.config.num_layers))
        return DecoderState(caches, self.encode(source), padding_mask(source, self.config.pad_id))

    def step(self, token_ids: TargetIds, state: DecoderState) -> tuple[Logits, DecoderState]:
        """Escribe los tokens siguientes: los mismos logits que `forward`, sin repetir lo hecho.

        Argumentos:
            token_ids: los tokens nuevos, que siguen a los del estado; al comenzar, start_id.
            state: el de `start` o el del paso anterior; no cambia, y puede usarse otra vez.

        Devuelve:
            El par (logits de los tokens nuevos, estado siguiente).

        Errores:
            ValueError: los de `forward`, o el estado es de otras filas o de otro modelo.
        """
        decoder = self.encoder_decoder.decoder
        require_rows(token_ids, len(state.mask), "state")
        require_caches("state", state.caches, decoder.blocks)
        state = state.copy()
        y = self.target_embedding(token_ids, start=state.length)
        y = decoder(y, state.encoded, cross_mask=state.mask, caches=state.caches)
        return self.logits(y), state

    def logits(self, y: Float[Tensor, "batch t_target d_model"]) -> Logits:
        """Puntúa cada palabra del vocabulario por su parecido con la salida: y Eᵀ."""
        return F.linear(y, self.target_embedding.table.weight)


def _require_batch(source: Tensor, target: Tensor) -> None:
    if source.shape[:-1] != target.shape[:-1]:
        raise ValueError(
            "Se esperaba el mismo lote en las dos entradas, una fila por par, y llegaron source "
            f"{tuple(source.shape)} y target {tuple(target.shape)}."
        )
