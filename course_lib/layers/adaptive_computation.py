"""El tiempo de cómputo adaptativo: cada posición decide cuántas veces se transforma."""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require_sizes, require_width

States = Float[Tensor, "batch t d_model"]
Places = Int[Tensor, " active"] | None  # índices, una fila tras otra; None, todas las posiciones
Step = Callable[[Tensor, int, Tensor | None], tuple[Tensor, Tensor]]

# Con más posiciones activas que esta parte, calcularlas todas cuesta menos que reunirlas.
GATHER_BELOW = 0.85


class AdaptiveOutput(NamedTuple):
    """Lo que deja un cálculo por pasos.

    Argumentos:
        states: la mezcla de los estados por los que pasó cada posición, `[batch, t, d_model]`;
            ceros en el relleno.
        ponder_cost: costo de deliberación N + R, `[batch, t]`; 0 en el relleno.
        n_updates: cuántas veces se transformó cada posición, N, `[batch, t]`.
        remainders: el resto R, el peso del último paso, `[batch, t]`.
        last_states: el último estado de cada posición, sin mezclar: el que ven las demás.
    """

    states: States
    ponder_cost: Float[Tensor, "batch t"]
    n_updates: Int[Tensor, "batch t"]
    remainders: Float[Tensor, "batch t"]
    last_states: States

    @property
    def mean_ponder_cost(self) -> Float[Tensor, ""]:
        """Costo medio de las posiciones reales (toda posición real se transforma alguna vez)."""
        return self.ponder_cost.sum() / (self.n_updates > 0).sum().clamp(min=1)


class AdaptiveComputation(nn.Module):
    """Repite un paso hasta que cada posición se detiene, y mezcla sus estados.

        p^n = σ(W u^n + b)                      u^n: lo que entra en el paso n
        N   = mín { n : p^1 + … + p^n ≥ 1 − ε }, o max_steps
        R   = 1 − (p^1 + … + p^{N−1})
        y   = p^1 s^1 + … + p^{N−1} s^{N−1} + R s^N        costo = N + R

    Los pesos suman siempre 1. Una posición que se detuvo conserva su estado, no cuesta nada y las
    demás la siguen viendo. El gradiente del costo pasa por R: N no es derivable.

    Argumentos:
        d_model: ancho de los estados.
        max_steps: pasos como mucho; el último se lleva todo el resto.
        epsilon: ε, que permite detenerse después de un solo paso.
        halting_bias: valor inicial de b; positivo, para comenzar con pocos pasos.
        gather_below: mientras la parte de posiciones activas no baje de aquí se calculan todas y
            se descartan las detenidas; después, solo las activas. No cambia el resultado.

    Errores:
        ValueError: si un tamaño no es positivo o ε no está en (0, 1).

    Fuente: Graves (2016), §2; Dehghani et al. (2018), §2.2; ecuaciones `eq-act-halting`,
    `eq-act-remainder` y `eq-act-output` del capítulo `universal_transformer`.
    """

    def __init__(
        self,
        d_model: int,
        max_steps: int,
        *,
        epsilon: float = 0.01,
        halting_bias: float = 1.0,
        gather_below: float = GATHER_BELOW,
    ) -> None:
        super().__init__()
        require_sizes(d_model=d_model, max_steps=max_steps)
        if not 0 < epsilon < 1:
            raise ValueError(
                f"epsilon: se esperaba un número en (0, 1) y llegó {epsilon}. Con 0, una posición "
                "no podría detenerse en el primer paso: p nunca llega a 1."
            )
        self.max_steps, self.epsilon, self.gather_below = max_steps, epsilon, gather_below
        self.halting = nn.Linear(d_model, 1)
        nn.init.constant_(self.halting.bias, halting_bias)

    def forward(
        self, x: States, step: Step, *, visible: Bool[Tensor, "batch t"] | None = None
    ) -> AdaptiveOutput:
        """Transforma cada posición tantas veces como ella decida.

        Argumentos:
            x: los estados iniciales, `[batch, t, d_model]`.
            step: `step(states, n, places) -> (u, s)`, el paso n: de todos los estados, lo que
                entra y lo que sale en las posiciones que pide `places` (sus índices en los
                estados aplanados, y entonces u y s son `[n, d_model]`); con None, en todas. Sin
                gradiente, `states` cambia después: quien lo guarde ha de copiarlo.
            visible: True donde hay algo; el relleno ni se calcula ni cuenta.

        Errores:
            ValueError: si x no tiene el ancho d_model o visible no es una máscara de x.
        """
        require_width("x", x, self.halting.in_features, "d_model")
        active = real_positions(x, visible)
        states, output = x.clone(), torch.zeros_like(x)
        total = torch.zeros_like(active, dtype=torch.promote_types(x.dtype, torch.float32))
        remainders, n_updates = torch.zeros_like(total), torch.zeros_like(active, dtype=torch.long)
        for n in range(1, self.max_steps + 1):
            if not active.any():
                break
            places = to_compute(active, self.gather_below)
            u, new = step(states, n, places)
            p = put(torch.zeros_like(total), places, self.probability(u))
            halts = active & ((total + p >= 1 - self.epsilon) | (n == self.max_steps))
            weights = torch.where(halts, 1 - total, p).masked_fill(~active, 0.0)
            output = add(output, places, take(weights, places)[..., None] * new)
            states = put(states, places, new, where=active)
            remainders = torch.where(halts, weights, remainders)
            n_updates = n_updates + active
            total, active = total + p, active & ~halts
        return AdaptiveOutput(output, n_updates + remainders, n_updates, remainders, states)

    def probability(self, u: Float[Tensor, "... d_model"]) -> Float[Tensor, "..."]:
        """Da p, la probabilidad de detenerse en este paso; en media precisión no podría sumarse."""
        logits = self.halting(u).squeeze(-1)
        return logits.to(torch.promote_types(logits.dtype, torch.float32)).sigmoid()


class FixedComputation(nn.Module):
    """Repite un paso el mismo número de veces en todas las posiciones, y da el último estado.

    Argumentos:
        max_steps: cuántas veces.
        gather_below: como en `AdaptiveComputation`; aquí ahorra el relleno.

    Fuente: Dehghani et al. (2018), §2.1; capítulo `universal_transformer`.
    """

    def __init__(self, max_steps: int, *, gather_below: float = GATHER_BELOW) -> None:
        super().__init__()
        require_sizes(max_steps=max_steps)
        self.max_steps, self.gather_below = max_steps, gather_below

    def forward(
        self, x: States, step: Step, *, visible: Bool[Tensor, "batch t"] | None = None
    ) -> AdaptiveOutput:
        """Transforma max_steps veces; los argumentos son los de `AdaptiveComputation.forward`."""
        active = real_positions(x, visible)
        places = to_compute(active, self.gather_below)
        states = x.clone()
        for n in range(1, 1 + (self.max_steps if active.any() else 0)):
            states = put(states, places, step(states, n, places)[1])
        n_updates = self.max_steps * active.long()
        ponder_cost = n_updates.to(torch.promote_types(x.dtype, torch.float32))
        real = states.masked_fill(~active[..., None], 0.0)
        return AdaptiveOutput(real, ponder_cost, n_updates, torch.zeros_like(ponder_cost), states)


def real_positions(x: States, visible: Bool[Tensor, "batch t"] | None) -> Bool[Tensor, "batch t"]:
    """Qué posiciones no son relleno."""
    if visible is None:
        return torch.ones(x.shape[:-1], dtype=torch.bool, device=x.device)
    if visible.dtype != torch.bool or visible.shape != x.shape[:-1]:
        raise ValueError(
            f"visible: se esperaba una máscara booleana {tuple(x.shape[:-1])} (False = relleno) y "
            f"llegó {visible.dtype} {tuple(visible.shape)}."
        )
    return visible


def to_compute(active: Bool[Tensor, "batch t"], gather_below: float) -> Places:
    """Los índices de las posiciones activas; None, todas, si las activas son casi todas."""
    if active.count_nonzero() >= gather_below * active.numel():
        return None
    return active.flatten().nonzero().squeeze(-1)


def take(X: Float[Tensor, "batch t *d"], places: Places) -> Float[Tensor, "..."]:
    """Lo que hay en esas posiciones; con None, todo."""
    return X if places is None else X.flatten(0, 1).index_select(0, places)


def put(
    X: Float[Tensor, "batch t *d"],
    places: Places,
    values: Float[Tensor, "..."],
    *,
    where: Bool[Tensor, "batch t"] | None = None,
) -> Float[Tensor, "batch t *d"]:
    """X con otros valores en esas posiciones; si se calcularon todas, solo donde `where`.

    Sin gradiente no se copia lo demás: X cambia.
    """
    values = values.to(X.dtype)
    if places is not None:
        flat = X.flatten(0, 1)
        copy = flat.index_copy if torch.is_grad_enabled() else flat.index_copy_
        return copy(0, places, values).view_as(X)
    return values if where is None else torch.where(where[..., None], values, X)


def add(
    X: Float[Tensor, "batch t d"], places: Places, values: Float[Tensor, "..."]
) -> Float[Tensor, "batch t d"]:
    """X más esos valores en esas posiciones; sin gradiente, X cambia."""
    values = values.to(X.dtype)
    if places is None:
        return X + values
    flat = X.flatten(0, 1)
    added = flat.index_add if torch.is_grad_enabled() else flat.index_add_
    return added(0, places, values).view_as(X)
