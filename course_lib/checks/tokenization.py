"""Ejercicios del tema Tokenización y posiciones, y los errores frecuentes que saben explicar."""

import math
from collections import Counter
from itertools import pairwise

import torch

from course_lib.judging.exercise import Exercise, Misconception, Part, combinable, no_inputs
from course_lib.primitives.positions.sinusoids import sinusoidal_positions

BYTES = 256


def _symbols(rng: torch.Generator, letters: str = "abcdef") -> dict[str, int]:
    """Da un número a cada letra, al azar pero en el orden de las letras."""
    numbers = torch.randperm(BYTES, generator=rng)[: len(letters)].sort().values.tolist()
    return dict(zip(letters, numbers, strict=True))


# 1 · Los bytes de una palabra

RAW_BYTES = Exercise(
    name="tokenization.raw_bytes",
    points=1,
    reference=list("piña".encode()),
    cases=no_inputs,
    misconceptions=(
        Misconception(
            "code_points",
            [ord(letter) for letter in "piña"],
            "son los números de los caracteres, no sus bytes; en UTF-8, una letra que no está en "
            "ASCII ocupa más de uno",
        ),
        Misconception(
            "alphabet_positions",
            [16, 9, 14, 1],
            "son los lugares en el abecedario; los tokens del principio son los bytes de UTF-8",
        ),
        Misconception(
            "without_tilde",
            list(b"pina"),
            "esos son los bytes de «pina»: la ñ no es una n, y tiene dos bytes propios",
        ),
        Misconception(
            "decomposed",
            list("pin\u0303a".encode()),
            "esa es la ñ escrita como n más una tilde suelta; como un solo carácter tiene dos "
            "bytes, y ninguno es el de la n",
        ),
        Misconception(
            "utf_16",
            list("piña".encode("utf-16-be")),
            "eso es UTF-16, dos bytes por letra; aquí los bytes son los de UTF-8",
        ),
        Misconception(
            "swapped_bytes",
            [112, 105, 177, 195, 97],
            "los dos bytes de la ñ están al revés: en UTF-8 va primero el que anuncia cuántos son",
        ),
        Misconception(
            "upper_case",
            list("PIÑA".encode()),
            "son los bytes de la palabra en mayúsculas: cada letra, grande o pequeña, tiene los "
            "suyos",
        ),
    ),
)


# 2 · Aplicar una fusión


@combinable
def _merge_with(
    matches=lambda found, pair: found == pair,
    put=lambda new: [new],
    used=lambda overlaps: 2,
    copied=1,
    advanced=1,
    most=math.inf,
    unread=0,
    direction=1,
):
    """La fusión, por pasos: qué par se fusiona y qué se pone, y cuánto se avanza.

    Donde hay par se avanza lo usado; donde no, se copian `copied` símbolos y se avanza `advanced`.
    """

    def implementation(symbols, pair, new):
        symbols, pair = symbols[::direction], pair[::direction]

        def is_pair(i):
            return matches(tuple(symbols[i : i + 2]), pair)

        result, i, merges = [], 0, 0
        while i < len(symbols) - unread:
            if is_pair(i) and merges < most:
                result += put(new)
                i, merges = i + used(is_pair(i + 1)), merges + 1
            else:
                result += symbols[i : i + copied]
                i += advanced
        return result[::direction]

    return implementation


_merge, _merge_only_first = _merge_with(), _merge_with(most=1)


def _merge_cases(rng):
    words = (
        ("ab", "cabbab"),
        ("aa", "aaa"),
        ("aa", "baaaaab"),
        ("ab", "abababa"),
        ("ab", "ba"),
        ("bc", "abcbcc"),
        ("aa", "a"),
        ("ab", ""),
    )
    letters = _symbols(rng)
    new = BYTES + int(torch.randint(50, (), generator=rng))
    # Las cifras del par también están dentro de otros símbolos, y ahí no son el par.
    left, right = (int(torch.randint(low, low + 15, (), generator=rng)) for low in (30, 10))
    digits = [100 + left, right, left, right, left, 10 * right, left]
    return [
        ([letters[x] for x in word], tuple(letters[x] for x in pair), new) for pair, word in words
    ] + [(digits, (left, right), new)]


def _different_symbols(symbols, pair, new):
    return pair[0] != pair[1]


MERGE = Exercise(
    name="tokenization.merge",
    points=2,
    partial=(Part("los pares de símbolos distintos", 1, cases=_different_symbols),),
    reference=_merge,
    cases=_merge_cases,
    misconceptions=(
        Misconception(
            "overlapping",
            _merge_with(used=lambda overlaps: 1 if overlaps else 2),
            "usas dos veces el mismo símbolo: en «aaa» hay dos pares «aa» que comparten la a del "
            "medio, y solo uno se puede fusionar; después de fusionar, salta los dos símbolos",
        ),
        Misconception(
            "from_the_right",
            _merge_with(direction=-1),
            "fusionas desde el final: cuando dos pares se enciman («aaa»), gana el de la izquierda",
        ),
        Misconception(
            "only_first",
            _merge_only_first,
            "fusionas una sola vez; hay que fusionar todas las apariciones",
        ),
        Misconception(
            "any_order",
            _merge_with(matches=lambda found, pair: found in (pair, pair[::-1])),
            "fusionas también el par al revés: (a, b) y (b, a) son pares distintos",
        ),
        Misconception(
            "keeps_second",
            _merge_with(used=lambda overlaps: 1),
            "dejas en su sitio uno de los dos símbolos del par: el nuevo ocupa el lugar de ambos",
        ),
        Misconception(
            "loses_last",
            _merge_with(unread=1),
            "el recorrido se detiene un símbolo antes: el que queda por mirar se pierde",
        ),
        Misconception(
            "in_blocks",
            _merge_with(copied=2, advanced=2),
            "miras los símbolos de dos en dos, sin repetir ninguno, y te saltas los pares que "
            "empiezan en medio: avanza dos solo si fusionaste",
        ),
        Misconception(
            "jumps_always",
            _merge_with(advanced=2),
            "avanzas dos lugares aunque no haya fusión, y se pierden símbolos por el camino",
        ),
        Misconception(
            "never",
            _merge_with(matches=lambda found, pair: False),
            "no fusionas nunca. Si ya comparas los símbolos con pair, recuerda que es una tupla, y "
            "que una lista con lo mismo no es igual a ella",
        ),
        Misconception(
            "each_symbol",
            _merge_with(
                matches=lambda found, pair: any(symbol in pair for symbol in found[:1]),
                used=lambda overlaps: 1,
            ),
            "miras por separado cada símbolo que está en el par; se fusionan los dos juntos, "
            "cuando uno sigue al otro",
        ),
        Misconception(
            "drops_pair",
            _merge_with(put=lambda new: []),
            "al fusionar no pones el símbolo nuevo, que va en el lugar del par",
        ),
    ),
)


# 3 · Qué par se fusiona


@combinable
def _best_pair_with(
    read=lambda words: words,
    neighbours=pairwise,
    add=lambda count, frequency: count + frequency,
    rank=lambda count, pair: (-count, pair),
):
    """El par que se fusiona, por pasos: qué se lee, qué pares hay, cómo se cuentan y cuál gana."""

    def implementation(words):
        counts = Counter()
        for symbols, frequency in read(words):
            for pair in neighbours(symbols):
                counts[pair] = add(counts[pair], frequency)
        return min(counts, key=lambda pair: rank(counts[pair], pair))

    return implementation


def _pair_cases(rng):
    texts = (
        (("ab", 5), ("cd", 1), ("cdc", 1), ("dcd", 1)),
        (("cd", 3), ("ab", 3), ("ef", 3)),
        (("bd", 3), ("be", 3), ("bc", 3), ("bf", 3)),
        (("b", 6), ("ac", 4)),
        (("aaa", 3), ("bc", 4), ("ef", 1)),
        (("abab", 3), ("cd", 4)),
        (("ab", 3), ("ba", 3), ("cd", 5)),
        (("bc", 2), ("ad", 2)),
        (("ab", 1), ("cd", 3)),
        (("cab", 3), ("dab", 3), ("ef", 4)),
        (("ef", 5), ("cd", 1)),
    )
    factors = torch.randint(1, 9, (len(texts),), generator=rng).tolist()
    letters = _symbols(rng)
    # El menor lo dice el primer símbolo que difiere, como número: ni la suma, ni sus cifras.
    small, n = (int(torch.randint(low, low + 8, (), generator=rng)) for low in (20, 1))
    ties = (
        ((small + 1, small + 2), (small, 200)),
        ((small + 60, small + 40), (small, small + 50)),
        ((100, small), (small + 70, small + 1)),
    )
    return [
        ([([letters[x] for x in word], n * k) for word, n in text],)
        for text, k in zip(texts, factors, strict=True)
    ] + [([(list(pair), n) for pair in pairs],) for pairs in ties]


def _as_one_word(words):
    return [([s for symbols, frequency in words for s in symbols * frequency], 1)]


def _without_overlap(symbols):
    """Cada par, tantas veces como se podría fusionar."""
    for pair in dict.fromkeys(pairwise(symbols)):
        yield from [pair] * _merge(symbols, pair, -1).count(-1)


BEST_PAIR = Exercise(
    name="tokenization.best_pair",
    points=2,
    reference=_best_pair_with(),
    cases=_pair_cases,
    misconceptions=(
        Misconception(
            "each_word_once",
            _best_pair_with(add=lambda count, frequency: count + 1),
            "cuentas cada palabra una sola vez: un par aparece tantas veces como su palabra, así "
            "que suma la frecuencia, no 1",
        ),
        Misconception(
            "across_words",
            _best_pair_with(read=_as_one_word),
            "cuentas pares formados por el final de una palabra y el principio de otra: las "
            "palabras no se tocan",
        ),
        Misconception(
            "presence",
            _best_pair_with(neighbours=lambda symbols: dict.fromkeys(pairwise(symbols))),
            "cuentas si el par está en la palabra, no cuántas veces está",
        ),
        Misconception(
            "without_overlap",
            _best_pair_with(neighbours=_without_overlap),
            "cuentas las fusiones que se podrían hacer; se cuentan los pares vecinos, y en «aaa» "
            "hay dos",
        ),
        Misconception(
            "unordered",
            _best_pair_with(neighbours=lambda s: [tuple(sorted(pair)) for pair in pairwise(s)]),
            "juntas (a, b) con (b, a): son pares distintos",
        ),
        Misconception(
            "first_seen",
            _best_pair_with(rank=lambda count, pair: -count),
            "cuando hay empate eliges el que apareció primero; la regla es el par menor, y así el "
            "resultado no depende del orden de los textos",
        ),
        Misconception(
            "largest_pair",
            _best_pair_with(rank=lambda count, pair: (-count, -pair[0], -pair[1])),
            "cuando hay empate eliges el par mayor, y la regla es el menor; cuidado con max "
            "sobre (cuenta, par)",
        ),
        Misconception(
            "first_symbol_only",
            _best_pair_with(rank=lambda count, pair: (-count, pair[0])),
            "el empate se deshace con el par entero: si el primer símbolo es el mismo, decide el "
            "segundo",
        ),
        Misconception(
            "least_frequent",
            _best_pair_with(rank=lambda count, pair: (count, pair)),
            "eliges el par con la menor cuenta, y se pide el más frecuente",
        ),
        Misconception(
            "second_symbol_first",
            _best_pair_with(rank=lambda count, pair: (-count, pair[::-1])),
            "en el empate miras primero el segundo símbolo del par; manda el primero",
        ),
        Misconception(
            "smallest_pair",
            _best_pair_with(rank=lambda count, pair: pair),
            "devuelves el par menor de todos, sin mirar cuántas veces está: la cuenta va primero",
        ),
        Misconception(
            "overwrites",
            _best_pair_with(add=lambda count, frequency: frequency),
            "guardas la frecuencia de la última palabra que tiene el par; hay que sumar las de "
            "todas, y todas las veces que está en cada una",
        ),
        Misconception(
            "last_word",
            _best_pair_with(read=lambda words: words[-1:]),
            "solo cuentan los pares de la última palabra: crea las cuentas antes del bucle",
        ),
        Misconception(
            "in_blocks",
            _best_pair_with(neighbours=lambda symbols: list(pairwise(symbols))[::2]),
            "cuentas los símbolos de dos en dos; también son vecinos el segundo y el tercero",
        ),
    ),
)


# 4 · Codificar con las fusiones aprendidas


@combinable
def _encode_with(
    fuse=_merge,
    source=lambda symbols, word: symbols,
    number=lambda place, used: place,
    stops=lambda is_there: False,
    first=BYTES,
):
    """Codificar, por pasos: cada fusión, con su número, sobre lo que dejó la anterior."""

    def implementation(word, merges):
        symbols, used = word, 0
        for place, pair in enumerate(merges):
            is_there = pair in pairwise(symbols)
            symbols = fuse(source(symbols, word), pair, BYTES + number(place, used))
            used += is_there
            if stops(is_there):
                break
        return [symbol if symbol < BYTES else symbol - BYTES + first for symbol in symbols]

    return implementation


def _encode_cases(rng):
    """Cada caso: las fusiones (letras, o el número de una anterior) y la palabra."""
    texts = (
        (("bc", "ab"), "abc"),
        (("ab", "cd", (0, "c")), "abcd"),
        (("ab", "bc", ("a", 1)), "abc"),
        (("ab", (0, "c"), (1, 1)), "abcabcab"),
        (("aa", (0, 0)), "aaaaaaa"),
        (("cd", "ab", (1, 0)), "fabcdabe"),
        (("ab",), "cde"),
        (("ef", "ab", (1, "c")), "abcab"),
    )
    letters = _symbols(rng)

    def number(x):
        return BYTES + x if isinstance(x, int) else letters[x]

    return [
        ([letters[x] for x in word], [tuple(map(number, pair)) for pair in merges])
        for merges, word in texts
    ]


def _while_possible(choose):
    """Fusiona un lugar cada vez, el que diga `choose(candidatos)`; un candidato es (token, i)."""

    def implementation(symbols, merges):
        symbols, ids = list(symbols), {pair: BYTES + i for i, pair in enumerate(merges)}
        while found := [(ids[p], i) for i, p in enumerate(pairwise(symbols)) if p in ids]:
            new, i = choose(found)
            symbols[i : i + 2] = [new]
        return symbols

    return implementation


def _longest_prefix(symbols, merges):
    """Toma cada vez el token más largo con que empieza lo que queda, como WordPiece."""
    spelled = {}
    for i, (left, right) in enumerate(merges):
        spelled[BYTES + i] = spelled.get(left, (left,)) + spelled.get(right, (right,))
    result, start = [], 0
    while start < len(symbols):
        options = [
            (len(letters), token)
            for token, letters in spelled.items()
            if tuple(symbols[start : start + len(letters)]) == letters
        ]
        size, token = max(options, default=(1, symbols[start]))
        result.append(token)
        start += size
    return result


def _merge_old_pairs(symbols, pair, new):
    return _merge(symbols, pair, new) if max(pair) < BYTES else symbols


def _merge_newborn(symbols, pair, new):
    """Como la solución, pero el símbolo recién nacido puede fusionarse otra vez."""
    result = []
    for symbol in symbols:
        result.append(symbol)
        if tuple(result[-2:]) == pair:
            result[-2:] = [new]
    return result


ENCODE = Exercise(
    name="tokenization.encode",
    points=2,
    reference=_encode_with(),
    cases=_encode_cases,
    misconceptions=(
        Misconception(
            "left_to_right",
            _while_possible(lambda found: min(found, key=lambda option: option[1])),
            "aplicas la primera fusión posible de izquierda a derecha; manda la antigüedad: "
            "primero la fusión que se aprendió antes, esté donde esté",
        ),
        Misconception(
            "newest_first",
            _while_possible(lambda found: max(found, key=lambda option: (option[0], -option[1]))),
            "empiezas por la fusión más reciente; se aplican en el orden en que se aprendieron",
        ),
        Misconception(
            "longest_prefix",
            _longest_prefix,
            "tomas el token más largo que encaja, que es lo que hace WordPiece; BPE repite las "
            "fusiones en su orden",
        ),
        Misconception(
            "one_merge",
            _encode_with(stops=lambda is_there: is_there),
            "aplicas una sola fusión y te detienes: sigue hasta que no quede ninguna posible",
        ),
        Misconception(
            "each_once",
            _encode_with(fuse=_merge_only_first),
            "aplicas cada fusión en un solo lugar: hay que fusionar todas las apariciones del par",
        ),
        Misconception(
            "numbered_from_zero",
            _encode_with(first=0),
            "numeras los tokens nuevos desde 0, y esos números ya son de los bytes: la fusión k da "
            "el token 256 + k",
        ),
        Misconception(
            "numbered_from_one",
            _encode_with(first=BYTES + 1),
            "los números de los tokens nuevos están corridos en uno: la primera fusión da el 256",
        ),
        Misconception(
            "numbered_too_low",
            _encode_with(first=BYTES - 1),
            "tu primer token nuevo es el 255, que es un byte: la primera fusión da el 256",
        ),
        Misconception(
            "never_merges_merged",
            _encode_with(fuse=_merge_old_pairs),
            "fusionas bytes, pero nunca los tokens que salieron de otra fusión: merges los nombra "
            "por su número, 256 + k",
        ),
        Misconception(
            "never_stored",
            _encode_with(fuse=lambda symbols, pair, new: symbols),
            "devuelves la palabra sin fusionar. Si ya llamas a merge, guarda lo que devuelve: no "
            "cambia la lista que recibe",
        ),
        Misconception(
            "last_only",
            _encode_with(source=lambda symbols, word: word),
            "aplicas cada fusión a la palabra original, y solo se conserva la última: parte de lo "
            "que dejó la anterior",
        ),
        Misconception(
            "stops_at_absent",
            _encode_with(stops=lambda is_there: not is_there),
            "te detienes en la primera fusión que no aparece en la palabra; puede que otra "
            "posterior sí aparezca",
        ),
        Misconception(
            "numbered_by_use",
            _encode_with(number=lambda place, used: used),
            "numeras las fusiones según las usas en esta palabra; su número es su lugar en merges, "
            "aparezca o no en la palabra",
        ),
        Misconception(
            "always_the_same_number",
            _encode_with(fuse=_merge_newborn, number=lambda place, used: 0),
            "todas tus fusiones dan el mismo token: la fusión k da el 256 + k",
        ),
    ),
)


# 5 · Similitud coseno


def _cosine_cases(rng):
    def randn(*shape, dtype=torch.float32):
        return 2 * torch.randn(shape, generator=rng, dtype=dtype)

    return [
        (randn(4, 3), randn(5, 3)),
        (randn(3, 3), randn(3, 3)),
        (randn(2, 6, dtype=torch.float64), randn(3, 6, dtype=torch.float64)),
    ]


def _unit(X):
    return X / X.norm(dim=-1, keepdim=True)


@combinable
def _cosine_with(
    first=_unit, second=_unit, compare=lambda X, Y: X @ Y.T, after=lambda cosines: cosines
):
    """La similitud, por pasos: cada vector entre su longitud, y el producto."""
    return lambda X, Y: after(compare(first(X), second(Y)))


def _as_it_is(X):
    return X


def _unit_columns(X):
    return X / X.norm(dim=0)


def _by_squares(X):
    return X / X.square().sum(dim=-1, keepdim=True)


def _by_whole_norm(X):
    return X / X.norm()


COSINE = Exercise(
    name="tokenization.cosine",
    answers=(
        "torch.nn.functional.cosine_similarity",
        "torch.cosine_similarity",
        "torch.nn.functional.cosine_embedding_loss",
        "torch.cosine_embedding_loss",
    ),
    points=1,
    reference=_cosine_with(),
    cases=_cosine_cases,
    tolerance=1e-5,  # quien suma un ε al divisor, para no dividir por cero, también acierta
    misconceptions=(
        Misconception(
            "dot_product",
            _cosine_with(first=_as_it_is, second=_as_it_is),
            "falta dividir por la longitud de los dos vectores, para que solo cuente la dirección",
        ),
        Misconception(
            "only_first",
            _cosine_with(second=_as_it_is),
            "falta dividir por la longitud de los vectores de Y",
        ),
        Misconception(
            "only_second",
            _cosine_with(first=_as_it_is),
            "falta dividir por la longitud de los vectores de X",
        ),
        Misconception(
            "squared_norms",
            _cosine_with(first=_by_squares, second=_by_squares),
            "divides por las longitudes al cuadrado: falta la raíz",
        ),
        Misconception(
            "missing_parentheses",
            _cosine_with(second=lambda Y: Y * Y.norm(dim=-1, keepdim=True)),
            "multiplicas por las longitudes de Y en lugar de dividir: en a / b * c, c no está en "
            "el divisor; faltan paréntesis",
        ),
        Misconception(
            "columns",
            _cosine_with(first=_unit_columns, second=_unit_columns),
            "normalizas las columnas; los vectores son las filas: la longitud va sobre el último "
            "eje",
        ),
        Misconception(
            "whole_matrix",
            _cosine_with(first=_by_whole_norm, second=_by_whole_norm),
            "divides por la norma de las matrices enteras; cada fila tiene su propia longitud",
        ),
        Misconception(
            "cosine_distance",
            _cosine_with(after=lambda cosines: 1 - cosines),
            "restas de 1 el resultado: así se pasa de similitud a distancia, y se pide la primera",
        ),
        Misconception(
            "absolute",
            _cosine_with(after=torch.abs),
            "pierdes el signo: dos vectores opuestos tienen similitud −1",
        ),
        Misconception(
            "euclidean",
            _cosine_with(first=_as_it_is, second=_as_it_is, compare=torch.cdist),
            "usas la distancia euclidiana, que sí depende de las longitudes",
        ),
        Misconception(
            "swapped",
            _cosine_with(compare=lambda X, Y: Y @ X.T),
            "la fila i debe ser la del vector i de X; la tuya es la de Y",
        ),
    ),
)


# 6 · Codificación posicional


def _positions_cases(rng):
    return [
        (300 + int(torch.randint(40, (), generator=rng)), 16),
        (20 + int(torch.randint(10, (), generator=rng)), 6),
        (4, 4),
    ]


def _interleaved(even, odd):
    return torch.stack([even, odd], dim=-1).flatten(-2)


def _in_two_blocks(even, odd):
    return torch.cat([even, odd], dim=-1)


def _multiplied(pos, i, d):
    """En float32, como la escribe quien no pide más: con ángulos tan grandes, la onda depende."""
    return pos.float() * 10_000 ** (2 * i.float() / d)


@combinable
def _positions_with(
    start=0,
    index=lambda column: column // 2,
    angle=lambda pos, i, d: pos / 10_000 ** (2 * i / d),
    even=torch.sin,
    odd=torch.cos,
    join=_interleaved,
):
    """Las posiciones, por pasos: la i de cada columna, su ángulo, sus ondas, y cómo se juntan."""

    def implementation(length, d_model):
        pos = torch.arange(start, start + length, dtype=torch.float64)[:, None]
        i = index(torch.arange(d_model, dtype=torch.float64))
        angles = angle(pos, i, d_model)
        return join(even(angles[:, ::2]), odd(angles[:, 1::2])).float()

    return implementation


POSITIONS = Exercise(
    name="tokenization.positions",
    points=2,
    reference=sinusoidal_positions,
    cases=_positions_cases,
    tolerance=1e-4,
    misconceptions=(
        Misconception(
            "concatenated",
            _positions_with(join=_in_two_blocks),
            "pones en un bloque las columnas pares y en otro las impares; en la fórmula se "
            "alternan",
        ),
        Misconception(
            "tensor2tensor",
            _positions_with(
                angle=lambda pos, i, d: pos / 10_000 ** (i / (d / 2 - 1)), join=_in_two_blocks
            ),
            "las columnas pares y las impares van en dos bloques y el exponente es i/(d/2 − 1), "
            "como en tensor2tensor; en el artículo se alternan y es 2i/d",
        ),
        Misconception(
            "i_instead_of_2i",
            _positions_with(angle=lambda pos, i, d: pos / 10_000 ** (i / d)),
            "usas i/d como exponente, y es 2i/d, con i el número del par",
        ),
        Misconception(
            "by_column",
            _positions_with(index=lambda column: column / 2),
            "cada columna tiene su propia frecuencia; el seno y el coseno de un par (columnas 2i "
            "y 2i + 1) comparten el exponente, 2i/d",
        ),
        Misconception(
            "twice_2i",
            _positions_with(angle=lambda pos, i, d: pos / 10_000 ** (4 * i / d)),
            "multiplicas dos veces por 2: si tu índice ya salta de dos en dos (0, 2, 4…), es 2i, y "
            "el exponente es ese índice entre d",
        ),
        Misconception(
            "from_one",
            _positions_with(start=1),
            "cuentas las posiciones desde 1, y la primera es la 0",
        ),
        Misconception(
            "cosine_first",
            _positions_with(even=torch.cos, odd=torch.sin),
            "el seno va en las columnas pares y el coseno en las impares; los tienes al revés",
        ),
        Misconception(
            "only_sines",
            _positions_with(odd=torch.sin),
            "usas el seno en todas las columnas: en las impares va el coseno",
        ),
        Misconception(
            "multiplied",
            _positions_with(angle=_multiplied),
            "multiplicas por 10000^(2i/d) en lugar de dividir: las ondas deben hacerse más "
            "lentas hacia la derecha",
        ),
        Misconception(
            "column_as_pair",
            _positions_with(index=lambda column: column),
            "usas el número de la columna como i: i es el número del par, y las columnas 0 y 1 "
            "tienen las dos i = 0",
        ),
        Misconception(
            "divides_the_power",
            _positions_with(angle=lambda pos, i, d: pos / (10_000 ** (2 * i) / d)),
            "la división por d va dentro del exponente: 10000**(2i)/d eleva primero y divide "
            "después; faltan paréntesis",
        ),
        Misconception(
            "divides_everything",
            _positions_with(angle=lambda pos, i, d: pos / 10_000 ** (2 * i) / d),
            "divides por d el ángulo entero, y solo se divide el exponente, 2i/d: faltan "
            "paréntesis",
        ),
        Misconception(
            "without_cosines",
            _positions_with(odd=torch.zeros_like),
            "las columnas impares se quedaron en cero: ahí va el coseno",
        ),
        Misconception(
            "no_power",
            _positions_with(angle=lambda pos, i, d: pos / 10_000 * 2 * i / d),
            "2i/d va en el exponente de 10000; escrito como un producto, pos/10000·2i/d, todos "
            "los ángulos quedan cerca de cero",
        ),
    ),
)


EXERCISES = (RAW_BYTES, MERGE, BEST_PAIR, ENCODE, COSINE, POSITIONS)
