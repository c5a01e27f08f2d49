"""Genera, de `solutions/TEMA.md`, los cuadernos de soluciones y de ejercicios.

En la fuente, `### BEGIN SOLUTION` y `### END SOLUTION` rodean cada respuesta. En el cuaderno de
ejercicios ocupa su lugar, dentro de una función, un `raise NotImplementedError`; fuera de ella, las
líneas que el bloque da con `# STUB: respuesta = ...`. Una celda con la etiqueta `solution-only`
está solo en las soluciones. La salida de una con `nbval-ignore-output` no se guarda, porque cambia
en cada ejecución.

Los dos cuadernos se ejecutan y se preparan por completo antes de escribir el primero; cada uno se
escribe de una vez. Un corte en cualquier momento deja, de cada cuaderno, el viejo o el nuevo.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import psutil

from course_lib.files import write_atomically
from course_lib.grading import STUB_MESSAGE
from course_lib.grading.execution import CellFailedError, execute, verdicts
from course_lib.grading.fingerprint import (
    code_cells,
    imported_modules,
    is_check,
    library_fingerprint,
    parse_cell,
)

__all__ = [
    "NotebookError",
    "TopicResult",
    "drift",
    "orphans",
    "regenerate",
    "topics_in",
]

KINDS = ("solutions", "exercises")
SOLUTION_ONLY = "solution-only"
IGNORED_OUTPUT = "nbval-ignore-output"
METADATA_KEY = "course"

_TITLES = {"solutions": "Soluciones", "exercises": "Ejercicios"}
_MARKER = re.compile(r"^(\s*)### (BEGIN|END) SOLUTION\s*$")
_MARKER_LIKE = re.compile(r"^\s*#+\s*(BEGIN|END)\s+SOLUTION", re.IGNORECASE)
_STUB = re.compile(r"^\s*# STUB: ?(.*)$")
_MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")


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
        if kind == "exercises" and SOLUTION_ONLY in _tags(cell):
            continue
        cells.append(_new_cell(cell, text, source.topic, kind, len(cells)))
        origins.append(cell)
    _retitle(source, cells, kind)
    return nbformat.v4.new_notebook(cells=cells, metadata=_notebook_metadata()), origins


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


def _notebook_metadata() -> dict:
    return {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }


def _tags(cell: Any) -> list[str]:
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


def _validate_names(source: Source, names: list[str]) -> None:
    """Las celdas de comprobación y los ejercicios de `course_lib.checks` deben ser los mismos."""
    from course_lib.grading.check import topic_exercises  # carga torch: solo al generar

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


# Ejecutar y normalizar


def prepare(source: Source, kind: str, names: list[str], stamp: dict[str, str]) -> bytes:
    """Ejecuta un cuaderno y da los bytes que se escribirán.

    Errores:
        NotebookError: una celda se detiene, una solución no pasa su comprobación, un ejercicio sin
            resolver no queda pendiente, o una salida cambiaría en cada ejecución.
    """
    notebook, origins = build(source, kind)
    try:
        execute(notebook, source.root)
    except CellFailedError as failure:
        raise NotebookError(_failure_text(source, kind, origins[failure.index], failure)) from None
    _validate_verdicts(source, kind, notebook, names)
    for cell, origin in zip(notebook.cells, origins, strict=True):
        if cell.cell_type == "code":
            _normalise_outputs(source, cell, origin)
    # Ejecutar anota la versión de Python en los metadatos: se escriben de nuevo.
    notebook.metadata = nbformat.from_dict({**_notebook_metadata(), METADATA_KEY: dict(stamp)})
    notebook.metadata[METADATA_KEY]["content"] = content_hash(notebook)
    return dump(notebook)


def _failure_text(source: Source, kind: str, cell: Any, failure: CellFailedError) -> str:
    text = f"{source.place(cell)}: la celda se detuvo: {failure.reason}."
    if kind == "exercises":
        text += (
            f" Pasa en el cuaderno de ejercicios, sin resolver; si la celda necesita la solución, "
            f"dale la etiqueta «{SOLUTION_ONLY}»."
        )
    return text


def _validate_verdicts(source: Source, kind: str, notebook: Any, names: list[str]) -> None:
    wanted = {"solutions": "correct", "exercises": "pending"}[kind]
    found = verdicts(notebook)
    for name in names:
        verdict = found.get(name, {"status": "missing", "message": "la celda no dio un veredicto"})
        if verdict["status"] == wanted:
            continue
        cell = next(c for c in code_cells(source.notebook) if name in c.source)
        detail = verdict["message"] or verdict["status"]
        if kind == "solutions":
            raise NotebookError(f"{source.place(cell)}: la solución de «{name}» no pasa: {detail}.")
        raise NotebookError(
            f"{source.place(cell)}: «{name}» no queda pendiente en el cuaderno sin resolver "
            f"({detail}); ¿faltan los marcadores de la solución?"
        )


def _normalise_outputs(source: Source, cell: Any, origin: Any) -> None:
    """Deja solo lo que es igual en cada ejecución; si algo no puede serlo, lo dice."""
    if IGNORED_OUTPUT in _tags(cell):
        cell.outputs = []
    for output in cell.outputs:
        output.pop("transient", None)
        text = json.dumps(output.get("data", output.get("text", "")), ensure_ascii=False)
        problem = _unstable(output, text, source.root)
        if problem:
            raise NotebookError(
                f"{source.place(origin)}: {problem}; así la salida cambia de una ejecución o de "
                f"una máquina a otra. Evítalo, o dale la etiqueta «{IGNORED_OUTPUT}»."
            )


def _unstable(output: Any, text: str, root: Path) -> str | None:
    if output.get("name") == "stderr":
        return f"la celda escribe en stderr ({' '.join(output.text.split())[:120]})"
    if _MEMORY_ADDRESS.search(text):
        return "la celda muestra una dirección de memoria"
    for folder in (root.resolve(), Path.home()):
        if len(folder.parts) > 1 and json.dumps(str(folder))[1:-1] + os.sep in text:
            return "la celda muestra una carpeta de esta máquina"
    return None


def content_hash(notebook: Any) -> str:
    """Resume el cuaderno entero, menos este mismo resumen."""
    stamped = nbformat.from_dict(json.loads(json.dumps(notebook)))
    stamped.metadata.get(METADATA_KEY, {}).pop("content", None)
    return hashlib.sha256(dump(stamped)).hexdigest()


def dump(notebook: Any) -> bytes:
    """Escribe un cuaderno siempre con los mismos bytes: claves ordenadas y un salto al final."""
    return (nbformat.writes(notebook, version=4).rstrip("\n") + "\n").encode("utf-8")


# Qué cambió desde la última vez


def topics_in(root: Path) -> list[str]:
    """Da los temas que tienen fuente, en orden alfabético."""
    return sorted(path.stem for path in (root / "solutions").glob("*.md"))


def orphans(root: Path) -> list[str]:
    """Da los cuadernos guardados que no tienen fuente."""
    known = set(topics_in(root))
    paths = [path for kind in KINDS for path in (root / kind).glob("*.ipynb")]
    return sorted(path.relative_to(root).as_posix() for path in paths if path.stem not in known)


def drift(topic: str, root: Path) -> list[str]:
    """Dice en qué difieren los cuadernos guardados de los que se generarían; nada, si están al día.

    Errores:
        NotebookError: la fuente no existe o no se puede leer.
    """
    stamp = _stamp(Source.read(topic, root))
    return [
        f"{kind}/{topic}.ipynb: {reason}"
        for kind in KINDS
        if (reason := _notebook_drift(_path(root, kind, topic), stamp))
    ]


def _path(root: Path, kind: str, topic: str) -> Path:
    return root / kind / f"{topic}.ipynb"


def _stamp(source: Source) -> dict[str, str]:
    """Resume de qué se genera: el texto entero de la fuente y la biblioteca que alcanza."""
    modules = imported_modules(cell.source for cell in code_cells(source.notebook))
    text = source.text.replace("\r\n", "\n").encode("utf-8")
    return {
        "source": hashlib.sha256(text).hexdigest(),
        "library": library_fingerprint(modules | {__name__}, source.root),
    }


def _notebook_drift(path: Path, stamp: dict[str, str]) -> str | None:
    try:
        content = path.read_bytes()
        notebook = nbformat.from_dict(json.loads(content))
        stored = notebook.metadata[METADATA_KEY]
        intact = content == dump(notebook) and stored["content"] == content_hash(notebook)
    except FileNotFoundError:
        return "falta"
    except (ValueError, KeyError, AttributeError, TypeError):
        return "no es un cuaderno generado por `course regenerate`"
    if not intact:
        return "fue modificado a mano"
    if stored.get("source") != stamp["source"]:
        return f"la fuente solutions/{path.stem}.md cambió después"
    if stored.get("library") != stamp["library"]:
        return "cambió un módulo de course_lib que usa, o requirements.txt"
    return None


# Escribir


def remove_leftovers(root: Path) -> None:
    """Borra los archivos temporales de procesos que ya no existen."""
    for kind in KINDS:
        for path in (root / kind).glob(".*.ipynb.*.tmp"):
            process = path.name.split(".")[-2]
            if process.isdigit() and not psutil.pid_exists(int(process)):
                path.unlink(missing_ok=True)


# Todo junto


@dataclass(frozen=True)
class TopicResult:
    """Qué pasó con un tema.

    Argumentos:
        topic: el tema.
        status: `written`, `unchanged`, `drifted` (solo con `check`) o `failed`.
        reasons: por qué se generó, en qué difiere o qué falló.
        seconds: tiempo hasta terminarlo.
    """

    topic: str
    status: str
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0


def regenerate(
    topics: Iterable[str],
    root: Path,
    *,
    check: bool = False,
    force: bool = False,
    report: Callable[[TopicResult], None] = lambda result: None,
) -> list[TopicResult]:
    """Genera los cuadernos de los temas que cambiaron, en paralelo.

    Argumentos:
        topics: nombres de temas.
        root: carpeta del proyecto.
        check: no escribe nada; los temas que cambiaron quedan como `drifted`.
        force: genera también los que no cambiaron.
        report: se llama al terminar cada tema.

    Devuelve:
        un resultado por tema, en el orden en que terminaron.
    """
    if not check:
        remove_leftovers(root)
    workers = max(1, min(os.cpu_count() or 1, 8))
    results = []
    with ThreadPoolExecutor(workers) as kernels, ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(_topic_result, t, root, check, force, kernels) for t in topics]
        for done in as_completed(waiting):
            results.append(done.result())
            report(results[-1])
    return results


def _topic_result(
    topic: str, root: Path, check: bool, force: bool, kernels: ThreadPoolExecutor
) -> TopicResult:
    start = time.perf_counter()
    try:
        reasons = tuple(drift(topic, root))
        if check or not (reasons or force):
            return TopicResult(topic, "drifted" if reasons else "unchanged", reasons)
        contents = _prepare_both(Source.read(topic, root), kernels)
        for kind, content in contents.items():
            write_atomically(_path(root, kind, topic), content)
    except NotebookError as error:
        return TopicResult(topic, "failed", (str(error),), time.perf_counter() - start)
    return TopicResult(topic, "written", reasons, time.perf_counter() - start)


def _prepare_both(source: Source, kernels: ThreadPoolExecutor) -> dict[str, bytes]:
    for kind in KINDS:
        build(source, kind)  # los errores de la fuente se ven antes de arrancar un núcleo
    names = checked_names(source)
    _validate_names(source, names)
    stamp = _stamp(source)
    waiting: dict[str, Future] = {
        kind: kernels.submit(prepare, source, kind, names, stamp) for kind in KINDS
    }
    return {kind: future.result() for kind, future in waiting.items()}
