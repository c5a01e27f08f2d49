"""Pesos de otras implementaciones: de los módulos de torch.nn y de las carpetas de Hugging Face."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".bert": ("load_bert", "save_bert"),
        ".torch_modules": ("load_torch_attention", "load_torch_transformer"),
        ".transformer_xl": ("load_transformer_xl",),
    },
)
