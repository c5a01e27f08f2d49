"""El bucle de entrenamiento del libro: calcula la pérdida, retropropaga, recorta y avanza."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from tqdm import tqdm

from course_lib.devices import seed_everything


@dataclass
class History:
    """Lo que pasó en un entrenamiento, un valor por paso.

    Argumentos:
        loss: la pérdida de cada paso.
        grad_norm: la norma del gradiente de cada paso, antes de recortarlo.
        learning_rate: la tasa de aprendizaje de cada paso.
        seconds: lo que duró todo, en segundos.
    """

    loss: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def smoothed(self, window: int = 20) -> list[float]:
        """Media de las últimas `window` pérdidas en cada paso (al principio, de las que haya).

            m_i = (1/n) Σ_{j = i−n+1}^{i} loss_j,   n = min(i, window)

        Errores:
            ValueError: si window no es positivo.
        """
        if window < 1:
            raise ValueError(f"window: se esperaba al menos 1 y llegó {window}.")
        recent = (self.loss[max(0, i - window) : i] for i in range(1, len(self.loss) + 1))
        return [math.fsum(part) / len(part) for part in recent]


def train(
    model: nn.Module,
    loss: Callable[[Any, Any], Tensor],
    batches: Iterable[Any],
    *,
    steps: int,
    learning_rate: float = 1e-3,
    schedule: Callable[[int], float] | None = None,
    optimizer: Optimizer | Callable[[Any], Optimizer] | None = None,
    clip_norm: float | None = 1.0,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> History:
    """Entrena un modelo un número fijo de pasos y cuenta lo que pasó.

        θ ← θ − η · Adam(g · min(1, c / ‖g‖)),   g = ∇_θ loss(model, batch)

    Con la misma semilla, el mismo modelo inicial y los mismos lotes, el resultado es el mismo.
    Al terminar, el modelo queda en modo de evaluación, listo para usarse.

    Argumentos:
        model: el modelo; sus parámetros θ cambian en el sitio.
        loss: función `loss(model, batch)` que da un escalar.
        batches: lotes; si se acaban, se recorren otra vez desde el principio. Los tensores que
            contengan (también dentro de tuplas, listas y diccionarios) van al dispositivo.
        steps: cuántas veces se actualizan los parámetros.
        learning_rate: tasa de aprendizaje η de Adam; no cuenta si se da `optimizer`.
        schedule: función del paso (desde 1) a la tasa de aprendizaje de ese paso, como las de
            `training.schedules`; manda sobre `learning_rate` y sobre la del optimizador.
        optimizer: un optimizador ya hecho, o una función que lo crea con los parámetros.
        clip_norm: norma máxima c del gradiente; None no lo recorta.
        seed: semilla de todo lo aleatorio durante el entrenamiento (dropout, orden de lotes).
        device: adónde van el modelo y los lotes; si falta, donde ya está el modelo.
        progress: barra de progreso, solo en una terminal: en un cuaderno no deja rastro.

    Devuelve:
        Una `History` con la pérdida y la norma del gradiente de cada paso.

    Errores:
        ValueError: si un argumento no sirve, los lotes no alcanzan, la pérdida no es un escalar
        con gradiente, o la pérdida o su gradiente dejan de ser finitos (se dice en qué paso).

    Fuente: Pascanu et al. (2013), §3.2, para el recorte del gradiente; capítulo `attention`.
    """
    _require_arguments(steps, clip_norm)
    seed_everything(seed)
    device = _place(model, device)
    optimizer = _make_optimizer(optimizer, model, learning_rate)
    history, start = History(), time.perf_counter()
    model.train()
    with _progress_bar(steps, progress) as bar:
        for step, batch in zip(range(1, steps + 1), _cycle(batches, steps), strict=False):
            rate = _set_rate(optimizer, schedule, step)
            value, norm = _update(model, loss, _to(batch, device), optimizer, clip_norm, step)
            history.loss.append(value)
            history.grad_norm.append(norm)
            history.learning_rate.append(rate)
            bar.set_postfix(pérdida=f"{value:.3f}", refresh=False)
            bar.update()
    model.eval()
    history.seconds = time.perf_counter() - start
    return history


def _update(model, loss, batch, optimizer, clip_norm, step):
    """Un paso: devuelve la pérdida y la norma del gradiente antes del recorte."""
    optimizer.zero_grad(set_to_none=True)
    value = loss(model, batch)
    _require_scalar(value)
    number = value.item()
    _require_finite("La pérdida", number, step)
    value.backward()
    limit = math.inf if clip_norm is None else clip_norm
    norm = nn.utils.clip_grad_norm_(model.parameters(), limit).item()
    _require_finite("La norma del gradiente", norm, step)
    optimizer.step()
    return number, norm


def _set_rate(optimizer, schedule, step):
    """Pone la tasa de este paso, si hay plan, y devuelve la vigente."""
    if schedule is not None:
        for group in optimizer.param_groups:
            group["lr"] = schedule(step)
    return optimizer.param_groups[0]["lr"]


def _cycle(batches: Iterable[Any], steps: int) -> Iterator[Any]:
    """Recorre los lotes una y otra vez; avisa si no se pueden recorrer de nuevo."""
    count = 0
    while True:
        before = count
        for batch in batches:
            count += 1
            yield batch
        if count == before:
            raise ValueError(
                f"Se esperaban lotes para {steps} pasos y se acabaron después de {count}, sin que "
                "se puedan recorrer otra vez: pasa una lista o un DataLoader, o un generador que "
                "no termine."
            )


def _to(batch: Any, device: torch.device) -> Any:
    """Lleva al dispositivo los tensores de un lote, conservando su estructura."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {key: _to(value, device) for key, value in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_to(value, device) for value in batch))
    if isinstance(batch, list | tuple):
        return type(batch)(_to(value, device) for value in batch)
    return batch


def _place(model: nn.Module, device: torch.device | str | None) -> torch.device:
    first = next(model.parameters(), None)
    if first is None or not any(p.requires_grad for p in model.parameters()):
        raise ValueError("Se esperaba un modelo con parámetros entrenables y no tiene ninguno.")
    if device is None:
        return first.device
    model.to(device)
    return torch.device(device)


def _make_optimizer(optimizer, model, learning_rate):
    if isinstance(optimizer, Optimizer):
        return optimizer
    if optimizer is not None:
        return optimizer(model.parameters())
    return torch.optim.Adam(model.parameters(), lr=learning_rate)


@contextlib.contextmanager
def _progress_bar(steps: int, progress: bool):
    # disable=None calla fuera de una terminal; un cuaderno ejecutado no guarda nada.
    terminal = hasattr(sys.stderr, "isatty") and sys.stderr.isatty()
    silent = not (progress and terminal) or "ipykernel" in sys.modules
    with tqdm(total=steps, disable=silent, unit="paso", file=sys.stderr, leave=False) as bar:
        yield bar


def _require_arguments(steps, clip_norm):
    if steps < 1:
        raise ValueError(f"steps: se esperaba al menos un paso y llegó {steps}.")
    if clip_norm is not None and not clip_norm > 0:
        raise ValueError(
            f"clip_norm: se esperaba una norma positiva y llegó {clip_norm}. "
            "Para no recortar el gradiente usa clip_norm=None."
        )


def _require_scalar(value):
    if not isinstance(value, Tensor) or value.ndim or not value.requires_grad:
        got = f"forma {tuple(value.shape)}" if isinstance(value, Tensor) else repr(type(value))
        raise ValueError(
            f"loss debe devolver un tensor escalar unido a los parámetros y devolvió {got}: "
            "promedia con .mean() y no uses .detach() ni .item()."
        )


def _require_finite(what, number, step):
    if not math.isfinite(number):
        raise ValueError(
            f"{what} dejó de ser un número finito en el paso {step} ({number}). Prueba con una "
            "tasa de aprendizaje menor, y revisa si hay logaritmos de cero, divisiones entre cero "
            "o filas de atención que no ven nada."
        )
