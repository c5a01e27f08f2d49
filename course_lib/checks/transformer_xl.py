"""Ejercicios del tema Transformer-XL: memoria, distancias y evaluación, con sus errores frecuentes.

Las referencias de los que tratan de datos, memoria y evaluación se escriben con PyTorch: `checks`
no importa `data` ni `training`. Una prueba las compara con lo que hace la biblioteca.
"""

import math

import torch

from course_lib.grading.exercise import (
    Exercise,
    Misconception,
    Part,
    combinable,
    direct_call,
    no_inputs,
)
from course_lib.primitives.masks import causal_mask
from course_lib.primitives.positions import sinusoidal_positions
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


def _segments_from(rows, cut=None):
    """Otra manera de repartir la corriente en filas de entradas y respuestas."""

    def implementation(stream, batch_size, length):
        inputs, targets = rows(stream, batch_size)
        pairs = zip(inputs.split(length, 1), targets.split(length, 1), strict=True)
        return [pair if cut is None else cut(pair, length) for pair in pairs]

    return implementation


def _both(stream, batch_size):
    t = (len(stream) - 1) // batch_size
    inputs = stream[: batch_size * t].view(batch_size, t)
    return inputs, stream[1 : batch_size * t + 1].view(batch_size, t)


def _whole_rows(stream, batch_size):
    t = len(stream) // batch_size
    return stream[: batch_size * t].view(batch_size, t)


def _inner_answers(stream, batch_size):
    rows = _whole_rows(stream, batch_size)
    return rows[:, :-1], rows[:, 1:]


def _unguarded(stream, batch_size):
    t = len(stream) // batch_size
    inputs = stream[: batch_size * t].view(batch_size, t)
    return inputs, stream[1 : batch_size * t + 1].view(batch_size, t)


def _nothing_dropped(stream, batch_size):
    return stream[:-1].view(batch_size, -1), stream[1:].view(batch_size, -1)


def _dropped_before_shifting(stream, batch_size):
    return _both(stream[: len(stream) // batch_size * batch_size], batch_size)


def _followed_by(first):
    """Todo el texto entra; al último token le responde lo que diga `first(corriente)`."""

    def rows(stream, batch_size):
        answers = torch.cat([stream[1:], first(stream)])
        return _whole_rows(stream, batch_size), _whole_rows(answers, batch_size)

    return rows


def _rows_of_whole_segments(stream, batch_size, length):
    t = (len(stream) - 1) // (batch_size * length) * length
    return _segments(stream[: batch_size * t + 1], batch_size, length)


def _one_input_too_many(stream, batch_size, length):
    t = (len(stream) - 1) // batch_size
    rows = stream[: batch_size * t + 1].unfold(0, t + 1, t)
    starts = range(0, t, length)
    return [(rows[:, s : s + length], rows[:, s + 1 : s + length + 1]) for s in starts]


def _rows_and_columns(stream, batch_size):
    return tuple(x.reshape(x.shape[1], -1) for x in _both(stream, batch_size))


def _split_rows(stream, batch_size, length):
    inputs, targets = _both(stream, batch_size)
    return list(zip(inputs.split(length), targets.split(length), strict=True))


def _dealt(stream, batch_size):
    t = (len(stream) - 1) // batch_size
    inputs = stream[: batch_size * t].view(t, batch_size).T
    return inputs, stream[1 : batch_size * t + 1].view(t, batch_size).T


def _consecutive(stream, batch_size, length):
    size = batch_size * length
    starts = range(0, (len(stream) - 1) // size * size, size)
    return [
        tuple(stream[s + shift : s + shift + size].view(batch_size, length) for shift in (0, 1))
        for s in starts
    ]


def _answers_in_the_segment(stream, batch_size, length):
    pieces = _whole_rows(stream, batch_size).split(length, 1)
    return [(piece[:, :-1], piece[:, 1:]) for piece in pieces]


SEGMENTS = Exercise(
    name="transformer_xl.segments",
    points=2,
    reference=_segments,
    cases=_segments_cases,
    call=_segments_call,
    misconceptions=(
        Misconception(
            "consecutive_pieces",
            _consecutive,
            "las filas de un mismo segmento son trozos seguidos del texto, y así la fila i del "
            "siguiente no continúa la fila i de este: su memoria sería la de otro lugar. Parte "
            "primero el texto en filas largas y después corta las filas",
        ),
        Misconception(
            "dealt_like_cards",
            _segments_from(_dealt),
            "repartes los tokens como cartas, uno a cada fila: ninguna fila se puede leer. Cada "
            "una es un tramo seguido del texto",
        ),
        Misconception(
            "no_shift",
            _segments_from(lambda s, b: (_both(s, b)[0],) * 2),
            "la entrada y la respuesta son lo mismo: en cada lugar se responde el token siguiente",
        ),
        Misconception(
            "swapped",
            _segments_from(lambda s, b: _both(s, b)[::-1]),
            "están intercambiadas: lo que entra va antes que su respuesta",
        ),
        Misconception(
            "rolled",
            _segments_from(lambda s, b: (_both(s, b)[0], _both(s, b)[0].roll(-1, 1))),
            "roll da la vuelta: el último token de cada fila respondería el primero de su misma "
            "fila, que en el texto no viene después",
        ),
        Misconception(
            "rolled_in_the_segment",
            _segments_from(_both, lambda pair, length: (pair[0], pair[0].roll(-1, 1))),
            "roll da la vuelta dentro de cada segmento: su último token respondería el primero "
            "del mismo segmento, cuando el que sigue es el primero del próximo",
        ),
        Misconception(
            "answers_in_the_segment",
            _answers_in_the_segment,
            "cortas primero y desplazas después: el último token de cada segmento se queda sin "
            "responder. Su respuesta existe, es el primero del segmento siguiente",
        ),
        Misconception(
            "answers_in_the_row",
            _segments_from(_inner_answers),
            "el último token de cada fila se queda sin responder; su respuesta existe: es el "
            "primero de la fila siguiente del texto",
        ),
        Misconception(
            "no_room_for_the_last_answer",
            _segments_from(_unguarded),
            "funciona salvo cuando el largo del texto es múltiplo de las filas: entonces el último "
            "token no tiene respuesta. ¿De cuántos tokens del texto se sabe cuál sigue?",
            raises=RuntimeError,
        ),
        Misconception(
            "nothing_dropped",
            _segments_from(_nothing_dropped),
            "solo funciona cuando el texto se reparte justo: antes de formar las filas, descarta "
            "del final los tokens que sobran",
            raises=RuntimeError,
        ),
        Misconception(
            "dropped_before_shifting",
            _segments_from(_dropped_before_shifting),
            "recortas el texto a filas enteras y después apartas un token para la última "
            "respuesta, y cada fila pierde uno: apártalo primero",
        ),
        Misconception(
            "last_answer_rolled",
            _segments_from(_followed_by(lambda stream: stream[:1])),
            "roll da la vuelta al texto: cuando entra entero, el último token respondería el "
            "primero de todos. Solo puede entrar un token si se sabe cuál le sigue",
        ),
        Misconception(
            "last_answer_invented",
            _segments_from(_followed_by(lambda stream: stream.new_zeros(1))),
            "inventas la respuesta del último token, un 0: si no se sabe cuál le sigue, no entra",
        ),
        Misconception(
            "drops_the_last_segment",
            lambda s, b, length: [p for p in _segments(s, b, length) if p[0].shape[1] == length],
            "descartas el último segmento cuando sale más corto; aquí se conserva, corto",
        ),
        Misconception(
            "rows_of_whole_segments",
            _rows_of_whole_segments,
            "haces las filas de segmentos enteros, y se pierde más texto del necesario: el último "
            "segmento puede ser más corto",
        ),
        Misconception(
            "one_input_too_many",
            _one_input_too_many,
            "cuando el último segmento es corto, su entrada mide uno más que su respuesta: el "
            "último token de la fila solo se responde, no entra",
        ),
        Misconception(
            "splits_the_rows",
            _split_rows,
            "split() corta el eje 0 si no se le dice otro: repartes filas en lugar de cortarlas",
        ),
        Misconception(
            "rows_and_columns",
            _segments_from(_rows_and_columns),
            "intercambias filas y columnas: son batch_size filas, no batch_size columnas",
        ),
        Misconception(
            "two_lists",
            lambda s, b, length: list(zip(*_segments(s, b, length), strict=True)),
            "devuelves una lista de entradas y otra de respuestas; se pide una lista de pares, uno "
            "por segmento",
        ),
        Misconception(
            "only_inputs",
            lambda s, b, length: [inputs for inputs, _ in _segments(s, b, length)],
            "faltan las respuestas: cada elemento de la lista es un par (entrada, respuesta)",
        ),
        Misconception(
            "time_first",
            _segments_from(_both, lambda pair, length: tuple(x.T for x in pair)),
            "son los tokens correctos con el tiempo delante; en este curso el lote va primero: "
            "[filas, tokens]",
        ),
        Misconception(
            "drops_the_beginning",
            _segments_from(lambda s, b: _both(s[(len(s) - 1) % b :], b)),
            "descartas lo que sobra por el principio; se descarta por el final",
        ),
    ),
)


# 2 · La memoria, con dos errores


def _update(states, memory, memory_length):
    joined = torch.cat([memory, states], dim=1).detach()
    return joined[:, max(joined.shape[1] - memory_length, 0) :]


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
def _update_with(join=lambda s, M: torch.cat([M, s], dim=1), keep=None):
    """Otra manera de juntar, o de quedarse con una parte; siempre separada del grafo."""

    def implementation(states, memory, memory_length):
        joined = join(states, memory).detach()
        if keep is not None:
            return keep(joined, memory_length)
        return joined[:, max(joined.shape[1] - memory_length, 0) :]

    return implementation


def _attached(states, memory, memory_length):
    joined = torch.cat([memory, states], dim=1)
    return joined[:, max(joined.shape[1] - memory_length, 0) :]


def _filled_with_zeros(joined, length):
    missing = max(length - joined.shape[1], 0)
    padded = torch.nn.functional.pad(joined, (0, 0, missing, 0))
    return padded[:, padded.shape[1] - length :]


def _one_for_all(joined, length):
    kept = joined[:, max(joined.shape[1] - length, 0) :]
    return kept[:1].expand_as(kept)


def _from_the_whole_batch(joined, length):
    flat = joined.flatten(0, 1)
    kept = flat[max(len(flat) - length, 0) :]
    return kept.expand(len(joined), -1, -1)


def _joined_over(dim):
    """Une por otro eje, y corta igual."""

    def implementation(states, memory, memory_length):
        joined = torch.cat([memory, states], dim=dim).detach()
        return joined[:, max(joined.shape[1] - memory_length, 0) :]

    return implementation


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
            _update_with(keep=lambda joined, length: joined[:, :length]),
            "conservas los primeros estados: cuando la memoria se llena, ya no entra nada nuevo. "
            "Interesan los últimos (y mira también el tamaño del grafo)",
        ),
        Misconception(
            "not_detached",
            _attached,
            "lo que guardas es correcto, pero sigue unido al grafo: el gradiente volvería por "
            "todos los segmentos anteriores, y cada uno ocuparía más que el anterior",
        ),
        Misconception(
            "detaches_only_the_states",
            lambda states, memory, length: _attached(states.detach(), memory, length),
            "separas del grafo los estados nuevos, pero no la memoria que llega: separa el "
            "resultado entero",
        ),
        Misconception(
            "detaches_only_the_memory",
            lambda states, memory, length: _attached(states, memory.detach(), length),
            "separas del grafo la memoria vieja, pero no los estados nuevos, que mañana serán "
            "memoria: separa el resultado entero",
        ),
        Misconception(
            "minus_zero",
            _update_with(keep=lambda joined, length: joined[:, -length:]),
            "casi: con memory_length = 0 el corte [-0:] es [0:], y lo conserva todo. Cuenta desde "
            "el principio cuántos sobran",
        ),
        Misconception(
            "negative_start",
            _update_with(keep=lambda joined, length: joined[:, joined.shape[1] - length :]),
            "cuando aún no se llena, el comienzo del corte sale negativo y Python cuenta desde el "
            "final: se pierden estados. Lo menos que puede sobrar es cero",
        ),
        Misconception(
            "forgets_the_memory",
            _update_with(join=lambda s, M: s),
            "guardas solo los estados nuevos: si la memoria es más larga que el segmento, también "
            "caben los anteriores",
        ),
        Misconception(
            "forgets_the_memory_and_zero",
            _update_with(join=lambda s, M: s, keep=lambda joined, length: joined[:, -length:]),
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
            _update_with(keep=lambda joined, length: joined),
            "nunca olvidas: la memoria crece sin fin. Quédate con los últimos memory_length",
        ),
        Misconception(
            "states_first",
            _update_with(join=lambda s, M: torch.cat([s, M], dim=1)),
            "pones lo nuevo delante de lo viejo: la memoria va en el orden del texto, con lo más "
            "reciente al final",
        ),
        Misconception(
            "cuts_before_joining",
            lambda states, memory, length: torch.cat(
                [memory[:, max(memory.shape[1] - length, 0) :], states], dim=1
            ).detach(),
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
            _update_with(keep=_one_for_all),
            "todas las filas reciben la memoria de la primera: cada fila es otro texto, y recuerda "
            "el suyo",
        ),
        Misconception(
            "whole_batch_in_one",
            _update_with(keep=_from_the_whole_batch),
            "juntas las filas del lote en una sola memoria: cada fila es otro texto, y recuerda "
            "el suyo",
        ),
        Misconception(
            "joined_over_the_batch",
            _joined_over(0),
            "unes por el eje 0, el del lote: las posiciones son el eje 1",
            raises=RuntimeError,
        ),
        Misconception(
            "joined_over_the_width",
            _joined_over(2),
            "unes por el último eje, el ancho: las posiciones son el eje 1",
            raises=RuntimeError,
        ),
        Misconception(
            "detaches_in_place",
            lambda states, memory, length: _update(states.detach_(), memory.detach_(), length),
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
    cases = [
        (29, 2, 4, 4),
        (29, 3, 2, 4),
        (40, 2, 6, 4),
        (11, 2, 8, 4),
        (23, 1, 0, 5),
        (31, 1, 5, 4),
    ]
    for _ in range(4):
        m, length = _integer(rng, 3, 9), _integer(rng, 3, 8)
        cases.append((_integer(rng, 60, 90), _integer(rng, 2, 4), m, length))
    return [*cases, (_integer(rng, 5, 9), 4, 5, 3)]


def _stepping(step, layers=0):
    """Otra manera de retroceder en cada capa; al final, nunca antes del comienzo."""

    def implementation(position, num_layers, memory_length, segment_length):
        for _ in range(num_layers + layers):
            position = step(position, memory_length, segment_length)
        return max(position, 0)

    return implementation


def _one_layer(p, m, L):
    return p // L * L - m


FIRST_SEEN = Exercise(
    name="transformer_xl.first_seen",
    points=1,
    reference=_first_seen,
    cases=_first_seen_cases,
    call=_first_seen_call,
    misconceptions=(
        Misconception(
            "layers_times_memory",
            _stepping(lambda p, m, L: p - m),
            "cuentas m posiciones por capa desde la propia posición; la memoria empieza antes del "
            "segmento, así que primero hay que ir a su comienzo",
        ),
        Misconception(
            "only_the_first_start",
            lambda p, N, m, L: max(p // L * L - N * m, 0),
            "vas al comienzo del segmento una sola vez; cada estado recordado se calculó en su "
            "propio segmento, y también vio desde el comienzo de este, y su memoria",
        ),
        Misconception(
            "one_layer_only",
            lambda p, N, m, L: max(p // L * L - m, 0),
            "eso es lo que ve una sola capa; los estados de la memoria ya habían visto lo anterior "
            "a ellos, y con cada capa se llega más atrás",
        ),
        Misconception(
            "layers_times_segments",
            lambda p, N, m, L: max((p // L - N) * L, 0),
            "retrocedes un segmento por capa: eso es así solo si la memoria mide lo que un "
            "segmento",
        ),
        Misconception(
            "memory_and_segment",
            _stepping(lambda p, m, L: p - m - L),
            "retrocedes por capa la memoria y un segmento entero; del suyo solo se ve desde el "
            "comienzo, que puede estar más cerca",
        ),
        Misconception(
            "no_memory",
            lambda p, N, m, L: p // L * L,
            "ese es el comienzo de su segmento: sin memoria no se vería más, pero aquí la hay",
        ),
        Misconception(
            "before_the_beginning",
            lambda p, N, m, L: _iterate(_one_layer, p, N, m, L),
            "llegas antes del comienzo del texto: la primera posición es la 0",
        ),
        Misconception(
            "one_layer_more",
            _stepping(_one_layer, layers=1),
            "retrocedes una capa de más",
        ),
        Misconception(
            "one_layer_less",
            _stepping(_one_layer, layers=-1),
            "retrocedes una capa de menos: la primera también tiene memoria, la de las "
            "incrustaciones",
        ),
        Misconception(
            "memory_of_whole_segments",
            _stepping(lambda p, m, L: p // L * L - -(-m // L) * L),
            "redondeas la memoria a segmentos enteros; si m no es múltiplo de L, lo primero que se "
            "ve está en medio de un segmento",
        ),
        Misconception(
            "one_short_in_each_layer",
            _stepping(lambda p, m, L: p // L * L - m + 1),
            "te quedas corto de una en cada capa: las m posiciones anteriores a c son c − m, …, "
            "c − 1, y la primera es c − m",
        ),
        Misconception(
            "memory_first",
            _stepping(lambda p, m, L: (p - m) // L * L),
            "vas atrás m posiciones y después al comienzo de ese segmento; es al revés: primero el "
            "comienzo del segmento, y desde ahí la memoria",
        ),
        Misconception(
            "how_many",
            lambda p, N, m, L: p - _first_seen(p, N, m, L),
            "das cuántas posiciones hacia atrás; se pide cuál es la primera",
        ),
        Misconception(
            "not_included",
            lambda p, N, m, L: _first_seen(p, N, m, L) - 1,
            "te pasas de una: con memoria m se ven las m posiciones anteriores al segmento, y la "
            "primera de ellas está m lugares antes de su comienzo",
        ),
    ),
)


def _iterate(step, position, num_layers, memory_length, segment_length):
    for _ in range(num_layers):
        position = step(position, memory_length, segment_length)
    return position


# 4 · La máscara, con memoria delante


def _visible(length, memory_length):
    return causal_mask(length, memory_length + length)


def _visible_call(student, length, memory_length):
    where = f"length={length}, memory_length={memory_length}"
    return {where: direct_call(student, length, memory_length)}


def _visible_cases(rng):
    return [(4, 3), (5, 0), (1, 4), (2, 5), (3, 3), (_integer(rng, 3, 6), _integer(rng, 1, 6))]


def _band(t, m):
    """Las m + 1 últimas para cada consulta."""
    return _visible(t, m) & torch.ones(t, m + t, dtype=torch.bool).triu()


def _ones(t, m):
    return torch.ones(t, m + t, dtype=torch.bool)


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
            lambda t, m: _ones(t, m).tril(),
            "el triángulo empieza en la primera columna, que ahora es memoria: la primera consulta "
            "está en la columna m, y ve toda la memoria y a sí misma",
        ),
        Misconception(
            "only_the_segment",
            lambda t, m: causal_mask(t),
            "es la máscara del segmento solo: faltan las columnas de la memoria, que van delante",
        ),
        Misconception(
            "memory_hidden",
            lambda t, m: _visible(t, m) & (torch.arange(m + t) >= m),
            "ocultas la memoria: es pasado, y todas las consultas la ven entera",
        ),
        Misconception(
            "memory_behind",
            lambda t, m: torch.cat([causal_mask(t), torch.ones(t, m, dtype=torch.bool)], dim=1),
            "pusiste la memoria detrás del segmento; las claves van en el orden del texto, y la "
            "memoria es lo de antes",
        ),
        Misconception(
            "square",
            lambda t, m: causal_mask(m + t),
            "hay una fila por cada posición de la memoria: esta solo responde. Pregunta el "
            "segmento, t filas",
        ),
        Misconception(
            "transposed",
            lambda t, m: _visible(t, m).T,
            "está transpuesta: una fila por consulta y una columna por clave",
        ),
        Misconception(
            "inverted",
            lambda t, m: ~_visible(t, m),
            "está al revés: en este curso True marca lo visible",
        ),
        Misconception(
            "diagonal_hidden",
            lambda t, m: _ones(t, m).tril(m - 1),
            "cada posición se oculta a sí misma: te falta una diagonal",
        ),
        Misconception(
            "one_too_many",
            lambda t, m: _ones(t, m).tril(m + 1),
            "cada posición ve también la que le sigue: te sobra una diagonal",
        ),
        Misconception(
            "moved_by_the_length",
            lambda t, m: _ones(t, m).tril(t),
            "corres la diagonal tantos lugares como posiciones tiene el segmento; son las que "
            "tiene la memoria",
        ),
        Misconception(
            "moved_the_other_way",
            lambda t, m: _ones(t, m).tril(-m),
            "corres la diagonal hacia el lado contrario, y se ve de menos: con la memoria delante "
            "se ve más",
        ),
        Misconception(
            "segment_reversed",
            lambda t, m: torch.cat([torch.ones(t, m).bool(), causal_mask(t).T], dim=1),
            "la memoria se ve entera; dentro del segmento, el triángulo es el contrario: cada "
            "posición ve su futuro y no su pasado",
        ),
        Misconception(
            "everything",
            _ones,
            "no ocultas nada: dentro del segmento sigue habiendo futuro",
        ),
        Misconception(
            "only_the_future",
            lambda t, m: _ones(t, m).triu(m),
            "usaste el triángulo contrario: cada posición ve su futuro y no su pasado",
        ),
        Misconception(
            "same_length",
            _band,
            "cada posición ve solo sus m anteriores: así se evalúa a veces, para que todas tengan "
            "el mismo contexto, pero aquí todo el segmento ve la memoria entera",
        ),
        Misconception(
            "additive",
            lambda t, m: torch.zeros(t, m + t).masked_fill(~_visible(t, m), -math.inf),
            "devuelves la máscara aditiva, con 0 y −∞; se pide la booleana, True = visible",
        ),
        Misconception(
            "as_floats",
            lambda t, m: _visible(t, m).float(),
            "son ceros y unos de punto flotante, y se piden valores lógicos: ¿falta dtype=bool?",
        ),
        Misconception(
            "as_numbers",
            lambda t, m: _visible(t, m).long(),
            "son ceros y unos enteros, y se piden valores lógicos",
        ),
    ),
)


# 5 · El desplazamiento, con su error


def _shift(S):
    return _hide_future(relative_shift(S))


def _hide_future(S, worst=-math.inf):
    t, n = S.shape[-2:]
    return S.masked_fill(torch.ones(t, n, dtype=torch.bool).triu(n - t + 1), worst)


def _shift_cases(rng):
    shapes = (4, 5), (3, 6), (2, 3, 4, 7), (2, 1, 5)
    return [(_randn(rng, *shape),) for shape in shapes]


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


def _hides_itself(S):
    t, n = S.shape[-2], S.shape[-1] - 1
    return relative_shift(S).masked_fill(torch.ones(t, n).triu(n - t).bool(), -math.inf)


def _zero_times_infinity(S):
    shifted = relative_shift(S)
    return shifted - (~causal_mask(*shifted.shape[-2:])).float() * math.inf


def _read_columns(column):
    """Lee, para la consulta i y la clave j, la columna que dé `column(i, j, t, n)`."""

    def implementation(S):
        t, n = S.shape[-2], S.shape[-1] - 1
        columns = column(torch.arange(t)[:, None], torch.arange(n), t, n).expand(t, n)
        return S.gather(-1, columns.clamp(0, n).expand(*S.shape[:-2], t, n))

    return implementation


def _masked(shift):
    return lambda S: _hide_future(shift(S))


def _distance(i, j, t, n):
    return n - t + i - j


RELATIVE_SHIFT = Exercise(
    name="transformer_xl.shift_bug",
    answers=("course_lib.primitives.relative_shift.relative_shift",),
    points=2,
    reference=_shift,
    cases=_shift_cases,
    misconceptions=(
        Misconception(
            "as_it_was",
            _faulty_shift,
            "es la función tal como estaba: el desplazamiento está corrido un lugar, y el futuro "
            "queda lleno de números sin sentido",
        ),
        Misconception(
            "shifted_by_one",
            _masked(_faulty_shift),
            "el futuro ya está oculto, pero todo sigue corrido un lugar: mira qué distancia recibe "
            "cada posición consigo misma",
        ),
        Misconception(
            "garbage",
            relative_shift,
            "lo visible es correcto; sobre la diagonal quedaron números de otra fila, y la softmax "
            "les daría peso: el futuro es −∞",
        ),
        Misconception(
            "shifted_by_one_the_other_way",
            _masked(_started_late),
            "te pasaste: todo está corrido un lugar hacia el otro lado. De una posición a sí misma "
            "hay distancia 0, la última columna",
        ),
        Misconception(
            "one_nearer",
            _masked(_read_columns(lambda *at: at[-1] - _distance(*at) + 1)),
            "cada clave recibe la puntuación de una distancia menos que la suya: la última columna "
            "es la distancia 0, y la primera, la t_k",
        ),
        Misconception(
            "surplus_at_the_end",
            _masked(_surplus_at_the_end),
            "quitas del final los números que sobran, y sobran por el principio: la primera fila "
            "es la que más se corre",
        ),
        Misconception(
            "flattens_everything",
            _masked(_flat_whole),
            "con una sola tabla funciona; con ejes delante, lote o cabezas, las mezcla: une solo "
            "los dos últimos, flatten(-2)",
            raises=RuntimeError,
        ),
        Misconception(
            "hides_itself",
            _hides_itself,
            "la máscara tapa una diagonal de más, la de cada posición consigo misma: la distancia "
            "0 se ve",
        ),
        Misconception(
            "times_infinity",
            _zero_times_infinity,
            "multiplicas la máscara por −∞, y 0 · ∞ es NaN: usa masked_fill() o where()",
        ),
        Misconception(
            "not_shifted",
            _masked(lambda S: S[..., 1:]),
            "no desplazas nada: cada fila empieza en otro lugar, y la misma columna es otra "
            "distancia para cada consulta",
        ),
        Misconception(
            "cut_at_the_end",
            _masked(lambda S: S[..., :-1]),
            "quitas la última columna, que es la distancia 0, y no desplazas nada",
        ),
        Misconception(
            "not_shifted_nor_hidden",
            lambda S: S[..., 1:],
            "solo quitas una columna: cada fila debe correrse otro tanto, y el futuro, ocultarse",
        ),
        Misconception(
            "reversed",
            _masked(_read_columns(_distance)),
            "lees las columnas al revés: la distancia 0 es la última, y la mayor, la primera",
        ),
        Misconception(
            "reversed_with_garbage",
            _read_columns(_distance),
            "lees las columnas al revés (la distancia 0 es la última) y falta ocultar el futuro",
        ),
        Misconception(
            "shifted_by_the_row",
            _masked(_read_columns(lambda i, j, t, n: j + i + 1)),
            "corres más las últimas filas que las primeras, y es al revés: la última consulta, que "
            "ve todas las claves, es la que menos se corre",
        ),
        Misconception(
            "to_the_right",
            _masked(_read_columns(lambda i, j, t, n: (j + 1 - (t - 1 - i)) % (n + 1))),
            "corres las filas hacia la derecha, y van hacia la izquierda: la primera consulta ve "
            "menos claves, así que le sobran las distancias grandes, las primeras columnas",
        ),
        Misconception(
            "distance_without_memory",
            _masked(_read_columns(lambda i, j, t, n: n - (i - j))),
            "cuentas la distancia sin la memoria: la consulta i es la posición m + i de las claves",
        ),
        Misconception(
            "mask_without_memory",
            lambda S: _hide_above_the_diagonal(relative_shift(S)),
            "el desplazamiento es correcto; la máscara no cuenta con la memoria, y oculta también "
            "pasado",
        ),
        Misconception(
            "hides_with_zero",
            lambda S: _hide_future(relative_shift(S), 0.0),
            "pones 0 en el futuro, y para la softmax un 0 es una puntuación como otra: hace falta "
            "−∞",
        ),
        Misconception(
            "hides_with_a_number",
            lambda S: _hide_future(relative_shift(S), -1e9),
            "el desplazamiento es correcto; en el futuro pones un número muy negativo, y se pide "
            "−∞",
        ),
        Misconception(
            "hides_the_past",
            lambda S: relative_shift(S).masked_fill(
                causal_mask(S.shape[-2], S.shape[-1] - 1), -math.inf
            ),
            "ocultas el pasado y dejas el futuro: la máscara está al revés",
        ),
    ),
)


def _hide_above_the_diagonal(S):
    return S.masked_fill(~torch.ones(S.shape[-2:], dtype=torch.bool).tril(), -math.inf)


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


def _plus_u(Q, u, v):
    return Q + u


def _plus_v(Q, u, v):
    return Q + v


def _alone(Q, u, v):
    return Q


@combinable
def _scores_with(
    *,
    ask_content=_plus_u,
    ask_distance=_plus_v,
    keys=lambda X, M: torch.cat([M, X], dim=1),
    order=lambda R: R,
    project=lambda R, W_q, W_k, W_r: R @ W_r,
    shift=relative_shift,
    content=lambda S: S,
    distance=lambda S: S,
    scale=lambda d, d_k: 1 / math.sqrt(d_k),
    finish=_hide_future,
):
    """Los cuatro términos con un solo detalle cambiado."""

    def implementation(X, memory, R, W_q, W_k, W_r, u, v):
        Q, K, r = X @ W_q, keys(X, memory) @ W_k, project(order(R), W_q, W_k, W_r)
        by_content = content(ask_content(Q, u, v) @ K.mT)
        by_distance = distance(shift(ask_distance(Q, u, v) @ r.mT))
        return finish(scale(*W_q.shape) * (by_content + by_distance))

    return implementation


def _without_memory(X, memory, R, *parameters):
    return _scores(X, memory[:, :0], R[memory.shape[1] :], *parameters)


def _memory_asks_too(X, memory, R, *parameters):
    joined = torch.cat([memory, X], dim=1)
    return _scores(joined, memory[:, :0], R, *parameters)


def _absolute(X, memory, R, W_q, W_k, W_r, u, v):
    Q, K = X @ W_q, (torch.cat([memory, X], dim=1) + R.flip(0)[:-1]) @ W_k
    return _hide_future(Q @ K.mT / math.sqrt(K.shape[-1]))


def _biases_in_the_keys(X, memory, R, W_q, W_k, W_r, u, v):
    Q, K, r = X @ W_q, torch.cat([memory, X], dim=1) @ W_k + u, R @ W_r + v
    return _hide_future((Q @ K.mT + relative_shift(Q @ r.mT)) / math.sqrt(K.shape[-1]))


def _biases_unscaled(X, memory, R, W_q, W_k, W_r, u, v):
    K, r = torch.cat([memory, X], dim=1) @ W_k, R @ W_r
    Q = X @ W_q / math.sqrt(K.shape[-1])
    return _hide_future((Q + u) @ K.mT + relative_shift((Q + v) @ r.mT))


def _half_scaled(which):
    """Los cuatro términos, con el de `which` sin dividir por √d_k."""

    def implementation(X, memory, R, W_q, *rest):
        undo = {which: lambda S: S * math.sqrt(W_q.shape[-1])}
        return _scores_with(**undo)(X, memory, R, W_q, *rest)

    return implementation


def _negated(R):
    """PE(−δ): los senos cambian de signo y los cosenos no."""
    signs = torch.tensor([-1.0, 1.0]).repeat(R.shape[-1] // 2)
    return R * signs


def _without_memory_in_the_distance(S):
    return _read_columns(lambda i, j, t, n: n - (i - j))(S)


def _v_not_shifted(X, memory, R, W_q, W_k, W_r, u, v):
    Q, K, r = X @ W_q, torch.cat([memory, X], dim=1) @ W_k, R @ W_r
    S = (Q + u) @ K.mT + relative_shift(Q @ r.mT) + (r @ v)[1:]
    return _hide_future(S / math.sqrt(K.shape[-1]))


def _nothing(S):
    return torch.zeros_like(S)


def _only_v(Q, u, v):
    return v.expand_as(Q)


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
            _scores_with(ask_content=_plus_v, ask_distance=_plus_u),
            "u y v están intercambiados: u mira el contenido, las claves; v, las distancias",
        ),
        Misconception(
            "no_global_terms",
            _scores_with(ask_content=_alone, ask_distance=_alone),
            "faltan los dos términos de u y v: lo que una clave o una distancia valen para "
            "cualquier consulta",
        ),
        Misconception(
            "no_u",
            _scores_with(ask_content=_alone),
            "falta el término de u: lo que una clave atrae por sí misma, pregunte quien pregunte",
        ),
        Misconception(
            "no_v",
            _scores_with(ask_distance=_alone),
            "falta el término de v: lo que una distancia atrae por sí misma, pregunte quien "
            "pregunte",
        ),
        Misconception(
            "u_in_both",
            _scores_with(ask_distance=_plus_u),
            "usas u también con las distancias: ahí va v, que se aprende aparte",
        ),
        Misconception(
            "v_in_both",
            _scores_with(ask_content=_plus_v),
            "usas v también con las claves: ahí va u, que se aprende aparte",
        ),
        Misconception(
            "both_in_both",
            _scores_with(
                ask_content=lambda Q, u, v: Q + u + v, ask_distance=lambda Q, u, v: Q + u + v
            ),
            "sumas u y v a la misma consulta: cada uno tiene su término, u con las claves y v con "
            "las distancias",
        ),
        Misconception(
            "no_queries",
            _scores_with(ask_content=lambda Q, u, v: u.expand_as(Q), ask_distance=_only_v),
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
            _scores_with(order=lambda R: R.flip(0)),
            "las distancias van al revés: la última fila de R es la distancia 0, la de cada "
            "posición consigo misma, y lo lejano está al principio",
        ),
        Misconception(
            "opposite_sign",
            _scores_with(order=_negated),
            "la distancia lleva el signo contrario: es i − j, de la consulta hacia atrás",
        ),
        Misconception(
            "distance_without_memory",
            _scores_with(shift=_without_memory_in_the_distance),
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
            _scores_with(scale=lambda d, d_k: 1.0),
            "los cuatro términos son correctos; faltó dividir por √d_k",
        ),
        Misconception(
            "scale_by_model",
            _scores_with(scale=lambda d, d_k: 1 / math.sqrt(d)),
            "los cuatro términos son correctos; divides por √d, y es √d_k, el ancho de las "
            "consultas",
        ),
        Misconception(
            "scale_without_root",
            _scores_with(scale=lambda d, d_k: 1 / d_k),
            "los cuatro términos son correctos; divides por d_k, y falta su raíz",
        ),
        Misconception(
            "multiplies",
            _scores_with(scale=lambda d, d_k: math.sqrt(d_k)),
            "los cuatro términos son correctos; multiplicas por √d_k, y hay que dividir",
        ),
        Misconception(
            "only_distance_scaled",
            _half_scaled("content"),
            "divides por √d_k solo el término de las distancias: ¿falta un paréntesis? Se divide "
            "la suma entera",
        ),
        Misconception(
            "only_content_scaled",
            _half_scaled("distance"),
            "divides por √d_k solo el término del contenido: se divide la suma entera",
        ),
        Misconception(
            "biases_unscaled",
            _biases_unscaled,
            "divides Q antes de sumarle u y v, y sus términos quedan sin dividir: se divide la "
            "suma entera",
        ),
        Misconception(
            "no_memory",
            _without_memory,
            "faltan las claves de la memoria: salen de la memoria y del segmento, en ese orden",
        ),
        Misconception(
            "memory_behind",
            _scores_with(keys=lambda X, M: torch.cat([X, M], dim=1)),
            "pones la memoria detrás del segmento: es lo que vino antes, así que va delante",
        ),
        Misconception(
            "memory_asks_too",
            _memory_asks_too,
            "la memoria también pregunta: hay filas de más. Las consultas salen solo del segmento",
        ),
        Misconception(
            "biases_in_the_keys",
            _biases_in_the_keys,
            "sumas u a las claves y v a las distancias; se suman a la consulta: u Kᵀ y v rᵀ no "
            "dependen de quién pregunta",
        ),
        Misconception(
            "absolute_positions",
            _absolute,
            "sumas la codificación a las claves, como con las posiciones absolutas; aquí la "
            "distancia tiene sus propios términos",
        ),
        Misconception(
            "future_visible",
            _scores_with(finish=lambda S: S),
            "los cuatro términos son correctos; falta ocultar el futuro, donde además el "
            "desplazamiento deja números sin sentido",
        ),
        Misconception(
            "hides_with_zero",
            _scores_with(finish=lambda S: _hide_future(S, 0.0)),
            "los cuatro términos son correctos; en el futuro va −∞, y no 0, que para la softmax "
            "es una puntuación como otra",
        ),
        Misconception(
            "hides_with_a_number",
            _scores_with(finish=lambda S: _hide_future(S, -1e9)),
            "los cuatro términos son correctos; en el futuro pones un número muy negativo, y se "
            "pide −∞",
        ),
        Misconception(
            "hides_the_past",
            _scores_with(finish=lambda S: S.masked_fill(causal_mask(*S.shape[-2:]), -math.inf)),
            "ocultas el pasado y dejas el futuro: la máscara está al revés",
        ),
        Misconception(
            "mask_without_memory",
            _scores_with(finish=_hide_above_the_diagonal),
            "los cuatro términos son correctos; la máscara no cuenta con la memoria, y oculta "
            "también pasado",
        ),
        Misconception(
            "weights",
            _scores_with(finish=lambda S: torch.softmax(_hide_future(S), dim=-1)),
            "devuelves ya los pesos, después de la softmax; se piden las puntuaciones",
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


def _over_zeros(losses):
    return losses.nan_to_num(0.0)


PERPLEXITY = Exercise(
    name="transformer_xl.perplexity_by_position",
    points=1,
    reference=_perplexity,
    cases=_perplexity_cases,
    misconceptions=(
        Misconception(
            "padding_spreads",
            lambda losses: losses.mean(dim=0).exp(),
            "el relleno es NaN, y una media con un NaN es NaN: promedia solo los textos que llegan "
            "a esa posición",
        ),
        Misconception(
            "padding_is_zero",
            lambda losses: _over_zeros(losses).mean(dim=0).exp(),
            "cambias el relleno por una pérdida 0, la de un acierto seguro, y divides también por "
            "él: donde pocos textos llegan, la perplejidad parece muy buena",
        ),
        Misconception(
            "mean_of_perplexities",
            lambda losses: losses.exp().nanmean(dim=0),
            "promedias las perplejidades de los tokens: la media va antes de la exponencial",
        ),
        Misconception(
            "mean_of_perplexities_padding",
            lambda losses: losses.exp().mean(dim=0),
            "promedias después de la exponencial, y además el relleno (NaN) entra en la media",
        ),
        Misconception(
            "per_text",
            lambda losses: losses.nanmean(dim=1).exp(),
            "das una perplejidad por texto; se pide una por posición: promedia sobre los textos, "
            "el eje 0",
        ),
        Misconception(
            "a_single_number",
            lambda losses: losses.nanmean().exp(),
            "das la perplejidad de todo el lote; se pide una por posición",
        ),
        Misconception(
            "only_the_loss",
            lambda losses: losses.nanmean(dim=0),
            "es la pérdida media: falta la exponencial",
        ),
        Misconception(
            "in_bits",
            lambda losses: 2 ** losses.nanmean(dim=0),
            "elevas 2 a la pérdida, y la base es e: estas pérdidas usan el logaritmo natural",
        ),
        Misconception(
            "sum",
            lambda losses: losses.nansum(dim=0).exp(),
            "sumas las pérdidas en lugar de promediarlas: crecería con el número de textos",
        ),
        Misconception(
            "wrong_sign",
            lambda losses: (-losses.nanmean(dim=0)).exp(),
            "es la probabilidad media (geométrica); la perplejidad es su inversa",
        ),
        Misconception(
            "up_to_here",
            lambda losses: (
                losses.nansum(dim=0).cumsum(0) / (~losses.isnan()).sum(dim=0).cumsum(0)
            ).exp(),
            "acumulas desde el comienzo; en cada posición cuentan solo sus pérdidas",
        ),
        Misconception(
            "only_the_complete",
            lambda losses: losses[~losses.isnan().any(dim=1)].mean(dim=0).exp(),
            "descartas los textos con relleno; las posiciones que sí tienen también cuentan",
        ),
    ),
)


# 8 · Lo que cuesta evaluar


COST = Exercise(
    name="transformer_xl.cost",
    points=1,
    reference=[640 * 640, 640],
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "swapped",
            [640, 640 * 640],
            "los dos números son esos, en el otro orden: primero la ventana y después la memoria",
        ),
        Misconception(
            "window_asks_once",
            [640, 640],
            "en la ventana cuentas solo la última consulta. Las claves de las capas de arriba "
            "salen de los estados de toda la ventana, que hay que calcular otra vez: preguntan los "
            "640",
        ),
        Misconception(
            "per_segment",
            [640 * 640, 128 * 640],
            "con memoria das las de un segmento entero, que predice 128 tokens: se piden por token",
        ),
        Misconception(
            "memory_asks",
            [640 * 640, 640 * 640 // 128],
            "con memoria haces preguntar también a las 512 posiciones recordadas: solo preguntan "
            "las 128 del segmento",
        ),
        Misconception(
            "memory_asks_once",
            [640 * 640, 640 / 128],
            "con memoria preguntan las 128 posiciones del segmento, no una sola: cada una tiene "
            "una puntuación por clave",
        ),
        Misconception(
            "memory_asks_per_segment",
            [640 * 640, 640 * 640],
            "con memoria solo preguntan las 128 posiciones del segmento, y su tabla de "
            "puntuaciones sirve para predecir 128 tokens",
        ),
        Misconception(
            "only_the_memory",
            [640 * 640, 512],
            "con memoria, las claves son las recordadas y también las del segmento",
        ),
        Misconception(
            "only_the_segment",
            [640 * 640, 128],
            "con memoria, cada consulta mira las claves de su segmento y también las recordadas",
        ),
        Misconception(
            "window_of_the_memory",
            [512 * 512, 640],
            "la ventana pasa por el modelo 640 tokens, no 512",
        ),
        Misconception(
            "window_by_segments",
            [128 * 640, 640],
            "la ventana no recuerda nada: preguntan los 640 tokens, no solo los 128 últimos",
        ),
        Misconception(
            "window_shared",
            [640 * 640 // 128, 640],
            "cada ventana predice un solo token, el último, y después se mueve un lugar: su costo "
            "no se reparte",
        ),
        Misconception(
            "positions",
            [640, 1],
            "cuentas cuántas posiciones pasan por el modelo; cada una que pregunta tiene una "
            "puntuación por cada clave que responde",
        ),
        Misconception(
            "both_per_segment",
            [128 * 640 * 640, 128 * 640],
            "son las de 128 tokens; se piden por token predicho",
        ),
        Misconception(
            "triangle",
            [640 * 641 // 2, 640],
            "en la ventana descuentas lo que oculta la máscara causal; aquí se cuentan todas",
        ),
        Misconception(
            "half_of_both",
            [640 * 641 // 2, 640 // 2],
            "divides por dos, como si la máscara ocultara la mitad; aquí se cuentan todas",
        ),
        Misconception(
            "triangle_in_both",
            [640 * 641 // 2, (128 * 512 + 128 * 129 // 2) / 128],
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
    empty=lambda X, m: X[:, :0],
    remember=_update,
    keep=lambda before, after: before,
    use=lambda old, new: old,
    answer=lambda h, memory: h,
):
    """Otra manera de leer por segmentos; `keep` elige qué guarda una capa, y `use`, qué ve."""

    def implementation(X, layers, length, memory_length):
        memories = [empty(X, memory_length)] * len(layers)
        outputs = []
        for h in X.split(length, dim=1):
            for number, layer in enumerate(layers):
                old = memories[number]
                after = layer(h, use(old, remember(h, old, memory_length)))
                memories[number] = remember(keep(h, after), old, memory_length)
                h = after
            outputs.append(h)
        return torch.cat(outputs, dim=1)

    return implementation


def _one_memory(pick):
    """Una sola memoria para todas las capas: la que `pick` toma de (entrada, salida)."""

    def implementation(X, layers, length, memory_length):
        memory, outputs = X[:, :0], []
        for segment in X.split(length, dim=1):
            h = segment
            for layer in layers:
                h = layer(h, memory)
            memory = _update(pick(segment, h), memory, memory_length)
            outputs.append(h)
        return torch.cat(outputs, dim=1)

    return implementation


def _memory_passed_along(X, layers, length, memory_length):
    memory, outputs = X[:, :0], []
    for h in X.split(length, dim=1):
        for layer in layers:
            h, memory = layer(h, memory), _update(h, memory, memory_length)
        outputs.append(h)
    return torch.cat(outputs, dim=1)


def _every_layer_reads_the_input(X, layers, length, memory_length):
    memory, outputs = X[:, :0], []
    for segment in X.split(length, dim=1):
        outputs.append(layers[-1](segment, memory))
        memory = _update(segment, memory, memory_length)
    return torch.cat(outputs, dim=1)


def _without_gradient(X, layers, length, memory_length):
    with torch.no_grad():
        return _read(X, layers, length, memory_length)


def _detached_between_layers(X, layers, length, memory_length):
    cut = [lambda h, memory, layer=layer: layer(h.detach(), memory) for layer in layers]
    return _read(X, cut, length, memory_length)


def _segment_detached(X, layers, length, memory_length):
    return _read(X.detach() + 0 * X, layers, length, memory_length)


def _only_the_last(X, layers, length, memory_length):
    return _read(X, layers, length, memory_length)[:, -len(X.split(length, 1)[-1][0]) :]


def _only_whole_segments(X, layers, length, memory_length):
    return _read(X[:, : X.shape[1] // length * length], layers, length, memory_length)


def _outputs_stacked(X, layers, length, memory_length):
    return torch.cat(_read(X, layers, length, memory_length).split(length, 1), dim=0)


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
            "cada segmento se lee como si fuera el primero: la memoria se queda vacía",
        ),
        Misconception(
            "starts_with_zeros",
            _read_with(empty=lambda X, m: torch.zeros(X.shape[0], m, X.shape[2])),
            "empiezas con una memoria de ceros, y un vector de ceros también recibe atención: sin "
            "pasado, la memoria está vacía, [batch, 0, d]. (Así empieza una biblioteca muy usada)",
        ),
        Misconception(
            "keeps_the_outputs",
            _read_with(keep=lambda before, after: after),
            "cada capa guarda su salida; lo que recuerda es su entrada, que es de donde salen sus "
            "claves y sus valores",
        ),
        Misconception(
            "updated_too_soon",
            _read_with(use=lambda old, new: new),
            "actualizas la memoria antes de usarla: el segmento aparece dos veces, en la memoria y "
            "en sí mismo, y en la memoria nada le oculta su futuro",
        ),
        Misconception(
            "one_memory_of_inputs",
            _one_memory(lambda segment, h: segment),
            "hay una sola memoria, la de las incrustaciones, para todas las capas: cada capa "
            "recuerda lo que entró en ella",
        ),
        Misconception(
            "one_memory_of_outputs",
            _one_memory(lambda segment, h: h),
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
            _read_with(remember=lambda h, memory, length: _update(h, memory[:, :0], length)),
            "recuerdas solo el segmento anterior: si caben más, la memoria conserva también los de "
            "antes",
        ),
        Misconception(
            "whole_previous_segment",
            _read_with(remember=lambda h, memory, length: h.detach()),
            "la memoria es siempre el segmento anterior entero; debe medir hasta memory_length, "
            "ni más ni menos",
        ),
        Misconception(
            "never_forgets",
            _read_with(remember=lambda h, memory, length: torch.cat([memory, h], 1).detach()),
            "la memoria crece sin fin, o lees todo de una vez, que da lo mismo: cada capa recuerda "
            "a lo sumo memory_length estados",
        ),
        Misconception(
            "keeps_the_first",
            _read_with(
                remember=lambda h, memory, length: torch.cat([memory, h], 1)[:, :length].detach()
            ),
            "la memoria conserva lo más antiguo, y cuando se llena no entra nada: interesan los "
            "últimos",
        ),
        Misconception(
            "minus_zero",
            _read_with(
                remember=lambda h, memory, length: torch.cat([memory, h], 1)[:, -length:].detach()
            ),
            "casi: con memory_length = 0 el corte [-0:] es [0:], y la memoria lo conserva todo",
        ),
        Misconception(
            "not_detached",
            _read_with(remember=_attached),
            "las salidas son correctas, pero el gradiente atraviesa la memoria: separa del grafo "
            "lo que se guarda",
        ),
        Misconception(
            "detaches_only_the_memory",
            _read_with(remember=lambda h, memory, length: _attached(h, memory.detach(), length)),
            "las salidas son correctas, pero separas del grafo solo la memoria vieja: los estados "
            "que se le agregan también van separados",
        ),
        Misconception(
            "segment_detached",
            _segment_detached,
            "las salidas son correctas, pero separas del grafo el segmento mismo, y no solo lo que "
            "se guarda: a las incrustaciones no les llega el gradiente",
        ),
        Misconception(
            "without_gradient",
            _without_gradient,
            "las salidas son correctas, pero sin gradiente no se aprende nada: solo la memoria se "
            "separa del grafo, no el segmento que se está leyendo",
        ),
        Misconception(
            "detached_between_layers",
            _detached_between_layers,
            "las salidas son correctas, pero separas del grafo los estados antes de dárselos a la "
            "capa: dentro del segmento, el gradiente pasa de capa en capa",
        ),
        Misconception(
            "every_layer_reads_the_input",
            _every_layer_reads_the_input,
            "todas las capas reciben las incrustaciones; lo que entra en una es lo que salió de la "
            "anterior",
        ),
        Misconception(
            "only_the_last_segment",
            _only_the_last,
            "devuelves solo la salida del último segmento: une las de todos",
        ),
        Misconception(
            "drops_the_last_segment",
            _only_whole_segments,
            "cuando el último segmento es corto, lo pierdes",
        ),
        Misconception(
            "joined_over_the_batch",
            _outputs_stacked,
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
