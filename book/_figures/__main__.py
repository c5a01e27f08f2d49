"""Dibuja los diagramas del libro: `python -m book._figures [TEMA…] [--out CARPETA] [--check]`.

Sin temas, los dibuja todos. Cada función de `FIGURES`, en el guion de un capítulo, dibuja un
diagrama y da nombre a su archivo.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from book._figures.kit import Figure

HERE = Path(__file__).parent
CHAPTERS = tuple(
    sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("__main__", "kit"))
)


def drawings(topics: Sequence[str] = CHAPTERS) -> dict[str, Callable[[], Figure]]:
    """Nombre de archivo → función que dibuja."""
    chapters = [importlib.import_module(f"book._figures.{topic}") for topic in topics]
    return {function.__name__: function for chapter in chapters for function in chapter.FIGURES}


def write(path: Path, content: str) -> None:
    """Escribe de una vez: o el archivo nuevo completo, o el anterior intacto."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(content)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def main() -> int:
    parser = argparse.ArgumentParser(description="Dibuja los diagramas del libro.")
    parser.add_argument("topics", nargs="*", metavar="TEMA", help="capítulos; si faltan, todos")
    parser.add_argument("--out", type=Path, default=HERE, help="carpeta de destino")
    parser.add_argument("--check", action="store_true", help="no escribe; falla si algo cambió")
    options = parser.parse_args()
    unknown = sorted(set(options.topics) - set(CHAPTERS))
    if unknown:
        parser.error(f"sin diagramas de {', '.join(unknown)}; los hay de {', '.join(CHAPTERS)}")
    draws = drawings(options.topics or CHAPTERS)
    contents = {options.out / f"{name}.svg": draw().svg() for name, draw in draws.items()}
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
