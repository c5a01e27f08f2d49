"""Codificaciones posicionales: dónde está cada elemento de un conjunto que tiene orden."""

from course_lib._lazy import offer

__all__ = offer(
    __name__,
    {
        ".rotations": ("ROTARY_LAYOUTS", "rotary", "rotary_order", "rotary_table", "rotate"),
        ".sinusoids": ("sinusoidal_positions", "step_positions"),
    },
)
