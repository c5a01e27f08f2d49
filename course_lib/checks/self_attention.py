"""Ejercicios del tema Autoatención y los errores frecuentes que saben explicar."""

import math

import torch

from course_lib.judging.exercise import Exercise, Misconception, combinable, no_inputs
from course_lib.primitives.attention import attention, attention_weights
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

# El núcleo fusionado suma en otro orden que la fórmula escrita: sus gradientes difieren en 1e-5.
TOLERANCE = 1e-4


def _randn(rng: torch.Generator, *shape: int) -> torch.Tensor:
    """Sortea una entrada; la escala hace visibles los errores de temperatura."""
    return 1.5 * torch.randn(shape, generator=rng)


def _parameters(rng: torch.Generator, d_in: int, d_k: int, d_v: int) -> tuple[torch.Tensor, ...]:
    """Sortea W_q, W_k y W_v en la convención del libro, `[d_in, d_k]`."""
    return _randn(rng, d_in, d_k), _randn(rng, d_in, d_k), _randn(rng, d_in, d_v)


def _project(X, W_q, W_k, W_v):
    return X @ W_q, X @ W_k, X @ W_v


# 1 · Los pesos de atención


def _weights_cases(rng):
    return [
        (_randn(rng, 5, 3), _randn(rng, 5, 3)),
        (_randn(rng, 4, 8), _randn(rng, 6, 8)),
        (_randn(rng, 2, 3, 4), _randn(rng, 2, 5, 4)),
    ]


def _softmax_over(dim):
    return lambda scores: torch.softmax(scores, dim=dim)


_by_rows = _softmax_over(-1)


@combinable
def _weights_with(
    *,
    score=lambda Q, K: Q @ K.mT,
    scale=lambda Q, K: 1 / math.sqrt(Q.shape[-1]),
    normalise=_by_rows,
):
    """Los pesos en tres pasos: puntuar, escalar y normalizar."""
    return lambda Q, K: normalise(score(Q, K) * scale(Q, K))


WEIGHTS = Exercise(
    name="self_attention.weights",
    points=1,
    reference=attention_weights,
    cases=_weights_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "divides_by_d",
            _weights_with(scale=lambda Q, K: 1 / Q.shape[-1]),
            "divides las puntuaciones por d_k, y la escala es su raíz cuadrada: un producto "
            "escalar de d_k términos crece como √d_k, no como d_k",
        ),
        Misconception(
            "no_scale",
            _weights_with(scale=lambda Q, K: 1.0),
            "falta la escala: sin dividir por √d_k, el softmax se vuelve casi duro cuando d_k "
            "crece",
        ),
        Misconception(
            "multiplies_by_root",
            _weights_with(scale=lambda Q, K: math.sqrt(Q.shape[-1])),
            "multiplicas por √d_k en lugar de dividir: así la temperatura inversa crece con d_k",
        ),
        Misconception(
            "scale_by_length",
            _weights_with(scale=lambda Q, K: 1 / math.sqrt(K.shape[-2])),
            "la escala usa el número de claves; la que importa es la dimensión d_k, el último eje",
        ),
        Misconception(
            "softmax_over_queries",
            _weights_with(normalise=_softmax_over(-2)),
            "el softmax va sobre el eje de las claves (el último): cada consulta reparte un "
            "total de 1, así que son las filas las que deben sumar 1, no las columnas",
        ),
        Misconception(
            "no_softmax",
            _weights_with(normalise=lambda scores: scores),
            "son puntuaciones, todavía no pesos: falta el softmax, que las hace positivas y "
            "reparte un total de 1 por fila",
        ),
        Misconception(
            "swapped",
            _weights_with(score=lambda Q, K: K @ Q.mT),
            "intercambiaste consultas y claves: la fila i debe ser la de la consulta i",
        ),
        Misconception(
            "transposed",
            _weights_with(score=lambda Q, K: K @ Q.mT, normalise=_softmax_over(-2)),
            "los pesos salen transpuestos: una fila por consulta y una columna por clave",
        ),
        Misconception(
            "transposes_every_axis",
            _weights_with(score=lambda Q, K: Q @ K.permute(*range(K.ndim - 1, -1, -1))),
            "K.T invierte todos los ejes, también el del lote: transpón solo los dos últimos, "
            "con K.mT o K.transpose(-2, -1)",
            raises=RuntimeError,
        ),
    ),
)


# 2 · El contexto de una palabra


def _context(i, X, W_q, W_k, W_v):
    Q, K, V = _project(X, W_q, W_k, W_v)
    return attention(Q[i : i + 1], K, V).squeeze(0)


def _context_cases(rng):
    # Entradas menores: con puntuaciones grandes, softmax se satura y la escala no se nota.
    return [
        (1, 0.4 * _randn(rng, 6, 3), *_parameters(rng, 3, 2, 2)),
        (4, 0.4 * _randn(rng, 5, 4), *_parameters(rng, 4, 4, 4)),
        (0, 0.4 * _randn(rng, 6, 2), *_parameters(rng, 2, 5, 3)),
    ]


@combinable
def _context_with(
    *,
    parameter=lambda W: W,
    compare=lambda X, W_q, W_k: (X @ W_q, X @ W_k),
    values=lambda X, K, W_v: X @ W_v,
    scale=lambda X, Q: 1 / math.sqrt(Q.shape[-1]),
    pick=lambda H, i: H[i],
):
    """El contexto de una palabra: proyectar, atender y quedarse con su fila."""

    def implementation(i, X, *parameters):
        W_q, W_k, W_v = map(parameter, parameters)
        Q, K = compare(X, W_q, W_k)
        return pick(attention(Q, K, values(X, K, W_v), beta=scale(X, Q)), i)

    return implementation


CONTEXT = Exercise(
    name="self_attention.context",
    points=2,
    reference=_context,
    cases=_context_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "values_are_inputs",
            _context_with(values=lambda X, K, W_v: X),
            "mezclas las entradas X en lugar de los valores: falta V = X @ W_v",
        ),
        Misconception(
            "values_are_keys",
            _context_with(values=lambda X, K, W_v: K),
            "mezclas las claves: sirven para puntuar, y lo que se mezcla son los valores, X @ W_v",
        ),
        Misconception(
            "no_projections",
            _context_with(compare=lambda X, W_q, W_k: (X, X)),
            "comparas las entradas entre sí: antes hay que llevarlas a consultas y claves con "
            "W_q y W_k",
        ),
        Misconception(
            "no_scale",
            _context_with(scale=lambda X, Q: 1.0),
            "las puntuaciones no están escaladas: divídelas por √d_k antes del softmax",
        ),
        Misconception(
            "scale_by_d_in",
            _context_with(scale=lambda X, Q: 1 / math.sqrt(X.shape[-1])),
            "la escala usa la dimensión de las entradas; d_k es la de las consultas y las claves",
        ),
        Misconception(
            "divides_by_d",
            _context_with(scale=lambda X, Q: 1 / Q.shape[-1]),
            "divides por d_k y la escala es √d_k",
        ),
        Misconception(
            "all_queries",
            _context_with(pick=lambda H, i: H),
            "devuelves el contexto de todas las palabras; se pide solo el de la palabra i",
        ),
        Misconception(
            "keeps_axis",
            _context_with(pick=lambda H, i: H[i : i + 1]),
            "el resultado tiene un eje de más: si tomaste X[i : i + 1] para tener una matriz, "
            "quita al final ese eje; el contexto es un vector de forma [d_v]",
        ),
        Misconception(
            "transposed",
            _context_with(parameter=torch.t),
            "transpones los parámetros: aquí W tiene forma [d_in, d_k] y se usa tal cual, X @ W; "
            "la transpuesta es de nn.Linear, que guarda [d_out, d_in]",
            raises=RuntimeError,
        ),
    ),
)


# 3 · Los parámetros, apilados como los guarda la biblioteca


def _stack(W_q, W_k, W_v):
    return torch.cat([W_q.T, W_k.T, W_v.T])


def _stack_cases(rng):
    return [_parameters(rng, 3, 2, 2), _parameters(rng, 4, 4, 4), _parameters(rng, 2, 5, 5)]


@combinable
def _stack_with(*, order=lambda *W: W, turn=torch.t, join=torch.cat):
    """Ordenar las matrices, transponer cada una y unirlas."""
    return lambda *W: join([turn(w) for w in order(*W)])


def _side_by_side(matrices):
    return torch.cat(matrices, dim=1)


STACKED_WEIGHTS = Exercise(
    name="self_attention.stacked_weights",
    points=1,
    reference=_stack,
    cases=_stack_cases,
    misconceptions=(
        Misconception(
            "not_transposed",
            _stack_with(turn=lambda w: w),
            "apilas las matrices sin transponer: nn.Linear guarda [d_out, d_in] y calcula x @ "
            "weight.T, así que cada W debe llegar transpuesta",
        ),
        Misconception(
            "side_by_side",
            _stack_with(turn=lambda w: w, join=_side_by_side),
            "las pones una al lado de la otra, [d_in, 3·d_k]: es lo que usarías en X @ W; "
            "nn.Linear guarda la transpuesta",
        ),
        Misconception(
            "side_by_side_transposed",
            _stack_with(join=_side_by_side),
            "las unes por columnas: consultas, claves y valores son salidas distintas, y las "
            "salidas de nn.Linear van por filas",
        ),
        Misconception(
            "reshaped",
            _stack_with(turn=lambda w: w.reshape(w.shape[1], w.shape[0])),
            "reshape y view no transponen: cambian la forma y dejan los números en otro orden; "
            "usa .T",
        ),
        Misconception(
            "keys_first",
            _stack_with(order=lambda W_q, W_k, W_v: (W_k, W_q, W_v)),
            "el orden cambia el papel de cada bloque: primero consultas, después claves, después "
            "valores",
        ),
        Misconception(
            "new_axis",
            _stack_with(join=torch.stack),
            "torch.stack crea un eje nuevo, de tamaño 3; una capa lineal espera una matriz: usa "
            "torch.cat",
            raises=RuntimeError,
        ),
    ),
)


# 4 · Autoatención causal


def _visible(t):
    """Marca lo visible, escrito sin la biblioteca para que los errores lo cambien."""
    return torch.ones(t, t, dtype=torch.bool).tril()


def _causal(X, W_q, W_k, W_v):
    Q, K, V = _project(X, W_q, W_k, W_v)
    return attention_weights(Q, K, mask=_visible(X.shape[-2])) @ V


def _causal_cases(rng):
    return [
        (_randn(rng, 5, 3), *_parameters(rng, 3, 2, 2)),
        (_randn(rng, 4, 4), *_parameters(rng, 4, 4, 4)),
        (_randn(rng, 2, 6, 3), *_parameters(rng, 3, 5, 4)),
        (_randn(rng, 1, 3), *_parameters(rng, 3, 2, 3)),
    ]


def _fill_with(worst):
    return lambda scores, hidden: scores.masked_fill(hidden, worst)


def _show_all(scores, hidden):
    return scores


_hide = _fill_with(-math.inf)


@combinable
def _causal_with(
    *,
    scale=lambda Q: 1 / math.sqrt(Q.shape[-1]),
    hidden=lambda t: ~_visible(t),
    hide=_hide,
    normalise=_by_rows,
    after=lambda A, hidden: A,
    values=lambda X, W_v: X @ W_v,
):
    """La autoatención causal: puntuar, ocultar lo que diga `hidden(t)`, normalizar y mezclar.

    Normalizar una columna oculta entera da NaN en todo, que no señala ningún error: los dos que
    la ocultan fijan también `normalise`, y así no hacen pareja con quien normaliza por columnas.
    """

    def implementation(X, W_q, W_k, W_v):
        Q, K, unseen = X @ W_q, X @ W_k, hidden(X.shape[-2])
        A = normalise(hide(scale(Q) * (Q @ K.mT), unseen))
        return after(A, unseen) @ values(X, W_v)

    return implementation


def _also_the_diagonal(t):
    return ~_visible(t).tril(-1)


_HIDDEN_FUTURE = "cada palabra debe ver las anteriores y a sí misma"

CAUSAL = Exercise(
    name="self_attention.causal",
    answers=(
        "course_lib.primitives.attention.attention",
        "course_lib.primitives.attention.attention_weights",
        "course_lib.primitives.softmax.soft_argmax",
    ),
    points=2,
    reference=_causal,
    cases=_causal_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "no_mask",
            _causal_with(hide=_show_all),
            "no hay máscara: cada palabra sigue viendo las que vienen después",
        ),
        Misconception(
            "mask_after_softmax",
            _causal_with(hide=_show_all, after=lambda A, hidden: A.masked_fill(hidden, 0.0)),
            "aplicas la máscara después del softmax: lo oculto sigue contando en el "
            "denominador; oculta las puntuaciones antes",
        ),
        Misconception(
            "upper_triangle",
            _causal_with(hidden=lambda t: _visible(t).tril(-1)),
            "ocultas el pasado y dejas ver el futuro: usaste el triángulo contrario; "
            f"{_HIDDEN_FUTURE}",
        ),
        Misconception(
            "inverted",
            _causal_with(hidden=_visible, normalise=_softmax_over(-1)),
            "la máscara está al revés: True marca lo visible, y masked_fill cambia lo que es "
            "True; te falta un ~",
        ),
        Misconception(
            "diagonal_hidden",
            _causal_with(hidden=_also_the_diagonal, normalise=_softmax_over(-1)),
            f"ocultas también la diagonal: {_HIDDEN_FUTURE}; a la primera no le dejas nada que ver",
        ),
        Misconception(
            "diagonal_hidden_finite",
            _causal_with(hidden=_also_the_diagonal, hide=_fill_with(-1e9)),
            f"ocultas también la diagonal: {_HIDDEN_FUTURE}; como usas −1e9 y no −∞, donde no "
            "queda nada que ver el peso se reparte entre lo oculto",
        ),
        Misconception(
            "one_step_ahead",
            _causal_with(hidden=lambda t: ~torch.ones(t, t, dtype=torch.bool).tril(1)),
            "cada palabra ve también la siguiente, justo la que tendría que adivinar: la "
            "diagonal límite es la 0, no la 1",
        ),
        Misconception(
            "hides_with_zero",
            _causal_with(hide=_fill_with(0.0)),
            "pones 0 en las puntuaciones ocultas, y e⁰ = 1 sigue recibiendo peso: hace falta −∞",
        ),
        Misconception(
            "values_are_inputs",
            _causal_with(values=lambda X, W_v: X),
            "mezclas las entradas X en lugar de los valores: falta V = X @ W_v",
        ),
        Misconception(
            "no_scale",
            _causal_with(scale=lambda Q: 1.0),
            "faltó dividir las puntuaciones por √d_k",
        ),
        Misconception(
            "divides_by_d",
            _causal_with(scale=lambda Q: 1 / Q.shape[-1]),
            "divides las puntuaciones por d_k y la escala es √d_k",
        ),
        Misconception(
            "softmax_over_queries",
            _causal_with(normalise=_softmax_over(-2)),
            "el softmax va sobre las claves, el último eje; el tuyo va sobre las consultas y "
            "normaliza cada columna",
        ),
    ),
)


# 5 · Encuentra el error


def _self_attention(X, W_q, W_k, W_v):
    Q, K, V = _project(X, W_q, W_k, W_v)
    return attention_weights(Q, K) @ V


@combinable
def _attend_with(*, normalise=_by_rows, mix=lambda A, V: A @ V):
    """La autoatención: puntuar, normalizar y mezclar."""

    def implementation(X, W_q, W_k, W_v):
        Q, K, V = _project(X, W_q, W_k, W_v)
        return mix(normalise(Q @ K.mT / math.sqrt(Q.shape[-1])), V)

    return implementation


def _over_everything(scores):
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)


def _batch_cases(rng):
    return [
        (_randn(rng, 4, 3), *_parameters(rng, 3, 2, 2)),
        (_randn(rng, 3, 5, 4), *_parameters(rng, 4, 2, 3)),
        (_randn(rng, 2, 3, 4, 2), *_parameters(rng, 2, 3, 2)),
    ]


BATCH_BUG = Exercise(
    name="self_attention.batch_bug",
    points=2,
    reference=_self_attention,
    cases=_batch_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "unchanged",
            _attend_with(normalise=_softmax_over(1)),
            "el error sigue ahí: con una sola oración, [t, t], el eje 1 es el de las claves; con "
            "un lote, [lote, t, t], el eje 1 es otro",
        ),
        Misconception(
            "first_axis",
            _attend_with(normalise=_softmax_over(0)),
            "con un lote, el eje 0 es el de los ejemplos: normalizar sobre él mezcla oraciones "
            "distintas",
        ),
        Misconception(
            "query_axis",
            _attend_with(normalise=_softmax_over(-2)),
            "ahora cuentas los ejes desde el final, que es lo correcto, pero el −2 es el de las "
            "consultas",
        ),
        Misconception(
            "both_axes",
            _attend_with(normalise=_over_everything),
            "normalizas toda la matriz a la vez: es cada fila la que debe sumar 1",
        ),
        Misconception(
            "fixed_axis_two",
            _attend_with(normalise=_softmax_over(2)),
            "el eje 2 sirve para los lotes de un eje, pero no para una sola oración ni para varios "
            "ejes de lote: cuenta el eje desde el final",
            raises=IndexError,
        ),
        Misconception(
            "transposed_weights",
            _attend_with(mix=lambda A, V: A.mT @ V),
            "transpones los pesos antes de mezclar: la fila i de A es la de la consulta i",
        ),
    ),
)


# 6 · Leer tres mapas de calor


def _answer(text, hint):
    return Misconception(f"answers_{text.lower()}", text, hint)


READ_MAPS = Exercise(
    name="self_attention.read_maps",
    points=1,
    reference="BCA",
    cases=no_inputs,
    misconceptions=(
        _answer(
            "CBA",
            "confundes la máscara aplicada antes con la aplicada después del softmax: suma "
            "cada fila de los dos mapas",
        ),
        _answer(
            "ACB",
            "el mapa que elegiste como correcto suma 1 por columnas; la atención reparte 1 por "
            "filas",
        ),
        _answer(
            "BAC",
            "la correcta es esa; en las otras dos, suma las columnas: una suma 1 y la otra no",
        ),
        _answer(
            "CAB",
            "ninguna está en su lugar: mira la primera fila, que solo puede ver una palabra; su "
            "único peso debería ser 1",
        ),
        _answer(
            "ABC",
            "la primera fila de tu mapa correcto no tiene peso 1, y es una palabra que solo se "
            "puede ver a sí misma",
        ),
    ),
)


# 7 · ¿Es equivariante?


def _layer(kind, W):
    """Construye, a partir de datos simples, la función que el estudiante examina."""

    def attend(X, **options):
        return attention(X @ W, X, X, **options)

    return {
        "autoatención": attend,
        "causal": lambda X: attend(X, mask=_visible(X.shape[-2])),
        "con posiciones": lambda X: attend(X + sinusoidal_positions(*X.shape).to(X)),
        "media": lambda X: X.mean(dim=0, keepdim=True).expand_as(X),
        "acumulada": lambda X: X.cumsum(dim=0),
        "ordenada": lambda X: X.sort(dim=0).values,
        "primera": lambda X: X[:1].expand_as(X),
        "doble": lambda X: 2 * X,
        "última": lambda X: torch.cat((X[:-1], 2 * X[-1:])),
        "espejo": lambda X: X * torch.tensor([1.0, 2.0, 3.0, 2.0, 1.0]).to(X)[:, None],
        "girada": lambda X: torch.stack([row.roll(i) for i, row in enumerate(X)]),
        "decimales": lambda X: X * (1 + 1e-6 * torch.arange(len(X)).to(X)[:, None]),
        "redondeo": lambda X: X + 2e-5 * sinusoidal_positions(*X.shape).to(X),
        "casi": lambda X: X + 1e-4 * sinusoidal_positions(*X.shape).to(X),
    }[kind]


def _equivariance_call(student, kind, X, W, order):
    return student(_layer(kind, W), X, order)


def _is_equivariant(f, X, order):
    return torch.allclose(f(X[order]), f(X)[order], atol=1e-4)


def _equivariance_cases(rng):
    kinds = ("autoatención", "causal", "con posiciones", "media", "acumulada", "ordenada")
    kinds += ("primera", "doble", "última", "espejo", "girada", "decimales", "redondeo", "casi")
    cycle = torch.tensor([2, 0, 3, 4, 1])  # no es su propia inversa
    cases = [(kind, _randn(rng, 5, 4), _randn(rng, 4, 4), cycle) for kind in kinds]
    return [cases[i] for i in torch.randperm(len(cases), generator=rng)]


@combinable
def _answer_with(*, compare=_is_equivariant, answer=lambda alike: alike):
    """Comparar y responder.

    Qué se compara y con qué tolerancia es un solo paso: fallar en las dos cosas da respuestas casi
    constantes, como las de muchos otros errores, y no se sabría cuál es.
    """
    return lambda f, X, order: answer(compare(f, X, order))


EQUIVARIANCE = Exercise(
    name="self_attention.equivariance",
    points=2,
    reference=_is_equivariant,
    cases=_equivariance_cases,
    call=_equivariance_call,
    misconceptions=(
        Misconception(
            "invariance",
            _answer_with(compare=lambda f, X, order: torch.allclose(f(X[order]), f(X), atol=1e-4)),
            "compruebas que la salida no cambia (invarianza); la autoatención no hace eso: su "
            "salida se reordena igual que la entrada",
        ),
        Misconception(
            "inverse_order",
            _answer_with(
                compare=lambda f, X, order: torch.allclose(
                    f(X[order]), f(X)[order.argsort()], atol=1e-4
                )
            ),
            "reordenas la salida con la permutación inversa: entrada y salida se reordenan igual",
        ),
        Misconception(
            "input_only",
            _answer_with(compare=lambda f, X, order: torch.allclose(f(X)[order], f(X), atol=1e-4)),
            "nunca le das a la función la entrada reordenada: hay que calcular f dos veces, con "
            "X y con X[order]",
        ),
        Misconception(
            "columns",
            _answer_with(
                compare=lambda f, X, order: torch.allclose(
                    f(X[order]).sum(dim=0), f(X)[order].sum(dim=0), atol=1e-4
                )
            ),
            "comparas sumas sobre las palabras, que no notan el orden: compara fila a fila",
        ),
        Misconception(
            "negated",
            _answer_with(answer=lambda alike: not alike),
            "la respuesta está al revés: True significa que sí es equivariante",
        ),
        Misconception(
            "exact",
            _answer_with(compare=lambda f, X, order: torch.equal(f(X[order]), f(X)[order])),
            "exiges igualdad exacta: en punto flotante, sumar en otro orden cambia los últimos "
            "decimales; usa torch.allclose con atol=1e-4",
        ),
        Misconception(
            "default_tolerance",
            _answer_with(compare=lambda f, X, order: torch.allclose(f(X[order]), f(X)[order])),
            "comparas con la tolerancia de fábrica, menor que la pedida: pasa atol=1e-4",
        ),
        Misconception(
            "loose_tolerance",
            _answer_with(
                compare=lambda f, X, order: torch.allclose(f(X[order]), f(X)[order], atol=1e-2)
            ),
            "toleras diferencias grandes: una función que depende un poco del orden pasa tu "
            "prueba; el límite pedido es 1e-4",
        ),
        Misconception(
            "shapes_only",
            lambda f, X, order: f(X[order]).shape == f(X)[order].shape,
            "tu prueba da True con cualquier función: compara algo que coincide siempre, como las "
            "formas; hay que comparar los valores de f(X[order]) y f(X)[order]",
        ),
    ),
)


# 8 · Diseña los parámetros

LOOK = 6.0
"""Puntuación pedida donde una categoría mira a otra."""


def _design():
    _, nombre, verbo = LOOK * torch.eye(3)
    return torch.stack([nombre, verbo, nombre]), torch.eye(3)


def _design_call(student, X):
    W_q, W_k = student()
    for W in (W_q, W_k):  # con más ejes, el producto los combinaría todos con todos
        if not isinstance(W, torch.Tensor) or W.ndim != 2:
            raise ValueError("W_q y W_k son dos matrices")
    return (X @ W_q) @ (X @ W_k).T


def _design_cases(rng):
    orders = [torch.randperm(3, generator=rng).repeat(2)[: 5 - i] for i in range(2)]
    return [(torch.eye(3)[order],) for order in orders]


@combinable
def _design_with(*, looks=((0, 1, 0), (0, 0, 1), (0, 1, 0)), score=LOOK):
    """A quién mira cada categoría (función, nombre y verbo, por filas) y con qué puntuación."""
    return lambda: (score * torch.tensor(looks, dtype=torch.float32), torch.eye(3))


DESIGN = Exercise(
    name="self_attention.design",
    points=2,
    reference=_design,
    cases=_design_cases,
    call=_design_call,
    misconceptions=(
        Misconception(
            "similar_attracts",
            _design_with(looks=((1, 0, 0), (0, 1, 0), (0, 0, 1))),
            "con tus parámetros cada palabra mira a las de su propia categoría: W_q dice qué "
            "busca, y no tiene por qué ser lo que la palabra es",
        ),
        Misconception(
            "queries_and_keys_swapped",
            _design_with(looks=((0, 0, 0), (1, 0, 1), (0, 1, 0))),
            "las miradas van al revés: quien busca es la consulta (W_q) y quien se ofrece, la "
            "clave (W_k); ¿devolviste las matrices en el otro orden?",
        ),
        Misconception(
            "symmetric",
            _design_with(looks=((0, 1, 0), (1, 0, 1), (0, 1, 0))),
            "los nombres miran también a las palabras de función; las miradas no son simétricas, "
            "y para eso hay dos matrices y no una",
        ),
        Misconception(
            "ignores_function_words",
            _design_with(looks=((0, 0, 0), (0, 0, 1), (0, 1, 0))),
            "las palabras de función no miran a nadie: su fila de puntuaciones es toda de ceros",
        ),
        Misconception(
            "score_one",
            _design_with(score=1.0),
            "las puntuaciones valen 1: con ellas la atención casi no se concentra",
        ),
        Misconception(
            "scaled_twice",
            _design_with(score=LOOK**2),
            "pusiste el factor en las dos matrices, y la puntuación es su producto: sale al "
            "cuadrado",
        ),
    ),
)


EXERCISES = (
    WEIGHTS,
    CONTEXT,
    STACKED_WEIGHTS,
    CAUSAL,
    BATCH_BUG,
    READ_MAPS,
    EQUIVARIANCE,
    DESIGN,
)
