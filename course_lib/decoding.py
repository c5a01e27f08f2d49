"""Decodificación: de las probabilidades de un modelo a una secuencia de tokens."""
