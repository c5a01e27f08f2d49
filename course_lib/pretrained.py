"""Pesos de otros: de los módulos de torch.nn a los del curso."""

import torch
from torch import nn

from course_lib.layers.multi_head_attention import MultiHeadAttention


@torch.no_grad()
def load_torch_attention(source: nn.MultiheadAttention) -> MultiHeadAttention:
    """Crea una `MultiHeadAttention` con los mismos pesos que una `torch.nn.MultiheadAttention`.

    Dan las mismas salidas, con una diferencia de costumbre: en torch las máscaras booleanas
    marcan lo oculto y aquí lo visible (True = visible).

    Argumentos:
        source: el módulo de torch, con o sin sesgo, con anchos de clave y valor cualesquiera.

    Devuelve:
        La capa del curso, en el mismo dispositivo, tipo y modo (entrenamiento o evaluación).

    Errores:
        ValueError: si `source` usa `add_bias_kv` o `add_zero_attn`, que el curso no tiene.

    Fuente: documentación de `torch.nn.MultiheadAttention`.
    """
    if source.bias_k is not None or source.add_zero_attn:
        raise ValueError(
            "Se esperaba una MultiheadAttention sin add_bias_kv ni add_zero_attn: "
            "añaden claves que no vienen de la entrada y el curso no las usa."
        )
    layer = MultiHeadAttention(
        source.embed_dim,
        source.num_heads,
        d_key=source.kdim,
        d_value=source.vdim,
        bias=source.in_proj_bias is not None,
        dropout=source.dropout,
    ).to(source.out_proj.weight)
    if layer.stacked:
        layer.W_qkv.weight.copy_(source.in_proj_weight)
    else:
        layer.W_q.weight.copy_(source.q_proj_weight)
        layer.W_k.weight.copy_(source.k_proj_weight)
        layer.W_v.weight.copy_(source.v_proj_weight)
    layer.W_h.weight.copy_(source.out_proj.weight)
    if source.in_proj_bias is not None:
        _copy_biases(layer, source)
    return layer.train(source.training)


def _copy_biases(layer, source):
    linears = [layer.W_qkv] if layer.stacked else [layer.W_q, layer.W_k, layer.W_v]
    sizes = [linear.out_features for linear in linears]
    for linear, bias in zip(linears, source.in_proj_bias.split(sizes), strict=True):
        linear.bias.copy_(bias)
    layer.W_h.bias.copy_(source.out_proj.bias)
