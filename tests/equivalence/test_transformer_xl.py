"""Transformer-XL contra el de Hugging Face (4.57, el último que lo tuvo) y contra sus salidas.

Los pesos son al azar, también los que suelen comenzar en cero o en uno: así se nota cada uno. La
memoria se compara segmento a segmento. Como programa imprime la tabla de errores:
python tests/equivalence/test_transformer_xl.py
"""

import json
import logging
import sys
import tempfile
import warnings
from collections import defaultdict

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch.testing import assert_close

from course_lib.fast.frozen_memory import frozen
from course_lib.models.transformer_xl import Memory
from course_lib.pretrained import load_transformer_xl
from course_lib.recording import attention_maps

GOLDEN = "02_transfo_xl_a_tied_r"
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
SIZES = {
    "vocab_size": 60,
    "d_model": 24,
    "d_embed": 24,
    "n_head": 3,
    "d_head": 8,
    "d_inner": 40,
    "n_layer": 3,
    "mem_len": 6,
    "cutoffs": [],
    "div_val": 1,
    "clamp_len": -1,
    "same_length": False,
}
ADAPTIVE = {"cutoffs": [10, 25, 40]}
VARIANTS = {
    "separados": {"untie_r": True},
    "compartidos": {"untie_r": False},
    "tope": {"clamp_len": 4},
    "igual longitud": {"same_length": True},
    "igual longitud y tope": {"same_length": True, "clamp_len": 3, "mem_len": 9},
    "norma delante": {"pre_lnorm": True},
    "sin memoria": {"mem_len": 0},
    "incrustación estrecha": {"d_embed": 16},
    "cortes": ADAPTIVE,
    "cortes estrechos": ADAPTIVE | {"d_embed": 16},
    "cortes, div_val 2": ADAPTIVE | {"div_val": 2},
    "cortes, div_val 2, proyecciones propias": ADAPTIVE
    | {"div_val": 2, "proj_share_all_but_first": False},
    "cortes estrechos, proyecciones propias": ADAPTIVE
    | {"d_embed": 16, "proj_share_all_but_first": False},
    "como el publicado": ADAPTIVE
    | {"div_val": 2, "untie_r": True, "same_length": True, "clamp_len": 5, "mem_len": 8},
}


@pytest.fixture
def hugging_face(monkeypatch):
    """Crea un TransfoXLLMHeadModel con pesos al azar: `create(dtype, **settings)`."""
    return creator(monkeypatch)


def creator(monkeypatch):
    """Prepara a Hugging Face para torch de hoy y para calcular de veras en float64.

    Su `forward` llama a `type_as(dtype=…)`, que torch ya no admite, y pasa las puntuaciones por
    float32 antes de la máscara.
    """
    from transformers.models.deprecated import transfo_xl

    type_as, to_float = torch.Tensor.type_as, torch.Tensor.float

    def new_type_as(self, other=None, dtype=None):
        return type_as(self, other) if dtype is None else self.to(dtype)

    def wide_float(self):
        return self if self.dtype == torch.float64 else to_float(self)

    monkeypatch.setattr(torch.Tensor, "type_as", new_type_as)
    monkeypatch.setattr(torch.Tensor, "float", wide_float)

    def create(dtype=torch.float32, **settings):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            config = transfo_xl.TransfoXLConfig(**SIZES | settings)
            model = transfo_xl.TransfoXLLMHeadModel(config).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(std=0.3)
        model.to(dtype)
        exponents = torch.arange(0, config.d_model, 2, dtype=dtype) / config.d_model
        model.transformer.pos_emb.inv_freq = 1 / 10_000**exponents
        return model

    return create


def loaded(theirs, folder):
    # Con u y v compartidos, Hugging Face no sabe escribir safetensors: queda el .bin.
    theirs.save_pretrained(folder, safe_serialization=theirs.config.untie_r)
    return load_transformer_xl(folder)


def no_memory(theirs, batch):
    """El comienzo de los autores: ninguna posición delante, ni siquiera ceros."""
    config = theirs.config
    empty = torch.zeros(0, batch, config.d_model, dtype=theirs.dtype)
    return [empty] * config.n_layer if config.mem_len else None


def close(actual, expected, dtype, what):
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    assert_close(actual, expected, **tolerance, msg=lambda m: f"{what}\n{m}")


@torch.no_grad()
def compared(theirs, ours):
    """Da (qué, segmento, nuestro, suyo), segmento a segmento, con las dos memorias."""
    mems, memory, kept, reader = no_memory(theirs, 2), None, None, frozen(ours)
    for number, t in enumerate((5, 5, 1, 8, 3)):
        token_ids = torch.randint(60, (2, t))
        expected = theirs(token_ids, mems=mems, output_attentions=True)
        with attention_maps(ours) as weights:
            logits, memory = ours(token_ids, memory)
        fast, kept = reader(token_ids, kept)
        mems = expected.mems
        yield "log P", number, logits.log_softmax(-1), expected.logits
        yield "log P, memoria congelada", number, fast.log_softmax(-1), expected.logits
        for A, their_A in zip(weights, expected.attentions, strict=True):
            yield "pesos", number, A, their_A
        for state, their_state in zip(memory.states, mems or [], strict=bool(mems)):
            yield "memoria", number, state, their_state.transpose(0, 1)
        assert memory.length == kept.length == (mems[0].shape[0] if mems else 0)


@DTYPES
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_same_in_every_segment(hugging_face, tmp_path, variant, dtype):
    theirs = hugging_face(dtype, **VARIANTS[variant])
    for what, segment, actual, expected in compared(theirs, loaded(theirs, tmp_path)):
        close(actual, expected, dtype, f"{what}, {variant}, segmento {segment}")


@DTYPES
@pytest.mark.parametrize("variant", ["separados", "cortes, div_val 2", "cortes estrechos"])
def test_the_same_losses_and_gradients(hugging_face, tmp_path, variant, dtype):
    theirs = hugging_face(dtype, **VARIANTS[variant])
    ours = loaded(theirs, tmp_path)
    past, token_ids = torch.randint(60, (2, 6)), torch.randint(60, (2, 7))
    _, memory = ours(past)
    nll, _ = ours.nll(token_ids[:, :-1], token_ids[:, 1:], memory)
    mems = [state.transpose(0, 1) for state in memory.states]
    scores = theirs(token_ids[:, :-1], mems=mems).logits
    expected = F.nll_loss(scores.mT, token_ids[:, 1:], reduction="none")
    close(nll, expected, dtype, "−log P")
    nll.sum().backward()
    expected.sum().backward()
    tables = [table.weight.grad for table in ours.embedding.tables]
    their_tables = [table.weight.grad for table in theirs.transformer.word_emb.emb_layers]
    pairs = {
        "W_qkv": (
            ours.blocks[1].attention.W_qkv.weight.grad,
            theirs.transformer.layers[1].dec_attn.qkv_net.weight.grad,
        ),
        "u": (ours.blocks[0].attention.u.grad, theirs.transformer.layers[0].dec_attn.r_w_bias.grad),
        "v": (ours.blocks[0].attention.v.grad, theirs.transformer.layers[0].dec_attn.r_r_bias.grad),
        "tablas": (
            torch.cat([grad.flatten() for grad in tables]),
            torch.cat([grad.flatten() for grad in their_tables]),
        ),
    }
    for name, (grad, their_grad) in pairs.items():
        scale = their_grad.abs().max()
        close(grad / scale, their_grad / scale, dtype, f"gradiente de {name}")


# Salidas guardadas


@pytest.fixture
def saved(golden, tmp_path):
    """La carpeta con los pesos de las salidas de referencia, y esas salidas."""

    def load(dtype):
        from tests.conftest import GOLDENS

        weights = golden(GOLDEN, "weights")
        (tmp_path / "config.json").write_text((GOLDENS / GOLDEN / "config.json").read_text())
        save_file(weights, tmp_path / "model.safetensors")
        outputs = golden(GOLDEN, "out_f64" if dtype == torch.float64 else "out_f32")
        model = load_transformer_xl(tmp_path).to(dtype)
        return model, golden(GOLDEN, "inputs"), outputs

    return load


@DTYPES
@pytest.mark.parametrize("start, count", [("paper_empty_mems", 4), ("hf_default_zero_mems", 2)])
@torch.no_grad()
def test_reference_outputs(saved, start, count, dtype):
    """Con el comienzo vacío de los autores, y con el de ceros si alguien lo pide."""
    model, inputs, outputs = saved(dtype)
    zeros = tuple(torch.zeros(2, 6, 24, dtype=dtype) for _ in model.blocks)
    memory = None if start == "paper_empty_mems" else Memory(6, zeros)
    for segment in range(count):
        with attention_maps(model) as weights:
            logits, memory = model(inputs[f"seg{segment}"], memory)
        key = f"{start}/seg{segment}"
        close(logits, outputs[f"{key}.logits"], dtype, f"{key}: logits")
        for layer, (state, A) in enumerate(zip(memory.states, weights, strict=True)):
            expected = outputs[f"{key}.mems.{layer}"].transpose(0, 1)
            close(state, expected, dtype, f"{key}: memoria {layer}")
            close(A, outputs[f"{key}.attentions.{layer}"], dtype, f"{key}: pesos {layer}")


@DTYPES
def test_reference_gradients(saved, dtype):
    """El gradiente del segundo segmento, con la memoria del primero separada."""
    model, inputs, outputs = saved(dtype)
    _, memory = model(inputs["seg0"])
    logits, _ = model(inputs["seg1"], memory)
    loss = F.cross_entropy(logits.mT, inputs["seg2"])
    loss.backward()
    expected = {
        name.removeprefix("grad_seg1/"): value
        for name, value in outputs.items()
        if name.startswith("grad_seg1/")
    }
    close(loss, expected.pop("loss"), dtype, "pérdida")
    for name, grad in expected.items():
        close(gradient(model, name), grad, dtype, f"gradiente de {name}")


def gradient(model, name):
    """El gradiente del parámetro del curso que corresponde al nombre de Hugging Face."""
    from course_lib.pretrained.transformer_xl import BLOCK_NAMES

    others = {
        "crit.out_layers.0.bias": model.output.biases[0],
        "transformer.r_w_bias": model.blocks[0].attention.u,
        "transformer.r_r_bias": model.blocks[0].attention.v,
        "transformer.word_emb.emb_layers.0.weight": model.embedding.tables[0].weight,
    }
    if name in others:
        return others[name].grad
    _, _, layer, theirs = name.split(".", 3)
    ours = {theirs: ours for ours, theirs in BLOCK_NAMES.items()}[theirs]
    grad = model.blocks[int(layer)].get_parameter(ours).grad
    if ours.endswith("W_r.weight"):  # seno y coseno alternados → [senos | cosenos]
        return torch.cat([grad[:, 0::2], grad[:, 1::2]], dim=1)
    return grad


def test_zeros_are_not_an_empty_memory(hugging_face, tmp_path):
    """El comienzo de Hugging Face atiende a vectores de ceros: no es el del artículo."""
    theirs = hugging_face()
    ours, token_ids = loaded(theirs, tmp_path), torch.randint(60, (1, 5))
    difference = (ours(token_ids)[0].log_softmax(-1) - theirs(token_ids).logits).abs().max()
    assert difference > 0.1
    assert json.loads((tmp_path / "config.json").read_text())["mem_len"] == 6


def print_table(create):
    """El mayor error de cada variante, en todos los segmentos."""
    columns = ("log P", "log P, memoria congelada", "pesos", "memoria")
    print(f"{'variante':<56}" + "".join(f"{column:>26}" for column in columns))
    worst = dict.fromkeys(TOLERANCE, 0.0)
    for dtype in TOLERANCE:
        for variant, settings in VARIANTS.items():
            errors, theirs = defaultdict(float), create(dtype, **settings)
            with tempfile.TemporaryDirectory() as folder:
                ours = loaded(theirs, folder)
            for what, _, actual, expected in compared(theirs, ours):
                errors[what] = max(errors[what], (actual - expected).abs().max().item())
            worst[dtype] = max(worst[dtype], *errors.values())
            name = f"{variant}, {str(dtype).removeprefix('torch.')}"
            print(f"{name:<56}" + "".join(f"{errors[column]:>26.1e}" for column in columns))
    for dtype, error in worst.items():
        print(f"El mayor en {dtype}: {error:.1e} (tolerancia {TOLERANCE[dtype]:.0e})")
    return worst


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    with pytest.MonkeyPatch.context() as patch:
        found = print_table(creator(patch))
    sys.exit(any(error >= TOLERANCE[dtype] for dtype, error in found.items()))
