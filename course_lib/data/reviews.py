"""Reseñas con su etiqueta, en el formato de IMDB: archivo comprimido, carpeta o tabla CSV.

El conjunto de IMDB (Maas et al., 2011; 25 000 reseñas de cine para entrenar y 25 000 para evaluar)
se reparte como ``aclImdb_v1.tar.gz`` en https://ai.stanford.edu/~amaas/data/sentiment/. Dentro,
cada reseña es un archivo ``aclImdb/{train,test}/{pos,neg}/NÚMERO_NOTA.txt``. Aquí no se descarga
nada: se lee lo que ya tengas, sin extraerlo. ``write_reviews`` hace uno pequeño, con las opiniones
del curso y la misma disposición.

Un archivo de internet puede venir cortado o hecho para hacer daño. Nunca se escribe en disco lo que
trae, y se rechaza entero si una ruta sale de su carpeta, si hay enlaces o dispositivos, si algo
pesa más de lo que puede pesar una reseña o si la compresión no termina bien.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, Literal

from course_lib.data.opinions import generate_opinions
from course_lib.data.recipes import POSITIVE
from course_lib.files import write_atomically

SPLITS = ("train", "test")
LABELS = {"neg": 0, "pos": 1}
FILE_NAME = re.compile(r"(\d+)_(\d+)\.txt")
LINE_BREAK = re.compile(r"<br\s*/?>")

MEBIBYTE = 2**20
REVIEW_BYTES = MEBIBYTE
HEADER_BYTES = 4096
TOTAL_BYTES = 2048 * MEBIBYTE
MEMBERS = 1_000_000

COLUMNS = {"text": "text", "review": "text", "label": "label", "sentiment": "label"}
COLUMNS |= {"split": "split", "rating": "rating"}
VALUES = {"0": 0, "neg": 0, "negative": 0, "negativa": 0}
VALUES |= {"1": 1, "pos": 1, "positive": 1, "positiva": 1}


@dataclass(frozen=True, slots=True)
class Review:
    """Una reseña.

    Argumentos:
        text: el texto; los «<br />» de IMDB son saltos de línea.
        label: 1 si es positiva y 0 si es negativa.
        rating: la nota, de 1 a 10, si se sabe.
        number: el número que la identifica entre las de su parte y su etiqueta.
    """

    text: str
    label: int
    rating: int | None = None
    number: int = 0


def load_reviews(
    path: str | os.PathLike, split: Literal["train", "test"] = "train"
) -> list[Review]:
    """Lee las reseñas de una parte, primero las negativas y después las positivas, por su número.

    Argumentos:
        path: un ``.tar.gz`` o ``.tgz``, una carpeta (la de IMDB, o la que la contiene) o un
            ``.csv`` con las columnas «text» (o «review») y «label» (o «sentiment»). Si el CSV no
            tiene columna «split», todas sus filas cuentan.
        split: "train" o "test".

    Devuelve:
        Las reseñas. Se pasan por alto las carpetas ``unsup`` y todo lo que no es de esa parte.

    Errores:
        FileNotFoundError: si no hay nada en esa ruta.
        ValueError: si el archivo no es de fiar, está cortado o no tiene la disposición esperada.
    """
    path = Path(path)
    if split not in SPLITS:
        raise ValueError(f'split: se esperaba "train" o "test" y llegó {split!r}.')
    if not path.exists():
        raise FileNotFoundError(
            f"No hay nada en «{path}». El conjunto de IMDB se consigue en "
            "https://ai.stanford.edu/~amaas/data/sentiment/ (aclImdb_v1.tar.gz)."
        )
    if path.is_file() and path.suffix.lower() == ".csv":
        reviews = list(_from_csv(path, split))
    else:
        reviews = list(_from_files(path, split))
    _require_both_labels(reviews, path, split)
    return sorted(reviews, key=lambda review: (review.label, review.number))


def _require_both_labels(reviews: list[Review], path: Path, split: str) -> None:
    missing = [name for name, label in LABELS.items() if all(r.label != label for r in reviews)]
    if missing:
        expected = f"archivos como {split}/pos/12_9.txt (número y nota)"
        if path.suffix.lower() == ".csv" and path.is_file():
            expected = f"filas de las dos etiquetas y, si hay columna «split», con «{split}»"
        raise ValueError(
            f"«{path}» no tiene reseñas «{'» ni «'.join(missing)}» en la parte «{split}». Se "
            f"esperaban {expected}; ¿está completo?"
        )


# --------------------------------------------------------------------------- archivos de reseñas


def _from_files(path: Path, split: str) -> Iterator[Review]:
    """Da las reseñas de un archivo comprimido o de una carpeta: las dos tienen las mismas rutas."""
    files = _folder_files(path, split) if path.is_dir() else _archive_files(path, split)
    seen = set()
    for name, content in files:
        label, number, rating = parse_review_path(name)
        if (label, number) in seen:
            raise ValueError(
                f"«{path}» trae dos veces la reseña {name}; bórralo y consíguelo otra vez."
            )
        seen.add((label, number))
        yield Review(_decode(content, f"{path}: {name}"), label, rating, number)


def parse_review_path(name: str) -> tuple[int, int, int]:
    """Lee lo que dice la ruta de una reseña: «test/pos/12_9.txt» → etiqueta 1, número 12, nota 9.

    Errores:
        ValueError: si la ruta no tiene esa forma o la nota contradice a la carpeta.
    """
    *_, folder, file = ("", *PurePosixPath(name).parts)
    match = FILE_NAME.fullmatch(file)
    if folder not in LABELS or match is None or not 1 <= int(match[2]) <= 10:
        raise ValueError(
            f"Se esperaba una ruta como test/pos/12_9.txt (número y nota de 1 a 10) y llegó "
            f"«{name}»."
        )
    label, rating = LABELS[folder], int(match[2])
    if (rating > 5) != bool(label):
        raise ValueError(
            f"La nota {rating} de «{name}» contradice a su carpeta: «pos» es más de 5 y «neg», 5 o "
            "menos. ¿Se movió el archivo?"
        )
    return label, int(match[1]), rating


def _is_review(name: str, split: str) -> bool:
    """Dice si una ruta es de una reseña de esa parte: «…/train/pos/algo»."""
    parts = PurePosixPath(name).parts
    return len(parts) >= 3 and parts[-3] == split and parts[-2] in LABELS and parts[-1][0] != "."


def _decode(content: bytes, where: str) -> str:
    try:
        return LINE_BREAK.sub("\n", content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where} no es texto UTF-8 (byte {error.start}); ¿se guardó con otra codificación?"
        ) from error


def _folder_files(path: Path, split: str) -> Iterator[tuple[str, bytes]]:
    root = path / "aclImdb" if (path / "aclImdb").is_dir() else path
    for label in LABELS:
        folder = root / split / label
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = file.relative_to(root).as_posix()
            if not _is_review(name, split):
                continue
            if file.is_symlink() or not file.is_file():
                raise ValueError(
                    f"«{file}» no es un archivo común: quita enlaces y carpetas de ahí."
                )
            _require_size(name, file.stat().st_size)
            yield name, file.read_bytes()


def _archive_files(path: Path, split: str) -> Iterator[tuple[str, bytes]]:
    try:
        with (
            _BoundedGzip(path) as stream,
            tarfile.open(fileobj=stream, mode="r:") as archive,
        ):
            for member in _trusted_members(archive):
                if member.isfile() and _is_review(member.name, split):
                    yield member.name, _read(stream, member)
            stream.require_clean_end()
    except gzip.BadGzipFile as error:
        raise ValueError(
            f"«{path}» no es un archivo .tar.gz, o está dañado; se esperaba eso, una carpeta o un "
            ".csv. Consíguelo otra vez."
        ) from error
    except (EOFError, zlib.error, tarfile.TarError, RecursionError) as error:
        raise ValueError(
            f"«{path}» está cortado o dañado: la descarga no terminó bien. Bórralo y consíguelo "
            f"otra vez ({error})."
        ) from error


class _BoundedGzip(gzip.GzipFile):
    """Un gzip que desconfía de las cabeceras y sabe si el tar de dentro terminó como debe."""

    last = b""

    def read(self, size: int | None = -1) -> bytes:
        """Lee una cabecera: `tarfile` tarda lo que el cuadrado del largo en entender una rara."""
        if size is None or not 0 <= size <= HEADER_BYTES:
            raise ValueError(f"El archivo trae una cabecera de más de {HEADER_BYTES} bytes.")
        self.last = super().read(size)
        return self.last

    def read_content(self, size: int) -> bytes:
        """Lee lo que sigue a una cabecera; el tamaño ya se comprobó."""
        return super().read(size)

    def require_clean_end(self) -> None:
        """Exige el bloque de ceros con que termina un tar, y la suma con que termina un gzip.

        Ante una cabecera cortada o estropeada a mitad de camino, `tarfile` se detiene sin avisar.
        """
        if self.last != bytes(tarfile.BLOCKSIZE):
            raise EOFError("falta el final")
        left = 0
        while chunk := self.read_content(MEBIBYTE):
            left += len(chunk)
            if chunk.strip(b"\0") or left > MEBIBYTE:
                raise EOFError("hay datos después del final")


def _trusted_members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Recorre el archivo y se detiene ante lo que un conjunto de reseñas no tiene por qué traer."""
    total = 0
    for count, member in enumerate(archive, start=1):
        total += member.size
        parts = PurePosixPath(member.name.replace("\\", "/")).parts
        if member.name.startswith(("/", "\\")) or ".." in parts or ":" in member.name:
            raise ValueError(f"El archivo trae la ruta «{member.name}», que sale de su carpeta.")
        if not (member.isfile() or member.isdir()) or member.issparse() or member.size < 0:
            raise ValueError(f"El archivo trae «{member.name}», que es un enlace o un dispositivo.")
        if count > MEMBERS or total > TOTAL_BYTES:
            raise ValueError(
                f"El archivo trae más de {MEMBERS} elementos o de {TOTAL_BYTES // MEBIBYTE} MiB: "
                "no parece un conjunto de reseñas."
            )
        yield member


def _read(stream: _BoundedGzip, member: tarfile.TarInfo) -> bytes:
    _require_size(member.name, member.size)
    stream.seek(member.offset_data)
    content = stream.read_content(member.size)
    if len(content) < member.size:
        raise EOFError(f"falta parte de {member.name}")
    return content


def _require_size(name: str, size: int) -> None:
    if size > REVIEW_BYTES:
        raise ValueError(f"{name} pesa {size} bytes; una reseña no pasa de {REVIEW_BYTES}.")


# --------------------------------------------------------------------------- CSV


def _from_csv(path: Path, split: str) -> Iterator[Review]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            names = [COLUMNS.get(name.strip().lower()) for name in next(rows, [])]
            if not {"text", "label"} <= set(names):
                raise ValueError(
                    f"La primera línea de «{path}» debe nombrar las columnas «text» y «label» (o "
                    "«review» y «sentiment»)."
                )
            for number, cells in enumerate(filter(None, rows), start=1):
                row = dict(zip(names, cells, strict=False))
                _require_row(path, number, row, len(cells) == len(names))
                if row.get("split", split).strip().lower() == split:
                    yield _from_row(row, number)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"«{path}» está cortado, o no es un CSV en UTF-8 ({error}).") from error


def _require_row(path: Path, number: int, row: dict, complete: bool) -> None:
    if complete and row["label"].strip().lower() in VALUES:
        return
    raise ValueError(
        f"La fila {number} de «{path}» no sirve: faltan o sobran columnas, o su etiqueta no es "
        f"una de {', '.join(VALUES)}."
    )


def _from_row(row: dict, number: int) -> Review:
    rating = row.get("rating", "")
    label = VALUES[row["label"].strip().lower()]
    rated = int(rating) if rating.isdecimal() else None
    return Review(LINE_BREAK.sub("\n", row["text"]), label, rated, number)


# --------------------------------------------------------------------------- escritura


def write_reviews(
    path: str | os.PathLike, *, train: int = 2000, test: int = 500, seed: int = 0
) -> Path:
    """Escribe opiniones del curso con la disposición de IMDB; o queda entero, o no queda nada.

    Las de ``test`` son de los armazones apartados (`generate_opinions(held_out=True)`). El número
    de cada reseña es su lugar en lo que da `generate_opinions`.

    Argumentos:
        path: termina en ``.tar.gz``.
        train, test: cuántas opiniones en cada parte.
        seed: semilla de las opiniones.

    Devuelve:
        La ruta escrita.

    Errores:
        ValueError: si no es un ``.tar.gz`` o los números no son enteros mayores o iguales que 0.
    """
    path = Path(path)
    if not path.name.lower().endswith((".tar.gz", ".tgz")):
        raise ValueError(f"path: se esperaba un .tar.gz y llegó «{path}».")
    parts = {
        "train": _as_reviews(generate_opinions(train, seed)),
        "test": _as_reviews(generate_opinions(test, seed, held_out=True)),
    }
    write_atomically(path, _archive_bytes(parts))
    return path


def _as_reviews(opinions: Iterable[Any]) -> list[Review]:
    """Pone a cada opinión una nota: de 7 a 10 las positivas y de 1 a 4 las negativas."""
    random, reviews = Random(0), []
    for number, opinion in enumerate(opinions):
        positive = opinion.sentiment == POSITIVE
        rating = (7 if positive else 1) + int(4 * random.random())
        reviews.append(Review(opinion.text, int(positive), rating, number))
    return reviews


def _files(parts: dict[str, list[Review]]) -> Iterator[tuple[str, bytes]]:
    for split, reviews in parts.items():
        for review in reviews:
            folder = "pos" if review.label else "neg"
            name = f"aclImdb/{split}/{folder}/{review.number}_{review.rating}.txt"
            yield name, review.text.encode("utf-8")


def _archive_bytes(parts: dict[str, list[Review]]) -> bytes:
    """Arma el .tar.gz, igual byte a byte en cada ejecución: sin fechas ni dueños."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w:") as archive,
    ):
        for name, content in _files(parts):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()
