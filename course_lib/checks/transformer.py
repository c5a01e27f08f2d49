"""Ejercicios del tema Transformer y los errores frecuentes que saben explicar."""

import math

import torch
import torch.nn.functional as F
from einops import rearrange

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.attention import attention
from course_lib.primitives.masks import padding_mask

# El núcleo fusionado suma en otro orden que la fórmula escrita: sus gradientes difieren en 1e-5.
TOLERANCE = 1e-4


def _randn(rng: torch.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=rng)


def _matrix(rng: torch.Generator, d_in: int, d_out: int) -> torch.Tensor:
    """Sortea parámetros que conservan la escala, algo mayores para que el softmax no sea plano."""
    return _randn(rng, d_in, d_out, scale=1.5 / math.sqrt(d_in))


def _tokens(rng, lengths, t: int, pad_id: int) -> torch.Tensor:
    """Sortea un lote de identificadores, `[batch, t]`, con relleno al final de cada fila."""
    ids = torch.randint(10, 60, (len(lengths), t), generator=rng)
    return ids.masked_fill(torch.arange(t) >= torch.tensor(lengths)[:, None], pad_id)


def _integer(rng, low: int, high: int) -> int:
    """Sortea un entero entre los dos, incluidos."""
    return int(torch.randint(low, high + 1, (1,), generator=rng))


def _shuffled(rng, *items):
    return [items[i] for i in torch.randperm(len(items), generator=rng)]


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


@combinable
def _split_with(
    cut=lambda X, h: X.unflatten(-1, (h, -1)),
    move=lambda X: X.transpose(-2, -3),
    after=lambda heads: heads,
):
    return lambda X, num_heads: after(move(cut(X, num_heads)))


def _as_it_is(X):
    return X


def _split_by_reshape(X, num_heads):
    return X.reshape(*X.shape[:-2], num_heads, X.shape[-2], -1)


_split_interleaved = _split_with(cut=lambda X, h: X.unflatten(-1, (-1, h)).mT)


SPLIT_HEADS = Exercise(
    name="transformer.split_heads",
    points=1,
    reference=_split,
    cases=_split_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "reshaped",
            _split_with(cut=_split_by_reshape, move=_as_it_is),
            "un reshape a la forma final no mueve ejes, solo vuelve a cortar la misma fila de "
            "números, y mezcla posiciones; primero parte el último eje en dos y después lleva el "
            "de las cabezas delante del tiempo",
        ),
        Misconception(
            "axis_not_moved",
            _split_with(move=_as_it_is),
            "dejas las cabezas detrás del tiempo: así, el producto Q Kᵀ compararía cabezas entre "
            "sí y no palabras",
        ),
        Misconception(
            "interleaved",
            _split_interleaved,
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
            _split_with(move=lambda X: X.movedim(-2, 0)),
            "con un lote, las cabezas se adelantan también a él: cuenta los ejes desde el final",
        ),
        Misconception(
            "heads_are_widths",
            _split_with(cut=lambda X, h: X.unflatten(-1, (-1, h))),
            "tomaste el número de cabezas por su ancho: son num_heads cabezas de "
            "d_model / num_heads coordenadas, no al revés",
        ),
        Misconception(
            "transposed",
            _split_with(after=lambda heads: heads.mT),
            "transpones los dos últimos ejes: dentro de cada cabeza, las filas son las posiciones "
            "y las columnas, sus d_k coordenadas",
        ),
        Misconception(
            "splits_time",
            _split_with(cut=lambda X, h: X.unflatten(-2, (h, -1)), move=_as_it_is),
            "partiste el tiempo: cada cabeza vería un trozo de la oración. Todas ven la oración "
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


@combinable
def _merge_with(move=lambda H: H.transpose(-3, -2), join=lambda H: H.flatten(-2)):
    return lambda H: join(move(H))


def _merge_by_reshape(H):
    return H.reshape(*H.shape[:-3], H.shape[-2], -1)


_merge_interleaved = _merge_with(move=lambda H: H.movedim(-3, -1))


MERGE_HEADS = Exercise(
    name="transformer.merge_heads",
    points=1,
    reference=_merge,
    cases=_merge_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "reshaped",
            _merge_by_reshape,
            "la forma es la pedida, pero el orden no: pusiste juntas las posiciones de una misma "
            "cabeza. Devuelve antes el eje de las cabezas a su lugar, junto a d_k",
        ),
        Misconception(
            "interleaved",
            _merge_interleaved,
            "llevas las cabezas detrás de d_k, y al fundirlas se intercalan coordenada a "
            "coordenada; se concatenan enteras, una tras otra",
        ),
        Misconception(
            "concatenates_time",
            lambda H: H.flatten(-3, -2),
            "las pusiste una debajo de otra: la oración parece num_heads veces más larga. Se "
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
            _merge_with(move=lambda H: H.transpose(1, 2)),
            "cambias de lugar los ejes 1 y 2, que son las cabezas y el tiempo solo si hay un "
            "único eje de lote: cuéntalos desde el final, con índices negativos",
        ),
        Misconception(
            "counts_from_zero",
            _merge_with(move=lambda H: H.transpose(0, 1)),
            "cambias de lugar los ejes 0 y 1, que son las cabezas y el tiempo solo si no hay "
            "lote: cuéntalos desde el final",
        ),
        Misconception(
            "axis_not_merged",
            _merge_with(join=_as_it_is),
            "falta fundir el eje de las cabezas con d_k",
        ),
    ),
)


# 3 · La máscara del decodificador


def _decoder_mask(token_ids, pad_id):
    return padding_mask(token_ids, pad_id).unsqueeze(1) & _future_hidden(token_ids.shape[-1])


def _mask_cases(rng):
    t, n, m = (_integer(rng, 4, 7) for _ in range(3))
    left = _tokens(rng, (n, n), n, pad_id=3)
    left[_integer(rng, 0, 1), : _integer(rng, 1, n - 2)] = 3  # por delante: también existe
    return [
        (_tokens(rng, _shuffled(rng, t, _integer(rng, 2, t - 1), 1), t, pad_id=0), 0),
        (left, 3),
        (_tokens(rng, (m, _integer(rng, 1, m - 1)), m, pad_id=99), 99),  # mayor que toda palabra
    ]


@combinable
def _mask_with(
    real=torch.ne,
    causal=_as_it_is,
    padding=lambda keys, queries: keys,
    combine=torch.logical_and,
    heads=lambda visible: visible.unsqueeze(1),
    meaning=_as_it_is,
    given=_as_it_is,
):
    """De las palabras reales y lo causal a lo visible, y de ahí a la máscara que se devuelve."""

    def implementation(token_ids, pad_id):
        words = real(token_ids, pad_id)
        past = causal(_future_hidden(token_ids.shape[-1]))
        visible = combine(past, padding(words[:, None, :], words[:, :, None]))
        return given(meaning(heads(visible)))

    return implementation


def _additive(mask):
    return torch.zeros(mask.shape).masked_fill(~mask, -math.inf)


_PADDING_AND_FUTURE = "una posición se ve si no es futura y, además, no es relleno"

DECODER_MASK = Exercise(
    name="transformer.decoder_mask",
    points=2,
    reference=_decoder_mask,
    cases=_mask_cases,
    misconceptions=(
        Misconception(
            "only_causal",
            _mask_with(padding=lambda keys, queries: torch.ones_like(keys)),
            "falta ocultar el relleno: las palabras mezclarían su significado con el de nada",
        ),
        Misconception(
            "only_causal_one_matrix",
            _mask_with(combine=lambda past, keys: past, heads=_as_it_is),
            "es la máscara causal sola, la misma para todas las oraciones; el relleno de cada una "
            "es distinto, y por eso hace falta el eje del lote",
        ),
        Misconception(
            "only_padding",
            _mask_with(combine=lambda past, keys: keys),
            "es la máscara del relleno sola: falta combinarla con la causal, para que ninguna "
            "palabra vea las que vienen después",
        ),
        Misconception(
            "only_padding_repeated",
            _mask_with(causal=torch.ones_like),
            "la parte causal no oculta nada: falta que nadie vea el futuro",
        ),
        Misconception(
            "either",
            _mask_with(combine=torch.logical_or),
            f"tal como combinas las dos condiciones, basta una para ver: {_PADDING_AND_FUTURE}",
        ),
        Misconception(
            "inverted",
            _mask_with(meaning=torch.logical_not),
            "la máscara entera está al revés: en este curso True marca lo visible, como en "
            "scaled_dot_product_attention (en nn.MultiheadAttention es lo contrario)",
        ),
        Misconception(
            "padding_inverted",
            _mask_with(padding=lambda keys, queries: ~keys),
            "la parte del relleno está al revés: marcas como visible justo el relleno",
        ),
        Misconception(
            "future_visible",
            _mask_with(causal=lambda past: past.T),
            "usaste el triángulo contrario: el de las posiciones futuras, y no el de las pasadas",
        ),
        Misconception(
            "causal_inverted",
            _mask_with(causal=torch.logical_not),
            "la parte causal está al revés: marcas como visible justo el futuro",
        ),
        Misconception(
            "diagonal_hidden",
            _mask_with(causal=lambda past: past.tril(-1)),
            "a la parte causal le falta la diagonal: cada palabra se ve a sí misma. La entrada ya "
            "va desplazada un lugar, así que verse no es hacer trampa",
        ),
        Misconception(
            "hides_queries",
            _mask_with(padding=lambda keys, queries: queries),
            "pones el relleno en las filas (las consultas) y no en las columnas: lo que nadie debe "
            "mirar son las claves, el último eje",
        ),
        Misconception(
            "hides_both",
            _mask_with(padding=lambda keys, queries: keys & queries),
            "el relleno cuenta como clave, que es lo pedido, y también como consulta, que sobra: "
            "lo que salga en una posición de relleno no se usa, y el softmax de una fila que no "
            "ve nada es NaN en más de una biblioteca",
        ),
        Misconception(
            "no_head_axis",
            _mask_with(heads=_as_it_is),
            "falta el eje de las cabezas, de tamaño 1: con puntuaciones [batch, heads, t, t], tu "
            "lote se alinearía con las cabezas",
        ),
        Misconception(
            "pad_is_zero",
            _mask_with(real=lambda ids, pad_id: ids != 0),
            "das por hecho que el relleno es el 0: su identificador llega en pad_id",
        ),
        Misconception(
            "pad_is_smallest",
            _mask_with(real=torch.gt),
            "preguntas cuál es mayor, y así el relleno solo se distingue si su identificador es el "
            "menor de todos: se pregunta si son distintos",
        ),
        Misconception(
            "additive",
            _mask_with(given=_additive),
            "devuelves la máscara aditiva, con 0 y −∞; se pide la booleana, True = visible",
        ),
        Misconception(
            "as_floats",
            _mask_with(given=torch.Tensor.float),
            "son ceros y unos de punto flotante, y se pide la máscara booleana: combina las dos "
            "condiciones con & y deja los valores lógicos como están",
        ),
        Misconception(
            "as_numbers",
            _mask_with(given=torch.Tensor.long),
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


def _of_target(Y, H, W):
    return Y @ W


def _of_source(Y, H, W):
    return H @ W


def _unmasked(scores, mask):
    return scores.softmax(dim=-1)


@combinable
def _cross_with(
    real=torch.ne,
    visible=lambda mask, t: mask,
    memory=lambda H, mask: H,
    queries=_of_target,
    keys=_of_source,
    values=_of_source,
    beta=lambda d_model, d_k, d_v: 1 / math.sqrt(d_k),
    weigh=lambda scores, mask: scores.masked_fill(~mask, -math.inf).softmax(dim=-1),
):
    """Qué se ve del origen, de dónde sale cada papel, cuánto puntúa y cómo se reparte."""

    def implementation(Y, H, source_ids, pad_id, W_q, W_k, W_v):
        mask = real(source_ids, pad_id).unsqueeze(-2)
        H = memory(H, mask)
        Q, K, V = queries(Y, H, W_q), keys(Y, H, W_k), values(Y, H, W_v)
        scores = beta(*W_q.shape, W_v.shape[-1]) * Q @ K.mT
        return weigh(scores, visible(mask, Q.shape[-2])) @ V

    return implementation


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
            _cross_with(queries=_of_source, keys=_of_target, values=_of_target, weigh=_unmasked),
            "la pregunta va al revés: pregunta quien escribe (Y) y responde quien leyó (H). Tu "
            "salida tiene una fila por palabra del origen, y hace falta una por palabra escrita",
        ),
        Misconception(
            "swapped_and_masked",
            _cross_with(queries=_of_source, keys=_of_target, values=_of_target),
            "las consultas salen del origen y las claves del objetivo: es al revés. Por eso la "
            "máscara del origen no encaja, salvo cuando las dos oraciones miden lo mismo",
            raises=RuntimeError,
        ),
        Misconception(
            "self_attention",
            _cross_with(keys=_of_target, values=_of_target, weigh=_unmasked),
            "no usas H en ningún lugar: es una autoatención del objetivo, y el decodificador no "
            "sabría qué está traduciendo",
        ),
        Misconception(
            "self_attention_masked",
            _cross_with(keys=_of_target, values=_of_target),
            "las claves y los valores salen del objetivo; deben salir de lo que dio el "
            "codificador, que tiene la longitud de la máscara del origen",
            raises=RuntimeError,
        ),
        Misconception(
            "encoder_alone",
            _cross_with(queries=_of_source),
            "las consultas también salen de H, y así Y no pregunta nada: quien pregunta es lo que "
            "se escribe",
        ),
        Misconception(
            "values_from_target",
            _cross_with(values=_of_target),
            "mezclas los valores del objetivo: claves y valores son parejas, y salen de H los dos",
            raises=RuntimeError,
        ),
        Misconception(
            "keys_from_target",
            _cross_with(keys=_of_target, weigh=_unmasked),
            "buscas los valores del origen con claves del objetivo: claves y valores son parejas",
            raises=RuntimeError,
        ),
        Misconception(
            "no_mask",
            _cross_with(weigh=_unmasked),
            "el relleno del origen recibe atención: oculta sus claves",
        ),
        Misconception(
            "inverted",
            _cross_with(visible=lambda mask, t: ~mask),
            "la máscara está al revés: se oculta el relleno, y no las palabras (True = visible)",
        ),
        Misconception(
            "causal",
            _cross_with(visible=lambda mask, t: mask & _future_hidden(t, mask.shape[-1])),
            "pusiste una máscara causal: la oración de origen ya se leyó entera, y nada en ella es "
            "futuro; aquí solo se oculta su relleno",
        ),
        Misconception(
            "mask_after_softmax",
            _cross_with(weigh=lambda scores, mask: scores.softmax(-1).masked_fill(~mask, 0.0)),
            "ocultas después del softmax (o pones a cero los valores, que da lo mismo): los "
            "pesos que quedan ya no suman 1; oculta las puntuaciones antes",
        ),
        Misconception(
            "softmax_over_queries",
            _cross_with(weigh=lambda scores, mask: scores.softmax(-2).masked_fill(~mask, 0.0)),
            "el softmax va sobre las claves, el último eje: cada palabra que se escribe reparte 1 "
            "entre las del origen, y no al revés",
        ),
        Misconception(
            "hides_with_zero",
            _cross_with(weigh=lambda scores, mask: scores.masked_fill(~mask, 0.0).softmax(-1)),
            "pones 0 en las puntuaciones ocultas (o las multiplicas por 0), y e⁰ = 1 sigue "
            "recibiendo peso: hace falta −∞",
        ),
        Misconception(
            "no_scale",
            _cross_with(beta=lambda *widths: 1.0),
            "faltó dividir las puntuaciones por √d_k",
        ),
        Misconception(
            "scale_by_model",
            _cross_with(beta=lambda d_model, d_k, d_v: 1 / math.sqrt(d_model)),
            "la escala usa d_model, y la que importa es d_k, el ancho de las consultas",
        ),
        Misconception(
            "scale_by_values",
            _cross_with(beta=lambda d_model, d_k, d_v: 1 / math.sqrt(d_v)),
            "la escala usa d_v, el ancho de los valores, y las puntuaciones son productos de "
            "consultas y claves, de ancho d_k",
        ),
        Misconception(
            "scale_without_root",
            _cross_with(beta=lambda d_model, d_k, d_v: 1 / d_k),
            "divides las puntuaciones por d_k, y falta su raíz",
        ),
        Misconception(
            "multiplies_by_root",
            _cross_with(beta=lambda d_model, d_k, d_v: math.sqrt(d_k)),
            "multiplicas las puntuaciones por √d_k, y hay que dividir",
        ),
        Misconception(
            "pad_is_zero",
            _cross_with(real=lambda ids, pad_id: ids != 0),
            "das por hecho que el relleno es el 0: su identificador llega en pad_id",
        ),
        Misconception(
            "zeroed_states",
            _cross_with(memory=lambda H, mask: H.masked_fill(~mask.mT, 0.0), weigh=_unmasked),
            "pones a cero los estados del relleno, y una clave de ceros puntúa 0, que no es poco: "
            "e⁰ = 1 sigue recibiendo peso. Oculta sus puntuaciones con −∞",
        ),
        Misconception(
            "values_are_states",
            _cross_with(values=lambda Y, H, W_v: H),
            "mezclas los estados, sin pasarlos por W_v: faltan los valores, H @ W_v",
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
def _feed_forward_with(
    into=lambda X: X.mT,
    layer=F.conv1d,
    biases=(1, 1),
    activation=torch.relu,
    where=("between",),
    out=lambda Z: Z.mT,
    join=lambda X, Z: Z,
):
    """Dos capas, con su activación donde diga `where`: `before`, `between` o `after`."""

    def implementation(X, kernel_1, b_1, kernel_2, b_2):
        def activated(Z, place):
            return activation(Z) if place in where else Z

        hidden = layer(into(activated(X, "before")), kernel_1, biases[0] * b_1)
        Z = layer(activated(hidden, "between"), kernel_2, biases[1] * b_2)
        return join(X, out(activated(Z, "after")))

    return implementation


def _kernel_as_matrix(Z, kernel, b):
    return Z @ kernel.squeeze(-1) + b


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
            _feed_forward_with(into=_as_it_is, out=_as_it_is),
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
            _feed_forward_with(out=_as_it_is),
            "falta deshacer la transposición: lo que da conv1d es [batch, d_model, t]; devuélvelo "
            "a [batch, t, d_model]",
        ),
        Misconception(
            "kernel_not_transposed",
            _feed_forward_with(into=_as_it_is, layer=_kernel_as_matrix, out=_as_it_is),
            "usas el núcleo como matriz, y está guardado como [salida, entrada], igual que en "
            "nn.Linear: en X @ W va la transpuesta",
            raises=RuntimeError,
        ),
        Misconception(
            "no_activation",
            _feed_forward_with(where=()),
            "falta la ReLU entre las dos capas: sin ella, las dos juntas son una sola función "
            "lineal, y d_ff no sirve de nada",
        ),
        Misconception(
            "activation_at_the_end",
            _feed_forward_with(where=("after",)),
            "la activación va entre las dos capas, no al final: la salida se suma a la conexión "
            "residual y necesita poder ser negativa",
        ),
        Misconception(
            "two_activations",
            _feed_forward_with(where=("between", "after")),
            "sobra la segunda activación: la última capa es lineal, y su salida puede ser negativa",
        ),
        Misconception(
            "gelu",
            _feed_forward_with(activation=F.gelu),
            "usaste GELU, la de BERT; aquí se pide la del artículo original, ReLU",
        ),
        Misconception(
            "no_biases",
            _feed_forward_with(biases=(0, 0)),
            "faltan los sesgos: conv1d los recibe como tercer argumento",
        ),
        Misconception(
            "no_first_bias",
            _feed_forward_with(biases=(0, 1)),
            "a la primera capa le falta su sesgo",
        ),
        Misconception(
            "no_last_bias",
            _feed_forward_with(biases=(1, 0)),
            "a la segunda capa le falta su sesgo",
        ),
        Misconception(
            "activation_first",
            _feed_forward_with(where=("before",)),
            "la activación va entre las dos capas, y tú se la aplicas a la entrada: se pierde lo "
            "negativo antes de mirarlo, y las dos capas siguen siendo una sola función lineal",
        ),
        Misconception(
            "residual_included",
            _feed_forward_with(join=torch.add),
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


@combinable
def _rms_with(
    before=_as_it_is,
    measure=torch.square,
    mean=lambda S: S.mean(-1, keepdim=True),
    inside=torch.add,
    root=lambda mean, eps: mean.sqrt(),
    divide=torch.div,
    scale=lambda Z, gain: gain * Z,
):
    """La fórmula, paso a paso: S, los cuadrados; su media; más ε; la raíz; X entre ella; por g."""

    def implementation(X, gain, eps):
        X = before(X)
        size = root(inside(mean(measure(X)), eps), eps)
        return scale(divide(X, size), gain)

    return implementation


def _centred(X):
    return X - X.mean(-1, keepdim=True)


def _total(S):
    return S.sum(-1, keepdim=True)


def _mean_alone(mean, eps):
    return mean


def _eps_after_root(mean, eps):
    return mean.sqrt() + eps


def _squared_deviations(X):
    return _centred(X).square()


def _sample_mean(S):
    return _total(S) / (S.shape[-1] - 1)


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
            _rms_with(before=_centred),
            "restas la media, como la normalización de capa: RMSNorm no centra",
        ),
        Misconception(
            "standard_deviation",
            _rms_with(measure=_squared_deviations),
            "mides cuánto se apartan las coordenadas de su media, como la desviación estándar; "
            "aquí se mide cuánto se apartan de cero",
        ),
        Misconception(
            "euclidean_length",
            _rms_with(mean=_total),
            "sumas sobre las coordenadas: es la *media* de los cuadrados, no la suma, que crece "
            "con d",
        ),
        Misconception(
            "unit_length",
            _rms_with(mean=_total, inside=_mean_alone),
            "sumas sobre las coordenadas, como F.normalize, que deja longitud 1: es la media de "
            "los cuadrados, no la suma (y falta ε)",
        ),
        Misconception(
            "sample_deviation",
            _rms_with(measure=_squared_deviations, mean=_sample_mean, inside=_mean_alone),
            "mides con std o la varianza, que restan la media (y dividen entre d − 1); aquí se "
            "mide cuánto se apartan de cero",
        ),
        Misconception(
            "sample_deviation_and_eps",
            _rms_with(
                measure=_squared_deviations,
                mean=_sample_mean,
                inside=_mean_alone,
                root=_eps_after_root,
            ),
            "mides con std, que resta la media y divide entre d − 1; aquí es la media de los "
            "cuadrados, y ε se le suma antes de la raíz",
        ),
        Misconception(
            "sample_variance",
            _rms_with(measure=_squared_deviations, mean=_sample_mean),
            "mides con la varianza, que resta la media y en torch divide entre d − 1; aquí es la "
            "media de los cuadrados",
        ),
        Misconception(
            "no_root",
            _rms_with(root=_mean_alone),
            "falta la raíz: lo que mides está en unidades al cuadrado",
        ),
        Misconception(
            "mean_of_magnitudes",
            _rms_with(measure=torch.abs, root=_mean_alone),
            "usas los valores absolutos; RMS es la raíz (R) de la media (M) de los cuadrados (S)",
        ),
        Misconception(
            "eps_outside",
            _rms_with(inside=_mean_alone, root=_eps_after_root),
            "sumas ε después de la raíz; va dentro, junto a la media de los cuadrados. Con "
            "números pequeños se nota",
        ),
        Misconception(
            "no_eps",
            _rms_with(inside=_mean_alone),
            "falta ε, que evita dividir entre cero cuando el vector es de ceros",
        ),
        Misconception(
            "over_time",
            _rms_with(mean=lambda S: S.mean(-2, keepdim=True)),
            "normalizas sobre las posiciones: cada palabra se normaliza sola, con sus propias "
            "coordenadas, el último eje",
        ),
        Misconception(
            "over_everything",
            _rms_with(mean=torch.mean),
            "una sola media para todo el lote: cada posición necesita la suya",
        ),
        Misconception(
            "root_before_mean",
            _rms_with(mean=_total, divide=lambda X, size: X / (size / X.shape[-1])),
            "divides entre d al final: primero va la media de los cuadrados, y después ε y la raíz",
        ),
        Misconception(
            "eps_written_by_hand",
            _rms_with(inside=lambda mean, eps: mean + 1e-5),
            "escribiste un valor fijo para ε: llega en eps",
        ),
        Misconception(
            "one_plus_gain",
            _rms_with(scale=lambda Z, gain: (1 + gain) * Z),
            "multiplicas por 1 + g; se pide la ganancia tal cual",
        ),
        Misconception(
            "adds_gain",
            _rms_with(scale=torch.add),
            "sumas la ganancia; cada coordenada se multiplica por la suya",
        ),
        Misconception(
            "no_gain",
            _rms_with(scale=lambda Z, gain: Z),
            "falta la ganancia: sin ella, la capa no puede devolver a una coordenada la escala "
            "que le convenga",
        ),
        Misconception(
            "multiplies",
            _rms_with(divide=torch.mul),
            "multiplicas x por su tamaño en lugar de dividir",
        ),
    ),
)


# 7 · Dónde va la normalización


def _residual_call(student, x, W, placement, gain, gain_out):
    """Construye la subcapa y las dos normalizaciones a partir de datos simples."""

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


def _post(x, f, norm, norm_out):
    return norm(x + f(x))


def _pre(x, f, norm, norm_out):
    return x + f(norm(x))


def _sandwich(x, f, norm, norm_out):
    return x + norm_out(f(norm(x)))


@combinable
def _residual_with(post=_post, pre=_pre, sandwich=_sandwich):
    """Cada colocación, con su fórmula."""
    formulas = {"post": post, "pre": pre, "sandwich": sandwich}
    return lambda x, f, placement, norm, norm_out: formulas[placement](x, f, norm, norm_out)


_ALONE = {
    "post": lambda x, f, norm, norm_out: norm(f(x)),
    "pre": lambda x, f, norm, norm_out: f(norm(x)),
    "sandwich": lambda x, f, norm, norm_out: norm_out(f(norm(x))),
}


def _placed(wanted):
    return lambda x, W, placement, gain, gain_out: placement == wanted


RESIDUAL = Exercise(
    name="transformer.residual",
    points=2,
    # Con dos de las tres colocaciones se gana siempre: una de ellas es post o es pre.
    partial=tuple(
        Part(f"la colocación {each}", 1, cases=_placed(each)) for each in ("post", "pre")
    ),
    reference=_residual_with(),
    cases=_residual_cases,
    call=_residual_call,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "post_and_pre_swapped",
            _residual_with(post=_pre, pre=_post),
            "confundes post con pre: el nombre dice dónde va la normalización respecto de la "
            "subcapa. post, después (y después de la suma); pre, antes",
        ),
        Misconception(
            "always_post",
            _residual_with(pre=_post, sandwich=_post),
            "con «pre» y con «sandwich» haces lo que se pide con «post»: falta mirar placement",
        ),
        Misconception(
            "always_pre",
            _residual_with(post=_pre, sandwich=_pre),
            "con «post» y con «sandwich» haces lo que se pide con «pre»: falta mirar placement",
        ),
        Misconception(
            "always_sandwich",
            _residual_with(post=_sandwich, pre=_sandwich),
            "con «post» y con «pre» haces lo que se pide con «sandwich»: falta mirar placement",
        ),
        Misconception(
            "post_for_the_rest",
            _residual_with(sandwich=_post),
            "con «sandwich» haces lo que se pide con «post»: ¿le falta su rama al if?",
        ),
        Misconception(
            "no_residual",
            _residual_with(**_ALONE),
            "falta la conexión residual: la entrada debe sumarse a lo que da la subcapa",
        ),
        *(
            Misconception(
                f"no_residual_in_{placement}",
                _residual_with(**{placement: alone}),
                f"en «{placement}» falta la conexión residual: la entrada debe sumarse",
            )
            for placement, alone in _ALONE.items()
        ),
        Misconception(
            "normalises_the_stream",
            _residual_with(
                pre=lambda x, f, norm, norm_out: norm(x) + f(norm(x)),
                sandwich=lambda x, f, norm, norm_out: norm(x) + norm_out(f(norm(x))),
            ),
            "en pre y en sándwich sumas norm(x): por la rama directa debe pasar x sin tocar, o "
            "el gradiente pierde su camino libre. ¿Escribiste x = norm(x) y la x original se "
            "perdió?",
        ),
        Misconception(
            "post_normalises_the_branch",
            _residual_with(post=lambda x, f, norm, norm_out: x + norm(f(x))),
            "en post, la normalización se aplica a la suma, no a la salida de la subcapa",
        ),
        Misconception(
            "post_normalises_the_input",
            _residual_with(post=lambda x, f, norm, norm_out: norm(x) + f(x)),
            "en post, la normalización va después de sumar; tú normalizas la entrada y sumas "
            "después",
        ),
        Misconception(
            "pre_normalises_the_sum",
            _residual_with(pre=lambda x, f, norm, norm_out: norm(x + f(norm(x)))),
            "en pre sobra la normalización del final: la suma sale sin normalizar, y así llega al "
            "bloque siguiente",
        ),
        Misconception(
            "sandwich_normalises_the_sum",
            _residual_with(sandwich=lambda x, f, norm, norm_out: norm_out(x + f(norm(x)))),
            "en sándwich, la segunda normalización va dentro de la rama, antes de sumar: las dos "
            "rodean a la subcapa, no a la suma",
        ),
        Misconception(
            "sandwich_around_everything",
            _residual_with(sandwich=lambda x, f, norm, norm_out: norm(x + norm_out(f(x)))),
            "en sándwich normalizas la suma, y la entrada de la subcapa llega sin normalizar: las "
            "dos normalizaciones van en la rama, una antes y otra después de la subcapa",
        ),
        Misconception(
            "sandwich_shares_its_norm",
            _residual_with(sandwich=lambda x, f, norm, norm_out: x + norm(f(norm(x)))),
            "en sándwich usas la misma normalización a los dos lados: cada una tiene sus "
            "parámetros; la de salida es norm_out",
        ),
        Misconception(
            "sandwich_norms_exchanged",
            _residual_with(sandwich=lambda x, f, norm, norm_out: x + norm(f(norm_out(x)))),
            "las dos normalizaciones del sándwich están intercambiadas: norm entra, norm_out sale",
        ),
        Misconception(
            "sandwich_without_input_norm",
            _residual_with(sandwich=lambda x, f, norm, norm_out: x + norm_out(f(x))),
            "al sándwich le falta el pan de abajo: normaliza también la entrada de la subcapa",
        ),
        Misconception(
            "sandwich_without_output_norm",
            _residual_with(sandwich=_pre),
            "con «sandwich» haces lo que se pide con «pre»: falta la normalización de la salida "
            "de la subcapa",
        ),
    ),
)


# 8 · Un bloque del codificador


def _norm(X, P, which):
    """La normalización 1 o la 2; con None, una sin parámetros."""
    return F.layer_norm(X, X.shape[-1:], P.get(f"gain_{which}"), P.get(f"bias_{which}"))


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


# Unir una subcapa `f` a lo que le llega, `x`; `X` es lo que entró en el bloque.


def _join_post(x, f, norm, X):
    return norm(x + f(x))


def _join_pre(x, f, norm, X):
    return x + f(norm(x))


def _join_alone(x, f, norm, X):
    return norm(f(x))


def _join_without_norm(x, f, norm, X):
    return x + f(x)


@combinable
def _block_with(
    split=_split,
    visible=lambda mask, t: mask,
    beta=lambda d_model, d_k: 1 / math.sqrt(d_k),
    merge=_merge,
    project=lambda H, W_h: H @ W_h,
    activation=torch.relu,
    biases=1,
    first=_join_post,
    second=_join_post,
    norms=(1, 2),
):
    """El bloque, de dentro afuera: la atención, la red y cómo se unen las dos mitades."""

    def implementation(X, P, num_heads, mask):
        def attend(X):
            Q, K, V = (split(X @ P[name], num_heads) for name in ("W_q", "W_k", "W_v"))
            scale = beta(X.shape[-1], Q.shape[-1])
            H = attention(Q, K, V, mask=visible(mask, X.shape[-2]), beta=scale)
            return project(merge(H), P["W_h"])

        def network(Z):
            hidden = activation(Z @ P["W_1"] + biases * P["b_1"])
            return hidden @ P["W_2"] + biases * P["b_2"]

        Z = first(X, attend, lambda x: _norm(x, P, norms[0]), X)
        return second(Z, network, lambda z: _norm(z, P, norms[1]), X)

    return implementation


ENCODER_BLOCK = Exercise(
    name="transformer.encoder_block",
    points=3,
    reference=_block_with(),
    cases=_block_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "no_residuals",
            _block_with(first=_join_alone, second=_join_alone),
            "faltan las dos conexiones residuales: cada subcapa corrige su entrada, no la "
            "sustituye",
        ),
        Misconception(
            "no_first_residual",
            _block_with(first=_join_alone),
            "falta la conexión residual de la atención: a lo que encontró hay que sumarle X",
        ),
        Misconception(
            "no_second_residual",
            _block_with(second=_join_alone),
            "falta la conexión residual de la red prealimentada",
        ),
        Misconception(
            "pre_norm",
            _block_with(first=_join_pre, second=_join_pre),
            "normalizas antes de cada subcapa (pre-LN); el bloque del artículo normaliza después "
            "de cada suma (post-LN)",
        ),
        Misconception(
            "no_last_norm",
            _block_with(second=_join_without_norm),
            "falta la normalización del final, después de la segunda suma",
        ),
        Misconception(
            "no_first_norm",
            _block_with(first=_join_without_norm),
            "falta la normalización de en medio, entre la atención y la red prealimentada",
        ),
        Misconception(
            "no_norms",
            _block_with(first=_join_without_norm, second=_join_without_norm),
            "no normalizas en ningún lugar: tras cada suma va una normalización de capa",
        ),
        Misconception(
            "residual_from_the_input",
            _block_with(second=lambda z, f, norm, X: norm(X + f(z))),
            "la segunda suma parte de X, la entrada del bloque; debe partir de lo que salió de la "
            "primera mitad",
        ),
        Misconception(
            "network_on_the_input",
            _block_with(second=lambda z, f, norm, X: norm(z + f(X))),
            "la red prealimentada recibe X; debe recibir lo que salió de la primera mitad (en "
            "paralelo trabajan los bloques de PaLM, no estos)",
        ),
        Misconception(
            "norms_exchanged",
            _block_with(norms=(2, 1)),
            "usas los parámetros de una normalización en el lugar de la otra: la 1 sigue a la "
            "atención y la 2, a la red prealimentada",
        ),
        Misconception(
            "one_norm_twice",
            _block_with(norms=(1, 1)),
            "usas los mismos parámetros en las dos normalizaciones: cada una tiene los suyos",
        ),
        Misconception(
            "norms_without_parameters",
            _block_with(norms=(None, None)),
            "las normalizaciones no usan sus parámetros: F.layer_norm los recibe después de la "
            "forma, ganancia y sesgo",
        ),
        Misconception(
            "network_without_biases",
            _block_with(biases=0),
            "a la red prealimentada le faltan los sesgos b_1 y b_2",
        ),
        Misconception(
            "ignores_mask",
            _block_with(visible=lambda mask, t: None),
            "no usas la máscara: el relleno recibe atención",
        ),
        Misconception(
            "inverted_mask",
            _block_with(visible=lambda mask, t: ~mask),
            "la máscara está al revés: con ~ dejas ver solo el relleno. Aquí y en `attention`, "
            "True = visible",
        ),
        Misconception(
            "scale_by_model",
            _block_with(beta=lambda d_model, d_k: 1 / math.sqrt(d_model)),
            "la escala usa d_model; dentro de cada cabeza, el ancho es d_k = d_model / num_heads",
        ),
        Misconception(
            "one_head",
            _block_with(split=lambda X, num_heads: _split(X, 1)),
            "atiendes con una sola cabeza, del ancho de todo el modelo: falta partir en num_heads",
        ),
        Misconception(
            "heads_by_reshape",
            _block_with(split=_split_by_reshape, merge=_merge_by_reshape),
            "partes las cabezas con reshape, sin mover ejes: cada cabeza recibe trozos de "
            "posiciones distintas (es el ejercicio 1)",
        ),
        Misconception(
            "heads_split_by_reshape",
            _block_with(split=_split_by_reshape),
            "partes mal las cabezas: un reshape a la forma final no mueve ejes, y mezcla "
            "posiciones (es el ejercicio 1)",
        ),
        Misconception(
            "heads_merged_by_reshape",
            _block_with(merge=_merge_by_reshape),
            "juntas mal las cabezas: antes del reshape hay que devolver su eje a su lugar (es el "
            "ejercicio 2)",
        ),
        Misconception(
            "heads_interleaved",
            _block_with(split=_split_interleaved, merge=_merge_interleaved),
            "repartes las coordenadas salteadas entre las cabezas: cada una recibe un tramo "
            "seguido. En rearrange, «(h d)», no «(d h)»",
        ),
        Misconception(
            "heads_split_interleaved",
            _block_with(split=_split_interleaved),
            "al partir en cabezas repartes las coordenadas salteadas: cada una recibe un tramo "
            "seguido. En rearrange, «(h d)», no «(d h)»",
        ),
        Misconception(
            "heads_merged_interleaved",
            _block_with(merge=_merge_interleaved),
            "al juntar las cabezas las intercalas: se concatenan enteras, una tras otra. En "
            "rearrange, «(h d)», no «(d h)»",
        ),
        Misconception(
            "causal",
            _block_with(visible=lambda mask, t: mask & _future_hidden(t)),
            "pusiste además una máscara causal: el codificador lee la oración entera, y en ella "
            "nada es futuro",
        ),
        Misconception(
            "output_matrix_transposed",
            _block_with(project=lambda H, W_h: H @ W_h.T),
            "usas W_h transpuesta; todas las matrices van como X @ W",
        ),
        Misconception(
            "only_attention",
            _block_with(second=lambda z, f, norm, X: z),
            "falta la segunda mitad del bloque: la red, su suma y su normalización",
        ),
        Misconception(
            "no_output_matrix",
            _block_with(project=lambda H, W_h: H),
            "falta W_h: concatenadas las cabezas, una matriz más las combina",
        ),
        Misconception(
            "no_activation",
            _block_with(activation=_as_it_is),
            "falta la ReLU en la red prealimentada",
        ),
        Misconception(
            "gelu",
            _block_with(activation=F.gelu),
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


@combinable
def _decoder_with(
    own=_future_hidden,
    cross=lambda mask, t_t, t_s: mask,
    queries=lambda Y, Z: Z,
    memory=lambda H, Z: H,
    last=lambda Z, C: C,
):
    """Las dos máscaras, quién pregunta a qué memoria, y de dónde parte la última suma."""

    def implementation(Y, H, P, source_mask):
        t_t, t_s = Y.shape[-2], H.shape[-2]
        Z = _plain_norm(Y + _attend_once(Y, Y, P, "self", own(t_t)))
        read = _attend_once(queries(Y, Z), memory(H, Z), P, "cross", cross(source_mask, t_t, t_s))
        C = _plain_norm(Z + read)
        return _plain_norm(last(Z, C) + torch.relu(C @ P["W_1"]) @ P["W_2"])

    return implementation


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


def _no_mask(mask, t_t, t_s):
    return None


DECODER_BUG = Exercise(
    name="transformer.decoder_bug",
    points=2,
    reference=_decoder_with(),
    cases=_decoder_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "unchanged",
            _decoder_with(own=_everything, cross=_causal_too),
            "el error sigue ahí. Pregúntate en qué atención hay un futuro que ocultar: ¿en la "
            "que mira lo que ya se escribió, o en la que mira la oración de origen?",
        ),
        Misconception(
            "both_causal",
            _decoder_with(cross=_causal_too),
            "en la atención cruzada sobra lo causal: la primera palabra que se escribe no ve el "
            "final de la oración de origen",
        ),
        Misconception(
            "none_causal",
            _decoder_with(own=_everything),
            "en la autoatención falta ocultar el futuro: cada palabra ve las que tiene que "
            "adivinar",
        ),
        Misconception(
            "padding_lost",
            _decoder_with(cross=_no_mask),
            "al quitar lo causal de la atención cruzada se fue también la máscara del relleno del "
            "origen",
        ),
        Misconception(
            "cross_on_its_own_target",
            _decoder_with(memory=lambda H, Z: Z, cross=lambda mask, t_t, t_s: _future_hidden(t_t)),
            "la segunda atención mira al propio objetivo: sin H, el decodificador no sabe qué "
            "traduce",
        ),
        Misconception(
            "cross_from_the_input",
            _decoder_with(queries=lambda Y, Z: Y),
            "las consultas de la atención cruzada salen de la entrada Y: deben salir de lo que dio "
            "la autoatención",
        ),
        Misconception(
            "diagonal_hidden",
            _decoder_with(own=lambda t: _future_hidden(t).tril(-1)),
            "la máscara de la autoatención oculta de más: cada palabra se ve también a sí misma",
        ),
        Misconception(
            "future_only",
            _decoder_with(own=lambda t: _future_hidden(t).T),
            "la máscara de la autoatención tiene el triángulo contrario: deja ver el futuro y no "
            "el pasado",
        ),
        Misconception(
            "inverted",
            _decoder_with(own=lambda t: ~_future_hidden(t)),
            "la máscara de la autoatención está al revés: deja ver solo el futuro. True es "
            "visible, así que causal_mask se usa sin ~",
        ),
        Misconception(
            "nothing_hidden",
            _decoder_with(own=_everything, cross=_no_mask),
            "quitaste las dos máscaras: en la autoatención hace falta la causal, y en la cruzada, "
            "la del relleno del origen",
        ),
        Misconception(
            "network_skips_cross",
            _decoder_with(last=lambda Z, C: Z),
            "en la última suma entra Z y no C, y lo que trajo la atención cruzada pierde su camino "
            "directo",
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
def _cached_with(
    join=_append,
    seen=lambda old, new, joined: joined,
    beta=None,
    stored=lambda old, new, joined: joined,
    given=lambda h, K, V: (h, K, V),
):
    """Cómo se junta lo nuevo, qué parte se mira, qué parte se guarda y qué se devuelve."""

    def implementation(x, K, V, W_q, W_k, W_v):
        keys, values = ((old, new, join(old, new)) for old, new in ((K, x @ W_k), (V, x @ W_v)))
        h = attention(x @ W_q, seen(*keys), seen(*values), beta=beta)
        return given(h, stored(*keys), stored(*values))

    return implementation


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
            _cached_with(seen=lambda old, new, joined: old),
            "atiendes antes de guardar: la palabra nueva ve el pasado y no se ve a sí misma. "
            "Añade primero su clave y su valor",
        ),
        Misconception(
            "sees_only_itself",
            _cached_with(seen=lambda old, new, joined: new),
            "atiendes solo a la clave nueva, y con una sola clave la atención es copiar su "
            "valor: las guardadas son el pasado que hay que mirar",
        ),
        Misconception(
            "top_left_causal",
            _cached_with(seen=lambda old, new, joined: joined[:, :1]),
            "pusiste una máscara causal alineada arriba a la izquierda, como la de is_causal de "
            "torch: con una sola consulta deja ver solo la primera clave. Aquí no hace falta "
            "máscara: todo lo guardado es pasado",
        ),
        Misconception(
            "never_stored",
            _cached_with(stored=lambda old, new, joined: old),
            "devuelves las claves y los valores de antes: la próxima palabra no verá esta",
        ),
        Misconception(
            "replaced",
            _cached_with(join=lambda old, new: new),
            "la clave y el valor nuevos sustituyen a los guardados; se añaden al final",
        ),
        Misconception(
            "returns_only_the_new",
            _cached_with(stored=lambda old, new, joined: new),
            "devuelves solo la clave y el valor nuevos: hay que devolver todo lo guardado, con "
            "ellos al final",
        ),
        Misconception(
            "prepended",
            _cached_with(join=lambda old, new: torch.cat([new, old], dim=-2)),
            "lo nuevo quedó delante: la atención no sabe de orden, pero quien lea lo guardado "
            "espera que la posición j esté en la fila j",
        ),
        Misconception(
            "no_scale",
            _cached_with(beta=1.0),
            "faltó dividir las puntuaciones por √d_k",
        ),
        Misconception(
            "keys_and_values_exchanged",
            _cached_with(given=lambda h, K, V: (h, V, K)),
            "devuelves los valores antes que las claves: el orden pedido es h, K, V",
        ),
    ),
)


# 11 · Contar parámetros


@combinable
def _parameters_with(
    *,
    attentions=2,
    projections=4,
    heads=1,
    attention_biases=1,
    network=((512, 2048), (2048, 512)),
    network_biases=1,
    norms=lambda sublayers: 2 * sublayers,
    blocks=1,
    outside=0,
):
    """La cuenta por partes; `norms` son las cifras por coordenada de todas las normalizaciones."""
    attention = heads * projections * (512 * 512 + attention_biases * 512)
    layers = sum(d_in * d_out + network_biases * d_out for d_in, d_out in network)
    block = attentions * attention + layers + norms(attentions + 1) * 512
    return lambda: blocks * block + outside


PARAMETERS = Exercise(
    name="transformer.parameters",
    points=1,
    reference=4_204_032,
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "one_attention",
            _parameters_with(attentions=1),
            "cuentas las subcapas del codificador; el decodificador tiene una atención más, y "
            "una normalización más",
        ),
        Misconception(
            "one_attention_three_norms",
            _parameters_with(attentions=1, norms=lambda sublayers: 2 * 3),
            "cuentas una sola atención: el decodificador tiene dos, con parámetros distintos",
        ),
        Misconception(
            "two_norms",
            _parameters_with(norms=lambda sublayers: 2 * 2),
            "cuentas una normalización de menos: hay una por subcapa, y las subcapas son tres",
        ),
        Misconception(
            "no_norms",
            _parameters_with(norms=lambda sublayers: 0),
            "faltan las normalizaciones: cada una tiene una ganancia y un sesgo por coordenada",
        ),
        Misconception(
            "norms_without_bias",
            _parameters_with(norms=lambda sublayers: sublayers),
            "cuentas una sola cifra por coordenada en cada normalización, que tiene ganancia y "
            "también sesgo, o un b_1 de 512, que debe medir d_ff",
        ),
        Misconception(
            "no_biases",
            _parameters_with(attention_biases=0, network_biases=0),
            "faltan los sesgos de las capas lineales: hay uno por cada salida",
        ),
        Misconception(
            "no_network_biases",
            _parameters_with(network_biases=0),
            "faltan los sesgos de la red prealimentada: hay uno por cada salida de cada capa",
        ),
        Misconception(
            "no_attention_biases",
            _parameters_with(attention_biases=0),
            "faltan los sesgos de las atenciones: hay uno por cada salida de cada proyección",
        ),
        Misconception(
            "one_norm",
            _parameters_with(norms=lambda sublayers: 2),
            "cuentas una sola normalización: hay una por subcapa, y las subcapas son tres",
        ),
        Misconception(
            "with_embedding",
            _parameters_with(outside=37_000 * 512),
            "sumas la tabla de incrustaciones, que no es de ningún bloque",
        ),
        Misconception(
            "nothing_but_matrices",
            _parameters_with(attention_biases=0, network_biases=0, norms=lambda sublayers: 0),
            "cuentas las matrices solas: faltan los sesgos y las normalizaciones",
        ),
        Misconception(
            "no_output_matrix",
            _parameters_with(projections=3),
            "falta la matriz de salida W_h de cada atención: las proyecciones son cuatro",
        ),
        Misconception(
            "multiplied_by_heads",
            _parameters_with(heads=8),
            "cuentas ocho veces cada atención: las cabezas se reparten el ancho, así que las "
            "ocho juntas caben en las mismas matrices que una sola",
        ),
        Misconception(
            "square_network",
            _parameters_with(network=((512, 512), (512, 512))),
            "cuentas una red prealimentada de 512 × 512; su capa de en medio mide d_ff",
        ),
        Misconception(
            "half_network",
            _parameters_with(network=((512, 2048),)),
            "cuentas una sola de las dos capas de la red prealimentada",
        ),
        Misconception(
            "six_blocks",
            _parameters_with(blocks=6),
            "cuentas la pila de seis bloques; se pide uno solo",
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
