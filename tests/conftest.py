"""Accesorios comunes a todas las pruebas."""

import os

import jaxtyping
import pytest
import torch


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


def missing_tool(tool: str, remedy: str):
    """Omite la prueba diciendo qué falta; en integración continua, la hace fallar."""
    message = f"falta {tool}: {remedy}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)
