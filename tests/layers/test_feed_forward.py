import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from course_lib.layers.blocks import FeedForward
from course_lib.layers.swiglu import SwiGLU

EXACT = {"rtol": 1e-10, "atol": 1e-10}
WRITTEN = {
    "relu": lambda x: x.clamp(min=0),
    "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("activation", WRITTEN)
def test_it_is_its_equation(activation, bias):
    layer = FeedForward(4, 10, activation=activation, bias=bias).double()
    for p in layer.parameters():
        torch.nn.init.normal_(p)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    b_1, b_2 = (layer.W_1.bias, layer.W_2.bias) if bias else (0, 0)
    hidden = WRITTEN[activation](x @ layer.W_1.weight.T + b_1)
    assert_close(layer(x), hidden @ layer.W_2.weight.T + b_2, **EXACT)


@pytest.mark.parametrize("activation", WRITTEN)
def test_without_a_gradient_it_gives_the_same_and_leaves_its_input_alone(activation):
    layer, x = FeedForward(4, 10, activation=activation), torch.randn(2, 3, 4)
    expected, kept = layer(x), x.clone()
    with torch.no_grad():
        found = layer(x)
    assert_close(found, expected.detach(), rtol=0, atol=0)
    assert_close(x, kept, rtol=0, atol=0, msg="la activación escribió sobre la entrada")


def test_it_is_two_convolutions_of_kernel_one():
    layer = FeedForward(4, 10).double()
    x = torch.randn(2, 5, 4, dtype=torch.float64)
    hidden = F.conv1d(x.transpose(1, 2), layer.W_1.weight[..., None], layer.W_1.bias).relu()
    expected = F.conv1d(hidden, layer.W_2.weight[..., None], layer.W_2.bias).transpose(1, 2)
    assert_close(layer(x), expected, **EXACT)


def test_no_position_sees_another():
    x = torch.randn(1, 5, 4, requires_grad=True)
    FeedForward(4, 8)(x)[0, 2].sum().backward()
    assert (x.grad[0].abs().sum(-1) > 0).tolist() == [False, False, True, False, False]


def test_dropout_falls_on_the_hidden_layer():
    layer = FeedForward(1, 1000, bias=False, dropout=0.5)
    torch.nn.init.ones_(layer.W_1.weight)
    torch.nn.init.eye_(layer.W_2.weight)  # deja ver un solo número de la capa oculta
    values = {layer(torch.ones(1, 1, 1)).item() for _ in range(50)}
    assert values == {0.0, 2.0}
    assert layer.eval()(torch.ones(1, 1, 1)).item() == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d_ff": 0}, "d_ff: .*positivo y llegó 0"),
        ({"d_ff": 8, "activation": "tanh"}, "'relu', 'gelu' y llegó 'tanh'"),
        ({"d_ff": 8, "dropout": -0.1}, r"\[0, 1\) y llegó -0.1"),
    ],
)
def test_bad_options_are_explained(as_user, options, message):
    with pytest.raises(ValueError, match=message):
        FeedForward(4, **options)


def test_an_input_of_another_width_is_explained(as_user):
    with pytest.raises(ValueError, match=r"x: se esperaba un ancho de 4 y llegó la forma \(1, 5\)"):
        FeedForward(4, 8)(torch.ones(1, 5))


# SwiGLU


def test_swiglu_is_its_equation():
    layer = SwiGLU(4, 10).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    W_gate, W_up = layer.W_gate_up.weight.split(10)
    gate = x @ W_gate.T
    hidden = gate / (1 + torch.exp(-gate)) * (x @ W_up.T)
    assert_close(layer(x), hidden @ layer.W_down.weight.T, **EXACT)


def test_a_closed_gate_lets_nothing_through():
    layer = SwiGLU(1, 1)
    torch.nn.init.ones_(layer.W_down.weight)
    layer.W_gate_up.weight.data = torch.tensor([[-100.0], [1.0]])  # la compuerta va primero
    assert layer(torch.ones(1, 1, 1)).item() == 0.0, "¿están cambiados W_gate y W_up?"
    layer.W_gate_up.weight.data = torch.tensor([[100.0], [-1.0]])
    assert layer(torch.ones(1, 1, 1)).item() == -100.0


def test_swiglu_has_three_matrices_and_no_bias():
    assert sum(p.numel() for p in SwiGLU(4, 16).parameters()) == 12 * 4**2


def test_swiglu_explains_a_wrong_width(as_user):
    with pytest.raises(ValueError, match=r"x: se esperaba un ancho de 4 y llegó la forma \(1, 5\)"):
        SwiGLU(4, 8)(torch.ones(1, 5))
    with pytest.raises(ValueError, match=r"d_ff: .*positivo y llegó 0"):
        SwiGLU(4, 0)
