"""Escribir de token en token, con un modelo que ya no se entrena."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.fast._twin import twin
from course_lib.fast.frozen_memory import frozen
from course_lib.fast.keys_values import Heads, attend_to, keys_values
from course_lib.fast.palm_writer import PaLMWriter
from course_lib.fast.reserved_cache import ReservedCache
from course_lib.layers.arguments import require_caches, require_rows
from course_lib.layers.encoder_decoder import DecoderState
from course_lib.models.palm import PaLM
from course_lib.models.transformer import Transformer
from course_lib.models.transformer_xl import TransformerXL


@runtime_checkable
class Writer(Protocol):
    """Lo que da `writer`, y lo que `decoding` pide: cada paso lleva de un estado al siguiente."""

    def step(self, token_ids: Int[Tensor, "batch t"], state: Any) -> tuple[Tensor, Any]:
        """Lee los tokens nuevos y da los logits y el estado que sigue."""
        ...


def writer(model: nn.Module, **options) -> Writer:
    """Lo mismo que un modelo para `decoding`, más deprisa: su `step`, y su `start` si lo tiene.

    Argumentos:
        model: un `PaLM` (da un `PaLMWriter`), un `TransformerXL` (el de `frozen`) o un
            `Transformer` (el origen se proyecta una sola vez). No cambia.
        options: las de `PaLMWriter`.

    Errores:
        ValueError: si el modelo es de otra clase, y los de `PaLMWriter`.

    Fuente: capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib import fast
        >>> from course_lib.decoding import greedy
        >>> from course_lib.models import PaLM, PaLMConfig
        >>> palm = PaLM(PaLMConfig(vocab_size=50, d_model=32, num_heads=4, num_layers=2)).eval()
        >>> prompt, options = torch.tensor([[5, 6, 7]]), {"end_id": None, "max_new_tokens": 8}
        >>> same = greedy(fast.writer(palm).step, prompt, **options)
        >>> torch.equal(same.token_ids, greedy(palm.step, prompt, **options).token_ids)
        True
    """
    if isinstance(model, PaLM):
        return PaLMWriter(model, **options)
    if isinstance(model, TransformerXL):
        return frozen(model)
    return twin(model, {Transformer: WritingTransformer})


@dataclass(frozen=True, eq=False, repr=False)
class ProjectedState(DecoderState):
    """Un `DecoderState` con las claves y los valores del origen ya proyectados, por bloque."""

    projected: tuple[tuple[Heads, Heads], ...] = ()

    def select(self, rows: Int[Tensor, " rows"]) -> "ProjectedState":
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return ProjectedState(
            tuple(cache.select(rows) for cache in self.caches),
            self.encoded[rows],
            self.mask[rows],
            tuple((K[rows], V[rows]) for K, V in self.projected),
        )


class WritingTransformer(Transformer):
    """Un `Transformer` que proyecta el origen una sola vez; lo hace `writer`."""

    def start(self, source: Int[Tensor, "batch t_source"]) -> ProjectedState:
        """Lee el origen y deja todo listo para escribir con `step`."""
        state, blocks = super().start(source), self.encoder_decoder.decoder.blocks
        caches = tuple(ReservedCache() for _ in blocks)
        pairs = (keys_values(block.cross_attention, state.encoded) for block in blocks)
        return ProjectedState(caches, state.encoded, state.mask, tuple(pairs))

    def step(
        self, token_ids: Int[Tensor, "batch t"], state: ProjectedState
    ) -> tuple[Float[Tensor, "batch t vocab"], ProjectedState]:
        """Escribe los tokens siguientes; como `Transformer.step`."""
        require_rows(token_ids, len(state.mask), "state")
        decoder = self.encoder_decoder.decoder
        require_caches("state", state.caches, decoder.blocks)
        state = state.copy()
        y = self.target_embedding(token_ids, start=state.length)
        for block, cache, pair in zip(decoder.blocks, state.caches, state.projected, strict=True):
            y = _through(block, y, cache, pair, state.mask)
        return self.logits(decoder.norm(y)), state


def _through(block, y, cache, pair, mask):
    """Un bloque de decodificador que mira a un origen ya proyectado."""
    y = block.residual_self(y, lambda y: block.self_attention(y, causal=True, cache=cache))
    y = block.residual_cross(y, lambda y: attend_to(block.cross_attention, y, *pair, mask))
    return block.residual_feed_forward(y, block.feed_forward)
