"""Los ejercicios que operan un modelo ya entrenado, contra los modelos de la biblioteca.

Y lo que sus modelos, entrenados al generar los cuadernos, acertaban enteros, rotos y arreglados.
"""

import nbformat
import pytest
import torch

from course_lib.judging.check import find_exercise
from course_lib.models.bert import BertConfig, BertForPreTraining
from course_lib.models.palm import ParallelBlock
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.pretrained.elsewhere import (
    bert_elsewhere,
    bert_logits,
    memory_elsewhere,
    palm_block,
    palm_elsewhere,
)
from tests.checks.solutions import ROOT


def reference(name):
    return find_exercise(name).reference


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@torch.no_grad()
def test_the_small_bert_is_the_one_of_the_library_without_its_network():
    sizes = {"d_model": 8, "num_heads": 1, "num_layers": 1, "d_ff": 4, "max_length": 6, "eps": 1e-5}
    model = BertForPreTraining(BertConfig(9, **sizes), next_sentence=False).eval()
    named = dict(model.named_parameters())
    for name, x in named.items():
        if "norm" not in name:
            x.normal_()
        if "feed_forward.W" in name or name.endswith(("qkv.bias", "W_h.bias")):
            x.zero_()
    block = "bert.blocks.0.attention"
    matrices = [*named[f"{block}.W_qkv.weight"].chunk(3), named[f"{block}.W_h.weight"]]
    matrices += [named["transform.weight"]]
    parameters = {n: x.T for n, x in zip(("W_q", "W_k", "W_v", "W_h", "W"), matrices, strict=True)}
    embedding = "bert.embedding"
    parameters |= {"E": named[f"{embedding}.tokens.table.weight"]}
    parameters |= {"P": named[f"{embedding}.tokens.position_table"]}
    parameters |= {"S": named[f"{embedding}.segments.weight"]}
    parameters |= {"b": named["transform.bias"], "c": named["bias"]}
    token_ids, segment_ids = torch.randint(1, 9, (3, 6)), torch.randint(2, (3, 6))  # el 0, relleno
    logits = bert_logits(parameters, token_ids, segment_ids)
    torch.testing.assert_close(logits, model(token_ids, segment_ids).tokens, rtol=1e-4, atol=1e-4)
    saved = bert_elsewhere(parameters)
    assert (bert_logits(saved, token_ids, segment_ids) - logits).abs().max() > 1
    repaired = reference("bert.other_program")(saved)
    assert all(torch.equal(repaired[name], parameters[name]) for name in parameters)


@torch.no_grad()
def test_the_palm_block_is_the_one_of_the_library():
    block, x = ParallelBlock(8, 2, 12), torch.randn(2, 5, 8)
    widths = [8, 4, 4]
    Q, K, V = block.attention.W_qkv.weight.T.split(widths, dim=1)
    gate, up = block.feed_forward.W_gate_up.weight.T.chunk(2, dim=1)
    parameters = {"W_q": Q, "W_k": K, "W_v": V, "W_h": block.attention.W_h.weight.T}
    parameters |= {"W_gate": gate, "W_up": up, "W_down": block.feed_forward.W_down.weight.T}
    torch.testing.assert_close(x + palm_block(parameters, x, 2), block(x))
    repaired = reference("palm.other_program")(palm_elsewhere(parameters), 2, 4)
    torch.testing.assert_close(palm_block(repaired, x, 2), palm_block(parameters, x, 2))


def small_xl(num_layers):
    sizes = {"d_model": 8, "num_heads": 1, "d_ff": 8, "memory_length": 4}
    return TransformerXL(TransformerXLConfig(7, num_layers=num_layers, **sizes)).eval()


@pytest.mark.parametrize("written", [4, 5, 6, 7, 8, 9])
@torch.no_grad()
def test_the_restored_memory_is_the_one_of_the_model(written):
    model, memory, outputs = small_xl(3), None, []
    for piece in torch.randint(7, (2, written)).split(3, dim=1):
        h, memory = model.read(piece, memory)
        outputs.append(h)
    saved = memory_elsewhere(list(memory.states), torch.cat(outputs, dim=1)[:, -4:], written)
    assert torch.equal(saved[0, (written - 1) % 4, 1], memory.states[0][1, -1])
    restored = reference("transformer_xl.saved_memory")(saved, written)
    assert all(map(torch.equal, restored, memory.states))


@torch.no_grad()
def test_an_attention_that_looks_further_sees_what_it_saw_nearer():
    attention = small_xl(1).blocks[0].attention
    before = attention.distances(9)  # de la distancia 8 a la 0
    attention.W_r.weight.copy_(
        reference("transformer_xl.look_further")(attention.W_r.weight.T, 3).T
    )
    torch.testing.assert_close(attention.distances(9)[:, :6], before[:, 3:], rtol=1e-4, atol=1e-5)


def test_the_built_network_is_exact_for_numbers_of_any_size():
    gate, up, down = reference("palm.products")([(0, 1, 0)], 2)
    x = 1000 * torch.randn(50, 2, dtype=torch.float64)
    y = (torch.nn.functional.silu(x @ gate.double()) * (x @ up.double())) @ down.double()
    torch.testing.assert_close(y[:, 0], x.prod(1))
    assert not y[:, 1].any()


def printed(topic: str, start: str) -> list[str]:
    """Lo que imprimió el cuaderno de soluciones detrás de `start`, en orden."""
    cells = nbformat.read(ROOT / "solutions" / f"{topic}.ipynb", 4).cells
    outputs = [o for c in cells if c.cell_type == "code" for o in c.outputs]
    lines = [line for o in outputs for line in o.get("text", "").splitlines()]
    return [line.removeprefix(start).strip() for line in lines if line.startswith(start)]


@pytest.mark.parametrize(
    ("topic", "elsewhere"), [("transformer", "en el otro:"), ("universal_transformer", "aquí:")]
)
def test_a_repaired_model_is_as_right_as_where_it_was_trained(topic, elsewhere):
    (trained,), (broken,) = printed(topic, "donde se entrenó:"), printed(topic, elsewhere)
    assert printed(topic, "arreglado:") == [trained] != [broken]


def test_a_blinded_model_loses_one_ability_and_keeps_the_other():
    (told,) = printed("transformer", "ciego:")
    opposite, largest = (int(part.split()[1].rstrip("%")) for part in told.split(", "))
    assert opposite < 40 and largest > 95


def test_a_translator_says_one_word_wrong_and_no_other():
    assert printed("translator", "bien:") == ["100%", "0%", "100%", "80%"]
    assert printed("translator", "lo que más cambia un logit donde no hay sopa:") == ["0.0000"]


def test_words_never_seen_stop_being_in_the_way():
    trained, again, repaired = printed("text_classifier", "con las palabras de siempre,")
    assert trained == again != repaired == "100%; con muchas nuevas, 100%"
    assert [told.split(";")[0] for told in printed("text_classifier", "a mano:")] == [
        "acierta 100%"
    ]
