"""Cada modelo entero en un archivo que se puede copiar: solo PyTorch, y nada de esta biblioteca."""
