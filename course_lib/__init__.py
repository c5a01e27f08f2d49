"""Atención y Transformers: el paquete que acompaña al libro.

Importar `course_lib` no hace trabajo alguno ni carga torch: cada módulo se importa por su nombre.
"""
