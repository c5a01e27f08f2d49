"""El borrador de un ejercicio nuevo: se regenera tal cual, y se cambia lo que haga falta."""

from __future__ import annotations

from pathlib import Path

from course_lib.files import write_atomically
from course_lib.notebooks.topic_source import TOPIC_FILE

_TEXTS = Path(__file__).parent / "texts"


class DraftError(ValueError):
    """No se puede crear el borrador; el mensaje dice por qué."""


def write_draft(topic: str, name: str, root: Path) -> Path:
    """Escribe el borrador de un ejercicio y lo pone al final del orden de su tema.

    Errores:
        DraftError: ya existe, o el tema no tiene dónde ponerlo.
    """
    folder = root / "solutions" / topic
    path = folder / f"{name}.md"
    if path.exists():
        raise DraftError(f"solutions/{topic}/{name}.md ya existe.")
    around = folder / TOPIC_FILE
    text = _with_name(around, name) if around.exists() else _draft("topic", topic, name)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _draft("exercise", topic, name).encode())
    write_atomically(around, text.encode())
    return path


def _draft(kind: str, topic: str, name: str) -> str:
    text = (_TEXTS / f"{kind}.md").read_text(encoding="utf-8")
    return text.replace("TEMA", topic).replace("NOMBRE", name)


def _with_name(around: Path, name: str) -> str:
    """Agrega un nombre al último bloque de ejercicios."""
    text = around.read_text(encoding="utf-8")
    start = text.rfind("```{ejercicios}")
    end = text.find("\n```", start + 3)
    if start < 0 or end < 0:
        raise DraftError(f"{around.name} no tiene un bloque «```{{ejercicios}}»: escríbelo.")
    return f"{text[:end]}\n{name}{text[end:]}"
