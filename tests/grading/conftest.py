"""Accesorios de las pruebas que ejecutan código en una caja."""

import pytest

from course_lib.grading.sandbox.box import Limits, why_unavailable
from course_lib.grading.sandbox.grader import Grader
from tests.conftest import missing_tool


@pytest.fixture(scope="session")
def sandbox_here():
    """Omite la prueba donde no se puede construir una caja; en integración continua, falla."""
    reason = why_unavailable()
    if reason:
        missing_tool("bubblewrap", reason)


@pytest.fixture(scope="session")
def any_grader(sandbox_here):
    """El de todas las pruebas de este proceso: crear otro es importar torch otra vez."""
    with Grader() as grader:
        yield grader


@pytest.fixture(scope="module")
def limits():
    """Lo que puede gastar cada entrega de este archivo."""
    return Limits()


@pytest.fixture(scope="module")
def grader(any_grader, limits):
    """Un calificador con los límites del archivo."""
    before, any_grader.limits = any_grader.limits, limits
    yield any_grader
    any_grader.limits = before
