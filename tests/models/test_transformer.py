"""El Transformer entero: formas, recuentos y generación con caché."""

import pytest
import torch
from torch.testing import assert_close

from course_lib.models.transformer import Transformer, TransformerConfig


@pytest.mark.parametrize("placement", ["post", "pre", "sandwich"])
def test_steps_give_the_logits_of_the_whole_pass(placement):
    config = TransformerConfig(
        50, 60, d_model=32, num_heads=4, num_layers=2, d_ff=64, placement=placement
    )
    model = Transformer(config).eval().double()
    source, target = torch.randint(1, 50, (3, 7)), torch.randint(1, 60, (3, 9))
    source[1, 4:] = 0
    with torch.no_grad():
        expected, state, logits = model(source, target), model.start(source), []
        for chunk in target.split([1, 3, 1, 4], 1):
            new, state = model.step(chunk, state)
            logits.append(new)
    assert_close(torch.cat(logits, 1), expected, rtol=1e-10, atol=1e-10)
