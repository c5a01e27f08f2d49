"""Ejercicios del tema PaLM: sus cinco cambios, escribir con una caché y contar, con sus errores.

Las referencias que son una parte de una capa se escriben con PyTorch; una prueba las compara con la
capa entera de la biblioteca.
"""

import math

import torch
import torch.nn.functional as F

from course_lib.judging.exercise import (
    Exercise,
    Misconception,
    Part,
    combinable,
    direct_call,
    no_inputs,
)
from course_lib.primitives.attention import attention
from course_lib.primitives.masks import causal_mask
from course_lib.primitives.positions.rotations import rotary, rotary_order

TOLERANCE = 1e-4


def _randn(rng: torch.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=rng)


def _matrix(rng: torch.Generator, d_in: int, d_out: int, gain: float = 1.5) -> torch.Tensor:
    return _randn(rng, d_in, d_out, scale=gain / math.sqrt(d_in))


def _integer(rng: torch.Generator, low: int, high: int) -> int:
    """Sortea un entero entre los dos, incluidos."""
    return int(torch.randint(low, high + 1, (1,), generator=rng))


# 1 · La red con compuerta


def _swiglu(x, W_gate, W_up, W_down):
    return (F.silu(x @ W_gate) * (x @ W_up)) @ W_down


def _swiglu_cases(rng):
    cases = [
        (_randn(rng, *shape, d), *_gated(rng, d, d_ff))
        for shape, d, d_ff in (((2, 3), 4, 6), ((5,), 6, 4), ((), 3, 8), ((2, 4), 3, 5))
    ]
    # En el último la compuerta recibe números grandes: ahí una exponencial positiva se desborda.
    x, W_gate, W_up, W_down = cases.pop()
    return [*cases, (x, 1000 * W_gate, W_up / 1000, W_down)]


def _gated(rng, d, d_ff):
    return _matrix(rng, d, d_ff), _matrix(rng, d, d_ff), _matrix(rng, d_ff, d)


@combinable
def _gated_with(
    *,
    read=lambda x: (x, x),
    activation=F.silu,
    gate=lambda activate, z, up: activate(z) * up,
    down=lambda h, W_down: h @ W_down,
    after=lambda x, y: y,
):
    """La red por pasos: lo que leen las dos matrices, la activación, la compuerta y la salida."""

    def implementation(x, W_gate, W_up, W_down):
        for_gate, for_up = read(x)
        h = gate(activation, for_gate @ W_gate, for_up @ W_up)
        return after(x, down(h, W_down))

    return implementation


def _unchanged(z):
    return z


def _overflowing(z):
    return z * z.exp() / (1 + z.exp())


SWIGLU = Exercise(
    name="palm.swiglu",
    points=1,
    reference=_swiglu,
    cases=_swiglu_cases,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "swapped",
            _gated_with(gate=lambda activate, z, up: z * activate(up)),
            "W_gate y W_up están intercambiadas: Swish se aplica a lo que da W_gate, que es quien "
            "abre o cierra, y lo que da W_up pasa sin activación. (Algunas versiones publicadas "
            "las cambian, y leen mal los pesos de otras)",
        ),
        Misconception(
            "only_sigmoid",
            _gated_with(activation=torch.sigmoid),
            "la compuerta es solo una sigmoide, como en GLU: Swish multiplica además por su "
            "propia entrada",
        ),
        Misconception(
            "relu",
            _gated_with(activation=F.relu),
            "la compuerta usa ReLU, que corta en seco: Swish es otra función, suave",
        ),
        Misconception(
            "gelu",
            _gated_with(activation=F.gelu),
            "la compuerta usa GELU, como GEGLU: se parece a Swish, pero no es ella",
        ),
        Misconception(
            "gelu_tanh",
            _gated_with(activation=lambda z: F.gelu(z, approximate="tanh")),
            "la compuerta usa la GELU aproximada con una tangente: se parece a Swish, pero no es "
            "ella",
        ),
        Misconception(
            "scaled_sigmoid",
            _gated_with(activation=lambda z: z * torch.sigmoid(1.702 * z)),
            "la sigmoide lleva un factor 1.702, el de una aproximación de GELU: en Swish recibe z "
            "sin ningún factor",
        ),
        Misconception(
            "tanh",
            _gated_with(activation=torch.tanh),
            "la compuerta es una tangente hiperbólica: relee la definición de Swish",
        ),
        Misconception(
            "times_tanh",
            _gated_with(activation=lambda z: z * torch.tanh(z)),
            "multiplicas z por su tangente hiperbólica; en Swish se multiplica por la sigmoide",
        ),
        Misconception(
            "hard",
            _gated_with(activation=F.hardswish),
            "`hardswish` es Swish por tramos rectos, una aproximación para teléfonos: aquí la "
            "sigmoide es la de verdad",
        ),
        Misconception(
            "softmax",
            _gated_with(activation=lambda z: z * torch.softmax(z, -1)),
            "normalizas con un softmax, que hace competir a los números de un vector: la sigmoide "
            "mira cada uno por su cuenta",
        ),
        Misconception(
            "closes_when_it_should_open",
            _gated_with(activation=lambda z: z * torch.sigmoid(-z)),
            "la compuerta se cierra cuando debería abrirse: revisa el signo dentro de la sigmoide",
        ),
        Misconception(
            "both_activated",
            _gated_with(gate=lambda activate, z, up: activate(z) * activate(up)),
            "activas los dos productos: solo la compuerta lleva activación; el otro pasa como es",
        ),
        Misconception(
            "after_the_product",
            _gated_with(gate=lambda activate, z, up: activate(z * up)),
            "multiplicas primero y activas después: la compuerta se activa antes de multiplicar",
        ),
        Misconception(
            "summed",
            _gated_with(gate=lambda activate, z, up: activate(z) + up),
            "sumas las dos mitades: una compuerta multiplica, y así puede cerrar del todo",
        ),
        Misconception(
            "no_activation",
            _gated_with(activation=_unchanged),
            "falta la activación: sin ella no hay más que funciones lineales de x",
        ),
        Misconception(
            "no_gate",
            _gated_with(gate=lambda activate, z, up: activate(z)),
            "W_up no interviene, como en la red de dos matrices, y sin ella no hay nada que la "
            "compuerta deje pasar",
        ),
        Misconception(
            "gate_of_itself",
            _gated_with(gate=lambda activate, z, up: activate(z) * z),
            "la compuerta se multiplica a sí misma: W_up no interviene",
        ),
        Misconception(
            "activated_input",
            _gated_with(read=lambda x: (F.silu(x), F.silu(x)), activation=_unchanged),
            "activas x antes de multiplicarla por las matrices: Swish se aplica al producto x "
            "W_gate, y solo a él",
        ),
        Misconception(
            "activated_input_of_the_gate",
            _gated_with(read=lambda x: (F.silu(x), x), activation=_unchanged),
            "activas x y después multiplicas por W_gate: en la compuerta el producto va primero",
        ),
        Misconception(
            "activated_output",
            _gated_with(activation=_unchanged, after=lambda x, y: F.silu(y)),
            "activas la salida: Swish va dentro, en la compuerta, antes de W_down",
        ),
        Misconception(
            "no_way_down",
            _gated_with(down=lambda h, W_down: h),
            "falta volver al ancho de entrada: el último producto es con W_down",
        ),
        Misconception(
            "residual",
            _gated_with(after=lambda x, y: x + y),
            "sumas la entrada: la conexión residual es del bloque, no de la red",
        ),
        Misconception(
            "overflows",
            _gated_with(activation=_overflowing),
            "con números grandes da NaN, porque exp(z) se desborda y queda ∞/∞. Usa la sigmoide "
            "de torch, o la forma en que la exponencial lleva −z",
        ),
    ),
)


# 2 · Los giros


def _rotate(x, positions, base):
    return rotary(x, positions, base=base)


def _rotate_call(student, x, positions, base):
    return {f"base={base:g}": direct_call(student, x, positions, base)}


def _rotate_cases(rng):
    return [
        (_randn(rng, 5, 8), torch.arange(5), 10_000.0),
        (_randn(rng, 1, 6), torch.tensor([_integer(rng, 5, 12)]), 10_000.0),
        (_randn(rng, 2, 3, 4, 6), torch.tensor([2, 3, 7, 11]), 100.0),
        # Cada fila del lote tiene sus posiciones.
        (_randn(rng, 2, 3, 4, 4), torch.randint(1, 30, (2, 1, 4), generator=rng), 50.0),
        (_randn(rng, 3, 2), torch.arange(4, 7), 10_000.0),
    ]


@combinable
def _rotate_with(
    turn=lambda a, b, cos, sin: (a * cos - b * sin, b * cos + a * sin),
    *,
    places=lambda positions, t: positions,
    base_used=lambda base: base,
    frequencies=lambda base, i, d: base ** (-2 * i / d),
    angles=lambda positions, w: positions[..., None] * w,
    columns=lambda theta: (theta, theta),
    split=lambda x: x.chunk(2, -1),
    join=lambda a, b: torch.cat((a, b), -1),
):
    """El giro por pasos; `columns` da los ángulos de cada mitad, y `turn`, la pareja girada."""

    def implementation(x, positions, base):
        (a, b), d = split(x), x.shape[-1]
        w = frequencies(base_used(base), torch.arange(d // 2), d)
        theta = angles(places(positions, x.shape[-2]), w)
        first, second = (turn(a, b, each.cos(), each.sin()) for each in columns(theta))
        return join(first[0], second[1])

    return implementation


def _with_the_rotated_one(a, b, cos, sin):
    a = a * cos - b * sin
    return a, b * cos + a * sin


def _as_neighbours(a, b):
    return torch.stack((a, b), -1).flatten(-2)


def _half_of_the_columns(x, positions, base):
    rotated, same = x.chunk(2, -1)
    if rotated.shape[-1] % 2:
        return x
    return torch.cat((rotary(rotated, positions, base=base), same), -1)


def _written_in_place(x, positions, base):
    return x.copy_(rotary(x, positions, base=base))


ROTARY = Exercise(
    name="palm.rotary",
    answers=(
        "course_lib.primitives.positions.rotations.rotary",
        "course_lib.primitives.positions.rotations.rotate",
    ),
    points=2,
    reference=_rotate,
    cases=_rotate_cases,
    call=_rotate_call,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "neighbours",
            _rotate_with(split=lambda x: (x[..., ::2], x[..., 1::2]), join=_as_neighbours),
            "giras parejas de columnas vecinas, la 2i con la 2i + 1: es la otra disposición. Aquí "
            "la columna i va con la i + d/2",
        ),
        Misconception(
            "other_way",
            _rotate_with(lambda a, b, cos, sin: (a * cos + b * sin, b * cos - a * sin)),
            "giras hacia el otro lado: revisa los dos signos",
        ),
        Misconception(
            "no_minus",
            _rotate_with(lambda a, b, cos, sin: (a * cos + b * sin, b * cos + a * sin)),
            "falta un signo: así no es un giro, y la norma de la pareja cambia",
        ),
        Misconception(
            "two_minuses",
            _rotate_with(lambda a, b, cos, sin: (a * cos - b * sin, b * cos - a * sin)),
            "sobra un signo: así no es un giro, y la norma de la pareja cambia",
        ),
        Misconception(
            "uses_the_rotated_one",
            _rotate_with(_with_the_rotated_one),
            "al calcular la segunda columna de la pareja usas la primera ya girada: las dos salen "
            "de las originales",
        ),
        Misconception(
            "no_partner",
            _rotate_with(lambda a, b, cos, sin: (a * cos, b * cos)),
            "cada columna se multiplica por su coseno y nada más: en un giro también interviene la "
            "otra de la pareja, con el seno",
        ),
        Misconception(
            "cosine_and_sine_apart",
            _rotate_with(lambda a, b, cos, sin: (a * cos, b * sin)),
            "una mitad se multiplica por el coseno y la otra por el seno: cada columna girada "
            "mezcla las dos de su pareja",
        ),
        Misconception(
            "swapped_sine",
            _rotate_with(lambda a, b, cos, sin: (a * sin - b * cos, b * sin + a * cos)),
            "el seno y el coseno están intercambiados: en la posición 0 el giro no debe cambiar "
            "nada",
        ),
        Misconception(
            "halves_swapped",
            _rotate_with(join=lambda a, b: torch.cat((b, a), -1)),
            "las dos mitades salen en el orden contrario",
        ),
        Misconception(
            "stacked_as_neighbours",
            _rotate_with(join=_as_neighbours),
            "los números salen alternados: cada uno vuelve a la columna de la que vino",
        ),
        Misconception(
            "row_number",
            _rotate_with(places=lambda positions, t: torch.arange(t)),
            "usas el número de la fila en lugar de `positions`: al escribir con una caché, la "
            "primera fila puede ser la posición 37",
        ),
        Misconception(
            "from_one",
            _rotate_with(places=lambda positions, t: positions + 1),
            "cuentas las posiciones desde 1: las de `positions` ya son las que se usan",
        ),
        Misconception(
            "from_the_first",
            _rotate_with(places=lambda positions, t: positions - positions[..., :1]),
            "restas la primera posición, y el texto empieza siempre en 0: se gira según la "
            "posición que llega",
        ),
        Misconception(
            "one_by_one_from_the_first",
            _rotate_with(places=lambda positions, t: positions[..., :1] + torch.arange(t)),
            "cuentas de uno en uno desde la primera posición: las que llegan pueden dar saltos",
        ),
        Misconception(
            "row_by_row_places",
            _rotate_with(places=lambda positions, t: positions.flatten()[:t]),
            "todas las filas del lote giran según las posiciones de la primera: `positions` puede "
            "traer otras para cada una",
        ),
        Misconception(
            "default_base",
            _rotate_with(base_used=lambda base: 10_000.0),
            "la base es siempre 10 000: usa la que llega",
        ),
        Misconception(
            "slow_exponent",
            _rotate_with(frequencies=lambda base, i, d: base ** (-i / d)),
            "el exponente avanza la mitad de lo que debe: entre una pareja y la siguiente, 2/d",
        ),
        Misconception(
            "fast_exponent",
            _rotate_with(frequencies=lambda base, i, d: base ** (-4 * i / d)),
            "el exponente avanza el doble de lo que debe: ¿hay un 2 dos veces? Con "
            "arange(0, d, 2) ya va incluido",
        ),
        Misconception(
            "no_exponent",
            _rotate_with(frequencies=lambda base, i, d: base ** (-2.0 * i)),
            "falta dividir el exponente entre d: las frecuencias se hundirían de una pareja a la "
            "siguiente",
        ),
        Misconception(
            "vanishing",
            _rotate_with(frequencies=lambda base, i, d: base ** (-2.0 * i * d)),
            "desde la segunda pareja las frecuencias son casi 0: revisa cómo entra d en el "
            "exponente",
        ),
        Misconception(
            "growing",
            _rotate_with(frequencies=lambda base, i, d: base ** (2 * i / d)),
            "las frecuencias crecen, y deben bajar: la primera pareja es la que más gira",
        ),
        Misconception(
            "up_to_the_base",
            _rotate_with(frequencies=lambda base, i, d: base ** (-i / (d // 2 - 1))),
            "el exponente llega hasta 1 en la última pareja; el del artículo se queda un paso "
            "antes, porque divide entre d/2 y no entre d/2 − 1",
        ),
        Misconception(
            "from_the_second_frequency",
            _rotate_with(frequencies=lambda base, i, d: base ** (-2 * (i + 1) / d)),
            "cuentas las parejas desde 1: la primera, i = 0, gira un radián por posición",
        ),
        Misconception(
            "one_frequency_per_column",
            _rotate_with(
                frequencies=lambda base, i, d: base ** (-2 * torch.arange(d) / d),
                columns=lambda theta: theta.chunk(2, -1),
            ),
            "hay una frecuencia por columna, y las dos columnas de una pareja giran el mismo "
            "ángulo: son d/2, una por pareja",
        ),
        Misconception(
            "repeated_as_neighbours",
            _rotate_with(columns=lambda theta: theta.repeat_interleave(2, -1).chunk(2, -1)),
            "repites cada ángulo en dos columnas vecinas, pero la pareja de una columna está a d/2 "
            "de ella: se mezclan las dos disposiciones",
        ),
        Misconception(
            "mirrored",
            _rotate_with(
                lambda a, b, c, s: (a * c - b.flip(-1) * s, b * c.flip(-1) + (a * s).flip(-1)),
            ),
            "emparejas las columnas en espejo, la primera con la última: la i va con la i + d/2",
        ),
        Misconception(
            "frequencies_backwards",
            _rotate_with(angles=lambda p, w: p[..., None] * w.flip(-1)),
            "las frecuencias salen en el orden contrario: la primera pareja es la que más gira",
        ),
        Misconception(
            "no_positions",
            _rotate_with(angles=lambda p, w: w),
            "el ángulo no depende de la posición: todas las filas giran lo mismo",
        ),
        Misconception(
            "precedence",
            _rotate_with(frequencies=lambda base, i, d: base ** (-2 * i) / d),
            "el paréntesis está mal cerrado: la potencia se hace antes que la división, y lo que "
            "se divide entre d es el exponente",
        ),
        Misconception(
            "only_one_axis",
            _rotate_with(angles=lambda p, w: p[:, None] * w),
            "vale cuando `positions` es [t]; si trae más ejes, el nuevo va al final y no en "
            "segundo lugar",
            raises=RuntimeError,
        ),
        Misconception(
            "one_frequency",
            _rotate_with(frequencies=lambda base, i, d: base ** (0.0 * i)),
            "todas las parejas giran lo mismo: cada una tiene su frecuencia",
        ),
        Misconception(
            "in_degrees",
            _rotate_with(angles=lambda p, w: torch.deg2rad(p[..., None] * w)),
            "pasas los ángulos de grados a radianes, y ya están en radianes",
        ),
        Misconception(
            "added",
            _rotate_with(lambda a, b, cos, sin: (a + sin, b + cos)),
            "sumas senos y cosenos, como la codificación de 2017: aquí no se suma nada, se gira",
        ),
        Misconception(
            "half_of_the_head",
            _half_of_the_columns,
            "giras solo la mitad de las columnas: eso hacen algunos modelos, pero aquí giran todas",
        ),
        Misconception(
            "in_place",
            _written_in_place,
            "giras, pero sobre la propia entrada: el resultado es correcto y quien llama encuentra "
            "cambiada su x. Forma un tensor nuevo",
        ),
    ),
)


# 3 · De una disposición a la otra


def _to_half(W, num_heads):
    d_head = len(W) // num_heads
    return W.unflatten(0, (num_heads, d_head))[:, rotary_order(d_head)].flatten(0, 1)


def _to_half_call(student, W, num_heads):
    return {f"num_heads={num_heads}": direct_call(student, W, num_heads)}


def _to_half_cases(rng):
    return [
        (_randn(rng, heads * d_head, d), heads)
        for heads, d_head, d in ((3, 6, 4), (1, 8, 5), (2, 10, 20), (4, 6, 3))
    ]


@combinable
def _reordered_with(
    *,
    split=lambda W, heads: W.unflatten(0, (heads, -1)),
    order=lambda X: X[:, rotary_order(X.shape[1])],
    signs=lambda X: X,
    which=lambda before, after: after,
    join=lambda X: X.flatten(0, 1),
    after=lambda W: W,
):
    """El cambio por pasos: las filas de cada cabeza, `[heads, d_head, d]`, se ordenan y se unen."""

    def implementation(W, num_heads):
        X = split(W, num_heads)
        return after(join(which(X, signs(order(X)))))

    return implementation


def _second_half_negative(X):
    first, second = X.chunk(2, 1)
    return torch.cat((first, -second), 1)


LAYOUT = Exercise(
    name="palm.layout",
    answers=("course_lib.primitives.positions.rotations.rotary_order",),
    points=1,
    reference=_to_half,
    cases=_to_half_cases,
    call=_to_half_call,
    misconceptions=(
        Misconception(
            "other_direction",
            _reordered_with(order=lambda X: X[:, rotary_order(X.shape[1], to="interleaved")]),
            "es el camino contrario, de mitades a vecinas: aquí llegan vecinas",
        ),
        Misconception(
            "all_heads_at_once",
            _reordered_with(split=lambda W, heads: W[None]),
            "ordenas toda la matriz de una vez, y se mezclan filas de cabezas distintas: el orden "
            "es el de cada cabeza, dentro de ella",
        ),
        Misconception(
            "only_the_first_head",
            _reordered_with(which=lambda before, after: torch.cat((after[:1], before[1:]))),
            "ordenas solo la primera cabeza: las demás también se ordenan",
        ),
        Misconception(
            "first_head_for_all",
            _reordered_with(which=lambda before, after: after[:1].expand_as(after)),
            "todas las cabezas salen con las filas de la primera: cada una conserva las suyas",
        ),
        Misconception(
            "odd_first",
            _reordered_with(order=lambda X: torch.cat((X[:, 1::2], X[:, ::2]), 1)),
            "las mitades están en el orden contrario: la primera de cada pareja va en la primera "
            "mitad",
        ),
        Misconception(
            "halves_swapped",
            _reordered_with(order=lambda X: X.roll(X.shape[1] // 2, 1)),
            "intercambias las dos mitades de las filas; se trata de separar las parejas vecinas",
        ),
        Misconception(
            "neighbours_swapped",
            _reordered_with(order=lambda X: X.unflatten(1, (-1, 2)).flip(2).flatten(1, 2)),
            "intercambias las dos filas de cada pareja, que siguen siendo vecinas: las parejas han "
            "de separarse",
        ),
        Misconception(
            "with_a_sign",
            _reordered_with(signs=_second_half_negative),
            "cambias un signo: el signo es del giro, no de los parámetros",
        ),
        Misconception(
            "reversed",
            _reordered_with(order=lambda X: X.flip(1)),
            "das la vuelta a las filas: se trata de separar las parejas vecinas",
        ),
        Misconception(
            "heads_interleaved",
            _reordered_with(
                split=lambda W, heads: W.unflatten(0, (-1, heads)).transpose(0, 1),
                join=lambda X: X.transpose(0, 1).flatten(0, 1),
            ),
            "tomas las cabezas salteadas: las filas de una cabeza son seguidas, las d_head "
            "primeras para la primera",
        ),
        Misconception(
            "columns",
            lambda W, heads: W[:, rotary_order(len(W) // heads)],
            "cambias las columnas de W, que son las de la entrada: las de la cabeza son sus filas",
            raises=IndexError,
        ),
        Misconception(
            "separated_columns",
            lambda W, heads: torch.cat((W[:, ::2], W[:, 1::2]), 1),
            "separas columnas pares e impares, y las columnas de W son las de la entrada: las de "
            "la cabeza son sus filas",
        ),
        Misconception(
            "unchanged",
            _reordered_with(order=lambda X: X),
            "no ordenas nada: las filas de cada cabeza siguen en el orden en que llegaron",
        ),
        Misconception(
            "still_by_heads",
            _reordered_with(join=lambda X: X),
            "falta juntar las cabezas otra vez: el resultado es una matriz como la que llegó",
        ),
        Misconception(
            "transposed",
            _reordered_with(after=lambda W: W.mT),
            "sale transpuesto: la matriz vuelve con la forma en que llegó",
        ),
    ),
)


# 4 · Muchas consultas, una clave


def _multi_query(X, W_q, W_k, W_v, W_h, num_heads):
    K, V = ((X @ W)[:, None] for W in (W_k, W_v))
    return _joined(attention(_by_heads(X @ W_q, num_heads), K, V, causal=True)) @ W_h


def _by_heads(X, num_heads):
    return X.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _joined(H):
    return H.transpose(1, 2).flatten(2)


def _multi_query_call(student, X, W_q, W_k, W_v, W_h, num_heads):
    found = direct_call(student, X, W_q, W_k, W_v, W_h, num_heads)
    return {f"num_heads={num_heads}": found}


def _multi_query_cases(rng):
    return [
        (
            1.5 * _randn(rng, batch, t, d),
            _matrix(rng, d, heads * d_head),
            _matrix(rng, d, d_head),
            _matrix(rng, d, d_head),
            _matrix(rng, heads * d_head, d),
            heads,
        )
        for batch, t, d, heads, d_head in ((2, 4, 6, 2, 3), (1, 5, 8, 4, 2), (3, 3, 5, 3, 4))
    ]


def _attended(S, visible):
    return torch.softmax(S.masked_fill(~visible, -math.inf), -1)


@combinable
def _multi_query_with(
    *,
    split=_by_heads,
    shared=lambda X: X[:, None],
    keys_and_values=lambda K, V: (K, V),
    under_the_root=lambda model, all_heads, one_head: one_head,
    mask=causal_mask,
    weights=_attended,
    heads=lambda A: A,
    join=_joined,
    down=lambda H, W_h: H @ W_h,
    after=lambda X, Y: Y,
):
    """La atención por pasos: partir, puntuar, tapar, pesar, mezclar, juntar y volver al ancho."""

    def implementation(X, W_q, W_k, W_v, W_h, num_heads):
        Q = split(X @ W_q, num_heads)
        K, V = keys_and_values(shared(X @ W_k), shared(X @ W_v))
        S = Q @ K.mT / math.sqrt(under_the_root(*W_q.shape, W_k.shape[1]))
        A = heads(weights(S, mask(X.shape[1])))
        return after(X, down(join(A @ V), W_h))

    return implementation


def _with_zeros(S, visible):
    """Como `attention`, que da ceros a la fila que no ve nada; sin ella, sería NaN."""
    return _attended(S, visible).nan_to_num(0.0)


def _split_without_transposing(Q, num_heads):
    return Q.reshape(len(Q), num_heads, Q.shape[1], -1)


def _joined_without_transposing(H):
    return H.reshape(len(H), H.shape[2], -1)


MULTI_QUERY = Exercise(
    name="palm.multi_query",
    points=2,
    reference=_multi_query,
    cases=_multi_query_cases,
    call=_multi_query_call,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "not_causal",
            _multi_query_with(mask=lambda t: torch.ones(t, t, dtype=torch.bool)),
            "no hay máscara: cada posición ve su futuro, y al escribir no lo habrá",
        ),
        Misconception(
            "not_scaled",
            _multi_query_with(under_the_root=lambda model, all_heads, one_head: 1),
            "las puntuaciones no están escaladas: falta dividir entre una raíz",
        ),
        Misconception(
            "scaled_twice",
            _multi_query_with(under_the_root=lambda model, all_heads, one_head: one_head**2),
            "divides entre d_head, y es entre su raíz",
        ),
        Misconception(
            "scaled_by_the_model",
            _multi_query_with(under_the_root=lambda model, all_heads, one_head: model),
            "escalas con el ancho del modelo: lo que cuenta es el ancho de los vectores que se "
            "multiplican, el de una cabeza",
        ),
        Misconception(
            "scaled_by_the_heads",
            _multi_query_with(under_the_root=lambda model, all_heads, one_head: all_heads),
            "escalas con el ancho de todas las cabezas juntas; el producto es el de una sola",
        ),
        Misconception(
            "over_the_queries",
            _multi_query_with(weights=lambda S, M: torch.softmax(S.masked_fill(~M, -math.inf), -2)),
            "el softmax suma sobre las consultas: los pesos de cada consulta se reparten entre las "
            "claves",
        ),
        Misconception(
            "over_the_heads",
            _multi_query_with(weights=lambda S, M: torch.softmax(S, 1) * M),
            "el softmax suma sobre las cabezas: los pesos de cada consulta se reparten entre las "
            "claves",
        ),
        Misconception(
            "masked_after",
            _multi_query_with(weights=lambda S, M: torch.softmax(S, -1) * M),
            "anulas los pesos del futuro después del softmax, y los demás ya no suman 1: tapa "
            "las puntuaciones antes",
        ),
        Misconception(
            "scores_multiplied_by_the_mask",
            _multi_query_with(weights=lambda S, M: torch.softmax(S * M, -1)),
            "multiplicas las puntuaciones por la máscara, y una puntuación 0 también recibe "
            "atención: las tapadas valen −∞",
        ),
        Misconception(
            "future",
            _multi_query_with(mask=lambda t: causal_mask(t).T),
            "usaste el triángulo contrario: cada posición ve su futuro y no su pasado",
        ),
        Misconception(
            "inverted",
            _multi_query_with(mask=lambda t: ~causal_mask(t)),
            "tapaste lo que se ve: en este curso True marca lo visible. Si sale NaN, es de la "
            "última posición, que se queda sin nada",
        ),
        Misconception(
            "not_itself",
            _multi_query_with(mask=lambda t: causal_mask(t).tril(-1)),
            "cada posición se oculta a sí misma, y la primera se queda sin nada que ver: si sale "
            "NaN, es de ahí",
        ),
        Misconception(
            "inverted_with_zeros",
            _multi_query_with(mask=lambda t: ~causal_mask(t), weights=_with_zeros),
            "tapaste lo que se ve: en este curso True marca lo visible",
        ),
        Misconception(
            "not_itself_with_zeros",
            _multi_query_with(mask=lambda t: causal_mask(t).tril(-1), weights=_with_zeros),
            "cada posición se oculta a sí misma: la primera se queda sin nada que ver, y mezcla "
            "ceros",
        ),
        Misconception(
            "rows_as_heads",
            _multi_query_with(shared=lambda X: X),
            "a las claves y los valores les falta el eje de las cabezas: tal como están, su lote "
            "se toma por cabezas, y un texto atiende a otro",
        ),
        Misconception(
            "no_transposes",
            _multi_query_with(split=_split_without_transposing, join=_joined_without_transposing),
            "partes y juntas las cabezas sin intercambiar ejes: los números cambian de posición "
            "dos veces, y no se deshace",
        ),
        Misconception(
            "keys_and_values_swapped",
            _multi_query_with(keys_and_values=lambda K, V: (V, K)),
            "las claves y los valores están intercambiados",
        ),
        Misconception(
            "view_without_transposing",
            _multi_query_with(split=_split_without_transposing),
            "partes las consultas con un solo view a [batch, heads, t, d_head]: eso cambia los "
            "números de posición. Primero separa el último eje y después intercambia",
        ),
        Misconception(
            "heads_interleaved",
            _multi_query_with(split=lambda Q, h: Q.unflatten(-1, (-1, h)).permute(0, 3, 1, 2)),
            "tomas las columnas de cada cabeza salteadas: las de una cabeza son seguidas",
        ),
        Misconception(
            "joined_without_transposing",
            _multi_query_with(join=_joined_without_transposing),
            "juntas las cabezas sin devolver antes el tiempo a su lugar: los números cambian de "
            "posición",
        ),
        Misconception(
            "joined_interleaved",
            _multi_query_with(join=lambda H: H.permute(0, 2, 3, 1).flatten(2)),
            "al juntar, alternas las cabezas columna a columna: va una entera detrás de otra",
        ),
        Misconception(
            "heads_reversed",
            _multi_query_with(join=lambda H: H.flip(1).transpose(1, 2).flatten(2)),
            "las cabezas se juntan en el orden contrario",
        ),
        Misconception(
            "no_output_matrix",
            _multi_query_with(down=lambda H, W_h: H),
            "falta W_h, el último producto: mezcla lo que dieron las cabezas y vuelve a d_model",
        ),
        Misconception(
            "no_softmax",
            _multi_query_with(weights=lambda S, M: S * M),
            "falta el softmax: las puntuaciones pesan tal como salen, y no suman 1",
        ),
        Misconception(
            "keys_as_values",
            _multi_query_with(keys_and_values=lambda K, V: (K, K)),
            "mezclas las claves; lo que se mezcla son los valores",
        ),
        Misconception(
            "mean_of_the_heads",
            _multi_query_with(heads=lambda A: A.mean(1, keepdim=True).expand_as(A)),
            "las cabezas comparten los pesos, su media: lo que comparten son las claves y los "
            "valores, y cada una pregunta lo suyo",
        ),
        Misconception(
            "first_head_for_all",
            _multi_query_with(heads=lambda A: A[:, :1].expand_as(A)),
            "todas las cabezas usan los pesos de la primera: cada una tiene sus consultas",
        ),
        Misconception(
            "each_sees_only_itself",
            _multi_query_with(weights=lambda S, M: torch.eye(len(M)).expand_as(S)),
            "cada posición atiende solo a sí misma: ¿multiplicas cabezas con claves de la misma "
            "posición? El producto es entre posiciones; las cabezas van en un eje aparte",
        ),
        Misconception(
            "heads_summed",
            _multi_query_with(join=lambda H: H.sum(1), down=lambda H, W_h: H @ W_h[: H.shape[-1]]),
            "sumas las cabezas antes de W_h: se ponen una junto a otra, y W_h tiene filas para "
            "cada una",
        ),
        Misconception(
            "residual",
            _multi_query_with(after=lambda X, Y: X + Y),
            "sumas la entrada: la conexión residual es del bloque, no de la atención",
        ),
    ),
)


# 5 · El bloque en paralelo


def _parallel(x, norm, attend, feed_forward):
    normed = norm(x)
    return x + attend(normed) + feed_forward(normed)


def _parallel_call(student, x, P):
    """Construye las tres piezas a partir de tensores, y cuenta cuántas veces se normaliza."""
    times = []

    def norm(x):
        times.append(1)
        return F.layer_norm(x, x.shape[-1:], weight=P["g"])

    def attend(x):
        A = torch.softmax(P["S"], -1).tril()
        return A @ torch.tanh(x @ P["W_a"])

    def feed_forward(x):
        return torch.relu(x @ P["W_f"]) @ P["W_o"]

    y = direct_call(student, x, norm, attend, feed_forward)
    return {"la salida": y, "las veces que se normaliza": len(times)}


def _parallel_cases(rng):
    return [
        (
            _randn(rng, batch, t, d, scale=2.0) + 0.5,
            {
                "g": 1 + 0.5 * _randn(rng, d),
                "S": _randn(rng, t, t),
                "W_a": _matrix(rng, d, d),
                "W_f": _matrix(rng, d, 2 * d),
                "W_o": _matrix(rng, 2 * d, d),
            },
        )
        for batch, t, d in ((2, 4, 6), (1, 3, 5))
    ]


@combinable
def _parallel_with(
    *,
    before=lambda x, norm: norm(x),
    attention_reads=lambda x, normed: normed,
    network_reads=lambda x, normed, h, norm: normed,
    merge=lambda h, f, norm: h + f,
    residual=lambda x, normed: x,
    after=lambda y, norm: y,
):
    """El bloque por pasos: lo que lee cada rama, cómo se unen y qué más se suma."""

    def implementation(x, norm, attend, feed_forward):
        normed = before(x, norm)
        h = attend(attention_reads(x, normed))
        f = feed_forward(network_reads(x, normed, h, norm))
        return after(residual(x, normed) + merge(h, f, norm), norm)

    return implementation


def _not_normed(x, norm):
    return x


def _normed_again(x, normed, h, norm):
    return norm(x)


def _serial_network_first(x, norm, attend, feed_forward):
    z = x + feed_forward(norm(x))
    return z + attend(norm(z))


def _attention_of_the_network(x, norm, attend, feed_forward):
    return x + attend(feed_forward(norm(x)))


def _in_place(x, norm, attend, feed_forward):
    normed = norm(x)
    x += attend(normed) + feed_forward(normed)
    return x


PARALLEL = Exercise(
    name="palm.parallel",
    points=1,
    reference=_parallel,
    cases=_parallel_cases,
    call=_parallel_call,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "serial",
            _parallel_with(network_reads=lambda x, normed, h, norm: norm(x + h)),
            "va en serie: la red lee lo que la atención ya sumó. Aquí las dos leen lo mismo, y por "
            "eso pueden calcularse a la vez",
        ),
        Misconception(
            "serial_network_first",
            _serial_network_first,
            "va en serie, con la red delante: la atención lee lo que la red ya sumó. Las dos leen "
            "lo mismo",
        ),
        Misconception(
            "serial_with_one_norm",
            _parallel_with(network_reads=lambda x, normed, h, norm: x + h),
            "la red lee lo que la atención ya sumó, y además sin normalizar: las dos leen lo mismo",
        ),
        Misconception(
            "serial_without_residual",
            _parallel_with(network_reads=lambda x, normed, h, norm: norm(h)),
            "la red lee lo que dio la atención, normalizado: las dos leen lo mismo",
        ),
        Misconception(
            "network_reads_the_attention",
            _parallel_with(network_reads=lambda x, normed, h, norm: h),
            "la red lee lo que dio la atención: las dos leen lo mismo, la x normalizada",
        ),
        Misconception(
            "norm_twice",
            _parallel_with(  # también `before`: sin la primera normalización no serían dos
                before=lambda x, norm: norm(x), network_reads=_normed_again
            ),
            "normalizas dos veces lo mismo: guarda el resultado. Ahorrarse una normalización por "
            "bloque es parte de lo que se gana",
        ),
        Misconception(
            "no_residual",
            _parallel_with(residual=lambda x, normed: 0),
            "falta la conexión residual: sin sumar x, cada bloque tendría que volver a decirlo "
            "todo",
        ),
        Misconception(
            "normed_residual",
            _parallel_with(residual=lambda x, normed: normed),
            "sumas la x ya normalizada: por la conexión residual pasa la x que entró",
        ),
        Misconception(
            "no_residual_and_norm_twice",
            lambda x, norm, attend, network: attend(norm(x)) + network(norm(x)),
            "falta la conexión residual; y además normalizas dos veces lo mismo",
        ),
        Misconception(
            "normed_residual_and_norm_again",
            lambda x, norm, attend, network: norm(x) + attend(norm(x)) + network(norm(x)),
            "sumas la x ya normalizada, y por la conexión residual pasa la x que entró; y además "
            "normalizas varias veces lo mismo",
        ),
        Misconception(
            "network_of_the_attention_and_norm_twice",
            lambda x, norm, attend, network: x + attend(norm(x)) + network(attend(norm(x))),
            "la red lee lo que dio la atención, que además calculas dos veces: las dos leen la x "
            "normalizada",
        ),
        Misconception(
            "norm_after",
            _parallel_with(before=_not_normed, after=lambda y, norm: norm(y)),
            "normalizas al final, como el modelo de 2017: aquí se normaliza lo que leen las dos "
            "ramas",
        ),
        Misconception(
            "no_norm",
            _parallel_with(before=_not_normed),
            "no normalizas x: las dos ramas la leen normalizada",
        ),
        Misconception(
            "attention_not_normed",
            _parallel_with(attention_reads=lambda x, normed: x),
            "la atención lee x sin normalizar",
        ),
        Misconception(
            "network_not_normed",
            _parallel_with(network_reads=lambda x, normed, h, norm: x),
            "la red lee x sin normalizar",
        ),
        Misconception(
            "normed_outputs",
            _parallel_with(before=_not_normed, merge=lambda h, f, norm: norm(h) + norm(f)),
            "normalizas lo que dan las dos ramas: se normaliza lo que leen",
        ),
        Misconception(
            "normed_sum",
            _parallel_with(before=_not_normed, merge=lambda h, f, norm: norm(h + f)),
            "normalizas lo que se suma a x: se normaliza lo que leen las dos ramas",
        ),
        Misconception(
            "also_at_the_end",
            _parallel_with(after=lambda y, norm: norm(y)),
            "sobra la normalización del final: la del modelo va después del último bloque, una "
            "sola",
        ),
        Misconception(
            "network_of_the_attention",
            _parallel_with(network_reads=lambda x, normed, h, norm: h, merge=lambda h, f, norm: f),
            "las encadenas, la red después de la atención: las dos leen lo mismo y se suman",
        ),
        Misconception(
            "attention_of_the_network",
            _attention_of_the_network,
            "las encadenas, la atención después de la red: las dos leen lo mismo y se suman",
        ),
        Misconception(
            "two_residuals",
            _parallel_with(residual=lambda x, normed: 2 * x),
            "sumas x dos veces, una por rama: es un solo bloque, con una sola conexión residual",
        ),
        Misconception(
            "averaged",
            _parallel_with(merge=lambda h, f, norm: (h + f) / 2),
            "promedias las dos ramas: se suman",
        ),
        Misconception(
            "product",
            _parallel_with(merge=lambda h, f, norm: h * f),
            "multiplicas las dos ramas: se suman",
        ),
        Misconception(
            "only_attention",
            _parallel_with(merge=lambda h, f, norm: h),
            "falta la red: no sumas lo que da",
        ),
        Misconception(
            "only_network",
            _parallel_with(merge=lambda h, f, norm: f),
            "no sumas lo que da la atención, solo lo que da la red",
        ),
        Misconception(
            "in_place",
            _in_place,
            "el resultado es correcto, pero += escribe sobre la x de quien llama: forma un tensor "
            "nuevo",
        ),
    ),
)


# 6 · Leer con una caché


def _read(X, cache, W_q, W_k, W_v, num_heads):
    m, t = cache[0].shape[1], X.shape[1]
    positions = torch.arange(m, m + t)
    K = torch.cat((cache[0], rotary(X @ W_k, positions)), 1)
    V = torch.cat((cache[1], X @ W_v), 1)
    Q = rotary(_by_heads(X @ W_q, num_heads), positions)
    return _joined(attention(Q, K[:, None], V[:, None], causal=True)), (K, V)


def _read_call(student, X, K, V, W_q, W_k, W_v, num_heads):
    found = direct_call(student, X, (K, V), W_q, W_k, W_v, num_heads)
    return {f"num_heads={num_heads}": found}


def _read_cases(rng):
    return [
        (
            1.5 * _randn(rng, batch, t, d),
            _randn(rng, batch, m, d_head),
            _randn(rng, batch, m, d_head),
            _matrix(rng, d, heads * d_head),
            _matrix(rng, d, d_head),
            _matrix(rng, d, d_head),
            heads,
        )
        for batch, t, m, d, heads, d_head in (
            (2, 1, 5, 6, 2, 4),  # un token más
            (2, 3, 4, 8, 4, 2),  # un tramo
            (1, 4, 0, 6, 3, 4),  # nada leído todavía
            (3, 4, 3, 5, 2, 6),
        )
    ]


def _unrotated(x, positions):
    return x


@combinable
def _reading(
    *,
    past=lambda cache: cache,
    stored=lambda K: K.shape[1],
    places=lambda m, t: torch.arange(m, m + t),
    rotate_whole=_unrotated,
    split=_by_heads,
    rotate_Q=rotary,
    rotate_K=rotary,
    rotate_V=_unrotated,
    join=lambda old, new: torch.cat((old, new), 1),
    rotate_all=_unrotated,
    seen=lambda K, t: K,
    scale=lambda d_head: d_head**-0.5,
    mask=causal_mask,
    gather=_joined,
    keep=lambda old, new, K, V: (K, V),
    give=lambda H, cache: (H, cache),
):
    """La lectura por pasos: girar lo nuevo, unirlo a lo guardado, atender y guardar."""

    def implementation(X, cache, W_q, W_k, W_v, num_heads):
        old, t = past(cache), X.shape[1]
        positions = places(stored(old[0]), t)
        new = rotate_K(X @ W_k, positions), rotate_V(X @ W_v, positions)
        K, V = (join(*each) for each in zip(old, new, strict=True))
        Q = rotate_Q(split(rotate_whole(X @ W_q, positions), num_heads), positions)
        K_seen, V_seen = seen(rotate_all(K, positions), t)[:, None], seen(V, t)[:, None]
        S = Q @ K_seen.mT * scale(K.shape[-1])
        A = _with_zeros(S, mask(t, K_seen.shape[2]))
        return give(gather(A @ V_seen), keep(cache, new, K, V))

    return implementation


def _top_left(t, t_k):
    return torch.ones(t, t_k, dtype=torch.bool).tril()


def _neighbours(x, positions):
    return rotary(x, positions, layout="interleaved")


def _cache_turned_again(K, positions):
    return rotary(K, torch.arange(K.shape[1]))


def _new_turned(K, positions):
    """Gira las claves nuevas solo al usarlas."""
    t = len(positions)
    return torch.cat((K[:, :-t], rotary(K[:, -t:], positions)), 1)


def _nothing_before(cache):
    return [x[:, :0] for x in cache]


def _nothing_read(x, K, V, W_q, W_k, W_v, num_heads):
    return K.shape[1] == 0


def _something_read(*inputs):
    return not _nothing_read(*inputs)


READ = Exercise(
    name="palm.read",
    points=3,
    partial=(
        Part("la salida con la caché vacía", 1, cases=_nothing_read, item=0),
        Part("la salida con algo en la caché", 1, cases=_something_read, item=0),
        Part("la caché nueva", 1, item=1),
    ),
    reference=_read,
    cases=_read_cases,
    call=_read_call,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "from_zero",
            _reading(places=lambda m, t: torch.arange(t)),
            "las posiciones nuevas empiezan en 0, como si no hubiera nada antes: van detrás de lo "
            "que guarda la caché",
        ),
        Misconception(
            "one_too_far",
            _reading(places=lambda m, t: torch.arange(m, m + t) + 1),
            "las posiciones nuevas van corridas en uno: si la caché guarda las posiciones 0 a "
            "m − 1, la siguiente es la m",
        ),
        Misconception(
            "one_too_near",
            _reading(places=lambda m, t: torch.arange(m, m + t) - 1),
            "las posiciones nuevas van corridas en uno: la última guardada es la m − 1, y la "
            "primera nueva no puede repetirla",
        ),
        Misconception(
            "all_in_one_place",
            _reading(places=lambda m, t: torch.full((t,), m)),
            "todas las posiciones nuevas son la misma: eso solo vale cuando llega una",
        ),
        Misconception(
            "moved_by_the_new_ones",
            _reading(places=lambda m, t: torch.arange(t, 2 * t)),
            "las posiciones se corren tantos lugares como tokens llegan; son los que ya estaban "
            "guardados",
        ),
        Misconception(
            "whole_cache_turned_again",
            _reading(rotate_K=_unrotated, rotate_all=_cache_turned_again),
            "giras todas las claves al usarlas, y las de la caché llegaron giradas: esas giran "
            "dos veces. Gira solo las nuevas, y guárdalas así",
        ),
        Misconception(
            "turned_and_stored_again",
            _reading(
                rotate_K=_unrotated,
                rotate_all=_cache_turned_again,
                keep=lambda old, new, K, V: (_cache_turned_again(K, None), V),
            ),
            "giras otra vez las claves guardadas, y vuelves a guardarlas: cada paso las llevaría "
            "más lejos. Gira solo las nuevas",
        ),
        Misconception(
            "stored_unturned",
            _reading(rotate_K=_unrotated, rotate_all=_new_turned),
            "guardas las claves nuevas sin girar, y la próxima vez llegarían así: en la caché "
            "van giradas",
        ),
        Misconception(
            "keys_from_zero",
            _reading(rotate_K=lambda K, positions: rotary(K, positions - positions[0])),
            "las claves nuevas giran según su lugar en el tramo: como las consultas, cuentan "
            "desde el comienzo del texto",
        ),
        Misconception(
            "queries_from_zero",
            _reading(rotate_Q=lambda Q, positions: rotary(Q, positions - positions[0])),
            "las consultas giran según su lugar en el tramo: como las claves, cuentan desde el "
            "comienzo del texto",
        ),
        Misconception(
            "queries_as_the_last",
            _reading(rotate_Q=lambda Q, positions: rotary(Q, positions[-1:])),
            "todas las consultas giran según la última posición: cada una tiene la suya",
        ),
        Misconception(
            "counted_after_joining",
            _reading(places=lambda m, t: torch.arange(t) + m + t),
            "cuentas lo guardado cuando lo nuevo ya está dentro, y las posiciones se adelantan: la "
            "primera nueva sigue a la última que llegó guardada",
        ),
        Misconception(
            "batch_as_length",
            _reading(stored=len),
            "len(K) es el lote: las posiciones guardadas son el eje 1",
        ),
        Misconception(
            "turned_before_transposing",
            _reading(
                split=lambda Q, h: Q.unflatten(-1, (h, -1)),
                rotate_Q=lambda Q, positions: rotary(Q, positions).transpose(1, 2),
            ),
            "giras las consultas con las cabezas donde deberían ir las posiciones: `rotary` espera "
            "las posiciones en el penúltimo eje",
            raises=RuntimeError,
        ),
        Misconception(
            "queries_not_turned",
            _reading(rotate_Q=_unrotated),
            "las consultas no giran: la diferencia de posiciones aparece cuando giran las dos",
        ),
        Misconception(
            "keys_not_turned",
            _reading(rotate_K=_unrotated),
            "las claves nuevas no giran: la diferencia de posiciones aparece cuando giran las dos",
        ),
        Misconception(
            "nothing_turns",
            _reading(rotate_Q=_unrotated, rotate_K=_unrotated),
            "no giran ni las consultas ni las claves nuevas, y así las puntuaciones no saben "
            "nada del orden",
        ),
        Misconception(
            "values_turn_too",
            _reading(rotate_V=rotary),
            "giras también los valores: la posición interviene en las puntuaciones, y nada más",
        ),
        Misconception(
            "turned_before_splitting",
            _reading(rotate_whole=rotary, rotate_Q=_unrotated),
            "giras las consultas antes de partirlas en cabezas: las parejas y las frecuencias son "
            "las del ancho de una cabeza, que es el de las claves",
        ),
        Misconception(
            "neighbours",
            _reading(rotate_Q=_neighbours, rotate_K=_neighbours),
            "giras con la disposición de columnas vecinas, y las claves de la caché giraron por "
            "mitades: unas y otras tienen que girar igual",
        ),
        Misconception(
            "top_left",
            _reading(mask=_top_left),
            "el triángulo de la máscara empieza en la primera columna, que ahora es la caché: cada "
            "posición nueva se pierde parte del pasado. (is_causal, de torch, hace eso mismo)",
        ),
        Misconception(
            "not_causal",
            _reading(mask=lambda t, t_k: torch.ones(t, t_k, dtype=torch.bool)),
            "las posiciones nuevas se ven todas entre sí: dentro del tramo sigue habiendo futuro",
        ),
        Misconception(
            "not_itself",
            _reading(mask=lambda t, t_k: causal_mask(t, t_k).tril(t_k - t - 1)),
            "cada posición se oculta a sí misma: la clave nueva también se ve",
        ),
        Misconception(
            "cache_ignored",
            _reading(past=_nothing_before),
            "lees el tramo como si no hubiera nada antes: la caché ni se mira ni se conserva",
        ),
        Misconception(
            "cache_returned_as_it_came",
            _reading(past=_nothing_before, keep=lambda old, new, K, V: old),
            "lees el tramo como si no hubiera nada antes, y devuelves la caché que llegó: se mira, "
            "y se le agrega lo nuevo",
        ),
        Misconception(
            "sees_the_next",
            _reading(mask=lambda t, t_k: torch.ones(t, t_k, dtype=torch.bool).tril(t_k - t + 1)),
            "cada posición ve también la siguiente: el triángulo de la máscara está corrido en uno",
        ),
        Misconception(
            "only_the_new",
            _reading(seen=lambda K, t: K[:, -t:]),
            "atiendes solo a lo nuevo: lo que guarda la caché no se mira",
        ),
        Misconception(
            "cache_not_updated",
            _reading(keep=lambda old, new, K, V: old),
            "devuelves la caché que llegó: lo nuevo se olvidaría",
        ),
        Misconception(
            "only_the_new_is_kept",
            _reading(keep=lambda old, new, K, V: new),
            "devuelves solo las claves y los valores nuevos: la caché lo guarda todo",
        ),
        Misconception(
            "new_first",
            _reading(
                join=lambda old, new: torch.cat((new, old), 1),
                mask=lambda t, t_k: causal_mask(t, t_k).roll(t, 1),
            ),
            "guardas lo nuevo delante de lo viejo: la caché va en el orden del texto",
        ),
        Misconception(
            "new_first_and_hidden",
            _reading(join=lambda old, new: torch.cat((new, old), 1)),
            "unes lo nuevo delante de lo viejo, y la máscara cuenta con el orden del texto: la "
            "caché va primero",
        ),
        Misconception(
            "keys_and_values_swapped",
            _reading(keep=lambda old, new, K, V: (V, K)),
            "la caché vuelve con los valores delante: es el par (K, V)",
        ),
        Misconception(
            "not_scaled",
            _reading(scale=lambda d_head: 1.0),
            "las puntuaciones no están escaladas: falta dividir entre √d_head",
        ),
        Misconception(
            "view_without_transposing",
            _reading(split=_split_without_transposing),
            "partes las consultas con un solo view a [batch, heads, t, d_head], y eso cambia los "
            "números de posición: primero separa el último eje y después intercambia",
        ),
        Misconception(
            "joined_without_transposing",
            _reading(gather=_joined_without_transposing),
            "juntas las cabezas sin devolver antes el tiempo a su lugar: los números cambian de "
            "posición",
        ),
        Misconception(
            "by_heads",
            _reading(gather=lambda H: H),
            "falta juntar las cabezas: la salida es [batch, t, num_heads·d_head]",
        ),
        Misconception(
            "only_the_last",
            _reading(gather=lambda H: _joined(H[:, :, -1:])),
            "devuelves solo la salida de la última posición: se piden las de todas las nuevas",
        ),
        Misconception(
            "only_the_output",
            _reading(give=lambda H, cache: H),
            "falta la caché: se devuelve el par (salida, caché)",
        ),
        Misconception(
            "cache_first",
            _reading(give=lambda H, cache: (cache, H)),
            "devuelves la caché delante: primero va la salida",
        ),
        Misconception(
            "three_things",
            _reading(give=lambda H, cache: (H, *cache)),
            "devuelves tres cosas sueltas: son dos, la salida y la caché, que es un par",
        ),
    ),
)


# 7 · Indicaciones de distinta longitud


def _padded(padding, t):
    columns = torch.arange(t)
    real = columns >= padding[:, None]
    positions = (columns - padding[:, None]).clamp(min=0)
    return positions, causal_mask(t) & real[:, None]


def _padded_call(student, padding, t):
    where = f"padding={padding.tolist()}, t={t}"
    return {where: direct_call(student, padding, t)}


def _padded_cases(rng):
    return [
        (torch.tensor([0, 1 + _integer(rng, 1, 3), 1]), _integer(rng, 5, 8)),
        (torch.tensor([_integer(rng, 1, 3), 0]), _integer(rng, 4, 8)),
        (torch.randperm(6, generator=rng)[:4], 6),
        (torch.randint(1, 6, (3,), generator=rng), 7),
    ]


@combinable
def _padded_with(
    positions=lambda c, p, t: (c - p).clamp(min=0),
    *,
    each=lambda padding, t: padding,
    past=causal_mask,
    real=lambda c, p: c >= p,
    keys=lambda real: real[:, None],
    visible=lambda past, keys, real: past & keys,
    form=lambda mask: mask,
    give=lambda positions, mask: (positions, mask),
):
    """Las posiciones y la máscara por pasos: qué es pasado, qué es real y qué se ve."""

    def implementation(padding, t):
        columns, before = torch.arange(t), each(padding, t)[:, None]
        is_real = real(columns, before)
        mask = visible(past(t), keys(is_real), is_real)
        return give(positions(columns, before, t), form(mask))

    return implementation


def _no_past(t):
    return torch.ones(t, t, dtype=torch.bool)


def _all_the_keys(real):
    return torch.ones_like(real)[:, None]


LEFT_PADDING = Exercise(
    name="palm.left_padding",
    points=2,
    reference=_padded,
    cases=_padded_cases,
    call=_padded_call,
    misconceptions=(
        Misconception(
            "column_numbers",
            _padded_with(lambda c, p, t: c.expand(len(p), t)),
            "las posiciones son los números de columna: el primer token real de cada fila está "
            "en su posición 0, haya o no relleno delante",
        ),
        Misconception(
            "negative",
            _padded_with(lambda c, p, t: c - p),
            "en el relleno las posiciones salen negativas, y se pide un 0",
        ),
        Misconception(
            "one_in_the_padding",
            _padded_with(lambda c, p, t: torch.where(c >= p, c - p, 1)),
            "en las posiciones, el relleno lleva un 1, como en una biblioteca muy usada, y se "
            "pide un 0",
        ),
        Misconception(
            "minus_one_in_the_padding",
            _padded_with(lambda c, p, t: (c >= p).cumsum(-1) - 1),
            "contar los tokens reales y restar 1 deja un −1 en el relleno, y se pide un 0",
        ),
        Misconception(
            "from_one",
            _padded_with(lambda c, p, t: (c >= p).cumsum(-1)),
            "cuentas las posiciones desde 1: la del primer token real es la 0",
        ),
        Misconception(
            "added",
            _padded_with(lambda c, p, t: c + p),
            "sumas el relleno a la columna: las posiciones se adelantarían todavía más",
        ),
        Misconception(
            "jumps_to_the_column",
            _padded_with(lambda c, p, t: torch.where(c >= p, c, 0)),
            "pones 0 en el relleno, pero después sigues con el número de columna: el primer token "
            "real está en la posición 0",
        ),
        Misconception(
            "as_absolute",
            _padded_with(lambda c, p, t: (c - p).abs()),
            "en el relleno las posiciones bajan hasta el primer token, y se pide un 0: el valor "
            "absoluto no sirve",
        ),
        Misconception(
            "wraps_around",
            _padded_with(lambda c, p, t: (c - p) % t),
            "el resto de la división da la vuelta a las negativas: en el relleno se pide un 0",
        ),
        Misconception(
            "floats",
            _padded_with(lambda c, p, t: (c - p).clamp(min=0).float()),
            "las posiciones son números enteros, y las das de punto flotante",
        ),
        Misconception(
            "padding_behind",
            _padded_with(
                lambda c, p, t: c * (c < t - p),
                real=lambda c, p: c < len(c) - p,
            ),
            "tratas el relleno como si fuera detrás del texto: aquí va delante, para que el último "
            "token de todas las filas caiga en la misma columna",
        ),
        Misconception(
            "first_row",
            _padded_with(each=lambda padding, t: padding[:1].expand_as(padding)),
            "todas las filas usan el relleno de la primera: cada una tiene el suyo",
        ),
        Misconception(
            "most_padded",
            _padded_with(each=lambda padding, t: padding.max().expand_as(padding)),
            "todas las filas usan el relleno de la más corta: cada una tiene el suyo",
        ),
        Misconception(
            "lengths",
            _padded_with(each=lambda padding, t: t - padding),
            "tomas `padding` por la longitud de cada texto: dice cuántas columnas de relleno hay",
        ),
        Misconception(
            "only_causal",
            _padded_with(keys=_all_the_keys),
            "la máscara es solo la causal: el relleno está en el pasado y se vería",
        ),
        Misconception(
            "only_the_padding",
            _padded_with(past=_no_past),
            "la máscara no oculta el futuro: no basta con ocultar el relleno",
        ),
        Misconception(
            "everything_visible",
            _padded_with(past=_no_past, keys=_all_the_keys),
            "la máscara no oculta nada, ni el futuro ni el relleno",
        ),
        Misconception(
            "ignores_the_padding",
            _padded_with(lambda c, p, t: c.expand(len(p), t), keys=_all_the_keys),
            "no tienes en cuenta el relleno, ni en las posiciones ni en la máscara",
        ),
        Misconception(
            "column_numbers_and_queries",
            lambda padding, t: (
                torch.arange(t).expand(len(padding), t),
                causal_mask(t) & (torch.arange(t) >= padding[:, None])[:, :, None],
            ),
            "las posiciones son los números de columna, y en la máscara ocultas las preguntas del "
            "relleno, cuando lo que estorba es que responda",
        ),
        Misconception(
            "mask_of_padding_behind",
            _padded_with(real=lambda c, p: c < len(c) - p),
            "la máscara oculta las últimas columnas, y el relleno va delante",
        ),
        Misconception(
            "one_row_per_text",
            _padded_with(past=_no_past, form=lambda mask: mask[:, 0]),
            "la máscara es una fila por texto: se pide una por consulta, [batch, t, t], que además "
            "oculte el futuro",
        ),
        Misconception(
            "queries_instead_of_keys",
            _padded_with(keys=lambda real: real[:, :, None]),
            "ocultas las filas del relleno, que son sus preguntas: lo que estorba es que responda, "
            "y eso son sus columnas",
        ),
        Misconception(
            "sees_itself",
            _padded_with(
                visible=lambda past, keys, real: past & keys | torch.eye(len(past)).bool()
            ),
            "dejas que el relleno se mire a sí mismo, y se pide que nadie lo vea, ni él: la "
            "atención del curso da ceros a quien no ve nada",
        ),
        Misconception(
            "padding_sees_padding",
            _padded_with(keys=lambda real: real[:, None] | ~real[..., None]),
            "el relleno se ve entre sí: nadie lo ve, ni él",
        ),
        Misconception(
            "padding_sees_everything",
            _padded_with(visible=lambda past, keys, real: past & keys | ~real[:, :, None]),
            "las preguntas del relleno lo ven todo: el relleno no ve nada",
        ),
        Misconception(
            "first_token_hidden",
            _padded_with(real=lambda c, p: c > p),
            "ocultas también el primer token real de cada fila: la columna con número igual al "
            "relleno ya es texto",
        ),
        Misconception(
            "last_padding_seen",
            _padded_with(real=lambda c, p: c >= p - 1),
            "la última columna de relleno se ve: te sobra una",
        ),
        Misconception(
            "not_itself",
            _padded_with(past=lambda t: causal_mask(t).tril(-1)),
            "cada token se oculta a sí mismo: te falta la diagonal",
        ),
        Misconception(
            "future",
            _padded_with(past=lambda t: causal_mask(t).T),
            "usaste el triángulo contrario: cada token ve su futuro y no su pasado",
        ),
        Misconception(
            "transposed",
            _padded_with(past=lambda t: causal_mask(t).T, keys=lambda real: real[:, :, None]),
            "la máscara está transpuesta: una fila por consulta y una columna por clave",
        ),
        Misconception(
            "inverted",
            _padded_with(visible=lambda past, keys, real: ~(past & keys)),
            "la máscara está al revés: en este curso True marca lo visible",
        ),
        Misconception(
            "or_instead_of_and",
            _padded_with(visible=lambda past, keys, real: past | keys),
            "unes las dos máscaras con «o»: para verse, una clave tiene que ser real y además "
            "pasada",
        ),
        Misconception(
            "with_an_axis_for_heads",
            _padded_with(form=lambda mask: mask[:, None]),
            "a la máscara le sobra el eje de las cabezas: aquí es [batch, t, t]",
        ),
        Misconception(
            "additive",
            _padded_with(form=lambda mask: torch.zeros(mask.shape).masked_fill(~mask, -math.inf)),
            "devuelves la máscara aditiva, con 0 y −∞; se pide la booleana, True = visible",
        ),
        Misconception(
            "as_integers",
            _padded_with(form=lambda mask: mask.int()),
            "la máscara son ceros y unos enteros, y se piden valores lógicos: True = visible",
        ),
        Misconception(
            "as_floats",
            _padded_with(form=lambda mask: mask.float()),
            "la máscara son ceros y unos de punto flotante, y se piden valores lógicos: ¿falta "
            "dtype=bool?",
        ),
        Misconception(
            "swapped",
            _padded_with(give=lambda positions, mask: (mask, positions)),
            "las dos respuestas están intercambiadas: primero las posiciones",
        ),
        Misconception(
            "only_the_mask",
            _padded_with(give=lambda positions, mask: mask),
            "falta una de las dos respuestas: son las posiciones y la máscara",
        ),
    ),
)


# 8 · Encuentra los errores: escribir con una caché


def _write(model, prompt, max_new_tokens):
    tokens, cache, start, written = prompt, None, 0, []
    for _ in range(max_new_tokens):
        positions = torch.arange(start, start + tokens.shape[1])
        logits, cache = model(tokens, positions, cache)
        start += tokens.shape[1]
        tokens = logits[:, -1:].argmax(-1)
        written.append(tokens)
    return torch.cat(written, 1)


def _write_call(student, prompt, max_new_tokens, table):
    """Construye un modelo de una tabla, y cuenta las columnas que se le hacen leer.

    La puntuación de un token suma lo que opina cada token leído, según cuál es y a qué distancia,
    y algo que depende de la posición desde la que se predice.
    """
    read = []
    middle = len(table) // 2

    def model(tokens, positions, cache):
        read.append(tokens.shape[1])
        positions = positions.expand(tokens.shape).long()
        all_tokens, all_positions = tokens, positions
        if cache is not None:
            all_tokens = torch.cat((cache[0], tokens), 1)
            all_positions = torch.cat((cache[1], positions), 1)
        distance = (positions[:, :, None] - all_positions[:, None]).clamp(-middle, middle)
        opinions = table[distance + middle, all_tokens[:, None]]
        seen = causal_mask(tokens.shape[1], all_tokens.shape[1])
        here = table[positions.clamp(-middle, middle) + middle, 0]
        return (opinions * seen[..., None]).sum(2) + here, (all_tokens, all_positions)

    written = direct_call(student, model, prompt, max_new_tokens)
    where = f"max_new_tokens={max_new_tokens}"
    return {where: {"lo escrito": written, "cuántas columnas lee el modelo": sum(read)}}


def _write_cases(rng):
    vocab, farthest = 13, 12
    return [
        (
            torch.randint(0, vocab, (batch, t), generator=rng),
            new,
            _randn(rng, 2 * farthest + 1, vocab, vocab),
        )
        for batch, t, new in ((2, 3, 6), (3, 5, 5), (1, 1, 7), (2, 4, 1))
    ]


@combinable
def _writing(
    *,
    first=lambda prompt: prompt,
    origin=0,
    steps=lambda n: n,
    advance=lambda start, read, t_0: start + read,
    place=lambda start, t, i, t_0: torch.arange(start, start + t),
    keep=lambda old, new, i: new,
    choose=lambda logits: logits.argmax(-1),
    last=lambda answers: answers[:, -1:],
    following=lambda answers, chosen, text: chosen,
    give=lambda prompt, written: torch.cat(written, 1),
):
    """El bucle por pasos: qué se lee, dónde, con qué caché, qué se elige y qué se lee después."""

    def implementation(model, prompt, max_new_tokens):
        tokens, cache, start, written = first(prompt), None, origin, []
        for i in range(steps(max_new_tokens)):
            positions = place(start, tokens.shape[1], i, prompt.shape[1])
            logits, after = model(tokens, positions, cache)
            cache = keep(cache, after, i)
            start = advance(start, tokens.shape[1], prompt.shape[1])
            answers = choose(logits)
            written.append(last(answers))
            tokens = following(answers, written[-1], torch.cat((prompt, *written), 1))
        return give(prompt, written)

    return implementation


def _everything_again(answers, chosen, text):
    return text


def _in_order(start, t, i, t_0):
    """El paso correcto, como una opción más: así no se combina con otro de `place`."""
    return torch.arange(start, start + t)


def _always_there(start, read, t_0):
    return start


def _last_prompt_token_twice(back):
    """Lee la indicación y vuelve a leer su último token, `back` lugares antes del que sigue."""

    def implementation(model, prompt, max_new_tokens):
        start = prompt.shape[1] - back
        _, cache = model(prompt, torch.arange(prompt.shape[1]), None)
        logits, cache = model(prompt[:, -1:], torch.tensor([start]), cache)
        return _continue(model, logits, cache, start + 1, max_new_tokens)

    return implementation


def _reads_the_last_one(model, prompt, max_new_tokens):
    written = _write(model, prompt, max_new_tokens)
    model(written[:, -1:], torch.tensor([0]), None)
    return written


def _token_by_token(model, prompt, max_new_tokens):
    """Lee la indicación de uno en uno, y en ese bucle no corre las posiciones."""
    cache = None
    for token in prompt.split(1, 1):
        logits, cache = model(token, torch.tensor([0]), cache)
    return _continue(model, logits, cache, prompt.shape[1], max_new_tokens)


def _continue(model, logits, cache, start, max_new_tokens):
    written = [logits[:, -1:].argmax(-1)]
    for i in range(max_new_tokens - 1):
        logits, cache = model(written[-1], torch.tensor([start + i]), cache)
        written.append(logits[:, -1:].argmax(-1))
    return torch.cat(written, 1)


DECODE_BUG = Exercise(
    name="palm.decode_bug",
    points=2,
    reference=_write,
    cases=_write_cases,
    call=_write_call,
    misconceptions=(
        Misconception(
            "as_it_was",
            _writing(following=_everything_again, advance=_always_there),
            "todavía vuelve a leer el texto entero en cada paso, y la caché ya lo guarda: lo leído "
            "queda dos veces, tres, cuatro…",
        ),
        Misconception(
            "everything_again_further_on",
            _writing(following=_everything_again),
            "todavía vuelve a leer el texto entero en cada paso, ahora en posiciones nuevas: la "
            "caché ya lo guarda. Lee solo lo que no ha leído",
        ),
        Misconception(
            "from_zero",
            _writing(advance=_always_there, place=_in_order),
            "en cada lectura las posiciones vuelven a empezar: cuentan desde el comienzo del "
            "texto, no desde el de cada lectura",
        ),
        Misconception(
            "without_cache",
            _writing(following=_everything_again, advance=_always_there, keep=lambda o, n, i: None),
            "escribes sin caché: en cada paso vuelves a leer el texto entero, y cada token tiene "
            "que leerse una sola vez",
        ),
        Misconception(
            "forgets_the_cache",
            _writing(keep=lambda old, new, i: None),
            "la caché se pierde entre un paso y otro: cada token nuevo se lee sin nada de lo "
            "anterior",
        ),
        Misconception(
            "only_the_first_cache",
            _writing(keep=lambda old, new, i: new if i == 0 else old),
            "la caché es siempre la de la indicación: guarda la que devuelve cada paso, o lo "
            "escrito se olvida",
        ),
        Misconception(
            "stays_behind",
            _writing(advance=lambda start, read, t_0: t_0),
            "después de la indicación las posiciones no avanzan: la de cada token nuevo es la "
            "siguiente a la del anterior",
        ),
        Misconception(
            "counts_only_the_written",
            _writing(advance=lambda start, read, t_0: start + 1, place=_in_order),
            "cuentas solo lo escrito: la posición también cuenta la indicación",
        ),
        Misconception(
            "counts_the_written_from_zero",
            _writing(place=lambda start, t, i, t_0: torch.arange(t) + max(i - 1, 0)),
            "cuentas solo lo escrito, y desde 0: la posición también cuenta la indicación",
        ),
        Misconception(
            "one_too_far",
            _writing(place=lambda start, t, i, t_0: torch.arange(start, start + t) + min(i, 1)),
            "las posiciones de lo escrito van una adelante: la del primero sigue, sin hueco, a la "
            "del último de la indicación",
        ),
        Misconception(
            "one_too_near",
            _writing(place=lambda start, t, i, t_0: torch.arange(start, start + t) - min(i, 1)),
            "las posiciones de lo escrito van una atrás: la del primero sigue a la del último de "
            "la indicación, y no la repite",
        ),
        Misconception(
            "from_one",
            _writing(origin=1),
            "cuentas las posiciones desde 1: la del primer token es la 0",
        ),
        Misconception(
            "last_prompt_token_twice",
            _last_prompt_token_twice(0),
            "el último token de la indicación se lee dos veces, en dos posiciones: al leerla "
            "entera ya sabes qué sigue",
        ),
        Misconception(
            "last_prompt_token_twice_in_place",
            _last_prompt_token_twice(1),
            "el último token de la indicación se lee dos veces, en la misma posición: al leerla "
            "entera ya sabes qué sigue",
        ),
        Misconception(
            "only_the_last_of_the_prompt",
            _writing(first=lambda prompt: prompt[:, -1:]),
            "de la indicación solo se lee el último token: primero entra entera",
        ),
        Misconception(
            "only_the_last_of_the_prompt_in_its_place",
            _writing(
                first=lambda prompt: prompt[:, -1:],
                place=lambda start, t, i, t_0: torch.arange(t) + t_0 - 1 + i,
            ),
            "de la indicación solo se lee el último token, aunque en su lugar: primero entra "
            "entera",
        ),
        Misconception(
            "all_the_answers",
            _writing(
                following=lambda answers, chosen, text: answers,
                place=lambda start, t, i, t_0: torch.arange(t_0 + i - t, t_0 + i),
            ),
            "después de la indicación lees lo que el modelo respondió en todas sus posiciones: de "
            "cada lectura sale un solo token nuevo, el de la última",
        ),
        Misconception(
            "places_of_everything",
            _writing(place=lambda start, t, i, t_0: torch.arange(start + t)),
            "lees un token y das las posiciones de todo el texto: son las de lo que se lee ahora",
            raises=RuntimeError,
        ),
        Misconception(
            "reads_the_last_one",
            _reads_the_last_one,
            "lo escrito es correcto, pero también se lee el último token escrito, y nadie usa lo "
            "que dice el modelo después",
        ),
        Misconception(
            "prompt_without_places",
            _token_by_token,
            "lees la indicación de token en token, todos en la posición 0: cada uno tiene la suya",
        ),
        Misconception(
            "first_logits",
            _writing(last=lambda answers: answers[:, :1]),
            "eliges con los logits de la primera posición leída: el que sigue lo predice la última",
        ),
        Misconception(
            "least_probable",
            _writing(choose=lambda logits: logits.argmin(-1)),
            "eliges el menos probable: revisa qué extremo buscas",
        ),
        Misconception(
            "first_row_for_all",
            _writing(choose=lambda logits: logits[:1].argmax(-1).expand(len(logits), -1)),
            "todas las filas escriben lo que la primera: cada una elige lo suyo",
        ),
        Misconception(
            "with_the_prompt",
            _writing(give=lambda prompt, written: torch.cat((prompt, *written), 1)),
            "devuelves también la indicación: se piden solo los tokens nuevos",
        ),
        Misconception(
            "one_more",
            _writing(steps=lambda n: n + 1),
            "escribes un token de más: el primero sale de leer la indicación",
        ),
        Misconception(
            "time_first",
            _writing(give=lambda prompt, written: torch.cat(written, 1).T),
            "lo escrito sale con el tiempo delante; en este curso el lote va primero",
        ),
        Misconception(
            "third_axis",
            _writing(give=lambda prompt, written: torch.stack(written, 2)),
            "sobra un eje: lo escrito es [batch, max_new_tokens]. ¿`cat` o `stack`?",
        ),
        Misconception(
            "as_a_list",
            _writing(give=lambda prompt, written: written),
            "devuelves una lista de columnas: se pide un solo tensor",
        ),
    ),
)


# 9 · Contar parámetros


def _count(vocab_size, d_model, num_heads, d_head, d_ff, num_layers):
    attending = 2 * d_model * num_heads * d_head + 2 * d_model * d_head
    return num_layers * (attending + 3 * d_model * d_ff) + vocab_size * d_model


def _count_call(student, *sizes):
    names = ("vocab_size", "d_model", "num_heads", "d_head", "d_ff", "num_layers")
    where = ", ".join(f"{n}={size}" for n, size in zip(names, sizes, strict=True))
    return {where: direct_call(student, *sizes)}


def _count_cases(rng):
    # En ninguno las cabezas, juntas, miden d_model, como tampoco en el modelo mayor.
    cases = [(1000, 64, 4, 24, 256, 3), (500, 96, 3, 16, 200, 2)]
    for _ in range(3):
        d_model, d_head = 8 * _integer(rng, 5, 12), 2 * _integer(rng, 4, 9)
        heads = next(h for h in (4, 5, 6) if h * d_head != d_model)
        d_ff, layers = 16 * _integer(rng, 9, 20) + 1, _integer(rng, 3, 7)
        cases.append((_integer(rng, 300, 900), d_model, heads, d_head, d_ff, layers))
    return cases


@combinable
def _counting(
    *,
    W_q=lambda d, h, k: d * h * k,
    W_kv=lambda d, h, k: 2 * d * k,
    W_h=lambda d, h, k: d * h * k,
    network=lambda d, f: 3 * d * f,
    extra=lambda d, h, k, f: 0,
    table=lambda V, d: V * d,
    once=lambda d, k: 0,
    total=lambda n, block, rest: n * block + rest,
    after=lambda count: count,
):
    """La cuenta por partes: las de un bloque, las que se cuentan una vez y cómo se suman."""

    def implementation(V, d, h, k, f, n):
        block = W_q(d, h, k) + W_kv(d, h, k) + W_h(d, h, k) + network(d, f) + extra(d, h, k, f)
        return after(total(n, block, table(V, d) + once(d, k)))

    return implementation


PARAMETERS = Exercise(
    name="palm.parameters",
    points=1,
    reference=_count,
    cases=_count_cases,
    call=_count_call,
    tolerance=1e-9,
    misconceptions=(
        Misconception(
            "multi_head",
            _counting(W_kv=lambda d, h, k: 2 * d * h * k),
            "cuentas una clave y un valor por cabeza, y eso es la atención multicabeza: aquí las "
            "comparten todas",
        ),
        Misconception(
            "shared_by_the_layers",
            _counting(W_kv=lambda d, h, k: 0, once=lambda d, k: 2 * d * k),
            "cuentas W_k y W_v una sola vez para todo el modelo: las comparten las cabezas de un "
            "bloque, y cada bloque tiene las suyas",
        ),
        Misconception(
            "only_keys_are_shared",
            _counting(W_kv=lambda d, h, k: d * k + d * h * k),
            "compartes una de las dos, y la otra la cuentas por cabeza: se comparten claves y "
            "valores",
        ),
        Misconception(
            "one_of_the_two",
            _counting(W_kv=lambda d, h, k: d * k),
            "cuentas solo una de las dos matrices compartidas: están W_k y W_v",
        ),
        Misconception(
            "no_keys",
            _counting(W_kv=lambda d, h, k: 0),
            "faltan las claves y los valores: las cabezas los comparten, pero existen",
        ),
        Misconception(
            "no_width",
            _counting(W_kv=lambda d, h, k: 2 * d),
            "a W_k y W_v les falta un factor: cada una es una matriz, y tiene tantos números como "
            "filas por columnas",
        ),
        Misconception(
            "no_queries_nor_output",
            _counting(  # también W_kv, que sigue bien: con otras claves sería otra pareja
                W_q=lambda d, h, k: 0, W_kv=lambda d, h, k: 2 * d * k, W_h=lambda d, h, k: 0
            ),
            "faltan las dos matrices grandes de la atención: la de las consultas y W_h",
        ),
        Misconception(
            "no_output",
            _counting(W_h=lambda d, h, k: 0),
            "falta una de las dos matrices grandes de la atención: la de las consultas, o W_h, la "
            "que vuelve a d_model",
        ),
        Misconception(
            "square_queries",
            _counting(W_q=lambda d, h, k: d * d, W_h=lambda d, h, k: d * d),
            "supones que las cabezas, juntas, miden d_model; en el modelo de 540 mil millones no "
            "es así, y por eso el ancho de cabeza se da aparte",
        ),
        Misconception(
            "square_output",
            _counting(W_h=lambda d, h, k: d * d),
            "la matriz de salida de la atención no es cuadrada: recibe las cabezas juntas",
        ),
        Misconception(
            "one_head",
            _counting(W_q=lambda d, h, k: d * k, W_h=lambda d, h, k: d * k),
            "cuentas una sola cabeza: las consultas son de cada una",
        ),
        Misconception(
            "everything_per_head",
            _counting(W_h=lambda d, h, k: h * d * d),
            "la matriz de salida se aplica una vez a las cabezas juntas, no una vez por cabeza",
        ),
        Misconception(
            "no_network",
            _counting(network=lambda d, f: 0),
            "falta la red prealimentada, que es la parte mayor de un bloque",
        ),
        Misconception(
            "two_matrices",
            _counting(network=lambda d, f: 2 * d * f),
            "la red con dos matrices es la de 2017: la compuerta de SwiGLU es otra",
        ),
        Misconception(
            "four_times",
            _counting(network=lambda d, f: 12 * d * d),
            "supones d_ff = 4·d_model: es así en los tres modelos publicados, pero aquí llega "
            "aparte",
        ),
        Misconception(
            "two_thirds",
            _counting(network=lambda d, f: 3 * d * (2 * f // 3)),
            "estrechas la red a dos tercios, como hacen otros modelos para no pagar la tercera "
            "matriz: aquí d_ff es el que llega",
        ),
        Misconception(
            "the_classic_block",
            _counting(
                W_q=lambda d, h, k: d * d,
                W_kv=lambda d, h, k: 2 * d * d,
                W_h=lambda d, h, k: d * d,
                network=lambda d, f: 2 * d * f,
            ),
            "es la cuenta del bloque de 2017: cuatro matrices cuadradas y una red de dos. ¿Qué "
            "comparten ahora las cabezas, cuánto miden juntas y cuántas matrices tiene SwiGLU?",
        ),
        Misconception(
            "the_classic_block_with_heads",
            _counting(  # también W_q y W_h, que siguen bien: con una cabeza no sería multicabeza
                W_q=lambda d, h, k: d * h * k,
                W_kv=lambda d, h, k: 2 * d * h * k,
                W_h=lambda d, h, k: d * h * k,
                network=lambda d, f: 2 * d * f,
            ),
            "es la cuenta de un bloque multicabeza con una red de dos matrices. ¿Qué comparten "
            "ahora las cabezas, y cuántas matrices tiene SwiGLU?",
        ),
        Misconception(
            "classic_attention",
            _counting(
                W_q=lambda d, h, k: d * d, W_kv=lambda d, h, k: 2 * d * d, W_h=lambda d, h, k: d * d
            ),
            "la atención es la de 2017, con cuatro matrices cuadradas",
        ),
        Misconception(
            "biases",
            _counting(extra=lambda d, h, k, f: h * k + 2 * k + d + 2 * f + d),
            "cuentas sesgos: PaLM no tiene ninguno",
        ),
        Misconception(
            "one_norm",
            _counting(extra=lambda d, h, k, f: d),
            "cuentas las ganancias de las normalizaciones: aquí solo se piden las matrices",
        ),
        Misconception(
            "all_norms",
            _counting(extra=lambda d, h, k, f: d, once=lambda d, k: d),
            "cuentas las ganancias de las normalizaciones, también la final: aquí solo se piden "
            "las matrices",
        ),
        Misconception(
            "two_norms",
            _counting(extra=lambda d, h, k, f: 2 * d),
            "cuentas dos normalizaciones por bloque: el bloque en paralelo tiene una, y además "
            "aquí solo se piden las matrices",
        ),
        Misconception(
            "table_twice",
            _counting(table=lambda V, d: 2 * V * d),
            "cuentas la tabla dos veces: la misma sirve para entrar y para salir",
        ),
        Misconception(
            "no_table",
            _counting(table=lambda V, d: 0),
            "falta la tabla de incrustaciones",
        ),
        Misconception(
            "table_in_each_layer",
            _counting(total=lambda n, block, rest: n * (block + rest)),
            "multiplicas también la tabla por el número de bloques: hay una sola",
        ),
        Misconception(
            "one_layer",
            _counting(total=lambda n, block, rest: block + rest),
            "cuentas un solo bloque",
        ),
        Misconception(
            "as_a_float",
            _counting(after=lambda count: count / 1e9),
            "la cuenta está en miles de millones: se pide el número exacto",
        ),
    ),
)


# 10 · Lo que pesa la caché


_HEAD, _ALL_HEADS, _MODEL = 256, 48 * 256, 18_432


@combinable
def _cache_with(
    *,
    multi_head=(_ALL_HEADS, _ALL_HEADS),
    multi_query=(_HEAD, _HEAD),
    layers=118,
    number=2,
    tokens=1,
    unit=lambda size: size,
    order=lambda multi_head, multi_query: [multi_head, multi_query],
):
    """La cuenta por pasos: cuánto mide cada cosa que guarda un bloque, en cuántos, a qué bytes."""
    sizes = [unit(tokens * layers * sum(kept) * number) for kept in (multi_head, multi_query)]
    return lambda: order(*sizes)


CACHE = Exercise(
    name="palm.cache",
    points=1,
    reference=[118 * 2 * 48 * 256 * 2, 118 * 2 * 256 * 2],
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "swapped",
            _cache_with(order=lambda multi_head, multi_query: [multi_query, multi_head]),
            "están intercambiadas: la multiconsulta es la que guarda menos",
        ),
        Misconception(
            "half",
            _cache_with(number=1),
            "falta un factor de dos: ¿contaste claves y valores? ¿Y los bytes de cada número?",
        ),
        Misconception(
            "double",
            _cache_with(number=4),
            "sobra un factor de dos: ¿cuánto ocupa un número en bfloat16?",
        ),
        Misconception(
            "in_bits",
            _cache_with(unit=lambda size: 8 * size),
            "está en bits: se piden bytes",
        ),
        Misconception(
            "one_layer",
            _cache_with(layers=1),
            "cuentas un solo bloque: cada uno guarda sus claves y sus valores",
        ),
        Misconception(
            "one_layer_of_one",
            _cache_with(layers=1, number=1),
            "cuentas un solo bloque, y además falta un factor de dos: ¿contaste claves y "
            "valores? ¿Y los bytes de cada número?",
        ),
        Misconception(
            "width_of_the_model",
            _cache_with(multi_head=(_MODEL, _MODEL)),
            "en la multicabeza usas d_model; en este modelo las cabezas, juntas, miden otra cosa",
        ),
        Misconception(
            "width_of_the_model_in_both",
            _cache_with(multi_head=(_MODEL, _MODEL), multi_query=(_MODEL // 48, _MODEL // 48)),
            "sobra un factor de uno y medio: ¿usas d_model? En este modelo las cabezas, juntas, "
            "miden otra cosa. ¿O guardas también las consultas? Nadie vuelve a preguntar con "
            "ellas",
        ),
        Misconception(
            "width_of_the_model_for_one",
            _cache_with(multi_query=(_MODEL, _MODEL)),
            "en la multiconsulta usas d_model: la clave que comparten mide lo que una cabeza",
        ),
        Misconception(
            "the_same",
            _cache_with(multi_query=(_ALL_HEADS, _ALL_HEADS)),
            "en la multiconsulta cuentas claves y valores de todas las cabezas: ¿cuántas claves "
            "guarda un bloque por posición?",
        ),
        Misconception(
            "only_keys_are_shared",
            _cache_with(multi_query=(_HEAD, _ALL_HEADS)),
            "en la multiconsulta compartes una de las dos cosas; se comparten claves y valores",
        ),
        Misconception(
            "queries_of_each_head",
            _cache_with(multi_head=(_ALL_HEADS,) * 3, multi_query=(_HEAD, _HEAD, _ALL_HEADS)),
            "guardas también las consultas de cada cabeza: nadie vuelve a preguntar con ellas",
        ),
        Misconception(
            "whole_context",
            _cache_with(tokens=2048),
            "das lo de un texto de 2048 tokens: se pide lo de un token",
        ),
        Misconception(
            "numbers",
            _cache_with(  # también `unit`, que sigue igual: lo que no son bytes no está en bits
                multi_head=(_ALL_HEADS,), multi_query=(_HEAD,), number=1, unit=lambda size: size
            ),
            "cuentas números y no bytes, y además solo los de las claves",
        ),
        Misconception(
            "in_kib",
            _cache_with(unit=lambda size: size / 1024),
            "está en KiB: se piden bytes",
        ),
        Misconception(
            "in_mib",
            _cache_with(unit=lambda size: size / 2**20),
            "está en MiB: se piden bytes",
        ),
        Misconception(
            "in_megabytes",
            _cache_with(unit=lambda size: size / 1e6),
            "está en millones de bytes: se piden bytes",
        ),
        Misconception(
            "only_multi_query_halved",
            _cache_with(multi_query=(_HEAD,)),
            "en la multiconsulta cuentas una sola cosa: un bloque guarda una clave y también un "
            "valor",
        ),
    ),
)


# 11 · La utilización del modelo


def _mfu(tokens_per_second, num_parameters, num_layers, num_heads, d_head, length, chips, peak):
    per_token = 6 * num_parameters + 12 * num_layers * num_heads * d_head * length
    return tokens_per_second * per_token / (chips * peak)


def _mfu_cases(rng):
    # Modelos pequeños para su contexto: así la atención se nota.
    cases = []
    for _ in range(5):
        N, L, H = _integer(rng, 20, 50) * 10**7, _integer(rng, 20, 40), _integer(rng, 8, 20)
        Q, T = 128, _integer(rng, 12, 40) * 100
        chips, peak = _integer(rng, 3, 9), _integer(rng, 150, 300) * 10**12
        share = 0.25 + 0.3 * float(torch.rand((), generator=rng))
        observed = round(share * chips * peak / (6 * N + 12 * L * H * Q * T), 1)
        cases.append((observed, N, L, H, Q, T, chips, peak))
    return cases


@combinable
def _utilisation(
    *,
    per_parameter=2,
    per_number=4,
    numbers=lambda L, H, Q, T: L * H * Q * T,
    training=lambda parameters, attention: 3 * (parameters + attention),
    speed=lambda observed, T: observed,
    compare=lambda done, chips, peak: done / (chips * peak),
    after=lambda utilisation: utilisation,
):
    """La razón por pasos: un token hacia delante, al entrenar, en un segundo, y el máximo."""

    def implementation(observed, N, L, H, Q, T, chips, peak):
        per_token = training(per_parameter * N, per_number * numbers(L, H, Q, T))
        return after(compare(speed(observed, T) * per_token, chips, peak))

    return implementation


MFU = Exercise(
    name="palm.mfu",
    points=1,
    reference=_mfu,
    cases=_mfu_cases,
    tolerance=3e-7,
    misconceptions=(
        Misconception(
            "no_attention",
            _utilisation(per_number=0),
            "falta el término de la atención: comparar consultas con claves no usa parámetros, y "
            "también cuesta",
        ),
        Misconception(
            "only_attention",
            _utilisation(per_parameter=0),
            "falta lo que cuestan los parámetros: cada uno multiplica y suma en cada token",
        ),
        Misconception(
            "forward_only",
            _utilisation(training=lambda p, a: p + a),
            "cuentas solo el paso hacia delante: entrenar es también ir hacia atrás, que cuesta el "
            "doble",
        ),
        Misconception(
            "backward_costs_the_same",
            _utilisation(training=lambda p, a: 2 * (p + a)),
            "cuentas hacia atrás lo mismo que hacia delante, y cuesta el doble",
        ),
        Misconception(
            "only_backward",
            _utilisation(training=lambda p, a: 2 * p + 3 * a),
            "en los parámetros falta una parte: se va hacia delante y hacia atrás",
        ),
        Misconception(
            "one_operation_per_parameter",
            _utilisation(per_parameter=1),
            "en los parámetros cuentas una operación: cada uno multiplica y además suma",
        ),
        Misconception(
            "parameters_forward_only",
            _utilisation(training=lambda p, a: p + 3 * a),
            "de los parámetros cuentas solo el paso hacia delante",
        ),
        Misconception(
            "attention_forward_only",
            _utilisation(training=lambda p, a: 3 * p + a),
            "de la atención cuentas solo el paso hacia delante",
        ),
        Misconception(
            "recomputed",
            _utilisation(training=lambda p, a: 4 * (p + a)),
            "cuentas también lo que se recalcula para ahorrar memoria: eso es la utilización del "
            "equipo, HFU; la del modelo cuenta solo lo necesario",
        ),
        Misconception(
            "recomputed_parameters",
            _utilisation(training=lambda p, a: 4 * p + 3 * a),
            "en los parámetros cuentas también lo que se recalcula para ahorrar memoria: la "
            "utilización del modelo cuenta solo lo necesario",
        ),
        Misconception(
            "multiplications",
            _utilisation(training=lambda p, a: 3 * (p + a) / 2),
            "cuentas solo las multiplicaciones: una multiplicación y su suma son dos operaciones",
        ),
        Misconception(
            "half_of_the_attention",
            _utilisation(per_number=2),
            "de la atención cuentas la mitad: por cada clave hay dos productos, la puntuación y la "
            "mezcla de su valor, y aquí no se descuenta lo que tapa la máscara",
        ),
        Misconception(
            "one_head",
            _utilisation(numbers=lambda L, H, Q, T: L * Q * T),
            "la atención que cuentas es la de una sola cabeza",
        ),
        Misconception(
            "one_layer",
            _utilisation(numbers=lambda L, H, Q, T: H * Q * T),
            "la atención que cuentas es la de una sola capa",
        ),
        Misconception(
            "no_width",
            _utilisation(numbers=lambda L, H, Q, T: L * H * T),
            "en la atención falta el ancho de cabeza: cada puntuación es un producto de vectores",
        ),
        Misconception(
            "no_length",
            _utilisation(numbers=lambda L, H, Q, T: L * H * Q),
            "en la atención falta la longitud: cada token se compara con los demás",
        ),
        Misconception(
            "length_squared",
            _utilisation(numbers=lambda L, H, Q, T: L * H * Q * T * T),
            "la atención lleva T al cuadrado cuando se cuenta la secuencia entera; por token, T",
        ),
        Misconception(
            "per_sequence",
            _utilisation(speed=lambda observed, T: observed * T),
            "multiplicas por la longitud: la velocidad ya está en tokens por segundo",
        ),
        Misconception(
            "one_chip",
            _utilisation(compare=lambda done, chips, peak: done / peak),
            "comparas con un solo chip: el máximo es el de todos",
        ),
        Misconception(
            "missing_brackets",
            _utilisation(compare=lambda done, chips, peak: done / chips * peak),
            "divides entre los chips, pero multiplicas por el máximo: falta un paréntesis",
        ),
        Misconception(
            "whole_division",
            _utilisation(after=lambda utilisation: utilisation // 1),
            "`//` se queda con la parte entera, y de una fracción menor que 1 no deja nada",
        ),
        Misconception(
            "inverse",
            _utilisation(compare=lambda done, chips, peak: chips * peak / done),
            "está al revés: la utilización compara lo que se hace con lo que se podría hacer, y no "
            "pasa de 1",
        ),
        Misconception(
            "percent",
            _utilisation(after=lambda utilisation: 100 * utilisation),
            "está en tanto por ciento: se pide la fracción, entre 0 y 1",
        ),
        Misconception(
            "fastest",
            _utilisation(
                speed=lambda observed, T: 1, compare=lambda done, chips, peak: chips * peak / done
            ),
            "son los tokens por segundo que daría el equipo al máximo: falta compararlos con los "
            "observados",
        ),
        Misconception(
            "operations",
            _utilisation(compare=lambda done, chips, peak: done),
            "son las operaciones por segundo: falta compararlas con las que el equipo puede hacer",
        ),
    ),
)


# 12 · Una mezcla de expertos


def _mixture(x, W_router, experts, top_k):
    best, chosen = (x @ W_router).topk(top_k)
    return _visited(x, chosen, torch.softmax(best, -1), experts)


def _visited(x, chosen, gates, experts):
    """Cada experto ve los tokens que lo eligieron, y lo suyo se suma con su compuerta."""
    y = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = (chosen == number).nonzero(as_tuple=True)
        y = y.index_add(0, token, gates[token, place, None] * expert(x[token]))
    return y


def _mixture_call(student, x, W_router, parameters, top_k):
    """Construye los expertos de tensores, y cuenta los tokens que se les hace ver."""
    seen = []

    def expert_of(W):
        def expert(x):
            seen.append(x.numel() // x.shape[-1])
            return torch.tanh(x @ W[0]) @ W[1]

        return expert

    y = direct_call(student, x, W_router, [expert_of(W) for W in parameters], top_k)
    return {f"top_k={top_k}": {"la salida": y, "los tokens que ven los expertos": sum(seen)}}


def _mixture_cases(rng):
    return [
        (
            *_routed(rng, n, d, num_experts, top_k),
            [(_matrix(rng, d, 5, 2.0), _matrix(rng, 5, d)) for _ in range(num_experts)],
            top_k,
        )
        for n, d, num_experts, top_k in ((8, 4, 4, 2), (7, 5, 6, 3), (9, 3, 3, 2), (6, 4, 5, 1))
    ]


def _routed(rng, n, d, num_experts, top_k):
    """Los tokens y el enrutador; con uno por token, alguien queda sin nada y alguien con uno."""
    while True:
        x, W_router = 1.5 * _randn(rng, n, d), _matrix(rng, d, num_experts)
        load = (x @ W_router).argmax(-1).bincount(minlength=num_experts)
        if top_k > 1 or (0 in load[: int(load.nonzero().max())] and 1 in load):
            return x, W_router


@combinable
def _mixing(
    *,
    choose=lambda scores, k: scores.topk(k),
    gates=lambda best, scores: torch.softmax(best, -1),
    visit=_visited,
    after=lambda x, y: y,
):
    """La mezcla por pasos: elegir, pesar lo elegido, visitar a los expertos."""

    def implementation(x, W_router, experts, top_k):
        scores = x @ W_router
        best, chosen = choose(scores, top_k)
        return after(x, visit(x, chosen, gates(best, scores), experts))

    return implementation


def _all_work(x, chosen, gates, experts):
    full = torch.zeros(len(x), len(experts)).scatter(1, chosen, gates)
    return sum(full[:, e, None] * expert(x) for e, expert in enumerate(experts))


def _same_for_all(scores, k):
    mean = scores.mean(0, keepdim=True).expand_as(scores)
    return scores.gather(1, mean.topk(k).indices), mean.topk(k).indices


def _overwritten(x, chosen, gates, experts):
    y = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = (chosen == number).nonzero(as_tuple=True)
        y[token] = gates[token, place, None] * expert(x[token])
    return y


def _stops_at_an_idle_expert(x, chosen, gates, experts):
    busy = [bool((chosen == number).any()) for number in range(len(experts))]
    first_idle = [*busy, False].index(False)
    return _visited(x, chosen, gates, experts[:first_idle])


def _weighted_input(x, chosen, gates, experts):
    y = torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token, place = (chosen == number).nonzero(as_tuple=True)
        y = y.index_add(0, token, expert(gates[token, place, None] * x[token]))
    return y


def _experts_choose(x, W_router, experts, top_k):
    best, chosen = (x @ W_router).topk(top_k, dim=0)
    gates, y = torch.softmax(best, 0), torch.zeros_like(x)
    for number, expert in enumerate(experts):
        token = chosen[:, number]
        y = y.index_add(0, token, gates[:, number, None] * expert(x[token]))
    return y


def _sorted_by_expert(scores, k):
    best, chosen = scores.topk(k)
    return best, chosen.sort(-1).values


def _first_gate(best, scores):
    return torch.softmax(best, -1)[:, :1].expand_as(best)


def _all_with_zeros(scores, k):
    kept = torch.zeros_like(scores).scatter(1, *scores.topk(k)[::-1])
    return kept.topk(scores.shape[1])


MIXTURE = Exercise(
    name="palm.mixture",
    points=2,
    reference=_mixture,
    cases=_mixture_cases,
    call=_mixture_call,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "all_work",
            _mixing(visit=_all_work),
            "todos los expertos trabajan para todos los tokens, y casi todo se multiplica por "
            "cero: así no se ahorra nada. A cada uno, solo los suyos",
        ),
        Misconception(
            "all_experts",
            _mixing(choose=lambda scores, k: scores.topk(scores.shape[1])),
            "mezclas a todos los expertos: cada token tiene solo top_k",
        ),
        Misconception(
            "not_renormalised",
            _mixing(gates=lambda best, s: (best - s.logsumexp(-1, keepdim=True)).exp()),
            "las compuertas son las probabilidades entre todos los expertos: las de los elegidos "
            "tienen que sumar 1",
        ),
        Misconception(
            "softmax_twice",
            _mixing(  # cambia los dos pasos: con otras compuertas ya no serían dos softmax
                choose=lambda scores, k: torch.softmax(scores, -1).topk(k),
                gates=lambda best, scores: torch.softmax(best, -1),
            ),
            "pasas por el softmax dos veces, y así las compuertas se parecen demasiado entre sí: "
            "un softmax de puntuaciones, no de probabilidades",
        ),
        Misconception(
            "equal_gates",
            _mixing(gates=lambda best, scores: torch.full_like(best, 1 / best.shape[-1])),
            "los elegidos cuentan todos lo mismo: cada uno pesa según su puntuación",
        ),
        Misconception(
            "no_gates",
            _mixing(gates=lambda best, scores: torch.ones_like(best)),
            "sumas lo que responden los elegidos sin pesarlo",
        ),
        Misconception(
            "scores_as_gates",
            _mixing(gates=lambda best, scores: best),
            "pesas con las puntuaciones tal como salen, que pueden ser negativas y no suman 1",
        ),
        Misconception(
            "scores_divided",
            _mixing(gates=lambda best, scores: best / best.sum(-1, keepdim=True)),
            "divides las puntuaciones entre su suma, y pueden ser negativas o anularse: para eso "
            "está el softmax",
        ),
        Misconception(
            "first_gate_for_all",
            _mixing(gates=_first_gate),
            "todos los elegidos pesan lo que el primero: cada uno tiene su compuerta",
        ),
        Misconception(
            "averaged_again",
            _mixing(gates=lambda best, scores: torch.softmax(best, -1) / best.shape[-1]),
            "divides otra vez entre el número de elegidos: las compuertas ya suman 1",
        ),
        Misconception(
            "zero_instead_of_hidden",
            _mixing(choose=_all_with_zeros),
            "a los no elegidos les pones puntuación 0, y en un softmax un 0 también recibe su "
            "parte: así trabajan todos",
        ),
        Misconception(
            "sigmoid",
            _mixing(gates=lambda best, scores: torch.sigmoid(best)),
            "pesas con una sigmoide, y las compuertas de un token no suman 1",
        ),
        Misconception(
            "over_the_tokens",
            _mixing(gates=lambda best, scores: torch.softmax(best, 0)),
            "el softmax suma sobre los tokens: las compuertas de cada token suman 1",
        ),
        Misconception(
            "worst_experts",
            _mixing(choose=lambda scores, k: scores.topk(k, largest=False)),
            "eliges los expertos de menor puntuación",
        ),
        Misconception(
            "gates_backwards",
            _mixing(gates=lambda best, scores: torch.softmax(-best, -1)),
            "el elegido con más puntuación es el que menos pesa: revisa el signo",
        ),
        Misconception(
            "one_expert",
            _mixing(choose=lambda scores, k: scores.topk(1)),
            "cada token va solo a su mejor experto: son top_k",
        ),
        Misconception(
            "first_experts",
            _mixing(choose=lambda s, k: (s[:, :k], torch.arange(k).expand(len(s), k))),
            "todos los tokens van a los primeros expertos: cada uno a los de mayor puntuación",
        ),
        Misconception(
            "same_for_all",
            _mixing(choose=_same_for_all),
            "todos los tokens van a los mismos expertos: cada uno elige los suyos",
        ),
        Misconception(
            "gates_of_another",
            _mixing(choose=_sorted_by_expert),
            "ordenas los expertos elegidos por su número, y las compuertas siguen por puntuación: "
            "cada una acaba con el experto de otra",
        ),
        Misconception(
            "overwritten",
            _mixing(visit=_overwritten),
            "cada experto escribe sobre lo que dejó el anterior: lo de los elegidos se suma",
        ),
        Misconception(
            "stops_at_an_idle_expert",
            _mixing(visit=_stops_at_an_idle_expert),
            "dejas de recorrer los expertos en cuanto uno no recibe tokens: los que siguen todavía "
            "pueden tener los suyos",
        ),
        Misconception(
            "weighted_input",
            _mixing(visit=_weighted_input),
            "pesas lo que entra en el experto: se pesa lo que responde",
        ),
        Misconception(
            "experts_choose",
            _experts_choose,
            "cada experto elige sus tokens, y alguno puede quedarse sin ninguno: son los tokens "
            "los que eligen",
        ),
        Misconception(
            "residual",
            _mixing(after=lambda x, y: x + y),
            "sumas la entrada: la conexión residual es del bloque",
        ),
    ),
)


EXERCISES = (
    SWIGLU,
    ROTARY,
    LAYOUT,
    MULTI_QUERY,
    PARALLEL,
    READ,
    LEFT_PADDING,
    DECODE_BUG,
    PARAMETERS,
    CACHE,
    MFU,
    MIXTURE,
)
