import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.data.segments import TokenStream, segments

sizes = st.integers(1, 9)


@given(st.integers(1, 4), st.integers(2, 40), sizes)
def test_segments_put_together_are_the_document_and_what_follows(batch, t, length):
    document = torch.arange(batch * t).view(batch, t)
    inputs, targets = zip(*segments(document, length), strict=True)
    assert torch.equal(torch.cat(inputs, 1), document[:, :-1])
    assert torch.equal(torch.cat(targets, 1), document[:, 1:]), "se pierde el token de un borde"
    assert [x.shape for x in inputs] == [y.shape for y in targets]
    assert {x.shape[1] for x in inputs[:-1]} <= {length} and inputs[-1].shape[1] <= length


@given(st.integers(2, 120), sizes, sizes)
def test_every_token_of_the_stream_is_read_once_and_predicted_once(total, batch_size, length):
    batch_size = min(batch_size, total - 1)
    stream = TokenStream(range(total), batch_size=batch_size, segment_length=length)
    read = torch.cat([x[:, :-1] for x in stream], 1)
    answers = torch.cat([x[:, 1:] for x in stream], 1)
    used = (total - 1) // batch_size * batch_size
    assert read.flatten().tolist() == list(range(used)), "cada fila es un trozo seguido del texto"
    assert torch.equal(answers, read + 1)
    assert len(list(stream)) == len(stream)


@given(st.integers(10, 120), st.integers(1, 5), sizes)
def test_a_row_goes_on_in_the_same_row_of_the_next_segment(total, batch_size, length):
    stream = TokenStream(range(total), batch_size=batch_size, segment_length=length)
    for before, after in itertools.pairwise(stream):
        assert torch.equal(before[:, -1], after[:, 0]), "la memoria sería la de otra fila"


@given(st.integers(10, 80), st.integers(1, 4), sizes, st.integers(0, 40))
def test_any_segment_is_reached_directly(total, batch_size, length, start):
    stream = TokenStream(range(total), batch_size=batch_size, segment_length=length)
    walked = list(itertools.islice(stream.stream(), start + 5))
    jumped = list(itertools.islice(stream.stream(start), 5))
    assert all(torch.equal(x, y) for x, y in zip(walked[start:], jumped, strict=True))
    lap = itertools.cycle(list(stream))
    assert all(torch.equal(x, y) for x, y in zip(walked, lap, strict=False))


def test_by_hand():
    stream = TokenStream([10, 11, 12, 13, 14, 15, 16, 17], batch_size=2, segment_length=2)
    assert [x.tolist() for x in stream] == [
        [[10, 11, 12], [13, 14, 15]],
        [[12, 13], [15, 16]],
    ], "7 tokens con respuesta, 3 por fila: dos y uno; el último, 17, no llega a otra fila"


def test_bytes_and_small_integers_become_identifiers():
    stream = TokenStream(torch.tensor([1, 2, 3], dtype=torch.uint8), batch_size=1, segment_length=2)
    (segment,) = stream
    assert segment.dtype == torch.long and segment.tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: list(segments(torch.ones(2, 1).long(), 3)), "al menos dos tokens"),
        (lambda: list(segments(torch.ones(2, 5).long(), 0)), "length: se esperaba un entero"),
        (lambda: TokenStream([1, 2], batch_size=2, segment_length=1), "más de 2 tokens"),
        (lambda: TokenStream([1, 2], batch_size=0, segment_length=1), "batch_size"),
        (lambda: TokenStream([1, 2], batch_size=1, segment_length=0), "segment_length"),
        (lambda: TokenStream([0.5, 1.0], batch_size=1, segment_length=1), "enteros"),
        (lambda: segments(torch.arange(5), 2), r"token_ids\[None\]"),
        (lambda: TokenStream([[1, 2]], batch_size=1, segment_length=1), r"torch\.cat"),
    ],
)
def test_misuse_is_explained(as_user, make, words):
    with pytest.raises(ValueError, match=words):
        make()
