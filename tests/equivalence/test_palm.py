"""PaLM contra Cohere, de Hugging Face: el mismo modelo con la otra disposición de los giros."""

import pytest
import torch
from torch.testing import assert_close

from course_lib import fast
from course_lib.decoding import greedy
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.primitives.positions import rotary_order
from course_lib.recording import attention_maps

FOLDER = "05b_palm_hf_cohere_mqa"
TOLERANCE = {"float32": {"rtol": 2e-5, "atol": 2e-5}, "float64": {"rtol": 0, "atol": 5e-6}}


def from_cohere(weights, layout, num_kv_heads=1):
    """Un PaLM con los pesos de un Cohere; con la otra disposición, permutando filas."""
    shape = {"d_model": 32, "num_heads": 4, "num_kv_heads": num_kv_heads, "num_layers": 2}
    config = PaLMConfig(67, **shape, layout=layout, eps=1e-5)
    order = torch.arange(8) if layout == "interleaved" else rotary_order(8)
    state = {
        "embedding.table.weight": weights["model.embed_tokens.weight"],
        "norm.weight": weights["model.norm.weight"],
    }
    for i in range(2):
        theirs, ours = f"model.layers.{i}.", f"blocks.{i}."
        Q, K, V = (weights[f"{theirs}self_attn.{x}_proj.weight"] for x in "qkv")
        Q, K = (W.unflatten(0, (-1, 8))[:, order].flatten(0, 1) for W in (Q, K))
        gate, up = (weights[f"{theirs}mlp.{x}_proj.weight"] for x in ("gate", "up"))
        state |= {
            f"{ours}norm.weight": weights[f"{theirs}input_layernorm.weight"],
            f"{ours}attention.W_qkv.weight": torch.cat((Q, K, V)),
            f"{ours}attention.W_h.weight": weights[f"{theirs}self_attn.o_proj.weight"],
            f"{ours}feed_forward.W_gate_up.weight": torch.cat((gate, up)),
            f"{ours}feed_forward.W_down.weight": weights[f"{theirs}mlp.down_proj.weight"],
        }
    palm = PaLM(config).to(Q.dtype).eval()
    palm.load_state_dict(state)
    return palm


@pytest.fixture(params=TOLERANCE)
def case(request, golden):
    dtype = getattr(torch, request.param)
    weights = {name: W.to(dtype) for name, W in golden(FOLDER, "weights").items()}
    expected = golden(FOLDER, f"out_f{8 * dtype.itemsize}")
    token_ids = golden(FOLDER, "inputs")["input_ids"]
    return weights, token_ids, expected, TOLERANCE[request.param]


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@torch.no_grad()
def test_logits_and_weights_of_the_whole_sequence(case, layout):
    weights, token_ids, expected, close = case
    palm = from_cohere(weights, layout)
    with attention_maps(palm) as A:
        logits, _ = palm(token_ids)
    assert_close(logits, expected["logits"], **close)
    for i in range(2):
        assert_close(A[i], expected[f"attentions.{i}"], **close)


@torch.no_grad()
def test_the_cache_keeps_the_same_keys_and_values(case):
    weights, token_ids, expected, close = case
    _, cache = from_cohere(weights, "interleaved")(token_ids)
    for i, layer in enumerate(cache.layers):
        assert_close(layer.K, expected[f"cache_k.{i}"], **close)
        assert_close(layer.V, expected[f"cache_v.{i}"], **close)


@pytest.mark.parametrize("layout", ["interleaved", "half"])
@torch.no_grad()
def test_logits_one_token_at_a_time(case, layout):
    weights, token_ids, expected, close = case
    palm, found = from_cohere(weights, layout), []
    cache = fast.reserve(palm, 2, 9)
    for token in token_ids.split(1, 1):
        logits, cache = palm(token, cache)
        found.append(logits)
    assert_close(torch.cat(found, 1), expected["logits_incremental"], **close)


def test_gradients(case):
    weights, token_ids, expected, close = case
    palm = from_cohere(weights, "interleaved")
    logits, _ = palm(token_ids)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].mT, token_ids[:, 1:])
    assert_close(loss.detach().to(expected["loss"].dtype), expected["loss"], rtol=1e-5, atol=1e-5)
    loss.backward()
    grad = {name: p.grad for name, p in palm.named_parameters()}
    theirs = "grad/model.layers.0."
    Q, K, V = grad["blocks.0.attention.W_qkv.weight"].split([32, 8, 8])
    gate, up = grad["blocks.0.feed_forward.W_gate_up.weight"].chunk(2)
    pairs = {"self_attn.q_proj": Q, "self_attn.k_proj": K, "self_attn.v_proj": V}
    pairs |= {"mlp.gate_proj": gate, "mlp.up_proj": up}
    for name, found in pairs.items():
        assert_close(found, expected[f"{theirs}{name}.weight"], **close, msg=name)
    assert_close(
        grad["embedding.table.weight"], expected["grad/model.embed_tokens.weight"], **close
    )


def test_it_writes_the_same_tokens(golden):
    weights, token_ids = golden(FOLDER, "weights"), golden(FOLDER, "inputs")["input_ids"][:, :4]
    palm = from_cohere(weights, "interleaved")
    state = fast.reserve(palm, 2, 16)
    found = greedy(palm.step, token_ids, state, end_id=None, max_new_tokens=12)
    expected = golden(FOLDER, "out_f32")["greedy_ids_12_from_first4"]
    assert torch.equal(torch.cat((token_ids, found.token_ids), 1), expected)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 4])
@torch.no_grad()
def test_any_number_of_pairs_and_padded_prompts(num_kv_heads):
    """Cohere con pesos al azar; en las filas rellenas se comparan los tokens de verdad."""
    from transformers.models import cohere

    config = cohere.CohereConfig(
        vocab_size=67, hidden_size=32, intermediate_size=128, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=num_kv_heads, logit_scale=32**-0.5,
        max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(1)
    theirs = cohere.CohereForCausalLM(config).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    ours = from_cohere(theirs.state_dict(), "half", num_kv_heads)
    token_ids, visible = torch.randint(67, (2, 9)), torch.ones(2, 9, dtype=torch.long)
    visible[1, :4] = 0
    expected = theirs(token_ids, attention_mask=visible).logits
    found, _ = ours(token_ids, ours.start(torch.tensor([0, 4])))
    assert_close(found[visible.bool()], expected[visible.bool()], rtol=1e-4, atol=1e-4)
