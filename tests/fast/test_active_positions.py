"""Las claves y los valores de un bloque atado, paso a paso, sin proyectarlos cada vez."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.fast import gathering
from course_lib.fast.active_positions import Arrangement, StepKeys
from course_lib.fast.keys_values import keys_values
from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.layers.normalization import make_norm
from course_lib.models.universal_transformer import UniversalEncoder

EXACT = {"rtol": 1e-10, "atol": 1e-10}
D, HEADS = 8, 2
every_norm = pytest.mark.parametrize("norm", [None, "layer", "rms"])


def layers(norm, bias=True):
    """La atención y la norma que la precede, con todo al azar: también escalas y sesgos."""
    attention = MultiHeadAttention(D, HEADS, bias=bias)
    before = None if norm is None else make_norm(norm, D)
    for module in (attention, before):
        for parameter in [] if module is None else module.parameters():
            nn.init.normal_(parameter, mean=0.3)
    return attention, before


def projected(attention, norm, u):
    """Lo que haría el bloque: normalizar y proyectarlo todo."""
    ready = u if norm is None else norm(u)
    return torch.cat([attention.merge_heads(X) for X in keys_values(attention, ready)], dim=-1)


@every_norm
@pytest.mark.parametrize("bias", [True, False])
def test_projected_once_they_serve_every_step(norm, bias):
    attention, norm = (layer and layer.double() for layer in layers(norm, bias))
    z, steps = torch.randn(3, 5, D).double(), torch.randn(4, D).double()
    keys = StepKeys(attention, norm)
    keys.update(z, None, z.shape[:2])
    for step in steps:
        assert_close(keys.at(step), projected(attention, norm, z + step), **EXACT)
    rows = torch.tensor([2, 0])
    assert_close(keys.at(step, rows), projected(attention, norm, z[rows] + step), **EXACT)


@every_norm
@pytest.mark.parametrize("gradient", [True, False])
def test_only_what_changed_is_projected_again(norm, gradient):
    attention, norm = (layer and layer.double() for layer in layers(norm))
    z, step = torch.randn(3, 5, D).double(), torch.randn(D).double()
    keys, places = StepKeys(attention, norm), torch.tensor([0, 6, 7, 14])
    with torch.set_grad_enabled(gradient):
        keys.update(z.clone(), None, z.shape[:2])
        new = torch.randn(4, D).double()
        keys.update(new, places, z.shape[:2])
        changed = z.flatten(0, 1).index_copy(0, places, new).view_as(z)
        assert_close(keys.at(step), projected(attention, norm, changed + step), **EXACT)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_large_states_in_half_precision(norm):
    """Con norma previa nadie frena los estados, y en float16 el cuadrado de 256 ya no cabe."""
    attention, norm = layers(norm)
    for parameter in attention.parameters():
        parameter.data /= 8
    z, step = (400 * torch.randn(2, 5, D)).half(), torch.randn(D).half()
    expected = projected(attention, norm, (z + step).float())
    keys = StepKeys(attention.half(), norm.half())
    keys.update(z, None, z.shape[:2])
    found = keys.at(step)
    assert found.dtype == torch.float16
    assert_close(found.float(), expected, rtol=0.02, atol=0.02, msg="se normaliza en float16")


def test_padding_is_never_projected(monkeypatch):
    model, projected = UniversalEncoder(D, HEADS, 12, max_steps=3, max_length=6), []
    model = gathering(model, gather_below=2.0)  # solo las activas
    update = StepKeys.update
    monkeypatch.setattr(
        StepKeys, "update", lambda *a: (projected.append(a[1].shape[:-1].numel()), update(*a))[1]
    )
    visible = torch.arange(6) < torch.tensor([[6], [2], [0]])
    model(torch.randn(3, 6, D), mask=visible[:, None])
    assert projected[0] == 8 and max(projected) == 8, "se proyectan las claves del relleno"


# Cómo se reparten las posiciones sueltas


def test_rows_without_positions_do_not_appear():
    layout = Arrangement(torch.tensor([1, 3, 8, 9, 11]), torch.zeros(3, 4, D))
    assert layout.rows.tolist() == [0, 2] and layout.shape == (2, 3)
    assert layout.columns[0, :2].tolist() == [1, 3] and layout.columns[1].tolist() == [0, 1, 3]
    X = torch.randn(5, D)
    spread = layout.spread(X)
    assert torch.equal(spread[0, :2], X[:2]) and torch.equal(spread[1], X[2:])
    assert torch.equal(layout.collect(spread), X)
    assert torch.equal(layout.rows_of(torch.arange(3)), torch.tensor([0, 2]))


def test_with_a_position_in_every_row_no_row_is_copied():
    layout = Arrangement(torch.tensor([1, 4]), torch.zeros(2, 4, D))
    memory = torch.randn(2, HEADS, 4, 4)
    assert layout.rows is None and layout.rows_of(memory) is memory
