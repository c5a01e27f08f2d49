"""La comprobación de tipos de las pruebas, barata donde no hay formas que comprobar.

jaxtyping envuelve cada función de la biblioteca (`--jaxtyping-packages`, en pyproject.toml) y en
cada llamada recuerda el tamaño de cada eje. En un módulo cuyas firmas no dicen formas eso cuesta
varias veces lo que comprobar, y no hay eje que recordar: basta beartype.
"""

import contextlib
import functools
import inspect
import sys
from collections.abc import Iterator

import jaxtyping
from beartype import beartype

_with_shapes = jaxtyping.jaxtyped
_unchecked = {}  # de cada función que se comprueba, la de la biblioteca


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

    _unchecked[either] = function
    return either


@contextlib.contextmanager
def unchecked(package: str) -> Iterator[None]:
    """Entretanto, las funciones de un paquete son las suyas, sin nadie que las envuelva.

    Es lo mismo que apagar la comprobación; donde se llaman millones de veces, preguntar en cada una
    si está apagada cuesta la décima parte del total.
    """
    modules = [m for name, m in list(sys.modules.items()) if name.startswith(package)]
    classes = [c for m in modules for c in vars(m).values() if inspect.isclass(c)]
    places = [
        (owner, name, value)
        for owner in (*modules, *(c for c in classes if c.__module__.startswith(package)))
        for name, value in vars(owner).items()
        if inspect.isfunction(value) and value in _unchecked
    ]
    for owner, name, value in places:
        setattr(owner, name, _unchecked[value])
    try:
        yield
    finally:
        for owner, name, value in places:
            setattr(owner, name, value)


jaxtyping.jaxtyped = _jaxtyped
