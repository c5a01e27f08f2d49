"""Atención y Transformers: el paquete que acompaña al libro.

Importar `course_lib`, o uno de sus paquetes, no hace trabajo alguno ni carga torch: cada nombre se
importa cuando alguien lo pide.
"""

from course_lib._lazy import offer

__version__ = "1.0.0"

__all__ = [
    "__version__",
    *offer(
        __name__,
        {
            ".judging.check": ("check",),
            ".judging.mine": ("mine",),
            ".judging.summary": ("resumen",),
            ".judging.table": ("check_table",),
        },
    ),
]
