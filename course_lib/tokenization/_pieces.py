"""Aprender los trozos de WordPiece: cada vez, la unión que más probable hace el texto."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from math import log

CONTINUES = "##"
DECIMALS = 6  # lo que sigue es redondeo, y no debe deshacer empates

Pair = tuple[str, str]


def alphabet(words: Mapping[str, int]) -> list[str]:
    """Los caracteres de unas palabras, en orden: primero los que empiezan, después los otros.

    Los que aparecen en una palabra de más de un carácter están de las dos maneras, «a» y «##a»:
    así, ninguna palabra hecha de ellos es desconocida.
    """
    inner = sorted({c for word in words if len(word) > 1 for c in word})
    return [*sorted({c for word in words for c in word}), *(CONTINUES + c for c in inner)]


def learn_pieces(words: Mapping[str, int], limit: int) -> list[str]:
    """Aprende hasta `limit` trozos: cada vez une los dos vecinos que más aumentan log P.

        log P = Σ_x c(x) log(c(x) / N)        el texto, con cada trozo x por su frecuencia

    Si dos pares empatan gana el menor, por orden alfabético. Se detiene antes si ninguna unión
    aumenta la probabilidad.

    Argumentos:
        words: cada palabra y cuántas veces aparece.
        limit: cuántos trozos nuevos como mucho.

    Devuelve:
        Los trozos, en el orden en que se aprendieron.
    """
    corpus = _Corpus(words)
    learned: list[str] = []
    while len(learned) < limit and corpus.pairs:
        gain, pair = corpus.best()
        if gain <= 0:
            break
        learned.append(corpus.merge(pair))
    return learned


def join(pair: Pair) -> str:
    """El trozo que forman dos vecinos."""
    return pair[0] + pair[1].removeprefix(CONTINUES)


class _Corpus:
    """Las palabras partidas, con cuántas veces está cada trozo y cada par, y dónde."""

    def __init__(self, words: Mapping[str, int]) -> None:
        self.weights = list(words.values())
        self.words = [[word[0], *(CONTINUES + c for c in word[1:])] for word in words]
        self.pieces: Counter[str] = Counter()
        self.pairs: Counter[Pair] = Counter()
        self.where: dict[Pair, set[int]] = {}
        for i in range(len(self.words)):
            self._count(i, 1)

    def best(self) -> tuple[float, Pair]:
        """El par que más aumenta log P, y cuánto."""
        total = self.pieces.total()
        whole = _x_log_x(total)
        gain, pair = min(
            (-round(self._gain(pair, n) + whole - _x_log_x(total - n), DECIMALS), pair)
            for pair, n in self.pairs.items()
        )
        return -gain, pair

    def _gain(self, pair: Pair, n: int) -> float:
        """Cuánto cambia Σ c log c si el par se une en los n lugares donde está."""
        left, right = pair
        gain = _x_log_x(n)  # el trozo es nuevo: unir en todas partes impide que nazca dos veces
        if left == right:
            c = self.pieces[left]
            return gain + _x_log_x(c - 2 * n) - _x_log_x(c)
        a, b = self.pieces[left], self.pieces[right]
        return gain + (_x_log_x(a - n) - _x_log_x(a)) + (_x_log_x(b - n) - _x_log_x(b))

    def merge(self, pair: Pair) -> str:
        """Une el par en todas las palabras y devuelve el trozo."""
        new = join(pair)
        for i in list(self.where[pair]):
            self._count(i, -1)
            self.words[i] = _merged(self.words[i], pair, new)
            self._count(i, 1)
        return new

    def _count(self, i: int, sign: int) -> None:
        """Suma (1) o quita (−1) de las cuentas lo que hay en la palabra i."""
        word, weight = self.words[i], sign * self.weights[i]
        for piece in word:
            self.pieces[piece] += weight
        for pair in _neighbours(word):
            self.pairs[pair] += weight
            self.where.setdefault(pair, set()).add(i)
            if not self.pairs[pair]:
                del self.pairs[pair], self.where[pair]


def _neighbours(word: list[str]) -> list[Pair]:
    """Los pares que se pueden unir; en «aaa», solo uno de los dos, que comparten una «a»."""
    pairs: list[Pair] = []
    used = False  # si el par anterior era igual a este y ya ocupa el primer trozo
    for i, pair in enumerate(pairwise(word)):
        used = pair[0] == pair[1] and i > 0 and word[i - 1] == pair[0] and not used
        if not used:
            pairs.append(pair)
    return pairs


def _merged(word: list[str], pair: Pair, new: str) -> list[str]:
    result: list[str] = []
    i = 0
    while i < len(word):
        if tuple(word[i : i + 2]) == pair:
            result.append(new)
            i += 2
        else:
            result.append(word[i])
            i += 1
    return result


@cache
def _x_log_x(x: int) -> float:
    return x * log(x) if x else 0.0
