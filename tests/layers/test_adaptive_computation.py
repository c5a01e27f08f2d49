"""La parada adaptativa: la regla de Graves, contra un bucle lento, y lo que cuesta detenerse."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from course_lib.fast import gathering
from course_lib.fast.active_positions import deliberate, worth_gathering
from course_lib.layers.adaptive_computation import AdaptiveComputation, FixedComputation
from course_lib.models.universal_transformer import UniversalEncoder

EXACT = {"rtol": 1e-10, "atol": 1e-10}
D = 8
ALWAYS, NEVER = 2.0, 0.0  # reunir las posiciones activas, o calcularlas todas


def make_encoder(max_steps=4, epsilon=0.01, **options):
    torch.set_default_dtype(torch.float64)  # también las codificaciones, sin redondear
    try:
        sizes = {"max_steps": max_steps, "max_length": 20, "epsilon": epsilon}
        model = UniversalEncoder(D, 2, 12, **sizes, **options)
    finally:
        torch.set_default_dtype(torch.float32)
    for p in model.parameters():  # también normas y sesgos: que todos cuenten
        nn.init.normal_(p, mean=0.1, std=0.5)
    return model.eval()


def way(model, gather_below):
    """El modelo tal cual, o el que reúne las posiciones activas."""
    return model if gather_below is None else gathering(model, gather_below=gather_below)


# El oráculo: una posición cada vez, con sumas y productos


def encoding(position):
    angles = [position / 10_000 ** (2 * j / D) for j in range(D // 2)]
    return torch.tensor([f(a) for a in angles for f in (math.sin, math.cos)], dtype=torch.float64)


def slow_norm(norm, x):
    if isinstance(norm, nn.LayerNorm):
        x = x - x.mean()
    y = x / (x.square().mean() + norm.eps).sqrt() * norm.weight
    return y + norm.bias if isinstance(norm, nn.LayerNorm) else y


def slow_residual(residual, x, sublayer):
    if residual.placement == "post":
        return slow_norm(residual.norm, x + sublayer(x))
    y = sublayer(slow_norm(residual.norm, x))
    return x + (slow_norm(residual.outer_norm, y) if residual.placement == "sandwich" else y)


def slow_attention(attention, q, keys):
    W_q, W_k, W_v = attention.W_qkv.weight.chunk(3)
    b_q, b_k, b_v = attention.W_qkv.bias.chunk(3)
    width, heads = D // attention.num_heads, []
    for i in range(attention.num_heads):
        part = slice(i * width, (i + 1) * width)
        query = (W_q @ q + b_q)[part]
        scores = [query @ (W_k @ k + b_k)[part] / math.sqrt(width) for k in keys]
        weights = torch.stack(scores).softmax(0)
        heads.append(sum(a * (W_v @ k + b_v)[part] for a, k in zip(weights, keys, strict=True)))
    return attention.W_h.weight @ torch.cat(heads) + attention.W_h.bias


def slow_block(block, u, i, seen):
    """Lo que da el bloque en la posición i, que mira a las de `seen`."""

    def look(x):
        before = block.residual_attention
        ready = [u[j] if before.placement == "post" else slow_norm(before.norm, u[j]) for j in seen]
        return slow_attention(block.attention, x, ready)

    def feed(x):
        network = block.feed_forward
        hidden = (network.W_1.weight @ x + network.W_1.bias).clamp(min=0)
        return network.W_2.weight @ hidden + network.W_2.bias

    x = slow_residual(block.residual_attention, u[i], look)
    return slow_residual(block.residual_feed_forward, x, feed)


def slow_row(model, x, visible, causal):
    """Graves, al pie de la letra, para una fila: salidas, N y R de cada posición."""
    t, rule = len(x), model.computation
    state, p_until_now = list(x), [[] for _ in range(t)]
    passed = [[] for _ in range(t)]
    done = [not v for v in visible]
    for n in range(1, rule.max_steps + 1):
        u = [state[i] + encoding(i + 1) + encoding(n) for i in range(t)]
        new = {}
        for i in range(t):
            if done[i]:
                continue
            p = torch.sigmoid(rule.halting.weight[0] @ u[i] + rule.halting.bias[0])
            seen = [j for j in range(t) if visible[j] and (j <= i or not causal)]
            new[i] = slow_block(model.block, u, i, seen)
            passed[i].append(new[i])
            p_until_now[i].append(p)
            done[i] = sum(p_until_now[i]).item() >= 1 - rule.epsilon
        for i, s in new.items():
            state[i] = s
    outputs, N, R = [], [], []
    for i in range(t):
        if not passed[i]:
            outputs.append(torch.zeros(D, dtype=x.dtype))
            N.append(0)
            R.append(torch.zeros((), dtype=x.dtype))
            continue
        remainder = 1 - sum(p_until_now[i][:-1], torch.zeros((), dtype=x.dtype))
        weights = [*p_until_now[i][:-1], remainder]
        outputs.append(sum(w * s for w, s in zip(weights, passed[i], strict=True)))
        N.append(len(passed[i]))
        R.append(remainder)
    return torch.stack([model.norm(y) for y in outputs]), torch.tensor(N), torch.stack(R)


def gradients(model, x, states, cost, visible):
    """Del mismo número, en cada parámetro y en la entrada."""
    weights = torch.linspace(-1, 1, states.numel(), dtype=states.dtype).view(states.shape)
    loss = (states * weights * visible[..., None]).sum() + (cost * visible).square().sum()
    inputs = [x, *model.parameters()]
    return torch.autograd.grad(loss, inputs, allow_unused=True, materialize_grads=True)


@settings(max_examples=30)
@given(
    seed=st.integers(0, 2**31),
    t=st.integers(1, 5),
    max_steps=st.integers(1, 5),
    epsilon=st.sampled_from([0.01, 0.2, 0.5]),
    placement=st.sampled_from(["post", "pre", "sandwich"]),
    norm=st.sampled_from(["layer", "rms"]),
    causal=st.booleans(),
    gather_below=st.sampled_from([None, NEVER, 0.6, ALWAYS]),
)
def test_equals_a_slow_loop_position_by_position(
    seed, t, max_steps, epsilon, placement, norm, causal, gather_below
):
    torch.manual_seed(seed)
    model = make_encoder(max_steps, epsilon, placement=placement, norm=norm)
    x = torch.randn(2, t, D, dtype=torch.float64, requires_grad=True)
    visible = torch.rand(2, t) < 0.8
    ours = way(model, gather_below)(x, mask=visible[:, None], causal=causal)
    rows = [slow_row(model, x[b], visible[b].tolist(), causal) for b in range(2)]
    states, N, R = (torch.stack(parts) for parts in zip(*rows, strict=True))
    assert torch.equal(ours.n_updates, N)
    assert_close(ours.remainders, R, **EXACT)
    assert_close(ours.ponder_cost, N + R, **EXACT)
    assert_close(ours.states[visible], states[visible], **EXACT)
    if visible.any():
        expected = gradients(model, x, states, N + R, visible)
        for got, wanted in zip(
            gradients(model, x, ours.states, ours.ponder_cost, visible), expected, strict=True
        ):
            assert_close(got, wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("gather_below", [None, NEVER, 0.5, ALWAYS])
def test_single_precision(gather_below):
    model = make_encoder(5)
    x, visible = torch.randn(4, 9, D, dtype=torch.float64), torch.rand(4, 9) < 0.8
    expected = model(x, mask=visible[:, None]).states
    got = way(model.float(), gather_below)(x.float(), mask=visible[:, None]).states
    assert_close(got[visible], expected[visible].float(), rtol=1e-4, atol=1e-5)


# La regla, con probabilidades puestas a mano y estados 1, 2, 3…


def rule(probabilities, *, epsilon=0.01, max_steps=None, states=None, **options):
    """Una posición cuyas p y cuyos estados se conocen; da el resultado y las p con gradiente."""
    p = torch.tensor(probabilities, dtype=torch.float64, requires_grad=True)
    layer = AdaptiveComputation(1, max_steps or len(p), epsilon=epsilon, **options).double()
    nn.init.ones_(layer.halting.weight)
    nn.init.zeros_(layer.halting.bias)
    values = torch.arange(1.0, 1 + len(p)) if states is None else states

    d = layer.start(torch.zeros(1, 1, 1, dtype=torch.float64))
    for each, value in zip(p, values, strict=True):
        d = layer(d, each.logit().view(1, 1, 1), value.view(1, 1, 1).double())
    return d.output(), p


@pytest.mark.parametrize(
    ("p", "N", "R", "output"),
    [
        ((0.3, 0.4, 0.5, 0.5), 3, 0.3, 2.0),
        ((0.999, 0.5), 1, 1.0, 1.0),
        ((0.995, 0.5), 1, 1.0, 1.0),
        ((0.05, 0.05, 0.05, 0.05), 4, 0.85, 3.7),
        ((0.6, 0.395, 0.5), 2, 0.4, 1.4),
    ],
)
def test_worked_examples(p, N, R, output):
    found, _ = rule(p)
    assert found.n_updates.item() == N
    assert found.remainders.item() == pytest.approx(R)
    assert found.ponder_cost.item() == pytest.approx(N + R)
    assert found.states.item() == pytest.approx(output), (
        "y = Σ pₙ sₙ, con el resto en el último: no es la actualización s·u + y·(1 − u)"
    )


def test_exactly_one_minus_epsilon_halts():
    found, _ = rule((0.5, 0.5, 0.5), epsilon=0.5)  # σ(0) es 0.5 exacto
    assert found.n_updates.item() == 1, "la parada es con ≥ 1 − ε, no con >"


@pytest.mark.parametrize("p", [0.01, 0.1, 0.24])
def test_weights_add_up_to_one_when_the_limit_cuts(p):
    found, _ = rule((p,) * 4, states=torch.full((4,), 7.0))
    assert found.states.item() == pytest.approx(7.0), (
        "los pesos suman menos que 1: el último paso debe llevarse todo el resto"
    )
    assert found.remainders.item() == pytest.approx(1 - 3 * p)


def test_the_ponder_cost_has_a_gradient():
    found, p = rule((0.3, 0.4, 0.5, 0.5))
    assert found.ponder_cost.requires_grad, "¿se perdió el gradiente del costo con .item()?"
    (gradient,) = torch.autograd.grad(found.ponder_cost.sum(), p)
    # R = 1 − p₁ − p₂: la p que detiene no cuenta, y las que no llegaron a darse tampoco.
    assert_close(gradient, torch.tensor([-1.0, -1.0, 0.0, 0.0], dtype=torch.float64))


def test_the_output_has_the_gradient_of_the_weights():
    found, p = rule((0.3, 0.4, 0.5, 0.5))
    (gradient,) = torch.autograd.grad(found.states.sum(), p)
    # y = p₁·1 + p₂·2 + (1 − p₁ − p₂)·3
    assert_close(gradient, torch.tensor([-2.0, -1.0, 0.0, 0.0], dtype=torch.float64))


def test_halting_is_decided_before_the_block():
    layer = AdaptiveComputation(1, 3).double()
    nn.init.ones_(layer.halting.weight)
    nn.init.zeros_(layer.halting.bias)
    before, after = torch.full((1, 1, 1), -9.0), torch.full((1, 1, 1), 9.0)
    d = layer.start(torch.zeros(1, 1, 1, dtype=torch.float64))
    for _ in range(3):
        d = layer(d, before.double(), after.double())
    found = d.output()
    assert found.n_updates.item() == 3, "p sale de lo que entra en el bloque, no de lo que sale"


# Qué se calcula en cada paso


class Spy:
    """Suma 1 al estado, detiene a cada posición en su turno y apunta lo que le piden."""

    def __init__(self, turns):
        self.turns, self.asked, self.seen = torch.tensor(turns), [], []

    def __call__(self, states, n, places):
        self.asked.append(None if places is None else places.tolist())
        self.seen.append(states.squeeze(-1).clone())
        stop = torch.where(self.turns == n, 20.0, -20.0)[..., None]
        new = states + 1
        if places is not None:
            stop, new = (X.flatten(0, 1)[places] for X in (stop, new))
        return stop, new


def watch(turns, gather_below, *, max_steps=5, visible=None):
    layer = AdaptiveComputation(1, max_steps)
    nn.init.ones_(layer.halting.weight)
    nn.init.zeros_(layer.halting.bias)
    spy = Spy(turns)
    with torch.no_grad():
        x, mask = torch.zeros(*spy.turns.shape, 1), None if visible is None else visible[:, None]
        if gather_below is not None:
            return deliberate(layer, x, spy, mask=mask, gather_below=gather_below).output(), spy
        d = layer.start(x, mask)
        for n in range(1, max_steps + 1):
            d = layer(d, *spy(d.states, n, None))
        return d.output(), spy


TURNS = [[1, 3, 2], [2, 1, 1]]


def test_only_active_positions_are_asked_for():
    found, spy = watch(TURNS, ALWAYS)
    assert spy.asked == [[0, 1, 2, 3, 4, 5], [1, 2, 3], [1]], "una posición detenida se recalcula"
    assert found.n_updates.tolist() == TURNS


def test_the_loop_ends_when_nobody_is_active():
    _, spy = watch([[1, 2]], NEVER)
    assert spy.asked == [None, None], "el bucle sigue aunque todas se hayan detenido"


@pytest.mark.parametrize("gather_below", [None, NEVER, 0.6, ALWAYS])
def test_a_halted_state_is_copied(gather_below):
    found, spy = watch(TURNS, gather_below)
    turns = torch.tensor(TURNS)
    for n, seen in enumerate(spy.seen):
        assert torch.equal(seen, turns.clamp(max=n).float()), (
            "una posición detenida conserva su estado: no se sigue transformando"
        )
    assert torch.equal(found.last_states.squeeze(-1), turns.float())


def test_all_together_or_only_the_active_by_their_share():
    turns = [[3] * 6 + [2] * 2 + [1] * 2]
    assert watch(turns, 0.7)[1].asked == [None, None, list(range(6))]
    assert watch(turns, 0.6)[1].asked == [None, None, None]


@pytest.mark.parametrize("gather_below", [None, NEVER, 0.6, ALWAYS])
def test_padding_neither_computes_nor_counts(gather_below):
    visible = torch.tensor([[True, True, False], [True, False, False]])
    found, spy = watch(TURNS, gather_below, visible=visible)
    assert not found.ponder_cost[~visible].any(), "el relleno cuenta en el costo de deliberación"
    assert not found.n_updates[~visible].any() and not found.states[~visible].any()
    assert found.mean_ponder_cost.item() == pytest.approx((1 + 3 + 2 + 3) / 3, abs=1e-5), (
        "la media es sobre las posiciones reales"
    )
    if gather_below == ALWAYS:
        assert spy.asked == [[0, 1, 3], [1, 3], [1]], "el relleno se calcula"


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("gradient", [True, False])
@pytest.mark.parametrize("gather_below", [None, NEVER, ALWAYS])
def test_a_batch_of_nothing_but_padding(adaptive, gradient, gather_below):
    model = way(make_encoder(adaptive=adaptive, placement="pre"), gather_below)
    x, visible = torch.randn(2, 5, D, dtype=torch.float64), torch.zeros(2, 5, dtype=torch.bool)
    with torch.set_grad_enabled(gradient):
        found = model(x, mask=visible[:, None])
    assert not found.states.any() and not found.ponder_cost.any() and not found.n_updates.any()
    assert found.mean_ponder_cost == 0


@pytest.mark.parametrize("gather_below", [None, NEVER, 0.6, ALWAYS])
@pytest.mark.parametrize("gradient", [True, False])
def test_the_input_is_left_as_it_was(gradient, gather_below):
    """Sin gradiente los estados se escriben en su sitio, que no puede ser el de la entrada."""
    model = way(make_encoder(6), gather_below)
    x = torch.randn(6, 3, D, dtype=torch.float64)
    for X in (x, x.transpose(0, 1), x[:, :1].expand(6, 3, D)):
        before = X.clone()
        with torch.set_grad_enabled(gradient):
            found = model(X)
        assert torch.equal(X, before), "se escribió en la entrada"
        assert_close(found.states, model(before).states, **EXACT)
        assert_close(found.last_states, model(before).last_states, **EXACT)


@pytest.mark.parametrize("gather_below", [None, NEVER, 0.6, ALWAYS])
def test_what_is_in_the_padding_changes_nothing(gather_below):
    model, visible = make_encoder(), torch.arange(6) < torch.tensor([[6], [4], [1], [0]])
    model = way(model, gather_below)
    x = torch.randn(4, 6, D, dtype=torch.float64)
    mask = visible[:, None]
    found = model(x, mask=mask)
    other = model(torch.where(visible[..., None], x, 1e3), mask=mask)
    alone = model(x[1:2, :4])
    assert_close(other.states[visible], found.states[visible], **EXACT)
    assert_close(other.ponder_cost, found.ponder_cost, **EXACT)
    assert_close(found.states[1, :4], alone.states[0], **EXACT)
    assert found.states.isfinite().all()


def encoder_halting_at(turns, **options):
    """Un codificador con pesos al azar cuyas posiciones se detienen en el turno que se diga."""
    model = gathering(UniversalEncoder(32, 4, 128, max_steps=8, max_length=64, **options))
    rule, step, turns = model.computation, [0], torch.as_tensor(turns).flatten()

    def probability(u):
        step[0] = step[0] % int(turns.max()) + 1
        left = turns[turns >= step[0]] if u.ndim == 2 else turns
        p = (left == step[0]).float()
        return p.view(u.shape[:-1])

    rule.probability = probability
    return model.eval()


def flops(work):
    with FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


@pytest.mark.parametrize("placement", ["post", "pre"])
@pytest.mark.parametrize("gradient", [False, True])
def test_halted_positions_cost_nothing(placement, gradient):
    t, d, d_ff, steps = 64, 32, 128, 8
    x = torch.randn(2, t, d)
    turns = torch.ones(2, t, dtype=torch.long)
    turns[0, ::10] = steps  # 7 de 128; la segunda fila se detiene entera
    model = encoder_halting_at(turns, placement=placement)
    with torch.set_grad_enabled(gradient):
        found = [model(x)]
        assert torch.equal(found[0].n_updates, turns)
        spent = flops(lambda: model(x))
    block = 2 * (4 * d * d + 2 * d * d_ff)
    attended = 4 * d * t  # puntuar y mezclar, por consulta
    active = 7 * (steps - 1)
    first_keys = 2 * t * 2 * 2 * d * d  # las de todas se proyectan una vez, ya detenidas
    vectors = (steps - 1) * 2 * 2 * d * d + 2 * 2 * d * d  # el paso, como una posición más
    fair = 2 * t * (block + attended) + active * (block + attended) + first_keys + vectors
    assert spent <= fair, "las posiciones detenidas se siguen calculando"
    assert spent < 0.35 * steps * 2 * t * (block + attended)


def test_autocast_and_half_precision_keep_the_sum():
    model = make_encoder(6).float()
    x = torch.randn(2, 8, D)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for gather_below in (None, NEVER, ALWAYS):
            found = way(model, gather_below)(x)
            assert found.remainders.dtype == torch.float32
            assert found.states.dtype == torch.float32 and found.states.isfinite().all()
    half = model.bfloat16()(x.bfloat16())
    assert half.states.dtype == torch.bfloat16 and half.ponder_cost.dtype == torch.float32


# Número fijo de pasos


def test_fixed_steps():
    layer, spy = FixedComputation(3), Spy([[9, 9]])
    d = layer.start(torch.zeros(1, 2, 1), torch.tensor([[[True, False]]]))
    for n in (1, 2, 3):
        d = layer(d, *spy(d.states, n, None))
    found = d.output()
    assert d.n == 3 and found.n_updates.tolist() == [[3, 0]]
    assert found.ponder_cost.tolist() == [[3.0, 0.0]]
    assert found.states.squeeze(-1).tolist() == [[3.0, 0.0]] and len(spy.asked) == 3


# Errores


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1])
def test_epsilon_must_leave_room(epsilon):
    with pytest.raises(ValueError, match="epsilon: se esperaba un número en"):
        AdaptiveComputation(D, 3, epsilon=epsilon)


def test_sizes_and_masks_are_checked(as_user):
    with pytest.raises(ValueError, match="max_steps: se esperaba un entero positivo"):
        AdaptiveComputation(D, 0)
    layer = AdaptiveComputation(D, 2)
    with pytest.raises(ValueError, match="x: se esperaba un ancho de 8"):
        layer.start(torch.zeros(1, 2, 3))
    for mask in (torch.ones(1, 1, 3, dtype=torch.bool), torch.ones(1, 1, 2)):
        with pytest.raises(ValueError, match="mask: se esperaba una máscara booleana"):
            layer.start(torch.zeros(1, 2, D), mask)


@pytest.mark.parametrize(
    ("device", "rows", "expected"), [("cpu", 8, 0.85), ("meta", 8, 0.0), ("meta", 128, 0.85)]
)
def test_on_a_gpu_few_positions_are_not_gathered(device, rows, expected):
    """Con el dispositivo `meta` en su lugar: la regla solo mira si es la CPU."""
    assert worth_gathering(torch.empty(rows, 128, 4, device=device)) == expected
