import math

import pytest
import torch

from course_lib.layers.swiglu import Dense


def test_the_first_weights_keep_the_scale():
    layer = Dense(400, 300)
    assert layer.bias is None
    assert layer.weight.std().item() == pytest.approx(1 / math.sqrt(400), rel=0.02)
    assert layer(torch.randn(50, 400)).std().item() == pytest.approx(1.0, rel=0.03)
