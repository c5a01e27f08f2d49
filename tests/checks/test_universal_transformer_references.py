"""Las referencias de los ejercicios del Universal Transformer son lo que hace la biblioteca.

Cada una se escribe aparte en `checks`, para que los errores frecuentes cambien una sola pieza; aquí
se ve que dicen lo mismo que la capa y el modelo.
"""

import pytest
import torch

from course_lib.checks import universal_transformer as exercises
from course_lib.fast.active_positions import deliberate
from course_lib.layers.adaptive_computation import AdaptiveComputation
from course_lib.models.universal_transformer import UniversalEncoder


def cases_of(exercise):
    return exercise.cases(torch.Generator().manual_seed(5))


class Given(AdaptiveComputation):
    """La capa, con la probabilidad ya calculada en lo que entra."""

    def probability(self, u):
        return u.squeeze(-1)


def adaptive(p, epsilon, states=None, mask=None):
    """Lo que hace la capa con unas p dadas, `[pasos, batch, t]`, y los estados de cada paso."""
    layer = Given(1, len(p), epsilon=epsilon)
    states = torch.ones_like(p) if states is None else states
    d = layer.start(torch.zeros_like(p[0])[..., None], mask)
    for u, s in zip(p, states, strict=True):
        d = layer(d, u[..., None], s[..., None])
    return d.output()


def test_the_encodings_are_those_of_the_model():
    for length, num_steps, d_model in cases_of(exercises.STEP_ENCODINGS):
        model = UniversalEncoder(d_model, 1, 4, max_steps=num_steps, max_length=length)
        found = exercises.STEP_ENCODINGS.reference(length, num_steps, d_model)
        torch.testing.assert_close(found, model.positions + model.steps[:, None])


def test_halting_is_the_rule_of_the_layer():
    for p, epsilon in cases_of(exercises.HALTING):
        weights, n, rest = exercises.HALTING.reference(p, epsilon)
        for k in range(len(p)):
            states = torch.eye(len(p), dtype=p.dtype)[k, :, None, None]
            output = adaptive(p[:, None, None], epsilon, states)
            assert output.states.item() == pytest.approx(weights[k].item())
        assert (output.n_updates.item(), output.remainders.item()) == (n, pytest.approx(rest))


def test_halting_gives_the_numbers_of_a_trusted_table(golden):
    table = golden("06_ut_act", "out_f64")
    for column, (n, rest, output) in enumerate(table["table.graves"].tolist()):
        p, states = table["table.p"][:, column], table["table.states"][:, column]
        weights, found_n, found_rest = exercises.HALTING.reference(p, 0.01)
        mixed = (weights * states).sum().item()
        assert (found_n, found_rest, mixed) == pytest.approx((n, rest, output))


def test_the_mixture_is_that_of_the_layer():
    for states, p, epsilon in cases_of(exercises.REMAINDER_BUG):
        found = exercises.REMAINDER_BUG.reference(states, p, epsilon)
        for column in range(states.shape[-1]):
            expected = adaptive(p[:, None], epsilon, states[:, None, :, column]).states
            torch.testing.assert_close(found[:, column], expected[0, :, 0])


@pytest.mark.parametrize("gather_below", [None, 0.0, 1.1], ids=["la capa", "todas", "activas"])
def test_the_loop_is_that_of_the_layer(gather_below):
    for x, W, M, w, b, max_steps, epsilon in cases_of(exercises.ADAPTIVE_LOOP):
        layer = AdaptiveComputation(x.shape[-1], max_steps, epsilon=epsilon)
        layer.halting.load_state_dict({"weight": w[None], "bias": b[None]})

        def step(states, n, places, W=W, M=M):
            new = torch.tanh(states @ W + states.mean(dim=-2, keepdim=True) @ M)
            if places is None:
                return states, new
            return states.flatten(0, 1)[places], new.flatten(0, 1)[places]

        if gather_below is None:
            d = layer.start(x)
            for n in range(max_steps):
                d = layer(d, *step(d.states, n, None))
        else:
            d = deliberate(layer, x, step, gather_below=gather_below)
        expected = d.output()
        inputs = (x, W, M, w, b, max_steps, epsilon)
        output, n, rest = exercises.ADAPTIVE_LOOP.call(exercises.ADAPTIVE_LOOP.reference, *inputs)
        torch.testing.assert_close(output, expected.states)
        assert torch.equal(n, expected.n_updates)
        torch.testing.assert_close(rest, expected.remainders)


def test_the_ponder_loss_and_its_gradient_are_those_of_the_layer():
    for p, real, epsilon in cases_of(exercises.PONDER_BUG):
        ours, theirs = (p.clone().requires_grad_() for _ in range(2))
        found = exercises.PONDER_BUG.reference(ours, real, epsilon)
        expected = adaptive(theirs, epsilon, mask=real[:, None]).mean_ponder_cost
        torch.testing.assert_close(found, expected)
        found.backward()
        expected.backward()
        torch.testing.assert_close(ours.grad, theirs.grad, atol=1e-5, rtol=1e-5)


def test_shared_halting_never_looks_at_the_future_nor_at_padding():
    for p, real in cases_of(exercises.SHARED_BUG):
        shared = exercises.SHARED_BUG.reference(p, real)
        for row, i in real.nonzero().tolist():
            voters = [p[row, j].item() for j in range(i + 1) if real[row, j]]
            assert shared[row, i].item() == pytest.approx(sum(voters) / len(voters))
        assert torch.equal(shared[~real], torch.zeros_like(shared[~real]))


def test_the_gathered_step_equals_the_dense_one():
    def dense(state, active, block):
        return torch.where(active[..., None], block(state, state), state)

    exercise = exercises.ACTIVE_ONLY
    for case in cases_of(exercise):
        found, expected = (exercise.call(f, *case) for f in (exercise.reference, dense))
        torch.testing.assert_close(found["el estado"], expected["el estado"])
        assert found["posiciones calculadas"] == case[1].sum()
        assert expected["posiciones calculadas"] == case[1].numel()
