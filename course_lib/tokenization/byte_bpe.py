"""Codificación por pares de bytes (BPE): un vocabulario que se aprende del texto."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from operator import index
from pathlib import Path
from typing import Any

import regex

from course_lib.files import write_atomically
from course_lib.tokenization._merges import Pair, apply_merges, learn_merges

BYTES = 256
SPECIAL_TOKENS = ("<pad>", "<s>", "</s>")
GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
FORMAT = "byte_bpe 1"
CACHED_PIECES, LONGEST_CACHED = 2**17, 256


def _alphabet() -> dict[int, str]:
    """Da a cada byte una letra visible, en el orden que desempata (Radford et al., 2019).

    Los bytes que ya son un signo visible en Latin-1 se escriben como ese signo; los demás
    (espacio, control) toman los signos a partir de Ā. Así, el espacio es «Ġ».
    """
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(BYTES) if byte not in visible]
    letters = [chr(byte) for byte in visible] + [chr(BYTES + i) for i in range(len(hidden))]
    return dict(zip(visible + hidden, letters, strict=True))


ALPHABET = _alphabet()
_BY_RANK = tuple(ALPHABET)
_RANK_OF = {byte: rank for rank, byte in enumerate(ALPHABET)}


class ByteBPE:
    """Un tokenizador por pares de bytes, ya entrenado; no cambia después de creado.

    El texto se parte en trozos (palabras con su espacio delante, números, signos), cada trozo se
    escribe en bytes UTF-8 y sobre los bytes se aplican las fusiones, la más antigua primero. Los
    números de los tokens: 0…255 son los bytes, siguen las fusiones en su orden y al final van los
    tokens especiales, que el texto corriente nunca produce.

    Argumentos:
        merges: los pares de números que se fusionan, en orden; cada uno nombra solo tokens que
            ya existen.
        special_tokens: nombres de los tokens especiales.
        pattern: expresión regular (del paquete `regex`) que parte el texto en trozos.

    Errores:
        ValueError: si una fusión usa un token que no existe todavía o da uno que ya existe, si un
            token especial se repite o está vacío, o si la expresión regular no sirve.

    Fuente: Gage (1994); Sennrich et al. (2016); a nivel de bytes, Radford et al. (2019), §2.2;
    capítulo `tokenization`, `eq-bpe-merge`.

    Ejemplo:
        >>> from course_lib.tokenization import ByteBPE
        >>> bpe = ByteBPE.train(["casa", "casas", "casado"], vocab_size=256 + 3 + 3)
        >>> [bpe.token_bytes(i) for i in range(256, 259)]  # tras los 256 bytes, las fusiones
        [b'as', b'cas', b'casa']
        >>> bpe.encode("casadas")  # «casa», «d» y «as»
        [258, 100, 256]
        >>> bpe.decode(bpe.encode("¡también esto! 🙂"))  # ningún texto se pierde
        '¡también esto! 🙂'
    """

    def __init__(
        self,
        merges: Iterable[Pair],
        *,
        special_tokens: Sequence[str] = SPECIAL_TOKENS,
        pattern: str = GPT2_PATTERN,
    ) -> None:
        self.merges = tuple((int(left), int(right)) for left, right in merges)
        self.special_tokens = _valid_special_tokens(special_tokens)
        self.pattern = pattern
        self._pieces = _compile(pattern)
        self._tokens = _expand(self.merges)
        self._merged = {pair: BYTES + i for i, pair in enumerate(self.merges)}
        first = len(self._tokens)
        self._special = {name: first + i for i, name in enumerate(self.special_tokens)}
        self._tokens += [name.encode("utf-8") for name in self.special_tokens]
        self._special_pattern = _any_of(self.special_tokens)
        self._cache = _Cache(self._encode_piece)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        *,
        special_tokens: Sequence[str] = SPECIAL_TOKENS,
        pattern: str = GPT2_PATTERN,
        min_frequency: int = 1,
    ) -> ByteBPE:
        """Aprende las fusiones de unos textos: cada vez, el par de tokens vecinos más frecuente.

        Los pares no cruzan de un trozo al siguiente. Los empates se resuelven como en
        `tokenizers`: gana el par de tokens más antiguos, y entre los bytes van primero los que son
        un signo visible.

        Argumentos:
            texts: textos, cada uno entero; pueden llegar de uno en uno.
            vocab_size: tamaño del vocabulario, con los 256 bytes y los tokens especiales. Si los
                textos se quedan sin pares antes, el vocabulario resulta menor.
            special_tokens, pattern: como en la clase.
            min_frequency: un par que aparece menos veces no se fusiona.

        Errores:
            ValueError: si `texts` es un solo texto o no son textos, si en `vocab_size` no caben
                los bytes y los tokens especiales, o por lo que dice la clase.
        """
        special_tokens = _valid_special_tokens(special_tokens)
        limit = _room_for_merges(vocab_size, len(special_tokens))
        counts = _count_pieces(texts, _compile(pattern))
        words = {tuple(_RANK_OF[byte] for byte in word): n for word, n in counts.items()}
        ranked = learn_merges(words, BYTES, limit, min_frequency)
        merges = [tuple(_BY_RANK[i] if i < BYTES else i for i in pair) for pair in ranked]
        return cls(merges, special_tokens=special_tokens, pattern=pattern)

    @property
    def vocab_size(self) -> int:
        """Cuántos tokens hay: bytes, fusiones y especiales."""
        return len(self._tokens)

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        """Convierte un texto en números de tokens.

        Argumentos:
            text: el texto.
            special: si los nombres de los tokens especiales que aparezcan en el texto se
                convierten en ellos. Con False, «</s>» son cuatro letras como otras.

        Errores:
            ValueError: si no es un texto, o si tiene medios caracteres (sustitutos sueltos).
        """
        if not isinstance(text, str):
            raise ValueError(
                f"Se esperaba un texto (str) y llegó {type(text).__name__}; para bytes está "
                "encode_bytes."
            )
        _require_whole_characters(text)
        if not special or self._special_pattern is None:
            return self._encode_plain(text)
        ids: list[int] = []
        for part in self._special_pattern.split(text):
            ids += [self._special[part]] if part in self._special else self._encode_plain(part)
        return ids

    def encode_bytes(self, data: bytes) -> list[int]:
        """Convierte bytes cualesquiera en tokens; si son UTF-8, lo mismo que `encode`."""
        return self._encode_plain(bytes(data).decode("utf-8", "surrogateescape"))

    def decode(
        self, ids: Iterable[int], *, errors: str = "replace", skip_special: bool = True
    ) -> str:
        """Convierte números de tokens en texto.

        Argumentos:
            ids: los números.
            errors: qué hacer con los bytes que no forman un carácter UTF-8, como en
                `bytes.decode`: por defecto, cada uno se cambia por «�».
            skip_special: si los tokens especiales se omiten; si no, aparecen sus nombres.

        Errores:
            ValueError: si un número está fuera del vocabulario (o, con `errors="strict"`, si los
                bytes no son UTF-8).
        """
        return self.decode_bytes(ids, skip_special=skip_special).decode("utf-8", errors)

    def decode_bytes(self, ids: Iterable[int], *, skip_special: bool = True) -> bytes:
        """Convierte números de tokens en los bytes exactos que representan."""
        ids = _integers(ids)
        for worst in (min(ids, default=0), max(ids, default=0)):
            self.token_bytes(worst)  # se queja si está fuera del vocabulario
        if skip_special:
            first = self.vocab_size - len(self._special)
            ids = [i for i in ids if i < first]
        return b"".join([self._tokens[i] for i in ids])

    def token_bytes(self, token_id: int) -> bytes:
        """Devuelve los bytes de un token; los de uno especial son los de su nombre.

        Errores:
            ValueError: si el número está fuera del vocabulario.
        """
        if not 0 <= token_id < self.vocab_size:
            raise ValueError(
                f"El token {token_id} no existe: el vocabulario va de 0 a {self.vocab_size - 1}."
            )
        return self._tokens[token_id]

    def special(self, name: str) -> int:
        """Devuelve el número de un token especial.

        Errores:
            ValueError: si no hay ninguno con ese nombre.
        """
        if name not in self._special:
            known = ", ".join(self.special_tokens) or "ninguno"
            raise ValueError(f"No hay un token especial «{name}»; los hay: {known}.")
        return self._special[name]

    def pieces(self, text: str) -> list[str]:
        """Parte un texto en los trozos dentro de los que se fusiona; juntos dan el texto."""
        return self._pieces.findall(text)

    def save(self, path: str | os.PathLike) -> None:
        """Guarda el tokenizador en un archivo JSON que se puede leer; entero o nada.

        Cada fusión ocupa una línea, escrita con las letras visibles de GPT-2 (el espacio es «Ġ»).
        Un corte a la mitad deja intacto el archivo que hubiera antes. Las carpetas que falten se
        crean.
        """
        names = [_visible(token) for token in self._tokens]
        merges = [json.dumps([names[i] for i in p], ensure_ascii=False) for p in self.merges]
        head = {
            "format": FORMAT,
            "pattern": self.pattern,
            "special_tokens": list(self.special_tokens),
        }
        text = json.dumps(head, ensure_ascii=False, indent=1)[:-2]
        body = ",\n  ".join(merges)
        whole = f'{text},\n "merges": [\n  {body}\n ]\n}}\n'
        write_atomically(Path(path), whole.encode("utf-8"))

    @classmethod
    def load(cls, path: str | os.PathLike) -> ByteBPE:
        """Lee un tokenizador guardado con `save`.

        Errores:
            FileNotFoundError: si el archivo no existe.
            ValueError: si no es un tokenizador de esta clase, o está incompleto o dañado.
        """
        path = Path(path)
        try:
            return cls._from_data(json.loads(path.read_bytes().decode("utf-8")))
        except (ValueError, RecursionError) as error:  # o JSON mal formado, o no es UTF-8
            reason = str(error) if type(error) is ValueError else "no es un JSON completo"
            raise ValueError(
                f"{path}: no es un tokenizador guardado con ByteBPE.save: {reason}"
            ) from error

    @classmethod
    def _from_data(cls, data: Any) -> ByteBPE:
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"se esperaba un objeto con «format»: «{FORMAT}».")
        for key, kind, what in (
            ("pattern", str, "un texto"),
            ("special_tokens", list, "una lista"),
            ("merges", list, "una lista"),
        ):
            if not isinstance(data.get(key), kind):
                raise ValueError(f"en «{key}» se esperaba {what} y llegó {data.get(key)!r:.60}.")
        merges = _merge_ids(data["merges"])
        return cls(merges, special_tokens=data["special_tokens"], pattern=data["pattern"])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteBPE) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __reduce__(self) -> tuple:
        return _rebuild, self._identity

    def __repr__(self) -> str:
        return f"ByteBPE({len(self.merges)} fusiones, vocab_size={self.vocab_size})"

    @property
    def _identity(self) -> tuple:
        return self.merges, self.special_tokens, self.pattern

    def _encode_plain(self, text: str) -> list[int]:
        cache = self._cache
        return [i for piece in self._pieces.findall(text) for i in cache[piece]]

    def _encode_piece(self, piece: str) -> list[int]:
        # Con sustitutos, que solo `encode_bytes` pone, vuelven los bytes que no son UTF-8.
        return apply_merges(piece.encode("utf-8", "surrogateescape"), self._merged)


def _rebuild(merges: tuple, special_tokens: tuple, pattern: str) -> ByteBPE:
    return ByteBPE(merges, special_tokens=special_tokens, pattern=pattern)


class _Cache(dict):
    """Recuerda los tokens de los trozos cortos; cuando se llena, empieza de nuevo."""

    def __init__(self, encode_piece: Any) -> None:
        super().__init__()
        self._encode_piece = encode_piece

    def __missing__(self, piece: str) -> list[int]:
        if len(self) >= CACHED_PIECES:
            self.clear()
        ids = self._encode_piece(piece)
        if len(piece) <= LONGEST_CACHED:
            self[piece] = ids
        return ids


# --------------------------------------------------------------------------- comprobar lo que llega


def _valid_special_tokens(names: Sequence[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"special_tokens: se esperaba una lista de nombres y llegó «{names}».")
    names = tuple(names)
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"special_tokens: se esperaban nombres y llegó {name!r:.60}.")
        if names.count(name) > 1:
            raise ValueError(f"special_tokens: «{name}» está repetido.")
    return names


def _compile(pattern: str) -> Any:
    """Prepara la expresión; lo que ella no reconozca va, carácter a carácter, en trozos sueltos."""
    try:
        pieces = regex.compile(f"(?:{pattern})|(?s:.)")
    except regex.error as error:
        raise ValueError(f"pattern: la expresión regular no sirve: {error}") from error
    if pieces.groups:
        raise ValueError("pattern: la expresión regular no puede tener grupos; usa (?:…).")
    return pieces


def _any_of(names: Sequence[str]) -> Any:
    """Reconoce cualquiera de los nombres; si uno empieza por otro, el más largo."""
    longest_first = sorted(names, key=len, reverse=True)
    return regex.compile(f"({'|'.join(map(regex.escape, longest_first))})") if names else None


def _room_for_merges(vocab_size: int, num_special: int) -> int:
    if isinstance(vocab_size, bool) or not isinstance(vocab_size, int):
        raise ValueError(f"vocab_size: se esperaba un número entero y llegó {vocab_size!r:.60}.")
    if vocab_size < BYTES + num_special:
        raise ValueError(
            f"vocab_size: llegó {vocab_size} y hacen falta al menos {BYTES + num_special}: "
            f"{BYTES} bytes y {num_special} tokens especiales."
        )
    return vocab_size - BYTES - num_special


def _count_pieces(texts: Iterable[str], pieces: Any) -> dict[bytes, int]:
    if isinstance(texts, str):
        raise ValueError("texts: se esperaban varios textos y llegó uno; pásalo en una lista.")
    counts: Counter[str] = Counter()
    for text in texts:
        if not isinstance(text, str):
            raise ValueError(f"texts: se esperaban textos y llegó {type(text).__name__}.")
        _require_whole_characters(text)
        counts.update(pieces.findall(text))
    return {piece.encode("utf-8"): n for piece, n in counts.items()}


def _require_whole_characters(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"El texto tiene un sustituto suelto ({text[error.start]!r}), medio carácter que no se "
            "puede escribir en UTF-8; revisa cómo se leyó el archivo."
        ) from error


def _integers(ids: Iterable[int]) -> list[int]:
    try:
        return list(map(index, ids))
    except TypeError as error:
        raise ValueError(
            f"ids: se esperaban los números de unos tokens y llegó {ids!r:.60}."
        ) from error


def _expand(merges: Sequence[Pair]) -> list[bytes]:
    """Escribe los bytes de cada token: los 256 sueltos y, en orden, los de cada fusión."""
    tokens = [bytes([byte]) for byte in range(BYTES)]
    known = set(tokens)
    for left, right in merges:
        if not (0 <= left < len(tokens) and 0 <= right < len(tokens)):
            raise ValueError(
                f"La fusión {len(tokens) - BYTES} une {left} y {right}, y en ese punto los tokens "
                f"van de 0 a {len(tokens) - 1}."
            )
        token = tokens[left] + tokens[right]
        if token in known:
            raise ValueError(
                f"La fusión {len(tokens) - BYTES} da «{_visible(token)}», que ya es un token."
            )
        tokens.append(token)
        known.add(token)
    return tokens


# --------------------------------------------------------------------------- el archivo


def _visible(token: bytes) -> str:
    return "".join(ALPHABET[byte] for byte in token)


def _merge_ids(merges: list) -> list[Pair]:
    """Pasa las fusiones de texto («Ġ», «d») a números."""
    ids = {letter: byte for byte, letter in ALPHABET.items()}
    pairs = []
    for i, merge in enumerate(merges):
        if not (
            isinstance(merge, list) and len(merge) == 2 and all(isinstance(t, str) for t in merge)
        ):
            raise ValueError(f"la fusión {i} debe ser un par de textos y es {merge!r:.60}.")
        for token in merge:
            if token not in ids:
                raise ValueError(f"la fusión {i} usa «{token:.60}», que todavía no es un token.")
        pairs.append((ids[merge[0]], ids[merge[1]]))
        ids.setdefault("".join(merge), BYTES + i)
    return pairs
