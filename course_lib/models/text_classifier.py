"""Un codificador que lee un texto y da una puntuación por clase."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require, require_heads, require_option, require_pad_id
from course_lib.layers.embeddings import POSITIONS, InputEmbedding
from course_lib.layers.encoder_decoder import Encoder
from course_lib.primitives.attention import padding_mask
from course_lib.primitives.pooling import max_pool, mean_pool

POOLINGS = {"max": max_pool, "mean": mean_pool}

TokenIds = Int[Tensor, "batch t"]
States = Float[Tensor, "batch t d_model"]
Logits = Float[Tensor, "batch num_classes"]


@dataclass(frozen=True)
class TextClassifierConfig:
    """Tamaños y variante de un `TextClassifier`; sin cambios, el clasificador de reseñas de cine.

    Argumentos:
        vocab_size: tamaño del vocabulario: 50 000 palabras, el relleno y la palabra desconocida.
        d_model, num_heads, num_layers, d_ff: ancho, cabezas, bloques y ancho de la red
            prealimentada.
        num_classes: cuántas clases; una puntuación para cada una.
        max_length: el texto más largo, en tokens.
        pooling: "max" (el mayor valor de cada coordenada) o "mean" (el promedio).
        dropout: el de las incrustaciones y el de la salida de cada subcapa.
        placement, norm, activation, positions: las variantes de `TransformerConfig`.
        pad_id: identificador del relleno.

    Errores:
        ValueError: si un valor no tiene sentido.

    Fuente: capítulo `text_classifier`.

    Ejemplo:
        >>> from course_lib.models import TextClassifierConfig
        >>> config = TextClassifierConfig(pooling="mean")
        >>> config.vocab_size, config.d_model, config.num_layers, config.pooling
        (50002, 32, 1, 'mean')
    """

    vocab_size: int = 50_002
    d_model: int = 32
    num_heads: int = 2
    num_layers: int = 1
    d_ff: int = 128
    num_classes: int = 2
    max_length: int = 512
    pooling: Literal["max", "mean"] = "max"
    dropout: float = 0.1
    placement: Literal["post", "pre", "sandwich"] = "post"
    norm: Literal["layer", "rms"] = "layer"
    activation: Literal["relu", "gelu"] = "relu"
    positions: Literal["sinusoidal", "learned"] | None = "sinusoidal"
    pad_id: int = 0

    def __post_init__(self) -> None:
        require(**vars(self))
        require_heads(self.d_model, self.num_heads)
        require_option("positions", self.positions, POSITIONS)
        require_option("pooling", self.pooling, tuple(POOLINGS))
        require_pad_id(self.pad_id, self.vocab_size)
        if self.num_classes < 2:
            raise ValueError(
                f"num_classes: se esperaban al menos 2 clases y llegó {self.num_classes}; "
                "«sí o no» ya son dos."
            )


class TextClassifier(nn.Module):
    """Lee el texto con un codificador, lo resume en un vector y puntúa cada clase.

        H = codificador(incrustación(x))
        r = máx o promedio de las filas de H que no son relleno
        logits = r W + b

    Argumentos:
        config: los tamaños y la variante.

    Fuente: el codificador, Vaswani et al. (2017), §3.1; capítulo `text_classifier`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import TextClassifier, TextClassifierConfig
        >>> model = TextClassifier(TextClassifierConfig(vocab_size=100, dropout=0.0))
        >>> short, padded = torch.tensor([[5, 6, 7]]), torch.tensor([[5, 6, 7, 0, 0]])
        >>> model(short).shape
        torch.Size([1, 2])
        >>> torch.allclose(model(short), model(padded), atol=1e-5)  # el relleno no cuenta
        True
    """

    def __init__(self, config: TextClassifierConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = InputEmbedding(
            config.vocab_size,
            config.d_model,
            max_length=config.max_length,
            positions=config.positions,
            pad_id=config.pad_id,
            dropout=config.dropout,
        )
        self.encoder = Encoder(
            config.d_model,
            config.num_heads,
            config.d_ff,
            config.num_layers,
            dropout=config.dropout,
            placement=config.placement,
            norm=config.norm,
            activation=config.activation,
        )
        self.output = nn.Linear(config.d_model, config.num_classes)

    def forward(self, token_ids: TokenIds) -> Logits:
        """Puntúa las clases de cada texto.

        Argumentos:
            token_ids: identificadores con relleno, `[batch, t]`.

        Devuelve:
            Los logits, `[batch, num_classes]`. Un texto vacío recibe los logits b.

        Errores:
            ValueError: si un identificador no está en el vocabulario o el texto pasa de max_length.
        """
        H = self.encode(token_ids)
        pool = POOLINGS[self.config.pooling]
        return self.output(pool(H, token_ids != self.config.pad_id))

    def encode(self, token_ids: TokenIds) -> States:
        """Devuelve el estado oculto H de cada posición, `[batch, t, d_model]`."""
        mask = padding_mask(token_ids, self.config.pad_id)
        return self.encoder(self.embedding(token_ids), mask=mask)


def binary_cross_entropy(
    logits: Float[Tensor, "*shape"], targets: Float[Tensor, "*shape"]
) -> Float[Tensor, ""]:
    """Entropía cruzada binaria media, calculada con los logits para no perder cifras.

        L = −y log σ(z) − (1 − y) log(1 − σ(z)) = (1 − y) z − log σ(z)

    Argumentos:
        logits: puntuaciones z, sin la sigmoide.
        targets: etiquetas y, entre 0 y 1, con la misma forma.

    Devuelve:
        La media de todas.

    Errores:
        ValueError: si las formas difieren o no hay ningún valor.

    Fuente: ecuación `eq-binary-cross-entropy` del capítulo `text_classifier`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import binary_cross_entropy
        >>> unsure, sure = torch.tensor([0.0]), torch.tensor([5.0])
        >>> binary_cross_entropy(unsure, torch.tensor([1.0]))  # log 2: como tirar una moneda
        tensor(0.6931)
        >>> binary_cross_entropy(sure, torch.tensor([1.0]))
        tensor(0.0067)
        >>> binary_cross_entropy(sure, torch.tensor([0.0]))  # segura, y equivocada
        tensor(5.0067)
    """
    if logits.shape != targets.shape or not logits.numel():
        raise ValueError(
            "Se esperaban logits y etiquetas con la misma forma y algún valor, y llegaron "
            f"{list(logits.shape)} y {list(targets.shape)}."
        )
    return ((1 - targets) * logits - F.logsigmoid(logits)).mean()


def classification_loss(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Float[Tensor, ""]:
    """Pérdida de un lote (identificadores, clase): cada clase es una pregunta de sí o no.

    Argumentos:
        model: da logits `[batch, num_classes]`.
        batch: identificadores `[batch, t]` y clases `[batch]`.

    Devuelve:
        `binary_cross_entropy` de los logits con la clase en forma de ceros y unos.

    Errores:
        ValueError: si no hay una clase por texto, o alguna no es un entero de 0 a num_classes − 1.

    Fuente: ecuación `eq-binary-cross-entropy` del capítulo `text_classifier`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import TextClassifier, TextClassifierConfig, classification_loss
        >>> model = TextClassifier(TextClassifierConfig(vocab_size=100))
        >>> for parameter in model.output.parameters():
        ...     _ = torch.nn.init.zeros_(parameter)  # no sabe nada: log 2
        >>> texts, classes = torch.tensor([[5, 6], [7, 8]]), torch.tensor([0, 1])
        >>> round(classification_loss(model, (texts, classes)).item(), 4)
        0.6931
    """
    token_ids, classes = batch
    logits = model(token_ids)
    _require_classes(classes, logits)
    targets = F.one_hot(classes, logits.shape[-1]).to(logits.dtype)
    return binary_cross_entropy(logits, targets)


def _require_classes(classes: Tensor, logits: Tensor) -> None:
    rows, count = logits.shape
    whole = classes.shape == (rows,) and classes.dtype == torch.long
    if not whole or ((classes < 0) | (classes >= count)).any():
        raise ValueError(
            f"classes: se esperaban {rows} enteros (torch.long) entre 0 y {count - 1}, uno por "
            f"texto, y llegó la forma {tuple(classes.shape)} de tipo {classes.dtype}."
        )
