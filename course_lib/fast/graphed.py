"""Escribir con un `PaLM` en pasos que son siempre iguales: una GPU los graba y los repite."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.fast.dense import dense
from course_lib.fast.palm_writer import PaLMWriter
from course_lib.layers.arguments import look_up, require_ids, require_sizes
from course_lib.models.palm import PaLM


def graphed(palm: PaLM, batch: int, capacity: int) -> GraphedWriter:
    """Como `writer`, con cada paso grabado (*CUDA graph*): Python no lanza sus operaciones.

    Argumentos:
        palm: el modelo, en modo de evaluación.
        batch: cuántas filas se escriben a la vez, como mucho.
        capacity: cuántas posiciones caben, con la indicación; cada paso las mira todas.

    Errores:
        ValueError: los de `PaLMWriter`, o un tamaño que no es positivo.

    Ejemplo:
        >>> import torch
        >>> from course_lib import fast
        >>> from course_lib.decoding import greedy
        >>> from course_lib.models import PaLM, PaLMConfig
        >>> palm = PaLM(PaLMConfig(vocab_size=50, d_model=32, num_heads=4, num_layers=2)).eval()
        >>> prompt, options = torch.tensor([[5, 6, 7]]), {"end_id": None, "max_new_tokens": 8}
        >>> same = greedy(fast.graphed(palm, batch=1, capacity=16).step, prompt, **options)
        >>> torch.equal(same.token_ids, greedy(palm.step, prompt, **options).token_ids)
        True
    """
    return GraphedWriter(palm, batch, capacity)


@dataclass(frozen=True, eq=False, repr=False)
class Recorded:
    """Dónde va un `GraphedWriter`, que tiene una sola memoria: solo vale el último estado.

    Argumentos:
        writer: quién escribe.
        batch: cuántas filas.
        length: cuántas posiciones hay escritas.
    """

    writer: GraphedWriter
    batch: int
    length: int

    def select(self, rows: Int[Tensor, " rows"]) -> Recorded:
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return self.writer.keep(rows, self.length)


class GraphedWriter(PaLMWriter):
    """Un `PaLMWriter` en el que nada depende de cuántas posiciones van escritas.

    La memoria es siempre la misma; el lugar en que se escribe es un tensor, y una máscara tapa lo
    que sigue. Así el paso de cada tamaño de lote se graba una vez en la GPU y se repite. En la CPU
    se ejecuta sin grabar, y conviene `PaLMWriter`.

    Argumentos: los de `graphed`.

    Fuente: la documentación de `torch.cuda.CUDAGraph`; capítulo `palm`.
    """

    def __init__(self, palm: PaLM, batch: int, capacity: int) -> None:
        require_sizes(batch=batch, capacity=capacity)
        super().__init__(palm, min(capacity, palm.config.max_length))
        like = self.table.detach()
        shape = (2, batch, self.kv, self.capacity, self.d_head)
        self.memory = [like.new_zeros(shape) for _ in self.blocks]
        self.ids = torch.zeros(batch, dtype=torch.long, device=like.device)
        self.place = torch.zeros(1, dtype=torch.long, device=like.device)
        self.columns = torch.arange(self.capacity, device=like.device)[None]
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor]] = {}

    @torch.no_grad()
    def step(
        self, token_ids: Int[Tensor, "batch t"], state: Recorded | None = None
    ) -> tuple[Float[Tensor, "batch 1 vocab"], Recorded]:
        """Como `PaLMWriter.step`; el estado que llega tiene que ser el último que se dio.

        Errores:
            ValueError: los de `PaLMWriter.step`, o no caben las filas o las posiciones.
        """
        if state is None:
            return self._read(token_ids)
        batch, n = state.batch, state.length
        if token_ids.shape != (batch, 1):
            raise ValueError(
                f"Se esperaba un token por fila, de forma ({batch}, 1), y llegó la forma "
                f"{tuple(token_ids.shape)}. Para leer una indicación, empieza sin estado."
            )
        self._require_room(batch, n + 1)
        require_ids("token_ids", token_ids)
        self.ids[:batch] = token_ids[:, 0]
        self.place.fill_(n)
        return self._play(batch), Recorded(self, batch, n + 1)

    @torch.no_grad()
    def keep(self, rows: Int[Tensor, " rows"], length: int) -> Recorded:
        """Deja en la memoria esas filas del lote, en ese orden."""
        self._require_room(len(rows), length)
        for pair in self.memory:
            pair[:, : len(rows)] = pair.index_select(1, rows)
        return Recorded(self, len(rows), length)

    def _read(self, token_ids):
        self._require_room(*token_ids.shape)
        logits, written = self._begin(token_ids)
        batch, t = token_ids.shape
        for pair, found in zip(self.memory, written.memory, strict=True):
            pair[:, :batch, :, :t] = found[..., :t, :]
        return logits, Recorded(self, batch, t)

    def _require_room(self, batch, length):
        if batch > len(self.ids) or length > self.capacity:
            raise ValueError(
                f"Hay sitio para {len(self.ids)} filas de {self.capacity} posiciones, y hacen "
                f"falta {batch} de {length}: crea otro con más sitio."
            )

    def _play(self, batch):
        if not self.table.is_cuda:
            return self._compute(batch)
        if batch not in self.graphs:
            self.graphs[batch] = self._record(batch)
        graph, logits = self.graphs[batch]
        graph.replay()
        return logits.clone()  # la siguiente vez se escribe en el mismo sitio

    def _record(self, batch):
        """Graba un paso, después de darlo: repetirlo en el mismo lugar no cambia nada."""
        aside = torch.cuda.Stream()
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):
            self._compute(batch)
        torch.cuda.current_stream().wait_stream(aside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            logits = self._compute(batch)
        return graph, logits

    def _compute(self, batch):
        """Los logits del token nuevo de cada fila, `[batch, 1, vocab]`."""
        x = look_up("token_ids", self.ids[:batch], self.table)
        rotation = [table.index_select(0, self.place) for table in self.tables]
        for block, pair in zip(self.blocks, self.memory, strict=True):
            x = self._block(x, *block, pair[:, :batch], self.place, rotation)
        h = F.layer_norm(x, *self.norm)
        return dense(h * self.palm.config.output_scale, self.head)[:, None]

    def _remember(self, pair, place, K, V):
        for memory, new in zip(pair, (K, V), strict=True):
            memory.index_copy_(-2, place, new)
        return *pair.unbind(), self.columns <= place
