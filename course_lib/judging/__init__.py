"""Juzgar una respuesta: ejecutarla, compararla y decir qué error la explica."""

STUB_MESSAGE = "Escribe aquí tu solución"
"""Mensaje del NotImplementedError que ocupa el lugar de una solución."""
