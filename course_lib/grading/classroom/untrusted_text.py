"""Textos ajenos: leerlos y dejarlos sin peligro para el sitio al que van.

Un nombre, un archivo o un mensaje lo escribió quien entrega, y puede traer cualquier cosa: acentos
en otra codificación, saltos de línea, marcas que invierten el orden de lectura, letras con cien
acentos, fórmulas, HTML. Aquí se limpian, para un nombre, para una página o para una celda; con
ellos no se abre nada.
"""

from __future__ import annotations

import hashlib
import html
import re
import unicodedata

import regex

from course_lib._extras import extra
from course_lib.judging import display

with extra("teacher"):
    from markupsafe import Markup, escape

_ENCODINGS = ("cp437", "cp1252", "cp850")

# Sin ancho: cambian cómo se lee lo que los rodea. Quedan los dos que unen y separan letras.
_HIDDEN = regex.compile(r"[\p{Cf}--[\u200c\u200d]]", regex.V1)
_UNSEEN = regex.compile(r"[\p{Cc}\p{Cs}\p{Co}\p{Cn}]")
_STACKED = regex.compile(r"(\p{M}{4})\p{M}+")
_SHAPE = re.compile(r"\((?:\d+, )*\d+,?\)")
_LINE = re.compile(r"^(.*) \(línea (\d+): (.*)\)(.*)$")

# Lo que una hoja de cálculo puede tomar por el comienzo de una fórmula, también detrás de un
# separador: si no es el que ella espera, parte las celdas por otro sitio. Las formas anchas valen
# igual en algunos idiomas.
_START, _SIGN = r"""((?:^|[;,|\t\r\n"'])\s*)""", r"=+\-@＝＋－＠"
_FORMULA = re.compile(rf"{_START}([{_SIGN}])")
_FORMULAS = re.compile(rf"{_START}([{_SIGN}][{_SIGN}\s]*)")
# El lector de CSV de PHP no cierra una celda con unas comillas que sigan a una barra invertida.
_BACKSLASH = re.compile(r'\\(?="|$)')


# Un nombre


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


def clean_name(text: str, limit: int = 120) -> str:
    """Deja un nombre en una línea visible: sin controles, sin marcas de dirección y sin excesos."""
    # Ordenar los sesenta mil acentos que caben en el nombre de un miembro de un ZIP tarda segundos.
    text = text[: 8 * limit].encode("utf-8", "replace").decode()
    text = unicodedata.normalize("NFC", text)
    words = " ".join("".join(map(_seen, text)).split())
    return words if len(words) <= limit else words[: limit - 1].rstrip() + "…"


def _seen(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Cc" or category[0] == "Z":
        return " "
    return "" if category[0] == "C" else character


def slug(text: str, limit: int = 40) -> str:
    """Escribe un nombre con letras ASCII minúsculas, cifras y guiones; puede quedar vacío."""
    plain = unicodedata.normalize("NFKD", text[: 8 * limit]).encode("ascii", "ignore")
    plain = plain.decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:limit].strip("-")


def short_hash(*parts: str, digits: int = 8) -> str:
    """Resume unos textos en cifras hexadecimales, iguales en cada ejecución."""
    content = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()[:digits]


# Una página: el HTML lo escapa la plantilla, y esto quita lo que el escape deja pasar


def visible(text: object, limit: int = 300) -> str:
    """Deja un texto ajeno en una línea que se ve entera, de `limit` caracteres a lo sumo."""
    line = re.sub(r"\s+", " ", str(text)[: 4 * limit]).strip()
    line = _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", _HIDDEN.sub("", line))
    line = _STACKED.sub(r"\1", line)
    return line if len(line) <= limit else line[: limit - 1] + "…"


def visible_block(text: str, limit: int = 8000) -> str:
    """Deja un texto ajeno de varias líneas, como código, con sus sangrías y sin nada oculto."""
    lines = text[:limit].expandtabs(4).splitlines()
    shown = (_STACKED.sub(r"\1", _HIDDEN.sub("", line)) for line in lines)
    marked = (_UNSEEN.sub("\N{REPLACEMENT CHARACTER}", line).rstrip() for line in shown)
    return "\n".join(marked) + ("…" if len(text) > limit else "")


def unbroken(text: str) -> str:
    """Deja cada forma, como `(2, 5, 3)`, en una sola línea de la página."""
    return _SHAPE.sub(lambda shape: shape[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


def sentence(text: str) -> str:
    """Escribe un mensaje como oración: con mayúscula, si empieza por una palabra, y con punto."""
    return display.as_sentence(unbroken(visible(text, 1200)))


def hint_html(hint: str) -> Markup:
    """Da el HTML de una pista del curso, que es Markdown de una línea; lo demás va escapado."""
    return Markup(display.inline_html(sentence(hint)))


def message_html(message: str) -> Markup:
    """Da el HTML de lo que falla: la línea del estudiante, si la hay, va como código."""
    found = _LINE.match(visible(message, 1200))
    if found is None:
        return escape(sentence(message))
    said, number, source, rest = found.groups()
    start = escape(sentence(f"{said}{rest}"))
    return start + Markup(" En la línea {} de su celda: <code>{}</code>").format(number, source)


# Una celda de una hoja de cálculo


def plain_cell(text: str) -> str:
    """Deja un texto ajeno como texto: ninguna hoja de cálculo lo toma por una fórmula."""
    return _BACKSLASH.sub(r"\\ ", _FORMULA.sub(r"\1'\2", text))


def html_cell(text: str) -> str:
    """Escapa un texto ajeno para el HTML que va en una celda, sin fórmulas ni etiquetas."""
    return _FORMULAS.sub(
        lambda found: found[1] + re.sub(r"\S", lambda sign: f"&#{ord(sign[0])};", found[2]),
        html.escape(text),
    )
