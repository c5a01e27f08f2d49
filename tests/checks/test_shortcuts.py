"""Lo que se pide escribir no se contesta llamando a quien ya lo hace.

Un atajo que se le ocurriría a quien estudia da otra cosa, y se rechaza; o es la respuesta, y se
detiene; o cuenta, y entonces lo dice el enunciado.
"""

import importlib
import inspect
import itertools
import math

import pytest
import torch
import torch.nn.functional as F

from course_lib.judging.check import NOTEBOOK_SEED, find_exercise, first_verdict, topic_exercises
from course_lib.judging.plain_data import Comparison, copy_inputs, plain
from course_lib.judging.refusal import as_when_graded
from course_lib.judging.running import draw_cases
from course_lib.notebooks.generation import topics_in
from tests.checks.solutions import ROOT

pytestmark = [
    pytest.mark.usefixtures("as_user"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def torch_heads(query, value, W_q, W_k, W_v, W_h, num_heads, **masks):
    """La atención multicabeza de torch, con los parámetros como los da el libro."""
    given = (x.transpose(0, 1) for x in (query, query, value))
    width = query.shape[-1]
    parameters = width, num_heads, None, torch.zeros(3 * width), None, None, False, 0.0, W_h.T, None
    projections = {"q_proj_weight": W_q.T, "k_proj_weight": W_k.T, "v_proj_weight": W_v.T}
    H, _ = F.multi_head_attention_forward(
        *given, *parameters, use_separate_proj_weight=True, **projections, **masks
    )
    return H.transpose(0, 1)


def torch_block(X, positions, P, num_heads, mask):
    """Un bloque del codificador que no parte ni junta cabezas."""
    matrices = (P[name] for name in ("W_q", "W_k", "W_v", "W_h"))
    H = torch_heads(X + positions, X, *matrices, num_heads, key_padding_mask=~mask[:, 0, 0])
    Z = F.layer_norm(X + H, X.shape[-1:], P["gain_1"], P["bias_1"])
    network = torch.relu(Z @ P["W_1"] + P["b_1"]) @ P["W_2"] + P["b_2"]
    return F.layer_norm(Z + network, X.shape[-1:], P["gain_2"], P["bias_2"])


def eye(K):
    """Unos valores con los que la atención da sus pesos."""
    return torch.eye(K.shape[-2]).expand(*K.shape[:-1], -1)


KNOWN = {"torch": torch, "F": F, "nn": torch.nn, "math": math, "eye": eye}
KNOWN |= {
    "sdpa": F.scaled_dot_product_attention,
    "sdpa_math": torch._scaled_dot_product_attention_math,
}
KNOWN |= {"torch_heads": torch_heads, "torch_block": torch_block}
OF_THE_LIBRARY = {
    "primitives.attention": ("attention", "attention_weights", "soft_argmax", "hard_argmax"),
    "primitives.key_value_store": ("hard_lookup", "soft_lookup"),
    "primitives.masks": ("causal_mask", "padding_mask"),
    "primitives.pooling": ("max_pool", "mean_pool"),
    "primitives.positions": ("rotary", "sinusoidal_positions", "step_positions"),
    "primitives.relative_shift": ("relative_shift",),
    "models.bert": ("SpanOutput", "best_spans"),
    "models.transformer_xl": ("remember",),
    "data.reviews": ("parse_review_path",),
    "tokenization._merges": ("apply_merges",),
}
for module, names in OF_THE_LIBRARY.items():
    KNOWN |= {n: getattr(importlib.import_module(f"course_lib.{module}"), n) for n in names}

REFUSED = {
    "attention.hard_argmax": ["hard_argmax(scores)"],
    "attention.decoding_step": [
        "[x[:, 0] for x in sdpa_math(state[:, None], *[encoder_states] * 2, scale=1.0)][::-1]",
        "[sdpa(state[:, None], encoder_states, V, scale=1.0)[:, 0]"
        " for V in (eye(encoder_states), encoder_states)]",
        "[attention_weights(state[:, None], encoder_states, beta=1.0)[:, 0],"
        " attention(state[:, None], encoder_states, encoder_states, beta=1.0)[:, 0]]",
    ],
    "key_value_store.hard_lookup": ["hard_lookup(query, K, V)"],
    "key_value_store.soft_lookup": ["soft_lookup(query, K, V, beta)"],
    "key_value_store.look_up_all": [
        "sdpa_math(Q, K, V)",
        "(sdpa(Q, K, V), sdpa(Q, K, eye(K)))",
        "(attention(Q, K, V), attention_weights(Q, K))",
    ],
    "self_attention.weights": [
        "sdpa(Q, K, eye(K), attn_mask=B)",
        "sdpa_math(Q, K, K, attn_mask=B)[1]",
    ],
    "self_attention.context": [
        "sdpa((X[i] @ W_q)[None], X @ W_k, X @ W_v)[0]",
        "sdpa(X @ W_q, X @ W_k, X @ W_v)[i]",
        "attention((X[i] @ W_q)[None], X @ W_k, X @ W_v)[0]",
        "attention_weights((X[i] @ W_q)[None], X @ W_k)[0] @ (X @ W_v)",
    ],
    "self_attention.causal": ["attention(X @ W_q, X @ W_k, X @ W_v)"],
    "transformer.cross_attention": [
        "sdpa(Y @ W_q, H @ W_k, H @ W_v, attn_mask=(source_ids != pad_id)[:, None])",
        "attention(Y @ W_q, H @ W_k, H @ W_v, mask=padding_mask(source_ids, pad_id))",
    ],
    "transformer.encoder_block": ["torch_block(X, positions, parameters, num_heads, mask)"],
    "palm.rotary": ["rotary(x, positions, base=base)"],
    "bert.best_span": ["best_spans(SpanOutput(start, end), candidates, longest=longest)"],
    "text_classifier.max_pool": ["(max_pool(H, visible), H.argmax(1))"],
    "text_classifier.mean_pool": ["mean_pool(H, visible)"],
    "text_classifier.read_name": ["parse_review_path(path)"],
    "text_classifier.binary_cross_entropy": [
        "F.binary_cross_entropy_with_logits(z, y)",
        "F.binary_cross_entropy(torch.sigmoid(z), y)",
        "nn.BCEWithLogitsLoss()(z, y)",
        "nn.BCELoss()(z.sigmoid(), y)",
        "F.multilabel_soft_margin_loss(z, y)",
        "F.soft_margin_loss(z, 2 * y - 1)",
        "F.cross_entropy(*[torch.stack(x, -1).flatten(0, -2) for x in ((0 * z, z), (1 - y, y))])",
    ],
    "tokenization.cosine": [
        "F.cosine_similarity(X[:, None], Y, dim=-1)",
        "torch.cosine_similarity(X[:, None], Y, dim=-1)",
        "nn.CosineSimilarity(dim=-1)(X[:, None], Y)",
    ],
    "tokenization.positions": ["sinusoidal_positions(height, d_model)"],
    "tokenization.merge": ["apply_merges(symbols, {tuple(pair): new})"],
    "tokenization.encode": ["apply_merges(symbols, {p: 256 + k for k, p in enumerate(merges)})"],
    "translator.label_smoothing": [
        "F.cross_entropy(logits, targets, ignore_index=pad_id, label_smoothing=epsilon)",
        "nn.CrossEntropyLoss(ignore_index=pad_id, label_smoothing=epsilon)(logits, targets)",
        "torch._C._nn.cross_entropy_loss(logits, targets, None, 1, pad_id, epsilon)",
    ],
    "transformer_xl.mask": ["causal_mask(length, memory_length + length)"],
    "transformer_xl.memory_bug": ["remember(memory, states, memory_length)"],
    "transformer_xl.shift_bug": ["relative_shift(S)"],
    "universal_transformer.step_encodings": [
        "torch.stack([step_positions(length, d_model, n, start=1)"
        " for n in range(1, num_steps + 1)])"
    ],
}
"""Lo que contesta por quien estudia, y por eso no está."""

REJECTED = {
    "attention.hard_argmax": ["F.gumbel_softmax(scores, hard=True)"],
    "attention.additive_scores": ["attention_weights(Q, K)", "torch.cdist(Q, K)"],
    "attention.top_k_weights": ["F.softmax(beta * scores, dim=-1)", "scores.topk(k).values"],
    "key_value_store.soft_lookup": [
        "sdpa(query[None], K, V, scale=beta)[0]",
        "attention(query[None], K, V, beta=beta)[0]",
        "(-beta * torch.cdist(query[None], K) / 2).softmax(-1)[0] @ V",
    ],
    "key_value_store.multi_head": ["torch_heads(X, X, W_q, W_k, W_v, W_h, len(betas))"],
    "key_value_store.top_k": ["list(torch.cat([scores, Q @ K_chunk.T], dim=-1).topk(k))"],
    "transformer.rms_norm": [
        "F.rms_norm(X, X.shape[-1:], gain, eps)",
        "nn.RMSNorm(X.shape[-1], eps)(X) * gain",
        "F.layer_norm(X, X.shape[-1:], gain, None, eps)",
    ],
    "transformer.decoder_mask": [
        "nn.Transformer.generate_square_subsequent_mask(token_ids.shape[1])[None, None] == 0",
        "causal_mask(token_ids.shape[1])[None, None]",
    ],
    "transformer.cached_step": ["(sdpa(x @ W_q, K, V), K, V)"],
    "palm.swiglu": [
        "F.silu(x @ W_gate) * (x @ W_up) @ W_down",
        "F.glu(torch.cat([x @ W_up, beta * x @ W_gate], -1)) @ W_down",
    ],
    "palm.multi_query": [
        "torch_heads(X, X, W_q, *[W.repeat(1, num_heads) for W in (W_k, W_v)], W_h, num_heads)"
    ],
    "text_classifier.mean_pool": ["H.mean(1)", "F.adaptive_avg_pool1d(H.mT, 1)[..., 0]"],
    "text_classifier.bag_of_words": [
        "F.one_hot(token_ids, vocab_size).sum(1)",
        "torch.stack([row.bincount(minlength=vocab_size) for row in token_ids])",
    ],
    "translator.label_smoothing": [
        "F.nll_loss(logits.log_softmax(-1), targets, ignore_index=pad_id)",
        "F.kl_div(logits.log_softmax(-1), F.one_hot(targets, logits.shape[-1]) * (1 - epsilon))",
    ],
    "translator.top_p": ["F.softmax(probabilities, dim=-1)", "probabilities * (probabilities > p)"],
    "transformer_xl.scores": ["torch.cat([memory, X], 1) @ W_k @ (X @ W_q).mT"],
}
"""Lo que ya está hecho y hace otra cosa."""

COUNTS = {
    "attention.soft_argmax": (
        "`torch.softmax` no está prohibido",
        ["torch.softmax(beta * scores, dim=-1)", "F.softmax(beta * scores, dim=-1)"],
    ),
    "attention.columns": (
        "por filas puedes usar una atención ya hecha",
        ["sdpa(X.mT, X.mT, X.mT, scale=beta).mT", "attention(X.mT, X.mT, X.mT, beta=beta).mT"],
    ),
    "attention.masked_attention": (
        "Puedes usar una atención ya hecha",
        [
            "torch.where(mask.any(-1, keepdim=True),"
            " attention(Q, K, V, mask=mask, beta=beta), default)"
        ],
    ),
    "self_attention.causal": (
        "puedes usar la atención de torch",
        [
            "sdpa(X @ W_q, X @ W_k, X @ W_v, attn_mask=torch.arange(X.shape[-2])"
            " < torch.arange(1, X.shape[-2] + 1).clamp(min=prefix)[:, None])"
        ],
    ),
    "self_attention.batch_bug": (
        "Puedes usar una atención ya hecha",
        ["sdpa(X @ W_q, X @ W_k, X @ W_v)", "attention(X @ W_q, X @ W_k, X @ W_v)"],
    ),
    "text_classifier.classifier_bug": (
        "Puedes usar una atención ya hecha",
        ["max_pool(attention(X @ W_q, X @ W_k, X @ W_v, mask=visible[:, None]), visible) @ W + b"],
    ),
    "bert.masked_loss": (
        "Puedes usar las pérdidas de torch",
        ["F.cross_entropy(logits.mT, labels)", "nn.CrossEntropyLoss()(logits.mT, labels)"],
    ),
}
"""Lo que cuenta, y la frase con que el enunciado lo dice."""


FUNCTIONAL = """
    softmax log_softmax gumbel_softmax scaled_dot_product_attention normalize one_hot linear
    cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div embedding
    embedding_bag layer_norm silu gelu glu logsigmoid pad unfold conv1d cosine_similarity
    multilabel_soft_margin_loss soft_margin_loss cosine_embedding_loss mse_loss pairwise_distance
"""
OPERATIONS = """
    cumsum cdist topk sort argsort argmax max mean sum logsumexp bincount where gather tril split
    cat stack roll matmul bmm einsum allclose nanmean
"""
READY = [getattr(F, name) for name in FUNCTIONAL.split()]
READY += [getattr(torch, name) for name in OPERATIONS.split()] + [sum, max, sorted, math.prod]
"""Lo que se llamaría tal cual, con lo que el ejercicio recibe."""


def written(name, code):
    """La función que quien estudia escribiría con ese atajo, con los argumentos del ejercicio."""
    arguments = ", ".join(inspect.signature(find_exercise(name).reference).parameters)
    return eval(f"lambda {arguments}: {code}", KNOWN)


def graded(exercise, student):
    return first_verdict(exercise, as_when_graded(exercise, student), seed=NOTEBOOK_SEED)


def each(shortcuts):
    pairs = [(name, code) for name, codes in shortcuts.items() for code in codes]
    return [pytest.param(*pair, id=f"{pair[0]}: {pair[1][:40]}") for pair in pairs]


@pytest.mark.parametrize(("name", "code"), each(REFUSED))
def test_what_is_the_answer_stops(name, code):
    verdict = graded(find_exercise(name), written(name, code))
    assert not verdict.points and "es la respuesta de este ejercicio" in verdict.message, verdict


@pytest.mark.parametrize(("name", "code"), each(REJECTED))
def test_what_does_something_else_is_not_right(name, code):
    verdict = graded(find_exercise(name), written(name, code))
    assert verdict.status in ("wrong", "error"), verdict
    assert "NameError" not in verdict.message and "SyntaxError" not in verdict.message


@pytest.mark.parametrize("name", COUNTS)
def test_what_counts_is_told_in_the_statement(name):
    said, codes = COUNTS[name]
    for code in codes:
        verdict = graded(find_exercise(name), written(name, code))
        assert verdict.status == "correct", (code, verdict)
    topic, _, short = name.partition(".")
    source = (ROOT / "solutions" / topic / f"{short}.md").read_text("utf-8")
    assert said in " ".join(source.partition("\n## Casos")[0].split())


@pytest.mark.parametrize("topic", topics_in(ROOT))
def test_nothing_ready_made_answers_as_it_is(topic):
    """Ni con las entradas en su orden, ni en el contrario."""
    functions = [exercise for exercise in topic_exercises(topic) if not exercise.is_question]
    assert [f"{e.name}: {ready}" for e in functions for ready in answering(e, READY)] == []


def answering(exercise, functions):
    """Los nombres de las funciones que, tal cual, contestan un ejercicio."""
    inputs, right = what_it_receives(exercise)
    compare = Comparison(exercise.tolerance)
    for ready, step in itertools.product(functions, (1, -1)):
        try:
            given = plain(ready(*copy_inputs(inputs)[::step]))
        except Exception:
            continue
        answer = lambda *x, f=ready, step=step: f(*x[::step])  # noqa: E731
        if compare.same(given, right) and graded(exercise, answer).status == "correct":
            yield ready.__name__


def what_it_receives(exercise):
    """Lo que se da a la respuesta en el primer caso, y lo que debe dar."""
    seen = []

    def spy(*inputs):
        right = exercise.reference(*copy_inputs(inputs))
        seen.append((inputs, plain(right)))
        return right

    exercise.call(spy, *copy_inputs(draw_cases(exercise, NOTEBOOK_SEED)[0]))
    return seen[0]


def test_what_answers_as_it_is_would_be_found():
    """Con la función que se espera entre las que se prueban, la lista no queda vacía."""
    for name in ("attention.hard_argmax", "self_attention.equivariance", "tokenization.merge"):
        exercise = find_exercise(name)
        assert list(answering(exercise, [*READY, exercise.reference])), name
