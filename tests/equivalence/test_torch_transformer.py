"""Bloques, pilas y Transformer contra los de torch.nn, con los mismos pesos.

Salidas y gradientes, de las entradas y de cada parámetro. Como programa imprime la tabla de
errores: python tests/equivalence/test_torch_transformer.py
"""

import copy
import itertools
import sys
import warnings
from typing import NamedTuple

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib.layers.normalization import RMSNorm
from course_lib.pretrained import load_torch_transformer
from course_lib.primitives.attention import causal_mask, padding_mask

TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
MODULES = ("EncoderLayer", "DecoderLayer", "Encoder", "Decoder", "Transformer")
MASKS = ("nada", "relleno", "causal", "relleno y causal")
D_MODEL, HEADS, D_FF, LAYERS = 12, 4, 20, 2
T_SOURCE, T_TARGET = 6, 5
SOURCE_IDS = torch.tensor([[1] * 6, [1] * 4 + [0] * 2, [1] + [0] * 5])
TARGET_IDS = torch.tensor([[1] * 5, [1] * 3 + [0] * 2, [1] + [0] * 4])

pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor is True:UserWarning")


class Case(NamedTuple):
    module: str
    norm_first: bool
    activation: str
    masks: str
    dtype: torch.dtype
    bias: bool = True

    def __str__(self):
        placement = "pre" if self.norm_first else "post"
        parts = [self.module, placement, self.activation, self.masks, str(self.dtype)[6:]]
        return "-".join(parts if self.bias else [*parts, "sin sesgos"])


CASES = [
    Case(*values)
    for values in itertools.product(MODULES, (0, 1), ("relu", "gelu"), MASKS, TOLERANCE)
]
CASES += [Case(module, 1, "gelu", "relleno y causal", torch.float64, False) for module in MODULES]


def make_theirs(case):
    """El módulo de torch, con todos los parámetros al azar: ningún sesgo es cero."""
    options = {
        "dim_feedforward": D_FF,
        "dropout": 0.0,
        "activation": case.activation,
        "norm_first": bool(case.norm_first),
        "batch_first": True,
        "bias": case.bias,
    }
    if case.module == "Transformer":
        module = nn.Transformer(D_MODEL, HEADS, LAYERS, LAYERS, **options)
    else:
        kind = case.module.removesuffix("Layer")
        module = getattr(nn, f"Transformer{kind}Layer")(D_MODEL, HEADS, **options)
        if kind == case.module:
            norm = nn.LayerNorm(D_MODEL, bias=case.bias) if case.norm_first else None
            module = getattr(nn, f"Transformer{kind}")(module, LAYERS, norm)
    for p in module.parameters():
        nn.init.normal_(p, std=0.3)
    return module.to(case.dtype)


def their_masks(case):
    """Las máscaras en la convención de torch (True = oculto), por nombre de argumento."""
    padded, causal = "relleno" in case.masks, "causal" in case.masks
    source_pad, target_pad = SOURCE_IDS == 0, TARGET_IDS == 0
    future = {n: ~causal_mask(n) for n in (T_SOURCE, T_TARGET)}
    if "Encoder" in case.module:
        prefix = "src_" if case.module == "EncoderLayer" else ""
        masks = {"src_mask" if prefix else "mask": future[T_SOURCE]} if causal else {}
        return masks | ({"src_key_padding_mask": source_pad} if padded else {})
    masks = {"tgt_mask": future[T_TARGET]} if causal else {}
    if padded:
        masks |= {"tgt_key_padding_mask": target_pad, "memory_key_padding_mask": source_pad}
        if case.module == "Transformer":
            masks["src_key_padding_mask"] = source_pad
    return masks


def our_masks(case):
    """Lo mismo en la convención del curso (True = visible)."""
    padded, causal = "relleno" in case.masks, "causal" in case.masks
    source, target = padding_mask(SOURCE_IDS, 0), padding_mask(TARGET_IDS, 0)
    if "Encoder" in case.module:
        return {"causal": causal, "mask": source if padded else None}
    if case.module == "Transformer":
        names = ("source_mask", "target_mask", "cross_mask")
        masks = zip(names, (source, target, source), strict=True)
    else:
        masks = zip(("mask", "cross_mask"), (target, source), strict=True)
    return {"causal": causal} | (dict(masks) if padded else {})


def make_inputs(case):
    x = torch.randn(3, T_SOURCE, D_MODEL, dtype=case.dtype, requires_grad=True)
    y = torch.randn(3, T_TARGET, D_MODEL, dtype=case.dtype, requires_grad=True)
    if "Encoder" in case.module:
        return (x,)
    return (x, y) if case.module == "Transformer" else (y, x)


def in_our_layout(theirs):
    """Los gradientes de torch, repartidos en un módulo del curso."""
    gradients = copy.deepcopy(theirs)
    for p, q in zip(gradients.parameters(), theirs.parameters(), strict=True):
        p.data = q.grad
    return dict(load_torch_transformer(gradients).named_parameters())


def largest(ours, theirs):
    """El mayor error, relativo donde el valor es grande y absoluto donde es pequeño."""
    return max(
        ((a - b).abs() / (1 + b.abs())).max().item() for a, b in zip(ours, theirs, strict=True)
    )


def errors(case):
    """Los mayores errores de la salida, de los gradientes de entrada y de los de parámetros."""
    torch.manual_seed(0)
    theirs = make_theirs(case)
    ours = load_torch_transformer(theirs)
    inputs = make_inputs(case)
    expected = theirs(*inputs, **their_masks(case))
    output = ours(*inputs, **our_masks(case))
    weights = torch.randn_like(output)
    their_grads = torch.autograd.grad((expected * weights).sum(), inputs, retain_graph=True)
    our_grads = torch.autograd.grad((output * weights).sum(), inputs, retain_graph=True)
    (expected * weights).sum().backward(inputs=list(theirs.parameters()))
    (output * weights).sum().backward(inputs=list(ours.parameters()))
    wanted = in_our_layout(theirs)
    got = dict(ours.named_parameters())
    assert wanted.keys() == got.keys()
    return (
        largest([output], [expected]),
        largest(our_grads, their_grads),
        largest([got[name].grad for name in wanted], wanted.values()),
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_same_output_and_gradients(case):
    output, input_gradient, parameter_gradient = errors(case)
    limit = TOLERANCE[case.dtype]
    assert output < limit, "la salida"
    assert input_gradient < limit, "el gradiente de las entradas"
    assert parameter_gradient < limit, "el gradiente de los parámetros"


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("module", MODULES)
def test_same_output_in_evaluation(module, norm_first):
    """En evaluación torch usa otro camino, que pone ceros en el relleno: cuenta lo demás."""
    case = Case(module, norm_first, "relu", "relleno y causal", torch.float64)
    if "Encoder" in module:
        case = case._replace(masks="relleno")
    theirs = make_theirs(case).eval()
    ours = load_torch_transformer(theirs)
    inputs = make_inputs(case)
    with torch.no_grad():
        expected, output = theirs(*inputs, **their_masks(case)), ours(*inputs, **our_masks(case))
    real = (SOURCE_IDS if "Encoder" in module else TARGET_IDS) != 0
    assert_close(output[real], expected[real], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_against_the_stored_outputs(golden, dtype):
    """Salidas guardadas de torch.nn.Transformer: cada capa, la salida y todos los gradientes."""
    folder = "03_torch_transformer_postln"
    inputs = golden(folder, "inputs")
    expected = golden(folder, {torch.float64: "out_f64", torch.float32: "out_f32"}[dtype])
    theirs = nn.Transformer(32, 4, 2, 2, 48, dropout=0.0, batch_first=True).to(dtype)
    theirs.load_state_dict(golden(folder, "weights"))
    ours = load_torch_transformer(theirs)
    x, y = (inputs[name].to(dtype).requires_grad_() for name in ("src", "tgt"))
    source, target = (~inputs[f"{name}_key_padding_mask"][:, None] for name in ("src", "tgt"))
    layers = {}
    for kind, stack in (("enc", ours.encoder), ("dec", ours.decoder)):
        for i, block in enumerate(stack.blocks):
            block.register_forward_hook(keep_as(layers, f"{kind}_layer.{i}"))
    output = ours(x, y, source_mask=source, target_mask=target, cross_mask=source)
    exact = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    for name, layer in layers.items():
        assert_close(layer, expected[name], **exact)
    assert_close(output, expected["output"], **exact)
    assert_close(ours(x, y, causal=False), expected["out_nomask"], **exact)

    ramp = torch.linspace(-1, 1, output.numel(), dtype=dtype).view_as(output)
    (output * ramp * target.transpose(1, 2)).sum().backward()
    assert_close(x.grad, expected["grad_in/src"], **exact)
    assert_close(y.grad, expected["grad_in/tgt"], **exact)
    for name, p in theirs.named_parameters():
        p.grad = expected[f"grad/{name}"]
    got = dict(ours.named_parameters())
    for name, gradient in in_our_layout(theirs).items():
        assert_close(got[name].grad, gradient.data, **exact)


def keep_as(layers, name):
    return lambda module, inputs, output: layers.update({name: output})


def test_everything_travels_with_the_weights():
    theirs = nn.Transformer(8, 2, 1, 3, 16, dropout=0.25, layer_norm_eps=1e-3).double().eval()
    ours = load_torch_transformer(theirs)
    assert [len(stack.blocks) for stack in (ours.encoder, ours.decoder)] == [1, 3]
    assert next(ours.parameters()).dtype == torch.float64
    assert not ours.training and not ours.decoder.blocks[2].cross_attention.training
    assert {m.eps for m in ours.modules() if isinstance(m, nn.LayerNorm)} == {1e-3}
    dropouts = [m.p for m in ours.modules() if isinstance(m, nn.Dropout)]
    assert len(dropouts) == 3 + 3 * 4 and set(dropouts) == {0.25}
    assert ours.encoder.blocks[0].attention.mix.dropout == 0.25
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())


def test_the_weights_are_copies():
    theirs = nn.TransformerEncoderLayer(4, 2, 8)
    ours = load_torch_transformer(theirs)
    with torch.no_grad():
        ours.feed_forward.W_1.weight.zero_()
    assert theirs.linear1.weight.abs().sum() > 0


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (nn.Linear(2, 2), "llegó Linear"),
        (nn.TransformerEncoderLayer(4, 2, 8, activation=torch.tanh), "ReLU o GELU"),
        (nn.TransformerEncoderLayer(4, 2, 8, activation=nn.GELU("tanh")), "ReLU o GELU"),
        (
            nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8), 1, nn.RMSNorm(4)),
            "hay una RMSNorm",
        ),
    ],
)
def test_what_the_course_lacks_is_refused(as_user, source, message):
    with pytest.raises(ValueError, match=message):
        load_torch_transformer(source)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("eps", [1e-6, 1e-2])
def test_rms_norm(dtype, eps):
    exact = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    ours, theirs = RMSNorm(7, eps).to(dtype), nn.RMSNorm(7, eps).to(dtype)
    nn.init.normal_(theirs.weight)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 5, 7, dtype=dtype, requires_grad=True)
    weights = torch.randn_like(x)
    assert_close(ours(x), theirs(x), **exact)
    gradients = [
        torch.autograd.grad((norm(x) * weights).sum(), (x, norm.weight)) for norm in (ours, theirs)
    ]
    for ours, theirs in zip(*gradients, strict=True):
        assert_close(ours, theirs, **exact)


def print_table():
    columns = ("salida", "gradiente de entradas", "gradiente de parámetros")
    print(f"{'caso':<60}" + "".join(f"{column:>25}" for column in columns))
    worst = dict.fromkeys(TOLERANCE, 0.0)
    for case in CASES:
        found = errors(case)
        worst[case.dtype] = max(worst[case.dtype], *found)
        print(f"{case!s:<60}" + "".join(f"{error:>25.1e}" for error in found))
    for dtype, error in worst.items():
        print(f"El mayor en {dtype}: {error:.1e} (tolerancia {TOLERANCE[dtype]:.0e})")
    return worst


if __name__ == "__main__":
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", "enable_nested_tensor is True", UserWarning)
    sys.exit(any(error >= TOLERANCE[dtype] for dtype, error in print_table().items()))
