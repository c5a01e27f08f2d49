"""Un paso de entrenamiento: gradientes de uno o varios lotes, recortados y aplicados."""

import contextlib
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.optim import Optimizer

from course_lib.devices import best_dtype
from course_lib.training.parallel import World

PRECISIONS = ("float32", "bfloat16")


@dataclass
class Update:
    """Actualiza los parámetros con los lotes de un paso.

        g = Σ_i w_i ∇ L_i,   w_i = n_i / Σ_j n_j        θ ← θ − η · optimizador(g · min(1, c / ‖g‖))

    L_i es la media de n_i términos. Con esos pesos, g es el gradiente de un solo lote que los
    reuniera a todos, también si unos lotes tienen más tokens que otros. Si la pérdida no tiene
    método `count`, que dice n_i, todos los lotes pesan igual.

    Argumentos:
        objective: módulo que da la pérdida de un lote.
        count: cuántos términos promedia la pérdida en un lote, o None.
        optimizer: lo que aplica el gradiente.
        clip_norm: norma máxima c, o None.
        device: adónde van los lotes.
        precision: "bfloat16" hace los productos grandes con 16 bits; los parámetros siguen en 32.
        world: los procesos que se reparten los lotes.

    Fuente: Pascanu et al. (2013), §3.2 (recorte); Micikevicius et al. (2018), §3 (precisión mixta,
    que con bfloat16 no necesita escalar la pérdida); capítulo `training`.
    """

    objective: nn.Module
    count: Callable[[Any], int] | None
    optimizer: Optimizer
    clip_norm: float | None
    device: torch.device
    precision: str
    world: World

    def __post_init__(self) -> None:
        self._failed = torch.zeros((), dtype=torch.float32, device=self.device)  # lo pide torch

    @property
    def can_skip(self) -> bool:
        """Si el optimizador puede saltarse en el dispositivo un paso que no es finito.

        Es lo que torch pide para la precisión mixta, y lo tienen los fundidos (`fused=True`).
        """
        return getattr(self.optimizer, "_step_supports_amp_scaling", False)

    def gradient(self, batches: Sequence[Any]) -> tuple[Float[Tensor, "2"], int | None]:
        """Deja el gradiente, ya recortado, en los parámetros, que no cambian.

        Devuelve:
            La pérdida y la norma del gradiente antes del recorte, en el dispositivo y sin leer; y
            los términos contados.

        Errores:
            ValueError: si la pérdida no es un escalar con gradiente.
        """
        counts = [1 if self.count is None else self.count(batch) for batch in batches]
        self.optimizer.zero_grad(set_to_none=True)
        loss = self._accumulate(self.world.share(batches), self.world.share(counts), sum(counts))
        limit = math.inf if self.clip_norm is None else self.clip_norm
        norm = nn.utils.clip_grad_norm_(self.objective.parameters(), limit)
        measured = torch.stack((self.world.sum(loss), norm.to(loss)))
        return measured, None if self.count is None else sum(counts)

    def apply(self, measured: Float[Tensor, "2"]) -> None:
        """Da el paso del optimizador; si puede saltárselo, no da ni el que no es finito ni otros.

        Así, quien lea `measured` más tarde encuentra los parámetros como estaban al fallar.
        """
        if not self.can_skip:
            self.optimizer.step()
            return
        self._failed.logical_or_(measured.isfinite().all().logical_not())
        self.optimizer.found_inf = self._failed
        self.optimizer.step()
        del self.optimizer.found_inf

    def _accumulate(self, batches: Sequence[Any], counts: Sequence[int], total: int) -> Tensor:
        """Suma los gradientes ponderados de los lotes de este proceso y devuelve su pérdida."""
        loss = torch.zeros((), device=self.device)
        for i, (batch, count) in enumerate(zip(batches, counts, strict=True)):
            weight = count / max(total, 1)
            with self.world.waiting(self.objective, last=i == len(batches) - 1):
                with self._autocast():
                    value = self.objective(to_device(batch, self.device))
                _require_scalar(value)
                # Entre procesos, los gradientes se promedian: para que se sumen, por `size`.
                (value * (weight * self.world.size)).backward()
            loss = loss + value.detach() * weight
        return loss

    def _autocast(self) -> Any:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)


class Objective(nn.Module):
    """La pérdida como módulo: así `loss` recibe el modelo de siempre, con varios procesos o uno."""

    def __init__(self, model: nn.Module, loss: Callable[[Any, Any], Tensor]) -> None:
        super().__init__()
        self.model = model
        self.loss = functools.partial(loss)  # si la pérdida es un módulo, no se entrena

    def forward(self, batch: Any) -> Tensor:
        """Devuelve `loss(model, batch)`."""
        return self.loss(self.model, batch)


def choose_precision(precision: str | None, device: torch.device) -> str:
    """La pedida; si no se pidió ninguna, bfloat16 en la GPU que lo tiene y float32 en lo demás.

    Errores:
        ValueError: si no se conoce.
    """
    if precision is None:
        return str(best_dtype(device)).removeprefix("torch.")
    if precision not in PRECISIONS:
        raise ValueError(f"precision: se esperaba {PRECISIONS} o None y llegó {precision!r}.")
    return precision


def to_device(batch: Any, device: torch.device) -> Any:
    """Lleva al dispositivo los tensores de un lote, conservando su estructura."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: to_device(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(to_device(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(to_device(value, device) for value in batch)
    return batch


def _require_scalar(value):
    if not isinstance(value, Tensor) or value.ndim or not value.requires_grad:
        got = f"forma {tuple(value.shape)}" if isinstance(value, Tensor) else repr(type(value))
        raise ValueError(
            f"loss debe devolver un tensor escalar unido a los parámetros y devolvió {got}: "
            "promedia con .mean() y no uses .detach() ni .item()."
        )
