"""Los mismos pesos y los mismos resultados, más deprisa.

Un modelo se escribe para leerse; aquí están las maneras de calcularlo que ahorran trabajo. Cada una
da el mismo modelo con otra forma de trabajar, que comparte todos los parámetros: entrenarla es
entrenar el de siempre::

    fast.unpadded(bert)        los bloques trabajan solo con los tokens reales
    fast.gathering(ut)         el Universal Transformer calcula solo las posiciones activas
    fast.frozen(xl)            Transformer-XL no proyecta nada dos veces, para leer sin gradiente
    fast.writer(modelo)        escribe de token en token: `PaLM`, `Transformer` o `TransformerXL`
    fast.graphed(palm, …)      como `writer`, con cada paso grabado: para una GPU
    fast.by_columns(palm)      las matrices, por columnas: conviene al escribir una sola fila
    fast.reserve(palm, …)      una caché con la memoria ya reservada
"""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".unpadded": ("unpadded",),
        ".active_positions": ("gathering",),
        ".frozen_memory": ("frozen",),
        ".writers": ("writer",),
        ".graphed": ("graphed",),
        ".columns": ("by_columns",),
        ".reserved_cache": ("reserve",),
    },
)
