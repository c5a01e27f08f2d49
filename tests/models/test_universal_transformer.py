"""El Universal Transformer: pesos atados, parada causal, generación con caché y cuánto delibera."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib import fast
from course_lib.decoding import beam, greedy, sample, without_cache
from course_lib.fast.active_positions import StepKeys
from course_lib.layers.adaptive_computation import AdaptiveOutput
from course_lib.layers.arguments import OPTIONS
from course_lib.layers.encoder_decoder import Decoder, Encoder
from course_lib.layers.normalization import RMSNorm
from course_lib.layers.relative_attention import RelativeAttention
from course_lib.models.universal_transformer import (
    UniversalDecoder,
    UniversalEncoder,
    UniversalOutput,
    UniversalTransformer,
    UniversalTransformerConfig,
)
from course_lib.primitives.positions import step_positions
from course_lib.training.losses import cross_entropy, shift_right

EXACT = {"rtol": 1e-10, "atol": 1e-10}
VOCAB, OTHER_VOCAB, PAD, START, END = 20, 25, 0, 1, 2
SIZES = {"d_model": 16, "num_heads": 2, "d_ff": 24}
every_placement = pytest.mark.parametrize("placement", OPTIONS["placement"])


def make(**changes):
    options = {"target_vocab": OTHER_VOCAB, "max_steps": 5, "max_length": 60} | SIZES | changes
    model = UniversalTransformer(UniversalTransformerConfig(VOCAB, **options)).double().eval()
    return spread_halting(model)


def spread_halting(model):
    """Que cada posición se detenga en un paso distinto."""
    for name, p in model.named_parameters():
        if "halting.weight" in name:
            nn.init.normal_(p, std=0.7)
        elif "halting.bias" in name:
            nn.init.constant_(p, 0.2)
    return model


def sentences(batch, t, vocab=VOCAB):
    return torch.randint(END + 1, vocab, (batch, t))


def padded(batch, t):
    ids = sentences(batch, t)
    lengths = torch.randint(0, t + 1, (batch, 1))
    return ids.masked_fill(torch.arange(t) >= lengths, PAD)


# Un bloque, se repita lo que se repita


def test_the_parameters_are_those_of_one_block_whatever_the_steps():
    def count(**changes):
        with torch.device("meta"):
            return sum(p.numel() for p in make(**changes).parameters())

    assert count(max_steps=1) == count(max_steps=50)
    assert count() - count(adaptive=False) == 2 * (16 + 1)  # una unidad de parada en cada mitad
    block = 4 * (16 * 16 + 16) + 2 * 16 * 24 + 24 + 16
    encoder = UniversalEncoder(**SIZES, max_steps=9, max_length=5, adaptive=False)
    assert sum(p.numel() for p in encoder.parameters()) == block + 2 * 2 * 16


def test_one_vocabulary_is_one_table():
    shared = make(target_vocab=None)
    assert shared.source_embedding is shared.target_embedding
    assert shared(sentences(1, 2), sentences(1, 3)).logits.shape == (1, 3, VOCAB)
    assert make()(sentences(1, 2), sentences(1, 3)).logits.shape == (1, 3, OTHER_VOCAB)


@every_placement
@pytest.mark.parametrize("causal", [False, True])
def test_fixed_steps_are_a_stack_that_shares_its_weights(placement, causal):
    options = {"placement": placement, "norm": "rms"}
    model = UniversalEncoder(**SIZES, max_steps=3, max_length=9, adaptive=False, **options)
    stack = Encoder(**SIZES, num_layers=3, **options)
    for block in stack.blocks:
        block.load_state_dict(model.block.state_dict())
    stack.norm.load_state_dict(model.norm.state_dict())
    x = expected = torch.randn(2, 9, 16)
    for n, block in enumerate(stack.blocks, start=1):
        expected = block(expected + step_positions(9, 16, n), causal=causal)
    assert_close(model(x, causal=causal).states, stack.norm(expected), rtol=1e-5, atol=1e-5)


@every_placement
def test_fixed_decoder_is_a_stack_that_shares_its_weights(placement):
    model = UniversalDecoder(
        **SIZES, max_steps=3, max_length=9, adaptive=False, placement=placement
    )
    stack = Decoder(**SIZES, num_layers=3, placement=placement)
    y, h = torch.randn(2, 9, 16), torch.randn(2, 4, 16)
    mask = (torch.arange(4) < torch.tensor([[4], [2]]))[:, None]
    expected = y
    for n in range(1, 4):
        u = expected + step_positions(9, 16, n)
        expected = model.block(u, h, cross_mask=mask)
    found = model(y, h, cross_mask=mask)
    assert_close(found.states, model.norm(expected), rtol=1e-5, atol=1e-5)
    assert type(stack.norm) is type(model.norm)


def test_one_step_that_halts_at_once_is_one_block():
    model = UniversalEncoder(**SIZES, max_steps=1, max_length=9)
    x = torch.randn(2, 9, 16)
    found = model(x)
    assert_close(found.states, model.block(x + step_positions(9, 16, 1)))
    assert (found.ponder_cost == 2).all()  # N = 1 y R = 1


# Posiciones


def test_an_offset_is_the_place_in_a_longer_sequence():
    model = spread_halting(UniversalEncoder(**SIZES, max_steps=4, max_length=30).double())
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    each = model(x, start=torch.tensor([0, 7]))
    assert_close(each.states[:1], model(x[:1]).states, **EXACT)
    assert_close(each.states[1:], model(x[1:], start=7).states, **EXACT)
    assert not torch.allclose(each.states[1:], model(x[1:]).states)


def test_the_offset_reaches_both_halves():
    model, source, target = make(), sentences(3, 5), sentences(3, 4)
    ours = model(source, target, start=torch.tensor([0, 7, 30]))
    for row, start in enumerate((0, 7, 30)):
        x, y = model.source_embedding(source[[row]]), model.target_embedding(target[[row]])
        encoded = model.encoder(x, start=start)
        decoded = model.decoder(y, encoded.states, start=start)
        assert_close(ours.encoder.states[[row]], encoded.states, **EXACT)
        assert_close(ours.logits[[row]], model.logits(decoded.states), **EXACT)


@pytest.mark.parametrize("start", [6, -1, torch.tensor([0, 6])])
def test_positions_beyond_the_limit(start):
    model = UniversalEncoder(**SIZES, max_steps=2, max_length=10)
    with pytest.raises(ValueError, match="posiciones entre 0 y 9"):
        model(torch.zeros(2, 5, 16), start=start)
    with pytest.raises(ValueError, match="posiciones entre 0 y 59"):
        make()(sentences(1, 61), sentences(1, 3))


@pytest.mark.usefixtures("as_user")
def test_one_start_per_row_or_one_for_all():
    model, x = UniversalEncoder(**SIZES, max_steps=2, max_length=10), torch.randn(2, 5, 16)
    with pytest.raises(ValueError, match=r"uno por fila, de forma \(2,\), y llegó la forma \(3,\)"):
        model(x, start=torch.tensor([0, 1, 2]))
    assert_close(model(x, start=torch.tensor(3)).states, model(x, start=3).states)


def test_the_positions_end_where_the_table_ends():
    model, x = UniversalEncoder(**SIZES, max_steps=2, max_length=10), torch.randn(2, 5, 16)
    last = model(x, start=5).states
    assert_close(last, model(x, start=torch.tensor([5, 5])).states)


# Qué ve cada posición


@every_placement
def test_the_future_changes_nothing_not_even_when_to_halt(placement):
    model, source, target = make(placement=placement), sentences(4, 5), sentences(4, 9)
    other = target.clone()
    other[:, 5:] = sentences(4, 4)
    ours, theirs = model(source, target), model(source, other)
    assert len(ours.decoder.n_updates.unique()) > 1
    assert_close(theirs.logits[:, :5], ours.logits[:, :5], **EXACT)
    assert_close(
        theirs.decoder.ponder_cost[:, :5],
        ours.decoder.ponder_cost[:, :5],
        **EXACT,
        msg="la parada de una posición mira a las que siguen",
    )
    x, y = torch.randn(2, 3, 9, 16, dtype=torch.float64)
    y = torch.cat([x[:, :5], y[:, 5:]], 1)
    ours, theirs = model.encoder(x, causal=True), model.encoder(y, causal=True)
    assert_close(theirs.states[:, :5], ours.states[:, :5], **EXACT)
    assert torch.equal(theirs.n_updates[:, :5], ours.n_updates[:, :5])


@every_placement
@pytest.mark.parametrize("adaptive", [True, False])
def test_padding_changes_nothing(placement, adaptive):
    model = make(placement=placement, adaptive=adaptive)
    source, target = sentences(2, 5), sentences(2, 4)
    longer, whole = F.pad(source, (0, 6), value=PAD), F.pad(target, (0, 7), value=PAD)
    ours, theirs = model(source, target), model(longer, whole)
    assert_close(theirs.logits[:, :4], ours.logits, **EXACT)
    assert_close(theirs.encoder.states[:, :5], ours.encoder.states, **EXACT)
    assert_close(theirs.ponder_cost, ours.ponder_cost, **EXACT, msg="el relleno cuenta en el costo")
    assert not theirs.encoder.n_updates[:, 5:].any()
    assert not theirs.encoder.states[:, 5:].any()


def test_an_empty_source_gives_no_nan():
    model = make().train()
    found = model(torch.tensor([[PAD, PAD], [5, 6]]), sentences(2, 3))
    (found.logits.sum() + found.ponder_cost).backward()
    assert found.logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


@every_placement
def test_gathering_equals_masking_with_gradients(placement):
    model = make(placement=placement, max_steps=6)
    source, target = padded(5, 7), sentences(5, 6)
    weights = torch.randn(5, 6, OTHER_VOCAB, dtype=torch.float64)
    results = []
    ways = [fast.gathering(model, gather_below=part) for part in (0.0, 0.7, 2.0)]
    for way in (model, *ways):
        model.zero_grad()
        output = way(source, target)
        ((output.logits * weights).sum() + output.ponder_cost).backward()
        results.append((output, {n: p.grad.clone() for n, p in model.named_parameters()}))
    (expected, gradients), *others = results
    for output, found in others:
        assert_close(output.logits, expected.logits, **EXACT)
        assert_close(output.ponder_cost, expected.ponder_cost, **EXACT)
        for name, gradient in gradients.items():
            assert_close(found[name], gradient, rtol=1e-9, atol=1e-9, msg=name)


# Generar con caché


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**31),
    placement=st.sampled_from(OPTIONS["placement"]),
    norm=st.sampled_from(["layer", "rms"]),
    adaptive=st.booleans(),
    gather_below=st.sampled_from([None, 0.0, 0.7, 2.0]),
    chunks=st.lists(st.integers(1, 5), min_size=1, max_size=5),
)
def test_any_split_into_steps_gives_the_logits_of_the_whole_pass(
    seed, placement, norm, adaptive, gather_below, chunks
):
    torch.manual_seed(seed)
    model = make(placement=placement, norm=norm, adaptive=adaptive)
    if gather_below is not None:
        model = fast.gathering(model, gather_below=gather_below)
    source, target = padded(3, 6), sentences(3, sum(chunks))
    with torch.no_grad():
        state, logits = model.start(source), []
        for chunk in target.split(chunks, 1):
            new, state = model.step(chunk, state)
            logits.append(new)
        assert_close(torch.cat(logits, 1), model(source, target).logits, **EXACT)
    assert state.length == sum(chunks)
    assert [cache.length for cache in state.caches] == [sum(chunks)] * 5


@pytest.mark.parametrize("way", [lambda model: model, fast.gathering], ids=["plain", "fast"])
def test_a_later_position_goes_deeper_than_an_earlier_one(way):
    """En el paso 4 ya no queda nadie de antes: sus claves deben estar en la caché, detenidas."""
    torch.manual_seed(5)
    model, deeper = way(make(max_steps=6)), 0
    source, target = sentences(6, 5), sentences(6, 8)
    with torch.no_grad():
        N = model(source, target).decoder.n_updates
        deeper = (N[:, 1:] > N[:, :-1].cummax(1).values).any(1).sum().item()
        assert deeper > 0, "la prueba no prueba nada: elige otra semilla"
        state, logits = model.start(source), []
        for token in target.split(1, 1):
            new, state = model.step(token, state)
            logits.append(new)
        assert_close(torch.cat(logits, 1), model(source, target).logits, **EXACT)


@torch.no_grad()
def test_the_steps_that_nobody_takes_project_once(monkeypatch):
    """Todas se detienen en el primero; las cachés de los demás guardan su único estado final."""
    model, projected, update = fast.gathering(make(max_steps=6)), [], StepKeys.update
    nn.init.constant_(model.decoder.computation.halting.bias, 50.0)
    nn.init.zeros_(model.decoder.computation.halting.weight)
    state = model.start(sentences(3, 4))
    monkeypatch.setattr(
        StepKeys, "update", lambda *a: (projected.append(a[1].shape[:-1].numel()), update(*a))[1]
    )
    model.step(sentences(3, 2), state)
    assert projected == [6, 6, 0, 0, 0, 0], "un estado que ya no cambia se proyecta otra vez"


@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), choices=st.lists(st.integers(0, 10**6), min_size=1, max_size=9))
def test_any_tree_of_continuations_and_selections(seed, choices):
    torch.manual_seed(seed)
    model, source = make(), padded(2, 4)
    with torch.no_grad():
        states = [(model.start(source), source, torch.zeros(2, 0, dtype=torch.long))]
        for choice in choices:
            state, source, target = states[choice % len(states)]
            if choice % 3 == 0:
                rows = torch.randint(0, len(source), (3,))
                states.append((state.select(rows), source[rows], target[rows]))
                continue
            new = sentences(len(source), 1 + choice % 4)
            logits, state = model.step(new, state)
            target = torch.cat([target, new], 1)
            expected = model(source, target).logits[:, -new.shape[1] :]
            assert_close(logits, expected, **EXACT)
            states.append((state, source, target))


def test_steps_give_the_gradients_of_the_whole_pass():
    model, source, target = make(), padded(2, 4), sentences(2, 5)
    weights = torch.randn(2, 5, OTHER_VOCAB, dtype=torch.float64)
    (model(source, target).logits * weights).sum().backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    state, logits = model.start(source), []
    for token in target.split(1, 1):
        new, state = model.step(token, state)
        logits.append(new)
    (torch.cat(logits, 1) * weights).sum().backward()
    for name, p in model.named_parameters():
        assert_close(p.grad, expected[name], rtol=1e-9, atol=1e-9, msg=name)


def test_decoding_with_and_without_cache():
    model, source = make(), padded(3, 5)
    prompt = torch.full((3, 1), START)
    limits = {"end_id": END, "max_new_tokens": 7}
    slow, whole = without_cache(lambda s, t: model(s, t).logits, source)
    ours = greedy(model.step, prompt, model.start(source), **limits)
    theirs = greedy(slow, prompt, whole, **limits)
    assert torch.equal(ours.token_ids, theirs.token_ids)
    ours = beam(model.step, prompt, model.start(source), beam_size=3, **limits)
    theirs = beam(slow, prompt, whole, beam_size=3, **limits)
    assert [[h.token_ids for h in row] for row in ours] == [
        [h.token_ids for h in row] for row in theirs
    ]
    drawn = sample(model.step, prompt, model.start(source), **limits)
    assert drawn.token_ids.shape[0] == 3


def test_the_state_of_another_batch_or_another_model_is_refused():
    model = make()
    with pytest.raises(ValueError, match="se esperaban las 2 filas de state"):
        model.step(sentences(3, 1), model.start(sentences(2, 4)))
    with pytest.raises(ValueError, match="de 5 pasos, como este, y llegó la de uno de 6"):
        model.step(sentences(2, 1), make(max_steps=6).start(sentences(2, 4)))


# Cuánto delibera


def test_the_ponder_cost_is_the_mean_of_the_real_positions():
    model = make()
    source = torch.tensor([[5, 6, 7, 8], [5, 6, 7, PAD]])
    target = torch.tensor([[START, 4, 5], [START, 6, PAD]])
    found = model(source, target)
    costs = [
        *found.encoder.ponder_cost[source != PAD].tolist(),
        *found.decoder.ponder_cost[target != PAD].tolist(),
    ]
    assert len(costs) == 7 + 5  # distintas, para que la media de las medias no sea lo mismo
    assert found.ponder_cost.item() == pytest.approx(sum(costs) / 12)
    assert model(source * PAD, target * PAD).ponder_cost == 0, "nada que promediar no es NaN"


def ponder_loss(model, source, target, weight):
    """La pérdida de la tarea, más lo que vale cada paso."""
    output = model(source, target[:, :-1])
    task = cross_entropy(output.logits, target[:, 1:], ignore_id=PAD)
    return task + weight * output.ponder_cost


def test_the_cost_teaches_to_ponder_less():
    """El costo llega con gradiente a las dos unidades de parada; sin él, no habría qué aprender."""
    model, source, target = make(max_steps=8), padded(4, 5), sentences(4, 6)
    before = model(source, target[:, :-1])
    for half, output in ((model.encoder, before.encoder), (model.decoder, before.decoder)):
        cost, bias = output.ponder_cost.sum(), half.computation.halting.bias
        (gradient,) = torch.autograd.grad(cost, bias, retain_graph=True)
        assert gradient.item() < 0, "con más p, menos costo: ¿se perdió el gradiente?"
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(15):
        optimizer.zero_grad()
        ponder_loss(model, source, target, 50.0).backward()
        optimizer.step()
    assert model(source, target[:, :-1]).ponder_cost < before.ponder_cost - 0.3


def test_it_learns_to_copy():
    model = make(target_vocab=None, dropout=0.0).float().train()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    source = sentences(16, 4)
    edges = [torch.full((16, 1), i) for i in (START, END)]
    target = torch.cat([edges[0], source, edges[1]], 1)
    values = []
    for _ in range(60):
        optimizer.zero_grad()
        value = ponder_loss(model, source, target, 0.01)
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values[-1] < 0.3 * values[0]
    inputs, _ = shift_right(target)
    assert isinstance(model(source, inputs), UniversalOutput)
    assert isinstance(model.encode(source), AdaptiveOutput)


# Configuración


def test_every_setting_reaches_both_halves():
    options = {"dropout": 0.25, "activation": "gelu", "placement": "sandwich", "norm": "rms"}
    options |= {"final_norm": False, "epsilon": 0.2, "max_steps": 7, "max_length": 33, "pad_id": 3}
    model = make(**options)
    for half in (model.encoder, model.decoder):
        last = half.block.residual_feed_forward
        assert (last.dropout.p, last.placement) == (0.25, "sandwich")
        assert isinstance(last.norm, RMSNorm) and isinstance(half.norm, nn.Identity)
        assert half.block.feed_forward.activation == "gelu"
        assert (half.computation.epsilon, half.computation.max_steps) == (0.2, 7)
        assert len(half.positions) == half.max_length == 33 and len(half.steps) == 7
    for embedding in (model.source_embedding, model.target_embedding):
        found = (embedding.dropout.p, embedding.pad_id, embedding.max_length, embedding.positions)
        assert found == (0.25, 3, 33, None), "las posiciones se suman antes de cada paso"


def test_another_attention_is_refused():
    """Entre posiciones sueltas, la relativa contaría mal las distancias."""
    attention = RelativeAttention(16, 2)
    with pytest.raises(ValueError, match=r"attention: .* llegó una RelativeAttention"):
        UniversalEncoder(**SIZES, max_steps=2, max_length=9, attention=attention)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_steps": 0}, "max_steps: se esperaba un entero positivo"),
        ({"placement": "middle"}, "placement: se esperaba uno de"),
        ({"norm": "batch"}, "norm: se esperaba uno de"),
        ({"activation": "tanh"}, "activation: se esperaba uno de"),
        ({"d_model": 10, "num_heads": 3}, "divisible entre num_heads"),
        ({"dropout": 1.0}, "dropout: se esperaba"),
        ({"epsilon": 0.0}, "epsilon: se esperaba"),
        ({"pad_id": 1}, "pad_id, start_id y end_id deben ser distintos"),
        ({"end_id": 99}, "caber en el vocabulario"),
    ],
)
def test_bad_configurations_are_explained(as_user, changes, message):
    with pytest.raises(ValueError, match=message):
        UniversalTransformer(UniversalTransformerConfig(VOCAB, **changes))
