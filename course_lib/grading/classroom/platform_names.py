"""Los nombres que Moodle, Canvas y Blackboard ponen a lo que se descarga, y lo que dicen."""

from __future__ import annotations

import re
from collections.abc import Iterable
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


@dataclass(frozen=True)
class PlatformName:
    """Lo que dice el nombre que puso una plataforma.

    Argumentos:
        platform: cuál: `moodle`, `canvas` o `blackboard`.
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
