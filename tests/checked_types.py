"""La comprobación de tipos de las pruebas, barata donde no hay formas que comprobar.

jaxtyping envuelve cada función de la biblioteca (`--jaxtyping-packages`, en pyproject.toml) y en
cada llamada recuerda el tamaño de cada eje. En un módulo cuyas firmas no dicen formas eso cuesta
varias veces lo que comprobar, y no hay eje que recordar: basta beartype.
"""

import functools
import inspect

import jaxtyping
from beartype import beartype

_with_shapes = jaxtyping.jaxtyped


def _says_shapes(module: dict) -> bool:
    """Si un módulo usa un tipo de jaxtyping: sus funciones comparten los ejes.

    También si nombra tipos que solo existen para quien analiza el código: beartype no los hallaría.
    """
    return "TYPE_CHECKING" in module or any(
        getattr(value, "__module__", "") == "jaxtyping" for value in module.values()
    )


def _jaxtyped(function=None, *, typechecker):
    if function is None:
        return functools.partial(_jaxtyped, typechecker=typechecker)
    is_inner = "<locals>" in getattr(function, "__qualname__", "")
    if not inspect.isfunction(function) or _says_shapes(function.__globals__):
        return _with_shapes(function, typechecker=typechecker)
    if not function.__annotations__:
        return function
    if is_inner:  # nace en cada llamada: prepararla cuesta más que comprobarla
        return _with_shapes(function, typechecker=typechecker)
    strict = beartype(function)

    @functools.wraps(function)
    def either(*arguments, **options):
        run = function if jaxtyping.config.jaxtyping_disable else strict
        return run(*arguments, **options)

    return either


jaxtyping.jaxtyped = _jaxtyped
