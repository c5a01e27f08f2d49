"""En qué se parece lo que da una respuesta a lo que se pedía, si ningún error frecuente lo explica.

Nadie lo escribe: se prueba. O la respuesta da lo que daría la referencia con una entrada cambiada
(«como si `mask` fuera al revés»), o lo que da se relaciona con lo pedido («los mismos números, en
otro orden», «multiplicado por 2», «está mal donde…»). Se dice solo lo que se cumple en todos los
casos de varios sorteos; nunca un valor de lo pedido.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from course_lib.judging.exercise import Exercise
from course_lib.judging.invariants import number
from course_lib.judging.plain_data import nth, tensors_in
from course_lib.judging.running import draw_cases, run_cases

_DRAWS = 3
_FEWEST = 3
"""Cuántos números, al menos, tienen que estar mal para que parecerse no sea casualidad."""


@dataclass(frozen=True)
class Seen:
    """Un caso: sus entradas, lo que dio la respuesta y lo que se pedía, tensor a tensor."""

    case: tuple
    given: list[Tensor]
    asked: list[Tensor]

    @property
    def wrong(self) -> list[bool]:
        """Qué tensores del resultado están mal."""
        return [not _equal(a, b) for a, b in zip(self.given, self.asked, strict=True)]


def told_relation(exercise: Exercise, student: Any, names: Sequence[str], seed: int) -> str:
    """Dice en qué se parece a lo pedido lo que da una respuesta; vacío si no se sabe.

    Argumentos:
        exercise: el ejercicio.
        student: la respuesta, que no está bien.
        names: cómo se llaman sus entradas.
        seed: la semilla de los casos en que se comprobó.
    """
    cases = [case for k in range(_DRAWS) for case in draw_cases(exercise, seed + k)]
    seen = _seen(exercise, student, cases)
    if sum(int((a != b).sum()) for s in seen for a, b in _wrong_pairs(s)) < _FEWEST:
        return ""
    where, place = _wrong_place(seen)
    told = _as_if(exercise, seen, names)
    if not told and place is not None:
        told = _related([(s.case, s.given[place], s.asked[place]) for s in seen], names)
        told = told and f"{where}{told}"
    return told or _which_cases(seen, names)


def _seen(exercise: Exercise, student: Any, cases: list[tuple]) -> list[Seen]:
    """Los casos en que la respuesta da algo de la forma pedida; nada, si son pocos."""
    seen = []
    given = run_cases(exercise, student, cases)
    asked = run_cases(exercise, exercise.reference, cases)
    for case, one, other in zip(cases, given, asked, strict=True):
        left, right = _numbers(one.value), _numbers(other.value)
        if one.failure is None and [x.shape for x in left] == [x.shape for x in right]:
            seen.append(Seen(case, left, right))
    return seen if 2 * len(seen) > len(cases) else []


def _numbers(value: Any) -> list[Tensor]:
    """Los tensores de un resultado; un número también lo es, y una lista de números, uno solo."""
    items = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, bool) or (items and all(type(x) in (int, float) for x in items)):
        try:
            return [torch.tensor(value)]
        except (ValueError, OverflowError, RuntimeError):  # un entero que no cabe en 64 bits
            return []
    if isinstance(value, list | tuple):
        return [x for item in value for x in _numbers(item)]
    return list(tensors_in(value))


def _wrong_pairs(seen: Seen) -> Iterator[tuple[Tensor, Tensor]]:
    pairs = zip(seen.given, seen.asked, seen.wrong, strict=True)
    return ((a, b) for a, b, wrong in pairs if wrong)


def _wrong_place(seen: list[Seen]) -> tuple[str, int | None]:
    """El único tensor del resultado que está mal, y cómo se nombra; None si hay más."""
    many = max(len(s.given) for s in seen) > 1
    places = {k for s in seen for k, wrong in enumerate(s.wrong) if wrong}
    if len(places) != 1 or any(len(s.given) <= max(places) for s in seen):
        return "", None
    (place,) = places
    return (f"en {nth(place)} del resultado, " if many else ""), place


def _equal(a: Tensor, b: Tensor) -> bool:
    if a.shape != b.shape:
        return False
    return bool(torch.isclose(a.double(), b.double(), 1e-4, 1e-5, equal_nan=True).all())


# Como si una entrada fuera otra


def _as_if(exercise: Exercise, seen: list[Seen], names: Sequence[str]) -> str:
    """Busca la entrada que, cambiada, hace que la referencia dé lo mismo que la respuesta."""
    first = sorted(seen, key=lambda s: not any(s.wrong))
    for told, change in _changes(seen, names):
        changed = ((s, change(s.case)) for s in first)
        tried = [(s, case) for s, case in changed if case is not None]
        explained = any(any(s.wrong) for s, _ in tried) and 2 * len(tried) > len(first)
        if explained and all(_gives(exercise, case, s) for s, case in tried):
            return told  # casi todas se descartan en el primer caso
    return ""


def _gives(exercise: Exercise, case: tuple, seen: Seen) -> bool:
    (outcome,) = run_cases(exercise, exercise.reference, [case])
    found = [] if outcome.failure else _numbers(outcome.value)
    alike = len(found) == len(seen.given)
    return alike and all(map(_equal, found, seen.given))


def _changes(seen: list[Seen], names: Sequence[str]) -> Iterator[tuple[str, Callable]]:
    """Los cambios de entradas que se prueban, y cómo se dice cada uno."""
    cases = [s.case for s in seen]
    for place, name in enumerate(names):
        for text, change in OTHERS:
            yield text.format(f"`{name}`"), functools.partial(_with_other, place, change)
    for one, other in itertools.combinations(range(len(names)), 2):
        if all(_alike(case[one], case[other]) for case in cases):
            text = f"tu resultado es el que saldría con `{names[one]}` y `{names[other]}` cambiados"
            yield f"{text} entre sí", functools.partial(_swapped, one, other)


def _with_other(place: int, change: Callable, case: tuple) -> tuple | None:
    try:
        other = change(case[place])
    except (RuntimeError, TypeError, IndexError, ZeroDivisionError, AttributeError):
        return None
    return None if other is None else (*case[:place], other, *case[place + 1 :])


def _swapped(one: int, other: int, case: tuple) -> tuple:
    swapped = list(case)
    swapped[one], swapped[other] = case[other], case[one]
    return tuple(swapped)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shape == b.shape and a.dtype == b.dtype
    return type(a) is type(b) and isinstance(a, int | float) and not isinstance(a, bool)


def _real(x: Any) -> bool:
    return x.is_floating_point() if isinstance(x, Tensor) else type(x) is float


def _truth(x: Any) -> bool:
    return x.dtype == torch.bool if isinstance(x, Tensor) else type(x) is bool


def _whole(x: Any) -> bool:
    if isinstance(x, Tensor):
        return x.dtype in (torch.int64, torch.int32)
    return type(x) is int


def _of(kind: Callable[[Any], bool], change: Callable) -> Callable:
    return lambda x: change(x) if kind(x) else None


def _filled(value: float | bool) -> Callable:
    return lambda x: torch.full_like(x, value) if isinstance(x, Tensor) else type(x)(value)


OTHERS: tuple[tuple[str, Callable], ...] = (
    ("tu resultado es el que saldría si {} fuera todo 0: ¿interviene?", _of(_real, _filled(0.0))),
    ("tu resultado es el que saldría si {} fuera todo 1: ¿interviene?", _of(_real, _filled(1.0))),
    ("tu resultado es el que saldría con el signo de {} cambiado", _of(_real, lambda x: -x)),
    ("tu resultado es el que saldría con 1/{0} en lugar de {0}", _of(_real, lambda x: 1 / x)),
    ("tu resultado es el que saldría con la raíz de {}", _of(_real, lambda x: x**0.5)),
    ("tu resultado es el que saldría con el cuadrado de {}", _of(_real, lambda x: x**2)),
    ("tu resultado es el que saldría con {} traspuesta", lambda x: x.mT if x.ndim > 1 else None),
    ("tu resultado es el que saldría con el último eje de {} al revés", lambda x: x.flip(-1)),
    ("tu resultado es el que saldría con las filas de {} al revés", lambda x: x.flip(-2)),
    (
        "tu resultado es el que saldría con las filas de {} corridas un lugar",
        lambda x: x.roll(1, -2),
    ),
    (
        "tu resultado es el que saldría con las filas de {} corridas un lugar",
        lambda x: x.roll(-1, -2),
    ),
    (
        "tu resultado es el que saldría con {} al revés: sí donde dice no",
        _of(_truth, lambda x: ~x if isinstance(x, Tensor) else not x),
    ),
    ("tu resultado es el que saldría si {} dijera siempre que sí", _of(_truth, _filled(True))),
    ("tu resultado es el que saldría si {} dijera siempre que no", _of(_truth, _filled(False))),
    ("tu resultado es el que saldría con uno más en {}", _of(_whole, lambda x: x + 1)),
    ("tu resultado es el que saldría con uno menos en {}", _of(_whole, lambda x: x - 1)),
    (
        "tu resultado es el que saldría con {} al revés, del último al primero",
        lambda x: x[::-1] if isinstance(x, list | tuple | str) else None,
    ),
)
"""Cómo se cambia una entrada (None, si a esa no se le puede hacer) y cómo se dice."""


# Lo que da, comparado con lo pedido

Pair = tuple[tuple, Tensor, Tensor]


def _related(pairs: list[Pair], names: Sequence[str]) -> str:
    """Dice la primera relación entre lo dado y lo pedido que se cumple en todos los casos."""
    checks = (_chosen, _part, _factor, _offset, _plus_input, _function, _order)
    return next((told for check in checks if (told := check(pairs, names))), "")


def _factor(pairs: list[Pair], names: Sequence[str]) -> str:
    """Si es lo pedido multiplicado por algo."""
    if not all(b.is_floating_point() for _, _, b in pairs):
        return ""
    factors = [_ratio(a, b, None) for _, a, b in pairs]
    if all(x is not None for x in factors):
        found = torch.cat(factors)
        if bool((found - found[0]).abs().max() < 1e-3 * found[0].abs()):
            return f"sale lo pedido multiplicado por {number(found[0].item())}"
        if told := _power(pairs, names, factors):
            return told
        if all(b.numel() > 2 for _, _, b in pairs):
            return "sale lo pedido multiplicado por un número, que no es el mismo en cada caso"
    for axis, each in ((-1, "fila"), (-2, "columna")):
        wide = all(b.ndim >= -axis and b.shape[axis] > 2 for _, _, b in pairs)
        if wide and all(_ratio(a, b, axis) is not None for _, a, b in pairs):
            return f"cada {each} es la pedida multiplicada por un número"
    return ""


POWERS = (
    ("multiplicado por {}", 1.0),
    ("dividido entre {}", -1.0),
    ("multiplicado por la raíz de {}", 0.5),
    ("dividido entre la raíz de {}", -0.5),
)
"""Las escalas que más se olvidan o se cambian."""


def _power(pairs: list[Pair], names: Sequence[str], factors: list[Tensor | None]) -> str:
    """Dice si es lo pedido por una entrada, por el tamaño de uno de sus ejes, o por su raíz."""
    for place, name in enumerate(names):
        for size, said in _sizes(f"`{name}`", [case[place] for case, _, _ in pairs]):
            for told, power in POWERS:
                scales = [torch.tensor([n**power]) for n in size]
                if all(map(_equal, factors, scales)):
                    return f"sale lo pedido {told.format(said)}"
    return ""


def _sizes(name: str, values: list[Any]) -> Iterator[tuple[list[float], str]]:
    """Los números de una entrada en cada caso, si no son siempre el mismo, y cómo se dicen."""
    sizes = {}
    if all(type(x) in (int, float) and x > 0 for x in values):
        sizes[name] = values
    elif all(isinstance(x, Tensor) and x.ndim for x in values):
        for axis in range(-min(x.ndim for x in values), 0):
            sizes[f"{name[:-1]}.shape[{axis}]`"] = [x.shape[axis] for x in values]
    return ((size, said) for said, size in sizes.items() if len(set(size)) > 1)


def _ratio(a: Tensor, b: Tensor, axis: int | None) -> Tensor | None:
    """Por cuánto hay que multiplicar `b` para tener `a`, todo o a lo largo de un eje."""
    a, b = (x.double().flatten() if axis is None else x.double() for x in (a, b))
    if not bool((a.isfinite() & b.isfinite()).all()) or not bool(b.any()):
        return None
    axis = -1 if axis is None else axis
    factor = (a * b).sum(axis, keepdim=True) / (b * b).sum(axis, keepdim=True).clamp_min(1e-30)
    return factor.flatten() if _equal(a, factor * b) and bool(factor.any()) else None


def _offset(pairs: list[Pair], names: Sequence[str]) -> str:
    """Si le sobra, o le falta, un mismo número."""
    rests = [(a.double() - b.double()) for _, a, b in pairs if not _truth(b)]
    if len(rests) < len(pairs) or not all(bool(r.isfinite().all()) for r in rests):
        return ""
    flat = torch.cat([r.flatten() for r in rests])
    if bool((flat - flat[0]).abs().max() < 1e-4):
        more = "le sobran" if flat[0] > 0 else "le faltan"
        return f"a cada número {more} {number(flat[0].abs().item())}"
    wide = all(r.ndim and r.shape[-1] > 2 for r in rests)
    if wide and all(_equal(r, r[..., :1].expand_as(r)) for r in rests):
        return "a cada fila le sobra, o le falta, un mismo número"
    return ""


def _plus_input(pairs: list[Pair], names: Sequence[str]) -> str:
    """Si le sobra, o le falta, una de las entradas, sumada."""
    for place, name in enumerate(names):
        for sign, told in ((1.0, "más"), (-1.0, "menos")):
            if all(_exceeds(a, b, case[place], sign) for case, a, b in pairs):
                return f"sale lo pedido {told} `{name}`"
    return ""


def _exceeds(a: Tensor, b: Tensor, extra: Any, sign: float) -> bool:
    if not isinstance(extra, Tensor) or not extra.is_floating_point() or _truth(b):
        return False
    try:
        return _equal(a.double(), b.double() + sign * extra.double())
    except RuntimeError:  # de otra forma
        return False


FUNCTIONS = (
    ("un softmax por filas", lambda x: x.softmax(-1)),
    ("un valor absoluto", torch.abs),
    ("dejar los negativos en 0", torch.relu),
    ("acumular a lo largo de cada fila", lambda x: x.cumsum(-1)),
    ("dividir cada fila entre su suma", lambda x: x / x.sum(-1, keepdim=True)),
)
"""Lo que se le puede haber hecho de más a lo pedido, o le puede faltar a lo que da."""


def _function(pairs: list[Pair], names: Sequence[str]) -> str:
    """Si es una función de lo pedido, o lo pedido es una función de lo que da."""
    if not all(b.is_floating_point() and a.is_floating_point() for _, a, b in pairs):
        return ""
    if torch.cat([a.flatten() for _, a, _ in pairs]).unique().numel() == 1:
        return ""  # un mismo número siempre: el softmax de una fila de uno también lo es
    for told, f in FUNCTIONS:
        if all(_equal(a, _applied(f, b)) for _, a, b in pairs):
            return f"a lo que da le sobra {told}"
        if all(_equal(_applied(f, a), b) for _, a, b in pairs):
            return f"a lo que da le falta {told}"
    return ""


def _applied(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    try:
        return f(x.double())
    except (RuntimeError, IndexError):  # no tiene ese eje
        return x.new_empty(0)


def _order(pairs: list[Pair], names: Sequence[str]) -> str:
    """Si están los números pedidos en otro lugar."""
    if all(_other_axes(a, b) for _, a, b in pairs):
        return (
            "están los números pedidos con los ejes en otro orden: `reshape` y `view` los leen "
            "siempre por filas; lo que cambia los ejes de sitio es `transpose`"
        )
    several = [(a, b) for _, a, b in pairs if not _truth(b)]
    if len(several) < len(pairs) or not any(b.unique().numel() > 3 for _, b in several):
        return ""
    if all(b.ndim and _equal(a.sort(-1).values, b.sort(-1).values) for a, b in several):
        return "en cada fila están los números pedidos, en otro orden"
    if all(b.ndim > 1 and _equal(_rows(a), _rows(b)) for a, b in several):
        return "están las filas pedidas, en otro orden"
    if all(_equal(a.flatten().sort().values, b.flatten().sort().values) for a, b in several):
        return "están todos los números pedidos, en otro lugar"
    return ""


def _other_axes(a: Tensor, b: Tensor) -> bool:
    if _equal(a, b):
        return True
    orders = itertools.permutations(range(b.ndim)) if 1 < b.ndim <= 4 else ()
    return any(
        _equal(a, b.permute(order).reshape(b.shape))
        or _equal(a, b.reshape([b.shape[k] for k in order]).permute(_inverse(order)))
        for order in orders
    )


def _inverse(order: Sequence[int]) -> list[int]:
    return [order.index(k) for k in range(len(order))]


def _rows(x: Tensor) -> Tensor:
    """Las filas, ordenadas; cada una se ordena por su suma con pesos fijos."""
    flat = x.double().flatten(0, -2)
    key = flat @ torch.arange(1.0, flat.shape[-1] + 1, dtype=torch.float64).sqrt()
    return flat[key.argsort()]


def _chosen(pairs: list[Pair], names: Sequence[str]) -> str:
    """Si, de lo que se elige, falta o sobra algo, o es al revés."""
    if not all(_truth(a) and _truth(b) for _, a, b in pairs):
        return ""
    if all(b.ndim == 0 for _, _, b in pairs):
        said = {bool(a) for _, a, b in pairs if a != b}
        yes, no = ("sí", "no") if True in said else ("no", "sí")
        return f"dice que {yes} en casos en que es que {no}, y nunca al revés" * (len(said) == 1)
    if all(bool((a ^ b).all()) for _, a, b in pairs):
        return "es justo lo contrario de lo pedido"
    if all(not bool((a & ~b).any()) for _, a, b in pairs):
        return "lo que eliges está bien, pero faltan lugares"
    if all(not bool((b & ~a).any()) for _, a, b in pairs):
        return "está todo lo pedido, y sobran lugares"
    return ""


# Dónde está mal


def _part(pairs: list[Pair], names: Sequence[str]) -> str:
    """Dice en qué lugares está mal, si son los mismos en todos los casos."""
    wrong = [(case, _differs(a, b)) for case, a, b in pairs if not _equal(a, b)]
    if any(bool(bad.all()) for _, bad in wrong):
        return ""
    for told, mask in PLACES:
        if all(_fills(bad, _applied_mask(mask, bad)) for _, bad in wrong):
            vector = all(bad.ndim == 1 for _, bad in wrong)
            return told.replace("columna", "posición") if vector else told
    for place, name in enumerate(names):
        for told, turn in (("es falsa", torch.logical_not), ("es verdadera", torch.clone)):
            if all(_within(bad, case[place], turn) for case, bad in wrong):
                return f"solo está mal donde `{name}` {told}"
    return ""


def _differs(a: Tensor, b: Tensor) -> Tensor:
    return ~torch.isclose(a.double(), b.double(), 1e-4, 1e-5, equal_nan=True)


def _index(axis: int, place: int) -> Callable[[Tensor], Tensor]:
    """Los lugares con ese índice en un eje."""

    def mask(bad: Tensor) -> Tensor:
        found = torch.zeros_like(bad)
        found.select(axis, place).fill_(True)
        return found

    return mask


def _not(mask: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    return lambda bad: ~mask(bad)


def _diagonal(bad: Tensor) -> Tensor:
    return torch.eye(*bad.shape[-2:], dtype=torch.bool).expand_as(bad)


def _above(bad: Tensor) -> Tensor:
    return torch.ones(bad.shape[-2:], dtype=torch.bool).triu(1).expand_as(bad)


def _below(bad: Tensor) -> Tensor:
    return torch.ones(bad.shape[-2:], dtype=torch.bool).tril(-1).expand_as(bad)


def _batch(bad: Tensor) -> Tensor:
    return _index(0, 0)(bad) if bad.ndim > 2 else torch.zeros_like(bad)


PLACES: tuple[tuple[str, Callable[[Tensor], Tensor]], ...] = (
    ("solo está bien la primera oración del lote", _not(_batch)),
    ("solo está mal la primera oración del lote", _batch),
    ("solo está mal la diagonal", _diagonal),
    ("solo está bien la diagonal", _not(_diagonal)),
    ("solo está mal por encima de la diagonal", _above),
    ("solo está mal por debajo de la diagonal", _below),
    ("solo está mal la primera columna", _index(-1, 0)),
    ("solo está mal la última columna", _index(-1, -1)),
    ("solo está bien la primera columna", _not(_index(-1, 0))),
    ("solo está bien la última columna", _not(_index(-1, -1))),
    ("solo está mal la primera fila", _index(-2, 0)),
    ("solo está mal la última fila", _index(-2, -1)),
    ("solo está bien la primera fila", _not(_index(-2, 0))),
    ("solo está bien la última fila", _not(_index(-2, -1))),
)
"""Lugares de un tensor, y cómo se dicen."""


def _applied_mask(mask: Callable[[Tensor], Tensor], bad: Tensor) -> Tensor:
    try:
        return mask(bad)
    except (RuntimeError, IndexError, TypeError):  # no tiene ese eje
        return torch.zeros_like(bad)


def _fills(bad: Tensor, place: Tensor) -> bool:
    """Si está mal en esos lugares, y en ninguno más."""
    if bool(place.all()) or not bool(place.any()) or bool(bad[~place].any()):
        return False
    return bool(bad[place].float().mean() > 0.5)


def _within(bad: Tensor, mask: Any, turn: Callable[[Tensor], Tensor]) -> bool:
    """Si está mal solo donde dice una máscara de las entradas."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        return False
    try:
        place = torch.broadcast_to(turn(mask), bad.shape)
    except RuntimeError:
        return False
    return _fills(bad, place)


# En qué casos está mal


def _which_cases(seen: list[Seen], names: Sequence[str]) -> str:
    """Dice qué tienen en común los casos en que está mal, y solo ellos."""
    wrong, right = ([s.case for s in seen if any(s.wrong) is bad] for bad in (True, False))
    if not right:
        return ""
    for place, name in enumerate(names):
        for told in _traits(wrong[0][place]):
            text, has = told
            if all(has(case[place]) for case in wrong) and not any(has(c[place]) for c in right):
                return f"está bien en los demás casos, y mal cuando {text.format(f'`{name}`')}"
    return ""


def _traits(value: Any) -> Iterable[tuple[str, Callable[[Any], bool]]]:
    """Lo que se puede decir de una entrada."""
    if isinstance(value, bool | int | float | str):
        shown = number(value) if isinstance(value, float) else repr(value)
        yield f"{{}} es {shown}", lambda x: type(x) is type(value) and x == value
    if isinstance(value, Tensor):
        yield f"{{}} tiene {value.ndim} ejes", lambda x: x is not None and x.ndim == value.ndim
        yield "hay {}", lambda x: x is not None
    if value is None:
        yield "no llega {}", lambda x: x is None
