"""Accesorios comunes a todas las pruebas."""

import os
from pathlib import Path

import hypothesis
import jaxtyping
import pytest
import torch
from safetensors.torch import load_file

# El tiempo nunca decide una prueba; en integración continua los ejemplos son siempre los mismos.
hypothesis.settings.register_profile("course", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") == "true" else "course")

GOLDENS = Path(__file__).parents[2] / "shared" / "goldens"


@pytest.fixture
def as_user():
    """Apaga la comprobación de formas de jaxtyping: así ve los errores quien usa la biblioteca."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(autouse=True)
def _same_start():
    """Toda prueba parte de la misma semilla y de un solo hilo (las pruebas corren en paralelo)."""
    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture
def golden():
    """Abre un tensor de las salidas de referencia; omite la prueba donde no están."""

    def load(folder: str, file: str) -> dict[str, torch.Tensor]:
        path = GOLDENS / folder / f"{file}.safetensors"
        if not path.exists():
            pytest.skip(f"faltan las salidas de referencia: {folder}")
        return load_file(path)

    return load


def missing_tool(tool: str, remedy: str):
    """Omite la prueba diciendo qué falta; en integración continua, la hace fallar."""
    message = f"falta {tool}: {remedy}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
