"""Puntos de control: morir en cualquier momento y seguir con los mismos bits."""

import dataclasses
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.training import checkpoints
from course_lib.training.batches import TokenBatches
from course_lib.training.checkpoints import load_checkpoint, save_checkpoint
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy
from course_lib.training.randomness import random_state, set_random_state
from course_lib.training.schedules import warmup_cosine

VOCAB = 20


@pytest.fixture(autouse=True)
def _as_user(as_user):
    """Al comprobar tipos, beartype sortea con el azar de Python, que aquí se compara."""


class Tagger(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        torch.manual_seed(7)
        self.layers = nn.Sequential(
            nn.Embedding(VOCAB, width), nn.Dropout(0.3), nn.Linear(width, VOCAB)
        )
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, ids):
        self.calls += 1
        return self.layers(ids) * (1 + 0.01 * random.random() + 0.01 * np.random.rand())


class Loss:
    def __call__(self, model, batch):
        return cross_entropy(model(batch), batch, label_smoothing=0.1, ignore_id=0)

    def count(self, batch):
        return int((batch != 0).sum())


def batches():
    rng = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 9, (50,), generator=rng).tolist()
    rows = [torch.randint(1, VOCAB, (n,), generator=rng) for n in lengths]
    return TokenBatches(rows, batch_size=6)


class Loader:
    """Lotes que no saben de posiciones y se sortean al recorrerlos."""

    def __iter__(self):
        for _ in range(4):
            yield torch.randint(1, VOCAB, (3, 5))


def run(path=None, *, steps=25, every=3, model=None, feed=None, on_step=None, **options):
    """Entrena con todo lo que tiene azar; devuelve el modelo y la historia."""
    model = model or Tagger()
    settings = {"schedule": warmup_cosine(1e-2, 5, 30), "accumulate": 2, "seed": 3} | options
    history = train(
        model, Loss(), feed or batches(), steps=steps, checkpoint=path, checkpoint_every=every,
        on_step=on_step, **settings,
    )  # fmt: skip
    return model, history


def measure(step, model):
    torch.rand(3), random.random(), np.random.rand()  # medir no debe mover el entrenamiento
    return {"normal": float(model.layers[2].weight.norm())} if step % 4 == 0 else None


def assert_same_bits(one, other):
    (model, history), (other_model, other_history) = one, other
    pairs = zip(model.state_dict().items(), other_model.state_dict().items(), strict=True)
    for (name, tensor), (other_name, other_tensor) in pairs:
        assert name == other_name
        assert torch.equal(tensor, other_tensor), f"{name} no tiene los mismos bits"
    assert history == other_history


class Stop(Exception):
    pass


def stop_at(step, then=measure):
    def on_step(now, model):
        if now == step:
            raise Stop
        return then(now, model)

    return on_step


@pytest.mark.parametrize("feed", [batches, Loader])
@pytest.mark.parametrize("at", [1, 4, 14, 25])
def test_interrupted_and_resumed_to_the_same_bits(tmp_path, feed, at):
    whole = run(feed=feed(), on_step=measure)
    path = tmp_path / "folder" / "model.ckpt"
    with pytest.raises(Stop):
        run(path, feed=feed(), on_step=stop_at(at))
    torch.rand(11), random.random()
    resumed = run(path, feed=feed(), on_step=measure)
    assert_same_bits(resumed, whole)
    assert resumed[1].metrics["normal"] == whole[1].metrics["normal"] != []


def test_interrupted_several_times(tmp_path):
    path = tmp_path / "model.ckpt"
    for at in (5, 6, 13, 13, 21):
        with pytest.raises(Stop):
            run(path, on_step=stop_at(at))
    assert_same_bits(run(path, on_step=measure), run(on_step=measure))


def test_the_hook_changes_nothing():
    observed, blind = run(on_step=measure), run()
    assert observed[1].loss == blind[1].loss
    for p, q in zip(observed[0].parameters(), blind[0].parameters(), strict=True):
        assert torch.equal(p, q)


def test_a_finished_training_is_not_repeated_and_can_be_extended(tmp_path):
    path, rate = tmp_path / "model.ckpt", warmup_cosine(1e-2, 5, 30)
    run(path, steps=10, schedule=rate)
    seen = []
    again = run(path, steps=10, schedule=rate, on_step=lambda step, model: seen.append(step))
    assert seen == [] and len(again[1].loss) == 10 and not again[0].training
    longer = run(path, steps=20, schedule=rate)
    assert_same_bits(longer, run(steps=20, schedule=rate))


def test_without_resume_it_starts_again(tmp_path):
    path = tmp_path / "model.ckpt"
    first = run(path, steps=10)
    assert_same_bits(run(path, steps=10, resume=False), first)
    assert load_checkpoint(path).step == 10


def test_every_option_of_adam_survives(tmp_path):
    options = {
        "optimizer": lambda p: torch.optim.AdamW(p, lr=1e-2, amsgrad=True, weight_decay=0.1),
        "schedule": None,
    }
    with pytest.raises(Stop):
        run(tmp_path / "c", on_step=stop_at(8), **options)
    assert_same_bits(
        run(tmp_path / "c", on_step=measure, **options), run(on_step=measure, **options)
    )


# --- SIGKILL -----------------------------------------------------------------------------------

HEAVY = {"steps": 150, "every": 1}  # un guardado por paso: muchas muertes caen mientras escribe


def train_and_report(path, out):
    torch.set_num_threads(1)
    model, history = run(path, model=Tagger(2000), **HEAVY)
    torch.save({"model": model.state_dict(), "history": dataclasses.asdict(history)}, out)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="necesita fork")
def test_killed_at_random_moments(tmp_path):
    """Quince muertes seguidas con SIGKILL, en momentos al azar, y el mismo final."""
    fork, path, out = multiprocessing.get_context("fork"), tmp_path / "c", tmp_path / "out"
    chance, kills, steps = random.Random(0), 0, []
    while not out.exists():
        process = fork.Process(target=train_and_report, args=(path, out))
        process.start()
        process.join(chance.uniform(0.02, 0.3) if kills < 15 else 120)
        if process.exitcode is None:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            kills += 1
        if path.exists():
            steps.append(load_checkpoint(path).step)  # siempre se puede leer
    assert kills >= 5 and steps == sorted(steps)
    model, history = run(model=Tagger(2000), **HEAVY)
    result = torch.load(out, weights_only=True)
    for name, tensor in model.state_dict().items():
        assert torch.equal(result["model"][name], tensor), name
    assert History(**result["history"]) == history


SCRIPT = """
import sys, torch
sys.path.insert(0, sys.argv[3])
from training_job import train_and_report
train_and_report(*sys.argv[1:3])
"""


@pytest.mark.slow
@pytest.mark.usefixtures("warm_processes")
def test_killed_as_a_command(tmp_path):
    """Lo mismo con el intérprete entero, sin nada heredado de esta prueba."""
    shutil.copy(__file__, tmp_path / "training_job.py")
    path, out = tmp_path / "c", tmp_path / "out"
    command = [sys.executable, "-c", SCRIPT, str(path), str(out), str(tmp_path)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment)
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL, "terminó antes de que la mataran"
    assert 1 <= load_checkpoint(path).step < HEAVY["steps"]
    subprocess.run(command, env=environment, check=True, timeout=240)
    model, history = run(model=Tagger(2000), **HEAVY)
    result = torch.load(out, weights_only=True)
    assert all(torch.equal(result["model"][k], v) for k, v in model.state_dict().items())
    assert History(**result["history"]) == history


# --- el archivo --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.ckpt"
    run(path, steps=4)
    return path


@pytest.mark.parametrize("where", ["write", "fsync", "replace"])
def test_a_failed_save_leaves_the_previous_one(saved, tmp_path, monkeypatch, where):
    path = tmp_path / "c"
    shutil.copy(saved, path)
    before, checkpoint = path.read_bytes(), load_checkpoint(path)

    def fail(*args, **kwargs):
        raise OSError("disco lleno")

    target = {"write": (torch, "save"), "fsync": (os, "fsync"), "replace": (Path, "replace")}
    monkeypatch.setattr(*target[where], fail)
    with pytest.raises(OSError, match="disco lleno"):
        save_checkpoint(path, checkpoint)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["c"]


def test_the_new_name_comes_after_the_disk_has_it(saved, tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda fd: events.append("fsync") or fsync(fd))
    monkeypatch.setattr(
        Path, "replace", lambda self, to: events.append("replace") or replace(self, to)
    )
    save_checkpoint(tmp_path / "c", load_checkpoint(saved))
    assert events == ["fsync", "replace", "fsync"]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9, 0.9999])
def test_a_truncated_file_is_refused(saved, tmp_path, share):
    content = saved.read_bytes()
    (tmp_path / "c").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ValueError, match="truncado o dañado"):
        load_checkpoint(tmp_path / "c")
    with pytest.raises(ValueError, match="resume=False"):
        run(tmp_path / "c", steps=4)


def test_any_flipped_bit_is_noticed_or_harmless(saved, tmp_path):
    content, whole = saved.read_bytes(), load_checkpoint(saved)
    chance, refused = random.Random(1), 0
    for _ in range(150):
        place = chance.randrange(len(content))
        changed = bytearray(content)
        changed[place] ^= 1 << chance.randrange(8)
        (tmp_path / "c").write_bytes(changed)
        try:
            loaded = load_checkpoint(tmp_path / "c")
        except ValueError as error:
            assert "dañado" in str(error) or "no es un punto" in str(error)
            refused += 1
            continue
        for name, tensor in whole.model.items():
            assert torch.equal(loaded.model[name], tensor), f"byte {place}"
        assert loaded.history == whole.history and loaded.step == whole.step
    assert refused > 50


def test_a_flipped_bit_in_a_tensor_is_noticed(saved, tmp_path):
    content = bytearray(saved.read_bytes())
    weights = load_checkpoint(saved).model["layers.0.weight"].numpy().tobytes()
    content[content.index(weights) + 5] ^= 1
    (tmp_path / "c").write_bytes(content)
    with pytest.raises(ValueError, match="dañado"):
        load_checkpoint(tmp_path / "c")


class Payload:
    def __reduce__(self):
        return os.mkdir, ("payload-was-run",)


def test_code_in_a_file_is_not_run(saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"format": checkpoints.FORMAT, "model": Payload()}, "bad")
    with zipfile.ZipFile("pickle", "w") as archive:
        archive.writestr("data.pkl", pickle.dumps(Payload()))
    Path("raw").write_bytes(pickle.dumps(Payload()))
    torch.save({"state": 1}, "other")
    for name in ("bad", "pickle", "raw", "other"):
        with pytest.raises(ValueError, match="punto de control"):
            load_checkpoint(name)
    assert not Path("payload-was-run").exists()


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="No existe el punto de control"):
        load_checkpoint(tmp_path / "nothing")


class Renamed(Tagger):
    def __init__(self):
        super().__init__()
        self.extra = nn.Linear(2, 2)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": Tagger(8)}, r"«layers.0.weight» es float32\[20, 16\].*float32\[20, 8\]"),
        ({"model": Renamed()}, "«extra.weight» es nada"),
        ({"model": Tagger().double()}, "float32.*float64"),
        ({"seed": 4}, "seed = 3 y ahora es 4"),
        ({"accumulate": 1}, "lotes por paso = 2 y ahora es 1"),
        ({"clip_norm": None}, "clip_norm = 1.0 y ahora es None"),
        ({"optimizer": lambda p: torch.optim.SGD(p, lr=0.1)}, "Adam y ahora es SGD"),
        ({"optimizer": lambda p: torch.optim.Adam(p, betas=(0.9, 0.98))}, "0.999.*0.98"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(saved, tmp_path, change, words):
    shutil.copy(saved, tmp_path / "c")
    model = change.setdefault("model", Tagger())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(ValueError, match=words):
        run(tmp_path / "c", steps=6, **change)
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, before[name]), "el modelo no debe quedar a medias"
    assert (tmp_path / "c").read_bytes() == saved.read_bytes()


def test_the_state_of_chance_is_complete():
    draw = lambda: (random.random(), random.gauss(), np.random.rand(), np.random.randn(), torch.rand(2).tolist())  # noqa: E501, E731  # fmt: skip
    draw()
    state = random_state()
    first = draw()
    set_random_state(state)
    assert draw() == first


def test_a_checkpoint_serves_to_load_the_model(saved):
    model = Tagger()
    model.load_state_dict(load_checkpoint(saved).model)
    assert_close(model.calls, torch.tensor(8.0))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="necesita una GPU")
@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_on_a_gpu_it_resumes_to_the_same_bits(tmp_path, precision):
    options = {"device": "cuda", "precision": precision}
    with pytest.raises(Stop):
        run(tmp_path / "c", on_step=stop_at(14), **options)
    resumed = run(tmp_path / "c", on_step=measure, **options)
    assert_same_bits(resumed, run(on_step=measure, **options))
