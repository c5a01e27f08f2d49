"""Los ejercicios del capítulo «Almacén clave-valor» y los errores frecuentes que reconocen."""

import math

import torch
from einops import rearrange

from course_lib.grading.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.attention import attention, attention_weights
from course_lib.primitives.key_value_store import hard_lookup, soft_lookup
from course_lib.primitives.softmax import soft_argmax

# Herramientas comunes


def _normal(rng, *shape):
    return torch.randn(*shape, generator=rng)


# 1 · hard_lookup


def _lookup_cases(rng):
    """La mayor puntuación no es de la clave más cercana, ni la más alineada, ni la más larga.

    La cercana es K[0]; la alineada, K[4]; la más larga, K[3], no apunta ni a favor ni en contra.
    Gana K[2], y K[5] es su contraria: a veces, con una puntuación mayor en valor absoluto.
    """
    cases = []
    for t_k, d_k, d_v, opposite in ((7, 5, 3, -9), (6, 4, 4, -2), (9, 3, 3, -9)):
        K = torch.nn.functional.normalize(_normal(rng, t_k, d_k))
        query = K[0] + 0.1 * _normal(rng, d_k)
        across = K[3] - (K[3] @ query) / (query @ query) * query
        K[2], K[4], K[5] = 5 * K[0], 0.3 * query, opposite * K[0]
        K[3] = 20 * across / across.norm()
        cases.append((query, K, _normal(rng, t_k, d_v)))
    return cases


HARD_LOOKUP = Exercise(
    name="key_value_store.hard_lookup",
    points=1,
    reference=hard_lookup,
    cases=_lookup_cases,
    misconceptions=(
        Misconception(
            "returns_key",
            lambda query, K, V: K[(K @ query).argmax()],
            "devuelves la clave más parecida, y se pide su valor: la clave sirve para encontrar; "
            "lo que se entrega está en la misma fila de V.",
        ),
        Misconception(
            "returns_index",
            lambda query, K, V: (K @ query).argmax(),
            "devuelves la posición del máximo; falta usarla para sacar de V la fila que le toca.",
        ),
        Misconception(
            "returns_score",
            lambda query, K, V: (K @ query).max(),
            "devuelves la puntuación más alta. Importa dónde está (arg max), no cuánto vale (max).",
        ),
        Misconception(
            "argmin",
            lambda query, K, V: V[(K @ query).argmin()],
            "eliges la clave que menos se parece. Un producto escalar grande significa parecido; "
            "el mínimo se busca cuando se miden distancias.",
        ),
        Misconception(
            "nearest_key",
            lambda query, K, V: V[(K - query).norm(dim=-1).argmin()],
            "buscas la clave más cercana en distancia. Aquí el parecido es el producto escalar, y "
            "una clave larga puede ganar sin ser la más cercana.",
        ),
        Misconception(
            "cosine",
            lambda query, K, V: V[torch.cosine_similarity(K, query, dim=-1).argmax()],
            "comparas ángulos (semejanza del coseno). Aquí el parecido es el producto escalar, en "
            "el que también cuenta la longitud de la clave.",
        ),
        Misconception(
            "longest_key",
            lambda query, K, V: V[K.norm(dim=-1).argmax()],
            "eliges la clave más larga, sin mirar hacia dónde apunta: falta compararla con la "
            "consulta.",
        ),
        Misconception(
            "absolute_score",
            lambda query, K, V: V[(K @ query).abs().argmax()],
            "tomas el valor absoluto de las puntuaciones. Una muy negativa es lo contrario de lo "
            "que se busca, no algo parecido.",
        ),
        Misconception(
            "argmax_per_coordinate",
            lambda query, K, V: V[(K * query).argmax(dim=0)],
            "te falta sumar sobre las coordenadas: buscas un máximo por coordenada en vez de una "
            "puntuación por clave.",
        ),
        Misconception(
            "queries_values",
            lambda query, K, V: V[(V @ query).argmax()],
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


def _unsafe_softmax(query, K, V, beta):
    weights = torch.exp(beta * (K @ query))
    return (weights / weights.sum()) @ V


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
            lambda query, K, V, beta: soft_argmax(K @ query) @ V,
            "no usas beta: la temperatura inversa multiplica las puntuaciones antes de la softmax.",
        ),
        Misconception(
            "beta_divides",
            lambda query, K, V, beta: soft_argmax(K @ query, 1 / beta) @ V,
            "divides entre beta. Es la temperatura inversa: si crece, los pesos se concentran.",
        ),
        Misconception(
            "beta_twice",
            lambda query, K, V, beta: soft_argmax(beta * (K @ query), beta) @ V,
            "multiplicas por beta dos veces: o bien escalas tú las puntuaciones, o bien lo hace "
            "soft_argmax, no ambas cosas.",
        ),
        Misconception(
            "scale_and_beta",
            lambda query, K, V, beta: soft_argmax(K @ query / math.sqrt(len(query)), beta) @ V,
            "además de multiplicar por beta, divides entre √d_k. Aquí beta es toda la escala: "
            "1/√d_k es solo su valor habitual.",
        ),
        Misconception(
            "detached_weights",
            lambda query, K, V, beta: soft_argmax(K @ query, beta).detach() @ V,
            "los valores son correctos, pero el gradiente no llega a la consulta ni a las claves: "
            "algo separa los pesos del cálculo que se deriva.",
        ),
        Misconception(
            "beta_after",
            lambda query, K, V, beta: (beta * soft_argmax(K @ query)) @ V,
            "multiplicas por beta después de la softmax: así los pesos dejan de sumar uno. "
            "Va antes, sobre las puntuaciones.",
        ),
        Misconception(
            "mixes_keys",
            lambda query, K, V, beta: soft_argmax(K @ query, beta) @ K,
            "mezclas las claves. Los pesos salen de ellas, pero lo que se mezcla son los valores.",
        ),
        Misconception(
            "hard",
            lambda query, K, V, beta: V[(K @ query).argmax()],
            "devuelves un solo valor: eso es la búsqueda dura. En la suave contribuyen todos, cada "
            "uno con su peso.",
        ),
        Misconception(
            "not_normalised",
            lambda query, K, V, beta: torch.exp(beta * (K @ query)) @ V,
            "los pesos no suman uno: falta dividir entre la suma de las exponenciales.",
        ),
        Misconception(
            "overflow",
            _unsafe_softmax,
            "la fórmula es correcta, pero con puntuaciones grandes la exponencial se desborda y "
            "aparece infinito entre infinito. soft_argmax resta antes el máximo y da lo mismo.",
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


def _look_up(scale, dim=-1):
    """Una búsqueda que divide entre `scale(Q, K, V)` y normaliza sobre el eje `dim`."""

    def look_up(Q, K, V):
        A = soft_argmax(Q @ K.mT / scale(Q, K, V), dim=dim)
        return A @ V, A

    return look_up


def _scale_after(Q, K, V):
    A = soft_argmax(Q @ K.mT) / math.sqrt(Q.shape[-1])
    return A @ V, A


def _plain_transpose(Q, K, V):
    A = soft_argmax(Q @ K.transpose(0, 1) / math.sqrt(Q.shape[-1]))
    return A @ V, A


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
            _look_up(lambda Q, K, V: 1.0),
            "olvidaste dividir las puntuaciones entre √d_k: cuanto más anchos son los vectores, "
            "más se concentran los pesos.",
        ),
        Misconception(
            "divides_by_d",
            _look_up(lambda Q, K, V: Q.shape[-1]),
            "divides entre d_k. La desviación de un producto escalar crece como √d_k: dividir "
            "entre d_k aplana los pesos.",
        ),
        Misconception(
            "scale_from_values",
            _look_up(lambda Q, K, V: math.sqrt(V.shape[-1])),
            "escalas con el ancho de los valores. La escala corrige el producto entre consultas y "
            "claves: el ancho que cuenta es el suyo.",
        ),
        Misconception(
            "scale_from_length",
            _look_up(lambda Q, K, V: math.sqrt(K.shape[-2])),
            "escalas con el número de claves. La escala depende de cuántas coordenadas se suman en "
            "cada puntuación, no de cuántas claves hay.",
        ),
        Misconception(
            "multiplies",
            _look_up(lambda Q, K, V: 1 / math.sqrt(Q.shape[-1])),
            "multiplicas por √d_k en vez de dividir: la corrección va en sentido contrario.",
        ),
        Misconception(
            "softmax_over_queries",
            _look_up(lambda Q, K, V: math.sqrt(Q.shape[-1]), dim=-2),
            "normalizas sobre las consultas. Cada consulta reparte su atención entre las claves: "
            "son las filas de A las que suman uno.",
        ),
        Misconception(
            "scale_after_softmax",
            _scale_after,
            "escalas después de la softmax: los pesos ya no suman uno y siguen igual de "
            "concentrados. Escala las puntuaciones.",
        ),
        Misconception(
            "transposes_batch",
            _plain_transpose,
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


SPLIT_HEADS = Exercise(
    name="key_value_store.split_heads",
    points=2,
    reference=lambda X, num_heads: rearrange(X, "b t (h d) -> b h t d", h=num_heads),
    cases=_split_cases,
    misconceptions=(
        Misconception(
            "view_instead_of_transpose",
            lambda X, num_heads: X.reshape(X.shape[0], num_heads, X.shape[1], -1),
            "la forma es la pedida, pero cada cabeza recibe trozos de posiciones mezcladas. "
            "reshape no mueve ejes: primero parte el último y después intercambia dos.",
        ),
        Misconception(
            "no_transpose",
            lambda X, num_heads: X.reshape(*X.shape[:2], num_heads, -1),
            "partes bien el último eje, pero falta llevar el de las cabezas delante del tiempo.",
        ),
        Misconception(
            "interleaved",
            lambda X, num_heads: rearrange(X, "b t (d h) -> b h t d", h=num_heads),
            "repartes las coordenadas como naipes, una para cada cabeza. Cada cabeza se lleva un "
            "bloque contiguo: en el eje partido, las cabezas van primero.",
        ),
        Misconception(
            "swaps_time_and_width",
            lambda X, num_heads: rearrange(X, "b t (h d) -> b h d t", h=num_heads),
            "los dos últimos ejes están al revés: dentro de cada cabeza, una fila por posición.",
        ),
        Misconception(
            "heads_before_batch",
            lambda X, num_heads: rearrange(X, "b t (h d) -> h b t d", h=num_heads),
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


def _stack_and_split(order, sizes):
    """Pega las matrices en ese orden y corta con `sizes(d_k, d_v)`."""

    def stacked_projection(project, *matrices):
        Y = project(torch.cat([matrices[i] for i in order], dim=-1))
        return Y.split(sizes(matrices[0].shape[-1], matrices[2].shape[-1]), dim=-1)

    return stacked_projection


def _chunk_in_three(project, W_q, W_k, W_v):
    return project(torch.cat([W_q, W_k, W_v], dim=-1)).tensor_split(3, dim=-1)


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
    reference=_stack_and_split((0, 1, 2), lambda d_k, d_v: [d_k, d_k, d_v]),
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
            _chunk_in_three,
            "cortas en tres partes iguales, y los valores pueden tener otro ancho que consultas y "
            "claves: corta con los tres anchos.",
        ),
        Misconception(
            "one_width",
            _stack_and_split((0, 1, 2), lambda d_k, d_v: d_k),
            "cortas siempre con el ancho de las consultas. Los valores pueden tener otro: corta "
            "con los tres anchos.",
        ),
        Misconception(
            "keys_first",
            _stack_and_split((1, 0, 2), lambda d_k, d_v: [d_k, d_k, d_v]),
            "consultas y claves salen intercambiadas: corta en el mismo orden en que pegaste.",
        ),
        Misconception(
            "values_first",
            _stack_and_split((2, 1, 0), lambda d_k, d_v: [d_v, d_k, d_k]),
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


@combinable
def _multi_head(
    split="b t (h d) -> b h t d", merge="b h t d -> b t (h d)", beta=None, dim=-1, swap=False
):
    """Una atención multicabeza con una pieza que se puede estropear."""

    def multi_head(X, W_q, W_k, W_v, W_h, num_heads):
        Q, K, V = (rearrange(X @ W, split, h=num_heads) for W in (W_q, W_k, W_v))
        K, V = (V, K) if swap else (K, V)
        scale = Q.shape[-1] ** -0.5 if beta is None else beta(X, W_q)
        H = soft_argmax(Q @ K.mT, scale, dim=dim) @ V
        return rearrange(H, merge) @ W_h

    return multi_head


def _merge_by_reshape(X, W_q, W_k, W_v, W_h, num_heads):
    Q, K, V = (rearrange(X @ W, "b t (h d) -> b h t d", h=num_heads) for W in (W_q, W_k, W_v))
    return attention(Q, K, V).reshape(*X.shape[:2], -1) @ W_h


def _split_by_reshape(X, W_q, W_k, W_v, W_h, num_heads):
    batch, t, _ = X.shape
    Q, K, V = ((X @ W).reshape(batch, num_heads, t, -1) for W in (W_q, W_k, W_v))
    return rearrange(attention(Q, K, V), "b h t d -> b t (h d)") @ W_h


def _without_W_h(X, W_q, W_k, W_v, W_h, num_heads):
    Q, K, V = (rearrange(X @ W, "b t (h d) -> b h t d", h=num_heads) for W in (W_q, W_k, W_v))
    return rearrange(attention(Q, K, V), "b h t d -> b t (h d)")


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
            _without_W_h,
            "falta W_h: concatenar deja las cabezas una al lado de otra; W_h las mezcla y las "
            "devuelve a la dimensión del modelo.",
        ),
        Misconception(
            "one_head",
            lambda X, W_q, W_k, W_v, W_h, num_heads: attention(X @ W_q, X @ W_k, X @ W_v) @ W_h,
            "no usas num_heads: esto es una sola cabeza ancha, con un único reparto de pesos por "
            "posición.",
        ),
        Misconception(
            "scale_with_all_heads",
            _multi_head(beta=lambda X, W_q: W_q.shape[-1] ** -0.5),
            "escalas con el ancho de todas las cabezas juntas. Cada producto escalar suma solo las "
            "coordenadas de su cabeza.",
        ),
        Misconception(
            "no_scale",
            _multi_head(beta=lambda X, W_q: 1.0),
            "olvidaste dividir las puntuaciones de cada cabeza entre √d_k.",
        ),
        Misconception(
            "split_without_transpose",
            _split_by_reshape,
            "partes en cabezas con un solo reshape: cada cabeza recibe posiciones mezcladas. Parte "
            "el último eje y después lleva el de las cabezas delante del tiempo.",
        ),
        Misconception(
            "merge_without_transpose",
            _merge_by_reshape,
            "al juntar las cabezas falta devolver su eje al lado del ancho antes del reshape: así "
            "mezclas posiciones distintas.",
        ),
        Misconception(
            "interleaved_merge",
            _multi_head(merge="b h t d -> b t (d h)"),
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
    new=lambda Q, chunk: Q @ chunk.T,
    place=lambda places, start: places + start,
    choose=lambda scores, k: scores.topk(min(k, scores.shape[-1])),
    follow=lambda indices, kept, start: indices.gather(-1, kept),
):
    """Un paso de la búsqueda con una pieza que se puede estropear."""

    def update_top_k(scores, indices, Q, K_chunk, start, k):
        found = new(Q, K_chunk)
        places = place(torch.arange(found.shape[-1]), start).expand_as(found)
        scores, kept = choose(torch.cat([scores, found], dim=-1), k)
        return scores, follow(torch.cat([indices, places], dim=-1), kept, start)

    return update_top_k


def _reversed(tensors):
    return tuple(x.flip(-1) for x in tensors)


def _only_this_chunk(scores, indices, Q, K_chunk, start, k):
    scores, kept = (Q @ K_chunk.T).topk(min(k, len(K_chunk)))
    return scores, kept + start


def _k_of_every_chunk(scores, indices, Q, K_chunk, start, k, most=min):
    new, kept = (Q @ K_chunk.T).topk(most(k, len(K_chunk)))
    return torch.cat([scores, new], dim=-1), torch.cat([indices, kept + start], dim=-1)


def _k_from_short_chunk(scores, indices, Q, K_chunk, start, k):
    step = _k_of_every_chunk(scores, indices, Q, K_chunk, start, k, most=lambda k, n: k)
    scores, kept = step[0].topk(k)
    return scores, step[1].gather(-1, kept)


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
            "no descartas ninguna clave: lo que pasa de un trozo al siguiente crece sin fin. De "
            "cada consulta conserva, como mucho, k.",
        ),
        Misconception(
            "k_of_every_chunk",
            _k_of_every_chunk,
            "añades los k mejores de cada trozo a los que ya había: falta elegir los k mejores "
            "entre todos ellos.",
        ),
        Misconception(
            "only_this_chunk",
            _only_this_chunk,
            "olvidas los candidatos que recibes: te quedas con lo mejor de este trozo. Los de "
            "antes compiten con los nuevos.",
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
            "encuentras las k mejores, pero las das de menor a mayor.",
        ),
        Misconception(
            "smallest",
            _update(choose=lambda s, k: s.topk(min(k, s.shape[-1]), largest=False)),
            "te quedas con las claves menos parecidas: las k mejores son las de mayor puntuación.",
        ),
        Misconception(
            "softmax_in_chunk",
            _update(new=lambda Q, chunk: soft_argmax(Q @ chunk.T)),
            "comparas los pesos de una softmax por trozo. Cada una tiene su denominador, y así una "
            "clave gana por estar en un trozo malo: compara las puntuaciones.",
        ),
        Misconception(
            "short_chunk",
            _k_from_short_chunk,
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
