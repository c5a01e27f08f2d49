"""Archivos que se escriben enteros o no se escriben."""

import os
from pathlib import Path


def write_atomically(path: Path, content: bytes) -> None:
    """Escribe un archivo de una vez: quien lo lea ve el viejo o el nuevo, nunca una parte.

    El provisional va al lado, con el número del proceso en el nombre; se lleva al disco y solo
    entonces toma el nombre definitivo. Las carpetas que falten se crean.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
