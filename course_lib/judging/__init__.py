"""Juzgar una respuesta: ejecutarla, compararla y decir qué error la explica."""

STUB_MESSAGE = "Escribe aquí tu solución"
"""Mensaje del NotImplementedError que ocupa el lugar de una solución."""

OWN_TOPICS = "COURSE_OWN_TOPICS"
"""Variable con la carpeta de los temas propios de un curso, que no están en la biblioteca."""
