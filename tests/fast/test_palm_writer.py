"""PaLMWriter: los mismos logits que PaLM, sin pasar por sus módulos."""

import pytest
import torch

from course_lib.decoding import beam, greedy, sample
from course_lib.fast import by_columns as stored_by_columns
from course_lib.fast.palm_writer import PaLMWriter
from course_lib.models.palm import PaLM, PaLMConfig

VARIANTS = (
    {},
    {"layout": "interleaved", "num_kv_heads": 2, "tied": False},
    {"num_kv_heads": 4, "d_head": 6, "logits_scale": 0.5, "eps": 1e-3},
)


def make(dtype=torch.float64, **changes):
    torch.manual_seed(0)
    config = PaLMConfig(
        **{"vocab_size": 40, "d_model": 32, "num_heads": 4, "num_layers": 2} | changes
    )
    return PaLM(config).eval().to(dtype)


@torch.no_grad()
@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("batch", [1, 3, 5])
def test_each_step_gives_the_logits_of_the_whole_pass(batch, changes):
    palm = make(**changes)
    ids = torch.randint(40, (batch, 12))
    expected = palm(ids)[0]
    writer = PaLMWriter(palm, capacity=5)  # se queda corta: tiene que crecer
    logits, state = writer.step(ids[:, :3])
    assert torch.allclose(logits[:, -1], expected[:, 2], atol=1e-10, rtol=0)
    for t in range(3, 12):
        logits, state = writer.step(ids[:, t : t + 1], state)
        assert torch.allclose(logits[:, -1], expected[:, t], atol=1e-10, rtol=0), t
    assert state.length == 12


@pytest.mark.parametrize("by_columns", [False, True])
def test_greedy_sampling_and_beam_write_the_same(by_columns):
    palm = make(torch.float32, max_length=64)
    palm = stored_by_columns(palm) if by_columns else palm
    writer, prompt = PaLMWriter(palm), torch.randint(40, (3, 4))
    request = {"end_id": 7, "max_new_tokens": 20}
    for write, options in ((greedy, {}), (sample, {"temperature": 0.8})):
        found = []
        for step in (palm.step, writer.step):
            if options:
                options["generator"] = torch.Generator().manual_seed(1)
            found.append(write(step, prompt, **request, **options).token_ids)
        assert torch.equal(*found), write.__name__
    first, second = (
        beam(step, prompt, beam_size=3, **request) for step in (palm.step, writer.step)
    )
    assert [[h.token_ids for h in row] for row in first] == [
        [h.token_ids for h in row] for row in second
    ]


def test_the_weights_are_those_of_the_model():
    palm = make()
    writer, ids = PaLMWriter(palm), torch.randint(40, (1, 3))
    before = writer.step(ids[:, -1:], writer.step(ids[:, :2])[1])[0]
    with torch.no_grad():
        palm.blocks[1].feed_forward.W_down.weight.zero_()
    after = writer.step(ids[:, -1:], writer.step(ids[:, :2])[1])[0]
    assert not torch.equal(before, after)
    assert torch.allclose(after, palm(ids)[0][:, -1:], atol=1e-10, rtol=0)


@pytest.mark.parametrize(
    "changes", [{"parallel": False}, {"norm": "rms"}, {"positions": "learned"}, {"positions": None}]
)
def test_another_model_is_refused(changes):
    with pytest.raises(ValueError, match="que sirve para todos"):
        PaLMWriter(make(**changes))


def test_a_model_in_training_is_refused():
    with pytest.raises(ValueError, match="modo de evaluación"):
        PaLMWriter(make().train())


def test_a_bad_step_is_explained():
    writer = PaLMWriter(make(max_length=4))
    _, state = writer.step(torch.zeros(2, 3, dtype=torch.long))
    for bad in (torch.zeros(2, 2), torch.zeros(1, 1)):
        with pytest.raises(ValueError, match="un token por fila"):
            writer.step(bad.long(), state)
    with pytest.raises(ValueError, match="token_ids"):
        writer.step(torch.full((2, 1), 40), state)
    _, state = writer.step(torch.zeros(2, 1, dtype=torch.long), state)
    with pytest.raises(ValueError, match="hasta 4 posiciones"):
        writer.step(torch.zeros(2, 1, dtype=torch.long), state)
