"""Lo que `course check` ya vio de una carpeta: un cuaderno que no cambió no se ejecuta otra vez.

Se recuerda por lo que decide el resultado: las celdas de código, los ejercicios y la biblioteca.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import course_lib
from course_lib.files import write_atomically
from course_lib.grading.self_check import NotebookFileError, Report, check_notebook, read_notebook
from course_lib.judging import OWN_TOPICS
from course_lib.judging.verdict import Verdict

_WORKERS = max(1, min(4, (os.cpu_count() or 1)))


def notebooks_in(folder: Path) -> list[Path]:
    """Los cuadernos de una carpeta, sin lo que está escondido ni los puntos de control."""
    return sorted(path for path in folder.glob("*.ipynb") if not path.name.startswith("."))


def check_folder(
    paths: Iterable[Path], *, timeout: int, done: Callable[[], None] = lambda: None
) -> Iterator[tuple[Path, Report]]:
    """Comprueba unos cuadernos, varios a la vez; de los que no cambiaron da lo que ya se vio.

    Argumentos:
        paths: los cuadernos.
        timeout: segundos que puede tardar cada celda.
        done: se llama al terminar cada uno.
    """
    memory, library = default_memory(), _library()

    def one(path: Path) -> Report:
        try:
            return _remembered(path, timeout, memory, library)
        except NotebookFileError as error:
            return Report((), unread=str(error))
        finally:
            done()

    paths = list(paths)
    with ThreadPoolExecutor(_WORKERS) as pool:
        yield from zip(paths, pool.map(one, paths), strict=True)


def default_memory() -> Path:
    """La carpeta de lo que se puede volver a hacer: la de cada sistema."""
    home = Path.home()
    places = {"win32": home / "AppData" / "Local", "darwin": home / "Library" / "Caches"}
    base = os.environ.get("XDG_CACHE_HOME") or places.get(sys.platform, home / ".cache")
    return Path(base) / "course_lib" / "check"


def _remembered(path: Path, timeout: int, memory: Path, library: str) -> Report:
    cells = [cell.source for cell in read_notebook(path).cells if cell.cell_type == "code"]
    key = hashlib.sha256(json.dumps([library, str(path.resolve()), timeout, cells]).encode())
    file = memory / f"{key.hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        stored = json.loads(file.read_bytes())
        rows = tuple(Verdict(**row) for row in stored["rows"])
        return Report(rows, tuple(stored["broken_cells"]), tuple(stored["notes"]))
    report = check_notebook(path, timeout=timeout)
    with contextlib.suppress(OSError):  # sin memoria también sirve
        memory.mkdir(parents=True, exist_ok=True)
        write_atomically(file, json.dumps(asdict(report)).encode())
    return report


def _library() -> str:
    """Resume la biblioteca y sus ejercicios: con otros, todo se vuelve a comprobar."""
    folder = Path(course_lib.__file__).parent
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".py", ".json", ".txt")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    if own := os.environ.get(OWN_TOPICS):
        for path in sorted(Path(own, "exercises").glob("*.json")):
            digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()
