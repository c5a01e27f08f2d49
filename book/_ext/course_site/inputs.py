"""De qué depende el resultado de un capítulo, parte por parte, para poder decir cuál cambió."""

import hashlib
import re
from pathlib import Path

import jupytext

PROJECT = Path(__file__).resolve().parents[3]
OWN_TEXT = "el código del capítulo"
LOCK = "requirements.txt"
# Lo que un capítulo lee, con su ruta escrita en una celda: modelos, mediciones y ejercicios.
MODEL = re.compile(r"book/_models/\w+")
RECORD = re.compile(r"benchmarks/results/[\w/]+\.json")
EXAMPLE = re.compile(r"book/_static/instructor_guide/\w+")


def chapter_inputs(path: Path, project: Path = PROJECT) -> dict[str, str]:
    """El resumen (SHA-256) de cada parte: celdas, versiones, módulos alcanzados y lo que lee."""
    from course_lib.notebooks import fingerprint as parts

    code = [cell.source for cell in parts.code_cells(jupytext.read(path))]
    inputs = {OWN_TEXT: _digest("\0".join(code).encode()), LOCK: _file(project / LOCK)}
    for file in parts.module_files(parts.reachable_modules(parts.imported_modules(code))):
        inputs[_name(file)] = _digest(parts.code_of(file).encode())
    text = "\n".join(code)
    for record in sorted(set(RECORD.findall(text))):
        inputs[record] = _file(project / record)
    for folder in sorted({*MODEL.findall(text), *EXAMPLE.findall(text)}):
        for file in sorted((project / folder).glob("*")):
            inputs[f"{folder}/{file.name}"] = _file(file)
    return inputs


def _name(file: Path) -> str:
    """`…/course_lib/primitives/attention.py` → `course_lib.primitives.attention`."""
    names = file.parts[file.parts.index("course_lib", len(PROJECT.parts)) :]
    if file.suffix != ".py":
        return "/".join(names)
    return ".".join(names).removesuffix(".py").removesuffix(".__init__")


def _file(path: Path) -> str:
    return _digest(path.read_bytes().replace(b"\r\n", b"\n")) if path.is_file() else ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
