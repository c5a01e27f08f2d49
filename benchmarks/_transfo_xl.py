"""El Transformer-XL original (Hugging Face) y el del curso, con los mismos pesos."""

import contextlib
import copy
import json
import logging
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from benchmarks._measure import peer
from course_lib.models.transformer_xl import TransformerXL
from course_lib.pretrained import load_transformer_xl

VOCAB, D_MODEL, HEADS, D_FF = 204, 512, 8, 2048  # el de 12 capas para enwik8, con menos capas


def make_models(
    num_layers: int, mem_len: int, *, same_length: bool = False, **options: Any
) -> tuple[nn.Module, TransformerXL]:
    """El original, al azar como lo inician sus autores, y el del curso con sus pesos.

    Errores:
        ValueError: si transformers no está instalado: aquí el rival es la referencia.
    """
    package = peer("transformers.models.deprecated.transfo_xl")
    if package is None:
        raise ValueError("Sin transformers no hay con qué comparar.")
    logging.getLogger("transformers").setLevel(logging.ERROR)  # avisa de lo que no se usa
    config = package.TransfoXLConfig(
        vocab_size=VOCAB,
        cutoffs=[],
        d_model=D_MODEL,
        d_embed=D_MODEL,
        n_head=HEADS,
        d_head=D_MODEL // HEADS,
        d_inner=D_FF,
        div_val=1,
        n_layer=num_layers,
        mem_len=mem_len,
        clamp_len=-1,
        same_length=same_length,
        dropout=0.0,
        dropatt=0.0,
        **options,
    )
    theirs = package.TransfoXLLMHeadModel(config).eval()
    return theirs, translated(theirs)


def translated(theirs: nn.Module) -> TransformerXL:
    """El modelo del curso con esos pesos, leídos de una carpeta como la publicarían."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(theirs.config.to_dict()))
        weights = {name: x.clone().contiguous() for name, x in theirs.state_dict().items()}
        save_file(weights, Path(folder, "model.safetensors"))
        return load_transformer_xl(folder)


def gradients_of(theirs: nn.Module) -> dict[str, Tensor]:
    """Los gradientes del original, con los nombres del curso: se cargan como si fueran pesos."""
    as_weights = copy.deepcopy(theirs)
    with torch.no_grad():
        for p, q in zip(as_weights.parameters(), theirs.parameters(), strict=True):
            p.copy_(q.grad)
    device = next(theirs.parameters()).device
    return dict(translated(as_weights).to(device).named_parameters())


class Original:
    """El original, llamado como los del curso: `model(token_ids, memory) -> (log P, memory)`.

    Con memory=None empieza sin memoria, como el artículo: Hugging Face empezaría con vectores de
    ceros que sí reciben atención.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __call__(self, token_ids: Tensor, memory: Any) -> tuple[Tensor, Any]:
        if memory is None:
            empty = self.model.transformer.word_emb.emb_layers[0].weight.new_empty
            memory = [empty(0, len(token_ids), D_MODEL)] * self.model.config.n_layer
        with _type_as_with_dtype():
            output = self.model(token_ids, mems=memory, return_dict=True)
        return output.prediction_scores, output.mems


def reading(
    model: Any, empty: Any, past: Tensor, segments: Sequence[Tensor]
) -> Callable[[], Tensor]:
    """Lee los segmentos seguidos tras la memoria llena de `past`; da las log P del último."""
    _, full = model(past, empty)

    def work():
        state = full
        for segment in segments:
            scores, state = model(segment, state)
            log_p = scores.log_softmax(-1)
        return log_p

    return work


@contextlib.contextmanager
def _type_as_with_dtype():
    """El original pide `x.type_as(dtype=…)`, que torch 2 no tiene."""
    plain = Tensor.type_as

    def type_as(self, other=None, *, dtype=None):
        return plain(self, other) if dtype is None else self.to(dtype)

    Tensor.type_as = type_as
    try:
        yield
    finally:
        Tensor.type_as = plain
