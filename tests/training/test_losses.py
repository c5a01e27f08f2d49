import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F
from torch.testing import assert_close

from course_lib.devices import peak_memory
from course_lib.training.losses import TranslationLoss, cross_entropy, shift_right


def problem(seed=0, shape=(5, 7), vocab=11, dtype=torch.float64, scale=1.0):
    rng = torch.Generator().manual_seed(seed)
    logits = scale * torch.randn(*shape, vocab, generator=rng, dtype=dtype)
    targets = torch.randint(1, vocab, shape, generator=rng)
    targets[torch.rand(shape, generator=rng) < 0.3] = 0
    targets.view(-1)[0] = 1
    return logits.requires_grad_(), targets


def torch_loss(logits, targets, smoothing, ignore_id):
    return F.cross_entropy(
        logits.reshape(-1, logits.shape[-1]),
        targets.reshape(-1),
        label_smoothing=smoothing,
        ignore_index=-100 if ignore_id is None else ignore_id,
    )


@pytest.mark.parametrize("ignore_id", [None, 0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("scale", [1.0, 100.0])
@pytest.mark.parametrize(("dtype", "atol"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_it_is_torchs_loss_and_torchs_gradient(ignore_id, smoothing, scale, dtype, atol):
    logits, targets = problem(dtype=dtype, scale=scale)
    ours = cross_entropy(logits, targets, label_smoothing=smoothing, ignore_id=ignore_id)
    theirs = torch_loss(logits, targets, smoothing, ignore_id)
    assert_close(ours, theirs, rtol=atol, atol=atol)
    gradients = [torch.autograd.grad(3 * value, logits)[0] for value in (ours, theirs)]
    assert_close(*gradients, rtol=atol, atol=atol, msg="gradiente")


@given(st.integers(0, 10_000), st.floats(0, 0.99))
def test_any_batch_agrees_with_torch(seed, smoothing):
    logits, targets = problem(seed, shape=(seed % 4 + 1, seed % 7 + 1), vocab=seed % 13 + 2)
    targets = targets.clamp(max=logits.shape[-1] - 1)
    ours = cross_entropy(logits, targets, label_smoothing=smoothing, ignore_id=0)
    theirs = torch_loss(logits, targets, smoothing, 0)
    assert_close(ours, theirs, rtol=0, atol=1e-10)
    assert_close(*(torch.autograd.grad(v, logits)[0] for v in (ours, theirs)), rtol=0, atol=1e-10)


def test_the_gradient_is_the_slope():
    logits, targets = problem(shape=(6,), vocab=5)
    loss = lambda z: cross_entropy(z, targets, label_smoothing=0.1, ignore_id=0)  # noqa: E731
    assert torch.autograd.gradcheck(loss, logits)


def test_by_hand():
    # Dos logits iguales: p = (1/2, 1/2), así que cualquier reparto de q cuesta log 2.
    even = torch.zeros(1, 2, dtype=torch.float64)
    log_2 = torch.tensor(2.0, dtype=torch.float64).log()
    for smoothing in (0.0, 0.3):
        assert_close(cross_entropy(even, torch.tensor([1]), label_smoothing=smoothing), log_2)
    # p = (0.8, 0.2) y q = (0.95, 0.05): −0.95 log 0.8 − 0.05 log 0.2.
    logits = torch.tensor([[0.8, 0.2]], dtype=torch.float64).log()
    expected = -0.95 * logits[0, 0] - 0.05 * logits[0, 1]
    assert_close(cross_entropy(logits, torch.tensor([0]), label_smoothing=0.1), expected)


def test_ignored_rows_do_not_count_nor_move():
    logits, targets = problem()
    real = targets != 0
    loss = cross_entropy(logits, targets, ignore_id=0)
    assert_close(loss, cross_entropy(logits[real], targets[real]))
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient[~real] == 0).all() and (gradient[real] != 0).any()
    marked = targets.masked_fill(~real, -100)
    assert_close(loss, cross_entropy(logits, marked, ignore_id=-100))


def test_sixteen_bits_are_summed_in_thirty_two():
    logits, targets = problem(dtype=torch.float32, vocab=5000, shape=(40,))
    half = logits.detach().bfloat16().requires_grad_()
    loss = cross_entropy(half, targets, label_smoothing=0.1, ignore_id=0)
    exact = cross_entropy(half.detach().double(), targets, label_smoothing=0.1, ignore_id=0)
    assert loss.dtype == torch.float32
    assert_close(loss.double(), exact, rtol=1e-6, atol=0)
    loss.backward()
    assert half.grad.dtype == torch.bfloat16


def test_it_needs_no_more_memory_than_torchs():
    rows, vocab = 2048, 4000
    logits = torch.randn(rows, vocab, requires_grad=True)
    targets = torch.randint(1, vocab, (rows,))

    def peak(loss):
        logits.grad = None
        with peak_memory() as used:
            loss().backward()
        return used.bytes

    ours = lambda: cross_entropy(logits, targets, label_smoothing=0.1, ignore_id=0)  # noqa: E731
    if (needed := peak(ours)) is None:
        pytest.skip("este sistema no dice cuánta memoria se usó")
    assert needed < 2.6 * logits.nbytes, "algo ocupa como los logits y no hace falta"
    assert needed < 1.1 * peak(lambda: torch_loss(logits, targets, 0.1, 0))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"targets": torch.zeros(5, 7, dtype=torch.long)}, "todos son relleno"),
        ({"targets": torch.full((5, 7), 11)}, "entre 0 y 10 y llegó 11"),
        ({"targets": torch.full((5, 7), -1)}, "llegó -1"),
        ({"targets": torch.ones(5, 6, dtype=torch.long)}, "coincidir"),
        ({"targets": torch.ones(5, 7)}, "targets: se esperaban tokens"),
        ({"label_smoothing": 1.0}, "label_smoothing"),
        ({"label_smoothing": -0.1}, "label_smoothing"),
    ],
)
def test_misuse_is_explained(as_user, change, words):
    logits, targets = problem()
    arguments = {"targets": targets, "ignore_id": 0} | change
    with pytest.raises(ValueError, match=words):
        cross_entropy(logits, **arguments)


def test_the_decoder_reads_the_previous_token_and_answers_the_next():
    target = torch.tensor([[1, 7, 8, 2, 0]])
    inputs, expected = shift_right(target)
    assert inputs.tolist() == [[1, 7, 8, 2]] and expected.tolist() == [[7, 8, 2, 0]]


def test_one_token_cannot_be_shifted(as_user):
    with pytest.raises(ValueError, match="dos tokens"):
        shift_right(torch.tensor([[1]]))


def test_the_translation_loss_shifts_and_skips_the_padding():
    source, target = torch.tensor([[5, 6], [5, 0]]), torch.tensor([[1, 7, 8, 2], [1, 9, 2, 0]])
    seen = []

    def model(source, inputs):
        seen.append((source, inputs))
        return torch.arange(30.0).reshape(1, 3, 10).sin().expand(2, 3, 10)

    loss = TranslationLoss(label_smoothing=0.1, pad_id=0)
    value = loss(model, (source, target))
    ((got_source, inputs),) = seen
    assert torch.equal(got_source, source)
    assert inputs.tolist() == [[1, 7, 8], [1, 9, 2]]
    expected = torch.tensor([[7, 8, 2], [9, 2, 0]])
    assert_close(value, torch_loss(model(source, inputs), expected, 0.1, 0))
    assert loss.count((source, target)) == 5
