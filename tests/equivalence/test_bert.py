"""BERT contra el de Hugging Face, con pesos al azar guardados por él.

También son al azar los pesos que suelen comenzar en cero o en uno: así se nota cada uno. Las
salidas se comparan en los tokens reales: las del relleno no significan nada. Como programa
(``python tests/equivalence/test_bert.py``) imprime el mayor error de cada cabeza.
"""

import json
import logging
import sys
import tempfile

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.testing import assert_close

from course_lib import fast
from course_lib.models.bert import (
    Bert,
    BertForMultipleChoice,
    BertForPreTraining,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from course_lib.pretrained import load_bert, save_bert
from course_lib.recording import attention_maps
from course_lib.tokenization.word_piece import WordPiece

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
SIZES = {
    "vocab_size": 40,
    "hidden_size": 24,
    "num_hidden_layers": 3,
    "num_attention_heads": 3,
    "intermediate_size": 36,
    "max_position_embeddings": 12,
    "type_vocab_size": 2,
}
ARCHITECTURES = {
    "BertModel": Bert,
    "BertForPreTraining": BertForPreTraining,
    "BertForMaskedLM": BertForPreTraining,
    "BertForSequenceClassification": BertForSequenceClassification,
    "BertForMultipleChoice": BertForMultipleChoice,
    "BertForQuestionAnswering": BertForQuestionAnswering,
    "BertForTokenClassification": BertForTokenClassification,
}
EVERY = pytest.mark.parametrize("name", ARCHITECTURES)


def hugging_face(name, dtype=torch.float64, **settings):
    import transformers

    torch.manual_seed(len(name))
    config = transformers.BertConfig(**SIZES | settings, attn_implementation="eager")
    model = getattr(transformers, name)(config).to(dtype).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.2)
    return model


def batch():
    """Seis secuencias con segmentos y con relleno, en dos de ellas en medio."""
    rng = torch.Generator().manual_seed(5)
    ids = torch.randint(1, 40, (6, 11), generator=rng)
    segments = torch.randint(0, 2, (6, 11), generator=rng)
    visible = torch.arange(11) < torch.tensor([11, 7, 1, 4, 7, 9])[:, None]
    visible[4], visible[5, 3:5] = visible[4].flip(0), False
    visible[4, 0] = True
    return ids.masked_fill(~visible, 0), segments, visible


def logits_of(output):
    """Lo que puntúa un modelo de Hugging Face, en el orden en que lo da el del curso."""
    names = ("prediction_logits", "seq_relationship_logits", "start_logits", "end_logits", "logits")
    return [output[name] for name in names if name in output]


def run(ours, theirs, name, ids, segments, visible):
    """Las puntuaciones de los dos, cada una en las posiciones reales si las hay."""
    if name == "BertForMultipleChoice":
        ids, segments, visible = (X.view(2, 3, -1) for X in (ids, segments, visible))
    expected = theirs(input_ids=ids, token_type_ids=segments, attention_mask=visible.long())
    output = ours(ids, segments, mask=visible.unsqueeze(-2))
    actual = [X for X in (output if isinstance(output, tuple) else (output,)) if X is not None]
    for X, Y in zip(actual, logits_of(expected), strict=True):
        assert X.shape == Y.shape
        real = visible if X.shape[:2] == visible.shape else ...
        yield X[real], Y[real]


@DTYPES
@pytest.mark.parametrize("name", [name for name in ARCHITECTURES if name != "BertModel"])
@pytest.mark.parametrize("unpad", [True, False])
@torch.no_grad()
def test_the_same_logits(tmp_path, name, dtype, unpad):
    theirs = hugging_face(name, dtype)
    theirs.save_pretrained(tmp_path)
    ours = load_bert(tmp_path)
    assert type(ours) is ARCHITECTURES[name] and not ours.training
    ours = fast.unpadded(ours, group_cost=0) if unpad else ours
    for actual, expected in run(ours, theirs, name, *batch()):
        assert_close(actual, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@DTYPES
@EVERY
@torch.no_grad()
def test_the_same_states_and_weights_in_every_layer(tmp_path, name, dtype):
    theirs = hugging_face(name, dtype)
    theirs.save_pretrained(tmp_path)
    ids, segments, visible = batch()
    encoder = theirs if name == "BertModel" else theirs.bert
    show = {"output_hidden_states": True, "output_attentions": True}
    expected = encoder(ids, attention_mask=visible.long(), token_type_ids=segments, **show)
    ours = load_bert(tmp_path, Bert)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    with attention_maps(ours) as weights:
        output = ours(ids, segments, mask=visible.unsqueeze(-2), need_hidden=True)
    for H, their_H in zip(output.hidden, expected.hidden_states, strict=True):
        assert_close(H[visible], their_H[visible], **tolerance)
    for A, their_A in zip(weights, expected.attentions, strict=True):
        rows = visible[:, None].expand(-1, 3, -1)
        assert_close(A[rows], their_A[rows], **tolerance)
    if expected.pooler_output is None:
        assert output.pooled is None
    else:
        assert_close(output.pooled, expected.pooler_output, **tolerance)


@DTYPES
@pytest.mark.parametrize("unpad", [True, False])
def test_the_same_gradients(tmp_path, dtype, unpad):
    theirs = hugging_face("BertForPreTraining", dtype)
    theirs.save_pretrained(tmp_path)
    ours = load_bert(tmp_path)
    ours = fast.unpadded(ours, group_cost=0) if unpad else ours
    losses = [0.0, 0.0]
    for outputs in run(ours, theirs, "BertForPreTraining", *batch()):
        weight = torch.linspace(-1, 1, outputs[0].numel(), dtype=dtype).view_as(outputs[0])
        losses = [loss + (X * weight).sum() for loss, X in zip(losses, outputs, strict=True)]
    for loss in losses:
        loss.backward()
    layer, block = theirs.bert.encoder.layer[1], ours.bert.blocks[1]
    qkv = [getattr(layer.attention.self, n).weight.grad for n in ("query", "key", "value")]
    pairs = {
        "tabla, compartida con la salida": (
            ours.bert.embedding.tokens.table.weight.grad[1:],
            theirs.bert.embeddings.word_embeddings.weight.grad[1:],
        ),
        "posiciones": (
            ours.bert.embedding.tokens.position_table.grad,
            theirs.bert.embeddings.position_embeddings.weight.grad,
        ),
        "W_qkv": (block.attention.W_qkv.weight.grad, torch.cat(qkv)),
        "W_1": (block.feed_forward.W_1.weight.grad, layer.intermediate.dense.weight.grad),
        "norma": (block.residual_feed_forward.norm.bias.grad, layer.output.LayerNorm.bias.grad),
        "resumen": (ours.bert.pooler.weight.grad, theirs.bert.pooler.dense.weight.grad),
        "sesgo": (ours.bias.grad, theirs.cls.predictions.bias.grad),
    }
    for what, (gradient, expected) in pairs.items():
        error = (gradient - expected).abs().max() / expected.abs().max()
        assert error < TOLERANCE[dtype], what


# --------------------------------------------------------------------------- otras carpetas


@pytest.fixture
def folder(tmp_path):
    """Una carpeta de preentrenamiento, con el modelo que la guardó y manos para cambiarla."""

    class Folder:
        path = tmp_path
        theirs = hugging_face("BertForPreTraining")

        def __init__(self, theirs=None):
            self.theirs = theirs or self.theirs
            self.theirs.save_pretrained(self.path)
            self.tensors = load_file(self.path / "model.safetensors")
            self.config = json.loads((self.path / "config.json").read_text())

        def save(self, *removed, **config):
            config = {k: v for k, v in (self.config | config).items() if k not in removed}
            (self.path / "config.json").write_text(json.dumps(config))
            save_file(self.tensors, self.path / "model.safetensors")
            return self.path

    return Folder


def the_same(ours, theirs):
    """Los tres resultados de un modelo de preentrenamiento son los de Hugging Face."""
    return all(
        torch.allclose(actual, expected, rtol=1e-10, atol=1e-10)
        for actual, expected in run(ours, theirs, "BertForPreTraining", *batch())
    )


def test_the_older_file_and_the_older_names(folder):
    """pytorch_model.bin, `gamma` y `beta`, las posiciones guardadas y las copias de la tabla."""
    saved = folder()
    for name in list(saved.tensors):
        if "LayerNorm" in name:
            older = name.replace("weight", "gamma").replace("bias", "beta")
            saved.tensors[older] = saved.tensors.pop(name)
    saved.tensors["bert.embeddings.position_ids"] = torch.arange(12)[None]
    saved.tensors["cls.predictions.decoder.weight"] = saved.tensors[
        "bert.embeddings.word_embeddings.weight"
    ].clone()
    saved.tensors["cls.predictions.decoder.bias"] = saved.tensors.pop("cls.predictions.bias")
    saved.save("layer_norm_eps", "position_embedding_type", "pad_token_id", "model_type")
    (saved.path / "model.safetensors").unlink()
    torch.save(saved.tensors, saved.path / "pytorch_model.bin")
    ours = load_bert(saved.path)
    assert the_same(ours, saved.theirs)
    assert ours.config.eps == 1e-12 and ours.config.pad_id == 0


@pytest.mark.parametrize("prefix", [True, False])
def test_the_prefix_of_the_encoder_is_optional(folder, prefix):
    """`BertModel` guarda sin «bert.»; los modelos con cabeza, con él: se cambian los papeles."""
    saved = folder() if not prefix else folder(hugging_face("BertModel"))
    renamed = {}
    for name, tensor in saved.tensors.items():
        renamed[f"bert.{name}" if prefix else name.removeprefix("bert.")] = tensor
    saved.tensors = renamed
    ours = load_bert(saved.save())
    ids, segments, visible = batch()
    if not prefix:
        assert the_same(ours, saved.theirs)
        return
    expected = saved.theirs(ids, visible.long(), segments).last_hidden_state
    actual = ours(ids, segments, mask=visible.unsqueeze(-2)).states
    assert_close(actual[visible], expected[visible], rtol=1e-10, atol=1e-10)


def test_an_encoder_may_come_without_summary(folder):
    saved = folder()
    for name in ("weight", "bias"):
        del saved.tensors[f"bert.pooler.dense.{name}"]
    saved.save()
    assert load_bert(saved.path, Bert).pooler is None
    with pytest.raises(ValueError, match=r"falta el tensor «bert\.pooler\.dense\.weight»"):
        load_bert(saved.path)


def test_a_declared_task_must_come(folder):
    """Sin la oración siguiente, una carpeta que la declara está incompleta."""
    saved = folder()
    for name in ("weight", "bias"):
        del saved.tensors[f"cls.seq_relationship.{name}"]
    with pytest.raises(ValueError, match=r"falta el tensor «cls\.seq_relationship\.weight»"):
        load_bert(saved.save())
    assert load_bert(saved.save(architectures=["BertForMaskedLM"])).next_sentence is None


def test_a_masked_language_model_with_more_is_read_whole(folder):
    """Como los publicados: dicen BertForMaskedLM y traen también la oración siguiente."""
    saved = folder()
    saved.save(architectures=["BertForMaskedLM"])
    assert the_same(load_bert(saved.path), saved.theirs)
    plain = load_bert(folder(hugging_face("BertForMaskedLM")).path)
    assert plain.next_sentence is None and plain.bert.pooler is None


def test_the_head_asked_for_rules_over_the_declared_one(folder):
    saved = folder(hugging_face("BertForTokenClassification", num_labels=7))
    tagger = load_bert(saved.save(architectures=None), BertForTokenClassification)
    assert tagger.output.out_features == 7
    assert torch.equal(tagger.output.weight, saved.theirs.classifier.weight)
    with pytest.raises(ValueError, match=r"falta el tensor «qa_outputs\.weight»"):
        load_bert(saved.path, BertForQuestionAnswering)
    with pytest.raises(ValueError, match=r"BertForTokenClassification.* y llegó .*Linear"):
        load_bert(saved.path, torch.nn.Linear)


def test_the_settings_reach_the_model(folder):
    saved = folder()
    ours = load_bert(
        saved.save(
            hidden_dropout_prob=0.3,
            attention_probs_dropout_prob=0.2,
            classifier_dropout=0.4,
            hidden_act="relu",
            pad_token_id=3,
        )
    )
    config = ours.config
    assert (config.dropout, config.attention_dropout, config.head_dropout) == (0.3, 0.2, 0.4)
    assert (config.activation, config.pad_id) == ("relu", 3)
    assert all(p.requires_grad and not p.is_meta for p in ours.parameters())


def test_the_vocabulary_of_the_folder_serves_word_piece(tmp_path):
    """`vocab.txt` y los pesos de una carpeta, juntos: los mismos tokens y el mismo resultado."""
    import transformers

    tokens = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        ".",
        "la",
        "sal",
        "##ada",
        "##do",
        "pan",
    ]
    (tmp_path / "vocab.txt").write_text("\n".join([*tokens, "está"]) + "\n", encoding="utf-8")
    theirs = hugging_face("BertModel", vocab_size=len(tokens) + 1)
    theirs.save_pretrained(tmp_path)
    reader = transformers.BertTokenizer(str(tmp_path / "vocab.txt"), do_lower_case=False)
    pair = ("la sal está salada.", "pan salado")
    expected = reader(*pair, return_tensors="pt")
    word_piece = WordPiece(tmp_path / "vocab.txt", lowercase=False)
    ids, segments = (torch.tensor([X]) for X in word_piece.encode_pair(*pair))
    assert torch.equal(ids, expected["input_ids"])
    assert torch.equal(segments, expected["token_type_ids"])
    assert_close(load_bert(tmp_path)(ids, segments).states, theirs(**expected).last_hidden_state)


# --------------------------------------------------------------------------- guardar


def some_word_piece(size=40):
    known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "papa", "papá", "##s", "."]
    extra = [f"t{i}" for i in range(size - len(known))]
    return WordPiece([*known, *extra], strip_accents=False)


@DTYPES
@EVERY
@torch.no_grad()
def test_what_the_course_saves_hugging_face_reads(tmp_path, name, dtype):
    """De allí, aquí, a la carpeta, allí otra vez: los mismos tensores y las mismas cifras."""
    import transformers

    labels = {"num_labels": 5} if "Classification" in name else {}
    theirs = hugging_face(name, dtype, classifier_dropout=0.3, **labels)
    theirs.save_pretrained(tmp_path / "suya")
    ours = load_bert(tmp_path / "suya")
    save_bert(ours, some_word_piece(), tmp_path / "nuestra")
    again, report = getattr(transformers, name).from_pretrained(
        tmp_path / "nuestra", dtype=dtype, output_loading_info=True
    )
    assert not any(report.values()), f"tensores que faltan o sobran: {report}"
    for (key, tensor), other in zip(
        theirs.state_dict().items(), again.state_dict().values(), strict=True
    ):
        assert torch.equal(tensor, other), f"{key}: ¿consultas, claves y valores en otro orden?"
    for key in ("hidden_size", "layer_norm_eps", "classifier_dropout", "id2label", "hidden_act"):
        assert getattr(again.config, key) == getattr(theirs.config, key)
    here = load_bert(tmp_path / "nuestra")
    assert here.config == ours.config and type(here) is type(ours)
    assert all(map(torch.equal, here.state_dict().values(), ours.state_dict().values()))


def test_the_saved_vocabulary_keeps_its_accents(tmp_path):
    import transformers

    word_piece = some_word_piece()
    save_bert(load_small(tmp_path), word_piece, tmp_path / "otra")
    reader = transformers.BertTokenizer.from_pretrained(tmp_path / "otra")
    text = "Papa. Papás"
    assert reader(text)["input_ids"] == word_piece.encode_pair(text)[0]
    assert reader.model_max_length == SIZES["max_position_embeddings"]


def load_small(tmp_path):
    hugging_face("BertForPreTraining").save_pretrained(tmp_path / "suya")
    return load_bert(tmp_path / "suya")


def test_half_precision_takes_half_and_comes_back_half(tmp_path):
    model = load_small(tmp_path)
    save_bert(model, some_word_piece(), tmp_path / "entera")
    save_bert(model.half(), some_word_piece(), tmp_path / "media")
    sizes = [(tmp_path / n / "model.safetensors").stat().st_size for n in ("entera", "media")]
    assert sizes[0] > 3 * sizes[1], "de float64 a float16, la cuarta parte"
    assert {p.dtype for p in load_bert(tmp_path / "media").parameters()} == {torch.float16}


def test_a_vocabulary_of_another_size_and_another_model_are_refused(tmp_path):
    model = load_small(tmp_path)
    with pytest.raises(ValueError, match=r"tokenizer: se esperaban los 40 tokens .* llegaron 41"):
        save_bert(model, some_word_piece(41), tmp_path / "otra")
    with pytest.raises(ValueError, match=r"model: se esperaba uno de Bert, .* llegó Linear"):
        save_bert(torch.nn.Linear(2, 2), some_word_piece(), tmp_path / "otra")
    assert not (tmp_path / "otra").exists()


# --------------------------------------------------------------------------- errores


def test_every_tensor_is_needed_and_measured(folder):
    """Uno a uno: si falta o tiene otra forma, el error lo nombra."""
    saved = folder(hugging_face("BertForPreTraining", num_hidden_layers=1))
    for name, tensor in list(saved.tensors.items()):
        saved.tensors[name] = torch.cat([tensor, tensor])
        with pytest.raises(ValueError, match=f"«{name}»: se esperaba la forma"):
            load_bert(saved.save())
        del saved.tensors[name]
        with pytest.raises(ValueError, match=f"falta el tensor «{name}»"):
            load_bert(saved.save())
        saved.tensors[name] = tensor
    assert the_same(load_bert(saved.save()), saved.theirs)


def test_a_layer_too_many_is_noticed(folder):
    saved = folder()
    with pytest.raises(ValueError, match=r"sobran tensores.*bert\.encoder\.layer\.2\.attention"):
        load_bert(saved.save(num_hidden_layers=2))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("position_embedding_type", "relative_key"),
        ("is_decoder", True),
        ("add_cross_attention", True),
        ("tie_word_embeddings", False),
        ("hidden_act", "gelu_new"),
        ("model_type", "roberta"),
        ("pruned_heads", {"0": [1]}),
    ],
)
def test_what_the_course_lacks_is_named(folder, name, value):
    saved = folder()
    saved.config["pruned_heads"] = {}
    with pytest.raises(ValueError, match=f"«{name}» vale .*solo admite"):
        load_bert(saved.save(**{name: value}))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("hidden_size", "768", "un entero"),
        ("num_hidden_layers", 2.0, "un entero"),
        ("hidden_dropout_prob", "0.1", "un número"),
        ("layer_norm_eps", [1e-12], "un número"),
        ("pad_token_id", "0", "un entero"),
    ],
)
def test_a_setting_of_another_kind_is_named(folder, name, value, expected):
    with pytest.raises(ValueError, match=f"«{name}»: se esperaba {expected} y llegó"):
        load_bert(folder().save(**{name: value}))


@pytest.mark.parametrize("architectures", [None, [], ["BertLMHeadModel"]])
def test_an_unknown_head_is_named(folder, architectures):
    saved = folder()
    with pytest.raises(ValueError, match=r"«architectures».*BertForPreTraining.*segundo argumento"):
        load_bert(saved.save(architectures=architectures))
    with pytest.raises(ValueError, match="falta «vocab_size»"):
        load_bert(saved.save("vocab_size"), Bert)


# --------------------------------------------------------------------------- la tabla


def batches():
    """El lote de las pruebas y sus variantes; el último, con el relleno quitado al calcular."""
    ids, segments, visible = batch()
    whole = torch.randint(1, 40, ids.shape, generator=torch.Generator().manual_seed(6))
    padded = (ids, segments, visible)
    return {
        "con relleno": (False, padded),
        "sin relleno": (False, (whole, segments, torch.ones_like(visible))),
        "un segmento": (False, (ids, torch.zeros_like(segments), visible)),
        "relleno quitado": (True, padded),
    }


def compared(ours, theirs, name, inputs, unpad):
    """Lo que dan los dos: las puntuaciones o, sin cabeza, los estados y los pesos."""
    reader = fast.unpadded(ours, group_cost=0) if unpad else ours
    if name != "BertModel":
        return run(reader, theirs, name, *inputs)
    ids, segments, visible = inputs
    show = {"output_hidden_states": True, "output_attentions": True}
    expected = theirs(ids, visible.long(), segments, **show)
    output = reader(ids, segments, mask=visible.unsqueeze(-2), need_hidden=True)
    with attention_maps(ours) as weights:
        ours(ids, segments, mask=visible.unsqueeze(-2))
    rows = visible[:, None].expand(-1, 3, -1)
    pairs = [(output.pooled, expected.pooler_output)]
    pairs += [
        (H[visible], Y[visible]) for H, Y in zip(output.hidden, expected.hidden_states, strict=True)
    ]
    return pairs + [(A[rows], Y[rows]) for A, Y in zip(weights, expected.attentions, strict=True)]


def errors_of(name, dtype):
    """El mayor error de una cabeza en cada lote."""
    theirs = hugging_face(name, dtype)
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load_bert(folder)
    for unpad, inputs in batches().values():
        pairs = list(compared(ours, theirs, name, inputs, unpad))
        assert pairs and all(X.shape == Y.shape for X, Y in pairs)
        yield max((X - Y).abs().max().item() for X, Y in pairs)


@torch.no_grad()
def print_table():
    """Imprime el mayor error de cada cabeza y devuelve el de cada precisión."""
    print(f"{'modelo':<40}" + "".join(f"{name:>17}" for name in batches()))
    worst = dict.fromkeys(TOLERANCE, 0.0)
    for name in ARCHITECTURES:
        for dtype in TOLERANCE:
            errors = list(errors_of(name, dtype))
            worst[dtype] = max(worst[dtype], *errors)
            row = f"{name}, {str(dtype).removeprefix('torch.')}"
            print(f"{row:<40}" + "".join(f"{error:>17.1e}" for error in errors))
    for dtype, error in worst.items():
        print(f"El mayor en {dtype}: {error:.1e} (tolerancia {TOLERANCE[dtype]:.0e})")
    return worst


def test_the_table_is_within_its_tolerances(capsys):
    for dtype, error in print_table().items():
        assert 0 < error < TOLERANCE[dtype], dtype
    assert capsys.readouterr().out.count("\n") == 2 * len(ARCHITECTURES) + 3


if __name__ == "__main__":
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    found = print_table()
    sys.exit(any(error >= TOLERANCE[dtype] for dtype, error in found.items()))
