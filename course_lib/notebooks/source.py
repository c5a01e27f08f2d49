"""La fuente de un tema, `solutions/TEMA.md`, y los dos cuadernos que salen de ella sin ejecutar.

En la fuente, `### BEGIN SOLUTION` y `### END SOLUTION` rodean cada respuesta. En el cuaderno de
ejercicios ocupa su lugar, dentro de una función, un `raise NotImplementedError`; fuera de ella, las
líneas que el bloque da con `# STUB: respuesta = ...`. Una celda con la etiqueta `solution-only`
está solo en las soluciones.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib._extras import extra
from course_lib.judging import STUB_MESSAGE
from course_lib.notebooks.fingerprint import code_cells, is_check, parse_cell

with extra("author"):
    import jupytext
    import nbformat

SOLUTION_ONLY = "solution-only"

_TITLES = {"solutions": "Soluciones", "exercises": "Ejercicios"}
_MARKER = re.compile(r"^(\s*)### (BEGIN|END) SOLUTION\s*$")
_MARKER_LIKE = re.compile(r"^\s*#+\s*(BEGIN|END)\s+SOL", re.IGNORECASE)
_STUB = re.compile(r"^\s*# STUB: ?(.*)$")


class NotebookError(Exception):
    """Un cuaderno no se puede generar; el mensaje nombra el archivo y la celda."""


@dataclass(frozen=True)
class Source:
    """La fuente de un tema: `solutions/TEMA.md` y sus celdas."""

    topic: str
    root: Path
    text: str
    notebook: Any

    @classmethod
    def read(cls, topic: str, root: Path) -> Source:
        """Lee la fuente: la carpeta `solutions/TEMA/` si la hay; si no, `solutions/TEMA.md`."""
        from course_lib.notebooks.topic_source import TopicSource, is_topic

        if is_topic(root, topic):
            return TopicSource.read(topic, root)
        path = root / "solutions" / f"{topic}.md"
        try:
            text = path.read_text(encoding="utf-8")
            return cls(topic, root, text, jupytext.reads(text, fmt="md:myst"))
        except (OSError, UnicodeDecodeError) as error:
            raise NotebookError(f"solutions/{topic}.md: no se pudo leer ({error}).") from None
        except Exception as error:  # jupytext no tiene un error propio para un texto mal formado
            message = " ".join(str(error).split())
            raise NotebookError(
                f"solutions/{topic}.md: no es un cuaderno MyST ({message})."
            ) from error

    def place(self, cell: Any) -> str:
        """Nombra una celda de la fuente: archivo, número y línea."""
        number = next(i for i, c in enumerate(self.notebook.cells, 1) if c is cell)
        start = self.text.find(cell.source.strip() or "\0")
        line = f", línea {self.text.count(chr(10), 0, start) + 1}" if start >= 0 else ""
        return f"solutions/{self.topic}.md, celda {number}{line}"


# De la fuente a los dos cuadernos


def build(source: Source, kind: str) -> tuple[Any, list[Any]]:
    """Arma un cuaderno sin ejecutar.

    Devuelve:
        el cuaderno, y la celda de la fuente de la que viene cada una de las suyas.

    Errores:
        NotebookError: marcadores sin pareja, anidados o mal escritos, o falta el título.
    """
    cells, origins = [], []
    for cell in source.notebook.cells:
        text = _cell_text(source, cell, kind)
        if kind == "exercises" and SOLUTION_ONLY in tags(cell):
            continue
        cells.append(_new_cell(cell, text, source.topic, kind, len(cells)))
        origins.append(cell)
    _retitle(source, cells, kind)
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook_metadata()), origins


def _cell_text(source: Source, cell: Any, kind: str) -> str:
    marked = any(_MARKER_LIKE.match(line) for line in cell.source.splitlines())
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


def _retitle(source: Source, cells: list[Any], kind: str) -> None:
    """El título «# Soluciones: X» de la fuente pasa a «# Ejercicios: X» en los ejercicios."""
    pattern = re.compile(r"^# Soluciones: (.+)$", re.MULTILINE)
    for cell in cells:
        if cell.cell_type == "markdown" and pattern.search(cell.source):
            cell.source = pattern.sub(rf"# {_TITLES[kind]}: \1", cell.source, count=1)
            return
    raise NotebookError(f"solutions/{source.topic}.md: falta el título «# Soluciones: …».")


def notebook_metadata() -> dict:
    """Da los metadatos de un cuaderno del curso, los mismos en toda máquina."""
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }


def tags(cell: Any) -> list[str]:
    """Da las etiquetas de una celda."""
    return cell.metadata.get("tags", [])


# Las comprobaciones nombran los ejercicios del tema


def checked_names(source: Source) -> list[str]:
    """Da los nombres de los ejercicios que se comprueban, y valida sus celdas.

    Errores:
        NotebookError: un nombre repetido, o una comprobación que no es el final de su celda.
    """
    names: list[str] = []
    for cell in code_cells(source.notebook):
        tree = parse_cell(cell.source)
        calls = [] if tree is None else [node for node in ast.walk(tree) if is_check(node)]
        for call in calls:
            last = tree.body[-1]
            if not (isinstance(last, ast.Expr) and last.value is call):
                raise NotebookError(
                    f"{source.place(cell)}: la llamada a check debe ser lo último de su celda, y "
                    f"la única."
                )
            name = call.args[0].value
            if name in names:
                raise NotebookError(
                    f"{source.place(cell)}: «{name}» ya se comprueba en otra celda."
                )
            names.append(name)
    return names


def validate_names(source: Source, names: list[str]) -> None:
    """Exige que lo que se comprueba y los ejercicios de `course_lib.checks` sean lo mismo.

    Errores:
        NotebookError: un ejercicio repetido, sin declarar o sin celda que lo compruebe.
    """
    from course_lib.judging.check import topic_exercises  # carga torch: solo al generar

    declared = [exercise.name for exercise in topic_exercises(source.topic)]
    where = f"course_lib/checks/{source.topic}.py"
    repeated = [name for name, count in Counter(declared).items() if count > 1]
    if repeated:
        raise NotebookError(f"{where}: hay dos ejercicios llamados «{repeated[0]}».")
    for cell in code_cells(source.notebook):
        for name in names:
            if name not in declared and name in cell.source:
                raise NotebookError(
                    f"{source.place(cell)}: comprueba «{name}», que no está en {where}."
                )
    missing = [name for name in declared if name not in names]
    if missing:
        raise NotebookError(
            f"solutions/{source.topic}.md: falta la celda que comprueba «{missing[0]}», "
            f"declarado en {where}."
        )
