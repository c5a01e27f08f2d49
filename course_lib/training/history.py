"""Lo que pasó en un entrenamiento, para mirarlo, dibujarlo y guardarlo."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class History:
    """Lo que pasó en un entrenamiento, un valor por paso.

    Dos historias son iguales si cuentan lo mismo, aunque no hayan durado lo mismo.

    Argumentos:
        loss: la pérdida de cada paso.
        grad_norm: la norma del gradiente de cada paso, antes de recortarlo.
        learning_rate: la tasa de aprendizaje de cada paso.
        tokens: cuántos tokens se promediaron en cada paso, si la pérdida define `count`.
        metrics: lo que midió `on_step`: de cada nombre, los pares (paso, valor).
        seconds: lo que duró todo, en segundos, sin contar el tiempo entre interrupciones.

    Ejemplo:
        >>> from course_lib.training import History
        >>> history = History(loss=[4.0, 2.0, 3.0, 1.0])
        >>> history.smoothed(window=2)
        [4.0, 3.0, 2.5, 2.0]
    """

    loss: list[float] = field(default_factory=list)
    grad_norm: list[float] = field(default_factory=list)
    learning_rate: list[float] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    metrics: dict[str, list[tuple[int, float]]] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens por segundo en todo el entrenamiento; None si no se contaron."""
        return sum(self.tokens) / self.seconds if self.tokens and self.seconds else None

    def smoothed(self, window: int = 20) -> list[float]:
        """Media de las últimas `window` pérdidas en cada paso (al principio, de las que haya).

            m_i = (1/n) Σ_{j = i−n+1}^{i} loss_j,   n = min(i, window)

        Errores:
            ValueError: si window no es positivo.
        """
        if window < 1:
            raise ValueError(f"window: se esperaba al menos 1 y llegó {window}.")
        recent = (self.loss[max(0, i - window) : i] for i in range(1, len(self.loss) + 1))
        return [math.fsum(part) / len(part) for part in recent]

    def record(self, rate: float, loss: float, grad_norm: float, tokens: int | None) -> None:
        """Anota un paso.

        Errores:
            ValueError: si la pérdida o la norma no son finitas; se dice en qué paso.
        """
        for what, number in (("La pérdida", loss), ("La norma del gradiente", grad_norm)):
            if not math.isfinite(number):
                raise ValueError(
                    f"{what} dejó de ser un número finito en el paso {len(self.loss) + 1} "
                    f"({number}). Prueba con una tasa de aprendizaje menor, y revisa si hay "
                    "logaritmos de cero, divisiones entre cero o filas de atención que no ven nada."
                )
        self.learning_rate.append(rate)
        self.loss.append(loss)
        self.grad_norm.append(grad_norm)
        if tokens is not None:
            self.tokens.append(tokens)

    def measure(self, step: int, values: Mapping[str, Any] | None) -> None:
        """Anota lo que `on_step` midió en un paso, si midió algo."""
        for name, value in (values or {}).items():
            self.metrics.setdefault(name, []).append((step, float(value)))
