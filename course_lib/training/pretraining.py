"""Preentrenar y ajustar un BERT: lo que se minimiza en cada tarea y los lotes con tokens ocultos.

Las pérdidas se llaman `loss(model, batch)`, como las quiere `training.loop.train`. En los lotes, lo
que lee el modelo va primero y lo que debe responder, al final; los segmentos se pueden omitir donde
no se dice otra cosa. El relleno nunca cuenta.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Int
from torch import Tensor

from course_lib.data.masking import IGNORED, Masking
from course_lib.training.batches import TokenBatches
from course_lib.training.losses import cross_entropy

Batch = tuple[Tensor, ...]


class MaskedBatches:
    """Lotes de preentrenamiento: cada vez que pasa una secuencia se le ocultan otros tokens.

        (tokens, segmentos, sigue) → (tokens con huecos, segmentos, lo que había, sigue)

    Los huecos de un lote dependen solo de la semilla y de su número, así que se puede volver a
    cualquier posición: `stream(start)`.

    Argumentos:
        batches: lotes cuyo primer campo son los identificadores y el último, si la segunda oración
            sigue a la primera.
        masking: quien oculta los tokens.
        seed: semilla de los huecos.

    Fuente: Liu et al. (2019), §4.1 (ocultar de nuevo en cada pasada); capítulo `bert`.

    Ejemplo:
        >>> from course_lib.data.masking import Masking
        >>> from course_lib.training import MaskedBatches, TokenBatches
        >>> masking = Masking(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "el", "gato", "come"])
        >>> batches = TokenBatches([([2, 5, 6, 7, 3], 1)], batch_size=1)
        >>> [(masked, hidden, follows)] = MaskedBatches(batches, masking)
        >>> masked.shape, (hidden != -100).sum()  # el 15 % de cinco tokens: uno
        (torch.Size([1, 5]), tensor(1))
    """

    def __init__(self, batches: TokenBatches, masking: Masking, *, seed: int = 0) -> None:
        self.batches, self.masking, self.seed = batches, masking, seed

    def __len__(self) -> int:
        """Cuántos lotes hay en una pasada."""
        return len(self.batches)

    def __iter__(self) -> Iterator[Batch]:
        """Recorre la primera pasada, siempre con los mismos huecos: sirve para evaluar."""
        return itertools.islice(self.stream(), len(self))

    def stream(self, start: int = 0) -> Iterator[Batch]:
        """Lotes sin fin, a partir del número `start`."""
        for number, batch in enumerate(self.batches.stream(start), start):
            token_ids, *others, follows = batch
            generator = torch.Generator().manual_seed((self.seed * 1_000_003 + number) % 2**63)
            masked, labels = self.masking(token_ids, generator)
            yield (masked, *others, labels, follows)


@dataclass(frozen=True)
class PreTrainingLoss:
    """Palabras ocultas y oración siguiente: `(tokens, segmentos, lo que había, sigue)`.

        L = −(1/n) Σ_{t oculto} log P(x_t | x con huecos) − (1/batch) Σ log P(sigue)

    Solo se puntúan las n posiciones ocultas. En un modelo sin la segunda tarea, la segunda suma no
    está.

    Fuente: Devlin et al. (2018), §3.1 y apéndice A.2; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForPreTraining
        >>> from course_lib.training import PreTrainingLoss
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> tokens, hidden = torch.tensor([[2, 10, 4, 3]]), torch.tensor([[-100, -100, 11, -100]])
        >>> batch = tokens, torch.zeros_like(tokens), hidden, torch.tensor([0])
        >>> loss = PreTrainingLoss()
        >>> loss(BertForPreTraining(config), batch).shape, loss.count(batch)  # un token oculto
        (torch.Size([]), 1)
    """

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Devuelve la suma de las dos entropías cruzadas medias."""
        *inputs, labels, follows = batch
        hidden = labels != IGNORED
        words, next_sentence = model(*inputs, positions=hidden)
        loss = cross_entropy(words, labels[hidden])
        return loss if next_sentence is None else loss + cross_entropy(next_sentence, follows)

    def count(self, batch: Batch) -> int:
        """Cuántas palabras ocultas hay; con lotes acumulados, la otra tarea pesa según ellas."""
        return int((batch[-2] != IGNORED).sum())


@dataclass(frozen=True)
class ClassificationLoss:
    """La clase de cada oración o par: `(tokens, segmentos, clase)`.

        L = −(1/batch) Σ log P(clase)

    Fuente: Devlin et al. (2018), §4.1; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import ClassificationLoss
        >>> def model(token_ids):  # no sabe nada: dos clases, igual de probables
        ...     return torch.zeros(len(token_ids), 2)
        >>> ClassificationLoss()(model, (torch.tensor([[2, 10, 3]]), torch.tensor([1])))  # log 2
        tensor(0.6931)
    """

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Devuelve la entropía cruzada media por ejemplo."""
        *inputs, classes = batch
        return cross_entropy(model(*inputs), classes)

    def count(self, batch: Batch) -> int:
        """Cuántos ejemplos hay."""
        return len(batch[-1])


@dataclass(frozen=True)
class ChoiceLoss:
    """La opción correcta: `(tokens y segmentos de la opción 1, de la 2, …, cuál)`.

        L = −(1/batch) Σ log P(correcta),   P = softmax de las puntuaciones de las opciones

    Así reparte `TokenBatches` los ejemplos de varias opciones: dos campos por cada una.

    Argumentos:
        pad_id: el relleno, que iguala el largo de las opciones.

    Fuente: Devlin et al. (2018), §4.4; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import ChoiceLoss
        >>> def model(token_ids, segment_ids):  # no sabe nada: lo mismo a cada opción
        ...     return torch.zeros(token_ids.shape[:2])
        >>> tokens, segments = torch.tensor([[2, 10, 3, 20, 3]]), torch.tensor([[0, 0, 0, 1, 1]])
        >>> batch = tokens, segments, tokens + 0, segments, torch.tensor([1])  # dos opciones
        >>> ChoiceLoss()(model, batch)  # log 2
        tensor(0.6931)
    """

    pad_id: int = 0

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Devuelve la entropía cruzada media por ejemplo."""
        *fields, correct = batch
        token_ids, segment_ids = stack_choices(fields, self.pad_id)
        return cross_entropy(model(token_ids, segment_ids), correct)

    def count(self, batch: Batch) -> int:
        """Cuántos ejemplos hay."""
        return len(batch[-1])


@dataclass(frozen=True)
class SpanLoss:
    """El tramo que responde: `(tokens, segmentos, primer token, último token)`.

        L = −(1/batch) Σ ½ (log P(comienzo) + log P(fin))

    Las dos probabilidades se reparten entre los tokens reales.

    Argumentos:
        pad_id: el relleno, donde no empieza ni termina nada.

    Fuente: Devlin et al. (2018), §4.2; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import SpanLoss
        >>> def model(token_ids):  # no sabe nada: cualquier token puede empezar y terminar
        ...     return torch.zeros(2, *token_ids.shape)
        >>> token_ids = torch.tensor([[2, 10, 11, 3, 0, 0]])
        >>> batch = token_ids, torch.tensor([1]), torch.tensor([2])  # de qué token a qué token
        >>> SpanLoss()(model, batch)  # log 4: el relleno no cuenta
        tensor(1.3863)
    """

    pad_id: int = 0

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Devuelve la media de las dos entropías cruzadas."""
        *inputs, first, last = batch
        padding = inputs[0] == self.pad_id
        start, end = (scores.masked_fill(padding, -torch.inf) for scores in model(*inputs))
        return (cross_entropy(start, first) + cross_entropy(end, last)) / 2

    def count(self, batch: Batch) -> int:
        """Cuántos ejemplos hay."""
        return len(batch[-1])


@dataclass(frozen=True)
class TaggingLoss:
    """La etiqueta de cada token: `(tokens, segmentos, etiquetas)`.

        L = −(1/n) Σ log P(etiqueta_t)

    Argumentos:
        pad_id: el relleno: sus etiquetas no cuentan, valgan lo que valgan.
        ignore_id: la etiqueta de los tokens que no cuentan: los especiales y los trozos que
            continúan palabra.

    Fuente: Devlin et al. (2018), §5.3; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import TaggingLoss
        >>> def model(token_ids):  # no sabe nada: cinco etiquetas, igual de probables
        ...     return torch.zeros(*token_ids.shape, 5)
        >>> batch = torch.tensor([[2, 10, 11, 3]]), torch.tensor([[-100, 1, 4, -100]])
        >>> loss = TaggingLoss()
        >>> loss(model, batch), loss.count(batch)  # log 5, en las dos palabras
        (tensor(1.6094), 2)
    """

    pad_id: int = 0
    ignore_id: int = IGNORED

    def __call__(self, model: Any, batch: Batch) -> Tensor:
        """Devuelve la entropía cruzada media por token que cuenta."""
        *inputs, labels = batch
        labels = labels.masked_fill(inputs[0] == self.pad_id, self.ignore_id)
        return cross_entropy(model(*inputs), labels, ignore_id=self.ignore_id)

    def count(self, batch: Batch) -> int:
        """Cuántos tokens cuentan: los reales con etiqueta."""
        return int(((batch[-1] != self.ignore_id) & (batch[0] != self.pad_id)).sum())


def stack_choices(
    fields: Sequence[Int[Tensor, "batch _"]], pad_id: int = 0
) -> tuple[Int[Tensor, "batch choices t"], Int[Tensor, "batch choices t"]]:
    """Reúne las opciones de un lote, rellenas hasta la más larga.

    Argumentos:
        fields: tokens de la opción 1, sus segmentos, tokens de la opción 2, sus segmentos…
        pad_id: el relleno.

    Devuelve:
        El par (tokens, segmentos), cada uno `[batch, choices, t]`.

    Errores:
        ValueError: si no hay dos campos por opción.

    Fuente: Devlin et al. (2018), §4.4; capítulo `fine_tuning`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import stack_choices
        >>> first, second = torch.tensor([[2, 10, 3]]), torch.tensor([[2, 11, 12, 3]])
        >>> segments = torch.zeros_like
        >>> tokens, _ = stack_choices([first, segments(first), second, segments(second)])
        >>> tokens
        tensor([[[ 2, 10,  3,  0],
                 [ 2, 11, 12,  3]]])
    """
    if not fields or len(fields) % 2:
        raise ValueError(
            "Se esperaban dos campos por opción, sus tokens y sus segmentos, y llegaron "
            f"{len(fields)} campos."
        )
    longest = max(field.shape[-1] for field in fields)

    def stacked(columns, value):
        return torch.stack([F.pad(X, (0, longest - X.shape[-1]), value=value) for X in columns], 1)

    return stacked(fields[::2], pad_id), stacked(fields[1::2], 0)
