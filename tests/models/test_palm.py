"""PaLM: lo que cuesta, cómo empieza, y una caché que da lo mismo que leerlo todo."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib import fast
from course_lib.decoding import left_pad
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
CONFIG = PaLMConfig(vocab_size=20, d_model=16, num_heads=4, num_layers=2, d_ff=24, max_length=64)
VARIANTS = {
    "el artículo": {},
    "en serie": {"parallel": False},
    "multicabeza": {"num_kv_heads": 4},
    "por grupos": {"num_kv_heads": 2, "d_head": 6},
    "la otra disposición": {"layout": "interleaved"},
    "senos sumados": {"positions": "sinusoidal"},
    "posiciones aprendidas": {"positions": "learned"},
    "sin posiciones": {"positions": None},
    "otra salida": {"tied": False},
    "media cuadrática": {"norm": "rms"},
}
variants = pytest.mark.parametrize("variant", VARIANTS)


def model(**changes):
    return PaLM(replace(CONFIG, **changes)).double().eval()


def tokens(t, batch=2):
    return torch.randint(20, (batch, t))


# Los tamaños publicados


@pytest.mark.parametrize(
    ("name", "published", "layers", "d_model"),
    [
        ("palm_8b", 8_631_877_632, 32, 4096),
        ("palm_62b", 62_495_129_600, 64, 8192),
        ("palm_540b", 540_354_281_472, 118, 18_432),
    ],
)
def test_the_published_sizes(name, published, layers, d_model):
    with torch.device("meta"):
        palm = PaLM(getattr(PaLMConfig, name)())
    assert palm.num_parameters(norm_scales=False) == published
    assert palm.num_parameters() == published + (layers + 1) * d_model
    assert not [name for name, _ in palm.named_parameters() if "bias" in name]


def test_a_published_size_can_be_changed():
    config = PaLMConfig.palm_8b(vocab_size=100, num_layers=2)
    assert (config.vocab_size, config.num_layers, config.d_head) == (100, 2, 256)


# El comienzo


def test_the_first_weights_are_those_of_the_paper():
    palm = PaLM(PaLMConfig(2000, d_model=128, num_heads=4, num_layers=1, d_head=64))
    (block,) = palm.blocks
    expected = {
        palm.embedding.table: 1.0,
        block.attention.W_qkv: 1 / math.sqrt(128),
        block.attention.W_h: 1 / math.sqrt(4 * 64),
        block.feed_forward.W_gate_up: 1 / math.sqrt(128),
        block.feed_forward.W_down: 1 / math.sqrt(512),
    }
    for layer, deviation in expected.items():
        assert layer.weight.std().item() == pytest.approx(deviation, rel=0.03)
    with torch.no_grad():
        logits, _ = palm(torch.randint(2000, (4, 20)))
    assert logits.std().item() == pytest.approx(1.0, rel=0.1), "¿falta dividir entre √d_model?"


@pytest.mark.parametrize(
    ("changes", "scale"),
    [({}, 1 / 4), ({"logits_scale": 3.0}, 3.0), ({"tied": False}, 1.0)],
)
@torch.no_grad()
def test_the_logits_are_scaled(changes, scale):
    palm = model(**changes)
    table = palm.embedding.table if palm.output is None else palm.output
    h = torch.randn(1, 3, 16, dtype=torch.float64)
    assert_close(palm.logits(h), scale * h @ table.weight.T, **EXACT)


def test_an_untied_output_costs_a_table():
    assert model(tied=False).num_parameters() - model().num_parameters() == 20 * 16


def test_the_token_table_learns_from_both_ends():
    palm = model()
    palm(tokens(3))[0].sum().backward()
    assert (palm.embedding.table.weight.grad.abs().sum(1) > 0).all()


# La caché


@variants
@settings(max_examples=10)
@given(cuts=st.lists(st.integers(1, 6), min_size=1, max_size=5), reserve=st.booleans())
@torch.no_grad()
def test_any_chunking_gives_the_same_logits(variant, cuts, reserve):
    palm, token_ids = model(**VARIANTS[variant]), tokens(sum(cuts))
    whole, _ = palm(token_ids)
    cache = fast.reserve(palm, 2, 7) if reserve else None
    found = []
    for chunk in token_ids.split(cuts, 1):
        logits, cache = palm(chunk, cache)
        found.append(logits)
    assert_close(torch.cat(found, 1), whole, **EXACT)
    assert cache.length == sum(cuts)


@variants
@settings(max_examples=8)
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4), more=st.integers(1, 3))
@torch.no_grad()
def test_each_row_gives_what_it_would_alone(variant, lengths, more):
    palm = model(**VARIANTS[variant])
    prompts = [tokens(n, 1)[0] for n in lengths]
    token_ids, padding = left_pad([p.tolist() for p in prompts])
    continuation = tokens(more, len(lengths))
    first, cache = palm(token_ids, palm.start(padding))
    found = [first]
    for token in continuation.split(1, 1):
        logits, cache = palm(token, cache)
        found.append(logits)
    found = torch.cat(found, 1)
    for row, prompt in enumerate(prompts):
        alone, _ = palm(torch.cat((prompt, continuation[row]))[None])
        assert_close(found[row, padding[row] :], alone[0], **EXACT, msg=f"fila {row}")


@torch.no_grad()
def test_a_cache_may_be_continued_twice_and_its_rows_chosen():
    palm, token_ids = model(), tokens(6, 3)
    padding = torch.tensor([0, 2, 1])
    start = palm.start(padding)
    whole, _ = palm(token_ids, start)
    _, cache = palm(token_ids[:, :4], start)
    palm(tokens(2, 3), cache)
    assert_close(palm(token_ids[:, 4:], cache)[0], whole[:, 4:], **EXACT)
    rows = torch.tensor([2, 0, 2])
    chosen = palm(token_ids[rows, 4:], cache.select(rows))[0]
    assert_close(chosen, whole[rows, 4:], **EXACT)


@torch.no_grad()
def test_the_reserved_memory_is_not_moved():
    palm = model()
    cache = fast.reserve(palm, 2, 9)
    places = [layer.storage.tensor.data_ptr() for layer in cache.layers]
    for token in tokens(9).split(1, 1):
        _, cache = palm(token, cache)
    assert [layer.storage.tensor.data_ptr() for layer in cache.layers] == places


@pytest.mark.parametrize(("num_kv_heads", "times"), [(1, 1), (4, 4)])
def test_multi_query_saves_cache_and_parameters(num_kv_heads, times):
    palm = model(num_kv_heads=num_kv_heads)
    cache = fast.reserve(palm, 3, 5)
    assert sum(layer.storage.tensor.numel() for layer in cache.layers) == 2 * 2 * 3 * times * 5 * 4
    keys = 2 * 2 * 16 * 4 * times
    rest = palm.num_parameters(norm_scales=False) - keys
    assert rest == 20 * 16 + 2 * (2 * 16 * 16 + 3 * 16 * 24)


@torch.no_grad()
def test_the_future_is_not_seen():
    palm, token_ids = model(), tokens(6)
    changed = token_ids.clone()
    changed[:, 4:] = (changed[:, 4:] + 1) % 20
    before, after = palm(token_ids)[0], palm(changed)[0]
    assert_close(before[:, :4], after[:, :4], **EXACT)
    assert not torch.allclose(before[:, 4], after[:, 4])


@torch.no_grad()
def test_the_base_of_the_configuration_reaches_every_block():
    palm = model(base=0.5)
    assert {block.attention.base for block in palm.blocks} == {0.5}


def test_rotary_positions_tell_order():
    shuffled = torch.tensor([[3, 1, 2, 5], [1, 3, 2, 5]])  # el mismo conjunto, en otro orden
    blind, rotary = model(positions=None, num_layers=1), model(num_layers=1)
    assert_close(*blind(shuffled)[0][:, -1], **EXACT)
    assert not torch.allclose(*rotary(shuffled)[0][:, -1])


@variants
@torch.no_grad()
def test_weights_come_out_by_block(variant):
    palm, token_ids = model(**VARIANTS[variant]), tokens(5)
    with attention_maps(palm) as weights:
        logits, cache = palm(token_ids)
    assert_close(logits, palm(token_ids)[0], **EXACT)
    assert [A.shape for A in weights] == [(2, 4, 5, 5)] * 2 and cache.length == 5


@torch.no_grad()
def test_a_step_scores_only_what_comes_next():
    palm, token_ids = model(), tokens(5)
    logits, state = palm.step(token_ids)
    assert_close(logits, palm(token_ids)[0][:, -1:], **EXACT)
    assert state.length == 5


def test_the_dropout_of_the_configuration_reaches_every_place():
    palm = model(dropout=0.25)
    block = palm.blocks[1]
    assert palm.embedding.dropout.p == block.dropout.p == block.attention.mix.dropout == 0.25


# Lo que no sirve


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 0}, "vocab_size: .*positivo y llegó 0"),
        ({"num_kv_heads": 3}, "divisor de num_heads = 4 y llegó 3"),
        ({"positions": "giros"}, "'rotary', 'sinusoidal', 'learned', None y llegó 'giros'"),
        ({"layout": None}, "'half', 'interleaved' y llegó None"),
        ({"base": 0.0}, "base: .*positivo y llegó 0.0"),
        ({"norm": "batch"}, "'layer', 'rms' y llegó 'batch'"),
        ({"dropout": 1.5}, r"\[0, 1\) y llegó 1.5"),
        ({"d_model": 18}, "no se reparte entre num_heads = 4"),
        ({"d_model": 20}, "giros .* d_head = 5"),
        ({"d_ff": 0}, "d_ff: .*positivo y llegó 0"),
    ],
)
def test_bad_configurations_are_explained(as_user, changes, message):
    with pytest.raises(ValueError, match=message):
        replace(CONFIG, **changes)


def test_bad_inputs_are_explained(as_user):
    palm = model(max_length=8)
    with pytest.raises(ValueError, match="entre 0 y 19"):
        palm(torch.tensor([[20]]))
    with pytest.raises(ValueError, match="max_length mayor"):
        palm(tokens(5), palm(tokens(4))[1])
    with pytest.raises(ValueError, match="select"):
        palm(tokens(1, 3), palm(tokens(4))[1])
    with pytest.raises(ValueError, match="las 2 filas de cache"):
        palm(tokens(3, 1), palm.start(torch.tensor([0, 1])))
    with pytest.raises(ValueError, match="de 2 bloques, como este, y llegó la de uno de 3"):
        palm(tokens(1), model(num_layers=3).start())
    with pytest.raises(ValueError, match="lote de una"):
        palm(torch.tensor([1, 2]))


@pytest.mark.parametrize(
    "padding",
    [
        torch.tensor([0, -1]),
        torch.tensor([0.0, 1.0]),
        torch.tensor([[True, True], [False, True]]),
    ],
    ids=["negativo", "reales", "máscara"],
)
def test_padding_counts_columns(as_user, padding):
    with pytest.raises(ValueError, match=r"padding: .*delante cada fila.*llegó la forma"):
        model().start(padding)


@pytest.mark.parametrize(("sizes", "name"), [((0, 1), "batch"), ((1, 0), "capacity")])
def test_a_cache_needs_a_row_and_a_column(as_user, sizes, name):
    with pytest.raises(ValueError, match=f"{name}: .*positivo y llegó 0"):
        fast.reserve(model(), *sizes)


def test_training_lowers_the_loss_and_learns_every_matrix():
    palm = PaLM(replace(CONFIG, dropout=0.1))
    batch = torch.arange(12).repeat(4, 1) % 5
    optimizer = torch.optim.Adam(palm.parameters(), lr=1e-2)
    losses = []
    for _ in range(25):
        loss = nn.functional.cross_entropy(palm(batch)[0][:, :-1].mT, batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in palm.parameters())


@pytest.mark.parametrize("tied", [True, False])
def test_storing_by_columns_changes_no_logit(tied):
    palm, token_ids = model(tied=tied), tokens(5, batch=1)
    expected, _ = palm(token_ids)
    assert fast.by_columns(palm) is palm
    assert not palm.blocks[0].attention.W_h.weight.is_contiguous(), "sigue guardada por filas"
    found, cache = palm.step(token_ids[:, :4])
    assert_close(palm.step(token_ids[:, 4:], cache)[0], expected[:, -1:], **EXACT)
    assert_close(found, expected[:, 3:4], **EXACT)


@pytest.mark.parametrize("shape", [(1, 0), (0, 3)])
@pytest.mark.parametrize("method", ["__call__", "step"])
def test_no_token_is_explained(as_user, shape, method):
    with pytest.raises(ValueError, match="al menos un token"):
        getattr(model(), method)(torch.zeros(shape, dtype=torch.long))
