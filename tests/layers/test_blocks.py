import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from course_lib.layers.arguments import OPTIONS
from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.encoder_decoder import Decoder, Encoder, EncoderDecoder
from course_lib.layers.multi_head_attention import DotProductAttention, KeyValueCache
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = (8, 2, 12)
LAYERS = 2
every_placement = pytest.mark.parametrize("placement", OPTIONS["placement"])


def encoder(**options):
    return randomised(Encoder(*SIZES, LAYERS, **options))


def decoder(**options):
    return randomised(Decoder(*SIZES, LAYERS, **options))


def randomised(module):
    """Ningún parámetro vale 0 o 1, para que no falte ninguno sin que se note."""
    for p in module.parameters():
        nn.init.normal_(p, std=0.4)
    return module.double()


def normal(*shape):
    return torch.randn(*shape, 8, dtype=torch.float64)


@every_placement
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), t=st.integers(1, 6))
def test_the_encoder_sees_a_set(placement, seed, t):
    """Sin posiciones, cambiar el orden de la entrada solo cambia el orden de la salida."""
    torch.manual_seed(seed)
    stack, x, order = encoder(placement=placement), normal(2, t), torch.randperm(t)
    assert_close(stack(x[:, order]), stack(x)[:, order], **EXACT)


@every_placement
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), real=st.integers(1, 4), extra=st.integers(1, 4))
def test_padding_changes_nothing(placement, seed, real, extra):
    """Agregar posiciones ocultas, con lo que sea dentro, no cambia las demás."""
    torch.manual_seed(seed)
    x, y, junk = normal(2, real), normal(2, 3), 100 * normal(2, extra)
    visible = (torch.arange(real + extra) < real)[None, None]
    model = EncoderDecoder(encoder(placement=placement), decoder(placement=placement))
    padded = torch.cat([x, junk], 1)
    assert_close(model.encoder(padded, mask=visible)[:, :real], model.encoder(x), **EXACT)
    output = model(padded, y, source_mask=visible, cross_mask=visible)
    assert_close(output, model(x, y), **EXACT)


@every_placement
@settings(max_examples=15)
@given(seed=st.integers(0, 2**31), t=st.integers(2, 6), data=st.data())
def test_the_future_of_the_target_changes_nothing(placement, seed, t, data):
    torch.manual_seed(seed)
    now = data.draw(st.integers(1, t - 1))
    stack, y, h = decoder(placement=placement), normal(2, t), normal(2, 3)
    other = torch.cat([y[:, :now], normal(2, t - now)], 1)
    assert_close(stack(other, h)[:, :now], stack(y, h)[:, :now], **EXACT)
    assert not torch.allclose(stack(other, h)[:, now:], stack(y, h)[:, now:])
    assert not torch.allclose(stack(y, h, causal=False)[:, :now], stack(y, h)[:, :now])


def test_a_causal_encoder_does_not_see_the_future_either():
    stack, x = encoder(), normal(1, 5).requires_grad_()
    stack(x, causal=True)[0, 2].sum().backward()
    assert x.grad[0, :3].abs().sum() > 0
    assert x.grad[0, 3:].abs().sum() == 0


def test_the_decoder_reads_every_position_of_the_source():
    h = normal(1, 4).requires_grad_()
    decoder()(normal(1, 3), h)[0, 0].sum().backward()
    assert (h.grad[0].abs().sum(-1) > 0).all()


@every_placement
def test_rows_that_see_nothing_give_no_nan(placement):
    x, y = normal(2, 4).requires_grad_(), normal(2, 3).requires_grad_()
    hidden = torch.tensor([[[True] * 4], [[False] * 4]])  # el segundo origen es todo relleno
    model = EncoderDecoder(encoder(placement=placement), decoder(placement=placement))
    with attention_maps(model) as A:
        output = model(x, y, source_mask=hidden, cross_mask=hidden)
    output.square().sum().backward()
    for X in (output, *A, x.grad, y.grad, *(p.grad for p in model.parameters())):
        assert X.isfinite().all()


@every_placement
def test_weights_come_by_layer_and_asking_for_them_changes_nothing(placement):
    model = EncoderDecoder(encoder(placement=placement), decoder(placement=placement))
    x, y, visible = normal(2, 4), normal(2, 3), torch.tensor([True, True, True, False])[None, None]
    masks = {"source_mask": visible, "cross_mask": visible}
    with attention_maps(model) as A:
        output = model(x, y, **masks)
    weights = {"encoder": A[:LAYERS], "decoder": A[LAYERS::2], "cross": A[LAYERS + 1 :: 2]}
    assert_close(output, model(x, y, **masks), **EXACT)
    shapes = {"encoder": (2, 2, 4, 4), "decoder": (2, 2, 3, 3), "cross": (2, 2, 3, 4)}
    for name, shape in shapes.items():
        layers = weights[name]
        assert [A.shape for A in layers] == [shape] * LAYERS, name
        for A in layers:
            assert_close(A.sum(-1), torch.ones_like(A[..., 0]))
        assert not torch.allclose(layers[0], layers[1])
    assert all((A[..., 3] == 0).all() for A in (*weights["encoder"], *weights["cross"]))
    assert all((A.triu(1) == 0).all() for A in weights["decoder"])


@pytest.mark.parametrize("norm", OPTIONS["norm"])
@every_placement
def test_steps_equal_the_whole_pass(placement, norm):
    stack, y, h = decoder(placement=placement, norm=norm), normal(2, 7), normal(2, 4)
    visible = torch.tensor([True, True, True, False])[None, None].expand(2, 1, 4)
    caches = [KeyValueCache() for _ in stack.blocks]
    seen = {"cross_mask": visible, "caches": caches}
    outputs = [stack(chunk, h, **seen) for chunk in y.split([2, 1, 3, 1], 1)]
    assert_close(torch.cat(outputs, 1), stack(y, h, cross_mask=visible), **EXACT)


@pytest.mark.parametrize("Stack", [Encoder, Decoder])
def test_the_final_norm_is_there_when_the_placement_needs_it(Stack):
    def normalises(**options):
        return isinstance(Stack(*SIZES, 1, **options).norm, nn.LayerNorm)

    assert {p: normalises(placement=p) for p in OPTIONS["placement"]} == {
        "post": False,
        "pre": True,
        "sandwich": True,
    }
    assert normalises(placement="post", final_norm=True)
    assert not normalises(placement="pre", final_norm=False)


@pytest.mark.parametrize("Block", [EncoderBlock, DecoderBlock])
def test_options_reach_every_part(Block):
    block = Block(*SIZES, dropout=0.1, inner_dropout=0.2, activation="gelu", norm="rms", bias=False)
    assert not [name for name, _ in block.named_parameters() if "bias" in name]
    assert {m.p for m in block.modules() if isinstance(m, nn.Dropout)} == {0.1, 0.2}
    assert {m.dropout for m in block.modules() if isinstance(m, DotProductAttention)} == {0.2}
    assert block.feed_forward.activation == "gelu"


def test_blocks_do_not_share_parameters():
    stack = Encoder(*SIZES, 3)
    assert len({p.data_ptr() for p in stack.parameters()}) == len(list(stack.parameters()))
    assert len(list(stack.parameters())) == 3 * len(list(stack.blocks[0].parameters()))


def test_no_tensor_stays_on_the_modules_after_a_pass():
    model = EncoderDecoder(encoder(), decoder())
    before = [set(vars(m)) for m in model.modules()]
    with attention_maps(model):
        model(normal(1, 3), normal(1, 2))
    assert [set(vars(m)) for m in model.modules()] == before


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Encoder(*SIZES, 0), "num_layers: se esperaba un entero positivo y llegó 0"),
        (lambda: Decoder(8, 3, 12, 1), "d_model = 8, num_heads = 3"),
        (lambda: EncoderBlock(*SIZES, placement="middle"), "y llegó 'middle'"),
    ],
)
def test_bad_options_are_explained(as_user, make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_source_of_another_width_is_explained(as_user):
    with pytest.raises(ValueError, match=r"X_k: se esperaba un ancho de 8 y llegó.*\(1, 3, 6\)"):
        decoder()(normal(1, 2), torch.zeros(1, 3, 6, dtype=torch.float64))
