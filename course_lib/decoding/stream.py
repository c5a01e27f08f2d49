"""De token en token: cada uno, en cuanto se escribe."""

from collections.abc import Iterator
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor

from course_lib.decoding._loop import in_rows, most_probable, require_request, steps
from course_lib.decoding.generation import Step
from course_lib.decoding.sampling import drawn


def stream(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    end_id: int | None,
    max_new_tokens: int,
    generator: torch.Generator | None = None,
) -> Iterator[Int[Tensor, " batch"]]:
    """Da cada token en cuanto se escribe, sin esperar a que la continuación termine.

    Son los tokens de `greedy` o, si hay temperatura, los de `sample` con el mismo azar.

    Argumentos:
        step, prompt, state, end_id, max_new_tokens: los de `greedy`.
        temperature, top_k, top_p, generator: los de `sample`; con temperature=None no se sortea.

    Devuelve:
        Un iterador: en cada paso, un token por fila, `[batch]`; `end_id` en las que terminaron.

    Errores:
        ValueError: los de `sample`, antes del primer token; también top_k o top_p sin temperatura.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import stream
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> for token in stream(step, torch.tensor([[0]]), end_id=None, max_new_tokens=3):
        ...     print(token.tolist())
        [1]
        [2]
        [0]
    """
    require_request(prompt, end_id, max_new_tokens)
    choose = most_probable
    if temperature is not None:
        choose = drawn(prompt, max_new_tokens, temperature, top_k, top_p, generator)
    elif top_k is not None or top_p is not None:
        raise ValueError(
            "top_k y top_p recortan un sorteo: di también la temperatura (1.0, p. ej.)."
        )
    written = steps(step, prompt, state, choose, end_id, max_new_tokens)
    return (in_rows(prompt, rows, chosen, end_id) for rows, chosen, _ in written)
