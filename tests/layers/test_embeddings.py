import pytest
import torch
from torch.testing import assert_close

from course_lib.layers.embeddings import InputEmbedding
from course_lib.primitives.positions import sinusoidal_positions


def embedding(**options):
    return InputEmbedding(20, 8, **{"max_length": 10} | options)


IDS = torch.tensor([[3, 7, 3], [0, 19, 1]])


def test_token_times_the_root_of_the_width_plus_position():
    layer = embedding()
    expected = layer.table.weight[IDS] * 8**0.5 + sinusoidal_positions(3, 8)
    assert_close(layer(IDS), expected)


def test_without_scale_and_without_positions_it_is_the_table():
    layer = embedding(scale=False, positions=None)
    assert torch.equal(layer(IDS), layer.table.weight[IDS])


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_start_says_where_the_first_token_is(positions):
    layer = embedding(positions=positions)
    ids = torch.randint(0, 20, (2, 9))
    whole = layer(ids)
    assert torch.equal(layer(ids[:, 4:], start=4), whole[:, 4:])
    assert not torch.equal(layer(ids[:, 4:]), whole[:, 4:])


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_each_token_may_have_its_own_position(positions):
    layer = embedding(positions=positions)
    ids = torch.randint(0, 20, (2, 3))
    places = torch.tensor([[0, 0, 1], [7, 2, 5]])
    found = layer(ids, start=places)
    for row in range(2):
        for i in range(3):
            alone = layer(ids[row, None, i, None], start=int(places[row, i]))
            assert torch.equal(found[row, i], alone[0, 0])


def test_each_position_must_be_in_the_table(as_user):
    layer = embedding()
    last = layer.max_length - 1
    layer(IDS, start=torch.full_like(IDS, last))
    with pytest.raises(ValueError, match=f"entre 0 y {last} y la secuencia va de .* a {last + 1}"):
        layer(IDS, start=torch.full_like(IDS, last + 1))


def test_only_learned_positions_are_parameters_and_neither_kind_is_lost():
    names = {p: set(embedding(positions=p).state_dict()) for p in ("sinusoidal", "learned", None)}
    assert names == {
        "sinusoidal": {"table.weight"},
        "learned": {"table.weight", "position_table"},
        None: {"table.weight"},
    }
    layer = embedding(positions="learned")
    layer(IDS).sum().backward()
    assert (layer.position_table.grad.abs().sum(-1) > 0).tolist() == [True] * 3 + [False] * 7


@pytest.mark.parametrize("scale", [True, False])
def test_vectors_start_with_unit_variance_whatever_the_scale(scale):
    layer = InputEmbedding(2000, 64, max_length=1, scale=scale, positions=None)
    x = layer(torch.arange(2000)[:, None])
    assert abs(x.std().item() - 1) < 0.02
    assert abs(x.mean().item()) < 0.02


def test_learned_positions_start_as_large_as_the_sinusoidal_ones():
    sizes = [
        InputEmbedding(1, 64, max_length=500, positions=kind).position_table.square().mean()
        for kind in ("learned", "sinusoidal")
    ]
    assert_close(*sizes, rtol=0.05, atol=0.0)


def test_padding_starts_at_zero():
    layer = embedding(pad_id=0)
    assert layer.table.weight[0].abs().sum() == 0
    assert embedding().table.weight[0].abs().sum() > 0


def test_dropout_only_while_training():
    layer = embedding(dropout=0.5)
    assert (layer(IDS) == 0).any()
    assert torch.equal(layer.eval()(IDS), layer(IDS))


@pytest.mark.parametrize(
    ("ids", "start", "message"),
    [
        ([[3, 20]], 0, "entre 0 y 19 y llegaron entre 3 y 20"),
        ([[-1, 3]], 0, "llegaron entre -1 y 3"),
        ([[1.0]], 0, "enteros y llegó el tipo torch.float32"),
        ([[True]], 0, "enteros y llegó el tipo torch.bool"),
        ([1, 2], 0, r"se esperaba la forma \[batch, t\] y llegó \(2,\)"),
        ([[1] * 11], 0, "entre 0 y 9 y la secuencia va de 0 a 10"),
        ([[1]], 10, "va de 10 a 10"),
        ([[1]], -1, "va de -1 a -1"),
    ],
)
def test_bad_ids_are_explained(as_user, ids, start, message):
    with pytest.raises(ValueError, match=message):
        embedding()(torch.tensor(ids), start=start)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_length": 0}, "max_length: .*y llegó 0"),
        ({"positions": "rotary"}, "'sinusoidal', 'learned', None y llegó 'rotary'"),
        ({"pad_id": 20}, "pad_id: .*entre 0 y 19 y llegó 20"),
        ({"dropout": 1}, r"\[0, 1\)"),
    ],
)
def test_bad_options_are_explained(as_user, options, message):
    with pytest.raises(ValueError, match=message):
        embedding(**options)


def test_no_ids_and_no_data_are_fine():
    assert embedding()(torch.zeros(2, 0, dtype=torch.long)).shape == (2, 0, 8)
    with torch.device("meta"):
        assert embedding()(torch.zeros(2, 3, dtype=torch.long)).shape == (2, 3, 8)
