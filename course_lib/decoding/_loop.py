"""Lo común a la decodificación voraz y al muestreo: el bucle que escribe token a token."""

import math

import torch

from course_lib.decoding.generation import Generation
from course_lib.decoding.state import select


def write(step, prompt, state, choose, end_id, max_new_tokens) -> Generation:
    """Junta lo que `steps` escribe: los tokens de cada fila y su log P."""
    written, total = [], None
    for rows, chosen, log_p in steps(step, prompt, state, choose, end_id, max_new_tokens):
        written.append(in_rows(prompt, rows, chosen, end_id))
        total = log_p.new_zeros(len(prompt)) if total is None else total
        total.index_add_(0, rows, log_p)
    return Generation(torch.stack(written, 1), total)


def steps(step, prompt, state, choose, end_id, max_new_tokens):
    """Escribe un token por paso con `choose(log_p, filas, paso)`, sin las filas que terminaron.

    Da las filas que siguen activas, sus tokens y el log P de cada uno.
    """
    rows = torch.arange(len(prompt), device=prompt.device)
    inputs = prompt
    for i in range(max_new_tokens):
        log_p, state = predict(step, inputs, state, end_id)
        chosen = choose(log_p, rows, i)
        yield rows, chosen, log_p.gather(-1, chosen[:, None]).squeeze(-1)
        if end_id is not None:
            alive = (chosen != end_id).nonzero()[:, 0]
            if not len(alive):
                return
            if len(alive) < len(rows):
                rows, chosen, state = rows[alive], chosen[alive], select(state, alive)
        inputs = chosen[:, None]


def in_rows(prompt, rows, chosen, end_id):
    """Los tokens de un paso en su fila del lote; `end_id` en las que ya terminaron."""
    chosen = chosen.to(prompt.dtype)
    if len(rows) == len(prompt):
        return chosen
    return prompt.new_full((len(prompt),), end_id).index_copy(0, rows, chosen)


def most_probable(log_p, rows, i):
    return log_p.argmax(-1)


@torch.no_grad()
def predict(step, token_ids, state, end_id):
    """Da log P del token que sigue a cada fila, `[filas, vocab]`, y el estado nuevo."""
    logits, state = step(token_ids, state)
    _require_logits(logits, len(token_ids), end_id)
    last = logits[:, -1]
    half = last.dtype in (torch.float16, torch.bfloat16)
    log_p = torch.log_softmax(last.float() if half else last, dim=-1)
    if math.isnan(log_p.sum()):  # ningún log P es +∞: la suma es NaN solo si hay alguno
        raise ValueError(
            "El modelo dio logits con NaN, con +∞ o con todos los tokens en −∞, y no hay de dónde "
            "elegir: revisa sus parámetros (¿divergió el entrenamiento?) y sus máscaras."
        )
    return log_p, state


def require_request(prompt, end_id, max_new_tokens):
    if prompt.ndim != 2 or 0 in prompt.shape or prompt.is_floating_point():
        raise ValueError(
            "prompt: se esperaban identificadores enteros de forma [batch, t], con al menos una "
            f"fila y un token, y llegó la forma {tuple(prompt.shape)} de tipo {prompt.dtype}. "
            "Si no hay nada escrito, empieza con start_id."
        )
    if max_new_tokens < 1:
        raise ValueError(f"max_new_tokens: se esperaba al menos 1 y llegó {max_new_tokens}.")
    if end_id is not None and end_id < 0:
        raise ValueError(f"end_id: se esperaba un identificador o None y llegó {end_id}.")


def _require_logits(logits, rows, end_id):
    if logits.ndim != 3 or len(logits) != rows or not logits.is_floating_point():
        raise ValueError(
            f"Se esperaba que el modelo diera logits de forma [{rows}, t, vocab] y dio un tensor "
            f"de forma {tuple(logits.shape)} y tipo {logits.dtype}."
        )
    if end_id is not None and end_id >= logits.shape[-1]:
        raise ValueError(
            f"end_id = {end_id} no cabe en el vocabulario del modelo, de {logits.shape[-1]} tokens."
        )
