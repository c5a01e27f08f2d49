"""El resumen de una secuencia: el relleno no cuenta, ni en el valor ni en el gradiente."""

import math

import pytest
import torch
from torch.testing import assert_close

from course_lib.primitives.pooling import max_pool, mean_pool

every_pooling = pytest.mark.parametrize("pool", [max_pool, mean_pool])

H = torch.tensor([[[-1.0, 5.0], [-3.0, 2.0], [9.0, 9.0]]])
VISIBLE = torch.tensor([[True, True, False]])


def naive(pool, H, visible):
    """Fila por fila, quitando de verdad las posiciones ocultas."""
    rows = []
    for states, shown in zip(H, visible, strict=True):
        real = states[shown]
        if not len(real):
            rows.append(torch.zeros(H.shape[-1], dtype=H.dtype))
        else:
            rows.append(real.max(0).values if pool is max_pool else real.mean(0))
    return torch.stack(rows)


def test_worked_numbers():
    assert max_pool(H, VISIBLE).tolist() == [[-1.0, 5.0]]
    assert mean_pool(H, VISIBLE).tolist() == [[-2.0, 3.5]]


@every_pooling
def test_it_equals_dropping_the_padding(pool):
    H = torch.randn(6, 5, 3, dtype=torch.float64)
    visible = torch.rand(6, 5) < 0.6
    visible[2] = False
    assert_close(pool(H, visible), naive(pool, H, visible))
    extra = pool(H.view(2, 3, 5, 3), visible.view(2, 3, 5))
    assert_close(extra.flatten(0, 1), naive(pool, H, visible))


@every_pooling
@pytest.mark.parametrize("worst", [math.nan, math.inf, -math.inf, 1e30])
def test_whatever_is_in_the_padding_is_ignored(pool, worst):
    dirty = H.masked_fill(~VISIBLE[..., None], worst)
    assert_close(pool(dirty, VISIBLE), pool(H, VISIBLE))


@every_pooling
def test_a_row_without_positions_gives_zeros_and_no_nan_gradient(pool):
    X = H.clone().requires_grad_()
    out = pool(X, torch.zeros(1, 3, dtype=torch.bool))
    assert out.tolist() == [[0.0, 0.0]]
    out.sum().backward()
    assert X.grad.count_nonzero() == 0
    assert pool(torch.ones(2, 0, 4), torch.ones(2, 0, dtype=torch.bool)).tolist() == [[0.0] * 4] * 2


@every_pooling
def test_the_gradient_is_right_and_zero_on_padding(pool):
    X = H.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda X: pool(X, VISIBLE), X)
    pool(X, VISIBLE).sum().backward()
    assert X.grad[0, 2].tolist() == [0.0, 0.0]


@every_pooling
@pytest.mark.usefixtures("as_user")
def test_bad_masks_are_refused_in_spanish(pool):
    with pytest.raises(ValueError, match=r"máscara booleana y llegó el tipo torch.int64"):
        pool(H, VISIBLE.long())
    with pytest.raises(ValueError, match=r"la forma \[1, 3\].* llegó \[3\]"):
        pool(H, VISIBLE[0])
