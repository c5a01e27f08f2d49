"""El estado que un modelo lleva de un paso al siguiente."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.decoding.generation import Step


def select(state: Any, rows: Int[Tensor, " chosen"]) -> Any:
    """Da el estado de las filas pedidas, que pueden repetirse o faltar.

    Argumentos:
        state: None, un tensor con el lote delante, un objeto con `.select(filas)`, o una tupla,
            lista o diccionario de ellos. Lo demás (un número, un texto) no depende de la fila.
        rows: qué filas, en qué orden.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import select
        >>> state = {"h": torch.tensor([[1.0], [2.0], [3.0]]), "length": 4}
        >>> select(state, torch.tensor([2, 2, 0]))
        {'h': tensor([[3.],
                [3.],
                [1.]]), 'length': 4}
    """
    if isinstance(state, Tensor):
        return state.index_select(0, rows) if state.ndim else state
    if hasattr(state, "select"):
        return state.select(rows)
    if isinstance(state, dict):
        return {name: select(part, rows) for name, part in state.items()}
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(select(part, rows) for part in state))
    if isinstance(state, tuple | list):
        return type(state)(select(part, rows) for part in state)
    return state


def without_cache(forward: Callable[..., Tensor], *context: Tensor) -> tuple[Step, Any]:
    """Hace un paso con un modelo que no guarda nada: en cada token recalcula toda la secuencia.

    Argumentos:
        forward: `forward(*context, token_ids) -> logits`, `[batch, t, vocab]`.
        context: lo que acompaña a cada fila, con el lote delante (la oración de origen).

    Devuelve:
        El par (step, state) que piden `greedy`, `beam` y `sample`. El estado son los tokens leídos.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy, without_cache
        >>> from course_lib.models import Transformer, TransformerConfig
        >>> model = Transformer(TransformerConfig(source_vocab=20, d_model=8, num_heads=2)).eval()
        >>> step, state = without_cache(model, torch.tensor([[5, 6, 2]]))  # el origen
        >>> options = {"end_id": None, "max_new_tokens": 4}
        >>> greedy(step, torch.tensor([[1]]), state, **options).token_ids.shape
        torch.Size([1, 4])
    """

    def step(token_ids, state):
        *known, read = state
        read = token_ids if read is None else torch.cat((read, token_ids), 1)
        return forward(*known, read)[:, -token_ids.shape[1] :], (*known, read)

    return step, (*context, None)
