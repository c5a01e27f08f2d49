import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.layers.arguments import OPTIONS
from course_lib.layers.encoder_decoder import Encoder
from course_lib.layers.normalization import Residual, RMSNorm, make_norm

NORMS, PLACEMENTS = OPTIONS["norm"], OPTIONS["placement"]
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def layer_norm(x, eps=1e-5):
    """La normalización de capa, escrita: media 0 y varianza 1 en cada vector."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt()


def rms_norm(x, eps=1e-6):
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


WRITTEN = {"layer": layer_norm, "rms": rms_norm}


@settings(max_examples=30)
@given(st.integers(0, 2**31), st.floats(0.1, 100))
def test_rms_norm_has_unit_mean_square_and_ignores_the_scale(seed, scale):
    torch.manual_seed(seed)
    norm, x = RMSNorm(6, eps=1e-12).double(), torch.randn(3, 6, dtype=torch.float64) + 0.5
    y = norm(x)
    assert_close(y.square().mean(-1), torch.ones(3, dtype=torch.float64), rtol=1e-6, atol=1e-6)
    assert_close(norm(scale * x), y, rtol=1e-6, atol=1e-6)


def test_rms_norm_does_not_centre():
    x = torch.full((1, 4), 3.0)
    assert_close(RMSNorm(4)(x), torch.ones(1, 4))
    assert_close(make_norm("layer", 4)(x), torch.zeros(1, 4))


def test_rms_norm_squares_in_single_precision():
    x = torch.full((2, 8), 300.0, dtype=torch.float16)  # 300² no cabe en float16
    assert_close(RMSNorm(8).half()(x), torch.ones(2, 8, dtype=torch.float16))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_each_placement_is_its_equation(placement, norm):
    residual, N = Residual(6, placement=placement, norm=norm).double(), WRITTEN[norm]
    x, W = torch.randn(2, 3, 6, dtype=torch.float64), torch.randn(6, 6, dtype=torch.float64)
    f = lambda x: x @ W  # noqa: E731
    expected = {
        "post": lambda: N(x + f(x)),
        "pre": lambda: x + f(N(x)),
        "sandwich": lambda: x + N(f(N(x))),
    }
    assert_close(residual(x, f), expected[placement](), **EXACT)


@pytest.mark.parametrize("placement", ["pre", "sandwich"])
def test_the_residual_path_carries_the_gradient_untouched(placement):
    """Si la subcapa no aporta, y = x: en «pre» y «sandwich» el camino directo queda libre."""
    x = torch.randn(2, 3, 6, requires_grad=True)
    Residual(6, placement=placement)(x, torch.zeros_like).sum().backward()
    assert_close(x.grad, torch.ones_like(x))


def test_the_two_norms_of_the_sandwich_are_different_parameters():
    residual = Residual(4, placement="sandwich")
    nn.init.constant_(residual.outer_norm.weight, 0.0)
    x = torch.randn(1, 2, 4)
    assert_close(residual(x, lambda x: x), x)


def test_dropout_falls_on_the_sublayer_and_not_on_the_residual():
    residual = Residual(1000, placement="pre", dropout=0.5)
    x = torch.full((1, 1, 1000), 10.0)
    y = residual(x, torch.ones_like)
    assert set(y.unique().tolist()) == {10.0, 12.0}
    assert_close(residual.eval()(x, torch.ones_like), x + 1)


def test_the_outer_norm_of_the_sandwich_comes_after_the_dropout():
    residual, x = Residual(100, placement="sandwich", dropout=0.5), torch.randn(1, 3, 100)
    added = residual(x, torch.ones_like) - x  # mitad ceros, mitad doses, ya normalizados
    assert_close(added.mean(-1), torch.zeros(1, 3), rtol=0, atol=1e-5)
    assert_close(added.square().mean(-1), torch.ones(1, 3), rtol=1e-3, atol=0)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_every_norm_of_the_residual_has_the_epsilon_asked_for(placement, norm):
    residual, N = Residual(6, placement=placement, norm=norm, eps=0.3).double(), WRITTEN[norm]
    x = torch.randn(2, 3, 6, dtype=torch.float64)
    expected = {
        "post": lambda: N(2 * x, 0.3),
        "pre": lambda: x + N(x, 0.3),
        "sandwich": lambda: x + N(N(x, 0.3), 0.3),
    }
    assert_close(residual(x, lambda h: h), expected[placement](), **EXACT)
    assert make_norm(norm, 6).eps == {"layer": 1e-5, "rms": 1e-6}[norm]


@pytest.mark.parametrize("norm", NORMS)
def test_the_epsilon_reaches_the_norm_at_the_end_of_a_stack(norm):
    stack = Encoder(4, 2, 8, 2, placement="pre", norm=norm, eps=0.3)
    assert {m.eps for m in stack.modules() if hasattr(m, "eps")} == {0.3}


@pytest.mark.parametrize("norm", NORMS)
def test_without_bias_only_the_scale_is_learned(norm):
    residual = Residual(4, norm=norm, bias=False)
    assert [p.shape for p in residual.parameters()] == [(4,)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Residual(4, placement="both"), "'post', 'pre', 'sandwich' y llegó 'both'"),
        (lambda: Residual(4, norm="batch"), "'layer', 'rms' y llegó 'batch'"),
        (lambda: Residual(4, dropout=1.0), r"dropout.*\[0, 1\) y llegó 1.0"),
        (lambda: Residual(4, eps=0.0), "eps: se esperaba un número positivo y llegó 0.0"),
        (lambda: RMSNorm(0), "d_model: se esperaba un entero positivo y llegó 0"),
        (lambda: RMSNorm(4, eps=0.0), "eps: se esperaba un número positivo y llegó 0.0"),
    ],
)
def test_bad_options_are_explained(as_user, make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_vector_of_another_width_is_not_stretched(as_user):
    with pytest.raises(ValueError, match="se esperaba un ancho de 4 y llegó la forma"):
        RMSNorm(4)(torch.ones(2, 1))
