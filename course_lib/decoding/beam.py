"""Búsqueda en haz."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.decoding._loop import predict, require_request
from course_lib.decoding.generation import Step
from course_lib.decoding.state import select


@dataclass(frozen=True)
class Hypothesis:
    """Una continuación hallada por la búsqueda en haz.

    Argumentos:
        token_ids: los tokens nuevos; acaban en `end_id`, salvo que los cortara el límite.
        log_probability: la suma de los logaritmos de sus probabilidades.
        score: `log_probability` dividida por `length_normalizer`; ordena las hipótesis.

    Fuente: Graves (2012); Wu et al. (2016), §7; capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> options = {"beam_size": 2, "end_id": 2, "max_new_tokens": 3}
        >>> best = beam(step, torch.tensor([[0]]), **options)[0][0]
        >>> best.token_ids, round(best.log_probability, 2)
        ([1, 2], -0.48)
    """

    token_ids: list[int]
    log_probability: float
    score: float


@dataclass(frozen=True)
class BeamStep:
    """Un paso de la búsqueda en haz: las mejores extensiones de cada fila que sigue activa.

    Argumentos:
        rows: qué filas del lote siguen activas.
        token_ids: los tokens de cada extensión, de mejor a peor, `[active, beam, t]`.
        log_probability: log P de cada una, `[active, beam]`; −∞ en un lugar sin usar.
        parents: de qué lugar del haz anterior viene cada una, `[active, beam]`.
        ended: cuáles acaban aquí y salen del haz, `[active, beam]`.
        hypotheses: por fila del lote, las terminadas hasta ahora, de mejor a peor; en el último
            paso posible, detrás van las que el límite cortó.

    Fuente: Graves (2012); Sutskever et al. (2014), §3.2; capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam_steps
        >>> table = torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> options = {"beam_size": 2, "end_id": None, "max_new_tokens": 2}
        >>> first, second = beam_steps(step, torch.tensor([[0]]), **options)
        >>> first.token_ids[0].tolist(), second.token_ids[0].tolist()
        ([[1], [2]], [[1, 2], [2, 0]])
        >>> second.parents  # la primera sigue a la primera; la segunda, a la segunda
        tensor([[0, 1]])
    """

    rows: Int[Tensor, " active"]
    token_ids: Int[Tensor, "active beam t"]
    log_probability: Float[Tensor, "active beam"]
    parents: Int[Tensor, "active beam"]
    ended: Bool[Tensor, "active beam"]
    hypotheses: list[list[Hypothesis]]


def beam(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    beam_size: int,
    length_penalty: float = 0.6,
    end_id: int | None,
    max_new_tokens: int,
    num_best: int = 1,
) -> list[list[Hypothesis]]:
    """Busca las continuaciones de mayor puntuación, con `beam_size` abiertas a la vez (haz).

    En cada paso se extienden todas las hipótesis abiertas con todos los tokens y quedan las
    `beam_size` extensiones más probables. Las que acaban en `end_id` salen del haz y se guardan;
    las demás siguen. Una fila termina cuando no le quedan hipótesis abiertas, o cuando ninguna
    puede ya superar a las guardadas: su log P solo baja, y el mejor divisor que le espera es el
    del límite (con α < 0, el del paso siguiente).

        puntuación = log P / ((5 + n)^α / 6^α)        n: tokens nuevos, con `end_id`

    Con `beam_size=1` es la decodificación voraz.

    Argumentos:
        step, prompt, state, end_id, max_new_tokens: los de `greedy`.
        beam_size: cuántas hipótesis abiertas se conservan.
        length_penalty: α; con 0 no se corrige la longitud.
        num_best: cuántas de las mejores deben ser definitivas antes de parar, hasta `beam_size`.

    Devuelve:
        Por fila, hasta `beam_size` hipótesis, de mejor a peor: ninguna otra de este haz puede ir
        delante de las `num_best` primeras. Las que cortó el límite van detrás de las terminadas.

    Errores:
        ValueError: los de `greedy`, y si beam_size, length_penalty o num_best no tienen sentido.

    Fuente: Graves (2012); Sutskever et al. (2014), §3.2; Wu et al. (2016), §7; Vaswani et
    al. (2017), §6.1; ecuación `eq-length-penalty` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam, greedy
        >>> P = torch.tensor([[0.0, 0.55, 0.45, 0.0], [0.4, 0.3, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
        >>> def step(token_ids, state):  # el 1 parece mejor, y lo que le sigue es dudoso
        ...     return P[token_ids].log(), state
        >>> prompt, options = torch.tensor([[0]]), {"end_id": None, "max_new_tokens": 2}
        >>> greedy(step, prompt, **options).token_ids.tolist()  # 0.55 · 0.4 = 0.22
        [[1, 0]]
        >>> beam(step, prompt, beam_size=2, **options)[0][0].token_ids  # 0.45 · 1 = 0.45
        [2, 3]
    """
    steps = beam_steps(
        step,
        prompt,
        state,
        beam_size=beam_size,
        length_penalty=length_penalty,
        end_id=end_id,
        max_new_tokens=max_new_tokens,
        num_best=num_best,
    )
    for last in steps:
        found = last.hypotheses
    return found


def beam_steps(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    beam_size: int,
    length_penalty: float = 0.6,
    end_id: int | None,
    max_new_tokens: int,
    num_best: int = 1,
) -> Iterator[BeamStep]:
    """Da, uno a uno, los pasos de `beam`; sus argumentos y errores son los mismos.

    Fuente: Graves (2012); Sutskever et al. (2014), §3.2; capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam_steps
        >>> table = torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> options = {"beam_size": 2, "end_id": None, "max_new_tokens": 3}
        >>> for each in beam_steps(step, torch.tensor([[0]]), **options):
        ...     print(each.token_ids[0].tolist())
        [[1], [2]]
        [[1, 2], [2, 0]]
        [[1, 2, 0], [2, 0, 1]]
    """
    require_request(prompt, end_id, max_new_tokens)
    _require_beam(beam_size, length_penalty, num_best)
    finished = _Finished(len(prompt), beam_size, num_best, length_penalty, max_new_tokens)
    rows = torch.arange(len(prompt), device=prompt.device)
    token_ids, total = prompt.new_empty(len(prompt), 1, 0), None
    inputs = prompt
    for length in range(1, max_new_tokens + 1):
        log_p, state = predict(step, inputs, state, end_id)
        total = log_p.new_zeros(len(prompt), 1) if total is None else total
        width = total.shape[1]
        total, parents, chosen = _best_extensions(total, log_p, beam_size)
        token_ids = torch.cat((_take(token_ids, parents), chosen[..., None]), -1)
        ended = torch.zeros_like(chosen, dtype=torch.bool) if end_id is None else chosen == end_id
        ended &= total > -math.inf
        alive = total.masked_fill(ended, -math.inf)
        finished.add(rows, token_ids, total, ended)
        if length == max_new_tokens:
            finished.add_cut(rows, token_ids, alive)
        yield BeamStep(rows, token_ids, total, parents, ended, finished.hypotheses())
        going = finished.can_improve(rows, alive, length)
        if length == max_new_tokens or not going.any():
            return
        rows, total, slots = rows[going], alive[going], _open_slots(alive[going])
        first = torch.arange(len(going), device=rows.device)[going, None] * width
        order = first + parents[going].gather(1, slots)
        state = _reorder(state, order.flatten(), len(log_p))
        token_ids = _take(token_ids[going], slots)
        inputs = token_ids[..., -1].reshape(-1, 1)


def length_normalizer(length: int, alpha: float) -> float:
    """Da el divisor de log P para una continuación de n tokens.

        lp(n) = (5 + n)^α / 6^α

    Fuente: Wu et al. (2016), ecuación 14; ecuación `eq-length-penalty` del capítulo `decoding`.

    Ejemplo:
        >>> from course_lib.decoding import length_normalizer
        >>> length_normalizer(1, 0.6), round(length_normalizer(7, 0.6), 2)
        (1.0, 1.52)
        >>> length_normalizer(7, 0.0)  # sin corrección
        1.0
    """
    return ((5 + length) / 6) ** alpha


def _best_extensions(total, log_p, beam_size):
    """De `[filas, haz]` abiertas y log P del siguiente, las mejores: log P, padre y token."""
    rows, vocab = len(total), log_p.shape[-1]
    extended = (total[..., None] + log_p.view(rows, -1, vocab)).flatten(1)
    total, best = extended.topk(min(beam_size, extended.shape[1]), dim=1)
    return total, best // vocab, best % vocab


def _open_slots(alive: Tensor) -> Tensor:
    """Qué lugar sigue en cada uno: el suyo o, si está vacío, el mejor abierto.

    Así el modelo nunca lee lo que va detrás del final; la copia, con log P = −∞, no se elige.
    """
    slots = torch.arange(alive.shape[1], device=alive.device).expand_as(alive)
    return torch.where(alive > -math.inf, slots, alive.argmax(dim=1, keepdim=True))


def _take(token_ids: Tensor, parents: Tensor) -> Tensor:
    """Los tokens del padre de cada extensión."""
    return token_ids.gather(1, parents[..., None].expand(-1, -1, token_ids.shape[-1]))


def _reorder(state, order, size):
    """Lleva el estado a las filas elegidas; si son las que había, no lo copia."""
    same = len(order) == size and torch.equal(order, torch.arange(size, device=order.device))
    return state if same else select(state, order)


class _Finished:
    """Las mejores hipótesis terminadas de cada fila, y si una abierta puede aún entrar en ellas."""

    def __init__(self, rows, keep, num_best, alpha, max_length) -> None:
        self.keep, self.num_best = keep, num_best
        self.alpha, self.max_length = alpha, max_length
        self.best: list[list[Hypothesis]] = [[] for _ in range(rows)]

    def hypotheses(self) -> list[list[Hypothesis]]:
        return [list(best) for best in self.best]

    def add(self, rows, token_ids, log_probability, which) -> None:
        """Guarda las hipótesis marcadas, de mejor a peor puntuación."""
        for row, found in self._hypotheses(rows, token_ids, log_probability, which):
            ranked = sorted([*self.best[row], found], key=lambda h: -h.score)
            self.best[row] = ranked[: self.keep]

    def add_cut(self, rows, token_ids, log_probability) -> None:
        """Completa con las abiertas: una oración cortada nunca va delante de una entera."""
        which = log_probability > -math.inf
        for row, found in self._hypotheses(rows, token_ids, log_probability, which):
            self.best[row] = [*self.best[row], found][: self.keep]

    def can_improve(self, rows, alive, length) -> Bool[Tensor, " active"]:
        """Dice en qué filas una hipótesis abierta podría entrar todavía entre las guardadas."""
        ends = (length + 1, self.max_length)
        divisor = max(length_normalizer(n, self.alpha) for n in ends)
        best = alive.max(dim=1).values.tolist()
        return torch.tensor(
            [
                self._has_room(row, log_p / divisor)
                for row, log_p in zip(rows.tolist(), best, strict=True)
            ],
            device=rows.device,
        )

    def _has_room(self, row: int, bound: float) -> bool:
        kept = self.best[row][: self.num_best]
        return bound > -math.inf and (len(kept) < self.num_best or bound > kept[-1].score)

    def _hypotheses(self, rows, token_ids, log_probability, which):
        divisor = length_normalizer(token_ids.shape[-1], self.alpha)
        owners = rows[which.nonzero()[:, 0]]
        each = (owners, token_ids[which], log_probability[which])
        for row, tokens, log_p in zip(*(x.tolist() for x in each), strict=True):
            yield row, Hypothesis(tokens, log_p, log_p / divisor)


def _require_beam(beam_size, length_penalty, num_best):
    if beam_size < 1:
        raise ValueError(f"beam_size: se esperaba al menos 1 y llegó {beam_size}.")
    if not math.isfinite(length_penalty):
        raise ValueError(f"length_penalty: se esperaba un número finito y llegó {length_penalty}.")
    if not 1 <= num_best <= beam_size:
        raise ValueError(
            f"num_best: se esperaba entre 1 y beam_size = {beam_size} y llegó {num_best}."
        )
