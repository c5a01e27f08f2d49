"""Accesorios de las pruebas que ejecutan código en una caja."""

import pytest

from course_lib.grading.sandbox.box import why_unavailable
from tests.conftest import missing_tool


@pytest.fixture(scope="session")
def sandbox_here():
    """Omite la prueba donde no se puede construir una caja; en integración continua, falla."""
    reason = why_unavailable()
    if reason:
        missing_tool("bubblewrap", reason)
