"""Los archivos de una carpeta o de un ZIP, leídos con límites y sin extraer nada.

Ningún nombre se usa para abrir otra cosa: del disco se abren los archivos que el recorrido
encontró, sin seguir enlaces; del ZIP, sus miembros. Los tamaños se comprueban al leer, porque lo
que un ZIP dice de sí mismo puede ser mentira.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO

from course_lib.grading.classroom.untrusted_text import decode_name

MAX_MEMBERS = 200_000
MAX_INNER_MEMBERS = 2000
_MAX_DEPTH = 40
_UTF8_FLAG, _ENCRYPTED_FLAG = 0x800, 0x1
_CENTRAL_HEADER = b"PK\x01\x02"
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    OverflowError,
)
# Un directorio de estos nunca contiene una entrega.
_JUNK = frozenset({"__MACOSX", "__pycache__", "Thumbs.db", "desktop.ini"})


class CollectionError(ValueError):
    """No hay entregas que leer; el mensaje dice por qué y qué hacer."""


class FileError(Exception):
    """Un archivo de una entrega no se puede leer; el mensaje dice por qué, a quien lo entregó."""


@dataclass(frozen=True)
class Delivered:
    """Un archivo o una carpeta que venía en la entrega.

    Argumentos:
        parts: su ruta, por partes, sin `.`, `..` ni partes vacías.
        number: su lugar entre los del mismo nombre.
        opener: abre el archivo; None si es una carpeta.
        problem: por qué no se debe abrir.
        when: cuándo se guardó, según el disco o el ZIP; None si no se sabe.
    """

    parts: tuple[str, ...]
    number: int = 0
    opener: Callable[[], IO[bytes]] | None = None
    problem: str = ""
    when: datetime | None = None

    @property
    def is_folder(self) -> bool:
        return self.opener is None and not self.problem

    def start(self, size: int) -> bytes:
        """Lee los primeros bytes del archivo, o falla con `FileError`."""
        if self.opener is None:
            raise FileError(self.problem or "es una carpeta")
        try:
            with self.opener() as file:
                return file.read(size)
        except NotImplementedError:
            raise FileError("el ZIP usa una compresión que no se admite") from None
        except _ZIP_ERRORS:
            raise FileError("el archivo está dañado o no se puede leer") from None


@contextmanager
def open_delivery(path: Path) -> Iterator[tuple[list[Delivered], bool]]:
    """Da los archivos de una carpeta o de un ZIP, y si es un ZIP, mientras está abierto.

    Errores:
        CollectionError: no existe, no es una carpeta ni un ZIP, o está dañado.
    """
    if path.is_dir():
        yield disk_files(path), False
        return
    if not path.exists():
        raise CollectionError(f"No existe «{path}»: revisa la ruta de la carpeta o del ZIP.")
    if not path.is_file():
        raise CollectionError(f"«{path}» no es una carpeta ni un ZIP.")
    if path.suffix.lower() == ".ipynb":
        raise CollectionError(
            f"«{path}» es un solo cuaderno: da la carpeta que lo contiene, o usa `course check`."
        )
    try:
        archive = zipfile.ZipFile(path)
    except _ZIP_ERRORS:
        raise CollectionError(_why_not_zip(path)) from None
    with archive:
        yield zip_files(archive, MAX_MEMBERS), True


def _why_not_zip(path: Path) -> str:
    try:
        with path.open("rb") as file:
            cut = file.read(4) == b"PK\x03\x04"
    except OSError:
        return f"«{path}» no se puede leer: revisa sus permisos."
    if cut:
        return f"El ZIP «{path}» está dañado o incompleto: vuelve a descargarlo de tu plataforma."
    return (
        f"«{path}» no es un ZIP: da una carpeta con cuadernos, o el ZIP con todas las entregas "
        f"que se descarga de tu plataforma."
    )


# Del disco


def disk_files(root: Path) -> list[Delivered]:
    """Recorre una carpeta sin seguir enlaces."""
    found: list[Delivered] = []
    pending: list[tuple[Path, tuple[str, ...]]] = [(root, ())]
    while pending:
        folder, parts = pending.pop()
        for entry in _scan(folder, parts):
            here = (*parts, decode_name(os.fsencode(entry.name)))
            if is_junk(here[-1:]):
                continue
            found.append(_from_disk(entry, here))
            if found[-1].is_folder:
                pending.append((Path(entry.path), here))
        if len(found) > MAX_MEMBERS:
            raise CollectionError(
                f"«{root}» tiene más de {MAX_MEMBERS} archivos: da la carpeta de una sola tarea."
            )
    return sorted(found, key=lambda file: file.parts)


def _scan(folder: Path, parts: tuple[str, ...]) -> list[os.DirEntry]:
    if len(parts) > _MAX_DEPTH:
        return []
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        if not parts:
            raise CollectionError(f"«{folder}» no se puede leer: revisa sus permisos.") from error
        return []


def _from_disk(entry: os.DirEntry, parts: tuple[str, ...]) -> Delivered:
    if entry.is_symlink():
        return Delivered(parts, problem="la entrega es un enlace")
    if entry.is_dir(follow_symlinks=False):
        return Delivered(parts)
    if not entry.is_file(follow_symlinks=False):
        return Delivered(parts, problem="la entrega no es un archivo normal")
    when = datetime.fromtimestamp(entry.stat(follow_symlinks=False).st_mtime)
    return Delivered(parts, opener=lambda: _open_regular(entry.path), when=when)


def _open_regular(path: str) -> IO[bytes]:
    """Abre un archivo normal; entre el recorrido y la lectura pudo dejar de serlo."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
    file = os.fdopen(os.open(path, flags), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("no es un archivo normal")
    return file


# Del ZIP


def inner_files(content: bytes) -> list[Delivered]:
    """Da los archivos del ZIP que alguien entregó.

    Errores:
        FileError: está dañado, o tiene demasiados archivos.
    """
    # Cada miembro necesita esta cabecera: se cuentan antes de que zipfile los cargue todos.
    if content.count(_CENTRAL_HEADER) > MAX_INNER_MEMBERS:
        raise FileError(f"el ZIP tiene más de {MAX_INNER_MEMBERS} archivos")
    try:
        return zip_files(zipfile.ZipFile(io.BytesIO(content)), MAX_INNER_MEMBERS)
    except _ZIP_ERRORS:
        raise FileError("el ZIP está dañado o cortado") from None


def zip_files(archive: zipfile.ZipFile, limit: int) -> list[Delivered]:
    """Da los miembros de un ZIP abierto, sin la basura que añaden los sistemas."""
    members = archive.infolist()
    if len(members) > limit:
        raise CollectionError(f"El ZIP tiene más de {limit} archivos: descarga una sola tarea.")
    seen: dict[tuple[str, ...], int] = {}
    found = []
    for member in members:
        name = _member_name(member)
        parts = tuple(part for part in name.split("/") if part.strip() not in ("", ".", ".."))
        if not parts or is_junk(parts):
            continue
        number = seen[parts] = seen.get(parts, -1) + 1
        if name.endswith("/"):
            found.append(Delivered(parts, number))
        else:
            found.append(_from_zip(archive, member, parts, number))
    return sorted(found, key=lambda file: (file.parts, file.number))


def _member_name(member: zipfile.ZipInfo) -> str:
    name = member.orig_filename
    if not member.flag_bits & _UTF8_FLAG:
        name = decode_name(name.encode("cp437"))  # zipfile lo leyó como cp437, que es reversible
    return name.replace("\\", "/")


def _from_zip(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, parts: tuple[str, ...], number: int
) -> Delivered:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return Delivered(parts, number, problem="la entrega es un enlace")
    if kind not in (0, stat.S_IFREG):
        return Delivered(parts, number, problem="la entrega no es un archivo normal")
    if member.flag_bits & _ENCRYPTED_FLAG:
        return Delivered(parts, number, problem="el archivo está protegido con contraseña")
    # Los demás métodos se descomprimen sin límite en zipfile.
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return Delivered(parts, number, problem="el ZIP usa una compresión que no se admite")
    return Delivered(parts, number, lambda: archive.open(member), when=_date_of(member))


def _date_of(member: zipfile.ZipInfo) -> datetime | None:
    """La fecha de un miembro; la de 1980 es la de quien no la puso."""
    try:
        when = datetime(*member.date_time)
    except ValueError:
        return None
    return when if when.year > 1980 else None


def is_junk(parts: tuple[str, ...]) -> bool:
    """Si una ruta es de lo que añaden macOS, Windows, Jupyter o git, y no una entrega."""
    return any(part in _JUNK or _is_hidden(part) for part in parts)


def _is_hidden(part: str) -> bool:
    if "_assignsubmission_" in part:  # el nombre de una persona puede empezar por un punto
        return False
    return part.startswith("._") or (part.startswith(".") and not part.endswith(".ipynb"))
