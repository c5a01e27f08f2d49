"""Modelos de un bloque, como funciones de sus parámetros, y lo que otro programa guardaría de uno.

Son para los ejercicios que operan un modelo ya entrenado. Los de otro programa son los mismos
números, con otras costumbres: en qué se distinguen es lo que allí hay que averiguar. Si los vas a
hacer, no sigas leyendo.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from course_lib.primitives.attention import attention
from course_lib.primitives.positions.rotations import rotary

Parameters = dict[str, Tensor]


def bert_logits(parameters: Parameters, token_ids: Tensor, segment_ids: Tensor) -> Tensor:
    """Da los logits de un BERT de un bloque y una cabeza, sin red prealimentada.

        x = norm(E[token] + P[posición] + S[segmento])
        x ← norm(x + atención(x W_q, x W_k, x W_v) W_h)
        logits = norm(gelu(x W + b)) Eᵀ + c

    Argumentos:
        parameters: las tablas E, P y S; las matrices W_q, W_k, W_v, W_h y W, `[d, d]`; b, c.
        token_ids, segment_ids: `[batch, t]`.

    Devuelve:
        `[batch, t, vocab]`.

    Ejemplo:
        >>> import torch
        >>> from course_lib.pretrained.elsewhere import bert_logits
        >>> matrices = {name: torch.rand(4, 4) for name in ("W_q", "W_k", "W_v", "W_h", "W")}
        >>> tables = {"E": torch.rand(9, 4), "P": torch.rand(5, 4), "S": torch.rand(2, 4)}
        >>> parameters = {**matrices, **tables, "b": torch.rand(4), "c": torch.rand(9)}
        >>> token_ids, segment_ids = torch.tensor([[1, 7, 2]]), torch.tensor([[0, 0, 1]])
        >>> bert_logits(parameters, token_ids, segment_ids).shape
        torch.Size([1, 3, 9])
    """
    p = parameters
    x = p["E"][token_ids] + p["P"][: token_ids.shape[1]] + p["S"][segment_ids]
    x = F.layer_norm(x, x.shape[-1:])
    mixed = attention(x @ p["W_q"], x @ p["W_k"], x @ p["W_v"]) @ p["W_h"]
    x = F.layer_norm(x + mixed, x.shape[-1:])
    h = F.layer_norm(F.gelu(x @ p["W"] + p["b"]), x.shape[-1:])
    return h @ p["E"].mT + p["c"]


def palm_block(parameters: Parameters, x: Tensor, num_heads: int) -> Tensor:
    """Da lo que un bloque de PaLM suma a x: la atención multiconsulta y la red, en paralelo.

    Argumentos:
        parameters: W_q, W_k, W_v, W_h, W_gate, W_up y W_down, que se usan como x @ W.
        x: `[batch, t, d]`.
        num_heads: cuántas cabezas preguntan.

    Ejemplo:
        >>> import torch
        >>> from course_lib.pretrained.elsewhere import palm_block
        >>> sizes = {"W_q": (4, 8), "W_k": (4, 4), "W_v": (4, 4), "W_h": (8, 4)}
        >>> sizes |= {"W_gate": (4, 6), "W_up": (4, 6), "W_down": (6, 4)}
        >>> parameters = {name: torch.rand(size) for name, size in sizes.items()}
        >>> palm_block(parameters, torch.rand(1, 5, 4), num_heads=2).shape
        torch.Size([1, 5, 4])
    """
    p, u, places = parameters, F.layer_norm(x, x.shape[-1:]), torch.arange(x.shape[1])
    Q = (u @ p["W_q"]).unflatten(-1, (num_heads, -1)).transpose(1, 2)
    K, V = (u @ p["W_k"])[:, None], (u @ p["W_v"])[:, None]
    H = attention(rotary(Q, places), rotary(K, places), V, causal=True)
    network = (F.silu(u @ p["W_gate"]) * (u @ p["W_up"])) @ p["W_down"]
    return H.transpose(1, 2).flatten(2) @ p["W_h"] + network


def bert_elsewhere(parameters: Parameters) -> Parameters:
    """Guarda el BERT del ejercicio `bert.other_program` como lo haría otro programa.

    Argumentos:
        parameters: sus tablas y matrices; no cambian.

    Ejemplo:
        >>> import torch
        >>> from course_lib.pretrained.elsewhere import bert_elsewhere
        >>> saved = bert_elsewhere({"W_q": torch.rand(4, 4), "P": torch.rand(5, 4)})
        >>> sorted(saved)
        ['P', 'W_q']
    """
    saved = {}
    for name, x in parameters.items():
        square = name.startswith("W")  # como el `weight` de un nn.Linear, [salida, entrada]
        saved[name] = x.T.contiguous() if square else x.clone()
    P = parameters["P"]  # las posiciones de verdad empiezan en la 2, como en RoBERTa
    saved["P"] = torch.cat([torch.stack([0 * P[0], P.mean(dim=0)]), P])
    return saved


def palm_elsewhere(parameters: Parameters) -> Parameters:
    """Guarda el bloque del ejercicio `palm.other_program` como lo haría otro programa.

    Argumentos:
        parameters: sus siete matrices; no cambian.

    Ejemplo:
        >>> import torch
        >>> from course_lib.pretrained.elsewhere import palm_elsewhere
        >>> sizes = {"W_q": (4, 6), "W_k": (4, 3), "W_v": (4, 3), "W_h": (6, 4)}
        >>> sizes |= {"W_gate": (4, 8), "W_up": (4, 8), "W_down": (8, 4)}
        >>> saved = palm_elsewhere({n: torch.rand(size) for n, size in sizes.items()})
        >>> {name: tuple(x.shape) for name, x in saved.items()}
        {'W_in': (4, 28), 'W_out': (14, 4)}
    """
    p, d_head = parameters, parameters["W_k"].shape[1]
    Q = p["W_q"] / d_head**0.5  # su atención ya no divide
    return {
        "W_in": torch.cat([Q, p["W_k"], p["W_v"], p["W_up"], p["W_gate"]], dim=1),
        "W_out": torch.cat([p["W_down"], p["W_h"]]),
    }


def memory_elsewhere(states: list[Tensor], output: Tensor, written: int) -> Tensor:
    """Guarda la memoria del ejercicio `transformer_xl.saved_memory` como lo haría otro programa.

    Argumentos:
        states: lo que entró en cada bloque en las últimas m posiciones, en el orden del texto,
            `[batch, m, d]`.
        output: lo que dio el último bloque en ellas.
        written: cuántas posiciones se leyeron desde el comienzo.

    Ejemplo:
        >>> import torch
        >>> from course_lib.pretrained.elsewhere import memory_elsewhere
        >>> states = [torch.rand(2, 5, 4), torch.rand(2, 5, 4)]
        >>> memory_elsewhere(states, torch.rand(2, 5, 4), written=13).shape
        torch.Size([3, 5, 2, 4])
    """
    m = output.shape[1]
    together = torch.stack([*states, output]).transpose(1, 2)  # el tiempo, antes que el lote
    # La posición p se escribe en el lugar p módulo m, sobre lo que hubiera: nada se desplaza.
    return together.roll((written - m) % m, dims=1).contiguous()
