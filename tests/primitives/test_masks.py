import pytest
import torch

from course_lib.primitives.attention import causal_mask as its_causal_mask
from course_lib.primitives.attention import padding_mask as its_padding_mask
from course_lib.primitives.masks import causal_mask, padding_mask


def test_they_are_those_of_attention():
    assert (causal_mask, padding_mask) == (its_causal_mask, its_padding_mask)


def test_causal_mask_shows_oneself_and_the_past():
    assert causal_mask(3).tolist() == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


@pytest.mark.parametrize(("t_q", "t_k"), [(1, 1), (1, 5), (3, 5), (4, 4), (0, 2)])
def test_extra_keys_are_past(t_q, t_k):
    mask = causal_mask(t_q, t_k)
    assert mask.shape == (t_q, t_k)
    for i in range(t_q):
        for j in range(t_k):
            assert mask[i, j].item() == (j <= i + t_k - t_q)


def test_padding_mask_hides_the_padding_from_every_query():
    mask = padding_mask(torch.tensor([[7, 8, 0], [9, 0, 0]]), pad_id=0)
    assert mask.shape == (2, 1, 3)
    assert mask[:, 0].tolist() == [[True, True, False], [True, False, False]]


@pytest.mark.parametrize(("t_q", "t_k"), [(-1, 2), (3, 2)])
def test_causal_mask_refuses_impossible_lengths(as_user, t_q, t_k):
    with pytest.raises(ValueError, match=f"t_q = {t_q}, t_k = {t_k}"):
        causal_mask(t_q, t_k)


@pytest.mark.parametrize("ids", [torch.zeros(2, 3), torch.zeros(2, 3, dtype=torch.bool)])
def test_padding_mask_refuses_what_is_not_identifiers(as_user, ids):
    with pytest.raises(ValueError, match="identificadores enteros"):
        padding_mask(ids, pad_id=0)
