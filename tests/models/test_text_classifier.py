import dataclasses

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.models.text_classifier import (
    POOLINGS,
    TextClassifier,
    TextClassifierConfig,
    binary_cross_entropy,
    classification_loss,
)
from course_lib.primitives.positions import sinusoidal_positions
from course_lib.recording import attention_maps
from course_lib.training.loop import train

VOCAB = 13
EXACT = {"rtol": 1e-10, "atol": 1e-10}
TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5}
every_pooling = pytest.mark.parametrize("pooling", POOLINGS)


def build(seed=0, dtype=torch.float64, **changes):
    torch.manual_seed(seed)
    options = {"num_layers": 2, "d_model": 8, "d_ff": 16, "max_length": 20, "dropout": 0.0}
    config = TextClassifierConfig(VOCAB, **(options | changes))
    return TextClassifier(config).to(dtype).eval()


def texts(lengths, extra=0, pad_id=0, seed=0):
    """Textos al azar con relleno al final, y `extra` columnas más de relleno."""
    rng = torch.Generator().manual_seed(seed)
    ids = torch.randint(1, VOCAB - 1, (len(lengths), max([*lengths, 1]) + extra), generator=rng)
    real = torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None]
    return ids.masked_fill(~real, pad_id)


# --------------------------------------------------------------------------- relleno


@every_pooling
@pytest.mark.parametrize("placement", ["post", "pre", "sandwich"])
@settings(max_examples=5)
@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    extra=st.integers(1, 5),
    pad_id=st.sampled_from([0, VOCAB - 1]),
    seed=st.integers(0, 1000),
)
def test_neither_padding_nor_the_company_changes_a_text(
    pooling, placement, lengths, extra, pad_id, seed
):
    model = build(seed, pooling=pooling, placement=placement, pad_id=pad_id)
    ids = texts(lengths, 0, pad_id, seed)
    together = model(ids)
    assert_close(model(F.pad(ids, (0, extra), value=pad_id)), together, **EXACT)
    for i, length in enumerate(lengths):
        assert_close(together[i : i + 1], model(ids[i : i + 1, : max(length, 1)]), **EXACT)


@every_pooling
def test_an_empty_text_gets_the_bias_and_a_finite_gradient(pooling):
    model = build(pooling=pooling)
    logits = model(texts([0, 3]))
    assert_close(logits[0], model.output.bias)
    logits.sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_the_vector_of_the_padding_changes_nothing_and_learns_nothing():
    model, ids = build(), texts([3, 5], extra=2)
    before = model(ids)
    before.sum().backward()
    assert model.embedding.table.weight.grad[0].count_nonzero() == 0
    with torch.no_grad():
        model.embedding.table.weight[0] = 100.0
    assert_close(model(ids), before, **EXACT)


def test_order_matters_with_positions_and_not_without():
    ids = texts([6])
    shuffled = ids[:, [3, 0, 5, 1, 4, 2]]
    assert not torch.allclose(build()(ids), build()(shuffled))
    without = build(positions=None)
    assert_close(without(ids), without(shuffled), **EXACT)


# --------------------------------------------------------------------------- equivalencia


def reference(model, ids):
    """El mismo cálculo con `torch.nn.TransformerEncoderLayer`, texto a texto y sin relleno."""
    config, rows = model.config, []
    for row in ids:
        x = model.embedding.table(row[row != config.pad_id]) * config.d_model**0.5
        x = (x + sinusoidal_positions(len(x), config.d_model).to(x)).unsqueeze(0)
        for block in model.encoder.blocks:
            x = torch_layer(block, config)(x)
        x = x.squeeze(0)
        summary = x.max(0).values if config.pooling == "max" else x.mean(0)
        rows.append(model.output.weight @ summary + model.output.bias)
    return torch.stack(rows)


def torch_layer(block, config):
    """Una capa de torch con los parámetros del bloque, no copias: sus gradientes se comparan."""
    layer = nn.TransformerEncoderLayer(
        config.d_model, config.num_heads, config.d_ff, dropout=0.0, batch_first=True
    )
    ours = dict(block.named_parameters())
    names = {
        "self_attn.in_proj_": "attention.W_qkv.",
        "self_attn.out_proj.": "attention.W_h.",
        "linear1.": "feed_forward.W_1.",
        "linear2.": "feed_forward.W_2.",
        "norm1.": "residual_attention.norm.",
        "norm2.": "residual_feed_forward.norm.",
    }
    weights = {
        theirs + kind: ours[mine + kind]
        for theirs, mine in names.items()
        for kind in ("weight", "bias")
    }
    assert set(weights) == {name for name, _ in layer.named_parameters()}
    return lambda x: torch.func.functional_call(layer, weights, (x,))


@every_pooling
@pytest.mark.parametrize("dtype", TOLERANCES)
def test_it_equals_a_classifier_made_of_torch_layers(pooling, dtype):
    model, ids = build(dtype=dtype, pooling=pooling), texts([5, 2, 7, 1], extra=2)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    ours = model(ids)
    close = {"rtol": TOLERANCES[dtype], "atol": TOLERANCES[dtype]}
    theirs = reference(model, ids)
    assert_close(ours, theirs, **close)
    weights = torch.randn_like(ours)
    parameters = list(model.parameters())
    gradients = torch.autograd.grad((ours * weights).sum(), parameters)
    expected = torch.autograd.grad((theirs * weights).sum(), parameters)
    for mine, other in zip(gradients, expected, strict=True):
        assert_close(mine, other, rtol=100 * close["rtol"], atol=10 * close["atol"])


# --------------------------------------------------------------------------- configuración


def test_the_parameters_of_the_film_review_classifier():
    with torch.device("meta"):
        model = TextClassifier(TextClassifierConfig())
    d, d_ff = 32, 128
    attention = 4 * (d * d + d)
    feed_forward = d * d_ff + d_ff + d_ff * d + d
    block = attention + feed_forward + 2 * 2 * d
    counted = sum(parameter.numel() for parameter in model.parameters())
    assert counted == 50_002 * d + block + (2 * d + 2) == 1_612_834


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_layers": 0}, "num_layers: se esperaba un entero positivo y llegó 0"),
        ({"d_ff": -1}, "d_ff: se esperaba un entero positivo y llegó -1"),
        ({"num_classes": 1}, "al menos 2 clases y llegó 1"),
        ({"num_heads": 3}, "d_model = 32, num_heads = 3"),
        ({"pooling": "suma"}, "'max', 'mean' y llegó 'suma'"),
        ({"pad_id": 50_002}, "entre 0 y 50001 y llegó 50002"),
        ({"dropout": 1.5}, r"dropout: .*\[0, 1\) y llegó 1.5"),
        ({"positions": "relativas"}, "positions: .*'relativas'"),
        ({"placement": "both"}, "placement: .*'both'"),
        ({"norm": "batch"}, "norm: .*'batch'"),
        ({"activation": "tanh"}, "activation: .*'tanh'"),
    ],
)
@pytest.mark.usefixtures("as_user")
def test_bad_sizes_are_refused_in_spanish(change, message):
    with pytest.raises(ValueError, match=message):
        TextClassifierConfig(**change)


def test_the_config_cannot_change():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TextClassifierConfig().d_model = 3


@pytest.mark.usefixtures("as_user")
def test_bad_texts_are_refused_in_spanish():
    model = build()
    with pytest.raises(ValueError, match="entre 0 y 12 y llegaron entre 1 y 99"):
        model(torch.tensor([[1, 99]]))
    with pytest.raises(ValueError, match="max_length"):
        model(torch.ones(1, 21, dtype=torch.long))
    with pytest.raises(ValueError, match="identificadores enteros"):
        model(torch.ones(1, 3))


def test_weights_and_states_come_with_the_logits():
    model, ids = build(), texts([4, 2], extra=1)
    with attention_maps(model) as weights:
        logits = model(ids)
    assert_close(logits, model(ids), **EXACT)
    assert [tuple(A.shape) for A in weights] == [(2, 2, 5, 5)] * 2
    assert all(A[(ids == 0)[:, None, None].expand_as(A)].count_nonzero() == 0 for A in weights)
    H = model.encode(ids)
    assert H.shape == (2, 5, 8)
    summary = H[0, :4].max(0).values
    assert_close(model.output(summary), logits[0])


# --------------------------------------------------------------------------- pérdida


def test_the_loss_equals_torch_in_value_and_gradient_even_for_huge_logits():
    for dtype, limit in ((torch.float32, 1e4), (torch.float64, 1e8)):
        z = torch.tensor([0.0, -0.3, 2.0, 40.0, -200.0, limit, -limit], dtype=dtype)
        for y in (torch.zeros_like(z), torch.ones_like(z), torch.full_like(z, 0.3)):
            ours, theirs = z.clone().requires_grad_(), z.clone().requires_grad_()
            value = binary_cross_entropy(ours, y)
            expected = F.binary_cross_entropy_with_logits(theirs, y)
            assert_close(value, expected)
            value.backward()
            expected.backward()
            assert_close(ours.grad, theirs.grad)


def test_the_worked_number_of_the_chapter():
    loss = binary_cross_entropy(torch.tensor([2.0, -1.0]), torch.tensor([1.0, 0.0]))
    assert round(loss.item(), 4) == 0.2201


@pytest.mark.usefixtures("as_user")
def test_shapes_that_differ_are_refused_in_spanish():
    with pytest.raises(ValueError, match=r"llegaron \[2\] y \[3\]"):
        binary_cross_entropy(torch.zeros(2), torch.zeros(3))
    with pytest.raises(ValueError, match="algún valor"):
        binary_cross_entropy(torch.zeros(0), torch.zeros(0))


@pytest.mark.parametrize("classes", [[0, 2], [-1, 0], [0.0, 1.0], [0]])
@pytest.mark.usefixtures("as_user")
def test_classes_that_do_not_exist_are_refused_in_spanish(classes):
    with pytest.raises(ValueError, match=r"classes: se esperaban 2 enteros .* entre 0 y 1"):
        classification_loss(build(), (texts([3, 3]), torch.tensor(classes)))


def test_it_learns_which_word_decides():
    """El 1 en algún sitio es positivo: lo justo para que el máximo lo encuentre."""
    ids = texts([6] * 64)
    ids = ids.masked_fill(ids == 1, 2)
    ids[::2, 3] = 1
    classes = (ids == 1).any(-1).long()
    model = build(dtype=torch.float32)
    before = classification_loss(model, (ids, classes)).item()
    train(
        model, classification_loss, [(ids, classes)], steps=60, learning_rate=3e-3, progress=False
    )
    assert classification_loss(model, (ids, classes)).item() < 0.2 * before
    assert (model(ids).argmax(-1) == classes).all()
