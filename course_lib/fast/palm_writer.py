"""Escribir deprisa con un `PaLM`, un token a la vez: sus ecuaciones, sin llamar a sus módulos."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_lib.fast.dense import dense
from course_lib.fast.reserved_cache import FIRST_CAPACITY, reserve
from course_lib.layers.arguments import look_up, require_ids
from course_lib.models.palm import PaLM, SerialBlock
from course_lib.primitives.positions.rotations import rotary_table, rotate


@dataclass(frozen=True, eq=False, repr=False)
class Written:
    """Lo que un `PaLMWriter` ya leyó.

    Argumentos:
        memory: por bloque, claves y valores, `[2, batch, kv, capacidad, d_head]`.
        length: cuántas posiciones hay escritas; las mismas en todos los bloques.
    """

    memory: tuple[Tensor, ...]
    length: int

    def select(self, rows: Int[Tensor, " rows"]) -> Written:
        """Se queda con esas filas del lote, en ese orden; una fila puede repetirse."""
        return replace(self, memory=tuple(pair.index_select(1, rows) for pair in self.memory))


class PaLMWriter:
    """Da los pasos de un `PaLM` que ya no se entrena, cada vez con un solo token nuevo por fila.

    Son las ecuaciones de `PaLM`, seguidas: al escribir una fila con un modelo pequeño, pasar por
    los módulos cuesta una cuarta parte del tiempo. Tampoco guarda los estados anteriores: escribir
    desde uno de ellos dos veces pisa lo que escribió la primera.

        writer = PaLMWriter(palm)
        greedy(writer.step, prompt, end_id=None, max_new_tokens=100)

    Argumentos:
        palm: el modelo, en modo de evaluación. Sus pesos no se copian: si cambian de lugar, por
            ejemplo con `.to()`, hace falta otro.
        capacity: cuántas posiciones se reservan; si faltan, crece.

    Errores:
        ValueError: el modelo está en modo de entrenamiento, o no es el del artículo: bloques en
            paralelo, normalización de capa y giros.

    Fuente: Chowdhery et al. (2022), §2; capítulo `palm`.
    """

    def __init__(self, palm: PaLM, capacity: int = FIRST_CAPACITY) -> None:
        _require_paper_model(palm)
        config, attention = palm.config, palm.blocks[0].attention
        self.palm, self.capacity, self.layout = palm, capacity, config.layout
        self.heads, self.kv, self.d_head = config.num_heads, config.num_kv_heads, attention.d_head
        self.table = palm.embedding.table.weight
        self.head = self.table if config.tied else palm.output.weight
        self.max_length = config.max_length
        self.blocks = [_matrices(block) for block in palm.blocks]
        self.norm = _scale(palm.norm)
        positions = torch.arange(config.max_length, device=self.table.device)
        wide = torch.promote_types(self.table.dtype, torch.float32)
        shape = {"base": config.base, "layout": config.layout, "dtype": wide}
        self.tables = rotary_table(positions, self.d_head, **shape)
        self.rotation = [table[:, None].unbind() for table in self.tables]

    @torch.no_grad()
    def step(
        self, token_ids: Int[Tensor, "batch t"], state: Written | None = None
    ) -> tuple[Float[Tensor, "batch 1 vocab"], Written]:
        """Lo que `course_lib.decoding` necesita: los logits del último token y el estado nuevo.

        Argumentos:
            token_ids: los tokens nuevos; varios, solo al comenzar.
            state: lo que dio la llamada anterior; None, nada.

        Errores:
            ValueError: los de `PaLM.forward`, o varios tokens nuevos después de empezar.
        """
        if state is None:
            return self._begin(token_ids)
        n = state.length
        if token_ids.shape != (state.memory[0].shape[1], 1) or n >= self.max_length:
            raise ValueError(
                f"Se esperaba un token por fila, de forma ({state.memory[0].shape[1]}, 1), y hasta "
                f"{self.max_length} posiciones; llegó la forma {tuple(token_ids.shape)} con {n} "
                "ya escritas. Para leer una indicación, empieza sin estado."
            )
        require_ids("token_ids", token_ids)
        memory = self._with_room(state)
        x = look_up("token_ids", token_ids[:, 0], self.table)
        rotation = [table[n] for table in self.rotation]
        for block, pair in zip(self.blocks, memory, strict=True):
            x = self._block(x, *block, pair, n, rotation)
        h = F.layer_norm(x, *self.norm)
        logits = dense(h * self.palm.config.output_scale, self.head)
        return logits[:, None], Written(memory, n + 1)

    def _begin(self, token_ids):
        t = token_ids.shape[-1]
        cache = reserve(self.palm, len(token_ids), max(self.capacity, t + 1))
        logits, cache = self.palm.step(token_ids, cache)
        return logits, Written(tuple(layer.storage.tensor for layer in cache.layers), t)

    def _with_room(self, state):
        """La memoria, con sitio para una posición más; si no lo hay, el doble."""
        if state.length < state.memory[0].shape[-2]:
            return state.memory
        return tuple(torch.cat((pair, torch.empty_like(pair)), dim=-2) for pair in state.memory)

    def _remember(self, pair, n, K, V):
        """Apunta las claves y los valores nuevos; da los de todas las posiciones, y la máscara."""
        here = pair[..., n : n + 1, :]
        here[0], here[1] = K, V
        return *pair[..., : n + 1, :].unbind(), None

    def _block(self, x, norm, W_qkv, W_h, W_gate_up, W_down, pair, n, rotation):
        """Un bloque en paralelo: x + atención(norm(x)) + red(norm(x)), con x de `[batch, d]`."""
        normed, batch = F.layer_norm(x, *norm), len(x)
        QKV = dense(normed, W_qkv).view(batch, -1, 1, self.d_head)
        QK = rotate(QKV[:, : -self.kv], *rotation, layout=self.layout)
        K, V, mask = self._remember(pair, n, QK[:, self.heads :], QKV[:, -self.kv :])
        Q = QK[:, : self.heads].reshape(batch, self.kv, -1, self.d_head)
        H = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask).reshape(batch, -1)
        gate, up = dense(normed, W_gate_up).chunk(2, dim=-1)
        return x + dense(H, W_h).add_(dense(F.silu(gate).mul_(up), W_down))


def _matrices(block):
    attention, network = block.attention, block.feed_forward
    layers = (attention.W_qkv, attention.W_h, network.W_gate_up, network.W_down)
    return _scale(block.norm), *(layer.weight for layer in layers)


def _scale(norm):
    """Los argumentos de `F.layer_norm`, sin sesgo."""
    return norm.normalized_shape, norm.weight, None, norm.eps


def _require_paper_model(palm):
    config = palm.config
    serial = any(isinstance(block, SerialBlock) for block in palm.blocks)
    usual = isinstance(palm.norm, nn.LayerNorm) and config.positions == "rotary" and not serial
    if not usual or palm.training:
        named = {name: getattr(config, name) for name in ("parallel", "norm", "positions")}
        raise ValueError(
            "Se esperaba un PaLM en modo de evaluación, con bloques en paralelo, normalización de "
            f"capa y giros, y llegó {named | {'training': palm.training}}. Llama a eval(), o usa "
            "PaLM.step, que sirve para todos."
        )
