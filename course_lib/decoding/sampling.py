"""Muestreo: temperatura, top-k y top-p."""

import math
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.decoding._loop import require_request, write
from course_lib.decoding.generation import Generation, Step


def sample(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    end_id: int | None,
    max_new_tokens: int,
    generator: torch.Generator | None = None,
) -> Generation:
    """Sortea cada token con la probabilidad que el modelo le da (muestreo).

    Primero se aplica la temperatura, después top-k y después top-p, sobre lo que dejó top-k.

    Argumentos:
        step, prompt, state, end_id, max_new_tokens: los de `greedy`.
        temperature: T > 0; con menos de 1, más parecido a la decodificación voraz.
        top_k: con cuántos tokens quedarse, los más probables; con None, todos.
        top_p: qué probabilidad debe reunir lo que queda, en (0, 1]; con None, todos.
        generator: el azar; si falta, el de torch. Da una semilla a cada fila, así que lo sorteado
            en una no depende de las demás ni del límite.

    Devuelve:
        Una continuación por fila; su `log_probability` es la del modelo, sin temperatura ni
        recortes, y se puede comparar con la de otros métodos.

    Errores:
        ValueError: los de `greedy`, y si la temperatura, top_k o top_p no tienen sentido.

    Fuente: Fan et al. (2018); Holtzman et al. (2020), §3; ecuaciones `eq-sampling` y
    `eq-top-p` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy, sample
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> prompt, options = torch.tensor([[0]]), {"end_id": None, "max_new_tokens": 5}
        >>> sample(step, prompt, **options).token_ids.shape
        torch.Size([1, 5])
        >>> only_best = sample(step, prompt, top_k=1, **options)  # ya no hay azar
        >>> torch.equal(only_best.token_ids, greedy(step, prompt, **options).token_ids)
        True
    """
    require_request(prompt, end_id, max_new_tokens)
    choose = drawn(prompt, max_new_tokens, temperature, top_k, top_p, generator)
    return write(step, prompt, state, choose, end_id, max_new_tokens)


def sampling_distribution(
    logits: Float[Tensor, "*batch vocab"],
    temperature: float = 1.0,
    *,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "*batch vocab"]:
    """Da las probabilidades con las que se sortea el siguiente token.

        p_i ∝ exp(z_i / T)     y 0 para los tokens que descartan top-k o top-p

    Argumentos:
        logits: z; sirven también los logaritmos de las probabilidades.
        temperature, top_k, top_p: los de `sample`.

    Devuelve:
        Probabilidades que suman 1.

    Fuente: ecuación `eq-sampling` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import sampling_distribution
        >>> logits = torch.tensor([0.5, 0.3, 0.2]).log()
        >>> sampling_distribution(logits)
        tensor([0.5000, 0.3000, 0.2000])
        >>> sampling_distribution(logits, temperature=0.5)  # más confiada
        tensor([0.6579, 0.2368, 0.1053])
        >>> sampling_distribution(logits, top_k=2)
        tensor([0.6250, 0.3750, 0.0000])
    """
    _require_sampling(temperature, top_k, top_p)
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return torch.softmax(logits, dim=-1)


def keep_top_k(logits: Float[Tensor, "*batch vocab"], k: int) -> Float[Tensor, "*batch vocab"]:
    """Deja los k tokens más probables y pone −∞ en los demás (top-k).

    Fuente: Fan et al. (2018); capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import keep_top_k
        >>> keep_top_k(torch.tensor([3.0, 1.0, 2.0]), 2)
        tensor([3., -inf, 2.])
    """
    _require_top_k(k)
    best = logits.topk(min(k, logits.shape[-1]), dim=-1).indices
    return _keep(logits, torch.zeros_like(logits, dtype=torch.bool).scatter(-1, best, True))


def keep_top_p(logits: Float[Tensor, "*batch vocab"], p: float) -> Float[Tensor, "*batch vocab"]:
    """Deja el menor conjunto de tokens que reúne una probabilidad p, y −∞ en los demás (top-p).

    De mayor a menor, un token se queda si los anteriores aún no reunían p: el que cruza el umbral
    entra, y por eso siempre queda al menos uno.

    Fuente: Holtzman et al. (2020), §3; ecuación `eq-top-p` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import keep_top_p
        >>> logits = torch.tensor([0.5, 0.3, 0.2]).log()
        >>> keep_top_p(logits, 0.7).isfinite()  # 0.5 no alcanza; 0.5 + 0.3, sí
        tensor([ True,  True, False])
    """
    _require_top_p(p)
    ordered, order = torch.softmax(logits, dim=-1).sort(dim=-1, descending=True, stable=True)
    gathered = ordered.cumsum(-1)
    before = torch.cat((torch.zeros_like(gathered[..., :1]), gathered[..., :-1]), -1)
    return _keep(logits, torch.zeros_like(before, dtype=torch.bool).scatter(-1, order, before < p))


def _keep(logits: Tensor, kept: Tensor) -> Tensor:
    return logits.masked_fill(~kept, -math.inf)


def _noise(rows: int, length: int, generator: torch.Generator | None) -> Tensor:
    """Números uniformes en [0, 1), `[rows, length]`, con una semilla por fila."""
    device = "cpu" if generator is None else generator.device
    seeds = torch.randint(2**62, (rows,), generator=generator, device=device).tolist()
    each = (torch.Generator().manual_seed(seed) for seed in seeds)
    return torch.stack([torch.rand(length, generator=g, dtype=torch.float64) for g in each])


def _draw(probabilities: Tensor, uniform: Tensor) -> Tensor:
    """Elige el primer token cuya probabilidad acumulada supera el número sorteado."""
    exact = probabilities.to(_finest(probabilities.device))
    gathered = exact.cumsum(-1)
    threshold = uniform[:, None] * gathered[:, -1:]
    chosen = torch.searchsorted(gathered, threshold, right=True).squeeze(1)
    # Si el producto se redondea hasta el total, el elegido es el último token posible.
    return torch.minimum(chosen, (exact > 0).cumsum(-1).argmax(-1))


def _finest(device: torch.device) -> torch.dtype:
    """El tipo en que se acumulan probabilidades: float64, que MPS no tiene."""
    return torch.float32 if device.type == "mps" else torch.float64


def drawn(prompt, max_new_tokens, temperature, top_k, top_p, generator):
    """Un `choose` que sortea; el azar de toda la continuación se decide aquí."""
    _require_sampling(temperature, top_k, top_p)
    noise = _noise(len(prompt), max_new_tokens, generator)
    noise = noise.to(prompt.device, _finest(prompt.device))

    def choose(log_p, rows, i):
        probabilities = sampling_distribution(log_p, temperature, top_k=top_k, top_p=top_p)
        return _draw(probabilities, noise[rows, i])

    return choose


def _require_sampling(temperature, top_k, top_p):
    if not (math.isfinite(temperature) and temperature > 0):
        raise ValueError(
            f"temperature: se esperaba un número positivo y llegó {temperature}. Con temperatura 0 "
            "no hay sorteo: usa `greedy`."
        )
    if top_k is not None:
        _require_top_k(top_k)
    if top_p is not None:
        _require_top_p(top_p)


def _require_top_k(k):
    if k < 1:
        raise ValueError(f"top_k: se esperaba al menos 1, o None, y llegó {k}.")


def _require_top_p(p):
    if not 0 < p <= 1:
        raise ValueError(f"top_p: se esperaba una probabilidad en (0, 1], o None, y llegó {p}.")
