import random
import time

import numpy as np
import pytest
import torch

from course_lib.devices import best_device, best_dtype, peak_memory, seed_everything, stopwatch


def test_best_device_can_compute():
    device = best_device()
    assert torch.ones(2, device=device, dtype=best_dtype(device)).sum().item() == 2


def test_the_seed_fixes_every_source_of_chance():
    def draw():
        generator = seed_everything(7)
        return (
            random.random(),
            np.random.rand(),
            torch.rand(1).item(),
            torch.rand(1, generator=generator).item(),
        )

    assert draw() == draw()


@pytest.mark.parametrize("seed", [-1, 2**32, 1.5, True, "7"])
def test_a_bad_seed_is_explained(as_user, seed):
    with pytest.raises(ValueError, match="entero entre 0 y 2³² − 1"):
        seed_everything(seed)


def test_stopwatch_measures_even_when_the_block_raises():
    with pytest.raises(KeyError), stopwatch() as measure:
        time.sleep(0.02)
        raise KeyError
    assert measure.seconds >= 0.02


def test_peak_memory_sees_what_was_freed():
    with peak_memory() as measure:
        torch.ones(16 * 2**20)  # 64 MiB que al salir ya no están
    if measure.bytes is None:
        pytest.skip("este sistema no deja medir el máximo de memoria")
    assert 48 * 2**20 < measure.bytes < 200 * 2**20


def test_peak_memory_is_not_fooled_by_memory_freed_before():
    freed = [torch.ones(2**12) for _ in range(10_000)]  # 160 MiB que el montículo guarda al soltar
    del freed
    with peak_memory() as measure:
        kept = [torch.ones(2**12) for _ in range(5_000)]  # 80 MiB
    if measure.bytes is None:
        pytest.skip("este sistema no deja medir el máximo de memoria")
    assert len(kept) == 5_000
    assert 64 * 2**20 < measure.bytes < 120 * 2**20


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no hay GPU")
def test_peak_memory_and_stopwatch_on_gpu():
    with peak_memory("cuda") as memory, stopwatch("cuda") as time_:
        torch.ones(2**20, device="cuda").sum()
    assert memory.bytes >= 4 * 2**20
    assert time_.seconds > 0
