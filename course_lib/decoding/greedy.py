"""Decodificación voraz."""

from typing import Any

from jaxtyping import Int
from torch import Tensor

from course_lib.decoding._loop import most_probable, require_request, write
from course_lib.decoding.generation import Generation, Step


def greedy(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    end_id: int | None,
    max_new_tokens: int,
) -> Generation:
    """Escribe cada vez el token más probable (decodificación voraz).

        y_i = arg max_y P(y | y_1, …, y_{i−1}, x)

    Argumentos:
        step: el paso del modelo.
        prompt: lo que ya está escrito, al menos un token por fila (start_id, en un traductor).
        state: lo que el modelo sabe antes de leer `prompt` (la oración de origen, por ejemplo).
        end_id: el token que termina una continuación; con None ninguna termina.
        max_new_tokens: cuántos tokens escribir a lo sumo, con `end_id` incluido.

    Devuelve:
        Una continuación por fila. La de una fila no depende de las demás: la que termina sale del
        lote, y el modelo no vuelve a calcularla.

    Errores:
        ValueError: si un argumento no tiene sentido o el modelo da NaN.

    Fuente: ecuación `eq-greedy` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> greedy(step, torch.tensor([[0]]), end_id=None, max_new_tokens=5).token_ids
        tensor([[1, 2, 0, 1, 2]])
    """
    require_request(prompt, end_id, max_new_tokens)
    return write(step, prompt, state, most_probable, end_id, max_new_tokens)
