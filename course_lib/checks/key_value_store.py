"""Los ejercicios del capítulo «Almacén clave-valor» y los errores frecuentes que reconocen."""

import math

import torch
from einops import rearrange

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.attention import attention, attention_weights
from course_lib.primitives.key_value_store import hard_lookup, soft_lookup
from course_lib.primitives.softmax import soft_argmax

# Herramientas comunes


def _normal(rng, *shape):
    return torch.randn(*shape, generator=rng)


# 1 · hard_lookup


def _lookup_cases(rng):
    """La mayor puntuación no es de la clave más cercana, ni la más alineada, ni la más larga.

    La cercana es K[0]; la alineada, K[4]; la más larga, K[3], apunta apenas a favor; la más corta,
    K[1], casi no puntúa. Gana K[2], y K[5] es su contraria: a veces, con mayor valor absoluto, y
    una vez la más lejana.
    """
    cases = []
    for t_k, d_k, d_v, opposite in ((7, 5, 3, -19.5), (6, 4, 4, -2), (9, 3, 3, -9)):
        K = torch.nn.functional.normalize(_normal(rng, t_k, d_k))
        query = K[0] + 0.1 * _normal(rng, d_k)
        across = K[3] - (K[3] @ query) / (query @ query) * query
        K[1], K[2], K[4], K[5] = 0.01 * K[1], 5 * K[0], 0.3 * query, opposite * K[0]
        K[3] = 20 * across / across.norm() + 0.1 * query
        cases.append((query, K, _normal(rng, t_k, d_v)))
    return cases


@combinable
def _hard_with(
    score=lambda query, K, V: K @ query,
    best=lambda scores: scores.max(dim=0),
    give=lambda score, i, K, V: V[i],
):
    """La búsqueda dura, por pasos: con qué se compara, quién gana y qué se entrega."""

    def hard_lookup(query, K, V):
        winner, i = best(score(query, K, V))
        return give(winner, i, K, V)

    return hard_lookup


HARD_LOOKUP = Exercise(
    name="key_value_store.hard_lookup",
    points=1,
    reference=hard_lookup,
    cases=_lookup_cases,
    misconceptions=(
        Misconception(
            "returns_key",
            _hard_with(give=lambda score, i, K, V: K[i]),
            "devuelves una clave, y se pide su valor: la clave sirve para encontrar; lo que se "
            "entrega está en la misma fila de V.",
        ),
        Misconception(
            "returns_index",
            _hard_with(give=lambda score, i, K, V: i),
            "devuelves una posición; falta usarla para sacar de V la fila que le toca.",
        ),
        Misconception(
            "returns_score",
            _hard_with(give=lambda score, i, K, V: score),
            "devuelves una puntuación. Importa dónde está la mayor (arg max), no cuánto vale "
            "(max).",
        ),
        Misconception(
            "argmin",
            _hard_with(best=lambda scores: scores.min(dim=0)),
            "buscas el mínimo. Un producto escalar grande significa parecido; el mínimo se busca "
            "cuando se miden distancias.",
        ),
        Misconception(
            "nearest_key",
            _hard_with(
                score=lambda query, K, V: (K - query).norm(dim=-1),
                best=lambda distances: distances.min(dim=0),
            ),
            "buscas la clave más cercana en distancia. Aquí el parecido es el producto escalar, y "
            "una clave larga puede ganar sin ser la más cercana.",
        ),
        Misconception(
            "cosine",
            _hard_with(score=lambda q, K, V: torch.cosine_similarity(K, q, dim=-1)),
            "comparas ángulos (similitud coseno). Aquí el parecido es el producto escalar, en "
            "el que también cuenta la longitud de la clave.",
        ),
        Misconception(
            "longest_key",
            _hard_with(score=lambda query, K, V: K.norm(dim=-1)),
            "puntúas cada clave con su longitud, sin mirar hacia dónde apunta: falta compararla "
            "con la consulta.",
        ),
        Misconception(
            "absolute_score",
            _hard_with(score=lambda query, K, V: (K @ query).abs()),
            "tomas el valor absoluto de las puntuaciones. Una muy negativa es lo contrario de lo "
            "que se busca, no algo parecido.",
        ),
        Misconception(
            "argmax_per_coordinate",
            _hard_with(score=lambda query, K, V: K * query),
            "te falta sumar sobre las coordenadas: eliges en cada coordenada, y hace falta una "
            "sola puntuación por clave.",
        ),
        Misconception(
            "queries_values",
            _hard_with(score=lambda query, K, V: V @ query),
            "comparas la consulta con los valores. Se compara con las claves; los valores pueden "
            "tener otro ancho y no intervienen en la búsqueda.",
            raises=RuntimeError,
        ),
    ),
)


# 2 · soft_lookup


def _soft_lookup_cases(rng):
    """Varias β; la última, con puntuaciones que desbordan una exponencial escrita sin cuidado."""
    cases = [
        (_normal(rng, d_k), _normal(rng, t_k, d_k), _normal(rng, t_k, d_v), beta)
        for t_k, d_k, d_v, beta in ((7, 5, 3, 0.5), (6, 4, 4, 1.5))
    ]
    query = torch.rand(3, generator=rng) + 1.0
    large = query * torch.tensor([[30.0], [20.0]])  # recortar las dos al mismo tope las empata
    keys = torch.cat([_normal(rng, 4, 3), large])
    return [*cases, (query, keys, _normal(rng, 6, 2), 2.0)]


@combinable
def _soft_with(
    scale=lambda scores, beta, query: beta * scores,
    normalise=soft_argmax,
    weigh=lambda a, beta: a,
    mixed=lambda K, V: V,
):
    """La búsqueda suave, por pasos: la escala, los pesos, y qué se mezcla con ellos."""

    def soft_lookup(query, K, V, beta):
        a = normalise(scale(K @ query, beta, query))
        return weigh(a, beta) @ mixed(K, V)

    return soft_lookup


def _one_hot(scores):
    return torch.nn.functional.one_hot(scores.argmax(), len(scores)).to(scores.dtype)


SOFT_LOOKUP = Exercise(
    name="key_value_store.soft_lookup",
    points=2,
    partial=(Part("los valores", 1),),
    reference=soft_lookup,
    cases=_soft_lookup_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "no_beta",
            _soft_with(scale=lambda scores, beta, query: scores),
            "no usas beta: la temperatura inversa multiplica las puntuaciones antes del softmax.",
        ),
        Misconception(
            "beta_divides",
            _soft_with(scale=lambda scores, beta, query: scores / beta),
            "divides entre beta. Es la temperatura inversa: si crece, los pesos se concentran.",
        ),
        Misconception(
            "beta_twice",
            _soft_with(scale=lambda scores, beta, query: beta * (beta * scores)),
            "multiplicas por beta dos veces: o bien escalas tú las puntuaciones, o bien lo hace "
            "soft_argmax, no ambas cosas.",
        ),
        Misconception(
            "scale_and_beta",
            _soft_with(scale=lambda s, beta, query: beta * s / math.sqrt(len(query))),
            "además de multiplicar por beta, divides entre √d_k. Aquí beta es toda la escala: "
            "1/√d_k es solo su valor habitual.",
        ),
        Misconception(
            "detached_weights",
            _soft_with(weigh=lambda a, beta: a.detach()),
            "el gradiente no llega a la consulta ni a las claves: algo separa los pesos del "
            "cálculo que se deriva.",
        ),
        Misconception(
            "beta_after",
            _soft_with(scale=lambda scores, beta, query: scores, weigh=lambda a, beta: beta * a),
            "multiplicas los pesos por beta, y tienen que sumar uno. Va antes del softmax, "
            "sobre las puntuaciones.",
        ),
        Misconception(
            "mixes_keys",
            _soft_with(mixed=lambda K, V: K),
            "mezclas las claves. Los pesos salen de ellas, pero lo que se mezcla son los valores.",
        ),
        Misconception(
            "hard",
            _soft_with(normalise=_one_hot),
            "eliges una sola fila: eso es la búsqueda dura. En la suave contribuyen todas, cada "
            "una con su peso.",
        ),
        Misconception(
            "not_normalised",
            _soft_with(normalise=torch.exp),
            "los pesos no suman uno: falta dividir entre la suma de las exponenciales.",
        ),
        Misconception(
            "overflow",
            _soft_with(normalise=lambda scores: scores.exp() / scores.exp().sum()),
            "con puntuaciones grandes la exponencial se desborda y aparece infinito entre "
            "infinito. soft_argmax resta antes el máximo y da lo mismo.",
        ),
    ),
)


# 3 · Leer una gráfica


def largest_weight_curves(widths=(1, 4, 16, 64, 256, 1024), t_k=50):
    """Mide el mayor peso medio de consultas al azar según d, con tres escalas sin nombre.

    Devuelve:
        `{rótulo: (anchos, mayor peso)}`, redondeado a milésimas, para dibujarlo y leerlo.
    """
    exponents = {"A": -0.5, "B": -1.0, "C": 0.0}
    return {
        label: (widths, [_largest_weight(d, d**power, t_k) for d in widths])
        for label, power in exponents.items()
    }


def _largest_weight(d, beta, t_k):
    rng = torch.Generator().manual_seed(d)
    A = attention_weights(_normal(rng, 400, d), _normal(rng, t_k, d), beta=beta)
    return round(A.amax(dim=-1).mean().item(), 3)


def _curves(unscaled, root, width):
    return {"sin escalar": unscaled, "entre raíz de d": root, "entre d": width}


READ_CURVES = Exercise(
    name="key_value_store.read_curves",
    points=1,
    reference=_curves("C", "A", "B"),
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "direction_reversed",
            _curves("B", "A", "C"),
            "cruzaste los extremos. Si las puntuaciones se separan cada vez más, ¿el mayor peso se "
            "acerca a 1 o a los demás?",
        ),
        Misconception(
            "root_is_too_much",
            _curves("C", "B", "A"),
            "intercambiaste las dos correcciones. La desviación de un producto escalar crece como "
            "√d: un divisor la compensa justo y el otro, de más.",
        ),
        Misconception(
            "unscaled_is_constant",
            _curves("A", "C", "B"),
            "sin escalar, nada se mantiene constante: cada coordenada añade varianza a la "
            "puntuación. La curva plana es de otra regla.",
        ),
        Misconception(
            "width_concentrates",
            _curves("A", "B", "C"),
            "la curva que sube no es la de dividir entre d: dividir junta las puntuaciones, y "
            "puntuaciones más juntas dan pesos más parecidos.",
        ),
        Misconception(
            "root_concentrates",
            _curves("B", "C", "A"),
            "ninguna coincide. Empieza por la curva plana: ¿qué divisor deja en 1 la varianza de "
            "la puntuación para toda d?",
        ),
    ),
)


# 4 · Todas las consultas a la vez


def _matrix_cases(rng):
    """Sin lote, con un eje de lote y con dos; una vez t_q = t_k y otra d_k = d_v."""
    sizes = (((), 4, 6, 3, 5), ((2,), 5, 5, 9, 2), ((3, 2), 3, 7, 4, 4))
    return [
        (_normal(rng, *b, t_q, d_k), _normal(rng, *b, t_k, d_k), _normal(rng, *b, t_k, d_v))
        for b, t_q, t_k, d_k, d_v in sizes
    ]


@combinable
def _look_up(
    transpose=lambda K: K.mT,
    scale=lambda Q, K, V: math.sqrt(Q.shape[-1]),
    dim=-1,
    weigh=lambda A, Q: A,
):
    """Las búsquedas, por pasos: las puntuaciones, su escala y los pesos."""

    def look_up(Q, K, V):
        A = weigh(soft_argmax(Q @ transpose(K) / scale(Q, K, V), dim=dim), Q)
        return A @ V, A

    return look_up


LOOK_UP_ALL = Exercise(
    name="key_value_store.look_up_all",
    answers=(
        "course_lib.primitives.attention.attention",
        "course_lib.primitives.attention.attention_weights",
    ),
    points=2,
    reference=lambda Q, K, V: (attention(Q, K, V), attention_weights(Q, K)),
    cases=_matrix_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "no_scale",
            _look_up(scale=lambda Q, K, V: 1.0),
            "olvidaste dividir las puntuaciones entre √d_k: cuanto más anchos son los vectores, "
            "más se concentran los pesos.",
        ),
        Misconception(
            "divides_by_d",
            _look_up(scale=lambda Q, K, V: Q.shape[-1]),
            "divides entre d_k. La desviación de un producto escalar crece como √d_k: dividir "
            "entre d_k aplana los pesos.",
        ),
        Misconception(
            "scale_from_values",
            _look_up(scale=lambda Q, K, V: math.sqrt(V.shape[-1])),
            "escalas con el ancho de los valores. La escala corrige el producto entre consultas y "
            "claves: el ancho que cuenta es el suyo.",
        ),
        Misconception(
            "scale_from_length",
            _look_up(scale=lambda Q, K, V: math.sqrt(K.shape[-2])),
            "escalas con el número de claves. La escala depende de cuántas coordenadas se suman en "
            "cada puntuación, no de cuántas claves hay.",
        ),
        Misconception(
            "multiplies",
            _look_up(scale=lambda Q, K, V: 1 / math.sqrt(Q.shape[-1])),
            "multiplicas por √d_k en vez de dividir: la corrección va en sentido contrario.",
        ),
        Misconception(
            "softmax_over_queries",
            _look_up(dim=-2),
            "normalizas sobre las consultas. Cada consulta reparte su atención entre las claves: "
            "son las filas de A las que suman uno.",
        ),
        Misconception(
            "scale_after_softmax",
            _look_up(scale=lambda Q, K, V: 1.0, weigh=lambda A, Q: A / math.sqrt(Q.shape[-1])),
            "escalas después del softmax: los pesos ya no suman uno y siguen igual de "
            "concentrados. Escala las puntuaciones.",
        ),
        Misconception(
            "transposes_batch",
            _look_up(transpose=lambda K: K.transpose(0, 1)),
            "transpones los dos primeros ejes. Con un lote delante, los que se intercambian son "
            "los dos últimos.",
            raises=RuntimeError,
        ),
    ),
)


# 5 · El error escondido: partir en cabezas


def _split_cases(rng):
    """Con t distinto del número de cabezas, y también igual, donde las formas no delatan nada."""
    sizes = ((2, 5, 12, 3), (3, 4, 8, 4), (1, 6, 6, 2))
    return [(_normal(rng, batch, t, d), heads) for batch, t, d, heads in sizes]


@combinable
def _split_with(last="(h d)", axes="b h t d"):
    """Partir en cabezas, por pasos: cómo se parte el último eje y cómo quedan los cuatro."""
    return lambda X, num_heads: rearrange(X, f"b t {last} -> {axes}", h=num_heads)


def _split_by_reshape(X, num_heads):
    return X.reshape(X.shape[0], num_heads, X.shape[1], -1)


SPLIT_HEADS = Exercise(
    name="key_value_store.split_heads",
    points=2,
    reference=_split_with(),
    cases=_split_cases,
    misconceptions=(
        Misconception(
            "view_instead_of_transpose",
            _split_by_reshape,
            "la forma es la pedida, pero cada cabeza recibe trozos de posiciones mezcladas. "
            "reshape no mueve ejes: primero parte el último y después intercambia dos.",
        ),
        Misconception(
            "no_transpose",
            _split_with(axes="b t h d"),
            "falta llevar el eje de las cabezas delante del tiempo.",
        ),
        Misconception(
            "interleaved",
            _split_with(last="(d h)"),
            "repartes las coordenadas como naipes, una para cada cabeza. Cada cabeza se lleva un "
            "bloque contiguo: en el eje partido, las cabezas van primero.",
        ),
        Misconception(
            "swaps_time_and_width",
            _split_with(axes="b h d t"),
            "los dos últimos ejes están al revés: dentro de cada cabeza, una fila por posición.",
        ),
        Misconception(
            "heads_before_batch",
            _split_with(axes="h b t d"),
            "pusiste las cabezas delante del lote. El lote va primero; las cabezas, justo detrás.",
        ),
    ),
)


# 6 · Un solo producto


def _projection_cases(rng):
    sizes = (((4,), 6, 3, 5), ((2, 5), 4, 6, 3), ((2, 3), 5, 4, 4))
    return [
        (_normal(rng, *b, d), _normal(rng, d, d_k), _normal(rng, d, d_k), _normal(rng, d, d_v))
        for b, d, d_k, d_v in sizes
    ]


def _project_for(student, X, W_q, W_k, W_v):
    """Multiplica por X lo que el estudiante pida, que no tiene X, y dice qué pidió.

    Las columnas de lo que pide se ordenan: pueden estar pegadas en cualquier orden.
    """
    asked = []

    def project(W):
        Y = X @ W
        asked.append(W[:, W[0].argsort()] if W.ndim == 2 else W)
        return Y

    out = student(project, W_q, W_k, W_v)
    return {
        "las proyecciones": out,
        "los productos": len(asked),
        "lo que se multiplica": asked[0] if asked else W_q[:, :0],
    }


@combinable
def _stack_and_split(order=(0, 1, 2), split=lambda Y, widths: Y.split(widths, dim=-1)):
    """Un solo producto, por pasos: en qué orden se pegan las matrices y cómo se corta."""

    def stacked_projection(project, *matrices):
        matrices = [matrices[i] for i in order]
        Y = project(torch.cat(matrices, dim=-1))
        return split(Y, [W.shape[-1] for W in matrices])

    return stacked_projection


def _stack_rows(project, W_q, W_k, W_v):
    return project(torch.cat([W_q, W_k, W_v], dim=0)).split(W_q.shape[-1], dim=-1)


def _cut_first_axis(project, W_q, W_k, W_v):
    widths = [W.shape[-1] for W in (W_q, W_k, W_v)]
    return project(torch.cat([W_q, W_k, W_v], dim=-1)).split(widths)


def _recover_input(project, W_q, W_k, W_v):
    X = project(torch.eye(len(W_q)))
    return X @ W_q, X @ W_k, X @ W_v


STACKED_PROJECTION = Exercise(
    name="key_value_store.stacked_projection",
    points=2,
    reference=_stack_and_split(),
    cases=_projection_cases,
    call=_project_for,
    misconceptions=(
        Misconception(
            "three_products",
            lambda project, W_q, W_k, W_v: (project(W_q), project(W_k), project(W_v)),
            "los valores son correctos, pero haces tres productos. Pega antes las tres matrices "
            "en una sola y corta el resultado.",
        ),
        Misconception(
            "recovers_input",
            _recover_input,
            "gastas el producto en recuperar X y después haces otros tres. Lo que se multiplica "
            "son las tres matrices pegadas: de ahí sale ya todo.",
        ),
        Misconception(
            "equal_parts",
            _stack_and_split(split=lambda Y, widths: Y.tensor_split(3, dim=-1)),
            "cortas en tres partes iguales, y los valores pueden tener otro ancho que consultas y "
            "claves: corta con los tres anchos.",
        ),
        Misconception(
            "one_width",
            _stack_and_split(split=lambda Y, widths: Y.split(widths[0], dim=-1)),
            "cortas siempre con el ancho de la primera matriz, y las otras pueden tener otro: "
            "corta con los tres anchos.",
        ),
        Misconception(
            "keys_first",
            _stack_and_split(order=(1, 0, 2)),
            "consultas y claves salen intercambiadas: corta en el mismo orden en que pegaste.",
        ),
        Misconception(
            "values_first",
            _stack_and_split(order=(2, 1, 0)),
            "devuelves los valores primero: el orden pedido es consultas, claves, valores.",
        ),
        Misconception(
            "stacks_rows",
            _stack_rows,
            "pegas las matrices por filas. Comparten la entrada (las filas); lo que se junta son "
            "las salidas, que están en el último eje.",
            raises=RuntimeError,
        ),
        Misconception(
            "cuts_first_axis",
            _cut_first_axis,
            "cortas el primer eje del resultado, que es el del lote o el de las posiciones. Las "
            "tres salidas están una al lado de otra en el último eje: dilo al cortar.",
            raises=RuntimeError,
        ),
    ),
)


# 7 · Varias cabezas


def _multi_head_cases(rng):
    """El ancho de todas las cabezas juntas no siempre es d_model."""
    sizes = ((2, 5, 6, 12, 3), (3, 4, 8, 8, 4), (1, 7, 5, 4, 2))
    return [
        (
            _normal(rng, batch, t, d),
            *(_normal(rng, d, width) for _ in range(3)),
            _normal(rng, width, d),
            heads,
        )
        for batch, t, d, width, heads in sizes
    ]


_split_heads = _split_with()


@combinable
def _multi_head(
    heads=lambda num_heads: num_heads,
    split=_split_heads,
    swap=False,
    beta=lambda Q, W_q: Q.shape[-1] ** -0.5,
    dim=-1,
    merge=lambda H: rearrange(H, "b h t d -> b t (h d)"),
    output=lambda H, W_h: H @ W_h,
):
    """Una atención multicabeza, por pasos: partir, puntuar, mezclar, juntar y salir."""

    def multi_head(X, W_q, W_k, W_v, W_h, num_heads):
        Q, K, V = (split(X @ W, heads(num_heads)) for W in (W_q, W_k, W_v))
        K, V = (V, K) if swap else (K, V)
        H = soft_argmax(Q @ K.mT, beta(Q, W_q), dim=dim) @ V
        return output(merge(H), W_h)

    return multi_head


MULTI_HEAD = Exercise(
    name="key_value_store.multi_head",
    points=3,
    reference=_multi_head(),
    cases=_multi_head_cases,
    gradient=True,
    tolerance=1e-4,
    misconceptions=(
        Misconception(
            "no_output_matrix",
            _multi_head(output=lambda H, W_h: H),
            "falta W_h: concatenar deja las cabezas una al lado de otra; W_h las mezcla y las "
            "devuelve a la dimensión del modelo.",
        ),
        Misconception(
            "one_head",
            _multi_head(heads=lambda num_heads: 1),
            "no usas num_heads: esto es una sola cabeza ancha, con un único reparto de pesos por "
            "posición.",
        ),
        Misconception(
            "scale_with_all_heads",
            _multi_head(beta=lambda Q, W_q: W_q.shape[-1] ** -0.5),
            "escalas con el ancho de todas las cabezas juntas. Cada producto escalar suma solo las "
            "coordenadas de su cabeza.",
        ),
        Misconception(
            "no_scale",
            _multi_head(beta=lambda Q, W_q: 1.0),
            "olvidaste dividir las puntuaciones de cada cabeza entre √d_k.",
        ),
        Misconception(
            "split_without_transpose",
            _multi_head(split=_split_by_reshape),
            "partes en cabezas con un solo reshape: cada cabeza recibe posiciones mezcladas. Parte "
            "el último eje y después lleva el de las cabezas delante del tiempo.",
        ),
        Misconception(
            "merge_without_transpose",
            _multi_head(merge=lambda H: H.reshape(H.shape[0], H.shape[2], -1)),
            "al juntar las cabezas falta devolver su eje al lado del ancho antes del reshape: así "
            "mezclas posiciones distintas.",
        ),
        Misconception(
            "interleaved_merge",
            _multi_head(merge=lambda H: rearrange(H, "b h t d -> b t (d h)")),
            "al juntar, intercalas las coordenadas de las cabezas. Van en bloques, en el mismo "
            "orden en que se partieron.",
        ),
        Misconception(
            "softmax_over_queries",
            _multi_head(dim=-2),
            "en cada cabeza normalizas sobre las consultas; los pesos de una consulta suman uno "
            "sobre las claves.",
        ),
        Misconception(
            "keys_and_values_swapped",
            _multi_head(swap=True),
            "las claves y los valores están intercambiados: se puntúa con las claves y se mezclan "
            "los valores.",
        ),
    ),
)


# 8 · Diseño: los k mejores, por trozos


def _top_k_cases(rng):
    """Trozos cortos al final y al principio, y una búsqueda que empezó otro.

    De esa solo llegan sus candidatos: quien guarde claves por su cuenta no tiene las de antes.
    """
    sizes = (
        (3, 4, 4, 0, (4, 4, 3)),
        (4, 6, 3, 0, (5, 5, 5, 5)),
        (2, 3, 2, 0, (8, 1)),
        (4, 5, 3, 0, (2, 2, 2, 2, 2)),
        (3, 4, 3, 9, (5, 4)),
    )
    cases = []
    for t_q, d_k, k, seen, lengths in sizes:
        Q, K = _normal(rng, t_q, d_k), _normal(rng, seen + sum(lengths), d_k)
        K[-1] = 5 * Q[0] / Q[0].norm()  # la mejor de una consulta está en el último trozo
        scores, indices = (Q @ K[:seen].T).topk(min(k, seen))
        cases.append((scores, indices, Q, list(K[seen:].split(lengths)), seen, k))
    return cases


def _fold_chunks(student, scores, indices, Q, chunks, start, k):
    """Da cada trozo con lo que se devolvió tras el anterior: solo eso pasa de uno a otro."""
    after = [f"tras el trozo {number}" for number in range(1, len(chunks) + 1)]
    kept, state = {"puntuaciones": {}, "posiciones": {}}, (scores, indices)
    for moment, chunk in zip(after, chunks, strict=True):
        state = student(*state, Q, chunk, start, k)
        if not _are_candidates(state):
            return {part: dict.fromkeys(after, state) for part in kept}
        for part, tensor in zip(kept.values(), state, strict=True):
            part[moment] = tensor.clone()  # el estudiante puede escribir después en el suyo
        start += len(chunk)
    return kept


def _are_candidates(state):
    is_pair = isinstance(state, (list, tuple)) and len(state) == 2
    return is_pair and all(isinstance(item, torch.Tensor) for item in state)


@combinable
def _update(
    score=lambda Q, chunk: Q @ chunk.T,
    place=lambda places, start: places + start,
    enter=lambda scores, places, k: (scores, places),
    remember=lambda candidates: candidates,
    choose=lambda scores, k: scores.topk(min(k, scores.shape[-1])),
    follow=lambda indices, kept, start: indices.gather(-1, kept),
):
    """La búsqueda, por pasos: lo que trae el trozo, los candidatos de antes, y quién se queda."""

    def update_top_k(scores, indices, Q, K_chunk, start, k):
        new = score(Q, K_chunk)
        places = place(torch.arange(new.shape[-1]), start).expand_as(new)
        new, places = enter(new, places, k)
        scores, kept = choose(torch.cat([remember(scores), new], dim=-1), k)
        return scores, follow(torch.cat([remember(indices), places], dim=-1), kept, start)

    return update_top_k


def _reversed(tensors):
    return tuple(x.flip(-1) for x in tensors)


def _best_of_chunk(scores, places, k):
    best, kept = scores.topk(k)
    return best, places.gather(-1, kept)


def _choose_all(scores, k):
    return scores, torch.arange(scores.shape[-1]).expand_as(scores)


def _gather_from_old(scores, indices, Q, K_chunk, start, k):
    scores = torch.cat([scores, Q @ K_chunk.T], dim=-1)
    scores, kept = scores.topk(min(k, scores.shape[-1]))
    return scores, indices.gather(-1, kept)


TOP_K = Exercise(
    name="key_value_store.top_k",
    points=3,
    partial=(
        Part("las puntuaciones", 1, item="puntuaciones"),
        Part(
            "los trozos de k claves o más",
            2,
            cases=lambda scores, indices, Q, chunks, start, k: all(len(K) >= k for K in chunks),
        ),
    ),
    reference=_update(),
    cases=_top_k_cases,
    call=_fold_chunks,
    misconceptions=(
        Misconception(
            "keeps_everything",
            _update(choose=lambda scores, k: scores.sort(descending=True)),
            "devuelves todas las claves que comparas. De cada consulta conserva, como mucho, k: lo "
            "que pasa de un trozo al siguiente no puede crecer sin fin.",
        ),
        Misconception(
            "k_of_every_chunk",
            _update(
                enter=lambda scores, places, k: _best_of_chunk(
                    scores, places, min(k, scores.shape[-1])
                ),
                choose=_choose_all,
            ),
            "añades los k mejores de cada trozo a los que ya había: falta elegir los k mejores "
            "entre todos ellos.",
        ),
        Misconception(
            "only_this_chunk",
            _update(remember=lambda candidates: candidates[:, :0]),
            "olvidas los candidatos que recibes: los de antes compiten con los nuevos.",
        ),
        Misconception(
            "no_offset",
            _update(place=lambda places, start: places),
            "las posiciones son relativas a cada trozo: súmales dónde empieza el trozo en la "
            "tabla.",
        ),
        Misconception(
            "offset_twice",
            _update(
                place=lambda places, start: places,
                follow=lambda indices, kept, start: indices.gather(-1, kept) + start,
            ),
            "sumas el comienzo del trozo también a las posiciones de los candidatos de antes, que "
            "ya estaban contadas desde el principio de la tabla: súmalo solo a las nuevas.",
        ),
        Misconception(
            "positions_among_candidates",
            _update(follow=lambda indices, kept, start: kept),
            "das posiciones dentro de los candidatos, no dentro de la tabla: úsalas para elegir "
            "entre las posiciones que guardaste y las nuevas.",
        ),
        Misconception(
            "positions_not_moved",
            _update(follow=lambda indices, kept, start: indices[:, : kept.shape[-1]]),
            "las puntuaciones cambian de lugar y sus posiciones no: cada posición va con su "
            "puntuación. topk dice a dónde fue cada una.",
        ),
        Misconception(
            "gathers_from_old",
            _gather_from_old,
            "eliges las posiciones solo entre las de los candidatos de antes: junta primero las "
            "de las claves nuevas, en el mismo orden en que juntaste las puntuaciones.",
            raises=RuntimeError,
        ),
        Misconception(
            "ascending",
            _update(choose=lambda scores, k: _reversed(scores.topk(min(k, scores.shape[-1])))),
            "das las puntuaciones de menor a mayor: la mejor va primero.",
        ),
        Misconception(
            "smallest",
            _update(choose=lambda s, k: s.topk(min(k, s.shape[-1]), largest=False)),
            "te quedas con las claves menos parecidas: las k mejores son las de mayor puntuación.",
        ),
        Misconception(
            "softmax_in_chunk",
            _update(score=lambda Q, chunk: soft_argmax(Q @ chunk.T)),
            "comparas los pesos de un softmax por trozo. Cada uno tiene su denominador, y así una "
            "clave gana por estar en un trozo malo: compara las puntuaciones.",
        ),
        Misconception(
            "short_chunk",
            _update(enter=_best_of_chunk),
            "pides k elementos a un trozo que puede tener menos: el último suele ser más corto.",
            raises=RuntimeError,
        ),
        Misconception(
            "few_seen",
            _update(choose=lambda scores, k: scores.topk(k)),
            "pides k elementos cuando puede no haber tantos: al principio, entre candidatos y "
            "recién llegadas hay menos de k.",
            raises=RuntimeError,
        ),
    ),
)


EXERCISES = (
    HARD_LOOKUP,
    SOFT_LOOKUP,
    READ_CURVES,
    LOOK_UP_ALL,
    SPLIT_HEADS,
    STACKED_PROJECTION,
    MULTI_HEAD,
    TOP_K,
)
