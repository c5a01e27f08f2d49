"""Ejercicios del tema BERT: preparar el texto, ocultar palabras y las cabezas del ajuste fino.

Las referencias de los que tratan de datos y pérdidas se escriben con PyTorch: `checks` no importa
`data` ni `training`. Una prueba las compara con lo que hace la biblioteca.
"""

import itertools
import math

import torch
import torch.nn.functional as F

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable, direct_call
from course_lib.models.bert.fine_tuning import SpanOutput, best_spans
from course_lib.models.bert.model import Bert, BertConfig

TOLERANCE = 1e-4
IGNORED = -100


def _randn(rng: torch.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=rng)


def _matrix(rng: torch.Generator, d_in: int, d_out: int) -> torch.Tensor:
    return _randn(rng, d_in, d_out, scale=1.5 / math.sqrt(d_in))


def _integers(rng: torch.Generator, low: int, high: int, *shape: int) -> torch.Tensor:
    """Sortea enteros entre los dos, incluidos."""
    return torch.randint(low, high + 1, shape, generator=rng)


# 1 · Dos oraciones en una secuencia


def _fit(first, second, room, shorten=None):
    """Quita tokens, de uno en uno, hasta que quepan; `shorten(a, b)` dice a cuál."""
    a, b = list(first), list(second)
    shorten = shorten or (lambda a, b: a if len(a) > len(b) else b)
    while len(a) + len(b) > room:
        shorten(a, b).pop()
    return a, b


def _join(first, second, class_id, separator_id, max_length):
    a, b = _fit(first, second, max_length - 3)
    ids = [class_id, *a, separator_id, *b, separator_id]
    return ids, [0] * (len(a) + 2) + [1] * (len(b) + 1)


def _join_call(student, first, second, class_id, separator_id, max_length):
    where = f"{len(first)} y {len(second)} tokens, max_length={max_length}"
    return {where: direct_call(student, first, second, class_id, separator_id, max_length)}


def _join_cases(rng):
    # Caben con holgura, caben justo, cede la primera, cede la segunda, ceden las dos.
    lengths = ((4, 3, 12), (2, 5, 13), (5, 4, 12), (9, 3, 11), (3, 9, 11))
    lengths += ((8, 9, 12), (9, 8, 13), (6, 6, 10))
    cases = []
    for n, m, max_length in lengths:
        words = _integers(rng, 10, 90, n + m).tolist()
        # Una palabra puede estar dos veces en una oración, y en las dos oraciones.
        words[n - 1] = words[n + m - 1] = words[n] = words[0]
        class_id, separator_id = (_integers(rng, 1, 9, 2) * torch.tensor([1, 10]) + 100).tolist()
        cases.append((words[:n], words[n:], class_id, separator_id, max_length))
    return cases


@combinable
def _join_with(
    *,
    specials=3,
    fit=_fit,
    ids=lambda a, b, class_id, separator_id: [class_id, *a, separator_id, *b, separator_id],
    segments=lambda n, m: [0] * (n + 2) + [1] * (m + 1),
    number=lambda segment: segment,
    finish=lambda sequence, max_length, separator_id: sequence,
    after=lambda ids, segments: (ids, segments),
):
    """La secuencia por pasos: cómo se recortan las oraciones, las dos listas y qué se devuelve."""

    def implementation(first, second, class_id, separator_id, max_length):
        a, b = fit(first, second, max_length - specials)
        numbers = [number(segment) for segment in segments(len(a), len(b))]
        sequence = ids(a, b, class_id, separator_id), numbers
        return after(*finish(sequence, max_length, separator_id))

    return implementation


def _whole(a, b, room):
    return a, b


def _cut(sequence, max_length, separator_id):
    return tuple(part[:max_length] for part in sequence)


def _cut_and_closed(sequence, max_length, separator_id):
    ids, segments = _cut(sequence, max_length, separator_id)
    return [*ids[:-1], separator_id], segments


def _padded(sequence, max_length, separator_id):
    return tuple(part + [0] * (max_length - len(part)) for part in sequence)


def _from_the_front(first, second, room):
    a, b = _fit(first[::-1], second[::-1], room)
    return a[::-1], b[::-1]


def _half_if_needed(a, b, room):
    fits = len(a) + len(b) <= room
    return (a, b) if fits else (a[: room // 2], b[: room // 2])


def _only_the_second(a, b, room):
    return a, b[: max(room - len(a), 0)]


def _only_the_first(a, b, room):
    return a[: max(room - len(b), 0)], b


def _taking_turns(first, second, room):
    a, b = list(first), list(second)
    while len(a) + len(b) > room:
        b.pop()
        if len(a) + len(b) > room:
            a.pop()
    return a, b


def _one_token_less(first, second, room):
    a, b = list(first), list(second)
    if len(a) + len(b) > room:
        (a if len(a) > len(b) else b).pop()
    return a, b


def _longest_pays_all(a, b, room):
    extra = max(len(a) + len(b) - room, 0)
    if len(a) > len(b):
        return a[: max(len(a) - extra, 0)], b
    return a, b[: max(len(b) - extra, 0)]


def _half_and_the_rest(a, b, room):
    fits = len(a) + len(b) <= room
    return (a, b) if fits else (a[: room // 2], b[: room - room // 2])


def _in_proportion(a, b, room):
    total = len(a) + len(b)
    n = len(a) if total <= room else room * len(a) // total
    return a[:n], b[: room - n]


def _both_yield_on_ties(first, second, room):
    a, b = list(first), list(second)
    while len(a) + len(b) > room:
        for each in [x for x in (a, b) if len(x) == max(len(a), len(b))]:
            each.pop()
    return a, b


def _emptied(first, second, room):
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    return first, second


def _first_yields_on_ties(first, second, room):
    return _fit(first, second, room, lambda a, b: a if len(a) >= len(b) else b)


def _has_room(first, second, class_id, separator_id, max_length):
    return len(first) + len(second) + 3 < max_length


def _must_yield(first, second, class_id, separator_id, max_length):
    return len(first) + len(second) + 3 > max_length


JOIN_PAIR = Exercise(
    name="bert.join_pair",
    points=2,
    partial=(
        Part("las parejas que caben con holgura", 1, cases=_has_room),
        Part("los identificadores de las que hay que recortar", 1, cases=_must_yield, item=0),
    ),
    reference=_join,
    cases=_join_cases,
    call=_join_call,
    misconceptions=(
        Misconception(
            "whole_then_cut",
            _join_with(fit=_whole, finish=_cut),
            "armas la secuencia y después la cortas por el final: si no cabe, siempre paga la "
            "segunda oración, con lo que la cierre. Recorta las oraciones antes de armarla",
        ),
        Misconception(
            "cut_and_closed",
            _join_with(fit=_whole, finish=_cut_and_closed),
            "cortas la secuencia ya armada y pones un [SEP] en su último lugar: siempre paga la "
            "segunda oración, aunque la larga sea la primera. Recorta antes de armar",
        ),
        Misconception(
            "not_cut",
            _join_with(fit=_whole),
            "falta recortar las oraciones cuando el par no cabe en max_length",
        ),
        Misconception(
            "only_the_second",
            _join_with(fit=_only_the_second),
            "siempre recortas la segunda oración, aunque la larga sea la primera",
        ),
        Misconception(
            "only_the_first",
            _join_with(fit=_only_the_first),
            "siempre recortas la primera oración, aunque la larga sea la segunda",
        ),
        Misconception(
            "half_for_each",
            _join_with(fit=lambda a, b, room: (a[: room // 2], b[: room // 2])),
            "a cada oración le das la mitad del lugar, y si una es corta se desperdicia el que le "
            "sobra",
        ),
        Misconception(
            "half_if_needed",
            _join_with(fit=_half_if_needed),
            "cuando no caben, le das a cada oración la mitad del lugar, y si una es corta se "
            "desperdicia el que le sobra",
        ),
        Misconception(
            "half_and_the_rest",
            _join_with(fit=_half_and_the_rest),
            "cuando no caben, partes el lugar por la mitad, y una oración corta no llena la suya: "
            "lo que le sobra es de la otra",
        ),
        Misconception(
            "in_proportion",
            _join_with(fit=_in_proportion),
            "repartes el lugar en proporción al largo de cada oración: la corta también pierde "
            "tokens, y no le toca mientras la otra sea más larga",
        ),
        Misconception(
            "first_yields_on_ties",
            _join_with(fit=_first_yields_on_ties),
            "cuando las dos oraciones miden lo mismo, el enunciado dice cuál cede",
        ),
        Misconception(
            "both_yield_on_ties",
            _join_with(fit=_both_yield_on_ties),
            "cuando las dos oraciones miden lo mismo le quitas un token a cada una; cede una "
            "sola, y después se vuelve a mirar si caben",
        ),
        Misconception(
            "shortest_yields",
            _join_with(
                fit=lambda a, b, room: _fit(
                    a, b, room, lambda a, b: b if not a or 0 < len(b) <= len(a) else a
                )
            ),
            "quitas tokens de la oración más corta: cede la más larga, que tiene más que perder",
        ),
        Misconception(
            "longest_pays_all",
            _join_with(fit=_longest_pays_all),
            "la oración más larga pierde todo lo que sobra, aunque por el camino deje de ser la "
            "más larga: vuelve a mirar cuál es la larga después de quitar cada token",
        ),
        Misconception(
            "taking_turns",
            _join_with(fit=_taking_turns),
            "quitas un token de cada oración por turnos; cada token lo pierde la que en ese "
            "momento es más larga",
        ),
        Misconception(
            "only_one_token",
            _join_with(fit=_one_token_less),
            "quitas un solo token: hay que repetirlo mientras no quepan",
        ),
        Misconception(
            "from_the_front",
            _join_with(fit=_from_the_front),
            "quitas tokens del principio de las oraciones; se quitan del final",
        ),
        Misconception(
            "one_place_empty",
            _join_with(specials=4),
            "recortas de más, como si los tokens especiales fueran cuatro: bien contados, un par "
            "puede medir exactamente max_length",
        ),
        Misconception(
            "specials_not_counted",
            _join_with(specials=0),
            "recortas sin contar los tokens especiales, que también ocupan lugar",
        ),
        Misconception(
            "one_special_counted",
            _join_with(specials=1),
            "apartas lugar para un solo token especial; cuenta cuántos lleva un par",
        ),
        Misconception(
            "two_specials_counted",
            _join_with(specials=2),
            "apartas lugar para dos tokens especiales; cuenta cuántos lleva un par",
        ),
        Misconception(
            "without_last_separator",
            _join_with(
                ids=lambda a, b, c, s: [c, *a, s, *b], segments=lambda n, m: [0] * (n + 2) + [1] * m
            ),
            "detrás de la segunda oración va otro [SEP], en un lugar propio",
        ),
        Misconception(
            "without_middle_separator",
            _join_with(
                ids=lambda a, b, c, s: [c, *a, *b, s],
                segments=lambda n, m: [0] * (n + 1) + [1] * (m + 1),
            ),
            "falta el [SEP] que separa las dos oraciones: para el modelo serían una sola",
        ),
        Misconception(
            "without_class",
            _join_with(
                ids=lambda a, b, c, s: [*a, s, *b, s],
                segments=lambda n, m: [0] * (n + 1) + [1] * (m + 1),
            ),
            "falta [CLS]: su vector es el que resumirá el par",
        ),
        Misconception(
            "class_before_both",
            _join_with(
                ids=lambda a, b, c, s: [c, *a, s, c, *b, s],
                segments=lambda n, m: [0] * (n + 2) + [1] * (m + 2),
            ),
            "hay un solo [CLS], al principio de todo: el resumen es del par, no de cada oración",
        ),
        Misconception(
            "specials_swapped",
            _join_with(ids=lambda a, b, c, s: [s, *a, c, *b, c]),
            "los dos números especiales están intercambiados: se empieza por class_id, y "
            "separator_id cierra cada oración",
        ),
        Misconception(
            "separator_of_the_second",
            _join_with(segments=lambda n, m: [0] * (n + 1) + [1] * (m + 2)),
            "los segmentos cambian una posición antes: el primer [SEP] todavía es de la primera "
            "oración",
        ),
        Misconception(
            "class_apart",
            _join_with(segments=lambda n, m: [0] * (n + 1) + [1] * (m + 1)),
            "falta un segmento: cada token tiene el suyo, también los especiales",
        ),
        Misconception(
            "only_words",
            _join_with(segments=lambda n, m: [0] * n + [1] * m),
            "los tokens especiales también son de un segmento: las dos listas miden lo mismo",
        ),
        Misconception(
            "last_separator_of_the_first",
            _join_with(segments=lambda n, m: [0] * (n + 2) + [1] * m + [0]),
            "el último [SEP] cierra la segunda oración: es de su segmento",
        ),
        Misconception(
            "counted_from_one",
            _join_with(number=lambda segment: segment + 1),
            "los segmentos se cuentan desde 0: la tabla tiene dos filas, la 0 y la 1",
        ),
        Misconception(
            "segments_swapped",
            _join_with(number=lambda segment: 1 - segment),
            "los segmentos están intercambiados: la primera oración es la del 0",
        ),
        Misconception(
            "one_segment",
            _join_with(number=lambda segment: 0),
            "todos los tokens son del segmento 0: así el modelo solo distingue las oraciones por "
            "el [SEP]",
        ),
        Misconception(
            "padded",
            _join_with(finish=_padded),
            "rellenas hasta max_length: aquí no se pide; el relleno se pone al formar el lote",
        ),
        Misconception(
            "only_ids",
            _join_with(after=lambda ids, segments: ids),
            "devuelves solo los identificadores: faltan los segmentos",
        ),
        Misconception(
            "swapped",
            _join_with(after=lambda ids, segments: (segments, ids)),
            "devuelves los segmentos delante: primero van los identificadores",
        ),
        Misconception(
            "list_of_pairs",
            _join_with(after=lambda *lists: list(zip(*lists, strict=False))),
            "devuelves un par por token; se piden dos listas, una de identificadores y otra de "
            "segmentos",
        ),
        Misconception(
            "empties_the_sentences",
            _join_with(fit=_emptied),
            "recortas las listas que te dieron: quien llama encuentra sus oraciones cortadas. "
            "Trabaja sobre copias",
        ),
    ),
)


# 2 · La incrustación de entrada


def _embed(token_ids, segment_ids, E, P, S, gain, shift, eps):
    x = E[token_ids] + P[: token_ids.shape[1]] + S[segment_ids]
    return F.layer_norm(x, x.shape[-1:], gain, shift, eps)


def _embed_cases(rng):
    cases = []
    # La ε de BERT, la habitual de torch y una enorme. Las tablas, con la desviación de BERT.
    for batch, t, d, eps in ((2, 5, 6, 1e-12), (3, 4, 8, 1e-5), (1, 6, 4, 1e-3)):
        tables = [_randn(rng, rows, d, scale=0.02) for rows in (20, 9, 2)]
        segments = (torch.arange(t) >= _integers(rng, 2, t - 1, batch, 1)).long()
        tokens = _integers(rng, 0, 19, batch, t)
        gain, shift = 1 + _randn(rng, d, scale=0.5), _randn(rng, d)
        cases.append((tokens, segments, *tables, gain, shift, eps))
    return cases


@combinable
def _embed_with(
    *,
    place=lambda tokens, segments, rows: torch.arange(tokens.shape[1]),
    kind=lambda segments: segments,
    combine=lambda norm, E, P, S: norm(E + P + S),
    norm=F.layer_norm,
):
    """La incrustación por pasos: qué fila de cada tabla, cómo se juntan y cómo se normaliza."""

    def implementation(token_ids, segment_ids, E, P, S, gain, shift, eps):
        def normalised(x):
            return norm(x, x.shape[-1:], gain, shift, eps)

        places = P[place(token_ids, segment_ids, len(P))].expand(*token_ids.shape, -1)
        return combine(normalised, E[token_ids], places, S[kind(segment_ids)])

    return implementation


def _norm_over(dims, unbiased=False, inside=True):
    """La normalización escrita a mano, sobre otros ejes o con otra desviación."""

    def norm(x, shape, gain, shift, eps):
        centred = x - x.mean(dims, keepdim=True)
        variance = x.var(dims, keepdim=True, unbiased=unbiased)
        scale = (variance + eps).sqrt() if inside else variance.sqrt() + eps
        return gain * centred / scale + shift

    return norm


def _rms(x, shape, gain, shift, eps):
    return gain * x / (x.square().mean(-1, keepdim=True) + eps).sqrt() + shift


def _restarted(tokens, segments, rows):
    """Las posiciones vuelven a empezar en la segunda oración."""
    first_of_second = (segments == 0).sum(-1, keepdim=True)
    return torch.arange(tokens.shape[1]) - first_of_second * segments


def _norm_mistakes(with_norm):
    """Los errores de la normalización, en la parte del modelo que hace `with_norm`."""
    return (
        Misconception(
            "gain_and_shift_forgotten",
            with_norm(norm=lambda x, shape, gain, shift, eps: F.layer_norm(x, shape, eps=eps)),
            "normalizas sin la ganancia ni el sesgo aprendidos",
        ),
        Misconception(
            "shift_forgotten",
            with_norm(norm=lambda x, s, gain, shift, eps: F.layer_norm(x, s, gain, eps=eps)),
            "falta el sesgo de la normalización",
        ),
        Misconception(
            "gain_forgotten",
            with_norm(norm=lambda x, s, gain, shift, eps: F.layer_norm(x, s, eps=eps) + shift),
            "falta la ganancia de la normalización",
        ),
        Misconception(
            "no_epsilon",
            with_norm(norm=lambda x, s, gain, shift, eps: F.layer_norm(x, s, gain, shift, 0.0)),
            "no usas la ε que llega: una de las pruebas la trae grande",
        ),
        Misconception(
            "epsilon_outside",
            with_norm(norm=_norm_over(-1, inside=False)),
            "sumas ε a la desviación; se suma a la varianza, dentro de la raíz",
        ),
        Misconception(
            "unbiased",
            with_norm(norm=_norm_over(-1, unbiased=True)),
            "divides la varianza entre d − 1, que es lo que hace torch si no se le dice otra cosa; "
            "aquí se divide entre d",
        ),
        Misconception(
            "std",
            with_norm(norm=_norm_over(-1, unbiased=True, inside=False)),
            "usas std y le sumas ε: std divide entre d − 1, y ε va dentro de la raíz, con la "
            "varianza",
        ),
    )


EMBEDDINGS = Exercise(
    name="bert.embeddings",
    points=1,
    reference=_embed,
    cases=_embed_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "no_norm",
            _embed_with(norm=lambda x, *rest: x),
            "falta la normalización: con tablas tan pequeñas, los vectores casi no se distinguen",
        ),
        Misconception(
            "norm_of_each",
            _embed_with(combine=lambda norm, E, P, S: norm(E) + norm(P) + norm(S)),
            "normalizas cada sumando por su lado; se normaliza una vez, la suma",
        ),
        Misconception(
            "norm_of_the_tokens",
            _embed_with(combine=lambda norm, E, P, S: norm(E) + P + S),
            "normalizas antes de sumar la posición y el segmento, que quedan diminutos a su lado: "
            "primero se suma",
        ),
        Misconception(
            "segments_after_the_norm",
            _embed_with(combine=lambda norm, E, P, S: norm(E + P) + S),
            "sumas el segmento después de normalizar: entra en la suma, antes",
        ),
        *_norm_mistakes(_embed_with),
        Misconception(
            "gain_and_shift_swapped",
            _embed_with(norm=lambda x, s, gain, shift, eps: F.layer_norm(x, s, shift, gain, eps)),
            "la ganancia multiplica y el sesgo se suma: están intercambiados",
        ),
        Misconception(
            "default_epsilon",
            _embed_with(norm=lambda x, s, gain, shift, eps: F.layer_norm(x, s, gain, shift)),
            "no usas la ε que llega, sino la de torch, 1e-5: con vectores tan pequeños se nota",
        ),
        Misconception(
            "rms",
            _embed_with(norm=_rms),
            "no restas la media: eso es la normalización por la raíz del cuadrado medio, la de "
            "otros modelos",
        ),
        Misconception(
            "norm_over_positions",
            _embed_with(norm=_norm_over(1)),
            "normalizas a lo largo de la secuencia; cada vector se normaliza por su cuenta, sobre "
            "sus d coordenadas",
        ),
        Misconception(
            "norm_over_the_sequence",
            _embed_with(norm=_norm_over((1, 2))),
            "normalizas todos los vectores de la secuencia juntos; cada uno va por su cuenta, "
            "sobre sus d coordenadas",
        ),
        Misconception(
            "norm_over_everything",
            _embed_with(norm=_norm_over((0, 1, 2))),
            "normalizas el lote entero de una vez; cada vector va por su cuenta, sobre sus d "
            "coordenadas",
        ),
        Misconception(
            "scaled",
            _embed_with(combine=lambda norm, E, P, S: norm(E * math.sqrt(E.shape[-1]) + P + S)),
            "multiplicas la incrustación por √d, como el Transformer original; BERT no lo hace",
        ),
        Misconception(
            "averaged",
            _embed_with(combine=lambda norm, E, P, S: norm((E + P + S) / 3)),
            "promedias los tres vectores en lugar de sumarlos: cada uno pesa la tercera parte",
        ),
        Misconception(
            "multiplied",
            _embed_with(combine=lambda norm, E, P, S: norm(E * P * S)),
            "multiplicas los tres vectores; se suman",
        ),
        Misconception(
            "only_tokens",
            _embed_with(combine=lambda norm, E, P, S: norm(E)),
            "faltan la posición y el segmento: cada token suma tres vectores",
        ),
        Misconception(
            "no_segments",
            _embed_with(combine=lambda norm, E, P, S: norm(E + P)),
            "falta el vector del segmento",
        ),
        Misconception(
            "no_positions",
            _embed_with(combine=lambda norm, E, P, S: norm(E + S)),
            "falta el vector de la posición: sin él, el orden de las palabras no cuenta",
        ),
        Misconception(
            "positions_from_one",
            _embed_with(place=lambda tokens, segments, rows: 1 + torch.arange(tokens.shape[1])),
            "las posiciones empiezan en la fila 1: la primera es la 0",
        ),
        Misconception(
            "positions_restart",
            _embed_with(place=_restarted),
            "las posiciones vuelven a empezar en la segunda oración: se cuentan de corrido en toda "
            "la secuencia",
        ),
        Misconception(
            "last_positions",
            _embed_with(
                place=lambda tokens, segments, rows: torch.arange(rows - tokens.shape[1], rows)
            ),
            "tomas las últimas filas de la tabla de posiciones",
        ),
        Misconception(
            "positions_of_the_segment",
            _embed_with(place=lambda tokens, segments, rows: segments),
            "buscas la posición con el número del segmento: la fila es la posición del token en la "
            "secuencia",
        ),
        Misconception(
            "positions_of_the_token",
            _embed_with(place=lambda tokens, segments, rows: tokens),
            "buscas la posición con el número del token: la fila es su posición en la secuencia",
            raises=IndexError,
        ),
        Misconception(
            "first_position",
            _embed_with(place=lambda tokens, segments, rows: 0),
            "a todos los tokens les sumas la misma posición",
        ),
        Misconception(
            "always_the_first_segment",
            _embed_with(kind=torch.zeros_like),
            "a todos los tokens les sumas el mismo segmento",
        ),
        Misconception(
            "segments_swapped",
            _embed_with(kind=lambda segments: 1 - segments),
            "intercambias los dos segmentos: el 0 es la fila 0",
        ),
    ),
)


# 3 · Cuántos parámetros


def _count(vocab, d, layers, d_ff, max_length, segments):
    """Los cuenta en un modelo sin memoria: en «meta», un tensor es solo su forma."""
    config = BertConfig(
        vocab,
        d_model=d,
        num_heads=1,
        num_layers=layers,
        d_ff=d_ff,
        max_length=max_length,
        num_segments=segments,
    )
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Bert(config).parameters())


def _count_call(student, *sizes):
    names = ("vocab", "d", "layers", "d_ff", "max_length", "segments")
    where = ", ".join(f"{name}={size}" for name, size in zip(names, sizes, strict=True))
    return {where: direct_call(student, *sizes)}


def _count_cases(rng):
    def some(low, high):
        return int(_integers(rng, low, high))

    return [
        (some(50, 90), some(5, 9), layers, some(20, 40), some(11, 19), segments)
        for layers, segments in ((1, 2), (2, 2), (3, 3))
    ]


@combinable
def _count_with(
    *,
    tables=lambda V, T, S, d: (V + T + S) * d,
    embedding_norm=2,
    projections=4,
    attention_bias=True,
    norms=4,
    network=lambda d, d_ff: 2 * d * d_ff + d_ff + d,
    pooler=lambda d: d * d + d,
    extra=lambda V, d: 0,
    total=lambda rest, block, layers: rest + layers * block,
):
    """La cuenta con una parte cambiada."""

    def implementation(V, d, layers, d_ff, T, S):
        attention = projections * (d * d + d * attention_bias)
        block = attention + network(d, d_ff) + norms * d
        rest = tables(V, T, S, d) + embedding_norm * d + pooler(d) + extra(V, d)
        return total(rest, block, layers)

    return implementation


PARAMETERS = Exercise(
    name="bert.parameters",
    points=1,
    reference=_count,
    cases=_count_cases,
    call=_count_call,
    tolerance=1e-9,
    misconceptions=(
        Misconception(
            "no_biases",
            _count_with(
                attention_bias=False, network=lambda d, f: 2 * d * f, pooler=lambda d: d * d
            ),
            "faltan los sesgos de todas las capas lineales",
        ),
        Misconception(
            "only_matrices",
            _count_with(
                attention_bias=False,
                network=lambda d, f: 2 * d * f,
                pooler=lambda d: d * d,
                norms=0,
                embedding_norm=0,
            ),
            "cuentas solo las matrices: faltan los sesgos y las normalizaciones",
        ),
        Misconception(
            "always_four_times_wider",
            _count_with(network=lambda d, f: 8 * d * d + 5 * d),
            "das por hecho que la red prealimentada es cuatro veces más ancha que el modelo: mide "
            "d_ff",
        ),
        Misconception(
            "no_attention_biases",
            _count_with(attention_bias=False),
            "faltan 4d por bloque: las cuatro proyecciones de la atención llevan sesgo, y las dos "
            "normalizaciones también tienen parámetros",
        ),
        Misconception(
            "no_network_biases",
            _count_with(network=lambda d, f: 2 * d * f),
            "faltan d_ff + d por bloque: los sesgos de la red prealimentada",
        ),
        Misconception(
            "one_network_bias",
            _count_with(network=lambda d, f: 2 * d * f + d),
            "faltan d_ff por bloque: el sesgo de la capa oculta de la red prealimentada",
        ),
        Misconception(
            "inner_network_bias_only",
            _count_with(network=lambda d, f: 2 * d * f + f),
            "faltan d por bloque: un sesgo. Repasa los de las cuatro proyecciones y el de la "
            "salida de la red prealimentada",
        ),
        Misconception(
            "same_network_biases",
            _count_with(network=lambda d, f: 2 * d * f + 2 * d),
            "los dos sesgos de la red prealimentada no miden lo mismo: cada uno, lo que su salida",
        ),
        Misconception(
            "one_network_matrix",
            _count_with(network=lambda d, f: d * f + f),
            "la red prealimentada tiene dos capas: sube a d_ff y vuelve a d",
        ),
        Misconception(
            "gated_network",
            _count_with(network=lambda d, f: 3 * d * f + 2 * f + d),
            "cuentas tres matrices en la red prealimentada, como si tuviera compuerta; la de BERT "
            "tiene dos",
        ),
        Misconception(
            "three_projections",
            _count_with(projections=3),
            "en la atención cuentas tres proyecciones; falta la que mezcla la salida de las "
            "cabezas",
        ),
        Misconception(
            "one_norm",
            _count_with(norms=2),
            "faltan 2d por bloque: ¿cuántas normalizaciones tiene un bloque, y cuántos vectores "
            "aprende cada una?",
        ),
        Misconception(
            "norms_without_shift",
            _count_with(norms=2, embedding_norm=1),
            "cada normalización aprende una ganancia y un sesgo: dos vectores",
        ),
        Misconception(
            "no_norms",
            _count_with(norms=0, embedding_norm=0),
            "las normalizaciones también tienen parámetros",
        ),
        Misconception(
            "no_embedding_norm",
            _count_with(embedding_norm=0),
            "faltan 2d: ¿hay alguna normalización fuera de los bloques?",
        ),
        Misconception(
            "final_norm",
            _count_with(embedding_norm=4),
            "sobran 2d: en BERT cada subcapa ya normaliza su salida, y detrás del último bloque no "
            "hay otra normalización",
        ),
        Misconception(
            "no_pooler",
            _count_with(pooler=lambda d: 0),
            "falta la capa del resumen, la que se aplica al vector de [CLS]",
        ),
        Misconception(
            "pooler_without_bias",
            _count_with(pooler=lambda d: d * d),
            "faltan d: la capa del resumen también lleva sesgo, y cada normalización aprende dos "
            "vectores",
        ),
        Misconception(
            "no_segments",
            _count_with(tables=lambda V, T, S, d: (V + T) * d),
            "falta la tabla de los segmentos",
        ),
        Misconception(
            "always_two_segments",
            _count_with(tables=lambda V, T, S, d: (V + T + 2) * d),
            "la tabla de los segmentos tiene las filas que se piden, que no siempre son dos",
        ),
        Misconception(
            "no_positions",
            _count_with(tables=lambda V, T, S, d: (V + S) * d),
            "falta la tabla de las posiciones: en BERT se aprenden",
        ),
        Misconception(
            "only_words",
            _count_with(tables=lambda V, T, S, d: V * d),
            "además de la tabla de los tokens hay otras dos",
        ),
        Misconception(
            "output_matrix",
            _count_with(extra=lambda V, d: V * d),
            "cuentas una matriz de salida hacia el vocabulario: aquí solo se cuenta el codificador "
            "con su resumen, y al preentrenar esa matriz es la misma tabla de los tokens",
        ),
        Misconception(
            "pretraining_head",
            _count_with(extra=lambda V, d: d * d + d + 2 * d + V + 2 * d + 2),
            "cuentas también la cabeza del preentrenamiento: aquí solo, el codificador con su "
            "resumen",
        ),
        Misconception(
            "one_block",
            _count_with(total=lambda rest, block, layers: rest + block),
            "cuentas un solo bloque: cada uno tiene los suyos",
        ),
        Misconception(
            "one_block_more",
            _count_with(total=lambda rest, block, layers: rest + (layers + 1) * block),
            "cuentas un bloque de más: las incrustaciones no son uno",
        ),
        Misconception(
            "everything_in_each_block",
            _count_with(total=lambda rest, block, layers: layers * (rest + block)),
            "multiplicas por el número de bloques también lo que está fuera de ellos: las tablas y "
            "el resumen se cuentan una sola vez",
        ),
        Misconception(
            "only_the_blocks",
            _count_with(tables=lambda V, T, S, d: 0, embedding_norm=0, pooler=lambda d: 0),
            "cuentas solo los bloques: faltan las incrustaciones y el resumen",
        ),
    ),
)


# 4 · Qué se oculta


def _choose(token_ids, special_ids, pad_id, draw):
    ordinary = ~torch.isin(token_ids, torch.tensor(special_ids))
    chosen = torch.zeros_like(ordinary)
    for row, ids in enumerate(token_ids):
        n = max(1, round(0.15 * int((ids != pad_id).sum())))
        places = ordinary[row].nonzero().flatten()
        chosen[row, places[draw[row, places].argsort()[:n]]] = True
    return chosen


PAD, UNKNOWN, CLASS, SEPARATOR, MASK = range(5)


def _sequence(rng, first, second, unknown=0):
    """«[CLS] … [SEP] … [SEP]», con palabras desconocidas; sin segunda oración, si mide 0."""
    words = _integers(rng, 10, 60, first + second).tolist()
    for place in torch.randperm(len(words), generator=rng)[:unknown].tolist():
        words[place] = UNKNOWN
    tail = [*words[first:], SEPARATOR] if second else []
    return [CLASS, *words[:first], SEPARATOR, *tail]


def _padded_batch(rows, pad_id, renumber):
    t = max(len(row) for row in rows)
    ids = [[renumber[x] if x < 5 else x for x in row] + [pad_id] * (t - len(row)) for row in rows]
    return torch.tensor(ids)


def _choose_cases(rng):
    shapes = (
        # largo 12 (elige 2) y 27 (elige 4): el redondeo no es ni el suelo ni el techo.
        ((5, 4, 0), (12, 12, 0), (6, 0, 0), (20, 0, 0)),
        # muchas desconocidas; tres tokens (elige 1), y nada que elegir.
        ((8, 9, 8), (1, 0, 0), (0, 0, 0), (10, 6, 2)),
        # 11, 13, 16 y 24: un token de más o de menos en el largo cambia cuántos se eligen.
        ((11, 10, 0), (9, 0, 0), (8, 5, 0), (6, 4, 0)),
        ((14, 10, 11), (9, 7, 0), (2, 1, 0)),
    )
    # Los números de los especiales cambian: van delante de las palabras, o detrás.
    numbers = (0, 5, 5, 90)
    cases = []
    for first, rows in zip(numbers, shapes, strict=True):
        renumber = list(range(5))
        if first:
            renumber = (first + torch.randperm(5, generator=rng)).tolist()
        batch = _padded_batch([_sequence(rng, *row) for row in rows], renumber[PAD], renumber)
        draw = torch.rand(batch.shape, generator=rng)
        if first == 90:  # quien no aparta [CLS], o algún otro especial, lo elige con seguridad
            draw = torch.where(torch.isin(batch, torch.tensor(renumber)), 0.05 * draw, draw)
            draw[:, 0] *= 0.01
        cases.append((batch, sorted(renumber), renumber[PAD], draw))
    return cases


@combinable
def _choose_with(
    *,
    rows=lambda x: x,
    draws=lambda draw: draw,
    eligible=lambda ids, special, pad_id: ~torch.isin(ids, torch.tensor(special)),
    length=lambda real, ordinary, t: real,
    share=0.15,
    rounded=round,
    minimum=1,
    extra=0,
    pick=lambda draw, places, n: places[draw[places].argsort()[:n]],
    after=lambda chosen, ordinary: chosen,
):
    """La elección, fila a fila: qué se puede elegir, cuántos, cuáles y qué se devuelve.

    Cuántos: la parte `share` de `length`, que recibe cuántos tokens reales, corrientes y lugares
    hay; redondeada, y con un mínimo.
    """

    def implementation(token_ids, special_ids, pad_id, draw):
        ordinary = ~torch.isin(token_ids, torch.tensor(special_ids))
        chosen = []
        by_row = (rows(x) for x in (token_ids, ordinary, draws(draw)))
        for ids, words, numbers in zip(*by_row, strict=True):
            counted = length(int((ids != pad_id).sum()), int(words.sum()), len(ids))
            n = max(minimum, rounded(share * counted)) + extra
            places = eligible(ids, special_ids, pad_id).nonzero().flatten()
            row = torch.zeros(len(ids), dtype=torch.bool)
            row[pick(numbers, places, n)] = True
            chosen.append(row)
        return after(torch.cat(chosen).view_as(token_ids), ordinary)

    return implementation


def _real(ids, special, pad_id):
    return ids != pad_id


def _not_specials_but(*kept):
    """Solo se apartan algunos especiales, los de los extremos."""

    def eligible(ids, special, pad_id):
        real = ids != pad_id
        last = int(real.sum()) - 1
        for place in kept:
            real = real & (torch.arange(len(ids)) != (last if place == "last" else place))
        return real

    return _choose_with(eligible=eligible)


def _rest_at_the_end(draw, places):
    """El orden de toda la fila por su sorteo, con lo que no se puede elegir al final."""
    hidden = torch.full_like(draw, 2.0)
    hidden[places] = draw[places]
    return hidden.argsort()


CHOOSE = Exercise(
    name="bert.choose",
    points=2,
    reference=_choose,
    cases=_choose_cases,
    misconceptions=(
        Misconception(
            "specials_too",
            _choose_with(eligible=_real),
            "también eliges tokens especiales: en ellos no hay nada que adivinar, y un [CLS] o un "
            "[SEP] oculto cambia la forma de la entrada",
        ),
        Misconception(
            "only_the_ends",
            _not_specials_but(0, "last"),
            "apartas el primero y el último; también hay especiales en medio: el [SEP] que separa "
            "las oraciones y las palabras desconocidas",
        ),
        Misconception(
            "only_the_first",
            _not_specials_but(0),
            "apartas [CLS], pero no los demás especiales",
        ),
        Misconception(
            "padding_too",
            _choose_with(eligible=lambda ids, special, pad: torch.ones_like(ids, dtype=torch.bool)),
            "eliges entre todas las posiciones, hasta entre las de los especiales y el relleno",
        ),
        Misconception(
            "padding_but_not_specials",
            _choose_with(
                eligible=lambda ids, special, pad: (
                    ~torch.isin(ids, torch.tensor([x for x in special if x != pad]))
                )
            ),
            "apartas los especiales, pero no el relleno",
        ),
        Misconception(
            "chosen_then_filtered",
            _choose_with(eligible=_real, after=lambda chosen, ordinary: chosen & ordinary),
            "eliges entre todos los tokens reales y después quitas los especiales: así se pierden "
            "elecciones. Apártalos antes de elegir",
        ),
        Misconception(
            "filled_with_specials",
            _choose_with(pick=lambda draw, places, n: _rest_at_the_end(draw, places)[:n]),
            "en una secuencia con menos tokens corrientes que elecciones, completas con "
            "especiales. Ahí se eligen solo los que haya",
        ),
        Misconception(
            "padding_counted",
            _choose_with(length=lambda real, ordinary, t: t),
            "calculas el 15 % sobre el largo del lote, con relleno y todo: cada secuencia tiene el "
            "suyo",
        ),
        Misconception(
            "specials_not_counted",
            _choose_with(length=lambda real, ordinary, t: ordinary),
            "calculas el 15 % solo sobre los tokens corrientes; se cuentan todos los reales, "
            "también los especiales",
        ),
        Misconception(
            "ends_not_counted",
            _choose_with(length=lambda real, ordinary, t: real - 2),
            "al largo le quitas [CLS] y el último [SEP]: el 15 % se calcula sobre todos los tokens "
            "reales, también los especiales",
        ),
        Misconception(
            "class_not_counted",
            _choose_with(length=lambda real, ordinary, t: real - 1),
            "al largo le falta un token: cuentan todos los reales, también [CLS] y [SEP]",
        ),
        Misconception(
            "floor",
            _choose_with(rounded=int),
            "redondeas hacia abajo; es al entero más cercano",
        ),
        Misconception(
            "floor_without_minimum",
            _choose_with(rounded=int, minimum=0),
            "redondeas hacia abajo, y en las secuencias muy cortas eso es 0: falta el mínimo",
        ),
        Misconception(
            "ceil",
            _choose_with(rounded=math.ceil),
            "redondeas hacia arriba; es al entero más cercano",
        ),
        Misconception(
            "no_minimum",
            _choose_with(minimum=0),
            "falta el mínimo: en las secuencias muy cortas el número se redondea a 0, y si hay de "
            "dónde se elige al menos uno",
        ),
        Misconception(
            "one_more",
            _choose_with(extra=1),
            "eliges uno de más: ¿comparas con «menor o igual» donde iba «menor»?",
        ),
        Misconception(
            "at_most_one",
            _choose_with(rounded=lambda part: 1),
            "el número de elegidos no depende del largo: el 1 es el mínimo",
        ),
        Misconception(
            "the_other_85",
            _choose_with(share=0.85),
            "eliges el 85 %: es el 15 % lo que se elige",
        ),
        Misconception(
            "no_share",
            _choose_with(share=1),
            "calculas un número de elegidos en el que caben todos; es el 15 % del largo",
        ),
        Misconception(
            "coins",
            _choose_with(pick=lambda draw, places, n: places[draw[places] < 0.15]),
            "lanzas una moneda por token, con probabilidad 0.15: sale el 15 % de media, pero cada "
            "secuencia elige los que le toquen, a veces ninguno. Aquí el número es fijo",
        ),
        Misconception(
            "largest",
            _choose_with(pick=lambda draw, places, n: places[draw[places].argsort()[-n:]]),
            "eliges los de mayor sorteo; el enunciado pide los de menor",
        ),
        Misconception(
            "the_first_ones",
            _choose_with(pick=lambda draw, places, n: places[:n]),
            "eliges siempre los primeros de la secuencia: el sorteo no interviene",
        ),
        Misconception(
            "the_last_ones",
            _choose_with(pick=lambda draw, places, n: places[-n:]),
            "eliges siempre los últimos de la secuencia: el sorteo no interviene",
        ),
        Misconception(
            "places_among_the_ordinary",
            _choose_with(pick=lambda draw, places, n: draw[places].argsort()[:n]),
            "lo que da argsort son posiciones dentro de la lista de candidatos, no de la "
            "secuencia: falta volver a esta",
        ),
        Misconception(
            "order_as_rank",
            _choose_with(
                pick=lambda draw, places, n: places[_rest_at_the_end(draw, places)[places] < n]
            ),
            "argsort no da el puesto de cada uno, sino quién está en cada puesto: comparas el "
            "número equivocado. Para saber el puesto hay que ordenar otra vez",
        ),
        Misconception(
            "of_the_whole_batch",
            _choose_with(rows=lambda x: x.reshape(1, -1)),
            "eliges en el lote entero: unas secuencias se quedan con muchos y otras con ninguno. "
            "Cada una elige los suyos",
        ),
        Misconception(
            "same_draw_for_all",
            _choose_with(draws=lambda draw: draw[:1].expand_as(draw)),
            "usas para todas las secuencias el sorteo de la primera: cada una tiene su fila",
        ),
        Misconception(
            "as_integers",
            _choose_with(after=lambda chosen, ordinary: chosen.long()),
            "devuelves unos y ceros; se pide una máscara booleana, True en los elegidos",
        ),
        Misconception(
            "as_floats",
            _choose_with(after=lambda chosen, ordinary: chosen.float()),
            "devuelves 1.0 y 0.0; se pide una máscara booleana, True en los elegidos",
        ),
        Misconception(
            "as_places",
            _choose_with(
                after=lambda chosen, ordinary: [row.nonzero().flatten() for row in chosen]
            ),
            "devuelves las posiciones elegidas; se pide una máscara booleana con la forma del lote",
        ),
        Misconception(
            "inverted",
            _choose_with(after=lambda chosen, ordinary: ~chosen),
            "la máscara está invertida: True es «elegido»",
        ),
    ),
)


# 5 · La función que oculta, con dos errores


def _mask(token_ids, chosen, draw, others, mask_id):
    masked = torch.where(chosen & (draw < 0.8), mask_id, token_ids)
    masked = torch.where(chosen & (draw >= 0.8) & (draw < 0.9), others, masked)
    return masked, torch.where(chosen, token_ids, IGNORED)


def _mask_cases(rng):
    cases = []
    for batch, t, mask_id in ((4, 60, 7), (3, 50, 4), (6, 40, 9)):
        ids, others = _integers(rng, 10, 80, 2, batch, t)
        draw = torch.rand(batch, t, generator=rng, dtype=torch.float64)
        chosen = torch.rand(batch, t, generator=rng) < 0.4
        # En los bordes de los tramos también hay que saber qué toca.
        draw[0, :2] = torch.tensor([0.8, 0.9], dtype=torch.float64)
        chosen[0, :2] = True
        others = torch.where(others == ids, others + 1, others)
        cases.append((ids, chosen, draw, others, mask_id))
    return cases


@combinable
def _mask_with(
    *,
    copy=lambda ids, *rest: ids.clone(),
    hidden=lambda draw: draw < 0.8,
    hidden_among=lambda chosen: chosen,
    changed=lambda draw: draw < 0.9,
    random_among=lambda chosen: chosen,
    number=lambda mask_id: mask_id,
    counted=lambda chosen, ids, masked, number: chosen,
    answer=lambda ids, masked: ids,
    ignored=IGNORED,
    order=lambda masked, labels: (masked, labels),
):
    """La función por pasos: a quién le toca cada cambio, qué se pone, y qué se pide predecir.

    De los que cambian (`changed`), unos acaban en [MASK] (`hidden`) y los demás, al azar.
    """

    def implementation(token_ids, chosen, draw, others, mask_id):
        ids, masked = token_ids.clone(), copy(token_ids, chosen, ignored)
        masked[hidden_among(chosen) & hidden(draw)] = number(mask_id)
        at_random = random_among(chosen) & changed(draw) & ~hidden(draw)
        masked[at_random] = others[at_random]
        where = counted(chosen, ids, masked, number(mask_id))
        return order(masked, torch.where(where, answer(ids, masked), ignored))

    return implementation


def _first_tenth(draw):
    return draw < 0.1


def _from_there_to_eight(draw):
    return (draw >= 0.1) & (draw < 0.8)


def _nobody(draw):
    return draw < 0


def _everywhere(chosen, *rest):
    return torch.ones_like(chosen)


MASKING_BUG = Exercise(
    name="bert.masking_bug",
    points=2,
    partial=(
        Part("los tokens", 1, item=0),
        Part("las etiquetas", 1, item=1),
    ),
    reference=_mask,
    cases=_mask_cases,
    misconceptions=(
        Misconception(
            "unchanged",
            _mask_with(hidden=_from_there_to_eight, changed=_first_tenth, counted=_everywhere),
            "siguen los dos errores del enunciado: mira el reparto y cuenta de cuántos tokens se "
            "pide la respuesta",
        ),
        Misconception(
            "every_label",
            _mask_with(counted=_everywhere),
            "las etiquetas son todos los tokens: la pérdida contaría también los que se ven, que "
            "se aciertan copiando",
        ),
        Misconception(
            "overlapping",
            _mask_with(hidden=_from_there_to_eight, changed=_first_tenth),
            "el reparto es 70/10/20: el tramo de los tokens al azar cae dentro del de [MASK], y le "
            "quita su parte",
        ),
        Misconception(
            "all_random",
            _mask_with(hidden=_nobody),
            "los que iban a ser [MASK] no quedan en [MASK]: ¿el segundo cambio pisa al primero?",
        ),
        Misconception(
            "all_hidden",
            _mask_with(hidden=lambda draw: draw < 0.9),
            "ocultas los dos primeros tramos, y el segundo es el de los tokens al azar",
        ),
        Misconception(
            "random_hidden",
            _mask_with(changed=_nobody),
            "no pones ningún token al azar: uno de cada diez elegidos se cambia por otro",
        ),
        Misconception(
            "none_kept",
            _mask_with(changed=lambda draw: draw < 2),
            "todos los elegidos cambian: uno de cada diez se deja como estaba",
        ),
        Misconception(
            "kept_and_random_swapped",
            _mask_with(changed=lambda draw: draw >= 0.9),
            "los dos tramos pequeños están intercambiados: primero va el de los tokens al azar y "
            "al final el de los que se quedan",
        ),
        Misconception(
            "random_at_the_end",
            _mask_with(changed=lambda draw: draw > 0.9),
            "los tokens al azar no son los que pasan de 0.9: ese tramo es el de los que se quedan",
        ),
        Misconception(
            "tenth_of_the_rest",
            _mask_with(changed=lambda draw: draw < 0.82),
            "tomas una décima parte de los que quedan después de [MASK]: sería un 2 %. El 10 % es "
            "de los elegidos",
        ),
        Misconception(
            "half_is_random",
            _mask_with(hidden=lambda draw: draw < 0.5),
            "el tramo de [MASK] es demasiado corto: le toca el 80 % de los elegidos",
        ),
        Misconception(
            "always_hidden",
            _mask_with(hidden=lambda draw: draw < 2),
            "todos los elegidos acaban en [MASK]: al ajustar el modelo no habrá ninguno, y no "
            "sabría representar los tokens que se ven",
        ),
        Misconception(
            "edges",
            _mask_with(hidden=lambda draw: draw <= 0.8, changed=lambda draw: draw <= 0.9),
            "en los bordes, 0.8 ya es del segundo tramo, y 0.9, del tercero",
        ),
        Misconception(
            "closed_at_eight",
            _mask_with(hidden=lambda draw: draw <= 0.8),
            "quien saca justo 0.8 ya no es del tramo de [MASK]",
        ),
        Misconception(
            "open_at_eight",
            _mask_with(changed=lambda draw: (draw < 0.9) & (draw != 0.8)),
            "quien saca justo 0.8 se queda como estaba, y ahí empieza el segundo tramo",
        ),
        Misconception(
            "closed_at_nine",
            _mask_with(changed=lambda draw: draw <= 0.9),
            "quien saca justo 0.9 ya es de los que se quedan como estaban",
        ),
        Misconception(
            "mask_and_random_swapped",
            _mask_with(hidden=lambda draw: (draw >= 0.8) & (draw < 0.9)),
            "pones [MASK] en uno de los tramos pequeños; el suyo es el grande, y el de los tokens "
            "al azar, uno pequeño",
        ),
        Misconception(
            "shares_reversed",
            _mask_with(hidden=lambda draw: draw >= 0.8, changed=lambda draw: draw >= 0.7),
            "ocultas a los que sacaron 0.8 o más, uno de cada cinco: el tramo grande es el otro",
        ),
        Misconception(
            "only_changed",
            _mask_with(counted=lambda chosen, ids, masked, number: masked != ids),
            "solo pides la respuesta donde el token cambió: los elegidos que se dejan como estaban "
            "también se predicen",
        ),
        Misconception(
            "only_hidden",
            _mask_with(counted=lambda chosen, ids, masked, number: masked == number),
            "solo pides la respuesta donde hay un [MASK]: cuentan todos los elegidos",
        ),
        Misconception(
            "nothing_hidden",
            _mask_with(hidden=_nobody, changed=_nobody),
            "no ocultas ningún token: el modelo vería la respuesta",
        ),
        Misconception(
            "labels_are_the_input",
            _mask_with(copy=lambda ids, chosen, number: ids.masked_fill_(~chosen, number)),
            "las etiquetas y el lote son el mismo tensor: lo que escribes en uno queda en el otro, "
            "y el modelo lo lee",
        ),
        Misconception(
            "labels_inverted",
            _mask_with(counted=lambda chosen, *rest: ~chosen),
            "las etiquetas están al revés: pides la respuesta donde no se eligió nada",
        ),
        Misconception(
            "labels_of_the_masked",
            _mask_with(answer=lambda ids, masked: masked),
            "la respuesta es lo que había antes de ocultar, no lo que quedó después",
        ),
        Misconception(
            "labels_all_masked",
            _mask_with(counted=_everywhere, answer=lambda ids, masked: masked),
            "las etiquetas son el texto ya oculto: la respuesta es lo que había, y solo en los "
            "elegidos",
        ),
        Misconception(
            "ignored_as_zero",
            _mask_with(ignored=0),
            "marcas con 0 lo que no cuenta, pero el 0 es un token como otro: usa −100",
        ),
        Misconception(
            "ignored_as_minus_one",
            _mask_with(ignored=-1),
            "marcas con −1 lo que no cuenta; el enunciado, como torch, usa −100",
        ),
        Misconception(
            "ignored_as_hundred",
            _mask_with(ignored=100),
            "el número de lo que no cuenta es negativo: 100 puede ser un token",
        ),
        Misconception(
            "hard_coded",
            _mask_with(number=lambda mask_id: 103),
            "escribes el número de [MASK] a mano, el 103 de un vocabulario inglés: en otro "
            "vocabulario es otra palabra. Usa mask_id",
        ),
        Misconception(
            "everywhere",
            _mask_with(hidden_among=_everywhere, random_among=_everywhere),
            "ocultas tokens de toda la secuencia: solo cambian los elegidos",
        ),
        Misconception(
            "random_everywhere",
            _mask_with(random_among=_everywhere),
            "pones tokens al azar también donde no se eligió nada",
        ),
        Misconception(
            "mask_everywhere",
            _mask_with(hidden_among=_everywhere),
            "pones [MASK] también donde no se eligió nada",
        ),
        Misconception(
            "swapped",
            _mask_with(order=lambda masked, labels: (labels, masked)),
            "devuelves las etiquetas delante: primero va lo que lee el modelo",
        ),
        Misconception(
            "no_labels",
            _mask_with(order=lambda masked, labels: masked),
            "devuelves solo el lote oculto: faltan las etiquetas",
        ),
        Misconception(
            "writes_on_the_input",
            _mask_with(copy=lambda ids, *rest: ids),
            "escribes sobre el lote que te dieron: en la pasada siguiente ya no estará el texto. "
            "Trabaja sobre una copia",
        ),
    ),
)


# 6 · La cabeza del preentrenamiento


def _predict(H, chosen, W, b, gain, shift, eps, E, c):
    x = F.gelu(H[chosen] @ W + b)
    return F.layer_norm(x, x.shape[-1:], gain, shift, eps) @ E.T + c


def _predict_cases(rng):
    cases = []
    # En el último los vectores son tan pequeños que la ε de torch se notaría.
    sizes = ((2, 5, 12, 11, 1e-12, 1.0), (3, 4, 8, 9, 1e-2, 1.0), (1, 6, 12, 7, 1e-12, 0.05))
    for batch, t, d, vocab, eps, scale in sizes:
        chosen = torch.rand(batch, t, generator=rng) < 0.4
        chosen[:, 1] = True
        chosen[:, 2] = False
        chosen[0, -1] = True  # por columnas irían en otro orden
        H, W, b = _randn(rng, batch, t, d, scale=1.5), _matrix(rng, d, d), _randn(rng, d)
        vectors = (H, chosen, scale * W, scale * b)
        norm = (1 + _randn(rng, d, scale=0.5), _randn(rng, d), eps)
        cases.append((*vectors, *norm, _randn(rng, vocab, d), _randn(rng, vocab)))
    return cases


@combinable
def _predict_with(
    *,
    take=lambda H, chosen: H[chosen],
    transform=lambda h, W, b, gelu, norm: norm(gelu(h @ W + b)),
    activation=F.gelu,
    norm=F.layer_norm,
    decode=lambda x, E, c: x @ E.T + c,
):
    """La cabeza por pasos: qué vectores toma, cómo los transforma y cómo llega al vocabulario."""

    def implementation(H, chosen, W, b, gain, shift, eps, E, c):
        def normalised(x):
            return norm(x, x.shape[-1:], gain, shift, eps)

        return decode(transform(take(H, chosen), W, b, activation, normalised), E, c)

    return implementation


def _unit(x):
    return F.normalize(x, dim=-1)


PREDICT = Exercise(
    name="bert.predict",
    points=1,
    reference=_predict,
    cases=_predict_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "tanh_gelu",
            _predict_with(activation=lambda x: F.gelu(x, approximate="tanh")),
            "usas la aproximación de GELU con tanh, la del código de Google; se pide la exacta",
        ),
        Misconception(
            "sigmoid_gelu",
            _predict_with(activation=lambda x: x * torch.sigmoid(1.702 * x)),
            "usas la aproximación de GELU con la sigmoide; se pide la exacta",
        ),
        Misconception(
            "relu",
            _predict_with(activation=F.relu),
            "la función de activación es GELU, no ReLU",
        ),
        Misconception(
            "silu",
            _predict_with(activation=F.silu),
            "la función de activación es GELU, no SiLU",
        ),
        Misconception(
            "tanh",
            _predict_with(activation=torch.tanh),
            "tanh es la del resumen; aquí la función de activación es GELU",
        ),
        Misconception(
            "no_activation",
            _predict_with(activation=lambda x: x),
            "falta la función de activación",
        ),
        Misconception(
            "no_transform",
            _predict_with(transform=lambda h, W, b, gelu, norm: norm(h)),
            "falta la capa W, b con su función de activación",
        ),
        Misconception(
            "direct",
            _predict_with(transform=lambda h, W, b, gelu, norm: h),
            "vas del vector al vocabulario directamente: faltan la capa, GELU y la normalización",
        ),
        Misconception(
            "linear",
            _predict_with(activation=lambda x: x, norm=lambda x, *rest: x),
            "faltan GELU y la normalización: así, la capa y la tabla serían una sola matriz",
        ),
        Misconception(
            "no_transform_bias",
            _predict_with(transform=lambda h, W, b, gelu, norm: norm(gelu(h @ W))),
            "falta el sesgo b de la capa",
        ),
        Misconception(
            "bias_after_activation",
            _predict_with(transform=lambda h, W, b, gelu, norm: norm(gelu(h @ W) + b)),
            "sumas b después de la función de activación; va dentro",
        ),
        Misconception(
            "as_a_linear_weight",
            _predict_with(transform=lambda h, W, b, gelu, norm: norm(gelu(F.linear(h, W, b)))),
            "aplicas W transpuesta, como si fuera el weight de un nn.Linear: aquí se usa como "
            "h @ W",
        ),
        Misconception(
            "residual",
            _predict_with(transform=lambda h, W, b, gelu, norm: norm(h + gelu(h @ W + b))),
            "sumas la entrada: la cabeza no lleva conexión residual",
        ),
        Misconception(
            "norm_before_activation",
            _predict_with(transform=lambda h, W, b, gelu, norm: gelu(norm(h @ W + b))),
            "normalizas antes de la función de activación; se normaliza lo que sale de ella",
        ),
        Misconception(
            "norm_before_the_layer",
            _predict_with(transform=lambda h, W, b, gelu, norm: gelu(norm(h) @ W + b)),
            "normalizas la entrada de la capa; se normaliza lo que sale de la función de "
            "activación",
        ),
        Misconception(
            "no_norm",
            _predict_with(norm=lambda x, *rest: x),
            "falta la normalización antes de ir al vocabulario",
        ),
        *_norm_mistakes(_predict_with),
        Misconception(
            "default_epsilon",
            _predict_with(norm=lambda x, s, gain, shift, eps: F.layer_norm(x, s, gain, shift)),
            "no usas la ε que llega, sino la de torch",
        ),
        Misconception(
            "no_output_bias",
            _predict_with(decode=lambda x, E, c: x @ E.T),
            "falta el sesgo c, uno por palabra: lo frecuente que es cada una",
        ),
        Misconception(
            "scaled",
            _predict_with(decode=lambda x, E, c: x @ E.T / x.shape[-1] ** 0.5 + c),
            "divides entre √d: eso es de la atención; aquí los logits quedan como salen",
        ),
        Misconception(
            "cosine",
            _predict_with(decode=lambda x, E, c: _unit(x) @ _unit(E).T + c),
            "comparas solo las direcciones (cosenos); el producto no se normaliza",
        ),
        Misconception(
            "probabilities",
            _predict_with(decode=lambda x, E, c: torch.softmax(x @ E.T + c, dim=-1)),
            "devuelves probabilidades; se piden los logits, y el softmax lo pone la pérdida",
        ),
        Misconception(
            "log_probabilities",
            _predict_with(decode=lambda x, E, c: torch.log_softmax(x @ E.T + c, dim=-1)),
            "devuelves logaritmos de probabilidades; se piden los logits",
        ),
        Misconception(
            "every_position",
            _predict_with(take=lambda H, chosen: H),
            "puntúas todas las posiciones: solo hacen falta las elegidas, y el producto por E es "
            "de lo más caro del modelo",
        ),
        Misconception(
            "zeros_elsewhere",
            _predict_with(take=lambda H, chosen: H * chosen[..., None]),
            "pones a cero las posiciones que no se eligieron, pero las sigues puntuando: se piden "
            "solo las n elegidas",
        ),
        Misconception(
            "the_other_positions",
            _predict_with(take=lambda H, chosen: H[~chosen]),
            "puntúas las posiciones que no se eligieron",
        ),
        Misconception(
            "column_by_column",
            _predict_with(take=lambda H, chosen: H.transpose(0, 1)[chosen.T]),
            "son las posiciones elegidas, en otro orden: van fila a fila, como se lee",
        ),
    ),
)


# 7 · La pérdida


def _loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)


def _loss_cases(rng):
    cases = []
    # Con muchas elegidas en una fila y ninguna en otra; y con logits grandes.
    for batch, t, vocab, scale in ((3, 6, 7, 1.0), (2, 8, 5, 3.0), (4, 5, 6, 60.0)):
        counts = torch.arange(batch)[:, None] + 1
        rank = torch.rand(batch, t, generator=rng).argsort(-1).argsort(-1)
        labels = torch.where(rank < counts, _integers(rng, 0, vocab - 1, batch, t), IGNORED)
        if batch == 3:
            labels[0] = IGNORED
            labels[1, 0] = 0  # el 0 también es una palabra
        logits = _randn(rng, batch, t, vocab, scale=scale)
        if batch == 2:  # las probabilidades caben, pero las exponenciales no
            logits = logits + 100
        if batch == 4:  # un acierto seguro y un fallo enorme: ni e^z ni P caben en float32
            (row, place), (other, wrong) = (labels != IGNORED).nonzero()[:2].tolist()
            logits[row, place, labels[row, place]] = 300.0
            logits[other, wrong, labels[other, wrong]] = -300.0
        cases.append((logits, labels))
    return cases


@combinable
def _loss_with(
    *,
    targets=lambda labels, vocab: labels,
    log_probability=lambda logits: logits.log_softmax(-1),
    reduce=lambda losses, counted: losses.sum() / counted.sum(),
    after=lambda loss: loss,
):
    """La pérdida por pasos: qué palabra se pide, su log P, y cómo se juntan las posiciones."""

    def implementation(logits, labels):
        labels = targets(labels, logits.shape[-1])
        counted = labels != IGNORED
        found = log_probability(logits).gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
        return after(reduce(-found.masked_fill(~counted, 0.0), counted))

    return implementation


def _mean_of_rows(losses, counted):
    n = counted.sum(-1)
    rows = n > 0
    return (losses.sum(-1)[rows] / n[rows]).mean()


def _naive(logits):
    odds = logits.exp()
    return (odds / odds.sum(-1, keepdim=True)).log()


def _reshaped(logits):
    """Las palabras en el eje 1, a donde no llegan con `reshape`."""
    batch, t, vocab = logits.shape
    return logits.reshape(batch, vocab, t).log_softmax(1).transpose(1, 2)


MASKED_LOSS = Exercise(
    name="bert.masked_loss",
    points=1,
    reference=_loss,
    cases=_loss_cases,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "mean_over_everything",
            _loss_with(reduce=lambda losses, counted: losses.mean()),
            "divides entre todas las posiciones, también las que no cuentan: así la pérdida "
            "depende del relleno",
        ),
        Misconception(
            "sum",
            _loss_with(reduce=lambda losses, counted: losses.sum()),
            "sumas las pérdidas: se pide la media de las posiciones que cuentan",
        ),
        Misconception(
            "per_sequence",
            _loss_with(reduce=lambda losses, counted: losses.sum() / len(losses)),
            "divides entre el número de secuencias; es entre el de posiciones que cuentan",
        ),
        Misconception(
            "mean_of_rows",
            _loss_with(reduce=_mean_of_rows),
            "promedias cada secuencia y después las secuencias: así una palabra pesa más donde se "
            "ocultaron pocas. Todas pesan lo mismo",
        ),
        Misconception(
            "mean_of_rows_with_zeros",
            _loss_with(
                reduce=lambda losses, counted: (
                    losses.sum(-1) / counted.sum(-1).clamp(min=1)
                ).mean()
            ),
            "promedias cada secuencia y después las secuencias, hasta las que no ocultaron nada: "
            "todas las palabras pesan lo mismo",
        ),
        Misconception(
            "mean_of_rows_with_nan",
            _loss_with(reduce=lambda losses, counted: (losses.sum(-1) / counted.sum(-1)).mean()),
            "promedias cada secuencia por su lado, y la que no ocultó nada divide 0 entre 0: de "
            "ahí el NaN. La media es de todas las posiciones del lote que cuentan",
        ),
        Misconception(
            "one_by_one",
            _loss_with(reduce=lambda losses, counted: losses[counted]),
            "devuelves la pérdida de cada posición: falta la media",
        ),
        Misconception(
            "everything_counts",
            _loss_with(targets=lambda labels, vocab: labels.clamp(min=0)),
            "cuentas todas las posiciones: en las que llevan −100 pides la palabra 0",
        ),
        Misconception(
            "last_word",
            _loss_with(targets=lambda labels, vocab: torch.where(labels < 0, vocab - 1, labels)),
            "cuentas todas las posiciones: en las que llevan −100 pides la última palabra",
        ),
        Misconception(
            "zero_ignored",
            _loss_with(targets=lambda labels, vocab: torch.where(labels == 0, IGNORED, labels)),
            "la palabra 0 también cuenta: lo único que no cuenta es −100",
        ),
        Misconception(
            "sign",
            _loss_with(after=torch.neg),
            "el signo está al revés: la pérdida baja cuando se acierta más",
        ),
        Misconception(
            "over_positions",
            _loss_with(log_probability=lambda logits: logits.log_softmax(1)),
            "el softmax reparte entre las posiciones; reparte entre las palabras del vocabulario",
        ),
        Misconception(
            "over_the_batch",
            _loss_with(log_probability=lambda logits: logits.log_softmax(0)),
            "el softmax reparte entre las secuencias; reparte entre las palabras del vocabulario",
        ),
        Misconception(
            "reshaped",
            _loss_with(log_probability=_reshaped),
            "cross_entropy quiere las clases en el eje 1, y las llevas con reshape, que no mueve "
            "ejes: mezcla palabras y posiciones",
        ),
        Misconception(
            "exponential_overflows",
            _loss_with(log_probability=_naive),
            "la exponencial de un logit grande no cabe: resta antes el máximo, o busca quien lo "
            "haga",
        ),
        Misconception(
            "sum_of_exponentials_overflows",
            _loss_with(log_probability=lambda z: z - z.exp().sum(-1, keepdim=True).log()),
            "la suma de las exponenciales no cabe, y su logaritmo sale infinito: resta antes el "
            "máximo, o usa una función que lo haga",
        ),
        Misconception(
            "log_of_softmax",
            _loss_with(log_probability=lambda logits: logits.softmax(-1).log()),
            "una probabilidad diminuta se redondea a 0 y su logaritmo es −∞: hay que calcular el "
            "logaritmo sin pasar por ella",
        ),
        Misconception(
            "small_number_added",
            _loss_with(log_probability=lambda logits: (logits.softmax(-1) + 1e-9).log()),
            "sumas un número pequeño para que el logaritmo no sea infinito, y cambias la pérdida: "
            "hay una manera exacta",
        ),
        Misconception(
            "clamped",
            _loss_with(log_probability=lambda logits: logits.softmax(-1).clamp(min=1e-12).log()),
            "retocas las probabilidades diminutas, con un mínimo o un sumando, para que el "
            "logaritmo no sea infinito, y cambias la pérdida: hay una manera exacta",
        ),
        Misconception(
            "probability",
            _loss_with(log_probability=lambda logits: logits.softmax(-1)),
            "falta el logaritmo: tomas la probabilidad tal cual",
        ),
        Misconception(
            "log_of_the_mean",
            _loss_with(
                log_probability=lambda logits: logits.softmax(-1),
                reduce=lambda losses, counted: -losses[counted].neg().mean().log(),
            ),
            "tomas el logaritmo de la probabilidad media; es la media de los logaritmos",
        ),
        Misconception(
            "negative_logit",
            _loss_with(log_probability=lambda logits: logits),
            "tomas el logit de la palabra sin normalizar: falta descontar el de todas las demás",
        ),
        Misconception(
            "softmax_twice",
            _loss_with(log_probability=lambda logits: logits.softmax(-1).log_softmax(-1)),
            "aplicas el softmax dos veces: cross_entropy ya lo trae dentro",
        ),
        Misconception(
            "perplexity",
            _loss_with(after=torch.exp),
            "tomas la exponencial, como para la perplejidad; se pide la pérdida, sin ella",
        ),
        Misconception(
            "in_bits",
            _loss_with(after=lambda loss: loss / math.log(2)),
            "mides en bits: el logaritmo es el natural",
        ),
        Misconception(
            "as_a_number",
            _loss_with(after=torch.detach),
            "el número está separado del grafo: sin gradiente no se aprende nada",
        ),
    ),
)


# 8 · Elegir entre varias opciones


def _options(read, token_ids, segment_ids, W, b, w):
    H = read(token_ids.flatten(0, 1), segment_ids.flatten(0, 1))
    scores = torch.tanh(H[:, 0] @ W + b) @ w
    return scores.view(token_ids.shape[:2]).softmax(-1)


def _reader(E, S):
    """Un lector de secuencias que las mezcla, como BERT, y solo acepta `[filas, t]`."""

    def read(token_ids, segment_ids):
        if token_ids.ndim != 2 or token_ids.shape != segment_ids.shape:
            raise ValueError(
                "read: se esperaban tokens y segmentos de forma [filas, t] y llegaron "
                f"{tuple(token_ids.shape)} y {tuple(segment_ids.shape)}."
            )
        x = E[token_ids] + S[segment_ids]
        place = 1 + torch.arange(x.shape[1])[:, None]
        mixed = (x * place).mean(1, keepdim=True)
        return torch.tanh(x + mixed)

    return read


def _options_call(student, token_ids, segment_ids, W, b, w, E, S):
    return direct_call(student, _reader(E, S), token_ids, segment_ids, W, b, w)


def _options_cases(rng):
    cases = []
    for batch, choices, t, d in ((2, 3, 5, 4), (3, 4, 6, 5), (4, 2, 7, 6)):
        tokens = _integers(rng, 0, 14, batch, choices, t)
        segments = (torch.arange(t) >= _integers(rng, 2, t - 2, batch, choices, 1)).long()
        tables = _randn(rng, 15, d), _randn(rng, 2, d)
        head = _matrix(rng, d, d), _randn(rng, d), 3 * _randn(rng, d)
        cases.append((tokens, segments, *head, *tables))
    return cases


@combinable
def _options_with(
    *,
    rows=lambda x: x.flatten(0, 1),
    segments=lambda S: S,
    pool=lambda H: H[:, :, 0],
    layer=lambda h, W, b: torch.tanh(h @ W + b),
    arrange=lambda scores: scores,
    share=lambda scores: scores.softmax(-1),
):
    """La cabeza por pasos: las filas que se leen, el resumen, las puntuaciones y el reparto."""

    def implementation(read, token_ids, segment_ids, W, b, w):
        H = read(rows(token_ids), rows(segments(segment_ids)))
        h = layer(pool(H.reshape(*token_ids.shape, -1)), W, b)
        return share(arrange(h @ w))

    return implementation


def _hardest(scores):
    return F.one_hot(scores.argmax(-1), scores.shape[-1]).to(scores.dtype)


OPTIONS = Exercise(
    name="bert.options",
    points=2,
    reference=_options,
    cases=_options_cases,
    call=_options_call,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "over_the_batch",
            _options_with(share=lambda scores: scores.softmax(0)),
            "el softmax reparte entre los ejemplos del lote: las probabilidades de las opciones de "
            "un mismo ejemplo tienen que sumar 1",
        ),
        Misconception(
            "over_everything",
            _options_with(share=lambda scores: scores.flatten().softmax(0).view_as(scores)),
            "el softmax reparte entre todas las opciones de todos los ejemplos: cada ejemplo "
            "reparte entre las suyas",
        ),
        Misconception(
            "independent",
            _options_with(share=torch.sigmoid),
            "das a cada opción su probabilidad por separado, con una sigmoide; solo una es la "
            "correcta, y compiten",
        ),
        Misconception(
            "proportional",
            _options_with(share=lambda scores: scores / scores.sum(-1, keepdim=True)),
            "divides cada puntuación entre la suma, y hay puntuaciones negativas: falta la "
            "exponencial",
        ),
        Misconception(
            "scores",
            _options_with(share=lambda scores: scores),
            "devuelves las puntuaciones; se piden las probabilidades",
        ),
        Misconception(
            "softmax_twice",
            _options_with(share=lambda scores: scores.softmax(-1).softmax(-1)),
            "aplicas el softmax dos veces, y las opciones salen casi iguales",
        ),
        Misconception(
            "log_probabilities",
            _options_with(share=lambda scores: scores.log_softmax(-1)),
            "devuelves logaritmos de probabilidades; se piden las probabilidades",
        ),
        Misconception(
            "winner",
            _options_with(share=lambda scores: scores.argmax(-1)),
            "devuelves la opción elegida; se piden las probabilidades de todas",
        ),
        Misconception(
            "winner_takes_all",
            _options_with(share=_hardest),
            "le das toda la probabilidad a la mejor opción: así no hay gradiente. El reparto es "
            "suave",
        ),
        Misconception(
            "wrong_order",
            _options_with(arrange=lambda scores: scores.reshape(scores.T.shape).T),
            "al separar las filas otra vez cambias su orden: las de un mismo ejemplo van seguidas",
        ),
        Misconception(
            "options_first",
            _options_with(rows=lambda x: x.transpose(0, 1).flatten(0, 1)),
            "al juntar pones primero la opción 1 de todos los ejemplos, y así las puntuaciones "
            "acaban en otro sitio: las opciones de un mismo ejemplo van seguidas",
        ),
        Misconception(
            "choices_by_batch",
            _options_with(arrange=lambda scores: scores.T, share=lambda scores: scores.softmax(0)),
            "la forma está transpuesta: es [batch, choices]",
        ),
        Misconception(
            "one_row",
            _options_with(arrange=torch.flatten),
            "falta separar las filas otra vez en ejemplos y opciones",
        ),
        Misconception(
            "one_column",
            _options_with(arrange=lambda s: s[:, :, None], share=lambda s: s.softmax(1)),
            "sobra el último eje, el que deja una capa de una sola salida",
        ),
        Misconception(
            "not_flattened",
            _options_with(rows=lambda x: x),
            "BERT solo lee secuencias, [filas, t]: cada opción es una fila más del lote",
            raises=ValueError,
        ),
        Misconception(
            "in_one_row",
            _options_with(rows=lambda x: x.flatten(1)),
            "lees todas las opciones de un ejemplo en una sola secuencia, y se ven unas a otras: "
            "cada una se lee por su cuenta",
        ),
        Misconception(
            "last_token",
            _options_with(pool=lambda H: H[:, :, -1]),
            "resumes con el último token, como en un modelo causal; aquí el resumen es del primero",
        ),
        Misconception(
            "second_token",
            _options_with(pool=lambda H: H[:, :, 1]),
            "resumes con el token 1; [CLS] es el 0",
        ),
        Misconception(
            "mean_of_tokens",
            _options_with(pool=lambda H: H.mean(2)),
            "resumes con la media de los tokens, que cuenta también el relleno: el resumen de BERT "
            "es el de [CLS]",
        ),
        Misconception(
            "largest_of_tokens",
            _options_with(pool=lambda H: H.amax(2)),
            "resumes con el máximo de los tokens: el resumen de BERT es el de [CLS]",
        ),
        Misconception(
            "no_pooler",
            _options_with(layer=lambda h, W, b: h),
            "falta la capa del resumen: puntúas el vector tal cual",
        ),
        Misconception(
            "no_tanh",
            _options_with(layer=lambda h, W, b: h @ W + b),
            "falta la tanh del resumen",
        ),
        Misconception(
            "tanh_before_the_layer",
            _options_with(layer=lambda h, W, b: torch.tanh(h) @ W + b),
            "la tanh va después de la capa W, b, y no antes",
        ),
        Misconception(
            "relu",
            _options_with(layer=lambda h, W, b: F.relu(h @ W + b)),
            "la función de activación del resumen es tanh, no ReLU",
        ),
        Misconception(
            "gelu",
            _options_with(layer=lambda h, W, b: F.gelu(h @ W + b)),
            "GELU es la de la red prealimentada; la del resumen es tanh",
        ),
        Misconception(
            "no_bias",
            _options_with(layer=lambda h, W, b: torch.tanh(h @ W)),
            "el sesgo b no se nota: falta, o lo sumas después de la tanh, y entonces mueve igual "
            "todas las puntuaciones. Va dentro",
        ),
        Misconception(
            "as_a_linear_weight",
            _options_with(layer=lambda h, W, b: torch.tanh(F.linear(h, W, b))),
            "aplicas W transpuesta, como si fuera el weight de un nn.Linear: aquí se usa como "
            "h @ W",
        ),
        Misconception(
            "no_segments",
            _options_with(segments=torch.zeros_like),
            "no pasas los segmentos: el modelo no sabe dónde acaba el enunciado y empieza la "
            "opción",
        ),
        Misconception(
            "segments_swapped",
            _options_with(segments=lambda S: 1 - S),
            "intercambias los dos segmentos",
        ),
    ),
)


# 9 · El mejor tramo


def _library_spans(start, end, candidates, longest):
    return best_spans(SpanOutput(start, end), candidates, longest=longest)


def _span_call(student, start, end, candidates, longest):
    return {f"longest={longest}": direct_call(student, start, end, candidates, longest)}


def _span_cases(rng):
    cases = []
    for batch, t, longest, level in ((24, 9, 3, -2.0), (20, 12, 5, 0.0), (18, 8, 8, -60.0)):
        start, end = level + _randn(rng, 2, batch, t)
        candidates = torch.arange(t) >= _integers(rng, 1, 3, batch, 1)
        candidates &= torch.arange(t) < t - _integers(rng, 0, 2, batch, 1)
        start[:, 0] += 3  # [CLS] tienta a quien mira fuera del texto
        cases.append((start, end, candidates, longest))
    return [*cases, _tempting_ends(rng), _uneven_scores(rng)]


def _tempting_ends(rng):
    """Un buen comienzo y, por fila, un fin prohibido que puntúa más que el mejor permitido.

    En la última fila el mejor comienzo y el mejor fin, por separado, también son el mejor tramo.
    """
    longest, t = 2, 9
    # Un token de más, dos de más, justo antes del comienzo y muy antes; y el permitido.
    forbidden, allowed = torch.tensor([[longest, longest + 1, -1, -longest, 0], [1, 0, 1, 1, 1]])
    place = _integers(rng, 2, 5, 5)
    start, end = -9 + 0.1 * _randn(rng, 2, 5, t)
    rows = torch.arange(5)
    start[rows, place] = -2.0
    end[rows, place + forbidden] = torch.tensor([-1.0] * 4 + [-3.0])
    end[rows, place + allowed] = -2.0
    return start, end, torch.ones(5, t, dtype=torch.bool), longest


def _uneven_scores(rng):
    """Un comienzo enorme con un fin corriente gana, por poco, a dos que son buenos."""
    start, end = -9 + 0.1 * _randn(rng, 2, 3, 9)
    start[:, 2], end[:, 3] = 9.0, 0.0
    start[:, 5], end[:, 6] = 4.0, 4.0
    return start, end, torch.ones(3, 9, dtype=torch.bool), 2


def _best(total, allowed, *scored):
    place = total.masked_fill(~allowed, -torch.inf).flatten(1).argmax(-1)
    t = total.shape[-1]
    return torch.stack((place // t, place % t), -1)


@combinable
def _span_with(
    *,
    read=lambda scores, candidates: scores,
    score=lambda start, end: start[:, :, None] + end[:, None, :],
    order=lambda i, j: j >= i,
    near=lambda i, j, longest: (j - i).abs() < longest,
    inside=lambda candidates: candidates[:, :, None] & candidates[:, None, :],
    pick=_best,
    after=lambda spans, total: spans,
):
    """El mejor tramo por pasos: cuánto puntúa cada par, cuáles se permiten y cuál se elige."""

    def implementation(start, end, candidates, longest):
        start, end = (read(scores, candidates) for scores in (start, end))
        total, t = score(start, end), start.shape[1]
        i, j = torch.arange(t)[:, None], torch.arange(t)
        allowed = order(i, j) & near(i, j, longest) & inside(candidates)
        return after(pick(total, allowed.expand_as(total), start, end), total)

    return implementation


def _either(*inputs):
    return torch.tensor(True)


def _by_itself(scores, allowed):
    """El mejor comienzo, o el mejor fin, de los que están en algún par permitido."""
    return scores.masked_fill(~allowed, -torch.inf).argmax(-1)


def _start_then_end(total, allowed, start, end):
    first = _by_itself(start, allowed.any(2))
    return torch.stack((first, _by_itself(end, allowed[torch.arange(len(first)), first])), -1)


def _end_then_start(total, allowed, start, end):
    last = _by_itself(end, allowed.any(1))
    return torch.stack((_by_itself(start, allowed[torch.arange(len(last)), :, last]), last), -1)


def _filled_with_zeros(total, allowed, *scored):
    return _best(total * allowed, torch.ones_like(allowed))


def _nothing_below_zero(total, allowed, *scored):
    """La mejor puntuación se busca desde 0: si todas son negativas, queda el primer token."""
    some = (allowed & (total > 0)).flatten(1).any(-1, keepdim=True)
    return _best(total, allowed) * some


def _scores_of_the_best(spans, total):
    return total[torch.arange(len(spans)), spans[:, 0], spans[:, 1]]


BEST_SPAN = Exercise(
    name="bert.best_span",
    answers=("course_lib.models.bert.fine_tuning.best_spans",),
    points=2,
    reference=_library_spans,
    cases=_span_cases,
    call=_span_call,
    misconceptions=(
        Misconception(
            "independent",
            _span_with(order=_either, near=_either, inside=_either),
            "eliges el comienzo y el fin por separado, y en cualquier token: el fin puede caer "
            "antes del comienzo, o fuera del texto",
        ),
        Misconception(
            "independent_inside",
            _span_with(order=_either, near=_either),
            "eliges el comienzo y el fin por separado: el fin puede caer antes del comienzo, o "
            "demasiado lejos. Se elige el par",
        ),
        Misconception(
            "sorted_ends",
            _span_with(
                order=_either, near=_either, after=lambda spans, total: spans.sort(-1).values
            ),
            "si el fin cae antes del comienzo, los intercambias: nadie dijo que ahí se pudiera "
            "empezar, y el tramo puede ser demasiado largo",
        ),
        Misconception(
            "start_then_end",
            _span_with(pick=_start_then_end),
            "eliges el mejor comienzo y después el mejor fin para él: el mejor par puede empezar "
            "en otro lugar",
        ),
        Misconception(
            "end_then_start",
            _span_with(pick=_end_then_start),
            "eliges el mejor fin y después el mejor comienzo para él: el mejor par puede terminar "
            "en otro lugar",
        ),
        Misconception(
            "any_length",
            _span_with(near=_either),
            "no limitas el largo del tramo",
        ),
        Misconception(
            "one_longer",
            _span_with(near=lambda i, j, longest: (j - i).abs() <= longest),
            "permites un tramo con un token de más: el de i a j mide uno más que su resta",
        ),
        Misconception(
            "one_shorter",
            _span_with(near=lambda i, j, longest: (j - i).abs() < longest - 1),
            "prohíbes los tramos del largo máximo, que se permiten: el de i a j mide uno más que "
            "su resta",
        ),
        Misconception(
            "at_least_two",
            _span_with(order=lambda i, j: j > i),
            "no permites tramos de un solo token",
        ),
        Misconception(
            "backwards",
            _span_with(order=lambda i, j: j <= i),
            "permites los tramos al revés, con el fin antes del comienzo, y no los buenos",
        ),
        Misconception(
            "any_order",
            _span_with(order=_either),
            "permites que el fin caiga antes del comienzo",
        ),
        Misconception(
            "any_order_any_length",
            _span_with(order=_either, near=lambda i, j, longest: j > i - longest),
            "permites que el fin caiga antes del comienzo, y no limitas el largo hacia delante",
        ),
        Misconception(
            "anywhere",
            _span_with(inside=_either),
            "buscas la respuesta en todos los tokens, también en la pregunta y el relleno: solo "
            "valen los candidatos",
        ),
        Misconception(
            "only_the_order",
            _span_with(near=_either, inside=_either),
            "faltan dos límites: el del largo y el de los candidatos",
        ),
        Misconception(
            "start_anywhere",
            _span_with(inside=lambda candidates: candidates[:, None, :]),
            "el comienzo puede caer fuera de los candidatos: miras solo el fin",
        ),
        Misconception(
            "end_anywhere",
            _span_with(inside=lambda candidates: candidates[:, :, None]),
            "el fin puede caer fuera de los candidatos: miras solo el comienzo",
        ),
        Misconception(
            "candidates_inverted",
            _span_with(inside=lambda candidates: ~candidates[:, :, None] & ~candidates[:, None, :]),
            "buscas la respuesta donde no puede estar: la máscara vale True donde sí",
        ),
        Misconception(
            "filled_with_zeros",
            _span_with(pick=_filled_with_zeros),
            "multiplicas los pares prohibidos por 0, y un 0 gana a cualquier puntuación negativa",
        ),
        Misconception(
            "nothing_below_zero",
            _span_with(pick=_nothing_below_zero),
            "la mejor puntuación que llevas empieza en 0, y así ninguna negativa la supera nunca",
        ),
        Misconception(
            "zeros_outside_the_text",
            _span_with(read=lambda scores, candidates: scores * candidates, inside=_either),
            "pones a 0 las puntuaciones de fuera del texto, y un 0 gana a cualquier puntuación "
            "negativa",
        ),
        Misconception(
            "product",
            _span_with(score=lambda start, end: start[:, :, None] * end[:, None, :]),
            "multiplicas las puntuaciones: son logaritmos sin normalizar, y se suman. Dos muy "
            "negativas darían un producto grande",
        ),
        Misconception(
            "only_the_start",
            _span_with(
                score=lambda start, end: start[:, :, None].expand(*start.shape, end.shape[1])
            ),
            "solo cuenta la puntuación del comienzo: falta la del fin",
        ),
        Misconception(
            "only_the_end",
            _span_with(score=lambda start, end: end[:, None, :].expand(*start.shape, end.shape[1])),
            "solo cuenta la puntuación del fin: falta la del comienzo",
        ),
        Misconception(
            "end_minus_start",
            _span_with(score=lambda start, end: end[:, None, :] - start[:, :, None]),
            "restas las puntuaciones: un buen comienzo suma",
        ),
        Misconception(
            "start_minus_end",
            _span_with(score=lambda start, end: start[:, :, None] - end[:, None, :]),
            "restas las puntuaciones: un buen fin suma",
        ),
        Misconception(
            "probability_sum",
            _span_with(read=lambda scores, candidates: scores.softmax(-1)),
            "pasas las puntuaciones a probabilidades, y esas se multiplican; las que se suman son "
            "las puntuaciones, que son logaritmos",
        ),
        Misconception(
            "worst",
            _span_with(read=lambda scores, candidates: -scores),
            "eliges el tramo que menos puntúa",
        ),
        Misconception(
            "end_then_start_returned",
            _span_with(after=lambda spans, total: spans.flip(-1)),
            "devuelves el fin y el comienzo; van al revés",
        ),
        Misconception(
            "end_not_included",
            _span_with(after=lambda spans, total: spans + torch.tensor([0, 1])),
            "devuelves el fin como en un corte de Python, que no lo incluye; se pide el último "
            "token del tramo",
        ),
        Misconception(
            "start_and_length",
            _span_with(after=lambda spans, total: spans @ torch.tensor([[1, -1], [0, 1]])),
            "devuelves el comienzo y cuántos tokens hay hasta el fin; se piden las dos posiciones",
        ),
        Misconception(
            "places_in_the_table",
            _span_with(after=lambda spans, total: spans[:, 0] * total.shape[-1] + spans[:, 1]),
            "devuelves el lugar del par en la tabla puesta en una fila; falta volver al comienzo y "
            "al fin",
        ),
        Misconception(
            "scores",
            _span_with(after=_scores_of_the_best),
            "devuelves cuánto puntúa el mejor tramo; se pide cuál es",
        ),
        Misconception(
            "of_the_first_example",
            _span_with(after=lambda spans, total: spans[:1].expand_as(spans)),
            "das a todos los ejemplos el tramo del primero",
        ),
        Misconception(
            "transposed",
            _span_with(after=lambda spans, total: spans.T),
            "la forma está transpuesta: una fila por ejemplo",
        ),
    ),
)


# 10 · Una etiqueta por palabra

SPECIAL = ("[CLS]", "[SEP]", "[PAD]")


def _labels(pieces, tags):
    waiting = iter(tags)
    return [
        IGNORED if piece in SPECIAL or piece.startswith("##") else next(waiting) for piece in pieces
    ]


_WORDS = (
    ("la",),
    ("cebolla",),
    ("re", "##mueve"),
    ("ma", "##sa"),
    ("a", "##jon", "##jo", "##lí"),
    ("[UNK]",),
    ("#",),
    ("horno",),
)


def _labels_cases(rng):
    cases = []
    for padding in (0, 3, 2):
        order = torch.randperm(len(_WORDS), generator=rng).tolist()
        words = [_WORDS[i] for i in order]
        if padding == 2:  # la última palabra también puede estar partida, y repetida
            words = [_WORDS[2], *words[:3], _WORDS[2]]
        pieces = ["[CLS]", *(piece for word in words for piece in word), "[SEP]"]
        tags = _integers(rng, 1, 9, len(words)).tolist()
        tags[1] = 0  # una etiqueta como otra
        tags[-1] = 1 + tags[0] % 9  # otra, aunque la palabra sea la misma
        cases.append((pieces + ["[PAD]"] * padding, tags))
    return cases


def _labels_call(student, pieces, tags):
    where = " ".join(pieces)
    return {where: direct_call(student, pieces, tags)}


def _by_number(tags):
    """La etiqueta que sigue, con un número de palabra que avanza."""
    word = itertools.count()
    return lambda place, piece: tags[next(word)]


def _by_iterator(tags):
    waiting = iter(tags)
    return lambda place, piece: next(waiting)


def _by_place(tags):
    """La etiqueta del mismo lugar que el trozo; [CLS] ocupa el primero."""
    return lambda place, piece: tags[place - 1] if place <= len(tags) else IGNORED


def _of_the_first_time(tags):
    """La etiqueta que sigue, salvo si la palabra ya salió: entonces, la de aquella vez."""
    following, known = _by_number(tags), {}
    return lambda place, piece: known.setdefault(piece, following(place, piece))


@combinable
def _labels_with(
    *,
    special=lambda piece: piece in SPECIAL,
    continues=lambda piece: piece.startswith("##"),
    take=_by_number,
    at_special=lambda piece, tag: IGNORED,
    at_word=lambda tag, goes_on: tag,
    at_piece=lambda tag, goes_on: IGNORED,
    after=lambda labels: labels,
):
    """Las etiquetas por pasos: qué es cada trozo, cuál le toca y qué se pone en él."""

    def implementation(pieces, tags):
        following, tag, labels = take(tags), 0, []
        for place, (piece, then) in enumerate(zip(pieces, [*pieces[1:], ""], strict=True)):
            goes_on = continues(then)
            if special(piece):
                labels.append(at_special(piece, tag))
            elif continues(piece):
                labels.append(at_piece(tag, goes_on))
            else:
                tag = following(place, piece)
                labels.append(at_word(tag, goes_on))
        return after(labels)

    return implementation


def _ignored_as(number):
    """Marca con otro número lo que no cuenta."""
    return _labels_with(after=lambda labels: [number if x == IGNORED else x for x in labels])


def _if_it_ends(tag, goes_on):
    return IGNORED if goes_on else tag


def _not_skipping_class(pieces, tags):
    return [*tags, *[IGNORED] * (len(pieces) - len(tags))]


def _after_class(pieces, tags):
    return [IGNORED, *tags, *[IGNORED] * (len(pieces) - len(tags) - 1)]


TAGS = Exercise(
    name="bert.piece_labels",
    points=1,
    reference=_labels,
    cases=_labels_cases,
    call=_labels_call,
    misconceptions=(
        Misconception(
            "on_every_piece",
            _labels_with(at_piece=lambda tag, goes_on: tag),
            "pones la etiqueta también en los trozos que continúan palabra: una partida en cuatro "
            "contaría cuatro veces",
        ),
        Misconception(
            "on_the_last_piece",
            _labels_with(at_word=_if_it_ends, at_piece=_if_it_ends),
            "pones la etiqueta en el último trozo de cada palabra; va en el primero",
        ),
        Misconception(
            "only_whole_words",
            _labels_with(at_word=_if_it_ends),
            "el primer trozo de una palabra partida se queda sin etiqueta, y es el que la lleva",
        ),
        Misconception(
            "zero_on_pieces",
            _labels_with(at_piece=lambda tag, goes_on: 0),
            "pones 0 en los trozos que continúan palabra, y 0 es una etiqueta como otra",
        ),
        Misconception(
            "zero_on_specials",
            _labels_with(at_special=lambda piece, tag: 0),
            "pones 0 en los tokens especiales, y 0 es una etiqueta como otra",
        ),
        Misconception(
            "zero",
            _ignored_as(0),
            "marcas con 0 lo que no cuenta, y 0 es una etiqueta como otra",
        ),
        Misconception(
            "zero_on_padding",
            _labels_with(at_special=lambda piece, tag: 0 if piece == "[PAD]" else IGNORED),
            "pones 0 en el relleno, y 0 es una etiqueta como otra",
        ),
        Misconception(
            "minus_one",
            _ignored_as(-1),
            "marcas con −1 lo que no cuenta; el enunciado, como torch, usa −100",
        ),
        Misconception(
            "hundred",
            _ignored_as(100),
            "el número de lo que no cuenta es negativo: 100 podría ser una etiqueta",
        ),
        Misconception(
            "none",
            _ignored_as(None),
            "marcas con None lo que no cuenta: con None no se puede hacer un tensor. Es −100",
        ),
        Misconception(
            "specials_repeat",
            _labels_with(at_special=lambda piece, tag: tag),
            "en los tokens especiales repites la etiqueta anterior: no son de ninguna palabra",
        ),
        Misconception(
            "unknown_is_special",
            _labels_with(special=lambda piece: piece.startswith("[")),
            "tratas [UNK] como un token especial: es una palabra, aunque no esté en el "
            "vocabulario, y tiene su etiqueta",
        ),
        Misconception(
            "one_hash",
            _labels_with(continues=lambda piece: piece.startswith("#")),
            "el signo # suelto es una palabra: lo que continúa una empieza con dos",
        ),
        Misconception(
            "padding_not_special",
            _labels_with(special=lambda piece: piece in ("[CLS]", "[SEP]")),
            "el relleno gasta etiquetas que no hay: tampoco es de ninguna palabra",
            raises=IndexError,
        ),
        Misconception(
            "padding_not_special_with_next",
            _labels_with(special=lambda piece: piece in ("[CLS]", "[SEP]"), take=_by_iterator),
            "pides con `next` más etiquetas de las que hay: el relleno tampoco es de ninguna "
            "palabra",
            raises=StopIteration,
        ),
        Misconception(
            "every_piece_takes_one",
            _labels_with(continues=lambda piece: False),
            "hay una etiqueta por palabra, y también las gastan otros tokens: ¿cuáles?",
            raises=IndexError,
        ),
        Misconception(
            "every_piece_takes_one_with_next",
            _labels_with(continues=lambda piece: False, take=_by_iterator),
            "pides con `next` más etiquetas de las que hay, y hay una por palabra: ¿qué otros "
            "tokens las están gastando?",
            raises=StopIteration,
        ),
        Misconception(
            "not_skipping_class",
            _not_skipping_class,
            "pones las etiquetas seguidas desde el principio, sin mirar los tokens: la primera cae "
            "en [CLS]",
        ),
        Misconception(
            "after_class",
            _after_class,
            "pones las etiquetas seguidas después de [CLS], y a partir de la primera palabra "
            "partida van corridas",
        ),
        Misconception(
            "by_place",
            _labels_with(take=_by_place),
            "buscas la etiqueta con el lugar del token, y a partir de la primera palabra partida "
            "es la de otra: el lugar que cuenta es el de la palabra",
        ),
        Misconception(
            "of_the_first_time",
            _labels_with(take=_of_the_first_time),
            "una palabra que se repite se lleva la etiqueta de la primera vez: lleva la cuenta de "
            "las palabras, en lugar de buscar cuál es",
        ),
        Misconception(
            "zero_is_not_empty",
            _labels_with(at_word=lambda tag, goes_on: tag or IGNORED),
            "la etiqueta 0 se vuelve −100: para Python 0 es falso, y un `or` o un `if` lo toman "
            "por vacío",
        ),
        Misconception(
            "without_ignored",
            _labels_with(after=lambda labels: [x for x in labels if x != IGNORED]),
            "quitas lo que no cuenta, y la lista ya no casa con los tokens: hace falta una "
            "etiqueta por token, aunque sea −100",
        ),
        Misconception(
            "empties_the_tags",
            _labels_with(take=lambda tags: lambda place, piece: tags.pop(0)),
            "vacías la lista de etiquetas que te dieron: recorre la lista sin quitarle nada",
        ),
    ),
)


# 11 · Qué capa usar

RECIPES = ("last", "second_to_last", "sum", "last_four")


def _features(hidden, recipe):
    if recipe == "last":
        return hidden[-1]
    if recipe == "second_to_last":
        return hidden[-2]
    if recipe == "sum":
        return torch.stack(hidden[1:]).sum(0)
    return torch.cat(hidden[-4:], dim=-1)


def _features_cases(rng):
    def states(layers, batch, t, d):
        return [_randn(rng, batch, t, d) for _ in range(layers + 1)]

    sizes = ((4, 2, 3, 4), (6, 3, 2, 5))
    return [(states(*size), recipe) for size in sizes for recipe in RECIPES]


@combinable
def _features_with(
    *,
    last=lambda hidden: hidden[-1],
    second_to_last=lambda hidden: hidden[-2],
    summed=lambda hidden: hidden[1:],
    add=lambda layers: torch.stack(layers).sum(0),
    four=lambda hidden: hidden[-4:],
    join=lambda layers: torch.cat(layers, -1),
    after=lambda out: out,
):
    """Las cuatro recetas: qué capas toma cada una, y cómo las junta."""
    recipes = {
        "last": last,
        "second_to_last": second_to_last,
        "sum": lambda hidden: add(summed(hidden)),
        "last_four": lambda hidden: join(four(hidden)),
    }
    return lambda hidden, recipe: after(recipes[recipe](hidden))


FEATURES = Exercise(
    name="bert.features",
    points=1,
    reference=_features,
    cases=_features_cases,
    gradient=True,
    misconceptions=(
        Misconception(
            "from_the_bottom",
            _features_with(
                last=lambda hidden: hidden[0],
                second_to_last=lambda hidden: hidden[1],
                four=lambda hidden: hidden[:4],
            ),
            "cuentas desde abajo: la lista empieza con las incrustaciones, y la última capa es la "
            "del final",
        ),
        Misconception(
            "last_is_the_embeddings",
            _features_with(last=lambda hidden: hidden[0]),
            "lo que das como última capa son las incrustaciones: la última está al final",
        ),
        Misconception(
            "second_from_the_bottom",
            _features_with(second_to_last=lambda hidden: hidden[1]),
            "lo que das como penúltima capa es la primera: se cuenta desde el final",
        ),
        Misconception(
            "second_to_last_is_the_third",
            _features_with(second_to_last=lambda hidden: hidden[-3]),
            "la penúltima es la que va justo antes de la última; das la anterior",
        ),
        Misconception(
            "second_to_last_is_the_last",
            _features_with(second_to_last=lambda hidden: hidden[-1]),
            "das la última capa como penúltima",
        ),
        Misconception(
            "embeddings_in_the_sum",
            _features_with(summed=lambda hidden: hidden),
            "en la suma entran también las incrustaciones: la primera de la lista no es la salida "
            "de ningún bloque",
        ),
        Misconception(
            "last_not_in_the_sum",
            _features_with(summed=lambda hidden: hidden[1:-1]),
            "en la suma falta la última capa: un corte que termina en −1 la deja fuera",
        ),
        Misconception(
            "sum_of_all_but_the_last",
            _features_with(summed=lambda hidden: hidden[:-1]),
            "en la suma entran las incrustaciones y falta la última capa",
        ),
        Misconception(
            "first_block_not_in_the_sum",
            _features_with(summed=lambda hidden: hidden[2:]),
            "en la suma falta el primer bloque: en la lista va justo después de las incrustaciones",
        ),
        Misconception(
            "sum_of_four",
            _features_with(summed=lambda hidden: hidden[-4:]),
            "en `sum` tomas solo las cuatro últimas capas; es la suma de todas",
        ),
        Misconception(
            "sum_over_the_sequence",
            _features_with(add=lambda layers: sum(layer.sum(1) for layer in layers)),
            "sumas también a lo largo de la secuencia: se suman las capas, token a token",
        ),
        Misconception(
            "mean",
            _features_with(add=lambda layers: torch.stack(layers).mean(0)),
            "en `sum` das la media de las capas; se pide la suma",
        ),
        Misconception(
            "all_concatenated",
            _features_with(four=lambda hidden: hidden[1:]),
            "en `last_four` tomas todas las capas; son las cuatro últimas",
        ),
        Misconception(
            "first_four",
            _features_with(four=lambda hidden: hidden[:4]),
            "en `last_four` tomas los cuatro primeros tensores, que empiezan con las "
            "incrustaciones; son los cuatro últimos",
        ),
        Misconception(
            "first_four_blocks",
            _features_with(four=lambda hidden: hidden[1:5]),
            "en `last_four` tomas las cuatro primeras capas; son las cuatro últimas",
        ),
        Misconception(
            "four_before_the_last",
            _features_with(four=lambda hidden: hidden[-5:-1]),
            "en `last_four` tomas cuatro capas, pero no la última: un corte que termina en −1 la "
            "deja fuera",
        ),
        Misconception(
            "three_last",
            _features_with(four=lambda hidden: hidden[-4:-1]),
            "en `last_four` tomas solo tres capas: un corte que termina en −1 deja fuera la última",
        ),
        Misconception(
            "last_first",
            _features_with(four=lambda hidden: hidden[:-5:-1]),
            "en `last_four` pones las capas en el orden contrario: van de la más baja a la más "
            "alta",
        ),
        Misconception(
            "along_the_sequence",
            _features_with(join=lambda layers: torch.cat(layers, 1)),
            "unes las capas una detrás de otra en la secuencia: cada token se queda con un vector, "
            "cuatro veces más ancho",
        ),
        Misconception(
            "along_the_batch",
            _features_with(join=lambda layers: torch.cat(layers, 0)),
            "unes las capas por el eje del lote: cada token se queda con un vector, cuatro veces "
            "más ancho",
        ),
        Misconception(
            "stacked",
            _features_with(join=lambda layers: torch.stack(layers, -2)),
            "dejas las capas en un eje aparte; se unen en un solo vector por token",
        ),
        Misconception(
            "stacked_first",
            _features_with(join=torch.stack),
            "dejas las capas en un eje nuevo, delante; se unen en un solo vector por token",
        ),
        Misconception(
            "interleaved",
            _features_with(join=lambda layers: torch.stack(layers, -1).flatten(-2)),
            "entrelazas las coordenadas de las capas: van una capa detrás de otra",
        ),
        Misconception(
            "four_summed",
            _features_with(join=sum),
            "en `last_four` sumas las capas; ahí se unen, y el vector sale cuatro veces más ancho",
        ),
        Misconception(
            "detached",
            _features_with(after=torch.detach),
            "el resultado está separado del grafo: no se podría ajustar BERT",
        ),
    ),
)


EXERCISES = (
    JOIN_PAIR,
    EMBEDDINGS,
    PARAMETERS,
    CHOOSE,
    MASKING_BUG,
    PREDICT,
    MASKED_LOSS,
    OPTIONS,
    BEST_SPAN,
    TAGS,
    FEATURES,
)
