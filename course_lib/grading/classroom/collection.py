"""Lo que se entregó: quién y qué archivo.

`collect` reúne las entregas de una carpeta, o del ZIP con todas las que se descarga de Moodle, de
Canvas o de Blackboard. No ejecuta nada ni se fía de ningún nombre: un archivo ajeno puede llamarse
de cualquier modo.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from course_lib.grading.classroom.delivered import (
    CollectionError,
    Delivered,
    FileError,
    inner_files,
    open_delivery,
)
from course_lib.grading.classroom.platform_names import (
    NameReader,
    PlatformName,
    name_reader,
    parse_platform_name,
)
from course_lib.grading.classroom.untrusted_text import clean_name, short_hash, slug
from course_lib.grading.submission import MAX_FILE
from course_lib.judging.owner import bare

MAX_NOTEBOOKS = 30
MAX_STUDENT = 100 << 20
MAX_TOTAL = 4 << 30
_MAX_ZIP_DEPTH = 2
_MAX_ZIPS = 20
_ARCHIVES = frozenset({".rar", ".7z", ".tar", ".gz", ".tgz", ".bz2", ".xz"})
# Lo que quien califica suele tener junto a los cuadernos.
_NOT_DELIVERIES = frozenset({".csv", ".tsv", ".xlsx", ".xls", ".ods", ".md", ".log"})


@dataclass(frozen=True)
class Entry:
    """Un archivo que alguien entregó.

    Argumentos:
        student: nombre de quien entrega, como se muestra.
        key: identificador único del archivo en esta entrega, que sirve de nombre de archivo.
        source: su nombre en la carpeta o en el ZIP, como se muestra.
        content: los bytes, o por qué no se pudieron leer.
        participant: con qué distingue la plataforma a quien entrega: su número, o su usuario.
        folder: con qué reconoce la plataforma de quién es la retroalimentación, o None.
        platform: de dónde se descargó: `moodle`, `canvas`…; vacío, de una carpeta.
        delivered: cuándo se entregó, si se sabe: lo que dice la plataforma, o la fecha del archivo.
    """

    student: str
    key: str
    source: str
    content: bytes | str = field(repr=False)
    participant: str | None = None
    folder: str | None = None
    platform: str = ""
    delivered: datetime | None = None

    @property
    def owner(self) -> str:
        """Identifica a quien entrega, con un texto que sirve de nombre de archivo."""
        # Con ocho cifras, quien elige su nombre encuentra en minutos uno que se une al de otro.
        return _joined(self.student, _mark(self.participant or self.student))


def _mark(text: str) -> str:
    """Distingue a quien entrega con lo que sirve en un nombre de archivo: su número o su huella."""
    return text if re.fullmatch(r"[0-9]{1,18}", text) else short_hash(text, digits=16)


def _joined(student: str, *parts: str | None) -> str:
    """Une con guiones lo que identifica, sin repetir lo que ya está al final del nombre."""
    who = slug(student) or "estudiante"
    return "-".join([who, *(p for p in parts if p and not f"-{who}".endswith(f"-{p}"))])


# Reunir


def collect(path: Path, source: str | None = None) -> list[Entry]:
    """Reúne las entregas de una carpeta o de un ZIP, ordenadas por estudiante y archivo.

    Cada estudiante tiene al menos una entrada: si no hay ningún cuaderno suyo, su contenido dice
    por qué. Las claves dependen solo de los nombres, así que son las mismas en otra ejecución.

    Argumentos:
        path: una carpeta con un cuaderno o una carpeta por estudiante, la de nbgrader
            (`submitted/ESTUDIANTE/TAREA/`), la de los repositorios de GitHub Classroom, o un ZIP de
            cualquiera de ellas, de Moodle, de Canvas, de Blackboard o de Google Classroom.
        source: de dónde viene, uno de `SOURCES`; si falta, se reconoce por los nombres.

    Errores:
        CollectionError: no existe, no es una carpeta ni un ZIP, está dañado, o no hay entregas.
    """
    path = Path(path)
    with open_delivery(path) as (files, is_zip):
        inside = _without_root(files) if is_zip else files
        root = path.name if inside is files else files[0].parts[0]
        owners = _owners(inside, root, source)
        if not owners:
            raise CollectionError(
                f"«{path}» no tiene entregas: se espera un cuaderno (.ipynb) o una carpeta por "
                f"estudiante, o el ZIP de Moodle, de Canvas o de Blackboard."
            )
        entries: list[Entry] = []
        total = 0
        for owner in owners:
            entries += owner.entries()
            total += owner.spent
            if total > MAX_TOTAL:
                raise CollectionError(
                    f"Las entregas de «{path}» pasan de {MAX_TOTAL >> 30} GB: califícalas por "
                    f"partes."
                )
    if not any(owner.plugins or owner.found for owner in owners):
        raise CollectionError(f"«{path}» no tiene ningún cuaderno (.ipynb): revisa la ruta.")
    entries.sort(key=lambda e: (bare(e.student), e.student, e.participant or "", e.source))
    return list(_with_different_keys(entries))


def _with_different_keys(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Distingue las claves repetidas: ocho cifras se hacen coincidir a propósito."""
    taken: set[str] = set()
    for entry in entries:
        key, count = entry.key, 1
        while key in taken:
            count += 1
            key = f"{entry.key}-{count}"
        taken.add(key)
        yield replace(entry, key=key)


def _without_root(files: list[Delivered]) -> list[Delivered]:
    """Quita la carpeta que envuelve un ZIP entero, si hay una y no es de un solo estudiante."""
    roots = {file.parts[0] for file in files}
    inside = [file for file in files if len(file.parts) > 1]
    if len(roots) != 1 or len(inside) < 2 or parse_platform_name(next(iter(roots))):
        return files
    if next(iter(roots)) == "submitted" or len(inside) + 1 < len(files):
        return files
    return [replace(file, parts=file.parts[1:]) for file in inside]


def _owners(files: list[Delivered], root: str, source: str | None) -> list[_Owner]:
    owners: dict[tuple[str, ...], _Owner] = {}
    loose = [f.parts[0] for f in files if len(f.parts) == 1 and not f.is_folder]
    loose = [name for name in loose if not _is_paperwork(name)]
    folders = {f.parts[0] for f in files if len(f.parts) > 1 or f.is_folder}
    read_name = name_reader(loose, folders, root, source)
    for file in files:
        found = _owner_of(file, read_name)
        if found is not None:
            owner, rest = found
            owner = owners.setdefault(owner.identity, owner)
            owner.files.append(rest)
    _make_names_unique(owners.values())
    return list(owners.values())


def _owner_of(file: Delivered, read_name: NameReader) -> tuple[_Owner, Delivered] | None:
    """Dice de quién es un archivo: por su nombre, si lo puso una plataforma, o por la carpeta."""
    parts = file.parts
    named = read_name(parts[0])
    if named is not None:
        rest = (named.rest,) if named.rest else parts[1:]
        # La fecha que una plataforma pone a lo que junta en un ZIP no es la de la entrega.
        inside = replace(file, parts=rest or ("",), when=named.when)
        return _owner_named(named), inside
    if parts[0] == "submitted" and (len(parts) > 1 or file.is_folder):  # de nbgrader
        parts = parts[1:]
    if not parts:
        return None
    if len(parts) > 1 or file.is_folder:
        rest = replace(file, parts=parts[1:] or ("",))
        return _Owner(("folder", parts[0]), clean_name(parts[0])), rest
    if _is_paperwork(parts[0]):
        return None
    owner = _Owner(("file", parts[0], str(file.number)), clean_name(_without_suffix(parts[0])))
    return owner, replace(file, parts=parts)


def _owner_named(named: PlatformName) -> _Owner:
    """Quien entrega, por lo que dice el nombre que puso una plataforma."""
    raw = () if named.number else (named.student,)
    return _Owner(
        (named.platform, named.number or "", *raw),
        named.student,
        participant=named.number,
        folder=named.folder,
        platform=named.platform,
        plugins={named.plugin},
    )


def _is_paperwork(name: str) -> bool:
    return Path(name).suffix.lower() in _NOT_DELIVERIES


def _without_suffix(name: str) -> str:
    path = Path(name)
    known = path.suffix.lower() in (".txt", ".json") and path.stem.lower().endswith(".ipynb")
    return Path(path.stem).stem if known else path.stem


def _make_names_unique(owners: Iterable[_Owner]) -> None:
    """Dos estudiantes sin número no pueden llamarse igual: al segundo se le añade un número."""
    taken: set[str] = set()
    for owner in owners:
        owner.student = owner.student or "sin nombre"
        if owner.participant is None:
            name, count = owner.student, 1
            while owner.student in taken:
                count += 1
                owner.student = f"{name} ({count})"
            taken.add(owner.student)


# Los cuadernos de cada quien


@dataclass
class _Owner:
    """Quien entrega, y sus archivos."""

    identity: tuple[str, ...]
    student: str
    participant: str | None = None
    folder: str | None = None
    platform: str = ""
    files: list[Delivered] = field(default_factory=list)
    plugins: set[str] = field(default_factory=set)
    spent: int = 0
    archives: int = 0
    found: int = 0

    def entries(self) -> list[Entry]:
        """Da una entrada por cuaderno, o una que dice por qué no hay ninguno."""
        entries: list[Entry] = []
        for file, content in self._contents(self.files, 0):
            self.found += 1
            if self.found > MAX_NOTEBOOKS:
                reason = f"entregó más de {MAX_NOTEBOOKS} cuadernos: los demás no se calificaron"
                return [*entries, self._entry(Delivered(("…",)), reason)]
            entries.append(self._entry(file, content))
        return entries or [self._entry(Delivered(("",)), self._why_nothing())]

    def _entry(self, file: Delivered, content: bytes | str) -> Entry:
        path = "/".join(file.parts)
        mark = short_hash(*self.identity, *file.parts, str(file.number))
        stem = Path(file.parts[-1]).stem
        number = _mark(self.participant) if self.participant else None
        key = _joined(self.student, number, slug(stem, 30), mark)
        source = clean_name(path, 200) or self.student
        where = {"folder": self.folder, "platform": self.platform, "delivered": file.when}
        return Entry(self.student, key, source, content, self.participant, **where)

    def _contents(
        self, files: list[Delivered], depth: int
    ) -> Iterator[tuple[Delivered, bytes | str]]:
        for file in files:
            suffix = Path(file.parts[-1]).suffix.lower()
            try:
                if file.is_folder:
                    continue
                if suffix == ".zip":
                    yield from self._contents(self._inside(file, depth), depth + 1)
                elif suffix == ".ipynb":
                    yield file, self._read(file, MAX_FILE)
                elif (content := self._disguised(file)) is not None:
                    yield file, content
            except FileError as error:
                yield file, str(error)

    def _inside(self, file: Delivered, depth: int) -> list[Delivered]:
        self.archives += 1
        if depth == _MAX_ZIP_DEPTH or self.archives > _MAX_ZIPS:
            raise FileError("hay demasiados ZIP uno dentro de otro: entrega el cuaderno solo")
        return [
            replace(one, parts=(*file.parts, *one.parts), when=file.when)
            for one in inner_files(self._read(file, MAX_STUDENT))
        ]

    def _disguised(self, file: Delivered) -> bytes | None:
        """Da el contenido de un cuaderno que se llama de otro modo; None si no lo es."""
        try:
            start = file.start(64).removeprefix(b"\xef\xbb\xbf").lstrip()
            content = self._read(file, MAX_FILE) if start.startswith(b"{") else b""
        except FileError:
            return None
        is_notebook = b'"cells"' in content and b'"cell_type"' in content
        return content if is_notebook else None

    def _read(self, file: Delivered, limit: int) -> bytes:
        left = MAX_STUDENT - self.spent
        content = file.start(min(limit, left) + 1)
        self.spent += len(content)
        if len(content) > left:
            raise FileError(f"lo entregado pasa de {MAX_STUDENT >> 20} MB en total")
        if len(content) > limit:
            raise FileError(f"el archivo pasa de {limit >> 20} MB: quítale las salidas")
        return content

    def _why_nothing(self) -> str:
        files = [file for file in self.files if not file.is_folder]
        problems = [file.problem for file in files if file.problem]
        names = [clean_name(file.parts[-1], 40) for file in files]
        if problems:
            return problems[0]
        if not files:
            return "la entrega no tiene ningún archivo"
        if self.plugins == {"onlinetext"}:
            return "la entrega es un texto escrito en la página de la tarea, sin ningún cuaderno"
        packed = [name for name in names if Path(name).suffix.lower() in _ARCHIVES]
        if packed:
            needed = "hace falta el cuaderno (.ipynb), o un ZIP que lo tenga"
            return f"la entrega es «{packed[0]}»: {needed}"
        more = f" y {len(names) - 1} más" if len(names) > 1 else ""
        return f"la entrega no tiene ningún cuaderno (.ipynb), sino «{names[0]}»{more}"
