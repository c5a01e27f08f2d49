"""Un Transformer-XL de Hugging Face (los pesos de sus autores), en el del curso."""

from pathlib import Path

import torch

from course_lib.models.transformer_xl import TransformerXL, TransformerXLConfig
from course_lib.pretrained.folders import PretrainedFolder

BLOCK_NAMES = {
    "attention.W_qkv.weight": "dec_attn.qkv_net.weight",
    "attention.W_h.weight": "dec_attn.o_net.weight",
    "attention.W_r.weight": "dec_attn.r_net.weight",
    "residual_attention.norm.weight": "dec_attn.layer_norm.weight",
    "residual_attention.norm.bias": "dec_attn.layer_norm.bias",
    "feed_forward.W_1.weight": "pos_ff.CoreNet.0.weight",
    "feed_forward.W_1.bias": "pos_ff.CoreNet.0.bias",
    "feed_forward.W_2.weight": "pos_ff.CoreNet.3.weight",
    "feed_forward.W_2.bias": "pos_ff.CoreNet.3.bias",
    "residual_feed_forward.norm.weight": "pos_ff.layer_norm.weight",
    "residual_feed_forward.norm.bias": "pos_ff.layer_norm.bias",
}
OPTIONAL = {"model_type": "transfo-xl", "tie_word_embeddings": True, "tie_weight": True}
# Lo que la carpeta puede traer de más: la sinusoide y las copias de lo que se comparte.
REPEATED = (
    r"transformer\.pos_emb\.inv_freq",
    r"crit\.out_(layers\.\d+\.weight|projs\.\d+)",
    r"transformer\.layers\.\d+\.dec_attn\.r_[wr]_bias",
)


def load_transformer_xl(folder: str | Path) -> TransformerXL:
    """Crea un `TransformerXL` con los pesos de un `TransfoXLLMHeadModel` guardado en una carpeta.

    Dan las mismas log-probabilidades, con dos diferencias de costumbre: aquí la memoria comienza
    vacía (Hugging Face atiende a vectores de ceros) y el lote va delante. Su sinusoide pone todos
    los senos delante de los cosenos y la nuestra los alterna: se permutan las columnas de W_r.

    Argumentos:
        folder: la carpeta de `save_pretrained`: config.json y model.safetensors (o
            pytorch_model.bin).

    Devuelve:
        El modelo, en modo de evaluación y con el tipo de los pesos.

    Errores:
        ValueError: si la configuración pide algo que el curso no tiene, o falta, sobra o no tiene
            su forma algún tensor; el mensaje lo nombra.

    Fuente: Dai et al. (2019); `transformers` 4.57, `models/deprecated/transfo_xl`.
    """
    source = PretrainedFolder(folder)
    model = TransformerXL(_config(source))
    weights = _embedding(source, model) | _blocks(source, model) | _output(source, model)
    source.require_all_taken(*REPEATED)
    model = model.to(next(iter(weights.values())).dtype)
    model.load_state_dict(weights)
    return model.eval()


def _config(source):
    source.setting("attn_type", 0)
    # Los archivos antiguos no los traen; si están, no caben otros valores.
    for name, value in OPTIONAL.items():
        if name in source.config:
            source.setting(name, value)
    names = ("d_head", "n_head", "d_model")
    d_head, num_heads, d_model = (source.setting(name, kind=int) for name in names)
    if num_heads * d_head != d_model:
        source.setting("d_head", d_model // num_heads)
    clamp_length = source.setting("clamp_len", kind=int)
    return TransformerXLConfig(
        vocab_size=source.setting("vocab_size", kind=int),
        d_model=d_model,
        num_heads=num_heads,
        num_layers=source.setting("n_layer", kind=int),
        d_ff=source.setting("d_inner", kind=int),
        memory_length=source.setting("mem_len", kind=int),
        dropout=source.setting("dropout", kind=float),
        inner_dropout=source.setting("dropout", kind=float),
        attention_dropout=source.setting("dropatt", kind=float),
        clamp_length=clamp_length if clamp_length > 0 else None,
        same_length=source.setting("same_length", kind=bool),
        tie_biases=not source.setting("untie_r", kind=bool),
        placement="pre" if source.setting("pre_lnorm", kind=bool) else "post",
        final_norm=False,
        eps=source.setting("layer_norm_epsilon", kind=float),
        cutoffs=tuple(source.setting("cutoffs", kind=list)),
        div_val=source.setting("div_val", kind=int),
        d_embed=source.setting("d_embed", kind=int),
        tie_projections=_tied_projections(source),
    )


def _tied_projections(source):
    """Las de la cabecera nunca se comparten; las demás, todas o ninguna."""
    tails = len(source.setting("cutoffs", kind=list))
    if "tie_projs" not in source.config:
        return source.setting("proj_share_all_but_first", kind=bool)
    options = ([False] + [True] * tails, [False] * (tails + 1))
    return source.setting("tie_projs", *options)[-1]


def _embedding(source, model):
    config, embedding = model.config, model.embedding
    widths = [(table.embedding_dim,) for table in embedding.tables]
    tables = _grouped(source, "transformer.word_emb.emb_layers.{}.weight", model, widths)
    weights = {f"embedding.tables.{c}.weight": table for c, table in enumerate(tables)}
    for c, projection in enumerate(embedding.projections):
        name = f"transformer.word_emb.emb_projs.{c if config.div_val > 1 else 0}"
        weights[f"embedding.projections.{c}.weight"] = source.take(name, *projection.weight.shape)
    return weights


def _blocks(source, model):
    weights = {}
    for layer, block in enumerate(model.blocks):
        theirs = f"transformer.layers.{layer}."
        home = "transformer." if model.config.tie_biases else f"{theirs}dec_attn."
        names = {ours: theirs + name for ours, name in BLOCK_NAMES.items()}
        names |= {"attention.u": f"{home}r_w_bias", "attention.v": f"{home}r_r_bias"}
        for ours, name in names.items():
            tensor = source.take(name, *block.get_parameter(ours).shape)
            alternate = ours == "attention.W_r.weight"
            weights[f"blocks.{layer}.{ours}"] = _interleaved(tensor) if alternate else tensor
    return weights


def _output(source, model):
    output = model.output
    biases = _grouped(source, "crit.out_layers.{}.bias", model, [()] * len(output.biases))
    weights = {f"output.biases.{c}": bias for c, bias in enumerate(biases)}
    for c, projection in enumerate(output.projections):
        shape = projection.weight.shape
        weights[f"output.projections.{c}.weight"] = source.take(f"crit.out_projs.{c}", *shape)
    if output.groups is not None:
        shape = output.groups.weight.shape
        weights["output.groups.weight"] = source.take("crit.cluster_weight", *shape)
        weights["output.groups.bias"] = source.take("crit.cluster_bias", shape[0])
    return weights


def _grouped(source, name, model, widths):
    """Un tensor por grupo; con div_val = 1 los autores tienen uno solo, con todas las filas."""
    sizes = model.embedding.sizes
    if model.config.div_val == 1:
        return source.take(name.format(0), sum(sizes), *widths[0]).split(sizes)
    groups = enumerate(zip(sizes, widths, strict=True))
    return [source.take(name.format(c), size, *width) for c, (size, width) in groups]


def _interleaved(W_r):
    """De [senos | cosenos] a seno, coseno, seno, coseno…: la columna 2i era la i."""
    return torch.stack(W_r.chunk(2, dim=1), dim=-1).flatten(1)
