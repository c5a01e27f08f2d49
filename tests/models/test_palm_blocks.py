import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from course_lib.layers.multi_head_attention import KeyValueCache
from course_lib.models.palm import ParallelBlock, SerialBlock
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}


def make(Block, **options):
    block = Block(8, 2, 12, **options).double()
    for name, parameter in block.named_parameters():
        if "norm" in name:
            torch.nn.init.normal_(parameter)
    return block


@torch.no_grad()
def test_in_parallel_both_read_the_same_and_are_added():
    block, x = make(ParallelBlock), torch.randn(2, 3, 8, dtype=torch.float64)
    normed = F.layer_norm(x, (8,), block.norm.weight)
    expected = x + block.attention(normed) + block.feed_forward(normed)
    assert_close(block(x), expected, **EXACT)


@torch.no_grad()
def test_in_series_the_network_reads_what_attention_added():
    block, x = make(SerialBlock), torch.randn(2, 3, 8, dtype=torch.float64)
    z = x + block.attention(F.layer_norm(x, (8,), block.norm.weight))
    expected = z + block.feed_forward(F.layer_norm(z, (8,), block.inner_norm.weight))
    assert_close(block(x), expected, **EXACT)


@pytest.mark.parametrize("Block", [ParallelBlock, SerialBlock])
@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_no_biases(Block, norm):
    names = [name for name, _ in make(Block, norm=norm).named_parameters()]
    assert not any("bias" in name for name in names)


@pytest.mark.parametrize("Block", [ParallelBlock, SerialBlock])
def test_each_dropout_falls_where_it_says(Block):
    x = torch.randn(1, 4, 8)
    summed, weights = Block(8, 2, 12, dropout=0.9), Block(8, 2, 12, attention_dropout=0.9)
    assert summed.attention.mix.dropout == 0.0 and weights.dropout.p == 0.0
    for block in (summed, weights):
        assert not torch.equal(block(x), block(x))
        assert torch.equal(block.eval()(x), block(x))


@pytest.mark.parametrize("Block", [ParallelBlock, SerialBlock])
@torch.no_grad()
def test_weights_and_cache_come_out(Block):
    block, x = make(Block), torch.randn(2, 3, 8, dtype=torch.float64)
    with attention_maps(block) as A:
        y = block(x, cache := KeyValueCache())
    assert_close(y, block(x), **EXACT)
    assert cache.length == 3 and A[0].shape == (2, 2, 3, 3)
    assert_close(A[0].sum(-1), torch.ones(2, 2, 3, dtype=torch.float64))


def test_both_norms_of_a_serial_block_take_its_epsilon():
    block = SerialBlock(8, 2, 12, eps=0.5)
    assert block.norm.eps == block.inner_norm.eps == 0.5
