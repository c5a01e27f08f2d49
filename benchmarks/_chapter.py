"""Medir lo que mide un capítulo: sus celdas marcadas `measured`, tal como están en la página."""

from pathlib import Path
from typing import Any

import jupytext

BOOK = Path(__file__).parents[1] / "book"


def run_chapter(topic: str, seed: int) -> dict[str, Any]:
    """Ejecuta las celdas marcadas con otra semilla y devuelve los nombres que dejan definidos."""
    namespace: dict[str, Any] = {"SEED": seed}
    for source in measured_cells(topic):
        exec(compile(source, str(BOOK / f"{topic}.md"), "exec"), namespace)
    return namespace


def measured_cells(topic: str) -> list[str]:
    """Da el código de las celdas marcadas, en orden."""
    cells = jupytext.read(BOOK / f"{topic}.md").cells
    return [cell.source for cell in cells if "measured" in cell.metadata.get("tags", ())]
