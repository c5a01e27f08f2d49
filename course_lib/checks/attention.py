"""Ejercicios del capítulo «Atención» y los errores frecuentes que saben explicar."""

import torch
from torch import Tensor

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.additive import additive_scores
from course_lib.primitives.attention import attention, attention_weights
from course_lib.primitives.softmax import hard_argmax, soft_argmax

# 1 · El arg max suave


def _soft_argmax_cases(rng: torch.Generator) -> list[tuple]:
    return [
        (torch.randn(3, 4, generator=rng), 2.5),
        (torch.randn(2, 5, 3, generator=rng, dtype=torch.float64), 0.5),
        (torch.randn(4, 6, generator=rng), 0.0),
        (100 * torch.rand(2, 3, generator=rng) + torch.tensor([[112.0], [300.0]]), 1.0),
    ]


@combinable
def _soft_argmax_with(
    *,
    score=lambda s, beta: beta * s,
    power=lambda x, highest: torch.exp(x - highest),
    dim=-1,
    after=lambda weights, beta: weights,
):
    """El arg max suave paso a paso; con `dim=()`, sobre todos los ejes a la vez."""

    def weights(s: Tensor, beta: float) -> Tensor:
        x = score(s, beta)
        powers = power(x, x.amax(dim, keepdim=True))
        return after(powers / powers.sum(dim, keepdim=True), beta)

    return weights


SOFT_ARGMAX = Exercise(
    name="attention.soft_argmax",
    points=1,
    reference=soft_argmax,
    cases=_soft_argmax_cases,
    gradient=True,
    tolerance=1e-4,  # con puntuaciones de 400, `logsumexp` redondea más que el máximo
    misconceptions=[
        Misconception(
            "wrong_axis",
            _soft_argmax_with(dim=0),
            "normalizas por el primer eje, y los pesos deben sumar 1 por el último: cada "
            "consulta reparte su atención entre sus claves. Revisa `dim`.",
        ),
        Misconception(
            "global_sum",
            _soft_argmax_with(dim=()),
            "divides por la suma de todo el tensor. Cada fila tiene su propio denominador: usa "
            "`dim=-1, keepdim=True`.",
        ),
        Misconception(
            "beta_outside",
            _soft_argmax_with(score=lambda s, beta: s, after=lambda weights, beta: beta * weights),
            "β multiplica los pesos, y así ya no suman 1. β va dentro de la exponencial, "
            "multiplicando las puntuaciones.",
        ),
        Misconception(
            "temperature",
            _soft_argmax_with(score=lambda s, beta: s / beta),
            "divides por β, como si fuera la temperatura. β es la temperatura inversa: al crecer "
            "tiene que acercar los pesos al arg max duro.",
        ),
        Misconception(
            "no_beta",
            _soft_argmax_with(score=lambda s, beta: s),
            "no usas β: tus pesos son los mismos con cualquier temperatura inversa.",
        ),
        Misconception(
            "no_exponential",
            _soft_argmax_with(power=lambda x, highest: x),
            "divides las puntuaciones por su suma, sin exponencial: pueden salir pesos negativos "
            "o una división por cero.",
        ),
        Misconception(
            "overflow",
            _soft_argmax_with(power=lambda x, highest: torch.exp(x)),
            "con puntuaciones grandes la exponencial se desborda. Resta antes el máximo de cada "
            "fila: los pesos no cambian.",
        ),
    ],
)


# 2 · El arg max duro


def _hard_argmax_cases(rng: torch.Generator) -> list[tuple]:
    tied = torch.randint(0, 3, (4, 7), generator=rng).double()
    return [
        (torch.randn(3, 5, generator=rng),),
        (torch.tensor([[2.0, 5.0, 5.0, 1.0], [-1.0, -3.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0]]),),
        (tied,),
        (torch.randn(2, 3, 4, generator=rng),),
    ]


def _is_maximum(scores: Tensor, dim: int) -> Tensor:
    return (scores == scores.amax(dim, keepdim=True)).to(scores.dtype)


def _first_maximum(scores: Tensor, dim: int) -> Tensor:
    maxima = _is_maximum(scores, dim)
    return maxima * (maxima.cumsum(dim) == 1)


def _split_among_maxima(scores: Tensor, dim: int) -> Tensor:
    return _is_maximum(scores, dim) / _is_maximum(scores, dim).sum(dim, keepdim=True)


def _last_maximum(scores: Tensor, dim: int) -> Tensor:
    return _first_maximum(scores.flip(dim), dim).flip(dim)


def _rows_instead_of_columns(scores: Tensor, dim: int) -> Tensor:
    weights = torch.zeros_like(scores)
    weights[scores.argmax(dim)] = 1.0
    return weights


@combinable
def _hard_argmax_with(
    *, dim=-1, choose=_first_maximum, answer=lambda weights, scores, dim: weights
):
    """El arg max duro paso a paso: qué posiciones se eligen por el eje y qué se devuelve."""
    return lambda scores: answer(choose(scores, dim), scores, dim)


HARD_ARGMAX = Exercise(
    name="attention.hard_argmax",
    points=1,
    reference=hard_argmax,
    cases=_hard_argmax_cases,
    misconceptions=[
        Misconception(
            "all_ties",
            _hard_argmax_with(choose=_is_maximum),
            "en un empate pones un 1 en cada máximo, y ‖a‖₀ debe ser 1. Quédate solo con el "
            "primero.",
        ),
        Misconception(
            "split_ties",
            _hard_argmax_with(choose=_split_among_maxima),
            "en un empate repartes el peso. Ese es el límite del arg max suave con β → ∞, no el "
            "arg max duro: aquí se lo lleva todo el primer máximo.",
        ),
        Misconception(
            "last_maximum",
            _hard_argmax_with(choose=_last_maximum),
            "en un empate te quedas con el último máximo, y la regla es el primero.",
        ),
        Misconception(
            "index",
            _hard_argmax_with(answer=lambda weights, s, dim: weights.argmax(dim)),
            "devuelves la posición del máximo. Se pide un vector de pesos tan largo como las "
            "puntuaciones, con un 1 en esa posición y ceros en las demás.",
        ),
        Misconception(
            "maximum",
            _hard_argmax_with(answer=lambda weights, s, dim: s.amax(dim)),
            "devuelves el máximo, que es una puntuación. Se pide el arg max: dónde está, escrito "
            "como un vector de ceros y un 1.",
        ),
        Misconception(
            "row_index",
            _hard_argmax_with(choose=_rows_instead_of_columns),
            "`ceros[posiciones] = 1` elige filas enteras, no una columna en cada fila. Para "
            "escribir en cada fila usa `one_hot` o `scatter`.",
            raises=IndexError,
        ),
        Misconception(
            "kept_score",
            _hard_argmax_with(answer=lambda weights, s, dim: weights * s),
            "en la posición elegida dejas la puntuación. Un peso duro vale 1, para que la salida "
            "sea exactamente una de las entradas.",
        ),
        Misconception(
            "integers",
            _hard_argmax_with(answer=lambda weights, s, dim: weights.long()),
            "los pesos son enteros, y no se pueden multiplicar por valores de punto flotante. "
            "Devuelve el mismo tipo que las puntuaciones: `.to(scores.dtype)`.",
        ),
        Misconception(
            "wrong_axis",
            _hard_argmax_with(dim=0),
            "buscas el máximo por el primer eje. Cada fila elige una de sus columnas: `dim=-1`.",
        ),
    ],
)


# 3 · Un paso de decodificación


def decoding_step(state: Tensor, encoder_states: Tensor) -> tuple[Tensor, Tensor]:
    """Da los pesos `[batch, t]` y el contexto `[batch, d]` de un paso, con producto escalar."""
    weights = attention_weights(state[:, None], encoder_states, beta=1.0)
    return weights[:, 0], (weights @ encoder_states)[:, 0]


@combinable
def _step_with(
    *,
    scale=lambda d: 1.0,
    weigh=lambda scores: torch.softmax(scores, dim=-1),
    mix=lambda weights, H, scores: (weights[..., None] * H).sum(dim=1),
    order=lambda weights, context: (weights, context),
):
    """Un paso de decodificación: puntuar, pesar, mezclar los estados y devolver los dos."""

    def step(state: Tensor, encoder_states: Tensor) -> tuple[Tensor, Tensor]:
        scores = scale(state.shape[-1]) * (encoder_states * state[:, None]).sum(dim=-1)
        weights = weigh(scores)
        return order(weights, mix(weights, encoder_states, scores))

    return step


def _step_cases(rng: torch.Generator) -> list[tuple]:
    sizes = [(2, 5, 3), (3, 2, 4), (4, 4, 4)]
    return [
        (torch.randn(b, d, generator=rng), torch.randn(b, t, d, generator=rng)) for b, t, d in sizes
    ]


DECODING_STEP = Exercise(
    name="attention.decoding_step",
    points=2,
    partial=(Part("los pesos", 1, item=0),),
    reference=decoding_step,
    cases=_step_cases,
    gradient=True,
    misconceptions=[
        Misconception(
            "plain_mean",
            _step_with(mix=lambda w, H, scores: H.mean(dim=1)),
            "el contexto es el promedio de los estados y no depende de los pesos: la consulta no "
            "elige nada. Multiplica cada estado por su peso antes de sumar.",
        ),
        Misconception(
            "weighted_mean",
            _step_with(mix=lambda w, H, scores: (w[..., None] * H).mean(dim=1)),
            "multiplicas por los pesos y además promedias: con los pesos basta con sumar.",
        ),
        Misconception(
            "plain_sum",
            _step_with(mix=lambda w, H, scores: H.sum(dim=1)),
            "sumas los estados sin sus pesos.",
        ),
        Misconception(
            "best_state",
            _step_with(mix=lambda w, H, scores: (hard_argmax(w)[..., None] * H).sum(dim=1)),
            "el contexto es el estado de mayor peso. Eso es atención dura; se pide la suave, que "
            "mezcla todos los estados según sus pesos.",
        ),
        Misconception(
            "mixes_with_scores",
            _step_with(mix=lambda w, H, scores: (scores[..., None] * H).sum(dim=1)),
            "el contexto mezcla los estados con las puntuaciones. Multiplica cada estado por su "
            "peso, el que sale de softmax.",
        ),
        Misconception(
            "no_softmax",
            _step_with(weigh=lambda scores: scores),
            "usas las puntuaciones como pesos, sin normalizar: no suman 1 y pueden ser negativas.",
        ),
        Misconception(
            "singleton_axis",
            _step_with(weigh=torch.ones_like),
            "todos los pesos valen 1: softmax corre por un eje de tamaño 1. Quita ese eje antes "
            "de normalizar, para que los pesos se repartan entre los t estados.",
        ),
        Misconception(
            "swapped",
            _step_with(order=lambda weights, context: (context, weights)),
            "devuelves las dos cosas en el otro orden: primero los pesos y después el contexto.",
        ),
        Misconception(
            "softmax_over_batch",
            _step_with(weigh=lambda scores: torch.softmax(scores, dim=0)),
            "softmax corre por el eje del lote: mezclas oraciones distintas. Los pesos deben sumar "
            "1 sobre los estados de cada oración (`dim=-1`).",
        ),
        Misconception(
            "scaled",
            _step_with(scale=lambda d: d**-0.5),
            "divides las puntuaciones por √d. Es la atención del Transformer; aquí la puntuación "
            "es el producto escalar tal cual (β = 1).",
        ),
    ],
)


# 4 · La puntuación aditiva


@combinable
def _additive_with(
    *,
    project=lambda Q, K, W_q, W_k: (Q @ W_q, K @ W_k),
    pair=lambda q, k: (q[..., :, None, :], k[..., None, :, :]),
    combine=torch.add,
    activation=torch.tanh,
    reduce=lambda hidden, v: hidden @ v,
    after=lambda scores: scores,
):
    """La puntuación aditiva: proyectar, formar los pares, sumarlos, tanh y reducir con v."""

    def scores(Q: Tensor, K: Tensor, W_q: Tensor, W_k: Tensor, v: Tensor) -> Tensor:
        q, k = pair(*project(Q, K, W_q, W_k))
        return after(reduce(activation(combine(q, k)), v))

    return scores


def _same(x: Tensor) -> Tensor:
    return x


def _additive_cases(rng: torch.Generator) -> list[tuple]:
    def draw(batch, t_q, t_k, d_q, d_k, d_hidden):
        shapes = [(*batch, t_q, d_q), (*batch, t_k, d_k), (d_q, d_hidden), (d_k, d_hidden)]
        return (
            *(torch.randn(*s, generator=rng) for s in shapes),
            torch.randn(d_hidden, generator=rng),
        )

    return [draw((), 3, 5, 2, 4, 6), draw((2,), 4, 3, 3, 3, 5), draw((3,), 2, 2, 4, 4, 4)]


ADDITIVE_SCORES = Exercise(
    name="attention.additive_scores",
    points=2,
    reference=additive_scores,
    cases=_additive_cases,
    gradient=True,
    misconceptions=[
        Misconception(
            "no_tanh",
            _additive_with(activation=_same),
            "falta la tanh. Sin ella, v·(W_q q + W_k k) separa consulta y clave en dos sumandos: "
            "la consulta suma lo mismo a todas las claves, y softmax lo borra.",
        ),
        Misconception(
            "tanh_outside",
            _additive_with(activation=_same, after=torch.tanh),
            "aplicas la tanh a la puntuación. La no linealidad va en la capa oculta, antes de "
            "reducir a un número.",
        ),
        Misconception(
            "tanh_each",
            _additive_with(combine=lambda q, k: torch.tanh(q) + torch.tanh(k), activation=_same),
            "aplicas la tanh a cada proyección y después sumas. Primero se suman: la tanh tiene "
            "que ver el par completo.",
        ),
        Misconception(
            "product",
            _additive_with(combine=torch.mul),
            "multiplicas las dos proyecciones. La puntuación aditiva las suma.",
        ),
        Misconception(
            "sigmoid",
            _additive_with(activation=torch.sigmoid),
            "la no linealidad es la tangente hiperbólica, no la sigmoide.",
        ),
        Misconception(
            "no_v",
            _additive_with(reduce=lambda hidden, v: hidden.sum(dim=-1)),
            "sumas las unidades ocultas sin usar v, que es un parámetro: cada unidad tiene su "
            "peso.",
        ),
        Misconception(
            "transposed",
            _additive_with(pair=lambda q, k: (q[..., None, :, :], k[..., :, None, :])),
            "las puntuaciones salen transpuestas: una fila por consulta y una columna por clave, "
            "[t_q, t_k]. Revisa en qué eje insertas el de tamaño 1.",
        ),
        Misconception(
            "swapped_projections",
            _additive_with(project=lambda Q, K, W_q, W_k: (Q @ W_k, K @ W_q)),
            "proyectas las consultas con W_k y las claves con W_q. Solo funciona cuando tienen "
            "el mismo ancho, y entonces da otro resultado.",
            raises=RuntimeError,
        ),
        Misconception(
            "no_new_axes",
            _additive_with(pair=lambda q, k: (q, k)),
            "juntas la consulta i solo con la clave i. Hace falta todo par: inserta un eje en "
            "cada proyección para que se difundan a [t_q, t_k, d].",
            raises=RuntimeError,
        ),
    ],
)


# 5 · De columnas a filas


def attention_columns(X: Tensor, beta: float) -> Tensor:
    """Autoatención sin parámetros con un vector por columna: H = X A, con X y H `[..., n, t]`."""
    return attention(X.mT, X.mT, X.mT, beta=beta).mT


def _columns_cases(rng: torch.Generator) -> list[tuple]:
    return [
        (torch.randn(2, 5, generator=rng), 0.7),
        (torch.randn(4, 3, generator=rng, dtype=torch.float64), 1.5),
        (torch.randn(3, 2, 4, generator=rng), 0.4),
        (torch.randn(4, 4, generator=rng), 0.9),
    ]


@combinable
def _columns_with(
    *,
    score=lambda X: X.mT @ X,
    scale=lambda beta, X: beta,
    dim=-2,
    mix=lambda X, A: X @ A,
    after=lambda H: H,
):
    """La atención por columnas: puntuar, escalar, normalizar por el eje `dim` y mezclar."""
    return lambda X, beta: after(mix(X, torch.softmax(scale(beta, X) * score(X), dim)))


def _by_coordinates(X: Tensor) -> Tensor:
    return X @ X.mT


def _as_rows(X: Tensor, A: Tensor) -> Tensor:
    return A @ X


COLUMNS = Exercise(
    name="attention.columns",
    points=2,
    reference=attention_columns,
    cases=_columns_cases,
    gradient=True,
    misconceptions=[
        Misconception(
            "row_softmax",
            _columns_with(dim=-1),
            "suman 1 las filas de A, pero la columna j de H = X A usa la columna j de A: son las "
            "columnas las que deben sumar 1 (o, lo que es igual, usas Aᵀ).",
        ),
        Misconception(
            "mixes_coordinates",
            _columns_with(score=_by_coordinates, dim=-1, mix=_as_rows),
            "X Xᵀ compara coordenadas, no vectores: esa es la fórmula para filas aplicada a "
            "columnas. Con vectores en columnas, las puntuaciones son Xᵀ X, de forma [t, t].",
        ),
        Misconception(
            "mixes_coordinates_by_columns",
            _columns_with(score=_by_coordinates, mix=_as_rows),
            "tus puntuaciones X Xᵀ comparan coordenadas ([n, n]). Lo que se compara son los "
            "vectores, que aquí son las columnas de X: hace falta [t, t].",
        ),
        Misconception(
            "first_axis",
            _columns_with(dim=0),
            "`dim=0` solo sirve con una matriz: con un lote es el eje del lote. Cuenta los ejes "
            "desde el final: el de las filas de A es `dim=-2`.",
        ),
        Misconception(
            "not_transposed_back",
            _columns_with(after=lambda H: H.mT),
            "H sale transpuesta: lleva una columna por entrada, como X. Revisa qué transpones al "
            "entrar y al salir.",
        ),
        Misconception(
            "no_beta",
            _columns_with(scale=lambda beta, X: 1.0),
            "no usas β: multiplica las puntuaciones antes de softmax.",
        ),
        Misconception(
            "default_beta",
            _columns_with(scale=lambda beta, X: X.shape[-2] ** -0.5),
            "usas β = 1/√n, que es el valor por defecto de la biblioteca, y no el β que se recibe.",
        ),
        Misconception(
            "wrong_order",
            _columns_with(mix=_as_rows),
            "A multiplica por la izquierda: A X es la fórmula para filas. Con vectores en "
            "columnas es X A.",
            raises=RuntimeError,
        ),
    ],
)


# 6 · El error de la máscara


def masked_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor, beta: float) -> Tensor:
    """Atención suave que solo ve donde `mask` es verdadera; ceros para quien no ve nada."""
    return attention(Q, K, V, beta=beta, mask=mask)


def _erased(A: Tensor, mask: Tensor) -> Tensor:
    return A.masked_fill(~mask, 0.0)


def _filled(fill: float, *, after=lambda A, mask: A):
    """Construye unos pesos: `fill` en lo oculto antes de softmax, y `after` después."""
    return lambda scores, mask: after(torch.softmax(scores.masked_fill(~mask, fill), -1), mask)


def _erased_after(scores: Tensor, mask: Tensor) -> Tensor:
    return _erased(torch.softmax(scores, dim=-1), mask)


def _renormalised(least: float):
    """Reparte lo que queda después de borrar; la suma por la que divide no baja de `least`."""

    def weigh(scores: Tensor, mask: Tensor) -> Tensor:
        A = _erased_after(scores, mask)
        return A / A.sum(dim=-1, keepdim=True).clamp(min=least)

    return weigh


_LOWEST = torch.finfo(torch.float32).min
_visible_share = _filled(_LOWEST, after=_erased)
_minus_infinity = _filled(-torch.inf)


@combinable
def _masked_with(*, scale=lambda beta, Q: beta, sees=lambda mask: mask, weigh=_visible_share):
    """La atención con máscara: puntuar, decidir qué se ve, repartir los pesos y mezclar."""

    def masked(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor, beta: float) -> Tensor:
        return weigh(scale(beta, Q) * Q @ K.mT, sees(mask)) @ V

    return masked


def _masked_cases(rng: torch.Generator) -> list[tuple]:
    def draw(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=rng, dtype=dtype)

    padding = torch.tensor([[[True, True, False, True]], [[False, True, True, False]]])
    blind = torch.tensor([[True, False, True], [False, False, False], [False, True, False]])
    loud = draw(4, 3)
    loud[1] = 60.0
    visible = torch.tensor([[True, False, True, True], [True, False, True, False]])
    return [
        (draw(2, 3, 5), draw(2, 4, 5), draw(2, 4, 2), padding, 0.6),
        (draw(3, 4), draw(3, 4), draw(3, 3), blind, 1.4),
        (draw(2, 3).abs() + 1, loud, draw(4, 5), visible, 1.0),
        (
            draw(2, 3, dtype=torch.float64),
            draw(4, 3, dtype=torch.float64),
            draw(4, 2, dtype=torch.float64),
            torch.ones(2, 4, dtype=torch.bool),
            0.3,
        ),
        (  # lo visible puntúa unos −200: tampoco así gana lo oculto
            draw(2, 3, dtype=torch.float64).abs() + 1,
            draw(4, 3, dtype=torch.float64) - 60,
            draw(4, 2, dtype=torch.float64),
            visible,
            1.0,
        ),
    ]


def _nobody_is_blind(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor, beta: float) -> bool:
    return bool(mask.any(dim=-1).all())


MASKED_ATTENTION = Exercise(
    name="attention.masked_attention",
    points=2,
    partial=(Part("las consultas que ven alguna clave", 1, cases=_nobody_is_blind),),
    reference=masked_attention,
    cases=_masked_cases,
    gradient=True,
    misconceptions=[
        Misconception(
            "mask_after_softmax",
            _masked_with(weigh=_erased_after),
            "el fallo sigue ahí: ocultas después de softmax, y los pesos que quedan ya no suman "
            "1. Oculta las puntuaciones, antes de normalizar.",
        ),
        Misconception(
            "no_mask",
            _masked_with(weigh=lambda scores, mask: torch.softmax(scores, dim=-1)),
            "no usas la máscara: las claves ocultas reciben peso como las demás.",
        ),
        Misconception(
            "zero_score",
            _masked_with(weigh=_filled(0.0)),
            "una puntuación 0 no oculta: e⁰ = 1, y la clave sigue recibiendo peso. La puntuación "
            "de lo oculto debe ser la menor posible.",
        ),
        Misconception(
            "zero_score_and_weight",
            _masked_with(weigh=_filled(0.0, after=_erased)),
            "anulas el peso de lo oculto, pero antes entró en el denominador con puntuación 0 "
            "(e⁰ = 1): los pesos que quedan no suman 1.",
        ),
        Misconception(
            "default_beta",
            _masked_with(scale=lambda beta, Q: Q.shape[-1] ** -0.5),
            "usas β = 1/√d_k y no el β que se recibe.",
        ),
        Misconception(
            "inverted",
            _masked_with(sees=torch.logical_not),
            "la máscara está al revés: True significa visible.",
        ),
        Misconception(
            "inverted_nan",
            _masked_with(sees=torch.logical_not, weigh=_minus_infinity),
            "ocultas lo visible (True significa visible: usa `~mask`), y la consulta que lo ve "
            "todo se queda sin ninguna clave y da NaN.",
        ),
        Misconception(
            "nan_rows",
            _masked_with(weigh=_minus_infinity),
            "una consulta que no puede ver nada da NaN (0/0). Debe recibir ceros: con −∞ en toda "
            "la fila no queda denominador.",
        ),
        Misconception(
            "blind_sees_all",
            _masked_with(weigh=_filled(_LOWEST)),
            "la consulta que no puede ver nada recibe el promedio de todos los valores, también "
            "de los ocultos. Debe recibir ceros.",
        ),
        Misconception(
            "renormalised_clamped",
            _masked_with(weigh=_renormalised(1e-9)),
            "cuando lo oculto puntúa muy alto, lo visible se queda en 0. No basta renormalizar "
            "después de softmax, ni restar un número fijo a lo oculto: su puntuación debe pasar a "
            "ser la menor posible, antes de softmax.",
        ),
        Misconception(
            "renormalised",
            _masked_with(weigh=_renormalised(0.0)),
            "renormalizar después de softmax falla cuando lo oculto tenía casi todo el peso (o "
            "todo): queda 0/0. Oculta antes de softmax.",
        ),
    ],
)


# 7 · Leer una gráfica

READ_PLOT = Exercise(
    name="attention.read_plot",
    points=1,
    reference={"A": 1, "B": 2, "C": 4},
    cases=no_inputs,
    misconceptions=[
        Misconception(
            "bits",
            {"A": 0, "B": 1, "C": 2},
            "esa es la altura a la que se queda cada curva, en bits. Una entropía de b bits es "
            "la de un reparto igual entre 2ᵇ claves.",
        ),
        Misconception(
            "bits_plus_one",
            {"A": 1, "B": 2, "C": 3},
            "sumas 1 a la altura de cada curva, y con A y B coincide. Pero m claves empatadas dan "
            "log₂ m bits: 2 bits no son 3 claves.",
        ),
        Misconception(
            "number_of_keys",
            {"A": 8, "B": 8, "C": 8},
            "eso es lo que se lee en β = 0, donde todas las claves pesan igual. Los empates se "
            "leen donde β es grande.",
        ),
        Misconception(
            "initial_bits",
            {"A": 3, "B": 3, "C": 3},
            "esa es la altura con β = 0. Mira a qué altura se queda cada curva cuando β es grande.",
        ),
        Misconception(
            "reversed",
            {"A": 4, "B": 2, "C": 1},
            "al revés: cuanto más repartido queda el peso, más alta se queda la curva.",
        ),
        Misconception(
            "doubled_bits",
            {"A": 0, "B": 2, "C": 4},
            "lees bien B y C, pero un reparto siempre tiene al menos una clave. Si el peso está "
            "en una sola, la entropía es log₂ 1.",
        ),
    ],
)


# 8 · Entre la dura y la suave


def top_k_weights(scores: Tensor, k: int, beta: float) -> Tensor:
    """Arg max suave entre las k puntuaciones mayores (en un empate, las primeras) y cero fuera."""
    return soft_argmax(scores.masked_fill(~_top_k(scores, k), -torch.inf), beta)


def _top_k(scores: Tensor, k: int, descending: bool = True) -> Tensor:
    """Dice cuáles son las k puntuaciones mayores; en un empate, las primeras."""
    order = scores.argsort(dim=-1, descending=descending, stable=True)
    return _marked(scores, order[..., :k])


def _marked(scores: Tensor, positions: Tensor) -> Tensor:
    return torch.zeros_like(scores, dtype=torch.bool).scatter(-1, positions, True)


def _softmax_with(fill: float):
    """Construye unos pesos: las claves descartadas puntúan `fill`."""
    return lambda s, chosen, beta: soft_argmax(s.masked_fill(~chosen, fill), beta)


_among_the_chosen = _softmax_with(-torch.inf)


def _erased_later(s: Tensor, chosen: Tensor, beta: float) -> Tensor:
    return _erased(soft_argmax(s, beta), chosen)


def _in_equal_parts(s: Tensor, chosen: Tensor, beta: float) -> Tensor:
    return chosen.to(s.dtype) / chosen.sum(dim=-1, keepdim=True)


@combinable
def _top_k_with(
    *, turn=lambda s: s, choose=_top_k, scale=lambda beta: beta, weigh=_among_the_chosen
):
    """Elegir k claves y repartir entre ellas; `turn` se hace al empezar y se deshace al final."""

    def weights(scores: Tensor, k: int, beta: float) -> Tensor:
        s = turn(scores)
        return turn(weigh(s, choose(s, k), scale(beta)))

    return weights


def _top_k_cases(rng: torch.Generator) -> list[tuple]:
    tied = torch.tensor([[1.0, 2.0, 2.0, 0.5, 2.0], [3.0, 1.0, 1.0, 1.0, -1.0]])
    whole = torch.randn(2, 3, 4, generator=rng, dtype=torch.float64)
    return [
        (torch.randn(3, 5, generator=rng), 2, 1.7),
        (tied, 2, 0.6),
        (tied, 1, 0.8),
        (whole.sort(dim=-1, descending=True).values, 4, 0.4),  # la menor de todas, al final
        (torch.tensor([[0.5, 0.1, 0.50001, 0.2]]), 1, 0.9),
        (torch.randn(2, 4, 6, generator=rng), 3, 2.2),
        (torch.randint(0, 3, (12, 40), generator=rng).float(), 9, 0.5),
    ]


def _without_ties(scores: Tensor, k: int, beta: float) -> bool:
    return bool(scores.sort(dim=-1).values.diff(dim=-1).ne(0).all())


TOP_K_WEIGHTS = Exercise(
    name="attention.top_k_weights",
    points=3,
    partial=(Part("las filas sin empates", 2, cases=_without_ties),),
    reference=top_k_weights,
    cases=_top_k_cases,
    gradient=True,
    misconceptions=[
        Misconception(
            "not_renormalised",
            _top_k_with(weigh=_erased_later),
            "los pesos no suman 1: borras los de las demás claves después de softmax. Elige "
            "primero las k claves y reparte después entre ellas.",
        ),
        Misconception(
            "threshold",
            _top_k_with(choose=lambda s, k: s >= s.sort(descending=True).values[..., k - 1 : k]),
            "en los empates eliges más de k claves: comparas con la k-ésima puntuación, y la "
            "igualan varias. Elige posiciones, no valores.",
        ),
        Misconception(
            "zeroed_scores",
            _top_k_with(weigh=_softmax_with(0.0)),
            "a las claves descartadas les pones puntuación 0, y e⁰ = 1: siguen recibiendo peso.",
        ),
        Misconception(
            "uniform",
            _top_k_with(weigh=_in_equal_parts),
            "repartes a partes iguales entre las elegidas. Los pesos deben seguir dependiendo "
            "de las puntuaciones.",
        ),
        Misconception(
            "topk_ties",
            _top_k_with(choose=lambda s, k: _marked(s, s.topk(k).indices)),
            "`torch.topk` no promete qué posición elige en un empate. Se piden las primeras: "
            "`argsort(..., stable=True)`, o repetir el arg max duro.",
        ),
        Misconception(
            "last_ties",
            _top_k_with(choose=lambda s, k: _top_k(s.flip(-1), k).flip(-1)),
            "en un empate te quedas con las últimas, y la regla es las primeras (así k = 1 "
            "coincide con el arg max duro).",
        ),
        Misconception(
            "smallest",
            _top_k_with(choose=lambda s, k: _top_k(s, k, descending=False)),
            "te quedas con las k puntuaciones menores. Revisa el sentido del orden.",
        ),
        Misconception(
            "no_beta",
            _top_k_with(scale=lambda beta: 1.0),
            "no usas β: entre las elegidas, el reparto depende de la temperatura inversa.",
        ),
        Misconception(
            "wrong_axis",
            _top_k_with(turn=lambda s: s.mT),
            "eliges y normalizas por el penúltimo eje. Cada fila reparte entre sus columnas: "
            "`dim=-1`.",
        ),
    ],
)


EXERCISES = (
    SOFT_ARGMAX,
    HARD_ARGMAX,
    DECODING_STEP,
    ADDITIVE_SCORES,
    COLUMNS,
    MASKED_ATTENTION,
    READ_PLOT,
    TOP_K_WEIGHTS,
)
