"""El ajuste fino de BERT: una cabeza por tarea, sobre el mismo tronco."""

from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.layers.arguments import require_sizes
from course_lib.models.bert.model import (
    Bert,
    BertConfig,
    BertOutput,
    Mask,
    TokenIds,
    initialise_head,
)

# Lo que dos modelos deben tener igual para que los parámetros de uno den lo mismo en el otro.
SAME_IN_BOTH = (
    *("vocab_size", "d_model", "num_heads", "num_layers", "d_ff", "max_length", "num_segments"),
    *("activation", "eps", "pad_id"),
)


class FineTuned(nn.Module):
    """Un `Bert` y, en las clases que heredan, la cabeza de una tarea."""

    pooler = True

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.bert = Bert(config, pooler=self.pooler)

    def forward(
        self, token_ids: TokenIds, segment_ids: TokenIds | None = None, *, mask: Mask = None
    ) -> Any:
        """Lee el lote y lo puntúa con `score`; los argumentos son los de `Bert.forward`."""
        return self.score(self.bert(token_ids, segment_ids, mask=mask))

    def start_from(self, source: nn.Module) -> "FineTuned":
        """Copia los parámetros del `Bert` de otro modelo; la cabeza se queda como estaba.

        Es el comienzo del ajuste fino. Si el otro no tiene `pooler` y este sí, el de este se
        queda también como estaba.

        Argumentos:
            source: un `Bert`, o cualquier modelo que lo lleve en `bert`, con los mismos tamaños, la
                misma activación, ε y relleno. El dropout puede ser otro.

        Devuelve:
            Este mismo modelo.

        Errores:
            ValueError: si no es uno de esos modelos, o difiere en algo más que el dropout.
        """
        source = getattr(source, "bert", source)
        if not isinstance(source, Bert):
            raise ValueError(f"source: se esperaba un modelo y llegó {type(source).__name__}.")
        _require_same(self.config, source.config)
        ours = self.bert.state_dict()
        theirs = {name: value for name, value in source.state_dict().items() if name in ours}
        self.bert.load_state_dict(theirs, strict=False)
        return self


class BertForSequenceClassification(FineTuned):
    """Puntúa las clases de una oración, o de un par, a partir de su resumen.

        s = dropout(r) W + b

    Argumentos:
        config: los tamaños y la variante.
        num_classes: cuántas clases.

    Fuente: Devlin et al. (2018), §4.1 y fig. 4 (a, b); capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForSequenceClassification
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> model = BertForSequenceClassification(config, num_classes=3)
        >>> model(torch.tensor([[2, 10, 11, 3], [2, 12, 3, 0]])).shape  # dos oraciones
        torch.Size([2, 3])
    """

    def __init__(self, config: BertConfig, num_classes: int = 2) -> None:
        super().__init__(config)
        require_sizes(num_classes=num_classes)
        self.dropout = nn.Dropout(config.output_dropout)
        self.output = nn.Linear(config.d_model, num_classes)
        initialise_head(self)

    def score(self, encoded: BertOutput) -> Float[Tensor, "batch num_classes"]:
        """Puntúa cada clase, `[batch, num_classes]`."""
        return self.output(self.dropout(encoded.pooled))


class BertForMultipleChoice(FineTuned):
    """Puntúa varias continuaciones de lo mismo: cada una se lee con el enunciado, por su cuenta.

        s_i = dropout(r_i) · w + b                    r_i, el resumen de (enunciado, opción i)

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Devlin et al. (2018), §4.4; capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForMultipleChoice
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> choices = torch.tensor([[[2, 10, 3, 20, 3], [2, 10, 3, 21, 3]]])  # dos continuaciones
        >>> BertForMultipleChoice(config)(choices).shape
        torch.Size([1, 2])
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.dropout = nn.Dropout(config.output_dropout)
        self.output = nn.Linear(config.d_model, 1)
        initialise_head(self)

    def forward(
        self,
        token_ids: Int[Tensor, "batch choices t"],
        segment_ids: Int[Tensor, "batch choices t"] | None = None,
        *,
        mask: Bool[Tensor, "batch choices 1 t"] | None = None,
    ) -> Float[Tensor, "batch choices"]:
        """Puntúa cada opción.

        Argumentos:
            token_ids, segment_ids, mask: los de `Bert.forward`, con un eje más para las
                opciones: `[batch, choices, t]`.

        Devuelve:
            Una puntuación por opción, `[batch, choices]`.

        Errores:
            ValueError: si falta el eje de las opciones; y los de `Bert.forward`.
        """
        if token_ids.ndim != 3:
            raise ValueError(
                "token_ids: se esperaba la forma [batch, choices, t], con un eje para las opciones "
                f"y llegó {tuple(token_ids.shape)}. Júntalas con torch.stack(opciones, dim=1)."
            )
        rows = [None if X is None else X.flatten(0, 1) for X in (token_ids, segment_ids, mask)]
        return super().forward(*rows[:2], mask=rows[2]).view(token_ids.shape[:2])

    def score(self, encoded: BertOutput) -> Float[Tensor, "rows 1"]:
        """Puntúa cada fila: un enunciado con una de sus opciones."""
        return self.output(self.dropout(encoded.pooled))


class SpanOutput(NamedTuple):
    """Las puntuaciones de cada token como comienzo y como fin del tramo, `[batch, t]`.

    Fuente: Devlin et al. (2018), §4.2; capítulo `fine_tuning`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForQuestionAnswering
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> scores = BertForQuestionAnswering(config)(torch.tensor([[2, 10, 3, 20, 21, 3]]))
        >>> scores.start.shape, scores.end.shape
        (torch.Size([1, 6]), torch.Size([1, 6]))
    """

    start: Float[Tensor, "batch t"]
    end: Float[Tensor, "batch t"]


class BertForQuestionAnswering(FineTuned):
    """Responde señalando un tramo del texto: dónde empieza y dónde termina.

        s_t = H_t · w_s + b_s,   e_t = H_t · w_e + b_e

    Argumentos:
        config: los tamaños y la variante.

    Fuente: Devlin et al. (2018), §4.2 y fig. 4 (c); capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForQuestionAnswering, best_spans
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> token_ids = torch.tensor([[2, 10, 3, 20, 21, 3]])  # [CLS] pregunta [SEP] texto [SEP]
        >>> scores = BertForQuestionAnswering(config)(token_ids)
        >>> best_spans(scores, token_ids >= 20).shape  # de qué token a qué token
        torch.Size([1, 2])
    """

    pooler = False

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.output = nn.Linear(config.d_model, 2)
        initialise_head(self)

    def score(self, encoded: BertOutput) -> SpanOutput:
        """Puntúa cada token como comienzo y como fin, `[batch, t]` y `[batch, t]`."""
        return SpanOutput(*self.output(encoded.states).unbind(-1))


class BertForTokenClassification(FineTuned):
    """Puntúa las etiquetas de cada token: su categoría gramatical, si es parte de un nombre…

        s_t = dropout(H_t) W + b

    Argumentos:
        config: los tamaños y la variante.
        num_classes: cuántas etiquetas.

    Fuente: Devlin et al. (2018), §5.3 y fig. 4 (d); capítulo `bert`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import BertConfig, BertForTokenClassification
        >>> config = BertConfig(vocab_size=100, d_model=8, num_heads=2, num_layers=1, d_ff=16)
        >>> model = BertForTokenClassification(config, num_classes=5)
        >>> model(torch.tensor([[2, 10, 11, 3]])).shape  # cinco puntuaciones por token
        torch.Size([1, 4, 5])
    """

    pooler = False

    def __init__(self, config: BertConfig, num_classes: int = 2) -> None:
        super().__init__(config)
        require_sizes(num_classes=num_classes)
        self.dropout = nn.Dropout(config.output_dropout)
        self.output = nn.Linear(config.d_model, num_classes)
        initialise_head(self)

    def score(self, encoded: BertOutput) -> Float[Tensor, "batch t num_classes"]:
        """Puntúa cada etiqueta de cada token, `[batch, t, num_classes]`."""
        return self.output(self.dropout(encoded.states))


def best_spans(
    scores: SpanOutput, candidates: Bool[Tensor, "batch t"], *, longest: int = 30
) -> Int[Tensor, "batch 2"]:
    """Elige el tramo que más puntúa entre los que no terminan antes de empezar.

        (i, j) = arg máx s_i + e_j,   i ≤ j < i + longest,   i y j candidatos

    Argumentos:
        scores: lo que da `BertForQuestionAnswering`.
        candidates: True en los tokens donde puede estar la respuesta: los del texto, sin la
            pregunta ni el relleno.
        longest: el tramo más largo, en tokens.

    Devuelve:
        El primer token y el último de cada tramo, `[batch, 2]`.

    Errores:
        ValueError: si las formas no casan, longest no es positivo o una fila no tiene candidatos.

    Fuente: Devlin et al. (2018), §4.2.

    Ejemplo:
        >>> import torch
        >>> from course_lib.models import SpanOutput, best_spans
        >>> start = torch.tensor([[0.0, 9.0, 2.0, 1.0]])
        >>> end = torch.tensor([[0.0, 0.0, 8.0, 3.0]])
        >>> candidates = torch.tensor([[True, True, True, True]])
        >>> best_spans(SpanOutput(start, end), candidates)  # 9 + 8
        tensor([[1, 2]])
        >>> best_spans(SpanOutput(start, end), candidates, longest=1)  # 2 + 8
        tensor([[2, 2]])
    """
    require_sizes(longest=longest)
    if candidates.shape != scores.start.shape or not candidates.any(-1).all():
        raise ValueError(
            f"candidates: se esperaba la forma {tuple(scores.start.shape)}, con algún True en "
            f"cada fila, y llegó {tuple(candidates.shape)}."
        )
    t = candidates.shape[-1]
    total = scores.start[:, :, None] + scores.end[:, None, :]
    band = torch.ones(t, t, dtype=torch.bool, device=total.device).triu().tril(longest - 1)
    allowed = band & candidates[:, :, None] & candidates[:, None, :]
    best = total.masked_fill(~allowed, -torch.inf).flatten(1).argmax(-1)
    return torch.stack((best // t, best % t), dim=-1)


def _require_same(ours: BertConfig, theirs: BertConfig) -> None:
    """Exige que dos modelos calculen lo mismo con los mismos parámetros: la forma no basta."""
    for name in SAME_IN_BOTH:
        here, there = getattr(ours, name), getattr(theirs, name)
        if here != there:
            raise ValueError(
                f"source: se esperaba {name} = {here!r}, como en este modelo, y llegó {there!r}. "
                "Solo el dropout puede ser otro."
            )
