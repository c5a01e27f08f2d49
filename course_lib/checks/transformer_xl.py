"""Ejercicios del tema Transformer-XL: memoria, distancias y evaluación, con sus errores frecuentes.

Las referencias de los que tratan de datos, memoria y evaluación se escriben con PyTorch: `checks`
no importa `data` ni `training`. Una prueba las compara con lo que hace la biblioteca.
"""

import math

import torch

from course_lib.judging.exercise import (
    Exercise,
    Misconception,
    Part,
    combinable,
    direct_call,
    no_inputs,
)
from course_lib.primitives.masks import causal_mask
from course_lib.primitives.positions.sinusoids import sinusoidal_positions
from course_lib.primitives.relative_shift import relative_shift

TOLERANCE = 1e-4


def _randn(rng: torch.Generator, *shape: int, scale: float = 1.0) -> torch.Tensor:
    return scale * torch.randn(shape, generator=rng)


def _matrix(rng: torch.Generator, d_in: int, d_out: int) -> torch.Tensor:
    return _randn(rng, d_in, d_out, scale=1.5 / math.sqrt(d_in))


def _integer(rng: torch.Generator, low: int, high: int) -> int:
    """Sortea un entero entre los dos, incluidos."""
    return int(torch.randint(low, high + 1, (1,), generator=rng))


# 1 · Segmentos que se continúan


def _segments(stream, batch_size, length):
    t = (len(stream) - 1) // batch_size
    inputs = stream[: batch_size * t].view(batch_size, t)
    targets = stream[1 : batch_size * t + 1].view(batch_size, t)
    return list(zip(inputs.split(length, 1), targets.split(length, 1), strict=True))


def _segments_call(student, stream, batch_size, length):
    where = f"batch_size={batch_size}, length={length}"
    return {where: direct_call(student, stream, batch_size, length)}


def _segments_cases(rng):
    # El texto se reparte justo con su respuesta final (31 y 21), sin ella (24) o de ninguna manera
    # (38); el último segmento, corto o entero.
    return [
        (torch.randint(1, 90, (n,), generator=rng), batch, length)
        for n, batch, length in ((38, 3, 5), (24, 3, 7), (31, 3, 5), (21, 5, 2))
    ]


def _shifted(stream, size, rows):
    return rows(stream[:size]), rows(stream[1 : size + 1])


def _cut(inputs, targets, length):
    starts = range(0, targets.shape[1], length)
    return [(inputs[:, s : s + length], targets[:, s : s + length]) for s in starts]


@combinable
def _segments_with(
    *,
    text=lambda stream, b: stream,
    width=lambda n, b, L: (n - 1) // b,
    rows=lambda flat, b, t: flat.view(b, t),
    both=_shifted,
    cut=_cut,
    pair=lambda x, y: (x, y),
    give=lambda pairs: pairs,
):
    """El reparto en pasos: `both` hace las filas, `cut` las corta y `pair` une cada segmento."""

    def implementation(stream, batch_size, length):
        stream = text(stream, batch_size)
        t = width(len(stream), batch_size, length)
        inputs, targets = both(stream, batch_size * t, lambda flat: rows(flat, batch_size, t))
        return give([pair(x, y) for x, y in cut(inputs, targets, length)])

    return implementation


def _unguarded(n, b, L):
    return n // b


def _whole_segments(n, b, L):
    return (n - 1) // (b * L) * L


def _not_shifted(stream, size, rows):
    return rows(stream[:size]), rows(stream[:size])


def _rolled(stream, size, rows):
    return rows(stream[:size]), rows(stream[:size]).roll(-1, 1)


def _inner(stream, size, rows):
    return rows(stream[:size])[:, :-1], rows(stream[:size])[:, 1:]


def _one_input_too_many(stream, size, rows):
    inputs, targets = _shifted(stream, size, rows)
    return torch.cat([inputs, targets[:, -1:]], dim=1), targets


def _consecutive(inputs, targets, length):
    shape = -1, len(inputs), length
    return list(zip(inputs.reshape(shape), targets.reshape(shape), strict=True))


SEGMENTS = Exercise(
    name="transformer_xl.segments",
    points=2,
    reference=_segments,
    cases=_segments_cases,
    call=_segments_call,
    misconceptions=(
        Misconception(
            "consecutive_pieces",
            _segments_with(width=_whole_segments, cut=_consecutive),
            "las filas de un mismo segmento son trozos seguidos del texto, y así la fila i del "
            "siguiente no continúa la fila i de este: su memoria sería la de otro lugar. Parte "
            "primero el texto en filas largas y después corta las filas",
        ),
        Misconception(
            "dealt_like_cards",
            _segments_with(rows=lambda flat, b, t: flat.view(t, b).T),
            "repartes los tokens como cartas, uno a cada fila: ninguna fila se puede leer. Cada "
            "una es un tramo seguido del texto",
        ),
        Misconception(
            "no_shift",
            _segments_with(both=_not_shifted),
            "la entrada y la respuesta son lo mismo: en cada posición se responde el token "
            "siguiente",
        ),
        Misconception(
            "swapped",
            _segments_with(pair=lambda x, y: (y, x)),
            "la entrada y la respuesta están intercambiadas: lo que entra va antes que su "
            "respuesta",
        ),
        Misconception(
            "rolled",
            _segments_with(both=_rolled),
            "roll da la vuelta: el último token de cada fila respondería el primero de su misma "
            "fila, que en el texto no viene después",
        ),
        Misconception(
            "rolled_in_the_segment",
            _segments_with(pair=lambda x, y: (x, x.roll(-1, 1))),
            "roll da la vuelta dentro de cada segmento: su último token respondería el primero "
            "del mismo segmento, cuando el que sigue es el primero del próximo",
        ),
        Misconception(
            "answers_in_the_segment",
            _segments_with(
                width=_unguarded, both=_not_shifted, pair=lambda x, y: (x[:, :-1], y[:, 1:])
            ),
            "cortas primero y desplazas después: el último token de cada segmento se queda sin "
            "responder. Su respuesta existe, es el primero del segmento siguiente",
        ),
        Misconception(
            "answers_in_the_row",
            _segments_with(width=_unguarded, both=_inner),
            "el último token de cada fila se queda sin responder; su respuesta existe: es el "
            "primero de la fila siguiente del texto",
        ),
        Misconception(
            "no_room_for_the_last_answer",
            _segments_with(width=_unguarded),
            "¿de cuántos tokens del texto se sabe cuál sigue? Cuando su largo es múltiplo de las "
            "filas, el último no tiene respuesta",
            raises=RuntimeError,
        ),
        Misconception(
            "nothing_dropped",
            _segments_with(
                width=lambda n, b, L: -1, both=lambda s, size, rows: (rows(s[:-1]), rows(s[1:]))
            ),
            "no descartas los tokens que sobran cuando el texto no se reparte justo: quítalos "
            "del final antes de formar las filas",
            raises=RuntimeError,
        ),
        Misconception(
            "dropped_before_shifting",
            _segments_with(width=lambda n, b, L: (n // b * b - 1) // b),
            "recortas el texto a filas enteras y después apartas un token para la última "
            "respuesta, y cada fila pierde uno: apártalo primero",
        ),
        Misconception(
            "last_answer_rolled",
            _segments_with(text=lambda s, b: torch.cat([s, s[:1]])),
            "roll da la vuelta al texto: cuando entra entero, el último token respondería el "
            "primero de todos. Solo puede entrar un token si se sabe cuál le sigue",
        ),
        Misconception(
            "last_answer_invented",
            _segments_with(text=lambda s, b: torch.cat([s, s.new_zeros(1)])),
            "inventas la respuesta del último token, un 0: si no se sabe cuál le sigue, no entra",
        ),
        Misconception(
            "drops_the_last_segment",
            _segments_with(cut=lambda x, y, L: [p for p in _cut(x, y, L) if p[1].shape[1] == L]),
            "descartas el último segmento cuando sale más corto; aquí se conserva, corto",
        ),
        Misconception(
            "rows_of_whole_segments",
            _segments_with(width=_whole_segments),
            "haces las filas de segmentos enteros, y se pierde más texto del necesario: el último "
            "segmento puede ser más corto",
        ),
        Misconception(
            "one_input_too_many",
            _segments_with(both=_one_input_too_many),
            "las filas de entrada llevan un token de más, y se nota cuando el último segmento es "
            "corto: el último de cada fila solo se responde, no entra",
        ),
        Misconception(
            "splits_the_rows",
            _segments_with(cut=lambda x, y, L: zip(x.split(L), y.split(L), strict=True)),
            "split() corta el eje 0 si no se le dice otro: repartes filas en lugar de cortarlas",
        ),
        Misconception(
            "rows_and_columns",
            _segments_with(rows=lambda flat, b, t: flat.view(t, b)),
            "intercambias filas y columnas: son batch_size filas, no batch_size columnas",
        ),
        Misconception(
            "two_lists",
            _segments_with(give=lambda pairs: list(zip(*pairs, strict=True))),
            "devuelves una lista de entradas y otra de respuestas; se pide una lista de pares, uno "
            "por segmento",
        ),
        Misconception(
            "only_inputs",
            _segments_with(give=lambda pairs: [inputs for inputs, _ in pairs]),
            "faltan las respuestas: cada elemento de la lista es un par (entrada, respuesta)",
        ),
        Misconception(
            "time_first",
            _segments_with(give=lambda pairs: [(x.T, y.T) for x, y in pairs]),
            "pones el tiempo delante; en este curso el lote va primero: [filas, tokens]",
        ),
        Misconception(
            "drops_the_beginning",
            _segments_with(text=lambda s, b: s[(len(s) - 1) % b :]),
            "descartas lo que sobra por el principio; se descarta por el final",
        ),
    ),
)


# 2 · La memoria, con dos errores


def _last(states, length):
    return states[:, max(states.shape[1] - length, 0) :]


def _update(states, memory, memory_length):
    return _last(torch.cat([memory, states], dim=1).detach(), memory_length)


def _update_call(student, states, memory, memory_length):
    """Lo que pasa en un modelo: los estados siguen hacia la pérdida, y la memoria se guarda."""
    updated = direct_call(student, states, memory, memory_length)
    return {f"memory_length={memory_length}": updated, "states": 1 * states}


def _update_cases(rng):
    return [
        (_randn(rng, batch, t, d), _randn(rng, batch, m, d), limit)
        for batch, t, m, d, limit in (
            (2, 3, 3, 5, 4),
            (3, 4, 0, 2, 6),  # todavía no se llena
            (3, 5, 3, 4, 2),  # solo caben estados nuevos
            (2, 5, 0, 3, 3),  # el primer segmento ya no cabe entero
            (3, 2, 3, 6, 9),
            (2, 2, 4, 3, 4),
            (2, 3, 1, 2, 0),  # sin memoria
        )
    ]


@combinable
def _update_with(
    *,
    detach=lambda memory, states: (memory.detach(), states.detach()),
    join=lambda memory, states, length: torch.cat([memory, states], dim=1),
    rows=lambda joined: joined,
    keep=_last,
):
    """Separar del grafo, juntar y quedarse con lo último; `rows` cambia qué fila recuerda qué."""

    def implementation(states, memory, memory_length):
        joined = join(*detach(memory, states), memory_length)
        return keep(rows(joined), memory_length)

    return implementation


def _forgetting(memory, states, length):
    return states


def _first(joined, length):
    return joined[:, :length]


def _minus_zero(joined, length):
    return joined[:, -length:]


def _everything(joined, length):
    return joined


def _filled_with_zeros(joined, length):
    missing = max(length - joined.shape[1], 0)
    return _last(torch.nn.functional.pad(joined, (0, 0, missing, 0)), length)


UPDATE_MEMORY = Exercise(
    name="transformer_xl.memory_bug",
    points=1,
    reference=_update,
    cases=_update_cases,
    call=_update_call,
    gradient=True,
    misconceptions=(
        Misconception(
            "keeps_the_first",
            _update_with(keep=_first),
            "conservas los primeros estados, que en el orden del texto son los más antiguos: "
            "interesan los últimos (y mira también el tamaño del grafo)",
        ),
        Misconception(
            "not_detached",
            _update_with(detach=lambda memory, states: (memory, states)),
            "lo que guardas sigue unido al grafo: el gradiente volvería por todos los segmentos "
            "anteriores, y cada uno ocuparía más que el anterior",
        ),
        Misconception(
            "detaches_only_the_states",
            _update_with(detach=lambda memory, states: (memory, states.detach())),
            "separas del grafo los estados nuevos, pero no la memoria que llega: separa el "
            "resultado entero",
        ),
        Misconception(
            "detaches_only_the_memory",
            _update_with(detach=lambda memory, states: (memory.detach(), states)),
            "separas del grafo la memoria vieja, pero no los estados nuevos, que mañana serán "
            "memoria: separa el resultado entero",
        ),
        Misconception(
            "minus_zero",
            _update_with(keep=_minus_zero),
            "con memory_length = 0 el corte [-0:] es [0:], y lo conserva todo. Cuenta desde el "
            "principio cuántos sobran",
        ),
        Misconception(
            "negative_start",
            _update_with(keep=lambda joined, length: joined[:, joined.shape[1] - length :]),
            "cuando aún no se llena, el comienzo del corte sale negativo y Python cuenta desde el "
            "final: se pierden estados. Lo menos que puede sobrar es cero",
        ),
        Misconception(
            "forgets_the_memory",
            _update_with(join=_forgetting),
            "guardas solo los estados nuevos: si la memoria es más larga que el segmento, también "
            "caben los anteriores",
        ),
        Misconception(
            "forgets_the_memory_and_zero",
            _update_with(join=_forgetting, keep=_minus_zero),
            "guardas solo los estados nuevos, y también caben los anteriores si la memoria es más "
            "larga que el segmento. Además, con memory_length = 0 el corte [-0:] lo conserva todo",
        ),
        Misconception(
            "cuts_the_batch",
            _update_with(keep=lambda joined, length: joined[-length:]),
            "cortas el eje 0, y ahí están las filas del lote: las posiciones son el eje 1",
        ),
        Misconception(
            "drops_as_many",
            _update_with(keep=lambda joined, length: joined[:, length:]),
            "quitas memory_length estados del principio; son los que se quedan, no los que sobran",
        ),
        Misconception(
            "first_segment_whole",
            lambda states, memory, length: (
                _update(states, memory, length) if memory.shape[1] else states.detach()
            ),
            "cuando la memoria está vacía guardas el segmento entero, y puede ser más largo que "
            "memory_length: también se corta",
        ),
        Misconception(
            "never_cut",
            _update_with(keep=_everything),
            "falta cortar: la memoria se queda con los últimos memory_length estados",
        ),
        Misconception(
            "states_first",
            _update_with(join=lambda memory, states, length: torch.cat([states, memory], dim=1)),
            "pones lo nuevo delante de lo viejo: la memoria va en el orden del texto, con lo más "
            "reciente al final",
        ),
        Misconception(
            "cuts_before_joining",
            _update_with(
                join=lambda memory, states, length: torch.cat([_last(memory, length), states], 1),
                keep=_everything,
            ),
            "recortas antes de juntar, y con los estados nuevos la memoria vuelve a pasarse de "
            "largo: junta primero",
        ),
        Misconception(
            "filled_with_zeros",
            _update_with(keep=_filled_with_zeros),
            "completas con ceros lo que falta para llenarla, y un cero no es «nada»: sería una "
            "posición más a la que atender. Mientras no se llene, la memoria es más corta",
        ),
        Misconception(
            "one_for_the_batch",
            _update_with(rows=lambda joined: joined[:1].expand_as(joined)),
            "todas las filas reciben la memoria de la primera: cada fila es otro texto, y recuerda "
            "el suyo",
        ),
        Misconception(
            "whole_batch_in_one",
            _update_with(rows=lambda joined: joined.flatten(0, 1).expand(len(joined), -1, -1)),
            "juntas las filas del lote en una sola memoria: cada fila es otro texto, y recuerda "
            "el suyo",
        ),
        Misconception(
            "joined_over_the_batch",
            _update_with(join=lambda memory, states, length: torch.cat([memory, states], dim=0)),
            "unes por el eje 0, el del lote: las posiciones son el eje 1",
            raises=RuntimeError,
        ),
        Misconception(
            "joined_over_the_width",
            _update_with(join=lambda memory, states, length: torch.cat([memory, states], dim=2)),
            "unes por el último eje, el ancho: las posiciones son el eje 1",
            raises=RuntimeError,
        ),
        Misconception(
            "detaches_in_place",
            _update_with(detach=lambda memory, states: (memory.detach_(), states.detach_())),
            "detach_(), con guion bajo, separa también los estados de quien llama, y la capa "
            "siguiente se quedaría sin gradiente: detach() da otro tensor",
        ),
    ),
)


# 3 · Hasta dónde llega


def _first_seen(position, num_layers, memory_length, segment_length):
    for _ in range(num_layers):
        start = position // segment_length * segment_length
        position = max(start - memory_length, 0)
    return position


def _first_seen_call(student, position, num_layers, memory_length, segment_length):
    where = f"position={position}, num_layers={num_layers}"
    where += f", memory_length={memory_length}, segment_length={segment_length}"
    arguments = position, num_layers, memory_length, segment_length
    return {where: direct_call(student, *arguments)}


def _first_seen_cases(rng):
    chosen = [(29, 2, 4, 4), (29, 3, 2, 4), (40, 2, 6, 4), (23, 1, 0, 5), (31, 1, 5, 4)]
    # Unos segmentos más adelante, la respuesta está otros tantos más adelante.
    cases = [(p + _integer(rng, 0, 9) * length, n, m, length) for p, n, m, length in chosen]
    cases.append((11, 2, 8, 4))
    for _ in range(4):
        m, length = _integer(rng, 3, 9), _integer(rng, 3, 8)
        cases.append((_integer(rng, 60, 90), _integer(rng, 2, 4), m, length))
    return [*cases, (_integer(rng, 5, 9), 4, 5, 3)]


@combinable
def _first_seen_with(
    *,
    begin=lambda p, L: p,
    layers=lambda N: N,
    start=lambda p, m, L: p // L * L,
    back=lambda m, L: m,
    clamp=lambda p: max(p, 0),
    answer=lambda first, p: first,
):
    """En cada capa, al comienzo del segmento y desde ahí atrás; al final, nunca antes del texto."""

    def implementation(position, num_layers, memory_length, segment_length):
        first = begin(position, segment_length)
        for _ in range(layers(num_layers)):
            first = start(first, memory_length, segment_length)
            first -= back(memory_length, segment_length)
        return answer(clamp(first), position)

    return implementation


def _stays(p, m, L):
    return p


FIRST_SEEN = Exercise(
    name="transformer_xl.first_seen",
    points=1,
    reference=_first_seen,
    cases=_first_seen_cases,
    call=_first_seen_call,
    misconceptions=(
        Misconception(
            "layers_times_memory",
            _first_seen_with(start=_stays),
            "no vas al comienzo del segmento: la memoria empieza antes de él, así que se cuenta "
            "desde ahí",
        ),
        Misconception(
            "only_the_first_start",
            _first_seen_with(begin=lambda p, L: p // L * L, start=_stays),
            "vas al comienzo del segmento una sola vez; cada estado recordado se calculó en su "
            "propio segmento, y también vio desde el comienzo de este, y su memoria",
        ),
        Misconception(
            "one_layer_only",
            _first_seen_with(layers=lambda N: 1),
            "cuentas una sola capa; los estados de la memoria ya habían visto lo anterior a "
            "ellos, y con cada capa se llega más atrás",
        ),
        Misconception(
            "layers_times_segments",
            _first_seen_with(back=lambda m, L: L),
            "retrocedes un segmento por capa: eso es así solo si la memoria mide lo que un "
            "segmento",
        ),
        Misconception(
            "memory_and_segment",
            _first_seen_with(start=_stays, back=lambda m, L: m + L),
            "retrocedes por capa la memoria y un segmento entero; del suyo solo se ve desde el "
            "comienzo, que puede estar más cerca",
        ),
        Misconception(
            "no_memory",
            _first_seen_with(back=lambda m, L: 0),
            "no cuentas la memoria: sin ella no se vería más que su segmento, pero aquí la hay",
        ),
        Misconception(
            "before_the_beginning",
            _first_seen_with(clamp=lambda p: p),
            "llegas antes del comienzo del texto: la primera posición es la 0",
        ),
        Misconception(
            "one_layer_more",
            _first_seen_with(layers=lambda N: N + 1),
            "retrocedes una capa de más",
        ),
        Misconception(
            "one_layer_less",
            _first_seen_with(layers=lambda N: N - 1),
            "retrocedes una capa de menos: la primera también tiene memoria, la de las "
            "incrustaciones",
        ),
        Misconception(
            "memory_of_whole_segments",
            _first_seen_with(back=lambda m, L: -(-m // L) * L),
            "redondeas la memoria a segmentos enteros; si m no es múltiplo de L, lo primero que se "
            "ve está en medio de un segmento",
        ),
        Misconception(
            "one_short_in_each_layer",
            _first_seen_with(back=lambda m, L: m - 1),
            "te quedas corto de una en cada capa: las m posiciones anteriores a c son c − m, …, "
            "c − 1, y la primera es c − m",
        ),
        Misconception(
            "memory_first",
            _first_seen_with(start=lambda p, m, L: (p - m) // L * L, back=lambda m, L: 0),
            "vas atrás m posiciones y después al comienzo de ese segmento; es al revés: primero el "
            "comienzo del segmento, y desde ahí la memoria",
        ),
        Misconception(
            "how_many",
            _first_seen_with(answer=lambda first, p: p - first),
            "das cuántas posiciones hacia atrás; se pide cuál es la primera",
        ),
        Misconception(
            "not_included",
            _first_seen_with(answer=lambda first, p: first - 1),
            "al final te pasas de una: con memoria m se ven las m posiciones anteriores al "
            "segmento, y la primera de ellas está m posiciones antes de su comienzo",
        ),
    ),
)


# 4 · La máscara, con memoria delante


def _visible(length, memory_length):
    return causal_mask(length, memory_length + length)


def _visible_call(student, length, memory_length):
    where = f"length={length}, memory_length={memory_length}"
    return {where: direct_call(student, length, memory_length)}


def _visible_cases(rng):
    longer, equal = _integer(rng, 4, 8), _integer(rng, 3, 8)
    return [
        (longer, _integer(rng, 1, longer - 1)),
        (_integer(rng, 3, 8), 0),
        (1, _integer(rng, 2, 8)),
        (_integer(rng, 2, 4), _integer(rng, 5, 8)),
        (equal, equal),
        (_integer(rng, 3, 6), _integer(rng, 1, 6)),
    ]


@combinable
def _visible_with(
    *,
    rows=lambda t, m: t,
    start=lambda t, m: m,
    edge=0,
    triangle=torch.tril,
    columns=lambda visible, m: visible,
    turn=lambda visible: visible,
    kind=lambda visible: visible,
):
    """Un triángulo corrido: `start` es la columna de la primera consulta, y `edge`, cuánto ve
    después de sí misma; `columns` cambia lo que se ve de la memoria, y `kind`, el tipo.
    """

    def implementation(t, m):
        ones = torch.ones(rows(t, m), m + t, dtype=torch.bool)
        return kind(turn(columns(triangle(ones, start(t, m) + edge), m)))

    return implementation


MASK = Exercise(
    name="transformer_xl.mask",
    answers=("course_lib.primitives.masks.causal_mask",),
    points=1,
    reference=_visible,
    cases=_visible_cases,
    call=_visible_call,
    misconceptions=(
        Misconception(
            "not_moved",
            _visible_with(start=lambda t, m: 0),
            "el triángulo empieza en la primera columna, que ahora es memoria: la primera consulta "
            "está en la columna m, y ve toda la memoria y a sí misma",
        ),
        Misconception(
            "only_the_segment",
            _visible_with(columns=lambda visible, m: visible[:, m:]),
            "faltan las columnas de la memoria, que van delante de las del segmento",
        ),
        Misconception(
            "memory_hidden",
            _visible_with(
                columns=lambda visible, m: visible & (torch.arange(visible.shape[1]) >= m)
            ),
            "ocultas la memoria: es pasado, y todas las consultas la ven entera",
        ),
        Misconception(
            "memory_behind",
            _visible_with(columns=lambda visible, m: visible.roll(-m, 1)),
            "pusiste la memoria detrás del segmento; las claves van en el orden del texto, y la "
            "memoria es lo de antes",
        ),
        Misconception(
            "square",
            _visible_with(rows=lambda t, m: m + t, start=lambda t, m: 0),
            "hay una fila por cada posición de la memoria: esta solo responde. Pregunta el "
            "segmento, t filas",
        ),
        Misconception(
            "transposed",
            _visible_with(turn=lambda visible: visible.T),
            "está transpuesta: una fila por consulta y una columna por clave",
        ),
        Misconception(
            "inverted",
            _visible_with(turn=lambda visible: ~visible),
            "está al revés: en este curso True marca lo visible",
        ),
        Misconception(
            "diagonal_hidden",
            _visible_with(edge=-1),
            "corres la diagonal un lugar de menos: cada posición debe verse a sí misma",
        ),
        Misconception(
            "one_too_many",
            _visible_with(edge=1),
            "corres la diagonal un lugar de más: ninguna posición ve la que le sigue",
        ),
        Misconception(
            "moved_by_the_length",
            _visible_with(start=lambda t, m: t),
            "corres la diagonal tantos lugares como posiciones tiene el segmento; son las que "
            "tiene la memoria",
        ),
        Misconception(
            "moved_the_other_way",
            _visible_with(start=lambda t, m: -m),
            "corres la diagonal hacia el lado contrario: con la memoria delante se ve más, no "
            "menos",
        ),
        Misconception(
            "segment_reversed",
            _visible_with(
                triangle=lambda ones, k: ones.triu(k) | (torch.arange(ones.shape[1]) < k)
            ),
            "dentro del segmento, el triángulo es el contrario: deja ver el futuro y no el pasado",
        ),
        Misconception(
            "everything",
            _visible_with(triangle=lambda ones, k: ones),
            "falta el triángulo: dentro del segmento sigue habiendo futuro",
        ),
        Misconception(
            "only_the_future",
            _visible_with(triangle=torch.triu),
            "usaste el triángulo contrario: cada posición ve su futuro y no su pasado",
        ),
        Misconception(
            "same_length",
            _visible_with(columns=lambda visible, m: visible.triu()),
            "a cada posición le quitas lo más antiguo de la memoria, todo menos sus m "
            "anteriores: así se evalúa a veces, para que todas tengan el mismo contexto, pero "
            "aquí todo el segmento ve la memoria entera",
        ),
        Misconception(
            "additive",
            _visible_with(
                kind=lambda visible: torch.zeros(visible.shape).masked_fill(~visible, -math.inf)
            ),
            "devuelves la máscara aditiva, con 0 y −∞; se pide la booleana, True = visible",
        ),
        Misconception(
            "as_floats",
            _visible_with(kind=torch.Tensor.float),
            "¿falta dtype=bool? Son ceros y unos de punto flotante, y se piden valores lógicos",
        ),
        Misconception(
            "as_numbers",
            _visible_with(kind=torch.Tensor.long),
            "son ceros y unos enteros, y se piden valores lógicos",
        ),
    ),
)


# 5 · El desplazamiento, con su error


def _shift(S):
    return _hide_future(relative_shift(S))


def _future(t, n):
    return torch.ones(t, n, dtype=torch.bool).triu(n - t + 1)


def _hide_future(S, worst=-math.inf, future=_future):
    return S.masked_fill(future(*S.shape[-2:]), worst)


def _shift_cases(rng):
    shapes = (4, 5), (3, 6), (2, 3, 4, 7), (2, 1, 5)
    return [(_randn(rng, *shape),) for shape in shapes]


@combinable
def _shift_with(
    *,
    shift=relative_shift,
    future=_future,
    hide=lambda S, future: S.masked_fill(future, -math.inf),
):
    """Desplazar, decir qué es futuro y ocultarlo."""

    def implementation(S):
        shifted = shift(S)
        return hide(shifted, future(*shifted.shape[-2:]))

    return implementation


def _seen(S, future):
    return S


def _without_memory(t, n):
    return torch.ones(t, n, dtype=torch.bool).triu(1)


def _faulty_shift(S):
    t, n = S.shape[-2], S.shape[-1] - 1
    return S.flatten(-2)[..., t - 1 : -1].unflatten(-1, (t, n))


def _started_late(S):
    t, n = S.shape[-2], S.shape[-1] - 1
    flat = torch.cat([S.flatten(-2), S.new_zeros(*S.shape[:-2], 1)], dim=-1)
    return flat[..., t + 1 :].unflatten(-1, (t, n))


def _surplus_at_the_end(S):
    t, n = S.shape[-2], S.shape[-1] - 1
    return S.flatten(-2)[..., :-t].unflatten(-1, (t, n))


def _flat_whole(S):
    """Aplana también el lote y las cabezas."""
    t, n = S.shape[-2], S.shape[-1] - 1
    return S.reshape(-1)[t:].view(t, n)


def _read_columns(column):
    """Lee, para la consulta i y la clave j, la columna que dé `column(i, j, t, n)`."""

    def implementation(S):
        t, n = S.shape[-2], S.shape[-1] - 1
        columns = column(torch.arange(t)[:, None], torch.arange(n), t, n).expand(t, n)
        return S.gather(-1, columns.clamp(0, n).expand(*S.shape[:-2], t, n))

    return implementation


_reversed = _read_columns(lambda i, j, t, n: n - t + i - j)
_distance_without_memory = _read_columns(lambda i, j, t, n: n - (i - j))


RELATIVE_SHIFT = Exercise(
    name="transformer_xl.shift_bug",
    answers=("course_lib.primitives.relative_shift.relative_shift",),
    points=2,
    reference=_shift,
    cases=_shift_cases,
    misconceptions=(
        Misconception(
            "as_it_was",
            _shift_with(shift=_faulty_shift, hide=_seen),
            "es la función tal como estaba: el desplazamiento está corrido un lugar, y el futuro "
            "queda lleno de números sin sentido",
        ),
        Misconception(
            "shifted_by_one",
            _shift_with(shift=_faulty_shift),
            "todo sigue corrido un lugar: mira qué distancia recibe cada posición consigo misma",
        ),
        Misconception(
            "garbage",
            _shift_with(hide=_seen),
            "falta ocultar el futuro: sobre la diagonal quedan números sin sentido, y el "
            "softmax les daría peso",
        ),
        Misconception(
            "shifted_by_one_the_other_way",
            _shift_with(shift=_started_late),
            "te pasaste: todo está corrido un lugar hacia el otro lado. De una posición a sí misma "
            "hay distancia 0, la última columna",
        ),
        Misconception(
            "one_nearer",
            _shift_with(shift=_read_columns(lambda i, j, t, n: t - i + j + 1)),
            "cada clave recibe la puntuación de una distancia menos que la suya: la última columna "
            "es la distancia 0, y la primera, la t_k",
        ),
        Misconception(
            "surplus_at_the_end",
            _shift_with(shift=_surplus_at_the_end),
            "quitas del final los números que sobran, y sobran por el principio: la primera fila "
            "es la que más se corre",
        ),
        Misconception(
            "flattens_everything",
            _shift_with(shift=_flat_whole),
            "con ejes delante, lote o cabezas, las mezclas: une solo los dos últimos, flatten(-2)",
            raises=RuntimeError,
        ),
        Misconception(
            "hides_itself",
            _shift_with(future=lambda t, n: torch.ones(t, n, dtype=torch.bool).triu(n - t)),
            "la máscara tapa una diagonal de más, la de cada posición consigo misma: la distancia "
            "0 se ve",
        ),
        Misconception(
            "times_infinity",
            _shift_with(hide=lambda S, future: S - future.float() * math.inf),
            "multiplicas la máscara por −∞, y 0 · ∞ es NaN: usa masked_fill() o where()",
        ),
        Misconception(
            "not_shifted",
            _shift_with(shift=lambda S: S[..., 1:]),
            "no desplazas nada: cada fila empieza en otro lugar, y la misma columna es otra "
            "distancia para cada consulta",
        ),
        Misconception(
            "cut_at_the_end",
            _shift_with(shift=lambda S: S[..., :-1]),
            "quitas la última columna, que es la distancia 0, y no desplazas nada",
        ),
        Misconception(
            "not_shifted_nor_hidden",
            _shift_with(shift=lambda S: S[..., 1:], hide=_seen),
            "solo quitas una columna: cada fila debe correrse otro tanto, y el futuro, ocultarse",
        ),
        Misconception(
            "reversed",
            _shift_with(shift=_reversed),
            "lees las columnas al revés: la distancia 0 es la última, y la mayor, la primera",
        ),
        Misconception(
            "reversed_with_garbage",
            _shift_with(shift=_reversed, hide=_seen),
            "lees las columnas al revés (la distancia 0 es la última) y falta ocultar el futuro",
        ),
        Misconception(
            "shifted_by_the_row",
            _shift_with(shift=_read_columns(lambda i, j, t, n: j + i + 1)),
            "corres más las últimas filas que las primeras, y es al revés: la última consulta, que "
            "ve todas las claves, es la que menos se corre",
        ),
        Misconception(
            "to_the_right",
            _shift_with(shift=_read_columns(lambda i, j, t, n: (j + 1 - (t - 1 - i)) % (n + 1))),
            "corres las filas hacia la derecha, y van hacia la izquierda: la primera consulta ve "
            "menos claves, así que le sobran las distancias grandes, las primeras columnas",
        ),
        Misconception(
            "distance_without_memory",
            _shift_with(shift=_distance_without_memory),
            "cuentas la distancia sin la memoria: la consulta i es la posición m + i de las claves",
        ),
        Misconception(
            "mask_without_memory",
            _shift_with(future=_without_memory),
            "la máscara no cuenta con la memoria, y oculta también pasado",
        ),
        Misconception(
            "hides_with_zero",
            _shift_with(hide=lambda S, future: S.masked_fill(future, 0.0)),
            "pones 0 en el futuro, y para el softmax un 0 es una puntuación como otra: hace falta "
            "−∞",
        ),
        Misconception(
            "hides_with_a_number",
            _shift_with(hide=lambda S, future: S.masked_fill(future, -1e9)),
            "en el futuro pones un número muy negativo, y se pide −∞",
        ),
        Misconception(
            "hides_the_past",
            _shift_with(future=causal_mask),
            "ocultas el pasado y dejas el futuro: la máscara está al revés",
        ),
    ),
)


# 6 · Los cuatro términos


def _scores(X, memory, R, W_q, W_k, W_r, u, v):
    Q, K = X @ W_q, torch.cat([memory, X], dim=1) @ W_k
    S = (Q + u) @ K.mT + relative_shift((Q + v) @ (R @ W_r).mT)
    return _hide_future(S / math.sqrt(K.shape[-1]))


def _far_to_near(n, d):
    """Las codificaciones de las distancias n, …, 0, una por fila."""
    return sinusoidal_positions(n + 1, d).flip(0)


def _scores_call(student, which, *inputs):
    return {which: direct_call(student, *inputs)}


def _scores_cases(rng):
    """Cada término a solas, con ceros en los otros tres, y después los cuatro."""
    alone = (
        ("el término Q Kᵀ, a solas", ("W_r", "u", "v")),
        ("el término Q rᵀ, a solas", ("W_k", "u", "v")),
        ("el término u Kᵀ, a solas", ("W_q", "W_r", "v")),
        ("el término v rᵀ, a solas", ("W_q", "W_k", "u")),
    )
    cases = [(which, *_scores_inputs(rng, 2, 3, 2, 4, 4, without)) for which, without in alone]
    sizes = (3, 4, 2, 6, 3), (2, 3, 0, 4, 4)
    return cases + [("los cuatro términos", *_scores_inputs(rng, *size)) for size in sizes]


def _scores_inputs(rng, batch, t, m, d, d_k, without=()):
    parameters = {name: _matrix(rng, d, d_k) for name in ("W_q", "W_k", "W_r")}
    parameters |= {name: _randn(rng, d_k) for name in ("u", "v")}
    for name in without:
        parameters[name].zero_()
    X, memory = _randn(rng, batch, t, d), _randn(rng, batch, m, d)
    return X, memory, _far_to_near(m + t, d), *parameters.values()


def _plus_u(Q, K, u, v):
    return (Q + u) @ K.mT


def _plus_v(Q, K, u, v):
    return (Q + v) @ K.mT


def _plus_both(Q, K, u, v):
    return (Q + u + v) @ K.mT


def _alone(Q, K, u, v):
    return Q @ K.mT


def _nothing(Q, K, u, v):
    return torch.zeros_like(Q @ K.mT)


@combinable
def _scores_with(
    *,
    take=lambda X, memory, R: (X, memory, R),
    keys=lambda X, memory, R: torch.cat([memory, X], dim=1),
    project=lambda R, W_q, W_k, W_r: R @ W_r,
    content=_plus_u,
    distance=_plus_v,
    shift=relative_shift,
    add=lambda content, distance, d, d_k: (content + distance) / math.sqrt(d_k),
    hide=_hide_future,
    after=lambda S: S,
):
    """Los cuatro términos: los dos del contenido (`content`) y los dos de la distancia."""

    def implementation(X, memory, R, W_q, W_k, W_r, u, v):
        X, memory, R = take(X, memory, R)
        Q, K, r = X @ W_q, keys(X, memory, R) @ W_k, project(R, W_q, W_k, W_r)
        S = add(content(Q, K, u, v), shift(distance(Q, r, u, v)), *W_q.shape)
        return after(hide(S))

    return implementation


def _divided(Q):
    return Q / math.sqrt(Q.shape[-1])


def _negated(R):
    """PE(−δ): los senos cambian de signo y los cosenos no."""
    signs = torch.tensor([-1.0, 1.0]).repeat(R.shape[-1] // 2)
    return R * signs


def _v_not_shifted(X, memory, R, W_q, W_k, W_r, u, v):
    Q, K, r = X @ W_q, torch.cat([memory, X], dim=1) @ W_k, R @ W_r
    S = (Q + u) @ K.mT + relative_shift(Q @ r.mT) + (r @ v)[1:]
    return _hide_future(S / math.sqrt(K.shape[-1]))


SCORES = Exercise(
    name="transformer_xl.scores",
    points=2,
    reference=_scores,
    cases=_scores_cases,
    call=_scores_call,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "u_and_v_swapped",
            _scores_with(content=_plus_v, distance=_plus_u),
            "u y v están intercambiados: u mira el contenido, las claves; v, las distancias",
        ),
        Misconception(
            "no_global_terms",
            _scores_with(content=_alone, distance=_alone),
            "faltan los dos términos de u y v: lo que una clave o una distancia valen para "
            "cualquier consulta",
        ),
        Misconception(
            "no_u",
            _scores_with(content=_alone),
            "falta el término de u: lo que una clave atrae por sí misma, pregunte quien pregunte",
        ),
        Misconception(
            "no_v",
            _scores_with(distance=_alone),
            "falta el término de v: lo que una distancia atrae por sí misma, pregunte quien "
            "pregunte",
        ),
        Misconception(
            "u_in_both",
            _scores_with(distance=_plus_u),
            "con las distancias usas u: ahí va v, que se aprende aparte",
        ),
        Misconception(
            "v_in_both",
            _scores_with(content=_plus_v),
            "con las claves usas v: ahí va u, que se aprende aparte",
        ),
        Misconception(
            "both_in_both",
            _scores_with(content=_plus_both, distance=_plus_both),
            "sumas u y v a la misma consulta: cada uno tiene su término, u con las claves y v con "
            "las distancias",
        ),
        Misconception(
            "no_queries",
            _scores_with(
                content=lambda Q, K, u, v: u.expand_as(Q) @ K.mT,
                distance=lambda Q, r, u, v: v.expand_as(Q) @ r.mT,
            ),
            "faltan los dos términos en que pregunta Q: u y v se le suman, no la sustituyen",
        ),
        Misconception(
            "only_content",
            _scores_with(distance=_nothing),
            "faltan los dos términos de la distancia: sin ellos, el orden de las claves da igual",
        ),
        Misconception(
            "only_distance",
            _scores_with(content=_nothing),
            "faltan los dos términos del contenido: así solo importa a qué distancia está cada "
            "clave, no qué dice",
        ),
        Misconception(
            "not_projected",
            _scores_with(project=lambda R, W_q, W_k, W_r: R),
            "usas R sin proyectar: el r de la fórmula es R @ W_r (y si d_k no es d, las formas ni "
            "siquiera concuerdan)",
            raises=RuntimeError,
        ),
        Misconception(
            "projected_like_keys",
            _scores_with(project=lambda R, W_q, W_k, W_r: R @ W_k),
            "proyectas las distancias con la matriz de las claves: tienen la suya, W_r",
        ),
        Misconception(
            "projected_like_queries",
            _scores_with(project=lambda R, W_q, W_k, W_r: R @ W_q),
            "proyectas las distancias con la matriz de las consultas: tienen la suya, W_r",
        ),
        Misconception(
            "distances_reversed",
            _scores_with(take=lambda X, memory, R: (X, memory, R.flip(0))),
            "las distancias van al revés: la última fila de R es la distancia 0, la de cada "
            "posición consigo misma, y lo lejano está al principio",
        ),
        Misconception(
            "opposite_sign",
            _scores_with(take=lambda X, memory, R: (X, memory, _negated(R))),
            "la distancia lleva el signo contrario: es i − j, de la consulta hacia atrás",
        ),
        Misconception(
            "distance_without_memory",
            _scores_with(shift=_distance_without_memory),
            "cuentas la distancia sin la memoria: la consulta i es la posición m + i de las claves",
        ),
        Misconception(
            "not_shifted",
            _scores_with(shift=lambda S: S[..., 1:]),
            "no desplazas el término de las distancias: tiene una columna por distancia, y hace "
            "falta una por clave",
        ),
        Misconception(
            "v_not_shifted",
            _v_not_shifted,
            "desplazas el término Q rᵀ, pero no el de v: los dos salen por distancia, así que "
            "súmalos antes de desplazar",
        ),
        Misconception(
            "no_scale",
            _scores_with(add=lambda content, distance, d, d_k: content + distance),
            "falta dividir por √d_k",
        ),
        Misconception(
            "scale_by_model",
            _scores_with(add=lambda content, distance, d, d_k: (content + distance) / math.sqrt(d)),
            "divides por √d, y es √d_k, el ancho de las consultas",
        ),
        Misconception(
            "scale_without_root",
            _scores_with(add=lambda content, distance, d, d_k: (content + distance) / d_k),
            "divides por d_k, y falta su raíz",
        ),
        Misconception(
            "multiplies",
            _scores_with(
                add=lambda content, distance, d, d_k: (content + distance) * math.sqrt(d_k)
            ),
            "multiplicas por √d_k, y hay que dividir",
        ),
        Misconception(
            "only_distance_scaled",
            _scores_with(add=lambda content, distance, d, d_k: content + distance / math.sqrt(d_k)),
            "divides por √d_k solo el término de las distancias: ¿falta un paréntesis? Se divide "
            "la suma entera",
        ),
        Misconception(
            "only_content_scaled",
            _scores_with(add=lambda content, distance, d, d_k: content / math.sqrt(d_k) + distance),
            "divides por √d_k solo el término del contenido: se divide la suma entera",
        ),
        Misconception(
            "biases_unscaled",
            _scores_with(
                content=lambda Q, K, u, v: (_divided(Q) + u) @ K.mT,
                distance=lambda Q, r, u, v: (_divided(Q) + v) @ r.mT,
                add=lambda content, distance, d, d_k: content + distance,
            ),
            "divides Q antes de sumarle u y v, y sus términos quedan sin dividir: se divide la "
            "suma entera",
        ),
        Misconception(
            "no_memory",
            _scores_with(take=lambda X, memory, R: (X, memory[:, :0], R[memory.shape[1] :])),
            "faltan las claves de la memoria: salen de la memoria y del segmento, en ese orden",
        ),
        Misconception(
            "memory_behind",
            _scores_with(keys=lambda X, memory, R: torch.cat([X, memory], dim=1)),
            "pones la memoria detrás del segmento: es lo que vino antes, así que va delante",
        ),
        Misconception(
            "memory_asks_too",
            _scores_with(
                take=lambda X, memory, R: (torch.cat([memory, X], dim=1), memory[:, :0], R)
            ),
            "la memoria también pregunta: hay filas de más. Las consultas salen solo del segmento",
        ),
        Misconception(
            "biases_in_the_keys",
            _scores_with(
                content=lambda Q, K, u, v: Q @ (K + u).mT,
                distance=lambda Q, r, u, v: Q @ (r + v).mT,
            ),
            "sumas u a las claves y v a las distancias; se suman a la consulta: u Kᵀ y v rᵀ no "
            "dependen de quién pregunta",
        ),
        Misconception(
            "absolute_positions",
            _scores_with(
                keys=lambda X, memory, R: torch.cat([memory, X], dim=1) + R.flip(0)[:-1],
                content=_alone,
                distance=_nothing,
            ),
            "sumas la codificación a las claves, como con las posiciones absolutas; aquí la "
            "distancia tiene sus propios términos",
        ),
        Misconception(
            "future_visible",
            _scores_with(hide=lambda S: S),
            "falta ocultar el futuro: ninguna posición mira las que le siguen",
        ),
        Misconception(
            "hides_with_zero",
            _scores_with(hide=lambda S: _hide_future(S, 0.0)),
            "en el futuro va −∞, y no 0, que para el softmax es una puntuación como otra",
        ),
        Misconception(
            "hides_with_a_number",
            _scores_with(hide=lambda S: _hide_future(S, -1e9)),
            "en el futuro pones un número muy negativo, y se pide −∞",
        ),
        Misconception(
            "hides_the_past",
            _scores_with(hide=lambda S: _hide_future(S, future=causal_mask)),
            "ocultas el pasado y dejas el futuro: la máscara está al revés",
        ),
        Misconception(
            "mask_without_memory",
            _scores_with(hide=lambda S: _hide_future(S, future=_without_memory)),
            "la máscara no cuenta con la memoria, y oculta también pasado",
        ),
        Misconception(
            "weights",
            _scores_with(after=lambda S: torch.softmax(S, dim=-1)),
            "devuelves ya los pesos, después del softmax; se piden las puntuaciones",
        ),
    ),
)


# 7 · Perplejidad por posición


def _perplexity(losses):
    return losses.nanmean(dim=0).exp()


def _perplexity_cases(rng):
    def draw(lengths, t):
        losses = 3 * torch.rand(len(lengths), t, generator=rng) + 0.2
        return losses.masked_fill(torch.arange(t) >= torch.tensor(lengths)[:, None], math.nan)

    return [(draw((6, 4, 2), 6),), (draw((3, 5, 5, 1), 5),), (draw((4, 4), 4),)]


@combinable
def _perplexity_with(*, before=lambda losses: losses, mean=torch.nanmean, dim=0, exp=torch.exp):
    """Lo que se hace antes, qué se promedia y sobre qué eje, y la exponencial."""
    return lambda losses: exp(mean(before(losses), dim=dim))


def _up_to_here(losses, dim):
    return losses.nansum(dim=dim).cumsum(0) / (~losses.isnan()).sum(dim=dim).cumsum(0)


def _unchanged(mean):
    return mean


PERPLEXITY = Exercise(
    name="transformer_xl.perplexity_by_position",
    points=1,
    reference=_perplexity,
    cases=_perplexity_cases,
    misconceptions=(
        Misconception(
            "padding_spreads",
            _perplexity_with(mean=torch.mean),
            "el relleno es NaN, y una media con un NaN es NaN: promedia solo lo que no es relleno",
        ),
        Misconception(
            "padding_is_zero",
            _perplexity_with(before=lambda losses: losses.nan_to_num(0.0)),
            "cambias el relleno por una pérdida 0, la de un acierto seguro, y así también cuenta",
        ),
        Misconception(
            "mean_of_perplexities",
            _perplexity_with(before=torch.exp, exp=_unchanged),
            "aplicas la exponencial a la pérdida de cada token: la media va antes",
        ),
        Misconception(
            "mean_of_perplexities_padding",
            _perplexity_with(before=torch.exp, mean=torch.mean, exp=_unchanged),
            "promedias después de la exponencial, y además el relleno (NaN) entra en la media",
        ),
        Misconception(
            "per_text",
            _perplexity_with(dim=1),
            "das un número por texto; se pide uno por posición: se junta sobre los textos, el "
            "eje 0",
        ),
        Misconception(
            "a_single_number",
            _perplexity_with(dim=None),
            "das un número para todo el lote; se pide uno por posición",
        ),
        Misconception(
            "only_the_loss",
            _perplexity_with(exp=_unchanged),
            "falta la exponencial: das la pérdida",
        ),
        Misconception(
            "in_bits",
            _perplexity_with(exp=torch.exp2),
            "elevas 2 a la pérdida, y la base es e: estas pérdidas usan el logaritmo natural",
        ),
        Misconception(
            "sum",
            _perplexity_with(mean=torch.nansum),
            "sumas las pérdidas en lugar de promediarlas: crecería con el número de textos",
        ),
        Misconception(
            "wrong_sign",
            _perplexity_with(exp=lambda mean: (-mean).exp()),
            "cambias el signo: eso da una probabilidad, y la perplejidad es su inversa",
        ),
        Misconception(
            "up_to_here",
            _perplexity_with(mean=_up_to_here),
            "acumulas desde el comienzo; en cada posición cuentan solo sus pérdidas",
        ),
        Misconception(
            "only_the_complete",
            _perplexity_with(before=lambda losses: losses[~losses.isnan().any(dim=1)]),
            "descartas los textos con relleno; las posiciones que sí tienen también cuentan",
        ),
    ),
)


# 8 · Lo que cuesta evaluar


def _table(queries, keys):
    return queries * keys


def _visible(queries, keys):
    """Las puntuaciones que deja ver la máscara causal: a la última consulta, todas sus claves."""
    return queries * keys - queries * (queries - 1) // 2


@combinable
def _cost_with(
    *,
    window_queries=640,
    window_keys=640,
    window_scores=_table,
    window_predicts=1,
    memory_queries=128,
    memory_keys=640,
    memory_scores=_table,
    memory_predicts=128,
    tokens=1,
    order=lambda window, memory: [window, memory],
):
    """De cada manera: quién pregunta, quién responde y cuántos tokens se predicen con su tabla."""
    window = tokens * window_scores(window_queries, window_keys) / window_predicts
    memory = tokens * memory_scores(memory_queries, memory_keys) / memory_predicts
    return lambda: order(window, memory)


COST = Exercise(
    name="transformer_xl.cost",
    points=1,
    reference=[640 * 640, 640],
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "swapped",
            _cost_with(order=lambda window, memory: [memory, window]),
            "los das en el otro orden: primero la ventana y después la memoria",
        ),
        Misconception(
            "window_asks_once",
            _cost_with(window_queries=1),
            "en la ventana cuentas lo de una sola consulta. Las claves de las capas de arriba "
            "salen de los estados de toda la ventana, que hay que calcular otra vez: preguntan "
            "los 640",
        ),
        Misconception(
            "per_segment",
            _cost_with(memory_predicts=1),
            "con memoria das las de un segmento entero, que predice 128 tokens: se piden por token",
        ),
        Misconception(
            "memory_asks",
            _cost_with(memory_queries=640),
            "con memoria haces preguntar también a las 512 posiciones recordadas: solo preguntan "
            "las 128 del segmento",
        ),
        Misconception(
            "memory_asks_once",
            _cost_with(memory_queries=1),
            "con memoria cuentas lo de una sola consulta: preguntan las 128 posiciones del "
            "segmento, y cada una tiene una puntuación por clave",
        ),
        Misconception(
            "memory_asks_per_segment",
            [640 * 640, 640 * 640],
            "con memoria solo preguntan las 128 posiciones del segmento, y su tabla de "
            "puntuaciones sirve para predecir 128 tokens",
        ),
        Misconception(
            "only_the_memory",
            _cost_with(memory_keys=512),
            "con memoria, las claves son las recordadas y también las del segmento",
        ),
        Misconception(
            "only_the_segment",
            _cost_with(memory_keys=128),
            "con memoria, cada consulta mira las claves de su segmento y también las recordadas",
        ),
        Misconception(
            "window_of_the_memory",
            _cost_with(window_queries=512, window_keys=512),
            "la ventana pasa por el modelo 640 tokens, no 512",
        ),
        Misconception(
            "window_by_segments",
            _cost_with(window_queries=128),
            "la ventana no recuerda nada: preguntan los 640 tokens, no solo los 128 últimos",
        ),
        Misconception(
            "window_shared",
            _cost_with(window_predicts=128),
            "cada ventana predice un solo token, el último, y después se mueve un lugar: su "
            "costo no se reparte",
        ),
        Misconception(
            "positions",
            [640, 1],
            "cuentas cuántas posiciones pasan por el modelo; cada una que pregunta tiene una "
            "puntuación por cada clave que responde",
        ),
        Misconception(
            "both_per_segment",
            _cost_with(tokens=128),
            "das las de 128 tokens; se piden por token predicho",
        ),
        Misconception(
            "triangle",
            _cost_with(window_scores=_visible),
            "en la ventana descuentas lo que oculta la máscara causal; aquí se cuentan todas",
        ),
        Misconception(
            "half_of_both",
            _cost_with(
                window_scores=_visible, memory_scores=lambda queries, keys: queries * keys // 2
            ),
            "divides por dos, como si la máscara ocultara la mitad; aquí se cuentan todas",
        ),
        Misconception(
            "triangle_in_both",
            _cost_with(window_scores=_visible, memory_scores=_visible),
            "descuentas lo que oculta la máscara causal; aquí se cuentan todas las puntuaciones",
        ),
    ),
)


# 9 · Segmento a segmento


def _layer(h, memory, P):
    """Una capa de una cabeza: atención relativa, con su conexión residual."""
    memory = h[:, :0] if memory is None else memory
    X = torch.cat([memory, h], dim=1)
    R = _far_to_near(X.shape[1], X.shape[2])
    S = _scores(h, memory, R, *(P[name] for name in ("W_q", "W_k", "W_r", "u", "v")))
    return h + torch.tanh(torch.softmax(S, dim=-1) @ (X @ P["W_v"]))


def _read(X, layers, length, memory_length):
    memories = [X[:, :0]] * len(layers)
    outputs = []
    for h in X.split(length, dim=1):
        updated = []
        for layer, memory in zip(layers, memories, strict=True):
            updated.append(_update(h, memory, memory_length))
            h = layer(h, memory)
        memories = updated
        outputs.append(h)
    return torch.cat(outputs, dim=1)


def _read_call(student, X, parameters, length, memory_length):
    """Construye las capas a partir de datos simples."""
    layers = [lambda h, memory, P=P: _layer(h, memory, P) for P in parameters]
    where = f"{len(layers)} capas" if len(layers) > 1 else "una capa"
    where += f", length={length}, memory_length={memory_length}"
    return {where: direct_call(student, X, layers, length, memory_length)}


def _read_cases(rng):
    cases = []
    for batch, t, num_layers, length, memory_length in (
        (2, 6, 1, 2, 3),
        (2, 5, 2, 2, 3),
        (4, 6, 1, 2, 0),  # sin memoria
        (1, 7, 3, 3, 2),  # el último segmento es corto
        (2, 9, 2, 3, 20),  # la memoria alcanza para todo: es una pasada entera
    ):
        parameters = [_layer_parameters(rng, 4) for _ in range(num_layers)]
        cases.append((1.5 * _randn(rng, batch, t, 4), parameters, length, memory_length))
    return cases


def _layer_parameters(rng, d):
    matrices = {name: _matrix(rng, d, d) for name in ("W_q", "W_k", "W_r", "W_v")}
    return matrices | {name: _randn(rng, d) for name in ("u", "v")}


@combinable
def _read_with(
    *,
    text=lambda X, length: X,
    empty=lambda X, memory_length: X[:, :0],
    enter=lambda h, segment: h,
    use=lambda memory, updated: memory,
    keep=lambda states: states[:-1],
    remember=_update,
    join=lambda outputs: torch.cat(outputs, dim=1),
):
    """Leer por segmentos; `keep` elige, de las entradas de las capas y su salida, qué se guarda."""

    def implementation(X, layers, length, memory_length):
        memories = [empty(X, memory_length)] * len(layers)
        outputs = []
        for segment in text(X, length).split(length, dim=1):
            h, states = segment, []
            for layer, memory in zip(layers, memories, strict=True):
                states.append(enter(h, segment))
                updated = remember(states[-1], memory, memory_length)
                h = layer(states[-1], use(memory, updated))
            outputs.append(h)
            kept = zip(keep([*states, h]), memories, strict=True)
            memories = [remember(state, memory, memory_length) for state, memory in kept]
        return join(outputs)

    return implementation


def _memory_passed_along(X, layers, length, memory_length):
    memory, outputs = X[:, :0], []
    for h in X.split(length, dim=1):
        for layer in layers:
            h, memory = layer(h, memory), _update(h, memory, memory_length)
        outputs.append(h)
    return torch.cat(outputs, dim=1)


READ = Exercise(
    name="transformer_xl.read",
    points=2,
    partial=(Part("los valores", 1),),
    reference=_read,
    cases=_read_cases,
    call=_read_call,
    gradient=True,
    tolerance=TOLERANCE,
    misconceptions=(
        Misconception(
            "no_memory",
            _read_with(remember=lambda h, memory, length: memory),
            "la memoria nunca se actualiza: cada segmento se lee como si fuera el primero",
        ),
        Misconception(
            "starts_with_zeros",
            _read_with(empty=lambda X, m: torch.zeros(X.shape[0], m, X.shape[2])),
            "empiezas con una memoria de ceros, y un vector de ceros también recibe atención: sin "
            "pasado, la memoria está vacía, [batch, 0, d]. (Así empieza una biblioteca muy usada)",
        ),
        Misconception(
            "keeps_the_outputs",
            _read_with(keep=lambda states: states[1:]),
            "cada capa guarda su salida; lo que recuerda es su entrada, que es de donde salen sus "
            "claves y sus valores",
        ),
        Misconception(
            "updated_too_soon",
            _read_with(use=lambda memory, updated: updated),
            "actualizas la memoria antes de usarla: así el segmento entra también en ella, y ahí "
            "nada le oculta su futuro",
        ),
        Misconception(
            "one_memory_of_inputs",
            _read_with(keep=lambda states: states[:1] * (len(states) - 1)),
            "hay una sola memoria, la de las incrustaciones, para todas las capas: cada capa "
            "recuerda lo que entró en ella",
        ),
        Misconception(
            "one_memory_of_outputs",
            _read_with(keep=lambda states: states[-1:] * (len(states) - 1)),
            "hay una sola memoria, la de las salidas de la última capa: cada capa recuerda lo que "
            "entró en ella",
        ),
        Misconception(
            "memory_passed_along",
            _memory_passed_along,
            "las capas se pasan la misma memoria una a otra; cada una tiene la suya",
        ),
        Misconception(
            "only_the_previous_segment",
            _read_with(remember=_update_with(join=_forgetting)),
            "guardas solo el segmento que acabas de leer: si caben más, la memoria conserva "
            "también los de antes",
        ),
        Misconception(
            "whole_previous_segment",
            _read_with(remember=_update_with(join=_forgetting, keep=_everything)),
            "guardas siempre un segmento entero; la memoria debe medir hasta memory_length, ni "
            "más ni menos",
        ),
        Misconception(
            "never_forgets",
            _read_with(remember=_update_with(keep=_everything)),
            "la memoria crece sin fin, o lees todo de una vez: cada capa recuerda a "
            "lo sumo memory_length estados",
        ),
        Misconception(
            "keeps_the_first",
            _read_with(remember=_update_with(keep=_first)),
            "la memoria conserva lo más antiguo, y cuando se llena no entra nada: interesan los "
            "últimos",
        ),
        Misconception(
            "minus_zero",
            _read_with(remember=_update_with(keep=_minus_zero)),
            "con memory_length = 0 el corte [-0:] es [0:], y la memoria lo conserva todo",
        ),
        Misconception(
            "not_detached",
            _read_with(remember=_update_with(detach=lambda memory, h: (memory, h))),
            "el gradiente atraviesa la memoria: separa del grafo lo que se guarda",
        ),
        Misconception(
            "detaches_only_the_memory",
            _read_with(remember=_update_with(detach=lambda memory, h: (memory.detach(), h))),
            "separas del grafo solo la memoria vieja: los estados que se le agregan también van "
            "separados",
        ),
        Misconception(
            "segment_detached",
            _read_with(text=lambda X, length: X.detach() + 0 * X),
            "separas del grafo el segmento mismo, y no solo lo que se guarda: a las "
            "incrustaciones no les llega el gradiente",
        ),
        Misconception(
            "without_gradient",
            _read_with(join=lambda outputs: torch.cat(outputs, dim=1).detach()),
            "sin gradiente no se aprende nada: solo la memoria se separa del grafo, no el "
            "segmento que se está leyendo",
        ),
        Misconception(
            "detached_between_layers",
            _read_with(enter=lambda h, segment: h.detach()),
            "separas del grafo los estados antes de dárselos a la capa: dentro del segmento, el "
            "gradiente pasa de capa en capa",
        ),
        Misconception(
            "every_layer_reads_the_input",
            _read_with(enter=lambda h, segment: segment),
            "todas las capas reciben las incrustaciones; lo que entra en una es lo que salió de la "
            "anterior",
        ),
        Misconception(
            "only_the_last_segment",
            _read_with(join=lambda outputs: outputs[-1]),
            "devuelves solo la salida del último segmento: une las de todos",
        ),
        Misconception(
            "drops_the_last_segment",
            _read_with(text=lambda X, length: X[:, : X.shape[1] // length * length]),
            "cuando el último segmento es corto, lo pierdes",
        ),
        Misconception(
            "joined_over_the_batch",
            _read_with(join=lambda outputs: torch.cat(outputs, dim=0)),
            "unes las salidas por el lote; las posiciones son el eje 1",
            raises=RuntimeError,
        ),
    ),
)


EXERCISES = (
    SEGMENTS,
    UPDATE_MEMORY,
    FIRST_SEEN,
    MASK,
    RELATIVE_SHIFT,
    SCORES,
    PERPLEXITY,
    COST,
    READ,
)
