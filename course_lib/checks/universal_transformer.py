"""Ejercicios del tema Universal Transformer: pasos, parada, resto y costo de deliberación.

Las referencias se escriben con PyTorch, para que los errores frecuentes cambien una sola pieza.
Una prueba las compara con lo que hacen la capa y el modelo de la biblioteca.
"""

import math

import torch
import torch.nn.functional as F

from course_lib.grading.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.attention import attention
from course_lib.primitives.positions import sinusoidal_positions

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


def _encodings(length, num_steps, d_model):
    return _encodings_from(1, 1)(length, num_steps, d_model)


def _encodings_cases(rng):
    size = _whole(rng, 4, 8)
    return [
        (_whole(rng, 5, 9), _whole(rng, 2, 5), 8),
        (size, size, 4),
        (_whole(rng, 2, 4), _whole(rng, 4, 7), 12),
    ]


def _encodings_from(first_position, first_step):
    def implementation(length, num_steps, d_model):
        position = sinusoidal_positions(length, d_model, start=first_position)
        return position + sinusoidal_positions(num_steps, d_model, start=first_step)[:, None]

    return implementation


def _encodings_joined(join):
    """Junta las dos tablas, ya de `[pasos, t, d_model]`, de otra manera."""

    def implementation(length, num_steps, d_model):
        shape = (num_steps, length, d_model)
        position = sinusoidal_positions(length, d_model, start=1).expand(shape)
        step = sinusoidal_positions(num_steps, d_model, start=1)[:, None].expand(shape)
        return join(position, step)

    return implementation


def _encodings_halves(length, num_steps, d_model):
    both = _encodings(length, num_steps, d_model)
    return torch.cat((both[..., ::2], both[..., 1::2]), dim=-1)


def _encodings_exchanged(length, num_steps, d_model):
    """Los cosenos en las columnas pares, y los senos en las impares."""
    return _encodings(length, num_steps, d_model).unflatten(-1, (-1, 2)).flip(-1).flatten(-2)


def _encodings_by_column(length, num_steps, d_model):
    """Cada columna con su frecuencia, en lugar de una para cada par."""
    column = torch.arange(d_model)

    def encode(size):
        angles = torch.arange(1, size + 1)[:, None] / 10_000 ** (column / d_model)
        return torch.where(column % 2 == 0, angles.sin(), angles.cos())

    return encode(length) + encode(num_steps)[:, None]


def _encodings_concatenated(length, num_steps, d_model):
    position, step = (
        sinusoidal_positions(size, d_model // 2, start=1) for size in (length, num_steps)
    )
    position, step = position.expand(num_steps, -1, -1), step[:, None].expand(-1, length, -1)
    return torch.cat((position, step), dim=-1)


def _encodings_of_the_sum(length, num_steps, d_model):
    table = sinusoidal_positions(length + num_steps + 1, d_model)
    return table[torch.arange(1, num_steps + 1)[:, None] + torch.arange(1, length + 1)]


def _encodings_own(scale):
    """Con otra escala de frecuencias: `scale(columna par, d_model)` es el exponente."""

    def implementation(length, num_steps, d_model):
        exponents = scale(torch.arange(0, d_model, 2), d_model)

        def encode(size):
            angles = torch.arange(1, size + 1)[:, None] / 10_000**exponents
            return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)

        return encode(length) + encode(num_steps)[:, None]

    return implementation


STEP_ENCODINGS = Exercise(
    name="universal_transformer.step_encodings",
    answers=("course_lib.primitives.positions.step_positions",),
    points=1,
    reference=_encodings,
    cases=_encodings_cases,
    misconceptions=(
        Misconception(
            "both_from_zero",
            _encodings_from(0, 0),
            "cuentas las dos cosas desde 0, como en el Transformer; aquí la primera posición y el "
            "primer paso son el 1",
        ),
        Misconception(
            "positions_from_zero",
            _encodings_from(0, 1),
            "los pasos ya van desde 1; las posiciones, todavía desde 0",
        ),
        Misconception(
            "steps_from_zero",
            _encodings_from(1, 0),
            "las posiciones ya van desde 1; los pasos, todavía desde 0",
        ),
        Misconception(
            "only_positions",
            _encodings_joined(lambda position, step: position),
            "todos los pasos reciben lo mismo: falta sumar la codificación del paso, y sin ella el "
            "bloque no sabe en qué vuelta va",
        ),
        Misconception(
            "only_steps",
            _encodings_joined(lambda position, step: step),
            "todas las posiciones reciben lo mismo: falta sumar la codificación de la posición",
        ),
        Misconception(
            "not_aligned",
            lambda length, num_steps, d_model: (
                sinusoidal_positions(length, d_model, start=1)
                + sinusoidal_positions(num_steps, d_model, start=1)
            ),
            "sumas dos tablas sin alinearlas, fila con fila: cada paso va con todas las "
            "posiciones. A la de los pasos le falta un eje",
            raises=RuntimeError,
        ),
        Misconception(
            "half_exponent",
            _encodings_own(lambda even, d_model: even / 2 / d_model),
            "el exponente se quedó en j/d: el par de columnas 2j, 2j + 1 lleva 2j/d",
        ),
        Misconception(
            "one_frequency_per_column",
            _encodings_by_column,
            "cada columna tiene su propia frecuencia; el seno de la 2j y el coseno de la 2j + 1 "
            "comparten una, la de 2j/d",
        ),
        Misconception(
            "sine_and_cosine_exchanged",
            _encodings_exchanged,
            "pones los cosenos en las columnas pares y los senos en las impares; es al revés",
        ),
        Misconception(
            "product",
            _encodings_joined(lambda position, step: position * step),
            "multiplicas las dos codificaciones; se suman",
        ),
        Misconception(
            "average",
            _encodings_joined(lambda position, step: (position + step) / 2),
            "promedias las dos codificaciones; la ecuación las suma, sin dividir",
        ),
        Misconception(
            "accumulated",
            _encodings_joined(lambda position, step: (position + step).cumsum(0)),
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
            _encodings_concatenated,
            "das media anchura a la posición y media al paso; cada una ocupa el ancho entero, y se "
            "suman",
        ),
        Misconception(
            "halves",
            _encodings_halves,
            "pones todos los senos delante y todos los cosenos detrás; en el artículo van "
            "alternados, columna par y columna impar",
        ),
        Misconception(
            "axes_exchanged",
            lambda length, num_steps, d_model: _encodings(length, num_steps, d_model).transpose(
                0, 1
            ),
            "los números son esos, y los ejes están cambiados: primero el paso y después la "
            "posición, para tomar con [n] lo que se suma en un paso",
        ),
    ),
)


# 2 · Parar a mano


def _stop(p, epsilon, stops=_reaches):
    """En qué paso se para, cuánto se había reunido antes y si se llegó al umbral."""
    total, reached = 0.0, False
    for n, p_n in enumerate(p.tolist(), 1):
        reached = stops(total, p_n, 1 - epsilon)
        if reached or n == len(p):
            return n, total, reached
        total += p_n
    return 0, total, reached


def _cut(p, n):
    """Las probabilidades hasta el paso n; después, ceros."""
    return torch.where(torch.arange(len(p)) < n, p, 0.0)


def _put_at(weights, n, value):
    return torch.where(torch.arange(len(weights)) == n - 1, value, weights)


@combinable
def _halting_with(stops=_reaches, weights=None, remainder=None):
    """La parada de una posición con una pieza cambiada."""

    def implementation(p, epsilon):
        n, before, reached = _stop(p, epsilon, stops)
        left = 1 - before
        shared = _put_at(_cut(p, n), n, left) if weights is None else weights(p, n, left, reached)
        return shared, n, left if remainder is None else remainder(p, n, left, reached)

    return implementation


_halting = _halting_with()


def _halting_cases(rng):
    def draw(low, high, size):
        return _between(rng, low, high, size)

    exact = torch.tensor([[0.5, 0.25, 0.5, 0.5], [0.25, 0.5, 0.5, 0.25]])
    first, gap = draw(0.3, 0.6, 1), draw(0.991, 0.999, 1)
    n = _whole(rng, 3, 6)  # con el paso n se pasa de 1; con el anterior no se llega a 0.99
    return [
        (draw(1.02 / n, 1.2 / n, 12), 0.01),
        (exact[_whole(rng, 0, 2)], 0.25),
        (torch.cat((draw(0.991, 0.999, 1), draw(0.2, 0.9, 3))), 0.01),
        (draw(0.02, 0.2, 4), 0.01),
        (torch.cat((first, gap - first, draw(0.2, 0.5, 3))), 0.01),
        (torch.cat((draw(0.38, 0.46, 2), draw(0.3, 0.5, 2))), 0.25),  # con dos pasos ya basta
    ]


def _halting_one_late(p, epsilon):
    n, before, _ = _stop(p, epsilon, lambda total, p_n, threshold: total >= threshold)
    return _put_at(_cut(p, n), n, 1 - before), n, 1 - before


def _halting_geometric(p, epsilon):
    going = torch.cat((torch.ones(1, dtype=p.dtype), (1 - p).cumprod(0)[:-1]))
    reached = (1 - (1 - p).cumprod(0) >= 1 - epsilon).tolist()
    n = reached.index(True) + 1 if True in reached else len(p)
    left = float(going[n - 1])
    return _put_at(_cut(p * going, n), n, left), n, left


def _halting_without_break(p, epsilon):
    """El bucle sigue después de la parada: la última vuelta decide N y R."""
    weights, total = p.clone(), 0.0
    for n, p_n in enumerate(p.tolist(), 1):
        if total + p_n >= 1 - epsilon or n == len(p):
            weights[n - 1] = 1 - total
        total += p_n
    return weights, len(p), 1 - (total - p_n)


def _halting_clamped(p, epsilon):
    n = _stop(p, epsilon)[0]
    left = max(1 - _sum_to(p, n), 0.0)
    return _put_at(_cut(p, n), n, left), n, left


def _sum_to(p, n):
    return float(p[:n].sum())


def _reordered(order):
    def implementation(p, epsilon):
        result = _halting(p, epsilon)
        return tuple(result[i] for i in order)

    return implementation


def _halting_nothing_reached(p, epsilon):
    """Busca el primer True donde no hay ninguno: argmax da el primer paso."""
    reached = _stop(p, epsilon)[2]
    return _halting(p, epsilon) if reached else (_put_at(_cut(p, 1), 1, 1.0), 1, 1.0)


def _halting_to_the_threshold(p, epsilon):
    weights, n, left = _halting(p, epsilon)
    return _put_at(weights, n, left - epsilon), n, left - epsilon


def _halting_or_nothing(p, epsilon):
    return _halting(p, epsilon) if _stop(p, epsilon)[2] else None


def _passes_one(p, epsilon):
    """Si en el paso de la parada lo reunido pasa de 1: ni empata con el umbral ni se acaban."""
    return _sum_to(p, _stop(p, epsilon)[0]) > 1


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
            _halting_with(lambda total, p, threshold: total + p > threshold),
            "comparas con >, y la regla es ≥: quien reúne justo 1 − ε ya para",
        ),
        Misconception(
            "threshold_one",
            _halting_with(lambda total, p, threshold: total + p >= 1),
            "esperas a reunir 1; se para en 1 − ε, o una sigmoide, que nunca llega a 1, no podría "
            "parar en el primer paso",
        ),
        Misconception(
            "threshold_epsilon",
            lambda p, epsilon: _halting(p, 1 - epsilon),
            "paras en cuanto reúnes ε; el umbral es 1 − ε",
        ),
        Misconception(
            "epsilon_written_by_hand",
            lambda p, epsilon: _halting(p, 0.01),
            "escribiste un valor fijo para el umbral: ε llega en epsilon",
        ),
        Misconception(
            "each_alone",
            _halting_with(lambda total, p, threshold: p >= threshold),
            "comparas con el umbral la p de cada paso; la que se compara es la suma de todas hasta "
            "ese paso",
        ),
        Misconception(
            "one_late",
            _halting_one_late,
            "paras un paso tarde: miras lo reunido antes de contar la p de este paso",
        ),
        Misconception(
            "never_halts",
            _halting_with(lambda total, p, threshold: False),
            "das siempre todos los pasos: se para en cuanto lo reunido llega a 1 − ε",
        ),
        Misconception(
            "remainder_forgotten",
            _halting_with(weights=lambda p, n, left, reached: _cut(p, n)),
            "N y R son esos, pero en los pesos no aparece R: el último paso pesa el resto y no su "
            "p, y así los pesos suman 1",
        ),
        Misconception(
            "remainder_is_p",
            _halting_with(
                weights=lambda p, n, left, reached: _cut(p, n),
                remainder=lambda p, n, left, reached: float(p[n - 1]),
            ),
            "olvidas el resto: al último paso le das su propia p, y los pesos no suman 1",
        ),
        Misconception(
            "remainder_after",
            _halting_with(
                weights=lambda p, n, left, reached: _put_at(_cut(p, n), n, 1 - _sum_to(p, n)),
                remainder=lambda p, n, left, reached: 1 - _sum_to(p, n),
            ),
            "calculas el resto después de sumar la p del último paso, y sale casi cero o negativo: "
            "R es lo que faltaba para 1 *antes* de ese paso",
        ),
        Misconception(
            "remainder_after_clamped",
            _halting_clamped,
            "el resto te salía negativo y lo recortas a cero; sale así porque le restas también la "
            "p del último paso: R es lo que faltaba para 1 antes de él",
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
                weights=lambda p, n, left, reached: _cut(p, n),
                remainder=lambda p, n, left, reached: 1 - _sum_to(p, n),
            ),
            "a R le restas también la p del último paso, y ese paso conserva su p: R es lo que "
            "faltaba para 1 antes de él, y es su peso",
        ),
        Misconception(
            "remainder_added",
            _halting_with(
                weights=lambda p, n, left, reached: _put_at(_cut(p, n), n, left + float(p[n - 1]))
            ),
            "el último paso recibe su p y además el resto, y los pesos suman más de 1: el resto va "
            "en lugar de p",
        ),
        Misconception(
            "cut_off_without_remainder",
            _halting_with(
                weights=lambda p, n, left, reached: (
                    _put_at(_cut(p, n), n, left) if reached else _cut(p, n)
                ),
                remainder=lambda p, n, left, reached: left if reached else 0.0,
            ),
            "a quien agota los pasos sin llegar al umbral no le das resto, y sus pesos suman menos "
            "de 1: en el último paso posible se para siempre, y ahí también pesa el resto",
        ),
        Misconception(
            "cut_off_leaves_the_rest",
            _halting_with(
                weights=lambda p, n, left, reached: (
                    _put_at(_cut(p, n), n, left) if reached else _cut(p, n)
                ),
                remainder=lambda p, n, left, reached: left if reached else 1 - _sum_to(p, n),
            ),
            "cuando se acaban los pasos, el último conserva su p y R se queda sin usar: ese paso "
            "también es de parada, así que pesa lo que faltaba antes de él",
        ),
        Misconception(
            "cut_off_rest_after",
            _halting_with(
                weights=lambda p, n, left, reached: _put_at(
                    _cut(p, n), n, left if reached else 1 - _sum_to(p, n)
                ),
                remainder=lambda p, n, left, reached: left if reached else 1 - _sum_to(p, n),
            ),
            "cuando se acaban los pasos, el bucle ya sumó la p del último, y el resto sale de "
            "menos: en el último paso posible hay que parar antes de sumarla",
        ),
        Misconception(
            "nothing_at_the_limit",
            _halting_or_nothing,
            "si los pasos se acaban sin llegar al umbral, tu función no devuelve nada: en el "
            "último paso posible también se para",
        ),
        Misconception(
            "first_when_none",
            _halting_nothing_reached,
            "si ningún paso llega al umbral, paras en el primero: argmax sobre una fila sin "
            "ningún True da 0. En ese caso se para en el último",
        ),
        Misconception(
            "rest_to_the_threshold",
            _halting_to_the_threshold,
            "el resto es lo que falta para 1, no para 1 − ε: el umbral solo decide cuándo se para",
        ),
        Misconception(
            "everything_to_the_last",
            _halting_with(weights=lambda p, n, left, reached: _put_at(torch.zeros_like(p), n, 1.0)),
            "das todo el peso al paso de la parada; los anteriores pesan su p, y él, lo que queda",
        ),
        Misconception(
            "counts_from_zero",
            lambda p, epsilon: (lambda w, n, r: (w, n - 1, r))(*_halting(p, epsilon)),
            "N cuenta pasos, y el de la parada es uno de ellos: te falta uno. ¿Devolviste su "
            "índice?",
        ),
        Misconception(
            "normalised",
            _halting_with(weights=lambda p, n, left, reached: _cut(p, n) / _sum_to(p, n)),
            "divides por la suma para que los pesos den 1; se consigue de otra forma: los "
            "anteriores conservan su p, y el último pesa lo que falta",
        ),
        Misconception(
            "weights_after_halting",
            _halting_with(weights=lambda p, n, left, reached: _put_at(p, n, left)),
            "los pasos posteriores a la parada siguen pesando: pesan 0",
        ),
        Misconception(
            "geometric",
            _halting_geometric,
            "tratas p como la probabilidad de parar si se llegó hasta aquí, y multiplicas por "
            "∏(1 − p): así lo hace PonderNet; aquí las p se suman",
        ),
        Misconception(
            "n_and_r_exchanged",
            _reordered((0, 2, 1)),
            "devuelves R antes que N: el orden pedido es pesos, N, R",
        ),
    ),
)


# 3 · Encuentra el error: la parada olvida el resto


@combinable
def _mixture_with(stops=_reaches, *, forced=True, weigh=None, mix=None):
    """La mezcla de los estados con una pieza cambiada, en todas las posiciones a la vez."""

    def implementation(states, p, epsilon):
        total, output = torch.zeros_like(p[0]), torch.zeros_like(states[0])
        active = torch.ones_like(p[0], dtype=torch.bool)
        for n, (state, p_n) in enumerate(zip(states, p, strict=True), 1):
            last = stops(total, p_n, 1 - epsilon) | (forced and n == len(p))
            weight = (weigh or _by_graves)(last, total, p_n, active)[:, None]
            output = output + weight * state if mix is None else mix(output, weight, state)
            total = total + p_n * active
            active = active & ~last
        return output

    return implementation


def _by_graves(last, total, p, active):
    return torch.where(last, 1 - total, p) * active


_mixture = _mixture_with()


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


def _mixture_normalised(states, p, epsilon):
    weights = _mixture_with(weigh=lambda last, total, p_n, active: p_n * active)
    return weights(states, p, epsilon) / weights(torch.ones_like(states), p, epsilon)


def _mixture_rest_at_the_limit(states, p, epsilon):
    faulty = _mixture_with(weigh=lambda last, total, p_n, active: p_n * active)
    cut_off = (p.cumsum(0)[:-1] < 1 - epsilon).all(0)
    rest = torch.where(cut_off, 1 - p.sum(0), 0.0)
    return faulty(states, p, epsilon) + rest[:, None] * states[-1]


def _mixture_last_state(states, p, epsilon):
    return _mixture_with(mix=lambda output, u, s: torch.where(u != 0, s, output))(
        states, p, epsilon
    )


def _mixture_rest_to_the_last(states, p, epsilon):
    """Lo que falta se da al último estado de la lista, no al de la parada de cada una."""
    faulty = _mixture_with(weigh=lambda last, total, p_n, active: p_n * active)
    rest = 1 - faulty(torch.ones_like(states), p, epsilon)
    return faulty(states, p, epsilon) + rest * states[-1]


def _mixture_stops_together(states, p, epsilon):
    def anyone(total, p_n, threshold):
        return (_reaches(total, p_n, threshold) & (total < threshold)).any().expand_as(p_n)

    return _mixture_with(anyone)(states, p, epsilon)


def _mixture_to_the_threshold(states, p, epsilon):
    def weigh(last, total, p_n, active):
        return torch.where(last, 1 - epsilon - total, p_n) * active

    return _mixture_with(weigh=weigh)(states, p, epsilon)


REMAINDER_BUG = Exercise(
    name="universal_transformer.remainder_bug",
    points=1,
    reference=_mixture,
    cases=_mixture_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "unchanged",
            _mixture_with(weigh=lambda last, total, p, active: p * active),
            "el error sigue ahí: suma los pesos de una posición. El paso en que para debe pesar lo "
            "que falta para 1, y tú le das su p",
        ),
        Misconception(
            "only_at_the_limit",
            _mixture_with(lambda total, p, threshold: torch.zeros_like(p, dtype=torch.bool)),
            "nadie para hasta el último paso de todos, y lo que falta puede salir negativo: cada "
            "posición para, y recibe su resto, en cuanto llega al umbral",
        ),
        Misconception(
            "remainder_at_the_limit_only",
            _mixture_rest_at_the_limit,
            "quien agota los pasos recibe su resto; quien llega al umbral antes, todavía no",
        ),
        Misconception(
            "not_at_the_limit",
            _mixture_with(forced=False),
            "quien llega al umbral ya recibe su resto; falta quien se queda sin pasos antes de "
            "llegar: el último paso posible también es de parada",
        ),
        Misconception(
            "remainder_after",
            _mixture_with(
                weigh=lambda last, total, p, active: torch.where(last, 1 - total - p, p) * active
            ),
            "calculas lo que falta después de contar la p de ese paso, y el peso sale casi cero o "
            "negativo: réstale a 1 solo lo reunido antes",
        ),
        Misconception(
            "remainder_added",
            _mixture_with(
                weigh=lambda last, total, p, active: torch.where(last, 1 - total + p, p) * active
            ),
            "el último paso recibe su p y además el resto: el resto va en lugar de p",
        ),
        Misconception(
            "always_the_rest",
            _mixture_with(weigh=lambda last, total, p, active: (1 - total) * active),
            "das a todos los pasos lo que falta para 1; solo le toca al de la parada: los "
            "anteriores pesan su p",
        ),
        Misconception(
            "still_active",
            _mixture_with(
                weigh=lambda last, total, p, active: torch.where(last, 1 - total, p * active)
            ),
            "las posiciones que ya pararon siguen recibiendo peso: el resto se da una sola vez",
        ),
        Misconception(
            "normalised",
            _mixture_normalised,
            "divides por la suma de los pesos: ya suman 1, pero no son los de Graves, que deja a "
            "los pasos anteriores con su p y da al último lo que falta",
        ),
        Misconception(
            "clipped",
            _mixture_with(
                weigh=lambda last, total, p, active: torch.minimum(p, 1 - total) * active
            ),
            "recortas p para que la suma no pase de 1, y así quien se pasa queda bien; quien para "
            "sin llegar a 1 se queda corto: el resto también puede ser mayor que p",
        ),
        Misconception(
            "rest_to_the_last_state",
            _mixture_rest_to_the_last,
            "das lo que falta al último estado de la lista; le toca al estado del paso en que cada "
            "posición para",
        ),
        Misconception(
            "stops_together",
            _mixture_stops_together,
            "en cuanto una posición llega al umbral, das el resto a todas: cada una para en su "
            "paso. Elige con torch.where, y no con un if sobre .any()",
        ),
        Misconception(
            "one_minus_p",
            _mixture_with(
                weigh=lambda last, total, p, active: torch.where(last, 1 - p, p) * active
            ),
            "al paso de la parada le das 1 − p; el resto es 1 menos lo reunido en los pasos "
            "anteriores",
        ),
        Misconception(
            "rest_detached",
            _mixture_with(
                weigh=lambda last, total, p, active: (
                    torch.where(last, (1 - total).detach(), p) * active
                )
            ),
            "los valores son correctos, pero cortas el gradiente del resto: depende de las p "
            "anteriores",
        ),
        Misconception(
            "rest_to_the_threshold",
            _mixture_to_the_threshold,
            "el resto es lo que falta para 1, no para 1 − ε: el umbral solo decide cuándo se para",
        ),
        Misconception(
            "weights_detached",
            lambda states, p, epsilon: _mixture(states, p.detach(), epsilon),
            "los valores son correctos, pero el gradiente no pasa por las p (¿.item(), .detach()?):"
            " la unidad de parada no aprendería",
        ),
        Misconception(
            "interpolation",
            _mixture_with(mix=lambda output, u, s: u * s + (1 - u) * output),
            "los pesos son los correctos, pero mezclas cada estado con lo anterior, u·s + (1 − u)·"
            "previo, y los primeros se van borrando: se suman, Σ u·s",
        ),
        Misconception(
            "last_state",
            _mixture_last_state,
            "te quedas con el estado del paso en que cada una para; la salida es la media "
            "ponderada de todos los que tuvo",
        ),
        Misconception(
            "strict",
            _mixture_with(lambda total, p, threshold: total + p > threshold),
            "el resto está, pero comparas con >: quien reúne justo 1 − ε también para",
        ),
        Misconception(
            "threshold_one",
            _mixture_with(lambda total, p, threshold: total + p >= 1),
            "el resto está, pero das el paso de la parada por bueno solo si se reúne 1; basta con "
            "1 − ε",
        ),
    ),
)


# 4 · El bucle entero


def _sum_weighted(output, weight, state, old):
    return output + weight * state


def _new_if_active(new, old, active):
    return torch.where(active[..., None], new, old)


@combinable
def _loop_with(
    stops=_reaches,
    *,
    forced=True,
    weigh=_by_graves,
    keep=_new_if_active,
    mix=_sum_weighted,
    asks_after=False,
    together=None,
    remainder=None,
):
    """El tiempo de cómputo adaptativo con una pieza cambiada."""

    def implementation(x, block, halting, max_steps, epsilon):
        state, output = x, torch.zeros_like(x)
        total, left = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
        steps, active = torch.zeros_like(total).long(), torch.ones_like(total, dtype=torch.bool)
        for n in range(1, max_steps + 1):
            new = block(state)
            p = halting(new if asks_after else state)
            reached = stops(total, p, 1 - epsilon)
            reached = reached if together is None else together(reached)
            last = reached | (forced and n == max_steps)
            weight = weigh(last, total, p, active)[..., None]
            old, state = state, keep(new, state, active)
            output = mix(output, weight, state, old)
            steps = steps + active
            rest = 1 - total if remainder is None else remainder(total, p)
            left = torch.where(last & active, rest, left)
            total, active = total + p * active, active & ~last
        return output, steps, left

    return implementation


_adaptive = _loop_with()


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
        draw(1, 3, 2, 0.02, 0.08, 3, 0.1),  # dos pasos reúnen más de 1, y menos de 1 + ε
        draw(1, 3, 2, 0.02, -0.3, 3, 0.25),  # con dos pasos ya basta, y falta para 1
    ]


def _in_two_steps(x, W, M, w, b, max_steps, epsilon):
    return max_steps == 2 and bool(w.any())  # con w = 0 se reúne justo 1 − ε


def _adaptive_result(change):
    """Lo mismo, con otro resultado final."""
    return lambda *inputs: change(*_adaptive(*inputs))


def _adaptive_asks_detached(x, block, halting, max_steps, epsilon):
    return _adaptive(x, block, lambda state: halting(state.detach()), max_steps, epsilon)


def _adaptive_only_the_active(x, block, halting, max_steps, epsilon):
    """Las que pararon no llegan al bloque, y las demás dejan de verlas."""
    state, output = x, torch.zeros_like(x)
    total, left = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
    steps, active = torch.zeros_like(total).long(), torch.ones_like(total, dtype=torch.bool)
    for n in range(1, max_steps + 1):
        p = halting(state)
        last = active & (_reaches(total, p, 1 - epsilon) | (n == max_steps))
        new = state.clone()
        new[active] = block(state[active])
        state, steps = new, steps + active
        output = output + _by_graves(last, total, p, active)[..., None] * state
        left = torch.where(last, 1 - total, left)
        total, active = total + p * active, active & ~last
    return output, steps, left


def _adaptive_always_x(x, block, halting, max_steps, epsilon):
    return _adaptive(x, lambda state: block(x), halting, max_steps, epsilon)


def _adaptive_last_state(x, block, halting, max_steps, epsilon):
    keep_last = _loop_with(
        mix=lambda output, weight, state, old: torch.where(weight != 0, state, output)
    )
    return keep_last(x, block, halting, max_steps, epsilon)


def _adaptive_mixture_back(x, block, halting, max_steps, epsilon):
    """La mezcla acumulada vuelve a entrar en el bloque."""
    state, output = x, torch.zeros_like(x)
    total, left = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
    steps, active = torch.zeros_like(total).long(), torch.ones_like(total, dtype=torch.bool)
    for n in range(1, max_steps + 1):
        p = halting(state)
        last = _reaches(total, p, 1 - epsilon) | (n == max_steps)
        output = output + _by_graves(last, total, p, active)[..., None] * block(state)
        state, steps = output, steps + active
        left = torch.where(last & active, 1 - total, left)
        total, active = total + p * active, active & ~last
    return output, steps, left


def _adaptive_detached(x, block, halting, max_steps, epsilon):
    return _adaptive(x, block, lambda state: halting(state).detach(), max_steps, epsilon)


def _detached_rest(last, total, p, active):
    return torch.where(last, (1 - total).detach(), p) * active


def _adaptive_asks_the_input(x, block, halting, max_steps, epsilon):
    return _adaptive(x, block, lambda state: halting(x), max_steps, epsilon)


def _adaptive_steps(extra):
    def implementation(x, block, halting, max_steps, epsilon):
        return _adaptive(x, block, halting, max_steps + extra, epsilon)

    return implementation


def _adaptive_early(weighs_the_new):
    """Marca las que paran antes de copiar: su último paso no llega a su estado."""

    def implementation(x, block, halting, max_steps, epsilon):
        state, output = x, torch.zeros_like(x)
        total, left = torch.zeros_like(x[..., 0]), torch.zeros_like(x[..., 0])
        steps, active = torch.zeros_like(total).long(), torch.ones_like(total, dtype=torch.bool)
        for n in range(1, max_steps + 1):
            p, new = halting(state), block(state)
            last = active & (_reaches(total, p, 1 - epsilon) | (n == max_steps))
            weight = _by_graves(last, total, p, active)[..., None]
            steps, left = steps + active, torch.where(last, 1 - total, left)
            total, active = total + p * active, active & ~last
            state = _new_if_active(new, state, active)
            output = output + weight * (new if weighs_the_new else state)
        return output, steps, left

    return implementation


def _adaptive_in_place(x, block, halting, max_steps, epsilon):
    def keep(new, old, active):
        old[active] = new[active]
        return old

    return _loop_with(keep=keep)(x.clone(), block, halting, max_steps, epsilon)


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
            _loop_with(keep=lambda new, old, active: new),
            "quien ya paró sigue transformándose, y sus vecinas lo notan, porque el bloque mezcla "
            "posiciones: el estado de quien paró se copia tal cual",
        ),
        Misconception(
            "halted_to_zero",
            _loop_with(keep=lambda new, old, active: new * active[..., None]),
            "el estado de quien ya paró se vuelve cero, y sus vecinas lo notan: se conserva",
        ),
        Misconception(
            "last_step_lost",
            _adaptive_early(weighs_the_new=False),
            "a quien para en este paso ya no le aplicas el bloque: primero se transforma y se "
            "suma, y después deja de estar activa",
        ),
        Misconception(
            "last_state_not_kept",
            _adaptive_early(weighs_the_new=True),
            "la que para se queda con el estado de antes de su último paso, y sus vecinas miran "
            "ese: se copia el último, ya transformado",
        ),
        Misconception(
            "only_the_active",
            _adaptive_only_the_active,
            "al bloque le das solo las activas, juntas las de todas las frases: dejan de ver a las "
            "que pararon y ven a las de otras frases. Dale el tensor entero y elige después",
        ),
        Misconception(
            "transforms_the_input",
            _adaptive_always_x,
            "transformas siempre x: en cada paso entra en el bloque lo que salió del anterior",
        ),
        Misconception(
            "asks_the_input",
            _adaptive_asks_the_input,
            "preguntas siempre con x, y así p no cambia nunca: en cada paso se pregunta con el "
            "estado de ese momento",
        ),
        Misconception(
            "one_step_more",
            _adaptive_steps(1),
            "das un paso de más: max_steps cuenta todos, y en el último ya paran todas",
        ),
        Misconception(
            "one_step_less",
            _adaptive_steps(-1),
            "paras a todas un paso antes de max_steps: ¿empieza tu cuenta en 0 o en 1?",
        ),
        Misconception(
            "asks_after",
            _loop_with(asks_after=True),
            "preguntas si parar mirando el estado que ya salió del bloque; p sale del estado que "
            "entra",
        ),
        Misconception(
            "weighs_the_old_state",
            _loop_with(mix=lambda output, weight, state, old: output + weight * old),
            "pesas el estado que entró en el bloque; en la mezcla va el que salió",
        ),
        Misconception(
            "interpolation",
            _loop_with(mix=lambda output, w, state, old: w * state + (1 - w) * output),
            "mezclas cada estado con lo acumulado, u·s + (1 − u)·previo, como una implementación "
            "muy copiada; en la regla de Graves se suman, Σ u·s",
        ),
        Misconception(
            "last_state",
            _adaptive_last_state,
            "devuelves el último estado de cada posición; la salida es la media ponderada de "
            "todos los que tuvo",
        ),
        Misconception(
            "mixture_back",
            _adaptive_mixture_back,
            "al bloque le devuelves la mezcla acumulada; en cada paso entra el estado del "
            "anterior, y la mezcla se lleva aparte",
        ),
        Misconception(
            "last_weighs_nothing",
            _loop_with(weigh=lambda last, total, p, active: torch.where(last, 0.0, p * active)),
            "el paso de la parada no pesa nada en tu mezcla: es el que pesa el resto",
        ),
        Misconception(
            "remainder_forgotten",
            _loop_with(weigh=lambda last, total, p, active: p * active),
            "en la mezcla olvidas el resto: el paso de la parada pesa 1 menos lo reunido antes, y "
            "no su p",
        ),
        Misconception(
            "cut_off",
            _loop_with(forced=False),
            "quien llega a max_steps sin parar se queda sin resto, y sus pesos suman menos de 1: "
            "en el último paso paran todas",
        ),
        Misconception(
            "remainder_after",
            _loop_with(
                weigh=lambda last, total, p, active: torch.where(last, 1 - total - p, p) * active,
                remainder=lambda total, p: 1 - total - p,
            ),
            "calculas el resto después de sumar la p del paso de la parada: es lo que faltaba "
            "antes",
        ),
        Misconception(
            "still_weighs",
            _loop_with(
                weigh=lambda last, total, p, active: torch.where(last & active, 1 - total, p)
            ),
            "quien ya paró sigue sumando su estado a la mezcla: su peso es 0 en los pasos que le "
            "siguen",
        ),
        Misconception(
            "each_alone",
            _loop_with(lambda total, p, threshold: p >= threshold),
            "comparas con el umbral solo la p de cada paso; se compara lo reunido hasta ese paso",
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
            _loop_with(lambda total, p, threshold: total + p > threshold),
            "comparas con >, y la regla es ≥: quien reúne justo 1 − ε ya para",
        ),
        Misconception(
            "threshold_one",
            _loop_with(lambda total, p, threshold: total + p >= 1),
            "esperas a reunir 1 o más; se para en 1 − ε",
        ),
        Misconception(
            "epsilon_written_by_hand",
            lambda x, block, halting, max_steps, epsilon: _adaptive(
                x, block, halting, max_steps, 0.01
            ),
            "escribiste un valor fijo para el umbral: ε llega en epsilon",
        ),
        Misconception(
            "one_late",
            _loop_with(lambda total, p, threshold: total >= threshold),
            "paras un paso tarde: comparas lo reunido sin contar la p de este paso",
        ),
        Misconception(
            "counts_from_zero",
            _adaptive_result(lambda output, steps, left: (output, steps - 1, left)),
            "la mezcla y los restos son correctos, pero N cuenta un paso de menos: el de la parada "
            "también cuenta",
        ),
        Misconception(
            "n_and_r_exchanged",
            _adaptive_result(lambda output, steps, left: (output, left, steps)),
            "devuelves R antes que N: el orden pedido es salida, N, R",
        ),
        Misconception(
            "left_over",
            _loop_with(remainder=lambda total, p: 1 - total - p),
            "la mezcla es correcta, pero el resto que devuelves descuenta también la p del paso de "
            "la parada",
        ),
        Misconception(
            "left_over_nothing",
            _loop_with(remainder=lambda total, p: torch.zeros_like(p)),
            "la mezcla es correcta, pero devuelves los restos en cero: R es lo que faltaba antes "
            "del paso de la parada, y si le restas también lo que pesó ese paso, no queda nada",
        ),
        Misconception(
            "in_place",
            _adaptive_in_place,
            "los valores son correctos y el gradiente no se puede calcular: escribes sobre un "
            "tensor que todavía hace falta, un estado o una máscara (state[…] = …, +=, &=). Crea "
            "uno nuevo en cada paso, con torch.where o active = active & …",
            raises=RuntimeError,
        ),
        Misconception(
            "weights_detached",
            _adaptive_detached,
            "los valores son correctos, pero el gradiente no pasa por las p: ¿usas .item(), "
            ".detach() o no_grad? Sin él, la unidad de parada no aprende",
        ),
        Misconception(
            "asks_detached",
            _adaptive_asks_detached,
            "los valores son correctos, pero separas del grafo el estado antes de preguntar: p "
            "depende de él, y el bloque también aprende por ahí",
        ),
        Misconception(
            "rest_detached",
            _loop_with(weigh=_detached_rest, remainder=lambda total, p: (1 - total).detach()),
            "los valores son correctos, pero cortas el gradiente del resto: depende de las p "
            "anteriores, y por ahí también se aprende a parar",
        ),
    ),
)


# 5 · Encuentra el error: un costo que no enseña


@combinable
def _ponder_with(
    cost=lambda n, before, p: n + 1 - before,
    reduce=lambda cost, real: cost[real].mean(),
    goes_on=lambda gathered, threshold: gathered < threshold,
):
    """El costo medio con una pieza cambiada; `before` es lo reunido antes de la parada."""

    def implementation(p, real, epsilon):
        going = goes_on(p.cumsum(0)[:-1], 1 - epsilon)
        before, last = (p[:-1] * going).sum(0), going.sum(0)
        return reduce(cost(1 + last, before, p.gather(0, last[None])[0]), real)

    return implementation


_ponder_loss = _ponder_with()


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


def _ponder_unchanged(p, real, epsilon):
    return torch.tensor(_ponder_loss(p, real, epsilon).item())


def _ponder_new_leaf(p, real, epsilon):
    return torch.tensor(_ponder_loss(p, real, epsilon).item(), requires_grad=True)


def _ponder_truncated(p, real, epsilon):
    """Cada suma parcial se corta: solo la última p antes de la parada recibe gradiente."""
    going = p.cumsum(0)[:-1] < 1 - epsilon
    newest = going & ~torch.cat((going[1:], torch.zeros_like(going[:1])))
    reached = (p[:-1] * newest).sum(0)
    before = (p[:-1] * going).sum(0).detach() + reached - reached.detach()
    return (going.sum(0) + 2 - before)[real].mean()


def _ponder_each_alone(p, real, epsilon):
    going = (p[:-1] < 1 - epsilon).cumprod(0)
    return (2 + ((1 - p[:-1]) * going).sum(0))[real].mean()


def _ponder_own_p(n, before, p):
    """Lo que falta se escribe con la p de la parada, que sí está unida al grafo."""
    return n + 1 - (before + p).detach() + p


def _ponder_only_real_sum(cost, real):
    return (cost * real).sum()


def _ponder_past_the_end(p, real, epsilon):
    """Sin el último paso forzado, quien no llega parece dar uno más de los que hay."""
    going = p.cumsum(0) < 1 - epsilon
    return (2 + ((1 - p) * going).sum(0))[real].mean()


def _ponder_rest_after_the_end(p, real, epsilon):
    going = p.cumsum(0) < 1 - epsilon
    return (1 + going[:-1].sum(0) + 1 - (p * going).sum(0))[real].mean()


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
            _ponder_unchanged,
            "el número es correcto y sigue sin enseñar nada: no está unido a p, y su gradiente no "
            "existe. Busca dónde se sale del grafo: .item(), float(), torch.tensor(…), .detach()",
        ),
        Misconception(
            "new_leaf",
            _ponder_new_leaf,
            "requires_grad=True calla el error, pero en un tensor nuevo, que no sabe de dónde "
            "salió: el gradiente respecto de p es cero. No copies el número: suma tensores",
        ),
        Misconception(
            "truncated",
            _ponder_truncated,
            "el gradiente llega solo a una p por posición, la anterior a la parada: cortas el "
            "grafo en cada suma. Todas las que van antes de la parada reducen el resto",
        ),
        Misconception(
            "own_p",
            _ponder_with(_ponder_own_p),
            "el gradiente llega a la p del paso de la parada, con el signo contrario, y a ninguna "
            "otra: el resto depende de las anteriores a ese paso",
        ),
        Misconception(
            "only_steps",
            _ponder_with(lambda n, before, p: n.float()),
            "cuentas solo los pasos, N: es un número entero y su derivada es cero. Lo único que "
            "enseña es R, y falta",
        ),
        Misconception(
            "only_remainder",
            _ponder_with(lambda n, before, p: 1 - before),
            "está el resto y faltan los pasos: el costo es N + R",
        ),
        Misconception(
            "remainder_after",
            _ponder_with(lambda n, before, p: n + 1 - before - p),
            "al resto le restas también la p del paso de la parada: es lo que faltaba antes",
        ),
        Misconception(
            "adds_the_gathered",
            _ponder_with(lambda n, before, p: n + before),
            "sumas lo reunido antes de la parada; R es lo que falta para llegar a 1",
        ),
        Misconception(
            "counts_from_zero",
            _ponder_with(lambda n, before, p: n - before),
            "N cuenta un paso de menos: el de la parada también cuesta",
        ),
        Misconception(
            "past_the_end",
            _ponder_past_the_end,
            "a quien se queda sin pasos le cuentas uno más de los que hay, y su resto sale de "
            "menos: en el último paso posible se para siempre",
        ),
        Misconception(
            "rest_after_the_end",
            _ponder_rest_after_the_end,
            "a quien se queda sin pasos le restas también la última p: su resto, como el de "
            "todos, es lo que faltaba antes del paso en que para",
        ),
        Misconception(
            "each_alone",
            _ponder_each_alone,
            "comparas con el umbral la p de cada paso; la que se compara es la suma de todas hasta "
            "ese paso",
        ),
        Misconception(
            "counts_padding",
            _ponder_with(reduce=lambda cost, real: cost.mean()),
            "promedias también el relleno: la pérdida cambiaría con lo largas que sean las demás "
            "frases del lote",
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
            _ponder_with(reduce=_ponder_only_real_sum),
            "sumas los costos en lugar de promediarlos: la pérdida crecería con el tamaño del lote",
        ),
        Misconception(
            "mean_of_means",
            _ponder_with(reduce=lambda cost, real: ((cost * real).sum(-1) / real.sum(-1)).mean()),
            "promedias cada frase y después las frases, y una posición de una frase corta pesa "
            "más: se promedia una vez, sobre todas las posiciones reales",
        ),
        Misconception(
            "per_position",
            _ponder_with(reduce=lambda cost, real: cost[real]),
            "devuelves el costo de cada posición real; falta promediarlos en un solo número",
        ),
        Misconception(
            "strict",
            _ponder_with(goes_on=lambda gathered, threshold: gathered <= threshold),
            "quien reúne justo 1 − ε ya para, y tú le das un paso más: la regla es ≥",
        ),
    ),
)


# 6 · Encuentra el error: ¿quién decide cuándo parar?


def _mean_so_far(p, voters):
    gathered, votes = (p * voters).cumsum(1), voters.cumsum(1)
    return torch.where(votes > 0, gathered / votes.clamp(min=1), 0.0)


def _shared(p, real):
    return torch.where(real, _mean_so_far(p, real), 0.0)


def _shared_cases(rng):
    real = torch.tensor([[0, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0]]).bool()
    short = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]]).bool()
    return [
        (_between(rng, 0.05, 0.95, *real.shape), real),
        (_between(rng, 0.05, 0.95, *short.shape), short),
    ]


def _where_real(value):
    return lambda p, real: torch.where(real, value(p, real), 0.0)


def _whole_mean(p, real):
    return p.mean(dim=1, keepdim=True).expand_as(p)


def _real_mean(p, real):
    return ((p * real).sum(1, keepdim=True) / real.sum(1, keepdim=True)).expand_as(p)


def _mean_of_the_past(p, real):
    """La media de las anteriores, sin la propia; la primera no tiene ninguna."""
    own = p * real
    return torch.where(real, (own.cumsum(1) - own) / (real.cumsum(1) - 1).clamp(min=1), 0.0)


def _by_place(p, real):
    return (p * real).cumsum(1) / torch.arange(1, p.shape[1] + 1)


def _undefined_mean(p, real):
    """0/0 en el relleno de delante."""
    return (p * real).cumsum(1) / real.cumsum(1)


SHARED_BUG = Exercise(
    name="universal_transformer.shared_halting_bug",
    points=1,
    reference=_shared,
    cases=_shared_cases,
    misconceptions=(
        Misconception(
            "unchanged",
            _whole_mean,
            "todo sigue igual: votan el relleno y las posiciones que todavía no se han escrito",
        ),
        Misconception(
            "sees_the_future",
            _where_real(_real_mean),
            "el relleno ya no vota, y el futuro sí: la media es de toda la frase, y la primera "
            "palabra decide con la p de la última",
        ),
        Misconception(
            "sees_the_future_everywhere",
            _real_mean,
            "el relleno ya no vota, pero recibe la media de todos y el futuro sigue votando: cada "
            "posición decide con las reales que van hasta ella",
        ),
        Misconception(
            "global_and_zeroed",
            _where_real(_whole_mean),
            "pones 0 en el relleno, pero en la media siguen votando él y el futuro",
        ),
        Misconception(
            "padding_votes",
            _where_real(lambda p, real: _mean_so_far(p, torch.ones_like(real))),
            "el futuro ya no vota, y el relleno sí: el que va delante de la frase entra en la "
            "media",
        ),
        Misconception(
            "padding_votes_everywhere",
            lambda p, real: _mean_so_far(p, torch.ones_like(real)),
            "el futuro ya no vota; el relleno sí, y además conserva una probabilidad: en él va 0",
        ),
        Misconception(
            "padding_in_the_sum",
            _where_real(lambda p, real: p.cumsum(1) / real.cumsum(1).clamp(min=1)),
            "divides por los votos correctos, pero en la suma siguen entrando las p del relleno "
            "que va delante",
        ),
        Misconception(
            "undefined_before_the_sentence",
            _undefined_mean,
            "delante de la frase no ha votado nadie, y 0/0 es NaN; y en el relleno de detrás queda "
            "la media de lo anterior. En los dos va 0",
        ),
        Misconception(
            "nan_times_zero",
            lambda p, real: _undefined_mean(p, real) * real,
            "delante de la frase 0/0 es NaN, y NaN por 0 sigue siendo NaN: no lo borres "
            "multiplicando, elige con torch.where",
        ),
        Misconception(
            "one_in_padding",
            lambda p, real: torch.where(real, _mean_so_far(p, real), 1.0),
            "en el relleno pones 1, para que pare enseguida; se pide 0: no se calcula ni un paso",
        ),
        Misconception(
            "own_p_in_padding",
            lambda p, real: torch.where(real, _mean_so_far(p, real), p),
            "las posiciones reales están bien; el relleno conserva su p, y va 0",
        ),
        Misconception(
            "mask_inverted",
            lambda p, real: _shared(p, ~real),
            "la máscara está al revés: votan solo los lugares de relleno. True es lo real",
        ),
        Misconception(
            "mean_of_the_batch",
            lambda p, real: p[real].mean().expand_as(p),
            "p[real] junta las posiciones de todas las frases del lote: cada frase decide sola, y "
            "cada posición, con las que van hasta ella",
        ),
        Misconception(
            "divides_by_place",
            _where_real(_by_place),
            "sumas solo las reales y divides por el lugar en la fila: el relleno de delante no "
            "suma, pero cuenta en el divisor",
        ),
        Misconception(
            "not_zeroed",
            _mean_so_far,
            "las posiciones reales están bien; en el relleno queda la media de lo anterior, y va "
            "0: nadie lo calcula",
        ),
        Misconception(
            "future_only",
            _where_real(lambda p, real: _mean_so_far(p.flip(1), real.flip(1)).flip(1)),
            "la media va al revés: tomas desde cada posición hasta el final, que es justo lo que "
            "no se conoce",
        ),
        Misconception(
            "without_itself",
            _mean_of_the_past,
            "cada posición se deja fuera a sí misma: la media llega hasta ella, con ella",
        ),
        Misconception(
            "sums",
            _where_real(lambda p, real: (p * real).cumsum(1)),
            "sumas sin dividir: para que sea una media, entre cuántas votan",
        ),
        Misconception(
            "divides_by_the_sentence",
            _where_real(lambda p, real: (p * real).cumsum(1) / real.sum(1, keepdim=True)),
            "divides por el largo de la frase entera, que un decodificador todavía no conoce: "
            "entre cuántas van hasta esa posición",
        ),
        Misconception(
            "not_shared",
            _where_real(lambda p, real: p),
            "cada posición decide sola: es lo que hace el curso, pero aquí se pide la decisión "
            "compartida, la media de las reales hasta cada una",
        ),
        Misconception(
            "over_the_batch",
            _where_real(lambda p, real: (p * real).cumsum(0) / real.cumsum(0).clamp(min=1)),
            "acumulas por el eje del lote: cada fila es otra frase, y no vota en esta",
        ),
    ),
)


# 7 · Calcular solo las activas


def _update(state, active, block):
    new = [
        torch.where(who[:, None], _scattered(row, who, block), row)
        for row, who in zip(state, active, strict=True)
    ]
    return torch.stack(new)


def _scattered(row, who, block):
    return torch.zeros_like(row).index_put((who.nonzero()[:, 0],), block(row[who], row))


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
        draw([[0, 1, 1, 0]], 4),  # una sola frase
    ]


def _row_by_row(compute, base=lambda row: row):
    """Reemplaza en cada fila las activas por lo que diga `compute(fila, activas, bloque)`."""

    def implementation(state, active, block):
        rows = []
        for row, who in zip(state, active, strict=True):
            new = base(row).clone()
            new[who] = compute(row, who, block)
            rows.append(new)
        return torch.stack(rows)

    return implementation


def _in_turns(state, active, block):
    """Cada posición ve ya el estado nuevo de las anteriores."""
    new = state.clone()
    for row, i in active.nonzero().tolist():
        new[row, i] = block(new[row, i : i + 1], new[row].clone())[0]
    return new


def _in_place(state, active, block):
    for row, who in enumerate(active):
        state[row, who] = block(state[row, who], state[row])
    return state


def _gathered(state, active, block):
    return torch.cat([block(x[who], x) for x, who in zip(state, active, strict=True)])


def _packed(state, active, block):
    new = state.clone()
    for row, who in enumerate(active):
        new[row, : int(who.sum())] = block(state[row, who], state[row])
    return new


def _one_sentence(context):
    def implementation(state, active, block):
        new = state.clone()
        new[active] = block(state[active], context(state, active))
        return new

    return implementation


def _computes_all(state, active, block):
    return torch.where(active[..., None], block(state, state), state)


def _computes_and_discards(state, active, block):
    return torch.where(active[..., None], state, block(state, state))


def _whole_batch_context(state, active, block):
    new = state.clone()
    new[active] = block(state[active], state)
    return new


def _context_overwritten(state, active, block):
    """El bloque mira la misma memoria en que después se escribe."""
    new = state.clone()
    for row, who in enumerate(active):
        new[row, who] = block(state[row, who], new[row])
    return new


def _without_gradient(state, active, block):
    with torch.no_grad():
        new = [block(x[who], x) for x, who in zip(state, active, strict=True)]
    return state.index_put(active.nonzero(as_tuple=True), torch.cat(new))


def _everyone_moves(state, active, block):
    return block(state, state)


def _whole_rows(state, active, block):
    new = state.clone()
    for row, who in enumerate(active):
        if who.any():
            new[row, who] = block(state[row], state[row])[who]
    return new


def _padded_gather(state, active, block):
    """Reúne en cada fila tantas como en la que más tiene; a las demás les sobran lugares."""
    most = int(active.sum(1).max())
    places = (
        (~active).long().argsort(dim=1, stable=True)[:, :most, None].expand(-1, -1, state.shape[-1])
    )
    new = state.scatter(1, places, block(state.gather(1, places), state))
    return torch.where(active[..., None], new, state)


def _arguments_exchanged(state, active, block):
    new = state.clone()
    for row, who in enumerate(active):
        new[row, who] = block(state[row], state[row, who])
    return new


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
            _computes_all,
            "el resultado es correcto y no ahorras nada: calculas todas las posiciones y descartas "
            "las que ya pararon. Pásale a block solo las activas",
        ),
        Misconception(
            "whole_rows",
            _whole_rows,
            "te saltas las frases en que ya pararon todas, pero en las demás calculas la fila "
            "entera: pásale a block solo sus posiciones activas",
        ),
        Misconception(
            "padded_gather",
            _padded_gather,
            "reúnes el mismo número de posiciones en todas las frases, y donde hay menos activas "
            "calculas de más: es lo que se hace en una GPU, pero aquí van solo las activas",
        ),
        Misconception(
            "mask_inverted_after_computing",
            _computes_and_discards,
            "calculas todas y, encima, conservas las activas y mueves las que pararon: es al revés",
        ),
        Misconception(
            "everyone_moves",
            _everyone_moves,
            "aplicas el bloque a todas y no miras active: quien paró conserva su estado, y no se "
            "calcula",
        ),
        Misconception(
            "halted_invisible",
            _row_by_row(lambda row, who, block: block(row[who], row[who])),
            "las que pararon desaparecieron del contexto: ya no preguntan, pero las activas las "
            "siguen mirando. El contexto es la fila entera",
        ),
        Misconception(
            "halted_zero_in_context",
            _row_by_row(lambda row, who, block: block(row[who], row * who[:, None])),
            "en el contexto, las que pararon valen cero; conservan su estado, y las activas las "
            "siguen mirando",
        ),
        Misconception(
            "adds",
            _row_by_row(lambda row, who, block: row[who] + block(row[who], row)),
            "sumas al estado lo que da block, que ya es el estado nuevo: se sustituye",
        ),
        Misconception(
            "whole_batch_context",
            _whole_batch_context,
            "con una sola frase funciona; con varias, las formas no concuerdan: como contexto das "
            "el lote entero, y cada frase mira solo su fila, state[row]",
            raises=RuntimeError,
        ),
        Misconception(
            "arguments_exchanged",
            _arguments_exchanged,
            "los argumentos de block están cambiados: primero quienes preguntan, las activas, y "
            "después a quienes miran, la fila entera",
            raises=RuntimeError,
        ),
        Misconception(
            "inverted",
            _row_by_row(lambda row, who, block: block(row[~who], row).mean(0)),
            "calculas las que pararon en lugar de las activas: en active, True sigue pensando",
        ),
        Misconception(
            "moves_the_halted",
            lambda state, active, block: _update(state, ~active, block),
            "mueves las que pararon y dejas quietas las activas: en active, True sigue pensando",
        ),
        Misconception(
            "one_long_sentence",
            _one_sentence(lambda state, active: state.flatten(0, 1)),
            "el contexto son todas las frases del lote pegadas: cada posición mira solo su frase",
        ),
        Misconception(
            "one_long_sentence_of_active",
            _one_sentence(lambda state, active: state[active]),
            "juntas las activas de todo el lote y se miran entre sí: cada posición mira su frase, "
            "y entera, también a las que pararon",
        ),
        Misconception(
            "in_turns",
            _in_turns,
            "actualizas una posición tras otra, y las últimas ven ya el estado nuevo de las "
            "primeras: todas miran los estados con que empezó el paso",
        ),
        Misconception(
            "in_place",
            _in_place,
            "el resultado es correcto, pero escribes sobre state, que es de quien llama: empieza "
            "por una copia",
        ),
        Misconception(
            "not_scattered",
            _gathered,
            "devuelves solo las activas, una detrás de otra: falta ponerlas en su lugar, entre los "
            "estados de las que pararon",
        ),
        Misconception(
            "packed",
            _packed,
            "pones los estados nuevos al principio de la fila: cada uno va en el lugar de su "
            "posición",
        ),
        Misconception(
            "halted_to_zero",
            _row_by_row(lambda row, who, block: block(row[who], row), base=torch.zeros_like),
            "las que pararon quedan en ceros: conservan su estado",
        ),
        Misconception(
            "context_overwritten",
            _context_overwritten,
            "los valores son correctos y el gradiente no se puede calcular: block mira el tensor "
            "en que después escribes. El contexto es la fila de state, que no cambia",
            raises=RuntimeError,
        ),
        Misconception(
            "without_gradient",
            _without_gradient,
            "los valores son correctos, pero lo que da block queda fuera del grafo (¿no_grad, "
            ".detach()?): así el bloque no aprende",
        ),
        Misconception(
            "halted_detached",
            _row_by_row(lambda row, who, block: block(row[who], row), base=torch.Tensor.detach),
            "los valores son correctos, pero la copia de las que pararon está separada del grafo: "
            "su gradiente se pierde. Usa .clone() sin .detach() ni .data",
        ),
    ),
)


# 8 · Leer una tabla de pasos


def _reading(name, place, value, hint):
    right = [108, 50, 46, 8]
    return Misconception(name, [*right[:place], value, *right[place + 1 :]], hint)


READ_STEPS = Exercise(
    name="universal_transformer.read_steps",
    points=1,
    reference=[108, 50, 46, 8],
    cases=no_inputs,
    misconceptions=(
        _reading(
            "all_eight_steps",
            0,
            144,
            "a): son los ocho pasos en todas las posiciones; el bucle acaba en cuanto no queda "
            "ninguna activa, y ninguna llegó a ocho",
        ),
        _reading(
            "no_padding",
            0,
            96,
            "a): dejas fuera el relleno, y una versión densa calcula la matriz entera, con él",
        ),
        _reading(
            "each_row_alone",
            0,
            78,
            "a): cada fila se detiene sola en tu cuenta; el lote avanza junto, hasta que para la "
            "última posición de todas",
        ),
        _reading(
            "dense_is_active",
            0,
            50,
            "a): sumas los pasos que cada una necesitaba; la versión densa recalcula también a "
            "quien ya paró",
        ),
        _reading(
            "dense_count_of_steps",
            0,
            6,
            "a): esas son las vueltas del bucle; en cada una se calculan todas las posiciones",
        ),
        _reading(
            "padding_counts_one",
            1,
            52,
            "b): cuentas el relleno como si diera un paso; no da ninguno",
        ),
        _reading(
            "positions",
            1,
            16,
            "b): esas son las posiciones reales; cada una se calcula tantas veces como pasos dio",
        ),
        _reading(
            "cap_drops",
            2,
            34,
            "c): dejas fuera a las que necesitaban más de cuatro; no desaparecen: se las detiene "
            "en el cuarto paso",
        ),
        _reading(
            "cap_ignored",
            2,
            50,
            "c): las que daban más de cuatro pasos se detienen ahora en el cuarto",
        ),
        _reading(
            "cap_for_all",
            2,
            64,
            "c): no todas dan cuatro pasos: quien paraba antes sigue parando antes",
        ),
        _reading(
            "cap_halves",
            2,
            25,
            "c): la mitad de pasos permitidos no es la mitad de cálculo: solo cambia para quien "
            "daba más de cuatro",
        ),
        _reading(
            "ratio_of_steps_used",
            3,
            6,
            "d): los parámetros no dependen de cuántos pasos se dieron; compara capas distintas "
            "con un solo bloque",
        ),
        _reading(
            "same_parameters",
            3,
            1,
            "d): el Universal Transformer usa el mismo bloque en todos los pasos; las ocho capas "
            "tienen cada una el suyo",
        ),
        _reading(
            "ratio_inverted",
            3,
            0.125,
            "d): está al revés: se pide cuántas veces más tiene la pila de ocho capas",
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
