"""El resultado de comprobar un ejercicio, en un cuaderno o al calificar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


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
        seconds: lo que se tardó en comprobarlo, al calificar.
        earned: qué partes dan los puntos de una respuesta que no es correcta.
        note: en un cuaderno, lo que conviene saber y no cambia el resultado.
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
    note: str = ""

    def __post_init__(self) -> None:  # de JSON llegan como lista
        object.__setattr__(self, "misconceptions", tuple(self.misconceptions))

    def state(self) -> str:
        """El estado que se muestra: `partial` si gana puntos sin estar bien; si no, `status`."""
        return "partial" if 0 < self.points < self.max_points else self.status

    def __repr__(self) -> str:
        return self._told() + (f"\n⚠️ {self.note}" if self.note else "")

    def _told(self) -> str:
        if self.status == "correct":
            unit = "punto" if self.max_points == 1 else "puntos"
            return f"✅ {self.exercise}: correcto ({self.points}/{self.max_points} {unit})"
        if self.status == "pending":
            return f"⏳ {self.exercise}: pendiente"
        mark = "🟡" if self.state() == "partial" else "❌"
        return f"{mark} {self.exercise}: {self.message}{self.credit()}"

    def credit(self) -> str:
        """Dice qué puntos se ganan con una respuesta que no es correcta; vacío si ninguno."""
        if not self.earned:
            return ""
        return f" (ganas {self.points} de {self.max_points} puntos por {self.earned})"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> tuple[dict, dict]:
        # El veredicto viaja en los metadatos de la salida: `course check` lo lee de ahí, y ningún
        # visor de cuadernos lo muestra en lugar del texto.
        fields = asdict(self)
        for name in ("hinted", "property", "inputs", "seconds", "note"):  # no son para otro
            del fields[name]
        if not self.earned:
            del fields["earned"]
        return {"text/plain": repr(self)}, {"course_verdict": fields}
