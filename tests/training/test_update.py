"""Gradiente acumulado, precisión mixta y lo que queda escrito en la historia."""

import itertools

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.training.batches import pad
from course_lib.training.history import History
from course_lib.training.loop import train
from course_lib.training.losses import TranslationLoss, cross_entropy
from course_lib.training.update import choose_precision

VOCAB = 13


class Translator(nn.Module):
    """Lo mínimo que se entrena con (origen, entrada del decodificador)."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(1)
        self.source = nn.Embedding(VOCAB, 8, padding_idx=0, dtype=dtype)
        self.target = nn.Embedding(VOCAB, 8, padding_idx=0, dtype=dtype)
        self.output = nn.Linear(8, VOCAB, dtype=dtype)

    def forward(self, source, target):
        count = (source != 0).sum(-1, keepdim=True)
        context = self.source(source).sum(1) / count
        return self.output(self.target(target) + context[:, None])


def pairs(lengths, seed=0):
    rng = torch.Generator().manual_seed(seed)
    words = lambda n: torch.randint(3, VOCAB, (n,), generator=rng).tolist()  # noqa: E731
    return [([*words(n), 2], [1, *words(n), 2]) for n in lengths]


def batch(examples):
    return tuple(pad(column, 0) for column in zip(*examples, strict=True))


def run(batches, accumulate, loss, model=None, **options):
    model = model or Translator()
    options = {"steps": 5, "learning_rate": 1e-2} | options
    return model, train(model, loss, batches, accumulate=accumulate, **options)


# Tres lotes muy distintos: 4, 30 y 11 tokens reales en el destino.
GROUPS = [pairs([1, 1], 1), pairs([9, 9, 9], 2), pairs([3, 6], 3)]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_accumulating_is_the_big_batch_even_with_different_lengths(smoothing):
    loss = TranslationLoss(label_smoothing=smoothing)
    small, history = run([batch(group) for group in GROUPS], 3, loss)
    big, expected = run([batch([*itertools.chain(*GROUPS)])], 1, loss)
    for p, q in zip(small.parameters(), big.parameters(), strict=True):
        assert_close(p, q, rtol=0, atol=1e-12)
    assert_close(torch.tensor(history.loss), torch.tensor(expected.loss), rtol=0, atol=1e-12)
    assert_close(torch.tensor(history.grad_norm), torch.tensor(expected.grad_norm))
    assert history.tokens == expected.tokens == [sum(n + 1 for n in (1, 1, 9, 9, 9, 3, 6))] * 5


def test_the_mean_of_means_would_be_another_thing():
    loss = TranslationLoss()
    blind = lambda model, batch: loss(model, batch)  # noqa: E731  (sin `count`)
    mean_of_means, history = run([batch(group) for group in GROUPS], 3, blind)
    big, _ = run([batch([*itertools.chain(*GROUPS)])], 1, loss)
    assert not torch.allclose(mean_of_means.output.weight, big.output.weight, atol=1e-4)
    assert history.tokens == [] and history.tokens_per_second is None


def test_without_a_count_batches_weigh_the_same():
    halves = [torch.randn(4, 3, dtype=torch.float64) for _ in range(2)]
    loss = lambda model, x: model(x).pow(2).mean()  # noqa: E731
    models = [nn.Linear(3, 1, dtype=torch.float64) for _ in range(2)]
    models[1].load_state_dict(models[0].state_dict())
    train(models[0], loss, halves, steps=4, accumulate=2)
    train(models[1], loss, [torch.cat(halves)], steps=4)
    assert_close(models[0].weight, models[1].weight, rtol=0, atol=1e-12)


def test_each_step_takes_its_batches_in_order():
    seen = []

    def loss(model, batch):
        seen.append(batch)
        return model.weight.sum()

    train(nn.Linear(1, 1), loss, list(range(5)), steps=4, accumulate=2)
    assert seen == [0, 1, 2, 3, 4, 0, 1, 2]


def learn(precision, device="cpu"):
    """Un traductor palabra por palabra; devuelve el modelo, la historia y los tipos vistos."""
    rng = torch.Generator().manual_seed(0)
    sources = [torch.randint(3, VOCAB, (16, 1), generator=rng) for _ in range(8)]
    batches = [(s, torch.cat((torch.ones_like(s), s), 1)) for s in sources]
    model, seen = Translator(torch.float32), set()
    model.output.register_forward_hook(lambda module, x, y: seen.add(y.dtype))
    options = {"steps": 150, "precision": precision, "device": device}
    return *run(batches, 1, TranslationLoss(), model, **options), seen


def test_bfloat16_computes_in_sixteen_bits_and_learns_the_same():
    full, mixed = learn("float32"), learn("bfloat16")
    assert full[2] == {torch.float32} and mixed[2] == {torch.bfloat16}
    assert {p.dtype for p in mixed[0].parameters()} == {torch.float32}
    assert mixed[1].loss[-1] < 0.1 * mixed[1].loss[0]
    assert mixed[1].loss[-1] == pytest.approx(full[1].loss[-1], rel=0.1)
    assert mixed[1].loss != full[1].loss


def test_the_precision_is_chosen_by_the_device(monkeypatch):
    assert choose_precision(None, torch.device("cpu")) == "float32"
    assert choose_precision("bfloat16", torch.device("cpu")) == "bfloat16"
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **options: True)
    assert choose_precision(None, torch.device("cuda")) == "bfloat16"
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **options: False)
    assert choose_precision(None, torch.device("cuda")) == "float32"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="necesita una GPU")
def test_a_gpu_trains_in_bfloat16_by_itself():
    _, history, seen = learn(None, "cuda")
    assert seen == {torch.bfloat16}
    assert history.loss[-1] < 0.1 * history.loss[0]


def test_the_hook_sees_the_gradient_and_an_evaluating_model():
    model, seen = nn.Sequential(nn.Dropout(), nn.Linear(2, 1)), []

    def on_step(step, model):
        grads = [p.grad.norm().item() for p in model.parameters()]
        seen.append((step, model.training, torch.is_grad_enabled(), sum(g**2 for g in grads)))
        return {"pares": step} if step % 2 == 0 else None

    history = train(
        model, lambda m, b: (m(b) * 50).pow(2).mean(), [torch.ones(8, 2)], steps=5,
        clip_norm=0.5, on_step=on_step,
    )  # fmt: skip
    assert [s[:3] for s in seen] == [(i, False, False) for i in range(1, 6)]
    assert all(norm == pytest.approx(0.25, rel=1e-3) for *_, norm in seen), "ya recortado"
    assert history.metrics == {"pares": [(2, 2.0), (4, 4.0)]}
    assert not model.training


def test_the_model_trains_after_being_looked_at():
    modes = []

    def loss(model, batch):
        modes.append(model.training)
        return model(batch).mean()

    train(nn.Linear(1, 1), loss, [torch.ones(1, 1)], steps=3, on_step=lambda step, model: None)
    assert modes == [True] * 3


def test_tokens_per_second():
    history = History(tokens=[30, 50], seconds=4.0)
    assert history.tokens_per_second == 20
    assert history == History(tokens=[30, 50], seconds=9.0), "el tiempo no distingue historias"
    assert history != History(tokens=[30, 51], seconds=4.0)


def test_all_padding_is_explained_inside_the_training():
    examples = [(torch.ones(1, 2, dtype=torch.long), torch.tensor([[1, 0, 0]]))]
    with pytest.raises(ValueError, match="todos son relleno"):
        run(examples, 1, TranslationLoss())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"accumulate": 0}, "accumulate"),
        ({"checkpoint_every": 0}, "checkpoint_every"),
        ({"precision": "float16"}, "precision.*bfloat16.*float16"),
        ({"batches": itertools.islice([1], 0)}, "se acabaron después de 0"),
    ],
)
def test_misuse_is_explained(as_user, change, words):
    model = nn.Linear(1, 1)
    options = {"batches": [torch.ones(1, 1)], "steps": 1} | change
    with pytest.raises(ValueError, match=words):
        train(model, lambda m, b: m(b).mean(), **options)


def test_the_loss_may_be_a_module_with_parameters_of_its_own():
    class Weighted(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(1.0))

        def forward(self, model, batch):
            return self.scale * cross_entropy(model(batch), torch.zeros(4, dtype=torch.long))

    loss = Weighted()
    train(nn.Linear(2, 3), loss, [torch.ones(4, 2)], steps=2)
    assert loss.scale == 1
