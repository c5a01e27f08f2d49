"""Los dos cuadernos de un tema, sin ejecutar: con las soluciones o con su hueco.

En la fuente, `### BEGIN SOLUTION` y `### END SOLUTION` rodean cada respuesta. En el cuaderno de
ejercicios ocupa su lugar, dentro de una función, un `raise NotImplementedError`; fuera de ella, las
líneas que el bloque da con `# STUB: respuesta = ...`. Una celda con la etiqueta `solution-only`
está solo en las soluciones.

En el de ejercicios nada detiene a «Ejecutar todo»: una celda que enseña lo que hace una respuesta,
y que en la fuente espera a `NotImplementedError`, espera ahí a cualquier error; y la última celda
resume lo hecho.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from course_lib._extras import extra
from course_lib.judging import STUB_MESSAGE

if TYPE_CHECKING:
    from course_lib.notebooks.topic_source import TopicSource

with extra("author"):
    import nbformat

SOLUTION_ONLY = "solution-only"

_TITLES = {"solutions": "# Soluciones:", "exercises": "# Ejercicios:"}
_MARKER = re.compile(r"^(\s*)### (BEGIN|END) SOLUTION\s*$")
_MARKER_LIKE = re.compile(r"^\s*#+\s*(BEGIN|END)\s+SOL", re.IGNORECASE)
_STUB = re.compile(r"^\s*# STUB: ?(.*)$")


class NotebookError(Exception):
    """Un cuaderno no se puede generar; el mensaje nombra el archivo y la celda."""


def build(source: TopicSource, kind: str) -> tuple[Any, list[Any]]:
    """Arma un cuaderno sin ejecutar.

    Devuelve:
        el cuaderno, y la celda de la fuente de la que viene cada una de las suyas.

    Errores:
        NotebookError: marcadores sin pareja, anidados o mal escritos.
    """
    cells, origins = [], []
    for cell in source.notebook.cells:
        text = _cell_text(source, cell, kind)
        if kind == "exercises" and SOLUTION_ONLY in tags(cell):
            continue
        cells.append(_new_cell(cell, text, source.topic, kind, len(cells)))
        origins.append(cell)
    if kind == "exercises":
        for make, text in _closing(source.topic):
            cells.append(_new_cell(make(text), text, source.topic, kind, len(cells)))
            origins.append(origins[-1])
    cells[0].source = cells[0].source.replace(_TITLES["solutions"], _TITLES[kind], 1)
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook_metadata()), origins


def _closing(topic: str) -> list[tuple[Any, str]]:
    """Las dos últimas celdas de un cuaderno de ejercicios: lo hecho y lo que sigue."""
    return [
        (nbformat.v4.new_markdown_cell, "## Resumen\n\nLo que llevas hecho, y lo que sigue:"),
        (nbformat.v4.new_code_cell, f'from course_lib import resumen\n\nresumen("{topic}")'),
    ]


_WAITS = re.compile(r"^(\s*)except NotImplementedError:", re.MULTILINE)


def _cell_text(source: TopicSource, cell: Any, kind: str) -> str:
    marked = any(_MARKER_LIKE.match(line) for line in cell.source.splitlines())
    if not marked and kind == "exercises" and cell.cell_type == "code":
        return _WAITS.sub(r"\1except Exception:", cell.source)
    if not marked:
        return cell.source
    if cell.cell_type != "code":
        raise NotebookError(f"{source.place(cell)}: los marcadores van en una celda de código.")
    try:
        return replace_solutions(cell.source, keep=kind == "solutions")
    except ValueError as error:
        raise NotebookError(f"{source.place(cell)}: {error}") from None


def replace_solutions(code: str, *, keep: bool) -> str:
    """Quita los marcadores de una celda; sin `keep`, pone el esqueleto en lugar de cada respuesta.

    Errores:
        ValueError: marcadores sin pareja, anidados o mal escritos, o un bloque fuera de una función
            sin línea `# STUB:`.
    """
    output: list[str] = []
    block: list[str] | None = None
    indent = ""
    for line in code.splitlines():
        marker = _read_marker(line)
        if marker == "BEGIN":
            if block is not None:
                raise ValueError("hay un BEGIN SOLUTION dentro de otro; cierra antes el primero.")
            block, indent = [], line[: len(line) - len(line.lstrip())]
        elif marker == "END":
            if block is None:
                raise ValueError("hay un END SOLUTION sin su BEGIN SOLUTION.")
            output += _kept(block) if keep else _stub(block, indent)
            block = None
        else:
            (output if block is None else block).append(line)
    if block is not None:
        raise ValueError("hay un BEGIN SOLUTION sin su END SOLUTION.")
    return "\n".join(output)


def _read_marker(line: str) -> str | None:
    exact = _MARKER.match(line)
    if exact is None and _MARKER_LIKE.match(line):
        raise ValueError(
            f"«{line.strip()}» no es un marcador; se escribe «### BEGIN SOLUTION» o "
            f"«### END SOLUTION»."
        )
    return exact and exact.group(2)


def _kept(block: list[str]) -> list[str]:
    return [line for line in block if not _STUB.match(line)]


def _stub(block: list[str], indent: str) -> list[str]:
    given = [match.group(1) for line in block if (match := _STUB.match(line))]
    if given:
        return [f"{indent}{line}".rstrip() for line in given]
    if not indent:
        raise ValueError(
            "un bloque que no está dentro de una función necesita decir qué queda en su lugar: "
            "«# STUB: respuesta = ...»."
        )
    return [f'{indent}raise NotImplementedError("{STUB_MESSAGE}")']


def _new_cell(cell: Any, text: str, topic: str, kind: str, position: int) -> Any:
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    identifier = hashlib.sha256(f"{topic}/{kind}/{position}".encode()).hexdigest()[:12]
    new = make.get(cell.cell_type, nbformat.v4.new_raw_cell)(text, metadata=dict(cell.metadata))
    new["id"] = identifier
    return new


def notebook_metadata() -> dict:
    """Da los metadatos de un cuaderno del curso, los mismos en toda máquina."""
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }


def tags(cell: Any) -> list[str]:
    """Da las etiquetas de una celda."""
    return cell.metadata.get("tags", [])
