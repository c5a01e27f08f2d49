"""Modelos de lenguaje con memoria: evaluarlos token a token.

El modelo es cualquiera que se llame `model(token_ids, memory) -> (logits, memory)`, con None por
memoria vacía. Las pérdidas de la evaluación son −log P de cada token, en nats, y ocupan su sitio en
el documento: la columna i es la del token i + 1, el que sigue al i. Antes de evaluar, pon el modelo
en `.eval()`: el dropout también cambiaría las pérdidas.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.data.segments import segments

Model = Callable[[Tensor, Any], tuple[Tensor, Any]]
Documents = Int[Tensor, "batch t"]
Losses = Float[Tensor, "batch t_targets"]


@torch.no_grad()
def segment_losses(
    model: Model,
    token_ids: Documents,
    *,
    segment_length: int,
    memory: Any = None,
    pad_id: int | None = None,
) -> Losses:
    """Evalúa con memoria: cada token se lee una vez, y lo anterior llega por la memoria.

    Argumentos:
        model: el modelo, o `fast.frozen(model)`, que da los mismos números sin proyectar nada dos
            veces.
        token_ids: documentos, uno por fila.
        segment_length: tokens por segmento; no cambia lo que se ve si la memoria alcanza.
        memory: la memoria con la que se empieza: None, la del modelo; o `model.start(length)`, que
            recordará otra longitud.
        pad_id: el relleno; None, si no hay.

    Devuelve:
        −log P(x_{i+1} | lo que se ve desde i), una columna menos que `token_ids`; NaN en el
        relleno, para promediar con `nanmean`.

    Errores:
        ValueError: si no hay nada que predecir o segment_length no es positivo.

    Fuente: Dai et al. (2019), §3.2; capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import segment_losses
        >>> def model(token_ids, memory):  # no sabe nada: diez tokens, igual de probables
        ...     return torch.zeros(*token_ids.shape, 10), memory
        >>> segment_losses(model, torch.tensor([[5, 6, 7, 8]]), segment_length=2)
        tensor([[2.3026, 2.3026, 2.3026]])
    """
    found = []
    for inputs, targets in segments(token_ids, segment_length):
        logits, memory = model(inputs, memory)
        found.append(_each(logits, targets))
    return _hide_padding(torch.cat(found, 1), token_ids, pad_id)


@torch.no_grad()
def sliding_losses(
    model: Model,
    token_ids: Documents,
    *,
    context: int,
    windows: int = 64,
    pad_id: int | None = None,
) -> Losses:
    """Evalúa con una ventana deslizante: para cada token, recalcula los `context` anteriores.

        −log P(x_{i+1} | x_{i−c+1}, …, x_i)

    La primera ventana da de una vez sus c tokens, que tienen menos pasado; cada una de las demás,
    solo el último.

    Argumentos:
        model: el modelo; se llama sin memoria.
        token_ids: documentos, uno por fila.
        context: c, tokens por ventana.
        windows: cuántas ventanas se calculan a la vez; solo cambia la memoria que se gasta.
        pad_id: el relleno; None, si no hay.

    Devuelve:
        Las pérdidas, como las de `segment_losses`.

    Errores:
        ValueError: si no hay nada que predecir o context no es positivo.

    Fuente: Al-Rfou et al. (2019); Dai et al. (2019), §3.1; capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import sliding_losses
        >>> def model(token_ids, memory):  # no sabe nada: diez tokens, igual de probables
        ...     return torch.zeros(*token_ids.shape, 10), memory
        >>> losses = sliding_losses(model, torch.tensor([[5, 6, 7, 8, 0]]), context=2, pad_id=0)
        >>> losses  # el relleno no cuenta
        tensor([[2.3026, 2.3026, 2.3026,    nan]])
    """
    inputs, targets = next(segments(token_ids, context))
    found = [_each(model(inputs, None)[0], targets)]
    if token_ids.shape[1] - 1 > context:
        scored = torch.arange(context, token_ids.shape[1] - 1, device=token_ids.device)
        found.append(context_losses(model, token_ids, scored, context=context, windows=windows))
    return _hide_padding(torch.cat(found, 1), token_ids, pad_id)


@torch.no_grad()
def context_losses(
    model: Model,
    token_ids: Documents,
    scored: Int[Tensor, " scored"],
    *,
    context: int,
    segment_length: int | None = None,
    memory: Any = None,
    windows: int = 64,
) -> Float[Tensor, "batch scored"]:
    """Mide unas posiciones con un pasado de longitud fija: exactamente c tokens.

        −log P(x_{i+1} | x_{i−c+1}, …, x_i),   i en `scored`

    Con varios valores de c y las mismas posiciones se ve cuánto ayuda un pasado más largo.

    Argumentos:
        model: el modelo.
        token_ids: documentos sin relleno, uno por fila.
        scored: las posiciones i.
        context: c.
        segment_length: si se da, los c tokens se leen en segmentos de esta longitud, con memoria;
            si no, de una vez.
        memory: la memoria vacía con la que empieza cada ventana: None, la del modelo, o
            `model.start(length)`, que recordará otra longitud.
        windows: cuántas ventanas se calculan a la vez.

    Devuelve:
        Una pérdida por documento y posición.

    Errores:
        ValueError: si una posición no tiene c tokens hasta ella y uno detrás.

    Fuente: Khandelwal et al. (2018); capítulo `transformer_xl`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import context_losses
        >>> def model(token_ids, memory):  # predice que el siguiente repite el primero que ve
        ...     guess = token_ids[:, :1].expand(-1, token_ids.shape[1])
        ...     return 50.0 * torch.nn.functional.one_hot(guess, 10).float(), memory
        >>> token_ids, last = torch.tensor([[3, 7, 3]]), torch.tensor([1])
        >>> [context_losses(model, token_ids, last, context=c).item() < 1 for c in (1, 2)]
        [False, True]
    """
    _require_room(scored, context, token_ids.shape[1])
    # [batch, posiciones, c + 1]: los c tokens que se leen y el que se predice.
    tokens = token_ids.unfold(1, context + 1, 1)[:, scored - context + 1]
    found = [
        _last_loss(model, window, segment_length or context, memory)
        for window in tokens.flatten(0, 1).split(windows)
    ]
    return torch.cat(found).view(tokens.shape[:2])


def effective_context(
    contexts: Sequence[int], losses: Sequence[float], *, gain: float = 0.01
) -> int:
    """Dice hasta dónde aprovecha un modelo el pasado, según su pérdida con varios contextos.

    Es el menor contexto tras el cual ningún otro más largo de la lista mejora la perplejidad en
    una fracción mayor que `gain`:

        c* = min {c : 1 − e^{L(c') − L(c)} ≤ gain para todo c' > c}

    El contexto puede ser una ventana (`context_losses`) o la longitud de la memoria
    (`segment_losses` desde `model.start(length)`, en posiciones tardías).

    Argumentos:
        contexts: los contextos probados, de menor a mayor.
        losses: la pérdida media con cada uno, en las mismas posiciones.
        gain: la mejora relativa de la perplejidad que ya no cuenta.

    Devuelve:
        c*, uno de `contexts`. Si es el último, el pasado útil puede ser más largo que lo probado.

    Errores:
        ValueError: si las listas no concuerdan o los contextos no van de menor a mayor.

    Fuente: simplifica la longitud de contexto efectiva de Dai et al. (2019), §4.3: un solo modelo y
    todas las posiciones; capítulo `transformer_xl`.

    Ejemplo:
        >>> from course_lib.training import effective_context
        >>> effective_context([1, 2, 4, 8], [3.0, 2.5, 2.2, 2.2])  # de 4 a 8 ya no mejora
        4
    """
    _require_contexts(contexts, losses)
    for i, c in enumerate(contexts):
        if all(1 - math.exp(later - losses[i]) <= gain for later in losses[i + 1 :]):
            return c
    return contexts[-1]


def perplexity(losses: Tensor) -> float:
    """La perplejidad: la exponencial de la pérdida media, sin contar el relleno (NaN).

        PPL = exp(L)

    Argumentos:
        losses: pérdidas por token, en nats.

    Ejemplo:
        >>> import torch
        >>> from course_lib.training import perplexity
        >>> losses = torch.tensor([0.5, 0.5, 0.25]).log().neg()
        >>> round(perplexity(losses[:2]), 4)  # como dudar entre dos palabras
        2.0
        >>> round(perplexity(losses), 2)
        2.52
    """
    return math.exp(losses.nanmean().item())


def _each(logits: Tensor, targets: Tensor) -> Tensor:
    """La pérdida de cada token, en su sitio."""
    scores = logits.float() if logits.dtype.itemsize < 4 else logits
    each = F.cross_entropy(scores.flatten(0, 1), targets.flatten(), reduction="none")
    return each.view(targets.shape)


def _last_loss(model: Model, tokens: Tensor, segment_length: int, memory: Any) -> Tensor:
    """La pérdida del último token de cada fila, leídos los demás en segmentos."""
    for inputs in tokens[:, :-1].split(segment_length, 1):
        logits, memory = model(inputs, memory)
    return _each(logits[:, -1:], tokens[:, -1:]).squeeze(1)


def _hide_padding(losses, token_ids, pad_id):
    if pad_id is None:
        return losses
    return losses.masked_fill(token_ids[:, 1:] == pad_id, math.nan)


def _require_room(scored, context, t):
    if context < 1:
        raise ValueError(f"context: se esperaba al menos 1 y llegó {context}.")
    if not len(scored) or scored.min() < context - 1 or scored.max() > t - 2:
        span = f"entre {scored.min()} y {scored.max()}" if len(scored) else "ninguna"
        raise ValueError(
            f"scored: con un contexto de {context} y documentos de {t} tokens se esperaban "
            f"posiciones entre {context - 1} y {t - 2} y llegaron {span}."
        )


def _require_contexts(contexts, losses):
    if len(contexts) != len(losses) or not contexts or list(contexts) != sorted(set(contexts)):
        raise ValueError(
            "Se esperaba una pérdida por contexto, con los contextos de menor a mayor, y llegaron "
            f"{list(contexts)} y {len(losses)} pérdidas."
        )
