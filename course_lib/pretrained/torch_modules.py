"""Pesos de los módulos de torch.nn, en los del curso."""

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.layers.blocks import DecoderBlock, EncoderBlock
from course_lib.layers.encoder_decoder import Decoder, Encoder, EncoderDecoder
from course_lib.layers.multi_head_attention import MultiHeadAttention

# De los nombres de torch a los del curso; los que dependen del bloque van aparte.
NAMES = {
    "layers.": "blocks.",
    "in_proj_": "W_qkv.",
    "out_proj.": "W_h.",
    "linear1.": "feed_forward.W_1.",
    "linear2.": "feed_forward.W_2.",
}
ENCODER_NAMES = NAMES | {
    "self_attn.": "attention.",
    "norm1.": "residual_attention.norm.",
    "norm2.": "residual_feed_forward.norm.",
}
DECODER_NAMES = NAMES | {
    "self_attn.": "self_attention.",
    "multihead_attn.": "cross_attention.",
    "norm1.": "residual_self.norm.",
    "norm2.": "residual_cross.norm.",
    "norm3.": "residual_feed_forward.norm.",
}


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


@torch.no_grad()
def load_torch_transformer(source: nn.Module) -> nn.Module:
    """Crea el módulo del curso que corresponde a uno de torch, con los mismos pesos.

    Dan las mismas salidas, con tres diferencias de costumbre: aquí las máscaras marcan lo visible
    (True = visible), el lote va siempre delante y el decodificador es causal si no se dice otra
    cosa (`causal=False`).

    Argumentos:
        source: un `torch.nn.Transformer`, una de sus pilas o uno de sus bloques.

    Devuelve:
        `EncoderDecoder`, `Encoder`, `Decoder`, `EncoderBlock` o `DecoderBlock`, en el mismo
        dispositivo, tipo y modo (entrenamiento o evaluación).

    Errores:
        ValueError: si `source` es de otra clase, su activación no es ReLU ni GELU exacta, o
            lleva una normalización que no es `LayerNorm`.

    Fuente: documentación de `torch.nn.Transformer`.
    """
    if isinstance(source, nn.Transformer):
        stacks = (source.encoder, source.decoder)
        return EncoderDecoder(*map(load_torch_transformer, stacks)).train(source.training)
    if type(source) not in _BUILDERS:
        raise ValueError(
            "Se esperaba un Transformer de torch.nn, una de sus pilas o uno de sus bloques, y "
            f"llegó {type(source).__name__}."
        )
    Ours, names = _BUILDERS[type(source)]
    ours = Ours(**_sizes(source)).to(next(source.parameters()))
    ours.load_state_dict({_renamed(k, names): v for k, v in source.state_dict().items()})
    for name, module in source.named_modules():
        if isinstance(module, nn.LayerNorm):
            ours.get_submodule(_renamed(f"{name}.", names)[:-1]).eps = module.eps
    return ours.train(source.training)


_BUILDERS = {
    nn.TransformerEncoder: (Encoder, ENCODER_NAMES),
    nn.TransformerDecoder: (Decoder, DECODER_NAMES),
    nn.TransformerEncoderLayer: (EncoderBlock, ENCODER_NAMES),
    nn.TransformerDecoderLayer: (DecoderBlock, DECODER_NAMES),
}


def _sizes(source):
    """Los argumentos del módulo del curso, leídos del de torch: primero el bloque, después la pila.

    En torch un solo número gobierna todo el dropout, también el interior de cada subcapa.
    """
    if isinstance(source, nn.TransformerEncoder | nn.TransformerDecoder):
        if not isinstance(source.norm, nn.LayerNorm | None):
            raise ValueError(
                "Se esperaba una LayerNorm al final de la pila, o ninguna, y hay una "
                f"{type(source.norm).__name__}."
            )
        stack = {"num_layers": source.num_layers, "final_norm": source.norm is not None}
        return _sizes(source.layers[0]) | stack
    return {
        "d_model": source.self_attn.embed_dim,
        "num_heads": source.self_attn.num_heads,
        "d_ff": source.linear1.out_features,
        "activation": _activation(source.activation),
        "placement": "pre" if source.norm_first else "post",
        "dropout": source.dropout1.p,
        "inner_dropout": source.dropout.p,
        "bias": source.linear1.bias is not None,
    }


def _activation(activation):
    exact_gelu = isinstance(activation, nn.GELU) and activation.approximate == "none"
    if activation is F.relu or isinstance(activation, nn.ReLU):
        return "relu"
    if activation is F.gelu or exact_gelu:
        return "gelu"
    raise ValueError(f"Se esperaba ReLU o GELU exacta y llegó la activación {activation}.")


def _renamed(name, names):
    for theirs, ours in names.items():
        name = name.replace(theirs, ours)
    return name
