"""La recurrencia en profundidad: un codificador y un decodificador de un solo bloque, repetido."""

from collections.abc import Sequence

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.adaptive_computation import (
    AdaptiveComputation,
    AdaptiveOutput,
    Deliberation,
    FixedComputation,
)
from course_lib.layers.arguments import require_sizes, require_width
from course_lib.layers.blocks import DecoderBlock, EncoderBlock, make_final_norm
from course_lib.layers.dot_product_attention import KeyValueCache
from course_lib.layers.embeddings import rows_from
from course_lib.primitives.positions import sinusoidal_positions

Source = Float[Tensor, "batch t_source d_model"]
Target = Float[Tensor, "batch t_target d_model"]
Mask = Bool[Tensor, "batch 1 t"] | None
CrossMask = Bool[Tensor, "batch 1 t_source"] | None
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
        >>> from course_lib.layers import UniversalEncoder
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
        >>> from course_lib.layers import UniversalDecoder
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
