"""La carpeta donde se califica una clase: qué se hizo ya, con qué semilla, y quién la está usando.

`results/` guarda un archivo por entrega, escrito de una vez; junto a cada resultado, un resumen de
lo que lo decide. Si al volver a calificar el resumen es el mismo, vale el resultado guardado.
"""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import secrets
from dataclasses import asdict, replace
from pathlib import Path

from course_lib.files import write_atomically
from course_lib.grading.classroom.collection import Entry
from course_lib.grading.classroom.task import Order, course_version, result_from_data
from course_lib.grading.sandbox.grader import SubmissionResult


class ClassRunError(Exception):
    """No se puede empezar a calificar; el mensaje dice por qué y qué hacer."""


class ClassFolder:
    """La carpeta de una clase, reservada hasta que se cierra.

    Argumentos:
        path: la carpeta; si no existe se crea, y solo la puede leer quien califica.

    Errores:
        ClassRunError: es de otra cosa, o la está usando otro proceso.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.results = Path(path), Path(path) / "results"
        self._version = functools.cache(course_version)  # mientras dura la calificación
        self._seed_file, lock = self.results / "seed", self.results / "lock"
        if self.path.exists() and not lock.exists():
            _require_empty(self.path)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.results.mkdir(mode=0o700, exist_ok=True)
            self._lock = lock.open("a")
        except OSError as error:
            raise ClassRunError(f"No se puede escribir en {path}: {error.strerror}.") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # se suelta si el proceso muere
        except OSError:
            self._lock.close()
            raise ClassRunError(
                f"Otro proceso está calificando en {path}; espera a que termine o usa otra carpeta."
            ) from None

    def seed(self) -> int:
        """Da la semilla de la clase: se sortea la primera vez, y nadie más la puede leer."""
        if not self._seed_file.exists():
            write_atomically(self._seed_file, str(secrets.randbits(63)).encode())
            self._seed_file.chmod(0o600)  # la carpeta ya era privada
        return int(self._seed_file.read_text())

    def stored(self, entry: Entry, order: Order) -> SubmissionResult | None:
        """Da el resultado guardado de una entrega, si nada de lo que lo decide cambió."""
        try:
            record = json.loads(self._file(entry).read_text(encoding="utf-8"))
            result = result_from_data(record["result"])
        except (OSError, ValueError, TypeError, KeyError):
            return None
        # Reconocer un tema o que lo pidan es lo mismo, si es el mismo: decirlo después no repite.
        orders = [order, replace(order, topic=None)] if result.topic == order.topic else [order]
        same = record.get("digest") in [self._digest(entry, each, result) for each in orders]
        return result if same and result.status == "graded" else None

    def store(self, entry: Entry, order: Order, result: SubmissionResult) -> None:
        """Guarda el resultado de una entrega."""
        record = {
            "student": entry.student,
            "source": entry.source,
            "digest": self._digest(entry, order, result),
            "result": result.as_data(),
        }
        content = json.dumps(record, ensure_ascii=False, indent=1)
        write_atomically(self._file(entry), content.encode("utf-8", "replace"))

    def _digest(self, entry: Entry, order: Order, result: SubmissionResult) -> str:
        """Resume lo que decide un resultado: la entrega, las entradas, los límites y el tema."""
        content = entry.content if isinstance(entry.content, bytes) else entry.content.encode()
        version = self._version(result.topic) if result.topic else ""
        parts = [order.seed, order.topic, order.sandboxed, asdict(order.limits), version]
        return hashlib.sha256(json.dumps(parts).encode() + b"\0" + content).hexdigest()

    def _file(self, entry: Entry) -> Path:
        path = self.results / f"{entry.key}.json"
        if path.parent != self.results or entry.key.startswith("."):
            raise ValueError(f"«{entry.key}» no sirve como nombre de archivo.")
        return path

    def close(self) -> None:
        """Suelta la carpeta."""
        self._lock.close()

    def __enter__(self) -> ClassFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _require_empty(path: Path) -> None:
    if not path.is_dir():
        raise ClassRunError(f"{path} es un archivo; indica una carpeta.")
    if any(path.iterdir()):
        raise ClassRunError(
            f"{path} ya tiene otras cosas, y no se escribe encima; indica una carpeta nueva, o una "
            f"en la que ya hayas calificado."
        )
