"""Lotes de secuencias de distinta longitud: parecidas juntas, para que sobre poco relleno."""

import itertools
import numbers
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from course_lib.training.randomness import RandomStream


def pad(sequences: Sequence[Any], pad_id: int) -> Int[Tensor, "batch t"]:
    """Apila secuencias de identificadores y rellena las cortas por la derecha con `pad_id`.

    Argumentos:
        sequences: listas, tuplas o tensores de una dimensión.
        pad_id: el relleno.

    Devuelve:
        Un tensor entero tan ancho como la más larga.

    Errores:
        ValueError: si no hay secuencias, todas están vacías o alguna no es de enteros.

    Ejemplo:
        >>> from course_lib.training import pad
        >>> pad([[5, 6, 7], [8]], pad_id=0)
        tensor([[5, 6, 7],
                [8, 0, 0]])
    """
    rows = [_ids(sequence) for sequence in sequences]
    if not any(map(len, rows)):
        raise ValueError("Se esperaba al menos una secuencia con algún token y no llegó ninguna.")
    return pad_sequence(rows, batch_first=True, padding_value=pad_id)


class TokenBatches:
    """Reparte ejemplos en lotes de longitudes parecidas, en un orden nuevo en cada pasada.

    Cada pasada ordena los ejemplos por longitud (los empates, al azar), los corta en lotes y baraja
    los lotes. El orden depende solo de la semilla y del número de la pasada, así que cualquier
    posición se recupera sin repetir el camino: `stream(start)`.

    Argumentos:
        examples: cada uno, una secuencia de identificadores, o una tupla de secuencias y etiquetas
            (números). Un lote tiene la misma estructura, con tensores.
        batch_size: ejemplos por lote.
        batch_tokens: o bien, tokens por lote, con el relleno: filas × la secuencia más larga.
        pad_id: el relleno.
        seed: semilla de los órdenes.
        shuffle: con False, los lotes van siempre de las secuencias cortas a las largas.

    Errores:
        ValueError: si no hay ejemplos, tienen estructuras distintas, no se da exactamente uno de
        batch_size y batch_tokens, o un ejemplo no cabe en batch_tokens.

    Fuente: Vaswani et al. (2017), §5.1; capítulo `training`.

    Ejemplo:
        >>> from course_lib.training import TokenBatches
        >>> sentences = [[1], [2, 2, 2], [3], [4, 4, 4]]
        >>> batches = TokenBatches(sentences, batch_size=2, shuffle=False)
        >>> for batch in batches:  # juntas las de igual longitud: no hace falta relleno
        ...     print(batch.tolist())
        [[1], [3]]
        [[2, 2, 2], [4, 4, 4]]
    """

    def __init__(
        self,
        examples: Iterable[Any],
        *,
        batch_size: int | None = None,
        batch_tokens: int | None = None,
        pad_id: int = 0,
        seed: int = 0,
        shuffle: bool = True,
    ) -> None:
        _require_one_limit(batch_size, batch_tokens)
        examples = list(examples)
        self.examples = [_fields(example) for example in examples]
        self.single = bool(self.examples) and not _is_record(examples[0])
        _require_same_structure(self.examples)
        lengths = [max(map(_length, fields)) for fields in self.examples]
        self.lengths = torch.tensor(lengths, device="cpu")
        self.pad_id, self.seed, self.shuffle = pad_id, seed, shuffle
        self.passes = 0
        self._cuts = _cut(self.lengths.sort().values.tolist(), batch_size, batch_tokens)

    def __len__(self) -> int:
        """Cuántos lotes hay en una pasada: los mismos en todas."""
        return len(self._cuts)

    def __iter__(self) -> Iterator[Any]:
        """Recorre una pasada; la siguiente vez, la siguiente."""
        number, self.passes = self.passes, self.passes + 1
        return (self.batch(chosen) for chosen in self.order(number))

    def stream(self, start: int = 0) -> Iterator[Any]:
        """Lotes sin fin, pasada tras pasada desde la primera, a partir del lote número `start`."""
        number, skip = divmod(start, len(self))
        while True:
            yield from map(self.batch, self.order(number)[skip:])
            number, skip = number + 1, 0

    def order(self, number: int) -> list[Tensor]:
        """Los índices de los ejemplos de cada lote, en la pasada `number`."""
        if not self.shuffle:
            by_length = self.lengths.argsort(stable=True)
            return [by_length[a:b] for a, b in self._cuts]
        # Un generador propio por pasada: nada de lo que se sortee fuera cambia el orden.
        rng = torch.Generator("cpu").manual_seed(_mix(self.seed, number))
        mixed = torch.randperm(len(self.examples), generator=rng, device="cpu")
        by_length = mixed[self.lengths[mixed].argsort(stable=True)]
        turns = torch.randperm(len(self), generator=rng, device="cpu").tolist()
        return [by_length[slice(*self._cuts[i])] for i in turns]

    def batch(self, chosen: Int[Tensor, " rows"]) -> Any:
        """El lote con los ejemplos de esos índices."""
        columns = zip(*(self.examples[i] for i in chosen.tolist()), strict=True)
        fields = tuple(_column(values, self.pad_id) for values in columns)
        return fields[0] if self.single else fields


def endless(batches: Iterable[Any], *, start: int = 0, seed: int = 0) -> Iterator[Any]:
    """Lotes sin fin: al acabarse se recorren otra vez, desde el lote número `start` de la cuenta.

    Lo que los lotes sorteen al recorrerlos sale de un azar aparte: con la misma semilla son los
    mismos, sortee el modelo lo que sortee. Por eso se puede volver a cualquier posición. Una lista
    o un `TokenBatches` llegan a ella directamente; lo demás se lee otra vez desde el principio.

    Argumentos:
        batches: un `TokenBatches`, una lista, un DataLoader, un generador…
        start: cuántos lotes se saltan.
        seed: semilla del azar de los lotes.

    Errores:
        ValueError: si se acaban y no se pueden recorrer otra vez.

    Ejemplo:
        >>> from itertools import islice
        >>> from course_lib.training import endless
        >>> list(islice(endless(["a", "b", "c"]), 5))
        ['a', 'b', 'c', 'a', 'b']
        >>> list(islice(endless(["a", "b", "c"], start=4), 2))  # para seguir donde se cortó
        ['b', 'c']
    """
    if hasattr(batches, "stream"):
        return batches.stream(start)
    if isinstance(batches, Sequence) and len(batches):
        return (batches[i % len(batches)] for i in itertools.count(start))
    return itertools.islice(_cycle(batches, RandomStream(_mix(seed, 1) % 2**32)), start, None)


def _cycle(batches: Iterable[Any], randomness: RandomStream) -> Iterator[Any]:
    """Recorre los lotes una y otra vez; avisa si no se pueden recorrer de nuevo."""
    count = 0
    while True:
        before = count
        with randomness.active():
            lap = iter(batches)
        while (batch := _next(lap, randomness)) is not _END:
            count += 1
            yield batch
        if count == before:
            raise ValueError(
                f"Los lotes se acabaron después de {count}, sin que se puedan recorrer otra vez: "
                "pasa una lista o un DataLoader, o un generador que no termine."
            )


_END = object()


def _next(lap: Iterator[Any], randomness: RandomStream) -> Any:
    with randomness.active():
        return next(lap, _END)


def _cut(lengths: list[int], batch_size: int | None, batch_tokens: int | None) -> list:
    """Corta los ejemplos, ya de corto a largo, en intervalos [a, b) que respetan el límite."""
    if batch_tokens is not None and lengths[-1] > batch_tokens:
        raise ValueError(
            f"Hay un ejemplo de {lengths[-1]} tokens y batch_tokens = {batch_tokens}: sube "
            "batch_tokens, o acorta o quita los ejemplos largos."
        )
    cuts, start = [], 0
    for i, longest in enumerate(lengths):
        rows = i - start + 1
        full = rows > batch_size if batch_size else rows * longest > batch_tokens
        if full:
            cuts.append((start, i))
            start = i
    return [*cuts, (start, len(lengths))]


def _is_record(example: Any) -> bool:
    """Una tupla con algo que no es un identificador es un ejemplo de varios campos."""
    return isinstance(example, tuple) and not all(_is_number(field) for field in example)


def _fields(example: Any) -> tuple:
    """Los campos de un ejemplo: secuencias como tensores, etiquetas como números."""
    fields = example if _is_record(example) else (example,)
    return tuple(_label(field) if _is_number(field) else _ids(field) for field in fields)


def _label(field: Any) -> Any:
    return field.item() if isinstance(field, Tensor) else field


def _is_number(field: Any) -> bool:
    return isinstance(field, numbers.Real) or (isinstance(field, Tensor) and field.ndim == 0)


def _ids(sequence: Any) -> Tensor:
    try:
        ids = torch.as_tensor(sequence)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            "Se esperaba una secuencia de identificadores enteros y llegó "
            f"{repr(sequence)[:60]}. Si es un texto, conviértelo con tokenizer.encode."
        ) from error
    # Una lista vacía daría float32: sin elementos, el tipo no dice nada.
    if ids.ndim != 1 or (ids.numel() and ids.is_floating_point()):
        raise ValueError(
            "Se esperaba una secuencia de identificadores enteros y llegó "
            f"{'un tensor' if isinstance(sequence, Tensor) else repr(sequence)[:60]} de forma "
            f"{tuple(ids.shape)} y tipo {ids.dtype}."
        )
    return ids.long()


def _length(field: Any) -> int:
    return len(field) if isinstance(field, Tensor) else 0


def _column(values: tuple, pad_id: int) -> Tensor:
    if isinstance(values[0], Tensor):
        return pad(values, pad_id)
    whole = all(isinstance(value, numbers.Integral) for value in values)
    return torch.tensor(values, dtype=torch.long if whole else torch.float32)


def _mix(seed: int, number: int) -> int:
    """Una semilla distinta por pasada, sin que seed + 1 en la pasada 0 repita seed en la 1."""
    return (seed * 1_000_003 + number) % 2**63


def _require_one_limit(batch_size, batch_tokens):
    given = [limit for limit in (batch_size, batch_tokens) if limit is not None]
    if len(given) != 1 or given[0] < 1:
        raise ValueError(
            "Se esperaba exactamente uno de batch_size y batch_tokens, positivo; llegaron "
            f"batch_size = {batch_size} y batch_tokens = {batch_tokens}."
        )


def _require_same_structure(examples):
    if not examples:
        raise ValueError("Se esperaba al menos un ejemplo y no llegó ninguno.")
    kinds = [tuple(_length_kind(field) for field in fields) for fields in examples]
    for i, kind in enumerate(kinds):
        if kind != kinds[0]:
            raise ValueError(
                f"Todos los ejemplos deben tener los mismos campos: el primero tiene {kinds[0]} y "
                f"el {i + 1}, {kind}."
            )


def _length_kind(field: Any) -> str:
    return "secuencia" if isinstance(field, Tensor) else "etiqueta"
