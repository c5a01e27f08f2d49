"""La recurrencia en profundidad: un codificador y un decodificador de un solo bloque, repetido."""

from dataclasses import replace

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.adaptive_computation import (
    AdaptiveComputation,
    AdaptiveOutput,
    FixedComputation,
)
from course_lib.layers.arguments import require_sizes, require_width
from course_lib.layers.blocks import DecoderBlock, EncoderBlock, make_final_norm
from course_lib.layers.embeddings import position_rows
from course_lib.layers.kv_cache import DecoderState
from course_lib.layers.tied_block import TiedBlock
from course_lib.primitives.positions import sinusoidal_positions

Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Visible = Bool[Tensor, "batch t"] | None
Start = int | Int[Tensor, " batch"]


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
        require_sizes(max_steps=max_steps, max_length=max_length)
        if options.get("attention") is not None:
            raise ValueError(
                f"attention: se esperaba ninguna y llegó una {type(options['attention']).__name__}."
                " El Universal Transformer crea la suya: calcula solo las posiciones activas, y "
                "otra puntuación, como la relativa, contaría mal las distancias entre ellas."
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

    def _compute(self, x, step, visible) -> AdaptiveOutput:
        output = self.computation(x, step, visible=visible)
        states = self.norm(output.states)
        if visible is not None:
            states = states.masked_fill(~visible[..., None], 0.0)
        return output._replace(states=states)

    def _positions_of(self, x: Tensor, start: Start) -> Float[Tensor, "... t d_model"]:
        """Las codificaciones de las posiciones de x, si antes van `start`."""
        require_width("x", x, self.positions.shape[-1], "d_model")
        return self.positions[position_rows(x.shape[:2], start, self.max_length)]


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
    """

    Block = EncoderBlock

    def forward(
        self, x: Source, *, visible: Visible = None, causal: bool = False, start: Start = 0
    ) -> AdaptiveOutput:
        """Transforma x hasta que todas sus posiciones se detienen.

        Argumentos:
            x: `[batch, t, d_model]`, sin codificaciones de posición.
            visible: False en el relleno: ni se ve, ni se calcula, ni cuenta.
            causal: con True, cada posición ve solo hasta sí misma.
            start: cuántas posiciones van antes de la primera; un entero o uno por fila.

        Errores:
            ValueError: si las formas no concuerdan o una posición pasa de max_length.
        """
        step = TiedBlock(
            self.block,
            self.block.attention,
            self.block.residual_attention,
            self._positions_of(x, start),
            self.steps,
            visible=visible,
            causal=causal,
        )
        return self._compute(x, step, visible)


class UniversalDecoder(_Universal):
    """Un bloque de decodificador, repetido; cada posición del destino delibera por su cuenta.

    Lo que decide una posición depende de ella y de las anteriores, nunca de las que siguen.

    Argumentos: los de `UniversalEncoder`.

    Fuente: Dehghani et al. (2018), §2.1 y §2.2; capítulo `universal_transformer`.
    """

    Block = DecoderBlock

    def forward(
        self,
        y: Target,
        h: Source,
        *,
        visible: Visible = None,
        source_visible: Bool[Tensor, "batch t_source"] | None = None,
        start: Start = 0,
    ) -> AdaptiveOutput:
        """Transforma el destino y, que mira al origen ya codificado h.

        Argumentos:
            y: `[batch, t_target, d_model]`, sin codificaciones de posición.
            h: salida del codificador, `[batch, t_source, d_model]`.
            visible: False en el relleno del destino.
            source_visible: False en el relleno del origen.
            start: como en `UniversalEncoder.forward`.
        """
        source_visible = None if source_visible is None else source_visible[:, None]
        memory = self.block.cross_attention.keys_values(h)
        step = self._step(y, start, memory, source_visible, visible=visible)
        return self._compute(y, step, visible)

    def step(self, y: Target, state: DecoderState) -> tuple[AdaptiveOutput, DecoderState]:
        """Lo mismo para las posiciones nuevas, que siguen a las del estado.

        Cada paso guarda sus claves y valores en su propia caché, también los de las posiciones
        que ya se detuvieron: una posición posterior puede llegar más hondo y las necesita.
        """
        step = self._step(y, state.length, *state.memory, state.visible, caches=state.caches)
        output = self._compute(y, step, None)
        return output, replace(state, caches=step.filled(output.last_states))

    def _step(self, y, start, memory, source_visible, **options):
        return TiedBlock(
            self.block,
            self.block.self_attention,
            self.block.residual_self,
            self._positions_of(y, start),
            self.steps,
            causal=True,
            across=(self.block.cross_attention, memory, source_visible),
            **options,
        )
