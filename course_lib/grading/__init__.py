"""Calificar: lo que entrega un estudiante, en su caja, y una clase entera."""
