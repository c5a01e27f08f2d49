import pytest
import torch
from torch.testing import assert_close

from course_lib.fast import dense as module
from course_lib.fast.dense import dense, store_by_columns
from course_lib.layers.swiglu import Dense


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("d_out", [6, 40, 96])  # sin franjas; de 8 columnas; de 32
@pytest.mark.parametrize("rows", [1, 3, 4, 8, 9, 24, 48, 49])
@pytest.mark.parametrize("shape", [(), (1,)])
def test_few_rows_give_the_same_product(monkeypatch, rows, shape, d_out, by_columns):
    monkeypatch.setattr(module, "LARGE", 1)  # con matrices pequeñas, el camino de las grandes
    x = torch.randn(rows, *shape, 5, dtype=torch.float64)
    W = torch.nn.Parameter(torch.randn(d_out, 5, dtype=torch.float64))
    expected = torch.einsum("...i,oi->...o", x, W)
    if by_columns:
        store_by_columns(W)
    with torch.no_grad():
        assert_close(dense(x, W), expected, rtol=1e-10, atol=1e-10)
    assert_close(dense(x, W), expected, rtol=1e-10, atol=1e-10)


def test_columns_change_the_order_in_memory_and_nothing_else():
    layer = Dense(6, 4)
    before = layer.weight.detach().clone()
    store_by_columns(layer.weight)
    assert layer.weight.stride() == (1, 4), "la matriz sigue guardada por filas"
    assert torch.equal(layer.weight, before) and layer.weight.requires_grad
