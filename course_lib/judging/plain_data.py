"""Datos simples: lo único que se compara, y lo único que puede cruzar una tubería.

Son tensores en la CPU, números, textos, valores lógicos, None, listas y diccionarios de ellos. Lo
que devuelve un estudiante se convierte antes de mirarlo: un objeto que dice ser igual a todo no
llega hasta aquí, porque la conversión no usa ningún método que él pueda redefinir.
"""

from __future__ import annotations

import copy
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

PROPERTIES = ("type", "shape", "dtype", "finite", "values")
"""Propiedades de un resultado, en el orden en que se miran."""

_TOLERANCES = {torch.float64: 1e-10, torch.float32: 1e-5}
_COUNTED = 1e-3
_MAX_DEPTH = 8


@dataclass(frozen=True)
class Unsupported:
    """Un valor que no es un dato simple; solo se conserva cómo nombrarlo."""

    kind: str


@dataclass(frozen=True)
class Fault:
    """Una propiedad que no se cumple: la frase, con qué entradas, qué revisar y en qué caso."""

    property: str
    text: str
    inputs: str = ""
    advice: str = ""
    case: int | None = None


# Convertir y copiar


def plain(value: Any, *, keep_graph: bool = False, _depth: int = 0) -> Any:
    """Convierte un valor en datos simples.

    Argumentos:
        value: lo que devolvió el estudiante.
        keep_graph: si los tensores conservan su grafo, para derivar.

    Devuelve:
        tensores, bool, int, float, str, None, listas o diccionarios de ellos; lo demás queda
        como `Unsupported`.
    """
    kind = type(value)  # isinstance consulta también __class__, que un objeto puede falsear
    if value is None or kind is bool or kind is Unsupported:
        return value
    if _depth > _MAX_DEPTH:
        return Unsupported("un valor con demasiados niveles")
    if issubclass(kind, torch.Tensor):
        return _plain_tensor(value, keep_graph)
    for base, convert in _SCALARS:
        if issubclass(kind, base):
            return convert(value)
    for base in (list, tuple):
        if issubclass(kind, base):
            return [
                plain(x, keep_graph=keep_graph, _depth=_depth + 1) for x in base.__iter__(value)
            ]
    if issubclass(kind, dict):
        return {
            _plain_key(k): plain(v, keep_graph=keep_graph, _depth=_depth + 1)
            for k, v in dict.items(value)
        }
    return _plain_numpy_scalar(value)


_SCALARS = (
    (int, lambda x: int.__add__(x, 0)),
    (float, lambda x: float.__add__(x, 0.0)),
    (str, lambda x: "".join(str.__iter__(x))),
)


def _plain_tensor(value: torch.Tensor, keep_graph: bool) -> Any:
    try:
        with torch._C.DisableTorchFunctionSubclass():
            base = torch.Tensor.as_subclass(value, torch.Tensor)
    except RuntimeError:  # los dispersos no se pueden convertir
        return Unsupported("un tensor que no es denso")
    if base.is_meta or base.is_complex() or base.is_quantized or base.layout != torch.strided:
        return Unsupported(f"un tensor {base.dtype} en el dispositivo {base.device.type}")
    return base.cpu() if keep_graph else base.detach().cpu().clone()


def _plain_key(key: Any) -> Any:
    return plain(key) if issubclass(type(key), (str, int)) else Unsupported(type(key).__name__)


def _plain_numpy_scalar(value: Any) -> Any:
    """Acepta los escalares de NumPy, que no son números de Python, sin importar NumPy."""
    kind = type(value)
    if any(base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__):
        item = value.item()
        return item if type(item) in (bool, int, float, str) else Unsupported(kind.__name__)
    return Unsupported(f"un objeto de tipo {kind.__name__}")


def is_plain(value: Any) -> bool:
    """Dice si un valor ya convertido no guarda nada sin convertir."""
    if isinstance(value, Unsupported):
        return False
    items = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = [*value.keys(), *value.values()]
    return all(is_plain(x) for x in items)


def copy_inputs(value: Any, leaves: list[torch.Tensor] | None = None) -> Any:
    """Copia las entradas de un caso.

    Argumentos:
        value: un dato simple, o una tupla de ellos.
        leaves: si se da, cada tensor de punto flotante de la copia se deriva de una hoja nueva,
            que se agrega aquí. La copia no es hoja, así que el estudiante puede escribir en ella.
    """
    if isinstance(value, torch.Tensor):
        fresh = value.detach().clone()
        if leaves is None or not fresh.is_floating_point():
            return fresh
        leaves.append(fresh.requires_grad_())
        return fresh.clone()
    if isinstance(value, (list, tuple)):
        return type(value)(copy_inputs(x, leaves) for x in value)
    if isinstance(value, dict):
        return {k: copy_inputs(v, leaves) for k, v in value.items()}
    return copy.deepcopy(value)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Recorre los tensores de un dato simple, en orden."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


# Comparar


_LISTS = (list, tuple)
_ABSENT = Unsupported("nada")

Path = tuple[int | str, ...]
"""El lugar de un dato dentro de un resultado: posiciones de listas y claves de diccionarios."""


@dataclass(frozen=True)
class Comparison:
    """Cómo se comparan dos datos simples.

    Lo que se dice de una falla no da la respuesta. La forma de un tensor se dice, porque sale de
    las formas de las entradas y el enunciado la da; cuántas cosas se devuelven, también. Cuántos
    números, textos o listas tiene una lista puede ser la respuesta: se dice solo cuántos llegaron.

    Argumentos:
        tolerance: relativa y absoluta; None la elige según el dtype esperado.
        lenient_text: si en los textos no importan mayúsculas, espacios ni comas (respuestas a
            preguntas).
        any_dtype: si se comparan los números de un tensor sin mirar su dtype; las cifras que deben
            coincidir son las del dtype esperado.
    """

    tolerance: float | None = None
    lenient_text: bool = False
    any_dtype: bool = False

    def same(self, actual: Any, expected: Any) -> bool:
        """Dice si dos datos simples son iguales; se queda en la primera diferencia.

        Es lo mismo que no tener `faults`, sin el trabajo de decir cuáles: al buscar un error
        frecuente se pregunta miles de veces.
        """
        actual = _as_scalar(actual, expected)
        found, wanted = type(actual), type(expected)
        if found in _LISTS and wanted in _LISTS:
            return len(actual) == len(expected) and all(map(self.same, actual, expected))
        if found is wanted is dict:
            pairs = ((actual.get(key, _ABSENT), each) for key, each in expected.items())
            return len(actual) == len(expected) and all(itertools.starmap(self.same, pairs))
        if found is wanted is torch.Tensor:
            return self._same_tensor(actual, expected)
        if found is wanted is int or found is wanted is bool:
            return actual == expected
        return next(self.faults(actual, expected), None) is None

    def _same_tensor(self, actual: torch.Tensor, expected: torch.Tensor) -> bool:
        if actual.shape != expected.shape:
            return False
        if actual.dtype == expected.dtype and torch.equal(actual, expected):
            return True
        if actual.is_floating_point() and expected.dtype == actual.dtype:
            return self._close(actual.double(), expected.double(), expected.dtype)
        return not self._tensor_faults(actual, expected, ())

    def faults(self, actual: Any, expected: Any, path: Path = ()) -> Iterator[Fault]:
        """Da las propiedades en que difieren, con el lugar; nunca muestra lo esperado."""
        actual = _as_scalar(actual, expected)
        # Lo que no se admite trae su nombre del otro proceso: no es de fiar, y nunca es lo pedido.
        if isinstance(actual, Unsupported) or _kind(actual) != _kind(expected):
            yield _type_fault(actual, expected, path)
        elif isinstance(expected, torch.Tensor):
            yield from self._tensor_faults(actual, expected, path)
        elif isinstance(expected, (list, tuple)):
            yield from self._list_faults(actual, expected, path)
        elif isinstance(expected, dict):
            yield from self._dict_faults(actual, expected, path)
        elif float in (type(actual), type(expected)):
            yield from self._float_faults(actual, expected, path)
        elif isinstance(expected, str):
            # Poner en su forma un texto de un millón de acentos sueltos tarda horas.
            too_long = len(actual.strip()) > 8 * len(expected) + 1000
            if too_long or self._normal(actual) != self._normal(expected):
                yield Fault("values", f"{_place(path)}el texto no es el esperado")
        elif actual != expected:
            yield _values_fault(path)

    def _tensor_faults(
        self, actual: torch.Tensor, expected: torch.Tensor, path: Path
    ) -> list[Fault]:
        if actual.shape != expected.shape:
            found, wanted = tuple(actual.shape), tuple(expected.shape)
            return [Fault("shape", f"{_place(path)}la forma es {found} y debería ser {wanted}")]
        if not self.any_dtype and _number_kind(actual.dtype) != _number_kind(expected.dtype):
            text = f"{_place(path)}el dtype es {actual.dtype} y debería ser {expected.dtype}"
            return [Fault("dtype", text)]
        if expected.is_floating_point():
            return self._float_tensor_faults(actual.double(), expected, path)
        exact = torch.double if actual.is_floating_point() else torch.long
        equal = torch.equal(actual.to(exact), expected.to(exact))
        return [] if equal else [_values_fault(path, expected.ndim)]

    def _float_tensor_faults(
        self, actual: torch.Tensor, expected: torch.Tensor, path: Path
    ) -> list[Fault]:
        target = expected.double()
        if self._close(actual, target, expected.dtype):
            return []
        if bool((actual + target).isfinite().all()):  # ni NaN ni infinitos, en ninguno
            return [_values_fault(path, expected.ndim)]
        for predicate, what in ((torch.isnan, "NaN"), (torch.isinf, "infinitos")):
            found, wanted = predicate(actual), predicate(expected)
            if bool((found & ~wanted).any()):
                text = f"{_place(path)}hay valores {what} donde no deberían estar"
                return [Fault("finite", text)]
            if bool((wanted & ~found).any()):
                text = f"{_place(path)}faltan valores {what} donde deberían estar"
                return [Fault("finite", text)]
        return [_values_fault(path, expected.ndim)]

    def _close(self, actual: torch.Tensor, target: torch.Tensor, dtype: torch.dtype) -> bool:
        """Dice si dos tensores de float64 coinciden en las cifras del dtype esperado."""
        if torch.equal(actual, target):  # lo más frecuente, y lo más barato
            return True
        limit = _TOLERANCES.get(dtype, 1e-2) if self.tolerance is None else self.tolerance
        first, wanted = actual.flatten()[0].item(), target.flatten()[0].item()
        if abs(first - wanted) > limit * (1 + abs(wanted)):  # con NaN, no se sabe
            return False
        return torch.isclose(actual, target, rtol=limit, atol=limit, equal_nan=True).all().item()

    def _float_faults(self, actual: float | int, expected: float | int, path: Path) -> list[Fault]:
        limit = 1e-5 if self.tolerance is None else self.tolerance
        left, right = (_float64(x) for x in (actual, expected))
        # Una cuenta es exacta: lo que le falta a una de millones no es redondeo.
        if isinstance(expected, int) and _COUNTED < (left - right).abs() < float("inf"):
            return [_values_fault(path)]
        return Comparison(limit)._tensor_faults(left, right, path)

    def _list_faults(
        self, actual: list | tuple, expected: list | tuple, path: Path
    ) -> Iterator[Fault]:
        if len(actual) != len(expected):
            yield _length_fault(actual, expected, path)
            return
        kinds, wanted = ([_kind(item) for item in items] for items in (actual, expected))
        if kinds != wanted and sorted(kinds) == sorted(wanted):
            told = f"se esperaba ({', '.join(wanted)}), en ese orden, y llegó ({', '.join(kinds)})"
            yield Fault("type", f"{_place(path)}{told}")
            return
        for index, pair in enumerate(zip(actual, expected, strict=True)):
            yield from self.faults(*pair, (*path, index))

    def _dict_faults(self, actual: dict, expected: dict, path: Path) -> Iterator[Fault]:
        missing = [key for key in expected if key not in actual]
        if missing:
            yield Fault("shape", f"{_place(path)}al diccionario le falta la clave «{missing[0]}»")
        elif len(actual) != len(expected):
            yield Fault("shape", f"{_place(path)}al diccionario le sobra alguna clave")
        else:
            for key in expected:
                yield from self.faults(actual[key], expected[key], (*path, key))

    def _normal(self, text: str) -> str:
        normal = unicodedata.normalize("NFC", text)
        return re.sub(r"[\s,;]+", "", normal).casefold() if self.lenient_text else normal


# Decir qué falla


def _place(path: Path) -> str:
    """Nombra un lugar del resultado; termina en coma, y es vacío si es el resultado entero."""
    split = next((i for i, step in enumerate(path) if isinstance(step, int)), len(path))
    told = [f"en «{label}»" for label in path[:split]]
    if split < len(path):
        told.append(f"en {nth(path[split])} del resultado")
    if deeper := path[split + 1 :]:
        told.append(f"en su posición {''.join(f'[{step!r}]' for step in deeper)}")
    return "".join(f"{each}, " for each in told)


_ORDINALS = ("primer", "segundo", "tercer", "cuarto", "quinto", "sexto", "séptimo", "octavo")


def nth(index: int) -> str:
    """Nombra un lugar de un resultado: «el segundo elemento»."""
    return f"el {_ORDINALS[index]} elemento" if index < len(_ORDINALS) else f"la posición [{index}]"


def _type_fault(actual: Any, expected: Any, path: Path) -> Fault:
    wanted = _kind(expected)
    if isinstance(expected, (list, tuple)) and _holds_results(expected):
        wanted += f" con {len(expected)} elementos"
    is_whole = all(isinstance(step, str) for step in path)
    advice = ". ¿Falta un return?" if actual is None and is_whole else _conversion(actual, expected)
    text = f"{_place(path)}se esperaba {wanted} y llegó {_kind(actual)}"
    return Fault("type", text, advice=advice)


def _conversion(actual: Any, expected: Any) -> str:
    """Cómo se pasa de lo que llegó a lo que se pide, si es solo eso."""
    if isinstance(expected, torch.Tensor) and isinstance(actual, (list, tuple, int, float)):
        return ". Conviértelo con torch.tensor(…)"
    if isinstance(expected, (list, tuple)) and isinstance(actual, torch.Tensor):
        return ". Conviértelo con .tolist()"
    if isinstance(expected, (int, float)) and isinstance(actual, torch.Tensor):
        return ". Un número se saca de un tensor de un solo elemento con .item()"
    return ""


def _length_fault(actual: list | tuple, expected: list | tuple, path: Path) -> Fault:
    wanted, found = ({_kind(item) for item in items} for items in (expected, actual))
    if len(wanted) == 1 and found and found.isdisjoint(wanted):
        said = f"cada elemento de la lista debería ser {wanted.pop()}, y llegó {_kind(actual[0])}"
        return Fault("type", f"{_place(path)}{said}")
    if _holds_results(expected):
        unit = "elemento" if len(actual) == 1 else "elementos"
        said = f"la lista o tupla tiene {len(actual)} {unit} y debería tener {len(expected)}"
    else:
        said = f"el número de elementos de la lista, {len(actual)}, no es el correcto"
    return Fault("shape", f"{_place(path)}{said}")


def _holds_results(expected: list | tuple) -> bool:
    """Si una lista es la de varios resultados que el enunciado nombra, y no una de datos."""
    kinds = {_kind(item) for item in expected}
    return len(kinds) > 1 or kinds == {_kind(torch.empty(0))}


def _values_fault(path: Path, axes: int = 0) -> Fault:
    said = "los valores no son los esperados" if axes else "el valor no es el esperado"
    return Fault("values", f"{_place(path)}{said}")


def _float64(number: float | int) -> torch.Tensor:
    try:
        return torch.tensor(float(number), dtype=torch.float64)
    except OverflowError:  # un entero que no cabe en un float
        return torch.tensor(float("inf"), dtype=torch.float64)


def _as_scalar(actual: Any, expected: Any) -> Any:
    """Acepta un tensor sin ejes donde se espera un número o un valor lógico."""
    if isinstance(expected, (bool, int, float)) and isinstance(actual, torch.Tensor):
        return actual.item() if actual.ndim == 0 else actual
    return actual


_KINDS = {
    bool: "un valor lógico (True o False)",
    int: "un número",
    float: "un número",
    str: "un texto",
    list: "una lista o tupla",
    tuple: "una lista o tupla",
    dict: "un diccionario",
    type(None): "None",
    torch.Tensor: "un tensor",
}


def _kind(value: Any) -> str:
    """Nombra en español la clase de un dato simple."""
    return value.kind if isinstance(value, Unsupported) else _KINDS.get(type(value), "otro objeto")


def _number_kind(dtype: torch.dtype) -> str:
    """Agrupa los enteros, sin importar su ancho; los de punto flotante deben coincidir."""
    return str(dtype) if dtype == torch.bool or dtype.is_floating_point else "entero"
