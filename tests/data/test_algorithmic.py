"""Las tareas algorítmicas, contra la aritmética de Python."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data import algorithmic
from course_lib.data.algorithmic import (
    END_ID,
    FIRST_BOX,
    FIRST_DIGIT,
    START_ID,
    addition,
    carries,
    column_sums,
    copy,
    follow,
    reverse,
    treasure_hunt,
)

sizes = given(count=st.integers(1, 5), length=st.integers(1, 12), seed=st.integers(0, 1000))


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


@sizes
def test_copy_and_reverse_keep_every_digit(count, length, seed):
    for task, order in ((copy, 1), (reverse, -1)):
        source, target = task(count, length, generator=generator(seed))
        assert source.shape == (count, length + 1) and target.shape == (count, length + 2)
        for read, written in zip(source.tolist(), target.tolist(), strict=True):
            assert read[-1] == END_ID and (written[0], written[-1]) == (START_ID, END_ID)
            assert written[1:-1] == read[:-1][::order], "invertir es leer de atrás adelante"
            assert all(FIRST_DIGIT <= token < FIRST_DIGIT + 10 for token in read[:-1])


def number(digits):
    """Las cifras con las unidades delante, como entero de Python."""
    return int("".join(map(str, reversed(digits))))


@sizes
@pytest.mark.parametrize("nines", [0.0, 0.6, 1.0])
def test_the_labels_are_the_digits_of_the_sum(nines, count, length, seed):
    columns, labels = addition(count, length, nines=nines, generator=generator(seed))
    for row, answer in zip((columns - 1).tolist(), (labels - 1).tolist(), strict=True):
        a, b = number([c // 10 for c in row]), number([c % 10 for c in row])
        assert number(answer) == (a + b) % 10**length


def test_the_carry_travels_through_nines():
    #                  8+7  4+5  9+0  1+3  2+2
    columns = 1 + torch.tensor([[87, 45, 90, 13, 22]])
    assert column_sums(columns).tolist() == [[15, 9, 9, 4, 4]]
    assert carries(columns).tolist() == [[0, 1, 1, 1, 0]], "el acarreo se detiene en 1 + 3"


def test_every_box_leads_where_its_label_says():
    boxes, labels = treasure_hunt(50, 9, generator=generator())
    reached, hops = follow(boxes)
    assert torch.equal(reached, labels)
    for row in range(50):
        for i in range(9):
            seen = [i]
            while (content := boxes[row, seen[-1]].item()) >= FIRST_BOX:
                seen.append(content - FIRST_BOX)
            assert (content, len(seen) - 1) == (labels[row, i], hops[row, i])
            assert len(set(seen)) == len(seen), "un camino no vuelve sobre sí mismo"


def test_pointing_says_how_many_boxes_send_elsewhere():
    for pointing, expected in ((0.0, 0.0), (0.5, 0.45), (1.0, 0.9)):  # la primera tiene una cifra
        boxes, _ = treasure_hunt(400, 10, pointing=pointing, generator=generator())
        assert abs((boxes >= FIRST_BOX).float().mean().item() - expected) < 0.03


def test_nines_says_how_many_columns_add_up_to_nine():
    for nines, expected in ((0.0, 0.1), (0.5, 0.55), (1.0, 1.0)):
        columns, _ = addition(400, 20, nines=nines, generator=generator())
        share = (column_sums(columns) == 9).float().mean().item()
        assert abs(share - expected) < 0.03


def test_every_digit_and_column_comes_up():
    source, _ = copy(500, 10, generator=generator())
    columns, labels = addition(500, 10, generator=generator())
    assert source[:, :-1].unique().tolist() == list(range(FIRST_DIGIT, algorithmic.STRING_VOCAB))
    assert columns.unique().tolist() == list(range(1, algorithmic.COLUMN_VOCAB))
    assert labels.unique().tolist() == list(range(1, algorithmic.DIGIT_LABELS))


def test_the_same_seed_gives_the_same_examples():
    for task in (copy, reverse, addition, treasure_hunt):
        first, again = (task(4, 6, generator=generator(3)) for _ in range(2))
        other = task(4, 6, generator=generator(4))
        assert all(torch.equal(x, y) for x, y in zip(first, again, strict=True))
        assert not torch.equal(first[0], other[0])


@pytest.mark.parametrize("task", [copy, reverse, addition, treasure_hunt])
@pytest.mark.parametrize("size", [(0, 3), (3, 0), (-1, 3)])
def test_sizes_that_make_no_sense_are_refused_in_spanish(task, size):
    with pytest.raises(ValueError, match=f"llegaron {size[0]} y {size[1]}"):
        task(*size, generator=generator())


@pytest.mark.parametrize("nines", [-0.1, 1.5])
def test_a_fraction_out_of_range_is_refused_in_spanish(nines):
    with pytest.raises(ValueError, match=f"nines: se esperaba .* y llegó {nines}"):
        addition(1, 1, nines=nines, generator=generator())


@pytest.mark.parametrize("pointing", [-0.1, 1.5])
def test_a_share_out_of_range_is_refused_in_spanish(pointing):
    with pytest.raises(ValueError, match=f"pointing: se esperaba .* y llegó {pointing}"):
        treasure_hunt(1, 1, pointing=pointing, generator=generator())
