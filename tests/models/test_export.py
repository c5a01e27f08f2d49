"""Los modelos salen de Python tal como están: `torch.export`, con lote y longitud dinámicos, y
`torch.compile`, en un solo grafo."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim, export
from torch.testing import assert_close

from course_lib.models.bert import BertConfig, BertForSequenceClassification
from course_lib.models.palm import PaLM, PaLMConfig
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.models.universal_transformer import UniversalTransformer, UniversalTransformerConfig

HERE = Path(__file__).parent
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 12, "max_length": 32}
XL_SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 12, "num_layers": 2}
MODELS = {
    "transformer": (lambda: Transformer(TransformerConfig(12, **SIZES, num_layers=2)), 2),
    "bert": (lambda: BertForSequenceClassification(BertConfig(12, **SIZES, num_layers=2)), 1),
    "palm": (lambda: PaLM(PaLMConfig(12, **SIZES, num_layers=2)), 1),
    "transformer_xl": (lambda: TransformerXL(TransformerXLConfig(12, **XL_SIZES)), 1),
    "transformer_xl_clamped": (
        lambda: TransformerXL(
            TransformerXLConfig(12, **XL_SIZES, clamp_length=3, cutoffs=(4, 8), div_val=2)
        ),
        1,
    ),
    "universal_transformer": (
        lambda: UniversalTransformer(UniversalTransformerConfig(12, **SIZES, max_steps=3)),
        2,
    ),
}


class Logits(nn.Module):
    """Lo que se exporta: solo los logits."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, *token_ids):
        output = self.model(*token_ids)
        return getattr(output, "logits", output[0] if isinstance(output, tuple) else output)


def sentences(batch, *lengths):
    """Con relleno al final de la primera fila, y ninguna vacía."""
    found = [torch.randint(1, 12, (batch, t)) for t in lengths]
    for ids in found:
        ids[0, -1] = 0
    return tuple(found)


@pytest.mark.usefixtures("as_user")
@pytest.mark.parametrize("name", MODELS)
def test_it_exports_and_gives_the_same_with_other_sizes(name):
    build, inputs = MODELS[name]
    model = Logits(build().eval())
    batch, lengths = Dim("batch", min=2, max=16), [Dim(f"t{i}", min=2, max=16) for i in (0, 1)]
    shapes = tuple({0: batch, 1: lengths[i]} for i in range(inputs))
    exported = export(model, sentences(3, *(5, 4)[:inputs]), dynamic_shapes=(shapes,)).module()
    for size, *t in ((7, 9, 11), (2, 3, 2), (5, 5, 5)):  # tantas como tokens: nada las ata
        new = sentences(size, *t[:inputs])
        assert_close(exported(*new), model(*new), rtol=1e-5, atol=1e-5)


def compile_all():
    """Compila cada modelo en un solo grafo y compara; un corte del grafo es un error."""
    for build, inputs in MODELS.values():
        torch.manual_seed(0)
        model, ids = Logits(build().eval()), sentences(3, *(5, 4)[:inputs])
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        with torch.no_grad():
            assert_close(compiled(*ids), model(*ids), rtol=1e-5, atol=1e-5)
        torch.compiler.reset()


@pytest.mark.usefixtures("warm_processes")
def test_they_compile_into_one_graph():
    """En otro proceso: aquí, la comprobación de formas envuelve cada función y corta el grafo."""
    order = "from test_export import compile_all; compile_all()"
    done = subprocess.run(
        [sys.executable, "-c", order], cwd=HERE, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-3000:]
