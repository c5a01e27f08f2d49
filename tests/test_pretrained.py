"""Carpetas de Hugging Face: lo que falta, sobra o no se admite se dice con su nombre."""

import contextlib
import functools
import json
import pickle
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch.testing import assert_close

from course_lib.models.text_classifier import TextClassifier, TextClassifierConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_xl import TransformerXL
from course_lib.pretrained import (
    load_model,
    load_transformer,
    load_transformer_xl,
    save_model,
    save_transformer,
)
from course_lib.pretrained.folders import PretrainedFolder
from course_lib.pretrained.transformer_xl import BLOCK_NAMES

CONFIG = {
    "model_type": "transfo-xl",
    "vocab_size": 12,
    "cutoffs": [4],
    "d_model": 8,
    "d_embed": 8,
    "n_head": 2,
    "d_head": 4,
    "d_inner": 6,
    "div_val": 2,
    "pre_lnorm": False,
    "n_layer": 2,
    "mem_len": 5,
    "clamp_len": -1,
    "same_length": False,
    "attn_type": 0,
    "tie_projs": [False, True],
    "dropout": 0.1,
    "dropatt": 0.0,
    "untie_r": False,
    "layer_norm_epsilon": 1e-3,
}


def tensors():
    """Los de un TransfoXLLMHeadModel con esa configuración, con sus nombres."""
    shapes = {
        "transformer.word_emb.emb_layers.0.weight": (4, 8),
        "transformer.word_emb.emb_layers.1.weight": (8, 4),
        "transformer.word_emb.emb_projs.0": (8, 8),
        "transformer.word_emb.emb_projs.1": (8, 4),
        "transformer.r_w_bias": (2, 4),
        "transformer.r_r_bias": (2, 4),
        "crit.out_layers.0.bias": (4,),
        "crit.out_layers.1.bias": (8,),
        "crit.out_projs.0": (8, 8),
        "crit.cluster_weight": (1, 8),
        "crit.cluster_bias": (1,),
    }
    widths = {"qkv_net": (24, 8), "CoreNet.0.weight": (6, 8), "CoreNet.0.bias": (6,)}
    widths |= {"CoreNet.3.weight": (8, 6), "CoreNet.3.bias": (8,), "layer_norm": (8,)}
    for layer in range(2):
        for name in BLOCK_NAMES.values():
            fits = [shape for part, shape in widths.items() if part in name]
            shapes[f"transformer.layers.{layer}.{name}"] = fits[0] if fits else (8, 8)
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def write(folder, weights=None, *, file="model.safetensors", **changes):
    config = {name: value for name, value in (CONFIG | changes).items() if value is not None}
    (folder / "config.json").write_text(json.dumps(config))
    weights = tensors() if weights is None else weights
    if file.endswith(".bin"):
        torch.save(weights, folder / file)
    else:
        save_file(weights, folder / file)
    return weights


def test_every_setting_reaches_the_model(tmp_path):
    write(tmp_path, clamp_len=7, same_length=True)
    xl = load_transformer_xl(tmp_path)
    config = xl.config
    assert (config.memory_length, config.clamp_length, config.same_length) == (5, 7, True)
    assert (config.cutoffs, config.div_val, config.tie_biases) == ((4,), 2, True)
    assert (config.dropout, config.inner_dropout, config.attention_dropout) == (0.1, 0.1, 0.0)
    assert xl.blocks[0].residual_attention.norm.eps == 1e-3
    assert xl.blocks[0].attention.u is xl.blocks[1].attention.u
    assert not xl.training


@torch.no_grad()
def test_every_way_of_storing_the_weights(tmp_path):
    """En un safetensors, en un .bin o partidos con un índice: el mismo modelo."""
    weights, token_ids = tensors(), torch.randint(12, (1, 5))
    folders = [tmp_path / name for name in ("safe", "pickle", "shards")]
    for folder in folders:
        folder.mkdir()
    write(folders[0], weights)
    write(folders[1], weights, file="pytorch_model.bin")
    names = sorted(weights)
    halves = {"a.safetensors": names[::2], "b.safetensors": names[1::2]}
    for file, half in halves.items():
        write(folders[2], {name: weights[name] for name in half}, file=file)
    index = {name: file for file, half in halves.items() for name in half}
    (folders[2] / "model.safetensors.index.json").write_text(json.dumps({"weight_map": index}))
    outputs = [load_transformer_xl(folder)(token_ids)[0] for folder in folders]
    assert_close(outputs[1], outputs[0], rtol=0, atol=0)
    assert_close(outputs[2], outputs[0], rtol=0, atol=0)
    (folders[2] / "b.safetensors").unlink()
    with pytest.raises(ValueError, match=r"falta b\.safetensors"):
        load_transformer_xl(folders[2])


def test_the_type_of_the_weights_is_kept(tmp_path):
    write(tmp_path, {name: tensor.double() for name, tensor in tensors().items()})
    assert load_transformer_xl(tmp_path).output.biases[0].dtype == torch.float64


def test_each_missing_or_misshapen_tensor_is_named(tmp_path):
    weights = tensors()
    for name, tensor in weights.items():
        others = {other: value for other, value in weights.items() if other != name}
        write(tmp_path, others)
        with pytest.raises(ValueError, match=f"falta el tensor «{name}»"):
            load_transformer_xl(tmp_path)
        write(tmp_path, others | {name: torch.cat([tensor, tensor])})
        with pytest.raises(ValueError, match=f"«{name}»: se esperaba la forma"):
            load_transformer_xl(tmp_path)


def test_a_tensor_that_nobody_asked_for_is_named(tmp_path):
    write(tmp_path, n_layer=1)
    with pytest.raises(ValueError, match=r"sobran tensores.*transformer\.layers\.1\."):
        load_transformer_xl(tmp_path)
    write(tmp_path, tensors() | {"transformer.pos_emb.inv_freq": torch.zeros(4)})
    assert isinstance(load_transformer_xl(tmp_path), TransformerXL)


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"attn_type": 1}, "«attn_type» vale 1 y el curso solo admite 0"),
        ({"d_head": 8}, "«d_head» vale 8 y el curso solo admite 4"),
        ({"tie_word_embeddings": False}, "«tie_word_embeddings» vale False"),
        ({"tie_weight": False}, "«tie_weight» vale False"),
        ({"tie_projs": [True, True]}, "«tie_projs» vale"),
        ({"mem_len": None}, "falta «mem_len»"),
        ({"model_type": "bert"}, "«model_type» vale 'bert'"),
        ({"d_model": "doce"}, "«d_model»: se esperaba un entero y llegó 'doce'"),
        ({"n_head": True}, "«n_head»: se esperaba un entero y llegó True"),
        ({"dropout": "0.1"}, "«dropout»: se esperaba un número y llegó '0.1'"),
        ({"same_length": 1}, "«same_length»: se esperaba true o false y llegó 1"),
        ({"cutoffs": 5}, "«cutoffs»: se esperaba una lista de enteros y llegó 5"),
        ({"cutoffs": ["5"]}, "«cutoffs»: se esperaba una lista de enteros"),
    ],
)
def test_what_the_course_lacks_is_refused(tmp_path, changes, message):
    write(tmp_path, **changes)
    with pytest.raises(ValueError, match=message):
        load_transformer_xl(tmp_path)


def test_a_folder_that_is_not_one(tmp_path):
    with pytest.raises(ValueError, match="Aquí no se descarga nada"):
        load_transformer_xl("transfo-xl/transfo-xl-wt103")
    with pytest.raises(ValueError, match=r"falta config\.json"):
        PretrainedFolder(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match="no es JSON válido"):
        PretrainedFolder(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match=r"config\.json: se esperaba un objeto.*llegó list"):
        PretrainedFolder(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match=r"no hay pesos: se esperaba model\.safetensors o"):
        PretrainedFolder(tmp_path)


class Intruder:
    """Un pickle que, al abrirse, ejecutaría código."""

    def __reduce__(self):
        return exec, ("raise SystemExit('se ejecutó')",)


@pytest.mark.parametrize("older", [False, True], ids=["zip", "older"])
@pytest.mark.parametrize(
    "inside",
    [
        Intruder(),
        {"intruder": Intruder()},
        {"a": torch.zeros(2), "b": [Intruder()]},
        {Intruder(): torch.zeros(2)},
        functools.partial(exec, "raise SystemExit('se ejecutó')"),
        torch.nn.Linear(2, 2),
    ],
    ids=["alone", "value", "nested", "key", "partial", "module"],
)
def test_a_pickle_with_code_is_not_run(tmp_path, inside, older):
    write(tmp_path, {})
    (tmp_path / "model.safetensors").unlink()
    file = tmp_path / "pytorch_model.bin"
    torch.save(inside, file, _use_new_zipfile_serialization=not older)
    with pytest.raises(ValueError, match="no es un archivo de tensores"):
        PretrainedFolder(tmp_path)


def test_a_bare_pickle_is_not_run(tmp_path):
    write(tmp_path, {})
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Intruder(), protocol=2))
    with pytest.raises(ValueError, match="no es un archivo de tensores"):
        PretrainedFolder(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"nada")
    with pytest.raises(ValueError, match=r"model\.safetensors no es un archivo de tensores"):
        PretrainedFolder(tmp_path)


@settings(max_examples=40, deadline=None)
@given(
    file=st.sampled_from(["model.safetensors", "pytorch_model.bin"]),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=5),
    kept=st.floats(0.05, 1.0),
)
def test_a_damaged_file_never_fails_in_another_way(file, changes, kept):
    """Bytes cambiados al azar, o el archivo cortado: se lee, o un ValueError."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write(folder, {"a": torch.zeros(3), "b": torch.ones(2, 2)}, file=file)
        content = bytearray((folder / file).read_bytes())
        for place, byte in changes:
            content[int(place * len(content))] = byte
        (folder / file).write_bytes(content[: int(kept * len(content))])
        with contextlib.suppress(ValueError):
            PretrainedFolder(folder)


@pytest.mark.parametrize(
    "error", [KeyError(7), OSError(22, "Invalid argument"), AttributeError("x"), MemoryError()]
)
def test_whatever_the_reader_says_of_a_damaged_file_its_name_is_given(tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    write(tmp_path, file="pytorch_model.bin")
    monkeypatch.setattr(torch, "load", fail)
    with pytest.raises(ValueError, match=r"pytorch_model\.bin no es un archivo de tensores"):
        PretrainedFolder(tmp_path)


@pytest.mark.parametrize(
    "change",
    [lambda X: X.long(), lambda X: X.to_sparse(), lambda X: X.to("meta"), lambda X: X.bool()],
    ids=["integers", "sparse", "meta", "booleans"],
)
def test_a_tensor_without_real_numbers_is_named(tmp_path, change):
    weights, name = tensors(), "transformer.word_emb.emb_layers.0.weight"
    write(tmp_path, weights | {name: change(weights[name])}, file="pytorch_model.bin")
    with pytest.raises(ValueError, match=f"«{name}»: se esperaban números reales"):
        load_transformer_xl(tmp_path)


@pytest.mark.parametrize(
    "inside",
    [[torch.zeros(2)], 3, {"model": {"a": torch.zeros(2)}}, {1: torch.zeros(2)}],
    ids=str,
)
def test_a_checkpoint_of_training_is_not_a_folder_of_weights(tmp_path, inside):
    write(tmp_path, inside, file="pytorch_model.bin")
    with pytest.raises(ValueError, match="se esperaban tensores con nombre, los de state_dict"):
        PretrainedFolder(tmp_path)


@pytest.mark.parametrize("index", ["{}", "[]", '{"weight_map": ["a"]}'])
def test_an_index_that_says_nothing_is_refused(tmp_path, index):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors.index.json").write_text(index)
    with pytest.raises(ValueError, match=r"index\.json: falta «weight_map»"):
        PretrainedFolder(tmp_path)


@pytest.fixture
def stored(tmp_path):
    """Un Transformer diminuto, guardado, y su carpeta."""
    model = Transformer(TransformerConfig(20, d_model=8, num_heads=2, num_layers=1, d_ff=8))
    save_transformer(model, tmp_path)
    return model.eval(), tmp_path


def test_a_transformer_is_stored_in_half_precision_and_computes_in_float32(stored):
    model, folder = stored
    read = load_transformer(folder)
    assert read.config == model.config and not read.training
    expected = {name: weight.half().float() for name, weight in model.state_dict().items()}
    assert_close(read.state_dict(), expected, rtol=0, atol=0)
    assert {weight.dtype for weight in read.parameters()} == {torch.float32}
    source, target = torch.tensor([[5, 6, 2]]), torch.tensor([[1, 7]])
    assert_close(read(source, target), model(source, target), rtol=0, atol=1e-2)


def test_any_model_with_its_configuration_is_stored(tmp_path):
    config = TextClassifierConfig(20, d_model=8, num_heads=2, d_ff=8, dropout=0.0)
    model = TextClassifier(config).eval()
    save_model(model, tmp_path)
    read = load_model(tmp_path, TextClassifier, TextClassifierConfig)
    assert read.config == config and not read.training
    token_ids = torch.tensor([[5, 6, 2]])
    assert_close(read(token_ids), model(token_ids), rtol=0, atol=1e-2)
    with pytest.raises(ValueError, match=r"los nombres de `TransformerConfig` .*un Transformer"):
        load_transformer(tmp_path)


def test_a_folder_that_is_not_a_transformer_is_refused(stored):
    _, folder = stored
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"ancho": 3}))
    with pytest.raises(ValueError, match=r"se esperaban los nombres de `TransformerConfig`.*ancho"):
        load_transformer(folder)
    (folder / "config.json").write_text(json.dumps(config | {"d_ff": 16}))
    with pytest.raises(ValueError, match=r"se esperaba la forma \(16, 8\)"):
        load_transformer(folder)
    (folder / "config.json").write_text(json.dumps(config | {"num_layers": 2}))
    with pytest.raises(ValueError, match="falta el tensor"):
        load_transformer(folder)
