"""El tiempo de cómputo adaptativo: cada posición decide cuántas veces se transforma."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_width

States = Float[Tensor, "batch t d_model"]
Each = Float[Tensor, "batch t"]
Mask = Bool[Tensor, "batch 1 t"] | None


class AdaptiveOutput(NamedTuple):
    """Lo que deja un cálculo por pasos.

    Argumentos:
        states: la mezcla de los estados por los que pasó cada posición, `[batch, t, d_model]`;
            ceros en el relleno.
        ponder_cost: costo de deliberación N + R, `[batch, t]`; 0 en el relleno.
        n_updates: cuántas veces se transformó cada posición, N, `[batch, t]`.
        remainders: el resto R, el peso del último paso, `[batch, t]`.
        last_states: el último estado de cada posición, sin mezclar: el que ven las demás.

    Fuente: Graves (2016), §2; Dehghani et al. (2018), §2.2; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import UniversalEncoder
        >>> encoder = UniversalEncoder(8, 2, 16, max_steps=3, max_length=10, adaptive=False)
        >>> real = torch.tensor([[[True, True, True, False]]])  # la última es relleno
        >>> output = encoder(torch.rand(1, 4, 8), mask=real)
        >>> output.states.shape, output.n_updates
        (torch.Size([1, 4, 8]), tensor([[3, 3, 3, 0]]))
    """

    states: States
    ponder_cost: Each
    n_updates: Int[Tensor, "batch t"]
    remainders: Each
    last_states: States

    @property
    def mean_ponder_cost(self) -> Float[Tensor, ""]:
        """Costo medio de las posiciones reales (toda posición real se transforma alguna vez)."""
        return self.ponder_cost.sum() / (self.n_updates > 0).sum().clamp(min=1)


class Deliberation(NamedTuple):
    """Por dónde va un cálculo por pasos.

    Argumentos:
        n: cuántos pasos se dieron.
        states: el estado de cada posición, s; el de una detenida no cambia.
        active: qué posiciones siguen.
        mixed: la mezcla de los estados hasta ahora.
        total: la suma de las p hasta ahora.
        n_updates, remainders: los de `AdaptiveOutput`.

    Fuente: Graves (2016), §2; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import Deliberation
        >>> d = Deliberation.begin(torch.rand(1, 3, 8), torch.tensor([[[True, True, False]]]))
        >>> d.n, d.active  # cero pasos; el relleno no sigue
        (0, tensor([[ True,  True, False]]))
    """

    n: int
    states: States
    active: Bool[Tensor, "batch t"]
    mixed: States
    total: Each
    n_updates: Int[Tensor, "batch t"]
    remainders: Each

    @classmethod
    def begin(cls, x: States, mask: Mask) -> "Deliberation":
        """Todas las posiciones reales, activas, antes del primer paso."""
        active = real_positions(x, mask)
        none = torch.zeros_like(active, dtype=torch.promote_types(x.dtype, torch.float32))
        zero = torch.zeros_like(x)
        return cls(0, x, active, zero, none, torch.zeros_like(active, dtype=torch.long), none)

    def output(self) -> AdaptiveOutput:
        """Lo que queda cuando ya nadie sigue."""
        cost = self.n_updates + self.remainders
        return AdaptiveOutput(self.mixed, cost, self.n_updates, self.remainders, self.states)


class AdaptiveComputation(nn.Module):
    """Decide, en cada paso, qué posiciones se detienen, y mezcla sus estados.

        p^n = σ(W u^n + b)                      u^n: lo que entra en el paso n
        N   = mín { n : p^1 + … + p^n ≥ 1 − ε }, o max_steps
        R   = 1 − (p^1 + … + p^{N−1})
        y   = p^1 s^1 + … + p^{N−1} s^{N−1} + R s^N        costo = N + R

    Los pesos suman siempre 1. Una posición que se detuvo conserva su estado y las demás la siguen
    viendo. El gradiente del costo pasa por R: N no es derivable. Se usa así::

        d = act.start(x)
        for _ in range(act.max_steps):
            d = act(d, u, bloque(u))            con u = d.states y lo que haga falta sumarle
        d.output()

    Argumentos:
        d_model: ancho de los estados.
        max_steps: pasos como mucho; el último se lleva todo el resto.
        epsilon: ε, que permite detenerse después de un solo paso.
        halting_bias: valor inicial de b; positivo, para comenzar con pocos pasos.

    Errores:
        ValueError: si un tamaño no es positivo o ε no está en (0, 1).

    Fuente: Graves (2016), §2; Dehghani et al. (2018), §2.2; ecuaciones `eq-act-halting`,
    `eq-act-remainder` y `eq-act-output` del capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import AdaptiveComputation
        >>> act = AdaptiveComputation(d_model=4, max_steps=5)
        >>> u = torch.zeros(1, 3, 4)  # p = σ(b) = σ(1) = 0.73: con dos pasos pasa de 1 − ε
        >>> d = act.start(u)
        >>> for n in range(act.max_steps):
        ...     d = act(d, u, torch.full((1, 3, 4), n + 1.0))
        >>> d.output().n_updates
        tensor([[2, 2, 2]])
        >>> d.output().remainders.detach()  # 1 − 0.73
        tensor([[0.2689, 0.2689, 0.2689]])
    """

    def __init__(
        self, d_model: int, max_steps: int, *, epsilon: float = 0.01, halting_bias: float = 1.0
    ) -> None:
        super().__init__()
        require(d_model=d_model, max_steps=max_steps)
        if not 0 < epsilon < 1:
            raise ValueError(
                f"epsilon: se esperaba un número en (0, 1) y llegó {epsilon}. Con 0, una posición "
                "no podría detenerse en el primer paso: p nunca llega a 1."
            )
        self.max_steps, self.epsilon = max_steps, epsilon
        self.halting = nn.Linear(d_model, 1)
        nn.init.constant_(self.halting.bias, halting_bias)

    def start(self, x: States, mask: Mask = None) -> Deliberation:
        """El comienzo, con los estados x.

        Argumentos:
            x: los estados iniciales, `[batch, t, d_model]`.
            mask: False en el relleno, que no cuenta, `[batch, 1, t]`.

        Errores:
            ValueError: si x no tiene el ancho d_model o mask no es una máscara de x.
        """
        require_width("x", x, self.halting.in_features, "d_model")
        return Deliberation.begin(x, mask)

    def forward(self, d: Deliberation, u: States, s: States) -> Deliberation:
        """Da un paso.

        Argumentos:
            d: por dónde iba.
            u: lo que entró en el paso, `[batch, t, d_model]`: de ahí sale p.
            s: lo que salió, `[batch, t, d_model]`.
        """
        p = self.probability(u)
        last = d.n + 1 == self.max_steps
        halts = d.active & ((d.total + p >= 1 - self.epsilon) | last)
        weights = torch.where(halts, 1 - d.total, p).masked_fill(~d.active, 0.0)
        return Deliberation(
            n=d.n + 1,
            states=torch.where(d.active[..., None], s.to(d.states.dtype), d.states),
            active=d.active & ~halts,
            mixed=d.mixed + (weights[..., None] * s).to(d.mixed.dtype),
            total=d.total + p.masked_fill(~d.active, 0.0),
            n_updates=d.n_updates + d.active,
            remainders=torch.where(halts, weights, d.remainders),
        )

    def probability(self, u: Float[Tensor, "... d_model"]) -> Float[Tensor, "..."]:
        """Da p, la probabilidad de detenerse en este paso; en media precisión no podría sumarse."""
        logits = self.halting(u).squeeze(-1)
        return logits.to(torch.promote_types(logits.dtype, torch.float32)).sigmoid()


class FixedComputation(nn.Module):
    """Da el mismo número de pasos en todas las posiciones, y deja el último estado.

    Se usa como `AdaptiveComputation`.

    Argumentos:
        max_steps: cuántas veces.

    Fuente: Dehghani et al. (2018), §2.1; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.layers import FixedComputation
        >>> fixed = FixedComputation(max_steps=3)
        >>> d = fixed.start(torch.zeros(1, 2, 4))
        >>> for _ in range(fixed.max_steps):
        ...     d = fixed(d, d.states, d.states + 1)
        >>> d.output().states[0, 0], d.output().n_updates
        (tensor([3., 3., 3., 3.]), tensor([[3, 3]]))
    """

    def __init__(self, max_steps: int) -> None:
        super().__init__()
        require(max_steps=max_steps)
        self.max_steps = max_steps

    def start(self, x: States, mask: Mask = None) -> Deliberation:
        """El comienzo; como `AdaptiveComputation.start`."""
        return Deliberation.begin(x, mask)

    def forward(self, d: Deliberation, u: States, s: States) -> Deliberation:
        """Da un paso; como `AdaptiveComputation.forward`."""
        s = s.to(d.states.dtype)
        return d._replace(
            n=d.n + 1,
            states=torch.where(d.active[..., None], s, d.states),
            mixed=s.masked_fill(~d.active[..., None], 0.0),
            n_updates=d.n_updates + d.active,
        )


def real_positions(x: States, mask: Mask) -> Bool[Tensor, "batch t"]:
    """Qué posiciones no son relleno."""
    if mask is None:
        return torch.ones(x.shape[:-1], dtype=torch.bool, device=x.device)
    if mask.dtype != torch.bool or mask.shape != (x.shape[0], 1, x.shape[1]):
        raise ValueError(
            f"mask: se esperaba una máscara booleana {(x.shape[0], 1, x.shape[1])} (False = "
            f"relleno) y llegó {mask.dtype} {tuple(mask.shape)}. La da padding_mask."
        )
    return mask.squeeze(1)
