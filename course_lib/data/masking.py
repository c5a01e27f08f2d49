"""Tareas para aprender de texto sin etiquetas: palabras ocultas y pares de oraciones."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from numbers import Integral, Real
from random import Random
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Tensor

IGNORED = -100
FOLLOWS, RANDOM = 0, 1
PAD, UNKNOWN, CLASS, SEPARATOR, MASK = "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"
CONTINUES = "##"
MASKED_SHARE, RANDOM_SHARE = 0.8, 0.1
TRIES = 100

TokenIds = Int[Tensor, "batch t"]
Sentence = str | Sequence[int]


class Masked(NamedTuple):
    """Un lote con tokens ocultos: lo que se lee y lo que hay que adivinar.

    Argumentos:
        token_ids: el lote, con los elegidos ya cambiados, `[batch, t]`.
        labels: el token que había en cada posición elegida, e `IGNORED` en las demás, `[batch, t]`.
    """

    token_ids: TokenIds
    labels: TokenIds


class Masking:
    """Elige unos pocos tokens de cada secuencia y los oculta, para que un modelo los adivine.

        n = máx(1, redondeo(share · longitud))

    De los elegidos, 80 % se cambian por «[MASK]», 10 % por un token cualquiera y 10 % se dejan
    como están: al ajustar el modelo a una tarea no habrá ningún «[MASK]», y así aprende a
    representar bien todos los tokens. Nunca se elige un token especial, ni se pone uno al azar.

    Argumentos:
        vocabulary: los tokens, en el orden de sus números; con «[PAD]» y «[MASK]».
        share: qué parte de los tokens de cada secuencia, contando los especiales, se elige.
        whole_words: con True se eligen palabras enteras, con todos sus trozos «##»; las que
            pasarían de n no se eligen (si no cabe ninguna, se elige la primera sorteada).
        most: el máximo de tokens por secuencia (`max_predictions_per_seq` en el código de BERT).

    Errores:
        ValueError: si al vocabulario le falta un token especial o un número no tiene sentido.

    Fuente: Devlin et al. (2018), §3.1 y apéndice A.1; capítulo `bert`.
    """

    def __init__(
        self,
        vocabulary: Sequence[str],
        *,
        share: float = 0.15,
        whole_words: bool = False,
        most: int | None = None,
    ) -> None:
        _require_numbers(share, most)
        self.share, self.most = share, most
        self.mask_id, self.pad_id = (_special_id(vocabulary, name) for name in (MASK, PAD))
        special = [token in (PAD, UNKNOWN, CLASS, SEPARATOR, MASK) for token in vocabulary]
        self.is_special = torch.tensor(special)
        self.ordinary = (~self.is_special).nonzero().flatten()
        if not len(self.ordinary):
            raise ValueError("vocabulary: se esperaba algún token que no fuera especial.")
        continues = [whole_words and token.startswith(CONTINUES) for token in vocabulary]
        self.continues = torch.tensor(continues)

    def __call__(self, token_ids: TokenIds, generator: torch.Generator) -> Masked:
        """Oculta tokens de un lote.

        Argumentos:
            token_ids: identificadores con relleno, `[batch, t]`; no cambian.
            generator: de donde sale el azar: el mismo estado da las mismas elecciones.

        Devuelve:
            El par (token_ids, labels). Una secuencia sin tokens corrientes no tiene etiquetas.

        Errores:
            ValueError: si un identificador no está en el vocabulario.
        """
        _require_ids(token_ids, len(self.is_special))
        chosen = self.choose(token_ids, generator)
        labels = token_ids.masked_fill(~chosen, IGNORED)
        draw = torch.rand(token_ids.shape, generator=generator)
        others = torch.randint(len(self.ordinary), token_ids.shape, generator=generator)
        replaced = token_ids.masked_fill(chosen & (draw < MASKED_SHARE), self.mask_id)
        is_random = (draw >= MASKED_SHARE) & (draw < MASKED_SHARE + RANDOM_SHARE)
        others = self.ordinary[others].to(token_ids.dtype)
        return Masked(torch.where(chosen & is_random, others, replaced), labels)

    def choose(self, token_ids: TokenIds, generator: torch.Generator) -> Bool[Tensor, "batch t"]:
        """Sortea qué posiciones se ocultan: True en n de cada secuencia."""
        lengths = (token_ids != self.pad_id).sum(-1).tolist()
        order = torch.rand(token_ids.shape, generator=generator).argsort(-1).tolist()
        chosen = torch.zeros(token_ids.shape, dtype=torch.bool)
        for row, words in enumerate(self.words(token_ids)):
            picked = _pick([words[i] for i in order[row] if i in words], self.count(lengths[row]))
            chosen[row, picked] = True
        return chosen

    def count(self, length: int) -> int:
        """Cuántos tokens se eligen de una secuencia de ese largo, con los especiales: n."""
        count = max(1, round(self.share * length))
        return count if self.most is None else min(count, self.most)

    def words(self, token_ids: TokenIds) -> list[dict[int, list[int]]]:
        """Las palabras de cada secuencia: posición del primer trozo → posiciones de todos.

        Sin `whole_words`, cada token corriente es una palabra. Los especiales no son de ninguna.
        """
        special = self.is_special[token_ids].tolist()
        continues = self.continues[token_ids].tolist()
        return [_words(*row) for row in zip(special, continues, strict=True)]


class NextSentence(NamedTuple):
    """Dos oraciones: la segunda seguía a la primera (`FOLLOWS`) o es de otro texto (`RANDOM`)."""

    first: Sentence
    second: Sentence
    label: int


def next_sentence_pairs(
    documents: Sequence[Sequence[Sentence]], seed: int = 0
) -> Iterator[NextSentence]:
    """Empareja cada oración con la que la sigue o, la mitad de las veces, con una de otro texto.

    Argumentos:
        documents: textos, cada uno con sus oraciones en orden: los pasos de cada receta. Una
            oración es un texto o una lista de identificadores.
        seed: semilla de los sorteos.

    Devuelve:
        Un par por cada dos oraciones seguidas. La oración al azar nunca es igual a la que seguía.

    Errores:
        ValueError: si hay menos de dos textos con oraciones, o no se encuentra en otro texto una
        oración que no sea la que seguía.

    Fuente: Devlin et al. (2018), §3.1 (tarea 2); capítulo `bert`.
    """
    documents = [document for document in documents if len(document)]
    if len(documents) < 2:
        raise ValueError(
            "documents: se esperaban al menos dos textos con oraciones, para tomar de otro la que "
            f"no sigue, y llegaron {len(documents)}."
        )
    return _pairs(documents, Random(seed))


def join_pair(
    first: Sequence[int],
    second: Sequence[int] | None,
    *,
    class_id: int,
    separator_id: int,
    max_length: int,
) -> tuple[list[int], list[int]]:
    """Forma «[CLS] primera [SEP] segunda [SEP]» sin pasar de un largo.

    Si no cabe, pierde tokens del final, de uno en uno, la oración más larga; si miden lo mismo, la
    segunda.

    Argumentos:
        first, second: identificadores de las dos oraciones, sin especiales; None si no hay segunda.
        class_id, separator_id: los números de «[CLS]» y «[SEP]».
        max_length: el largo máximo, con los especiales.

    Devuelve:
        Los identificadores y el segmento de cada uno: 0 en «[CLS] primera [SEP]», 1 en lo demás.

    Errores:
        ValueError: si no cabe ni un token de cada oración.

    Fuente: Devlin et al. (2018), §3 y apéndice A.2.
    """
    parts = [list(first)] if second is None else [list(first), list(second)]
    room = max_length - 1 - len(parts)
    if room < len(parts):
        raise ValueError(
            f"max_length: se esperaban al menos {1 + 2 * len(parts)} tokens, para los especiales y "
            f"uno por oración, y llegó {max_length}."
        )
    for part, length in zip(parts, _fitted([len(part) for part in parts], room), strict=True):
        del part[length:]
    ids, segments = [class_id], [0]
    for segment, part in enumerate(parts):
        ids += [*part, separator_id]
        segments += [segment] * (len(part) + 1)
    return ids, segments


def _fitted(lengths: list[int], room: int) -> list[int]:
    """Los largos que quedan: la más corta se conserva mientras no pase de la mitad."""
    if sum(lengths) <= room:
        return lengths
    if len(lengths) == 1:
        return [room]
    kept = min(*lengths, room // 2)
    return [kept, room - kept] if lengths[0] == kept else [room - kept, kept]


def _words(special: list[bool], continues: list[bool]) -> dict[int, list[int]]:
    words: dict[int, list[int]] = {}
    start = None
    for i, (is_special, is_piece) in enumerate(zip(special, continues, strict=True)):
        if is_special:
            start = None
        elif is_piece and start is not None:
            words[start].append(i)
        else:
            start = i
            words[i] = [i]
    return words


def _pick(words: list[list[int]], count: int) -> list[int]:
    """Recorre las palabras sorteadas y se queda con las que caben en `count` tokens."""
    picked: list[int] = []
    for word in words:
        if len(picked) + len(word) <= count:
            picked += word
        if len(picked) == count:
            break
    return picked or (words[0] if words else [])


def _pairs(documents, random: Random):
    for i, document in enumerate(documents):
        for first, second in pairwise(document):
            if random.random() < 0.5:
                yield NextSentence(first, second, FOLLOWS)
            else:
                yield NextSentence(first, _other(documents, i, second, random), RANDOM)


def _other(documents, i: int, second, random: Random):
    """Una oración de un texto que no es el i y que no es igual a la que seguía."""
    for _ in range(TRIES):
        j = _below(random, len(documents) - 1)
        document = documents[j + (j >= i)]
        sentence = document[_below(random, len(document))]
        if sentence != second:
            return sentence
    raise ValueError(
        f"No se encontró en otro texto una oración distinta de {second!r}: las de todos los textos "
        "son casi iguales. Añade textos más variados."
    )


def _below(random: Random, stop: int) -> int:
    # `random()` es lo único que Python promete no cambiar; `randrange` no.
    return int(random.random() * stop)


def _special_id(vocabulary: Sequence[str], name: str) -> int:
    if name not in vocabulary:
        raise ValueError(
            f"vocabulary: falta el token especial «{name}» entre sus {len(vocabulary)} tokens. "
            "Pasa el `vocabulary` de un WordPiece, o una lista que lo tenga."
        )
    return list(vocabulary).index(name)


def _require_numbers(share, most) -> None:
    if not isinstance(share, Real) or not 0 < share < 1:
        raise ValueError(
            f"share: se esperaba un número entre 0 y 1 y llegó {share!r}; BERT usa 0.15."
        )
    if most is not None and (not isinstance(most, Integral) or most < 1):
        raise ValueError(f"most: se esperaba un entero positivo o None y llegó {most!r}.")


def _require_ids(token_ids: Tensor, vocab_size: int) -> None:
    if token_ids.ndim != 2 or token_ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(
            "token_ids: se esperaban identificadores enteros de forma [batch, t] y llegó la forma "
            f"{tuple(token_ids.shape)} de tipo {token_ids.dtype}."
        )
    if token_ids.numel() and not 0 <= token_ids.min() <= token_ids.max() < vocab_size:
        raise ValueError(
            f"token_ids: se esperaban identificadores entre 0 y {vocab_size - 1} y llegaron entre "
            f"{token_ids.min().item()} y {token_ids.max().item()}: ¿son de otro vocabulario?"
        )
