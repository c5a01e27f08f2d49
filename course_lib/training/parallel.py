"""Varios procesos que entrenan un mismo modelo, cada uno con su parte de los lotes.

`torchrun --nproc-per-node=N guion.py` lanza N veces el mismo guion y le dice a cada proceso quién
es con variables de entorno. `train` las lee: el guion no cambia.
"""

import atexit
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel


@dataclass(frozen=True)
class World:
    """Los procesos que entrenan juntos.

    Argumentos:
        rank: el número de este proceso; el 0 informa y guarda.
        size: cuántos son.
    """

    rank: int = 0
    size: int = 1

    def share(self, items: Sequence[Any]) -> Sequence[Any]:
        """La parte de este proceso: uno de cada `size`."""
        return items[self.rank :: self.size]

    def connect(self, module: nn.Module) -> nn.Module:
        """Con varios procesos, promedia los gradientes de todos al retropropagar.

        Empieza por copiar a todos los parámetros del proceso 0.
        """
        if self.size == 1:
            return module
        # Un modelo puede tener parámetros que un lote no use: si no los busca, DDP se detiene; si
        # los busca y no hay ninguno, avisa en cada proceso. Siempre habrá uno, que nadie usa.
        device = next(module.parameters()).device
        module.register_parameter("unused", nn.Parameter(torch.zeros(1, device=device)))
        return DistributedDataParallel(module, find_unused_parameters=True)

    def waiting(self, module: nn.Module, last: bool) -> Any:
        """Contexto en que los gradientes no se promedian aún, salvo en el último lote."""
        if self.size == 1 or last:
            return contextlib.nullcontext()
        return module.no_sync()

    def sum(self, value: Tensor) -> Tensor:
        """La suma de un escalar entre todos los procesos."""
        if self.size > 1:
            value = value.clone()
            dist.all_reduce(value)
        return value

    def gather(self, value: Any) -> list[Any]:
        """Lo que tiene cada proceso, en orden, en todos ellos."""
        if self.size == 1:
            return [value]
        values = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def wait(self) -> None:
        """Espera a que todos los procesos lleguen aquí."""
        if self.size > 1:
            dist.barrier()


def join_world() -> World:
    """Se une a los procesos que lanzó `torchrun`; sin él, este proceso trabaja solo."""
    if int(os.environ.get("WORLD_SIZE", 1)) == 1 or "RANK" not in os.environ:
        return World()
    if not dist.is_initialized():
        gpu = torch.cuda.is_available()
        if gpu:
            torch.cuda.set_device(local_device("cuda"))
        dist.init_process_group("cpu:gloo,cuda:nccl" if gpu else "gloo")
        atexit.register(_leave)
    return World(dist.get_rank(), dist.get_world_size())


def local_device(device: torch.device | str) -> torch.device:
    """La GPU de este proceso, si `device` es una GPU sin número; si no, el mismo `device`."""
    device = torch.device(device)
    if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return device


def _leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()
