"""Paso de entrenamiento del Transformer: el del curso y torch.nn.Transformer

Un paso entero: pasada hacia delante, pérdida, pasada hacia atrás y Adam. Los dos comparten
incrustaciones, salida y pérdida; cambia lo de en medio, con los mismos pesos (los de torch, leídos
con `load_torch_transformer`) y las mismas entradas, con relleno en el origen. Antes de medir se
comparan la pérdida y los gradientes de todos los parámetros. La tasa de aprendizaje es cero: Adam
hace todo su trabajo y los pesos no cambian entre vueltas.

Con dropout, el de torch anula además pesos de atención y neuronas ocultas, y el del curso, como
el artículo, solo la salida de cada subcapa; ahí se comparan las pérdidas sin dropout.
"""

import copy
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks._measure import compare, rows_of, same_gradient
from course_lib.models.transformer import Transformer, TransformerConfig
from course_lib.pretrained import load_torch_transformer

PAD = 0
# tamaños del modelo, oraciones por lote, tokens por oración
SIZES = {
    "pequeño": ((2000, 128, 4, 2, 512), 32, 24),
    "base": ((8000, 512, 8, 6, 2048), 8, 32),
}


def run(device: str) -> list[dict]:
    return [
        row
        for name in SIZES
        for dropout in (0.0, 0.1)
        for row in rows_of(
            {"modelo": name, "dropout": dropout},
            compare(
                build,
                name,
                dropout,
                device=device,
                reference="torch.nn",
                same=same_losses if dropout else same_losses_and_gradients,
                flops=flops(name),
            ),
        )
    ]


def build(name: str, dropout: float, device: str) -> dict:
    torch.manual_seed(0)
    sizes, batch, t = SIZES[name]
    theirs, ours = (model.to(device) for model in make_models(sizes, t, dropout))
    source, target = make_batch(sizes[0], batch, t)
    models = {"torch.nn": theirs, "curso": ours}
    return {who: step(m, source.to(device), target.to(device)) for who, m in models.items()}


def make_models(sizes: tuple, t: int, dropout: float) -> tuple[Transformer, Transformer]:
    """Dos modelos con los mismos pesos: por dentro, uno es el de torch y el otro, el del curso."""
    vocab, d_model, num_heads, num_layers, d_ff = sizes
    ours = Transformer(
        TransformerConfig(
            vocab,
            d_model=d_model,
            num_heads=num_heads,
            num_layers=num_layers,
            d_ff=d_ff,
            dropout=dropout,
            max_length=t,
            final_norm=True,
            pad_id=PAD,
        )
    )
    theirs, layers = copy.deepcopy(ours), (num_layers, num_layers)
    theirs.encoder_decoder = TorchBody(d_model, num_heads, *layers, d_ff, dropout, batch_first=True)
    weights = load_torch_transformer(theirs.encoder_decoder).state_dict()
    ours.encoder_decoder.load_state_dict(weights)
    return theirs, ours


class TorchBody(nn.Transformer):
    """`torch.nn.Transformer`, llamado como llama el curso: True = visible."""

    def forward(self, x, y, *, source_mask, cross_mask):
        t, hidden = y.shape[1], ~source_mask.squeeze(1)
        return super().forward(
            x,
            y,
            tgt_mask=torch.ones(t, t, dtype=torch.bool, device=y.device).triu(1),
            tgt_is_causal=True,
            src_key_padding_mask=hidden,
            memory_key_padding_mask=~cross_mask.squeeze(1),
        )


def make_batch(vocab: int, batch: int, t: int) -> tuple[Tensor, Tensor]:
    """Oraciones al azar; los orígenes tienen de 3/4 de t a t tokens, y el resto es relleno."""
    source, target = torch.randint(1, vocab, (2, batch, t))
    lengths = torch.randint(3 * t // 4, t + 1, (batch, 1))
    return source.masked_fill(torch.arange(t) >= lengths, PAD), target


def step(model: Transformer, source: Tensor, target: Tensor):
    """Un paso de entrenamiento listo para repetir; da el modelo y las pérdidas."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0)

    def loss():
        logits = model(source, target[:, :-1])
        return F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())

    model.eval()
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # torch avisa de su camino rápido, que aquí no se mide
        evaluation = loss()
    model.train()

    @torch.enable_grad()
    def work():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return model, evaluation, value.detach()

    return work


def same_losses(ours, theirs):
    torch.testing.assert_close(ours[1], theirs[1])


def same_losses_and_gradients(ours, theirs):
    same_losses(ours, theirs)
    torch.testing.assert_close(ours[2], theirs[2])
    got, wanted = gradients(ours[0]), gradients(theirs[0])
    assert got.keys() == wanted.keys()
    for name, gradient in wanted.items():
        same_gradient(name, got[name], gradient)


@torch.no_grad()
def gradients(model: Transformer) -> dict[str, Tensor]:
    """Los gradientes, con los nombres del curso: se cargan como si fueran pesos."""
    if isinstance(model.encoder_decoder, TorchBody):
        as_weights = copy.deepcopy(model)
        for p, q in zip(as_weights.parameters(), model.parameters(), strict=True):
            p.copy_(q.grad)
        as_weights.encoder_decoder = load_torch_transformer(as_weights.encoder_decoder)
        return dict(as_weights.named_parameters())
    return {name: p.grad for name, p in model.named_parameters()}


def flops(name: str) -> float:
    """Operaciones de un paso: el triple de las de la pasada hacia delante, sin las de relleno.

    Por token, dos por cada peso de las matrices; por par de posiciones y bloque, 4 d_model.
    """
    (vocab, d_model, _, num_layers, d_ff), batch, t = SIZES[name]
    source, target = batch * t * 7 / 8, batch * (t - 1)
    attention, feed_forward = 4 * d_model**2, 2 * d_model * d_ff
    matrices = num_layers * (
        source * (attention + feed_forward + attention / 2)  # claves y valores de la cruzada
        + target * (attention + feed_forward + attention / 2)
    )
    pairs = num_layers * (source * t * 7 / 8 + target * t / 2 + target * t * 7 / 8)
    return 3 * (2 * (matrices + target * vocab * d_model) + 4 * d_model * pairs)
