"""Comprobar, generar y calificar los cuadernos del curso."""

STUB_MESSAGE = "Escribe aquí tu solución"
"""Mensaje del NotImplementedError que ocupa el lugar de una solución."""
