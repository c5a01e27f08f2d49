"""Los dos bucles de la codificación por pares: aprender las fusiones y aplicarlas.

Los dos guardan la palabra como una cadena enlazada (quién va antes y quién después) y las
candidatas en un montículo: fusionar un par toca solo a sus vecinos, y nada se recorre entero.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import pairwise

Pair = tuple[int, int]

BORDER = -1  # entre palabra y palabra; también, el hueco que deja el segundo de un par


def learn_merges(
    words: Mapping[Sequence[int], int], first_id: int, limit: int, min_frequency: int = 1
) -> list[Pair]:
    """Aprende hasta `limit` fusiones: cada vez, el par vecino más frecuente de las palabras.

    Un par cuenta tantas veces como la palabra que lo contiene. Si dos empatan gana el menor, por
    su primer número y después por el segundo. Las cuentas no se rehacen: cada fusión corrige las
    de sus vecinos. El montículo puede guardar cuentas viejas, que siempre son mayores que la
    verdadera; una que sale vieja vuelve a entrar con la buena.

    Argumentos:
        words: cada palabra, como secuencia de números, y cuántas veces aparece.
        first_id: el número del primer símbolo nuevo; los siguientes lo siguen.
        limit: cuántas fusiones como mucho.
        min_frequency: con menos apariciones, un par no se fusiona.

    Devuelve:
        Los pares, en el orden en que se aprendieron.
    """
    chain = _Chain(words)
    queue = [(-count, pair) for pair, count in chain.counts.items()]
    heapify(queue)
    merges: list[Pair] = []
    while queue and len(merges) < limit:
        count, pair = heappop(queue)
        current = chain.counts[pair]
        if -count != current:
            heappush(queue, (-current, pair))
        elif current < min_frequency:
            break
        else:
            for newborn in chain.merge(pair, first_id + len(merges)):
                heappush(queue, (-chain.counts[newborn], newborn))
            merges.append(pair)
    return merges


class _Chain:
    """Todas las palabras en una sola cadena, con cuántas veces está cada par y dónde."""

    def __init__(self, words: Mapping[Sequence[int], int]) -> None:
        self.symbols, self.weights = [BORDER], [0]
        for word, weight in words.items():
            self.symbols += [*word, BORDER]
            self.weights += [weight] * (len(word) + 1)
        self.before = list(range(-1, len(self.symbols) - 1))
        self.after = list(range(1, len(self.symbols) + 1))
        self.counts: dict[Pair, int] = defaultdict(int)
        self.places: dict[Pair, list[int]] = defaultdict(list)
        for i, pair in enumerate(pairwise(self.symbols)):
            if BORDER not in pair:
                self.counts[pair] += self.weights[i]
                self.places[pair].append(i)

    def merge(self, pair: Pair, new: int) -> list[Pair]:
        """Cambia el par por el símbolo `new` donde esté, y devuelve los pares que nacen."""
        left, right = pair
        symbols, before, after, counts = self.symbols, self.before, self.after, self.counts
        born: dict[Pair, list[int]] = defaultdict(list)
        # Los lugares se anotan en orden: en una racha («aaaa») se fusiona de izquierda a derecha.
        for i in self.places.pop(pair):
            j = after[i]
            if symbols[i] != left or symbols[j] != right:
                continue  # otra fusión pasó antes por aquí
            h, k, weight = before[i], after[j], self.weights[i]
            symbols[i], symbols[j] = new, BORDER
            after[i], before[k] = k, i
            previous, following = symbols[h], symbols[k]
            if previous != BORDER:
                counts[previous, left] -= weight
                counts[previous, new] += weight
                born[previous, new].append(h)
            if following != BORDER:
                counts[right, following] -= weight
                counts[new, following] += weight
                born[new, following].append(i)
        del counts[pair]
        self.places.update(born)
        return list(born)


def apply_merges(symbols: Sequence[int], merged: Mapping[Pair, int]) -> list[int]:
    """Aplica a una palabra las fusiones aprendidas: siempre la más antigua de las posibles.

    Argumentos:
        symbols: los símbolos de la palabra.
        merged: el símbolo nuevo de cada par; los más antiguos tienen los números menores.

    Devuelve:
        Los símbolos que quedan cuando ya ningún par vecino tiene fusión.
    """
    symbols, end = [*symbols, BORDER], len(symbols)
    before, after = list(range(-1, end)), list(range(1, end + 2))
    pairs = enumerate(pairwise(symbols))
    queue = [(merged[pair], i) for i, pair in pairs if pair in merged]
    heapify(queue)
    while queue:
        new, i = heappop(queue)
        j = after[i]
        if j > end or merged.get((symbols[i], symbols[j])) != new:
            continue  # otra fusión pasó antes por aquí
        h, k = before[i], after[j]
        symbols[i], symbols[j] = new, BORDER
        after[i], before[k] = k, i
        if h >= 0 and (symbols[h], new) in merged:
            heappush(queue, (merged[symbols[h], new], h))
        if (new, symbols[k]) in merged:
            heappush(queue, (merged[new, symbols[k]], i))
    return [symbol for symbol in symbols if symbol != BORDER]
