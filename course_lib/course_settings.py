"""Lo que un curso cambia sin tocar el código: su nombre, su logotipo, su escala, sus temas.

Está en `course.toml`, que no es obligatorio: sin él, todo queda como viene.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from course_lib.scales import SCALES, LatePolicy, LetterScale, NumberScale, Scale

COURSE_FILE = "course.toml"
SITE_MARK = "course.txt"
"""El archivo del sitio que dice con qué curso se hizo."""
_PACKAGE = Path(__file__).parent
_MAX_LOGO = 200_000
_PNG = b"\x89PNG\r\n\x1a\n"
_EMAIL = re.compile(r"[^@\s<>\"']+@[^@\s<>\"']+\.[^@\s<>\"']+")
_WEB = re.compile(r"https?://[^\s<>\"']+")


class CourseSettingsError(ValueError):
    """`course.toml` no se puede usar; el mensaje dice qué se esperaba, qué llegó y qué hacer."""


@dataclass(frozen=True)
class CourseSettings:
    """Cómo es un curso.

    Argumentos:
        name: cómo se llama.
        institution: quién lo da; vacío si no se dice.
        logo: su logotipo, un SVG o un PNG; None si es el que viene.
        contact: un correo o una dirección donde preguntar; vacío si no se dice.
        topics: los temas que tiene, en el orden en que se dijeron; vacío si son todos.
        own_topics: la carpeta de los temas propios, con sus `solutions/` y `exercises/`; None si no
            tiene.
        keep: las páginas que sí tiene, aunque sean de un tema que no está.
        leave_out: las páginas del libro que tampoco tiene, aunque no sean de ningún tema.
        scale: en qué escala se ve la nota; None si solo se ven puntos.
        late: lo que se descuenta por entregar tarde; None si nada.
    """

    name: str = "Atención y Transformers"
    institution: str = ""
    logo: Path | None = None
    contact: str = ""
    topics: tuple[str, ...] = ()
    own_topics: Path | None = None
    keep: tuple[str, ...] = ()
    leave_out: tuple[str, ...] = ()
    scale: Scale | None = None
    late: LatePolicy | None = None

    @property
    def contact_link(self) -> str:
        """La dirección del enlace con que se pregunta."""
        return f"mailto:{self.contact}" if _EMAIL.fullmatch(self.contact) else self.contact

    def includes(self, topic: str) -> bool:
        """Si el curso tiene ese tema."""
        return not self.topics or topic in self.topics

    @property
    def site_mark(self) -> str:
        """Distingue el sitio de este curso del que se haría con otro `course.toml`."""
        logo = self.logo.read_bytes() if self.logo else b""
        pages = (sorted(self.topics), sorted(self.keep), sorted(self.leave_out))
        told = repr((self.name, self.institution, self.contact, pages, logo))
        return hashlib.sha256(told.encode()).hexdigest()[:16]

    @cached_property
    def absent_chapters(self) -> frozenset[str]:
        """Los que no tiene: los de los temas que faltan, menos `keep`, y los de `leave_out`."""
        topics = {own: chapters_of(own) for own in known_topics()}
        out = {page for own, pages in topics.items() if not self.includes(own) for page in pages}
        kept = {page for own, pages in topics.items() if self.includes(own) for page in pages}
        return frozenset(out - kept - set(self.keep) | set(self.leave_out))


AS_IT_COMES = CourseSettings()
"""El curso sin `course.toml`."""


def find_course_settings(path: Path | None = None) -> CourseSettings:
    """Lee el `course.toml` que se nombra, el de esta carpeta (o una de encima) o el del proyecto.

    Errores:
        CourseSettingsError: no se puede leer, o hay en él algo que no vale.
    """
    if path is not None:
        return read_course_settings(path)
    here = Path.cwd()
    folders = (each for each in (here, *here.parents) if (each / COURSE_FILE).is_file())
    return settings_in(next(folders, _PACKAGE.parent))


def settings_in(folder: Path) -> CourseSettings:
    """Lee el `course.toml` de una carpeta; si no hay, da el curso como viene.

    Errores:
        CourseSettingsError: no se puede leer, o hay en él algo que no vale.
    """
    path = folder / COURSE_FILE
    return read_course_settings(path) if path.is_file() else AS_IT_COMES


def known_topics(own: Path | None = None) -> list[str]:
    """Los temas que se saben corregir.

    Argumentos:
        own: la carpeta de los temas propios, que se suman a los del curso.
    """
    topics = {path.stem for path in (_PACKAGE / "judging" / "exercises").glob("*.json")}
    if own is not None:
        topics |= {path.parent.name for path in (own / "solutions").glob("*/*.md")}
    return sorted(topics)


def chapters_of(topic: str) -> set[str]:
    """El que se llama como el tema, y aquellos de los que son sus ejercicios."""
    path = _PACKAGE / "judging" / "exercises" / f"{topic}.json"
    exercises = json.loads(path.read_text(encoding="utf-8"))["exercises"]
    pages = {each["section"]["page"] for each in exercises if "section" in each}
    return {topic, *pages} - {""}


def read_course_settings(path: Path) -> CourseSettings:
    """Lee un `course.toml`.

    Errores:
        CourseSettingsError: no se puede leer, o hay en él algo que no vale.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    except OSError as error:
        raise CourseSettingsError(f"No se puede leer «{path}»: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise CourseSettingsError(f"«{path}» no está en UTF-8: guárdalo así.") from None
    except tomllib.TOMLDecodeError as error:
        raise CourseSettingsError(_why_not_toml(path, str(error))) from None
    try:
        return _settings(found, path)
    except CourseSettingsError as error:
        raise CourseSettingsError(f"«{path}», {error}") from None


_SLIPS = (
    (re.compile("[“”«»]"), 'las comillas de TOML son rectas, así: "texto"'),
    (re.compile(r"\d,\d"), "los decimales se escriben con punto"),
    (re.compile(r"\\"), "en las rutas, usa / y no \\"),
    (re.compile(r"\{[^\"}]*[+−-]\s*="), 'una letra con signo va entre comillas, como "A+" = 90'),
    (re.compile(r"\[[^\]]*\"\s+\""), "entre un elemento de la lista y otro va una coma"),
)
"""Lo que más se escribe mal en un TOML, y cómo se escribe."""


def _why_not_toml(path: Path, told: str) -> str:
    """Dice dónde deja un archivo de ser TOML, y qué pudo pasar."""
    where = re.search(r"line (\d+)", told)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    line = lines[int(where[1]) - 1] if where and int(where[1]) <= len(lines) else ""
    usual = "se esperaba `clave = valor`, con los textos entre comillas"
    hints = [hint for slip, hint in _SLIPS if slip.search(line)]
    if "overwrite" in told:
        hints = ["esa clave está dos veces"]
    place = f" en la línea {where[1]}, «{line.strip()[:60]}»" if where else " al final"
    return f"«{path}» no es TOML{place}: {hints[0] if hints else usual}."


def _settings(found: dict[str, Any], path: Path) -> CourseSettings:
    for key in found:
        if key not in (*_READERS, *_TOPIC_READERS, *_SCALE_KEYS):
            known = ", ".join((*_READERS, *_TOPIC_READERS, *_SCALE_KEYS))
            raise CourseSettingsError(
                f"`{key}`: no es ninguna de las claves, que son {known}. Corrígela o quítala."
            )
    read = {key: _READERS[key](found[key], path) for key in found if key in _READERS}
    known = known_topics(read.get("own_topics"))
    read |= {key: _TOPIC_READERS[key](found[key], known) for key in found if key in _TOPIC_READERS}
    if both := set(read.get("keep", ())) & set(read.get("leave_out", ())):
        raise _wrong("keep", "que ninguna página estuviera también en `leave_out`", min(both))
    return CourseSettings(**read, scale=_read_scale(found))


def _wrong(key: str, expected: str, came: object) -> CourseSettingsError:
    return CourseSettingsError(f"`{key}`: se esperaba {expected}, y llegó {_shown(came)}.")


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal | int):
        return str(value)
    if isinstance(value, str):
        return f"«{value[:60]}»"
    return {list: "una lista", dict: "una tabla"}.get(type(value), "una fecha")


# Quién lo da, y qué tiene


def _text(key: str) -> Callable[[object, Path], str]:
    def read(value: object, path: Path) -> str:
        if isinstance(value, str) and 0 < len(value.strip()) <= 80 and value.isprintable():
            return value.strip()
        raise _wrong(key, "un texto de una línea, de 1 a 80 letras", value)

    return read


def _contact(value: object, path: Path) -> str:
    known = isinstance(value, str) and (_EMAIL.fullmatch(value) or _WEB.fullmatch(value))
    if known and len(value) <= 200:
        return value
    raise _wrong("contact", "un correo o una dirección (https://…)", value)


def _logo(value: object, path: Path) -> Path:
    if not isinstance(value, str) or not value.lower().endswith((".svg", ".png")):
        raise _wrong("logo", "el nombre de un archivo .svg o .png", value)
    logo, here = (path.parent / value).resolve(), path.parent.resolve()
    if not logo.is_relative_to(here):
        raise _wrong("logo", f"un archivo que esté en «{here}» o en sus carpetas", value)
    if not logo.is_file():
        raise CourseSettingsError(f"`logo`: no existe «{logo}». Ponlo ahí o corrige el nombre.")
    content = logo.read_bytes()
    if len(content) > _MAX_LOGO:
        many = f"uno de {len(content) // 1000} kB"
        raise CourseSettingsError(
            f"`logo`: se esperaba un archivo de {_MAX_LOGO // 1000} kB a lo sumo, porque va dentro "
            f"de cada página, y llegó {many}. Simplifícalo."
        )
    if not _is_drawing(content):
        raise _wrong("logo", "un PNG, o un dibujo SVG con su `viewBox`", value)
    return logo


def logo_svg(logo: Path) -> str:
    """Un logotipo como dibujo SVG: si es un PNG, con él dentro."""
    content = logo.read_bytes()
    if not content.startswith(_PNG):
        return content.decode("utf-8")
    width, height = struct.unpack_from(">II", content, 16)  # en IHDR, que va siempre primero
    size, href = f'width="{width}" height="{height}"', base64.b64encode(content).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {size}>'
        f'<image {size} href="data:image/png;base64,{href}"/></svg>'
    )


def _is_drawing(content: bytes) -> bool:
    if content.startswith(_PNG):
        return content[12:16] == b"IHDR" and len(content) > 24
    try:
        drawing = ET.fromstring(content) if b"<!ENTITY" not in content else None
    except ET.ParseError:
        return False
    return drawing is not None and drawing.tag.endswith("svg") and "viewBox" in drawing.attrib


def _own_topics(value: object, path: Path) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise _wrong("own_topics", "el nombre de una carpeta, como «mis_temas»", value)
    folder = (path.parent / value).resolve()
    if folder.exists() and not folder.is_dir():
        raise _wrong("own_topics", "una carpeta", value)
    if folder == _PACKAGE.parent:
        expected = "una carpeta que no fuera la del curso, donde ya están los suyos"
        raise _wrong("own_topics", expected, value)
    ours = known_topics()
    sources = sorted(each.parent.name for each in (folder / "solutions").glob("*/*.md"))
    if taken := [topic for topic in sources if topic in ours]:
        told = f"«{taken[0]}» ya es un tema del curso; a la carpeta «{folder / 'solutions'}"
        raise CourseSettingsError(f"`own_topics`: {told}/{taken[0]}» ponle otro nombre.")
    return folder


def _topics(value: object, known: list[str]) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise _wrong("topics", f"una lista con alguno de estos temas: {', '.join(known)}", value)
    for each in value:
        if each not in known:
            raise _wrong("topics", f"que cada tema fuera uno de {', '.join(known)}", each)
        if value.count(each) > 1:
            raise _wrong("topics", "cada tema una sola vez", each)
    return tuple(value)


def _pages(key: str) -> Callable[[object, Path], tuple[str, ...]]:
    def read(value: object, path: Path) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise _wrong(key, "una lista de páginas del libro, como whole_models", value)
        for each in value:
            if not isinstance(each, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", each):
                raise _wrong(key, "el nombre de una página del libro, como whole_models", each)
        return tuple(value)

    return read


def _late(value: object, topics: list[str]) -> LatePolicy:
    known = {"due", "per_day", "grace", "maximum"}
    if not isinstance(value, dict) or not {"due", "per_day"} <= set(value) <= known:
        raise _wrong(
            "late", "una tabla con `due` y `per_day`, y si acaso `grace` y `maximum`", value
        )
    hundred = Decimal(100)
    per_day = _number("late.per_day", value["per_day"], Decimal(0), hundred)
    grace = _number("late.grace", value.get("grace", 0), Decimal(0), Decimal(1000))
    maximum = _number("late.maximum", value.get("maximum", 100), Decimal(0), hundred)
    if not isinstance(value["due"], dict) or not value["due"]:
        example = "la fecha de cada tema, como `due = { attention = 2026-03-16T23:59:00 }`"
        raise _wrong("late.due", example, value["due"])
    named = _topics(list(value["due"]), topics)
    due = {topic: _moment(f"late.due.{topic}", value["due"][topic]) for topic in named}
    return LatePolicy(due, per_day, grace, maximum)


def _moment(key: str, value: object) -> datetime:
    """Una fecha de TOML en la hora de esta computadora; un día solo acaba a medianoche."""
    if isinstance(value, datetime):
        return value.astimezone().replace(tzinfo=None) if value.tzinfo else value
    if isinstance(value, date):
        return datetime.combine(value, time.max)
    raise _wrong(key, "una fecha sin comillas, como 2026-03-16T23:59:00", value)


_READERS: dict[str, Callable[[Any, Path], Any]] = {
    "name": _text("name"),
    "institution": _text("institution"),
    "logo": _logo,
    "contact": _contact,
    "own_topics": _own_topics,
    "keep": _pages("keep"),
    "leave_out": _pages("leave_out"),
}
_TOPIC_READERS: dict[str, Callable[[Any, list[str]], Any]] = {"topics": _topics, "late": _late}
"""Lo que nombra temas, que se lee cuando se sabe cuáles hay."""


# La escala

_SCALE_KEYS = ("scale", "passing", "passing_at", "minimum", "letters")


def _read_scale(found: Mapping[str, Any]) -> Scale | None:
    """La escala que se pide, con lo que se cambia de ella."""
    told = {key: found[key] for key in _SCALE_KEYS[1:] if key in found}
    name = found.get("scale")
    if name is None:
        if told:
            key, value = next(iter(told.items()))
            raise _wrong(key, "que antes se dijera la escala con `scale`", value)
        return None
    if not isinstance(name, str) or name not in SCALES:
        raise _wrong("scale", f"una de estas: {', '.join(SCALES)}", name)
    scale = SCALES[name]
    return _letters(scale, told) if isinstance(scale, LetterScale) else _numbers(scale, told)


def _numbers(scale: NumberScale, told: dict[str, Any]) -> NumberScale:
    if "letters" in told:
        raise _wrong("letters", "que `scale` fuera «letters»", scale.name)
    ends = (scale.lowest, scale.highest)
    read = {k: _number(k, told[k], *ends) for k in ("passing", "minimum") if k in told}
    if "passing_at" in told:
        read["passing_at"] = _number("passing_at", told["passing_at"], Decimal(1), Decimal(99))
    scale = replace(scale, **read)
    if scale.passing_at is not None and scale.passing is None:
        expected = "que también se dijera con cuánto se aprueba, en `passing`"
        raise _wrong("passing_at", expected, told["passing_at"])
    _require_some_fail(scale)
    return scale


def _require_some_fail(scale: NumberScale) -> None:
    """Quien no tiene ningún punto no aprueba."""
    if scale.passing is None:
        return
    if scale.passing <= scale.lowest:
        raise _wrong("passing", f"un número mayor que {scale.lowest}", scale.passing)
    if scale.minimum is not None and scale.minimum >= scale.passing:
        expected = (
            f"la nota de quien no tiene ningún punto, menor que la de aprobar ({scale.passing}); "
            f"con cuánto se aprueba se dice en `passing`"
        )
        raise _wrong("minimum", expected, scale.minimum)


def _number(key: str, value: object, least: Decimal, most: Decimal) -> Decimal:
    is_number = isinstance(value, Decimal | int) and not isinstance(value, bool)
    if is_number and Decimal(value).is_finite() and least <= value <= most:
        return Decimal(value)
    raise _wrong(key, f"un número de {least} a {most}", value)


def _letters(scale: LetterScale, told: dict[str, Any]) -> LetterScale:
    for key in ("minimum", "passing_at"):
        if key in told:
            raise _wrong(key, "que la escala fuera de números; con letras no se usa", told[key])
    letters = scale.letters
    if "letters" in told:
        letters = _letter_table(told["letters"])
        scale = LetterScale(letters)
    passing = told.get("passing", scale.passing)
    if passing is not None and not (isinstance(passing, str) and passing in letters):
        raise _wrong("passing", f"una de las letras: {', '.join(letters)}", passing)
    return replace(scale, passing=passing)


def _letter_table(value: object) -> dict[str, Decimal]:
    if not isinstance(value, dict) or not value:
        raise _wrong("letters", "una tabla, como `letters = { A = 90, B = 70, C = 0 }`", value)
    hundred = Decimal(100)
    read = {k: _number(f"letters.{k}", v, Decimal(0), hundred) for k, v in value.items()}
    if fractions := [v for v in read.values() if 0 < v < 1]:
        raise _wrong("letters", "porcentajes, como 90", min(fractions))
    if not all(letter.strip() for letter in read):
        raise _wrong("letters", "que cada una tuviera su letra", "")
    if min(read.values()) != 0 or len(set(read.values())) < len(read):
        raise _wrong("letters", "que una empezara en 0 y ninguna donde otra", ", ".join(read))
    return read
