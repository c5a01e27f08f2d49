"""Decodificación: de las probabilidades de un modelo a una secuencia de tokens.

Un modelo se da por su paso, `step(token_ids, state) -> (logits, state)`: lee los tokens nuevos y
predice el siguiente a cada uno. El estado entra y sale; es None, un tensor con el lote delante, un
objeto con `.select(filas)` o una tupla, lista o diccionario de ellos. Sirve igual el `step` de un
Transformer, el `forward` de un modelo de lenguaje con memoria, o `without_cache(forward)`.

Antes de decodificar, pon el modelo en `.eval()`: el dropout también cambiaría las respuestas.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

Step = Callable[[Tensor, Any], tuple[Tensor, Any]]


@dataclass(frozen=True)
class Generation:
    """Una continuación por fila.

    Argumentos:
        token_ids: los tokens nuevos, `[batch, n]`; después del final, solo `end_id`.
        log_probability: log P de cada continuación según el modelo, con `end_id` incluido.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> found = greedy(step, torch.tensor([[0], [1]]), end_id=2, max_new_tokens=3)
        >>> found.token_ids  # la segunda fila termina antes
        tensor([[1, 2],
                [2, 2]])
        >>> found.log_probability.round(decimals=2)  # dos tokens en la primera, uno en la segunda
        tensor([-0.4800, -0.2400])
    """

    token_ids: Int[Tensor, "batch n"]
    log_probability: Float[Tensor, " batch"]


@dataclass(frozen=True)
class Hypothesis:
    """Una continuación hallada por la búsqueda en haz.

    Argumentos:
        token_ids: los tokens nuevos; acaban en `end_id`, salvo que los cortara el límite.
        log_probability: la suma de los logaritmos de sus probabilidades.
        score: `log_probability` dividida por `length_normalizer`; ordena las hipótesis.

    Fuente: Graves (2012); Wu et al. (2016), §7; capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> options = {"beam_size": 2, "end_id": 2, "max_new_tokens": 3}
        >>> best = beam(step, torch.tensor([[0]]), **options)[0][0]
        >>> best.token_ids, round(best.log_probability, 2)
        ([1, 2], -0.48)
    """

    token_ids: list[int]
    log_probability: float
    score: float


@dataclass(frozen=True)
class BeamStep:
    """Un paso de la búsqueda en haz: las mejores extensiones de cada fila que sigue activa.

    Argumentos:
        rows: qué filas del lote siguen activas.
        token_ids: los tokens de cada extensión, de mejor a peor, `[active, beam, t]`.
        log_probability: log P de cada una, `[active, beam]`; −∞ en un lugar sin usar.
        parents: de qué lugar del haz anterior viene cada una, `[active, beam]`.
        ended: cuáles acaban aquí y salen del haz, `[active, beam]`.
        hypotheses: por fila del lote, las terminadas hasta ahora, de mejor a peor; en el último
            paso posible, detrás van las que el límite cortó.

    Fuente: Graves (2012); Sutskever et al. (2014), §3.2; capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam_steps
        >>> table = torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> options = {"beam_size": 2, "end_id": None, "max_new_tokens": 2}
        >>> first, second = beam_steps(step, torch.tensor([[0]]), **options)
        >>> first.token_ids[0].tolist(), second.token_ids[0].tolist()
        ([[1], [2]], [[1, 2], [2, 0]])
        >>> second.parents  # la primera sigue a la primera; la segunda, a la segunda
        tensor([[0, 1]])
    """

    rows: Int[Tensor, " active"]
    token_ids: Int[Tensor, "active beam t"]
    log_probability: Float[Tensor, "active beam"]
    parents: Int[Tensor, "active beam"]
    ended: Bool[Tensor, "active beam"]
    hypotheses: list[list[Hypothesis]]


# Voraz


def greedy(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    end_id: int | None,
    max_new_tokens: int,
) -> Generation:
    """Escribe cada vez el token más probable (decodificación voraz).

        y_i = arg max_y P(y | y_1, …, y_{i−1}, x)

    Argumentos:
        step: el paso del modelo.
        prompt: lo que ya está escrito, al menos un token por fila (start_id, en un traductor).
        state: lo que el modelo sabe antes de leer `prompt` (la oración de origen, por ejemplo).
        end_id: el token que termina una continuación; con None ninguna termina.
        max_new_tokens: cuántos tokens escribir a lo sumo, con `end_id` incluido.

    Devuelve:
        Una continuación por fila. La de una fila no depende de las demás: la que termina sale del
        lote, y el modelo no vuelve a calcularla.

    Errores:
        ValueError: si un argumento no tiene sentido o el modelo da NaN.

    Fuente: ecuación `eq-greedy` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> greedy(step, torch.tensor([[0]]), end_id=None, max_new_tokens=5).token_ids
        tensor([[1, 2, 0, 1, 2]])
    """
    _require_request(prompt, end_id, max_new_tokens)
    return _write(step, prompt, state, _most_probable, end_id, max_new_tokens)


# Muestreo


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
    _require_request(prompt, end_id, max_new_tokens)
    choose = _drawn(prompt, max_new_tokens, temperature, top_k, top_p, generator)
    return _write(step, prompt, state, choose, end_id, max_new_tokens)


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


# De token en token


def stream(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    end_id: int | None,
    max_new_tokens: int,
    generator: torch.Generator | None = None,
) -> Iterator[Int[Tensor, " batch"]]:
    """Da cada token en cuanto se escribe, sin esperar a que la continuación termine.

    Son los tokens de `greedy` o, si hay temperatura, los de `sample` con el mismo azar.

    Argumentos:
        step, prompt, state, end_id, max_new_tokens: los de `greedy`.
        temperature, top_k, top_p, generator: los de `sample`; con temperature=None no se sortea.

    Devuelve:
        Un iterador: en cada paso, un token por fila, `[batch]`; `end_id` en las que terminaron.

    Errores:
        ValueError: los de `sample`, antes del primer token; también top_k o top_p sin temperatura.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import stream
        >>> table = torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> for token in stream(step, torch.tensor([[0]]), end_id=None, max_new_tokens=3):
        ...     print(token.tolist())
        [1]
        [2]
        [0]
    """
    _require_request(prompt, end_id, max_new_tokens)
    choose = _most_probable
    if temperature is not None:
        choose = _drawn(prompt, max_new_tokens, temperature, top_k, top_p, generator)
    elif top_k is not None or top_p is not None:
        raise ValueError(
            "top_k y top_p recortan un sorteo: di también la temperatura (1.0, p. ej.)."
        )
    steps = _steps(step, prompt, state, choose, end_id, max_new_tokens)
    return (_in_rows(prompt, rows, chosen, end_id) for rows, chosen, _ in steps)


def left_pad(
    prompts: Sequence[Sequence[int]], pad_id: int = 0
) -> tuple[Int[Tensor, "batch t"], Int[Tensor, " batch"]]:
    """Pone en un lote indicaciones de distinta longitud, con el relleno delante.

    Así el último token de todas cae en la misma columna, y lo que se escribe va detrás sin huecos.

    Argumentos:
        prompts: los identificadores de cada indicación, al menos uno.
        pad_id: el que rellena; el modelo no lo mira, y puede ser cualquiera del vocabulario.

    Devuelve:
        El par (tokens, `[batch, t]`; cuántas columnas de relleno lleva cada fila, `[batch]`). El
        segundo es el `padding` de `PaLM.start`.

    Errores:
        ValueError: si no hay indicaciones, o alguna está vacía o no es una lista de enteros.

    Ejemplo:
        >>> from course_lib.decoding import left_pad
        >>> tokens, padding = left_pad([[5, 6, 7], [8]])
        >>> tokens
        tensor([[5, 6, 7],
                [0, 0, 8]])
        >>> padding
        tensor([0, 2])
    """
    if not all(_is_list_of_ids(prompt) for prompt in prompts):
        raise ValueError(
            "prompts: se esperaba una lista de indicaciones, cada una una lista de identificadores "
            f"enteros, y llegó {prompts!r}. Una sola es una lista de una: [indicación]."
        )
    lengths = [len(prompt) for prompt in prompts]
    if not all(lengths) or not lengths:
        raise ValueError(
            f"prompts: se esperaba al menos un token en cada uno y llegaron longitudes {lengths}. "
            "Si no hay nada escrito, empieza con start_id."
        )
    padding = max(lengths) - torch.tensor(lengths)
    rows = [[pad_id] * n + list(p) for n, p in zip(padding.tolist(), prompts, strict=True)]
    return torch.tensor(rows), padding


def _is_list_of_ids(prompt):
    ids = prompt.tolist() if isinstance(prompt, Tensor) else prompt
    return isinstance(ids, Sequence) and all(isinstance(token, Integral) for token in ids)


# Lo común a voraz y muestreo


def _write(step, prompt, state, choose, end_id, max_new_tokens) -> Generation:
    """Junta lo que `_steps` escribe: los tokens de cada fila y su log P."""
    written, total = [], None
    for rows, chosen, log_p in _steps(step, prompt, state, choose, end_id, max_new_tokens):
        written.append(_in_rows(prompt, rows, chosen, end_id))
        total = log_p.new_zeros(len(prompt)) if total is None else total
        total.index_add_(0, rows, log_p)
    return Generation(torch.stack(written, 1), total)


def _steps(step, prompt, state, choose, end_id, max_new_tokens):
    """Escribe un token por paso con `choose(log_p, filas, paso)`, sin las filas que terminaron.

    Da las filas que siguen activas, sus tokens y el log P de cada uno.
    """
    rows = torch.arange(len(prompt), device=prompt.device)
    inputs = prompt
    for i in range(max_new_tokens):
        log_p, state = _predict(step, inputs, state, end_id)
        chosen = choose(log_p, rows, i)
        yield rows, chosen, log_p.gather(-1, chosen[:, None]).squeeze(-1)
        if end_id is not None:
            alive = (chosen != end_id).nonzero()[:, 0]
            if not len(alive):
                return
            if len(alive) < len(rows):
                rows, chosen, state = rows[alive], chosen[alive], select(state, alive)
        inputs = chosen[:, None]


def _in_rows(prompt, rows, chosen, end_id):
    """Los tokens de un paso en su fila del lote; `end_id` en las que ya terminaron."""
    chosen = chosen.to(prompt.dtype)
    if len(rows) == len(prompt):
        return chosen
    return prompt.new_full((len(prompt),), end_id).index_copy(0, rows, chosen)


def _most_probable(log_p, rows, i):
    return log_p.argmax(-1)


def _drawn(prompt, max_new_tokens, temperature, top_k, top_p, generator):
    """Un `choose` que sortea; el azar de toda la continuación se decide aquí."""
    _require_sampling(temperature, top_k, top_p)
    noise = _noise(len(prompt), max_new_tokens, generator)
    noise = noise.to(prompt.device, _finest(prompt.device))

    def choose(log_p, rows, i):
        probabilities = sampling_distribution(log_p, temperature, top_k=top_k, top_p=top_p)
        return _draw(probabilities, noise[rows, i])

    return choose


@torch.no_grad()
def _predict(step, token_ids, state, end_id):
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


# Haz


def beam(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    beam_size: int,
    length_penalty: float = 0.6,
    end_id: int | None,
    max_new_tokens: int,
    num_best: int = 1,
) -> list[list[Hypothesis]]:
    """Busca las continuaciones de mayor puntuación, con `beam_size` abiertas a la vez (haz).

    En cada paso se extienden todas las hipótesis abiertas con todos los tokens y quedan las
    `beam_size` extensiones más probables. Las que acaban en `end_id` salen del haz y se guardan;
    las demás siguen. Una fila termina cuando no le quedan hipótesis abiertas, o cuando ninguna
    puede ya superar a las guardadas: su log P solo baja, y el mejor divisor que le espera es el
    del límite (con α < 0, el del paso siguiente).

        puntuación = log P / ((5 + n)^α / 6^α)        n: tokens nuevos, con `end_id`

    Con `beam_size=1` es la decodificación voraz.

    Argumentos:
        step, prompt, state, end_id, max_new_tokens: los de `greedy`.
        beam_size: cuántas hipótesis abiertas se conservan.
        length_penalty: α; con 0 no se corrige la longitud.
        num_best: cuántas de las mejores deben ser definitivas antes de parar, hasta `beam_size`.

    Devuelve:
        Por fila, hasta `beam_size` hipótesis, de mejor a peor: ninguna otra de este haz puede ir
        delante de las `num_best` primeras. Las que cortó el límite van detrás de las terminadas.

    Errores:
        ValueError: los de `greedy`, y si beam_size, length_penalty o num_best no tienen sentido.

    Fuente: Graves (2012); Sutskever et al. (2014), §3.2; Wu et al. (2016), §7; Vaswani et
    al. (2017), §6.1; ecuación `eq-length-penalty` del capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam, greedy
        >>> P = torch.tensor([[0.0, 0.55, 0.45, 0.0], [0.4, 0.3, 0.0, 0.3], [0.0, 0.0, 0.0, 1.0]])
        >>> def step(token_ids, state):  # el 1 parece mejor, y lo que le sigue es dudoso
        ...     return P[token_ids].log(), state
        >>> prompt, options = torch.tensor([[0]]), {"end_id": None, "max_new_tokens": 2}
        >>> greedy(step, prompt, **options).token_ids.tolist()  # 0.55 · 0.4 = 0.22
        [[1, 0]]
        >>> beam(step, prompt, beam_size=2, **options)[0][0].token_ids  # 0.45 · 1 = 0.45
        [2, 3]
    """
    steps = beam_steps(
        step,
        prompt,
        state,
        beam_size=beam_size,
        length_penalty=length_penalty,
        end_id=end_id,
        max_new_tokens=max_new_tokens,
        num_best=num_best,
    )
    for last in steps:
        found = last.hypotheses
    return found


def beam_steps(
    step: Step,
    prompt: Int[Tensor, "batch t0"],
    state: Any = None,
    *,
    beam_size: int,
    length_penalty: float = 0.6,
    end_id: int | None,
    max_new_tokens: int,
    num_best: int = 1,
) -> Iterator[BeamStep]:
    """Da, uno a uno, los pasos de `beam`; sus argumentos y errores son los mismos.

    Fuente: Graves (2012); Sutskever et al. (2014), §3.2; capítulo `decoding`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import beam_steps
        >>> table = torch.tensor([[0.0, 2.0, 1.0], [0.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
        >>> def step(token_ids, state):  # un modelo que solo mira el último token
        ...     return table[token_ids], state
        >>> options = {"beam_size": 2, "end_id": None, "max_new_tokens": 3}
        >>> for each in beam_steps(step, torch.tensor([[0]]), **options):
        ...     print(each.token_ids[0].tolist())
        [[1], [2]]
        [[1, 2], [2, 0]]
        [[1, 2, 0], [2, 0, 1]]
    """
    _require_request(prompt, end_id, max_new_tokens)
    _require_beam(beam_size, length_penalty, num_best)
    finished = _Finished(len(prompt), beam_size, num_best, length_penalty, max_new_tokens)
    rows = torch.arange(len(prompt), device=prompt.device)
    token_ids, total = prompt.new_empty(len(prompt), 1, 0), None
    inputs = prompt
    for length in range(1, max_new_tokens + 1):
        log_p, state = _predict(step, inputs, state, end_id)
        total = log_p.new_zeros(len(prompt), 1) if total is None else total
        width = total.shape[1]
        total, parents, chosen = _best_extensions(total, log_p, beam_size)
        token_ids = torch.cat((_take(token_ids, parents), chosen[..., None]), -1)
        ended = torch.zeros_like(chosen, dtype=torch.bool) if end_id is None else chosen == end_id
        ended &= total > -math.inf
        alive = total.masked_fill(ended, -math.inf)
        finished.add(rows, token_ids, total, ended)
        if length == max_new_tokens:
            finished.add_cut(rows, token_ids, alive)
        yield BeamStep(rows, token_ids, total, parents, ended, finished.hypotheses())
        going = finished.can_improve(rows, alive, length)
        if length == max_new_tokens or not going.any():
            return
        rows, total, slots = rows[going], alive[going], _open_slots(alive[going])
        first = torch.arange(len(going), device=rows.device)[going, None] * width
        order = first + parents[going].gather(1, slots)
        state = _reorder(state, order.flatten(), len(log_p))
        token_ids = _take(token_ids[going], slots)
        inputs = token_ids[..., -1].reshape(-1, 1)


def length_normalizer(length: int, alpha: float) -> float:
    """Da el divisor de log P para una continuación de n tokens.

        lp(n) = (5 + n)^α / 6^α

    Fuente: Wu et al. (2016), ecuación 14; ecuación `eq-length-penalty` del capítulo `decoding`.

    Ejemplo:
        >>> from course_lib.decoding import length_normalizer
        >>> length_normalizer(1, 0.6), round(length_normalizer(7, 0.6), 2)
        (1.0, 1.52)
        >>> length_normalizer(7, 0.0)  # sin corrección
        1.0
    """
    return ((5 + length) / 6) ** alpha


def _best_extensions(total, log_p, beam_size):
    """De `[filas, haz]` abiertas y log P del siguiente, las mejores: log P, padre y token."""
    rows, vocab = len(total), log_p.shape[-1]
    extended = (total[..., None] + log_p.view(rows, -1, vocab)).flatten(1)
    total, best = extended.topk(min(beam_size, extended.shape[1]), dim=1)
    return total, best // vocab, best % vocab


def _open_slots(alive: Tensor) -> Tensor:
    """Qué lugar sigue en cada uno: el suyo o, si está vacío, el mejor abierto.

    Así el modelo nunca lee lo que va detrás del final; la copia, con log P = −∞, no se elige.
    """
    slots = torch.arange(alive.shape[1], device=alive.device).expand_as(alive)
    return torch.where(alive > -math.inf, slots, alive.argmax(dim=1, keepdim=True))


def _take(token_ids: Tensor, parents: Tensor) -> Tensor:
    """Los tokens del padre de cada extensión."""
    return token_ids.gather(1, parents[..., None].expand(-1, -1, token_ids.shape[-1]))


def _reorder(state, order, size):
    """Lleva el estado a las filas elegidas; si son las que había, no lo copia."""
    same = len(order) == size and torch.equal(order, torch.arange(size, device=order.device))
    return state if same else select(state, order)


class _Finished:
    """Las mejores hipótesis terminadas de cada fila, y si una abierta puede aún entrar en ellas."""

    def __init__(self, rows, keep, num_best, alpha, max_length) -> None:
        self.keep, self.num_best = keep, num_best
        self.alpha, self.max_length = alpha, max_length
        self.best: list[list[Hypothesis]] = [[] for _ in range(rows)]

    def hypotheses(self) -> list[list[Hypothesis]]:
        return [list(best) for best in self.best]

    def add(self, rows, token_ids, log_probability, which) -> None:
        """Guarda las hipótesis marcadas, de mejor a peor puntuación."""
        for row, found in self._hypotheses(rows, token_ids, log_probability, which):
            ranked = sorted([*self.best[row], found], key=lambda h: -h.score)
            self.best[row] = ranked[: self.keep]

    def add_cut(self, rows, token_ids, log_probability) -> None:
        """Completa con las abiertas: una oración cortada nunca va delante de una entera."""
        which = log_probability > -math.inf
        for row, found in self._hypotheses(rows, token_ids, log_probability, which):
            self.best[row] = [*self.best[row], found][: self.keep]

    def can_improve(self, rows, alive, length) -> Bool[Tensor, " active"]:
        """Dice en qué filas una hipótesis abierta podría entrar todavía entre las guardadas."""
        ends = (length + 1, self.max_length)
        divisor = max(length_normalizer(n, self.alpha) for n in ends)
        best = alive.max(dim=1).values.tolist()
        return torch.tensor(
            [
                self._has_room(row, log_p / divisor)
                for row, log_p in zip(rows.tolist(), best, strict=True)
            ],
            device=rows.device,
        )

    def _has_room(self, row: int, bound: float) -> bool:
        kept = self.best[row][: self.num_best]
        return bound > -math.inf and (len(kept) < self.num_best or bound > kept[-1].score)

    def _hypotheses(self, rows, token_ids, log_probability, which):
        divisor = length_normalizer(token_ids.shape[-1], self.alpha)
        owners = rows[which.nonzero()[:, 0]]
        each = (owners, token_ids[which], log_probability[which])
        for row, tokens, log_p in zip(*(x.tolist() for x in each), strict=True):
            yield row, Hypothesis(tokens, log_p, log_p / divisor)


# Estados


def select(state: Any, rows: Int[Tensor, " chosen"]) -> Any:
    """Da el estado de las filas pedidas, que pueden repetirse o faltar.

    Argumentos:
        state: None, un tensor con el lote delante, un objeto con `.select(filas)`, o una tupla,
            lista o diccionario de ellos. Lo demás (un número, un texto) no depende de la fila.
        rows: qué filas, en qué orden.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import select
        >>> state = {"h": torch.tensor([[1.0], [2.0], [3.0]]), "length": 4}
        >>> select(state, torch.tensor([2, 2, 0]))
        {'h': tensor([[3.],
                [3.],
                [1.]]), 'length': 4}
    """
    if isinstance(state, Tensor):
        return state.index_select(0, rows) if state.ndim else state
    if hasattr(state, "select"):
        return state.select(rows)
    if isinstance(state, dict):
        return {name: select(part, rows) for name, part in state.items()}
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        return type(state)(*(select(part, rows) for part in state))
    if isinstance(state, tuple | list):
        return type(state)(select(part, rows) for part in state)
    return state


def without_cache(forward: Callable[..., Tensor], *context: Tensor) -> tuple[Step, Any]:
    """Hace un paso con un modelo que no guarda nada: en cada token recalcula toda la secuencia.

    Argumentos:
        forward: `forward(*context, token_ids) -> logits`, `[batch, t, vocab]`.
        context: lo que acompaña a cada fila, con el lote delante (la oración de origen).

    Devuelve:
        El par (step, state) que piden `greedy`, `beam` y `sample`. El estado son los tokens leídos.

    Ejemplo:
        >>> import torch
        >>> from course_lib.decoding import greedy, without_cache
        >>> from course_lib.models import Transformer, TransformerConfig
        >>> model = Transformer(TransformerConfig(source_vocab=20, d_model=8, num_heads=2)).eval()
        >>> step, state = without_cache(model, torch.tensor([[5, 6, 2]]))  # el origen
        >>> options = {"end_id": None, "max_new_tokens": 4}
        >>> greedy(step, torch.tensor([[1]]), state, **options).token_ids.shape
        torch.Size([1, 4])
    """

    def step(token_ids, state):
        *known, read = state
        read = token_ids if read is None else torch.cat((read, token_ids), 1)
        return forward(*known, read)[:, -token_ids.shape[1] :], (*known, read)

    return step, (*context, None)


# Validación


def _require_request(prompt, end_id, max_new_tokens):
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


def _require_beam(beam_size, length_penalty, num_best):
    if beam_size < 1:
        raise ValueError(f"beam_size: se esperaba al menos 1 y llegó {beam_size}.")
    if not math.isfinite(length_penalty):
        raise ValueError(f"length_penalty: se esperaba un número finito y llegó {length_penalty}.")
    if not 1 <= num_best <= beam_size:
        raise ValueError(
            f"num_best: se esperaba entre 1 y beam_size = {beam_size} y llegó {num_best}."
        )


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
