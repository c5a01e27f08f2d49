"""Textos largos en segmentos que se leen en orden, para un modelo con memoria."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Int
from torch import Tensor


def segments(
    token_ids: Int[Tensor, "batch t"], length: int
) -> Iterator[tuple[Int[Tensor, "batch t_q"], Int[Tensor, "batch t_q"]]]:
    """Recorre documentos por segmentos; cada uno, con los tokens que siguen a los suyos.

        entrada [x_s, …, x_{s+L−1}],  respuesta [x_{s+1}, …, x_{s+L}],   s = 0, L, 2L, …

    El último token de un segmento predice el primero del siguiente: no se pierde ninguno.

    Argumentos:
        token_ids: documentos enteros, uno por fila; los que acaban antes, con relleno detrás.
        length: L, tokens por segmento; el último puede ser más corto.

    Devuelve:
        Un iterador de pares (entrada, respuesta) de la misma forma.

    Errores:
        ValueError: si L no es positivo o no hay ningún token que predecir.

    Fuente: Dai et al. (2019), §3.2; capítulo `transformer_xl`.
    """
    _require_positive(length=length)
    if token_ids.ndim != 2 or token_ids.shape[1] < 2:
        raise ValueError(
            "token_ids: se esperaban documentos de al menos dos tokens, [batch, t], y llegó la "
            f"forma {tuple(token_ids.shape)}. Un solo documento es un lote de uno: token_ids[None]."
        )
    pairs = (token_ids[:, :-1].split(length, 1), token_ids[:, 1:].split(length, 1))
    return zip(*pairs, strict=True)


class TokenStream:
    """Un texto muy largo en filas que avanzan a la vez, de segmento en segmento.

    El texto se corta en `batch_size` trozos seguidos, uno por fila. La fila i de un segmento
    continúa la fila i del anterior, así que la memoria de uno sirve al siguiente::

        for number, token_ids in enumerate(stream.stream()):
            if number % len(stream) == 0:
                memory = None          # vuelta nueva: lo anterior ya no es el pasado
            logits, memory = model(token_ids[:, :-1], memory)

    Cada segmento trae un token de más, el primero del siguiente, que es lo que predice el último:
    `token_ids[:, :-1]` es la entrada y `token_ids[:, 1:]`, la respuesta. Los documentos sueltos, en
    cambio, se reparten con `training.batches.TokenBatches`.

    Argumentos:
        token_ids: el texto, una sola secuencia de identificadores.
        batch_size: filas.
        segment_length: tokens que avanza cada fila; el último segmento puede ser más corto.

    Errores:
        ValueError: si el texto no es una secuencia de enteros, no alcanza para un token por fila
        con su respuesta, o un tamaño no es positivo.

    Fuente: Dai et al. (2019), §3.2; capítulo `transformer_xl`.
    """

    def __init__(
        self, token_ids: Tensor | Sequence[int], *, batch_size: int, segment_length: int
    ) -> None:
        _require_positive(batch_size=batch_size, segment_length=segment_length)
        text = _as_text(token_ids)
        t = (len(text) - 1) // batch_size
        if t < 1:
            raise ValueError(
                f"Se esperaba un texto de más de {batch_size} tokens, uno por fila y el que sigue "
                f"al último, y llegó uno de {len(text)}: usa menos filas o un texto más largo."
            )
        # La respuesta al último token de una fila es el primero de la siguiente.
        self.rows = text[: batch_size * t + 1].unfold(0, t + 1, t)
        self.segment_length = segment_length

    def __len__(self) -> int:
        """Cuántos segmentos tiene una vuelta al texto."""
        return -(-(self.rows.shape[1] - 1) // self.segment_length)

    def __iter__(self) -> Iterator[Int[Tensor, "batch t"]]:
        """Recorre el texto una vez, en orden."""
        return map(self.segment, range(len(self)))

    def stream(self, start: int = 0) -> Iterator[Int[Tensor, "batch t"]]:
        """Segmentos sin fin, vuelta tras vuelta, a partir del número `start`."""
        while True:
            yield self.segment(start % len(self))
            start += 1

    def segment(self, number: int) -> Int[Tensor, "batch t"]:
        """El segmento de ese número dentro de una vuelta, con un token de más."""
        start = number * self.segment_length
        return self.rows[:, start : start + self.segment_length + 1]


def _as_text(token_ids):
    text = torch.as_tensor(token_ids)
    if text.ndim != 1 or text.is_floating_point():
        raise ValueError(
            "token_ids: se esperaba una sola secuencia de identificadores enteros y llegó la forma "
            f"{tuple(text.shape)}, de tipo {text.dtype}. Si son varios documentos, únelos con "
            "torch.cat, con un token de fin detrás de cada uno."
        )
    return text.long()


def _require_positive(**sizes):
    for name, size in sizes.items():
        if size < 1:
            raise ValueError(f"{name}: se esperaba un entero positivo y llegó {size!r}.")
