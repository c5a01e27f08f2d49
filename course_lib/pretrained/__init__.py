"""Pesos ya entrenados: los de torch.nn, los de una carpeta de Hugging Face y los del curso."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".bert": ("load_bert", "save_bert"),
        ".saved": (
            "load_model",
            "load_palm",
            "load_transformer",
            "save_model",
            "save_palm",
            "save_transformer",
        ),
        ".torch_modules": ("load_torch_attention", "load_torch_transformer"),
        ".transformer_xl": ("load_transformer_xl",),
    },
)
