"""Transformer-XL: los segmentos con memoria son la secuencia entera, sin gradiente hacia atrás."""

from collections import Counter
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.decoding import beam, greedy
from course_lib.fast.frozen_memory import frozen
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
CONFIG = TransformerXLConfig(
    vocab_size=20,
    d_model=16,
    num_heads=2,
    num_layers=3,
    d_ff=24,
    memory_length=64,
    dropout=0.0,
    inner_dropout=0.0,
)
VARIANTS = {
    "el artículo": {},
    "norma delante": {"placement": "pre"},
    "sándwich": {"placement": "sandwich"},
    "tope": {"clamp_length": 3},
    "sin términos globales": {"global_terms": False},
    "u y v compartidos": {"tie_biases": True},
    "salida adaptativa": {"cutoffs": (5, 12), "div_val": 2},
}
both = pytest.mark.parametrize("as_read", [lambda xl: xl, frozen], ids=["plain", "fast"])
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def model(**changes):
    """Un modelo en float64 con todos sus parámetros al azar."""
    xl = TransformerXL(replace(CONFIG, **changes)).double().eval()
    for parameter in xl.parameters():
        nn.init.normal_(parameter, std=0.4)
    return xl


def tokens(t, batch=2):
    return torch.randint(20, (batch, t))


def by_segments(xl, token_ids, cuts, memory=None):
    outputs = []
    for segment in token_ids.split(cuts, dim=1):
        logits, memory = xl(segment, memory)
        outputs.append(logits)
    return torch.cat(outputs, dim=1), memory


# La memoria


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=12)
@given(cuts=CUTS)
@torch.no_grad()
def test_segments_with_enough_memory_equal_one_pass(variant, cuts):
    xl, token_ids = model(**VARIANTS[variant]), tokens(sum(cuts))
    whole, _ = xl(token_ids)
    assert_close(by_segments(xl, token_ids, cuts)[0], whole, **EXACT)
    found = by_segments(frozen(xl), token_ids, cuts)[0]
    assert_close(found, whole, **EXACT, msg="la memoria congelada no da lo mismo")


@pytest.mark.parametrize("same_length", [False, True])
@settings(max_examples=20)
@given(cuts=CUTS, limit=st.integers(1, 8))
@torch.no_grad()
def test_both_memories_agree_when_they_forget(cuts, limit, same_length):
    xl, token_ids = model(same_length=same_length), tokens(sum(cuts))
    expected, memory = by_segments(xl, token_ids, cuts, xl.start(limit))
    fast = frozen(xl)
    logits, kept = by_segments(fast, token_ids, cuts, fast.start(limit))
    assert_close(logits, expected, **EXACT)
    assert memory.length == kept.length == min(limit, sum(cuts))


@settings(max_examples=12)
@given(cuts=CUTS, limit=st.integers(1, 6))
@torch.no_grad()
def test_with_the_same_length_the_cuts_do_not_matter(cuts, limit):
    """Cada posición ve las `limit` últimas, ella incluida, esté donde esté en su segmento."""
    xl, token_ids = model(same_length=True), tokens(sum(cuts))
    one_by_one, _ = by_segments(xl, token_ids, 1, xl.start(limit))
    assert_close(by_segments(xl, token_ids, cuts, xl.start(limit))[0], one_by_one, **EXACT)


@torch.no_grad()
def test_the_memory_holds_the_last_inputs_of_each_block():
    xl, token_ids = model(memory_length=5), tokens(8)
    _, memory = by_segments(xl, token_ids, [4, 4])
    assert [state.shape for state in memory.states] == [(2, 5, 16)] * 3
    assert_close(memory.states[0], xl.embedding(token_ids)[:, -5:], **EXACT)


@torch.no_grad()
def test_the_memory_is_used():
    xl, token_ids = model(), tokens(6)
    _, memory = xl(tokens(6))
    difference = xl(token_ids, memory)[0] - xl(token_ids)[0]
    assert difference.abs().max() > 1e-3, "el segundo segmento no mira la memoria"


@torch.no_grad()
def test_without_memory_nothing_passes():
    xl, token_ids = model(memory_length=0), tokens(6)
    _, memory = xl(tokens(6))
    assert memory.length == 0
    assert_close(xl(token_ids, memory)[0], xl(token_ids)[0], **EXACT)
    _, memory = frozen(xl)(tokens(6))
    assert_close(frozen(xl)(token_ids, memory)[0], xl(token_ids)[0], **EXACT)


def test_the_weights_of_attention():
    xl = model(memory_length=4)
    _, memory = xl(tokens(6))
    with attention_maps(xl) as weights:
        xl(tokens(3), memory)
    assert [A.shape for A in weights] == [(2, 2, 3, 7)] * 3
    for A in weights:
        assert_close(A.sum(-1), torch.ones_like(A[..., 0]), **EXACT)


@torch.no_grad()
def test_the_weights_with_the_same_length():
    xl, token_ids = model(memory_length=4, same_length=True), tokens(3)
    _, memory = xl(tokens(6))
    with attention_maps(xl) as weights:
        logits, _ = xl(token_ids, memory)
    assert_close(logits, xl(token_ids, memory)[0], **EXACT)
    distance = torch.arange(4, 7)[:, None] - torch.arange(7)
    visible = (distance >= 0) & (distance < 4)
    for A in weights:
        assert ((A > 0) == visible).all(), "cada posición ve las cuatro últimas, ella incluida"


# El gradiente


def test_no_gradient_flows_into_the_memory():
    """Se mira con un tensor puesto en la memoria y con la memoria que da el modelo."""
    xl = model()
    _, memory = xl(tokens(6))
    assert not any(state.requires_grad for state in memory.states), "falta detach al guardar"
    states = tuple(state.clone().requires_grad_() for state in memory.states)
    logits, _ = xl(tokens(4), replace(memory, states=states))
    logits.sum().backward()
    assert all(state.grad is None for state in states), "falta detach al leer"


def test_the_gradient_of_a_segment_is_that_of_its_memory_as_data():
    """Los parámetros reciben lo mismo que si la memoria fuese un dato, y no más."""
    xl, past, token_ids = model(), tokens(5), tokens(5)
    _, memory = xl(past)
    (loss(xl, token_ids, memory)).backward()
    grads = [parameter.grad.clone() for parameter in xl.parameters()]
    with torch.no_grad():
        _, as_data = xl(past)
    expected = torch.autograd.grad(loss(xl, token_ids, as_data), list(xl.parameters()))
    assert_close(grads, list(expected), **EXACT)


def loss(xl, token_ids, memory):
    return F.cross_entropy(xl(token_ids, memory)[0].mT, token_ids)


def test_frozen_memory_with_gradients_is_refused(as_user):
    xl = model()
    with pytest.raises(ValueError, match="frozen: no transmite gradientes"):
        frozen(xl)(tokens(3))


# Lo que la memoria congelada no repite


@torch.no_grad()
def test_frozen_memory_projects_each_position_and_distance_once(monkeypatch):
    xl, projected, distances = frozen(model(memory_length=8)), [], []
    attention = xl.blocks[1].attention
    project, W_r = attention.project, attention.W_r.forward
    monkeypatch.setattr(
        attention, "project", lambda *X: (projected.append(X[1].shape[1]), project(*X))[1]
    )
    monkeypatch.setattr(attention.W_r, "forward", lambda r: (distances.append(len(r)), W_r(r))[1])
    by_segments(xl, tokens(40), 4)
    assert projected == [4] * 10, "la memoria se proyecta otra vez"
    assert len(distances) <= 2, "las distancias se proyectan otra vez"
    assert max(distances) == 8 + 4 + 1, "se proyectan distancias que nadie verá"


@torch.no_grad()
def test_frozen_memory_stays_small():
    """La memoria reservada no crece con lo leído: se aprovecha el sitio de lo olvidado."""
    xl = frozen(model(memory_length=8))
    memory, sizes = xl.start(), []
    for segment in tokens(400).split(4, dim=1):
        _, memory = xl(segment, memory)
        sizes.append(memory.caches[0].storage.tensor.shape[-2])
    assert max(sizes) <= 64, f"creció hasta {max(sizes)} posiciones"


# Estado


@both
@torch.no_grad()
def test_rows_of_the_memory_can_be_chosen_and_repeated(as_read):
    xl, rows = as_read(model(memory_length=5)), torch.tensor([2, 0, 0])
    past, token_ids = tokens(9, batch=3), tokens(4, batch=3)
    _, memory = by_segments(xl, past, 3)
    _, expected = by_segments(xl, past[rows], 3)
    chosen = memory.select(rows)
    assert_close(xl(token_ids, chosen)[0], xl(token_ids, expected)[0], **EXACT)
    assert xl.start().select(rows).length == 0


@both
@torch.no_grad()
def test_a_memory_can_be_continued_twice(as_read):
    xl, past, token_ids = as_read(model(memory_length=6)), tokens(5), tokens(4)
    _, memory = xl(past)
    first, _ = xl(token_ids, memory)
    xl(tokens(4), memory)
    assert_close(xl(token_ids, memory)[0], first, **EXACT)


@torch.no_grad()
def test_it_writes_the_same_with_either_memory():
    xl, prompt = model(memory_length=6), tokens(4)
    options = {"end_id": 0, "max_new_tokens": 9}
    expected = greedy(xl.step, prompt, **options)
    written = greedy(frozen(xl).step, prompt, **options)
    assert torch.equal(written.token_ids, expected.token_ids)
    plain, fast = (beam(each.step, prompt, beam_size=3, **options) for each in (xl, frozen(xl)))
    assert [[h.token_ids for h in row] for row in plain] == [
        [h.token_ids for h in row] for row in fast
    ]


def test_the_loss_without_the_whole_vocabulary():
    xl, token_ids, targets = model(cutoffs=(5, 12), div_val=2), tokens(6), tokens(6)
    _, memory = xl(past := tokens(5))
    nll, after = xl.nll(token_ids, targets, memory)
    with torch.no_grad():
        _, projected = frozen(xl)(past)
        assert_close(frozen(xl).nll(token_ids, targets, projected)[0], nll, **EXACT)
    logits, expected = xl(token_ids, memory)
    assert_close(nll, F.cross_entropy(logits.mT, targets, reduction="none"), **EXACT)
    assert_close(after.states, expected.states, **EXACT)


# Tamaños


@pytest.mark.parametrize(
    "config, count",
    [
        (TransformerXLConfig.enwik8_12(), 41_055_436),
        (TransformerXLConfig.enwik8_24(), 277_231_820),
        (TransformerXLConfig.wikitext103(), 151_107_538),
    ],
    ids=["enwik8, 12 capas", "enwik8, 24 capas", "WikiText-103"],
)
def test_as_many_parameters_as_the_authors(config, count):
    with torch.device("meta"):
        xl = TransformerXL(config)
    assert sum(parameter.numel() for parameter in xl.parameters()) == count


def test_the_memory_and_dropout_of_the_authors():
    small, large = TransformerXLConfig.enwik8_12(), TransformerXLConfig.enwik8_24()
    words = TransformerXLConfig.wikitext103()
    assert [config.memory_length for config in (small, large, words)] == [512, 768, 150]
    for config, dropout, attention in ((small, 0.1, 0.0), (large, 0.15, 0.15), (words, 0.1, 0.0)):
        found = (config.dropout, config.inner_dropout, config.attention_dropout)
        assert found == (dropout, dropout, attention)
        assert config.tie_biases and not config.same_length
    assert TransformerXLConfig.enwik8_24(memory_length=9).memory_length == 9


def test_every_setting_reaches_every_block():
    dropouts = {"dropout": 0.1, "inner_dropout": 0.2, "attention_dropout": 0.3}
    options = {"clamp_length": 7, "global_terms": False, "placement": "sandwich", "eps": 1e-3}
    xl = model(**dropouts, **options)
    for block in xl.blocks:
        attention, hidden = block.attention, block.feed_forward.dropout.p
        assert (attention.clamp_length, attention.u, attention.v) == (7, None, None)
        assert (attention.mix.dropout, hidden) == (0.3, 0.2)
        for residual in (block.residual_attention, block.residual_feed_forward):
            assert (residual.placement, residual.dropout.p) == ("sandwich", 0.1)
            assert residual.norm.eps == residual.outer_norm.eps == 1e-3
    assert xl.norm.eps == 1e-3 and xl.dropout.p == 0.1
    tied = model(tie_biases=True).blocks
    assert all(b.attention.u is tied[0].attention.u for b in tied)
    assert all(b.attention.v is tied[0].attention.v for b in tied)


@pytest.mark.parametrize("placement, default", [("post", False), ("pre", True), ("sandwich", True)])
@torch.no_grad()
def test_the_last_norm_is_there_when_the_placement_asks_for_it(placement, default):
    for final_norm in (None, True, False):
        xl = model(placement=placement, final_norm=final_norm)
        wanted = default if final_norm is None else final_norm
        assert isinstance(xl.norm, nn.LayerNorm) == wanted
        seen = []
        xl.output.register_forward_pre_hook(lambda _, inputs, seen=seen: seen.append(inputs[0]))
        xl(tokens(3))
        if wanted:
            h = (seen[0] - xl.norm.bias) / xl.norm.weight
            assert_close(h.mean(-1), torch.zeros(2, 3).double(), **EXACT)


def test_every_parameter_learns():
    for changes in VARIANTS.values():
        xl = model(**changes)
        _, memory = xl(tokens(30))
        loss(xl, tokens(30), memory).backward()
        still = [name for name, p in xl.named_parameters() if p.grad is None or not p.grad.any()]
        assert not still, f"{changes}: sin gradiente, {still}"


def test_dropout_where_the_authors_have_it(monkeypatch):
    """Incrustación, salida de las dos subcapas y del modelo; capa oculta; pesos de atención."""
    used, dropout = Counter(), F.dropout

    def spy(x, p=0.5, training=True, inplace=False):
        used.update([p] if training and p else [])
        return dropout(x, p, training, inplace)

    monkeypatch.setattr(F, "dropout", spy)
    xl = model(dropout=0.1, inner_dropout=0.2, attention_dropout=0.3)
    xl(tokens(4))
    assert not used, "en evaluación no hay"
    xl.train()(tokens(4))
    assert used == {0.1: 1 + 2 * 3 + 1, 0.2: 3}  # el de los pesos, dentro del núcleo


# Errores


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"num_heads": 3}, "divisible entre num_heads"),
        ({"memory_length": -1}, "memory_length: se esperaba 0 o más"),
        ({"memory_length": 0, "same_length": True}, "memory_length: se esperaba 0 o más"),
        ({"placement": "after"}, "placement: se esperaba uno de"),
        ({"dropout": 1.0}, "dropout: se esperaba una probabilidad"),
        ({"inner_dropout": -0.1}, "dropout: se esperaba una probabilidad"),
        ({"attention_dropout": 1.0}, "dropout: se esperaba una probabilidad"),
        ({"d_ff": 0}, "d_ff: se esperaba un entero positivo"),
        ({"div_val": 0}, "div_val: se esperaba un entero positivo"),
        ({"num_layers": 0}, "num_layers: se esperaba un entero positivo"),
        ({"cutoffs": (20,)}, "cutoffs: se esperaban cortes crecientes"),
        ({"clamp_length": 0}, "clamp_length: se esperaba un entero positivo"),
    ],
)
def test_bad_configurations(as_user, changes, message):
    with pytest.raises(ValueError, match=message):
        TransformerXL(replace(CONFIG, **changes))


@both
@torch.no_grad()
def test_another_batch_is_refused(as_user, as_read):
    xl = as_read(model())
    _, memory = xl(tokens(3))
    with pytest.raises(ValueError, match="Elige sus filas con select"):
        xl(tokens(3, batch=1), memory)


@both
@torch.no_grad()
def test_the_memory_of_another_model_is_refused(as_user, as_read):
    small, xl = as_read(model(num_layers=2)), as_read(model())
    _, memory = small(tokens(3))
    with pytest.raises(ValueError, match="un modelo de 3 bloques, como este, y llegó la de uno de"):
        xl(tokens(3), memory)


def test_the_memory_of_another_width_is_refused(as_user):
    _, memory = model(d_model=32)(tokens(3))
    with pytest.raises(ValueError, match="2 filas de ancho 16, como el segmento"):
        model()(tokens(3), memory)


def test_bad_lengths_of_memory(as_user):
    xl = model()
    for create in (xl.start, frozen(xl).start):
        with pytest.raises(ValueError, match="memory_length: se esperaba"):
            create(-1)
