"""Un BERT de Hugging Face, en el del curso; y al revés."""

import json
import re
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from course_lib.files import write_atomically
from course_lib.models.bert.fine_tuning import (
    BertForMultipleChoice,
    BertForQuestionAnswering,
    BertForSequenceClassification,
    BertForTokenClassification,
)
from course_lib.models.bert.model import Bert, BertConfig, BertForPreTraining
from course_lib.pretrained.folders import CONFIG, WEIGHTS, PretrainedFolder
from course_lib.tokenization.word_piece import WordPiece

ARCHITECTURES = {
    "BertModel": Bert,
    "BertForPreTraining": BertForPreTraining,
    "BertForMaskedLM": BertForPreTraining,
    "BertForSequenceClassification": BertForSequenceClassification,
    "BertForMultipleChoice": BertForMultipleChoice,
    "BertForQuestionAnswering": BertForQuestionAnswering,
    "BertForTokenClassification": BertForTokenClassification,
}
ENCODER_NAMES = {
    "embedding.tokens.table.weight": "embeddings.word_embeddings.weight",
    "embedding.tokens.position_table": "embeddings.position_embeddings.weight",
    "embedding.segments.": "embeddings.token_type_embeddings.",
    "embedding.norm.": "embeddings.LayerNorm.",
    "blocks.": "encoder.layer.",
    "attention.W_h.": "attention.output.dense.",
    "residual_attention.norm.": "attention.output.LayerNorm.",
    "feed_forward.W_1.": "intermediate.dense.",
    "feed_forward.W_2.": "output.dense.",
    "residual_feed_forward.norm.": "output.LayerNorm.",
    "pooler.": "pooler.dense.",
}
QUERY_KEY_VALUE = tuple(f"attention.self.{name}." for name in ("query", "key", "value"))
PRE_TRAINING_NAMES = {
    "transform.": "cls.predictions.transform.dense.",
    "norm.": "cls.predictions.transform.LayerNorm.",
    "bias": "cls.predictions.bias",
    "next_sentence.": "cls.seq_relationship.",
}
HEAD_NAMES = {
    BertForPreTraining: PRE_TRAINING_NAMES,
    BertForSequenceClassification: {"output.": "classifier."},
    BertForMultipleChoice: {"output.": "classifier."},
    BertForQuestionAnswering: {"output.": "qa_outputs."},
    BertForTokenClassification: {"output.": "classifier."},
}
# Lo que dicen config.json y `BertConfig`, cada uno con su nombre.
SETTINGS = {
    "vocab_size": "vocab_size",
    "d_model": "hidden_size",
    "num_heads": "num_attention_heads",
    "num_layers": "num_hidden_layers",
    "d_ff": "intermediate_size",
    "max_length": "max_position_embeddings",
    "num_segments": "type_vocab_size",
    "dropout": "hidden_dropout_prob",
    "attention_dropout": "attention_probs_dropout_prob",
    "head_dropout": "classifier_dropout",
    "activation": "hidden_act",
    "eps": "layer_norm_eps",
    "pad_id": "pad_token_id",
}
# Nombres con que otras versiones guardaron lo mismo.
OLDER = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
OTHERWISE = {"cls.predictions.bias": "cls.predictions.decoder.bias"}
# Lo que la carpeta puede traer y el modelo pedido no usa: otra cabeza, el resumen y copias.
UNUSED = (
    r"(cls|classifier|qa_outputs)\..*",
    r"(bert\.)?pooler\..*",
    r"(bert\.)?embeddings\.(position|token_type)_ids",
)


def load_bert(folder: str | Path, head: type[nn.Module] | None = None) -> nn.Module:
    """Crea un BERT del curso con los pesos de uno guardado en una carpeta de Hugging Face.

    Dan los mismos logits, estados y pesos de atención. El archivo `vocab.txt` de la carpeta es
    para `tokenization.WordPiece`. Una diferencia de costumbre: sin `visible`, aquí los tokens que
    valen pad_id no se ven; allí, sin `attention_mask`, se ven todos.

    Argumentos:
        folder: la carpeta de `save_pretrained`: config.json y model.safetensors (o el antiguo
            pytorch_model.bin).
        head: la clase del modelo, de `course_lib.models.bert`; si falta, la que dice
            `architectures` en config.json. Con `Bert` se lee solo el codificador, de cualquier
            carpeta.

    Devuelve:
        El modelo, en modo de evaluación y con el tipo de los pesos. `Bert` tiene `pooler` si la
        carpeta lo trae; `BertForPreTraining`, la tarea de la oración siguiente, también.

    Errores:
        ValueError: si la configuración pide algo que el curso no tiene, o falta, sobra o no tiene
            su forma algún tensor; el mensaje lo nombra.

    Fuente: Devlin et al. (2018); `transformers` 4.57, `models/bert`.
    """
    source = PretrainedFolder(folder)
    Model = _choose(source, head)
    with torch.device("meta"):  # sin sortear pesos que se van a cambiar
        model = Model(_config(source), **_options(source, Model))
    weights = {
        name: _read(source, Model, name, tuple(tensor.shape))
        for name, tensor in model.state_dict().items()
    }
    source.require_all_taken(*UNUSED)
    model.load_state_dict(weights, assign=True)
    return model.to(next(iter(weights.values())).dtype).eval()


def save_bert(model: nn.Module, tokenizer: WordPiece, folder: str | Path) -> None:
    """Guarda un BERT del curso y su vocabulario como los guarda Hugging Face.

    Escribe config.json, model.safetensors, vocab.txt y tokenizer_config.json, que dice si hay
    minúsculas y tildes. `load_bert` lo lee igual, y también `from_pretrained`, de `transformers`.
    Los pesos se guardan con su tipo: para que ocupen la mitad, pasa un modelo en float16.

    Argumentos:
        model: una de las clases de `course_lib.models.bert`.
        tokenizer: su vocabulario, del tamaño que el modelo espera.
        folder: la carpeta; se crea si falta. Cada archivo se escribe entero o no se escribe.

    Errores:
        ValueError: si el modelo no es de esas clases o el vocabulario no es de su tamaño.

    Fuente: documentación de `transformers`, `PreTrainedModel.save_pretrained`.
    """
    config = _their_config(model, tokenizer)
    reading = {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": tokenizer.lowercase,
        "strip_accents": tokenizer.strip_accents,
        "model_max_length": model.config.max_length,
    }
    path = Path(folder)
    # La configuración, al final: sin ella la carpeta no se lee.
    write_atomically(path / WEIGHTS[0], save(_their_tensors(model), {"format": "pt"}))
    tokenizer.save(path / "vocab.txt")
    for name, content in (("tokenizer_config.json", reading), (CONFIG, config)):
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        write_atomically(path / name, text.encode("utf-8"))


def _their_config(model: nn.Module, tokenizer: WordPiece) -> dict[str, Any]:
    architecture = _architecture(model)
    ours = model.config
    if tokenizer.vocab_size != ours.vocab_size:
        raise ValueError(
            f"tokenizer: se esperaban los {ours.vocab_size} tokens del modelo y llegaron "
            f"{tokenizer.vocab_size}. ¿Es el vocabulario con que se entrenó?"
        )
    config = {"architectures": [architecture], "model_type": "bert"}
    config |= {theirs: getattr(ours, name) for name, theirs in SETTINGS.items()}
    if architecture in ("BertForSequenceClassification", "BertForTokenClassification"):
        labels = range(model.output.out_features)
        config |= {
            "id2label": {str(i): f"LABEL_{i}" for i in labels},
            "label2id": {f"LABEL_{i}": i for i in labels},
        }
    return config


def _architecture(model: nn.Module) -> str:
    if type(model) not in ARCHITECTURES.values():
        names = ", ".join(sorted({each.__name__ for each in ARCHITECTURES.values()}))
        raise ValueError(f"model: se esperaba uno de {names} y llegó {type(model).__name__}.")
    if isinstance(model, BertForPreTraining) and model.next_sentence is None:
        return "BertForMaskedLM"
    return next(name for name, Model in ARCHITECTURES.items() if type(model) is Model)


def _their_tensors(model: nn.Module) -> dict[str, Tensor]:
    """Los tensores con los nombres de Hugging Face; W_qkv, partido en tres."""
    tensors = {}
    for name, tensor in model.state_dict().items():
        names, parts = [name], [tensor]
        if "W_qkv" in name:
            names = [name.replace("attention.W_qkv.", each) for each in QUERY_KEY_VALUE]
            parts = tensor.chunk(3)
        for each, part in zip(names, parts, strict=True):
            theirs = _their_name(type(model), each)
            # Un codificador solo se guarda, allí, sin el nombre de quien lo contiene.
            theirs = theirs.removeprefix("bert.") if isinstance(model, Bert) else theirs
            tensors[theirs] = part.detach().cpu().clone()
    return tensors


def _choose(source: PretrainedFolder, head: type[nn.Module] | None) -> type[nn.Module]:
    if head is not None:
        if head not in ARCHITECTURES.values():
            names = ", ".join(sorted({model.__name__ for model in ARCHITECTURES.values()}))
            raise ValueError(f"head: se esperaba una de las clases {names} y llegó {head!r}.")
        return head
    declared = _declared(source)
    if declared not in ARCHITECTURES:
        raise ValueError(
            f"{CONFIG}: «architectures» vale {declared!r} y el curso tiene "
            f"{', '.join(ARCHITECTURES)}. Pasa como segundo argumento la clase que quieres leer, "
            "de course_lib.models.bert."
        )
    return ARCHITECTURES[declared]


def _declared(source: PretrainedFolder) -> str | None:
    names = source.config.get("architectures")
    first = names[0] if isinstance(names, list) and names else None
    return first if isinstance(first, str) else None


def _config(source: PretrainedFolder) -> BertConfig:
    _require_supported(source)
    return BertConfig(
        vocab_size=source.setting("vocab_size", kind=int),
        d_model=source.setting("hidden_size", kind=int),
        num_heads=source.setting("num_attention_heads", kind=int),
        num_layers=source.setting("num_hidden_layers", kind=int),
        d_ff=source.setting("intermediate_size", kind=int),
        max_length=source.setting("max_position_embeddings", kind=int),
        num_segments=source.setting("type_vocab_size", kind=int),
        dropout=source.setting("hidden_dropout_prob", kind=float),
        attention_dropout=source.setting("attention_probs_dropout_prob", kind=float),
        head_dropout=source.optional("classifier_dropout", None, float),
        activation=source.setting("hidden_act", "gelu", "relu"),
        eps=source.optional("layer_norm_eps", 1e-12, float),
        pad_id=source.optional("pad_token_id", 0, int),
    )


def _require_supported(source: PretrainedFolder) -> None:
    """Lo que no está en config.json vale lo de siempre; lo que está, lo que el curso tiene."""
    supported = {
        "model_type": ("bert",),
        "position_embedding_type": ("absolute",),
        "is_decoder": (False,),
        "add_cross_attention": (False,),
        "tie_word_embeddings": (True,),
        "pruned_heads": ({},),
    }
    for name, values in supported.items():
        if name in source.config:
            source.setting(name, *values)


def _options(source: PretrainedFolder, Model: type[nn.Module]) -> dict:
    """Lo que la configuración del curso no dice: qué partes hay, y cuántas clases."""
    if Model is Bert:
        return {"pooler": _has(source, "pooler.")}
    if Model is BertForPreTraining:
        declared = _declared(source) == "BertForPreTraining"
        return {"next_sentence": declared or _has(source, "cls.seq_relationship.")}
    if Model in (BertForSequenceClassification, BertForTokenClassification):
        labels = source.config.get("id2label")
        if isinstance(labels, dict) and labels:
            return {"num_classes": len(labels)}
        return {"num_classes": source.optional("num_labels", 2, int)}
    return {}


def _has(source: PretrainedFolder, prefix: str) -> bool:
    return any(name.removeprefix("bert.").startswith(prefix) for name in source.tensors)


def _read(source: PretrainedFolder, Model: type[nn.Module], name: str, shape: tuple) -> Tensor:
    """El tensor del curso que lleva ese nombre; W_qkv, apilado de los tres de Hugging Face."""
    if "W_qkv" not in name:
        return source.take(_find(source, _their_name(Model, name)), *shape)
    rows = shape[0] // 3
    names = [_their_name(Model, name.replace("attention.W_qkv.", p)) for p in QUERY_KEY_VALUE]
    return torch.cat([source.take(_find(source, each), rows, *shape[1:]) for each in names])


def _their_name(Model: type[nn.Module], name: str) -> str:
    if Model is not Bert and not name.startswith("bert."):
        ours = next(ours for ours in HEAD_NAMES[Model] if name.startswith(ours))
        return HEAD_NAMES[Model][ours] + name.removeprefix(ours)
    name = name.removeprefix("bert.")
    for ours, theirs in ENCODER_NAMES.items():
        name = re.sub(rf"(^|(?<=\.)){re.escape(ours)}", theirs, name, count=1)
    return f"bert.{name}"


def _find(source: PretrainedFolder, name: str) -> str:
    """El nombre con que la carpeta guarda ese tensor; si no está, el de siempre."""
    names = [name, name.removeprefix("bert."), OTHERWISE.get(name, name)]
    for now, before in OLDER.items():
        names += [each.replace(now, before) for each in names]
    return next((each for each in names if each in source.tensors), name)
