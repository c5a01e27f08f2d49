"""Los ejemplos de la biblioteca: cada nombre público tiene uno, y todos dan lo que dicen."""

import doctest
import importlib
import inspect
import pkgutil
import re
from types import ModuleType

import pytest

PACKAGES = (
    "primitives",
    "layers",
    "models",
    "fast",
    "decoding",
    "training",
    "tokenization",
    "recording",
)


def package(name: str) -> ModuleType:
    return importlib.import_module(f"course_lib.{name}")


def public_names(module: ModuleType) -> list[str]:
    """Lo que ofrece un paquete o, en un módulo suelto, lo que define sin guion bajo."""
    own = (n for n, value in vars(module).items() if _defined_in(module, value))
    return getattr(module, "__all__", None) or [name for name in own if name[0] != "_"]


def _defined_in(module: ModuleType, value: object) -> bool:
    return callable(value) and getattr(value, "__module__", None) == module.__name__


def examples() -> list[doctest.DocTest]:
    """Los ejemplos de todos los módulos; cada uno importa lo que usa."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = []
    for home in map(package, PACKAGES):
        inside = pkgutil.walk_packages(getattr(home, "__path__", []), f"{home.__name__}.")
        for module in [home, *(importlib.import_module(each.name) for each in inside)]:
            found += finder.find(module, globs={})
    return [each for each in found if each.examples]


EXAMPLES = examples()
RUN = {each.name for each in EXAMPLES}
PUBLIC = [f"{each}.{name}" for each in PACKAGES for name in public_names(package(each))]


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    home, _, name = name.partition(".")
    public = getattr(package(home), name)
    text = inspect.cleandoc(public.__doc__)
    before, _, example = text.partition("\nEjemplo:\n")
    assert ">>>" in example and ">>>" not in before, f"{name}: falta el ejemplo, o no va al final"
    assert f"{public.__module__}.{public.__qualname__}" in RUN, f"{name}: nadie ejecuta su ejemplo"
    # Un listado deja fuera todo lo que sigue a «Ejemplo:».
    assert re.fullmatch(r"(?:    .*\n?|\n)+", example), f"{name}: tras el ejemplo hay algo más"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: each.name)
def test_the_example_gives_what_it_says(example):
    told = []
    doctest.DocTestRunner(verbose=False).run(example, out=told.append)
    assert not told, "".join(told)


def test_a_wrong_example_is_noticed():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "malo", None, None)
    with pytest.raises(AssertionError, match="Got:"):
        test_the_example_gives_what_it_says(wrong)
