"""Qué es un experimento, y cómo se elige sin mirar la prueba."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan
from statistics import fmean
from typing import Any, NamedTuple

ENOUGH_SEEDS = 5
WIDENINGS = 4  # las veces que se alarga una rejilla, como mucho
ALIKE = 1e-3  # dos ajustes que no se distinguen en validación
UNITS = ("", "%")

Figures = Mapping[str, float]


class Splits(NamedTuple):
    """Los ejemplos: con unos se aprende, con otros se elige y con otros, al final, se mide."""

    train: Sequence[Any]
    validation: Sequence[Any]
    test: Sequence[Any]


@dataclass(frozen=True)
class Rival:
    """Quien compite.

    Argumentos:
        fit: `fit(train, validation, setting, seed)`, que da lo ajustado o, si se entrenó, el par
            (modelo, `History`). Nunca recibe la prueba.
        grid: los ajustes entre los que elige la validación, de menor a mayor; casi siempre, la
            tasa de aprendizaje. El que no tiene nada que ajustar no la da. Si son números con
            decimales y gana uno del borde, la rejilla se alarga por ese lado (`beyond`).
        against: el rival con el que se compara; si falta, el primero.
    """

    fit: Callable[[Sequence[Any], Sequence[Any], Any, int], Any]
    grid: tuple[Any, ...] = (None,)
    against: str | None = None


def beyond(grid: Sequence[Any], chosen: Any) -> float | None:
    """El ajuste que sigue al elegido por fuera de la rejilla, en la misma proporción.

    Ninguno si el elegido está dentro, o si los ajustes no son números positivos con decimales.
    """
    if len(grid) < 2 or not all(isinstance(setting, float) and setting > 0 for setting in grid):
        return None
    edges = {grid[0]: grid[1], grid[-1]: grid[-2]}
    return float(f"{chosen * chosen / edges[chosen]:.3g}") if chosen in edges else None


@dataclass(frozen=True)
class Experiment:
    """Una afirmación que se puede perder.

    Argumentos:
        splits: `splits(seed)`, los ejemplos de esa semilla. Si cambian con ella, el intervalo
            cuenta también la suerte de los datos.
        rivals: por nombre; el primero es el nuestro, y con él se comparan los que no dicen otro.
        measure: `measure(modelo, ejemplos)`, un número por cada nombre de `measures`.
        measures: lo que se mide, con su unidad: "%" (de 0 a 1, y se lee en tanto por ciento) o "".
        chosen_by: con qué medida, en validación, elige cada rival su ajuste.
        lowest: es mejor el menor.
        seeds: las de la prueba, cinco o más.
        tuning_seeds: con cuántas de ellas se recorre la rejilla entera.

    Errores:
        ValueError: hay menos de cinco semillas o de dos rivales, una rejilla vacía, un rival que
            se compara con quien no compite, una unidad desconocida o una medida para elegir que
            no se mide.
    """

    splits: Callable[[int], Splits]
    rivals: Mapping[str, Rival]
    measure: Callable[[Any, Sequence[Any]], Figures]
    measures: Mapping[str, str]
    chosen_by: str
    lowest: bool = False
    seeds: tuple[int, ...] = tuple(range(ENOUGH_SEEDS))
    tuning_seeds: int = 1

    def __post_init__(self) -> None:
        if len(set(self.seeds)) < ENOUGH_SEEDS:
            raise ValueError(
                f"seeds: se esperaban {ENOUGH_SEEDS} semillas distintas o más y llegaron "
                f"{list(self.seeds)}."
            )
        if not 1 <= self.tuning_seeds <= len(self.seeds):
            raise ValueError(
                f"tuning_seeds: se esperaba de 1 a {len(self.seeds)} y llegó {self.tuning_seeds}."
            )
        if len(self.rivals) < 2:
            raise ValueError(
                "rivals: se esperaba al menos uno además del nuestro; llegaron "
                f"{list(self.rivals)}."
            )
        for name, rival in self.rivals.items():
            if not rival.grid or "/" in name:
                raise ValueError(f"«{name}»: se esperaban un nombre sin «/» y un ajuste o más.")
            if rival.against not in (None, *self.rivals):
                raise ValueError(f"«{name}»: se compara con «{rival.against}», que no compite.")
        if self.chosen_by not in self.measures:
            raise ValueError(
                f"chosen_by: se esperaba una de {list(self.measures)} y llegó «{self.chosen_by}»."
            )
        if unknown := set(self.measures.values()) - set(UNITS):
            raise ValueError(f"measures: se esperaba una unidad de {UNITS} y llegó {unknown}.")

    def split(self, seed: int) -> Splits:
        """Los ejemplos de una semilla.

        Errores:
            ValueError: una parte está vacía, o un ejemplo de la prueba está en otra parte.
        """
        parts = self.splits(seed)
        if empty := [name for name, part in parts._asdict().items() if not len(part)]:
            raise ValueError(f"splits: con la semilla {seed}, no hay ejemplos en {empty}.")
        seen = {*map(repr, parts.train), *map(repr, parts.validation)}
        if repeated := [example for example in map(repr, parts.test) if example in seen]:
            raise ValueError(
                f"splits: con la semilla {seed}, hay {len(repeated)} ejemplos de la prueba que "
                f"están también fuera de ella; el primero es {repeated[0]:.200}."
            )
        return parts

    def figures(self, model: Any, examples: Sequence[Any]) -> dict[str, float]:
        """Lo que se mide de un modelo.

        Errores:
            ValueError: falta o sobra una medida.
        """
        found = {name: float(value) for name, value in self.measure(model, examples).items()}
        if found.keys() != self.measures.keys():
            raise ValueError(f"measure: se esperaba {list(self.measures)} y llegó {list(found)}.")
        return found

    def choose(self, validation: Mapping[Any, Sequence[Figures]]) -> Any:
        """El ajuste que mejor sale en validación, en promedio; el que se rompe, el último.

        Si es uno del borde, pero otro de dentro sale igual (se distinguen en una milésima), ese.

        Argumentos:
            validation: por ajuste, lo que midió en validación cada semilla.
        """

        def score(setting: Any) -> float:
            mean = fmean(run[self.chosen_by] for run in validation[setting])
            return -inf if isnan(mean) else -mean if self.lowest else mean

        settings = [*validation]
        inside = settings[1:-1]
        best = max(settings, key=score)
        alike = [s for s in inside if score(s) >= score(best) - ALIKE * abs(score(best))]
        return max(alike, key=score) if best not in inside and alike else best
