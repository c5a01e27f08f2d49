"""Los nombres que cada plataforma pone a lo que se descarga, y lo que dicen."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from course_lib.grading.classroom.untrusted_text import clean_name

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

# Canvas, apellidosnombre_LATE_USUARIO_ARCHIVO_nombre.ipynb: en minúsculas y sin más signos; LATE,
# si llegó tarde. Si la tarea es anónima, anon_CÓDIGO_ARCHIVO_nombre: lib/content_zipper.rb
# (get_filename, add_upload_submission).
_CANVAS = re.compile(
    r"(?P<prefix>(?:(?P<name>\w+?)(?:_LATE)?_(?P<number>[0-9]{1,18})|anon_(?P<code>[A-Za-z0-9]{1,10}))"
    r"_[0-9]{1,18}_)(?P<rest>.+)",
    re.DOTALL,
)
# Blackboard, TAREA_USUARIO_attempt_FECHA_nombre.ipynb, y un .txt por entrega, sin nombre detrás.
_BLACKBOARD = re.compile(
    r"(?P<task>.*)_(?P<user>[^_]+)_attempt_(?P<when>[0-9]{4}(?:-[0-9]{2}){5})"
    r"(?:_(?P<rest>.+)|\.txt)",
    re.DOTALL,
)
# GitHub Classroom, TAREA-USUARIO, dentro de TAREA-submissions: gh-classroom,
# cmd/gh-classroom/clone/student-repos/student-repos.go. Los usuarios de GitHub son letras, cifras y
# guiones sueltos.
_GITHUB_USER = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
# Google Classroom, Nombre - archivo.ipynb: así llama a la copia que hace para cada estudiante.
_GOOGLE = re.compile(r"(?P<name>.+?) - (?P<rest>.+?)(?: ?\(\d+\))?(?P<suffix>\.\w+)?", re.DOTALL)
SOURCES = ("moodle", "canvas", "blackboard", "github", "google", "folder")
"""De dónde pueden venir las entregas; `folder`, de una carpeta con los nombres de cada quien."""


@dataclass(frozen=True)
class PlatformName:
    """Lo que dice el nombre que puso una plataforma.

    Argumentos:
        platform: cuál: `moodle`, `canvas`, `blackboard`, `github` o `google`.
        student: quien entrega, persona o equipo; «Participante 12» si es anónimo.
        number: con qué lo distingue la plataforma: su número o su usuario; None si no lo dice.
        plugin: en Moodle, por dónde se entregó: `file`, `onlinetext`…
        rest: el nombre del archivo, si no venía en una carpeta.
        folder: con qué empieza el nombre de la retroalimentación que la plataforma reconoce (en
            Moodle, una carpeta), o None.
        when: cuándo se entregó, si lo dice.
    """

    platform: str
    student: str
    number: str | None
    plugin: str
    rest: str
    folder: str | None
    when: datetime | None = None


NameReader = Callable[[str], PlatformName | None]
"""Lee el nombre de un archivo o una carpeta; None si no lo puso ninguna plataforma."""


def name_reader(
    loose: Collection[str], folders: Collection[str], root: str, source: str | None = None
) -> NameReader:
    """Da cómo se leen los nombres de una clase, por lo que son todos juntos.

    Argumentos:
        loose: los archivos sueltos.
        folders: las carpetas.
        root: la carpeta o el ZIP en que están.
        source: de dónde vienen, uno de `SOURCES`; si falta, se reconoce.
    """
    assignment = root.removesuffix("-submissions")
    cloned = assignment != root and all(name.startswith(f"{assignment}-") for name in folders)
    if source == "folder":
        return lambda text: None
    if source == "canvas" or (source is None and are_canvas_names(loose)):
        return parse_canvas_name
    if source == "github" or (source is None and cloned and folders):
        start = f"{assignment}-" if cloned else _common_start(folders)
        return lambda text: _parse_github_name(text, start, folders)
    if source == "google" or (source is None and not folders and _are_google_names(loose)):
        return _parse_google_name
    return parse_platform_name


def _common_start(names: Collection[str]) -> str:
    """Lo que comparten los nombres, hasta un guion: el de la tarea."""
    first, last = (min(names), max(names)) if names else ("", "")
    same = [
        i for i, letter in enumerate(first) if letter == "-" and last.startswith(first[: i + 1])
    ]
    return first[: same[-1] + 1] if same and len(names) > 1 else ""


def _parse_github_name(text: str, start: str, folders: Collection[str]) -> PlatformName | None:
    user = text.removeprefix(start)
    if text not in folders or user == text or not _GITHUB_USER.fullmatch(user):
        return None
    return PlatformName("github", user, user, "file", "", None)


def _are_google_names(names: Collection[str]) -> bool:
    """Si todos son de la misma plantilla: un guion en el nombre lo puede poner cualquiera."""
    found = [_GOOGLE.fullmatch(name) for name in names]
    return len(found) > 1 and all(found) and len({(m["rest"], m["suffix"]) for m in found}) == 1


def _parse_google_name(text: str) -> PlatformName | None:
    match = _GOOGLE.fullmatch(text)
    if match is None:
        return None
    student = clean_name(match["name"]) or "sin nombre"
    return PlatformName("google", student, None, "file", text, None)


def parse_platform_name(text: str) -> PlatformName | None:
    """Lee un nombre que solo pudo poner Moodle o Blackboard; None si no lo es."""
    return parse_moodle_name(text) or _parse_blackboard_name(text)


def parse_moodle_name(text: str) -> PlatformName | None:
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
    return PlatformName("moodle", student, number, match["plugin"], match["rest"] or "", folder)


def feedback_folder(name: str, number: str) -> str:
    """Da la carpeta con la que Moodle reconoce de quién es un archivo de retroalimentación.

    Su lector (mod/assign/feedback/file/importziplib.php) la parte por los guiones bajos y espera
    el número en el segundo trozo; el guion bajo final es el que piden las versiones 3.1 a 4.0.
    """
    safe = clean_name(_UNSAFE.sub(" ", name)) or "Participante"
    return f"{safe}_{number}_assignsubmission_file_"


def are_canvas_names(names: Iterable[str]) -> bool:
    """Dice si todos los nombres son de Canvas: uno suelto puede llamarse `tarea_1_2_final`."""
    names = list(names)
    return bool(names) and all(_CANVAS.fullmatch(name) for name in names)


def parse_canvas_name(text: str) -> PlatformName | None:
    """Lee el nombre de un archivo del ZIP de Canvas; None si no lo es.

    Su lector (app/models/assignment.rb, infer_comment_context_from_filename) parte el nombre por
    los guiones bajos: los dos primeros números son el usuario y el archivo al que se contesta.
    """
    match = _CANVAS.fullmatch(text)
    if match is None:
        return None
    student = clean_name(match["name"] or "") or f"Participante {match['code'] or match['number']}"
    number, rest = match["number"] or match["code"], match["rest"]
    return PlatformName("canvas", student, number, "file", rest, match["prefix"])


def _parse_blackboard_name(text: str) -> PlatformName | None:
    match = _BLACKBOARD.fullmatch(text)
    if match is None:
        return None
    user, rest = match["user"], match["rest"] or f"{match['when']}.txt"
    try:
        when = datetime.strptime(match["when"], "%Y-%m-%d-%H-%M-%S")
    except ValueError:
        when = None
    name = clean_name(user) or "sin nombre"
    return PlatformName("blackboard", name, user, "file", rest, None, when)
