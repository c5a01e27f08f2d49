"""La ficha de un modelo guardado: lo que se anotó al entrenarlo, en JSON y para leerlo."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from torch import nn

from benchmarks._report import describe_machine
from course_lib.files import write_atomically
from course_lib.training.history import History

RECORD, CARD = "training.json", "README.md"
CURVE_POINTS = 60


class Texts(NamedTuple):
    """Lo que una ficha dice con palabras; los números salen del registro.

    Argumentos:
        title: qué es.
        about: cómo se lee y qué capítulo lo enseña, con `{parameters}`.
        data: con qué se entrenó y qué se apartó, con los nombres de `record["data"]`.
        measured: cómo se midió, con esos mismos nombres.
        limits: para qué no sirve.
        digits: con cuántos decimales se dan los resultados.
    """

    title: str
    about: str
    data: str
    measured: str
    limits: str
    digits: int = 1


def how_it_was_trained(
    name: str, device: str, history: History, model: nn.Module, **plan: Any
) -> dict[str, Any]:
    """De un registro, lo que no depende de los datos: orden, máquina, plan y pérdida.

    `plan` dice `peak`, `warmup`, `seed` y cuánto mide un lote: `batch_tokens` o, si no se cuenta en
    tokens, `batch`, con palabras.
    """
    steps, loss = len(history.loss), history.smoothed()
    every = -(-steps // CURVE_POINTS)
    parameters = sum(p.numel() for p in model.parameters())
    return {
        "command": f"python -m book._models {name}"
        + (f" --device {device}" if device != "cpu" else ""),
        "machine": describe_machine(device),
        "minutes": round(history.seconds / 60, 1),
        "settings": {"steps": steps, **plan, "parameters": parameters},
        "loss": [(step, round(loss[step - 1], 4)) for step in range(steps, 0, -every)][::-1],
    }


def write_card(record: dict[str, Any], texts: Texts, folder: Path) -> None:
    """Escribe el registro y la ficha."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False).replace('], "', '],\n"')
    write_atomically(folder / RECORD, (text.replace('}, "', '},\n"') + "\n").encode("utf-8"))
    write_atomically(folder / CARD, as_markdown(record, texts).encode("utf-8"))


def as_markdown(record: dict[str, Any], texts: Texts) -> str:
    """La ficha: datos, orden, pasos, resultados y límites."""
    settings, data, machine = record["settings"], record["data"], record["machine"]
    rows = record["results"].items()
    results = "\n".join(f"| {name} | {value:.{texts.digits}f} |" for name, value in rows)
    batch = settings.get("batch") or f"{settings['batch_tokens']} tokens"
    where = ", ".join(f"{name} {value}" for name, value in machine.items() if name != "fecha")
    return f"""\
# {texts.title}

{texts.about.format(**settings)}

## Datos

{texts.data.format(**data)}

## Orden

`{record["command"]}`

## Entrenamiento

{settings["steps"]} pasos de {batch}; tasa máxima {settings["peak"]}, tras
{settings["warmup"]} pasos de subida, y semilla {settings["seed"]}. Duró {record["minutes"]}
minutos ({machine["fecha"]}; {where}).

## Resultados

{texts.measured.format(**data)}

| medida | |
| :-- | --: |
{results}

## Límites

{texts.limits}
"""
