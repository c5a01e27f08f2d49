"""El Universal Transformer: un solo bloque, repetido tantas veces como haga falta."""

from dataclasses import dataclass
from typing import NamedTuple

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.adaptive_computation import AdaptiveOutput
from course_lib.layers.arguments import require_rows, require_sizes
from course_lib.layers.depth_recurrence import UniversalDecoder, UniversalEncoder
from course_lib.layers.dot_product_attention import KeyValueCache
from course_lib.layers.encoder_decoder import DecoderState, EncoderDecoderConfig
from course_lib.primitives.masks import padding_mask

Start = int | Int[Tensor, " batch"]


@dataclass(frozen=True)
class UniversalTransformerConfig(EncoderDecoderConfig):
    """Tamaños y variante de un `UniversalTransformer`.

    Argumentos:
        max_steps: cuántas veces se aplica el bloque, como mucho.
        adaptive: si cada posición decide cuándo parar; con False, todas dan max_steps pasos.
        epsilon: ε de la parada.

    Los demás, los de `EncoderDecoderConfig`.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: Dehghani et al. (2018), §2; capítulo `universal_transformer`.

    Ejemplo:
        >>> from course_lib.models import UniversalTransformerConfig
        >>> config = UniversalTransformerConfig(source_vocab=20, max_steps=8)
        >>> config.max_steps, config.adaptive, config.d_model
        (8, True, 512)
    """

    max_steps: int = 6
    adaptive: bool = True
    epsilon: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        require_sizes(max_steps=self.max_steps)


class UniversalOutput(NamedTuple):
    """Los logits, y cuánto deliberó cada mitad del modelo.

    Fuente: Dehghani et al. (2018), §2.2; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import UniversalTransformer, UniversalTransformerConfig
        >>> config = UniversalTransformerConfig(20, d_model=8, num_heads=2, d_ff=16, max_steps=4)
        >>> source, target = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]])
        >>> output = UniversalTransformer(config)(source, target)
        >>> output.logits.shape, output.encoder.n_updates.shape
        (torch.Size([1, 2, 20]), torch.Size([1, 3]))
        >>> 1 <= output.ponder_cost.item() <= 5  # de 1 a max_steps pasos, más el resto
        True
    """

    logits: Float[Tensor, "batch t_target vocab"]
    encoder: AdaptiveOutput
    decoder: AdaptiveOutput

    @property
    def ponder_cost(self) -> Float[Tensor, ""]:
        """Costo de deliberación medio de las posiciones reales, del origen y del destino."""
        halves = (self.encoder, self.decoder)
        real = sum((half.n_updates > 0).sum() for half in halves)
        return sum(half.ponder_cost.sum() for half in halves) / real.clamp(min=1)


class UniversalTransformer(nn.Module):
    """Un codificador y un decodificador de un bloque cada uno, que deliberan lo que haga falta.

        encoded = codificador(√d_model E[origen])
        logits = decodificador(√d_model E[destino], encoded) Eᵀ

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Dehghani et al. (2018), §2 y fig. 4; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import UniversalTransformer, UniversalTransformerConfig
        >>> config = UniversalTransformerConfig(20, d_model=8, num_heads=2, adaptive=False)
        >>> model = UniversalTransformer(config)
        >>> output = model(torch.tensor([[5, 6, 7, 2]]), torch.tensor([[1, 8, 9]]))
        >>> output.logits.shape
        torch.Size([1, 3, 20])
        >>> output.decoder.n_updates  # el mismo bloque, seis veces
        tensor([[6, 6, 6]])
    """

    def __init__(self, config: UniversalTransformerConfig) -> None:
        super().__init__()
        self.config = config
        # Las posiciones se suman antes de cada paso.
        self.source_embedding, self.target_embedding = config.embeddings(positions=None)
        sizes = (config.d_model, config.num_heads, config.d_ff)
        names = ("max_steps", "max_length", "adaptive", "epsilon")
        options = config.block | {name: getattr(config, name) for name in names}
        self.encoder = UniversalEncoder(*sizes, **options)
        self.decoder = UniversalDecoder(*sizes, **options)

    def forward(
        self,
        source: Int[Tensor, "batch t_source"],
        target: Int[Tensor, "batch t_target"],
        *,
        start: Start = 0,
    ) -> UniversalOutput:
        """Predice cada token del destino con los anteriores correctos (forzado del profesor).

        Argumentos:
            source, target: tokens; los que valen pad_id son relleno: ni se ven ni cuentan en el
                costo de deliberación. En el destino, va al final.
            start: cuántas posiciones van antes de la primera, en el origen y en el destino; un
                entero o uno por fila. Sorteado al entrenar, ninguna posición es nueva después.

        Errores:
            ValueError: si un identificador no está en el vocabulario o una oración es más larga
            que max_length.
        """
        encoded = self.encode(source, start=start)
        decoded = self.decoder(
            self.target_embedding(target),
            encoded.states,
            mask=padding_mask(target, self.config.pad_id),
            cross_mask=padding_mask(source, self.config.pad_id),
            start=start,
        )
        return UniversalOutput(self.logits(decoded.states), encoded, decoded)

    def encode(self, source: Int[Tensor, "batch t_source"], *, start: Start = 0) -> AdaptiveOutput:
        """Da la salida del codificador, en `states`, y cuánto deliberó cada posición."""
        mask = padding_mask(source, self.config.pad_id)
        return self.encoder(self.source_embedding(source), mask=mask, start=start)

    def start(self, source: Int[Tensor, "batch t_source"]) -> DecoderState:
        """Lee el origen y deja todo listo para escribir con `step`: una caché por paso."""
        caches = tuple(KeyValueCache() for _ in range(self.config.max_steps))
        encoded = self.encode(source).states
        return DecoderState(caches, encoded, padding_mask(source, self.config.pad_id))

    def step(
        self, token_ids: Int[Tensor, "batch t"], state: DecoderState
    ) -> tuple[Float[Tensor, "batch t vocab"], DecoderState]:
        """Escribe los tokens siguientes: los mismos logits que `forward`, sin repetir lo hecho.

        Argumentos:
            token_ids: los tokens nuevos, que siguen a los del estado; ninguno es relleno.
            state: el de `start` o el del paso anterior; no cambia, y puede usarse otra vez.

        Devuelve:
            El par (logits de los tokens nuevos, estado siguiente).
        """
        require_rows(token_ids, len(state.mask), "state")
        seen = {"cross_mask": state.mask, "start": state.length}
        state, y = state.copy(), self.target_embedding(token_ids, start=state.length)
        decoded = self.decoder(y, state.encoded, **seen, caches=state.caches)
        return self.logits(decoded.states), state

    def logits(self, y: Float[Tensor, "batch t d_model"]) -> Float[Tensor, "batch t vocab"]:
        """Puntúa cada palabra del vocabulario por su parecido con la salida: y Eᵀ."""
        return F.linear(y, self.target_embedding.table.weight)
