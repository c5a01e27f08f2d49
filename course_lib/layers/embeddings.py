"""De identificadores de tokens a vectores que dicen qué token es y dónde está."""

import math
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import (
    look_up,
    require,
    require_ids,
    require_option,
    require_pad_id,
)
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

POSITIONS = ("sinusoidal", "learned", None)
Start = int | Int[Tensor, "..."]
TokenIds = Int[Tensor, "batch t"]


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

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import InputEmbedding
        >>> embedding = InputEmbedding(vocab_size=10, d_model=8, max_length=6)
        >>> x = embedding(torch.tensor([[3, 3]]))  # el mismo token, dos veces
        >>> x.shape, torch.equal(x[0, 0], x[0, 1])  # su posición los distingue
        (torch.Size([1, 2, 8]), False)
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
        require(vocab_size=vocab_size, d_model=d_model, max_length=max_length, dropout=dropout)
        require_pad_id(pad_id or 0, vocab_size)
        require_option("positions", positions, POSITIONS)
        self.max_length, self.positions, self.pad_id = max_length, positions, pad_id
        self.factor = math.sqrt(d_model) if scale else 1.0
        self.table = nn.Embedding(vocab_size, d_model)
        self.dropout = nn.Dropout(dropout)
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

    def forward(self, token_ids: TokenIds, *, start: Start = 0) -> Float[Tensor, "batch t d_model"]:
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
        require_ids("token_ids", token_ids)
        x = self.factor * look_up("token_ids", token_ids, self.table.weight)
        if self.positions is None:
            require_room(token_ids.shape, start, self.max_length)
        else:
            x = x + rows_from(self.position_table, token_ids.shape, start)
        return self.dropout(x)


def rows_from(
    table: Float[Tensor, "max_length d_model"], shape: tuple[int, ...], start: Start
) -> Float[Tensor, "... t d_model"]:
    """Las filas de una tabla de posiciones que tocan a un lote.

    Argumentos:
        table: una fila por posición.
        shape: (batch, t), la forma del lote.
        start: la posición del primer elemento; un entero, o uno por fila. O la de cada elemento,
            `[batch, t]`.

    Errores:
        ValueError: si alguna posición no está en la tabla o no hay un comienzo por fila.
    """
    require_room(shape, start, len(table))
    if not isinstance(start, Tensor):
        return table[start : start + shape[1]]
    places = start
    if start.ndim < 2:
        places = start[..., None] + torch.arange(shape[1], device=start.device)
    try:
        return F.embedding(places, table)
    except IndexError:
        low, high = torch.stack(places.aminmax()).tolist()
        raise ValueError(_out_of_room(low, high, len(table))) from None


def require_room(shape: tuple[int, ...], start: Start, max_length: int) -> None:
    """Exige que la secuencia quepa; los comienzos de cada fila no se miran, para no leerlos."""
    if isinstance(start, Tensor):
        batch, t = shape
        if start.shape not in ((), (batch,), (batch, t)):
            raise ValueError(
                f"start: se esperaba un entero o uno por fila, de forma ({batch},), y llegó la "
                f"forma {tuple(start.shape)}."
            )
    elif start < 0 or start + shape[1] > max_length:
        raise ValueError(_out_of_room(start, start + shape[1] - 1, max_length))


def _out_of_room(low, high, max_length):
    return (
        f"Se esperaban posiciones entre 0 y {max_length - 1} y la secuencia va de {low} a {high}: "
        "acórtala o crea el modelo con un max_length mayor."
    )
