"""Paquetes que ofrecen sus nombres sin cargar nada hasta que alguien pide uno (PEP 562)."""

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class _LazyPackage(ModuleType):
    """Un paquete que importa el módulo de cada nombre la primera vez que se pide."""

    def __getattr__(self, name: str) -> Any:
        homes = self.__dict__["_homes"]
        if name not in homes:
            raise AttributeError(f"{self.__name__} no tiene {name!r}")
        return getattr(importlib.import_module(homes[name], self.__name__), name)

    def __setattr__(self, name: str, value: Any) -> None:
        # Python pone en el paquete cada módulo suyo que se importa; si se llama como algo público
        # (`primitives.attention`), ese nombre es de lo público.
        if not (isinstance(value, ModuleType) and name in self.__dict__["_homes"]):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__dict__["_homes"]})


def homes(package: str) -> dict[str, str]:
    """Da, por cada nombre que un paquete del curso ofrece así, el módulo en que está."""
    name, _, rest = package.partition(".")
    folder = Path(__file__).parent.joinpath(*rest.split("."))
    if name != __package__ or not (folder / "__init__.py").is_file():
        return {}
    offered = vars(importlib.import_module(package)).get("_homes", {})
    return {name: package + home for name, home in offered.items()}


def offer(package: str, names: dict[str, tuple[str, ...]]) -> list[str]:
    """Hace que un paquete ofrezca los nombres de sus módulos, y da su `__all__`.

    Argumentos:
        package: el `__name__` del paquete.
        names: por módulo (`.attention`), los nombres que ofrece.
    """
    module = sys.modules[package]
    homes = {name: home for home, each in names.items() for name in each}
    module.__dict__["_homes"] = homes
    module.__class__ = _LazyPackage
    return sorted(homes)
