"""Cada modelo entero en un archivo que se copia y solo necesita PyTorch."""
