"""El Transformer entero: recuentos, máscaras, generación con caché y lo que aprende."""

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from course_lib import fast
from course_lib.layers.arguments import OPTIONS
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
VOCAB, OTHER_VOCAB, PAD, START, END = 30, 40, 0, 1, 2
every_placement = pytest.mark.parametrize("placement", OPTIONS["placement"])


def make(**changes):
    sizes = {"d_model": 16, "num_heads": 2, "num_layers": 2, "d_ff": 24, "max_length": 600}
    model = Transformer(TransformerConfig(VOCAB, **{"target_vocab": OTHER_VOCAB} | sizes | changes))
    return model.double().eval()


def sentences(batch, t, vocab=VOCAB):
    return torch.randint(END + 1, vocab, (batch, t))


def padded_sources(batch, t):
    """Oraciones de largos distintos; alguna vez, una vacía."""
    ids = sentences(batch, t)
    lengths = torch.randint(0, t + 1, (batch, 1))
    return ids.masked_fill(torch.arange(t) >= lengths, PAD)


# Recuentos


@pytest.mark.parametrize(
    ("config", "count"),
    [
        (TransformerConfig.base(), 63_082_496),
        (TransformerConfig.base(final_norm=True), 63_084_544),  # con las normas finales de torch
        (TransformerConfig.big(), 214_245_376),
        (TransformerConfig.big(final_norm=True), 214_249_472),
        (TransformerConfig.base(37_000, target_vocab=37_000), 63_082_496 + 37_000 * 512),
    ],
)
def test_parameters_of_the_paper(config, count):
    with torch.device("meta"):
        model = Transformer(config)
    assert sum(p.numel() for p in model.parameters()) == count


def test_the_sizes_of_the_paper():
    base, big = TransformerConfig.base(), TransformerConfig.big()
    assert (base.d_model, base.num_heads, base.d_ff, base.dropout) == (512, 8, 2048, 0.1)
    assert (big.d_model, big.num_heads, big.d_ff, big.dropout) == (1024, 16, 4096, 0.3)
    assert base.num_layers == big.num_layers == 6
    assert TransformerConfig.big(500, dropout=0.1).dropout == 0.1


def test_one_vocabulary_is_one_table():
    shared, separate = make(target_vocab=None), make()
    assert shared.source_embedding is shared.target_embedding
    assert separate.source_embedding is not separate.target_embedding
    tables = [name for name, _ in shared.named_parameters() if "table" in name]
    assert len(tables) == 1
    assert shared(sentences(1, 2), sentences(1, 3)).shape == (1, 3, VOCAB)
    assert separate(sentences(1, 2), sentences(1, 3)).shape == (1, 3, OTHER_VOCAB)


# Qué ve cada posición


@every_placement
def test_the_future_changes_nothing(placement):
    model, source, target = make(placement=placement), sentences(2, 5), sentences(2, 7)
    other = target.clone()
    other[:, 4:] = sentences(2, 3)
    assert_close(model(source, other)[:, :4], model(source, target)[:, :4], **EXACT)


@every_placement
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", None])
def test_padding_changes_nothing(placement, positions):
    model = make(placement=placement, positions=positions)
    source, target = sentences(2, 5), sentences(2, 4)
    longer, whole = F.pad(source, (0, 3), value=PAD), F.pad(target, (0, 2), value=PAD)
    assert_close(model(longer, whole)[:, :4], model(source, target), **EXACT)
    assert_close(model.encode(longer)[:, :5], model.encode(source), **EXACT)


def test_word_order_matters_only_with_positions():
    source, target = sentences(1, 6), sentences(1, 3)
    for positions, same in (("sinusoidal", False), ("learned", False), (None, True)):
        model = make(positions=positions)
        logits = model(source, target), model(source.flip(1), target)
        assert torch.allclose(*logits, atol=1e-10) == same, positions


def test_an_empty_source_gives_no_nan():
    model = make().train()
    source = torch.tensor([[PAD, PAD], [5, 6]])
    logits = model(source, sentences(2, 3))
    logits.sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_weights_of_every_layer():
    model, source, target = make(), padded_sources(3, 5), sentences(3, 4)
    with attention_maps(model) as A:
        logits = model(source, target)
    assert torch.equal(logits, model(source, target))
    encoder, decoder = [(3, 2, 5, 5)] * 2, [(3, 2, 4, 4), (3, 2, 4, 5)] * 2
    assert [tuple(each.shape) for each in A] == encoder + decoder
    hidden = (source == PAD)[:, None, None].expand_as(A[-1])
    assert (A[-1][hidden] == 0).all()


# Generar con caché


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**31),
    placement=st.sampled_from(OPTIONS["placement"]),
    norm=st.sampled_from(["layer", "rms"]),
    positions=st.sampled_from(["sinusoidal", "learned", None]),
    chunks=st.lists(st.integers(1, 5), min_size=1, max_size=6),
)
def test_any_split_into_steps_gives_the_logits_of_the_whole_pass(
    seed, placement, norm, positions, chunks
):
    torch.manual_seed(seed)
    model = make(placement=placement, norm=norm, positions=positions)
    writer = fast.writer(model)
    source, target = padded_sources(3, 6), sentences(3, sum(chunks))
    with torch.no_grad():
        for each in (model, writer):
            state, logits = each.start(source), []
            for chunk in target.split(chunks, 1):
                new, state = each.step(chunk, state)
                logits.append(new)
            assert_close(torch.cat(logits, 1), model(source, target), **EXACT)
    assert state.length == sum(chunks)


@pytest.mark.parametrize("make_writer", [lambda model: model, fast.writer], ids=["plain", "fast"])
@settings(max_examples=20)
@given(seed=st.integers(0, 2**31), choices=st.lists(st.integers(0, 10**6), min_size=1, max_size=12))
def test_any_tree_of_continuations_and_selections(seed, choices, make_writer):
    """De cualquier estado ya visto se sigue, con filas elegidas o sin ellas, y nada se mezcla."""
    torch.manual_seed(seed)
    model, source = make_writer(make()), padded_sources(2, 4)
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
            expected = model(source, target)[:, -new.shape[1] :]
            assert_close(logits, expected, **EXACT)
            states.append((state, source, target))


@pytest.mark.parametrize("make_writer", [lambda model: model, fast.writer], ids=["plain", "fast"])
def test_steps_give_the_gradients_of_the_whole_pass(make_writer):
    model, source, target = make_writer(make()), padded_sources(2, 4), sentences(2, 5)
    weights = torch.randn(2, 5, OTHER_VOCAB, dtype=torch.float64)
    (model(source, target) * weights).sum().backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    state, logits = model.start(source), []
    for token in target.split(1, 1):
        new, state = model.step(token, state)
        logits.append(new)
    (torch.cat(logits, 1) * weights).sum().backward()
    for name, p in model.named_parameters():
        assert_close(p.grad, expected[name], **EXACT)


class Written(TorchDispatchMode):
    """Cuenta los números que escriben las operaciones (las vistas no escriben ninguno)."""

    numbers = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        output = function(*arguments, **(options or {}))
        if not function.is_view and "empty" not in function.name():
            for X in output if isinstance(output, tuple | list) else [output]:
                self.numbers += X.numel() if isinstance(X, torch.Tensor) else 0
        return output


def written_by(work):
    with Written() as written:
        work()
    return written.numbers


def flops_of(work):
    """Operaciones en coma flotante, también las de la atención (que el núcleo fusionado calla)."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        work()
    return counter.get_total_flops()


def step_after(model, *, source, written):
    """Un paso listo para dar, con esos largos del origen y de lo ya escrito."""
    state = model.start(sentences(1, source))
    _, state = model.step(sentences(1, written), state)
    token = sentences(1, 1)
    return lambda: model.step(token, state)


@torch.no_grad()
def test_a_step_costs_the_same_however_long_the_text_except_attention():
    """Por posición y bloque, los dos productos de la atención; nada más crece, ni se copia."""
    model = fast.writer(make())
    per_position = model.config.num_layers * 2 * 2 * model.config.d_model
    few, many = (flops_of(step_after(model, source=7, written=n)) for n in (50, 500))
    assert many - few == 450 * per_position
    little, much = (written_by(step_after(model, source=7, written=n)) for n in (50, 500))
    assert much == little


@torch.no_grad()
def test_the_source_is_projected_once():
    """Un paso no depende del largo del origen más que por los productos con sus claves."""
    model = fast.writer(make())
    per_position = model.config.num_layers * 2 * 2 * model.config.d_model
    short, long = (flops_of(step_after(model, source=t, written=1)) for t in (10, 100))
    assert long - short == 90 * per_position


# Inicialización y entrenamiento


@every_placement
@pytest.mark.parametrize("target_vocab", [None, 2000])
def test_it_starts_knowing_nothing(placement, target_vocab):
    """Al comenzar la pérdida es la de un reparto casi uniforme: ni ceguera ni convicción."""
    config = TransformerConfig(
        2000, target_vocab, d_model=64, num_heads=4, num_layers=3, d_ff=128, placement=placement
    )
    model = Transformer(config).eval()
    source, target, answer = (sentences(8, 20, 2000) for _ in range(3))
    with torch.no_grad():
        logits = model(source, target)
    loss = F.cross_entropy(logits.flatten(0, 1), answer.flatten())
    assert math.log(2000) - 0.1 < loss < math.log(2000) + 1.0


@every_placement
def test_it_learns_to_reverse(placement):
    """Invertir secuencias pide mirar cada vez al lugar justo del origen."""
    config = TransformerConfig(
        10, d_model=32, num_heads=4, num_layers=1, d_ff=64, dropout=0.0, placement=placement
    )
    model = Transformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(250):
        source = sentences(32, 4, 10)
        target = torch.cat([torch.full((32, 1), START), source.flip(1)], 1)
        logits = model(source, target[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.2


def test_dropout_only_while_training():
    model, source, target = make(dropout=0.3), sentences(1, 4), sentences(1, 4)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.equal(model(source, target), model(source, target))


def test_weights_travel_in_a_state_dict():
    model, other = make(), make()
    source, target = sentences(1, 4), sentences(1, 3)
    other.load_state_dict(copy.deepcopy(model.state_dict()))
    assert torch.equal(other(source, target), model(source, target))


# Errores


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"placement": "both"}, "placement: .*'sandwich' y llegó 'both'"),
        ({"norm": "batch"}, "norm: .*'rms' y llegó 'batch'"),
        ({"activation": "tanh"}, "activation: .*'gelu' y llegó 'tanh'"),
        ({"positions": "rotary"}, "positions: .*'rotary'"),
        ({"num_layers": 0}, "num_layers: se esperaba un entero positivo y llegó 0"),
        ({"d_model": 10, "num_heads": 4}, "divisible.*d_model = 10, num_heads = 4"),
        ({"d_model": 9, "num_heads": 3}, "par y positivo y llegó 9"),
        ({"dropout": 1.0}, r"dropout: .*\[0, 1\) y llegó 1.0"),
        ({"end_id": 1}, "distintos"),
        ({"pad_id": 40}, "caber en el vocabulario"),
        ({"target_vocab": 100, "pad_id": 50}, "no cabe en source_vocab"),
    ],
)
def test_bad_configurations_are_explained(as_user, changes, message):
    with pytest.raises(ValueError, match=message):
        Transformer(TransformerConfig(VOCAB, **changes))


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ([[VOCAB]], [[1]], "entre 0 y 29 y llegaron entre 30 y 30"),
        ([[1]], [[OTHER_VOCAB]], "entre 0 y 39 y llegaron entre 40 y 40"),
        ([[1]], [[1.0]], "enteros"),
        ([[1] * 601], [[1]], "max_length mayor"),
        ([[1]], [[1], [1]], r"el mismo lote.*source \(1, 1\) y target \(2, 1\)"),
        ([1], [1], r"token_ids: se esperaba la forma \[batch, t\]"),
    ],
)
def test_bad_inputs_are_explained(as_user, source, target, message):
    with pytest.raises(ValueError, match=message):
        make()(torch.tensor(source), torch.tensor(target))


def test_a_step_past_the_limit_or_with_another_batch_is_explained(as_user):
    model = make(max_length=4)
    _, state = model.step(sentences(2, 3), model.start(sentences(2, 4)))
    with pytest.raises(ValueError, match="max_length mayor"):
        model.step(sentences(2, 2), state)
    with pytest.raises(ValueError, match=r"token_ids: .*2 filas.*llegó la forma \(3, 1\)"):
        model.step(sentences(3, 1), state)
    for deeper in (make(num_layers=3), fast.writer(make(num_layers=3))):
        with pytest.raises(ValueError, match="de 3 bloques, como este, y llegó la de uno de 2"):
            deeper.step(sentences(2, 1), fast.writer(model).start(sentences(2, 4)))


# GPU


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no hay GPU")
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-4), (torch.bfloat16, 6e-2)]
)
@every_placement
def test_the_gpu_gives_what_the_cpu_gives(placement, dtype, tolerance):
    model, source, target = make(placement=placement), padded_sources(4, 9), sentences(4, 7)
    expected = model(source, target)
    (expected.square().mean()).backward()
    wanted = {name: p.grad for name, p in model.named_parameters()}
    on_gpu = copy.deepcopy(model).to("cuda", dtype)
    on_gpu.zero_grad()
    logits = on_gpu(source.cuda(), target.cuda())
    logits.square().mean().backward()
    assert (logits.cpu().double() - expected).abs().max() < tolerance * expected.abs().max()
    for name, p in on_gpu.named_parameters():
        # Con la norma: al redondear a 16 bits, alguna unidad de la ReLU se enciende o se apaga.
        scale = wanted[name].norm().clamp(min=1e-3)
        assert (p.grad.cpu().double() - wanted[name]).norm() < 4 * tolerance * scale, name
    with torch.no_grad():
        state, steps = on_gpu.start(source.cuda()), []
        for token in target.cuda().split(1, 1):
            new, state = on_gpu.step(token, state)
            steps.append(new)
    difference = (torch.cat(steps, 1) - logits).abs().max()
    assert difference < tolerance * expected.abs().max()


def test_start_moves_every_position_and_nothing_else():
    """Con las codificaciones corridas a mano, el mismo resultado."""
    model = make()
    source, target = sentences(2, 5), sentences(2, 4, OTHER_VOCAB)
    moved = copy.deepcopy(model)
    for embedding in (moved.source_embedding, moved.target_embedding):
        embedding.position_table = embedding.position_table.roll(-7, 0)
    assert_close(model(source, target, start=7), moved(source, target), **EXACT)
    assert not torch.allclose(model(source, target, start=7), model(source, target))
    each = model(source, target, start=torch.tensor([0, 7]))
    assert_close(each, torch.cat((model(source, target)[:1], moved(source, target)[1:])), **EXACT)
