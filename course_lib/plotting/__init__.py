"""Gráficas del libro: reciben tensores y devuelven figuras que siguen el tema claro u oscuro.

Cada función devuelve una `ThemedFigure`. En un cuaderno se muestra como un solo SVG en la página:
el texto y las líneas usan `currentColor` y la tipografía de la página, el fondo es transparente,
el ancho se adapta a la pantalla y `alt` describe la imagen a quien no la ve. No interviene
`pyplot`: no hay estado global, y las mismas cifras dan siempre los mismos bytes.
"""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        "._axes": ("format_number",),
        ".bars": ("plot_bars", "plot_stacked"),
        ".curves": ("plot_curves", "plot_history"),
        ".heat_maps": ("plot_attention", "plot_heads", "plot_matrix"),
        ".tables": ("Table",),
        ".theme": ("COLORS", "ThemedFigure"),
        ".vectors": ("plot_points", "plot_vectors"),
    },
)
