"""El resultado de comprobar un ejercicio, en un cuaderno o al calificar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from course_lib.judging import display


@dataclass(frozen=True, repr=False)
class Verdict:
    """El resultado de comprobar un ejercicio.

    Argumentos:
        exercise: nombre del ejercicio.
        status: `correct`, `pending`, `wrong` (la respuesta no es), `error` (el código se detuvo) o
            `missing` (el cuaderno no tiene la respuesta, o no la comprueba).
        points: puntos obtenidos.
        max_points: puntos posibles.
        message: la pista o la propiedad que falla, nunca lo que se esperaba; vacío si es correcto o
            está pendiente.
        misconceptions: nombres de los errores frecuentes reconocidos: ninguno, uno, o dos a la vez.
        hinted: si el mensaje es una pista; sin `misconceptions`, la de varios que dan lo mismo.
        property: la propiedad que falla (`runs`, `type`, `shape`, … `inputs`, `gradient`), si hay.
        inputs: con qué entradas se vio: sus formas y opciones, nunca los valores.
        case_index: en cuál de los casos sorteados se vio, desde 0; None si no es de ninguno.
        seconds: lo que se tardó en comprobarlo, al calificar.
        earned: qué partes dan los puntos de una respuesta que no es correcta.
    """

    exercise: str
    status: str
    points: int
    max_points: int
    message: str = ""
    misconceptions: Sequence[str] = ()
    hinted: bool = False
    property: str | None = None
    seconds: float = 0.0
    earned: str = ""
    inputs: str = ""
    case_index: int | None = None

    def __post_init__(self) -> None:  # de JSON llegan como lista
        object.__setattr__(self, "misconceptions", tuple(self.misconceptions))

    def state(self) -> str:
        """El estado que se muestra: `partial` si gana puntos sin estar bien; si no, `status`."""
        return "partial" if 0 < self.points < self.max_points else self.status

    def told(self) -> display.Told:
        """Lo que se muestra, por partes."""
        return display.Told(
            state=self.state(),
            title=self.exercise,
            score=display.score(self.points, self.max_points, self.earned),
            message=self.message if self.hinted else display.with_code(self.message),
        )

    def __repr__(self) -> str:
        return repr(self.told())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        # El veredicto viaja en los metadatos de la salida: `course check` lo lee de ahí, y ningún
        # visor de cuadernos lo muestra en lugar del texto.
        return self.told()._repr_mimebundle_(), {"course_verdict": self.stored()}

    def stored(self) -> dict[str, Any]:
        """Lo que se guarda en el cuaderno: con qué se vio y cuánto tardó no son para otro."""
        kept = ["exercise", "status", "points", "max_points", "message", "misconceptions"]
        kept += ["earned"] if self.earned else []
        return {name: getattr(self, name) for name in kept}
