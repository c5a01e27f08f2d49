import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.training.loop import train
from course_lib.training.schedules import inverse_sqrt, warmup_cosine


def test_the_papers_numbers():
    # Vaswani et al. (2017): d_model = 512, 4000 pasos de calentamiento.
    rate = inverse_sqrt(512, 4000)
    assert rate(1) == pytest.approx(1 / (math.sqrt(512) * 4000**1.5))
    assert rate(4000) == pytest.approx(1 / math.sqrt(512 * 4000)) == pytest.approx(6.988e-4, 1e-3)
    assert rate(16_000) == pytest.approx(rate(4000) / 2), "cuatro veces más lejos, la mitad"
    assert rate(2000) == pytest.approx(rate(4000) / 2), "a media subida, la mitad"


@given(st.integers(1, 2000), st.integers(1, 500), st.integers(1, 3000))
def test_inverse_square_root_rises_to_the_warmup_and_then_falls(d_model, warmup, step):
    rate = inverse_sqrt(d_model, warmup, factor=3.0)
    assert 0 < rate(step) <= rate(warmup) * (1 + 1e-12)
    assert (rate(step + 1) > rate(step)) == (step < warmup)
    assert rate(step) == pytest.approx(3 * inverse_sqrt(d_model, warmup)(step))


@given(st.integers(0, 50), st.integers(1, 300), st.floats(0, 1), st.integers(1, 500))
def test_cosine_rises_falls_and_stays_at_its_floor(warmup, tail, floor, step):
    total = warmup + tail
    rate = warmup_cosine(1.0, warmup, total, floor)
    if step <= warmup:
        assert rate(step) == pytest.approx(step / warmup)
    elif step >= total:
        assert rate(step) == pytest.approx(floor)
    else:
        assert floor - 1e-12 <= rate(step + 1) <= rate(step) <= 1
        mirrored = warmup + total - step
        if mirrored > warmup:
            assert rate(step) + rate(mirrored) == pytest.approx(1 + floor), (
                "media onda es simétrica"
            )


def test_cosine_is_torchs_step_by_step():
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40, eta_min=0.01)
    rate = warmup_cosine(0.3, 0, 40, 0.01)
    for step in range(1, 41):
        optimizer.step()
        scheduler.step()
        assert rate(step) == pytest.approx(optimizer.param_groups[0]["lr"], abs=1e-12)


def test_training_follows_the_plan():
    model = torch.nn.Linear(1, 1)
    rate = inverse_sqrt(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=9.0)
    history = train(
        model, lambda m, b: m(b).pow(2).mean(), [torch.ones(2, 1)], steps=6, schedule=rate,
        optimizer=optimizer,
    )  # fmt: skip
    assert history.learning_rate == [rate(step) for step in range(1, 7)]
    assert optimizer.param_groups[0]["lr"] == rate(6)
    steady = train(model, lambda m, b: m(b).pow(2).mean(), [torch.ones(2, 1)], steps=2)
    assert steady.learning_rate == [1e-3, 1e-3]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: inverse_sqrt(0, 5), "d_model"),
        (lambda: inverse_sqrt(5, 0), "warmup"),
        (lambda: inverse_sqrt(5, 5)(0), "step"),
        (lambda: inverse_sqrt(5, 5, factor=-1.0), "factor"),
        (lambda: warmup_cosine(0.0, 1, 5), "peak"),
        (lambda: warmup_cosine(1.0, 5, 5), "warmup < total"),
        (lambda: warmup_cosine(1.0, 1, 5, 2.0), "floor ≤ peak"),
        (lambda: warmup_cosine(1.0, 1, 5)(0), "step"),
    ],
)
def test_misuse_is_explained(make, words):
    with pytest.raises(ValueError, match=words):
        make()
