import dataclasses

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from course_lib.models.seq2seq import ATTENTIONS, Seq2Seq, Seq2SeqConfig
from course_lib.primitives.additive import additive_scores
from course_lib.recording import attention_maps
from course_lib.training.loop import train

VOCAB = 11
EXACT = {"rtol": 1e-10, "atol": 1e-10}
every_attention = pytest.mark.parametrize("attention", ATTENTIONS)
with_attention = pytest.mark.parametrize("attention", ATTENTIONS[1:])


def build(attention, seed=0, d_model=8):
    torch.manual_seed(seed)
    return Seq2Seq(Seq2SeqConfig(VOCAB, VOCAB + 2, d_model, attention)).double().eval()


def sentences(lengths, extra=0, seed=0):
    """Un lote de oraciones al azar con relleno (0) al final, y `extra` columnas más de relleno."""
    rng = torch.Generator().manual_seed(seed)
    ids = torch.randint(3, VOCAB, (len(lengths), max(lengths) + extra), generator=rng)
    return ids * (torch.arange(ids.shape[1]) < torch.tensor(lengths)[:, None])


@every_attention
@settings(max_examples=15)
@given(
    lengths=st.lists(st.integers(1, 7), min_size=1, max_size=4),
    extra=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_neither_padding_nor_the_company_changes_a_sentence(attention, lengths, extra, seed):
    model, source = build(attention, seed), sentences(lengths, 0, seed)
    target = torch.randint(1, VOCAB, (len(lengths), 5))
    together = model(source, target)
    padded = F.pad(source, (0, extra))
    assert_close(model(padded, target), together, **EXACT)
    assert model.greedy(padded, 6).tolist() == model.greedy(source, 6).tolist()
    for i, length in enumerate(lengths):
        alone = model(source[i : i + 1, :length], target[i : i + 1])
        assert_close(together[i : i + 1], alone, **EXACT)


def with_weights(model, source, target):
    """Los logits y los pesos, `[batch, t_target, t_source]`, en una llamada o en una por paso."""
    with attention_maps(model) as maps:
        logits = model(source, target)
    return logits, torch.cat(maps, dim=2)[:, 0]


@with_attention
def test_weights_are_a_distribution_over_the_words_and_zero_on_padding(attention):
    source = sentences([6, 2, 4], extra=2)
    logits, A = with_weights(build(attention), source, torch.ones(3, 5, dtype=torch.long))
    assert logits.shape == (3, 5, VOCAB + 2) and A.shape == (3, 5, 8)
    assert_close(A.sum(-1), torch.ones(3, 5).double())
    assert (A >= 0).all() and A[(source == 0)[:, None].expand_as(A)].count_nonzero() == 0
    model = build(attention)
    with attention_maps(model) as maps:
        model.greedy(source, 4)
    A = torch.cat(maps, dim=2)[:, 0]
    assert_close(A.sum(-1), torch.ones(A.shape[:2]).double())


@every_attention
def test_encoder_states_equal_a_plain_gru_over_each_sentence(attention):
    encoder = build(attention).encoder
    source = sentences([6, 3], extra=1)
    states, visible, initial = encoder(source)
    for i, length in enumerate([6, 3]):
        words = encoder.embedding(source[i : i + 1, :length])
        expected, last = encoder.gru(words)
        assert_close(states[i : i + 1, :length], expected, **EXACT)
        assert_close(initial[i], torch.tanh(encoder.initial(last.flatten())), **EXACT)
        assert visible[i, 0].tolist() == [j < length for j in range(7)]


def gru_step(weights, x, h):
    """Las ecuaciones de la GRU, escritas: compuertas r y z, candidato n."""
    W_i, W_h, b_i, b_h = weights
    i_r, i_z, i_n = (x @ W_i.T + b_i).chunk(3, -1)
    h_r, h_z, h_n = (h @ W_h.T + b_h).chunk(3, -1)
    r, z = torch.sigmoid(i_r + h_r), torch.sigmoid(i_z + h_z)
    n = torch.tanh(i_n + r * h_n)
    return (1 - z) * n + z * h


def test_additive_decoder_is_the_recurrence_of_the_article():
    model, source = build("additive"), sentences([5])
    target = torch.tensor([[1, 4, 5, 6]])
    logits, A = with_weights(model, source, target)
    d, (memory, _, state) = model.decoder, model.encoder(source)
    cell = (d.cell.weight_ih, d.cell.weight_hh, d.cell.bias_ih, d.cell.bias_hh)
    for step in range(4):
        scores = additive_scores(state, memory[0], d.W_q, d.W_k, d.v)
        weights = scores.exp() / scores.exp().sum()
        context = weights @ memory[0]
        state = gru_step(cell, torch.cat((model.embedding(target[:, step]), context), -1), state)
        features = torch.tanh(torch.cat((context, state), -1) @ d.W_c.weight.T + d.W_c.bias)
        assert_close(A[:, step], weights, **EXACT)
        assert_close(logits[:, step], model.output(features), **EXACT)


@pytest.mark.parametrize("attention", ["dot", "general"])
def test_luong_decoder_is_the_recurrence_of_the_article(attention):
    model, source = build(attention), sentences([5])
    target = torch.tensor([[1, 4, 5, 6]])
    logits, A = with_weights(model, source, target)
    d, (memory, _, state) = model.decoder, model.encoder(source)
    W = torch.eye(8).double() if attention == "dot" else d.W
    cell = (d.gru.weight_ih_l0, d.gru.weight_hh_l0, d.gru.bias_ih_l0, d.gru.bias_hh_l0)
    for step in range(4):
        state = gru_step(cell, model.embedding(target[:, step]), state)
        powers = torch.stack([(state[0] @ W @ h).exp() for h in memory[0]])
        weights = powers / powers.sum()
        context = sum(a * h for a, h in zip(weights, memory[0], strict=True))[None]
        features = torch.tanh(d.W_c(torch.cat((context, state), -1)))
        assert_close(A[0, step], weights, **EXACT)
        assert_close(logits[:, step], model.output(features), **EXACT)


@every_attention
def test_without_attention_only_the_final_state_gets_through(attention):
    model, source = build(attention), sentences([5, 3])
    memory, visible, state = model.encoder(source)
    inputs = model.embedding(torch.ones(2, 4, dtype=torch.long))
    seen = model.decoder(inputs, state, memory, visible)[0]
    other = model.decoder(inputs, state, torch.randn_like(memory), visible)[0]
    assert torch.equal(seen, other) == (attention is None)


@every_attention
def test_a_prediction_does_not_see_the_tokens_that_follow(attention):
    model, source = build(attention), sentences([5])
    target = torch.tensor([[1, 4, 5, 6, 7]])
    changed = torch.tensor([[1, 4, 5, 9, 3]])
    before, after = model(source, target), model(source, changed)
    assert_close(before[:, :3], after[:, :3], **EXACT)
    assert not torch.allclose(before[:, 3], after[:, 3])


@every_attention
def test_greedy_writes_what_forward_predicts_and_pads_after_the_end(attention):
    model = build(attention)
    # Sin entrenar casi nunca termina: se le sube la probabilidad del fin.
    model.output.bias.data[model.config.end_id] = model.output.bias.data.max() + 0.15
    source = sentences([6, 2, 4, 3, 5, 1, 4, 2], seed=3)
    ids = model.greedy(source, 9)
    teacher = torch.cat((torch.ones(8, 1, dtype=torch.long), ids[:, :-1]), 1)
    predicted = model(source, teacher).argmax(-1)
    ended = (ids == 2).cumsum(-1) - (ids == 2).long() > 0
    assert torch.equal(ids[~ended], predicted[~ended])
    assert ids[ended].count_nonzero() == 0
    model.output.bias.data[model.config.end_id] = 1e3
    assert model.greedy(source, 9).tolist() == [[2]] * 8, "debió detenerse en cuanto terminaron"


@every_attention
def test_every_parameter_learns(attention):
    model, source = build(attention), sentences([5, 3])
    model(source, torch.tensor([[1, 4, 5], [1, 6, 7]])).logsumexp(-1).sum().backward()
    idle = [n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()]
    assert not idle


def reversal(count, length, seed):
    """Tarea de juguete: escribir la oración al revés."""
    source = sentences([length] * count, seed=seed)
    answer = F.pad(source.flip(1), (0, 1), value=2)
    return source, F.pad(answer[:, :-1], (1, 0), value=1), answer


@pytest.mark.slow
def test_attention_learns_what_the_bottleneck_cannot():
    def loss(model, batch):
        source, target, answer = batch
        return F.cross_entropy(model(source, target).flatten(0, 1), answer.flatten())

    batches = [reversal(32, 10, seed) for seed in range(60)]
    source, target, answer = reversal(100, 10, 999)
    accuracy = {}
    for attention in (None, "additive"):
        model = build(attention, d_model=48).float()
        train(model, loss, batches, steps=240, learning_rate=5e-3)
        accuracy[attention] = (model(source, target).argmax(-1) == answer).float().mean().item()
    assert accuracy["additive"] > 0.9 and accuracy[None] < 0.75, accuracy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attention": "aditiva"}, "attention: se esperaba"),
        ({"d_model": 7}, "número par"),
        ({"d_model": 0}, "número par"),
        ({"pad_id": 1}, "distintos"),
        ({"end_id": VOCAB}, "caber en target_vocab"),
        ({"source_vocab": 0}, "no cabe en source_vocab"),
    ],
)
def test_a_config_without_sense_is_refused(as_user, change, words):
    with pytest.raises(ValueError, match=words):
        dataclasses.replace(Seq2SeqConfig(VOCAB, VOCAB), **change)


@pytest.mark.parametrize(
    ("source", "target", "words"),
    [
        ([[3, VOCAB]], [[1]], "source: .*entre 0 y 10"),
        ([[3, 4]], [[1, 20]], "target: .*entre 0 y 12"),
        ([[3, -1]], [[1]], "source"),
        ([[3, 0, 4]], [[1]], "solo al final"),
        ([[3, 4], [0, 0]], [[1], [1]], "vacía"),
        ([[]], [[1]], "vacía"),
    ],
)
def test_bad_ids_are_explained(source, target, words):
    source = torch.tensor(source, dtype=torch.long)
    with pytest.raises(ValueError, match=words):
        build("dot")(source, torch.tensor(target))


def test_weights_are_not_asked_of_a_model_without_attention():
    model, source = build(None), sentences([3])
    with pytest.raises(ValueError, match="alguna atención y llegó Seq2Seq"), attention_maps(model):
        model(source, source)
    with pytest.raises(ValueError, match="max_length"):
        model.greedy(source, 0)
