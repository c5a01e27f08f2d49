"""El paso de un modelo y lo que se escribe con él."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float, Int
from torch import Tensor

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]


@dataclass(frozen=True)
class Generation:
    """Una continuación por fila.

    Argumentos:
        token_ids: los tokens nuevos, `[batch, n]`; después del final, solo `end_id`.
        log_probability: log P de cada continuación según el modelo, con `end_id` incluido.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> found = greedy(step, torch.tensor([[0], [1]]), end_id=2, max_new_tokens=3)
        >>> found.token_ids  # la segunda fila termina antes
        tensor([[1, 2],
                [2, 2]])
        >>> found.log_probability.round(decimals=2)  # dos tokens en la primera, uno en la segunda
        tensor([-0.4800, -0.2400])
    """

    token_ids: Int[Tensor, "batch n"]
    log_probability: Float[Tensor, " batch"]
