"""Las pruebas comprueban los tipos de toda la biblioteca, con formas o sin ellas."""

import jaxtyping
import pytest
import torch
from beartype.roar import BeartypeCallHintViolation

from course_lib.data.reviews import load_reviews
from course_lib.primitives.attention import attention


def test_a_wrong_type_is_noticed_where_there_are_no_shapes():
    with pytest.raises(BeartypeCallHintViolation):
        load_reviews(7)


def test_a_wrong_shape_is_noticed_where_there_are():
    Q, K, V = torch.ones(2, 3), torch.ones(4, 3), torch.ones(5, 3)
    with pytest.raises(jaxtyping.TypeCheckError):
        attention(Q, K, V)


def test_who_asks_sees_the_errors_of_a_user(as_user):
    with pytest.raises(Exception) as caught:
        load_reviews(7)
    assert not isinstance(caught.value, BeartypeCallHintViolation)
