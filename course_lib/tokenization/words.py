"""Un vocabulario de palabras enteras: lo más simple que convierte un texto en números."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from course_lib.files import write_atomically

SPECIAL_TOKENS = ("<pad>", "<unk>")


def split_words(text: str) -> list[str]:
    """Separa un texto en palabras y signos, en minúsculas.

    Ejemplo:
        >>> from course_lib.tokenization import split_words
        >>> split_words("¿Come el gato?")
        ['¿', 'come', 'el', 'gato', '?']
    """
    return re.findall(r"\w+|[^\w\s]", text.lower())


class WordVocabulary:
    """Numera las palabras más frecuentes; las demás son una sola palabra desconocida.

    El 0 es el relleno y el 1, la palabra desconocida; las palabras empiezan en el 2, de la más a la
    menos frecuente.

    Argumentos:
        words: las palabras, en su orden y sin repetir.

    Errores:
        ValueError: si una palabra se repite.

    Ejemplo:
        >>> from course_lib.tokenization import WordVocabulary
        >>> vocabulary = WordVocabulary.build(["el gato come", "el perro come"], max_words=2)
        >>> vocabulary.words
        ('<pad>', '<unk>', 'come', 'el')
        >>> vocabulary.encode("El ratón come")
        [3, 1, 2]
    """

    pad_id, unknown_id = 0, 1

    def __init__(self, words: Sequence[str]) -> None:
        self.words = (*SPECIAL_TOKENS, *words)
        self._ids = {word: number for number, word in enumerate(self.words)}
        if len(self._ids) < len(self.words):
            repeated = Counter(self.words).most_common(1)[0][0]
            raise ValueError(f"La palabra «{repeated}» está repetida: cada una lleva un número.")

    @classmethod
    def build(cls, texts: Iterable[str], *, max_words: int = 50_000) -> WordVocabulary:
        """Cuenta las palabras de unos textos y se queda con las más frecuentes.

        Argumentos:
            texts: los textos de entrenamiento, y solo esos.
            max_words: cuántas palabras como mucho, sin contar las dos especiales.

        Errores:
            ValueError: si max_words no es positivo o se pasa un solo texto en lugar de varios.
        """
        if max_words < 1:
            raise ValueError(f"max_words: se esperaba un entero positivo y llegó {max_words}.")
        if isinstance(texts, str):
            raise ValueError("Se esperaban varios textos y llegó uno: pásalo en una lista.")
        counts = Counter(word for text in texts for word in split_words(text))
        # A igual frecuencia, orden alfabético: el vocabulario no depende del orden de los textos.
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls(ranked[:max_words])

    @classmethod
    def load(cls, path: str | Path) -> WordVocabulary:
        """Lee un vocabulario guardado con `save`.

        Errores:
            ValueError: si el archivo no es un vocabulario.
        """
        try:
            words = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path}: no es el JSON que escribe `save` ({error}).") from error
        strings = isinstance(words, list) and all(isinstance(word, str) for word in words)
        if not strings or tuple(words[:2]) != SPECIAL_TOKENS:
            raise ValueError(
                f"{path}: se esperaba una lista de palabras que empiece por "
                f"{', '.join(SPECIAL_TOKENS)}. ¿Se guardó con `save`?"
            )
        return cls(words[2:])

    def save(self, path: str | Path) -> None:
        """Guarda las palabras, en su orden, en una lista JSON."""
        text = json.dumps(self.words, ensure_ascii=False, indent=0) + "\n"
        write_atomically(Path(path), text.encode("utf-8"))

    @property
    def vocab_size(self) -> int:
        """Tamaño del vocabulario, con los dos identificadores especiales."""
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Convierte un texto en identificadores."""
        return [self._ids.get(word, self.unknown_id) for word in split_words(text)]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Devuelve la palabra de cada identificador.

        Errores:
            ValueError: si un identificador está fuera del vocabulario.
        """
        ids = list(ids)
        for number in ids:
            if not 0 <= number < self.vocab_size:
                raise ValueError(
                    f"La palabra {number} no existe: el vocabulario va de 0 a "
                    f"{self.vocab_size - 1}."
                )
        return [self.words[number] for number in ids]
