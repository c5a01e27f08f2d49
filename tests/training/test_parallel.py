"""El mismo guion, con un proceso o con dos lanzados por torchrun, da el mismo modelo."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from course_lib.training.parallel import World, join_world, local_device

SCRIPT = Path(__file__).parent / "parallel_script.py"


def run(tmp_path, name, processes, **options):
    """Lanza el guion con tantos procesos; da, por entrenamiento, lo que cada uno guardó."""
    out = tmp_path / name
    out.mkdir(exist_ok=True)
    words = [
        word
        for key, value in options.items()
        for word in (f"--{key.replace('_', '-')}", *str(value).split())
    ]
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    command = [sys.executable, *(launcher if processes > 1 else []), str(SCRIPT), str(out), *words]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    results = [torch.load(path) for path in sorted(out.glob("*.pt"))]
    return done, *zip(*results, strict=True)


def assert_same_training(one, other, **tolerance):
    assert_close(one["model"], other["model"], **tolerance)
    for key in ("loss", "grad_norm", "learning_rate"):
        assert_close(torch.tensor(one[key]), torch.tensor(other[key]), **tolerance)


@pytest.mark.slow
@pytest.mark.usefixtures("warm_processes")
def test_two_processes_are_one_with_the_batches_of_both(tmp_path):
    """También con un parámetro sin usar."""
    _, *alone = run(tmp_path, "alone", 1, accumulate=4, spare="0 1")
    done, *pairs = run(tmp_path, "pair", 2, accumulate=2, spare="0 1")
    assert done.returncode == 0, done.stderr
    for (one,), results in zip(alone, pairs, strict=True):
        # Los dos guiones parten de modelos distintos en cada proceso: manda el del 0.
        assert_same_training(*results, rtol=0, atol=0)
        assert_same_training(results[0], one, rtol=0, atol=1e-12)
        assert one["tokens"] == results[0]["tokens"] == results[1]["tokens"]
        assert [r["watched"] for r in results] == [6, 0], "on_step es cosa del proceso 0"
    assert done.stdout + done.stderr == "", "nadie que use el curso debe leer avisos de torch"


@pytest.mark.slow
@pytest.mark.usefixtures("warm_processes")
def test_two_processes_resume_to_the_same_bits(tmp_path):
    done, (whole, other) = run(tmp_path, "whole", 2, dropout=0.3)
    assert done.returncode == 0, done.stderr
    assert whole["draw"] != other["draw"], "cada proceso sortea lo que apaga"
    broken, *nothing = run(tmp_path, "cut", 2, dropout=0.3, die_at=4)
    assert broken.returncode != 0 and nothing == []
    done, results = run(tmp_path, "cut", 2, dropout=0.3)
    assert done.returncode == 0, done.stderr
    for result in results:
        assert_same_training(result, whole, rtol=0, atol=0)
    assert results[0]["watched"] == 2, "se repiten solo los pasos 5 y 6"
    refused, *_ = run(tmp_path, "cut", 1, dropout=0.3)
    assert refused.returncode != 0 and "lotes por paso = 2 y ahora es 1" in refused.stderr


def test_without_torchrun_there_is_one_process(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    world = join_world()
    assert world == World(0, 1)
    assert list(world.share([1, 2, 3])) == [1, 2, 3] and world.gather("a") == ["a"]
    assert local_device("cuda") == torch.device("cuda")


def test_every_batch_goes_to_one_process():
    parts = [World(rank, 3).share(range(9)) for rank in range(3)]
    assert [list(part) for part in parts] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]


def test_each_process_takes_its_own_gpu(monkeypatch):
    monkeypatch.setenv("LOCAL_RANK", "2")
    assert local_device("cuda") == torch.device("cuda:2")
    assert local_device("cuda:0") == torch.device("cuda:0")
    assert local_device("cpu") == torch.device("cpu")
