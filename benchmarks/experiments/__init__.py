"""Experimentos: una afirmación del libro, sus rivales y lo que salió.

Cada archivo de esta carpeta que no empieza por `_` es un experimento: un docstring (qué se
pregunta y cómo) y un `EXPERIMENT = Experiment(…)`. `python -m benchmarks.experiments NOMBRE` lo
hace y guarda su registro en `benchmarks/results/experiments/`.
"""

from benchmarks.experiments._experiment import Experiment, Rival, Splits

__all__ = ["Experiment", "Rival", "Splits"]
