"""Ejercicios del tema Universal Transformer: pasos, parada, resto y costo de deliberación.

Las referencias se escriben con PyTorch, para que los errores frecuentes cambien una sola pieza.
Una prueba las compara con lo que hacen la capa y el modelo de la biblioteca.
"""

import itertools
import math
from typing import NamedTuple

import torch
import torch.nn.functional as F

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.attention import attention
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

# Quien suma en otro orden acierta: los gradientes de varias vueltas difieren en 1e-5.
TOLERANCE = 1e-4


def _randn(rng, *shape, scale=1.0):
    return scale * torch.randn(shape, generator=rng)


def _between(rng, low, high, *shape):
    return low + (high - low) * torch.rand(shape, generator=rng)


def _whole(rng, low, high):
    return int(torch.randint(low, high, (1,), generator=rng))


def _reaches(total, p, threshold):
    """La regla de Graves: se para cuando lo reunido, con p, llega al umbral."""
    return total + p >= threshold


# 1 · Dónde y en qué paso


@combinable
def _encodings_with(
    *,
    first_position=1,
    first_step=1,
    width=lambda d_model: d_model,
    encode=sinusoidal_positions,
    align=lambda steps: steps[:, None],
    join=torch.add,
    columns=lambda table: table,
    axes=lambda table: table,
):
    """La codificación de la posición más la del paso; cada opción es una pieza de la cuenta."""

    def implementation(length, num_steps, d_model):
        position = encode(length, width(d_model), start=first_position)
        step = align(encode(num_steps, width(d_model), start=first_step))
        return axes(columns(join(position, step)))

    return implementation


_encodings = _encodings_with()


def _encode_with(exponents):
    """Con otra escala de frecuencias: `exponents(columna)` se divide por d."""

    def encode(size, d_model, start):
        column = torch.arange(d_model)
        angles = torch.arange(start, start + size)[:, None] / 10_000 ** (
            exponents(column) / d_model
        )
        return torch.where(column % 2 == 0, angles.sin(), angles.cos())

    return encode


def _encodings_cases(rng):
    size = _whole(rng, 4, 8)
    return [
        (_whole(rng, 5, 9), _whole(rng, 2, 5), 8),
        (size, size, 4),
        (_whole(rng, 2, 4), _whole(rng, 4, 7), 12),
    ]


def _encodings_of_the_sum(length, num_steps, d_model):
    table = sinusoidal_positions(length + num_steps + 1, d_model)
    return table[torch.arange(1, num_steps + 1)[:, None] + torch.arange(1, length + 1)]


STEP_ENCODINGS = Exercise(
    name="universal_transformer.step_encodings",
    answers=("course_lib.primitives.positions.sinusoids.step_positions",),
    points=1,
    reference=_encodings,
    cases=_encodings_cases,
    misconceptions=(
        Misconception(
            "both_from_zero",
            _encodings_with(first_position=0, first_step=0),
            "cuentas las dos cosas desde 0, como en el Transformer; aquí la primera posición y el "
            "primer paso son el 1",
        ),
        Misconception(
            "positions_from_zero",
            _encodings_with(first_position=0),
            "cuentas las posiciones desde 0; aquí la primera es la 1",
        ),
        Misconception(
            "steps_from_zero",
            _encodings_with(first_step=0),
            "cuentas los pasos desde 0; aquí el primero es el 1",
        ),
        Misconception(
            "only_positions",
            _encodings_with(join=lambda position, step: torch.broadcast_tensors(position, step)[0]),
            "todos los pasos reciben lo mismo: falta sumar la codificación del paso, y sin ella el "
            "bloque no sabe en qué vuelta va",
        ),
        Misconception(
            "only_steps",
            _encodings_with(join=lambda position, step: torch.broadcast_tensors(position, step)[1]),
            "todas las posiciones reciben lo mismo: falta sumar la codificación de la posición",
        ),
        Misconception(
            "not_aligned",
            _encodings_with(align=lambda steps: steps),
            "juntas dos tablas sin alinearlas, fila con fila: cada paso va con todas las "
            "posiciones. A la de los pasos le falta un eje",
            raises=RuntimeError,
        ),
        Misconception(
            "half_exponent",
            _encodings_with(encode=_encode_with(lambda column: column // 2)),
            "el exponente se quedó en j/d: el par de columnas 2j, 2j + 1 lleva 2j/d",
        ),
        Misconception(
            "one_frequency_per_column",
            _encodings_with(encode=_encode_with(lambda column: column)),
            "cada columna tiene su propia frecuencia; el seno de la 2j y el coseno de la 2j + 1 "
            "comparten una, la de 2j/d",
        ),
        Misconception(
            "sine_and_cosine_exchanged",
            _encodings_with(
                columns=lambda table: table.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
            ),
            "pones los cosenos en las columnas pares y los senos en las impares; es al revés",
        ),
        Misconception(
            "product",
            _encodings_with(join=torch.mul),
            "multiplicas las dos codificaciones; se suman",
        ),
        Misconception(
            "average",
            _encodings_with(join=lambda position, step: (position + step) / 2),
            "promedias las dos codificaciones; la ecuación las suma, sin dividir",
        ),
        Misconception(
            "accumulated",
            _encodings_with(join=lambda position, step: (position + step).cumsum(0)),
            "acumulas las de los pasos anteriores; cada paso suma al estado solo la suya",
        ),
        Misconception(
            "encodes_the_sum",
            _encodings_of_the_sum,
            "codificas el número i + n, y así la posición 3 en el paso 1 se confunde con la 1 en "
            "el 3: codifica cada número por su lado y suma las dos codificaciones",
        ),
        Misconception(
            "concatenated",
            _encodings_with(
                width=lambda d_model: d_model // 2,
                join=lambda *both: torch.cat(torch.broadcast_tensors(*both), dim=-1),
            ),
            "das media anchura a la posición y media al paso; cada una ocupa el ancho entero, y se "
            "suman",
        ),
        Misconception(
            "halves",
            _encodings_with(
                columns=lambda table: torch.cat((table[..., ::2], table[..., 1::2]), dim=-1)
            ),
            "pones todos los senos delante y todos los cosenos detrás; en el artículo van "
            "alternados, columna par y columna impar",
        ),
        Misconception(
            "axes_exchanged",
            _encodings_with(axes=lambda table: table.transpose(0, 1)),
            "los ejes están cambiados: van primero el paso y después la posición, para tomar con "
            "[n] lo que se suma en un paso",
        ),
    ),
)


# 2 · Parar a mano


def _cut(p, n):
    """Las probabilidades hasta el paso n; después, ceros."""
    return torch.where(torch.arange(len(p)) < n, p, 0.0)


def _put_at(weights, n, value):
    return torch.where(torch.arange(len(weights)) == n - 1, value, weights)


class _Stop(NamedTuple):
    """Una parada: en qué paso, su p, lo reunido antes, si se llegó al umbral y ε."""

    n: int
    p: float
    before: float
    reached: bool
    epsilon: float


@combinable
def _halting_with(
    *,
    given=lambda p: p,
    threshold=lambda epsilon: 1 - epsilon,
    stops=_reaches,
    at_the_end=len,
    rest=lambda stop: 1 - stop.before,
    keep=_cut,
    last=lambda stop, rest: rest,
    count=lambda n: n,
    order=lambda weights, n, rest: (weights, n, rest),
):
    """Busca la parada, y de ella salen los pesos y el resto; cada opción es un paso."""

    def implementation(p, epsilon):
        p = given(p)
        each = p.tolist()
        before = [0.0, *itertools.accumulate(each[:-1])]
        reached = [stops(*pair, threshold(epsilon)) for pair in zip(before, each, strict=True)]
        n = reached.index(True) + 1 if any(reached) else at_the_end(p)
        if n is None:
            return None
        stop = _Stop(n, each[n - 1], before[n - 1], any(reached), epsilon)
        weights = _put_at(keep(p, n), n, last(stop, rest(stop)))
        return order(weights, count(n), rest(stop))

    return implementation


_halting = _halting_with()


def _geometric(p):
    return p * torch.cat((torch.ones_like(p[:1]), (1 - p).cumprod(0)[:-1]))


def _halting_cases(rng):
    def draw(low, high, size):
        return _between(rng, low, high, size)

    exact = torch.tensor([[0.5, 0.25, 0.5, 0.5], [0.25, 0.5, 0.5, 0.25]])
    first, gap = draw(0.3, 0.6, 1), draw(0.991, 0.999, 1)
    n = _whole(rng, 3, 6)  # con el paso n se pasa de 1; con el anterior no se llega a 0.99
    # Ni ε en el primer paso, ni 1 − ε en el último.
    slow = torch.cat((draw(0.02, 0.08, 1), draw(0.12, 0.2, 3)))
    return [
        (draw(1.02 / n, 1.2 / n, 12), 0.01),
        (exact[_whole(rng, 0, 2)], 0.25),
        (torch.cat((draw(0.991, 0.999, 1), draw(0.2, 0.9, 3))), 0.01),
        (slow, 0.1),
        (torch.cat((first, gap - first, draw(0.2, 0.5, 3))), 0.01),
        (torch.cat((draw(0.38, 0.46, 2), draw(0.3, 0.5, 2))), 0.25),  # con dos pasos ya basta
    ]


def _halting_without_break(p, epsilon):
    """El bucle sigue después de la parada: la última vuelta decide N y R."""
    weights, total = p.clone(), 0.0
    for n, p_n in enumerate(p.tolist(), 1):
        if total + p_n >= 1 - epsilon or n == len(p):
            weights[n - 1] = 1 - total
        total += p_n
    return weights, len(p), 1 - (total - p_n)


def _sum_to(p, n):
    return float(p[:n].sum())


def _passes_one(p, epsilon):
    """Si en el paso de la parada lo reunido pasa de 1: ni empata con el umbral ni se acaban."""
    return _sum_to(p, _halting(p, epsilon)[1]) > 1


HALTING = Exercise(
    name="universal_transformer.halting",
    points=2,
    partial=(
        Part("el número de pasos", 1, item=1),
        Part("los pesos, cuando lo reunido pasa de 1", 1, item=0, cases=_passes_one),
    ),
    reference=_halting,
    cases=_halting_cases,
    misconceptions=(
        Misconception(
            "strict",
            _halting_with(stops=lambda total, p, threshold: total + p > threshold),
            "comparas con >, y la regla es ≥: quien reúne justo 1 − ε ya para",
        ),
        Misconception(
            "threshold_one",
            _halting_with(threshold=lambda epsilon: 1),
            "esperas a reunir 1; se para en 1 − ε, o una sigmoide, que nunca llega a 1, no podría "
            "parar en el primer paso",
        ),
        Misconception(
            "threshold_epsilon",
            _halting_with(threshold=lambda epsilon: epsilon),
            "paras en cuanto reúnes ε; el umbral es 1 − ε",
        ),
        Misconception(
            "epsilon_written_by_hand",
            _halting_with(threshold=lambda epsilon: 0.99),
            "escribiste un valor fijo para el umbral: ε llega en epsilon",
        ),
        Misconception(
            "each_alone",
            _halting_with(stops=lambda total, p, threshold: p >= threshold),
            "comparas con el umbral la p de cada paso; la que se compara es la suma de todas hasta "
            "ese paso",
        ),
        Misconception(
            "one_late",
            _halting_with(stops=lambda total, p, threshold: total >= threshold),
            "paras un paso tarde: miras lo reunido antes de contar la p de este paso",
        ),
        Misconception(
            "never_halts",
            _halting_with(stops=lambda total, p, threshold: False),
            "no paras nunca por lo reunido: se para en cuanto llega a 1 − ε, sin esperar a que se "
            "acaben los pasos",
        ),
        Misconception(
            "remainder_forgotten",
            _halting_with(last=lambda stop, rest: stop.p),
            "en los pesos no aparece R: el último paso pesa el resto y no su p, y así suman 1",
        ),
        Misconception(
            "remainder_is_p",
            _halting_with(rest=lambda stop: stop.p, last=lambda stop, rest: stop.p),
            "olvidas el resto: el último paso pesa su propia p, y también la das como R; lo que "
            "le toca es lo que falta para 1",
        ),
        Misconception(
            "remainder_after",
            _halting_with(rest=lambda stop: 1 - stop.before - stop.p),
            "calculas el resto después de sumar la p del último paso: R es lo que faltaba para 1 "
            "*antes* de ese paso",
        ),
        Misconception(
            "remainder_after_clamped",
            _halting_with(rest=lambda stop: max(1 - stop.before - stop.p, 0.0)),
            "al resto le restas también la p del último paso, y si sale negativo lo recortas a "
            "cero: R es lo que faltaba para 1 antes de ese paso",
        ),
        Misconception(
            "no_break",
            _halting_without_break,
            "tu bucle no se detiene en la parada: los pasos siguientes reciben peso, y N y R salen "
            "del último. Con el primero que llega al umbral se termina (break o return)",
        ),
        Misconception(
            "remainder_after_and_unused",
            _halting_with(
                rest=lambda stop: 1 - stop.before - stop.p, last=lambda stop, rest: stop.p
            ),
            "a R le restas también la p del último paso, y ese paso conserva su p: R es lo que "
            "faltaba para 1 antes de él, y es su peso",
        ),
        Misconception(
            "remainder_added",
            _halting_with(last=lambda stop, rest: rest + stop.p),
            "el último paso recibe su p y además el resto: el resto va en lugar de p",
        ),
        Misconception(
            "cut_off_without_remainder",
            _halting_with(
                rest=lambda stop: 1 - stop.before if stop.reached else 0.0,
                last=lambda stop, rest: rest if stop.reached else stop.p,
            ),
            "a quien agota los pasos sin llegar al umbral no le das resto, y sus pesos no suman "
            "1: en el último paso posible se para siempre, y ahí también pesa el resto",
        ),
        Misconception(
            "cut_off_leaves_the_rest",
            _halting_with(
                rest=lambda stop: 1 - stop.before - (0 if stop.reached else stop.p),
                last=lambda stop, rest: rest if stop.reached else stop.p,
            ),
            "cuando se acaban los pasos, el de la parada conserva su p y R se queda sin usar: ese "
            "paso también es de parada, así que pesa lo que faltaba antes de él",
        ),
        Misconception(
            "cut_off_rest_after",
            _halting_with(rest=lambda stop: 1 - stop.before - (0 if stop.reached else stop.p)),
            "cuando se acaban los pasos, al resto le descuentas también la p del paso en que se "
            "para: en el último paso posible hay que parar antes de sumarla",
        ),
        Misconception(
            "nothing_at_the_limit",
            _halting_with(at_the_end=lambda p: None),
            "si los pasos se acaban sin llegar al umbral, tu función no devuelve nada: en el "
            "último paso posible también se para",
        ),
        Misconception(
            "first_when_none",
            _halting_with(at_the_end=lambda p: 1),
            "si ningún paso llega al umbral, paras en el primero: argmax sobre una fila sin "
            "ningún True da 0. En ese caso se para en el último",
        ),
        Misconception(
            "rest_to_the_threshold",
            _halting_with(rest=lambda stop: 1 - stop.before - stop.epsilon),
            "el resto es lo que falta para 1, no para 1 − ε: el umbral solo decide cuándo se para",
        ),
        Misconception(
            "everything_to_the_last",
            _halting_with(keep=lambda p, n: torch.zeros_like(p), last=lambda stop, rest: 1.0),
            "das todo el peso al paso de la parada; los anteriores pesan su p, y él, lo que queda",
        ),
        Misconception(
            "counts_from_zero",
            _halting_with(count=lambda n: n - 1),
            "N cuenta pasos, y el de la parada es uno de ellos: te falta uno. ¿Devolviste su "
            "índice?",
        ),
        Misconception(
            "normalised",
            _halting_with(
                keep=lambda p, n: _cut(p, n) / _sum_to(p, n),
                last=lambda stop, rest: stop.p / (stop.before + stop.p),
            ),
            "divides por la suma para que los pesos den 1; se consigue de otra forma: los "
            "anteriores conservan su p, y el último pesa lo que falta",
        ),
        Misconception(
            "weights_after_halting",
            _halting_with(keep=lambda p, n: p),
            "los pasos posteriores a la parada siguen pesando: pesan 0",
        ),
        Misconception(
            "geometric",
            _halting_with(given=_geometric),
            "tratas p como la probabilidad de parar si se llegó hasta aquí, y multiplicas por "
            "∏(1 − p): así lo hace PonderNet; aquí las p se suman",
        ),
        Misconception(
            "n_and_r_exchanged",
            _halting_with(order=lambda weights, n, rest: (weights, rest, n)),
            "devuelves R antes que N: el orden pedido es pesos, N, R",
        ),
    ),
)


# 3 · Encuentra el error: la parada olvida el resto


@combinable
def _mixture_with(
    *,
    given=lambda p: p,
    stops=_reaches,
    together=lambda reached, active: reached,
    pays=lambda reached, at_the_end: reached | at_the_end,
    rest=lambda total, p, threshold: 1 - total,
    weigh=torch.where,
    mask=lambda weight, active: weight * active,
    gather=lambda p, active: p * active,
    mix=lambda output, weight, state: output + weight * state,
    finish=lambda output, total, states: output,
):
    """Los estados de todas las posiciones, mezclados; cada opción es un paso de la regla."""

    def implementation(states, p, epsilon):
        p, threshold = given(p), 1 - epsilon
        total, output = torch.zeros_like(p[0]), torch.zeros_like(states[0])
        active = torch.ones_like(p[0], dtype=torch.bool)
        for n, (state, p_n) in enumerate(zip(states, p, strict=True), 1):
            reached = together(stops(total, p_n, threshold), active)
            last = pays(reached, n == len(p))
            weight = weigh(last, rest(total, p_n, threshold), p_n)
            output = mix(output, mask(weight, active)[:, None], state)
            total, active = total + gather(p_n, active), active & ~reached
        return finish(output, total[:, None], states)

    return implementation


_mixture = _mixture_with()


def _own_p(last, rest, p):
    return p


def _mixture_cases(rng):
    def draw(steps, low, high):
        return _between(rng, low, high, steps, 5)

    exact = draw(4, 0.3, 0.6)
    exact[:, 1] = torch.tensor([0.5, 0.25, 0.5, 0.25])
    exact[:, 3] = torch.tensor([0.25, 0.5, 0.25, 0.5])
    exact[:2, 4] = torch.tensor([0.4, 0.42])  # con dos pasos ya basta, y falta para 1
    near = torch.cat((draw(1, 0.991, 0.999), draw(3, 0.3, 0.6)))
    usual = draw(6, 0.15, 0.5)
    usual[:, 0], usual[:, 1] = 0.45, 0.18  # una para en el tercero; otra, en el último
    return [
        (_randn(rng, len(p), 5, 3), p, epsilon)
        for p, epsilon in (
            (usual, 0.01),
            (exact, 0.25),
            (draw(4, 0.02, 0.2), 0.01),
            (near, 0.01),
        )
    ]


REMAINDER_BUG = Exercise(
    name="universal_transformer.remainder_bug",
    points=1,
    reference=_mixture,
    cases=_mixture_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "unchanged",
            _mixture_with(weigh=_own_p),
            "el error sigue ahí: suma los pesos de una posición. El paso en que para debe pesar lo "
            "que falta para 1, y tú le das su p",
        ),
        Misconception(
            "only_at_the_limit",
            _mixture_with(stops=lambda total, p, threshold: torch.zeros_like(p, dtype=torch.bool)),
            "nadie para hasta el último paso de todos, y lo que falta puede salir negativo: cada "
            "posición para, y recibe su resto, en cuanto llega al umbral",
        ),
        Misconception(
            "remainder_at_the_limit_only",
            _mixture_with(pays=torch.full_like),
            "das el resto solo a quien agota los pasos; también le toca a quien llega antes al "
            "umbral",
        ),
        Misconception(
            "not_at_the_limit",
            _mixture_with(pays=lambda reached, at_the_end: reached),
            "falta el resto de quien se queda sin pasos antes de llegar al umbral: el último paso "
            "posible también es de parada",
        ),
        Misconception(
            "remainder_after",
            _mixture_with(rest=lambda total, p, threshold: 1 - total - p),
            "calculas lo que falta después de contar la p de ese paso: réstale a 1 solo lo reunido "
            "antes",
        ),
        Misconception(
            "remainder_added",
            _mixture_with(rest=lambda total, p, threshold: 1 - total + p),
            "el último paso recibe su p y además el resto: el resto va en lugar de p",
        ),
        Misconception(
            "always_the_rest",
            _mixture_with(weigh=lambda last, rest, p: rest),
            "das a todos los pasos lo que falta para 1; solo le toca al de la parada: los "
            "anteriores pesan su p",
        ),
        Misconception(
            "still_active",
            _mixture_with(mask=lambda weight, active: weight),
            "las posiciones que ya pararon siguen recibiendo peso: el resto se da una sola vez",
        ),
        Misconception(
            "still_active_and_gathering",
            _mixture_with(mask=lambda weight, active: weight, gather=lambda p, active: p),
            "las posiciones que ya pararon siguen reuniendo p y recibiendo peso: después de la "
            "parada, todos los pesos son 0",
        ),
        Misconception(
            "normalised",
            _mixture_with(weigh=_own_p, finish=lambda output, total, states: output / total),
            "divides por la suma de los pesos para que den 1; la regla de Graves deja a los pasos "
            "anteriores con su p y da al último lo que falta",
        ),
        Misconception(
            "clipped",
            _mixture_with(rest=lambda total, p, threshold: torch.minimum(p, 1 - total)),
            "recortas p para que la suma no pase de 1, y quien para sin llegar a 1 se queda "
            "corto: el resto también puede ser mayor que p",
        ),
        Misconception(
            "rest_to_the_last_state",
            _mixture_with(
                weigh=_own_p,
                finish=lambda output, total, states: output + (1 - total) * states[-1],
            ),
            "das lo que falta al último estado de la lista; le toca al estado del paso en que cada "
            "posición para",
        ),
        Misconception(
            "stops_together",
            _mixture_with(
                together=lambda reached, active: (reached & active).any().expand_as(reached)
            ),
            "en cuanto una posición llega al umbral, paras a todas: cada una para en su paso. "
            "Elige con torch.where, y no con un if sobre .any()",
        ),
        Misconception(
            "one_minus_p",
            _mixture_with(rest=lambda total, p, threshold: 1 - p),
            "al paso de la parada le das 1 − p; el resto es 1 menos lo reunido en los pasos "
            "anteriores",
        ),
        Misconception(
            "rest_detached",
            _mixture_with(rest=lambda total, p, threshold: (1 - total).detach()),
            "cortas el gradiente del resto: depende de las p anteriores",
        ),
        Misconception(
            "rest_to_the_threshold",
            _mixture_with(rest=lambda total, p, threshold: threshold - total),
            "el resto es lo que falta para 1, no para 1 − ε: el umbral solo decide cuándo se para",
        ),
        Misconception(
            "weights_detached",
            _mixture_with(given=torch.Tensor.detach),
            "el gradiente no pasa por las p (¿.item(), .detach()?): la unidad de parada no "
            "aprendería",
        ),
        Misconception(
            "interpolation",
            _mixture_with(mix=lambda output, u, s: u * s + (1 - u) * output),
            "mezclas cada estado con lo anterior, u·s + (1 − u)·previo, y los primeros se van "
            "borrando: se suman, Σ u·s",
        ),
        Misconception(
            "last_state",
            _mixture_with(weigh=lambda last, rest, p: last.float()),
            "te quedas con el estado del paso en que cada una para; la salida es la media "
            "ponderada de todos los que tuvo",
        ),
        Misconception(
            "strict",
            _mixture_with(stops=lambda total, p, threshold: total + p > threshold),
            "comparas con >, y la regla es ≥: quien reúne justo 1 − ε también para",
        ),
        Misconception(
            "threshold_one",
            _mixture_with(stops=lambda total, p, threshold: total + p >= 1),
            "das el paso de la parada por bueno solo si se reúne 1; basta con 1 − ε",
        ),
    ),
)


# 4 · El bucle entero


def _choose(who, new, old):
    return torch.where(who[..., None], new, old)


@combinable
def _loop_with(
    *,
    how_many=lambda max_steps: max_steps,
    threshold=lambda epsilon: 1 - epsilon,
    transform=lambda block, x, state, active: block(state),
    ask=lambda halting, x, state, new: halting(state),
    stops=_reaches,
    together=lambda reached: reached,
    forced=True,
    keep=lambda new, old, active, last: _choose(active, new, old),
    rest=lambda total, p: 1 - total,
    weigh=lambda rest, p, last, active: torch.where(last, rest, p) * active,
    mix=lambda output, weight, state, old, new: output + weight * state,
    back=lambda state, output: state,
    left=lambda rest, p: rest,
    finish=lambda output, steps, remainder: (output, steps, remainder),
):
    """El tiempo de cómputo adaptativo; cada opción es un paso de una vuelta del bucle."""

    def implementation(x, block, halting, max_steps, epsilon):
        state, output = x.clone(), torch.zeros_like(x)
        total, remainder = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
        steps, active = torch.zeros_like(total).long(), torch.ones_like(total, dtype=torch.bool)
        for n in range(1, how_many(max_steps) + 1):
            new = transform(block, x, state, active)
            p = ask(halting, x, state, new)
            reached = together(stops(total, p, threshold(epsilon)))
            last = active & (reached | (forced and n == how_many(max_steps)))
            missing = rest(total, p)
            weight = weigh(missing, p, last, active)[..., None]
            old, state = state, keep(new, state, active, last)
            output = mix(output, weight, state, old, new)
            state, steps = back(state, output), steps + active
            remainder = torch.where(last, left(missing, p), remainder)
            total, active = total + p * active, active & ~last
        return finish(output, steps, remainder)

    return implementation


_adaptive = _loop_with()


def _transform_the_active(block, x, state, active):
    """Las que pararon no llegan al bloque, y las demás dejan de verlas."""
    new = state.clone()
    new[active] = block(state[active])
    return new


def _keep_in_place(new, old, active, last):
    old[active] = new[active]
    return old


def _keep_before_the_last(new, old, active, last):
    """Quien para en este paso ya no está activa cuando se copia."""
    return _choose(active & ~last, new, old)


def _adaptive_call(student, x, W, M, w, b, max_steps, epsilon):
    """Construye el bloque, que mezcla posiciones, y la unidad de parada a partir de tensores."""

    def block(state):
        return torch.tanh(state @ W + state.mean(dim=-2, keepdim=True) @ M)

    def halting(state):
        return torch.sigmoid(state @ w + b)

    return student(x, block, halting, max_steps, epsilon)


def _adaptive_cases(rng):
    def draw(batch, t, d, spread, b, max_steps, epsilon):
        matrices = (_randn(rng, d, d, scale=1.5 / math.sqrt(d)) for _ in range(2))
        w = _randn(rng, d, scale=spread)
        return (_randn(rng, batch, t, d), *matrices, w, torch.tensor(b), max_steps, epsilon)

    def ask(case, logits):
        """Mueve los estados hasta que la unidad de parada conteste esto en el primer paso."""
        x, w, b = case[0], case[3], case[4]
        missing = torch.as_tensor(logits) - (x @ w + b)
        x += missing[..., None] * w / w.square().sum()

    apart, usual = draw(2, 3, 4, 1.0, 0.0, 2, 0.1), draw(2, 4, 4, 2.0, -0.5, 3, 0.01)
    ask(apart, _between(rng, 5.8, 6.2, 2, 3) * torch.tensor([[1.0], [-1.0]]))  # ya, y no llega
    # En una misma fila, una para ya, dos reúnen mucho y otra casi nada.
    ask(usual, _between(rng, -0.2, 0.2, 2, 4) + torch.tensor([6.0, 3.0, 0.5, -6.0]))
    return [
        apart,
        usual,
        draw(1, 4, 3, 0.5, -2.5, 2, 0.01),  # nadie llega
        draw(1, 3, 2, 0.0, 0.0, 2, 0.5),  # p = 0.5 en todas: justo 1 − ε
        draw(1, 3, 2, 0.02, 0.08, 5, 0.1),  # dos pasos reúnen más de 1, y menos de 1 + ε
        draw(1, 3, 2, 0.02, -0.3, 3, 0.25),  # con dos pasos ya basta, y falta para 1
    ]


def _in_two_steps(x, W, M, w, b, max_steps, epsilon):
    return max_steps == 2 and bool(w.any())  # con w = 0 se reúne justo 1 − ε


ADAPTIVE_LOOP = Exercise(
    name="universal_transformer.adaptive_loop",
    points=3,
    partial=(
        Part("el número de pasos", 1, item=1),
        Part("la mezcla con dos pasos, sin empates con el umbral", 1, item=0, cases=_in_two_steps),
    ),
    reference=_adaptive,
    cases=_adaptive_cases,
    call=_adaptive_call,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "not_frozen",
            _loop_with(keep=lambda new, old, active, last: new),
            "quien ya paró sigue transformándose, y sus vecinas lo notan, porque el bloque mezcla "
            "posiciones: el estado de quien paró se copia tal cual",
        ),
        Misconception(
            "halted_to_zero",
            _loop_with(keep=lambda new, old, active, last: new * active[..., None]),
            "el estado de quien ya paró se vuelve cero, y sus vecinas lo notan: se conserva",
        ),
        Misconception(
            "last_step_lost",
            _loop_with(keep=_keep_before_the_last),
            "a quien para en este paso ya no le aplicas el bloque: primero se transforma y se "
            "suma, y después deja de estar activa",
        ),
        Misconception(
            "last_state_not_kept",
            _loop_with(
                keep=_keep_before_the_last,
                mix=lambda output, weight, state, old, new: output + weight * new,
            ),
            "la que para se queda con el estado de antes de su último paso, y sus vecinas miran "
            "ese: se copia el último, ya transformado",
        ),
        Misconception(
            "only_the_active",
            _loop_with(transform=_transform_the_active),
            "al bloque le das solo las activas, juntas las de todas las oraciones: dejan de ver a "
            "las que pararon y ven a las de otras oraciones. Dale el tensor entero y elige después",
        ),
        Misconception(
            "transforms_the_input",
            _loop_with(transform=lambda block, x, state, active: block(x)),
            "transformas siempre x: en cada paso entra en el bloque lo que salió del anterior",
        ),
        Misconception(
            "asks_the_input",
            _loop_with(ask=lambda halting, x, state, new: halting(x)),
            "preguntas siempre con x, y así p no cambia nunca: en cada paso se pregunta con el "
            "estado de ese momento",
        ),
        Misconception(
            "one_step_more",
            _loop_with(how_many=lambda max_steps: max_steps + 1),
            "das un paso de más: max_steps cuenta todos, también el último, en que paran todas",
        ),
        Misconception(
            "one_step_less",
            _loop_with(how_many=lambda max_steps: max_steps - 1),
            "das un paso menos que max_steps: ¿empieza tu cuenta en 0 o en 1?",
        ),
        Misconception(
            "asks_after",
            _loop_with(ask=lambda halting, x, state, new: halting(new)),
            "preguntas si parar mirando el estado que ya salió del bloque; p sale del estado que "
            "entra",
        ),
        Misconception(
            "weighs_the_old_state",
            _loop_with(mix=lambda output, weight, state, old, new: output + weight * old),
            "pesas el estado que entró en el bloque; en la mezcla va el que salió",
        ),
        Misconception(
            "interpolation",
            _loop_with(mix=lambda output, w, state, old, new: w * state + (1 - w) * output),
            "mezclas cada estado con lo acumulado, u·s + (1 − u)·previo, como una implementación "
            "muy copiada; en la regla de Graves se suman, Σ u·s",
        ),
        Misconception(
            "last_state",
            _loop_with(weigh=lambda rest, p, last, active: last.float()),
            "devuelves el último estado de cada posición; la salida es la media ponderada de "
            "todos los que tuvo",
        ),
        Misconception(
            "mixture_back",
            _loop_with(back=lambda state, output: output),
            "al bloque le devuelves la mezcla acumulada; en cada paso entra el estado del "
            "anterior, y la mezcla se lleva aparte",
        ),
        Misconception(
            "last_weighs_nothing",
            _loop_with(weigh=lambda rest, p, last, active: torch.where(last, 0.0, p) * active),
            "el paso de la parada no pesa nada en tu mezcla: es el que pesa el resto",
        ),
        Misconception(
            "remainder_forgotten",
            _loop_with(weigh=lambda rest, p, last, active: p * active),
            "en la mezcla olvidas el resto: el paso de la parada pesa 1 menos lo reunido antes, y "
            "no su p",
        ),
        Misconception(
            "cut_off",
            _loop_with(forced=False),
            "quien llega a max_steps sin parar se queda sin resto, y sus pesos no suman 1: en el "
            "último paso paran todas",
        ),
        Misconception(
            "remainder_after",
            _loop_with(rest=lambda total, p: 1 - total - p),
            "calculas el resto después de sumar la p del paso de la parada: es lo que faltaba "
            "antes",
        ),
        Misconception(
            "rest_stays_zero",
            _loop_with(rest=lambda total, p: torch.zeros_like(p)),
            "el resto se queda siempre en cero: es lo que le faltaba a la posición para llegar a "
            "1 antes del paso en que para",
        ),
        Misconception(
            "still_weighs",
            _loop_with(weigh=lambda rest, p, last, active: torch.where(last, rest, p)),
            "quien ya paró sigue sumando su estado a la mezcla: su peso es 0 en los pasos que le "
            "siguen",
        ),
        Misconception(
            "each_alone",
            _loop_with(stops=lambda total, p, threshold: p >= threshold),
            "comparas con el umbral solo la p de cada paso; se compara lo reunido hasta ese paso",
        ),
        Misconception(
            "never_halts",
            _loop_with(stops=lambda total, p, threshold: torch.zeros_like(p, dtype=torch.bool)),
            "ninguna para por lo reunido: quien llega a 1 − ε para ya, sin esperar a que se acaben "
            "los pasos",
        ),
        Misconception(
            "everyone_waits",
            _loop_with(together=lambda reached: reached.all(-1, keepdim=True).expand_as(reached)),
            "cada posición espera a que todas las de su fila lleguen al umbral; para por su "
            "cuenta, y esa es la gracia",
        ),
        Misconception(
            "first_stops_all",
            _loop_with(together=lambda reached: reached.any().expand_as(reached)),
            "en cuanto para una, paran todas: cada posición sigue hasta su propio umbral, y el "
            "bucle acaba cuando no queda ninguna",
        ),
        Misconception(
            "strict",
            _loop_with(stops=lambda total, p, threshold: total + p > threshold),
            "comparas con >, y la regla es ≥: quien reúne justo 1 − ε ya para",
        ),
        Misconception(
            "threshold_one",
            _loop_with(threshold=lambda epsilon: 1),
            "esperas a reunir 1 o más; se para en 1 − ε",
        ),
        Misconception(
            "epsilon_written_by_hand",
            _loop_with(threshold=lambda epsilon: 0.99),
            "escribiste un valor fijo para el umbral: ε llega en epsilon",
        ),
        Misconception(
            "one_late",
            _loop_with(stops=lambda total, p, threshold: total >= threshold),
            "paras un paso tarde: comparas lo reunido sin contar la p de este paso",
        ),
        Misconception(
            "counts_from_zero",
            _loop_with(finish=lambda output, steps, remainder: (output, steps - 1, remainder)),
            "N cuenta un paso de menos: el de la parada también cuenta",
        ),
        Misconception(
            "n_and_r_exchanged",
            _loop_with(finish=lambda output, steps, remainder: (output, remainder, steps)),
            "devuelves R antes que N: el orden pedido es salida, N, R",
        ),
        Misconception(
            "left_over",
            _loop_with(left=lambda rest, p: rest - p),
            "en el resto que devuelves descuentas también la p del paso de la parada",
        ),
        Misconception(
            "left_over_nothing",
            _loop_with(left=lambda rest, p: torch.zeros_like(p)),
            "devuelves los restos en cero: R es lo que faltaba antes del paso de la parada, y si "
            "le restas también lo que pesó ese paso, no queda nada",
        ),
        Misconception(
            "in_place",
            _loop_with(keep=_keep_in_place),
            "el gradiente no se puede calcular: escribes sobre un tensor que todavía hace falta, "
            "un estado o una máscara (state[…] = …, +=, &=). Crea uno nuevo en cada paso, con "
            "torch.where o active = active & …",
            raises=RuntimeError,
        ),
        Misconception(
            "weights_detached",
            _loop_with(ask=lambda halting, x, state, new: halting(state).detach()),
            "el gradiente no pasa por las p: ¿usas .item(), .detach() o no_grad? Sin él, la "
            "unidad de parada no aprende",
        ),
        Misconception(
            "asks_detached",
            _loop_with(ask=lambda halting, x, state, new: halting(state.detach())),
            "separas del grafo el estado antes de preguntar: p depende de él, y el bloque también "
            "aprende por ahí",
        ),
        Misconception(
            "rest_detached",
            _loop_with(rest=lambda total, p: (1 - total).detach()),
            "cortas el gradiente del resto: depende de las p anteriores, y por ahí también se "
            "aprende a parar",
        ),
    ),
)


# 5 · Encuentra el error: un costo que no enseña


@combinable
def _ponder_with(
    *,
    goes_on=lambda p, threshold: p.cumsum(0) < threshold,
    count=lambda going: 1 + going[:-1].sum(0),
    gather=lambda p, going: (p * going)[:-1].sum(0),
    rest=lambda before, p: 1 - before,
    cost=lambda n, rest: n + rest,
    reduce=lambda cost, real: cost[real].mean(),
    finish=lambda loss: loss,
):
    """El costo medio, N más R, de las posiciones reales; cada opción es un paso de la cuenta."""

    def implementation(p, real, epsilon):
        going = goes_on(p, 1 - epsilon)
        own = p.gather(0, going[:-1].sum(0)[None])[0]
        costs = cost(count(going), rest(gather(p, going), own))
        return finish(reduce(costs, real))

    return implementation


_ponder_loss = _ponder_with()


def _gather_to_the_end(p, going):
    """También la última p de quien se queda sin pasos."""
    return (p * going).sum(0)


def _gather_truncated(p, going):
    """Cada suma parcial se corta: solo la última p antes de la parada recibe gradiente."""
    going = going[:-1]
    newest = going & ~torch.cat((going[1:], torch.zeros_like(going[:1])))
    reached = (p[:-1] * newest).sum(0)
    return (p[:-1] * going).sum(0).detach() + reached - reached.detach()


def _ponder_cases(rng):
    def draw(steps, lengths, t, low, high):
        real = torch.arange(t) < torch.tensor(lengths)[:, None]
        return _between(rng, low, high, steps, len(lengths), t), real

    usual, some = draw(6, (5, 3), 5, 0.15, 0.5)
    usual[0, 0, 0] = 0.995
    exact, all_but_one = draw(4, (3, 4, 2), 4, 0.3, 0.45)
    exact[:, 0, 0] = torch.tensor([0.5, 0.25, 0.5, 0.25])
    return [
        (usual, some, 0.01),
        (exact, all_but_one, 0.25),
        (*draw(3, (4, 1), 4, 0.02, 0.2), 0.01),
    ]


PONDER_BUG = Exercise(
    name="universal_transformer.ponder_bug",
    points=1,
    reference=_ponder_loss,
    cases=_ponder_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "unchanged",
            _ponder_with(finish=lambda loss: torch.tensor(loss.tolist())),
            "la pérdida sigue sin enseñar nada: no está unida a p, y su gradiente no existe. "
            "Busca dónde se sale del grafo: .item(), float(), torch.tensor(…), .detach()",
        ),
        Misconception(
            "new_leaf",
            _ponder_with(finish=lambda loss: torch.tensor(loss.tolist(), requires_grad=True)),
            "requires_grad=True calla el error, pero en un tensor nuevo, que no sabe de dónde "
            "salió: el gradiente respecto de p es cero. No copies el número: suma tensores",
        ),
        Misconception(
            "truncated",
            _ponder_with(gather=_gather_truncated),
            "cortas el grafo en cada suma, y de lo reunido antes de la parada solo la última p "
            "recibe gradiente. Todas las que van antes de la parada reducen el resto",
        ),
        Misconception(
            "own_p",
            _ponder_with(rest=lambda before, p: 1 - (before + p).detach() + p),
            "el gradiente llega a la p del paso de la parada, con el signo contrario, y a ninguna "
            "otra: el resto depende de las anteriores a ese paso",
        ),
        Misconception(
            "only_steps",
            _ponder_with(cost=lambda n, rest: n.float()),
            "cuentas solo los pasos, N: es un número entero y su derivada es cero. Lo único que "
            "enseña es R, y falta",
        ),
        Misconception(
            "only_remainder",
            _ponder_with(cost=lambda n, rest: rest),
            "faltan los pasos: el costo es N + R",
        ),
        Misconception(
            "remainder_after",
            _ponder_with(rest=lambda before, p: 1 - before - p),
            "al resto le restas también la p del paso de la parada: es lo que faltaba antes",
        ),
        Misconception(
            "adds_the_gathered",
            _ponder_with(rest=lambda before, p: before),
            "sumas lo reunido antes de la parada; R es lo que falta para llegar a 1",
        ),
        Misconception(
            "counts_from_zero",
            _ponder_with(cost=lambda n, rest: n - 1 + rest),
            "N cuenta un paso de menos: el de la parada también cuesta",
        ),
        Misconception(
            "past_the_end",
            _ponder_with(count=lambda going: 1 + going.sum(0), gather=_gather_to_the_end),
            "a quien se queda sin pasos le cuentas uno más de los que hay, y das por reunida "
            "también la última p: en el último paso posible se para siempre",
        ),
        Misconception(
            "rest_after_the_end",
            _ponder_with(gather=_gather_to_the_end),
            "das por reunida también la última p de quien se queda sin pasos: su resto, como el "
            "de todos, es lo que faltaba antes del paso en que para",
        ),
        Misconception(
            "each_alone",
            _ponder_with(goes_on=lambda p, threshold: (p < threshold).cumprod(0).bool()),
            "comparas con el umbral la p de cada paso; la que se compara es la suma de todas hasta "
            "ese paso",
        ),
        Misconception(
            "counts_padding",
            _ponder_with(reduce=lambda cost, real: cost.mean()),
            "promedias también el relleno: la pérdida cambiaría con lo largas que sean las demás "
            "oraciones del lote",
        ),
        Misconception(
            "divides_by_everything",
            _ponder_with(reduce=lambda cost, real: (cost * real).mean()),
            "anulas el costo del relleno, pero divides también por sus posiciones: cuanto más "
            "relleno, más barato parece pensar",
        ),
        Misconception(
            "inverted",
            _ponder_with(reduce=lambda cost, real: cost[~real].mean()),
            "promedias justo el relleno: en real, True es una posición de verdad",
        ),
        Misconception(
            "sums",
            _ponder_with(reduce=lambda cost, real: (cost * real).sum()),
            "sumas los costos en lugar de promediarlos: la pérdida crecería con el tamaño del lote",
        ),
        Misconception(
            "mean_of_means",
            _ponder_with(reduce=lambda cost, real: ((cost * real).sum(-1) / real.sum(-1)).mean()),
            "promedias cada oración y después las oraciones, y una posición de una oración corta "
            "pesa más: se promedia una vez, sobre todas las posiciones reales",
        ),
        Misconception(
            "per_position",
            _ponder_with(reduce=lambda cost, real: cost[real]),
            "devuelves el costo de cada posición real; falta promediarlos en un solo número",
        ),
        Misconception(
            "strict",
            _ponder_with(goes_on=lambda p, threshold: p.cumsum(0) <= threshold),
            "quien reúne justo 1 − ε ya para, y tú le das un paso más: la regla es ≥",
        ),
    ),
)


# 6 · Encuentra el error: ¿quién decide cuándo parar?


@combinable
def _shared_with(
    *,
    mask=lambda real: real,
    votes=lambda p, real: p * real,
    voters=lambda real: real,
    over=lambda x: x.cumsum(1),
    divide=lambda gathered, counted, real: gathered / counted.clamp(min=1),
    fill=lambda mean, p, real: torch.where(real, mean, 0.0),
):
    """La media de las p reales hasta cada posición, y 0 en el relleno; cada opción es un paso."""

    def implementation(p, real):
        real = mask(real)
        mean = divide(over(votes(p, real)), over(voters(real).long()), real)
        return fill(mean, p, real)

    return implementation


_shared = _shared_with()


def _everyone_votes(p, real):
    return p


def _whole_sentence(x):
    return x.sum(1, keepdim=True).expand_as(x)


def _unfilled(mean, p, real):
    return mean


def _undefined(gathered, counted, real):
    return gathered / counted


def _shared_cases(rng):
    real = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0]]).bool()
    short = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]]).bool()
    return [
        (_between(rng, 0.05, 0.95, *real.shape), real),
        (_between(rng, 0.05, 0.95, *short.shape), short),
    ]


SHARED_BUG = Exercise(
    name="universal_transformer.shared_halting_bug",
    points=1,
    reference=_shared,
    cases=_shared_cases,
    misconceptions=(
        Misconception(
            "unchanged",
            _shared_with(
                votes=_everyone_votes, voters=torch.ones_like, over=_whole_sentence, fill=_unfilled
            ),
            "el error sigue ahí: votan el relleno y las posiciones que todavía no se han escrito",
        ),
        Misconception(
            "sees_the_future",
            _shared_with(over=_whole_sentence),
            "la media es de toda la oración: vota el futuro, y la primera palabra decide con la p "
            "de la última",
        ),
        Misconception(
            "sees_the_future_everywhere",
            _shared_with(over=_whole_sentence, fill=_unfilled),
            "vota el futuro, y el relleno recibe también la media de toda la oración: cada "
            "posición decide con las reales que van hasta ella, y en el relleno va 0",
        ),
        Misconception(
            "global_and_zeroed",
            _shared_with(votes=_everyone_votes, voters=torch.ones_like, over=_whole_sentence),
            "en la media votan a la vez el relleno y el futuro: cada posición decide con las "
            "reales que van hasta ella",
        ),
        Misconception(
            "padding_votes",
            _shared_with(votes=_everyone_votes, voters=torch.ones_like),
            "el relleno vota: sus p entran en la media, y solo entran las reales",
        ),
        Misconception(
            "padding_votes_everywhere",
            _shared_with(votes=_everyone_votes, voters=torch.ones_like, fill=_unfilled),
            "el relleno vota, y además conserva una probabilidad: en él va 0",
        ),
        Misconception(
            "padding_in_the_sum",
            _shared_with(votes=_everyone_votes),
            "en la suma siguen entrando las p del relleno: se suman solo las reales",
        ),
        Misconception(
            "undefined_before_the_sentence",
            _shared_with(divide=_undefined, fill=_unfilled),
            "donde todavía no ha votado nadie divides entre 0, y no sale un número; en el otro "
            "relleno queda lo que dé la cuenta. En los dos va 0",
        ),
        Misconception(
            "nan_times_zero",
            _shared_with(divide=_undefined, fill=lambda mean, p, real: mean * real),
            "donde todavía no ha votado nadie divides entre 0, y NaN por 0 sigue siendo NaN: no "
            "lo borres multiplicando, elige con torch.where",
        ),
        Misconception(
            "one_in_padding",
            _shared_with(fill=lambda mean, p, real: torch.where(real, mean, 1.0)),
            "en lugar de 0 pones 1, para que pare enseguida: en el relleno no se calcula ni un "
            "paso",
        ),
        Misconception(
            "own_p_in_padding",
            _shared_with(fill=lambda mean, p, real: torch.where(real, mean, p)),
            "en lugar de 0 dejas la p: en el relleno va 0",
        ),
        Misconception(
            "mask_inverted",
            _shared_with(mask=torch.logical_not),
            "la máscara está al revés: en real, True es una posición de verdad",
        ),
        Misconception(
            "mean_of_the_batch",
            _shared_with(over=lambda x: x.sum().expand_as(x), fill=_unfilled),
            "la media junta las posiciones de todas las oraciones del lote: cada oración decide "
            "sola, y cada posición, con las que van hasta ella",
        ),
        Misconception(
            "divides_by_place",
            _shared_with(voters=torch.ones_like),
            "al dividir cuentas también el relleno: se divide entre las reales",
        ),
        Misconception(
            "not_zeroed",
            _shared_with(fill=_unfilled),
            "en el relleno queda lo que dé la cuenta, y va 0: nadie lo calcula",
        ),
        Misconception(
            "future_only",
            _shared_with(over=lambda x: x.flip(1).cumsum(1).flip(1)),
            "la media va al revés: tomas desde cada posición hasta el final, que es justo lo que "
            "no se conoce",
        ),
        Misconception(
            "without_itself",
            _shared_with(over=lambda x: x.cumsum(1) - x),
            "cada posición se deja fuera a sí misma: la media llega hasta ella, con ella",
        ),
        Misconception(
            "sums",
            _shared_with(divide=lambda gathered, counted, real: gathered),
            "sumas sin dividir: para que sea una media, entre cuántas votan",
        ),
        Misconception(
            "divides_by_the_sentence",
            _shared_with(
                divide=lambda gathered, counted, real: gathered / real.sum(1, keepdim=True)
            ),
            "divides por el largo de la oración entera, que un decodificador todavía no conoce: "
            "entre cuántas van hasta esa posición",
        ),
        Misconception(
            "not_shared",
            _shared_with(over=lambda x: x),
            "cada posición decide sola: es lo que hace el curso, pero aquí se pide la decisión "
            "compartida, la media de las reales hasta cada una",
        ),
        Misconception(
            "over_the_batch",
            _shared_with(over=lambda x: x.cumsum(0)),
            "acumulas por el eje del lote: cada fila es otra oración, y no vota en esta",
        ),
    ),
)


# 7 · Calcular solo las activas


def _in_its_place(new, i, moves, value):
    new[i, moves] = value


def _at_the_beginning(new, i, moves, value):
    new[i, : int(moves.sum())] = value


@combinable
def _update_with(
    *,
    who=lambda active: (active, active),
    base=torch.clone,
    context=lambda state, active, new: state,
    compute=lambda block, row, asks, seen: block(row[asks], seen),
    change=lambda old, computed: computed,
    put=_in_its_place,
    finish=lambda new, computed: new,
):
    """Un estado nuevo, oración por oración; `who` dice quién pregunta y quién se mueve."""

    def implementation(state, active, block):
        new, computed = base(state), []
        seen = context(state, active, new)
        for i, (asks, moves) in enumerate(zip(*who(active), strict=True)):
            computed.append(compute(block, state[i], asks, seen[i]))
            put(new, i, moves, change(state[i, moves], computed[i]))
        return finish(new, computed)

    return implementation


_update = _update_with()


def _update_call(student, state, active, W_q, W_k, W_v, W):
    """Construye el bloque, y cuenta de cuántas posiciones se le pidió el estado nuevo."""
    computed = 0

    def block(x, context):
        nonlocal computed
        computed += x[..., 0].numel()
        seen = x + attention(x @ W_q, context @ W_k, context @ W_v)
        return F.layer_norm(seen + torch.relu(seen) @ W, seen.shape[-1:])

    return {"el estado": student(state, active, block), "posiciones calculadas": computed}


def _update_cases(rng):
    def draw(active, d):
        active = torch.tensor(active).bool()
        matrices = (_randn(rng, d, d, scale=1.5 / math.sqrt(d)) for _ in range(4))
        return (_randn(rng, *active.shape, d), active, *matrices)

    return [
        draw([[1, 0, 1, 1, 0], [0, 0, 1, 0, 0]], 4),
        draw([[0, 1, 1, 0], [0, 0, 0, 0], [1, 0, 1, 1]], 6),
        draw([[0, 1, 0, 1], [1, 1, 0, 0]], 4),  # las dos con dos activas
        draw([[1, 1, 1], [1, 1, 1]], 2),  # el primer paso: aún no para nadie
        draw([[0, 1, 1, 0]], 4),  # una sola oración
    ]


def _compute_all(block, row, asks, seen):
    return block(row, seen)[asks]


def _compute_whole_rows(block, row, asks, seen):
    return block(row, seen)[asks] if asks.any() else row[asks]


def _in_turns(state, active, block):
    """Cada posición ve ya el estado nuevo de las anteriores."""
    new = state.clone()
    for row, i in active.nonzero().tolist():
        new[row, i] = block(new[row, i : i + 1], new[row].clone())[0]
    return new


def _whole_batch_context(state, active, block):
    new = state.clone()
    new[active] = block(state[active], state)
    return new


def _padded_gather(state, active, block):
    """Reúne en cada fila tantas como en la que más tiene; a las demás les sobran lugares."""
    most = int(active.sum(1).max())
    places = (
        (~active).long().argsort(dim=1, stable=True)[:, :most, None].expand(-1, -1, state.shape[-1])
    )
    new = state.scatter(1, places, block(state.gather(1, places), state))
    return torch.where(active[..., None], new, state)


ACTIVE_ONLY = Exercise(
    name="universal_transformer.active_only",
    points=2,
    partial=(Part("los valores", 1),),
    reference=_update,
    cases=_update_cases,
    call=_update_call,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "computes_all",
            _update_with(compute=_compute_all),
            "no ahorras nada: calculas todas las posiciones y después descartas las que sobran. "
            "Pásale a block solo las activas",
        ),
        Misconception(
            "whole_rows",
            _update_with(compute=_compute_whole_rows),
            "te saltas las oraciones en que no hay nada que calcular, pero en las demás calculas "
            "la fila entera: pásale a block solo sus posiciones activas",
        ),
        Misconception(
            "padded_gather",
            _padded_gather,
            "reúnes el mismo número de posiciones en todas las oraciones, y donde hay menos "
            "activas calculas de más: es lo que se hace en una GPU, pero aquí van solo las activas",
        ),
        Misconception(
            "mask_inverted_after_computing",
            _update_with(who=lambda active: (~active, ~active), compute=_compute_all),
            "calculas todas y, encima, conservas las activas y mueves las que pararon: es al revés",
        ),
        Misconception(
            "everyone_moves",
            _update_with(who=lambda active: (torch.ones_like(active), torch.ones_like(active))),
            "aplicas el bloque a todas: quien paró conserva su estado, y no se calcula",
        ),
        Misconception(
            "halted_invisible",
            _update_with(
                context=lambda state, active, new: [
                    row[who] for row, who in zip(state, active, strict=True)
                ]
            ),
            "las que pararon desaparecieron del contexto, y las activas las siguen mirando: el "
            "contexto es la fila entera",
        ),
        Misconception(
            "halted_zero_in_context",
            _update_with(context=lambda state, active, new: state * active[..., None]),
            "en el contexto, las que pararon valen cero; conservan su estado, y las activas las "
            "siguen mirando",
        ),
        Misconception(
            "adds",
            _update_with(change=lambda old, computed: old + computed),
            "sumas al estado lo que da block, que ya es el estado nuevo: se sustituye",
        ),
        Misconception(
            "whole_batch_context",
            _whole_batch_context,
            "con una sola oración funciona; con varias, las formas no concuerdan: como contexto "
            "das el lote entero, y cada oración mira solo su fila, state[row]",
            raises=RuntimeError,
        ),
        Misconception(
            "arguments_exchanged",
            _update_with(compute=lambda block, row, asks, seen: block(seen, row[asks])),
            "los argumentos de block están cambiados: primero quienes preguntan, las activas, y "
            "después a quienes miran, la fila entera",
            raises=RuntimeError,
        ),
        Misconception(
            "inverted",
            _update_with(
                who=lambda active: (~active, active), change=lambda old, computed: computed.mean(0)
            ),
            "das a las activas lo que sale de las que pararon: en active, True sigue pensando",
        ),
        Misconception(
            "moves_the_halted",
            _update_with(who=lambda active: (~active, ~active)),
            "mueves las que pararon y dejas quietas las activas: en active, True sigue pensando",
        ),
        Misconception(
            "one_long_sentence",
            _update_with(context=lambda state, active, new: [state.flatten(0, 1)] * len(state)),
            "el contexto son todas las oraciones del lote pegadas: cada posición mira solo su "
            "oración",
        ),
        Misconception(
            "one_long_sentence_of_active",
            _update_with(context=lambda state, active, new: [state[active]] * len(state)),
            "el contexto son las activas de todo el lote, juntas: cada posición mira su oración, y "
            "entera, también a las que pararon",
        ),
        Misconception(
            "in_turns",
            _in_turns,
            "actualizas una posición tras otra, y las últimas ven ya el estado nuevo de las "
            "primeras: todas miran los estados con que empezó el paso",
        ),
        Misconception(
            "in_place",
            _update_with(base=lambda state: state),
            "escribes sobre state, que es de quien llama: empieza por una copia",
        ),
        Misconception(
            "not_scattered",
            _update_with(finish=lambda new, computed: torch.cat(computed)),
            "devuelves solo lo que da block, una posición detrás de otra: falta poner cada una en "
            "su lugar, entre los estados que no cambian",
        ),
        Misconception(
            "packed",
            _update_with(put=_at_the_beginning),
            "pones los estados nuevos al principio de la fila: cada uno va en el lugar de su "
            "posición",
        ),
        Misconception(
            "halted_to_zero",
            _update_with(base=torch.zeros_like),
            "a quien no se mueve lo dejas en ceros: conserva su estado",
        ),
        Misconception(
            "context_overwritten",
            _update_with(context=lambda state, active, new: new),
            "el gradiente no se puede calcular: block mira el tensor en que después escribes. El "
            "contexto es la fila de state, que no cambia",
            raises=RuntimeError,
        ),
        Misconception(
            "without_gradient",
            _update_with(change=lambda old, computed: computed.detach()),
            "lo que da block queda fuera del grafo (¿no_grad, .detach()?): así el bloque no "
            "aprende",
        ),
        Misconception(
            "halted_detached",
            _update_with(base=lambda state: state.detach().clone()),
            "la copia de las que pararon está separada del grafo: su gradiente se pierde. Usa "
            ".clone() sin .detach() ni .data",
        ),
    ),
)


# 8 · Leer una tabla de pasos


@combinable
def _counts_with(dense=108, active=50, capped=46, ratio=8):
    """Las cuatro respuestas: a), b), c) y d)."""
    return lambda: [dense, active, capped, ratio]


READ_STEPS = Exercise(
    name="universal_transformer.read_steps",
    points=1,
    reference=[108, 50, 46, 8],
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "all_eight_steps",
            _counts_with(dense=144),
            "en a), son los ocho pasos en todas las posiciones; el bucle acaba en cuanto no queda "
            "ninguna activa, y ninguna llegó a ocho",
        ),
        Misconception(
            "no_padding",
            _counts_with(dense=96),
            "en a), dejas fuera el relleno, y una versión densa calcula la matriz entera, con él",
        ),
        Misconception(
            "each_row_alone",
            _counts_with(dense=78),
            "en a), cada fila se detiene sola en tu cuenta; el lote avanza junto, hasta que para "
            "la última posición de todas",
        ),
        Misconception(
            "dense_is_active",
            _counts_with(dense=50),
            "en a), sumas los pasos que cada una necesitaba; la versión densa recalcula también a "
            "quien ya paró",
        ),
        Misconception(
            "dense_count_of_steps",
            _counts_with(dense=6),
            "en a), esas son las vueltas del bucle; en cada una se calculan todas las posiciones",
        ),
        Misconception(
            "padding_counts_one",
            _counts_with(active=52),
            "en b), cuentas el relleno como si diera un paso; no da ninguno",
        ),
        Misconception(
            "positions",
            _counts_with(active=16),
            "en b), esas son las posiciones reales; cada una se calcula tantas veces como pasos "
            "dio",
        ),
        Misconception(
            "cap_drops",
            _counts_with(capped=34),
            "en c), dejas fuera a las que necesitaban más de cuatro; no desaparecen: se las "
            "detiene en el cuarto paso",
        ),
        Misconception(
            "cap_ignored",
            _counts_with(capped=50),
            "en c), las que daban más de cuatro pasos se detienen ahora en el cuarto",
        ),
        Misconception(
            "cap_for_all",
            _counts_with(capped=64),
            "en c), no todas dan cuatro pasos: quien paraba antes sigue parando antes",
        ),
        Misconception(
            "cap_halves",
            _counts_with(capped=25),
            "en c), la mitad de pasos permitidos no es la mitad de cálculo: solo cambia para "
            "quien daba más de cuatro",
        ),
        Misconception(
            "ratio_of_steps_used",
            _counts_with(ratio=6),
            "en d), los parámetros no dependen de cuántos pasos se dieron; compara capas "
            "distintas con un solo bloque",
        ),
        Misconception(
            "same_parameters",
            _counts_with(ratio=1),
            "en d), el Universal Transformer usa el mismo bloque en todos los pasos; las ocho "
            "capas tienen cada una el suyo",
        ),
        Misconception(
            "ratio_inverted",
            _counts_with(ratio=0.125),
            "en d), está al revés: se pide cuántas veces más tiene la pila de ocho capas",
        ),
    ),
)


EXERCISES = (
    STEP_ENCODINGS,
    HALTING,
    REMAINDER_BUG,
    ADAPTIVE_LOOP,
    PONDER_BUG,
    SHARED_BUG,
    ACTIVE_ONLY,
    READ_STEPS,
)
