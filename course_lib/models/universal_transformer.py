"""El Universal Transformer: un solo bloque, repetido tantas veces como haga falta."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.adaptive_computation import (
    AdaptiveComputation,
    AdaptiveOutput,
    Deliberation,
    FixedComputation,
)
from course_lib.layers.arguments import require, require_caches, require_rows, require_width
from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.embeddings import rows_from
from course_lib.layers.encoder_decoder import DecoderState, EncoderDecoderConfig
from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.layers.normalization import make_final_norm
from course_lib.primitives.attention import padding_mask
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

SourceIds = Int[Tensor, "batch t_source"]
TargetIds = Int[Tensor, "batch t_target"]
Logits = Float[Tensor, "batch t_target vocab"]
Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Mask = Bool[Tensor, "batch 1 t"] | None
CrossMask = Bool[Tensor, "batch 1 t_source"] | None

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

    logits: Logits
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

    def forward(self, source: SourceIds, target: TargetIds, *, start: Start = 0) -> UniversalOutput:
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

    def encode(self, source: SourceIds, *, start: Start = 0) -> AdaptiveOutput:
        """Da la salida del codificador, en `states`, y cuánto deliberó cada posición."""
        mask = padding_mask(source, self.config.pad_id)
        return self.encoder(self.source_embedding(source), mask=mask, start=start)

    def start(self, source: SourceIds) -> DecoderState:
        """Lee el origen y deja todo listo para escribir con `step`: una caché por paso."""
        caches = tuple(KeyValueCache() for _ in range(self.config.max_steps))
        encoded = self.encode(source).states
        return DecoderState(caches, encoded, padding_mask(source, self.config.pad_id))

    def step(self, token_ids: TargetIds, state: DecoderState) -> tuple[Logits, DecoderState]:
        """Escribe los tokens siguientes: los mismos logits que `forward`, sin repetir lo hecho.

        Argumentos:
            token_ids: los tokens nuevos, que siguen a los del estado; ninguno es relleno.
            state: el de `start` o el del paso anterior; no cambia, y puede usarse otra vez.

        Devuelve:
            El par (logits de los tokens nuevos, estado siguiente).
        """
        require_rows(token_ids, len(state.mask), "state")
        require_caches("state", state.caches, self.decoder.steps, "pasos")
        seen = {"cross_mask": state.mask, "start": state.length}
        state, y = state.copy(), self.target_embedding(token_ids, start=state.length)
        decoded = self.decoder(y, state.encoded, **seen, caches=state.caches)
        return self.logits(decoded.states), state

    def logits(self, y: Target) -> Logits:
        """Puntúa cada palabra del vocabulario por su parecido con la salida: y Eᵀ."""
        return F.linear(y, self.target_embedding.table.weight)


class _Universal(nn.Module):
    """Un bloque, las codificaciones de cada paso y quien decide cuántos se dan."""

    Block: type[nn.Module]

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        *,
        max_steps: int,
        max_length: int,
        adaptive: bool = True,
        epsilon: float = 0.01,
        final_norm: bool | None = None,
        **options,
    ) -> None:
        super().__init__()
        require(max_steps=max_steps, max_length=max_length)
        if options.get("attention") is not None:
            raise ValueError(
                "attention: se esperaba ninguna y llegó una "
                f"{type(options['attention']).__name__}."
                " El Universal Transformer crea la suya: `fast.gathering` calcula solo las "
                "posiciones activas, y otra, como la relativa, contaría mal sus distancias."
            )
        self.max_length = max_length
        self.block = self.Block(d_model, num_heads, d_ff, **options)
        self.computation = (
            AdaptiveComputation(d_model, max_steps, epsilon=epsilon)
            if adaptive
            else FixedComputation(max_steps)
        )
        self.norm = make_final_norm(d_model, final_norm, **options)
        like = next(self.block.parameters())
        for name, count in {"positions": max_length, "steps": max_steps}.items():
            # Las posiciones y los pasos se cuentan desde 1.
            table = sinusoidal_positions(
                count, d_model, start=1, device=like.device, dtype=like.dtype
            )
            self.register_buffer(name, table, persistent=False)

    def _output(self, deliberation: Deliberation) -> AdaptiveOutput:
        """Lo que queda al final, normalizado si toca; ceros en el relleno."""
        output = deliberation.output()
        padding = (output.n_updates == 0)[..., None]
        return output._replace(states=self.norm(output.states).masked_fill(padding, 0.0))

    def _positions_of(self, x: Tensor, start: Start) -> Float[Tensor, "... t d_model"]:
        """Las codificaciones de las posiciones de x, si antes van `start`."""
        require_width("x", x, self.positions.shape[-1], "d_model")
        return rows_from(self.positions, x.shape[:2], start)


class UniversalEncoder(_Universal):
    """Un bloque de codificador, repetido: recurrencia en profundidad.

        u^n = s^{n−1} + P^n            P^n: dónde está cada posición y en qué paso va
        s^n = bloque(u^n)

    Los parámetros son los de un solo bloque, se den los pasos que se den.

    Argumentos:
        d_model, num_heads, d_ff: los del bloque.
        max_steps: cuántas veces se aplica, como mucho.
        max_length: la secuencia más larga.
        adaptive: si cada posición decide cuándo parar (`AdaptiveComputation`); con False, todas
            dan max_steps pasos.
        epsilon: ε de la parada.
        final_norm: si se normaliza la salida; None, solo si la colocación lo pide.
        options: las opciones de `EncoderBlock`, salvo `attention`: la de siempre es la única que
            puede mirar desde unas posiciones sueltas.

    Errores:
        ValueError: si un tamaño o una opción no tiene sentido.

    Fuente: Dehghani et al. (2018), §2.1 y §2.2; ecuaciones `eq-universal-step` y
    `eq-universal-positions` del capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import UniversalEncoder
        >>> shallow, deep = (
        ...     UniversalEncoder(8, 2, 32, max_steps=steps, max_length=10) for steps in (2, 20)
        ... )
        >>> [sum(p.numel() for p in encoder.parameters()) for encoder in (shallow, deep)]
        [881, 881]
        >>> deep(torch.rand(1, 5, 8)).states.shape
        torch.Size([1, 5, 8])
    """

    Block = EncoderBlock

    def forward(
        self, x: Source, *, mask: Mask = None, causal: bool = False, start: Start = 0
    ) -> AdaptiveOutput:
        """Transforma x hasta que todas sus posiciones se detienen.

        Argumentos:
            x: `[batch, t, d_model]`, sin codificaciones de posición.
            mask: False en el relleno, `[batch, 1, t]`: ni se ve ni cuenta.
            causal: con True, cada posición ve solo hasta sí misma.
            start: cuántas posiciones van antes de la primera; un entero o uno por fila.

        Errores:
            ValueError: si las formas no concuerdan o una posición pasa de max_length.
        """
        positions, d = self._positions_of(x, start), self.computation.start(x, mask)
        for step in self.steps:
            u = d.states + positions + step
            d = self.computation(d, u, self.block(u, mask=mask, causal=causal))
        return self._output(d)


class UniversalDecoder(_Universal):
    """Un bloque de decodificador, repetido; cada posición del destino delibera por su cuenta.

    Lo que decide una posición depende de ella y de las anteriores, nunca de las que siguen.

    Argumentos: los de `UniversalEncoder`.

    Fuente: Dehghani et al. (2018), §2.1 y §2.2; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import UniversalDecoder
        >>> decoder = UniversalDecoder(8, 2, 32, max_steps=4, max_length=10, adaptive=False)
        >>> output = decoder(torch.rand(1, 3, 8), torch.rand(1, 5, 8))  # destino y origen
        >>> output.states.shape, output.n_updates
        (torch.Size([1, 3, 8]), tensor([[4, 4, 4]]))
    """

    Block = DecoderBlock

    def forward(
        self,
        y: Target,
        encoded: Source,
        *,
        mask: Mask = None,
        cross_mask: CrossMask = None,
        start: Start = 0,
        caches: Sequence[KeyValueCache] | None = None,
    ) -> AdaptiveOutput:
        """Transforma el destino y, que mira al origen ya codificado.

        Argumentos:
            y: `[batch, t_target, d_model]`, sin codificaciones de posición; con cachés, solo las
                posiciones nuevas.
            encoded: salida del codificador, `[batch, t_source, d_model]`.
            mask: False en el relleno del destino, `[batch, 1, t_target]`.
            cross_mask: False en el relleno del origen, `[batch, 1, t_source]`.
            start: como en `UniversalEncoder.forward`.
            caches: claves y valores de las posiciones anteriores, una caché por paso, que se
                alargan. Guardan también los de quien ya se detuvo: una posición posterior puede
                llegar más hondo y los necesita.
        """
        positions, d = self._positions_of(y, start), self.computation.start(y, mask)
        seen = {"mask": mask, "cross_mask": cross_mask}
        for step, cache in zip(self.steps, caches or [None] * len(self.steps), strict=True):
            u = d.states + positions + step
            d = self.computation(d, u, self.block(u, encoded, **seen, cache=cache))
        return self._output(d)
