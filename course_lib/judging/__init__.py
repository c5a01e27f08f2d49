"""Juzgar una respuesta: qué es un ejercicio, sus errores frecuentes, comparar y explicar."""
