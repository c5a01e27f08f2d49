"""El gemelo de un modelo: los mismos parámetros, y otra manera de calcular con ellos."""

import copy
from collections.abc import Mapping

from torch import nn


def twin(
    model: nn.Module, faster: Mapping[type[nn.Module], type[nn.Module]], **settings
) -> nn.Module:
    """Copia un modelo sin copiar ningún parámetro; los módulos de ciertas clases pasan a otra.

    El modo (entrenamiento o evaluación) y los ganchos son de cada uno; los parámetros y sus
    nombres, los mismos.

    Argumentos:
        model: el modelo de siempre; no cambia.
        faster: a qué clase pasa cada una; la nueva hereda de la vieja.
        settings: atributos de los módulos que cambian de clase.

    Errores:
        ValueError: si ningún módulo es de esas clases.
    """
    if not any(type(module) in faster for module in model.modules()):
        names = " o ".join(each.__name__ for each in faster)
        raise ValueError(
            f"model: se esperaba un {names}, o un modelo que lo tenga dentro, y llegó "
            f"{type(model).__name__}."
        )
    return _twin(model, faster, settings, {})


def _twin(module, faster, settings, made):
    if module in made:  # un módulo en dos lugares sigue siendo uno
        return made[module]
    made[module] = new = copy.copy(module)
    for name, value in vars(module).items():
        if isinstance(value, dict) and name not in ("_parameters", "_buffers"):
            object.__setattr__(new, name, value.copy())
    for name, child in module._modules.items():
        new._modules[name] = child and _twin(child, faster, settings, made)
    if type(module) in faster:
        new.__class__ = faster[type(module)]
        for name, value in settings.items():
            setattr(new, name, value)
    return new
