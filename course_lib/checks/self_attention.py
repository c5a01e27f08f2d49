"""Ejercicios del tema Autoatención y los errores frecuentes que saben explicar."""

import math

import torch

from course_lib.grading.exercise import Exercise, Misconception, no_inputs
from course_lib.primitives.attention import attention, attention_weights
from course_lib.primitives.positions import sinusoidal_positions

# El núcleo fundido suma en otro orden que la fórmula escrita: sus gradientes difieren en 1e-5.
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


def _weights_with_scale(scale):
    return lambda Q, K: torch.softmax(Q @ K.mT * scale(Q, K), dim=-1)


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
            _weights_with_scale(lambda Q, K: 1 / Q.shape[-1]),
            "divides las puntuaciones por d_k, y la escala es su raíz cuadrada: un producto "
            "escalar de d_k términos crece como √d_k, no como d_k",
        ),
        Misconception(
            "no_scale",
            _weights_with_scale(lambda Q, K: 1.0),
            "falta la escala: sin dividir por √d_k, la softmax se vuelve casi dura cuando d_k "
            "crece",
        ),
        Misconception(
            "multiplies_by_root",
            _weights_with_scale(lambda Q, K: math.sqrt(Q.shape[-1])),
            "multiplicas por √d_k en lugar de dividir: así la temperatura inversa crece con d_k",
        ),
        Misconception(
            "scale_by_length",
            _weights_with_scale(lambda Q, K: 1 / math.sqrt(K.shape[-2])),
            "la escala usa el número de claves; la que importa es la dimensión d_k, el último eje",
        ),
        Misconception(
            "softmax_over_queries",
            lambda Q, K: torch.softmax(Q @ K.mT / math.sqrt(Q.shape[-1]), dim=-2),
            "la softmax va sobre el eje de las claves (el último): cada consulta reparte un "
            "total de 1, así que son las filas las que deben sumar 1, no las columnas",
        ),
        Misconception(
            "no_softmax",
            lambda Q, K: Q @ K.mT / math.sqrt(Q.shape[-1]),
            "son las puntuaciones escaladas, todavía no los pesos: falta la softmax, que las hace "
            "positivas y reparte un total de 1 por fila",
        ),
        Misconception(
            "swapped",
            lambda Q, K: torch.softmax(K @ Q.mT / math.sqrt(Q.shape[-1]), dim=-1),
            "intercambiaste consultas y claves: la fila i debe ser la de la consulta i",
        ),
        Misconception(
            "transposes_every_axis",
            lambda Q, K: torch.softmax(
                Q @ K.permute(*range(K.ndim - 1, -1, -1)) / math.sqrt(Q.shape[-1]), dim=-1
            ),
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


def _context_values_are_inputs(i, X, W_q, W_k, W_v):
    Q, K, _ = _project(X, W_q, W_k, W_v)
    return attention(Q[i : i + 1], K, X).squeeze(0)


def _context_without_projections(i, X, W_q, W_k, W_v):
    return attention(X[i : i + 1], X, X @ W_v).squeeze(0)


def _context_with_scale(scale):
    def implementation(i, X, W_q, W_k, W_v):
        Q, K, V = _project(X, W_q, W_k, W_v)
        return attention(Q[i : i + 1], K, V, beta=scale(X, Q)).squeeze(0)

    return implementation


def _context_values_are_keys(i, X, W_q, W_k, W_v):
    Q, K, _ = _project(X, W_q, W_k, W_v)
    return attention(Q[i : i + 1], K, K).squeeze(0)


def _context_all_rows(i, X, W_q, W_k, W_v):
    return attention(*_project(X, W_q, W_k, W_v))


def _context_keeps_axis(i, X, W_q, W_k, W_v):
    return _context(i, X, W_q, W_k, W_v)[None]


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
            _context_values_are_inputs,
            "mezclas las entradas X en lugar de los valores: falta V = X @ W_v",
        ),
        Misconception(
            "values_are_keys",
            _context_values_are_keys,
            "mezclas las claves: sirven para puntuar, y lo que se mezcla son los valores, X @ W_v",
        ),
        Misconception(
            "no_projections",
            _context_without_projections,
            "comparas las entradas entre sí: antes hay que llevarlas a consultas y claves con "
            "W_q y W_k",
        ),
        Misconception(
            "no_scale",
            _context_with_scale(lambda X, Q: 1.0),
            "las puntuaciones no están escaladas: divídelas por √d_k antes de la softmax",
        ),
        Misconception(
            "scale_by_d_in",
            _context_with_scale(lambda X, Q: 1 / math.sqrt(X.shape[-1])),
            "la escala usa la dimensión de las entradas; d_k es la de las consultas y las claves",
        ),
        Misconception(
            "divides_by_d",
            _context_with_scale(lambda X, Q: 1 / Q.shape[-1]),
            "divides por d_k y la escala es √d_k",
        ),
        Misconception(
            "all_queries",
            _context_all_rows,
            "devuelves el contexto de todas las palabras; se pide solo el de la palabra i",
        ),
        Misconception(
            "keeps_axis",
            _context_keeps_axis,
            "el resultado tiene un eje de más: si tomaste X[i : i + 1] para tener una matriz, "
            "quita al final ese eje; el contexto es un vector de forma [d_v]",
        ),
        Misconception(
            "transposed",
            lambda i, X, W_q, W_k, W_v: _context(i, X, W_q.T, W_k.T, W_v.T),
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


STACKED_WEIGHTS = Exercise(
    name="self_attention.stacked_weights",
    points=1,
    reference=_stack,
    cases=_stack_cases,
    misconceptions=(
        Misconception(
            "not_transposed",
            lambda *W: torch.cat(W),
            "apilas las matrices sin transponer: nn.Linear guarda [d_out, d_in] y calcula x @ "
            "weight.T, así que cada W debe llegar transpuesta",
        ),
        Misconception(
            "side_by_side",
            lambda *W: torch.cat(W, dim=1),
            "las pones una al lado de la otra, [d_in, 3·d_k]: es lo que usarías en X @ W; "
            "nn.Linear guarda la transpuesta",
        ),
        Misconception(
            "side_by_side_transposed",
            lambda *W: torch.cat([w.T for w in W], dim=1),
            "las transpones bien, pero las unes por columnas: consultas, claves y valores son "
            "salidas distintas, y las salidas de nn.Linear van por filas",
        ),
        Misconception(
            "reshaped",
            lambda *W: torch.cat([w.reshape(w.shape[1], w.shape[0]) for w in W]),
            "reshape y view no transponen: dan la forma correcta con los números en otro orden; "
            "usa .T",
        ),
        Misconception(
            "keys_first",
            lambda W_q, W_k, W_v: _stack(W_k, W_q, W_v),
            "el orden cambia el papel de cada bloque: primero consultas, después claves, después "
            "valores",
        ),
        Misconception(
            "new_axis",
            lambda *W: torch.stack([w.T for w in W]),
            "torch.stack crea un eje nuevo, [3, d_k, d_in]; una capa lineal espera una matriz: "
            "usa torch.cat",
            raises=RuntimeError,
        ),
    ),
)


# 4 · Autoatención causal


def _visible(t):
    """Marca lo visible, escrito sin la biblioteca para que los errores lo cambien."""
    return torch.ones(t, t, dtype=torch.bool).tril()


def _causal(X, W_q, W_k, W_v):
    return attention(*_project(X, W_q, W_k, W_v), mask=_visible(X.shape[-2]))


def _causal_cases(rng):
    return [
        (_randn(rng, 5, 3), *_parameters(rng, 3, 2, 2)),
        (_randn(rng, 4, 4), *_parameters(rng, 4, 4, 4)),
        (_randn(rng, 2, 6, 3), *_parameters(rng, 3, 5, 4)),
        (_randn(rng, 1, 3), *_parameters(rng, 3, 2, 3)),
    ]


def _scores(X, W_q, W_k, W_v):
    Q, K, V = _project(X, W_q, W_k, W_v)
    return Q @ K.mT / math.sqrt(Q.shape[-1]), V


def _causal_hiding(hidden, worst=-math.inf):
    """Una autoatención que oculta lo que diga `hidden(t)`, con el valor que diga `worst`."""

    def implementation(X, W_q, W_k, W_v):
        scores, V = _scores(X, W_q, W_k, W_v)
        scores = scores.masked_fill(hidden(X.shape[-2]), worst)
        return torch.softmax(scores, dim=-1) @ V

    return implementation


def _masked_after(X, W_q, W_k, W_v):
    scores, V = _scores(X, W_q, W_k, W_v)
    return torch.softmax(scores, dim=-1).masked_fill(~_visible(X.shape[-2]), 0.0) @ V


def _causal_values_are_inputs(X, W_q, W_k, W_v):
    Q, K, _ = _project(X, W_q, W_k, W_v)
    return attention(Q, K, X, mask=_visible(X.shape[-2]))


def _causal_with_scale(scale):
    def implementation(X, W_q, W_k, W_v):
        Q, K, V = _project(X, W_q, W_k, W_v)
        return attention(Q, K, V, mask=_visible(X.shape[-2]), beta=scale(Q))

    return implementation


def _causal_wrong_axis(X, W_q, W_k, W_v):
    scores, V = _scores(X, W_q, W_k, W_v)
    scores = scores.masked_fill(~_visible(X.shape[-2]), -math.inf)
    return torch.softmax(scores, dim=-2) @ V


_HIDDEN_FUTURE = "cada palabra ve las anteriores y a sí misma"

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
            lambda *inputs: attention(*_project(*inputs)),
            "no hay máscara: cada palabra sigue viendo las que vienen después",
        ),
        Misconception(
            "mask_after_softmax",
            _masked_after,
            "aplicas la máscara después de la softmax: las filas ya no suman 1, y el futuro "
            "sigue contando en el denominador; oculta las puntuaciones antes",
        ),
        Misconception(
            "upper_triangle",
            _causal_hiding(lambda t: _visible(t).tril(-1)),
            "ocultas el pasado y dejas ver el futuro: usaste el triángulo contrario; "
            f"{_HIDDEN_FUTURE}",
        ),
        Misconception(
            "inverted",
            _causal_hiding(_visible),
            "la máscara está al revés: True marca lo visible, y masked_fill cambia lo que es "
            "True; te falta un ~",
        ),
        Misconception(
            "diagonal_hidden",
            _causal_hiding(lambda t: ~_visible(t).tril(-1)),
            f"ocultas también la diagonal: {_HIDDEN_FUTURE}; la primera se quedó sin nada que ver",
        ),
        Misconception(
            "diagonal_hidden_finite",
            _causal_hiding(lambda t: ~_visible(t).tril(-1), -1e9),
            f"ocultas también la diagonal: {_HIDDEN_FUTURE}; como usas −1e9 y no −∞, la primera "
            "reparte su atención por igual entre todo el futuro",
        ),
        Misconception(
            "one_step_ahead",
            _causal_hiding(lambda t: ~torch.ones(t, t, dtype=torch.bool).tril(1)),
            "cada palabra ve también la siguiente, justo la que tendría que adivinar: la "
            "diagonal límite es la 0, no la 1",
        ),
        Misconception(
            "hides_with_zero",
            _causal_hiding(lambda t: ~_visible(t), 0.0),
            "pones 0 en las puntuaciones ocultas, y e⁰ = 1 sigue recibiendo peso: hace falta −∞",
        ),
        Misconception(
            "values_are_inputs",
            _causal_values_are_inputs,
            "mezclas las entradas X en lugar de los valores: falta V = X @ W_v",
        ),
        Misconception(
            "no_scale",
            _causal_with_scale(lambda Q: 1.0),
            "la máscara está bien; faltó dividir las puntuaciones por √d_k",
        ),
        Misconception(
            "divides_by_d",
            _causal_with_scale(lambda Q: 1 / Q.shape[-1]),
            "la máscara está bien; divides las puntuaciones por d_k y la escala es √d_k",
        ),
        Misconception(
            "softmax_over_queries",
            _causal_wrong_axis,
            "la softmax va sobre las claves, el último eje: con la tuya, son las columnas las "
            "que suman 1",
        ),
    ),
)


# 5 · Encuentra el error


def _self_attention(X, W_q, W_k, W_v):
    return attention(*_project(X, W_q, W_k, W_v))


def _softmax_over(dim):
    def implementation(X, W_q, W_k, W_v):
        scores, V = _scores(X, W_q, W_k, W_v)
        return torch.softmax(scores, dim=dim) @ V

    return implementation


def _softmax_over_everything(X, W_q, W_k, W_v):
    scores, V = _scores(X, W_q, W_k, W_v)
    return torch.softmax(scores.flatten(-2), dim=-1).view_as(scores) @ V


def _one_by_one_transposed(X, W_q, W_k, W_v):
    scores, V = _scores(X, W_q, W_k, W_v)
    return torch.softmax(scores, dim=-1).mT @ V


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
            _softmax_over(1),
            "el error sigue ahí: con una sola frase, [t, t], el eje 1 es el de las claves; con "
            "un lote, [lote, t, t], el eje 1 es otro",
        ),
        Misconception(
            "first_axis",
            _softmax_over(0),
            "con un lote, el eje 0 es el de los ejemplos: normalizar sobre él mezcla frases "
            "distintas",
        ),
        Misconception(
            "query_axis",
            _softmax_over(-2),
            "ahora cuentas los ejes desde el final, que es lo correcto, pero el −2 es el de las "
            "consultas",
        ),
        Misconception(
            "both_axes",
            _softmax_over_everything,
            "normalizas toda la matriz a la vez: es cada fila la que debe sumar 1",
        ),
        Misconception(
            "fixed_axis_two",
            _softmax_over(2),
            "eso arregla los lotes de un eje, pero deja de servir para una sola frase o para "
            "varios ejes de lote: cuenta el eje desde el final",
            raises=IndexError,
        ),
        Misconception(
            "transposed_weights",
            _one_by_one_transposed,
            "la softmax ya está bien, pero transpones los pesos antes de mezclar: la fila i de A "
            "es la de la consulta i",
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
            "confundes la máscara aplicada antes con la aplicada después de la softmax: suma "
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
    return [(kind, _randn(rng, 5, 4), _randn(rng, 4, 4), cycle) for kind in kinds]


def _with_inverse(f, X, order):
    return torch.allclose(f(X[order]), f(X)[order.argsort()], atol=1e-4)


EQUIVARIANCE = Exercise(
    name="self_attention.equivariance",
    points=2,
    reference=_is_equivariant,
    cases=_equivariance_cases,
    call=_equivariance_call,
    misconceptions=(
        Misconception(
            "invariance",
            lambda f, X, order: torch.allclose(f(X[order]), f(X), atol=1e-4),
            "compruebas que la salida no cambia (invarianza); la autoatención no hace eso: su "
            "salida se reordena igual que la entrada",
        ),
        Misconception(
            "inverse_order",
            _with_inverse,
            "reordenas la salida con la permutación inversa: entrada y salida se reordenan igual",
        ),
        Misconception(
            "input_only",
            lambda f, X, order: torch.allclose(f(X)[order], f(X), atol=1e-4),
            "nunca le das a la función la entrada reordenada: hay que calcular f dos veces, con "
            "X y con X[order]",
        ),
        Misconception(
            "columns",
            lambda f, X, order: torch.allclose(
                f(X[order]).sum(dim=0), f(X)[order].sum(dim=0), atol=1e-4
            ),
            "comparas sumas sobre las palabras, que no notan el orden: compara fila a fila",
        ),
        Misconception(
            "negated",
            lambda f, X, order: not _is_equivariant(f, X, order),
            "la respuesta está al revés: True significa que sí es equivariante",
        ),
        Misconception(
            "exact",
            lambda f, X, order: torch.equal(f(X[order]), f(X)[order]),
            "exiges igualdad exacta: en punto flotante, sumar en otro orden cambia los últimos "
            "decimales; usa torch.allclose con atol=1e-4",
        ),
        Misconception(
            "default_tolerance",
            lambda f, X, order: torch.allclose(f(X[order]), f(X)[order]),
            "la comparación es correcta, pero con la tolerancia de fábrica, menor que la pedida: "
            "pasa atol=1e-4",
        ),
        Misconception(
            "loose_tolerance",
            lambda f, X, order: torch.allclose(f(X[order]), f(X)[order], atol=1e-2),
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
    return (X @ W_q) @ (X @ W_k).T


def _design_cases(rng):
    orders = [torch.randperm(3, generator=rng).repeat(2)[: 5 - i] for i in range(2)]
    return [(torch.eye(3)[order],) for order in orders]


def _designed(*rows):
    """Parámetros que dan a cada categoría (función, nombre, verbo) las puntuaciones de su fila."""
    return lambda: (LOOK * torch.tensor(rows, dtype=torch.float32), torch.eye(3))


DESIGN = Exercise(
    name="self_attention.design",
    points=2,
    reference=_design,
    cases=_design_cases,
    call=_design_call,
    misconceptions=(
        Misconception(
            "similar_attracts",
            _designed((1, 0, 0), (0, 1, 0), (0, 0, 1)),
            "con tus parámetros cada palabra mira a las de su propia categoría: W_q dice qué "
            "busca, y no tiene por qué ser lo que la palabra es",
        ),
        Misconception(
            "queries_and_keys_swapped",
            _designed((0, 0, 0), (1, 0, 1), (0, 1, 0)),
            "las miradas van al revés: quien busca es la consulta (W_q) y quien se ofrece, la "
            "clave (W_k); ¿devolviste las matrices en el otro orden?",
        ),
        Misconception(
            "symmetric",
            _designed((0, 1, 0), (1, 0, 1), (0, 1, 0)),
            "los nombres miran también a las palabras de función; las miradas no son simétricas, "
            "y para eso hay dos matrices y no una",
        ),
        Misconception(
            "ignores_function_words",
            _designed((0, 0, 0), (0, 0, 1), (0, 1, 0)),
            "nombres y verbos están bien; las palabras de función no miran a nadie: su fila de "
            "puntuaciones es toda de ceros",
        ),
        Misconception(
            "score_one",
            lambda: (_design()[0] / LOOK, torch.eye(3)),
            "las miradas están bien dirigidas, pero las puntuaciones valen 1: con ellas la "
            "atención casi no se concentra",
        ),
        Misconception(
            "scaled_twice",
            lambda: (_design()[0], LOOK * torch.eye(3)),
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
