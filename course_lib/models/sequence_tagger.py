"""Una etiqueta por posición, con cualquier codificador."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require_width
from course_lib.layers.embeddings import InputEmbedding, rows_from
from course_lib.layers.encoder_decoder import Encoder
from course_lib.primitives.attention import padding_mask
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

States = Float[Tensor, "batch t d_model"]
Start = int | Int[Tensor, " batch"]


class Tagging(NamedTuple):
    """Lo que da un `SequenceTagger`.

    Argumentos:
        logits: una puntuación por etiqueta y posición, `[batch, t, num_labels]`.
        encoded: lo que dio el codificador, tal cual: de un Universal Transformer, también cuántos
            pasos dio cada posición.

    Fuente: capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import UniversalEncoder
        >>> from course_lib.models import SequenceTagger
        >>> encoder = UniversalEncoder(8, 2, 16, max_steps=4, max_length=10, adaptive=False)
        >>> tagger = SequenceTagger(encoder, vocab_size=12, num_labels=3, d_model=8)
        >>> tagging = tagger(torch.tensor([[5, 6, 7]]))
        >>> tagging.logits.shape, tagging.encoded.n_updates
        (torch.Size([1, 3, 3]), tensor([[4, 4, 4]]))
    """

    logits: Float[Tensor, "batch t num_labels"]
    encoded: Any


class SequenceTagger(nn.Module):
    """Pone una etiqueta a cada posición: incrustación, codificador y una capa lineal.

        H = codificador(E[x])
        logits = H W + b

    Argumentos:
        encoder: cualquier módulo que se llame `encoder(x, mask=…, start=…)`, sume las posiciones
            y dé los estados o algo con `.states`: `PositionedEncoder`, `UniversalEncoder`. Su
            `max_length` es la secuencia más larga.
        vocab_size: tamaño del vocabulario de entrada.
        num_labels: cuántas etiquetas hay.
        d_model: ancho de los vectores.
        pad_id: identificador del relleno, que no se ve.

    Errores:
        ValueError: si un tamaño no es positivo.

    Fuente: capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import PositionedEncoder, SequenceTagger
        >>> encoder = PositionedEncoder(8, 2, 16, num_layers=2, max_length=10)
        >>> tagger = SequenceTagger(encoder, vocab_size=12, num_labels=3, d_model=8)
        >>> tagger(torch.tensor([[5, 6, 7, 0]])).logits.shape
        torch.Size([1, 4, 3])
    """

    def __init__(
        self, encoder: nn.Module, *, vocab_size: int, num_labels: int, d_model: int, pad_id: int = 0
    ) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.embedding = InputEmbedding(
            vocab_size, d_model, max_length=encoder.max_length, positions=None, pad_id=pad_id
        )
        # Menores que las posiciones: el orden se aprende antes, y sin él no hay algoritmo.
        with torch.no_grad():
            self.embedding.table.weight.mul_(d_model**-0.5)
        self.encoder = encoder
        self.output = nn.Linear(d_model, num_labels)

    def forward(self, token_ids: Int[Tensor, "batch t"], *, start: Start = 0) -> Tagging:
        """Puntúa las etiquetas de cada posición.

        Argumentos:
            token_ids: identificadores, con relleno si hace falta.
            start: cuántas posiciones van antes de la primera; un entero o uno por fila.

        Errores:
            ValueError: si un identificador no está en el vocabulario o una posición pasa de
            max_length.
        """
        mask = padding_mask(token_ids, self.pad_id)
        encoded = self.encoder(self.embedding(token_ids), mask=mask, start=start)
        return Tagging(self.output(getattr(encoded, "states", encoded)), encoded)


class PositionedEncoder(nn.Module):
    """Un codificador de bloques distintos que suma las posiciones él mismo, una sola vez.

        H = codificador(x + PE)

    Se llama igual que `UniversalEncoder`, para poder poner uno en el lugar del otro.

    Argumentos:
        d_model, num_heads, d_ff, num_layers, options: los de `Encoder`.
        max_length: la secuencia más larga.

    Errores:
        ValueError: si un tamaño o una opción no tiene sentido.

    Fuente: Vaswani et al. (2017), §3.1 y §3.5; capítulo `universal_transformer`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import PositionedEncoder
        >>> encoder = PositionedEncoder(8, 2, 16, num_layers=2, max_length=10)
        >>> x = torch.rand(1, 5, 8)
        >>> backwards = encoder(x.flip(1)).flip(1)  # ahora el orden cuenta
        >>> torch.allclose(backwards, encoder(x), atol=1e-3)
        False
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_ff: int,
        num_layers: int,
        *,
        max_length: int,
        **options,
    ) -> None:
        super().__init__()
        self.max_length = max_length
        self.encoder = Encoder(d_model, num_heads, d_ff, num_layers, **options)
        like = next(self.encoder.parameters())
        table = sinusoidal_positions(max_length, d_model, device=like.device, dtype=like.dtype)
        self.register_buffer("positions", table, persistent=False)

    def forward(
        self, x: States, *, mask: Bool[Tensor, "batch 1 t"] | None = None, start: Start = 0
    ) -> States:
        """Transforma x; los argumentos son los de `UniversalEncoder.forward`."""
        require_width("x", x, self.positions.shape[-1], "d_model")
        return self.encoder(x + rows_from(self.positions, x.shape[:2], start), mask=mask)
