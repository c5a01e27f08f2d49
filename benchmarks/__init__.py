"""Mediciones de tiempo y memoria: `python -m benchmarks` las hace todas, o solo las que se nombren.

Cada archivo de esta carpeta que no empieza por `_` es una medición. Tiene un docstring (dice qué se
compara y cómo) y una función `run(device) -> list[dict]`: una fila por caso, con la misma clave por
columna. Los resultados quedan en `benchmarks/results/NOMBRE.json` y `.md`.
"""
