import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.fast.packing import Packing
from course_lib.layers.multi_head_attention import MultiHeadAttention

EXACT = {"rtol": 1e-10, "atol": 1e-10}

masks = st.tuples(st.integers(1, 4), st.integers(1, 6)).flatmap(
    lambda shape: st.lists(
        st.lists(st.booleans(), min_size=shape[1], max_size=shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    )
)


@settings(max_examples=40)
@given(visible=masks)
def test_packing_loses_no_token_and_leaves_zeros_in_the_padding(visible):
    visible = torch.tensor(visible)
    X = torch.randn(*visible.shape, 3)
    packing = Packing.of(visible)
    packed = packing.pack(X)
    assert packed.shape == (int(visible.sum()), 3)
    assert_close(packing.unpack(packed), X.masked_fill(~visible[..., None], 0.0))


@settings(max_examples=40)
@given(visible=masks, seed=st.integers(0, 1000))
def test_each_sequence_attends_to_itself_alone(visible, seed):
    """Igual que el lote entero con su máscara, con el relleno en cualquier sitio."""
    torch.manual_seed(seed)
    visible = torch.tensor(visible)
    attention = MultiHeadAttention(6, 2, bias=True).double()
    X = torch.randn(*visible.shape, 6, dtype=torch.float64)
    packing = Packing.of(visible)
    ours = packing.unpack(packing.attend(attention, packing.pack(X)))
    expected = attention(X, mask=visible[:, None])
    assert_close(ours[visible], expected[visible], **EXACT)


def test_sequences_of_one_length_attend_together():
    lengths = torch.tensor([5, 2, 5, 0, 2, 5])
    packing = Packing.of(torch.arange(5) < lengths[:, None])
    assert packing.groups == ((2, 2), (3, 5)), "una atención por longitud, no una por secuencia"


def test_tokens_keep_their_order_within_the_sequence():
    packing = Packing.of(torch.tensor([[True, False, True, True], [False, True, False, False]]))
    assert packing.positions.tolist() == [5, 0, 2, 3]


def test_the_dropout_of_the_attention_is_applied():
    attention = MultiHeadAttention(4, 1, dropout=0.9)
    packing = Packing.of(torch.ones(1, 50, dtype=torch.bool))
    x = torch.randn(50, 4)
    assert not torch.equal(packing.attend(attention, x), packing.attend(attention, x))
    attention.eval()
    assert torch.equal(packing.attend(attention, x), packing.attend(attention, x))


@pytest.mark.parametrize("visible", [torch.zeros(2, 3, dtype=torch.bool)])
def test_a_batch_without_tokens_is_empty(visible):
    packing = Packing.of(visible)
    x = packing.pack(torch.randn(2, 3, 4))
    assert packing.attend(MultiHeadAttention(4, 2), x).shape == (0, 4)
    assert packing.unpack(x).count_nonzero() == 0
