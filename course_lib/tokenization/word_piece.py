"""WordPiece: el tokenizador de BERT, con un vocabulario leído o aprendido de textos."""

from __future__ import annotations

import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import regex

from course_lib.files import write_atomically
from course_lib.tokenization._pieces import CONTINUES, alphabet, learn_pieces

UNKNOWN, CLASS, SEPARATOR = "[UNK]", "[CLS]", "[SEP]"
SPECIAL_TOKENS = ("[PAD]", UNKNOWN, CLASS, SEPARATOR, "[MASK]")
LONGEST_WORD = 100
CACHED_WORDS = 2**16

# Control, formato, uso privado y sustitutos; lo que Unicode aún no asigna se queda.
CONTROL = ("Cc", "Cf", "Co", "Cs")

# Bloques de ideogramas: cada uno es una palabra por sí solo.
IDEOGRAMS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """Parte cada palabra en los trozos más largos de un vocabulario, de izquierda a derecha.

    Antes limpia el texto y lo separa en palabras y signos, como BERT: sin caracteres de control,
    en minúsculas y sin tildes (si `lowercase`), y cada signo de puntuación o ideograma aparte. Un
    trozo que no empieza palabra se escribe con «##» delante. La palabra que no se puede formar
    entera, o que pasa de 100 caracteres, es un solo «[UNK]».

    A diferencia de `ByteBPE` no es reversible: `decode` no recupera ni mayúsculas ni espacios.

    Argumentos:
        vocabulary: archivo de texto (`vocab.txt`) con un token por línea, cuyo número es el de la
            línea, desde 0; o una lista con los tokens, en ese orden.
        lowercase: si pasa a minúsculas; para los modelos «cased», False.
        strip_accents: si quita tildes y diéresis (ñ queda en n); por defecto, lo que `lowercase`.

    Errores:
        FileNotFoundError: si el archivo no existe.
        ValueError: si no es texto UTF-8, no tiene el token «[UNK]» o la lista repite un token.

    Fuente: Schuster y Nakajima (2012); Wu et al. (2016), §4.1; Devlin et al. (2018), §3; capítulo
    `tokenization`.

    Ejemplo:
        >>> from course_lib.tokenization import WordPiece
        >>> pieces = WordPiece(["[UNK]", "[CLS]", "[SEP]", "gat", "##o", "##os", "comen"])
        >>> pieces.tokens("Los gatos comen")
        ['[UNK]', 'gat', '##os', 'comen']
        >>> pieces.encode_pair("gato", "comen")  # tokens y segmentos
        ([1, 3, 4, 2, 6, 2], [0, 0, 0, 0, 1, 1])
        >>> pieces.decode([3, 5, 6])
        'gatos comen'
    """

    def __init__(
        self,
        vocabulary: str | os.PathLike | Sequence[str],
        *,
        lowercase: bool = True,
        strip_accents: bool | None = None,
    ) -> None:
        is_file = isinstance(vocabulary, str | os.PathLike)
        read = _read_vocabulary if is_file else _valid_vocabulary
        self.vocabulary = read(vocabulary)
        self.lowercase = lowercase
        self.strip_accents = lowercase if strip_accents is None else strip_accents
        self._ids = {token: i for i, token in enumerate(self.vocabulary)}
        self._longest = max(map(len, self.vocabulary))
        self._special = [name for name in SPECIAL_TOKENS if name in self._ids]
        names = "|".join(map(regex.escape, self._special))
        self._special_pattern = regex.compile(f"({names})")
        self._split = lru_cache(CACHED_WORDS)(self._split_word)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        *,
        lowercase: bool = True,
        strip_accents: bool = False,
    ) -> WordPiece:
        """Aprende un vocabulario de unos textos, uniendo trozos que suelen ir juntos.

        Empieza por los caracteres. Cada vez une los dos trozos vecinos que más aumentan la
        probabilidad del texto cuando cada trozo x tiene la de su frecuencia, c(x)/N:

            Δ log P = f(n) + f(c_a − n) − f(c_a) + f(c_b − n) − f(c_b) + f(N) − f(N − n)

        con f(c) = c log c y n, las veces que b sigue a a. Si n es pequeño, se parece a
        n · log(n N / (c_a c_b)): por cada unión, el cociente n / (c_a c_b) con que se suele contar
        este método; multiplicado por n, no premia a los pares que apenas aparecen. El método de
        Google no se publicó entero: el artículo de 2012 dice qué se maximiza, no con qué modelo.

        En el vocabulario van primero los tokens especiales, de «[PAD]» (0) a «[MASK]» (4); después
        los caracteres, y los trozos en el orden en que se aprendieron. Los mismos textos dan
        siempre el mismo.

        Argumentos:
            texts: los textos de entrenamiento, y solo esos; pueden llegar de uno en uno.
            vocab_size: tamaño del vocabulario, con los especiales y los caracteres. Si antes
                ninguna unión aumenta la probabilidad, resulta menor.
            lowercase, strip_accents: como en la clase; pero aquí, si no se pide, las tildes se
                quedan: en español distinguen palabras («papa», «papá»).

        Errores:
            ValueError: si `texts` es un solo texto, no son textos o no tienen palabras, o si en
            `vocab_size` no caben los especiales y los caracteres.

        Fuente: Schuster y Nakajima (2012), §2; capítulo `bert`, `eq-wordpiece-gain`.

        Ejemplo:
            >>> from course_lib.tokenization import WordPiece
            >>> pieces = WordPiece.train(["canta cantan cantar", "come comen comer"], 28)
            >>> pieces.vocabulary[21:]  # tras los especiales y los caracteres, lo aprendido
            ('##me', '##ome', '##nt', '##ant', '##anta', 'canta', 'come')
            >>> pieces.tokens("cantaron")
            ['canta', '##r', '##o', '##n']
        """
        empty = cls(SPECIAL_TOKENS, lowercase=lowercase, strip_accents=strip_accents)
        words = _count_words(texts, empty)
        known = [*SPECIAL_TOKENS, *alphabet(words)]
        _require_room(vocab_size, len(known))
        vocabulary = [*known, *learn_pieces(words, vocab_size - len(known))]
        return cls(vocabulary, lowercase=lowercase, strip_accents=strip_accents)

    def save(self, path: str | os.PathLike) -> None:
        """Guarda el vocabulario en un archivo (`vocab.txt`), entero o nada.

        `lowercase` y `strip_accents` no van en él: hay que repetirlos al leerlo. Las carpetas que
        falten se crean.
        """
        write_atomically(Path(path), ("\n".join(self.vocabulary) + "\n").encode("utf-8"))

    @property
    def vocab_size(self) -> int:
        """Cuántos tokens hay en el vocabulario."""
        return len(self.vocabulary)

    def tokens(self, text: str, *, special: bool = False) -> list[str]:
        """Parte un texto en tokens, escritos como en el vocabulario.

        Argumentos:
            text: el texto.
            special: si los nombres de los tokens especiales que aparezcan en el texto («[MASK]»)
                se convierten en ellos; con False son letras y corchetes como otros.

        Errores:
            ValueError: si no es un texto.
        """
        if not isinstance(text, str):
            raise ValueError(f"Se esperaba un texto (str) y llegó {type(text).__name__}.")
        parts = self._special_pattern.split(text) if special else [text]
        result: list[str] = []
        for part in parts:
            if special and part in self._special:
                result.append(part)
            else:
                for word in self.words(part):
                    result += self._split(word)
        return result

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Convierte un texto en números de tokens; `special`, como en `tokens`."""
        return [self._ids[token] for token in self.tokens(text, special=special)]

    def encode_pair(self, first: str, second: str | None = None) -> tuple[list[int], list[int]]:
        """Prepara la entrada de BERT: «[CLS] primera [SEP]» o «[CLS] primera [SEP] segunda [SEP]».

        Devuelve:
            Los números de los tokens y los del segmento de cada uno: 0 en la primera oración (con
            su «[CLS]» y su «[SEP]»), 1 en la segunda.
        """
        ids = [self.special(CLASS), *self.encode(first), self.special(SEPARATOR)]
        segments = [0] * len(ids)
        if second is not None:
            more = [*self.encode(second), self.special(SEPARATOR)]
            ids, segments = ids + more, segments + [1] * len(more)
        return ids, segments

    def decode(self, ids: Iterable[int], *, skip_special: bool = True) -> str:
        """Une los tokens en un texto legible: con espacios, salvo los que continúan palabra.

        Errores:
            ValueError: si un número está fuera del vocabulario.
        """
        names = [self.token(i) for i in map(int, ids)]
        if skip_special:
            names = [name for name in names if name not in self._special]
        return " ".join(names).replace(f" {CONTINUES}", "")

    def token(self, token_id: int) -> str:
        """Devuelve el token de un número.

        Errores:
            ValueError: si el número está fuera del vocabulario.
        """
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(
                f"El token {token_id} no existe: el vocabulario va de 0 a {self.vocab_size - 1}."
            )
        return self.vocabulary[token_id]

    def special(self, name: str) -> int:
        """Devuelve el número de un token especial, como «[CLS]».

        Errores:
            ValueError: si el vocabulario no lo tiene.
        """
        if name not in self._special:
            known = ", ".join(self._special)
            raise ValueError(f"El vocabulario no tiene el token especial «{name}»; tiene: {known}.")
        return self._ids[name]

    def words(self, text: str) -> list[str]:
        """Limpia un texto y lo separa en palabras, signos e ideogramas."""
        text = "".join(_cleaned(text))
        if self.strip_accents:
            decomposed = unicodedata.normalize("NFD", text)
            text = "".join(c for c in decomposed if unicodedata.category(c) != "Mn")
        if self.lowercase:
            text = "".join(c.lower() for c in text)  # carácter a carácter: sin la sigma final
        return [piece for word in text.split() for piece in _separate_marks(word)]

    def _split_word(self, word: str) -> tuple[str, ...]:
        """Toma cada vez el trozo más largo del vocabulario con que empieza lo que queda."""
        if len(word) > LONGEST_WORD:
            return (UNKNOWN,)
        pieces: list[str] = []
        start = 0
        while start < len(word):
            prefix = CONTINUES if start else ""
            for end in range(min(len(word), start + self._longest), start, -1):
                if prefix + word[start:end] in self._ids:
                    break
            else:
                return (UNKNOWN,)
            pieces.append(prefix + word[start:end])
            start = end
        return tuple(pieces)


def _read_vocabulary(path: str | os.PathLike) -> tuple[str, ...]:
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: se esperaba texto UTF-8, un token por línea: {error}") from error
    # Solo «\n» separa: otros saltos de línea de Unicode pueden ser parte de un token.
    lines = text.removesuffix("\n").split("\n")
    tokens = tuple(line.rstrip() for line in lines)
    if UNKNOWN not in tokens:
        raise ValueError(
            f"{path}: entre sus {len(tokens)} líneas falta el token «{UNKNOWN}»; se esperaba un "
            "vocab.txt de BERT, con un token por línea."
        )
    return tokens


def _valid_vocabulary(tokens: Sequence[str]) -> tuple[str, ...]:
    tokens = tuple(tokens)
    for token in tokens:
        # Con un salto de línea dentro, o espacio al final, no se podría guardar y volver a leer.
        if not isinstance(token, str) or token != token.rstrip() or "\n" in token:
            raise ValueError(
                f"vocabulary: se esperaban tokens sin espacios al final y llegó {token!r:.60}."
            )
    if UNKNOWN not in tokens:
        raise ValueError(f"vocabulary: entre sus {len(tokens)} tokens falta «{UNKNOWN}».")
    if len(set(tokens)) < len(tokens):
        repeated = Counter(tokens).most_common(1)[0][0]
        raise ValueError(f"vocabulary: el token «{repeated}» está repetido.")
    return tokens


def _count_words(texts: Iterable[str], splitter: WordPiece) -> Counter[str]:
    """Cuántas veces está cada palabra; las que por largas serían desconocidas no cuentan."""
    if isinstance(texts, str):
        raise ValueError("texts: se esperaban varios textos y llegó uno; pásalo en una lista.")
    counts: Counter[str] = Counter()
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"texts: se esperaban textos y llegó {type(text).__name__}.")
        counts.update(word for word in splitter.words(text) if len(word) <= LONGEST_WORD)
    if not counts:
        raise ValueError("texts: se esperaban textos con alguna palabra y no hay ninguna.")
    return counts


def _require_room(vocab_size: int, needed: int) -> None:
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
        raise ValueError(f"vocab_size: se esperaba un número entero y llegó {vocab_size!r:.60}.")
    if vocab_size < needed:
        raise ValueError(
            f"vocab_size: llegó {vocab_size} y hacen falta al menos {needed}: "
            f"{len(SPECIAL_TOKENS)} tokens especiales y {needed - len(SPECIAL_TOKENS)} caracteres, "
            "al principio de una palabra o dentro de ella."
        )


def _cleaned(text: str) -> Iterator[str]:
    """Quita los caracteres de control, unifica los espacios y rodea de ellos los ideogramas."""
    for c in text:
        if c in "\t\n\r":
            yield " "
        elif c == "\ufffd" or (category := unicodedata.category(c)) in CONTROL:
            continue
        elif category[0] == "Z":
            yield " "
        elif _is_ideogram(c):
            yield f" {c} "
        else:
            yield c


def _is_ideogram(c: str) -> bool:
    return any(first <= ord(c) <= last for first, last in IDEOGRAMS)


def _is_mark(c: str) -> bool:
    """Dice si es un signo: la puntuación de Unicode y todo ASCII que no es letra ni cifra."""
    return unicodedata.category(c)[0] == "P" or (c.isascii() and not c.isalnum())


def _separate_marks(word: str) -> Iterator[str]:
    for is_mark, group in groupby(word, _is_mark):
        if is_mark:
            yield from group
        else:
            yield "".join(group)
