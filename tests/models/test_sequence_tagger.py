"""Una etiqueta por posición: el relleno, las posiciones y cualquier codificador."""

import pytest
import torch
from torch.testing import assert_close

from course_lib.models.sequence_tagger import PositionedEncoder, SequenceTagger
from course_lib.models.universal_transformer import UniversalEncoder
from course_lib.primitives.positions import sinusoidal_positions
from course_lib.training.loop import train
from course_lib.training.losses import cross_entropy

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = {"d_model": 16, "num_heads": 2, "d_ff": 24}
ENCODERS = {
    "corriente": lambda: PositionedEncoder(**SIZES, num_layers=2, max_length=30),
    "pasos fijos": lambda: UniversalEncoder(**SIZES, max_steps=3, adaptive=False, max_length=30),
    "adaptativo": lambda: UniversalEncoder(**SIZES, max_steps=3, max_length=30),
}
every_encoder = pytest.mark.parametrize("encoder", ENCODERS)


def build(encoder="corriente"):
    torch.manual_seed(0)
    model = SequenceTagger(ENCODERS[encoder](), vocab_size=9, num_labels=4, d_model=16)
    return model.double().eval()


def tokens(batch, t, seed=0):
    return torch.randint(1, 9, (batch, t), generator=torch.Generator().manual_seed(seed))


@every_encoder
def test_neither_padding_nor_the_company_changes_a_label(encoder):
    model, ids = build(encoder), tokens(3, 7)
    ids[1, 4:] = ids[2, 1:] = 0
    together = model(ids).logits
    for row, length in enumerate((7, 4, 1)):
        alone = model(ids[row : row + 1, :length]).logits
        assert_close(together[row : row + 1, :length], alone, **EXACT)


@every_encoder
def test_start_is_where_the_sequence_would_be_after_padding(encoder):
    """Empezar en la posición 5 es como llevar delante cinco rellenos que nadie ve."""
    model, ids = build(encoder), tokens(2, 4)
    padded = torch.cat((torch.zeros(2, 5, dtype=torch.long), ids), 1)
    moved = model(ids, start=5).logits
    assert_close(moved, model(padded).logits[:, 5:], **EXACT)
    each = model(ids, start=torch.tensor([5, 0])).logits
    assert_close(each, torch.stack((moved[0], model(ids).logits[1])), **EXACT)
    assert not torch.allclose(moved, model(ids).logits)


def test_the_plain_encoder_adds_the_positions_once():
    encoder = ENCODERS["corriente"]().double().eval()
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    table = sinusoidal_positions(5, 16).double()
    assert_close(encoder(x), encoder.encoder(x + table), atol=1e-6, rtol=0)


def test_what_the_encoder_gave_comes_with_the_logits():
    ids = tokens(2, 5)
    model = build("adaptativo")
    tagging = model(ids)
    assert tagging.encoded.n_updates.shape == (2, 5)
    assert_close(tagging.logits, model.output(tagging.encoded.states), **EXACT)
    plain = build("corriente")
    assert_close(plain(ids).logits, plain.output(plain(ids).encoded), **EXACT)


def test_the_padding_row_is_zero_and_the_words_start_smaller_than_the_positions():
    table = build().embedding.table.weight * build().embedding.factor
    assert table[0].count_nonzero() == 0
    assert table[1:].square().mean().sqrt() < 0.5 * 0.5**0.5, "las posiciones miden 1/√2"


@pytest.mark.parametrize("start", [-1, 27, torch.tensor([0, 27])])
@pytest.mark.parametrize("encoder", ["corriente", "adaptativo"])
@pytest.mark.usefixtures("as_user")
def test_positions_out_of_reach_are_refused_in_spanish(encoder, start):
    with pytest.raises(ValueError, match="posiciones entre 0 y 29"):
        build(encoder)(tokens(2, 4), start=start)


@pytest.mark.usefixtures("as_user")
def test_unknown_ids_are_refused_in_spanish():
    with pytest.raises(ValueError, match="entre 0 y 8 y llegaron entre 1 y 9"):
        build()(torch.tensor([[1, 9]]))


@every_encoder
def test_it_learns_to_look_at_the_previous_token(encoder):
    ids = tokens(64, 6)
    labels = torch.cat((torch.zeros(64, 1, dtype=torch.long), ids[:, :-1] % 2 + 1), 1)
    model = build(encoder).float()

    def loss(model, batch):
        return cross_entropy(model(batch[0]).logits, batch[1])

    before = loss(model, (ids, labels)).item()
    train(model, loss, [(ids, labels)], steps=120, learning_rate=5e-3, progress=False)
    assert loss(model, (ids, labels)).item() < 0.3 * before


@every_encoder
@pytest.mark.usefixtures("as_user")
def test_another_width_is_refused_in_spanish(encoder):
    with pytest.raises(ValueError, match="x: se esperaba un ancho de 16"):
        ENCODERS[encoder]()(torch.zeros(1, 2, 8))


@every_encoder
def test_the_positions_are_of_the_type_of_the_weights(encoder):
    torch.set_default_dtype(torch.bfloat16)
    try:
        found = ENCODERS[encoder]()(torch.zeros(1, 2, 16))
    finally:
        torch.set_default_dtype(torch.float32)
    assert getattr(found, "states", found).dtype == torch.bfloat16
