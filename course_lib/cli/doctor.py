"""`course doctor`: qué hay en este equipo, qué falta y cómo instalarlo."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import course_lib
from course_lib.cli.terminal import print_error
from course_lib.course_settings import (
    AS_IT_COMES,
    COURSE_FILE,
    CourseSettingsError,
    find_course_settings,
)

_PROGRAMS = {
    "make": ("los comandos make site y make test", "sudo apt-get install make"),
    "chromium": ("probar el sitio en un navegador", "sudo apt-get install chromium"),
    "hunspell": ("revisar la ortografía", "sudo apt-get install hunspell hunspell-es"),
}
_ALIASES = {
    "chromium": (
        *("chromium", "chromium-headless-shell", "chromium-browser"),
        *("google-chrome", "chrome"),
    )
}
_USES = {
    "student": "resolver los ejercicios en JupyterLab",
    "teacher": "calificar entregas",
    "author": "generar los cuadernos",
    "site": "construir el libro",
    "cluster": "calificar en varias máquinas",
    "dev": "las pruebas y las mediciones",
}
_FRONT_ENDS = {"jupyterlab": "JupyterLab", "notebook": "Jupyter Notebook"}
_GIB = 2**30
_LEAST_MEMORY = 1.5
"""Los GiB libres con que los cuadernos van holgados."""
_LITTLE_MEMORY = f"quedan menos de {_LEAST_MEMORY} GiB libres: cierra otros programas"


@dataclass(frozen=True)
class Finding:
    """Algo que se miró.

    Argumentos:
        name: qué se miró.
        value: lo que se encontró; vacío si falta.
        required: si el curso no funciona sin ello.
        remedy: qué hacer si falta.
    """

    name: str
    value: str
    required: bool = False
    remedy: str = ""

    @property
    def missing(self) -> bool:
        return not self.value


def examine() -> list[Finding]:
    """Mira el equipo, y construye una caja de las de calificar; no instala ni cambia nada."""
    course = [_course(), *_absent_pages()]
    return [*_system(), *course, *_packages(), *_hardware(), *_programs(), *_box()]


def _course() -> Finding:
    """El curso, como lo dice `course.toml`, si vale lo que hay en él."""
    try:
        course = find_course_settings()
    except CourseSettingsError as error:
        return Finding("Curso", "", required=True, remedy=str(error))
    if course == AS_IT_COMES:
        return Finding("Curso", f"{course.name}, como viene (sin {COURSE_FILE})")
    pages = _pages()
    for key, named in (("keep", course.keep), ("leave_out", course.leave_out)):
        if unknown := [page for page in named if pages and page not in pages]:
            remedy = f"`{key}`, en {COURSE_FILE}: no hay una página «{unknown[0]}» en _toc.yml"
            return Finding("Curso", "", required=True, remedy=f"{remedy}; corrígela o quítala")
    told = f" ({', '.join(course.topics)})" if course.topics else ""
    scale = f"; notas en la escala {course.scale.name}" if course.scale else ""
    return Finding("Curso", f"{course.name}{told}{scale}")


def _absent_pages() -> list[Finding]:
    """Los capítulos que no tiene, si el archivo vale y falta alguno."""
    try:
        absent = find_course_settings().absent_chapters
    except CourseSettingsError:
        return []
    found = [Finding("Capítulos que no tiene", ", ".join(sorted(absent)))] if absent else []
    if asked := _asked_for(absent):
        told = "; ".join(f"{page}, que pide {', '.join(who)}" for page, who in asked.items())
        found.append(
            Finding("Capítulos que otros piden", "", remedy=f"{told}. Con `keep` se quedan")
        )
    return found


def _asked_for(absent: Collection[str]) -> dict[str, list[str]]:
    """De los capítulos que no tiene, los que otros dan por leídos, y cuáles («Hace falta…»)."""
    asked: dict[str, list[str]] = {}
    for path in sorted((Path(course_lib.__file__).parents[1] / "book").glob("*.md")):
        needs = re.search(r"\*Hace falta\*(.*?)\*Se lee", path.read_text(encoding="utf-8"), re.S)
        if needs is None or path.stem in absent:
            continue
        for page in re.findall(r"\{doc\}`(\w+)`", needs[1]):
            if page in absent:
                asked.setdefault(page, []).append(path.stem)
    return asked


def _pages() -> list[str]:
    """Las páginas del libro, que están en su índice; ninguna si la biblioteca vino sola."""
    contents = Path(course_lib.__file__).parents[1] / "_toc.yml"
    text = contents.read_text(encoding="utf-8") if contents.is_file() else ""
    return re.findall(r"^ *(?:root:|- file:) *(?:book|exercises|solutions)/(\w+) *$", text, re.M)


def _submissions(path: Path) -> Finding:
    """Cuántas entregas hay, y si dos parecen de la misma persona."""
    from course_lib.grading.classroom.collection import CollectionError, collect
    from course_lib.grading.classroom.preview import look_alikes_told

    try:
        entries = collect(path)
    except CollectionError as error:
        return Finding("Entregas", "", required=True, remedy=str(error))
    told = f"{len({entry.owner for entry in entries})} estudiantes, {len(entries)} archivos"
    alike = look_alikes_told(entries)
    return Finding("Entregas", "" if alike else told, remedy=alike and f"{told}; {alike}")


def examine_for_student() -> list[Finding]:
    """Mira lo que hace falta para resolver los ejercicios, y nada de quien trabaja en el curso."""
    remedy = 'python -m pip install "course_lib[student]"'
    front = next((each for each in _FRONT_ENDS if _version(each)), "")
    shown = [f"{_FRONT_ENDS[front]} {_version(front)}"] if front else []
    if shutil.which("code"):
        shown.append("VS Code")
    kernel = _version("ipykernel")
    torch = next(each for each in _hardware() if each.name == "Dispositivo")
    return [
        *_system(),
        Finding("Entorno", sys.prefix),
        Finding("course_lib", _version("course_lib"), required=True, remedy=remedy),
        Finding("torch", _version("torch"), required=True, remedy=remedy),
        replace(torch, remedy="no se pudo cargar torch: instálalo de nuevo"),
        Finding("Cuadernos", ", ".join(shown), required=True, remedy=remedy),
        Finding("Núcleo de Python", kernel, required=True, remedy=remedy),
        Finding("Letra", _fonts(), remedy="matplotlib no encuentra ninguna letra con tildes"),
        Finding("Memoria", _enough_memory(), remedy=_LITTLE_MEMORY),
    ]


def _fonts() -> str:
    """La letra de las gráficas: una que tenga las tildes y las letras griegas del curso."""
    if not _version("matplotlib"):
        return ""
    from matplotlib import font_manager, ft2font

    path = font_manager.findfont(font_manager.FontProperties())
    known = ft2font.FT2Font(path).get_charmap()
    return Path(path).stem if all(ord(letter) in known for letter in "áéíóúñ¿«β√") else ""


def _enough_memory() -> str:
    """La memoria, si alcanza; donde no se puede medir, no se da por escasa."""
    told = _memory()
    return "" if told and float(told.split()[0]) < _LEAST_MEMORY else told or "desconocida"


def _system() -> list[Finding]:
    version = platform.python_version()
    enough = sys.version_info >= (3, 11)
    return [
        Finding("Sistema", f"{platform.system()} {platform.release()} ({platform.machine()})"),
        Finding(
            "Python",
            version if enough else "",
            required=True,
            remedy=f"hace falta Python 3.11 o posterior; este es {version}",
        ),
    ]


def _packages() -> list[Finding]:
    """Las versiones; lo del núcleo es obligatorio, y de los extras se dice cuáles no están."""
    needed, extras = _declared_packages()
    findings = [
        Finding(name, _version(name), required=True, remedy=f"python -m pip install {name}")
        for name in needed
    ]
    for name, packages in extras.items():
        missing = [package for package in packages if not _version(package)]
        use = f"{_USES.get(name, 'otras cosas')}; falta {', '.join(missing)}"
        remedy = f'sirve para {use}: python -m pip install "course_lib[{name}]"'
        findings.append(Finding(f"extra {name}", "" if missing else "instalado", remedy=remedy))
    return findings


def _declared_packages() -> tuple[list[str], dict[str, list[str]]]:
    """Lo que `course_lib` declara para este sistema: su núcleo, y cada extra."""
    try:
        requirements = importlib.metadata.requires("course_lib") or []
    except importlib.metadata.PackageNotFoundError:
        return ["torch", "numpy", "matplotlib"], {}
    needed: list[str] = []
    extras: dict[str, list[str]] = {}
    for requirement in requirements:
        name = re.match(r"[A-Za-z0-9._-]+", requirement).group()
        extra = re.search(r"extra == [\"'](\w+)", requirement)
        system = re.search(r"sys_platform == [\"'](\w+)", requirement)
        if system is None or system[1] == sys.platform:
            (extras.setdefault(extra[1], []) if extra else needed).append(name)
    return needed, extras


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _hardware() -> list[Finding]:
    return [
        Finding("Dispositivo", _device(), required=True, remedy="python -m pip install torch"),
        Finding("Procesadores", str(os.cpu_count() or 1)),
        Finding("Memoria", _memory() or "desconocida"),
        Finding("Disco libre", f"{shutil.disk_usage('.').free / _GIB:.0f} GiB"),
    ]


def _device() -> str:
    try:
        from course_lib.devices import best_device
    except ImportError:
        return ""
    device = best_device()
    if device.type != "cuda":
        return {"cpu": "CPU", "mps": "GPU de Apple (MPS)"}.get(device.type, device.type)
    import torch

    memory = torch.cuda.get_device_properties(device).total_memory / _GIB
    return f"{torch.cuda.get_device_name(device)}, {memory:.0f} GiB"


def _memory() -> str:
    try:
        import psutil
    except ImportError:
        return ""
    memory = psutil.virtual_memory()
    return f"{memory.available / _GIB:.1f} GiB libres de {memory.total / _GIB:.1f}"


def _programs() -> list[Finding]:
    return [
        Finding(name, _which(name), remedy=f"sirve para {use}; {command}")
        for name, (use, command) in _PROGRAMS.items()
    ]


def _box() -> list[Finding]:
    """La caja en que se califica, construida de verdad."""
    if sys.platform != "linux":
        remedy = "para calificar hace falta Linux; en otro sistema, una máquina virtual"
        return [Finding("Caja", "", remedy=remedy)]
    try:
        from course_lib.grading.sandbox.box_check import box_parts

        parts = list(box_parts())
    except ImportError as error:  # falta un paquete, que ya se dijo arriba
        return [Finding("Caja", "", remedy=f"sirve para calificar; {error}")]
    return [
        Finding(f"Caja: {part.name}", "" if part.remedy else part.found, remedy=part.remedy)
        for part in parts
    ]


def _which(name: str) -> str:
    paths = (shutil.which(candidate) for candidate in _ALIASES.get(name, (name,)))
    return next((path for path in paths if path), "")


def doctor(
    submissions: Annotated[
        Path | None,
        typer.Argument(metavar="ENTREGAS", help="También mira la carpeta o el ZIP de una clase."),
    ] = None,
    student: Annotated[
        bool, typer.Option("--student", help="Solo lo que hace falta para los ejercicios.")
    ] = False,
) -> None:
    """Muestra versiones, memoria y la caja de calificar; dice qué falta y cómo arreglarlo."""
    console = Console()
    table = Table("", "Qué", "Valor", title="Este equipo")
    findings = examine_for_student() if student else examine()
    if submissions is not None:
        findings.append(_submissions(submissions))
    for finding in findings:
        table.add_row(_mark(finding), finding.name, Text(finding.value or finding.remedy))
    console.print(table)
    required = [finding.name for finding in findings if finding.missing and finding.required]
    if required:
        print_error(f"Falta lo indispensable: {', '.join(required)}.")
        raise typer.Exit(1)
    optional = [finding.name for finding in findings if finding.missing]
    console.print(
        f"Falta, sin ser indispensable: {', '.join(optional)}." if optional else "No falta nada."
    )


def _mark(finding: object) -> str:
    if not finding.missing:
        return "✅"
    return "❌" if finding.required else "⚠️"
