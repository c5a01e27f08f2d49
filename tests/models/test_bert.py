from dataclasses import FrozenInstanceError, replace
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib import fast
from course_lib.models.bert import (
    Bert,
    BertConfig,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
    SpanOutput,
    best_spans,
)
from course_lib.recording import attention_maps

VOCAB = 23
EXACT = {"rtol": 1e-10, "atol": 1e-10}
HEADS = {
    "preentrenamiento": BertForPreTraining,
    "clases": lambda config: BertForSequenceClassification(config, 3),
    "opciones": BertForMultipleChoice,
    "tramo": BertForQuestionAnswering,
    "etiquetas": lambda config: BertForTokenClassification(config, 5),
}


def tiny(**changes) -> BertConfig:
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 2, "d_ff": 12, "max_length": 12}
    return BertConfig(VOCAB, **(sizes | {"dropout": 0.0, "attention_dropout": 0.0} | changes))


def build(make=Bert, seed=0, **changes):
    """Un modelo pequeño de parámetros grandes: con 0.02 casi nada cambiaría la salida."""
    torch.manual_seed(seed)
    model = make(tiny(**changes)).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def batch(lengths, extra=0, seed=0):
    rng = torch.Generator().manual_seed(seed)
    t = max(lengths) + extra
    real = torch.arange(t) < torch.tensor(lengths)[:, None]
    ids = torch.randint(1, VOCAB, real.shape, generator=rng).masked_fill(~real, 0)
    return ids, torch.randint(0, 2, real.shape, generator=rng)


# --------------------------------------------------------------------------- tamaños


@pytest.mark.parametrize(
    ("config", "with_pooler", "without", "pre_training"),
    [
        (BertConfig.base(), 109_482_240, 108_891_648, 110_106_428),
        (BertConfig.large(), 335_141_888, 334_092_288, 336_226_108),
    ],
    ids=["base", "large"],
)
def test_the_published_sizes(config, with_pooler, without, pre_training):
    with torch.device("meta"):
        models = Bert(config), Bert(config, pooler=False), BertForPreTraining(config)
    counts = [sum(p.numel() for p in model.parameters()) for model in models]
    assert counts == [with_pooler, without, pre_training]


def test_it_runs_on_meta_with_and_without_padding_in_view():
    with torch.device("meta"):
        model, ids = Bert(tiny()), torch.zeros(2, 5, dtype=torch.long)
    assert model(ids).states.shape == (2, 5, 8)


def test_a_config_is_frozen_and_can_be_varied():
    assert BertConfig.large(100, num_layers=2) == BertConfig(
        100, d_model=1024, num_heads=16, num_layers=2, d_ff=4096
    )
    with pytest.raises(FrozenInstanceError):
        tiny().d_model = 3


@pytest.mark.parametrize("make", HEADS.values(), ids=HEADS.keys())
def test_the_start_is_small_and_without_bias(make):
    torch.manual_seed(0)
    model = make(tiny(d_model=64, num_layers=1, d_ff=128))
    for name, parameter in model.named_parameters():
        if "norm" in name:
            assert parameter.unique().tolist() == [float("weight" in name)], name
        elif name.endswith("bias"):
            assert parameter.count_nonzero() == 0, name
        else:
            assert parameter.abs().max() <= 0.04, f"{name} pasa de dos desviaciones"
            assert parameter.std() < 0.02, name
            assert len(parameter.flatten()) < 500 or parameter.std() > 0.015, name


def test_spreading_out_changes_two_tables_and_nothing_else():
    torch.manual_seed(0)
    model = BertForPreTraining(tiny()).double()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert model.bert.embedding.spread_out() is model.bert.embedding
    angles = torch.arange(12.0).double()[:, None] / 10_000 ** (torch.arange(0, 8, 2).double() / 8)
    sinusoids = torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)
    tokens, positions = (f"bert.embedding.tokens.{n}" for n in ("table.weight", "position_table"))
    expected = before | {tokens: 5 * before[tokens], positions: 0.1 * sinusoids}
    for name, value in model.state_dict().items():
        assert_close(value, expected[name], **EXACT, msg=f"{name} no empieza donde debe")
    assert all(parameter.requires_grad for parameter in model.parameters()), "se siguen aprendiendo"


# --------------------------------------------------------------------------- codificador


def test_every_token_reads_every_other_one():
    """Cambiar un token cambia el vector de todos: no hay máscara causal."""
    model, (ids, segments) = build(), batch([7])
    before = model(ids, segments).states
    for i in range(7):
        other = ids.clone()
        other[0, i] = ids[0, i] % (VOCAB - 1) + 1
        changed = (model(other, segments).states - before).abs().amax(-1)
        assert (changed > 1e-6).all(), f"el token {i} no llega a todas las posiciones"


def test_order_and_segment_matter():
    model, (ids, segments) = build(), batch([6])
    same = ids[:, :1].expand_as(ids)
    states = model(same, torch.zeros_like(segments)).states[0]
    assert len({round(v, 6) for v in states[:, 0].tolist()}) == 6, "las posiciones no se distinguen"
    assert not torch.allclose(model(same, torch.ones_like(segments)).states[0], states)
    assert_close(model(same).states[0], states, msg="sin segment_ids, todos son del segmento 0")


faster = {
    "plain": lambda model: model,
    "unpadded": fast.unpadded,
    "always": partial(fast.unpadded, group_cost=0),
}


@pytest.mark.parametrize("way", faster)
@settings(max_examples=10)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    extra=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_neither_padding_nor_the_company_changes_a_sequence(way, lengths, extra, seed):
    model, (ids, segments) = faster[way](build(seed=seed)), batch(lengths, extra, seed)
    states, pooled, *_ = model(ids, segments)
    for i, length in enumerate(lengths):
        alone = model(ids[i : i + 1, :length], segments[i : i + 1, :length])
        assert_close(states[i, :length], alone.states[0], **EXACT)
        assert_close(pooled[i], alone.pooled[0], **EXACT)


@settings(max_examples=15)
@given(
    visible=st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=1, max_size=4),
    seed=st.integers(0, 1000),
)
def test_without_padding_the_same_states_and_gradients(visible, seed):
    """Con el relleno en cualquier sitio, también en secuencias vacías."""
    visible = torch.tensor(visible)
    ids, segments = batch([6] * len(visible), seed=seed)
    weight = torch.randn(*visible.shape, 8, dtype=torch.float64) * visible[..., None]
    results = []
    for way in faster.values():
        model = build(seed=seed)
        output = way(model)(ids, segments, mask=visible[:, None], need_hidden=True)
        sum((H * weight).sum() for H in output.hidden[1:]).backward()
        gradients = [p.grad for p in model.parameters() if p.grad is not None]
        results.append([*(H[visible] for H in output.hidden), *gradients])
    dense, *others = results
    for packed in others:
        assert_close(packed, dense, **EXACT)


def test_unpadding_happens_when_there_is_enough_padding():
    """Se ve en el relleno: sin él, sus estados son ceros."""
    ids, _ = batch([64, 8, 8, 8])
    wide = {"d_model": 128, "max_length": 64, "num_layers": 1}
    for way, zeros in (("plain", False), ("unpadded", True), ("always", True)):
        states = faster[way](build(**wide))(ids).states
        assert (states[1, 8:].count_nonzero() == 0) == zeros
    tiny_states = fast.unpadded(build(max_length=64))(ids).states
    assert tiny_states[1, 8:].count_nonzero(), "en un modelo tan pequeño no compensa"


def test_the_mask_rules_over_the_padding_id():
    model, (ids, segments) = build(), batch([5, 5])
    visible = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    shown = model(ids, segments, mask=visible[:, None]).states
    assert_close(shown[0, :3], model(ids[:1, :3], segments[:1, :3]).states[0], **EXACT)
    padding = ids.clone()
    padding[1, 2] = 0
    everything = torch.ones(2, 1, 5, dtype=torch.bool)
    assert not torch.allclose(
        model(padding, segments, mask=everything).states[1, 0],
        model(padding, segments).states[1, 0],
    ), "con mask, un token que vale pad_id se lee"


def test_hidden_states_and_weights_on_request():
    model, (ids, segments) = build(), batch([7, 3])
    plain = model(ids, segments)
    assert plain.hidden is None
    with attention_maps(model) as weights:
        full = model(ids, segments, need_hidden=True)
    real = ids != 0
    assert_close(full.states[real], plain.states[real], **EXACT)
    assert_close(full.hidden[-1], full.states)
    assert_close(full.hidden[0], model.embedding(ids, segments))
    assert len(full.hidden) == 3 and len(weights) == 2
    for block, before, after, A in zip(
        model.blocks, full.hidden, full.hidden[1:], weights, strict=False
    ):
        assert_close(block(before, mask=real[:, None]), after)
        assert A.shape == (2, 2, 7, 7)
        assert_close(A.sum(-1), torch.ones_like(A[..., 0]))
        assert A[1, :, :, 3:].count_nonzero() == 0, "alguien mira el relleno"


def test_the_pooler_reads_the_first_token():
    model, (ids, segments) = build(), batch([5])
    output = model(ids, segments)
    assert_close(output.pooled, torch.tanh(model.pooler(output.states[:, 0])))
    assert build(lambda config: Bert(config, pooler=False))(ids).pooled is None


def test_dropout_falls_where_bert_has_it():
    """En los pesos de atención y a la salida de las subcapas, no en la capa oculta de la red."""
    config = tiny(attention_dropout=0.5)
    model, (ids, segments) = Bert(config).train(), batch([7])
    for block in model.blocks:
        assert block.attention.mix.dropout == 0.5
        assert block.feed_forward.dropout.p == 0.0
        assert block.residual_attention.dropout.p == block.residual_feed_forward.dropout.p == 0.0
    first, second = (model(ids, segments).states for _ in range(2))
    assert not torch.equal(first, second)
    model = Bert(tiny(dropout=0.5)).train()
    assert (model.embedding(ids, segments) == 0).any(), "las incrustaciones llevan dropout"
    assert model.blocks[0].feed_forward.dropout.p == 0.0
    assert model.blocks[0].residual_feed_forward.dropout.p == 0.5
    for name in ("clases", "opciones", "etiquetas"):
        assert HEADS[name](tiny(dropout=0.5)).dropout.p == 0.5
        assert HEADS[name](tiny(dropout=0.5, head_dropout=0.0)).dropout.p == 0.0


@pytest.mark.parametrize("name", ["clases", "opciones", "etiquetas"])
def test_the_head_reads_through_its_dropout(name):
    model, (ids, _) = build(HEADS[name], head_dropout=0.5).train(), batch([7])
    ids = ids[None] if name == "opciones" else ids
    assert not torch.equal(model(ids), model(ids))
    assert torch.equal(model.eval()(ids), model(ids))


def test_the_norms_have_the_epsilon_of_the_config():
    model = BertForPreTraining(tiny(eps=0.25))
    norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm)]
    assert len(norms) == 1 + 2 * 2 + 1
    assert {norm.eps for norm in norms} == {0.25}
    assert {m.eps for m in Bert(tiny()).modules() if isinstance(m, nn.LayerNorm)} == {1e-12}


# --------------------------------------------------------------------------- cabezas


def test_pre_training_scores_words_with_the_embedding_table():
    model, (ids, segments) = build(BertForPreTraining), batch([6, 4])
    output = model(ids, segments)
    H, r, *_ = model.bert(ids, segments)
    hidden = model.norm(F.gelu(model.transform(H)))
    table = model.bert.embedding.tokens.table.weight
    assert_close(output.tokens, hidden @ table.T + model.bias, **EXACT)
    assert_close(output.next_sentence, model.next_sentence(r), **EXACT)
    assert not any(p.shape == table.shape for n, p in model.named_parameters() if "tokens" not in n)


def test_only_the_positions_asked_for_are_scored():
    model, (ids, segments) = build(BertForPreTraining), batch([6, 4])
    positions = torch.rand(ids.shape) < 0.4
    some = model(ids, segments, positions=positions)
    every = model(ids, segments)
    assert_close(some.tokens, every.tokens[positions], **EXACT)
    assert_close(some.next_sentence, every.next_sentence, **EXACT)


def test_pre_training_without_the_next_sentence_has_no_summary():
    model = BertForPreTraining(tiny(), next_sentence=False)
    assert model(batch([4])[0]).next_sentence is None
    assert not any("pooler" in name or "next" in name for name, _ in model.named_parameters())


def test_each_head_is_its_equation():
    ids, segments = batch([6, 4])
    classes = build(HEADS["clases"])
    assert_close(classes(ids, segments), classes.output(classes.bert(ids, segments).pooled))
    span = build(BertForQuestionAnswering)
    scores = span.output(span.bert(ids, segments).states)
    start, end = span(ids, segments)
    assert_close(torch.stack((start, end), -1), scores)
    labels = build(HEADS["etiquetas"])
    assert_close(labels(ids, segments), labels.output(labels.bert(ids, segments).states))
    assert classes(ids).shape == (2, 3) and labels(ids).shape == (2, 6, 5)


def test_each_choice_is_read_on_its_own():
    model = build(BertForMultipleChoice)
    ids, segments = batch([6, 4, 5, 3, 6, 2])
    scores = model(ids.view(2, 3, 6), segments.view(2, 3, 6))
    assert scores.shape == (2, 3)
    one_by_one = [model(*(X[i : i + 1, None] for X in (ids, segments))) for i in range(6)]
    assert_close(scores.flatten(), torch.stack(one_by_one).flatten(), **EXACT)
    shown = torch.arange(6) < torch.tensor([5, 4, 3, 3, 2, 1])[:, None]
    hidden = model(ids.view(2, 3, 6), segments.view(2, 3, 6), mask=shown.view(2, 3, 1, 6))
    fewer = ids.masked_fill(~shown, 0).view(2, 3, 6)
    assert_close(hidden, model(fewer, segments.view(2, 3, 6)), **EXACT)
    assert not torch.allclose(hidden, scores)


@pytest.mark.parametrize("name", HEADS)
def test_every_parameter_learns(name):
    model, (ids, segments) = build(HEADS[name]).train(), batch([6, 4])
    if name == "opciones":
        ids, segments = ids[None], segments[None]
    output = model(ids, segments)
    parts = output if isinstance(output, tuple) else (output,)
    sum((part * torch.randn_like(part)).sum() for part in parts).backward()
    idle = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


def test_fine_tuning_starts_from_the_pre_trained_encoder():
    source, head = build(BertForPreTraining, seed=1), build(HEADS["clases"], seed=2)
    before = head.output.weight.clone()
    assert head.start_from(source) is head
    ids, segments = batch([6, 4])
    assert_close(head.bert(ids, segments).pooled, source.bert(ids, segments).pooled)
    assert torch.equal(head.output.weight, before)
    with torch.no_grad():
        head.bert.pooler.weight.zero_()
    assert source.bert.pooler.weight.any(), "los parámetros se copian, no se comparten"


def test_fine_tuning_may_lack_or_not_want_the_summary():
    span = build(BertForQuestionAnswering, seed=1).start_from(build(seed=2))
    ids, _ = batch([6])
    assert_close(span.bert(ids).states, build(seed=2)(ids).states)
    head = build(HEADS["clases"], seed=3)
    pooler = head.bert.pooler.weight.clone()
    head.start_from(span)
    assert torch.equal(head.bert.pooler.weight, pooler)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocab_size": 9}, f"vocab_size = {VOCAB}, .* llegó 9"),
        ({"num_layers": 1}, "num_layers = 2, .* llegó 1"),
        ({"num_layers": 3}, "num_layers = 2, .* llegó 3"),
        ({"num_heads": 4}, "num_heads = 2, .* llegó 4"),
        ({"activation": "relu"}, "activation = 'gelu', .* llegó 'relu'"),
    ],
)
def test_fine_tuning_refuses_an_encoder_that_would_compute_something_else(changes, message):
    """Con otras cabezas o menos bloques los tensores caben, y el modelo daría otra cosa."""
    other = Bert(replace(tiny(), **changes))
    with pytest.raises(ValueError, match=message):
        build(HEADS["clases"]).start_from(other)
    build(HEADS["clases"]).start_from(Bert(tiny(dropout=0.3)))


@settings(max_examples=40)
@given(
    t=st.integers(1, 7),
    longest=st.integers(1, 8),
    seed=st.integers(0, 1000),
)
def test_the_best_span_is_the_best_of_all(t, longest, seed):
    torch.manual_seed(seed)
    scores = SpanOutput(torch.randn(3, t), torch.randn(3, t))
    candidates = torch.rand(3, t) < 0.7
    candidates[:, 0] = True
    spans = best_spans(scores, candidates, longest=longest)
    for row in range(3):
        possible = [
            (i, j)
            for i in range(t)
            for j in range(i, min(t, i + longest))
            if candidates[row, i] and candidates[row, j]
        ]
        best = max(possible, key=lambda ij: scores.start[row, ij[0]] + scores.end[row, ij[1]])
        assert tuple(spans[row].tolist()) == best


# --------------------------------------------------------------------------- errores


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 7}, "divisible entre num_heads"),
        ({"num_layers": 0}, "num_layers: se esperaba un entero positivo y llegó 0"),
        ({"num_segments": 0}, "num_segments: se esperaba un entero positivo y llegó 0"),
        ({"attention_dropout": 1.0}, r"dropout.*\[0, 1\) y llegó 1.0"),
        ({"activation": "tanh"}, "'relu', 'gelu' y llegó 'tanh'"),
        ({"pad_id": VOCAB}, f"pad_id.*entre 0 y {VOCAB - 1} y llegó {VOCAB}"),
    ],
)
def test_a_bad_config_is_explained(as_user, changes, message):
    with pytest.raises(ValueError, match=message):
        tiny(**changes)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda ids: (ids + VOCAB,), f"token_ids: .*entre 0 y {VOCAB - 1}"),
        (lambda ids: (ids, ids.new_full(ids.shape, 2)), "segment_ids: .*entre 0 y 1"),
        (lambda ids: (ids, ids[:, :2]), r"segment_ids: se esperaba la forma \(2, 5\)"),
        (lambda ids: (ids.repeat(1, 3),), "posiciones entre 0 y 11"),
    ],
)
def test_a_bad_batch_is_explained(as_user, arguments, message):
    ids, _ = batch([5, 3])
    with pytest.raises(ValueError, match=message):
        build()(*arguments(ids))


def test_bad_masks_choices_and_sources_are_explained(as_user):
    ids, _ = batch([5, 3])
    with pytest.raises(ValueError, match=r"mask: .*\(2, 1, 5\).*torch.int64.*mask.bool"):
        build()(ids, mask=(ids != 0)[:, None].long())
    with pytest.raises(ValueError, match=r"mask: .*\(2, 1, 5\).*\(2, 5\)"):
        build()(ids, mask=ids != 0)
    with pytest.raises(ValueError, match=r"\[batch, choices, t\].*torch.stack"):
        build(BertForMultipleChoice)(ids)
    with pytest.raises(ValueError, match=r"positions: .*\(2, 5\).*\(2, 1\) de tipo torch.int64"):
        build(BertForPreTraining)(ids, positions=torch.ones(2, 1).long())
    with pytest.raises(ValueError, match=r"positions: .*\(2, 5\).*\(2,\)"):
        build(BertForPreTraining)(ids, positions=torch.ones(2).bool())
    with pytest.raises(ValueError, match=r"source: .*un modelo y llegó BertConfig"):
        build(HEADS["clases"]).start_from(tiny())
    with pytest.raises(ValueError, match="num_classes: se esperaba un entero positivo"):
        BertForSequenceClassification(tiny(), 0)
    scores = SpanOutput(torch.zeros(1, 3), torch.zeros(1, 3))
    with pytest.raises(ValueError, match=r"candidates: .*algún True"):
        best_spans(scores, torch.zeros(1, 3, dtype=torch.bool))
