"""Lo que se instala aparte: cada parte opcional se importa dentro de `extra`, que dice cuál es."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class MissingExtraError(ImportError):
    """Falta una parte opcional de la instalación; el mensaje dice cómo instalarla."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """Rodea los `import` de lo que instala un extra de `pyproject.toml`.

    Argumentos:
        name: el extra (`student`, `teacher`…).

    Errores:
        MissingExtraError: no está instalado.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f'Falta «{error.name}»: pip install "course_lib[{name}]"', name=error.name
        ) from None
