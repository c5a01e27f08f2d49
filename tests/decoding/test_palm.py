"""Escribir con un PaLM: de token en token, con indicaciones de distinta longitud, con su caché."""

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib import fast
from course_lib.decoding import beam, greedy, left_pad, sample, stream, without_cache
from course_lib.models.palm import PaLM, PaLMConfig

VOCAB, END = 9, 8
PROMPTS = [[1, 2, 3, 0, 5], [4], [7, 0], [2, 6, 2]]
REQUEST = {"end_id": END, "max_new_tokens": 10}


def seeded(seed=3):
    return torch.Generator().manual_seed(seed)


METHODS = {
    "voraz": lambda *a: greedy(*a, **REQUEST),
    "haz": lambda *a: beam(*a, beam_size=3, num_best=3, **REQUEST),
    "muestreo": lambda *a: sample(
        *a, temperature=0.8, top_k=5, top_p=0.9, generator=seeded(), **REQUEST
    ),
}
methods = pytest.mark.parametrize("method", METHODS)
STREAMS = {
    "voraz": {},
    "muestreo": {"temperature": 0.8, "top_k": 5, "top_p": 0.9},
}


@pytest.fixture(params=[1, 2], ids=["multiconsulta", "multicabeza"])
def palm(request):
    config = PaLMConfig(
        VOCAB, d_model=8, num_heads=2, num_layers=2, d_ff=12, max_length=32,
        num_kv_heads=request.param, logits_scale=1.0,
    )  # fmt: skip
    model = PaLM(config).double().eval()
    for name, parameter in model.named_parameters():
        if "norm" not in name:  # pesos grandes: manda el contexto, no el último token
            nn.init.normal_(parameter, std=0.5 if "embedding" in name else 1.0)
    return model


def written(found):
    """Lo escrito, como listas, y sus log P."""
    if not isinstance(found, list):
        return found.token_ids.tolist(), found.log_probability
    tokens = [[h.token_ids for h in row] for row in found]
    return tokens, torch.tensor([h.log_probability for row in found for h in row])


@methods
def test_the_cache_writes_what_rereading_everything_would(palm, method):
    prompt = torch.tensor([[1, 2, 3], [4, 4, 4], [7, 0, 5], [2, 6, 2]])
    step, state = without_cache(lambda token_ids: palm(token_ids)[0])
    expected = written(METHODS[method](step, prompt, state))
    for cache in (None, fast.reserve(palm, 4, 5)):
        tokens, log_p = written(METHODS[method](palm.step, prompt, cache))
        assert tokens == expected[0]
        assert_close(log_p, expected[1])


@pytest.mark.parametrize("method", ["voraz", "haz"])
def test_prompts_of_different_lengths_are_written_as_if_alone(palm, method):
    token_ids, padding = left_pad(PROMPTS)
    cache = palm.start(padding)
    tokens, log_p = written(METHODS[method](palm.step, token_ids, cache))
    alone = [written(METHODS[method](palm.step, torch.tensor([p]), None)) for p in PROMPTS]
    for row, ((theirs, _),) in enumerate(zip(alone, strict=True)):
        mine = tokens[row][: len(theirs[0])] if method == "voraz" else tokens[row]
        assert mine == theirs[0], f"la fila {row} depende de las demás o de su relleno"
    assert_close(log_p, torch.cat([each for _, each in alone]).to(log_p.dtype))


def test_what_is_drawn_in_a_row_does_not_depend_on_the_padding(palm):
    def draw(prompts):
        token_ids, padding = left_pad(prompts)
        cache = palm.start(padding)
        return METHODS["muestreo"](palm.step, token_ids, cache).token_ids[-1]

    longer = [PROMPTS[0], PROMPTS[1], PROMPTS[3]]
    shorter = [PROMPTS[2], PROMPTS[1], PROMPTS[3]]
    n = min(len(draw(longer)), len(draw(shorter)))
    assert torch.equal(draw(longer)[:n], draw(shorter)[:n])


# De token en token


@pytest.mark.parametrize("method", STREAMS)
def test_a_stream_gives_the_same_tokens_one_by_one(palm, method):
    token_ids, padding = left_pad(PROMPTS)

    def state():
        return palm.start(padding)

    options = STREAMS[method] | REQUEST
    whole = METHODS[method](palm.step, token_ids, state()).token_ids
    found = list(stream(palm.step, token_ids, state(), generator=seeded(), **options))
    assert torch.equal(torch.stack(found, 1), whole)


def test_a_stream_computes_only_what_is_asked_of_it(palm):
    read = []

    def step(token_ids, state):
        read.append(token_ids.shape[1])
        return palm.step(token_ids, state)

    tokens = stream(step, torch.tensor([[1, 2]]), end_id=None, max_new_tokens=10)
    assert read == []
    next(tokens)
    next(tokens)
    assert read == [2, 1]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top_k": 3}, "di también la temperatura"),
        ({"top_p": 0.5}, "di también la temperatura"),
        ({"temperature": 0.0}, "temperature: .* llegó 0.0"),
        ({"max_new_tokens": 0}, "max_new_tokens: .* llegó 0"),
    ],
)
def test_a_bad_request_fails_before_the_first_token(palm, options, message):
    with pytest.raises(ValueError, match=message):
        stream(palm.step, torch.tensor([[1]]), **(REQUEST | options))


# El relleno


def test_padding_goes_in_front():
    token_ids, padding = left_pad([[5, 6, 7], [8]], pad_id=3)
    assert token_ids.tolist() == [[5, 6, 7], [3, 3, 8]] and padding.tolist() == [0, 2]


@pytest.mark.parametrize("prompts", [[], [[1], []]])
def test_a_prompt_needs_a_token(as_user, prompts):
    with pytest.raises(ValueError, match="al menos un token"):
        left_pad(prompts)


@pytest.mark.parametrize("prompts", [[1, 2, 3], torch.tensor([1, 2]), ["ab"], [[1.5]], [[[1]]]])
def test_prompts_are_lists_of_ids(as_user, prompts):
    with pytest.raises(ValueError, match="lista de indicaciones"):
        left_pad(prompts)


def test_prompts_may_be_tensors(as_user):
    token_ids, padding = left_pad([torch.tensor([5, 6]), torch.tensor([7])])
    assert token_ids.tolist() == [[5, 6], [0, 7]] and padding.tolist() == [0, 1]
