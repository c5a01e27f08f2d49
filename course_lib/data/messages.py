"""Los mensajes de los programas, en inglés y en español: texto que nadie escribió para un curso.

Los programas libres guardan lo que dicen en catálogos de gettext, uno por idioma: ``.mo``, el que
lee el programa, y ``.po``, el que escribe quien traduce. En Linux están en
``/usr/share/locale/es/LC_MESSAGES``. Aquí no se descarga nada: se leen los que ya tengas. Los
textos son de sus autores, cada uno con su licencia, y por eso el curso no los reparte.

Leer los catálogos es de `babel`: ``pip install "course_lib[author]"``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from course_lib._extras import extra

INSTALLED = Path("/usr/share/locale/es/LC_MESSAGES")
LONGEST = 200  # letras de un mensaje
MOST_UNEVEN = 3.0  # veces que uno puede ser más largo que el otro; los muy cortos, más
NAMES = re.compile(r"iso[-_]")  # catálogos de nombres de países, idiomas y monedas
MNEMONIC = re.compile(r"[_&~](?=\w)")
LETTERS = re.compile(r"[^\W\d_]{2}")


class Message(NamedTuple):
    """Un mensaje en los dos idiomas.

    Argumentos:
        english: el original.
        spanish: su traducción.
        catalogue: de qué catálogo es, sin la extensión.
    """

    english: str
    spanish: str
    catalogue: str


def read_messages(path: str | os.PathLike) -> list[Message]:
    """Lee un catálogo traducido del inglés al español.

    Se quedan los mensajes con alguna palabra, de hasta 200 letras y distintos en los dos idiomas,
    sin la letra subrayada de los menús («_Abrir» es «Abrir») y en un solo renglón. De uno con
    plural salen dos. Los que aún no se han traducido, o se tradujeron con dudas, no cuentan.

    Argumentos:
        path: un archivo ``.mo`` o ``.po``.

    Errores:
        ValueError: el archivo no existe, no es un catálogo o está dañado.
        MissingExtraError: falta `babel`.

    Ejemplo:
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "editor.po"
        >>> _ = path.write_text('msgid "_Open file"\\nmsgstr "_Abrir el archivo"\\n')
        >>> from course_lib.data import read_messages
        >>> read_messages(path)
        [Message(english='Open file', spanish='Abrir el archivo', catalogue='editor')]
    """
    path = Path(path)
    return [
        Message(*both, path.stem)
        for pair in _pairs(_read_catalogue(path))
        if (both := _clean(*pair)) is not None
    ]


def installed_messages(folders: Iterable[str | os.PathLike] = (INSTALLED,)) -> list[Message]:
    """Lee todos los catálogos ``.mo`` y ``.po`` de unas carpetas, y de las que hay dentro.

    Se saltan los catálogos dañados y los de nombres (países, idiomas…), y cada mensaje sale una
    vez, en el primer catálogo que lo trae.

    Errores:
        ValueError: no hay ninguno; se dice dónde se buscó.
        MissingExtraError: falta `babel`.
    """
    folders = [Path(folder) for folder in folders]
    found = {
        path for folder in folders for kind in ("mo", "po") for path in folder.rglob(f"*.{kind}")
    }
    paths = sorted((p for p in found if not NAMES.match(p.name)), key=lambda p: (p.name, str(p)))
    messages = {message[:2]: message for path in reversed(paths) for message in _readable(path)}
    if not messages:
        raise ValueError(
            f"Se esperaban catálogos .mo o .po, traducidos al español, en "
            f"{', '.join(map(str, folders))} y no hay ninguno. En Linux los traen los paquetes "
            "instalados; también vale una carpeta con los que tengas."
        )
    return sorted(messages.values(), key=lambda m: (m.catalogue, m.english, m.spanish))


def split_messages(
    messages: Iterable[Message], *, apart: float = 0.05, seed: int = 0
) -> tuple[list[Message], list[Message], list[Message]]:
    """Reparte los mensajes por familias de catálogos: entrenar, validar y evaluar.

    Dos catálogos son de la misma familia si su nombre empieza por las mismas cuatro letras: «gtk30»
    y «gtk40», o «grassmods» y «grasswxpy», dicen casi lo mismo. De lo apartado se quitan los
    mensajes cuyo texto, en un idioma o en el otro, ya está en lo de entrenar, aunque cambien las
    mayúsculas o los signos.

    Argumentos:
        apart: qué fracción de las familias se aparta para validar, y otra igual para evaluar.
        seed: la semilla del sorteo.

    Devuelve:
        Los tres grupos: lo de entrenar, lo de validar y lo de evaluar.

    Errores:
        ValueError: no quedan mensajes en alguno.
    """
    messages = list(messages)
    families = sorted({family_of(message.catalogue) for message in messages})
    Random(seed).shuffle(families)
    count = round(apart * len(families))
    sides = dict.fromkeys(families[:count], 1) | dict.fromkeys(families[count : 2 * count], 2)
    groups: tuple[list[Message], ...] = ([], [], [])
    for message in messages:
        groups[sides.get(family_of(message.catalogue), 0)].append(message)
    seen = {_bare(text) for message in groups[0] for text in message[:2]}
    new = [[m for m in group if not seen & {*map(_bare, m[:2])}] for group in groups[1:]]
    if not (groups[0] and new[0] and new[1]):
        raise ValueError(
            f"Con {len(families)} familias de catálogos no se puede apartar {apart:g} de ellas "
            "para validar y otro tanto para evaluar: hacen falta más catálogos, o un `apart` mayor."
        )
    return groups[0], new[0], new[1]


def family_of(catalogue: str) -> str:
    """La familia de un catálogo: sus cuatro primeras letras, sin los prefijos que muchos llevan."""
    letters = re.sub(r"^(?:lib|org\.|kcm_?|plasma_\w+_org\.kde\.)", "", catalogue.lower())
    return re.sub(r"[\W\d_]", "", letters)[:4]


def _read_catalogue(path: Path):
    with extra("author"):
        from babel.messages.mofile import read_mo
        from babel.messages.pofile import read_po
    read = read_po if path.suffix == ".po" else read_mo
    try:
        with path.open("rb") as file:
            return read(file)
    except Exception as error:  # babel no dice qué errores da un archivo que no es de los suyos
        raise ValueError(
            f"{path}: se esperaba un catálogo de gettext, .mo o .po ({error})."
        ) from error


def _readable(path: Path) -> list[Message]:
    try:
        return read_messages(path)
    except ValueError:
        return []


def _pairs(catalogue) -> Iterator[tuple[str, str]]:
    """Cada texto con el suyo; el primero de un catálogo es su cabecera."""
    for message in catalogue:
        if not message.id or message.fuzzy:
            continue
        if isinstance(message.id, str):
            yield message.id, message.string
        else:
            yield message.id[0], message.string[0]
            yield message.id[-1], message.string[-1]


def _clean(english: str, spanish: str) -> tuple[str, str] | None:
    """Los dos textos en un renglón y sin subrayados, o None si no sirven."""
    both = [" ".join(text.split()) for text in (english, spanish or "")]
    if all(len(MNEMONIC.findall(text)) == 1 for text in both):
        # Un nombre con el signo en medio, igual en los dos, no lleva una letra subrayada.
        names = [re.findall(r"\w+[_&~]\w+", text) for text in both]
        if not names[0] or names[0] != names[1]:
            both = [MNEMONIC.sub("", text) for text in both]
    lengths = [len(text) for text in both]
    if not all(LETTERS.search(text) for text in both) or max(lengths) > LONGEST:
        return None
    uneven = max(lengths) > MOST_UNEVEN * min(lengths) + 10
    return None if uneven or both[0] == both[1] else (both[0], both[1])


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
