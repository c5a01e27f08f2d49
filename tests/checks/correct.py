"""Soluciones correctas escritas de otra manera: las de cada ejercicio, y unas generales.

Están en «## Otras maneras». A las funciones se les agregan las que sirven a todas: calcular en
float64, con entradas que no son contiguas y, si hay GPU, responder desde ella.
"""

import functools
import inspect
import json
from typing import Any

import torch

from course_lib.judging.compiled import Answer
from course_lib.judging.exercise import Exercise
from course_lib.judging.plain_data import copy_inputs, tensors_in
from course_lib.judging.running import draw_cases
from tests.checks.solutions import read_topic


def alternatives(exercise: Exercise) -> dict[str, Any]:
    """Las soluciones escritas a mano de un ejercicio, por su lugar."""
    return _written(exercise.topic)[exercise.name]


@functools.cache
def _written(topic: str) -> dict[str, dict[str, Any]]:
    """Las de un tema, por ejercicio y lugar."""
    source = read_topic(topic)
    stored = json.loads(source.compiled)["exercises"]
    return {
        each["name"]: {
            f"línea {line}": Answer(each).run(made.whole(code)) for code, line in made.alternatives
        }
        for made, each in zip(source.exercises, stored, strict=True)
    }


def in_general(exercise: Exercise, solution: Any) -> dict[str, Any]:
    """La solución del cuaderno, y las maneras que sirven a toda función."""
    found = {"solución": solution}
    if not inspect.isfunction(solution):
        return found
    found["sin contigüidad"] = _through(solution, _scattered)
    if _in_float32(exercise, solution):
        found["en float64"] = in_float64(solution)
    if torch.cuda.is_available():
        found["en la GPU"] = _through(solution, after=lambda x: x.cuda())
    return found


def _in_float32(exercise: Exercise, solution) -> bool:
    """Si algún caso da al estudiante números en float32, y ninguna función que los espere así."""
    given = []

    def spy(*inputs):
        given.append(inputs)
        return solution(*inputs)

    for case in draw_cases(exercise, 0):
        exercise.call(spy, *copy_inputs(case))
    floats = [x for inputs in given for x in tensors_in(inputs) if x.is_floating_point()]
    functions = [x for inputs in given for x in (*inputs, *_items(inputs)) if callable(x)]
    return not functions and any(x.dtype == torch.float32 for x in floats)


def _items(inputs):
    return [item for value in inputs if isinstance(value, list) for item in value]


def _through(solution, before=lambda x: x, after=lambda x: x):
    """Cambia cada tensor de las entradas, y cada uno de la salida."""

    @functools.wraps(solution)
    def student(*inputs):
        return _each(solution(*_each(inputs, before)), after)

    return student


def in_float64(solution):
    """Calcula en float64 lo que llega en float32, y lo devuelve en float32."""

    @functools.wraps(solution)
    def student(*inputs):
        is_narrow = any(x.dtype == torch.float32 for x in tensors_in(inputs))
        narrow = torch.float32 if is_narrow else torch.float64
        wide = _through(solution, _recast(torch.float32, torch.float64))
        return _each(wide(*inputs), _recast(torch.float64, narrow))

    return student


def _recast(old: torch.dtype, new: torch.dtype):
    return lambda x: x.to(new) if x.dtype == old else x


def _each(value, change):
    if isinstance(value, torch.Tensor):
        return change(value)
    if type(value) in (list, tuple):
        return type(value)(_each(item, change) for item in value)
    if type(value) is dict:
        return {key: _each(item, change) for key, item in value.items()}
    return value


def _scattered(x: torch.Tensor) -> torch.Tensor:
    """El mismo tensor, con sus números a saltos en la memoria."""
    return x.unsqueeze(-1).expand(*x.shape, 2).contiguous()[..., 0]
