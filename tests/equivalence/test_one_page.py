"""Los modelos de una página dan lo mismo que los de la biblioteca, y caben en una página."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from course_lib.models import (
    BertConfig,
    BertForPreTraining,
    PaLMConfig,
    TransformerConfig,
    TransformerXLConfig,
)
from course_lib.models import PaLM as LibraryPaLM
from course_lib.models import Transformer as LibraryTransformer
from course_lib.models import TransformerXL as LibraryTransformerXL
from course_lib.one_page import bert, palm, transformer, transformer_xl

ONE_PAGE = Path(transformer.__file__).parent
LINES = {"transformer": 250, "bert": 150, "palm": 150, "transformer_xl": 150}
SIZES = {"d_model": 16, "num_heads": 4, "num_layers": 2, "d_ff": 24}
VOCAB = 30


@pytest.fixture(autouse=True)
def _in_float64():
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def small(Model):
    """Un modelo de una página con todos sus parámetros al azar, también sesgos y ganancias."""
    torch.manual_seed(0)
    model = Model(VOCAB, d_model=16, heads=4, layers=2, d_ff=24)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def copy_weights(weights, library, names, stacked=()):
    """Da a `library` esos pesos, con otros nombres: pares (expresión, sustituto)."""
    weights = dict(weights)
    for pattern, parts in stacked:  # matrices que la biblioteca guarda una encima de otra
        for name in [n for n in weights if re.search(pattern.format(parts[0]), n)]:
            matrices = [weights.pop(name.replace(parts[0], part)) for part in parts]
            weights[name.replace(parts[0], f"{parts[0]}_stacked")] = torch.cat(matrices)
    renamed = {}
    for name, weight in weights.items():
        for pattern, new in names:
            name = re.sub(pattern, new, name)
        renamed[name] = weight
    library.load_state_dict(renamed)
    return library.eval()


QKV = (r"\b{}\b", ("W_q", "W_k", "W_v"))
FEED_FORWARD = [(r"feed_forward\.0", "feed_forward.W_1"), (r"feed_forward\.2", "feed_forward.W_2")]


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_the_transformer_equals_the_library():
    model = small(transformer.Transformer)
    config = TransformerConfig(VOCAB, **SIZES, dropout=0.0, placement="pre")
    names = [
        ("W_q_stacked", "W_qkv"),
        *FEED_FORWARD,
        (r"^encoder\.(.*)norm_1", r"encoder.\1residual_attention.norm"),
        (r"^encoder\.(.*)norm_2", r"encoder.\1residual_feed_forward.norm"),
        (r"^decoder\.(.*)norm_1", r"decoder.\1residual_self.norm"),
        (r"^decoder\.(.*)norm_2", r"decoder.\1residual_cross.norm"),
        (r"^decoder\.(.*)norm_3", r"decoder.\1residual_feed_forward.norm"),
        (r"^decoder\.(\d+)\.attention", r"decoder.\1.self_attention"),
        (r"^(encoder|decoder)\.", r"encoder_decoder.\1.blocks."),
        (r"^(encoder|decoder)_norm", r"encoder_decoder.\1.norm"),
        (r"^table", "source_embedding.table"),
    ]
    library = LibraryTransformer(config)
    twice = {"target_embedding.table.weight": model.table.weight}  # la misma tabla, otro nombre
    copy_weights(model.state_dict() | twice, library, names, [QKV])
    source = torch.tensor([[5, 6, 7, 8], [9, 10, 0, 0]])  # la segunda lleva relleno
    target = torch.tensor([[1, 11, 12], [1, 13, 14]])
    close(model(source, target), library(source, target))


def test_bert_equals_the_library():
    model = small(bert.Bert)
    config = BertConfig(VOCAB, **SIZES, max_length=32)
    names = [
        ("W_q_stacked", "W_qkv"),
        *FEED_FORWARD,
        (r"^blocks\.(\d+)\.norm_1", r"bert.blocks.\1.residual_attention.norm"),
        (r"^blocks\.(\d+)\.norm_2", r"bert.blocks.\1.residual_feed_forward.norm"),
        (r"^blocks", "bert.blocks"),
        (r"^tokens\.", "bert.embedding.tokens.table."),
        (r"^positions\.weight", "bert.embedding.tokens.position_table"),
        (r"^segments", "bert.embedding.segments"),
        (r"^norm", "bert.embedding.norm"),
        (r"^transform_norm", "norm"),
    ]
    library = copy_weights(
        model.state_dict(), BertForPreTraining(config, next_sentence=False), names, [QKV]
    )
    ids = torch.tensor([[2, 5, 6, 3, 7], [2, 8, 3, 0, 0]])
    segments = torch.tensor([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]])
    real = ids != 0
    close(model(ids, segments)[real], library(ids, segments).tokens[real])


def test_palm_equals_the_library_also_with_its_cache():
    model = small(palm.PaLM)
    config = PaLMConfig(VOCAB, **SIZES)
    names = [
        ("W_q_stacked", "W_qkv"),
        ("W_gate_stacked", "W_gate_up"),
        (r"^table", "embedding.table"),
    ]
    stacked = [QKV, (r"\b{}\b", ("W_gate", "W_up"))]
    library = copy_weights(model.state_dict(), LibraryPaLM(config), names, stacked)
    ids = torch.tensor([[5, 6, 7, 8, 9], [4, 3, 2, 1, 0]])
    whole, _ = library(ids)
    close(model(ids)[0], whole)
    first, cache = model(ids[:, :2])
    rest, _ = model(ids[:, 2:], cache)
    close(torch.cat([first, rest], dim=1), whole)


def test_transformer_xl_equals_the_library_over_three_segments():
    model = small(transformer_xl.TransformerXL)
    config = TransformerXLConfig(VOCAB, **SIZES, memory_length=8, dropout=0.0, inner_dropout=0.0)
    names = [
        ("W_q_stacked", "W_qkv"),
        *FEED_FORWARD,
        (r"\.norm_1", ".residual_attention.norm"),
        (r"\.norm_2", ".residual_feed_forward.norm"),
        (r"^table", "embedding.tables.0"),
        (r"^bias", "output.biases.0"),
    ]
    state = model.state_dict()
    for name in ("u", "v"):
        for i in range(len(model.blocks)):
            del state[f"blocks.{i}.attention.{name}"]
    library = LibraryTransformerXL(config)
    for ours, theirs in zip(model.blocks, library.blocks, strict=True):
        theirs.attention.u.data = ours.attention.u.data[:, 0].clone()
        theirs.attention.v.data = ours.attention.v.data[:, 0].clone()
    kept = {n: w for n, w in library.state_dict().items() if n.endswith((".u", ".v"))}
    copy_weights(state | kept, library, names, [QKV])
    memory = theirs_memory = None
    for segment in torch.randint(0, VOCAB, (2, 15)).split(5, dim=1):
        ours, memory = model(segment, memory)
        theirs, theirs_memory = library(segment, theirs_memory)
        close(ours, theirs)


@pytest.mark.parametrize("name", LINES)
def test_it_fits_in_a_page_and_needs_only_torch(name):
    text = (ONE_PAGE / f"{name}.py").read_text("utf-8")
    assert sum(map(bool, map(str.strip, text.splitlines()))) <= LINES[name]
    assert max(map(len, text.splitlines())) <= 80
    roots = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            roots |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            roots.add(node.module.partition(".")[0])
    assert roots - set(sys.stdlib_module_names) == {"torch"}


@pytest.mark.parametrize("name", LINES)
@pytest.mark.usefixtures("warm_processes")
def test_copied_alone_it_trains(name, tmp_path):
    """El archivo, copiado a una carpeta vacía, se entrena unos pasos y aprende algo."""
    (tmp_path / "copied.py").write_text((ONE_PAGE / f"{name}.py").read_text("utf-8"), "utf-8")
    start = {
        "transformer": "seen, _ = split(); bpe = BPE(t for p in seen[::50] for t in p)\n"
        "losses = train(Transformer(len(bpe.tokens)), bpe, seen[::50], steps=8, warmup=4)",
        "bert": "losses = pretrain(Bert(len(TOKENS)), steps=15, warmup=4)",
        "palm": "losses = train(PaLM(len(TOKENS)), steps=15, warmup=4)",
        "transformer_xl": "losses = train(TransformerXL(len(TOKENS)), steps=15, warmup=4)",
    }[name]
    code = f"import torch; torch.manual_seed(0)\nfrom copied import *\n{start}\n"
    code += "assert losses[-1] < 0.8 * losses[0], losses"
    subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        check=True,
        timeout=240,
        env={"PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1", "PATH": ""},
    )


def test_a_word_changes_only_what_comes_after_it():
    """La máscara causal de la página: lo ya escrito no depende de lo que viene."""
    model = small(transformer.Transformer)
    source, target = torch.tensor([[5, 6, 7]]), torch.tensor([[1, 8, 9, 10]])
    changed = target.clone()
    changed[0, 3] = 20
    close(model(source, changed)[:, :3], model(source, target)[:, :3])
