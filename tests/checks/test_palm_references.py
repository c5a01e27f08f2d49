"""Las soluciones de los ejercicios de PaLM son lo que hacen las capas y el modelo enteros."""

import pytest
import torch
from torch.testing import assert_close

from course_lib.decoding import greedy
from course_lib.fast.reserved_cache import ReservedCache
from course_lib.judging.check import find_exercise
from course_lib.layers.mixture_of_experts import MixtureOfExperts
from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.layers.multi_query_attention import MultiQueryAttention
from course_lib.layers.swiglu import SwiGLU
from course_lib.models.palm import PaLM, PaLMConfig, ParallelBlock
from course_lib.primitives.positions import rotary
from course_lib.recording import attention_maps


def cases_of(name):
    return find_exercise(name).cases(torch.Generator().manual_seed(5))


def reference(name):
    return find_exercise(name).reference


def small_model(**changes):
    torch.manual_seed(2)
    return PaLM(PaLMConfig(13, d_model=12, num_heads=3, num_layers=2, **changes)).double().eval()


def test_the_gated_network_is_the_one_of_the_library():
    for x, W_gate, W_up, W_down, _ in cases_of("palm.swiglu"):
        layer = SwiGLU(*W_gate.shape)
        with torch.no_grad():
            layer.W_gate_up.weight.copy_(torch.cat((W_gate, W_up), 1).T)
            layer.W_down.weight.copy_(W_down.T)
            expected = layer(x.reshape(-1, x.shape[-1])).reshape(x.shape)
        assert_close(reference("palm.swiglu")(x, W_gate, W_up, W_down, 1.0), expected)


def test_the_scores_survive_the_change_of_layout():
    for W, heads in cases_of("palm.layout"):
        W_q, W_k = W.double(), W.double().flip(1)
        q, k = torch.randn(2, 1, W.shape[1], dtype=torch.float64)

        def scores(W_q, W_k, layout, q=q, k=k, heads=heads):
            Q, K = ((x @ W.T).unflatten(-1, (heads, 1, -1)) for x, W in ((q, W_q), (k, W_k)))
            turned = (
                rotary(X, torch.tensor([place]), layout=layout) for X, place in ((Q, 9), (K, 4))
            )
            return torch.mul(*turned).sum(-1)

        changed = (reference("palm.layout")(each, heads) for each in (W_q, W_k))
        assert_close(scores(*changed, "half"), scores(W_q, W_k, "interleaved"))


def attention_with(W_q, W_k, W_v, heads, layout):
    """La capa de la biblioteca, con estos parámetros y sin mezclar lo que dan las cabezas."""
    width = W_q.shape[1]
    layer = MultiQueryAttention(len(W_q), heads, d_head=width // heads, layout=layout)
    layer.W_qkv.weight.data = torch.cat((W_q, W_k, W_v), 1).T
    layer.W_h.weight.data = torch.eye(width)
    return layer


@torch.no_grad()
def test_the_shared_attention_is_the_one_of_the_library():
    for X, W_q, W_k, W_v, W_h, heads in cases_of("palm.multi_query"):
        H = attention_with(W_q, W_k, W_v, heads, None)(X)
        assert_close(reference("palm.multi_query")(X, W_q, W_k, W_v, W_h, heads), H @ W_h)


@torch.no_grad()
def test_the_block_is_the_one_of_the_library():
    torch.manual_seed(3)
    block, x = ParallelBlock(8, 2, 16), torch.randn(2, 5, 8)
    pieces = block.norm, block.attention, block.feed_forward
    assert_close(reference("palm.parallel")(x, *pieces), block(x))


@torch.no_grad()
def test_reading_with_a_cache_is_what_the_library_does():
    for X, K, V, W_q, W_k, W_v, heads in cases_of("palm.read"):
        past = KeyValueCache()
        if K.shape[1]:
            past.append(K[:, None], V[:, None])
        expected = attention_with(W_q, W_k, W_v, heads, "half")(X, past)
        H, (K_after, V_after) = reference("palm.read")(X, (K, V), W_q, W_k, W_v, heads)
        assert_close(H, expected)
        assert_close(K_after, past.K[:, 0])
        assert_close(V_after, past.V[:, 0])


def test_the_padding_is_the_one_of_the_model():
    model = small_model()
    for padding, t in cases_of("palm.left_padding"):
        positions, visible = reference("palm.left_padding")(padding, t)
        token_ids = torch.randint(13, (len(padding), t))
        cache = model.start(padding)
        assert torch.equal(cache.positions(token_ids).clamp(min=0), positions)
        with torch.no_grad(), attention_maps(model) as weights:
            model(token_ids, cache)
        for A in weights:
            assert torch.equal((A > 0).all(1), visible), (
                "la atención no mira lo que dice la máscara"
            )


def test_writing_is_what_decoding_does():
    model = small_model()
    prompt = torch.tensor([[3, 1, 7], [0, 12, 5]])

    @torch.no_grad()
    def as_in_the_exercise(tokens, positions, cache):
        expected = torch.arange(tokens.shape[1]) + (0 if cache is None else cache.length)
        assert torch.equal(positions, expected), "las posiciones no son las del modelo"
        return model(tokens, cache)

    written = reference("palm.decode_bug")(as_in_the_exercise, prompt, 6)
    assert torch.equal(written, greedy(model.step, prompt, end_id=None, max_new_tokens=6).token_ids)


@pytest.mark.parametrize(
    ("d_model", "heads", "layers", "published"),
    [
        (4096, 16, 32, 8_631_877_632),
        (8192, 32, 64, 62_495_129_600),
        (18_432, 48, 118, 540_354_281_472),
    ],
)
def test_the_count_gives_the_published_sizes(d_model, heads, layers, published):
    arguments = 256_000, d_model, heads, 256, 4 * d_model, layers
    assert reference("palm.parameters")(*arguments) == published


def test_the_cache_weighs_what_the_one_of_the_largest_model_does():
    def bytes_per_token(num_kv_heads):
        config = PaLMConfig.palm_540b(num_kv_heads=num_kv_heads)
        like = torch.empty(0, dtype=torch.bfloat16, device="meta")
        cache = ReservedCache.reserved(like, 1, num_kv_heads, 1, config.d_head)
        reserved = cache.storage.tensor
        return config.num_layers * reserved.numel() * reserved.element_size()

    config = PaLMConfig.palm_540b()
    kinds = config.num_heads, config.num_kv_heads
    assert [bytes_per_token(kind) for kind in kinds] == reference("palm.cache")


def test_the_utilisation_is_the_published_one():
    arguments = 238.3e3, 540_354_281_472, 118, 48, 256, 2048, 6144, 275e12
    assert round(100 * reference("palm.mfu")(*arguments), 1) == 46.2


@torch.no_grad()
def test_the_mixture_is_the_one_of_the_library():
    torch.manual_seed(4)
    layer, x = MixtureOfExperts(6, 10, 5, top_k=2), torch.randn(9, 6)
    found = reference("palm.mixture")(x, layer.router.weight.T, list(layer.experts), 2)
    assert_close(found, layer(x)[0])
