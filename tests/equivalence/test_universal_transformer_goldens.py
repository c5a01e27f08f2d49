"""El cómputo adaptativo contra una implementación de confianza de la regla de Graves."""

import pytest
import torch
from torch.testing import assert_close

from course_lib.fast.active_positions import TiedBlock, deliberate, take
from course_lib.layers.adaptive_computation import AdaptiveComputation, FixedComputation
from course_lib.layers.blocks import EncoderBlock

FOLDER, CASE = "06_ut_act", "postln.eps0.01.graves_freeze/"
EXACT = {"float64": {"rtol": 1e-12, "atol": 1e-12}, "float32": {"rtol": 2e-5, "atol": 2e-5}}
STEPS, D = 6, 12


def make_block(weights):
    block = EncoderBlock(D, 3, 20)
    attention, network = block.attention, block.feed_forward
    pairs = {
        attention.W_h: ("Wo", "bo"),
        network.W_1: ("W1", "b1"),
        network.W_2: ("W2", "b2"),
        block.residual_attention.norm: ("ln1_w", "ln1_b"),
        block.residual_feed_forward.norm: ("ln2_w", "ln2_b"),
    }
    stack = {k: torch.cat([weights[k + x] for x in "qkv"]) for k in "Wb"}
    attention.W_qkv.load_state_dict({"weight": stack["W"], "bias": stack["b"]})
    for module, (weight, bias) in pairs.items():
        module.load_state_dict({"weight": weights[weight], "bias": weights[bias]})
    return block


class GoldenStep:
    """El paso de la referencia: una posición detenida ya no lleva la codificación del paso.

    En el artículo (y en `TiedBlock`) sí la lleva: H^t = bloque(H^{t−1} + P^t), en todas.
    """

    def __init__(self, block, timing, visible):
        self.block, self.timing, self.visible = block, timing, visible

    def __call__(self, states, n, places):
        active = torch.zeros_like(states[..., 0]).flatten().index_fill(0, places, 1.0)
        u, s = self.everywhere(states, n, active.view_as(states[..., 0]))
        return take(u, places), take(s, places)

    def everywhere(self, states, n, active):
        u = states + self.timing[n - 1] * active[..., None]
        return u, self.block(u, mask=self.visible[:, None])


@pytest.fixture(params=["float64", "float32"])
def case(request, golden):
    dtype = getattr(torch, request.param)
    weights = {k: v.to(dtype) for k, v in golden(FOLDER, "weights").items()}
    inputs = golden(FOLDER, "inputs")
    expected = golden(FOLDER, f"out_f{dtype.itemsize * 8}")
    x, timing = (inputs[k].to(dtype) for k in ("x", "timing"))
    block = make_block(weights).to(dtype)
    step = GoldenStep(block, timing, ~inputs["key_padding"])
    return weights, x, step, expected, EXACT[request.param]


@pytest.mark.parametrize("gathering", [True, False], ids=["solo las activas", "todas"])
@pytest.mark.parametrize("pads_compute", [True, False])
def test_adaptive(case, pads_compute, gathering):
    """En la referencia el relleno también delibera; en la nuestra puede no hacerlo."""
    weights, x, step, expected, tolerance = case
    layer = AdaptiveComputation(D, STEPS, epsilon=0.01).to(x.dtype)
    layer.halting.load_state_dict({"weight": weights["Wp"], "bias": weights["bp"]})
    visible = torch.ones_like(step.visible) if pads_compute else step.visible
    with torch.no_grad():
        if gathering:
            d = deliberate(layer, x, step, mask=visible[:, None], gather_below=2.0)
        else:
            d = layer.start(x, visible[:, None])
            for n in range(1, STEPS + 1):
                d = layer(d, *step.everywhere(d.states, n, d.active.to(x.dtype)))
    found = d.output()
    theirs = {k: expected[CASE + k] for k in ("output", "n_updates", "remainders")}
    assert_close(found.states[visible], theirs["output"][visible], **tolerance)
    assert torch.equal(found.n_updates[visible], theirs["n_updates"][visible].long())
    assert_close(found.remainders[visible], theirs["remainders"][visible], **tolerance)
    ponder = expected[CASE + "ponder_cost_per_position"]
    assert_close(found.ponder_cost[visible], ponder[visible], **tolerance)
    mean = expected[CASE + f"ponder_cost_mean{'' if pads_compute else '_nonpad'}"][0]
    assert_close(found.mean_ponder_cost, mean, **tolerance)


@pytest.mark.parametrize("gathering", [True, False], ids=["solo las activas", "todas"])
@pytest.mark.parametrize("steps", range(1, STEPS + 1))
def test_fixed_depth(case, steps, gathering):
    _, x, golden, expected, _ = case
    block, timing = golden.block, golden.timing
    step = TiedBlock(
        block,
        block.attention,
        block.residual_attention,
        timing[0] - timing[0, :1],  # las suyas también son una parte de posición y otra de paso
        timing[:, 0],
        mask=golden.visible[:, None],
    )
    layer, everyone = FixedComputation(steps), torch.ones_like(x[..., 0])
    with torch.no_grad():
        d = deliberate(layer, x, step) if gathering else layer.start(x)
        for n in range(1, 1 + (0 if gathering else steps)):
            d = layer(d, *golden.everywhere(d.states, n, everyone))
    found = d.output()
    tolerance = {"rtol": 2e-5, "atol": 2e-5}  # la suma de sus codificaciones se guardó en float32
    assert_close(found.states, expected[f"postln.fixed_depth/state.{steps}"], **tolerance)


def test_the_table_of_the_rule(golden):
    expected = golden(FOLDER, "out_f64")
    p, states = expected["table.p"], expected["table.states"]
    layer = AdaptiveComputation(1, len(p), epsilon=0.01).double()
    layer.probability = lambda u: u.squeeze(-1)
    x = torch.zeros(1, p.shape[1], 1, dtype=torch.float64)

    d = layer.start(x)
    for u, value in zip(p, states, strict=True):
        d = layer(d, u[None, :, None], value[None, :, None])
    found = d.output()
    columns = [found.n_updates[0].double(), found.remainders[0], found.states[0, :, 0]]
    assert_close(torch.stack(columns, 1), expected["table.graves"], **EXACT["float64"])
    assert not torch.allclose(torch.stack(columns, 1), expected["table.t2t"])
