"""`check`, en el lugar del que lo importan los cuadernos repartidos antes de la versión 1.0."""

from course_lib.judging.check import check

__all__ = ["check"]
