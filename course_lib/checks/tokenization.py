"""Ejercicios del tema Tokenización y posiciones, y los errores frecuentes que saben explicar."""

from collections import Counter
from itertools import pairwise

import torch

from course_lib.grading.exercise import Exercise, Misconception, Part, no_inputs
from course_lib.primitives.positions import sinusoidal_positions

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


def _merge(symbols, pair, new):
    result, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            result.append(new)
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


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


def _merge_overlapping(symbols, pair, new):
    """Mira cada par, también los que comparten símbolo con uno ya fusionado."""
    result, used = [], -1
    for i, symbol in enumerate(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            result.append(new)
            used = i + 1
        elif i != used:
            result.append(symbol)
    return result


def _merge_from_the_right(symbols, pair, new):
    return _merge(symbols[::-1], pair[::-1], new)[::-1]


def _merge_only_first(symbols, pair, new):
    for i, found in enumerate(pairwise(symbols)):
        if found == pair:
            return [*symbols[:i], new, *symbols[i + 2 :]]
    return symbols


def _merge_any_order(symbols, pair, new):
    result, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) in (pair, pair[::-1]):
            result.append(new)
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


def _merge_keeps_second(symbols, pair, new):
    return [new if tuple(symbols[i : i + 2]) == pair else s for i, s in enumerate(symbols)]


def _merge_loses_last(symbols, pair, new):
    result, i = [], 0
    while i < len(symbols) - 1:
        found = tuple(symbols[i : i + 2]) == pair
        result.append(new if found else symbols[i])
        i += 2 if found else 1
    return result


def _merge_in_blocks(symbols, pair, new):
    """Parte la secuencia de dos en dos y mira solo esos pares."""
    result = []
    for i in range(0, len(symbols), 2):
        block = symbols[i : i + 2]
        result += [new] if tuple(block) == pair else block
    return result


def _merge_never(symbols, pair, new):
    return list(symbols)


def _merge_each_symbol(symbols, pair, new):
    return [new if symbol in pair else symbol for symbol in symbols]


def _merge_drops_pair(symbols, pair, new):
    return [symbol for symbol in _merge(symbols, pair, -1) if symbol != -1]


def _merge_jumps_always(symbols, pair, new):
    result, i = [], 0
    while i < len(symbols):
        found = tuple(symbols[i : i + 2]) == pair
        result.append(new if found else symbols[i])
        i += 2
    return result


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
            _merge_overlapping,
            "usas dos veces el mismo símbolo: en «aaa» hay dos pares «aa» que comparten la a del "
            "medio, y solo uno se puede fusionar; después de fusionar, salta los dos símbolos",
        ),
        Misconception(
            "from_the_right",
            _merge_from_the_right,
            "fusionas desde el final: cuando dos pares se enciman («aaa»), gana el de la izquierda",
        ),
        Misconception(
            "only_first",
            _merge_only_first,
            "fusionas solo la primera aparición; hay que fusionarlas todas",
        ),
        Misconception(
            "any_order",
            _merge_any_order,
            "fusionas también el par al revés: (a, b) y (b, a) son pares distintos",
        ),
        Misconception(
            "keeps_second",
            _merge_keeps_second,
            "pones el símbolo nuevo, pero dejas también el segundo del par: el nuevo ocupa el "
            "lugar de los dos",
        ),
        Misconception(
            "loses_last",
            _merge_loses_last,
            "pierdes el último símbolo cuando no forma par: el recorrido se detiene uno antes",
        ),
        Misconception(
            "in_blocks",
            _merge_in_blocks,
            "miras los símbolos de dos en dos (primero y segundo, tercero y cuarto…) y te saltas "
            "los pares que empiezan en medio: avanza dos solo si fusionaste",
        ),
        Misconception(
            "jumps_always",
            _merge_jumps_always,
            "avanzas dos lugares aunque no haya fusión, y se pierden símbolos por el camino",
        ),
        Misconception(
            "never",
            _merge_never,
            "no fusionas nunca: los símbolos salen como entraron. Si ya los comparas con pair, "
            "recuerda que es una tupla, y que una lista con lo mismo no es igual a ella",
        ),
        Misconception(
            "each_symbol",
            _merge_each_symbol,
            "cambias cada símbolo que está en el par por separado; se cambian los dos juntos, "
            "cuando uno sigue al otro, y por un solo símbolo",
        ),
        Misconception(
            "drops_pair",
            _merge_drops_pair,
            "quitas el par y no pones nada: en su lugar va el símbolo nuevo",
        ),
    ),
)


# 3 · Qué par se fusiona


def _pair_counts(words):
    counts = Counter()
    for symbols, frequency in words:
        for pair in pairwise(symbols):
            counts[pair] += frequency
    return counts


def _best_pair(words):
    counts = _pair_counts(words)
    return min(counts, key=lambda pair: (-counts[pair], pair))


def _pair_cases(rng):
    texts = (
        (("ab", 5), ("cd", 1), ("cdc", 1), ("dcd", 1)),
        (("cd", 3), ("ab", 3), ("ef", 3)),
        (("bd", 3), ("be", 3), ("bc", 3), ("bf", 3)),
        (("b", 6), ("ac", 4)),
        (("aaa", 3), ("bc", 4)),
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


def _most_counted(count):
    """El par que gana, con la regla de empate, si los pares se cuentan como diga `count`."""

    def implementation(words):
        counts = count(words)
        return min(counts, key=lambda pair: (-counts[pair], pair))

    return implementation


def _counts_each_word_once(words):
    return _pair_counts([(symbols, 1) for symbols, _ in words])


def _counts_across_words(words):
    return Counter(pairwise([s for symbols, n in words for s in symbols * n]))


def _counts_presence(words):
    counts = Counter()
    for symbols, frequency in words:
        for pair in set(pairwise(symbols)):
            counts[pair] += frequency
    return counts


def _counts_without_overlap(words):
    counts = Counter()
    for symbols, frequency in words:
        for pair in set(pairwise(symbols)):
            counts[pair] += frequency * _merge(symbols, pair, -1).count(-1)
    return counts


def _counts_unordered(words):
    counts = Counter()
    for pair, n in _pair_counts(words).items():
        counts[tuple(sorted(pair))] += n
    return counts


def _counts_last_word(words):
    return _pair_counts(words[-1:])


def _counts_overwrite(words):
    counts = {}
    for symbols, frequency in words:
        for pair in pairwise(symbols):
            counts[pair] = frequency
    return counts


def _counts_in_blocks(words):
    counts = Counter()
    for symbols, frequency in words:
        for i in range(0, len(symbols) - 1, 2):
            counts[symbols[i], symbols[i + 1]] += frequency
    return counts


def _smallest_pair(words):
    return min(_pair_counts(words))


def _second_symbol_first(words):
    counts = _pair_counts(words)
    return min(counts, key=lambda pair: (-counts[pair], pair[::-1]))


def _first_seen(words):
    counts = _pair_counts(words)
    return max(counts, key=counts.get)


def _largest_pair(words):
    counts = _pair_counts(words)
    return max(counts, key=lambda pair: (counts[pair], pair))


def _first_symbol_only(words):
    """Desempata con el primer símbolo, y deja el segundo al orden de aparición."""
    counts = _pair_counts(words)
    return min(counts, key=lambda pair: (-counts[pair], pair[0]))


def _least_frequent(words):
    counts = _pair_counts(words)
    return min(counts, key=lambda pair: (counts[pair], pair))


BEST_PAIR = Exercise(
    name="tokenization.best_pair",
    points=2,
    reference=_best_pair,
    cases=_pair_cases,
    misconceptions=(
        Misconception(
            "each_word_once",
            _most_counted(_counts_each_word_once),
            "cuentas cada palabra una sola vez: un par aparece tantas veces como su palabra, así "
            "que suma la frecuencia, no 1",
        ),
        Misconception(
            "across_words",
            _most_counted(_counts_across_words),
            "cuentas pares formados por el final de una palabra y el principio de otra: las "
            "palabras no se tocan",
        ),
        Misconception(
            "presence",
            _most_counted(_counts_presence),
            "cuentas si el par está en la palabra, no cuántas veces está",
        ),
        Misconception(
            "without_overlap",
            _most_counted(_counts_without_overlap),
            "cuentas las fusiones que se podrían hacer; se cuentan los pares vecinos, y en «aaa» "
            "hay dos",
        ),
        Misconception(
            "unordered",
            _most_counted(_counts_unordered),
            "juntas (a, b) con (b, a): son pares distintos",
        ),
        Misconception(
            "first_seen",
            _first_seen,
            "cuando hay empate eliges el que apareció primero; la regla es el par menor, y así el "
            "resultado no depende del orden de los textos",
        ),
        Misconception(
            "largest_pair",
            _largest_pair,
            "cuando hay empate eliges el par mayor, y la regla es el menor; cuidado con max "
            "sobre (cuenta, par)",
        ),
        Misconception(
            "first_symbol_only",
            _first_symbol_only,
            "el empate se deshace con el par entero: si el primer símbolo es el mismo, decide el "
            "segundo",
        ),
        Misconception(
            "least_frequent",
            _least_frequent,
            "devuelves el par menos frecuente",
        ),
        Misconception(
            "second_symbol_first",
            _second_symbol_first,
            "en el empate miras primero el segundo símbolo del par; manda el primero",
        ),
        Misconception(
            "smallest_pair",
            _smallest_pair,
            "devuelves el par menor de todos, sin mirar cuántas veces está: la cuenta va primero",
        ),
        Misconception(
            "overwrites",
            _most_counted(_counts_overwrite),
            "guardas la frecuencia de la última palabra que tiene el par; hay que sumar las de "
            "todas, y todas las veces que está en cada una",
        ),
        Misconception(
            "last_word",
            _most_counted(_counts_last_word),
            "solo cuentan los pares de la última palabra: crea las cuentas antes del bucle",
        ),
        Misconception(
            "in_blocks",
            _most_counted(_counts_in_blocks),
            "cuentas los símbolos de dos en dos; también son vecinos el segundo y el tercero",
        ),
    ),
)


# 4 · Codificar con las fusiones aprendidas


def _encode(symbols, merges):
    for i, pair in enumerate(merges):
        symbols = _merge(symbols, pair, BYTES + i)
    return list(symbols)


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


def _one_merge(symbols, merges):
    for i, pair in enumerate(merges):
        if pair in pairwise(symbols):
            return _merge(symbols, pair, BYTES + i)
    return list(symbols)


def _each_once(symbols, merges):
    for i, pair in enumerate(merges):
        symbols = _merge_only_first(symbols, pair, BYTES + i)
    return list(symbols)


def _numbered_from(first):
    def implementation(symbols, merges):
        def number(symbol):
            return symbol if symbol < BYTES else symbol - BYTES + first

        return [number(symbol) for symbol in _encode(symbols, merges)]

    return implementation


def _never_stored(symbols, merges):
    return list(symbols)


def _last_only(symbols, merges):
    """Aplica cada fusión a la palabra original: solo queda la última."""
    result = symbols
    for i, pair in enumerate(merges):
        result = _merge(symbols, pair, BYTES + i)
    return list(result)


def _stops_at_absent(symbols, merges):
    for i, pair in enumerate(merges):
        if pair not in pairwise(symbols):
            break
        symbols = _merge(symbols, pair, BYTES + i)
    return list(symbols)


def _numbered_by_use(symbols, merges):
    new = BYTES
    for pair in merges:
        if pair in pairwise(symbols):
            symbols, new = _merge(symbols, pair, new), new + 1
    return list(symbols)


def _always_the_same_number(symbols, merges):
    """Con la fusión de la solución: el símbolo recién nacido puede fusionarse otra vez."""
    for pair in merges:
        result = []
        for symbol in symbols:
            result.append(symbol)
            if tuple(result[-2:]) == pair:
                result[-2:] = [BYTES]
        symbols = result
    return list(symbols)


def _never_merges_merged(symbols, merges):
    """Aplica solo las fusiones de dos bytes."""
    for i, pair in enumerate(merges):
        if max(pair) < BYTES:
            symbols = _merge(symbols, pair, BYTES + i)
    return list(symbols)


ENCODE = Exercise(
    name="tokenization.encode",
    points=2,
    reference=_encode,
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
            _one_merge,
            "aplicas una sola fusión y te detienes: sigue hasta que no quede ninguna posible",
        ),
        Misconception(
            "each_once",
            _each_once,
            "aplicas cada fusión en un solo lugar: hay que fusionar todas las apariciones del par",
        ),
        Misconception(
            "numbered_from_zero",
            _numbered_from(0),
            "los tokens nuevos llevan el número de su fusión, y esos números ya son de los bytes: "
            "la fusión k da el token 256 + k",
        ),
        Misconception(
            "numbered_from_one",
            _numbered_from(BYTES + 1),
            "los números de los tokens nuevos están corridos en uno: la primera fusión da el 256",
        ),
        Misconception(
            "numbered_too_low",
            _numbered_from(BYTES - 1),
            "tu primer token nuevo es el 255, que es un byte: la primera fusión da el 256",
        ),
        Misconception(
            "never_merges_merged",
            _never_merges_merged,
            "fusionas bytes, pero nunca los tokens que salieron de otra fusión",
        ),
        Misconception(
            "never_stored",
            _never_stored,
            "devuelves la palabra sin fusionar. Si ya llamas a merge, guarda lo que devuelve: no "
            "cambia la lista que recibe",
        ),
        Misconception(
            "last_only",
            _last_only,
            "aplicas cada fusión a la palabra original, y solo se conserva la última: parte de lo "
            "que dejó la anterior",
        ),
        Misconception(
            "stops_at_absent",
            _stops_at_absent,
            "te detienes en la primera fusión que no aparece en la palabra; puede que otra "
            "posterior sí aparezca",
        ),
        Misconception(
            "numbered_by_use",
            _numbered_by_use,
            "numeras las fusiones según las usas en esta palabra; su número es su lugar en merges, "
            "aparezca o no en la palabra",
        ),
        Misconception(
            "always_the_same_number",
            _always_the_same_number,
            "todas tus fusiones dan el mismo token, el 256: la fusión k da el 256 + k",
        ),
    ),
)


# 5 · Similitud coseno


def _cosine(X, Y):
    return torch.nn.functional.cosine_similarity(X[:, None], Y[None], dim=-1)


def _cosine_cases(rng):
    def randn(*shape, dtype=torch.float32):
        return 2 * torch.randn(shape, generator=rng, dtype=dtype)

    return [
        (randn(4, 3), randn(5, 3)),
        (randn(3, 3), randn(3, 3)),
        (randn(2, 6, dtype=torch.float64), randn(3, 6, dtype=torch.float64)),
    ]


def _unit(X, dim=-1):
    return X / X.norm(dim=dim, keepdim=True)


COSINE = Exercise(
    name="tokenization.cosine",
    answers=(
        "torch.nn.functional.cosine_similarity",
        "torch.cosine_similarity",
        "torch.nn.functional.cosine_embedding_loss",
        "torch.cosine_embedding_loss",
    ),
    points=1,
    reference=_cosine,
    cases=_cosine_cases,
    tolerance=1e-5,  # quien suma un ε al divisor, para no dividir por cero, también acierta
    misconceptions=(
        Misconception(
            "dot_product",
            lambda X, Y: X @ Y.T,
            "es el producto escalar: falta dividir por la longitud de los dos vectores, para que "
            "solo cuente la dirección",
        ),
        Misconception(
            "only_first",
            lambda X, Y: _unit(X) @ Y.T,
            "divides solo por la longitud de los vectores de X; faltan los de Y",
        ),
        Misconception(
            "only_second",
            lambda X, Y: X @ _unit(Y).T,
            "divides solo por la longitud de los vectores de Y; faltan los de X",
        ),
        Misconception(
            "squared_norms",
            lambda X, Y: X @ Y.T / (X.square().sum(-1)[:, None] * Y.square().sum(-1)),
            "divides por las longitudes al cuadrado: falta la raíz",
        ),
        Misconception(
            "missing_parentheses",
            lambda X, Y: X @ Y.T / X.norm(dim=-1)[:, None] * Y.norm(dim=-1),
            "divides por las longitudes de X y multiplicas por las de Y: en a / b * c, c no está "
            "en el divisor; faltan paréntesis",
        ),
        Misconception(
            "columns",
            lambda X, Y: _unit(X, 0) @ _unit(Y, 0).T,
            "normalizas las columnas; los vectores son las filas: la longitud va sobre el último "
            "eje",
        ),
        Misconception(
            "whole_matrix",
            lambda X, Y: X @ Y.T / (X.norm() * Y.norm()),
            "divides por la norma de las matrices enteras; cada fila tiene su propia longitud",
        ),
        Misconception(
            "cosine_distance",
            lambda X, Y: 1 - _cosine(X, Y),
            "es la distancia coseno, 1 − similitud; dos vectores iguales deben dar 1",
        ),
        Misconception(
            "absolute",
            lambda X, Y: _cosine(X, Y).abs(),
            "pierdes el signo: dos vectores opuestos tienen similitud −1",
        ),
        Misconception(
            "euclidean",
            lambda X, Y: torch.cdist(X, Y),
            "es la distancia euclidiana, que sí depende de las longitudes",
        ),
        Misconception(
            "swapped",
            lambda X, Y: _cosine(Y, X),
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


def _angles(length, exponents, first=0):
    positions = torch.arange(first, first + length, dtype=torch.float64)[:, None]
    return positions / 10_000 ** torch.as_tensor(exponents, dtype=torch.float64)


def _pairs(d_model):
    return torch.arange(d_model // 2, dtype=torch.float64)


def _interleaved(even, odd):
    return torch.stack([even, odd], dim=-1).flatten(-2).float()


def _with_exponent(exponent):
    def implementation(length, d_model):
        angles = _angles(length, exponent(_pairs(d_model), d_model))
        return _interleaved(angles.sin(), angles.cos())

    return implementation


def _concatenated(exponent):
    def implementation(length, d_model):
        angles = _angles(length, exponent(_pairs(d_model), d_model))
        return torch.cat([angles.sin(), angles.cos()], dim=-1).float()

    return implementation


def _exponent(i, d):
    return 2 * i / d


def _by_column(length, d_model):
    angles = _angles(length, torch.arange(d_model) / d_model)
    return _interleaved(angles[:, ::2].sin(), angles[:, 1::2].cos())


def _from_one(length, d_model):
    angles = _angles(length, _exponent(_pairs(d_model), d_model), first=1)
    return _interleaved(angles.sin(), angles.cos())


def _cosine_first(length, d_model):
    angles = _angles(length, _exponent(_pairs(d_model), d_model))
    return _interleaved(angles.cos(), angles.sin())


def _only_sines(length, d_model):
    angles = _angles(length, _exponent(_pairs(d_model), d_model))
    return _interleaved(angles.sin(), angles.sin())


def _multiplied(length, d_model):
    angles = _angles(length, -_exponent(_pairs(d_model), d_model))
    return _interleaved(angles.sin(), angles.cos())


def _column_as_pair(length, d_model):
    """El número de la columna en lugar del número del par."""
    angles = _angles(length, 2 * torch.arange(d_model) / d_model)
    return _interleaved(angles[:, ::2].sin(), angles[:, 1::2].cos())


def _divides_the_power(length, d_model):
    positions = torch.arange(length, dtype=torch.float64)[:, None]
    angles = positions / (10_000 ** (2 * _pairs(d_model)) / d_model)
    return _interleaved(angles.sin(), angles.cos())


def _divides_everything(length, d_model):
    positions = torch.arange(length, dtype=torch.float64)[:, None]
    angles = positions / 10_000 ** (2 * _pairs(d_model)) / d_model
    return _interleaved(angles.sin(), angles.cos())


def _without_cosines(length, d_model):
    angles = _angles(length, _exponent(_pairs(d_model), d_model))
    return _interleaved(angles.sin(), torch.zeros_like(angles))


def _no_power(length, d_model):
    positions = torch.arange(length, dtype=torch.float64)[:, None]
    angles = positions / 10_000 * 2 * _pairs(d_model) / d_model
    return _interleaved(angles.sin(), angles.cos())


POSITIONS = Exercise(
    name="tokenization.positions",
    points=2,
    reference=sinusoidal_positions,
    cases=_positions_cases,
    tolerance=1e-4,
    misconceptions=(
        Misconception(
            "concatenated",
            _concatenated(_exponent),
            "pones primero todos los senos y después todos los cosenos; en la fórmula se "
            "alternan: columnas pares e impares",
        ),
        Misconception(
            "tensor2tensor",
            _concatenated(lambda i, d: i / (d / 2 - 1)),
            "es la variante de tensor2tensor: senos y cosenos en dos bloques y exponente "
            "i/(d/2 − 1); la del artículo alterna y usa 2i/d",
        ),
        Misconception(
            "i_instead_of_2i",
            _with_exponent(lambda i, d: i / d),
            "el exponente es 2i/d, con i el número del par; con i/d, las ondas lentas nunca llegan "
            "a serlo",
        ),
        Misconception(
            "by_column",
            _by_column,
            "cada columna tiene su propia frecuencia; el seno y el coseno de un par (columnas 2i "
            "y 2i + 1) comparten la misma, 2i",
        ),
        Misconception(
            "twice_2i",
            _with_exponent(lambda i, d: 4 * i / d),
            "multiplicas dos veces por 2: si tu índice ya salta de dos en dos (0, 2, 4…), es 2i, y "
            "el exponente es ese índice entre d",
        ),
        Misconception(
            "from_one",
            _from_one,
            "las posiciones empiezan en 0: la primera fila es 0, 1, 0, 1…",
        ),
        Misconception(
            "cosine_first",
            _cosine_first,
            "el seno va en las columnas pares y el coseno en las impares; los tienes al revés",
        ),
        Misconception(
            "only_sines",
            _only_sines,
            "usas el seno en todas las columnas: en las impares va el coseno",
        ),
        Misconception(
            "multiplied",
            _multiplied,
            "multiplicas por 10000^(2i/d) en lugar de dividir: las ondas deben hacerse más "
            "lentas hacia la derecha",
        ),
        Misconception(
            "column_as_pair",
            _column_as_pair,
            "usas el número de la columna como i: i es el número del par, y las columnas 0 y 1 "
            "tienen las dos i = 0",
        ),
        Misconception(
            "divides_the_power",
            _divides_the_power,
            "la división por d está dentro del exponente: 10000**(2i)/d eleva primero y divide "
            "después; faltan paréntesis",
        ),
        Misconception(
            "divides_everything",
            _divides_everything,
            "divides el ángulo entero por d, y es el exponente, 2i/d, el que la lleva: faltan "
            "paréntesis",
        ),
        Misconception(
            "without_cosines",
            _without_cosines,
            "las columnas impares se quedaron en cero: ahí va el coseno",
        ),
        Misconception(
            "no_power",
            _no_power,
            "2i/d va en el exponente de 10000; escrito como un producto, pos/10000·2i/d, casi "
            "todos los ángulos son cero",
        ),
    ),
)


EXERCISES = (RAW_BYTES, MERGE, BEST_PAIR, ENCODE, COSINE, POSITIONS)
