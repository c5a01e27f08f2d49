import math
import subprocess
import sys
from collections import namedtuple
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.training.loop import History, train


def line(model, batch):
    x, y = batch
    return (model(x) - y).pow(2).mean()


def points(count=4, seed=0):
    rng = torch.Generator().manual_seed(seed)
    xs = [torch.randn(16, 2, generator=rng) for _ in range(count)]
    return [(x, x @ torch.tensor([[2.0], [-1.0]]) + 0.5) for x in xs]


def fresh(seed=0, *, dropout=0.0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Dropout(dropout), nn.Linear(2, 1))


def test_it_finds_the_line_and_leaves_the_model_ready():
    model = fresh()
    history = train(model, line, points(), steps=400, learning_rate=5e-2)
    assert_close(model[1].weight, torch.tensor([[2.0, -1.0]]), rtol=0, atol=1e-2)
    assert len(history.loss) == len(history.grad_norm) == 400 and history.seconds > 0
    assert history.loss[-1] < 1e-3 < history.loss[0]
    assert not model.training


def test_same_seed_same_history_whatever_was_drawn_before():
    histories = []
    for draws, seed in ((0, 3), (10, 3), (0, 4)):
        model = fresh(dropout=0.5)
        torch.randn(draws)
        histories.append(train(model, line, points(), steps=20, seed=seed))
    assert histories[0].loss == histories[1].loss
    assert histories[0].loss != histories[2].loss, "la semilla no llega al dropout"


def test_one_step_is_the_written_out_update():
    model, other = fresh(), fresh()
    batch = points(1)[0]
    history = train(
        model,
        line,
        [batch],
        steps=1,
        clip_norm=None,
        optimizer=lambda p: torch.optim.SGD(p, lr=0.1),
    )
    line(other, batch).backward()
    norm = torch.cat([p.grad.flatten() for p in other.parameters()]).norm()
    assert history.grad_norm == [pytest.approx(norm.item())]
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        assert_close(p, q - 0.1 * q.grad)


@pytest.mark.parametrize("clip_norm", [0.01, 1e6])
def test_clipping_bounds_the_step_and_the_history_keeps_the_norm_before_it(clip_norm):
    model, start = fresh(), fresh()
    history = train(
        model, line, points(1), steps=1, clip_norm=clip_norm,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
    )  # fmt: skip
    moved = torch.cat(
        [(p - q).flatten() for p, q in zip(model.parameters(), start.parameters(), strict=True)]
    ).norm()
    expected = min(clip_norm, history.grad_norm[0])
    assert moved.item() == pytest.approx(expected, rel=1e-3)
    assert history.grad_norm[0] > 0.01


def test_batches_start_again_in_order_when_they_run_out():
    seen = []

    def loss(model, batch):
        seen.append(batch["n"])
        return line(model, points(1)[0])

    train(fresh(), loss, [{"n": n} for n in range(3)], steps=7)
    assert seen == [0, 1, 2, 0, 1, 2, 0]


def test_an_endless_generator_is_read_only_as_far_as_needed():
    read = []

    def endless():
        while True:
            read.append(1)
            yield points(1)[0]

    train(fresh(), line, endless(), steps=5)
    assert len(read) <= 6


def test_tensors_travel_to_the_device_wherever_they_are_in_the_batch():
    Pair = namedtuple("Pair", "x y")
    x = torch.ones(1, 2)
    batch = {"a": [x, (x, 3)], "b": Pair(x, "texto"), "c": None}
    seen = []

    def loss(model, batch):
        seen.append(batch)
        return model[1].weight.new_ones(1, 2).sum() + model[1].bias.sum()

    with torch.device("meta"):
        model = nn.Sequential(nn.Dropout(), nn.Linear(2, 1))
    with pytest.raises((ValueError, RuntimeError, NotImplementedError)):
        train(model, loss, [batch], steps=1)  # meta no tiene números: basta ver adónde llegó
    (got,) = seen
    assert {t.device.type for t in (got["a"][0], got["a"][1][0], got["b"].x)} == {"meta"}
    assert type(got["b"]) is Pair and got["b"].y == "texto" and got["a"][1][1] == 3


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="necesita una GPU")
def test_it_trains_the_same_on_a_gpu():
    on_cpu = train(fresh(), line, points(), steps=30)
    model = fresh()
    on_gpu = train(model, line, points(), steps=30, device="cuda", precision="float32")
    assert model[1].weight.is_cuda
    assert_close(torch.tensor(on_gpu.loss), torch.tensor(on_cpu.loss), rtol=1e-4, atol=1e-5)


@given(st.lists(st.floats(-1e6, 1e6), max_size=30), st.integers(1, 40))
def test_smoothed_is_the_mean_of_the_last_losses(loss, window):
    smooth = History(loss=loss).smoothed(window)
    assert len(smooth) == len(loss)
    for i, value in enumerate(smooth):
        recent = loss[max(0, i + 1 - window) : i + 1]
        assert value == pytest.approx(sum(recent) / len(recent), abs=1e-3)


def blow_up(at, how):
    """Una pérdida que deja de ser finita en el paso `at`."""
    steps = []

    def loss(model, batch):
        steps.append(1)
        value = line(model, batch)
        if len(steps) < at:
            return value
        if how == "loss":
            return value * float("nan")
        return value + (model[1].weight.sum() * 0).abs().sqrt()

    return loss


@pytest.mark.parametrize(("how", "what"), [("loss", "La pérdida"), ("grad", "La norma")])
def test_what_is_not_finite_stops_the_training_and_names_the_step(how, what):
    model = fresh()
    with pytest.raises(ValueError, match=f"{what}.*en el paso 4.*tasa de aprendizaje"):
        train(model, blow_up(4, how), points(), steps=9)
    assert all(p.isfinite().all() for p in model.parameters()), "el paso malo no debe aplicarse"


def fused(parameters):
    """Se salta un paso en el dispositivo, sin que nadie lea si es finito."""
    return torch.optim.AdamW(parameters, lr=0.05, fused=True)


def test_reading_less_often_changes_nothing(tmp_path):
    told = []
    for every in (1, 4, 100):
        model, path = fresh(dropout=0.5), tmp_path / str(every)
        options = {"optimizer": fused, "log_every": every, "checkpoint": path}
        train(model, line, points(), steps=6, **options)
        options |= {"checkpoint_every": 5, "on_step": lambda step, model: {"step": step}}
        history = train(model, line, points(), steps=11, **options)
        told.append((history, *model.state_dict().values()))
    for history, *parameters in told[1:]:
        assert history == told[0][0]
        assert_close(parameters, told[0][1:], rtol=0, atol=0)


@pytest.mark.parametrize("every", [1, 3, 100])
@pytest.mark.parametrize(("how", "what"), [("loss", "La pérdida"), ("grad", "La norma")])
def test_read_late_the_parameters_are_still_those_before_the_fault(every, how, what):
    model, expected = fresh(), fresh()
    train(expected, line, points(), steps=3, optimizer=fused)
    with pytest.raises(ValueError, match=f"{what}.*en el paso 4.*tasa de aprendizaje"):
        train(model, blow_up(4, how), points(), steps=9, optimizer=fused, log_every=every)
    assert_close(list(model.parameters()), list(expected.parameters()), rtol=0, atol=0)


@pytest.mark.parametrize("first", [False, True])
def test_a_checkpoint_does_not_depend_on_how_the_optimizer_computes(tmp_path, first):
    def adam(fused):
        return lambda parameters: torch.optim.Adam(parameters, lr=0.05, fused=fused)

    expected = train(fresh(), line, points(), steps=8, optimizer=adam(None))
    model, path = fresh(), tmp_path / "c"
    for steps, fused in ((4, first), (8, not first)):
        options = {"optimizer": adam(fused), "checkpoint": path, "log_every": 1 + fused}
        history = train(model, line, points(), steps=steps, **options)
    assert_close(torch.tensor(history.loss), torch.tensor(expected.loss))


def test_a_fused_optimizer_works_when_numbers_have_64_bits():
    torch.set_default_dtype(torch.float64)
    try:
        losses = [
            train(
                fresh(), line, points(), steps=8, optimizer=partial(torch.optim.Adam, fused=fused)
            )
            for fused in (False, True)
        ]
    finally:
        torch.set_default_dtype(torch.float32)
    assert_close(losses[0].loss, losses[1].loss)


@pytest.mark.parametrize(
    "stored",
    [lambda x: x, lambda x: x.T.contiguous().T, lambda x: torch.cat((x, x), 1)[:, ::2]],
    ids=["por filas", "por columnas", "con huecos"],
)
def test_adam_gives_the_same_however_the_parameters_are_stored(stored):
    def loss(model, batch):
        x, y = batch
        return (x @ model.W - y).pow(2).mean()

    weights = []
    for optimizer in (None, lambda p: torch.optim.Adam(p, lr=0.05, foreach=False)):
        model = nn.Module()
        torch.manual_seed(0)
        model.W = nn.Parameter(stored(torch.randn(2, 3)))
        train(model, loss, points(), steps=8, learning_rate=0.05, optimizer=optimizer)
        weights.append(model.W)
    assert_close(weights[0], weights[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"log_every": 0}, "log_every: se esperaba al menos 1"),
        ({"log_every": 5}, "con Adam se esperaba 1 y llegó 5.*fused=True"),
        ({"steps": 0}, "steps"),
        ({"clip_norm": 0.0}, "clip_norm=None"),
        ({"batches": []}, "se acabaron después de 0"),
        ({"batches": iter(points(2))}, "se acabaron después de 2"),
        ({"loss": lambda m, b: (m(b[0]) - b[1]).pow(2)}, "escalar"),
        ({"loss": lambda m, b: line(m, b).detach()}, "detach"),
        ({"loss": lambda m, b: line(m, b).item()}, "item"),
        ({"model": nn.ReLU()}, "ninguno"),
        ({"seed": -1}, "seed"),
        ({"learning_rate": -1.0}, "learning_rate: se esperaba"),
        ({"schedule": lambda step: math.nan}, "schedule: .* en el paso 1 dio nan"),
        ({"schedule": lambda step: 2.0 - step}, "en el paso 3 dio -1"),
    ],
)
def test_misuse_is_explained(as_user, change, words):
    arguments = {"model": fresh(), "loss": line, "batches": points(), "steps": 5} | change
    with pytest.raises(ValueError, match=words):
        train(**arguments)
    assert all(p.isfinite().all() for p in arguments["model"].parameters())


SCRIPT = """
import torch
from course_lib.training.loop import train
model = torch.nn.Linear(1, 1)
h = train(model, lambda m, b: m(b).pow(2).mean(), [torch.ones(3, 1)], steps=5)
"""


@pytest.mark.usefixtures("warm_processes")
def test_outside_a_terminal_the_progress_bar_is_silent():
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert (run.stdout, run.stderr) == ("", "")


@pytest.mark.slow
def test_an_executed_notebook_keeps_no_trace_of_the_progress_bar():
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(SCRIPT)])
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    assert notebook.cells[0].outputs == []


def test_in_a_terminal_there_is_a_progress_bar(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    train(fresh(), line, points(), steps=3)
    assert "0/3" in capsys.readouterr().err
    train(fresh(), line, points(), steps=3, progress=False)
    assert capsys.readouterr().err == ""
