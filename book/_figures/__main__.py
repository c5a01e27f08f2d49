"""Dibuja todos los diagramas del libro: `python -m book._figures [--out CARPETA] [--check]`.

Cada función pública de un guion de capítulo dibuja un diagrama y da nombre a su archivo.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from book._figures import attention, index, key_value_store, self_attention
from book._figures.kit import Figure

HERE = Path(__file__).parent
CHAPTERS = (index, attention, key_value_store, self_attention)


def drawings() -> dict[str, Callable[[], Figure]]:
    """Nombre de archivo → función que dibuja."""
    return {function.__name__: function for chapter in CHAPTERS for function in chapter.FIGURES}


def write(path: Path, content: str) -> None:
    """Escribe de una vez: o el archivo nuevo completo, o el anterior intacto."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(content)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description="Dibuja los diagramas del libro.")
    parser.add_argument("--out", type=Path, default=HERE, help="carpeta de destino")
    parser.add_argument("--check", action="store_true", help="no escribe; falla si algo cambió")
    options = parser.parse_args()
    contents = {options.out / f"{name}.svg": draw().svg() for name, draw in drawings().items()}
    stale = [
        path
        for path, content in contents.items()
        if not path.exists() or path.read_text(encoding="utf-8") != content
    ]
    if options.check:
        for path in stale:
            print(f"{path}: no es lo que dibuja su guion; ejecuta python -m book._figures")
        return 1 if stale else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for path in stale:
        write(path, contents[path])
    print(f"{len(contents)} diagramas, {len(stale)} escritos")
    return 0


if __name__ == "__main__":
    sys.exit(main())
