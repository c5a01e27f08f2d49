"""La mezcla de expertos contra el bucle de siempre: un token y un experto cada vez."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.layers.mixture_of_experts import MixtureOfExperts, Routing, load_balancing_loss
from course_lib.layers.swiglu import SwiGLU

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def swiglu(expert, token):
    gate, up = (expert.W_gate_up.weight @ token).chunk(2)
    return expert.W_down.weight @ (gate / (1 + torch.exp(-gate)) * up)


def token_by_token(layer, x):
    """Cada token elige con un `sorted` de Python, y sus expertos lo tratan a solas."""
    y = torch.zeros_like(x)
    for i, token in enumerate(x):
        scores = layer.router.weight @ token
        chosen = sorted(range(len(scores)), key=lambda e: -scores[e].item())[: layer.top_k]
        total = sum(scores[e].exp() for e in chosen)
        for e in chosen:
            y[i] = y[i] + scores[e].exp() / total * swiglu(layer.experts[e], token)
    return y


def make(*sizes, dtype=torch.float64, **options):
    return MixtureOfExperts(*sizes, **options).to(dtype)


@given(
    tokens=st.integers(0, 9),
    num_experts=st.integers(1, 5),
    top_k=st.integers(1, 5),
    seed=st.integers(0, 2**16),
)
def test_it_equals_the_loop_over_tokens(tokens, num_experts, top_k, seed):
    torch.manual_seed(seed)
    layer = make(4, 6, num_experts, top_k=min(top_k, num_experts))
    x = torch.randn(tokens, 4, dtype=torch.float64)
    with torch.no_grad():
        assert_close(layer(x)[0], token_by_token(layer, x), **EXACT)


def test_float32_agrees_with_the_loop():
    layer = make(8, 16, 4, dtype=torch.float32)
    x = torch.randn(20, 8)
    with torch.no_grad():
        assert_close(layer(x)[0], token_by_token(layer, x), rtol=1e-5, atol=1e-5)


def test_gradients_equal_those_of_the_loop():
    layer, weights = make(4, 6, 3, top_k=2), torch.randn(7, 4, dtype=torch.float64)
    x = torch.randn(7, 4, dtype=torch.float64, requires_grad=True)
    leaves = [x, *layer.parameters()]
    ours = torch.autograd.grad((layer(x)[0] * weights).sum(), leaves)
    theirs = torch.autograd.grad(
        (token_by_token(layer, x) * weights).sum(), leaves, materialize_grads=True
    )
    for our, their in zip(ours, theirs, strict=True):
        assert_close(our, their, **EXACT)


def test_the_router_learns_through_the_gates():
    layer = make(4, 6, 3, top_k=2)
    layer(torch.randn(5, 4, dtype=torch.float64))[0].sum().backward()
    assert layer.router.weight.grad.abs().sum() > 0, "¿se separó la compuerta del grafo?"


def test_an_idle_expert_gets_a_zero_gradient_and_not_none():
    layer = make(2, 3, 2, top_k=1)
    layer.router.weight.data = torch.tensor([[1.0, 0.0], [-1.0, 0.0]]).double()
    layer(torch.ones(4, 2, dtype=torch.float64))[0].sum().backward()
    assert layer.experts[0].W_down.weight.grad.abs().sum() > 0
    assert all((p.grad == 0).all() for p in layer.experts[1].parameters())


def test_gates_are_a_softmax_over_the_chosen_alone():
    layer = make(1, 2, 3, top_k=2)
    layer.router.weight.data = torch.tensor([[1.0], [3.0], [2.0]]).double()
    routing = layer.route(torch.ones(1, 1, dtype=torch.float64))
    assert routing.chosen.tolist() == [[1, 2]]
    expected = torch.tensor([[1.0, 0.0]]).double().softmax(-1)
    assert_close(routing.gates, expected, **EXACT)
    assert_close(routing.gates.sum(-1), torch.ones(1).double(), **EXACT)
    renormalised = routing.probabilities[:, [1, 2]]
    assert_close(routing.gates, renormalised / renormalised.sum(-1, keepdim=True), **EXACT)


def test_with_one_expert_it_is_that_network():
    layer, x = make(4, 6, 1, top_k=1), torch.randn(2, 3, 4, dtype=torch.float64)
    assert_close(layer(x)[0], layer.experts[0](x), **EXACT)


def test_equal_experts_are_one():
    """Las compuertas suman 1: si todos responden igual, da lo mismo a quién se pregunte."""
    layer, x = make(4, 6, 3, top_k=2), torch.randn(5, 4, dtype=torch.float64)
    for expert in layer.experts:
        expert.load_state_dict(layer.experts[0].state_dict())
    assert_close(layer(x)[0], layer.experts[0](x), **EXACT)


# Relleno


@given(
    batch=st.integers(1, 3),
    t=st.integers(1, 4),
    bits=st.integers(0, 2**12 - 1),
    k=st.integers(1, 3),
)
def test_padding_is_neither_routed_nor_counted(batch, t, bits, k):
    mask = torch.tensor([bits >> i & 1 for i in range(batch * t)]).bool().view(batch, t)
    layer, x = make(4, 6, 3, top_k=k), torch.randn(batch, t, 4, dtype=torch.float64)
    y, loss = layer(x, mask)
    alone, loss_alone = layer(x[mask])
    assert (y[~mask] == 0).all()
    assert_close(y[mask], alone, **EXACT)
    assert_close(loss, loss_alone, **EXACT)
    y_other, _ = layer(x.masked_fill(~mask[..., None], torch.nan), mask)
    assert_close(y_other, y, **EXACT)


def test_all_padding_gives_zeros_and_still_differentiates():
    layer, x = make(4, 6, 3), torch.randn(1, 2, 4, dtype=torch.float64, requires_grad=True)
    y, loss = layer(x, torch.zeros(1, 2, dtype=torch.bool))
    (y.sum() + loss).backward()
    assert (y == 0).all() and loss == 0 and (x.grad == 0).all()


# Reparto


def test_an_even_split_costs_one_and_a_lopsided_one_costs_more():
    P = torch.full((4, 2), 0.5)
    even = Routing(P, torch.tensor([[0], [1], [0], [1]]), torch.ones(4, 1))
    assert load_balancing_loss(even).item() == 1.0
    P = torch.tensor([[0.75, 0.25]]).expand(4, 2)
    lopsided = Routing(P, torch.zeros(4, 1, dtype=torch.long), torch.ones(4, 1))
    assert load_balancing_loss(lopsided).item() == 1.5


def test_the_fractions_are_of_visits():
    """Con top_k = 2, cada token cuenta en dos expertos, y f suma 1."""
    P = torch.tensor([[0.5, 0.3, 0.2]])
    routing = Routing(P, torch.tensor([[0, 1]]), torch.tensor([[0.6, 0.4]]))
    assert_close(load_balancing_loss(routing).item(), 3 * (0.5 * 0.5 + 0.5 * 0.3))


def test_descending_on_it_evens_the_split():
    torch.manual_seed(0)
    layer, x = make(4, 6, 4, top_k=1), torch.randn(64, 4, dtype=torch.float64) + 2.0
    optimizer = torch.optim.Adam([layer.router.weight], lr=0.05)
    losses = []
    for _ in range(150):
        loss = layer(x)[1]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    share = layer.route(x).chosen.flatten().bincount(minlength=4) / 64
    assert losses[0] > 1.5 and losses[-1] < 1.2 and share.max() < 0.5


# Parámetros y errores


@pytest.mark.parametrize("top_k", [1, 2, 4])
def test_parameters_grow_with_experts_and_the_active_ones_with_top_k(top_k):
    layer, each = MixtureOfExperts(8, 16, 4, top_k=top_k), 3 * 8 * 16
    assert layer.num_parameters() == sum(p.numel() for p in layer.parameters()) == 32 + 4 * each
    assert layer.num_parameters(active=True) == 32 + top_k * each


def test_experts_start_different():
    first, second = MixtureOfExperts(4, 6, 2).experts
    assert isinstance(first, SwiGLU) and not torch.equal(first.W_down.weight, second.W_down.weight)


def test_half_precision_in_half_precision_out():
    layer, x = make(4, 6, 3, dtype=torch.bfloat16), torch.randn(5, 4, dtype=torch.bfloat16)
    y, loss = layer(x)
    assert y.dtype == torch.bfloat16 and loss.dtype == torch.float32


@pytest.mark.parametrize(
    ("sizes", "options", "message"),
    [
        ((4, 6, 2), {"top_k": 3}, "a lo sumo num_experts = 2 y llegó 3"),
        ((4, 6, 2), {"top_k": 0}, "top_k: .*positivo y llegó 0"),
        ((4, 6, 0), {}, "num_experts: .*positivo y llegó 0"),
        ((4, 0, 2), {}, "d_ff: .*positivo y llegó 0"),
    ],
)
def test_bad_sizes_are_explained(as_user, sizes, options, message):
    with pytest.raises(ValueError, match=message):
        MixtureOfExperts(*sizes, **options)


def test_bad_inputs_are_explained(as_user):
    layer = MixtureOfExperts(4, 6, 2)
    with pytest.raises(ValueError, match=r"x: se esperaba un ancho de 4 y llegó la forma \(1, 5\)"):
        layer(torch.ones(1, 5))
    with pytest.raises(ValueError, match=r"mask: se esperaba booleana.*torch.float32"):
        layer(torch.ones(1, 4), torch.ones(1))
    with pytest.raises(ValueError, match=r"de forma \(2,\).*forma \(3,\)"):
        layer(torch.ones(2, 4), torch.ones(3, dtype=torch.bool))
