"""El arg max duro y el suave, por su nombre: están en `primitives.attention`."""

from course_lib.primitives.attention import hard_argmax, soft_argmax

__all__ = ["hard_argmax", "soft_argmax"]
