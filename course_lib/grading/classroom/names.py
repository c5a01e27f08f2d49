"""Nombres ajenos: leerlos, limpiarlos y hacer con ellos un nombre de archivo seguro.

Un nombre de archivo, o el de una persona, puede traer cualquier cosa: acentos en otra codificación,
saltos de línea, marcas que invierten el texto, rutas. Aquí solo se leen; con ellos no se abre nada.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

MAX_SHOWN = 120
_ENCODINGS = ("cp437", "cp1252", "cp850")

# Moodle llama NOMBRE_NÚMERO_assignsubmission_TIPO a lo de cada participante (4.1 y posteriores), o
# lo mismo con un guion bajo al final (3.1 a 4.0); sin carpetas, sigue el nombre del archivo. El
# NOMBRE pierde sus guiones bajos, y el NÚMERO falta en un equipo por omisión:
# mod/assign/classes/downloader.php (get_student_prefix), y antes mod/assign/locallib.php.
_MOODLE = re.compile(
    r"(?P<name>.+?)(?:_(?P<number>[0-9]{1,18}))?_assignsubmission_(?P<plugin>[a-z]+)"
    r"(?:_(?P<rest>.*))?",
    re.DOTALL,
)
# Con entregas anónimas, el nombre es «Participante» en el idioma del sitio.
_ANONYMOUS = re.compile(r"(?P<word>Participante?|)\s*(?P<number>[0-9]{1,18})?", re.IGNORECASE)
_UNSAFE = re.compile(r'[\\/:*?"<>|_]')


@dataclass(frozen=True)
class MoodleName:
    """Lo que dice un nombre del ZIP de Moodle.

    Argumentos:
        student: el nombre de la persona o del equipo; «Participante 12» si es anónima.
        number: el número del participante, o None.
        plugin: por dónde se entregó: `file`, `onlinetext`…
        rest: el nombre del archivo, si no venía en una carpeta.
        folder: la carpeta con la que Moodle reconoce la retroalimentación, o None.
    """

    student: str
    number: str | None
    plugin: str
    rest: str
    folder: str | None


def parse_moodle_name(text: str) -> MoodleName | None:
    """Lee el nombre de una carpeta o de un archivo del ZIP de Moodle; None si no lo es."""
    match = _MOODLE.fullmatch(text)
    if match is None:
        return None
    name, number = clean_name(match["name"].replace("_", " ")), match["number"]
    anonymous = _ANONYMOUS.fullmatch(name)
    if anonymous is not None:
        number = number or anonymous["number"]
        word = anonymous["word"] or "Participante"
        name, student = word, f"{word} {number}" if number else word
    else:
        student = name
    folder = feedback_folder(name, number) if number else None
    return MoodleName(student, number, match["plugin"], match["rest"] or "", folder)


def feedback_folder(name: str, number: str) -> str:
    """Da la carpeta con la que Moodle reconoce de quién es un archivo de retroalimentación.

    Su lector (mod/assign/feedback/file/importziplib.php) la parte por los guiones bajos y espera
    el número en el segundo trozo; el guion bajo final es el que piden las versiones 3.1 a 4.0.
    """
    safe = clean_name(_UNSAFE.sub(" ", name)) or "Participante"
    return f"{safe}_{number}_assignsubmission_file_"


def decode_name(raw: bytes) -> str:
    """Lee los bytes de un nombre que no dice su codificación: UTF-8, o la que dé más acentos."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        read = [raw.decode(encoding, "replace") for encoding in _ENCODINGS]
        return max(read, key=lambda text: sum(map(_is_accented, text)))


def _is_accented(character: str) -> bool:
    base = unicodedata.normalize("NFD", character)
    return len(base) > 1 and base[0].isascii() and base[0].isalpha()


def clean_name(text: str, limit: int = MAX_SHOWN) -> str:
    """Deja un nombre en una línea visible: sin controles, sin marcas de dirección y sin excesos."""
    text = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    words = " ".join("".join(map(_visible, text)).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cc" or category[0] == "Z":
        return " "
    return "" if category[0] == "C" else character


def slug(text: str, limit: int = 40) -> str:
    """Escribe un nombre con letras ASCII minúsculas, cifras y guiones; puede quedar vacío."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-")


def short_hash(*parts: str, digits: int = 8) -> str:
    """Resume unos textos en cifras hexadecimales, iguales en cada ejecución."""
    content = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:digits]
