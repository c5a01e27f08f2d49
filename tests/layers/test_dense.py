import math

import pytest
import torch
from torch.testing import assert_close

from course_lib.layers import dense as module
from course_lib.layers.dense import Dense, dense


@pytest.mark.parametrize("rows", [1, 7, 8, 24, 48, 49])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_few_rows_give_the_same_product(monkeypatch, rows, shape):
    monkeypatch.setattr(module, "LARGE", 1)  # con matrices pequeñas, el camino de las grandes
    x, W = torch.randn(rows, *shape, 5, dtype=torch.float64), torch.randn(6, 5, dtype=torch.float64)
    expected = torch.einsum("...i,oi->...o", x, W)
    with torch.no_grad():
        assert_close(dense(x, W), expected, rtol=1e-10, atol=1e-10)
    assert_close(dense(x, W), expected, rtol=1e-10, atol=1e-10)


def test_the_first_weights_keep_the_scale():
    layer = Dense(400, 300)
    assert layer.bias is None
    assert layer.weight.std().item() == pytest.approx(1 / math.sqrt(400), rel=0.02)
    assert layer(torch.randn(50, 400)).std().item() == pytest.approx(1.0, rel=0.03)
