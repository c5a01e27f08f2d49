"""El azar como un estado que se guarda y se repone: el de Python, NumPy, torch y la GPU."""

import contextlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from course_lib.devices import seed_everything


def random_state(device: torch.device | str = "cpu") -> dict[str, Any]:
    """El estado de todos los generadores globales, y el de la GPU si `device` es una.

    Solo contiene números, listas y tensores: se puede guardar y leer sin ejecutar código.
    """
    legacy = np.random.get_state(legacy=False)
    key = torch.from_numpy(legacy["state"]["key"].astype(np.int64))
    state = {
        "python": random.getstate(),
        "numpy": (key, legacy["state"]["pos"], legacy["has_gauss"], legacy["gauss"]),
        "torch": torch.get_rng_state(),
    }
    if torch.device(device).type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    return state


def set_random_state(state: dict[str, Any], device: torch.device | str = "cpu") -> None:
    """Repone un estado de `random_state`: lo que se sortee después será lo mismo que entonces."""
    random.setstate(state["python"])
    key, *rest = state["numpy"]
    np.random.set_state(("MT19937", key.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if torch.device(device).type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)


@contextlib.contextmanager
def kept_random_state(device: torch.device | str = "cpu") -> Iterator[None]:
    """Lo que se sortee dentro no cambia lo que se sortee después."""
    outside = random_state(device)
    try:
        yield
    finally:
        set_random_state(outside, device)


class RandomStream:
    """Un azar aparte, con su semilla: lo que se sortee fuera no lo mueve, ni al revés."""

    def __init__(self, seed: int) -> None:
        with kept_random_state():
            seed_everything(seed)
            self.state = random_state()

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Mientras dura, los generadores globales siguen este flujo."""
        with kept_random_state():
            set_random_state(self.state)
            yield
            self.state = random_state()
