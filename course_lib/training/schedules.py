"""Cómo cambia la tasa de aprendizaje: cada función da otra, que va del paso (desde 1) a la tasa."""

import math
from collections.abc import Callable

Schedule = Callable[[int], float]


def inverse_sqrt(d_model: int, warmup: int, *, factor: float = 1.0) -> Schedule:
    """Sube en línea recta durante el calentamiento y baja después como la raíz inversa del paso.

        η(s) = factor · d_model^{−1/2} · min(s^{−1/2}, s · warmup^{−3/2})

    El máximo, en s = warmup, vale factor / √(d_model · warmup).

    Argumentos:
        d_model: ancho del modelo; los anchos aprenden con tasas menores.
        warmup: pasos de calentamiento (4000 en el artículo).
        factor: multiplica toda la curva.

    Errores:
        ValueError: si un argumento no es positivo.

    Fuente: Vaswani et al. (2017), ecuación 3; `eq-warmup` del capítulo `training`.

    Ejemplo:
        >>> from course_lib.training import inverse_sqrt
        >>> rate = inverse_sqrt(d_model=512, warmup=4000)
        >>> [f"{rate(step):.5f}" for step in (1000, 4000, 16_000)]  # sube, máximo y baja
        ['0.00017', '0.00070', '0.00035']
    """
    _require_positive(d_model=d_model, warmup=warmup, factor=factor)

    def rate(step: int) -> float:
        _require_positive(step=step)
        return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)

    return rate


def warmup_cosine(peak: float, warmup: int, total: int, floor: float = 0.0) -> Schedule:
    """Sube en línea recta hasta `peak` y baja por media onda de coseno hasta `floor`.

        η(s) = peak · s/warmup                                              si s ≤ warmup
        η(s) = floor + (peak − floor)(1 + cos(π (s − warmup)/(total − warmup)))/2   si no

    Desde el paso `total` se queda en `floor`.

    Argumentos:
        peak: la tasa máxima, en s = warmup.
        warmup: pasos de calentamiento; 0 empieza en el máximo.
        total: paso en que se llega a `floor`.
        floor: la tasa final.

    Errores:
        ValueError: si peak no es positivo, floor no está entre 0 y peak, o warmup no está entre 0 y
        total.

    Fuente: Loshchilov y Hutter (2017), ecuación 5, sin reinicios y con calentamiento; ecuación
    `eq-cosine-decay` del capítulo `training`.

    Ejemplo:
        >>> from course_lib.training import warmup_cosine
        >>> rate = warmup_cosine(peak=1.0, warmup=10, total=110)
        >>> [round(rate(step), 4) for step in (5, 10, 60, 110)]
        [0.5, 1.0, 0.5, 0.0]
    """
    _require_positive(peak=peak, total=total)
    if not 0 <= warmup < total or not 0 <= floor <= peak:
        raise ValueError(
            f"Se esperaba 0 ≤ warmup < total y 0 ≤ floor ≤ peak; llegaron warmup = {warmup}, "
            f"total = {total}, floor = {floor} y peak = {peak}."
        )

    def rate(step: int) -> float:
        _require_positive(step=step)
        if step <= warmup:
            return peak * step / warmup
        progress = min(1.0, (step - warmup) / (total - warmup))
        return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2

    return rate


def _require_positive(**values):
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name}: se esperaba un número positivo y llegó {value}.")
