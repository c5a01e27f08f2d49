"""Calificar una clase: reunir lo entregado, repartirlo entre procesos y publicar el resultado."""
