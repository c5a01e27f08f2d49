"""Ejercicios del tema Transformer y los errores frecuentes que saben explicar."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange

from course_lib.grading.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.attention import attention
from course_lib.primitives.masks import padding_mask

# El núcleo fundido suma en otro orden que la fórmula escrita: sus gradientes difieren en 1e-5.
TOLERANCE = 1e-4


def _randn(rng: torch.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=rng)


def _matrix(rng: torch.Generator, d_in: int, d_out: int) -> torch.Tensor:
    """Sortea parámetros que conservan la escala, algo mayores para que la softmax no sea plana."""
    return _randn(rng, d_in, d_out, scale=1.5 / math.sqrt(d_in))


def _tokens(rng, lengths, t: int, pad_id: int) -> torch.Tensor:
    """Sortea un lote de identificadores, `[batch, t]`, con relleno al final de cada fila."""
    ids = torch.randint(10, 60, (len(lengths), t), generator=rng)
    return ids.masked_fill(torch.arange(t) >= torch.tensor(lengths)[:, None], pad_id)


def _future_hidden(t_q: int, t_k: int | None = None) -> torch.Tensor:
    """La máscara causal, escrita sin la biblioteca para que los errores la cambien."""
    return torch.ones(t_q, t_q if t_k is None else t_k, dtype=torch.bool).tril()


# 1 · Partir en cabezas


def _split(X, num_heads):
    return rearrange(X, "... t (heads d_k) -> ... heads t d_k", heads=num_heads)


def _split_cases(rng):
    return [
        (_randn(rng, 6, 8), 2),
        (_randn(rng, 3, 4, 6), 2),
        (_randn(rng, 2, 3, 8, 12), 4),
    ]


SPLIT_HEADS = Exercise(
    name="transformer.split_heads",
    points=1,
    reference=_split,
    cases=_split_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "reshaped",
            lambda X, h: X.reshape(*X.shape[:-2], h, X.shape[-2], -1),
            "la forma es la pedida y los números están en otro lugar: un reshape no mueve ejes, "
            "solo vuelve a cortar la misma fila de números, y mezcla posiciones; primero parte el "
            "último eje en dos y después lleva el de las cabezas delante del tiempo",
        ),
        Misconception(
            "axis_not_moved",
            lambda X, h: X.unflatten(-1, (h, -1)),
            "partiste bien el último eje, pero las cabezas quedaron detrás del tiempo: así, el "
            "producto Q Kᵀ compararía cabezas entre sí y no palabras",
        ),
        Misconception(
            "interleaved",
            lambda X, h: X.unflatten(-1, (-1, h)).movedim(-1, -3),
            "repartes las coordenadas salteadas, como quien da cartas; cada cabeza recibe un "
            "tramo seguido: la primera, las d_k primeras",
        ),
        Misconception(
            "heads_last",
            lambda X, h: X.unflatten(-1, (-1, h)),
            "el eje de las cabezas quedó el último; debe ir justo antes del tiempo",
        ),
        Misconception(
            "heads_before_batch",
            lambda X, h: _split(X, h).movedim(-3, 0),
            "con una sola frase está bien; con un lote, las cabezas se adelantaron también al "
            "lote: cuenta los ejes desde el final",
        ),
        Misconception(
            "heads_are_widths",
            lambda X, h: X.unflatten(-1, (-1, h)).transpose(-2, -3),
            "tomaste el número de cabezas por su ancho: son num_heads cabezas de "
            "d_model / num_heads coordenadas, no al revés",
        ),
        Misconception(
            "transposed",
            lambda X, h: _split(X, h).mT,
            "dentro de cada cabeza, las filas deben ser las posiciones y las columnas, sus d_k "
            "coordenadas: las tienes transpuestas",
        ),
        Misconception(
            "splits_time",
            lambda X, h: X.unflatten(-2, (h, -1)),
            "partiste el tiempo: cada cabeza vería un trozo de la frase. Todas ven la frase "
            "entera; lo que se reparten es el ancho",
        ),
    ),
)


# 2 · Juntar las cabezas


def _merge(H):
    return rearrange(H, "... heads t d_k -> ... t (heads d_k)")


def _merge_cases(rng):
    return [
        (_randn(rng, 2, 5, 3),),
        (_randn(rng, 3, 4, 6, 2),),
        (_randn(rng, 2, 3, 2, 4, 4),),
    ]


MERGE_HEADS = Exercise(
    name="transformer.merge_heads",
    points=1,
    reference=_merge,
    cases=_merge_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "reshaped",
            lambda H: H.reshape(*H.shape[:-3], H.shape[-2], -1),
            "la forma es la pedida, pero el orden no: pusiste juntas las posiciones de una misma "
            "cabeza. Devuelve antes el eje de las cabezas a su lugar, junto a d_k",
        ),
        Misconception(
            "interleaved",
            lambda H: H.movedim(-3, -1).flatten(-2),
            "intercalas las cabezas coordenada a coordenada; se concatenan enteras, una tras otra",
        ),
        Misconception(
            "concatenates_time",
            lambda H: H.flatten(-3, -2),
            "las pusiste una debajo de otra: la frase parece num_heads veces más larga. Se "
            "concatenan de lado, para que cada posición recupere su ancho",
        ),
        Misconception(
            "mean",
            lambda H: H.mean(dim=-3),
            "promedias las cabezas, y así se pierde lo que cada una encontró; se concatenan, y "
            "es W_h quien aprende cómo combinarlas",
        ),
        Misconception(
            "sum",
            lambda H: H.sum(dim=-3),
            "sumas las cabezas; se concatenan, y la suma ponderada la hace después W_h",
        ),
        Misconception(
            "counts_from_the_front",
            lambda H: H.transpose(1, 2).flatten(-2),
            "eso solo sirve con un único eje de lote: cuenta los ejes desde el final, con "
            "índices negativos",
        ),
        Misconception(
            "counts_from_zero",
            lambda H: H.transpose(0, 1).flatten(-2),
            "eso solo sirve sin lote: con él, los ejes 0 y 1 ya no son las cabezas y el tiempo; "
            "cuéntalos desde el final",
        ),
        Misconception(
            "axis_not_merged",
            lambda H: H.transpose(-3, -2),
            "moviste el eje de las cabezas a su lugar; falta fundirlo con d_k",
        ),
    ),
)


# 3 · La máscara del decodificador


def _decoder_mask(token_ids, pad_id):
    return padding_mask(token_ids, pad_id).unsqueeze(1) & _future_hidden(token_ids.shape[-1])


def _mask_cases(rng):
    left = _tokens(rng, (5, 5), 5, pad_id=3)
    left[0, :2] = 3  # relleno por delante: también existe
    return [
        (_tokens(rng, (5, 3, 1), 5, pad_id=0), 0),
        (left, 3),
        (_tokens(rng, (4, 2), 4, pad_id=99), 99),  # mayor que cualquier palabra
    ]


def _mask_from(combine):
    """Una máscara a partir de las tres piezas: lo causal, las claves reales, las consultas."""

    def implementation(token_ids, pad_id):
        real, t = token_ids != pad_id, token_ids.shape[-1]
        return combine(_future_hidden(t), real[:, None, None, :], real[:, None, :, None])

    return implementation


def _additive_mask(token_ids, pad_id):
    visible = _decoder_mask(token_ids, pad_id)
    return torch.zeros(visible.shape).masked_fill(~visible, -math.inf)


_PADDING_AND_FUTURE = "una posición se ve si no es futura y, además, no es relleno"

DECODER_MASK = Exercise(
    name="transformer.decoder_mask",
    points=2,
    reference=_decoder_mask,
    cases=_mask_cases,
    misconceptions=(
        Misconception(
            "only_causal",
            _mask_from(lambda causal, keys, queries: causal | (keys & False)),
            "ocultas el futuro, y el relleno sigue a la vista: las palabras mezclarían su "
            "significado con el de nada",
        ),
        Misconception(
            "only_causal_one_matrix",
            _mask_from(lambda causal, keys, queries: causal),
            "es solo la máscara causal, la misma para todas las frases; el relleno de cada una "
            "es distinto, y por eso hace falta el eje del lote",
        ),
        Misconception(
            "only_padding",
            _mask_from(lambda causal, keys, queries: keys),
            "ocultas el relleno, y cada palabra sigue viendo las que vienen después: falta "
            "combinarla con la causal",
        ),
        Misconception(
            "only_padding_repeated",
            _mask_from(lambda causal, keys, queries: keys.expand(-1, 1, len(causal), -1)),
            "la forma es la pedida y solo ocultas el relleno: falta que nadie vea el futuro",
        ),
        Misconception(
            "either",
            _mask_from(lambda causal, keys, queries: causal | keys),
            f"combinas con «o», y así basta una de las dos para ver: {_PADDING_AND_FUTURE}",
        ),
        Misconception(
            "inverted",
            _mask_from(lambda causal, keys, queries: ~(causal & keys)),
            "está al revés: en este curso True marca lo visible, como en "
            "scaled_dot_product_attention (en nn.MultiheadAttention es lo contrario)",
        ),
        Misconception(
            "padding_inverted",
            _mask_from(lambda causal, keys, queries: causal & ~keys),
            "la parte causal está bien; la del relleno, al revés: dejas ver justo el relleno",
        ),
        Misconception(
            "future_visible",
            _mask_from(lambda causal, keys, queries: causal.T & keys),
            "usaste el triángulo contrario: cada palabra ve el futuro y no el pasado",
        ),
        Misconception(
            "diagonal_hidden",
            _mask_from(lambda causal, keys, queries: causal.tril(-1) & keys),
            "cada palabra se oculta a sí misma: la diagonal es visible. La entrada ya va "
            "desplazada un lugar, así que verse no es hacer trampa",
        ),
        Misconception(
            "hides_queries",
            _mask_from(lambda causal, keys, queries: causal & queries),
            "ocultas filas (consultas de relleno) y no columnas: lo que nadie debe mirar son las "
            "claves, el último eje",
        ),
        Misconception(
            "hides_both",
            _mask_from(lambda causal, keys, queries: causal & keys & queries),
            "ocultas el relleno como clave, que es lo pedido, y también como consulta: esas filas "
            "no verían nada, y la softmax de nada es NaN en más de una biblioteca. Lo que salga "
            "en una posición de relleno no se usa: la pérdida la ignora",
        ),
        Misconception(
            "no_head_axis",
            lambda ids, pad_id: _decoder_mask(ids, pad_id).squeeze(1),
            "los valores son correctos y falta el eje de las cabezas, de tamaño 1: con "
            "puntuaciones [batch, heads, t, t], tu lote se alinearía con las cabezas",
        ),
        Misconception(
            "pad_is_zero",
            lambda ids, pad_id: _decoder_mask(ids, 0),
            "das por hecho que el relleno es el 0: su identificador llega en pad_id",
        ),
        Misconception(
            "pad_is_smallest",
            lambda ids, pad_id: (ids > pad_id)[:, None, None] & _future_hidden(ids.shape[-1]),
            "comparas con >, y así el relleno solo se distingue si su identificador es el menor de "
            "todos: se pregunta si son distintos",
        ),
        Misconception(
            "additive",
            _additive_mask,
            "devuelves la máscara aditiva, con 0 y −∞; se pide la booleana, True = visible",
        ),
        Misconception(
            "as_floats",
            lambda ids, pad_id: _decoder_mask(ids, pad_id).float(),
            "son ceros y unos de punto flotante, y se pide la máscara booleana: combina las dos "
            "condiciones con & y deja los valores lógicos como están",
        ),
        Misconception(
            "as_numbers",
            lambda ids, pad_id: _decoder_mask(ids, pad_id).long(),
            "son ceros y unos, y se piden valores lógicos: ~ de un entero no es lo que parece",
        ),
    ),
)


# 4 · Atención cruzada


def _cross(Y, H, source_ids, pad_id, W_q, W_k, W_v):
    mask = padding_mask(source_ids, pad_id)
    return attention(Y @ W_q, H @ W_k, H @ W_v, mask=mask)


def _cross_case(rng, t_t, t_s, lengths, pad_id):
    batch = len(lengths)
    ids = _tokens(rng, lengths, t_s, pad_id)
    matrices = _matrix(rng, 6, 5), _matrix(rng, 6, 5), _matrix(rng, 6, 3)
    return _randn(rng, batch, t_t, 6), _randn(rng, batch, t_s, 6), ids, pad_id, *matrices


def _cross_cases(rng):
    return [
        _cross_case(rng, 3, 5, (4, 3), 0),
        _cross_case(rng, 4, 4, (3, 2, 3), 2),
        _cross_case(rng, 5, 3, (2, 1), 75),
    ]


def _cross_from(queries, keys, values, masked=True):
    """Atención cruzada en la que cada papel sale de `Y` (objetivo) o de `H` (codificador)."""

    def implementation(Y, H, source_ids, pad_id, W_q, W_k, W_v):
        sources = {"Y": Y, "H": H}
        scores = (sources[queries] @ W_q) @ (sources[keys] @ W_k).mT / math.sqrt(W_q.shape[-1])
        if masked:
            scores = scores.masked_fill(~padding_mask(source_ids, pad_id), -math.inf)
        return torch.softmax(scores, dim=-1) @ (sources[values] @ W_v)

    return implementation


@combinable
def _cross_with(
    *, scale=None, visible=None, worst=-math.inf, dim=-1, after=False, project_values=True
):
    """Atención cruzada con un solo detalle cambiado; `scale` recibe d_model, d_k y d_v."""

    def implementation(Y, H, source_ids, pad_id, W_q, W_k, W_v):
        mask = padding_mask(source_ids, pad_id)
        mask = mask if visible is None else visible(mask, Y.shape[-2])
        beta = (scale or _by_root)(*W_q.shape, W_v.shape[-1])
        scores = beta * (Y @ W_q) @ (H @ W_k).mT
        A = torch.softmax(scores if after else scores.masked_fill(~mask, worst), dim=dim)
        A = A.masked_fill(~mask, 0.0) if after else A
        return A @ (H @ W_v if project_values else H)

    return implementation


def _by_root(d_model, d_k, d_v):
    return 1 / math.sqrt(d_k)


def _cross_pad_is_zero(Y, H, source_ids, pad_id, *matrices):
    return _cross(Y, H, source_ids, 0, *matrices)


def _cross_zeroed_states(Y, H, source_ids, pad_id, *matrices):
    hidden = (source_ids == pad_id).unsqueeze(-1)
    return _cross_from("Y", "H", "H", masked=False)(
        Y, H.masked_fill(hidden, 0.0), source_ids, pad_id, *matrices
    )


CROSS_ATTENTION = Exercise(
    name="transformer.cross_attention",
    answers=("course_lib.primitives.attention.attention",),
    points=2,
    reference=_cross,
    cases=_cross_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "swapped",
            _cross_from("H", "Y", "Y", masked=False),
            "la pregunta va al revés: pregunta quien escribe (Y) y responde quien leyó (H). Tu "
            "salida tiene una fila por palabra del origen, y hace falta una por palabra escrita",
        ),
        Misconception(
            "swapped_and_masked",
            _cross_from("H", "Y", "Y"),
            "las consultas salen del origen y las claves del objetivo: es al revés. Por eso la "
            "máscara del origen no encaja, salvo cuando las dos frases miden lo mismo",
            raises=RuntimeError,
        ),
        Misconception(
            "self_attention",
            _cross_from("Y", "Y", "Y", masked=False),
            "no usas H en ningún lugar: es una autoatención del objetivo, y el decodificador no "
            "sabría qué está traduciendo",
        ),
        Misconception(
            "self_attention_masked",
            _cross_from("Y", "Y", "Y"),
            "las claves y los valores salen del objetivo; deben salir de lo que dio el "
            "codificador. La máscara del origen te avisa: tiene otra longitud",
            raises=RuntimeError,
        ),
        Misconception(
            "encoder_alone",
            _cross_from("H", "H", "H"),
            "no usas Y en ningún lugar: es una autoatención del origen",
        ),
        Misconception(
            "values_from_target",
            _cross_from("Y", "H", "Y"),
            "comparas bien, con las claves del origen, y después mezclas los valores del "
            "objetivo: claves y valores son parejas, y salen de H los dos",
            raises=RuntimeError,
        ),
        Misconception(
            "keys_from_target",
            _cross_from("Y", "Y", "H", masked=False),
            "mezclas los valores del origen, pero los buscas con claves del objetivo: claves y "
            "valores son parejas",
            raises=RuntimeError,
        ),
        Misconception(
            "no_mask",
            _cross_from("Y", "H", "H", masked=False),
            "el relleno del origen recibe atención: oculta sus claves",
        ),
        Misconception(
            "inverted",
            _cross_with(visible=lambda mask, t: ~mask),
            "la máscara está al revés: dejas ver solo el relleno (True = visible)",
        ),
        Misconception(
            "causal",
            _cross_with(visible=lambda mask, t: mask & _future_hidden(t, mask.shape[-1])),
            "pusiste una máscara causal: la frase de origen ya se leyó entera, y nada en ella es "
            "futuro; aquí solo se oculta su relleno",
        ),
        Misconception(
            "mask_after_softmax",
            _cross_with(after=True),
            "quitas el relleno después de la softmax (o pones a cero sus valores, que da lo "
            "mismo): los pesos que quedan ya no suman 1; oculta las puntuaciones antes",
        ),
        Misconception(
            "softmax_over_queries",
            _cross_with(dim=-2, after=True),
            "la softmax va sobre las claves, el último eje: cada palabra que se escribe reparte 1 "
            "entre las del origen, y no al revés",
        ),
        Misconception(
            "hides_with_zero",
            _cross_with(worst=0.0),
            "pones 0 en las puntuaciones ocultas (o las multiplicas por 0), y e⁰ = 1 sigue "
            "recibiendo peso: hace falta −∞",
        ),
        Misconception(
            "no_scale",
            _cross_with(scale=lambda *widths: 1.0),
            "todo sale de donde debe; faltó dividir las puntuaciones por √d_k",
        ),
        Misconception(
            "scale_by_model",
            _cross_with(scale=lambda d_model, d_k, d_v: 1 / math.sqrt(d_model)),
            "todo sale de donde debe; la escala usa d_model, y la que importa es d_k, el ancho de "
            "las consultas",
        ),
        Misconception(
            "scale_by_values",
            _cross_with(scale=lambda d_model, d_k, d_v: 1 / math.sqrt(d_v)),
            "todo sale de donde debe; la escala usa d_v, el ancho de los valores, y las "
            "puntuaciones son productos de consultas y claves, de ancho d_k",
        ),
        Misconception(
            "scale_without_root",
            _cross_with(scale=lambda d_model, d_k, d_v: 1 / d_k),
            "todo sale de donde debe; divides por d_k, y falta su raíz",
        ),
        Misconception(
            "multiplies_by_root",
            _cross_with(scale=lambda d_model, d_k, d_v: math.sqrt(d_k)),
            "todo sale de donde debe; multiplicas por √d_k, y hay que dividir",
        ),
        Misconception(
            "pad_is_zero",
            _cross_pad_is_zero,
            "das por hecho que el relleno es el 0: su identificador llega en pad_id",
        ),
        Misconception(
            "zeroed_states",
            _cross_zeroed_states,
            "pones a cero los estados del relleno, y una clave de ceros puntúa 0, que no es poco: "
            "e⁰ = 1 sigue recibiendo peso. Oculta sus puntuaciones con −∞",
        ),
        Misconception(
            "values_are_states",
            _cross_with(project_values=False),
            "mezclas los estados H tal cual: faltan los valores, H @ W_v",
        ),
    ),
)


# 5 · La red prealimentada, como convolución


def _feed_forward(X, kernel_1, b_1, kernel_2, b_2):
    hidden = F.conv1d(X.mT, kernel_1, b_1).relu()
    return F.conv1d(hidden, kernel_2, b_2).mT


def _feed_forward_case(rng, batch, t, d_model, d_ff):
    return (
        _randn(rng, batch, t, d_model),
        _matrix(rng, d_model, d_ff).T.unsqueeze(-1).contiguous(),
        _randn(rng, d_ff),
        _matrix(rng, d_ff, d_model).T.unsqueeze(-1).contiguous(),
        _randn(rng, d_model),
    )


def _feed_forward_cases(rng):
    return [_feed_forward_case(rng, *shape) for shape in ((2, 5, 3, 7), (3, 4, 4, 4), (1, 3, 2, 6))]


@combinable
def _feed_forward_with(first=torch.relu, second=lambda Z: Z, into=lambda X: X.mT, out=None):
    def implementation(X, kernel_1, b_1, kernel_2, b_2):
        hidden = first(F.conv1d(into(X), kernel_1, b_1))
        result = second(F.conv1d(hidden, kernel_2, b_2))
        return result.mT if out is None else out(result)

    return implementation


def _kernels_as_matrices(X, kernel_1, b_1, kernel_2, b_2):
    hidden = torch.relu(X @ kernel_1.squeeze(-1) + b_1)
    return hidden @ kernel_2.squeeze(-1) + b_2


def _channels_by_reshape(X):
    return X.reshape(X.shape[0], X.shape[2], X.shape[1])


FEED_FORWARD = Exercise(
    name="transformer.feed_forward",
    points=1,
    reference=_feed_forward,
    cases=_feed_forward_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "not_transposed",
            _feed_forward_with(into=lambda X: X, out=lambda Z: Z),
            "conv1d espera los canales delante del tiempo, [batch, d_model, t], y tus tensores "
            "llevan el tiempo delante: solo funciona si por casualidad t = d_model, y entonces "
            "mezcla posiciones en lugar de coordenadas",
            raises=RuntimeError,
        ),
        Misconception(
            "reshaped",
            _feed_forward_with(into=_channels_by_reshape, out=_channels_by_reshape),
            "reshape no transpone: da la forma que pide conv1d con los números en otro orden; "
            "usa .mT o .transpose",
        ),
        Misconception(
            "not_transposed_back",
            _feed_forward_with(out=lambda Z: Z),
            "el cálculo es correcto y sale como lo da conv1d, [batch, d_model, t]: devuélvelo a "
            "[batch, t, d_model]",
        ),
        Misconception(
            "kernel_not_transposed",
            _kernels_as_matrices,
            "usas el núcleo como matriz, y está guardado como [salida, entrada], igual que en "
            "nn.Linear: en X @ W va la transpuesta",
            raises=RuntimeError,
        ),
        Misconception(
            "no_activation",
            _feed_forward_with(first=lambda Z: Z),
            "falta la ReLU entre las dos capas: sin ella, las dos juntas son una sola función "
            "lineal, y d_ff no sirve de nada",
        ),
        Misconception(
            "activation_at_the_end",
            _feed_forward_with(first=lambda Z: Z, second=torch.relu),
            "la ReLU va entre las dos capas, no al final: la salida se suma a la conexión "
            "residual y necesita poder ser negativa",
        ),
        Misconception(
            "two_activations",
            _feed_forward_with(second=torch.relu),
            "sobra la segunda ReLU: la última capa es lineal, y su salida puede ser negativa",
        ),
        Misconception(
            "gelu",
            _feed_forward_with(first=F.gelu),
            "usaste GELU, la de BERT; aquí se pide la del artículo original, ReLU",
        ),
        Misconception(
            "no_biases",
            lambda X, k_1, b_1, k_2, b_2: _feed_forward(X, k_1, 0 * b_1, k_2, 0 * b_2),
            "faltan los sesgos: conv1d los recibe como tercer argumento",
        ),
        Misconception(
            "no_first_bias",
            lambda X, k_1, b_1, k_2, b_2: _feed_forward(X, k_1, 0 * b_1, k_2, b_2),
            "a la primera capa le falta su sesgo",
        ),
        Misconception(
            "no_last_bias",
            lambda X, k_1, b_1, k_2, b_2: _feed_forward(X, k_1, b_1, k_2, 0 * b_2),
            "a la segunda capa le falta su sesgo",
        ),
        Misconception(
            "activation_first",
            _feed_forward_with(into=lambda X: X.mT.relu(), first=lambda Z: Z),
            "la ReLU va entre las dos capas, y tú se la aplicas a la entrada: se pierde lo "
            "negativo antes de mirarlo, y las dos capas siguen siendo una sola función lineal",
        ),
        Misconception(
            "residual_included",
            lambda X, *parameters: X + _feed_forward(X, *parameters),
            "sumaste la conexión residual; esta es solo la subcapa: de la suma se ocupa el bloque",
        ),
    ),
)


# 6 · RMSNorm


def _rms_norm(X, gain, eps):
    return gain * X * torch.rsqrt(X.square().mean(dim=-1, keepdim=True) + eps)


def _rms_cases(rng):
    uneven = torch.tensor([1.0, 0.1, 2.0])[:, None]  # con ε = 0.5, una posición queda por debajo
    return [
        (2 + _randn(rng, 5, 8), _randn(rng, 8), 1e-5),
        (_randn(rng, 2, 3, 4) * uneven, 1 + _randn(rng, 4), 0.5),
        (_randn(rng, 4, 6, scale=1e-3), _randn(rng, 6), 1e-6),
    ]


def _divided_by(size):
    return lambda X, gain, eps: gain * X / size(X, eps)


RMS_NORM = Exercise(
    name="transformer.rms_norm",
    points=1,
    reference=_rms_norm,
    cases=_rms_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "layer_norm",
            lambda X, gain, eps: F.layer_norm(X, X.shape[-1:], gain, None, eps),
            "eso es la normalización de capa: resta la media. RMSNorm no centra; solo divide por "
            "la raíz de la media de los cuadrados",
        ),
        Misconception(
            "standard_deviation",
            _divided_by(lambda X, eps: (X.var(-1, keepdim=True, unbiased=False) + eps).sqrt()),
            "divides por la desviación estándar, que mide cuánto se apartan de su media; aquí se "
            "mide cuánto se apartan de cero",
        ),
        Misconception(
            "euclidean_length",
            _divided_by(lambda X, eps: (X.square().sum(-1, keepdim=True) + eps).sqrt()),
            "divides por la longitud del vector: es la *media* de los cuadrados, no la suma. Con "
            "la suma, cada coordenada se encoge cuando d crece",
        ),
        Misconception(
            "unit_length",
            lambda X, gain, eps: gain * F.normalize(X, dim=-1),
            "dejas cada vector con longitud 1, y RMSNorm lo deja con longitud √d: es la media de "
            "los cuadrados, no la suma (y falta ε)",
        ),
        Misconception(
            "sample_deviation",
            _divided_by(lambda X, eps: X.std(-1, keepdim=True)),
            "divides por la desviación estándar, que resta la media (y la de std, además, divide "
            "entre d − 1)",
        ),
        Misconception(
            "no_root",
            _divided_by(lambda X, eps: X.square().mean(-1, keepdim=True) + eps),
            "falta la raíz: divides por la media de los cuadrados, en unidades al cuadrado",
        ),
        Misconception(
            "mean_of_magnitudes",
            _divided_by(lambda X, eps: X.abs().mean(-1, keepdim=True) + eps),
            "promedias los valores absolutos; RMS es la raíz (R) de la media (M) de los "
            "cuadrados (S)",
        ),
        Misconception(
            "eps_outside",
            _divided_by(lambda X, eps: X.square().mean(-1, keepdim=True).sqrt() + eps),
            "sumas ε después de la raíz; va dentro, junto a la media de los cuadrados. Con "
            "números pequeños se nota",
        ),
        Misconception(
            "no_eps",
            _divided_by(lambda X, eps: X.square().mean(-1, keepdim=True).sqrt()),
            "falta ε: un vector de ceros daría 0/0",
        ),
        Misconception(
            "over_time",
            _divided_by(lambda X, eps: (X.square().mean(-2, keepdim=True) + eps).sqrt()),
            "normalizas sobre las posiciones: cada palabra se normaliza sola, con sus propias "
            "coordenadas, el último eje",
        ),
        Misconception(
            "over_everything",
            _divided_by(lambda X, eps: (X.square().mean() + eps).sqrt()),
            "una sola media para todo el lote: cada posición necesita la suya",
        ),
        Misconception(
            "root_before_mean",
            _divided_by(
                lambda X, eps: (X.square().sum(-1, keepdim=True) + eps).sqrt() / X.shape[-1]
            ),
            "divides por d después de la raíz; primero la media de los cuadrados y después la raíz",
        ),
        Misconception(
            "eps_written_by_hand",
            _divided_by(lambda X, eps: (X.square().mean(-1, keepdim=True) + 1e-5).sqrt()),
            "escribiste un valor fijo para ε: llega en eps",
        ),
        Misconception(
            "one_plus_gain",
            lambda X, gain, eps: _rms_norm(X, 1 + gain, eps),
            "multiplicas por 1 + g; se pide la ganancia tal cual",
        ),
        Misconception(
            "adds_gain",
            lambda X, gain, eps: _rms_norm(X, torch.ones_like(gain), eps) + gain,
            "sumas la ganancia; cada coordenada se multiplica por la suya",
        ),
        Misconception(
            "no_gain",
            lambda X, gain, eps: _rms_norm(X, torch.ones_like(gain), eps),
            "falta la ganancia: sin ella, la capa no puede devolver a una coordenada la escala "
            "que le convenga",
        ),
        Misconception(
            "multiplies",
            lambda X, gain, eps: gain * X * (X.square().mean(-1, keepdim=True) + eps).sqrt(),
            "multiplicas por la raíz en lugar de dividir",
        ),
    ),
)


# 7 · Dónde va la norma


def _residual(x, sublayer, placement, norm, norm_out):
    if placement == "post":
        return norm(x + sublayer(x))
    branch = sublayer(norm(x))
    return x + (norm_out(branch) if placement == "sandwich" else branch)


def _residual_call(student, x, W, placement, gain, gain_out):
    """Construye la subcapa y las dos normas a partir de datos simples."""

    def norm_with(g):
        return lambda z: F.layer_norm(z, z.shape[-1:], g)

    return student(x, lambda z: torch.tanh(z @ W), placement, norm_with(gain), norm_with(gain_out))


def _residual_cases(rng):
    return [
        (1 + 2 * _randn(rng, *shape), _matrix(rng, 5, 5), placement, *_gains(rng, 5))
        for shape in ((4, 5), (2, 3, 5))
        for placement in ("post", "pre", "sandwich")
    ]


def _gains(rng, d_model):
    return 1 + 0.5 * _randn(rng, d_model), 1 + 0.5 * _randn(rng, d_model)


def _residual_where(**by_placement):
    """Una conexión residual correcta, salvo en las colocaciones dadas."""

    def implementation(x, f, placement, norm, norm_out):
        wrong = by_placement.get(placement)
        if wrong is None:
            return _residual(x, f, placement, norm, norm_out)
        return wrong(x, f, norm, norm_out)

    return implementation


def _no_residual(x, f, placement, norm, norm_out):
    return _residual(x, f, placement, norm, norm_out) - x if placement != "post" else norm(f(x))


def _placed(wanted):
    return lambda x, W, placement, gain, gain_out: placement == wanted


RESIDUAL = Exercise(
    name="transformer.residual",
    points=2,
    # Con dos de las tres colocaciones se gana siempre: una de ellas es post o es pre.
    partial=tuple(
        Part(f"la colocación {each}", 1, cases=_placed(each)) for each in ("post", "pre")
    ),
    reference=_residual,
    cases=_residual_cases,
    call=_residual_call,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "post_and_pre_swapped",
            lambda x, f, placement, norm, norm_out: _residual(
                x, f, {"post": "pre", "pre": "post"}.get(placement, placement), norm, norm_out
            ),
            "confundes post con pre: el nombre dice dónde va la norma respecto de la subcapa. "
            "post, después (y después de la suma); pre, antes",
        ),
        Misconception(
            "always_post",
            lambda x, f, placement, norm, norm_out: _residual(x, f, "post", norm, norm_out),
            "haces lo mismo en las tres: falta mirar placement",
        ),
        Misconception(
            "always_pre",
            lambda x, f, placement, norm, norm_out: _residual(x, f, "pre", norm, norm_out),
            "haces pre en las tres: falta mirar placement",
        ),
        Misconception(
            "always_sandwich",
            lambda x, f, placement, norm, norm_out: _residual(x, f, "sandwich", norm, norm_out),
            "haces sándwich en las tres: falta mirar placement",
        ),
        Misconception(
            "post_for_the_rest",
            _residual_where(sandwich=lambda x, f, norm, norm_out: norm(x + f(x))),
            "con «sandwich» haces lo mismo que con «post»: ¿le falta su rama al if?",
        ),
        Misconception(
            "no_residual",
            _no_residual,
            "falta la conexión residual: la entrada debe sumarse a lo que da la subcapa",
        ),
        *(
            Misconception(
                f"no_residual_in_{placement}",
                _residual_where(**{placement: without}),
                f"en «{placement}» falta la conexión residual: la entrada debe sumarse",
            )
            for placement, without in (
                ("post", lambda x, f, norm, norm_out: norm(f(x))),
                ("pre", lambda x, f, norm, norm_out: f(norm(x))),
                ("sandwich", lambda x, f, norm, norm_out: norm_out(f(norm(x)))),
            )
        ),
        Misconception(
            "normalises_the_stream",
            _residual_where(
                pre=lambda x, f, norm, norm_out: norm(x) + f(norm(x)),
                sandwich=lambda x, f, norm, norm_out: norm(x) + norm_out(f(norm(x))),
            ),
            "en pre y en sándwich sumas norm(x): por la rama directa debe pasar x sin tocar, o "
            "el gradiente pierde su camino libre. ¿Escribiste x = norm(x) y la x original se "
            "perdió?",
        ),
        Misconception(
            "post_normalises_the_branch",
            _residual_where(post=lambda x, f, norm, norm_out: x + norm(f(x))),
            "en post, la norma se aplica a la suma, no a la salida de la subcapa",
        ),
        Misconception(
            "post_normalises_the_input",
            _residual_where(post=lambda x, f, norm, norm_out: norm(x) + f(x)),
            "en post, la norma va después de sumar; tú normalizas la entrada y sumas después",
        ),
        Misconception(
            "pre_normalises_the_sum",
            _residual_where(pre=lambda x, f, norm, norm_out: norm(x + f(norm(x)))),
            "en pre sobra la norma del final: la suma sale sin normalizar, y así llega al bloque "
            "siguiente",
        ),
        Misconception(
            "sandwich_normalises_the_sum",
            _residual_where(sandwich=lambda x, f, norm, norm_out: norm_out(x + f(norm(x)))),
            "en sándwich, la segunda norma va dentro de la rama, antes de sumar: las dos rodean "
            "a la subcapa, no a la suma",
        ),
        Misconception(
            "sandwich_around_everything",
            _residual_where(sandwich=lambda x, f, norm, norm_out: norm(x + norm_out(f(x)))),
            "en sándwich normalizas la suma, y la entrada de la subcapa llega sin normalizar: las "
            "dos normas van en la rama, una antes y otra después de la subcapa",
        ),
        Misconception(
            "sandwich_shares_its_norm",
            _residual_where(sandwich=lambda x, f, norm, norm_out: x + norm(f(norm(x)))),
            "usas la misma norma a los dos lados: cada una tiene sus parámetros; la de salida es "
            "norm_out",
        ),
        Misconception(
            "sandwich_norms_exchanged",
            _residual_where(sandwich=lambda x, f, norm, norm_out: x + norm(f(norm_out(x)))),
            "las dos normas del sándwich están intercambiadas: norm entra, norm_out sale",
        ),
        Misconception(
            "sandwich_without_input_norm",
            _residual_where(sandwich=lambda x, f, norm, norm_out: x + norm_out(f(x))),
            "al sándwich le falta el pan de abajo: normaliza también la entrada de la subcapa",
        ),
        Misconception(
            "sandwich_without_output_norm",
            _residual_where(sandwich=lambda x, f, norm, norm_out: x + f(norm(x))),
            "tu sándwich es igual a pre: falta la norma de la salida de la subcapa",
        ),
    ),
)


# 8 · Un bloque del codificador

BLOCK_NAMES = ("W_q", "W_k", "W_v", "W_h", "W_1", "b_1", "W_2", "b_2")


def _multi_head(X, P, num_heads, mask, beta=None, project=True):
    Q, K, V = (_split(X @ P[name], num_heads) for name in ("W_q", "W_k", "W_v"))
    H = _merge(attention(Q, K, V, mask=mask, beta=beta))
    return H @ P["W_h"] if project else H


def _network(X, P, activation=torch.relu):
    return activation(X @ P["W_1"] + P["b_1"]) @ P["W_2"] + P["b_2"]


def _norm(X, P, which):
    return F.layer_norm(X, X.shape[-1:], P[f"gain_{which}"], P[f"bias_{which}"])


def _block(X, P, num_heads, mask):
    Z = _norm(X + _multi_head(X, P, num_heads, mask), P, 1)
    return _norm(Z + _network(Z, P), P, 2)


def _block_parameters(rng, d_model, d_ff):
    squares = {name: _matrix(rng, d_model, d_model) for name in ("W_q", "W_k", "W_v", "W_h")}
    network = {
        "W_1": _matrix(rng, d_model, d_ff),
        "b_1": _randn(rng, d_ff, scale=0.5),
        "W_2": _matrix(rng, d_ff, d_model),
        "b_2": _randn(rng, d_model, scale=0.5),
    }
    gains = {f"gain_{i}": 1 + 0.5 * _randn(rng, d_model) for i in (1, 2)}
    return squares | network | gains | {f"bias_{i}": _randn(rng, d_model) for i in (1, 2)}


def _block_cases(rng):
    cases = []
    for (batch, t, d_model, heads), lengths in (
        ((2, 5, 8, 2), (4, 3)),
        ((3, 4, 4, 4), (2, 4, 3)),
        ((1, 6, 6, 3), (5,)),
    ):
        mask = padding_mask(_tokens(rng, lengths, t, 0), 0).unsqueeze(1)
        X = 1.5 * _randn(rng, batch, t, d_model)
        cases.append((X, _block_parameters(rng, d_model, 2 * d_model), heads, mask))
    return cases


@combinable
def _block_with(attend=_multi_head, network=_network):
    """Un bloque post-LN correcto con otra subcapa."""

    def implementation(X, P, num_heads, mask):
        Z = _norm(X + attend(X, P, num_heads, mask), P, 1)
        return _norm(Z + network(Z, P), P, 2)

    return implementation


def _block_joined(join_1, join_2):
    """Un bloque que une sus subcapas de otra manera: `join(x, f, norm)`."""

    def implementation(X, P, num_heads, mask):
        Z = join_1(X, lambda x: _multi_head(x, P, num_heads, mask), lambda x: _norm(x, P, 1))
        return join_2(Z, lambda z: _network(z, P), lambda z: _norm(z, P, 2))

    return implementation


def _join_post(x, f, norm):
    return norm(x + f(x))


def _join_pre(x, f, norm):
    return x + f(norm(x))


def _join_alone(x, f, norm):
    return norm(f(x))


def _join_without_norm(x, f, norm):
    return x + f(x)


def _residual_from_the_input(X, P, num_heads, mask):
    Z = _norm(X + _multi_head(X, P, num_heads, mask), P, 1)
    return _norm(X + _network(Z, P), P, 2)


def _parallel_block(X, P, num_heads, mask):
    Z = _norm(X + _multi_head(X, P, num_heads, mask), P, 1)
    return _norm(Z + _network(X, P), P, 2)


def _norms_exchanged(X, P, num_heads, mask):
    exchanged = P | {
        f"{kind}_{i}": P[f"{kind}_{3 - i}"] for kind in ("gain", "bias") for i in (1, 2)
    }
    return _block(X, exchanged, num_heads, mask)


def _neutral_norms(X):
    ones, zeros = torch.ones(X.shape[-1]), torch.zeros(X.shape[-1])
    return {f"gain_{i}": ones for i in (1, 2)} | {f"bias_{i}": zeros for i in (1, 2)}


def _one_norm_twice(X, P, num_heads, mask):
    return _block(X, P | {"gain_2": P["gain_1"], "bias_2": P["bias_1"]}, num_heads, mask)


def _heads_by_reshape(X, P, num_heads, mask):
    *batch, t, d_model = X.shape
    shape = (*batch, num_heads, t, d_model // num_heads)
    Q, K, V = ((X @ P[name]).reshape(shape) for name in ("W_q", "W_k", "W_v"))
    return attention(Q, K, V, mask=mask).reshape(X.shape) @ P["W_h"]


def _heads_merged_by_reshape(X, P, num_heads, mask):
    Q, K, V = (_split(X @ P[name], num_heads) for name in ("W_q", "W_k", "W_v"))
    return attention(Q, K, V, mask=mask).reshape(X.shape) @ P["W_h"]


def _heads_interleaved(X, P, num_heads, mask):
    """Reparte salteado y junta del mismo modo: coherente, y distinto de lo pedido."""
    Q, K, V = (
        (X @ P[name]).unflatten(-1, (-1, num_heads)).movedim(-1, -3)
        for name in ("W_q", "W_k", "W_v")
    )
    return attention(Q, K, V, mask=mask).movedim(-3, -1).flatten(-2) @ P["W_h"]


def _heads_merged_interleaved(X, P, num_heads, mask):
    Q, K, V = (_split(X @ P[name], num_heads) for name in ("W_q", "W_k", "W_v"))
    return attention(Q, K, V, mask=mask).movedim(-3, -1).flatten(-2) @ P["W_h"]


def _first_half(X, P, num_heads, mask):
    return _norm(X + _multi_head(X, P, num_heads, mask), P, 1)


ENCODER_BLOCK = Exercise(
    name="transformer.encoder_block",
    points=3,
    reference=_block,
    cases=_block_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "no_residuals",
            _block_joined(_join_alone, _join_alone),
            "faltan las dos conexiones residuales: cada subcapa corrige su entrada, no la "
            "sustituye",
        ),
        Misconception(
            "no_first_residual",
            _block_joined(_join_alone, _join_post),
            "falta la conexión residual de la atención: a lo que encontró hay que sumarle X",
        ),
        Misconception(
            "no_second_residual",
            _block_joined(_join_post, _join_alone),
            "falta la conexión residual de la red prealimentada",
        ),
        Misconception(
            "pre_norm",
            _block_joined(_join_pre, _join_pre),
            "normalizas antes de cada subcapa (pre-LN); el bloque del artículo normaliza después "
            "de cada suma (post-LN)",
        ),
        Misconception(
            "no_last_norm",
            _block_joined(_join_post, _join_without_norm),
            "falta la normalización del final, después de la segunda suma",
        ),
        Misconception(
            "no_first_norm",
            _block_joined(_join_without_norm, _join_post),
            "falta la normalización de en medio, entre la atención y la red prealimentada",
        ),
        Misconception(
            "no_norms",
            _block_joined(_join_without_norm, _join_without_norm),
            "no normalizas en ningún lugar: tras cada suma va una normalización de capa",
        ),
        Misconception(
            "residual_from_the_input",
            _residual_from_the_input,
            "la segunda suma parte de X, la entrada del bloque; debe partir de lo que salió de la "
            "primera mitad",
        ),
        Misconception(
            "network_on_the_input",
            _parallel_block,
            "la red prealimentada recibe X; debe recibir lo que salió de la primera mitad (en "
            "paralelo trabajan los bloques de PaLM, no estos)",
        ),
        Misconception(
            "norms_exchanged",
            _norms_exchanged,
            "las dos normas están intercambiadas: la 1 sigue a la atención y la 2, a la red "
            "prealimentada",
        ),
        Misconception(
            "one_norm_twice",
            _one_norm_twice,
            "usas los mismos parámetros en las dos normas: cada una tiene los suyos",
        ),
        Misconception(
            "norms_without_parameters",
            lambda X, P, num_heads, mask: _block(X, P | _neutral_norms(X), num_heads, mask),
            "las normas no usan sus parámetros: F.layer_norm los recibe después de la forma, "
            "ganancia y sesgo",
        ),
        Misconception(
            "network_without_biases",
            _block_with(network=lambda Z, P: torch.relu(Z @ P["W_1"]) @ P["W_2"]),
            "a la red prealimentada le faltan los sesgos b_1 y b_2",
        ),
        Misconception(
            "ignores_mask",
            _block_with(attend=lambda X, P, h, mask: _multi_head(X, P, h, None)),
            "no usas la máscara: el relleno recibe atención",
        ),
        Misconception(
            "inverted_mask",
            _block_with(attend=lambda X, P, h, mask: _multi_head(X, P, h, ~mask)),
            "la máscara está al revés: con ~ dejas ver solo el relleno. Aquí y en `attention`, "
            "True = visible",
        ),
        Misconception(
            "scale_by_model",
            _block_with(
                attend=lambda X, P, h, mask: _multi_head(X, P, h, mask, X.shape[-1] ** -0.5)
            ),
            "la escala usa d_model; dentro de cada cabeza, el ancho es d_k = d_model / num_heads",
        ),
        Misconception(
            "one_head",
            _block_with(attend=lambda X, P, h, mask: _multi_head(X, P, 1, mask)),
            "atiendes con una sola cabeza, del ancho de todo el modelo: falta partir en num_heads",
        ),
        Misconception(
            "heads_by_reshape",
            _block_with(attend=_heads_by_reshape),
            "partes las cabezas con reshape, sin mover ejes: cada cabeza recibe trozos de "
            "posiciones distintas (es el ejercicio 1)",
        ),
        Misconception(
            "heads_merged_by_reshape",
            _block_with(attend=_heads_merged_by_reshape),
            "las cabezas se parten bien y se juntan mal: antes del reshape hay que devolver su "
            "eje a su lugar (es el ejercicio 2)",
        ),
        Misconception(
            "heads_interleaved",
            _block_with(attend=_heads_interleaved),
            "repartes las coordenadas salteadas entre las cabezas: cada una recibe un tramo "
            "seguido. En rearrange, «(h d)», no «(d h)»",
        ),
        Misconception(
            "heads_merged_interleaved",
            _block_with(attend=_heads_merged_interleaved),
            "las cabezas se parten bien y al juntarlas se intercalan: se concatenan enteras, una "
            "tras otra. En rearrange, «(h d)», no «(d h)»",
        ),
        Misconception(
            "causal",
            _block_with(
                attend=lambda X, P, h, mask: _multi_head(
                    X, P, h, mask & _future_hidden(X.shape[-2])
                )
            ),
            "pusiste además una máscara causal: el codificador lee la frase entera, y en ella nada "
            "es futuro",
        ),
        Misconception(
            "output_matrix_transposed",
            _block_with(
                attend=lambda X, P, h, mask: _multi_head(X, P | {"W_h": P["W_h"].T}, h, mask)
            ),
            "usas W_h transpuesta; todas las matrices van como X @ W",
        ),
        Misconception(
            "only_attention",
            _first_half,
            "esa es la primera mitad del bloque; falta la segunda: la red, su suma y su norma",
        ),
        Misconception(
            "no_output_matrix",
            _block_with(attend=lambda X, P, h, mask: _multi_head(X, P, h, mask, project=False)),
            "falta W_h: concatenadas las cabezas, una matriz más las combina",
        ),
        Misconception(
            "no_activation",
            _block_with(network=lambda Z, P: _network(Z, P, lambda hidden: hidden)),
            "falta la ReLU en la red prealimentada",
        ),
        Misconception(
            "gelu",
            _block_with(network=lambda Z, P: _network(Z, P, F.gelu)),
            "usaste GELU en la red prealimentada; el enunciado pide ReLU",
        ),
    ),
)


# 9 · Encuentra el error en un decodificador


def _attend_once(X_q, X_k, P, part, mask):
    Q, K, V = (X @ P[f"{part}_{name}"] for X, name in ((X_q, "q"), (X_k, "k"), (X_k, "v")))
    return attention(Q, K, V, mask=mask)


def _plain_norm(X):
    return F.layer_norm(X, X.shape[-1:])


def _decoder(Y, H, P, source_mask, *, own=None, cross=None, queries=None, memory=None, end=None):
    """Un bloque del decodificador, con las piezas que se quieran cambiar."""
    t_t, t_s = Y.shape[-2], H.shape[-2]
    own_mask = _future_hidden(t_t) if own is None else own(t_t)
    cross_mask = source_mask if cross is None else cross(source_mask, t_t, t_s)
    Z = _plain_norm(Y + _attend_once(Y, Y, P, "self", own_mask))
    asking = Z if queries is None else queries(Y, Z)
    answering = H if memory is None else memory(Y, Z)
    C = _plain_norm(Z + _attend_once(asking, answering, P, "cross", cross_mask))
    hidden = torch.relu(C @ P["W_1"]) @ P["W_2"]
    return _plain_norm(C + hidden) if end is None else end(Z, C, hidden)


def _decoder_with(**changes):
    return lambda Y, H, P, source_mask: _decoder(Y, H, P, source_mask, **changes)


def _decoder_parameters(rng, d):
    names = [f"{part}_{role}" for part in ("self", "cross") for role in "qkv"]
    network = {"W_1": _matrix(rng, d, 2 * d), "W_2": _matrix(rng, 2 * d, d)}
    return {name: _matrix(rng, d, d) for name in names} | network


def _decoder_cases(rng):
    cases = []
    for t_t, t_s, lengths in ((4, 4, (4, 3)), (3, 6, (6, 4)), (6, 3, (2, 3))):
        mask = padding_mask(_tokens(rng, lengths, t_s, 0), 0)
        Y, H = _randn(rng, len(lengths), t_t, 6), _randn(rng, len(lengths), t_s, 6)
        cases.append((Y, H, _decoder_parameters(rng, 6), mask))
    return cases


def _everything(t):
    return torch.ones(t, t, dtype=torch.bool)


def _causal_too(mask, t_t, t_s):
    return mask & _future_hidden(t_t, t_s)


DECODER_BUG = Exercise(
    name="transformer.decoder_bug",
    points=2,
    reference=_decoder,
    cases=_decoder_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "unchanged",
            _decoder_with(own=_everything, cross=_causal_too),
            "el error sigue ahí. Pregúntate en qué atención hay un futuro que ocultar: ¿en la "
            "que mira lo que ya se escribió, o en la que mira la frase de origen?",
        ),
        Misconception(
            "both_causal",
            _decoder_with(cross=_causal_too),
            "la autoatención ya no ve el futuro; ahora sobra la otra mitad: la primera palabra "
            "que se escribe sigue sin ver el final de la frase de origen",
        ),
        Misconception(
            "none_causal",
            _decoder_with(own=_everything),
            "la atención cruzada ya ve el origen entero; falta la otra mitad: en la "
            "autoatención, cada palabra sigue viendo las que tiene que adivinar",
        ),
        Misconception(
            "padding_lost",
            _decoder_with(cross=lambda mask, t_t, t_s: None),
            "lo causal está en su lugar, pero al quitarlo de la atención cruzada se fue también "
            "la máscara del relleno del origen",
        ),
        Misconception(
            "cross_on_its_own_target",
            _decoder_with(memory=lambda Y, Z: Z, cross=lambda mask, t_t, t_s: _future_hidden(t_t)),
            "las máscaras son coherentes, pero la segunda atención mira ahora al propio "
            "objetivo: sin H, el decodificador no sabe qué traduce",
        ),
        Misconception(
            "cross_from_the_input",
            _decoder_with(queries=lambda Y, Z: Y),
            "las máscaras ya están bien, pero las consultas de la atención cruzada salen de la "
            "entrada Y: deben salir de lo que dio la autoatención",
        ),
        Misconception(
            "diagonal_hidden",
            _decoder_with(own=lambda t: _future_hidden(t).tril(-1)),
            "la máscara está en la atención correcta y oculta de más: cada palabra se ve también "
            "a sí misma",
        ),
        Misconception(
            "future_only",
            _decoder_with(own=lambda t: _future_hidden(t).T),
            "la máscara está en la atención correcta, con el triángulo contrario: dejas ver "
            "solo el futuro",
        ),
        Misconception(
            "inverted",
            _decoder_with(own=lambda t: ~_future_hidden(t)),
            "la máscara está en la atención correcta y al revés: True es visible, así que "
            "causal_mask se usa sin ~",
        ),
        Misconception(
            "nothing_hidden",
            _decoder_with(own=_everything, cross=lambda mask, t_t, t_s: None),
            "quitaste las dos máscaras: en la autoatención hace falta la causal, y en la cruzada, "
            "la del relleno del origen",
        ),
        Misconception(
            "network_skips_cross",
            _decoder_with(end=lambda Z, C, hidden: _plain_norm(Z + hidden)),
            "las máscaras ya están bien; en la última suma entra Z y no C, y lo que trajo la "
            "atención cruzada pierde su camino directo",
        ),
    ),
)


# 10 · Un paso con claves y valores guardados


def _append(old, new):
    return torch.cat([old, new], dim=-2)


def _cached_step(x, K, V, W_q, W_k, W_v):
    K, V = _append(K, x @ W_k), _append(V, x @ W_v)
    return attention(x @ W_q, K, V), K, V


def _cached_cases(rng):
    return [
        (
            _randn(rng, batch, 1, 6),
            _randn(rng, batch, t, 4),
            _randn(rng, batch, t, 3),
            _matrix(rng, 6, 4),
            _matrix(rng, 6, 4),
            _matrix(rng, 6, 3),
        )
        for batch, t in ((2, 4), (1, 0), (3, 1))
    ]


@combinable
def _cached_with(join=_append, attend=None):
    """Un paso con otra manera de guardar, o de atender a lo guardado."""

    def implementation(x, K, V, W_q, W_k, W_v):
        q, k, v = x @ W_q, x @ W_k, x @ W_v
        new_K, new_V = join(K, k), join(V, v)
        h = attention(q, new_K, new_V) if attend is None else attend(q, K, V, k, v)
        return h, new_K, new_V

    return implementation


def _only_the_past(q, K, V, k, v):
    return attention(q, K, V) if K.shape[-2] else torch.zeros_like(v)


def _top_left_causal(q, K, V, k, v):
    return _append(V, v)[:, :1]


def _never_stored(x, K, V, W_q, W_k, W_v):
    return _cached_step(x, K, V, W_q, W_k, W_v)[0], K, V


CACHED_STEP = Exercise(
    name="transformer.cached_step",
    points=2,
    partial=(Part("la salida", 1, item=0),),
    reference=_cached_step,
    cases=_cached_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "does_not_see_itself",
            _cached_with(attend=_only_the_past),
            "atiendes antes de guardar: la palabra nueva ve el pasado y no se ve a sí misma. "
            "Añade primero su clave y su valor",
        ),
        Misconception(
            "sees_only_itself",
            _cached_with(attend=lambda q, K, V, k, v: v),
            "atiendes solo a la clave nueva, y con una sola clave la atención es copiar su "
            "valor: las guardadas son el pasado que hay que mirar",
        ),
        Misconception(
            "top_left_causal",
            _cached_with(attend=_top_left_causal),
            "pusiste una máscara causal alineada arriba a la izquierda, como la de is_causal de "
            "torch: con una sola consulta deja ver solo la primera clave. Aquí no hace falta "
            "máscara: todo lo guardado es pasado",
        ),
        Misconception(
            "never_stored",
            _never_stored,
            "la salida es correcta, pero devuelves las claves y los valores de antes: la próxima "
            "palabra no verá esta",
        ),
        Misconception(
            "replaced",
            _cached_with(join=lambda old, new: new),
            "la clave y el valor nuevos sustituyen a los guardados; se añaden al final",
        ),
        Misconception(
            "returns_only_the_new",
            lambda x, K, V, W_q, W_k, W_v: (
                _cached_step(x, K, V, W_q, W_k, W_v)[0],
                x @ W_k,
                x @ W_v,
            ),
            "la salida es correcta, pero devuelves solo la clave y el valor nuevos: hay que "
            "devolver todo lo guardado, con ellos al final",
        ),
        Misconception(
            "prepended",
            _cached_with(join=lambda old, new: torch.cat([new, old], dim=-2)),
            "lo nuevo quedó delante: la salida no lo nota, porque la atención no sabe de orden, "
            "pero quien lea lo guardado espera que la posición j esté en la fila j",
        ),
        Misconception(
            "no_scale",
            _cached_with(
                attend=lambda q, K, V, k, v: attention(q, _append(K, k), _append(V, v), beta=1.0)
            ),
            "guardas bien; faltó dividir las puntuaciones por √d_k",
        ),
        Misconception(
            "keys_and_values_exchanged",
            lambda *inputs: (lambda h, K, V: (h, V, K))(*_cached_step(*inputs)),
            "devuelves los valores antes que las claves: el orden pedido es h, K, V",
        ),
    ),
)


# 11 · Contar parámetros

PARAMETERS = Exercise(
    name="transformer.parameters",
    points=1,
    reference=4_204_032,
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "one_attention",
            3_152_384,
            "es el total del bloque del codificador; el del decodificador tiene una atención más, "
            "y una norma más",
        ),
        Misconception(
            "one_attention_three_norms",
            3_153_408,
            "es el total con una sola atención: el decodificador tiene dos, con parámetros "
            "distintos",
        ),
        Misconception(
            "two_norms",
            4_203_008,
            "es el total con una norma de menos: hay una por subcapa, y las subcapas son tres",
        ),
        Misconception(
            "no_norms",
            4_200_960,
            "es el total sin las normas: cada una tiene una ganancia y un sesgo por coordenada",
        ),
        Misconception(
            "norms_without_bias",
            4_202_496,
            "es el total con una sola cifra por coordenada en cada norma: tienen ganancia y "
            "también sesgo",
        ),
        Misconception(
            "no_biases",
            4_197_376,
            "es el total sin los sesgos de las capas lineales: hay uno por cada salida",
        ),
        Misconception(
            "no_network_biases",
            4_201_472,
            "es el total sin los sesgos de la red prealimentada: hay uno por cada salida de cada "
            "capa",
        ),
        Misconception(
            "no_attention_biases",
            4_199_936,
            "es el total sin los sesgos de las atenciones: hay uno por cada salida de cada "
            "proyección",
        ),
        Misconception(
            "one_norm",
            4_201_984,
            "es el total con una sola norma: hay una por subcapa, y las subcapas son tres",
        ),
        Misconception(
            "with_embedding",
            23_148_032,
            "es el total con la tabla de incrustaciones: se pide solo un bloque",
        ),
        Misconception(
            "nothing_but_matrices",
            4_194_304,
            "es el total de las matrices solas: faltan los sesgos y las normas",
        ),
        Misconception(
            "no_output_matrix",
            3_678_720,
            "es el total sin la matriz de salida W_h de cada atención: las proyecciones son cuatro",
        ),
        Misconception(
            "multiplied_by_heads",
            18_912_768,
            "es el total con ocho veces cada atención: las cabezas se reparten el ancho, así que "
            "las ocho juntas caben en las mismas matrices que una sola",
        ),
        Misconception(
            "square_network",
            2_629_632,
            "es el total con una red prealimentada de 512 × 512; su capa de en medio mide d_ff",
        ),
        Misconception(
            "half_network",
            3_154_944,
            "es el total con una sola de las dos matrices de la red prealimentada",
        ),
        Misconception(
            "six_blocks",
            25_224_192,
            "son los de la pila de seis bloques; se pide uno solo",
        ),
    ),
)

EXERCISES = (
    SPLIT_HEADS,
    MERGE_HEADS,
    DECODER_MASK,
    CROSS_ATTENTION,
    FEED_FORWARD,
    RMS_NORM,
    RESIDUAL,
    ENCODER_BLOCK,
    DECODER_BUG,
    CACHED_STEP,
    PARAMETERS,
)
