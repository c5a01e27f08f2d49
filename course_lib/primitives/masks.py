"""Las máscaras causal y de relleno, por su nombre: están en `primitives.attention`."""

from course_lib.primitives.attention import causal_mask, padding_mask

__all__ = ["causal_mask", "padding_mask"]
