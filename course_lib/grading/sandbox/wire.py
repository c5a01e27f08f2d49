"""Mensajes entre el calificador y el proceso que ejecuta al estudiante: JSON y tensores, nada más.

Un mensaje es `tamaños | cabecera JSON | tensores en formato safetensors`. Nada de lo que llega se
evalúa ni se deserializa con pickle: la cabecera es un árbol de etiquetas, y los tensores, bytes con
forma y dtype de una lista cerrada. Lo que no cumple los límites es un `ProtocolError`.

En el árbol, los valores lógicos, los textos y None son ellos mismos; lo demás es una pareja:
`["i", "12"]` (entero), `["f", "0x1.8p+1"]` (punto flotante), `["T", 0]` (el tensor 0), `["l", […]]`
(lista), `["t", […]]` (tupla), `["d", [[clave, valor], …]]`, `["e", null]` (`...`), `["F", 3]` (la
función 3 de quien envía) y `["u", "un objeto…"]` (algo que no cruza: solo se sabe nombrarlo).
"""

from __future__ import annotations

import json
import re
import selectors
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError

from course_lib.judging.plain_data import Unsupported

MAX_HEADER = 4 << 20
MAX_TENSORS = 64 << 20
_MAX_DEPTH, _MAX_ITEMS, _MAX_DIGITS, _MAX_AXES = 16, 200_000, 1000, 32
_MAX_KEYS = 2000  # de todos los diccionarios de un mensaje
_MAX_KEY = 1 << 60  # desde 2⁶¹ − 1, los enteros repiten su dispersión y el diccionario se atasca
_MAX_TENSOR_LIST = 1 << 20  # bytes de la cabecera de safetensors, que nombra cada tensor
_LOOK_EVERY = 0.5
_SIZES = struct.Struct(">II")
_INTEGERS = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_DTYPES = frozenset((*_INTEGERS, torch.float16, torch.bfloat16, torch.float32, torch.float64))


class ConversationError(BaseException):
    """La conversación no puede seguir.

    No es una `Exception`: quien comprueba un ejercicio la tomaría por un error del estudiante.
    """


class ProtocolError(ConversationError):
    """El otro extremo envió algo que no es un mensaje, o que pasa de los límites."""


class ChannelClosedError(ConversationError):
    """El otro extremo ya no existe."""


class DeadlineError(ConversationError):
    """El otro extremo no contestó a tiempo."""


class Channel:
    """Un extremo de la tubería.

    Argumentos:
        connection: el socket ya conectado.
        watch: si se da, se llama varias veces por segundo mientras se espera; puede lanzar.
        now: el reloj en que se mide el plazo, `deadline`.
    """

    def __init__(
        self,
        connection: socket.socket,
        watch: Callable[[], None] | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._socket = connection
        self._watch, self.now = watch, now
        self.deadline: float | None = None
        self._next_look = 0.0
        connection.setblocking(False)

    def send(self, header: dict, tensors: list[torch.Tensor] | None = None) -> None:
        """Envía un mensaje entero, o lanza DeadlineError si no lo leen a tiempo."""
        text = json.dumps(header).encode()
        named = {str(i): _dense(tensor) for i, tensor in enumerate(tensors or [])}
        body = safetensors.torch.save(named) if named else b""
        if len(text) > MAX_HEADER or len(body) > MAX_TENSORS:
            raise ProtocolError(f"un mensaje de {len(text)} + {len(body)} bytes es demasiado")
        waiting = memoryview(_SIZES.pack(len(text), len(body)) + text + body)
        while waiting:
            try:
                waiting = waiting[self._socket.send(waiting) :]
            except BlockingIOError:
                self._wait(selectors.EVENT_WRITE)
            except OSError as error:
                raise ChannelClosedError(str(error)) from None

    def receive(self) -> tuple[dict, list[torch.Tensor]]:
        """Recibe un mensaje y comprueba todo lo que se puede comprobar sin saber qué dice."""
        self._look()
        text_size, body_size = _SIZES.unpack(self._read(_SIZES.size))
        if text_size > MAX_HEADER or body_size > MAX_TENSORS:
            raise ProtocolError(f"anuncia {text_size} + {body_size} bytes: es demasiado")
        text, body = self._read(text_size), self._read(body_size)
        try:
            header = json.loads(bytes(text))
        except (ValueError, RecursionError):
            raise ProtocolError("la cabecera no es JSON") from None
        if not isinstance(header, dict):
            raise ProtocolError("la cabecera no es un objeto")
        return header, _tensors(bytes(body))

    def close(self) -> None:
        """Cierra este extremo."""
        self._socket.close()

    def _read(self, size: int) -> bytearray:
        found = bytearray()
        while len(found) < size:
            try:
                piece = self._socket.recv(min(size - len(found), 1 << 20))
            except BlockingIOError:
                self._wait(selectors.EVENT_READ)
                continue
            except OSError as error:
                raise ChannelClosedError(str(error)) from None
            if not piece:
                raise ChannelClosedError("el proceso terminó")
            found += piece
        return found

    def _look(self) -> None:
        """Mira el plazo y la memoria: quien envía sin parar nunca hace esperar."""
        if self._watch is not None and time.monotonic() >= self._next_look:
            self._next_look = time.monotonic() + _LOOK_EVERY
            self._watch()
        if self.deadline is not None and self.now() >= self.deadline:
            raise DeadlineError

    def _wait(self, event: int) -> None:
        with selectors.DefaultSelector() as selector:  # `select` falla con descriptores > 1023
            selector.register(self._socket, event)
            while True:
                self._look()  # también si llega algo enseguida: quien envía byte a byte
                left = None if self.deadline is None else self.deadline - self.now()
                pause = left if self._watch is None else min(0.1, 0.1 if left is None else left)
                if selector.select(pause):
                    return
                if self._watch is not None:
                    self._watch()


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().cpu().contiguous().clone()


def _tensors(body: bytes) -> list[torch.Tensor]:
    if not body:
        return []
    if int.from_bytes(body[:8], "little") > _MAX_TENSOR_LIST:
        raise ProtocolError("envía demasiados tensores")
    try:
        named = safetensors.torch.load(body)
        found = [named.pop(str(i)).clone() for i in range(len(named))]  # no vistas del mensaje
    except (SafetensorError, KeyError, ValueError, TypeError, RuntimeError):
        raise ProtocolError("los tensores no tienen el formato acordado") from None
    if any(tensor.dtype not in _DTYPES for tensor in found):
        raise ProtocolError("un tensor tiene un dtype que no está en la lista")
    if any(tensor.ndim > _MAX_AXES for tensor in found):
        raise ProtocolError("un tensor tiene demasiados ejes")
    return found


# Valores


def encode(
    value: Any, tensors: list[torch.Tensor], export: Callable[[Any], int | None] | None = None
) -> Any:
    """Convierte un valor en el árbol de la cabecera.

    Argumentos:
        value: tensores, números, textos, listas, tuplas y diccionarios de ellos.
        tensors: aquí se agregan los tensores que el árbol nombra.
        export: da el número con que la otra parte llamará a una función, o None si no cruza.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, torch.Tensor):
        if value.dtype not in _DTYPES:
            return ["u", f"un tensor {value.dtype}"]
        tensors.append(value)
        return ["T", len(tensors) - 1]
    if isinstance(value, int):
        return ["i", str(value)] if value.bit_length() < 3000 else ["u", "un entero enorme"]
    if isinstance(value, float):
        return ["f", value.hex()]
    if isinstance(value, (list, tuple)):
        tag = "l" if isinstance(value, list) else "t"
        return [tag, [encode(item, tensors, export) for item in value]]
    if isinstance(value, dict):
        pairs = [[encode(x, tensors, export) for x in pair] for pair in value.items()]
        return ["d", pairs]
    if value is ...:
        return ["e", None]
    if isinstance(value, Unsupported):
        return ["u", value.kind]
    number = export(value) if export is not None and callable(value) else None
    if number is not None:
        return ["F", number]
    return ["u", f"un objeto de tipo {type(value).__name__}"]


def decode(
    tree: Any,
    tensors: list[torch.Tensor],
    function: Callable[[int], Any] | None = None,
    thing: Callable[[str], str] = str,
) -> Any:
    """Reconstruye un valor a partir del árbol; solo salen datos simples.

    Argumentos:
        tree: lo que llegó en la cabecera.
        tensors: los tensores del mensaje.
        function: da el objeto que representa la función de ese número; sin ella son un error.
        thing: cómo se nombra lo que no cruza, a partir de lo que dice quien lo envía.
    """
    return _Decoder(tensors, function, thing).value(tree, 0)


class _Decoder:
    def __init__(
        self,
        tensors: list[torch.Tensor],
        function: Callable[[int], Any] | None,
        thing: Callable[[str], str],
    ) -> None:
        self.tensors, self.function, self.thing = tensors, function, thing
        self.items = self.keys = 0
        self.named: set[int] = set()

    def value(self, tree: Any, depth: int) -> Any:
        self.items += 1
        if depth > _MAX_DEPTH or self.items > _MAX_ITEMS:
            raise ProtocolError("un valor con demasiados niveles o demasiados elementos")
        if tree is None or isinstance(tree, (bool, str)):
            return tree
        if not (isinstance(tree, list) and len(tree) == 2 and isinstance(tree[0], str)):
            raise ProtocolError("un valor sin etiqueta")
        tag, content = tree
        if tag in ("l", "t", "d"):
            return self._container(tag, content, depth)
        return self._leaf(tag, content)

    def _container(self, tag: str, content: Any, depth: int) -> Any:
        if not isinstance(content, list):
            raise ProtocolError("un valor con la etiqueta equivocada")
        if tag == "d":
            self.keys += len(content)
            if self.keys > _MAX_KEYS:
                raise ProtocolError("diccionarios con demasiadas claves")
            return dict([self._pair(pair, depth) for pair in content])
        items = [self.value(item, depth + 1) for item in content]
        return items if tag == "l" else tuple(items)

    def _pair(self, pair: Any, depth: int) -> tuple[Any, Any]:
        if not (isinstance(pair, list) and len(pair) == 2):
            raise ProtocolError("una entrada de diccionario que no es una pareja")
        key, value = (self.value(x, depth + 1) for x in pair)
        if not isinstance(key, (str, int, Unsupported)):
            raise ProtocolError("una clave que no es texto ni número")
        if isinstance(key, int) and abs(key) > _MAX_KEY:
            raise ProtocolError("una clave que es un número demasiado grande")
        return key, value

    def _leaf(self, tag: str, content: Any) -> Any:
        if tag == "e":
            return ...
        if tag in ("T", "F") and type(content) is int:
            if tag == "F" and self.function is not None:
                return self.function(content)
            # Un tensor nombrado cien mil veces serían, al copiarlo, cien mil tensores.
            if tag == "T" and 0 <= content < len(self.tensors) and content not in self.named:
                self.named.add(content)
                return self.tensors[content]
        if isinstance(content, str) and tag == "u":
            return Unsupported(self.thing(clean(content, 80)))
        if isinstance(content, str) and tag in ("i", "f"):
            return _scalar(tag, content)
        raise ProtocolError(f"una etiqueta desconocida o vacía: {tag[:20]!r}")


def _scalar(tag: str, content: str) -> int | float:
    try:
        if tag == "i" and len(content) <= _MAX_DIGITS:
            return int(content)
        if tag == "f" and len(content) <= 40:
            return float.fromhex(content)
    except (ValueError, OverflowError):
        pass
    raise ProtocolError("un número mal escrito")


def clean(text: Any, limit: int) -> str:
    """Deja un texto ajeno en una línea corta, sin caracteres de control."""
    if not isinstance(text, str):
        return ""
    visible = "".join(c if c.isprintable() else " " for c in text[: 4 * limit])
    line = re.sub(r"\s+", " ", visible).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"
