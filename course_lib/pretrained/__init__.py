"""Pesos de otras implementaciones: de los módulos de torch.nn y de las carpetas de Hugging Face."""

from course_lib.pretrained.bert import load_bert, save_bert
from course_lib.pretrained.torch_modules import load_torch_attention, load_torch_transformer
from course_lib.pretrained.transformer_xl import load_transformer_xl

__all__ = [
    "load_bert",
    "load_torch_attention",
    "load_torch_transformer",
    "load_transformer_xl",
    "save_bert",
]
