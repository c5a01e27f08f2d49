"""Los pesos se miran desde fuera: exactos, en orden, y sin que el modelo haga nada distinto."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from course_lib.layers.multi_head_attention import MultiHeadAttention
from course_lib.models.bert import BertConfig, BertForPreTraining
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.text_classifier import TextClassifier, TextClassifierConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.models.universal_transformer import UniversalTransformer, UniversalTransformerConfig
from course_lib.recording import attention_maps

EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 12}
IDS = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 3, 0, 0]])  # la segunda, con relleno

MODELS = {
    "transformer": (
        lambda: Transformer(TransformerConfig(12, **SIZES, num_layers=2)),
        lambda model: model(IDS, IDS[:, :3]),
        [(5, 5)] * 2 + [(3, 3), (3, 5)] * 2,
    ),
    "text_classifier": (
        lambda: TextClassifier(TextClassifierConfig(12, **SIZES, num_layers=2)),
        lambda model: model(IDS),
        [(5, 5)] * 2,
    ),
    "bert": (
        lambda: BertForPreTraining(BertConfig(12, **SIZES, num_layers=2)),
        lambda model: model(IDS),
        [(5, 5)] * 2,
    ),
    "palm": (
        lambda: PaLM(PaLMConfig(12, **SIZES, num_layers=2)),
        lambda model: model(IDS),
        [(5, 5)] * 2,
    ),
    "transformer_xl": (
        lambda: TransformerXL(TransformerXLConfig(12, **SIZES, num_layers=2, memory_length=4)),
        lambda model: model(IDS[:, :2], model(IDS)[1]),
        [(5, 5)] * 2 + [(2, 6)] * 2,
    ),
    "universal_transformer": (
        lambda: UniversalTransformer(
            UniversalTransformerConfig(12, **SIZES, max_steps=2, adaptive=False)
        ),
        lambda model: model(IDS, IDS[:, :3]),
        [(5, 5)] * 2 + [(3, 3), (3, 5)] * 2,
    ),
}
every_model = pytest.mark.parametrize("name", MODELS)


def make(name):
    build, run, shapes = MODELS[name]
    return build().double().eval(), run, shapes


@every_model
@torch.no_grad()
def test_one_map_a_call_in_the_order_of_the_call(name):
    model, run, shapes = make(name)
    with attention_maps(model) as A:
        run(model)
    assert [tuple(each.shape) for each in A] == [(2, 2, *shape) for shape in shapes]
    for each in A:
        assert_close(each.sum(-1), torch.ones_like(each[..., 0]), **EXACT)


@every_model
@torch.no_grad()
def test_the_weights_explain_what_the_fused_kernel_gave(name):
    """A V, con los pesos apuntados, es lo que dio el núcleo de torch en cada llamada."""
    model, run, _ = make(name)
    mixed = []

    def note(layer, inputs, H):
        mixed.append((inputs[2], H))

    layers = [m for m in model.modules() if hasattr(m, "weights")]
    for layer in layers:
        layer.register_forward_hook(note)
    with attention_maps(model) as A:
        run(model)
    assert len(mixed) == len(A) > 0
    for weights, (V, H) in zip(A, mixed, strict=True):
        assert_close(weights @ V, H, **EXACT)


@every_model
def test_looking_changes_neither_the_result_nor_the_gradient_nor_the_model(name):
    model, run, _ = make(name)

    def result():
        output = run(model)
        output = getattr(output, "logits", output[0] if isinstance(output, tuple) else output)
        return output, torch.autograd.grad(
            output.square().sum(), model.parameters(), allow_unused=True, materialize_grads=True
        )

    before = [(set(vars(m)), list(m._forward_pre_hooks)) for m in model.modules()]
    expected = result()
    with attention_maps(model):
        found = result()
    assert torch.equal(found[0], expected[0])
    for gradient, wanted in zip(found[1], expected[1], strict=True):
        assert torch.equal(gradient, wanted)
    assert [(set(vars(m)), list(m._forward_pre_hooks)) for m in model.modules()] == before


@every_model
def test_nobody_writes_the_weights_out_when_nobody_looks(name, monkeypatch):
    model, run, shapes = make(name)
    fused, calls = F.scaled_dot_product_attention, []

    def spy(*arguments, **options):
        calls.append(arguments[0].shape)
        return fused(*arguments, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", spy)
    softmax = "course_lib.layers.multi_head_attention.attention_weights"
    monkeypatch.setattr(softmax, lambda *a, **k: pytest.fail("se forman los pesos"))
    run(model)
    assert len(calls) == len(shapes)


@torch.no_grad()
def test_with_a_cache_each_step_adds_its_own():
    model, _, _ = make("palm")
    with attention_maps(model) as whole:
        model(IDS)
    with attention_maps(model) as steps:
        _, cache = model(IDS[:, :3])
        for i in (3, 4):
            _, cache = model(IDS[:, i : i + 1], cache)
    assert [tuple(A.shape[2:]) for A in steps] == [(3, 3)] * 2 + [(1, 4)] * 2 + [(1, 5)] * 2
    for layer in range(2):
        assert_close(steps[4 + layer][:, :, 0], whole[layer][:, :, 4], **EXACT)
        assert_close(steps[layer], whole[layer][:, :, :3, :3], **EXACT)


@torch.no_grad()
def test_nested_each_list_gets_what_happens_inside_it():
    model, run, _ = make("transformer")
    with attention_maps(model) as outer:
        run(model)
        with attention_maps(model.encoder_decoder.encoder) as inner:
            run(model)
    run(model)
    assert len(outer) == 12 and len(inner) == 2
    for found, same in zip(inner, outer[6:8], strict=True):
        assert torch.equal(found, same)


def test_an_error_inside_leaves_nobody_looking():
    layer = MultiHeadAttention(8, 2)
    with pytest.raises(ZeroDivisionError), attention_maps(layer) as A:
        layer(torch.randn(1, 3, 8))
        raise ZeroDivisionError
    layer(torch.randn(1, 3, 8))
    assert len(A) == 1


def test_the_dropout_falls_after_the_weights():
    layer = MultiHeadAttention(8, 2, dropout=0.5).train()
    with attention_maps(layer) as A:
        layer(torch.randn(1, 30, 8))
    assert (A[0] > 0).all()


@pytest.mark.parametrize("attention", ["additive", "dot"])
def test_a_recurrent_decoder_is_looked_at_too(attention):
    model = Seq2Seq(Seq2SeqConfig(12, 12, d_model=8, attention=attention))
    with attention_maps(model) as A:
        model(IDS, IDS[:, :3])
    A = torch.cat(A, dim=2)
    assert A.shape == (2, 1, 3, 5)
    assert (A[1, :, :, 3:] == 0).all(), "el relleno recibe atención"


def test_a_layer_of_ones_own_is_noted_if_it_has_weights():
    class Mean(nn.Module):
        def forward(self, X):
            return self.weights(X) @ X[:, None]

        def weights(self, X):
            t = X.shape[-2]
            return X.new_full((len(X), 1, t, t), 1 / t)

    ours, other, X = nn.Sequential(Mean()), Mean(), torch.randn(2, 3, 4)
    with attention_maps(ours) as A:
        other(X)
        H = ours(X)
    assert len(A) == 1, "se apuntó una capa de fuera"
    assert torch.equal(A[0] @ X[:, None], H)


def test_a_model_without_attention_is_explained():
    with (
        pytest.raises(ValueError, match="alguna atención y llegó Linear"),
        attention_maps(nn.Linear(2, 2)),
    ):
        pass
