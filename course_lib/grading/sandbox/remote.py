"""Llamar a funciones de otro proceso: el calificador al estudiante, y este a las que recibe.

El calificador ejecuta la misma comprobación que un cuaderno (`check_exercise`), con un
`RemoteFunction` en el lugar del objeto del estudiante. La referencia, lo esperado, los errores
frecuentes y `Exercise.call` se quedan en su proceso; al del estudiante solo viajan las entradas.

- Si una entrada es una función (una subcapa, un bloque), el estudiante recibe un representante:
  llamarlo es una petición al calificador, que la calcula con la suya. Contar esas llamadas, como
  hacen algunos ejercicios, ocurre donde nadie puede falsearlo.
- El gradiente cruza en los dos sentidos. Quien llama recibe las salidas unidas a su grafo por
  `_Stitch`, y al derivar pide a la otra parte el producto vector-jacobiano de su mitad. Los
  resultados de las llamadas de vuelta también entran en `_Stitch`: así llega el gradiente a los
  tensores que una función del calificador lleva consigo.
- Lo que el estudiante cambia en sus copias de las entradas vuelve, y se cambia en las de quien
  llama: quien compara las entradas antes y después ve lo mismo que si todo fuera un proceso.
"""

from __future__ import annotations

import builtins
import contextlib
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from course_lib.grading.sandbox.told_errors import ErrorFilter
from course_lib.grading.sandbox.wire import (
    Channel,
    ConversationError,
    ProtocolError,
    clean,
    decode,
    encode,
)
from course_lib.judging.plain_data import Comparison, copy_inputs, plain
from course_lib.judging.running import Failure, RemoteError, told_failure

MAX_CALLBACKS = 20_000
MAX_CALLBACK_ELEMENTS = 5000
MAX_ALL_CALLBACK_ELEMENTS = 4_000_000
MAX_REPLY_ELEMENTS = 1 << 20
"""Los elementos de todos los tensores que contesta el estudiante; las respuestas tienen cientos."""


class RemoteFunction:
    """Una función del otro proceso, que aquí se llama como cualquiera.

    Argumentos:
        peer: la conversación.
        target: el nombre o el número con que el otro la conoce.
    """

    def __init__(self, peer: Peer, target: str | int) -> None:
        self.peer, self.target = peer, target

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.peer.call(self.target, args, kwargs)

    def __deepcopy__(self, memo: dict) -> RemoteFunction:
        return self


@dataclass
class _Record:
    """Una llamada atendida cuyo gradiente se puede pedir después."""

    outputs: list[torch.Tensor]
    leaves: list[torch.Tensor]
    anchors: list[torch.Tensor]
    received: list[torch.Tensor | None]


class Peer:
    """Uno de los dos lados de una conversación: llama a funciones del otro y atiende las suyas.

    Argumentos:
        channel: la tubería.
        trusted: si este lado es el calificador, que limita lo que acepta calcular para el otro.
        find: da la función de este lado que el otro pide por su nombre.
        around: el contexto en que se atiende cada llamada.
        seconds: cuánto puede tardar una llamada, contando lo que ella pida de vuelta.
        errors: lo que se repite de los errores del otro lado, si este es el calificador.

    El atributo `until` es la hora (`Channel.now`) en que termina el plazo de todas.
    """

    def __init__(
        self,
        channel: Channel,
        *,
        trusted: bool,
        find: Callable[[str], Any] | None = None,
        around: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext,
        seconds: float | None = None,
        errors: ErrorFilter | None = None,
    ) -> None:
        self.channel, self.trusted, self.seconds = channel, trusted, seconds
        self.until, self._errors = math.inf, errors or ErrorFilter()
        self._find, self._around = find, around
        self._tracked, self._depth, self._anchors = False, 0, []
        self.forget()

    def forget(self) -> None:
        """Olvida las funciones que dio y los grafos que guardaba."""
        self._functions: list[Callable] = []
        self._records: list[_Record] = []
        self._served = self._served_elements = 0

    # Llamar

    def call(self, target: str | int, args: tuple, kwargs: dict) -> Any:
        """Llama a una función del otro lado y espera su resultado."""
        tensors: list[torch.Tensor] = []
        tree = encode([list(args), kwargs], tensors, self._export)
        wanted = self._tracked or any(tensor.requires_grad for tensor in tensors)
        tracked = wanted and torch.is_grad_enabled()
        header = {"op": "call", "target": target, "args": tree}
        header["requires"] = [t.requires_grad for t in tensors] if tracked else None
        first = len(self._records)
        reply, found = self._request(header, tensors)
        if not tracked:
            if reply.get("changed") is not None:
                _restored(list(args), self._decoded(reply["changed"], found))
            return self._decoded(reply.get("value"), found)
        found = self._stitch(reply, tensors, self._records[first:], found)
        _bring_back_tracked(reply, found, tensors)
        return self._decoded(reply.get("value"), found)

    def backward(self, record: int, gradients: list[torch.Tensor | None]) -> list[torch.Tensor]:
        """Pide los gradientes de una llamada anterior respecto de sus entradas."""
        given = [gradient is not None for gradient in gradients]
        header = {"op": "backward", "record": record, "given": given}
        return self._request(header, [g for g in gradients if g is not None])[1]

    def _request(self, header: dict, tensors: list[torch.Tensor]) -> tuple[dict, list]:
        """Envía una petición y, hasta que llega su respuesta, atiende las llamadas de vuelta."""
        if self._depth == 0 and self.seconds is not None:
            self.channel.deadline = min(self.channel.now() + self.seconds, self.until)
        self._depth += 1
        try:
            self.channel.send(header, tensors)
            while True:
                reply, found = self.channel.receive()
                if reply.get("op") == "result":
                    if self.trusted and _elements(found) > MAX_REPLY_ELEMENTS:
                        raise ProtocolError("contesta tensores demasiado grandes")
                    return reply, found
                if reply.get("op") == "error":
                    raise self._error(reply)
                self.serve(reply, found)
        finally:
            self._depth -= 1

    def _decoded(self, tree: Any, tensors: list[torch.Tensor]) -> Any:
        thing = self._errors.thing if self.trusted else str
        return decode(tree, tensors, self._represent, thing)

    def _error(self, reply: dict) -> Exception:
        kind, message = clean(reply.get("kind"), 60), clean(reply.get("message"), 200)
        if self.trusted:
            kind = self._errors.kind(kind)
            # Sin decimales: un mensaje de error no es manera de sacar los valores de las entradas.
            message = re.sub(r"-?\d*\.\d+(e[+-]?\d+)?", "…", message)
            line = self._errors.line(clean(reply.get("line"), 120))
            told = self._errors.says(message)
            return RemoteError(Failure(kind, message, line, reply.get("pending") is True, told))
        error = getattr(builtins, kind, None)
        with contextlib.suppress(TypeError):  # algunas no se construyen con un texto
            if isinstance(error, type) and issubclass(error, Exception):
                return error(message)
        return RuntimeError(message)

    def _stitch(
        self, reply: dict, inputs: list, callbacks: list[_Record], outputs: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        """Une las salidas recibidas al grafo de las entradas y de las llamadas de vuelta."""
        required, record = reply.get("requires"), reply.get("record")
        if not _are_flags(required, len(outputs)) or type(record) is not int:
            raise ProtocolError("falta decir qué salidas tienen gradiente")
        floats = [r and x.is_floating_point() for r, x in zip(required, outputs, strict=True)]
        if not any(floats):
            return outputs
        saved = reply.get("saved")
        if not isinstance(saved, list) or any(x not in range(len(inputs)) for x in saved):
            raise ProtocolError("guarda una entrada que no existe")
        # El calificador no cuida las suyas: `_bring_back_tracked` escribe en ellas.
        kept = [] if self.trusted else [inputs[i] for i in saved]
        back = _Backward(self, record, inputs, callbacks, floats, kept)
        # El ancla hace que las salidas tengan gradiente aunque no dependan de ninguna entrada: el
        # otro lado puede llevar consigo tensores que sí lo esperan.
        anchor = torch.zeros((), requires_grad=True)
        self._anchors.append(anchor)
        with torch.enable_grad():
            return list(_Stitch.apply(back, outputs, anchor, *back.linked()))

    # Atender

    def serve(self, header: dict, tensors: list[torch.Tensor]) -> None:
        """Atiende una petición y la contesta; si falla, contesta con el error."""
        try:
            reply, found = self._reply(header, tensors)
        except ConversationError:
            raise
        except BaseException as error:
            reply, found = {"op": "error", **vars(told_failure(error))}, []
        self.channel.send(reply, found)

    def _reply(self, header: dict, tensors: list[torch.Tensor]) -> tuple[dict, list]:
        if header.get("op") not in ("call", "backward"):
            raise ProtocolError("una petición desconocida")
        self._guard(tensors)
        if header["op"] == "backward":
            return {"op": "result"}, self._serve_backward(header, tensors)
        if header.get("requires") is None:
            return self._serve_plain(header, tensors)
        return self._serve_tracked(header, tensors, header["requires"])

    def _serve_plain(self, header: dict, tensors: list[torch.Tensor]) -> tuple[dict, list]:
        function, args, kwargs = self._what_to_call(header, tensors)
        before = copy_inputs(args)
        with self._around():
            value = function(*args, **kwargs)
        found: list[torch.Tensor] = []
        reply = {"op": "result", "value": encode(plain(value), found)}
        if not Comparison(0.0).same(plain(args), plain(before)):
            reply["changed"] = encode(args, found, self._export)
        return reply, found

    def _serve_tracked(
        self, header: dict, tensors: list[torch.Tensor], required: Any
    ) -> tuple[dict, list]:
        if not _are_flags(required, len(tensors)):
            raise ProtocolError("falta decir qué entradas tienen gradiente")
        leaves: list[torch.Tensor] = []
        copies = [_leaf(t, leaves) if r else t for t, r in zip(tensors, required, strict=True)]
        versions = [copy._version for copy in copies]
        function, args, kwargs = self._what_to_call(header, copies)
        found: list[torch.Tensor] = []
        with self._tracking() as anchors, self._watch_saved(copies) as saved:
            with self._around():
                value = function(*args, **kwargs)
            tree = encode(plain(value, keep_graph=True), found)
        changes = []
        for index, copy in enumerate(copies):
            if copy._version != versions[index]:
                changes.append([index, copy])
            elif required[index] and not copy.requires_grad:
                changes.append([index, None])
        changed = encode(changes, found)
        self._records.append(_Record(found, leaves, anchors, [None] * len(found)))
        requires = [tensor.requires_grad for tensor in found]
        reply = {"op": "result", "value": tree, "changed": changed, "saved": sorted(saved)}
        return reply | {"record": len(self._records) - 1, "requires": requires}, found

    def _serve_backward(self, header: dict, gradients: list[torch.Tensor]) -> list[torch.Tensor]:
        number, given = header.get("record"), header.get("given")
        if type(number) is not int or not 0 <= number < len(self._records):
            raise ProtocolError("deriva una llamada que no existe")
        record = self._records[number]
        if not _are_flags(given, len(record.outputs)) or sum(given) != len(gradients):
            raise ProtocolError("los gradientes no son los de esa llamada")
        arriving = iter(gradients)
        record.received = [next(arriving) if g else None for g in given]
        pairs = [
            (out, gradient)
            for out, gradient in zip(record.outputs, record.received, strict=True)
            if gradient is not None and out.requires_grad
        ]
        targets = [*record.leaves, *record.anchors]
        if not pairs or not targets:
            return [torch.zeros_like(leaf) for leaf in record.leaves]
        outputs, received = map(list, zip(*pairs, strict=True))
        with self._around(), torch.enable_grad():
            options = {"retain_graph": True, "allow_unused": True}
            found = torch.autograd.grad(outputs, targets, received, **options)
        pairs = zip(record.leaves, found, strict=False)
        return [torch.zeros_like(leaf) if g is None else g for leaf, g in pairs]

    def _what_to_call(self, header: dict, tensors: list[torch.Tensor]) -> tuple:
        content = self._decoded(header.get("args"), tensors)
        shaped = isinstance(content, list) and len(content) == 2
        if not (shaped and isinstance(content[0], list) and isinstance(content[1], dict)):
            raise ProtocolError("las entradas no son una lista y un diccionario")
        target = header.get("target")
        named = isinstance(target, str) and self._find is not None
        function = self._find(target) if named else self._own(target)
        return function, *content

    def _guard(self, tensors: list[torch.Tensor]) -> None:
        """El calificador no calcula para el estudiante más de lo que un ejercicio necesita."""
        self._served += self.trusted
        if self._served > MAX_CALLBACKS:
            raise RuntimeError("llamas demasiadas veces a una función que recibes")
        elements = _elements(tensors)
        if self.trusted and elements > MAX_CALLBACK_ELEMENTS:
            raise RuntimeError("llamas a una función que recibes con un tensor demasiado grande")
        self._served_elements += elements
        if self.trusted and self._served_elements > MAX_ALL_CALLBACK_ELEMENTS:
            raise RuntimeError("llamas demasiadas veces a una función que recibes")

    @contextlib.contextmanager
    def _tracking(self) -> Iterator[list[torch.Tensor]]:
        """Sigue el gradiente; da la lista donde quedan las anclas de las llamadas de vuelta."""
        before, self._tracked, self._anchors = self._tracked, True, []
        try:
            with torch.enable_grad():
                yield self._anchors
        finally:
            self._tracked = before

    def _watch_saved(
        self, tensors: list[torch.Tensor]
    ) -> contextlib.AbstractContextManager[set[int]]:
        """Solo mira el calificador: mientras se mira, torch no comprueba las versiones.

        El estudiante que escribe en un tensor que su grafo guardó debe encontrar el mismo error que
        en su cuaderno.
        """
        return _saved_among(tensors) if self.trusted else contextlib.nullcontext(set())

    # Funciones que cruzan: solo las del calificador

    def _export(self, function: Callable) -> int | None:
        if isinstance(function, RemoteFunction):
            return function.target if type(function.target) is int else None
        if not self.trusted:
            return None
        self._functions.append(function)
        return len(self._functions) - 1

    def _own(self, number: Any) -> Callable:
        if type(number) is not int or not 0 <= number < len(self._functions):
            raise ProtocolError("nombra una función que no se le dio")
        return self._functions[number]

    def _represent(self, number: int) -> Any:
        return self._own(number) if self.trusted else RemoteFunction(self, number)


def _elements(tensors: list[torch.Tensor]) -> int:
    """Cuenta los elementos de unos tensores.

    Un tensor de (10⁹, 0) no ocupa nada, pero sus posiciones, sí: un eje vacío cuenta por uno.
    """
    return sum(math.prod(max(1, n) for n in tensor.shape) for tensor in tensors)


def _leaf(tensor: torch.Tensor, leaves: list[torch.Tensor]) -> torch.Tensor:
    leaves.append(tensor.requires_grad_())
    return tensor.clone()  # no es hoja, así que se puede escribir en ella


@contextlib.contextmanager
def _saved_among(tensors: list[torch.Tensor]) -> Iterator[set[int]]:
    """Reúne las posiciones de los tensores que el grafo guarda para derivar."""
    positions = {tensor.untyped_storage().data_ptr(): i for i, tensor in enumerate(tensors)}
    saved: set[int] = set()

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        position = positions.get(tensor.untyped_storage().data_ptr())
        saved.update([] if position is None else [position])
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield saved


def _are_flags(flags: Any, count: int) -> bool:
    return isinstance(flags, list) and len(flags) == count and {*map(type, flags)} <= {bool}


def _restored(old: Any, new: Any) -> Any:
    """Escribe en un objeto de quien llamó lo que el otro lado cambió en su copia.

    Devuelve:
        lo que va en su lugar: él mismo, si se puede modificar, o lo nuevo.
    """
    if isinstance(old, torch.Tensor) and isinstance(new, torch.Tensor):
        old.data = new.clone()
    elif isinstance(old, list) and isinstance(new, list):
        kept = [_restored(a, b) for a, b in zip(old, new, strict=False)]
        old[:] = [*kept, *new[len(old) :]]
    elif isinstance(old, tuple) and isinstance(new, tuple):
        return tuple(_restored(a, b) for a, b in zip(old, new, strict=False))
    elif isinstance(old, dict) and isinstance(new, dict):
        kept = {k: _restored(old[k], x) if k in old else x for k, x in new.items()}
        old.clear()
        old.update(kept)
    else:
        return old if callable(old) else new
    return old


def _bring_back_tracked(reply: dict, found: list, tensors: list[torch.Tensor]) -> None:
    """Lo mismo cuando hay gradiente: quien escribió en una entrada también cambió su grafo."""
    changes = decode(reply.get("changed"), found)
    for change in changes if isinstance(changes, list) else ():
        index, new = change if isinstance(change, list) and len(change) == 2 else (None, None)
        if type(index) is not int or not 0 <= index < len(tensors):
            raise ProtocolError("cambia una entrada que no existe")
        if new is None:
            tensors[index].detach_()
        elif isinstance(new, torch.Tensor) and new.shape == tensors[index].shape:
            tensors[index].copy_(new)


# El gradiente


@dataclass(frozen=True)
class _Backward:
    """Cómo derivar una llamada hecha al otro lado."""

    peer: Peer
    record: int
    inputs: list[torch.Tensor]
    callbacks: list[_Record]
    floats: list[bool]
    saved: list[torch.Tensor]

    def linked(self) -> list[torch.Tensor]:
        """Los tensores de este lado de los que dependen las salidas."""
        outputs = [out for record in self.callbacks for out in record.outputs]
        return [tensor for tensor in [*self.inputs, *outputs] if tensor.requires_grad]

    def __call__(self, gradients: tuple[torch.Tensor, ...]) -> list[torch.Tensor | None]:
        """Da el gradiente de cada tensor de `linked`, en el mismo orden."""
        for record in self.callbacks:
            record.received = [None] * len(record.outputs)
        sent = [g if f else None for g, f in zip(gradients, self.floats, strict=True)]
        found = self.peer.backward(self.record, sent)
        leaves = [tensor for tensor in self.inputs if tensor.requires_grad]
        if [x.shape for x in found] != [leaf.shape for leaf in leaves]:
            raise ProtocolError("los gradientes no tienen la forma de las entradas")
        for record in self.callbacks:
            pairs = zip(record.outputs, record.received, strict=True)
            found += [gradient for out, gradient in pairs if out.requires_grad]
        return found


class _Stitch(torch.autograd.Function):
    """Da las salidas que llegaron; su derivada se pide al otro lado."""

    @staticmethod
    def forward(ctx: Any, back: _Backward, outputs: list, anchor: Any, *linked: Any) -> tuple:
        ctx.back = back
        # Quien escriba en una entrada que la función guardó no podrá derivar, como en un proceso.
        ctx.save_for_backward(*back.saved)
        pairs = list(zip(outputs, back.floats, strict=True))
        ctx.mark_non_differentiable(*[out for out, is_float in pairs if not is_float])
        return tuple(outputs)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple:
        _ = ctx.saved_tensors
        return None, None, torch.zeros(()), *ctx.back(gradients)
