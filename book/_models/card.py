"""La ficha de un modelo guardado: lo que se anotó al entrenarlo, en JSON y para leerlo."""

import json
from pathlib import Path
from typing import Any

from course_lib.files import write_atomically

RECORD, CARD = "training.json", "README.md"
LIMITS = """\
Solo conoce las frases de las recetas del curso, que salen de una gramática: fuera de ellas escribe,
sin avisar, algo que no tiene que ver. Traduce del español al inglés, renglón a renglón, y no al
revés. Lo nunca visto de estas cifras son combinaciones nuevas de palabras conocidas, y la mayor
parte está a una palabra de un renglón de entrenamiento; el capítulo cuenta cuánto da lo más barato."""  # noqa: E501


def write_card(record: dict[str, Any], folder: Path) -> None:
    """Escribe el registro y la ficha."""
    text = json.dumps(record, ensure_ascii=False, allow_nan=False).replace('], "', '],\n"')
    write_atomically(folder / RECORD, (text.replace('}, "', '},\n"') + "\n").encode("utf-8"))
    write_atomically(folder / CARD, as_markdown(record).encode("utf-8"))


def as_markdown(record: dict[str, Any]) -> str:
    """La ficha: datos, orden, pasos, resultados y límites."""
    settings, data, machine = record["settings"], record["data"], record["machine"]
    results = "\n".join(f"| {name} | {value:.1f} |" for name, value in record["results"].items())
    return f"""\
# Traductor de recetas, del español al inglés

Un Transformer de {settings["parameters"]} parámetros, en float16; se lee con `load_transformer` y
`ByteBPE.load`, y lo enseña el capítulo `translator`.

## Datos

{data["lines"]} renglones de {data["recipes"]} recetas del corpus del curso, con repeticiones. Se
apartan recetas por combinación de plato e ingrediente principal.

## Orden

`{record["command"]}`

## Entrenamiento

{settings["steps"]} pasos de {settings["batch_tokens"]} tokens; tasa máxima {settings["peak"]}, tras
{settings["warmup"]} pasos de subida, y semilla {settings["seed"]}. Duró {record["minutes"]}
minutos, con un hilo ({machine["dispositivo"]}, torch {machine["torch"]}, {machine["fecha"]}).

## Resultados

Con decodificación voraz, en {data["measured"]} renglones distintos de {data["measured_recipes"]}
recetas apartadas; {data["unseen"]} no están en el entrenamiento:

| medida | |
| :-- | --: |
{results}

## Límites

{LIMITS}
"""
