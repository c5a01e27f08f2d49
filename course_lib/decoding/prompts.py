"""Indicaciones de distinta longitud en un lote."""

from collections.abc import Sequence
from numbers import Integral

import torch
from jaxtyping import Int
from torch import Tensor


def left_pad(
    prompts: Sequence[Sequence[int]], pad_id: int = 0
) -> tuple[Int[Tensor, "batch t"], Int[Tensor, " batch"]]:
    """Pone en un lote indicaciones de distinta longitud, con el relleno delante.

    Así el último token de todas cae en la misma columna, y lo que se escribe va detrás sin huecos.

    Argumentos:
        prompts: los identificadores de cada indicación, al menos uno.
        pad_id: el que rellena; el modelo no lo mira, y puede ser cualquiera del vocabulario.

    Devuelve:
        El par (tokens, `[batch, t]`; cuántas columnas de relleno lleva cada fila, `[batch]`). El
        segundo es el `padding` de `PaLM.start`.

    Errores:
        ValueError: si no hay indicaciones, o alguna está vacía o no es una lista de enteros.

    Ejemplo:
        >>> from course_lib.decoding import left_pad
        >>> tokens, padding = left_pad([[5, 6, 7], [8]])
        >>> tokens
        tensor([[5, 6, 7],
                [0, 0, 8]])
        >>> padding
        tensor([0, 2])
    """
    if not all(_is_list_of_ids(prompt) for prompt in prompts):
        raise ValueError(
            "prompts: se esperaba una lista de indicaciones, cada una una lista de identificadores "
            f"enteros, y llegó {prompts!r}. Una sola es una lista de una: [indicación]."
        )
    lengths = [len(prompt) for prompt in prompts]
    if not all(lengths) or not lengths:
        raise ValueError(
            f"prompts: se esperaba al menos un token en cada uno y llegaron longitudes {lengths}. "
            "Si no hay nada escrito, empieza con start_id."
        )
    padding = max(lengths) - torch.tensor(lengths)
    rows = [[pad_id] * n + list(p) for n, p in zip(padding.tolist(), prompts, strict=True)]
    return torch.tensor(rows), padding


def _is_list_of_ids(prompt):
    ids = prompt.tolist() if isinstance(prompt, Tensor) else prompt
    return isinstance(ids, Sequence) and all(isinstance(token, Integral) for token in ids)
