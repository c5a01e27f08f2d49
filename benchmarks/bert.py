"""BERT base: el del curso y el de Hugging Face

Tres trabajos con lotes de 8 × 128 tokens, todos reales o con 528 reales: la pasada hacia delante
del codificador y el paso de entrenamiento (palabras ocultas, oración siguiente y AdamW), sin
dropout y con el de BERT. Los pesos, al azar, son los mismos: los guarda Hugging Face y los lee
`load_bert`. Antes de medir se comparan los vectores de los tokens reales y, al entrenar sin
dropout, la pérdida. La referencia es Hugging Face con su atención fusionada (`sdpa`); `eager` es la
misma con la atención escrita, y torch.nn.TransformerEncoder, su vía rápida con los mismos pesos y
las mismas incrustaciones.

El codificador del curso es el de `fast.unpadded`, que quita el relleno una sola vez cuando
compensa; «sin quitar» es el modelo tal cual. Al entrenar, Hugging Face puntúa el vocabulario en
todas las posiciones y el curso, solo en las ocultas (el 15 %): por eso baja tanto su tiempo. Del
límite de la máquina cuentan los productos del codificador sobre los tokens reales; al entrenar,
tres veces los de la pasada, con el vocabulario puntuado solo en las ocultas.
"""

import tempfile
from collections.abc import Callable

import torch
from torch import Tensor, nn

from benchmarks._measure import compare, peer, rows_of
from course_lib import fast
from course_lib.data.masking import IGNORED
from course_lib.models.bert import Bert, BertConfig
from course_lib.pretrained import load_bert
from course_lib.training.pretraining import PreTrainingLoss

PEER = "transformers, sdpa"
BATCH, T = 8, 128
LENGTHS = {
    "sin relleno": [T] * BATCH,
    "528 reales": [128, 100, 90, 70, 60, 40, 25, 15],
}
DROPOUTS = (0.0, 0.1)


def run(device: str) -> list[dict]:
    rows = []
    for batch in LENGTHS:
        found = compare(
            encode, batch, device=device, reference=PEER, flops=flops(batch), memory=False,
            same=same_vectors,
        )  # fmt: skip
        rows += rows_of({"trabajo": "pasada", "lote": batch}, found)
    for dropout in DROPOUTS:
        batch = "sin relleno"
        amount = 3 * (flops(batch) + vocabulary_flops(batch))
        found = compare(
            train, batch, dropout, device=device, reference=PEER, flops=amount, memory=False
        )
        rows += rows_of({"trabajo": f"paso, dropout {dropout}", "lote": batch}, found)
    return [{key: row[key] for key in row if key != "MiB"} for row in rows]


def same_vectors(ours: Tensor, theirs: Tensor) -> None:
    """En una GPU, la vía rápida de torch calcula la GELU con su aproximación por tanh."""
    torch.testing.assert_close(ours, theirs, **({"rtol": 0, "atol": 5e-3} if ours.is_cuda else {}))


def encode(batch: str, device: str) -> dict:
    """Lee el lote; da los vectores de los tokens reales."""
    ids, segments, visible, *_ = make_batch(batch, device)
    theirs, ours = make_models("BertModel", device)
    mask = None if visible.all() else visible.long()
    eager, torch_encoder = in_eager(theirs), as_torch_encoder(ours)
    fastest, real = fast.unpadded(ours), visible[:, None]

    def fast_path():
        x = ours.embedding(ids, segments)
        hidden = None if mask is None else ~visible
        return torch_encoder(x, src_key_padding_mask=hidden)[visible]

    jobs = {
        PEER: lambda: theirs(ids, mask, segments).last_hidden_state[visible],
        "transformers, eager": lambda: eager(ids, mask, segments).last_hidden_state[visible],
        "torch.nn.TransformerEncoder": fast_path,
        "curso": lambda: fastest(ids, segments, mask=real).states[visible],
    }
    if mask is not None:
        jobs["curso, sin quitar"] = lambda: ours(ids, segments, mask=real).states[visible]
    return jobs


def train(batch: str, dropout: float, device: str) -> dict:
    """Da un paso de entrenamiento; sin dropout devuelve la pérdida, para compararla."""
    ids, segments, visible, labels, follows = make_batch(batch, device)
    theirs, ours = make_models("BertForPreTraining", device, dropout)
    fastest = fast.unpadded(ours)
    inputs = {"input_ids": ids, "token_type_ids": segments, "attention_mask": visible.long()}
    answers = {"labels": labels, "next_sentence_label": follows}
    return {
        PEER: step(theirs, lambda: theirs(**inputs, **answers).loss, dropout),
        "curso": step(
            fastest, lambda: PreTrainingLoss()(fastest, (ids, segments, labels, follows)), dropout
        ),
    }


def make_models(name: str, device: str, dropout: float = 0.0) -> tuple[nn.Module, nn.Module]:
    """El de Hugging Face y el del curso, con los mismos pesos.

    Errores:
        ValueError: si transformers no está instalado: aquí el rival es la referencia.
    """
    transformers = peer("transformers")
    if transformers is None:
        raise ValueError("Sin transformers no hay con qué comparar.")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    )
    theirs = getattr(transformers, name)(config).eval()
    with tempfile.TemporaryDirectory() as folder:
        theirs.save_pretrained(folder)
        ours = load_bert(folder)
    return theirs.to(device), ours.to(device)


def make_batch(batch: str, device: str) -> tuple[Tensor, ...]:
    """Tokens, segmentos, cuáles son reales, lo que había en los ocultos y si la segunda sigue."""
    rng = torch.Generator().manual_seed(0)
    visible = torch.arange(T) < torch.tensor(LENGTHS[batch])[:, None]
    ids = torch.randint(1, BertConfig.base().vocab_size, (BATCH, T), generator=rng)
    segments = torch.randint(0, 2, (BATCH, T), generator=rng)
    shown = torch.rand(ids.shape, generator=rng) > 0.15
    labels = ids.masked_fill(shown | ~visible, IGNORED)
    follows = torch.randint(2, (BATCH,), generator=rng)
    found = (ids.masked_fill(~visible, 0), segments, visible, labels, follows)
    return tuple(X.to(device) for X in found)


def step(model: nn.Module, loss: Callable[[], Tensor], dropout: float) -> Callable[[], Tensor]:
    """Un paso de entrenamiento, listo para repetir: con tasa 0, los pesos no cambian."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.0, weight_decay=0.01)
    model.train()

    @torch.enable_grad()
    def work():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.detach() if dropout == 0 else torch.zeros(())

    return work


def in_eager(theirs: nn.Module) -> nn.Module:
    """El mismo modelo de Hugging Face, con los mismos tensores y la atención escrita."""
    config = type(theirs.config)(attn_implementation="eager")
    eager = type(theirs)(config).eval().to(theirs.device)
    eager.load_state_dict(theirs.state_dict(), assign=True)
    return eager


def as_torch_encoder(ours: Bert) -> nn.TransformerEncoder:
    """La pila de torch con los pesos de un `Bert`."""
    config = ours.config
    with torch.device("meta"):
        layer = nn.TransformerEncoderLayer(
            config.d_model,
            config.num_heads,
            config.d_ff,
            activation="gelu",
            layer_norm_eps=config.eps,
            batch_first=True,
        )
        stack = nn.TransformerEncoder(layer, config.num_layers).eval()
    for block, layer in zip(ours.blocks, stack.layers, strict=True):
        attention, network = block.attention, block.feed_forward
        parts = {
            "self_attn.in_proj_": attention.W_qkv,
            "self_attn.out_proj.": attention.W_h,
            "linear1.": network.W_1,
            "linear2.": network.W_2,
            "norm1.": block.residual_attention.norm,
            "norm2.": block.residual_feed_forward.norm,
        }
        ends = ("weight", "bias")
        tensors = {name + end: getattr(part, end) for name, part in parts.items() for end in ends}
        layer.load_state_dict(tensors, assign=True)
    return stack


def flops(batch: str) -> float:
    """Operaciones de la pasada de los tokens reales: 2 por peso y token, 4 d_model por par."""
    config, lengths = BertConfig.base(), LENGTHS[batch]
    weights = 4 * config.d_model**2 + 2 * config.d_model * config.d_ff
    pairs = sum(length**2 for length in lengths)
    return config.num_layers * (2 * weights * sum(lengths) + 4 * config.d_model * pairs)


def vocabulary_flops(batch: str) -> float:
    """Operaciones de puntuar el vocabulario en las posiciones ocultas."""
    config = BertConfig.base()
    hidden = int((make_batch(batch, "cpu")[3] != IGNORED).sum())
    return 2 * hidden * config.d_model * (config.d_model + config.vocab_size)
