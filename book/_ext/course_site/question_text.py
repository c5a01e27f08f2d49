"""El texto de una pregunta: lo que la plantea y, por opción, si es la buena y qué se contesta.

Lo que haga falta saber antes, si hace falta.

- [ ] Una opción
  Lo que se contesta a quien la elige.
- [x] La buena
  Por qué lo es.
"""

import re
from dataclasses import dataclass, field

OPTION = re.compile(r"- \[([ x])\]\s+(.+)")
NUMBER = re.compile(r"([-−]?[\d.]+)\s*(?:±\s*([\d.]+))?")
ANY_OTHER = "otro"


@dataclass
class Option:
    """Una opción: su texto, si es la buena, y los renglones de su respuesta."""

    text: str
    right: bool
    line: int
    reply: list[str] = field(default_factory=list)

    @property
    def number(self) -> tuple[float, float] | None:
        """El valor y la tolerancia, si la opción es un número."""
        match = NUMBER.fullmatch(self.text)
        return match and (float(match[1].replace("−", "-")), float(match[2] or 0))


def split_options(lines: list[str]) -> tuple[list[str], list[Option]]:
    """Lo que va antes de las opciones, y las opciones.

    Errores:
        ValueError: no hay una opción buena y otra que no, o alguna no contesta nada.
    """
    before, options = [], []
    for number, line in enumerate(lines):
        if match := OPTION.fullmatch(line.rstrip()):
            options.append(Option(match[2].strip(), match[1] == "x", number))
        elif not options:
            before.append(line)
        elif line.strip() and not line.startswith("  "):
            raise ValueError(f"«{line}» va después de las opciones: sángralo o ponlo antes")
        else:
            options[-1].reply.append(line[2:])
    if len([option for option in options if option.right]) != 1 or len(options) < 2:
        raise ValueError("una pregunta lleva dos opciones o más, y solo una con [x]")
    for option in options:
        if not "".join(option.reply).strip():
            raise ValueError(f"la opción «{option.text}» no dice qué se contesta")
    return before, options


def require_numbers(options: list[Option]) -> None:
    """Con `:number:` se escribe un número: cada opción es uno, y la última puede ser «otro».

    Errores:
        ValueError: alguna no es un número, o la buena no dice su tolerancia.
    """
    for option in options:
        if option.number is None and (option.text != ANY_OTHER or option.right):
            raise ValueError(f"«{option.text}» no es un número ni «{ANY_OTHER}»")
        if option.right and not option.number[1]:
            raise ValueError(f"a «{option.text}» le falta su tolerancia: «{option.text} ± 0.01»")
