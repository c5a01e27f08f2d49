"""El bucle de entrenamiento del libro: calcula la pérdida, retropropaga, recorta y avanza."""

import contextlib
import math
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from tqdm import tqdm

from course_lib.devices import seed_everything
from course_lib.training.batches import endless
from course_lib.training.checkpoints import WAYS_TO_COMPUTE, Keeper
from course_lib.training.history import History
from course_lib.training.parallel import World, join_world, local_device
from course_lib.training.randomness import kept_random_state
from course_lib.training.update import Objective, Update, choose_precision


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
    accumulate: int = 1,
    precision: str | None = None,
    log_every: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 100,
    resume: bool = True,
    on_step: Callable[[int, nn.Module], Mapping[str, Any] | None] | None = None,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> History:
    """Entrena un modelo un número fijo de pasos y cuenta lo que pasó.

        θ ← θ − η · Adam(g · min(1, c / ‖g‖)),   g = ∇_θ loss(model, batch)

    Con la misma semilla, el mismo modelo inicial y los mismos lotes, el resultado es el mismo,
    también si el proceso muere y se reanuda desde su punto de control. Al terminar, el modelo queda
    en modo de evaluación, listo para usarse.

    Lanzado con `torchrun`, los procesos se reparten los lotes: cada paso toma uno para cada uno
    (por `accumulate`), y el resultado es el de un solo proceso con `accumulate` veces esos lotes.

    Argumentos:
        model: el modelo; sus parámetros θ cambian en el sitio.
        loss: función `loss(model, batch)` que da un escalar. Si tiene un método `count(batch)`, que
            dice cuántos términos promedia, los lotes de un paso pesan según él.
        batches: lotes; si se acaban, se recorren otra vez desde el principio. Los tensores que
            contengan (también dentro de tuplas, listas y diccionarios) van al dispositivo.
        steps: cuántas veces se actualizan los parámetros, contando los pasos ya guardados.
        learning_rate: tasa de aprendizaje η de Adam; no cuenta si se da `optimizer`.
        schedule: función del paso (desde 1) a la tasa de aprendizaje de ese paso, como las de
            `training.schedules`; manda sobre `learning_rate` y sobre la del optimizador.
        optimizer: un optimizador ya hecho, o una función que lo crea con los parámetros.
        clip_norm: norma máxima c del gradiente; None no lo recorta.
        accumulate: lotes por paso, de los que se acumula el gradiente.
        precision: "float32", "bfloat16" (precisión mixta) o None: bfloat16 en la GPU que lo tiene.
        log_every: cada cuántos pasos se leen la pérdida y la norma del dispositivo, que en una GPU
            es esperarla; con None, en cada paso en la CPU y cada 50 en otro. Para leer menos que
            cada paso, el optimizador debe ser de los fundidos (`fused=True`).
        checkpoint: archivo del punto de control; si ya existe, se sigue desde él.
        checkpoint_every: cada cuántos pasos se guarda; al final se guarda siempre.
        resume: con False no se mira el archivo: se empieza de nuevo y se sobrescribe.
        on_step: función `on_step(step, model)` que se llama tras cada paso, con el modelo en modo
            de evaluación y los gradientes, ya recortados, en su sitio. Si devuelve un diccionario
            {nombre: número}, va a `History.metrics`. Con varios procesos, solo la llama el 0.
        seed: semilla de todo lo aleatorio durante el entrenamiento (dropout, orden de lotes).
        device: adónde van el modelo y los lotes; si falta, donde ya está el modelo.
        progress: barra de progreso, solo en una terminal: en un cuaderno no deja rastro.

    Devuelve:
        Una `History` con la pérdida, la norma del gradiente y la tasa de cada paso.

    Errores:
        ValueError: si un argumento no sirve, los lotes no alcanzan, la pérdida no es un escalar
        con gradiente, la pérdida o su gradiente dejan de ser finitos (se dice en qué paso; los
        parámetros quedan como antes de él), o el punto de control está dañado o es de otro
        entrenamiento.

    Fuente: Pascanu et al. (2013), §3.2, para el recorte del gradiente; capítulo `training`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import train
        >>> model = torch.nn.Linear(1, 1)
        >>> def loss(model, batch):
        ...     x, y = batch
        ...     return (model(x) - y).square().mean()
        >>> x = torch.tensor([[0.0], [1.0], [2.0]])
        >>> history = train(model, loss, [(x, 3 * x + 1)], steps=500, learning_rate=0.1)
        >>> len(history.loss), round(model.weight.item(), 1), round(model.bias.item(), 1)
        (500, 3.0, 1.0)
    """
    _require_arguments(steps, learning_rate, clip_norm, accumulate, checkpoint_every, log_every)
    world, device = join_world(), _place(model, device)
    precision = choose_precision(precision, device)
    optimizer = _make_optimizer(optimizer, model, learning_rate, device)
    per_step = accumulate * world.size
    settings = _settings(seed, per_step, clip_norm, optimizer, schedule)
    _seed(seed, world)
    keeper = Keeper(checkpoint, checkpoint_every, model, optimizer, device, world, settings)
    done, position, history = keeper.resume() if resume else (0, 0, History())
    stream = endless(batches, start=position, seed=seed)
    objective, count = world.connect(Objective(model, loss)), getattr(loss, "count", None)
    update = Update(objective, count, optimizer, clip_norm, device, precision, world)
    run = _Run(model, update, schedule, _log_every(log_every, update), on_step, keeper, history)
    model.train()
    with _progress_bar(done, steps, progress and world.rank == 0) as bar:
        for step in range(done + 1, steps + 1):
            run.advance(step, [next(stream) for _ in range(per_step)], bar, last=step == steps)
    model.eval()
    return history


@dataclass
class _Run:
    """Un entrenamiento en marcha: quién da cada paso, y dónde queda lo que pasó."""

    model: nn.Module
    update: Update
    schedule: Callable[[int], float] | None
    log_every: int
    on_step: Callable[[int, nn.Module], Mapping[str, Any] | None] | None
    keeper: Keeper
    history: History

    def __post_init__(self) -> None:
        self.unread: list = []
        self.start = time.perf_counter() - self.history.seconds

    def advance(self, step: int, batches: list, bar: tqdm, *, last: bool) -> None:
        """Da un paso con esos lotes y, cuando toca, lo lee, lo muestra y lo guarda."""
        update, history = self.update, self.history
        rate = _set_rate(update.optimizer, self.schedule, step)
        measured, terms = update.gradient(batches)
        self.unread.append((rate, measured, terms))
        if last or step % self.log_every == 0 or self.keeper.is_due(step, last=last):
            _read(self.unread, history)
            bar.set_postfix(pérdida=f"{history.loss[-1]:.3f}", refresh=False)
        update.apply(measured)
        if self.on_step is not None and update.world.rank == 0:
            history.measure(step, _observe(self.on_step, step, self.model, update.device))
        history.seconds = time.perf_counter() - self.start
        self.keeper.keep(step, step * len(batches), history, last=last)
        bar.update()


def _log_every(log_every: int | None, update: Update) -> int:
    """Cada cuántos pasos se lee: todos, si el optimizador no puede saltarse uno por su cuenta."""
    if log_every is None:
        return 50 if update.can_skip and update.device.type != "cpu" else 1
    if log_every > 1 and not update.can_skip:
        raise ValueError(
            f"log_every: con {type(update.optimizer).__name__} se esperaba 1 y llegó {log_every}. "
            "Para no leer cada paso, créalo con fused=True."
        )
    return log_every


def _read(unread: list, history: History) -> None:
    """Trae de una vez lo que midieron los pasos que faltan por anotar, y lo anota."""
    numbers = torch.stack([measured for _, measured, _ in unread]).tolist()
    for (rate, _, terms), (loss, norm) in zip(unread, numbers, strict=True):
        history.record(rate, loss, norm, terms)
    unread.clear()


def _settings(seed, per_step, clip_norm, optimizer, schedule):
    """Lo que un punto de control exige igual para reanudar: de ello depende el resultado."""
    # Con plan, la tasa del optimizador no cuenta: será la del último paso que dio.
    ignored = {"params", *WAYS_TO_COMPUTE} | ({"lr"} if schedule is not None else set())
    settings = {
        "seed": seed,
        "lotes por paso": per_step,
        "clip_norm": clip_norm,
        "optimizador": type(optimizer).__name__,
    }
    for i, group in enumerate(optimizer.param_groups):
        options = {name: value for name, value in group.items() if name not in ignored}
        settings[f"opciones del grupo {i + 1}"] = str(options)
    return settings


def _seed(seed: int, world: World) -> None:
    """Cada proceso sortea lo suyo: con la misma semilla, todos ocultarían las mismas neuronas."""
    seed_everything(seed)
    if world.rank:
        seed_everything((seed + 1_000_003 * world.rank) % 2**32)


def _set_rate(optimizer, schedule, step):
    """Pone la tasa de este paso, si hay plan, y devuelve la vigente."""
    if schedule is not None:
        for group in optimizer.param_groups:
            group["lr"] = _rate(schedule, step)
    return float(optimizer.param_groups[0]["lr"])


def _rate(schedule, step):
    rate = float(schedule(step))
    if not 0 <= rate < math.inf:
        raise ValueError(
            f"schedule: se esperaba una tasa finita y no negativa y en el paso {step} dio {rate}."
        )
    return rate


def _observe(on_step, step, model, device):
    """Llama a `on_step` sin que lo que haga cambie el entrenamiento."""
    model.eval()
    with torch.no_grad(), kept_random_state(device):
        values = on_step(step, model)
    model.train()
    return values


def _place(model: nn.Module, device: torch.device | str | None) -> torch.device:
    first = next(model.parameters(), None)
    if first is None or not any(p.requires_grad for p in model.parameters()):
        raise ValueError("Se esperaba un modelo con parámetros entrenables y no tiene ninguno.")
    if device is None:
        device = first.device
    device = local_device(device)
    model.to(device)
    return device


def _make_optimizer(optimizer, model, learning_rate, device):
    if isinstance(optimizer, Optimizer):
        return optimizer
    if optimizer is not None:
        return optimizer(model.parameters())
    # El fundido de la CPU recorre la memoria seguida: se equivoca, y no lo dice, si el gradiente o
    # lo leído de un punto de control está guardado en otro orden que el parámetro.
    fused = True if device.type == "cuda" else None
    return torch.optim.Adam(model.parameters(), lr=learning_rate, fused=fused)


@contextlib.contextmanager
def _progress_bar(done: int, steps: int, progress: bool):
    # Fuera de una terminal calla, y un cuaderno ejecutado no guarda nada.
    terminal = hasattr(sys.stderr, "isatty") and sys.stderr.isatty()
    silent = not (progress and terminal) or "ipykernel" in sys.modules
    options = {"initial": done, "unit": "paso", "file": sys.stderr, "leave": False}
    with tqdm(total=steps, disable=silent, **options) as bar:
        yield bar


def _require_arguments(steps, learning_rate, clip_norm, accumulate, checkpoint_every, log_every):
    positive = {
        "steps": steps,
        "accumulate": accumulate,
        "checkpoint_every": checkpoint_every,
        "log_every": 1 if log_every is None else log_every,
    }
    for name, value in positive.items():
        if value < 1:
            raise ValueError(f"{name}: se esperaba al menos 1 y llegó {value}.")
    if not 0 <= learning_rate < math.inf:
        raise ValueError(
            f"learning_rate: se esperaba un número finito y no negativo y llegó {learning_rate}."
        )
    if clip_norm is not None and not clip_norm > 0:
        raise ValueError(
            f"clip_norm: se esperaba una norma positiva y llegó {clip_norm}. "
            "Para no recortar el gradiente usa clip_norm=None."
        )
