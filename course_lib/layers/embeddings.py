"""De identificadores de tokens a vectores que dicen qué token es y dónde está."""

import math
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require_ids, require_option, require_sizes
from course_lib.layers.normalization import make_dropout
from course_lib.primitives.positions import sinusoidal_positions

POSITIONS = ("sinusoidal", "learned", None)


class InputEmbedding(nn.Module):
    """Busca el vector de cada token y le suma la codificación de su posición.

        x_t = dropout(√d_model · E[token_t] + PE[t])

    Argumentos:
        vocab_size: número de filas de la tabla E.
        d_model: ancho de los vectores.
        max_length: cuántas posiciones hay, desde 0.
        positions: "sinusoidal" (fijas), "learned" (una fila aprendida por posición) o None (el
            modelo ve un conjunto, sin orden).
        scale: con True multiplica el vector del token por √d_model, como el artículo.
        pad_id: identificador del relleno, cuya fila vale cero al comenzar; None si no hay.
        dropout: probabilidad de anular un número de la suma al entrenar.

    Errores:
        ValueError: si un tamaño no es positivo o una opción no existe.

    Fuente: Vaswani et al. (2017), §3.4, §3.5 y §5.4; capítulo `positions`.
    """

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        *,
        max_length: int,
        positions: Literal["sinusoidal", "learned"] | None = "sinusoidal",
        scale: bool = True,
        pad_id: int | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        require_sizes(vocab_size=vocab_size, d_model=d_model, max_length=max_length)
        _require_pad_id(pad_id, vocab_size)
        require_option("positions", positions, POSITIONS)
        self.max_length, self.positions, self.pad_id = max_length, positions, pad_id
        self.factor = math.sqrt(d_model) if scale else 1.0
        self.table = nn.Embedding(vocab_size, d_model)
        self.dropout = make_dropout(dropout)
        if positions == "learned":
            self.position_table = nn.Parameter(torch.empty(max_length, d_model))
        elif positions == "sinusoidal":
            like = {"device": self.table.weight.device, "dtype": self.table.weight.dtype}
            table = sinusoidal_positions(max_length, d_model, **like)
            self.register_buffer("position_table", table, persistent=False)
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Inicializa la tabla para que cada vector, ya escalado, sea N(0, 1).

        Las posiciones aprendidas comienzan con la media cuadrática de las sinusoidales, 1/√2: si
        fueran mucho menores que los tokens, el modelo tardaría más en ver el orden.
        """
        nn.init.normal_(self.table.weight, std=1 / self.factor)
        if self.pad_id is not None:
            self.table.weight[self.pad_id].zero_()
        if self.positions == "learned":
            nn.init.normal_(self.position_table, std=math.sqrt(0.5))

    def forward(
        self,
        token_ids: Int[Tensor, "batch t"],
        *,
        start: int | Int[Tensor, " batch"] | Int[Tensor, "batch t"] = 0,
    ) -> Float[Tensor, "batch t d_model"]:
        """Convierte identificadores en vectores.

        Argumentos:
            token_ids: identificadores, `[batch, t]`.
            start: posición del primer token; en una generación con caché, cuántos van ya. Un
                entero, o uno por fila; o la posición de cada token, `[batch, t]`.

        Devuelve:
            Los vectores, `[batch, t, d_model]`.

        Errores:
            ValueError: si un identificador no está en la tabla o la secuencia pasa de max_length.
        """
        require_ids("token_ids", token_ids, self.table.num_embeddings)
        places = position_rows(token_ids.shape, start, self.max_length)
        x = self.table(token_ids)
        if self.factor != 1:
            x = x * self.factor
        if self.positions is not None:
            x = x + self.position_table[places]
        return self.dropout(x)


def source_and_target(
    source_vocab: int, target_vocab: int | None, d_model: int, **options
) -> tuple[InputEmbedding, InputEmbedding]:
    """La incrustación del origen y la del destino; con un solo vocabulario, es la misma.

    Argumentos:
        source_vocab, target_vocab: los tamaños de los vocabularios; None, uno para los dos.
        d_model: ancho de los vectores.
        options: las demás opciones de `InputEmbedding`.
    """
    source = InputEmbedding(source_vocab, d_model, **options)
    if target_vocab is None:
        return source, source
    return source, InputEmbedding(target_vocab, d_model, **options)


def position_rows(
    shape: tuple[int, ...], start: int | Int[Tensor, "..."], max_length: int
) -> slice | Int[Tensor, "..."]:
    """Qué filas de una tabla de posiciones tocan: un trozo, o índices si cada fila va aparte.

    Argumentos:
        shape: (batch, t), la forma del lote.
        start: la posición del primer elemento; un entero, o uno por fila. O la de cada elemento,
            `[batch, t]`.
        max_length: cuántas filas tiene la tabla.

    Errores:
        ValueError: si alguna posición no está en la tabla o no hay un comienzo por fila.
    """
    batch, t = shape
    each = isinstance(start, Tensor)
    if each and start.shape not in ((), (batch,), (batch, t)):
        raise ValueError(
            f"start: se esperaba un entero o uno por fila, de forma ({batch},), y llegó la forma "
            f"{tuple(start.shape)}."
        )
    whole = each and start.ndim == 2
    low, high = (int(end) for end in start.aminmax()) if each else (start, start)
    stop = high + (1 if whole else t)
    if low < 0 or stop > max_length:
        raise ValueError(
            f"Se esperaban posiciones entre 0 y {max_length - 1} y la secuencia va de {low} a "
            f"{stop - 1}: acórtala o crea el modelo con un max_length mayor."
        )
    if each:
        return start if whole else start[..., None] + torch.arange(t, device=start.device)
    return slice(start, stop)


def _require_pad_id(pad_id, vocab_size):
    if pad_id is not None and not 0 <= pad_id < vocab_size:
        raise ValueError(
            f"pad_id: se esperaba un identificador entre 0 y {vocab_size - 1} y llegó {pad_id}."
        )
