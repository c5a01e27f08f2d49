"""La nota que se ve: de una parte de los puntos a una escala de 0 a 5, de 1 a 7, con letras…

Los puntos son siempre los del curso, y la escala se aplica al final, una vez, al total, ya con lo
que se descuente por entregar tarde.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class ShownGrade:
    """La nota de alguien.

    Argumentos:
        text: como se escribe: «5.5», «B».
        value: el número que se sube a la plataforma; None si son letras.
        passed: si aprueba; None si el curso no dice con cuánto.
    """

    text: str
    value: Decimal | None
    passed: bool | None


@dataclass(frozen=True)
class NumberScale:
    """Una escala de números, recta o con una esquina donde se aprueba.

    Argumentos:
        name: cómo se llama: «0-10».
        lowest: la nota de quien no tiene ningún punto.
        highest: la de quien los tiene todos.
        decimals: con cuántos decimales se escribe.
        passing: con cuánto se aprueba; None si no se dice.
        passing_at: el porcentaje de los puntos con que se llega a `passing`; None si la escala es
            recta.
        minimum: la nota más baja que se pone.
    """

    name: str
    lowest: Decimal
    highest: Decimal
    decimals: int
    passing: Decimal | None = None
    passing_at: Decimal | None = None
    minimum: Decimal | None = None

    def grade(self, points: int | Decimal, top: int) -> ShownGrade:
        """Da la nota de unos puntos; se aprueba con la que se ve, ya redondeada."""
        exact = self._exact(Fraction(points) / top)
        floor = self.lowest if self.minimum is None else self.minimum
        places = Decimal(1).scaleb(-self.decimals)
        value = max(_decimal(exact), floor).quantize(places, ROUND_HALF_UP)
        passed = None if self.passing is None else value >= self.passing
        return ShownGrade(str(value), value, passed)

    def _exact(self, part: Fraction) -> Fraction:
        low, high = Fraction(self.lowest), Fraction(self.highest)
        if self.passing is None or self.passing_at is None:
            return low + (high - low) * part
        corner, at = Fraction(self.passing), Fraction(self.passing_at) / 100
        if part < at:
            return low + (corner - low) * part / at
        return corner + (high - corner) * (part - at) / (1 - at)


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@dataclass(frozen=True)
class LetterScale:
    """Una escala de letras.

    Argumentos:
        letters: por letra, el porcentaje de los puntos desde el que se pone; una empieza en 0.
        passing: la más baja con que se aprueba; None si no se dice.
        name: cómo se llama.
    """

    letters: Mapping[str, Decimal]
    passing: str | None = None
    name: str = "letters"
    highest: None = None

    @cached_property
    def _best_first(self) -> list[tuple[str, Decimal]]:
        return sorted(self.letters.items(), key=lambda each: each[1], reverse=True)

    def grade(self, points: int | Decimal, top: int) -> ShownGrade:
        """Da la letra de unos puntos."""
        percent = 100 * Fraction(points) / top
        letter, start = next(each for each in self._best_first if percent >= Fraction(each[1]))
        passed = None if self.passing is None else start >= self.letters[self.passing]
        return ShownGrade(letter, None, passed)


Scale = NumberScale | LetterScale


@dataclass(frozen=True)
class LatePolicy:
    """Lo que se descuenta por entregar tarde, de los puntos que se obtuvieron.

    Argumentos:
        due: por tema, hasta cuándo se entrega, en la hora de esta computadora.
        per_day: el porcentaje que se descuenta por cada día, o parte de un día.
        grace: las horas que se perdonan; los días se cuentan desde que acaban.
        maximum: el porcentaje más alto que se descuenta.
        counted: los días que se cuentan a todo lo que tiene plazo, si se ponen a mano.
    """

    due: Mapping[str, datetime] = field(default_factory=dict)
    per_day: Decimal = Decimal(0)
    grace: Decimal = Decimal(0)
    maximum: Decimal = Decimal(100)
    counted: int | None = None

    def days(self, topic: str, delivered: datetime | None) -> int:
        """Cuántos días tarde es, contando el empezado; ninguno si no se sabe cuándo fue."""
        if self.counted is not None and topic in self.due:
            return self.counted
        if delivered is None or topic not in self.due:
            return 0
        late = delivered - self.due[topic] - timedelta(hours=float(self.grace))
        return max(0, -(-late // timedelta(days=1)))

    def unknown(self, topic: str, delivered: datetime | None) -> bool:
        """Si tiene plazo, y no se sabe cuándo se entregó."""
        return topic in self.due and self.counted is None and delivered is None

    def discount(self, days: int) -> Decimal:
        """El porcentaje que se descuenta por esos días."""
        return min(self.maximum, self.per_day * days)


def discounted(points: int, percent: Decimal) -> Decimal:
    """Los puntos que quedan, con dos decimales; los mismos si no se descuenta nada."""
    if not percent:
        return Decimal(points)
    return (points * (100 - percent) / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)


SCALES: dict[str, Scale] = {
    "0-5": NumberScale("0-5", Decimal(0), Decimal(5), 1, Decimal(3)),
    "0-10": NumberScale("0-10", Decimal(0), Decimal(10), 2),
    "0-20": NumberScale("0-20", Decimal(0), Decimal(20), 1),
    "1-7": NumberScale("1-7", Decimal(1), Decimal(7), 1, Decimal(4), Decimal(60)),
    "percent": NumberScale("percent", Decimal(0), Decimal(100), 2),
    "letters": LetterScale(
        {letter: Decimal(at) for letter, at in zip("ABCDF", (90, 80, 70, 60, 0), strict=True)}, "D"
    ),
}
"""Las que hay. En la de 0 a 5 se aprueba con 3 y en la de 1 a 7, con 4: el 60 % de los puntos."""
