"""Pasos siempre iguales: los logits de PaLM, con las mismas operaciones sobre la misma memoria."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib import fast
from course_lib.decoding import beam, greedy
from tests.fast.test_palm_writer import VARIANTS, make


class Operations(TorchDispatchMode):
    """Anota cada operación, con la forma y el lugar de cada tensor que recibe."""

    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        shapes = [tuple(x.shape) for x in args if isinstance(x, torch.Tensor)]
        self.found.append((str(function), shapes))
        return function(*args, **(kwargs or {}))


@torch.no_grad()
@pytest.mark.parametrize("changes", VARIANTS)
@pytest.mark.parametrize("batch", [1, 3])
def test_each_step_gives_the_logits_of_the_whole_pass(batch, changes):
    palm = make(**changes)
    ids = torch.randint(40, (batch, 12))
    expected = palm(ids)[0]
    writer = fast.graphed(palm, batch=batch, capacity=12)
    for _ in range(2):  # la segunda vez, sobre lo que dejó la primera
        logits, state = writer.step(ids[:, :3])
        assert torch.allclose(logits[:, -1], expected[:, 2], atol=1e-10, rtol=0)
        for t in range(3, 12):
            logits, state = writer.step(ids[:, t : t + 1], state)
            assert torch.allclose(logits[:, -1], expected[:, t], atol=1e-10, rtol=0), t
    assert state.length == 12


@torch.no_grad()
def test_every_step_is_the_same_operations_on_the_same_memory():
    """Es lo que permite grabar uno y repetirlo: con `PaLMWriter` no se podría."""
    palm = make()
    ids = torch.randint(40, (2, 9))

    def steps(writer):
        _, state = writer.step(ids[:, :3])
        told = []
        for t in range(3, 9):
            with Operations() as operations:
                _, state = writer.step(ids[:, t : t + 1], state)
            told.append(operations.found)
        return told

    writer = fast.graphed(palm, batch=2, capacity=9)
    places = [pair.data_ptr() for pair in writer.memory]
    told = steps(writer)
    assert all(found == told[0] for found in told)
    assert [pair.data_ptr() for pair in writer.memory] == places
    changing = steps(fast.writer(palm))
    assert changing[0] != changing[1]


def test_greedy_and_beam_write_the_same():
    """Las filas que terminan se sueltan, y las del haz se cambian de lugar."""
    palm, prompt = make(torch.float32), torch.randint(40, (3, 4))
    request = {"end_id": 7, "max_new_tokens": 20}
    writer = fast.graphed(palm, batch=9, capacity=24)
    first, second = (greedy(each.step, prompt, **request) for each in (palm, writer))
    assert torch.equal(first.token_ids, second.token_ids)
    first, second = (beam(each.step, prompt, beam_size=3, **request) for each in (palm, writer))
    assert [[h.token_ids for h in row] for row in first] == [
        [h.token_ids for h in row] for row in second
    ]


def test_what_does_not_fit_is_explained():
    writer = fast.graphed(make(), batch=2, capacity=5)
    for shape in ((3, 2), (1, 6)):
        with pytest.raises(ValueError, match="2 filas de 5 posiciones"):
            writer.step(torch.ones(shape, dtype=torch.long))
    _, state = writer.step(torch.ones(2, 5, dtype=torch.long))
    with pytest.raises(ValueError, match="hacen falta 2 de 6"):
        writer.step(torch.ones(2, 1, dtype=torch.long), state)
    with pytest.raises(ValueError, match="hacen falta 3 de 5"):
        state.select(torch.tensor([0, 0, 1]))
    with pytest.raises(ValueError, match=r"de forma \(2, 1\)"):
        writer.step(torch.ones(2, 2, dtype=torch.long), state)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="necesita una GPU")
def test_on_a_gpu_the_step_is_recorded_once():
    palm, prompt = make(torch.float32).to("cuda"), torch.randint(40, (2, 4), device="cuda")
    request = {"end_id": None, "max_new_tokens": 20}
    writer = fast.graphed(palm, batch=2, capacity=24)
    first, second = (greedy(each.step, prompt, **request) for each in (palm, writer))
    assert torch.equal(first.token_ids, second.token_ids)
    assert list(writer.graphs) == [2]
