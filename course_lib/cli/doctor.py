"""`course doctor`: qué hay en este equipo, qué falta y cómo instalarlo."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import sys
from dataclasses import dataclass

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from course_lib.cli.terminal import print_error

_PROGRAMS = {
    "make": ("los comandos make site y make test", "sudo apt-get install make"),
    "chromium": ("probar el sitio en un navegador", "sudo apt-get install chromium"),
    "hunspell": ("revisar la ortografía", "sudo apt-get install hunspell hunspell-es"),
    "bwrap": (
        "calificar entregas en un entorno aislado",
        "sudo apt-get install bubblewrap libseccomp2",
    ),
}
_ALIASES = {"chromium": ("chromium", "chromium-browser", "google-chrome", "chrome")}
_USES = {
    "student": "resolver los ejercicios en JupyterLab",
    "teacher": "calificar entregas",
    "author": "generar los cuadernos",
    "site": "construir el libro",
    "cluster": "calificar en varias máquinas",
    "dev": "las pruebas y las mediciones",
}
_GIB = 2**30


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
    """Mira el equipo; no instala ni cambia nada."""
    return [*_system(), *_packages(), *_hardware(), *_programs()]


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


def _which(name: str) -> str:
    paths = (shutil.which(candidate) for candidate in _ALIASES.get(name, (name,)))
    return next((path for path in paths if path), "")


def doctor() -> None:
    """Muestra versiones, dispositivo y memoria, y dice qué falta y cómo instalarlo."""
    console = Console()
    table = Table("", "Qué", "Valor", title="Este equipo")
    findings = examine()
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
