"""Rol `record`: un número del texto que tiene que ser el de su experimento.

`` {record}`51.9 ± 10.6 % <decoder/el modelo/no se puede>` `` se lee «51.9 ± 10.6 %», y el libro no
se construye si no es lo que dice `benchmarks/results/experiments/decoder.json`. Detrás del rival va
una medida, y detrás de ella, si no es la de prueba, `validation` o `difference` (con el primero, sin
su signo); o bien `parameters`, `chosen` (el ajuste elegido) o `tried` y uno de los ajustes.
"""  # noqa: E501

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import ReferenceRole

RECORDS = Path("benchmarks") / "results" / "experiments"
NUMBER = re.compile(r"−?\d+(?:[ \u00a0\u202f]\d{3})*(?:\.\d+)?")


def check(text: str, target: str, project: Path) -> None:
    """Exige que los números de un texto sean los del registro, con las cifras que lleva.

    Argumentos:
        text: uno o dos números: la media y, tras «±», la mitad del intervalo.
        target: `EXPERIMENTO/RIVAL/MEDIDA`.
        project: la carpeta del proyecto.

    Errores:
        ValueError: no coinciden, o el registro no tiene eso.
    """
    name, *path = target.split("/")
    file = project / RECORDS / f"{name}.json"
    if not file.is_file():
        raise ValueError(f"{target}: no hay un registro {file.relative_to(project)}")
    expected = figures(json.loads(file.read_text("utf-8")), path)
    written = NUMBER.findall(text)
    if not 1 <= len(written) <= len(expected):
        raise ValueError(f"{target}: se esperaban de 1 a {len(expected)} números en «{text}»")
    if not all(map(_agree, written, expected)):
        said = " ± ".join(f"{value:.6g}" for value in expected)
        raise ValueError(f"{target}: el texto dice «{text}», y el registro, {said}")


def figures(record: dict[str, Any], path: list[str]) -> list[float]:
    """Lo que hay en un lugar de un registro: un número, o la media y la mitad del intervalo.

    Errores:
        ValueError: no hay nada.
    """
    try:
        rival = record["rivals"][path[0]]
        match path[1:]:
            case ["parameters" | "chosen" as what]:
                return [rival[what]]
            case ["tried", setting]:
                found = rival["tried"][list(map(str, rival["grid"])).index(setting)]
                measure = record["chosen_by"]
            case [measure, *part] if len(part) < 2:
                found = rival[part[0] if part else "test"][measure]
            case _:
                raise KeyError(path)
    except (KeyError, ValueError) as error:
        raise ValueError(f"{record['name']}/{'/'.join(path)}: no está en el registro") from error
    scale = 100 if record["measures"][measure] == "%" else 1
    sign = -1 if path[-1] == "difference" and found["mean"] < 0 else 1
    return [sign * scale * found["mean"], scale * (found["half_width"] or 0.0)]


def _agree(written: str, value: float) -> bool:
    digits = len(written.partition(".")[2])
    number = float(re.sub(r"[ \u00a0\u202f]", "", written).replace("−", "-"))
    return abs(number - value) <= 0.5 * 10**-digits + 1e-9


class Record(ReferenceRole):
    """El texto, comprobado."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        project = Path(self.env.srcdir)
        self.env.note_dependency(str(project / RECORDS / f"{self.target.split('/')[0]}.json"))
        try:
            check(self.title, self.target, project)
        except ValueError as error:
            message = self.inliner.reporter.error(f"{{record}}: {error}", line=self.lineno)
            return [self.inliner.problematic(self.rawtext, self.rawtext, message)], [message]
        return [nodes.Text(self.title)], []


def setup(app: Sphinx) -> None:
    app.add_role("record", Record())
